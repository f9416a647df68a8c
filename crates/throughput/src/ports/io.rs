//! The kinds of ports, and why there are none of a kind.

use packetio::OpenError;
use packetio::namespace::NamespaceError;
use packetio::pcap;
use std::io;

/// Where packets come from and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Io {
    /// Slots in memory, as a card leaves them: see [`crate::run`].
    #[default]
    Memory,
    /// Packet sockets on a pair of virtual interfaces, in a network namespace that is made for the run.
    Veth,
    /// XDP sockets on such a pair.
    Xdp,
    /// Capture files: the packets are in one, and what leaves goes to another.
    Pcap,
    /// DPDK's devices in shared memory.
    Dpdk,
}

impl Io {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Veth, Self::Xdp, Self::Pcap, Self::Dpdk];

    /// As flags and results call it.
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

/// Why there are no such ports.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// There is no place for interfaces.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A port cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] pcap::CaptureError),
    /// A file cannot be made.
    #[error("a capture in the directory for temporary files: {0}")]
    File(#[from] io::Error),
    /// It is not there.
    #[error("{0}")]
    Missing(&'static str),
}
