//! From a program to its graphs.
//!
//! Statements without branches are joined into one box until something of interest comes: a
//! table, a call of a parser or control, a decision.

use super::graph::{Graph, NodeId, Shape};
use ir::{Block, Control, Excerpts, Parser, Program, Statement, StatementKind, Target, Transition};

/// Lines of a box before the rest is left out.
const MOST_LINES: usize = 6;
/// Characters of a line before the rest is left out.
const MOST_CHARACTERS: usize = 60;

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
                    graph.edge(*from, node(case.target), cut(&sets.join(", ")));
                }
            }
        }
    }
    without_lonely_ends(graph, &[accept, reject])
}

/// Takes out terminals that nothing leads to.
fn without_lonely_ends(mut graph: Graph, ends: &[NodeId]) -> Graph {
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
    let mut flow = Flow { program, parts, graph, ends: Vec::new(), loops: Vec::new() };
    let start = flow.graph.node(Shape::Terminal, "start");
    let open = flow.block(&control.body, vec![(start, String::new())]);
    let end = flow.graph.node(Shape::Terminal, "end");
    let ends = std::mem::take(&mut flow.ends);
    flow.connect(&open, end);
    flow.connect(&ends, end);
    flow.graph
}

/// Ways that wait for what comes next, and when they are taken.
type Open = Vec<(NodeId, String)>;

struct Flow<'p, 'e> {
    program: &'p Program,
    parts: &'e mut Excerpts<'p>,
    graph: Graph,
    /// Ways that leave the control.
    ends: Open,
    /// Of each loop around: ways of `break` and of `continue`.
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

    fn flush(&mut self, lines: &mut Vec<String>, open: Open) -> Open {
        if lines.is_empty() {
            return open;
        }
        let label = joined(std::mem::take(lines));
        vec![(self.add(Shape::Statements, label, &open), String::new())]
    }

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
                lines.extend(lines_of(self.program, statement, self.parts));
            }
        }
        self.flush(&mut lines, open)
    }

    fn statement(&mut self, statement: &Statement, open: Open) -> Open {
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let label = cut(&self.parts.expression(condition));
                let node = self.add(Shape::Decision, label, &open);
                let mut after = self.block(then, vec![(node, "true".to_owned())]);
                after.extend(self.block(otherwise, vec![(node, "false".to_owned())]));
                after
            }
            StatementKind::Switch { subject, cases, default } => {
                let label = cut(&self.parts.expression(subject));
                let node = self.add(Shape::Decision, label, &open);
                let mut after = Vec::new();
                for case in cases {
                    let values: Vec<String> = case
                        .values
                        .iter()
                        .map(|value| self.parts.value(subject.type_id, value))
                        .collect();
                    let label = cut(&values.join(", "));
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
            StatementKind::ApplyTable { table, .. } => {
                let label = self.program.tables.get(table.index()).map_or("?", |table| &table.name);
                vec![(self.add(Shape::Table, label.to_owned(), &open), String::new())]
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
    if lines.len() > MOST_LINES {
        let left_out = lines.len() - (MOST_LINES - 1);
        lines.truncate(MOST_LINES - 1);
        lines.push(format!("... {left_out} more"));
    }
    lines.join("\n")
}

fn cut(line: &str) -> String {
    let line = hexadecimal(line);
    if line.chars().count() <= MOST_CHARACTERS {
        return line;
    }
    let mut short: String = line.chars().take(MOST_CHARACTERS - 3).collect();
    short.push_str("...");
    short
}

/// Numbers with a width as people know them from protocols, `16w0x800`; those of one digit as they are.
fn hexadecimal(text: &str) -> String {
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
            (value > 9).then(|| format!("{width}w{value:#x}"))
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
    fn numbers_with_a_width_are_hexadecimal() {
        for (text, label) in [
            ("16w2048", "16w0x800"),
            ("(type == 16w34525) && (x < 8w9)", "(type == 16w0x86dd) && (x < 8w9)"),
            ("now2048 12 w10 8wide", "now2048 12 w10 8wide"),
            ("48w281474976710655", "48w0xffffffffffff"),
        ] {
            assert_eq!(super::hexadecimal(text), label);
        }
    }
}
