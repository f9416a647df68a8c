//! Warnings about values that may be read, or copied out, before they are assigned.
//!
//! The analysis covers the local variables of blocks and the `out` parameters of functions, actions
//! and controls. To avoid warnings about correct programs, a variable counts as assigned as soon as
//! any part of it is assigned, and structs, headers, header unions and arrays are not covered.
//! Local variables of parsers and controls are not covered either, because parser states can run in
//! any order and actions may assign variables of controls. For them, `whole_program` warns only if
//! nothing ever assigns them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::whole_program::root;
use super::{BoundArgument, Call, Callee, Checked, Node, Resolution, Type};
use crate::ast::{
    Argument, Block, Declaration, DeclarationId, DeclarationKind, Direction, Expression,
    ExpressionKind, Parameter, Statement, StatementKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Returns the warnings about unassigned values for a program without errors.
pub(super) fn warnings(checked: &Checked<'_>) -> Vec<Diagnostic> {
    let mut found = BTreeMap::new();
    for declaration in &checked.program.declarations {
        code(checked, declaration, &mut found);
    }
    found.into_values().collect()
}

/// The warnings found so far, at most one for each location and variable.
type Found = BTreeMap<(Span, DeclarationId), Diagnostic>;

/// Adds the warnings about a function, an action, or a control together with everything that is
/// declared in it.
fn code(checked: &Checked<'_>, declaration: &Declaration, found: &mut Found) {
    let mut walk = |parameters: &[Parameter], body: &Block, elsewhere: &BTreeSet<DeclarationId>| {
        let out = parameters.iter().filter(|parameter| parameter.direction == Direction::Out);
        let out = out.map(|parameter| parameter.id).collect();
        let mut flow = Flow { checked, found, unset: Unset { out, ..Unset::default() } };
        for parameter in parameters {
            if parameter.direction == Direction::Out
                && !elsewhere.contains(&parameter.id)
                && holds_values(checked.declared_type(parameter.id), 0)
            {
                flow.unset.insert(parameter.id);
            }
        }
        if !flow.block(body) {
            flow.unset.leave();
        }
        let unset = flow.unset.left;
        for parameter in parameters.iter().filter(|parameter| unset.contains(&parameter.id)) {
            found.entry((parameter.name.span, parameter.id)).or_insert_with(|| {
                Diagnostic::warning(
                    "uninitialized",
                    parameter.name.span,
                    format!(
                        "the `out` parameter `{}` may be returned without a value",
                        parameter.name
                    ),
                )
            });
        }
    };
    match &declaration.kind {
        DeclarationKind::Function { prototype, body } => {
            walk(&prototype.parameters, body, &BTreeSet::new());
        }
        DeclarationKind::Action { parameters, body } => walk(parameters, body, &BTreeSet::new()),
        DeclarationKind::Control(control) => {
            // Applying a table may assign any variable that one of its actions assigns.
            let mut elsewhere = BTreeSet::new();
            for local in &control.locals {
                if let DeclarationKind::Action { body, .. } = &local.kind {
                    mentioned(checked, body, &mut elsewhere);
                }
            }
            walk(&control.parameters, &control.apply, &elsewhere);
            for local in &control.locals {
                code(checked, local, found);
            }
        }
        _ => {}
    }
}

/// Returns whether the analysis covers variables of this type: numbers of at least one bit, `bool`,
/// `error`, enumerations, `type` declarations based on these, and tuples of them.
pub(super) fn holds_values(ty: &Type, depth: u32) -> bool {
    match ty {
        Type::Bits { width, .. } => *width > 0,
        Type::Bool | Type::Error | Type::Enum(_) | Type::SerializableEnum(_) | Type::NewType(_) => {
            true
        }
        Type::Tuple(elements) => {
            depth < 20 && elements.iter().any(|element| holds_values(element, depth + 1))
        }
        _ => false,
    }
}

/// Adds to `into` the variables and parameters that the statements of an action may assign.
fn mentioned(checked: &Checked<'_>, block: &Block, into: &mut BTreeSet<DeclarationId>) {
    let mut flow = Mentions { checked, into };
    flow.block(block);
}

/// A visitor that collects the variables and parameters that may be assigned, wholly or in part.
struct Mentions<'a, 'program> {
    checked: &'a Checked<'program>,
    into: &'a mut BTreeSet<DeclarationId>,
}

impl Mentions<'_, '_> {
    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
    }

    /// Collects the variables and parameters that a statement may assign.
    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { target, .. } => self.place(target),
            StatementKind::Call(call) => {
                if let ExpressionKind::Call { arguments, .. } = &call.kind {
                    for argument in arguments {
                        self.place(&argument.value);
                    }
                }
            }
            StatementKind::Block(block) => self.block(block),
            StatementKind::If { then, otherwise, .. } => {
                self.statement(then);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise);
                }
            }
            StatementKind::Switch { cases, .. } => {
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.block(body);
                }
            }
            StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                self.statement(body)
            }
            _ => {}
        }
    }

    fn place(&mut self, place: &Expression) {
        if let Some(Resolution::Declaration(id)) = self.checked.resolution(root(place).id) {
            self.into.insert(*id);
        }
    }
}

/// A function that analyses one path of the control flow, such as a branch. It returns true if
/// execution never reaches the end of the path.
type PathAnalysis<'tree, F> = Box<dyn FnOnce(&mut F) -> bool + 'tree>;

/// The variables that may be unassigned at the current point of the analysis. A log of the changes
/// allows the analysis to restore the state before a branch, for the analysis of the next branch.
#[derive(Default)]
struct Unset {
    now: HashSet<DeclarationId>,
    /// The changes so far: each variable whose state changed, and whether it was unassigned before.
    log: Vec<(DeclarationId, bool)>,
    /// Whether execution never reaches the current point. No variable counts as unassigned there.
    unreachable: bool,
    /// The `out` parameters of the function, action or control.
    out: HashSet<DeclarationId>,
    /// The `out` parameters that are unassigned at the current point and are not in `left` yet.
    waiting: HashSet<DeclarationId>,
    /// The `out` parameters that are unassigned at one or more points at which execution returns to
    /// the caller.
    left: HashSet<DeclarationId>,
}

impl Unset {
    fn contains(&self, id: DeclarationId) -> bool {
        !self.unreachable && self.now.contains(&id)
    }

    fn insert(&mut self, id: DeclarationId) {
        self.change(id, true);
    }

    fn remove(&mut self, id: DeclarationId) {
        self.change(id, false);
    }

    fn change(&mut self, id: DeclarationId, is_unset: bool) {
        let before = self.put(id, is_unset);
        if before != is_unset {
            self.log.push((id, before));
        }
    }

    /// Records whether a variable is unassigned, and returns whether it was unassigned before.
    fn put(&mut self, id: DeclarationId, is_unset: bool) -> bool {
        ir::meter::count(1);
        if is_unset {
            if self.out.contains(&id) && !self.left.contains(&id) {
                self.waiting.insert(id);
            }
            !self.now.insert(id)
        } else {
            self.waiting.remove(&id);
            self.now.remove(&id)
        }
    }

    /// Records that execution returns to the caller at the current point.
    fn leave(&mut self) {
        if !self.unreachable {
            self.left.extend(self.waiting.drain());
        }
    }

    /// Restores the state at the time when the log had the given length. Returns the variables that
    /// have changed since then, and whether each was unassigned just before the restoration.
    fn take_back(&mut self, length: usize) -> HashMap<DeclarationId, bool> {
        let mut changed = HashMap::new();
        for (id, before) in self.log.drain(length..).rev().collect::<Vec<_>>() {
            let at_the_end = self.put(id, before);
            changed.entry(id).or_insert(at_the_end);
        }
        changed
    }
}

/// The state of the analysis of a single function, action or control.
struct Flow<'a, 'program> {
    checked: &'a Checked<'program>,
    found: &'a mut Found,
    unset: Unset,
}

impl Flow<'_, '_> {
    /// Analyses a block. Returns true if execution never reaches the end of the block.
    fn block(&mut self, block: &Block) -> bool {
        block.statements.iter().any(|statement| self.statement(statement))
    }

    /// Analyses alternative paths, such as the branches of an `if`. After them, a variable counts
    /// as unassigned if it is unassigned at the end of any path from which execution continues.
    /// Returns true if execution continues from none of them.
    fn branches(&mut self, paths: Vec<PathAnalysis<'_, Self>>) -> bool {
        let (length, unreachable) = (self.unset.log.len(), self.unset.unreachable);
        // For each variable that changed: the number of paths that changed it and from which
        // execution continues, and whether the variable is unassigned after any of them.
        let mut after: HashMap<DeclarationId, (usize, bool)> = HashMap::new();
        let mut continuing = 0;
        for path in paths {
            let ends = path(self);
            let unset_here = !self.unset.unreachable;
            self.unset.unreachable = unreachable;
            let changed = self.unset.take_back(length);
            if ends {
                continue;
            }
            continuing += 1;
            for (id, is_unset) in changed {
                let (times, unset) = after.entry(id).or_default();
                *times += 1;
                *unset |= is_unset && unset_here;
            }
        }
        if continuing == 0 {
            self.unset.unreachable = true;
            return true;
        }
        for (id, (times, is_unset)) in after {
            let stays = times < continuing && self.unset.now.contains(&id);
            self.unset.change(id, is_unset || stays);
        }
        false
    }

    /// Analyses a statement. Returns true if execution never continues after it.
    fn statement(&mut self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::Declaration(declaration) => {
                if let DeclarationKind::Variable { initial, .. } = &declaration.kind {
                    match initial {
                        Some(initial) => self.read(initial),
                        None if holds_values(self.checked.declared_type(declaration.id), 0) => {
                            self.unset.insert(declaration.id);
                        }
                        None => {}
                    }
                }
                false
            }
            StatementKind::Block(block) => self.block(block),
            StatementKind::Assign { target, operator, value } => {
                self.read(value);
                if operator.is_some() {
                    self.read(target);
                } else {
                    self.read_indices(target);
                }
                self.set(target);
                false
            }
            StatementKind::Call(call) => {
                self.read(call);
                false
            }
            StatementKind::DirectApplication { target, arguments } => {
                if let Some(application) = self.checked.direct_application(target.id) {
                    self.arguments(&application.apply, arguments);
                }
                false
            }
            StatementKind::If { condition, then, otherwise } => {
                self.read(condition);
                self.branches(vec![
                    Box::new(|flow| flow.statement(then)),
                    Box::new(|flow| {
                        otherwise.as_ref().is_some_and(|otherwise| flow.statement(otherwise))
                    }),
                ])
            }
            StatementKind::Switch { subject, cases } => {
                self.read(subject);
                let mut paths: Vec<PathAnalysis<'_, Self>> = Vec::new();
                let mut total = false;
                for case in cases {
                    total |= matches!(case.label, crate::ast::SwitchLabel::Default);
                    if let Some(body) = &case.body {
                        paths.push(Box::new(|flow| flow.block(body)));
                    }
                }
                if !total {
                    paths.push(Box::new(|_| false));
                }
                self.branches(paths)
            }
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    self.read(value);
                }
                self.unset.leave();
                true
            }
            StatementKind::Exit => true,
            StatementKind::For { initial, condition, update, body } => {
                for statement in initial {
                    self.statement(statement);
                }
                self.read(condition);
                self.branches(vec![
                    Box::new(|flow| {
                        flow.statement(body);
                        for statement in update {
                            flow.statement(statement);
                        }
                        false
                    }),
                    Box::new(|_| false),
                ]);
                false
            }
            StatementKind::ForIn { collection, body, .. } => {
                self.read(collection);
                self.branches(vec![
                    Box::new(|flow| {
                        flow.statement(body);
                        false
                    }),
                    Box::new(|_| false),
                ]);
                false
            }
            StatementKind::Empty | StatementKind::Break | StatementKind::Continue => false,
        }
    }

    fn set(&mut self, place: &Expression) {
        if let Some(Resolution::Declaration(id)) = self.checked.resolution(root(place).id) {
            self.unset.remove(*id);
        }
    }

    /// Analyses the index expressions inside an l-value. They are read even if the l-value is
    /// assigned.
    fn read_indices(&mut self, place: &Expression) {
        match &place.kind {
            ExpressionKind::Index { base, index } => {
                self.read_indices(base);
                self.read(index);
            }
            ExpressionKind::PartSelect { base, low, .. } => {
                self.read_indices(base);
                self.read(low);
            }
            ExpressionKind::Member { base, .. } | ExpressionKind::Slice { base, .. } => {
                self.read_indices(base)
            }
            _ => {}
        }
    }

    fn arguments(&mut self, call: &Call, arguments: &[Argument]) {
        let directions = self.directions(call);
        let mut written = Vec::new();
        for (position, bound) in call.arguments.iter().enumerate() {
            let BoundArgument::Given(given) = bound else { continue };
            let Some(argument) = arguments.get(*given) else { continue };
            match directions.get(position) {
                Some(Direction::Out) => {
                    self.read_indices(&argument.value);
                    written.push(&argument.value);
                }
                Some(Direction::InOut) => {
                    self.read(&argument.value);
                    written.push(&argument.value);
                }
                _ => self.read(&argument.value),
            }
        }
        for place in written {
            self.set(place);
        }
    }

    fn directions(&self, call: &Call) -> Vec<Direction> {
        let of_node = |id: DeclarationId| -> &[Parameter] {
            match self.checked.index.get(id) {
                Some(Node::Method(method)) => &method.prototype.parameters,
                Some(Node::Declaration(declaration)) => match &declaration.kind {
                    DeclarationKind::Function { prototype, .. }
                    | DeclarationKind::ExternFunction(prototype) => &prototype.parameters,
                    DeclarationKind::Action { parameters, .. } => parameters,
                    DeclarationKind::Parser(parser) => &parser.parameters,
                    DeclarationKind::ParserType(parser) => &parser.parameters,
                    DeclarationKind::Control(control) => &control.parameters,
                    DeclarationKind::ControlType(control) => &control.parameters,
                    _ => &[],
                },
                _ => &[],
            }
        };
        let parameters = match &call.callee {
            Callee::Function(id) | Callee::ExternFunction(id) | Callee::Action(id) => of_node(*id),
            Callee::Method { method, .. } => of_node(*method),
            Callee::Builtin { object: Type::Parser(named) | Type::Control(named), .. } => {
                of_node(named.declaration)
            }
            _ => &[],
        };
        parameters.iter().map(|parameter| parameter.direction).collect()
    }

    /// Adds a warning for each unassigned variable that an expression reads.
    fn read(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Path(path) => {
                let Some(Resolution::Declaration(id)) = self.checked.resolution(expression.id)
                else {
                    return;
                };
                if self.unset.contains(*id) {
                    self.found.entry((expression.span, *id)).or_insert_with(|| {
                        Diagnostic::warning(
                            "uninitialized",
                            expression.span,
                            format!("`{path}` may be read before it has a value"),
                        )
                    });
                }
            }
            ExpressionKind::Call { callee, arguments, .. } => {
                if let ExpressionKind::Member { base, .. } = &callee.kind {
                    self.read(base);
                }
                match self.checked.call(expression.id).cloned() {
                    Some(call) => self.arguments(&call, arguments),
                    None => arguments.iter().for_each(|argument| self.read(&argument.value)),
                }
            }
            ExpressionKind::Member { base, .. } => self.read(base),
            ExpressionKind::Index { base, index } => {
                self.read(base);
                self.read(index);
            }
            ExpressionKind::Slice { base, .. } => self.read(base),
            ExpressionKind::PartSelect { base, low, .. } => {
                self.read(base);
                self.read(low);
            }
            ExpressionKind::Cast { operand, .. } | ExpressionKind::Unary { operand, .. } => {
                self.read(operand)
            }
            ExpressionKind::Binary { left, right, .. } => {
                self.read(left);
                self.read(right);
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.read(condition);
                self.read(then);
                self.read(otherwise);
            }
            ExpressionKind::List { elements, .. } | ExpressionKind::TupleKeyset(elements) => {
                elements.iter().for_each(|element| self.read(element));
            }
            ExpressionKind::Record { fields, .. } => {
                fields.iter().for_each(|field| self.read(&field.value))
            }
            _ => {}
        }
    }
}
