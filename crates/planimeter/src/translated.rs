//! The translated types (`@p4runtime_translation`) of programs that no controller drives: those of
//! scripts and benchmarks.

use std::sync::Arc;

use entities::PortNames;
use ir::Program;
use p4runtime::p4info::Schema;
use pipeline::Translated;

use crate::failure::Failure;
use crate::mappings;

/// Returns the translated types of a program, whose values controllers write as strings. A program
/// without such types has none. A program without a P4Info has none either, since the P4Info states
/// which keys and parameters have a translated type.
///
/// # Errors
/// Returns an error if the program assigns to a string a number that does not fit its type.
pub(crate) fn of(program: &Program) -> Result<Arc<Translated>, Failure> {
    if !program.types.user_types.iter().any(mappings::is_text) {
        return Ok(Arc::default());
    }
    let Ok(p4info) = p4lang::p4info::generate(program) else { return Ok(Arc::default()) };
    let schema = Schema::new(p4info).map_err(Failure::input)?;
    let types = pipeline::translated_types(schema.objects(), program, &PortNames::default());
    types.map(Arc::new).map_err(Failure::input)
}
