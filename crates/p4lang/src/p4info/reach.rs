//! Reachability analysis: the objects that packets can reach, in the order in which p4c lists them.
//!
//! p4c generates P4Info after its front end has removed unused declarations, inlined controls, and
//! copied top-level actions into every control that uses them. P4Info therefore contains a table if
//! it is applied. It contains an action if an applied table refers to it, or if a control calls it.
//! An action that only other actions call is inlined and not included. In each control of the
//! package, the top-level actions come first. Those to which the control's tables refer precede
//! those that its statements call, in the order of these references and calls.

use std::collections::{BTreeMap, BTreeSet};

use ir::{
    ActionId, ActionScope, Block, ControlId, ExternCallee, ExternFunction, FunctionId, KeySet,
    Package, PackageValue, Parser, Program, Statement, StatementKind, TableId, Transition, TypeId,
    ValueSetId,
};

/// The objects that packets can reach, in the order in which p4c lists them.
#[derive(Default)]
pub(super) struct Reach {
    /// The tables that are applied.
    pub(super) tables: Vec<TableId>,
    seen_tables: BTreeSet<TableId>,
    /// The actions to which applied tables refer or that controls call, each once.
    pub(super) actions: Vec<ActionId>,
    /// The actions in `actions` to which no table refers. p4c removes their parameters.
    pub(super) called_only: BTreeSet<ActionId>,
    /// For each call of v1model's `digest`, the type of its data.
    pub(super) digests: Vec<TypeId>,
    /// Whether a control or an action calls an extern function.
    pub(super) calls_extern_functions: bool,
    /// The value sets that the `select` expressions of reachable parser states use.
    pub(super) value_sets: BTreeSet<ValueSetId>,
}

pub(super) fn reach(program: &Program) -> Reach {
    let mut reach = Reach::default();
    let mut controls = Vec::new();
    top_level_controls(&program.main, &mut controls);
    // The order is that in which controls are instantiated. A package may declare its parameters in
    // another order.
    controls.sort_unstable();
    let mut seen_actions = BTreeSet::new();
    for control in controls {
        one_control(program, control, &mut reach, &mut seen_actions);
    }
    for parser in &program.parsers {
        value_sets(parser, &mut reach.value_sets);
    }
    reach
}

/// Adds to `found` the value sets that the reachable states of a parser use. p4c removes all
/// others.
fn value_sets(parser: &Parser, found: &mut BTreeSet<ValueSetId>) {
    let mut seen = BTreeSet::new();
    let mut pending = vec![parser.start];
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(state) = parser.states.get(id.index()) else { continue };
        pending.extend(state.transition.next_states());
        if let Transition::Select { cases, .. } = &state.transition {
            let sets = cases.iter().flat_map(|case| &case.key_sets);
            found.extend(sets.filter_map(|set| match set {
                KeySet::ValueSet(id) => Some(*id),
                _ => None,
            }));
        }
    }
}

/// Appends the controls among the arguments of a package to `controls`. Packages among the
/// arguments are searched too.
fn top_level_controls(package: &Package, controls: &mut Vec<ControlId>) {
    for argument in &package.arguments {
        match &argument.value {
            PackageValue::Control(control) if !controls.contains(control) => {
                controls.push(*control);
            }
            PackageValue::Package(inner) => top_level_controls(inner, controls),
            _ => {}
        }
    }
}

/// Adds the objects that a control of the package reaches, in the order in which p4c lists them.
fn one_control(
    program: &Program,
    control: ControlId,
    reach: &mut Reach,
    seen_actions: &mut BTreeSet<ActionId>,
) {
    let mut body = Walk::new(program);
    body.control(control);

    let tables: Vec<TableId> = (0_u32..)
        .zip(&program.tables)
        .map(|(position, _)| TableId(position))
        .filter(|table| body.tables.contains(table) && reach.seen_tables.insert(*table))
        .collect();
    // p4c copies an action for each table that refers to it and for each call of it. Each copy has
    // its own calls of `digest`.
    let mut copies: BTreeMap<ActionId, usize> = BTreeMap::new();
    for table in &tables {
        let references = program.tables[table.index()].actions.iter();
        let named: BTreeSet<ActionId> = references.map(|reference| reference.action).collect();
        named.into_iter().for_each(|action| *copies.entry(action).or_default() += 1);
    }
    body.called.iter().for_each(|action| *copies.entry(*action).or_default() += 1);
    let in_tables: Vec<ActionId> = tables
        .iter()
        .flat_map(|table| &program.tables[table.index()].actions)
        .map(|reference| reference.action)
        .collect();
    let used: Vec<ActionId> = in_tables.iter().chain(&body.called).copied().collect();
    let of_program = used.iter().copied().filter(|action| {
        program.actions.get(action.index()).is_some_and(|a| a.scope == ActionScope::Program)
    });
    let own = (0_u32..).zip(&program.actions).filter_map(|(position, action)| {
        let id = ActionId(position);
        (action.scope != ActionScope::Program && copies.contains_key(&id)).then_some(id)
    });
    let named: BTreeSet<ActionId> = in_tables.iter().copied().collect();
    let mut seen_here = BTreeSet::new();
    for action in of_program.chain(own).filter(|action| seen_here.insert(*action)) {
        let mut of_action = Walk { in_action: true, ..Walk::new(program) };
        of_action.action(action);
        for _ in 1..copies.get(&action).copied().unwrap_or(1) {
            reach.digests.extend_from_slice(&of_action.digests);
        }
        reach.take(of_action);
        if !seen_actions.insert(action) {
            continue;
        }
        reach.actions.push(action);
        if !named.contains(&action) {
            reach.called_only.insert(action);
        }
    }
    reach.tables.extend(tables);
    reach.take(body);
}

impl Reach {
    fn take(&mut self, walk: Walk<'_>) {
        self.calls_extern_functions |= walk.calls_extern_functions;
        self.digests.extend(walk.digests);
    }
}

/// The nesting depth up to which [`always_leaves`] examines statements.
const DEEPEST: usize = 200;

/// Returns whether the block contains a `return`. If it does not, p4c keeps even the statements
/// after an `exit`.
fn has_return(block: &Block) -> bool {
    let mut pending = vec![block.iter()];
    while let Some(block) = pending.last_mut() {
        let Some(statement) = block.next() else {
            pending.pop();
            continue;
        };
        match &statement.kind {
            StatementKind::Return(_) => return true,
            StatementKind::If { then, otherwise, .. } => {
                pending.extend([then.iter(), otherwise.iter()]);
            }
            StatementKind::Switch { cases, default, .. } => {
                pending.push(default.iter());
                pending.extend(cases.iter().map(|case| case.body.iter()));
            }
            StatementKind::For { body, .. } => pending.push(body.iter()),
            _ => {}
        }
    }
    false
}

/// Returns whether execution always leaves the block at this statement, so that p4c recognises the
/// statements after it as unreachable. p4c does not examine `switch` statements for this purpose.
fn always_leaves(statement: &Statement, depth: usize) -> bool {
    let leaves = |block: &Block| {
        depth > 0 && block.iter().any(|statement| always_leaves(statement, depth - 1))
    };
    match &statement.kind {
        StatementKind::Return(_) | StatementKind::Exit => true,
        StatementKind::If { then, otherwise, .. } => leaves(then) && leaves(otherwise),
        _ => false,
    }
}

/// A traversal of statements and of everything that they call. It visits each callee once.
struct Walk<'p> {
    program: &'p Program,
    controls: BTreeSet<ControlId>,
    actions: BTreeSet<ActionId>,
    /// The actions that controls call, with one element for each call. Calls by other actions are
    /// not included.
    called: Vec<ActionId>,
    /// Whether the statements that are being visited belong to an action.
    in_action: bool,
    functions: BTreeSet<FunctionId>,
    tables: BTreeSet<TableId>,
    /// For each call of v1model's `digest`, the type of its data.
    digests: Vec<TypeId>,
    calls_extern_functions: bool,
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program) -> Self {
        Self {
            program,
            controls: BTreeSet::new(),
            actions: BTreeSet::new(),
            called: Vec::new(),
            in_action: false,
            functions: BTreeSet::new(),
            tables: BTreeSet::new(),
            digests: Vec::new(),
            calls_extern_functions: false,
        }
    }

    fn control(&mut self, control: ControlId) {
        if self.controls.insert(control)
            && let Some(control) = self.program.controls.get(control.index())
        {
            self.block(&control.body);
        }
    }

    /// Visits a call of an action. The first traversal, which visits controls, only records the
    /// action. A second traversal visits the bodies of actions, including actions that they call.
    fn action(&mut self, action: ActionId) {
        if !self.in_action {
            self.called.push(action);
        } else if self.actions.insert(action)
            && let Some(action) = self.program.actions.get(action.index())
        {
            self.block(&action.body);
        }
    }

    fn function(&mut self, function: FunctionId) {
        if self.functions.insert(function)
            && let Some(function) = self.program.functions.get(function.index())
        {
            self.block(&function.body);
        }
    }

    fn block(&mut self, block: &'p Block) {
        let returns = has_return(block);
        let mut pending = vec![block.iter()];
        while let Some(block) = pending.last_mut() {
            let Some(statement) = block.next() else {
                pending.pop();
                continue;
            };
            // p4c removes unreachable statements in the pass that also removes `return`.
            if returns && always_leaves(statement, DEEPEST) {
                *block = [].iter();
            }
            match &statement.kind {
                StatementKind::If { then, otherwise, .. } => {
                    pending.extend([otherwise.iter(), then.iter()]);
                }
                StatementKind::Switch { cases, default, .. } => {
                    pending.push(default.iter());
                    pending.extend(cases.iter().rev().map(|case| case.body.iter()));
                }
                StatementKind::For { before_condition, body, update, .. } => {
                    pending.extend([update.iter(), body.iter(), before_condition.iter()]);
                }
                StatementKind::ApplyTable { table, .. } => {
                    if self.tables.insert(*table)
                        && let Some(table) = self.program.tables.get(table.index())
                    {
                        pending.push(table.before_keys.iter());
                    }
                }
                StatementKind::CallControl { control, .. } => self.control(*control),
                StatementKind::CallAction { action, .. } => self.action(*action),
                StatementKind::CallFunction { function, .. } => self.function(*function),
                StatementKind::CallExtern {
                    callee: ExternCallee::Function(function),
                    type_arguments,
                    ..
                } => {
                    self.calls_extern_functions = true;
                    if *function == ExternFunction::Digest
                        && let [data, ..] = type_arguments.as_slice()
                    {
                        self.digests.push(*data);
                    }
                }
                _ => {}
            }
        }
    }
}
