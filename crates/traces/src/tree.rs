//! The tree of a packet, with the numbers of the program's parts instead of their names.

use crate::recorder::{Alternative, Item, Run};
use ir::TableId;
use pipeline::Event;
use std::collections::VecDeque;

/// The maximum number of nodes between the first one and a leaf. Readers of protocol buffers accept
/// messages that nest up to 100 times, and a node in another one nests three times.
pub(crate) const DEPTH: usize = 30;

/// Items in order, and what comes after the last one.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) items: Vec<Item>,
    pub(crate) next: Next,
}

/// The continuation after the items of a node.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing: the packet failed before it was processed further.
    Nothing,
    Output {
        port: u32,
        packet: Vec<u8>,
    },
    Drop(&'static str),
    Wait {
        port: u32,
        queue: u64,
        length: u64,
    },
    Fault(String),
    Cut(String),
    All(Vec<(&'static str, Node)>),
    One(One),
}

/// A choice of a member of a group.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) table: TableId,
    pub(crate) group: Option<u32>,
    pub(crate) alternatives: Vec<(Alternative, Node)>,
}

/// The way in which a pass ends. A pass may end in several ways at once.
pub(crate) enum End {
    Further { number: u32, path: &'static str },
    Leaf(Next),
}

/// The items of a pass up to its end or to a choice.
pub(crate) enum Stretch {
    Ends(Vec<End>),
    Choice(crate::recorder::Choice),
}

/// Moves items of a pass to `items`, up to the end of the pass or to a choice.
pub(crate) fn stretch(from: &mut VecDeque<Item>, items: &mut Vec<Item>) -> Stretch {
    let mut ends = Vec::new();
    while let Some(item) = from.pop_front() {
        match item {
            Item::Choice(choice) => return Stretch::Choice(choice),
            Item::Fault(text) => ends.push(End::Leaf(Next::Fault(text))),
            Item::Event(Event::Further { number, path }) => {
                ends.push(End::Further { number, path })
            }
            Item::Event(Event::Output { port, packet }) => {
                ends.push(End::Leaf(Next::Output { port, packet }));
            }
            Item::Event(Event::Drop { reason }) => ends.push(End::Leaf(Next::Drop(reason))),
            Item::Event(Event::Wait { port, queue, length }) => {
                ends.push(End::Leaf(Next::Wait { port, queue, length }));
            }
            item @ (Item::Event(_) | Item::Branch { .. } | Item::Selected { .. }) => {
                items.push(item);
            }
        }
    }
    Stretch::Ends(ends)
}

/// Returns the node of what a pass with several ends does. `further` makes the nodes of the passes
/// that it causes.
pub(crate) fn all(
    ends: Vec<End>,
    further: &mut dyn FnMut(u32) -> Node,
) -> Vec<(&'static str, Node)> {
    let copies = ends.into_iter().map(|end| match end {
        End::Further { number, path } => (path, further(number)),
        End::Leaf(next) => ("normal", Node { items: Vec::new(), next }),
    });
    copies.collect()
}

/// Returns the limit that ends a tree which is too deep.
pub(crate) fn too_deep() -> Next {
    Next::Cut(format!("{DEPTH} copies or choices in a row"))
}

/// Returns the tree of a run in which choices were not recorded.
pub(crate) fn of_run(run: &mut Run) -> Node {
    of_pass(run, 0, 0)
}

fn of_pass(run: &mut Run, number: u32, depth: usize) -> Node {
    let mut items = Vec::new();
    let mut rest = run.take(number);
    loop {
        let ends = match stretch(&mut rest, &mut items) {
            Stretch::Ends(ends) => ends,
            // The recorder of such a run makes no choices.
            Stretch::Choice(_) => continue,
        };
        let next = match only(ends) {
            Ok(End::Further { number, .. }) => {
                rest = run.take(number);
                continue;
            }
            Ok(End::Leaf(next)) => next,
            Err(ends) if ends.is_empty() => Next::Nothing,
            Err(_) if depth >= DEPTH => too_deep(),
            Err(ends) => Next::All(all(ends, &mut |number| of_pass(run, number, depth + 1))),
        };
        return Node { items, next };
    }
}

/// Returns the only end of a pass, or all ends if there is not exactly one.
pub(crate) fn only(mut ends: Vec<End>) -> Result<End, Vec<End>> {
    match ends.pop() {
        Some(end) if ends.is_empty() => Ok(end),
        Some(end) => {
            ends.push(end);
            Err(ends)
        }
        None => Err(ends),
    }
}
