//! The `topology.json` of the p4lang tutorials: hosts, switches and links.
//!
//! The format is that of p4lang/tutorials, utils/run_exercise.py. A link names its two ends, such
//! as the host `h1` or port 2 of a switch, `s1-p2`. The delay and bandwidth that may follow matter
//! only to emulators, and are ignored. Each host has one port.

use std::collections::BTreeMap;

use queues::Configuration;
use queues::config::ConfigError;
use serde::Deserialize;
use serde_json::Value;

/// The contents of a `topology.json` file.
#[derive(Debug)]
pub struct TopologyJson {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The switches by name.
    pub switches: BTreeMap<String, SwitchJson>,
    /// The two ends of each link.
    pub links: Vec<[Attachment; 2]>,
    /// The flows whose delays `planimeter bound` computes bounds for. This is an addition of
    /// Planimeter to the format.
    pub flows: Vec<FlowJson>,
}

/// A flow through ports with queues. Its quantities have units, such as `10Mbps` and `3kB`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowJson {
    /// The name of the flow.
    pub name: String,
    /// The ports by which the flow's packets leave switches, in order, such as `s1-p2`.
    pub path: Vec<String>,
    /// The number of the queue that the flow's packets use at each port of `path`.
    #[serde(default)]
    pub queue: u64,
    /// The rate of the flow's token bucket, such as `10Mbps`.
    pub rate: String,
    /// The burst of the flow's token bucket, such as `3kB`.
    pub burst: String,
    /// The length of the flow's largest packet, such as `1500B`.
    pub packet: String,
}

/// A switch of a `topology.json` file.
#[derive(Debug, Default, Deserialize)]
pub struct SwitchJson {
    /// The path of the switch's `runtime.json`, as it is written in the file (not resolved).
    pub runtime_json: Option<String>,
    /// The path of the switch's program, as it is written in the file (not resolved). `None` if the
    /// switch runs the same program as the others.
    pub program: Option<String>,
    /// The queues of the switch's ports, such as `port=1 rate=10Mbps`. This is an addition of
    /// Planimeter to the format.
    #[serde(default, deserialize_with = "queues")]
    pub queues: Configuration,
    /// The path of a file of commands for simple_switch_CLI, as it is written in the file.
    pub cli_input: Option<String>,
}

/// Deserializes a configuration of queues from a list of its lines.
pub(crate) fn queues<'de, D>(from: D) -> Result<Configuration, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let lines = Vec::<String>::deserialize(from)?;
    Configuration::parse(&lines).map_err(|error: ConfigError| serde::de::Error::custom(error))
}

/// An end of a link: a host or a port of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A host, given by its name.
    Host(String),
    /// A port of a switch.
    Switch {
        /// The name of the switch.
        name: String,
        /// The port number.
        port: u32,
    },
}

/// The reason why a file is not a valid topology.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyJsonError {
    /// The file is not JSON, or does not have the structure of a `topology.json`.
    #[error("not a topology.json of the p4lang tutorials: {0}")]
    Form(#[from] serde_json::Error),
    /// An end of a link is neither a host nor a switch of the file.
    #[error(
        "link {link}: '{end}' is neither a host of the file nor a port of a switch such as s1-p2"
    )]
    End {
        /// The position of the link, counted from 1.
        link: usize,
        /// The end, as it is written in the file.
        end: String,
    },
    /// A link has another number of ends than two. The value is the link's position, counted from
    /// 1.
    #[error("link {0} does not have two ends, such as [\"h1\", \"s1-p1\"]")]
    Ends(usize),
    /// The end of a link is already the end of another link: two links end at the same port, or a
    /// host has two links.
    #[error("link {link}: something is attached to '{end}' already")]
    Taken {
        /// The position of the link, counted from 1.
        link: usize,
        /// The end that both links have.
        end: String,
    },
}

/// The contents of a `topology.json` file before they are checked.
#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    hosts: BTreeMap<String, Value>,
    switches: BTreeMap<String, SwitchJson>,
    #[serde(default)]
    links: Vec<Vec<Value>>,
    #[serde(default)]
    flows: Vec<FlowJson>,
}

impl TopologyJson {
    /// Parses the text of a `topology.json` file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text does not have the structure of a `topology.json`, or if an end
    /// of a link is unknown or already the end of another link.
    pub fn parse(text: &str) -> Result<Self, TopologyJsonError> {
        let Form { hosts, switches, links, flows } = serde_json::from_str(text)?;
        let mut taken = Vec::new();
        let mut end = |link: usize, text: &str| {
            let of_switch = || {
                let (name, port) = text.rsplit_once("-p")?;
                let port = port.parse().ok()?;
                let name = switches.contains_key(name).then(|| name.to_owned())?;
                Some(Attachment::Switch { name, port })
            };
            let found = match hosts.contains_key(text) {
                true => Some(Attachment::Host(text.to_owned())),
                false => of_switch(),
            };
            let found =
                found.ok_or_else(|| TopologyJsonError::End { link, end: text.to_owned() })?;
            if taken.contains(&found) {
                return Err(TopologyJsonError::Taken { link, end: text.to_owned() });
            }
            taken.push(found.clone());
            Ok(found)
        };
        let mut ends = Vec::with_capacity(links.len());
        for (link, parts) in (1..).zip(&links) {
            let [Some(one), Some(other)] = [0, 1].map(|at| parts.get(at).and_then(Value::as_str))
            else {
                return Err(TopologyJsonError::Ends(link));
            };
            ends.push([end(link, one)?, end(link, other)?]);
        }
        Ok(Self { hosts: hosts.into_keys().collect(), switches, links: ends, flows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_connect_hosts_and_ports_of_the_file() {
        let text = r#"{"hosts": {"h1": {"ip": "10.0.0.1/24"}}, "switches": {"s1": {"runtime_json": "s1.json"},
            "s2-p9": {"program": "p.json"}}, "links": [["h1", "s1-p1"], ["s1-p2", "s2-p9-p3", "5ms", 10]]}"#;
        let read = TopologyJson::parse(text).expect("a topology");
        let port = |name: &str, port| Attachment::Switch { name: name.to_owned(), port };
        assert_eq!(read.links[0], [Attachment::Host("h1".to_owned()), port("s1", 1)]);
        assert_eq!(read.links[1], [port("s1", 2), port("s2-p9", 3)]);
        let of = |name: &str| {
            let switch = &read.switches[name];
            (switch.runtime_json.as_deref(), switch.program.as_deref())
        };
        assert_eq!(of("s1"), (Some("s1.json"), None));
        assert_eq!(of("s2-p9"), (None, Some("p.json")));
    }

    #[test]
    fn links_to_unknown_nodes_are_named() {
        let with = |links: &str| {
            let text = format!(
                r#"{{"hosts": {{"h1": {{}}}}, "switches": {{"s1": {{}}}}, "links": {links}}}"#
            );
            TopologyJson::parse(&text).expect_err(links).to_string()
        };
        assert!(with(r#"[["h2", "s1-p1"]]"#).contains("link 1: 'h2' is neither a host"));
        assert!(with(r#"[["h1", "s1"]]"#).contains("'s1' is neither"));
        assert!(with(r#"[["h1"]]"#).contains("link 1 does not have two ends"));
        assert!(with(r#"[["h1", "s1-p1"], ["h1", "s1-p2"]]"#).contains("attached to 'h1' already"));
        assert!(with("7").contains("not a topology.json"));
    }
}
