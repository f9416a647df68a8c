//! Random packets, of which a part is cut, altered or has wrong metadata.

use bytes::Bytes;
use protos::v1;

use super::Generator;
use crate::bench::packets::packets;
use crate::entities::too_large;
use crate::fuzz::sequence::Packet;

/// The largest number of packets before a request.
const MOST_PACKETS: usize = 4;
/// The length of an Ethernet header, below which no interface sends a packet.
const SHORTEST: usize = 14;
/// The length of the longest packet.
const LONGEST: usize = 1500;

/// The ways by which packets reach the device.
#[derive(Clone, Debug)]
pub(in crate::fuzz) struct Inlets {
    /// The ports that are connected to this host.
    pub(in crate::fuzz) ports: Vec<u32>,
    /// Whether packet-outs are sent.
    pub(in crate::fuzz) packet_outs: bool,
}

impl Generator<'_> {
    /// Returns the packets that are injected before a request; in half of the cases, none.
    pub(in crate::fuzz) fn packets(&mut self, inlets: &Inlets) -> Vec<Packet> {
        let count = if self.random.bool() { self.random.usize(1..=MOST_PACKETS) } else { 0 };
        let mut found = Vec::new();
        for _ in 0..count {
            let port = self.random.choice(&inlets.ports).copied();
            let is_out = inlets.packet_outs && (port.is_none() || self.random.bool());
            match (is_out, port) {
                (true, _) => found.push(Packet::Out(self.packet_out())),
                (false, Some(port)) => {
                    let bytes = self.payload(SHORTEST);
                    found.push(Packet::On { port, bytes });
                }
                (false, None) => {}
            }
        }
        found
    }

    fn packet_out(&mut self) -> v1::PacketOut {
        let fields = self.subject.packet_out.clone();
        let mut metadata: Vec<v1::PacketMetadata> = Vec::new();
        for field in &fields {
            let value = self.value(field.bits);
            metadata.push(v1::PacketMetadata { metadata_id: field.id, value });
        }
        let place = self.random.usize(..metadata.len().max(1));
        match (self.random.u8(..20), metadata.get_mut(place)) {
            (0, Some(_)) => drop(metadata.remove(place)),
            (1, Some(field)) => {
                let again = field.clone();
                metadata.push(again);
            }
            (2, Some(field)) => field.metadata_id = 0x7fff_ffff,
            (3, Some(field)) => {
                let bits = fields.get(place).map_or(1, |field| field.bits);
                field.value = too_large(bits);
            }
            (4, Some(field)) => field.value = Bytes::new(),
            _ => {}
        }
        v1::PacketOut { payload: self.payload(0), metadata }
    }

    /// Returns one of the packets that programs know, in most cases cut, longer or altered.
    fn payload(&mut self, shortest: usize) -> Bytes {
        let mut bytes = self.random.choice(packets()).unwrap_or_default();
        match self.random.u8(..4) {
            0 => bytes.truncate(self.random.usize(shortest..=bytes.len())),
            1 => {
                let length = self.random.usize(bytes.len()..=LONGEST);
                bytes.resize(length, self.random.u8(..));
            }
            2 => {
                for _ in 0..self.random.usize(1..=8) {
                    let place = self.random.usize(..bytes.len());
                    bytes[place] = self.random.u8(..);
                }
            }
            _ => {}
        }
        bytes.into()
    }
}
