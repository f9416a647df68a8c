//! How much a deparser can emit, so that its output has room by construction.

use super::{Block, Body, Callee, Statement};

/// Most bytes that a block and all that it calls emit; `u64::MAX` if that is in a loop. Actions do not emit: the bound
/// form refuses it.
pub(super) fn most(callee: Callee, bodies: &[(Callee, Body)]) -> u64 {
    match bodies.iter().find(|(known, _)| *known == callee) {
        Some((_, Body::Block(block))) => of_block(block, bodies),
        Some((_, Body::Parser(parser))) => {
            let states = parser.states.iter().map(|state| &state.body).chain([&parser.prologue]);
            let emits = states.map(|block| of_block(block, bodies)).any(|bytes| bytes > 0);
            // A parser may come to a state again.
            if emits { u64::MAX } else { 0 }
        }
        None => 0,
    }
}

fn of_block(block: &Block, bodies: &[(Callee, Body)]) -> u64 {
    block.iter().fold(0, |sum: u64, statement| sum.saturating_add(of_statement(statement, bodies)))
}

fn of_statement(statement: &Statement, bodies: &[(Callee, Body)]) -> u64 {
    match statement {
        Statement::Emit { bytes, tail, .. } => u64::from(*bytes) + u64::from(*tail),
        Statement::Interpret { emits, .. } => u64::from(*emits),
        Statement::If { then, otherwise, .. } => {
            of_block(then, bodies).max(of_block(otherwise, bodies))
        }
        Statement::Switch { cases, default, .. } => cases
            .iter()
            .map(|(_, case)| of_block(case, bodies))
            .fold(of_block(default, bodies), u64::max),
        Statement::Loop { before, update, body, .. } => {
            let once = [before, update, body].map(|block| of_block(block, bodies));
            if once.iter().any(|bytes| *bytes > 0) { u64::MAX } else { 0 }
        }
        Statement::Call { callee, .. } => most(*callee, bodies),
        _ => 0,
    }
}
