//! Which blocks of a package must not run while another such block does.
//!
//! A program with an `@atomic` block asks that nothing another packet does falls between its steps (P4_16
//! specification, section 18.4.1). Here all blocks of the package wait for each other then, which is more than
//! it asks, and simple: the interpreter is right first, and a program without `@atomic` pays nothing.
//!
//! BMv2 runs ingress in one thread and locks the register arrays of an action while it runs
//! (`src/bm_sim/actions.cpp`, `RegisterSync`), so that programs for it read a register and write it back
//! without more ado. In its dialects, blocks that use registers wait for each other.

use crate::dialect::Dialect;
use ir::{
    ActionId, Block, ControlId, ExternCallee, ExternType, FunctionId, ParserId, Program, Statement,
    StatementKind, TableId,
};
use std::collections::HashSet;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    atomic: bool,
    controls: HashSet<ControlId>,
    parsers: HashSet<ParserId>,
}

impl Alone {
    pub(super) fn new(program: &Program) -> Self {
        let controls = (0..program.controls.len() as u32).map(ControlId);
        let parsers = (0..program.parsers.len() as u32).map(ParserId);
        Self {
            atomic: program.atomic,
            controls: controls.filter(|id| Walk::new(program).control(*id)).collect(),
            parsers: parsers.filter(|id| Walk::new(program).parser(*id)).collect(),
        }
    }

    pub(super) fn control(&self, id: ControlId, dialect: Dialect) -> bool {
        self.atomic || dialect.is_bmv2() && self.controls.contains(&id)
    }

    pub(super) fn parser(&self, id: ParserId, dialect: Dialect) -> bool {
        self.atomic || dialect.is_bmv2() && self.parsers.contains(&id)
    }
}

/// Looks for registers in what a block runs, each thing that it calls once.
struct Walk<'p> {
    program: &'p Program,
    seen: HashSet<Callee>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Callee {
    Action(ActionId),
    Function(FunctionId),
    Control(ControlId),
    Parser(ParserId),
    Table(TableId),
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program) -> Self {
        Self { program, seen: HashSet::new() }
    }

    fn control(&mut self, id: ControlId) -> bool {
        self.finds(Callee::Control(id))
    }

    fn parser(&mut self, id: ParserId) -> bool {
        self.finds(Callee::Parser(id))
    }

    fn finds(&mut self, callee: Callee) -> bool {
        let mut waiting = vec![callee];
        while let Some(callee) = waiting.pop() {
            if !self.seen.insert(callee) {
                continue;
            }
            for block in self.blocks(callee, &mut waiting) {
                let mut found = false;
                super::each_statement_in(vec![block], &mut |statement| {
                    found |= self.is_register(statement);
                    waiting.extend(called(statement));
                });
                if found {
                    return true;
                }
            }
        }
        false
    }

    fn blocks(&self, callee: Callee, waiting: &mut Vec<Callee>) -> Vec<&'p Block> {
        let program = self.program;
        match callee {
            Callee::Action(id) => {
                program.actions.get(id.index()).map(|action| &action.body).into_iter().collect()
            }
            Callee::Function(id) => {
                let function = program.functions.get(id.index());
                function.map(|function| &function.body).into_iter().collect()
            }
            Callee::Control(id) => {
                let control = program.controls.get(id.index());
                control.map(|control| &control.body).into_iter().collect()
            }
            Callee::Parser(id) => {
                let Some(parser) = program.parsers.get(id.index()) else { return Vec::new() };
                let states = parser.states.iter().map(|state| &state.body);
                states.chain([&parser.prologue]).collect()
            }
            Callee::Table(id) => {
                let Some(table) = program.tables.get(id.index()) else { return Vec::new() };
                let actions = table.actions.iter();
                waiting.extend(actions.map(|reference| Callee::Action(reference.action)));
                let arguments = table.actions.iter().map(|reference| &reference.before_arguments);
                arguments.chain([&table.before_keys]).collect()
            }
        }
    }

    fn is_register(&self, statement: &Statement) -> bool {
        let StatementKind::CallExtern { callee: ExternCallee::Method { instance, .. }, .. } =
            &statement.kind
        else {
            return false;
        };
        self.program.externs.get(instance.index()).is_some_and(|instance| {
            matches!(instance.extern_type, ExternType::V1Register | ExternType::Register)
        })
    }
}

fn called(statement: &Statement) -> Option<Callee> {
    Some(match &statement.kind {
        StatementKind::ApplyTable { table, .. } => Callee::Table(*table),
        StatementKind::CallAction { action, .. } => Callee::Action(*action),
        StatementKind::CallFunction { function, .. } => Callee::Function(*function),
        StatementKind::CallControl { control, .. } => Callee::Control(*control),
        StatementKind::CallParser { parser, .. } => Callee::Parser(*parser),
        _ => return None,
    })
}
