//! P4_16 source, or BMv2 JSON, to one checked program and its P4Info.
//!
//! Source text goes through the preprocessor, the lexer and the parser into a syntax tree ([`ast`]). The checker
//! ([`check`]) resolves names and types beside it, and the lowering ([`lower`]) makes the intermediate representation
//! ([`ir`]) of both; BMv2 JSON becomes the same form ([`bmv2`]). P4Info ([`p4info`]) comes from there.
//! [`compile_file`] does all that in one call. What any pass has to say goes into [`diagnostic::Diagnostics`] with
//! positions in a [`source::SourceMap`].

pub mod arch;
pub mod ast;
pub mod bmv2;
pub mod check;
mod compile;
pub mod diagnostic;
pub mod explain;
mod frontend;
mod lexer;
pub mod lower;
pub mod p4info;
pub mod parser;
pub mod preprocess;
pub mod print;
pub mod source;

pub use compile::{Compiled, compile_file, compile_text};
pub use frontend::{Parsed, parse_file, parse_text};
