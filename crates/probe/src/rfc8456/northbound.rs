//! The northbound interface of a controller. It reports the topology and the flows that the
//! controller knows, and accepts requests to provision paths.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use super::seen::{Census, Hop};
use crate::config::{Config, Protocol};
use crate::netcfg;

/// The timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The priority of the flow rules for paths.
const PRIORITY: u16 = 100;

/// The kind of northbound interface that a controller has, with its address.
#[derive(Debug, Clone)]
pub(crate) enum Northbound {
    /// The REST interface of os-ken and Ryu: `ofctl_rest` and `rest_topology`.
    Ofctl { agent: Agent, base: String, first_id: u64, switches: u32 },
    /// The REST interface of ONOS.
    Onos {
        agent: Agent,
        base: String,
        authorization: String,
        first_id: u64,
        /// Returns the controller's name for the switch with a given number.
        name: fn(u64) -> String,
    },
    /// A command that the user provides. It answers queries and provisions paths.
    Command { command: String, first_id: u64 },
}

impl Northbound {
    /// Returns the northbound interface that the configuration specifies, or `None` if it specifies
    /// none.
    ///
    /// # Errors
    ///
    /// Returns an error if the setting is invalid.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, String> {
        let Some(text) = &config.rfc8456.northbound else { return Ok(None) };
        let first_id = config.switches.first_id;
        let base = |base: &str| base.trim_end_matches('/').to_owned();
        Ok(Some(match text.split_once(':') {
            Some(("ofctl", url)) => Self::Ofctl {
                agent: netcfg::agent(TIMEOUT),
                base: base(url),
                first_id,
                switches: config.switches.count,
            },
            Some(("onos", url)) => {
                let (user, password) = &config.controller.onos_credentials;
                Self::Onos {
                    agent: netcfg::agent(TIMEOUT),
                    base: base(url),
                    authorization: netcfg::authorization(user, password),
                    first_id,
                    name: match config.protocol {
                        Protocol::P4Runtime => netcfg::onos_device,
                        Protocol::OpenFlow10 | Protocol::OpenFlow13 => openflow_name,
                    },
                }
            }
            Some(("command", command)) => Self::Command { command: command.to_owned(), first_id },
            _ => {
                return Err(format!(
                    "rfc8456.northbound: \"{text}\" is not a northbound interface; expected ofctl:URL, onos:URL or \
                     command:COMMAND"
                ));
            }
        }))
    }

    /// Returns the number of switches and the number of unidirectional links that the controller
    /// knows.
    pub(crate) fn topology(&self) -> Result<Census, String> {
        let count = |value: &Value| value.as_array().map_or(0, |list| list.len() as u64);
        match self {
            Self::Ofctl { .. } => Ok(Census {
                switches: count(&self.get("/v1.0/topology/switches")?),
                links: count(&self.get("/v1.0/topology/links")?),
            }),
            Self::Onos { .. } => {
                let available = |device: &&Value| device["available"] == Value::Bool(true);
                let devices = self.get("/onos/v1/devices")?;
                let devices = devices["devices"]
                    .as_array()
                    .map_or(0, |all| all.iter().filter(available).count() as u64);
                Ok(Census {
                    switches: devices,
                    links: count(&self.get("/onos/v1/links")?["links"]),
                })
            }
            Self::Command { command, .. } => census(&shell(command, Some("topology"), "")?),
        }
    }

    /// Returns the number of flow entries that the controller knows.
    pub(crate) fn flows(&self) -> Result<u64, String> {
        match self {
            Self::Ofctl { first_id, switches, .. } => {
                (0..u64::from(*switches)).try_fold(0, |sum, switch| {
                    let id = first_id + switch;
                    let answer = self.get(&format!("/stats/flow/{id}"))?;
                    let entries = answer[id.to_string()].as_array().map_or(0, Vec::len);
                    Ok(sum + entries as u64)
                })
            }
            Self::Onos { .. } => {
                let flows = self.get("/onos/v1/flows")?;
                Ok(flows["flows"].as_array().map_or(0, |all| all.len() as u64))
            }
            Self::Command { command, .. } => {
                let answer = shell(command, Some("flows"), "")?;
                answer.trim().parse().map_err(|_| {
                    format!(
                        "the answer to \"flows\" is \"{}\", which is not a number",
                        answer.trim()
                    )
                })
            }
        }
    }

    /// Makes the controller install the flow rules of a path. The rule of the last switch is
    /// installed first, so that no packet follows a path that ends halfway.
    pub(crate) fn provision(&self, path: &[Hop]) -> Result<(), String> {
        let hops = path.iter().rev();
        match self {
            Self::Ofctl { first_id, .. } => { hops }.try_for_each(|hop| {
                self.post("/stats/flowentry/add", &ofctl_entry(*first_id, hop)).map(|_| ())
            }),
            Self::Onos { first_id, name, .. } => {
                let device = |hop: &Hop| name(first_id + u64::from(hop.switch));
                let flows: Vec<Value> = hops.map(|hop| onos_flow(&device(hop), hop)).collect();
                self.post("/onos/v1/flows?appId=planimeter", &json!({ "flows": flows })).map(|_| ())
            }
            Self::Command { command, first_id } => {
                let rules: Vec<Value> = hops.map(|hop| ofctl_entry(*first_id, hop)).collect();
                shell(command, Some("provision"), &Value::from(rules).to_string()).map(|_| ())
            }
        }
    }

    fn parts(&self) -> Option<(&Agent, &str, Option<&str>)> {
        match self {
            Self::Ofctl { agent, base, .. } => Some((agent, base, None)),
            Self::Onos { agent, base, authorization, .. } => {
                Some((agent, base, Some(authorization)))
            }
            Self::Command { .. } => None,
        }
    }

    fn get(&self, path: &str) -> Result<Value, String> {
        let Some((agent, base, authorization)) = self.parts() else { return Ok(Value::Null) };
        let mut request = agent.get(format!("{base}{path}"));
        if let Some(authorization) = authorization {
            request = request.header("Authorization", authorization);
        }
        let answer = request.call().map_err(|error| format!("{base}{path}: {error}"))?;
        read(answer, base, path)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let Some((agent, base, authorization)) = self.parts() else { return Ok(Value::Null) };
        let mut request =
            agent.post(format!("{base}{path}")).header("Content-Type", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("Authorization", authorization);
        }
        let answer =
            request.send(body.to_string()).map_err(|error| format!("{base}{path}: {error}"))?;
        read(answer, base, path)
    }
}

/// Parses the output of the user's command for a query of the topology, such as `{"switches": 4,
/// "links": 8}`.
///
/// # Errors
///
/// Returns a description of the field that is missing.
pub fn census(answer: &str) -> Result<Census, String> {
    let value: Value = serde_json::from_str(answer)
        .map_err(|error| format!("the answer to \"topology\" is not JSON: {error}"))?;
    let number = |name: &str| {
        let missing = || format!("the answer to \"topology\" has no number \"{name}\"");
        value[name].as_u64().ok_or_else(missing)
    };
    Ok(Census { switches: number("switches")?, links: number("links")? })
}

fn read(
    mut answer: ureq::http::Response<ureq::Body>,
    base: &str,
    path: &str,
) -> Result<Value, String> {
    let status = answer.status();
    let text = answer.body_mut().read_to_string().unwrap_or_default();
    if !status.is_success() {
        return Err(format!("{base}{path} answers {status}"));
    }
    // A response that is not JSON, such as the empty response to a change, carries no data.
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// Returns a flow rule in the JSON format of `ofctl_rest`. Its field names are valid for OpenFlow
/// 1.0 and 1.3.
fn ofctl_entry(first_id: u64, hop: &Hop) -> Value {
    json!({
        "dpid": first_id + u64::from(hop.switch),
        "priority": PRIORITY,
        "match": {
            "in_port": hop.in_port,
            "dl_src": address(hop.source),
            "dl_dst": address(hop.destination),
        },
        "actions": [{ "type": "OUTPUT", "port": hop.out_port }],
    })
}

/// Returns the name by which ONOS identifies an OpenFlow switch.
fn openflow_name(datapath_id: u64) -> String {
    format!("of:{datapath_id:016x}")
}

fn onos_flow(device: &str, hop: &Hop) -> Value {
    json!({
        "priority": 40_000 + u32::from(PRIORITY),
        "isPermanent": true,
        "deviceId": device,
        "selector": { "criteria": [
            { "type": "IN_PORT", "port": hop.in_port },
            { "type": "ETH_SRC", "mac": address(hop.source) },
            { "type": "ETH_DST", "mac": address(hop.destination) },
        ] },
        "treatment": { "instructions": [{ "type": "OUTPUT", "port": hop.out_port.to_string() }] },
    })
}

fn address(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Runs a command that the user provides, and returns its output. `ask`, the kind of query, is
/// passed in the environment variable `PLANIMETER_ASK`, and `input` on the standard input.
pub(crate) fn shell(command: &str, ask: Option<&str>, input: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("`{command}`: {error}");
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(ask) = ask {
        shell.env("PLANIMETER_ASK", ask);
    }
    let mut child = shell.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command may exit without reading its input, which is no error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("`{command}` ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop() -> Hop {
        Hop {
            switch: 2,
            in_port: 1,
            out_port: 3,
            source: [2, 0, 0, 0, 0, 1],
            destination: [2, 0, 0, 0, 0, 0x1f],
        }
    }

    #[test]
    fn rules_are_written_as_each_interface_wants_them() {
        let entry = ofctl_entry(1, &hop());
        assert_eq!(entry["dpid"], 3);
        assert_eq!(entry["match"]["dl_dst"], "02:00:00:00:00:1f");
        assert_eq!(entry["actions"], json!([{ "type": "OUTPUT", "port": 3 }]));
        let flow = onos_flow(&openflow_name(3), &hop());
        assert_eq!(flow["deviceId"], "of:0000000000000003");
        assert_eq!(flow["treatment"]["instructions"][0]["port"], "3");
    }

    #[test]
    fn a_command_reads_its_request_from_the_environment() {
        let command = |text: &str| Northbound::Command { command: text.into(), first_id: 1 };
        let census = r#"echo '{"switches": 4, "links": 8}'"#;
        assert_eq!(command(census).topology(), Ok(Census { switches: 4, links: 8 }));
        assert_eq!(command("test $PLANIMETER_ASK = flows && echo 17").flows(), Ok(17));
        // The rules are on the standard input of the command, which can refuse them by its exit
        // status.
        let accepting = command("test $PLANIMETER_ASK = provision && grep -q '\"dpid\":3'");
        assert_eq!(accepting.provision(&[hop()]), Ok(()));
        let refused = command("exit 3").provision(&[hop()]).unwrap_err();
        assert!(refused.contains("exit 3") && refused.contains("ended with"), "{refused}");
        assert!(command("echo many").flows().unwrap_err().contains("not a number"));
        assert!(command("echo '{}'").topology().unwrap_err().contains("switches"));
    }
}
