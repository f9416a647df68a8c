//! Limits on the resources that peers can make a switch hold, and the log of connections that were
//! closed because they reached a limit.

use crate::log::{Log, Verbosity};
use p4runtime::server::{ConnectionObserver, Limit, Limits};
use pipeline::SEARCHED_ENTRIES;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The minimum time between two log lines about connections that reached a limit.
const SPACING: Duration = Duration::from_secs(1);

/// The resources that controllers and other peers of the P4Runtime port can make a switch hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchLimits {
    /// The limits of the gRPC server.
    pub server: Limits,
    /// The largest size, in bytes, of the metadata that a controller may attach to one entity.
    pub metadata: usize,
    /// The largest number of entries in a table with a ternary, range or optional match field.
    pub searched_entries: u64,
    /// The largest memory, in bytes, of the packets that wait in the queues of a device's ports.
    pub queued: u64,
}

impl Default for SwitchLimits {
    fn default() -> Self {
        Self {
            server: Limits::default(),
            metadata: 1 << 10,
            searched_entries: SEARCHED_ENTRIES,
            queued: 256 << 20,
        }
    }
}

/// A log of the connections that were closed because they reached a limit. At most one line per
/// second is written, so that an attacker cannot fill the disk.
pub(crate) struct LimitLog {
    log: Arc<Log>,
    state: Mutex<LogState>,
}

/// The time and number of log lines about closed connections, by which they are limited.
#[derive(Default)]
struct LogState {
    last: Option<Instant>,
    /// The number of connections that were closed without a log line since the last line.
    passed_over: u64,
}

impl LimitLog {
    pub(crate) fn new(log: Arc<Log>) -> Self {
        Self { log, state: Mutex::default() }
    }

    /// Returns the number of connections that were closed without a log line since the last one.
    /// Returns `None` if it is too early for another line; the connection for which this was called
    /// then counts as not logged.
    fn passed_over(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < SPACING) {
            state.passed_over += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.passed_over))
    }
}

impl ConnectionObserver for LimitLog {
    fn limit_met(&self, peer: SocketAddr, limit: Limit) {
        let Some(others) = self.passed_over(Instant::now()) else { return };
        self.log.line(Verbosity::Warn, format_args!("{}", line(peer, limit, others)));
    }
}

/// Returns the log line about a connection that was closed. `others` is the number of connections
/// that were closed since the last line without one of their own.
fn line(peer: SocketAddr, limit: Limit, others: u64) -> String {
    let others = match others {
        0 => String::new(),
        1 => "; 1 other was closed since the last such line".to_owned(),
        others => format!("; {others} others were closed since the last such line"),
    };
    format!("the connection of {peer} was closed: {limit}{others}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_is_no_others() {
        let peer = SocketAddr::from(([192, 0, 2, 1], 9));
        let of = |others| line(peer, Limit::Connections, others);
        let closed = "the connection of 192.0.2.1:9 was closed: there are too many connections";
        assert_eq!(of(0), closed);
        assert_eq!(of(1), format!("{closed}; 1 other was closed since the last such line"));
        assert_eq!(of(2), format!("{closed}; 2 others were closed since the last such line"));
    }

    #[test]
    fn a_flood_of_connections_logs_few_lines() {
        let log = LimitLog::new(Arc::new(Log::off()));
        let start = Instant::now();
        assert_eq!(log.passed_over(start), Some(0));
        for _ in 0..1000 {
            assert_eq!(log.passed_over(start + SPACING / 2), None);
        }
        assert_eq!(log.passed_over(start + SPACING), Some(1000));
        assert_eq!(log.passed_over(start + SPACING * 2), Some(0));
    }
}
