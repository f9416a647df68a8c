//! Generates random packets, some of which are truncated, altered or have wrong metadata.

use bytes::Bytes;
use protos::v1;

use super::Generator;
use crate::bench::packets::packets;
use crate::entities::too_large;
use crate::fuzz::sequence::Packet;

/// The largest number of packets that are injected before a request.
const MOST_PACKETS: usize = 4;
/// The length in bytes of an Ethernet header, which is that of the shortest packet that interfaces
/// send.
const SHORTEST: usize = 14;
/// The length of the longest injected packet.
const LONGEST: usize = 1500;

/// The ways in which packets can be injected into the device.
#[derive(Clone, Debug)]
pub(in crate::fuzz) struct Inlets {
    /// The ports of the device that are connected to this host.
    pub(in crate::fuzz) ports: Vec<u32>,
    /// Whether packet-outs are sent to the device.
    pub(in crate::fuzz) packet_outs: bool,
}

impl Generator<'_> {
    /// Generates the packets that are injected before a request. In half of the cases, there are
    /// none.
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

    /// Generates a packet of a kind that most programs parse. In most cases it is truncated,
    /// extended or altered.
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
