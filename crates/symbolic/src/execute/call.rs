//! Executes calls of parsers, controls, actions and functions: arguments are copied in, the body
//! runs, and results are copied out (P4_16 specification, section 6.8).

use super::place::Located;
use super::{Executor, Fill, Stop};
use crate::state::{Outcomes, State};
use ir::{Argument, Direction, Parameter, TypeId, VariableId};

/// A parameter of the callee.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formal {
    pub(crate) variable: VariableId,
    pub(crate) direction: Direction,
    pub(crate) type_id: TypeId,
}

impl From<&Parameter> for Formal {
    fn from(parameter: &Parameter) -> Self {
        let Parameter { variable, direction, type_id, .. } = parameter;
        Self { variable: *variable, direction: *direction, type_id: *type_id }
    }
}

/// A parameter whose value is copied back to its argument after the call.
struct CopyOut {
    rank: usize,
    variable: VariableId,
    place: Located,
}

impl Executor<'_> {
    /// Executes a call. Afterwards, the values of `out` and `inout` parameters are assigned to
    /// their arguments, also for packets for which the callee exits or rejects.
    pub(crate) fn call(
        &mut self,
        mut state: State,
        formals: &[Formal],
        arguments: &[Argument],
        body: impl FnOnce(&mut Self, State) -> Result<Outcomes, Stop>,
    ) -> Result<Outcomes, Stop> {
        let outputs = self.copy_in(&mut state, formals, arguments)?;
        let mut outcomes = body(self, state)?;
        let Outcomes { next, breaks, continues, returns, exits, rejects } = &mut outcomes;
        for state in [next, breaks, continues, returns, exits, rejects].into_iter().flatten() {
            for CopyOut { variable, place, .. } in &outputs {
                let Some(variable) = self.shapes.variable(*variable) else { continue };
                let value = state.range(variable.offset, self.shapes.size(variable.type_id));
                self.write(state, place, &value);
            }
        }
        Ok(outcomes)
    }

    fn copy_in(
        &mut self,
        state: &mut State,
        formals: &[Formal],
        arguments: &[Argument],
    ) -> Result<Vec<CopyOut>, Stop> {
        let mut inputs = Vec::with_capacity(formals.len());
        let mut outputs = Vec::new();
        for (position, (formal, argument)) in formals.iter().zip(arguments).enumerate() {
            let Formal { variable, direction, type_id } = *formal;
            let rank = argument.rank(position);
            let value = match argument.unordered() {
                Argument::In(expression) => Some(self.value(state, expression)?),
                Argument::InOut(place) => {
                    let place = self.locate(state, place)?;
                    let value = self.read(state, &place);
                    outputs.push(CopyOut { rank, variable, place });
                    Some(value)
                }
                Argument::Saved { place, value } => {
                    let place = self.locate(state, place)?;
                    outputs.push(CopyOut { rank, variable, place });
                    Some(self.value(state, value)?)
                }
                Argument::Out(place) => {
                    let place = self.locate(state, place)?;
                    outputs.push(CopyOut { rank, variable, place });
                    None
                }
                Argument::Extern(_)
                | Argument::Action(_)
                | Argument::Ordered { .. }
                | Argument::Absent => None,
            };
            let value = match value {
                Some(value) if direction != Direction::Out => value,
                Some(_) | None => self.initial(type_id, Fill::Undefined),
            };
            inputs.push((variable, value));
        }
        for (variable, value) in inputs {
            if let Some(variable) = self.shapes.variable(variable) {
                state.set_range(variable.offset, &value);
            }
        }
        outputs.sort_by_key(|output| output.rank);
        Ok(outputs)
    }
}
