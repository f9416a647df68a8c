//! Directed graphs with labels, which `flow` builds and `dot` and `svg` draw.

/// A graph of one parser or control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The name of the parser or control.
    pub name: String,
    /// The nodes, in order of creation.
    pub nodes: Vec<Node>,
    /// The edges, in order of creation.
    pub edges: Vec<Edge>,
}

/// The id of a node: its position in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// A node of a [`Graph`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The label, in one or more lines.
    pub label: String,
    /// The kind of node, which determines its shape.
    pub shape: Shape,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The start or an end of the graph.
    Terminal,
    /// A state of a parser.
    State,
    /// A sequence of statements without branches.
    Statements,
    /// A condition or a `switch`.
    Decision,
    /// The application of a table.
    Table,
    /// The application of a parser or control that has its own graph.
    Call,
}

/// An edge between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The source node.
    pub from: NodeId,
    /// The target node.
    pub to: NodeId,
    /// The condition under which the edge is taken. It is empty for an unconditional edge.
    pub label: String,
}

impl Graph {
    /// Adds a node and returns its id.
    pub fn node(&mut self, shape: Shape, label: impl Into<String>) -> NodeId {
        self.nodes.push(Node { label: label.into(), shape });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds an edge from the node `from` to the node `to`.
    pub fn edge(&mut self, from: NodeId, to: NodeId, label: impl Into<String>) {
        self.edges.push(Edge { from, to, label: label.into() });
    }
}
