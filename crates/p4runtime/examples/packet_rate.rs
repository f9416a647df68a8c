//! Measures the number of packet-in/packet-out pairs per second through gRPC.
//!
//! Emulated devices run on one thread; a null controller on another thread echoes every packet-in.
//! Each device keeps `outstanding` packet-ins in flight, as a closed loop.
//!
//!     cargo run --release -p p4runtime --example packet_rate -- [devices] [outstanding] [seconds]

use std::{
    env,
    error::Error,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use p4runtime::{
    arbitration::{ElectionId, StreamId},
    client::{Client, ClientOptions},
    proto::{
        config::{
            ControllerPacketMetadata, P4Info, Preamble, controller_packet_metadata::Metadata,
        },
        v1::{
            ForwardingPipelineConfig, PacketMetadata, PacketOut,
            stream_message_response::Update as Response,
        },
    },
    server::{DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata, Server, ServerOptions},
    session::{Device, DeviceOptions, Pipeline, PipelineRegistry},
};
use tokio::{net::TcpListener, runtime};

type Failure = Box<dyn Error + Send + Sync>;

/// A closed loop that keeps a number of packet-ins in flight and counts the echoes.
struct Loop {
    outstanding: u64,
    payload: Bytes,
    pairs: AtomicU64,
    sent: AtomicU64,
}

impl Loop {
    fn send(&self, device: &DeviceHandle, count: u64) {
        let packet = |_| PacketIn {
            payload: self.payload.clone(),
            metadata: PacketInMetadata::IngressPort(1),
            tag: 0,
        };
        if let Err(error) = device.send_batch((0..count).map(packet)) {
            eprintln!("{error}");
        }
    }
}

impl DeviceObserver for Loop {
    fn pipeline_committed(&self, device: &DeviceHandle, _pipeline: &Arc<Pipeline>) {
        self.send(device, self.outstanding);
    }

    fn packet_outs(&self, device: &DeviceHandle, _stream: StreamId, packets: &mut Vec<PacketOut>) {
        let count = packets.len() as u64;
        self.pairs.fetch_add(count, Ordering::Relaxed);
        self.send(device, count);
    }

    fn packet_in_sent(&self, _tag: u64) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }
}

fn header(id: u32, name: &str, port: &str) -> ControllerPacketMetadata {
    let metadata = |id, name: &str, bitwidth| Metadata {
        id,
        name: name.to_owned(),
        bitwidth,
        ..Metadata::default()
    };
    ControllerPacketMetadata {
        preamble: Some(Preamble { id, name: name.to_owned(), ..Preamble::default() }),
        metadata: vec![metadata(1, port, 9), metadata(2, "_pad", 7)],
    }
}

fn p4info() -> P4Info {
    P4Info {
        controller_packet_metadata: vec![
            header(0x0400_0001, "packet_in", "ingress_port"),
            header(0x0400_0002, "packet_out", "egress_port"),
        ],
        ..P4Info::default()
    }
}

async fn echo(address: SocketAddr, device_id: u64) -> Result<(), Failure> {
    let mut client =
        Client::connect(&address.to_string(), device_id, &ClientOptions::default()).await?;
    let (sender, mut receiver) =
        client.become_primary("", ElectionId(1), Duration::from_secs(5)).await?;
    let config = ForwardingPipelineConfig { p4info: Some(p4info()), ..Default::default() };
    client.ensure_pipeline(config).await?;
    let metadata = vec![
        PacketMetadata { metadata_id: 1, value: Bytes::from_static(&[1]) },
        PacketMetadata { metadata_id: 2, value: Bytes::from_static(&[0]) },
    ];
    let mut messages = Vec::new();
    while receiver.next_batch(&mut messages, 1024).await? > 0 {
        sender.packet_outs(messages.drain(..).filter_map(|message| match message {
            Response::Packet(packet) => {
                Some(PacketOut { payload: packet.payload, metadata: metadata.clone() })
            }
            _ => None,
        }));
    }
    Ok(())
}

/// Returns the processor time of both threads so far. Linux counts it in hundredths of a second.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The command name, in parentheses, may contain spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (devices, outstanding, seconds) = (number(16)?, number(64)?, number(5)?);

    let observer = Arc::new(Loop {
        outstanding,
        payload: Bytes::from(vec![0x5a; 60]),
        pairs: AtomicU64::new(0),
        sent: AtomicU64::new(0),
    });
    let (told, addresses) = std::sync::mpsc::channel();
    let owner = Arc::clone(&observer);
    thread::spawn(move || -> Result<(), std::io::Error> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let registry = Arc::new(PipelineRegistry::new());
            for id in 1..=devices {
                let device = Device::new(id, DeviceOptions::default(), Arc::clone(&registry));
                let handle = DeviceHandle::new(device, Arc::clone(&owner) as _);
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let _ = told.send((listener.local_addr()?, id));
                let Ok(server) = Server::new([handle], ServerOptions::default()) else { continue };
                tokio::spawn(server.serve(listener, std::future::pending()));
            }
            drop(told);
            std::future::pending().await
        })
    });
    let addresses: Vec<_> = addresses.iter().collect();
    let connecting = Instant::now();
    thread::spawn(move || -> Result<(), std::io::Error> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for (address, id) in addresses {
                tokio::spawn(async move {
                    if let Err(error) = echo(address, id).await {
                        eprintln!("device {id}: {error}");
                    }
                });
            }
            std::future::pending().await
        })
    });

    while observer.sent.load(Ordering::Relaxed) < devices * outstanding {
        thread::sleep(Duration::from_millis(10));
    }
    println!("{devices} devices with their first packets after {:.2?}", connecting.elapsed());
    thread::sleep(Duration::from_millis(500));
    for _ in 0..seconds {
        let (before, start) = (observer.pairs.load(Ordering::Relaxed), Instant::now());
        let cpu_before = cpu_seconds()?;
        thread::sleep(Duration::from_secs(1));
        let pairs = (observer.pairs.load(Ordering::Relaxed) - before) as f64;
        let cpu = cpu_seconds()? - cpu_before;
        let rate = pairs / start.elapsed().as_secs_f64();
        println!("{rate:.0} pairs/s, {:.2} us of processor time for each", cpu / pairs * 1e6);
    }
    Ok(())
}
