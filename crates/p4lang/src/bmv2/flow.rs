//! Conversion of a control-flow graph, as BMv2 JSON describes it, to the nested blocks of the IR.
//!
//! BMv2 JSON states the next node of each node, while the IR has nested `if` and `switch`
//! statements. The graph is acyclic, so all branches of a node meet at its immediate
//! post-dominator. Each branch is written up to that node, and what follows is written once after
//! all branches. Several branches may reach a common node before that point, as `return` in the
//! source causes, and that node is then written once for each of them. The total number of
//! statements is therefore limited.

use ir::{Block, Expression, Statement, StatementKind, SwitchCase, Value};

/// The largest number of statements and branches in the result, including copies of duplicated
/// nodes.
const STATEMENT_LIMIT: usize = 200_000;
/// The largest nesting depth of blocks.
const DEPTH_LIMIT: usize = 400;

/// A node of the control-flow graph: its statements and its successors. A successor `None` stands
/// for the end of the graph.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) body: Block,
    pub(super) next: Next,
}

/// The successors of a node of the control-flow graph. `None` stands for the end of the graph.
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

/// Converts a control-flow graph to nested blocks, and returns the block that starts at the node
/// `entry`.
///
/// # Errors
/// Returns a description of the problem if the graph has a cycle, or if its blocks become too many
/// or too deeply nested.
pub(super) fn structured(nodes: &[Node], entry: Option<usize>) -> Result<Block, &'static str> {
    let order = post_order(nodes, entry)?;
    let mut writer = Writer {
        nodes,
        post_dominators: vec![PostDominator { node: None, depth: 0, jump: None }; nodes.len()],
        statements: 0,
    };
    for node in order {
        let mut point: Option<Option<usize>> = None;
        for successor in nodes[node].next.successors() {
            point = Some(match point {
                None => successor,
                Some(other) => writer.common_post_dominator(other, successor),
            });
        }
        writer.set_post_dominator(node, point.flatten());
    }
    writer.write(entry, None, 0)
}

/// Returns the nodes reachable from `entry` in post-order: each node follows its successors.
fn post_order(nodes: &[Node], entry: Option<usize>) -> Result<Vec<usize>, &'static str> {
    /// The progress of the traversal at a node.
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

/// The immediate post-dominator of a node, with data for finding common post-dominators. The depth
/// of a node is the number of post-dominators between it and the end of the graph.
#[derive(Clone, Copy)]
struct PostDominator {
    node: Option<usize>,
    depth: usize,
    /// A jump pointer: a post-dominator farther along the chain, to which the search for a common
    /// post-dominator can skip. Nodes of equal depth skip equally many post-dominators.
    jump: Option<usize>,
}

/// The state of converting a graph to nested blocks.
struct Writer<'n> {
    nodes: &'n [Node],
    post_dominators: Vec<PostDominator>,
    statements: usize,
}

impl Writer<'_> {
    fn depth(&self, node: Option<usize>) -> usize {
        node.map_or(0, |node| self.post_dominators[node].depth)
    }

    fn jump(&self, node: Option<usize>) -> Option<usize> {
        node.and_then(|node| self.post_dominators[node].jump)
    }

    /// Sets the immediate post-dominator of `node` to `next`, and computes the node's jump pointer.
    /// If the jump pointer of `next` and the jump pointer of its target skip equally many nodes,
    /// the new pointer skips both stretches. Searches therefore take logarithmic time (E. Myers,
    /// "An applicative random-access stack", 1983).
    fn set_post_dominator(&mut self, node: usize, next: Option<usize>) {
        let (first, second) = (self.jump(next), self.jump(self.jump(next)));
        let lengths =
            [self.depth(next) - self.depth(first), self.depth(first) - self.depth(second)];
        let jump = if lengths[0] == lengths[1] { second } else { next };
        self.post_dominators[node] =
            PostDominator { node: next, depth: self.depth(next) + 1, jump };
    }

    /// Returns the first node that lies on the chains of post-dominators of both given nodes, or
    /// `None` (the end of the graph) if the chains share no node.
    fn common_post_dominator(
        &self,
        mut left: Option<usize>,
        mut right: Option<usize>,
    ) -> Option<usize> {
        if self.depth(left) < self.depth(right) {
            (left, right) = (right, left);
        }
        let step = |node: Option<usize>| node.and_then(|node| self.post_dominators[node].node);
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

    /// Writes the nodes from `from` up to `until`, which is excluded, as a block of statements.
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
                return Err("its branches are too many: each is repeated for every path to it");
            }
            block.extend(body.iter().cloned());
            let join = self.post_dominators[node].node;
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
