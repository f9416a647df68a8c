//! The times at which sources send.

use super::cast::Stream;
use super::chance::Chance;
use crate::Rational;

/// A pattern in which a source sends, as far as its arrival curve allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// All it may, as early as it may, in the largest packets.
    Greedy,
    /// Packets at its rate.
    Spaced,
    /// Bursts of that many packets, each followed by silence until the tokens are back.
    OnOff(usize),
    /// Now and then, in packets of all sizes.
    Random,
}

impl Pattern {
    pub(super) fn by_chance(chance: &mut Chance) -> Self {
        match chance.below(6) {
            0..=2 => Self::Greedy,
            3 => Self::Spaced,
            4 => Self::OnOff(1 + chance.below(6)),
            _ => Self::Random,
        }
    }
}

/// Returns when packets are sent, and how large they are, by the clock of the source.
pub(super) fn packets(
    stream: &Stream,
    pattern: Pattern,
    begins: &Rational,
    number: usize,
    chance: &mut Chance,
) -> Vec<(Rational, Rational)> {
    let mut conformance = stream.conformance.clone();
    // A packet takes so long at the rate; without a rate, sources send their burst alone.
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
                if !chance.once_in(3) {
                    wish += chance.part_of(&(&period + &period));
                }
                size = size_by_chance(stream, chance);
            }
        }
        let Some(time) = conformance.send(&wish, &size) else { break };
        wish = time.clone();
        sent.push((time, size));
    }
    sent
}

/// Sizes of ports are whole numbers of bits, as are those of their flows.
fn size_by_chance(stream: &Stream, chance: &mut Chance) -> Rational {
    let between = &stream.size - &stream.least;
    let part = chance.part_of(&between);
    match stream.size.is_integer() && stream.least.is_integer() {
        true => &stream.least + &part.floor(),
        false => &stream.least + &part,
    }
}
