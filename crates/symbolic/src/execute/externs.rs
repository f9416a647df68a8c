//! Executes calls of externs: those of v1model, and those that several architectures have. See
//! [`super::portable`] for those of PSA and PNA.

use super::{Executor, InitialCell, Stop, Write, unsupported};
use crate::shape::Leaf;
use crate::state::{Outcomes, Special, State};
use crate::term::Term;
use ir::{
    Argument, ExpressionKind, ExternCallee, ExternFunction, ExternId, ExternMethod, ExternType,
    Location, Place, Type, TypeId, Value,
};

/// A call of an extern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'c> {
    pub(crate) callee: &'c ExternCallee,
    pub(crate) arguments: &'c [Argument],
    pub(crate) result: Option<&'c Place>,
}

/// The number of low bits of a clone-session number that BMv2 uses.
const SESSION_BITS: u32 = 15;

/// The number of the colour red, the largest one (`V1MeterColor` of simple_switch).
const RED: u128 = 2;

impl Executor<'_> {
    /// Executes a call of an extern.
    pub(crate) fn call_extern(
        &mut self,
        mut state: State,
        call: &Call<'_>,
        location: Option<Location>,
    ) -> Result<Outcomes, Stop> {
        match call.callee {
            ExternCallee::Method { instance, method } => {
                self.call_method(&mut state, call, *instance, method, location)?;
                Ok(Outcomes::next(state))
            }
            ExternCallee::Function(
                function @ (ExternFunction::Assert | ExternFunction::Assume),
            ) => {
                let condition = self.input(&state, call, 0)?;
                let not = self.terms.not(condition);
                let fails = self.terms.and(state.guard, not);
                self.cut(fails, format!("a packet that breaks an `{function}`"), location);
                let next = state.when(&mut self.terms, condition);
                Ok(Outcomes { next, ..Outcomes::default() })
            }
            ExternCallee::Function(function) => {
                self.call_extern_function(&mut state, call, function, location)?;
                Ok(Outcomes::next(state))
            }
        }
    }

    fn call_extern_function(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        function: &ExternFunction,
        location: Option<Location>,
    ) -> Result<(), Stop> {
        use ExternFunction as Of;
        match function {
            Of::LogMsg | Of::Digest => {}
            Of::StaticAssert => {
                if let Some(place) = call.result {
                    let place = self.locate(state, place)?;
                    let holds = self.terms.truth(true);
                    self.write(state, &place, &[holds]);
                }
            }
            Of::MarkToDrop => self.mark_to_drop(state, call)?,
            Of::Random => {
                let number = self.unknown(64);
                self.output(state, call, 0, number)?;
            }
            Of::Truncate => {
                let length = self.input(state, call, 0)?;
                let length = self.terms.resize(length, 32);
                let before = state.special(Special::Truncate);
                let shorter = self.terms.less(length, before);
                let least = self.terms.if_then_else(shorter, length, before);
                state.set_special(Special::Truncate, least);
            }
            Of::Clone | Of::ClonePreservingFieldList => {
                let session = self.input(state, call, 1)?;
                let session = self.terms.resize(session, 32);
                let mask = self.terms.number(32, (1 << SESSION_BITS) - 1);
                let session = self.terms.and(session, mask);
                let list = match function {
                    Of::Clone => self.terms.ones(32),
                    _ => self.list(state, call, 2)?,
                };
                let yes = self.terms.truth(true);
                state.set_special(Special::Clone, yes);
                state.set_special(Special::CloneSession, session);
                state.set_special(Special::CloneList, list);
            }
            Of::ResubmitPreservingFieldList => {
                let list = self.list(state, call, 0)?;
                self.request(state, Special::Resubmit, Special::ResubmitList, list);
            }
            Of::RecirculatePreservingFieldList => {
                let list = self.list(state, call, 0)?;
                self.request(state, Special::Recirculate, Special::RecirculateList, list);
            }
            Of::Resubmit | Of::Recirculate if names_no_data(call) => {
                let list = self.terms.ones(32);
                let (flag, of) = match function {
                    Of::Resubmit => (Special::Resubmit, Special::ResubmitList),
                    _ => (Special::Recirculate, Special::RecirculateList),
                };
                self.request(state, flag, of, list);
            }
            Of::Hash => self.hash_call(state, call)?,
            Of::VerifyChecksum | Of::UpdateChecksum => {
                self.checksum(state, call, *function == Of::VerifyChecksum)?;
            }
            Of::VerifyChecksumWithPayload | Of::UpdateChecksumWithPayload => {
                self.payload_checksum(state, call, *function == Of::VerifyChecksumWithPayload)?;
            }
            other => self.call_portable(state, call, other, location)?,
        }
        Ok(())
    }

    fn request(&mut self, state: &mut State, flag: Special, of: Special, list: Term) {
        let yes = self.terms.truth(true);
        state.set_special(flag, yes);
        state.set_special(of, list);
    }

    fn list(&mut self, state: &State, call: &Call<'_>, position: usize) -> Result<Term, Stop> {
        let list = self.input(state, call, position)?;
        Ok(self.terms.resize(list, 32))
    }

    /// Sets `egress_spec` to the port for dropped packets, and `mcast_grp` to zero.
    fn mark_to_drop(&mut self, state: &mut State, call: &Call<'_>) -> Result<(), Stop> {
        let places: Vec<Place> = match call.arguments.first() {
            Some(Argument::InOut(place) | Argument::Out(place) | Argument::Saved { place, .. }) => {
                vec![place.clone()]
            }
            // The older form marks the packet's metadata, whatever parameters they were passed as.
            _ => self.standard.iter().map(|variable| Place::variable(*variable)).collect(),
        };
        for place in places {
            let type_id = self.program.place_type(&place);
            let type_id = type_id.ok_or_else(|| unsupported("this argument of mark_to_drop"))?;
            for (name, number) in [("egress_spec", self.drop_port), ("mcast_grp", 0)] {
                let Some(position) = self.field_named(type_id, name) else { continue };
                let field = self.locate(state, &place.clone().field(position))?;
                let value = self.terms.number(64, number.into());
                self.write_resized(state, &field, value);
            }
        }
        Ok(())
    }

    /// Returns the position of the field `name` in a struct type.
    pub(crate) fn field_named(&self, type_id: TypeId, name: &str) -> Option<u32> {
        let composite = self.program.types.composite(type_id)?;
        let position = composite.fields.iter().position(|field| field.name == name)?;
        u32::try_from(position).ok()
    }

    /// Returns the colour with which a meter of v1model marks a packet. It is green in tests, whose
    /// meters have no rates, and in comparisons.
    pub(super) fn color(&mut self, meter: &str, width: u32) -> Term {
        let green = self.terms.zero(width);
        if self.is_compared {
            return green;
        }
        let color = self.chosen(width);
        let red = self.terms.number(width, RED);
        let fits = self.terms.less_or_equal(color, red);
        self.assumptions.push(fits);
        let is_green = self.terms.equal(color, green);
        self.narrow(is_green, format!("a rate of the meter {meter}"));
        color
    }

    fn call_method(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        id: ExternId,
        method: &ExternMethod,
        location: Option<Location>,
    ) -> Result<(), Stop> {
        let program = self.program;
        let instance = program.externs.get(id.index()).ok_or_else(|| unsupported("an extern"))?;
        match (&instance.extern_type, method) {
            (ExternType::V1Counter | ExternType::V1DirectCounter, ExternMethod::Count) => Ok(()),
            // The table stores the colour at a hit.
            (ExternType::V1DirectMeter, ExternMethod::Read) => Ok(()),
            (ExternType::V1Meter, ExternMethod::ExecuteMeter) => {
                let index = self.input(state, call, 0)?;
                let inside = self.inside(id, index);
                let old = self.input(state, call, 1)?;
                let width = self.terms.width_of(old);
                let color = self.color(&instance.name, width);
                let color = self.terms.if_then_else(inside, color, old);
                self.output(state, call, 1, color)
            }
            (ExternType::V1Register, ExternMethod::Read) => {
                let index = self.input(state, call, 1)?;
                let inside = self.inside(id, index);
                let value = self.read_register(state, id, index, inside)?;
                let old = self.input(state, call, 0)?;
                let value = self.terms.resize(value, self.terms.width_of(old));
                let value = self.terms.if_then_else(inside, value, old);
                self.output(state, call, 0, value)
            }
            (ExternType::V1Register, ExternMethod::Write) => self.write_register(state, call, id),
            (ExternType::V1Checksum16, ExternMethod::Get) => self.checksum_unit(state, call),
            (_, method) => self.call_portable_method(state, call, id, instance, (method, location)),
        }
    }

    /// Executes `write(index, value)` of a register.
    pub(super) fn write_register(
        &mut self,
        state: &State,
        call: &Call<'_>,
        id: ExternId,
    ) -> Result<(), Stop> {
        let index = self.input(state, call, 0)?;
        let inside = self.inside(id, index);
        let value = self.input(state, call, 1)?;
        let on = self.terms.and(state.guard, inside);
        let index = self.terms.resize(index, 64);
        self.writes.entry(id).or_default().push(Write { on, index, value });
        Ok(())
    }

    /// Returns whether an index is inside an array of counters, meters or registers.
    pub(super) fn inside(&mut self, id: ExternId, index: Term) -> Term {
        let instance = self.program.externs.get(id.index());
        let size = instance.and_then(|instance| instance.arguments.first());
        let size = match size.map(|argument| &argument.value) {
            Some(Value::Bits(bits)) => bits.to_u64().unwrap_or(u64::MAX),
            Some(Value::Integer(number)) => u64::try_from(number.clone()).unwrap_or(u64::MAX),
            _ => 0,
        };
        let index = self.terms.resize(index, 64);
        let size = self.terms.number(64, size.into());
        self.terms.less(index, size)
    }

    /// Reads a register. Its initial contents are inputs, which a test writes through the control
    /// plane.
    pub(super) fn read_register(
        &mut self,
        state: &State,
        id: ExternId,
        index: Term,
        inside: Term,
    ) -> Result<Term, Stop> {
        let program = self.program;
        let instance = program.externs.get(id.index());
        let type_id = instance.and_then(|instance| instance.type_arguments.first().copied());
        let leaves = type_id.map(|type_id| self.shapes.leaves(type_id).to_vec());
        let Some([Leaf::Number(width)]) = leaves.as_deref() else {
            return Err(unsupported("a register with elements of this type"));
        };
        let width = *width;
        let index = self.terms.resize(index, 64);
        let unwritten = self.unwritten(id, width)?;
        let initial = self.chosen(width);
        let earlier: Vec<InitialCell> =
            self.cells.iter().filter(|cell| cell.register == id).cloned().collect();
        for cell in earlier {
            let same = self.terms.equal(cell.index, index);
            let equal = self.terms.equal(cell.value, initial);
            let function = self.terms.implies(same, equal);
            self.assumptions.push(function);
        }
        let mut value = initial;
        let mut untouched = self.terms.and(state.guard, inside);
        for Write { on, index: at, value: written } in
            self.writes.get(&id).cloned().unwrap_or_default()
        {
            let same = self.terms.equal(at, index);
            let here = self.terms.and(on, same);
            let written = self.terms.resize(written, width);
            value = self.terms.if_then_else(here, written, value);
            let not = self.terms.not(here);
            untouched = self.terms.and(untouched, not);
        }
        let on = untouched;
        self.cells.push(InitialCell { on, register: id, index, value: initial, unwritten });
        Ok(value)
    }

    /// Returns the contents of a register's cells before any write. In PSA and PNA this is the
    /// second argument of the constructor; otherwise it is zero.
    fn unwritten(&mut self, id: ExternId, width: u32) -> Result<Term, Stop> {
        let program = self.program;
        let instance = program.externs.get(id.index());
        let given = instance.and_then(|instance| instance.arguments.get(1));
        let Some(given) = given else { return Ok(self.terms.zero(width)) };
        match self.constant(given.type_id, &given.value)?.as_slice() {
            [only] => Ok(self.terms.resize(*only, width)),
            _ => Err(unsupported("a register with an initial value of this type")),
        }
    }

    /// Evaluates the argument at `position` as a number, before the extern runs.
    pub(crate) fn input(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
    ) -> Result<Term, Stop> {
        match call.arguments.get(position) {
            Some(Argument::In(value) | Argument::Saved { value, .. }) => self.scalar(state, value),
            Some(Argument::InOut(place) | Argument::Out(place)) => {
                let place = self.locate(state, place)?;
                match self.read(state, &place).as_slice() {
                    [only] => Ok(*only),
                    _ => Err(unsupported("an argument of this type")),
                }
            }
            _ => Err(unsupported("an argument of this kind")),
        }
    }

    /// Stores a number in the `out` or `inout` argument at `position`, converted to the argument's
    /// type.
    pub(crate) fn output(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        position: usize,
        value: Term,
    ) -> Result<(), Stop> {
        match call.arguments.get(position) {
            Some(Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. }) => {
                let place = self.locate(state, place)?;
                self.write_resized(state, &place, value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Stores a number at a place, resized to the width of the place.
    pub(crate) fn write_resized(
        &mut self,
        state: &mut State,
        place: &super::place::Located,
        value: Term,
    ) {
        let width = match (place.slice, self.shapes.leaves(place.type_id)) {
            (Some((high, low)), _) => high - low + 1,
            (None, [leaf]) => leaf.width(),
            (None, _) => return,
        };
        let value = self.terms.resize(value, width);
        self.write(state, place, &[value]);
    }

    /// Returns the name of the enumeration member that is the argument at `position`.
    pub(crate) fn member(&self, call: &Call<'_>, position: usize) -> Option<&str> {
        let Some(Argument::In(expression)) = call.arguments.get(position) else { return None };
        let ExpressionKind::Constant(Value::Enum(member)) = &expression.kind else { return None };
        let Type::Enum(id) = self.program.types.get(expression.type_id) else { return None };
        let members = &self.program.types.enums.get(id.index())?.members;
        members.get(*member as usize).map(String::as_str)
    }
}

/// Returns whether a call of `resubmit` or `recirculate` asks for no metadata to be preserved.
fn names_no_data(call: &Call<'_>) -> bool {
    match call.arguments.first() {
        None | Some(Argument::Absent) => true,
        Some(Argument::In(expression)) => match &expression.kind {
            ExpressionKind::Composite(fields) => fields.is_empty(),
            ExpressionKind::Constant(Value::Composite(fields)) => fields.is_empty(),
            ExpressionKind::Constant(_) => true,
            _ => false,
        },
        Some(_) => false,
    }
}
