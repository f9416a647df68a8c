//! The keys of a table or parameters of an action, and the entries that a constraint is about.

use std::borrow::Cow;

/// The kind of match of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An exact match.
    Exact,
    /// A match under a mask.
    Ternary,
    /// A longest-prefix match.
    Lpm,
    /// A match of a range that includes both ends.
    Range,
    /// An exact match that an entry may leave out.
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

/// A number of the program, as big-endian bytes, and the string that stands for it.
pub type NamedNumber = (Box<[u8]>, Box<[u8]>);

/// The type of the values of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyType {
    /// Unsigned numbers of this many bits.
    Bits(u32),
    /// Strings, because the type of the key is translated, with those that the program itself gives
    /// to numbers.
    Text(Vec<NamedNumber>),
}

/// A key of a table, or a parameter of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The name for the control plane.
    pub name: String,
    /// The kind of match; exact for a parameter.
    pub kind: Kind,
    /// The type of the values.
    pub ty: KeyType,
}

/// The part of a program that a constraint belongs to.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A table with these keys.
    Table(&'a [Key]),
    /// An action with these parameters.
    Action(&'a [Key]),
}

impl<'a> Subject<'a> {
    pub(crate) fn keys(self) -> &'a [Key] {
        match self {
            Self::Table(keys) | Self::Action(keys) => keys,
        }
    }
}

/// The match of an entry for one key, or the argument for one parameter ([`Match::Exact`]). Numbers
/// are big-endian bytes of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match<'a> {
    /// The key is left out, so every value matches.
    Any,
    /// The value of an exact or optional match, or an argument.
    Exact(Cow<'a, [u8]>),
    /// A match under a mask.
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
    /// A match of a range.
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

    /// Returns a match under a mask.
    #[must_use]
    pub fn ternary(value: &'a [u8], mask: &'a [u8]) -> Self {
        Self::Ternary { value: value.into(), mask: mask.into() }
    }

    /// Returns a longest-prefix match.
    #[must_use]
    pub fn lpm(value: &'a [u8], prefix_length: u32) -> Self {
        Self::Lpm { value: value.into(), prefix_length }
    }

    /// Returns a match of a range.
    #[must_use]
    pub fn range(low: &'a [u8], high: &'a [u8]) -> Self {
        Self::Range { low: low.into(), high: high.into() }
    }
}

/// A table entry without its action, or the arguments of an action, whose priority is then 0.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The match for each key, in the order of the keys; missing ones count as left out.
    pub matches: &'a [Match<'a>],
    /// The priority.
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
