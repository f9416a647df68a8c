//! What a switch keeps of what it is told: entities, validated and read back.
//!
//! A [`Store`] belongs to one committed pipeline. It is a plain data structure: updates, requests
//! and the time go in, entities and errors come out. Emulated switches live on it alone; a
//! software switch keeps it beside its data plane.
//!
//! Three choices shape it. An update is first *planned* (everything that can be wrong with it is
//! found without touching anything) and then *applied* as one change whose inverse comes back;
//! so a batch rolls back by applying inverses in reverse order, and nothing has to be copied
//! beforehand. What is stored is encoded and owned: a table entry takes its key and its action as
//! two small buffers, and never keeps the frame alive in which it was received. And everything is
//! made when it is first written: a fresh store is a few empty maps, whatever the program, which
//! is what lets ten thousand switches live in one process.
//!
//! Where the specification leaves a choice:
//!
//! * An identifier that P4Info does not have is INVALID_ARGUMENT, in writes and reads.
//! * A read that names an entity which does not exist answers nothing, as a filter does; only
//!   direct counters and direct meters answer NOT_FOUND, because the specification says so.
//! * A MODIFY of a table entry without action keeps action, metadata and idle timeout.
//! * Counters, meters and registers take MODIFY only.
//! * A read of table entries filters by action id, never by member, group or one-shot group.
//! * A group with `max_size` 0 may be as large as its selector allows, although the text of the
//!   specification wants a size: the comment in its proto does not, nor does BMv2.
//! * P4Info does not say which actions execute a direct resource, so that a direct resource is
//!   accepted with every action of a table that has it.

mod action;
mod cells;
mod change;
mod matching;
mod profile;
mod reading;
mod replication;
mod state;
mod table;
mod table_read;
#[cfg(test)]
mod tests;
mod value_set;

use std::ops::ControlFlow;
use std::sync::Arc;

use self::change::Change;
pub use self::reading::Reading;
use self::state::State;
use crate::p4info::{DigestId, ExternId, Schema};
use crate::proto::v1;
use crate::proto::v1::update::Type as UpdateType;
use crate::status::{Code, EntityError};

/// The most cells that a wildcard read of one counter, meter or register array answers; a larger
/// array is RESOURCE_EXHAUSTED and has to be read by index.
pub const MAX_WILDCARD_CELLS: u64 = 1 << 20;

/// A point in time, in nanoseconds since an epoch of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The time that has passed since `earlier`, zero if it is later.
    fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// The entities of one switch under one pipeline.
#[derive(Debug)]
pub struct Store {
    schema: Arc<Schema>,
    /// Shared with the reads that are being answered.
    state: Arc<State>,
}

impl Store {
    /// An empty store: every table has its default entry and nothing else.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, state: Arc::default() }
    }

    /// The pipeline that the entities belong to.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Applies one update, or refuses it and changes nothing.
    pub fn write(&mut self, update: &v1::Update, now: Nanos) -> Result<(), EntityError> {
        let change = self.plan(update, now)?;
        Arc::make_mut(&mut self.state).apply(&self.schema, change);
        Ok(())
    }

    /// Applies a batch in order and returns the outcome of each update.
    ///
    /// With `ContinueOnError` every update is tried. With `RollbackOnError` and
    /// `DataplaneAtomic` the first refusal undoes the updates before it: that update has its own
    /// error, all others are ABORTED. Both are the same here, because nothing can look at a store
    /// while it is being written.
    pub fn write_batch(
        &mut self,
        updates: &[v1::Update],
        atomicity: v1::write_request::Atomicity,
        now: Nanos,
    ) -> Vec<Result<(), EntityError>> {
        use v1::write_request::Atomicity;

        match atomicity {
            Atomicity::ContinueOnError => {
                updates.iter().map(|update| self.write(update, now)).collect()
            }
            Atomicity::RollbackOnError | Atomicity::DataplaneAtomic => {
                self.write_all_or_none(updates, now)
            }
        }
    }

    /// Installs an entry that the program itself declares, when the pipeline is committed.
    ///
    /// Other than [`Self::write`] it serves constant tables and entries marked `is_const`, both of
    /// which no controller can change afterwards.
    pub fn install_initial(
        &mut self,
        entry: &v1::TableEntry,
        now: Nanos,
    ) -> Result<(), EntityError> {
        let change = table::plan_initial(&self.schema, &self.state, entry, now)?;
        Arc::make_mut(&mut self.state).apply(&self.schema, change);
        Ok(())
    }

    /// Reads what the requests select, piece by piece, in an order that depends on the content of
    /// the store alone. What is written from now on is not seen.
    pub fn reading(&self, requests: Vec<v1::Entity>, now: Nanos) -> Reading {
        Reading::new(Arc::clone(&self.schema), Arc::clone(&self.state), requests, now)
    }

    /// Calls `visit` with every entity that `request` selects; see [`Store::reading`].
    ///
    /// An error comes before any entity.
    pub fn read(
        &self,
        request: &v1::Entity,
        now: Nanos,
        visit: &mut dyn FnMut(v1::Entity),
    ) -> Result<(), EntityError> {
        let mut reading = self.reading(vec![request.clone()], now);
        let _ = reading.advance(&mut |found| {
            found.into_iter().for_each(&mut *visit);
            ControlFlow::Continue(())
        });
        reading.take_outcomes().into_iter().collect()
    }

    /// Calls `visit` with the cells of counters, meters and registers that were written, as a
    /// MODIFY restores them. What an array was set to as a whole comes first and has no index.
    pub(crate) fn written_cells(&self, visit: &mut dyn FnMut(v1::Entity)) {
        cells::written(&self.state, &mut |entity| visit(v1::Entity { entity: Some(entity) }));
    }

    /// The table entries whose idle timeout has passed since they were hit, or since they were
    /// last returned from here, as an `IdleTimeoutNotification` carries them.
    pub fn expire(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        if self.state.next_expiry().is_none_or(|expiry| expiry > now) {
            return Vec::new();
        }
        Arc::make_mut(&mut self.state).expire(now)
    }

    /// No entry expires before this time: when to call [`Self::expire`] next. `None` if no entry
    /// has an idle timeout.
    pub fn next_expiry(&self) -> Option<Nanos> {
        self.state.next_expiry()
    }

    /// Records that a packet of `bytes` bytes hit the entry with the key (table, match fields and
    /// priority, or the default entry) of `key`: it counts, and the entry is not idle.
    pub fn record_hit(
        &mut self,
        key: &v1::TableEntry,
        bytes: u64,
        now: Nanos,
    ) -> Result<(), EntityError> {
        let change = table::plan_hit(&self.schema, &self.state, key, bytes, now)?;
        Arc::make_mut(&mut self.state).apply(&self.schema, change);
        Ok(())
    }

    fn write_all_or_none(
        &mut self,
        updates: &[v1::Update],
        now: Nanos,
    ) -> Vec<Result<(), EntityError>> {
        let mut inverses = Vec::with_capacity(updates.len());
        for (position, update) in updates.iter().enumerate() {
            match self.plan(update, now) {
                Ok(change) => {
                    inverses.push(Arc::make_mut(&mut self.state).apply(&self.schema, change))
                }
                Err(error) => {
                    for inverse in inverses.into_iter().rev() {
                        Arc::make_mut(&mut self.state).apply(&self.schema, inverse);
                    }
                    let aborted = EntityError::new(
                        Code::Aborted,
                        format!("rolled back, because update {position} of the batch failed"),
                    );
                    let mut outcomes = vec![Err(aborted); updates.len()];
                    outcomes[position] = Err(error);
                    return outcomes;
                }
            }
        }
        vec![Ok(()); updates.len()]
    }

    fn plan(&self, update: &v1::Update, now: Nanos) -> Result<Change, EntityError> {
        use v1::entity::Entity;

        let (schema, state) = (&*self.schema, &*self.state);
        let kind = match update.r#type() {
            UpdateType::Unspecified => {
                return Err(EntityError::invalid("the type of the update is unset"));
            }
            kind => kind,
        };
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            None => Err(unset_entity()),
            Some(Entity::ExternEntry(entry)) => Err(extern_error(schema, entry)),
            Some(Entity::TableEntry(entry)) => table::plan(schema, state, kind, entry, now),
            Some(Entity::DirectCounterEntry(entry)) => {
                table::plan_counter(schema, state, kind, entry)
            }
            Some(Entity::DirectMeterEntry(entry)) => table::plan_meter(schema, state, kind, entry),
            Some(Entity::ActionProfileMember(member)) => {
                profile::plan_member(schema, state, kind, member)
            }
            Some(Entity::ActionProfileGroup(group)) => {
                profile::plan_group(schema, state, kind, group)
            }
            Some(Entity::CounterEntry(entry)) => cells::plan_counter(schema, kind, entry),
            Some(Entity::MeterEntry(entry)) => cells::plan_meter(schema, kind, entry),
            Some(Entity::RegisterEntry(entry)) => cells::plan_register(schema, kind, entry),
            Some(Entity::PacketReplicationEngineEntry(entry)) => {
                replication::plan(state, kind, entry)
            }
            Some(Entity::ValueSetEntry(entry)) => value_set::plan(schema, kind, entry),
            Some(Entity::DigestEntry(entry)) => plan_digest(schema, state, kind, entry),
        }
    }
}

/// The identifier of the P4 object that `entity` belongs to, for roles that own objects: the
/// table for direct resources. `None` for the packet replication engine, for wildcards and for
/// an entity that is unset.
pub fn object_id(entity: &v1::Entity) -> Option<u32> {
    use v1::entity::Entity;

    let table = |entry: &Option<v1::TableEntry>| entry.as_ref().map_or(0, |entry| entry.table_id);
    let id = match entity.entity.as_ref()? {
        Entity::ExternEntry(entry) => entry.extern_id,
        Entity::TableEntry(entry) => entry.table_id,
        Entity::ActionProfileMember(member) => member.action_profile_id,
        Entity::ActionProfileGroup(group) => group.action_profile_id,
        Entity::MeterEntry(entry) => entry.meter_id,
        Entity::DirectMeterEntry(entry) => table(&entry.table_entry),
        Entity::CounterEntry(entry) => entry.counter_id,
        Entity::DirectCounterEntry(entry) => table(&entry.table_entry),
        Entity::PacketReplicationEngineEntry(_) => 0,
        Entity::ValueSetEntry(entry) => entry.value_set_id,
        Entity::RegisterEntry(entry) => entry.register_id,
        Entity::DigestEntry(entry) => entry.digest_id,
    };
    (id != 0).then_some(id)
}

fn unset_entity() -> EntityError {
    EntityError::invalid(
        "the entity is unset, or of a kind that this version of P4Runtime does not have",
    )
}

/// Refuses updates other than MODIFY for entities that always exist.
fn modify_only(kind: UpdateType, what: &str) -> Result<(), EntityError> {
    if kind == UpdateType::Modify {
        return Ok(());
    }
    Err(EntityError::invalid(format!("{what} takes MODIFY only, not {}", kind.as_str_name())))
}

/// Externs of an architecture have no entries here: UNIMPLEMENTED if P4Info has the instance.
fn extern_error(schema: &Schema, entry: &v1::ExternEntry) -> EntityError {
    match schema.externs().get(ExternId(entry.extern_id)) {
        Some(instance) if instance.type_id.0 == entry.extern_type_id => {
            unsupported_extern(&instance.name)
        }
        _ => EntityError::invalid(format!(
            "P4Info has no extern {} of type {}",
            ExternId(entry.extern_id),
            entry.extern_type_id
        )),
    }
}

fn unsupported_extern(name: &str) -> EntityError {
    EntityError::unimplemented(format!(
        "extern '{name}': entries of externs that the architecture defines are not supported"
    ))
}

/// A wildcard selects the instances of all supported extern types, that is, none.
fn read_extern(schema: &Schema, request: &v1::ExternEntry) -> Result<(), EntityError> {
    if request.extern_type_id == 0 && request.extern_id == 0 {
        return Ok(());
    }
    let selected = schema
        .externs()
        .iter()
        .find(|one| request.extern_id == 0 && one.type_id.0 == request.extern_type_id);
    Err(match selected {
        Some(instance) => unsupported_extern(&instance.name),
        None => extern_error(schema, request),
    })
}

fn plan_digest(
    schema: &Schema,
    state: &State,
    kind: UpdateType,
    entry: &v1::DigestEntry,
) -> Result<Change, EntityError> {
    let id = DigestId(entry.digest_id);
    let digest = schema
        .digests()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no digest {id}")))?;
    let enabled = state.digests.contains_key(&id);
    match kind {
        UpdateType::Insert if enabled => {
            return Err(EntityError::exists(format!(
                "digest '{}' is enabled already",
                digest.name
            )));
        }
        UpdateType::Modify | UpdateType::Delete if !enabled => {
            return Err(EntityError::not_found(format!("digest '{}' is not enabled", digest.name)));
        }
        UpdateType::Delete => return Ok(Change::Digest { id, value: None }),
        _ => {}
    }
    let config = entry.config.unwrap_or_default();
    if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
        return Err(EntityError::invalid(format!(
            "digest '{}': timeouts and list size are not negative",
            digest.name
        )));
    }
    Ok(Change::Digest { id, value: Some(entry.config) })
}
