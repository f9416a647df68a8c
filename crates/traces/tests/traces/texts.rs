//! Snapshots of traces as text.

use crate::support::{
    SPREAD, copy, discard, forward, load, load_translated, mirror, multicast, rewrite, spread,
};
use pipeline::{Detail, Switch};
use std::time::Duration;
use stf::{Options, Script, run};
use traces::{Arrival, Contents, Effects, Format, Trace, read, text, trace_packet};

fn trace(switch: &mut Switch, packet: &[u8], outcomes: Option<u64>) -> Trace {
    let arrival = Arrival { port: 4, packet, now: Duration::ZERO };
    let contents = Contents { detail: Detail::Values, outcomes };
    trace_packet(switch, arrival, contents, Effects::None).trace
}

/// Returns the texts of the first packets of the script beside `programs/router.p4`.
fn router(verbose: bool, packets: usize) -> String {
    let mut switch = load("router.p4", include_str!("../../../../programs/router.p4"));
    let script = Script::parse(include_str!("../../../../programs/router.stf")).expect("a script");
    let contents = Contents { detail: Detail::Values, outcomes: None };
    let options = Options { trace: Some(contents), ..Options::default() };
    let report = run(&mut switch, &script, options).expect("runs");
    let texts = report.trace.iter().take(packets).map(|(_, trace)| text(trace, verbose));
    texts.collect::<Vec<_>>().join("\n")
}

/// A PSA program deparses twice. The fields that change are those of both deparsers.
#[test]
fn packets_through_both_deparsers_of_psa() {
    let mut switch = load("psa_mirror.p4", include_str!("../../../../programs/psa_mirror.p4"));
    let script = include_str!("../../../../programs/psa_mirror.stf");
    let script = Script::parse(script).expect("a script");
    let contents = Contents { detail: Detail::Values, outcomes: None };
    let options = Options { trace: Some(contents), ..Options::default() };
    let report = run(&mut switch, &script, options).expect("runs");
    let texts = report.trace.iter().take(3).map(|(_, trace)| text(trace, false));
    insta::assert_snapshot!(texts.collect::<Vec<_>>().join("\n"));
}

#[test]
fn packets_through_a_router() {
    insta::assert_snapshot!(router(false, 9));
}

#[test]
fn a_packet_through_a_router_with_all_values() {
    insta::assert_snapshot!(router(true, 1));
}

fn groups() -> Switch {
    let mut switch = load("spread.p4", SPREAD);
    let mut members = vec![copy(1, 1), discard(2)];
    members.extend((1..=12).map(|port| forward(port, 1, 1)));
    members.push(forward(12, 1, 1));
    spread(&mut switch, "route", 7, &members);
    spread(&mut switch, "rewrites", 2, &[rewrite(10, 1), rewrite(11, 3)]);
    mirror(&mut switch, 7, 9);
    multicast(&mut switch, 1, &[2, 5, 6]);
    switch
}

#[test]
fn a_packet_through_a_group_and_a_mirror() {
    insta::assert_snapshot!(text(&trace(&mut groups(), &[7, 1, 9, 64, 1, 2], None), false));
}

#[test]
fn all_outcomes_of_a_group_with_replicas_and_a_mirror() {
    insta::assert_snapshot!(text(&trace(&mut groups(), &[7, 1, 9, 64, 1, 2], Some(1024)), false));
}

#[test]
fn a_packet_that_is_too_short() {
    insta::assert_snapshot!(text(&trace(&mut groups(), &[7, 1], None), false));
}

#[test]
fn a_packet_that_fails() {
    let program = SPREAD.replace("hits.count(1);", "assert(h.h.kind == 7);");
    let mut switch = load("spread.p4", &program);
    insta::assert_snapshot!(text(&trace(&mut switch, &[6, 1, 9, 64], None), false));
}

/// Values of translated types have the string of the controller beside the number, in text, JSON
/// and protocol buffers.
#[test]
fn strings_of_controllers_are_beside_their_numbers() {
    let mut switch = load_translated("vrf.p4", include_str!("../../../../programs/vrf.p4"));
    let script = "
        add vrf_of 10 port:\"Ethernet0\" set_vrf(vrf:\"vrf \\\"80\\\"\")
        add routes vrf:\"vrf \\\"80\\\"\" dst:10.0.0.0/8 set_nexthop(nexthop:\"to-b\")
        add nexthops nexthop:\"to-b\" forward(port:\"Ethernet4\", src:0xf2, dst:0xb2)
        packet \"Ethernet0\" 0000000000ee0000000000ff08004500001712340000401151a00a0001010a000202010203
        packet 9 0000000000ee0000000000ff08004500001712340000401151a00a0001010a000202010203";
    let contents = Contents { detail: Detail::Values, outcomes: None };
    let options = Options { trace: Some(contents), strict: true, ..Options::default() };
    let script = Script::parse(script).expect("a script");
    let report = run(&mut switch, &script, options).expect("runs");
    let traces: Vec<Trace> = report.trace.into_iter().map(|(_, trace)| trace).collect();
    let texts: Vec<_> = traces.iter().map(|trace| text(trace, false)).collect();
    insta::assert_snapshot!(texts.join("\n"));
    let json: Vec<_> = traces.iter().flat_map(|trace| Format::Json.bytes(trace)).collect();
    let field = r#"{"name":"nexthop","value":"0x0","text":"to-b"}"#;
    assert!(String::from_utf8_lossy(&json).contains(field));
    let proto: Vec<_> = traces.iter().flat_map(|trace| Format::Proto.bytes(trace)).collect();
    assert_eq!(
        (read(&json).expect("traces"), read(&proto).expect("traces")),
        (traces.clone(), traces)
    );
}
