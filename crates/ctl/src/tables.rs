//! The commands about tables.

use crate::entries::{call, entry, entry_key, key, table};
use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::Operands;
use crate::session::{Session, Sink};
use crate::view::{View, action_view, table_view};
use entities::schema::Table;
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::{self, TableEntry, entity::Entity as Kind, update::Type};
use serde_json::json;

/// Runs the command `tables`, which shows the keys and actions of tables.
pub(crate) fn list(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    match words.peek() {
        Some(_) => {
            let table = table(&schema, &mut words)?;
            sink(table_view(&schema, table).into());
        }
        None => {
            schema.tables().iter().for_each(|table| sink(table_view(&schema, table).into()));
        }
    }
    words.end()
}

/// Runs the command `actions`, which shows the parameters of actions.
pub(crate) fn actions(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    match words.peek() {
        Some(_) => {
            let table = table(&schema, &mut words)?;
            let actions = table.actions.iter();
            let actions = actions.filter_map(|action| schema.actions().get(action.id));
            actions.for_each(|action| sink(action_view(action).into()));
        }
        None => schema.actions().iter().for_each(|action| sink(action_view(action).into())),
    }
    words.end()
}

/// Runs the commands `table add` and `table modify`, which write an entry with its action and its
/// options.
pub(crate) fn write(
    session: &mut Session<'_>,
    mut words: Operands,
    kind: Type,
) -> Result<(), CommandError> {
    let entry = entry(session, &mut words)?;
    session.write(kind, entry)
}

/// Runs the command `table delete`, which deletes an entry.
pub(crate) fn delete(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let key = entry_key(&schema, &mut words)?;
    words.end()?;
    session.write(Type::Delete, key)
}

/// Returns the request that reads all entries of a table with everything that can be read about
/// them.
pub(crate) fn request(table: &Table) -> TableEntry {
    TableEntry {
        table_id: table.id.0,
        counter_data: table.direct_counter.map(|_| v1::CounterData::default()),
        meter_config: table.direct_meter.map(|_| v1::MeterConfig::default()),
        time_since_last_hit: table.idle_timeout.then(Default::default),
        ..TableEntry::default()
    }
}

/// Returns the request that reads the default entry of a table.
pub(crate) fn default_request(table: &Table) -> TableEntry {
    TableEntry { table_id: table.id.0, is_default_action: true, ..TableEntry::default() }
}

/// Runs the command `table dump`, which shows the entries of all tables, those of one table, or
/// those with a key.
pub(crate) fn dump(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let priority = words.number_option::<i32>("priority")?.unwrap_or(0);
    let mut requests = Vec::new();
    if words.peek().is_none() {
        for table in schema.tables().iter() {
            requests.extend([request(table).into(), default_request(table).into()]);
        }
    } else {
        let table = table(&schema, &mut words)?;
        if words.peek().is_none() {
            requests.extend([request(table).into(), default_request(table).into()]);
        } else if words.take("default") {
            requests.push(default_request(table).into());
        } else {
            let key = key(table, &mut words)?;
            requests.push(TableEntry { r#match: key, priority, ..request(table) }.into());
        }
    }
    words.end()?;
    session.list(requests, sink)
}

/// Runs the command `table count`, which shows the number of entries of a table. The default entry
/// does not count.
pub(crate) fn count(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    words.end()?;
    let plain = TableEntry { table_id: table.id.0, ..TableEntry::default() };
    let count = session.query(vec![plain.into()])?.len();
    if !session.is_dry {
        let text = format!("{}: {count} entries", table.short());
        sink(
            View::new(text, json!({ "kind": "count", "table": table.name, "entries": count }))
                .into(),
        );
    }
    Ok(())
}

/// Returns the table entry that an entity contains, or `None` if the entity is of another kind.
pub(crate) fn table_entry(kind: Kind) -> Option<TableEntry> {
    match kind {
        Kind::TableEntry(entry) => Some(entry),
        _ => None,
    }
}

/// Returns an entity with the key of a table entry, for its deletion. Returns `None` if the entry
/// cannot be deleted.
fn deletable(found: v1::Entity) -> Option<v1::Entity> {
    match found.entity? {
        Kind::TableEntry(entry) if !entry.is_const && !entry.is_default_action => {
            Some(crate::handles::key(&entry).into())
        }
        _ => None,
    }
}

/// Deletes all entries of these tables, except constant ones.
pub(crate) fn clear_tables<'t>(
    session: &mut Session<'_>,
    tables: impl Iterator<Item = &'t Table>,
) -> Result<(), CommandError> {
    let plain = |table: &Table| TableEntry { table_id: table.id.0, ..TableEntry::default() }.into();
    let requests: Vec<v1::Entity> = tables.filter(|table| !table.is_const).map(plain).collect();
    if requests.is_empty() {
        return Ok(());
    }
    let found = session.read(requests)?;
    session.delete_all(found.into_iter().filter_map(deletable))
}

/// Runs the command `table clear`, which deletes the entries of a table, or of all tables.
pub(crate) fn clear(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    if words.peek().is_none() {
        return clear_tables(session, schema.tables().iter());
    }
    let table = table(&schema, &mut words)?;
    words.end()?;
    clear_tables(session, std::iter::once(table))
}

/// Runs the command `table set-default`, which replaces the default action of a table.
pub(crate) fn set_default(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let name = words.next("the name of a table")?;
    let table = find("table", &name, schema.tables().iter())?;
    let call = call(&schema, &table.actions, &mut words)?;
    let action = Some(v1::TableAction { r#type: Some(ActionType::Action(call)) });
    session.write(Type::Modify, TableEntry { action, ..default_request(table) })
}

/// Runs the command `table reset-default`, which restores the default action that the program
/// declares.
pub(crate) fn reset_default(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let table = table(&schema, &mut words)?;
    words.end()?;
    session.write(Type::Modify, default_request(table))
}
