//! Tests whether probes are lost or misdirected more often while rules change than otherwise.

use statistics::{Confidence, proportion};

/// The confidence of the two-sided interval for the share of lost or misdirected probes that were
/// sent during changes. [`Excess::is_found`] uses only the lower end of the interval, so at most
/// one in a million measurements of a correct switch reports an excess.
const CONFIDENCE: f64 = 1.0 - 2e-6;

/// The number of probes that were sent in one kind of time: during changes, or in control windows,
/// in which no rule changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The number of probes that were sent.
    pub probes: u64,
    /// The number of probes that were lost or misdirected.
    pub wrong: u64,
}

/// A comparison of the probes that were lost or misdirected during changes with those that were
/// lost or misdirected in control windows, in which no rule changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// The probes that were sent during changes.
    pub changes: Window,
    /// The probes that were sent in control windows.
    pub control: Window,
}

impl Excess {
    /// Returns whether more probes were lost or misdirected during changes than chance explains.
    ///
    /// If changes had no influence, each of these probes would fall into a change with a
    /// probability equal to the share of all probes that were sent during changes. The test is the
    /// exact binomial test of this share, given the number of these probes (J. Przyborowski, H.
    /// Wilenski, Homogeneity of results in testing samples from Poisson series, Biometrika 31,
    /// 1940).
    #[must_use]
    pub fn is_found(&self) -> bool {
        let all = self.changes.probes + self.control.probes;
        let wrong = self.changes.wrong + self.control.wrong;
        let interval = Confidence::new(CONFIDENCE)
            .and_then(|confidence| proportion(self.changes.wrong, wrong, confidence));
        interval.is_some_and(|interval| {
            self.control.probes > 0 && interval.low > self.changes.probes as f64 / all as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(changes: Window, control: Window) -> bool {
        Excess { changes, control }.is_found()
    }

    #[test]
    fn an_excess_is_one_that_chance_does_not_explain() {
        let window = |probes, wrong| Window { probes, wrong };
        // Of 20 tosses of a fair coin, all show heads once in 1,048,576 series; of 19, in 524,288.
        assert!(found(window(1000, 20), window(1000, 0)));
        assert!(!found(window(1000, 19), window(1000, 0)));
        assert!(!found(window(1000, 50), window(1000, 50)));
        assert!(!found(window(1000, 0), window(1000, 100)));
        // Without control windows nothing can be compared.
        assert!(!found(window(1000, 100), window(0, 0)));
    }
}
