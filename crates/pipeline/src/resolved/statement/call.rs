//! Translates calls to the resolved form. Arguments are copied to the parameters before the call,
//! and back after it, each time in the order of the arguments.

use crate::externs::FlatArray;
use crate::resolved::place::constant_index;
use crate::resolved::shape::Shape;
use crate::resolved::{Address, Block, Callee, Expression, Outcome, Resolver, Statement};
use ir::{
    Argument, Direction, ExternId, ExternMethod, ExternType, Place, Projection, TypeId, VariableId,
};

/// A parameter of a parser, control, action or function that is called, as distinct from the
/// argument.
#[derive(Clone, Copy)]
pub(in crate::resolved) struct Formal {
    pub(in crate::resolved) variable: VariableId,
    pub(in crate::resolved) direction: Direction,
}

impl Resolver<'_> {
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
        if let Callee::Control(id) = callee {
            self.share_parameters(id, arguments)?;
        }
        self.callee(callee)?;
        self.here = here;
        let formals = self.formals(callee);
        let mut after = Vec::new();
        self.arguments(&formals, arguments, out, &mut after)?;
        let mut returned = Vec::new();
        if let (Callee::Function(id), Some(place)) = (callee, result) {
            let Some((offset, shape)) = self.returned.get(&id).cloned() else {
                return self.refuse("a value that is not returned");
            };
            let type_id = self.layout.program.functions.get(id.index());
            let type_id = type_id.and_then(|function| function.return_type);
            self.copy_out_of_call(place, (offset, &shape), type_id, out, &mut returned)?;
        }
        out.push(Statement::Call { callee, after, result: returned });
        Ok(())
    }

    /// Appends the copies of a call's arguments: copies to the parameters are appended to `before`,
    /// which runs before the call, and copies back to `after`. The arguments are in the order of
    /// the parameters.
    pub(in crate::resolved) fn arguments(
        &mut self,
        formals: &[Formal],
        arguments: &[Argument],
        before: &mut Block,
        after: &mut Block,
    ) -> Outcome {
        let mut copies = Vec::new();
        for (position, (formal, argument)) in formals.iter().zip(arguments).enumerate() {
            if self.shared.contains(&formal.variable) {
                continue;
            }
            let rank = argument.rank(position);
            let argument = argument.unordered();
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
                Argument::Out(_)
                | Argument::Extern(_)
                | Argument::Action(_)
                | Argument::Ordered { .. }
                | Argument::Absent => before.push(clear),
            }
            if let Argument::InOut(place) | Argument::Out(place) | Argument::Saved { place, .. } =
                argument
            {
                let type_id = self.layout.program.variables.get(formal.variable.index());
                let type_id = type_id.map(|variable| variable.type_id);
                let mut copy = Vec::new();
                self.copy_out_of_call(place, (offset, &shape), type_id, before, &mut copy)?;
                copies.push((rank, copy));
            }
        }
        copies.sort_by_key(|(rank, _)| *rank);
        after.extend(copies.into_iter().flat_map(|(_, copy)| copy));
        Ok(())
    }

    /// Appends to `after` the statements that copy a parameter, or the value that a function
    /// returns, to its destination after the call. If the destination is an element of a header
    /// stack whose index is not a constant, statements that evaluate the index before the call are
    /// appended to `before`.
    fn copy_out_of_call(
        &mut self,
        place: &Place,
        from: (u32, &Shape),
        type_id: Option<TypeId>,
        before: &mut Block,
        after: &mut Block,
    ) -> Outcome {
        let is_computed = |step: &Projection| match step {
            Projection::Element(index) => constant_index(index).is_none(),
            _ => false,
        };
        let Some(position) = place.path.iter().position(is_computed) else {
            return self.copy_out(place, from, type_id, after);
        };
        let mut stack = place.clone();
        let rest = stack.path.split_off(position);
        let size = match self.resolve(&stack)?.shape {
            Shape::Stack { size, .. } | Shape::Row { size, .. } => size,
            _ => return self.refuse_for_good("an element of something that is not a stack"),
        };
        let Some((Projection::Element(index), rest)) = rest.split_first() else {
            return self.refuse_for_good("an element that is computed");
        };
        let (width, signed) = self.number(index.type_id)?;
        let field = self.temporary(width, signed)?;
        let value = self.computed(index, before)?;
        before.push(Statement::Store { field, value });
        let mut cases = Vec::new();
        for number in 0..size {
            let mut element = stack.clone();
            let bits = ir::bits::Bits::unsigned(32, u128::from(number));
            let kind = ir::ExpressionKind::Constant(ir::Value::Bits(bits));
            let number_of = ir::Expression { type_id: index.type_id, kind };
            element.path.push(Projection::Element(Box::new(number_of)));
            element.path.extend(rest.iter().cloned());
            let mut copies = Vec::new();
            self.copy_out_of_call(&element, from, type_id, before, &mut copies)?;
            cases.push((vec![u64::from(number)], copies));
        }
        after.push(Statement::Switch {
            subject: Expression::Load(field),
            cases,
            default: Vec::new(),
        });
        Ok(())
    }

    /// Translates the argument at `position` of an extern call to an expression, which is evaluated
    /// before the call.
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
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let instance = self.layout.program.externs.get(id.index());
        let Some(instance) = instance else { return self.refuse("an extern that does not exist") };
        let array = FlatArray::of(self.layout, instance);
        match (&instance.extern_type, method) {
            (ExternType::V1Counter | ExternType::Counter, ExternMethod::Count)
                if arguments.len() == 1 =>
            {
                let index = self.input(arguments, 0)?;
                out.push(Statement::Count { counter: id.0, array, index });
                Ok(())
            }
            // BMv2 counts every hit, whether or not the action calls `count`.
            (ExternType::V1DirectCounter, ExternMethod::Count) => Ok(()),
            (ExternType::DirectCounter, ExternMethod::Count) if self.layout.dialect.is_bmv2() => {
                Ok(())
            }
            (ExternType::DirectCounter, ExternMethod::Count) => {
                self.count_entry(id, arguments, out)
            }
            (ExternType::V1DirectMeter, ExternMethod::Read)
            | (ExternType::DirectMeter, ExternMethod::Execute | ExternMethod::DpdkExecute) => {
                self.entry_meter(id, method, arguments, result, out)
            }
            (ExternType::V1Meter, ExternMethod::ExecuteMeter)
            | (ExternType::Meter, ExternMethod::Execute | ExternMethod::DpdkExecute) => {
                self.meter(id, method, arguments, result, out)
            }
            (ExternType::V1Register, ExternMethod::Read) => {
                let Some(Argument::Out(place)) = arguments.first() else {
                    return self.refuse("a register read without a destination");
                };
                let index = self.input(arguments, 1)?;
                let to = self.field(place)?;
                out.push(Statement::ReadRegister { register: id.0, array, index, to });
                Ok(())
            }
            (ExternType::Register, ExternMethod::Read) => {
                let Some(place) = result else { return Ok(()) };
                let index = self.input(arguments, 0)?;
                let to = self.field(place)?;
                out.push(Statement::ReadRegister { register: id.0, array, index, to });
                Ok(())
            }
            (ExternType::V1Register | ExternType::Register, ExternMethod::Write) => {
                let index = self.input(arguments, 0)?;
                let type_id = instance.type_arguments.first().copied();
                let bits = type_id.and_then(|type_id| self.layout.get(type_id));
                let Some(ir::Type::Bits { .. }) = bits else {
                    return self.refuse("a register of something that is not a number");
                };
                let value = self.input(arguments, 1)?;
                out.push(Statement::WriteRegister { register: id.0, array, index, value });
                Ok(())
            }
            (ExternType::InternetChecksum, method) => {
                self.internet_checksum(id, method, arguments, result, out)
            }
            (ExternType::Hash, ExternMethod::GetHash) => self.get_hash(id, arguments, result, out),
            (kind, method) => self.refuse(&format!("the extern {kind}.{method}")),
        }
    }
}
