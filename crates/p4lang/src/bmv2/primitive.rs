//! Translation of actions and their primitive operations to the IR. The operations of p4c's v1model
//! back end and those of P4_14 are supported.

use serde_json::Value as Json;

use super::expression::{cast, read};
use super::flow::{self, Next, Node};
use super::headers::{FieldKind, FieldPlace};
use super::json::Operation;
use super::{Loader, Outcome};
use ir::{
    self, Action, ActionId, ActionParameter, ActionScope, Annotation, AnnotationBody, Argument,
    Composite, CompositeKind, Expression, ExpressionKind, ExternCallee, Field, Place,
    StatementKind, Type, TypeId, Value,
};

impl Loader<'_> {
    /// Translates all actions. Actions without parameters that have equal names and bodies become
    /// one action.
    pub(super) fn actions(&mut self) -> Outcome {
        let document = self.document;
        for action in &document.actions {
            self.part = format!("action `{}`", action.name);
            let mut parameters = Vec::new();
            self.runtime_data.clear();
            for data in &action.runtime_data {
                if data.bitwidth > 1 << 16 {
                    return self.fail(format!("parameter `{}` is too wide", data.name));
                }
                let type_id = self.bit_type(data.bitwidth);
                let variable = self.variable(&data.name, type_id);
                self.runtime_data.push((variable, data.bitwidth));
                parameters.push(ActionParameter {
                    name: data.name.clone(),
                    variable,
                    direction: None,
                    type_id,
                    user_type: None,
                    reference: false,
                    annotations: Vec::new(),
                });
            }
            let body = self.action_body(&action.primitives)?;
            let same = self.program.actions.iter().position(|known| {
                known.name == action.name
                    && known.parameters.is_empty()
                    && parameters.is_empty()
                    && bodies_equal(&known.body, &body)
            });
            let id = match same {
                Some(position) => ActionId(position as u32),
                None => {
                    let id = ActionId(self.program.actions.len() as u32);
                    let source = action.primitives.first().and_then(|of| of.source_info.as_ref());
                    let location = self.location(source);
                    self.program.actions.push(Action {
                        name: action.name.clone(),
                        parameters,
                        body,
                        scope: ActionScope::Program,
                        location,
                        annotations: Vec::new(),
                    });
                    id
                }
            };
            self.actions.insert(action.id, id);
        }
        self.runtime_data.clear();
        Ok(())
    }

    /// Adds the annotation `@hidden` to an action that the compiler generated.
    pub(super) fn hide_action(&mut self, id: ActionId) {
        if let Some(action) = self.program.actions.get_mut(id.index())
            && action.annotations.is_empty()
        {
            action
                .annotations
                .push(Annotation { name: "hidden".to_owned(), body: AnnotationBody::Empty });
        }
    }

    /// Translates the primitive operations of an action. Forward jumps among the operations become
    /// branches.
    fn action_body(&mut self, primitives: &[Operation]) -> Outcome<ir::Block> {
        let jumps = primitives.iter().any(|of| matches!(of.op.as_str(), "_jump" | "_jump_if_zero"));
        if !jumps {
            return self.collect(|loader| {
                primitives.iter().try_for_each(|primitive| loader.primitive(primitive))
            });
        }
        let mut nodes = Vec::new();
        for (position, primitive) in primitives.iter().enumerate() {
            let after = Some(position + 1).filter(|next| *next < primitives.len());
            let target = |loader: &Self, at: usize| -> Outcome<Option<usize>> {
                let offset = primitive.parameters.get(at).and_then(|of| loader.jump_target(of));
                match offset {
                    Some(offset) if offset <= position => {
                        loader.fail("it jumps back, and loops are not supported")
                    }
                    Some(offset) => Ok(Some(offset).filter(|offset| *offset < primitives.len())),
                    None => loader.fail("a jump has no target"),
                }
            };
            let (body, next) = match primitive.op.as_str() {
                "_jump" => (Vec::new(), Next::Always(target(self, 0)?)),
                "_jump_if_zero" => {
                    let no = target(self, 1)?;
                    let mut condition = None;
                    let body = self.collect(|loader| {
                        let Some(value) = primitive.parameters.first() else {
                            return loader.fail("a jump has no condition");
                        };
                        condition = Some(loader.boolean(value)?);
                        Ok(())
                    })?;
                    match condition {
                        Some(condition) => (body, Next::If { condition, yes: after, no }),
                        None => (body, Next::Always(after)),
                    }
                }
                _ => {
                    let body = self.collect(|loader| loader.primitive(primitive))?;
                    (body, Next::Always(after))
                }
            };
            nodes.push(Node { body, next });
        }
        flow::structured(&nodes, Some(0)).or_else(|problem| self.fail(problem))
    }

    fn jump_target(&self, value: &Json) -> Option<usize> {
        match self.kind(value).ok()? {
            ("hexstr", inner) => usize::try_from(self.hex(inner.as_str()?).ok()?).ok(),
            (_, inner) => usize::try_from(inner.as_u64()?).ok(),
        }
    }

    /// Adds a statement that assigns a value to a field.
    pub(super) fn assign_field(&mut self, target: FieldPlace, value: &Json) -> Outcome {
        match target.kind {
            FieldKind::Bits { width, signed } => {
                let value = self.truncated(value, width)?;
                let type_id = self.program.types.intern(Type::Bits { width, signed });
                let value = cast(value, type_id);
                self.push(StatementKind::Assign { place: target.place, value });
                Ok(())
            }
            FieldKind::Varbits => {
                let source = self.field(value)?;
                let type_id = self.type_of(&source.place)?;
                let value = Expression { type_id, kind: ExpressionKind::Read(source.place) };
                self.push(StatementKind::Assign { place: target.place, value });
                Ok(())
            }
            FieldKind::Error => {
                let value = self.error_value(value)?;
                self.push(StatementKind::Assign { place: target.place, value });
                Ok(())
            }
        }
    }

    /// Converts the number of an error in the JSON to an expression of type `error`.
    pub(super) fn error_value(&mut self, value: &Json) -> Outcome<Expression> {
        let type_id = self.program.types.intern(Type::Error);
        if let Ok(("hexstr", inner)) = self.kind(value) {
            let code = self.hex(inner.as_str().unwrap_or(""))?;
            let position = self
                .layout
                .error_codes
                .iter()
                .position(|known| num_bigint::BigInt::from(*known) == code);
            return match position {
                Some(position) => Ok(Expression {
                    type_id,
                    kind: ExpressionKind::Constant(Value::Error(position as u32)),
                }),
                None => self.fail(format!("there is no error number {code}")),
            };
        }
        // The number depends on the packet, so the translation compares it with the number of each
        // error.
        let number = self.truncated(value, 32)?;
        let bool_type = self.program.types.intern(Type::Bool);
        let constant = |position: usize| Expression {
            type_id,
            kind: ExpressionKind::Constant(Value::Error(position as u32)),
        };
        let mut result = constant(0);
        for (position, code) in self.layout.error_codes.clone().into_iter().enumerate().rev() {
            let code = self.constant_bits(32, &code.into());
            let condition = Expression {
                type_id: bool_type,
                kind: ExpressionKind::Binary(
                    ir::BinaryOperator::Equal,
                    Box::new(number.clone()),
                    Box::new(code),
                ),
            };
            result = Expression {
                type_id,
                kind: ExpressionKind::Conditional {
                    condition: Box::new(condition),
                    then: Box::new(constant(position)),
                    otherwise: Box::new(result),
                },
            };
        }
        Ok(result)
    }

    fn type_of(&self, place: &Place) -> Outcome<TypeId> {
        match self.program.place_type(place) {
            Some(type_id) => Ok(type_id),
            None => self.fail("a primitive writes to a field that does not exist"),
        }
    }

    fn standard_metadata(&self) -> Argument {
        Argument::InOut(Place::variable(self.layout.standard_variable))
    }

    fn extern_function(
        &mut self,
        name: &str,
        type_arguments: Vec<TypeId>,
        arguments: Vec<Argument>,
    ) {
        self.push(StatementKind::CallExtern {
            callee: ExternCallee::Function(ir::ExternFunction::named(name)),
            type_arguments,
            arguments,
            result: None,
        });
    }

    fn extern_method(&mut self, object: &Json, method: &str, arguments: Vec<Argument>) -> Outcome {
        let (_, name) = self.kind(object)?;
        let name = name.as_str().unwrap_or("");
        let Some(instance) = self.externs.get(name).copied() else {
            return self.fail(format!("there is no object `{name}`"));
        };
        self.push(StatementKind::CallExtern {
            callee: ExternCallee::Method { instance, method: ir::ExternMethod::named(method) },
            type_arguments: Vec::new(),
            arguments,
            result: None,
        });
        Ok(())
    }

    /// Returns an `out` argument that stores the result of a call in a field, and the type of the
    /// argument. Only fields of type `bit` or `int` are supported.
    fn out(&mut self, field: &FieldPlace) -> Outcome<(Argument, TypeId)> {
        match field.kind {
            FieldKind::Bits { width, signed } => {
                let type_id = self.program.types.intern(Type::Bits { width, signed });
                Ok((Argument::Out(field.place.clone()), type_id))
            }
            _ => self.fail("a result cannot go into this field"),
        }
    }

    fn clone_type(&self, member: u32) -> Argument {
        Argument::In(Expression {
            type_id: self.clone_type,
            kind: ExpressionKind::Constant(Value::Enum(member)),
        })
    }

    /// Returns the number of the field list to which an operand of a primitive operation refers, or
    /// `None` if there is no such list.
    fn field_list(&mut self, value: Option<&Json>) -> Outcome<Option<u64>> {
        let Some(value) = value else { return Ok(None) };
        let (_, inner) = self.kind(value)?;
        let number = match inner {
            Json::String(text) => u64::try_from(self.hex(text)?).ok(),
            other => other.as_u64(),
        };
        Ok(number.filter(|number| self.document.field_lists.iter().any(|list| list.id == *number)))
    }

    /// Returns a number that none of the program's field lists has. It stands for an empty field
    /// list.
    fn empty_list(&self) -> u64 {
        let lists = &self.document.field_lists;
        lists.iter().map(|list| list.id).max().map_or(0, |last| last.saturating_add(1))
    }

    fn list_argument(&mut self, list: u64) -> Argument {
        Argument::In(self.constant_bits(32, &list.into()))
    }

    /// Builds an expression for a tuple or struct from the names and values of its fields.
    fn tuple(
        &mut self,
        name: &str,
        kind: CompositeKind,
        values: Vec<(String, Expression)>,
    ) -> Expression {
        let fields: Vec<Field> = values
            .iter()
            .map(|(name, value)| Field {
                name: name.clone(),
                type_id: value.type_id,
                user_type: None,
                annotations: Vec::new(),
            })
            .collect();
        let known = self.program.types.composites.iter().position(|known| {
            known.kind == kind && known.fields == fields && (name.is_empty() || known.name == name)
        });
        let type_id = match known {
            Some(position) => {
                self.program.types.intern(Type::Composite(ir::CompositeId(position as u32)))
            }
            None => {
                let name = if name.is_empty() {
                    format!("tuple_{}", self.program.types.composites.len())
                } else {
                    name.to_owned()
                };
                self.program.types.add_composite(Composite {
                    name,
                    kind,
                    fields,
                    annotations: Vec::new(),
                    location: None,
                })
            }
        };
        Expression {
            type_id,
            kind: ExpressionKind::Composite(values.into_iter().map(|(_, value)| value).collect()),
        }
    }

    /// Returns the inputs of the hash or checksum computation `name` as a tuple, its algorithm, and
    /// whether the payload of the packet is an input too.
    pub(super) fn calculation(&mut self, name: &str) -> Outcome<(Expression, Value, bool)> {
        let document = self.document;
        let Some(calculation) = document.calculations.iter().find(|known| known.name == name)
        else {
            return self.fail(format!("there is no calculation `{name}`"));
        };
        let algorithm = self.hash_algorithm(&calculation.algo)?;
        let mut values = Vec::new();
        let mut payload = false;
        for input in &calculation.input {
            match self.kind(input)?.0 {
                "payload" => payload = true,
                "header" => values.push(read(self.header(input)?)),
                "hexstr" => {
                    let width = input
                        .get("bitwidth")
                        .and_then(Json::as_u64)
                        .and_then(|width| u32::try_from(width).ok());
                    let width = match width {
                        Some(width) => width.min(1 << 16),
                        None => self.range(input)?.width,
                    };
                    values.push(self.truncated(input, width)?);
                }
                "field" | "stack_field" => {
                    let field = self.field(input)?;
                    match field.kind {
                        FieldKind::Error => values.push(self.truncated(input, 32)?),
                        _ => {
                            let type_id = self.type_of(&field.place)?;
                            let kind = ExpressionKind::Read(field.place);
                            values.push(Expression { type_id, kind });
                        }
                    }
                }
                _ => {
                    let width = self.range(input)?.width;
                    values.push(self.truncated(input, width)?);
                }
            }
        }
        let named =
            values.into_iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect();
        Ok((self.tuple("", CompositeKind::Tuple, named), algorithm, payload))
    }

    pub(super) fn primitive(&mut self, primitive: &Operation) -> Outcome {
        let mark = self.block.len();
        self.primitive_statements(primitive)?;
        let location = self.location(primitive.source_info.as_ref());
        for statement in self.block.iter_mut().skip(mark) {
            statement.location = location;
        }
        Ok(())
    }

    fn primitive_statements(&mut self, primitive: &Operation) -> Outcome {
        let parameters = primitive.parameters.as_slice();
        match (primitive.op.as_str(), parameters) {
            ("assign" | "assign_VL" | "modify_field", [target, source]) => {
                let target = self.field(target)?;
                self.assign_field(target, source)
            }
            ("modify_field", [target, source, mask]) => {
                // target = (target & ~mask) | (source & mask)
                let field = self.field(target)?;
                let FieldKind::Bits { width, .. } = field.kind else {
                    return self.fail("only numbers have masks");
                };
                let old = self.truncated(target, width)?;
                let new = self.truncated(source, width)?;
                let mask = self.truncated(mask, width)?;
                let type_id = old.type_id;
                let binary = |operator, left: Expression, right: Expression| Expression {
                    type_id,
                    kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
                };
                let keep = Expression {
                    type_id,
                    kind: ExpressionKind::Unary(
                        ir::UnaryOperator::Complement,
                        Box::new(mask.clone()),
                    ),
                };
                let old = binary(ir::BinaryOperator::BitAnd, old, keep);
                let new = binary(ir::BinaryOperator::BitAnd, new, mask);
                self.assign_bits(&field, binary(ir::BinaryOperator::BitOr, old, new));
                Ok(())
            }
            ("add_to_field" | "subtract_from_field", [target, amount]) => {
                let operator = if primitive.op == "add_to_field" {
                    ir::BinaryOperator::Add
                } else {
                    ir::BinaryOperator::Subtract
                };
                self.compute(target, operator, target, amount)
            }
            (
                "add" | "subtract" | "bit_xor" | "bit_or" | "bit_and" | "shift_left",
                [target, left, right],
            ) => {
                let operator = match primitive.op.as_str() {
                    "add" => ir::BinaryOperator::Add,
                    "subtract" => ir::BinaryOperator::Subtract,
                    "bit_xor" => ir::BinaryOperator::BitXor,
                    "bit_or" => ir::BinaryOperator::BitOr,
                    "bit_and" => ir::BinaryOperator::BitAnd,
                    _ => ir::BinaryOperator::ShiftLeft,
                };
                self.compute(target, operator, left, right)
            }
            ("shift_right", [target, left, right]) => {
                let expression = serde_json::json!({
                    "type": "expression",
                    "value": {"op": ">>", "left": left, "right": right},
                });
                let target = self.field(target)?;
                self.assign_field(target, &expression)
            }
            ("no_op", _) => Ok(()),
            (
                "assign_header"
                | "assign_union"
                | "assign_header_stack"
                | "assign_union_stack"
                | "copy_header"
                | "copy_stack",
                [target, source],
            ) => self.copy(target, source),
            ("add_header" | "remove_header", [header]) => {
                let header = self.header(header)?;
                let valid = primitive.op == "add_header";
                self.push(StatementKind::SetValidity { header: header.place, valid });
                Ok(())
            }
            ("push" | "pop", [stack, count]) => {
                let stack = self.stack(stack)?.place;
                let (_, inner) = self.kind(count)?;
                let count = match inner {
                    Json::String(text) => u32::try_from(self.hex(text)?).ok(),
                    other => other.as_u64().and_then(|count| u32::try_from(count).ok()),
                };
                let Some(count) = count else {
                    return self.fail("an argument is not a constant");
                };
                self.push(if primitive.op == "push" {
                    StatementKind::PushFront { stack, count }
                } else {
                    StatementKind::PopFront { stack, count }
                });
                Ok(())
            }
            ("exit", _) => {
                self.push(StatementKind::Exit);
                Ok(())
            }
            ("assert" | "assume", [condition, ..]) => {
                let condition = self.boolean(condition)?;
                self.extern_function(&primitive.op, Vec::new(), vec![Argument::In(condition)]);
                Ok(())
            }
            ("log_msg", [message, rest @ ..]) => self.log_message(message, rest.first()),
            ("drop" | "mark_to_drop", _) => {
                let standard = self.standard_metadata();
                self.extern_function("mark_to_drop", Vec::new(), vec![standard]);
                Ok(())
            }
            ("truncate", [length]) => {
                let length = self.number(length, 32)?;
                self.extern_function("truncate", Vec::new(), vec![Argument::In(length)]);
                Ok(())
            }
            (
                "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress",
                [session, rest @ ..],
            ) => {
                let member = u32::from(primitive.op == "clone_egress_pkt_to_egress");
                let kind = self.clone_type(member);
                let session = Argument::In(self.number(session, 32)?);
                match self.field_list(rest.first())? {
                    Some(list) => {
                        let list = self.list_argument(list);
                        self.extern_function(
                            "clone_preserving_field_list",
                            Vec::new(),
                            vec![kind, session, list],
                        );
                    }
                    None => self.extern_function("clone", Vec::new(), vec![kind, session]),
                }
                Ok(())
            }
            ("resubmit" | "recirculate", rest) => {
                let list = match self.field_list(rest.first())? {
                    Some(list) => list,
                    None => self.empty_list(),
                };
                let name = format!("{}_preserving_field_list", primitive.op);
                let list = self.list_argument(list);
                self.extern_function(&name, Vec::new(), vec![list]);
                Ok(())
            }
            ("generate_digest", [receiver, list]) => self.digest(receiver, list),
            ("modify_field_rng_uniform", [target, low, high]) => {
                let field = self.field(target)?;
                let FieldKind::Bits { width, signed } = field.kind else {
                    return self.fail("only numbers can be random");
                };
                let (out, type_id) = self.out(&field)?;
                let number = self.program.types.intern(Type::Bits { width, signed });
                let low = cast(self.truncated(low, width)?, number);
                let high = cast(self.truncated(high, width)?, number);
                let arguments = vec![out, Argument::In(low), Argument::In(high)];
                self.extern_function("random", vec![type_id], arguments);
                Ok(())
            }
            ("modify_field_with_hash_based_offset", [target, base, calculation, size]) => {
                let field = self.field(target)?;
                let (out, out_type) = self.out(&field)?;
                let name = self.kind(calculation)?.1.as_str().unwrap_or("").to_owned();
                let (data, algorithm, _) = self.calculation(&name)?;
                let base_width = self.range(base)?.width;
                let base = self.truncated(base, base_width)?;
                let size_width = self.range(size)?.width;
                let size = self.truncated(size, size_width)?;
                let algorithm = Expression {
                    type_id: self.hash_algorithm,
                    kind: ExpressionKind::Constant(algorithm),
                };
                let types = vec![out_type, base.type_id, data.type_id, size.type_id];
                let arguments = vec![
                    out,
                    Argument::In(algorithm),
                    Argument::In(base),
                    Argument::In(data),
                    Argument::In(size),
                ];
                self.extern_function("hash", types, arguments);
                Ok(())
            }
            ("count", [counter, index]) => {
                let index = self.number(index, 32)?;
                self.extern_method(counter, "count", vec![Argument::In(index)])
            }
            ("execute_meter", [meter, index, target]) => {
                let index = self.number(index, 32)?;
                let field = self.field(target)?;
                let (out, _) = self.out(&field)?;
                self.extern_method(meter, "execute_meter", vec![Argument::In(index), out])
            }
            ("register_read", [target, register, index]) => {
                let field = self.field(target)?;
                let index = self.number(index, 32)?;
                self.register_read(&field, register, index)
            }
            ("register_write", [register, index, value]) => {
                let index = self.number(index, 32)?;
                let width = self.object_width(register)?;
                let value = self.truncated(value, width)?;
                self.extern_method(
                    register,
                    "write",
                    vec![Argument::In(index), Argument::In(value)],
                )
            }
            (other, _) => self.fail(format!(
                "the primitive `{other}` with {} parameters is not supported",
                parameters.len()
            )),
        }
    }

    fn assign_bits(&mut self, field: &FieldPlace, value: Expression) {
        let FieldKind::Bits { width, signed } = field.kind else { return };
        let type_id = self.program.types.intern(Type::Bits { width, signed });
        let value = cast(value, type_id);
        self.push(StatementKind::Assign { place: field.place.clone(), value });
    }

    fn compute(
        &mut self,
        target: &Json,
        operator: ir::BinaryOperator,
        left: &Json,
        right: &Json,
    ) -> Outcome {
        let field = self.field(target)?;
        let FieldKind::Bits { width, .. } = field.kind else {
            return self.fail("a computation is applied to something that is not a number");
        };
        let left = self.truncated(left, width)?;
        let right_width = if operator == ir::BinaryOperator::ShiftLeft {
            self.range(right)?.width
        } else {
            width
        };
        let right = self.truncated(right, right_width)?;
        let value = Expression {
            type_id: left.type_id,
            kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
        };
        self.assign_bits(&field, value);
        Ok(())
    }

    /// Translates the copying of a header, header union or stack. A metadata header is copied field
    /// by field.
    fn copy(&mut self, target: &Json, source: &Json) -> Outcome {
        let metadata = |loader: &Self, value: &Json| -> Option<(String, Vec<String>)> {
            let ("header", inner) = loader.kind(value).ok()? else { return None };
            let name = inner.as_str()?;
            let fields = loader.layout.metadata_headers.get(name)?;
            Some((name.to_owned(), fields.clone()))
        };
        if let (Some((to, names)), Some((from, _))) =
            (metadata(self, target), metadata(self, source))
        {
            for name in names {
                let to = serde_json::json!({"type": "field", "value": [to, name]});
                let from = serde_json::json!({"type": "field", "value": [from, name]});
                let field = self.field(&to)?;
                self.assign_field(field, &from)?;
            }
            return Ok(());
        }
        let target = self.whole(target)?;
        let source = self.whole(source)?;
        if target.type_id != source.type_id {
            return self.fail("a value is copied between different types");
        }
        self.push(StatementKind::Assign { place: target.place, value: read(source) });
        Ok(())
    }

    fn log_message(&mut self, message: &Json, values: Option<&Json>) -> Outcome {
        let type_id = self.program.types.intern(Type::String);
        let text = self.kind(message)?.1.as_str().unwrap_or("").to_owned();
        let text = Argument::In(Expression {
            type_id,
            kind: ExpressionKind::Constant(Value::String(text)),
        });
        let list = match values {
            Some(values) => self.kind(values)?.1.as_array().cloned().unwrap_or_default(),
            None => Vec::new(),
        };
        if list.is_empty() {
            self.extern_function("log_msg", Vec::new(), vec![text]);
            return Ok(());
        }
        let data = self.logged_list(&list)?;
        let types = vec![data.type_id];
        self.extern_function("log_msg", types, vec![text, Argument::In(data)]);
        Ok(())
    }

    fn logged_list(&mut self, list: &[Json]) -> Outcome<Expression> {
        let mut values = Vec::new();
        for (position, value) in list.iter().enumerate() {
            values.push((position.to_string(), self.logged(value)?));
        }
        Ok(self.tuple("", CompositeKind::Tuple, values))
    }

    /// Translates a value that `log_msg` prints. A header is printed as a whole, but a metadata
    /// header as a list of its fields.
    fn logged(&mut self, value: &Json) -> Outcome<Expression> {
        if let Json::Array(list) = value {
            return self.logged_list(list);
        }
        let (kind, inner) = self.kind(value)?;
        let name = inner.as_str().unwrap_or("");
        if let ("header", Some(fields)) = (kind, self.layout.metadata_headers.get(name)) {
            let fields = fields.iter().filter(|field| !field.starts_with("_padding"));
            let fields: Vec<Json> = fields
                .map(|field| serde_json::json!({"type": "field", "value": [name, field]}))
                .collect();
            return self.logged_list(&fields);
        }
        if matches!(kind, "header" | "header_stack" | "header_union" | "header_union_stack") {
            return self.whole(value).map(read);
        }
        let range = self.range(value)?;
        let bits = self.truncated(value, range.width)?;
        let own =
            self.program.types.intern(Type::Bits { width: range.width, signed: range.signed });
        Ok(cast(bits, own))
    }

    fn digest(&mut self, receiver: &Json, list: &Json) -> Outcome {
        let receiver = self.number(receiver, 32)?;
        let (_, inner) = self.kind(list)?;
        let id = match inner {
            Json::String(text) => u64::try_from(self.hex(text)?).ok(),
            other => other.as_u64(),
        };
        let document = self.document;
        let Some(list) = document.learn_lists.iter().find(|list| Some(list.id) == id) else {
            return self.fail("a digest has a learn list that does not exist");
        };
        let mut values = Vec::new();
        for (position, element) in list.elements.iter().enumerate() {
            let name = super::headers::field_name(element).map_or_else(
                || position.to_string(),
                |(header, field)| format!("{header}.{field}"),
            );
            let width = self.range(element)?.width;
            values.push((name, self.truncated(element, width)?));
        }
        let data = self.tuple(&list.name, CompositeKind::Struct, values);
        let types = vec![data.type_id];
        let arguments = vec![Argument::In(receiver), Argument::In(data)];
        self.extern_function("digest", types, arguments);
        Ok(())
    }

    /// Returns the width in bits of a register's elements.
    fn object_width(&mut self, register: &Json) -> Outcome<u32> {
        let name = self.kind(register)?.1.as_str().unwrap_or("").to_owned();
        let known = self.document.register_arrays.iter().find(|known| known.name == name);
        match known {
            Some(known) => Ok(known.bitwidth),
            None => self.fail(format!("there is no register `{name}`")),
        }
    }

    /// Translates the reading of a register element into a field. If their widths differ, the
    /// element is first read into a temporary variable.
    fn register_read(&mut self, field: &FieldPlace, register: &Json, index: Expression) -> Outcome {
        let width = self.object_width(register)?;
        let type_id = self.bit_type(width);
        if field.kind == (FieldKind::Bits { width, signed: false }) {
            let out = Argument::Out(field.place.clone());
            return self.extern_method(register, "read", vec![out, Argument::In(index)]);
        }
        let FieldKind::Bits { width: target, .. } = field.kind else {
            return self.fail("only numbers can be read from a register");
        };
        let variable = self.variable("tmp", type_id);
        let out = Argument::Out(Place::variable(variable));
        self.extern_method(register, "read", vec![out, Argument::In(index)])?;
        let value = Expression { type_id, kind: ExpressionKind::Read(Place::variable(variable)) };
        let narrow = self.bit_type(target);
        self.assign_bits(field, cast(value, narrow));
        Ok(())
    }
}

/// Returns whether two blocks are equal apart from their locations in the source.
fn bodies_equal(left: &ir::Block, right: &ir::Block) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.kind == right.kind)
}
