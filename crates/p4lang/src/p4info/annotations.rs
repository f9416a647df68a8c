//! Conversion of annotations to the fields of P4Info: plain text, documentation or structured
//! annotations.
//!
//! p4c prints an annotation that it does not know token by token, with blanks between the tokens.
//! An annotation that it parses is printed as a list of expressions. P4Info files are compared as
//! text, so this module follows both formats. As in p4c's lexer, string literals keep their escape
//! sequences.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use p4runtime::proto::config::{
    self, Documentation, ExpressionList, KeyValuePair, KeyValuePairList, Preamble,
    StructuredAnnotation, expression, structured_annotation,
};

use super::fault::{Faults, P4InfoErrorKind};
use ir::{Annotation, AnnotationBody, AnnotationValue};

/// The names of the annotations whose bodies p4c parses as expressions before it prints them.
const EXPRESSION_LISTS: [&str; 6] =
    ["command_line", "field_list", "length", "match", "synchronous", "priority"];

/// Returns the last annotation called `name`, or `None` if there is none. If there are several, p4c
/// uses the last one too.
pub(super) fn find<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().rev().find(|annotation| annotation.name == name)
}

/// Returns whether an object with these annotations is hidden from the control plane (`@hidden`).
pub(super) fn hidden(annotations: &[Annotation]) -> bool {
    find(annotations, "hidden").is_some()
}

/// Returns the name that the annotation `@name` sets, or `name` if there is no such annotation. A
/// leading dot, which marks a name as absolute, is removed.
pub(super) fn control_plane_name<'a>(annotations: &'a [Annotation], name: &'a str) -> &'a str {
    let name = find(annotations, "name").and_then(Annotation::single_string).unwrap_or(name);
    name.strip_prefix('.').unwrap_or(name)
}

/// Returns the number in the annotation `@id(number)`, or `None` if there is no such annotation. If
/// its body is not an identifier, returns the text of the annotation as an error.
pub(super) fn identifier(annotations: &[Annotation]) -> Result<Option<u32>, String> {
    let Some(annotation) = find(annotations, "id") else { return Ok(None) };
    integer(annotation)
        .and_then(|value| value.to_u32())
        .map(Some)
        .ok_or_else(|| text_of(annotation))
}

/// Returns the integer in the body of an annotation, or `None` if the body is not a single integer.
pub(super) fn integer(annotation: &Annotation) -> Option<BigInt> {
    match &annotation.body {
        AnnotationBody::Tokens(tokens) => match tokens.as_slice() {
            [token] => parse_integer(token),
            _ => None,
        },
        AnnotationBody::Expressions(values) => match values.as_slice() {
            [AnnotationValue::Integer(value)] => Some(value.clone()),
            _ => None,
        },
        AnnotationBody::Empty | AnnotationBody::KeyValues(_) => None,
    }
}

/// Parses an integer literal of P4, such as `42`, `0x2A`, `0b10_1010` or `8w42`. Returns `None` for
/// any other text.
pub(super) fn parse_integer(token: &str) -> Option<BigInt> {
    let digits = match token.find(['w', 's']) {
        Some(at) if token[..at].bytes().all(|byte| byte.is_ascii_digit()) && at > 0 => {
            &token[at + 1..]
        }
        _ => token,
    };
    let digits = digits.replace('_', "");
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        Some("0o" | "0O") => (&digits[2..], 8),
        Some("0d" | "0D") => (&digits[2..], 10),
        _ => (digits.as_str(), 10),
    };
    BigInt::parse_bytes(digits.as_bytes(), radix)
}

/// Formats an annotation as p4c does.
pub(super) fn text_of(annotation: &Annotation) -> String {
    let mut text = format!("@{}", annotation.name);
    if let AnnotationBody::Tokens(tokens) = &annotation.body
        && !tokens.is_empty()
    {
        text.push('(');
        if EXPRESSION_LISTS.contains(&annotation.name.as_str()) {
            let arguments: Vec<String> =
                tokens.split(|token| token == ",").map(<[String]>::concat).collect();
            text.push_str(&arguments.join(", "));
        } else {
            text.push_str(&tokens.join(" "));
        }
        text.push(')');
    }
    text
}

/// The annotations of an object as P4Info contains them, divided into the fields of its messages.
#[derive(Default)]
pub(super) struct Passed {
    pub(super) texts: Vec<String>,
    pub(super) structured: Vec<StructuredAnnotation>,
    pub(super) documentation: Option<Documentation>,
}

/// Converts the annotations of an object to the fields of P4Info. Names, identifiers and the
/// annotations in `left_out` are not included, since other fields of P4Info contain them.
/// Documentation has its own field.
pub(super) fn pass(annotations: &[Annotation], left_out: &[&str], errors: &mut Faults) -> Passed {
    let mut passed = Passed::default();
    for annotation in annotations {
        match &annotation.body {
            AnnotationBody::Expressions(_) | AnnotationBody::KeyValues(_) => {
                match structured(annotation) {
                    Some(structured) => passed.structured.push(structured),
                    None => errors.push(P4InfoErrorKind::WideAnnotation {
                        annotation: annotation.name.clone(),
                    }),
                }
            }
            AnnotationBody::Empty | AnnotationBody::Tokens(_) => match annotation.name.as_str() {
                "name" | "id" | "brief" | "description" => {}
                name if left_out.contains(&name) => {}
                _ => passed.texts.push(text_of(annotation)),
            },
        }
        if let "brief" | "description" = annotation.name.as_str()
            && let Some(text) = annotation.single_string()
        {
            let documentation = passed.documentation.get_or_insert_default();
            let field = if annotation.name == "brief" {
                &mut documentation.brief
            } else {
                &mut documentation.description
            };
            text.clone_into(field);
        }
    }
    passed
}

/// Converts a structured annotation. Returns `None` if an integer does not fit in 64 bits.
fn structured(annotation: &Annotation) -> Option<StructuredAnnotation> {
    let body = match &annotation.body {
        AnnotationBody::Expressions(values) if values.is_empty() => None,
        AnnotationBody::Expressions(values) => {
            Some(structured_annotation::Body::ExpressionList(ExpressionList {
                expressions: values.iter().map(value).collect::<Option<_>>()?,
            }))
        }
        AnnotationBody::KeyValues(pairs) => {
            Some(structured_annotation::Body::KvPairList(KeyValuePairList {
                kv_pairs: pairs
                    .iter()
                    .map(|(key, of)| {
                        Some(KeyValuePair { key: key.clone(), value: Some(value(of)?) })
                    })
                    .collect::<Option<_>>()?,
            }))
        }
        AnnotationBody::Empty | AnnotationBody::Tokens(_) => None,
    };
    Some(StructuredAnnotation { name: annotation.name.clone(), body, source_location: None })
}

fn value(value: &AnnotationValue) -> Option<config::Expression> {
    let value = match value {
        AnnotationValue::String(text) => expression::Value::StringValue(text.clone()),
        AnnotationValue::Integer(number) => expression::Value::Int64Value(number.to_i64()?),
        AnnotationValue::Bool(truth) => expression::Value::BoolValue(*truth),
    };
    Some(config::Expression { value: Some(value) })
}

/// Builds the preamble of a P4Info object: its identifier, name, alias, annotations and
/// documentation.
pub(super) fn preamble(
    id: u32,
    name: &str,
    alias: &str,
    annotations: &[Annotation],
    left_out: &[&str],
    errors: &mut Faults,
) -> Preamble {
    let passed = pass(annotations, left_out, errors);
    Preamble {
        id,
        name: name.to_owned(),
        alias: alias.to_owned(),
        annotations: passed.texts,
        annotation_locations: Vec::new(),
        doc: passed.documentation,
        structured_annotations: passed.structured,
    }
}

/// Returns the keys and values of an annotation such as `@pkginfo(name = "x")`, with parentheses or
/// brackets. A value is `None` if it is neither a string nor a number.
pub(super) fn pairs(annotation: &Annotation) -> Vec<(String, Option<AnnotationValue>)> {
    match &annotation.body {
        AnnotationBody::KeyValues(pairs) => {
            pairs.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
        }
        AnnotationBody::Tokens(tokens) => tokens
            .split(|token| token == ",")
            .filter_map(|pair| match pair {
                [key, equals, value @ ..] if equals == "=" => Some((key.clone(), literal(value))),
                [key, ..] => Some((key.clone(), None)),
                [] => None,
            })
            .collect(),
        AnnotationBody::Empty | AnnotationBody::Expressions(_) => Vec::new(),
    }
}

/// Returns the value of a single string or number token, or `None` for any other list of tokens.
fn literal(tokens: &[String]) -> Option<AnnotationValue> {
    let [token] = tokens else { return None };
    match token.strip_prefix('"').and_then(|token| token.strip_suffix('"')) {
        Some(text) => Some(AnnotationValue::String(text.to_owned())),
        None => parse_integer(token).map(AnnotationValue::Integer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(name: &str, tokens: &[&str]) -> Annotation {
        Annotation {
            name: name.to_owned(),
            body: AnnotationBody::Tokens(tokens.iter().map(|token| (*token).to_owned()).collect()),
        }
    }

    #[test]
    fn unknown_annotations_are_tokens_with_blanks() {
        let annotation = tokens("sai_action", &["A", ",", "B"]);
        assert_eq!(text_of(&annotation), "@sai_action(A , B)");
        assert_eq!(text_of(&tokens("empty", &[])), "@empty");
    }

    #[test]
    fn known_annotations_are_expression_lists() {
        assert_eq!(text_of(&tokens("field_list", &["1", ",", "2"])), "@field_list(1, 2)");
        assert_eq!(text_of(&tokens("noWarn", &["\"unused\""])), "@noWarn(\"unused\")");
    }

    #[test]
    fn integers_have_prefixes_of_base_and_width() {
        for (text, value) in
            [("42", 42), ("0x2a", 42), ("8w0x2A", 42), ("0b10_1010", 42), ("4s3", 3), ("0o17", 15)]
        {
            assert_eq!(parse_integer(text), Some(BigInt::from(value)), "{text}");
        }
        assert_eq!(parse_integer("w3"), None);
        assert_eq!(parse_integer("é"), None);
    }

    #[test]
    fn key_value_pairs_in_parentheses_are_parsed() {
        let annotation = tokens("pkginfo", &["name", "=", "\"x\"", ",", "size", "=", "3"]);
        assert_eq!(
            pairs(&annotation),
            [
                ("name".to_owned(), Some(AnnotationValue::String("x".to_owned()))),
                ("size".to_owned(), Some(AnnotationValue::Integer(3.into()))),
            ]
        );
        let unreadable = tokens("pkginfo", &["size", "=", "SIZE", ",", "name", "=", "2", "+", "3"]);
        assert_eq!(pairs(&unreadable), [("size".to_owned(), None), ("name".to_owned(), None)]);
    }

    #[test]
    fn documentation_and_names_have_fields_of_their_own() {
        let mut errors = Faults::default();
        let passed = pass(
            &[
                tokens("name", &["\"x\""]),
                tokens("id", &["1"]),
                tokens("brief", &["\"What it does\""]),
                tokens("mode", &["fast"]),
            ],
            &[],
            &mut errors,
        );
        assert_eq!(passed.texts, ["@mode(fast)"]);
        assert_eq!(passed.documentation.unwrap().brief, "What it does");
        assert!(errors.is_empty());
    }
}
