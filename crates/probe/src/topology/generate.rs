//! Generates topologies by a rule: chains, trees and leaf-spine networks.

use super::{Topology, TopologyError};

/// Builds a chain: switch i is linked to switch i + 1.
pub(super) fn linear(switch_count: u32, ports: u16) -> Result<Topology, TopologyError> {
    let edges = (1..switch_count).map(|right| (right - 1, right));
    Topology::wired(edges, switch_count, ports)
}

/// Builds a tree that is filled level by level. Port 1 of every switch except the root leads to its
/// parent.
pub(super) fn tree(fanout: u32, switch_count: u32, ports: u16) -> Result<Topology, TopologyError> {
    if fanout == 0 {
        return Err(TopologyError::NoFanout);
    }
    let edges = (1..switch_count).map(move |child| ((child - 1) / fanout, child));
    Topology::wired(edges, switch_count, ports)
}

/// Builds a leaf-spine network, in which every leaf is linked to every spine. Port s of a leaf
/// leads to the spine with index s - 1, and port l of a spine leads to the l-th leaf.
pub(super) fn leaf_spine(
    spines: u32,
    switch_count: u32,
    ports: u16,
) -> Result<Topology, TopologyError> {
    if spines == 0 || switch_count <= spines {
        return Err(TopologyError::NoLeaves { spines, switches: switch_count });
    }
    // The number of links is a product, so it is checked before the links are traversed.
    let leaves = switch_count - spines;
    for (switch, needed) in [(0, leaves), (spines, spines)] {
        if needed > u32::from(ports) {
            return Err(TopologyError::TooFewPorts {
                switch: super::SwitchIndex(switch),
                needed: needed as usize,
                ports,
            });
        }
    }
    let edges =
        (spines..switch_count).flat_map(move |leaf| (0..spines).map(move |spine| (spine, leaf)));
    Topology::wired(edges, switch_count, ports)
}
