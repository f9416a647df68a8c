//! Requirements of sections 5.2 and 5.4: which of several controllers with different roles may
//! write, and which receive packet-ins, digests and idle-timeout notifications.
//!
//! A role without a configuration has full access. The specification leaves the format of a
//! configuration open. The one that is tried here is that of `protos::roles`, if the device
//! supports it.

use std::time::Duration;

use prost_types::Any;
use protos::roles::{PacketFilter, RoleConfig};
use protos::v1::{
    self, stream_message_request::Update, stream_message_response::Update as Message,
};
use tonic::Code;

use super::packets::{digest, enabled_digest, expiring, idle_entry, notified, packet_in};
use super::{Trial, must};
use crate::bench::{Bench, arbitration_of, demand_code, of_number, standing};
use crate::channel::{Stream, TIMEOUT};
use crate::demands::{Fault, demand, lacks};
use crate::entities::{delete, insert, of_entry};
use crate::subject::Table;

pub(super) const ALL: &[Trial] = &[
    must(
        "5",
        "role-is-part-of-a-writer",
        "A Write names a role with the election id of another role's primary: PERMISSION_DENIED. With its own, it is accepted.",
        role_is_part_of_a_writer,
    ),
    must(
        "5.2",
        "packet-in-of-every-role",
        "A packet-in comes to the primary of every role without configuration, and not to the backups.",
        packet_in_of_every_role,
    ),
    must(
        "5.2",
        "digest-of-every-role",
        "A digest comes to the primary of every role without configuration, and not to the backups.",
        digest_of_every_role,
    ),
    must(
        "5.2",
        "idle-notification-of-every-role",
        "An idle notification comes to the primary of every role without configuration, and not to the backups.",
        idle_notification_of_every_role,
    ),
    must(
        "5.2",
        "packet-out-of-every-role",
        "The primary of a role without configuration sends a packet-out: it leaves the device.",
        packet_out_of_every_role,
    ),
    must(
        "5.3",
        "unknown-role-config",
        "The configuration of a role has a type that was not agreed on: the stream ends with INVALID_ARGUMENT.",
        unknown_role_config,
    ),
    must(
        "5.4",
        "role-config-is-notified",
        "The controllers of a role are notified of the configuration that its primary sent last.",
        role_config_is_notified,
    ),
    must(
        "5.2",
        "role-without-packet-ins",
        "The configuration of a role excludes packet-ins: its primary receives none, and that of another role does.",
        role_without_packet_ins,
    ),
    must(
        "5.2",
        "packet-in-filter-of-a-role",
        "The configuration of a role has a filter: its primary receives the packet-ins whose metadata has the value, and no others.",
        packet_in_filter_of_a_role,
    ),
    must(
        "5.2",
        "tables-of-a-role",
        "The configuration of a role names a table: its primary may write that one, and no other.",
        tables_of_a_role,
    ),
    must(
        "5.2",
        "digests-of-a-role",
        "The configuration of a role does not name a digest: its primary receives none, and if it does, it receives them.",
        digests_of_a_role,
    ),
    must(
        "5.2",
        "idle-notifications-of-a-role",
        "The configuration of a role does not name a table: its primary receives no idle notifications of its entries.",
        idle_notifications_of_a_role,
    ),
];

/// The role that all attempts of this module use.
const ROLE: &str = "planimeter-conformance";
/// The time to wait for a message after another controller has received the same message.
const SHORTLY: Duration = Duration::from_secs(2);

/// A controller that is the primary of the role.
struct Primary {
    stream: Stream,
    election_id: u128,
}

fn role(config: Option<Any>) -> v1::Role {
    v1::Role { name: ROLE.to_owned(), config, ..Default::default() }
}

impl Primary {
    /// Becomes the primary of the role, with an election id that the primary of the default role
    /// does not use.
    fn new(bench: &mut Bench, config: Option<&RoleConfig>) -> Result<Self, Fault> {
        let role = role(config.map(RoleConfig::to_any));
        // A controller without election id learns the highest one, and displaces none.
        let (stream, update) = bench.of_role(&role, None)?;
        let (code, highest) = standing(&update);
        if code == Code::AlreadyExists {
            return Err(Fault::NotApplicable(format!("the role {ROLE} has another primary")));
        }
        let election_id = highest.max(bench.election_id()).saturating_add(1);
        let mut primary = Self { stream, election_id };
        primary.arbitrate(bench, role)?;
        Ok(primary)
    }

    /// Sends an arbitration request with the primary's election id, and waits for the answer.
    fn arbitrate(&mut self, bench: &mut Bench, role: v1::Role) -> Result<(), Fault> {
        let update = arbitration_of(bench.device_id(), Some(role), Some(self.election_id));
        bench.send_on(&self.stream, update)?;
        let found = bench.heard_by(&mut self.stream, TIMEOUT, |message| match message {
            Message::Arbitration(update) => Some(standing(&update)),
            _ => None,
        })?;
        demand(found == Some((Code::Ok, self.election_id)), || {
            "the only controller of a role with an election id is not made its primary".to_owned()
        })
    }

    fn configure(&mut self, bench: &mut Bench, config: &RoleConfig) -> Result<(), Fault> {
        self.arbitrate(bench, role(Some(config.to_any())))
    }

    /// Demands that this controller receives a message that another controller has received.
    fn hears<T>(
        &mut self,
        bench: &mut Bench,
        what: &str,
        pick: impl FnMut(Message) -> Option<T>,
    ) -> Result<T, Fault> {
        let found = bench.heard_by(&mut self.stream, SHORTLY, pick)?;
        found.ok_or_else(|| {
            Fault::Broken(format!("the primary of a role that has access receives no {what}"))
        })
    }

    /// Demands that this controller receives no message that satisfies `is_wrong`.
    fn is_silent(
        &mut self,
        bench: &mut Bench,
        is_wrong: fn(&Message) -> bool,
    ) -> Result<(), Fault> {
        bench.silent_on(&mut self.stream, is_wrong)
    }

    /// Sends a Write request with one update as this controller, and returns the status code of the
    /// answer.
    fn write(&self, bench: &mut Bench, update: v1::Update) -> Result<Code, Fault> {
        let request = v1::WriteRequest {
            role: ROLE.to_owned(),
            election_id: Some(of_number(self.election_id)),
            ..bench.write_request(vec![update])
        };
        Ok(bench.write(request)?.of(0))
    }
}

/// Becomes the primary of the role with a configuration.
///
/// # Errors
/// Not applicable if the device does not support the format of the configuration. Also not
/// applicable if it accepts even a configuration of an unknown type, so that accepting this one
/// proves nothing.
fn configured(bench: &mut Bench, config: &RoleConfig) -> Result<Primary, Fault> {
    if takes_unknown(bench)? {
        return Err(Fault::NotApplicable(
            "the device accepts role configurations of any type".to_owned(),
        ));
    }
    Primary::new(bench, Some(config))
}

/// Returns a role configuration of a type that no device supports.
fn unknown() -> Any {
    Any { type_url: "type.googleapis.com/planimeter.NoSuchRoleConfig".to_owned(), value: vec![] }
}

fn takes_unknown(bench: &mut Bench) -> Result<bool, Fault> {
    let first = arbitration_of(bench.device_id(), Some(role(Some(unknown()))), None);
    let Ok(mut stream) = bench.stream(first)? else { return Ok(false) };
    Ok(!matches!(bench.received(&mut stream), Some(Err(_))))
}

fn role_is_part_of_a_writer(bench: &mut Bench) -> Result<(), Fault> {
    let other = Primary::new(bench, None)?;
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let update = insert(of_entry(&entry));
    // The election id is that of the default role's primary.
    let impostor =
        v1::WriteRequest { role: ROLE.to_owned(), ..bench.write_request(vec![update.clone()]) };
    let answer = bench.write(impostor)?;
    demand_code(answer.code, &[Code::PermissionDenied])?;
    bench.refuse_writer(Some(other.election_id), vec![update.clone()])?;
    bench.holds_no(&entry)?;
    demand_code(other.write(bench, update)?, &[Code::Ok])?;
    bench.holds(&entry)
}

fn packet_in_of_every_role(bench: &mut Bench) -> Result<(), Fault> {
    bench.ports()?;
    let mut other = Primary::new(bench, None)?;
    let (mut backup, _) = bench.of_role(&role(None), None)?;
    bench.provoke("packet-in", packet_in)?;
    other.hears(bench, "packet-in", packet_in)?;
    bench.silent_on(&mut backup, |message| matches!(message, Message::Packet(_)))
}

fn digest_of_every_role(bench: &mut Bench) -> Result<(), Fault> {
    bench.ports()?;
    let entry = enabled_digest(bench)?;
    let mut other = Primary::new(bench, None)?;
    let (mut backup, _) = bench.of_role(&role(None), None)?;
    bench.provoke("digest", digest)?;
    other.hears(bench, "digest", digest)?;
    bench.silent_on(&mut backup, |message| matches!(message, Message::Digest(_)))?;
    bench.accept(vec![delete(entry.into())])
}

fn idle_notification_of_every_role(bench: &mut Bench) -> Result<(), Fault> {
    let mut other = Primary::new(bench, None)?;
    let (mut backup, _) = bench.of_role(&role(None), None)?;
    let entry = expiring(bench)?;
    if notified(bench, &entry).is_err() {
        return Err(no_notification());
    }
    other.hears(bench, "idle notification", |message| idle_entry(message, &entry))?;
    bench.silent_on(&mut backup, |message| matches!(message, Message::IdleTimeoutNotification(_)))
}

/// Returns the fault of a device that sends no idle-timeout notification at all. Another
/// requirement demands the notification.
fn no_notification() -> Fault {
    Fault::NotApplicable("the device sent no idle notification".to_owned())
}

fn packet_out_of_every_role(bench: &mut Bench) -> Result<(), Fault> {
    let egress = bench.egress_field()?;
    let mut other = Primary::new(bench, None)?;
    let packet = bench.packet_out_by(egress);
    bench.send_on(&other.stream, Update::Packet(packet))?;
    // The packet leaves this host while its stream is read.
    other.is_silent(bench, |message| matches!(message, Message::Error(_)))?;
    let ports = bench.left_by()?;
    demand(ports.contains(&egress.port), || {
        "the packet-out of a role's primary does not leave the device".to_owned()
    })
}

fn unknown_role_config(bench: &mut Bench) -> Result<(), Fault> {
    let mut other = Primary::new(bench, None)?;
    let device = bench.device_id();
    let first = arbitration_of(device, Some(role(Some(unknown()))), None);
    bench.refuse_stream(first, Code::InvalidArgument)?;
    let later = arbitration_of(device, Some(role(Some(unknown()))), Some(other.election_id));
    bench.send_on(&other.stream, later)?;
    bench.ends(&mut other.stream, Code::InvalidArgument)
}

fn role_config_is_notified(bench: &mut Bench) -> Result<(), Fault> {
    let first = RoleConfig { receives_packet_ins: true, ..Default::default() };
    let mut other = Primary::new(bench, Some(&first))?;
    let (mut backup, update) = bench.of_role(&role(None), None)?;
    let is_it = |role: Option<v1::Role>, config: &RoleConfig| {
        role.and_then(|role| role.config) == Some(config.to_any())
    };
    demand(is_it(update.role, &first), || {
        "a backup that joins a role is not notified of its configuration".to_owned()
    })?;
    let second = RoleConfig { can_push_pipeline: true, ..first };
    other.configure(bench, &second)?;
    let found = bench.heard_by(&mut backup, TIMEOUT, |message| match message {
        Message::Arbitration(update) => Some(update.role),
        _ => None,
    })?;
    demand(found.is_some_and(|role| is_it(role, &second)), || {
        "a backup is not notified of the new configuration of its role".to_owned()
    })
}

fn role_without_packet_ins(bench: &mut Bench) -> Result<(), Fault> {
    bench.ports()?;
    let mut deaf =
        configured(bench, &RoleConfig { can_push_pipeline: true, ..Default::default() })?;
    bench.provoke("packet-in", packet_in)?;
    deaf.is_silent(bench, |message| matches!(message, Message::Packet(_)))
}

fn packet_in_filter_of_a_role(bench: &mut Bench) -> Result<(), Fault> {
    let packet = bench.provoke("packet-in", packet_in)?;
    // The values of a translated type are text.
    let numbers = bench.subject.packet_in.iter().filter(|field| field.bits > 0);
    let ids: Vec<u32> = numbers.map(|field| field.id).collect();
    let field = packet.metadata.into_iter().find(|field| ids.contains(&field.metadata_id));
    let field = field.ok_or_else(|| lacks("metadata of packet-ins with numbers"))?;
    let filtered = |value: bytes::Bytes| RoleConfig {
        packet_in_filter: Some(PacketFilter { metadata_id: field.metadata_id, value }),
        receives_packet_ins: true,
        ..Default::default()
    };
    let mut other = configured(bench, &filtered(field.value.clone()))?;
    // The same packets are sent again, so the first one that comes has the value again.
    bench.provoke("packet-in", packet_in)?;
    other.hears(bench, "packet-in that passes its filter", packet_in)?;
    let mut value = field.value.to_vec();
    if let Some(last) = value.last_mut() {
        *last ^= 1;
    }
    other.configure(bench, &filtered(value.into()))?;
    bench.provoke("packet-in", packet_in)?;
    other.is_silent(bench, |message| matches!(message, Message::Packet(_)))
}

fn tables_of_a_role(bench: &mut Bench) -> Result<(), Fault> {
    let own = bench.any_open_table()?;
    let foreign = bench.open_table("second table that takes entries", |one| one.id != own.id)?;
    let config = RoleConfig { shared_p4_ids: vec![own.id], ..Default::default() };
    let other = configured(bench, &config)?;
    let (allowed, denied) = (bench.entry(&own), bench.entry(&foreign));
    demand_code(other.write(bench, insert(of_entry(&allowed)))?, &[Code::Ok])?;
    demand_code(other.write(bench, insert(of_entry(&denied)))?, &[Code::PermissionDenied])?;
    bench.holds(&allowed)?;
    bench.holds_no(&denied)
}

fn digests_of_a_role(bench: &mut Bench) -> Result<(), Fault> {
    bench.ports()?;
    let entry = enabled_digest(bench)?;
    let mut other = configured(bench, &RoleConfig::default())?;
    bench.provoke("digest", digest)?;
    other.is_silent(bench, |message| matches!(message, Message::Digest(_)))?;
    let config = RoleConfig { shared_p4_ids: vec![entry.digest_id], ..Default::default() };
    other.configure(bench, &config)?;
    bench.provoke("digest", digest)?;
    other.hears(bench, "digest that belongs to it", digest)?;
    bench.accept(vec![delete(entry.into())])
}

fn idle_notifications_of_a_role(bench: &mut Bench) -> Result<(), Fault> {
    bench.open_table("table with idle timeouts", |table: &Table| table.notifies_idle_entries)?;
    let mut other = configured(bench, &RoleConfig::default())?;
    let entry = expiring(bench)?;
    if notified(bench, &entry).is_err() {
        return Err(no_notification());
    }
    other.is_silent(bench, |message| matches!(message, Message::IdleTimeoutNotification(_)))
}
