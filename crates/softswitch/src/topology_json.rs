//! The `topology.json` of the p4lang tutorials: hosts, switches and links.
//!
//! Format: p4lang/tutorials, utils/run_exercise.py. A link names its ends, `h1` or `s1-p2`; what follows (delay, bandwidth) is
//! for those who emulate it. Hosts have one port.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What the file says.
#[derive(Debug)]
pub struct TopologyJson {
    /// Names of hosts.
    pub hosts: Vec<String>,
    /// Switches by name.
    pub switches: BTreeMap<String, SwitchJson>,
    /// Both ends of each link.
    pub links: Vec<[Attachment; 2]>,
}

/// A switch of the file.
#[derive(Debug, Default, Deserialize)]
pub struct SwitchJson {
    /// Path of its entries, as the file has it.
    pub runtime_json: Option<String>,
    /// Path of its program, as the file has it, where it does not run what all others do.
    pub program: Option<String>,
    /// Commands for simple_switch_CLI, which nothing else can read.
    pub cli_input: Option<String>,
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A host.
    Host(String),
    /// A port of a switch.
    Switch {
        /// Its name.
        name: String,
        /// Its number.
        port: u32,
    },
}

/// Why a file is no topology.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyJsonError {
    /// It is no JSON, or of another form.
    #[error("not a topology.json of the p4lang tutorials: {0}")]
    Form(#[from] serde_json::Error),
    /// An end of a link is nothing of the file.
    #[error(
        "link {link}: '{end}' is neither a host of the file nor a port of a switch such as s1-p2"
    )]
    End {
        /// Its place among the links, from 1.
        link: usize,
        /// The end.
        end: String,
    },
    /// A link does not have two ends.
    #[error("link {0} does not have two ends, such as [\"h1\", \"s1-p1\"]")]
    Ends(usize),
    /// Two links end at one port, or a host has two.
    #[error("link {link}: something is attached to '{end}' already")]
    Taken {
        /// Its place among the links, from 1.
        link: usize,
        /// The end.
        end: String,
    },
}

#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    hosts: BTreeMap<String, Value>,
    switches: BTreeMap<String, SwitchJson>,
    #[serde(default)]
    links: Vec<Vec<Value>>,
}

impl TopologyJson {
    /// Reads a file's text.
    ///
    /// # Errors
    /// If it is of another form, or a link ends nowhere or where another one does.
    pub fn parse(text: &str) -> Result<Self, TopologyJsonError> {
        let Form { hosts, switches, links } = serde_json::from_str(text)?;
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
        Ok(Self { hosts: hosts.into_keys().collect(), switches, links: ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_join_what_the_file_has() {
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
    fn what_joins_nothing_is_named() {
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
