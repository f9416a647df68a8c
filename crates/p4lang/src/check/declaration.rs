//! Declarations (§6.7, §7.2, §11 to §14).

use num_bigint::BigInt;

use super::checker::{Checker, Context};
use super::convert::bounds;
use super::size::MOST_PARTS;
use super::{Constant, Named, Type};
use crate::ast::{
    self, Block, Constructor, Control, Declaration, DeclarationId, DeclarationKind, Direction,
    EnumMember, ExternObject, FunctionPrototype, Name, Parameter, ParserDeclaration, StructField,
    TypeParameter,
};
use crate::bits::Bits;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// What kind of thing parameters belong to: not every type is allowed everywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParametersOf {
    Function,
    Method,
    Action,
    Apply,
    Constructor,
    Package,
}

impl<'program> Checker<'program, '_> {
    pub(super) fn program(&mut self) {
        for declaration in &self.out.program.declarations {
            self.declaration(declaration);
        }
        self.after_all();
    }

    /// A declaration at the top level, or in a block.
    pub(super) fn declaration(&mut self, declaration: &'program Declaration) {
        let id = declaration.id;
        self.annotations(&declaration.annotations);
        match &declaration.kind {
            DeclarationKind::Constant { ty, value } => {
                self.constant_declaration(declaration, ty, value);
                self.declare(id, &declaration.name);
            }
            DeclarationKind::Variable { ty, initial } => {
                self.variable(declaration, ty, initial.as_ref());
                self.declare(id, &declaration.name);
            }
            DeclarationKind::Instantiation(instantiation) => {
                self.instantiation(declaration, instantiation);
            }
            DeclarationKind::Error(members) => self.error_declaration(members),
            DeclarationKind::MatchKind(members) => self.match_kind_declaration(members),
            DeclarationKind::ExternObject(object) => self.extern_object(declaration, object),
            DeclarationKind::ExternFunction(prototype) => {
                self.declare(id, &declaration.name);
                self.scoped(|checker| checker.prototype(prototype, ParametersOf::Function));
            }
            DeclarationKind::Function { prototype, body } => {
                self.declare(id, &declaration.name);
                self.function(declaration, prototype, body);
            }
            DeclarationKind::Action { parameters, body } => {
                self.declare(id, &declaration.name);
                self.action(declaration, parameters, body);
            }
            DeclarationKind::Parser(parser) => self.parser(declaration, parser),
            DeclarationKind::Control(control) => self.control(declaration, control),
            DeclarationKind::ParserType(parser) => {
                let named = self.generic(id, &parser.type_parameters);
                self.set_declared_type(id, Type::Parser(named));
                self.declare(id, &declaration.name);
                self.block_type(&parser.type_parameters, &parser.parameters);
            }
            DeclarationKind::ControlType(control) => {
                let named = self.generic(id, &control.type_parameters);
                self.set_declared_type(id, Type::Control(named));
                self.declare(id, &declaration.name);
                self.block_type(&control.type_parameters, &control.parameters);
            }
            DeclarationKind::Package(package) => {
                let named = self.generic(id, &package.type_parameters);
                self.set_declared_type(id, Type::Package(named));
                self.declare(id, &declaration.name);
                self.scoped(|checker| {
                    checker.declare_type_parameters(&package.type_parameters);
                    checker.parameters(&package.parameters, ParametersOf::Package);
                });
            }
            DeclarationKind::Header { type_parameters, fields } => {
                let named = self.generic(id, type_parameters);
                self.composite(declaration, type_parameters, fields, Type::Header(named));
            }
            DeclarationKind::HeaderUnion { type_parameters, fields } => {
                let named = self.generic(id, type_parameters);
                self.composite(declaration, type_parameters, fields, Type::HeaderUnion(named));
            }
            DeclarationKind::Struct { type_parameters, fields } => {
                let named = self.generic(id, type_parameters);
                self.composite(declaration, type_parameters, fields, Type::Struct(named));
            }
            DeclarationKind::Enum { underlying, members } => {
                self.enumeration(declaration, underlying.as_ref(), members);
            }
            DeclarationKind::Typedef(ty) => {
                let resolved = self.resolve_type(ty);
                self.set_declared_type(id, resolved);
                self.declare(id, &declaration.name);
            }
            DeclarationKind::NewType(ty) => self.new_type(declaration, ty),
            DeclarationKind::Table(table) => {
                self.set_declared_type(id, Type::Table(id));
                self.table(declaration, table);
            }
            DeclarationKind::ValueSet(set) => self.value_set(declaration, set),
        }
    }

    /// The type that a generic declaration declares, inside itself.
    fn generic(&mut self, id: DeclarationId, type_parameters: &[TypeParameter]) -> Named {
        Named {
            declaration: id,
            arguments: type_parameters
                .iter()
                .map(|parameter| Type::Variable(parameter.id))
                .collect(),
        }
    }

    pub(super) fn declare_type_parameters(&mut self, type_parameters: &[TypeParameter]) {
        for parameter in type_parameters {
            self.set_declared_type(parameter.id, Type::Variable(parameter.id));
            self.declare(parameter.id, &parameter.name);
        }
    }

    fn block_type(
        &mut self,
        type_parameters: &'program [TypeParameter],
        parameters: &'program [Parameter],
    ) {
        self.scoped(|checker| {
            checker.declare_type_parameters(type_parameters);
            checker.parameters(parameters, ParametersOf::Apply);
        });
    }

    // Parameters.

    pub(super) fn parameters(&mut self, parameters: &'program [Parameter], of: ParametersOf) {
        let mut directionless: Option<&Parameter> = None;
        for parameter in parameters {
            self.parameter(parameter, of);
            if of != ParametersOf::Action {
                continue;
            }
            if parameter.direction == Direction::None {
                directionless = directionless.or(Some(parameter));
            } else if let Some(first) = directionless {
                self.report(
                    Diagnostic::error(
                        "parameter-order",
                        parameter.name.span,
                        format!(
                            "parameter `{}` with a direction stands after one without",
                            parameter.name
                        ),
                    )
                    .secondary(first.name.span, "this one has none")
                    .note("parameters of an action that have no direction come last"),
                );
            }
        }
    }

    fn parameter(&mut self, parameter: &'program Parameter, of: ParametersOf) {
        self.annotations(&parameter.annotations);
        let ty = self.resolve_type(&parameter.ty);
        self.set_declared_type(parameter.id, ty.clone());
        let (span, name) = (parameter.ty.span, &parameter.name);
        let directed = parameter.direction != Direction::None;
        if matches!(of, ParametersOf::Constructor | ParametersOf::Package) && directed {
            self.error("direction", parameter.span, "parameters of constructors have no direction");
        }
        let refused = match &ty {
            Type::Void => Some("`void` is no type for a parameter".to_owned()),
            Type::Package(_) if of != ParametersOf::Package => {
                Some("only packages have parameters that are packages".to_owned())
            }
            Type::Extern(_) if of == ParametersOf::Action => Some(format!(
                "parameters of actions cannot be of the extern type `{}`",
                self.out.show(&ty)
            )),
            Type::Extern(_) | Type::String if directed => Some(format!(
                "a parameter of type `{}` cannot have a direction",
                self.out.show(&ty)
            )),
            Type::Parser(named) | Type::Control(named) => {
                let declared_here =
                    self.out.index.get_declaration(named.declaration).is_some_and(|declaration| {
                        matches!(
                            declaration.kind,
                            DeclarationKind::Parser(_) | DeclarationKind::Control(_)
                        )
                    });
                let allowed = !directed
                    && !declared_here
                    && matches!(of, ParametersOf::Constructor | ParametersOf::Package);
                (!allowed)
                    .then(|| format!("`{}` is no type for this parameter", self.out.show(&ty)))
            }
            Type::Integer if of == ParametersOf::Action => {
                Some("parameters of actions cannot be of type `int`: give it a width".to_owned())
            }
            Type::Integer if directed => {
                Some("a parameter of type `int` cannot have a direction".to_owned())
            }
            _ => None,
        };
        if let Some(message) = refused {
            self.error("type-not-allowed", span, message);
            self.set_declared_type(parameter.id, Type::Unknown);
        }
        if let (Some(default), Some(optional)) =
            (&parameter.default, parameter.annotation("optional"))
        {
            self.report(
                Diagnostic::error(
                    "annotation",
                    default.span,
                    "an optional parameter has no default value",
                )
                .secondary(optional.span, "optional"),
            );
        }
        if let Some(default) = &parameter.default {
            if matches!(parameter.direction, Direction::Out | Direction::InOut) {
                self.error(
                    "direction",
                    default.span,
                    format!("an `{}` parameter has no default value", parameter.direction.as_str()),
                );
            }
            let info = self.expression_of(default, &ty);
            if !info.known {
                self.error(
                    "not-constant",
                    default.span,
                    format!("the default value of `{name}` must be known at compile time"),
                );
            }
        }
        self.check_reference(parameter, of == ParametersOf::Action);
        self.declare(parameter.id, name);
    }

    pub(super) fn prototype(
        &mut self,
        prototype: &'program FunctionPrototype,
        of: ParametersOf,
    ) -> Type {
        self.declare_type_parameters(&prototype.type_parameters);
        let returned = self.resolve_type(&prototype.return_type);
        if matches!(returned, Type::Parser(_) | Type::Control(_) | Type::Package(_)) {
            self.error(
                "type-not-allowed",
                prototype.return_type.span,
                format!("a function cannot return a `{}`", self.out.show(&returned)),
            );
        }
        if of == ParametersOf::Method && matches!(returned, Type::Integer | Type::String) {
            self.error(
                "type-not-allowed",
                prototype.return_type.span,
                format!("a method cannot return `{}`", self.out.show(&returned)),
            );
        }
        self.parameters(&prototype.parameters, of);
        returned
    }

    // Values.

    fn constant_declaration(
        &mut self,
        declaration: &Declaration,
        ty: &ast::Type,
        value: &ast::Expression,
    ) {
        let ty = self.resolve_type(ty);
        if matches!(
            ty,
            Type::Extern(_)
                | Type::Parser(_)
                | Type::Control(_)
                | Type::Package(_)
                | Type::Void
                | Type::Table(_)
        ) {
            self.error(
                "type-not-allowed",
                declaration.name.span,
                format!("a constant cannot be of type `{}`", self.out.show(&ty)),
            );
            self.set_declared_type(declaration.id, Type::Unknown);
            return;
        }
        self.set_declared_type(declaration.id, ty.clone());
        let info = self.expression_of(value, &ty);
        if !info.known || self.is_run_time(value) {
            self.report(
                Diagnostic::error(
                    "not-constant",
                    value.span,
                    format!("the value of `{}` is not known at compile time", declaration.name),
                )
                .label("a constant was expected"),
            );
        }
    }

    /// Whether a value that counts as known depends on what is known only when code runs: action data, and
    /// parameters without direction of `apply`.
    fn is_run_time(&self, expression: &ast::Expression) -> bool {
        use ast::ExpressionKind as Kind;
        if self.out.constant(expression.id).is_some() {
            return false;
        }
        match &expression.kind {
            Kind::Path(_) => {
                let Some(super::Resolution::Declaration(id)) = self.out.resolution(expression.id)
                else {
                    return false;
                };
                let Some(parameter) = self.out.index.get_parameter(*id) else { return false };
                let owner = self
                    .out
                    .index
                    .parent(*id)
                    .and_then(|owner| self.out.index.get_declaration(owner));
                match owner.map(|owner| &owner.kind) {
                    Some(DeclarationKind::Action { .. }) => true,
                    Some(DeclarationKind::Control(control)) => {
                        control.parameters.iter().any(|other| other.id == parameter.id)
                    }
                    Some(DeclarationKind::Parser(parser)) => {
                        parser.parameters.iter().any(|other| other.id == parameter.id)
                    }
                    _ => false,
                }
            }
            Kind::Member { base, .. } | Kind::Slice { base, .. } => self.is_run_time(base),
            Kind::Index { base, index } => self.is_run_time(base) || self.is_run_time(index),
            Kind::Cast { operand, .. } | Kind::Unary { operand, .. } => self.is_run_time(operand),
            Kind::Binary { left, right, .. } => self.is_run_time(left) || self.is_run_time(right),
            Kind::Conditional { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().any(|part| self.is_run_time(part))
            }
            Kind::List { elements, .. } => elements.iter().any(|element| self.is_run_time(element)),
            Kind::Record { fields, .. } => {
                fields.iter().any(|field| self.is_run_time(&field.value))
            }
            _ => false,
        }
    }

    pub(super) fn variable(
        &mut self,
        declaration: &Declaration,
        ty: &ast::Type,
        initial: Option<&ast::Expression>,
    ) {
        let resolved = self.resolve_type(ty);
        let refused = matches!(
            resolved,
            Type::Extern(_)
                | Type::Parser(_)
                | Type::Control(_)
                | Type::Package(_)
                | Type::String
                | Type::Integer
                | Type::Void
                | Type::MatchKind
        );
        if self.scopes.len() == 1 {
            self.error(
                "misplaced",
                declaration.name.span,
                "there are no variables outside of blocks",
            );
        }
        if refused {
            let mut diagnostic = Diagnostic::error(
                "type-not-allowed",
                ty.span,
                format!("a variable cannot be of type `{}`", self.out.show(&resolved)),
            );
            diagnostic = match resolved {
                Type::Integer => {
                    diagnostic.note("give it a width: `int<32>`, or declare a constant")
                }
                Type::String => {
                    diagnostic.note("strings exist at compile time only: declare a constant")
                }
                Type::Void | Type::MatchKind => diagnostic,
                _ => diagnostic.note("an instance is declared with parentheses: `T(...) name;`"),
            };
            self.report(diagnostic);
        }
        let kept = if refused { Type::Unknown } else { resolved };
        self.set_declared_type(declaration.id, kept.clone());
        if let Some(initial) = initial {
            self.expression_of(initial, &kept);
        }
    }

    fn error_declaration(&mut self, members: &'program [EnumMember]) {
        for member in members {
            self.annotations(&member.annotations);
            self.set_declared_type(member.id, Type::Error);
            if let Some(first) = self.error_members.get(&member.name.text).copied() {
                self.duplicate(&member.name, first);
                continue;
            }
            self.error_members.insert(member.name.text.clone(), member.id);
            self.out.errors.push(member.id);
        }
    }

    fn match_kind_declaration(&mut self, members: &'program [EnumMember]) {
        for member in members {
            self.annotations(&member.annotations);
            self.set_declared_type(member.id, Type::MatchKind);
            if let Some(first) = self.match_kinds.get(&member.name.text).copied() {
                self.duplicate(&member.name, first);
                continue;
            }
            self.match_kinds.insert(member.name.text.clone(), member.id);
        }
    }

    pub(super) fn duplicate(&mut self, name: &Name, first: DeclarationId) {
        let span = self.span_of(first);
        self.report(
            Diagnostic::error("duplicate", name.span, format!("`{name}` is declared twice"))
                .label("declared again here")
                .secondary(span, "first declared here"),
        );
    }

    // Types.

    fn composite(
        &mut self,
        declaration: &'program Declaration,
        type_parameters: &'program [TypeParameter],
        fields: &'program [StructField],
        ty: Type,
    ) {
        let refers_to_itself = |span: Span| {
            Diagnostic::error(
                "recursion",
                span,
                format!("`{}` cannot contain itself", declaration.name),
            )
        };
        self.scoped(|checker| {
            checker.declare_type_parameters(type_parameters);
            let mut seen: Vec<&Name> = Vec::new();
            let mut varbit: Option<Span> = None;
            for field in fields {
                checker.annotations(&field.annotations);
                if let Some(first) = seen.iter().find(|other| ***other == field.name) {
                    let first = first.span;
                    checker.report(
                        Diagnostic::error(
                            "duplicate",
                            field.name.span,
                            format!("the field `{}` is declared twice", field.name),
                        )
                        .secondary(first, "first declared here"),
                    );
                }
                seen.push(&field.name);
                if field.name.as_str() == "_" {
                    checker.error("reserved-name", field.name.span, "`_` cannot be declared");
                }
                if mentions(&field.ty, &declaration.name) && checker.is_new(&declaration.name) {
                    checker.report(refers_to_itself(field.ty.span));
                    checker.set_declared_type(field.id, Type::Unknown);
                    continue;
                }
                let resolved = checker.resolve_type(&field.ty);
                let allowed = match &ty {
                    Type::Header(_) => checker.fits_header(&resolved),
                    Type::HeaderUnion(_) => {
                        matches!(resolved, Type::Header(_) | Type::Variable(_) | Type::Unknown)
                    }
                    _ => checker.fits_struct(&resolved),
                };
                if let (Type::Header(_), Type::Varbit { .. }) = (&ty, &resolved) {
                    if let Some(first) = varbit {
                        checker.report(
                            Diagnostic::error(
                                "type-not-allowed",
                                field.name.span,
                                "a header has at most one `varbit` field",
                            )
                            .secondary(first, "the first one"),
                        );
                    }
                    varbit = Some(field.name.span);
                }
                checker.set_declared_type(field.id, resolved.clone());
                if !allowed {
                    let noun = declaration.kind.noun();
                    checker.error(
                        "type-not-allowed",
                        field.ty.span,
                        format!(
                            "a field of a {noun} cannot be of type `{}`",
                            checker.out.show(&resolved)
                        ),
                    );
                    checker.set_type_at(&field.ty, Type::Unknown);
                    checker.set_declared_type(field.id, Type::Unknown);
                }
            }
        });
        self.set_declared_type(declaration.id, ty);
        self.declare(declaration.id, &declaration.name);
    }

    /// Whether nothing of this name is declared yet.
    fn is_new(&self, name: &Name) -> bool {
        self.lookup(
            &ast::Path { absolute: false, name: name.clone() },
            super::checker::Wanted::Type,
        )
        .is_empty()
    }

    fn fits_header(&self, ty: &Type) -> bool {
        match self.base_type(ty) {
            Type::Bits { .. }
            | Type::Varbit { .. }
            | Type::Bool
            | Type::SerializableEnum(_)
            | Type::Variable(_)
            | Type::Unknown => true,
            inner @ Type::Struct(_) => self.only_bits(&inner, &mut { MOST_PARTS }),
            _ => false,
        }
    }

    fn only_bits(&self, ty: &Type, budget: &mut u32) -> bool {
        let Some(left) = budget.checked_sub(1) else { return false };
        *budget = left;
        match self.base_type(ty) {
            Type::Bits { .. }
            | Type::Bool
            | Type::SerializableEnum(_)
            | Type::Variable(_)
            | Type::Unknown => true,
            inner @ Type::Struct(_) => {
                self.out.fields(&inner).iter().all(|field| self.only_bits(&field.ty, budget))
            }
            _ => false,
        }
    }

    fn fits_struct(&self, ty: &Type) -> bool {
        matches!(
            self.base_type(ty),
            Type::Struct(_)
                | Type::Bits { .. }
                | Type::Header(_)
                | Type::HeaderUnion(_)
                | Type::Enum(_)
                | Type::Error
                | Type::Bool
                | Type::Stack { .. }
                | Type::Varbit { .. }
                | Type::Tuple(_)
                | Type::SerializableEnum(_)
                | Type::Variable(_)
                | Type::MatchKind
                | Type::Unknown
        )
    }

    fn enumeration(
        &mut self,
        declaration: &'program Declaration,
        underlying: Option<&ast::Type>,
        members: &'program [EnumMember],
    ) {
        let id = declaration.id;
        let representation = underlying.map(|ty| {
            let resolved = self.resolve_type(ty);
            if !resolved.is_bits() && !resolved.is_unknown() {
                self.report(
                    Diagnostic::error(
                        "type-not-allowed",
                        ty.span,
                        format!(
                            "`{}` cannot represent the members of an enum",
                            self.out.show(&resolved)
                        ),
                    )
                    .label("`bit<W>` or `int<W>` was expected"),
                );
                return Type::Unknown;
            }
            resolved
        });
        let own = if underlying.is_some() { Type::SerializableEnum(id) } else { Type::Enum(id) };
        let mut seen: Vec<(&Name, DeclarationId)> = Vec::new();
        for member in members {
            self.annotations(&member.annotations);
            self.set_declared_type(member.id, own.clone());
            if let Some((_, first)) = seen.iter().find(|(name, _)| **name == member.name).copied() {
                self.duplicate(&member.name, first);
            }
            seen.push((&member.name, member.id));
            match (&representation, &member.value) {
                (None, Some(value)) => {
                    self.error(
                        "enum-value",
                        value.span,
                        format!(
                            "`{}` has no representation: its members have no values",
                            declaration.name
                        ),
                    );
                }
                (Some(_), None) => {
                    self.error(
                        "enum-value",
                        member.name.span,
                        format!("`{}` needs a value: the enum has a representation", member.name),
                    );
                }
                (Some(ty), Some(value)) => self.enum_member(member, ty, value),
                (None, None) => {}
            }
        }
        if members.is_empty() {
            self.error("enum-value", declaration.name.span, "an enum needs at least one member");
        }
        self.set_declared_type(id, own);
        self.declare(id, &declaration.name);
    }

    fn enum_member(&mut self, member: &EnumMember, ty: &Type, value: &ast::Expression) {
        let info = self.expression(value);
        let Type::Bits { width, signed } = *ty else { return };
        let number = self.out.evaluate_own(value).as_ref().and_then(Constant::to_integer);
        let Some(number) = number.filter(|_| self.representation(&info.ty).is_numeric()) else {
            if !info.ty.is_unknown() {
                self.error(
                    "not-constant",
                    value.span,
                    format!(
                        "the value of `{}` must be a number known at compile time",
                        member.name
                    ),
                );
            }
            return;
        };
        let (least, most) = bounds(width, signed);
        if number < least || number > most {
            self.error(
                "out-of-range",
                value.span,
                format!("{number} does not fit `{}`", self.out.show(ty)),
            );
            return;
        }
        self.convert(value, ty);
        self.out.enum_values.insert(member.id, Bits::from_bigint(width, signed, &number));
    }

    fn new_type(&mut self, declaration: &'program Declaration, ty: &ast::Type) {
        let resolved = self.resolve_type(ty);
        let allowed =
            matches!(resolved, Type::Bits { .. } | Type::Bool | Type::NewType(_) | Type::Unknown);
        if !allowed {
            self.report(
                Diagnostic::error(
                    "type-not-allowed",
                    ty.span,
                    format!("`type` makes no new type of `{}`", self.out.show(&resolved)),
                )
                .label("`bit<W>`, `int<W>`, `bool` or another `type` was expected"),
            );
            self.set_type_at(ty, Type::Unknown);
        }
        self.set_declared_type(declaration.id, Type::NewType(declaration.id));
        self.declare(declaration.id, &declaration.name);
    }

    fn value_set(&mut self, declaration: &'program Declaration, set: &'program ast::ValueSet) {
        let element = self.resolve_type(&set.element);
        let allowed = matches!(
            self.base_type(&element),
            Type::Bits { .. }
                | Type::Bool
                | Type::Enum(_)
                | Type::SerializableEnum(_)
                | Type::Struct(_)
                | Type::Tuple(_)
                | Type::Unknown
        );
        if !allowed {
            self.error(
                "type-not-allowed",
                set.element.span,
                format!("a value set cannot hold `{}`", self.out.show(&element)),
            );
        }
        let size = self.expression(&set.size);
        let value = self.out.evaluate_own(&set.size).as_ref().and_then(Constant::to_integer);
        if !size.ty.is_unknown() && (!size.ty.is_numeric() || !size.known) {
            self.error(
                "not-constant",
                set.size.span,
                "the size of a value set is a number known at compile time",
            );
        } else if value.is_some_and(|value| value < BigInt::ZERO) {
            self.error("out-of-range", set.size.span, "the size of a value set cannot be negative");
        }
        self.set_declared_type(declaration.id, element);
        self.declare(declaration.id, &declaration.name);
    }

    fn extern_object(
        &mut self,
        declaration: &'program Declaration,
        object: &'program ExternObject,
    ) {
        let id = declaration.id;
        let named = self.generic(id, &object.type_parameters);
        self.set_declared_type(id, Type::Extern(named));
        self.declare(id, &declaration.name);
        self.scoped(|checker| {
            checker.declare_type_parameters(&object.type_parameters);
            for constructor in &object.constructors {
                checker.constructor_declaration(constructor);
            }
            for method in &object.methods {
                checker.annotations(&method.annotations);
                checker
                    .scoped(|checker| checker.prototype(&method.prototype, ParametersOf::Method));
            }
        });
    }

    fn constructor_declaration(&mut self, constructor: &'program Constructor) {
        self.annotations(&constructor.annotations);
        self.scoped(|checker| {
            checker.parameters(&constructor.parameters, ParametersOf::Constructor)
        });
    }

    // Code.

    pub(super) fn function(
        &mut self,
        declaration: &'program Declaration,
        prototype: &'program FunctionPrototype,
        body: &'program Block,
    ) {
        self.scoped(|checker| {
            let returned = checker.prototype(prototype, ParametersOf::Function);
            let context = Context {
                function: Some((declaration.id, returned.clone())),
                instance: checker.context.instance,
                control: None,
                parser: None,
                ..Context::default()
            };
            let ends = checker.within(context, |checker| checker.block(body));
            if !ends && returned != Type::Void && !returned.is_unknown() {
                checker.report(
                    Diagnostic::error(
                        "missing-return",
                        declaration.name.span,
                        format!("`{}` does not return a value on all paths", declaration.name),
                    )
                    .note(format!("it returns `{}`", checker.out.show(&returned))),
                );
            }
        });
    }

    fn action(
        &mut self,
        declaration: &'program Declaration,
        parameters: &'program [Parameter],
        body: &'program Block,
    ) {
        self.scoped(|checker| {
            checker.parameters(parameters, ParametersOf::Action);
            let context = Context {
                action: Some(declaration.id),
                in_apply: false,
                ..checker.context.clone()
            };
            checker.within(context, |checker| checker.block(body));
        });
    }

    fn control(&mut self, declaration: &'program Declaration, control: &'program Control) {
        let id = declaration.id;
        self.not_generic(declaration, &control.type_parameters);
        let named = self.generic(id, &control.type_parameters);
        self.set_declared_type(id, Type::Control(named));
        self.declare(id, &declaration.name);
        self.scoped(|checker| {
            checker.declare_type_parameters(&control.type_parameters);
            checker.parameters(&control.parameters, ParametersOf::Apply);
            checker.parameters(&control.constructor_parameters, ParametersOf::Constructor);
            let context = Context { control: Some(id), ..Context::default() };
            checker.within(context, |checker| {
                checker.scoped(|checker| {
                    for local in &control.locals {
                        checker.local(local);
                    }
                    checker.context.in_apply = true;
                    checker.block(&control.apply);
                });
            });
        });
    }

    fn parser(&mut self, declaration: &'program Declaration, parser: &'program ParserDeclaration) {
        let id = declaration.id;
        self.not_generic(declaration, &parser.type_parameters);
        let named = self.generic(id, &parser.type_parameters);
        self.set_declared_type(id, Type::Parser(named));
        self.declare(id, &declaration.name);
        self.scoped(|checker| {
            checker.declare_type_parameters(&parser.type_parameters);
            checker.parameters(&parser.parameters, ParametersOf::Apply);
            checker.parameters(&parser.constructor_parameters, ParametersOf::Constructor);
            let context = Context { parser: Some(id), ..Context::default() };
            checker.within(context, |checker| {
                checker.scoped(|checker| {
                    for local in &parser.locals {
                        checker.local(local);
                    }
                    checker.states(declaration, parser);
                });
            });
        });
    }

    /// Parser and control types may be generic, parsers and controls not (§13.2, §14).
    fn not_generic(&mut self, declaration: &Declaration, type_parameters: &[TypeParameter]) {
        if let Some(parameter) = type_parameters.first() {
            let noun = declaration.kind.noun();
            self.report(
                Diagnostic::error(
                    "type-not-allowed",
                    parameter.name.span,
                    format!("the {noun} `{}` has type parameters", declaration.name),
                )
                .note(format!("only {noun} types, without a body, are generic")),
            );
        }
    }

    /// A local of a parser or control: it may hide the parameters.
    fn local(&mut self, declaration: &'program Declaration) {
        self.hides_parameters = true;
        self.declaration(declaration);
        self.hides_parameters = false;
    }
}

/// Whether a type reference names `name`.
fn mentions(ty: &ast::Type, name: &Name) -> bool {
    match &ty.kind {
        ast::TypeKind::Named(path) => path.name == *name,
        ast::TypeKind::Specialized { base, arguments } => {
            base.name == *name || arguments.iter().any(|argument| mentions(argument, name))
        }
        ast::TypeKind::Stack { element, .. } => mentions(element, name),
        ast::TypeKind::Tuple(elements) => elements.iter().any(|element| mentions(element, name)),
        ast::TypeKind::List(element) => mentions(element, name),
        _ => false,
    }
}
