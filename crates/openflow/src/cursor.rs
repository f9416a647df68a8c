//! Readers and writers of network-order fields, which report positions in errors.
//!
//! [`Reader`] never allocates and never reads beyond its structure, so that a wrong length field
//! can at worst make decoding fail. Nested structures are read by a reader of their own
//! ([`Reader::sub`]), which keeps counting offsets from the start of the message.

use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

/// A reader of the fields of one structure, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    position: usize,
    /// The offset from the start of the message at which `data` begins.
    base: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0, base: 0 }
    }

    /// Returns the offset of the next field from the start of the message, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.position
    }

    pub(crate) fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    pub(crate) fn error(&self, field: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { offset: self.offset(), field, kind }
    }

    pub(crate) fn bytes(
        &mut self,
        count: usize,
        field: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let available = self.remaining();
        if count > available {
            return Err(self.error(field, DecodeErrorKind::Truncated { needed: count, available }));
        }
        let taken = &self.data[self.position..self.position + count];
        self.position += count;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        let mut value = [0; N];
        value.copy_from_slice(self.bytes(N, field)?);
        Ok(value)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(field)?[0])
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_be_bytes)
    }

    pub(crate) fn skip(&mut self, count: usize, field: &'static str) -> Result<(), DecodeError> {
        self.bytes(count, field).map(drop)
    }

    /// Reads all bytes up to the end of the structure.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.data[self.position..];
        self.position = self.data.len();
        rest
    }

    /// Returns a reader of the next `count` bytes. This reader then continues after these bytes.
    pub(crate) fn sub(
        &mut self,
        count: usize,
        field: &'static str,
    ) -> Result<Reader<'a>, DecodeError> {
        let base = self.offset();
        Ok(Reader { data: self.bytes(count, field)?, position: 0, base })
    }

    /// Returns an error if bytes of the structure have not been read. `field` names the structure.
    pub(crate) fn finish(&self, field: &'static str) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(field, DecodeErrorKind::Trailing(left))),
        }
    }
}

/// Appends `count` zero bytes of padding.
pub(crate) fn pad(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len() + count, 0);
}

/// Writes the number of bytes from the offset `start` to the end of `out` into the 16-bit length
/// field at the offset `at`.
pub(crate) fn patch_length(
    out: &mut [u8],
    start: usize,
    at: usize,
    field: &'static str,
) -> Result<(), EncodeError> {
    let length = out.len() - start;
    let value = u16::try_from(length).map_err(|_| EncodeError::TooLong {
        field,
        length,
        max: usize::from(u16::MAX),
    })?;
    out[at..at + 2].copy_from_slice(&value.to_be_bytes());
    Ok(())
}
