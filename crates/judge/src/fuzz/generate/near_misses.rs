//! Generates near misses: updates that violate exactly one part of a constraint of the program and
//! are valid otherwise.

use constraints::Goal;
use protos::v1::{self, entity::Entity as Kind, table_action, update::Type};

use super::Generator;
use crate::entities::{insert, of_entry};
use crate::fuzz::model::Model;
use crate::subject::{Action, Restriction, Table};

impl Generator<'_> {
    /// Returns an update similar to `like` that violates exactly one part of the constraint on its
    /// table or action. Returns `None` if there is no such constraint.
    pub(super) fn near_miss(
        &mut self,
        table: &Table,
        like: &v1::Update,
        model: &Model,
    ) -> Option<v1::Update> {
        let Some(Kind::TableEntry(entry)) = like.entity.as_ref()?.entity.as_ref() else {
            return None;
        };
        let called = called(table, entry);
        let of_action = called.filter(|_| like.r#type() != Type::Delete);
        let is_of_action = match (&table.restriction, &of_action) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(_)) => self.random.bool(),
        };
        if !is_of_action {
            let missed = self.near_entry(table.restriction.as_ref()?, entry)?;
            return Some(insert(of_entry(&missed)));
        }
        let missed = self.near_call(of_action?, model)?;
        let action = Some(v1::TableAction { r#type: Some(table_action::Type::Action(missed)) });
        let entry = v1::TableEntry { action, ..entry.clone() };
        Some(v1::Update { entity: Some(of_entry(&entry)), ..like.clone() })
    }

    /// Returns `update`, or in one of six cases an update whose key violates one part of the
    /// table's constraint.
    pub(super) fn sometimes_near(&mut self, table: &Table, update: v1::Update) -> v1::Update {
        let restriction = table.restriction.as_ref().filter(|_| self.random.u8(..6) == 0);
        let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        match (restriction, entity) {
            (Some(restriction), Some(Kind::TableEntry(entry))) => {
                let missed = self.near_entry(restriction, entry);
                missed.map_or(update, |missed| insert(of_entry(&missed)))
            }
            _ => update,
        }
    }

    /// Generates a call of an action. In one of six cases, the call violates one part of the
    /// action's constraint; otherwise it satisfies the constraint.
    pub(super) fn any_call(&mut self, action: &Action, model: &Model) -> v1::Action {
        let missed = if self.random.u8(..6) == 0 { self.near_call(action, model) } else { None };
        missed.unwrap_or_else(|| self.call(action, model))
    }

    /// Generates a call that violates one part of its action's constraint; `None` if the action has
    /// no constraint.
    pub(super) fn near_call(&mut self, action: &Action, model: &Model) -> Option<v1::Action> {
        let restriction = action.restriction.as_ref()?;
        let (goal, seed) = self.goal(restriction)?;
        restriction.call(goal, &self.call(action, model), seed)
    }

    fn near_entry(
        &mut self,
        restriction: &Restriction,
        like: &v1::TableEntry,
    ) -> Option<v1::TableEntry> {
        let (goal, seed) = self.goal(restriction)?;
        restriction.entry(goal, like, seed)
    }

    /// Chooses the part of a constraint that is to be violated, and the seed for the search for
    /// values that violate it.
    fn goal(&mut self, restriction: &Restriction) -> Option<(Goal, u64)> {
        let parts = restriction.parts().len();
        let wanted = self.near_misses && parts > 0;
        wanted.then(|| (Goal::Break(self.random.usize(..parts)), self.random.u64(..)))
    }
}

/// Returns the action that an entry calls; `None` if the action's arguments are not constrained.
fn called<'t>(table: &'t Table, entry: &v1::TableEntry) -> Option<&'t Action> {
    let Some(table_action::Type::Action(call)) = entry.action.as_ref()?.r#type.as_ref() else {
        return None;
    };
    let mut actions = table.restricted_actions.iter();
    actions.find(|action| action.id == call.action_id && action.restriction.is_some())
}
