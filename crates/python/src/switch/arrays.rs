//! Counters, meters and registers.

use entities::names::{Named, find};
use entities::schema::{Counter, Meter, Register, Schema, Unit};
use entities::{
    Cells, CounterCell, CounterData, Entity, MeterCell, MeterConfig, RegisterCell, Selection,
};
use p4runtime::proto::v1::update::Type;
use pyo3::prelude::*;

use super::Switch;
use super::tables::{GivenCounter, GivenMeter, meter_numbers, update};
use super::values::{self, name_fault};
use crate::errors::{Fault, Kind};

/// The packets and bytes of a counter, or of a color of a meter.
type Counted = (u64, u64);

/// A cell of a meter array: the numbers of its configuration, and what it marked green, yellow and
/// red.
type MeterValue = (Option<[u64; 5]>, Option<[Counted; 3]>);

fn counted(data: CounterData) -> Counted {
    (data.packets, data.bytes)
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Unspecified => "unspecified",
        Unit::Bytes => "bytes",
        Unit::Packets => "packets",
        Unit::Both => "both",
    }
}

/// Returns the counter with a name. The error for a direct counter says where its values are.
fn counter<'s>(schema: &'s Schema, name: &str) -> Result<&'s Counter, Fault> {
    find("counter", name, schema.counters().iter()).map_err(|error| {
        let direct = find("counter", name, schema.direct_counters().iter()).ok();
        let table = direct.and_then(|direct| schema.tables().get(direct.table));
        table.map_or_else(
            || name_fault(&error),
            |table| direct_fault("counter", name, table.short()),
        )
    })
}

fn meter<'s>(schema: &'s Schema, name: &str) -> Result<&'s Meter, Fault> {
    find("meter", name, schema.meters().iter()).map_err(|error| {
        let direct = find("meter", name, schema.direct_meters().iter()).ok();
        let table = direct.and_then(|direct| schema.tables().get(direct.table));
        table.map_or_else(|| name_fault(&error), |table| direct_fault("meter", name, table.short()))
    })
}

fn direct_fault(kind: &str, name: &str, table: &str) -> Fault {
    Fault::new(Kind::Missing, format!("{kind} '{name}' belongs to the entries of table {table}"))
        .mended_by(format!("read switch.table('{table}').entries(), which have a {kind} each"))
}

fn register<'s>(schema: &'s Schema, name: &str) -> Result<&'s Register, Fault> {
    find("register", name, schema.registers().iter()).map_err(|error| name_fault(&error))
}

/// Returns the selection of a cell of an array, or of all cells.
fn cells(name: &str, index: Option<u64>, size: Option<u64>) -> Result<Cells, Fault> {
    match (index, size) {
        (Some(index), Some(size)) if index >= size => {
            Err(Fault::new(Kind::Missing, format!("{name} has no cell {index}"))
                .mended_by(format!("indices are below {size}")))
        }
        (Some(index), _) => Ok(Cells::One(index)),
        (None, _) => Ok(Cells::All),
    }
}

#[pymethods]
impl Switch {
    /// Returns the number of cells and the unit of a counter array.
    fn counter_info(&self, name: &str) -> PyResult<(Option<u64>, &'static str)> {
        self.schema(|schema| Ok(counter(schema, name).map(|one| (one.size, unit(one.unit)))?))
    }

    /// Returns the number of cells and the unit of a meter array.
    fn meter_info(&self, name: &str) -> PyResult<(Option<u64>, &'static str)> {
        self.schema(|schema| Ok(meter(schema, name).map(|one| (one.size, unit(one.unit)))?))
    }

    /// Returns the number of cells of a register array.
    fn register_size(&self, name: &str) -> PyResult<Option<u64>> {
        self.schema(|schema| Ok(register(schema, name)?.size))
    }

    /// Returns the cells of a counter array, or one of them.
    fn read_counter(&self, name: &str, index: Option<u64>) -> PyResult<Vec<Counted>> {
        self.schema(|schema| {
            let counter = counter(schema, name)?;
            let cells = cells(&counter.name, index, counter.size)?;
            let mut values = Vec::new();
            for entity in self.read(&Selection::Counters(counter.id, cells))? {
                if let Entity::Counter(cell) = entity {
                    values.push(counted(cell.data));
                }
            }
            Ok(values)
        })
    }

    /// Sets a cell of a counter array, or all of them.
    fn write_counter(
        &self,
        py: Python<'_>,
        name: &str,
        index: Option<u64>,
        value: GivenCounter,
    ) -> PyResult<()> {
        let update = self.schema(|schema| {
            let counter = counter(schema, name)?;
            cells(&counter.name, index, counter.size)?;
            let cell = CounterCell { id: counter.id, index, data: value.into() };
            Ok(update(Type::Modify, &Entity::Counter(cell)))
        })?;
        self.write(py, &[update], &|_| format!("counter {name}"))
    }

    /// Returns the cells of a meter array, or one of them.
    fn read_meter(&self, name: &str, index: Option<u64>) -> PyResult<Vec<MeterValue>> {
        self.schema(|schema| {
            let meter = meter(schema, name)?;
            let cells = cells(&meter.name, index, meter.size)?;
            let mut values = Vec::new();
            for entity in self.read(&Selection::Meters(meter.id, cells))? {
                if let Entity::Meter(cell) = entity {
                    let marked =
                        cell.counters.map(|all| [all.green, all.yellow, all.red].map(counted));
                    values.push((cell.config.map(meter_numbers), marked));
                }
            }
            Ok(values)
        })
    }

    /// Configures a cell of a meter array, or all of them. Without a configuration, a meter marks
    /// all packets green.
    fn write_meter(
        &self,
        py: Python<'_>,
        name: &str,
        index: Option<u64>,
        config: Option<GivenMeter>,
    ) -> PyResult<()> {
        let update = self.schema(|schema| {
            let meter = meter(schema, name)?;
            cells(&meter.name, index, meter.size)?;
            let config = config.map(MeterConfig::from);
            let cell = MeterCell { id: meter.id, index, config, counters: None };
            Ok(update(Type::Modify, &Entity::Meter(cell)))
        })?;
        self.write(py, &[update], &|_| format!("meter {name}"))
    }

    /// Returns the cells of a register array, or one of them.
    fn read_register<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        index: Option<u64>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.schema(|schema| {
            let register = register(schema, name)?;
            let cells = cells(&register.name, index, register.size)?;
            let mut values = Vec::new();
            for entity in self.read(&Selection::Registers(register.id, cells))? {
                if let Entity::Register(cell) = entity {
                    values.push(values::shown_data(py, &register.data, &cell.data)?);
                }
            }
            Ok(values)
        })
    }

    /// Sets a cell of a register array, or all of them.
    fn write_register(
        &self,
        py: Python<'_>,
        name: &str,
        index: Option<u64>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let update = self.schema(|schema| {
            let register = register(schema, name)?;
            cells(&register.name, index, register.size)?;
            let data = values::data(register.short(), &register.data, value)?;
            let cell = RegisterCell { id: register.id, index, data };
            Ok(update(Type::Modify, &Entity::Register(cell)))
        })?;
        self.write(py, &[update], &|_| format!("register {name}"))
    }
}
