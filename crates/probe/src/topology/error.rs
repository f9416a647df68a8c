//! Errors of building a topology.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::SwitchIndex;

/// The reason why the topology between the emulated switches could not be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A switch has more links than ports.
    #[error(
        "switch {} (counted from 1) needs {needed} ports for its links but has {ports}; raise \
         switches.ports",
        u64::from(switch.0) + 1
    )]
    TooFewPorts {
        /// The index of the switch.
        switch: SwitchIndex,
        /// The number of ports that the links of the switch need.
        needed: usize,
        /// The number of ports of the switch.
        ports: u16,
    },
    /// The topology is a tree whose switches would have no children, since its fanout is 0.
    #[error("a tree needs a fanout of at least 1")]
    NoFanout,
    /// The topology is a leaf-spine network without spines or without leaves.
    #[error(
        "a leaf-spine of {spines} spines needs at least 1 spine and {} switches, not {switches}",
        u64::from(*spines) + 1
    )]
    NoLeaves {
        /// The configured number of spines.
        spines: u32,
        /// The total number of switches.
        switches: u32,
    },
    /// A file could not be read.
    #[error("cannot read topology file {}: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of a file is invalid.
    #[error("{}:{line}: {reason}", path.display())]
    Syntax {
        /// The path of the file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The description of the fault and of what was expected.
        reason: String,
    },
    /// A GraphML file defines fewer nodes than the run has switches.
    #[error(
        "{} has {nodes} nodes, too few for {switches} switches",
        path.display()
    )]
    TooFewNodes {
        /// The path of the file.
        path: PathBuf,
        /// The number of nodes in the file.
        nodes: usize,
        /// The number of switches of the run.
        switches: u32,
    },
}
