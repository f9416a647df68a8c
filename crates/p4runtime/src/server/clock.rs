//! The clock of the server: the time since the Unix epoch, which never goes backwards.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::store::Nanos;

/// The moment of the first use of the clock, as the steady clock and the system clock show it.
static START: LazyLock<(Instant, Duration)> = LazyLock::new(|| {
    // If the system clock is set before 1970, timestamps start at zero. Nothing else depends on it.
    (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
});

/// Returns the time since the Unix epoch, which never goes backwards. If a data plane reports times
/// that are compared with those of the server, it must use this clock too.
pub fn now() -> Nanos {
    let now = START.1 + START.0.elapsed();
    // 64 bits suffice until the year 2554.
    Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the time of [`now`] as a signed number of nanoseconds, which messages carry.
pub(super) fn timestamp() -> i64 {
    i64::try_from(now().0).unwrap_or(i64::MAX)
}
