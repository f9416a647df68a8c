//! A large stack for passes that recurse over a program.

use std::cell::Cell;
use std::io;

use crate::meter;

/// The stack size in bytes of a thread that [`with_large_stack`] starts. Pages that are never
/// touched take no memory.
pub const STACK_BYTES: usize = 256 << 20;

thread_local! {
    /// An address near the start of this thread's stack if [`with_large_stack`] started the thread,
    /// and `None` on all other threads.
    static STACK_START: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work` on a thread whose stack is large enough for recursion over any program that the
/// parser of P4 source or [`Program::from_json`](crate::Program::from_json) accepts. Code that
/// compiles untrusted programs should call this function. If the current thread was started by this
/// function and has enough free stack, `work` runs directly on it.
///
/// # Errors
/// Returns an error if the thread cannot be started. A panic of `work` is resumed in the caller.
pub fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    if STACK_START.get().is_some() && has_room() {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("p4".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                STACK_START.set(Some(here()));
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

/// Returns whether less than half of the stack that [`with_large_stack`] provides is in use.
///
/// Passes check this before they follow a call. Statements may nest as deep as the parser allows,
/// and calls as deep as [`CompileLimits`](crate::CompileLimits) allows, but the stack is too small
/// for deeply nested statements in each of many nested calls.
///
/// Returns true on every thread that [`with_large_stack`] did not start, since the size of its
/// stack is unknown.
#[must_use]
pub fn has_room() -> bool {
    STACK_START.get().is_none_or(|stack_start| stack_start.abs_diff(here()) < STACK_BYTES / 2)
}

/// Returns an address on the stack of the current thread, in the frame of the caller or near it.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recurses until [`has_room`] returns false, and returns the number of levels of the
    /// recursion.
    fn recurse(level: usize) -> usize {
        let frame = std::hint::black_box([0_u8; 1024]);
        let levels = if has_room() && level < STACK_BYTES { recurse(level + 1) } else { level };
        std::hint::black_box(frame);
        levels
    }

    #[test]
    fn recursion_that_checks_for_room_ends_before_the_stack_does() {
        let levels = with_large_stack(|| recurse(0)).expect("a thread");
        assert!((10_000..=STACK_BYTES / 2 / 1024).contains(&levels), "{levels}");
    }

    #[test]
    fn nested_work_runs_on_the_large_stack_of_the_outer_work() {
        let nested = with_large_stack(|| {
            let outer = std::thread::current().id();
            with_large_stack(move || std::thread::current().id() == outer)
        });
        assert!(matches!(nested, Ok(Ok(true))));
    }
}
