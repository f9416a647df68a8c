//! Action profiles and action selectors: members, groups, one-shot groups (specification 1.5,
//! "ActionProfileMember & ActionProfileGroup").

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::action::{self, Usage};
use super::change::Change;
use super::reading::{Place, Visit, numbers};
use super::state::{OneShot, ProfileState, State, decode, encode};
use crate::p4info::{ActionProfile, ActionProfileId, Schema, SizeSemantics, Table};
use crate::proto::v1;
use crate::proto::v1::action_profile_action_set::SizeSemantics as SetSizeSemantics;
use crate::proto::v1::entity::Entity;
use crate::proto::v1::update::Type as UpdateType;
use crate::status::EntityError;

pub(super) fn plan_member(
    schema: &Schema,
    state: &State,
    kind: UpdateType,
    member: &v1::ActionProfileMember,
) -> Result<Change, EntityError> {
    let profile = find(schema, member.action_profile_id)?;
    let id = member.member_id;
    let place = || format!("member {id} of action profile '{}'", profile.name);
    if id == 0 {
        return Err(EntityError::invalid(format!("{}: the id must not be 0", place())));
    }
    let current = state.profiles.get(&profile.id).map(|current| &**current);
    let existing = current.and_then(|current| current.members.get(&id));

    if kind == UpdateType::Delete {
        let existing = existing
            .ok_or_else(|| EntityError::not_found(format!("{} does not exist", place())))?;
        if existing.groups > 0 {
            return Err(EntityError::in_use(format!(
                "{} is part of {} groups",
                place(),
                existing.groups
            )));
        }
        if existing.entries > 0 {
            return Err(EntityError::in_use(format!(
                "{} is used by {} entries",
                place(),
                existing.entries
            )));
        }
        return Ok(Change::Member { profile: profile.id, id, action: None });
    }

    let given = member
        .action
        .as_ref()
        .ok_or_else(|| EntityError::invalid(format!("{}: the action is unset", place())))?;
    let action = action::canonical(schema, &profile.actions, Usage::Entry, given)
        .map_err(|error| error.within(place()))?;
    if kind == UpdateType::Modify {
        if existing.is_none() {
            return Err(EntityError::not_found(format!("{} does not exist", place())));
        }
    } else {
        if existing.is_some() {
            return Err(EntityError::exists(format!("{} exists already", place())));
        }
        no_one_shots(profile, current)?;
        let members = current.map_or(0, |current| current.members.len() as u64);
        if profile.size.is_some_and(|size| members >= size) {
            return Err(EntityError::exhausted(format!(
                "{}: the action profile is full with {members} members",
                place()
            )));
        }
    }
    Ok(Change::Member { profile: profile.id, id, action: Some(encode(&action)) })
}

pub(super) fn plan_group(
    schema: &Schema,
    state: &State,
    kind: UpdateType,
    group: &v1::ActionProfileGroup,
) -> Result<Change, EntityError> {
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
    let current = state.profiles.get(&profile.id).map(|current| &**current);
    let existing = current.and_then(|current| current.groups.get(&id));

    if kind == UpdateType::Delete {
        let existing = existing
            .ok_or_else(|| EntityError::not_found(format!("{} does not exist", place())))?;
        if existing.entries > 0 {
            return Err(EntityError::in_use(format!(
                "{} is used by {} entries",
                place(),
                existing.entries
            )));
        }
        return Ok(Change::Group { profile: profile.id, id, value: None });
    }

    let (canonical, size) =
        canonical_group(profile, group).map_err(|error| error.within(place()))?;
    match (kind, existing) {
        (UpdateType::Modify, None) => {
            return Err(EntityError::not_found(format!("{} does not exist", place())));
        }
        (UpdateType::Modify, Some(existing)) => {
            let written = decode::<v1::ActionProfileGroup>(&existing.group).max_size;
            if written != group.max_size {
                return Err(EntityError::invalid(format!(
                    "{}: max_size is {}, but was {written} when the group was inserted and cannot change",
                    place(),
                    group.max_size
                )));
            }
        }
        (_, Some(_)) => return Err(EntityError::exists(format!("{} exists already", place()))),
        (_, None) => no_one_shots(profile, current)?,
    }
    let unknown = group.members.iter().find(|member| {
        !current.is_some_and(|current| current.members.contains_key(&member.member_id))
    });
    if let Some(member) = unknown {
        return Err(EntityError::not_found(format!(
            "{}: there is no member {}",
            place(),
            member.member_id
        )));
    }
    let replaced = existing.map_or(0, |existing| existing.size);
    fits(profile, current, size, replaced).map_err(|error| error.within(place()))?;
    Ok(Change::Group { profile: profile.id, id, value: Some((encode(&canonical), size)) })
}

/// Checks a group by itself; returns its canonical form and its size.
fn canonical_group(
    profile: &ActionProfile,
    group: &v1::ActionProfileGroup,
) -> Result<(v1::ActionProfileGroup, u64), EntityError> {
    use v1::action_profile_group::member::WatchKind;

    let max_size = u64::try_from(group.max_size)
        .map_err(|_| EntityError::invalid(format!("max_size {} is negative", group.max_size)))?;
    let limit = profile.max_group_size.map_or(u64::MAX, u64::from);
    if max_size > limit {
        return Err(EntityError::invalid(format!(
            "max_size is {max_size}, above {limit} (max_group_size of the selector)"
        )));
    }
    // Where max_group_size is given, clients must state a size ("Rules on Setting max_size"), but
    // no code is named for 0. p4runtime-shell and finsy send it by default and BMv2 takes it.
    let limit = if max_size == 0 { limit } else { max_size };
    let mut ids = HashSet::new();
    let mut size = Size::new(profile.size_semantics, profile);
    let mut canonical = group.clone();
    for member in &mut canonical.members {
        let id = member.member_id;
        if id == 0 {
            return Err(EntityError::invalid("a member has the id 0"));
        }
        if !ids.insert(id) {
            return Err(EntityError::invalid(format!(
                "member {id} is there twice; use its weight instead"
            )));
        }
        size.add(member.weight).map_err(|error| error.within(format_args!("member {id}")))?;
        if let Some(WatchKind::WatchPort(port)) = &mut member.watch_kind {
            *port = super::replication::canonical_port(port);
        }
    }
    if size.total > limit {
        return Err(EntityError::exhausted(format!(
            "the size {} of the group is above {limit}",
            size.total
        )));
    }
    Ok((canonical, size.total))
}

/// Checks a one-shot group for an entry of `table`, and brings it into its canonical form.
///
/// `replaced` is the size of the one-shot group that the entry had before.
pub(super) fn one_shot(
    schema: &Schema,
    state: &State,
    table: &Table,
    profile: &ActionProfile,
    set: &v1::ActionProfileActionSet,
    replaced: u64,
) -> Result<OneShot, EntityError> {
    use v1::action_profile_action::WatchKind;

    if !profile.with_selector {
        return Err(EntityError::invalid(format!(
            "the table is implemented by action profile '{}', which has no selector and takes no action set",
            profile.name
        )));
    }
    let current = state.profiles.get(&profile.id).map(|current| &**current);
    if current.is_some_and(|current| !current.members.is_empty() || !current.groups.is_empty()) {
        return Err(EntityError::invalid(format!(
            "action selector '{}' is programmed with members and groups; it takes no action sets besides",
            profile.name
        )));
    }
    let semantics = match set.size_semantics() {
        SetSizeSemantics::DefaultSizeDeterminedByActionSelector => profile.size_semantics,
        SetSizeSemantics::SumOfWeights => SizeSemantics::SumOfWeights,
        SetSizeSemantics::SumOfMembers => match profile.size_semantics {
            same @ SizeSemantics::SumOfMembers { .. } => same,
            SizeSemantics::SumOfWeights => SizeSemantics::SumOfMembers { max_member_weight: None },
        },
    };
    let mut size = Size::new(semantics, profile);
    let mut canonical = set.clone();
    if let Some(group_action) = &mut canonical.group_action {
        *group_action = action::canonical(schema, &table.actions, Usage::Group, group_action)
            .map_err(|error| error.within("group action"))?;
    }
    for (position, member) in canonical.action_profile_actions.iter_mut().enumerate() {
        let place = || format!("action {position} of the action set");
        let given = member
            .action
            .as_mut()
            .ok_or_else(|| EntityError::invalid(format!("{} is unset", place())))?;
        *given = action::canonical(schema, &table.actions, Usage::Entry, given)
            .map_err(|error| error.within(place()))?;
        size.add(member.weight).map_err(|error| error.within(place()))?;
        if let Some(WatchKind::WatchPort(port)) = &mut member.watch_kind {
            *port = super::replication::canonical_port(port);
        }
    }
    if let Some(limit) = profile.max_group_size
        && size.total > u64::from(limit)
    {
        return Err(EntityError::invalid(format!(
            "the size {} of the action set is above {limit} (max_group_size of the selector)",
            size.total
        )));
    }
    fits(profile, current, size.total, replaced)?;
    Ok(OneShot { set: encode(&canonical), size: size.total })
}

/// Adds up the size of a group.
struct Size<'a> {
    semantics: SizeSemantics,
    profile: &'a ActionProfile,
    total: u64,
}

impl<'a> Size<'a> {
    fn new(semantics: SizeSemantics, profile: &'a ActionProfile) -> Self {
        Self { semantics, profile, total: 0 }
    }

    fn add(&mut self, weight: i32) -> Result<(), EntityError> {
        let weight = match u32::try_from(weight) {
            Ok(0) if self.profile.weights_disallowed => 1,
            Ok(1..) if self.profile.weights_disallowed => {
                return Err(EntityError::invalid(format!(
                    "the weight is {weight}, but the selector sets weights itself: it must be 0"
                )));
            }
            Ok(weight @ 1..) => weight,
            _ => return Err(EntityError::invalid(format!("the weight {weight} is not positive"))),
        };
        self.total += match self.semantics {
            SizeSemantics::SumOfWeights => u64::from(weight),
            SizeSemantics::SumOfMembers { max_member_weight } => {
                if max_member_weight.is_some_and(|limit| weight > limit) {
                    return Err(EntityError::invalid(format!(
                        "the weight {weight} is above the selector's max_member_weight"
                    )));
                }
                1
            }
        };
        Ok(())
    }
}

/// Checks that the selector has room for a group of `size` in place of one of size `replaced`.
fn fits(
    profile: &ActionProfile,
    current: Option<&ProfileState>,
    size: u64,
    replaced: u64,
) -> Result<(), EntityError> {
    let others = current.map_or(0, |current| current.total_size).saturating_sub(replaced);
    match profile.size {
        Some(limit) if others.saturating_add(size) > limit => Err(EntityError::exhausted(format!(
            "the size {size} does not fit: groups of size {others} out of {limit} are there already"
        ))),
        _ => Ok(()),
    }
}

fn no_one_shots(
    profile: &ActionProfile,
    current: Option<&ProfileState>,
) -> Result<(), EntityError> {
    if current.is_some_and(|current| current.one_shots > 0) {
        return Err(EntityError::invalid(format!(
            "action selector '{}' is programmed with action sets; it takes no members and groups besides",
            profile.name
        )));
    }
    Ok(())
}

/// The members, or groups, that a request selects; an identifier 0 stands for all.
#[derive(Debug)]
pub(super) struct Selected {
    kind: Kind,
    profile: Option<ActionProfileId>,
    id: u32,
}

#[derive(Debug)]
enum Kind {
    Members,
    Groups,
}

impl Selected {
    pub(super) fn members(
        schema: &Schema,
        request: &v1::ActionProfileMember,
    ) -> Result<Self, EntityError> {
        let profile = wanted(schema, request.action_profile_id)?;
        Ok(Self { kind: Kind::Members, profile, id: request.member_id })
    }

    pub(super) fn groups(
        schema: &Schema,
        request: &v1::ActionProfileGroup,
    ) -> Result<Self, EntityError> {
        let profile = wanted(schema, request.action_profile_id)?;
        Ok(Self { kind: Kind::Groups, profile, id: request.group_id })
    }

    pub(super) fn visit(
        &self,
        state: &State,
        place: &mut Place,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let selected = state
            .profiles
            .iter()
            .filter(|(id, _)| self.profile.is_none_or(|wanted| wanted == **id));
        for (profile, current) in selected {
            if !place.enter(profile.0) {
                continue;
            }
            let ids = numbers(self.id, place.number(profile.0));
            match self.kind {
                Kind::Members => {
                    let found = current.members.range(ids);
                    let found = found.map(|(id, member)| (u64::from(*id), (id, member)));
                    place.walk(profile.0, found, |(id, member)| {
                        visit(Some(Entity::ActionProfileMember(v1::ActionProfileMember {
                            action_profile_id: profile.0,
                            member_id: *id,
                            action: Some(decode(&member.action)),
                        })))
                    })?;
                }
                Kind::Groups => {
                    let found = current.groups.range(ids);
                    let found = found.map(|(id, group)| (u64::from(*id), group));
                    place.walk(profile.0, found, |group| {
                        visit(Some(Entity::ActionProfileGroup(decode(&group.group))))
                    })?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The profile with this identifier, `None` for 0, which stands for all.
fn wanted(schema: &Schema, id: u32) -> Result<Option<ActionProfileId>, EntityError> {
    match id {
        0 => Ok(None),
        id => Ok(Some(find(schema, id)?.id)),
    }
}

fn find(schema: &Schema, id: u32) -> Result<&ActionProfile, EntityError> {
    let id = ActionProfileId(id);
    schema
        .action_profiles()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no action profile {id}")))
}
