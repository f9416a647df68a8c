//! Calls of the externs that the architectures declare.
//!
//! A call is identified by the name of its function, or by the type of its instance and the name of
//! its method. Sometimes an extern does not write an `out` argument, such as when a register is
//! read beyond its end. The argument then keeps its value, as in BMv2.

mod bpf;
pub(crate) mod calls;
mod methods;
mod pna;
mod v1model;

use super::{Interpreter, Stop, internal};
use crate::error::RunError;
use crate::externs::ExternState;
use crate::layout::Member;
use crate::sync::read;
use crate::value::{Headers, Value};
use ir::bits::Bits;
use ir::hash::Algorithm;
use ir::{Argument, ExternCallee, ExternId, Location};

/// A call of an extern in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'c> {
    pub(crate) callee: &'c ExternCallee,
    pub(crate) arguments: &'c [Argument],
    pub(crate) location: Option<Location>,
    /// The variable or field that receives the result of the call, if there is one.
    pub(crate) result: Option<&'c ir::Place>,
}

impl<'p> Interpreter<'p> {
    /// Returns the value that the argument at `position` had when the extern was called.
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

    /// Returns the value of an argument that the call may omit, or `None` if it does.
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

    /// Returns the low 64 bits of the number in the argument at `position`, like BMv2's
    /// `Data::get_uint64`.
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

    /// Returns what the enumeration member in the argument at `position` means to the architecture.
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

    /// Stores a value in an `out` or `inout` argument, converted to the argument's type.
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
    /// include them. A whole header has the same bits as a list of its fields.
    pub(crate) fn append_data(
        &self,
        expression: &ir::Expression,
        data: &mut Vec<u8>,
        used: &mut u32,
    ) -> Result<(), Stop> {
        use ir::ExpressionKind;
        let headers = match self.layout.dialect.hashes_valid_headers_only() {
            true => Headers::Valid,
            false => Headers::All,
        };
        let mut append = |bits: &Bits| *used = bits.append_to_packet(data, *used);
        match &expression.kind {
            ExpressionKind::Composite(fields) => {
                for field in fields {
                    self.append_data(field, data, used)?;
                }
            }
            ExpressionKind::Read(place) => {
                let leaves_out = headers == Headers::Valid;
                match self.peek_validity(place) {
                    Some((_, true)) if leaves_out => {}
                    Some((value, _)) => value.each_pattern_of(headers, &mut append),
                    None if leaves_out && self.is_in_invalid_header(place)? => {}
                    None => self.evaluate(expression)?.each_pattern_of(headers, &mut append),
                }
            }
            _ => self.evaluate(expression)?.each_pattern_of(headers, &mut append),
        }
        Ok(())
    }

    /// Returns the bits of an argument as the input of a hash, with zeros appended to fill the last
    /// byte.
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

    /// Returns the bits of an argument like [`Interpreter::input_data`], but with zeros in front to
    /// fill the first byte, as psa_switch does (`targets/psa_switch/externs/psa_hash.cpp`).
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

    /// Returns the hash of `data` by an algorithm, or an error if this crate does not implement the
    /// algorithm.
    pub(crate) fn hash(&mut self, algorithm: &Algorithm, data: &[u8]) -> Result<u64, Stop> {
        if *algorithm == Algorithm::Random {
            return Ok(self.random_number(0, u64::MAX));
        }
        let hash = read(&self.state.hashes).hash(algorithm, data);
        hash.ok_or_else(|| RunError::algorithm(algorithm).into())
    }

    pub(crate) fn extern_state(&self, id: ExternId) -> Result<&'p ExternState, Stop> {
        self.state.externs.get(id.index()).ok_or_else(|| internal("extern instance"))
    }
}
