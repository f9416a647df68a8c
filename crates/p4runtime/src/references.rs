//! References between entities, which a P4 program declares by annotations `@refers_to` (as in SAI
//! P4), and the check that what an entity refers to exists.
//!
//! `@refers_to(table, field)` on a match field or action parameter says that its value is that of a
//! field of an entry in another table. `builtin::multicast_group_table` and
//! `builtin::clone_session_table` stand for the groups and sessions of the packet replication
//! engine. Annotations of one key or one action that name different fields of one target form one
//! reference, to an entry with all these values.
//!
//! While references are checked, an entity is accepted only if what it refers to exists, and
//! deleted only if nothing refers to it. Updates of a batch are checked in order, each in view of
//! the earlier ones. P4Runtime leaves such checks to the target, so they are off unless requested.
//!
//! `References` records, for each entity that refers to others or that others may refer to, the
//! values by which they refer. It does not record entries that packets add, or that expire by
//! themselves.

mod declared;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use entities::schema::{ActionProfileId, Schema, TableId};
use entities::{
    ActionCall, Cursor, DataPlane, Entity, EntityError, EntryKey, EntrySelection, MatchKey,
    Matching, MemberId, Nanos, Reader, Selection, TableAction, TableEntry, Update, UpdateKind,
    Visibility,
};

use self::declared::{Declared, Object, Target};
use crate::p4info::SchemaError;
use crate::proto::config::P4Info;

/// The largest number of entities that are searched for one that refers to a given entity. An error
/// names the entity that was found.
const EXAMINED: usize = 100_000;

/// The values of a target's fields by which an entity refers to another, in the order of these
/// fields.
type Tuple = Box<[Box<[u8]>]>;

/// A reference, or a row: a combination of values to which a reference may refer. The number is the
/// position of the target in `Declared::targets`.
type Named = (usize, Tuple);

/// The identity of an entity that takes part in references.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum EntityId {
    Entry(TableId, MatchKey),
    Default(TableId),
    Member(ActionProfileId, MemberId),
    MulticastGroup(u32),
    CloneSession(u32),
}

/// The references that an entity makes to others, and the rows by which others can refer to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Held {
    references: Vec<Named>,
    rows: Vec<Named>,
}

/// The number of entities to which a combination of values refers, and the number of references
/// with this combination.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    rows: u64,
    referrers: u64,
}

/// The references between the entities of one switch.
#[derive(Debug)]
pub(crate) struct References {
    declared: Declared,
    held: HashMap<EntityId, Held>,
    counts: HashMap<Named, Counts>,
    /// The previous references and rows of the entities that the current batch has changed, in the
    /// order of the changes, so that the batch can be rolled back.
    undo: Vec<(EntityId, Option<Held>)>,
}

/// A change of an entity's references and rows.
#[derive(Debug)]
struct Change {
    id: EntityId,
    held: Option<Held>,
}

impl References {
    /// Records the references between the entities that `reader` returns. Returns `None` if the
    /// program declares no references.
    ///
    /// # Errors
    /// Returns an error if an annotation names a target that does not exist, or if references form
    /// a cycle, in which no entry could be inserted first.
    pub(crate) fn new(
        p4info: &P4Info,
        schema: &Schema,
        reader: &dyn Reader,
    ) -> Result<Option<Self>, SchemaError> {
        let declared = Declared::new(p4info, schema)?;
        if declared.targets.is_empty() {
            return Ok(None);
        }
        let (held, counts) = (HashMap::new(), HashMap::new());
        let mut references = Self { declared, held, counts, undo: Vec::new() };
        references.read(schema, reader);
        Ok(Some(references))
    }

    /// Adds the references and rows of all entities that the reader returns.
    fn read(&mut self, schema: &Schema, reader: &dyn Reader) {
        let mut selections = vec![Selection::MulticastGroups(None), Selection::CloneSessions(None)];
        for table in schema.tables().iter() {
            let all = EntrySelection::all(table.id);
            selections.push(Selection::Entries(EntrySelection { is_default: true, ..all.clone() }));
            selections.push(Selection::Entries(all));
        }
        let profiles = schema.action_profiles().iter();
        selections.extend(profiles.map(|profile| Selection::Members(profile.id, None)));
        for selection in selections {
            // The reader does not break, since the visit does not.
            let _ = reader.read(&selection, &mut Cursor::Start, &mut |found| {
                if let Some((id, held)) = found.as_ref().and_then(|entity| self.of(entity)) {
                    self.replace(id, Some(held));
                }
                ControlFlow::Continue(())
            });
        }
    }

    /// Returns the references and rows of an entity, or `None` if the entity takes no part in
    /// references.
    fn of(&self, entity: &Entity) -> Option<(EntityId, Held)> {
        let mut held = Held::default();
        let id = match entity {
            Entity::Entry(TableEntry { table, key, action, .. }) => {
                if let Some(action) = action {
                    self.of_action(action, &mut held);
                }
                match key {
                    EntryKey::Default => EntityId::Default(*table),
                    EntryKey::Match(key) => {
                        self.of_key(*table, key, &mut held);
                        EntityId::Entry(*table, key.clone())
                    }
                }
            }
            Entity::Member(member) => {
                if let Some(call) = &member.action {
                    self.of_call(call, &mut held);
                }
                EntityId::Member(member.profile, member.id)
            }
            Entity::MulticastGroup(group) => {
                self.of_builtin(&Object::MulticastGroup, group.id.0, &mut held);
                EntityId::MulticastGroup(group.id.0)
            }
            Entity::CloneSession(session) => {
                self.of_builtin(&Object::CloneSession, session.id.0, &mut held);
                EntityId::CloneSession(session.id.0)
            }
            Entity::DirectCounter(..)
            | Entity::DirectMeter(..)
            | Entity::Group(_)
            | Entity::Counter(_)
            | Entity::Meter(_)
            | Entity::Register(_)
            | Entity::ValueSet(_)
            | Entity::Digest(..) => return None,
        };
        Some((id, held))
    }

    fn of_key(&self, table: TableId, key: &MatchKey, held: &mut Held) {
        let value = |id| {
            let field = key.fields.iter().find(|field| field.field == id)?;
            match &field.matching {
                Matching::Exact(value) | Matching::Optional(value) => Some(value.bytes().into()),
                // Several values match, so there is none to refer to.
                Matching::Lpm { .. } | Matching::Ternary { .. } | Matching::Range { .. } => None,
            }
        };
        for (target, fields) in self.declared.of_keys.get(&table).into_iter().flatten() {
            // A field that is left out refers to nothing.
            if let Some(tuple) = fields.iter().copied().map(value).collect() {
                held.references.push((*target, tuple));
            }
        }
        for (number, target) in self.declared.targets.iter().enumerate() {
            if let Object::Table(of, fields) = &target.object
                && *of == table
                && let Some(tuple) = fields.iter().copied().map(value).collect()
            {
                held.rows.push((number, tuple));
            }
        }
    }

    fn of_action(&self, action: &TableAction, held: &mut Held) {
        match action {
            TableAction::Call(call) => self.of_call(call, held),
            TableAction::OneShot(set) => {
                let calls = set.members.iter().map(|member| &member.action);
                calls.chain(&set.group_action).for_each(|call| self.of_call(call, held));
            }
            TableAction::Member(_) | TableAction::Group(_) => {}
        }
    }

    fn of_call(&self, call: &ActionCall, held: &mut Held) {
        for (target, params) in self.declared.of_actions.get(&call.action).into_iter().flatten() {
            let value = |id| {
                let found = call.arguments.iter().find(|argument| argument.param == id)?;
                Some(found.value.bytes().into())
            };
            if let Some(tuple) = params.iter().copied().map(value).collect() {
                held.references.push((*target, tuple));
            }
        }
    }

    fn of_builtin(&self, object: &Object, id: u32, held: &mut Held) {
        let targets = self.declared.targets.iter();
        let target = targets.enumerate().find(|(_, target)| target.object == *object);
        if let Some((number, _)) = target {
            let value: Box<[u8]> = entities::value::encode(id.into()).to_vec().into();
            held.rows.push((number, Box::new([value])));
        }
    }

    /// Checks an update, and returns the change of references and rows that it makes. Returns
    /// `None` if it makes none.
    fn change(&self, schema: &Schema, update: &Update) -> Result<Option<Change>, EntityError> {
        let Some((id, mut held)) = self.of(&update.entity) else { return Ok(None) };
        let held = match (update.kind, &update.entity) {
            (UpdateKind::Delete, _) => None,
            (_, Entity::Entry(TableEntry { action: None, table, key, .. })) => match key {
                // Without an action, an entry keeps its own, and a default entry gets back that of
                // the program.
                EntryKey::Match(_) => return Ok(None),
                EntryKey::Default => {
                    let table = schema.tables().get(*table);
                    if let Some(call) = table.and_then(|table| table.default_action.as_ref()) {
                        self.of_call(call, &mut held);
                    }
                    Some(held)
                }
            },
            (UpdateKind::Insert | UpdateKind::Modify, _) => Some(held),
        };
        match &held {
            Some(held) => self.check_targets(held)?,
            None => self.check_referrers(schema, &id)?,
        }
        Ok(Some(Change { id, held }))
    }

    /// Refuses an entity that refers to something that does not exist.
    fn check_targets(&self, held: &Held) -> Result<(), EntityError> {
        let exists = |named: &Named| self.counts.get(named).is_some_and(|counts| counts.rows > 0);
        match held.references.iter().find(|named| !exists(named)) {
            None => Ok(()),
            Some((target, tuple)) => {
                let target = self.shown(*target, tuple);
                Err(EntityError::not_found(format!(
                    "it refers to {target}, which does not exist; insert that before"
                )))
            }
        }
    }

    /// Refuses to delete an entity if others refer to it.
    fn check_referrers(&self, schema: &Schema, id: &EntityId) -> Result<(), EntityError> {
        let Some(held) = self.held.get(id) else { return Ok(()) };
        for named in &held.rows {
            let counts = self.counts.get(named).copied().unwrap_or_default();
            let own = held.references.iter().filter(|own| *own == named).count() as u64;
            if counts.rows > 1 || counts.referrers <= own {
                continue;
            }
            let refers = |(other, held): &(&EntityId, &Held)| {
                *other != id && held.references.contains(named)
            };
            let referrer = self.held.iter().take(EXAMINED).find(refers);
            let referrer = referrer.map_or_else(
                || format!("{} others refer", counts.referrers - own),
                |(referrer, _)| format!("{} refers", name_of(schema, referrer)),
            );
            let row = self.shown(named.0, &named.1);
            return Err(EntityError::in_use(format!("{referrer} to {row}; delete that before")));
        }
        Ok(())
    }

    fn shown(&self, target: usize, tuple: &Tuple) -> String {
        let Some(Target { name, fields, .. }) = self.declared.targets.get(target) else {
            return String::new();
        };
        let mut shown = format!("{name} with");
        for (position, (field, value)) in fields.iter().zip(tuple).enumerate() {
            let separator = if position == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = match (field.is_text, entities::value::decode(value)) {
                (false, Some(number)) => write!(shown, "{separator} {} = {number:#x}", field.name),
                _ => {
                    let text = String::from_utf8_lossy(value);
                    write!(shown, "{separator} {} = '{}'", field.name, text.escape_debug())
                }
            };
        }
        shown
    }

    /// Replaces the references and rows of an entity, and returns the previous ones.
    fn replace(&mut self, id: EntityId, held: Option<Held>) -> Option<Held> {
        let held = held.filter(|held| *held != Held::default());
        if let Some(held) = &held {
            for named in &held.rows {
                self.counts.entry(named.clone()).or_default().rows += 1;
            }
            for named in &held.references {
                self.counts.entry(named.clone()).or_default().referrers += 1;
            }
        }
        let before = match held {
            Some(held) => self.held.insert(id, held),
            None => self.held.remove(&id),
        };
        if let Some(before) = &before {
            for named in &before.rows {
                self.count_down(named, |counts| &mut counts.rows);
            }
            for named in &before.references {
                self.count_down(named, |counts| &mut counts.referrers);
            }
        }
        before
    }

    fn count_down(&mut self, named: &Named, which: fn(&mut Counts) -> &mut u64) {
        if let Some(counts) = self.counts.get_mut(named) {
            let count = which(counts);
            *count = count.saturating_sub(1);
            if counts.rows == 0 && counts.referrers == 0 {
                self.counts.remove(named);
            }
        }
    }

    fn commit(&mut self) {
        self.undo.clear();
    }

    fn roll_back(&mut self) {
        while let Some((id, before)) = self.undo.pop() {
            self.replace(id, before);
        }
    }
}

/// Returns the name by which error messages refer to an entity.
fn name_of(schema: &Schema, id: &EntityId) -> String {
    let table = |id| schema.tables().get(id).map_or("", |table| &table.name);
    match id {
        EntityId::Entry(id, _) => format!("an entry of table '{}'", table(*id)),
        EntityId::Default(id) => format!("the default entry of table '{}'", table(*id)),
        EntityId::Member(profile, id) => {
            let profile = schema.action_profiles().get(*profile);
            let profile = profile.map_or("", |profile| &profile.name);
            format!("member {} of action profile '{profile}'", id.0)
        }
        EntityId::MulticastGroup(id) => format!("multicast group {id}"),
        EntityId::CloneSession(id) => format!("clone session {id}"),
    }
}

/// A data plane that refuses updates which would leave a reference without its target.
#[derive(Debug)]
pub(crate) struct Checked<'a, P: DataPlane> {
    pub(crate) plane: &'a mut P,
    pub(crate) references: &'a mut References,
    pub(crate) schema: &'a Schema,
}

impl<P: DataPlane> DataPlane for Checked<'_, P> {
    fn activate(&mut self) {
        self.plane.activate();
    }

    fn begin(&mut self, visibility: Visibility) -> Result<(), EntityError> {
        self.plane.begin(visibility)
    }

    fn prepare(&mut self, update: Update, now: Nanos) -> Result<(), EntityError> {
        let change = self.references.change(self.schema, &update).map_err(|error| {
            let id = self.references.of(&update.entity).map(|(id, _)| name_of(self.schema, &id));
            error.within(id.unwrap_or_default())
        })?;
        self.plane.prepare(update, now)?;
        if let Some(Change { id, held }) = change {
            let before = self.references.replace(id.clone(), held);
            self.references.undo.push((id, before));
        }
        Ok(())
    }

    fn commit(&mut self) {
        self.plane.commit();
        self.references.commit();
    }

    fn roll_back(&mut self) {
        self.plane.roll_back();
        self.references.roll_back();
    }

    fn reader(&self, now: Nanos) -> Box<dyn Reader> {
        self.plane.reader(now)
    }

    fn expire(&mut self, now: Nanos) -> Vec<TableEntry> {
        self.plane.expire(now)
    }

    fn next_expiry(&self) -> Option<Nanos> {
        self.plane.next_expiry()
    }

    fn controller_header(&self, name: &str, fields: &[&str]) -> Option<Vec<u32>> {
        self.plane.controller_header(name, fields)
    }
}
