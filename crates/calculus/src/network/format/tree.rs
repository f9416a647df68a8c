//! TOML and JSON as one kind of tree, in which numbers are still text.
//!
//! The usual readers of both convert numbers to `f64`, in which 0.67 is not exactly 67/100. Here, a
//! number remains as it was written until its unit is known (see [`super::quantity`]).

use std::borrow::Cow;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{FormatError, work};
use crate::Rational;
use crate::excerpt::excerpt;

/// The deepest nesting of objects and lists that is accepted.
const DEEPEST: usize = 64;

/// A value of a file with its position. The line and the path of a value are computed only when an
/// error needs them, because files have up to a million values.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    place: ValuePosition<'t>,
    /// The value, which may have further nodes in it.
    pub(crate) value: Tree<'t>,
}

/// A value in a network file, which is the same for TOML, JSON and XML.
#[derive(Clone, Debug)]
pub(crate) enum Tree<'t> {
    /// The fields of an object, sorted by name.
    Object(Vec<Node<'t>>),
    Array(Vec<Node<'t>>),
    Text(Cow<'t, str>),
    /// A number, as the text that is written in the file.
    Number(&'t str),
    Flag(bool),
    Nothing,
}

/// The position of a value in the file and in the tree, for error messages.
#[derive(Clone, Debug)]
struct ValuePosition<'t> {
    /// The position of the enclosing value, or `None` for the root.
    within: Option<Rc<ValuePosition<'t>>>,
    step: Step<'t>,
    /// The number of bytes of the file before the value, or, in TOML, before its name if it has
    /// one.
    offset: usize,
}

/// The step from the enclosing value to a value in it.
#[derive(Clone, Debug)]
enum Step<'t> {
    /// The root of the tree. The text is that of the whole file.
    Whole(&'t str),
    Field(Cow<'t, str>),
    Element(usize),
}

impl<'t> ValuePosition<'t> {
    fn whole(text: &'t str) -> Self {
        Self { within: None, step: Step::Whole(text), offset: 0 }
    }

    /// Returns the line of the value in the file, from 1.
    fn line(&self) -> usize {
        let mut place = self;
        while let Some(within) = &place.within {
            place = within;
        }
        let text = if let Step::Whole(text) = place.step { text } else { "" };
        line(text, self.offset)
    }

    /// Returns the path of the value in the tree, such as `flow[2].arrival`.
    fn path(&self) -> String {
        let mut path = self.within.as_ref().map_or(String::new(), |within| within.path());
        match &self.step {
            Step::Whole(_) => {}
            Step::Field(name) if path.is_empty() => path.push_str(name),
            Step::Field(name) => path.extend([".", name]),
            Step::Element(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }
}

/// Returns the number of the line, from 1, in which the byte at `offset` of a text is.
fn line(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    work::count(before.len());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

impl<'t> Node<'t> {
    /// Parses the text of a TOML file to a tree.
    pub(crate) fn of_toml(text: &'t str) -> Result<Self, FormatError> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(0, |span| line(text, span.start));
            let message = error.message().trim().replace('\n', "; ");
            FormatError::Syntax { line, message: excerpt(&message).into_owned() }
        })?;
        toml_table(text, table.into_inner(), ValuePosition::whole(text), 0)
    }

    /// Parses the text of a JSON file to a tree.
    pub(crate) fn of_json(text: &'t str) -> Result<Self, FormatError> {
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| json_fault(text, 0, &error))?;
        json(
            text,
            raw,
            ValuePosition { offset: offset(text, raw.get()), ..ValuePosition::whole(text) },
            0,
        )
    }

    /// Returns an object without fields, for a default where the file has none.
    pub(crate) fn empty() -> Self {
        Self { place: ValuePosition::whole(""), value: Tree::Object(Vec::new()) }
    }

    /// Returns the name of the field that has this value, or an empty name if the value is not in a
    /// field.
    pub(super) fn name(&self) -> &str {
        if let Step::Field(name) = &self.place.step { name } else { "" }
    }

    /// Returns an error with this value's position.
    pub(crate) fn fault(&self, message: impl Into<String>) -> FormatError {
        FormatError::Field {
            line: self.place.line(),
            path: match self.place.path().as_str() {
                "" => "the file".to_owned(),
                path => excerpt(path).into_owned(),
            },
            message: message.into(),
        }
    }

    /// Returns the kind of the value in words, for error messages.
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

    /// Returns the fields of an object. Fields whose names are not among `known` are an error.
    pub(crate) fn fields(&self, known: &[&str]) -> Result<Fields<'_>, FormatError> {
        let fields = self.any_fields()?;
        for node in fields.fields {
            if !known.contains(&node.name()) {
                let known = known.join(", ");
                return Err(node.fault(format!("is not known here; known are {known}")));
            }
        }
        Ok(fields)
    }

    /// Returns the fields of an object, whatever their names are. Another kind of value is an
    /// error.
    pub(crate) fn any_fields(&self) -> Result<Fields<'_>, FormatError> {
        match &self.value {
            Tree::Object(fields) => Ok(Fields { node: self, fields }),
            _ => Err(self.fault(format!("is {}; a table is needed", self.kind()))),
        }
    }

    /// Returns the elements of a list. Another kind of value is an error.
    pub(crate) fn list(&self) -> Result<&[Node<'t>], FormatError> {
        match &self.value {
            Tree::Array(nodes) => Ok(nodes),
            _ => Err(self.fault(format!("is {}; a list is needed", self.kind()))),
        }
    }

    /// Returns a mutable reference to the value of a field, if the object has it.
    pub(super) fn field_mut(&mut self, name: &str) -> Option<&mut Self> {
        match &mut self.value {
            Tree::Object(nodes) => nodes.iter_mut().find(|node| node.name() == name),
            _ => None,
        }
    }

    /// Returns a mutable reference to an element of a list, if the list has it.
    pub(super) fn element_mut(&mut self, index: usize) -> Option<&mut Self> {
        match &mut self.value {
            Tree::Array(nodes) => nodes.get_mut(index),
            _ => None,
        }
    }

    /// Returns the text of a value. Another kind of value is an error.
    pub(crate) fn text(&self) -> Result<&str, FormatError> {
        match &self.value {
            Tree::Text(text) => Ok(text),
            _ => Err(self.fault(format!("is {}; a text is needed", self.kind()))),
        }
    }

    /// Returns the boolean of a value. Another kind of value is an error.
    pub(crate) fn flag(&self) -> Result<bool, FormatError> {
        match self.value {
            Tree::Flag(flag) => Ok(flag),
            _ => Err(self.fault(format!("is {}; true or false is needed", self.kind()))),
        }
    }

    /// Returns the number of a value, written without a unit. Another kind of value is an error.
    pub(crate) fn number(&self) -> Result<Rational, FormatError> {
        let number = match &self.value {
            Tree::Number(text) => text.replace('_', "").parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fault("must be a number without a unit"))
    }

    /// Returns the number of a value, which must be whole and not negative.
    pub(crate) fn whole(&self) -> Result<u32, FormatError> {
        let number = match &self.value {
            Tree::Number(text) => text.replace('_', "").parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fault("must be a whole number from 0"))
    }
}

/// The fields of an object, for look-ups by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    node: &'a Node<'a>,
    /// The fields of the object, sorted by name.
    fields: &'a [Node<'a>],
}

impl<'a> Fields<'a> {
    /// Returns the field with the given name, or `None` if there is none.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node<'a>> {
        work::count(self.fields.len());
        self.fields.iter().find(|node| node.name() == name)
    }

    /// Returns the field with the given name, or an error if there is none.
    pub(crate) fn need(&self, name: &str) -> Result<&'a Node<'a>, FormatError> {
        self.get(name).ok_or_else(|| self.node.fault(format!("has no '{name}'")))
    }

    /// Returns all fields of the object with their names, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Node<'a>)> {
        self.fields.iter().map(|node| (node.name(), node))
    }
}

fn too_deep(place: &ValuePosition<'_>) -> FormatError {
    FormatError::Field {
        line: 0,
        path: excerpt(&place.path()).into_owned(),
        message: format!("is nested more than {DEEPEST} levels deep"),
    }
}

fn toml_table<'t>(
    text: &'t str,
    table: DeTable<'t>,
    place: ValuePosition<'t>,
    depth: usize,
) -> Result<Node<'t>, FormatError> {
    if depth > DEEPEST {
        return Err(too_deep(&place));
    }
    let within = Rc::new(place.clone());
    let mut fields = Vec::with_capacity(table.len());
    for (name, value) in table {
        let offset = name.span().start;
        let step = Step::Field(name.into_inner());
        let place = ValuePosition { within: Some(Rc::clone(&within)), step, offset };
        fields.push(toml_value(text, value, place, depth + 1)?);
    }
    fields.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(Node { place, value: Tree::Object(fields) })
}

/// Converts a TOML value to a node.
fn toml_value<'t>(
    text: &'t str,
    value: Spanned<DeValue<'t>>,
    place: ValuePosition<'t>,
    depth: usize,
) -> Result<Node<'t>, FormatError> {
    if depth > DEEPEST {
        return Err(too_deep(&place));
    }
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Tree::Text(text),
        DeValue::Integer(_) | DeValue::Float(_) => {
            Tree::Number(text.get(span).unwrap_or_default().trim())
        }
        DeValue::Boolean(flag) => Tree::Flag(flag),
        // No field takes a date. A date is converted to text. It is then refused with its position,
        // unless the field takes any text.
        DeValue::Datetime(date) => Tree::Text(Cow::Owned(date.to_string())),
        DeValue::Array(array) => {
            let within = Rc::new(place.clone());
            let mut nodes = Vec::with_capacity(array.len());
            for (index, value) in array.into_iter().enumerate() {
                let (step, offset) = (Step::Element(index), value.span().start);
                let place = ValuePosition { within: Some(Rc::clone(&within)), step, offset };
                nodes.push(toml_value(text, value, place, depth + 1)?);
            }
            Tree::Array(nodes)
        }
        DeValue::Table(table) => return toml_table(text, table, place, depth),
    };
    Ok(Node { place, value })
}

/// Converts an error of the JSON parser to one with its line in the file. The parser was given
/// `part`, which begins after `lines` lines of the file.
fn json_fault(part: &str, lines: usize, error: &serde_json::Error) -> FormatError {
    let message = error.to_string();
    let mut message = message.split(" at line ").next().unwrap_or_default().to_owned();
    let wrong = part.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let wrong = wrong.get(error.column().saturating_sub(1)..).unwrap_or_default();
    // Words that other languages write for undefined or infinite numbers.
    let word = wrong.strip_prefix('-').unwrap_or(wrong);
    if let Some(word) = ["NaN", "nan", "Infinity", "inf"].iter().find(|w| word.starts_with(**w)) {
        message = format!("'{word}' is not a number in JSON; all numbers here are finite");
    }
    FormatError::Syntax { line: lines + error.line(), message: excerpt(&message).into_owned() }
}

/// The name of a JSON field. It is borrowed from the text unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields of a JSON object in the order of the text, duplicates included.
struct Members<'a>(Vec<(Name<'a>, &'a RawValue)>);

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

/// Returns the byte offset of `part` in `text`. The slice `part` must borrow from `text`.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Converts a JSON value to a node.
fn json<'t>(
    text: &'t str,
    raw: &'t RawValue,
    place: ValuePosition<'t>,
    depth: usize,
) -> Result<Node<'t>, FormatError> {
    if depth > DEEPEST {
        return Err(too_deep(&place));
    }
    let part = raw.get();
    work::count(part.len());
    let fault = |error| json_fault(part, line(text, offset(text, part)) - 1, &error);
    let value = match part.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(part).map_err(fault)?;
            let within = Rc::new(place.clone());
            let mut fields = Vec::with_capacity(members.len());
            for (Name(name), raw) in members {
                let (step, offset) = (Step::Field(name), offset(text, raw.get()));
                let place = ValuePosition { within: Some(Rc::clone(&within)), step, offset };
                fields.push(json(text, raw, place, depth + 1)?);
            }
            fields.sort_by(|a, b| a.name().cmp(b.name()));
            for pair in fields.windows(2) {
                if let [first, second] = pair
                    && first.name() == second.name()
                {
                    let line = first.place.line();
                    return Err(second.fault(format!("is given twice, first in line {line}")));
                }
            }
            Tree::Object(fields)
        }
        Some(b'[') => {
            let raws: Vec<&RawValue> = serde_json::from_str(part).map_err(fault)?;
            let within = Rc::new(place.clone());
            let mut nodes = Vec::with_capacity(raws.len());
            for (index, raw) in raws.into_iter().enumerate() {
                let (step, offset) = (Step::Element(index), offset(text, raw.get()));
                let place = ValuePosition { within: Some(Rc::clone(&within)), step, offset };
                nodes.push(json(text, raw, place, depth + 1)?);
            }
            Tree::Array(nodes)
        }
        Some(b'"') => Tree::Text(serde_json::from_str::<Name<'_>>(part).map_err(fault)?.0),
        Some(b't') => Tree::Flag(true),
        Some(b'f') => Tree::Flag(false),
        Some(b'n') => Tree::Nothing,
        _ => Tree::Number(part),
    };
    Ok(Node { place, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each level of nesting counts once, in TOML as in JSON.
    #[test]
    fn both_formats_nest_as_deep() {
        for (depth, is_accepted) in [(DEEPEST, true), (DEEPEST + 1, false)] {
            let toml = format!("{}1{}", "{a=".repeat(depth - 1), "}".repeat(depth - 1));
            let toml = format!("a = {toml}");
            let json = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
            assert_eq!(Node::of_toml(&toml).is_ok(), is_accepted, "TOML, {depth}");
            assert_eq!(Node::of_json(&json).is_ok(), is_accepted, "JSON, {depth}");
        }
    }
}
