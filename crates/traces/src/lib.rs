//! Traces of packets in P4 programs. A trace records what a program did with a packet, or, as a
//! tree, everything that it could have done.
//!
//! [`trace_packet`] processes a packet and returns its outputs and its trace. A [`Recorder`]
//! records the trace of a packet that the caller processes. A [`Trace`] is the message
//! `planimeter.trace.v1.Trace`. [`text()`] formats it for people, and [`Format`] writes and reads
//! it.
//!
//! All traces are made by the interpreter. It uses the tables and the state of the switch, even if
//! the switch processes its other packets with machine code.
//!
//! **All outcomes.** If a packet hits an entry that refers to a group of an action selector, any
//! member of the group could have run. To enumerate the outcomes, the packet is tried
//! ([`pipeline::Switch::try_process`]) once for each member. Everything before the choice is the
//! same, so if the interpreter has a checkpoint before the choice, the further tries start there
//! ([`pipeline::Switch::try_again`]). Members that run the same action with the same arguments form
//! one alternative, whose weight is the sum of their weights. The tree distinguishes what happens
//! together, such as replicas and clones ([`protos::trace::All`]), from alternatives that exclude
//! each other ([`protos::trace::Choice`]). While the choices of one copy of a packet are
//! enumerated, the other copies take the members that their own hashes select, so the number of
//! outcomes is the sum over the copies and not the product. Random numbers are not enumerated:
//! every alternative draws the numbers that the packet itself draws.
//!
//! All outcomes of a tree belong to the same state of the switch. If the control plane changes the
//! state during the enumeration, the enumeration starts again. If that happens each time, the tree
//! is marked ([`protos::trace::Outcomes::mixed_states`]). Changes to registers, meters and entries
//! by packets of other workers are not noticed.

mod display;
mod format;
mod message;
mod outcomes;
mod recorder;
mod text;
mod tree;

pub use format::{Format, ReadError, read};
pub use outcomes::DEFAULT_OUTCOMES;
pub use recorder::Recorder;
pub use text::{Part, Row, outline, text};

/// The trace of a packet.
pub use protos::trace::Trace;

use pipeline::{AtQueues, ControlChanges, Core, Detail, Output, RunError, Switch, Worker};
use std::time::Duration;

/// The largest number of attempts to enumerate the outcomes in a single state of the switch. An
/// attempt fails if the control plane changes the state in the meantime.
const TRIES: u32 = 3;

/// A packet that a switch receives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'p> {
    /// The port on which the packet is received.
    pub port: u32,
    /// The bytes of the packet.
    pub packet: &'p [u8],
    /// The time at which the packet is received.
    pub now: Duration,
}

/// Options that determine the contents of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The kinds of events that the trace contains.
    pub detail: Detail,
    /// The largest number of outcomes that are enumerated, or `None` if the trace contains only
    /// what happened to the packet.
    pub outcomes: Option<u64>,
}

/// The effects that a traced packet has on the state of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// All effects of a normal packet: on registers, counters, meters, entries, digests and random
    /// numbers.
    Lasting,
    /// No effects: the packet is only tried ([`Switch::try_process`]). It does not wait in queues.
    None,
}

impl Effects {
    /// Returns where the processing of a tried packet ends if its output port has queues. If the
    /// packet is also processed, the processing ends where the packet starts to wait in a queue.
    fn at_queues(self) -> AtQueues {
        match self {
            Self::Lasting => AtQueues::Wait,
            Self::None => AtQueues::Pass,
        }
    }
}

/// The outputs of a packet and its trace.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The packets that the switch transmits, or the error with which processing the packet failed.
    pub outputs: Result<Vec<Output>, RunError>,
    /// The trace of the packet.
    pub trace: Trace,
}

/// A switch whose packets can be traced.
pub trait Traceable {
    /// Adopts the program that was last loaded, for the packets from now on, if it is not the
    /// current one.
    fn adopt_program(&mut self);

    /// Returns the program that processed or tried the last packet, or a newer one if it was
    /// adopted since then. Returns `None` if there is no such program.
    fn program(&self) -> Option<&Core>;

    /// Returns a count of the changes that the control plane has made so far, which callers compare
    /// to detect changes. Returns `None` if nothing can change the state of the switch between two
    /// packets.
    fn changes(&self) -> Option<ControlChanges>;

    /// Processes a packet and returns the packets that the switch transmits.
    ///
    /// # Errors
    /// Returns the errors of [`Switch::process`].
    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError>;

    /// Processes a packet in the interpreter, and records its trace in `recorder`.
    ///
    /// # Errors
    /// Returns the errors of [`Switch::process`].
    fn record(
        &mut self,
        arrival: Arrival<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError>;

    /// Tries a packet in the interpreter without changing the state of the switch, and records its
    /// trace in `recorder`. If the record starts from a checkpoint ([`Recorder::starts_from`]),
    /// only what follows the checkpoint is tried. `at_queues` states where the processing ends if
    /// the output port has queues.
    ///
    /// # Errors
    /// Returns the errors of [`Switch::try_process`] and [`Switch::try_again`].
    fn attempt(
        &mut self,
        arrival: Arrival<'_>,
        at_queues: AtQueues,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError>;
}

impl Traceable for Switch {
    fn adopt_program(&mut self) {}

    fn program(&self) -> Option<&Core> {
        Some(self)
    }

    fn changes(&self) -> Option<ControlChanges> {
        None
    }

    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError> {
        Self::process(self, arrival.port, arrival.packet, arrival.now)
    }

    fn record(
        &mut self,
        arrival: Arrival<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        self.process_traced(arrival.port, arrival.packet, arrival.now, recorder)
    }

    fn attempt(
        &mut self,
        arrival: Arrival<'_>,
        at_queues: AtQueues,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        let Arrival { port, packet, now } = arrival;
        match recorder.starts_from() {
            Some(checkpoint) => self.try_again(&checkpoint, now, at_queues, recorder),
            None => self.try_process(port, packet, now, at_queues, recorder),
        }
    }
}

impl Traceable for Worker {
    fn adopt_program(&mut self) {
        Self::adopt_program(self);
    }

    fn program(&self) -> Option<&Core> {
        self.core()
    }

    fn changes(&self) -> Option<ControlChanges> {
        self.control_changes()
    }

    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError> {
        let mut outputs = Vec::new();
        Self::process(self, arrival.port, arrival.packet, arrival.now, &mut outputs)?;
        Ok(outputs)
    }

    fn record(
        &mut self,
        arrival: Arrival<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        let mut outputs = Vec::new();
        let Arrival { port, packet, now } = arrival;
        self.process_traced(port, packet, now, recorder, &mut outputs)?;
        Ok(outputs)
    }

    fn attempt(
        &mut self,
        arrival: Arrival<'_>,
        at_queues: AtQueues,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError> {
        let Arrival { port, packet, now } = arrival;
        match recorder.starts_from() {
            Some(checkpoint) => self.try_again(&checkpoint, now, at_queues, recorder),
            None => self.try_process(port, packet, now, at_queues, recorder),
        }
    }
}

/// Processes a packet, and returns its outputs and its trace.
///
/// If all outcomes are requested, they are enumerated first. The packet is then processed as if it
/// were not traced, by machine code if the program is compiled. Otherwise the interpreter processes
/// the packet and records it.
pub fn trace_packet(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
    contents: Contents,
    effects: Effects,
) -> Traced {
    if let Some(limit) = contents.outcomes {
        let contents = (contents.detail, limit);
        let tree = enumerated(switch, arrival, contents, effects.at_queues());
        let Enumerated { tried, mut trace, before } = tree;
        let outputs = match effects {
            Effects::Lasting => {
                let outputs = switch.process(arrival);
                // The tree describes the state before. If the state has changed, the outcome of
                // this packet may not be in it.
                if let Some(outcomes) = &mut trace.outcomes {
                    outcomes.mixed_states |= has_changed(before, switch.changes());
                }
                outputs
            }
            Effects::None => tried,
        };
        return Traced { outputs, trace };
    }
    let mut recorder = Recorder::new(contents.detail);
    let outputs = match effects {
        Effects::Lasting => switch.record(arrival, &mut recorder),
        Effects::None => {
            switch.adopt_program();
            switch.attempt(arrival, effects.at_queues(), &mut recorder)
        }
    };
    let trace = match switch.program() {
        Some(core) => recorder.finish(core, arrival, &outputs),
        None => without_program(arrival),
    };
    Traced { outputs, trace }
}

/// Tries a packet: returns the packets that the switch would transmit, without changing its state.
/// The packet does not wait in queues.
///
/// # Errors
/// Returns the errors of [`Switch::try_process`].
pub fn try_packet(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
) -> Result<Vec<Output>, RunError> {
    switch.adopt_program();
    switch.attempt(arrival, Effects::None.at_queues(), &mut Recorder::new(Detail::Passes))
}

/// Enumerates the outcomes that a packet could have, without processing it. Returns the outputs
/// that the packet would have if its hashes made all choices, and the tree of all outcomes.
pub fn all_outcomes(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
    detail: Detail,
    limit: u64,
) -> (Result<Vec<Output>, RunError>, Trace) {
    let Enumerated { tried, trace, .. } =
        enumerated(switch, arrival, (detail, limit), AtQueues::Wait);
    (tried, trace)
}

/// The outcomes that a packet could have, as a tree.
struct Enumerated {
    /// The outputs that the packet would have if its hashes made all choices.
    tried: Result<Vec<Output>, RunError>,
    trace: Trace,
    /// The count of changes by the control plane from before the packet was tried.
    before: Option<ControlChanges>,
}

fn enumerated(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
    (detail, limit): (Detail, u64),
    at_queues: AtQueues,
) -> Enumerated {
    switch.adopt_program();
    let mut tries = 0;
    loop {
        let before = switch.changes();
        if switch.program().is_none() {
            return Enumerated { tried: Ok(Vec::new()), trace: without_program(arrival), before };
        }
        let mut attempt = |recorder: &mut Recorder| switch.attempt(arrival, at_queues, recorder);
        let found = outcomes::enumerate(&mut attempt, detail, limit);
        let mixed_states = has_changed(before, switch.changes());
        tries += 1;
        if mixed_states && tries < TRIES {
            continue;
        }
        let trace = match switch.program() {
            Some(core) => message::Names(core).trace(arrival, &found.tree, &found.outputs),
            None => without_program(arrival),
        };
        let outcomes = Some(protos::trace::Outcomes { mixed_states, ..found.counts });
        return Enumerated { tried: found.outputs, trace: Trace { outcomes, ..trace }, before };
    }
}

/// Returns whether the control plane may have changed the state of the switch between the times at
/// which the two counts were read.
fn has_changed(before: Option<ControlChanges>, after: Option<ControlChanges>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => !before.nothing_changed_until(after),
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    }
}

/// Returns the trace of a packet that a switch without a program receives.
fn without_program(arrival: Arrival<'_>) -> Trace {
    let reason = "the switch has no program".to_owned();
    Trace {
        port: arrival.port,
        packet: bytes::Bytes::copy_from_slice(arrival.packet),
        root: Some(protos::trace::Node {
            events: Vec::new(),
            next: Some(protos::trace::node::Next::Drop(protos::trace::Drop { reason })),
        }),
        ..Trace::default()
    }
}
