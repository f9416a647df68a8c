//! Traversal of the syntax tree: visits every expression in a block, statement, declaration or
//! expression.
//!
//! Expressions are visited in source order, and each before its subexpressions.

use crate::ast::{
    Argument, Block, Declaration, DeclarationKind, Expression, ExpressionKind, Statement,
    StatementKind, SwitchLabel, Type,
};

/// Visits all expressions in the statements of a block.
pub(crate) fn block<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Expression)) {
    for inner in &block.statements {
        statement(inner, visit);
    }
}

/// Visits all expressions in a statement, including those in nested statements.
pub(crate) fn statement<'a>(of: &'a Statement, visit: &mut dyn FnMut(&'a Expression)) {
    match &of.kind {
        StatementKind::Empty
        | StatementKind::Exit
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(None) => {}
        StatementKind::Declaration(inner) => declaration(inner, visit),
        StatementKind::Block(inner) => block(inner, visit),
        StatementKind::Assign { target, value, .. } => {
            expression(target, visit);
            expression(value, visit);
        }
        StatementKind::Call(call) | StatementKind::Return(Some(call)) => expression(call, visit),
        StatementKind::DirectApplication { arguments: given, .. } => arguments(given, visit),
        StatementKind::If { condition, then, otherwise } => {
            expression(condition, visit);
            statement(then, visit);
            if let Some(otherwise) = otherwise {
                statement(otherwise, visit);
            }
        }
        StatementKind::Switch { subject, cases } => {
            expression(subject, visit);
            for case in cases {
                if let SwitchLabel::Expression(label) = &case.label {
                    expression(label, visit);
                }
                if let Some(body) = &case.body {
                    block(body, visit);
                }
            }
        }
        StatementKind::For { initial, condition, update, body } => {
            for inner in initial {
                statement(inner, visit);
            }
            expression(condition, visit);
            for inner in update {
                statement(inner, visit);
            }
            statement(body, visit);
        }
        StatementKind::ForIn { collection, body, .. } => {
            expression(collection, visit);
            statement(body, visit);
        }
    }
}

pub(crate) fn declaration<'a>(of: &'a Declaration, visit: &mut dyn FnMut(&'a Expression)) {
    match &of.kind {
        DeclarationKind::Constant { value, .. } => expression(value, visit),
        DeclarationKind::Variable { initial: Some(initial), .. } => expression(initial, visit),
        DeclarationKind::Instantiation(instance) => {
            arguments(&instance.arguments, visit);
            for inner in instance.initializer.iter().flatten() {
                declaration(inner, visit);
            }
        }
        DeclarationKind::Function { body, .. } => block(body, visit),
        _ => {}
    }
}

fn arguments<'a>(arguments: &'a [Argument], visit: &mut dyn FnMut(&'a Expression)) {
    for argument in arguments {
        expression(&argument.value, visit);
    }
}

/// Visits an expression, and then all of its subexpressions at any depth.
pub(crate) fn expression<'a>(of: &'a Expression, visit: &mut dyn FnMut(&'a Expression)) {
    visit(of);
    parts(of, &mut |part| expression(part, visit));
}

/// Visits the direct subexpressions of an expression, but not their own subexpressions.
pub(crate) fn parts<'a>(of: &'a Expression, visit: &mut dyn FnMut(&'a Expression)) {
    match &of.kind {
        ExpressionKind::Boolean(_)
        | ExpressionKind::Integer(_)
        | ExpressionKind::String(_)
        | ExpressionKind::This
        | ExpressionKind::Path(_)
        | ExpressionKind::Type(_)
        | ExpressionKind::InvalidHeader
        | ExpressionKind::DefaultValue
        | ExpressionKind::DefaultKeyset
        | ExpressionKind::DontCare => {}
        ExpressionKind::Member { base, .. } => visit(base),
        ExpressionKind::Index { base, index } => {
            visit(base);
            visit(index);
        }
        ExpressionKind::Slice { base, high, low } => {
            visit(base);
            visit(high);
            visit(low);
        }
        ExpressionKind::PartSelect { base, low, width } => {
            visit(base);
            visit(low);
            visit(width);
        }
        ExpressionKind::Call { callee, arguments: given, .. } => {
            visit(callee);
            given.iter().for_each(|argument| visit(&argument.value));
        }
        ExpressionKind::Cast { operand, .. } | ExpressionKind::Unary { operand, .. } => {
            visit(operand);
        }
        ExpressionKind::Binary { left, right, .. } => {
            visit(left);
            visit(right);
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            visit(condition);
            visit(then);
            visit(otherwise);
        }
        ExpressionKind::List { elements, .. } | ExpressionKind::TupleKeyset(elements) => {
            for element in elements {
                visit(element);
            }
        }
        ExpressionKind::Record { fields, .. } => {
            for field in fields {
                visit(&field.value);
            }
        }
    }
}

/// Appends to `found` the types of all direct invocations (`T.apply(...)`) in the statements, in
/// source order.
pub(crate) fn direct_applications<'a>(statements: &'a [Statement], found: &mut Vec<&'a Type>) {
    for statement in statements {
        direct_applications_in(statement, found);
    }
}

fn direct_applications_in<'a>(of: &'a Statement, found: &mut Vec<&'a Type>) {
    match &of.kind {
        StatementKind::DirectApplication { target, .. } => found.push(target),
        StatementKind::Block(inner) => direct_applications(&inner.statements, found),
        StatementKind::If { then, otherwise, .. } => {
            direct_applications_in(then, found);
            if let Some(otherwise) = otherwise {
                direct_applications_in(otherwise, found);
            }
        }
        StatementKind::Switch { cases, .. } => {
            for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                direct_applications(&body.statements, found);
            }
        }
        StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
            direct_applications_in(body, found);
        }
        _ => {}
    }
}
