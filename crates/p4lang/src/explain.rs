//! A program for people to look at: a tree of what it consists of, and graphs of how packets go
//! through it.

mod dot;
mod flow;
mod graph;
mod layout;
mod svg;
#[cfg(test)]
mod tests;
mod tree;

pub use graph::{Edge, Graph, Node, NodeId, Shape};

use ir::Program;

/// Headers, parsers, tables, actions and extern instances as an indented tree.
#[must_use]
pub fn tree(program: &Program) -> String {
    tree::tree(program)
}

/// The graph of each parser and the control flow of each control, in the order of the program.
/// Controls without a statement are left out.
#[must_use]
pub fn graphs(program: &Program) -> Vec<Graph> {
    flow::graphs(program)
}

/// Graphs in the language of Graphviz, one cluster for each.
#[must_use]
pub fn dot(graphs: &[Graph]) -> String {
    dot::dot(graphs)
}

/// Graphs as one SVG drawing, one below the other.
#[must_use]
pub fn svg(graphs: &[Graph]) -> String {
    svg::svg(graphs)
}
