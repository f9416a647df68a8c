//! The one clock of the server: time since the Unix epoch that never goes back.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::store::Nanos;

static START: LazyLock<(Instant, Duration)> = LazyLock::new(|| {
    // A clock set before 1970 makes timestamps start at zero; nothing else depends on it.
    (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
});

/// The time by which the server stamps what it is told: since the Unix epoch, and never going
/// back. A data plane that compares times with it uses it too.
pub fn now() -> Nanos {
    let now = START.1 + START.0.elapsed();
    // Enough until the year 2554.
    Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// The same for messages that carry time as a signed number.
pub(super) fn timestamp() -> i64 {
    i64::try_from(now().0).unwrap_or(i64::MAX)
}
