//! Injects packets between the requests of a sequence: packet-outs of the controller, and packets
//! into ports of the device.
//!
//! What a program does with a packet is not modelled. Packets must not break the device, so its
//! answers and its state are compared as before, except for the cells that packets may change.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use protos::v1::{
    self, stream_error::Details, stream_message_request::Update,
    stream_message_response::Update as Message,
};
use tonic::Code;

use super::scope::Scope;
use super::sequence::{Packet, Request};
use super::{Class, Mismatch, Run};
use crate::bench::{arbitration, packets, standing};
use crate::channel::name;
use crate::demands::{Fault, demand};
use crate::entities::bytes as value_of;

/// The time to wait after a packet was sent into a port until the state is compared.
const TRANSIT: Duration = Duration::from_millis(5);
/// The time to wait after the first packets until they have made all of their changes.
const SETTLING: Duration = Duration::from_millis(300);

impl Run<'_> {
    /// Returns whether packets can be injected into the device.
    pub(super) fn takes_packets(&self) -> bool {
        self.sends_packet_outs() || self.bench.ports().is_ok()
    }

    /// Returns whether packet-outs can be generated. They cannot if a metadata field has a type
    /// that is translated from strings, since only the device knows which strings are valid.
    pub(super) fn sends_packet_outs(&self) -> bool {
        let fields = &self.bench.subject.packet_out;
        !fields.is_empty() && fields.iter().all(|field| field.bits > 0)
    }

    /// Returns the packets that are injected first: one of each kind, to see which parts of the
    /// state they change.
    pub(super) fn first_packets(&self) -> Vec<Packet> {
        let payloads = packets::packets().map(Bytes::from);
        let mut all = Vec::new();
        if self.sends_packet_outs() {
            let fields = self.bench.subject.packet_out.iter();
            let metadata: Vec<v1::PacketMetadata> = fields
                .map(|field| v1::PacketMetadata { metadata_id: field.id, value: value_of(0) })
                .collect();
            let out = |payload| v1::PacketOut { payload, metadata: metadata.clone() };
            all.extend(payloads.clone().map(|payload| Packet::Out(out(payload))));
        }
        for port in self.bench.ports().unwrap_or_default() {
            all.extend(payloads.clone().map(|bytes| Packet::On { port, bytes }));
        }
        all
    }

    /// Leaves those parts of the state that the first packets have changed out of the run.
    pub(super) fn leave_out_disturbed(&mut self) -> Result<(), Mismatch> {
        std::thread::sleep(SETTLING);
        for scope in self.scopes.clone() {
            let found = self.part(scope)?;
            if self.differs(found, self.wanted(scope), scope.name()).is_err() {
                self.scopes.retain(|other| *other != scope);
                self.leave_out(scope, "packets change it");
            }
        }
        Ok(())
    }

    /// Repeats a sequence that shows a difference, but without its packets. Returns the difference
    /// if it still occurs.
    ///
    /// A difference that occurs only with packets is not a fault, because the program may let
    /// packets change entries. In this case, the parts of the state that the last request changes
    /// are left out, and the sequence starts again.
    pub(super) fn without_packets(
        &mut self,
        sent: &mut Vec<Request>,
        mismatch: Mismatch,
    ) -> Option<Mismatch> {
        match mismatch.class {
            Class::Answer | Class::State => {}
            Class::Stream | Class::Connection => return Some(mismatch),
        }
        let last = sent.last().cloned().unwrap_or_default();
        let updates = std::mem::take(sent).into_iter().map(|request| request.updates);
        let updates = updates.filter(|updates| !updates.is_empty());
        *sent = updates.map(|updates| Request { updates, packets: Vec::new() }).collect();
        // These requests were counted when they were first sent.
        let (counts, near_misses) = (self.counts.clone(), self.near_misses.clone());
        let again = self.reset().is_ok().then(|| self.all(sent).err()).flatten();
        (self.counts, self.near_misses) = (counts, near_misses);
        if again.is_some_and(|again| again.class == mismatch.class) {
            return Some(mismatch);
        }
        sent.clear();
        if let Err(why) = self.reset() {
            return Some(Mismatch { class: Class::State, why });
        }
        let entities = last.updates.iter().filter_map(|update| update.entity.as_ref());
        let mut scopes: BTreeSet<Scope> = entities.filter_map(Scope::of).collect();
        scopes.retain(|scope| self.scopes.contains(scope));
        self.scopes.retain(|scope| !scopes.contains(scope));
        scopes.into_iter().for_each(|scope| self.leave_out(scope, "packets change it"));
        None
    }

    /// Injects packets. Demands that the stream of the primary stays open and has brought only
    /// valid messages.
    pub(super) fn inject(&mut self, packets: &[Packet]) -> Result<(), Mismatch> {
        if packets.is_empty() {
            return Ok(());
        }
        self.is_disturbed = true;
        for packet in packets {
            let sent = match packet {
                Packet::Out(packet) => self.bench.send(Update::Packet(packet.clone())),
                Packet::On { port, bytes } => self.bench.send_packet(*port, bytes),
            };
            match sent {
                Ok(()) => self.packets += 1,
                Err(fault) => self.not_sent(packet, &fault),
            }
        }
        if packets.iter().any(|packet| matches!(packet, Packet::On { .. })) {
            std::thread::sleep(TRANSIT);
            // Packets that leave the device are not examined, but they must not fill the queues.
            let _ = self.bench.left();
        }
        let found = self.settle();
        self.bench.take_exchanges();
        found.map_err(|fault| match fault {
            Fault::Broken(why) | Fault::NotApplicable(why) => {
                Mismatch { class: Class::Stream, why: format!("after packets, {why}") }
            }
            Fault::Lost(why) => Mismatch { class: Class::Connection, why },
        })
    }

    /// Records that a packet could not be sent, but only once for each port.
    fn not_sent(&mut self, packet: &Packet, fault: &Fault) {
        let what = match packet {
            Packet::Out(_) => format!("packet-outs: {fault}"),
            Packet::On { port, .. } => format!("packets on port {port}: {fault}"),
        };
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    /// Waits until all messages that packets have caused have arrived. For that, sends the
    /// arbitration request again, and checks the messages that arrive before its answer.
    fn settle(&mut self) -> Result<(), Fault> {
        let (device, own) = (self.bench.device_id(), self.bench.election_id());
        self.bench.send(arbitration(device, Some(own)))?;
        let fields = self.bench.subject.packet_in.clone();
        let digests = self.bench.subject.digests.clone();
        let mut wrong = Ok(());
        let code = self.bench.heard("arbitration update", |message| {
            let found = match message {
                Message::Arbitration(update) => return Some(standing(&update).0),
                Message::Packet(packet) => packets::check_packet_in(&fields, &packet),
                Message::Digest(list) => {
                    demand(digests.contains(&list.digest_id) && !list.data.is_empty(), || {
                        format!("a list of the digest {} is wrong", list.digest_id)
                    })
                }
                Message::Error(error) => {
                    let is_of_packet = matches!(error.details, Some(Details::PacketOut(_)));
                    demand(is_of_packet, || {
                        let code = name(Code::from_i32(error.canonical_code));
                        format!("an error with the code {code} does not name a packet-out")
                    })
                }
                Message::IdleTimeoutNotification(_) | Message::Other(_) => Ok(()),
            };
            if wrong.is_ok() {
                wrong = found;
            }
            None
        });
        // A stream that has ended cannot show the fault again.
        let code = code.map_err(|fault| Fault::Lost(fault.to_string()))?;
        demand(code == Code::Ok, || "the client is not the primary".to_owned())?;
        wrong
    }
}
