//! Measurements of an OpenFlow switch with the flows of a file.

use std::sync::Arc;

use super::*;
use crate::error::DutError;
use crate::flows::OwnFlows;

/// Returns a target with the flows of a text, and a plan that takes them.
fn own(version: Version, text: &str) -> Target {
    let flows = OwnFlows::parse("own.flows", text).expect("flows");
    let Target::OpenFlow { listening, ports } = target(version, FlowMatch::Mac) else {
        panic!("it is OpenFlow")
    };
    Target::OpenFlow { listening: Listening { flows: Some(Arc::new(flows)), ..listening }, ports }
}

/// Returns a flow for each of `count` hosts, in turn to two ports.
fn hosts(count: u32) -> String {
    let flow = |host: u32| {
        format!(
            " cookie=0x0, duration=1.1s, table=0, n_packets=0, n_bytes=0, priority=100,ip,nw_dst=10.0.{}.{} actions=output:{}\n",
            host / 256,
            host % 256,
            1 + host % 2
        )
    };
    "NXST_FLOW reply (xid=0x4):\n".to_owned() + &(0..count).map(flow).collect::<String>()
}

fn measured_with(version: Version, text: &str, plan: &Plan) -> (Result<Outcome, DutError>, usize) {
    let others = vec![other_flow(version, [2, 0, 0, 0, 0, 1])];
    let made = MadeSwitch { others, ..MadeSwitch::new(version, Faults::default()) };
    let mut connects = Connects::new(made);
    let found = measure(&own(version, text), plan, &AtomicBool::new(false), &mut connects);
    (found, connects.flows_left())
}

#[test]
fn the_flows_of_a_file_are_used_instead_of_made_ones() {
    for version in VERSIONS {
        let timeouts = Some(timeouts::Settings { entries: 2, grace: Duration::from_millis(1500) });
        let plan = Plan { timeouts, ..short_plan() };
        let (found, left) = measured_with(version, &hosts(300), &plan);
        let found = found.expect("it can be measured");
        // The flow of the other controller stays.
        assert_eq!((found.failures.as_slice(), left), (&[][..], 1), "{version}");
        assert_eq!((found.subject.present, found.subject.usable), (1, 300), "{version}");
        let file = found.subject.own_file.expect("it is of a file");
        assert_eq!((file.name.as_str(), found.subject.is_modifiable), ("own.flows", true));
        for one in &found.updates {
            assert_eq!(one.refused(), 0, "{version}: {:?}", one.operation);
            assert!(
                one.rounds.iter().all(|round| round.accepted.iter().all(|one| OwnFlows::has(*one)))
            );
        }
        assert_eq!(found.updates[0].missing(), Some(0), "{version}");
        let reads = found.reads.expect("it was measured");
        assert_eq!((reads.expected, reads.wrong), (301, 0), "{version}");
        let capacity = found.capacity.first().cloned().expect("it was measured");
        assert_eq!((capacity.entries, capacity.ending), (301, Ending::AllInserted), "{version}");
        // Flows with timeouts are made.
        assert!(found.timeouts.iter().all(|one| one.entries == 2 && one.early() == 0), "{version}");
    }
}

#[test]
fn what_a_flow_says_arrives_in_the_switch() {
    let text = "priority=7,udp,in_port=2,nw_src=10.0.0.0/8,tp_dst=53 actions=mod_dl_dst:02:00:00:00:00:09,output:3\n\
                priority=9,arp,nw_dst=10.0.0.1 actions=CONTROLLER\n";
    for version in VERSIONS {
        let Target::OpenFlow { listening, .. } = own(version, text) else {
            panic!("it is OpenFlow")
        };
        let stop = AtomicBool::new(false);
        let mut connects = Connects::new(MadeSwitch::new(version, Faults::default()));
        let mut channel = super::super::OpenFlowChannel::open(&listening, &stop, &mut connects)
            .expect("it connects");
        let numbers = channel.own_numbers().expect("none is there").expect("there is a file");
        let shape = crate::window::Shape { window: 1, time: None };
        let work = |operation| crate::window::Work { operation, numbers: &numbers, batch: 10 };
        let crate::window::Sent { phase, .. } =
            channel.send(work(crate::window::Operation::Insert), shape, &stop).expect("an answer");
        assert_eq!((phase.accepted.len(), phase.refusal), (2, None), "{version}");
        let flows = channel.flows().expect("it lists them");
        let mut priorities: Vec<u16> = flows.iter().map(|flow| flow.priority).collect();
        priorities.sort_unstable();
        assert_eq!(priorities, [7, 9], "{version}");
        let udp = flows.iter().find(|flow| flow.priority == 7).expect("it is there");
        match &udp.matching {
            crate::flows::ReportedMatch::V1_0(one) => {
                assert_eq!(one.in_port(), Some(v1_0::PortNo(2)));
                assert_eq!(one.nw_src(), Some(([10, 0, 0, 0].into(), 8)));
                assert_eq!((one.nw_proto(), one.tp_dst()), (Some(17), Some(53)));
            }
            crate::flows::ReportedMatch::V1_3(one) => {
                assert_eq!(one.in_port(), Some(PortNumber(2)));
                assert_eq!(one.ipv4_src().map(|one| one.value), Some([10, 0, 0, 0].into()));
                assert_eq!((one.ip_proto(), one.udp_dst()), (Some(17), Some(53)));
            }
        }
        channel.send(work(crate::window::Operation::Modify), shape, &stop).expect("an answer");
        channel.send(work(crate::window::Operation::Delete), shape, &stop).expect("an answer");
        assert_eq!(channel.difference().expect("it lists its flows"), 0, "{version}");
        drop(channel);
        assert_eq!(connects.flows_left(), 0, "{version}");
    }
}

#[test]
fn a_flow_that_the_switch_has_is_refused_and_stays() {
    for version in VERSIONS {
        // The match of the other controller's flow, with its default priority.
        let priority = match version {
            Version::V1_0 => v1_0::FlowMod::default().priority,
            Version::V1_3 => v1_3::FlowMod::add(v1_3::Match::any(), Vec::new()).priority,
        };
        let text = hosts(3) + &format!("priority={priority},dl_dst=02:00:00:00:00:01 actions=2\n");
        let (found, left) = measured_with(version, &text, &short_plan());
        let error = found.expect_err("it is there").to_string();
        assert!(
            error.contains("has an entry with the key of line 5 of own.flows"),
            "{version}: {error}"
        );
        assert!(error.contains("dl_dst=02:00:00:00:00:01"), "{version}: {error}");
        assert_eq!(left, 1, "{version}");
    }
}

#[test]
fn flows_that_cannot_be_used_say_in_which_line() {
    for (text, version, says) in [
        (
            hosts(2) + &hosts(1),
            Version::V1_3,
            "line 5: it has the match and the priority of the flow in line 2",
        ),
        (
            "ip actions=2\nip,dl_dst=02:00:00:00:00:00/01:00:00:00:00:00 actions=group:1"
                .to_owned(),
            Version::V1_0,
            "line 2: OpenFlow 1.0 has no masks",
        ),
        (
            "table=1,ip actions=2".to_owned(),
            Version::V1_0,
            "line 1: OpenFlow 1.0 cannot choose a table",
        ),
        ("tp_dst=80 actions=2".to_owned(), Version::V1_3, "line 1: a port needs tcp, udp or sctp"),
    ] {
        let (found, left) = measured_with(version, &text, &short_plan());
        let error = found.expect_err("it is wrong").to_string();
        assert!(error.contains(says), "{error}");
        // The switch was not asked to do anything.
        assert!(left <= 1, "{left}");
    }
    let wrong =
        |text: &str| OwnFlows::parse("own.flows", text).expect_err("it is wrong").to_string();
    assert!(wrong("# nothing\n").contains("it has no flows"));
    let error = wrong("ip actions=2\ntable=1,ip actions=2");
    assert!(
        error.contains("line 2: it is of table 1, but the flow in line 1 is of table 0"),
        "{error}"
    );
    assert!(wrong("\nreg0=1 actions=2").contains("own.flows, line 2: the condition `reg0=1`"));
}

#[test]
fn a_refused_flow_is_quoted() {
    // The emulated switch has no groups.
    let text = hosts(20) + "priority=5,ip actions=group:9\n";
    let plan = Plan { reads: None, capacity: None, ..short_plan() };
    let (found, left) = measured_with(Version::V1_3, &text, &plan);
    let found = found.expect("it can be measured");
    assert_eq!((found.failures.as_slice(), left), (&[][..], 1));
    let refusals: Vec<_> = found
        .updates
        .iter()
        .flat_map(|one| &one.rounds)
        .filter_map(|one| one.refusal.as_ref())
        .collect();
    let first = refusals.first().expect("the group is refused");
    let entry = first.entry.as_ref().expect("it is quoted");
    assert_eq!(entry, "line 22 of own.flows: priority=5,ip actions=group:9");
}
