//! Reads that are answered piece by piece.
//!
//! The answer to a Read may be much larger than its request: a dozen bytes select every cell of an
//! array. So it is never built as a whole. A request is checked once, and its entities are then
//! visited for as long as whoever sends them goes on; the place where they stopped is kept, as an
//! identifier, an index or a key, so that to go on costs nothing. What is read is the store as it
//! was when the Read began, whatever is written meanwhile: Reads and Writes are not to mix
//! (specification 1.5, "Parallelism of Read and Write Requests").

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::vec;

use super::state::{Key, State};
use super::{Nanos, cells, profile, read_extern, replication, table_read, unset_entity, value_set};
use crate::p4info::{DigestId, Schema};
use crate::proto::v1;
use crate::proto::v1::entity::Entity;
use crate::status::EntityError;

/// Hears of every entity that was looked at, `None` if it was not selected, and says whether to
/// go on.
pub(super) type Visit<'a> = dyn FnMut(Option<Entity>) -> ControlFlow<()> + 'a;

/// A Read that is being answered, from the store as it was when it began.
#[derive(Debug)]
pub struct Reading {
    schema: Arc<Schema>,
    state: Arc<State>,
    now: Nanos,
    requests: vec::IntoIter<v1::Entity>,
    current: Option<Current>,
    outcomes: Vec<Result<(), EntityError>>,
}

#[derive(Debug)]
struct Current {
    selected: Selected,
    place: Place,
    found: bool,
}

impl Reading {
    pub(super) fn new(
        schema: Arc<Schema>,
        state: Arc<State>,
        requests: Vec<v1::Entity>,
        now: Nanos,
    ) -> Self {
        let requests = requests.into_iter();
        Self { schema, state, now, requests, current: None, outcomes: Vec::new() }
    }

    /// Goes on from where it stopped, until `visit` breaks it off; the end is reached otherwise.
    ///
    /// `visit` is called with every entity that is selected, and with `None` for every step that
    /// found none: a request that is begun, an entity that is passed over. An error of a request
    /// comes before any of its entities.
    pub fn advance(
        &mut self,
        visit: &mut dyn FnMut(Option<v1::Entity>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        loop {
            if let Some(current) = &mut self.current {
                let Current { selected, place, found } = current;
                selected.visit(&self.schema, &self.state, self.now, place, &mut |entity| {
                    *found |= entity.is_some();
                    visit(entity.map(|entity| v1::Entity { entity: Some(entity) }))
                })?;
                self.outcomes.push(selected.outcome(&self.schema, *found));
                self.current = None;
            }
            let Some(request) = self.requests.next() else { return ControlFlow::Continue(()) };
            match Selected::new(&self.schema, &request) {
                Ok(selected) => {
                    let place = Place::default();
                    self.current = Some(Current { selected, place, found: false });
                }
                Err(error) => self.outcomes.push(Err(error)),
            }
            visit(None)?;
        }
    }

    /// Answers nothing more: the request that is being answered and those after it fail.
    pub fn abandon(&mut self, error: &EntityError) {
        let unanswered = usize::from(self.current.take().is_some()) + self.requests.len();
        self.requests = Vec::new().into_iter();
        self.outcomes.extend((0..unanswered).map(|_| Err(error.clone())));
    }

    /// One outcome for each request that has been answered, in their order.
    pub fn outcomes(&self) -> &[Result<(), EntityError>] {
        &self.outcomes
    }

    /// As [`Reading::outcomes`], to keep them.
    pub fn take_outcomes(&mut self) -> Vec<Result<(), EntityError>> {
        std::mem::take(&mut self.outcomes)
    }
}

/// What a request selects, checked.
#[derive(Debug)]
enum Selected {
    Nothing,
    Table(table_read::Selected),
    Profile(profile::Selected),
    Cells(cells::Selected),
    Replication(replication::Selected),
    ValueSets(value_set::Selected),
    /// All of them for the identifier 0.
    Digests(DigestId),
}

impl Selected {
    fn new(schema: &Schema, request: &v1::Entity) -> Result<Self, EntityError> {
        Ok(match &request.entity {
            None => return Err(unset_entity()),
            Some(Entity::ExternEntry(request)) => {
                read_extern(schema, request)?;
                Self::Nothing
            }
            Some(Entity::TableEntry(request)) => {
                Self::Table(table_read::Selected::entries(schema, request)?)
            }
            Some(Entity::DirectCounterEntry(request)) => {
                Self::Table(table_read::Selected::direct_counters(schema, request)?)
            }
            Some(Entity::DirectMeterEntry(request)) => {
                Self::Table(table_read::Selected::direct_meters(schema, request)?)
            }
            Some(Entity::ActionProfileMember(request)) => {
                Self::Profile(profile::Selected::members(schema, request)?)
            }
            Some(Entity::ActionProfileGroup(request)) => {
                Self::Profile(profile::Selected::groups(schema, request)?)
            }
            Some(Entity::CounterEntry(request)) => {
                Self::Cells(cells::Selected::counters(schema, request)?)
            }
            Some(Entity::MeterEntry(request)) => {
                Self::Cells(cells::Selected::meters(schema, request)?)
            }
            Some(Entity::RegisterEntry(request)) => {
                Self::Cells(cells::Selected::registers(schema, request)?)
            }
            Some(Entity::PacketReplicationEngineEntry(request)) => {
                Self::Replication(replication::Selected::new(request)?)
            }
            Some(Entity::ValueSetEntry(request)) => {
                Self::ValueSets(value_set::Selected::new(schema, request)?)
            }
            Some(Entity::DigestEntry(request)) => {
                let wanted = DigestId(request.digest_id);
                if wanted.0 != 0 && schema.digests().get(wanted).is_none() {
                    return Err(EntityError::invalid(format!("P4Info has no digest {wanted}")));
                }
                Self::Digests(wanted)
            }
        })
    }

    fn visit(
        &self,
        schema: &Schema,
        state: &State,
        now: Nanos,
        place: &mut Place,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        match self {
            Self::Nothing => ControlFlow::Continue(()),
            Self::Table(selected) => selected.visit(schema, state, now, place, visit),
            Self::Profile(selected) => selected.visit(state, place, visit),
            Self::Cells(selected) => selected.visit(schema, state, place, visit),
            Self::Replication(selected) => selected.visit(state, place, visit),
            Self::ValueSets(selected) => selected.visit(schema, state, place, visit),
            Self::Digests(wanted) => {
                let wanted = |id: &DigestId| wanted.0 == 0 || wanted == id;
                for (id, config) in state.digests.iter().filter(|(id, _)| wanted(id)) {
                    if place.enter(id.0) {
                        place.pass(id.0);
                        let entry = v1::DigestEntry { digest_id: id.0, config: *config };
                        visit(Some(Entity::DigestEntry(entry)))?;
                    }
                }
                ControlFlow::Continue(())
            }
        }
    }

    /// How a request ended of which everything was visited.
    fn outcome(&self, schema: &Schema, found: bool) -> Result<(), EntityError> {
        match self {
            Self::Table(selected) if !found => selected.nothing_found(schema),
            _ => Ok(()),
        }
    }
}

/// How far a request has been answered. Objects are visited by identifier, and what belongs to one
/// of them by number or by key.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Those before it are done. Wide enough for what comes after the last one.
    object: u64,
    within: Within,
}

#[derive(Debug, Default)]
enum Within {
    #[default]
    Start,
    /// What has this number comes next.
    Number(u64),
    /// What has this key was the last.
    Key(Key),
}

impl Place {
    /// Whether anything of this object is still to be visited; what comes before it is done then.
    pub(super) fn enter(&mut self, object: u32) -> bool {
        let object = u64::from(object);
        if object > self.object {
            *self = Self { object, within: Within::Start };
        }
        object == self.object
    }

    /// This object is done.
    pub(super) fn pass(&mut self, object: u32) {
        *self = Self { object: u64::from(object) + 1, within: Within::Start };
    }

    /// The number that comes next in an object that was entered.
    pub(super) fn number(&self, object: u32) -> u64 {
        match self.within {
            Within::Number(number) if self.object == u64::from(object) => number,
            _ => 0,
        }
    }

    /// Where to go on among the keys of an object that was entered.
    pub(super) fn after_key(&self) -> Option<&Key> {
        match &self.within {
            Within::Key(key) => Some(key),
            _ => None,
        }
    }

    /// The entry with this key of an object that was entered is done.
    pub(super) fn pass_key(&mut self, key: &Key) {
        self.within = Within::Key(key.clone());
    }

    /// Visits what belongs to an object, in the order of its numbers, and remembers where it was
    /// broken off.
    pub(super) fn walk<T>(
        &mut self,
        object: u32,
        found: impl Iterator<Item = (u64, T)>,
        mut visit: impl FnMut(T) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (number, one) in found {
            if visit(one).is_break() {
                let within = Within::Number(number.saturating_add(1));
                *self = Self { object: u64::from(object), within };
                return ControlFlow::Break(());
            }
        }
        self.pass(object);
        ControlFlow::Continue(())
    }
}

/// The identifiers to visit when `id` is asked for, 0 for all, and `from` comes next.
pub(super) fn numbers(id: u32, from: u64) -> (Bound<u32>, Bound<u32>) {
    let (first, last) = if id == 0 { (0, u32::MAX) } else { (id, id) };
    let from = from.max(u64::from(first));
    match u32::try_from(from) {
        Ok(from) if from <= last => (Bound::Included(from), Bound::Included(last)),
        // Nothing is left.
        _ => (Bound::Included(last), Bound::Excluded(last)),
    }
}
