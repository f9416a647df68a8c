//! The schedule of one switch. The due times are sums of the times between packet-ins or, if these
//! times are constant, multiples of one interval.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::gaps::{Drawn, Gaps};
use super::replay::Recording;
use super::{Nanos, Share};

/// The due times of one switch, in order.
///
/// Times are kept as whole nanoseconds plus a fraction, or computed from the number of the
/// packet-in, so that rounding errors do not accumulate.
#[derive(Debug)]
pub struct SwitchSchedule {
    switch: u32,
    /// The time in nanoseconds from which the switch no longer sends.
    end: u64,
    pace: Pace,
}

/// The rule from which the due times of a switch are computed.
#[derive(Debug)]
enum Pace {
    Constant { start: u64, offset: f64, interval: f64, count: u64 },
    Drawn { gaps: Drawn, rng: Box<ChaCha8Rng>, clock: Clock, started: bool },
    Replay { recording: Arc<Recording>, next: usize, first: Option<f64>, clock: Clock },
}

impl SwitchSchedule {
    /// Creates the schedule of a switch. If the interval is constant, `phase` delays the switch by
    /// this share of the interval, from 0 to 1. If a recording is replayed, `share` determines
    /// where in it the switch begins.
    pub(super) fn new(
        switch: u32,
        gaps: Gaps,
        (phase, share): (f64, Share),
        start: Nanos,
        end: Nanos,
        seed: u64,
    ) -> Self {
        let clock = Clock { whole: start.0, fraction: 0.0 };
        let pace = match gaps {
            Gaps::Constant { interval, is_staggered } => {
                let offset = if is_staggered { phase * interval } else { 0.0 };
                Pace::Constant { start: start.0, offset, interval, count: 0 }
            }
            Gaps::Drawn(gaps) => {
                Pace::Drawn { gaps, rng: Box::new(stream(seed, switch)), clock, started: false }
            }
            Gaps::Replay(recording) => {
                let (next, left) = share.begin(&recording.ends);
                Pace::Replay { next, first: left.or(recording.first), recording, clock }
            }
        };
        Self { switch, end: end.0, pace }
    }

    /// Returns the index of the switch, from 0.
    pub fn switch(&self) -> u32 {
        self.switch
    }
}

impl Iterator for SwitchSchedule {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let at = match &mut self.pace {
            Pace::Constant { start, offset, interval, count } => {
                let since = *count as f64 * *interval + *offset;
                *count += 1;
                // Rounds to the nearest nanosecond; saturates far beyond any end.
                start.saturating_add((since + 0.5) as u64)
            }
            Pace::Drawn { gaps, rng, clock, started } => {
                let gap = if *started { gaps.draw(rng) } else { gaps.draw_first(rng) };
                *started = true;
                clock.advance(gap)
            }
            Pace::Replay { recording, next, first, clock } => {
                let gap = first.take().or_else(|| recording.gaps.get(*next).copied())?;
                *next = (*next + 1) % recording.gaps.len();
                clock.advance(gap)
            }
        };
        if at < self.end {
            Some(Nanos(at))
        } else {
            self.end = 0;
            None
        }
    }
}

impl std::iter::FusedIterator for SwitchSchedule {}

/// A time in nanoseconds to which gaps are added without loss of their fractions.
#[derive(Clone, Copy, Debug)]
struct Clock {
    whole: u64,
    /// The fraction of a nanosecond by which the time exceeds `whole`, from 0 to 1.
    fraction: f64,
}

impl Clock {
    fn advance(&mut self, gap: f64) -> u64 {
        let sum = self.fraction + gap;
        // Rounds down, and saturates for gaps longer than centuries or infinite ones.
        let whole = sum as u64;
        self.fraction = sum - whole as f64;
        self.whole = self.whole.saturating_add(whole);
        self.whole
    }
}

/// Returns the random number generator of one switch. All switches share a key, which is made from
/// the seed, and each switch has its own stream.
fn stream(seed: u64, switch: u32) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(b"arrivals");
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(u64::from(switch));
    rng
}
