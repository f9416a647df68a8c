//! Whether a program of v1model looks at how long the queue of its packet was (`enq_qdepth`, `deq_qdepth`): only
//! then somebody has to ask.

use super::each_statement_in;
use super::names::{MetadataField, Names};
use ir::{
    Argument, Expression, ExpressionKind, Place, Program, Projection, Statement, StatementKind,
    Type,
};

/// Whether any block reads one of the fields.
pub(super) fn is_read(program: &Program, names: &Names) -> bool {
    let mut search = Search { program, names, found: false };
    let bodies = program.actions.iter().map(|action| &action.body);
    let bodies = bodies.chain(program.functions.iter().map(|function| &function.body));
    let bodies = bodies.chain(program.controls.iter().map(|control| &control.body));
    let tables = program.tables.iter();
    let arguments = tables.clone().flat_map(|table| &table.actions);
    let before = arguments.clone().map(|reference| &reference.before_arguments);
    let blocks = bodies.chain(tables.clone().map(|table| &table.before_keys)).chain(before);
    each_statement_in(blocks.collect(), &mut |statement| search.statement(statement));
    tables.flat_map(|table| &table.keys).for_each(|key| search.expression(&key.expression));
    arguments.for_each(|reference| search.arguments(&reference.arguments));
    search.found
}

struct Search<'p> {
    program: &'p Program,
    names: &'p Names,
    found: bool,
}

impl Search<'_> {
    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { value: read, .. }
            | StatementKind::If { condition: read, .. }
            | StatementKind::Switch { subject: read, .. }
            | StatementKind::For { condition: read, .. }
            | StatementKind::Extract { varbit_width: Some(read), .. }
            | StatementKind::Advance(read)
            | StatementKind::Emit(read)
            | StatementKind::Return(Some(read)) => self.expression(read),
            StatementKind::Verify { condition, error } => {
                self.expression(condition);
                self.expression(error);
            }
            StatementKind::CallAction { arguments, .. }
            | StatementKind::CallFunction { arguments, .. }
            | StatementKind::CallControl { arguments, .. }
            | StatementKind::CallParser { arguments, .. }
            | StatementKind::CallExtern { arguments, .. } => self.arguments(arguments),
            StatementKind::Reset(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::ApplyTable { .. }
            | StatementKind::Extract { varbit_width: None, .. }
            | StatementKind::Lookahead { .. }
            | StatementKind::SetValidity { .. }
            | StatementKind::PushFront { .. }
            | StatementKind::PopFront { .. }
            | StatementKind::Return(None)
            | StatementKind::Exit => {}
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            match argument {
                Argument::In(read) => self.expression(read),
                Argument::InOut(place) => self.place(place),
                Argument::Saved { place, value } => {
                    self.place(place);
                    self.expression(value);
                }
                Argument::Out(_) | Argument::Extern(_) | Argument::Action(_) | Argument::Absent => {
                }
            }
        }
    }

    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Read(place)
            | ExpressionKind::IsValid(place)
            | ExpressionKind::LastIndex(place) => self.place(place),
            ExpressionKind::Unary(_, operand)
            | ExpressionKind::Cast(operand)
            | ExpressionKind::Slice { operand, .. } => self.expression(operand),
            ExpressionKind::Binary(_, left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(|one| self.expression(one));
            }
            ExpressionKind::Composite(parts) | ExpressionKind::Stack(parts) => {
                parts.iter().for_each(|part| self.expression(part));
            }
            ExpressionKind::Constant(_)
            | ExpressionKind::Invalid
            | ExpressionKind::PacketLength => {}
        }
    }

    /// Looks at each step of the place, whatever struct it goes into.
    fn place(&mut self, place: &Place) {
        let program = self.program;
        let Some(variable) = program.variables.get(place.variable.index()) else { return };
        let mut current = variable.type_id;
        for step in &place.path {
            let next = match (step, program.types.find(current)) {
                (Projection::Field(position), Some(Type::Composite(id))) => {
                    let fields = [MetadataField::EnqQdepth, MetadataField::DeqQdepth];
                    let slots = fields.map(|field| self.names.slot(current, field));
                    self.found |= slots.contains(&Some(*position as usize));
                    let composite = program.types.composites.get(id.index());
                    composite
                        .and_then(|composite| composite.fields.get(*position as usize))
                        .map(|field| field.type_id)
                }
                (Projection::Element(index), Some(Type::Stack { element, .. })) => {
                    self.expression(index);
                    Some(element)
                }
                (Projection::Next | Projection::Last, Some(Type::Stack { element, .. })) => {
                    Some(element)
                }
                _ => None,
            };
            let Some(next) = next else { return };
            current = next;
        }
    }
}
