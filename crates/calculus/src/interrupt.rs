//! Cooperative cancellation of long computations.
//!
//! An [`Interrupt`] is passed to work that may take long. The work ends with an error soon after
//! the interrupt is set or its deadline has passed. Operations on curves take no such argument.
//! They check the interrupt of their thread, which [`Interrupt::watched_by`] sets, about once for
//! each millisecond of work. The analyses also check it between operations.
//!
//! The condition may be a flag, or anything that a caller implements as a [`Stop`].

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::AlgebraError;

thread_local! {
    /// The interrupt of each thread, which operations on curves check.
    static OF_THREAD: RefCell<Interrupt> = const { RefCell::new(Interrupt { kind: Kind::Never, end: None }) };
    /// The number of steps of work since the thread last checked its interrupt, see [`step`].
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// The number of steps of work after which [`step`] checks the interrupt. A step visits one
/// breakpoint, which takes about a microsecond with numbers in machine words.
const STEPS_PER_CHECK: u32 = 1 << 10;

/// A condition under which a long computation must stop, defined by the caller. For example, a
/// program with a user interface may look for a key that was pressed.
///
/// Computations call [`Stop::is_stopped`] about once for each millisecond of work, from all of
/// their threads.
pub trait Stop: Send + Sync {
    /// Returns whether computations must stop. Once it has returned `true`, it must continue to
    /// return `true`.
    fn is_stopped(&self) -> bool;
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
#[derive(Clone, Default)]
enum Kind {
    #[default]
    Never,
    Flag(Arc<AtomicBool>),
    Stop(Arc<dyn Stop>),
    Checks {
        made: Arc<AtomicUsize>,
        allowed: usize,
    },
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("Never"),
            Self::Flag(flag) => f.debug_tuple("Flag").field(flag).finish(),
            Self::Stop(_) => f.write_str("Stop"),
            Self::Checks { made, allowed } => {
                f.debug_struct("Checks").field("made", made).field("allowed", allowed).finish()
            }
        }
    }
}

impl From<Arc<AtomicBool>> for Interrupt {
    /// Returns an interrupt that counts as set while `flag` is true.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self { kind: Kind::Flag(flag), end: None }
    }
}

impl From<Arc<dyn Stop>> for Interrupt {
    /// Returns an interrupt that counts as set once `stop` says so.
    fn from(stop: Arc<dyn Stop>) -> Self {
        Self { kind: Kind::Stop(stop), end: None }
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
            Kind::Never | Kind::Flag(_) | Kind::Stop(_) => None,
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
            Kind::Stop(stop) => stop.is_stopped(),
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
    // A condition of the caller's own may run an operation on curves itself, with another
    // interrupt, so the thread's interrupt is not borrowed meanwhile.
    Interrupt::of_thread().is_set()
}

/// Returns an error if the interrupt of this thread is set.
///
/// # Errors
///
/// Returns [`AlgebraError::Interrupted`] if the interrupt is set.
pub(crate) fn check() -> Result<(), AlgebraError> {
    STEPS.set(0);
    if is_set() { Err(AlgebraError::Interrupted) } else { Ok(()) }
}

/// Counts a step of work, and checks the interrupt of this thread after every
/// [`STEPS_PER_CHECK`] steps. The loops that visit the breakpoints of curves call it, since a check
/// in each turn would slow them down.
///
/// # Errors
///
/// Returns [`AlgebraError::Interrupted`] if the interrupt is set.
pub(crate) fn step() -> Result<(), AlgebraError> {
    let steps = STEPS.get() + 1;
    STEPS.set(steps);
    if steps < STEPS_PER_CHECK { Ok(()) } else { check() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Piece, Rational};

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

    /// Returns a curve of 5,000 pieces without a period, whose slopes alternate.
    fn jagged(thirds: i64) -> Curve {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut value = Rational::ZERO;
        for k in 0..5_000 {
            let start = if k == 0 { Rational::ZERO } else { Rational::ratio(3 * k + thirds, 3) };
            if let Some(last) = pieces.last() {
                value += &(last.slope() * &(&start - last.start()));
            }
            pieces.push(Piece::continuous(start, value.clone(), 1 + k % 2));
        }
        Curve::ultimately_affine(pieces).expect("a curve")
    }

    /// Each operation is a single sweep over 10,000 breakpoints.
    #[test]
    fn a_sweep_checks_its_interrupt_once_per_thousand_breakpoints() {
        let (a, b) = (jagged(0), jagged(1));
        for sweep in [Curve::sum, Curve::minimum, Curve::difference] {
            let free = Interrupt::after_checks(usize::MAX);
            free.watched_by(|| sweep(&a, &b)).expect("a curve");
            let checks = free.checks().expect("a count");
            assert!((8..=11).contains(&checks), "{checks} checks");
            let half = Interrupt::after_checks(checks / 2);
            assert_eq!(half.watched_by(|| sweep(&a, &b)), Err(AlgebraError::Interrupted));
            assert_eq!(half.checks(), Some(checks / 2 + 1), "it ends at once");
        }
    }

    /// A condition of the caller's own: it stops from the third check on.
    #[derive(Default)]
    struct Third(AtomicUsize);

    impl Stop for Third {
        fn is_stopped(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 2
        }
    }

    #[test]
    fn a_condition_of_the_caller_stops_an_operation() {
        let (a, b) = (long(0), long(6));
        let third = Arc::new(Third::default());
        let interrupt = Interrupt::from(Arc::clone(&third) as Arc<dyn Stop>);
        assert!(interrupt.may_be_set() && interrupt.checks().is_none());
        assert_eq!(interrupt.watched_by(|| a.convolution(&b)), Err(AlgebraError::Interrupted));
        assert_eq!(third.0.load(Ordering::Relaxed), 3, "it ends at the third check");
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
