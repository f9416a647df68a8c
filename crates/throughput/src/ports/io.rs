//! The kinds of ports, and the errors of opening them.

use packetio::OpenError;
use packetio::namespace::NamespaceError;
use packetio::pcap;
use std::io;

/// The kind of ports between which packets travel in a measurement, or memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Io {
    /// No ports: the packets lie in buffers in memory, where a network card would write them (see
    /// [`crate::run`]).
    #[default]
    Memory,
    /// Packet sockets on a veth pair, in a network namespace that is created for the run.
    Veth,
    /// XDP sockets on a veth pair, in a network namespace that is created for the run.
    Xdp,
    /// Capture files: one contains the input packets, another receives the outputs.
    Pcap,
    /// DPDK devices that are connected by shared memory.
    Dpdk,
}

impl Io {
    /// All kinds of ports.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Veth, Self::Xdp, Self::Pcap, Self::Dpdk];

    /// Returns the name of this kind of ports, as command-line flags and results spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Veth => "veth",
            Self::Xdp => "xdp",
            Self::Pcap => "pcap",
            Self::Dpdk => "dpdk",
        }
    }
}

/// The reason why ports cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The network namespace cannot be set up.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A port (a network interface or a DPDK device) cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A capture file cannot be read.
    #[error(transparent)]
    Capture(#[from] pcap::CaptureError),
    /// A temporary file cannot be created or written.
    #[error("a capture in the directory for temporary files: {0}")]
    File(#[from] io::Error),
    /// A device or another requirement is missing.
    #[error("{0}")]
    Missing(&'static str),
}
