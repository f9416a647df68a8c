//! Keys of several fields, each matched in its own way, and the masks that they come down to.
//!
//! A packet's key is its fields one behind the other, each most significant byte first and padded to whole bytes.
//! Every match kind becomes values under masks: an exact field has a full mask, a longest-prefix field a prefix, an
//! optional one a full mask or none; a range becomes the prefixes that cover it, at most `2w - 2` of them for `w` bits
//! (Srinivasan et al. 1998), as in a TCAM.

use thiserror::Error;

/// How a field is matched (P4Runtime 1.4, Section 9.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// All bits equal.
    Exact,
    /// The first bits equal; among matches the longest prefix wins.
    Lpm,
    /// The bits under a mask equal; among matches the highest priority wins.
    Ternary,
    /// Between two bounds, both included.
    Range,
    /// All bits equal, or anything.
    Optional,
}

/// A field of a table's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchField {
    /// Its width.
    pub bits: u32,
    /// How it is matched.
    pub kind: MatchKind,
}

impl MatchField {
    pub(crate) fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }
}

/// What an entry says of one field. Values have as many bytes as the field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldMatch {
    /// This value; for exact and optional fields.
    Exact(Vec<u8>),
    /// This many first bits of this value; for longest-prefix fields.
    Lpm(Vec<u8>, u32),
    /// This value in the bits that the mask has; for ternary fields.
    Ternary(Vec<u8>, Vec<u8>),
    /// From the first to the second value; for range fields.
    Range(Vec<u8>, Vec<u8>),
    /// Anything; for all but exact fields.
    Any,
}

/// A value under a mask, over all fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Masked {
    pub(crate) mask: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// The most masked values that one entry may come down to.
const MOST_PIECES: usize = 1024;

/// The masked values of an entry, and its prefix length if it has a longest-prefix field.
pub(crate) fn pieces(
    fields: &[MatchField],
    matches: &[FieldMatch],
) -> Result<(Vec<Masked>, u32), MatchError> {
    if fields.len() != matches.len() {
        return Err(MatchError::Fields { given: matches.len(), expected: fields.len() });
    }
    let mut pieces = vec![Masked::default()];
    let mut prefix = 0;
    for (number, (field, wanted)) in fields.iter().zip(matches).enumerate() {
        if let (MatchKind::Lpm, FieldMatch::Lpm(_, length)) = (field.kind, wanted) {
            prefix = *length;
        }
        let options = field_pieces(number, field, wanted)?;
        if pieces.len() * options.len() > MOST_PIECES {
            return Err(MatchError::TooManyPieces { field: number });
        }
        pieces = pieces
            .iter()
            .flat_map(|piece| {
                options.iter().map(|option| Masked {
                    mask: [&piece.mask[..], &option.mask].concat(),
                    value: [&piece.value[..], &option.value].concat(),
                })
            })
            .collect();
    }
    Ok((pieces, prefix))
}

fn field_pieces(
    number: usize,
    field: &MatchField,
    wanted: &FieldMatch,
) -> Result<Vec<Masked>, MatchError> {
    let full = prefix_mask(field, field.bits);
    let check = |value: &[u8]| {
        if value.len() != field.bytes()
            || value.iter().zip(&full).any(|(byte, mask)| byte & !mask != 0)
        {
            return Err(MatchError::Value { field: number, bits: field.bits });
        }
        Ok(())
    };
    let one = |mask: Vec<u8>, value: &[u8]| {
        // Bits that do not matter must be zero, or two entries could be equal and look different (P4Runtime 1.4,
        // Section 8.3).
        if value.iter().zip(&mask).any(|(byte, mask)| byte & !mask != 0) {
            return Err(MatchError::NotMasked { field: number });
        }
        Ok(vec![Masked { mask, value: value.to_vec() }])
    };
    match (field.kind, wanted) {
        (MatchKind::Exact | MatchKind::Optional, FieldMatch::Exact(value)) => {
            check(value)?;
            one(full, value)
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
            one(prefix_mask(field, *length), value)
        }
        (MatchKind::Ternary, FieldMatch::Ternary(value, mask)) => {
            check(value)?;
            check(mask)?;
            one(mask.clone(), value)
        }
        (MatchKind::Range, FieldMatch::Range(low, high)) => {
            check(low)?;
            check(high)?;
            if low > high {
                return Err(MatchError::EmptyRange { field: number });
            }
            Ok(range_prefixes(field, low, high))
        }
        (MatchKind::Exact, FieldMatch::Any) => {
            Err(MatchError::Kind { field: number, kind: field.kind })
        }
        (_, FieldMatch::Any) => {
            Ok(vec![Masked { mask: vec![0; field.bytes()], value: vec![0; field.bytes()] }])
        }
        _ => Err(MatchError::Kind { field: number, kind: field.kind }),
    }
}

/// The mask of a field's first `length` bits.
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

/// The prefixes that cover a range: from the low end, always the largest aligned block that fits.
fn range_prefixes(field: &MatchField, low: &[u8], high: &[u8]) -> Vec<Masked> {
    let mut pieces = Vec::new();
    let mut at = low.to_vec();
    loop {
        // Free bits: as many trailing zeros as `at` has, but the block must end within the range.
        let mut free = 0;
        while free < field.bits {
            let mut end = at.clone();
            (0..=free).for_each(|bit| set_bit(&mut end, bit));
            if bit(&at, free) || end.as_slice() > high {
                break;
            }
            free += 1;
        }
        pieces.push(Masked { mask: prefix_mask(field, field.bits - free), value: at.clone() });
        (0..free).for_each(|bit| set_bit(&mut at, bit));
        if at.as_slice() >= high {
            return pieces;
        }
        increment(&mut at);
    }
}

/// A bit, counted from the least significant.
fn bit(value: &[u8], index: u32) -> bool {
    let byte = value.len() - 1 - index as usize / 8;
    value[byte] & (1 << (index % 8)) != 0
}

fn set_bit(value: &mut [u8], index: u32) {
    let byte = value.len() - 1 - index as usize / 8;
    value[byte] |= 1 << (index % 8);
}

fn increment(value: &mut [u8]) {
    for byte in value.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}

/// Why an entry's match does not fit the table's key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// Too few or too many fields.
    #[error("the entry has {given} fields and the table's key has {expected}")]
    Fields {
        /// Fields of the entry.
        given: usize,
        /// Fields of the key.
        expected: usize,
    },
    /// A field matched in another way.
    #[error("field {field} is matched as {kind:?}; give it that kind of match")]
    Kind {
        /// The field, counted from 0.
        field: usize,
        /// Its kind.
        kind: MatchKind,
    },
    /// A value that does not fit.
    #[error("field {field}: the value does not fit {bits} bits in whole bytes, zeros in front")]
    Value {
        /// The field, counted from 0.
        field: usize,
        /// Its width.
        bits: u32,
    },
    /// A prefix longer than the field.
    #[error("field {field}: a prefix of {length} bits is longer than the field's {bits}")]
    Prefix {
        /// The field, counted from 0.
        field: usize,
        /// The prefix length.
        length: u32,
        /// The field's width.
        bits: u32,
    },
    /// Bits that are set and do not matter.
    #[error("field {field}: the value has bits outside its mask; set them to zero")]
    NotMasked {
        /// The field, counted from 0.
        field: usize,
    },
    /// A range whose end comes before its beginning.
    #[error("field {field}: the range is empty; give the lower bound first")]
    EmptyRange {
        /// The field, counted from 0.
        field: usize,
    },
    /// Ranges that come down to too many masked values.
    #[error(
        "field {field}: the entry's ranges come down to more than {MOST_PIECES} masked values; split the entry"
    )]
    TooManyPieces {
        /// The field, counted from 0, with which there are too many.
        field: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(piece: &Masked, key: &[u8]) -> bool {
        piece
            .mask
            .iter()
            .zip(key)
            .zip(&piece.value)
            .all(|((mask, byte), value)| byte & mask == *value)
    }

    #[test]
    fn every_range_of_six_bits_is_covered_exactly_and_with_few_prefixes() {
        let field = MatchField { bits: 6, kind: MatchKind::Range };
        for low in 0..64_u8 {
            for high in low..64 {
                let (pieces, _) =
                    pieces(&[field], &[FieldMatch::Range(vec![low], vec![high])]).unwrap();
                assert!(pieces.len() <= 10, "{low} to {high}: {}", pieces.len());
                for key in 0..64 {
                    let covered = pieces.iter().filter(|piece| matches(piece, &[key])).count();
                    assert_eq!(
                        covered,
                        usize::from((low..=high).contains(&key)),
                        "{low} to {high}: {key}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_range_to_the_end_of_whole_bytes_does_not_run_over() {
        let field = MatchField { bits: 16, kind: MatchKind::Range };
        let all = pieces(&[field], &[FieldMatch::Range(vec![0, 0], vec![255, 255])]).unwrap().0;
        assert_eq!(all, [Masked { mask: vec![0, 0], value: vec![0, 0] }]);
        let worst = pieces(&[field], &[FieldMatch::Range(vec![0, 1], vec![255, 254])]).unwrap().0;
        assert_eq!(worst.len(), 30);
    }

    #[test]
    fn fields_lie_one_behind_the_other() {
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
        let (pieces, prefix) = pieces(&fields, &wanted).unwrap();
        assert_eq!(prefix, 9);
        assert_eq!(
            pieces,
            [Masked {
                mask: vec![1, 255, 255, 0x80, 0, 0, 0],
                value: vec![1, 2, 10, 0x80, 0, 0, 0]
            }]
        );
    }

    #[test]
    fn what_does_not_fit_is_an_error_that_names_the_field() {
        let lpm = [MatchField { bits: 12, kind: MatchKind::Lpm }];
        let error = |wanted| pieces(&lpm, &[wanted]).unwrap_err();
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
        assert_eq!(pieces(&lpm, &[]), Err(MatchError::Fields { given: 0, expected: 1 }));
        let ranges = [MatchField { bits: 16, kind: MatchKind::Range }; 3];
        let wide = || FieldMatch::Range(vec![0, 1], vec![255, 254]);
        assert_eq!(
            pieces(&ranges, &[wide(), wide(), wide()]),
            Err(MatchError::TooManyPieces { field: 2 })
        );
        assert_eq!(
            pieces(&ranges[..1], &[FieldMatch::Range(vec![1, 0], vec![0, 255])]),
            Err(MatchError::EmptyRange { field: 0 })
        );
    }
}
