//! Long work without the GIL, which ends soon after Ctrl-C.
//!
//! Python handles signals on its main thread, between two of its instructions. Native code that
//! runs for long must therefore look for them itself. Operations on curves stay on the thread of
//! the caller ([`brief`]), since most take microseconds; they look for signals through
//! [`calculus::Stop`]. Batches of packets look themselves ([`watched`]). Analyses use threads of
//! their own, and the caller waits for them ([`long`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use calculus::{Interrupt, Stop};
use pyo3::prelude::*;

use crate::errors::{Fault, Kind};

/// The time between two looks for signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The time for which the caller waits after a signal, so that work usually has ended before its
/// exception is raised.
const GRACE: Duration = Duration::from_millis(100);

/// Looks for signals while work runs on the thread of the caller.
pub(crate) struct Signals {
    next_look: Mutex<Instant>,
    /// The exception that a signal handler raised, such as `KeyboardInterrupt`.
    raised: Mutex<Option<PyErr>>,
    is_stopped: AtomicBool,
}

impl Signals {
    fn new() -> Self {
        Self {
            next_look: Mutex::new(Instant::now() + BETWEEN_LOOKS),
            raised: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Returns whether it is time to look, and if so, sets the time of the next look.
    pub(crate) fn is_due(&self) -> bool {
        let mut next = self.next_look.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_due = now >= *next;
        if is_due {
            *next = now + BETWEEN_LOOKS;
        }
        is_due
    }

    /// Runs the handlers of signals that have arrived, which may call the package. Returns whether
    /// one of them has raised an exception.
    pub(crate) fn look(&self) -> bool {
        let Err(error) = Python::attach(|py| py.check_signals()) else { return false };
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.is_stopped.store(true, Ordering::Relaxed);
        true
    }

    fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Stop for Signals {
    fn is_stopped(&self) -> bool {
        if self.is_stopped.load(Ordering::Relaxed) {
            return true;
        }
        self.is_due() && self.look()
    }
}

/// Runs work on curves without the GIL, on the thread of the caller. Operations on curves within
/// the work end soon after a signal handler has raised an exception.
///
/// # Errors
///
/// Returns the exception of the signal handler, or an `InternalError` if the work panicked.
pub(crate) fn brief<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let signals = Arc::new(Signals::new());
    let interrupt = Interrupt::from(Arc::clone(&signals) as Arc<dyn Stop>);
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| interrupt.watched_by(work))));
    match signals.take_raised() {
        Some(error) => Err(error),
        None => outcome.map_err(|panic| internal(&*panic)),
    }
}

/// Runs work without the GIL, on the thread of the caller. The work must look for signals itself
/// when they are due, and end soon after a look has returned true.
///
/// # Errors
///
/// Returns the exception of the signal handler, or an `InternalError` if the work panicked.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Signals) -> R + Send,
) -> PyResult<R> {
    let signals = Signals::new();
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&signals))));
    match signals.take_raised() {
        Some(error) => Err(error),
        None => outcome.map_err(|panic| internal(&*panic)),
    }
}

/// Runs work on a thread of its own, without the GIL, and calls `look` about every 50 ms. The flag
/// that the work receives is set after a signal handler, or `look`, has raised an exception. Work
/// that does not end within 100 ms then goes on by itself, and its result is dropped.
///
/// # Errors
///
/// Returns the exception of the signal handler or of `look`, or an `InternalError` if the work
/// panicked.
pub(crate) fn long<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> R + Send + 'static,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<R> {
    let flag = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = sync_channel(1);
    let of_work = Arc::clone(&flag);
    let helper = std::thread::Builder::new().name("planimeter".to_owned());
    helper
        .spawn(move || {
            // The caller no longer waits if it was interrupted.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(of_work))));
        })
        .map_err(|error| Fault::new(Kind::System, format!("no thread can be started: {error}")))?;
    let receiver = Mutex::new(receiver);
    let wait = |time| {
        py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time))
    };
    loop {
        match wait(BETWEEN_LOOKS) {
            Ok(outcome) => return outcome.map_err(|panic| internal(&*panic)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(
                    Fault::new(Kind::Internal, "a computation ended without a result").into()
                );
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals().and_then(|()| look()) {
            flag.store(true, Ordering::Relaxed);
            let _ = wait(GRACE);
            return Err(error);
        }
    }
}

/// Returns the `InternalError` of a panic.
fn internal(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Fault::new(Kind::Internal, text)
        .mended_by("please report it, with the call that led to it")
        .into()
}
