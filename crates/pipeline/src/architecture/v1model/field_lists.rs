//! The metadata fields that each field list of a program preserves for clones and further passes.
//! They are determined when the program is loaded.

use crate::layout::Layout;
use ir::{AnnotationBody, AnnotationValue, Composite, CompositeKind, Projection, Type, TypeId};
use std::collections::BTreeMap;

/// The fields of a metadata type that are annotated with `@field_list`: for each number of a list,
/// the paths of its fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldLists(BTreeMap<u32, Vec<Vec<Projection>>>);

impl FieldLists {
    /// Collects the fields of a metadata type that are annotated with `@field_list`, at any depth
    /// of structs.
    pub(crate) fn new(layout: &Layout, metadata: TypeId) -> Self {
        let mut lists = Self::default();
        lists.collect(layout, metadata, &mut Vec::new());
        lists
    }

    /// Returns the fields of the list with this number. There are none if no annotation names the
    /// list.
    pub(super) fn of(&self, list: u32) -> &[Vec<Projection>] {
        self.0.get(&list).map_or(&[], Vec::as_slice)
    }

    /// Returns the fields of each list with its number.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &[Vec<Projection>])> {
        self.0.iter().map(|(list, paths)| (*list, paths.as_slice()))
    }

    fn collect(&mut self, layout: &Layout, type_id: TypeId, path: &mut Vec<Projection>) {
        let Some(composite) = layout.composite(type_id).filter(|composite| is_struct(composite))
        else {
            return;
        };
        for (position, field) in composite.fields.iter().enumerate() {
            path.push(Projection::Field(position as u32));
            for annotation in field.annotations.iter().filter(|one| one.name == "field_list") {
                for number in numbers(&annotation.body) {
                    let list = self.0.entry(number).or_default();
                    // A listed struct includes its fields, which are visited right after it.
                    if !list.last().is_some_and(|known| path.starts_with(known)) {
                        list.push(path.clone());
                    }
                }
            }
            if matches!(layout.get(field.type_id), Some(Type::Composite(_))) {
                self.collect(layout, field.type_id, path);
            }
            path.pop();
        }
    }
}

fn is_struct(composite: &Composite) -> bool {
    matches!(composite.kind, CompositeKind::Struct | CompositeKind::Tuple)
}

/// Returns the numbers of the field lists that an annotation `@field_list` names. A number may be
/// written with a width, such as `8w1`.
fn numbers(body: &AnnotationBody) -> Vec<u32> {
    match body {
        AnnotationBody::Expressions(values) => values
            .iter()
            .filter_map(|value| match value {
                AnnotationValue::Integer(number) => u32::try_from(number.clone()).ok(),
                _ => None,
            })
            .collect(),
        AnnotationBody::Tokens(tokens) => tokens
            .iter()
            .filter_map(|token| {
                let digits = token.rsplit_once('w').map_or(token.as_str(), |(_, digits)| digits);
                let number = ir::bits::Bits::parse(64, false, digits).ok()?;
                u32::try_from(number.to_u64()?).ok()
            })
            .collect(),
        AnnotationBody::Empty | AnnotationBody::KeyValues(_) => Vec::new(),
    }
}
