//! Nothing calls itself: P4 has no recursion, and readers recurse over calls.

use super::validate::Callee;
use super::{Block, Program, StatementKind};

/// Checks that no callable calls itself, also over others; ids must be in range.
///
/// # Errors
/// The name of one that does.
pub(super) fn check(program: &Program) -> Result<(), String> {
    let counts = [
        program.actions.len(),
        program.functions.len(),
        program.controls.len(),
        program.parsers.len(),
        program.tables.len(),
    ];
    let total: usize = counts.iter().sum();
    let number = |callee: Callee| -> usize {
        let (kind, index) = match callee {
            Callee::Action(id) => (0, id.index()),
            Callee::Function(id) => (1, id.index()),
            Callee::Control(id) => (2, id.index()),
            Callee::Parser(id) => (3, id.index()),
            Callee::Table(id) => (4, id.index()),
        };
        counts[..kind].iter().sum::<usize>() + index
    };
    let mut calls: Vec<Vec<usize>> = Vec::with_capacity(total);
    let mut names: Vec<&str> = Vec::with_capacity(total);
    for action in &program.actions {
        calls.push(callees([&action.body], number));
        names.push(&action.name);
    }
    for function in &program.functions {
        calls.push(callees([&function.body], number));
        names.push(&function.name);
    }
    for control in &program.controls {
        calls.push(callees([&control.body], number));
        names.push(&control.name);
    }
    for parser in &program.parsers {
        let bodies = parser.states.iter().map(|state| &state.body).chain([&parser.prologue]);
        calls.push(callees(bodies, number));
        names.push(&parser.name);
    }
    for table in &program.tables {
        let bodies = table
            .actions
            .iter()
            .map(|reference| &reference.before_arguments)
            .chain([&table.before_keys]);
        let mut called = callees(bodies, number);
        called
            .extend(table.actions.iter().map(|reference| number(Callee::Action(reference.action))));
        calls.push(called);
        names.push(&table.name);
    }
    // Take away what calls nothing that is left, until nothing is left.
    let mut open: Vec<usize> = calls.iter().map(Vec::len).collect();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); total];
    for (caller, called) in calls.iter().enumerate() {
        for callee in called {
            callers[*callee].push(caller);
        }
    }
    let mut ready: Vec<usize> = (0..total).filter(|node| open[*node] == 0).collect();
    while let Some(done) = ready.pop() {
        for caller in &callers[done] {
            open[*caller] -= 1;
            if open[*caller] == 0 {
                ready.push(*caller);
            }
        }
    }
    match open.iter().position(|left| *left > 0) {
        Some(node) => Err(names[node].to_owned()),
        None => Ok(()),
    }
}

fn callees<'b>(
    blocks: impl IntoIterator<Item = &'b Block>,
    number: impl Fn(Callee) -> usize,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open: Vec<&Block> = blocks.into_iter().collect();
    while let Some(block) = open.pop() {
        for statement in block {
            match &statement.kind {
                StatementKind::CallAction { action, .. } => {
                    found.push(number(Callee::Action(*action)))
                }
                StatementKind::CallFunction { function, .. } => {
                    found.push(number(Callee::Function(*function)));
                }
                StatementKind::CallControl { control, .. } => {
                    found.push(number(Callee::Control(*control)));
                }
                StatementKind::CallParser { parser, .. } => {
                    found.push(number(Callee::Parser(*parser)))
                }
                StatementKind::ApplyTable { table, .. } => {
                    found.push(number(Callee::Table(*table)))
                }
                StatementKind::If { then, otherwise, .. } => open.extend([then, otherwise]),
                StatementKind::Switch { cases, default, .. } => {
                    open.push(default);
                    open.extend(cases.iter().map(|case| &case.body));
                }
                StatementKind::For { before_condition, update, body, .. } => {
                    open.extend([before_condition, update, body]);
                }
                _ => {}
            }
        }
    }
    found
}
