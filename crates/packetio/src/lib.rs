//! Ports of a switch on network interfaces, in memory and in capture files.
//!
//! A port has one [`Queue`] per worker, and each worker owns one queue of every port. The packets
//! of a flow arrive at one queue, and transmissions of different queues do not interfere. A queue
//! never waits for packets, and reads a clock only to timestamp the packets of a capture. Waiting
//! and reading the clock are left to the worker's loop. Received packets are copied into the
//! worker's own buffers ([`Burst`]). Work that a kernel or a card left undone (checksums,
//! segmentation, stripped VLAN tags) is completed on the way, so that a program sees frames as they
//! are on a wire. A worker whose program reads no payload may receive only the heads of TCP
//! segments ([`Burst::take_heads`]), and send the segments in one piece ([`offload::SuperFrame`]).
//!
//! The example connects two ports in memory by a line. The ports of interfaces, which [`open()`]
//! opens, are used in the same way:
//!
//! ```
//! use packetio::{Burst, Transmitted, memory};
//!
//! let [mut one, mut other] = memory::line("test", 64);
//! let frame = [0xff; 60];
//! assert_eq!(one.queues[0].transmit(&frame), Transmitted::Taken);
//! assert!(one.queues[0].flush());
//! let mut burst = Burst::new(32);
//! assert_eq!(other.queues[0].receive(&mut burst)?, 1);
//! assert_eq!(burst.frames()[0].bytes(), frame);
//! # Ok::<(), packetio::PortDown>(())
//! ```

pub mod af_packet;
mod burst;
mod counters;
pub mod cycles;
#[cfg(feature = "dpdk")]
pub mod dpdk;
pub mod interface;
pub mod interrupts;
mod link;
pub mod memory;
pub mod namespace;
pub mod offload;
mod open;
pub mod pcap;
mod sys;
pub mod tap;
pub mod timestamp;
pub mod xdp;

pub use burst::{BURST, Burst, Frame};
pub use counters::{Counters, PortCounters};
use offload::Whole;
pub use open::{OpenError, PortSpec, Source, SpecError, open};
pub use tap::Recording;

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A port of a switch, opened for a number of workers.
#[derive(Debug)]
pub struct Port {
    /// The name of the interface, device or file, such as `veth0`.
    pub name: String,
    /// The queues, one for each worker in order.
    pub queues: Vec<Box<dyn Queue>>,
    /// The counters of the port, to which all its queues add.
    pub counters: Arc<PortCounters>,
    /// The captures that record the packets of the port, if there are any.
    pub recording: Option<Recording>,
}

/// One worker's end of a port, through which it receives and transmits packets.
pub trait Queue: Debug + Send {
    /// Moves waiting packets into `burst`, until none is left or the burst is full, and returns
    /// their number. Does not wait.
    ///
    /// # Errors
    /// Returns [`PortDown`] if the port is gone or down. All packets in the burst are complete.
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown>;

    /// Copies a packet for transmission. The packet is sent immediately or at the next
    /// [`Self::flush`]. A refused packet is counted.
    fn transmit(&mut self, packet: &[u8]) -> Transmitted;

    /// Copies several packets for transmission, in order. Returns the number of packets that were
    /// accepted.
    fn transmit_all(&mut self, packets: &[&[u8]]) -> usize {
        packets.iter().filter(|packet| self.transmit(packet) == Transmitted::Taken).count()
    }

    /// Accepts a super-frame for transmission in one piece. Returns false, without any effect on
    /// the frame, if the frame must be segmented for this port, or if the queue is full.
    fn transmit_whole(&mut self, _frame: &Whole<'_>) -> bool {
        false
    }

    /// Sends all packets that were accepted for transmission. Returns false if some packets must
    /// wait because the system's queue is full. The caller must then flush again.
    fn flush(&mut self) -> bool;

    /// Returns a descriptor that becomes readable when packets arrive, if the port has one.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the number of packets that were accepted but have not left the machine yet. Returns
    /// `None` if the port has no queue in the system, or if the length of that queue is unknown.
    /// Makes a system call.
    fn waiting(&mut self) -> Option<u32> {
        None
    }

    /// Tries to reopen a port that is gone or down. Returns whether the port is up. Makes system
    /// calls, so it should be called only occasionally.
    fn reopen(&mut self) -> bool;
}

/// The outcome of transmitting a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmitted {
    /// The packet was accepted and will be sent.
    Taken,
    /// The queue is full, so the packet was dropped.
    Full,
    /// The packet is longer than the port accepts, or shorter than a link-layer header.
    BadLength,
    /// The port is gone or down.
    Down,
}

/// The error of a port that has been removed or is down.
#[derive(Debug, thiserror::Error)]
#[error("port {port} is gone or down: {cause}{}", remedy(.port, .cause))]
pub struct PortDown {
    /// The name of the port.
    pub port: String,
    /// The cause, as reported by the system.
    pub cause: io::Error,
}

/// Returns a hint that tells the user how to bring the port up.
fn remedy(port: &str, cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NetworkDown => format!("; `ip link set {port} up` brings it up"),
        _ => String::new(),
    }
}
