//! Partial paths through a P4 program, called ways. The walker in `walk` extends them statement by
//! statement.
//!
//! Ways in the same state have the same continuations, so equal ways are merged. To list all paths,
//! two ways are equal only if their parts are equal too. For statistics of all paths, equal states
//! suffice. The way with the most parts represents the merged ways, and a graph of their decisions
//! counts the paths.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use ir::{Choice, ParserId, StateId};
use num_bigint::BigUint;

use super::validity::Validity;
use super::{Overview, Parts, Passes, Path};

/// The reason why a partial path skips the statements that follow, until the end of an enclosing
/// block or loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ended {
    No,
    /// The path left the enclosing action, function or control by `return`.
    Returned,
    /// The path left the body of the innermost loop by `break` or `continue`.
    Left,
    /// The path left the top-level control or parser by `exit`.
    Exited,
    /// The path left the parser with an error.
    Rejected,
}

/// The state of a partial path. It determines how the path can continue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    /// The headers that are known to be valid or invalid, or `None` if the walk through the program
    /// does not record validity.
    pub(super) valid: Option<Validity>,
    pub(super) ended: Ended,
    /// The number of times that the path has entered each parser state with a limit on it.
    pub(super) visits: BTreeMap<(ParserId, StateId), u32>,
    /// The work that packets of the path may need in addition to its parts, in words.
    pub(super) uncounted: BTreeSet<String>,
}

/// A partial path through a program, or several that were merged.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) state: State,
    /// The number of times that each part occurs on the path, indexed by the part's number. The
    /// last element is not zero.
    parts: Vec<u32>,
    /// The path's latest decision, as an index into the graph of decisions.
    node: usize,
    /// The number of paths that were merged into this one.
    ways: BigUint,
}

pub(super) type Ways = Vec<Way>;

/// A node of the graph of decisions: a decision that a path took, or the point where paths were
/// merged.
#[derive(Debug)]
struct Node {
    /// The indices of the previous nodes. If paths were merged here, the node of the path with the
    /// most parts comes first.
    before: Vec<usize>,
    decision: Option<usize>,
    /// The choice that the path made here. Only a choice that the packet determines is also a
    /// decision.
    choice: Option<Choice>,
    ways: BigUint,
}

/// The largest number of sequences of choices (such as the sides of branches) that are kept for all
/// listed paths together.
const MAX_SEQUENCES: usize = 16_384;

/// The largest number of sequences of choices (such as the sides of branches) that are kept for one
/// path.
const MAX_SEQUENCES_OF_A_PATH: usize = 64;

/// A numbering of texts, in the order in which the texts were first used.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<String, usize>,
    texts: Vec<String>,
}

impl Names {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len();
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }
}

/// The data that all partial paths of one walk through a program share.
#[derive(Debug)]
pub(super) struct Record {
    /// Whether partial paths in the same state are merged only if each part (see [`Parts`]) occurs
    /// equally often on them. Every combination of parts then remains a path of its own, so that
    /// the walk can list them. If this is false, partial paths in the same state are always merged.
    lists: bool,
    parts: RefCell<Names>,
    decisions: RefCell<Names>,
    nodes: RefCell<Vec<Node>>,
    /// The work done so far: the number of partial paths that [`Record::map`] changed, summed over
    /// its calls.
    steps: RefCell<u64>,
}

impl Record {
    pub(super) fn new(lists: bool) -> Self {
        Self {
            lists,
            parts: RefCell::default(),
            decisions: RefCell::default(),
            nodes: RefCell::default(),
            steps: RefCell::default(),
        }
    }

    /// Returns the empty path, with which a walk through a program begins. `follows_validity` says
    /// whether the walk records which headers are valid.
    pub(super) fn start(&self, follows_validity: bool) -> Ways {
        let state = State {
            valid: follows_validity.then(Validity::default),
            ended: Ended::No,
            visits: BTreeMap::new(),
            uncounted: BTreeSet::new(),
        };
        let node = self.node(Node {
            before: Vec::new(),
            decision: None,
            choice: None,
            ways: BigUint::from(1_u32),
        });
        vec![Way { state, parts: Vec::new(), node, ways: BigUint::from(1_u32) }]
    }

    /// Adds one occurrence of a part to a path.
    pub(super) fn add(&self, way: &mut Way, part: &str) {
        let number = self.parts.borrow_mut().number(part);
        if way.parts.len() <= number {
            way.parts.resize(number + 1, 0);
        }
        way.parts[number] += 1;
    }

    /// Adds a decision to a path, for example an action that a table ran.
    pub(super) fn decide(&self, way: &mut Way, decision: &str) {
        let number = self.decisions.borrow_mut().number(decision);
        way.node = self.node(Node {
            before: vec![way.node],
            decision: Some(number),
            choice: None,
            ways: way.ways.clone(),
        });
    }

    /// Adds a choice, such as a side of a branch, to a path. Nothing is added for statistics of all
    /// paths, which do not need choices.
    pub(super) fn choose(&self, way: &mut Way, choice: Choice) {
        if self.lists {
            way.node = self.node(Node {
                before: vec![way.node],
                decision: None,
                choice: Some(choice),
                ways: way.ways.clone(),
            });
        }
    }

    fn node(&self, node: Node) -> usize {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(node);
        nodes.len() - 1
    }

    /// Applies `change` to every partial path, and merges those that became equal.
    pub(super) fn map(&self, mut ways: Ways, change: impl Fn(&mut Way)) -> Ways {
        *self.steps.borrow_mut() += ways.len() as u64;
        ways.iter_mut().for_each(change);
        self.united(ways)
    }

    /// Adds the partial paths `more` to `all`, and merges equal ones.
    pub(super) fn merge(&self, all: &mut Ways, more: Ways) {
        all.extend(more);
        *all = self.united(std::mem::take(all));
    }

    /// Returns the partial paths with equal ones merged.
    pub(super) fn united(&self, mut ways: Ways) -> Ways {
        let order = |a: &Way, b: &Way| {
            let parts = || if self.lists { a.parts.cmp(&b.parts) } else { Ordering::Equal };
            a.state.cmp(&b.state).then_with(parts)
        };
        ways.sort_by(order);
        let mut united: Ways = Vec::with_capacity(ways.len());
        for way in ways {
            match united.last_mut() {
                Some(last) if order(last, &way) == Ordering::Equal => self.unite(last, way),
                _ => united.push(way),
            }
        }
        united
    }

    /// Merges the partial path `other` into `way`. The result has the parts of the longer of the
    /// two.
    fn unite(&self, way: &mut Way, mut other: Way) {
        if other.length() > way.length() {
            std::mem::swap(way, &mut other);
        }
        way.ways += other.ways;
        way.node = self.node(Node {
            before: vec![way.node, other.node],
            decision: None,
            choice: None,
            ways: way.ways.clone(),
        });
    }

    /// Returns all finished paths with their parts and decisions, for a walk that lists paths.
    pub(super) fn paths(&self, ways: Ways) -> Vec<Path> {
        let most = (MAX_SEQUENCES / ways.len().max(1)).clamp(1, MAX_SEQUENCES_OF_A_PATH);
        let path = |way: &Way| Path {
            decisions: self.decisions(way),
            choices: self.choices(way, most),
            parts: self.named(way),
            ways: u64::try_from(&way.ways).unwrap_or(u64::MAX),
            uncounted: way.state.uncounted.clone(),
        };
        let mut paths: Vec<Path> = ways.iter().map(path).collect();
        paths.sort_by(|a, b| a.parts.cmp(&b.parts));
        paths
    }

    /// Returns the statistics of all finished paths, or `None` if there are no paths.
    pub(super) fn overview(&self, ways: Ways, follows_validity: bool) -> Option<Overview> {
        let longest = ways.iter().max_by_key(|way| way.length())?;
        let longest = Path {
            decisions: self.decisions(longest),
            choices: Vec::new(),
            parts: self.named(longest),
            ways: 1,
            uncounted: longest.state.uncounted.clone(),
        };
        Some(Overview {
            ways: ways.iter().map(|way| &way.ways).sum(),
            longest,
            passes: self.passes(&ways),
            follows_validity,
            steps: *self.steps.borrow(),
        })
    }

    /// Returns the number of finished paths through each decision. It is the number of partial
    /// paths that reach the decision, times the number of their continuations.
    fn passes(&self, ends: &Ways) -> Vec<Passes> {
        let nodes = self.nodes.borrow();
        let texts = &self.decisions.borrow().texts;
        let mut onward = vec![BigUint::ZERO; nodes.len()];
        for end in ends {
            onward[end.node] += 1_u32;
        }
        let mut passes = vec![BigUint::ZERO; texts.len()];
        // Each node comes after its predecessors.
        for (number, node) in nodes.iter().enumerate().rev() {
            let from_here = std::mem::take(&mut onward[number]);
            for before in &node.before {
                onward[*before] += &from_here;
            }
            if let Some(decision) = node.decision {
                passes[decision] += &node.ways * from_here;
            }
        }
        let passed = texts.iter().cloned().zip(passes);
        passed.map(|(decision, ways)| Passes { decision, ways }).collect()
    }

    fn decisions(&self, way: &Way) -> Vec<String> {
        let nodes = self.nodes.borrow();
        let texts = &self.decisions.borrow().texts;
        let mut decisions = Vec::new();
        let mut at = Some(way.node);
        while let Some(node) = at.and_then(|at| nodes.get(at)) {
            decisions.extend(node.decision.and_then(|number| texts.get(number)).cloned());
            at = node.before.first().copied();
        }
        decisions.reverse();
        decisions
    }

    /// Returns the choices of the paths that were merged into `way`: one sequence for each of them,
    /// but at most `most` sequences. The first one belongs to the same path as [`Self::decisions`].
    fn choices(&self, way: &Way, most: usize) -> Vec<Vec<Choice>> {
        let nodes = self.nodes.borrow();
        let mut sequences = Vec::new();
        // Sequences under construction, each with the choices from the end of the path back to the
        // node next to it.
        let mut open: Vec<(usize, Vec<Choice>)> = vec![(way.node, Vec::new())];
        while let Some((at, mut sequence)) = open.pop() {
            let Some(node) = nodes.get(at) else { continue };
            sequence.extend(node.choice);
            let Some((first, others)) = node.before.split_first() else {
                sequence.reverse();
                sequences.push(sequence);
                if sequences.len() >= most {
                    break;
                }
                continue;
            };
            // Each sequence under construction leads to at least one finished sequence, so no more
            // than this number of further ones are needed.
            let needed = most.saturating_sub(sequences.len() + open.len() + 1);
            open.extend(others.iter().take(needed).map(|other| (*other, sequence.clone())));
            open.push((*first, sequence));
        }
        sequences
    }

    fn named(&self, way: &Way) -> Parts {
        let texts = &self.parts.borrow().texts;
        let named = texts.iter().zip(&way.parts).filter(|(_, count)| **count > 0);
        named.map(|(text, count)| (text.clone(), *count)).collect()
    }
}

impl Way {
    /// Returns the number of parts on the path, including repetitions.
    fn length(&self) -> u64 {
        self.parts.iter().map(|count| u64::from(*count)).sum()
    }
}

/// Separates the partial paths that continue with the next statement from those that skip it.
pub(super) fn split(ways: Ways) -> (Ways, Ways) {
    ways.into_iter().partition(|way| way.state.ended == Ended::No)
}
