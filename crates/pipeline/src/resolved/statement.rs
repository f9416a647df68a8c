//! Translates statements to the resolved form. A call becomes copies of its arguments around the
//! call.

mod call;
mod copy;
mod externs;
mod meters;
mod pna;

pub(super) use call::Formal;

use super::shape::{DATA, Header, Shape};
use super::{Address, Block, Callee, Expression, Field, Outcome, Resolver, Statement};
use crate::layout::CoreError;
use ir::{ExternCallee, ExternFunction, Place, StatementKind, SwitchCase};

impl Resolver<'_> {
    pub(super) fn block(&mut self, block: &ir::Block) -> Outcome<Block> {
        let mut resolved = Vec::with_capacity(block.len());
        for statement in block {
            ir::meter::count(1);
            self.here = statement.location.or(self.here);
            let length = resolved.len();
            let Err(error) = self.statement(&statement.kind, &mut resolved) else { continue };
            let why = self.soft(error)?;
            if !is_step(&statement.kind) {
                return self.refuse_for_good(&why);
            }
            self.here = statement.location.or(self.here);
            resolved.truncate(length);
            self.interpreted(statement, why, &mut resolved)?;
        }
        Ok(resolved)
    }

    fn statement(&mut self, statement: &StatementKind, out: &mut Block) -> Outcome {
        let resolved = match statement {
            StatementKind::Assign { place, value } => {
                let length = out.len();
                let Err(error) = self.assign(place, value, out) else { return Ok(()) };
                let is_wide = self.is_wide(place);
                if is_wide && !matches!(value.kind, ir::ExpressionKind::Composite(_)) {
                    self.soft(error)?;
                    out.truncate(length);
                    return self.assign_wide(place, value, out);
                }
                return Err(error);
            }
            StatementKind::Reset(place) => {
                let found = self.resolve(place)?;
                match (&found.shape, found.slice) {
                    (Shape::Scalar(scalar), None) => {
                        let field = Field { address: found.address, scalar: *scalar };
                        Statement::Store { field, value: super::Expression::Constant(0) }
                    }
                    (shape, None) => Statement::Clear { at: found.address, bytes: shape.size() },
                    _ => return self.refuse("a part of a number without a value"),
                }
            }
            StatementKind::If { condition, then, otherwise } => {
                let condition = self.computed(condition, out)?;
                let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                Statement::If { condition, then, otherwise }
            }
            StatementKind::Switch { subject, cases, default } => {
                return self.switch(subject, cases, default, out);
            }
            StatementKind::For { before_condition, condition, update, body } => {
                let turn = self.layout.costs.of_turn(statement).map(Statement::Charge);
                let mut before: Block = turn.into_iter().collect();
                before.extend(self.block(before_condition)?);
                let condition = self.computed(condition, &mut before)?;
                let (body, update) = (self.block(body)?, self.block(update)?);
                Statement::Loop { before, condition, update, body }
            }
            StatementKind::Break => Statement::Break,
            StatementKind::Continue => Statement::Continue,
            StatementKind::ApplyTable { table, hit, action_run } => {
                let hit = hit.as_ref().map(|place| self.field(place)).transpose()?;
                let action_run = action_run.as_ref().map(|place| self.field(place)).transpose()?;
                self.table(*table)?;
                Statement::Apply { table: table.0, hit, action_run }
            }
            StatementKind::CallAction { action, arguments } => {
                return self.call(Callee::Action(*action), arguments, None, out);
            }
            StatementKind::CallFunction { function, arguments, result } => {
                return self.call(Callee::Function(*function), arguments, result.as_ref(), out);
            }
            StatementKind::CallControl { control, arguments } => {
                return self.call(Callee::Control(*control), arguments, None, out);
            }
            StatementKind::CallParser { parser, arguments } => {
                return self.call(Callee::Parser(*parser), arguments, None, out);
            }
            StatementKind::CallExtern { callee, arguments, result, .. } => {
                return match callee {
                    ExternCallee::Function(function) => {
                        self.function(function, arguments, result.as_ref(), out)
                    }
                    ExternCallee::Method { instance, method } => {
                        self.method(*instance, method, arguments, result.as_ref(), out)
                    }
                };
            }
            StatementKind::Extract { varbit_width: Some(width), header: Some(place), .. } => {
                return self.extract_with_tail(place, width, out);
            }
            StatementKind::Extract { varbit_width: Some(_), .. } => {
                return self.refuse("extraction of a varbit without a destination");
            }
            StatementKind::Extract { header: Some(place), .. } => {
                if self.is_full(place)? {
                    let error = self.layout.names.error(CoreError::StackOutOfBounds);
                    let error = Expression::Constant(u64::from(error));
                    out.push(Statement::Verify { condition: Expression::Constant(0), error });
                    return Ok(());
                }
                let (found, header) = self.header(place)?;
                let bytes = self.whole_bytes(&header)?;
                self.no_member(&found)?;
                let header = Some(found.address);
                if let Some(counted) = found.next.and_then(|stack| self.counted_up(stack)) {
                    out.extend([Statement::Extract { header, bytes, next: None }, counted]);
                    return Ok(());
                }
                Statement::Extract { header, bytes, next: found.next }
            }
            StatementKind::Extract { header: None, header_type, .. } => {
                let Shape::Header(header) = self.shape(*header_type) else {
                    return self.refuse("extraction of something that is not a header");
                };
                let bytes = self.whole_bytes(&header)?;
                Statement::Extract { header: None, bytes, next: None }
            }
            StatementKind::Lookahead { result, .. } => {
                let found = self.resolve(result)?;
                self.no_member(&found)?;
                match (found.shape, found.slice) {
                    (Shape::Scalar(scalar), None) => {
                        let field = Field { address: found.address, scalar };
                        Statement::Lookahead { field }
                    }
                    (Shape::Header(header), None) => {
                        let bytes = self.whole_bytes(&header)?;
                        Statement::LookaheadHeader { header: found.address, bytes }
                    }
                    _ => {
                        return self.refuse(
                            "lookahead at something that is neither a number nor a header",
                        );
                    }
                }
            }
            StatementKind::Advance(bits) if !self.moves_by_bytes(bits) => {
                return self.refuse("an advance by bits");
            }
            StatementKind::Advance(bits) => Statement::Advance(self.expression(bits)?),
            StatementKind::Emit(_) if self.in_action => {
                return self.refuse("emission in an action");
            }
            StatementKind::Emit(value) => return self.emit(value, out),
            StatementKind::Verify { condition, error } => {
                let (condition, error) = (self.expression(condition)?, self.expression(error)?);
                Statement::Verify { condition, error }
            }
            StatementKind::SetValidity { header, valid } => {
                let (found, header) = self.header(header)?;
                self.no_member(&found)?;
                let (bytes, bits, tail) = (header.bytes(), header.bits, header.tail > 0);
                Statement::SetValidity { header: found.address, bytes, bits, tail, valid: *valid }
            }
            StatementKind::PushFront { .. } | StatementKind::PopFront { .. } => {
                return self.refuse("push_front and pop_front");
            }
            StatementKind::Return(value) => {
                if let (Some(value), Some((offset, shape))) = (value, self.returns.clone()) {
                    self.initialise((offset, &shape), value, out)?;
                }
                Statement::Return
            }
            StatementKind::Exit => Statement::Exit,
        };
        out.push(resolved);
        Ok(())
    }

    fn switch(
        &mut self,
        subject: &ir::Expression,
        cases: &[SwitchCase],
        default: &ir::Block,
        out: &mut Block,
    ) -> Outcome {
        let resolved = self.computed(subject, out)?;
        let mut bound_cases = Vec::with_capacity(cases.len());
        for case in cases {
            let values = case.values.iter().map(|value| self.constant(subject.type_id, value));
            let values = values.collect::<Outcome<Vec<u64>>>()?;
            bound_cases.push((values, self.block(&case.body)?));
        }
        let default = self.block(default)?;
        out.push(Statement::Switch { subject: resolved, cases: bound_cases, default });
        Ok(())
    }

    /// Refuses a place that is a member of a header union. Making a member valid must invalidate
    /// the others, which generated code does not do.
    fn no_member(&self, found: &super::place::ResolvedPlace) -> Outcome {
        if found.is_member { self.refuse("a member of a header union") } else { Ok(()) }
    }

    /// Returns the size in bytes of a header that is copied from or to a packet. Refuses a header
    /// whose size is not a number of whole bytes.
    fn whole_bytes(&self, header: &Header) -> Outcome<u32> {
        if header.tail > 0 {
            self.refuse("a varbit without its width")
        } else if header.bits.is_multiple_of(8) {
            Ok(header.bytes())
        } else {
            self.refuse("a header that does not end with a byte")
        }
    }

    fn extract_with_tail(
        &mut self,
        place: &Place,
        width: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        let (found, header) = self.header(place)?;
        self.no_member(&found)?;
        if header.tail == 0 || found.address.element.is_some() {
            return self.refuse("extraction of a varbit that is not at the end of a header");
        }
        let (width_bits, signed) = self.number(width.type_id)?;
        if signed || width_bits > 32 {
            return self.refuse("a varbit whose width has more than 32 bits");
        }
        let width = self.computed(width, out)?;
        let (bytes, most) = (header.bytes(), header.tail);
        out.push(Statement::ExtractWithTail { header: found.address, bytes, most, width });
        Ok(())
    }

    fn emit(&mut self, value: &ir::Expression, out: &mut Block) -> Outcome {
        match &value.kind {
            ir::ExpressionKind::Read(place) => {
                let found = self.resolve(place)?;
                self.emit_shape(found.address, &found.shape, out)
            }
            ir::ExpressionKind::Composite(parts) => {
                parts.iter().try_for_each(|part| self.emit(part, out))
            }
            _ => self.refuse("emission of a value that is computed"),
        }
    }

    /// Appends the emit statements for a value of this shape: one for each header in it.
    fn emit_shape(&self, address: Address, shape: &Shape, out: &mut Block) -> Outcome {
        match shape {
            Shape::Header(header) if header.tail > 0 => {
                let (bytes, tail) = (header.bytes(), header.tail_bytes());
                out.push(Statement::Emit { header: address, bytes, tail });
                Ok(())
            }
            Shape::Header(header) => {
                let bytes = self.whole_bytes(header)?;
                out.push(Statement::Emit { header: address, bytes, tail: 0 });
                Ok(())
            }
            Shape::Struct(parts, _) | Shape::Union(parts, _) => parts
                .iter()
                .try_for_each(|(offset, part)| self.emit_shape(address.plus(*offset), part, out)),
            Shape::Stack { element, size } => (0..*size).try_for_each(|index| {
                let address = address.plus(DATA + index * element.size());
                self.emit_shape(address, &Shape::Header(element.clone()), out)
            }),
            Shape::Row { element, size } => (0..*size).try_for_each(|index| {
                self.emit_shape(address.plus(DATA + index * element.size()), element, out)
            }),
            Shape::Loose(..) | Shape::Scalar(_) | Shape::Wide { .. } | Shape::Varbit { .. } => {
                self.refuse("emission of a header whose fields are not contiguous")
            }
            Shape::None(what) => self.refuse(what),
        }
    }

    /// Translates a call of an extern function to statements of the resolved program, which are
    /// appended to `out`.
    fn function(
        &mut self,
        function: &ExternFunction,
        arguments: &[ir::Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        match function {
            ExternFunction::MarkToDrop => {
                for place in self.marked(arguments) {
                    self.mark(&place, out)?;
                }
                Ok(())
            }
            // Only traces show messages, and generated code records no traces.
            ExternFunction::LogMsg | ExternFunction::StaticAssert => Ok(()),
            ExternFunction::Assert | ExternFunction::Assume => {
                let Some(ir::Argument::In(condition)) = arguments.first() else {
                    return self.refuse("an assertion without a condition");
                };
                let condition = self.computed(condition, out)?;
                let place = self.layout.place_in_source(self.here);
                let fault = u32::try_from(self.faults.len()).unwrap_or(u32::MAX);
                self.faults.push((place, function.to_string()));
                out.push(Statement::Assert { condition, fault });
                Ok(())
            }
            ExternFunction::Truncate => {
                let length = self.input(arguments, 0)?;
                out.push(Statement::Truncate(length));
                Ok(())
            }
            ExternFunction::Clone
            | ExternFunction::ClonePreservingFieldList
            | ExternFunction::ResubmitPreservingFieldList
            | ExternFunction::RecirculatePreservingFieldList => {
                self.request(function, arguments, out)
            }
            ExternFunction::SendToPort => {
                let Some(ir::Argument::In(port)) = arguments.first() else {
                    return self.refuse("a packet that is sent to no port");
                };
                let port = self.computed(port, out)?;
                out.push(Statement::SendTo(Some(port)));
                Ok(())
            }
            ExternFunction::DropPacket => {
                out.push(Statement::SendTo(None));
                Ok(())
            }
            ExternFunction::RestartExpireTimer => {
                out.push(Statement::RestartTimer(None));
                Ok(())
            }
            ExternFunction::SetEntryExpireTime => {
                let Some(ir::Argument::In(profile)) = arguments.first() else {
                    return self.refuse("a timeout without a profile");
                };
                let profile = self.computed(profile, out)?;
                out.push(Statement::RestartTimer(Some(profile)));
                Ok(())
            }
            ExternFunction::VerifyChecksum
            | ExternFunction::VerifyChecksumWithPayload
            | ExternFunction::UpdateChecksum
            | ExternFunction::UpdateChecksumWithPayload => self.checksum(function, arguments, out),
            ExternFunction::Hash => self.hash(arguments, out),
            ExternFunction::PsaCloneI2e
            | ExternFunction::PsaCloneE2e
            | ExternFunction::PsaResubmit
            | ExternFunction::PsaRecirculate
            | ExternFunction::PsaNormal => self.packet_path(function, arguments, result, out),
            ExternFunction::AddEntry | ExternFunction::AddEntryIf => {
                self.add_entry(function, arguments, result, out)
            }
            ExternFunction::SetEntryExpireTimeIf | ExternFunction::UpdateExpireInfo => {
                self.expire_if(function, arguments, out)
            }
            ExternFunction::SelectByDirection => self.select_by_direction(arguments, result, out),
            other => self.refuse(&format!("the extern function {other}")),
        }
    }

    /// Returns the metadata that `mark_to_drop` changes: its argument. In its older form without an
    /// argument, it changes all standard metadata of the program.
    fn marked(&self, arguments: &[ir::Argument]) -> Vec<Place> {
        match arguments.first() {
            Some(
                ir::Argument::InOut(place)
                | ir::Argument::Out(place)
                | ir::Argument::Saved { place, .. },
            ) => vec![place.clone()],
            _ => self.layout.standard_metadata().iter().map(|id| Place::variable(*id)).collect(),
        }
    }

    fn mark(&mut self, place: &Place, out: &mut Block) -> Outcome {
        use crate::layout::MetadataField as Of;
        let type_id = self.layout.program.place_type(place);
        let found = self.resolve(place)?;
        let (Some(type_id), Shape::Struct(parts, _)) = (type_id, &found.shape) else {
            return self.refuse("mark_to_drop of something else than metadata");
        };
        for (name, number) in [(Of::EgressSpec, self.layout.drop_port.into()), (Of::McastGrp, 0)] {
            let slot = self.layout.names.slot(type_id, name);
            if let Some((offset, Shape::Scalar(scalar))) = slot.and_then(|slot| parts.get(slot)) {
                let field = Field { address: found.address.plus(*offset), scalar: *scalar };
                let value = super::Expression::Constant(number & mask(scalar.width));
                out.push(Statement::Store { field, value });
            }
        }
        Ok(())
    }
}

/// Returns whether the interpreter can run a statement of this kind as a step: it contains no other
/// statements and calls no code of the program.
fn is_step(statement: &StatementKind) -> bool {
    matches!(
        statement,
        StatementKind::Assign { .. }
            | StatementKind::Reset(_)
            | StatementKind::CallExtern { .. }
            | StatementKind::Extract { .. }
            | StatementKind::Lookahead { .. }
            | StatementKind::Advance(_)
            | StatementKind::Emit(_)
            | StatementKind::Verify { .. }
            | StatementKind::SetValidity { .. }
            | StatementKind::PushFront { .. }
            | StatementKind::PopFront { .. }
    )
}

/// Returns a mask of the lowest `width` bits.
pub(crate) fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}
