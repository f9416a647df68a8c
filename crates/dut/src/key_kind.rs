//! The kind of a table's key, which determines how a switch stores the table's entries.

use entities::schema::{MatchField, MatchKind};

/// The kind of a table's key: the most general match kind among its fields. A table with an exact
/// and a ternary field, for example, needs a memory that compares under masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// All fields of the key are matched exactly.
    Exact,
    /// One field is matched by its longest prefix, and all others are matched exactly.
    Lpm,
    /// Entries may omit a field, but no field is matched under a mask or by a range.
    Optional,
    /// A field is matched under a mask, but none by a range.
    Ternary,
    /// At least one field is matched by a range.
    Range,
}

impl KeyKind {
    /// All kinds, from the least to the most general.
    pub const ALL: [Self; 5] = [Self::Exact, Self::Lpm, Self::Optional, Self::Ternary, Self::Range];

    /// Returns the kind of a key with these fields; `None` without a field, or if a field has a
    /// match kind that P4Runtime does not define.
    #[must_use]
    pub fn of(fields: &[MatchField]) -> Option<Self> {
        let kinds: Option<Vec<Self>> = fields
            .iter()
            .map(|field| match field.kind {
                MatchKind::Exact => Some(Self::Exact),
                MatchKind::Lpm => Some(Self::Lpm),
                MatchKind::Optional => Some(Self::Optional),
                MatchKind::Ternary => Some(Self::Ternary),
                MatchKind::Range => Some(Self::Range),
                MatchKind::Other(_) => None,
            })
            .collect();
        kinds?.into_iter().max()
    }

    /// Returns the name of the kind in P4.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Lpm => "lpm",
            Self::Optional => "optional",
            Self::Ternary => "ternary",
            Self::Range => "range",
        }
    }
}
