//! Action selectors: a table entry names a group, and each packet runs one of the group's members.
//!
//! A member is an action with its parameters; a group has members with weights (P4Runtime 1.4, Section 9.2). A packet
//! is given a member by the hash of its selector fields, so that the packets of a flow stay together: the hash picks
//! one of as many slots as the weights add up to. Changes are rare and lookups are not, so a change makes a new
//! snapshot, and a worker looks for it once per batch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::entry::ActionId;
use crate::hash;

/// Names a member of an action selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub u32);

/// Names a group of an action selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// An action with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The action.
    pub action: ActionId,
    /// Its parameters.
    pub parameters: Vec<u8>,
}

/// An action selector. Clones are the same one.
#[derive(Debug, Clone)]
pub struct ActionSelector {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: Limits,
    current: Mutex<Arc<Snapshot>>,
    generation: AtomicU64,
}

/// What a selector has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Members.
    pub members: usize,
    /// Sum of the weights of one group.
    pub group_weight: usize,
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    members: BTreeMap<MemberId, Arc<Member>>,
    groups: BTreeMap<GroupId, Group>,
}

#[derive(Debug, Clone, Default)]
struct Group {
    weights: Vec<(MemberId, u32)>,
    /// Each member as often as its weight says.
    slots: Vec<Arc<Member>>,
}

impl ActionSelector {
    /// A selector without members.
    pub fn new(limits: Limits) -> Self {
        let shared = Shared { limits, current: Mutex::default(), generation: AtomicU64::new(0) };
        Self { shared: Arc::new(shared) }
    }

    /// Adds a member.
    pub fn insert_member(&self, id: MemberId, member: Member) -> Result<(), SelectorError> {
        self.change(|snapshot| {
            if snapshot.members.contains_key(&id) {
                return Err(SelectorError::MemberExists { member: id.0 });
            }
            if snapshot.members.len() >= self.shared.limits.members {
                return Err(SelectorError::Full { members: self.shared.limits.members });
            }
            snapshot.members.insert(id, Arc::new(member));
            Ok(())
        })
    }

    /// Replaces a member, in all groups that have it.
    pub fn modify_member(&self, id: MemberId, member: Member) -> Result<(), SelectorError> {
        self.change(|snapshot| {
            let current =
                snapshot.members.get_mut(&id).ok_or(SelectorError::NoMember { member: id.0 })?;
            *current = Arc::new(member);
            let Snapshot { members, groups } = snapshot;
            for group in groups.values_mut().filter(|group| group.has(id)) {
                group.fill(members);
            }
            Ok(())
        })
    }

    /// Takes a member out that is in no group.
    pub fn delete_member(&self, id: MemberId) -> Result<(), SelectorError> {
        self.change(|snapshot| {
            if let Some((group, _)) = snapshot.groups.iter().find(|(_, group)| group.has(id)) {
                return Err(SelectorError::MemberInUse { member: id.0, group: group.0 });
            }
            snapshot.members.remove(&id).map(|_| ()).ok_or(SelectorError::NoMember { member: id.0 })
        })
    }

    /// Adds a group of members with weights above 0.
    pub fn insert_group(
        &self,
        id: GroupId,
        members: &[(MemberId, u32)],
    ) -> Result<(), SelectorError> {
        self.change(|snapshot| {
            if snapshot.groups.contains_key(&id) {
                return Err(SelectorError::GroupExists { group: id.0 });
            }
            let group = Group::new(members, &snapshot.members, self.shared.limits)?;
            snapshot.groups.insert(id, group);
            Ok(())
        })
    }

    /// Replaces the members of a group.
    pub fn modify_group(
        &self,
        id: GroupId,
        members: &[(MemberId, u32)],
    ) -> Result<(), SelectorError> {
        self.change(|snapshot| {
            let group = Group::new(members, &snapshot.members, self.shared.limits)?;
            let current =
                snapshot.groups.get_mut(&id).ok_or(SelectorError::NoGroup { group: id.0 })?;
            *current = group;
            Ok(())
        })
    }

    /// Takes a group out. Table entries that still name it select nothing.
    pub fn delete_group(&self, id: GroupId) -> Result<(), SelectorError> {
        self.change(|snapshot| {
            snapshot.groups.remove(&id).map(|_| ()).ok_or(SelectorError::NoGroup { group: id.0 })
        })
    }

    /// A handle for one thread of the data plane.
    pub fn reader(&self) -> SelectorReader {
        SelectorReader {
            shared: Arc::clone(&self.shared),
            snapshot: Arc::default(),
            generation: None,
        }
    }

    /// Makes a changed snapshot the current one, or leaves things as they are.
    fn change(
        &self,
        change: impl FnOnce(&mut Snapshot) -> Result<(), SelectorError>,
    ) -> Result<(), SelectorError> {
        let mut current = self.shared.current();
        let mut next = Snapshot::clone(&current);
        change(&mut next)?;
        *current = Arc::new(next);
        self.shared.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

impl Shared {
    fn current(&self) -> MutexGuard<'_, Arc<Snapshot>> {
        // A snapshot is replaced whole.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Group {
    fn new(
        weights: &[(MemberId, u32)],
        members: &BTreeMap<MemberId, Arc<Member>>,
        limits: Limits,
    ) -> Result<Self, SelectorError> {
        let mut total = 0_usize;
        for (place, &(member, weight)) in weights.iter().enumerate() {
            if !members.contains_key(&member) {
                return Err(SelectorError::NoMember { member: member.0 });
            }
            if weight == 0 {
                return Err(SelectorError::NoWeight { member: member.0 });
            }
            if weights[..place].iter().any(|&(other, _)| other == member) {
                return Err(SelectorError::Twice { member: member.0 });
            }
            total = total.saturating_add(weight as usize);
        }
        if total > limits.group_weight {
            return Err(SelectorError::TooHeavy { weight: total, most: limits.group_weight });
        }
        let mut group = Self { weights: weights.to_vec(), slots: Vec::new() };
        group.fill(members);
        Ok(group)
    }

    fn has(&self, member: MemberId) -> bool {
        self.weights.iter().any(|&(other, _)| other == member)
    }

    fn fill(&mut self, members: &BTreeMap<MemberId, Arc<Member>>) {
        let slots = self.weights.iter().flat_map(|(member, weight)| {
            members
                .get(member)
                .into_iter()
                .flat_map(|member| (0..*weight).map(|_| Arc::clone(member)))
        });
        self.slots = slots.collect();
    }
}

/// A thread's view of a selector, as of its last refresh.
#[derive(Debug)]
pub struct SelectorReader {
    shared: Arc<Shared>,
    snapshot: Arc<Snapshot>,
    generation: Option<u64>,
}

impl SelectorReader {
    /// Takes over what has changed; once per batch.
    #[inline]
    pub fn refresh(&mut self) {
        let generation = self.shared.generation.load(Ordering::Acquire);
        if self.generation != Some(generation) {
            self.snapshot = Arc::clone(&self.shared.current());
            self.generation = Some(generation);
        }
    }

    /// The member of a group for a packet with these selector fields. Equal fields have equal members for as long as
    /// the group does not change. `None` for a group that is empty or is not there.
    #[inline]
    pub fn select(&self, group: GroupId, fields: &[u8]) -> Option<&Member> {
        let slots = &self.snapshot.groups.get(&group)?.slots;
        let hash = hash::bytes(fields, hash::DEFAULT_SEED) >> 32;
        slots.get(((hash * slots.len() as u64) >> 32) as usize).map(|member| &**member)
    }

    /// A member by its name.
    #[inline]
    pub fn member(&self, id: MemberId) -> Option<&Member> {
        self.snapshot.members.get(&id).map(|member| &**member)
    }
}

/// Why an action selector was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// Inserting a member that is there.
    #[error("member {member} exists; modify it instead")]
    MemberExists {
        /// The member.
        member: u32,
    },
    /// Inserting a group that is there.
    #[error("group {group} exists; modify it instead")]
    GroupExists {
        /// The group.
        group: u32,
    },
    /// No room for a member.
    #[error("the selector is full with {members} members; delete one first")]
    Full {
        /// How many fit.
        members: usize,
    },
    /// A member that is not there.
    #[error("there is no member {member}; insert it first")]
    NoMember {
        /// The member.
        member: u32,
    },
    /// A group that is not there.
    #[error("there is no group {group}; insert it first")]
    NoGroup {
        /// The group.
        group: u32,
    },
    /// Deleting a member that a group has.
    #[error("member {member} is in group {group}; take it out there first")]
    MemberInUse {
        /// The member.
        member: u32,
        /// One of its groups.
        group: u32,
    },
    /// A weight of 0.
    #[error("member {member} has weight 0; give it at least 1 or leave it out")]
    NoWeight {
        /// The member.
        member: u32,
    },
    /// A member named twice.
    #[error("member {member} is in the group twice; add the weights")]
    Twice {
        /// The member.
        member: u32,
    },
    /// A group beyond its size.
    #[error("the group's weights add up to {weight}, more than {most}")]
    TooHeavy {
        /// The sum.
        weight: usize,
        /// The most there may be.
        most: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector() -> ActionSelector {
        let selector = ActionSelector::new(Limits { members: 3, group_weight: 8 });
        for id in 0..3_u32 {
            let member = Member { action: ActionId(id as u16), parameters: vec![id as u8] };
            selector.insert_member(MemberId(id), member).unwrap();
        }
        selector
    }

    #[test]
    fn flows_spread_by_weight_and_stay_where_they_are() {
        let selector = selector();
        selector.insert_group(GroupId(1), &[(MemberId(0), 1), (MemberId(2), 3)]).unwrap();
        let mut reader = selector.reader();
        assert_eq!(reader.select(GroupId(1), &[1]), None, "not refreshed yet");
        reader.refresh();
        let flows = 10_000_u32;
        let chosen = |flow: u32| reader.select(GroupId(1), &flow.to_be_bytes()).unwrap().action.0;
        let light = (0..flows).filter(|&flow| chosen(flow) == 0).count();
        // A quarter of them; 2,500 and six standard deviations of 43.
        assert!((2_240..2_760).contains(&light), "{light}");
        assert!((0..flows).all(|flow| chosen(flow) == chosen(flow)));
    }

    #[test]
    fn a_modified_member_changes_in_its_groups_with_the_next_refresh() {
        let selector = selector();
        selector.insert_group(GroupId(1), &[(MemberId(0), 2)]).unwrap();
        let mut reader = selector.reader();
        reader.refresh();
        selector
            .modify_member(MemberId(0), Member { action: ActionId(9), parameters: vec![] })
            .unwrap();
        assert_eq!(reader.select(GroupId(1), &[]).unwrap().action, ActionId(0));
        reader.refresh();
        assert_eq!(reader.select(GroupId(1), &[]).unwrap().action, ActionId(9));
        selector.modify_group(GroupId(1), &[]).unwrap();
        reader.refresh();
        assert_eq!(reader.select(GroupId(1), &[]), None);
        assert_eq!(reader.member(MemberId(1)).unwrap().parameters, [1]);
    }

    #[test]
    fn what_makes_no_sense_is_an_error_and_changes_nothing() {
        let selector = selector();
        let member = || Member { action: ActionId(0), parameters: vec![] };
        assert_eq!(
            selector.insert_member(MemberId(3), member()),
            Err(SelectorError::Full { members: 3 })
        );
        assert_eq!(
            selector.insert_member(MemberId(0), member()),
            Err(SelectorError::MemberExists { member: 0 })
        );
        assert_eq!(
            selector.modify_member(MemberId(7), member()),
            Err(SelectorError::NoMember { member: 7 })
        );
        let group = |members: &[(MemberId, u32)]| selector.insert_group(GroupId(1), members);
        assert_eq!(group(&[(MemberId(7), 1)]), Err(SelectorError::NoMember { member: 7 }));
        assert_eq!(group(&[(MemberId(0), 0)]), Err(SelectorError::NoWeight { member: 0 }));
        assert_eq!(
            group(&[(MemberId(0), 1), (MemberId(0), 1)]),
            Err(SelectorError::Twice { member: 0 })
        );
        assert_eq!(
            group(&[(MemberId(0), u32::MAX)]),
            Err(SelectorError::TooHeavy { weight: u32::MAX as usize, most: 8 })
        );
        assert_eq!(
            selector.modify_group(GroupId(1), &[]),
            Err(SelectorError::NoGroup { group: 1 })
        );
        group(&[(MemberId(0), 1)]).unwrap();
        assert_eq!(group(&[]), Err(SelectorError::GroupExists { group: 1 }));
        assert_eq!(
            selector.delete_member(MemberId(0)),
            Err(SelectorError::MemberInUse { member: 0, group: 1 })
        );
        selector.delete_group(GroupId(1)).unwrap();
        assert_eq!(selector.delete_group(GroupId(1)), Err(SelectorError::NoGroup { group: 1 }));
        selector.delete_member(MemberId(0)).unwrap();
    }
}
