//! Detection, by echo requests, of peers that no longer answer.

use std::time::Duration;

use crate::wire::{MessageType, emit_empty};
use crate::{Version, Xid};

/// A keepalive: it sends an echo request when the peer has been silent for some time, and reports
/// the peer as dead if it stays silent.
///
/// The caller passes all times, as durations since one moment that it chooses.
#[derive(Clone, Debug)]
pub struct Keepalive {
    interval: Duration,
    patience: Duration,
    last_heard: Duration,
    /// The time of the last echo request, or `None` if the peer has sent any message since.
    asked: Option<Duration>,
    /// The transaction id and the time of the last echo request, or `None` once it is answered.
    pending: Option<(Xid, Duration)>,
    next_xid: Xid,
}

/// The state of the peer, as [`Keepalive::poll`] reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The peer is not known to be dead, and no echo request was needed.
    Alive {
        /// The time by which the caller must poll again.
        next: Duration,
    },
    /// An echo request was appended.
    Asked {
        /// The time by which the caller must poll again.
        next: Duration,
    },
    /// The peer did not answer an echo request in time.
    Dead {
        /// The time since the last message of the peer.
        silent: Duration,
    },
}

impl Keepalive {
    /// Creates a keepalive. It sends an echo request after `interval` of silence, and reports the
    /// peer as dead after another `patience` of silence.
    ///
    /// Echo requests have ascending transaction ids that start at `first_xid`.
    pub fn new(interval: Duration, patience: Duration, first_xid: Xid, now: Duration) -> Self {
        let (asked, pending) = (None, None);
        Self { interval, patience, last_heard: now, asked, pending, next_xid: first_xid }
    }

    /// Records that the peer sent a message of any kind at the time `now`.
    pub fn heard(&mut self, now: Duration) {
        self.last_heard = now;
        self.asked = None;
    }

    /// Records an echo reply. Returns the round-trip time if it answers the last echo request.
    pub fn echo_reply(&mut self, xid: Xid, now: Duration) -> Option<Duration> {
        self.heard(now);
        let (_, sent) = self.pending.take_if(|(pending, _)| *pending == xid)?;
        Some(now.saturating_sub(sent))
    }

    /// Appends an echo request in the given version to `out` if the peer has been silent for long
    /// enough at `now`.
    pub fn poll(&mut self, version: Version, now: Duration, out: &mut Vec<u8>) -> Liveness {
        let due = self.last_heard.saturating_add(self.interval);
        match self.asked {
            Some(asked) if now >= asked.saturating_add(self.patience) => {
                Liveness::Dead { silent: now.saturating_sub(self.last_heard) }
            }
            Some(asked) => Liveness::Alive { next: asked.saturating_add(self.patience) },
            None if now < due => Liveness::Alive { next: due },
            None => {
                emit_empty(version, MessageType::ECHO_REQUEST, self.next_xid, out);
                self.asked = Some(now);
                self.pending = Some((self.next_xid, now));
                self.next_xid = Xid(self.next_xid.0.wrapping_add(1));
                Liveness::Asked { next: now.saturating_add(self.patience) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn keepalive() -> Keepalive {
        Keepalive::new(ms(1000), ms(500), Xid(0xffff_ffff), ms(100))
    }

    #[test]
    fn a_silent_peer_gets_an_echo_request_and_is_then_given_up() {
        let (mut keepalive, mut out) = (keepalive(), Vec::new());
        let mut poll = |now| (keepalive.poll(Version::V1_3, ms(now), &mut out), out.len());
        assert_eq!(poll(200), (Liveness::Alive { next: ms(1100) }, 0));
        assert_eq!(poll(1100), (Liveness::Asked { next: ms(1600) }, 8));
        assert_eq!(poll(1599), (Liveness::Alive { next: ms(1600) }, 8));
        assert_eq!(poll(1600), (Liveness::Dead { silent: ms(1500) }, 8));
        assert_eq!(out, b"\x04\x02\0\x08\xff\xff\xff\xff");
    }

    #[test]
    fn an_answer_ends_the_round_trip_and_begins_a_new_interval() {
        let (mut keepalive, mut out) = (keepalive(), Vec::new());
        keepalive.poll(Version::V1_0, ms(1100), &mut out);
        assert_eq!(keepalive.echo_reply(Xid(5), ms(1101)), None, "not what was asked");
        assert_eq!(keepalive.echo_reply(Xid(0xffff_ffff), ms(1103)), Some(ms(3)));
        assert_eq!(keepalive.echo_reply(Xid(0xffff_ffff), ms(1104)), None, "answered twice");
        let next = keepalive.poll(Version::V1_0, ms(1200), &mut out);
        assert_eq!(next, Liveness::Alive { next: ms(2104) });
        keepalive.poll(Version::V1_0, ms(2104), &mut out);
        assert_eq!(&out[8..], b"\x01\x02\0\x08\0\0\0\0", "transaction ids wrap around");
    }

    #[test]
    fn any_message_counts_as_a_sign_of_life() {
        let (mut keepalive, mut out) = (keepalive(), Vec::new());
        keepalive.poll(Version::V1_0, ms(1100), &mut out);
        keepalive.heard(ms(1500));
        let next = keepalive.poll(Version::V1_0, ms(9_999), &mut out);
        assert_eq!(next, Liveness::Asked { next: ms(10_499) });
    }
}
