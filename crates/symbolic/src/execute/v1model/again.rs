//! The metadata that a packet preserves when it passes through the program again.

use super::Values;
use crate::execute::{Executor, Fill};
use crate::term::Term;
use architectures::MetadataField;
use ir::{AnnotationBody, AnnotationValue, Type, TypeId};

impl Executor<'_> {
    /// Returns the initial metadata of a packet that enters ingress again. Fields are zero, except
    /// those of the preserved field list and the instance type.
    pub(super) fn preserved(
        &mut self,
        (instance_type, list): (u64, Term),
        (values, standard_type, metadata_type): (&Values, TypeId, TypeId),
    ) -> (Vec<Term>, Vec<Term>) {
        let mut metadata = self.initial(metadata_type, Fill::Zero);
        let mut standard = self.initial(standard_type, Fill::Zero);
        for (type_id, fresh, kept) in [
            (metadata_type, &mut metadata, &values.metadata),
            (standard_type, &mut standard, &values.standard),
        ] {
            let mut lists = Vec::new();
            self.listed(type_id, 0, &mut lists);
            for (number, offset, size) in lists {
                let wanted = self.terms.number(32, number.into());
                let named = self.terms.equal(list, wanted);
                for at in offset..offset + size {
                    let (Some(old), Some(kept)) = (fresh.get(at).copied(), kept.get(at)) else {
                        continue;
                    };
                    let value = self.terms.if_then_else(named, *kept, old);
                    if let Some(leaf) = fresh.get_mut(at) {
                        *leaf = value;
                    }
                }
            }
        }
        if let Some(at) = self.field_leaf(standard_type, MetadataField::InstanceType)
            && let Some(old) = standard.get(at).copied()
        {
            let number = self.terms.number(self.terms.width_of(old), instance_type.into());
            if let Some(leaf) = standard.get_mut(at) {
                *leaf = number;
            }
        }
        (metadata, standard)
    }

    /// Collects the fields that are annotated with `@field_list`, each with the number of the list
    /// and the positions of its leaves.
    fn listed(&self, type_id: TypeId, base: usize, lists: &mut Vec<(u32, usize, usize)>) {
        let Type::Composite(_) = self.program.types.get(type_id) else { return };
        let Some(composite) = self.program.types.composite(type_id) else { return };
        let parts = self.shapes.fields(type_id);
        for (field, part) in composite.fields.iter().zip(parts) {
            let offset = base + part.offset;
            let size = self.shapes.size(part.type_id);
            for annotation in field.annotations.iter().filter(|one| one.name == "field_list") {
                lists
                    .extend(numbers(&annotation.body).into_iter().map(|list| (list, offset, size)));
            }
            self.listed(part.type_id, offset, lists);
        }
    }
}

/// Returns the numbers of the field lists that an annotation `@field_list` names. They may be
/// written with a width, as in `8w1`.
fn numbers(body: &AnnotationBody) -> Vec<u32> {
    match body {
        AnnotationBody::Expressions(values) => values
            .iter()
            .filter_map(|value| match value {
                AnnotationValue::Integer(number) => u32::try_from(number.clone()).ok(),
                AnnotationValue::String(_) | AnnotationValue::Bool(_) => None,
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
