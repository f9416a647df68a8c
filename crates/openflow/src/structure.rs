//! Structures of the specifications, whose layout is declared once.
//!
//! The fields of a message are declared as in the specification, with names, types and padding.
//! Reading and writing are derived from this declaration, so that they cannot differ. Structures of
//! irregular form (matches, actions, properties with type and length) implement [`Wire`] by hand.

use std::net::Ipv4Addr;

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::{BufferId, DatapathId, FixedText, MacAddress, PortNumber};

/// A structure that can be read from and written to a message.
pub(crate) trait Wire: Sized {
    /// Reads the structure. The reader is then at the first byte after it.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Appends the encoded structure to `out`.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// A field of a structure: a number, a structure, or a list of structures or bytes up to the end of
/// the enclosing structure.
pub(crate) trait Field: Sized {
    /// Reads the field. `name` is the name of the field in errors.
    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError>;

    /// Appends the encoded field to `out`.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

impl<T: Wire> Field for T {
    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        T::decode(reader)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode(out)
    }
}

impl<T: Wire> Field for Vec<T> {
    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        decode_list(reader)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_list(self, out)
    }
}

impl Field for Vec<u8> {
    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(reader.rest().to_vec())
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self);
        Ok(())
    }
}

impl<const N: usize> Field for [u8; N] {
    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.array(name)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self);
        Ok(())
    }
}

impl<const N: usize> Field for FixedText<N> {
    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.array(name).map(Self)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.0.write(out)
    }
}

impl Field for Ipv4Addr {
    fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        reader.array::<4>(name).map(Self::from)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.octets().write(out)
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn read(reader: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                reader.array(name).map(Self::from_be_bytes)
            }

            fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                self.to_be_bytes().write(out)
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 }

/// Reads structures until the reader is empty. Each structure takes at least one byte, so the loop
/// ends.
pub(crate) fn decode_list<T: Wire>(reader: &mut Reader<'_>) -> Result<Vec<T>, DecodeError> {
    let mut items = Vec::new();
    while !reader.is_empty() {
        items.push(T::decode(reader)?);
    }
    Ok(items)
}

/// Appends structures one after the other.
pub(crate) fn encode_list<T: Wire>(items: &[T], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    items.iter().try_for_each(|item| item.encode(out))
}

/// Reads the length field of a structure, and returns a reader over the part of the structure that
/// follows the field.
///
/// The length counts the whole structure. `consumed` is the number of its bytes up to and including
/// the length field, and `min` is the smallest length that the structure can have.
pub(crate) fn body<'a>(
    reader: &mut Reader<'a>,
    consumed: usize,
    min: usize,
    field: &'static str,
) -> Result<Reader<'a>, DecodeError> {
    let at_length = *reader;
    let length = usize::from(reader.u16(field)?);
    let max = consumed + reader.remaining();
    if length < min.max(consumed) || length > max {
        let kind = DecodeErrorKind::Length { value: length, min: min.max(consumed), max };
        return Err(at_length.error(field, kind));
    }
    reader.sub(length - consumed, field)
}

/// Returns an error if the type number `kind` in an enum's variant for unknown types is actually a
/// known type. Decoding the encoded bytes would return the known type's variant instead.
pub(crate) fn refuse_known(kind: u16, known: bool, field: &'static str) -> Result<(), EncodeError> {
    if known {
        let expected = "a type that the specification does not define; use its own variant";
        return Err(EncodeError::Value { field, value: u64::from(kind), expected });
    }
    Ok(())
}

/// Implements `Field` for newtypes by encoding their inner values.
macro_rules! fields {
    ($($type:ty),*) => {$(
        impl $crate::structure::Field for $type {
            fn read(
                reader: &mut $crate::cursor::Reader<'_>,
                name: &'static str,
            ) -> Result<Self, $crate::error::DecodeError> {
                $crate::structure::Field::read(reader, name).map(Self)
            }

            fn write(&self, out: &mut Vec<u8>) -> Result<(), $crate::error::EncodeError> {
                $crate::structure::Field::write(&self.0, out)
            }
        }
    )*};
}

fields! { BufferId, DatapathId, MacAddress, PortNumber }

/// Declares structures. Each is given with its name in the specification, which errors then report.
///
/// A field may be followed by padding. `counts length >= N;` declares that a 16-bit length field
/// precedes the first field. It counts the bytes of the whole structure, which are at least `N`.
macro_rules! structure {
    (
        $(#[$meta:meta])*
        pub struct $type:ident = $name:literal {
            $(counts $length:ident >= $least:literal; $(pad $before:literal;)?)?
            $($(#[$field_meta:meta])* pub $field:ident: $held:ty $(; pad $pad:literal)?,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $type {
            $($(#[$field_meta])* pub $field: $held,)*
        }

        impl $crate::structure::Wire for $type {
            fn decode(
                reader: &mut $crate::cursor::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                $(
                    let length = concat!($name, ".", stringify!($length));
                    let reader = &mut $crate::structure::body(reader, 2, $least, length)?;
                    $(reader.skip($before, concat!($name, ".pad"))?;)?
                )?
                Ok(Self {$(
                    $field: {
                        let name = concat!($name, ".", stringify!($field));
                        let value = $crate::structure::Field::read(reader, name)?;
                        $(reader.skip($pad, concat!($name, ".pad"))?;)?
                        value
                    },
                )*})
            }

            fn encode(&self, out: &mut Vec<u8>) -> Result<(), $crate::error::EncodeError> {
                $(
                    let start = out.len();
                    $crate::cursor::pad(out, 2);
                    $($crate::cursor::pad(out, $before);)?
                )?
                $(
                    $crate::structure::Field::write(&self.$field, out)?;
                    $($crate::cursor::pad(out, $pad);)?
                )*
                $(
                    let length = concat!($name, ".", stringify!($length));
                    $crate::cursor::patch_length(out, start, start, length)?;
                )?
                Ok(())
            }
        }
    };
}

/// Declares an enum of bodies that can follow a type number, such as messages after their header,
/// or the bodies of multipart requests and replies. With `else`, a body of unknown type can be kept
/// unchanged.
macro_rules! bodies {
    (
        $(#[$meta:meta])*
        pub enum $type:ident by $method:ident: $kind:ident {
            $(
                $(#[$body_meta:meta])*
                $body:ident $(($held:ty $(; pad $pad:literal)?))? = $number:literal,
            )*
        }
        $(else $(#[$unknown_meta:meta])* $unknown:ident, $name:literal)?
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$body_meta])* $body $(($held))?,)*
            $(
                $(#[$unknown_meta])*
                $unknown {
                    /// The type number of the unknown body.
                    kind: $kind,
                    /// The bytes of the unknown body.
                    data: Vec<u8>,
                },
            )?
        }

        impl $type {
            /// Returns the type number of the body.
            pub const fn $method(&self) -> $kind {
                match self {
                    $(Self::$body { .. } => $kind($number),)*
                    $(Self::$unknown { kind, .. } => *kind,)?
                }
            }

            /// Reads the body that follows a type number. Returns `None` if the type is unknown.
            fn decode_body(
                kind: $kind,
                reader: &mut $crate::cursor::Reader<'_>,
            ) -> Result<Option<Self>, $crate::error::DecodeError> {
                Ok(match kind.0 {
                    $($number => Some(Self::$body $(({
                        let name = stringify!($body);
                        let held = <$held as $crate::structure::Field>::read(reader, name)?;
                        $(reader.skip($pad, concat!(stringify!($body), ".pad"))?;)?
                        held
                    }))?),)*
                    _ => None,
                })
            }

            fn encode_body(&self, out: &mut Vec<u8>) -> Result<(), $crate::error::EncodeError> {
                $($(
                    if let Self::$body(held) = self {
                        <$held as $crate::structure::Field>::write(held, out)?;
                        $($crate::cursor::pad(out, $pad);)?
                    }
                )?)*
                $(
                    if let Self::$unknown { kind, data } = self {
                        $crate::structure::refuse_known(kind.0, kind.name().is_some(), $name)?;
                        out.extend_from_slice(data);
                    }
                )?
                Ok(())
            }
        }
    };
}
