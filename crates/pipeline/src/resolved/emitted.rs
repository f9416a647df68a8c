//! Computes an upper bound of the bytes that a deparser emits, so that its output buffer is always
//! large enough.

use super::bodies::Bodies;
use super::{Block, Body, Callee, Statement};
use std::collections::HashMap;

/// The maximum number of bytes that each parser, control, action or function emits, including those
/// that it calls.
pub(super) struct Emitted(HashMap<Callee, u64>);

impl Emitted {
    /// Computes the maximum number of bytes that each body emits. In the list, a body comes after
    /// those that it calls, so one pass suffices.
    pub(super) fn of(bodies: &Bodies) -> Self {
        let mut emitted = Self(HashMap::new());
        for (callee, body) in bodies {
            let most = match body {
                Body::Block(block) => emitted.of_block(block),
                Body::Parser(parser) => {
                    let states = parser.states.iter().map(|state| &state.body);
                    let mut blocks = states.chain([&parser.prologue]);
                    // A parser may visit a state more than once.
                    if blocks.any(|block| emitted.of_block(block) > 0) { u64::MAX } else { 0 }
                }
            };
            emitted.0.insert(*callee, most);
        }
        emitted
    }

    /// Returns the maximum number of bytes that a callee emits, or `u64::MAX` if it emits in a
    /// loop. Actions do not emit, because programs with such actions are refused.
    pub(super) fn most(&self, callee: Callee) -> u64 {
        self.0.get(&callee).copied().unwrap_or(0)
    }

    fn of_block(&self, block: &Block) -> u64 {
        ir::meter::count(block.len());
        block.iter().fold(0, |sum: u64, statement| sum.saturating_add(self.of_statement(statement)))
    }

    fn of_statement(&self, statement: &Statement) -> u64 {
        match statement {
            Statement::Emit { bytes, tail, .. } => u64::from(*bytes) + u64::from(*tail),
            Statement::Interpret { emits, .. } => u64::from(*emits),
            Statement::If { then, otherwise, .. } => {
                self.of_block(then).max(self.of_block(otherwise))
            }
            Statement::Switch { cases, default, .. } => cases
                .iter()
                .map(|(_, case)| self.of_block(case))
                .fold(self.of_block(default), u64::max),
            Statement::Loop { before, update, body, .. } => {
                let once = [before, update, body].map(|block| self.of_block(block));
                if once.iter().any(|bytes| *bytes > 0) { u64::MAX } else { 0 }
            }
            Statement::Call { callee, .. } => self.most(*callee),
            _ => 0,
        }
    }
}
