//! Arrays: indirect counters, indirect meters, registers (specification 1.5, "CounterEntry",
//! "MeterEntry", "RegisterEntry").
//!
//! An array exists from the start with all cells in their initial state; only cells that were
//! written take memory. A write without index sets all cells.

use super::change::{CellsChange, Change};
use super::state::{Cells, State, decode, encode};
use super::{MAX_WILDCARD_CELLS, modify_only};
use crate::p4info::*;
use crate::proto::config::meter_spec;
use crate::proto::v1;
use crate::proto::v1::update::Type as UpdateType;
use crate::status::EntityError;

pub(super) fn plan_counter(
    schema: &Schema,
    kind: UpdateType,
    entry: &v1::CounterEntry,
) -> Result<Change, EntityError> {
    let counter = find_counter(schema, entry.counter_id)?;
    modify_only(kind, "a counter")?;
    let place = || format!("counter '{}'", counter.name);
    let index = index(entry.index, counter.size).map_err(|error| error.within(place()))?;
    let Some(data) = entry.data else {
        return Ok(Change::Nothing);
    };
    check_counter(&data).map_err(|error| error.within(place()))?;
    Ok(Change::Counter { id: counter.id, cells: change(index, data) })
}

pub(super) fn plan_meter(
    schema: &Schema,
    kind: UpdateType,
    entry: &v1::MeterEntry,
) -> Result<Change, EntityError> {
    let meter = find_meter(schema, entry.meter_id)?;
    modify_only(kind, "a meter")?;
    let place = || format!("meter '{}'", meter.name);
    let index = index(entry.index, meter.size).map_err(|error| error.within(place()))?;
    check_meter(meter.algorithm, entry.config.as_ref()).map_err(|error| error.within(place()))?;
    check_meter_counters(entry.counter_data.as_ref()).map_err(|error| error.within(place()))?;
    Ok(Change::Meter { id: meter.id, cells: change(index, entry.config) })
}

pub(super) fn plan_register(
    schema: &Schema,
    kind: UpdateType,
    entry: &v1::RegisterEntry,
) -> Result<Change, EntityError> {
    let register = find_register(schema, entry.register_id)?;
    modify_only(kind, "a register")?;
    let place = || format!("register '{}'", register.name);
    let index = index(entry.index, register.size).map_err(|error| error.within(place()))?;
    let data = entry
        .data
        .as_ref()
        .ok_or_else(|| EntityError::invalid(format!("{}: the data is unset", place())))?;
    let data = register.data.canonical(data).map_err(|error| error.within(place()))?;
    Ok(Change::Register { id: register.id, cells: change(index, encode(&data)) })
}

fn change<T>(index: Option<u64>, value: T) -> CellsChange<T> {
    match index {
        Some(index) => CellsChange::One { index, value: Some(value) },
        None => CellsChange::All(Cells::all(value)),
    }
}

/// Refuses counts that no counter has.
pub(super) fn check_counter(data: &v1::CounterData) -> Result<(), EntityError> {
    if data.byte_count < 0 || data.packet_count < 0 {
        return Err(EntityError::invalid("a count is negative"));
    }
    Ok(())
}

/// Refuses a configuration that a meter of this type does not take.
pub(super) fn check_meter(
    algorithm: meter_spec::Type,
    config: Option<&v1::MeterConfig>,
) -> Result<(), EntityError> {
    let Some(config) = config else {
        return Ok(());
    };
    let v1::MeterConfig { cir, cburst, pir, pburst, eburst } = *config;
    if [cir, cburst, pir, pburst, eburst].iter().any(|number| *number < 0) {
        return Err(EntityError::invalid(
            "a rate or burst size of the meter configuration is negative",
        ));
    }
    let one_rate = pir == cir && pburst == cburst;
    match algorithm {
        meter_spec::Type::TwoRateThreeColor if eburst != 0 => Err(EntityError::invalid(
            "eburst is set, but the meter is a two-rate three-color marker",
        )),
        meter_spec::Type::SingleRateThreeColor | meter_spec::Type::SingleRateTwoColor
            if !one_rate =>
        {
            Err(EntityError::invalid(
                "pir and pburst differ from cir and cburst, but the meter has one rate",
            ))
        }
        meter_spec::Type::SingleRateTwoColor if eburst != 0 => {
            Err(EntityError::invalid("eburst is set, but the meter has two colors"))
        }
        _ => Ok(()),
    }
}

/// The counters of a meter can be reset, not set.
pub(super) fn check_meter_counters(
    counters: Option<&v1::MeterCounterData>,
) -> Result<(), EntityError> {
    let Some(counters) = counters else {
        return Ok(());
    };
    let zero = v1::CounterData::default();
    let colors = [counters.green, counters.yellow, counters.red];
    if colors.into_iter().flatten().any(|color| color != zero) {
        return Err(EntityError::invalid("the counters of a meter can only be set to 0"));
    }
    Ok(())
}

/// The counters of a meter as they are read: no packet has passed a meter of a store.
pub(super) fn meter_counters() -> v1::MeterCounterData {
    let zero = Some(v1::CounterData::default());
    v1::MeterCounterData { green: zero, yellow: zero, red: zero }
}

pub(super) fn read_counters(
    schema: &Schema,
    state: &State,
    request: &v1::CounterEntry,
    visit: &mut dyn FnMut(v1::CounterEntry),
) -> Result<(), EntityError> {
    let counters = select(schema.counters(), request.counter_id, |id| find_counter(schema, id))?;
    let indices = select_indices(request.counter_id, request.index, &counters, |counter| Array {
        name: &counter.name,
        size: counter.size,
    })?;
    for counter in counters {
        let cells = state.counters.get(&counter.id);
        for_each_cell(cells, indices, counter.size, |index, data| {
            visit(v1::CounterEntry {
                counter_id: counter.id.0,
                index: Some(index),
                data: Some(data.copied().unwrap_or_default()),
            });
        });
    }
    Ok(())
}

pub(super) fn read_meters(
    schema: &Schema,
    state: &State,
    request: &v1::MeterEntry,
    visit: &mut dyn FnMut(v1::MeterEntry),
) -> Result<(), EntityError> {
    let meters = select(schema.meters(), request.meter_id, |id| find_meter(schema, id))?;
    let indices = select_indices(request.meter_id, request.index, &meters, |meter| Array {
        name: &meter.name,
        size: meter.size,
    })?;
    let counter_data = request.counter_data.is_some().then(meter_counters);
    for meter in meters {
        let cells = state.meters.get(&meter.id);
        for_each_cell(cells, indices, meter.size, |index, config| {
            visit(v1::MeterEntry {
                meter_id: meter.id.0,
                index: Some(index),
                config: config.copied().flatten(),
                counter_data,
            });
        });
    }
    Ok(())
}

pub(super) fn read_registers(
    schema: &Schema,
    state: &State,
    request: &v1::RegisterEntry,
    visit: &mut dyn FnMut(v1::RegisterEntry),
) -> Result<(), EntityError> {
    let registers =
        select(schema.registers(), request.register_id, |id| find_register(schema, id))?;
    let indices = select_indices(request.register_id, request.index, &registers, |register| {
        Array { name: &register.name, size: register.size }
    })?;
    for register in registers {
        let cells = state.registers.get(&register.id);
        let initial = register.data.initial();
        for_each_cell(cells, indices, register.size, |index, data| {
            visit(v1::RegisterEntry {
                register_id: register.id.0,
                index: Some(index),
                data: Some(data.map_or_else(|| initial.clone(), |data| decode(data))),
            });
        });
    }
    Ok(())
}

/// The array with this identifier, or all of them for 0.
fn select<'a, I: Copy + Ord, T>(
    all: &'a Catalog<I, T>,
    id: u32,
    find: impl Fn(u32) -> Result<&'a T, EntityError>,
) -> Result<Vec<&'a T>, EntityError> {
    match id {
        0 => Ok(all.iter().collect()),
        id => Ok(vec![find(id)?]),
    }
}

struct Array<'a> {
    name: &'a str,
    size: Option<u64>,
}

/// The index to read, `None` for all. An index counts only where one array is selected.
fn select_indices<'a, T>(
    id: u32,
    requested: Option<v1::Index>,
    arrays: &[&'a T],
    describe: impl Fn(&'a T) -> Array<'a>,
) -> Result<Option<u64>, EntityError> {
    if id == 0 || requested.is_none() {
        for array in arrays.iter().map(|array| describe(array)) {
            if let Some(size) = array.size
                && size > MAX_WILDCARD_CELLS
            {
                return Err(EntityError::exhausted(format!(
                    "'{}' has {size} cells, more than the {MAX_WILDCARD_CELLS} that one read answers; \
                     read it by index",
                    array.name
                )));
            }
        }
        return Ok(None);
    }
    let Some(array) = arrays.first().map(|array| describe(array)) else {
        return Ok(None);
    };
    index(requested, array.size).map_err(|error| error.within(format_args!("'{}'", array.name)))
}

/// Calls `visit` with the selected cells. Of an array without a size in P4Info, all cells are
/// those that were written.
fn for_each_cell<T>(
    cells: Option<&Cells<T>>,
    index: Option<u64>,
    size: Option<u64>,
    mut visit: impl FnMut(v1::Index, Option<&T>),
) {
    let mut visit = |index: u64| {
        let Ok(number) = i64::try_from(index) else { return };
        visit(v1::Index { index: number }, cells.and_then(|cells| cells.get(index)));
    };
    match (index, size) {
        (Some(index), _) => visit(index),
        (None, Some(size)) => (0..size).for_each(visit),
        (None, None) => cells.iter().flat_map(|cells| cells.written()).for_each(visit),
    }
}

fn index(index: Option<v1::Index>, size: Option<u64>) -> Result<Option<u64>, EntityError> {
    let Some(v1::Index { index }) = index else {
        return Ok(None);
    };
    let checked = u64::try_from(index)
        .map_err(|_| EntityError::invalid(format!("the index {index} is negative")))?;
    if let Some(size) = size
        && checked >= size
    {
        return Err(EntityError::out_of_range(format!(
            "the index {index} is not below the size {size}"
        )));
    }
    Ok(Some(checked))
}

fn find_counter(schema: &Schema, id: u32) -> Result<&Counter, EntityError> {
    let id = CounterId(id);
    schema
        .counters()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no counter {id}")))
}

fn find_meter(schema: &Schema, id: u32) -> Result<&Meter, EntityError> {
    let id = MeterId(id);
    schema.meters().get(id).ok_or_else(|| EntityError::invalid(format!("P4Info has no meter {id}")))
}

fn find_register(schema: &Schema, id: u32) -> Result<&Register, EntityError> {
    let id = RegisterId(id);
    schema
        .registers()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no register {id}")))
}
