//! P4Info in protobuf's text format, which compilers write (`prog.p4info.txtpb`).
//!
//! The parser is that of prost-reflect, over the descriptors of this crate's protos. It accepts all
//! of the text format, including features that compilers do not use today (comments, lists, nested
//! `Any`), and needs no protobuf runtime besides prost. This module adds line and column numbers to
//! its errors, and bounds the nesting before the recursive parser runs. The printer is this crate's
//! own, so that the layout equals protobuf's.

use miette::Diagnostic as _;
use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde::Serialize;

use crate::proto;
use crate::proto::config::P4Info;
use crate::proto::v1::WriteRequest;

/// The maximum nesting, which is deeper than any real P4Info. prost has about the same limit for
/// encoded messages.
const MAX_DEPTH: usize = 100;

/// The reason why a text is not the expected message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The text is not in text format, or contains a field that the message does not have.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in characters, counted from 1.
        column: usize,
        /// The description of the error at this position.
        message: String,
    },
    /// Messages are nested too deeply.
    #[error("line {line}: messages are nested more than {MAX_DEPTH} deep")]
    TooDeep {
        /// The line of the bracket that is nested too deeply, counted from 1.
        line: usize,
    },
    /// The built-in protos cannot be used, which is a defect of the build.
    #[error("the built-in descriptors do not describe {0}")]
    Descriptor(&'static str),
}

/// Parses a P4Info in text format.
///
/// The contents of the resulting message are not checked; [`Schema::new`](super::Schema::new)
/// checks them.
pub fn parse(text: &str) -> Result<P4Info, TextError> {
    parse_message(text)
}

/// Parses a message in text format.
///
/// # Errors
/// Returns an error if the text is no message of this type.
pub fn parse_message<M: Printed + Default>(text: &str) -> Result<M, TextError> {
    check_depth(text)?;
    let message = DynamicMessage::parse_text_format(descriptor::<M>()?, text)
        .map_err(|error| syntax_error(text, &error))?;
    message.transcode_to().map_err(|_| TextError::Descriptor(M::NAME))
}

/// Parses a message in protobuf's JSON mapping.
///
/// # Errors
/// Returns an error if the text is no JSON, or no message of this type.
pub fn parse_json<M: Printed + Default>(text: &str) -> Result<M, TextError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let message = DynamicMessage::deserialize(descriptor::<M>()?, &mut json);
    let message = message.and_then(|message| json.end().map(|()| message));
    let message = message.map_err(|error| TextError::Syntax {
        line: error.line(),
        column: error.column(),
        message: without_place(&error),
    })?;
    message.transcode_to().map_err(|_| TextError::Descriptor(M::NAME))
}

/// Returns the description of an error of JSON without its line and column, which
/// [`TextError::Syntax`] contains separately.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map_or_else(|| text.clone(), str::to_owned)
}

/// Prints a message in text format, in the layout of protobuf's own printer and p4c.
pub fn print<M: Printed>(message: &M) -> Result<String, TextError> {
    let text = super::print::print(&dynamic(message)?);
    Ok(format!("# proto-file: {}\n# proto-message: {}\n\n{text}", M::FILE, M::NAME))
}

/// A message that can be printed and parsed, in text format or as JSON.
pub trait Printed: Message {
    /// The full name of the message, including its package.
    const NAME: &'static str;
    /// The proto file that defines the message.
    const FILE: &'static str;
}

impl Printed for P4Info {
    const NAME: &'static str = NAME;
    const FILE: &'static str = "p4/config/v1/p4info.proto";
}

impl Printed for WriteRequest {
    const NAME: &'static str = "p4.v1.WriteRequest";
    const FILE: &'static str = "p4/v1/p4runtime.proto";
}

/// Prints a message as indented JSON, according to protobuf's JSON mapping.
pub fn print_json<M: Printed>(message: &M) -> Result<String, TextError> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut text);
    dynamic(message)?.serialize(&mut serializer).map_err(|_| TextError::Descriptor(M::NAME))?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|_| TextError::Descriptor(M::NAME))
}

fn dynamic<M: Printed>(message: &M) -> Result<DynamicMessage, TextError> {
    DynamicMessage::decode(descriptor::<M>()?, message.encode_to_vec().as_slice())
        .map_err(|_| TextError::Descriptor(M::NAME))
}

const NAME: &str = "p4.config.v1.P4Info";

fn descriptor<M: Printed>() -> Result<MessageDescriptor, TextError> {
    let found = proto::pool().and_then(|pool| pool.get_message_by_name(M::NAME));
    found.ok_or(TextError::Descriptor(M::NAME))
}

fn syntax_error(text: &str, error: &prost_reflect::text_format::ParseError) -> TextError {
    let offset = error
        .labels()
        .and_then(|mut labels| labels.next())
        .map_or(text.len(), |label| label.offset());
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    TextError::Syntax {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        message: error.to_string(),
    }
}

/// Checks the nesting of brackets outside strings and comments.
fn check_depth(text: &str) -> Result<(), TextError> {
    let mut depth = 0_usize;
    let mut line = 1;
    let mut quote = None;
    let mut comment = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if byte == b'\n' {
            line += 1;
            comment = false;
            // A string ends at the end of its line at the latest. The parser reports an
            // unterminated one.
            quote = None;
        }
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if comment => {}
            None => match byte {
                b'"' | b'\'' => quote = Some(byte),
                b'#' => comment = true,
                b'{' | b'<' | b'[' => depth += 1,
                b'}' | b'>' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        if depth > MAX_DEPTH {
            return Err(TextError::TooDeep { line });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_output_of_compilers_is_parsed() {
        let p4info = parse(
            "# proto-file: p4/config/v1/p4info.proto\n\
             pkg_info { arch: \"v1model\" }\n\
             tables {\n  preamble { id: 33554433 name: \"ingress.t\" annotations: \"@name(\\\"t\\\")\" }\n\
               match_fields { id: 1 name: \"f\" bitwidth: 9 match_type: TERNARY }\n  size: 1024\n}\n",
        )
        .unwrap();
        let table = &p4info.tables[0];
        assert_eq!(table.preamble.as_ref().unwrap().annotations, ["@name(\"t\")"]);
        assert_eq!(table.match_fields[0].bitwidth, 9);
        assert_eq!(parse(&print(&p4info).unwrap()).unwrap(), p4info);
    }

    #[test]
    fn errors_have_positions() {
        let error = parse("pkg_info {\n  arc: \"x\"\n}\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2, column 3: field 'arc' not found for message 'p4.config.v1.PkgInfo'"
        );
        let error = parse("pkg_info {\n").unwrap_err();
        assert!(matches!(error, TextError::Syntax { line: 2, column: 1, .. }), "{error}");
    }

    #[test]
    fn requests_are_printed_and_parsed_unchanged() {
        let text = "updates { type: INSERT entity { table_entry { table_id: 7 match { field_id: 1 \
                    exact { value: \"\\n\\000\" } } priority: 3 } } }";
        let request: WriteRequest = parse_message(text).unwrap();
        assert_eq!(request.updates.len(), 1);
        assert_eq!(parse_json::<WriteRequest>(&print_json(&request).unwrap()).unwrap(), request);
        assert_eq!(parse_message::<WriteRequest>(&print(&request).unwrap()).unwrap(), request);
        let error = parse_json::<WriteRequest>("{\n \"update\": []}").unwrap_err();
        assert!(matches!(error, TextError::Syntax { line: 2, .. }), "{error}");
        assert!(parse_json::<WriteRequest>("{} {}").is_err());
    }

    #[test]
    fn nesting_is_bounded() {
        let deep =
            |open: &str, count: usize| format!("digests {{ type_spec {{ \n{}", open.repeat(count));
        let error = parse(&deep("tuple { members {", 10_000)).unwrap_err();
        assert_eq!(error, TextError::TooDeep { line: 2 });
        let error = parse(&deep("tuple < members [", 10_000)).unwrap_err();
        assert_eq!(error, TextError::TooDeep { line: 2 });
        let braces =
            format!("pkg_info {{ name: \"{}\" }} # {}", "{".repeat(1000), "{".repeat(1000));
        assert_eq!(parse(&braces).unwrap().pkg_info.unwrap().name.len(), 1000);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z_{}<>\\[\\]:;,\"'#\\\\0-9.\n -]{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn names_are_printed_and_parsed_unchanged(name: String) {
            let p4info = P4Info {
                pkg_info: Some(crate::proto::config::PkgInfo { name, ..Default::default() }),
                ..Default::default()
            };
            prop_assert_eq!(parse(&print(&p4info).unwrap()).unwrap(), p4info);
        }
    }
}
