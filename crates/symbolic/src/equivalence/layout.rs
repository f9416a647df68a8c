//! The layout of a packet's outputs: everything that does not depend on the values of fields, such
//! as the number of outputs and which headers are emitted.

use crate::evaluate::{Evaluation, KnownBits};
use crate::execute::{Emitted, End, Entrance, Fate};
use crate::packet::{self, LENGTH_BITS, MAXIMUM_LENGTH};
use crate::term::{Term, Terms};

/// The truncation length that stands for no truncation.
const NO_LIMIT: u64 = u32::MAX as u64;

/// A transmitted packet with a fixed layout. It consists of written bytes, followed by bytes of the
/// received packet, unless it is truncated.
pub(super) struct Sent {
    port: Term,
    written: Term,
    /// The position of the received packet in the sequence.
    number: u32,
    /// The position in the received packet of the first byte that is transmitted after the written
    /// bytes.
    rest: u32,
    /// All bytes of the packet if truncation has shortened it; otherwise `None`.
    truncated: Option<Term>,
    /// The length of the received packet in bytes.
    length: Term,
    /// The length of the received packet in bytes if it ends before `rest`, so that nothing follows
    /// the written bytes; otherwise `None`.
    ended: Option<u64>,
    /// The next pass, if the packet is not transmitted but enters the program again.
    next: Option<NextPass>,
}

/// The start of the next pass of a packet: its entrance, and the values that the pass receives in
/// addition to the packet's bytes and port.
pub(super) struct NextPass {
    pub(super) entrance: Entrance,
    /// The metadata that the pass before it has left.
    carried: Vec<Term>,
}

impl Sent {
    /// Returns the next pass if the packet is not transmitted but enters the program again.
    pub(super) fn next_pass(&self) -> Option<&NextPass> {
        self.next.as_ref()
    }

    /// Returns whether the packet may be longer than any received packet that is considered.
    pub(super) fn may_exceed_longest(&self, terms: &Terms) -> bool {
        let written = terms.width_of(self.written) / 8;
        match self.ended {
            // Bytes of the received packet from `rest` on follow the written bytes.
            None => written > self.rest,
            Some(_) => written > MAXIMUM_LENGTH,
        }
    }
}

/// The conditions under which a packet has a layout.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) conditions: Vec<Term>,
}

impl Layout {
    /// Returns the packets that are transmitted in a layout. The layout is that of `model`: every
    /// decision that the model makes is added to the layout's conditions.
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
            let (port, emitted, packet, cursor) = match &end.fate {
                Fate::Dropped => continue,
                Fate::Sent { port, emitted, packet, cursor, .. }
                | Fate::Enters { port, emitted, packet, cursor, .. } => {
                    (*port, emitted, packet, *cursor)
                }
            };
            let mut written = self.emitted(terms, model, emitted);
            let cursor = self.number(terms, model, cursor) / 8;
            let start = usize::try_from(cursor).unwrap_or(usize::MAX);
            for byte in packet.written.get(start..).unwrap_or_default() {
                written = terms.concatenate(written, *byte);
            }
            let beyond = start.saturating_sub(packet.written.len());
            let rest = packet.rest.saturating_add(u32::try_from(beyond).unwrap_or(u32::MAX));
            let (truncate, next) = match &end.fate {
                Fate::Dropped => (NO_LIMIT, None),
                Fate::Sent { truncate, .. } => (self.number(terms, model, *truncate), None),
                Fate::Enters { entrance, carried, .. } => {
                    (NO_LIMIT, Some(NextPass { entrance: *entrance, carried: carried.clone() }))
                }
            };
            let limit = terms.number(LENGTH_BITS, rest.into());
            let reaches = terms.less_or_equal(limit, length);
            let ended = if self.decide(terms, model, reaches) {
                None
            } else {
                Some(self.number(terms, model, length))
            };
            let number = packet.number;
            let truncated = None;
            let mut sent = Sent { port, written, number, rest, truncated, length, ended, next };
            if truncate != NO_LIMIT {
                sent.truncated = self.truncated(terms, model, &sent, truncate);
            }
            outputs.push(sent);
        }
        outputs
    }

    /// Returns all bytes of a transmitted packet if truncation to `limit` bytes shortens it, and
    /// `None` if the packet is not longer than that.
    fn truncated(
        &mut self,
        terms: &mut Terms,
        model: &mut Evaluation,
        sent: &Sent,
        limit: u64,
    ) -> Option<Term> {
        let width = terms.width_of(sent.written);
        let limit = u32::try_from(limit).ok()?;
        if limit == 0 {
            return Some(terms.zero(0));
        }
        let Some(missing) = limit.checked_sub(width / 8) else {
            let low = width - limit * 8;
            return Some(terms.extract(sent.written, width - 1, low));
        };
        let needed = sent.rest.saturating_add(missing);
        if needed > packet::MAXIMUM_LENGTH {
            return None;
        }
        let needed = terms.number(LENGTH_BITS, needed.into());
        let is_long = terms.less_or_equal(needed, sent.length);
        self.decide(terms, model, is_long)
            .then(|| followed(terms, (sent.written, sent.number), sent.rest, missing))
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

    /// Decides a condition as the model does, and adds the decision to the layout's conditions.
    fn decide(&mut self, terms: &mut Terms, model: &mut Evaluation, condition: Term) -> bool {
        let holds = model.holds(terms, condition);
        self.conditions.push(if holds { condition } else { terms.not(condition) });
        holds
    }

    /// Fixes a number to the value that it has in the model, and adds that to the layout's
    /// conditions.
    fn number(&mut self, terms: &mut Terms, model: &mut Evaluation, number: Term) -> u64 {
        let value = model.value(terms, number);
        let constant = terms.constant(&value);
        self.conditions.push(terms.equal(number, constant));
        value.to_u64().unwrap_or(u64::MAX)
    }
}

/// The largest number of outputs of a packet that are compared in any order. If there are more,
/// they are compared in the order in which the program transmits them.
const REORDERED: usize = 3;

/// Returns the condition under which the outputs of two programs differ.
///
/// # Errors
///
/// Returns a reason if the outputs cannot be compared.
pub(super) fn differ(terms: &mut Terms, outputs: &[Vec<Sent>; 2]) -> Result<Term, String> {
    let [left, right] = outputs;
    if left.len() != right.len() {
        return Ok(terms.truth(true));
    }
    let mut same = terms.truth(false);
    for order in orders(left.len()) {
        let mut all = terms.truth(true);
        for (one, other) in left.iter().zip(order) {
            let Some(other) = right.get(other) else { continue };
            if terms.width_of(one.port) != terms.width_of(other.port) {
                return Err("the programs have ports of different widths".to_owned());
            }
            let ports = terms.equal(one.port, other.port);
            let bytes = same_contents(terms, one, other);
            let next = same_next(terms, one, other);
            all = terms.all(&[all, ports, bytes, next]);
        }
        same = terms.or(same, all);
    }
    Ok(terms.not(same))
}

/// Returns the condition under which two outputs are both transmitted, or both enter the program
/// again at the same entrance and with the same metadata.
fn same_next(terms: &mut Terms, left: &Sent, right: &Sent) -> Term {
    let (left, right) = match (&left.next, &right.next) {
        (None, None) => return terms.truth(true),
        (Some(left), Some(right)) if left.entrance == right.entrance => (left, right),
        (Some(_), Some(_)) | (None, Some(_)) | (Some(_), None) => return terms.truth(false),
    };
    if left.carried.len() != right.carried.len() {
        return terms.truth(false);
    }
    let mut same = terms.truth(true);
    for (one, other) in left.carried.iter().zip(&right.carried) {
        if terms.width_of(*one) != terms.width_of(*other) {
            return terms.truth(false);
        }
        let here = terms.equal(*one, *other);
        same = terms.and(same, here);
    }
    same
}

/// Returns the permutations in which `count` outputs of a program are compared with those of
/// another, beginning with the original order.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for next in 0..count {
        let longer = orders.into_iter().flat_map(|order: Vec<usize>| {
            let least = if count > REORDERED { order.len() } else { 0 };
            (least..=order.len()).rev().map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, next);
                longer
            })
        });
        orders = longer.collect();
    }
    orders
}

/// Returns the condition under which the outputs of two programs, taken in the same order, differ
/// in bits that do not depend on undefined values.
pub(super) fn differ_in_known(
    terms: &mut Terms,
    known: &mut KnownBits,
    [left, right]: &[Vec<Sent>; 2],
) -> Term {
    let mut differs = terms.truth(false);
    for (one, other) in left.iter().zip(right) {
        let contents = contents(terms, one, other);
        if let Some(contents) = &contents {
            let other_length = terms.not(contents.have_same_length);
            differs = terms.or(differs, other_length);
        }
        let bytes = contents.map(|contents| contents.bytes);
        for [one, other] in [Some([one.port, other.port]), bytes].into_iter().flatten() {
            if terms.width_of(one) != terms.width_of(other) {
                continue;
            }
            let mask = known.of(terms, one).mask().bit_and(known.of(terms, other).mask());
            let mask = terms.constant(&mask);
            let difference = terms.xor(one, other);
            let difference = terms.and(difference, mask);
            let zero = terms.zero(terms.width_of(difference));
            let here = terms.not_equal(difference, zero);
            differs = terms.or(differs, here);
        }
    }
    differs
}

/// Returns the condition under which two outputs contain the same bytes.
fn same_contents(terms: &mut Terms, left: &Sent, right: &Sent) -> Term {
    match contents(terms, left, right) {
        Some(Contents { bytes: [left, right], have_same_length }) => {
            let same = terms.equal(left, right);
            terms.and(have_same_length, same)
        }
        None => terms.truth(false),
    }
}

/// The parts of two outputs in which they may differ.
struct Contents {
    /// The bytes of both outputs, as terms of the same width. They are the outputs' bytes only if
    /// the outputs have the same length.
    bytes: [Term; 2],
    /// The condition under which the outputs have the same length.
    have_same_length: Term,
}

/// Returns the parts of two outputs in which they may differ. Returns `None` if the outputs differ
/// in length.
fn contents(terms: &mut Terms, left: &Sent, right: &Sent) -> Option<Contents> {
    let have_same_length = terms.truth(true);
    let bytes = |terms: &Terms, sent: &Sent| i64::from(terms.width_of(sent.written) / 8);
    let (mut left_count, mut right_count) = (bytes(terms, left), bytes(terms, right));
    // A packet that ends before the rest has no bytes there, and its length is part of the layout.
    let ends = left.ended.or(right.ended);
    let mut extended = [left.written, right.written];
    if let Some(length) = ends {
        for (sent, written) in [left, right].into_iter().zip(&mut extended) {
            let length = u32::try_from(length).unwrap_or(0);
            let count = length.saturating_sub(sent.rest);
            *written = match sent.truncated {
                Some(truncated) => truncated,
                None => followed(terms, (*written, sent.number), sent.rest, count),
            };
        }
        let same_length = terms.width_of(extended[0]) == terms.width_of(extended[1]);
        return same_length.then_some(Contents { bytes: extended, have_same_length });
    }
    match (left.truncated, right.truncated) {
        (Some(left), Some(right)) => {
            let same_length = terms.width_of(left) == terms.width_of(right);
            return same_length.then_some(Contents { bytes: [left, right], have_same_length });
        }
        (Some(truncated), None) => return beside_truncated(terms, truncated, right),
        (None, Some(truncated)) => {
            let Contents { bytes: [left, right], have_same_length } =
                beside_truncated(terms, truncated, left)?;
            return Some(Contents { bytes: [right, left], have_same_length });
        }
        (None, None) => {}
    }
    left_count -= i64::from(left.rest);
    right_count -= i64::from(right.rest);
    if left_count != right_count {
        return None;
    }
    // The output with fewer emitted bytes has the difference in bytes of the received packet.
    let (left_rest, right_rest) = (left.rest, right.rest);
    let most = left_rest.max(right_rest);
    let first = followed(terms, (extended[0], left.number), left_rest, most - left_rest);
    let second = followed(terms, (extended[1], right.number), right_rest, most - right_rest);
    Some(Contents { bytes: [first, second], have_same_length })
}

/// Returns the contents of a truncated output, of which all bytes are given, and of another output,
/// which has the same length only if the received packet has the right length.
fn beside_truncated(terms: &mut Terms, truncated: Term, other: &Sent) -> Option<Contents> {
    let bytes = |terms: &Terms, term: Term| terms.width_of(term) / 8;
    let count = bytes(terms, truncated).checked_sub(bytes(terms, other.written))?;
    let wanted = terms.number(LENGTH_BITS, other.rest.saturating_add(count).into());
    let have_same_length = terms.equal(other.length, wanted);
    let written = followed(terms, (other.written, other.number), other.rest, count);
    // Such a packet would be longer than any that is considered.
    let is_possible = terms.width_of(written) == terms.width_of(truncated);
    is_possible.then_some(Contents { bytes: [truncated, written], have_same_length })
}

/// Returns `written`, followed by `count` bytes of a received packet from `position` on.
fn followed(terms: &mut Terms, (written, number): (Term, u32), position: u32, count: u32) -> Term {
    let bits = packet::received(terms, number, u64::from(position) * 8, count * 8);
    let bits = bits.unwrap_or_else(|| terms.zero(0));
    terms.concatenate(written, bits)
}
