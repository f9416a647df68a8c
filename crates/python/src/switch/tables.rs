//! Entries of tables.

use entities::names::{Named, find};
use entities::schema::{ActionRef, Table};
use entities::{
    CounterData, Entity, EntryKey, EntrySelection, GroupId, MatchKey, MemberId, MeterConfig,
    OneShot, OneShotMember, Selection, SelectionMode, SizeCounts, TableAction, TableEntry, Watch,
};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{Update, update::Type};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::Switch;
use super::values::{self, absent, entry_fault, name_fault};
use crate::errors::{Fault, Kind};

/// An entry, as the attributes of its Python class have it.
#[derive(FromPyObject)]
struct GivenEntry<'py> {
    /// The key, or `None` for the default entry.
    #[pyo3(attribute("match"))]
    key: Option<Bound<'py, PyDict>>,
    action: Option<GivenAction<'py>>,
    priority: u32,
    idle_timeout_s: f64,
    metadata: Vec<u8>,
    controller_metadata: u64,
    counter: Option<GivenCounter>,
    meter: Option<GivenMeter>,
}

/// The action of an entry.
#[derive(FromPyObject)]
enum GivenAction<'py> {
    Call(GivenCall<'py>),
    Member {
        member: u32,
    },
    Group {
        group: u32,
    },
    OneShot {
        /// The calls, each with its weight.
        choices: Vec<(GivenCall<'py>, u32)>,
    },
}

/// A call of an action.
#[derive(FromPyObject)]
pub(super) struct GivenCall<'py> {
    name: String,
    arguments: Bound<'py, PyDict>,
}

/// The value of a counter.
#[derive(FromPyObject)]
pub(super) struct GivenCounter {
    packets: u64,
    bytes: u64,
}

/// The configuration of a meter.
#[derive(FromPyObject)]
pub(super) struct GivenMeter {
    committed_rate: u64,
    committed_burst: u64,
    peak_rate: u64,
    peak_burst: u64,
    excess_burst: u64,
}

impl From<GivenCounter> for CounterData {
    fn from(given: GivenCounter) -> Self {
        Self { packets: given.packets, bytes: given.bytes }
    }
}

impl From<GivenMeter> for MeterConfig {
    fn from(given: GivenMeter) -> Self {
        Self {
            committed_rate: given.committed_rate,
            committed_burst: given.committed_burst,
            peak_rate: given.peak_rate,
            peak_burst: given.peak_burst,
            excess_burst: given.excess_burst,
        }
    }
}

/// Returns the numbers of a meter, in the order of its Python class.
pub(super) fn meter_numbers(config: MeterConfig) -> [u64; 5] {
    let MeterConfig { committed_rate, committed_burst, peak_rate, peak_burst, excess_burst } =
        config;
    [committed_rate, committed_burst, peak_rate, peak_burst, excess_burst]
}

impl GivenCall<'_> {
    /// Returns the call of one of the actions in `allowed`.
    pub(super) fn call(
        &self,
        schema: &Schema,
        allowed: &[ActionRef],
    ) -> PyResult<entities::ActionCall> {
        let arguments = values::arguments(&self.arguments)?;
        let arguments = arguments.iter().map(|(name, value)| (name.as_str(), value.clone()));
        entities::plain::call(schema, allowed, &self.name, arguments)
            .map_err(|error| entry_fault(&error).at(format!("action {}", self.name)).into())
    }
}

impl GivenAction<'_> {
    fn action(&self, schema: &Schema, table: &Table) -> PyResult<TableAction> {
        Ok(match self {
            Self::Call(call) => TableAction::Call(call.call(schema, &table.actions)?),
            Self::Member { member } => TableAction::Member(MemberId(*member)),
            Self::Group { group } => TableAction::Group(GroupId(*group)),
            Self::OneShot { choices } => {
                let member = |(call, weight): &(GivenCall<'_>, u32)| {
                    let action = call.call(schema, &table.actions)?;
                    Ok(OneShotMember { action, weight: *weight, watch: Watch::Nothing })
                };
                TableAction::OneShot(Box::new(OneShot {
                    members: choices.iter().map(member).collect::<PyResult<_>>()?,
                    group_action: None,
                    mode: SelectionMode::default(),
                    counts: SizeCounts::default(),
                    size: 0,
                }))
            }
        })
    }
}

impl GivenEntry<'_> {
    fn entry(self, schema: &Schema, table: &Table) -> PyResult<TableEntry> {
        let key = match &self.key {
            None => EntryKey::Default,
            Some(given) => {
                let fields = values::key(given)?;
                let fields = fields.iter().map(|(name, plain)| (name.as_str(), plain.clone()));
                let fields = entities::plain::key(&table.match_fields, fields);
                let fields = fields.map_err(|error| entry_fault(&error))?.into();
                EntryKey::Match(MatchKey { fields, priority: self.priority })
            }
        };
        let action = self.action.map(|action| action.action(schema, table)).transpose()?;
        let idle = super::seconds("idle_timeout_s", self.idle_timeout_s)?;
        Ok(TableEntry {
            action,
            controller_metadata: self.controller_metadata,
            metadata: self.metadata.into(),
            idle_timeout_ns: u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX),
            counter: self.counter.map(CounterData::from),
            meter: self.meter.map(MeterConfig::from),
            ..TableEntry::new(table.id, key)
        })
    }
}

/// Returns the kind of an update by its name.
pub(super) fn update_type(kind: &str) -> Result<Type, Fault> {
    match kind {
        "insert" => Ok(Type::Insert),
        "modify" => Ok(Type::Modify),
        "delete" => Ok(Type::Delete),
        _ => Err(Fault::new(Kind::Internal, format!("'{kind}' is no kind of update"))),
    }
}

/// Returns an update of an entity.
pub(super) fn update(kind: Type, entity: &Entity) -> Update {
    Update { r#type: kind as i32, entity: Some(p4runtime::entity_message(entity)) }
}

/// Returns the table with a name.
pub(super) fn table<'s>(schema: &'s Schema, name: &str) -> Result<&'s Table, Fault> {
    find("table", name, schema.tables().iter()).map_err(|error| name_fault(&error))
}

#[pymethods]
impl Switch {
    /// Returns the full name of a table.
    fn table_name(&self, table: &str) -> PyResult<String> {
        self.schema(|schema| Ok(self::table(schema, table)?.name.clone()))
    }

    /// Returns the names of objects of the program, by kind.
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fn names<'o, T: Named + 'o>(all: impl Iterator<Item = &'o T>) -> Vec<&'o str> {
            all.map(Named::short).collect()
        }
        self.schema(|schema| {
            let dict = PyDict::new(py);
            dict.set_item("table", names(schema.tables().iter()))?;
            dict.set_item("counter", names(schema.counters().iter()))?;
            dict.set_item("meter", names(schema.meters().iter()))?;
            dict.set_item("register", names(schema.registers().iter()))?;
            dict.set_item("profile", names(schema.action_profiles().iter()))?;
            dict.set_item("digest", names(schema.digests().iter()))?;
            dict.set_item("value_set", names(schema.value_sets().iter()))?;
            Ok(dict)
        })
    }

    /// Writes entries of a table, all or none.
    fn write_entries(
        &self,
        py: Python<'_>,
        kind: &str,
        table: &str,
        entries: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let kind = update_type(kind)?;
        let (updates, name, full_name) = self.schema(|schema| {
            let table = self::table(schema, table)?;
            let name = table.short().to_owned();
            let place = |position: usize| place(&name, position, entries.len());
            let mut updates = Vec::with_capacity(entries.len());
            for (position, given) in entries.iter().enumerate() {
                let given: GivenEntry<'_> = given.extract()?;
                let entry = given
                    .entry(schema, table)
                    .map_err(|error| placed(py, error, &place(position)))?;
                updates.push(update(kind, &Entity::Entry(entry)));
            }
            Ok((updates, name.clone(), table.name.clone()))
        })?;
        let place = |position| place(&name, position, updates.len());
        // The place names the table already.
        self.write_placed(py, &updates, &place, &format!("table '{full_name}': "))
    }

    /// Returns the entries of a table, or its default entry, each as the arguments of its class.
    fn read_entries<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        is_default: bool,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.schema(|schema| {
            let table = self::table(schema, table)?;
            let selection =
                Selection::Entries(EntrySelection { is_default, ..EntrySelection::all(table.id) });
            let found = self.read(&selection)?;
            let mut entries = Vec::with_capacity(found.len());
            for entity in &found {
                if let Entity::Entry(entry) = entity {
                    entries.push(shown(py, schema, entry)?);
                }
            }
            Ok(entries)
        })
    }
}

/// Returns the place of an entry in errors.
fn place(table: &str, position: usize, of: usize) -> String {
    if of == 1 { format!("table {table}") } else { format!("table {table}, entry {position}") }
}

/// Returns an error with the place of its entry in front of its own.
fn placed(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    let value = error.value(py);
    // An exception of another class has no place.
    if let Ok(found) = value.getattr("where") {
        let within = found
            .extract::<String>()
            .map_or_else(|_| place.to_owned(), |within| format!("{place}, {within}"));
        let _ = value.setattr("where", within);
    }
    error
}

/// Returns an entry as the arguments of its Python class.
pub(super) fn shown<'py>(
    py: Python<'py>,
    schema: &Schema,
    entry: &TableEntry,
) -> PyResult<Bound<'py, PyDict>> {
    let table = schema.tables().get(entry.table).ok_or_else(|| absent("a table"))?;
    let dict = PyDict::new(py);
    match &entry.key {
        EntryKey::Default => dict.set_item("match", py.None())?,
        EntryKey::Match(key) => {
            let fields = PyDict::new(py);
            for found in &key.fields {
                let field =
                    table.match_field(found.field).ok_or_else(|| absent("a match field"))?;
                let value = values::matching(py, schema, Some(table.id), field, &found.matching)?;
                fields.set_item(values::short_name(&table.match_fields, field), value)?;
            }
            dict.set_item("match", fields)?;
            dict.set_item("priority", key.priority)?;
        }
    }
    let seconds = |nanos: u64| std::time::Duration::from_nanos(nanos).as_secs_f64();
    dict.set_item(
        "action",
        entry.action.as_ref().map(|action| shown_action(py, schema, action)).transpose()?,
    )?;
    dict.set_item("idle_timeout_s", seconds(entry.idle_timeout_ns))?;
    dict.set_item("since_hit_s", entry.since_last_hit_ns.map(seconds))?;
    dict.set_item("metadata", PyBytes::new(py, &entry.metadata))?;
    dict.set_item("controller_metadata", entry.controller_metadata)?;
    dict.set_item("counter", entry.counter.map(|data| (data.packets, data.bytes)))?;
    dict.set_item("meter", entry.meter.map(meter_numbers))?;
    dict.set_item("is_const", entry.is_const)?;
    Ok(dict)
}

/// Returns an action as a pair of its kind and its contents.
fn shown_action<'py>(
    py: Python<'py>,
    schema: &Schema,
    action: &TableAction,
) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    Ok(match action {
        TableAction::Call(call) => {
            ("call", values::call(py, schema, call)?.into_pyobject(py)?.into_any())
        }
        TableAction::Member(id) => ("member", id.0.into_pyobject(py)?.into_any()),
        TableAction::Group(id) => ("group", id.0.into_pyobject(py)?.into_any()),
        TableAction::OneShot(set) => {
            let member = |member: &OneShotMember| {
                Ok((values::call(py, schema, &member.action)?, member.weight))
            };
            let members = set.members.iter().map(member).collect::<PyResult<Vec<_>>>()?;
            ("one_shot", PyList::new(py, members)?.into_any())
        }
    })
}
