//! The state of extern instances, and the algorithm of meters. Hash algorithms are in [`ir::hash`].
//!
//! v1model, PSA and PNA have most types of externs in common, under two spellings. What a call of
//! an extern does with this state is implemented in `externs` of the interpreter and in the code
//! generator.

mod flat;
pub(crate) mod meter;

use crate::array::Array;
use crate::error::LoadError;
use crate::layout::Layout;
use crate::table::{CounterValue, Profile};
use crate::value::Value;
use ir::hash::Algorithm;
use ir::{ExternInstance, ExternType, TypeId};
use meter::{Color, Meter};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use flat::FlatArray;
use flat::{Counts, Words};

/// The state of an extern instance of the program.
#[derive(Debug)]
pub(crate) enum ExternState {
    Counter(Counters),
    Meter(Meters),
    Register(Registers),
    /// A direct counter. Its counts are in the entries of its table.
    DirectCounter,
    DirectMeter {
        counts_packets: bool,
    },
    Profile(Profile),
    Hash {
        algorithm: Algorithm,
    },
    Checksum {
        algorithm: Algorithm,
    },
    InternetChecksum,
    Random {
        least: Value,
        most: Value,
    },
    Digest,
    /// An extern without state of its own, such as `PacketReplicationEngine` or an accelerator.
    Other,
}

/// An array of counters. Elements that were never counted take no memory, unless the array is
/// contiguous so that machine code can access it.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) cells: Array<CounterValue>,
    /// The elements in contiguous memory, if machine code accesses the array. `cells` refers to the
    /// same elements.
    counts: Option<Arc<Counts>>,
}

impl Counters {
    fn new(name: String, size: u64, counts: Option<Arc<Counts>>) -> Self {
        let cells = counts.clone().map_or_else(Array::default, |counts| Array::over(counts));
        Self { name, size, cells, counts }
    }

    /// Counts a packet of `bytes` bytes in an element. Has no effect if the index is out of range.
    pub(crate) fn count(&self, index: u64, bytes: u64) {
        match &self.counts {
            _ if index >= self.size => {}
            Some(counts) => counts.count(index, bytes),
            None => self.cells.update(index, |cell| cell.get_or_insert_default().count(bytes)),
        }
    }
}

/// An array of meters.
#[derive(Debug)]
pub(crate) struct Meters {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) counts_packets: bool,
    pub(crate) cells: Array<Meter>,
}

impl Meters {
    /// Meters a packet with an element of the array. `length` is the packet's length in bytes, and
    /// `before` its previous colour. Returns the new colour, or `None` if the index is out of
    /// range.
    pub(crate) fn execute(
        &self,
        index: u64,
        (length, before): (u64, Color),
        now: Duration,
    ) -> Option<Color> {
        if index >= self.size {
            return None;
        }
        let size = self.size_of(length);
        let color = self.cells.update_written(index, |meter| meter.execute(size, before, now));
        Some(color.unwrap_or(before))
    }
}

impl Meters {
    /// Returns the size of a packet of `length` bytes in the unit of the meters.
    pub(crate) fn size_of(&self, length: u64) -> u64 {
        if self.counts_packets { 1 } else { length }
    }
}

/// An array of registers. Elements that were never written take no memory, unless the array is
/// contiguous so that machine code can access it.
#[derive(Debug)]
pub(crate) struct Registers {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) initial: Value,
    pub(crate) cells: Array<Value>,
}

/// The data that a checksum unit has received since it was last cleared. Units are cleared when a
/// block begins, except in psa_switch.
#[derive(Clone, Debug)]
pub(crate) enum ChecksumState {
    /// The data of a `Checksum`. `used` is the number of bits in use in the last byte.
    Data { bytes: Vec<u8>, used: u32 },
    /// The one's complement sum of an `InternetChecksum`.
    Sum(u16),
}

impl ExternState {
    /// Returns the address of the elements of an array that machine code accesses. Returns zero for
    /// other extern instances.
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Counter(counters) => counters.cells.address(),
            Self::Register(registers) => registers.cells.address(),
            _ => 0,
        }
    }

    /// Creates the initial state of an extern instance.
    pub(crate) fn new(layout: &Layout, instance: &ExternInstance) -> Result<Self, LoadError> {
        if !layout.program.architecture.may_have_extern(&instance.extern_type) {
            return Ok(Self::Other);
        }
        let constructed = Constructed::new(layout, instance);
        let name = instance.name.clone();
        let size = constructed.size();
        Ok(match instance.extern_type {
            ExternType::V1Counter | ExternType::Counter => {
                let counts = FlatArray::of(layout, instance).map(Counts::new).transpose()?;
                Self::Counter(Counters::new(name, size, counts))
            }
            ExternType::CounterArray => {
                // A sparse array has elements at any index, and its actual capacity is up to the
                // kernel.
                let sparse = constructed.values.contains(&Value::Bool(true));
                let size = if sparse { 1 << 32 } else { size };
                Self::Counter(Counters::new(name, size, None))
            }
            ExternType::V1Meter | ExternType::Meter => Self::Meter(Meters {
                name,
                size,
                counts_packets: constructed.counts_packets(),
                cells: Array::default(),
            }),
            ExternType::V1Register | ExternType::Register => {
                let element = instance.type_arguments.first().copied();
                let element = element.ok_or_else(|| LoadError::internal("type of a register"))?;
                let initial = constructed.initial_value(layout, instance, element);
                let initial = initial.ok_or_else(|| LoadError::internal("type of a register"))?;
                let cells = match FlatArray::of(layout, instance) {
                    Some(array) => Array::over(Words::new(array, &initial)?),
                    None => Array::default(),
                };
                Self::Register(Registers { name, size, initial, cells })
            }
            ExternType::V1DirectCounter | ExternType::DirectCounter => Self::DirectCounter,
            ExternType::V1DirectMeter | ExternType::DirectMeter => {
                Self::DirectMeter { counts_packets: constructed.counts_packets() }
            }
            ExternType::V1ActionProfile | ExternType::ActionProfile => {
                Self::Profile(Profile::new(name, size, None, 0))
            }
            ExternType::V1ActionSelector | ExternType::ActionSelector => {
                let algorithm = constructed.algorithm().unwrap_or(Algorithm::Crc32);
                let width = constructed.numbers.get(1).and_then(|width| u32::try_from(*width).ok());
                Self::Profile(Profile::new(name, size, Some(algorithm), width.unwrap_or(0)))
            }
            ExternType::Hash => Self::Hash { algorithm: constructed.hash_algorithm() },
            ExternType::Checksum => Self::Checksum { algorithm: constructed.hash_algorithm() },
            // This is v1model's checksum unit from before `verify_checksum`.
            ExternType::V1Checksum16 => Self::Checksum { algorithm: Algorithm::OnesComplement16 },
            ExternType::InternetChecksum => Self::InternetChecksum,
            ExternType::Random => {
                let mut ends = constructed.values.iter().cloned();
                let (Some(least), Some(most)) = (ends.next(), ends.next()) else {
                    return Err(LoadError::internal("range of a random number"));
                };
                Self::Random { least, most }
            }
            ExternType::Digest => Self::Digest,
            _ => Self::Other,
        })
    }
}

/// Returns the size with which the program declares an array, a profile or a selector, or 0 if it
/// declares none.
pub(crate) fn declared_size(layout: &Layout, instance: &ExternInstance) -> u64 {
    Constructed::new(layout, instance).size()
}

/// The constructor arguments of an extern instance, identified by their meaning, because
/// architectures give them different names.
struct Constructed {
    numbers: Vec<u64>,
    members: Vec<String>,
    values: Vec<Value>,
}

impl Constructed {
    fn new(layout: &Layout, instance: &ExternInstance) -> Self {
        let mut constructed = Self { numbers: Vec::new(), members: Vec::new(), values: Vec::new() };
        for argument in &instance.arguments {
            let Some(value) = layout.constant(argument.type_id, &argument.value) else { continue };
            if let Some(member) = layout.enum_member(argument.type_id, &value) {
                constructed.members.push(member.to_owned());
            } else if let Some(number) = value.to_pattern() {
                constructed.numbers.push(number.to_u64().unwrap_or(u64::MAX));
            } else if let Value::Integer(number) = &value {
                constructed.numbers.push(u64::try_from(number.clone()).unwrap_or(u64::MAX));
            }
            constructed.values.push(value);
        }
        constructed
    }

    /// Returns the size of an array, a profile or a selector.
    fn size(&self) -> u64 {
        self.numbers.first().copied().unwrap_or(0)
    }

    fn algorithm(&self) -> Option<Algorithm> {
        self.members.first().map(|member| Algorithm::named(member))
    }

    fn hash_algorithm(&self) -> Algorithm {
        self.algorithm().unwrap_or(Algorithm::Unknown(String::new()))
    }

    fn counts_packets(&self) -> bool {
        self.members.iter().any(|member| member.eq_ignore_ascii_case("packets"))
    }

    /// Returns the initial value of a register's elements: the second argument of the constructor
    /// (`initial_value` of PSA), or zero if there is none.
    fn initial_value(
        &self,
        layout: &Layout,
        instance: &ExternInstance,
        element: TypeId,
    ) -> Option<Value> {
        match instance.arguments.get(1) {
            Some(argument) => layout.constant(element, &argument.value),
            None => layout.initial(element).cloned(),
        }
    }
}
