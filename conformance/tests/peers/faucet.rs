//! Tests Faucet against emulated switches that run their tables. Faucet processes only packet-ins
//! that its own rules caused, and answers a new host with two rules and no packet-out. The
//! configuration is that of `examples/faucet`. The addresses that Faucet learned are read from its
//! log.

use std::time::Duration;

use conformance::{OneTrial, Peer, ProbeRun, Running, free_port, repository};
use probe::outcome::{RunResult, Trial};

/// The Python code that starts Faucet's processes from its library. The installed command cannot be
/// used, since a program in a virtual environment contains the path of its installation.
const START: &str = "from os_ken.cmd.manager import main; main()";

/// Starts Faucet, or returns `None` if it is not installed.
fn start() -> Option<(Running, std::net::SocketAddr)> {
    // A command can be used only once, so it is requested again below.
    Peer::Faucet.command()?;
    Some(Running::start_listening(|port| {
        let mut command = Peer::Faucet.command().expect("it was there before");
        command
            .args(["-c", START, "--ofp-listen-host=127.0.0.1"])
            .arg(format!("--ofp-tcp-listen-port={port}"))
            .arg("faucet.faucet")
            .env("FAUCET_CONFIG", repository().join("examples/faucet/faucet.yaml"))
            .env("FAUCET_LOG", "STDOUT")
            .env("FAUCET_EXCEPTION_LOG", "STDOUT")
            .env("FAUCET_PROMETHEUS_ADDR", "127.0.0.1")
            .env("FAUCET_PROMETHEUS_PORT", free_port().to_string());
        command
    }))
}

fn probe(address: &str, more: &[(&str, &str)]) -> ProbeRun {
    let mut settings = vec![
        ("protocol", "openflow13"),
        ("controller.address", address),
        ("switches.count", "1"),
        ("switches.flow-tables", "run"),
        ("timing.connect-timeout", "30s"),
        // Meanwhile Faucet installs its pipeline, and two hosts announce themselves.
        ("timing.settle", "2s"),
        ("timing.warm-up", "0s"),
    ];
    settings.extend(more);
    ProbeRun::start(&settings)
}

fn learned(controller: &Running) -> usize {
    controller.output().lines().filter(|line| line.contains("L2 learned on Port")).count()
}

fn assert_orderly(trial: &Trial) {
    let counts = trial.counts;
    assert_eq!((counts.duplicated, counts.unmatched, counts.malformed), (0, 0, 0), "{counts:?}");
    assert_eq!((counts.rules_refused, counts.disconnects), (0, 0), "{counts:?}");
    assert_eq!(counts.dropped_by_rules, 0, "{counts:?}");
}

#[test]
fn faucet_learns_every_new_host_and_admits_it_by_a_rule() {
    let Some((controller, address)) = start() else { return };
    let packets = 40;
    let run = probe(
        &address.to_string(),
        &[
            ("traffic.matching", "rule"),
            ("traffic.mac", "random"),
            ("traffic.rate", "40"),
            ("timing.measure", "60s"),
            ("switch", "0:stop-delay=59s"),
        ],
    );
    run.wait_until_answered(packets, Duration::from_secs(40));
    let result: RunResult = run.interrupt();
    let trial = result.trial();
    assert_orderly(trial);
    let counts = trial.counts;
    assert_eq!((counts.due, counts.sent), (packets, packets), "{counts:?}");
    assert_eq!((counts.answered, counts.lost), (packets, 0), "{counts:?}");
    assert_eq!(counts.forwarded_by_rules, 0, "{counts:?}");
    // One rule admits the host, and one leads to it. Faucet sends no packet back.
    assert_eq!((counts.rules_installed, counts.packet_outs), (2 * packets, 0), "{counts:?}");
    assert!(trial.rtt_from_due.samples == packets && trial.rtt_from_due.min_ns > 0);
    // Faucet learned the hosts of the packets, and the two that announced themselves.
    assert_eq!(learned(&controller) as u64, packets + 2, "{}", controller.output());
}

#[test]
fn packets_of_known_hosts_cause_no_packet_in_and_the_run_reports_it() {
    let Some((controller, address)) = start() else { return };
    let run = probe(&address.to_string(), &[("traffic.rate", "50"), ("timing.measure", "2s")]);
    let result = run.finish();
    let trial = result.trial();
    assert_orderly(trial);
    let counts = trial.counts;
    assert_eq!((counts.due, counts.forwarded_by_rules), (100, 100), "{counts:?}");
    assert_eq!((counts.sent, counts.lost, counts.unsent), (0, 0, 0), "{counts:?}");
    assert_eq!(learned(&controller), 2, "{}", controller.output());
    assert!(trial.notes.iter().any(|note| note.contains("rules handled every packet")));
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("100 forwarded, 0 dropped"), "{why}");
}
