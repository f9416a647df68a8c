//! Checks of the delays of packets, or of the number of packets, that cross a network.
//!
//! A check is updated whenever a packet leaves the network, so it stores no packets.

use super::script::{Comparison, Pattern};
use std::fmt::Write;
use std::time::Duration;

/// A check of the packets that enter a network at one given port and leave it at another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The port at which the packets enter.
    pub from: u32,
    /// The port by which they leave.
    pub to: u32,
    /// The time after which packets must leave to be counted.
    pub since: Duration,
    /// The condition that these packets must meet.
    pub condition: Requirement,
}

/// The condition that a [`Check`] verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// A condition on the delays of packets. A delay lasts from the arrival of the packet until its
    /// last bit has left the network.
    Delay {
        /// The statistic of the delays that is compared.
        statistic: Statistic,
        /// The comparison that must hold.
        operator: Comparison,
        /// The delay with which the statistic is compared.
        bound: Duration,
    },
    /// A condition on the number of packets.
    Packets {
        /// The comparison that must hold.
        operator: Comparison,
        /// The number with which the number of packets is compared.
        number: u64,
        /// The pattern that packets must match to be counted, or `None` to count all packets.
        pattern: Option<Pattern>,
    },
}

/// A statistic of the delays of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The smallest delay.
    Smallest,
    /// The mean delay.
    Mean,
    /// The largest delay.
    Largest,
    /// At least this share of the packets must have a delay that meets the condition.
    Share(Share),
}

/// A share of packets, in thousandths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    const WHOLE: u32 = 100_000;

    /// Parses a percentage without the percent sign, such as `99.9`. Returns `None` if the text is
    /// not a number, or if the number is above 100 or has more than three decimals.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
            return None;
        }
        let whole: u32 = whole.parse().ok()?;
        let decimals: u32 = format!("{decimals:0<3}").parse().ok()?;
        let share = whole.checked_mul(1000)?.checked_add(decimals)?;
        (share <= Self::WHOLE).then_some(Self(share))
    }

    /// Returns whether `part` of `whole` packets is at least this share.
    fn is_met(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(Self::WHOLE) >= u128::from(whole) * u128::from(self.0)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = format!("{:03}", self.0 % 1000);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{}%", self.0 / 1000),
            decimals => write!(f, "{}.{decimals}%", self.0 / 1000),
        }
    }
}

/// A packet that has left a network.
pub(super) struct Departed<'p> {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) time: Duration,
    pub(super) delay: Duration,
    pub(super) packet: &'p [u8],
}

/// The counts so far of a check in a script.
pub(super) struct Tally {
    pub(super) line: usize,
    pub(super) check: Check,
    packets: u64,
    /// The number of packets whose delays meet the condition.
    meeting: u64,
    total: Duration,
    smallest: Duration,
    largest: Duration,
}

/// The result of a check.
pub(super) struct Outcome {
    /// The measured value, as text.
    pub(super) found: String,
    /// The condition as text if the value violates it, or `None` if the value meets it.
    pub(super) violated: Option<String>,
}

impl Tally {
    pub(super) fn new(line: usize, check: Check) -> Self {
        Self {
            line,
            check,
            packets: 0,
            meeting: 0,
            total: Duration::ZERO,
            smallest: Duration::MAX,
            largest: Duration::ZERO,
        }
    }

    /// Counts a packet if it entered and left by the ports of the check, and left at or after the
    /// check's starting time.
    pub(super) fn count(&mut self, departed: &Departed<'_>) {
        let Departed { from, to, time, delay, packet } = *departed;
        let Check { since, condition, .. } = &self.check;
        if (from, to) != (self.check.from, self.check.to) || time < *since {
            return;
        }
        match condition {
            Requirement::Delay { operator, bound, .. } => {
                self.meeting += u64::from(operator.holds(delay, *bound));
            }
            Requirement::Packets { pattern: Some(pattern), .. } if !pattern.matches(packet) => {
                return;
            }
            Requirement::Packets { .. } => {}
        }
        self.packets += 1;
        self.total = self.total.saturating_add(delay);
        self.smallest = self.smallest.min(delay);
        self.largest = self.largest.max(delay);
    }

    /// Returns the result of the check for the packets that were counted. `name` returns the name
    /// of a port.
    pub(super) fn outcome(&self, name: &dyn Fn(u32) -> String) -> Outcome {
        let Check { from, to, since, condition } = &self.check;
        let mut found = format!("{} > {}", name(*from), name(*to));
        // Writing to a string never fails.
        if *since > Duration::ZERO {
            let _ = write!(found, " since {since:?}");
        }
        let packets = match self.packets {
            1 => "1 packet".to_owned(),
            packets => format!("{packets} packets"),
        };
        let (statistic, operator, bound) = match condition {
            Requirement::Packets { operator, number, .. } => {
                let _ = write!(found, ": {packets}");
                let violated = (!operator.holds(self.packets, *number))
                    .then(|| format!("{operator} {number}"));
                return Outcome { found, violated };
            }
            Requirement::Delay { statistic, operator, bound } => (*statistic, *operator, *bound),
        };
        let expected = format!("{operator} {bound:?}");
        if self.packets == 0 {
            // Without packets, there are no delays to compare.
            found += ": no packet left";
            return Outcome { found, violated: Some(format!("a delay {expected}")) };
        }
        let (text, holds) = match statistic {
            Statistic::Smallest => (
                format!("smallest delay {:?}", self.smallest),
                operator.holds(self.smallest, bound),
            ),
            Statistic::Largest => {
                (format!("largest delay {:?}", self.largest), operator.holds(self.largest, bound))
            }
            Statistic::Mean => {
                let total = self.total.as_nanos();
                let packets = u128::from(self.packets);
                let mean = u64::try_from(total / packets).unwrap_or(u64::MAX);
                let holds = operator.holds(total, bound.as_nanos().saturating_mul(packets));
                (format!("mean delay {:?}", Duration::from_nanos(mean)), holds)
            }
            Statistic::Share(share) => {
                let part = u128::from(self.meeting) * u128::from(Share::WHOLE);
                let part = u32::try_from(part / u128::from(self.packets)).unwrap_or(Share::WHOLE);
                let text = format!("{} have a delay {expected}", Share(part));
                (text, share.is_met(self.meeting, self.packets))
            }
        };
        let _ = write!(found, ", {packets}: {text}");
        let violated = (!holds).then(|| match statistic {
            Statistic::Share(share) => format!("at least {share}"),
            Statistic::Smallest | Statistic::Mean | Statistic::Largest => expected,
        });
        Outcome { found, violated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_up_to_three_decimals() {
        for (text, shown) in [
            ("99", "99%"),
            ("99.9", "99.9%"),
            ("0.125", "0.125%"),
            ("100", "100%"),
            ("7.50", "7.5%"),
        ] {
            assert_eq!(Share::parse(text).map(|share| share.to_string()).as_deref(), Some(shown));
        }
        for text in ["", ".5", "5.", "100.001", "1e2", "-1", "1.2345", "99999999999"] {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }

    fn outcome(condition: Requirement, delays: &[u64]) -> (String, Option<String>) {
        let since = Duration::from_millis(1);
        let mut tally = Tally::new(1, Check { from: 1, to: 2, since, condition });
        let departed = |from, to, time, delay| Departed {
            from,
            to,
            time: Duration::from_millis(time),
            delay: Duration::from_millis(delay),
            packet: &[0x45],
        };
        for delay in delays {
            tally.count(&departed(1, 2, 1, *delay));
        }
        // The check does not count these packets: another output port, another input port, and too
        // early.
        for other in [departed(1, 3, 1, 99), departed(2, 2, 1, 99), departed(1, 2, 0, 99)] {
            tally.count(&other);
        }
        let outcome = tally.outcome(&|port| format!("h{port}"));
        (outcome.found, outcome.violated)
    }

    #[test]
    fn delays_are_compared_exactly() {
        let delays = [1, 2, 3, 5];
        for (statistic, holds, fails, text) in [
            (Statistic::Smallest, 1, 0, "smallest delay 1ms"),
            (Statistic::Mean, 3, 2, "mean delay 2.75ms"),
            (Statistic::Largest, 5, 4, "largest delay 5ms"),
        ] {
            let of = |bound| Requirement::Delay {
                statistic,
                operator: Comparison::LessOrEqual,
                bound: Duration::from_millis(bound),
            };
            let found = format!("h1 > h2 since 1ms, 4 packets: {text}");
            assert_eq!(outcome(of(holds), &delays), (found.clone(), None));
            let violated = Some(format!("<= {:?}", Duration::from_millis(fails)));
            assert_eq!(outcome(of(fails), &delays), (found, violated));
        }
    }

    #[test]
    fn a_share_of_the_packets_must_meet_the_bound() {
        let of = |share: &str| Requirement::Delay {
            statistic: Statistic::Share(Share::parse(share).expect("a share")),
            operator: Comparison::Less,
            bound: Duration::from_millis(5),
        };
        let found = "h1 > h2 since 1ms, 4 packets: 75% have a delay < 5ms".to_owned();
        assert_eq!(outcome(of("75"), &[1, 2, 3, 5]), (found.clone(), None));
        let violated = Some("at least 75.001%".to_owned());
        assert_eq!(outcome(of("75.001"), &[1, 2, 3, 5]), (found, violated));
        // Without packets, no condition on delays holds.
        let (found, violated) = outcome(of("0"), &[]);
        assert_eq!(found, "h1 > h2 since 1ms: no packet left");
        assert!(violated.is_some());
    }

    #[test]
    fn packets_are_counted_by_their_beginning() {
        let of = |digit, number| Requirement::Packets {
            operator: Comparison::Equal,
            number,
            pattern: Some(Pattern { digits: vec![Some(digit)], exact_length: false }),
        };
        assert_eq!(outcome(of(4, 2), &[1, 2]).1, None);
        assert_eq!(
            outcome(of(4, 1), &[1, 2]),
            ("h1 > h2 since 1ms: 2 packets".to_owned(), Some("== 1".to_owned()))
        );
        assert_eq!(outcome(of(6, 0), &[1, 2]).1, None);
    }
}
