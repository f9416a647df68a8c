//! What the fuzz targets share: mutators that keep the structure of an input, and a switch to send
//! packets through.
//!
//! An input is always the file or the bytes that a user or a peer would give, so that a corpus is
//! made of ordinary files, and what broke a target can be given to `planimeter` as it is.

pub mod guard;
pub mod json;
pub mod random;
pub mod scratch;
pub mod switch;
pub mod text;
