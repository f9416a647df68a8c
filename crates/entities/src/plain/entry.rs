//! The conversion of keys of entries and of action calls in which fields, actions and parameters
//! are given by name.

use super::{Plain, PlainError, PlainMatch, matching, value};
use crate::action::{ActionCall, Argument};
use crate::entry::FieldMatch;
use crate::names::{NameError, Named, find};
use crate::schema::{Action, ActionRef, MatchField, Schema};

/// The reason why a plain key or action call does not fit the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// A name denotes no object, or several.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A value does not fit its field or parameter.
    #[error(transparent)]
    Value(#[from] PlainError),
    /// A field or parameter is given twice.
    #[error("{0} is given twice")]
    Twice(String),
    /// A call of an action lacks a parameter.
    #[error("action {action} needs parameter {parameter}")]
    Missing {
        /// The name of the action.
        action: String,
        /// The name of the parameter.
        parameter: String,
    },
}

/// Returns the conditions on the fields that are given by name. A field for which every value
/// matches is omitted.
///
/// # Errors
/// Returns an error if a name is unknown or given twice, or if a value does not fit.
pub fn key<'p>(
    declared: &[MatchField],
    given: impl IntoIterator<Item = (&'p str, PlainMatch<'p>)>,
) -> Result<Vec<FieldMatch>, EntryError> {
    let (mut seen, mut found) = (Vec::new(), Vec::new());
    for (name, plain) in given {
        let field = find("match field", name, declared.iter())?;
        if seen.contains(&field.id) {
            return Err(EntryError::Twice(field.name.clone()));
        }
        seen.push(field.id);
        let matched = matching(field, &plain)?;
        found.extend(matched.map(|matching| FieldMatch { field: field.id, matching }));
    }
    Ok(found)
}

/// Returns the call of one of the actions in `allowed`, with its arguments by name.
///
/// # Errors
/// Returns an error if a name is unknown or given twice, if a value does not fit, or if a parameter
/// is missing.
pub fn call<'p>(
    schema: &Schema,
    allowed: &[ActionRef],
    name: &str,
    arguments: impl IntoIterator<Item = (&'p str, Plain<'p>)>,
) -> Result<ActionCall, EntryError> {
    let actions: Vec<&Action> =
        allowed.iter().filter_map(|action| schema.actions().get(action.id)).collect();
    let action = find("action", name, actions.into_iter())?;
    let mut found: Vec<Argument> = Vec::new();
    for (name, plain) in arguments {
        let param = find("parameter", name, action.params.iter())?;
        if found.iter().any(|argument| argument.param == param.id) {
            return Err(EntryError::Twice(param.name.clone()));
        }
        let value = value(&param.name, param.value, &plain)?;
        found.push(Argument { param: param.id, value });
    }
    let is_missing =
        |param: &&crate::schema::Param| found.iter().all(|argument| argument.param != param.id);
    if let Some(missing) = action.params.iter().find(is_missing) {
        let (action, parameter) = (action.short().to_owned(), missing.name.clone());
        return Err(EntryError::Missing { action, parameter });
    }
    found.sort_by_key(|argument| argument.param);
    Ok(ActionCall { action: action.id, arguments: found.into() })
}
