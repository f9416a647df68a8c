//! Tests against a device that meets all requirements, and against one whose answers are distorted
//! on their way.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use p4lang::preprocess::{MemoryFiles, Options};
use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions};
use p4runtime::server::{DeviceHandle, NoObserver, Server, ServerOptions};
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use prost::Message as _;
use protos::v1::{
    self, entity::Entity as Kind, set_forwarding_pipeline_config_request::Action,
    stream_message_response::Update as Message,
};
use protos::{rpc, v1::forwarding_pipeline_config::Cookie};
use tonic::{Code, Status};

use crate::bench::Bench;
use crate::fuzz::fuzz_on;
use crate::requirements::trials;
use crate::{Fuzzed, Settings, Target, Verdict, judge, replay, requirements};

/// A fault of a device, made by changing its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distortion {
    /// Whatever is refused seems to be accepted.
    AcceptsAll,
    /// Whatever is refused is refused with another code.
    OtherCodes,
    /// The codes of updates are missing.
    NoDetails,
    /// Reads return nothing.
    ReadsNothing,
    /// Reads return entities without what belongs to them.
    ReadsLess,
    /// Reads return the entities that were asked for and one more.
    ReadsMore,
    /// Streams have other codes, and end with others.
    OtherStreams,
    /// Streams bring nothing but what they begin with.
    SilentStreams,
    /// Pipelines are returned with other parts.
    OtherPipelines,
    /// Modifications lose the metadata of an entry.
    LosesMetadata,
    /// Fields that a match has twice are accepted.
    AcceptsDoubles,
}

impl Distortion {
    const ALL: [Self; 9] = [
        Self::AcceptsAll,
        Self::OtherCodes,
        Self::NoDetails,
        Self::ReadsNothing,
        Self::ReadsLess,
        Self::ReadsMore,
        Self::OtherStreams,
        Self::OtherPipelines,
        Self::SilentStreams,
    ];

    pub(crate) fn request(self, mut request: v1::WriteRequest) -> v1::WriteRequest {
        for update in &mut request.updates {
            let is_modification = update.r#type == v1::update::Type::Modify as i32;
            let Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) }) = &mut update.entity
            else {
                continue;
            };
            match self {
                Self::LosesMetadata if is_modification => entry.metadata.clear(),
                Self::AcceptsDoubles => entry.r#match.dedup_by_key(|field| field.field_id),
                _ => {}
            }
        }
        request
    }

    pub(crate) fn unary<T: Default>(
        self,
        answer: Result<tonic::Response<T>, Status>,
    ) -> Result<tonic::Response<T>, Status> {
        match (self, answer) {
            (Self::AcceptsAll, Err(_)) => Ok(tonic::Response::new(T::default())),
            (Self::OtherCodes, Err(status)) => Err(other_codes(&status)),
            (Self::NoDetails, Err(status)) => Err(Status::new(status.code(), status.message())),
            (_, answer) => answer,
        }
    }

    pub(crate) fn read(
        self,
        answer: Result<Vec<v1::Entity>, Status>,
    ) -> Result<Vec<v1::Entity>, Status> {
        match (self, answer) {
            (Self::AcceptsAll, Err(_)) | (Self::ReadsNothing, Ok(_)) => Ok(Vec::new()),
            (Self::OtherCodes, Err(status)) => Err(other_codes(&status)),
            (Self::ReadsLess, Ok(entities)) => Ok(entities.into_iter().map(less).collect()),
            (Self::ReadsMore, Ok(mut entities)) => {
                let more = v1::TableEntry { table_id: 1, ..Default::default() };
                entities.push(v1::Entity { entity: Some(Kind::TableEntry(more)) });
                Ok(entities)
            }
            (_, answer) => answer,
        }
    }

    pub(crate) fn pipeline(
        self,
        answer: Result<v1::GetForwardingPipelineConfigResponse, Status>,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, Status> {
        match (self, answer) {
            (Self::AcceptsAll, Err(_)) => Ok(v1::GetForwardingPipelineConfigResponse::default()),
            (Self::OtherCodes, Err(status)) => Err(other_codes(&status)),
            (Self::OtherPipelines, Ok(mut response)) => {
                if let Some(config) = &mut response.config {
                    config.cookie = Some(Cookie { cookie: config.encoded_len() as u64 });
                }
                Ok(response)
            }
            (_, answer) => answer,
        }
    }

    pub(crate) fn capabilities(
        self,
        answer: Result<v1::CapabilitiesResponse, Status>,
    ) -> Result<v1::CapabilitiesResponse, Status> {
        match self {
            Self::OtherPipelines => Ok(v1::CapabilitiesResponse::default()),
            _ => answer,
        }
    }

    pub(crate) fn message(
        self,
        found: Option<Result<v1::StreamMessageResponse, Status>>,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        match (self, found) {
            (Self::SilentStreams, _) => None,
            (Self::OtherStreams, Some(Err(status))) => Some(Err(other_codes(&status))),
            (Self::OtherStreams, Some(Ok(mut message))) => {
                match &mut message.update {
                    Some(Message::Arbitration(update)) => {
                        let status = update.status.get_or_insert_default();
                        status.code = if status.code == 0 { Code::NotFound as i32 } else { 0 };
                    }
                    Some(Message::Error(error)) => error.canonical_code = Code::Internal as i32,
                    _ => {}
                }
                Some(Ok(message))
            }
            (_, found) => found,
        }
    }
}

/// Returns a status with the code INTERNAL in every place.
fn other_codes(status: &Status) -> Status {
    let mut details = rpc::Status::decode(status.details()).unwrap_or_default();
    for detail in &mut details.details {
        let mut error = v1::Error::decode(&*detail.value).unwrap_or_default();
        if error.canonical_code != 0 {
            error.canonical_code = Code::Internal as i32;
        }
        detail.value = error.encode_to_vec();
    }
    Status::with_details(Code::Internal, status.message(), details.encode_to_vec().into())
}

/// Returns an entity without its data.
fn less(entity: v1::Entity) -> v1::Entity {
    let kind = entity.entity.map(|kind| match kind {
        Kind::TableEntry(entry) => Kind::TableEntry(v1::TableEntry {
            table_id: entry.table_id,
            r#match: entry.r#match,
            ..Default::default()
        }),
        Kind::ActionProfileMember(member) => {
            Kind::ActionProfileMember(v1::ActionProfileMember { action: None, ..member })
        }
        Kind::ActionProfileGroup(group) => {
            Kind::ActionProfileGroup(v1::ActionProfileGroup { members: Vec::new(), ..group })
        }
        Kind::CounterEntry(entry) => Kind::CounterEntry(v1::CounterEntry { data: None, ..entry }),
        Kind::MeterEntry(entry) => Kind::MeterEntry(v1::MeterEntry { config: None, ..entry }),
        Kind::DigestEntry(entry) => Kind::DigestEntry(v1::DigestEntry { config: None, ..entry }),
        Kind::PacketReplicationEngineEntry(_) => {
            Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry::default())
        }
        other => other,
    });
    v1::Entity { entity: kind }
}

/// Starts a server of device 1 with a program that has an object of each kind.
fn served() -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        runtime().block_on(async {
            let registry = Arc::new(PipelineRegistry::new());
            let device = Device::new(1, DeviceOptions::default(), registry);
            let handle = DeviceHandle::new(device, Arc::new(NoObserver));
            let server = Server::new([handle], ServerOptions::default()).expect("one device");
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            server.serve(listener, std::future::pending()).await;
        });
    });
    runtime().block_on(async {
        let client = Client::connect(&address, 1, &ClientOptions::default()).await;
        let mut client = client.expect("a server");
        let stream = client.become_primary("", ElectionId(1), Duration::from_secs(20)).await;
        let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(program())).await;
        pushed.expect("it is valid");
        drop(stream);
    });
    Target { address, device_id: 1, tls: None }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn program() -> v1::ForwardingPipelineConfig {
    let source = include_str!("../tests/everything.p4");
    let options = Options::default();
    let compiled = p4lang::compile_text("everything.p4", source, &options, &MemoryFiles::default());
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    let program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
    v1::ForwardingPipelineConfig {
        p4info: Some(p4lang::p4info::generate(&program).expect("it has a P4Info")),
        p4_device_config: source.into(),
        cookie: Some(Cookie { cookie: 7 }),
    }
}

#[test]
fn a_device_without_faults_meets_every_requirement() {
    let target = served();
    // The second run shows that the first has left nothing.
    for _ in 0..2 {
        let outcome =
            judge(&target, &AtomicBool::new(false), &mut |_, _| {}).expect("it can be judged");
        assert_eq!(outcome.left, Vec::<String>::new());
        for tried in &outcome.tried {
            let id = tried.requirement.id;
            // The device emulates a program without running it, so it does not have its entries.
            // A test of `planimeter dut` has a switch that runs it.
            if id == "constant-entries-are-read" {
                continue;
            }
            assert_eq!(tried.verdict, Verdict::Met, "{id}: {:#?}", tried.exchanges);
            assert!(!tried.exchanges.is_empty(), "{id} asks nothing");
        }
    }
}

#[test]
fn each_requirement_is_broken_by_a_fault() {
    let target = served();
    let mut unbroken: Vec<_> = trials().collect();
    for distortion in Distortion::ALL {
        let mut bench = Bench::open(&target).expect("it can be judged");
        unbroken.retain(|trial| {
            bench.channel.distortion = Some(distortion);
            let verdict = bench.attempt(trial);
            bench.channel.distortion = None;
            bench.clean();
            !matches!(verdict, Verdict::Broken { .. })
        });
    }
    let unbroken: Vec<_> = unbroken.iter().map(|trial| trial.requirement.id).collect();
    assert_eq!(unbroken, Vec::<&str>::new());
}

/// Searches for faults of a device whose answers are distorted.
fn search(distortion: Option<Distortion>, seed: u64) -> Fuzzed {
    let target = served();
    let mut bench = Bench::open(&target).expect("it can be judged");
    bench.channel.distortion = distortion;
    let settings = Settings { seed, requests: 400 };
    fuzz_on(&mut bench, &settings, &AtomicBool::new(false), &mut |_, _| {})
        .expect("it can be fuzzed")
}

/// Returns the steps of a finding as lines.
fn lines(finding: &crate::Finding) -> String {
    let lines = finding.steps.iter().flat_map(|step| {
        step.updates.iter().zip(&step.expected).enumerate().map(|(index, (update, expected))| {
            let answered = step.answered.get(index);
            format!("{} ({expected}: {answered:?})\n", protos::text("p4.v1.Update", update))
        })
    });
    lines.collect()
}

#[test]
fn random_requests_find_no_fault_where_there_is_none() {
    for seed in 1..=4 {
        let found = search(None, seed);
        if let Some(finding) = found.finding {
            panic!("seed {seed}: {}\n{}", finding.why, lines(&finding));
        }
        assert_eq!((found.requests, found.left), (400, None), "seed {seed}");
        let is_never = |what: &str| {
            ["insert of a default entry", "deletion of a default entry"].contains(&what)
        };
        for count in &found.counts {
            assert_eq!(count.accepted == 0, is_never(count.what), "{count:?}");
            assert!(count.refused > 0, "{count:?}");
        }
        assert_eq!(found.counts.len(), 18, "{:?}", found.counts);
    }
}

#[test]
fn faults_are_found_and_their_sequences_are_short() {
    let faults = [
        (Distortion::LosesMetadata, 2),
        (Distortion::AcceptsDoubles, 2),
        (Distortion::OtherCodes, 1),
        (Distortion::AcceptsAll, 1),
    ];
    for (distortion, most) in faults {
        for seed in 1..=4 {
            let found = search(Some(distortion), seed);
            let finding = found.finding.unwrap_or_else(|| panic!("{distortion:?}, seed {seed}"));
            let updates: usize = finding.steps.iter().map(|step| step.updates.len()).sum();
            let lines = lines(&finding);
            assert!(updates <= most, "{distortion:?}, seed {seed}: {}\n{lines}", finding.why);
            assert_eq!(finding.repeated, 3, "{distortion:?}, seed {seed}");
        }
    }
}

#[test]
fn a_sequence_is_repeated() {
    let target = served();
    let mut bench = Bench::open(&target).expect("it can be judged");
    let table = bench.any_open_table().expect("a table");
    let entry = crate::entities::of_entry(&bench.entry(&table));
    drop(bench);
    let insert = crate::entities::insert(entry.clone());
    let requests = vec![vec![insert.clone()], vec![insert], vec![crate::entities::delete(entry)]];
    let found = replay(&target, requests).expect("it can be repeated");
    assert!(found.finding.is_none() && found.left.is_none(), "{found:?}");
    let inserts = found.counts.iter().find(|count| count.what == "insert of an entry");
    assert_eq!(inserts.map(|count| (count.accepted, count.refused)), Some((1, 1)));
}

#[test]
fn names_are_unique_and_sections_are_numbers() {
    let mut names: Vec<_> = requirements().map(|requirement| requirement.id).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for requirement in requirements() {
        assert!(requirement.section.split('.').all(|part| part.parse::<u32>().is_ok()));
        assert!(requirement.text.ends_with('.'), "{}", requirement.text);
    }
}

#[test]
fn a_device_with_a_primary_is_left_alone() {
    let target = served();
    let bench = Bench::open(&target).expect("it can be judged");
    let error = judge(&target, &AtomicBool::new(false), &mut |_, _| {}).expect_err("a primary");
    assert!(error.to_string().contains("another controller is primary"), "{error}");
    drop(bench);
}
