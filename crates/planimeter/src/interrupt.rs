//! The handling of SIGINT (Ctrl-C), SIGTERM and SIGQUIT: a command ends with the results that it
//! has, or immediately if it has none.
//!
//! Until a command takes the [`flag`], a signal ends the process with [`INTERRUPTED`], because
//! compiling a program, reading a file or deriving a model leaves nothing behind. A command that
//! has taken the flag must check it, and end with the results that it has; a second signal ends the
//! process. Work that cannot check the flag everywhere runs as [`abandonable`].

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::TERM_SIGNALS;

use crate::failure::INTERRUPTED;

/// The time that work may take to end by itself after an interrupt. The process should end within a
/// second, and needs the remaining time to write its results.
const GRACE: Duration = Duration::from_millis(300);

/// The interval at which the interrupt flag is checked while work runs on another thread.
const LOOK: Duration = Duration::from_millis(20);

/// The flags that signal handlers set and the running command reads.
struct Signals {
    /// Whether a signal to end has arrived.
    asked: Arc<AtomicBool>,
    /// Whether the next signal ends the process immediately.
    ends_process: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Installs the handlers of SIGINT (Ctrl-C), SIGTERM and SIGQUIT. A signal ends the process with
/// [`INTERRUPTED`] until a command takes the [`flag`].
pub(crate) fn install() -> io::Result<()> {
    let signals = SIGNALS.get_or_init(|| Signals {
        asked: Arc::new(AtomicBool::new(false)),
        ends_process: Arc::new(AtomicBool::new(true)),
    });
    for signal in TERM_SIGNALS {
        // The order matters: the first signal during a measurement finds `ends_process` unset, and
        // sets it for the second.
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

/// Returns a flag that becomes true when a signal asks the process to end. From this call on, the
/// first signal does not end the process. The caller must check the flag, and end with the results
/// that it has.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let Some(signals) = SIGNALS.get() else { return Arc::default() };
    signals.ends_process.store(false, Ordering::SeqCst);
    signals.asked.clone()
}

/// Returns the flag that [`flag`] returns, for work that takes a reference. Returns `None` if no
/// handlers are installed.
pub(crate) fn asked() -> Option<&'static AtomicBool> {
    drop(flag());
    SIGNALS.get().map(|signals| signals.asked.as_ref())
}

/// Does work on a separate thread and returns its result. Returns `None` if `interrupt` is set and
/// the work does not end soon after. The thread then continues without effect until the process
/// ends.
pub(crate) fn abandonable<R: Send + 'static>(
    interrupt: &AtomicBool,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<Option<R>> {
    let (done, result) = channel();
    // Sending fails if the result is no longer awaited.
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
        // Work that ends soon after the interrupt is still awaited.
        interrupt.store(true, Ordering::Relaxed);
        assert_eq!(abandonable(&interrupt, || 8).expect("a thread"), Some(8));
        let (held, waits) = channel::<()>();
        let endless = move || waits.recv().is_ok();
        assert_eq!(abandonable(&interrupt, endless).expect("a thread"), None);
        drop(held);
    }
}
