//! Ctrl-C and SIGTERM end a run with what it has; a second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag;

/// A flag that becomes true when the process is asked to end.
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in TERM_SIGNALS {
        // In this order: the first signal finds the flag unset and only sets it.
        flag::register_conditional_shutdown(*signal, 130, interrupted.clone())?;
        flag::register(*signal, interrupted.clone())?;
    }
    Ok(interrupted)
}
