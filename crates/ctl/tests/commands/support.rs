//! A device in memory, and sessions with it.

use ctl::{
    CommandError, Device, DeviceError, Flow, Item, Message, PortState, PushAction, Session, Until,
    run_line, view,
};
use entities::Code;
use p4lang::compile_text;
use p4lang::preprocess::{MemoryFiles, Options};
use p4runtime::p4info::Schema;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::proto::{switch, v1};
use p4runtime::store::{Nanos, Store};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// Returns the schema of a program with an object of each kind.
pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    SCHEMA.get_or_init(|| schema_of(include_str!("../../../judge/tests/everything.p4"))).clone()
}

pub(crate) fn schema_of(source: &str) -> Arc<Schema> {
    let compiled = compile_text("test.p4", source, &Options::default(), &MemoryFiles::default());
    let program = compiled.program.expect("the program is right");
    let p4info = p4lang::p4info::generate(&program).expect("it has a P4Info");
    Schema::new(p4info).expect("it is right")
}

/// A device whose entities are in memory.
pub(crate) struct Memory {
    store: Store,
    /// Whether the device has a pipeline.
    pub(crate) has_pipeline: bool,
    /// The messages that the device sends by itself.
    pub(crate) messages: VecDeque<Message>,
    pub(crate) sent: Vec<v1::PacketOut>,
    pub(crate) pushed: Vec<(Vec<String>, PushAction)>,
    pub(crate) queues: queues::Configuration,
    /// The number of requests that would change the device.
    pub(crate) writes: usize,
    /// The files that were written.
    pub(crate) files: BTreeMap<String, String>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self::of(schema())
    }

    pub(crate) fn of(schema: Arc<Schema>) -> Self {
        Self {
            store: Store::new(schema),
            has_pipeline: true,
            messages: VecDeque::new(),
            sent: Vec::new(),
            pushed: Vec::new(),
            queues: queues::Configuration::default(),
            writes: 0,
            files: BTreeMap::new(),
        }
    }
}

fn refused(error: &entities::EntityError) -> DeviceError {
    DeviceError::Refused { code: error.code(), message: error.message().to_owned() }
}

impl Device for Memory {
    fn id(&self) -> u64 {
        3
    }

    fn role(&self) -> &str {
        ""
    }

    fn read(&mut self, requests: &[v1::Entity]) -> Result<Vec<v1::Entity>, DeviceError> {
        let mut found = Vec::new();
        for request in requests {
            let outcome = self.store.read(request, Nanos(0), &mut |entity| found.push(entity));
            outcome.map_err(|error| refused(&error))?;
        }
        Ok(found)
    }

    fn write(&mut self, updates: &[v1::Update]) -> Result<(), DeviceError> {
        self.writes += 1;
        let outcomes = self.store.write_batch(updates, Atomicity::ContinueOnError, Nanos(0));
        outcomes.into_iter().try_for_each(|outcome| outcome.map_err(|error| refused(&error)))
    }

    fn pipeline(&mut self) -> Result<Option<P4Info>, DeviceError> {
        Ok(self.has_pipeline.then(|| self.store.schema().p4info().clone()))
    }

    fn push(&mut self, files: &[String], action: PushAction) -> Result<(), DeviceError> {
        self.has_pipeline = true;
        self.pushed.push((files.to_vec(), action));
        Ok(())
    }

    fn send(&mut self, packet: v1::PacketOut) -> Result<(), DeviceError> {
        self.sent.push(packet);
        Ok(())
    }

    fn listen(
        &mut self,
        _: Until,
        take: &mut dyn FnMut(Message) -> bool,
    ) -> Result<(), DeviceError> {
        while let Some(message) = self.messages.pop_front() {
            if !take(message) {
                break;
            }
        }
        Ok(())
    }

    fn ports(&mut self) -> Result<Vec<PortState>, DeviceError> {
        let port = |number| PortState { number, is_up: number == 1 };
        Ok([1, 2].map(port).into())
    }

    fn configuration(&mut self) -> Result<Vec<u8>, DeviceError> {
        Ok(b"a program".to_vec())
    }

    fn store(&mut self, path: &str, content: &[u8]) -> Result<(), DeviceError> {
        self.files.insert(path.to_owned(), String::from_utf8_lossy(content).into_owned());
        Ok(())
    }

    fn about(&mut self) -> Result<switch::GetSwitchResponse, DeviceError> {
        Ok(switch::GetSwitchResponse {
            version: "a switch 1.0".to_owned(),
            timestamp_ns: 1_700_000_000_123_456_789,
            elapsed_ns: 5_000_999,
            cpu_port: 255,
            workers: 2,
        })
    }

    fn queues(&mut self, ports: &[u32]) -> Result<switch::GetQueuesResponse, DeviceError> {
        let wanted = |port: &&u32| ports.is_empty() || ports.contains(port);
        let found = self.queues.0.keys().filter(wanted);
        let message = |port: &u32| p4runtime::control::message(*port, &self.queues.0[port]);
        let ports = found.map(message).collect();
        Ok(switch::GetQueuesResponse { ports, revision: 7, ..Default::default() })
    }

    fn set_queues(
        &mut self,
        ports: Vec<switch::PortQueues>,
        revision: u64,
    ) -> Result<switch::SetQueuesResponse, DeviceError> {
        assert_eq!(revision, 7, "the change depends on what was read");
        let changes = p4runtime::control::changes(&ports).map_err(|error| refused(&error))?;
        for (port, change) in changes {
            match change {
                Some(config) => drop(self.queues.0.insert(port, config)),
                None => drop(self.queues.0.remove(&port)),
            }
        }
        Ok(switch::SetQueuesResponse::default())
    }

    fn inject(
        &mut self,
        request: switch::InjectRequest,
    ) -> Result<switch::InjectOutcome, DeviceError> {
        let packet = request.packets.into_iter().next().expect("a packet");
        if packet.payload.len() < 14 {
            let message = "the packet is too short".to_owned();
            return Err(DeviceError::Refused { code: Code::InvalidArgument, message });
        }
        let output =
            switch::OutputPacket { port: 2, payload: packet.payload, ..Default::default() };
        let effects = request.effects;
        let trace = request.tracing.map(|tracing| {
            let (values, all) = (tracing.values, tracing.all_outcomes);
            let origin = format!("values {values}, all {all}, effects {effects}");
            protos::trace::Trace { origin, ..Default::default() }
        });
        Ok(switch::InjectOutcome { outputs: vec![output], trace, ..Default::default() })
    }
}

/// Runs a line and returns its results as text, one in a line, or the error.
pub(crate) fn run(session: &mut Session<'_>, line: &str) -> String {
    let schema = session.schema().ok();
    shown(session, line, |item| view(schema.as_deref(), item).text)
}

/// Runs a line and returns its results as JSON, one in a line, or the error.
pub(crate) fn run_json(session: &mut Session<'_>, line: &str) -> String {
    let schema = session.schema().ok();
    shown(session, line, |item| view(schema.as_deref(), item).json.to_string())
}

fn shown(session: &mut Session<'_>, line: &str, show: impl Fn(&Item) -> String) -> String {
    let mut items = Vec::new();
    let outcome = run_line(session, line, &mut |item| items.push(item));
    let mut texts: Vec<String> = items.iter().map(show).collect();
    if let Err(error) = outcome {
        texts.push(format!("error: {error}"));
    }
    texts.join("\n")
}

/// Runs lines, all of which must succeed without a result.
pub(crate) fn silent(session: &mut Session<'_>, lines: &[&str]) {
    for line in lines {
        assert_eq!(run(session, line), "", "{line}");
    }
}

/// Returns the error of a line.
pub(crate) fn error(session: &mut Session<'_>, line: &str) -> CommandError {
    let outcome: Result<Flow, CommandError> = run_line(session, line, &mut |_| {});
    outcome.expect_err(line)
}
