//! Runs the parsers and controls of a package. The architecture passes values to them and takes
//! values back.

use super::{Executor, Fill, Unsupported};
use crate::state::{Outcomes, State, join_any};
use crate::term::Term;
use ir::{ControlId, Package, PackageValue, Parameter, ParserId, Program, TypeId};

/// A parser or control of a package, with the types of its `N` parameters.
#[derive(Clone, Copy)]
pub(super) struct TypedBlock<Id, const N: usize> {
    pub(super) id: Id,
    pub(super) types: [TypeId; N],
}

/// Returns the parser that is the package's argument at `position`.
pub(super) fn typed_parser<const N: usize>(
    program: &Program,
    package: &Package,
    position: usize,
) -> Result<TypedBlock<ParserId, N>, Unsupported> {
    let id = match package.arguments.get(position).map(|argument| &argument.value) {
        Some(PackageValue::Parser(id)) => *id,
        _ => return Err(Unsupported::new(format!("`{}` without its parser", package.name))),
    };
    let parser = program.parsers.get(id.index());
    let parser = parser.ok_or_else(|| Unsupported::new("a parser that does not exist"))?;
    Ok(TypedBlock { id, types: parameter_types(&parser.parameters, "parser")? })
}

/// Returns the control that is the package's argument at `position`.
pub(super) fn typed_control<const N: usize>(
    program: &Program,
    package: &Package,
    position: usize,
) -> Result<TypedBlock<ControlId, N>, Unsupported> {
    let id = match package.arguments.get(position).map(|argument| &argument.value) {
        Some(PackageValue::Control(id)) => *id,
        _ => return Err(Unsupported::new(format!("`{}` without its controls", package.name))),
    };
    let control = program.controls.get(id.index());
    let control = control.ok_or_else(|| Unsupported::new("a control that does not exist"))?;
    Ok(TypedBlock { id, types: parameter_types(&control.parameters, "control")? })
}

/// Returns the types of a block's parameters. Returns an error if there are not `N` parameters.
pub(super) fn parameter_types<const N: usize>(
    parameters: &[Parameter],
    block: &str,
) -> Result<[TypeId; N], Unsupported> {
    let types: Vec<TypeId> = parameters.iter().map(|parameter| parameter.type_id).collect();
    types.try_into().map_err(|_| Unsupported::new(format!("a {block} with other parameters")))
}

/// Returns the values of a block's parameters as an array. Returns an error if there are not `N`
/// values.
pub(super) fn arguments<const N: usize>(
    values: Vec<Vec<Term>>,
) -> Result<[Vec<Term>; N], Unsupported> {
    values.try_into().map_err(|_| Unsupported::new("a block with other parameters"))
}

/// The state of the packets that leave a block, and the values of the block's parameters.
type Left = (State, Vec<Vec<Term>>);

impl Executor<'_> {
    /// Runs a parser with values for its first parameters. Packets that it rejects continue like
    /// those that it accepts. Returns the state and the values after the parser, or `None` if no
    /// packet leaves it.
    pub(super) fn parser_block(
        &mut self,
        id: ParserId,
        mut state: State,
        mut values: Vec<Vec<Term>>,
    ) -> Result<Option<Left>, Unsupported> {
        let program = self.program;
        let parser = program.parsers.get(id.index());
        let parser = parser.ok_or_else(|| Unsupported::new("a package without a parser"))?;
        self.enter(&mut state, &parser.parameters, &values);
        self.in_parser = true;
        let outcomes = self.parse(state, id);
        self.in_parser = false;
        self.begin_part();
        let Some(state) = self.all_of(outcomes) else { return Ok(None) };
        self.leave(&state, &parser.parameters, &mut values);
        Ok(Some((state, values)))
    }

    /// Runs a control with values for its first parameters. Returns the state and the values after
    /// the control, or `None` if no packet leaves it.
    pub(super) fn control_block(
        &mut self,
        id: ControlId,
        mut state: State,
        mut values: Vec<Vec<Term>>,
    ) -> Result<Option<Left>, Unsupported> {
        let program = self.program;
        let control = program.controls.get(id.index());
        let control = control.ok_or_else(|| Unsupported::new("a package without a control"))?;
        self.enter(&mut state, &control.parameters, &values);
        let outcomes = self.block(state, &control.body);
        self.begin_part();
        let Some(state) = self.all_of(outcomes) else { return Ok(None) };
        self.leave(&state, &control.parameters, &mut values);
        Ok(Some((state, values)))
    }

    /// Joins the states of all packets that leave a block.
    fn all_of(&mut self, outcomes: Outcomes) -> Option<State> {
        let Outcomes { next, breaks, continues, returns, exits, rejects } = outcomes;
        let mut all = None;
        for some in [next, breaks, continues, returns, exits, rejects] {
            all = join_any(&mut self.terms, all, some);
        }
        all
    }

    /// Sets the parameters of a block, and clears its checksum objects.
    fn enter(&mut self, state: &mut State, parameters: &[Parameter], values: &[Vec<Term>]) {
        self.begin_part();
        for (parameter, value) in parameters.iter().zip(values) {
            let Some(variable) = self.shapes.variable(parameter.variable) else { continue };
            if parameter.direction == ir::Direction::Out {
                let initial = self.initial(parameter.type_id, Fill::Undefined);
                state.set_range(variable.offset, &initial);
            } else {
                state.set_range(variable.offset, value);
            }
        }
        self.clear_sums(state);
    }

    /// Takes back the values of a block's parameters after it has run.
    fn leave(&self, state: &State, parameters: &[Parameter], values: &mut [Vec<Term>]) {
        for (parameter, value) in parameters.iter().zip(values) {
            let Some(variable) = self.shapes.variable(parameter.variable) else { continue };
            *value = state.range(variable.offset, self.shapes.size(variable.type_id));
        }
    }
}
