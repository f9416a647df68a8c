//! The arithmetic of token buckets: the rate and the burst of a meter, from the packets that it let
//! pass and those that it refused.
//!
//! A bucket of RFC 2698 has at most `B` tokens and gets `R` tokens per second, for bytes or for
//! packets. A packet of size `P` passes and takes `P` tokens if the bucket has that many, and is
//! refused otherwise. All packets of a trial have one size, and the meter sees them in the order in
//! which they were sent. When it saw a packet is known only within bounds: after the beginning of
//! the sending and, for packets that arrived, before the arrival was seen. With these bounds, every
//! statement below holds whatever the delays were.

use statistics::Interval;

use crate::effects::{Gap, Moment, Span};

/// The rate and the size of a token bucket. Tokens are bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The tokens per second.
    pub rate: f64,
    /// The number of tokens that the bucket holds.
    pub burst: f64,
}

/// The treatment of a packet by a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The packet passed, and took its tokens.
    Passed {
        /// The arrival of the packet behind the meter.
        arrived: Span,
    },
    /// The packet was refused: the bucket had fewer tokens than the packet needs.
    Refused,
    /// The packet does not show how many tokens the bucket had, and took none.
    Unknown,
}

/// A packet of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The sending of the packet.
    pub sent: Span,
    /// The treatment of the packet.
    pub treatment: Treatment,
}

/// The bucket that explains the treatment of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// The number of packets that were sent.
    pub offered: usize,
    /// The number of packets that passed.
    pub passed: usize,
    /// The number of packets that were refused.
    pub refused: usize,
    /// The bounds of the rate; `None` if the bucket was not empty twice.
    pub rate: Option<Interval>,
    /// The bounds of the burst; `None` if the rate is unknown, or no packet was refused after the
    /// burst.
    pub burst: Option<Interval>,
    /// The largest number of tokens that passed in an interval beyond `burst + rate * length` of
    /// the configured bucket. It is negative if the configured bucket always had tokens left.
    pub excess: f64,
}

impl Observed {
    /// Returns what two trials of the same bucket show together. Bounds that exclude each other,
    /// for instance because packets were lost elsewhere in one trial, become the range of both.
    pub(super) fn with(self, other: Self) -> Self {
        let width = |interval: &Interval| interval.high - interval.low;
        let together = |one: Option<Interval>, other: Option<Interval>| match (one, other) {
            (Some(one), Some(other)) if one.low > other.high || other.low > one.high => {
                let (low, high) = (f64::min(one.low, other.low), f64::max(one.high, other.high));
                Some(Interval { low, high })
            }
            (Some(one), Some(other)) if width(&other) < width(&one) => Some(other),
            (one, other) => one.or(other),
        };
        Self {
            offered: self.offered + other.offered,
            passed: self.passed + other.passed,
            refused: self.refused + other.refused,
            rate: together(self.rate, other.rate),
            burst: together(self.burst, other.burst),
            excess: f64::max(self.excess, other.excess),
        }
    }
}

/// Returns the bucket that explains a trial in which the bucket was full when the first packet was
/// sent. `tokens` is the number of tokens that each packet takes.
#[must_use]
pub fn observe(configured: Bucket, tokens: f64, offered: &[Offered]) -> Observed {
    let count = |is_counted: fn(&Treatment) -> bool| {
        offered.iter().filter(|one| is_counted(&one.treatment)).count()
    };
    let rate = rate(configured, tokens, offered);
    Observed {
        offered: offered.len(),
        passed: count(|one| matches!(one, Treatment::Passed { .. })),
        refused: count(|one| matches!(one, Treatment::Refused)),
        rate,
        burst: rate.and_then(|rate| burst(rate, tokens, offered)),
        excess: excess(configured, tokens, offered),
    }
}

/// Returns the largest number of tokens by which passed packets exceed a bucket in any interval,
/// found in one pass.
///
/// The packets from one that was sent at `a` to one that arrived at `b` all met the meter in
/// between, so their tokens are at most `burst + rate * (b - a)`. The difference is a term that
/// depends on the end of the interval less one that depends on its beginning, and the least of the
/// latter is remembered.
#[must_use]
pub fn excess(bucket: Bucket, tokens: f64, offered: &[Offered]) -> f64 {
    let Some(origin) = offered.first().map(|first| first.sent.earliest) else { return 0.0 };
    let earned = |at: Moment| bucket.rate * at.since(origin).as_seconds();
    let (mut sum, mut last) = (0.0, origin);
    let mut least = f64::INFINITY;
    let mut worst = -bucket.burst;
    for one in offered {
        let Treatment::Passed { arrived } = one.treatment else { continue };
        least = least.min(sum - earned(one.sent.earliest));
        sum += tokens;
        // Packets that overtake others on their way do not end the interval earlier.
        last = last.max(arrived.latest);
        worst = f64::max(worst, sum - earned(last) - least - bucket.burst);
    }
    worst
}

/// Returns bounds of the rate.
///
/// At a refusal the bucket has between 0 and `P` tokens. Let packets 1 to n pass after a refusal at
/// `m0`, and let the last refusal before packet n be at `m`. From `m0` until packet n has passed,
/// the bucket got more than the n - 1 packets took beside the one that its rest may have paid. From
/// packet 1 until `m` it got less than these n - 1 packets took. So the rate lies between
/// `(n - 1) P / (mn - m0)` and `(n - 1) P / (m - m1)`.
///
/// The second bound needs a bucket that is never full on the way, since it loses tokens then. Where
/// the bucket may have become half full, because packets came more slowly than tokens or not at
/// all, the trial is divided. The inequalities of its parts are added up.
fn rate(configured: Bucket, tokens: f64, offered: &[Offered]) -> Option<Interval> {
    let (mut passed, mut longest, mut shortest) = (0.0, 0.0, 0.0);
    for part in parts(configured, tokens, offered) {
        passed += part.passed as f64 * tokens;
        longest += part.longest.as_seconds();
        shortest += part.shortest.as_seconds();
    }
    (shortest > 0.0).then(|| Interval { low: passed / longest, high: passed / shortest })
}

/// A part of a trial in which the bucket was never full.
#[derive(Clone, Copy)]
struct Part {
    /// The number of packets that passed after the first one behind a refusal, up to the last one
    /// behind a refusal.
    passed: usize,
    /// The longest time in which the bucket got the tokens of these packets.
    longest: Gap,
    /// The shortest time.
    shortest: Gap,
}

/// The first packet of a part that passed.
#[derive(Clone, Copy)]
struct Begin {
    /// The sending of the refused packet before it.
    refused: Moment,
    arrived: Moment,
}

/// The time since a refusal, when the bucket had less than a packet needs.
#[derive(Clone, Copy)]
struct Since {
    refused: Moment,
    /// The number of packets that have passed.
    passed: usize,
}

/// Returns the parts of a trial in which the bucket was never full.
fn parts(configured: Bucket, tokens: f64, offered: &[Offered]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut begin: Option<Begin> = None;
    let mut since: Option<Since> = None;
    let mut count = 0;
    let mut part: Option<Part> = None;
    for one in offered {
        let arrived = match one.treatment {
            Treatment::Refused => {
                since = Some(Since { refused: one.sent.earliest, passed: 0 });
                continue;
            }
            Treatment::Unknown => continue,
            Treatment::Passed { arrived } => arrived.latest,
        };
        let Some(last) = &mut since else { continue };
        // The bucket has the most tokens just before a packet passes.
        let earned = configured.rate * arrived.since(last.refused).as_seconds();
        let most = tokens + earned - last.passed as f64 * tokens;
        if most > configured.burst / 2.0 {
            parts.extend(part.take());
            (begin, since) = (None, None);
            continue;
        }
        let (refused, is_first) = (last.refused, last.passed == 0);
        last.passed += 1;
        match begin {
            None => (begin, count) = (Some(Begin { refused, arrived }), 0),
            Some(begin) => {
                count += 1;
                if is_first {
                    let longest = arrived.since(begin.refused);
                    let shortest = refused.since(begin.arrived);
                    part = Some(Part { passed: count, longest, shortest });
                }
            }
        }
    }
    parts.extend(part);
    parts.retain(|part| part.shortest > Gap(0));
    parts
}

/// Returns bounds of the burst: what the packets took that passed before the first refusal, less
/// what the bucket got meanwhile. At the refusal, the bucket has less than a packet needs. A bucket
/// that is full loses what it gets, which only happens if packets come more slowly than tokens.
fn burst(rate: Interval, tokens: f64, offered: &[Offered]) -> Option<Interval> {
    let first = offered.iter().find_map(|one| match one.treatment {
        Treatment::Passed { arrived } => Some((one.sent.earliest, arrived.latest)),
        Treatment::Refused | Treatment::Unknown => None,
    });
    let (begin, arrived) = first?;
    let (mut sum, mut lost) = (0.0, 0.0);
    let mut last = begin;
    for one in offered {
        match one.treatment {
            Treatment::Unknown => {}
            Treatment::Passed { arrived } => {
                if sum > 0.0 {
                    let earned = rate.high * arrived.latest.since(begin).as_seconds();
                    lost = f64::max(lost, earned - sum);
                }
                sum += tokens;
                last = last.max(arrived.latest);
            }
            Treatment::Refused => {
                let least = rate.high * last.since(begin).as_seconds();
                let most = rate.low * one.sent.earliest.since(arrived).as_seconds().max(0.0);
                let high = sum + tokens + lost - most;
                return Some(Interval { low: (sum - least).max(0.0), high });
            }
        }
    }
    None
}
