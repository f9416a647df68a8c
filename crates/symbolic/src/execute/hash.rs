//! Executes hashes and checksums.
//!
//! The length of a hash's input depends on which of its headers are valid. Therefore, a hash is a
//! choice between the hashes of the inputs of all possible lengths.

use super::externs::Call;
use super::{Executor, Stop, unsupported};
use crate::hash;
use crate::state::{Special, State};
use crate::term::{Operation, Term};
use ir::{Architecture, Argument, Expression, ExpressionKind, Type, TypeId};
use std::collections::BTreeMap;

/// The largest number of different lengths that the input of one hash may have.
const MAXIMUM_LENGTHS: usize = 64;
/// The largest number of bits of a hash's input.
const MAXIMUM_BITS: u32 = 16_384;

/// The input of a hash under a condition.
#[derive(Clone, Debug)]
struct Input {
    condition: Term,
    data: Term,
    /// The validities and lengths that the condition fixes, with their values.
    decided: BTreeMap<Term, u64>,
}

/// A hash or checksum that packets compute, with its data.
#[derive(Clone, Debug)]
pub(crate) struct Hashed {
    pub(crate) algorithm: String,
    pub(crate) data: Term,
    pub(crate) hash: Term,
}

/// A part of a hash's input, such as a field.
struct Item {
    /// Whether the part belongs to the input, which it does not if its header is invalid.
    on: Term,
    bits: Term,
    /// The number of low bits of the part that belong to the input; `None` for all of them.
    length: Option<Term>,
}

impl Executor<'_> {
    /// Executes `hash(result, algorithm, base, data, max)`.
    pub(crate) fn hash_call(&mut self, state: &mut State, call: &Call<'_>) -> Result<(), Stop> {
        let Some(algorithm) = self.member(call, 1).map(str::to_owned) else {
            return Err(unsupported("a hash by an algorithm that is no constant"));
        };
        let base = self.input(state, call, 2)?;
        let base = self.terms.resize(base, 64);
        let max = self.input(state, call, 4)?;
        let max = self.terms.resize(max, 64);
        let holds = self.terms.truth(true);
        let hash = self.hash_of_argument(state, call, 3, &algorithm, holds)?;
        let Some(hash) = hash else {
            let unknown = self.unknown(64);
            return self.output(state, call, 0, unknown);
        };
        let hash = self.terms.resize(hash, 64);
        let zero = self.terms.zero(64);
        let no_range = self.terms.equal(max, zero);
        let within = self.remainder(hash, max);
        let offset = self.terms.if_then_else(no_range, zero, within);
        let sum = self.terms.add(base, offset);
        self.output(state, call, 0, sum)
    }

    /// Returns the remainder of a division. If the divisor is a power of two, the remainder is
    /// computed with a mask.
    pub(super) fn remainder(&mut self, number: Term, divisor: Term) -> Term {
        let known = self.terms.constant_of(divisor).and_then(ir::bits::Bits::to_u64);
        match known {
            Some(known) if known.is_power_of_two() => {
                let mask = self.terms.number(64, u128::from(known - 1));
                self.terms.and(number, mask)
            }
            Some(_) | None => self.terms.remainder(number, divisor),
        }
    }

    /// Executes `verify_checksum` or `update_checksum` of (condition, data, checksum, algorithm).
    pub(crate) fn checksum(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        verifies: bool,
    ) -> Result<(), Stop> {
        let condition = self.input(state, call, 0)?;
        let valid = self.checksum_validity(state, call)?;
        let runs = self.terms.and(condition, valid);
        if self.terms.truth_of(runs) == Some(false) {
            return Ok(());
        }
        let Some(algorithm) = self.member(call, 3).map(str::to_owned) else {
            return Err(unsupported("a checksum by an algorithm that is no constant"));
        };
        let Some(computed) = self.hash_of_argument(state, call, 1, &algorithm, runs)? else {
            return self.unknown_checksum(state, call, runs, verifies);
        };
        let found = self.input(state, call, 2)?;
        if verifies {
            // The numbers are compared in 64 bits, so a checksum that is wider than its field never
            // matches.
            let width = self.terms.width_of(found).max(64);
            let computed = self.terms.resize(computed, 64);
            let computed = self.terms.resize(computed, width);
            let found = self.terms.resize(found, width);
            let differs = self.terms.not_equal(computed, found);
            let wrong = self.terms.and(runs, differs);
            let before = state.special(Special::ChecksumError);
            let after = self.terms.or(before, wrong);
            state.set_special(Special::ChecksumError, after);
            return Ok(());
        }
        let computed = self.terms.resize(computed, self.terms.width_of(found));
        let stored = self.terms.if_then_else(runs, computed, found);
        self.output(state, call, 2, stored)
    }

    /// Executes a checksum that includes the payload, so that its value is unknown.
    pub(crate) fn payload_checksum(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        verifies: bool,
    ) -> Result<(), Stop> {
        let condition = self.input(state, call, 0)?;
        let valid = self.checksum_validity(state, call)?;
        let runs = self.terms.and(condition, valid);
        self.unknown_checksum(state, call, runs, verifies)
    }

    fn unknown_checksum(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        runs: Term,
        verifies: bool,
    ) -> Result<(), Stop> {
        if verifies {
            let wrong = self.unknown(1);
            let wrong = self.terms.and(runs, wrong);
            let before = state.special(Special::ChecksumError);
            let after = self.terms.or(before, wrong);
            state.set_special(Special::ChecksumError, after);
            return Ok(());
        }
        let found = self.input(state, call, 2)?;
        let unknown = self.unknown(self.terms.width_of(found));
        let stored = self.terms.if_then_else(runs, unknown, found);
        self.output(state, call, 2, stored)
    }

    /// Returns whether the field that holds the checksum is in a valid header.
    fn checksum_validity(&mut self, state: &State, call: &Call<'_>) -> Result<Term, Stop> {
        let place = match call.arguments.get(2) {
            Some(Argument::In(expression)) => match &expression.kind {
                ExpressionKind::Read(place) => Some(place),
                _ => None,
            },
            Some(Argument::InOut(place) | Argument::Saved { place, .. }) => Some(place),
            _ => None,
        };
        let Some(place) = place else { return Ok(self.terms.truth(true)) };
        let place = self.locate(state, place)?;
        Ok(self.validity(&place))
    }

    /// Executes `Checksum16.get(data)`, the Internet checksum.
    pub(crate) fn checksum_unit(&mut self, state: &mut State, call: &Call<'_>) -> Result<(), Stop> {
        let holds = self.terms.truth(true);
        let hash = self.hash_of_argument(state, call, 0, "csum16", holds)?;
        let hash = hash.ok_or_else(|| unsupported("a checksum of these data"))?;
        if let Some(place) = call.result {
            let place = self.locate(state, place)?;
            self.write_resized(state, &place, hash);
        }
        Ok(())
    }

    /// Returns the hash of the data in the argument at `position`, for packets that satisfy `when`.
    /// Returns `None` if the hash is not known.
    fn hash_of_argument(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
        algorithm: &str,
        when: Term,
    ) -> Result<Option<Term>, Stop> {
        let Some(inputs) = self.inputs_of_argument(state, call, position, when)? else {
            return Ok(None);
        };
        let mut result: Option<Term> = None;
        for (condition, data) in inputs.into_iter().rev() {
            let Some(hash) = self.hashed(algorithm, data) else { return Ok(None) };
            result = Some(match result {
                None => hash,
                Some(other) => self.terms.if_then_else(condition, hash, other),
            });
        }
        Ok(result)
    }

    /// Returns the hash of data, and records it in the execution. Returns `None` if the hash is not
    /// known.
    pub(super) fn hashed(&mut self, algorithm: &str, data: Term) -> Option<Term> {
        let hash = hash::by_name(&mut self.terms, algorithm, data)?;
        self.hashes.push(Hashed { algorithm: algorithm.to_owned(), data, hash });
        Some(hash)
    }

    /// Returns the data in an argument of a hash, for each length that the data may have. Each
    /// comes after its condition; the conditions exclude each other, and one of them holds. Returns
    /// `None` if there are too many lengths or bits.
    pub(super) fn inputs_of_argument(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
        when: Term,
    ) -> Result<Option<Vec<(Term, Term)>>, Stop> {
        let Some(Argument::In(expression)) = call.arguments.get(position) else {
            return Err(unsupported("data of a hash of this kind"));
        };
        let mut items = Vec::new();
        self.items(state, expression, &mut items)?;
        let Some(inputs) = self.inputs(&items, when) else { return Ok(None) };
        if inputs.iter().any(|input| self.terms.width_of(input.data) > MAXIMUM_BITS) {
            return Ok(None);
        }
        Ok(Some(inputs.into_iter().map(|input| (input.condition, input.data)).collect()))
    }

    /// Returns the input of a hash for each length that its parts may make up. The conditions
    /// exclude each other, and one of them holds. Returns `None` if there are too many lengths or
    /// bits.
    fn inputs(&mut self, items: &[Item], when: Term) -> Option<Vec<Input>> {
        let mut decided = BTreeMap::new();
        for condition in self.conjuncts(when) {
            decided.insert(condition, 1);
        }
        let (condition, data) = (self.terms.truth(true), self.terms.zero(0));
        let mut inputs = vec![Input { condition, data, decided }];
        for item in items {
            let mut longer = Vec::new();
            for input in inputs {
                for mut input in self.split(input, item.on, &[0, 1])? {
                    if input.decided.get(&item.on) == Some(&0) {
                        longer.push(input);
                        continue;
                    }
                    let Some(length) = item.length else {
                        input.data = self.terms.concatenate(input.data, item.bits);
                        longer.push(input);
                        continue;
                    };
                    let cases = self.cases(length, MAXIMUM_LENGTHS)?;
                    let lengths: Vec<u64> = cases.iter().map(|(_, length)| *length).collect();
                    for mut input in self.split(input, length, &lengths)? {
                        let known = input.decided.get(&length).copied().unwrap_or(0);
                        let known = u32::try_from(known).ok()?;
                        let bits = self.terms.resize(item.bits, known);
                        input.data = self.terms.concatenate(input.data, bits);
                        longer.push(input);
                    }
                }
            }
            if longer.len() > MAXIMUM_LENGTHS {
                return None;
            }
            inputs = longer;
        }
        Some(inputs)
    }

    /// Splits an input into one for each value of a term, unless its condition already fixes that
    /// value.
    fn split(&mut self, input: Input, term: Term, values: &[u64]) -> Option<Vec<Input>> {
        if input.decided.contains_key(&term) {
            return Some(vec![input]);
        }
        if let Some(known) = self.terms.constant_of(term) {
            let known = known.to_u64()?;
            let mut input = input;
            input.decided.insert(term, known);
            return Some(vec![input]);
        }
        let width = self.terms.width_of(term);
        let mut split = Vec::with_capacity(values.len());
        for value in values {
            let wanted = self.terms.number(width, (*value).into());
            let equal = self.terms.equal(term, wanted);
            let condition = self.terms.and(input.condition, equal);
            if self.terms.truth_of(condition) == Some(false) {
                continue;
            }
            let mut one = Input { condition, ..input.clone() };
            one.decided.insert(term, *value);
            split.push(one);
        }
        Some(split)
    }

    /// Splits a conjunction into its conditions.
    fn conjuncts(&self, condition: Term) -> Vec<Term> {
        let mut found = Vec::new();
        let mut open = vec![condition];
        while let Some(condition) = open.pop() {
            match self.terms.operation(condition) {
                Operation::And(left, right) if found.len() < 256 => open.extend([left, right]),
                _ => found.push(condition),
            }
        }
        found
    }

    /// Collects the parts of a hash's input. In v1model, fields of invalid headers are left out, as
    /// in BMv2 (`src/bm_sim/calculations.cpp`). In other architectures, such fields are undefined.
    fn items(
        &mut self,
        state: &State,
        expression: &Expression,
        items: &mut Vec<Item>,
    ) -> Result<(), Stop> {
        match &expression.kind {
            ExpressionKind::Composite(fields) => {
                for field in fields {
                    self.items(state, field, items)?;
                }
            }
            ExpressionKind::Read(place) => {
                let place = self.locate(state, place)?;
                let on = self.validity(&place);
                let value = self.read(state, &place);
                self.items_of(on, expression.type_id, &value, items);
            }
            _ => {
                let value = self.value(state, expression)?;
                let on = self.terms.truth(true);
                self.items_of(on, expression.type_id, &value, items);
            }
        }
        Ok(())
    }

    fn items_of(&mut self, on: Term, type_id: TypeId, value: &[Term], items: &mut Vec<Item>) {
        if let Some(elements) = self.shapes.elements(type_id) {
            for index in 0..elements.count {
                let at = elements.offset(index);
                if let Some(element) = value.get(at..at + elements.stride) {
                    self.items_of(on, elements.type_id, element, items);
                }
            }
            return;
        }
        if let Some(kind) = self.shapes.kind(type_id) {
            let on = match (kind, value.first()) {
                (ir::CompositeKind::Header, Some(valid)) => self.terms.and(on, *valid),
                _ => on,
            };
            for field in self.shapes.fields(type_id) {
                let size = self.shapes.size(field.type_id);
                if let Some(value) = value.get(field.offset..field.offset + size) {
                    self.items_of(on, field.type_id, value, items);
                }
            }
            return;
        }
        match (self.program.types.get(type_id), value) {
            (Type::Varbits { .. }, [bits, length]) => {
                items.push(Item { on, bits: *bits, length: Some(*length) });
            }
            (_, [bits]) if self.program.architecture == Architecture::V1model => {
                items.push(Item { on, bits: *bits, length: None });
            }
            (_, [bits]) => {
                let always = self.terms.truth(true);
                let bits = if on == always {
                    *bits
                } else {
                    let unknown = self.undefined(self.terms.width_of(*bits));
                    self.terms.if_then_else(on, *bits, unknown)
                };
                items.push(Item { on: always, bits, length: None });
            }
            _ => {}
        }
    }
}
