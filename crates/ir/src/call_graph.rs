//! The call graph of a program, from which the validator checks that no callable (action, function,
//! control, parser or table) calls itself and that calls nest no deeper than the limit. P4 has no
//! recursion, and readers of the IR recurse over calls.

use super::validate::Violation;
use super::{
    ActionId, Block, CompileLimits, ControlId, FunctionId, Limit, Location, ParserId, Program,
    StatementKind, TableId,
};

/// Checks that no callable calls itself, directly or through others, that the depth of nested calls
/// is at most [`CompileLimits::call_depth`], and that the depth of nested calls and blocks together
/// is at most [`CompileLimits::nesting`]. All ids in the program must be in range.
///
/// # Errors
/// Returns a violation that names a callable. It calls itself, or calls a callable that does, or
/// its calls nest too deeply.
pub(super) fn check(program: &Program, limits: &CompileLimits) -> Result<(), Violation> {
    let graph = Graph::of(program);
    let calls = &graph.calls;
    // Remove callables whose callees are all removed, until none is left (a topological sort).
    let mut open: Vec<usize> = calls.iter().map(Vec::len).collect();
    let mut callers: Vec<Vec<(usize, u64)>> = vec![Vec::new(); calls.len()];
    for (caller, called) in calls.iter().enumerate() {
        for call in called {
            callers[call.callee].push((caller, call.blocks));
        }
    }
    let mut depths: Vec<u64> = vec![0; calls.len()];
    let mut levels = graph.blocks.clone();
    let mut ready: Vec<usize> = (0..calls.len()).filter(|node| open[*node] == 0).collect();
    while let Some(done) = ready.pop() {
        let admitted = limits.admit(Limit::CallDepth, depths[done]);
        admitted.and_then(|()| limits.admit(Limit::Nesting, levels[done])).map_err(|exceeded| {
            graph.violation(program, done, exceeded.to_string(), Some(exceeded.limit))
        })?;
        // The application of a table and the action that it runs count as one call.
        let depth = depths[done] + u64::from(!graph.is_table(done));
        for (caller, blocks) in &callers[done] {
            super::meter::count(1);
            depths[*caller] = depths[*caller].max(depth);
            levels[*caller] = levels[*caller].max(blocks + 1 + levels[done]);
            open[*caller] -= 1;
            if open[*caller] == 0 {
                ready.push(*caller);
            }
        }
    }
    match graph.recursive(&open) {
        Some(node) => Err(graph.violation(program, node, "calls itself".to_owned(), None)),
        None => Ok(()),
    }
}

/// The callee of a call: an action, a function, a control, a parser or a table.
#[derive(Clone, Copy)]
enum Callee {
    Action(ActionId),
    Function(FunctionId),
    Control(ControlId),
    Parser(ParserId),
    Table(TableId),
}

/// The call graph. The callables of a program are numbered consecutively: first the actions, then
/// the functions, controls, parsers and tables.
struct Graph {
    /// The number of the first callable of each kind. The kinds are in this order: actions,
    /// functions, controls, parsers and tables.
    firsts: [usize; 5],
    /// The calls that each callable makes.
    calls: Vec<Vec<Call>>,
    /// The depth to which each callable's own blocks nest. Blocks of its callees do not count.
    blocks: Vec<u64>,
}

/// A call of one callable by another.
struct Call {
    /// The number of the callee.
    callee: usize,
    /// The number of blocks of the caller that enclose the call.
    blocks: u64,
}

impl Graph {
    /// Builds the call graph of a program.
    fn of(program: &Program) -> Self {
        let counts = [
            program.actions.len(),
            program.functions.len(),
            program.controls.len(),
            program.parsers.len(),
        ];
        let mut firsts = [0; 5];
        for (kind, count) in counts.iter().enumerate() {
            firsts[kind + 1] = firsts[kind] + count;
        }
        let mut graph = Self { firsts, calls: Vec::new(), blocks: Vec::new() };
        for action in &program.actions {
            graph.add([&action.body], &[]);
        }
        for function in &program.functions {
            graph.add([&function.body], &[]);
        }
        for control in &program.controls {
            graph.add([&control.body], &[]);
        }
        for parser in &program.parsers {
            graph.add(parser.states.iter().map(|state| &state.body).chain([&parser.prologue]), &[]);
        }
        for table in &program.tables {
            let before = table.actions.iter().map(|reference| &reference.before_arguments);
            let actions: Vec<ActionId> =
                table.actions.iter().map(|reference| reference.action).collect();
            graph.add(before.chain([&table.before_keys]), &actions);
        }
        graph
    }

    fn add<'b>(&mut self, bodies: impl IntoIterator<Item = &'b Block>, actions: &[ActionId]) {
        let mut calls = Vec::new();
        let deepest = each_call(bodies, &mut |callee, blocks| {
            calls.push(Call { callee: self.number(callee), blocks });
        });
        let number = |action: &ActionId| self.number(Callee::Action(*action));
        calls.extend(actions.iter().map(|action| Call { callee: number(action), blocks: 0 }));
        self.calls.push(calls);
        self.blocks.push(deepest);
    }

    /// Returns a callable that calls itself, directly or through others, or `None` if there is
    /// none. For each callable, `open` holds the number of its callees that are on a cycle of calls
    /// or lead to one.
    fn recursive(&self, open: &[usize]) -> Option<usize> {
        // Each of these callables has such a callee, so following one call after another ends on a
        // cycle. The callable that is met first again is on it; the first one may only lead there.
        let is_open = |node: usize| open.get(node).is_some_and(|left| *left > 0);
        let mut node = (0..open.len()).find(|node| is_open(*node))?;
        let mut met = vec![false; open.len()];
        while !std::mem::replace(met.get_mut(node)?, true) {
            super::meter::count(1);
            node =
                self.calls.get(node)?.iter().map(|call| call.callee).find(|node| is_open(*node))?;
        }
        Some(node)
    }

    fn number(&self, callee: Callee) -> usize {
        let (kind, index) = match callee {
            Callee::Action(id) => (0, id.index()),
            Callee::Function(id) => (1, id.index()),
            Callee::Control(id) => (2, id.index()),
            Callee::Parser(id) => (3, id.index()),
            Callee::Table(id) => (4, id.index()),
        };
        self.firsts[kind] + index
    }

    fn is_table(&self, node: usize) -> bool {
        node >= self.firsts[4]
    }

    /// Returns the violation for a problem with the callable that has the number `node`. The
    /// violation contains the callable's name and location.
    fn violation(
        &self,
        program: &Program,
        node: usize,
        problem: String,
        limit: Option<Limit>,
    ) -> Violation {
        let kind = self.firsts.iter().rposition(|first| *first <= node).unwrap_or(0);
        let index = node - self.firsts[kind];
        let of_block = |block: &Block| block.iter().find_map(|statement| statement.location);
        let (kind, name, location): (&str, &str, Option<Location>) = match kind {
            0 => {
                let action = &program.actions[index];
                ("action", &action.name, action.location)
            }
            1 => {
                let function = &program.functions[index];
                ("function", &function.name, of_block(&function.body))
            }
            2 => {
                let control = &program.controls[index];
                ("control", &control.name, control.location)
            }
            3 => {
                let parser = &program.parsers[index];
                ("parser", &parser.name, parser.states.iter().find_map(|state| state.location))
            }
            _ => {
                let table = &program.tables[index];
                ("table", &table.name, of_block(&table.before_keys))
            }
        };
        Violation { part: format!("{kind} `{name}`"), problem, location, limit }
    }
}

/// Calls `visit` for every call in `bodies`, at any nesting depth, with the callee and the number
/// of blocks that enclose the call. Returns the depth to which blocks nest, which is one if the
/// statements of the bodies contain no further blocks.
fn each_call<'b>(
    bodies: impl IntoIterator<Item = &'b Block>,
    visit: &mut dyn FnMut(Callee, u64),
) -> u64 {
    let mut open: Vec<(&Block, u64)> = bodies.into_iter().map(|body| (body, 1)).collect();
    let mut deepest = 0;
    while let Some((block, depth)) = open.pop() {
        deepest = deepest.max(depth);
        for statement in block {
            let mut call = |callee| visit(callee, depth);
            let mut inner = |block| open.push((block, depth + 1));
            match &statement.kind {
                StatementKind::CallAction { action, .. } => call(Callee::Action(*action)),
                StatementKind::CallFunction { function, .. } => call(Callee::Function(*function)),
                StatementKind::CallControl { control, .. } => call(Callee::Control(*control)),
                StatementKind::CallParser { parser, .. } => call(Callee::Parser(*parser)),
                StatementKind::ApplyTable { table, .. } => call(Callee::Table(*table)),
                StatementKind::If { then, otherwise, .. } => {
                    [then, otherwise].into_iter().for_each(inner);
                }
                StatementKind::Switch { cases, default, .. } => {
                    inner(default);
                    cases.iter().map(|case| &case.body).for_each(inner);
                }
                StatementKind::For { before_condition, update, body, .. } => {
                    [before_condition, update, body].into_iter().for_each(inner);
                }
                _ => {}
            }
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Architecture, Function, Statement};

    /// Returns a program of functions, each of which calls the function before it `calls` times.
    fn chain(functions: u32, calls: usize) -> Program {
        let mut program = Program::empty(Architecture::V1model);
        program.errors.push("NoError".to_owned());
        for number in 0..functions {
            let call = |function| Statement {
                location: None,
                kind: StatementKind::CallFunction { function, arguments: Vec::new(), result: None },
            };
            let called = number.checked_sub(1).map(FunctionId);
            program.functions.push(Function {
                name: format!("f{number}"),
                parameters: Vec::new(),
                return_type: None,
                body: called.into_iter().flat_map(|called| vec![call(called); calls]).collect(),
            });
        }
        program
    }

    #[test]
    fn calls_nest_as_deep_as_allowed_and_no_deeper() {
        assert_eq!(chain(257, 1).validate(), Ok(()));
        for functions in [258, 100_000] {
            let violation = chain(functions, 1).validate().expect_err("it is too deep");
            assert_eq!(violation.limit, Some(Limit::CallDepth));
            assert_eq!(
                violation.to_string(),
                "calls nest 257 deep, and at most 256 are allowed (--push-call-depth of a switch): \
                 function `f257`"
            );
        }
    }

    #[test]
    fn a_function_called_twice_at_each_level_is_visited_once() {
        assert_eq!(chain(257, 2).validate(), Ok(()));
    }

    #[test]
    fn recursion_is_reported_as_such_and_not_as_depth() {
        let mut program = chain(3, 1);
        let last = program.functions[2].body.clone();
        program.functions[0].body = last.clone();
        let Some(StatementKind::CallFunction { function, .. }) =
            program.functions[0].body.first_mut().map(|statement| &mut statement.kind)
        else {
            panic!("a call");
        };
        *function = FunctionId(2);
        let violation = program.validate().expect_err("it calls itself");
        assert_eq!((violation.limit, violation.problem.as_str()), (None, "calls itself"));
    }

    /// The first function calls the second, which calls itself.
    #[test]
    fn recursion_names_a_callable_on_the_cycle() {
        let call = |function| Statement {
            location: None,
            kind: StatementKind::CallFunction { function, arguments: Vec::new(), result: None },
        };
        for (called, cycle) in
            [([1, 1, 0], ["function `f1`"; 2]), ([2, 2, 1], ["function `f2`", "function `f1`"])]
        {
            let mut program = chain(3, 0);
            for (function, called) in program.functions.iter_mut().zip(called) {
                function.body = vec![call(FunctionId(called))];
            }
            let violation = program.validate().expect_err("it calls itself");
            assert!(cycle.contains(&violation.part.as_str()), "{violation}");
        }
    }
}
