//! Conversion of the packet replication engine's entries: multicast groups and clone sessions
//! (specification of P4Runtime 1.5, "PacketReplicationEngineEntry").
//!
//! Ports keep the form in which they were written, so that a controller reads what it wrote: either
//! the number that P4Runtime used before 1.4, or the byte string used since. Ports are compared by
//! value. An unset port is the number 0, which the old form omits on the wire. This module does not
//! know which ports exist.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use entities::{
    Backup, CloneSession, CloneSessionId, Entity, EntityError, MulticastGroup, MulticastGroupId,
    Port, Replica, UpdateKind, value,
};

use crate::proto::v1;
use crate::proto::v1::packet_replication_engine_entry::Type;
use crate::proto::v1::replica::PortKind;

pub(super) fn entity(
    kind: UpdateKind,
    entry: &v1::PacketReplicationEngineEntry,
) -> Result<Entity, EntityError> {
    match &entry.r#type {
        None => Err(unset()),
        Some(Type::MulticastGroupEntry(group)) => {
            multicast_group(kind, group).map(Entity::MulticastGroup).map_err(|error| {
                error.within(format_args!("multicast group {}", group.multicast_group_id))
            })
        }
        Some(Type::CloneSessionEntry(session)) => clone_session(kind, session)
            .map(Entity::CloneSession)
            .map_err(|error| error.within(format_args!("clone session {}", session.session_id))),
    }
}

pub(super) fn unset() -> EntityError {
    EntityError::invalid("neither a multicast group nor a clone session is set")
}

fn multicast_group(
    kind: UpdateKind,
    group: &v1::MulticastGroupEntry,
) -> Result<MulticastGroup, EntityError> {
    let id = MulticastGroupId(group.multicast_group_id);
    if kind == UpdateKind::Delete {
        check_id(id.0)?;
        return Ok(MulticastGroup { id, replicas: Box::default(), metadata: Box::default() });
    }
    let replicas = replicas(&group.replicas)?;
    unique(&replicas)?;
    check_id(id.0)?;
    Ok(MulticastGroup { id, replicas, metadata: Box::from(&*group.metadata) })
}

fn clone_session(
    kind: UpdateKind,
    session: &v1::CloneSessionEntry,
) -> Result<CloneSession, EntityError> {
    let id = CloneSessionId(session.session_id);
    let (class_of_service, packet_length_bytes) = (session.class_of_service, 0);
    if kind == UpdateKind::Delete {
        check_id(id.0)?;
        let replicas = Box::default();
        return Ok(CloneSession { id, replicas, class_of_service, packet_length_bytes });
    }
    let packet_length_bytes = u32::try_from(session.packet_length_bytes).map_err(|_| {
        EntityError::invalid(format!(
            "packet_length_bytes is {}, which is negative",
            session.packet_length_bytes
        ))
    })?;
    let replicas = replicas(&session.replicas)?;
    check_id(id.0)?;
    Ok(CloneSession { id, replicas, class_of_service, packet_length_bytes })
}

fn check_id(id: u32) -> Result<(), EntityError> {
    if id == 0 {
        return Err(EntityError::invalid("the id must not be 0, which stands for all in a read"));
    }
    Ok(())
}

fn replicas(replicas: &[v1::Replica]) -> Result<Box<[Replica]>, EntityError> {
    let known = |port: &Bytes| {
        if port.is_empty() {
            return Err(EntityError::from(value::ValueError::Empty));
        }
        Ok(port_bytes(port))
    };
    let replicas = replicas.iter().map(|replica| {
        let port = match &replica.port_kind {
            None => None,
            Some(PortKind::EgressPort(number)) => Some(Port::Number(*number)),
            Some(PortKind::Port(port)) => Some(Port::Bytes(known(port)?)),
        };
        let backups = replica
            .backup_replicas
            .iter()
            .map(|backup| Ok(Backup { port: known(&backup.port)?, instance: backup.instance }));
        let backups = backups.collect::<Result<_, EntityError>>()?;
        Ok(Replica { port, instance: replica.instance, backups })
    });
    replicas.collect()
}

/// Returns a port as bytes without leading zeros, since P4Info does not state the width of ports.
/// (A port that is translated to a string begins with no zeros.)
pub(super) fn port_bytes(port: &Bytes) -> Box<[u8]> {
    value::unsigned(port, u32::MAX).unwrap_or(port).into()
}

/// Checks that no two replicas of a multicast group have the same port and instance, and that each
/// backup has another port than the replica that it replaces.
fn unique(replicas: &[Replica]) -> Result<(), EntityError> {
    let mut pairs = HashSet::new();
    for replica in replicas {
        let port = bytes_of(replica.port.as_ref());
        if replica.backups.iter().any(|backup| *backup.port == *port) {
            return Err(EntityError::invalid(format!(
                "a backup of the replica at port {port:02x?} has the same port"
            )));
        }
        let backups = replica.backups.iter();
        let backups = backups.map(|backup| (Cow::Borrowed(&*backup.port), backup.instance));
        for (port, instance) in std::iter::once((port.clone(), replica.instance)).chain(backups) {
            if !pairs.insert((port.clone(), instance)) {
                return Err(EntityError::invalid(format!(
                    "two replicas have port {port:02x?} and instance {instance}"
                )));
            }
        }
    }
    Ok(())
}

fn bytes_of(port: Option<&Port>) -> Cow<'_, [u8]> {
    match port {
        Some(Port::Bytes(port)) => Cow::Borrowed(port),
        Some(Port::Number(number)) => Cow::Owned(value::encode(u128::from(*number)).to_vec()),
        None => Cow::Borrowed(&[0]),
    }
}

pub(super) fn multicast_group_message(group: &MulticastGroup) -> v1::PacketReplicationEngineEntry {
    let entry = v1::MulticastGroupEntry {
        multicast_group_id: group.id.0,
        replicas: replica_messages(&group.replicas),
        metadata: Bytes::copy_from_slice(&group.metadata),
    };
    v1::PacketReplicationEngineEntry { r#type: Some(Type::MulticastGroupEntry(entry)) }
}

pub(super) fn clone_session_message(session: &CloneSession) -> v1::PacketReplicationEngineEntry {
    let entry = v1::CloneSessionEntry {
        session_id: session.id.0,
        replicas: replica_messages(&session.replicas),
        class_of_service: session.class_of_service,
        packet_length_bytes: i32::try_from(session.packet_length_bytes).unwrap_or(i32::MAX),
    };
    v1::PacketReplicationEngineEntry { r#type: Some(Type::CloneSessionEntry(entry)) }
}

fn replica_messages(replicas: &[Replica]) -> Vec<v1::Replica> {
    let replicas = replicas.iter().map(|replica| v1::Replica {
        port_kind: replica.port.as_ref().map(|port| match port {
            Port::Number(number) => PortKind::EgressPort(*number),
            Port::Bytes(port) => PortKind::Port(Bytes::copy_from_slice(port)),
        }),
        instance: replica.instance,
        backup_replicas: replica
            .backups
            .iter()
            .map(|backup| v1::BackupReplica {
                port: Bytes::copy_from_slice(&backup.port),
                instance: backup.instance,
            })
            .collect(),
    });
    replicas.collect()
}
