//! A counter of the steps that compiler passes take, for tests that double the size of a program
//! and check by which factor the number of steps grows.
//!
//! A pass counts a step each time it visits a node of the program, each time a fixed-point loop
//! iterates, and each time a search compares an element. The number of steps is deterministic,
//! unlike the time that a pass takes.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Adds `steps` to the number of steps counted on this thread.
#[inline]
pub fn count(steps: usize) {
    STEPS.set(STEPS.get().wrapping_add(steps as u64));
}

/// Returns the number of steps counted on this thread so far. It includes the steps of threads that
/// this thread has started with [`with_large_stack`](crate::with_large_stack).
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
