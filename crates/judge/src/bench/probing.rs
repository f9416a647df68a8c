//! What a device takes of the entities that are made here, which its P4Info does not say.

use protos::v1;
use tonic::Code;

use super::Bench;
use crate::demands::Fault;
use crate::entities::{self, delete, of_entry};
use crate::subject::Table;

impl Bench {
    /// Finds out which tables take the entries that are made here. A device may refuse values for
    /// reasons that the P4Info does not state.
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

    /// Returns the identifiers of the tables that take entries.
    pub(crate) fn usable(&self) -> &[u32] {
        &self.usable
    }

    /// Returns the identifiers of the profiles that take members and have none, with a table whose
    /// entries can refer to them.
    pub(crate) fn member_profiles(&mut self) -> Vec<u32> {
        let profiles: Vec<u32> = self.subject.profiles.iter().map(|profile| profile.id).collect();
        profiles.into_iter().filter(|profile| self.takes_members(*profile)).collect()
    }

    /// Returns whether the device replicates packets to port 1.
    pub(crate) fn replicates(&mut self) -> bool {
        let group = entities::multicast_group(430, entities::replicas([1]));
        let request = self.write_request(vec![entities::insert(group)]);
        let is_taken = self.write(request).is_ok_and(|answer| answer.is_ok());
        self.clean();
        self.channel.take_exchanges();
        is_taken
    }

    fn takes_members(&mut self, profile: u32) -> bool {
        let Some(table) = self.subject.member_table(profile).cloned() else { return false };
        let any =
            v1::ActionProfileMember { action_profile_id: profile, ..Default::default() }.into();
        let has_some = self.read(vec![any]).map_or(true, |found| !found.is_empty());
        let is_taken =
            !has_some && self.try_member(profile, &table, 1).is_ok_and(|code| code == Code::Ok);
        self.channel.take_exchanges();
        is_taken
    }

    /// Inserts a member of a profile and deletes it again. Returns the answer to the insertion.
    pub(crate) fn try_member(
        &mut self,
        profile: u32,
        table: &Table,
        member_id: u32,
    ) -> Result<Code, Fault> {
        let member = entities::member(profile, table, member_id, 1);
        let request = self.write_request(vec![entities::insert(member.clone())]);
        let code = self.write(request)?.of(0);
        if code == Code::Ok {
            self.accept(vec![delete(member)])?;
        }
        Ok(code)
    }

    /// Returns the tables that refused an entry whose values fit the P4Info, with the codes; empty
    /// if any table took one.
    pub(crate) fn refused_tables(&self) -> &[(String, Code)] {
        if self.usable.is_empty() { &self.refused } else { &[] }
    }
}
