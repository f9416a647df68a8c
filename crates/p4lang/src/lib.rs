//! A compiler front end that translates P4_16 source or BMv2 JSON to a checked program in the
//! intermediate representation ([`ir`]).
//!
//! Source text passes through the preprocessor, the lexer and the parser to a syntax tree
//! ([`ast`]). The checker ([`check`]) resolves its names and types, and lowering ([`lower`])
//! translates the checked tree to the IR. BMv2 JSON is translated to the IR directly ([`bmv2`]).
//! P4Info ([`p4info`]) is generated from the IR. [`device_config`] reads the device configuration
//! that a P4Runtime controller sends.
//!
//! [`compile_file`] runs all passes from source to IR. Each pass reports errors and warnings to
//! [`diagnostic::Diagnostics`], with positions in a [`source::SourceMap`].
//!
//! ```
//! use p4lang::diagnostic::Style;
//! use p4lang::preprocess::{MemoryFiles, Options};
//!
//! let text = "
//!     #include <core.p4>
//!     #include <v1model.p4>
//!     header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
//!     struct headers_t { ethernet_t ethernet; }
//!     struct metadata_t {}
//!     parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
//!         state start { p.extract(h.ethernet); transition accept; }
//!     }
//!     control V(inout headers_t h, inout metadata_t m) { apply {} }
//!     control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
//!         action forward(bit<9> port) { s.egress_spec = port; }
//!         table stations {
//!             key = { h.ethernet.destination: exact; }
//!             actions = { forward; NoAction; }
//!         }
//!         apply { stations.apply(); }
//!     }
//!     control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
//!     control D(packet_out p, in headers_t h) { apply { p.emit(h.ethernet); } }
//!     V1Switch(P(), V(), I(), E(), V(), D()) main;
//! ";
//! let files = MemoryFiles::default();
//! let compiled = p4lang::compile_text("switch.p4", text, &Options::default(), &files);
//! let program = compiled.program.as_ref().ok_or_else(|| compiled.messages(Style::Plain))?;
//! assert_eq!(program.tables[0].name, "I.stations");
//! let p4info = p4lang::p4info::generate(program).map_err(|errors| format!("{errors:?}"))?;
//! assert_eq!(p4info.tables[0].match_fields[0].bitwidth, 48);
//! # Ok::<(), String>(())
//! ```

pub mod arch;
pub mod ast;
pub mod bmv2;
pub mod check;
mod compile;
pub mod device_config;
pub mod diagnostic;
pub mod explain;
mod frontend;
mod lexer;
pub mod lower;
mod p4_14;
pub mod p4info;
pub mod parser;
pub mod preprocess;
pub mod print;
mod priorities;
mod restrictions;
pub mod source;

pub use compile::{Compiled, compile_file, compile_text};
pub use frontend::{Parsed, parse_file, parse_text};
