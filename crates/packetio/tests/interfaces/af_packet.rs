//! Tests of ports over packet sockets: frame lengths, VLAN tags, offloads, full rings and queues,
//! and interfaces that go down or disappear.

use super::hosts::{transfer, with_hosts};
use super::namespace::Namespace;
use super::{exchange, frame, receive, send, udp, wait_until};
use packetio::af_packet::{RingMemory, open, open_with};
use packetio::interface::{Interface, LinkWatch};
use packetio::offload::{Restorer, VIRTIO_HEADER};
use packetio::{Burst, Frame, OpenError, Port, Transmitted};

/// Runs `body` with two connected ports.
fn with_pair(mtu: u32, body: impl FnOnce(&Namespace, Port, Port) + Send) {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", mtu);
    namespace.run(|| {
        let [left, right] = ["left", "right"].map(|name| open(name, 1).expect("an interface"));
        body(&namespace, left, right);
    });
}

#[test]
fn frames_of_every_length_pass_whole_and_others_are_refused() {
    with_pair(1500, |_, mut left, mut right| {
        for length in 14..=1514 {
            let sent = frame(length, 7);
            send(&mut left, &sent);
            assert_eq!(receive(&mut right, 1), [sent]);
        }
        let refused = [frame(13, 0)[..13].to_vec(), frame(1515, 0)];
        for packet in &refused {
            assert_eq!(left.queues[0].transmit(packet), Transmitted::BadLength);
        }
        let (out, into) = (left.counters.values(), right.counters.values());
        let bytes = (14..=1514).sum::<u64>();
        assert_eq!(
            (out.transmitted_packets, out.transmitted_bytes, out.bad_length),
            (1501, bytes, 2)
        );
        assert_eq!((into.received_packets, into.received_bytes), (1501, bytes));
        // A port does not receive the frames that it sends.
        assert_eq!(out.received_packets, 0);
    });
}

#[test]
fn jumbo_frames_pass_and_the_ring_goes_around() {
    with_pair(9000, |_, mut left, mut right| {
        for index in 0..3000 {
            let sent = frame(9014 - index % 100, index as u8);
            send(&mut left, &sent);
            assert_eq!(receive(&mut right, 1), [sent]);
        }
    });
}

#[test]
fn frames_longer_than_a_slot_pass_in_their_order() {
    with_pair(1500, |namespace, mut left, mut right| {
        // The slots of the rings were sized for the MTU at the time of opening.
        namespace.ip("link set left mtu 9000");
        namespace.ip("link set right mtu 9000");
        let sent: Vec<_> = [9014, 60, 4000, 61, 62, 8000].map(|length| frame(length, 3)).into();
        for packet in &sent {
            assert_eq!(left.queues[0].transmit(packet), Transmitted::Taken);
        }
        left.queues[0].flush();
        assert_eq!(receive(&mut right, 6), sent);
    });
}

#[test]
fn tags_stay_in_their_frames() {
    with_pair(1500, |_, mut left, mut right| {
        for tags in [&[0x81, 0, 0x60, 5][..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]] {
            let mut sent = frame(200, 1);
            sent.splice(12..12, tags.iter().copied());
            send(&mut left, &sent);
            assert_eq!(receive(&mut right, 1), [sent]);
        }
        // One tag does not count towards the length.
        let mut longest = frame(1514, 2);
        longest.splice(12..12, [0x81, 0, 0, 1]);
        send(&mut left, &longest);
        assert_eq!(receive(&mut right, 1), [longest]);
    });
}

#[test]
fn a_flow_stays_on_its_queue() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    namespace.run(|| {
        let mut left = open("left", 1).expect("an interface");
        let mut right = open("right", 2).expect("an interface");
        let mut queues_of_flow = [[0; 2]; 64];
        for _ in 0..4 {
            for flow in 0..64 {
                send(&mut left, &udp(flow));
            }
            let mut burst = Burst::new(64);
            let mut seen = 0;
            wait_until("that all flows come", || {
                for (index, queue) in right.queues.iter_mut().enumerate() {
                    seen += queue.receive(&mut burst).expect("it is up");
                    for packet in burst.frames() {
                        queues_of_flow[usize::from(packet.bytes()[33])][index] += 1;
                    }
                    burst.clear();
                }
                seen == 64
            });
        }
        assert!(queues_of_flow.iter().all(|counts| counts.contains(&4)), "{queues_of_flow:?}");
        let first = queues_of_flow.iter().filter(|counts| counts[0] > 0).count();
        assert!((1..64).contains(&first), "all flows on one queue: {first}");
    });
}

#[test]
fn an_interface_that_goes_down_comes_back() {
    with_pair(1500, |namespace, mut left, mut right| {
        let mut watch = LinkWatch::new().expect("netlink");
        assert!(!watch.changed());
        namespace.ip("link set left down");
        wait_until("that the change is told", || watch.changed());
        assert!(!Interface::named("left").expect("it is there").up);
        wait_until("that the port is down", || left.queues[0].receive(&mut Burst::new(1)).is_err());
        assert_eq!(left.queues[0].transmit(&frame(60, 0)), Transmitted::Down);
        assert!(!left.queues[0].reopen());
        namespace.ip("link set left up");
        assert!(left.queues[0].reopen());
        namespace.wait_until_running(&["left", "right"]);
        exchange(&mut left, &mut right);
    });
}

#[test]
fn a_port_that_only_sends_learns_that_it_is_down() {
    with_pair(1500, |namespace, mut left, _right| {
        namespace.ip("link set left down");
        assert_eq!(left.queues[0].transmit(&frame(60, 0)), Transmitted::Taken);
        left.queues[0].flush();
        assert_eq!(left.queues[0].transmit(&frame(60, 0)), Transmitted::Down);
        assert_eq!(left.counters.values().transmit_dropped, 2);
    });
}

#[test]
fn an_interface_that_was_removed_comes_back_under_its_name() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    namespace.run(|| {
        let [mut left, mut right] = ["left", "right"].map(|name| open(name, 2).expect("there"));
        namespace.ip("link delete left");
        for port in [&mut left, &mut right] {
            for queue in &mut port.queues {
                wait_until("that it is gone", || queue.receive(&mut Burst::new(1)).is_err());
                assert!(!queue.reopen());
                assert_eq!(queue.transmit(&frame(60, 0)), Transmitted::Down);
            }
        }
        namespace.link("left", &namespace, "right", 9000);
        for port in [&mut left, &mut right] {
            assert!(port.queues.iter_mut().all(|queue| queue.reopen()), "{}", port.name);
        }
        exchange(&mut left, &mut right);
        let longer = frame(9014, 0);
        send(&mut left, &longer);
        assert_eq!(receive(&mut right, 1), [longer]);
    });
}

/// Waits until a full ring has dropped `count` packets, and takes none from it. The kernel may
/// deliver packets after they are sent; one that found a slot emptied meanwhile would not be
/// dropped.
fn wait_for_drops(port: &mut Port, count: u64) {
    wait_until("that drops are counted", || {
        port.queues[0].receive(&mut Burst::new(0)).expect("it is up");
        port.counters.values().receive_dropped == count
    });
}

#[test]
fn a_full_ring_and_a_full_queue_are_counted() {
    with_pair(1500, |namespace, mut left, mut right| {
        // The ring of `right` has 4,096 slots.
        for index in 0..5000 {
            send(&mut left, &frame(60, index as u8));
        }
        wait_for_drops(&mut right, 5000 - 4096);
        assert_eq!(receive(&mut right, 4096).len(), 4096);
        // The shaped link delivers nothing for a long time.
        let Ok(status) = namespace
            .command("tc")
            .args("qdisc add dev left root tbf rate 8kbit burst 2kb limit 100mb".split(' '))
            .status()
        else {
            return;
        };
        assert!(status.success(), "tc: {status}");
        let (before, mut told) = (left.counters.values(), 0);
        let mut sent = 0;
        while told < 1000 {
            match left.queues[0].transmit(&frame(1514, 0)) {
                Transmitted::Taken => sent += 1,
                Transmitted::Full => told += 1,
                other => panic!("{other:?}"),
            }
            assert!(sent < 100_000, "it is never full");
        }
        assert!(!left.queues[0].flush());
        assert_eq!(left.counters.values().transmit_dropped - before.transmit_dropped, 1000);
        // The accepted frames leave once there is room again.
        let status = namespace.command("tc").args("qdisc del dev left root".split(' ')).status();
        assert!(status.expect("tc").success());
        wait_until("that everything leaves", || left.queues[0].flush());
        let after = left.counters.values();
        assert_eq!(after.transmitted_packets - before.transmitted_packets, sent);
    });
}

#[test]
fn a_ring_has_the_requested_memory_even_after_the_port_comes_back() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.link("left", &namespace, "right", 1500);
    namespace.run(|| {
        let mut left = open("left", 1).expect("an interface");
        for kibibytes in [256, 1024] {
            let memory = RingMemory::of_bytes(kibibytes << 10);
            let mut right = open_with("right", 1, memory).expect("an interface");
            let slots = kibibytes / 2;
            for round in 1..=2 {
                for index in 0..slots + 100 {
                    send(&mut left, &frame(60, index as u8));
                }
                wait_for_drops(&mut right, round * 100);
                assert_eq!(receive(&mut right, slots).len(), slots, "{kibibytes} KiB");
                namespace.ip("link set right down");
                wait_until("that it is down", || {
                    right.queues[0].receive(&mut Burst::new(1)).is_err()
                });
                namespace.ip("link set right up");
                wait_until("that both are up", || {
                    [&mut left, &mut right].iter_mut().all(|port| port.queues[0].reopen())
                });
                namespace.wait_until_running(&["left", "right"]);
            }
        }
    });
}

#[test]
fn the_length_of_the_queue_behind_a_port_is_reported() {
    with_pair(1500, |namespace, mut left, mut right| {
        let queue = &mut left.queues[0];
        assert_eq!(queue.waiting(), None);
        // Two packets block the shaped link for minutes.
        let slow = "qdisc add dev left root tbf rate 8bit burst 2kb limit 1mb";
        let Ok(status) = namespace.command("tc").args(slow.split(' ')).status() else { return };
        assert!(status.success(), "tc: {status}");
        for count in 1..=20 {
            assert_eq!(queue.transmit(&frame(1000, 0)), Transmitted::Taken);
            // Packets that wait for a flush count like packets that wait in the kernel.
            let waiting = queue.waiting().expect("there is a queue");
            assert!((count.max(3) - 3..=count).contains(&waiting), "{waiting} of {count}");
            assert!(queue.flush());
            assert!(
                (count.max(3) - 3..=count).contains(&queue.waiting().expect("a queue")),
                "{count}"
            );
        }
        let status = namespace.command("tc").args("qdisc del dev left root".split(' ')).status();
        assert!(status.expect("tc").success());
        assert_eq!(queue.waiting(), None);
        // Only the packets that have left are at the other end.
        assert!(right.queues[0].receive(&mut Burst::new(32)).expect("it is up") <= 3);
    });
}

#[test]
fn a_port_that_cannot_be_opened_is_an_error() {
    let Some(namespace) = Namespace::new() else { return };
    namespace.run(|| {
        assert!(matches!(open("nowhere", 1), Err(OpenError::NoInterface { .. })));
        assert!(matches!(open("a-name-that-is-too-long", 1), Err(OpenError::NoInterface { .. })));
        namespace.ip("tuntap add mode tun name tunnel");
        assert!(matches!(open("tunnel", 1), Err(OpenError::NotEthernet { .. })));
        namespace.ip("link add left type veth peer name right");
        // The interface is down when it is opened.
        let mut left = open("left", 2).expect("it is there");
        assert!(left.queues[0].receive(&mut Burst::new(1)).is_err());
        namespace.ip("link set left up");
        assert!(left.queues.iter_mut().all(|queue| queue.reopen()));
        assert_eq!(left.queues[0].receive(&mut Burst::new(1)).expect("it is up"), 0);
    });
}

/// Opens a socket that sends packets after a virtio header.
#[allow(unsafe_code, reason = "an option that rustix does not have")]
fn unfinished(interface: &str) -> std::os::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketType, netdevice::name_to_index};
    let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None).expect("root");
    let index = name_to_index(&socket, interface).expect("there");
    let one: libc::c_int = 1;
    // SAFETY: the structure consists of integers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = index.cast_signed();
    // SAFETY: both values are valid for the calls and have the given lengths.
    let results = unsafe {
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&socket);
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_VNET_HDR);
        let address_bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        [
            libc::setsockopt(descriptor, level, option, (&raw const one).cast(), 4),
            libc::bind(descriptor, (&raw const address).cast(), address_bytes),
        ]
    };
    assert_eq!(results, [0, 0]);
    socket
}

#[test]
fn offloads_that_a_peer_left_are_completed() {
    with_pair(1500, |_, _, mut right| {
        let peer = unfinished("left");
        for vlan in [None, Some(7)] {
            let build = |payload: &[u8], index: u16, last: bool| {
                let link = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]);
                let mut network =
                    etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10; 4], [11; 4])
                        .expect("it fits");
                network.identification = index;
                let network = etherparse::IpHeaders::Ipv4(network, Default::default());
                let link = match vlan {
                    None => link.ip(network),
                    Some(vlan) => link
                        .single_vlan(etherparse::VlanId::try_new(vlan).expect("12 bits"))
                        .ip(network),
                };
                let tcp = link.tcp(1, 2, 1000 * u32::from(index), 500).ack(1);
                let tcp = if last { tcp.psh() } else { tcp };
                let mut packet = Vec::new();
                tcp.write(&mut packet, payload).expect("memory");
                packet
            };
            let payload: Vec<u8> = (0..9500).map(|index| index as u8).collect();
            let expected: Vec<_> = payload
                .chunks(1000)
                .enumerate()
                .map(|(index, part)| build(part, index as u16, index == 9))
                .collect();
            let start = 34 + vlan.map_or(0, |_| 4_u16);
            let mut merged = vec![1, 1];
            for word in [start + 20, 1000, start, 16] {
                merged.extend(word.to_ne_bytes());
            }
            merged.extend(build(&payload, 0, true));
            // The kernel expects the sum of the pseudo-header in the field.
            let field = 10 + usize::from(start) + 16;
            let sum = 2 * (u32::from(0x0a0a_u16) + u32::from(0x0b0b_u16)) + 6 + 20 + 9500;
            merged[field..field + 2].copy_from_slice(&(sum as u16).to_be_bytes());
            rustix::net::send(&peer, &merged, rustix::net::SendFlags::empty()).expect("it leaves");
            assert_eq!(receive(&mut right, 10), expected, "{vlan:?}");
        }
    });
}

/// Returns the segments of a TCP super-frame, and the frame as a kernel delivers it.
fn super_frame(vlan: Option<u16>, ipv6: bool) -> (Vec<Vec<u8>>, [u8; VIRTIO_HEADER], Vec<u8>) {
    const SIZE: usize = 1000;
    let payload: Vec<u8> = (0..9500_usize).map(|index| (index ^ (index >> 8)) as u8).collect();
    let build = |part: &[u8], index: usize, is_last: bool| {
        let network = if ipv6 {
            let header = etherparse::Ipv6Header {
                hop_limit: 64,
                source: [0x20; 16],
                destination: [0x30; 16],
                ..Default::default()
            };
            etherparse::IpHeaders::Ipv6(header, Default::default())
        } else {
            let mut header =
                etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10; 4], [11; 4])
                    .expect("it fits");
            header.identification = 0xfffc_u16.wrapping_add(index as u16);
            etherparse::IpHeaders::Ipv4(header, Default::default())
        };
        let link = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]);
        let internet = match vlan {
            None => link.ip(network),
            Some(vlan) => {
                link.single_vlan(etherparse::VlanId::try_new(vlan).expect("12 bits")).ip(network)
            }
        };
        let sequence = (u32::MAX - 2000).wrapping_add((SIZE * index) as u32);
        let mut header = etherparse::TcpHeader::new(1, 2, sequence, 500);
        (header.ack, header.cwr) = (true, index == 0);
        (header.psh, header.fin) = (is_last, is_last);
        header.set_options_raw(&[1; 12]).expect("it fits");
        let mut packet = Vec::new();
        internet.tcp_header(header).write(&mut packet, part).expect("memory");
        packet
    };
    let parts = payload.chunks(SIZE).enumerate();
    let segments = parts.map(|(index, part)| build(part, index, index == 9)).collect();
    let mut frame = build(&payload, 0, true);
    let transport = 14 + vlan.map_or(0, |_| 4) + if ipv6 { 40 } else { 20 };
    frame[transport + 16..transport + 18].fill(0x55);
    let mut header = [1, if ipv6 { 4 } else { 1 }, 0, 0, 0, 0, 0, 0, 0, 0];
    for (position, word) in [transport + 32, SIZE, transport, 16].into_iter().enumerate() {
        header[2 + 2 * position..4 + 2 * position].copy_from_slice(&(word as u16).to_ne_bytes());
    }
    (segments, header, frame)
}

/// Checks that the kernel segments a frame that leaves in one piece into the same segments as this
/// crate, even if the interface accepts only packets.
#[test]
fn a_frame_that_leaves_whole_becomes_its_segments() {
    for longest in [None, Some(2000)] {
        with_pair(1500, |namespace, mut left, mut right| {
            if let Some(longest) = longest {
                namespace.ip(&format!("link set left gso_max_size {longest}"));
            }
            for (vlan, ipv6) in [(None, false), (None, true), (Some(7), false), (Some(7), true)] {
                let (expected, header, frame) = super_frame(vlan, ipv6);
                let mut burst = Burst::new(64);
                burst.take_heads(Some(14));
                let taken = Restorer::default().take(&header, None, &frame, &mut burst);
                assert_eq!(taken.map(|taken| taken.0), Ok(10));
                let heads: Vec<&[u8]> = burst.frames().iter().map(Frame::bytes).collect();
                let whole = burst.super_frames()[0].whole(&heads).expect("nothing was changed");
                let before = (left.counters.values(), handed_over("left"));
                assert!(left.queues[0].transmit_whole(&whole));
                assert!(left.queues[0].flush());
                assert_eq!(receive(&mut right, 10), expected, "{vlan:?} {ipv6} {longest:?}");
                let after = (left.counters.values(), handed_over("left"));
                assert_eq!(after.0.transmitted_packets - before.0.transmitted_packets, 10);
                let bytes = expected.iter().map(|one| one.len() as u64).sum::<u64>();
                assert_eq!(after.0.transmitted_bytes - before.0.transmitted_bytes, bytes);
                assert_eq!(after.1 - before.1, if longest.is_some() { 10 } else { 1 });
            }
        });
    }
}

/// Returns the number of packets that the kernel has sent through an interface of this namespace. A
/// super-frame counts as one.
fn handed_over(interface: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").expect("statistics");
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:")));
    let word = line.and_then(|line| line.split_whitespace().nth(9));
    word.and_then(|word| word.parse().ok()).expect("a number of packets")
}

/// Checks the length of segments, which the kernel does not compare with the MTU.
#[test]
fn segments_that_are_too_long_do_not_leave_whole() {
    with_pair(1500, |namespace, mut left, _right| {
        let (expected, header, frame) = super_frame(None, false);
        let mut burst = Burst::new(64);
        burst.take_heads(Some(14));
        Restorer::default().take(&header, None, &frame, &mut burst).expect("it is sound");
        let heads: Vec<&[u8]> = burst.frames().iter().map(Frame::bytes).collect();
        let whole = burst.super_frames()[0].whole(&heads).expect("nothing was changed");
        let fits = expected[0].len() - 14;
        for (mtu, leaves) in [(1500, true), (fits - 1, false), (fits, true), (700, false)] {
            namespace.ip(&format!("link set left mtu {mtu}"));
            assert_eq!(left.queues[0].transmit_whole(&whole), leaves, "{mtu}");
        }
        namespace.ip("link set left down");
        wait_until("that the port is down", || left.queues[0].receive(&mut Burst::new(1)).is_err());
        assert!(!left.queues[0].transmit_whole(&whole));
    });
}

#[test]
fn tcp_works_between_namespaces_at_once() {
    with_hosts(
        |name| open(name, 1),
        None,
        |one, two| {
            transfer(one, two, "10.0.0.2:0");
            transfer(one, two, "[fd00::2]:0");
        },
    );
}

#[test]
fn tcp_works_within_a_vlan() {
    with_hosts(
        |name| open(name, 1),
        Some(7),
        |one, two| {
            transfer(one, two, "10.0.0.2:0");
            transfer(one, two, "[fd00::2]:0");
        },
    );
}
