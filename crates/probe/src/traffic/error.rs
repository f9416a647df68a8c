//! What is wrong with a configuration of hosts and frames.

use std::path::PathBuf;

use packetio::pcap::CaptureError;
use thiserror::Error;

use super::hosts::MAX_HOSTS;
use super::id::PacketId;

/// Why hosts cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostsError {
    /// There are more hosts than addresses in 10.0.0.0/8.
    #[error(
        "{switches} switches with {hosts} hosts each are more than {MAX_HOSTS} hosts, the addresses \
         of 10.0.0.0/8; lower switches.hosts"
    )]
    TooMany {
        /// Number of switches.
        switches: u32,
        /// Hosts per switch.
        hosts: u32,
    },
    /// All ports of a switch carry links.
    #[error(
        "switch {switch} has no port left for hosts: all its {ports} ports carry links; raise \
         switches.ports"
    )]
    NoFreePort {
        /// Index of the switch, from 0.
        switch: u32,
        /// Number of its ports.
        ports: u16,
    },
}

/// Why frames cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length asked for cannot hold the headers and the identity.
    #[error(
        "a {kind} frame of {bytes} bytes is impossible; traffic.frame-bytes must be from {min} to \
         {max} (FCS excluded)"
    )]
    Length {
        /// Kind of frame.
        kind: &'static str,
        /// Length asked for.
        bytes: usize,
        /// Shortest length possible.
        min: usize,
        /// Longest length possible.
        max: usize,
    },
    /// Nobody can be addressed.
    #[error(
        "traffic between emulated hosts needs at least two of them; raise switches.hosts or \
         switches.count, or draw all addresses serially or at random"
    )]
    TooFewHosts,
    /// There are more switches than an identity can tell apart.
    #[error("{0} switches; frames can tell {max} apart", max = PacketId::MAX_SWITCHES)]
    TooManySwitches(u32),
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A capture holds no frames.
    #[error("{}: the capture has no frames to replay", path.display())]
    NoFrames {
        /// The file.
        path: PathBuf,
    },
    /// A frame of a capture is no Ethernet frame.
    #[error(
        "{}, frame {number}: link-layer type {link_type} is not Ethernet (1)", path.display()
    )]
    NotEthernet {
        /// The file.
        path: PathBuf,
        /// Number of the frame, from 1.
        number: usize,
        /// Its link-layer header type.
        link_type: u16,
    },
    /// A frame of a capture is too short or too long to be sent.
    #[error(
        "{}, frame {number}: {bytes} bytes, but a frame has from {min} to {max}; captures with \
         longer ones are usually made with segmentation offload on", path.display()
    )]
    ReplayedLength {
        /// The file.
        path: PathBuf,
        /// Number of the frame, from 1.
        number: usize,
        /// Its length.
        bytes: usize,
        /// Shortest length possible.
        min: usize,
        /// Longest length possible.
        max: usize,
    },
    /// A capture is too large to be held in memory.
    #[error("{}: more than {max} bytes of frames; cut the capture", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Most bytes held.
        max: usize,
    },
}
