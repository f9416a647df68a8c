//! Inline storage, as one type for buckets of all shapes. [`ExactTable`](crate::ExactTable) uses
//! it.

mod inline;

pub(crate) use inline::{Inline, Shape};

/// The number of keys that are looked up together as one batch.
pub(crate) const BATCH: usize = 32;
