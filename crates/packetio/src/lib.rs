//! Where packets come from and go: ports of a switch, and capture files.
//!
//! A port has as many [`Queue`]s as there are workers, and each worker owns one of each port: what
//! it receives there are whole flows, and what it transmits there meets nobody else's. A queue
//! never waits and knows no time; the worker's loop does both. Packets are copied into the
//! worker's own buffers ([`Burst`]), where headers may grow in front, and what a kernel or a card
//! left undone (checksums, segments, stripped VLAN tags) is done by then: a program sees frames as
//! they are on a wire. A worker whose program reads no payload may have the heads of TCP segments
//! alone ([`Burst::take_heads`]), and send the segments on in one piece ([`offload::SuperFrame`]).
//!
//! Two ports in memory, joined by a line; [`open()`] gives those of interfaces, which are used in the same way:
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

/// A port, opened for a number of workers.
#[derive(Debug)]
pub struct Port {
    /// What it is called where it comes from, as `veth0`.
    pub name: String,
    /// One for each worker, in their order.
    pub queues: Vec<Box<dyn Queue>>,
    /// What passed all of its queues.
    pub counters: Arc<PortCounters>,
    /// The captures that are written of it, if any.
    pub recording: Option<Recording>,
}

/// One worker's end of a port.
pub trait Queue: Debug + Send {
    /// Takes packets that wait into `burst`, as many as it has room for, and returns their number. Does
    /// not wait.
    ///
    /// # Errors
    /// If the port is gone or down; what is in the burst is whole.
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown>;

    /// Takes a copy of a packet that is to leave. It may leave at once or at the next
    /// [`Self::flush`]; what could not be taken is counted.
    fn transmit(&mut self, packet: &[u8]) -> Transmitted;

    /// The same for several packets, in order; returns how many were taken.
    fn transmit_all(&mut self, packets: &[&[u8]]) -> usize {
        packets.iter().filter(|packet| self.transmit(packet) == Transmitted::Taken).count()
    }

    /// Takes a copy of a super-frame that is to leave in one piece, as [`Self::transmit`] takes a
    /// packet. Returns false, with nothing done, if the frame must be cut for this port, or if the
    /// queue is full.
    fn transmit_whole(&mut self, _frame: &Whole<'_>) -> bool {
        false
    }

    /// Lets everything leave that was taken; false if some of it has to wait, since the queue is
    /// full. Then this is to be called again.
    fn flush(&mut self) -> bool;

    /// What to poll for input, if packets announce themselves.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Packets that were taken and have not left the machine, where its system has a queue for the port; `None` where it
    /// has none, or it cannot be known. Costs a system call.
    fn waiting(&mut self) -> Option<u32> {
        None
    }

    /// Tries to get back a port that is gone or down; true if it is there. Costs system calls: to
    /// be called from time to time.
    fn reopen(&mut self) -> bool;
}

/// What became of a packet that was to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmitted {
    /// It leaves.
    Taken,
    /// The queue is full.
    Full,
    /// It is longer than the port takes, or shorter than a header of its link.
    BadLength,
    /// The port is gone or down.
    Down,
}

/// The port is gone or down.
#[derive(Debug, thiserror::Error)]
#[error("port {port} is gone or down: {cause}{}", remedy(.port, .cause))]
pub struct PortDown {
    /// Its name.
    pub port: String,
    /// What the system says.
    pub cause: io::Error,
}

/// What to do about it: an interface is down until somebody brings it up.
fn remedy(port: &str, cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NetworkDown => format!("; `ip link set {port} up` brings it up"),
        _ => String::new(),
    }
}
