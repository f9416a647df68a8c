//! Directed graphs with labels.

/// A graph of one parser or control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Name of what it shows.
    pub name: String,
    /// In order of appearance.
    pub nodes: Vec<Node>,
    /// In order of appearance.
    pub edges: Vec<Edge>,
}

/// A position in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// Something that a packet comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// One line or several.
    pub label: String,
    /// What it is.
    pub shape: Shape,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Where it starts or ends.
    Terminal,
    /// A state of a parser.
    State,
    /// Statements.
    Statements,
    /// A decision.
    Decision,
    /// A table.
    Table,
    /// A parser or control with a graph of its own.
    Call,
}

/// A way from one node to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// When it is taken; empty for always.
    pub label: String,
}

impl Graph {
    /// Adds a node.
    pub fn node(&mut self, shape: Shape, label: impl Into<String>) -> NodeId {
        self.nodes.push(Node { label: label.into(), shape });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: NodeId, to: NodeId, label: impl Into<String>) {
        self.edges.push(Edge { from, to, label: label.into() });
    }
}
