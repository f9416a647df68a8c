//! The throughput of one TCP connection through a switch, compared with the kernel's bridge in the
//! same run.
//!
//!     cargo bench -p softswitch --bench tcp [-- [--seconds N] [--trials N] NAME...]
//!
//! Two hosts in network namespaces of their own are connected by a bridge, by a switch that runs
//! `programs/l2.p4`, or by one that runs `programs/router.p4`, as machine code on one worker, with
//! segments whole and split. iperf3 sends from one host to the other. Each trial measures all of
//! these. A figure is the median of the trials, followed by the lowest and the highest, and
//! `of bridge` is its share of the bridge's rate in the same trial. Nothing passes or fails here.

#[path = "support/hosts.rs"]
mod hosts;
#[path = "../../packetio/tests/interfaces/namespace.rs"]
mod namespace;

use hosts::{L2, Network, PORTS, ROUTED, ROUTER, SWITCHED};
use namespace::Namespace;
use softswitch::{Path, Segments};
use statistics::Spread;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The bridge or switch between the hosts.
#[derive(Clone, Copy)]
enum Between {
    Bridge,
    Switch(&'static str, Segments),
}

const ALL: [(&str, Between); 5] = [
    ("bridge", Between::Bridge),
    ("L2, whole", Between::Switch(L2, Segments::Whole)),
    ("L3, whole", Between::Switch(ROUTER, Segments::Whole)),
    ("L2, split", Between::Switch(L2, Segments::Split)),
    ("L3, split", Between::Switch(ROUTER, Segments::Split)),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |flag: &str, usual: usize| {
        let at = words.iter().position(|word| word == flag);
        at.and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(usual)
    };
    let (seconds, trials) = (number("--seconds", 3), number("--trials", 5));
    let wanted = |name: &str| {
        let names =
            || words.iter().filter(|word| word.contains(|letter: char| letter.is_uppercase()));
        name == "bridge"
            || names().next().is_none()
            || names().any(|word| name.starts_with(word.as_str()))
    };
    println!("{trials} trials of {seconds} s; Gbit/s of payload, one connection");
    println!("{:<12} {:>24}  {:>24}", "", "rate", "of bridge");
    let mut rates: [Vec<f64>; ALL.len()] = Default::default();
    for _ in 0..trials {
        for ((name, between), rates) in ALL.iter().zip(&mut rates) {
            if wanted(name) {
                let Some(network) = Network::new([1500; 2]) else { return };
                rates.push(rate(&network, *between, seconds));
            }
        }
    }
    let bridge = rates[0].clone();
    for ((name, _), rates) in ALL.iter().zip(&rates) {
        let shares = rates.iter().zip(&bridge).map(|(rate, bridge)| 100.0 * rate / bridge);
        let shares: Vec<f64> = shares.collect();
        if let (Some(rate), Some(share)) = (Spread::of(rates), Spread::of(&shares)) {
            println!("{name:<12} {:>24}  {:>22} %", rate.to_string(), share.to_string());
        }
    }
}

/// Returns the throughput in Gbit/s.
fn rate(network: &Network, between: Between, seconds: usize) -> f64 {
    let [one, two] = &network.hosts;
    match between {
        Between::Bridge => {
            network.switch.ip("link add bridge type bridge");
            network.switch.ip("link set bridge up");
            PORTS
                .iter()
                .for_each(|port| network.switch.ip(&format!("link set {port} master bridge")));
            iperf(one, two, SWITCHED, seconds)
        }
        Between::Switch(program, segments) => {
            let _switch = network.start(program, Path::Compiled, segments);
            iperf(one, two, if program == ROUTER { ROUTED } else { SWITCHED }, seconds)
        }
    }
}

fn iperf(one: &Namespace, two: &Namespace, address: &str, seconds: usize) -> f64 {
    let mut server = two.command("iperf3");
    server.args(["-s", "-1", "--forceflush", "-B", address]).stdout(Stdio::piped());
    let mut server = server.spawn().expect("iperf3, which conformance/install.sh installs");
    // iperf3 prints a line once it listens.
    let mut lines = BufReader::new(server.stdout.take().expect("it is piped")).lines();
    let listens = lines.by_ref().any(|line| line.is_ok_and(|line| line.contains("listening")));
    assert!(listens, "iperf3 does not listen");
    let mut client = one.command("iperf3");
    client.args(["-J", "-O", "1", "-c", address, "-t", &seconds.to_string()]);
    let output = client.output().expect("iperf3");
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("a report in JSON");
    lines.for_each(drop);
    let _ = server.wait();
    let bits = &report["end"]["sum_received"]["bits_per_second"];
    bits.as_f64().unwrap_or_else(|| panic!("iperf3: {report}")) / 1e9
}
