//! One emulated device that prints what controllers do to it.
//!
//!     cargo run -p p4runtime --example device -- 127.0.0.1:9559

use std::{env, error::Error, sync::Arc, time::Duration};

use p4runtime::{
    arbitration::{RoleKey, StreamId},
    gnmi::Port,
    proto::v1::{PacketOut, WriteRequest},
    server::{DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata, Server, ServerOptions},
    session::{Device, DeviceOptions, Pipeline, PipelineRegistry},
    status::EntityError,
};
use tokio::{net::TcpListener, time::sleep};

struct Narrator;

impl DeviceObserver for Narrator {
    fn stream_opened(&self, _device: &DeviceHandle, stream: StreamId) {
        println!("stream {} opened", stream.0);
    }

    fn stream_closed(&self, _device: &DeviceHandle, stream: StreamId) {
        println!("stream {} closed", stream.0);
    }

    fn primary_changed(&self, _device: &DeviceHandle, role: &RoleKey, stream: Option<StreamId>) {
        println!("{role}: primary is {stream:?}");
    }

    fn pipeline_committed(&self, _device: &DeviceHandle, pipeline: &Arc<Pipeline>) {
        let tables = pipeline.schema().tables().len();
        println!("pipeline with {tables} tables, {} bytes", pipeline.device_config().len());
    }

    fn written(
        &self,
        _device: &DeviceHandle,
        request: &WriteRequest,
        outcomes: &[Result<(), EntityError>],
    ) {
        for (update, outcome) in request.updates.iter().zip(outcomes) {
            println!("{update:?}: {outcome:?}");
        }
    }

    fn packet_outs(&self, device: &DeviceHandle, _stream: StreamId, packets: &mut Vec<PacketOut>) {
        let pipeline = device.pipeline();
        let layout = pipeline.as_ref().and_then(|pipeline| pipeline.packet_out());
        for packet in packets.iter() {
            let port = layout.and_then(|layout| layout.read_egress_port(&packet.metadata));
            println!("packet-out of {} bytes to port {port:?}", packet.payload.len());
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9559".to_owned());
    let registry = Arc::new(PipelineRegistry::new());
    let device = Device::new(1, DeviceOptions::default(), registry);
    let device = DeviceHandle::new(device, Arc::new(Narrator));
    let port = |number| Port { number, name: format!("eth{number}"), up: true, enabled: true };
    device.set_ports((1..=4).map(port).collect());
    let server = Server::new([device.clone()], ServerOptions::default())?;

    // Once a second, a packet arrives on port 1.
    tokio::spawn(async move {
        loop {
            sleep(Duration::from_secs(1)).await;
            let payload = vec![0xff; 60].into();
            let metadata = PacketInMetadata::IngressPort(1);
            // Sending fails if no controller is connected.
            let _ = device.send(PacketIn { payload, metadata, tag: 0 });
        }
    });
    server.serve(TcpListener::bind(address).await?, std::future::pending()).await;
    Ok(())
}
