//! The rules for values, and for the matches of key fields (8.3, 9.1.1).

use bytes::Bytes;
use protos::v1::{self, field_match::FieldMatchType as Match};

use super::answer::{BAD_VALUE, Faults, INVALID};
use crate::bench::REFUSED;
use crate::entities::all_ones;
use crate::fuzz::normal::shortest;
use crate::subject::{self, Key};

/// Checks the matches of an entry, or of a member of a value set (9.1.1).
pub(super) fn matches(keys: &[Key], fields: &[v1::FieldMatch], faults: &mut Faults) {
    let mut seen = Vec::new();
    for field in fields {
        faults.add(seen.contains(&field.field_id), REFUSED);
        seen.push(field.field_id);
        match keys.iter().find(|key| key.id == field.field_id) {
            None => faults.add(true, REFUSED),
            Some(key) => field_match(key, field.field_match_type.as_ref(), faults),
        }
    }
    let is_missing = |key: &Key| key.kind == subject::Kind::Exact && !seen.contains(&key.id);
    faults.add(keys.iter().any(is_missing), REFUSED);
}

fn field_match(key: &Key, matched: Option<&Match>, faults: &mut Faults) {
    // Which strings a device translates is not certain, so it may refuse any that it has not taken
    // before. That is checked for the whole update.
    let is_value = |value: &Bytes| key.is_text() || is_value(value, key.bits);
    match (key.kind, matched) {
        (subject::Kind::Exact, Some(Match::Exact(exact))) => {
            faults.add(!is_value(&exact.value), BAD_VALUE);
        }
        (subject::Kind::Optional, Some(Match::Optional(optional))) => {
            faults.add(!is_value(&optional.value), BAD_VALUE);
        }
        (subject::Kind::Lpm, Some(Match::Lpm(prefix))) => {
            faults.add(!is_value(&prefix.value), BAD_VALUE);
            faults.add(prefix.prefix_len <= 0, INVALID);
            let length = u32::try_from(prefix.prefix_len).unwrap_or(0);
            // The section does not name a code for a prefix that is longer than the field.
            faults.add(length > key.bits, REFUSED);
            let behind = key.bits.saturating_sub(length);
            faults.add(length > 0 && has_low_bits(&prefix.value, behind), INVALID);
        }
        (subject::Kind::Ternary, Some(Match::Ternary(ternary))) => {
            faults.add(!is_value(&ternary.value) || !is_value(&ternary.mask), BAD_VALUE);
            let (value, mask) = (shortest(&ternary.value), shortest(&ternary.mask));
            faults.add(mask.iter().all(|byte| *byte == 0), INVALID);
            faults.add(!is_within(&value, &mask), INVALID);
        }
        (subject::Kind::Range, Some(Match::Range(range))) => {
            faults.add(!is_value(&range.low) || !is_value(&range.high), BAD_VALUE);
            let (low, high) = (shortest(&range.low), shortest(&range.high));
            faults.add((low.len(), &low) > (high.len(), &high), INVALID);
            let is_all = low.iter().all(|byte| *byte == 0) && high[..] == all_ones(key.bits)[..];
            faults.add(is_all, INVALID);
        }
        _ => faults.add(true, REFUSED),
    }
}

/// Returns whether a byte string is a valid value of `bits` bits (8.3).
pub(super) fn is_value(value: &Bytes, bits: u32) -> bool {
    !value.is_empty() && fits(value, bits)
}

/// Returns whether a value has at most `bits` bits.
fn fits(value: &Bytes, bits: u32) -> bool {
    let value = shortest(value);
    let first = value.first().copied().unwrap_or(0);
    let used = (value.len().saturating_sub(1) as u32) * 8 + (8 - first.leading_zeros());
    used <= bits
}

/// Returns whether any of the lowest `count` bits of a value is set.
fn has_low_bits(value: &Bytes, count: u32) -> bool {
    value.iter().rev().zip(0_u32..).any(|(byte, place)| {
        let bits = count.saturating_sub(place * 8).min(8);
        u16::from(*byte) & ((1 << bits) - 1) != 0
    })
}

/// Returns whether all set bits of a value are in a mask.
fn is_within(value: &Bytes, mask: &Bytes) -> bool {
    let masks = mask.iter().rev().copied().chain(std::iter::repeat(0));
    value.iter().rev().zip(masks).all(|(value, mask)| value & !mask == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_byte_strings() {
        let bytes = |value: &'static [u8]| Bytes::from_static(value);
        assert!(fits(&bytes(&[1, 0xff]), 9) && !fits(&bytes(&[2, 0]), 9));
        assert!(fits(&bytes(&[0, 0, 1]), 1) && fits(&bytes(&[0]), 1));
        assert!(has_low_bits(&bytes(&[1, 0]), 9) && !has_low_bits(&bytes(&[1, 0]), 8));
        assert!(!has_low_bits(&bytes(&[10, 0]), 0));
        assert!(
            is_within(&bytes(&[2]), &bytes(&[1, 3])) && !is_within(&bytes(&[1, 2]), &bytes(&[3]))
        );
    }
}
