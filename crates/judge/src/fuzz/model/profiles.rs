//! The rules for members and groups of action profiles (9.2).

use protos::v1::{self, action_profile_group::Member, table_action, update::Type};
use tonic::Code;

use super::answer::{Faults, INVALID};
use super::tables::plain_action;
use super::{Model, ProfileKey};
use crate::bench::REFUSED;
use crate::subject::{Profile, Subject, Table};

impl Model {
    /// Checks an update of a member (9.2.1).
    pub(super) fn member(
        &self,
        subject: &Subject,
        kind: Type,
        member: &v1::ActionProfileMember,
        faults: &mut Faults,
    ) {
        let Some(table) = subject.member_table(member.action_profile_id) else {
            return faults.add(true, REFUSED);
        };
        let key = (member.action_profile_id, member.member_id);
        let is_there = self.members.contains_key(&key);
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

    /// Checks an update of a group (9.2.2).
    pub(super) fn group(
        &self,
        subject: &Subject,
        kind: Type,
        group: &v1::ActionProfileGroup,
        faults: &mut Faults,
    ) {
        let of_group = |profile: &&Profile| profile.id == group.action_profile_id;
        let profile = subject.profiles.iter().filter(|profile| profile.is_selector).find(of_group);
        let table = subject.member_table(group.action_profile_id);
        let (Some(_), Some(table)) = (profile, table) else { return faults.add(true, REFUSED) };
        let old = self.groups.get(&(group.action_profile_id, group.group_id));
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
}
