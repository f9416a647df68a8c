//! The commands about multicast groups and clone sessions.

use crate::entries::port_bytes;
use crate::error::CommandError;
use crate::operands::{Operands, small};
use crate::session::{Session, Sink};
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::proto::v1::{
    self, BackupReplica, CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry,
    Replica, replica::PortKind, update::Type,
};

/// Returns a multicast group or clone session as an entity of the packet replication engine.
pub(crate) fn entity(replication: Replication) -> v1::Entity {
    PacketReplicationEngineEntry { r#type: Some(replication) }.into()
}

/// Splits `PORT` or `PORT:INSTANCE` into the port and the instance number.
fn port_and_instance(text: &str) -> Option<(&str, u32)> {
    let (port, instance) = match text.rsplit_once(':') {
        Some((port, instance)) => (port, small(instance)?),
        None => (text, 0),
    };
    (!port.is_empty()).then_some((port, instance))
}

/// Parses a replica: `PORT[:INSTANCE]`, followed by its backups after commas.
fn replica(text: &str) -> Option<Replica> {
    let mut parts = text.split(',').map(port_and_instance);
    let (port, instance) = parts.next()??;
    let port_kind = match small(port) {
        // Servers of all versions of P4Runtime read this form of a port.
        Some(number) => PortKind::EgressPort(number),
        None => PortKind::Port(port_bytes(port)),
    };
    let backup = |part: Option<(&str, u32)>| {
        let (port, instance) = part?;
        Some(BackupReplica { port: port_bytes(port), instance })
    };
    let backup_replicas = parts.map(backup).collect::<Option<_>>()?;
    Some(Replica { instance, port_kind: Some(port_kind), backup_replicas })
}

fn replicas(words: &mut Operands) -> Result<Vec<Replica>, CommandError> {
    let all = words.rest();
    let one = |text: &String| {
        replica(text).ok_or_else(|| {
            words.problem(format!(
                "'{text}' is no copy; one is PORT or PORT:INSTANCE, with backups behind commas"
            ))
        })
    };
    all.iter().map(one).collect()
}

/// Runs the commands `multicast add`, `multicast modify` and `multicast delete`, which write a
/// multicast group.
pub(crate) fn write_group(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let multicast_group_id = words.positive("the number of a multicast group")?;
    let replicas = if kind == Type::Delete { Vec::new() } else { replicas(&mut words)? };
    words.end()?;
    let group = MulticastGroupEntry { multicast_group_id, replicas, ..Default::default() };
    session.write(kind, entity(Replication::MulticastGroupEntry(group)))
}

/// Parses the number of the object that a dump shows, where 0 stands for all.
fn selected(words: &mut Operands) -> Result<u32, CommandError> {
    let id = if words.peek().is_some() { words.number("a number")? } else { 0 };
    words.end()?;
    Ok(id)
}

/// Runs the command `multicast dump`, which shows multicast groups.
pub(crate) fn dump_groups(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let multicast_group_id = selected(&mut words)?;
    let group = MulticastGroupEntry { multicast_group_id, ..MulticastGroupEntry::default() };
    session.list(vec![entity(Replication::MulticastGroupEntry(group))], sink)
}

/// Runs the commands `clone add`, `clone modify` and `clone delete`, which write a clone session.
pub(crate) fn write_clone(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let class_of_service = words.number_option("class")?.unwrap_or(0);
    let packet_length_bytes = words.number_option("truncate")?.unwrap_or(0);
    let session_id = words.positive("the number of a clone session")?;
    let replicas = if kind == Type::Delete { Vec::new() } else { replicas(&mut words)? };
    words.end()?;
    let entry = CloneSessionEntry { session_id, replicas, class_of_service, packet_length_bytes };
    session.write(kind, entity(Replication::CloneSessionEntry(entry)))
}

/// Runs the command `clone dump`, which shows clone sessions.
pub(crate) fn dump_clones(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let session_id = selected(&mut words)?;
    let entry = CloneSessionEntry { session_id, ..CloneSessionEntry::default() };
    session.list(vec![entity(Replication::CloneSessionEntry(entry))], sink)
}
