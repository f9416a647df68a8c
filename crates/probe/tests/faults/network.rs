//! Tests with slow or distant networks, and with controllers that do not read their connections.
//!
//! Networks consist of namespaces. The kernel's token bucket filter limits their rate, and a relay
//! of packet sockets delays their frames.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use packetio::af_packet;
use packetio::namespace::Namespace;
use packetio::{Burst, Port};
use probe::outcome::{Saturated, Trial};

use super::openflow_peer::{Behaviour, Peer};
use super::run::run;

const OURS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const THEIRS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// Creates namespaces; returns `None` with a message where they cannot be created.
fn namespaces<const N: usize>() -> Option<[Namespace; N]> {
    let made: Result<Vec<_>, _> = (0..N).map(|_| Namespace::new()).collect();
    match made {
        Ok(made) => made.try_into().ok(),
        Err(reason) => {
            let required =
                std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(!required, "{reason}");
            // eprintln! would be hidden by the test harness when the test passes.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
            None
        }
    }
}

fn ip(namespace: &Namespace, arguments: &str) {
    namespace.ip(arguments).unwrap_or_else(|error| panic!("{error}"));
}

/// Runs a trial of two switches in one namespace with a controller in another.
fn trial(
    ours: &Namespace,
    theirs: &Namespace,
    behaviour: Behaviour,
    more: &[(&str, &str)],
) -> Trial {
    let start = || Peer::start_at(IpAddr::V4(THEIRS), behaviour);
    let peer = theirs.run(start).unwrap_or_else(|error| panic!("{error}"));
    let address = peer.address().to_string();
    let mut settings = vec![
        ("protocol", "openflow13"),
        ("controller.address", address.as_str()),
        ("switches.count", "2"),
        ("traffic.arp-first", "false"),
        ("timing.settle", "0s"),
        ("timing.warm-up", "500ms"),
        ("timing.measure", "1500ms"),
        ("timing.drain", "200ms"),
        ("timing.sample", "100ms"),
    ];
    settings.extend(more);
    ours.run(|| run(&settings)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_network_that_is_too_slow_is_the_limit() {
    let Some([ours, theirs]) = namespaces() else { return };
    ours.link("ours", &theirs, "theirs", 1500).unwrap_or_else(|error| panic!("{error}"));
    ip(&ours, &format!("addr add {OURS}/24 dev ours"));
    ip(&theirs, &format!("addr add {THEIRS}/24 dev theirs"));
    // The rate allows about 300 packet-ins per second.
    let bucket = "qdisc add dev ours root tbf rate 400kbit burst 3000 limit 30000";
    let status = ours.command("tc").args(bucket.split(' ')).status().expect("iproute2 has tc");
    if !status.success() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: this kernel has no token bucket filter");
        return;
    }
    let answers = Behaviour::Answer { copies: 1 };
    let open = trial(&ours, &theirs, answers, &[("traffic.rate", "300")]);
    let verdict = &open.verdict;
    assert_eq!(verdict.saturated, Saturated::Network, "{verdict:?}");
    assert!(verdict.because.contains("receive windows were open"), "{verdict:?}");
    let account = verdict.account.expect("of an open loop");
    assert!(account.network.low > account.due / 4, "{account:?}");
    assert!(account.controller.low < account.due / 20, "{account:?}");

    let flood = trial(&ours, &theirs, answers, &[("traffic.mode", "flood")]);
    assert_eq!(flood.verdict.saturated, Saturated::Network, "{:?}", flood.verdict);
}

/// A controller behind a long delay answers few outstanding packet-ins as fast as they arrive.
#[test]
fn a_closed_loop_behind_a_long_way_is_limited_by_its_window() {
    const ONE_WAY: Duration = Duration::from_millis(25);
    let Some([ours, between, theirs]) = namespaces() else { return };
    for (end, name, address) in [(&ours, "ours", OURS), (&theirs, "theirs", THEIRS)] {
        end.link(name, &between, name, 1500).unwrap_or_else(|error| panic!("{error}"));
        ip(end, &format!("addr add {address}/24 dev {name}"));
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            between.run(|| {
                let ports = ["ours", "theirs"]
                    .map(|name| af_packet::open(name, 1).unwrap_or_else(|error| panic!("{error}")));
                relay(ports, ONE_WAY, &stop);
            })
        });
        let closed = [("traffic.mode", "closed"), ("traffic.window", "20")];
        let trial = trial(&ours, &theirs, Behaviour::Answer { copies: 1 }, &closed);
        stop.store(true, Ordering::Relaxed);
        let verdict = &trial.verdict;
        assert!(trial.rtt_from_sent.min_ns >= 2 * ONE_WAY.as_nanos() as u64);
        assert!(trial.counts.answered > 100, "{:?}", trial.counts);
        assert_eq!(verdict.saturated, Saturated::Neither, "{verdict:?}");
        assert!(verdict.because.contains("Raise --window"), "{verdict:?}");
    });
}

/// Forwards frames between two ports, each after a delay.
fn relay(mut ports: [Port; 2], delay: Duration, stop: &AtomicBool) {
    let mut burst = Burst::new(32);
    let mut waiting: [VecDeque<(Instant, Vec<u8>)>; 2] = Default::default();
    while !stop.load(Ordering::Relaxed) {
        for from in 0..2 {
            let queue = &mut ports[from].queues[0];
            // An interface whose namespace is being removed is down.
            let _ = queue.receive(&mut burst);
            let due = Instant::now() + delay;
            waiting[from].extend(burst.frames().iter().map(|one| (due, one.bytes().to_vec())));
            burst.clear();
            let out = &mut ports[1 - from].queues[0];
            while waiting[from].front().is_some_and(|(due, _)| *due <= Instant::now()) {
                if let Some((_, frame)) = waiting[from].pop_front() {
                    out.transmit(&frame);
                }
            }
            out.flush();
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Runs a trial with a controller on this host.
fn here(peer: &Peer, more: &[(&str, &str)]) -> Trial {
    let address = peer.address().to_string();
    let mut settings = vec![
        ("protocol", "openflow13"),
        ("controller.address", address.as_str()),
        ("switches.count", "2"),
        ("traffic.arp-first", "false"),
        ("timing.settle", "0s"),
        ("timing.warm-up", "500ms"),
        ("timing.measure", "1s"),
        ("timing.drain", "200ms"),
    ];
    settings.extend(more);
    run(&settings)
}

#[test]
fn a_flood_is_limited_by_a_controller_that_reads_slowly() {
    let peer = Peer::start(Behaviour::AnswerPerSecond(50));
    let trial = here(&peer, &[("traffic.mode", "flood")]);
    let verdict = &trial.verdict;
    assert_eq!(verdict.saturated, Saturated::Controller, "{verdict:?}");
    assert!(verdict.because.contains("did not read fast enough"), "{verdict:?}");
    // Packet-ins that wait for the controller take no CPU time.
    assert!(trial.probe_usage.cpu_percent < 80.0, "{:?}", trial.probe_usage);
}

#[test]
fn packet_ins_that_a_controller_does_not_read_are_its_own() {
    let peer = Peer::with_small_buffers(Behaviour::AnswerPerSecond(50));
    let trial = here(&peer, &[("traffic.rate", "2k"), ("traffic.frame-bytes", "1500")]);
    let verdict = &trial.verdict;
    assert_eq!(verdict.saturated, Saturated::Controller, "{verdict:?}");
    let account = verdict.account.expect("of an open loop");
    assert!(account.network.high < account.due / 20, "{account:?}");
    assert!(account.controller.low > account.due / 2, "{account:?}");
}
