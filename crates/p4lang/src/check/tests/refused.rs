//! Tests of programs that violate one rule each, next to similar valid programs, grouped by
//! subject.

pub(super) mod architecture;
mod calls;
mod chapters;
mod expressions;
mod names;
mod parsers;
mod statements;
mod tables;
mod types;
mod versions;
