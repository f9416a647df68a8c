//! The device of a running switch, with payloads that any client may send to it, and packets in
//! between. The fuzz target `switch` runs it, and so does a test that needs no fuzzer.
//!
//! An input is a list of records. A record is a byte for the kind, two bytes for the length
//! (big-endian), and the payload: the message of a gRPC call, or a packet. All requests are changed
//! so that they come from the primary client. The fuzz target `device` covers other clients.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use ir::Program;
use p4lang::preprocess::{MemoryFiles, Options};
use p4runtime::arbitration::{ElectionId, StreamId};
use p4runtime::proto::v1::{
    self, set_forwarding_pipeline_config_request::Action, stream_message_request::Update,
};
use p4runtime::session::{
    Device, DeviceOptions, Effect, PipelineRegistry, ReadStep, StateVisitor, WriteLog, Written,
};
use p4runtime::status::EntityError;
use p4runtime::store::Nanos;
use pipeline::{InterpreterTarget, Path, Ports, Worker};
use prost::Message;

const DEVICE: u64 = 1;
const PRIMARY: StreamId = StreamId(1);
const SOURCE: &str = include_str!("../data/every_kind.p4");
/// The largest number of steps after which an unfinished answer to a Read is dropped.
const STEPS: usize = 64;

/// The program that every pushed configuration runs. Other fuzz targets cover the compiler.
static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let (options, files) = (Options::default(), MemoryFiles::default());
    let compiled = p4lang::compile_text("every_kind.p4", SOURCE, &options, &files);
    compiled.program.expect("it is right")
});

/// The kind of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Write,
    Read,
    SetPipeline,
    Stream,
    /// A packet, after its port in one byte.
    Packet,
    /// The milliseconds that pass, in one or two bytes.
    Time,
}

const KINDS: [Kind; 6] =
    [Kind::Write, Kind::Read, Kind::SetPipeline, Kind::Stream, Kind::Packet, Kind::Time];

/// A device, its data plane, and a worker.
pub(crate) struct Running {
    device: Device,
    ports: Ports,
    worker: Worker,
    now: Nanos,
    /// The number of updates that were accepted.
    pub(crate) accepted: usize,
    /// The number of packets that left.
    pub(crate) left: usize,
}

impl Running {
    pub(crate) fn on(path: Path) -> Self {
        let (device, ports) = device(path);
        let worker = ports.worker();
        let mut running = Self { device, ports, worker, now: Nanos(0), accepted: 0, left: 0 };
        let update = v1::MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: Some(ElectionId(1).into()),
            ..Default::default()
        };
        running.stream(Update::Arbitration(update));
        assert!(running.device.arbitration().is_primary(PRIMARY));
        running
    }

    /// Carries out the records of an input, up to the first one that is cut off.
    pub(crate) fn carry_out(&mut self, mut input: &[u8]) {
        while let Some((&[kind, high, low], rest)) = input.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes([high, low]));
            let Some((payload, rest)) = rest.split_at_checked(length) else { break };
            input = rest;
            self.record(KINDS[usize::from(kind) % KINDS.len()], payload);
        }
    }

    fn record(&mut self, kind: Kind, payload: &[u8]) {
        match kind {
            Kind::Write => {
                if let Ok(request) = v1::WriteRequest::decode(payload) {
                    self.write(request);
                }
            }
            Kind::Read => {
                if let Ok(request) = v1::ReadRequest::decode(payload) {
                    self.read(request);
                }
            }
            Kind::SetPipeline => {
                if let Ok(request) = v1::SetForwardingPipelineConfigRequest::decode(payload) {
                    self.set_pipeline(request);
                }
            }
            Kind::Stream => {
                let update = v1::StreamMessageRequest::decode(payload).ok();
                match update.and_then(|message| message.update) {
                    // The primary client stays the primary.
                    None | Some(Update::Arbitration(_)) => {}
                    Some(update) => self.stream(update),
                }
            }
            Kind::Packet => {
                if let Some((&port, packet)) = payload.split_first() {
                    self.packet(port.into(), packet);
                }
            }
            Kind::Time => {
                let milliseconds =
                    payload.iter().take(2).fold(0, |sum, one| sum << 8 | u64::from(*one));
                self.now.0 += milliseconds * 1_000_000;
                self.device.tick(self.now, &mut Vec::new());
            }
        }
    }

    fn write(&mut self, request: v1::WriteRequest) {
        let request = v1::WriteRequest {
            device_id: DEVICE,
            election_id: Some(ElectionId(1).into()),
            role: String::new(),
            role_id: 0,
            ..request
        };
        // A request with an unknown atomicity is refused as a whole.
        let Ok(outcomes) = self.device.write(&request, self.now) else { return };
        assert_eq!(outcomes.len(), request.updates.len());
        let accepted = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let is_fused = request.atomicity == 0 || accepted == 0 || accepted == outcomes.len();
        assert!(
            is_fused,
            "{accepted} of {} updates of a batch that is all or none",
            outcomes.len()
        );
        self.accepted += accepted;
    }

    fn read(&mut self, request: v1::ReadRequest) {
        let asked = request.entities.len();
        let request = v1::ReadRequest { device_id: DEVICE, role: String::new(), ..request };
        let mut answer = self.device.read(request, self.now).expect("a pipeline runs");
        for _ in 0..STEPS {
            match answer.step() {
                ReadStep::Message(message) => drop(message.decode().expect("it is a message")),
                ReadStep::Busy => {}
                ReadStep::End(outcomes) => return assert_eq!(outcomes.len(), asked),
            }
        }
    }

    fn set_pipeline(&mut self, request: v1::SetForwardingPipelineConfigRequest) {
        let is_commit = request.action == Action::Commit as i32;
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(ElectionId(1).into()),
            role: String::new(),
            role_id: 0,
            // A request without a configuration gets the valid one, unless it is a commit.
            config: request.config.or_else(|| (!is_commit).then(config)),
            ..request
        };
        let mut effects = Vec::new();
        // Whether or not the configuration is refused, a pipeline runs afterwards.
        let _ = self.device.set_pipeline(request, self.now, &mut effects);
        assert!(self.device.pipeline().is_some());
    }

    fn stream(&mut self, update: Update) {
        let mut effects = Vec::new();
        let message = v1::StreamMessageRequest { update: Some(update) };
        self.device.stream_message(PRIMARY, message, &mut effects);
        for effect in effects {
            let (Effect::PacketOut { packet, .. }, Some(pipeline)) =
                (effect, self.device.pipeline())
            else {
                continue;
            };
            let translations = self.ports.translations();
            let layout = pipeline.packet_out();
            let header =
                layout.and_then(|layout| layout.header(&packet.metadata, translations.as_deref()));
            let framed = [&header.unwrap_or_default()[..], &packet.payload[..]].concat();
            self.packet(255, &framed);
        }
    }

    fn packet(&mut self, port: u32, packet: &[u8]) {
        let mut outputs = Vec::new();
        let now = Duration::from_nanos(self.now.0);
        match self.worker.process(port, packet, now, &mut outputs) {
            Ok(()) => self.left += outputs.len(),
            Err(_) => assert!(outputs.is_empty(), "a fault lets nothing leave"),
        }
        for (id, data) in self.ports.take_digests() {
            self.device.digest(id, data, self.now, &mut Vec::new());
        }
    }

    /// Checks that the state that is kept over a restart can be written to a device that was just
    /// given the same pipeline.
    pub(crate) fn check_restart(mut self) {
        let log = Recorded::default();
        self.device.set_log(Box::new(log.clone()));
        self.device.record_all(self.now).expect("the pipeline can be loaded again");
        let updates = std::mem::take(&mut *log.0.lock().expect("no test panicked"));
        let running = self.device.pipeline().expect("one runs");
        let again = v1::ForwardingPipelineConfig {
            p4info: Some(running.p4info().clone()),
            p4_device_config: running.device_config().clone(),
            cookie: None,
        };
        let (mut restarted, _) = device(Path::Interpreter);
        restarted.preload(again).expect("it ran before");
        for update in updates {
            let installed = restarted.install(std::slice::from_ref(&update), self.now);
            installed.unwrap_or_else(|(_, error)| panic!("{error}: {update:?}"));
        }
    }
}

/// The updates that restore a device.
#[derive(Clone, Debug, Default)]
struct Recorded(Arc<Mutex<Vec<v1::Update>>>);

impl WriteLog for Recorded {
    fn append(&mut self, _written: Written<'_>) -> Result<(), EntityError> {
        Ok(())
    }

    fn begin(&mut self, _config: v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        Ok(())
    }

    fn replace(
        &mut self,
        _config: v1::ForwardingPipelineConfig,
        _pairs: &[entities::TranslationPair],
        state: &mut StateVisitor<'_>,
    ) -> Result<(), EntityError> {
        let mut updates = self.0.lock().expect("no test panicked");
        state(&mut |update| updates.push(update))
    }
}

fn device(path: Path) -> (Device, Ports) {
    let target = InterpreterTarget::new(Box::new(|_| Ok(PROGRAM.clone()))).on(path);
    let ports = target.ports();
    let registry = Arc::new(PipelineRegistry::new());
    let mut device = Device::over(Box::new(target), DEVICE, DeviceOptions::default(), registry);
    device.preload(config()).expect("it runs");
    (device, ports)
}

pub(crate) fn config() -> v1::ForwardingPipelineConfig {
    static CONFIG: LazyLock<v1::ForwardingPipelineConfig> = LazyLock::new(|| {
        let p4info = p4lang::p4info::generate(&PROGRAM).expect("it has one");
        v1::ForwardingPipelineConfig { p4info: Some(p4info), ..Default::default() }
    });
    CONFIG.clone()
}
