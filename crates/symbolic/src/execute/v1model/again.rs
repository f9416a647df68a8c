//! Further passes: what a packet preserves of its metadata, and the layouts of packets that are
//! recirculated.

use super::Values;
use crate::execute::{Emitted, Executor, Fill};
use crate::packet::{self, Packet};
use crate::term::Term;
use architectures::MetadataField;
use ir::{AnnotationBody, AnnotationValue, Type, TypeId};
use std::collections::BTreeMap;

/// A layout of an outgoing packet: the bits that are emitted under a condition.
#[derive(Clone)]
struct Layout {
    guard: Term,
    bits: Term,
    /// Whether the parts with these conditions are emitted.
    decided: BTreeMap<Term, bool>,
}

impl Executor<'_> {
    /// Returns the metadata of a packet that enters ingress again. They are zero, except for the
    /// fields of the field list and the instance type.
    pub(super) fn preserved(
        &mut self,
        (instance_type, list): (u64, Term),
        (values, standard_type, metadata_type): (&Values, TypeId, TypeId),
    ) -> (Vec<Term>, Vec<Term>) {
        let mut metadata = self.initial(metadata_type, Fill::Zero);
        let mut standard = self.initial(standard_type, Fill::Zero);
        for (type_id, fresh, kept) in [
            (metadata_type, &mut metadata, &values.metadata),
            (standard_type, &mut standard, &values.standard),
        ] {
            let mut lists = Vec::new();
            self.listed(type_id, 0, &mut lists);
            for (number, offset, size) in lists {
                let wanted = self.terms.number(32, number.into());
                let named = self.terms.equal(list, wanted);
                for at in offset..offset + size {
                    let (Some(old), Some(kept)) = (fresh.get(at).copied(), kept.get(at)) else {
                        continue;
                    };
                    let value = self.terms.if_then_else(named, *kept, old);
                    if let Some(leaf) = fresh.get_mut(at) {
                        *leaf = value;
                    }
                }
            }
        }
        if let Some(at) = self.field_leaf(standard_type, MetadataField::InstanceType)
            && let Some(old) = standard.get(at).copied()
        {
            let number = self.terms.number(self.terms.width_of(old), instance_type.into());
            if let Some(leaf) = standard.get_mut(at) {
                *leaf = number;
            }
        }
        (metadata, standard)
    }

    /// Collects the fields that are annotated with `@field_list`: the number of the list, and the
    /// leaves.
    fn listed(&self, type_id: TypeId, base: usize, lists: &mut Vec<(u32, usize, usize)>) {
        let Type::Composite(_) = self.program.types.get(type_id) else { return };
        let Some(composite) = self.program.types.composite(type_id) else { return };
        let parts = self.shapes.fields(type_id);
        for (field, part) in composite.fields.iter().zip(parts) {
            let offset = base + part.offset;
            let size = self.shapes.size(part.type_id);
            for annotation in field.annotations.iter().filter(|one| one.name == "field_list") {
                lists
                    .extend(numbers(&annotation.body).into_iter().map(|list| (list, offset, size)));
            }
            self.listed(part.type_id, offset, lists);
        }
    }

    /// Returns the layouts that an outgoing packet may have, with the packet of each. Returns
    /// `None` if there are too many.
    pub(super) fn layouts(
        &mut self,
        guard: Term,
        emitted: &[Emitted],
        packet: &Packet,
        cursor: Term,
    ) -> Option<Vec<(Term, Packet)>> {
        const MOST: usize = 64;
        let cursors = self.cases(cursor, MOST)?;
        let mut open = vec![Layout { guard, bits: self.terms.zero(0), decided: BTreeMap::new() }];
        for Emitted { on, value, length } in emitted {
            if length.is_some() {
                return None;
            }
            let mut longer = Vec::new();
            for layout in open {
                let sides: &[bool] = match layout.decided.get(on) {
                    Some(true) => &[true],
                    Some(false) => &[false],
                    None => &[true, false],
                };
                for emits in sides {
                    let condition = if *emits { *on } else { self.terms.not(*on) };
                    let guard = self.terms.and(layout.guard, condition);
                    if self.terms.truth_of(guard) == Some(false) {
                        continue;
                    }
                    let mut next = Layout { guard, ..layout.clone() };
                    next.decided.insert(*on, *emits);
                    if *emits {
                        next.bits = self.terms.concatenate(next.bits, *value);
                    }
                    longer.push(next);
                }
            }
            if longer.len() > MOST {
                return None;
            }
            open = longer;
        }
        let mut found = Vec::new();
        for Layout { guard, bits, .. } in open {
            for (condition, cursor) in &cursors {
                let guard = self.terms.and(guard, *condition);
                if self.terms.truth_of(guard) == Some(false) {
                    continue;
                }
                found.push((guard, self.following(packet, bits, *cursor)?));
            }
        }
        (found.len() <= MOST).then_some(found)
    }

    /// Returns the packet that consists of emitted bits and of what follows a position of another
    /// packet.
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
        Some(Packet { written, rest, length })
    }
}

/// Returns the numbers of the lists that an annotation `@field_list` names. They may be written
/// with a width.
fn numbers(body: &AnnotationBody) -> Vec<u32> {
    match body {
        AnnotationBody::Expressions(values) => values
            .iter()
            .filter_map(|value| match value {
                AnnotationValue::Integer(number) => u32::try_from(number.clone()).ok(),
                AnnotationValue::String(_) | AnnotationValue::Bool(_) => None,
            })
            .collect(),
        AnnotationBody::Tokens(tokens) => tokens
            .iter()
            .filter_map(|token| {
                let digits = token.rsplit_once('w').map_or(token.as_str(), |(_, digits)| digits);
                let number = ir::bits::Bits::parse(64, false, digits).ok()?;
                u32::try_from(number.to_u64()?).ok()
            })
            .collect(),
        AnnotationBody::Empty | AnnotationBody::KeyValues(_) => Vec::new(),
    }
}
