//! Printing of messages in text format, byte for byte as protobuf's own printer formats them.
//!
//! P4Info is kept in version control and compared by eye and by `diff`, so the output should not
//! depend on the compiler that wrote it: one field per line, every list element under its own name,
//! in the order of field numbers.

use std::fmt::Write;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, Value};

/// Returns `message` in text format, with each nested message indented by two spaces.
pub(super) fn print(message: &DynamicMessage) -> String {
    let mut text = String::new();
    fields(&mut text, message, 0);
    text
}

/// Appends the fields of a message, in the order of their numbers.
fn fields(text: &mut String, message: &DynamicMessage, depth: usize) {
    let mut present: Vec<(FieldDescriptor, &Value)> = message.fields().collect();
    present.sort_by_key(|(field, _)| field.number());
    for (field, value) in present {
        match value {
            Value::List(elements) => {
                for element in elements {
                    one(text, &field, element, depth);
                }
            }
            Value::Map(entries) => {
                let mut entries: Vec<(&MapKey, &Value)> = entries.iter().collect();
                entries.sort_by_key(|(key, _)| map_key(key));
                for (key, value) in entries {
                    line(text, depth, &format!("{} {{", field.name()));
                    line(text, depth + 1, &format!("key: {}", map_key(key)));
                    if let Kind::Message(entry) = field.kind()
                        && let Some(of_value) = entry.get_field_by_name("value")
                    {
                        one(text, &of_value, value, depth + 1);
                    }
                    line(text, depth, "}");
                }
            }
            _ => one(text, &field, value, depth),
        }
    }
}

/// Appends one value of a field.
fn one(text: &mut String, field: &FieldDescriptor, value: &Value, depth: usize) {
    let name = field.name();
    match value {
        Value::Message(message) => {
            line(text, depth, &format!("{name} {{"));
            fields(text, message, depth + 1);
            line(text, depth, "}");
        }
        Value::EnumNumber(number) => {
            let member = match field.kind() {
                Kind::Enum(members) => members.get_value(*number),
                _ => None,
            };
            match member {
                Some(member) => line(text, depth, &format!("{name}: {}", member.name())),
                None => line(text, depth, &format!("{name}: {number}")),
            }
        }
        Value::String(characters) => {
            line(text, depth, &format!("{name}: {}", quoted(characters.as_bytes(), true)));
        }
        Value::Bytes(bytes) => line(text, depth, &format!("{name}: {}", quoted(bytes, false))),
        Value::Bool(truth) => line(text, depth, &format!("{name}: {truth}")),
        Value::I32(number) => line(text, depth, &format!("{name}: {number}")),
        Value::I64(number) => line(text, depth, &format!("{name}: {number}")),
        Value::U32(number) => line(text, depth, &format!("{name}: {number}")),
        Value::U64(number) => line(text, depth, &format!("{name}: {number}")),
        Value::F32(number) => line(text, depth, &format!("{name}: {number}")),
        Value::F64(number) => line(text, depth, &format!("{name}: {number}")),
        Value::List(_) | Value::Map(_) => {}
    }
}

fn line(text: &mut String, depth: usize, content: &str) {
    for _ in 0..depth {
        text.push_str("  ");
    }
    text.push_str(content);
    text.push('\n');
}

fn map_key(key: &MapKey) -> String {
    match key {
        MapKey::String(characters) => quoted(characters.as_bytes(), true),
        MapKey::Bool(truth) => truth.to_string(),
        MapKey::I32(number) => number.to_string(),
        MapKey::I64(number) => number.to_string(),
        MapKey::U32(number) => number.to_string(),
        MapKey::U64(number) => number.to_string(),
    }
}

/// Returns bytes in quotes, with C escapes. Strings keep their non-ASCII characters; bytes are
/// escaped.
fn quoted(bytes: &[u8], is_text: bool) -> String {
    let mut text = String::from("\"");
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' | b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(*byte));
            }
            0x20..=0x7e => text.push(char::from(*byte)),
            0x80.. if is_text => {
                // The text is valid UTF-8 and is split only between characters.
                let length = rest.iter().skip(1).take_while(|next| **next & 0xc0 == 0x80).count();
                let (character, after) = rest.split_at(length + 1);
                text.push_str(&String::from_utf8_lossy(character));
                rest = after;
                continue;
            }
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
        rest = after;
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4info::text;
    use crate::proto::config::{
        Action, P4EnumTypeSpec, P4Info, P4TypeInfo, PkgInfo, Preamble, Table, action_ref, table,
    };

    #[test]
    fn text_and_bytes_are_escaped_as_protobuf_does() {
        assert_eq!(quoted("a\"b'c\\\n\té\u{1}".as_bytes(), true), r#""a\"b\'c\\\n\té\001""#);
        assert_eq!(quoted(&[0, 0xff, b'a'], false), r#""\000\377a""#);
    }

    #[test]
    fn lists_maps_and_empty_messages_have_a_line_for_everything() {
        let info = P4Info {
            pkg_info: Some(PkgInfo { arch: "v1model".to_owned(), ..Default::default() }),
            tables: vec![Table {
                preamble: Some(Preamble {
                    id: 7,
                    annotations: vec!["@a(\"x\")".to_owned(), "@b".to_owned()],
                    ..Default::default()
                }),
                action_refs: vec![crate::proto::config::ActionRef {
                    id: 3,
                    scope: action_ref::Scope::DefaultOnly.into(),
                    ..Default::default()
                }],
                direct_resource_ids: vec![1, 2],
                idle_timeout_behavior: table::IdleTimeoutBehavior::NotifyControl.into(),
                ..Default::default()
            }],
            actions: vec![Action::default()],
            type_info: Some(P4TypeInfo {
                enums: [("E".to_owned(), P4EnumTypeSpec::default())].into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let printed = text::print(&info).unwrap();
        assert_eq!(text::parse(&printed).unwrap(), info);
        let expected = r#"# proto-file: p4/config/v1/p4info.proto
# proto-message: p4.config.v1.P4Info

pkg_info {
  arch: "v1model"
}
tables {
  preamble {
    id: 7
    annotations: "@a(\"x\")"
    annotations: "@b"
  }
  action_refs {
    id: 3
    scope: DEFAULT_ONLY
  }
  direct_resource_ids: 1
  direct_resource_ids: 2
  idle_timeout_behavior: NOTIFY_CONTROL
}
actions {
}
type_info {
  enums {
    key: "E"
    value {
    }
  }
}
"#;
        assert_eq!(printed, expected);
    }
}
