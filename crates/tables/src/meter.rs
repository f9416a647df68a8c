//! Meters: the single-rate (RFC 2697) and two-rate (RFC 2698) three-colour markers, one for each entry.
//!
//! Token buckets are filled exactly: a token is counted in units of 10^-9, so that rate times nanoseconds needs no
//! rounding at any rate. Filling and taking are one step under the meter's own lock; so packets on several cores
//! share the tokens as if they had come one after the other. Time is handed in; where cores disagree about it, the
//! latest counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::entry::Position;

/// Parts of a token: rates are per second and time is in nanoseconds.
const TOKEN: u128 = 1_000_000_000;

/// A packet's colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Colour {
    /// Within the committed rate.
    #[default]
    Green,
    /// Beyond it and within what may be exceeded.
    Yellow,
    /// Beyond that.
    Red,
}

/// A meter's rates and bursts, in units per second and units; a unit is a byte or a packet, as the caller counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MeterConfig {
    /// RFC 2697: one rate and two bursts.
    SingleRate {
        /// Committed information rate (CIR).
        rate: u64,
        /// Committed burst size (CBS).
        committed_burst: u64,
        /// Excess burst size (EBS).
        excess_burst: u64,
    },
    /// RFC 2698: two rates with a burst each.
    TwoRate {
        /// Committed information rate (CIR).
        committed_rate: u64,
        /// Committed burst size (CBS).
        committed_burst: u64,
        /// Peak information rate (PIR).
        peak_rate: u64,
        /// Peak burst size (PBS).
        peak_burst: u64,
    },
}

/// A meter: its configuration and its two buckets. Without a configuration every packet is green.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meter {
    config: Option<MeterConfig>,
    /// Parts of tokens in the committed bucket.
    committed: u128,
    /// Parts of tokens in the excess (RFC 2697) or peak (RFC 2698) bucket.
    beyond: u128,
    /// Nanoseconds up to which the buckets have been filled.
    filled: u64,
}

impl Meter {
    /// A meter with full buckets at `now`, as both RFCs begin.
    pub fn new(config: MeterConfig, now: u64) -> Self {
        let (committed, beyond) = match config {
            MeterConfig::SingleRate { committed_burst, excess_burst, .. } => {
                (committed_burst, excess_burst)
            }
            MeterConfig::TwoRate { committed_burst, peak_burst, .. } => {
                (committed_burst, peak_burst)
            }
        };
        Self {
            config: Some(config),
            committed: u128::from(committed) * TOKEN,
            beyond: u128::from(beyond) * TOKEN,
            filled: now,
        }
    }

    /// The configuration, if there is one.
    pub fn config(&self) -> Option<MeterConfig> {
        self.config
    }

    /// Marks a packet of `units` at `now` nanoseconds. `before` is the colour that it comes with; green in
    /// colour-blind mode.
    pub fn mark(&mut self, units: u64, before: Colour, now: u64) -> Colour {
        let Some(config) = self.config else { return before };
        let elapsed = u128::from(now.saturating_sub(self.filled));
        self.filled = self.filled.max(now);
        let wanted = u128::from(units) * TOKEN;
        match config {
            MeterConfig::SingleRate { rate, committed_burst, excess_burst } => {
                let committed_most = u128::from(committed_burst) * TOKEN;
                // Tokens that the committed bucket has no room for go into the excess bucket.
                let arrived = u128::from(rate) * elapsed;
                let taken = arrived.min(committed_most - self.committed);
                self.committed += taken;
                self.beyond =
                    (self.beyond + (arrived - taken)).min(u128::from(excess_burst) * TOKEN);
                if before == Colour::Green && self.committed >= wanted {
                    self.committed -= wanted;
                    Colour::Green
                } else if before != Colour::Red && self.beyond >= wanted {
                    self.beyond -= wanted;
                    Colour::Yellow
                } else {
                    Colour::Red
                }
            }
            MeterConfig::TwoRate { committed_rate, committed_burst, peak_rate, peak_burst } => {
                let fill = |tokens: u128, rate: u64, burst: u64| {
                    (tokens + u128::from(rate) * elapsed).min(u128::from(burst) * TOKEN)
                };
                self.committed = fill(self.committed, committed_rate, committed_burst);
                self.beyond = fill(self.beyond, peak_rate, peak_burst);
                if before == Colour::Red || self.beyond < wanted {
                    return Colour::Red;
                }
                self.beyond -= wanted;
                if before == Colour::Yellow || self.committed < wanted {
                    return Colour::Yellow;
                }
                self.committed -= wanted;
                Colour::Green
            }
        }
    }
}

/// The meters of a table's entries, or of one shard's.
pub struct DirectMeters {
    meters: Box<[Mutex<Meter>]>,
}

impl DirectMeters {
    pub(crate) fn new(positions: usize) -> Self {
        Self { meters: (0..positions).map(|_| Mutex::default()).collect() }
    }

    fn meter(&self, position: Position) -> Option<MutexGuard<'_, Meter>> {
        // A meter is whole between any two of its steps.
        let meter = self.meters.get(position.0 as usize)?;
        Some(meter.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Marks a packet with the meter of the entry at a position; see [`Meter::mark`].
    #[inline]
    pub fn mark(&self, position: Position, units: u64, before: Colour, now: u64) -> Colour {
        self.meter(position).map_or(before, |mut meter| meter.mark(units, before, now))
    }

    /// The meter of the entry at a position.
    pub fn read(&self, position: Position) -> Meter {
        self.meter(position).map_or_else(Meter::default, |meter| *meter)
    }

    /// Replaces the meter of the entry at a position.
    pub fn write(&self, position: Position, meter: Meter) {
        if let Some(mut current) = self.meter(position) {
            *current = meter;
        }
    }
}

impl std::fmt::Debug for DirectMeters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectMeters").field("positions", &self.meters.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Colour::{Green, Red, Yellow};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn marks(meter: &mut Meter, packets: &[(u64, u64)]) -> Vec<Colour> {
        packets.iter().map(|&(now, units)| meter.mark(units, Green, now)).collect()
    }

    #[test]
    fn a_single_rate_marker_spends_the_committed_burst_then_the_excess_burst() {
        let config = MeterConfig::SingleRate { rate: 100, committed_burst: 200, excess_burst: 100 };
        let mut meter = Meter::new(config, 0);
        assert_eq!(
            marks(&mut meter, &[(0, 150), (0, 100), (0, 50), (0, 1)]),
            [Green, Yellow, Green, Red]
        );
        // 1 s brings 100 tokens, all for the committed bucket.
        assert_eq!(marks(&mut meter, &[(SECOND, 100), (SECOND, 1)]), [Green, Red]);
        // 2.5 s bring 250: 200 to the brim, 50 over it.
        assert_eq!(
            marks(&mut meter, &[(SECOND * 7 / 2, 200), (SECOND * 7 / 2, 50), (SECOND * 7 / 2, 1)]),
            [Green, Yellow, Red]
        );
    }

    #[test]
    fn a_two_rate_marker_follows_both_rates() {
        let config = MeterConfig::TwoRate {
            committed_rate: 100,
            committed_burst: 100,
            peak_rate: 200,
            peak_burst: 200,
        };
        let mut meter = Meter::new(config, 0);
        assert_eq!(marks(&mut meter, &[(0, 100), (0, 100), (0, 1)]), [Green, Yellow, Red]);
        // Half a second: 50 committed, 100 peak.
        assert_eq!(
            marks(&mut meter, &[(SECOND / 2, 50), (SECOND / 2, 50), (SECOND / 2, 1)]),
            [Green, Yellow, Red]
        );
    }

    #[test]
    fn a_colour_that_a_packet_comes_with_is_never_improved() {
        for config in [
            MeterConfig::SingleRate { rate: 1, committed_burst: 100, excess_burst: 100 },
            MeterConfig::TwoRate {
                committed_rate: 1,
                committed_burst: 100,
                peak_rate: 1,
                peak_burst: 100,
            },
        ] {
            let mut meter = Meter::new(config, 0);
            assert_eq!(meter.mark(10, Red, 0), Red);
            assert_eq!(meter.mark(10, Yellow, 0), Yellow);
            assert_eq!(meter.mark(90, Green, 0), Green);
        }
    }

    #[test]
    fn no_token_is_lost_to_rounding_nor_to_a_clock_that_goes_back() {
        let config = MeterConfig::TwoRate {
            committed_rate: 3,
            committed_burst: 1,
            peak_rate: 1000,
            peak_burst: 9,
        };
        let mut meter = Meter::new(config, 0);
        // 3 units a second, asked for every microsecond over 10 s, some of them in the past: 30 and the first.
        let green = (0..10_000_000_u64)
            .step_by(if cfg!(miri) { 100_000 } else { 1 })
            .filter(|micros| meter.mark(1, Green, (micros ^ 1) * 1000) == Green)
            .count();
        assert!((30..=31).contains(&green), "{green}");
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for config in [
            MeterConfig::SingleRate {
                rate: u64::MAX,
                committed_burst: u64::MAX,
                excess_burst: u64::MAX,
            },
            MeterConfig::TwoRate {
                committed_rate: u64::MAX,
                committed_burst: u64::MAX,
                peak_rate: u64::MAX,
                peak_burst: u64::MAX,
            },
        ] {
            let mut meter = Meter::new(config, 0);
            assert_eq!(meter.mark(u64::MAX, Green, u64::MAX / 2), Green);
            assert_eq!(meter.mark(u64::MAX, Green, u64::MAX), Green);
        }
    }

    #[test]
    fn cores_share_the_tokens_of_a_meter() {
        let meters = DirectMeters::new(1);
        let burst = if cfg!(miri) { 60 } else { 30_000 };
        let config = MeterConfig::SingleRate { rate: 0, committed_burst: burst, excess_burst: 0 };
        meters.write(Position(0), Meter::new(config, 0));
        let green: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        (0..burst)
                            .filter(|_| meters.mark(Position(0), 1, Green, 0) == Green)
                            .count() as u64
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(green, burst);
        assert_eq!(meters.mark(Position(5), 1, Yellow, 0), Yellow, "no such meter");
    }
}
