//! A data plane whose packets tests send and see.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use entities::Data;
use p4runtime::arbitration::StreamId;
use p4runtime::server::{DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata};
use p4runtime::session::DeviceOptions;
use protos::v1;

use crate::served::serve_with;

/// The packets that left a device, each with its port.
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

/// A device that sends each packet to the controllers, as a packet-in and as a digest of its
/// Ethernet source and its port. A packet-out leaves by the port in its first metadata field.
#[derive(Clone)]
pub struct Emulated {
    address: String,
    device: DeviceHandle,
    left: Arc<Left>,
}

impl Emulated {
    /// Starts a device with a program in P4 source. The P4Info of the program must have metadata of
    /// packet-ins and packet-outs, and a digest of a struct with an Ethernet address and a port.
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

    /// Processes a packet that enters by a port.
    ///
    /// # Panics
    /// Panics if the packet has no Ethernet header, or the program lacks what it has to have.
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

    /// Returns the packets that have left the device since the last call, each with its port.
    ///
    /// # Panics
    /// Panics if another thread panicked meanwhile.
    #[must_use]
    pub fn left(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut *self.left.0.lock().expect("no holder panics"))
    }
}
