//! Requirements of section 9.2: members and groups of action profiles, and action sets in entries.

use protos::v1::{self, entity::Entity as Kind, table_action};
use tonic::Code;

use super::{Trial, must};
use crate::bench::{Bench, demand_code};
use crate::demands::{Fault, demand, lacks};
use crate::entities::{self, bare_call, delete, insert, modify, of_entry};
use crate::subject::{Profile, Table};

pub(super) const ALL: &[Trial] = &[
    must(
        "9.2.1",
        "member-is-read-as-written",
        "A member is inserted, modified and deleted, and read as it was written.",
        member_is_read_as_written,
    ),
    must(
        "9.2.1",
        "member-twice",
        "A member is inserted whose identifier is taken: ALREADY_EXISTS, and the old one stays.",
        member_twice,
    ),
    must(
        "9.2.1",
        "member-without-action",
        "A member is inserted without an action: it is refused.",
        member_without_action,
    ),
    must(
        "9.2.1",
        "member-that-is-not-there",
        "A member is modified or deleted that is not there: NOT_FOUND.",
        member_that_is_not_there,
    ),
    must(
        "9.2.1",
        "member-in-a-group",
        "A member is deleted that a group has: FAILED_PRECONDITION, until the group is deleted.",
        member_in_a_group,
    ),
    must(
        "9.2.1",
        "member-in-an-entry",
        "A member is deleted that an entry refers to: FAILED_PRECONDITION, until the entry is deleted.",
        member_in_an_entry,
    ),
    must(
        "9.2.2",
        "group-is-read-as-written",
        "A group is inserted, modified and deleted, and read as it was written.",
        group_is_read_as_written,
    ),
    must(
        "9.2.2",
        "group-twice",
        "A group is inserted whose identifier is taken: ALREADY_EXISTS.",
        group_twice,
    ),
    must(
        "9.2.2",
        "group-of-unknown-members",
        "A group has a member that is not there: NOT_FOUND.",
        group_of_unknown_members,
    ),
    must(
        "9.2.2",
        "group-that-is-not-there",
        "A group is modified or deleted that is not there: NOT_FOUND.",
        group_that_is_not_there,
    ),
    must(
        "9.2.2",
        "group-size-stays",
        "A group is modified with another maximum size: it is refused.",
        group_size_stays,
    ),
    must(
        "9.2.2",
        "member-of-weight-zero",
        "A group has a member of weight 0: it is refused.",
        member_of_weight_zero,
    ),
    must(
        "9.2.2.1",
        "group-too-large",
        "A group has a maximum size above that of the profile: it is refused.",
        group_too_large,
    ),
    must(
        "9.1.2",
        "entry-with-unknown-member",
        "An entry refers to a member that is not there: NOT_FOUND.",
        entry_with_unknown_member,
    ),
    must(
        "9.1.2",
        "plain-action-in-a-table-with-a-profile",
        "An entry of a table with an action profile has an action of its own: it is refused.",
        plain_action_in_a_table_with_a_profile,
    ),
    must(
        "9.2.3",
        "action-set-is-read-as-written",
        "An entry with an action set is returned with that set, equal actions apart.",
        action_set_is_read_as_written,
    ),
    must(
        "9.2.3",
        "action-set-of-weight-zero",
        "An action of a set has the weight 0: the entry is refused.",
        action_set_of_weight_zero,
    ),
];

/// The identifier of the bench's first member of an action profile, which other controllers are not
/// likely to use.
const MEMBER: u32 = 0x00c0_ffe0;
const GROUP: u32 = 0x00c0_ffe0;

/// An action profile whose members the device accepts, with a table whose entries refer to it.
struct Subject {
    profile: Profile,
    table: Table,
}

/// Returns an action profile that satisfies `fits` and whose members the device accepts. Members
/// are optional (9.2.3).
fn subject(
    bench: &mut Bench,
    what: &str,
    fits: impl Fn(&Profile) -> bool,
) -> Result<Subject, Fault> {
    let found = bench.subject.profiles.iter().filter(|profile| fits(profile)).find_map(|profile| {
        let table = bench.subject.member_table(profile.id)?;
        Some(Subject { profile: profile.clone(), table: table.clone() })
    });
    let subject = found.ok_or_else(|| lacks(what))?;
    match bench.try_member(subject.profile.id, &subject.table, MEMBER + 9)? {
        Code::Unimplemented => {
            Err(Fault::NotApplicable("the device has no members of profiles".to_owned()))
        }
        code => demand_code(code, &[Code::Ok]).map(|()| subject),
    }
}

fn any(bench: &mut Bench) -> Result<Subject, Fault> {
    subject(bench, "action profile", |_| true)
}

fn selector(bench: &mut Bench) -> Result<Subject, Fault> {
    subject(bench, "action selector", |profile| profile.is_selector)
}

impl Subject {
    fn member(&self, member_id: u32, value: u128) -> v1::Entity {
        entities::member(self.profile.id, &self.table, member_id, value)
    }

    fn group(&self, group_id: u32, members: &[(u32, i32)]) -> v1::ActionProfileGroup {
        let members = members.iter().map(|(member_id, weight)| v1::action_profile_group::Member {
            member_id: *member_id,
            weight: *weight,
            ..Default::default()
        });
        v1::ActionProfileGroup {
            action_profile_id: self.profile.id,
            group_id,
            members: members.collect(),
            max_size: self.profile.max_group_size.max(0),
        }
    }

    fn entry(&self, bench: &mut Bench, action: table_action::Type) -> v1::TableEntry {
        let action = Some(v1::TableAction { r#type: Some(action) });
        v1::TableEntry { action, ..bench.entry(&self.table) }
    }

    fn has_member(&self, bench: &mut Bench, member_id: u32, value: u128) -> Result<bool, Fault> {
        let key =
            v1::ActionProfileMember { action_profile_id: self.profile.id, member_id, action: None };
        let found = bench.read(vec![v1::Entity::from(key)])?;
        Ok(found == [self.member(member_id, value)])
    }

    fn find_group(
        &self,
        bench: &mut Bench,
        group_id: u32,
    ) -> Result<Option<v1::ActionProfileGroup>, Fault> {
        let key = v1::ActionProfileGroup {
            action_profile_id: self.profile.id,
            group_id,
            ..Default::default()
        };
        let found = bench.read(vec![of_group(key)])?;
        Ok(found.into_iter().find_map(|entity| match entity.entity {
            Some(Kind::ActionProfileGroup(mut group)) => {
                group.members.sort_by_key(|member| member.member_id);
                Some(group)
            }
            _ => None,
        }))
    }

    /// Returns whether the limits of the profile permit a group of two members with weight 1.
    fn holds_two(&self) -> bool {
        self.profile.max_group_size == 0 || self.profile.max_group_size >= 2
    }
}

fn of_group(group: v1::ActionProfileGroup) -> v1::Entity {
    v1::Entity::from(group)
}

fn member_is_read_as_written(bench: &mut Bench) -> Result<(), Fault> {
    let subject = any(bench)?;
    for (update, value) in [(insert as fn(v1::Entity) -> v1::Update, 1), (modify, 0)] {
        bench.accept(vec![update(subject.member(MEMBER, value))])?;
        demand(subject.has_member(bench, MEMBER, value)?, || {
            "the member is not returned as it was written".to_owned()
        })?;
    }
    bench.accept(vec![delete(subject.member(MEMBER, 0))])?;
    demand(!subject.has_member(bench, MEMBER, 0)?, || {
        "the member is there after it was deleted".to_owned()
    })
}

fn member_twice(bench: &mut Bench) -> Result<(), Fault> {
    let subject = any(bench)?;
    bench.accept(vec![insert(subject.member(MEMBER, 1))])?;
    bench.refuse(insert(subject.member(MEMBER, 0)), &[Code::AlreadyExists])?;
    demand(subject.has_member(bench, MEMBER, 1)?, || "the old member did not stay".to_owned())
}

fn member_without_action(bench: &mut Bench) -> Result<(), Fault> {
    let subject = any(bench)?;
    let member = v1::ActionProfileMember {
        action_profile_id: subject.profile.id,
        member_id: MEMBER,
        action: None,
    };
    let without = v1::Entity::from(member);
    bench.refuse(insert(without.clone()), &[Code::InvalidArgument])?;
    bench.accept(vec![insert(subject.member(MEMBER, 1))])?;
    bench.refuse(modify(without), &[Code::InvalidArgument])?;
    demand(subject.has_member(bench, MEMBER, 1)?, || "the member was changed".to_owned())
}

fn member_that_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    let subject = any(bench)?;
    for update in [modify, delete] {
        bench.refuse(update(subject.member(MEMBER, 1)), &[Code::NotFound])?;
    }
    Ok(())
}

fn member_in_a_group(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    bench.accept(vec![insert(subject.member(MEMBER, 1))])?;
    let group = of_group(subject.group(GROUP, &[(MEMBER, 1)]));
    bench.accept(vec![insert(group.clone())])?;
    bench.refuse(delete(subject.member(MEMBER, 1)), &[Code::FailedPrecondition])?;
    bench.accept(vec![delete(group)])?;
    bench.accept(vec![delete(subject.member(MEMBER, 1))])
}

fn member_in_an_entry(bench: &mut Bench) -> Result<(), Fault> {
    let subject = any(bench)?;
    bench.accept(vec![insert(subject.member(MEMBER, 1))])?;
    let entry = subject.entry(bench, table_action::Type::ActionProfileMemberId(MEMBER));
    bench.accept(vec![insert(of_entry(&entry))])?;
    bench.refuse(delete(subject.member(MEMBER, 1)), &[Code::FailedPrecondition])?;
    bench.accept(vec![delete(of_entry(&entry))])?;
    bench.accept(vec![delete(subject.member(MEMBER, 1))])
}

fn group_is_read_as_written(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    let (one, two) = (MEMBER, MEMBER + 1);
    bench.accept(vec![insert(subject.member(one, 1)), insert(subject.member(two, 1))])?;
    let both: &[_] = if subject.holds_two() { &[(one, 1), (two, 1)] } else { &[(one, 1)] };
    for (update, members) in [(insert as fn(v1::Entity) -> v1::Update, both), (modify, &[(two, 1)])]
    {
        let group = subject.group(GROUP, members);
        bench.accept(vec![update(of_group(group.clone()))])?;
        let found = subject.find_group(bench, GROUP)?;
        demand(found.as_ref() == Some(&group), || {
            "the group is not returned as it was written".to_owned()
        })?;
    }
    bench.accept(vec![delete(of_group(subject.group(GROUP, &[])))])?;
    let found = subject.find_group(bench, GROUP)?;
    demand(found.is_none(), || "the group is there after it was deleted".to_owned())
}

fn group_twice(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    bench.accept(vec![insert(subject.member(MEMBER, 1))])?;
    let group = subject.group(GROUP, &[(MEMBER, 1)]);
    bench.accept(vec![insert(of_group(group.clone()))])?;
    bench.refuse(insert(of_group(subject.group(GROUP, &[]))), &[Code::AlreadyExists])?;
    let found = subject.find_group(bench, GROUP)?;
    demand(found == Some(group), || "the old group did not stay".to_owned())
}

fn group_of_unknown_members(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    let group = of_group(subject.group(GROUP, &[(MEMBER, 1)]));
    bench.refuse(insert(group), &[Code::NotFound])?;
    let found = subject.find_group(bench, GROUP)?;
    demand(found.is_none(), || "the group is there afterwards".to_owned())
}

fn group_that_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    for update in [modify, delete] {
        bench.refuse(update(of_group(subject.group(GROUP, &[]))), &[Code::NotFound])?;
    }
    Ok(())
}

fn group_size_stays(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    if !subject.holds_two() {
        return Err(lacks("action selector with groups of two"));
    }
    let of_size =
        |max_size| of_group(v1::ActionProfileGroup { max_size, ..subject.group(GROUP, &[]) });
    bench.accept(vec![insert(of_size(1))])?;
    bench.refuse(modify(of_size(2)), &[Code::InvalidArgument])
}

fn member_of_weight_zero(bench: &mut Bench) -> Result<(), Fault> {
    let subject = selector(bench)?;
    bench.accept(vec![insert(subject.member(MEMBER, 1))])?;
    let group = of_group(subject.group(GROUP, &[(MEMBER, 0)]));
    bench.refuse(insert(group), &[Code::InvalidArgument])
}

fn group_too_large(bench: &mut Bench) -> Result<(), Fault> {
    let limited =
        |profile: &Profile| profile.is_selector && (1..i32::MAX).contains(&profile.max_group_size);
    let subject = subject(bench, "action selector with a limit for groups", limited)?;
    let max_size = subject.profile.max_group_size + 1;
    let group = v1::ActionProfileGroup { max_size, ..subject.group(GROUP, &[]) };
    bench.refuse(insert(of_group(group)), &[Code::InvalidArgument])
}

fn entry_with_unknown_member(bench: &mut Bench) -> Result<(), Fault> {
    let subject = any(bench)?;
    let mut references = vec![table_action::Type::ActionProfileMemberId(MEMBER)];
    if subject.profile.is_selector {
        references.push(table_action::Type::ActionProfileGroupId(GROUP));
    }
    for reference in references {
        let entry = subject.entry(bench, reference);
        bench.refuse(insert(of_entry(&entry)), &[Code::NotFound])?;
        bench.holds_no(&entry)?;
    }
    Ok(())
}

fn plain_action_in_a_table_with_a_profile(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.table("table with an action profile", Table::takes_members)?;
    let entry = bench.entry(&table);
    bench.refuse(insert(of_entry(&entry)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)
}

/// Returns an entry that contains an action set: the same action several times, once with each of
/// these weights.
fn with_set(bench: &mut Bench, weights: &[i32]) -> Result<v1::TableEntry, Fault> {
    let profiles = bench.subject.profiles.clone();
    let table = bench.table("table with an action selector", |table| {
        let of_table = |profile: &&Profile| Some(profile.id) == table.profile;
        let profile = profiles.iter().find(of_table);
        table.takes_members()
            && profile.is_some_and(|profile| {
                let total: i32 = match profile.counts_members {
                    true => i32::try_from(weights.len()).unwrap_or(i32::MAX),
                    false => weights.iter().sum(),
                };
                profile.is_selector
                    && (profile.max_group_size == 0 || total <= profile.max_group_size)
            })
    })?;
    let action = table.action().map(|action| bare_call(action, 1));
    let actions = weights.iter().map(|weight| v1::ActionProfileAction {
        action: action.clone(),
        weight: *weight,
        ..Default::default()
    });
    let set = v1::ActionProfileActionSet {
        action_profile_actions: actions.collect(),
        ..Default::default()
    };
    let action =
        Some(v1::TableAction { r#type: Some(table_action::Type::ActionProfileActionSet(set)) });
    Ok(v1::TableEntry { action, ..bench.entry(&table) })
}

fn action_set_is_read_as_written(bench: &mut Bench) -> Result<(), Fault> {
    let entry = with_set(bench, &[1, 1])?;
    bench.accept(vec![insert(of_entry(&entry))])?;
    bench.holds(&entry)?;
    bench.accept(vec![delete(of_entry(&entry))])?;
    bench.holds_no(&entry)
}

fn action_set_of_weight_zero(bench: &mut Bench) -> Result<(), Fault> {
    let entry = with_set(bench, &[0])?;
    bench.refuse(insert(of_entry(&entry)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)
}
