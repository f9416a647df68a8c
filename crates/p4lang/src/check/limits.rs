//! Rules that p4c's common passes impose because they inline instances and split nested structs.
//! The language permits programs that violate the rules, but p4c compiles them for no target. They
//! are refused here too, so that a program that compiles here also compiles with p4c.
//!
//! Like p4c, this module only checks programs that have a `main`, and only declarations that are
//! used.

use std::collections::HashMap;

use super::checker::Checker;
use super::{BoundArgument, Builtin, Callee, Constant, Environment, Resolution, Type};
use crate::ast::{
    Argument, Declaration, DeclarationId, DeclarationKind, Direction, Expression, ExpressionKind,
    walk,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// A constant that a call passes as the argument for a parameter without a direction.
#[derive(PartialEq)]
enum Fixed {
    Value(Constant),
    Object(DeclarationId),
}

/// A parameter of an instance's `apply` method, identified by the instance and the position of the
/// parameter.
type ApplyParameter = (DeclarationId, usize);

impl<'program> Checker<'program, '_> {
    pub(super) fn limits_of_passes(&mut self) {
        if self.out.main.is_none() {
            return;
        }
        let mut calls: Vec<&'program Expression> = Vec::new();
        for declaration in &self.out.program.declarations {
            if self.marks.used.contains(&declaration.id) {
                self.expressions_in(declaration, &mut |found| {
                    if matches!(found.kind, ExpressionKind::Call { .. }) {
                        calls.push(found);
                    }
                });
            }
        }
        let mut fixed: HashMap<ApplyParameter, (Fixed, Span)> = HashMap::new();
        for call in calls {
            self.no_nested_struct_from_externs(call);
            self.same_fixed_arguments(call, &mut fixed);
        }
    }

    /// Calls `visit` with each expression in the bodies of a declaration, except those in unused
    /// local declarations.
    pub(super) fn expressions_in(
        &self,
        of: &'program Declaration,
        visit: &mut dyn FnMut(&'program Expression),
    ) {
        let locals = match &of.kind {
            DeclarationKind::Action { body, .. } | DeclarationKind::Function { body, .. } => {
                walk::block(body, visit);
                return;
            }
            DeclarationKind::Control(control) => {
                walk::block(&control.apply, visit);
                &control.locals
            }
            DeclarationKind::Parser(parser) => {
                for state in &parser.states {
                    for statement in &state.statements {
                        walk::statement(statement, visit);
                    }
                }
                &parser.locals
            }
            _ => return,
        };
        for local in locals.iter().filter(|local| self.marks.used.contains(&local.id)) {
            match &local.kind {
                DeclarationKind::Action { body, .. } => walk::block(body, visit),
                _ => walk::declaration(local, visit),
            }
        }
    }

    /// Reports an extern call that writes to a nested struct. p4c refuses it, because p4c splits
    /// nested structs into several variables.
    fn no_nested_struct_from_externs(&mut self, expression: &Expression) {
        let Some(call) = self.out.calls.get(&expression.id) else { return };
        let (Callee::ExternFunction(id) | Callee::Method { method: id, .. }) = &call.callee else {
            return;
        };
        let written =
            self.parameters_of(*id).iter().zip(&call.parameter_types).find(|(parameter, ty)| {
                matches!(parameter.direction, Direction::Out | Direction::InOut)
                    && self.is_nested_struct(ty)
            });
        let Some((parameter, ty)) = written else { return };
        let diagnostic = Diagnostic::error(
            "type-not-allowed",
            expression.span,
            format!(
                "an extern cannot write a struct that holds other structs, headers, tuples or stacks: `{}` is `{}`",
                parameter.name,
                self.out.show(ty)
            ),
        )
        .secondary(parameter.name.span, "this parameter")
        .note("let it write the parts, or a struct of plain fields");
        self.report(diagnostic);
    }

    fn is_nested_struct(&self, ty: &Type) -> bool {
        matches!(ty, Type::Struct(_))
            && self.out.fields(ty).iter().any(|field| {
                matches!(
                    field.ty,
                    Type::Struct(_)
                        | Type::Header(_)
                        | Type::HeaderUnion(_)
                        | Type::Tuple(_)
                        | Type::Stack { .. }
                )
            })
    }

    /// Reports two applications of the same control instance that pass different arguments for a
    /// parameter without a direction. p4c generates one body for each instance, in which such a
    /// parameter has only one value.
    fn same_fixed_arguments(
        &mut self,
        expression: &'program Expression,
        fixed: &mut HashMap<ApplyParameter, (Fixed, Span)>,
    ) {
        let ExpressionKind::Call { callee, arguments, .. } = &expression.kind else { return };
        let ExpressionKind::Member { base, .. } = &callee.kind else { return };
        let Some(Resolution::Declaration(instance)) = self.out.resolution(base.id) else { return };
        let Some(call) = self.out.calls.get(&expression.id) else { return };
        let Callee::Builtin { builtin: Builtin::Apply, object: object @ Type::Control(_) } =
            &call.callee
        else {
            return;
        };
        let instance = *instance;
        let mut found = Vec::new();
        for (number, ((parameter, _), bound)) in
            self.apply_parameters(object).into_iter().zip(&call.arguments).enumerate()
        {
            let (Direction::None, BoundArgument::Given(position)) = (parameter.direction, bound)
            else {
                continue;
            };
            if let Some(argument) = arguments.get(*position)
                && let Some(value) = self.fixed(argument)
            {
                found.push((number, value, argument.value.span, parameter.name.clone()));
            }
        }
        for (number, value, span, name) in found {
            match fixed.get(&(instance, number)) {
                Some((earlier, first)) if *earlier != value => {
                    let first = *first;
                    self.report(
                        Diagnostic::error(
                            "arguments",
                            span,
                            format!(
                                "`{name}` has no direction: it is the same wherever `{}` is applied",
                                self.out.name(instance)
                            ),
                        )
                        .secondary(first, "it is another one here")
                        .note("give the parameter a direction (`in`), or use two instances"),
                    );
                }
                Some(_) => {}
                None => {
                    fixed.insert((instance, number), (value, span));
                }
            }
        }
    }

    fn fixed(&self, argument: &Argument) -> Option<Fixed> {
        if let Some(value) = self.out.evaluate(&argument.value, &Environment::default()) {
            return Some(Fixed::Value(value));
        }
        match (self.out.resolution(argument.value.id), self.out.type_of(argument.value.id)) {
            (Some(Resolution::Declaration(object)), Type::Extern(_)) => {
                Some(Fixed::Object(*object))
            }
            _ => None,
        }
    }
}
