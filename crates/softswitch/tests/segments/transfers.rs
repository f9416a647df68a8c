//! Tests of TCP transfers through the switch between hosts in network namespaces.

use crate::hosts::{L2, Network, PORTS, ROUTED, ROUTER, SWITCHED};
use crate::namespace::Namespace;
use softswitch::{Path, Segments, Switch};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const BYTES: usize = 8 << 20;
const TIMEOUT: Duration = Duration::from_secs(20);

fn data() -> Vec<u8> {
    (0..BYTES).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

/// Sends bytes over TCP from one host to the other and back.
fn transfer([one, two]: [&Namespace; 2], address: &str) {
    let listener = two.run(|| TcpListener::bind(format!("{address}:0")).expect("an address"));
    let address = listener.local_addr().expect("it has one");
    let expected = data();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = one.run(|| TcpStream::connect(address).expect("a connection"));
            stream.write_all(&expected).expect("it takes them");
            stream.shutdown(std::net::Shutdown::Write).expect("it is open");
            let mut back = Vec::new();
            stream.read_to_end(&mut back).expect("they come");
            assert!(back == expected, "what comes back is damaged");
        });
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut found = Vec::new();
        stream.read_to_end(&mut found).expect("they come");
        assert!(found == expected, "what comes is damaged");
        stream.write_all(&found).expect("it takes them");
    });
}

/// Returns the number of packets that the kernel sent by an interface of the switch. A super-frame
/// counts as one.
fn handed_over(network: &Network, interface: &str) -> u64 {
    let text = network.switch.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
    let text = text.expect("statistics");
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:")));
    let word = line.and_then(|line| line.split_whitespace().nth(9));
    word.and_then(|word| word.parse().ok()).expect("a number of packets")
}

/// Returns the number of packets that a port of the switch has sent, and the number that were too
/// long for it.
fn counted(switch: &Switch, port: usize) -> (u64, u64) {
    let counters = switch.state()[0].ports[port].counters;
    (counters.transmitted_packets, counters.bad_length)
}

/// Runs transfers. Returns the number of packets that port 2 counted as sent per frame that the
/// kernel sent by its interface.
fn packets_per_frame(network: &Network, switch: &Switch, transfers: impl FnOnce()) -> f64 {
    let before = (counted(switch, 1).0, handed_over(network, PORTS[1]));
    transfers();
    let after = (counted(switch, 1).0, handed_over(network, PORTS[1]));
    (after.0 - before.0) as f64 / (after.1 - before.1) as f64
}

#[test]
fn transfers_arrive_whole_and_split() {
    for (path, segments) in [
        (Path::Compiled, Segments::Whole),
        (Path::Compiled, Segments::Split),
        (Path::Interpreter, Segments::Whole),
    ] {
        let Some(network) = Network::new([1500; 2]) else { return };
        let [one, two] = &network.hosts;
        let ratio = |switch: &Switch, addresses: &[&str]| {
            packets_per_frame(&network, switch, || {
                for address in addresses {
                    transfer([one, two], address);
                }
            })
        };
        let switch = network.start(L2, path, segments);
        let switched = ratio(&switch, &[SWITCHED, "[fd00::2]"]);
        drop(switch);
        let switch = network.start(ROUTER, path, segments);
        let routed = ratio(&switch, &[ROUTED]);
        match segments {
            Segments::Whole => assert!(switched > 2.0 && routed > 2.0, "{switched} {routed}"),
            // Other traffic of the hosts' network stacks is sent by the kernel too, but the switch
            // does not count it.
            Segments::Split => assert!(switched < 1.01 && routed < 1.01, "{switched} {routed}"),
        }
    }
}

#[test]
fn tagged_segments_arrive() {
    let Some(network) = Network::new([1500; 2]) else { return };
    for (index, host) in network.hosts.iter().enumerate() {
        let tagged = "link add link eth0 name eth0.7 type vlan id 7";
        if let Err(reason) = packetio::namespace::Namespace::ip(host, tagged) {
            let _ = writeln!(std::io::stderr(), "SKIPPED: this kernel has no VLANs: {reason}");
            return;
        }
        let (own, other) = (index + 1, 2 - index);
        host.ip("link set eth0.7 up");
        host.ip(&format!("address add 10.0.8.{own}/24 dev eth0.7"));
        let neighbour =
            format!("neigh add 10.0.8.{other} lladdr 02:00:00:00:00:0{other} dev eth0.7");
        host.ip(&neighbour);
    }
    let [one, two] = &network.hosts;
    let switch = network.start(L2, Path::Compiled, Segments::Whole);
    let ratio = packets_per_frame(&network, &switch, || transfer([one, two], "10.0.8.2"));
    assert!(ratio > 2.0, "{ratio}");
}

#[test]
fn a_link_with_a_smaller_mtu_gets_segments_that_fit() {
    let Some(network) = Network::new([1500, 1300]) else { return };
    let [one, two] = &network.hosts;
    let switch = network.start(L2, Path::Compiled, Segments::Whole);
    // The hosts agree on a segment size that fits the link.
    let ratio = packets_per_frame(&network, &switch, || transfer([one, two], SWITCHED));
    assert!(ratio > 2.0, "{ratio}");
    assert_eq!(counted(&switch, 1).1, 0);
    // The hosts now assume a larger MTU than the link between them has.
    two.ip("link set eth0 mtu 1500");
    let listener = two.run(|| TcpListener::bind(format!("{SWITCHED}:0")).expect("an address"));
    let address = listener.local_addr().expect("it has one");
    let stream = one.run(|| TcpStream::connect(address).expect("a connection"));
    thread::scope(|scope| {
        scope.spawn(|| (&stream).write_all(&data()).expect("it takes them"));
        let (mut receiver, _) = listener.accept().expect("a connection");
        let started = Instant::now();
        while counted(&switch, 1).1 == 0 {
            assert!(started.elapsed() < TIMEOUT, "no segment was refused");
            thread::yield_now();
        }
        receiver.set_nonblocking(true).expect("a socket");
        assert!(receiver.read(&mut [0; 1]).is_err(), "a segment passed that is too long");
        // The port notices that the link accepts the segments.
        network.switch.ip(&format!("link set {} mtu 1500", PORTS[1]));
        receiver.set_nonblocking(false).expect("a socket");
        let mut found = vec![0; BYTES];
        receiver.read_exact(&mut found).expect("they come");
        assert!(found == data(), "what comes is damaged");
    });
}

/// A queueing discipline that shapes or drops packets must see each segment.
#[test]
fn a_discipline_that_shapes_gets_segments() {
    let Some(network) = Network::new([1500; 2]) else { return };
    let [one, two] = &network.hosts;
    let switch = network.start(L2, Path::Compiled, Segments::Whole);
    let transferred = || packets_per_frame(&network, &switch, || transfer([one, two], SWITCHED));
    assert!(transferred() > 2.0);
    let tc = |what: &str| {
        let words = format!("qdisc {what} dev {} root", PORTS[1]);
        let shape = if what == "add" { " tbf rate 2gbit burst 1mb limit 4mb" } else { "" };
        let mut command = network.switch.command("tc");
        command.args(format!("{words}{shape}").split_whitespace());
        command.status().is_ok_and(|status| status.success())
    };
    if !tc("add") {
        let _ = writeln!(std::io::stderr(), "SKIPPED: this kernel has no tbf");
        return;
    }
    assert!(transferred() < 1.01);
    assert!(tc("del"));
    assert!(transferred() > 2.0);
}
