//! The commands about a device as a whole: its pipeline, its ports, and all of its state.

use crate::device::PushAction;
use crate::error::CommandError;
use crate::operands::Operands;
use crate::replication;
use crate::session::{Session, Sink, update};
use crate::tables;
use crate::view::View;
use p4runtime::p4info::text;
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::proto::v1::{
    self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, DigestEntry,
    MulticastGroupEntry, ValueSetEntry, entity::Entity as Kind, update::Type,
};
use serde_json::json;

/// Runs the command `pipeline push`, which pushes a pipeline to the device.
pub(crate) fn push(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (verify, save) = (words.flag("verify"), words.flag("save"));
    let action = match (verify, save, words.flag("reconcile")) {
        (false, false, false) => PushAction::Commit,
        (true, false, false) => PushAction::Verify,
        (false, true, false) => PushAction::Save,
        (false, false, true) => PushAction::Reconcile,
        _ => return Err(words.problem("--verify, --save and --reconcile exclude each other")),
    };
    let files = words.rest();
    if !(1..=2).contains(&files.len()) {
        return Err(words.problem("one program, or a P4Info and a configuration, is needed"));
    }
    put(session, &files, action, sink)
}

/// Pushes a pipeline to the device. If the pipeline takes effect, the session looks up names in it
/// from then on.
pub(crate) fn put(
    session: &mut Session<'_>,
    files: &[String],
    action: PushAction,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    if session.is_dry {
        let text = format!("SetForwardingPipelineConfig {action:?} {}", files.join(" "));
        let json = json!({ "request": "p4.v1.SetForwardingPipelineConfigRequest", "text": text });
        sink(View::new(text.trim_end(), json).into());
        return Ok(());
    }
    session.device.push(files, action)?;
    match action {
        PushAction::Verify | PushAction::Save => Ok(()),
        PushAction::Commit | PushAction::Reconcile | PushAction::CommitSaved => {
            session.learn_pipeline()
        }
    }
}

/// Runs the command `pipeline commit`, which puts the pipeline into effect that was pushed with
/// `--save`.
pub(crate) fn commit(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    put(session, &[], PushAction::CommitSaved, sink)
}

/// Runs the command `pipeline show`, which shows the P4Info of the device.
pub(crate) fn show(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let schema = session.schema()?;
    let wrong = |error: text::TextError| CommandError::Missing(error.to_string());
    let printed = text::print(schema.p4info()).map_err(wrong)?;
    let json = text::print_json(schema.p4info()).map_err(wrong)?;
    let json = serde_json::from_str(&json).unwrap_or_default();
    sink(View::new(printed.trim_end(), json).into());
    Ok(())
}

/// Runs the command `ports`, which shows the ports of the device.
pub(crate) fn ports(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    for port in session.device.ports()? {
        let state = if port.is_up { "up" } else { "down" };
        let json = json!({ "kind": "port", "port": port.number, "up": port.is_up });
        sink(View::new(format!("port {}: {state}", port.number), json).into());
    }
    Ok(())
}

/// Returns the requests that read all action profile members and groups. Members come first, so
/// that what is read can be written in the same order.
fn profiles(session: &Session<'_>) -> Result<Vec<v1::Entity>, CommandError> {
    let has_groups = session.schema()?.action_profiles().iter().any(|one| one.with_selector);
    let groups = has_groups.then(|| ActionProfileGroup::default().into());
    let has_members = !session.schema()?.action_profiles().is_empty();
    let members = has_members.then(|| ActionProfileMember::default().into());
    Ok(members.into_iter().chain(groups).collect())
}

/// Returns the requests that read all multicast groups and clone sessions.
fn replicated() -> [v1::Entity; 2] {
    [
        replication::entity(Replication::MulticastGroupEntry(MulticastGroupEntry::default())),
        replication::entity(Replication::CloneSessionEntry(CloneSessionEntry::default())),
    ]
}

/// Runs the command `dump`, which shows all state that commands can restore, in an order in which
/// the commands can be run.
pub(crate) fn dump(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let schema = session.schema()?;
    let mut requests = profiles(session)?;
    for table in schema.tables().iter() {
        let both = [tables::request(table).into(), tables::default_request(table).into()];
        requests.extend(both);
    }
    requests.extend(replicated());
    if !schema.digests().is_empty() {
        requests.push(DigestEntry::default().into());
    }
    if !schema.value_sets().is_empty() {
        requests.push(ValueSetEntry::default().into());
    }
    session.list(requests, sink)
}

/// Runs the command `clear`, which deletes all entries, members, groups, multicast groups and clone
/// sessions, and restores default actions.
pub(crate) fn clear(
    session: &mut Session<'_>,
    words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let schema = session.schema()?;
    tables::clear_tables(session, schema.tables().iter())?;
    let defaults = schema.tables().iter().filter(|table| !table.default_is_const);
    let reset = |table| update(Type::Modify, tables::default_request(table));
    let resets: Vec<v1::Update> = defaults.map(reset).collect();
    if !resets.is_empty() {
        session.write_all(resets)?;
    }
    // Groups refer to members, so members are deleted last.
    let mut requests = profiles(session)?;
    requests.reverse();
    requests.extend(replicated());
    let found = session.read(requests)?;
    session.delete_all(found.into_iter().map(only_key))
}

/// Returns a copy of an entity that has only the fields which identify it.
fn only_key(found: v1::Entity) -> v1::Entity {
    match found.entity {
        Some(Kind::ActionProfileMember(member)) => {
            ActionProfileMember { action: None, ..member }.into()
        }
        Some(Kind::ActionProfileGroup(group)) => {
            ActionProfileGroup { members: Vec::new(), max_size: 0, ..group }.into()
        }
        _ => found,
    }
}
