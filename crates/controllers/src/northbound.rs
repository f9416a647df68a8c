//! The northbound (REST) interface of path provisioning. It offers the parts of Ryu's interfaces
//! `rest_topology` and `ofctl_rest` with which benchmarks query the topology and install rules. It
//! is available for controllers over both protocols.
//!
//! * `GET /v1.0/topology/switches` and `GET /v1.0/topology/links`, where each direction is a link;
//! * `GET /stats/flow/ID`: the rules of a switch;
//! * `POST /stats/flowentry/add`: a rule for packets of an ingress port, a source and a
//!   destination. Its priority is ignored, since all rules of the application have one priority.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::application::paths::{self, SwitchId};
use crate::application::{Flow, Port, Rule};
use crate::http::{Answer, HttpRequest, Server};

/// The size in bytes of the largest accepted request body. The description of a rule takes a few
/// hundred bytes.
const LONGEST: usize = 64 * 1024;
/// The interval at which the HTTP server checks whether it must stop.
const LOOK: Duration = Duration::from_millis(50);

/// A controller whose network the northbound interface queries and changes.
pub(crate) trait Paths: Send + Sync {
    /// Calls `look` with the current state of the network.
    fn look(&self, look: &mut dyn FnMut(&paths::Network));

    /// Installs a rule on a switch. Returns whether the switch is connected.
    fn install(&self, switch: SwitchId, rule: Rule) -> bool;
}

/// The HTTP server of the northbound interface.
#[derive(Debug)]
pub(crate) struct Northbound(Server);

impl Northbound {
    /// Binds the listener, so that clients can connect. Their requests are answered once
    /// [`Northbound::serve`] runs.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Server::bind(address, LONGEST).map(Self)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Answers clients of the northbound interface on this thread, until `ended` returns true.
    pub(crate) fn serve(&self, paths: Arc<dyn Paths>, ended: impl Fn() -> bool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let accepting = self.0.accept(move |request| respond(answer(&request, &*paths)));
            let waiting = async {
                while !ended() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            tokio::select! {
                failed = accepting => failed.map(|never| match never {}),
                () = waiting => Ok(()),
            }
        })
    }
}

/// The HTTP status and the text with which a request is refused.
type Refusal = (StatusCode, String);

fn respond(answer: Result<Value, Refusal>) -> Answer {
    match answer {
        // `ofctl_rest` also answers a change with empty text.
        Ok(Value::Null) => Answer::Text(StatusCode::OK, String::new()),
        Ok(value) => Answer::Json(StatusCode::OK, value),
        Err((status, reason)) => Answer::Text(status, format!("{reason}\n")),
    }
}

fn answer(request: &HttpRequest, paths: &dyn Paths) -> Result<Value, Refusal> {
    match (&request.method, request.path.as_str()) {
        (&Method::GET, "/v1.0/topology/switches") => Ok(looked_up(paths, switches)),
        (&Method::GET, "/v1.0/topology/links") => Ok(looked_up(paths, links)),
        (&Method::GET, path) if path.starts_with("/stats/flow/") => {
            let id = path.trim_start_matches("/stats/flow/");
            let id = id.parse().map_err(|_| bad(format!("`{id}` is not a number of a switch")))?;
            looked_up(paths, |network| rules(network, SwitchId(id))).ok_or_else(|| no_switch(id))
        }
        (&Method::POST, "/stats/flowentry/add") => {
            let (switch, rule) = rule_of(&request.body).map_err(bad)?;
            match paths.install(switch, rule) {
                true => Ok(Value::Null),
                false => Err(no_switch(switch.0)),
            }
        }
        _ => Err((
            StatusCode::NOT_FOUND,
            "The paths are GET /v1.0/topology/switches, /v1.0/topology/links and /stats/flow/ID, and POST \
             /stats/flowentry/add."
                .to_owned(),
        )),
    }
}

fn bad(reason: impl Into<String>) -> Refusal {
    (StatusCode::BAD_REQUEST, reason.into())
}

fn no_switch(id: u64) -> Refusal {
    (StatusCode::NOT_FOUND, format!("switch {id} is not connected"))
}

/// Calls `see` with the current state of the network, and returns the result.
fn looked_up<R: Default>(paths: &dyn Paths, see: impl Fn(&paths::Network) -> R) -> R {
    let mut seen = R::default();
    paths.look(&mut |network| seen = see(network));
    seen
}

fn switches(network: &paths::Network) -> Value {
    network
        .switch_ids()
        .map(|id| json!({ "dpid": format!("{:016x}", id.0), "ports": [] }))
        .collect()
}

fn links(network: &paths::Network) -> Value {
    let end = |(switch, port): (SwitchId, Port)| json!({ "dpid": format!("{:016x}", switch.0), "port_no": format!("{:08x}", port.0) });
    network.link_ends().map(|(from, to)| json!({ "src": end(from), "dst": end(to) })).collect()
}

/// Returns the rules of a switch as JSON in Ryu's format, or `None` if the switch is not connected.
fn rules(network: &paths::Network, switch: SwitchId) -> Option<Value> {
    let rule = |rule: Rule| {
        json!({
            "match": {
                "in_port": rule.flow.ingress.0,
                "dl_src": rule.flow.source.to_string(),
                "dl_dst": rule.flow.destination.to_string(),
            },
            "actions": [format!("OUTPUT:{}", rule.output.0)],
        })
    };
    let rules: Vec<Value> = network.rules_of(switch)?.into_iter().map(rule).collect();
    Some(json!({ switch.0.to_string(): rules }))
}

/// Parses the body of a request to install a rule. Returns the switch and the rule, or the reason
/// why the body is invalid.
fn rule_of(body: &[u8]) -> Result<(SwitchId, Rule), String> {
    let entry: Value =
        serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))?;
    let number = |value: &Value, name: &str| {
        value.as_u64().ok_or_else(|| format!("`{name}` is missing or not a number"))
    };
    let port = |value: &Value, name: &str| {
        let number = number(value, name)?;
        u32::try_from(number).map(Port).map_err(|_| format!("`{name}`: {number} is not a port"))
    };
    let fields = &entry["match"];
    let address = |name: &str| {
        let text = fields[name].as_str().unwrap_or_default();
        text.parse().map_err(|_| format!("`match.{name}`: \"{text}\" is not a MAC address"))
    };
    let output = match entry["actions"].as_array().map(Vec::as_slice) {
        Some([only]) if only["type"] == "OUTPUT" => port(&only["port"], "actions[0].port")?,
        _ => return Err("`actions`: exactly one is needed, OUTPUT".to_owned()),
    };
    let flow = Flow {
        ingress: port(&fields["in_port"], "match.in_port")?,
        source: address("dl_src")?,
        destination: address("dl_dst")?,
    };
    Ok((SwitchId(number(&entry["dpid"], "dpid")?), Rule { flow, output }))
}

#[cfg(test)]
mod tests {
    use ::openflow::MacAddress;

    use super::*;

    const ENTRY: &str = r#"{"dpid": 3, "priority": 100, "match": {"in_port": 1, "dl_src": "02:00:00:00:00:01",
        "dl_dst": "02:00:00:00:00:1f"}, "actions": [{"type": "OUTPUT", "port": 2}]}"#;

    #[test]
    fn a_rule_is_parsed_in_the_format_of_ofctl_rest() {
        let (switch, rule) = rule_of(ENTRY.as_bytes()).expect("a rule");
        assert_eq!((switch, rule.output), (SwitchId(3), Port(2)));
        let flow = Flow {
            ingress: Port(1),
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            destination: MacAddress([2, 0, 0, 0, 0, 0x1f]),
        };
        assert_eq!(rule.flow, flow);
        for (from, to, wanted) in [
            ("\"dpid\": 3", "\"dpid\": \"x\"", "dpid"),
            ("\"in_port\": 1", "\"in_port\": 5000000000", "is not a port"),
            ("02:00:00:00:00:01", "02:00:00:00:00", "match.dl_src"),
            ("02:00:00:00:00:1f", "02:00:00:00:00:1f:00", "match.dl_dst"),
            ("OUTPUT", "DROP", "actions"),
            ("{\"dpid\"", "\"dpid\"", "not JSON"),
        ] {
            let error = rule_of(ENTRY.replace(from, to).as_bytes()).expect_err(wanted);
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn topology_and_rules_have_the_format_of_ryu() {
        let mut network = paths::Network::new();
        network.switch_up(SwitchId(10), [Port(1)]);
        assert_eq!(switches(&network), json!([{ "dpid": "000000000000000a", "ports": [] }]));
        assert_eq!(links(&network), json!([]));
        assert_eq!(rules(&network, SwitchId(11)), None);
        let (_, rule) = rule_of(ENTRY.as_bytes()).expect("a rule");
        assert!(network.install(SwitchId(10), rule).is_some());
        let listed = rules(&network, SwitchId(10)).expect("it is there");
        assert_eq!(listed["10"][0]["match"]["dl_dst"], "02:00:00:00:00:1f");
        assert_eq!(listed["10"].as_array().map(Vec::len), Some(1));
    }
}
