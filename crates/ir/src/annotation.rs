//! Annotations, kept as they are written in the source, because P4Info must also carry annotations
//! that the compiler does not know.

use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

/// An annotation: `@name`, `@name(tokens)` or `@name[structured]` (P4_16 specification, section
/// 20).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    /// The name, without the `@`.
    pub name: String,
    /// The text in parentheses or brackets after the name.
    pub body: AnnotationBody,
}

/// The body of an annotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnotationBody {
    /// No body.
    Empty,
    /// An unstructured annotation, `(...)`, with each token as written.
    Tokens(Vec<String>),
    /// A structured annotation with a list of expressions, `[a, b]`.
    Expressions(Vec<AnnotationValue>),
    /// A structured annotation with a list of key-value pairs, `[k = a, l = b]`.
    KeyValues(Vec<(String, AnnotationValue)>),
}

/// A value in a structured annotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnotationValue {
    /// A string literal.
    String(String),
    /// An integer of any width.
    Integer(BigInt),
    /// The value `true` or `false`.
    Bool(bool),
}

impl Annotation {
    /// Returns the only string in the body of an annotation of the form `@name("x")` or
    /// `@name["x"]`, without its quotes. Returns `None` for any other body.
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
