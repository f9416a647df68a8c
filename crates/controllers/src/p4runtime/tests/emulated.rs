//! An emulated switch that records what controllers do to it, and a controller that runs in the
//! background of a test.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::p4runtime::arbitration::StreamId;
use ::p4runtime::proto::config::P4Info;
use ::p4runtime::proto::v1::{self, Update};
use ::p4runtime::server::{
    DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata, Server, ServerOptions,
};
use ::p4runtime::session::{self, Device, DeviceOptions, PipelineRegistry};
use ::p4runtime::status::EntityError;
use ::p4runtime::value;
use bytes::Bytes;
use rustix::net::{self, AddressFamily, SocketType};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

use super::super::{Controller, Options, Target};
use crate::{Counters, Counts};

pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// An event at an emulated switch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    /// The switch runs a pipeline with this P4Info and device configuration.
    Pipeline(Box<P4Info>, Bytes),
    /// A controller wrote these updates, of which the switch refused the given number.
    Written(Vec<Update>, usize),
    /// A controller sent a packet-out. The fields are the egress port, the ingress port and the
    /// payload.
    PacketOut(u32, u32, Bytes),
}

impl Event {
    pub(super) fn packet_out(egress: u32, ingress: u32, payload: &[u8]) -> Self {
        Self::PacketOut(egress, ingress, Bytes::copy_from_slice(payload))
    }
}

struct Observer(Mutex<Sender<Event>>);

impl Observer {
    fn tell(&self, event: Event) {
        // The test may have ended.
        let _ = self.0.lock().unwrap().send(event);
    }
}

impl DeviceObserver for Observer {
    fn pipeline_committed(&self, _: &DeviceHandle, pipeline: &Arc<session::Pipeline>) {
        let p4info = Box::new(pipeline.p4info().clone());
        self.tell(Event::Pipeline(p4info, pipeline.device_config().clone()));
    }

    fn written(
        &self,
        _: &DeviceHandle,
        request: &v1::WriteRequest,
        outcomes: &[Result<(), EntityError>],
    ) {
        let refused = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        self.tell(Event::Written(request.updates.clone(), refused));
    }

    fn packet_outs(&self, _: &DeviceHandle, _: StreamId, packets: &mut Vec<v1::PacketOut>) {
        for packet in packets.drain(..) {
            let number = |id| {
                let field = packet.metadata.iter().find(|field| field.metadata_id == id).unwrap();
                u32::try_from(value::decode(&field.value).unwrap()).unwrap()
            };
            self.tell(Event::PacketOut(number(1), number(2), packet.payload.clone()));
        }
    }
}

/// An emulated switch whose server runs until this value is dropped.
pub(super) struct Emulated {
    address: SocketAddr,
    device: DeviceHandle,
    events: Receiver<Event>,
    serving: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Emulated {
    pub(super) fn start(device_id: u64, options: ServerOptions) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), device_id, options)
    }

    pub(super) fn start_at(address: SocketAddr, device_id: u64, options: ServerOptions) -> Self {
        Self::serve(address, device_id..=device_id, options)
    }

    /// Starts a server for several switches at one address. The packets of a test are sent by the
    /// first switch.
    pub(super) fn serve(
        address: SocketAddr,
        device_ids: RangeInclusive<u64>,
        options: ServerOptions,
    ) -> Self {
        let (sender, events) = channel();
        let registry = Arc::new(PipelineRegistry::new());
        let observer: Arc<dyn DeviceObserver> = Arc::new(Observer(Mutex::new(sender)));
        let devices: Vec<_> = device_ids
            .map(|id| Device::new(id, DeviceOptions::default(), Arc::clone(&registry)))
            .map(|device| DeviceHandle::new(device, Arc::clone(&observer)))
            .collect();
        let device = devices[0].clone();
        // Clients that stay are disconnected immediately.
        let options = ServerOptions { grace: Duration::ZERO, ..options };
        let server = Server::new(devices, options).unwrap();
        let (bound_sender, bound) = channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = listen(address);
                bound_sender.send(listener.local_addr().unwrap()).unwrap();
                let shutdown = async {
                    let _ = stopped.await;
                };
                server.serve(listener, shutdown).await;
            });
        });
        let address = bound.recv_timeout(TIMEOUT).expect("a listening switch");
        Self { address, device, events, serving: Some((stop, thread)) }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn target(&self) -> Target {
        Target { device_id: self.device.id(), address: self.address.to_string() }
    }

    /// Returns the next event at a switch, and waits for it if necessary.
    pub(super) fn event(&self) -> Event {
        self.events.recv_timeout(TIMEOUT).expect("an event")
    }

    /// Returns the next updates that a controller wrote. Packet-outs before them are ignored.
    pub(super) fn written(&self) -> Vec<Update> {
        loop {
            match self.event() {
                Event::Written(updates, 0) => return updates,
                Event::PacketOut(..) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Waits until a controller has pushed its pipeline and written its initial updates.
    pub(super) fn skip_set_up(&self) {
        assert!(matches!(self.event(), Event::Pipeline(..)));
        assert!(matches!(self.event(), Event::Written(_, 0)));
    }

    pub(super) fn packet(&self, port: u32, payload: &[u8]) {
        self.packets([(port, payload.to_vec())]);
    }

    pub(super) fn packets(&self, packets: impl IntoIterator<Item = (u32, Vec<u8>)>) {
        let packet = |(port, payload): (u32, Vec<u8>)| PacketIn {
            payload: payload.into(),
            metadata: PacketInMetadata::IngressPort(port),
            tag: 0,
        };
        let packets: Vec<_> = packets.into_iter().map(packet).collect();
        let count = packets.len();
        assert_eq!(self.device.send_batch(packets), Ok(count));
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.serving.take() {
            drop(stop);
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the switch failed");
        }
    }
}

/// Reserves an address. Connections to it are refused until a switch listens on it, and no other
/// socket can be assigned the address.
pub(super) fn reserve() -> (SocketAddr, OwnedFd) {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    net::sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    (net::getsockname(&socket).unwrap().try_into().unwrap(), socket)
}

/// Listens on an address, even if it is reserved or was in use shortly before.
fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket.listen(128).unwrap()
}

/// Runs a controller while `test` runs, and returns its counts.
pub(super) fn with_controller(
    targets: impl IntoIterator<Item = Target>,
    options: Options,
    test: impl FnOnce(&Watched),
) -> Counts {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let controller = Controller::new(targets.into_iter().collect(), options).unwrap();
    let watched = Watched(controller.counters());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| controller.run(&stop));
        {
            // The guard stops the controller even if the test fails.
            let _stop = Stop(&stop);
            test(&watched);
        }
        running.join().unwrap().unwrap();
    });
    watched.0.counts()
}

/// The counters of a running controller.
pub(super) struct Watched(Arc<Counters>);

impl Watched {
    /// Waits until `expected` returns true for the controller's counts. Panics after a time limit.
    pub(super) fn wait(&self, expected: impl Fn(&Counts) -> bool) {
        let start = Instant::now();
        while !expected(&self.0.counts()) {
            assert!(start.elapsed() < TIMEOUT, "{:?}", self.0.counts());
            std::thread::yield_now();
        }
    }
}
