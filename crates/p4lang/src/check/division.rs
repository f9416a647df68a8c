//! Rules for division at run time. P4 defines `/` and `%` only for `int`, whose values are known at
//! compile time (P4_16 §8.8). p4c's type checker also accepts them for `bit<W>`. Its later passes
//! fold constants, replace divisions by powers of two with shifts, and refuse the divisions that
//! remain.
//!
//! Which of these divisions p4c can replace depends on its passes. This module therefore reports an
//! error only for a division that no pass can remove: it is in the body of a control that is an
//! argument of `main`, it divides a parameter whose value comes from the packet, and its result is
//! used. Any other division at run time causes a warning, and the interpreter executes it.

use std::collections::HashSet;

use num_bigint::BigInt;

use super::checker::Checker;
use super::whole_program::root;
use super::{Constant, Resolution, Type};
use crate::ast::{
    BinaryOperator, Block, Control, DeclarationId, DeclarationKind, Direction, Expression,
    ExpressionId, ExpressionKind, Statement, StatementKind, walk,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

const RULE: &str = "P4 divides values known at compile time; p4c also turns divisions by powers of two into shifts";

impl<'program> Checker<'program, '_> {
    /// Reports divisions at run time. Those that no pass of p4c can remove are errors, the others
    /// are warnings.
    pub(super) fn division_at_run_time(&mut self) {
        let mut refused = HashSet::new();
        for control in self.controls_of_main() {
            self.report_certain_divisions(control, &mut refused);
        }
        let mut found = Vec::new();
        for declaration in &self.out.program.declarations {
            if !self.marks.used.contains(&declaration.id) {
                continue;
            }
            self.expressions_in(declaration, &mut |expression| {
                if let ExpressionKind::Binary { operator, left, right, .. } = &expression.kind
                    && is_division(*operator)
                    && !refused.contains(&expression.id)
                    && !self.marks.known.contains(&expression.id)
                    && self.out.constant(left.id).is_none_or(|value| !is_zero(value))
                    && match self.out.constant(right.id) {
                        Some(value) => !is_power_of_two(value),
                        None => !self.marks.known.contains(&right.id),
                    }
                {
                    found.push(expression.span);
                }
            });
        }
        for span in found {
            self.warn(
                Diagnostic::warning(
                    "division",
                    span,
                    "p4c compiles this division only if its passes can evaluate it",
                )
                .note(RULE),
            );
        }
    }

    /// Returns the controls without constructor parameters that are direct arguments of `main`.
    fn controls_of_main(&self) -> Vec<&'program Control> {
        let Some(DeclarationKind::Instantiation(main)) = self
            .out
            .main
            .and_then(|main| self.out.index.get_declaration(main))
            .map(|found| &found.kind)
        else {
            return Vec::new();
        };
        let control = |ty: &Type| match ty {
            Type::Control(named) => {
                match &self.out.index.get_declaration(named.declaration)?.kind {
                    DeclarationKind::Control(control)
                        if control.constructor_parameters.is_empty() =>
                    {
                        Some(control)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        main.arguments
            .iter()
            .filter_map(|argument| control(self.out.type_of(argument.value.id)))
            .collect()
    }

    /// Reports the divisions in a control's body that no pass of p4c can remove, and adds them to
    /// `refused`. They meet three conditions. The dividend is a parameter that no earlier statement
    /// assigns. The divisor is such a parameter too, or a constant that is not a power of two. The
    /// result is assigned to a parameter that is copied out and that no later statement assigns. A
    /// body is examined only if it consists of assignments and declarations without calls.
    fn report_certain_divisions(&mut self, control: &Control, refused: &mut HashSet<ExpressionId>) {
        let parameters_with = |directions: [Direction; 2]| -> HashSet<DeclarationId> {
            let parameters = control.parameters.iter();
            parameters.filter(|it| directions.contains(&it.direction)).map(|it| it.id).collect()
        };
        let copied_in = parameters_with([Direction::In, Direction::InOut]);
        let copied_out = parameters_with([Direction::Out, Direction::InOut]);
        if !is_straight_line(&control.apply) {
            return;
        }
        let mut written: HashSet<DeclarationId> = HashSet::new();
        let statements = &control.apply.statements;
        for (position, statement) in statements.iter().enumerate() {
            let StatementKind::Assign { target, operator, value } = &statement.kind else {
                continue;
            };
            let Some(place) = self.root_declaration(target) else { continue };
            let later = statements.get(position + 1..).unwrap_or(&[]);
            if copied_out.contains(&place) && !self.assigns(later, place) {
                let is_run_time_value = |it: &Expression| {
                    self.root_declaration(it)
                        .is_some_and(|root| copied_in.contains(&root) && !written.contains(&root))
                };
                let divided = match operator {
                    Some(operator) if is_division(*operator) => {
                        Some((target, value, statement.span, None))
                    }
                    Some(_) => None,
                    None => match &without_casts(value).kind {
                        ExpressionKind::Binary { operator, left, right, .. }
                            if is_division(*operator) =>
                        {
                            let inner = without_casts(value);
                            Some((&**left, &**right, inner.span, Some(inner.id)))
                        }
                        _ => None,
                    },
                };
                if let Some((left, right, span, id)) = divided {
                    let by_constant = self
                        .out
                        .constant(right.id)
                        .is_some_and(|value| !is_power_of_two(value) && !is_zero(value));
                    if is_run_time_value(left) && (by_constant || is_run_time_value(right)) {
                        refused.extend(id);
                        self.report(at_run_time(span));
                    }
                }
            }
            written.insert(place);
        }
    }

    /// Returns the variable or parameter with which a member expression begins, such as `h` for
    /// `h.ip.ttl`.
    fn root_declaration(&self, expression: &Expression) -> Option<DeclarationId> {
        let mut inner = expression;
        while let ExpressionKind::Member { base, .. } = &inner.kind {
            inner = base;
        }
        match (&inner.kind, self.out.resolution(inner.id)) {
            (ExpressionKind::Path(_), Some(Resolution::Declaration(id))) => Some(*id),
            _ => None,
        }
    }

    fn assigns(&self, statements: &[Statement], place: DeclarationId) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { target, .. } => {
                self.root_declaration(root(target)).is_none_or(|root| root == place)
            }
            _ => false,
        })
    }
}

/// Returns whether a block consists only of assignments and declarations without calls.
fn is_straight_line(block: &Block) -> bool {
    let mut calls = false;
    walk::block(block, &mut |expression| {
        calls |= matches!(expression.kind, ExpressionKind::Call { .. });
    });
    !calls
        && block.statements.iter().all(|statement| {
            matches!(
                statement.kind,
                StatementKind::Assign { .. } | StatementKind::Declaration(_) | StatementKind::Empty
            )
        })
}

fn is_division(operator: BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo)
}

fn is_zero(value: &Constant) -> bool {
    value.to_integer().is_some_and(|value| value == BigInt::ZERO)
}

fn is_power_of_two(value: &Constant) -> bool {
    value.to_integer().is_some_and(|value| {
        value > BigInt::ZERO
            && value.trailing_zeros().is_some_and(|zeros| value.bits() == zeros + 1)
    })
}

fn without_casts(expression: &Expression) -> &Expression {
    let mut inner = expression;
    while let ExpressionKind::Cast { operand, .. } = &inner.kind {
        inner = operand;
    }
    inner
}

fn at_run_time(span: Span) -> Diagnostic {
    Diagnostic::error(
        "division",
        span,
        "a value that depends on the packet is divided by a number that is not a power of two",
    )
    .note(RULE)
}
