//! Arrays: indirect counters, indirect meters, registers (specification 1.5, "CounterEntry",
//! "MeterEntry", "RegisterEntry").
//!
//! An array exists from the start with all cells in their initial state; only cells that were
//! written take memory. A write without index sets all cells.

use std::ops::ControlFlow;

use super::change::{CellsChange, Change};
use super::reading::{Place, Visit};
use super::state::{Cells, State, decode, encode};
use super::{MAX_WILDCARD_CELLS, modify_only};
use crate::p4info::*;
use crate::proto::config::meter_spec;
use crate::proto::v1;
use crate::proto::v1::entity::Entity;
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

/// The cells that a request selects.
#[derive(Debug)]
pub(super) struct Selected {
    kind: Kind,
    /// The array with this identifier, or all of them for 0.
    id: u32,
    /// `None` for all of them.
    index: Option<u64>,
}

#[derive(Debug)]
enum Kind {
    Counters,
    Meters { counter_data: bool },
    Registers,
}

impl Selected {
    pub(super) fn counters(
        schema: &Schema,
        request: &v1::CounterEntry,
    ) -> Result<Self, EntityError> {
        let arrays = select(schema.counters(), request.counter_id, |id| find_counter(schema, id))?;
        let index = select_indices(request.counter_id, request.index, &arrays, |counter| Array {
            name: &counter.name,
            size: counter.size,
        })?;
        Ok(Self { kind: Kind::Counters, id: request.counter_id, index })
    }

    pub(super) fn meters(schema: &Schema, request: &v1::MeterEntry) -> Result<Self, EntityError> {
        let arrays = select(schema.meters(), request.meter_id, |id| find_meter(schema, id))?;
        let index = select_indices(request.meter_id, request.index, &arrays, |meter| Array {
            name: &meter.name,
            size: meter.size,
        })?;
        let kind = Kind::Meters { counter_data: request.counter_data.is_some() };
        Ok(Self { kind, id: request.meter_id, index })
    }

    pub(super) fn registers(
        schema: &Schema,
        request: &v1::RegisterEntry,
    ) -> Result<Self, EntityError> {
        let arrays =
            select(schema.registers(), request.register_id, |id| find_register(schema, id))?;
        let index = select_indices(request.register_id, request.index, &arrays, |register| {
            Array { name: &register.name, size: register.size }
        })?;
        Ok(Self { kind: Kind::Registers, id: request.register_id, index })
    }

    pub(super) fn visit(
        &self,
        schema: &Schema,
        state: &State,
        place: &mut Place,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        match self.kind {
            Kind::Counters => {
                for counter in schema.counters().iter().filter(|one| self.selects(one.id.0)) {
                    let cells = state.counters.get(&counter.id).map(|cells| &**cells);
                    let object = (counter.id.0, counter.size);
                    self.cells(object, cells, place, &mut |index, data| {
                        visit(Some(counter_entry(counter.id, Some(index), data)))
                    })?;
                }
            }
            Kind::Meters { counter_data } => {
                let counter_data = counter_data.then(meter_counters);
                for meter in schema.meters().iter().filter(|one| self.selects(one.id.0)) {
                    let cells = state.meters.get(&meter.id).map(|cells| &**cells);
                    let object = (meter.id.0, meter.size);
                    self.cells(object, cells, place, &mut |index, config| {
                        visit(Some(meter_entry(meter.id, Some(index), config, counter_data)))
                    })?;
                }
            }
            Kind::Registers => {
                for register in schema.registers().iter().filter(|one| self.selects(one.id.0)) {
                    let cells = state.registers.get(&register.id).map(|cells| &**cells);
                    let object = (register.id.0, register.size);
                    let initial = register.data.initial();
                    self.cells(object, cells, place, &mut |index, data| {
                        let data = data.map_or_else(|| initial.clone(), |data| decode(data));
                        visit(Some(register_entry(register.id, Some(index), data)))
                    })?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn selects(&self, id: u32) -> bool {
        self.id == 0 || self.id == id
    }

    /// Visits the selected cells of one array. Of an array without a size in P4Info, all cells
    /// are those that were written.
    fn cells<T>(
        &self,
        (object, size): (u32, Option<u64>),
        cells: Option<&Cells<T>>,
        place: &mut Place,
        visit: &mut dyn FnMut(v1::Index, Option<&T>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !place.enter(object) {
            return ControlFlow::Continue(());
        }
        let from = place.number(object);
        let mut visit = |index: u64| match i64::try_from(index) {
            Ok(number) => {
                visit(v1::Index { index: number }, cells.and_then(|cells| cells.get(index)))
            }
            Err(_) => ControlFlow::Continue(()),
        };
        let number = |index: u64| (index, index);
        match (self.index, size) {
            (Some(index), _) => {
                place.walk(object, (from <= index).then_some((index, index)).into_iter(), visit)
            }
            (None, Some(size)) => place.walk(object, (from..size).map(number), visit),
            (None, None) => {
                let written = cells.into_iter().flat_map(|cells| cells.written(from));
                place.walk(object, written.map(|(index, _)| number(index)), &mut visit)
            }
        }
    }
}

/// Calls `visit` with what restores the cells that were written, and no others: what an array was
/// set to as a whole, without an index, before the cells that differ from it.
pub(super) fn written(state: &State, visit: &mut dyn FnMut(Entity)) {
    let at = |index: u64| Some(v1::Index { index: i64::try_from(index).unwrap_or(i64::MAX) });
    for (id, cells) in &state.meters {
        cells.whole().into_iter().for_each(|data| visit(meter_entry(*id, None, Some(data), None)));
        for (index, data) in cells.written(0) {
            visit(meter_entry(*id, at(index), Some(data), None));
        }
    }
    for (id, cells) in &state.counters {
        cells.whole().into_iter().for_each(|data| visit(counter_entry(*id, None, Some(data))));
        for (index, data) in cells.written(0) {
            visit(counter_entry(*id, at(index), Some(data)));
        }
    }
    for (id, cells) in &state.registers {
        cells.whole().into_iter().for_each(|data| visit(register_entry(*id, None, decode(data))));
        for (index, data) in cells.written(0) {
            visit(register_entry(*id, at(index), decode(data)));
        }
    }
}

fn counter_entry(
    id: CounterId,
    index: Option<v1::Index>,
    data: Option<&v1::CounterData>,
) -> Entity {
    let data = Some(data.copied().unwrap_or_default());
    Entity::CounterEntry(v1::CounterEntry { counter_id: id.0, index, data })
}

fn meter_entry(
    id: MeterId,
    index: Option<v1::Index>,
    config: Option<&Option<v1::MeterConfig>>,
    counter_data: Option<v1::MeterCounterData>,
) -> Entity {
    let config = config.copied().flatten();
    Entity::MeterEntry(v1::MeterEntry { meter_id: id.0, index, config, counter_data })
}

fn register_entry(id: RegisterId, index: Option<v1::Index>, data: v1::P4Data) -> Entity {
    Entity::RegisterEntry(v1::RegisterEntry { register_id: id.0, index, data: Some(data) })
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
