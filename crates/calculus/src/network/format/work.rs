//! How much reading a file takes, counted in tests.
//!
//! What grows faster than a file is seen in a count at once and in every run, in a time on a machine that does other
//! things as well at best now and then. Counted is what could go over the same text again: looking for lines, parsing
//! parts of parts, comparing names of fields.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many bytes or names were looked at.
#[inline(always)]
pub(super) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|all| all.set(all.get() + steps as u64));
    #[cfg(not(test))]
    let _ = steps;
}

/// What `work` takes on this thread.
#[cfg(test)]
pub(super) fn of<R>(work: impl FnOnce() -> R) -> (R, u64) {
    STEPS.with(|all| all.set(0));
    let done = work();
    (done, STEPS.with(std::cell::Cell::get))
}
