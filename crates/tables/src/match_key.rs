//! Keys of several fields, each matched in its own way, and the patterns by which entries match
//! them. A [`Finder`](crate::Finder) stores entries by their patterns.
//!
//! A packet's key is the concatenation of its fields, each most significant byte first and padded
//! to whole bytes. Every match kind except range becomes a value under a mask: an exact field has a
//! full mask, a longest-prefix field the mask of its prefix, an optional field a full mask or an
//! empty one. A range becomes two bounds, and a mask of the leading bits that the bounds share. A
//! range that equals a prefix needs no bounds.

use thiserror::Error;

/// The way in which a field is matched (P4Runtime 1.4, Section 9.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// All bits must be equal.
    Exact,
    /// The leading bits must be equal. The longest matching prefix wins.
    Lpm,
    /// The bits under a mask must be equal. The match with the highest priority wins.
    Ternary,
    /// The field must lie between two bounds, both inclusive.
    Range,
    /// All bits must be equal, or the field is ignored.
    Optional,
}

/// A field of a table's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchField {
    /// The width of the field in bits.
    pub bits: u32,
    /// The way in which the field is matched.
    pub kind: MatchKind,
}

impl MatchField {
    pub(crate) fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }
}

/// An entry's match for one field. Values have the same number of bytes as the field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldMatch {
    /// A value that the field must equal, for exact and optional fields.
    Exact(Vec<u8>),
    /// A value and the number of its leading bits that the field must equal, for longest-prefix
    /// fields.
    Lpm(Vec<u8>, u32),
    /// A value and the mask of the bits in which the field must equal the value, for ternary
    /// fields.
    Ternary(Vec<u8>, Vec<u8>),
    /// The lower and the upper bound of the field, both inclusive, for range fields.
    Range(Vec<u8>, Vec<u8>),
    /// A match with every value, for all fields except exact ones.
    Any,
}

/// The set of keys that an entry matches, as masked bits and ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pattern {
    /// The bits of the key that must equal those of `value`.
    pub(crate) mask: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// The fields that must lie between bounds.
    pub(crate) ranges: Vec<Bounds>,
    /// The number of bits of the entry's prefix, if the key has a longest-prefix field.
    pub(crate) prefix: u32,
}

/// The bounds, both inclusive, between which the field that begins at byte `at` of the key must
/// lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) at: usize,
    pub(crate) low: Vec<u8>,
    pub(crate) high: Vec<u8>,
}

impl Pattern {
    /// Returns the pattern that combines the matches of an entry's fields.
    pub(crate) fn new(fields: &[MatchField], matches: &[FieldMatch]) -> Result<Self, MatchError> {
        if fields.len() != matches.len() {
            return Err(MatchError::Fields { given: matches.len(), expected: fields.len() });
        }
        let mut pattern = Self::default();
        for (number, (field, wanted)) in fields.iter().zip(matches).enumerate() {
            pattern.add(number, field, wanted)?;
        }
        Ok(pattern)
    }

    fn add(
        &mut self,
        number: usize,
        field: &MatchField,
        wanted: &FieldMatch,
    ) -> Result<(), MatchError> {
        let full = prefix_mask(field, field.bits);
        let check = |value: &[u8]| {
            if value.len() != field.bytes()
                || value.iter().zip(&full).any(|(byte, mask)| byte & !mask != 0)
            {
                return Err(MatchError::Value { field: number, bits: field.bits });
            }
            Ok(())
        };
        let (mask, value) = match (field.kind, wanted) {
            (MatchKind::Exact | MatchKind::Optional, FieldMatch::Exact(value)) => {
                check(value)?;
                (full, value.clone())
            }
            (MatchKind::Lpm, FieldMatch::Lpm(value, length)) => {
                check(value)?;
                if *length > field.bits {
                    return Err(MatchError::Prefix {
                        field: number,
                        length: *length,
                        bits: field.bits,
                    });
                }
                self.prefix = *length;
                (prefix_mask(field, *length), value.clone())
            }
            (MatchKind::Ternary, FieldMatch::Ternary(value, mask)) => {
                check(value)?;
                check(mask)?;
                (mask.clone(), value.clone())
            }
            (MatchKind::Range, FieldMatch::Range(low, high)) => {
                check(low)?;
                check(high)?;
                if low > high {
                    return Err(MatchError::EmptyRange { field: number });
                }
                let at = self.mask.len();
                let mask = prefix_mask(field, shared_bits(field, low, high));
                let value: Vec<u8> =
                    low.iter().zip(&mask).map(|(byte, mask)| byte & mask).collect();
                // A range of one value, or of all values with one prefix, needs no bounds.
                let last = full.iter().zip(&mask).zip(&value);
                let last = last.map(|((full, mask), value)| value | full & !mask);
                if value != *low || !last.eq(high.iter().copied()) {
                    self.ranges.push(Bounds { at, low: low.clone(), high: high.clone() });
                }
                (mask, value)
            }
            (
                MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range | MatchKind::Optional,
                FieldMatch::Any,
            ) => (vec![0; field.bytes()], vec![0; field.bytes()]),
            _ => return Err(MatchError::Kind { field: number, kind: field.kind }),
        };
        // Bits outside the mask must be zero. Otherwise two equal entries could have different
        // values (P4Runtime 1.4, Section 9.1.1).
        if value.iter().zip(&mask).any(|(byte, mask)| byte & !mask != 0) {
            return Err(MatchError::NotMasked { field: number });
        }
        self.mask.extend(mask);
        self.value.extend(value);
        Ok(())
    }
}

/// Returns the mask of a field's first `length` bits.
fn prefix_mask(field: &MatchField, length: u32) -> Vec<u8> {
    let padding = field.bytes() as u32 * 8 - field.bits;
    let ones = padding..padding + length;
    (0..field.bytes() as u32)
        .map(|byte| {
            (0..8)
                .fold(0, |mask, bit| mask | u8::from(ones.contains(&(8 * byte + bit))) << (7 - bit))
        })
        .collect()
}

/// Returns the number of leading bits in which two values of a field agree.
fn shared_bits(field: &MatchField, one: &[u8], other: &[u8]) -> u32 {
    let padding = field.bytes() as u32 * 8 - field.bits;
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    let shared = differs.map_or(8 * one.len() as u32, |byte| {
        8 * byte as u32 + (one[byte] ^ other[byte]).leading_zeros()
    });
    shared - padding
}

/// The reason why an entry's matches do not fit the fields of the table's key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The entry matches more or fewer fields than the key has.
    #[error("the entry has {given} fields and the table's key has {expected}")]
    Fields {
        /// The number of fields of the entry.
        given: usize,
        /// The number of fields of the key.
        expected: usize,
    },
    /// The match of a field is not of the field's kind.
    #[error("field {field} is matched as {kind:?}; give it that kind of match")]
    Kind {
        /// The field, counted from 0.
        field: usize,
        /// The kind of the field.
        kind: MatchKind,
    },
    /// The value, the mask or a bound for a field is wider than the field, or its number of bytes
    /// differs from that of the field.
    #[error("field {field}: the value does not fit {bits} bits in whole bytes, zeros in front")]
    Value {
        /// The field, counted from 0.
        field: usize,
        /// The width of the field in bits.
        bits: u32,
    },
    /// The prefix is longer than the field.
    #[error("field {field}: a prefix of {length} bits is longer than the field's {bits}")]
    Prefix {
        /// The field, counted from 0.
        field: usize,
        /// The length of the prefix in bits.
        length: u32,
        /// The width of the field in bits.
        bits: u32,
    },
    /// The value has bits outside the mask.
    #[error("field {field}: the value has bits outside its mask; set them to zero")]
    NotMasked {
        /// The field, counted from 0.
        field: usize,
    },
    /// The upper bound of the range is below the lower one.
    #[error("field {field}: the range is empty; give the lower bound first")]
    EmptyRange {
        /// The field, counted from 0.
        field: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_keeps_its_bounds_and_shares_what_they_share() {
        let field = MatchField { bits: 12, kind: MatchKind::Range };
        let of = |low: [u8; 2], high: [u8; 2]| {
            let wanted = [FieldMatch::Range(low.to_vec(), high.to_vec())];
            Pattern::new(&[field], &wanted).unwrap()
        };
        let pattern = of([0x0a, 0x10], [0x0a, 0x2f]);
        assert_eq!((pattern.mask, pattern.value), (vec![0x0f, 0xc0], vec![0x0a, 0x00]));
        let bounds = Bounds { at: 0, low: vec![0x0a, 0x10], high: vec![0x0a, 0x2f] };
        assert_eq!(pattern.ranges, [bounds]);
        assert_eq!(of([0, 0], [0x0f, 0xff]).mask, [0, 0]);
        assert_eq!(of([1, 2], [1, 2]).mask, [0x0f, 0xff]);
        for (low, high) in [([1, 2], [1, 3]), ([10, 0x40], [10, 0x7f]), ([0, 0], [15, 255])] {
            assert!(of(low, high).ranges.is_empty(), "the mask says all of it");
        }
        for (low, high) in [([1, 3], [1, 4]), ([10, 0x40], [10, 0x7e]), ([0, 1], [15, 255])] {
            assert_eq!(of(low, high).ranges.len(), 1, "some of what the mask lets in is outside");
        }
    }

    #[test]
    fn fields_of_a_pattern_are_contiguous() {
        let fields = [
            MatchField { bits: 9, kind: MatchKind::Exact },
            MatchField { bits: 32, kind: MatchKind::Lpm },
            MatchField { bits: 4, kind: MatchKind::Optional },
        ];
        let wanted = [
            FieldMatch::Exact(vec![1, 2]),
            FieldMatch::Lpm(vec![10, 0x80, 0, 0], 9),
            FieldMatch::Any,
        ];
        let pattern = Pattern::new(&fields, &wanted).unwrap();
        assert_eq!(pattern.prefix, 9);
        assert_eq!(pattern.mask, [1, 255, 255, 0x80, 0, 0, 0]);
        assert_eq!(pattern.value, [1, 2, 10, 0x80, 0, 0, 0]);
        assert!(pattern.ranges.is_empty());
    }

    #[test]
    fn a_match_that_does_not_fit_its_field_is_an_error_that_names_the_field() {
        let lpm = [MatchField { bits: 12, kind: MatchKind::Lpm }];
        let error = |wanted| Pattern::new(&lpm, &[wanted]).unwrap_err();
        assert_eq!(
            error(FieldMatch::Lpm(vec![0, 0], 13)),
            MatchError::Prefix { field: 0, length: 13, bits: 12 }
        );
        assert_eq!(
            error(FieldMatch::Lpm(vec![0x10, 0], 4)),
            MatchError::Value { field: 0, bits: 12 }
        );
        assert_eq!(error(FieldMatch::Lpm(vec![0, 1], 4)), MatchError::NotMasked { field: 0 });
        assert_eq!(
            error(FieldMatch::Exact(vec![0, 0])),
            MatchError::Kind { field: 0, kind: MatchKind::Lpm }
        );
        assert_eq!(Pattern::new(&lpm, &[]), Err(MatchError::Fields { given: 0, expected: 1 }));
        let range = [MatchField { bits: 16, kind: MatchKind::Range }];
        assert_eq!(
            Pattern::new(&range, &[FieldMatch::Range(vec![1, 0], vec![0, 255])]),
            Err(MatchError::EmptyRange { field: 0 })
        );
    }
}
