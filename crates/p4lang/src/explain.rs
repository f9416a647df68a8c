//! Descriptions of a program for people: a tree of its objects, and graphs of its control flow.
//! `planimeter compile` prints them.

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

/// Formats the headers, parsers, tables, actions and extern instances of a program as an indented
/// tree.
#[must_use]
pub fn tree(program: &Program) -> String {
    tree::tree(program)
}

/// Returns one graph for each parser, with its states, and one for each control, with its control
/// flow, in the order of the program. Controls with an empty body are omitted.
#[must_use]
pub fn graphs(program: &Program) -> Vec<Graph> {
    flow::graphs(program)
}

/// Formats the graphs in the DOT language of Graphviz, each as one cluster.
#[must_use]
pub fn dot(graphs: &[Graph]) -> String {
    dot::dot(graphs)
}

/// Formats the graphs as one SVG drawing, one below the other.
#[must_use]
pub fn svg(graphs: &[Graph]) -> String {
    svg::svg(graphs)
}
