//! Measurements, with packets on ports in memory, of groups of an emulated OpenFlow switch.

use std::sync::atomic::AtomicBool;

use ::openflow::Version;
use packetio::memory;

use super::{Distribution, Measured, Offering, PacketStream, Settings, Wire};
use crate::flows::FlowMatch;
use crate::outlet::Outlet;
use crate::session::{Listening, OpenFlowChannel};
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};

/// Measures the select group of a switch with this number of ports. Checks that no flow is left in
/// it.
fn measured(version: Version, ports: u32) -> Measured {
    let lines = (1..=ports).map(|number| memory::line(&number.to_string(), 1 << 12));
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for (number, [near, far]) in (1..).zip(lines) {
        here.push(Outlet::new(number, near));
        there.push(far);
    }
    let made = MadeSwitch { ports: there, ..MadeSwitch::new(version, Faults::default()) };
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
    let wires: Vec<Wire> =
        (1..=ports).map(|number| Wire(format!("{number}@lo").parse().expect("a port"))).collect();
    let settings = Settings { flows: 1_000, packets_per_second: 20_000.0, seed: 7, traffic: None };
    let offering = Offering { wires: &wires, settings: &settings };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measuring =
        super::openflow::through(PacketStream::new(here), &mut channel, &offering, &stop);
    let found = runtime.expect("a runtime").block_on(measuring).expect("it can be measured");
    drop(channel);
    assert_eq!(connects.flows_left(), 0);
    found
}

#[test]
fn a_select_group_obeys_its_weights() {
    for (ports, members) in [(2, vec![2, 1]), (4, vec![2, 3, 4])] {
        let found = measured(Version::V1_3, ports);
        let [group] = found.groups.as_slice() else { panic!("{found:?}") };
        assert_eq!(group.ports, members, "{group:?}");
        assert_eq!((group.changed, group.lost), (0, 0), "{group:?}");
        assert_eq!(group.counts.iter().sum::<u64>(), 1_000, "{group:?}");
        let assessed = group.assess().expect("flows");
        assert!(!assessed.is_fault(), "{assessed:?}");
        // A member with twice the weight has more flows.
        assert!(group.counts.is_sorted(), "{group:?}");
    }
}

#[test]
fn flows_whose_packets_were_not_sent_are_not_lost() {
    let mut found = Distribution {
        name: String::new(),
        ports: vec![2, 3],
        weights: vec![1, 1],
        counts: vec![0; 2],
        changed: 0,
        lost: 0,
    };
    let flows: [&[Option<usize>]; 6] =
        [&[Some(1); 2], &[Some(0), Some(1)], &[Some(0), None], &[None; 2], &[Some(0)], &[]];
    flows.into_iter().for_each(|flow| found.add(flow));
    assert_eq!((found.counts, found.changed, found.lost), (vec![0, 1], 1, 2));
}

#[test]
fn openflow_1_0_has_no_groups() {
    let found = measured(Version::V1_0, 3);
    assert_eq!((found.groups.len(), found.reasons.len()), (0, 1), "{found:?}");
}
