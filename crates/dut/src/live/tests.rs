//! Measurements, with packets on ports in memory, of an OpenFlow switch of known behaviour.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use openflow::Version;
use packetio::{Port, memory};

use super::run::{Changes, through};
use super::{Measured, Ports, Settings, Wire};
use crate::effects::{Gap, Silence};
use crate::error::DutError;
use crate::flows::{FlowMatch, OwnFlows};
use crate::outlet::Outlet;
use crate::session::{Listening, OpenFlowChannel};
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};
use crate::window::Operation;

mod inline;

const RULES: usize = 4;
const ROUNDS: usize = 5;
const SETTINGS: Settings = Settings {
    rounds: ROUNDS,
    probes_per_second: 5_000.0,
    beside: Duration::from_millis(5),
    atomicities: Vec::new(),
};

/// Measures a switch with this number of ports. Returns the figures and the number of flows that
/// the switch has in the end.
fn measured(
    version: Version,
    faults: Faults,
    ports: u32,
    matching: FlowMatch,
) -> (Measured, usize) {
    let (found, left) = measured_with(version, faults, ports, matching, None);
    (found.expect("it can be measured"), left)
}

/// Measures a switch, with the flows of a file if there is one.
fn measured_with(
    version: Version,
    faults: Faults,
    ports: u32,
    matching: FlowMatch,
    flows: Option<&str>,
) -> (Result<Measured, DutError>, usize) {
    let flows = flows.map(|text| Arc::new(OwnFlows::parse("own.flows", text).expect("flows")));
    let lines = (1..=ports).map(|number| memory::line(&number.to_string(), 1 << 12));
    let (mut here, mut there): (Vec<Outlet>, Vec<Port>) = (Vec::new(), Vec::new());
    for (number, [near, far]) in (1..).zip(lines) {
        here.push(Outlet::new(number, near));
        there.push(far);
    }
    let wires = (1..=ports).map(|number| Wire(format!("{number}@lo").parse().expect("a port")));
    let ports = Ports { wires: wires.collect(), rules: RULES };
    let made = MadeSwitch { ports: there, ..MadeSwitch::new(version, faults) };
    let mut connects = Connects::new(made);
    let stop = AtomicBool::new(false);
    let address = ([127, 0, 0, 1], 0).into();
    let listening = Listening { address, versions: vec![version], tls: None, matching, flows };
    let mut channel = OpenFlowChannel::open(&listening, &stop, &mut connects).expect("it connects");
    let own = channel.own_numbers().expect("none is there");
    let numbers = own.unwrap_or_else(|| channel.absent(100));
    let mut progress = |_, _| {};
    let changes = Changes {
        settings: &SETTINGS,
        atomicities: Vec::new(),
        stop: &stop,
        progress: &mut progress,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measuring = through(here, &mut channel, &ports, &numbers, changes);
    let found = runtime.expect("a runtime").block_on(measuring);
    assert_eq!(channel.late_errors(), 0);
    drop(channel);
    (found, connects.flows_left())
}

#[test]
fn no_reply_of_a_truthful_barrier_comes_before_its_effects() {
    for (version, ports, matching) in [
        (Version::V1_0, 2, FlowMatch::Mac),
        (Version::V1_3, 3, FlowMatch::Mac),
        (Version::V1_3, 4, FlowMatch::Udp),
    ] {
        let (found, left) = measured(version, Faults::default(), ports, matching);
        assert_eq!(left, 0, "{version}, {ports} ports");
        assert_eq!(found.kinds.len(), 6, "{version}, {ports} ports");
        for kind in &found.kinds {
            let what = format!("{version}, {ports} ports, {:?} {}", kind.operation, kind.rules);
            let summary = &kind.summary;
            assert_eq!(summary.requests, ROUNDS as u64, "{what}");
            assert_eq!((summary.early, summary.flapped), (0, 0), "{what}: {summary:?}");
            assert!(summary.late + summary.undecided > 0, "{what}: {summary:?}");
            let changes = &summary.changes;
            assert_eq!((changes.both, changes.repeated, changes.astray()), (0, 0, 0), "{what}");
            // With two ports, packets without a rule are dropped.
            let silence = match (ports, kind.operation) {
                (2, Operation::Insert) => Silence::Old,
                (2, Operation::Delete) => Silence::New,
                _ => Silence::Neither,
            };
            assert_eq!(kind.silence, silence, "{what}");
        }
    }
}

/// The flows change packets. The outcome of some flows cannot be predicted, and some have a lower
/// priority than others.
#[test]
fn packets_show_the_flows_of_a_file() {
    let flows = "priority=50,udp,nw_dst=10.0.0.1 actions=mod_dl_dst:02:00:00:00:00:07,output:2\n\
                 priority=50,udp,nw_dst=10.0.0.2 actions=output:4\n\
                 priority=60,udp,nw_dst=10.0.0.2,tp_dst=80 actions=output:2\n\
                 priority=50,ip,nw_dst=10.0.0.3 actions=NORMAL\n\
                 priority=50,tcp,nw_dst=10.0.0.4,tp_dst=80 actions=mod_dl_src:02:00:00:00:00:08,output:2\n";
    for version in [Version::V1_0, Version::V1_3] {
        let faults = Faults::default();
        let (found, left) = measured_with(version, faults, 4, FlowMatch::Mac, Some(flows));
        let found = found.expect("it can be measured");
        assert_eq!(left, 0, "{version}");
        // The flow with NORMAL is not shown, and one of the two that overlap is left out.
        assert_eq!((found.rules, found.kinds.len()), (3, 6), "{version}");
        for kind in &found.kinds {
            let what = format!("{version}, {:?} {}", kind.operation, kind.rules);
            let summary = &kind.summary;
            assert_eq!(summary.requests, ROUNDS as u64, "{what}");
            assert_eq!((summary.early, summary.flapped), (0, 0), "{what}: {summary:?}");
            let changes = &summary.changes;
            assert_eq!((changes.both, changes.altered, changes.elsewhere), (0, 0, 0), "{what}");
            // Packets without their flow leave by the third port.
            assert_eq!(kind.silence, Silence::Neither, "{what}");
        }
    }
    // All ports are those of flows, so packets without a flow are dropped.
    let flows = "priority=5,udp,nw_dst=10.0.0.1 actions=output:3\n\
                 priority=5,udp,nw_dst=10.0.0.2 actions=output:2\n";
    let (found, left) =
        measured_with(Version::V1_3, Faults::default(), 3, FlowMatch::Mac, Some(flows));
    let found = found.expect("it can be measured");
    assert_eq!((left, found.rules, found.kinds.len()), (0, 2, 6));
    for kind in &found.kinds {
        assert_eq!(kind.summary.requests, ROUNDS as u64, "{:?} {}", kind.operation, kind.rules);
    }
    let (found, left) = measured_with(
        Version::V1_3,
        Faults::default(),
        4,
        FlowMatch::Mac,
        Some("ip actions=NORMAL"),
    );
    let error = found.expect_err("nothing is shown").to_string();
    assert!(error.contains("none of the entries of own.flows"), "{error}");
    assert!(error.contains("line 1: by which ports NORMAL sends packets"), "{error}");
    assert_eq!(left, 0);
}

#[test]
fn a_barrier_that_lies_is_found_and_the_time_recovered() {
    const EARLY: Duration = Duration::from_millis(30);
    let early = Gap(EARLY.as_nanos() as i64);
    for version in [Version::V1_0, Version::V1_3] {
        let faults = Faults { early: EARLY, ..Faults::default() };
        let (found, left) = measured(version, faults, 3, FlowMatch::Mac);
        assert_eq!((left, found.kinds.len()), (0, 6), "{version}");
        let mut proven = 0;
        for kind in &found.kinds {
            let what = format!("{version}, {:?} {}", kind.operation, kind.rules);
            let summary = &kind.summary;
            // A busy machine may send no packet between a reply and its effects, which proves
            // nothing.
            assert_eq!(summary.late, 0, "{what}: {summary:?}");
            proven += summary.early;
            for lag in &summary.lags {
                assert!(lag.most >= early, "{what}: {lag:?}");
            }
        }
        assert!(proven > 0, "{version}");
    }
}
