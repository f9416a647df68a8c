//! A device, and everything that clients may do to it from outside. This is the body of the fuzz
//! target `device` and of a test that needs no fuzzer.
//!
//! After every step it checks that nothing panicked and that the guarantees of the specification
//! hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use entities::{Data, schema::DigestId};
use p4runtime::{
    arbitration::{RoleKey, StreamId},
    p4info::text,
    proto::{
        config::P4Info,
        v1::{
            self, entity::Entity, set_forwarding_pipeline_config_request::Action,
            stream_message_request::Update as Request, stream_message_response::Update as Response,
        },
    },
    session::{Device, DeviceOptions, Effect, PipelineRegistry},
    status::Code,
    store::Nanos,
};
use prost::Message;
use prost_types::Any;

const EVERYTHING: &str = include_str!("../data/everything.p4info.txtpb");
const DEVICE: u64 = 7;
const TABLE: u32 = 0x0200_0001;

/// A source of decisions: either a small pseudo-random generator (SplitMix64, Steele et al., OOPSLA
/// 2014), or given bytes, of which each decision consumes one while any are left.
pub(crate) struct Random {
    given: std::vec::IntoIter<u8>,
    state: u64,
}

impl Random {
    #[allow(dead_code, reason = "only the fuzz target passes bytes")]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { given: Vec::new().into_iter(), state: seed }
    }

    #[allow(dead_code, reason = "only the test passes a seed")]
    pub(crate) fn given(bytes: &[u8]) -> Self {
        Self { given: Vec::from(bytes).into_iter(), state: 0 }
    }

    /// Returns whether some of the given bytes are left.
    #[allow(dead_code, reason = "only the test passes a seed")]
    pub(crate) fn is_left(&self) -> bool {
        !self.given.as_slice().is_empty()
    }

    fn next(&mut self) -> u64 {
        if let Some(byte) = self.given.next() {
            return byte.into();
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Decodes a copy of the message. In one of eight cases, a few of its bytes are changed first.
    /// Returns `None` if it can no longer be decoded.
    fn damaged<M: Message + Default>(&mut self, message: &M) -> Option<M> {
        let mut bytes = message.encode_to_vec();
        if self.below(8) == 0 && !bytes.is_empty() {
            for _ in 0..1 + self.below(3) {
                let at = self.below(bytes.len() as u64) as usize;
                bytes[at] = self.next() as u8;
            }
        }
        M::decode(bytes.as_slice()).ok()
    }
}

fn id(low: u64) -> Option<v1::Uint128> {
    Some(v1::Uint128 { high: 0, low })
}

fn p4info(version: u64) -> P4Info {
    let mut p4info = text::parse(EVERYTHING).expect("valid text");
    if let Some(package) = &mut p4info.pkg_info {
        package.version = version.to_string();
    }
    p4info
}

/// Returns an entry of the first table, in the form in which it is read back.
fn entry(port: u8) -> v1::TableEntry {
    let exact = |field_id, value: &[u8]| v1::FieldMatch {
        field_id,
        field_match_type: Some(v1::field_match::FieldMatchType::Exact(v1::field_match::Exact {
            value: Bytes::copy_from_slice(value),
        })),
    };
    let drop = v1::Action { action_id: 0x0100_0002, params: Vec::new() };
    v1::TableEntry {
        table_id: TABLE,
        r#match: vec![exact(1, &[port]), exact(2, &[9])],
        action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(drop)) }),
        ..v1::TableEntry::default()
    }
}

/// A device, and the state that is visible to its clients.
pub(crate) struct Outside {
    pub(crate) device: Device,
    pub(crate) random: Random,
    effects: Vec<Effect>,
    /// The streams that have arbitrated and were not closed.
    live: BTreeSet<u64>,
    /// The last status that each open stream received.
    told: BTreeMap<u64, i32>,
    /// The last highest election id that each role received.
    highest: BTreeMap<String, v1::Uint128>,
    now: u64,
    /// The numbers of updates that succeeded and of pipelines that were reconciled.
    pub(crate) written: usize,
    pub(crate) reconciled: usize,
    /// Whether a pipeline is saved and waits for COMMIT.
    saved: bool,
}

impl Outside {
    pub(crate) fn new(random: Random) -> Self {
        let registry = Arc::new(PipelineRegistry::new());
        Self {
            device: Device::new(DEVICE, DeviceOptions::default(), registry),
            random,
            effects: Vec::new(),
            live: BTreeSet::new(),
            told: BTreeMap::new(),
            highest: BTreeMap::new(),
            now: 1,
            written: 0,
            reconciled: 0,
            saved: false,
        }
    }

    /// Loads the program before any client connects.
    pub(crate) fn preload(&mut self) {
        let config = v1::ForwardingPipelineConfig {
            p4info: Some(p4info(0)),
            ..v1::ForwardingPipelineConfig::default()
        };
        self.device.preload(config).expect("a valid pipeline");
    }

    fn role(&mut self) -> &'static str {
        ["", "", "a", "b"][self.random.below(4) as usize]
    }

    /// Returns an election id, mostly that of the primary.
    fn election_id(&mut self, role: &str) -> Option<v1::Uint128> {
        match self.random.below(8) {
            0 => None,
            1 | 2 => id(self.random.below(5)),
            _ => self.highest.get(role).copied().or(id(1)),
        }
    }

    /// Performs one random action of a client.
    pub(crate) fn step(&mut self) {
        self.now += self.random.below(1_000_000);
        match self.random.below(12) {
            0..=2 => self.arbitrate(),
            3 => self.other_message(),
            4 => self.leave(),
            5..=7 => self.write(),
            8 => self.read(),
            9 if self.random.below(4) == 0 => self.push(),
            9 | 10 => self.device.tick(Nanos(self.now), &mut self.effects),
            _ => {
                let data = Data::Bool(false);
                self.device.digest(DigestId(0x1700_0001), data, Nanos(self.now), &mut self.effects);
            }
        }
        self.follow();
        self.check();
    }

    fn message(&mut self, stream: u64, request: &v1::StreamMessageRequest) {
        let Some(request) = self.random.damaged(request) else { return };
        self.device.stream_message(StreamId(stream), request, &mut self.effects);
        if self.device.arbitration().role_of(StreamId(stream)).is_some() {
            self.live.insert(stream);
        }
    }

    fn arbitrate(&mut self) {
        let stream = self.random.below(6);
        let name = self.role();
        let config = (self.random.below(4) == 0).then(|| Any {
            type_url: "type.googleapis.com/stratum.P4RoleConfig".to_owned(),
            value: vec![0x20, 1, 0x28, 1],
        });
        let update = v1::MasterArbitrationUpdate {
            device_id: DEVICE,
            role: (!name.is_empty()).then(|| v1::Role { id: 0, name: name.to_owned(), config }),
            election_id: self.election_id(name),
            status: None,
        };
        let request = v1::StreamMessageRequest { update: Some(Request::Arbitration(update)) };
        self.message(stream, &request);
    }

    fn other_message(&mut self) {
        let stream = self.random.below(6);
        let metadata = |metadata_id, value| v1::PacketMetadata {
            metadata_id,
            value: Bytes::from_static(value),
        };
        let update = match self.random.below(3) {
            0 => Request::Packet(v1::PacketOut {
                payload: Bytes::from_static(b"payload"),
                metadata: vec![metadata(1, b"\x01\x01"), metadata(2, b"\x00")],
            }),
            1 => Request::DigestAck(v1::DigestListAck {
                digest_id: 0x1700_0001,
                list_id: self.random.below(9),
            }),
            _ => Request::Other(Any::default()),
        };
        let request = v1::StreamMessageRequest { update: Some(update) };
        self.message(stream, &request);
    }

    fn leave(&mut self) {
        let stream = self.random.below(6);
        self.device.stream_closed(StreamId(stream), &mut self.effects);
        self.live.remove(&stream);
        self.told.remove(&stream);
    }

    fn write(&mut self) {
        let role = self.role().to_owned();
        let election_id = self.election_id(&role);
        let updates = (0..self.random.below(4)).map(|_| v1::Update {
            r#type: [1, 1, 2, 3, 0][self.random.below(5) as usize],
            entity: Some(v1::Entity {
                entity: Some(Entity::TableEntry(entry(self.random.below(3) as u8))),
            }),
        });
        let request = v1::WriteRequest {
            updates: updates.collect(),
            device_id: DEVICE,
            role,
            election_id,
            atomicity: self.random.below(3) as i32,
            ..v1::WriteRequest::default()
        };
        let Some(request) = self.random.damaged(&request) else { return };
        let outcome = self.device.write(&request, Nanos(self.now));
        // Only the primary of the role can write, with its own election id.
        let role = RoleKey::new(&request.role, request.role_id);
        let primary = self.device.arbitration().authorize(&role, request.election_id.as_ref());
        match outcome {
            Ok(outcomes) => {
                assert_eq!(primary, Ok(()));
                assert_eq!(outcomes.len(), request.updates.len());
                self.written += outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            }
            Err(error) if request.device_id != DEVICE => assert_eq!(error.code(), Code::NotFound),
            Err(error) => match primary {
                Err(primary) => assert_eq!(error.code(), primary.code()),
                Ok(()) => assert!(
                    matches!(error.code(), Code::FailedPrecondition | Code::InvalidArgument),
                    "{error}"
                ),
            },
        }
    }

    fn read(&mut self) {
        let request = v1::ReadRequest {
            device_id: DEVICE,
            role: self.role().to_owned(),
            entities: vec![v1::Entity { entity: Some(Entity::TableEntry(entry(1))) }],
        };
        let Some(request) = self.random.damaged(&request) else { return };
        match self.device.read(request.clone(), Nanos(self.now)) {
            Ok(answer) => {
                let (messages, outcomes) = answer.into_whole();
                assert_eq!(outcomes.len(), request.entities.len());
                assert!(!messages.is_empty() || outcomes.iter().any(Result::is_err));
            }
            Err(error) if request.device_id != DEVICE => assert_eq!(error.code(), Code::NotFound),
            Err(error) => assert_eq!(error.code(), Code::FailedPrecondition),
        }
    }

    fn push(&mut self) {
        let action = self.random.below(7) as i32;
        let commit = action == Action::Commit as i32;
        let version = self.random.below(2);
        let role = self.role().to_owned();
        let election_id = self.election_id(&role);
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            role,
            election_id,
            action,
            config: (!commit).then(|| v1::ForwardingPipelineConfig {
                p4info: Some(p4info(version)),
                ..v1::ForwardingPipelineConfig::default()
            }),
            ..v1::SetForwardingPipelineConfigRequest::default()
        };
        let before = self.entries();
        let outcome = self
            .device
            .set_pipeline(request, Nanos(self.now), &mut self.effects)
            .map_err(|e| e.code());
        let accepted = outcome.is_ok();
        match (Action::try_from(action), outcome) {
            (Ok(Action::ReconcileAndCommit), Ok(())) => {
                // Both versions of the program can hold the same entries. Writes to a saved
                // pipeline are not part of the running state, and are dropped with the saved
                // pipeline.
                if let Some(before) = before.filter(|_| !self.saved) {
                    self.reconciled += usize::from(!before.is_empty());
                    assert_eq!(self.entries(), Some(before));
                }
            }
            (Ok(Action::VerifyAndCommit), Ok(())) => assert_eq!(self.entries(), Some(Vec::new())),
            (Ok(Action::Verify), Ok(())) | (_, Err(_)) => assert_eq!(self.entries(), before),
            _ => {}
        }
        if accepted && action != Action::Verify as i32 {
            self.saved = action == Action::VerifyAndSave as i32;
        }
    }

    /// Returns the entries of the first table, in the pipeline that Reads refer to.
    fn entries(&self) -> Option<Vec<v1::Entity>> {
        let wildcard = v1::TableEntry { table_id: TABLE, ..v1::TableEntry::default() };
        let request = v1::ReadRequest {
            device_id: DEVICE,
            entities: vec![v1::Entity { entity: Some(Entity::TableEntry(wildcard)) }],
            ..v1::ReadRequest::default()
        };
        let (messages, _) = self.device.read(request, Nanos(self.now)).ok()?.into_whole();
        Some(messages.into_iter().flat_map(|message| message.entities).collect())
    }

    /// Executes the effects, as the owner of the transport must.
    fn follow(&mut self) {
        while !self.effects.is_empty() {
            for effect in std::mem::take(&mut self.effects) {
                match effect {
                    Effect::Send { to, message } => {
                        let stranger = matches!(message.update, Some(Response::Error(_)));
                        assert!(stranger || self.live.contains(&to.0), "{message:?} to nobody");
                        if let Some(Response::Arbitration(update)) = message.update {
                            let status = update.status.expect("always set");
                            self.told.insert(to.0, status.code);
                            let role = update.role.unwrap_or_default().name;
                            self.highest.extend(update.election_id.map(|id| (role, id)));
                        }
                    }
                    Effect::Close { stream, error } => {
                        assert_ne!(error.code(), Code::Ok);
                        self.device.stream_closed(stream, &mut self.effects);
                        self.live.remove(&stream.0);
                        self.told.remove(&stream.0);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Checks that every controller knows its position: the primary received OK, and the others
    /// know that there is a primary or that there is none (specification 1.5, "Client Arbitration
    /// Notifications").
    fn check(&self) {
        let arbitration = self.device.arbitration();
        for stream in &self.live {
            let role = arbitration.role_of(StreamId(*stream)).expect("live");
            let expected = match arbitration.primary(role) {
                Some(primary) if primary == StreamId(*stream) => Code::Ok as i32,
                Some(_) => Code::AlreadyExists as i32,
                None => Code::NotFound as i32,
            };
            assert_eq!(self.told.get(stream), Some(&expected), "stream {stream} of {role}");
        }
    }
}
