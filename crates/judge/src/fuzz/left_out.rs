//! Decides which parts of a device's state a run leaves out, and for which reasons.

use protos::v1::{self, digest_entry};
use tonic::Code;

use super::Run;
use super::generate::{self, FIRST_REPLICATED};
use super::normal::without_counts;
use super::scope::Scope;
use crate::bench::table_entry;
use crate::entities::{delete, insert, modify};

impl Run<'_> {
    /// Returns the entities in a part of the state, in normal form, if the part can be written.
    ///
    /// # Errors
    /// Returns the reason why the part is left out.
    pub(super) fn usable(&mut self, scope: Scope) -> Result<Vec<v1::Entity>, String> {
        let found = self.part(scope).map_err(|mismatch| mismatch.why)?;
        let is_ours = |entity: &v1::Entity| {
            (FIRST_REPLICATED..FIRST_REPLICATED + 8).contains(&generate::id_of(entity))
        };
        if found.iter().any(is_ours) {
            return Err("the switch has one with an identifier that is used here".to_owned());
        }
        if !self.is_known(scope, &found) {
            return Err("its default entry is not that of the program".to_owned());
        }
        if scope.is_array() {
            let cells = scope.count(&self.bench.subject);
            if found.len() as u64 != cells {
                return Err(format!("the switch returned {} of its {cells} cells", found.len()));
            }
            let again = self.part(scope).map_err(|mismatch| mismatch.why)?;
            if again != found {
                return Err("packets change it".to_owned());
            }
        }
        if matches!(scope, Scope::Digest(_)) && !found.is_empty() {
            return Err("it is configured already".to_owned());
        }
        if self.is_unimplemented(scope, &found) {
            return Err("the switch answers its modification with UNIMPLEMENTED".to_owned());
        }
        Ok(match scope {
            Scope::Entries(_) => found.into_iter().map(without_counts).collect(),
            _ => found,
        })
    }

    /// Returns whether the device answers a write of a cell, value set or digest with
    /// UNIMPLEMENTED.
    fn is_unimplemented(&mut self, scope: Scope, found: &[v1::Entity]) -> bool {
        let update = match (scope, found.first()) {
            (Scope::Digest(digest_id), _) => {
                let config = Some(digest_entry::Config::default());
                insert(v1::DigestEntry { digest_id, config }.into())
            }
            // The update writes the value that the cell or value set has already.
            (_, Some(entity)) if scope.is_array() || matches!(scope, Scope::ValueSet(_)) => {
                modify(entity.clone())
            }
            _ => return false,
        };
        let request = self.bench.write_request(vec![update.clone()]);
        let answer = self.bench.channel.write(request);
        let code = answer.map_or(Code::Unavailable, |answer| answer.of(0));
        if let (Scope::Digest(_), Code::Ok, Some(entity)) = (scope, code, update.entity) {
            let request = self.bench.write_request(vec![delete(entity)]);
            // If the deletion fails, the first comparison shows it.
            let _ = self.bench.channel.write(request);
        }
        self.bench.take_exchanges();
        code == Code::Unimplemented
    }

    /// Records that a part of the state is left out, with the reason.
    pub(super) fn leave_out(&mut self, scope: Scope, why: &str) {
        let subject = &self.bench.subject;
        let name = match scope {
            Scope::Entries(id) | Scope::DefaultEntry(id) => {
                subject.tables.iter().find(|one| one.id == id).map(|one| &one.name)
            }
            Scope::Groups(id) | Scope::Members(id) => {
                subject.profiles.iter().find(|one| one.id == id).map(|one| &one.name)
            }
            Scope::Counter(id) => {
                subject.counters.iter().find(|one| one.id == id).map(|one| &one.name)
            }
            Scope::Meter(id) => subject.meters.iter().find(|one| one.id == id).map(|one| &one.name),
            Scope::Register(id) => {
                subject.registers.iter().find(|one| one.id == id).map(|one| &one.name)
            }
            Scope::ValueSet(id) => {
                subject.value_sets.iter().find(|one| one.id == id).map(|one| &one.name)
            }
            Scope::MulticastGroups | Scope::CloneSessions | Scope::Digest(_) => None,
        };
        let of = name.map(|name| format!(" of {name}")).unwrap_or_default();
        self.left_out.push(format!("{}{of}: {why}", scope.name()));
    }

    /// Records which actions of the written tables are never called, each with the reason.
    pub(super) fn leave_out_actions(&mut self) {
        let tables = self.bench.subject.tables.iter().filter(|table| !table.is_const);
        let mut actions: Vec<String> =
            tables.flat_map(|table| table.unfit_actions.clone()).collect();
        actions.sort_unstable();
        actions.dedup();
        self.left_out.extend(actions);
    }

    /// Returns whether the default entry of a table is still the one that the program declares. If
    /// another controller has modified it, the action to which a `MODIFY` without an action resets
    /// it is unknown.
    fn is_known(&self, scope: Scope, found: &[v1::Entity]) -> bool {
        let Scope::DefaultEntry(table_id) = scope else { return true };
        let entry = found.iter().cloned().find_map(table_entry);
        let action = entry.and_then(|entry| entry.action).and_then(|action| action.r#type);
        let Some(v1::table_action::Type::Action(action)) = action else { return false };
        self.bench.p4info.tables.iter().any(|table| {
            let is_table = table.preamble.as_ref().is_some_and(|one| one.id == table_id);
            let initial = table.initial_default_action.as_ref();
            is_table && initial.is_some_and(|initial| initial.action_id == action.action_id)
        })
    }
}
