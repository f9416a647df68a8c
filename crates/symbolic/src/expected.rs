//! The outcome that a test expects: the terms of the execution, evaluated under a model in which
//! undefined inputs are unknown.

use crate::evaluate::KnownBits;
use crate::execute::{Arrival, Emitted, End, Fate};
use crate::generated::{Exchange, Output};
use crate::packet::Packet;
use crate::term::{Term, Terms};
use ir::bits::Bits;

/// The bytes of a received packet, with the packet's length.
struct Received {
    bytes: Vec<u8>,
}

impl Received {
    /// Takes the first `length` bytes of a packet.
    fn new(packet: &Bits, length: u64) -> Self {
        let mut bytes = packet.to_be_bytes();
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Self { bytes }
    }
}

/// The outcome cannot be predicted, because it depends on undefined values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

/// Returns a packet that the switch receives, with the packets that leave the switch because of it.
pub(crate) fn exchange(
    terms: &Terms,
    known: &mut KnownBits,
    arrival: &Arrival,
) -> Result<Exchange, Unknown> {
    let length = number(terms, known, arrival.length)?;
    let port = number(terms, known, arrival.port)?;
    let seconds = number(terms, known, arrival.at)?;
    let packet = known.of(terms, arrival.packet);
    let packet: &Bits = packet.complete().ok_or(Unknown)?;
    let received = Received::new(packet, length);
    let outputs = outputs(terms, known, &arrival.ends, &received)?;
    let digits = received.bytes.iter().map(|byte| format!("{byte:02x}"));
    Ok(Exchange {
        seconds: u32::try_from(seconds).map_err(|_| Unknown)?,
        port: u32::try_from(port).map_err(|_| Unknown)?,
        packet: digits.collect(),
        outputs,
    })
}

/// Returns the packets that leave the switch because of a received packet.
fn outputs(
    terms: &Terms,
    known: &mut KnownBits,
    ends: &[End],
    received: &Received,
) -> Result<Vec<Output>, Unknown> {
    let mut outputs = Vec::new();
    for end in ends {
        if !truth(terms, known, end.guard)? {
            continue;
        }
        match &end.fate {
            Fate::Dropped => {}
            // No test is made of a single pass.
            Fate::Enters { .. } => return Err(Unknown),
            Fate::Sent { port, emitted, packet, cursor, truncate } => {
                let port = number(terms, known, *port)?;
                let cursor = number(terms, known, *cursor)?;
                let truncate = number(terms, known, *truncate)?;
                let mut bits = self::emitted(terms, known, emitted)?;
                rest(terms, known, packet, cursor / 8, received, &mut bits);
                let digits = digits(&bits, truncate);
                let port = u32::try_from(port).map_err(|_| Unknown)?;
                outputs.push(Output { port, digits });
            }
        }
    }
    Ok(outputs)
}

/// Returns whether a condition holds. Returns an error if that is unknown.
pub(crate) fn truth(
    terms: &Terms,
    known: &mut KnownBits,
    condition: Term,
) -> Result<bool, Unknown> {
    known.of(terms, condition).truth().ok_or(Unknown)
}

/// Returns the value of a term as a number. Returns an error if any bit is unknown.
pub(crate) fn number(terms: &Terms, known: &mut KnownBits, term: Term) -> Result<u64, Unknown> {
    let found = known.of(terms, term);
    found.complete().and_then(Bits::to_u64).ok_or(Unknown)
}

/// Returns the bits that a deparser emits, padded with zeros to whole bytes. `None` stands for an
/// unknown bit.
fn emitted(
    terms: &Terms,
    known: &mut KnownBits,
    emitted: &[Emitted],
) -> Result<Vec<Option<bool>>, Unknown> {
    let mut bits = Vec::new();
    for Emitted { on, value, length } in emitted {
        if !truth(terms, known, *on)? {
            continue;
        }
        let width = terms.width_of(*value);
        let length = match length {
            Some(length) => u32::try_from(number(terms, known, *length)?).map_err(|_| Unknown)?,
            None => width,
        };
        push(&mut bits, terms, known, *value, length.min(width));
    }
    while bits.len() % 8 != 0 {
        bits.push(Some(false));
    }
    Ok(bits)
}

/// Appends the low `length` bits of a term to `bits`, the most significant first.
fn push(
    bits: &mut Vec<Option<bool>>,
    terms: &Terms,
    known: &mut KnownBits,
    term: Term,
    length: u32,
) {
    let found = known.of(terms, term);
    for position in (0..length).rev() {
        let is_known = found.mask().bit(position);
        bits.push(is_known.then(|| found.value().bit(position)));
    }
}

/// Appends the bytes of a packet that follow the position of the parser to `bits`.
fn rest(
    terms: &Terms,
    known: &mut KnownBits,
    packet: &Packet,
    start: u64,
    received: &Received,
    bits: &mut Vec<Option<bool>>,
) {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    for byte in packet.written.get(start..).unwrap_or_default() {
        push(bits, terms, known, *byte, 8);
    }
    let beyond = start.saturating_sub(packet.written.len());
    let from = (packet.rest as usize).saturating_add(beyond);
    for byte in received.bytes.get(from..).unwrap_or_default() {
        bits.extend((0..8).rev().map(|position| Some(byte >> position & 1 == 1)));
    }
}

/// Returns at most `most_bytes` bytes as hexadecimal digits, with `*` for digits of which a bit is
/// unknown.
fn digits(bits: &[Option<bool>], most_bytes: u64) -> String {
    let most = usize::try_from(most_bytes.saturating_mul(2)).unwrap_or(usize::MAX);
    let digit = |bits: &[Option<bool>]| {
        let value = bits.iter().try_fold(0_u32, |digit, bit| Some(digit << 1 | u32::from((*bit)?)));
        value.and_then(|value| char::from_digit(value, 16)).unwrap_or('*')
    };
    bits.chunks(4).take(most).map(digit).collect()
}
