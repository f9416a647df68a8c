//! Packets between ingress and egress: they wait in a queue of their output port, outside of this
//! crate's drivers, until the owner of the queue lets them continue.
//!
//! Only ports that are declared to have queues ([`crate::Core::set_port_queues`]) interrupt a
//! packet. At other ports, egress follows ingress at once.

use super::engine::{Engine, Held};
use super::psa::egress::Egress as PsaEgress;
use super::v1model::passes::Egress as V1modelEgress;
use crate::error::RunError;
use std::time::Duration;

/// A packet that has passed ingress and waits in a queue of its output port.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The number that identifies the program ([`crate::Core`]) that processes the packet.
    pub(crate) program: u64,
    /// Whether machine code, not the interpreter, processes the packet.
    pub(crate) is_compiled: bool,
    port: u32,
    queue: u64,
    length: u64,
    generation: u32,
    pub(crate) pass: Pass,
}

/// The pass through egress that the packet takes after it has waited.
#[derive(Clone, Debug)]
pub(crate) enum Pass {
    V1model(Box<V1modelEgress<Held>>),
    Psa(Box<PsaEgress<Held>>),
}

/// The times at which a packet entered and left its queue, and the numbers of packets that waited
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTimes {
    /// The time at which the packet entered the queue.
    pub entered: Duration,
    /// The time at which the packet leaves the queue, which is the time of its egress.
    pub left: Duration,
    /// The number of packets that waited in the queue before the packet entered.
    pub depth_before: u32,
    /// The number of packets that wait in the queue after the packet has left.
    pub depth_after: u32,
}

impl Waiting {
    /// Returns the output port.
    #[must_use]
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Returns the number of the queue: v1model's `priority`, or PSA's class of service. A packet
    /// whose class the port does not have waits in queue 0 (PSA 1.2, section 6.2).
    #[must_use]
    pub fn queue(&self) -> u64 {
        self.queue
    }

    /// Returns the length in bytes that the packet has between ingress and egress.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of resubmissions, recirculations and clones that led from the received
    /// packet to this one.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

/// The treatment of packets whose output port has queues of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtQueues {
    /// The packet waits in its queue until the caller, who owns the queue, resumes it.
    #[default]
    Wait,
    /// The packet does not wait. Egress follows ingress at once, as at a port without queues.
    Pass,
}

/// Returns the number of queues of an output port at which packets wait. Returns `None` if packets
/// do not wait there.
pub(super) fn queues<'p, E: Engine<'p>>(engine: &E, port: u32) -> Option<u32> {
    match engine.scratch.at_queues {
        AtQueues::Wait => engine.state.port_queues(port),
        AtQueues::Pass => None,
    }
}

/// The queue that a packet enters, and the properties of the packet that the queue needs.
pub(super) struct Place {
    pub(super) port: u32,
    pub(super) queue: u64,
    pub(super) length: u64,
    pub(super) generation: u32,
}

/// Hands a packet over to the caller, who owns the queues of ports.
pub(super) fn wait<'p, E: Engine<'p>>(engine: &mut E, place: Place, pass: Pass) {
    let Place { port, queue, length, generation } = place;
    engine.event(|_| crate::trace::Event::Wait { port, queue, length });
    let program = engine.state.number;
    let is_compiled = E::IS_COMPILED;
    engine.scratch.waiting.push(Waiting {
        program,
        is_compiled,
        port,
        queue,
        length,
        generation,
        pass,
    });
}

/// The error for a packet that waited in a queue while its program was replaced by another.
pub(crate) const REPLACED: RunError =
    RunError::internal("a packet that waits in another program than the one that runs");
