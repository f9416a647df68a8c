//! The observer of the P4Runtime session of a switch in process: it runs the packets that
//! controllers send.

use super::{Event, Inner, on_large_stack};
use p4runtime::arbitration::StreamId;
use p4runtime::proto::v1::{PacketOut, TableEntry};
use p4runtime::server::{DeviceHandle, DeviceObserver};
use p4runtime::session::Pipeline;
use std::sync::Arc;

/// The observer of the session, with the state that it shares with the switch.
#[derive(Debug)]
pub(super) struct Observer(pub(super) Arc<Inner>);

impl DeviceObserver for Observer {
    fn pipeline_committed(&self, _device: &DeviceHandle, pipeline: &Arc<Pipeline>) {
        self.0.lane().pipeline = Some(Arc::clone(pipeline));
    }

    fn packet_outs(&self, device: &DeviceHandle, _stream: StreamId, packets: &mut Vec<PacketOut>) {
        let inner = &self.0;
        for packet in packets.drain(..) {
            let mut lane = inner.lane();
            // A packet-out with a string that has lost its number is ignored.
            let Some(packet) = inner.headers(&lane).joined(packet) else { continue };
            let (outputs, out) =
                on_large_stack(|| inner.process(&mut lane, inner.cpu_port, &packet));
            match outputs {
                Ok(outputs) => {
                    for output in outputs {
                        let packet = output.packet.into();
                        lane.keep(Event::Sent { port: output.port, packet });
                    }
                }
                Err(error) => lane.keep(Event::Failed(error)),
            }
            drop(lane);
            inner.send(device, out);
        }
    }

    fn entries_idle(&self, _device: &DeviceHandle, entries: &[TableEntry]) {
        let mut lane = self.0.lane();
        entries.iter().for_each(|entry| lane.keep(Event::Idle(Box::new(entry.clone()))));
    }
}
