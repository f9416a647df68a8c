//! The times at which sources send.

use super::rng::Rng;
use super::setup::Stream;
use crate::Rational;

/// The pattern in which a source sends packets, as far as its arrival curve allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The source sends as much and as early as possible, in the largest packets.
    Greedy,
    /// The source sends packets that are spaced at the long-term rate of its flow.
    Spaced,
    /// The source sends bursts of the given number of packets. After each burst it pauses until its
    /// arrival curve allows the next one.
    OnOff(usize),
    /// The source sends packets of pseudo-random sizes at pseudo-random times.
    Random,
}

impl Pattern {
    pub(super) fn random(rng: &mut Rng) -> Self {
        match rng.below(6) {
            0..=2 => Self::Greedy,
            3 => Self::Spaced,
            4 => Self::OnOff(1 + rng.below(6)),
            _ => Self::Random,
        }
    }
}

/// Returns the packets that a source sends: their times, by the source's clock, and their sizes.
pub(super) fn packets(
    stream: &Stream,
    pattern: Pattern,
    begins: &Rational,
    number: usize,
    rng: &mut Rng,
) -> Vec<(Rational, Rational)> {
    let mut conformance = stream.conformance.clone();
    // The time that one packet takes at the flow's rate. Without a rate, sources send only their
    // burst.
    let period = stream.size.checked_div(&stream.rate).unwrap_or(Rational::ZERO);
    let mut wish = begins.clone();
    let mut sent = Vec::with_capacity(number);
    for place in 0..number {
        let mut size = stream.size.clone();
        match pattern {
            Pattern::Greedy => {}
            Pattern::Spaced if place > 0 => wish += &period,
            Pattern::OnOff(burst) if place > 0 && place % burst == 0 => {
                wish += &period * &Rational::from(u32::try_from(burst).unwrap_or(1));
            }
            Pattern::Spaced | Pattern::OnOff(_) => {}
            Pattern::Random => {
                if !rng.once_in(3) {
                    wish += rng.part_of(&(&period + &period));
                }
                size = random_size(stream, rng);
            }
        }
        let Some(time) = conformance.send(&wish, &size) else { break };
        wish = time.clone();
        sent.push((time, size));
    }
    sent
}

/// Returns a pseudo-random packet size of a stream. It is a whole number of bits if the largest and
/// smallest size are, as ports require.
fn random_size(stream: &Stream, rng: &mut Rng) -> Rational {
    let between = &stream.size - &stream.least;
    let part = rng.part_of(&between);
    match stream.size.is_integer() && stream.least.is_integer() {
        true => &stream.least + &part.floor(),
        false => &stream.least + &part,
    }
}
