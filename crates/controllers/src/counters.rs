//! The counters of a running controller.
//!
//! A thread of a controller counts the messages of a whole chunk before it adds the sums to these
//! counters. Counting therefore costs a few atomic additions per system call and nothing per
//! message.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a running controller, which its observers can read.
#[derive(Debug, Default)]
pub struct Counters {
    switches: AtomicU64,
    sessions: AtomicU64,
    packet_ins: AtomicU64,
    packet_outs: AtomicU64,
    rules: AtomicU64,
    refused: AtomicU64,
    failures: AtomicU64,
}

/// The values of a controller's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of switches that are connected, with an open session.
    pub switches: u64,
    /// The number of sessions that were opened since the start.
    pub sessions: u64,
    /// The number of packet-ins received in open sessions since the start.
    pub packet_ins: u64,
    /// The number of packet-outs that the controller has queued for sending.
    pub packet_outs: u64,
    /// The number of rules that were written. Over OpenFlow these are the flow-mods sent, and over
    /// P4Runtime the updates that switches accepted.
    pub rules: u64,
    /// The number of messages and table updates that switches refused.
    pub refused: u64,
    /// The number of sessions, and of attempts to open one, that ended because of a fault. A switch
    /// that disconnects, or that a controller cannot reach, is not a fault.
    pub failures: u64,
}

impl Counters {
    /// Returns the current values. They are read one after the other, while threads may be changing
    /// them.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            switches: read(&self.switches),
            sessions: read(&self.sessions),
            packet_ins: read(&self.packet_ins),
            packet_outs: read(&self.packet_outs),
            rules: read(&self.rules),
            refused: read(&self.refused),
            failures: read(&self.failures),
        }
    }

    pub(crate) fn session_opened(&self) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.switches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn session_closed(&self) {
        self.switches.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, tally: &Tally) {
        for (counter, count) in [
            (&self.packet_ins, tally.packet_ins),
            (&self.packet_outs, tally.packet_outs),
            (&self.rules, tally.rules),
            (&self.refused, tally.refused),
        ] {
            if count > 0 {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        }
    }
}

/// The counts of one thread for a chunk of messages, which it adds to the counters of the
/// controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) packet_ins: u64,
    pub(crate) packet_outs: u64,
    pub(crate) rules: u64,
    pub(crate) refused: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.switches > 0 {
            write!(f, "{} switches connected, ", self.switches)?;
        }
        write!(
            f,
            "{} sessions opened, {} packet-ins, {} packet-outs, {} rules",
            self.sessions, self.packet_ins, self.packet_outs, self.rules
        )?;
        if self.refused > 0 {
            write!(f, ", {} refused by switches", self.refused)?;
        }
        if self.failures > 0 {
            write!(f, ", {} failed sessions", self.failures)?;
        }
        Ok(())
    }
}
