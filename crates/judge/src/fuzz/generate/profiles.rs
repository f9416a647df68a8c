//! Generates updates of members and groups of action profiles, of entries that refer to them, and
//! of entries that contain action sets.

use fastrand::Rng;
use protos::v1::{self, action_profile_group::Member, table_action};

use super::{Generator, LARGEST_REQUEST, MOST_GROUPS, Subjects};
use crate::entities::{delete, of_entry};
use crate::fuzz::model::Model;
use crate::fuzz::scope::Scope;
use crate::subject::{Action, Profile, Subject, Table};

/// The largest number of members that are generated for a profile.
const MOST_MEMBERS: u32 = 6;
/// The largest number of actions in a generated action set.
const MOST_ACTIONS: usize = 3;

/// An action profile, with what is needed to generate updates for it.
#[derive(Clone, Copy)]
pub(super) struct Programmed<'a> {
    pub(super) profile: &'a Profile,
    /// The table whose entries refer to the profile.
    pub(super) table: &'a Table,
    /// The action of all generated members. A device may refuse a group whose members have
    /// different actions (9.2.4).
    action: &'a Action,
    /// Whether the device supports members and groups of the profile.
    pub(super) has_members: bool,
}

impl<'a> Programmed<'a> {
    /// Returns what is needed to generate updates for a profile, or `None` if the profile does not
    /// belong to `scopes`.
    pub(super) fn new(
        subject: &'a Subject,
        profile: &'a Profile,
        scopes: &[Scope],
        random: &mut Rng,
    ) -> Option<Self> {
        let table = subject.any_member_table(profile.id)?;
        if !scopes.contains(&Scope::Entries(table.id)) {
            return None;
        }
        let has_members = scopes.contains(&Scope::Members(profile.id));
        let actions: Vec<&Action> =
            table.all_actions().filter(|action| action.in_entries).collect();
        Some(Self { profile, table, action: random.choice(actions)?, has_members })
    }

    /// Returns what the updates of a request can change in the profile. With `by_sets`, it is
    /// programmed with action sets, and otherwise with members and groups. Entities that are left
    /// from the other way are deleted first (9.2.3).
    pub(super) fn kinds(self, by_sets: bool, model: &Model) -> Vec<Subjects<'a>> {
        let by_sets = self.profile.is_selector && (by_sets || !self.has_members);
        if !self.left(by_sets, model).is_empty() {
            return vec![Subjects::Cleared(self, by_sets)];
        }
        if by_sets {
            return vec![Subjects::ActionSets(self)];
        }
        let mut kinds = vec![Subjects::Members(self), Subjects::References(self)];
        if self.profile.is_selector {
            kinds.push(Subjects::Groups(self));
        }
        kinds
    }

    /// Returns deletions of the entities that are left from the other way to program the profile.
    /// They delete entries, or else groups, or else members, so that no entity is deleted while
    /// another refers to it.
    fn left(self, by_sets: bool, model: &Model) -> Vec<v1::Update> {
        let is_left = |entry: &&v1::TableEntry| {
            let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
            let is_set = matches!(action, Some(table_action::Type::ActionProfileActionSet(_)));
            is_set != by_sets
        };
        let entries = model.entries(self.table.id).filter(is_left);
        let entries: Vec<_> = entries.map(|entry| delete(of_entry(entry))).collect();
        if !by_sets || !entries.is_empty() {
            return entries;
        }
        let groups = model.entities(Scope::Groups(self.profile.id));
        let rest = match groups.is_empty() {
            true => model.entities(Scope::Members(self.profile.id)),
            false => groups,
        };
        rest.into_iter().map(delete).collect()
    }
}

impl Generator<'_> {
    /// Generates an update of an entry that refers to a member or a group, which need not exist.
    pub(super) fn reference_update(
        &mut self,
        programmed: Programmed<'_>,
        model: &Model,
    ) -> v1::Update {
        let Programmed { profile, table, .. } = programmed;
        let reference = match profile.is_selector && self.random.bool() {
            true => table_action::Type::ActionProfileGroupId(self.random.u32(1..=MOST_GROUPS)),
            false => table_action::Type::ActionProfileMemberId(self.random.u32(1..=MOST_MEMBERS)),
        };
        let action = Some(v1::TableAction { r#type: Some(reference) });
        let entry = v1::TableEntry { action, ..self.key(table, model) };
        let update = self.update_of(table, entry, model);
        self.sometimes_near(table, update)
    }

    pub(super) fn member_update(
        &mut self,
        programmed: Programmed<'_>,
        model: &Model,
    ) -> v1::Update {
        let Programmed { profile, action, .. } = programmed;
        let mut member = v1::ActionProfileMember {
            action_profile_id: profile.id,
            member_id: self.random.u32(1..=MOST_MEMBERS),
            action: Some(self.any_call(action, model)),
        };
        let is_there = model.members(profile.id).any(|other| other.member_id == member.member_id);
        if self.random.u8(..5) == 0 {
            match (self.random.u8(..3), &mut member.action) {
                (0, action) => *action = None,
                (1, Some(action)) => action.action_id = self.subject.unused_id(action.action_id),
                (_, Some(action)) => drop(action.params.pop()),
                (_, None) => {}
            }
        }
        let entity = v1::Entity::from(member);
        self.any_type(is_there)(entity)
    }

    pub(super) fn group_update(&mut self, profile: &Profile, model: &Model) -> v1::Update {
        let group_id = self.random.u32(1..=MOST_GROUPS);
        let known: Vec<u32> = model.members(profile.id).map(|member| member.member_id).collect();
        let room = usize::try_from(profile.max_group_size).unwrap_or(0);
        let most = if room == 0 { 3 } else { room.min(3) };
        let mut members: Vec<u32> = known;
        self.random.shuffle(&mut members);
        members.truncate(self.random.usize(..=most));
        if self.random.u8(..6) == 0 {
            members.pop();
            members.push(MOST_MEMBERS + 7);
        }
        let weight = if self.random.u8(..8) == 0 { 0 } else { 1 };
        let members =
            members.into_iter().map(|member_id| Member { member_id, weight, ..Default::default() });
        let group = v1::ActionProfileGroup {
            action_profile_id: profile.id,
            group_id,
            members: members.collect(),
            max_size: profile.max_group_size,
        };
        let is_there = model.groups(profile.id).any(|other| other.group_id == group_id);
        let entity = v1::Entity::from(group);
        self.any_type(is_there)(entity)
    }

    /// Returns deletions of what is left from the other way to program a profile.
    pub(super) fn cleared(
        &mut self,
        programmed: Programmed<'_>,
        by_sets: bool,
        model: &Model,
    ) -> Vec<v1::Update> {
        let mut updates = programmed.left(by_sets, model);
        self.random.shuffle(&mut updates);
        updates.truncate(LARGEST_REQUEST);
        updates
    }

    /// Generates an update of an entry that contains an action set.
    pub(super) fn set_update(&mut self, programmed: Programmed<'_>, model: &Model) -> v1::Update {
        let Programmed { profile, table, action, .. } = programmed;
        let most = usize::try_from(profile.max_group_size).unwrap_or(0);
        let most = if most == 0 { MOST_ACTIONS } else { most.min(MOST_ACTIONS) };
        let count = self.random.usize(1..=most);
        let mut actions: Vec<v1::ActionProfileAction> = Vec::new();
        for _ in 0..count {
            let action = Some(self.any_call(action, model));
            actions.push(v1::ActionProfileAction { action, weight: 1, ..Default::default() });
        }
        match (self.random.u8(..12), actions.first_mut()) {
            (0, Some(first)) => first.weight = 0,
            (1, Some(first)) => first.weight = 2,
            (2, Some(first)) => first.action = None,
            (3, Some(v1::ActionProfileAction { action: Some(action), .. })) => {
                self.damage_action(table, action);
            }
            (4, _) => actions.clear(),
            _ => {}
        }
        let set =
            v1::ActionProfileActionSet { action_profile_actions: actions, ..Default::default() };
        let action = table_action::Type::ActionProfileActionSet(set);
        let action = Some(v1::TableAction { r#type: Some(action) });
        let entry = v1::TableEntry { action, ..self.key(table, model) };
        let update = self.update_of(table, entry, model);
        self.sometimes_near(table, update)
    }
}
