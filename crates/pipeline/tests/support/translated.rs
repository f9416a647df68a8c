//! Strings in the scripts of programs whose types are translated.

use std::sync::Arc;

use entities::PortNames;
use p4runtime::p4info::Schema;
use pipeline::{Translated, translated_types};

/// Returns the types of a program whose values are strings for controllers, and for scripts.
pub(crate) fn translated(program: &ir::Program) -> Arc<Translated> {
    let Ok(p4info) = p4lang::p4info::generate(program) else { return Arc::default() };
    let schema = Schema::new(p4info).expect("a schema");
    let types = translated_types(schema.objects(), program, &PortNames::default());
    Arc::new(types.expect("strings whose numbers fit"))
}
