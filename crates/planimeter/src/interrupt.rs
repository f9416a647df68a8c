//! Ctrl-C and SIGTERM: a verb ends with what it has measured, at once where that is nothing.
//!
//! Until a verb takes the [`flag`], a signal ends the process with [`INTERRUPTED`]: a program is compiled, a file read, a
//! model derived, and nothing would be left of it. A verb with the flag ends by itself and leaves what it has; a second
//! signal ends the process. Work of such a verb that cannot look at the flag everywhere is [`abandonable`].

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::TERM_SIGNALS;

use crate::failure::INTERRUPTED;

/// The time that work has to end by itself after an interrupt. The results must be written in the rest of a second.
const GRACE: Duration = Duration::from_millis(300);

/// The time between two looks at the flag.
const LOOK: Duration = Duration::from_millis(20);

/// The flags that the signal handlers share with the verb.
struct Signals {
    /// Whether the process was asked to end.
    asked: Arc<AtomicBool>,
    /// Whether the next signal ends the process without the verb's help.
    ends_process: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Handles the signals from now on: each ends the process with [`INTERRUPTED`] until a verb takes the [`flag`].
pub(crate) fn install() -> io::Result<()> {
    let signals = SIGNALS.get_or_init(|| Signals {
        asked: Arc::new(AtomicBool::new(false)),
        ends_process: Arc::new(AtomicBool::new(true)),
    });
    for signal in TERM_SIGNALS {
        // In this order: a first signal during a measurement finds `ends_process` unset, and sets it for the second.
        let status = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(
            *signal,
            status,
            signals.ends_process.clone(),
        )?;
        signal_hook::flag::register(*signal, signals.asked.clone())?;
        signal_hook::flag::register(*signal, signals.ends_process.clone())?;
    }
    Ok(())
}

/// Returns a flag that becomes true when the process is asked to end. The caller looks at it and leaves its results.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let Some(signals) = SIGNALS.get() else { return Arc::default() };
    signals.ends_process.store(false, Ordering::SeqCst);
    signals.asked.clone()
}

/// Does work on a thread of its own, and returns its result; nothing if the flag is set and the work does not end soon after.
/// The thread is left behind then, until the process ends.
pub(crate) fn abandonable<R: Send + 'static>(
    interrupt: &AtomicBool,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<Option<R>> {
    let (done, result) = channel();
    // Nobody may be left to take the result.
    let worker = thread::Builder::new().spawn(move || drop(done.send(work())))?;
    let mut deadline = None;
    loop {
        match result.recv_timeout(LOOK) {
            Ok(result) => return Ok(Some(result)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Ok(None),
            },
        }
        if interrupt.load(Ordering::Relaxed) {
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + GRACE);
            if Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_does_not_end_is_left_behind_once_interrupted() {
        let interrupt = AtomicBool::new(false);
        let done = abandonable(&interrupt, || 7).expect("a thread");
        assert_eq!(done, Some(7));
        // An end that comes soon after the interrupt is still waited for.
        interrupt.store(true, Ordering::Relaxed);
        assert_eq!(abandonable(&interrupt, || 8).expect("a thread"), Some(8));
        let (held, waits) = channel::<()>();
        let endless = move || waits.recv().is_ok();
        assert_eq!(abandonable(&interrupt, endless).expect("a thread"), None);
        drop(held);
    }
}
