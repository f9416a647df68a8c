//! Ways through a program, as far as they have come.
//!
//! Ways that are equal have the same future and go on as one. In a list of all ways, equal means that parts and state are the
//! same. In an overview of too many, the state is enough: the way with most parts stands for all of them, and which decisions led
//! there is kept as a graph, in which ways are counted and not listed.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use ir::{ParserId, StateId, TypeId};
use num_bigint::BigUint;

use super::{Overview, Parts, Passes, Path};

/// The end up to which statements are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ended {
    No,
    /// The action, function or control in which it is.
    Returned,
    /// The innermost loop.
    Left,
    /// The top-level control or parser.
    Exited,
    /// The parser, with an error.
    Rejected,
}

/// The part of a way that decides where it can go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    /// Valid headers by type; nothing where that is not followed.
    pub(super) valid: Option<BTreeMap<TypeId, u32>>,
    pub(super) ended: Ended,
    /// The number of times that each parser state on a loop was entered.
    pub(super) visits: BTreeMap<(ParserId, StateId), u32>,
}

/// A way so far, or several that are equal.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) state: State,
    /// The count of each part, by the part's number; the last is not zero.
    parts: Vec<u32>,
    /// The way's place in the graph of decisions.
    node: usize,
    /// The number of ways that it stands for.
    ways: BigUint,
}

pub(super) type Ways = Vec<Way>;

/// A place in the graph of decisions, behind those before it.
#[derive(Debug)]
struct Node {
    /// The node of the way with most parts comes first.
    before: Vec<usize>,
    decision: Option<usize>,
    ways: BigUint,
}

/// Texts by number.
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

/// What all ways of a walk share.
#[derive(Debug)]
pub(super) struct Record {
    /// Whether ways with different parts are different ways.
    lists: bool,
    parts: RefCell<Names>,
    decisions: RefCell<Names>,
    nodes: RefCell<Vec<Node>>,
    /// Ways that were moved on by a statement.
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

    /// The only way before the first statement.
    pub(super) fn start(&self, follows_validity: bool) -> Ways {
        let state = State {
            valid: follows_validity.then(BTreeMap::new),
            ended: Ended::No,
            visits: BTreeMap::new(),
        };
        let node = self.node(Vec::new(), None, BigUint::from(1_u32));
        vec![Way { state, parts: Vec::new(), node, ways: BigUint::from(1_u32) }]
    }

    /// Adds a part to a way.
    pub(super) fn add(&self, way: &mut Way, part: &str) {
        let number = self.parts.borrow_mut().number(part);
        if way.parts.len() <= number {
            way.parts.resize(number + 1, 0);
        }
        way.parts[number] += 1;
    }

    /// Adds a decision to a way.
    pub(super) fn decide(&self, way: &mut Way, decision: &str) {
        let number = self.decisions.borrow_mut().number(decision);
        way.node = self.node(vec![way.node], Some(number), way.ways.clone());
    }

    fn node(&self, before: Vec<usize>, decision: Option<usize>, ways: BigUint) -> usize {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { before, decision, ways });
        nodes.len() - 1
    }

    /// Changes every way, and has those go on as one that became equal.
    pub(super) fn map(&self, mut ways: Ways, change: impl Fn(&mut Way)) -> Ways {
        *self.steps.borrow_mut() += ways.len() as u64;
        ways.iter_mut().for_each(change);
        self.united(ways)
    }

    /// Adds further ways.
    pub(super) fn merge(&self, all: &mut Ways, more: Ways) {
        all.extend(more);
        *all = self.united(std::mem::take(all));
    }

    /// Has equal ways go on as one.
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

    /// Has a way stand for another too.
    fn unite(&self, way: &mut Way, mut other: Way) {
        if other.length() > way.length() {
            std::mem::swap(way, &mut other);
        }
        way.ways += other.ways;
        way.node = self.node(vec![way.node, other.node], None, way.ways.clone());
    }

    /// Every way with its parts, in a walk that lists them.
    pub(super) fn paths(&self, ways: Ways) -> Vec<Path> {
        let path = |way: &Way| Path {
            decisions: self.decisions(way),
            parts: self.named(way),
            ways: u64::try_from(&way.ways).unwrap_or(u64::MAX),
        };
        let mut paths: Vec<Path> = ways.iter().map(path).collect();
        paths.sort_by(|a, b| a.parts.cmp(&b.parts));
        paths
    }

    /// What can be said of all ways.
    pub(super) fn overview(&self, ways: Ways, follows_validity: bool) -> Option<Overview> {
        let longest = ways.iter().max_by_key(|way| way.length())?;
        let longest =
            Path { decisions: self.decisions(longest), parts: self.named(longest), ways: 1 };
        Some(Overview {
            ways: ways.iter().map(|way| &way.ways).sum(),
            longest,
            passes: self.passes(&ways),
            follows_validity,
            steps: *self.steps.borrow(),
        })
    }

    /// How many ways pass each decision: those that come to it, times those that go on from it.
    fn passes(&self, ends: &Ways) -> Vec<Passes> {
        let nodes = self.nodes.borrow();
        let texts = &self.decisions.borrow().texts;
        let mut onward = vec![BigUint::ZERO; nodes.len()];
        for end in ends {
            onward[end.node] += 1_u32;
        }
        let mut passes = vec![BigUint::ZERO; texts.len()];
        // A node stands behind all that are before it.
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

    fn named(&self, way: &Way) -> Parts {
        let texts = &self.parts.borrow().texts;
        let named = texts.iter().zip(&way.parts).filter(|(_, count)| **count > 0);
        named.map(|(text, count)| (text.clone(), *count)).collect()
    }
}

impl Way {
    /// How many parts it has.
    fn length(&self) -> u64 {
        self.parts.iter().map(|count| u64::from(*count)).sum()
    }
}

/// Ways on which statements run, and those that are done.
pub(super) fn split(ways: Ways) -> (Ways, Ways) {
    ways.into_iter().partition(|way| way.state.ended == Ended::No)
}
