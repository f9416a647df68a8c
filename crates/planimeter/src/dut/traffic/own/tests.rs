//! Tests of generating packets for entries of files, with programs of the repository.

use p4lang::preprocess::{MemoryFiles, Options};

use super::*;
use crate::dut::own_entries::Entries;

fn router() -> Program {
    let text = include_str!("../../../../../../programs/router.p4");
    let compiled =
        p4lang::compile_text("router.p4", text, &Options::default(), &MemoryFiles::default());
    compiled.program.expect("it has no errors")
}

fn wires() -> Vec<Wire> {
    (1..=3).map(|number| Wire(format!("{number}@lo").parse().expect("a port"))).collect()
}

/// Returns the traffic for a runtime.json with these routes, and a neighbour.
fn made(routes: &str, rules: usize) -> Result<Traffic, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("router.json");
    let neighbour = r#"{"table": "neighbours", "match": {"meta.next_hop": "10.9.9.1"},
        "action_name": "to_neighbour", "action_params": {"destination": "02:00:00:00:00:09"}}"#;
    let text = format!(r#"{{"target": "bmv2", "table_entries": [{neighbour}{routes}]}}"#);
    std::fs::write(&path, text).expect("it is written");
    let file = Entries::File(path).of_p4runtime().ok().flatten().expect("it can be read");
    effects(router(), wires(), &*file, Some("routes"), rules)
}

fn route(prefix: &str, length: u32, action: &str) -> String {
    format!(
        r#", {{"table": "routes", "match": {{"headers.ipv4.destination": ["{prefix}", {length}]}}, {action}}}"#
    )
}

fn via(port: u32) -> String {
    format!(r#""action_name": "via", "action_params": {{"next_hop": "10.9.9.1", "port": {port}}}"#)
}

const DROP: &str = r#""action_name": "drop", "action_params": {}"#;

#[test]
fn packets_show_the_entries_of_a_file() {
    let routes = route("10.0.1.0", 24, &via(2))
        + &route("10.0.2.0", 24, &via(3))
        + &route("10.0.0.0", 16, &via(2))
        + &route("10.0.3.0", 24, DROP);
    let traffic = made(&routes, 8).unwrap_or_else(|_| panic!("packets are made"));
    assert_eq!(traffic.table, "RouterIngress.routes");
    assert_eq!(traffic.beside.len(), 1, "the neighbour");
    // The prefix of 16 bits contains the others, and a route that drops is like no route.
    assert_eq!(traffic.flows.len(), 2);
    for (flow, (subnet, port, modified)) in traffic.flows.iter().zip([(1, 2, 3), (2, 3, 2)]) {
        assert_eq!(flow.packet[30..33], [10, 0, subnet]);
        assert_eq!(flow.absent, Outcome::Unseen);
        let Outcome::Leaves { port: left, packet } = &flow.inserted else { panic!("{flow:?}") };
        assert_eq!((*left, &packet[..6]), (port, &[2, 0, 0, 0, 0, 9][..]));
        let Outcome::Leaves { port: left, .. } = &flow.modified else { panic!("{flow:?}") };
        assert_eq!(*left, modified);
        // The modified entry has the key of the first, and the action of the next.
        let second = flow.second.as_ref().expect("it can be modified");
        assert_eq!(second.r#match, flow.first.r#match);
        assert_ne!(second.action, flow.first.action);
    }
    assert_eq!(made(&routes, 1).map_or(0, |traffic| traffic.flows.len()), 1);
}

#[test]
fn entries_that_packets_do_not_show_are_refused() {
    let routes = route("10.0.1.0", 24, DROP) + &route("10.0.2.0", 24, DROP);
    let Err(refused) = made(&routes, 8) else { panic!("nothing shows them") };
    let words = refused.to_string();
    assert!(words.contains("show none of the entries of"), "{words}");
    assert!(words.contains("leave effects out of --plan"), "{words}");
}
