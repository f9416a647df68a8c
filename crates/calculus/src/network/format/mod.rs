//! Networks in files.

pub(crate) mod quantity;
pub(crate) mod tree;

use crate::network::ModelError;

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is not even TOML, JSON or XML.
    #[error("{}{message}", line_prefix(*line))]
    Syntax {
        /// Line, from 1; 0 if not known.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A field is missing, not known or has a value that it cannot have.
    #[error("{}{path} {message}", line_prefix(*line))]
    Field {
        /// Line, from 1; 0 if not known.
        line: usize,
        /// Which field.
        path: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// All fields are right, but what they say is no network.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn line_prefix(line: usize) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}
