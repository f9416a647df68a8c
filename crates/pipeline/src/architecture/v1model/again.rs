//! Trial runs of v1model packets that resume from a checkpoint in ingress or egress. A trial run
//! has no lasting effects; it shows another outcome that the packet could have had.

use super::queue::Queue;
use super::{Blocks, Passed, PassedEgress};
use crate::architecture::Output;
use crate::architecture::engine::{Engine, Held, InterpreterEngine};
use crate::error::RunError;
use crate::interpreter::Interpreter;
use crate::trace::Checkpoint;
use ir::ControlId;
use std::sync::Arc;

/// The largest number of waiting passes at which checkpoints are taken. Each checkpoint copies all
/// passes that wait.
const MAX_KEPT: usize = 16;

/// The state that the architecture's driver needs to continue a packet after the control in which a
/// checkpoint was taken.
struct Rest {
    within: Within,
    queue: Queue<Held>,
}

/// The control in which a checkpoint is taken, and the properties of its packet.
#[derive(Clone, Copy)]
pub(super) enum Within {
    Ingress(Passed),
    Egress(PassedEgress),
}

impl Blocks {
    /// Resumes a trial run of a packet from a checkpoint, and then runs all passes that follow.
    pub(crate) fn try_again(
        &self,
        interpreter: &mut Interpreter<'_>,
        checkpoint: &Checkpoint,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let state = interpreter.restore(checkpoint)?;
        let rest: Option<&Rest> = state.downcast_ref();
        let rest = rest.ok_or_else(|| RunError::internal("driver of a checkpoint"))?;
        let mut engine = InterpreterEngine(interpreter);
        let mut queue = rest.queue.converted(&mut |held| engine.unheld(held.clone()))?;
        // The parameters of the control have the values of its arguments.
        let mut arguments = [
            engine.initial(self.type_of(0)?)?,
            engine.initial(self.type_of(1)?)?,
            engine.initial(self.type_of(2)?)?,
        ];
        match rest.within {
            Within::Ingress(passed) => {
                let digest = Interpreter::send_digest;
                engine.0.resume_control_and(checkpoint, &mut arguments, digest)?;
                self.after_ingress(&mut engine, passed, arguments, &mut queue)?;
            }
            Within::Egress(passed) => {
                engine.0.resume_control_and(checkpoint, &mut arguments, |_| Ok(()))?;
                self.after_egress(&mut engine, passed, arguments, &mut queue, outputs)?;
            }
        }
        self.all(&mut engine, queue, outputs)
    }
}

/// Saves the state of the driver for the checkpoints that the next control takes, if it takes any.
/// Does nothing if more than [`MAX_KEPT`] passes wait, because each checkpoint would copy them all.
pub(super) fn keep_rest<'p, E: Engine<'p>>(
    engine: &mut E,
    control: ControlId,
    within: Within,
    queue: &Queue<E::Value>,
) -> Result<(), RunError> {
    if queue.len() <= MAX_KEPT && engine.takes_checkpoints(control) {
        let queue = queue.converted(&mut |value| Ok(engine.held(engine.copy(value))))?;
        engine.set_driver_state(Arc::new(Rest { within, queue }));
    }
    Ok(())
}
