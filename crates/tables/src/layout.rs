//! The dimensions of a table: key width, space for action parameters, and number of entries. Every
//! storage design reads them from a [`Layout`].
//!
//! A [`Layout`] can only be constructed from valid numbers, so no storage design checks them again.

use thiserror::Error;

/// The widest key, in bits. P4 programs match on headers; 4,096 bits are 512 bytes, more than any
/// header stack in use.
pub const MAX_KEY_BITS: u32 = 4096;
/// The largest parameter block of an action, in bytes: one page of 4 KiB.
pub const MAX_PARAMETER_BYTES: usize = 4096;
/// The largest number of entries. Positions have 32 bits, and designs that keep some positions free
/// need several for each entry.
pub const MAX_SIZE: usize = 1 << 28;
/// The largest number of different actions in one table.
pub const MAX_ACTIONS: u16 = 1 << 14;

/// The dimensions of a table. [`Layout::parameter_bytes`] is `A` in the paper's equations,
/// [`Layout::key_bytes`] is `k`, and [`Layout::size`] is `s`. An [`ExactTable`](crate::ExactTable)
/// accepts only small keys and parameters ([`ExactTable::check`](crate::ExactTable::check)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Layout {
    key_bits: u32,
    parameter_bytes: usize,
    size: usize,
    actions: u16,
}

impl Layout {
    /// Returns the layout of a table of at most `size` entries with keys of `key_bits` bits.
    /// `parameter_bytes` is the size of the largest action's parameters. The layout allows 15
    /// actions ([`Layout::with_actions`] returns a layout for another number).
    pub fn new(key_bits: u32, parameter_bytes: usize, size: usize) -> Result<Self, LayoutError> {
        if key_bits == 0 {
            return Err(LayoutError::NoKey);
        }
        if key_bits > MAX_KEY_BITS {
            return Err(LayoutError::KeyTooWide { bits: key_bits });
        }
        if parameter_bytes > MAX_PARAMETER_BYTES {
            return Err(LayoutError::ParametersTooLarge { bytes: parameter_bytes });
        }
        if size == 0 {
            return Err(LayoutError::NoEntries);
        }
        if size > MAX_SIZE {
            return Err(LayoutError::TooManyEntries { size });
        }
        Ok(Self { key_bits, parameter_bytes, size, actions: 15 })
    }

    /// Returns this layout with `actions` different actions. Inline storage packs action
    /// identifiers into the bucket's header. With more than 15 actions, a bucket for keys and
    /// parameters of up to four bytes holds fewer than seven entries.
    pub fn with_actions(self, actions: u16) -> Result<Self, LayoutError> {
        if actions == 0 || actions > MAX_ACTIONS {
            return Err(LayoutError::Actions { actions });
        }
        Ok(Self { actions, ..self })
    }

    /// Returns the width of the key in bits.
    pub fn key_bits(&self) -> u32 {
        self.key_bits
    }

    /// Returns the number of bytes of a key: its bits, rounded up to whole bytes.
    pub fn key_bytes(&self) -> usize {
        self.key_bits.div_ceil(8) as usize
    }

    /// Returns the number of bytes of the largest action's parameters (`A` in the paper).
    pub fn parameter_bytes(&self) -> usize {
        self.parameter_bytes
    }

    /// Returns the largest number of entries (`s` in the paper).
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of different actions. Every action identifier is smaller than this
    /// number.
    pub fn actions(&self) -> u16 {
        self.actions
    }
}

/// An error from constructing a [`Layout`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The key has no bits.
    #[error(
        "a key of 0 bits does not distinguish entries; a table without a key has only its default action and needs \
         no storage"
    )]
    NoKey,
    /// The key is wider than [`MAX_KEY_BITS`].
    #[error(
        "a key of {bits} bits is wider than {MAX_KEY_BITS}; match on a hash of the fields instead"
    )]
    KeyTooWide {
        /// The requested width in bits.
        bits: u32,
    },
    /// The action parameters are larger than [`MAX_PARAMETER_BYTES`].
    #[error(
        "{bytes} bytes of action parameters are more than {MAX_PARAMETER_BYTES} (one page); keep them outside the \
         table and store an index"
    )]
    ParametersTooLarge {
        /// The requested size in bytes.
        bytes: usize,
    },
    /// The table holds no entries.
    #[error("a table of size 0 holds no entry; give it at least 1")]
    NoEntries,
    /// The table is larger than [`MAX_SIZE`].
    #[error("a table of {size} entries is larger than {MAX_SIZE}; split it")]
    TooManyEntries {
        /// The requested number of entries.
        size: usize,
    },
    /// The number of actions is zero or larger than [`MAX_ACTIONS`].
    #[error("a table has between 1 and {MAX_ACTIONS} actions, not {actions}")]
    Actions {
        /// The requested number of actions.
        actions: u16,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_numbers_are_refused_with_their_reason() {
        assert_eq!(Layout::new(0, 4, 8), Err(LayoutError::NoKey));
        assert_eq!(Layout::new(4097, 4, 8), Err(LayoutError::KeyTooWide { bits: 4097 }));
        assert_eq!(Layout::new(32, 4097, 8), Err(LayoutError::ParametersTooLarge { bytes: 4097 }));
        assert_eq!(Layout::new(32, 4, 0), Err(LayoutError::NoEntries));
        assert_eq!(
            Layout::new(32, 4, usize::MAX),
            Err(LayoutError::TooManyEntries { size: usize::MAX })
        );
        assert!(Layout::new(32, 4, 1).unwrap().with_actions(0).is_err());
    }

    #[test]
    fn key_bytes_round_up() {
        assert_eq!(Layout::new(1, 0, 1).unwrap().key_bytes(), 1);
        assert_eq!(Layout::new(9, 0, 1).unwrap().key_bytes(), 2);
        assert_eq!(Layout::new(2048, 4096, 1).unwrap().key_bytes(), 256);
    }
}
