//! Runs parsers: states, `select`, and the extraction of headers (P4_16 specification, section 13).

use super::{Flow, Interpreter, MAX_STATES, Stop, internal};
use crate::layout::CoreError;
use crate::state::is_member;
use crate::sync::read;
use crate::trace::{Detail, Event};
use crate::value::Value;
use ir::bits::Bits;
use ir::{
    Expression, KeySet, Parser, ParserId, Place, SelectCase, Target, Transition, Type, TypeId,
};
use std::sync::Arc;

impl Interpreter<'_> {
    /// Returns the rejection of a packet with an error that the core library of P4 declares.
    pub(super) fn reject(&self, error: CoreError) -> Stop {
        Stop::Reject(self.layout.names.error(error))
    }

    /// Runs the states of a parser. Its parameters must have been set.
    pub(super) fn parse(&mut self, id: ParserId, parser: &Parser) -> Result<Flow, Stop> {
        match self.block(&parser.prologue)? {
            Flow::Exit => return Ok(Flow::Exit),
            Flow::Next | Flow::Break | Flow::Continue | Flow::Return(_) => {}
        }
        let mut state_id = parser.start;
        for _ in 0..MAX_STATES {
            let state = parser.states.get(state_id.index()).ok_or_else(|| internal("state"))?;
            self.charge(self.layout.costs.of_state(state).map_or(0, u64::from))?;
            self.event(|_| Event::State { parser: id, state: state_id });
            if let Flow::Exit = self.block(&state.body)? {
                return Ok(Flow::Exit);
            }
            let target = match &state.transition {
                Transition::Direct(target) => *target,
                Transition::Select { subjects, cases } => {
                    let chosen = self.selected(subjects, cases)?;
                    if let Some(trace) = &mut self.trace {
                        trace.selected(&parser.name, &state.name, chosen);
                    }
                    self.target(chosen, cases)?
                }
            };
            match target {
                Target::Accept => return Ok(Flow::Next),
                Target::Reject => return Err(self.reject(CoreError::NoError)),
                Target::State(next) => state_id = next,
            }
        }
        Err(self.reject(CoreError::ParserTimeout))
    }

    fn target(&self, chosen: Option<usize>, cases: &[SelectCase]) -> Result<Target, Stop> {
        if let Some(case) = chosen.and_then(|position| cases.get(position)) {
            return Ok(case.target);
        }
        // p4c's back ends for BMv2 make no state for this error, and a parser without a next state
        // ends without an error (`backends/bmv2/simple_switch/midend.cpp` and its counterpart in
        // psa_switch lack `HandleNoMatch`; `src/bm_sim/parser.cpp`, `find_next_state`).
        let is_bmv2 = self.layout.dialect.is_bmv2();
        Err(self.reject(if is_bmv2 { CoreError::NoError } else { CoreError::NoMatch }))
    }

    /// Returns the position of the first case of a `select` that matches, or `None` if none does.
    pub(crate) fn selected(
        &self,
        subjects: &[Expression],
        cases: &[SelectCase],
    ) -> Result<Option<usize>, Stop> {
        let values: Vec<Value> =
            subjects.iter().map(|subject| self.evaluate(subject)).collect::<Result<_, _>>()?;
        for (position, case) in cases.iter().enumerate() {
            if self.case_matches(&values, &case.key_sets)? {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    fn case_matches(
        &self,
        values: &[Value],
        key_sets: &[KeySet<Expression>],
    ) -> Result<bool, Stop> {
        if let [KeySet::Any] = key_sets {
            return Ok(true);
        }
        if let [KeySet::ValueSet(id)] = key_sets {
            return self.in_value_set(values, id.index());
        }
        for (value, key_set) in values.iter().zip(key_sets) {
            if !self.in_key_set(value, key_set)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn in_key_set(&self, value: &Value, key_set: &KeySet<Expression>) -> Result<bool, Stop> {
        let pattern = |value: &Value| value.to_pattern().ok_or_else(|| internal("select"));
        Ok(match key_set {
            KeySet::Any => true,
            KeySet::Exact(wanted) => {
                let wanted = self.evaluate(wanted)?;
                match (value, &wanted) {
                    (Value::Bits(bits), Value::Integer(number)) => bits.to_bigint() == *number,
                    _ => value.language_equal(&wanted),
                }
            }
            KeySet::Mask { value: wanted, mask } => {
                let value = pattern(value)?;
                let wanted = self.key_pattern(wanted, &value)?;
                let mask = self.key_pattern(mask, &value)?;
                value.matches_under(&wanted, &mask)
            }
            KeySet::Range { low, high } => {
                let value = pattern(value)?;
                let low = self.key_pattern(low, &value)?;
                let high = self.key_pattern(high, &value)?;
                value.compare(&low).is_ge() && value.compare(&high).is_le()
            }
            KeySet::ValueSet(id) => self.in_value_set(std::slice::from_ref(value), id.index())?,
        })
    }

    fn key_pattern(&self, expression: &Expression, like: &Bits) -> Result<Bits, Stop> {
        match self.evaluate(expression)? {
            Value::Integer(number) => {
                Ok(Bits::from_bigint(like.width(), like.is_signed(), &number))
            }
            value => value.to_pattern().ok_or_else(|| internal("select")),
        }
    }

    fn in_value_set(&self, values: &[Value], position: usize) -> Result<bool, Stop> {
        let members = self.state.value_sets.get(position).ok_or_else(|| internal("value set"))?;
        let members = Arc::clone(&read(members));
        let mut patterns = Vec::new();
        for value in values {
            value.each_pattern(&mut |bits| patterns.push(bits.clone()));
        }
        Ok(is_member(&members, &patterns))
    }

    /// Runs `packet.extract` (section 13.8).
    pub(super) fn extract(
        &mut self,
        header: Option<&Place>,
        header_type: TypeId,
        varbit_width: Option<&Expression>,
    ) -> Result<(), Stop> {
        if let (Some(place), None) = (header, varbit_width)
            && !self.is_traced(Detail::Steps)
            && let Some(outcome) = self.extract_in_place(place)
        {
            return outcome;
        }
        let place = header.map(|place| self.resolve(place)).transpose()?;
        let varbits = match varbit_width {
            None => None,
            Some(width) => Some(super::place::number(&self.evaluate(width)?)),
        };
        if varbits.is_some_and(|width| width % 8 != 0) {
            return Err(self.reject(CoreError::ParserInvalidArgument));
        }
        let mut cursor = self.cursor;
        let value = self.read_packet(header_type, &mut cursor, varbits.unwrap_or(0))?;
        if varbits.is_some_and(|width| width > self.largest_varbit(header_type)) {
            return Err(self.reject(CoreError::HeaderTooShort));
        }
        self.cursor = cursor;
        self.event(|interpreter| Event::Extract {
            header: match &place {
                Some(place) => interpreter.describe(place).0,
                None => {
                    let composite = interpreter.layout.composite(header_type);
                    composite.map_or_else(String::new, |composite| composite.name.clone())
                }
            },
            value: value.clone(),
            type_id: header_type,
        });
        if let Some(place) = place {
            self.update(&place, |target| *target = value)?;
            self.advance_next(header)?;
        }
        Ok(())
    }

    /// Extracts a header whose fields are all numbers, and reuses its memory. Returns `None`,
    /// without any effect, for other headers.
    fn extract_in_place(&mut self, place: &Place) -> Option<Result<(), Stop>> {
        let (mut cursor, length) = (self.cursor, self.scratch.packet.len() as u64 * 8);
        let Value::Header { fields, .. } = self.fields_mut(place)? else { return None };
        let widths = fields.iter().map(|field| match field {
            Value::Bits(bits) => Some(u64::from(bits.width())),
            Value::Bool(_) => Some(1),
            _ => None,
        });
        let width: u64 = widths.sum::<Option<u64>>()?;
        if cursor.checked_add(width).is_none_or(|end| end > length) {
            return Some(Err(self.reject(CoreError::PacketTooShort)));
        }
        let packet = std::mem::take(&mut self.scratch.packet);
        if let Some(Value::Header { valid, fields }) = self.fields_mut(place) {
            *valid = true;
            for field in fields {
                let (width, signed) = match field {
                    Value::Bits(bits) => (bits.width(), bits.is_signed()),
                    _ => (1, false),
                };
                let Some(read) = Bits::read_packet(&packet, cursor, width, signed) else { break };
                *field = match field {
                    Value::Bool(_) => Value::Bool(!read.is_zero()),
                    _ => Value::Bits(read),
                };
                cursor += u64::from(width);
            }
        }
        self.scratch.packet = packet;
        self.cursor = cursor;
        Some(Ok(()))
    }

    /// Increments the index of a header stack's next element after an extraction into `stack.next`.
    fn advance_next(&mut self, header: Option<&Place>) -> Result<(), Stop> {
        let Some(place) = header else { return Ok(()) };
        let position =
            place.path.iter().rposition(|projection| matches!(projection, ir::Projection::Next));
        let Some(position) = position else { return Ok(()) };
        let stack = Place {
            variable: place.variable,
            path: place.path.get(..position).unwrap_or_default().to_vec(),
        };
        let stack = self.resolve(&stack)?;
        self.update(&stack, |stack| {
            if let Value::Stack { next, .. } = stack {
                *next += 1;
            }
        })
    }

    /// Reads a value of a type from the packet at `cursor`, and advances `cursor` beyond it.
    /// Returns an error if the packet is too short.
    fn read_packet(&self, type_id: TypeId, cursor: &mut u64, varbits: u64) -> Result<Value, Stop> {
        let take = |cursor: &mut u64, width: u32, signed: bool| {
            let bits = Bits::read_packet(&self.scratch.packet, *cursor, width, signed);
            let bits = bits.ok_or_else(|| self.reject(CoreError::PacketTooShort))?;
            *cursor += u64::from(width);
            Ok::<_, Stop>(bits)
        };
        Ok(match self.layout.get(type_id).ok_or_else(|| internal("type"))? {
            Type::Bits { width, signed } => Value::Bits(take(cursor, width, signed)?),
            Type::Bool => Value::Bool(!take(cursor, 1, false)?.is_zero()),
            Type::Varbits { .. } => {
                let width = u32::try_from(varbits).unwrap_or(u32::MAX);
                Value::Varbits(take(cursor, width, false)?)
            }
            Type::Composite(_) => {
                let composite =
                    self.layout.composite(type_id).ok_or_else(|| internal("composite type"))?;
                let mut fields = Vec::with_capacity(composite.fields.len());
                for field in &composite.fields {
                    fields.push(self.read_packet(field.type_id, cursor, varbits)?);
                }
                Value::composite(composite.kind, true, fields)
            }
            Type::Stack { element, size } => {
                let mut elements = Vec::new();
                for _ in 0..size {
                    elements.push(self.read_packet(element, cursor, varbits)?);
                }
                Value::Stack { elements, next: size }
            }
            Type::Error | Type::Enum(_) | Type::Integer | Type::String | Type::ActionRun(_) => {
                return Err(internal("type without a layout in packets"));
            }
        })
    }

    fn largest_varbit(&self, type_id: TypeId) -> u64 {
        let fields = self.layout.composite(type_id).map_or(&[][..], |composite| &composite.fields);
        let widths = fields.iter().filter_map(|field| match self.layout.get(field.type_id) {
            Some(Type::Varbits { max_width }) => Some(u64::from(max_width)),
            Some(Type::Composite(_)) => Some(self.largest_varbit(field.type_id)),
            _ => None,
        });
        widths.max().unwrap_or(0)
    }

    pub(super) fn lookahead(&mut self, result: &Place, type_id: TypeId) -> Result<(), Stop> {
        let mut cursor = self.cursor;
        let value = self.read_packet(type_id, &mut cursor, 0)?;
        let result = self.resolve(result)?;
        self.write(&result, value)
    }

    pub(super) fn advance(&mut self, bits: &Expression) -> Result<(), Stop> {
        let bits = super::place::number(&self.evaluate(bits)?);
        // BMv2 moves by whole bytes. P4 leaves the unit to the target.
        let by_bytes = self.layout.dialect.is_of_switches();
        if by_bytes && !bits.is_multiple_of(8) {
            return Err(self.reject(CoreError::ParserInvalidArgument));
        }
        let end = self.cursor.checked_add(bits);
        match end.filter(|end| *end <= self.scratch.packet.len() as u64 * 8) {
            Some(end) => self.cursor = end,
            None => return Err(self.reject(CoreError::PacketTooShort)),
        }
        Ok(())
    }
}
