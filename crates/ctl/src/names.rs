//! The lookup of objects of a pipeline by names that people write.

use crate::error::CommandError;
pub(crate) use entities::names::{Named, meant};

/// Returns the object with a name, as [`entities::names::find`] does.
///
/// # Errors
/// Returns an error that names the objects of the kind if there is none, or several.
pub(crate) fn find<'o, T: Named>(
    kind: &'static str,
    given: &str,
    all: impl Iterator<Item = &'o T>,
) -> Result<&'o T, CommandError> {
    Ok(entities::names::find(kind, given, all)?)
}
