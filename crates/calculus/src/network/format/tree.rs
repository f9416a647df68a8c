//! TOML and JSON as one tree in which numbers are still text.
//!
//! The common ways to read both go through `f64`, where 0.67 is not 67/100 any more. Here a number
//! stays as it was written until somebody knows its unit; see [`super::quantity`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml_edit::{Document, Item, TableLike, Value};

use super::FormatError;
use crate::excerpt::excerpt;

/// Objects within objects, at most.
const DEEPEST: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Line in the file, from 1; 0 if not known.
    pub(crate) line: usize,
    /// Where in the tree, such as `flow[2].arrival`.
    pub(crate) path: String,
    /// What it is.
    pub(crate) value: Tree,
}

#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Object(BTreeMap<String, Node>),
    Array(Vec<Node>),
    Text(String),
    /// As it was written.
    Number(String),
    Flag(bool),
    Nothing,
}

impl Node {
    /// Reads TOML.
    pub(crate) fn of_toml(text: &str) -> Result<Self, FormatError> {
        let source = Source::new(text);
        let document = Document::parse(text).map_err(|error| {
            let line = error.span().map_or(0, |span| source.line(span.start));
            let message = error.message().trim().replace('\n', "; ");
            FormatError::Syntax { line, message: excerpt(&message).into_owned() }
        })?;
        toml_table(&source, document.as_table(), 1, String::new(), 0)
    }

    /// Reads JSON.
    pub(crate) fn of_json(text: &str) -> Result<Self, FormatError> {
        let source = Source::new(text);
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| json_fault(text, 0, &error))?;
        json(&source, raw, String::new(), 0)
    }

    /// A fault at this place.
    pub(crate) fn fault(&self, message: impl Into<String>) -> FormatError {
        FormatError::Field {
            line: self.line,
            path: match self.path.as_str() {
                "" => "the file".to_owned(),
                path => excerpt(path).into_owned(),
            },
            message: message.into(),
        }
    }

    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Tree::Object(_) => "a table",
            Tree::Array(_) => "a list",
            Tree::Text(_) => "a text",
            Tree::Number(_) => "a number",
            Tree::Flag(_) => "true or false",
            Tree::Nothing => "null",
        }
    }

    /// The fields of an object. None but `known` may be there.
    pub(crate) fn fields(&self, known: &[&str]) -> Result<Fields<'_>, FormatError> {
        let fields = self.any_fields()?;
        for (name, node) in fields.fields {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(node.fault(format!("is not known here; known are {known}")));
            }
        }
        Ok(fields)
    }

    /// The fields of an object, whatever they are called.
    pub(crate) fn any_fields(&self) -> Result<Fields<'_>, FormatError> {
        match &self.value {
            Tree::Object(fields) => Ok(Fields { node: self, fields }),
            _ => Err(self.fault(format!("is {}; a table is needed", self.kind()))),
        }
    }

    /// The elements of a list.
    pub(crate) fn list(&self) -> Result<&[Node], FormatError> {
        match &self.value {
            Tree::Array(nodes) => Ok(nodes),
            _ => Err(self.fault(format!("is {}; a list is needed", self.kind()))),
        }
    }

    /// A text.
    pub(crate) fn text(&self) -> Result<&str, FormatError> {
        match &self.value {
            Tree::Text(text) => Ok(text),
            _ => Err(self.fault(format!("is {}; a text is needed", self.kind()))),
        }
    }

    /// True or false.
    pub(crate) fn flag(&self) -> Result<bool, FormatError> {
        match self.value {
            Tree::Flag(flag) => Ok(flag),
            _ => Err(self.fault(format!("is {}; true or false is needed", self.kind()))),
        }
    }

    /// A whole number from 0.
    pub(crate) fn whole(&self) -> Result<u32, FormatError> {
        let number = match &self.value {
            Tree::Number(text) => text.replace('_', "").parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fault("must be a whole number from 0"))
    }
}

/// The fields of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    node: &'a Node,
    fields: &'a BTreeMap<String, Node>,
}

impl<'a> Fields<'a> {
    /// A field that may be missing.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        self.fields.get(name)
    }

    /// A field that must be there.
    pub(crate) fn need(&self, name: &str) -> Result<&'a Node, FormatError> {
        self.get(name).ok_or_else(|| self.node.fault(format!("has no '{name}'")))
    }

    /// All, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Node)> {
        self.fields.iter().map(|(name, node)| (name.as_str(), node))
    }
}

/// A text and where its lines begin: every value has a line, so that finding one must not depend
/// on how long the text is.
struct Source<'t> {
    text: &'t str,
    /// Where each line but the first begins.
    starts: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, starts: ends.map(|(end, _)| end + 1).collect() }
    }

    /// The line, from 1, of a place in the text.
    fn line(&self, offset: usize) -> usize {
        1 + self.starts.partition_point(|start| *start <= offset)
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn too_deep(path: &str) -> FormatError {
    FormatError::Field {
        line: 0,
        path: excerpt(path).into_owned(),
        message: format!("is nested more than {DEEPEST} levels deep"),
    }
}

fn toml_table(
    source: &Source<'_>,
    table: &dyn TableLike,
    at: usize,
    path: String,
    depth: usize,
) -> Result<Node, FormatError> {
    if depth > DEEPEST {
        return Err(too_deep(&path));
    }
    let mut fields = BTreeMap::new();
    for (name, item) in table.iter() {
        let key_line =
            table.key(name).and_then(|key| key.span()).map(|span| source.line(span.start));
        let line = key_line.or_else(|| item.span().map(|span| source.line(span.start)));
        let node = toml_item(source, item, line.unwrap_or(at), join(&path, name), depth + 1)?;
        fields.insert(name.to_owned(), node);
    }
    Ok(Node { line: at, path, value: Tree::Object(fields) })
}

fn toml_item(
    source: &Source<'_>,
    item: &Item,
    at: usize,
    path: String,
    depth: usize,
) -> Result<Node, FormatError> {
    match item {
        Item::None => Ok(Node { line: at, path, value: Tree::Nothing }),
        Item::Value(value) => toml_value(source, value, at, path, depth),
        Item::Table(table) => toml_table(source, table, at, path, depth),
        Item::ArrayOfTables(tables) => {
            let mut nodes = Vec::new();
            for (index, table) in tables.iter().enumerate() {
                let at = table.span().map_or(at, |span| source.line(span.start));
                nodes.push(toml_table(source, table, at, format!("{path}[{index}]"), depth + 1)?);
            }
            Ok(Node { line: at, path, value: Tree::Array(nodes) })
        }
    }
}

fn toml_value(
    source: &Source<'_>,
    value: &Value,
    at: usize,
    path: String,
    depth: usize,
) -> Result<Node, FormatError> {
    if depth > DEEPEST {
        return Err(too_deep(&path));
    }
    let at = value.span().map_or(at, |span| source.line(span.start));
    let value = match value {
        Value::String(text) => Tree::Text(text.value().clone()),
        Value::Integer(_) | Value::Float(_) => {
            let raw = value.span().and_then(|span| source.text.get(span)).unwrap_or_default();
            Tree::Number(raw.trim().to_owned())
        }
        Value::Boolean(flag) => Tree::Flag(*flag.value()),
        // A date is no value that anything here takes; as a text it is refused with its place.
        Value::Datetime(date) => Tree::Text(date.value().to_string()),
        Value::Array(array) => {
            let mut nodes = Vec::new();
            for (index, value) in array.iter().enumerate() {
                nodes.push(toml_value(source, value, at, format!("{path}[{index}]"), depth + 1)?);
            }
            Tree::Array(nodes)
        }
        Value::InlineTable(table) => return toml_table(source, table, at, path, depth + 1),
    };
    Ok(Node { line: at, path, value })
}

/// What a part of a text that begins behind so many lines has for faults.
fn json_fault(part: &str, lines: usize, error: &serde_json::Error) -> FormatError {
    let message = error.to_string();
    let mut message = message.split(" at line ").next().unwrap_or_default().to_owned();
    let wrong = part.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let wrong = wrong.get(error.column().saturating_sub(1)..).unwrap_or_default();
    // What other languages write for numbers that are none, or have no end.
    let word = wrong.strip_prefix('-').unwrap_or(wrong);
    if let Some(word) = ["NaN", "nan", "Infinity", "inf"].iter().find(|w| word.starts_with(**w)) {
        message = format!("'{word}' is no number in JSON; all numbers here are finite");
    }
    FormatError::Syntax { line: lines + error.line(), message: excerpt(&message).into_owned() }
}

/// The fields of an object in the order of the text, with those that are there twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn json(
    source: &Source<'_>,
    raw: &RawValue,
    path: String,
    depth: usize,
) -> Result<Node, FormatError> {
    if depth > DEEPEST {
        return Err(too_deep(&path));
    }
    let text = raw.get();
    // The parts borrow from the whole, so their addresses say where they stand.
    let offset = (text.as_ptr() as usize).checked_sub(source.text.as_ptr() as usize);
    let offset = offset.filter(|offset| *offset <= source.text.len());
    let at = offset.map_or(0, |offset| source.line(offset));
    let fault = |error| json_fault(text, at.saturating_sub(1), &error);
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text).map_err(fault)?;
            let mut fields = BTreeMap::new();
            for (name, raw) in members {
                let node = json(source, raw, join(&path, &name), depth + 1)?;
                match fields.entry(name) {
                    Entry::Vacant(free) => free.insert(node),
                    Entry::Occupied(first) => {
                        let first: &Node = first.get();
                        let line = first.line;
                        return Err(node.fault(format!("is there twice, first in line {line}")));
                    }
                };
            }
            Tree::Object(fields)
        }
        Some(b'[') => {
            let raws: Vec<&RawValue> = serde_json::from_str(text).map_err(fault)?;
            let mut nodes = Vec::new();
            for (index, raw) in raws.into_iter().enumerate() {
                nodes.push(json(source, raw, format!("{path}[{index}]"), depth + 1)?);
            }
            Tree::Array(nodes)
        }
        Some(b'"') => Tree::Text(serde_json::from_str(text).map_err(fault)?),
        Some(b't') => Tree::Flag(true),
        Some(b'f') => Tree::Flag(false),
        Some(b'n') => Tree::Nothing,
        _ => Tree::Number(text.to_owned()),
    };
    Ok(Node { line: at, path, value })
}
