//! Executes the statements that read, write or check counters, registers and meters.
//!
//! BMv2's command line (`tools/runtime_CLI.py`) addresses direct counters and meters as arrays
//! whose index is the handle of an entry. Handles are numbered from 0 in the order in which entries
//! were added, and the entries of the program come first. If an entry reuses the slot of a removed
//! one, its handle on BMv2 also contains a version. Such handles are not supported here.

use super::super::script::{Cell, Condition, Rate, StatementKind, Unit};
use super::super::{Failure, StfError, resolve};
use super::Runner;
use ir::{ExternId, TableId};
use pipeline::{CounterValue, EntryHandle, MeterConfig};

/// The names of the extern types that are counters, in any supported architecture.
const COUNTERS: [&str; 5] =
    ["counter", "Counter", "CounterArray", "direct_counter", "DirectCounter"];
const REGISTERS: [&str; 2] = ["register", "Register"];
const METERS: [&str; 4] = ["meter", "Meter", "direct_meter", "DirectMeter"];

/// A counter or meter of the program to which a statement refers.
#[derive(Clone, Copy)]
struct Instance {
    id: ExternId,
    /// The table to which a direct counter or meter belongs, which has one for each of its entries.
    /// `None` if this is an array.
    table: Option<TableId>,
}

/// Converts the handle that an entry has on BMv2 to the handle that it has in `pipeline`. BMv2
/// numbers handles from 0, and `pipeline` from 1.
fn entry(index: u64) -> EntryHandle {
    EntryHandle(index.saturating_add(1))
}

impl Runner<'_> {
    pub(super) fn check_counter(
        &mut self,
        line: usize,
        name: &str,
        cell: &Cell,
        condition: Option<Condition>,
    ) -> Result<(), StfError> {
        let counter = self.instance("counter", &COUNTERS, name)?;
        let value = match (cell, counter.table) {
            (Cell::Index(index), _) => self.counter(counter, *index)?,
            (Cell::Handle(handle), Some(table)) => {
                let entry = self.handle(handle)?;
                self.switch.direct_counter(table, entry, counter.id)?
            }
            (Cell::Handle(handle), None) => {
                return Err(StfError::NotMade { kind: "index", name: handle.clone() });
            }
        };
        let Some(condition) = condition else { return Ok(()) };
        let got = match condition.unit {
            Unit::Packets => value.packets,
            Unit::Bytes => value.bytes,
        };
        if !condition.operator.holds(got, condition.value) {
            let instance = self.switch.program().externs.get(counter.id.index());
            let counter = instance.map_or_else(String::new, |instance| instance.name.clone());
            self.record.report.failures.push(Failure::Counter { line, counter, condition, got });
        }
        Ok(())
    }

    pub(super) fn array(&mut self, line: usize, kind: &StatementKind) -> Result<(), StfError> {
        match kind {
            StatementKind::CounterRead { counter: name, index } => {
                let counter = self.instance("counter", &COUNTERS, name)?;
                let CounterValue { packets, bytes } = self.counter(counter, *index)?;
                let text = format!("{name}[{index}] = {packets} packets, {bytes} bytes");
                self.record.report.values.push((line, text));
            }
            StatementKind::CounterWrite { counter, index, packets, bytes } => {
                let Instance { id, table } = self.instance("counter", &COUNTERS, counter)?;
                let value = CounterValue { packets: *packets, bytes: *bytes };
                match table {
                    Some(table) => {
                        self.switch.set_direct_counter(table, entry(*index), id, value)?;
                    }
                    None => self.switch.set_counter(id, *index, value)?,
                }
            }
            StatementKind::RegisterRead { register, index } => {
                let Instance { id, .. } = self.instance("register", &REGISTERS, register)?;
                let value = self.switch.register(id, *index)?;
                self.record.report.values.push((line, format!("{register}[{index}] = {value}")));
            }
            StatementKind::RegisterWrite { register, index, value } => {
                let Instance { id, .. } = self.instance("register", &REGISTERS, register)?;
                self.switch.set_register(id, *index, &value.to_shortest_bits())?;
            }
            StatementKind::RegisterReset { register } => {
                let Instance { id, .. } = self.instance("register", &REGISTERS, register)?;
                self.switch.reset_register(id)?;
            }
            StatementKind::MeterGetRates { meter, index } => {
                let Instance { id, table } = self.instance("meter", &METERS, meter)?;
                let config = match table {
                    Some(table) => self.switch.direct_meter_config(table, entry(*index), id)?,
                    None => self.switch.meter_config(id, *index)?,
                };
                let text = match config {
                    Some(config) => format!("{meter}[{index}] = {config:?}"),
                    None => format!("{meter}[{index}]: not configured"),
                };
                self.record.report.values.push((line, text));
            }
            StatementKind::MeterSetRates { meter, index, rates } => {
                let meter = self.instance("meter", &METERS, meter)?;
                let config = meter_config(rates).ok_or(StfError::Rates)?;
                self.set_rates(meter, *index, config)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn instance(
        &self,
        kind: &'static str,
        types: &[&str],
        name: &str,
    ) -> Result<Instance, StfError> {
        let program = self.switch.program();
        let id = resolve::instance(program, kind, types, name)?;
        let table = program.externs.get(id.index()).and_then(|instance| instance.table);
        Ok(Instance { id, table })
    }

    fn counter(&mut self, counter: Instance, index: u64) -> Result<CounterValue, StfError> {
        Ok(match counter.table {
            Some(table) => self.switch.direct_counter(table, entry(index), counter.id)?,
            None => self.switch.counter(counter.id, index)?,
        })
    }

    /// Sets the rates of one element of a meter, or of all elements if `index` is `None`. If all
    /// rates of a direct meter are set, they also apply to entries that are added later.
    fn set_rates(
        &mut self,
        meter: Instance,
        index: Option<u64>,
        config: MeterConfig,
    ) -> Result<(), StfError> {
        let (id, now, config) = (meter.id, self.record.now, Some(config));
        match (meter.table, index) {
            (Some(table), Some(index)) => {
                self.switch.configure_direct_meter(table, entry(index), id, config, now)?;
            }
            (Some(table), None) => {
                self.switch.configure_direct_meters(table, id, config, now)?;
            }
            (None, index) => {
                let all = 0..self.switch.array_size(id)?;
                for index in index.map_or(all, |index| index..index.saturating_add(1)) {
                    self.switch.configure_meter(id, index, config, now)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the configuration of a meter with a committed and a peak rate. Returns `None` if there
/// are not exactly two rates, or if the committed rate is larger than the peak rate, which BMv2
/// refuses as well (`src/bm_sim/meters.cpp`). Like those of BMv2's command line, the rates of a
/// script are per microsecond. The rates of the configuration are per second.
fn meter_config(rates: &[Rate]) -> Option<MeterConfig> {
    let per_second = |rate: &Rate| {
        rate.units_per_microsecond.parse::<f64>().map_or(0, |rate| (rate * 1e6).round() as u64)
    };
    let [committed, peak] = rates else { return None };
    let (committed_rate, peak_rate) = (per_second(committed), per_second(peak));
    (committed_rate <= peak_rate).then_some(MeterConfig::TwoRate {
        committed_rate,
        committed_burst: committed.burst,
        peak_rate,
        peak_burst: peak.burst,
    })
}
