//! Action profiles and action selectors, whose actions entries share (P4Runtime specification,
//! section 9.2; PSA specification, sections 7.11 and 7.12).

use super::entry::{ActionCall, Group};
use super::stored::{ActionCell, Choice, GroupCell, Weighted};
use crate::error::ControlError;
use crate::sync::lock;
use ir::hash::Algorithm;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// An action profile or action selector of a running switch: its members and groups.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) name: String,
    /// The hash algorithm by which an action selector chooses a member. `None` for an action
    /// profile.
    pub(crate) algorithm: Option<Algorithm>,
    /// The number of low bits of the hash by which a selector chooses a member. Zero stands for all
    /// bits.
    pub(crate) output_width: u32,
    pub(crate) size: u64,
    members: Mutex<BTreeMap<u32, Arc<ActionCell>>>,
    groups: Mutex<BTreeMap<u32, Arc<GroupCell>>>,
}

impl Profile {
    pub(crate) fn new(
        name: String,
        size: u64,
        algorithm: Option<Algorithm>,
        output_width: u32,
    ) -> Self {
        Self { name, algorithm, output_width, size, ..Self::default() }
    }

    pub(crate) fn members(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<ActionCell>>> {
        lock(&self.members)
    }

    pub(crate) fn groups(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<GroupCell>>> {
        lock(&self.groups)
    }

    pub(crate) fn member(&self, id: u32) -> Option<Arc<ActionCell>> {
        self.members().get(&id).cloned()
    }

    pub(crate) fn group(&self, id: u32) -> Option<Arc<GroupCell>> {
        self.groups().get(&id).cloned()
    }

    pub(crate) fn add_member(&self, id: u32, call: ActionCall) -> Result<(), ControlError> {
        let mut members = self.members();
        if members.contains_key(&id) {
            return Err(ControlError::Duplicate);
        }
        if self.size > 0 && members.len() as u64 >= self.size {
            return Err(ControlError::Full { name: self.name.clone(), size: self.size });
        }
        members.insert(id, ActionCell::new(call));
        Ok(())
    }

    /// Replaces the action of a member. Returns the cell that holds the action, which entries
    /// share.
    pub(crate) fn modify_member(
        &self,
        id: u32,
        call: ActionCall,
    ) -> Result<Arc<ActionCell>, ControlError> {
        let member = self.member(id).ok_or(ControlError::NotFound("member"))?;
        member.replace(Arc::new(call));
        Ok(member)
    }

    /// Returns whether a group contains this member.
    pub(crate) fn is_grouped(&self, id: u32) -> bool {
        let groups = self.groups();
        groups
            .values()
            .any(|group| group.choice().group.members.iter().any(|member| member.member == id))
    }

    pub(crate) fn remove_member(&self, id: u32) -> Result<(), ControlError> {
        if self.is_grouped(id) {
            return Err(ControlError::InUse("member"));
        }
        self.members().remove(&id).map(|_| ()).ok_or(ControlError::NotFound("member"))
    }

    pub(crate) fn add_group(&self, id: u32, group: Group) -> Result<(), ControlError> {
        if self.group(id).is_some() {
            return Err(ControlError::Duplicate);
        }
        let choice = self.choice(self.checked(group)?)?;
        self.groups().insert(id, GroupCell::new(choice));
        Ok(())
    }

    /// Replaces the members of a group. Returns the cell that holds the group, which entries share.
    pub(crate) fn modify_group(
        &self,
        id: u32,
        group: Group,
    ) -> Result<Arc<GroupCell>, ControlError> {
        let choice = self.choice(self.checked(group)?)?;
        let cell = self.group(id).ok_or(ControlError::NotFound("group"))?;
        cell.replace(Arc::new(choice));
        Ok(cell)
    }

    pub(crate) fn remove_group(&self, id: u32) -> Result<(), ControlError> {
        self.groups().remove(&id).map(|_| ()).ok_or(ControlError::NotFound("group"))
    }

    /// Looks up the members of a group: replaces their identifiers by the cells that hold their
    /// actions.
    pub(crate) fn choice(&self, group: Group) -> Result<Choice, ControlError> {
        let members = self.members();
        let weighted = group.members.iter().map(|member| {
            let cell = members.get(&member.member).ok_or(ControlError::NotFound("member"))?;
            let (weight, watch_port) = (member.weight, member.watch_port);
            Ok(Weighted { cell: Arc::clone(cell), weight, watch_port })
        });
        Ok(Choice { members: weighted.collect::<Result<_, ControlError>>()?, group })
    }

    fn checked(&self, mut group: Group) -> Result<Group, ControlError> {
        if self.algorithm.is_none() {
            return Err(ControlError::ActionKind("no groups: it has a profile, not a selector"));
        }
        let mut seen = BTreeSet::new();
        let mut weight: u64 = 0;
        for member in &group.members {
            if member.weight == 0 {
                return Err(ControlError::Weight);
            }
            if self.member(member.member).is_none() {
                return Err(ControlError::NotFound("member"));
            }
            if !seen.insert(member.member) {
                return Err(ControlError::Duplicate);
            }
            weight += u64::from(member.weight);
        }
        if group.max_size > 0 && weight > u64::from(group.max_size) {
            let name = format!("a group of {}", self.name);
            return Err(ControlError::Full { name, size: u64::from(group.max_size) });
        }
        group.members.sort_by_key(|member| member.member);
        Ok(group)
    }
}

/// Returns the position of the weight that a hash selects. The share of all hashes that select a
/// position is proportional to its weight. Returns `None` if all weights are zero.
pub(crate) fn choose(weights: impl Iterator<Item = u32> + Clone, hash: u64) -> Option<usize> {
    let total: u64 = weights.clone().map(u64::from).sum();
    let mut rest = hash.checked_rem(total)?;
    for (position, weight) in weights.enumerate() {
        match rest.checked_sub(u64::from(weight)) {
            Some(after) => rest = after,
            None => return Some(position),
        }
    }
    None
}
