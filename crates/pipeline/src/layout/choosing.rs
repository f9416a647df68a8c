//! The statements of controls in which a packet may choose a member of an action selector's group.
//!
//! To enumerate the possible outcomes of a packet, it is processed once with each member of a
//! group. All runs but the first begin before the statement with the choice, not at the first
//! statement.

use ir::{
    Block, ControlId, MatchKind, Program, Statement, StatementKind, TableId, TableImplementation,
};

/// The statements of each control in which a packet may choose a member of a group.
#[derive(Debug, Default)]
pub(super) struct Choosing {
    controls: Vec<ChoosingBlock>,
}

/// The statements of a block in which a packet may choose a member of a group, in order.
#[derive(Debug, Default)]
pub(crate) struct ChoosingBlock {
    statements: Vec<(usize, ChoosingStatement)>,
}

/// A statement in which a packet may choose a member of a group.
#[derive(Debug)]
pub(crate) enum ChoosingStatement {
    /// An `if` statement whose branches contain such a choice. The first block holds the statements
    /// of the `else` branch, and the second one those of the `then` branch.
    If([ChoosingBlock; 2]),
    /// Any other statement. The position of the choice inside it is not recorded.
    Other,
}

impl Choosing {
    pub(super) fn new(program: &Program) -> Self {
        let chooses = controls_that_choose(program);
        let controls = program.controls.iter();
        Self {
            controls: controls
                .map(|one| ChoosingBlock::new(program, &chooses, &one.body))
                .collect(),
        }
    }

    /// Returns the statements of a control in which a packet may choose a member of a group, or
    /// `None` if there is no such statement.
    pub(super) fn of(&self, id: ControlId) -> Option<&ChoosingBlock> {
        self.controls.get(id.index()).filter(|block| !block.statements.is_empty())
    }
}

impl ChoosingBlock {
    fn new(program: &Program, controls: &[bool], block: &Block) -> Self {
        ir::meter::count(block.len());
        let statements = block.iter().enumerate().filter_map(|(position, statement)| {
            let found = match &statement.kind {
                StatementKind::If { then, otherwise, .. } => {
                    let sides = [otherwise, then].map(|side| Self::new(program, controls, side));
                    let is_empty = sides.iter().all(|side| side.statements.is_empty());
                    (!is_empty).then_some(ChoosingStatement::If(sides))
                }
                _ => chooses(program, controls, statement).then_some(ChoosingStatement::Other),
            };
            Some((position, found?))
        });
        Self { statements: statements.collect() }
    }

    /// Returns the statement at a position of the block if a packet may choose a member of a group
    /// in it.
    pub(crate) fn at(&self, position: usize) -> Option<&ChoosingStatement> {
        let found = self.statements.binary_search_by_key(&position, |(position, _)| *position);
        found.ok().and_then(|index| self.statements.get(index)).map(|(_, statement)| statement)
    }
}

/// Returns, for each control, whether a packet may choose a member of a group in it or in a control
/// that it calls.
fn controls_that_choose(program: &Program) -> Vec<bool> {
    let mut found = vec![false; program.controls.len()];
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); program.controls.len()];
    let mut waiting = Vec::new();
    for (caller, control) in program.controls.iter().enumerate() {
        super::each_statement_in(vec![&control.body], &mut |statement| match &statement.kind {
            StatementKind::ApplyTable { table, .. } if may_choose(program, *table) => {
                waiting.push(caller);
            }
            StatementKind::CallControl { control, .. } => {
                if let Some(callers) = callers.get_mut(control.index()) {
                    callers.push(caller);
                }
            }
            _ => {}
        });
    }
    while let Some(control) = waiting.pop() {
        ir::meter::count(1);
        let is_known = found.get_mut(control).is_none_or(|known| std::mem::replace(known, true));
        if !is_known {
            waiting.extend(callers.get(control).into_iter().flatten());
        }
    }
    found
}

/// Returns whether a packet may choose a member of a group in a statement. `controls` says that for
/// each control.
fn chooses(program: &Program, controls: &[bool], statement: &Statement) -> bool {
    let chooses_itself = |statement: &Statement| match &statement.kind {
        StatementKind::ApplyTable { table, .. } => may_choose(program, *table),
        StatementKind::CallControl { control, .. } => {
            controls.get(control.index()).copied().unwrap_or(false)
        }
        _ => false,
    };
    let mut blocks: Vec<&Block> = Vec::new();
    match &statement.kind {
        StatementKind::If { then, otherwise, .. } => blocks.extend([then, otherwise]),
        StatementKind::Switch { cases, default, .. } => {
            blocks.extend(cases.iter().map(|case| &case.body));
            blocks.push(default);
        }
        StatementKind::For { before_condition, update, body, .. } => {
            blocks.extend([before_condition, update, body]);
        }
        _ => {}
    }
    let mut found = chooses_itself(statement);
    super::each_statement_in(blocks, &mut |inner| found |= chooses_itself(inner));
    found
}

/// Returns whether entries of a table may run groups of an action selector.
fn may_choose(program: &Program, table: TableId) -> bool {
    let Some(table) = program.tables.get(table.index()) else { return false };
    let is_selector = matches!(table.implementation, Some(TableImplementation::ActionSelector(_)));
    is_selector || table.keys.iter().any(|key| key.match_kind == MatchKind::Selector)
}
