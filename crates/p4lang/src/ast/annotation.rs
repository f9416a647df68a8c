//! Annotations (§20).
//!
//! The text of an unstructured annotation, `@name(...)`, means what the annotation's reader says, so the tree keeps
//! its tokens. Readers of the usual shapes are here: a string, an integer, a list.

use std::sync::Arc;

use super::{Expression, Name};
use crate::source::Span;

/// An annotation.
#[derive(Debug, Clone)]
pub struct Annotation {
    /// Where it stands.
    pub span: Span,
    /// Its name, which may be a keyword.
    pub name: Name,
    /// What follows the name.
    pub body: AnnotationBody,
}

/// The annotations whose parentheses hold expressions of the language.
pub const HOLDS_EXPRESSIONS: [&str; 5] =
    ["field_list", "id", "max_group_size", "max_member_weight", "priority"];

/// What follows an annotation's name.
#[derive(Debug, Clone)]
pub enum AnnotationBody {
    /// Nothing.
    Empty,
    /// `( ... )`: tokens without meaning of their own.
    Unstructured(Vec<AnnotationToken>),
    /// `( a, b )` of an annotation in [`HOLDS_EXPRESSIONS`].
    Evaluated {
        /// The tokens as they were written.
        tokens: Vec<AnnotationToken>,
        /// The expressions that the tokens are.
        values: Vec<Expression>,
    },
    /// `[ a, b ]`, or `[ ]`.
    Expressions(Vec<Expression>),
    /// `[ key = a, key = b ]`.
    KeyValues(Vec<KeyValue>),
}

/// `key = value` in a structured annotation.
#[derive(Debug, Clone)]
pub struct KeyValue {
    /// The key.
    pub key: Name,
    /// Its value.
    pub value: Expression,
}

/// A token of an unstructured annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationToken {
    /// Where it stands.
    pub span: Span,
    /// As it was written; for a string, with its quotes and escapes.
    pub text: Arc<str>,
    /// The value of a string token, escapes resolved.
    pub string: Option<Arc<str>>,
    /// Whether white space stands before it.
    pub space_before: bool,
}

impl Annotation {
    /// The string of an annotation that holds just one: `@name("x")` or `@name["x"]`.
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

    /// Returns the tokens between the parentheses; none for the other forms.
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

    /// The tokens of an unstructured annotation, split at the commas outside parentheses, brackets and braces.
    /// Empty for `@name()` and for the other forms.
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

    /// The text between the parentheses of an unstructured annotation, white space reduced to single blanks.
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

/// Looks for the annotation `name`; the last one counts where there are several.
pub(crate) fn find<'list>(
    annotations: &'list [Annotation],
    name: &str,
) -> Option<&'list Annotation> {
    annotations.iter().rev().find(|annotation| annotation.name.as_str() == name)
}
