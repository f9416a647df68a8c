//! Executes statements on headers and packets: extraction, `lookahead`, `advance`, `emit`, changes
//! of validity, and shifts of header stacks.

use super::{CoreError, Emitted, Executor, Fill, Stop, Unsupported, unsupported};
use crate::shape::{INDEX, Leaf};
use crate::state::{Outcomes, Special, State};
use crate::term::Term;
use ir::{Architecture, CompositeKind, Expression, Place, Projection, Type, TypeId};

/// The largest number of positions in a packet, or of lengths, that are distinguished at one
/// statement.
pub(crate) const MAXIMUM_POSITIONS: usize = 256;

/// A number of bits that `extract` or `advance` consumes, after the condition under which it does.
type Width = (Term, u64);

impl Executor<'_> {
    /// Calls `step` for each position at which the parser may be, with the state of the packets
    /// that are there. Joins the results.
    fn at_each_position(
        &mut self,
        state: &State,
        mut step: impl FnMut(&mut Self, State, u64) -> Result<Outcomes, Stop>,
    ) -> Result<Outcomes, Stop> {
        let cursor = state.special(Special::Cursor);
        let positions = self.cases(cursor, MAXIMUM_POSITIONS);
        let positions = positions.ok_or_else(|| unsupported("a position in the packet"))?;
        let mut outcomes = Outcomes::default();
        for (condition, position) in positions {
            let Some(here) = state.when(&mut self.terms, condition) else { continue };
            let after = step(self, here, position)?;
            outcomes.add(&mut self.terms, after);
        }
        Ok(outcomes)
    }

    /// Splits a state into the packets that still have this number of bits to parse, and those that
    /// are too short.
    fn split_by_length(&mut self, state: &State, bits: u64) -> (Option<State>, Option<State>) {
        let fits = {
            let packet = self.packet.clone();
            packet.has(&mut self.terms, bits)
        };
        let not = self.terms.not(fits);
        let short = state.when(&mut self.terms, not);
        let short = short.map(|state| self.rejected(state, CoreError::PacketTooShort));
        (state.when(&mut self.terms, fits), short)
    }

    /// Executes `packet.extract` (P4_16 specification, section 13.8).
    pub(crate) fn extract(
        &mut self,
        state: State,
        header: Option<&Place>,
        header_type: TypeId,
        varbit_width: Option<&Expression>,
    ) -> Result<Outcomes, Stop> {
        let place = header.map(|place| self.locate(&state, place)).transpose()?;
        let width = varbit_width.map(|width| self.scalar(&state, width)).transpose()?;
        let widths = match width {
            None => vec![(self.terms.truth(true), 0)],
            Some(width) => self.widths(width, self.largest_varbit(header_type))?,
        };
        let fixed = self.program.types.width_in_bits(header_type);
        let fixed = fixed.ok_or_else(|| unsupported("a header of this type"))?;
        let largest = self.largest_varbit(header_type);
        let mut outcomes = Outcomes::default();
        let mut left = Some(state);
        for (condition, varbits) in widths {
            let Some(all) = left.take() else { break };
            let not = self.terms.not(condition);
            let here = all.when(&mut self.terms, condition);
            left = all.when(&mut self.terms, not);
            let Some(here) = here else { continue };
            let after = self.at_each_position(&here, |executor, state, position| {
                let end = position + fixed + varbits;
                let (fits, short) = executor.split_by_length(&state, end);
                let mut outcomes = Outcomes { rejects: short, ..Outcomes::default() };
                let Some(mut state) = fits else { return Ok(outcomes) };
                if let Some(place) = &place {
                    let mut at = position;
                    let value = executor.unpack(header_type, &mut at, varbits);
                    executor.write(&mut state, place, &value);
                }
                let end = executor.terms.number(32, end.into());
                state.set_special(Special::Cursor, end);
                executor.advance_next(&mut state, header)?;
                outcomes.add(&mut executor.terms, Outcomes::next(state));
                Ok(outcomes)
            })?;
            outcomes.add(&mut self.terms, after);
        }
        // Widths that are larger than the field, or no multiple of 8, are left.
        if let (Some(state), Some(width)) = (left, width) {
            let after = self.at_each_position(&state, |executor, state, position| {
                Ok(executor.unfit(&state, width, position + fixed, largest))
            })?;
            outcomes.add(&mut self.terms, after);
        }
        Ok(outcomes)
    }

    /// Returns the outcomes of an extraction whose `varbit` would have an invalid width. `before`
    /// is the position in the packet at which the header would end if its `varbit` were empty.
    fn unfit(&mut self, state: &State, width: Term, before: u64, largest: u64) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let width = self.terms.resize(width, 64);
        let least = self.terms.number(64, largest.into());
        let larger = self.terms.less(least, width);
        let eighth = self.terms.extract(width, 2, 0);
        let none = self.terms.zero(3);
        let whole = self.terms.equal(eighth, none);
        let odd = self.terms.not(whole);
        // The lengths of packets are far below 2^32, so wider numbers need no exact sum.
        let most = self.terms.number(64, u128::from(u32::MAX));
        let is_huge = self.terms.less(most, width);
        let width = self.terms.if_then_else(is_huge, most, width);
        let before = self.terms.number(64, before.into());
        let end = self.terms.add(before, width);
        let seven = self.terms.number(64, 7);
        let end = self.terms.add(end, seven);
        let three = self.terms.number(64, 3);
        let bytes = self.terms.shift_right(end, three);
        let length = self.terms.zero_extend(self.packet.length, 64);
        let short = self.terms.less(length, bytes);
        let enough = self.terms.not(short);
        let large = self.terms.and(whole, larger);
        for (conditions, error) in [
            (vec![odd], CoreError::ParserInvalidArgument),
            (vec![large, short], CoreError::PacketTooShort),
            (vec![large, enough], CoreError::HeaderTooShort),
        ] {
            let condition = self.terms.all(&conditions);
            if let Some(state) = state.when(&mut self.terms, condition) {
                let rejects = Some(self.rejected(state, error));
                outcomes.add(&mut self.terms, Outcomes { rejects, ..Outcomes::default() });
            }
        }
        outcomes
    }

    /// Returns the possible widths of a `varbit`: the multiples of 8 up to the largest one.
    fn widths(&mut self, width: Term, largest: u64) -> Result<Vec<Width>, Stop> {
        let bits = self.terms.width_of(width);
        let mut found = Vec::new();
        for bytes in 0..=largest / 8 {
            if bits < 64 && (bytes * 8) >> bits != 0 {
                break;
            }
            let wanted = self.terms.number(bits, (bytes * 8).into());
            let equal = self.terms.equal(width, wanted);
            if self.terms.truth_of(equal) != Some(false) {
                found.push((equal, bytes * 8));
            }
        }
        if found.len() > MAXIMUM_POSITIONS {
            return Err(unsupported("a `varbit` of so many widths"));
        }
        Ok(found)
    }

    fn largest_varbit(&self, type_id: TypeId) -> u64 {
        let leaves = self.shapes.leaves(type_id).iter();
        let widths = leaves.filter_map(|leaf| match leaf {
            Leaf::Varbits(width) => Some(u64::from(*width)),
            Leaf::Number(_) | Leaf::Validity | Leaf::Next | Leaf::Length => None,
        });
        widths.max().unwrap_or(0)
    }

    /// Reads a value of a type from the packet, and returns its leaves. `at` is the position in the
    /// packet; it is advanced past the value.
    fn unpack(&mut self, type_id: TypeId, at: &mut u64, varbits: u64) -> Vec<Term> {
        let leaves = self.shapes.leaves(type_id).to_vec();
        let mut value = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            value.push(match leaf {
                Leaf::Validity => self.terms.truth(true),
                Leaf::Next => self.terms.zero(INDEX),
                Leaf::Number(width) => self.take(at, width),
                Leaf::Varbits(width) => {
                    let bits = u32::try_from(varbits).unwrap_or(width).min(width);
                    let read = self.take(at, bits);
                    self.terms.zero_extend(read, width)
                }
                Leaf::Length => self.terms.number(INDEX, varbits.into()),
            });
        }
        value
    }

    fn take(&mut self, at: &mut u64, width: u32) -> Term {
        let packet = self.packet.clone();
        let bits = packet.read(&mut self.terms, *at, width);
        *at += u64::from(width);
        bits
    }

    /// Increments the next index of a header stack after an extraction into `stack.next`.
    fn advance_next(&mut self, state: &mut State, header: Option<&Place>) -> Result<(), Stop> {
        let Some(place) = header else { return Ok(()) };
        let is_next = |projection: &Projection| matches!(projection, Projection::Next);
        let Some(position) = place.path.iter().rposition(is_next) else { return Ok(()) };
        let path = place.path.get(..position).unwrap_or_default().to_vec();
        let stack = self.locate(state, &Place { variable: place.variable, path })?;
        for one in &stack.alternatives {
            let Some(offset) = one.offset else { continue };
            let old = state.leaf(offset);
            let one_more = self.terms.number(INDEX, 1);
            let new = self.terms.add(old, one_more);
            let new = self.terms.if_then_else(one.condition, new, old);
            state.set(offset, new);
        }
        Ok(())
    }

    /// Executes `packet.lookahead`.
    pub(crate) fn lookahead(
        &mut self,
        state: State,
        result: &Place,
        type_id: TypeId,
    ) -> Result<Outcomes, Stop> {
        let place = self.locate(&state, result)?;
        let width = self.program.types.width_in_bits(type_id);
        let width = width.ok_or_else(|| unsupported("a `lookahead` of this type"))?;
        self.at_each_position(&state, |executor, state, position| {
            let (fits, rejects) = executor.split_by_length(&state, position + width);
            let next = fits.map(|mut state| {
                let mut at = position;
                let value = executor.unpack(type_id, &mut at, 0);
                executor.write(&mut state, &place, &value);
                state
            });
            Ok(Outcomes { next, rejects, ..Outcomes::default() })
        })
    }

    /// Executes `packet.advance`.
    pub(crate) fn advance(&mut self, state: State, bits: &Expression) -> Result<Outcomes, Stop> {
        let bits = self.scalar(&state, bits)?;
        let widths = match self.cases(bits, MAXIMUM_POSITIONS) {
            Some(cases) => cases,
            None if self.terms.width_of(bits) <= 8 => {
                let width = self.terms.width_of(bits);
                let all = 0_u64..1 << width;
                let cases = all.map(|number| {
                    let wanted = self.terms.number(width, number.into());
                    (self.terms.equal(bits, wanted), number)
                });
                cases.collect()
            }
            None => return Err(unsupported("an `advance` by a number that is no constant")),
        };
        let mut outcomes = Outcomes::default();
        for (condition, bits) in widths {
            let Some(here) = state.when(&mut self.terms, condition) else { continue };
            // As in BMv2 and PSA, the parser moves by whole bytes.
            if bits % 8 != 0 {
                if self.program.architecture == Architecture::Pna {
                    let reason = "an `advance` to the middle of a byte";
                    self.cut(here.guard, Unsupported::new(reason).to_string(), None);
                    continue;
                }
                let rejects = Some(self.rejected(here, CoreError::ParserInvalidArgument));
                outcomes.add(&mut self.terms, Outcomes { rejects, ..Outcomes::default() });
                continue;
            }
            let after = self.at_each_position(&here, |executor, state, position| {
                let end = position.saturating_add(bits);
                let (fits, rejects) = executor.split_by_length(&state, end);
                let next = fits.map(|mut state| {
                    let end = executor.terms.number(32, end.into());
                    state.set_special(Special::Cursor, end);
                    state
                });
                Ok(Outcomes { next, rejects, ..Outcomes::default() })
            })?;
            outcomes.add(&mut self.terms, after);
        }
        Ok(outcomes)
    }

    /// Executes `packet.emit`.
    pub(crate) fn emit(&mut self, state: &State, expression: &Expression) -> Result<(), Stop> {
        let value = self.value(state, expression)?;
        self.emit_value(state.guard, expression.type_id, &value);
        Ok(())
    }

    /// Emits the fields of a value in order. Headers that are invalid are left out.
    fn emit_value(&mut self, on: Term, type_id: TypeId, value: &[Term]) {
        let part = |offset: usize, size: usize| value.get(offset..offset + size);
        if let Some(elements) = self.shapes.elements(type_id) {
            for index in 0..elements.count {
                if let Some(element) = part(elements.offset(index), elements.stride) {
                    self.emit_value(on, elements.type_id, element);
                }
            }
            return;
        }
        if let Some(kind) = self.shapes.kind(type_id) {
            let on = match (kind, value.first()) {
                (CompositeKind::Header, Some(valid)) => self.terms.and(on, *valid),
                _ => on,
            };
            if self.terms.truth_of(on) == Some(false) {
                return;
            }
            for field in self.shapes.fields(type_id) {
                let size = self.shapes.size(field.type_id);
                if let Some(value) = part(field.offset, size) {
                    self.emit_value(on, field.type_id, value);
                }
            }
            return;
        }
        match (self.program.types.get(type_id), value) {
            (Type::Varbits { .. }, [bits, length]) => {
                self.emitted.push(Emitted { on, value: *bits, length: Some(*length) });
            }
            (_, [value]) => self.emitted.push(Emitted { on, value: *value, length: None }),
            _ => {}
        }
    }

    /// Executes `setValid` or `setInvalid`.
    pub(crate) fn set_validity(
        &mut self,
        state: &mut State,
        header: &Place,
        valid: bool,
    ) -> Result<(), Stop> {
        let place = self.locate(state, header)?;
        let kind = self.shapes.kind(place.type_id);
        for one in &place.alternatives {
            let Some(offset) = one.offset else { continue };
            if kind == Some(CompositeKind::HeaderUnion) {
                for member in self.shapes.fields(place.type_id) {
                    self.set_header(
                        state,
                        member.type_id,
                        offset + member.offset,
                        one.condition,
                        valid,
                    );
                }
                continue;
            }
            let change = self.set_header(state, place.type_id, offset, one.condition, valid);
            let before = state.special(Special::LengthChange);
            let after = self.terms.add(before, change);
            state.set_special(Special::LengthChange, after);
            if valid {
                let validity = self.terms.truth(true);
                self.invalidate_siblings(state, &place, one, validity);
            }
        }
        Ok(())
    }

    /// Makes a header valid or invalid under a condition. If that changes its validity, its fields
    /// become undefined. Returns the number of bytes by which the packet's length changes.
    fn set_header(
        &mut self,
        state: &mut State,
        type_id: TypeId,
        offset: usize,
        condition: Term,
        valid: bool,
    ) -> Term {
        let old = state.leaf(offset);
        let target = self.terms.truth(valid);
        let differs = self.terms.not_equal(old, target);
        let changes = self.terms.and(condition, differs);
        let mut bits = self.terms.zero(32);
        let leaves = self.shapes.leaves(type_id).to_vec();
        for (position, leaf) in leaves.iter().enumerate() {
            let at = offset + position;
            match leaf {
                Leaf::Number(width) => {
                    let width = self.terms.number(32, u128::from(*width));
                    bits = self.terms.add(bits, width);
                }
                Leaf::Length => bits = self.terms.add(bits, state.leaf(at)),
                Leaf::Validity | Leaf::Next | Leaf::Varbits(_) => {}
            }
            if position == 0 {
                continue;
            }
            let fresh = self.initial_leaf(*leaf, Fill::Undefined);
            let kept = self.terms.if_then_else(changes, fresh, state.leaf(at));
            state.set(at, kept);
        }
        let validity = self.terms.if_then_else(condition, target, old);
        state.set(offset, validity);
        let three = self.terms.number(32, 3);
        let bytes = self.terms.shift_right(bits, three);
        let signed = if valid { bytes } else { self.terms.negate(bytes) };
        let nothing = self.terms.zero(32);
        self.terms.if_then_else(changes, signed, nothing)
    }

    /// Executes `push_front` with a positive count, or `pop_front` with a negative one (P4_16
    /// specification, section 8.18).
    pub(crate) fn shift(&mut self, state: &mut State, stack: &Place, by: i64) -> Result<(), Stop> {
        let place = self.locate(state, stack)?;
        let elements = self.shapes.elements(place.type_id);
        let elements = elements.ok_or_else(|| unsupported("a header stack"))?;
        let old = self.read(state, &place);
        let next = old.first().copied().ok_or_else(|| unsupported("a header stack"))?;
        let distance = u32::try_from(by.unsigned_abs()).unwrap_or(u32::MAX);
        let step = self.terms.number(INDEX, distance.into());
        let size = self.terms.number(INDEX, elements.count.into());
        let nothing = self.terms.zero(INDEX);
        let next = if by > 0 {
            let sum = self.terms.saturating_add(next, step, false);
            let beyond = self.terms.less(size, sum);
            self.terms.if_then_else(beyond, size, sum)
        } else {
            let below = self.terms.less(next, step);
            let difference = self.terms.subtract(next, step);
            self.terms.if_then_else(below, nothing, difference)
        };
        let mut value = vec![next];
        for index in 0..elements.count {
            let from = i64::from(index) - by;
            let from = u32::try_from(from).ok().filter(|from| *from < elements.count);
            match from {
                Some(from) => {
                    let at = elements.offset(from);
                    let element = old.get(at..at + elements.stride);
                    value.extend_from_slice(element.unwrap_or_default());
                }
                None => value.extend(self.initial(elements.type_id, Fill::Undefined)),
            }
        }
        self.write(state, &place, &value);
        Ok(())
    }
}
