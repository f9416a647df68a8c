//! Helpers to read and write the structures of this version.
//!
//! Two kinds of type-length-values are frequent. The length of the first kind includes the padding
//! (actions, instructions), and the length of the second kind does not (matches, properties).

use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
pub(super) use crate::structure::{Wire, body, decode_list, encode_list, refuse_known};

/// Returns the number of padding bytes that bring `length` to a multiple of eight.
pub(super) const fn padding(length: usize) -> usize {
    (8 - length % 8) % 8
}

/// Reads the type and length that begin a type-length-value, and returns its type and a reader over
/// its value. The length counts the four bytes of type and length.
pub(super) fn tlv<'a>(
    reader: &mut Reader<'a>,
    min: usize,
    field: &'static str,
) -> Result<(u16, Reader<'a>), DecodeError> {
    let kind = reader.u16(field)?;
    Ok((kind, body(reader, 4, min, field)?))
}

/// Reads the header of a type-length-value like [`tlv`], and checks that its length is a multiple
/// of eight.
pub(super) fn aligned_tlv<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
) -> Result<(u16, Reader<'a>), DecodeError> {
    let start = *reader;
    let (kind, value) = tlv(reader, 8, field)?;
    let length = value.remaining() + 4;
    if !length.is_multiple_of(8) {
        return Err(start.error(field, DecodeErrorKind::Alignment { value: length, multiple: 8 }));
    }
    Ok((kind, value))
}

/// Appends the header of a type-length-value with a length of 0, and returns the offset of the
/// header in `out`. One of the `end` functions later writes the correct length.
pub(super) fn begin(out: &mut Vec<u8>, kind: u16) -> usize {
    let start = out.len();
    put_u16(out, kind);
    put_u16(out, 0);
    start
}

/// Ends a type-length-value without padding. Its length must be a multiple of eight bytes.
pub(super) fn end_aligned(
    out: &mut [u8],
    start: usize,
    field: &'static str,
) -> Result<(), EncodeError> {
    let length = out.len() - start;
    if !length.is_multiple_of(8) {
        let expected = "a length that is a multiple of 8";
        return Err(EncodeError::Value { field, value: length as u64, expected });
    }
    patch_length(out, start, start + 2, field)
}

/// Ends a type-length-value with padding that its length includes.
pub(super) fn end_counting_padding(
    out: &mut Vec<u8>,
    start: usize,
    field: &'static str,
) -> Result<(), EncodeError> {
    let length = out.len() - start;
    pad(out, padding(length));
    patch_length(out, start, start + 2, field)
}

/// Ends a type-length-value and appends padding that its length does not include.
pub(super) fn end_then_pad(
    out: &mut Vec<u8>,
    start: usize,
    field: &'static str,
) -> Result<(), EncodeError> {
    patch_length(out, start, start + 2, field)?;
    let length = out.len() - start;
    pad(out, padding(length));
    Ok(())
}

pub(super) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_checked_against_both_sides() {
        let mut reader = Reader::new(&[0, 7, 0, 3, 1, 2]);
        let error = tlv(&mut reader, 4, "f").unwrap_err();
        assert_eq!(error.offset, 2);
        assert_eq!(error.kind, DecodeErrorKind::Length { value: 3, min: 4, max: 6 });

        let error = tlv(&mut Reader::new(&[0, 7, 0, 7, 1, 2]), 4, "f").unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::Length { value: 7, min: 4, max: 6 });

        let (kind, value) = tlv(&mut Reader::new(&[0, 7, 0, 5, 1, 2]), 4, "f").unwrap();
        assert_eq!((kind, value.remaining()), (7, 1));

        let bytes = [0, 7, 0, 9, 0, 0, 0, 0, 0, 0];
        let error = aligned_tlv(&mut Reader::new(&bytes), "f").unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::Alignment { value: 9, multiple: 8 });
    }

    #[test]
    fn padding_is_counted_or_not() {
        let mut out = vec![0xff];
        let start = begin(&mut out, 1);
        out.push(2);
        end_counting_padding(&mut out, start, "f").unwrap();
        assert_eq!(out, [0xff, 0, 1, 0, 8, 2, 0, 0, 0]);

        let mut out = vec![0xff];
        let start = begin(&mut out, 1);
        out.push(2);
        end_then_pad(&mut out, start, "f").unwrap();
        assert_eq!(out, [0xff, 0, 1, 0, 5, 2, 0, 0, 0]);
        assert!(end_aligned(&mut out[..6], start, "f").is_err());
    }
}
