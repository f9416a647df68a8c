//! An open interface of this machine that is connected to a port of the switch.

use std::time::Instant;

use packetio::af_packet::RingMemory;
use packetio::{BURST, Burst, Port, Transmitted};

use crate::effects::Moment;
use crate::error::DutError;
use crate::live::Wire;
use crate::window::TIMEOUT;

/// An open interface that is connected to a port of the switch.
pub struct Outlet {
    /// The number of the switch's port that the interface is connected to.
    number: u32,
    port: Port,
    burst: Burst,
    /// The clock reading before the previous check for arrivals.
    pub(crate) looked: Moment,
}

impl Outlet {
    /// Opens the interfaces of these ports.
    ///
    /// # Errors
    /// Returns an error if the system refuses to open an interface.
    pub fn open(wires: &[Wire]) -> Result<Vec<Self>, DutError> {
        let opened = wires.iter().map(|wire| {
            let port = packetio::open(&wire.0, 1, RingMemory::here(1))?;
            Ok(Self::new(wire.0.number, port))
        });
        opened.collect()
    }

    /// Creates the outlet to the port of the switch with this number. `port` is the open interface.
    pub(crate) fn new(number: u32, port: Port) -> Self {
        Self { number, port, burst: Burst::new(BURST), looked: Moment(0) }
    }

    /// Returns the outlet that is connected to a port of the switch.
    pub(crate) fn find(outlets: &mut [Self], port: u32) -> Result<&mut Self, DutError> {
        let mut outlets = outlets.iter_mut();
        outlets.find(|outlet| outlet.number == port).ok_or(DutError::NoWire { port })
    }

    /// Returns the number of the switch's port.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the number of packets that arrived and were dropped because this program had no room
    /// for them.
    pub(crate) fn dropped(&self) -> u64 {
        self.port.counters.values().receive_dropped
    }

    /// Sends a packet. Returns whether the queue of the interface had room for it.
    ///
    /// # Errors
    /// Returns an error if the interface is down, or cannot send a packet of this length.
    pub fn send(&mut self, packet: &[u8]) -> Result<bool, DutError> {
        let missing = || DutError::NoWire { port: self.number };
        let queue = self.port.queues.first_mut().ok_or_else(missing)?;
        match queue.transmit(packet) {
            Transmitted::Taken => {}
            Transmitted::Full => return Ok(false),
            Transmitted::BadLength | Transmitted::Down => {
                return Err(DutError::NoWire { port: self.number });
            }
        }
        let begin = Instant::now();
        while !queue.flush() {
            if begin.elapsed() > TIMEOUT {
                return Err(DutError::NoWire { port: self.number });
            }
        }
        Ok(true)
    }

    /// Returns the packets that have arrived since the previous call.
    ///
    /// # Errors
    /// Returns an error if the interface can no longer be read.
    pub fn receive(&mut self) -> Result<&Burst, DutError> {
        self.burst.clear();
        for queue in &mut self.port.queues {
            queue.receive(&mut self.burst)?;
        }
        Ok(&self.burst)
    }
}
