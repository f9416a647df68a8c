//! Conformance of packets to an arrival curve, for sources and regulators.
//!
//! A packet of size L is sent at the first time t that every earlier packet permits. An earlier
//! packet that was sent at s permits t if the arrival curve at t - s is at least the total size of
//! that packet, of all packets since, and L (the minimal regulator of Le Boudec, 2018).

use crate::network::pmoo;
use crate::{Curve, Extended, Rational};

/// The state of a flow at a source or a regulator: its packets so far, as far as they limit when
/// the next packet may be sent.
#[derive(Clone, Debug)]
pub(super) enum Conformance {
    /// The levels of the token buckets whose minimum is the arrival curve. All of them must allow a
    /// packet.
    Buckets(Vec<Bucket>),
    /// The times and sizes of all packets that were sent. This variant is for arrival curves that
    /// are not concave, and so are not a minimum of token buckets.
    Curve {
        /// The lower pseudo-inverse of the arrival curve.
        inverse: Curve,
        sent: Vec<(Rational, Rational)>,
    },
}

/// A token bucket, and its level at the time `since`.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    burst: Rational,
    rate: Rational,
    level: Rational,
    since: Rational,
}

impl Conformance {
    /// Returns the state of a flow that has sent nothing yet. Returns `None` if the arrival curve
    /// has no pseudo-inverse.
    pub(super) fn of(arrival: &Curve) -> Option<Self> {
        if arrival.is_concave() {
            let buckets = pmoo::token_buckets(arrival);
            if buckets.is_empty() {
                return None;
            }
            let full = |bucket: pmoo::TokenBucket| Bucket {
                level: bucket.burst.clone(),
                burst: bucket.burst,
                rate: bucket.rate,
                since: Rational::ZERO,
            };
            return Some(Self::Buckets(buckets.into_iter().map(full).collect()));
        }
        let inverse = arrival.lower_pseudo_inverse().ok()?;
        Some(Self::Curve { inverse, sent: Vec::new() })
    }

    /// Records that a packet is sent as soon as the arrival curve allows it, but not before the
    /// time `ready`, and returns that time. `ready` must not decrease from call to call. Returns
    /// `None` if the arrival curve never allows the packet.
    pub(super) fn send(&mut self, ready: &Rational, size: &Rational) -> Option<Rational> {
        match self {
            Self::Buckets(buckets) => {
                let mut time = ready.clone();
                for bucket in buckets.iter() {
                    time = time.max(bucket.holds(size)?);
                }
                for bucket in buckets.iter_mut() {
                    let level = &bucket.level + &(&bucket.rate * &(&time - &bucket.since));
                    bucket.level = level.min(bucket.burst.clone()) - size;
                    bucket.since = time.clone();
                }
                Some(time)
            }
            Self::Curve { inverse, sent } => {
                let mut time = ready.clone();
                let mut together = size.clone();
                // The packet is sent immediately, so the curve must allow its size at time zero.
                if inverse.value_at(&together) > Extended::ZERO {
                    return None;
                }
                for (at, size) in sent.iter().rev() {
                    together += size;
                    time = time.max(at + &inverse.value_at(&together).into_finite()?);
                }
                sent.push((time.clone(), size.clone()));
                Some(time)
            }
        }
    }
}

impl Bucket {
    /// Returns the first time at which the bucket holds `size` tokens, or `None` if it never does.
    fn holds(&self, size: &Rational) -> Option<Rational> {
        if *size > self.burst {
            return None;
        }
        let missing = size - &self.level;
        if !missing.is_positive() {
            return Some(self.since.clone());
        }
        Some(&self.since + &missing.checked_div(&self.rate)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_for_tokens_or_for_the_period() {
        let times = |arrival: &Curve, ready: &[i64], size: i64| -> Vec<String> {
            let mut flow = Conformance::of(arrival).expect("an arrival curve");
            let send = |ready: &i64| flow.send(&Rational::from(*ready), &Rational::from(size));
            ready
                .iter()
                .map(send)
                .map(|time| time.map_or("never".into(), |t| t.to_string()))
                .collect()
        };
        let bucket = Curve::token_bucket(4, 2).expect("a curve");
        assert_eq!(times(&bucket, &[0, 0, 0, 0, 9, 9, 9], 2), ["0", "0", "1", "2", "9", "9", "10"]);
        assert_eq!(times(&bucket, &[0], 5), ["never"]);
        let both = Curve::token_buckets([(4, 2), (2, 4)]).expect("a curve");
        assert_eq!(times(&both, &[0, 0, 0], 2), ["0", "1/2", "1"]);
        let stairs = Curve::staircase(3, 5).expect("a curve");
        assert_eq!(times(&stairs, &[0, 0, 0, 20, 20], 3), ["0", "5", "10", "20", "25"]);
    }
}
