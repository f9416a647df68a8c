//! The nodes of multicast groups, which simple_switch_CLI has and P4Runtime has not.
//!
//! In BMv2, a group is a set of nodes, and a node is a replication id with ports. In P4Runtime, a
//! group is a list of replicas. A session keeps the nodes and writes the replicas.

use crate::error::CommandError;
use p4runtime::proto::v1::{Replica, replica::PortKind};

/// A node: copies to several ports with the same instance number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) instance: u32,
    pub(crate) ports: Vec<u32>,
    /// The group to which the node belongs, if any.
    pub(crate) group: Option<u32>,
}

/// The nodes of a session by their numbers, which count from 0. Destroyed nodes are `None`.
#[derive(Debug, Default)]
pub(crate) struct Nodes(Vec<Option<Node>>);

impl Nodes {
    /// Adds a node and returns its number.
    pub(crate) fn add(&mut self, node: Node) -> usize {
        self.0.push(Some(node));
        self.0.len() - 1
    }

    /// Returns the node with a number.
    pub(crate) fn get(&mut self, number: usize) -> Result<&mut Node, CommandError> {
        let node = self.0.get_mut(number).and_then(Option::as_mut);
        node.ok_or_else(|| {
            CommandError::Missing(format!(
                "there is no node {number}: nodes are those of `mc_node_create` in the same file or shell"
            ))
        })
    }

    /// Removes a node.
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(node) = self.0.get_mut(number) {
            *node = None;
        }
    }

    /// Returns the nodes of a group, with their numbers.
    pub(crate) fn of(&self, group: u32) -> impl Iterator<Item = (usize, &Node)> {
        let known = self.0.iter().enumerate().filter_map(|(at, node)| Some((at, node.as_ref()?)));
        known.filter(move |(_, node)| node.group == Some(group))
    }

    /// Removes the nodes of a group from it.
    pub(crate) fn dissociate(&mut self, group: u32) {
        for node in self.0.iter_mut().flatten().filter(|node| node.group == Some(group)) {
            node.group = None;
        }
    }
}

impl Node {
    /// Returns the copies of the node.
    pub(crate) fn replicas(&self) -> impl Iterator<Item = Replica> + '_ {
        self.ports.iter().map(|port| replica(*port, self.instance))
    }
}

/// Returns a copy to a port. Servers of all versions of P4Runtime read this form of a port.
pub(crate) fn replica(port: u32, instance: u32) -> Replica {
    Replica { instance, port_kind: Some(PortKind::EgressPort(port)), ..Replica::default() }
}
