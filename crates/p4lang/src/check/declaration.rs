//! Declarations (P4_16 §6.7, §7.2, §11 to §14): constants, variables, externs, functions, actions,
//! controls and parsers.

use num_bigint::BigInt;

use super::checker::{Checker, Context};
use super::overload::same_names;
use super::parameter::ParametersOf;
use super::{Constant, Named, Type};
use crate::ast::{
    self, Block, Constructor, Control, Declaration, DeclarationId, DeclarationKind, ExternObject,
    FunctionPrototype, Parameter, ParserDeclaration, TypeParameter,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl<'program> Checker<'program, '_> {
    pub(super) fn program(&mut self) {
        // The members of all `error` declarations are merged (§7.1.2), so a member may be used
        // before its declaration.
        for declaration in &self.out.program.declarations {
            if let DeclarationKind::Error(members) = &declaration.kind {
                self.error_declaration(members);
            }
        }
        for declaration in &self.out.program.declarations {
            self.declaration(declaration);
        }
        self.after_all();
    }

    /// Checks a declaration at top level or in a block.
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
            DeclarationKind::Error(_) => {}
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
                for parameter in &package.parameters {
                    if matches!(self.out.declared_type(parameter.id), Type::Package(of) if of.declaration == id)
                    {
                        self.error(
                            "recursion",
                            parameter.span,
                            format!("`{}` cannot contain itself", declaration.name),
                        );
                    }
                }
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
                let mut resolved = self.resolve_type(ty);
                if resolved == Type::String {
                    self.error(
                        "type-not-allowed",
                        ty.span,
                        format!("`{}` cannot have another name", self.out.show(&resolved)),
                    );
                    resolved = Type::Unknown;
                }
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

    /// Returns the type of a generic declaration as it is used inside the declaration, where the
    /// type parameters themselves are the type arguments.
    pub(super) fn generic(
        &mut self,
        id: DeclarationId,
        type_parameters: &[TypeParameter],
    ) -> Named {
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

    // Constants, variables and value sets.

    fn constant_declaration(
        &mut self,
        declaration: &Declaration,
        ty: &ast::Type,
        value: &ast::Expression,
    ) {
        let span = ty.span;
        let ty = self.resolve_type(ty);
        let ty = self.refuse_open(ty, span);
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

    /// Returns whether an expression that counts as known at compile time depends on a value that
    /// is known only at run time: action data, or a parameter of `apply` without a direction.
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

    /// Checks the declaration of a variable: whether variables may have this type, and the initial
    /// value.
    pub(super) fn variable(
        &mut self,
        declaration: &Declaration,
        ty: &ast::Type,
        initial: Option<&ast::Expression>,
    ) {
        let resolved = self.resolve_type(ty);
        let resolved = self.refuse_open(resolved, ty.span);
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
                | Type::List(_)
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
                    diagnostic.note("strings exist only at compile time: declare a constant")
                }
                Type::List(_) => diagnostic
                    .note("lists exist only at compile time: declare a constant, or a tuple"),
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

    /// Checks the declaration of a parser value set.
    fn value_set(&mut self, declaration: &'program Declaration, set: &'program ast::ValueSet) {
        let element = self.resolve_type(&set.element);
        let element = self.refuse_open(element, set.element.span);
        let allowed = matches!(
            self.base_type(&element),
            Type::Bits { .. }
                | Type::Bool
                | Type::Enum(_)
                | Type::SerializableEnum(_)
                | Type::Struct(_)
                | Type::Tuple(_)
                | Type::Unknown
        ) && self.out.match_fields(&element).is_some();
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
                "the size of a value set must be a number known at compile time",
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
            checker.methods_differ(object);
            for method in &object.methods {
                checker.annotations(&method.annotations);
                checker.method_signature(declaration, method);
                checker
                    .scoped(|checker| checker.prototype(&method.prototype, ParametersOf::Method));
            }
        });
    }

    /// Checks that calls can distinguish the methods of an extern that have the same name, and its
    /// constructors (§7.2.10.2).
    fn methods_differ(&mut self, object: &'program ExternObject) {
        let mut twice: Vec<(Span, Span)> = Vec::new();
        for (position, method) in object.methods.iter().enumerate() {
            // An implementation of an abstract method is found by name only (§7.2.10.3).
            let clashes = |other: &&ast::Method| {
                let is_abstract = other.is_abstract || method.is_abstract;
                other.name == method.name
                    && (is_abstract
                        || same_names(&other.prototype.parameters, &method.prototype.parameters))
            };
            let earlier = object.methods.iter().take(position).find(clashes);
            twice.extend(earlier.map(|first| (method.name.span, first.name.span)));
        }
        for (position, constructor) in object.constructors.iter().enumerate() {
            let mut earlier = object.constructors.iter().take(position);
            let first =
                earlier.find(|other| same_names(&other.parameters, &constructor.parameters));
            twice.extend(first.map(|first| (constructor.span, first.span)));
        }
        for (again, first) in twice {
            self.report(
                Diagnostic::error("duplicate", again, "this is declared twice")
                    .label("neither number nor names of parameters differ")
                    .secondary(first, "first declared here"),
            );
        }
    }

    /// Checks p4c's rule for the return type of an extern's method: a value of this type must be
    /// able to exist at run time. A constructor has no return type.
    fn method_signature(&mut self, declaration: &Declaration, method: &ast::Method) {
        if method.name.text == declaration.name.text {
            self.error(
                "return",
                method.name.span,
                format!("`{}` is a constructor: it cannot have a return type", method.name),
            );
        }
        let returned = &method.prototype.return_type;
        if matches!(returned.kind, ast::TypeKind::Int(None) | ast::TypeKind::String) {
            self.error(
                "type-not-allowed",
                returned.span,
                format!("the method `{}` cannot return a value of this type", method.name),
            );
        }
    }

    fn constructor_declaration(&mut self, constructor: &'program Constructor) {
        self.annotations(&constructor.annotations);
        self.scoped(|checker| {
            checker.parameters(&constructor.parameters, ParametersOf::Constructor)
        });
    }

    // Functions, actions, controls and parsers.

    pub(super) fn function(
        &mut self,
        declaration: &'program Declaration,
        prototype: &'program FunctionPrototype,
        body: &'program Block,
    ) {
        self.scoped(|checker| {
            let returned = checker.prototype(prototype, ParametersOf::Function);
            checker.code_knows(&prototype.parameters);
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

    pub(super) fn action(
        &mut self,
        declaration: &'program Declaration,
        parameters: &'program [Parameter],
        body: &'program Block,
    ) {
        self.scoped(|checker| {
            checker.parameters_of_code(parameters, ParametersOf::Action);
            let context = Context {
                action: Some(declaration.id),
                in_apply: false,
                ..checker.context.clone()
            };
            checker.within(context, |checker| checker.block(body));
        });
    }

    pub(super) fn control(
        &mut self,
        declaration: &'program Declaration,
        control: &'program Control,
    ) {
        let id = declaration.id;
        self.generic_body(declaration, &control.type_parameters);
        let named = self.generic(id, &control.type_parameters);
        self.set_declared_type(id, Type::Control(named));
        self.declare(id, &declaration.name);
        self.scoped(|checker| {
            checker.declare_type_parameters(&control.type_parameters);
            checker.parameters_of_code(&control.parameters, ParametersOf::Apply);
            checker.parameters_of_code(&control.constructor_parameters, ParametersOf::Constructor);
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

    pub(super) fn parser(
        &mut self,
        declaration: &'program Declaration,
        parser: &'program ParserDeclaration,
    ) {
        let id = declaration.id;
        self.generic_body(declaration, &parser.type_parameters);
        let named = self.generic(id, &parser.type_parameters);
        self.set_declared_type(id, Type::Parser(named));
        self.declare(id, &declaration.name);
        self.scoped(|checker| {
            checker.declare_type_parameters(&parser.type_parameters);
            checker.parameters_of_code(&parser.parameters, ParametersOf::Apply);
            checker.parameters_of_code(&parser.constructor_parameters, ParametersOf::Constructor);
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

    /// Warns of a parser or control that has both type parameters and a body. The specification
    /// permits type parameters only for parser and control types (§13.2, §14). p4c has always
    /// accepted generic parsers and controls (p4c#2247), and programs use them.
    fn generic_body(&mut self, declaration: &Declaration, type_parameters: &[TypeParameter]) {
        if let Some(parameter) = type_parameters.first() {
            let noun = declaration.kind.noun();
            self.report(
                Diagnostic::warning(
                    "generic-body",
                    parameter.name.span,
                    format!("the {noun} `{}` has type parameters", declaration.name),
                )
                .note(format!("the specification allows type parameters only for {noun} types, which have no body")),
            );
        }
    }

    /// Checks a local declaration of a parser or control. Its name may hide the name of a
    /// parameter.
    pub(super) fn local(&mut self, declaration: &'program Declaration) {
        self.hides_parameters = true;
        self.declaration(declaration);
        self.hides_parameters = false;
    }
}
