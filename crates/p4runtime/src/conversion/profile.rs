//! Conversion of members, groups and one-shot groups of action profiles and selectors
//! (specification of P4Runtime 1.5, "ActionProfileMember & ActionProfileGroup").

use std::collections::HashSet;

use bytes::Bytes;
use entities::schema::{ActionProfile, ActionProfileId, Schema, SizeSemantics, Table};
use entities::{
    EntityError, Group, GroupId, GroupMember, Member, MemberId, OneShot, OneShotMember,
    SelectionMode, SizeCounts, UpdateKind, Watch,
};

use super::action::{self, Usage};
use super::replication::port_bytes;
use crate::proto::v1;
use crate::proto::v1::action_profile_action::WatchKind as ActionWatch;
use crate::proto::v1::action_profile_action_set::{
    ActionSelectionMode, SizeSemantics as Semantics,
};
use crate::proto::v1::action_profile_group::member::WatchKind;

pub(super) fn member(
    schema: &Schema,
    kind: UpdateKind,
    member: &v1::ActionProfileMember,
) -> Result<Member, EntityError> {
    let profile = find(schema, member.action_profile_id)?;
    let id = member.member_id;
    let place = || format!("member {id} of action profile '{}'", profile.name);
    if id == 0 {
        return Err(EntityError::invalid(format!("{}: the id must not be 0", place())));
    }
    let action = match (kind, &member.action) {
        (UpdateKind::Delete, _) => None,
        (_, None) => {
            return Err(EntityError::invalid(format!("{}: the action is unset", place())));
        }
        (_, Some(given)) => Some(
            action::call(schema, &profile.actions, Usage::Entry, given)
                .map_err(|error| error.within(place()))?,
        ),
    };
    Ok(Member { profile: profile.id, id: MemberId(id), action })
}

pub(super) fn member_message(member: &Member) -> v1::ActionProfileMember {
    v1::ActionProfileMember {
        action_profile_id: member.profile.0,
        member_id: member.id.0,
        action: member.action.as_ref().map(action::message),
    }
}

/// Converts a group of an action selector.
pub(super) fn group(
    schema: &Schema,
    kind: UpdateKind,
    group: &v1::ActionProfileGroup,
) -> Result<Group, EntityError> {
    let profile = find(schema, group.action_profile_id)?;
    let id = group.group_id;
    let place = || format!("group {id} of action selector '{}'", profile.name);
    if !profile.with_selector {
        return Err(EntityError::invalid(format!(
            "action profile '{}' has no selector and takes no groups",
            profile.name
        )));
    }
    if id == 0 {
        return Err(EntityError::invalid(format!("{}: the id must not be 0", place())));
    }
    if kind == UpdateKind::Delete {
        let id = GroupId(id);
        return Ok(Group {
            profile: profile.id,
            id,
            members: Box::default(),
            max_size: 0,
            size: 0,
        });
    }
    checked_group(profile, group).map_err(|error| error.within(place()))
}

/// Checks the size and the members of a group and converts it.
fn checked_group(
    profile: &ActionProfile,
    group: &v1::ActionProfileGroup,
) -> Result<Group, EntityError> {
    let max_size = u32::try_from(group.max_size)
        .map_err(|_| EntityError::invalid(format!("max_size {} is negative", group.max_size)))?;
    let limit = profile.max_group_size.unwrap_or(u32::MAX);
    if max_size > limit {
        return Err(EntityError::invalid(format!(
            "max_size is {max_size}, above {limit} (max_group_size of the selector)"
        )));
    }
    // Where `max_group_size` is set, clients must state a size ("Rules on Setting max_size"), but
    // the specification names no error for 0. p4runtime-shell and finsy send 0 by default, and BMv2
    // accepts it.
    let limit = match (max_size, profile.max_group_size) {
        (0, None) => u64::MAX,
        (0, Some(limit)) | (limit, _) => u64::from(limit),
    };
    let mut ids = HashSet::new();
    let mut size = Size::new(profile.size_semantics, profile);
    let mut members = Vec::with_capacity(group.members.len());
    for member in &group.members {
        let id = member.member_id;
        if id == 0 {
            return Err(EntityError::invalid("a member has the id 0"));
        }
        if !ids.insert(id) {
            return Err(EntityError::invalid(format!(
                "member {id} is given twice; use its weight instead"
            )));
        }
        let weight =
            size.add(member.weight).map_err(|error| error.within(format_args!("member {id}")))?;
        let watch = match &member.watch_kind {
            None => Watch::Nothing,
            Some(WatchKind::Watch(number)) => Watch::Number(*number),
            Some(WatchKind::WatchPort(port)) => Watch::Port(port_bytes(port)),
        };
        members.push(GroupMember { member: MemberId(id), weight, watch });
    }
    if size.total > limit {
        return Err(EntityError::exhausted(format!(
            "the size {} of the group is above {limit}",
            size.total
        )));
    }
    let (id, members) = (GroupId(group.group_id), members.into());
    Ok(Group { profile: profile.id, id, members, max_size, size: size.total })
}

pub(super) fn group_message(group: &Group) -> v1::ActionProfileGroup {
    let members = group.members.iter().map(|member| v1::action_profile_group::Member {
        member_id: member.member.0,
        weight: weight(member.weight),
        watch_kind: match &member.watch {
            Watch::Nothing => None,
            Watch::Number(number) => Some(WatchKind::Watch(*number)),
            Watch::Port(port) => Some(WatchKind::WatchPort(Bytes::copy_from_slice(port))),
        },
    });
    v1::ActionProfileGroup {
        action_profile_id: group.profile.0,
        group_id: group.id.0,
        members: members.collect(),
        max_size: i32::try_from(group.max_size).unwrap_or(i32::MAX),
    }
}

/// Converts a one-shot group, which an entry of `table` contains, from a message.
pub(super) fn one_shot(
    schema: &Schema,
    table: &Table,
    profile: &ActionProfile,
    set: &v1::ActionProfileActionSet,
) -> Result<OneShot, EntityError> {
    let (counts, semantics) = match (set.size_semantics(), profile.size_semantics) {
        (Semantics::DefaultSizeDeterminedByActionSelector, of_selector) => {
            (SizeCounts::Selector, of_selector)
        }
        (Semantics::SumOfWeights, _) => (SizeCounts::Weights, SizeSemantics::SumOfWeights),
        (Semantics::SumOfMembers, same @ SizeSemantics::SumOfMembers { .. }) => {
            (SizeCounts::Members, same)
        }
        (Semantics::SumOfMembers, SizeSemantics::SumOfWeights) => {
            (SizeCounts::Members, SizeSemantics::SumOfMembers { max_member_weight: None })
        }
    };
    let mode = match set.action_selection_mode() {
        ActionSelectionMode::DefaultModeDeterminedByActionSelector => SelectionMode::Selector,
        ActionSelectionMode::Hash => SelectionMode::Hash,
        ActionSelectionMode::Random => SelectionMode::Random,
    };
    let group_action = set.group_action.as_ref().map(|given| {
        action::call(schema, &table.actions, Usage::Group, given)
            .map_err(|error| error.within("group action"))
    });
    let group_action = group_action.transpose()?;
    let mut size = Size::new(semantics, profile);
    let mut members = Vec::with_capacity(set.action_profile_actions.len());
    for (position, member) in set.action_profile_actions.iter().enumerate() {
        let place = || format!("action {position} of the action set");
        let given = member
            .action
            .as_ref()
            .ok_or_else(|| EntityError::invalid(format!("{} is unset", place())))?;
        let action = action::call(schema, &table.actions, Usage::Entry, given)
            .map_err(|error| error.within(place()))?;
        let weight = size.add(member.weight).map_err(|error| error.within(place()))?;
        let watch = match &member.watch_kind {
            None => Watch::Nothing,
            Some(ActionWatch::Watch(number)) => Watch::Number(*number),
            Some(ActionWatch::WatchPort(port)) => Watch::Port(port_bytes(port)),
        };
        members.push(OneShotMember { action, weight, watch });
    }
    if let Some(limit) = profile.max_group_size
        && size.total > u64::from(limit)
    {
        return Err(EntityError::invalid(format!(
            "the size {} of the action set is above {limit} (max_group_size of the selector)",
            size.total
        )));
    }
    Ok(OneShot { members, group_action, mode, counts, size: size.total })
}

pub(super) fn one_shot_message(one_shot: &OneShot) -> v1::ActionProfileActionSet {
    let members = one_shot.members.iter().map(|member| v1::ActionProfileAction {
        action: Some(action::message(&member.action)),
        weight: weight(member.weight),
        watch_kind: match &member.watch {
            Watch::Nothing => None,
            Watch::Number(number) => Some(ActionWatch::Watch(*number)),
            Watch::Port(port) => Some(ActionWatch::WatchPort(Bytes::copy_from_slice(port))),
        },
    });
    let mode = match one_shot.mode {
        SelectionMode::Selector => ActionSelectionMode::DefaultModeDeterminedByActionSelector,
        SelectionMode::Hash => ActionSelectionMode::Hash,
        SelectionMode::Random => ActionSelectionMode::Random,
    };
    let semantics = match one_shot.counts {
        SizeCounts::Selector => Semantics::DefaultSizeDeterminedByActionSelector,
        SizeCounts::Weights => Semantics::SumOfWeights,
        SizeCounts::Members => Semantics::SumOfMembers,
    };
    v1::ActionProfileActionSet {
        group_action: one_shot.group_action.as_ref().map(action::message),
        action_profile_actions: members.collect(),
        action_selection_mode: mode.into(),
        size_semantics: semantics.into(),
    }
}

fn weight(weight: u32) -> i32 {
    i32::try_from(weight).unwrap_or(i32::MAX)
}

/// The size of a group, counting the members that have been added so far.
struct Size<'a> {
    semantics: SizeSemantics,
    profile: &'a ActionProfile,
    total: u64,
}

impl<'a> Size<'a> {
    fn new(semantics: SizeSemantics, profile: &'a ActionProfile) -> Self {
        Self { semantics, profile, total: 0 }
    }

    /// Adds a member to the size of the group. Returns the weight, which is 0 if the selector sets
    /// weights itself.
    fn add(&mut self, weight: i32) -> Result<u32, EntityError> {
        let (given, counted) = match u32::try_from(weight) {
            Ok(0) if self.profile.weights_disallowed => (0, 1),
            Ok(1..) if self.profile.weights_disallowed => {
                return Err(EntityError::invalid(format!(
                    "the weight is {weight}, but the selector sets weights itself: it must be 0"
                )));
            }
            Ok(weight @ 1..) => (weight, weight),
            _ => return Err(EntityError::invalid(format!("the weight {weight} is not positive"))),
        };
        self.total += match self.semantics {
            SizeSemantics::SumOfWeights => u64::from(counted),
            SizeSemantics::SumOfMembers { max_member_weight } => {
                if max_member_weight.is_some_and(|limit| counted > limit) {
                    return Err(EntityError::invalid(format!(
                        "the weight {counted} is above the selector's max_member_weight"
                    )));
                }
                1
            }
        };
        Ok(given)
    }
}

pub(super) fn find(schema: &Schema, id: u32) -> Result<&ActionProfile, EntityError> {
    let id = ActionProfileId(id);
    schema
        .action_profiles()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no action profile {id}")))
}
