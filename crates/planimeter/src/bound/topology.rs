//! Converts topologies of switches, whose ports have queues, to networks for `planimeter bound`.
//! The flows are a list `flows` in the topology file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use queues::network::{Flow, network};
use queues::{PortConfig, QueueId};
use softswitch::topology_json::{FlowJson, TopologyJson};

use crate::failure::Failure;

/// Returns the text of the network that a file describes. If the file is a topology, this is a
/// network with its queues as servers and its flows. Otherwise it is the text of the file.
pub(crate) fn network_text<'t>(
    file: &Path,
    extension: &str,
    text: &'t str,
) -> Result<Cow<'t, str>, Failure> {
    if !extension.eq_ignore_ascii_case("json") || !is_topology(text) {
        return Ok(Cow::Borrowed(text));
    }
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let topology = TopologyJson::parse(text).map_err(|error| wrong(&error))?;
    if topology.flows.is_empty() {
        return Err(wrong(
            &"the topology has no list of flows, whose delays could be bounded; add such as \"flows\": \
              [{\"name\": \"f\", \"path\": [\"s1-p2\"], \"rate\": \"1Mbps\", \"burst\": \"3kB\", \"packet\": \"1500B\"}] \
              (docs/queues.md)",
        ));
    }
    let mut ports: BTreeMap<String, PortConfig> = BTreeMap::new();
    for (switch, described) in &topology.switches {
        for (port, config) in &described.queues.0 {
            ports.insert(format!("{switch}-p{port}"), config.clone());
        }
    }
    let flows = flows(&topology).map_err(|error| wrong(&error))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    network(&name, &ports, &flows).map(Cow::Owned).map_err(|error| wrong(&error))
}

/// Returns the flows of a topology, with their rates and bursts.
pub(crate) fn flows(topology: &TopologyJson) -> Result<Vec<Flow>, String> {
    let flow = |flow: &FlowJson| {
        let queue = QueueId::new(flow.queue)
            .ok_or_else(|| format!("flow '{}': there is no queue {}", flow.name, flow.queue))?;
        let quantities = [&flow.rate, &flow.burst, &flow.packet].map(String::as_str);
        Flow::parse(&flow.name, &flow.path, queue, quantities).map_err(|error| error.to_string())
    };
    topology.flows.iter().map(flow).collect()
}

/// Returns whether a JSON text is a topology, which has switches, rather than a network for
/// `planimeter bound`, which has none.
fn is_topology(text: &str) -> bool {
    let read: Result<BTreeMap<String, serde::de::IgnoredAny>, _> = serde_json::from_str(text);
    read.is_ok_and(|fields| fields.contains_key("switches"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = r#"{
        "hosts": {"h1": {}, "h2": {}},
        "switches": {"s1": {"queues": ["port=2 rate=100Mbps queues=2"]}, "s2": {"queues": ["port=2 rate=10Mbps queues=2"]}},
        "links": [["h1", "s1-p1"], ["s1-p2", "s2-p1"], ["s2-p2", "h2"]],
        "flows": [
            {"name": "voice", "path": ["s1-p2", "s2-p2"], "queue": 1, "rate": "1Mbps", "burst": "400B", "packet": "200B"},
            {"name": "bulk", "path": ["s2-p2"], "rate": "5Mbps", "burst": "15kB", "packet": "1500B"}
        ]}"#;

    fn text(topology: &str) -> Result<String, String> {
        let found = network_text(Path::new("net.json"), "json", topology);
        found.map(Cow::into_owned).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_topology_is_a_network_of_its_queues() {
        use calculus::network::{Format, format};
        let read = format::read(&text(TOPOLOGY).expect("a network"), Format::Json).expect("read");
        let servers: Vec<&str> = read.servers().map(|(_, server)| server.name.as_str()).collect();
        let flows: Vec<&str> = read.flows().map(|(_, flow)| flow.name.as_str()).collect();
        assert_eq!(
            (read.name(), servers, flows),
            ("net", vec!["s1-p2", "s2-p2"], vec!["voice", "bulk"])
        );
        // Other files are read as they are.
        assert_eq!(text("{\"server\": []}").as_deref(), Ok("{\"server\": []}"));
    }

    #[test]
    fn what_is_missing_for_bounds_is_named() {
        for (from, to, reason) in [
            ("\"flows\"", "\"others\"", "no list of flows"),
            ("[\"s2-p2\"]", "[\"s2-p9\"]", "port 's2-p9' has no queues"),
            ("\"queue\": 1", "\"queue\": 2", "port 's1-p2' has no queue 2"),
            ("\"queue\": 1", "\"queue\": 99", "there is no queue 99"),
            ("5Mbps", "5", "'5' is no rate"),
        ] {
            let found = text(&TOPOLOGY.replace(from, to)).expect_err(reason);
            assert!(found.contains(reason), "{found}");
        }
    }
}
