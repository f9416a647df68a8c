//! The layout of a packet's outputs: what does not depend on the values of fields.

use crate::evaluate::Evaluation;
use crate::execute::{Emitted, End, Fate};
use crate::packet::{self, LENGTH_BITS};
use crate::term::{Term, Terms};

/// The number of bytes to which a packet is truncated if it is not.
const NO_LIMIT: u64 = u32::MAX as u64;

/// An output under a layout: a port, bytes that were written, and bytes of the received packet that
/// follow them.
pub(super) struct Sent {
    port: Term,
    written: Term,
    /// The number of the received packet.
    number: u32,
    /// The position of the first byte of the received packet that follows.
    rest: u32,
    truncate: u64,
    /// The number of bytes of the received packet if it ends before `rest`.
    ended: Option<u64>,
}

/// The conditions that make a layout what it is.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) conditions: Vec<Term>,
}

impl Layout {
    /// Returns the outputs at the ends that a packet comes to. What the model decides becomes a
    /// condition of the layout.
    pub(super) fn outputs(
        &mut self,
        terms: &mut Terms,
        model: &mut Evaluation,
        ends: &[End],
        length: Term,
    ) -> Vec<Sent> {
        let mut outputs = Vec::new();
        for end in ends {
            if !self.decide(terms, model, end.guard) {
                continue;
            }
            let Fate::Sent { port, emitted, packet, cursor, truncate } = &end.fate else {
                continue;
            };
            let mut written = self.emitted(terms, model, emitted);
            let cursor = self.number(terms, model, *cursor) / 8;
            let start = usize::try_from(cursor).unwrap_or(usize::MAX);
            for byte in packet.written.get(start..).unwrap_or_default() {
                written = terms.concatenate(written, *byte);
            }
            let beyond = start.saturating_sub(packet.written.len());
            let rest = packet.rest.saturating_add(u32::try_from(beyond).unwrap_or(u32::MAX));
            let truncate = self.number(terms, model, *truncate);
            let limit = terms.number(LENGTH_BITS, rest.into());
            let reaches = terms.less_or_equal(limit, length);
            let ended = if self.decide(terms, model, reaches) {
                None
            } else {
                Some(self.number(terms, model, length))
            };
            let number = packet.number;
            outputs.push(Sent { port: *port, written, number, rest, truncate, ended });
        }
        outputs
    }

    fn emitted(&mut self, terms: &mut Terms, model: &mut Evaluation, emitted: &[Emitted]) -> Term {
        let mut bits = terms.zero(0);
        for Emitted { on, value, length } in emitted {
            if !self.decide(terms, model, *on) {
                continue;
            }
            let width = terms.width_of(*value);
            let length = match length {
                Some(length) => {
                    let length = self.number(terms, model, *length);
                    u32::try_from(length).map_or(width, |length| length.min(width))
                }
                None => width,
            };
            let part = terms.resize(*value, length);
            bits = terms.concatenate(bits, part);
        }
        let width = terms.width_of(bits);
        let padding = terms.zero(width.next_multiple_of(8) - width);
        terms.concatenate(bits, padding)
    }

    /// Returns whether a condition holds in the model.
    fn decide(&mut self, terms: &mut Terms, model: &mut Evaluation, condition: Term) -> bool {
        let holds = model.holds(terms, condition);
        self.conditions.push(if holds { condition } else { terms.not(condition) });
        holds
    }

    /// Returns the value of a number in the model.
    fn number(&mut self, terms: &mut Terms, model: &mut Evaluation, number: Term) -> u64 {
        let value = model.value(terms, number);
        let constant = terms.constant(&value);
        self.conditions.push(terms.equal(number, constant));
        value.to_u64().unwrap_or(u64::MAX)
    }
}

/// Returns the condition under which the outputs of two programs differ.
///
/// # Errors
///
/// Returns a reason if the outputs cannot be compared.
pub(super) fn differ(terms: &mut Terms, outputs: &[Vec<Sent>; 2]) -> Result<Term, String> {
    let [left, right] = outputs;
    let mut same = terms.truth(left.len() == right.len());
    for (left, right) in left.iter().zip(right) {
        if left.truncate != right.truncate || left.truncate != NO_LIMIT {
            return Err("truncated packets are not compared".to_owned());
        }
        if terms.width_of(left.port) != terms.width_of(right.port) {
            return Err("the programs have ports of different widths".to_owned());
        }
        let ports = terms.equal(left.port, right.port);
        same = terms.and(same, ports);
        let bytes = contents(terms, left, right);
        same = terms.and(same, bytes);
    }
    Ok(terms.not(same))
}

/// Returns the condition under which two outputs have the same bytes.
fn contents(terms: &mut Terms, left: &Sent, right: &Sent) -> Term {
    let bytes = |terms: &Terms, sent: &Sent| i64::from(terms.width_of(sent.written) / 8);
    let (mut left_count, mut right_count) = (bytes(terms, left), bytes(terms, right));
    // A packet that ends before the rest has no bytes there, and its length is part of the layout.
    let ends = left.ended.or(right.ended);
    let mut extended = [left.written, right.written];
    if let Some(length) = ends {
        for (sent, written) in [left, right].into_iter().zip(&mut extended) {
            let length = u32::try_from(length).unwrap_or(0);
            let count = length.saturating_sub(sent.rest);
            *written = followed(terms, (*written, sent.number), sent.rest, count);
        }
        let same_length = terms.width_of(extended[0]) == terms.width_of(extended[1]);
        return if same_length {
            terms.equal(extended[0], extended[1])
        } else {
            terms.truth(false)
        };
    }
    left_count -= i64::from(left.rest);
    right_count -= i64::from(right.rest);
    if left_count != right_count {
        return terms.truth(false);
    }
    // The output with fewer emitted bytes has the difference in bytes of the received packet.
    let (left_rest, right_rest) = (left.rest, right.rest);
    let most = left_rest.max(right_rest);
    let first = followed(terms, (extended[0], left.number), left_rest, most - left_rest);
    let second = followed(terms, (extended[1], right.number), right_rest, most - right_rest);
    terms.equal(first, second)
}

/// Returns bytes with `count` bytes of a received packet, from a position on, after them.
fn followed(terms: &mut Terms, (written, number): (Term, u32), position: u32, count: u32) -> Term {
    let bits = packet::received(terms, number, u64::from(position) * 8, count * 8);
    let bits = bits.unwrap_or_else(|| terms.zero(0));
    terms.concatenate(written, bits)
}
