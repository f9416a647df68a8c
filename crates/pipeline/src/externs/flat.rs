//! Registers and counters in memory that machine code reaches by the address of a cell: arrays of numbers that are not too
//! large, on both paths.

use super::{Constructed, LoadError};
use crate::array::Flat;
use crate::layout::Layout;
use crate::table::CounterValue;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ExternInstance, ExternType};
use std::sync::Arc;
use tables::{CellWidth, Cells};

/// Most cells: more of them take as much memory as is used only.
const MOST: u64 = 1 << 24;
/// Cells of the memory that an element of a counter has: packets, then bytes.
const OF_A_COUNTER: usize = 2;

/// What machine code knows of such an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlatArray {
    /// Elements.
    pub(crate) size: u64,
    /// Bits that an element of a register has.
    pub(crate) width: u32,
    /// Bytes from one element to the next.
    pub(crate) stride: u32,
}

impl FlatArray {
    /// How the elements of an array lie, if it is such a one.
    pub(crate) fn of(layout: &Layout, instance: &ExternInstance) -> Option<Self> {
        use ExternType as Of;
        let (width, stride) = match instance.extern_type {
            Of::V1Counter | Of::Counter => (64, 16),
            Of::V1Register | Of::Register => {
                let element = layout.get(*instance.type_arguments.first()?)?;
                let ir::Type::Bits { width, .. } = element else { return None };
                (width, if width <= 32 { 4 } else { 8 })
            }
            _ => return None,
        };
        let size = Constructed::new(layout, instance).numbers.first().copied()?;
        let is_flat = (1..=MOST).contains(&size) && (1..=64).contains(&width);
        is_flat.then_some(Self { size, width, stride })
    }

    /// Returns the memory that all elements take together.
    pub(crate) fn bytes(&self) -> u64 {
        self.size.saturating_mul(self.stride.into())
    }
}

/// The elements of a register.
#[derive(Debug)]
pub(crate) struct Words {
    cells: Cells,
    initial: Value,
    /// The same as a number.
    pattern: u64,
}

impl Words {
    pub(crate) fn new(array: FlatArray, initial: &Value) -> Result<Arc<Self>, LoadError> {
        let width = if array.stride == 4 { CellWidth::Four } else { CellWidth::Eight };
        let cells = cells(array.size as usize, width)?;
        let pattern = number(initial);
        if pattern != 0 {
            (0..cells.count()).for_each(|index| cells.store(index, pattern));
        }
        Ok(Arc::new(Self { cells, initial: initial.clone(), pattern }))
    }
}

impl Flat<Value> for Words {
    fn size(&self) -> u64 {
        self.cells.count() as u64
    }

    fn load(&self, index: u64) -> Option<Value> {
        let found = self.cells.load(index as usize);
        let value = || Value::from_pattern(&self.initial, &Bits::unsigned(64, found.into()));
        (found != self.pattern).then(value)
    }

    fn store(&self, index: u64, value: Option<Value>) {
        self.cells.store(index as usize, value.as_ref().map_or(self.pattern, number));
    }

    fn address(&self) -> u64 {
        self.cells.address().expose_provenance() as u64
    }
}

/// The elements of a counter.
#[derive(Debug)]
pub(crate) struct Counts(Cells);

impl Counts {
    pub(crate) fn new(array: FlatArray) -> Result<Arc<Self>, LoadError> {
        let count = array.size as usize * OF_A_COUNTER;
        Ok(Arc::new(Self(cells(count, CellWidth::Eight)?)))
    }

    /// Counts a packet of so many bytes.
    pub(crate) fn count(&self, index: u64, bytes: u64) {
        let first = index as usize * OF_A_COUNTER;
        self.0.add(first, 1);
        self.0.add(first + 1, bytes);
    }
}

impl Flat<CounterValue> for Counts {
    fn size(&self) -> u64 {
        (self.0.count() / OF_A_COUNTER) as u64
    }

    fn load(&self, index: u64) -> Option<CounterValue> {
        let first = index as usize * OF_A_COUNTER;
        let found = CounterValue { packets: self.0.load(first), bytes: self.0.load(first + 1) };
        (found != CounterValue::default()).then_some(found)
    }

    fn store(&self, index: u64, value: Option<CounterValue>) {
        let CounterValue { packets, bytes } = value.unwrap_or_default();
        let first = index as usize * OF_A_COUNTER;
        self.0.store(first, packets);
        self.0.store(first + 1, bytes);
    }

    fn address(&self) -> u64 {
        self.0.address().expose_provenance() as u64
    }
}

fn cells(count: usize, width: CellWidth) -> Result<Cells, LoadError> {
    let none = LoadError::Malformed("an array that memory does not suffice for");
    Cells::new(count, width).ok_or(none)
}

fn number(value: &Value) -> u64 {
    value.to_pattern().map_or(0, |pattern| pattern.low_u64())
}
