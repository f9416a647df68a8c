//! The externs that the architectures declare, as the interpreter implements them.
//!
//! A call is identified by the name of its function, or by the type of its instance and the name of
//! its method. v1model, PSA and PNA share most types under two spellings. Arguments that an extern
//! does not write (for a register read beyond its end) keep their values, as in BMv2.

mod bpf;
pub(crate) mod calls;
pub(crate) mod crc;
mod flat;
pub(crate) mod hash;
pub(crate) mod meter;
mod methods;
mod pna;
pub(crate) mod v1model;

use crate::array::Array;
use crate::error::LoadError;
use crate::interpreter::{Interpreter, Stop, internal};
use crate::layout::{Layout, Member};
use crate::sync::read;
use crate::table::{CounterValue, Profile};
use crate::value::Value;
use hash::Algorithm;
use ir::bits::Bits;
use ir::{Argument, ExternCallee, ExternId, ExternInstance, ExternType, Location, TypeId};
use meter::{Color, Meter};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use calls::known;
pub(crate) use flat::FlatArray;
use flat::{Counts, Words};

/// A call of an extern in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'c> {
    pub(crate) callee: &'c ExternCallee,
    pub(crate) arguments: &'c [Argument],
    pub(crate) location: Option<Location>,
    /// The place for the result.
    pub(crate) result: Option<&'c ir::Place>,
}

/// The state of an extern instance.
#[derive(Debug)]
pub(crate) enum ExternState {
    Counter(Counters),
    Meter(Meters),
    Register(Registers),
    /// The state is in the entries of the table.
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
    /// An extern without methods that have an effect (`PacketReplicationEngine`).
    Other,
}

/// An array of counters. Elements that were never counted take no memory unless the array is flat.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) cells: Array<CounterValue>,
    /// The elements of a flat array, which `cells` accesses too.
    counts: Option<Arc<Counts>>,
}

impl Counters {
    fn new(name: String, size: u64, counts: Option<Arc<Counts>>) -> Self {
        let cells = counts.clone().map_or_else(Array::default, |counts| Array::over(counts));
        Self { name, size, cells, counts }
    }

    /// Counts a packet of `bytes` bytes. Has no effect beyond the end of the array.
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
    /// Returns the colour of a packet, from its length in bytes and its previous colour, or `None`
    /// beyond the end of the array.
    pub(crate) fn execute(
        &self,
        index: u64,
        (length, before): (u64, Color),
        now: Duration,
    ) -> Option<Color> {
        if index >= self.size {
            return None;
        }
        let size = if self.counts_packets { 1 } else { length };
        let color = self.cells.update_written(index, |meter| meter.execute(size, before, now));
        Some(color.unwrap_or(before))
    }
}

/// An array of registers. Elements that were never written take no memory unless the array is flat.
#[derive(Debug)]
pub(crate) struct Registers {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) initial: Value,
    pub(crate) cells: Array<Value>,
}

/// The data of a checksum unit since its block began.
#[derive(Clone, Debug)]
pub(crate) enum ChecksumState {
    /// All data of a `Checksum`.
    Data { bytes: Vec<u8>, used: u32 },
    /// The one's complement sum of an `InternetChecksum`.
    Sum(u16),
}

impl ExternState {
    /// Returns the address of an array's elements if machine code accesses them, otherwise zero.
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Counter(counters) => counters.cells.address(),
            Self::Register(registers) => registers.cells.address(),
            _ => 0,
        }
    }

    /// Creates the initial state of an instance.
    pub(crate) fn new(layout: &Layout, instance: &ExternInstance) -> Result<Self, LoadError> {
        if !layout.program.architecture.may_have_extern(&instance.extern_type) {
            return Ok(Self::Other);
        }
        let constructed = Constructed::new(layout, instance);
        let name = instance.name.clone();
        let size = constructed.numbers.first().copied().unwrap_or(0);
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

/// The constructor arguments by kind, independent of their names in the architecture.
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

    fn algorithm(&self) -> Option<Algorithm> {
        self.members.first().map(|member| Algorithm::named(member))
    }

    fn hash_algorithm(&self) -> Algorithm {
        self.algorithm().unwrap_or(Algorithm::Unknown(String::new()))
    }

    fn counts_packets(&self) -> bool {
        self.members.iter().any(|member| member.eq_ignore_ascii_case("packets"))
    }

    /// Returns the `initial_value` of PSA's registers.
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

impl<'p> Interpreter<'p> {
    /// Returns the value of argument `position` before the call.
    pub(crate) fn input(&self, call: &Call<'_>, position: usize) -> Result<Value, Stop> {
        match call.arguments.get(position) {
            Some(Argument::In(value) | Argument::Saved { value, .. }) => self.evaluate(value),
            Some(Argument::InOut(place) | Argument::Out(place)) => {
                let type_id = self.place_type(place);
                let place = self.resolve(place)?;
                match (self.peek(&place), type_id) {
                    (Some(value), _) => Ok(value.clone()),
                    (None, Some(type_id)) => Ok(self.initial(type_id)?),
                    (None, None) => Err(internal("argument of an extern")),
                }
            }
            _ => Err(internal("argument of an extern")),
        }
    }

    /// Returns the value of an optional argument.
    pub(crate) fn optional_input(
        &self,
        call: &Call<'_>,
        position: usize,
    ) -> Result<Option<Value>, Stop> {
        match call.arguments.get(position) {
            None | Some(Argument::Absent) => Ok(None),
            Some(_) => self.input(call, position).map(Some),
        }
    }

    pub(crate) fn input_number(&self, call: &Call<'_>, position: usize) -> Result<u64, Stop> {
        Ok(match self.input(call, position)? {
            Value::Integer(number) => u64::try_from(number).unwrap_or(u64::MAX),
            value => {
                let pattern =
                    value.to_pattern().ok_or_else(|| internal("argument of an extern"))?;
                pattern.to_u64().unwrap_or(u64::MAX)
            }
        })
    }

    /// Returns the low 64 bits of a number, like BMv2's `Data::get_uint64`.
    pub(crate) fn input_low_bits(&self, call: &Call<'_>, position: usize) -> Result<u64, Stop> {
        let value = self.input(call, position)?;
        let bits = match value {
            Value::Integer(number) => Some(Bits::from_bigint(64, false, &number)),
            value => value.to_pattern(),
        };
        Ok(bits.ok_or_else(|| internal("argument of an extern"))?.low_u64())
    }

    pub(crate) fn input_bool(&self, call: &Call<'_>, position: usize) -> Result<bool, Stop> {
        match self.input(call, position)? {
            Value::Bool(value) => Ok(value),
            _ => Err(internal("argument of an extern")),
        }
    }

    /// Returns the meaning of the enumeration member that argument `position` names.
    pub(crate) fn input_member(&self, call: &Call<'_>, position: usize) -> Result<&Member, Stop> {
        let type_id = match call.arguments.get(position) {
            Some(Argument::In(expression)) => Some(expression.type_id),
            Some(Argument::InOut(place) | Argument::Out(place)) => self.place_type(place),
            Some(Argument::Saved { value, .. }) => Some(value.type_id),
            _ => None,
        };
        let value = self.input(call, position)?;
        let member = type_id.and_then(|type_id| self.layout.member(type_id, &value));
        member.ok_or_else(|| internal("enumeration argument of an extern"))
    }

    /// Writes an `out` or `inout` argument, converted to the type of its place.
    pub(crate) fn output(
        &mut self,
        call: &Call<'_>,
        position: usize,
        value: Value,
    ) -> Result<(), Stop> {
        match call.arguments.get(position) {
            Some(Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. }) => {
                let place = self.resolve(place)?;
                self.write_as(&place, value)
            }
            _ => Ok(()),
        }
    }

    /// Appends the bits of an argument to the input of a hash. In v1model, fields of invalid
    /// headers are left out, as in BMv2 (`src/bm_sim/calculations.cpp`); the externs of psa_switch
    /// include them.
    pub(crate) fn append_data(
        &self,
        expression: &ir::Expression,
        data: &mut Vec<u8>,
        used: &mut u32,
    ) -> Result<(), Stop> {
        use ir::ExpressionKind;
        match &expression.kind {
            ExpressionKind::Composite(fields) => {
                for field in fields {
                    self.append_data(field, data, used)?;
                }
            }
            ExpressionKind::Read(place) => {
                let leaves_out = self.layout.dialect.hashes_valid_headers_only();
                let mut append = |bits: &Bits| *used = bits.append_to_packet(data, *used);
                match self.peek_validity(place) {
                    Some((_, true)) if leaves_out => {}
                    Some((value, _)) => {
                        value.each_pattern(&mut append);
                    }
                    None if leaves_out && self.is_in_invalid_header(place)? => {}
                    None => self.evaluate(expression)?.each_pattern(&mut append),
                }
            }
            _ => {
                let value = self.evaluate(expression)?;
                value.each_pattern(&mut |bits| *used = bits.append_to_packet(data, *used));
            }
        }
        Ok(())
    }

    /// Returns the bits of an argument, padded with zeros at the end to whole bytes.
    pub(crate) fn input_data(&self, call: &Call<'_>, position: usize) -> Result<Vec<u8>, Stop> {
        // Most headers fit this capacity.
        let mut data = Vec::with_capacity(64);
        match call.arguments.get(position) {
            Some(Argument::In(expression)) => self.append_data(expression, &mut data, &mut 8)?,
            Some(Argument::InOut(_) | Argument::Saved { .. }) => {
                self.input(call, position)?.emit(&mut data, &mut 8);
            }
            _ => return Err(internal("argument of an extern")),
        }
        Ok(data)
    }

    /// Like [`Interpreter::input_data`], but pads with zeros at the front, as psa_switch does
    /// (`targets/psa_switch/externs/psa_hash.cpp`).
    pub(crate) fn input_data_to_the_right(
        &self,
        call: &Call<'_>,
        position: usize,
    ) -> Result<Vec<u8>, Stop> {
        let (mut data, mut used) = (Vec::new(), 8);
        match call.arguments.get(position) {
            Some(Argument::In(expression)) => self.append_data(expression, &mut data, &mut used)?,
            _ => return self.input_data(call, position),
        }
        let free = 8 - used.clamp(1, 8);
        if free > 0 {
            let mut above = 0;
            for byte in &mut data {
                let here = *byte;
                *byte = above << (8 - free) | here >> free;
                above = here;
            }
        }
        Ok(data)
    }

    /// Returns the hash of data.
    pub(crate) fn hash(&mut self, algorithm: &Algorithm, data: &[u8]) -> Result<u64, Stop> {
        if *algorithm == Algorithm::Random {
            return Ok(self.random_number(0, u64::MAX));
        }
        let hash = read(&self.state.hashes).hash(algorithm, data);
        hash.ok_or_else(|| algorithm.not_run().into())
    }

    pub(crate) fn extern_state(&self, id: ExternId) -> Result<&'p ExternState, Stop> {
        self.state.externs.get(id.index()).ok_or_else(|| internal("extern instance"))
    }
}
