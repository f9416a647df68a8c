//! Traces of packets in P4 programs: what a program did with a packet, or everything that it could
//! have done, as a tree.
//!
//! [`trace_packet`] processes a packet and returns its outputs and its trace, and [`Recorder`]
//! records the trace of a packet that the caller processes. A [`Trace`] is the message
//! `planimeter.trace.v1.Trace`; [`text()`] formats it for people, and [`Format`] writes and reads
//! it.
//!
//! The interpreter makes all traces. It works on the tables and the state of the switch, also if
//! machine code processes the other packets.
//!
//! **All outcomes.** A packet whose entry runs a group of an action selector could have run any
//! member of the group. To enumerate what would have followed, the packet is tried
//! ([`pipeline::Switch::try_process`]) with one member, and again with each other one. What happens
//! before the choice is the same, so the packet starts from a checkpoint before it
//! ([`pipeline::Switch::try_again`]), if the interpreter has one. Members that run the same action
//! with the same arguments are one alternative, whose weight is the sum of theirs. A tree tells what
//! happens together ([`protos::trace::All`]: replicas, clones) from what excludes each other
//! ([`protos::trace::Choice`]). A choice of one copy of a packet is enumerated while the others do
//! what their own hashes choose, so the choices of copies add up and do not multiply. Random
//! numbers are not enumerated: every alternative draws those that the packet itself draws.

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

use pipeline::{AtQueues, Core, Detail, Output, RunError, Switch, Worker};
use std::time::Duration;

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

/// The contents of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The events in the trace.
    pub detail: Detail,
    /// The largest number of outcomes in the trace, or `None` if it has only what happens.
    pub outcomes: Option<u64>,
}

/// The effects that a packet leaves in the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// Everything: registers, counters, meters, entries, digests, random numbers.
    Lasting,
    /// Nothing: the packet is only tried ([`Switch::try_process`]). It does not wait in queues.
    None,
}

impl Effects {
    /// Returns where a packet that is tried ends at a port that has queues. The tree of what could
    /// happen to a packet that is also processed ends where that packet waits.
    fn at_queues(self) -> AtQueues {
        match self {
            Self::Lasting => AtQueues::Wait,
            Self::None => AtQueues::Pass,
        }
    }
}

/// The outputs of a packet, and its trace.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The packets to transmit, or the error with which the packet failed.
    pub outputs: Result<Vec<Output>, RunError>,
    /// The trace of the packet.
    pub trace: Trace,
}

/// A switch whose packets can be traced.
pub trait Traceable {
    /// Changes to the program that processes packets from now on, if it was replaced.
    fn adopt_program(&mut self);

    /// Returns the program that has processed or tried the last packet, or was adopted since.
    /// Returns `None` if there was none.
    fn program(&self) -> Option<&Core>;

    /// Processes a packet.
    ///
    /// # Errors
    /// Fails as [`Switch::process`] does.
    fn process(&mut self, arrival: Arrival<'_>) -> Result<Vec<Output>, RunError>;

    /// Processes a packet in the interpreter, and records its trace.
    ///
    /// # Errors
    /// Fails as [`Switch::process`] does.
    fn record(
        &mut self,
        arrival: Arrival<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<Output>, RunError>;

    /// Tries a packet in the interpreter, and records its trace: from the checkpoint on at which the
    /// record starts ([`Recorder::starts_from`]), or else as a whole. `at_queues` is where the packet
    /// ends at a port that has queues.
    ///
    /// # Errors
    /// Fails as [`Switch::try_process`] and [`Switch::try_again`] do.
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

/// Processes a packet and traces it.
///
/// If all outcomes are enumerated, they are tried before the packet is processed, and the packet is
/// then processed as if it was not traced, by machine code if the program is compiled. Otherwise
/// the interpreter processes it.
pub fn trace_packet(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
    contents: Contents,
    effects: Effects,
) -> Traced {
    if let Some(limit) = contents.outcomes {
        let contents = (contents.detail, limit);
        let (tried, trace) = enumerated(switch, arrival, contents, effects.at_queues());
        let outputs = match effects {
            Effects::Lasting => switch.process(arrival),
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

/// Tries a packet: returns what would leave, and leaves the state of the switch as it is. The
/// packet does not wait in queues.
///
/// # Errors
/// Fails as [`Switch::try_process`] does.
pub fn try_packet(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
) -> Result<Vec<Output>, RunError> {
    switch.adopt_program();
    switch.attempt(arrival, Effects::None.at_queues(), &mut Recorder::new(Detail::Passes))
}

/// Enumerates the outcomes that a packet could have, without processing it. Returns the outputs
/// that the packet would have by its own hashes, and the tree of all outcomes.
pub fn all_outcomes(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
    detail: Detail,
    limit: u64,
) -> (Result<Vec<Output>, RunError>, Trace) {
    enumerated(switch, arrival, (detail, limit), AtQueues::Wait)
}

fn enumerated(
    switch: &mut impl Traceable,
    arrival: Arrival<'_>,
    (detail, limit): (Detail, u64),
    at_queues: AtQueues,
) -> (Result<Vec<Output>, RunError>, Trace) {
    switch.adopt_program();
    if switch.program().is_none() {
        return (Ok(Vec::new()), without_program(arrival));
    }
    let mut attempt = |recorder: &mut Recorder| switch.attempt(arrival, at_queues, recorder);
    let found = outcomes::enumerate(&mut attempt, detail, limit);
    let trace = match switch.program() {
        Some(core) => message::Names(core).trace(arrival, &found.tree, &found.outputs),
        None => without_program(arrival),
    };
    (found.outputs, Trace { outcomes: Some(found.counts), ..trace })
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
