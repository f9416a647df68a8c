//! From a graph of nodes and successors to nested blocks.
//!
//! BMv2 JSON says "next node"; the IR has `if` and `switch`. The graph has no cycles, so every
//! branch ends at its immediate post-dominator: the branches are written out up to there, and
//! what follows once behind them. A node that several branches reach before that point (`return`
//! in the source does it) is written once for each; their number is bounded.

use ir::{Block, Expression, Statement, StatementKind, SwitchCase, Value};

/// How many statements the repetition may lead to.
const STATEMENT_LIMIT: usize = 200_000;
/// How deep blocks may be nested.
const DEPTH_LIMIT: usize = 400;

/// A node: what it does, then where it goes. `None` is the end.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) body: Block,
    pub(super) next: Next,
}

#[derive(Debug)]
pub(super) enum Next {
    Always(Option<usize>),
    If { condition: Expression, yes: Option<usize>, no: Option<usize> },
    Switch { subject: Expression, cases: Vec<(Vec<Value>, Option<usize>)>, default: Option<usize> },
}

impl Next {
    fn successors(&self) -> Vec<Option<usize>> {
        match self {
            Self::Always(next) => vec![*next],
            Self::If { yes, no, .. } => vec![*yes, *no],
            Self::Switch { cases, default, .. } => {
                cases.iter().map(|(_, next)| *next).chain([*default]).collect()
            }
        }
    }
}

/// Writes the graph from `entry` as a block.
///
/// # Errors
/// What is wrong with the graph.
pub(super) fn structured(nodes: &[Node], entry: Option<usize>) -> Result<Block, &'static str> {
    let order = post_order(nodes, entry)?;
    let mut writer = Writer {
        nodes,
        dominators: vec![Point { node: None, depth: 0, jump: None }; nodes.len()],
        statements: 0,
    };
    for node in order {
        let mut point: Option<Option<usize>> = None;
        for successor in nodes[node].next.successors() {
            point = Some(match point {
                None => successor,
                Some(other) => writer.common(other, successor),
            });
        }
        writer.dominate(node, point.flatten());
    }
    writer.write(entry, None, 0)
}

/// The reachable nodes, successors before the nodes that lead to them.
fn post_order(nodes: &[Node], entry: Option<usize>) -> Result<Vec<usize>, &'static str> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; nodes.len()];
    let mut order = Vec::new();
    let mut stack: Vec<(usize, bool)> = entry.map(|entry| (entry, false)).into_iter().collect();
    while let Some((node, leaving)) = stack.pop() {
        if leaving {
            marks[node] = Mark::Done;
            order.push(node);
            continue;
        }
        match marks[node] {
            Mark::Done => continue,
            Mark::Open => return Err("its nodes form a cycle"),
            Mark::New => {}
        }
        marks[node] = Mark::Open;
        stack.push((node, true));
        for successor in nodes[node].next.successors().into_iter().flatten() {
            match marks[successor] {
                Mark::New => stack.push((successor, false)),
                Mark::Open => return Err("its nodes form a cycle"),
                Mark::Done => {}
            }
        }
    }
    Ok(order)
}

/// The immediate post-dominator of a node, and how far the node is from the end.
#[derive(Clone, Copy)]
struct Point {
    node: Option<usize>,
    depth: usize,
    /// A post-dominator further on. Where it lies depends on the depth alone, so nodes of one depth jump as far.
    jump: Option<usize>,
}

struct Writer<'n> {
    nodes: &'n [Node],
    dominators: Vec<Point>,
    statements: usize,
}

impl Writer<'_> {
    fn depth(&self, node: Option<usize>) -> usize {
        node.map_or(0, |node| self.dominators[node].depth)
    }

    fn jump(&self, node: Option<usize>) -> Option<usize> {
        node.and_then(|node| self.dominators[node].jump)
    }

    /// Notes the post-dominator of a node, and a jump over as many nodes as the last two jumps together if these are of
    /// one length (E. Myers, "An applicative random-access stack", 1983).
    fn dominate(&mut self, node: usize, next: Option<usize>) {
        let (first, second) = (self.jump(next), self.jump(self.jump(next)));
        let lengths =
            [self.depth(next) - self.depth(first), self.depth(first) - self.depth(second)];
        let jump = if lengths[0] == lengths[1] { second } else { next };
        self.dominators[node] = Point { node: next, depth: self.depth(next) + 1, jump };
    }

    /// The first node that both ways pass.
    fn common(&self, mut left: Option<usize>, mut right: Option<usize>) -> Option<usize> {
        if self.depth(left) < self.depth(right) {
            (left, right) = (right, left);
        }
        let step = |node: Option<usize>| node.and_then(|node| self.dominators[node].node);
        while self.depth(left) > self.depth(right) {
            ir::meter::count(1);
            let jump = self.jump(left);
            left = if self.depth(jump) >= self.depth(right) { jump } else { step(left) };
        }
        while left != right {
            ir::meter::count(1);
            let jumps = (self.jump(left), self.jump(right));
            (left, right) = if jumps.0 != jumps.1 { jumps } else { (step(left), step(right)) };
        }
        left
    }

    fn write(
        &mut self,
        from: Option<usize>,
        until: Option<usize>,
        depth: usize,
    ) -> Result<Block, &'static str> {
        if depth > DEPTH_LIMIT {
            return Err("its branches are nested too deeply");
        }
        let mut block = Block::new();
        let mut current = from;
        while current != until {
            let Some(node) = current else { break };
            let nodes = self.nodes;
            let Node { body, next } = &nodes[node];
            self.statements += body.len() + 1;
            if self.statements > STATEMENT_LIMIT {
                return Err("its branches join in too many ways");
            }
            block.extend(body.iter().cloned());
            let join = self.dominators[node].node;
            let kind = match next {
                Next::Always(_) => None,
                Next::If { condition, yes, no } => {
                    let then = self.write(*yes, join, depth + 1)?;
                    let otherwise = self.write(*no, join, depth + 1)?;
                    (!then.is_empty() || !otherwise.is_empty()).then(|| StatementKind::If {
                        condition: condition.clone(),
                        then,
                        otherwise,
                    })
                }
                Next::Switch { subject, cases, default } => {
                    let cases = cases
                        .iter()
                        .map(|(values, next)| {
                            let body = self.write(*next, join, depth + 1)?;
                            Ok(SwitchCase { values: values.clone(), body })
                        })
                        .collect::<Result<Vec<_>, &'static str>>()?;
                    let default = self.write(*default, join, depth + 1)?;
                    Some(StatementKind::Switch { subject: subject.clone(), cases, default })
                }
            };
            block.extend(kind.map(|kind| Statement { location: None, kind }));
            current = join;
        }
        Ok(block)
    }
}
