//! The state that each queue keeps of its port, independently of how packets are carried: name,
//! MTU, presence and counters.

use crate::interface::Interface;
use crate::{PortCounters, PortDown, Transmitted};
use std::io;
use std::sync::Arc;

/// The state that a queue keeps of its port: name, MTU, presence and counters.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    /// The error that showed that the port is gone or down, or `None` while it is up.
    pub(crate) down: Option<libc::c_int>,
    pub(crate) mtu: usize,
    pub(crate) counters: Arc<PortCounters>,
}

impl Link {
    /// Creates the state of a port on an interface.
    pub(crate) fn on(interface: &Interface, counters: &Arc<PortCounters>) -> Self {
        Self {
            name: interface.name.clone(),
            down: (!interface.up).then_some(libc::ENETDOWN),
            mtu: interface.mtu as usize,
            counters: Arc::clone(counters),
        }
    }

    /// Counts received packets and returns their number. Returns an error if there are none and the
    /// port is down.
    pub(crate) fn received(&self, packets: u64, bytes: u64) -> Result<usize, PortDown> {
        if packets > 0 {
            self.counters.received(packets, bytes);
            return Ok(packets as usize);
        }
        match self.down {
            Some(error) => {
                let cause = io::Error::from_raw_os_error(error);
                Err(PortDown { port: self.name.clone(), cause })
            }
            None => Ok(0),
        }
    }

    /// Checks whether a packet may be transmitted: its length must fit the MTU and be at most
    /// `longest` bytes. If not, counts the packet and returns the reason.
    pub(crate) fn admit(&mut self, packet: &[u8], longest: usize) -> Result<(), Transmitted> {
        if self.down.is_some() {
            return Err(self.refused());
        }
        if !self.takes(packet) {
            // The MTU may have been raised.
            self.read_mtu();
        }
        if !self.takes(packet) || packet.len() > longest {
            self.counters.bad_length(1);
            return Err(Transmitted::BadLength);
        }
        Ok(())
    }

    /// Counts a packet that was refused because the queue is full or the port is down, and returns
    /// the reason.
    pub(crate) fn refused(&self) -> Transmitted {
        self.counters.transmit_dropped(1);
        if self.down.is_some() { Transmitted::Down } else { Transmitted::Full }
    }

    pub(crate) fn read_mtu(&mut self) {
        if let Ok(interface) = Interface::named(&self.name) {
            self.mtu = interface.mtu as usize;
        }
    }

    pub(crate) fn takes(&self, packet: &[u8]) -> bool {
        self.takes_length(packet, packet.len())
    }

    /// Returns whether an Ethernet link accepts a packet of `length` bytes that begins with
    /// `front`. The packet must contain an Ethernet header, and the bytes after this header must
    /// not exceed the MTU. The length of one VLAN tag is not counted, as in the kernel
    /// (packet_snd).
    pub(crate) fn takes_length(&self, front: &[u8], length: usize) -> bool {
        const HEADER: usize = 14;
        let tag = if front.get(12..14) == Some(&[0x81, 0]) { 4 } else { 0 };
        (HEADER..=self.mtu + HEADER + tag).contains(&length)
    }
}
