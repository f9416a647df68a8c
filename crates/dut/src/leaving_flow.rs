//! A flow whose packets leave the switch as long as the flow's entry is there.

use crate::clock::Clock;
use crate::error::DutError;
use crate::live::{Flow, Outcome};
use crate::stream::{Departure, PacketStream, Seen};

/// A flow whose packets leave the switch as long as the flow's entry is there.
#[derive(Clone, Debug)]
pub(crate) struct LeavingFlow<E> {
    flow: Flow<E>,
    /// The other entries that the flow's packets need on their way.
    beside: Vec<E>,
    /// The port by which the packets leave the switch.
    leaves: u32,
}

impl<E: Clone> LeavingFlow<E> {
    /// Takes the first flow whose packets leave the switch when its entry is inserted. Returns
    /// `None` if there is no such flow.
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

    /// Returns all entries that the packets need, in the order of insertion. The flow's own entry
    /// is the last.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &E> {
        self.beside.iter().chain([&self.flow.first])
    }

    /// Sends one packet of the flow. If the queue of the interface is full, nothing is sent.
    pub(crate) fn send<C: Clock>(&self, stream: &mut PacketStream<C>) -> Result<(), DutError> {
        let Flow { port, packet, .. } = &self.flow;
        stream.send(Departure { port: *port, packet: 0, bytes: packet })?;
        Ok(())
    }

    /// Records the packets that have left the switch by the flow's port.
    pub(crate) fn receive<C: Clock>(&self, stream: &mut PacketStream<C>) -> Result<(), DutError> {
        let leaves = self.leaves;
        stream.receive(&|_, port, _| if port == leaves { Seen::As(0) } else { Seen::Nothing })?;
        Ok(())
    }
}
