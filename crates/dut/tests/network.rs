//! Measurements of a switch in another network namespace: the verdict on whether the switch or the
//! network to it was the limit.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use dut::updates::{self, Limit, Load, Measured, OtherTables};
use dut::{Device, Operation, Plan, Target, Watch, measure};
use made_server::{Faults, Proxy};
use p4runtime::proto::v1;
use packetio::namespace::Namespace;
use tonic::Status;

const PROGRAM: &str = include_str!("kinds.p4");
const OURS: &str = "10.99.2.1";
const THEIRS: &str = "10.99.2.2";

struct Silent;

impl Watch for Silent {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}
}

/// A switch that takes 5 ms for each request.
struct Slow;

impl Faults for Slow {
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        thread::sleep(Duration::from_millis(5));
        Ok(request)
    }
}

/// Creates two connected namespaces; returns `None` with a message where they cannot be created.
fn namespaces() -> Option<[Namespace; 2]> {
    match (Namespace::new(), Namespace::new()) {
        (Ok(ours), Ok(theirs)) => {
            ours.link("ours", &theirs, "theirs", 1500).unwrap_or_else(|error| panic!("{error}"));
            for (end, name, address) in [(&ours, "ours", OURS), (&theirs, "theirs", THEIRS)] {
                let added = end.ip(&format!("addr add {address}/24 dev {name}"));
                added.unwrap_or_else(|error| panic!("{error}"));
            }
            Some([ours, theirs])
        }
        (Err(reason), _) | (_, Err(reason)) => {
            let required =
                std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(!required, "{reason}");
            // eprintln! would be hidden by the test harness when the test passes.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
            None
        }
    }
}

/// Starts a switch in the namespace of this thread. Returns its address outside of the namespace.
fn serve(is_slow: bool) -> String {
    let server = made_server::serve(PROGRAM);
    let server = if is_slow { Proxy::start(&server, Arc::new(Slow)) } else { server };
    let listener = TcpListener::bind((THEIRS, 0)).expect("a port");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&server).expect("a server");
            let [from, to] = [&client, &server].map(|one| one.try_clone().expect("a socket"));
            for (from, to) in [(from, server), (to, client)] {
                thread::spawn(move || pass_on(from, to));
            }
        }
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    to.set_nodelay(true).expect("a socket");
    let mut buffer = [0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

/// Measures inserts in requests that always wait, in the namespace of this thread.
fn inserts(address: &str) -> Measured {
    let load = Load::new(50, 8);
    let updates = updates::Settings {
        loads: vec![load],
        base: load,
        tables: OtherTables::None,
        rounds: 1,
        time: Duration::from_millis(600),
        seed: 1,
    };
    let plan = Plan { entries: 1500, updates: Some(updates), ..Plan::default() };
    let target = Target::P4Runtime {
        device: Device {
            address: address.to_owned(),
            device_id: made_server::DEVICE_ID,
            tls: None,
        },
        table: Some("kinds".to_owned()),
        entries: None,
        traffic: None,
        slow_path: None,
        digests: None,
    };
    let found = measure(&target, &plan, &AtomicBool::new(false), &mut Silent);
    let found = found.expect("it can be measured");
    assert_eq!(found.failures, [""; 0]);
    let insert = found.updates.into_iter().find(|one| one.operation == Operation::Insert);
    insert.expect("it was measured")
}

#[test]
fn a_slow_network_is_distinguished_from_a_slow_switch() {
    let Some([ours, theirs]) = namespaces() else { return };
    let slow = theirs.run(|| serve(true)).unwrap_or_else(|error| panic!("{error}"));
    let found = ours.run(|| inserts(&slow)).unwrap_or_else(|error| panic!("{error}"));
    let seen = found.transport().expect("the kernel tells");
    assert!(!seen.is_local, "{seen:?}");
    assert_eq!(found.limit(), Limit::Switch, "{seen:?}, {:?}", found.mean_answer());

    // A request of 50 updates takes more than 10 ms on its way.
    let bucket = "qdisc add dev ours root tbf rate 2mbit burst 3000 limit 300000";
    let status = ours.command("tc").args(bucket.split(' ')).status().expect("iproute2 has tc");
    if !status.success() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: this kernel has no token bucket filter");
        return;
    }
    let fast = theirs.run(|| serve(false)).unwrap_or_else(|error| panic!("{error}"));
    let found = ours.run(|| inserts(&fast)).unwrap_or_else(|error| panic!("{error}"));
    let seen = found.transport().expect("the kernel tells");
    assert_eq!(found.limit(), Limit::Network, "{seen:?}, {:?}", found.mean_answer());
}
