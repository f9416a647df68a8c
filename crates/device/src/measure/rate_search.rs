//! Searches for R_min: the last of a rising series of offered rates at which a device loses no
//! frame (Helm et al., section III-G.2).
//!
//! R_min is defined by one rising series that ends with the first lost frame. This definition makes
//! device models comparable with published ones, which were measured in this way.
//! `measuring::search` answers another question, so it shares no code with this module: it
//! estimates the highest rate that a system sustains, from repeated trials, with a stated
//! confidence, and by the growth of a backlog.

/// A search for the highest rate without loss, in two series. The first doubles the rate until a
/// frame is lost. The second starts from the last rate without loss and rises in steps of the
/// precision.
#[derive(Debug, Clone, PartialEq)]
pub struct RateSearch {
    next: f64,
    precision: f64,
    good: Option<f64>,
    bad: Option<f64>,
    fine: bool,
    end: Option<SearchEnd>,
}

/// The result of a search for the highest rate without loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchEnd {
    /// A rate without loss was found, and the next higher rate lost frames.
    Found {
        /// The highest rate without loss, in the unit of the offered rates.
        rate: f64,
    },
    /// Even the lowest rate lost frames.
    AlwaysLoses,
    /// The generator reached its own limit before the device lost packets, so that R_min is at
    /// least this rate.
    GeneratorLimit {
        /// The highest rate that was offered without loss.
        rate: f64,
    },
}

/// The result of sending packets at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offered {
    /// The rate at which packets were actually sent.
    pub rate: f64,
    /// Whether the device lost a frame at this rate.
    pub lost: bool,
}

impl RateSearch {
    /// Creates a search that begins at the rate `from`. It ends when the last rate without loss and
    /// the first rate with loss differ by at most the share `precision`.
    #[must_use]
    pub fn new(from: f64, precision: f64) -> Self {
        Self { next: from, precision, good: None, bad: None, fine: false, end: None }
    }

    /// Returns the rate that is to be tried next, or `None` once the search has ended.
    #[must_use]
    pub fn next_rate(&self) -> Option<f64> {
        self.end.is_none().then_some(self.next)
    }

    /// Records the result of trying the rate of [`next_rate`](Self::next_rate).
    pub fn record(&mut self, offered: Offered) {
        /// If the actual rate is below this share of the requested rate, the generator has reached
        /// its limit.
        const REACHED: f64 = 0.95;
        if offered.lost {
            self.bad = Some(self.next);
        } else if offered.rate < self.next * REACHED {
            let rate = self.good.map_or(offered.rate, |good| good.max(offered.rate));
            self.end = Some(SearchEnd::GeneratorLimit { rate });
            return;
        } else {
            self.good = Some(self.next);
        }
        self.end = match (self.good, self.bad) {
            (None, Some(_)) => Some(SearchEnd::AlwaysLoses),
            (Some(good), Some(bad)) if self.fine || bad <= good * (1.0 + self.precision) => {
                // The first loss ends the series of fine steps.
                (offered.lost || bad <= good * (1.0 + self.precision))
                    .then_some(SearchEnd::Found { rate: good })
            }
            _ => None,
        };
        if self.end.is_some() {
            return;
        }
        self.next = match (self.good, self.bad) {
            (Some(good), None) => good * 2.0,
            (Some(good), Some(_)) => {
                self.fine = true;
                good * (1.0 + self.precision)
            }
            _ => self.next,
        };
    }

    /// Returns the result of the search, or `None` while it has not ended.
    #[must_use]
    pub fn end(&self) -> Option<SearchEnd> {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(from: f64, precision: f64, device: f64, generator: f64) -> (SearchEnd, Vec<f64>) {
        let mut search = RateSearch::new(from, precision);
        let mut offered = Vec::new();
        while let Some(asked) = search.next_rate() {
            let rate = asked.min(generator);
            offered.push(asked);
            assert!(offered.len() < 200, "it ends: {offered:?}");
            search.record(Offered { rate, lost: rate > device });
        }
        (search.end().expect("it ended"), offered)
    }

    #[test]
    fn the_limit_of_a_device_is_found_within_the_precision() {
        for device in [1_000.0, 1_234.5, 99_999.0, 5e6] {
            let (end, offered) = search(1_000.0, 0.05, device, 1e9);
            let SearchEnd::Found { rate } = end else { panic!("{end:?}") };
            assert!(rate <= device && device < rate * 1.05 * 1.000_001, "{device}: {rate}");
            // The series falls only once, at the start of the fine series.
            let falls = offered.windows(2).filter(|pair| pair[1] <= pair[0]).count();
            assert!(falls <= 1, "{offered:?}");
        }
    }

    #[test]
    fn what_is_not_the_limit_of_the_device_is_not_called_so() {
        assert_eq!(search(1_000.0, 0.1, 500.0, 1e9).0, SearchEnd::AlwaysLoses);
        let (end, _) = search(1_000.0, 0.1, 1e9, 50_000.0);
        assert_eq!(end, SearchEnd::GeneratorLimit { rate: 50_000.0 });
    }
}
