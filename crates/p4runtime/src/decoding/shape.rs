//! The memory that the fields of each protobuf message take once decoded, derived from the message
//! descriptors.
//!
//! prost stores a singular message inside the struct that contains it, a list in a `Vec` and a map
//! in a `BTreeMap`. An element of a list therefore takes the size of its whole type, however few of
//! its fields are set. Sizes are those of the Rust types, rounded up: they need not be exact, but
//! must never be too small.

use std::{collections::HashMap, sync::OnceLock};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use crate::proto;

/// The size of a machine word in bytes. No decoded number is larger.
const WORD: usize = 8;
/// The size in bytes of a `Vec`, a `String` or a `BTreeMap`, without its contents.
const COLLECTION: usize = 3 * WORD;
/// The size in bytes of a `bytes::Bytes`, without its contents.
const BYTES: usize = 4 * WORD;
/// The number of bytes that an allocation takes in addition to its contents.
const ALLOCATION: usize = 2 * WORD;

/// The memory that messages take when decoded, for each type of message.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    by_name: HashMap<String, ShapeId>,
}

/// The index of a [`Shape`] in [`Shapes`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeId(usize);

/// The memory that a message takes when decoded, as a list of its fields by number.
#[derive(Debug, Default)]
pub(super) struct Shape {
    fields: Vec<(u32, Field)>,
}

/// The memory that a field of a message takes when decoded.
#[derive(Debug)]
pub(super) struct Field {
    /// The size in bytes of an element of the field. Zero for a field that is not repeated, whose
    /// value is part of the enclosing struct.
    element: usize,
    collection: Collection,
    /// The message type of the field, or `None` for numbers, strings and bytes.
    pub(super) message: Option<ShapeId>,
    is_number: bool,
}

/// The collection that holds the elements of a repeated field.
#[derive(Clone, Copy, Debug)]
enum Collection {
    /// A vector, whose capacity starts at four and then doubles.
    Vec,
    /// A map. A node of the B-tree has room for eleven elements and holds at least five. There are
    /// also inner nodes.
    Map,
}

impl Field {
    /// Returns the number of bytes of memory that the field takes with its first element.
    pub(super) fn first(&self) -> usize {
        let room = match self.collection {
            Collection::Vec => 4,
            Collection::Map => 12,
        };
        if self.element == 0 { 0 } else { room * self.element + ALLOCATION }
    }

    /// Returns the number of bytes of memory that each further element of the field takes.
    pub(super) fn next(&self) -> usize {
        let room = match self.collection {
            Collection::Vec => 2,
            Collection::Map => 3,
        };
        room * self.element
    }

    /// Returns the number of bytes of memory that `length` encoded bytes of the field take, if the
    /// field does not hold messages.
    pub(super) fn held(&self, length: usize) -> usize {
        match self.is_number {
            // In a packed field, each byte holds at most one number.
            true => length.saturating_mul(2 * WORD),
            false if length == 0 => 0,
            false => length.saturating_add(ALLOCATION),
        }
    }
}

impl Shape {
    /// Returns the field with this number, and the position of the field in the message.
    pub(super) fn field(&self, number: u32) -> Option<(u32, &Field)> {
        let index = self.fields.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some((index as u32, &self.fields[index].1))
    }
}

impl Shapes {
    /// Returns the shapes of all messages, and the identifier of the shape of the message with this
    /// name.
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

    /// Returns the fields of all messages.
    #[cfg(test)]
    pub(super) fn all_fields(&self) -> impl Iterator<Item = &Field> {
        self.shapes.iter().flat_map(|shape| shape.fields.iter().map(|(_, field)| field))
    }

    fn add(&mut self, message: &MessageDescriptor) -> ShapeId {
        if let Some(id) = self.by_name.get(message.full_name()) {
            return *id;
        }
        // The shape is registered before its fields are, because they may hold messages of the same
        // type.
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

/// Returns an upper bound of the size of a message's struct in bytes.
pub(super) fn size_of_message(message: &MessageDescriptor, depth: usize) -> usize {
    // A message that contains its own type is boxed.
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
