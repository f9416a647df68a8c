//! Measurements, with packets on ports in memory, of switches that keep the configuration of meters
//! and do not obey it.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ::openflow::Version;
use ::p4runtime::arbitration::ElectionId;
use ::p4runtime::client::{Client, ClientOptions};
use ::p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use ::p4runtime::proto::v1::{self, entity::Entity as Kind};
use ::p4runtime::server::{DeviceHandle, NoObserver, Server, ServerOptions};
use ::p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use p4lang::preprocess::{MemoryFiles, Options};
use packetio::{BURST, Burst, Port, memory};
use tokio::runtime::Runtime;

use super::*;
use crate::flows::FlowMatch;
use crate::outlet::Outlet;
use crate::session::{Listening, OpenFlowChannel, read_entities, write_updates};
use crate::stream::PacketStream;
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};

const TIMEOUT: Duration = Duration::from_secs(20);

fn settings() -> Settings {
    let time = Duration::from_millis(50);
    Settings { packets_per_second: 2_000.0, time, traffic: None }
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Returns two ports of this program, and the two ports of a switch that are connected to them.
fn ports() -> (Vec<Outlet>, [Port; 2]) {
    let [near, far] = memory::line("in", 1 << 12);
    let [back, out] = memory::line("out", 1 << 12);
    (vec![Outlet::new(1, near), Outlet::new(2, back)], [far, out])
}

/// Measures the meters of an OpenFlow switch that stores meters. Checks that neither a flow nor a
/// meter is left in it.
fn openflow_switch(version: Version) -> Measured {
    let (here, there) = ports();
    let made = MadeSwitch { ports: there.into(), ..MadeSwitch::new(version, Faults::default()) };
    let mut connects = Connects::new(made);
    let stop = AtomicBool::new(false);
    let address = ([127, 0, 0, 1], 0).into();
    let listening = Listening {
        address,
        versions: vec![version],
        tls: None,
        matching: FlowMatch::Mac,
        flows: None,
    };
    let mut channel = OpenFlowChannel::open(&listening, &stop, &mut connects).expect("it connects");
    let wires = [1, 2].map(|number| Wire(format!("{number}@lo").parse().expect("a port")));
    let settings = settings();
    let offering = Offering { wires: &wires, settings: &settings };
    let stream = PacketStream::new(here);
    let mut progress = |_, _| {};
    let measuring = super::openflow::through(stream, &mut channel, &offering, &stop, &mut progress);
    let found = runtime().block_on(measuring).expect("it can be measured");
    if version == Version::V1_3 {
        assert_eq!(channel.meters().expect("an answer"), []);
    }
    drop(channel);
    assert_eq!(connects.flows_left(), 0);
    found
}

#[test]
fn an_openflow_switch_without_working_meters_is_found() {
    let found = openflow_switch(Version::V1_3);
    assert_eq!(found.reasons, [""; 0]);
    let units: Vec<TokenUnit> = found.meters.iter().map(|meter| meter.unit).collect();
    assert_eq!(units, [TokenUnit::Bytes, TokenUnit::Packets]);
    for meter in &found.meters {
        assert_eq!(meter.control.lost, 0, "{meter:?}");
        let [bucket] = meter.found.as_slice() else { panic!("{meter:?}") };
        assert_eq!(bucket.faults(), [Fault::NothingRefused], "{meter:?}");
    }
}

#[test]
fn openflow_1_0_has_no_meters() {
    let found = openflow_switch(Version::V1_0);
    assert_eq!((found.meters.len(), found.reasons.len()), (0, 1), "{found:?}");
}

/// Forwards packets from one port to the other until `ends` is set.
fn forwards([mut from, mut to]: [Port; 2], ends: &AtomicBool) {
    let mut burst = Burst::new(BURST);
    while !ends.load(Ordering::Relaxed) {
        burst.clear();
        if from.queues[0].receive(&mut burst).expect("a line") == 0 {
            thread::sleep(Duration::from_micros(20));
        }
        for frame in burst.frames() {
            to.queues[0].transmit(frame.bytes());
            to.queues[0].flush();
        }
    }
}

/// Serves the store of a P4Runtime device. Returns its address.
fn serve() -> String {
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
    address
}

/// Measures the cell 3 of a meter whose configuration is `before`. Returns the meters that were
/// measured, and the configuration afterwards.
fn p4runtime_switch(
    before: v1::MeterConfig,
    stop: &AtomicBool,
) -> (Vec<MeasuredMeter>, Option<v1::MeterConfig>) {
    let (source, options) = (include_str!("../../tests/meters.p4"), Options::default());
    let compiled = p4lang::compile_text("meters.p4", source, &options, &MemoryFiles::default());
    let program = compiled.program.expect("it is valid");
    let config = p4lang::device_config::to_pipeline_config(&program).expect("it has a P4Info");
    let meter = config.p4info.as_ref().and_then(|p4info| p4info.meters.first());
    let meter_id = meter.and_then(|meter| meter.preamble.as_ref()).expect("a meter").id;
    let entity = |config| v1::Entity {
        entity: Some(Kind::MeterEntry(v1::MeterEntry {
            meter_id,
            index: Some(v1::Index { index: 3 }),
            config,
            ..Default::default()
        })),
    };
    let packet = vec![0x5a; 128];
    let leaves = Outcome::Leaves { port: 2, packet: packet.clone() };
    let flow = MeteredFlow {
        name: "by_cell".to_owned(),
        place: Place::Cell { meter_id, index: 3 },
        unit: TokenUnit::Packets,
        algorithm: Algorithm::TwoRates,
        port: 1,
        packet,
        outcomes: ByColour([leaves.clone(), leaves, Outcome::Unseen]),
    };
    let (here, there) = ports();
    let ends = AtomicBool::new(false);
    let measuring = async {
        let options = ClientOptions::default();
        let mut client = Client::connect(&serve(), 1, &options).await.expect("a server");
        let _stream = client.become_primary("", ElectionId(1), TIMEOUT).await.expect("no other");
        let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
        pushed.expect("it is valid");
        let modify = v1::update::Type::Modify as i32;
        let update = v1::Update { r#type: modify, entity: Some(entity(Some(before))) };
        write_updates(&mut client, vec![update]).await.expect("it is there");
        let settings = settings();
        let stream = PacketStream::new(here);
        let mut progress = |_, _| {};
        let found =
            super::p4runtime::all(&client, &[&flow], stream, &settings, stop, &mut progress).await;
        let after = read_entities(&mut client, vec![entity(None)]).await.expect("it is there");
        let after = after.into_iter().find_map(|entity| match entity.entity {
            Some(Kind::MeterEntry(entry)) => entry.config,
            _ => None,
        });
        (found.expect("it can be measured").meters, after)
    };
    thread::scope(|scope| {
        scope.spawn(|| forwards(there, &ends));
        let found = runtime().block_on(measuring);
        ends.store(true, Ordering::Relaxed);
        found
    })
}

#[test]
fn a_p4runtime_meter_without_effect_is_found_and_its_configuration_put_back() {
    let before = v1::MeterConfig { cir: 11, cburst: 12, pir: 13, pburst: 14, eburst: 0 };
    let (found, after) = p4runtime_switch(before, &AtomicBool::new(false));
    assert_eq!(after, Some(before));
    let [meter] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((meter.name.as_str(), meter.control.lost), ("by_cell[3]", 0), "{meter:?}");
    // Only red packets differ, so only the peak bucket shows.
    let [bucket] = meter.found.as_slice() else { panic!("{meter:?}") };
    assert_eq!((bucket.level, bucket.faults()), (Level::Peak, vec![Fault::NothingRefused]));
}

#[test]
fn a_stopped_measurement_puts_the_configuration_of_a_meter_back() {
    let before = v1::MeterConfig { cir: 11, cburst: 12, pir: 13, pburst: 14, eburst: 0 };
    let (found, after) = p4runtime_switch(before, &AtomicBool::new(true));
    assert_eq!((found.len(), after), (0, Some(before)));
}

#[test]
fn buckets_are_measured_only_if_their_colours_differ() {
    let leaves = |port| Outcome::Leaves { port, packet: vec![0; 64] };
    let base = Bucket { rate: 1000.0, burst: 100.0 };
    let levels = |algorithm, outcomes: [Outcome; 3]| -> Vec<Vec<Level>> {
        let found = super::settings(algorithm, base, &ByColour(outcomes));
        let levels = |setting: &Setting| setting.judged.iter().map(|one| one.level).collect();
        found.iter().map(levels).collect()
    };
    use Level::{BesidePeak, Committed, Peak};
    let (two, one) = (Algorithm::TwoRates, Algorithm::OneRate);
    let unseen = || Outcome::Unseen;
    assert_eq!(
        levels(two, [leaves(1), leaves(2), unseen()]),
        [vec![Committed], vec![Peak, BesidePeak]]
    );
    assert_eq!(levels(two, [leaves(1), leaves(1), unseen()]), [vec![Peak]]);
    assert_eq!(levels(two, [leaves(1), unseen(), unseen()]), [vec![Committed]]);
    assert_eq!(levels(two, [leaves(1), leaves(1), leaves(1)]), Vec::<Vec<Level>>::new());
    assert_eq!(levels(two, [unseen(), leaves(1), leaves(2)]), Vec::<Vec<Level>>::new());
    assert_eq!(levels(one, [leaves(1), leaves(2), unseen()]), [vec![Committed]]);
    assert_eq!(levels(one, [leaves(1), leaves(1), unseen()]), Vec::<Vec<Level>>::new());
}
