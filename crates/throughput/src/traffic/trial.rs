//! A switch with the entries generated so far, on which packets and further entries are tried.

use super::constrained::Constrained;
use super::entries::{Lookups, PASSES, PORT, Placed, field_match, needs_priority};
use super::error::TrafficError;
use super::members::Members;
use ir::bits::Bits;
use ir::{Program, TableId};
use pipeline::{AtQueues, ControlError, EntryAction, Switch, TableEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The actions of the entries that are added for a packet, by table. Tables that are not in the map
/// get no entry.
pub(super) type Actions = BTreeMap<TableId, EntryAction>;

/// The observed effects of a packet on a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The tables in which the packet finds an entry.
    pub(super) hit: BTreeSet<TableId>,
    /// The table lookups that find no entry, with their keys.
    missed: Vec<(TableId, Vec<Bits>)>,
    /// Whether the switch sends out a packet as a result.
    pub(super) leaves: bool,
}

impl Seen {
    /// Returns whether two packets find entries in the same tables, and both leave or neither does.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        (&self.hit, self.leaves) == (&other.hit, other.leaves)
    }
}

/// A switch on which packets are tried. The packets do not change its state.
pub(super) struct Trial<'p> {
    pub(super) program: &'p Program,
    constrained: Constrained,
    switch: Switch,
    pub(super) members: Members,
    /// The entries that were added since the trial was created, in the order of their addition.
    pub(super) added: Vec<Placed>,
}

impl<'p> Trial<'p> {
    /// Creates a switch with a program, members and entries.
    pub(super) fn new(
        program: &'p Program,
        entries: &[Placed],
        members: Members,
    ) -> Result<Self, TrafficError> {
        let switch = Switch::new(program.clone())?;
        members.put(&switch)?;
        for (table, entry) in entries {
            switch.add_entry(*table, entry.clone(), Duration::ZERO)?;
        }
        let constrained = Constrained::new(program);
        Ok(Self { program, constrained, switch, members, added: Vec::new() })
    }

    pub(super) fn switch(&self) -> &Switch {
        &self.switch
    }

    /// Returns the id of a member of an action profile that runs an action call. Adds the member if
    /// there is none. Returns `None` if the switch refuses it.
    pub(super) fn member(
        &mut self,
        profile: ir::ExternId,
        call: pipeline::ActionCall,
    ) -> Option<u32> {
        self.members.running(&self.switch, profile, call)
    }

    /// Returns the effects of a packet, or `None` if it cannot be processed.
    pub(super) fn seen(&mut self, packet: &[u8]) -> Option<Seen> {
        let mut lookups = Lookups::default();
        let (now, at_queues) = (Duration::ZERO, AtQueues::Pass);
        let outputs = self.switch.try_process(PORT, packet, now, at_queues, &mut lookups).ok()?;
        let mut seen = Seen { leaves: !outputs.is_empty(), ..Seen::default() };
        for (table, keys, hit) in lookups.0 {
            if hit {
                seen.hit.insert(table);
            } else {
                seen.missed.push((table, keys));
            }
        }
        Some(seen)
    }

    /// Adds entries, and returns whether the switch has all of them now. If the switch refuses one,
    /// none is added.
    pub(super) fn add(&mut self, entries: Vec<Placed>) -> Result<bool, ControlError> {
        let before = self.added.len();
        for (table, entry) in entries {
            match self.switch.add_entry(table, entry.clone(), Duration::ZERO) {
                Ok(_) => self.added.push((table, entry)),
                Err(ControlError::Duplicate) if self.has(table, &entry) => {}
                Err(_) => {
                    self.withdraw(before)?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn has(&self, table: TableId, entry: &TableEntry) -> bool {
        let entries = self.switch.entries(table);
        entries.is_ok_and(|mut entries| entries.any(|(_, known)| known == *entry))
    }

    /// Removes the entries that were added last, so that this many remain in `added`.
    pub(super) fn withdraw(&mut self, remaining: usize) -> Result<(), ControlError> {
        for (table, entry) in self.added.drain(remaining..).rev() {
            self.switch.delete_entry(table, &entry.matches, entry.priority)?;
        }
        Ok(())
    }

    /// Adds the entries that a packet needs: one with an action of `actions` for each lookup that
    /// finds none. Returns whether the packet then has the same effects as `like`. If it does not,
    /// no entry is added.
    pub(super) fn follows(
        &mut self,
        packet: &[u8],
        actions: &Actions,
        like: &Seen,
    ) -> Result<bool, ControlError> {
        let before = self.added.len();
        if self.filled(packet, actions)?.is_some_and(|seen| seen.agrees(like)) {
            return Ok(true);
        }
        self.withdraw(before)?;
        Ok(false)
    }

    /// Adds an entry with an action of `actions` for each lookup of a packet that finds none.
    /// Returns the effects that the packet then has, or `None` if it cannot be processed or an
    /// entry is refused.
    fn filled(&mut self, packet: &[u8], actions: &Actions) -> Result<Option<Seen>, ControlError> {
        for _ in 0..PASSES {
            let Some(seen) = self.seen(packet) else { return Ok(None) };
            let mut added = Vec::new();
            for (table, keys) in &seen.missed {
                let Some(action) = actions.get(table) else { continue };
                let Some(entry) = self.entry(*table, keys, action) else { return Ok(None) };
                added.push((*table, entry));
            }
            if added.is_empty() {
                return Ok(Some(seen));
            }
            if !self.add(added)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns an entry that matches these keys and satisfies the constraint of its table, or
    /// `None` if there is none.
    fn entry(&self, table: TableId, keys: &[Bits], action: &EntryAction) -> Option<TableEntry> {
        let declared = self.program.tables.get(table.index())?;
        let of_keys = declared.keys.iter().zip(keys);
        let entry = TableEntry {
            matches: of_keys.map(|(key, value)| field_match(&key.match_kind, value)).collect(),
            priority: u32::from(needs_priority(declared)),
            action: action.clone(),
            idle_timeout: None,
        };
        self.constrained.entry(table, entry, keys, self.added.len() as u64).ok()
    }
}
