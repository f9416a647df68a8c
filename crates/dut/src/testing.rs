//! Functions that the tests of several modules share.

pub(crate) mod made_switch;
pub(crate) mod ticking;

use std::sync::Arc;

use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use p4runtime::p4info::Schema;

/// Compiles a program in P4 source, and returns its schema.
pub(crate) fn schema(source: &str) -> Arc<Schema> {
    let options = Options::default();
    let compiled = p4lang::compile_text("test.p4", source, &options, &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    let program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
    let p4info = p4lang::p4info::generate(&program).expect("it has a P4Info");
    Schema::new(p4info).expect("it is valid")
}
