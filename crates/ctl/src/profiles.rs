//! The commands about members and groups of action profiles and action selectors.

use crate::entries::{call, port_bytes};
use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::{Operands, small};
use crate::session::{Item, Session, Sink};
use entities::schema::ActionProfile;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::action_profile_group::{Member, member::WatchKind};
use p4runtime::proto::v1::{ActionProfileGroup, ActionProfileMember, update::Type};

/// Takes the name of an action profile or action selector.
pub(crate) fn profile<'s>(
    schema: &'s Schema,
    words: &mut Operands,
) -> Result<&'s ActionProfile, CommandError> {
    let name = words.next("the name of an action profile")?;
    find("action profile", &name, schema.action_profiles().iter())
}

/// Takes a number above zero, as P4Runtime has them for members and groups.
fn id(words: &mut Operands, what: &str) -> Result<u32, CommandError> {
    match words.number(what)? {
        0 => Err(words.problem(format!("{what} is a number from 1 on"))),
        id => Ok(id),
    }
}

fn write_member(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = profile(&schema, &mut words)?;
    let member_id = id(&mut words, "the number of a member")?;
    let action = match kind {
        Type::Delete => {
            words.end()?;
            None
        }
        Type::Unspecified | Type::Insert | Type::Modify => {
            Some(call(&schema, &profile.actions, &mut words)?)
        }
    };
    let action_profile_id = profile.id.0;
    session.write(kind, ActionProfileMember { action_profile_id, member_id, action })
}

/// `member add`: adds a member to an action profile.
pub(crate) fn add_member(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    write_member(session, words, Type::Insert)
}

/// `member modify`: replaces the action of a member.
pub(crate) fn modify_member(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    write_member(session, words, Type::Modify)
}

/// `member delete`: removes a member from an action profile.
pub(crate) fn delete_member(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    write_member(session, words, Type::Delete)
}

/// `member dump`: shows members.
pub(crate) fn dump_members(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (action_profile_id, member_id) = selected(session, &mut words)?;
    let request = ActionProfileMember { action_profile_id, member_id, action: None };
    let found = session.query(vec![request.into()])?;
    found.into_iter().for_each(|found| sink(Item::Entity(Box::new(found))));
    Ok(())
}

/// Takes the profile and the number that a dump selects, where 0 stands for all.
fn selected(session: &Session<'_>, words: &mut Operands) -> Result<(u32, u32), CommandError> {
    if words.peek().is_none() {
        return Ok((0, 0));
    }
    let schema = session.schema()?;
    let profile = profile(&schema, words)?.id.0;
    let id = if words.peek().is_some() { words.number("a number")? } else { 0 };
    words.end()?;
    Ok((profile, id))
}

/// Returns a member of a group: `MEMBER[*WEIGHT][@PORT]`.
fn group_member(text: &str) -> Option<Member> {
    let (text, port) = match text.split_once('@') {
        Some((text, port)) => (text, Some(port)),
        None => (text, None),
    };
    let (id, weight) = text.split_once('*').unwrap_or((text, "1"));
    let watch_kind = port.map(|port| WatchKind::WatchPort(port_bytes(port)));
    Some(Member { member_id: small(id)?, weight: small(weight)?, watch_kind })
}

fn write_group(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let max_size = words.number_option("max-size")?.unwrap_or(0);
    let profile = profile(&schema, &mut words)?;
    if !profile.with_selector {
        return Err(words.problem(format!(
            "{} is an action profile without selector, which has no groups",
            profile.short()
        )));
    }
    let group_id = id(&mut words, "the number of a group")?;
    let members: Vec<String> = if kind == Type::Delete { Vec::new() } else { words.rest() };
    words.end()?;
    let member = |text: &String| {
        group_member(text).ok_or_else(|| {
            words.problem(format!("'{text}' is no member; one is MEMBER[*WEIGHT][@PORT]"))
        })
    };
    let members = members.iter().map(member).collect::<Result<_, _>>()?;
    let action_profile_id = profile.id.0;
    session.write(kind, ActionProfileGroup { action_profile_id, group_id, members, max_size })
}

/// `group add`: adds a group to an action selector.
pub(crate) fn add_group(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    write_group(session, words, Type::Insert)
}

/// `group modify`: replaces the members of a group.
pub(crate) fn modify_group(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    write_group(session, words, Type::Modify)
}

/// `group delete`: removes a group from an action selector.
pub(crate) fn delete_group(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    write_group(session, words, Type::Delete)
}

/// `group dump`: shows groups.
pub(crate) fn dump_groups(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (action_profile_id, group_id) = selected(session, &mut words)?;
    let request =
        ActionProfileGroup { action_profile_id, group_id, ..ActionProfileGroup::default() };
    let found = session.query(vec![request.into()])?;
    found.into_iter().for_each(|found| sink(Item::Entity(Box::new(found))));
    Ok(())
}
