//! The blocks of a package that must not run at the same time.
//!
//! A program with an `@atomic` block requires that no effect of another packet occurs between the
//! block's steps (P4_16 specification, section 18.4.1). In such a program, no two blocks of the
//! package run at the same time. This is more than the specification requires, but simple, and a
//! program without `@atomic` has no cost.
//!
//! BMv2 runs ingress in one thread and locks the register arrays of an action while the action runs
//! (`src/bm_sim/actions.cpp`, `RegisterSync`). Programs for BMv2 therefore read a register and
//! write it back without further precautions. In BMv2's dialects, no two blocks that use registers
//! run at the same time.

use crate::dialect::Dialect;
use ir::{
    ActionId, Block, ControlId, ExternCallee, ExternType, FunctionId, ParserId, Program, Statement,
    StatementKind, TableId,
};
use std::collections::{HashMap, HashSet};

/// The blocks of a program that must not run at the same time as each other.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    atomic: bool,
    controls: HashSet<ControlId>,
    parsers: HashSet<ParserId>,
}

impl Alone {
    pub(super) fn new(program: &Program) -> Self {
        let users = users_of_registers(program);
        let controls = (0..program.controls.len() as u32).map(ControlId);
        let parsers = (0..program.parsers.len() as u32).map(ParserId);
        Self {
            atomic: program.atomic,
            controls: controls.filter(|id| users.contains(&Callee::Control(*id))).collect(),
            parsers: parsers.filter(|id| users.contains(&Callee::Parser(*id))).collect(),
        }
    }

    pub(super) fn control(&self, id: ControlId, dialect: Dialect) -> bool {
        self.atomic || dialect.is_bmv2() && self.controls.contains(&id)
    }

    pub(super) fn parser(&self, id: ParserId, dialect: Dialect) -> bool {
        self.atomic || dialect.is_bmv2() && self.parsers.contains(&id)
    }
}

/// A control, parser, action, function or table that other code of the program calls or applies.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Callee {
    Action(ActionId),
    Function(FunctionId),
    Control(ControlId),
    Parser(ParserId),
    Table(TableId),
}

/// Returns the controls, parsers, actions, functions and tables that use registers, directly or
/// through code that they call.
fn users_of_registers(program: &Program) -> HashSet<Callee> {
    fn ids<T>(list: &[T]) -> std::ops::Range<u32> {
        0..list.len() as u32
    }
    let all = ids(&program.actions).map(|id| Callee::Action(ActionId(id)));
    let all = all.chain(ids(&program.functions).map(|id| Callee::Function(FunctionId(id))));
    let all = all.chain(ids(&program.controls).map(|id| Callee::Control(ControlId(id))));
    let all = all.chain(ids(&program.parsers).map(|id| Callee::Parser(ParserId(id))));
    let all = all.chain(ids(&program.tables).map(|id| Callee::Table(TableId(id))));
    let mut callers: HashMap<Callee, Vec<Callee>> = HashMap::new();
    let mut waiting = Vec::new();
    for caller in all {
        let mut called_by_it = Vec::new();
        let blocks = blocks(program, caller, &mut called_by_it);
        let mut uses = false;
        super::each_statement_in(blocks, &mut |statement| {
            uses |= is_register(program, statement);
            called_by_it.extend(called(statement));
        });
        for callee in called_by_it {
            callers.entry(callee).or_default().push(caller);
        }
        if uses {
            waiting.push(caller);
        }
    }
    let mut users = HashSet::new();
    while let Some(user) = waiting.pop() {
        ir::meter::count(1);
        if users.insert(user) {
            waiting.extend(callers.get(&user).into_iter().flatten());
        }
    }
    users
}

/// Returns the blocks of statements in a control, parser, action, function or table. The actions of
/// a table, which no statement calls, are appended to `called`.
fn blocks<'p>(program: &'p Program, callee: Callee, called: &mut Vec<Callee>) -> Vec<&'p Block> {
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
            called.extend(actions.map(|reference| Callee::Action(reference.action)));
            let arguments = table.actions.iter().map(|reference| &reference.before_arguments);
            arguments.chain([&table.before_keys]).collect()
        }
    }
}

fn is_register(program: &Program, statement: &Statement) -> bool {
    let StatementKind::CallExtern { callee: ExternCallee::Method { instance, .. }, .. } =
        &statement.kind
    else {
        return false;
    };
    program.externs.get(instance.index()).is_some_and(|instance| {
        matches!(instance.extern_type, ExternType::V1Register | ExternType::Register)
    })
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
