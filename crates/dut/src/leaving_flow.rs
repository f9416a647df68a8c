//! A flow of packets that leave the switch while its entry is there.

use crate::clock::Clock;
use crate::error::DutError;
use crate::live::{Flow, Outcome};
use crate::stream::{Departure, PacketStream, Seen};

/// A flow whose packets leave the switch if its entry is there.
#[derive(Clone, Debug)]
pub(crate) struct LeavingFlow<E> {
    flow: Flow<E>,
    /// The entries that its packets need on their way.
    beside: Vec<E>,
    /// The port by which the packets leave.
    leaves: u32,
}

impl<E: Clone> LeavingFlow<E> {
    /// Takes the first of some flows whose packets leave. Returns `None` if those of none do.
    pub(crate) fn of(flows: &[Flow<E>], beside: &[E]) -> Option<Self> {
        flows.iter().find_map(|flow| match &flow.inserted {
            Outcome::Leaves { port, .. } => {
                Some(Self { flow: flow.clone(), beside: beside.to_vec(), leaves: *port })
            }
            Outcome::Unseen => None,
        })
    }

    /// Returns the entry of the flow.
    pub(crate) fn entry(&self) -> &E {
        &self.flow.first
    }

    /// Returns the entries that the packets need, in the order in which they are inserted. The last
    /// one is that of the flow.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &E> {
        self.beside.iter().chain([&self.flow.first])
    }

    /// Sends a packet, unless the queue of the interface is full.
    pub(crate) fn send<C: Clock>(&self, stream: &mut PacketStream<C>) -> Result<(), DutError> {
        let Flow { port, packet, .. } = &self.flow;
        stream.send(Departure { port: *port, packet: 0, bytes: packet })?;
        Ok(())
    }

    /// Records the packets that have left the switch by the port of the flow.
    pub(crate) fn receive<C: Clock>(&self, stream: &mut PacketStream<C>) -> Result<(), DutError> {
        let leaves = self.leaves;
        stream.receive(&|_, port, _| if port == leaves { Seen::As(0) } else { Seen::Nothing })?;
        Ok(())
    }
}
