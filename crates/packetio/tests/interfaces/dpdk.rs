//! Tests of DPDK's virtual devices. Device names are global in a process, so each test uses its
//! own.

use super::namespace::Namespace;
use super::{exchange, frame, receive, send, wait_until};
use packetio::dpdk::open;
use packetio::{Burst, OpenError, Transmitted, af_packet};

#[test]
fn a_ring_returns_the_packets_that_it_takes() {
    let mut ring = open("net_ring0", 1).expect("a ring");
    for length in 14..=1514 {
        let sent = frame(length, 3);
        send(&mut ring, &sent);
        assert_eq!(receive(&mut ring, 1), [sent]);
    }
    for packet in [&frame(14, 0)[..13], &frame(1515, 0)] {
        assert_eq!(ring.queues[0].transmit(packet), Transmitted::BadLength);
    }
    let counters = ring.counters.values();
    let bytes = (14..=1514).sum::<u64>();
    assert_eq!((counters.transmitted_packets, counters.transmitted_bytes), (1501, bytes));
    assert_eq!((counters.received_packets, counters.received_bytes), (1501, bytes));
}

#[test]
fn a_full_ring_is_counted_and_accepted_packets_leave() {
    let mut ring = open("net_ring1", 1).expect("a ring");
    let mut taken = 0;
    while ring.queues[0].transmit(&frame(60, 1)) == Transmitted::Taken {
        taken += 1;
        assert!(taken < 100_000, "it is never full");
    }
    assert_eq!(ring.counters.values().transmit_dropped, 1);
    // The packets for which the ring had no room wait for the next flush.
    let before = ring.counters.values().transmitted_packets;
    assert_eq!(receive(&mut ring, before as usize).len() as u64, before);
    ring.queues[0].flush();
    receive(&mut ring, (taken - before) as usize);
    let after = ring.counters.values();
    assert_eq!((after.transmitted_packets, after.received_packets), (taken, taken));
}

#[test]
fn nothing_is_received_without_end() {
    let mut null = open("net_null0,size=100", 1).expect("a device");
    let mut burst = Burst::new(256);
    assert_eq!(null.queues[0].receive(&mut burst).expect("it is up"), 256);
    assert!(burst.frames().iter().all(|frame| frame.bytes().len() == 100));
    for _ in 0..10_000 {
        assert_eq!(null.queues[0].transmit(&frame(60, 0)), Transmitted::Taken);
    }
}

/// Checks concurrent creation of devices, which DPDK itself does not support.
#[test]
fn several_threads_open_devices_at_once() {
    std::thread::scope(|scope| {
        for number in 10..14 {
            scope.spawn(move || {
                for _ in 0..40 {
                    let null = open(&format!("net_null{number},size=60"), 1);
                    drop(null.expect("a device"));
                }
            });
        }
    });
}

#[test]
fn an_interface_is_reached_through_dpdk() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    namespace.run(|| {
        let mut left = open("net_af_packet0,iface=left", 1).expect("an interface");
        let mut right = af_packet::open("right", 1).expect("an interface");
        exchange(&mut left, &mut right);
        for length in (14..=1514).step_by(100) {
            send(&mut left, &frame(length, 5));
            assert_eq!(receive(&mut right, 1), [frame(length, 5)]);
            send(&mut right, &frame(length, 6));
            assert_eq!(receive(&mut left, 1), [frame(length, 6)]);
        }
    });
}

#[test]
fn two_ends_of_a_memory_interface_meet() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("socket");
    let end = |number: u8, role: &str| {
        format!("net_memif{number},role={role},socket-abstract=no,socket={}", socket.display())
    };
    let error = open(&end(2, "client"), 1).expect_err("there is no server");
    assert!(error.to_string().contains("not connected"), "{error}");
    let mut server = open(&end(0, "server"), 1).expect("a device");
    // The peer does not exist yet.
    wait_until("that it is down", || server.queues[0].receive(&mut Burst::new(1)).is_err());
    assert_eq!(server.queues[0].transmit(&frame(60, 0)), Transmitted::Down);
    let mut client = open(&end(1, "client"), 1).expect("a device");
    wait_until("that they meet", || server.queues[0].reopen() && client.queues[0].reopen());
    // Receiving returns buffers to the other end, which then has room to send.
    for end in [&mut server, &mut client] {
        assert_eq!(end.queues[0].receive(&mut Burst::new(1)).expect("it is up"), 0);
    }
    exchange(&mut server, &mut client);

    // Either end may leave and return.
    drop(client);
    wait_until("that its peer is gone", || {
        server.queues[0].reopen();
        server.queues[0].receive(&mut Burst::new(1)).is_err()
    });
    let mut client = open(&end(1, "client"), 1).expect("the same device");
    wait_until("that they meet again", || server.queues[0].reopen() && client.queues[0].reopen());
    for end in [&mut server, &mut client] {
        assert_eq!(end.queues[0].receive(&mut Burst::new(1)).expect("it is up"), 0);
    }
    exchange(&mut server, &mut client);
    drop((server, client));
    // A used name continues to denote its former device.
    let error = open(&end(1, "server"), 1).expect_err("it was a client");
    assert!(error.to_string().contains("exists"), "{error}");
    let mut server = open(&end(0, "server"), 1).expect("the same device");
    let mut client = open(&end(1, "client"), 1).expect("the same device");
    wait_until("that they meet again", || server.queues[0].reopen() && client.queues[0].reopen());
    for end in [&mut server, &mut client] {
        assert_eq!(end.queues[0].receive(&mut Burst::new(1)).expect("it is up"), 0);
    }
    exchange(&mut server, &mut client);

    // Both ends leave at the same time: one frees its connection while the other notices and frees
    // its own.
    for round in 0..20 {
        if round % 2 == 0 {
            drop((server, client));
        } else {
            drop((client, server));
        }
        server = open(&end(0, "server"), 1).expect("the same device");
        client = open(&end(1, "client"), 1).expect("the same device");
        wait_until("that they meet", || server.queues[0].reopen() && client.queues[0].reopen());
    }
}

#[test]
fn a_port_that_cannot_be_opened_is_an_error() {
    assert!(matches!(open("net_tap0", 1), Err(OpenError::NoSuchDevice { .. })));
    assert!(matches!(open("net_af_packet9,iface=nowhere", 1), Err(OpenError::Dpdk { .. })));
    let error = open("net_ring8", 1000).expect_err("so many queues");
    assert!(matches!(error, OpenError::TooFewDeviceQueues { workers: 1000, .. }), "{error}");
}
