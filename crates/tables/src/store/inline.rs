//! Inline storage: buckets for keys of 4, 8 or 16 bytes and parameters of 4 to 32, behind one type.
//! [`ExactTable`](crate::ExactTable) uses it.

use crate::access::{Access, Sharing};
use crate::bucket::{Buckets, Full, max_actions, numbered_hash, slots};
use crate::layout::Layout;
use crate::region::Pages;

/// The number of bytes that a bucket has for each key and for the parameters of each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) key: usize,
    pub(crate) value: usize,
}

impl Shape {
    const KEYS: [usize; 3] = [4, 8, 16];
    const VALUES: [usize; 4] = [4, 8, 16, 32];

    /// Returns the smallest shape in which an entry of this layout fits, or `None` if keys have
    /// more than 16 bytes or parameters more than 32.
    pub(crate) fn of(layout: &Layout) -> Option<Self> {
        let key = Self::KEYS.into_iter().find(|&key| key >= layout.key_bytes())?;
        let fits = |&value: &usize| {
            value >= layout.parameter_bytes()
                && max_actions(key, value) >= usize::from(layout.actions())
        };
        let value = Self::VALUES.into_iter().find(fits)?;
        Some(Self { key, value })
    }

    /// Returns the number of entries in a bucket.
    pub(crate) fn slots(self) -> usize {
        slots(self.key, self.value)
    }
}

macro_rules! shapes {
    ($($name:ident $key:literal $value:literal,)*) => {
        /// Buckets of one of the supported shapes.
        pub(crate) enum Inline {
            $(
                #[doc = concat!("Keys of up to ", $key, " bytes, parameters of up to ", $value, ".")]
                $name(Buckets<$key, $value>),
            )*
        }

        impl Inline {
            /// Allocates buckets of this shape. Returns `None` if memory does not suffice.
            pub(crate) fn new(shape: Shape, size: usize) -> Option<Self> {
                match (shape.key, shape.value) {
                    $(($key, $value) => Buckets::new(size).map(Self::$name),)*
                    _ => None,
                }
            }

            /// Allocates buckets of this shape for keys that are entry numbers. Returns `None` if
            /// memory does not suffice.
            pub(crate) fn numbered(shape: Shape, size: usize) -> Option<Self> {
                match (shape.key, shape.value) {
                    $(($key, $value) => Buckets::numbered(size).map(Self::$name),)*
                    _ => None,
                }
            }
        }

        /// Evaluates an expression with the buckets, whatever their shape.
        macro_rules! with {
            ($inline:expr, $buckets:ident => $body:expr) => {
                match $inline {
                    $(Inline::$name($buckets) => $body,)*
                }
            };
        }
    };
}

shapes! {
    K4V4 4 4,
    K4V8 4 8,
    K4V16 4 16,
    K4V32 4 32,
    K8V4 8 4,
    K8V8 8 8,
    K8V16 8 16,
    K8V32 8 32,
    K16V4 16 4,
    K16V8 16 8,
    K16V16 16 16,
    K16V32 16 32,
}

impl Inline {
    pub(crate) fn len(&self) -> usize {
        with!(self, buckets => buckets.len())
    }

    pub(crate) fn positions(&self) -> usize {
        with!(self, buckets => buckets.positions())
    }

    pub(crate) fn bytes(&self) -> usize {
        with!(self, buckets => buckets.bytes())
    }

    pub(crate) fn pages(&self) -> Pages {
        with!(self, buckets => buckets.pages())
    }

    #[inline]
    pub(crate) fn read<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        parameters: &mut [u8],
    ) -> Option<(u16, u32)> {
        with!(self, buckets => {
            let found = buckets.find::<ALONE>(hash, &widen(key), |_| true)?;
            parameters.copy_from_slice(&found.value[..parameters.len()]);
            Some((found.action, found.position))
        })
    }

    /// Changes the entry with this key by `act`, which is called with the action and the parameters
    /// and returns the new action. Returns whether there is such an entry. No other thread may use
    /// the table.
    pub(crate) fn update(
        &self,
        hash: u64,
        key: &[u8],
        length: usize,
        act: impl FnOnce(u16, &mut [u8]) -> u16,
    ) -> bool {
        with!(self, buckets => buckets.update_alone(hash, &widen(key), |action, value| {
            act(action, &mut value[..length])
        }))
    }

    pub(crate) fn insert<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        with!(self, buckets => buckets.insert::<ALONE>(hash, &widen(key), action, &widen(parameters), |_| true))
    }

    /// Removes the entry with this key, and returns whether there was one.
    pub(crate) fn remove(&self, hash: u64, key: &[u8]) -> bool {
        with!(self, buckets => buckets.remove(hash, &widen(key), |_| true).is_some())
    }

    /// Returns the access of one thread, for machine code.
    pub(crate) fn access(&self, sharing: Sharing, writing: u64) -> Access {
        with!(self, buckets => buckets.access::<false>(sharing, writing))
    }

    /// Returns the access of one thread, for machine code, if keys are entry numbers.
    pub(crate) fn numbered_access(&self, sharing: Sharing, writing: u64) -> Access {
        with!(self, buckets => buckets.access::<true>(sharing, writing))
    }

    /// Returns the bucket of an entry number, which takes the place of a hash.
    pub(crate) fn numbered_hash(&self, key: &[u8]) -> u64 {
        with!(self, buckets => hash_of_number(buckets, key))
    }

    /// Adds an entry to buckets for entry numbers. The key is the entry's number.
    pub(crate) fn insert_numbered(
        &self,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        with!(self, buckets => buckets.insert_numbered(&widen(key), action, &widen(parameters)))
    }

    /// Returns the action of the entry at a position, if there is one, and writes the entry's key
    /// and value to `key` and `value`, followed by zeros.
    pub(crate) fn entry_at(
        &self,
        position: u32,
        key: &mut [u8; 16],
        value: &mut [u8; 32],
    ) -> Option<u16> {
        with!(self, buckets => {
            let (wide, action, found) = buckets.at(position)?;
            (*key, *value) = (widen(&wide), widen(&found));
            Some(action)
        })
    }
}

fn hash_of_number<const K: usize, const V: usize>(_: &Buckets<K, V>, key: &[u8]) -> u64 {
    numbered_hash::<K>(&widen(key), Buckets::<K, V>::SLOTS)
}

/// Pads bytes with zeros to the width of the bucket's field.
#[inline(always)]
fn widen<const B: usize>(bytes: &[u8]) -> [u8; B] {
    match <[u8; B]>::try_from(bytes) {
        Ok(exact) => exact,
        Err(_) => {
            let mut wide = [0; B];
            let length = bytes.len().min(B);
            wide[..length].copy_from_slice(&bytes[..length]);
            wide
        }
    }
}
