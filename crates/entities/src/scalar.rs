//! Values of match fields and action parameters.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::value::{ValueError, ValueType};

/// A value of a match field or action argument, in canonical form and with its width.
///
/// The canonical form is the shortest big-endian string (specification of P4Runtime 1.5,
/// "Bytestrings"), so that equal values have equal bytes. Values of up to 128 bits are stored
/// inline, because a switch keeps several values for every entry.
#[derive(Clone)]
pub struct Value(Repr);

/// The number of bytes up to which a value is stored inline.
const INLINE: usize = 16;

/// The representation of a scalar: short values are stored inline, without an allocation.
#[derive(Clone)]
enum Repr {
    Inline { bits: u32, length: u8, bytes: [u8; INLINE] },
    Heap { bits: u32, bytes: Box<[u8]> },
}

impl Value {
    /// Creates a value of this type from bytes of any length.
    ///
    /// # Errors
    /// Returns an error if the bytes are no value of this type.
    pub fn new(kind: ValueType, bytes: &[u8]) -> Result<Self, ValueError> {
        let bytes = kind.canonical(bytes)?;
        Ok(Self::canonical(kind.bits().unwrap_or(0), bytes))
    }

    /// Creates a value from its canonical bytes. `bits` is its width, or 0 for a string of a
    /// translated type.
    pub(crate) fn canonical(bits: u32, bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE];
        match (inline.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(part), Ok(length)) => {
                part.copy_from_slice(bytes);
                Self(Repr::Inline { bits, length, bytes: inline })
            }
            _ => Self(Repr::Heap { bits, bytes: bytes.into() }),
        }
    }

    /// Creates a value of `bits` bits from a number, or returns `None` if the number does not fit.
    #[must_use]
    pub fn number(bits: u32, number: u128) -> Option<Self> {
        let needed = (u128::BITS - number.leading_zeros()).max(1);
        let encoded = number.to_be_bytes();
        let bytes = encoded.get(INLINE - needed.div_ceil(8) as usize..)?;
        (needed <= bits).then(|| Self::canonical(bits, bytes))
    }

    /// Returns the canonical bytes of the value. They can only be empty for a string.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { length, bytes, .. } => {
                bytes.get(..usize::from(*length)).unwrap_or(bytes)
            }
            Repr::Heap { bytes, .. } => bytes,
        }
    }

    /// Returns the width of the value in bits, or `None` for a string (`p4runtime_translation` with
    /// `string`).
    #[must_use]
    pub fn bits(&self) -> Option<u32> {
        let (Repr::Inline { bits, .. } | Repr::Heap { bits, .. }) = self.0;
        (bits > 0).then_some(bits)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits() && self.bytes() == other.bytes()
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Orders numbers of the same width by value, because shorter canonical strings come first.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |value: &Self| (value.bits(), value.bytes().len());
        key(self).cmp(&key(other)).then_with(|| self.bytes().cmp(other.bytes()))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits() {
            Some(bits) => write!(f, "{bits}w{:02x?}", self.bytes()),
            None => write!(f, "{:02x?}", self.bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn bits(width: u32) -> ValueType {
        NonZeroU32::new(width).map_or(ValueType::Text, ValueType::Bits)
    }

    #[test]
    fn equal_values_are_equal_whatever_their_length() {
        let short = Value::new(bits(32), &[5]).unwrap();
        assert_eq!(short, Value::new(bits(32), &[0, 0, 5]).unwrap());
        assert_ne!(short, Value::new(bits(9), &[5]).unwrap());
        assert!(short < Value::new(bits(32), &[1, 0]).unwrap());
        assert_eq!(Value::number(9, 511).unwrap().bytes(), [1, 255]);
        assert_eq!(Value::number(9, 512), None);
        assert_eq!(Value::number(128, u128::MAX).unwrap().bytes(), [255; 16]);
        assert_eq!(Value::number(1, 0).unwrap().bytes(), [0]);
        assert_eq!((Value::number(0, 0), Value::number(127, u128::MAX)), (None, None));
    }

    #[test]
    fn values_of_any_width_are_kept() {
        assert_eq!(size_of::<Value>(), 24);
        for length in [1_u8, 16, 17, 200] {
            let bytes: Vec<u8> = (1..=length).collect();
            let value = Value::new(bits(1600), &bytes).unwrap();
            assert_eq!((value.bytes(), value.bits()), (&bytes[..], Some(1600)));
        }
        assert_eq!(Value::new(bits(0), b"\0eth0").unwrap().bits(), None);
    }
}
