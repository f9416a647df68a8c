//! What a table holds: the width of its key, the space for action parameters, and how many entries.
//!
//! A [`Layout`] exists only if every number in it is usable, so that no storage design has to check again.

use thiserror::Error;

/// The widest key, in bits. P4 programs match on headers; 4,096 bits are 512 bytes, beyond any header stack in use.
pub const MAX_KEY_BITS: u32 = 4096;
/// The largest parameter block of an action, in bytes: one page of 4 KiB.
pub const MAX_PARAMETER_BYTES: usize = 4096;
/// The largest number of entries. Positions of entries are 32-bit numbers and sparse designs need several per entry.
pub const MAX_SIZE: usize = 1 << 28;
/// The largest number of different actions in one table.
pub const MAX_ACTIONS: u16 = 1 << 14;

/// What a table holds. `A` of the paper's equations is [`Layout::parameter_bytes`], `k` is [`Layout::key_bytes`] and
/// `s` is [`Layout::size`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Layout {
    key_bits: u32,
    parameter_bytes: usize,
    size: usize,
    actions: u16,
}

impl Layout {
    /// A table of at most `size` entries with keys of `key_bits` bits and up to `parameter_bytes` bytes of action
    /// parameters (of the action with most). It starts with room for 15 actions, see [`Layout::with_actions`].
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

    /// The same table for `actions` different actions. Inline storage packs action identifiers into the bucket's
    /// header; more than 15 leave room for fewer entries in each cache line.
    pub fn with_actions(self, actions: u16) -> Result<Self, LayoutError> {
        if actions == 0 || actions > MAX_ACTIONS {
            return Err(LayoutError::Actions { actions });
        }
        Ok(Self { actions, ..self })
    }

    /// Width of the key in bits.
    pub fn key_bits(&self) -> u32 {
        self.key_bits
    }

    /// Bytes that a key takes, most significant byte first, padded with zero bits at the front.
    pub fn key_bytes(&self) -> usize {
        self.key_bits.div_ceil(8) as usize
    }

    /// Bytes of the largest action's parameters (`A` in the paper).
    pub fn parameter_bytes(&self) -> usize {
        self.parameter_bytes
    }

    /// The largest number of entries (`s` in the paper).
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of different actions; action identifiers are smaller.
    pub fn actions(&self) -> u16 {
        self.actions
    }
}

/// Why a table cannot have such a layout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A key of no bits.
    #[error(
        "a key of 0 bits tells no entries apart; a table without a key has only its default action and needs no storage"
    )]
    NoKey,
    /// A key that no header fills.
    #[error(
        "a key of {bits} bits is wider than {MAX_KEY_BITS}; match on a hash of the fields instead"
    )]
    KeyTooWide {
        /// The width asked for.
        bits: u32,
    },
    /// Parameters larger than a page.
    #[error(
        "{bytes} bytes of action parameters are more than {MAX_PARAMETER_BYTES} (one page); keep them beside the table and store an index"
    )]
    ParametersTooLarge {
        /// The bytes asked for.
        bytes: usize,
    },
    /// A table that holds nothing.
    #[error("a table of size 0 holds no entry; give it at least 1")]
    NoEntries,
    /// A table that no position reaches.
    #[error("a table of {size} entries is larger than {MAX_SIZE}; split it")]
    TooManyEntries {
        /// The size asked for.
        size: usize,
    },
    /// No action at all, or more than an entry can name.
    #[error("a table has between 1 and {MAX_ACTIONS} actions, not {actions}")]
    Actions {
        /// The number asked for.
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
