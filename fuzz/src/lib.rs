//! The helpers that the fuzz targets share: mutators that keep the structure of an input, and a
//! switch to send packets through.
//!
//! An input is always a file or the bytes that a user or a peer would provide. A corpus therefore
//! consists of ordinary files, and an input that breaks a target can be passed to `planimeter`
//! unchanged.

pub mod guard;
pub mod json;
pub mod random;
pub mod scratch;
pub mod switch;
pub mod text;
