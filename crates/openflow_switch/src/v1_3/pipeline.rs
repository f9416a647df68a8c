//! The processing of a packet by the flow tables: OpenFlow 1.3.5, 5.1, 5.3, 5.4, 5.6 and 5.9 to
//! 5.12.
//!
//! The pipeline executes goto-table, metadata, apply-, write- and clear-actions, output, groups of
//! all types, set-field, VLAN tags, and the IP TTL. It ignores meters, queues, MPLS and PBB tags,
//! because they change neither the destination of the packets with which Planimeter measures
//! controllers nor what a controller sees of them. A packet whose TTL becomes invalid is dropped
//! without a packet-in, as in the initial asynchronous configuration of a switch.

use std::collections::BTreeSet;

use openflow::PortNumber;
use openflow::v1_3::{
    Action, Bucket, GroupId, GroupType, Instruction, Match, MaxLen, NO_COOKIE, OxmField, PacketOut,
    TableId,
};

use super::super::flow_key::FlowKey;
use super::super::packet::Packet;
use super::super::passage::{ACTION, NO_MATCH, Passage, ToController};
use super::groups::Groups;
use super::{Entry, Personality, SwitchOptions};

/// The maximum number of consecutive groups that a packet may pass. A longer chain is treated as a
/// loop.
const MAX_GROUPS: u32 = 8;

impl Personality {
    /// Passes a packet through the tables, beginning with table 0.
    pub(in super::super) fn process(
        &mut self,
        options: &SwitchOptions,
        in_port: u32,
        frame: &[u8],
        now: u64,
        passage: &mut Passage,
    ) {
        let mut packet = std::mem::take(&mut self.packet);
        packet.load(frame);
        let mut walk = Walk::new(options, &self.groups, &self.down, in_port, packet, passage);
        let mut set = ActionSet::default();
        let mut next = Some(0);
        while let Some(table) = next {
            walk.key = FlowKey::v1_3(&walk.packet, in_port, walk.metadata);
            let length = walk.packet.bytes().len();
            // Without a table-miss entry, unmatched packets are dropped (OpenFlow 1.3.5, 5.4).
            let Some(entry) = self.flows.hit(table, &walk.key, length, now) else {
                set.actions.clear();
                break;
            };
            walk.origin = Origin::of(entry);
            next = walk.instructions(entry, &mut set);
        }
        walk.action_set(set);
        let Walk { packet, group_hits, .. } = walk;
        self.packet = packet;
        for hit in group_hits {
            self.groups.count(hit);
        }
    }

    /// Executes the actions of a packet-out (OpenFlow 1.3.5, 7.3.7). Each output to
    /// [`PortNumber::TABLE`] sends the packet through the tables, with the changes that earlier
    /// actions have made to it. The actions after such an output continue with the packet as it was
    /// before the tables.
    ///
    /// `direct` receives the packets that the actions themselves send to ports, and `passage`
    /// receives those that the tables send. All packets for the controller are in `passage`. If all
    /// actions only send to ports, nothing is executed unless `direct` stores packets.
    pub(in super::super) fn process_packet_out(
        &mut self,
        options: &SwitchOptions,
        PacketOut { in_port, actions, data, .. }: &PacketOut,
        now: u64,
        passage: &mut Passage,
        direct: &mut Passage,
    ) {
        let in_port = in_port.0;
        let to_table = |action: &Action| matches!(action, Action::Output { port, .. } if *port == PortNumber::TABLE);
        let only_to_ports = actions.iter().all(|action| match action {
            Action::Output { port, .. } => {
                ![PortNumber::TABLE, PortNumber::CONTROLLER].contains(port)
            }
            Action::Group(_) => false,
            _ => true,
        });
        if only_to_ports && !direct.keeps {
            return;
        }
        let mut packet = Packet::default();
        packet.load(data);
        for actions in actions.split_inclusive(to_table) {
            let (own, table) = match actions.split_last() {
                Some((last, before)) if to_table(last) => (before, true),
                _ => (actions, false),
            };
            let mut walk = Walk::new(options, &self.groups, &self.down, in_port, packet, direct);
            walk.key = FlowKey::v1_3(&walk.packet, in_port, 0);
            let exists = walk.apply(own, 0);
            let Walk { packet: changed, group_hits, .. } = walk;
            packet = changed;
            for hit in group_hits {
                self.groups.count(hit);
            }
            passage.to_controller.append(&mut direct.to_controller);
            if !exists {
                return;
            }
            if table && passage.spend_action() {
                self.process(options, in_port, packet.bytes(), now, passage);
            }
        }
    }
}

/// The flow entry whose instructions are being executed, with the properties that a packet-in
/// reports.
#[derive(Clone, Copy, Debug)]
struct Origin {
    table: u8,
    priority: u16,
    cookie: u64,
    /// Whether the entry is a table-miss entry: one with priority 0 and no condition (OpenFlow
    /// 1.3.5, 5.4).
    is_table_miss: bool,
}

impl Origin {
    fn of(entry: &Entry) -> Self {
        let is_table_miss = entry.priority == 0 && entry.rule.covers(&Match::any());
        let Entry { table, priority, cookie, .. } = *entry;
        Self { table, priority, cookie, is_table_miss }
    }
}

/// A packet that passed through a bucket of a group. It is counted for the bucket and for the
/// group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupHit {
    pub(super) group: GroupId,
    pub(super) bucket: usize,
    pub(super) bytes: u64,
    /// Whether this is the first bucket of the group that the packet passes. Only then does the
    /// group count the packet.
    pub(super) is_first: bool,
}

/// A packet on its way through the tables.
struct Walk<'a> {
    options: &'a SwitchOptions,
    groups: &'a Groups,
    /// The ports whose links are down.
    down: &'a BTreeSet<u16>,
    in_port: u32,
    packet: Packet,
    /// The fields of the packet when it was last looked up in a table.
    key: FlowKey,
    metadata: u64,
    origin: Origin,
    group_hits: Vec<GroupHit>,
    passage: &'a mut Passage,
}

impl<'a> Walk<'a> {
    fn new(
        options: &'a SwitchOptions,
        groups: &'a Groups,
        down: &'a BTreeSet<u16>,
        in_port: u32,
        packet: Packet,
        passage: &'a mut Passage,
    ) -> Self {
        Self {
            options,
            groups,
            down,
            in_port,
            packet,
            key: FlowKey::ZERO,
            metadata: 0,
            origin: Origin { table: 0, priority: 0, cookie: NO_COOKIE, is_table_miss: false },
            group_hits: Vec::new(),
            passage,
        }
    }

    /// Executes the instructions of an entry in the order of OpenFlow 1.3.5, 5.9, independently of
    /// their order in the message. Returns the table in which the packet continues, or `None` if
    /// its processing ends.
    fn instructions(&mut self, entry: &Entry, set: &mut ActionSet) -> Option<u8> {
        let instructions = &entry.instructions;
        for instruction in instructions {
            if let Instruction::ApplyActions(actions) = instruction
                && !self.apply(actions, 0)
            {
                set.actions.clear();
                return None;
            }
        }
        if instructions.contains(&Instruction::ClearActions) {
            set.actions.clear();
        }
        let mut next = None;
        for instruction in instructions {
            match instruction {
                Instruction::WriteActions(actions) => {
                    set.write(actions, self.origin.is_table_miss);
                }
                Instruction::WriteMetadata { metadata, mask } => {
                    self.metadata = self.metadata & !mask | metadata & mask;
                }
                // A packet can only continue in a later table, so that processing ends.
                Instruction::GotoTable(TableId(table)) if *table > entry.table => {
                    next = Some(*table);
                }
                _ => {}
            }
        }
        next
    }

    /// Executes the action set at the end of the pipeline (OpenFlow 1.3.5, 5.10).
    fn action_set(&mut self, set: ActionSet) {
        // The action set belongs to no single entry, so there is no cookie (OpenFlow 1.3.5, 7.4.1).
        self.origin.cookie = NO_COOKIE;
        self.origin.is_table_miss = set.output_is_of_table_miss;
        self.execute(set.actions, 0);
    }

    /// Executes a list of actions as an action set: in the order of OpenFlow 1.3.5, 5.10,
    /// independently of their order in the list.
    fn execute(&mut self, mut actions: Vec<Action>, depth: u32) {
        // A group takes precedence over an output.
        if actions.iter().any(|action| matches!(action, Action::Group(_))) {
            actions.retain(|action| !matches!(action, Action::Output { .. }));
        }
        actions.sort_by_key(stage);
        self.apply(&actions, depth);
    }

    /// Applies actions to the packet in order. Returns whether the packet still exists afterwards.
    /// It is dropped if its TTL becomes invalid, or if it has undergone too many actions.
    fn apply(&mut self, actions: &[Action], depth: u32) -> bool {
        for action in actions {
            if !self.passage.spend_action() {
                return false;
            }
            match action {
                Action::Output { port, max_len } => self.output(*port, *max_len),
                Action::Group(group) => self.group(*group, depth),
                Action::PushVlan(ethernet_type) => self.packet.push_vlan(*ethernet_type),
                Action::PopVlan => self.packet.pop_vlan(),
                Action::SetNwTtl(ttl) => self.packet.set_ttl(*ttl),
                Action::DecNwTtl if !self.packet.decrement_ttl() => return false,
                Action::SetField(oxm) => {
                    if let Some((field, value, _)) = oxm.condition() {
                        self.packet.set(field, value);
                    }
                }
                _ => {}
            }
        }
        true
    }

    fn output(&mut self, port: PortNumber, max_len: MaxLen) {
        let ports = u32::from(self.options.ports);
        self.passage.output(port, self.packet.bytes());
        self.passage.forwarded |= match port {
            PortNumber::CONTROLLER => {
                self.punt(max_len);
                false
            }
            PortNumber::IN_PORT | PortNumber::LOCAL => true,
            PortNumber::FLOOD | PortNumber::ALL | PortNumber::NORMAL => {
                ports > u32::from((1..=ports).contains(&self.in_port))
            }
            // A packet leaves by its ingress port only through the reserved port IN_PORT (OpenFlow
            // 1.3.5, 5.12).
            PortNumber(port) => (1..=ports).contains(&port) && port != self.in_port,
        };
    }

    /// Sends the packet to the controller.
    fn punt(&mut self, max_len: MaxLen) {
        self.passage.to_controller.push(ToController {
            reason: if self.origin.is_table_miss { NO_MATCH } else { ACTION },
            table_id: self.origin.table,
            priority: self.origin.priority.into(),
            cookie: self.origin.cookie,
            max_len: max_len.0,
            may_buffer: max_len != MaxLen::NO_BUFFER,
            metadata: self.metadata,
            key: self.key,
            bytes: self.packet.bytes().to_vec(),
        });
    }

    /// Sends a copy of the packet through the group with this id (OpenFlow 1.3.5, 5.6).
    fn group(&mut self, id: GroupId, depth: u32) {
        let groups = self.groups;
        let Some((group_type, buckets)) = groups.get(id) else { return };
        if depth >= MAX_GROUPS {
            return;
        }
        let chosen: Vec<usize> = match group_type {
            GroupType::ALL => (0..buckets.len()).collect(),
            GroupType::INDIRECT => (0..buckets.len().min(1)).collect(),
            GroupType::SELECT => self.selected(buckets).into_iter().collect(),
            GroupType::FAST_FAILOVER => {
                buckets.iter().position(|bucket| self.is_live(bucket, depth)).into_iter().collect()
            }
            _ => return,
        };
        let origin = self.origin;
        for (place, bucket) in chosen.into_iter().enumerate() {
            let Some(actions) = buckets.get(bucket).map(|bucket| bucket.actions.clone()) else {
                continue;
            };
            let bytes = self.packet.bytes().len() as u64;
            self.group_hits.push(GroupHit { group: id, bucket, bytes, is_first: place == 0 });
            let before = self.packet.clone();
            // A packet that a bucket sends belongs to no single entry (OpenFlow 1.3.5, 7.4.1).
            self.origin.cookie = NO_COOKIE;
            self.origin.is_table_miss = false;
            self.execute(actions, depth + 1);
            self.packet = before;
            self.origin = origin;
            if self.passage.actions_left == 0 {
                return;
            }
        }
    }

    /// Returns the index of the live bucket that the packet's headers select, in proportion to the
    /// weights of the buckets. Returns `None` if no bucket is live.
    fn selected(&self, buckets: &[Bucket]) -> Option<usize> {
        let live = || {
            let places = buckets.iter().enumerate();
            places.filter(|(_, bucket)| self.is_live(bucket, 0) && bucket.weight > 0)
        };
        let total: u64 = live().map(|(_, bucket)| u64::from(bucket.weight)).sum();
        let mut left = self.headers_hash().checked_rem(total)?;
        for (place, bucket) in live() {
            match left.checked_sub(u64::from(bucket.weight)) {
                Some(rest) => left = rest,
                None => return Some(place),
            }
        }
        None
    }

    /// Returns a hash of the packet's addresses, protocol and ports, which is equal for all packets
    /// of a flow.
    fn headers_hash(&self) -> u64 {
        const FIELDS: [OxmField; 11] = [
            OxmField::ETH_SRC,
            OxmField::ETH_DST,
            OxmField::IP_PROTO,
            OxmField::IPV4_SRC,
            OxmField::IPV4_DST,
            OxmField::IPV6_SRC,
            OxmField::IPV6_DST,
            OxmField::TCP_SRC,
            OxmField::TCP_DST,
            OxmField::UDP_SRC,
            OxmField::UDP_DST,
        ];
        let values = FIELDS.iter().filter_map(|field| self.packet.field(*field));
        // The hash is FNV-1a over words, followed by a mix of the bits, because the low bits of
        // FNV-1a depend only on low bits of the input.
        let hash = values.fold(0xcbf2_9ce4_8422_2325_u64, |hash, value| {
            let word = (value >> 64) as u64 ^ value as u64;
            (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3)
        });
        hash ^ hash >> 32
    }

    /// Returns whether the port or group that a bucket watches is live (OpenFlow 1.3.5, 5.6.1). A
    /// bucket that watches nothing is live.
    fn is_live(&self, bucket: &Bucket, depth: u32) -> bool {
        let watches_nothing =
            bucket.watch_port == PortNumber::ANY && bucket.watch_group == GroupId::ANY;
        let port_is_live = u16::try_from(bucket.watch_port.0).is_ok_and(|port| {
            (1..=self.options.ports).contains(&port) && !self.down.contains(&port)
        });
        let group_is_live = || {
            depth < MAX_GROUPS
                && self.groups.get(bucket.watch_group).is_some_and(|(_, buckets)| {
                    buckets.iter().any(|bucket| self.is_live(bucket, depth + 1))
                })
        };
        watches_nothing || port_is_live || group_is_live()
    }
}

/// The action set, which is executed when the packet leaves the pipeline. It contains one action of
/// each type, and one set-field action for each field (OpenFlow 1.3.5, 5.10).
#[derive(Debug, Default)]
struct ActionSet {
    actions: Vec<Action>,
    output_is_of_table_miss: bool,
}

impl ActionSet {
    fn write(&mut self, actions: &[Action], of_table_miss: bool) {
        for action in actions {
            let same = |other: &&mut Action| match (&**other, action) {
                (Action::SetField(mine), Action::SetField(new)) => mine.field() == new.field(),
                (mine, new) => mine.kind() == new.kind(),
            };
            if let Action::Output { .. } = action {
                self.output_is_of_table_miss = of_table_miss;
            }
            match self.actions.iter_mut().find(same) {
                Some(known) => *known = action.clone(),
                None => self.actions.push(action.clone()),
            }
        }
    }
}

/// Returns the position of an action in the order in which an action set is executed (OpenFlow
/// 1.3.5, 5.10).
fn stage(action: &Action) -> u8 {
    match action {
        Action::CopyTtlIn => 0,
        Action::PopVlan | Action::PopMpls(_) | Action::PopPbb => 1,
        Action::PushMpls(_) => 2,
        Action::PushPbb(_) => 3,
        Action::PushVlan(_) => 4,
        Action::CopyTtlOut => 5,
        Action::DecMplsTtl | Action::DecNwTtl => 6,
        Action::SetField(_) | Action::SetMplsTtl(_) | Action::SetNwTtl(_) => 7,
        Action::SetQueue(_) => 8,
        Action::Group(_) => 9,
        _ => 10,
    }
}
