//! Annotations (P4_16 §20).
//!
//! The meaning of an unstructured annotation, `@name(...)`, depends on its name, so the tree stores
//! its tokens. [`Annotation`] has methods to read a body that is a string, a list of arguments or
//! plain text.

use std::sync::Arc;

use super::{Expression, Name};
use crate::source::Span;

/// An annotation.
#[derive(Debug, Clone)]
pub struct Annotation {
    /// The location of the annotation.
    pub span: Span,
    /// The name, which may be a keyword.
    pub name: Name,
    /// The part that follows the name.
    pub body: AnnotationBody,
}

/// The names of the annotations whose parentheses contain expressions of the language, not
/// arbitrary tokens.
pub const HOLDS_EXPRESSIONS: [&str; 5] =
    ["field_list", "id", "max_group_size", "max_member_weight", "priority"];

/// The part of an annotation that follows its name.
#[derive(Debug, Clone)]
pub enum AnnotationBody {
    /// No body.
    Empty,
    /// `( ... )`: tokens without an interpretation.
    Unstructured(Vec<AnnotationToken>),
    /// `( a, b )`, for an annotation whose name is in [`HOLDS_EXPRESSIONS`].
    Evaluated {
        /// The tokens as written.
        tokens: Vec<AnnotationToken>,
        /// The expressions parsed from these tokens.
        values: Vec<Expression>,
    },
    /// `[ a, b ]`, or `[ ]`.
    Expressions(Vec<Expression>),
    /// `[ key = a, key = b ]`.
    KeyValues(Vec<KeyValue>),
}

/// A key-value pair `key = value` in a structured annotation.
#[derive(Debug, Clone)]
pub struct KeyValue {
    /// The key.
    pub key: Name,
    /// The value of the pair.
    pub value: Expression,
}

/// A token of an unstructured annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationToken {
    /// The location of the token.
    pub span: Span,
    /// The text as written, including the quotes and escapes of a string.
    pub text: Arc<str>,
    /// The value of a string token, with escapes resolved, or `None` for other tokens.
    pub string: Option<Arc<str>>,
    /// Whether white space precedes the token.
    pub space_before: bool,
}

impl Annotation {
    /// Returns the string in an annotation of the form `@name("x")` or `@name["x"]`, and `None` for
    /// any other annotation.
    pub fn string(&self) -> Option<&str> {
        match &self.body {
            AnnotationBody::Unstructured(tokens) => match tokens.as_slice() {
                [token] => token.string.as_deref(),
                _ => None,
            },
            AnnotationBody::Expressions(expressions) => match expressions.as_slice() {
                [Expression { kind: super::ExpressionKind::String(text), .. }] => Some(text),
                _ => None,
            },
            AnnotationBody::Empty
            | AnnotationBody::Evaluated { .. }
            | AnnotationBody::KeyValues(_) => None,
        }
    }

    /// Returns the tokens between the parentheses of the annotation, or an empty slice if its body
    /// has another form.
    pub fn tokens(&self) -> &[AnnotationToken] {
        match &self.body {
            AnnotationBody::Unstructured(tokens) | AnnotationBody::Evaluated { tokens, .. } => {
                tokens
            }
            AnnotationBody::Empty
            | AnnotationBody::Expressions(_)
            | AnnotationBody::KeyValues(_) => &[],
        }
    }

    /// Returns the arguments of an unstructured annotation: the tokens between its parentheses,
    /// split at commas outside nested brackets. Returns an empty list for `@name()` and for other
    /// forms of body.
    pub fn arguments(&self) -> Vec<&[AnnotationToken]> {
        let tokens = self.tokens();
        if tokens.is_empty() {
            return Vec::new();
        }
        let mut depth = 0usize;
        tokens
            .split(|token| {
                match &*token.text {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && &*token.text == ","
            })
            .collect()
    }

    /// Returns the text between the parentheses, with each run of white space replaced by one
    /// blank.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for token in self.tokens() {
            if token.space_before && !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&token.text);
        }
        out
    }
}

/// Returns the last annotation called `name`, or `None` if the list has none.
pub(crate) fn find<'list>(
    annotations: &'list [Annotation],
    name: &str,
) -> Option<&'list Annotation> {
    annotations.iter().rev().find(|annotation| annotation.name.as_str() == name)
}
