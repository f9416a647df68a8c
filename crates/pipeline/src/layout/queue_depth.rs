//! Determines whether a program of v1model reads the length of its packet's queue (`enq_qdepth`,
//! `deq_qdepth`), which must otherwise not be measured.

use super::each_statement_in;
use super::names::{MetadataField, Names};
use super::touched::Touched;
use ir::{Place, Program, Projection, Type};

/// Whether a block reads one of the fields.
pub(super) fn is_read(program: &Program, names: &Names) -> bool {
    let mut touched = Touched::default();
    let bodies = program.actions.iter().map(|action| &action.body);
    let bodies = bodies.chain(program.functions.iter().map(|function| &function.body));
    let bodies = bodies.chain(program.controls.iter().map(|control| &control.body));
    let tables = program.tables.iter();
    let arguments = tables.clone().flat_map(|table| &table.actions);
    let before = arguments.clone().map(|reference| &reference.before_arguments);
    let blocks = bodies.chain(tables.clone().map(|table| &table.before_keys)).chain(before);
    each_statement_in(blocks.collect(), &mut |statement| touched.statement(&statement.kind));
    tables.flat_map(|table| &table.keys).for_each(|key| touched.expression(&key.expression));
    arguments.flat_map(|one| &one.arguments).for_each(|argument| touched.argument(argument));
    touched.reads().iter().any(|place| is_depth(program, names, place))
}

/// Whether a step of the place is one of the fields, in whatever struct.
fn is_depth(program: &Program, names: &Names, place: &Place) -> bool {
    let Some(variable) = program.variables.get(place.variable.index()) else { return false };
    let mut current = variable.type_id;
    for step in &place.path {
        let next = match (step, program.types.find(current)) {
            (Projection::Field(position), Some(Type::Composite(id))) => {
                let fields = [MetadataField::EnqQdepth, MetadataField::DeqQdepth];
                let slots = fields.map(|field| names.slot(current, field));
                if slots.contains(&Some(*position as usize)) {
                    return true;
                }
                let composite = program.types.composites.get(id.index());
                composite
                    .and_then(|composite| composite.fields.get(*position as usize))
                    .map(|field| field.type_id)
            }
            (
                Projection::Element(_) | Projection::Next | Projection::Last,
                Some(Type::Stack { element, .. }),
            ) => Some(element),
            _ => None,
        };
        let Some(next) = next else { return false };
        current = next;
    }
    false
}
