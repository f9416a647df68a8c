//! Requirements of sections 9.8, 16.1, 16.2 and 16.4: messages that packets and timeouts cause, and
//! packet-outs that must not leave the device.

use std::time::Duration;

use protos::v1::{
    self, stream_message_request::Update, stream_message_response::Update as Message,
};

use super::{Trial, must, should};
use crate::bench::{Bench, packets::check_packet_in};
use crate::channel::Stream;
use crate::demands::{Fault, demand, lacks};
use crate::entities::{bytes as value_of, delete, insert, of_entry};
use crate::subject::Table;

pub(super) const ALL: &[Trial] = &[
    must(
        "16.1",
        "packet-in-metadata",
        "A packet-in has each metadata field of the P4Info once, with a value of its width, and no other.",
        packet_in_metadata,
    ),
    must(
        "16.2",
        "packet-in-of-the-primary",
        "A packet-in comes to the primary of a role, and not to a backup.",
        packet_in_of_the_primary,
    ),
    must(
        "16.1",
        "wrong-packet-out-does-not-leave",
        "A packet-out lacks the field of its port, or has a field twice or an unknown one: it does not leave the device.",
        wrong_packet_out_does_not_leave,
    ),
    must(
        "9.8",
        "digest-of-the-primary",
        "A digest that is enabled comes to the primary, in a list of that digest, and not to a backup.",
        digest_of_the_primary,
    ),
    should(
        "16.4",
        "idle-notification",
        "An entry that no packet meets for its idle timeout is named in a notification, with its key, metadata and timeout.",
        idle_notification,
    ),
    must(
        "16.4",
        "idle-notification-of-the-primary",
        "An idle notification comes to the primary, and not to a backup.",
        idle_notification_of_the_primary,
    ),
];

/// The idle timeout, in nanoseconds, of entries that are to expire.
const IDLE_NS: i64 = 500_000_000;
/// The time within which the notification about an expired entry must arrive.
const EXPIRY: Duration = Duration::from_secs(5);

pub(super) fn packet_in(message: Message) -> Option<v1::PacketIn> {
    match message {
        Message::Packet(packet) => Some(packet),
        _ => None,
    }
}

fn packet_in_metadata(bench: &mut Bench) -> Result<(), Fault> {
    let fields = bench.subject.packet_in.clone();
    let packet = bench.provoke("packet-in", packet_in)?;
    check_packet_in(&fields, &packet)
}

/// Opens a stream of a backup controller.
fn backup(bench: &mut Bench) -> Result<Stream, Fault> {
    if bench.election_id() < 2 {
        bench.raise_election_id(2)?;
    }
    let lower = bench.election_id() - 1;
    Ok(bench.rival(Some(lower))?.0)
}

fn packet_in_of_the_primary(bench: &mut Bench) -> Result<(), Fault> {
    let mut backup = backup(bench)?;
    bench.provoke("packet-in", packet_in)?;
    bench.silent_on(&mut backup, |message| matches!(message, Message::Packet(_)))
}

fn wrong_packet_out_does_not_leave(bench: &mut Bench) -> Result<(), Fault> {
    let egress = bench.egress_field()?;
    let right = bench.packet_out_by(egress);
    // The port is no padding, which some controllers leave out.
    let mut lacking = right.clone();
    lacking.metadata.retain(|field| field.metadata_id != egress.id);
    let mut doubled = right.clone();
    doubled.metadata.extend(right.metadata.first().cloned());
    let mut unknown = right.clone();
    unknown.metadata.push(v1::PacketMetadata { metadata_id: 0x7fff_ffff, value: value_of(1) });
    let wrong = [
        (lacking, "without its port"),
        (doubled, "with a metadata field twice"),
        (unknown, "with an unknown metadata field"),
    ];
    for (packet, what) in wrong {
        bench.send(Update::Packet(packet))?;
        let ports = bench.left_by()?;
        demand(ports.is_empty(), || format!("a packet-out {what} left the device"))?;
    }
    Ok(())
}

/// Configures the first digest of the program so that the device sends it. Returns the digest
/// entry.
pub(super) fn enabled_digest(bench: &mut Bench) -> Result<v1::DigestEntry, Fault> {
    let digest_id = bench.subject.digests.first().copied().ok_or_else(|| lacks("digest"))?;
    let config = v1::digest_entry::Config { max_list_size: 1, ..Default::default() };
    let entry = v1::DigestEntry { digest_id, config: Some(config) };
    let read = bench.read(vec![v1::DigestEntry { digest_id, config: None }.into()])?;
    if !read.is_empty() {
        return Err(Fault::NotApplicable("the digest is configured already".to_owned()));
    }
    bench.accept(vec![insert(entry.into())])?;
    Ok(entry)
}

/// Returns the digest list that a message contains; `None` for other messages.
pub(super) fn digest(message: Message) -> Option<v1::DigestList> {
    match message {
        Message::Digest(list) => Some(list),
        _ => None,
    }
}

fn digest_of_the_primary(bench: &mut Bench) -> Result<(), Fault> {
    let entry = enabled_digest(bench)?;
    let mut backup = backup(bench)?;
    let list = bench.provoke("digest", digest)?;
    demand(list.digest_id == entry.digest_id && !list.data.is_empty(), || {
        format!("a list of the digest {} with {} data came", list.digest_id, list.data.len())
    })?;
    bench.silent_on(&mut backup, |message| matches!(message, Message::Digest(_)))?;
    bench.accept(vec![delete(entry.into())])
}

/// Inserts an entry with an idle timeout, which will expire, and returns it.
pub(super) fn expiring(bench: &mut Bench) -> Result<v1::TableEntry, Fault> {
    let has_one = |table: &Table| table.notifies_idle_entries;
    let table = bench.open_table("table with idle timeouts", has_one)?;
    let entry = v1::TableEntry {
        idle_timeout_ns: IDLE_NS,
        metadata: bytes::Bytes::from_static(b"planimeter"),
        ..bench.entry(&table)
    };
    bench.accept(vec![insert(of_entry(&entry))])?;
    Ok(entry)
}

/// Returns the entry with the same key as `like` from an idle-timeout notification; `None` for
/// other messages.
pub(super) fn idle_entry(message: Message, like: &v1::TableEntry) -> Option<v1::TableEntry> {
    let is_it = |found: &v1::TableEntry| {
        (found.table_id, found.priority) == (like.table_id, like.priority)
            && found.r#match == like.r#match
    };
    match message {
        Message::IdleTimeoutNotification(told) => told.table_entry.into_iter().find(is_it),
        _ => None,
    }
}

/// Waits for the idle-timeout notification about an entry, and returns the entry as the
/// notification contains it.
pub(super) fn notified(bench: &mut Bench, entry: &v1::TableEntry) -> Result<v1::TableEntry, Fault> {
    let found = bench.heard_within(EXPIRY, &mut |message| idle_entry(message, entry))?;
    found.ok_or_else(|| {
        let seconds = EXPIRY.as_secs();
        Fault::Broken(format!("the device did not say within {seconds} s that the entry expired"))
    })
}

fn idle_notification(bench: &mut Bench) -> Result<(), Fault> {
    let entry = expiring(bench)?;
    let found = notified(bench, &entry)?;
    let is_whole = (found.idle_timeout_ns, &found.metadata) == (IDLE_NS, &entry.metadata);
    demand(is_whole, || {
        "the notification lacks the timeout or the metadata of the entry".to_owned()
    })
}

fn idle_notification_of_the_primary(bench: &mut Bench) -> Result<(), Fault> {
    let mut backup = backup(bench)?;
    let entry = expiring(bench)?;
    // Another requirement demands that a notification arrives at all.
    let is_notified = notified(bench, &entry).is_ok();
    bench
        .silent_on(&mut backup, |message| matches!(message, Message::IdleTimeoutNotification(_)))?;
    match is_notified {
        true => Ok(()),
        false => Err(Fault::NotApplicable("the device sent no idle notification".to_owned())),
    }
}
