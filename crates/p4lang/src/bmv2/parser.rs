//! Translation of the parser, the deparser and the checksums of BMv2 JSON to the IR.

use std::collections::HashMap;

use num_bigint::BigInt;
use serde_json::Value as Json;

use super::json::{Operation, ParseState};
use super::{Loader, Outcome};
use ir::bits::Bits;
use ir::{
    self, Argument, Composite, CompositeKind, Expression, ExpressionKind, Field, KeySet, Parser,
    ParserId, Place, Projection, SelectCase, State, StateId, StatementKind, Target, Transition,
    Type, Value,
};

impl Loader<'_> {
    /// Translates the parser. If the JSON has none, the result accepts every packet and extracts no
    /// header.
    pub(super) fn parser(&mut self) -> Outcome<ParserId> {
        let document = self.document;
        let parameters = self.block_parameters(&[
            (ir::Direction::Out, self.layout.headers_variable),
            (ir::Direction::InOut, self.layout.metadata_variable),
            (ir::Direction::InOut, self.layout.standard_variable),
        ]);
        let mut states = Vec::new();
        let mut start = StateId(0);
        let mut name = "parser".to_owned();
        if let Some(parser) = document.parsers.first() {
            if !parser.name.is_empty() {
                name.clone_from(&parser.name);
            }
            let positions: HashMap<&str, StateId> = parser
                .parse_states
                .iter()
                .zip(0..)
                .map(|(state, position)| (state.name.as_str(), StateId(position)))
                .collect();
            for state in &parser.parse_states {
                self.part = format!("parser state `{}`", state.name);
                states.push(self.state(state, &positions)?);
            }
            if let Some(first) = &parser.init_state {
                match positions.get(first.as_str()) {
                    Some(position) => start = *position,
                    None => return self.fail(format!("there is no state `{first}`")),
                }
            }
        }
        if states.is_empty() {
            states.push(State {
                name: "start".to_owned(),
                location: None,
                body: Vec::new(),
                transition: Transition::Direct(Target::Accept),
                annotations: Vec::new(),
            });
        }
        let id = ParserId(self.program.parsers.len() as u32);
        self.program.parsers.push(Parser {
            name,
            parameters,
            prologue: Vec::new(),
            states,
            start,
            annotations: Vec::new(),
        });
        Ok(id)
    }

    fn state(&mut self, state: &ParseState, positions: &HashMap<&str, StateId>) -> Outcome<State> {
        let mut transition = Transition::Direct(Target::Accept);
        let body = self.collect(|loader| {
            for operation in &state.parser_ops {
                loader.parser_operation(operation)?;
            }
            transition = loader.transition(state, positions)?;
            Ok(())
        })?;
        Ok(State {
            name: state.name.clone(),
            location: None,
            body,
            transition,
            annotations: Vec::new(),
        })
    }

    fn parser_operation(&mut self, operation: &Operation) -> Outcome {
        match (operation.op.as_str(), operation.parameters.as_slice()) {
            ("extract", [what]) => self.extract(what, None),
            ("extract_VL", [what, width]) => self.extract(what, Some(width)),
            ("set", [target, source]) => {
                let target = self.field(target)?;
                self.assign_field(target, source)
            }
            ("verify", [condition, error]) => {
                let condition = self.boolean(condition)?;
                let error = self.error_value(error)?;
                self.push(StatementKind::Verify { condition, error });
                Ok(())
            }
            ("shift", [bytes]) => {
                let count = match bytes.as_u64().or(bytes.get("value").and_then(Json::as_u64)) {
                    Some(count) => BigInt::from(count),
                    None => match bytes.get("value").and_then(Json::as_str) {
                        Some(text) => self.hex(text)?,
                        None => return self.fail("the length of an advance is not a number"),
                    },
                };
                let bits = self.constant_bits(32, &(count * 8));
                self.push(StatementKind::Advance(bits));
                Ok(())
            }
            ("advance", [bits]) => {
                let bits = self.number(bits, 32)?;
                self.push(StatementKind::Advance(bits));
                Ok(())
            }
            ("primitive", [inner]) => match serde_json::from_value::<Operation>(inner.clone()) {
                Ok(inner) => self.primitive(&inner),
                Err(error) => self.fail(format!("a primitive cannot be read: {error}")),
            },
            (other, parameters) => self.fail(format!(
                "the operation `{other}` with {} parameters is not known",
                parameters.len()
            )),
        }
    }

    fn extract(&mut self, what: &Json, width: Option<&Json>) -> Outcome {
        let (kind, inner) = self.kind(what)?;
        let (place, header_type) = match kind {
            "regular" => {
                let name = inner.as_str().unwrap_or("");
                match self.layout.headers.get(name) {
                    Some(header) => (header.place.clone(), header.type_id),
                    None => return self.fail(format!("there is no header `{name}`")),
                }
            }
            "stack" => {
                let name = inner.as_str().unwrap_or("");
                let known = self.layout.stacks.get(name).cloned();
                let element = known.as_ref().and_then(|stack| self.element_type(stack.type_id));
                match (known, element) {
                    (Some(mut stack), Some(element)) => {
                        stack.place.path.push(Projection::Next);
                        (stack.place, element)
                    }
                    _ => return self.fail(format!("there is no header stack `{name}`")),
                }
            }
            "union_stack" => {
                let text = |at: usize| inner.get(at).and_then(Json::as_str).unwrap_or("");
                let known = self.layout.stacks.get(text(0)).cloned();
                let member = known
                    .as_ref()
                    .and_then(|stack| self.element_type(stack.type_id))
                    .and_then(|union| self.union_member(union, text(1)));
                match (known, member) {
                    (Some(mut stack), Some((position, header))) => {
                        stack.place.path.push(Projection::Next);
                        (stack.place.field(position), header)
                    }
                    _ => return self.fail(format!("there is no header `{}.{}`", text(0), text(1))),
                }
            }
            other => return self.fail(format!("a packet cannot be extracted into a {other}")),
        };
        let varbit_width = match width {
            Some(width) => Some(self.number(width, 32)?),
            None => None,
        };
        self.push(StatementKind::Extract { header: Some(place), header_type, varbit_width });
        Ok(())
    }

    fn transition(
        &mut self,
        state: &ParseState,
        positions: &HashMap<&str, StateId>,
    ) -> Outcome<Transition> {
        let target = |loader: &Self, next: Option<&String>| match next {
            None => Ok(Target::Accept),
            Some(name) => match positions.get(name.as_str()) {
                Some(position) => Ok(Target::State(*position)),
                None => loader.fail(format!("there is no state `{name}`")),
            },
        };
        let mut subjects = Vec::new();
        let mut widths = Vec::new();
        for key in &state.transition_key {
            let range = self.range(key)?;
            subjects.push(self.truncated(key, range.width)?);
            widths.push(range.width);
        }
        let mut cases = Vec::new();
        for transition in &state.transitions {
            let to = target(self, transition.next_state.as_ref())?;
            let kind = transition.kind.as_deref();
            let value = transition.value.as_deref();
            let key_sets = match (kind, value) {
                (Some("default"), _) | (None, Some("default") | None) => {
                    if subjects.is_empty() {
                        return Ok(Transition::Direct(to));
                    }
                    vec![KeySet::Any; subjects.len()]
                }
                (Some("parse_vset"), Some(name)) => {
                    vec![KeySet::ValueSet(self.value_set(name, &widths)?)]
                }
                (_, Some(value)) => {
                    let value = self.hex(value)?;
                    let mask = match &transition.mask {
                        Some(mask) => Some(self.hex(mask)?),
                        None => None,
                    };
                    self.key_sets(&widths, &value, mask.as_ref())
                }
                _ => return self.fail("a transition has no value"),
            };
            cases.push(SelectCase { key_sets, target: to });
        }
        if cases.is_empty() {
            return Ok(Transition::Direct(Target::Accept));
        }
        Ok(Transition::Select { subjects, cases })
    }

    /// Splits the value and the mask of a transition in the JSON into one key set for each field
    /// that the state compares. `widths` are the widths of the fields in bits. In the value, the
    /// fields are concatenated, and each is padded to whole bytes.
    fn key_sets(
        &mut self,
        widths: &[u32],
        value: &BigInt,
        mask: Option<&BigInt>,
    ) -> Vec<KeySet<Expression>> {
        let mut offset = 0_u32;
        let mut sets = Vec::new();
        for width in widths.iter().rev() {
            let part = value >> offset;
            let of = self.constant_bits(*width, &part);
            sets.push(match mask {
                None => KeySet::Exact(of),
                Some(mask) => {
                    let part = mask >> offset;
                    KeySet::Mask { value: of, mask: self.constant_bits(*width, &part) }
                }
            });
            offset += width.div_ceil(8) * 8;
        }
        sets.reverse();
        sets
    }

    /// Returns the value set called `name`. Sets the type of its elements to that of the fields
    /// that the current parser state compares with it.
    fn value_set(&mut self, name: &str, widths: &[u32]) -> Outcome<ir::ValueSetId> {
        let Some(id) = self.value_sets.get(name).copied() else {
            return self.fail(format!("there is no value set `{name}`"));
        };
        let type_id = match widths {
            [width] => self.bit_type(*width),
            _ => {
                let fields = widths
                    .iter()
                    .enumerate()
                    .map(|(position, width)| Field {
                        name: position.to_string(),
                        type_id: self.bit_type(*width),
                        user_type: None,
                        annotations: Vec::new(),
                    })
                    .collect();
                self.program.types.add_composite(Composite {
                    name: format!("{name}_t"),
                    kind: CompositeKind::Tuple,
                    fields,
                    annotations: Vec::new(),
                    location: None,
                })
            }
        };
        if let Some(set) = self.program.value_sets.get_mut(id.index()) {
            set.type_id = type_id;
            set.match_kinds = vec![ir::MatchKind::Exact; widths.len()];
        }
        Ok(id)
    }

    /// Translates the deparser to statements that emit its headers.
    pub(super) fn deparser_body(&mut self) -> Outcome<ir::Block> {
        let document = self.document;
        let Some(deparser) = document.deparsers.first() else { return Ok(Vec::new()) };
        self.part = format!("deparser `{}`", deparser.name);
        self.collect(|loader| {
            for primitive in &deparser.primitives {
                loader.primitive(primitive)?;
            }
            for name in &deparser.order {
                let Some(header) = loader.layout.headers.get(name).cloned() else {
                    return loader.fail(format!("there is no header `{name}`"));
                };
                loader.push(StatementKind::Emit(super::expression::read(header)));
            }
            Ok(())
        })
    }

    /// Translates the checksums to calls of v1model's `verify_checksum` if `verify` is true, and of
    /// `update_checksum` otherwise.
    pub(super) fn checksum_body(&mut self, verify: bool) -> Outcome<ir::Block> {
        let document = self.document;
        self.collect(|loader| {
            for checksum in &document.checksums {
                let wanted = if verify { checksum.verify } else { checksum.update };
                if !wanted.unwrap_or(true) {
                    continue;
                }
                loader.part = format!("checksum `{}`", checksum.name);
                loader.checksum(checksum, verify)?;
            }
            Ok(())
        })
    }

    /// Translates a checksum to a call of the v1model function that verifies or updates it.
    fn checksum(&mut self, checksum: &super::json::Checksum, verify: bool) -> Outcome {
        let condition = match &checksum.if_cond {
            Some(condition) if !condition.is_null() => self.boolean(condition)?,
            _ => Expression {
                type_id: self.program.types.intern(Type::Bool),
                kind: ExpressionKind::Constant(Value::Bool(true)),
            },
        };
        let (data, algorithm, payload) = self.calculation(&checksum.calculation)?;
        let (header, field) = &checksum.target;
        let Some(target) = self.layout.field(header, field, &self.program) else {
            return self.fail(format!("there is no field `{header}.{field}`"));
        };
        let Some(target_type) = self.program.place_type(&target.place) else {
            return self.fail("its target does not exist");
        };
        let algorithm =
            Expression { type_id: self.hash_algorithm, kind: ExpressionKind::Constant(algorithm) };
        let target = if verify {
            Argument::In(Expression {
                type_id: target_type,
                kind: ExpressionKind::Read(target.place),
            })
        } else {
            Argument::InOut(target.place)
        };
        let name = match (verify, payload) {
            (true, false) => "verify_checksum",
            (true, true) => "verify_checksum_with_payload",
            (false, false) => "update_checksum",
            (false, true) => "update_checksum_with_payload",
        };
        let type_arguments = vec![data.type_id, target_type];
        self.push(StatementKind::CallExtern {
            callee: ir::ExternCallee::Function(ir::ExternFunction::named(name)),
            type_arguments,
            arguments: vec![
                Argument::In(condition),
                Argument::In(data),
                target,
                Argument::In(algorithm),
            ],
            result: None,
        });
        Ok(())
    }

    /// Returns the parameters of a parser or control. They refer to the variables that all parsers
    /// and controls share.
    pub(super) fn block_parameters(
        &self,
        list: &[(ir::Direction, ir::VariableId)],
    ) -> Vec<ir::Parameter> {
        list.iter()
            .filter_map(|(direction, variable)| {
                let known = self.program.variables.get(variable.index())?;
                Some(ir::Parameter {
                    name: known.name.clone(),
                    variable: *variable,
                    direction: *direction,
                    type_id: known.type_id,
                })
            })
            .collect()
    }

    /// Returns an expression that reads a place, or `None` if the place does not exist.
    pub(super) fn read_place(&self, place: Place) -> Option<Expression> {
        let type_id = self.program.place_type(&place)?;
        Some(Expression { type_id, kind: ExpressionKind::Read(place) })
    }

    /// Returns a constant of type `bit<width>` for a table entry.
    pub(super) fn bits_value(&self, width: u32, value: &BigInt) -> Value {
        Value::Bits(Bits::from_bigint(width, false, value))
    }
}
