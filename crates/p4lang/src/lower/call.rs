//! Lowering of calls, including the built-in methods of the language.

use super::arguments::order_of_call;
use super::{Entity, FunctionKey, Lowering, Scope};
use crate::ast::{self, DeclarationKind, ExpressionKind};
use crate::check::{BoundArgument, Builtin, Call, Callee, Constant, Type};
use crate::source::Span;
use ir::{self, Argument, Expression, Place, StatementKind, Value};

/// A call in the source, with what the checker has recorded about it.
#[derive(Clone, Copy)]
struct Site<'a, 'c> {
    span: Span,
    facts: &'c Call,
    /// The arguments of the call, as written.
    given: &'a [ast::Argument],
    /// Whether the return value of the call is used.
    wanted: bool,
}

impl<'a> Lowering<'a> {
    /// Lowers a call to statements. If `wanted` is true and the call returns a value, returns an
    /// expression for this value.
    pub(super) fn call(
        &mut self,
        expression: &'a ast::Expression,
        wanted: bool,
    ) -> Option<Expression> {
        let ExpressionKind::Call { callee, arguments, .. } = &expression.kind else { return None };
        let checked = self.checked;
        let Some(facts) = checked.call(expression.id) else {
            self.problem(expression.span, "this call cannot be lowered");
            return None;
        };
        let site = Site { span: expression.span, facts, given: arguments, wanted };
        match &facts.callee {
            Callee::Function(id) => self.call_function(*id, site),
            Callee::ExternFunction(id) => self.call_extern_function(*id, site),
            Callee::Action(id) => {
                let Some(Entity::Action(action)) = self.action_entity(*id) else {
                    self.problem(expression.span, "this action does not exist here");
                    return None;
                };
                let parameters = match self.declaration(*id).map(|node| &node.kind) {
                    Some(DeclarationKind::Action { parameters, .. }) => parameters.as_slice(),
                    _ => &[],
                };
                let arguments = self.arguments(facts, arguments, parameters);
                self.emit(expression.span, StatementKind::CallAction { action, arguments });
                None
            }
            Callee::Method { method, object } => self.call_method(callee, *method, object, site),
            Callee::Builtin { builtin, .. } => {
                self.call_builtin(expression, *builtin, callee, facts, arguments)
            }
            Callee::Constructor { .. } => {
                self.problem(expression.span, "an instance is not a value");
                None
            }
        }
    }

    /// Returns the IR entity of an action, or `None` if the action has none in the current scope.
    /// An action at top level is lowered first, unless that was done before.
    pub(super) fn action_entity(&mut self, id: ast::DeclarationId) -> Option<Entity> {
        if self.entity(id).is_none() && self.checked.index.parent(id).is_none() {
            self.global_action(id);
        }
        self.entity(id)
    }

    /// Returns the instance, such as an extern object, to which an expression refers, or `None` if
    /// it refers to none.
    pub(super) fn object(&mut self, expression: &'a ast::Expression) -> Option<Entity> {
        match &expression.kind {
            ExpressionKind::Path(_) => match self.checked.resolution(expression.id)? {
                crate::check::Resolution::Declaration(id) => self.entity(*id),
                _ => None,
            },
            ExpressionKind::This => self.scope.this.map(Entity::Extern),
            _ => None,
        }
    }

    /// Creates a temporary variable for the return value of a call. Returns its place and an
    /// expression that reads it, or `None` for both if the value is not wanted or `ty` is `void`.
    fn result(&mut self, ty: &Type, wanted: bool) -> (Option<Place>, Option<Expression>) {
        let ty = self.concrete(ty);
        if !wanted || ty == Type::Void {
            return (None, None);
        }
        let type_id = self.type_id(&ty);
        let place = Place::variable(self.temporary(type_id));
        let read = Expression { type_id, kind: ir::ExpressionKind::Read(place.clone()) };
        (Some(place), Some(read))
    }

    fn call_function(&mut self, id: ast::DeclarationId, site: Site<'a, '_>) -> Option<Expression> {
        let instance = match self.checked.index.parent(id) {
            Some(_) => self.scope.this,
            None => None,
        };
        let scope = instance.map(|_| self.scope.clone());
        self.call_function_in(id, site, instance, scope)
    }

    /// Lowers a call of a function. `instance` is the extern instance in whose initializer block
    /// the function is declared, and `scope` the scope of that block. Both are `None` for a
    /// function at top level.
    fn call_function_in(
        &mut self,
        id: ast::DeclarationId,
        Site { span, facts, given, wanted }: Site<'a, '_>,
        instance: Option<ir::ExternId>,
        scope: Option<Scope>,
    ) -> Option<Expression> {
        let declaration = self.declaration(id)?;
        let DeclarationKind::Function { prototype, .. } = &declaration.kind else { return None };
        let mut objects = Vec::new();
        for (bound, parameter) in facts.arguments.iter().zip(&prototype.parameters) {
            if let BoundArgument::Given(position) = bound
                && let Some(argument) = given.get(*position)
                && matches!(self.checked.type_of(argument.value.id), Type::Extern(_))
                && let Some(object) = self.object(&argument.value)
            {
                objects.push((parameter.id, object));
            }
        }
        let constants = self.constant_arguments(facts, given, &prototype.parameters);
        let mut arguments = self.arguments(facts, given, &prototype.parameters);
        // Parameters with compile-time values are replaced by these values in the function, so the
        // call has no arguments for them.
        let values = prototype.parameters.iter().filter(|parameter| {
            !matches!(self.checked.declared_type(parameter.id), Type::Extern(_))
        });
        let known: Vec<bool> = values
            .map(|parameter| constants.iter().any(|(constant, _)| *constant == parameter.id))
            .collect();
        let mut known = known.into_iter();
        arguments.retain(|_| !known.next().unwrap_or(false));
        let type_arguments: Vec<Type> =
            facts.type_arguments.iter().map(|ty| self.concrete(ty)).collect();
        let key = FunctionKey {
            declaration: id,
            type_arguments,
            objects: objects.iter().map(|(_, object)| *object).collect(),
            constants: if constants.is_empty() { String::new() } else { format!("{constants:?}") },
            instance,
        };
        let function = match self.reused.functions.get(&key) {
            Some(known) => *known,
            None => {
                let mut scope = scope.unwrap_or_default();
                scope.environment.values.extend(constants);
                let new = self.deeper(span, |lowering| {
                    lowering.function(declaration, &key, &objects, scope)
                })?;
                self.reused.functions.insert(key, new);
                new
            }
        };
        let (place, read) = self.result(&facts.return_type, wanted);
        self.emit(span, StatementKind::CallFunction { function, arguments, result: place });
        read
    }

    /// Returns the values of parameters whose types (`int` and `string`) exist only at compile
    /// time. A function is specialised for these values.
    fn constant_arguments(
        &mut self,
        facts: &Call,
        given: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
    ) -> Vec<(ast::DeclarationId, Constant)> {
        let mut constants = Vec::new();
        for (position, (bound, parameter)) in facts.arguments.iter().zip(parameters).enumerate() {
            let ty = facts.parameter_types.get(position).map(|ty| self.concrete(ty));
            if !matches!(ty, Some(Type::Integer | Type::String)) {
                continue;
            }
            let value = match bound {
                BoundArgument::Given(position) => given.get(*position).map(|given| &given.value),
                _ => parameter.default.as_ref(),
            };
            let Some(value) = value else { continue };
            match self.evaluate(value) {
                Some(known) => constants.push((parameter.id, known)),
                None => {
                    self.unexpected_integer(value, &Type::Integer);
                }
            }
        }
        constants
    }

    fn function(
        &mut self,
        declaration: &'a ast::Declaration,
        key: &FunctionKey,
        objects: &[(ast::DeclarationId, Entity)],
        mut scope: Scope,
    ) -> ir::FunctionId {
        scope.this = key.instance.or(scope.this);
        let (function, _) =
            self.within(scope, |lowering| lowering.function_body(declaration, key, objects));
        let id = ir::FunctionId(self.program.functions.len() as u32);
        self.program.functions.push(function);
        id
    }

    /// Lowers a function for the type arguments and the instance in `key`. `objects` are the extern
    /// objects for which its parameters stand.
    fn function_body(
        &mut self,
        declaration: &'a ast::Declaration,
        key: &FunctionKey,
        objects: &[(ast::DeclarationId, Entity)],
    ) -> ir::Function {
        let name = declaration.name.text.to_string();
        let nothing =
            |name| ir::Function { name, parameters: vec![], return_type: None, body: vec![] };
        let DeclarationKind::Function { prototype, body } = &declaration.kind else {
            return nothing(name);
        };
        if self.count_elements(super::ELEMENTS_OF_INSTANCE) {
            return nothing(name);
        }
        for (parameter, ty) in prototype.type_parameters.iter().zip(&key.type_arguments) {
            self.scope.environment.types.bind(parameter.id, ty.clone());
        }
        for (parameter, object) in objects {
            self.bind(*parameter, *object);
        }
        let parameters = self.parameters(&prototype.parameters);
        let return_type = self.concrete(self.checked.type_at(prototype.return_type.id));
        let return_type = (return_type != Type::Void).then(|| self.type_id(&return_type));
        let arguments: Vec<String> = key
            .type_arguments
            .iter()
            .map(|ty| {
                let id = self.type_id(ty);
                self.program.type_name(id)
            })
            .collect();
        let name =
            if arguments.is_empty() { name } else { format!("{name}<{}>", arguments.join(", ")) };
        let body = self.collect(|lowering| lowering.statements(&body.statements));
        ir::Function { name, parameters, return_type, body }
    }

    /// Adds a variable for each parameter that holds a value, and returns the lowered parameters.
    /// Parameters for packets are omitted, because packets are implicit in the IR.
    pub(super) fn parameters(&mut self, parameters: &'a [ast::Parameter]) -> Vec<ir::Parameter> {
        let mut list = Vec::new();
        for parameter in parameters {
            let ty = self.concrete(self.checked.declared_type(parameter.id));
            if matches!(ty, Type::Extern(_)) {
                if self.is_packet(&ty) {
                    self.bind(parameter.id, Entity::Packet);
                }
                continue;
            }
            if self.scope.environment.values.contains_key(&parameter.id) {
                continue;
            }
            let type_id = self.type_id(&ty);
            let variable = self.variable(parameter.name.as_str(), type_id);
            self.bind(parameter.id, Entity::Variable(variable));
            list.push(ir::Parameter {
                name: parameter.name.text.to_string(),
                variable,
                direction: direction(parameter.direction).unwrap_or(ir::Direction::In),
                type_id,
            });
        }
        list
    }

    fn call_extern_function(
        &mut self,
        id: ast::DeclarationId,
        site: Site<'a, '_>,
    ) -> Option<Expression> {
        let Site { span, facts, given, .. } = site;
        let declaration = self.declaration(id)?;
        let DeclarationKind::ExternFunction(prototype) = &declaration.kind else { return None };
        let name = declaration.name.as_str();
        if name == "static_assert" {
            return Some(Expression {
                type_id: self.bool_type(),
                kind: ir::ExpressionKind::Constant(Value::Bool(true)),
            });
        }
        let mut arguments = self.bound_arguments(
            &facts.arguments,
            &facts.parameter_types,
            given,
            &prototype.parameters,
            true,
        );
        if name == "verify" && arguments.len() == 2 {
            let error = arguments.pop();
            let condition = arguments.pop();
            if let (Some(Argument::In(condition)), Some(Argument::In(error))) = (condition, error) {
                self.emit(span, StatementKind::Verify { condition, error });
            }
            return None;
        }
        let callee = ir::ExternCallee::Function(ir::ExternFunction::named(name));
        self.call_extern(callee, site, arguments)
    }

    fn call_extern(
        &mut self,
        callee: ir::ExternCallee,
        Site { span, facts, wanted, .. }: Site<'a, '_>,
        mut arguments: Vec<Argument>,
    ) -> Option<Expression> {
        let type_arguments = facts.type_arguments.iter().map(|ty| self.type_id(ty)).collect();
        let (result, read) = self.result(&facts.return_type, wanted);
        let mut copies = Vec::new();
        for (argument, ty) in arguments.iter_mut().zip(&facts.parameter_types) {
            let ty = self.concrete(ty);
            copies.extend(self.copied_by_caller(argument, &ty));
        }
        copies.sort_by_key(|(rank, _)| *rank);
        self.emit(span, StatementKind::CallExtern { callee, type_arguments, arguments, result });
        for (_, copy) in copies {
            self.emit(span, copy);
        }
        read
    }

    fn call_method(
        &mut self,
        callee: &'a ast::Expression,
        method: ast::DeclarationId,
        object: &Type,
        site: Site<'a, '_>,
    ) -> Option<Expression> {
        let Site { span, facts, given, .. } = site;
        let node = self.method_node(method)?;
        let receiver = match &callee.kind {
            ExpressionKind::Member { base, .. } => self.object(base),
            _ => self.scope.this.map(Entity::Extern),
        };
        let object = self.concrete(object);
        if self.is_packet(&object) {
            return self.call_packet(span, node.name.as_str(), facts, given);
        }
        let Some(Entity::Extern(instance)) = receiver else {
            self.problem(span, "this extern object does not exist here");
            return None;
        };
        if let Some((function, scope)) =
            self.reused.implementations.get(&(instance, method)).cloned()
        {
            return self.call_function_in(function.id, site, Some(instance), Some(scope));
        }
        let arguments = self.bound_arguments(
            &facts.arguments,
            &facts.parameter_types,
            given,
            &node.prototype.parameters,
            true,
        );
        let callee =
            ir::ExternCallee::Method { instance, method: ir::ExternMethod::named(&node.name.text) };
        self.call_extern(callee, site, arguments)
    }

    /// Lowers a call of a method of `packet_in` or `packet_out` (core.p4).
    fn call_packet(
        &mut self,
        span: Span,
        method: &str,
        facts: &Call,
        given: &'a [ast::Argument],
    ) -> Option<Expression> {
        let argument = |position: usize| facts.given(position, given);
        match method {
            "extract" => {
                let ty = facts.parameter_types.first()?.clone();
                let header_type = self.type_id(&ty);
                // If the call names the width before the header, the width is evaluated before the
                // place of the header.
                let early_width = (order_of_call(&facts.arguments).first() == Some(&1))
                    .then(|| argument(1).map(|value| self.expression(value)))
                    .flatten()
                    .map(|width| self.saved(width));
                let header = argument(0)
                    .filter(|value| !matches!(value.kind, ExpressionKind::DontCare))
                    .and_then(|value| self.target(value));
                let header = header.map(|place| self.with_saved_indices(place));
                let varbit_width =
                    early_width.or_else(|| argument(1).map(|value| self.expression(value)));
                let varbit_width = varbit_width.map(|value| self.sized(value, 32));
                self.emit(span, StatementKind::Extract { header, header_type, varbit_width });
                None
            }
            "lookahead" => {
                let ty = facts.type_arguments.first().unwrap_or(&facts.return_type).clone();
                let type_id = self.type_id(&ty);
                let result = Place::variable(self.temporary(type_id));
                self.emit(span, StatementKind::Lookahead { result: result.clone(), type_id });
                Some(Expression { type_id, kind: ir::ExpressionKind::Read(result) })
            }
            "advance" => {
                let value = self.expression(argument(0)?);
                let value = self.sized(value, 32);
                self.emit(span, StatementKind::Advance(value));
                None
            }
            "length" => Some(Expression {
                type_id: self.bit_type(32),
                kind: ir::ExpressionKind::PacketLength,
            }),
            "emit" => {
                let value = self.expression(argument(0)?);
                self.emit(span, StatementKind::Emit(value));
                None
            }
            _ => {
                self.problem(span, format!("a packet has no method `{method}` here"));
                None
            }
        }
    }

    fn call_builtin(
        &mut self,
        expression: &'a ast::Expression,
        builtin: Builtin,
        callee: &'a ast::Expression,
        facts: &Call,
        given: &'a [ast::Argument],
    ) -> Option<Expression> {
        let span = expression.span;
        let ExpressionKind::Member { base, .. } = &callee.kind else { return None };
        match builtin {
            Builtin::IsValid => {
                let place = match self.place(base) {
                    Some(place) => place,
                    None => {
                        let value = self.expression(base);
                        self.placed(value)
                    }
                };
                Some(Expression {
                    type_id: self.bool_type(),
                    kind: ir::ExpressionKind::IsValid(place),
                })
            }
            Builtin::SetValid | Builtin::SetInvalid => {
                let header = self.target(base)?;
                let valid = builtin == Builtin::SetValid;
                self.emit(span, StatementKind::SetValidity { header, valid });
                None
            }
            Builtin::PushFront | Builtin::PopFront => {
                let stack = self.target(base)?;
                let count = self.evaluate_u32(&given.first()?.value)?;
                let kind = if builtin == Builtin::PushFront {
                    StatementKind::PushFront { stack, count }
                } else {
                    StatementKind::PopFront { stack, count }
                };
                self.emit(span, kind);
                None
            }
            Builtin::Apply => {
                let entity = self.object(base);
                self.apply(span, entity, facts, given);
                None
            }
            Builtin::ApplyTable => {
                if let Some(Entity::Table(table)) = self.object(base) {
                    self.emit(
                        span,
                        StatementKind::ApplyTable { table, hit: None, action_run: None },
                    );
                } else {
                    self.problem(span, "this table does not exist here");
                }
                None
            }
            _ => {
                self.problem(span, "this has no value that a packet could be processed with");
                None
            }
        }
    }

    /// Lowers the application of a parser or control instance.
    pub(super) fn apply(
        &mut self,
        span: Span,
        entity: Option<Entity>,
        facts: &Call,
        given: &'a [ast::Argument],
    ) {
        let Callee::Builtin { object, .. } = &facts.callee else { return };
        let parameters = match object
            .named()
            .and_then(|named| self.declaration(named.declaration))
            .map(|declaration| &declaration.kind)
        {
            Some(DeclarationKind::Control(control)) => control.parameters.as_slice(),
            Some(DeclarationKind::ControlType(control)) => control.parameters.as_slice(),
            Some(DeclarationKind::Parser(parser)) => parser.parameters.as_slice(),
            Some(DeclarationKind::ParserType(parser)) => parser.parameters.as_slice(),
            _ => &[],
        };
        let arguments = self.arguments(facts, given, parameters);
        match entity {
            Some(Entity::Control(control)) => {
                let mut objects = Vec::new();
                for bound in &facts.arguments {
                    if let BoundArgument::Given(position) = bound
                        && let Some(argument) = given.get(*position)
                        && let Some(object @ Entity::Extern(_)) = self.object(&argument.value)
                    {
                        objects.push(object);
                    }
                }
                let control = self.bind_control_objects(span, control, objects);
                self.emit(span, StatementKind::CallControl { control, arguments });
            }
            Some(Entity::Parser(parser)) => {
                self.emit(span, StatementKind::CallParser { parser, arguments });
            }
            _ => self.problem(span, "this parser or control does not exist here"),
        }
    }
}

pub(super) fn direction(direction: ast::Direction) -> Option<ir::Direction> {
    match direction {
        ast::Direction::None => None,
        ast::Direction::In => Some(ir::Direction::In),
        ast::Direction::Out => Some(ir::Direction::Out),
        ast::Direction::InOut => Some(ir::Direction::InOut),
    }
}
