//! The table entries and groups that the controllers write, as P4Runtime entities of their
//! pipeline.

use ::openflow::MacAddress;
use ::p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match, packet_replication_engine_entry,
};
use ::p4runtime::value;

use crate::application::{Flow, Port, Rule};
use crate::pipeline::{FLOOD_GROUP, ids};

/// The priority of the rules that forward packets to a port. Larger values take precedence.
const FORWARD: i32 = 10;
/// The priority of the rules that send packets to the controller, which is higher than that of
/// rules that forward packets.
const ALWAYS_TO_CONTROLLER: i32 = 40_000;
/// The EtherType of ARP.
const ARP: u16 = 0x0806;
const PORT_BITS: u32 = 9;
const MAC_BITS: u32 = 48;
const ETHER_TYPE_BITS: u32 = 16;

/// Returns the default entry of the table, which sends packets without a rule to the controller.
pub(super) fn default_to_controller() -> v1::Entity {
    table_entry(v1::TableEntry {
        action: Some(action(ids::SEND_TO_CPU, Vec::new())),
        is_default_action: true,
        ..v1::TableEntry::default()
    })
}

/// Returns the rule that sends ARP packets to the controller, even if they match another rule.
pub(super) fn arp_to_controller() -> v1::Entity {
    table_entry(v1::TableEntry {
        r#match: vec![field(ids::ETH_TYPE, ARP.into(), ETHER_TYPE_BITS)],
        action: Some(action(ids::SEND_TO_CPU, Vec::new())),
        priority: ALWAYS_TO_CONTROLLER,
        ..v1::TableEntry::default()
    })
}

/// Returns the multicast group with the ports to which flooded packets are sent.
pub(super) fn flood_group(ports: u16) -> v1::Entity {
    let replica = |port: u16| {
        // Servers of all versions support the older form of a port, which is a number.
        let port_kind = Some(v1::replica::PortKind::EgressPort(port.into()));
        v1::Replica { port_kind, instance: 1, ..v1::Replica::default() }
    };
    let group = v1::MulticastGroupEntry {
        multicast_group_id: FLOOD_GROUP,
        replicas: (1..=ports).map(replica).collect(),
        ..v1::MulticastGroupEntry::default()
    };
    let kind = packet_replication_engine_entry::Type::MulticastGroupEntry(group);
    let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
    v1::Entity { entity: Some(Kind::PacketReplicationEngineEntry(entry)) }
}

/// Returns the table entry for a rule.
pub(super) fn rule(rule: &Rule, idle_timeout_ns: i64) -> v1::Entity {
    let port =
        v1::action::Param { param_id: ids::PORT, value: value::encode(rule.output.0.into()) };
    table_entry(v1::TableEntry {
        action: Some(action(ids::SET_EGRESS_PORT, vec![port])),
        idle_timeout_ns,
        ..flow_entry(&rule.flow)
    })
}

/// Returns a table entry with the key of a flow's rule, by which a switch deletes the rule.
pub(super) fn rule_key(flow: &Flow) -> v1::Entity {
    table_entry(flow_entry(flow))
}

/// Returns the flow that a table entry matches, or `None` if this controller cannot have written
/// the entry.
pub(super) fn flow_of(entry: &v1::TableEntry) -> Option<Flow> {
    let number = |field_id, bits| {
        let field = entry.r#match.iter().find(|field| field.field_id == field_id)?;
        match &field.field_match_type {
            Some(field_match::FieldMatchType::Ternary(ternary))
                if value::decode(&ternary.mask) == Some(ones(bits)) =>
            {
                value::decode(&ternary.value).and_then(|number| u64::try_from(number).ok())
            }
            _ => None,
        }
    };
    if entry.table_id != ids::TABLE || entry.priority != FORWARD || entry.r#match.len() != 3 {
        return None;
    }
    Some(Flow {
        ingress: Port(u32::try_from(number(ids::IN_PORT, PORT_BITS)?).ok()?),
        source: MacAddress::from_bits(number(ids::ETH_SRC, MAC_BITS)?),
        destination: MacAddress::from_bits(number(ids::ETH_DST, MAC_BITS)?),
    })
}

/// Returns the entity of a Read request for all rules, except the default entry.
pub(super) fn all_rules() -> v1::Entity {
    table_entry(v1::TableEntry::default())
}

pub(super) fn update(kind: v1::update::Type, entity: v1::Entity) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(entity) }
}

fn flow_entry(flow: &Flow) -> v1::TableEntry {
    v1::TableEntry {
        r#match: vec![
            field(ids::IN_PORT, flow.ingress.0.into(), PORT_BITS),
            field(ids::ETH_SRC, flow.source.to_bits(), MAC_BITS),
            field(ids::ETH_DST, flow.destination.to_bits(), MAC_BITS),
        ],
        priority: FORWARD,
        ..v1::TableEntry::default()
    }
}

fn table_entry(entry: v1::TableEntry) -> v1::Entity {
    v1::Entity { entity: Some(Kind::TableEntry(v1::TableEntry { table_id: ids::TABLE, ..entry })) }
}

/// Returns a ternary match on one field: all `bits` bits of the field must equal `number`.
fn field(field_id: u32, number: u64, bits: u32) -> v1::FieldMatch {
    let ternary = field_match::Ternary {
        value: value::encode(number.into()),
        mask: value::encode(ones(bits)),
    };
    let kind = field_match::FieldMatchType::Ternary(ternary);
    v1::FieldMatch { field_id, field_match_type: Some(kind) }
}

fn ones(bits: u32) -> u128 {
    (1 << bits) - 1
}

fn action(action_id: u32, params: Vec<v1::action::Param>) -> v1::TableAction {
    let action = v1::Action { action_id, params };
    v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }
}
