//! The commands of simple_switch_CLI about action profiles. Each command exists in two forms: with
//! the name of a profile (`act_prof_...`) and, from older versions of BMv2, with the name of its
//! table (`table_indirect_...`).

use crate::entries::call;
use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::Operands;
use crate::profiles::with_groups;
use crate::session::{Item, Session, Sink};
use crate::view::View;
use entities::schema::{ActionProfile, Implementation};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, ActionProfileGroup, ActionProfileMember, action_profile_group::Member,
    entity::Entity as Kind, update::Type,
};
use serde_json::json;

/// Parses the number of a member or group in BMv2, and returns its id in P4Runtime, which is one
/// more.
pub(super) fn id(words: &mut Operands) -> Result<u32, CommandError> {
    let number: u32 = words.number("the number of a member or group")?;
    number.checked_add(1).ok_or_else(|| words.problem("the number is too large"))
}

/// Parses the name of an action profile, or of a table that has one, from the operands.
fn profile<'s>(
    schema: &'s Schema,
    words: &mut Operands,
) -> Result<&'s ActionProfile, CommandError> {
    let name = words.next("the name of an action profile")?;
    let found = find("action profile", &name, schema.action_profiles().iter());
    let implemented = schema.tables().iter().filter(|table| table.implementation.is_some());
    let table = find("table", &name, implemented);
    match (found, table.map(|table| table.implementation)) {
        (Ok(found), _) => Ok(found),
        (Err(error), Ok(Some(Implementation::ActionProfile(id)))) => {
            schema.action_profiles().get(id).ok_or(error)
        }
        (Err(error), _) => Err(error),
    }
}

/// Returns the smallest number above 0 that is not in `used`.
fn free(used: impl Iterator<Item = u32>) -> u32 {
    let used: std::collections::BTreeSet<u32> = used.collect();
    (1..).find(|id| !used.contains(id)).unwrap_or(u32::MAX)
}

fn members(
    session: &mut Session<'_>,
    request: ActionProfileMember,
) -> Result<Vec<ActionProfileMember>, CommandError> {
    session.read_as(request, |kind| match kind {
        Kind::ActionProfileMember(member) => Some(member),
        _ => None,
    })
}

fn groups(
    session: &mut Session<'_>,
    request: ActionProfileGroup,
) -> Result<Vec<ActionProfileGroup>, CommandError> {
    session.read_as(request, |kind| match kind {
        Kind::ActionProfileGroup(group) => Some(group),
        _ => None,
    })
}

fn created(kind: &str, profile: &ActionProfile, id: u32) -> Item {
    let text =
        format!("{kind} {} of {} was created (number {id} in P4Runtime)", id - 1, profile.short());
    let json = json!({
        "kind": "created", "what": kind, "profile": profile.name, "handle": id - 1, "id": id,
    });
    View::new(text, json).into()
}

/// Runs the command `act_prof_create_member`, which adds a member to an action profile.
pub(crate) fn create_member(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = profile(&schema, &mut words)?;
    let action = Some(call(&schema, &profile.actions, &mut words)?);
    let action_profile_id = profile.id.0;
    let all = ActionProfileMember { action_profile_id, ..ActionProfileMember::default() };
    let member_id = free(members(session, all)?.iter().map(|member| member.member_id));
    session.write(Type::Insert, ActionProfileMember { action_profile_id, member_id, action })?;
    sink(created("member", profile, member_id));
    Ok(())
}

/// Runs the command `act_prof_modify_member`, which changes the action of a member.
pub(crate) fn modify_member(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = profile(&schema, &mut words)?;
    let name = words.next("the name of an action")?;
    let member_id = id(&mut words)?;
    let rest = words.rest();
    let mut words = words.fresh(std::iter::once(name).chain(rest));
    let action = Some(call(&schema, &profile.actions, &mut words)?);
    let action_profile_id = profile.id.0;
    session.write(Type::Modify, ActionProfileMember { action_profile_id, member_id, action })
}

/// Runs the command `act_prof_delete_member`, which deletes a member.
pub(crate) fn delete_member(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let action_profile_id = profile(&schema, &mut words)?.id.0;
    let member_id = id(&mut words)?;
    words.end()?;
    session.write(Type::Delete, ActionProfileMember { action_profile_id, member_id, action: None })
}

/// Parses the name of an action selector from the operands.
fn selector<'s>(
    schema: &'s Schema,
    words: &mut Operands,
) -> Result<&'s ActionProfile, CommandError> {
    with_groups(profile(schema, words)?, words)
}

/// Runs the command `act_prof_create_group`, which adds an empty group to an action selector.
pub(crate) fn create_group(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = selector(&schema, &mut words)?;
    words.end()?;
    let action_profile_id = profile.id.0;
    let all = ActionProfileGroup { action_profile_id, ..ActionProfileGroup::default() };
    let group_id = free(groups(session, all.clone())?.iter().map(|group| group.group_id));
    session.write(Type::Insert, ActionProfileGroup { group_id, ..all })?;
    sink(created("group", profile, group_id));
    Ok(())
}

/// Runs the command `act_prof_delete_group`, which deletes a group.
pub(crate) fn delete_group(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let action_profile_id = selector(&schema, &mut words)?.id.0;
    let group_id = id(&mut words)?;
    words.end()?;
    let group = ActionProfileGroup { action_profile_id, group_id, ..ActionProfileGroup::default() };
    session.write(Type::Delete, group)
}

/// Changes the members of a group. P4Runtime can only write a group as a whole, so the group is
/// read first.
fn change_group(
    session: &mut Session<'_>,
    mut words: Operands,
    change: fn(&mut Vec<Member>, u32),
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = selector(&schema, &mut words)?;
    let action_profile_id = profile.id.0;
    let (member, group_id) = (id(&mut words)?, id(&mut words)?);
    words.end()?;
    let request =
        ActionProfileGroup { action_profile_id, group_id, ..ActionProfileGroup::default() };
    let found = groups(session, request)?.into_iter().next();
    let mut group = found.ok_or_else(|| {
        CommandError::Missing(format!("{} has no group {}", profile.short(), group_id - 1))
    })?;
    change(&mut group.members, member);
    session.write(Type::Modify, group)
}

/// Runs the command `act_prof_add_member_to_group`, which adds a member to a group.
pub(crate) fn add_to_group(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    change_group(session, words, |members, member_id| {
        members.push(Member { member_id, weight: 1, watch_kind: None });
    })
}

/// Runs the command `act_prof_remove_member_from_group`, which removes a member from a group.
pub(crate) fn remove_from_group(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    change_group(session, words, |members, member_id| {
        members.retain(|member| member.member_id != member_id);
    })
}

/// Returns a member or group as a result that shows its number in BMv2.
fn numbered(session: &Session<'_>, found: v1::Entity) -> Item {
    let number = match &found.entity {
        Some(Kind::ActionProfileMember(member)) => member.member_id.saturating_sub(1),
        Some(Kind::ActionProfileGroup(group)) => group.group_id.saturating_sub(1),
        _ => return Item::Entity(Box::new(found)),
    };
    crate::view::view(session.known_schema(), &Item::Entity(Box::new(found)))
        .with_handle(number, &format!("number {number} of simple_switch_CLI"))
        .into()
}

fn show(
    session: &mut Session<'_>,
    requests: Vec<v1::Entity>,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    for found in session.query(requests)? {
        sink(numbered(session, found));
    }
    Ok(())
}

/// Runs the command `act_prof_dump`, which shows the members and groups of an action profile.
pub(crate) fn dump(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = profile(&schema, &mut words)?;
    words.end()?;
    let action_profile_id = profile.id.0;
    let members = ActionProfileMember { action_profile_id, ..ActionProfileMember::default() };
    let groups = ActionProfileGroup { action_profile_id, ..ActionProfileGroup::default() };
    let groups = profile.with_selector.then(|| groups.into());
    show(session, std::iter::once(members.into()).chain(groups).collect(), sink)
}

/// Runs the commands `act_prof_dump_member` and `table_dump_member`, which show a member of an
/// action profile.
pub(crate) fn dump_member(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let action_profile_id = profile(&schema, &mut words)?.id.0;
    let member_id = id(&mut words)?;
    words.end()?;
    let request = ActionProfileMember { action_profile_id, member_id, action: None };
    show(session, vec![request.into()], sink)
}

/// Runs the commands `act_prof_dump_group` and `table_dump_group`, which show a group of an action
/// selector.
pub(crate) fn dump_group(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let action_profile_id = selector(&schema, &mut words)?.id.0;
    let group_id = id(&mut words)?;
    words.end()?;
    let request =
        ActionProfileGroup { action_profile_id, group_id, ..ActionProfileGroup::default() };
    show(session, vec![request.into()], sink)
}
