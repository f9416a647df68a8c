//! Measures how fast a P4 program processes packets, with traffic that is generated from the
//! program and outputs that are checked.
//!
//! [`traffic`] generates packets that the program's parser accepts, and table entries that they
//! hit. [`run`] processes the packets under the clock, both on the interpreter and as machine code.
//! Every figure comes with a comparison of the outputs with those of the reference interpreter
//! ([`run::Counts`], [`check::Comparison`]).
//!
//! This crate starts threads and reads clocks, but it prints nothing.

pub mod check;
mod method;
pub mod packets;
pub mod ports;
mod ring;
pub mod run;
pub mod times;
pub mod traffic;

pub use ir::UpdateMethod;
pub use method::Variant;
