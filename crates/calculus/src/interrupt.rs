//! Cooperative cancellation of long computations.
//!
//! An [`Interrupt`] is passed to work that may take long. The work ends with an error soon after
//! the interrupt is set or its deadline has passed. Operations on curves take no such argument.
//! They check the interrupt of their thread, which [`Interrupt::watched_by`] sets. The analyses
//! also check it between operations.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::AlgebraError;

thread_local! {
    /// The interrupt of each thread, which operations on curves check.
    static OF_THREAD: RefCell<Interrupt> = const { RefCell::new(Interrupt { kind: Kind::Never, end: None }) };
}

/// A condition under which a long computation must stop, such as a flag that is set or a deadline
/// that has passed. Clones share the condition.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    kind: Kind,
    /// The deadline. The interrupt counts as set after it.
    end: Option<Instant>,
}

/// The condition of an interrupt, apart from its deadline.
#[derive(Clone, Debug, Default)]
enum Kind {
    #[default]
    Never,
    Flag(Arc<AtomicBool>),
    Checks {
        made: Arc<AtomicUsize>,
        allowed: usize,
    },
}

impl From<Arc<AtomicBool>> for Interrupt {
    /// Returns an interrupt that counts as set while `flag` is true.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self { kind: Kind::Flag(flag), end: None }
    }
}

impl Interrupt {
    /// Returns an interrupt that is set after `allowed` checks. Tests use it as a deadline that
    /// counts steps of work instead of time.
    #[must_use]
    pub fn after_checks(allowed: usize) -> Self {
        Self { kind: Kind::Checks { made: Arc::default(), allowed }, end: None }
    }

    /// Returns an interrupt with the same condition that is also set once `end` has passed.
    #[must_use]
    pub fn until(&self, end: Instant) -> Self {
        let end = self.end.map_or(end, |before| before.min(end));
        Self { kind: self.kind.clone(), end: Some(end) }
    }

    /// Returns the interrupt of this thread, which [`Interrupt::watched_by`] sets.
    #[must_use]
    pub fn of_thread() -> Self {
        OF_THREAD.with(|of_thread| of_thread.borrow().clone())
    }

    /// Returns how often the interrupt was checked. Returns `None` unless the interrupt was made by
    /// [`Interrupt::after_checks`], because others count no checks.
    #[must_use]
    pub fn checks(&self) -> Option<usize> {
        match &self.kind {
            Kind::Checks { made, .. } => Some(made.load(Ordering::Relaxed)),
            Kind::Never | Kind::Flag(_) => None,
        }
    }

    /// Returns whether the interrupt is set. This call counts as a check if the interrupt counts
    /// checks (see [`Interrupt::after_checks`]).
    #[must_use]
    pub fn is_set(&self) -> bool {
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return true;
        }
        match &self.kind {
            Kind::Never => false,
            Kind::Flag(flag) => flag.load(Ordering::Relaxed),
            Kind::Checks { made, allowed } => made.fetch_add(1, Ordering::Relaxed) >= *allowed,
        }
    }

    /// Returns whether the interrupt can ever be set.
    pub(crate) fn may_be_set(&self) -> bool {
        self.end.is_some() || !matches!(self.kind, Kind::Never)
    }

    /// Runs `work` on this thread and returns its result. Once this interrupt is set, operations on
    /// curves within `work` return [`AlgebraError::Interrupted`].
    pub fn watched_by<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Restores, when it is dropped, the interrupt that the thread had before. This also
        /// happens when the work panics.
        struct Restore(Interrupt);
        impl Drop for Restore {
            fn drop(&mut self) {
                OF_THREAD
                    .with(|of_thread| std::mem::swap(&mut *of_thread.borrow_mut(), &mut self.0));
            }
        }
        let before = OF_THREAD.with(|of_thread| of_thread.replace(self.clone()));
        let _restore = Restore(before);
        work()
    }
}

/// Returns whether the interrupt of this thread is set.
pub(crate) fn is_set() -> bool {
    OF_THREAD.with(|of_thread| of_thread.borrow().is_set())
}

/// Returns an error if the interrupt of this thread is set.
///
/// # Errors
///
/// Returns [`AlgebraError::Interrupted`] if the interrupt is set.
pub(crate) fn check() -> Result<(), AlgebraError> {
    if is_set() { Err(AlgebraError::Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Rational};

    /// Returns a curve of many pieces. Two different seeds yield curves without a common structure.
    fn long(seed: i64) -> Curve {
        let stairs = |period| Curve::staircase(1, Rational::ratio(period, 10)).expect("a curve");
        stairs(7 + seed).sum(&stairs(11 + seed)).expect("a sum")
    }

    #[test]
    fn an_operation_ends_soon_after_its_interrupt_is_set() {
        let (a, b) = (long(0), long(6));
        let free = Interrupt::after_checks(usize::MAX);
        let whole = free.watched_by(|| a.convolution(&b)).expect("a convolution");
        let all = free.checks().expect("a count");
        assert!(all > 10, "it looks again and again: {all}");
        let half = Interrupt::after_checks(all / 2);
        assert_eq!(half.watched_by(|| a.convolution(&b)), Err(AlgebraError::Interrupted));
        assert_eq!(half.checks(), Some(all / 2 + 1), "it ends at once");
        // The interrupt applied only to the work passed to `watched_by`.
        assert_eq!(a.convolution(&b), Ok(whole));
    }

    #[test]
    fn a_flag_is_seen_by_all_clones() {
        let flag = Arc::new(AtomicBool::new(false));
        let interrupt = Interrupt::from(Arc::clone(&flag));
        let clone = interrupt.clone();
        assert!(!clone.is_set() && interrupt.checks().is_none());
        flag.store(true, Ordering::Relaxed);
        assert!(clone.is_set() && clone.watched_by(is_set) && !is_set());
        assert!(!Interrupt::default().is_set());
    }
}
