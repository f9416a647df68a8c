//! Calls: arguments copied in and out, and the methods that the language itself has.

use super::{Entity, FunctionKey, Lowering, Scope};
use crate::ast::{self, DeclarationKind, ExpressionKind};
use crate::check::{BoundArgument, Builtin, Call, Callee, Constant, Type};
use crate::source::Span;
use ir::{self, Argument, Expression, Place, StatementKind, Value};

/// A call where it stands in the program.
#[derive(Clone, Copy)]
struct Site<'a, 'c> {
    span: Span,
    facts: &'c Call,
    given: &'a [ast::Argument],
    /// Whether its value is.
    wanted: bool,
}

impl<'a> Lowering<'a> {
    /// Writes out a call; its value, if it has one that is wanted.
    pub(super) fn call(
        &mut self,
        expression: &'a ast::Expression,
        wanted: bool,
    ) -> Option<Expression> {
        let ExpressionKind::Call { callee, arguments, .. } = &expression.kind else { return None };
        let checked = self.checked;
        let Some(facts) = checked.call(expression.id) else {
            self.problem(expression.span, "this call was not understood");
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
                self.problem(expression.span, "an instance is no value");
                None
            }
        }
    }

    /// What an action's name stands for, top-level ones included.
    pub(super) fn action_entity(&mut self, id: ast::DeclarationId) -> Option<Entity> {
        if self.entity(id).is_none() && self.checked.index.parent(id).is_none() {
            self.global_action(id);
        }
        self.entity(id)
    }

    /// One argument for each parameter that holds a value.
    pub(super) fn arguments(
        &mut self,
        facts: &Call,
        given: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
    ) -> Vec<Argument> {
        self.bound_arguments(&facts.arguments, &facts.parameter_types, given, parameters, false)
    }

    /// Arguments as bound, evaluated in the order in which the call names them; extern objects only where `objects` are
    /// wanted.
    pub(super) fn bound_arguments(
        &mut self,
        bound: &[BoundArgument],
        parameter_types: &[Type],
        given: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
        objects: bool,
    ) -> Vec<Argument> {
        let order = order_of_call(bound.get(..parameters.len()).unwrap_or(bound));
        let value_of = |position: usize| match bound.get(position) {
            Some(BoundArgument::Given(at)) => given.get(*at).map(|given| &given.value),
            _ => None,
        };
        let last_effect =
            order.iter().rposition(|at| value_of(*at).is_some_and(|value| self.has_effects(value)));
        let mut arguments: Vec<Option<Argument>> = vec![None; order.len()];
        let mut ranks = vec![0; order.len()];
        for (rank, position) in order.into_iter().enumerate() {
            let ty = parameter_types.get(position).map_or(Type::Unknown, |ty| self.concrete(ty));
            let (Some(parameter), Some(bound)) = (parameters.get(position), bound.get(position))
            else {
                continue;
            };
            let value = value_of(position);
            let argument = if matches!(ty, Type::Extern(_)) {
                value.filter(|_| objects).map(|value| match self.object(value) {
                    Some(Entity::Extern(id)) => Argument::Extern(id),
                    _ => Argument::Absent,
                })
            } else if let Some(value) = value {
                let later = last_effect.is_some_and(|last| rank < last);
                Some(self.given_argument(value, parameter.direction, &ty, later))
            } else {
                Some(self.argument_not_given(*bound, parameter, &ty, objects))
            };
            (arguments[position], ranks[position]) = (argument, rank as u32);
        }
        let mut arguments: Vec<(Argument, u32)> = arguments
            .into_iter()
            .zip(ranks)
            .filter_map(|(argument, rank)| Some((argument?, rank)))
            .collect();
        rank_copies(&mut arguments);
        arguments.into_iter().map(|(argument, _)| argument).collect()
    }

    /// An argument that the call has no value for.
    fn argument_not_given(
        &mut self,
        bound: BoundArgument,
        parameter: &'a ast::Parameter,
        ty: &Type,
        of_extern: bool,
    ) -> Argument {
        match (bound, &parameter.default) {
            (BoundArgument::Default, Some(default)) => {
                let value = self.expression(default);
                let type_id = self.type_id(ty);
                Argument::In(self.coerced(value, type_id))
            }
            _ if of_extern || parameter.direction == ast::Direction::Out => Argument::Absent,
            // Only externs are told that an optional argument is not there.
            _ if parameter.direction == ast::Direction::InOut => {
                let value = self.default_value(ty);
                Argument::InOut(self.spilled(value))
            }
            _ => Argument::In(self.default_value(ty)),
        }
    }

    /// An argument as it is before the call; `later` says that one behind it may change it.
    fn given_argument(
        &mut self,
        value: &'a ast::Expression,
        direction: ast::Direction,
        ty: &Type,
        later: bool,
    ) -> Argument {
        if matches!(direction, ast::Direction::None | ast::Direction::In) {
            let mut of = self.expression(value);
            if *ty != Type::Unknown {
                let type_id = self.type_id(ty);
                of = self.coerced(of, type_id);
            }
            return Argument::In(if later { self.kept(of) } else { of });
        }
        if matches!(value.kind, ExpressionKind::DontCare) {
            return Argument::Absent;
        }
        let Some(place) = self.target(value) else { return Argument::Absent };
        let place = self.fixed(place);
        if direction == ast::Direction::Out {
            Argument::Out(place)
        } else if later && *ty != Type::Unknown {
            let type_id = self.type_id(ty);
            let kind = ir::ExpressionKind::Read(place.clone());
            let value = self.kept(Expression { type_id, kind });
            Argument::Saved { place, value }
        } else {
            Argument::InOut(place)
        }
    }

    /// The object that an expression names.
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

    /// A place for the value of a call, and how to read it.
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

    /// A call of a function that runs in `scope`, of an extern's instance if it is one of its own.
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
        // What is known is put into the function.
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
        let function = match self.made.functions.get(&key) {
            Some(known) => *known,
            None => {
                let mut scope = scope.unwrap_or_default();
                scope.environment.values.extend(constants);
                let new = self.function(declaration, &key, &objects, scope);
                self.made.functions.insert(key, new);
                new
            }
        };
        let (place, read) = self.result(&facts.return_type, wanted);
        self.emit(span, StatementKind::CallFunction { function, arguments, result: place });
        read
    }

    /// Values of the parameters of types that exist at compile time only: the function is made for these.
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

    /// Variables for the parameters that hold values; packets are implicit.
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

    /// Gives an extern a variable in place of an argument with a rank; returns the rank, and the assignment that is due
    /// behind the call.
    fn copied_by_caller(
        &mut self,
        argument: &mut Argument,
        ty: &Type,
    ) -> Option<(u32, StatementKind)> {
        let Argument::Ordered { rank, argument: inner } = argument else { return None };
        let (rank, inner) = (*rank, std::mem::replace(&mut **inner, Argument::Absent));
        let type_id = self.type_id(ty);
        let variable = Place::variable(self.temporary(type_id));
        let read =
            |place: &Place| Expression { type_id, kind: ir::ExpressionKind::Read(place.clone()) };
        let place = match inner {
            Argument::Out(place) => {
                *argument = Argument::Out(variable.clone());
                place
            }
            Argument::InOut(place) => {
                let value = read(&place);
                *argument = Argument::Saved { place: variable.clone(), value };
                place
            }
            Argument::Saved { place, value } => {
                *argument = Argument::Saved { place: variable.clone(), value };
                place
            }
            other => {
                *argument = other;
                return None;
            }
        };
        Some((rank, StatementKind::Assign { place, value: read(&variable) }))
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
        if let Some((function, scope)) = self.made.implementations.get(&(instance, method)).cloned()
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

    /// Methods of `packet_in` and `packet_out` (core.p4).
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
                // The place of the header is evaluated after a width that the call names first.
                let early_width = (order_of_call(&facts.arguments).first() == Some(&1))
                    .then(|| argument(1).map(|value| self.expression(value)))
                    .flatten()
                    .map(|width| self.kept(width));
                let header = argument(0)
                    .filter(|value| !matches!(value.kind, ExpressionKind::DontCare))
                    .and_then(|value| self.target(value));
                let header = header.map(|place| self.fixed(place));
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

    /// Applies a parser or control instance.
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

/// Positions of parameters in the order in which the call names their arguments; those that it does not name come first.
fn order_of_call(bound: &[BoundArgument]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..bound.len()).collect();
    order.sort_by_key(|position| match bound[*position] {
        BoundArgument::Given(at) | BoundArgument::DontCare(at) => Some(at),
        BoundArgument::Default | BoundArgument::Absent | BoundArgument::ControlPlane => None,
    });
    order
}

/// Marks arguments with the ranks of the call where the order of copies may matter: two go to one variable, and
/// not in the order of the parameters.
fn rank_copies(arguments: &mut [(Argument, u32)]) {
    let variable = |argument: &Argument| match argument {
        Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. } => {
            Some(place.variable)
        }
        _ => None,
    };
    let copied: Vec<(ir::VariableId, u32)> = arguments
        .iter()
        .filter_map(|(argument, rank)| Some((variable(argument)?, *rank)))
        .collect();
    let is_reversed = copied.iter().enumerate().any(|(position, (variable, rank))| {
        let mut behind = copied.iter().skip(position + 1);
        behind.any(|(other, later)| other == variable && later < rank)
    });
    if !is_reversed {
        return;
    }
    for (argument, rank) in arguments {
        if variable(argument).is_some() {
            let inner = std::mem::replace(argument, Argument::Absent);
            *argument = Argument::Ordered { rank: *rank, argument: Box::new(inner) };
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
