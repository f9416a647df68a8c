//! Tests of the decisions of forwarding applications: whether they forward, flood or drop a frame,
//! and which rule they install.

use super::*;

const A: u8 = 0xa;
const B: u8 = 0xb;
const ARP: u16 = 0x0806;

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

fn frame_between(destination: MacAddress, source: MacAddress, ether_types: &[u16]) -> Vec<u8> {
    let mut frame = [destination.0, source.0].concat();
    for ether_type in ether_types {
        frame.extend(ether_type.to_be_bytes());
        frame.extend([0, 7]);
    }
    frame
}

fn frame(destination: u8, source: u8, ether_type: u16) -> Vec<u8> {
    frame_between(mac(destination), mac(source), &[ether_type])
}

fn rule(ingress: u32, source: u8, destination: u8, output: u32) -> Rule {
    let (source, destination) = (mac(source), mac(destination));
    Rule { flow: Flow { ingress: Port(ingress), source, destination }, output: Port(output) }
}

#[test]
fn a_reply_is_forwarded_to_the_port_of_the_request() {
    for policy in [RulePolicy::EveryFrame, RulePolicy::Ipv4] {
        let mut switch = Forwarding::new(policy);
        assert_eq!(switch.packet_in(Port(1), &frame(B, A, IPV4)), Decision::Flood);
        assert_eq!(
            switch.packet_in(Port(2), &frame(A, B, IPV4)),
            Decision::Forward { port: Port(1), rule: Some(rule(2, B, A, 1)) }
        );
        assert_eq!(
            switch.packet_in(Port(1), &frame(B, A, IPV4)),
            Decision::Forward { port: Port(2), rule: Some(rule(1, A, B, 2)) }
        );
    }
}

#[test]
fn a_host_that_moves_is_found_at_its_new_port() {
    let mut switch = Forwarding::new(RulePolicy::EveryFrame);
    switch.packet_in(Port(1), &frame(B, A, IPV4));
    switch.packet_in(Port(7), &frame(B, A, IPV4));
    assert_eq!(
        switch.packet_in(Port(2), &frame(A, B, IPV4)),
        Decision::Forward { port: Port(7), rule: Some(rule(2, B, A, 7)) }
    );
}

#[test]
fn reactive_forwarding_installs_rules_for_ipv4_only() {
    for (ether_types, learning, reactive) in [
        (&[IPV4][..], true, true),
        (&[ARP], true, false),
        (&[0x86dd], true, false),
        (&[0x8100, IPV4], true, false),
    ] {
        for (policy, expected) in [(RulePolicy::EveryFrame, learning), (RulePolicy::Ipv4, reactive)]
        {
            let mut switch = Forwarding::new(policy);
            switch.packet_in(Port(1), &frame(B, A, ARP));
            let answer = frame_between(mac(A), mac(B), ether_types);
            let decision = switch.packet_in(Port(2), &answer);
            let rule = expected.then(|| rule(2, B, A, 1));
            assert_eq!(decision, Decision::Forward { port: Port(1), rule }, "{ether_types:x?}");
        }
    }
}

#[test]
fn groups_are_flooded_and_never_learned() {
    let mut switch = Forwarding::new(RulePolicy::EveryFrame);
    let group = MacAddress([1, 0, 0x5e, 0, 0, 1]);
    for destination in [MacAddress::BROADCAST, group] {
        let frame = frame_between(destination, destination, &[IPV4]);
        assert_eq!(switch.packet_in(Port(1), &frame), Decision::Flood);
        assert_eq!(switch.packet_in(Port(2), &frame), Decision::Flood);
    }
    // A source that cannot be a host's address gets no rule either.
    switch.packet_in(Port(1), &frame(B, A, IPV4));
    let spoofed = frame_between(mac(A), group, &[IPV4]);
    assert_eq!(
        switch.packet_in(Port(2), &spoofed),
        Decision::Forward { port: Port(1), rule: None }
    );
}

#[test]
fn hosts_behind_one_port_are_told_apart_by_the_switch() {
    let mut switch = Forwarding::new(RulePolicy::EveryFrame);
    switch.packet_in(Port(1), &frame(B, A, IPV4));
    assert_eq!(
        switch.packet_in(Port(1), &frame(A, B, IPV4)),
        Decision::Forward { port: Port(1), rule: Some(rule(1, B, A, 1)) }
    );
}

#[test]
fn discovery_and_reserved_groups_are_neither_forwarded_nor_learned() {
    let mut switch = Forwarding::new(RulePolicy::EveryFrame);
    let spanning_tree = MacAddress([1, 0x80, 0xc2, 0, 0, 0]);
    for frame in [
        frame(B, A, 0x88cc),
        frame(B, A, 0x8942),
        frame_between(MacAddress::BROADCAST, mac(A), &[0x8942]),
        frame_between(mac(B), mac(A), &[0x88a8, 0x8100, 0x88cc]),
        frame_between(spanning_tree, mac(A), &[0x0026]),
    ] {
        assert_eq!(switch.packet_in(Port(1), &frame), Decision::Drop, "{frame:x?}");
    }
    assert_eq!(switch.packet_in(Port(2), &frame(A, B, IPV4)), Decision::Flood);
}

#[test]
fn bytes_that_are_no_ethernet_frame_are_dropped() {
    let mut switch = Forwarding::new(RulePolicy::EveryFrame);
    for length in 0..14 {
        let frame = &frame(B, A, IPV4)[..length];
        assert_eq!(switch.packet_in(Port(1), frame), Decision::Drop);
    }
    let cut_in_tag = &frame_between(mac(B), mac(A), &[0x8100])[..16];
    assert_eq!(switch.packet_in(Port(1), cut_in_tag), Decision::Drop);
    assert_eq!(switch.packet_in(Port(2), &frame(A, B, IPV4)), Decision::Flood);
}

#[test]
fn the_null_responder_keeps_no_state() {
    assert!(Application::NullResponder.forwarding().is_none());
    assert!(Application::LearningSwitch.forwarding().is_some());
    assert!(Application::ReactiveForwarding.forwarding().is_some());
}
