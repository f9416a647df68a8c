//! What the ends of a link have in common, whatever carries the packets: its name, the lengths that it takes, whether it
//! is there, its counters.

use crate::interface::Interface;
use crate::{PortCounters, PortDown, Transmitted};
use std::io;
use std::sync::Arc;

/// One queue's view of the link of a port.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    /// The error that showed that the port is gone or down.
    pub(crate) down: Option<libc::c_int>,
    pub(crate) mtu: usize,
    pub(crate) counters: Arc<PortCounters>,
}

impl Link {
    /// Of an interface.
    pub(crate) fn on(interface: &Interface, counters: &Arc<PortCounters>) -> Self {
        Self {
            name: interface.name.clone(),
            down: (!interface.up).then_some(libc::ENETDOWN),
            mtu: interface.mtu as usize,
            counters: Arc::clone(counters),
        }
    }

    /// Counts what was received; that the port is down is said when nothing of before is left.
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

    /// Whether a packet may be transmitted through an interface, of at most `longest` bytes whatever the MTU; one that may
    /// not is counted.
    pub(crate) fn admit(&mut self, packet: &[u8], longest: usize) -> Result<(), Transmitted> {
        if self.down.is_some() {
            return Err(self.refused());
        }
        if !self.takes(packet) {
            // It may have grown.
            self.read_mtu();
        }
        if !self.takes(packet) || packet.len() > longest {
            self.counters.bad_length(1);
            return Err(Transmitted::BadLength);
        }
        Ok(())
    }

    /// Counts a packet that finds no room, or no port.
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

    /// Whether an Ethernet link takes a packet of `length` bytes that begins with `front`. It takes
    /// at least a header, and at most a header and the MTU. One tag does not count, as in the
    /// kernel (packet_snd).
    pub(crate) fn takes_length(&self, front: &[u8], length: usize) -> bool {
        const HEADER: usize = 14;
        let tag = if front.get(12..14) == Some(&[0x81, 0]) { 4 } else { 0 };
        (HEADER..=self.mtu + HEADER + tag).contains(&length)
    }
}
