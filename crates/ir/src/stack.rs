//! Room for passes that recurse over a program.

use std::cell::Cell;
use std::io;

use crate::meter;

/// The stack that [`with_large_stack`] gives. Pages that are not touched cost nothing.
pub const STACK_BYTES: usize = 256 << 20;

thread_local! {
    /// The address in the stack at which [`with_large_stack`] began, on a thread of its own.
    static BEGAN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work` on a thread with a stack that is large enough for passes that recurse over a program as deeply as the
/// parser of P4 source and [`Program::from_json`](crate::Program::from_json) let it nest. Whoever compiles programs
/// that others wrote should do so in here. On such a thread, `work` runs at once.
///
/// # Errors
/// If the thread cannot be started. A panic of `work` goes on in the caller.
pub fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    if BEGAN.get().is_some() && has_room() {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("p4".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                BEGAN.set(Some(here()));
                let result = work();
                (result, meter::steps())
            })?;
        match thread.join() {
            Ok((result, steps)) => {
                meter::count(steps as usize);
                Ok(result)
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Whether less than half of the stack that [`with_large_stack`] provides is in use. Passes check it before
/// they enter a callee: statements nest as deep as the parser allows and calls as deep as
/// [`CompileLimits`](crate::CompileLimits) allows, but the stack has no room for the product of both.
///
/// Always true on any other thread, whose size nothing here knows.
#[must_use]
pub fn has_room() -> bool {
    BEGAN.get().is_none_or(|began| began.abs_diff(here()) < STACK_BYTES / 2)
}

/// An address in the frame of the caller, or close to it.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recurses until there is no room; returns how often.
    fn recurse(level: usize) -> usize {
        let frame = std::hint::black_box([0_u8; 1024]);
        let levels = if has_room() && level < STACK_BYTES { recurse(level + 1) } else { level };
        std::hint::black_box(frame);
        levels
    }

    #[test]
    fn recursion_that_asks_ends_before_the_stack_does() {
        let levels = with_large_stack(|| recurse(0)).expect("a thread");
        assert!((10_000..=STACK_BYTES / 2 / 1024).contains(&levels), "{levels}");
    }

    #[test]
    fn a_large_stack_serves_all_that_is_done_on_it() {
        let nested = with_large_stack(|| {
            let outer = std::thread::current().id();
            with_large_stack(move || std::thread::current().id() == outer)
        });
        assert!(matches!(nested, Ok(Ok(true))));
    }
}
