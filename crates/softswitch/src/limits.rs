//! The limits of a switch on what its peers can make it hold.

use crate::log::{Log, Verbosity};
use p4runtime::server::{ConnectionObserver, Limit, Limits};
use pipeline::SEARCHED_ENTRIES;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines of the log about limits.
const SPACING: Duration = Duration::from_secs(1);

/// What controllers, and whoever else reaches the port of P4Runtime, can make a switch hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchLimits {
    /// The limits of the gRPC server.
    pub server: Limits,
    /// The metadata that a controller may keep with an entity, in bytes.
    pub metadata: usize,
    /// The number of entries of a table with a ternary, range or optional field.
    pub searched_entries: u64,
}

impl Default for SwitchLimits {
    fn default() -> Self {
        Self { server: Limits::default(), metadata: 1 << 10, searched_entries: SEARCHED_ENTRIES }
    }
}

/// Logs which peers met which limit, at most one line in a second, since whoever attacks would fill the disk otherwise.
pub(crate) struct LimitLog {
    log: Arc<Log>,
    state: Mutex<LogState>,
}

#[derive(Default)]
struct LogState {
    last: Option<Instant>,
    /// The number of connections since the last line.
    passed_over: u64,
}

impl LimitLog {
    pub(crate) fn new(log: Arc<Log>) -> Self {
        Self { log, state: Mutex::default() }
    }

    /// Returns the number of connections that had no line of their own, if it is time for one.
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
        let others = match others {
            0 => String::new(),
            others => format!("; {others} others were closed since the last such line"),
        };
        let said = format_args!("the connection of {peer} was closed: {limit}{others}");
        self.log.line(Verbosity::Warn, said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_connections_is_no_flood_of_lines() {
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
