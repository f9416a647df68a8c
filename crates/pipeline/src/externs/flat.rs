//! Arrays of registers and counters whose elements are contiguous, so that machine code can access
//! them by address. The interpreter uses these arrays too. All arrays of numbers are stored in this
//! form unless they are too large.

use super::{Constructed, LoadError};
use crate::array::Flat;
use crate::layout::Layout;
use crate::table::CounterValue;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ExternInstance, ExternType};
use std::sync::Arc;
use tables::{CellWidth, Cells};

/// The maximum number of elements of a contiguous array. Larger arrays take memory only for the
/// elements in use.
const MAX: u64 = 1 << 24;
/// The number of 64-bit words of a counter's element: one for packets, then one for bytes.
const WORDS_PER_COUNTER: usize = 2;

/// The layout of an array with contiguous elements, as machine code needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlatArray {
    /// The number of elements.
    pub(crate) size: u64,
    /// The width of an element of a register in bits.
    pub(crate) width: u32,
    /// The distance from one element to the next in bytes.
    pub(crate) stride: u32,
}

impl FlatArray {
    /// Returns the layout of an extern instance's elements, or `None` if they are not contiguous.
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
        let is_flat = (1..=MAX).contains(&size) && (1..=64).contains(&width);
        is_flat.then_some(Self { size, width, stride })
    }

    /// Returns the number of bytes that all elements take together.
    pub(crate) fn bytes(&self) -> u64 {
        self.size.saturating_mul(self.stride.into())
    }
}

/// The elements of a register array that machine code can access.
#[derive(Debug)]
pub(crate) struct Words {
    cells: Cells,
    initial: Value,
    /// The initial value of each element, as a 64-bit number.
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

/// The elements of a counter array that machine code can access.
#[derive(Debug)]
pub(crate) struct Counts(Cells);

impl Counts {
    pub(crate) fn new(array: FlatArray) -> Result<Arc<Self>, LoadError> {
        let count = array.size as usize * WORDS_PER_COUNTER;
        Ok(Arc::new(Self(cells(count, CellWidth::Eight)?)))
    }

    /// Counts a packet of `bytes` bytes in an element. Has no effect if the index is out of range.
    pub(crate) fn count(&self, index: u64, bytes: u64) {
        let first = index as usize * WORDS_PER_COUNTER;
        self.0.add(first, 1);
        self.0.add(first + 1, bytes);
    }
}

impl Flat<CounterValue> for Counts {
    fn size(&self) -> u64 {
        (self.0.count() / WORDS_PER_COUNTER) as u64
    }

    fn load(&self, index: u64) -> Option<CounterValue> {
        let first = index as usize * WORDS_PER_COUNTER;
        let found = CounterValue { packets: self.0.load(first), bytes: self.0.load(first + 1) };
        (found != CounterValue::default()).then_some(found)
    }

    fn store(&self, index: u64, value: Option<CounterValue>) {
        let CounterValue { packets, bytes } = value.unwrap_or_default();
        let first = index as usize * WORDS_PER_COUNTER;
        self.0.store(first, packets);
        self.0.store(first + 1, bytes);
    }

    fn address(&self) -> u64 {
        self.0.address().expose_provenance() as u64
    }
}

fn cells(count: usize, width: CellWidth) -> Result<Cells, LoadError> {
    let none = LoadError::Memory;
    Cells::new(count, width).ok_or(none)
}

fn number(value: &Value) -> u64 {
    value.to_pattern().map_or(0, |pattern| pattern.low_u64())
}
