//! Calls: arguments are copied in before, left to right, and out after.

use super::temporary;
use crate::bound::shape::{Shape, Storage};
use crate::bound::{Address, Binder, Block, Callee, Expression, Field, Outcome, Statement};
use ir::{Argument, Direction, ExternId, ExternMethod, ExternType, Place, TypeId, VariableId};

/// A parameter of what is called.
#[derive(Clone, Copy)]
pub(in crate::bound) struct Formal {
    pub(in crate::bound) variable: VariableId,
    pub(in crate::bound) direction: Direction,
}

impl Binder<'_> {
    fn formals(&self, callee: Callee) -> Vec<Formal> {
        let program = &self.layout.program;
        let of_parameters = |parameters: &[ir::Parameter]| {
            let formal =
                |one: &ir::Parameter| Formal { variable: one.variable, direction: one.direction };
            parameters.iter().map(formal).collect()
        };
        match callee {
            Callee::Parser(id) => program.parsers.get(id.index()).map(|one| &one.parameters),
            Callee::Control(id) => program.controls.get(id.index()).map(|one| &one.parameters),
            Callee::Function(id) => program.functions.get(id.index()).map(|one| &one.parameters),
            Callee::Action(id) => {
                let action = program.actions.get(id.index());
                let parameters = action.map_or(&[][..], |action| &action.parameters);
                let formal = |one: &ir::ActionParameter| Formal {
                    variable: one.variable,
                    direction: one.direction.unwrap_or(Direction::In),
                };
                return parameters.iter().map(formal).collect();
            }
        }
        .map_or_else(Vec::new, |parameters| of_parameters(parameters))
    }

    pub(super) fn call(
        &mut self,
        callee: Callee,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let here = self.here;
        self.callee(callee)?;
        self.here = here;
        let formals = self.formals(callee);
        let mut after = Vec::new();
        self.arguments(&formals, arguments, out, &mut after)?;
        let mut returned = Vec::new();
        if let (Callee::Function(id), Some(place)) = (callee, result) {
            let Some(field) = self.returned.get(&id).copied() else {
                return self.refuse("a returned value that is no number");
            };
            let Field { address, scalar } = field;
            self.copy_out(place, (address.offset, &Shape::Scalar(scalar)), &mut returned)?;
        }
        out.push(Statement::Call { callee, after, result: returned });
        Ok(())
    }

    /// Copies in and out for arguments in the order of the parameters.
    pub(in crate::bound) fn arguments(
        &mut self,
        formals: &[Formal],
        arguments: &[Argument],
        before: &mut Block,
        after: &mut Block,
    ) -> Outcome {
        for (formal, argument) in formals.iter().zip(arguments) {
            let (offset, shape) = self.variable(formal.variable)?;
            let clear = Statement::Clear { at: Address::fixed(offset), bytes: shape.size() };
            match argument {
                _ if formal.direction == Direction::Out => before.push(clear),
                Argument::In(value) | Argument::Saved { value, .. } => {
                    self.initialise((offset, &shape), value, before)?;
                }
                Argument::InOut(place) => {
                    let type_id = self.layout.program.variables.get(formal.variable.index());
                    let type_id = type_id.map_or(TypeId(0), |variable| variable.type_id);
                    let kind = ir::ExpressionKind::Read(place.clone());
                    let read = ir::Expression { type_id, kind };
                    self.initialise((offset, &shape), &read, before)?;
                }
                Argument::Out(_) | Argument::Extern(_) | Argument::Action(_) | Argument::Absent => {
                    before.push(clear);
                }
            }
            if let Argument::InOut(place) | Argument::Out(place) | Argument::Saved { place, .. } =
                argument
            {
                self.copy_out(place, (offset, &shape), after)?;
            }
        }
        Ok(())
    }

    /// The number that argument `position` of an extern is before the call.
    pub(super) fn input(&mut self, arguments: &[Argument], position: usize) -> Outcome<Expression> {
        match arguments.get(position) {
            Some(Argument::In(value) | Argument::Saved { value, .. }) => self.expression(value),
            Some(Argument::InOut(place) | Argument::Out(place)) => {
                self.field(place).map(Expression::Load)
            }
            _ => self.refuse("an extern without this argument"),
        }
    }

    pub(super) fn method(
        &mut self,
        id: ExternId,
        method: &ExternMethod,
        arguments: &[Argument],
        out: &mut Block,
    ) -> Outcome {
        let instance = self.layout.program.externs.get(id.index());
        let Some(instance) = instance else { return self.refuse("an extern that is not there") };
        match (&instance.extern_type, method) {
            (ExternType::V1Counter, ExternMethod::Count) => {
                let index = self.input(arguments, 0)?;
                out.push(Statement::Count { counter: id.0, index });
                Ok(())
            }
            // BMv2 counts on each hit, whether the action calls it or not.
            (ExternType::V1DirectCounter, ExternMethod::Count) => Ok(()),
            (ExternType::V1Register, ExternMethod::Read) => {
                let Some(Argument::Out(place)) = arguments.first() else {
                    return self.refuse("a register that is read to nowhere");
                };
                let index = self.input(arguments, 1)?;
                let to = self.field(place)?;
                out.push(Statement::ReadRegister { register: id.0, index, to });
                Ok(())
            }
            (ExternType::V1Register, ExternMethod::Write) => {
                let index = self.input(arguments, 0)?;
                let type_id = instance.type_arguments.first().copied();
                let bits = type_id.and_then(|type_id| self.layout.get(type_id));
                let Some(ir::Type::Bits { .. }) = bits else {
                    return self.refuse("a register of something that is no number");
                };
                let value = self.input(arguments, 1)?;
                out.push(Statement::WriteRegister { register: id.0, index, value });
                Ok(())
            }
            (kind, method) => self.refuse(&format!("the extern {kind}.{method}")),
        }
    }

    /// Where a function leaves its value; nothing for `void`.
    pub(in crate::bound) fn return_field(&mut self, type_id: TypeId) -> Outcome<Option<Field>> {
        let Shape::Scalar(scalar) = self.shape(type_id) else { return Ok(None) };
        debug_assert!(matches!(scalar.storage, Storage::Native { .. }));
        let scalar = temporary(scalar.width, scalar.signed);
        let address = Address::fixed(self.allocate(&Shape::Scalar(scalar))?);
        Ok(Some(Field { address, scalar }))
    }
}
