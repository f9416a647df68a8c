//! The entries for which a constraint is evaluated, and the keys of a table or parameters of an
//! action that a constraint can mention.

use std::borrow::Cow;

/// The match kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A match of a single value.
    Exact,
    /// A match of a value in the bits that a mask selects.
    Ternary,
    /// A longest-prefix match.
    Lpm,
    /// A match of all values between two bounds, including the bounds.
    Range,
    /// A match of a single value, or, if the entry omits the key, of all values.
    Optional,
}

impl Kind {
    /// Returns the name of the match kind in P4.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ternary => "ternary",
            Self::Lpm => "lpm",
            Self::Range => "range",
            Self::Optional => "optional",
        }
    }
}

/// A number that the program uses, as big-endian bytes, and the string that controllers use for it.
pub type NamedNumber = (Box<[u8]>, Box<[u8]>);

/// The type of the values of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyType {
    /// Unsigned numbers with this many bits.
    Bits(u32),
    /// Strings, because the key has a translated type: controllers write strings where the program
    /// has numbers. The vector contains the pairs that the program states.
    Text(Vec<NamedNumber>),
}

/// A key of a table, or a parameter of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The name of the key or parameter in the control-plane API.
    pub name: String,
    /// The match kind, which is exact for a parameter.
    pub kind: Kind,
    /// The type of the key's values.
    pub ty: KeyType,
}

/// The table or action that a constraint is about.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A table, represented by its keys.
    Table(&'a [Key]),
    /// An action, represented by its parameters.
    Action(&'a [Key]),
}

impl<'a> Subject<'a> {
    pub(crate) fn keys(self) -> &'a [Key] {
        match self {
            Self::Table(keys) | Self::Action(keys) => keys,
        }
    }
}

/// An entry's match for one key, or the argument for one parameter, which is always
/// [`Match::Exact`]. Numbers are big-endian bytes of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match<'a> {
    /// The entry omits the key, so every value matches.
    Any,
    /// The value of an exact or optional match, or an argument.
    Exact(Cow<'a, [u8]>),
    /// A match of a value in the bits that a mask selects.
    Ternary {
        /// The value; bits outside the mask are zero.
        value: Cow<'a, [u8]>,
        /// The mask.
        mask: Cow<'a, [u8]>,
    },
    /// A longest-prefix match.
    Lpm {
        /// The value; bits after the prefix are zero.
        value: Cow<'a, [u8]>,
        /// The number of leading bits that are compared.
        prefix_length: u32,
    },
    /// A match of all values between two bounds, including the bounds.
    Range {
        /// The lower end.
        low: Cow<'a, [u8]>,
        /// The upper end.
        high: Cow<'a, [u8]>,
    },
}

impl<'a> Match<'a> {
    /// Returns an exact or optional match.
    #[must_use]
    pub fn exact(value: &'a [u8]) -> Self {
        Self::Exact(value.into())
    }

    /// Returns a match of `value` in the bits that `mask` selects.
    #[must_use]
    pub fn ternary(value: &'a [u8], mask: &'a [u8]) -> Self {
        Self::Ternary { value: value.into(), mask: mask.into() }
    }

    /// Returns a longest-prefix match.
    #[must_use]
    pub fn lpm(value: &'a [u8], prefix_length: u32) -> Self {
        Self::Lpm { value: value.into(), prefix_length }
    }

    /// Returns a match of all values from `low` to `high`.
    #[must_use]
    pub fn range(low: &'a [u8], high: &'a [u8]) -> Self {
        Self::Range { low: low.into(), high: high.into() }
    }
}

/// The matches and the priority of a table entry, or the arguments of an action. The action of a
/// table entry is not part of it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The match for each key, in the order of the keys. If the slice is too short, the entry omits
    /// the remaining keys.
    pub matches: &'a [Match<'a>],
    /// The priority of the table entry. It is 0 for the arguments of an action.
    pub priority: i64,
}

static ANY: Match<'static> = Match::Any;

impl<'a> Entry<'a> {
    pub(crate) fn at(&self, key: usize) -> &'a Match<'a> {
        match self.matches.get(key) {
            Some(found) => found,
            None => &ANY,
        }
    }
}
