//! Annotations, kept as written: P4Info passes on what it does not know.

use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

/// `@name`, `@name(tokens)` or `@name[structured]` (P4_16 specification, section 20).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// Name without the `@`.
    pub name: String,
    /// What follows the name.
    pub body: AnnotationBody,
}

/// What an annotation says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnotationBody {
    /// Nothing follows.
    Empty,
    /// `(...)`: each token as it was written.
    Tokens(Vec<String>),
    /// `[a, b]`.
    Expressions(Vec<AnnotationValue>),
    /// `[k = a, l = b]`.
    KeyValues(Vec<(String, AnnotationValue)>),
}

/// A value in a structured annotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnotationValue {
    /// A string literal.
    String(String),
    /// An integer, of any width.
    Integer(BigInt),
    /// `true` or `false`.
    Bool(bool),
}

impl Annotation {
    /// The text of the only string in the body, as `@name("x")` and `@name["x"]` have it. Quotes
    /// of tokens are taken off.
    #[must_use]
    pub fn single_string(&self) -> Option<&str> {
        match &self.body {
            AnnotationBody::Tokens(tokens) => match tokens.as_slice() {
                [token] => token.strip_prefix('"')?.strip_suffix('"'),
                _ => None,
            },
            AnnotationBody::Expressions(values) => match values.as_slice() {
                [AnnotationValue::String(text)] => Some(text),
                _ => None,
            },
            AnnotationBody::Empty | AnnotationBody::KeyValues(_) => None,
        }
    }
}
