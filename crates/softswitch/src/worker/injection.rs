//! Packets that clients inject: they run as if they had arrived on ports, and their outcomes are
//! returned.
//!
//! Their effects on tables, registers, counters, meters and digests are those of packets on ports,
//! unless the client wants none: the interpreter then only tries the packets. They wait in no queue
//! of a port: egress follows ingress at once, as at an idle port. By default nothing leaves by
//! ports or goes to controllers.

use super::{Lane, PSA_PORT_CPU};
use crate::controller_headers::ControllerHeaders;
use crate::injected::{Injected, InjectedPacket, Wanted};
use bytes::Bytes;
use p4runtime::control::Treatment;
use p4runtime::proto::rpc;
use p4runtime::proto::switch::{InjectOutcome, OutputPacket};
use p4runtime::proto::v1::PacketIn;
use p4runtime::status::Code;
use packetio::BURST;
use pipeline::{Output, QueueTimes, RunError, Waiting};
use std::collections::BTreeMap;
use std::time::Duration;
use traces::{Arrival, Effects};

/// The settings for packets that leave the program because of injected packets.
struct Leaving {
    /// The names of ports, by number.
    names: BTreeMap<u32, String>,
    headers: ControllerHeaders,
    wanted: Wanted,
}

impl Lane {
    /// Runs the next packets of a request, at most as many as a burst has.
    pub(super) fn inject(&mut self, injected: &mut Injected) {
        // Enumerating the outcomes of one packet takes as long as running many.
        let enumerates = injected.wanted.traced.is_some_and(|traced| traced.outcomes.is_some());
        let packets = injected.take(if enumerates { 1 } else { BURST });
        let mut outcomes: Vec<InjectOutcome> = packets.iter().map(outcome).collect();
        let leaving = Leaving {
            names: self.known.names(),
            headers: self.shared.headers(),
            wanted: injected.wanted,
        };
        // In a batch, packets cannot be traced or only tried, and a packet that waits for its
        // egress does not record from which packet it was made.
        let is_traced = leaving.wanted.traced.is_some() || self.shared.log.wants_traces();
        let is_tried = effects(leaving.wanted.treatment) == Effects::None;
        if self.queued.is_empty() && !is_traced && !is_tried {
            self.inject_batch(&packets, &mut outcomes, &leaving);
        } else {
            for (packet, outcome) in packets.iter().zip(&mut outcomes) {
                self.inject_one(packet, outcome, &leaving);
            }
        }
        injected.record(outcomes);
    }

    fn inject_batch(
        &mut self,
        packets: &[InjectedPacket],
        outcomes: &mut [InjectOutcome],
        leaving: &Leaving,
    ) {
        self.set_queue_depths(false);
        let (mut positions, mut runs) = (Vec::new(), Vec::new());
        for (position, packet) in packets.iter().enumerate() {
            if let Ok(port) = packet.port {
                positions.push(position);
                runs.push((port, &packet.payload[..]));
            }
        }
        let mut batch = std::mem::take(&mut self.batch);
        self.program.process_batch(&runs, self.now(), &mut batch);
        for (run, fault) in batch.errors() {
            if let Some(outcome) = positions.get(*run).and_then(|at| outcomes.get_mut(*at)) {
                outcome.error = Some(status(Code::Internal, &fault.to_string()));
            }
        }
        for (run, port, packet) in batch.sent() {
            if let Some(outcome) = positions.get(run).and_then(|at| outcomes.get_mut(*at)) {
                self.record(port, Bytes::copy_from_slice(packet), outcome, leaving);
            }
        }
        self.batch = batch;
    }

    /// Runs one packet until it leaves or is dropped. Where it would wait in a queue of a port,
    /// egress follows at once.
    fn inject_one(
        &mut self,
        packet: &InjectedPacket,
        outcome: &mut InjectOutcome,
        leaving: &Leaving,
    ) {
        let (Ok(port), payload) = (&packet.port, &packet.payload[..]) else { return };
        let shared = &self.shared;
        shared.log.packets(shared.id, ["injected", "on"], *port, std::iter::once(payload));
        self.set_queue_depths(false);
        let (now, mut outputs) = (self.now(), Vec::new());
        let arrival = Arrival { port: *port, packet: payload, now };
        let effects = effects(leaving.wanted.treatment);
        let mut ran = if let Some(contents) = leaving.wanted.traced {
            let traced = traces::trace_packet(&mut self.program, arrival, contents, effects);
            self.shared.log.trace(self.shared.id, &traced.trace);
            outcome.trace = Some(traced.trace);
            traced.outputs.map(|traced| outputs = traced)
        } else if effects == Effects::None {
            traces::try_packet(&mut self.program, arrival).map(|tried| outputs = tried)
        } else if self.shared.log.wants_traces() {
            self.traced(*port, payload, now).map(|traced| outputs = traced)
        } else {
            self.program.process(*port, payload, now, &mut outputs)
        };
        let mut waiting = self.program.take_waiting();
        // A packet has one budget for all its passes, so this ends.
        while ran.is_ok() && !waiting.is_empty() {
            let mut leave = |waiting| self.resume_at_once(waiting, now, &mut outputs);
            ran = waiting.into_iter().try_for_each(&mut leave);
            waiting = self.program.take_waiting();
        }
        if let Err(fault) = ran {
            outcome.error = Some(status(Code::Internal, &fault.to_string()));
        }
        for Output { port, packet, .. } in outputs {
            self.record(port, packet.into(), outcome, leaving);
        }
    }

    /// Runs the egress of a packet that would wait in a queue, as if it left the queue at once.
    pub(super) fn resume_at_once(
        &mut self,
        waiting: Waiting,
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let times = QueueTimes { entered: now, left: now, depth_before: 0, depth_after: 0 };
        self.program.resume(waiting, &times, outputs).map(drop)
    }

    /// Adds a packet that leaves to an outcome, and transmits it if the client has requested that.
    fn record(&mut self, port: u32, packet: Bytes, outcome: &mut InjectOutcome, leaving: &Leaving) {
        match leaving.wanted.treatment {
            Treatment::Sent => self.send(port, &[&packet]),
            Treatment::Returned | Treatment::Tried => {}
        }
        if port != self.shared.cpu_port && port != PSA_PORT_CPU {
            let port_name = leaving.names.get(&port).cloned().unwrap_or_default();
            outcome.outputs.push(OutputPacket { port, port_name, payload: packet });
            return;
        }
        match leaving.headers.split(packet) {
            Ok((metadata, payload)) => outcome.packet_ins.push(PacketIn { payload, metadata }),
            Err(error) => {
                let message = format!("A packet-in does not have the program's header: {error}.");
                outcome.error = Some(status(Code::Internal, &message));
            }
        }
    }
}

/// Returns whether packets with this treatment change the state of the switch.
fn effects(treatment: Treatment) -> Effects {
    match treatment {
        Treatment::Returned | Treatment::Sent => Effects::Lasting,
        Treatment::Tried => Effects::None,
    }
}

/// Returns an outcome for a packet that has not run yet.
fn outcome(packet: &InjectedPacket) -> InjectOutcome {
    let error = packet.port.as_ref().err().map(|error| status(error.code(), error.message()));
    InjectOutcome { tag: packet.tag, error, ..InjectOutcome::default() }
}

fn status(code: Code, message: &str) -> rpc::Status {
    rpc::Status { code: code as i32, message: message.to_owned(), ..rpc::Status::default() }
}
