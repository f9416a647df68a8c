//! Plain values: values and matches in the forms in which people write them in commands, files and
//! programs.
//!
//! A plain value is a number, an address, a truth value, or the string of a translated type. The
//! type of its field determines which of these it may be. A value that does not fit is refused, and
//! is never silently converted to another one. All sources of plain values share these rules:
//! `ctl`, the `runtime.json` files of the p4lang tutorials, and the Python package.
//!
//! | field | plain match |
//! | --- | --- |
//! | any but exact | `*` or [`PlainMatch::Any`] matches every value |
//! | exact, optional | a value |
//! | longest prefix | `10.0.0.0/8`, or a value and a length; a value alone has all bits |
//! | ternary | `0x0800&&&0xff00`, `10.0.0.0/8`, or a value and a mask; a value alone has all bits |
//! | range | `80..443`, or the two ends; a value alone is both |

mod entry;
mod form;
#[cfg(test)]
mod tests;

pub use self::entry::{EntryError, call, key};
pub use self::form::{Form, hexadecimal};

use crate::entry::Matching;
use crate::scalar::Value;
use crate::schema::{MatchField, MatchKind};
use crate::value::{ValueError, ValueType};
use crate::written;
use std::borrow::Cow;
use std::fmt;

/// The text of a match that every value satisfies.
pub const ANY: &str = "*";

/// A value in the form in which its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plain<'p> {
    /// A number that is not negative, as big-endian bytes of any length.
    Number(Cow<'p, [u8]>),
    /// A truth value, which a field of one bit can have.
    Bool(bool),
    /// A text: a number in any base, an address, or the string of a translated type.
    Text(Cow<'p, str>),
    /// Bytes: a big-endian number, or the string of a translated type.
    Bytes(Cow<'p, [u8]>),
}

/// A match in the form in which its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlainMatch<'p> {
    /// Every value matches.
    Any,
    /// One value, or a text that contains the whole match.
    One(Plain<'p>),
    /// A value and a mask or prefix length, or the ends of a range, whichever the field needs.
    Pair(Plain<'p>, Plain<'p>),
}

/// The reason why a plain value does not fit its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not a value of {name}: {problem}")]
pub struct PlainError {
    /// The name of the field or parameter.
    pub name: String,
    /// The value as it was written, with quotation marks if it is a text.
    pub value: String,
    /// The reason why the value does not fit, and the form that the field requires.
    pub problem: String,
}

impl<'p> Plain<'p> {
    /// Returns a text as a plain value.
    #[must_use]
    pub fn text(text: &'p str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Returns a number as a plain value.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self::Number(Cow::Owned(number.to_be_bytes().to_vec()))
    }
}

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(bytes) => match crate::value::decode(bytes) {
                Some(number) => write!(f, "{number}"),
                None => f.write_str(&hexadecimal(bytes)),
            },
            Self::Bool(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Bytes(bytes) => write!(f, "'{}'", bytes.escape_ascii()),
        }
    }
}

impl fmt::Display for PlainMatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("'*'"),
            Self::One(value) => write!(f, "{value}"),
            Self::Pair(first, second) => write!(f, "({first}, {second})"),
        }
    }
}

/// The field or parameter that a plain value is converted for.
#[derive(Clone, Copy)]
struct Target<'t> {
    name: &'t str,
    kind: ValueType,
    /// The match or value as error messages show it.
    shown: &'t dyn fmt::Display,
}

impl Target<'_> {
    fn refuse(self, problem: impl Into<String>) -> PlainError {
        let value = self.shown.to_string();
        PlainError { name: self.name.to_owned(), value, problem: problem.into() }
    }

    fn value(self, plain: &Plain<'_>) -> Result<Value, PlainError> {
        let bytes = match self.kind {
            ValueType::Text | ValueType::TextOrEmpty => string(plain),
            ValueType::Bits(bits) => self.bits(plain, bits.get())?,
        };
        Value::new(self.kind, &bytes).map_err(|error| self.refuse(error.to_string()))
    }

    /// Returns the bytes of a plain value for a field of `bits` bits.
    fn bits<'p>(self, plain: &'p Plain<'_>, bits: u32) -> Result<Cow<'p, [u8]>, PlainError> {
        let text = match plain {
            // Zero has one byte.
            Plain::Number(bytes) if bytes.is_empty() => return Ok(Cow::Borrowed(&[0])),
            Plain::Number(bytes) | Plain::Bytes(bytes) => return Ok(Cow::Borrowed(bytes)),
            Plain::Bool(value) if bits == 1 => return Ok(Cow::Owned(vec![u8::from(*value)])),
            Plain::Bool(_) => {
                return Err(self.refuse(format!("a truth value has 1 bit, the type has {bits}")));
            }
            Plain::Text(text) => text.as_ref(),
        };
        match (text, bits) {
            ("true", 1) => return Ok(Cow::Owned(vec![1])),
            ("false", 1) => return Ok(Cow::Owned(vec![0])),
            _ => {}
        }
        if let Some(number) = written::number(text) {
            return Ok(Cow::Owned(number));
        }
        let address = written::address(text).ok_or_else(|| {
            self.refuse("it is neither a number, such as 10 or 0x0a, nor an address")
        })?;
        // An address of another protocol would fit a wider field and mean something else.
        let width = address.len() * 8;
        if width != bits as usize {
            return Err(self.refuse(format!(
                "the address has {width} bits, the type has {bits}; a number may be shorter than the type"
            )));
        }
        Ok(Cow::Owned(address))
    }

    fn length(self, plain: &Plain<'_>, bits: u32) -> Result<u32, PlainError> {
        let number = match plain {
            Plain::Number(bytes) if bytes.is_empty() => Some(0),
            Plain::Number(bytes) => crate::value::decode(bytes),
            Plain::Text(text) => text.parse().ok(),
            Plain::Bool(_) | Plain::Bytes(_) => None,
        };
        let length = number.and_then(|number| u32::try_from(number).ok());
        let length = length.filter(|length| *length <= bits);
        length.ok_or_else(|| self.refuse(format!("the length of a prefix is 0 to {bits}")))
    }

    /// Returns the value and the mask of a ternary match on a field of `bits` bits, both as wide as
    /// the field.
    fn masked(self, plain: &PlainMatch<'_>, bits: u32) -> Result<(Vec<u8>, Vec<u8>), PlainError> {
        let wide_value = |plain: &Plain<'_>| Ok(wide(self.value(plain)?.bytes(), bits));
        let (found, mask) = match parts(plain, &["&&&"]) {
            Parts::Any => (wide(&[], bits), wide(&[], bits)),
            Parts::Two(found, mask) => (wide_value(&found)?, wide_value(&mask)?),
            Parts::One(_) => match parts(plain, &["/"]) {
                Parts::Any => (wide(&[], bits), wide(&[], bits)),
                Parts::One(found) => (wide_value(&found)?, ones(bits, bits)),
                Parts::Two(found, length) => {
                    (wide_value(&found)?, ones(self.length(&length, bits)?, bits))
                }
            },
        };
        Ok((and(&found, &mask), mask))
    }

    /// Creates a value from bytes that are as wide as the field.
    fn of_bytes(self, bytes: &[u8]) -> Result<Value, PlainError> {
        Value::new(self.kind, bytes).map_err(|error| self.refuse(error.to_string()))
    }
}

/// Returns the bytes of a plain value for a field whose values are strings. A number stands for the
/// string of its decimal digits.
fn string<'p>(plain: &'p Plain<'_>) -> Cow<'p, [u8]> {
    match plain {
        Plain::Text(text) => Cow::Borrowed(text.as_bytes()),
        Plain::Bytes(bytes) => Cow::Borrowed(bytes),
        Plain::Number(bytes) if bytes.is_empty() => Cow::Borrowed(b"0"),
        Plain::Number(_) | Plain::Bool(_) => Cow::Owned(plain.to_string().into_bytes()),
    }
}

/// The parts of a plain match.
enum Parts<'p> {
    Any,
    One(Plain<'p>),
    Two(Plain<'p>, Plain<'p>),
}

/// Splits a plain match into two parts at the first of the separators that occurs in it, if any
/// does.
fn parts<'p>(plain: &'p PlainMatch<'p>, separators: &[&str]) -> Parts<'p> {
    match plain {
        PlainMatch::Any => Parts::Any,
        PlainMatch::Pair(first, second) => Parts::Two(first.clone(), second.clone()),
        PlainMatch::One(Plain::Text(text)) => {
            if text == ANY {
                return Parts::Any;
            }
            let mut split = separators.iter().filter_map(|separator| text.split_once(separator));
            match split.next() {
                Some((first, second)) => Parts::Two(Plain::text(first), Plain::text(second)),
                None => Parts::One(Plain::text(text)),
            }
        }
        PlainMatch::One(value) => Parts::One(value.clone()),
    }
}

/// Converts a plain value to a value of the type `kind`. `name` is the name of the parameter or
/// field in errors.
///
/// # Errors
/// Returns an error if the plain value does not fit the type.
pub fn value(name: &str, kind: ValueType, plain: &Plain<'_>) -> Result<Value, PlainError> {
    Target { name, kind, shown: plain }.value(plain)
}

/// Converts a plain match to a match of the field. Returns `None` if every value of the field
/// matches. Bits of the value that the prefix or mask excludes are ignored.
///
/// # Errors
/// Returns an error if the plain match does not fit the field.
pub fn matching(
    field: &MatchField,
    plain: &PlainMatch<'_>,
) -> Result<Option<Matching>, PlainError> {
    let of = Target { name: &field.name, kind: field.value, shown: plain };
    let single = || match plain {
        PlainMatch::One(value) => of.value(value),
        PlainMatch::Any => Err(of.refuse("an exact field needs a value")),
        PlainMatch::Pair(..) => Err(of.refuse("the field takes one value")),
    };
    let is_any = match plain {
        PlainMatch::Any => true,
        PlainMatch::One(Plain::Text(text)) => text == ANY,
        PlainMatch::One(_) | PlainMatch::Pair(..) => false,
    };
    let found = match (&field.kind, field.value.bits()) {
        (MatchKind::Exact, _) => Matching::Exact(single()?),
        (MatchKind::Optional | MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range, _)
            if is_any =>
        {
            return Ok(None);
        }
        (MatchKind::Optional, None) => Matching::Optional(single()?),
        (MatchKind::Optional, Some(bits)) => match of.masked(plain, bits)? {
            (_, mask) if is_zero(&mask) => return Ok(None),
            (found, mask) if mask == ones(bits, bits) => Matching::Optional(of.of_bytes(&found)?),
            _ => return Err(of.refuse("an optional field has no mask but all bits or none")),
        },
        (MatchKind::Lpm, Some(bits)) => {
            let (prefix, prefix_len) = match parts(plain, &["/"]) {
                Parts::Any => return Ok(None),
                Parts::One(prefix) => (prefix, bits),
                Parts::Two(prefix, length) => (prefix, of.length(&length, bits)?),
            };
            // The value must be one of the field also where the prefix has no bits.
            let prefix = wide(of.value(&prefix)?.bytes(), bits);
            if prefix_len == 0 {
                return Ok(None);
            }
            let value = of.of_bytes(&and(&prefix, &ones(prefix_len, bits)))?;
            Matching::Lpm { value, prefix_len }
        }
        (MatchKind::Ternary, Some(bits)) => {
            let (value, mask) = of.masked(plain, bits)?;
            if is_zero(&mask) {
                return Ok(None);
            }
            Matching::Ternary { value: of.of_bytes(&value)?, mask: of.of_bytes(&mask)? }
        }
        (MatchKind::Range, Some(bits)) => {
            let (low, high) = match parts(plain, &["->", ".."]) {
                Parts::Any => return Ok(None),
                Parts::One(only) => (of.value(&only)?, of.value(&only)?),
                Parts::Two(low, high) => (of.value(&low)?, of.value(&high)?),
            };
            match crate::value::range(low.bytes(), high.bytes(), bits) {
                Ok(_) => Matching::Range { low, high },
                Err(ValueError::DontCare) => return Ok(None),
                Err(ValueError::ReversedRange) => {
                    return Err(of.refuse("its low end is above its high end"));
                }
                Err(error) => return Err(of.refuse(error.to_string())),
            }
        }
        (MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range, None) => {
            return Err(of.refuse("a string cannot be matched in parts"));
        }
        (MatchKind::Other(kind), _) => {
            return Err(of.refuse(format!("P4Runtime has no match kind '{kind}'")));
        }
    };
    Ok(Some(found))
}

/// Returns a number of `bits` bits in which the `length` most significant bits are set, as whole
/// bytes.
#[must_use]
pub fn ones(length: u32, bits: u32) -> Vec<u8> {
    let width = bytes_of(bits) * 8;
    // The bits in front of the number, which are not part of it.
    let unused = width - bits as usize;
    let is_set = |bit: usize| bit >= unused && bit < unused + length as usize;
    let byte = |at: usize| (0..8).fold(0, |byte, bit| byte << 1 | u8::from(is_set(at * 8 + bit)));
    (0..bytes_of(bits)).map(byte).collect()
}

fn bytes_of(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

/// Returns a number padded with leading zeros to the number of bytes that `bits` bits need.
#[must_use]
pub fn wide(bytes: &[u8], bits: u32) -> Vec<u8> {
    let missing = bytes_of(bits).saturating_sub(bytes.len());
    [vec![0; missing], bytes.to_vec()].concat()
}

fn and(first: &[u8], second: &[u8]) -> Vec<u8> {
    first.iter().zip(second).map(|(first, second)| first & second).collect()
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
