//! Inline storage, behind one type for all shapes of buckets.

mod inline;

pub(crate) use inline::{Inline, Shape};

/// The number of keys that are looked up side by side.
pub(crate) const BATCH: usize = 32;
