//! A counter of the work that reading a file takes, for tests.
//!
//! With it, a test can check that the work grows no faster than the size of the file. Elapsed time
//! would be too unreliable for that. The counter includes everything that could process the same
//! text repeatedly: searches for lines, parsing of nested parts, comparisons of field names.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds `steps` to this thread's counter of the bytes and names that were examined.
#[inline(always)]
pub(super) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|all| all.set(all.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// Runs `work` and returns its result, with the number of bytes and names that it examined.
#[cfg(test)]
pub(super) fn of<R>(work: impl FnOnce() -> R) -> (R, u64) {
    STEPS.with(|all| all.set(0));
    let done = work();
    (done, STEPS.with(std::cell::Cell::get))
}
