//! The values of match fields, and their masks.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::oxm::{Ipv6ExtensionHeaders, VlanVid};
use crate::MacAddress;
use crate::PortNumber;
use crate::cursor::Reader;
use crate::error::DecodeError;

/// A value with an optional mask. Only the bits in the mask are compared or, without a mask, all
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Masked<T> {
    /// The value with which the field is compared.
    pub value: T,
    /// The bits of the field that are compared, or `None` for all bits.
    pub mask: Option<T>,
}

impl<T> From<T> for Masked<T> {
    fn from(value: T) -> Self {
        Self { value, mask: None }
    }
}

impl<T> From<(T, T)> for Masked<T> {
    fn from((value, mask): (T, T)) -> Self {
        Self { value, mask: Some(mask) }
    }
}

/// A service instance id of a provider backbone bridge, which has 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PbbIsid(u32);

impl PbbIsid {
    /// Creates a service instance id, or returns `None` if it does not fit in 24 bits.
    pub const fn new(id: u32) -> Option<Self> {
        if id <= 0x00ff_ffff { Some(Self(id)) } else { None }
    }

    /// Returns the id as a number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A value of fixed width in a match field.
pub(super) trait Value: Copy + PartialEq {
    /// The length of the value in bytes.
    const WIDTH: usize;
    /// The value in which every bit that exists on the wire is set.
    const ONES: Self;
    /// The value with no bit set.
    const ZERO: Self;

    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Self, DecodeError>;
    fn write(self, out: &mut Vec<u8>);
    fn and(self, other: Self) -> Self;
}

/// The payload of a field's variant: a value, or a value with an optional mask.
pub(super) trait Payload: Sized {
    /// Whether the field may have a mask.
    const MASKABLE: bool;

    fn read(
        reader: &mut Reader<'_>,
        has_mask: bool,
        field: &'static str,
    ) -> Result<Self, DecodeError>;
    fn write(&self, out: &mut Vec<u8>);
    fn has_mask(&self) -> bool;
    fn normalized(&self) -> Option<Self>;
    fn covers(&self, other: &Self) -> bool;
}

impl<T: Value> Payload for T {
    const MASKABLE: bool = false;

    fn read(
        reader: &mut Reader<'_>,
        _has_mask: bool,
        field: &'static str,
    ) -> Result<Self, DecodeError> {
        T::read(reader, field)
    }

    fn write(&self, out: &mut Vec<u8>) {
        T::write(*self, out);
    }

    fn has_mask(&self) -> bool {
        false
    }

    fn normalized(&self) -> Option<Self> {
        Some(*self)
    }

    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}

impl<T: Value> Payload for Masked<T> {
    const MASKABLE: bool = true;

    fn read(
        reader: &mut Reader<'_>,
        has_mask: bool,
        field: &'static str,
    ) -> Result<Self, DecodeError> {
        let value = T::read(reader, field)?;
        let mask = if has_mask { Some(T::read(reader, field)?) } else { None };
        Ok(Self { value, mask })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.value.write(out);
        if let Some(mask) = self.mask {
            mask.write(out);
        }
    }

    fn has_mask(&self) -> bool {
        self.mask.is_some()
    }

    fn normalized(&self) -> Option<Self> {
        match self.mask {
            Some(mask) if mask == T::ZERO => None,
            Some(mask) if mask == T::ONES => Some(self.value.into()),
            Some(mask) => Some((self.value.and(mask), mask).into()),
            None => Some(*self),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let mine = self.mask.unwrap_or(T::ONES);
        let theirs = other.mask.unwrap_or(T::ONES);
        mine.and(theirs) == mine && self.value.and(mine) == other.value.and(mine)
    }
}

macro_rules! value {
    ($type:ty, $bytes:ty, |$value:ident| $to:expr, |$raw:ident| $from:expr) => {
        impl Value for $type {
            const WIDTH: usize = size_of::<$bytes>();
            const ONES: Self = {
                let $raw = <$bytes>::MAX;
                $from
            };
            const ZERO: Self = {
                let $raw = 0;
                $from
            };

            fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Self, DecodeError> {
                let $raw = <$bytes>::from_be_bytes(reader.array(field)?);
                Ok($from)
            }

            fn write(self, out: &mut Vec<u8>) {
                let $value = self;
                let bytes: $bytes = $to;
                out.extend_from_slice(&bytes.to_be_bytes());
            }

            fn and(self, other: Self) -> Self {
                let mine: $bytes = {
                    let $value = self;
                    $to
                };
                let theirs: $bytes = {
                    let $value = other;
                    $to
                };
                let $raw = mine & theirs;
                $from
            }
        }
    };
}

value!(u8, u8, |value| value, |raw| raw);
value!(u16, u16, |value| value, |raw| raw);
value!(u32, u32, |value| value, |raw| raw);
value!(u64, u64, |value| value, |raw| raw);
value!(PortNumber, u32, |value| value.0, |raw| Self(raw));
value!(VlanVid, u16, |value| value.0, |raw| Self(raw));
value!(Ipv6ExtensionHeaders, u16, |value| value.0, |raw| Self(raw));
value!(Ipv4Addr, u32, |value| value.to_bits(), |raw| Self::from_bits(raw));
value!(Ipv6Addr, u128, |value| value.to_bits(), |raw| Self::from_bits(raw));

impl Value for MacAddress {
    const WIDTH: usize = 6;
    const ONES: Self = Self::BROADCAST;
    const ZERO: Self = Self([0; 6]);

    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Self, DecodeError> {
        reader.array(field).map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn and(self, other: Self) -> Self {
        Self::from_bits(self.to_bits() & other.to_bits())
    }
}

impl Value for PbbIsid {
    const WIDTH: usize = 3;
    const ONES: Self = Self(0x00ff_ffff);
    const ZERO: Self = Self(0);

    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Self, DecodeError> {
        let [a, b, c] = reader.array(field)?;
        Ok(Self(u32::from_be_bytes([0, a, b, c])))
    }

    fn write(self, out: &mut Vec<u8>) {
        let [_, bytes @ ..] = self.0.to_be_bytes();
        out.extend_from_slice(&bytes);
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_mask_covers_a_narrower_one() {
        let any_of = |value: u64, mask: u64| Masked::from((value, mask));
        assert!(any_of(0x10, 0xf0).covers(&any_of(0x12, 0xff)));
        assert!(any_of(0x10, 0xf0).covers(&Masked::from(0x1f)));
        assert!(!any_of(0x10, 0xf0).covers(&Masked::from(0x2f)));
        assert!(!any_of(0x12, 0xff).covers(&any_of(0x12, 0xf0)));
        assert!(any_of(7, 0).covers(&any_of(9, 0)));
    }

    #[test]
    fn a_service_instance_id_has_24_bits() {
        assert_eq!(PbbIsid::new(0x0100_0000), None);
        let id = PbbIsid::new(0x00ab_cdef).unwrap();
        let mut out = Vec::new();
        Value::write(id, &mut out);
        assert_eq!(out, [0xab, 0xcd, 0xef]);
        assert_eq!(<PbbIsid as Value>::read(&mut Reader::new(&out), "f"), Ok(id));
    }
}
