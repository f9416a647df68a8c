//! Reads XML as a tree of elements with attributes, without text between the elements.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{FormatError, work};
use crate::excerpt::excerpt;

/// The deepest nesting of elements that is accepted.
const DEEPEST: usize = 64;

/// An XML element with its attributes and its child elements.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) line: usize,
    attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// Parses an XML document and returns its root element.
    pub(super) fn read(text: &str) -> Result<Self, FormatError> {
        let mut reader = Reader::from_str(text);
        // The elements that are open, the outermost first.
        let mut open: Vec<Self> = Vec::new();
        let (mut line, mut counted) = (1, 0);
        loop {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
            if let Some(passed) = text.as_bytes().get(counted..at) {
                work::count(passed.len());
                line += passed.iter().filter(|byte| **byte == b'\n').count();
                counted = at;
            }
            let fault = |message: String| {
                let message = excerpt(&message).into_owned();
                FormatError::Syntax { line, message }
            };
            let closed = match reader.read_event().map_err(|error| fault(error.to_string()))? {
                Event::Start(start) => {
                    if open.len() >= DEEPEST {
                        return Err(fault(format!(
                            "elements are nested more than {DEEPEST} levels deep"
                        )));
                    }
                    open.push(Self::new(&start, line)?);
                    None
                }
                Event::Empty(start) => Some(Self::new(&start, line)?),
                Event::End(_) => open.pop(),
                Event::Text(text) if !text.trim_ascii().is_empty() => {
                    return Err(fault(
                        "there is text between elements; values are attributes".into(),
                    ));
                }
                Event::CData(_) | Event::GeneralRef(_) => {
                    return Err(fault(
                        "there is text between elements; values are attributes".into(),
                    ));
                }
                Event::Eof => {
                    return Err(fault("the file ends before its element does".to_owned()));
                }
                _ => None,
            };
            match (closed, open.last_mut()) {
                (Some(element), Some(parent)) => parent.children.push(element),
                (Some(element), None) => return Ok(element),
                (None, _) => {}
            }
        }
    }

    fn new(start: &BytesStart<'_>, line: usize) -> Result<Self, FormatError> {
        let name = start.local_name().as_ref().to_owned();
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let fault = |message: String| {
                let message = excerpt(&message).into_owned();
                FormatError::Syntax { line, message }
            };
            let attribute = attribute.map_err(|error| fault(error.to_string()))?;
            // Namespaces and schemas do not describe the network.
            let qualified = attribute.key.as_ref();
            if ["xmlns", "xsi:"].iter().any(|prefix| qualified.starts_with(*prefix)) {
                continue;
            }
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| fault(error.to_string()))?;
            let name = attribute.key.local_name().as_ref().to_owned();
            attributes.push((name, value.into_owned()));
        }
        Ok(Self { name: name.to_string(), line, attributes, children: Vec::new() })
    }

    /// Returns the value of an attribute, or `None` if the element does not have it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        work::count(self.attributes.len());
        // Of two attributes that differ only in their namespaces, the last one counts.
        let found = self.attributes.iter().rev().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the value of an attribute, or an error if the element does not have it.
    pub(super) fn need(&self, name: &str) -> Result<&str, FormatError> {
        self.get(name).ok_or_else(|| self.fault(format!("has no attribute {name}")))
    }

    /// Returns the child elements of this element that have the given name.
    pub(super) fn each(&self, name: &str) -> impl Iterator<Item = &Self> {
        work::count(self.children.len());
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Checks that the element has no attributes and child elements other than the given ones.
    pub(super) fn check(&self, attributes: &[&str], children: &[&str]) -> Result<(), FormatError> {
        work::count(self.attributes.len() + self.children.len());
        if let Some((name, _)) =
            self.attributes.iter().find(|(name, _)| !attributes.contains(&name.as_str()))
        {
            let known = attributes.join(", ");
            return Err(self.fault(format!(
                "has an attribute {} that is not known here; known are {known}",
                excerpt(name)
            )));
        }
        match self.children.iter().find(|child| !children.contains(&child.name.as_str())) {
            None => Ok(()),
            Some(child) if children.is_empty() => {
                Err(child.fault("is in an element that cannot contain others"))
            }
            Some(child) => {
                Err(child.fault(format!("is not known here; known are {}", children.join(", "))))
            }
        }
    }

    /// Returns an error about this element, with its position.
    pub(super) fn fault(&self, message: impl Into<String>) -> FormatError {
        let path = match self.get("name") {
            Some(name) => format!("<{}> '{}'", excerpt(&self.name), excerpt(name)),
            None => format!("<{}>", excerpt(&self.name)),
        };
        FormatError::Field { line: self.line, path, message: message.into() }
    }
}
