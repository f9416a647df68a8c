//! A pair of devices with the same pipeline, which must give the same answers: one that only stores
//! what is written, and one that runs the pipeline.

use std::sync::Arc;

use entities::EntityError;
use p4runtime::arbitration::{ElectionId, StreamId};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity as Kind;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::session::{Device, DeviceOptions, Effect, PipelineRegistry};
use p4runtime::status::Code;
use p4runtime::store::Nanos;
use pipeline::{InterpreterTarget, Ports};
use prost::Message as _;

pub(crate) const DEVICE: u64 = 1;

/// A program with every kind of table and array.
pub(crate) const PROGRAM: &str = include_str!("../data/every_kind.p4");

/// Compiles the source text that a controller pushes.
pub(crate) fn compile(device_config: &[u8]) -> Result<ir::Program, EntityError> {
    let source = std::str::from_utf8(device_config)
        .map_err(|_| EntityError::invalid("the device configuration is not text"))?;
    let compiled = p4lang::compile_text(
        "pushed.p4",
        source,
        &p4lang::preprocess::Options::default(),
        &p4lang::preprocess::MemoryFiles::default(),
    );
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program.ok_or_else(|| EntityError::invalid(messages.to_string()))
}

pub(crate) fn config(source: &str) -> v1::ForwardingPipelineConfig {
    let program = compile(source.as_bytes()).expect("compiles");
    let p4info = p4lang::p4info::generate(&program).expect("P4Info");
    v1::ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: source.as_bytes().to_vec().into(),
        cookie: None,
    }
}

pub(crate) struct Both {
    pub(crate) schema: Arc<Schema>,
    pub(crate) emulated: Device,
    pub(crate) interpreted: Device,
    pub(crate) ports: Ports,
}

impl Both {
    pub(crate) fn new() -> Self {
        let registry = Arc::new(PipelineRegistry::new());
        let target = InterpreterTarget::new(Box::new(compile));
        let ports = target.ports();
        let options = DeviceOptions::default();
        let emulated = Device::new(DEVICE, options.clone(), Arc::clone(&registry));
        let interpreted = Device::over(Box::new(target), DEVICE, options, registry);
        let config = config(PROGRAM);
        let schema = Schema::new(config.p4info.clone().expect("P4Info")).expect("valid");
        let mut both = Self { schema, emulated, interpreted, ports };
        both.each(|device| {
            device.preload(config.clone()).expect("runs");
            let update = v1::MasterArbitrationUpdate {
                device_id: DEVICE,
                election_id: Some(ElectionId(1).into()),
                ..Default::default()
            };
            let update = v1::stream_message_request::Update::Arbitration(update);
            let request = v1::StreamMessageRequest { update: Some(update) };
            device.stream_message(StreamId(1), request, &mut Vec::new());
        });
        both
    }

    /// Applies an operation to both devices and returns its result.
    ///
    /// # Panics
    /// Panics if the results differ.
    pub(crate) fn each<T: PartialEq + std::fmt::Debug>(
        &mut self,
        mut act: impl FnMut(&mut Device) -> T,
    ) -> T {
        let emulated = act(&mut self.emulated);
        let interpreted = act(&mut self.interpreted);
        assert_eq!(interpreted, emulated, "the interpreter, and the emulated switch");
        emulated
    }

    /// Writes a batch to both devices and returns the codes.
    pub(crate) fn write(
        &mut self,
        updates: &[v1::Update],
        atomicity: Atomicity,
        now: Nanos,
    ) -> Vec<Code> {
        let request = v1::WriteRequest {
            device_id: DEVICE,
            election_id: Some(ElectionId(1).into()),
            updates: updates.to_vec(),
            atomicity: atomicity.into(),
            ..Default::default()
        };
        self.each(|device| {
            let outcomes = device.write(&request, now).expect("the primary may");
            let code = |outcome: &Result<(), EntityError>| match outcome {
                Ok(()) => Code::Ok,
                Err(error) => error.code(),
            };
            outcomes.iter().map(code).collect::<Vec<_>>()
        })
    }

    /// Reads from both devices and returns the entities, sorted, since each device has its own
    /// order.
    pub(crate) fn read(&mut self, entities: Vec<Kind>, now: Nanos) -> Vec<v1::Entity> {
        let entities = entities.into_iter().map(|kind| v1::Entity { entity: Some(kind) });
        let request = v1::ReadRequest {
            device_id: DEVICE,
            entities: entities.collect(),
            ..Default::default()
        };
        self.each(|device| {
            let (messages, outcomes) =
                device.read(request.clone(), now).expect("there is a pipeline").into_whole();
            let mut found: Vec<v1::Entity> =
                messages.into_iter().flat_map(|message| message.entities).collect();
            found.sort_by_key(v1::Entity::encode_to_vec);
            let codes = outcomes.into_iter().map(|outcome| outcome.map_err(|error| error.code()));
            (found, codes.collect::<Vec<_>>())
        })
        .0
    }

    /// Returns the entries that both devices report as idle, sorted.
    pub(crate) fn idle(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        use v1::stream_message_response::Update;

        self.each(|device| {
            let mut effects = Vec::new();
            device.tick(now, &mut effects);
            let told = effects.into_iter().filter_map(|effect| match effect {
                Effect::Send { message, .. } => match message.update {
                    Some(Update::IdleTimeoutNotification(told)) => Some(told.table_entry),
                    _ => None,
                },
                _ => None,
            });
            let mut told: Vec<v1::TableEntry> = told.flatten().collect();
            told.sort_by_key(v1::TableEntry::encode_to_vec);
            told
        })
    }

    pub(crate) fn table(&self, name: &str) -> u32 {
        self.schema.tables().by_name(&format!("I.{name}")).expect("a table").id.0
    }

    pub(crate) fn action(&self, name: &str) -> u32 {
        self.schema.actions().by_name(&format!("I.{name}")).expect("an action").id.0
    }
}

/// Returns a wildcard for every kind of entity. Entries include the data that a read must request.
pub(crate) fn everything() -> Vec<Kind> {
    use v1::packet_replication_engine_entry::Type;

    let entries = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..Default::default()
    };
    let defaults = v1::TableEntry { is_default_action: true, ..entries.clone() };
    let replication = |kind| {
        Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(kind) })
    };
    vec![
        Kind::TableEntry(entries),
        Kind::TableEntry(defaults),
        Kind::DirectCounterEntry(Default::default()),
        Kind::DirectMeterEntry(Default::default()),
        Kind::ActionProfileMember(Default::default()),
        Kind::ActionProfileGroup(Default::default()),
        Kind::CounterEntry(Default::default()),
        Kind::MeterEntry(Default::default()),
        Kind::RegisterEntry(Default::default()),
        Kind::ValueSetEntry(Default::default()),
        Kind::DigestEntry(Default::default()),
        replication(Type::MulticastGroupEntry(Default::default())),
        replication(Type::CloneSessionEntry(Default::default())),
    ]
}

pub(crate) fn update(kind: v1::update::Type, entity: Kind) -> v1::Update {
    v1::Update { r#type: kind.into(), entity: Some(v1::Entity { entity: Some(entity) }) }
}
