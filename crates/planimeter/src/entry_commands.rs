//! Reads files of commands of simple_switch_CLI, or of `planimeter ctl`, as entries of a switch
//! that is about to start: `cli_input` of topologies, `stf --entries`, and `switch --runtime-json`.
//!
//! The commands run on a switch in memory that has the program's P4Info and receives no packets.
//! Its entities after the last command are those that the new switch gets.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ::ctl::{Device, DeviceError, Flow, Message, PortState, PushAction, Session, Until, run_line};
use p4runtime::control;
use p4runtime::p4info::Schema;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{
    self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, Entity, MulticastGroupEntry,
    PacketReplicationEngineEntry, TableEntry, Update, entity::Entity as Kind,
    packet_replication_engine_entry::Type as Replication, update::Type,
};
use p4runtime::proto::{switch, v1::write_request::Atomicity};
use p4runtime::status::EntityError;
use p4runtime::store::{Nanos, Store};
use prost::Message as _;
use queues::Configuration;

use crate::failure::Failure;

/// The entities and the queues that the commands of a file configure.
#[derive(Debug)]
pub(crate) struct Configured {
    pub(crate) updates: Vec<Update>,
    pub(crate) queues: Configuration,
}

/// Runs the commands in `text`, the content of the file at `path`, for a program with this P4Info.
pub(crate) fn run(path: &Path, text: &str, p4info: &P4Info) -> Result<Configured, Failure> {
    let schema = Schema::new(p4info.clone()).map_err(Failure::input)?;
    let mut device = InMemory::new(schema);
    let mut session = Session::new(&mut device, false).map_err(Failure::input)?;
    for (number, line) in (1..).zip(text.lines()) {
        let ran = run_line(&mut session, line, &mut |_| {});
        match ran {
            Ok(Flow::Continue) => {}
            Ok(Flow::Quit) => break,
            Err(error) => {
                return Err(Failure::input(format!("{}:{number}: {error}", path.display())));
            }
        }
    }
    drop(session);
    Ok(device.configured())
}

/// A switch in memory, on which the commands of a file run.
struct InMemory {
    store: Store,
    /// The written entities, in the order of the writes.
    written: Vec<Entity>,
    queues: Configuration,
}

impl InMemory {
    fn new(schema: Arc<Schema>) -> Self {
        Self { store: Store::new(schema), written: Vec::new(), queues: Configuration::default() }
    }

    /// Returns the updates that bring a new switch into the state after all commands. Entities come
    /// in the order in which they were first written, except that members and groups precede the
    /// entries that refer to them. Cells of arrays are written again as the commands wrote them,
    /// because the switch in memory does not store them.
    fn configured(self) -> Configured {
        let Self { store, written, queues } = self;
        let (mut members, mut groups) = (Vec::new(), Vec::new());
        let (mut others, mut cells) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for entity in written {
            let Some(key) = key(&entity) else {
                cells.push(entity);
                continue;
            };
            if !seen.insert(key.encode_to_vec()) {
                continue;
            }
            let list = match &key.entity {
                Some(Kind::ActionProfileMember(_)) => &mut members,
                Some(Kind::ActionProfileGroup(_)) => &mut groups,
                _ => &mut others,
            };
            // An entity that was deleted again is not found.
            let _ = store.read(&key, Nanos(0), &mut |found| list.push(found));
        }
        let all = members.into_iter().chain(groups).chain(others).chain(cells);
        let update = |entity: Entity| Update { r#type: kind(&entity).into(), entity: Some(entity) };
        Configured { updates: all.map(update).collect(), queues }
    }
}

/// Returns the type of the update that writes an entity to a new switch. Default entries and cells
/// exist there already, so they are modified.
fn kind(entity: &Entity) -> Type {
    match &entity.entity {
        Some(Kind::TableEntry(entry)) if entry.is_default_action => Type::Modify,
        Some(
            Kind::TableEntry(_)
            | Kind::ActionProfileMember(_)
            | Kind::ActionProfileGroup(_)
            | Kind::PacketReplicationEngineEntry(_)
            | Kind::DigestEntry(_),
        ) => Type::Insert,
        _ => Type::Modify,
    }
}

/// Returns an entity that selects `entity` in a Read. Returns `None` for cells of arrays and other
/// entities that are not read back.
fn key(entity: &Entity) -> Option<Entity> {
    Some(match entity.entity.as_ref()? {
        Kind::TableEntry(entry) => TableEntry {
            table_id: entry.table_id,
            r#match: entry.r#match.clone(),
            priority: entry.priority,
            is_default_action: entry.is_default_action,
            ..TableEntry::default()
        }
        .into(),
        Kind::ActionProfileMember(member) => ActionProfileMember {
            action_profile_id: member.action_profile_id,
            member_id: member.member_id,
            ..ActionProfileMember::default()
        }
        .into(),
        Kind::ActionProfileGroup(group) => ActionProfileGroup {
            action_profile_id: group.action_profile_id,
            group_id: group.group_id,
            ..ActionProfileGroup::default()
        }
        .into(),
        Kind::PacketReplicationEngineEntry(entry) => {
            let key = match entry.r#type.as_ref()? {
                Replication::MulticastGroupEntry(group) => {
                    let multicast_group_id = group.multicast_group_id;
                    Replication::MulticastGroupEntry(MulticastGroupEntry {
                        multicast_group_id,
                        ..MulticastGroupEntry::default()
                    })
                }
                Replication::CloneSessionEntry(session) => {
                    let session_id = session.session_id;
                    Replication::CloneSessionEntry(CloneSessionEntry {
                        session_id,
                        ..CloneSessionEntry::default()
                    })
                }
            };
            PacketReplicationEngineEntry { r#type: Some(key) }.into()
        }
        _ => return None,
    })
}

fn refused(error: &EntityError) -> DeviceError {
    DeviceError::Refused { code: error.code(), message: error.message().to_owned() }
}

/// Returns the error for an operation that a switch without packets and clients cannot perform.
fn impossible<T>() -> Result<T, DeviceError> {
    let reason = "it needs a switch that runs, and a file of entries is read before that; use `planimeter ctl`";
    Err(DeviceError::Unsupported(reason.to_owned()))
}

impl Device for InMemory {
    fn id(&self) -> u64 {
        0
    }

    fn role(&self) -> &str {
        ""
    }

    fn read(&mut self, requests: &[Entity]) -> Result<Vec<Entity>, DeviceError> {
        let mut found = Vec::new();
        for request in requests {
            let read = self.store.read(request, Nanos(0), &mut |entity| found.push(entity));
            read.map_err(|error| refused(&error))?;
        }
        Ok(found)
    }

    fn write(&mut self, updates: &[Update]) -> Result<(), DeviceError> {
        let outcomes = self.store.write_batch(updates, Atomicity::ContinueOnError, Nanos(0));
        for (update, outcome) in updates.iter().zip(outcomes) {
            outcome.map_err(|error| refused(&error))?;
            self.written.extend(update.entity.clone());
        }
        Ok(())
    }

    fn pipeline(&mut self) -> Result<Option<P4Info>, DeviceError> {
        Ok(Some(self.store.schema().p4info().clone()))
    }

    fn push(&mut self, _: &[String], _: PushAction) -> Result<(), DeviceError> {
        impossible()
    }

    fn send(&mut self, _: v1::PacketOut) -> Result<(), DeviceError> {
        impossible()
    }

    fn listen(&mut self, _: Until, _: &mut dyn FnMut(Message) -> bool) -> Result<(), DeviceError> {
        impossible()
    }

    fn ports(&mut self) -> Result<Vec<PortState>, DeviceError> {
        impossible()
    }

    fn configuration(&mut self) -> Result<Vec<u8>, DeviceError> {
        impossible()
    }

    fn store(&mut self, _: &str, _: &[u8]) -> Result<(), DeviceError> {
        impossible()
    }

    fn about(&mut self) -> Result<switch::GetSwitchResponse, DeviceError> {
        impossible()
    }

    fn queues(&mut self, ports: &[u32]) -> Result<switch::GetQueuesResponse, DeviceError> {
        let wanted = |port: u32| ports.is_empty() || ports.contains(&port);
        let found = self.queues.0.iter().filter(|(port, _)| wanted(**port));
        let ports = found.map(|(port, config)| control::message(*port, config)).collect();
        Ok(switch::GetQueuesResponse { ports, ..switch::GetQueuesResponse::default() })
    }

    fn set_queues(
        &mut self,
        ports: Vec<switch::PortQueues>,
        _: u64,
    ) -> Result<switch::SetQueuesResponse, DeviceError> {
        for (port, change) in control::changes(&ports).map_err(|error| refused(&error))? {
            match change {
                Some(config) => drop(self.queues.0.insert(port, config)),
                None => drop(self.queues.0.remove(&port)),
            }
        }
        Ok(switch::SetQueuesResponse::default())
    }

    fn inject(&mut self, _: switch::InjectRequest) -> Result<switch::InjectOutcome, DeviceError> {
        impossible()
    }
}

/// Returns whether a file contains commands. A file that begins with a brace is a `runtime.json`
/// instead.
pub(crate) fn has_commands(text: &str) -> bool {
    !text.trim_start().starts_with('{')
}
