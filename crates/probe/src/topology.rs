//! The links between emulated switches.
//!
//! A [`Topology`] is built once per trial and only queried afterwards. A discovery frame (LLDP)
//! that the controller sends out of a port arrives at the port that [`Topology::peer`] returns.
//! Links have no direction, no delay and no loss, so that only the controller is measured. Every
//! port carries at most one link; `peer` is therefore its own inverse.
//!
//! Generated topologies assign ports from 1 upwards in the order of their links, so that the ports
//! left for hosts are always the highest ones.

mod error;
mod generate;
mod graphml;
mod links;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub use error::TopologyError;
pub use graphml::survey as survey_graphml;
pub use links::survey as survey_links;

/// The way in which the links between the emulated switches are specified.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum TopologySource {
    /// The switches have no links to each other.
    #[default]
    None,
    /// A chain, in which each switch is linked to the next one.
    Linear,
    /// A tree in which every switch has `fanout` children.
    Tree {
        /// The number of children per switch.
        fanout: u32,
    },
    /// A leaf-spine network, in which every leaf is linked to every spine. The first `spines`
    /// switches are the spines.
    LeafSpine {
        /// The number of spines.
        spines: u32,
    },
    /// A topology read from a GraphML file, such as those of the Internet Topology Zoo.
    GraphMl(PathBuf),
    /// A topology read from a file with lines of the form `switch:port==switch:port`.
    Links(PathBuf),
}

/// Returns the highest port number that may carry a link at any switch. Ports above it are free for
/// hosts. Returns 0 for a file that cannot be read.
pub(crate) fn ports_for_links(source: &TopologySource, switch_count: u32) -> usize {
    let others = switch_count.saturating_sub(1) as usize;
    match source {
        TopologySource::None => 0,
        TopologySource::Linear => others.min(2),
        TopologySource::Tree { fanout } => others.min((*fanout as usize).saturating_add(1)),
        TopologySource::LeafSpine { spines } => {
            let leaves = switch_count.saturating_sub(*spines);
            leaves.max(*spines) as usize
        }
        TopologySource::GraphMl(path) => survey_graphml(path).map_or(0, |survey| survey.ports),
        TopologySource::Links(path) => {
            survey_links(path, switch_count.into()).map_or(0, |survey| survey.ports)
        }
    }
}

/// Returns the number of switches that a topology describes, but at most `most`. Only a topology in
/// a file limits the number; the generated ones have any size.
///
/// # Errors
///
/// Returns an error if the source is a file that cannot be read or parsed.
pub(crate) fn switches_described(source: &TopologySource, most: u32) -> Result<u32, TopologyError> {
    let nodes = match source {
        TopologySource::GraphMl(path) => survey_graphml(path)?.nodes,
        TopologySource::Links(path) => survey_links(path, most.into())?.nodes,
        TopologySource::None
        | TopologySource::Linear
        | TopologySource::Tree { .. }
        | TopologySource::LeafSpine { .. } => return Ok(most),
    };
    Ok(u32::try_from(nodes).unwrap_or(u32::MAX).min(most))
}

/// The index of an emulated switch in the run, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchIndex(pub u32);

/// A port of an emulated switch. Ports are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A link between ports of two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The end of the link with the smaller switch index (or port, if both ends are at one switch).
    pub a: (SwitchIndex, Port),
    /// The end of the link with the larger switch index (or port, if both ends are at one switch).
    pub b: (SwitchIndex, Port),
}

/// The size of the topology that a file describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The number of switches.
    pub nodes: usize,
    /// The number of links.
    pub links: usize,
    /// The largest number of links at any switch. Each link needs a port.
    pub ports: usize,
    /// The number of links that are ignored because one of their switches is not part of the run.
    /// They are not counted in `links`.
    pub left_out: usize,
}

/// The links between the switches of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The ports with links of each switch, in ascending order. Each has the port at the other end
    /// of its link.
    peers: Vec<Vec<(Port, (SwitchIndex, Port))>>,
    ports: u16,
    links: usize,
    notes: Vec<String>,
}

impl Topology {
    /// Builds the topology of `switch_count` switches of `ports` ports each.
    ///
    /// * A chain links switch i to switch i + 1.
    /// * A tree with fanout k links switch i > 0 to its parent (i - 1) / k.
    /// * A leaf-spine topology makes the first switches spines, and all others leaves.
    /// * A GraphML file must name at least `switch_count` nodes. The first ones, in the order of
    ///   the file, become the switches. Edges to other nodes are left out, and a note says how
    ///   many.
    /// * A links file counts switches from 1. Links of a switch beyond `switch_count` are left out,
    ///   and a note says how many.
    ///
    /// # Errors
    ///
    /// Returns an error if a switch would need more ports than it has, if there are too few
    /// switches or nodes, or if a file cannot be read or parsed (with the line).
    pub fn build(
        source: &TopologySource,
        switch_count: u32,
        ports: u16,
    ) -> Result<Self, TopologyError> {
        match source {
            TopologySource::None => Ok(Self::unwired(switch_count, ports)),
            TopologySource::Linear => generate::linear(switch_count, ports),
            TopologySource::Tree { fanout } => generate::tree(*fanout, switch_count, ports),
            TopologySource::LeafSpine { spines } => {
                generate::leaf_spine(*spines, switch_count, ports)
            }
            TopologySource::GraphMl(path) => graphml::build(path, switch_count, ports),
            TopologySource::Links(path) => links::build(path, switch_count, ports),
        }
    }

    /// Returns the switch and the port at the other end of the link, or `None` if `port` has no
    /// link.
    pub fn peer(&self, switch: SwitchIndex, port: Port) -> Option<(SwitchIndex, Port)> {
        let peers = self.peers_of(switch);
        let at = peers.binary_search_by_key(&port, |(own, _)| *own).ok()?;
        peers.get(at).map(|(_, far)| *far)
    }

    /// Returns the ports of a switch that carry a link, ascending.
    pub fn link_ports(&self, switch: SwitchIndex) -> impl ExactSizeIterator<Item = Port> + '_ {
        self.peers_of(switch).iter().map(|(own, _)| *own)
    }

    /// Returns the ports of a switch that carry no link, ascending. Its hosts are attached to
    /// these.
    pub fn free_ports(&self, switch: SwitchIndex) -> impl Iterator<Item = Port> + '_ {
        let mut linked = self.link_ports(switch).peekable();
        (1..=self.ports).map(Port).filter(move |port| linked.next_if(|next| next == port).is_none())
    }

    /// Returns every link once, in the order of its end `a`.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        (0u32..).zip(&self.peers).flat_map(|(index, peers)| {
            peers.iter().filter_map(move |(port, far)| {
                let a = (SwitchIndex(index), *port);
                (a < *far).then_some(Link { a, b: *far })
            })
        })
    }

    /// Returns the number of links.
    pub fn link_count(&self) -> usize {
        self.links
    }

    /// Returns the number of switches, with or without links.
    pub fn switch_count(&self) -> usize {
        self.peers.len()
    }

    /// Returns the number of switches that have a link.
    pub(crate) fn linked_switch_count(&self) -> u32 {
        let linked = self.peers.iter().filter(|peers| !peers.is_empty()).count();
        u32::try_from(linked).unwrap_or(u32::MAX)
    }

    /// Returns how many of the first switches may form a network of their own. The smallest such
    /// network contains one link, and the largest contains all links. Returns `None` if there is no
    /// link.
    pub(crate) fn linked_prefixes(&self) -> Option<RangeInclusive<u32>> {
        // The second end of a link has the larger index.
        let ends = || self.links().map(|link| link.b.0.0.saturating_add(1));
        Some(ends().min()?..=ends().max()?)
    }

    /// Returns the switches of the largest connected component of the topology, in ascending order.
    /// If several components are equally large, returns the one with the lowest switch index.
    pub(crate) fn largest_part(&self) -> Vec<u32> {
        let mut is_known = vec![false; self.peers.len()];
        let mut largest: Vec<u32> = Vec::new();
        for first in 0..self.peers.len() {
            let Some(unknown @ false) = is_known.get_mut(first) else { continue };
            *unknown = true;
            let mut part = vec![u32::try_from(first).unwrap_or(u32::MAX)];
            let mut next = 0;
            while let Some(switch) = part.get(next).copied() {
                next += 1;
                for (_, (SwitchIndex(far), _)) in self.peers_of(SwitchIndex(switch)) {
                    if let Some(unknown @ false) = is_known.get_mut(*far as usize) {
                        *unknown = true;
                        part.push(*far);
                    }
                }
            }
            if part.len() > largest.len() {
                largest = part;
            }
        }
        largest.sort_unstable();
        largest
    }

    /// Returns notes for a reader of the results, for example on links that were left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn peers_of(&self, switch: SwitchIndex) -> &[(Port, (SwitchIndex, Port))] {
        usize::try_from(switch.0)
            .ok()
            .and_then(|index| self.peers.get(index))
            .map_or(&[], Vec::as_slice)
    }

    fn unwired(switch_count: u32, ports: u16) -> Self {
        let count = usize::try_from(switch_count).unwrap_or(usize::MAX);
        Self { peers: vec![Vec::new(); count], ports, links: 0, notes: Vec::new() }
    }

    /// Builds a topology from pairs of switches: links each pair by the lowest free port of both
    /// switches, in the order of `edges`.
    ///
    /// The pairs are traversed twice, so that the error for a switch with too few ports contains
    /// the number of ports that it needs.
    fn wired(
        edges: impl Iterator<Item = (u32, u32)> + Clone,
        switch_count: u32,
        ports: u16,
    ) -> Result<Self, TopologyError> {
        let mut topology = Self::unwired(switch_count, ports);
        let mut degrees = vec![0usize; topology.peers.len()];
        for (a, b) in edges.clone() {
            for end in [a, b] {
                if let Some(degree) = degrees.get_mut(end as usize) {
                    *degree += 1;
                }
            }
        }
        let busiest = degrees.iter().enumerate().max_by(|x, y| x.1.cmp(y.1).then(y.0.cmp(&x.0)));
        if let Some((switch, needed)) = busiest.filter(|(_, needed)| **needed > usize::from(ports))
        {
            let switch = u32::try_from(switch).unwrap_or(u32::MAX);
            return Err(TopologyError::TooFewPorts {
                switch: SwitchIndex(switch),
                needed: *needed,
                ports,
            });
        }
        for (a, b) in edges {
            let end_a = (SwitchIndex(a), topology.next_port(a));
            let end_b = (SwitchIndex(b), topology.next_port(b));
            topology.connect(end_a, end_b);
        }
        Ok(topology)
    }

    /// Returns the port after the highest port with a link. The result is meaningful only while
    /// ports are assigned in order.
    fn next_port(&self, switch: u32) -> Port {
        let used = self.peers_of(SwitchIndex(switch)).len();
        Port(u16::try_from(used).map_or(u16::MAX, |used| used.saturating_add(1)))
    }

    /// Adds a link between two ports of two switches. The caller must check that both exist and are
    /// free.
    fn connect(&mut self, a: (SwitchIndex, Port), b: (SwitchIndex, Port)) {
        for (near, far) in [(a, b), (b, a)] {
            if let Some(peers) = self.peers.get_mut(near.0.0 as usize) {
                let at = peers.partition_point(|(port, _)| *port < near.1);
                peers.insert(at, (near.1, far));
            }
        }
        self.links += 1;
    }
}

impl fmt::Display for SwitchIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
