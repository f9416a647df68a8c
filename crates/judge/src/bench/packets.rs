//! Sends packets of the bench into ports of the device, and receives packets from its ports and
//! from its stream to the controller.

use std::time::{Duration, Instant};

use bytes::Bytes;
use protos::v1::{
    self, stream_message_request::Update, stream_message_response::Update as Message,
};

use super::{Bench, no_stream};
use crate::channel::Stream;
use crate::demands::{Fault, demand, lacks};
use crate::entities::{bytes, largest};
use crate::subject::Param;

/// The time to wait for a packet that the device may or may not send.
const PATIENCE: Duration = Duration::from_millis(500);
/// The pause between two checks for packets.
const PAUSE: Duration = Duration::from_millis(10);
/// The last bytes of each packet of the bench, by which the bench recognises it.
const MARK: &[u8] = b"planimeter conformance";
/// The length of the packets of the bench.
const LENGTH: usize = 100;

/// The metadata field of packet-outs that selects the output port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EgressField {
    pub(crate) id: u32,
    pub(crate) port: u32,
}

impl Bench {
    /// Sends packets of several kinds into the ports of the device, until `pick` returns a value
    /// for a message that the primary receives. Returns that value.
    ///
    /// # Errors
    /// Not applicable if there are no ports, or if no packet causes such a message.
    pub(crate) fn provoke<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(Message) -> Option<T>,
    ) -> Result<T, Fault> {
        for port in self.ports()? {
            for packet in packets() {
                self.send_packet(port, &packet)?;
                if let Some(found) = self.heard_within(PATIENCE, &mut pick)? {
                    return Ok(found);
                }
            }
        }
        Err(Fault::NotApplicable(format!(
            "no packet that was sent into the ports made the device send a {what}"
        )))
    }

    /// Returns the first value that `pick` returns for a message to the primary, or `None` if there
    /// is no such message within `time`.
    pub(crate) fn heard_within<T>(
        &mut self,
        time: Duration,
        pick: &mut impl FnMut(Message) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let mut primary = self.primary.take().ok_or_else(|| Fault::Lost(no_stream()))?;
        let found = self.picked(&mut primary, time, pick);
        self.primary = Some(primary);
        found
    }

    pub(super) fn picked<T>(
        &mut self,
        stream: &mut Stream,
        time: Duration,
        pick: &mut impl FnMut(Message) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.channel.receive(stream, left) {
                None => return Ok(None),
                Some(Err(status)) => {
                    return Err(Fault::Broken(format!("the device ended the stream: {status}")));
                }
                Some(Ok(message)) => {
                    if let Some(found) = message.update.and_then(&mut *pick) {
                        return Ok(Some(found));
                    }
                }
            }
        }
    }

    /// Returns the metadata field of packet-outs that selects the output port. The field is found
    /// by trial: if it is set in a packet-out, the packet leaves by one of the ports.
    ///
    /// # Errors
    /// Not applicable if there are no ports, or if no packet-out leaves by one.
    pub(crate) fn egress_field(&mut self) -> Result<EgressField, Fault> {
        let ports = self.ports()?;
        let fields = self.subject.packet_out.clone();
        if fields.is_empty() {
            return Err(lacks("metadata of packet-outs"));
        }
        for field in fields {
            for port in
                ports.iter().copied().filter(|port| u128::from(*port) <= largest(field.bits))
            {
                let egress = EgressField { id: field.id, port };
                self.send(Update::Packet(self.packet_out_by(egress)))?;
                if self.left_by()?.contains(&port) {
                    return Ok(egress);
                }
            }
        }
        Err(Fault::NotApplicable("no packet-out left by a port".to_owned()))
    }

    /// Returns a packet-out that leaves by the port in `egress`. All other metadata fields are 0.
    pub(crate) fn packet_out_by(&self, egress: EgressField) -> v1::PacketOut {
        let value = |id: u32| if id == egress.id { egress.port } else { 0 };
        let metadata = self.subject.packet_out.iter().map(|field| v1::PacketMetadata {
            metadata_id: field.id,
            value: bytes(value(field.id).into()),
        });
        let [payload, ..] = packets();
        v1::PacketOut { payload: Bytes::from(payload), metadata: metadata.collect() }
    }

    /// Returns the ports by which packets of the bench leave the device within [`PATIENCE`].
    pub(crate) fn left_by(&mut self) -> Result<Vec<u32>, Fault> {
        let end = Instant::now() + PATIENCE;
        let mut ports = Vec::new();
        while ports.is_empty() && Instant::now() < end {
            let found = self.left()?;
            let is_ours = |packet: &[u8]| packet.windows(MARK.len()).any(|part| part == MARK);
            ports.extend(found.iter().filter(|(_, packet)| is_ours(packet)).map(|(port, _)| *port));
            let primary = self.primary.as_mut().ok_or_else(|| Fault::Lost(no_stream()))?;
            self.channel.pause(primary, PAUSE);
        }
        Ok(ports)
    }

    /// Returns the numbers of the ports that are connected to this host.
    ///
    /// # Errors
    /// Not applicable if there are none.
    pub(crate) fn ports(&self) -> Result<Vec<u32>, Fault> {
        let ports = self.means.wires.as_ref().map(|wires| wires.ports()).unwrap_or_default();
        match ports.is_empty() {
            true => Err(Fault::NotApplicable(
                "it needs a port of the device that is connected to this host (--port)".to_owned(),
            )),
            false => Ok(ports),
        }
    }

    /// Returns the packets that have left the device since the last call, each with its port.
    pub(crate) fn left(&mut self) -> Result<Vec<(u32, Vec<u8>)>, Fault> {
        let wires = self.means.wires.as_mut().ok_or_else(|| lacks("connected ports"))?;
        wires.receive().map_err(Fault::Lost)
    }

    /// Sends a packet into a port of the device.
    pub(crate) fn send_packet(&mut self, port: u32, packet: &[u8]) -> Result<(), Fault> {
        let wires = self.means.wires.as_mut().ok_or_else(|| lacks("connected ports"))?;
        wires.send(port, packet).map_err(Fault::Lost)
    }
}

/// Demands that a packet-in has each metadata field exactly once, with a value of the right width
/// (16.1).
pub(crate) fn check_packet_in(fields: &[Param], packet: &v1::PacketIn) -> Result<(), Fault> {
    demand(packet.metadata.len() == fields.len(), || {
        format!("a packet-in has {} fields, and the P4Info {}", packet.metadata.len(), fields.len())
    })?;
    for field in fields {
        let of_field = |one: &&v1::PacketMetadata| one.metadata_id == field.id;
        let found = packet.metadata.iter().find(of_field);
        let value = found.map(|found| &found.value).ok_or_else(|| {
            Fault::Broken(format!("a packet-in lacks the metadata field {}", field.id))
        })?;
        // The values of a translated type are text of any length (16.1).
        if field.bits == 0 {
            continue;
        }
        let significant = value.iter().position(|byte| *byte != 0).unwrap_or(value.len());
        let bits = value[significant..]
            .first()
            .map_or(0, |first| (value.len() - significant) * 8 - first.leading_zeros() as usize);
        demand(!value.is_empty() && bits <= field.bits as usize, || {
            format!("the metadata field {} of a packet-in is no value of its width", field.id)
        })?;
    }
    Ok(())
}

/// Returns one packet of each kind that programs often send to their controllers: one with an
/// EtherType for experiments, an ARP request, an LLDP packet, and a UDP packet over IPv4.
pub(crate) fn packets() -> [Vec<u8>; 4] {
    const BROADCAST: [u8; 6] = [0xff; 6];
    const LLDP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
    const OTHER: [u8; 6] = [0x02, 0x50, 0x4c, 0x41, 0x4e, 0x05];
    const ARP_REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
    // Version 4, 86 bytes, time to live 64, UDP, with its checksum, 198.18.0.1 to 198.18.0.2.
    const IPV4: [u8; 20] =
        [0x45, 0, 0, 86, 0, 0, 0, 0, 64, 17, 0xee, 0x6f, 198, 18, 0, 1, 198, 18, 0, 2];
    [
        packet(OTHER, 0x88b5, &[]),
        packet(BROADCAST, 0x0806, &ARP_REQUEST),
        packet(LLDP, 0x88cc, &[]),
        packet(OTHER, 0x0800, &IPV4),
    ]
}

/// Returns an Ethernet packet that ends with `MARK`.
fn packet(destination: [u8; 6], ether_type: u16, headers: &[u8]) -> Vec<u8> {
    const SOURCE: [u8; 6] = [0x02, 0x50, 0x4c, 0x41, 0x4e, 0x04];
    let mut packet = [&destination[..], &SOURCE, &ether_type.to_be_bytes(), headers].concat();
    packet.resize(LENGTH - MARK.len(), 0);
    packet.extend(MARK);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_the_ipv4_packet_is_valid() {
        let [.., ipv4] = packets();
        let words = ipv4[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum covers the header");
        assert_eq!(ipv4.len(), 14 + 86, "the length is that of the header");
    }
}
