//! The arithmetic of token buckets: derives the rate and the burst of a meter from the packets that
//! it let pass and those that it refused.
//!
//! A bucket of RFC 2698 holds at most `B` tokens and gets `R` tokens per second; a token stands for
//! a byte or a packet. A packet of size `P` passes and takes `P` tokens if the bucket has that
//! many, and is refused otherwise. All packets of a trial have the same size, and the meter sees
//! them in the order in which they were sent. The time at which the meter saw a packet is known
//! only within bounds: after its sending began and, if it arrived, before its arrival was seen.
//! With these bounds, every statement below holds whatever the delays were.

use statistics::Interval;

use crate::effects::{Gap, Moment, Span};

/// The rate and the size of a token bucket, whose tokens stand for bytes or packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The number of tokens that the bucket gets per second.
    pub rate: f64,
    /// The largest number of tokens that the bucket holds.
    pub burst: f64,
}

/// The treatment of a packet by a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The packet passed, and took its tokens.
    Passed {
        /// The time at which the packet arrived behind the meter.
        arrived: Span,
    },
    /// The packet was refused: the bucket had fewer tokens than the packet needs.
    Refused,
    /// The packet does not show whether it passed or was refused by this bucket.
    Unknown,
}

/// A packet that was sent in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The time at which the packet was sent.
    pub sent: Span,
    /// The treatment of the packet by the bucket.
    pub treatment: Treatment,
}

/// The rate and burst of a bucket, as far as they follow from the packets that it passed and
/// refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// The number of packets that were sent.
    pub offered: usize,
    /// The number of packets that passed.
    pub passed: usize,
    /// The number of packets that were refused.
    pub refused: usize,
    /// The bounds of the rate; `None` if no two refusals, with packets that passed between them,
    /// bound it.
    pub rate: Option<Interval>,
    /// The bounds of the burst; `None` if the bounds of the rate are unknown, or if no packet was
    /// refused after the initial burst.
    pub burst: Option<Interval>,
    /// The largest number of tokens by which, in any interval, the packets that passed exceed what
    /// the configured bucket permits, which is `burst + rate * length`. It is negative if the
    /// bucket would always have had tokens left.
    pub excess: f64,
}

impl Observed {
    /// Combines two trials of the same bucket. If their bounds exclude each other, for instance
    /// because packets were lost elsewhere in one trial, returns bounds that include both.
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

/// Derives the rate and burst of a bucket from one trial. The bucket must have been full when the
/// first packet was sent. `tokens` is the number of tokens that each packet takes.
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

/// Returns the largest number of tokens by which, in any interval, the packets that passed exceed
/// what `bucket` permits.
///
/// Consider the packets from one that was sent at `a` to one that arrived at `b`. All of them met
/// the meter in between, so a correct bucket lets at most `burst + rate * (b - a)` tokens pass. The
/// excess is therefore a term that depends only on the end of the interval, minus a term that
/// depends only on its beginning. One pass over the packets suffices if it remembers the smallest
/// value of the latter.
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

/// Returns bounds of the rate `R` at which the bucket gets tokens.
///
/// Each packet takes `P` tokens. Consider packets 1 to `n`, which pass in this order, possibly with
/// refused packets between them. Define these moments, in ascending order:
///
/// * `m0`: the bucket refuses the last packet before packet 1.
/// * `m1`: packet 1 passes.
/// * `m`: the bucket refuses the last packet before packet `n`.
/// * `mn`: packet `n` passes.
///
/// A bucket that refuses a packet has fewer than `P` tokens, and it never has fewer than 0. Two
/// inequalities follow:
///
/// * From `m0` to `mn`, the bucket pays for `n` packets. It starts with fewer than `P` tokens and
///   gets the rest on the way, so `R (mn - m0) > (n - 1) P`.
/// * From `m1` to `m`, the bucket pays for packets 2 to `n - 1` and has fewer than `P` tokens left,
///   so `R (m - m1) < (n - 2) P + P`.
///
/// So the rate lies between `(n - 1) P / (mn - m0)` and `(n - 1) P / (m - m1)`.
///
/// The second inequality assumes that the bucket is never full on the way, because a full bucket
/// discards tokens. Where the bucket may have become half full, because packets came more slowly
/// than tokens or not at all, the trial is divided into parts. Their inequalities are added up.
fn rate(configured: Bucket, tokens: f64, offered: &[Offered]) -> Option<Interval> {
    let (mut passed, mut longest, mut shortest) = (0.0, 0.0, 0.0);
    for part in parts(configured, tokens, offered) {
        passed += part.passed as f64 * tokens;
        longest += part.longest.as_seconds();
        shortest += part.shortest.as_seconds();
    }
    (shortest > 0.0).then(|| Interval { low: passed / longest, high: passed / shortest })
}

/// A part of a trial in which the bucket was never full, with the terms of the two inequalities
/// that bound the rate.
#[derive(Clone, Copy)]
struct Part {
    /// The number `n - 1` of passed packets that the bounds of the rate are about.
    passed: usize,
    /// The time `mn - m0` of the lower bound, at its longest.
    longest: Gap,
    /// The time `m - m1` of the upper bound, at its shortest.
    shortest: Gap,
}

/// The first packet of a part that passed, where the inequalities of the part begin.
#[derive(Clone, Copy)]
struct Begin {
    /// The sending time of the last packet that was refused before this packet passed. It is the
    /// earliest possible `m0`.
    refused: Moment,
    arrived: Moment,
}

/// The time since the latest refusal, when the bucket had less than a packet needs.
#[derive(Clone, Copy)]
struct Since {
    refused: Moment,
    /// The number of packets that have passed since the refusal.
    passed: usize,
}

/// Divides a trial into the parts in which the bucket was never full.
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

/// Returns bounds of the burst, the number of tokens in the full bucket at the beginning.
///
/// The burst paid for the packets that passed before the first refusal, except for what the bucket
/// got on the way. At the refusal, between zero tokens and those of one packet are left. A full
/// bucket discards the tokens that it gets, which can happen if packets come more slowly than
/// tokens; the upper bound includes these tokens.
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
