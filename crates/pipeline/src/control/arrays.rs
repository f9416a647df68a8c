//! The control plane's operations on counters, meters, registers and hash parameters.

use super::{Done, unknown};
use crate::error::ControlError;
use crate::externs::meter::{Meter, MeterConfig};
use crate::externs::{Counters, ExternState, Meters, Registers};
use crate::switch::Core;
use crate::sync::write;
use crate::table::{CounterValue, EntryHandle, counter_in, fit, meter_in};
use crate::value::Value;
use ir::bits::Bits;
use ir::hash::{Crc, CrcParameters};
use ir::{ExternId, TableId};
use std::sync::Arc;
use std::time::Duration;

/// The operations on counters, meters, registers and hash parameters.
impl Core {
    fn counters(&self, id: ExternId) -> Result<&Counters, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Counter(counters)) => Ok(counters),
            _ => Err(unknown("counter", id.0)),
        }
    }

    /// Returns the number of elements of a counter, meter or register.
    ///
    /// # Errors
    /// Fails if the extern is none of these.
    pub fn array_size(&self, id: ExternId) -> Result<u64, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Counter(Counters { size, .. })) => Ok(*size),
            Some(ExternState::Meter(Meters { size, .. })) => Ok(*size),
            Some(ExternState::Register(Registers { size, .. })) => Ok(*size),
            _ => Err(unknown("array", id.0)),
        }
    }

    /// Reads an element of a counter.
    ///
    /// # Errors
    /// Fails if there is no such counter or element.
    pub fn counter(&self, id: ExternId, index: u64) -> Result<CounterValue, ControlError> {
        let counters = self.counters(id)?;
        check_index(index, counters.size, &counters.name)?;
        Ok(counters.cells.get(index).unwrap_or_default())
    }

    /// Sets an element of a counter.
    ///
    /// # Errors
    /// Fails if there is no such counter or element.
    pub fn set_counter(&self, id: ExternId, index: u64, value: CounterValue) -> Done {
        let counters = self.counters(id)?;
        check_index(index, counters.size, &counters.name)?;
        // Code adds to a counter by a load and a later store, so it must not run meanwhile.
        self.state.group.alone(|| counters.cells.set(index, Some(value)));
        Ok(())
    }

    /// Reads the direct counter of an entry, which may be [`EntryHandle::DEFAULT`].
    ///
    /// # Errors
    /// Fails if there is no such entry or counter.
    pub fn direct_counter(
        &self,
        table: TableId,
        entry: EntryHandle,
        counter: ExternId,
    ) -> Result<CounterValue, ControlError> {
        self.with_counter(table, entry, counter, |value| *value)
    }

    /// Sets the direct counter of an entry, which may be [`EntryHandle::DEFAULT`].
    ///
    /// # Errors
    /// Fails if there is no such entry or counter.
    pub fn set_direct_counter(
        &self,
        table: TableId,
        entry: EntryHandle,
        counter: ExternId,
        value: CounterValue,
    ) -> Done {
        self.with_counter(table, entry, counter, |counter| *counter = value)
    }

    /// Configures an element of a meter. Without a configuration (`None`), every packet keeps its
    /// colour, which is green in v1model.
    ///
    /// # Errors
    /// Fails if there is no such meter or element.
    pub fn configure_meter(
        &self,
        id: ExternId,
        index: u64,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> Done {
        let Some(ExternState::Meter(meters)) = self.state.externs.get(id.index()) else {
            return Err(unknown("meter", id.0));
        };
        check_index(index, meters.size, &meters.name)?;
        meters.cells.update(index, |cell| cell.get_or_insert_default().configure(config, now));
        Ok(())
    }

    /// Returns the configuration of an element of a meter.
    ///
    /// # Errors
    /// Fails if there is no such meter or element.
    pub fn meter_config(
        &self,
        id: ExternId,
        index: u64,
    ) -> Result<Option<MeterConfig>, ControlError> {
        let Some(ExternState::Meter(meters)) = self.state.externs.get(id.index()) else {
            return Err(unknown("meter", id.0));
        };
        check_index(index, meters.size, &meters.name)?;
        Ok(meters.cells.get(index).and_then(|meter| meter.config()))
    }

    /// Configures the direct meter of an entry, which may be [`EntryHandle::DEFAULT`].
    ///
    /// # Errors
    /// Fails if there is no such entry or meter.
    pub fn configure_direct_meter(
        &self,
        table: TableId,
        entry: EntryHandle,
        meter: ExternId,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> Done {
        self.with_meter(table, entry, meter, |meter| meter.configure(config, now))
    }

    /// Configures the direct meters of all present and future entries of a table.
    ///
    /// # Errors
    /// Fails if the table has no such meter.
    pub fn configure_direct_meters(
        &self,
        table: TableId,
        meter: ExternId,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> Done {
        let is_there = self.table(table)?.configure_meters(meter, config, now);
        is_there.then_some(()).ok_or_else(|| unknown("meter", meter.0))
    }

    /// Returns the configuration of the direct meter of an entry, which may be
    /// [`EntryHandle::DEFAULT`].
    ///
    /// # Errors
    /// Fails if there is no such entry or meter.
    pub fn direct_meter_config(
        &self,
        table: TableId,
        entry: EntryHandle,
        meter: ExternId,
    ) -> Result<Option<MeterConfig>, ControlError> {
        self.with_meter(table, entry, meter, |meter| meter.config())
    }

    fn with_counter<R>(
        &self,
        table: TableId,
        entry: EntryHandle,
        counter: ExternId,
        use_it: impl FnOnce(&mut CounterValue) -> R,
    ) -> Result<R, ControlError> {
        let found = self
            .table(table)?
            .with_directs(entry, |directs| counter_in(directs, counter).map(use_it))
            .ok_or(ControlError::NotFound("entry"))?;
        found.ok_or_else(|| unknown("counter", counter.0))
    }

    fn with_meter<R>(
        &self,
        table: TableId,
        entry: EntryHandle,
        meter: ExternId,
        use_it: impl FnOnce(&mut Meter) -> R,
    ) -> Result<R, ControlError> {
        let found = self
            .table(table)?
            .with_directs(entry, |directs| {
                meter_in(directs, meter).map(|mut meter| use_it(&mut meter))
            })
            .ok_or(ControlError::NotFound("entry"))?;
        found.ok_or_else(|| unknown("meter", meter.0))
    }

    fn registers(&self, id: ExternId) -> Result<&Registers, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Register(registers)) => Ok(registers),
            _ => Err(unknown("register", id.0)),
        }
    }

    /// Reads an element of a register.
    ///
    /// # Errors
    /// Fails if there is no such register or element.
    pub fn register(&self, id: ExternId, index: u64) -> Result<Value, ControlError> {
        let registers = self.registers(id)?;
        check_index(index, registers.size, &registers.name)?;
        Ok(registers.cells.get(index).unwrap_or_else(|| registers.initial.clone()))
    }

    /// Writes an element of a register whose elements are numbers.
    ///
    /// # Errors
    /// Fails if there is no such register or element, or if the value does not fit.
    pub fn set_register(&self, id: ExternId, index: u64, value: &Bits) -> Done {
        let registers = self.registers(id)?;
        check_index(index, registers.size, &registers.name)?;
        let shape = registers.initial.to_pattern();
        let shape = shape.ok_or_else(|| unknown("width of register", &registers.name))?;
        let value = fit(&registers.name, value, shape.width(), shape.is_signed())?;
        let value = Value::from_pattern(&registers.initial, &value);
        registers.cells.set(index, Some(value));
        Ok(())
    }

    /// Resets all elements of a register to their initial value.
    ///
    /// # Errors
    /// Fails if there is no such register.
    pub fn reset_register(&self, id: ExternId) -> Done {
        self.registers(id)?.cells.clear();
        Ok(())
    }

    /// Sets the parameters of the hash algorithm `crc16_custom`.
    pub fn set_crc16(&self, parameters: CrcParameters) {
        write(&self.state.hashes).custom_crcs.crc16 = Arc::new(Crc::new(parameters));
    }

    /// Sets the key of Toeplitz hashes (PNA on DPDK). The initial key is all zeros, with which
    /// every hash is zero.
    pub fn set_toeplitz_key(&self, key: Vec<u8>) {
        write(&self.state.hashes).toeplitz_key = key;
    }

    /// Sets the parameters of the hash algorithm `crc32_custom`.
    pub fn set_crc32(&self, parameters: CrcParameters) {
        write(&self.state.hashes).custom_crcs.crc32 = Arc::new(Crc::new(parameters));
    }
}

fn check_index(index: u64, size: u64, name: &str) -> Done {
    if index >= size {
        return Err(ControlError::Index { index, size, name: name.to_owned() });
    }
    Ok(())
}
