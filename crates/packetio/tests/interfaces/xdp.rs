//! Tests of ports over XDP sockets: frame lengths, VLAN tags, full rings and queues, receive
//! queues, and interfaces that go down or disappear.

use super::hosts::{transfer, with_hosts};
use super::namespace::Namespace;
use super::{exchange, frame, receive, send, wait_until};
use packetio::xdp::open;
use packetio::{Burst, OpenError, Port, Transmitted};
use std::io::Write;

/// Runs `body` with two connected ports.
fn with_pair(mtu: u32, generic: bool, body: impl FnOnce(&Namespace, Port, Port) + Send) {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", mtu);
    namespace.run(|| {
        let [left, right] =
            ["left", "right"].map(|name| open(name, generic, 1).expect("an interface"));
        body(&namespace, left, right);
    });
}

#[test]
fn frames_of_every_length_pass_whole_and_others_are_refused() {
    for generic in [false, true] {
        with_pair(1500, generic, |_, mut left, mut right| {
            for length in 14..=1514 {
                let sent = frame(length, 7);
                send(&mut left, &sent);
                assert_eq!(receive(&mut right, 1), [sent], "generic: {generic}");
            }
            for packet in [&frame(14, 0)[..13], &frame(1515, 0)] {
                assert_eq!(left.queues[0].transmit(packet), Transmitted::BadLength);
            }
            let (out, into) = (left.counters.values(), right.counters.values());
            let bytes = (14..=1514).sum::<u64>();
            let seen = (out.transmitted_packets, out.transmitted_bytes, out.bad_length);
            assert_eq!(seen, (1501, bytes, 2));
            assert_eq!((into.received_packets, into.received_bytes), (1501, bytes));
            assert_eq!(out.received_packets, 0);
        });
    }
}

#[test]
fn rings_go_around_in_bursts() {
    with_pair(3000, false, |_, mut left, mut right| {
        for burst in 0..500 {
            let sent: Vec<_> = (0..32).map(|index| frame(14 + 95 * index, burst as u8)).collect();
            for packet in &sent {
                assert_eq!(left.queues[0].transmit(packet), Transmitted::Taken);
            }
            left.queues[0].flush();
            assert_eq!(receive(&mut right, 32), sent);
        }
    });
}

#[test]
fn an_mtu_that_grew_is_noticed() {
    with_pair(1000, false, |namespace, mut left, mut right| {
        assert_eq!(left.queues[0].transmit(&frame(1515, 0)), Transmitted::BadLength);
        for name in ["left", "right"] {
            namespace.ip(&format!("link set {name} mtu 3000"));
        }
        send(&mut left, &frame(1515, 0));
        assert_eq!(receive(&mut right, 1), [frame(1515, 0)]);
        // The chunks of the sockets were sized for the MTU at the time of opening.
        assert_eq!(left.queues[0].transmit(&frame(3014, 0)), Transmitted::BadLength);
        assert!(left.queues[0].reopen());
        assert_eq!(left.queues[0].transmit(&frame(3014, 0)), Transmitted::BadLength);
    });
}

#[test]
fn tags_stay_in_their_frames() {
    with_pair(1500, false, |_, mut left, mut right| {
        for tags in [&[0x81, 0, 0x60, 5][..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]] {
            let mut sent = frame(200, 1);
            sent.splice(12..12, tags.iter().copied());
            send(&mut left, &sent);
            assert_eq!(receive(&mut right, 1), [sent]);
        }
    });
}

#[test]
fn an_interface_that_goes_down_comes_back() {
    with_pair(1500, false, |namespace, mut left, mut right| {
        exchange(&mut left, &mut right);
        namespace.ip("link set left down");
        wait_until("that the port is down", || left.queues[0].receive(&mut Burst::new(1)).is_err());
        assert_eq!(left.queues[0].transmit(&frame(60, 0)), Transmitted::Down);
        assert!(!left.queues[0].reopen());
        namespace.ip("link set left up");
        wait_until("that it is back", || left.queues[0].reopen());
        namespace.wait_until_running(&["left", "right"]);
        exchange(&mut left, &mut right);
    });
}

#[test]
fn an_interface_that_was_removed_comes_back_under_its_name() {
    with_pair(1500, false, |namespace, mut left, mut right| {
        namespace.ip("link delete left");
        for port in [&mut left, &mut right] {
            let queue = &mut port.queues[0];
            wait_until("that it is gone", || queue.receive(&mut Burst::new(1)).is_err());
            assert!(!queue.reopen());
            assert_eq!(queue.transmit(&frame(60, 0)), Transmitted::Down);
        }
        namespace.link("left", namespace, "right", 1500);
        for port in [&mut left, &mut right] {
            wait_until("that it is back", || port.queues[0].reopen());
        }
        exchange(&mut left, &mut right);
    });
}

#[test]
fn a_full_ring_is_counted() {
    with_pair(1500, false, |_, mut left, mut right| {
        for index in 0..5000 {
            send(&mut left, &frame(60, index as u8));
        }
        let mut received = receive(&mut right, 2048).len() as u64;
        wait_until("that drops are counted", || {
            // Packets that the kernel delivers late find slots that were emptied above.
            let mut late = Burst::new(32);
            right.queues[0].receive(&mut late).expect("it is up");
            received += late.frames().len() as u64;
            right.counters.values().receive_dropped == 5000 - received
        });
    });
}

/// Checks that a surplus of packets is counted as accepted or refused, and that all accepted
/// packets arrive.
#[test]
fn more_than_a_queue_holds_is_counted() {
    const SENT: u64 = 20_000;
    with_pair(1500, false, |_, mut left, mut right| {
        let mut refused = 0;
        for _ in 0..SENT {
            match left.queues[0].transmit(&frame(60, 1)) {
                Transmitted::Taken => {}
                Transmitted::Full => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        wait_until("that everything leaves", || left.queues[0].flush());
        let out = left.counters.values();
        assert_eq!(out.transmit_dropped, refused);
        assert_eq!(out.transmitted_packets + refused, SENT);
        let mut burst = Burst::new(32);
        wait_until("that all that left is accounted for", || {
            right.queues[0].receive(&mut burst).expect("it is up");
            burst.clear();
            let into = right.counters.values();
            into.received_packets + into.receive_dropped == out.transmitted_packets
        });
        exchange(&mut left, &mut right);
    });
}

#[test]
fn every_queue_belongs_to_a_worker() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.ip("link add left numrxqueues 4 numtxqueues 4 type veth peer name right numrxqueues 4 numtxqueues 4");
    namespace.ip("link set left up");
    namespace.ip("link set right up");
    namespace.wait_until_running(&["left", "right"]);
    namespace.run(|| {
        for workers in [1, 2, 3, 4] {
            let mut left = open("left", false, 1).expect("an interface");
            let mut right = open("right", false, workers).expect("an interface");
            for flow in 0..64 {
                send(&mut left, &super::udp(flow));
            }
            let mut flows: Vec<_> =
                receive(&mut right, 64).iter().map(|packet| packet[33]).collect();
            flows.sort_unstable();
            assert_eq!(flows, (0..64).collect::<Vec<_>>());
            exchange(&mut left, &mut right);
        }
        let error = open("right", false, 5).expect_err("it has four");
        assert!(matches!(error, OpenError::TooFewQueues { queues: 4, workers: 5, .. }), "{error}");
    });
}

#[test]
fn a_port_that_cannot_be_opened_is_an_error() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.run(|| {
        assert!(matches!(open("nowhere", false, 1), Err(OpenError::NoInterface { .. })));
        assert!(matches!(open("lo", false, 1), Err(OpenError::TooLong { .. })));
        namespace.link("left", &namespace, "right", 9000);
        assert!(matches!(open("left", false, 1), Err(OpenError::TooLong { .. })));
        // The peer may send frames that do not fit.
        namespace.ip("link set left mtu 1500");
        let error = open("left", false, 1).expect_err("the peer");
        assert!(matches!(error, OpenError::TooLong { .. }), "{error}");
        namespace.ip("link set right mtu 3400");
        let port = open("left", false, 1).expect("a veth");
        assert!(matches!(open("left", false, 1), Err(OpenError::Taken { .. })));
        drop(port);
        open("left", false, 1).expect("nothing is left behind");
    });
}

#[test]
fn disabled_offloads_are_restored() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    let stripping = || {
        let output = namespace.command("ethtool").args(["-k", "left"]).output().expect("ip");
        let settings = String::from_utf8_lossy(&output.stdout).into_owned();
        settings.lines().find_map(|line| Some(line.strip_prefix("rx-vlan-offload: ")? == "on"))
    };
    let Some(before) = stripping() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: ethtool is not installed");
        return;
    };
    namespace.run(|| {
        let port = open("left", false, 1).expect("a veth");
        assert_eq!((before, stripping()), (true, Some(false)));
        drop(port);
        assert_eq!(stripping(), Some(true));
    });
}

#[test]
fn tcp_works_between_namespaces_at_once() {
    with_hosts(
        |name| open(name, false, 1),
        None,
        |one, two| {
            transfer(one, two, "10.0.0.2:0");
            transfer(one, two, "[fd00::2]:0");
        },
    );
}
