//! The properties that a table declares for its entries: the shape of their keys, and the treatment
//! of idle ones.

use crate::error::ControlError;
use crate::layout::Layout;
use ir::bits::Bits;
use ir::{IdleTimeout, MatchKind};

/// The identifier of an entry of a table. Handles are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryHandle(pub u64);

impl EntryHandle {
    /// The handle of the default entry, whose action runs if no entry matches. It has counters and
    /// meters of its own if the architecture provides them (PSA specification, sections 7.7.3 and
    /// 7.8).
    pub const DEFAULT: Self = Self(0);
}

/// The properties of a table's key against which the matches of entries are checked.
#[derive(Clone, Debug)]
pub(crate) struct KeyShape {
    pub(crate) name: String,
    pub(crate) kind: MatchKind,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

impl KeyShape {
    pub(super) fn of(layout: &Layout, key: &ir::Key) -> Option<Self> {
        let pattern = layout.initial(key.expression.type_id)?.to_pattern()?;
        Some(Self {
            name: key.name.clone(),
            kind: key.match_kind.clone(),
            width: pattern.width(),
            signed: pattern.is_signed(),
        })
    }

    /// Converts a bit pattern to the type of the key. Set bits beyond the key's width are an error.
    pub(super) fn fit(&self, value: &Bits) -> Result<Bits, ControlError> {
        fit(&self.name, value, self.width, self.signed)
    }

    /// Returns whether entries of a table with such a key have priorities.
    pub(super) fn needs_priority(&self) -> bool {
        matches!(self.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    }
}

/// Converts a bit pattern to a type of `width` bits. A shorter pattern is extended, and set bits
/// beyond the width are an error.
pub(crate) fn fit(
    what: &str,
    value: &Bits,
    width: u32,
    signed: bool,
) -> Result<Bits, ControlError> {
    let cast = value.cast(width, signed);
    if cast.cast(value.width(), value.is_signed()) != *value {
        let found = value.to_biguint().bits();
        return Err(ControlError::Width {
            what: what.to_owned(),
            expected: width,
            found: u32::try_from(found).unwrap_or(u32::MAX),
        });
    }
    Ok(cast)
}

/// The treatment of an entry whose idle timeout expires: none, a notification, or removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ageing {
    None,
    Notify,
    Delete,
}

impl Ageing {
    pub(super) fn of(table: &ir::Table) -> Self {
        match table.idle_timeout {
            None => Self::None,
            Some(IdleTimeout::AutoDelete) => Self::Delete,
            Some(IdleTimeout::NotifyControl) => Self::Notify,
        }
    }
}
