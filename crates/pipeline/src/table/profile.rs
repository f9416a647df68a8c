//! Action profiles and action selectors: actions that entries share (P4Runtime specification,
//! section 9.2; PSA specification, section 7.11).

use super::ActionCall;
use crate::error::ControlError;
use crate::externs::hash::Algorithm;
use std::collections::{BTreeMap, BTreeSet};

/// A group of an action selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// In the order in which the hash chooses them: by member.
    pub members: Vec<GroupMember>,
    /// Most weight that the group may have; zero: as much as the selector holds.
    pub max_size: u32,
}

/// A member's part in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Which member.
    pub member: u32,
    /// Share of the flows, 1 or more.
    pub weight: u32,
    /// Only while this port is up.
    pub watch_port: Option<u32>,
}

/// An action profile, or selector, at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub(crate) name: String,
    /// Hash algorithm of a selector.
    pub(crate) algorithm: Option<Algorithm>,
    /// Low bits of the hash that count; zero for all.
    pub(crate) output_width: u32,
    pub(crate) size: u64,
    pub(crate) members: BTreeMap<u32, ActionCall>,
    pub(crate) groups: BTreeMap<u32, Group>,
}

impl Profile {
    pub(crate) fn add_member(&mut self, id: u32, call: ActionCall) -> Result<(), ControlError> {
        if self.members.contains_key(&id) {
            return Err(ControlError::Duplicate);
        }
        if self.size > 0 && self.members.len() as u64 >= self.size {
            return Err(ControlError::Full { name: self.name.clone(), size: self.size });
        }
        self.members.insert(id, call);
        Ok(())
    }

    pub(crate) fn modify_member(&mut self, id: u32, call: ActionCall) -> Result<(), ControlError> {
        *self.members.get_mut(&id).ok_or(ControlError::NotFound("member"))? = call;
        Ok(())
    }

    pub(crate) fn remove_member(&mut self, id: u32) -> Result<(), ControlError> {
        let uses = |group: &Group| group.members.iter().any(|member| member.member == id);
        if self.groups.values().any(uses) {
            return Err(ControlError::InUse("member"));
        }
        self.members.remove(&id).map(|_| ()).ok_or(ControlError::NotFound("member"))
    }

    pub(crate) fn add_group(&mut self, id: u32, group: Group) -> Result<(), ControlError> {
        if self.groups.contains_key(&id) {
            return Err(ControlError::Duplicate);
        }
        let group = self.checked(group)?;
        self.groups.insert(id, group);
        Ok(())
    }

    pub(crate) fn modify_group(&mut self, id: u32, group: Group) -> Result<(), ControlError> {
        let group = self.checked(group)?;
        *self.groups.get_mut(&id).ok_or(ControlError::NotFound("group"))? = group;
        Ok(())
    }

    pub(crate) fn remove_group(&mut self, id: u32) -> Result<(), ControlError> {
        self.groups.remove(&id).map(|_| ()).ok_or(ControlError::NotFound("group"))
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
            if !self.members.contains_key(&member.member) {
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

/// Which of several weights a hash falls on: as if each stood in a row as often as it weighs.
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
