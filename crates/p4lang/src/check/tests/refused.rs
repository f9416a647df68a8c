//! Programs that break one rule each, and good ones beside them, by subject.

pub(super) mod architecture;
mod calls;
mod chapters;
mod expressions;
mod names;
mod parsers;
mod statements;
mod tables;
mod types;
