//! Measurements, with packets on ports in memory, of an OpenFlow switch of known behaviour.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use openflow::Version;
use packetio::memory;

use super::*;
use crate::flows::FlowMatch;
use crate::session::Listening;
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};

const SETTINGS: Settings =
    Settings { rounds: 3, time: Duration::from_millis(100), window: 16, reactions: 3 };

/// Measures a switch with two ports. Checks that no flow is left in it.
fn measured(version: Version, matching: FlowMatch, faults: Faults) -> Measured {
    // A line in memory drops what it has no room for, and threads may have to wait for a processor.
    let [near, far] = memory::line("in", 1 << 16);
    let [back, out] = memory::line("out", 1 << 16);
    let outlets = vec![Outlet::new(1, near), Outlet::new(2, back)];
    let made = MadeSwitch { ports: vec![far, out], ..MadeSwitch::new(version, faults) };
    let mut connects = Connects::new(made);
    let stop = AtomicBool::new(false);
    let address = ([127, 0, 0, 1], 0).into();
    let listening =
        Listening { address, versions: vec![version], tls: None, matching, flows: None };
    let mut channel = OpenFlowChannel::open(&listening, &stop, &mut connects).expect("it connects");
    let numbers = channel.absent(100);
    let rounds = Rounds { settings: &SETTINGS, stop: &stop, progress: &mut |_, _| {} };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let found = runtime.block_on(through(outlets, &mut channel, &numbers, rounds));
    drop(channel);
    assert_eq!(connects.flows_left(), 0);
    found.expect("it can be measured")
}

fn packet_in(found: &Measured) -> &Crossing {
    &found.crossings[0]
}

#[test]
fn no_fault_is_found_in_a_switch_without_one() {
    for (version, matching) in [(Version::V1_0, FlowMatch::Mac), (Version::V1_3, FlowMatch::Udp)] {
        let found = measured(version, matching, Faults::default());
        assert_eq!(found.crossings.len(), 2, "{version}");
        for crossing in &found.crossings {
            let what = format!("{version}, {}: {:?}", crossing.direction.name(), crossing.counts);
            let counts = crossing.counts;
            assert_eq!((counts.lost, counts.reordered, counts.repeated), (0, 0, 0), "{what}");
            assert_eq!(crossing.rates.len(), 3, "{what}");
            let beside: Vec<&Updates> =
                crossing.loads.iter().filter_map(|load| load.updates.as_ref()).collect();
            let is_in = crossing.direction == Direction::PacketIn;
            assert_eq!((crossing.loads.len(), beside.len()), if is_in { (4, 1) } else { (3, 0) });
            for updates in beside {
                assert_eq!(updates.rates.len(), 3, "{what}");
                assert!(updates.rates.iter().all(|rate| *rate > 0.0), "{what}: {updates:?}");
            }
            for load in &crossing.loads {
                assert!(load.counts.sent > 0 && load.counts.lost == 0, "{what}, {:?}", load.counts);
                assert_eq!(load.delays.len(), 3, "{what}");
            }
        }
        assert_eq!(found.reactions.iter().map(Vec::len).sum::<usize>(), 9, "{version}");
        for one in found.reactions.iter().flatten() {
            assert!(one.packet_in <= one.answer && one.packet_in <= one.forwarded, "{one:?}");
        }
    }
}

#[test]
fn lost_and_repeated_packet_ins_are_counted() {
    let faults =
        Faults { loses_packet_ins: Some(10), copies_packet_ins: Some(7), ..Faults::default() };
    let found = measured(Version::V1_3, FlowMatch::Mac, faults);
    let counts = packet_in(&found).counts;
    // One in 70 is lost and copied, so that one copy arrives. Each of three trials begins at some
    // position of the periods.
    let both = counts.sent / 70;
    assert!(counts.lost.abs_diff(counts.sent / 10 - both) <= 6, "{counts:?}");
    assert!(counts.repeated.abs_diff(counts.sent / 7 - both) <= 6, "{counts:?}");
    let out = found.crossings[1].counts;
    assert_eq!((out.lost, out.repeated), (0, 0), "{out:?}");
}

#[test]
fn a_cap_on_packet_ins_bounds_every_rate_and_is_the_switch() {
    const CAP: f64 = 2_000.0;
    let faults = Faults { packet_in_rate: Some(CAP), ..Faults::default() };
    let found = measured(Version::V1_3, FlowMatch::Mac, faults);
    let crossing = packet_in(&found);
    assert!(!crossing.is_limited_here);
    for rate in &crossing.rates {
        // The first packet-in after a pause does not wait.
        assert!(*rate <= CAP * 1.05, "{:?}", crossing.rates);
    }
}

#[test]
fn packets_that_obey_long_after_the_answer_are_seen() {
    const EARLY: Duration = Duration::from_millis(30);
    let faults = Faults { early: EARLY, ..Faults::default() };
    let found = measured(Version::V1_3, FlowMatch::Mac, faults);
    for one in found.reactions.iter().flatten() {
        assert!(one.forwarded >= one.packet_in + EARLY, "{one:?}");
    }
}

/// The switch processes 200 flow-mods in a second, and nothing else meanwhile.
#[test]
fn packet_ins_that_wait_for_updates_are_late() {
    let takes = Duration::from_millis(5);
    let faults = Faults { rate: Some(1.0 / takes.as_secs_f64()), ..Faults::default() };
    let found = measured(Version::V1_3, FlowMatch::Mac, faults);
    let beside = packet_in(&found).loads.iter().find(|load| load.updates.is_some());
    let load = beside.expect("there are flows");
    for rate in &load.updates.as_ref().expect("they are made").rates {
        // One more may be answered when the trial is over.
        let most =
            (SETTINGS.time.as_secs_f64() / takes.as_secs_f64() + 1.0) / SETTINGS.time.as_secs_f64();
        assert!(*rate <= most, "{rate}");
    }
    for round in &load.delays {
        // Half of the packets arrive when an update has more than half of its time left.
        assert!(round.at(0.5).expect("packets") >= takes / 4, "{:?}", round.at(0.5));
    }
    assert_eq!(load.counts.lost, 0);
}
