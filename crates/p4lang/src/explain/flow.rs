//! Construction of the graphs of a program's parsers and controls.
//!
//! Consecutive statements without branches share one node. A table, a call of a parser or control,
//! and a decision have nodes of their own.

use super::graph::{Graph, NodeId, Shape};
use ir::{
    Block, Control, Excerpts, Expression, Parser, Program, Statement, StatementKind, TableId,
    Target, Transition,
};

/// The largest number of lines in the label of a node. Further lines are omitted.
const MAX_LINES: usize = 6;
/// The number of characters after which a line of a label is broken.
const MAX_CHARACTERS: usize = 40;
/// The largest number of lines that a single statement, condition or list takes in a label. Further
/// lines are omitted.
const MAX_LINES_OF_ONE: usize = 3;

pub(super) fn graphs(program: &Program) -> Vec<Graph> {
    let mut parts = Excerpts::new(program);
    let mut graphs: Vec<Graph> =
        program.parsers.iter().map(|parser| parser_graph(program, parser, &mut parts)).collect();
    for control in &program.controls {
        if !control.body.is_empty() {
            graphs.push(control_graph(program, control, &mut parts));
        }
    }
    graphs
}

fn parser_graph(program: &Program, parser: &Parser, parts: &mut Excerpts<'_>) -> Graph {
    let mut graph = Graph { name: format!("parser {}", parser.name), ..Graph::default() };
    let states: Vec<NodeId> = parser
        .states
        .iter()
        .map(|state| {
            let mut lines = vec![state.name.clone()];
            lines.extend(
                state.body.iter().flat_map(|statement| lines_of(program, statement, parts)),
            );
            graph.node(Shape::State, joined(lines))
        })
        .collect();
    let accept = graph.node(Shape::Terminal, "accept");
    let reject = graph.node(Shape::Terminal, "reject");
    let node = |target: Target| match target {
        Target::State(id) => states.get(id.index()).copied().unwrap_or(reject),
        Target::Accept => accept,
        Target::Reject => reject,
    };
    for (state, from) in parser.states.iter().zip(&states) {
        match &state.transition {
            Transition::Direct(target) => graph.edge(*from, node(*target), ""),
            Transition::Select { cases, .. } => {
                for case in cases {
                    let sets: Vec<String> =
                        case.key_sets.iter().map(|set| parts.key_set(set)).collect();
                    let is_rest = sets.iter().all(|set| set == "_");
                    let label = if is_rest { "default".to_owned() } else { cut(&sets.join(", ")) };
                    graph.edge(*from, node(case.target), label);
                }
            }
        }
    }
    without_unreachable_ends(graph, &[accept, reject])
}

/// Returns the graph without those of the terminal nodes `ends` to which no edge leads.
fn without_unreachable_ends(mut graph: Graph, ends: &[NodeId]) -> Graph {
    for end in ends.iter().rev() {
        if graph.edges.iter().any(|edge| edge.to == *end) {
            continue;
        }
        graph.nodes.remove(end.0);
        for edge in &mut graph.edges {
            for id in [&mut edge.from, &mut edge.to] {
                if id.0 > end.0 {
                    id.0 -= 1;
                }
            }
        }
    }
    graph
}

fn control_graph<'p>(program: &'p Program, control: &Control, parts: &mut Excerpts<'p>) -> Graph {
    let graph = Graph { name: format!("control {}", control.name), ..Graph::default() };
    let own = format!("{}.", control.name);
    let mut flow =
        Flow { program, parts, graph, own, ends: Vec::new(), loops: Vec::new(), applied: None };
    let start = flow.graph.node(Shape::Terminal, "start");
    let open = flow.block(&control.body, vec![(start, String::new())]);
    let end = flow.graph.node(Shape::Terminal, "end");
    let ends = std::mem::take(&mut flow.ends);
    flow.connect(&open, end);
    flow.connect(&ends, end);
    flow.graph
}

/// Open edges, whose target is not known yet. Each is a source node and a label.
type Open = Vec<(NodeId, String)>;

/// The state of constructing the control-flow graph of one control.
struct Flow<'p, 'e> {
    program: &'p Program,
    parts: &'e mut Excerpts<'p>,
    graph: Graph,
    /// The prefix that the names of the control's own tables and actions have. Labels omit it.
    own: String,
    /// The table that was applied last. If the next decision tests whether this table was hit, the
    /// decision's label contains the table's name.
    applied: Option<TableId>,
    /// The edges from statements that leave the control, such as `exit`.
    ends: Open,
    /// For each enclosing loop, the open edges from its `break` statements, and those from its
    /// `continue` statements.
    loops: Vec<(Open, Open)>,
}

impl Flow<'_, '_> {
    fn connect(&mut self, open: &Open, to: NodeId) {
        for (from, label) in open {
            self.graph.edge(*from, to, label.clone());
        }
    }

    fn add(&mut self, shape: Shape, label: String, open: &Open) -> NodeId {
        let node = self.graph.node(shape, label);
        self.connect(open, node);
        node
    }

    /// Formats a text for a label, without the control's name as a prefix.
    fn short(&self, text: &str) -> String {
        cut(&text.replace(&self.own, ""))
    }

    /// Returns the label of a table: its name, keys and actions.
    fn table(&mut self, id: TableId) -> String {
        let Some(table) = self.program.tables.get(id.index()) else { return "?".to_owned() };
        let keys = table.keys.iter().map(|key| format!("{} {}", key.name, key.match_kind.name()));
        let keys = keys.collect::<Vec<_>>().join(", ");
        let actions = table.actions.iter().filter_map(|action| {
            let found = self.program.actions.get(action.action.index())?;
            Some(found.name.replace(&self.own, ""))
        });
        let actions = actions.collect::<Vec<_>>().join(" | ");
        let lines = [table.name.replace(&self.own, ""), cut(&keys), cut(&actions)];
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Returns the label of a condition. If the condition tests whether the table that was applied
    /// last was hit, the label is `table hit?` or `table missed?`.
    fn condition(&mut self, condition: &Expression) -> String {
        let text = self.parts.expression(condition);
        let name = self.applied.take().and_then(|id| self.program.tables.get(id.index()));
        let Some(name) = name.map(|table| table.name.replace(&self.own, "")) else {
            return self.short(&text);
        };
        let bare = text.trim_start_matches(['(', '!']).trim_end_matches(')');
        // The variable that holds `hit` has a name without a dot.
        let is_variable = bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match (is_variable, text.contains('!')) {
            (true, false) => format!("{name} hit?"),
            (true, true) => format!("{name} missed?"),
            (false, _) => self.short(&text),
        }
    }

    fn flush(&mut self, lines: &mut Vec<String>, open: Open) -> Open {
        if lines.is_empty() {
            return open;
        }
        let label = joined(std::mem::take(lines));
        vec![(self.add(Shape::Statements, label, &open), String::new())]
    }

    /// Adds the nodes of a block as the target of the open edges, and returns the edges that leave
    /// the block. Consecutive statements that do not influence control flow share a node.
    fn block(&mut self, block: &Block, mut open: Open) -> Open {
        let mut lines = Vec::new();
        for statement in block {
            if open.is_empty() {
                break;
            }
            let of_interest = matches!(
                statement.kind,
                StatementKind::If { .. }
                    | StatementKind::Switch { .. }
                    | StatementKind::For { .. }
                    | StatementKind::ApplyTable { .. }
                    | StatementKind::CallControl { .. }
                    | StatementKind::CallParser { .. }
                    | StatementKind::Break
                    | StatementKind::Continue
                    | StatementKind::Return(_)
                    | StatementKind::Exit
            );
            if of_interest {
                open = self.flush(&mut lines, open);
                open = self.statement(statement, open);
            } else {
                let own = lines_of(self.program, statement, self.parts);
                lines.extend(own.iter().map(|line| self.short(line)));
            }
        }
        self.flush(&mut lines, open)
    }

    /// Adds the nodes of a statement as the target of the open edges, and returns the edges that
    /// leave the statement.
    fn statement(&mut self, statement: &Statement, open: Open) -> Open {
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let label = self.condition(condition);
                let node = self.add(Shape::Decision, label, &open);
                let mut after = self.block(then, vec![(node, "true".to_owned())]);
                after.extend(self.block(otherwise, vec![(node, "false".to_owned())]));
                after
            }
            StatementKind::Switch { subject, cases, default } => {
                let applied =
                    self.applied.take().and_then(|id| self.program.tables.get(id.index()));
                let label = match applied {
                    Some(table) => format!("action of {}", table.name.replace(&self.own, "")),
                    None => {
                        let text = self.parts.expression(subject);
                        self.short(&text)
                    }
                };
                let node = self.add(Shape::Decision, label, &open);
                let mut after = Vec::new();
                for case in cases {
                    let values: Vec<String> = case
                        .values
                        .iter()
                        .map(|value| self.parts.value(subject.type_id, value))
                        .collect();
                    let label = self.short(&values.join(", "));
                    after.extend(self.block(&case.body, vec![(node, label)]));
                }
                after.extend(self.block(default, vec![(node, "default".to_owned())]));
                after
            }
            StatementKind::For { before_condition, condition, update, body } => {
                let label = format!("for {}", cut(&self.parts.expression(condition)));
                let before = before_condition
                    .iter()
                    .flat_map(|statement| lines_of(self.program, statement, self.parts));
                let label = joined(before.chain([label]).collect());
                let node = self.add(Shape::Decision, label, &open);
                self.loops.push((Vec::new(), Vec::new()));
                let mut round = self.block(body, vec![(node, "true".to_owned())]);
                let (mut breaks, continues) = self.loops.pop().unwrap_or_default();
                round.extend(continues);
                let round = self.block(update, round);
                self.connect(&round, node);
                breaks.push((node, "false".to_owned()));
                breaks
            }
            StatementKind::Break => {
                if let Some((breaks, _)) = self.loops.last_mut() {
                    breaks.extend(open);
                }
                Vec::new()
            }
            StatementKind::Continue => {
                if let Some((_, continues)) = self.loops.last_mut() {
                    continues.extend(open);
                }
                Vec::new()
            }
            StatementKind::Return(_) | StatementKind::Exit => {
                self.ends.extend(open);
                Vec::new()
            }
            StatementKind::ApplyTable { table, hit, action_run } => {
                let label = self.table(*table);
                let node = self.add(Shape::Table, label, &open);
                self.applied = (hit.is_some() || action_run.is_some()).then_some(*table);
                vec![(node, String::new())]
            }
            StatementKind::CallControl { control, .. } => {
                let label =
                    self.program.controls.get(control.index()).map_or("?", |control| &control.name);
                vec![(self.add(Shape::Call, label.to_owned(), &open), String::new())]
            }
            StatementKind::CallParser { parser, .. } => {
                let label =
                    self.program.parsers.get(parser.index()).map_or("?", |parser| &parser.name);
                vec![(self.add(Shape::Call, label.to_owned(), &open), String::new())]
            }
            _ => open,
        }
    }
}

fn lines_of(program: &Program, statement: &Statement, parts: &mut Excerpts<'_>) -> Vec<String> {
    let line = match &statement.kind {
        StatementKind::CallParser { parser, .. } => {
            let name = program.parsers.get(parser.index()).map_or("?", |parser| &parser.name);
            format!("{name}.apply()")
        }
        _ => parts.statement(statement),
    };
    line.lines().map(|line| cut(line.trim())).filter(|line| !line.is_empty()).collect()
}

fn joined(mut lines: Vec<String>) -> String {
    if lines.len() > MAX_LINES {
        let left_out = lines.len() - (MAX_LINES - 1);
        lines.truncate(MAX_LINES - 1);
        lines.push(format!("… {left_out} more"));
    }
    lines.join("\n")
}

/// Formats a text for a label and breaks it into short lines. Removes parentheses around the whole
/// text, and the words `extern` and `call` at its start.
fn cut(line: &str) -> String {
    let line = numbers(line);
    let line = ["extern ", "call "]
        .iter()
        .fold(line.as_str(), |line, word| line.strip_prefix(word).unwrap_or(line));
    let line = unbracketed(line);
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let used = lines.last().map_or(0, |last| last.chars().count());
        match lines.last_mut() {
            Some(last) if used == 0 => last.push_str(word),
            Some(last) if used + 1 + word.chars().count() <= MAX_CHARACTERS => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let is_cut = lines.len() > MAX_LINES_OF_ONE;
    lines.truncate(MAX_LINES_OF_ONE);
    for line in &mut lines {
        if line.chars().count() > MAX_CHARACTERS + 8 {
            *line = line.chars().take(MAX_CHARACTERS + 7).collect::<String>() + "…";
        }
    }
    lines.join("\n") + if is_cut { " …" } else { "" }
}

/// Returns the text without the pair of parentheses that encloses all of it. If there is no such
/// pair, returns the text unchanged.
fn unbracketed(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return text;
    };
    let mut depth = 0_i32;
    for letter in inner.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth < 0 {
            return text;
        }
    }
    inner
}

/// Returns the text with its numbers in the notation that is common for protocols: without widths,
/// and in hexadecimal if greater than 9 (`0x800`).
fn numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        let (before, word) = rest.split_at(at);
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, behind) = word.split_at(end.unwrap_or(word.len()));
        out.push_str(before);
        let number = word.split_once('w').and_then(|(width, value)| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
            let value: u128 = (digits(width) && digits(value)).then(|| value.parse().ok())??;
            Some(if value > 9 { format!("{value:#x}") } else { value.to_string() })
        });
        out.push_str(number.as_deref().unwrap_or(word));
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_no_width_and_are_hexadecimal() {
        for (text, label) in [
            ("16w2048", "0x800"),
            ("(type == 16w34525) && (x < 8w9)", "(type == 0x86dd) && (x < 9)"),
            ("now2048 12 w10 8wide", "now2048 12 w10 8wide"),
            ("48w281474976710655", "0xffffffffffff"),
        ] {
            assert_eq!(super::numbers(text), label);
        }
    }

    #[test]
    fn long_texts_are_broken_into_lines() {
        assert_eq!(super::cut("(headers.ipv4.ttl <= 8w1)"), "headers.ipv4.ttl <= 1");
        assert_eq!(super::cut("(a) && (b)"), "(a) && (b)");
        assert_eq!(super::cut("extern dropped.count(32w0)"), "dropped.count(0)");
        let long = super::cut(&"condition && ".repeat(20));
        assert!(long.ends_with(" …") && long.lines().count() == super::MAX_LINES_OF_ONE, "{long}");
        assert!(
            long.lines().all(|line| line.chars().count() <= super::MAX_CHARACTERS + 2),
            "{long}"
        );
    }
}
