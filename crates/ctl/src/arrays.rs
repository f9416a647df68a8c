//! The commands about counters, meters and registers. Counters and meters are arrays, or direct:
//! then each entry of a table has a cell of its own.

use crate::entries::{key, meter as rates};
use crate::error::CommandError;
use crate::names::{Named, find};
use crate::operands::{Operands, range};
use crate::session::{Session, Sink, update};
use crate::value::parse_data;
use entities::names::NameError;
use entities::schema::{Register, Table};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, CounterData, CounterEntry, DirectCounterEntry, DirectMeterEntry, Index, MeterEntry,
    RegisterEntry, TableEntry, update::Type,
};

/// The largest number of cells that one command reads or writes by index.
const MOST_CELLS: u64 = 1 << 20;

/// The location of the cells of a counter or meter.
pub(crate) enum Place<'s> {
    /// An array of cells, given by its id and the number of its cells.
    Array { id: u32, size: Option<u64> },
    /// A table, each of whose entries has one cell (a direct counter or meter).
    Table(&'s Table),
}

/// Returns the counter with this name. For a direct counter, the name may be that of the counter or
/// of its table.
pub(crate) fn counter<'s>(schema: &'s Schema, name: &str) -> Result<Place<'s>, CommandError> {
    let found = match find("counter", name, schema.counters().iter()) {
        Ok(found) => return Ok(Place::Array { id: found.id.0, size: found.size }),
        Err(error) => error,
    };
    let direct = find("counter", name, schema.direct_counters().iter());
    let table = direct.ok().and_then(|direct| schema.tables().get(direct.table));
    let has_one = schema.tables().iter().filter(|table| table.direct_counter.is_some());
    let direct = schema.direct_counters().iter().map(Named::short);
    table_or(found, table.or_else(|| find("table", name, has_one).ok()), direct)
}

/// Returns the meter with this name. For a direct meter, the name may be that of the meter or of
/// its table.
pub(crate) fn meter<'s>(schema: &'s Schema, name: &str) -> Result<Place<'s>, CommandError> {
    let found = match find("meter", name, schema.meters().iter()) {
        Ok(found) => return Ok(Place::Array { id: found.id.0, size: found.size }),
        Err(error) => error,
    };
    let direct = find("meter", name, schema.direct_meters().iter());
    let table = direct.ok().and_then(|direct| schema.tables().get(direct.table));
    let has_one = schema.tables().iter().filter(|table| table.direct_meter.is_some());
    let direct = schema.direct_meters().iter().map(Named::short);
    table_or(found, table.or_else(|| find("table", name, has_one).ok()), direct)
}

/// Returns the table if there is one. Otherwise returns `error`, to whose list of known names those
/// of `direct` are added.
fn table_or<'s>(
    error: CommandError,
    table: Option<&'s Table>,
    direct: impl Iterator<Item = &'s str>,
) -> Result<Place<'s>, CommandError> {
    if let Some(table) = table {
        return Ok(Place::Table(table));
    }
    Err(match error {
        CommandError::Name(NameError::Unknown { kind, name, meant, mut known }) => {
            let direct: Vec<&str> = direct.collect();
            let meant = meant
                .or_else(|| crate::names::meant(&name, direct.iter().copied()).map(str::to_owned));
            known.extend(direct.into_iter().map(str::to_owned));
            CommandError::Name(NameError::Unknown { kind, name, meant, known })
        }
        other => other,
    })
}

/// Parses the index of a cell, or a range of indexes such as `2..5`, from the operands. Returns
/// `[None]`, which stands for all cells, if no operand is left.
pub(crate) fn cells(
    words: &mut Operands,
    size: Option<u64>,
) -> Result<Vec<Option<Index>>, CommandError> {
    if words.peek().is_none() {
        return Ok(vec![None]);
    }
    let text = words.next("an index")?;
    let range = range(&text).ok_or_else(|| {
        words.problem(format!("'{text}' is neither an index nor a range such as 2..5"))
    })?;
    if let Some(size) = size
        && *range.end() >= size
    {
        return Err(words.problem(format!("index {} is not below the size {size}", range.end())));
    }
    if range.end() - range.start() >= MOST_CELLS {
        return Err(words.problem(format!("a range has at most {MOST_CELLS} cells")));
    }
    let index = |index| Index { index: i64::try_from(index).unwrap_or(i64::MAX) };
    Ok(range.map(|at| Some(index(at))).collect())
}

/// Parses the key of a table entry from the operands. If there is none, returns an entry without a
/// key, which stands for all entries of the table.
fn place_in(table: &Table, words: &mut Operands) -> Result<TableEntry, CommandError> {
    let priority = words.number_option::<i32>("priority")?.unwrap_or(0);
    let plain = TableEntry { table_id: table.id.0, priority, ..TableEntry::default() };
    if words.take("default") {
        return Ok(TableEntry { is_default_action: true, ..plain });
    }
    let matches = if words.peek().is_some() { key(table, words)? } else { Vec::new() };
    Ok(TableEntry { r#match: matches, ..plain })
}

/// Writes data to the direct counter or meter of one entry, or of all entries of a table if `entry`
/// has no key.
fn write_direct(
    session: &mut Session<'_>,
    entry: TableEntry,
    to: &dyn Fn(TableEntry) -> v1::Entity,
) -> Result<(), CommandError> {
    if !entry.r#match.is_empty() || entry.is_default_action {
        return session.write(Type::Modify, to(entry));
    }
    let found = session.read_as(entry, crate::tables::table_entry)?;
    let keys = found.iter().map(crate::handles::key);
    let updates: Vec<v1::Update> = keys.map(|key| update(Type::Modify, to(key))).collect();
    if updates.is_empty() { Ok(()) } else { session.write_all(updates) }
}

/// Runs the command `counter read`, which shows cells of a counter.
pub(crate) fn read_counter(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let name = words.next("the name of a counter")?;
    let requests = match counter(&schema, &name)? {
        Place::Array { id, size } => {
            let cells = cells(&mut words, size)?.into_iter();
            let cell = |index| CounterEntry { counter_id: id, index, data: None }.into();
            cells.map(cell).collect()
        }
        Place::Table(table) => {
            let table_entry = Some(place_in(table, &mut words)?);
            vec![DirectCounterEntry { table_entry, data: None }.into()]
        }
    };
    words.end()?;
    session.list(requests, sink)
}

/// Writes the same data to the cells of a counter that the operands name.
pub(crate) fn put_counter(
    session: &mut Session<'_>,
    words: &mut Operands,
    data: CounterData,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let name = words.next("the name of a counter")?;
    match counter(&schema, &name)? {
        Place::Array { id, size } => {
            let cells = cells(words, size)?.into_iter();
            words.end()?;
            let data = Some(data);
            let cell = |index| update(Type::Modify, CounterEntry { counter_id: id, index, data });
            session.write_all(cells.map(cell).collect())
        }
        Place::Table(table) => {
            let entry = place_in(table, words)?;
            words.end()?;
            write_direct(session, entry, &|entry| {
                DirectCounterEntry { table_entry: Some(entry), data: Some(data) }.into()
            })
        }
    }
}

/// Runs the command `counter write`, which sets cells of a counter.
pub(crate) fn write_counter(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let packet_count = words.number_option("packets")?;
    let byte_count = words.number_option("bytes")?;
    if packet_count.is_none() && byte_count.is_none() {
        return Err(words.problem("--packets N and --bytes N are missing"));
    }
    let data = CounterData {
        packet_count: packet_count.unwrap_or(0),
        byte_count: byte_count.unwrap_or(0),
    };
    put_counter(session, &mut words, data)
}

/// Runs the command `counter reset`, which sets cells of a counter to zero.
pub(crate) fn reset_counter(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    put_counter(session, &mut words, CounterData::default())
}

/// Runs the command `meter read`, which shows the rates of cells of a meter.
pub(crate) fn read_meter(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let name = words.next("the name of a meter")?;
    let requests = match meter(&schema, &name)? {
        Place::Array { id, size } => {
            let cells = cells(&mut words, size)?.into_iter();
            let cell = |index| MeterEntry { meter_id: id, index, ..MeterEntry::default() }.into();
            cells.map(cell).collect()
        }
        Place::Table(table) => {
            let table_entry = Some(place_in(table, &mut words)?);
            vec![DirectMeterEntry { table_entry, ..DirectMeterEntry::default() }.into()]
        }
    };
    words.end()?;
    session.list(requests, sink)
}

/// Writes the rates of the meter cells that the operands name. Without rates, the meter marks all
/// packets green.
pub(crate) fn put_meter(
    session: &mut Session<'_>,
    words: &mut Operands,
    config: Option<v1::MeterConfig>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let name = words.next("the name of a meter")?;
    match meter(&schema, &name)? {
        Place::Array { id, size } => {
            let cells = cells(words, size)?.into_iter();
            words.end()?;
            let cell = |index| {
                update(
                    Type::Modify,
                    MeterEntry { meter_id: id, index, config, ..MeterEntry::default() },
                )
            };
            session.write_all(cells.map(cell).collect())
        }
        Place::Table(table) => {
            let entry = place_in(table, words)?;
            words.end()?;
            write_direct(session, entry, &|entry| {
                let table_entry = Some(entry);
                DirectMeterEntry { table_entry, config, ..DirectMeterEntry::default() }.into()
            })
        }
    }
}

/// Runs the command `meter write`, which sets the rates of cells of a meter.
pub(crate) fn write_meter(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let text = words.last("RATE:BURST,RATE:BURST")?;
    let config = rates(&text).ok_or_else(|| {
        words.problem(format!(
            "'{text}' is not RATE:BURST[,RATE:BURST[,EXCESS]], in units per second"
        ))
    })?;
    put_meter(session, &mut words, Some(config))
}

/// Runs the command `meter reset`, which removes the rates of cells of a meter.
pub(crate) fn reset_meter(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    put_meter(session, &mut words, None)
}

/// Parses the name of a register from the operands.
fn register<'s>(schema: &'s Schema, words: &mut Operands) -> Result<&'s Register, CommandError> {
    let name = words.next("the name of a register")?;
    find("register", &name, schema.registers().iter())
}

/// Runs the command `register read`, which shows cells of a register.
pub(crate) fn read_register(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let register = register(&schema, &mut words)?;
    let cells = cells(&mut words, register.size)?.into_iter();
    words.end()?;
    let register_id = register.id.0;
    let cell = |index| RegisterEntry { register_id, index, data: None }.into();
    session.list(cells.map(cell).collect(), sink)
}

fn put_register(
    session: &mut Session<'_>,
    register: &Register,
    cells: Vec<Option<Index>>,
    data: &v1::P4Data,
) -> Result<(), CommandError> {
    let register_id = register.id.0;
    let cell = |index| {
        update(Type::Modify, RegisterEntry { register_id, index, data: Some(data.clone()) })
    };
    session.write_all(cells.into_iter().map(cell).collect())
}

/// Runs the command `register write`, which sets cells of a register.
pub(crate) fn write_register(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let register = register(&schema, &mut words)?;
    if words.len() != 2 {
        return Err(words.problem("an index, or a range such as 2..5, and a value are needed"));
    }
    let text = words.last("a value")?;
    let cells = cells(&mut words, register.size)?;
    let data = parse_data(&register.name, &register.data, &text)?;
    put_register(session, register, cells, &data)
}

/// Runs the command `register reset`, which sets cells of a register to their initial value.
pub(crate) fn reset_register(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let register = register(&schema, &mut words)?;
    let cells = cells(&mut words, register.size)?;
    words.end()?;
    let data = p4runtime::data_message(&register.data.initial());
    put_register(session, register, cells, &data)
}
