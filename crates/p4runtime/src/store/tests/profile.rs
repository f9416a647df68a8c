//! Tests of members, groups and one-shot groups.

use super::*;

const INVALID: Result<(), Code> = Err(Code::InvalidArgument);

fn member(profile: u32, id: u32, port: u8) -> v1::ActionProfileMember {
    v1::ActionProfileMember {
        action_profile_id: profile,
        member_id: id,
        action: Some(call(FORWARD, &[&[0, port]])),
    }
}

fn group(profile: u32, id: u32, members: &[(u32, i32)]) -> v1::ActionProfileGroup {
    v1::ActionProfileGroup {
        action_profile_id: profile,
        group_id: id,
        members: members
            .iter()
            .map(|(member_id, weight)| v1::action_profile_group::Member {
                member_id: *member_id,
                weight: *weight,
                watch_kind: None,
            })
            .collect(),
        max_size: 6,
    }
}

#[test]
fn members_are_written_and_read() {
    let mut switch = Switch::new();
    assert_eq!(switch.modify(member(PROFILE, 1, 1)), Err(Code::NotFound));
    assert_eq!(switch.insert(member(PROFILE, 1, 1)), Ok(()));
    assert_eq!(switch.insert(member(PROFILE, 1, 1)), Err(Code::AlreadyExists));
    assert_eq!(switch.modify(member(PROFILE, 1, 2)), Ok(()));
    assert_eq!(switch.insert(member(PROFILE, 2, 2)), Ok(()));
    assert_eq!(switch.insert(member(PROFILE, 3, 3)), Err(Code::ResourceExhausted));
    assert_eq!(switch.insert(member(PROFILE, 0, 3)), INVALID);
    assert_eq!(switch.insert(member(77, 1, 3)), INVALID);
    let unset = v1::ActionProfileMember { action: None, ..member(BY_WEIGHT, 9, 1) };
    assert_eq!(switch.insert(unset), INVALID);
    let foreign =
        v1::ActionProfileMember { action: Some(call(NO_ACTION, &[])), ..member(BY_WEIGHT, 9, 1) };
    assert_eq!(switch.insert(foreign), INVALID);
    assert_eq!(switch.delete(member(PROFILE, 3, 1)), Err(Code::NotFound));

    let all = v1::ActionProfileMember::default();
    let read = switch.read(all).unwrap();
    let canonical = |id| v1::ActionProfileMember {
        action: Some(call(FORWARD, &[&[2]])),
        ..member(PROFILE, id, 0)
    };
    assert_eq!(read, [canonical(1).into(), canonical(2).into()]);
    let one = v1::ActionProfileMember { action_profile_id: PROFILE, member_id: 2, action: None };
    assert_eq!(switch.read(one), Ok(vec![canonical(2).into()]));
    let none = v1::ActionProfileMember { action_profile_id: PROFILE, member_id: 9, action: None };
    assert_eq!(switch.read(none), Ok(vec![]));
}

#[test]
fn members_and_groups_in_use_cannot_be_deleted() {
    let mut switch = Switch::new();
    switch.insert(member(BY_WEIGHT, 1, 1)).unwrap();
    switch.insert(member(BY_WEIGHT, 2, 2)).unwrap();
    switch.insert(group(BY_WEIGHT, 1, &[(1, 1)])).unwrap();
    switch.insert(keyed(WEIGHTED, 1, group_ref(1))).unwrap();
    switch.insert(keyed(WEIGHTED, 2, member_ref(2))).unwrap();
    assert_eq!(switch.delete(member(BY_WEIGHT, 1, 1)), Err(Code::FailedPrecondition));
    assert_eq!(switch.delete(member(BY_WEIGHT, 2, 1)), Err(Code::FailedPrecondition));
    assert_eq!(switch.delete(group(BY_WEIGHT, 1, &[])), Err(Code::FailedPrecondition));

    // The entry moves from the group to a member, and the group from one member to another.
    switch.modify(keyed(WEIGHTED, 1, member_ref(2))).unwrap();
    switch.modify(group(BY_WEIGHT, 1, &[(2, 1)])).unwrap();
    assert_eq!(switch.delete(member(BY_WEIGHT, 1, 1)), Ok(()));
    assert_eq!(switch.delete(group(BY_WEIGHT, 1, &[])), Ok(()));
    switch.delete(keyed(WEIGHTED, 1, None)).unwrap();
    assert_eq!(switch.delete(member(BY_WEIGHT, 2, 1)), Err(Code::FailedPrecondition));
    switch.delete(keyed(WEIGHTED, 2, None)).unwrap();
    assert_eq!(switch.delete(member(BY_WEIGHT, 2, 1)), Ok(()));
}

#[test]
fn groups_consist_of_members_that_exist() {
    let mut switch = Switch::new();
    for id in 1..=4 {
        switch.insert(member(BY_WEIGHT, id, 1)).unwrap();
    }
    assert_eq!(switch.modify(group(BY_WEIGHT, 1, &[(1, 1)])), Err(Code::NotFound));
    assert_eq!(switch.insert(group(BY_WEIGHT, 1, &[(9, 1)])), Err(Code::NotFound));
    assert_eq!(switch.insert(group(BY_WEIGHT, 1, &[(1, 2), (2, 3)])), Ok(()));
    assert_eq!(switch.insert(group(BY_WEIGHT, 1, &[])), Err(Code::AlreadyExists));
    assert_eq!(switch.insert(group(BY_WEIGHT, 0, &[])), INVALID);
    assert_eq!(switch.insert(group(PROFILE, 1, &[])), INVALID, "no selector");
    assert_eq!(switch.insert(group(BY_WEIGHT, 2, &[(1, 1), (1, 1)])), INVALID, "member twice");
    assert_eq!(switch.insert(group(BY_WEIGHT, 2, &[(1, 0)])), INVALID);
    assert_eq!(switch.insert(group(BY_WEIGHT, 2, &[(1, -1)])), INVALID);
    assert_eq!(switch.insert(group(BY_WEIGHT, 2, &[(0, 1)])), INVALID);
    for max_size in [-1, 7] {
        let group = v1::ActionProfileGroup { max_size, ..group(BY_WEIGHT, 2, &[]) };
        assert_eq!(switch.insert(group), INVALID);
    }
    assert_eq!(
        switch.insert(group(BY_WEIGHT, 2, &[(1, 7)])),
        Err(Code::ResourceExhausted),
        "max_size"
    );
    assert_eq!(
        switch.insert(group(BY_WEIGHT, 2, &[(1, 6)])),
        Err(Code::ResourceExhausted),
        "5 + 6 > 10"
    );
    assert_eq!(
        switch.modify(group(BY_WEIGHT, 1, &[(1, 6)])),
        Ok(()),
        "its own size does not count twice"
    );
    assert_eq!(switch.insert(group(BY_WEIGHT, 2, &[(2, 4)])), Ok(()));
    let resized = v1::ActionProfileGroup { max_size: 5, ..group(BY_WEIGHT, 1, &[]) };
    assert_eq!(switch.modify(resized), INVALID);

    let read = switch.read(v1::ActionProfileGroup::default());
    let expected = [group(BY_WEIGHT, 1, &[(1, 6)]), group(BY_WEIGHT, 2, &[(2, 4)])];
    assert_eq!(read, Ok(expected.map(Entity::from).to_vec()));
}

/// Clients that state no size, such as p4runtime-shell and finsy, mean the maximum.
#[test]
fn a_group_without_max_size_is_as_large_as_the_selector_allows() {
    let mut switch = Switch::new();
    switch.insert(member(BY_WEIGHT, 1, 1)).unwrap();
    let unstated =
        |weight| v1::ActionProfileGroup { max_size: 0, ..group(BY_WEIGHT, 1, &[(1, weight)]) };
    assert_eq!(switch.insert(unstated(7)), Err(Code::ResourceExhausted));
    assert_eq!(switch.insert(unstated(6)), Ok(()));
    assert_eq!(switch.modify(unstated(7)), Err(Code::ResourceExhausted));
    assert_eq!(switch.modify(group(BY_WEIGHT, 1, &[])), INVALID, "max_size cannot change");
    assert_eq!(
        switch.read(v1::ActionProfileGroup::default()),
        Ok(vec![unstated(6).into()]),
        "it is read back as it was written"
    );
}

#[test]
fn sizes_count_members_if_the_selector_requires_it() {
    let mut switch = Switch::new();
    for id in 1..=4 {
        switch.insert(member(BY_MEMBERS, id, 1)).unwrap();
    }
    assert_eq!(switch.insert(member(BY_MEMBERS, 5, 1)), Err(Code::ResourceExhausted));
    let unlimited = |id, members: &[(u32, i32)]| v1::ActionProfileGroup {
        max_size: 0,
        ..group(BY_MEMBERS, id, members)
    };
    assert_eq!(switch.insert(unlimited(1, &[(1, 4)])), INVALID, "max_member_weight");
    assert_eq!(switch.insert(unlimited(1, &[(1, 3), (2, 3), (3, 3)])), Ok(()));
    assert_eq!(switch.insert(unlimited(2, &[(1, 1), (2, 1)])), Err(Code::ResourceExhausted));
    assert_eq!(switch.insert(unlimited(2, &[(1, 1)])), Ok(()));
}

#[test]
fn entries_may_refer_only_to_existing_members_and_groups() {
    let mut switch = Switch::new();
    assert_eq!(switch.insert(keyed(INDIRECT, 1, member_ref(1))), Err(Code::NotFound));
    assert_eq!(switch.insert(keyed(INDIRECT, 1, member_ref(0))), INVALID);
    assert_eq!(switch.insert(keyed(INDIRECT, 1, group_ref(1))), INVALID, "no selector");
    assert_eq!(switch.insert(keyed(INDIRECT, 1, one_shot(&[1]))), INVALID, "no selector");
    assert_eq!(switch.insert(keyed(INDIRECT, 1, action(DROP, &[]))), INVALID, "indirect");
    assert_eq!(switch.insert(keyed(WEIGHTED, 1, group_ref(1))), Err(Code::NotFound));
    switch.insert(member(PROFILE, 1, 1)).unwrap();
    assert_eq!(switch.insert(keyed(INDIRECT, 1, member_ref(1))), Ok(()));
    assert_eq!(
        switch.entries(keyed(INDIRECT, 1, None)),
        Ok(vec![keyed(INDIRECT, 1, member_ref(1))])
    );
}

#[test]
fn one_shot_groups_count_towards_the_size_of_the_selector() {
    let mut switch = Switch::new();
    assert_eq!(switch.insert(keyed(WEIGHTED, 1, one_shot(&[0]))), INVALID);
    assert_eq!(switch.insert(keyed(WEIGHTED, 1, one_shot(&[4, 3]))), INVALID, "max_group_size");
    assert_eq!(switch.insert(keyed(WEIGHTED, 1, one_shot(&[3, 3]))), Ok(()));
    assert_eq!(switch.insert(keyed(WEIGHTED, 2, one_shot(&[5]))), Err(Code::ResourceExhausted));
    assert_eq!(
        switch.modify(keyed(WEIGHTED, 1, one_shot(&[5]))),
        Ok(()),
        "its own size does not count twice"
    );
    assert_eq!(switch.insert(keyed(WEIGHTED, 2, one_shot(&[5]))), Ok(()));
    assert_eq!(
        switch.entries(v1::TableEntry { table_id: WEIGHTED, ..Default::default() }),
        Ok(vec![keyed(WEIGHTED, 1, one_shot(&[5])), keyed(WEIGHTED, 2, one_shot(&[5]))])
    );
    // A selector holds either one-shot groups or members and groups, not both.
    assert_eq!(switch.insert(member(BY_WEIGHT, 1, 1)), INVALID);
    assert_eq!(switch.insert(group(BY_WEIGHT, 1, &[])), INVALID);
    assert_eq!(switch.delete(keyed(WEIGHTED, 1, None)), Ok(()));
    assert_eq!(switch.delete(keyed(WEIGHTED, 2, None)), Ok(()));
    assert_eq!(switch.insert(member(BY_WEIGHT, 1, 1)), Ok(()));
    assert_eq!(switch.insert(keyed(WEIGHTED, 1, one_shot(&[1]))), INVALID);

    assert_eq!(switch.insert(keyed(COUNTED, 1, one_shot(&[3, 3, 3, 3]))), Ok(()));
    assert_eq!(switch.insert(keyed(COUNTED, 2, one_shot(&[1]))), Err(Code::ResourceExhausted));
    assert_eq!(switch.insert(keyed(COUNTED, 2, one_shot(&[4]))), INVALID, "max_member_weight");
}

#[test]
fn an_action_set_that_states_the_semantics_of_its_selector_has_the_same_limits() {
    use v1::action_profile_action_set::SizeSemantics;
    use v1::table_action::Type;

    let stating = |table, weight, semantics: SizeSemantics| {
        let mut action = one_shot(&[weight]);
        if let Some(v1::TableAction { r#type: Some(Type::ActionProfileActionSet(set)) }) =
            &mut action
        {
            set.size_semantics = semantics as i32;
        }
        keyed(table, 1, action)
    };
    let mut switch = Switch::new();
    assert_eq!(switch.insert(stating(COUNTED, 4, SizeSemantics::SumOfMembers)), INVALID);
    assert_eq!(switch.insert(stating(COUNTED, 3, SizeSemantics::SumOfMembers)), Ok(()));
    assert_eq!(switch.insert(stating(WEIGHTED, 7, SizeSemantics::SumOfWeights)), INVALID);
    // A selector that sums members has no limit for the weight of a member.
    assert_eq!(switch.insert(stating(WEIGHTED, 7, SizeSemantics::SumOfMembers)), Ok(()));
}

#[test]
fn watch_ports_keep_their_form() {
    use v1::action_profile_group::member::WatchKind;

    let mut switch = Switch::new();
    switch.insert(member(BY_WEIGHT, 1, 1)).unwrap();
    switch.insert(member(BY_WEIGHT, 2, 1)).unwrap();
    let mut watching = group(BY_WEIGHT, 1, &[(1, 1), (2, 1)]);
    watching.members[0].watch_kind = Some(WatchKind::WatchPort(bytes(b"\0\x05")));
    watching.members[1].watch_kind = Some(WatchKind::Watch(6));
    switch.insert(watching.clone()).unwrap();
    watching.members[0].watch_kind = Some(WatchKind::WatchPort(bytes(b"\x05")));
    assert_eq!(switch.read(v1::ActionProfileGroup::default()), Ok(vec![watching.into()]));
}
