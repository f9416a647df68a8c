//! Meters with three colours and two rates (RFC 2698) or one rate (RFC 2697).
//!
//! Token counts are stored in units of 10^-9 tokens, so that a rate in tokens per second times
//! nanoseconds is exact and no time is lost between packets, however close together they arrive.

use std::time::Duration;

/// The number of units in one token.
const PARTS: u128 = 1_000_000_000;

/// The colour of a packet. The numbers are those of v1model; other architectures have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Color {
    /// The packet is within the committed rate and burst.
    Green,
    /// The packet is above the committed rate, but within the peak rate or the excess burst.
    Yellow,
    /// The packet is above the peak rate or the excess burst.
    Red,
}

/// The configuration of a meter. Rates are in bytes or packets per second, bursts in bytes or
/// packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterConfig {
    /// A two-rate three-colour marker (RFC 2698).
    TwoRate {
        /// The committed information rate, in bytes or packets per second.
        committed_rate: u64,
        /// The committed burst size, in bytes or packets.
        committed_burst: u64,
        /// The peak information rate, in bytes or packets per second.
        peak_rate: u64,
        /// The peak burst size, in bytes or packets.
        peak_burst: u64,
    },
    /// A single-rate three-colour marker (RFC 2697). It has only two colours if there is no excess
    /// burst.
    SingleRate {
        /// The committed information rate, in bytes or packets per second.
        committed_rate: u64,
        /// The committed burst size, in bytes or packets.
        committed_burst: u64,
        /// The excess burst size, in bytes or packets.
        excess_burst: u64,
    },
}

/// The state of a meter. A meter without a configuration leaves the colour of each packet
/// unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    running: Option<Running>,
}

/// The state of a meter with a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running {
    config: MeterConfig,
    /// The tokens in the first bucket, in units of 10^-9 tokens. Both RFCs call it Tc.
    committed: u128,
    /// The tokens in the second bucket, in units of 10^-9 tokens. RFC 2698 calls it Tp, and RFC
    /// 2697 Te.
    second: u128,
    /// The time up to which tokens have been added to the buckets.
    updated: Duration,
}

impl Meter {
    /// Sets the configuration of the meter and fills its buckets. `None` removes the configuration.
    pub(crate) fn configure(&mut self, config: Option<MeterConfig>, now: Duration) {
        self.running = config.map(|config| {
            let (committed, second) = bursts(&config);
            Running { config, committed, second, updated: now }
        });
    }

    pub(crate) fn config(&self) -> Option<MeterConfig> {
        self.running.map(|running| running.config)
    }

    /// Meters a packet and returns its colour. `size` is the packet's size in bytes, or 1 for a
    /// meter of packets. `before` is the packet's previous colour, which must be green for
    /// colour-blind use.
    pub(crate) fn execute(&mut self, size: u64, before: Color, now: Duration) -> Color {
        let Some(running) = &mut self.running else { return before };
        running.refill(now);
        let size = u128::from(size) * PARTS;
        let takes = |bucket: &mut u128| match bucket.checked_sub(size) {
            Some(rest) => {
                *bucket = rest;
                true
            }
            None => false,
        };
        match running.config {
            MeterConfig::TwoRate { .. } => {
                if before == Color::Red || running.second < size {
                    return Color::Red;
                }
                running.second -= size;
                if before == Color::Green && takes(&mut running.committed) {
                    Color::Green
                } else {
                    Color::Yellow
                }
            }
            MeterConfig::SingleRate { .. } => {
                if before == Color::Green && takes(&mut running.committed) {
                    Color::Green
                } else if before != Color::Red && takes(&mut running.second) {
                    Color::Yellow
                } else {
                    Color::Red
                }
            }
        }
    }
}

impl Running {
    fn refill(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_nanos();
        self.updated = self.updated.max(now);
        let (committed_full, second_full) = bursts(&self.config);
        match self.config {
            MeterConfig::TwoRate { committed_rate, peak_rate, .. } => {
                self.committed = filled(self.committed, committed_rate, elapsed, committed_full);
                self.second = filled(self.second, peak_rate, elapsed, second_full);
            }
            MeterConfig::SingleRate { committed_rate, .. } => {
                // Tokens that exceed the committed bucket go to the excess bucket.
                let new = u128::from(committed_rate).saturating_mul(elapsed);
                let room = committed_full.saturating_sub(self.committed);
                self.committed += new.min(room);
                let over = new.saturating_sub(room);
                self.second = self.second.saturating_add(over).min(second_full);
            }
        }
    }
}

fn filled(tokens: u128, rate: u64, nanoseconds: u128, full: u128) -> u128 {
    tokens.saturating_add(u128::from(rate).saturating_mul(nanoseconds)).min(full)
}

/// Returns the capacities of the first and the second bucket, in units of 10^-9 tokens.
fn bursts(config: &MeterConfig) -> (u128, u128) {
    let (committed, second) = match config {
        MeterConfig::TwoRate { committed_burst, peak_burst, .. } => (committed_burst, peak_burst),
        MeterConfig::SingleRate { committed_burst, excess_burst, .. } => {
            (committed_burst, excess_burst)
        }
    };
    (u128::from(*committed) * PARTS, u128::from(*second) * PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn running(config: MeterConfig) -> Meter {
        let mut meter = Meter::default();
        meter.configure(Some(config), at(0));
        meter
    }

    fn colours(meter: &mut Meter, size: u64, count: usize, now: Duration) -> Vec<Color> {
        (0..count).map(|_| meter.execute(size, Color::Green, now)).collect()
    }

    #[test]
    fn without_configuration_everything_is_green() {
        let mut meter = Meter::default();
        assert_eq!(meter.execute(u64::MAX, Color::Green, at(0)), Color::Green);
    }

    #[test]
    fn a_meter_of_two_rates_colours_by_both_buckets() {
        use Color::{Green, Red, Yellow};
        let mut meter = running(MeterConfig::TwoRate {
            committed_rate: 1000,
            committed_burst: 200,
            peak_rate: 2000,
            peak_burst: 400,
        });
        assert_eq!(colours(&mut meter, 100, 5, at(0)), [Green, Green, Yellow, Yellow, Red]);
        // After 100 ms there are 100 committed and 200 peak tokens.
        assert_eq!(colours(&mut meter, 100, 3, at(100)), [Green, Yellow, Red]);
        // Buckets do not grow beyond their burst.
        assert_eq!(colours(&mut meter, 100, 5, at(60_000)), [Green, Green, Yellow, Yellow, Red]);
    }

    #[test]
    fn a_coloured_packet_gets_no_better() {
        let config = MeterConfig::TwoRate {
            committed_rate: 1,
            committed_burst: 10,
            peak_rate: 1,
            peak_burst: 10,
        };
        let mut meter = running(config);
        assert_eq!(meter.execute(1, Color::Red, at(0)), Color::Red);
        assert_eq!(meter.execute(1, Color::Yellow, at(0)), Color::Yellow);
        // The red packet took no tokens, and the yellow packet only took some of the peak bucket.
        assert_eq!(colours(&mut meter, 9, 1, at(0)), [Color::Green]);
    }

    #[test]
    fn a_meter_of_one_rate_fills_the_excess_bucket_last() {
        use Color::{Green, Red, Yellow};
        let mut meter = running(MeterConfig::SingleRate {
            committed_rate: 1000,
            committed_burst: 200,
            excess_burst: 100,
        });
        assert_eq!(colours(&mut meter, 100, 4, at(0)), [Green, Green, Yellow, Red]);
        // 250 new tokens: 200 fill the committed bucket, 50 go to the excess bucket.
        assert_eq!(colours(&mut meter, 50, 6, at(250)), [Green, Green, Green, Green, Yellow, Red]);
    }

    #[test]
    fn parts_of_a_token_are_not_lost() {
        let mut meter = running(MeterConfig::SingleRate {
            committed_rate: 3,
            committed_burst: 2,
            excess_burst: 0,
        });
        let mut green = 0;
        for millisecond in 0..=1000 {
            green += u32::from(meter.execute(1, Color::Green, at(millisecond)) == Color::Green);
        }
        // Two packets pass at the start, and three in the following second.
        assert_eq!(green, 5);
    }
}
