//! The commands about members and groups of action profiles and action selectors.

use crate::entries::{call, port_bytes};
use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::{Operands, small};
use crate::session::{Session, Sink};
use entities::schema::ActionProfile;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::action_profile_group::{Member, member::WatchKind};
use p4runtime::proto::v1::{ActionProfileGroup, ActionProfileMember, update::Type};

/// Parses the name of an action profile or action selector from the operands.
pub(crate) fn profile<'s>(
    schema: &'s Schema,
    words: &mut Operands,
) -> Result<&'s ActionProfile, CommandError> {
    let name = words.next("the name of an action profile")?;
    find("action profile", &name, schema.action_profiles().iter())
}

/// Returns the action profile, or an error if it has no groups because it is no action selector.
pub(crate) fn with_groups<'s>(
    profile: &'s ActionProfile,
    words: &Operands,
) -> Result<&'s ActionProfile, CommandError> {
    match profile.with_selector {
        true => Ok(profile),
        false => Err(words.problem(format!(
            "{} is an action profile without selector, which has no groups",
            profile.short()
        ))),
    }
}

/// Runs the commands `member add`, `member modify` and `member delete`, which write a member of an
/// action profile.
pub(crate) fn write_member(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let profile = profile(&schema, &mut words)?;
    let member_id = words.positive("the number of a member")?;
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

/// Runs the command `member dump`, which shows members.
pub(crate) fn dump_members(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (action_profile_id, member_id) = selected(session, &mut words)?;
    let request = ActionProfileMember { action_profile_id, member_id, action: None };
    session.list(vec![request.into()], sink)
}

/// Parses the operands of a dump: an action profile, and the number of the member or group to show,
/// where 0 stands for all.
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

/// Parses a member of a group: `MEMBER[*WEIGHT][@PORT]`.
fn group_member(text: &str) -> Option<Member> {
    let (text, port) = match text.split_once('@') {
        Some((text, port)) => (text, Some(port)),
        None => (text, None),
    };
    let (id, weight) = text.split_once('*').unwrap_or((text, "1"));
    let watch_kind = port.map(|port| WatchKind::WatchPort(port_bytes(port)));
    Some(Member { member_id: small(id)?, weight: small(weight)?, watch_kind })
}

/// Runs the commands `group add`, `group modify` and `group delete`, which write a group of an
/// action selector.
pub(crate) fn write_group(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let max_size = words.number_option("max-size")?.unwrap_or(0);
    let profile = with_groups(profile(&schema, &mut words)?, &words)?;
    let group_id = words.positive("the number of a group")?;
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

/// Runs the command `group dump`, which shows groups.
pub(crate) fn dump_groups(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (action_profile_id, group_id) = selected(session, &mut words)?;
    let request =
        ActionProfileGroup { action_profile_id, group_id, ..ActionProfileGroup::default() };
    session.list(vec![request.into()], sink)
}
