//! Finds the layouts that a packet may have after a deparser has written it, so that a parser can
//! read it again.

use super::{Emitted, Executor, Unsupported};
use crate::packet::{self, Packet};
use crate::query::Answer;
use crate::term::Term;
use std::collections::BTreeMap;

/// The largest number of layouts that a packet may have.
const MAXIMUM_LAYOUTS: usize = 64;
/// The number of conflicts after which the solver stops, and a condition counts as satisfiable.
const CONFLICTS: u64 = 2_000;

/// A layout of a packet that a deparser writes: the bits that are emitted under a condition.
#[derive(Clone)]
struct Layout {
    guard: Term,
    bits: Term,
    /// The position, in bits, in the parsed packet of its unparsed rest, which follows the emitted
    /// bits.
    cursor: u64,
    /// The validities and lengths that the condition fixes, with their values.
    decided: BTreeMap<Term, u64>,
}

impl Executor<'_> {
    /// Returns whether a condition may be satisfiable. If the solver does not find out quickly,
    /// returns true.
    ///
    /// # Errors
    ///
    /// Returns an error if the solver's answer is wrong.
    pub(super) fn is_feasible(&mut self, condition: Term) -> Result<bool, Unsupported> {
        if let Some(known) = self.terms.truth_of(condition) {
            return Ok(known);
        }
        if self.is_late() {
            return Ok(true);
        }
        let answer = self.feasibility.solve_within(&self.terms, &[condition], CONFLICTS);
        match answer.map_err(|error| Unsupported::new(format!("the program ({error})")))? {
            Answer::Unsat(_) => Ok(false),
            Answer::Model(_) | Answer::OutOfBudget(_) => Ok(true),
        }
    }

    /// Returns the packets that a deparser may have written, one for each layout, after the
    /// condition of the layout. The conditions exclude each other. Returns `None` if there are too
    /// many layouts.
    ///
    /// # Errors
    ///
    /// Returns an error if the solver's answer is wrong.
    pub(super) fn layouts(
        &mut self,
        guard: Term,
        emitted: &[Emitted],
        packet: &Packet,
        cursor: Term,
    ) -> Result<Option<Vec<(Term, Packet)>>, Unsupported> {
        let Some(cursors) = self.cases(cursor, MAXIMUM_LAYOUTS) else { return Ok(None) };
        let mut open = Vec::new();
        for (condition, cursor) in cursors {
            let guard = self.terms.and(guard, condition);
            if self.is_feasible(guard)? {
                let bits = self.terms.zero(0);
                open.push(Layout { guard, bits, cursor, decided: BTreeMap::new() });
            }
        }
        for Emitted { on, value, length } in emitted {
            open = self.decide_part(open, *on, &[0, 1])?;
            if let Some(length) = length {
                let Some(lengths) = self.cases(*length, MAXIMUM_LAYOUTS) else { return Ok(None) };
                let lengths: Vec<u64> = lengths.iter().map(|(_, length)| *length).collect();
                let (with, without): (Vec<Layout>, Vec<Layout>) =
                    open.into_iter().partition(|layout| layout.decided.get(on) == Some(&1));
                open = without;
                open.extend(self.decide_part(with, *length, &lengths)?);
            }
            if open.len() > MAXIMUM_LAYOUTS {
                return Ok(None);
            }
            for layout in &mut open {
                if layout.decided.get(on) != Some(&1) {
                    continue;
                }
                let bits = match length.and_then(|length| layout.decided.get(&length)) {
                    Some(length) => match u32::try_from(*length) {
                        Ok(length) => self.terms.resize(*value, length),
                        Err(_) => return Ok(None),
                    },
                    None => *value,
                };
                layout.bits = self.terms.concatenate(layout.bits, bits);
            }
        }
        self.packets_of(open, packet)
    }

    /// Splits each layout into one for each value of a term, unless its condition already fixes
    /// that value. Drops layouts that no packet can have.
    fn decide_part(
        &mut self,
        layouts: Vec<Layout>,
        term: Term,
        values: &[u64],
    ) -> Result<Vec<Layout>, Unsupported> {
        let mut split = Vec::with_capacity(layouts.len());
        let width = self.terms.width_of(term);
        for layout in layouts {
            if layout.decided.contains_key(&term) {
                split.push(layout);
                continue;
            }
            for value in values {
                let wanted = self.terms.number(width, (*value).into());
                let equal = self.terms.equal(term, wanted);
                let guard = self.terms.and(layout.guard, equal);
                if !self.is_feasible(guard)? {
                    continue;
                }
                let mut next = Layout { guard, ..layout.clone() };
                next.decided.insert(term, *value);
                split.push(next);
            }
        }
        Ok(split)
    }

    /// Returns the packet of each layout. Layouts with the same emitted length, and whose unparsed
    /// rest begins at the same byte, are joined into one packet.
    fn packets_of(
        &mut self,
        layouts: Vec<Layout>,
        packet: &Packet,
    ) -> Result<Option<Vec<(Term, Packet)>>, Unsupported> {
        let mut found: BTreeMap<(usize, u32), (Term, Packet)> = BTreeMap::new();
        for Layout { guard, bits, cursor, .. } in layouts {
            let Some(mut next) = self.following(packet, bits, cursor) else { return Ok(None) };
            let key = (next.written.len(), next.rest);
            let Some((before, other)) = found.remove(&key) else {
                found.insert(key, (guard, next));
                continue;
            };
            for (byte, other) in next.written.iter_mut().zip(&other.written) {
                *byte = self.terms.if_then_else(guard, *byte, *other);
            }
            next.length = self.terms.if_then_else(guard, next.length, other.length);
            let either = self.terms.or(before, guard);
            found.insert(key, (either, next));
        }
        Ok(Some(found.into_values().collect()))
    }

    /// Returns the packet that consists of emitted bits, followed by the bytes of another packet
    /// from a position on.
    fn following(&mut self, packet: &Packet, bits: Term, cursor: u64) -> Option<Packet> {
        let width = self.terms.width_of(bits);
        let padding = self.terms.zero((8 - width % 8) % 8);
        let bits = self.terms.concatenate(bits, padding);
        let total = self.terms.width_of(bits);
        let mut written: Vec<Term> = (0..total / 8)
            .map(|byte| {
                let low = total - 8 - byte * 8;
                self.terms.extract(bits, low + 7, low)
            })
            .collect();
        let start = usize::try_from(cursor / 8).ok()?;
        let made = u128::try_from(written.len()).ok()?;
        written.extend(packet.written.get(start..).unwrap_or_default());
        let beyond = start.saturating_sub(packet.written.len());
        let rest = packet.rest.checked_add(u32::try_from(beyond).ok()?)?;
        let removed = self.terms.number(packet::LENGTH_BITS, u128::try_from(start).ok()?);
        let added = self.terms.number(packet::LENGTH_BITS, made);
        let length = self.terms.subtract(packet.length, removed);
        let length = self.terms.add(length, added);
        Some(Packet { number: packet.number, written, rest, length })
    }
}
