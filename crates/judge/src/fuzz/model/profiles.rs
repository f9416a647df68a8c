//! The rules for updates of members and groups of action profiles, and for action sets (9.2).

use protos::v1::{self, action_profile_group::Member, table_action, update::Type};
use tonic::Code;

use super::answer::{Faults, INVALID};
use super::tables::plain_action;
use super::{Model, ProfileKey};
use crate::bench::REFUSED;
use crate::fuzz::normal::key_of;
use crate::subject::{Profile, Subject, Table};

impl Model {
    /// Checks an update of a member of an action profile (9.2.1).
    pub(super) fn member(
        &self,
        subject: &Subject,
        kind: Type,
        member: &v1::ActionProfileMember,
        faults: &mut Faults,
    ) {
        let Some(table) = subject.any_member_table(member.action_profile_id) else {
            return faults.add(true, REFUSED);
        };
        let key = (member.action_profile_id, member.member_id);
        let is_there = self.members.contains_key(&key);
        self.beside_sets(subject, key.0, kind, faults);
        match kind {
            Type::Insert => faults.add(is_there, &[Code::AlreadyExists]),
            Type::Modify => faults.add(!is_there, &[Code::NotFound]),
            Type::Delete => {
                faults.add(!is_there, &[Code::NotFound]);
                return faults.add(self.refers_to_member(table, key), &[Code::FailedPrecondition]);
            }
            Type::Unspecified => return faults.add(true, REFUSED),
        }
        match &member.action {
            None => faults.add(true, INVALID),
            Some(action) => plain_action(table, action, |known| known.in_entries, faults),
        }
    }

    fn refers_to_member(&self, table: &Table, key: ProfileKey) -> bool {
        let in_group = self
            .groups(key.0)
            .any(|group| group.members.iter().any(|member| member.member_id == key.1));
        in_group || self.refers(table, &table_action::Type::ActionProfileMemberId(key.1))
    }

    fn refers(&self, table: &Table, to: &table_action::Type) -> bool {
        self.entries(table.id).any(|entry| {
            entry.action.as_ref().and_then(|action| action.r#type.as_ref()) == Some(to)
        })
    }

    /// Checks an update of a group of an action profile (9.2.2).
    pub(super) fn group(
        &self,
        subject: &Subject,
        kind: Type,
        group: &v1::ActionProfileGroup,
        faults: &mut Faults,
    ) {
        let of_group = |profile: &&Profile| profile.id == group.action_profile_id;
        let profile = subject.profiles.iter().filter(|profile| profile.is_selector).find(of_group);
        let table = subject.any_member_table(group.action_profile_id);
        let (Some(_), Some(table)) = (profile, table) else { return faults.add(true, REFUSED) };
        let old = self.groups.get(&(group.action_profile_id, group.group_id));
        self.beside_sets(subject, group.action_profile_id, kind, faults);
        match kind {
            Type::Insert => faults.add(old.is_some(), &[Code::AlreadyExists]),
            Type::Modify => faults.add(old.is_none(), &[Code::NotFound]),
            Type::Delete => {
                let reference = table_action::Type::ActionProfileGroupId(group.group_id);
                faults.add(old.is_none(), &[Code::NotFound]);
                return faults.add(self.refers(table, &reference), &[Code::FailedPrecondition]);
            }
            Type::Unspecified => return faults.add(true, REFUSED),
        }
        let is_resized =
            kind == Type::Modify && old.is_some_and(|old| old.max_size != group.max_size);
        faults.add(is_resized, INVALID);
        faults.add(group.members.iter().any(|member| member.weight <= 0), INVALID);
        let is_unknown = |member: &Member| {
            !self.members.contains_key(&(group.action_profile_id, member.member_id))
        };
        faults.add(group.members.iter().any(is_unknown), &[Code::NotFound]);
    }

    /// Records that a device may refuse members and groups while entries contain action sets for
    /// the profile. Section 9.2.3 forbids to mix the two ways, but only for entries.
    fn beside_sets(&self, subject: &Subject, profile: u32, kind: Type, faults: &mut Faults) {
        let profile = subject.profiles.iter().find(|one| one.id == profile);
        let has_sets = profile.is_some_and(|profile| self.has_sets(profile, None));
        faults.may(has_sets && kind != Type::Delete, INVALID);
    }

    /// Records that a device must refuse an action set while entries refer to members or groups of
    /// the profile, and may refuse it while the profile has any member or group (9.2.3).
    pub(super) fn beside_members(
        &self,
        profile: &Profile,
        entry: &v1::TableEntry,
        faults: &mut Faults,
    ) {
        let is_reference = |action: &table_action::Type| match action {
            table_action::Type::ActionProfileMemberId(_)
            | table_action::Type::ActionProfileGroupId(_) => true,
            table_action::Type::Action(_) | table_action::Type::ActionProfileActionSet(_) => false,
        };
        faults.add(self.has_entries(profile, Some(entry), is_reference), INVALID);
        let has_some =
            self.members(profile.id).next().is_some() || self.groups(profile.id).next().is_some();
        faults.may(has_some, INVALID);
    }

    /// Returns whether any entry of the profile's tables, other than the one with the key of
    /// `except`, contains an action set.
    pub(in crate::fuzz) fn has_sets(
        &self,
        profile: &Profile,
        except: Option<&v1::TableEntry>,
    ) -> bool {
        let is_set = |action: &table_action::Type| {
            matches!(action, table_action::Type::ActionProfileActionSet(_))
        };
        self.has_entries(profile, except, is_set)
    }

    fn has_entries(
        &self,
        profile: &Profile,
        except: Option<&v1::TableEntry>,
        is_one: impl Fn(&table_action::Type) -> bool,
    ) -> bool {
        let except = except.map(key_of);
        self.entries.iter().any(|(key, entry)| {
            let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
            profile.tables.contains(&entry.table_id)
                && except.as_ref() != Some(key)
                && action.is_some_and(&is_one)
        })
    }
}

/// Checks the action set of an entry (9.2.3).
pub(super) fn action_set(
    table: &Table,
    profile: &Profile,
    set: &v1::ActionProfileActionSet,
    faults: &mut Faults,
) {
    let actions = &set.action_profile_actions;
    for one in actions {
        faults.add(one.weight <= 0, INVALID);
        let is_heavy = (1..one.weight).contains(&profile.max_member_weight);
        faults.add(profile.counts_members && is_heavy, INVALID);
        match &one.action {
            None => faults.add(true, REFUSED),
            Some(action) => plain_action(table, action, |known| known.in_entries, faults),
        }
    }
    let size: i64 = match profile.counts_members {
        true => i64::try_from(actions.len()).unwrap_or(i64::MAX),
        false => actions.iter().map(|one| i64::from(one.weight)).sum(),
    };
    let most = i64::from(profile.max_group_size);
    faults.add(most > 0 && size > most, INVALID);
    // The section does not say what an empty set means.
    faults.may(actions.is_empty(), REFUSED);
}
