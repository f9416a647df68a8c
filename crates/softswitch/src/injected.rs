//! The packets that one request of a client injects, which run as if they had arrived on ports.
//! They travel from the control plane to a worker, and their outcomes travel back.

use bytes::Bytes;
use p4runtime::control::Treatment;
use p4runtime::proto::switch::InjectOutcome;
use p4runtime::status::EntityError;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// The packets of one request.
#[derive(Debug)]
pub(crate) struct Injected {
    /// The packets that have not run yet.
    packets: std::vec::IntoIter<InjectedPacket>,
    outcomes: Vec<InjectOutcome>,
    pub(crate) wanted: Wanted,
    answer: oneshot::Sender<Vec<InjectOutcome>>,
    /// The permits of these packets, which count towards the limit on all injected packets.
    _room: OwnedSemaphorePermit,
}

/// The options of a request, which apply to all of its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) treatment: Treatment,
    /// The contents that the traces of the packets must have. `None` if no traces are requested.
    pub(crate) traced: Option<traces::Contents>,
}

/// A packet that a client injects, and the port on which it arrives.
#[derive(Debug)]
pub(crate) struct InjectedPacket {
    /// The number that the client chose for the packet. The outcome has the same number, so that
    /// the client can match the two.
    pub(crate) tag: u64,
    /// The port on which the packet arrives, or the error if the requested port cannot receive it.
    pub(crate) port: Result<u32, EntityError>,
    pub(crate) payload: Bytes,
}

impl Injected {
    pub(crate) fn new(
        packets: Vec<InjectedPacket>,
        wanted: Wanted,
        answer: oneshot::Sender<Vec<InjectOutcome>>,
        room: OwnedSemaphorePermit,
    ) -> Self {
        let outcomes = Vec::with_capacity(packets.len());
        Self { packets: packets.into_iter(), outcomes, wanted, answer, _room: room }
    }

    /// Removes and returns the next packets, at most `most`.
    pub(crate) fn take(&mut self, most: usize) -> Vec<InjectedPacket> {
        self.packets.by_ref().take(most).collect()
    }

    /// Records the outcomes of the packets that were taken last.
    pub(crate) fn record(&mut self, outcomes: Vec<InjectOutcome>) {
        self.outcomes.extend(outcomes);
    }

    /// Returns whether all packets have been taken to run, or the client has gone away.
    pub(crate) fn has_ended(&self) -> bool {
        self.packets.as_slice().is_empty() || self.answer.is_closed()
    }

    /// Sends the outcomes to the client.
    pub(crate) fn answer(self) {
        // A client that has left needs no answer.
        let _ = self.answer.send(self.outcomes);
    }
}
