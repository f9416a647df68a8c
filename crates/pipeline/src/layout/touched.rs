//! The places (variables and parts of them) that a statement or an expression reads and writes.

use ir::{Argument, Expression, ExpressionKind, Place, Projection, StatementKind};

/// The places (variables and parts of them) that a statement or an expression reads and writes.
/// Blocks inside a statement are not included.
#[derive(Default)]
pub(crate) struct Touched<'p> {
    read: Vec<&'p Place>,
    written: Vec<&'p Place>,
}

impl<'p> Touched<'p> {
    pub(crate) fn reads(&self) -> &[&'p Place] {
        &self.read
    }

    /// Returns the places that may be written. A place that is not written keeps its value.
    pub(crate) fn writes(&self) -> &[&'p Place] {
        &self.written
    }

    fn reads_place(&mut self, place: &'p Place) {
        self.read.push(place);
        self.indexes(place);
    }

    pub(crate) fn writes_place(&mut self, place: &'p Place) {
        self.written.push(place);
        self.indexes(place);
    }

    fn indexes(&mut self, place: &'p Place) {
        for projection in &place.path {
            if let Projection::Element(index) = projection {
                self.expression(index);
            }
        }
    }

    pub(crate) fn expression(&mut self, expression: &'p Expression) {
        match &expression.kind {
            ExpressionKind::Constant(_)
            | ExpressionKind::Invalid
            | ExpressionKind::PacketLength => {}
            ExpressionKind::Read(place)
            | ExpressionKind::IsValid(place)
            | ExpressionKind::LastIndex(place) => self.reads_place(place),
            ExpressionKind::Unary(_, operand)
            | ExpressionKind::Cast(operand)
            | ExpressionKind::Slice { operand, .. } => self.expression(operand),
            ExpressionKind::Binary(_, left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                self.expression(condition);
                self.expression(then);
                self.expression(otherwise);
            }
            ExpressionKind::Composite(parts) | ExpressionKind::Stack(parts) => {
                parts.iter().for_each(|part| self.expression(part));
            }
        }
    }

    pub(crate) fn argument(&mut self, argument: &'p Argument) {
        match argument {
            Argument::In(value) => self.expression(value),
            Argument::Out(place) => self.writes_place(place),
            Argument::InOut(place) => {
                self.reads_place(place);
                self.written.push(place);
            }
            Argument::Saved { place, value } => {
                self.expression(value);
                self.reads_place(place);
                self.written.push(place);
            }
            Argument::Ordered { argument, .. } => self.argument(argument),
            Argument::Extern(_) | Argument::Action(_) | Argument::Absent => {}
        }
    }

    fn call(&mut self, arguments: &'p [Argument], result: Option<&'p Place>) {
        arguments.iter().for_each(|argument| self.argument(argument));
        if let Some(place) = result {
            self.writes_place(place);
        }
    }

    pub(crate) fn statement(&mut self, statement: &'p StatementKind) {
        match statement {
            StatementKind::Assign { place, value } => {
                self.expression(value);
                self.writes_place(place);
            }
            StatementKind::Reset(place)
            | StatementKind::SetValidity { header: place, .. }
            | StatementKind::PushFront { stack: place, .. }
            | StatementKind::PopFront { stack: place, .. } => self.writes_place(place),
            StatementKind::CallExtern { arguments, result, .. }
            | StatementKind::CallFunction { arguments, result, .. } => {
                self.call(arguments, result.as_ref());
            }
            StatementKind::CallAction { arguments, .. }
            | StatementKind::CallControl { arguments, .. }
            | StatementKind::CallParser { arguments, .. } => self.call(arguments, None),
            StatementKind::ApplyTable { hit, action_run, .. } => {
                [hit, action_run].into_iter().flatten().for_each(|place| self.writes_place(place));
            }
            StatementKind::Extract { header, varbit_width, .. } => {
                varbit_width.iter().for_each(|width| self.expression(width));
                header.iter().for_each(|place| self.writes_place(place));
            }
            StatementKind::Lookahead { result, .. } => self.writes_place(result),
            StatementKind::If { condition: value, .. }
            | StatementKind::Switch { subject: value, .. }
            | StatementKind::For { condition: value, .. }
            | StatementKind::Return(Some(value))
            | StatementKind::Advance(value)
            | StatementKind::Emit(value) => self.expression(value),
            StatementKind::Verify { condition, error } => {
                self.expression(condition);
                self.expression(error);
            }
            StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return(None)
            | StatementKind::Exit => {}
        }
    }
}
