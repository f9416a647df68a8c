//! Errors in the configuration of hosts and frames.

use std::path::PathBuf;

use packetio::pcap::CaptureError;
use thiserror::Error;

use super::hosts::MAX_HOSTS;
use super::id::PacketId;

/// The reason why the emulated hosts cannot be attached to switches.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostsError {
    /// There are more hosts than addresses in 10.0.0.0/8.
    #[error(
        "{switches} switches with {hosts} hosts each are more than {MAX_HOSTS} hosts, the addresses \
         of 10.0.0.0/8; lower switches.hosts"
    )]
    TooMany {
        /// The number of switches.
        switches: u32,
        /// The number of hosts per switch.
        hosts: u32,
    },
    /// All ports of a switch carry links, so none is left for hosts.
    #[error(
        "switch {switch} has no port left for hosts: all its {ports} ports carry links; raise \
         switches.ports"
    )]
    NoFreePort {
        /// The index of the switch, from 0.
        switch: u32,
        /// The number of ports of the switch.
        ports: u16,
    },
}

/// The reason why frames cannot be generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The configured length cannot hold the headers and the packet id.
    #[error(
        "a {kind} frame of {bytes} bytes is impossible; traffic.frame-bytes must be from {min} to \
         {max} (FCS excluded)"
    )]
    Length {
        /// The kind of frame.
        kind: &'static str,
        /// The configured length in bytes.
        bytes: usize,
        /// The shortest possible length in bytes.
        min: usize,
        /// The longest possible length in bytes.
        max: usize,
    },
    /// There are fewer than two hosts, although packets are to be sent between hosts.
    #[error(
        "traffic between emulated hosts needs at least two of them; raise switches.hosts or \
         switches.count, or draw all addresses serially or at random"
    )]
    TooFewHosts,
    /// There are more switches than a packet id can distinguish.
    #[error("{0} switches; frames can tell {max} apart", max = PacketId::MAX_SWITCHES)]
    TooManySwitches(u32),
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A capture contains no frames.
    #[error("{}: the capture has no frames to replay", path.display())]
    NoFrames {
        /// The path of the file.
        path: PathBuf,
    },
    /// A frame of a capture is not an Ethernet frame.
    #[error(
        "{}, frame {number}: link-layer type {link_type} is not Ethernet (1)", path.display()
    )]
    NotEthernet {
        /// The path of the file.
        path: PathBuf,
        /// The number of the frame, from 1.
        number: usize,
        /// The link-layer header type of the frame.
        link_type: u16,
    },
    /// A frame of a capture is too short or too long to be sent.
    #[error(
        "{}, frame {number}: {bytes} bytes, but a frame has from {min} to {max}; captures with \
         longer ones are usually made with segmentation offload on", path.display()
    )]
    ReplayedLength {
        /// The path of the file.
        path: PathBuf,
        /// The number of the frame, from 1.
        number: usize,
        /// The length of the frame in bytes.
        bytes: usize,
        /// The shortest possible length in bytes.
        min: usize,
        /// The longest possible length in bytes.
        max: usize,
    },
    /// A capture is too large to be held in memory.
    #[error("{}: more than {max} bytes of frames; cut the capture", path.display())]
    TooLarge {
        /// The path of the file.
        path: PathBuf,
        /// The maximum number of bytes of frames that are held in memory.
        max: usize,
    },
}
