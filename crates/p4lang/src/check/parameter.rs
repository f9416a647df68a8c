//! Checks of parameters and signatures: which types, directions and default values are permitted
//! (P4_16 §6.8, §7.2.9).

use super::Type;
use super::checker::Checker;
use crate::ast::{DeclarationKind, Direction, FunctionPrototype, Parameter};
use crate::diagnostic::Diagnostic;

/// The kind of declaration to which parameters belong, which determines their permitted types.
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
    /// Checks and declares the parameters of a declaration. In an action, parameters without a
    /// direction must come last.
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
                    .note("parameters of an action that have no direction must come last"),
                );
            }
        }
    }

    /// Checks the type, the direction and the default value of a parameter, and declares its name.
    pub(super) fn parameter(&mut self, parameter: &'program Parameter, of: ParametersOf) {
        self.annotations(&parameter.annotations);
        let ty = self.resolve_type(&parameter.ty);
        self.set_declared_type(parameter.id, ty.clone());
        let (span, name) = (parameter.ty.span, &parameter.name);
        let directed = parameter.direction != Direction::None;
        if matches!(of, ParametersOf::Constructor | ParametersOf::Package) && directed {
            self.error("direction", parameter.span, "parameters of constructors have no direction");
        }
        let refused = match &ty {
            Type::Void => Some("`void` is not a type for a parameter".to_owned()),
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
                    .then(|| format!("`{}` is not a type for this parameter", self.out.show(&ty)))
            }
            Type::Integer if of == ParametersOf::Action => {
                Some("parameters of actions cannot be of type `int`: give it a width".to_owned())
            }
            Type::Integer if of == ParametersOf::Apply => Some(
                "parameters of `apply` cannot be of type `int`: give it a width, or make it one of the constructor"
                    .to_owned(),
            ),
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
            // If the type of the parameter contains type parameters, it is only known where a call
            // uses the default value.
            let generic = ty.any(&mut |part| matches!(part, Type::Variable(_)));
            let info =
                if generic { self.expression(default) } else { self.expression_of(default, &ty) };
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

    /// Checks the parameters of a declaration with a body, such as a function or an action.
    pub(super) fn parameters_of_code(
        &mut self,
        parameters: &'program [Parameter],
        of: ParametersOf,
    ) {
        self.parameters(parameters, of);
        self.code_knows(parameters);
    }

    /// Reports parameters that a declaration with a body must not have: optional parameters, which
    /// a call may omit, and parameters with `_` in their type, whose type would be unknown in the
    /// body.
    pub(super) fn code_knows(&mut self, parameters: &[Parameter]) {
        for optional in parameters.iter().filter_map(|parameter| parameter.annotation("optional")) {
            self.error(
                "annotation",
                optional.span,
                "only parameters of externs and packages can be optional",
            );
        }
        for parameter in parameters {
            let ty = self.out.declared_type(parameter.id).clone();
            // Calls may pass extern objects of different types for such a parameter, so `_` may
            // remain in its type.
            if !matches!(ty, Type::Extern(_)) {
                let ty = self.refuse_open(ty, parameter.ty.span);
                self.set_declared_type(parameter.id, ty);
            }
        }
    }

    /// Checks the signature of a function or method and declares its parameters. Returns its return
    /// type.
    pub(super) fn prototype(
        &mut self,
        prototype: &'program FunctionPrototype,
        of: ParametersOf,
    ) -> Type {
        self.declare_type_parameters(&prototype.type_parameters);
        let returned = self.resolve_type(&prototype.return_type);
        let returned = self.refuse_open(returned, prototype.return_type.span);
        if matches!(returned, Type::Parser(_) | Type::Control(_) | Type::Package(_)) {
            self.error(
                "type-not-allowed",
                prototype.return_type.span,
                format!("a function cannot return a `{}`", self.out.show(&returned)),
            );
        }
        // A function returns its result at run time, and an `int` exists only at compile time.
        let is_open = returned.any(&mut |part| *part == Type::Integer);
        let what = if of == ParametersOf::Method { "method" } else { "function" };
        if is_open || of == ParametersOf::Method && returned == Type::String {
            self.error(
                "type-not-allowed",
                prototype.return_type.span,
                format!("a {what} cannot return `{}`", self.out.show(&returned)),
            );
        }
        self.parameters(&prototype.parameters, of);
        returned
    }
}
