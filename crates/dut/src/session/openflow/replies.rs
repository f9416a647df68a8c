//! Matches barrier replies and errors of an OpenFlow switch with the requests that they answer.

use std::collections::VecDeque;
use std::time::Duration;

use controllers::openflow::SwitchConnection;
use openflow::wire::{Header, MessageType};
use openflow::{ErrorReason, Version, Xid, v1_0, v1_3};

use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::flows::ReportedMatch;
use crate::tag::Tag;
use crate::timeouts::Timer;
use crate::window::{Answered, Phase, Refusal};

/// A message of the switch that concerns a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The reply to the barrier request with this transaction id.
    Barrier(Xid),
    /// An error that the message with this transaction id caused.
    Error(Xid, Refusal),
    /// A packet-in that contains a packet of a measurement, which this tag identifies.
    PacketIn(Tag),
    /// A notification that a flow entry was removed.
    FlowRemoved {
        /// The match of the removed flow entry.
        matching: ReportedMatch,
        /// The timeout that caused the removal; `None` for another cause.
        reason: Option<Timer>,
    },
}

impl Reply {
    /// Parses a message. Returns `None` if it does not concern a measurement.
    pub(super) fn of(version: Version, frame: &[u8]) -> Option<Self> {
        let header = Header::new_checked(frame).ok()?;
        let kind = header.message_type();
        if kind == barrier_types(version)[1] {
            return Some(Self::Barrier(header.xid()));
        }
        if kind == MessageType::PACKET_IN {
            // The packet is at the end of the message in both versions.
            return Tag::read(frame).map(Self::PacketIn);
        }
        if kind == MessageType::FLOW_REMOVED {
            return flow_removed(version, frame);
        }
        (kind == MessageType::ERROR).then(|| Self::Error(header.xid(), refusal(version, &header)))
    }
}

/// Parses a flow-removed message.
fn flow_removed(version: Version, frame: &[u8]) -> Option<Reply> {
    let (matching, is_idle, is_hard) = match version {
        Version::V1_0 => {
            let v1_0::Message::FlowRemoved(removed) = v1_0::Message::decode(frame).ok()?.1 else {
                return None;
            };
            let is = |reason| removed.reason == reason;
            let [idle, hard] =
                [v1_0::FlowRemovedReason::IDLE_TIMEOUT, v1_0::FlowRemovedReason::HARD_TIMEOUT];
            (ReportedMatch::V1_0(Box::new(removed.match_fields)), is(idle), is(hard))
        }
        Version::V1_3 => {
            let v1_3::Message::FlowRemoved(removed) = v1_3::Message::decode(frame).ok()?.1 else {
                return None;
            };
            let [idle, hard] =
                [v1_3::FlowRemovedReason::IDLE_TIMEOUT, v1_3::FlowRemovedReason::HARD_TIMEOUT];
            let is = |reason| removed.reason == reason;
            let (is_idle, is_hard) = (is(idle), is(hard));
            (ReportedMatch::V1_3(removed.match_fields), is_idle, is_hard)
        }
    };
    let reason = match (is_idle, is_hard) {
        (true, _) => Some(Timer::Idle),
        (_, true) => Some(Timer::Hard),
        _ => None,
    };
    Some(Reply::FlowRemoved { matching, reason })
}

/// Returns the message types of the barrier request and of the barrier reply, in this order.
pub(super) fn barrier_types(version: Version) -> [MessageType; 2] {
    match version {
        Version::V1_0 => [v1_0::Message::BarrierRequest, v1_0::Message::BarrierReply]
            .map(|message| message.message_type()),
        Version::V1_3 => [v1_3::Message::BarrierRequest, v1_3::Message::BarrierReply]
            .map(|message| message.message_type()),
    }
}

/// Reads the error type and code from an error message.
pub(super) fn refusal(version: Version, header: &Header<&[u8]>) -> Refusal {
    let [kind, code] = match header.body() {
        // Both versions have type and code at these offsets.
        [a, b, c, d, ..] => [[*a, *b], [*c, *d]].map(u16::from_be_bytes),
        _ => [u16::MAX; 2],
    };
    let reason = ErrorReason::from_codes(version, kind, code);
    Refusal {
        code: reason.map_or_else(|| "unknown error".to_owned(), |reason| reason.to_string()),
        message: format!("OpenFlow error type {kind}, code {code}"),
        entry: None,
    }
}

/// The messages of a connection that barrier replies have confirmed.
#[derive(Debug, Default)]
pub(super) struct Confirmed {
    /// The transaction id of the latest barrier request that was answered.
    barrier: Option<Xid>,
    /// The number of errors that arrived after the barrier reply which confirms the message that
    /// caused them. They should have come before it.
    pub(super) late_errors: u64,
}

impl Confirmed {
    pub(super) fn note(&mut self, reply: &Reply) {
        match reply {
            Reply::Barrier(xid) => self.barrier = self.barrier.max(Some(*xid)),
            Reply::Error(xid, _) => {
                let is_of_request = xid.0 >= SwitchConnection::FIRST_XID;
                let is_late = self.barrier.is_some_and(|barrier| *xid < barrier);
                self.late_errors += u64::from(is_of_request && is_late);
            }
            Reply::PacketIn(_) | Reply::FlowRemoved { .. } => {}
        }
    }
}

/// A request whose barrier reply has not arrived.
pub(super) struct Flying<'a> {
    /// The transaction id of the request's first flow-mod. Those of its other flow-mods and of its
    /// barrier request follow.
    pub(super) first: u32,
    pub(super) numbers: &'a [EntryNumber],
    pub(super) sent: Duration,
    pub(super) refused: Vec<usize>,
}

impl Flying<'_> {
    /// Returns the position in the request of the flow-mod with this transaction id; `None` if the
    /// request does not contain it.
    fn position(&self, xid: Xid) -> Option<usize> {
        let position = usize::try_from(xid.0.checked_sub(self.first)?).ok()?;
        (position < self.numbers.len()).then_some(position)
    }

    fn barrier(&self) -> Xid {
        Xid(self.first + self.numbers.len() as u32)
    }
}

/// The requests of one series that were sent, with their answers.
#[derive(Default)]
pub(super) struct Series<'a> {
    pub(super) phase: Phase,
    pub(super) flying: VecDeque<Flying<'a>>,
    /// The answered requests, in the order of [`Phase::calls`].
    ended: Vec<Flying<'a>>,
    /// The entry of the first update that the switch refused.
    pub(super) refused: Option<EntryNumber>,
    pub(super) failure: Option<DutError>,
}

impl Series<'_> {
    pub(super) fn note(&mut self, reply: Reply, now: Duration) {
        match reply {
            Reply::Barrier(xid) => {
                let position = self.flying.iter().position(|one| one.barrier() == xid);
                let Some(mut one) = position.and_then(|at| self.flying.remove(at)) else { return };
                one.refused.sort_unstable();
                let Flying { numbers, sent, .. } = one;
                self.phase.note(&Answered { sent, answered: now, numbers, refused: &one.refused });
                self.ended.push(one);
            }
            Reply::Error(xid, refusal) => {
                if self.flying.iter().any(|one| one.barrier() == xid) {
                    self.failure.get_or_insert(refused("barrier", &refusal));
                    self.flying.retain(|one| one.barrier() != xid);
                    return;
                }
                let flying = self.flying.iter_mut().find_map(|one| Some((one.position(xid)?, one)));
                if let Some((position, one)) = flying {
                    one.refused.push(position);
                    if self.phase.refusal.is_none() {
                        self.refused = one.numbers.get(position).copied();
                    }
                } else {
                    self.note_late(xid);
                }
                self.phase.refusal.get_or_insert(refusal);
            }
            Reply::PacketIn(_) | Reply::FlowRemoved { .. } => {}
        }
    }

    /// Counts an update as refused although its request was already answered, because an error
    /// about it arrived after the barrier reply.
    fn note_late(&mut self, xid: Xid) {
        let ended = self.ended.iter().enumerate();
        let mut found = ended.filter_map(|(call, one)| {
            let number = *one.numbers.get(one.position(xid)?)?;
            Some((call, number))
        });
        // The record of an earlier series is not corrected; its late errors are counted.
        let Some((call, number)) = found.next() else { return };
        if let Some(call) = self.phase.calls.get_mut(call) {
            call.refused += 1;
        }
        self.phase.accepted.retain(|accepted| *accepted != number);
    }
}

/// Returns the error for a request that the switch refused. `what` names the kind of request.
pub(crate) fn refused(what: &'static str, refusal: &Refusal) -> DutError {
    DutError::Request { what, cause: format!("{} ({})", refusal.code, refusal.message) }
}
