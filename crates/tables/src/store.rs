//! Inline storage, as one type for buckets of all shapes, and the size of a batch of lookups.
//! [`ExactTable`](crate::ExactTable) uses both.

mod inline;

pub(crate) use inline::{Inline, Shape};

/// The number of keys that are looked up together as one batch.
pub(crate) const BATCH: usize = 32;
