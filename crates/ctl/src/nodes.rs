//! The nodes of multicast groups, which simple_switch_CLI has but P4Runtime does not.
//!
//! In BMv2, a group is a set of nodes, and a node is a replication id with ports and link
//! aggregation groups. In P4Runtime, a group is a list of replicas (copies of the packet, each with
//! an egress port). A session remembers the nodes and writes the replicas. A link aggregation group
//! has one replica, to its first port. Its other ports are backups of that port (P4Runtime 1.5), so
//! that the copy leaves through the first port that is up.

use crate::error::CommandError;
use entities::value::encode;
use p4runtime::proto::v1::{BackupReplica, Replica, replica::PortKind};
use std::collections::BTreeMap;

/// A node of a multicast group: replicas to several ports with the same instance number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) instance: u32,
    pub(crate) ports: Vec<u32>,
    /// The numbers of link aggregation groups, each of which gets one replica.
    pub(crate) lags: Vec<u32>,
    /// The group to which the node belongs, if any.
    pub(crate) group: Option<u32>,
}

/// The multicast nodes and the link aggregation groups that a session has created.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// The nodes by their numbers, which count from 0. Destroyed nodes are `None`.
    nodes: Vec<Option<Node>>,
    /// The ports of each link aggregation group.
    lags: BTreeMap<u32, Vec<u32>>,
}

impl Nodes {
    /// Adds a node and returns its number.
    pub(crate) fn add(&mut self, node: Node) -> usize {
        self.nodes.push(Some(node));
        self.nodes.len() - 1
    }

    /// Returns the node with a number.
    pub(crate) fn get(&mut self, number: usize) -> Result<&mut Node, CommandError> {
        let node = self.nodes.get_mut(number).and_then(Option::as_mut);
        node.ok_or_else(|| {
            CommandError::Missing(format!(
                "there is no node {number}: nodes are those of `mc_node_create` in the same file or shell"
            ))
        })
    }

    /// Removes a node.
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(node) = self.nodes.get_mut(number) {
            *node = None;
        }
    }

    /// Returns the nodes that belong to a group, with their numbers.
    pub(crate) fn of(&self, group: u32) -> impl Iterator<Item = (usize, &Node)> {
        let known =
            self.nodes.iter().enumerate().filter_map(|(at, node)| Some((at, node.as_ref()?)));
        known.filter(move |(_, node)| node.group == Some(group))
    }

    /// Removes all nodes from a group, which makes them available to other groups.
    pub(crate) fn dissociate(&mut self, group: u32) {
        for node in self.nodes.iter_mut().flatten().filter(|node| node.group == Some(group)) {
            node.group = None;
        }
    }

    /// Returns the nodes that belong to some multicast group and use a link aggregation group.
    pub(crate) fn with_lag(&self, lag: u32) -> Vec<Node> {
        let known = self.nodes.iter().flatten();
        known.filter(|node| node.group.is_some() && node.lags.contains(&lag)).cloned().collect()
    }

    /// Sets the ports of a link aggregation group.
    pub(crate) fn set_lag(&mut self, lag: u32, ports: Vec<u32>) {
        self.lags.insert(lag, ports);
    }

    /// Returns the replicas of a node. A link aggregation group without ports has none.
    pub(crate) fn replicas(&self, node: &Node) -> Vec<Replica> {
        let of_lag = |lag: &u32| {
            let (first, others) = self.lags.get(lag)?.split_first()?;
            let backup = |port: &u32| BackupReplica {
                port: encode((*port).into()),
                instance: node.instance,
            };
            let backup_replicas = others.iter().map(backup).collect();
            Some(Replica { backup_replicas, ..replica(*first, node.instance) })
        };
        let ports = node.ports.iter().map(|port| replica(*port, node.instance));
        ports.chain(node.lags.iter().filter_map(of_lag)).collect()
    }
}

/// Returns a replica to a port. The port is in the form that servers of all versions of P4Runtime
/// accept.
pub(crate) fn replica(port: u32, instance: u32) -> Replica {
    Replica { instance, port_kind: Some(PortKind::EgressPort(port)), ..Replica::default() }
}
