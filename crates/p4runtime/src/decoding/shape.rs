//! What the elements of a message take in memory, from the descriptors.
//!
//! prost keeps a singular message inside the value that has it, lists in a `Vec`, maps in a `BTreeMap`. So an element
//! of a list takes the size of its whole type however few of its fields are set. Sizes are those of the Rust
//! types, rounded up: they need not be exact, but never too small.

use std::{collections::HashMap, sync::OnceLock};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use crate::proto;

/// A word, and what any number takes at most.
const WORD: usize = 8;
/// A `Vec`, a `String`, a `BTreeMap`.
const COLLECTION: usize = 3 * WORD;
/// A `bytes::Bytes`.
const BYTES: usize = 4 * WORD;
/// What an allocation takes beside its content.
const ALLOCATION: usize = 2 * WORD;

/// The shapes of all messages.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    by_name: HashMap<String, ShapeId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeId(usize);

/// A message: its fields, by number.
#[derive(Debug, Default)]
pub(super) struct Shape {
    fields: Vec<(u32, Field)>,
}

/// A field.
#[derive(Debug)]
pub(super) struct Field {
    /// What an element takes; none of a field that does not repeat, which is in the value that has it.
    element: usize,
    collection: Collection,
    /// The message that it holds; `None` for numbers, text and bytes.
    pub(super) message: Option<ShapeId>,
    is_number: bool,
}

#[derive(Clone, Copy, Debug)]
enum Collection {
    /// Has room for four first and is doubled then.
    Vec,
    /// Has room for eleven in each node, of which five are taken at least, and inner nodes.
    Map,
}

impl Field {
    /// What the first of its elements takes.
    pub(super) fn first(&self) -> usize {
        let room = match self.collection {
            Collection::Vec => 4,
            Collection::Map => 12,
        };
        if self.element == 0 { 0 } else { room * self.element + ALLOCATION }
    }

    /// What each further one takes.
    pub(super) fn next(&self) -> usize {
        let room = match self.collection {
            Collection::Vec => 2,
            Collection::Map => 3,
        };
        room * self.element
    }

    /// What `length` bytes take that are not a message.
    pub(super) fn held(&self, length: usize) -> usize {
        match self.is_number {
            // Packed: a number in each byte at most.
            true => length.saturating_mul(2 * WORD),
            false if length == 0 => 0,
            false => length.saturating_add(ALLOCATION),
        }
    }
}

impl Shape {
    /// The field with this number, and its place among the fields.
    pub(super) fn field(&self, number: u32) -> Option<(u32, &Field)> {
        let index = self.fields.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some((index as u32, &self.fields[index].1))
    }
}

impl Shapes {
    /// The shape of the message with this name among those of all messages.
    pub(super) fn of(name: &str) -> Option<(&'static Self, ShapeId)> {
        static SHAPES: OnceLock<Shapes> = OnceLock::new();
        let shapes = SHAPES.get_or_init(|| {
            let mut shapes = Self::default();
            for message in proto::pool().into_iter().flat_map(|pool| pool.all_messages()) {
                shapes.add(&message);
            }
            shapes
        });
        Some((shapes, *shapes.by_name.get(name)?))
    }

    pub(super) fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0]
    }

    /// The fields of all messages.
    #[cfg(test)]
    pub(super) fn all_fields(&self) -> impl Iterator<Item = &Field> {
        self.shapes.iter().flat_map(|shape| shape.fields.iter().map(|(_, field)| field))
    }

    fn add(&mut self, message: &MessageDescriptor) -> ShapeId {
        if let Some(id) = self.by_name.get(message.full_name()) {
            return *id;
        }
        // Before its fields, which may hold such messages again.
        let id = ShapeId(self.shapes.len());
        self.shapes.push(Shape::default());
        self.by_name.insert(message.full_name().to_owned(), id);
        let mut fields: Vec<_> =
            message.fields().map(|field| (field.number(), self.field(&field))).collect();
        fields.sort_by_key(|(number, _)| *number);
        self.shapes[id.0].fields = fields;
        id
    }

    fn field(&mut self, field: &FieldDescriptor) -> Field {
        let kind = field.kind();
        let message = kind.as_message().map(|message| self.add(message));
        let element = if field.is_map() || field.is_list() { size_of_kind(&kind, 0) } else { 0 };
        let collection = if field.is_map() { Collection::Map } else { Collection::Vec };
        let is_number = !matches!(kind, Kind::Message(_) | Kind::String | Kind::Bytes);
        Field { element, collection, message, is_number }
    }
}

/// The size of a message's value in bytes, at most.
pub(super) fn size_of_message(message: &MessageDescriptor, depth: usize) -> usize {
    // A message that holds itself is in a box.
    if depth > 16 {
        return WORD;
    }
    let alone = message.fields().filter(|field| field.containing_oneof().is_none());
    let alone: usize = alone.map(|field| size_of_field(&field, depth)).sum();
    let choices = message.oneofs().map(|oneof| {
        let largest = oneof.fields().map(|field| size_of_kind(&field.kind(), depth)).max();
        largest.unwrap_or_default() + WORD
    });
    alone + choices.sum::<usize>()
}

fn size_of_field(field: &FieldDescriptor, depth: usize) -> usize {
    match field.kind() {
        _ if field.is_map() || field.is_list() => COLLECTION,
        kind @ Kind::Message(_) => size_of_kind(&kind, depth) + WORD,
        kind => size_of_kind(&kind, depth),
    }
}

fn size_of_kind(kind: &Kind, depth: usize) -> usize {
    match kind {
        Kind::Message(message) => size_of_message(message, depth + 1),
        Kind::String => COLLECTION,
        Kind::Bytes => BYTES,
        _ => WORD,
    }
}
