//! The tree of what happened to a packet. It refers to the program's objects by numbers instead of
//! names.

use crate::recorder::{Alternative, Item, Run};
use ir::TableId;
use pipeline::Event;
use std::collections::VecDeque;

/// The largest depth of the tree. Protocol Buffers decoders accept messages up to a nesting depth
/// of 100, and each level of the tree takes three levels of messages.
pub(crate) const DEPTH: usize = 30;

/// A node of the tree: items in order, and what follows the last item.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) items: Vec<Item>,
    pub(crate) next: Next,
}

/// The continuation after the items of a node.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing, because the packet failed before it was processed further.
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

/// A choice of one member of a group, with the node that follows each alternative.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) table: TableId,
    pub(crate) group: Option<u32>,
    pub(crate) alternatives: Vec<(Alternative, Node)>,
}

/// A way in which a pass ends, such as an output packet or another pass. A pass may end in several
/// ways at once, for example when it clones the packet.
pub(crate) enum End {
    Further { number: u32, path: &'static str },
    Leaf(Next),
}

/// The end of a sequence of items: the ends of the pass, or a choice.
pub(crate) enum Stretch {
    Ends(Vec<End>),
    Choice(crate::recorder::Choice),
}

/// Moves the items of a pass up to the next choice, or to the end of the pass, from `from` to
/// `items`.
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

/// Returns one node for each end of a pass. `further` returns the node of a further pass that this
/// pass causes.
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

/// Returns the remark with which a tree is cut off because it is too deep.
pub(crate) fn too_deep() -> Next {
    Next::Cut(format!("{DEPTH} copies or choices in a row"))
}

/// Returns the tree of a run for which no choices were recorded.
pub(crate) fn of_run(run: &mut Run) -> Node {
    of_pass(run, 0, 0)
}

fn of_pass(run: &mut Run, number: u32, depth: usize) -> Node {
    let mut items = Vec::new();
    let mut rest = run.take(number);
    loop {
        let ends = match stretch(&mut rest, &mut items) {
            Stretch::Ends(ends) => ends,
            // The recorder of such a run records no choices.
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

/// Returns the end of a pass that has exactly one. Otherwise returns all of its ends as the error.
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
