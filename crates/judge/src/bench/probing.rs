//! Finds out by trial which features of its program the device supports, beyond what the P4Info
//! says.

use constraints::Goal;
use protos::v1;
use tonic::Code;

use super::Bench;
use crate::channel::name;
use crate::demands::Fault;
use crate::entities::{self, delete, of_entry};
use crate::subject::Table;

/// The number of seeds with which the search for an entry that satisfies a table's constraint is
/// repeated.
const SEEDS: u64 = 16;

impl Bench {
    /// Finds out which tables accept generated entries, by inserting one into each. A device may
    /// refuse values for reasons that the P4Info does not state.
    pub(super) fn try_tables(&mut self) {
        for table in self.subject.tables.clone().into_iter().filter(Table::takes_entries) {
            let entry = self.entry(&table);
            let request = self.write_request(vec![entities::insert(of_entry(&entry))]);
            match self.write(request) {
                Ok(answer) if answer.is_ok() => self.usable.push(table.id),
                Ok(answer) => self.refused.push((table.name, answer.of(0))),
                Err(_) => return,
            }
        }
    }

    /// Returns the identifiers of the tables that accept generated entries.
    pub(crate) fn usable(&self) -> &[u32] {
        &self.usable
    }

    /// Returns whether the device accepts a multicast group that replicates packets to port 1.
    pub(crate) fn replicates(&mut self) -> bool {
        let group = entities::multicast_group(430, entities::replicas([1]));
        let request = self.write_request(vec![entities::insert(group)]);
        let is_taken = self.write(request).is_ok_and(|answer| answer.is_ok());
        self.clean();
        self.channel.take_exchanges();
        is_taken
    }

    /// Tries whether the device accepts an entry of a table. The entry satisfies the table's
    /// constraint, if it has one, and refers only to entities that exist.
    ///
    /// # Errors
    /// Returns the reason if the device refuses the entry, or if no such entry was found.
    pub(crate) fn takes_restricted(&mut self, table: &Table) -> Result<(), String> {
        let like = self.entry(table);
        let satisfied = match &table.restriction {
            Some(restriction) => (0..SEEDS).find_map(|seed| {
                let entry = restriction.entry(Goal::Satisfy, &like, seed)?;
                let is_new = self.present.iter().all(|other| other.r#match != entry.r#match);
                is_new.then_some(entry)
            }),
            None => Some(like),
        };
        let entry = satisfied.ok_or("no entry that satisfies its constraint was found")?;
        let answer = self.insert_targets(&of_entry(&entry)).and_then(|()| {
            let request = self.write_request(vec![entities::insert(of_entry(&entry))]);
            self.write(request)
        });
        self.clean();
        self.channel.take_exchanges();
        match answer {
            Ok(answer) if answer.is_ok() => Ok(()),
            Ok(answer) => Err(refused("an entry", answer.of(0))),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// Tries whether the device supports members of an action profile, which are optional (9.2.3).
    ///
    /// # Errors
    /// Returns the reason why the profile is not tried or not supported: it has members already, or
    /// the device refuses one.
    pub(crate) fn has_members(&mut self, profile: u32, table: &Table) -> Result<bool, String> {
        let any =
            v1::ActionProfileMember { action_profile_id: profile, ..Default::default() }.into();
        let found = self.read(vec![any]);
        let answer = match found {
            Ok(found) if !found.is_empty() => return Err("it has members already".to_owned()),
            Ok(_) | Err(_) => self.try_member(profile, table, 1),
        };
        self.channel.take_exchanges();
        match answer {
            Ok(Code::Ok) => Ok(true),
            Ok(Code::Unimplemented) => Ok(false),
            Ok(code) => Err(refused("a member", code)),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// Inserts a member of a profile and deletes it again. Returns the status code of the
    /// insertion.
    pub(crate) fn try_member(
        &mut self,
        profile: u32,
        table: &Table,
        member_id: u32,
    ) -> Result<Code, Fault> {
        let member = entities::member(profile, table, member_id, 1);
        self.insert_targets(&member)?;
        let request = self.write_request(vec![entities::insert(member.clone())]);
        let code = self.write(request)?.of(0);
        if code == Code::Ok {
            self.accept(vec![delete(member)])?;
        }
        self.clean();
        Ok(code)
    }

    /// Returns the reason why no entries are generated for a table, if the device refused the first
    /// one. The table has no constraint that could explain the refusal.
    pub(crate) fn refusal(&self, table: &Table) -> Option<String> {
        let found = self.refused.iter().find(|(name, _)| *name == table.name);
        found.map(|(_, code)| refused("an entry", *code))
    }

    /// Returns the tables that refused an entry whose values fit the P4Info, with the status codes.
    /// Returns an empty list if any table accepted an entry.
    pub(crate) fn refused_tables(&self) -> &[(String, Code)] {
        if self.usable.is_empty() { &self.refused } else { &[] }
    }
}

/// Returns the reason why something is left out: the device refused it with this status code.
fn refused(what: &str, code: Code) -> String {
    format!("the switch refuses {what} whose values fit the P4Info with {}", name(code))
}
