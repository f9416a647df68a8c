//! The planning of members, groups and one-shot groups, with the checks of their sizes and
//! references.

use entities::schema::{ActionProfile, ActionProfileId, Schema};
use entities::{EntityError, Group, Member, ProfileUsage, UpdateKind};

use super::change::Change;
use super::state::{ProfileState, State};

/// Validates an update of a member and returns the change that applies it.
pub(super) fn plan_member(
    schema: &Schema,
    state: &State,
    kind: UpdateKind,
    member: Member,
) -> Result<Change, EntityError> {
    let (profile, id) = (find(schema, member.profile)?, member.id);
    let place = || format!("member {} of action profile '{}'", id.0, profile.name);
    let current = state.profiles.get(&profile.id).map(|current| &**current);
    let existing = current.and_then(|current| current.members.get(&id));
    let missing = || EntityError::not_found(format!("{} does not exist", place()));
    match kind {
        UpdateKind::Delete => {
            let existing = existing.ok_or_else(missing)?;
            check_unused(existing.groups, "is part of", "groups", &place)?;
            check_unused(existing.entries, "is used by", "entries", &place)?;
        }
        UpdateKind::Modify => {
            existing.ok_or_else(missing)?;
        }
        UpdateKind::Insert => {
            if existing.is_some() {
                return Err(EntityError::exists(format!("{} exists already", place())));
            }
            usage(current).admits_member(profile).map_err(|error| error.within(place()))?;
        }
    }
    let action = member.action.filter(|_| kind != UpdateKind::Delete);
    Ok(Change::Member { profile: profile.id, id, action })
}

/// Validates an update of a group and returns the change that applies it.
pub(super) fn plan_group(
    schema: &Schema,
    state: &State,
    kind: UpdateKind,
    group: Group,
) -> Result<Change, EntityError> {
    let (profile, id) = (find(schema, group.profile)?, group.id);
    let place = || format!("group {} of action selector '{}'", id.0, profile.name);
    let current = state.profiles.get(&profile.id).map(|current| &**current);
    let existing = current.and_then(|current| current.groups.get(&id));
    match (kind, existing) {
        (UpdateKind::Modify | UpdateKind::Delete, None) => {
            return Err(EntityError::not_found(format!("{} does not exist", place())));
        }
        (UpdateKind::Delete, Some(existing)) => {
            check_unused(existing.entries, "is used by", "entries", &place)?;
            return Ok(Change::Group { profile: profile.id, id, value: None });
        }
        (UpdateKind::Modify, Some(existing)) if existing.group.max_size != group.max_size => {
            return Err(EntityError::invalid(format!(
                "{}: max_size is {}, but was {} when the group was inserted and cannot change",
                place(),
                group.max_size,
                existing.group.max_size
            )));
        }
        (UpdateKind::Modify, Some(_)) => {}
        (UpdateKind::Insert, Some(_)) => {
            return Err(EntityError::exists(format!("{} exists already", place())));
        }
        (UpdateKind::Insert, None) => usage(current).no_one_shots(profile)?,
    }
    let unknown = group.members.iter().find(|member| {
        !current.is_some_and(|current| current.members.contains_key(&member.member))
    });
    if let Some(member) = unknown {
        return Err(EntityError::not_found(format!(
            "{}: there is no member {}",
            place(),
            member.member.0
        )));
    }
    let replaced = existing.map_or(0, |existing| existing.group.size);
    usage(current).fits(profile, group.size, replaced).map_err(|error| error.within(place()))?;
    Ok(Change::Group { profile: profile.id, id, value: Some(group) })
}

/// Returns the numbers of members, groups and one-shot groups of an action profile, and the total
/// size of its groups.
pub(super) fn usage(current: Option<&ProfileState>) -> ProfileUsage {
    current.map_or_else(ProfileUsage::default, |current| ProfileUsage {
        members: current.members.len() as u64,
        groups: current.groups.len() as u64,
        one_shots: current.one_shots,
        total_size: current.total_size,
    })
}

fn check_unused(
    users: u32,
    verb: &str,
    what: &str,
    place: &dyn Fn() -> String,
) -> Result<(), EntityError> {
    if users > 0 {
        return Err(EntityError::in_use(format!("{} {verb} {users} {what}", place())));
    }
    Ok(())
}

fn find(schema: &Schema, id: ActionProfileId) -> Result<&ActionProfile, EntityError> {
    schema
        .action_profiles()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no action profile {id}")))
}
