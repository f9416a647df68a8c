//! The commands of simple_switch_CLI about tables.

use crate::entries::{ARROW, action, params, table};
use crate::error::CommandError;
use crate::names::Named as _;
use crate::operands::{Operands, small};
use crate::session::{Item, Session, Sink};
use crate::tables::{default_request, request, table_entry};
use crate::value::parse_match;
use crate::view::{View, view};
use entities::schema::{MatchField, MatchKind, Table};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::{self, FieldMatch, TableEntry, entity::Entity as Kind, update::Type};
use serde_json::json;

/// The priority in P4Runtime that corresponds to BMv2's priority 0. It is the largest of P4Runtime,
/// because in BMv2 the smallest wins.
const HIGHEST: i32 = i32::MAX;

/// Returns whether entries of a table need a priority on BMv2's command line.
fn has_priority(table: &Table) -> bool {
    let needs = |field: &MatchField| match field.kind {
        MatchKind::Ternary | MatchKind::Range | MatchKind::Optional => true,
        MatchKind::Exact | MatchKind::Lpm | MatchKind::Other(_) => false,
    };
    table.match_fields.iter().any(needs)
}

/// Converts a priority of BMv2, in which the smallest wins, to one of P4Runtime, in which the
/// largest wins.
fn priority(words: &Operands, text: &str) -> Result<i32, CommandError> {
    let found = small::<i32>(text).map(|priority| HIGHEST - priority);
    found.filter(|priority| *priority > 0).ok_or_else(|| {
        words.problem(format!("'{text}' is not a priority from 0 to {}", HIGHEST - 1))
    })
}

/// Returns the entry with this key. If the table needs priorities, its priority is parsed from the
/// last operand.
fn with_priority(
    table: &Table,
    key: Vec<FieldMatch>,
    words: &mut Operands,
) -> Result<TableEntry, CommandError> {
    let priority = if has_priority(table) {
        let text = words.last("a priority, which this table needs, of which the smallest wins,")?;
        priority(words, &text)?
    } else {
        0
    };
    Ok(TableEntry { table_id: table.id.0, r#match: key, priority, ..TableEntry::default() })
}

/// Parses the fields of a key in order, up to the arrow `=>` or the end of the operands.
fn fields(table: &Table, words: &mut Operands) -> Result<Vec<FieldMatch>, CommandError> {
    let mut found = Vec::new();
    for field in &table.match_fields {
        let text = words.next(&format!("a value of {}", field.name))?;
        if text == ARROW {
            return Err(words.problem(format!("a value of {} is missing", field.name)));
        }
        found.extend(parse_match(field, &text)?);
    }
    Ok(found)
}

fn arrow(words: &mut Operands) -> Result<(), CommandError> {
    match words.take(ARROW) {
        true => Ok(()),
        false => Err(words.problem("`=>` is missing behind the key")),
    }
}

/// Assigns numbers to the entries that the program declares, before the session adds its first
/// entry, as BMv2 does.
fn number_initial(session: &mut Session<'_>, table: &Table) -> Result<(), CommandError> {
    if !table.has_initial_entries || session.handles.knows(table.id) {
        return Ok(());
    }
    let plain = TableEntry { table_id: table.id.0, ..TableEntry::default() };
    for entry in session.read_as(plain, table_entry)? {
        session.handles.number(table.id, &entry);
    }
    Ok(())
}

/// Inserts an entry, and shows the number that it gets.
fn insert(
    session: &mut Session<'_>,
    table: &Table,
    entry: TableEntry,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    number_initial(session, table)?;
    session.write(Type::Insert, entry.clone())?;
    let number = session.handles.add(table.id, &entry);
    let text = format!("entry {number} of {} was added", table.short());
    let json = json!({ "kind": "added", "table": table.name, "handle": number });
    sink(View::new(text, json).into());
    Ok(())
}

fn call(
    schema: &Schema,
    table: &Table,
    name: &str,
    words: &mut Operands,
) -> Result<v1::TableAction, CommandError> {
    let action = action(schema, &table.actions, name)?;
    let params = params(action, words)?;
    words.end()?;
    let call = v1::Action { action_id: action.id.0, params };
    Ok(v1::TableAction { r#type: Some(ActionType::Action(call)) })
}

/// Runs the command `table_add`, which adds an entry to a table.
pub(crate) fn add(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let name = words.next("the name of an action")?;
    action(&schema, &table.actions, &name)?;
    let key = fields(table, &mut words)?;
    arrow(&mut words)?;
    let entry = with_priority(table, key, &mut words)?;
    let action = Some(call(&schema, table, &name, &mut words)?);
    insert(session, table, TableEntry { action, ..entry }, sink)
}

fn add_indirect(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
    to: fn(u32) -> ActionType,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let key = fields(table, &mut words)?;
    arrow(&mut words)?;
    let entry = with_priority(table, key, &mut words)?;
    let id = super::profiles::id(&mut words)?;
    words.end()?;
    let action = Some(v1::TableAction { r#type: Some(to(id)) });
    insert(session, table, TableEntry { action, ..entry }, sink)
}

/// Runs the command `table_indirect_add`, which adds an entry that refers to a member of an action
/// profile.
pub(crate) fn add_with_member(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    add_indirect(session, words, sink, ActionType::ActionProfileMemberId)
}

/// Runs the command `table_indirect_add_with_group`, which adds an entry that refers to a group of
/// an action selector.
pub(crate) fn add_with_group(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    add_indirect(session, words, sink, ActionType::ActionProfileGroupId)
}

/// Parses the number of an entry from the operands, and returns an entry with its key.
pub(super) fn numbered(
    session: &Session<'_>,
    table: &Table,
    words: &mut Operands,
) -> Result<TableEntry, CommandError> {
    let number = words.number("the number of an entry")?;
    session.handles.entry(table, number)
}

/// Runs the commands `table_delete` and `table_indirect_delete`, which delete the entry with a
/// number.
pub(crate) fn delete(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let entry = numbered(session, table, &mut words)?;
    words.end()?;
    session.write(Type::Delete, entry)
}

/// Runs the command `table_delete_match`, which deletes the entry with a key.
pub(crate) fn delete_match(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let key = keyed(table, &mut words)?;
    session.write(Type::Delete, key)
}

/// Parses the key of an entry, followed by its priority if the table needs priorities.
fn keyed(table: &Table, words: &mut Operands) -> Result<TableEntry, CommandError> {
    let key = fields(table, words)?;
    let entry = with_priority(table, key, words)?;
    words.end()?;
    Ok(entry)
}

/// Runs the command `table_modify`, which replaces the action of an entry.
pub(crate) fn modify(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let name = words.next("the name of an action")?;
    let entry = numbered(session, table, &mut words)?;
    words.take(ARROW);
    let action = Some(call(&schema, table, &name, &mut words)?);
    session.write(Type::Modify, TableEntry { action, ..entry })
}

/// Runs the command `table_set_timeout`, which sets the idle timeout of an entry, in milliseconds.
pub(crate) fn set_timeout(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let key = numbered(session, table, &mut words)?;
    let milliseconds: i64 = words.number("a number of milliseconds")?;
    words.end()?;
    let idle_timeout_ns = milliseconds
        .checked_mul(1_000_000)
        .ok_or_else(|| words.problem("the timeout is too long"))?;
    // A modification replaces the entry, so it must have the action that the entry has.
    let found = session.read_as(key, table_entry)?.into_iter().next();
    let entry =
        found.ok_or_else(|| CommandError::Missing("there is no such entry any more".to_owned()))?;
    let entry = TableEntry { idle_timeout_ns, time_since_last_hit: None, ..entry };
    session.write(Type::Modify, entry)
}

/// Returns an entry as a result that shows its number.
fn numbered_item(session: &mut Session<'_>, table: &Table, found: v1::Entity) -> Item {
    let number = match &found.entity {
        Some(Kind::TableEntry(entry)) if !entry.is_default_action => {
            Some(session.handles.number(table.id, entry))
        }
        _ => None,
    };
    let item = Item::Entity(Box::new(found));
    let Some(number) = number else { return item };
    view(session.known_schema(), &item).with_handle(number, &format!("entry {number}")).into()
}

fn show(
    session: &mut Session<'_>,
    table: &Table,
    requests: Vec<v1::Entity>,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    for found in session.query(requests)? {
        sink(numbered_item(session, table, found));
    }
    Ok(())
}

/// Runs the command `table_dump`, which shows the entries of a table.
pub(crate) fn dump(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    words.end()?;
    show(session, table, vec![request(table).into(), default_request(table).into()], sink)
}

/// Runs the command `table_dump_entry`, which shows the entry with a number.
pub(crate) fn dump_entry(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let key = numbered(session, table, &mut words)?;
    words.end()?;
    show(session, table, vec![with_all(table, key)], sink)
}

/// Returns a request that reads the entry with this key, including its counter, its meter and its
/// time since the last hit.
fn with_all(table: &Table, key: TableEntry) -> v1::Entity {
    let TableEntry { counter_data, meter_config, time_since_last_hit, .. } = request(table);
    TableEntry { counter_data, meter_config, time_since_last_hit, ..key }.into()
}

/// Runs the command `table_dump_entry_from_key`, which shows the entry with a key.
pub(crate) fn dump_entry_from_key(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let key = keyed(table, &mut words)?;
    show(session, table, vec![with_all(table, key)], sink)
}

/// Runs the command `table_set_default`, which replaces the default action of a table.
pub(crate) fn set_default(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    let name = words.next("the name of an action")?;
    // Files of the p4lang tutorials and others write the arrow here too.
    words.take(ARROW);
    let action = Some(call(&schema, table, &name, &mut words)?);
    session.write(Type::Modify, TableEntry { action, ..default_request(table) })
}

/// Runs the command `table_clear`, which deletes the entries of a table. New entries are numbered
/// from 0 again.
pub(crate) fn clear(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    if words.peek().is_none() {
        return Err(words.problem("the name of a table is missing"));
    }
    crate::tables::clear(session, words, sink)
}

/// Runs the command `table_info`, which shows the key of a table and the parameters of its actions.
pub(crate) fn info(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let name = words.next("the name of a table")?;
    words.end()?;
    crate::tables::list(session, words.fresh([name.clone()]), sink)?;
    crate::tables::actions(session, words.fresh([name]), sink)
}
