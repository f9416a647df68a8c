//! The search for R_min: the last of a rising series of offered rates without a lost frame (section III-G.2 of the paper).

/// Rises by doubling until a frame is lost, then again from the last rate without loss, in steps of the precision.
#[derive(Debug, Clone, PartialEq)]
pub struct RateSearch {
    next: f64,
    precision: f64,
    good: Option<f64>,
    bad: Option<f64>,
    fine: bool,
    end: Option<SearchEnd>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchEnd {
    /// The last rate of the series without loss; the next one lost frames.
    Found {
        /// In the unit of the rates.
        rate: f64,
    },
    /// The lowest rate already lost frames.
    AlwaysLoses,
    /// The generator, not the device, was at its limit: R_min is at least this.
    GeneratorLimit {
        /// What it offered last without loss.
        rate: f64,
    },
}

/// What became of an offered rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offered {
    /// What was really offered, in the unit of the rates.
    pub rate: f64,
    /// Whether a frame was lost.
    pub lost: bool,
}

impl RateSearch {
    /// A series that begins at `from`; `precision` is the share by which the last rate without loss may lie below the
    /// first with it.
    #[must_use]
    pub fn new(from: f64, precision: f64) -> Self {
        Self { next: from, precision, good: None, bad: None, fine: false, end: None }
    }

    /// The rate to offer next; `None` at the end.
    #[must_use]
    pub fn next_rate(&self) -> Option<f64> {
        self.end.is_none().then_some(self.next)
    }

    /// Takes in what became of the rate.
    pub fn record(&mut self, offered: Offered) {
        /// Below this share of what was asked for, the generator is the limit.
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
                // In the fine series the first loss ends it.
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

    /// How it ended, once it has.
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
            // Rising, but for the one time that it goes back.
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
