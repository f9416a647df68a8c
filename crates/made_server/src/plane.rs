//! A data plane for tests: a test sends packets into an emulated device and collects those that
//! leave it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use entities::Data;
use p4runtime::arbitration::StreamId;
use p4runtime::server::{DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata};
use p4runtime::session::DeviceOptions;
use protos::v1;

use crate::served::serve_with;

/// The packets that have left a device, each with the number of its egress port.
#[derive(Default)]
struct Left(Mutex<Vec<(u32, Vec<u8>)>>);

impl DeviceObserver for Left {
    fn packet_outs(&self, _: &DeviceHandle, _: StreamId, packets: &mut Vec<v1::PacketOut>) {
        let sent = packets.drain(..).map(|packet| {
            let port = packet.metadata.first().map_or(0, |field| {
                field.value.iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
            });
            (port, packet.payload.to_vec())
        });
        self.0.lock().expect("no holder panics").extend(sent);
    }
}

/// An emulated device for tests. It sends every packet that arrives to the controllers, both as a
/// packet-in and as a digest of the packet's source MAC address and ingress port. A packet-out
/// leaves the device by the port that its first metadata field contains.
#[derive(Clone)]
pub struct Emulated {
    address: String,
    device: DeviceHandle,
    left: Arc<Left>,
}

impl Emulated {
    /// Starts a device that runs the program in `source`, which is P4. The program must define
    /// metadata for packet-ins and packet-outs, and a digest of a struct that contains an Ethernet
    /// address and a port.
    ///
    /// # Panics
    /// Panics if the system refuses a port, or the program does not compile.
    #[must_use]
    pub fn start(source: &str) -> Self {
        let left = Arc::new(Left::default());
        let (address, device) =
            serve_with(source, Arc::<Left>::clone(&left), DeviceOptions::default());
        Self { address, device, left }
    }

    /// Returns the address of the P4Runtime server.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Processes a packet that arrives at a port: sends the packet-in and the digest.
    ///
    /// # Panics
    /// Panics if the packet has no Ethernet header, or if the program lacks metadata or a digest
    /// that [`Self::start`] requires.
    pub fn send(&self, port: u32, packet: &[u8]) {
        let payload = Bytes::copy_from_slice(packet);
        let metadata = PacketInMetadata::IngressPort(port);
        // Without a primary, the packet is lost.
        let _ = self.device.send(PacketIn { payload, metadata, tag: 0 });
        let pipeline = self.device.pipeline().expect("a pipeline");
        let digest = pipeline.schema().digests().iter().next().expect("a digest").id;
        let bits = |bytes: &[u8]| {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            Data::Bits(bytes[zeros.min(bytes.len() - 1)..].into())
        };
        let data = Data::Struct(vec![bits(&packet[6..12]), bits(&port.to_be_bytes())]);
        self.device.digest(digest, data);
    }

    /// Returns the packets that have left the device since the last call, each with the number of
    /// its egress port.
    ///
    /// # Panics
    /// Panics if another thread panicked meanwhile.
    #[must_use]
    pub fn left(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut *self.left.0.lock().expect("no holder panics"))
    }
}
