//! How fast a P4 program runs: traffic made from the program, and what it took to process it, checked on its way out.
//!
//! [`traffic`] makes packets that the program's parser takes apart and entries that they hit; [`run`] processes them under
//! the clock, on the interpreter and as machine code, side by side. Nothing counts that was not also compared with what the
//! reference interpreter does ([`run::Counts`], [`check::Comparison`]).
//!
//! This crate has threads and a clock, since it measures; it prints nothing.

pub mod check;
mod method;
pub mod packets;
pub mod ports;
mod ring;
pub mod run;
pub mod times;
pub mod traffic;

pub use ir::UpdateMethod;
