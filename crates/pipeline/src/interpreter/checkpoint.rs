//! Checkpoints of packets whose possible outcomes are enumerated.
//!
//! If a packet may choose among the members of a group, it is processed once with each member,
//! without lasting effects. What happens before the choice is the same each time. The interpreter
//! therefore saves the packet's state before a statement in which the packet may choose
//! ([`ChoosingBlock`]), and resumes from there with another member.
//!
//! Such statements are those in the body of a package's control, and in its `if` statements. There,
//! no call is in progress, so the state consists of the variables that are read before they are
//! written: those that are not parameters, and the parameters of the control. The driver of the
//! architecture adds what it needs to continue after the control.

use super::scratch::Randomness;
use super::trial::Trial;
use super::{Effects, Flow, Interpreter, Stop, deeper, internal};
use crate::error::RunError;
use crate::externs::ChecksumState;
use crate::layout::{ChoosingBlock, ChoosingStatement};
use crate::trace::Checkpoint;
use crate::value::Value;
use ir::{Block, ControlId, ExternId, StatementKind, VariableId};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

/// The state of an architecture's driver, which it needs to continue a packet from a checkpoint.
/// Only the driver knows its type.
pub(crate) type DriverState = Arc<dyn Any + Send + Sync>;

/// The contents of a [`Checkpoint`].
struct Saved {
    /// The number that identifies the running program.
    program: u64,
    descent: Descent,
    /// The position of the statement at which the packet resumes, in the innermost block of the
    /// descent.
    statement: usize,
    variables: Vec<(VariableId, Value)>,
    packet: Vec<u8>,
    emitted: Vec<u8>,
    checksums: HashMap<ExternId, ChecksumState>,
    randomness: Randomness,
    cursor: u64,
    emitted_used: u32,
    received_length: u64,
    effects: Effects,
    from_accelerator: bool,
    length_change: i64,
    work_left: u64,
    further_passes: u32,
    trial: Trial,
}

/// The path from the body of a control down to a block in it, as the sides of nested `if`
/// statements.
#[derive(Clone)]
struct Descent {
    control: ControlId,
    /// The state of the architecture's driver while the control runs.
    driver: DriverState,
    sides: Vec<Side>,
}

/// One side of an `if` statement.
#[derive(Clone, Copy)]
struct Side {
    /// The position of the statement in its block.
    statement: usize,
    is_then: bool,
}

/// A statement in a block or in its nested `if` statements, at which a packet resumes.
#[derive(Clone, Copy)]
struct Start<'s> {
    /// The sides of the `if` statements that contain the statement, the outermost first.
    sides: &'s [Side],
    /// The position of the statement in the innermost of these sides.
    statement: usize,
}

/// A block, with the statements in it in which a packet may choose a member of a group.
#[derive(Clone, Copy)]
struct Walked<'b> {
    block: &'b Block,
    choosing: &'b ChoosingBlock,
}

impl Walked<'_> {
    /// Returns the block on a side of an `if` statement.
    fn side(self, side: Side) -> Result<Self, Stop> {
        let statement = self.block.get(side.statement).map(|statement| &statement.kind);
        match (statement, self.choosing.at(side.statement)) {
            (
                Some(StatementKind::If { then, otherwise, .. }),
                Some(ChoosingStatement::If([of_otherwise, of_then])),
            ) => Ok(match side.is_then {
                true => Self { block: then, choosing: of_then },
                false => Self { block: otherwise, choosing: of_otherwise },
            }),
            _ => Err(internal("side of an if statement")),
        }
    }
}

impl Interpreter<'_> {
    /// Returns whether checkpoints are taken in a control. If so, the driver must set its state
    /// before the control runs ([`Self::set_driver_state`]).
    pub(crate) fn takes_checkpoints(&self, id: ControlId) -> bool {
        self.is_tried()
            && self.layout.choosing(id).is_some()
            && self.trace.as_ref().is_some_and(|trace| trace.wants_checkpoints())
    }

    /// Sets the state of the architecture's driver that the checkpoints of the next control
    /// include.
    pub(crate) fn set_driver_state(&mut self, state: DriverState) {
        self.driver_state = Some(state);
    }

    /// Runs the body of a control of the package. Takes checkpoints if the architecture's driver
    /// has set its state.
    pub(super) fn body(&mut self, id: ControlId, body: &Block) -> Result<Flow, Stop> {
        let (layout, driver) = (self.layout, self.driver_state.take());
        let (Some(driver), Some(choosing)) = (driver, layout.choosing(id)) else {
            return self.block(body);
        };
        let mut descent = Descent { control: id, driver, sides: Vec::new() };
        deeper(|| self.walk(&mut descent, Walked { block: body, choosing }, 0))
    }

    /// Restores the state that a packet had at a checkpoint. The effects of the packet are
    /// temporary. Returns the state that the driver had at the checkpoint.
    ///
    /// # Errors
    /// Fails if the program was replaced since then.
    pub(crate) fn restore(&mut self, checkpoint: &Checkpoint) -> Result<DriverState, RunError> {
        let saved = saved(checkpoint)?;
        if saved.program != self.state.number {
            return Err(RunError::internal(
                "a checkpoint of another program than the one that runs",
            ));
        }
        for (variable, value) in &saved.variables {
            self.variable_mut(*variable)?.copy_from(value);
        }
        self.scratch.packet.clone_from(&saved.packet);
        self.scratch.emitted.clone_from(&saved.emitted);
        self.scratch.checksums.clone_from(&saved.checksums);
        self.scratch.set_randomness(&saved.randomness);
        self.cursor = saved.cursor;
        self.emitted_used = saved.emitted_used;
        self.received_length = saved.received_length;
        self.effects.clone_from(&saved.effects);
        self.from_accelerator = saved.from_accelerator;
        self.length_change = saved.length_change;
        self.work_left.set(saved.work_left);
        self.further_passes = saved.further_passes;
        self.trial = Some(Box::new(saved.trial.clone()));
        Ok(Arc::clone(&saved.descent.driver))
    }

    /// Runs the rest of the control in which a checkpoint was taken, and then calls `then`, like
    /// [`Self::run_control_and`]. The checkpoint must have been restored.
    pub(crate) fn resume_control_and(
        &mut self,
        checkpoint: &Checkpoint,
        arguments: &mut [Value],
        then: impl FnOnce(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (saved, layout, state) = (saved(checkpoint)?, self.layout, self.state);
        let id = saved.descent.control;
        let control = layout.program.controls.get(id.index());
        let (Some(control), Some(choosing)) = (control, layout.choosing(id)) else {
            return Err(RunError::internal("control of a checkpoint"));
        };
        let _alone = layout.runs_alone(id).then(|| state.alone());
        let walked = Walked { block: &control.body, choosing };
        let mut descent = Descent { sides: Vec::new(), ..saved.descent.clone() };
        let start = Start { sides: &saved.descent.sides, statement: saved.statement };
        let flow = deeper(|| self.walk_from(&mut descent, walked, start));
        self.end_control(control, flow, arguments, then)
    }

    /// Runs the statements of a block from the one at position `first` on.
    fn walk(
        &mut self,
        descent: &mut Descent,
        walked: Walked<'_>,
        first: usize,
    ) -> Result<Flow, Stop> {
        for (position, statement) in walked.block.iter().enumerate().skip(first) {
            let flow = match (walked.choosing.at(position), &statement.kind) {
                (Some(ChoosingStatement::If(_)), StatementKind::If { condition, .. }) => {
                    let is_then = self.condition(condition)?;
                    self.decided(statement, usize::from(is_then));
                    let side = Side { statement: position, is_then };
                    let inner = walked.side(side)?;
                    descent.sides.push(side);
                    let flow = deeper(|| self.walk(descent, inner, 0));
                    descent.sides.pop();
                    flow?
                }
                (Some(_), _) => {
                    self.take_checkpoint(descent, position)?;
                    self.statement(statement)?
                }
                (None, _) => self.statement(statement)?,
            };
            match flow {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs the rest of a block, starting at a statement inside it.
    fn walk_from(
        &mut self,
        descent: &mut Descent,
        walked: Walked<'_>,
        start: Start<'_>,
    ) -> Result<Flow, Stop> {
        let statement = start.statement;
        let (position, flow) = match start.sides.split_first() {
            Some((side, sides)) => {
                let inner = walked.side(*side)?;
                descent.sides.push(*side);
                let flow = deeper(|| self.walk_from(descent, inner, Start { sides, statement }));
                descent.sides.pop();
                (side.statement, flow?)
            }
            None => {
                let next = walked.block.get(statement);
                let next = next.ok_or_else(|| internal("statement of a checkpoint"))?;
                (statement, self.statement(next)?)
            }
        };
        match flow {
            Flow::Next => self.walk(descent, walked, position.saturating_add(1)),
            other => Ok(other),
        }
    }

    /// Saves the packet's state before a statement, and passes it to the trace. Has no effect if
    /// the packet has changed something that belongs to an entry, because the entry may be gone
    /// when the packet resumes.
    fn take_checkpoint(&mut self, descent: &Descent, statement: usize) -> Result<(), Stop> {
        let Some(trial) = self.trial.as_deref().filter(|trial| trial.is_independent()) else {
            return Ok(());
        };
        let control = self.layout.program.controls.get(descent.control.index());
        let parameters = control.map_or(&[][..], |control| &control.parameters).iter();
        let parameters = parameters.map(|parameter| parameter.variable);
        let variables = self.layout.locals().iter().copied().chain(parameters);
        let variables = variables.map(|id| Ok((id, self.variable(id)?.clone())));
        let saved = Saved {
            program: self.state.number,
            descent: descent.clone(),
            statement,
            variables: variables.collect::<Result<_, RunError>>()?,
            packet: self.scratch.packet.clone(),
            emitted: self.scratch.emitted.clone(),
            checksums: self.scratch.checksums.clone(),
            randomness: self.scratch.randomness(),
            cursor: self.cursor,
            emitted_used: self.emitted_used,
            received_length: self.received_length,
            effects: self.effects.clone(),
            from_accelerator: self.from_accelerator,
            length_change: self.length_change,
            work_left: self.work_left.get(),
            further_passes: self.further_passes,
            trial: trial.clone(),
        };
        if let Some(trace) = &mut self.trace {
            trace.checkpoint(Checkpoint(Arc::new(saved)));
        }
        Ok(())
    }
}

/// Returns the contents of a checkpoint.
fn saved(checkpoint: &Checkpoint) -> Result<&Saved, RunError> {
    checkpoint.0.downcast_ref().ok_or_else(|| RunError::internal("contents of a checkpoint"))
}
