//! Lowering of instances, from the package instance `main` down to extern objects.

use super::call::direction;
use super::{AnonymousExtern, Entity, ExternRole, Lowering, PendingControl, Scope, names};
use crate::ast::{self, DeclarationId, DeclarationKind, ExpressionKind};
use crate::check::{
    BoundArgument, Call, Callee, Constant, Instance, Named, Node, Resolution, Type,
};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// The lowered value of a constructor argument: a constant or an instance.
enum Constructed {
    Constant(Constant),
    Entity(Entity),
}

/// The arguments of a constructor call.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    /// For each parameter of the constructor, the argument to which it is bound.
    bound: &'a [BoundArgument],
    /// The types of the constructor's parameters.
    types: &'a [Type],
    /// The arguments of the call, as written.
    written: &'a [ast::Argument],
}

impl<'a> Given<'a> {
    fn of(call: &'a Call, written: &'a [ast::Argument]) -> Self {
        Self { bound: &call.arguments, types: &call.parameter_types, written }
    }

    fn to_instance(instance: &'a Instance, written: &'a [ast::Argument]) -> Self {
        Self { bound: &instance.arguments, types: &instance.parameter_types, written }
    }
}

/// A description of an instance that is to be constructed.
struct Construction<'a> {
    span: Span,
    object: Type,
    /// The control-plane name of the instance.
    name: String,
    constructor: Option<DeclarationId>,
    given: Given<'a>,
    annotations: Vec<ir::Annotation>,
}

impl Construction<'_> {
    /// Returns the description of an instance without arguments and annotations.
    fn bare(span: Span, object: Type, name: String) -> Self {
        let given = Given::default();
        Self { span, object, name, constructor: None, given, annotations: Vec::new() }
    }
}

impl<'a> Lowering<'a> {
    /// Lowers the whole program, beginning with its package instance `main`.
    pub(super) fn program(&mut self, main: DeclarationId) {
        let checked = self.checked;
        self.control_plane_types();
        let used = self.named_by_instances();
        let mut packages: HashMap<DeclarationId, ir::Package> = HashMap::new();
        for declaration in &checked.program.declarations {
            let DeclarationKind::Instantiation(instantiation) = &declaration.kind else { continue };
            let Some(instance) = checked.instance(declaration.id) else { continue };
            let is_object = matches!(instance.ty, Type::Extern(_));
            if declaration.id != main && !is_object && !used.contains(&declaration.id) {
                continue;
            }
            if let Type::Package(named) = &instance.ty {
                let given = Given::to_instance(instance, &instantiation.arguments);
                let package = self.package(named, given, &packages);
                if declaration.id == main {
                    let known = ir::Architecture::of_package(&package.name);
                    self.program.architecture =
                        known.unwrap_or_else(|| ir::Architecture::Other(package.name.clone()));
                    if matches!(self.program.architecture, ir::Architecture::Other(_)) {
                        self.program.included = self.included_architecture();
                    }
                    self.program.main = package;
                    self.program.annotations = self.annotations(&declaration.annotations);
                    break;
                }
                packages.insert(declaration.id, package);
                continue;
            }
            if let Some(entity) = self.declared_instance(declaration) {
                self.reused.entities.insert(declaration.id, entity);
            }
        }
    }

    /// Returns the first built-in architecture whose package the program declares, or `None` if it
    /// declares none.
    fn included_architecture(&self) -> Option<ir::Architecture> {
        let packages = self
            .checked
            .program
            .declarations
            .iter()
            .filter(|declaration| matches!(declaration.kind, DeclarationKind::Package(_)));
        let mut known = packages.map(|package| ir::Architecture::of_package(package.name.as_str()));
        known.find_map(|architecture| architecture)
    }

    /// Returns the declarations to which the instantiations at top level refer.
    fn named_by_instances(&self) -> HashSet<DeclarationId> {
        let mut used = HashSet::new();
        for declaration in &self.checked.program.declarations {
            if !matches!(declaration.kind, DeclarationKind::Instantiation(_)) {
                continue;
            }
            crate::ast::walk::declaration(declaration, &mut |expression| {
                if let Some(Resolution::Declaration(id)) = self.checked.resolution(expression.id) {
                    used.insert(*id);
                }
            });
        }
        used
    }

    /// Lowers the types that P4Info lists even if no packet uses them.
    fn control_plane_types(&mut self) {
        for declaration in &self.checked.program.declarations {
            let ty = match &declaration.kind {
                DeclarationKind::NewType(_) => Type::NewType(declaration.id),
                DeclarationKind::Enum { underlying: Some(_), .. } => {
                    Type::SerializableEnum(declaration.id)
                }
                // The types are lowered in source order, because P4Info lists them in this order.
                DeclarationKind::Header { type_parameters, .. }
                    if type_parameters.is_empty()
                        && declaration.annotation("controller_header").is_some() =>
                {
                    Type::Header(Named::plain(declaration.id))
                }
                _ => continue,
            };
            self.type_id(&ty);
        }
    }

    fn package(
        &mut self,
        named: &Named,
        given: Given<'a>,
        packages: &HashMap<DeclarationId, ir::Package>,
    ) -> ir::Package {
        let name = self.checked.name(named.declaration).to_string();
        let parameters = match self.declaration(named.declaration).map(|node| &node.kind) {
            Some(DeclarationKind::Package(package)) => package.parameters.as_slice(),
            _ => &[],
        };
        let mut arguments = Vec::new();
        for (position, (bound, parameter)) in given.bound.iter().zip(parameters).enumerate() {
            let BoundArgument::Given(argument) = bound else { continue };
            let Some(argument) = given.written.get(*argument) else { continue };
            let ty = given.types.get(position).cloned().unwrap_or(Type::Unknown);
            if let Some(value) = self.package_value(&argument.value, &ty, packages) {
                arguments
                    .push(ir::PackageArgument { name: parameter.name.text.to_string(), value });
            }
        }
        ir::Package { name, arguments }
    }

    fn package_value(
        &mut self,
        value: &'a ast::Expression,
        ty: &Type,
        packages: &HashMap<DeclarationId, ir::Package>,
    ) -> Option<ir::PackageValue> {
        if let ExpressionKind::Call { arguments, .. } = &value.kind
            && let Some(facts) = self.checked.call(value.id)
            && let Callee::Constructor { object: Type::Package(named), .. } = &facts.callee
        {
            let package = self.package(named, Given::of(facts, arguments), packages);
            return Some(ir::PackageValue::Package(package));
        }
        if let Some(Resolution::Declaration(id)) = self.checked.resolution(value.id)
            && let Some(package) = packages.get(id)
        {
            return Some(ir::PackageValue::Package(package.clone()));
        }
        match self.constructed(value) {
            Some(Constructed::Constant(constant)) => {
                Some(ir::PackageValue::Value(self.value(&constant, ty)))
            }
            Some(Constructed::Entity(Entity::Control(id))) => {
                self.bind_architecture_objects(value.span, id);
                Some(ir::PackageValue::Control(id))
            }
            Some(Constructed::Entity(Entity::Parser(id))) => Some(ir::PackageValue::Parser(id)),
            Some(Constructed::Entity(Entity::Extern(id))) => Some(ir::PackageValue::Extern(id)),
            Some(Constructed::Entity(_)) => None,
            None => {
                let known = self.known_value(value, ty);
                if known.is_none() {
                    self.report_not_constant(value.span);
                }
                known.map(ir::PackageValue::Value)
            }
        }
    }

    /// Binds the extern parameters of one of the package's controls, except packets, to objects
    /// that the architecture provides. There is one object for each type (such as
    /// `tc_skb_metadata`), and it has the name of the type.
    fn bind_architecture_objects(&mut self, span: Span, id: ir::ControlId) {
        let Some(pending) = self.deferred.controls.get(&id) else { return };
        let wanted: Vec<Type> = pending
            .control
            .parameters
            .iter()
            .map(|parameter| self.checked.declared_type(parameter.id).clone())
            .filter(|ty| matches!(ty, Type::Extern(_)) && !self.is_packet(ty))
            .collect();
        let mut objects = Vec::with_capacity(wanted.len());
        for ty in wanted {
            let Some(named) = ty.named() else { return };
            let name = self.checked.name(named.declaration).to_string();
            let known = self.program.externs.iter().position(|known| {
                known.name == name && known.extern_type.name() == name && known.location.is_none()
            });
            let object = match known {
                Some(position) => Entity::Extern(ir::ExternId(position as u32)),
                None => {
                    let made = self.instantiate(Construction::bare(span, ty, name));
                    let Some(Entity::Extern(object)) = made else { return };
                    if let Some(instance) = self.program.externs.get_mut(object.index()) {
                        instance.location = None;
                    }
                    Entity::Extern(object)
                }
            };
            objects.push(object);
        }
        self.bind_control_objects(span, id, objects);
    }

    /// Lowers a constructor argument. Returns `None` if it is neither an instance nor a constant.
    fn constructed(&mut self, value: &'a ast::Expression) -> Option<Constructed> {
        self.constructed_as(value, None)
    }

    /// Lowers a constructor argument. If the argument constructs an extern object, `of_extern` is
    /// the name of this object.
    fn constructed_as(
        &mut self,
        value: &'a ast::Expression,
        of_extern: Option<String>,
    ) -> Option<Constructed> {
        let checked = self.checked;
        if let ExpressionKind::Call { arguments, .. } = &value.kind
            && let Some(facts) = checked.call(value.id)
            && let Callee::Constructor { object, constructor } = &facts.callee
        {
            let object = self.concrete(object);
            let name = object.named().map_or_else(String::new, |named| {
                self.declaration(named.declaration)
                    .map_or_else(String::new, |declaration| declaration.name.as_str().to_owned())
            });
            let name = match of_extern {
                Some(given) if matches!(object, Type::Extern(_)) => given,
                _ if self.scope.prefix.is_empty() && self.is_specialized(&object, arguments) => {
                    self.specialized_name(&name)
                }
                _ => names::qualified(&self.scope.prefix, &name),
            };
            return self
                .instantiate(Construction {
                    constructor: *constructor,
                    given: Given::of(facts, arguments),
                    ..Construction::bare(value.span, object, name)
                })
                .map(Constructed::Entity);
        }
        if let Some(Resolution::Declaration(id)) = checked.resolution(value.id)
            && let Some(entity) = self.entity(*id)
            && !matches!(entity, Entity::Variable(_))
        {
            return Some(Constructed::Entity(entity));
        }
        checked.evaluate(value, &self.scope.environment).map(Constructed::Constant)
    }

    /// Returns whether p4c replaces the parser or control by a copy in which these constructor
    /// arguments are substituted (its pass `SpecializeAll`). It does so if every argument is a
    /// constant, or an instance that is constructed in the argument itself.
    fn is_specialized(&self, object: &Type, arguments: &[ast::Argument]) -> bool {
        if !matches!(object, Type::Parser(_) | Type::Control(_)) {
            return false;
        }
        let simple = |argument: &ast::Argument| {
            let value = &argument.value;
            self.checked.evaluate(value, &self.scope.environment).is_some()
                || matches!(
                    self.checked.call(value.id).map(|facts| &facts.callee),
                    Some(Callee::Constructor { .. })
                )
        };
        !arguments.is_empty() && arguments.iter().all(simple)
    }

    fn report_not_constant(&mut self, span: Span) {
        self.problem(span, "a constructor argument must be known at compile time");
    }

    /// Lowers an instance that has a declaration.
    fn declared_instance(&mut self, declaration: &'a ast::Declaration) -> Option<Entity> {
        let DeclarationKind::Instantiation(instantiation) = &declaration.kind else { return None };
        let checked = self.checked;
        let instance = checked.instance(declaration.id)?;
        let local = names::local_name(&declaration.annotations, declaration.name.as_str());
        let object = self.concrete(&instance.ty);
        // A parser or control at top level has the name of its type, since the package refers to
        // this name. As in p4c, an annotation `@name` of the type does not affect the names of the
        // objects inside it.
        let at_top = self.checked.index.parent(declaration.id).is_none();
        let name = match (&object, at_top) {
            (Type::Parser(named) | Type::Control(named), true) => {
                let of = self.declaration(named.declaration)?;
                if self.is_specialized(&object, &instantiation.arguments) {
                    self.specialized_name(of.name.as_str())
                } else {
                    of.name.as_str().to_owned()
                }
            }
            _ => names::qualified(&self.scope.prefix, &local),
        };
        let annotations = self.annotations(&declaration.annotations);
        let entity = self.instantiate(Construction {
            constructor: instance.constructor,
            given: Given::to_instance(instance, &instantiation.arguments),
            annotations,
            ..Construction::bare(declaration.span, object, name)
        })?;
        if let Entity::Extern(id) = entity
            && let Some(initializer) = &instantiation.initializer
        {
            let (_, scope) =
                self.within(Scope { this: Some(id), ..self.scope.clone() }, |lowering| {
                    for inner in initializer {
                        if matches!(inner.kind, DeclarationKind::Instantiation(_)) {
                            lowering.local_instance(inner);
                        }
                    }
                });
            for (method, function) in &instance.implementations {
                if let Some(function) = self.declaration(*function) {
                    self.reused.implementations.insert((id, *method), (function, scope.clone()));
                }
            }
        }
        Some(entity)
    }

    /// Lowers an instance that is a local declaration of a parser or control.
    pub(super) fn local_instance(&mut self, declaration: &'a ast::Declaration) {
        if let Some(entity) = self.declared_instance(declaration) {
            self.bind(declaration.id, entity);
        }
    }

    /// Lowers the anonymous instance of a direct invocation (`T.apply(...)`). It has the name of
    /// its type.
    pub(super) fn direct_instance(&mut self, facts: &'a Call) -> Option<Entity> {
        let Callee::Constructor { object, .. } = &facts.callee else { return None };
        let object = self.concrete(object);
        let declaration = self.declaration(object.named()?.declaration)?;
        let name = names::qualified(&self.scope.prefix, declaration.name.as_str());
        self.instantiate(Construction {
            given: Given::of(facts, &[]),
            ..Construction::bare(declaration.span, object, name)
        })
    }

    /// Lowers an instance and everything inside it.
    fn instantiate(&mut self, construction: Construction<'a>) -> Option<Entity> {
        let Construction { span, object, name, constructor, given, annotations } = construction;
        if self.count_elements(super::ELEMENTS_OF_INSTANCE) {
            return None;
        }
        // The type arguments may be type parameters of an enclosing generic control.
        let object = self.concrete(&object);
        let named = object.named()?;
        let declaration = self.declaration(named.declaration)?;
        let bindings = self.checked.bindings(named);
        match &declaration.kind {
            DeclarationKind::ExternObject(_) => {
                let parameters = match constructor.and_then(|id| self.checked.index.get(id)) {
                    Some(Node::Constructor(constructor)) => constructor.parameters.as_slice(),
                    _ => &[],
                };
                let arguments = self.constructor_values(given, parameters);
                let type_arguments = named.arguments.iter().map(|ty| self.type_id(ty)).collect();
                let type_argument_user_types =
                    named.arguments.iter().map(|ty| self.user_type_of(ty)).collect();
                let id = ir::ExternId(self.program.externs.len() as u32);
                let location = self.location(span);
                self.program.externs.push(ir::ExternInstance {
                    name,
                    extern_type: ir::ExternType::named(&declaration.name.text),
                    type_arguments,
                    type_argument_user_types,
                    arguments,
                    table: None,
                    location,
                    annotations,
                });
                Some(Entity::Extern(id))
            }
            DeclarationKind::Control(control) => {
                let mut scope = Scope { prefix: name.clone(), ..Scope::default() };
                scope.environment.types = bindings;
                self.constructor_scope(&mut scope, given, &control.constructor_parameters);
                let id = ir::ControlId(self.program.controls.len() as u32);
                scope.control = Some(id);
                let location = self.location(declaration.name.span);
                let annotations = self.annotations(&declaration.annotations);
                self.program.controls.push(ir::Control {
                    name,
                    parameters: Vec::new(),
                    body: Vec::new(),
                    location,
                    annotations,
                });
                let pending = PendingControl { declaration, control, scope };
                let waits = control.parameters.iter().any(|parameter| {
                    let ty = self.checked.declared_type(parameter.id);
                    matches!(ty, Type::Extern(_)) && !self.is_packet(ty)
                });
                if waits {
                    self.deferred.controls.insert(id, pending);
                } else {
                    self.deeper(span, |lowering| lowering.control(id, pending))?;
                }
                Some(Entity::Control(id))
            }
            DeclarationKind::Parser(parser) => {
                let mut scope = Scope { prefix: name.clone(), ..Scope::default() };
                scope.environment.types = bindings;
                self.constructor_scope(&mut scope, given, &parser.constructor_parameters);
                let (parser, _) = self.deeper(span, |lowering| {
                    lowering.within(scope, |lowering| lowering.parser(declaration, parser, name))
                })?;
                let id = ir::ParserId(self.program.parsers.len() as u32);
                self.program.parsers.push(parser);
                Some(Entity::Parser(id))
            }
            _ => {
                self.problem(span, "this cannot be instantiated");
                None
            }
        }
    }

    /// Lowers the constructor arguments of an extern.
    fn constructor_values(
        &mut self,
        given: Given<'a>,
        parameters: &'a [ast::Parameter],
    ) -> Vec<ir::ConstructorArgument> {
        let mut values = Vec::new();
        for (position, (bound, parameter)) in given.bound.iter().zip(parameters).enumerate() {
            let ty = given.types.get(position).map_or(Type::Unknown, |ty| self.concrete(ty));
            let Some(written) = written(bound, given.written, parameter) else { continue };
            let (type_id, value) = match self.constructed(written) {
                Some(Constructed::Constant(constant)) => match (&ty, &constant) {
                    (Type::List(element), Constant::Composite(values)) => {
                        let tuple = super::constant::list_type(element, values.len());
                        (self.type_id(&tuple), self.value(&constant, &tuple))
                    }
                    _ => (self.type_id(&ty), self.value(&constant, &ty)),
                },
                Some(Constructed::Entity(Entity::Extern(id))) => {
                    let name = self
                        .program
                        .externs
                        .get(id.index())
                        .map(|instance| instance.name.clone())
                        .unwrap_or_default();
                    (self.type_id(&Type::String), ir::Value::String(name))
                }
                Some(Constructed::Entity(_)) => continue,
                None => match self.known_value(written, &ty) {
                    Some(value) => (self.type_id(&ty), value),
                    None => {
                        self.report_not_constant(written.span);
                        continue;
                    }
                },
            };
            values.push(ir::ConstructorArgument {
                name: parameter.name.text.to_string(),
                type_id,
                value,
            });
        }
        values
    }

    /// Adds the constructor parameters of a parser or control to its scope. They have the values or
    /// instances that are passed as arguments.
    fn constructor_scope(
        &mut self,
        scope: &mut Scope,
        given: Given<'a>,
        parameters: &'a [ast::Parameter],
    ) {
        for (bound, parameter) in given.bound.iter().zip(parameters) {
            let Some(written) = written(bound, given.written, parameter) else { continue };
            // If an extern is constructed in an argument, p4c declares a local instance with the
            // name of the parameter. If the parser or control is not inlined, this name has a
            // numeric suffix.
            let number = if self.scope.prefix.is_empty() { "_0" } else { "" };
            let local = format!("{}{number}", parameter.name.as_str());
            match self.constructed_as(written, Some(names::qualified(&scope.prefix, &local))) {
                Some(Constructed::Constant(constant)) => {
                    let constant = self.as_parameter(constant, parameter);
                    scope.environment.values.insert(parameter.id, constant);
                }
                Some(Constructed::Entity(entity)) => {
                    scope.entities.insert(parameter.id, entity);
                }
                None => self.report_not_constant(written.span),
            }
        }
    }

    /// If the parameter is of type `bit<W>` or `int<W>` and the constant of type `int`, converts
    /// the constant to the type of the parameter. Returns any other constant unchanged.
    fn as_parameter(&mut self, constant: Constant, parameter: &'a ast::Parameter) -> Constant {
        match (self.checked.declared_type(parameter.id), constant) {
            (Type::Bits { width, signed }, Constant::Integer(value)) => {
                Constant::Bits(ir::bits::Bits::from_bigint(*width, *signed, &value))
            }
            (_, constant) => constant,
        }
    }

    /// Lowers a control's body for the extern objects that one application passes as arguments, and
    /// returns the control for these objects. Each distinct list of objects has its own copy of the
    /// body. A control with tables or instances cannot be copied, since the tables and instances
    /// would then exist twice.
    pub(super) fn bind_control_objects(
        &mut self,
        span: Span,
        id: ir::ControlId,
        objects: Vec<Entity>,
    ) -> ir::ControlId {
        if let Some(unbound) = self.deferred.controls.remove(&id) {
            let copies = vec![(objects.clone(), id)];
            let bound = super::BoundControl { unbound: unbound.clone(), copies };
            self.deferred.bound_controls.insert(id, bound);
            self.control_with_objects(id, unbound, &objects);
            return id;
        }
        let Some(bound) = self.deferred.bound_controls.get(&id) else { return id };
        if let Some((_, copy)) = bound.copies.iter().find(|(known, _)| *known == objects) {
            return *copy;
        }
        let unbound = bound.unbound.clone();
        let has_state = |local: &ast::Declaration| {
            matches!(local.kind, DeclarationKind::Table(_) | DeclarationKind::Instantiation(_))
        };
        if unbound.control.locals.iter().any(has_state) {
            self.problem(
                span,
                "one control instance with tables or instances applied with different extern \
                 objects: declare an instance for each",
            );
            return id;
        }
        let copy = ir::ControlId(self.program.controls.len() as u32);
        let Some(original) = self.program.controls.get(id.index()) else { return id };
        let original = ir::Control {
            name: original.name.clone(),
            parameters: Vec::new(),
            body: Vec::new(),
            location: original.location,
            annotations: original.annotations.clone(),
        };
        self.program.controls.push(original);
        if let Some(bound) = self.deferred.bound_controls.get_mut(&id) {
            bound.copies.push((objects.clone(), copy));
        }
        self.control_with_objects(copy, unbound, &objects);
        copy
    }

    fn control_with_objects(
        &mut self,
        id: ir::ControlId,
        mut pending: PendingControl<'a>,
        objects: &[Entity],
    ) {
        let takers = pending.control.parameters.iter().filter(|parameter| {
            let ty = self.checked.declared_type(parameter.id);
            matches!(ty, Type::Extern(_)) && !self.is_packet(ty)
        });
        for (parameter, object) in takers.zip(objects) {
            pending.scope.entities.insert(parameter.id, *object);
        }
        pending.scope.control = Some(id);
        let span = pending.declaration.name.span;
        self.deeper(span, |lowering| lowering.control(id, pending));
    }

    fn control(&mut self, id: ir::ControlId, pending: PendingControl<'a>) {
        let PendingControl { declaration, control, mut scope } = pending;
        let usage = self.usage(declaration);
        self.global_actions(&usage, &mut scope);
        let ((parameters, body), _) = self.within(scope, |lowering| {
            let parameters = lowering.parameters(&control.parameters);
            let body = lowering.collect(|lowering| {
                lowering.direct_instances(&control.apply.statements);
                for local in &control.locals {
                    lowering.control_local(local, id, &usage);
                }
                lowering.statements(&control.apply.statements);
            });
            (parameters, body)
        });
        if let Some(known) = self.program.controls.get_mut(id.index()) {
            known.parameters = parameters;
            known.body = body;
        }
    }

    /// Lowers the anonymous instances of the direct invocations in `statements`. As in p4c, these
    /// instances precede all other local declarations.
    pub(super) fn direct_instances(&mut self, statements: &'a [ast::Statement]) {
        let checked = self.checked;
        let mut targets = Vec::new();
        crate::ast::walk::direct_applications(statements, &mut targets);
        for target in targets {
            if let Some(facts) = checked.direct_application(target.id)
                && let Some(entity) = self.direct_instance(&facts.instance)
            {
                self.scope.direct_instances.insert(target.id, entity);
            }
        }
    }

    fn control_local(
        &mut self,
        local: &'a ast::Declaration,
        control: ir::ControlId,
        usage: &super::usage::Usage,
    ) {
        match &local.kind {
            DeclarationKind::Action { .. } if usage.used.contains(&local.id) => {
                let name = names::local_name(&local.annotations, local.name.as_str());
                let name = names::qualified(&self.scope.prefix, &name);
                if let Some(entity) = self.action(local, name, ir::ActionScope::Control(control)) {
                    self.bind(local.id, entity);
                }
            }
            DeclarationKind::Table(table) if usage.used.contains(&local.id) => {
                self.table(local, table, control);
                self.anonymous_externs();
            }
            DeclarationKind::Action { .. } | DeclarationKind::Table(_) => {}
            DeclarationKind::Instantiation(_)
                if !usage.used.contains(&local.id) && self.is_block_instance(local) => {}
            _ => self.local_declaration(local),
        }
    }

    /// Returns whether a declaration declares an instance of a parser or control. p4c removes such
    /// an instance if it is never applied, while it keeps instances of externs.
    pub(super) fn is_block_instance(&self, declaration: &'a ast::Declaration) -> bool {
        self.checked
            .instance(declaration.id)
            .is_some_and(|instance| matches!(instance.ty, Type::Parser(_) | Type::Control(_)))
    }

    /// Lowers an action with its parameters and body.
    pub(super) fn action(
        &mut self,
        declaration: &'a ast::Declaration,
        name: String,
        scope: ir::ActionScope,
    ) -> Option<Entity> {
        let DeclarationKind::Action { parameters, body } = &declaration.kind else { return None };
        let parameters: Vec<ir::ActionParameter> = parameters
            .iter()
            .map(|parameter| {
                let ty = self.concrete(self.checked.declared_type(parameter.id));
                let type_id = self.type_id(&ty);
                let variable = self.variable(parameter.name.as_str(), type_id);
                self.bind(parameter.id, Entity::Variable(variable));
                ir::ActionParameter {
                    name: names::local_name(&parameter.annotations, parameter.name.as_str()),
                    variable,
                    direction: direction(parameter.direction),
                    type_id,
                    user_type: self.user_type_of(&ty),
                    reference: parameter.annotation("__ref").is_some(),
                    annotations: self.annotations(&parameter.annotations),
                }
            })
            .collect();
        let body = self.collect(|lowering| lowering.statements(&body.statements));
        let location = self.location(declaration.name.span);
        let annotations = self.annotations(&declaration.annotations);
        let id = ir::ActionId(self.program.actions.len() as u32);
        self.program.actions.push(ir::Action {
            name,
            parameters,
            body,
            scope,
            location,
            annotations,
        });
        Some(Entity::Action(id))
    }

    /// Instantiates the externs that are constructed in table properties. P4Info lists them in the
    /// order of their tables.
    fn anonymous_externs(&mut self) {
        for nameless in std::mem::take(&mut self.deferred.anonymous_externs) {
            let AnonymousExtern { table, role, name, call, scope, annotations } = nameless;
            let ExpressionKind::Call { arguments, .. } = &call.kind else { continue };
            let checked = self.checked;
            let Some(facts) = checked.call(call.id) else { continue };
            let Callee::Constructor { object, constructor } = &facts.callee else { continue };
            let (entity, _) = self.within(scope, |lowering| {
                let object = lowering.concrete(object);
                lowering.instantiate(Construction {
                    constructor: *constructor,
                    given: Given::of(facts, arguments),
                    annotations,
                    ..Construction::bare(call.span, object, name)
                })
            });
            if let Some(Entity::Extern(id)) = entity {
                self.attach(table, role, id);
            }
        }
    }

    /// Attaches an extern object to a table, for example as its implementation or as a direct
    /// counter.
    pub(super) fn attach(&mut self, table: ir::TableId, role: ExternRole, id: ir::ExternId) {
        let Some(instance) = self.program.externs.get_mut(id.index()) else { return };
        match role {
            ExternRole::Direct => {
                instance.table = Some(table);
                if let Some(table) = self.program.tables.get_mut(table.index()) {
                    table.direct_externs.push(id);
                }
            }
            // The extern is a BPF map of the Linux kernel. Only its number of entries matters.
            ExternRole::Implementation if instance.extern_type.is_of_bpf() => {
                let size = instance.arguments.first().and_then(|argument| match &argument.value {
                    ir::Value::Bits(bits) => bits.to_u64(),
                    _ => None,
                });
                if let Some(table) = self.program.tables.get_mut(table.index()) {
                    table.size = table.size.or(size);
                }
            }
            ExternRole::Implementation => {
                let implementation = match instance.extern_type {
                    ir::ExternType::V1ActionSelector | ir::ExternType::ActionSelector => {
                        ir::TableImplementation::ActionSelector(id)
                    }
                    _ => ir::TableImplementation::ActionProfile(id),
                };
                if let Some(table) = self.program.tables.get_mut(table.index()) {
                    table.implementation = Some(implementation);
                }
            }
        }
    }
}

/// Returns the expression whose value a constructor's parameter has: the argument, or the default
/// value of the parameter.
fn written<'a>(
    bound: &BoundArgument,
    given: &'a [ast::Argument],
    parameter: &'a ast::Parameter,
) -> Option<&'a ast::Expression> {
    match bound {
        BoundArgument::Given(position) => given.get(*position).map(|argument| &argument.value),
        BoundArgument::Default => parameter.default.as_ref(),
        _ => None,
    }
}
