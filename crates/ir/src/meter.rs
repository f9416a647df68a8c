//! The steps that passes over a program take, for tests that double a program and see what that costs.
//!
//! A pass counts each time it enters a node of what it walks over, each round of a loop until nothing changes,
//! and each element that it compares while it searches. Seconds differ from run to run, steps do not.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps of the pass that runs on this thread.
#[inline]
pub fn count(steps: usize) {
    STEPS.set(STEPS.get().wrapping_add(steps as u64));
}

/// Returns the steps counted on this thread so far, and on those that
/// [`with_large_stack`](crate::with_large_stack) started for it.
#[must_use]
pub fn steps() -> u64 {
    STEPS.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_on_a_large_stack_are_those_of_the_caller() {
        let before = steps();
        count(2);
        crate::with_large_stack(|| count(3)).expect("a thread");
        assert_eq!(steps() - before, 5);
    }
}
