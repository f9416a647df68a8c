//! What of a program a packet can reach, in the order in which p4c lists it.
//!
//! p4c writes P4Info after its front-end has removed what is never used, inlined controls, and
//! moved the actions of the program into every control that uses them. So a table counts if it is
//! applied, an action if such a table names it or the control itself calls it (one that only other
//! actions call is inlined there), and in each top-level control the actions of the program come
//! first, in the order in which its tables name them and then its statements call them.

use std::collections::{BTreeMap, BTreeSet};

use ir::{
    ActionId, ActionScope, Block, ControlId, ExternCallee, ExternFunction, FunctionId, KeySet,
    Package, PackageValue, Parser, Program, Statement, StatementKind, TableId, Target, Transition,
    TypeId, ValueSetId,
};

/// What is reached, in order.
#[derive(Default)]
pub(super) struct Reach {
    /// Tables that are applied.
    pub(super) tables: Vec<TableId>,
    seen_tables: BTreeSet<TableId>,
    /// Actions that those tables name or that controls call, each once.
    pub(super) actions: Vec<ActionId>,
    /// Those of them that no table names: p4c takes their parameters away.
    pub(super) called_only: BTreeSet<ActionId>,
    /// The types that `digest` of v1model is called with, one for each call.
    pub(super) digests: Vec<TypeId>,
    /// Whether any extern function is called in a control or in an action.
    pub(super) calls_extern_functions: bool,
    /// Value sets that a state selects with, if a packet can get to the state.
    pub(super) value_sets: BTreeSet<ValueSetId>,
}

pub(super) fn reach(program: &Program) -> Reach {
    let mut reach = Reach::default();
    let mut controls = Vec::new();
    top_level_controls(&program.main, &mut controls);
    // In the order in which they are made: packages may be declared in another order than `main` takes them in.
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

/// The value sets of the states that can be reached from the start; p4c removes the others.
fn value_sets(parser: &Parser, found: &mut BTreeSet<ValueSetId>) {
    let mut seen = BTreeSet::new();
    let mut pending = vec![parser.start];
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(state) = parser.states.get(id.index()) else { continue };
        let mut follow = |target: &Target| {
            if let Target::State(next) = target {
                pending.push(*next);
            }
        };
        match &state.transition {
            Transition::Direct(target) => follow(target),
            Transition::Select { cases, .. } => {
                for case in cases {
                    follow(&case.target);
                    found.extend(case.key_sets.iter().filter_map(|set| match set {
                        KeySet::ValueSet(id) => Some(*id),
                        _ => None,
                    }));
                }
            }
        }
    }
}

/// Controls of the package, those of packages in it included.
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
    // p4c makes a copy of an action for each table that names it and each call: so many calls of `digest`.
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

/// Statements nested deeper than this are not looked into for `return`.
const DEEPEST: usize = 200;

/// Whether there is a `return` in these statements. Without one p4c leaves even what follows an `exit`.
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

/// Whether nothing that follows the statement in its block can be reached, as far as p4c sees it: a `switch` may have
/// a case that it does not look at.
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

/// A walk through statements and whatever they call; nothing is entered twice.
struct Walk<'p> {
    program: &'p Program,
    controls: BTreeSet<ControlId>,
    actions: BTreeSet<ActionId>,
    /// Actions that controls call, once for each call, not those that other actions call.
    called: Vec<ActionId>,
    in_action: bool,
    functions: BTreeSet<FunctionId>,
    tables: BTreeSet<TableId>,
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

    /// An action is looked into by a walk of its own, together with those that it calls.
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
            // What p4c takes out together with `return`: statements that nothing reaches.
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
