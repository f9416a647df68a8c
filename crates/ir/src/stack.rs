//! Room for passes that recurse over a program.

use std::io;

/// The stack that [`with_large_stack`] gives. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 << 20;

/// Runs `work` on a thread with a stack that is large enough for passes that recurse over a program as deeply as the
/// parser of P4 source and [`Program::from_json`](crate::Program::from_json) let it nest. Whoever compiles programs
/// that others wrote should do so in here.
///
/// # Errors
/// If the thread cannot be started. A panic of `work` goes on in the caller.
pub fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("p4".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
