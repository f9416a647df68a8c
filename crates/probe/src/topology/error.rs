//! Why a topology could not be built.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::SwitchIndex;

/// Why a topology could not be built.
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
        /// The switch.
        switch: SwitchIndex,
        /// Ports that its links need.
        needed: usize,
        /// Ports that it has.
        ports: u16,
    },
    /// A tree in which no switch may have a child.
    #[error("a tree needs a fanout of at least 1")]
    NoFanout,
    /// A leaf-spine without spines, or without leaves.
    #[error(
        "a leaf-spine of {spines} spines needs at least 1 spine and {} switches, not {switches}",
        u64::from(*spines) + 1
    )]
    NoLeaves {
        /// Spines asked for.
        spines: u32,
        /// Switches in all.
        switches: u32,
    },
    /// A file could not be read.
    #[error("cannot read topology file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A line of a file makes no sense.
    #[error("{}:{line}: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A GraphML file names fewer nodes than there are switches.
    #[error(
        "{} has {nodes} nodes, too few for {switches} switches; lower switches.count",
        path.display()
    )]
    TooFewNodes {
        /// The file.
        path: PathBuf,
        /// Nodes in the file.
        nodes: usize,
        /// Switches of the run.
        switches: u32,
    },
}
