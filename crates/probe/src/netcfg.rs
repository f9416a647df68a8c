//! Announces the P4Runtime switches to a controller.
//!
//! OpenFlow switches connect to the controller, so they need no announcement. P4Runtime controllers
//! connect to the switches, and must learn their addresses first. ONOS learns them from its network
//! configuration ("netcfg"), a JSON document that it loads at its start or receives by POST at
//! `/onos/v1/network/configuration` (ONOS 2.5). Any other controller gets a plain list.

use std::fmt::Write as _;
use std::io::Read as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use thiserror::Error;
use ureq::Agent;

use crate::config::DeviceAddress;

/// The path at which ONOS accepts its network configuration.
const ONOS_PATH: &str = "/onos/v1/network/configuration";
/// The maximum number of bytes of a response that an error message quotes.
const EXCERPT: u64 = 300;

/// The reason why ONOS did not accept the network configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetcfgError {
    /// ONOS could not be reached, or did not respond in time.
    #[error(
        "cannot post the netcfg to {url}: {source}; check that ONOS runs and that \
         controller.onos-rest is its REST interface"
    )]
    Unreachable {
        /// The URL of the request.
        url: String,
        /// The error of the HTTP client.
        source: Box<ureq::Error>,
    },
    /// ONOS responded with an error.
    #[error("{url} answered {status} to the netcfg{}{}", remedy(*status), quoted(excerpt))]
    Refused {
        /// The URL of the request.
        url: String,
        /// The HTTP status code of the response.
        status: u16,
        /// The beginning of the response.
        excerpt: String,
    },
}

/// Returns the network configuration that makes ONOS connect to all devices.
///
/// Every device has `ports` ports, numbered from 1. The ports must be listed, because the `bmv2`
/// driver does not discover them. The name of a device contains the number of its switch, as in
/// `device:bmv2:s7`.
pub fn onos_netcfg(devices: &[DeviceAddress], ports: u16, driver: &str, pipeconf: &str) -> Value {
    let devices: Map<String, Value> = devices
        .iter()
        .map(|device| {
            let (id, number) = (device.device_id, device.number);
            let ports: Map<String, Value> = (1..=ports)
                .map(|port| {
                    let value = json!({
                        "number": port,
                        "name": format!("s{number}-eth{port}"),
                        "enabled": true,
                        "removed": false,
                        "type": "copper",
                        "speed": 10_000,
                    });
                    (port.to_string(), value)
                })
                .collect();
            let basic = json!({
                "managementAddress": format!("grpc://{}?device_id={id}", device.dial),
                "driver": driver,
                "pipeconf": pipeconf,
            });
            (onos_device(number), json!({ "basic": basic, "ports": ports }))
        })
        .collect();
    json!({ "devices": devices })
}

/// Returns the name by which ONOS identifies the switch with a given number.
pub(crate) fn onos_device(number: u64) -> String {
    format!("device:bmv2:s{number}")
}

/// Returns a list of devices with one line for each: its ID, a space, and the address to which
/// controllers connect.
pub fn list(devices: &[DeviceAddress]) -> String {
    let mut text = String::new();
    for device in devices {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {}", device.device_id, device.dial);
    }
    text
}

/// Returns a configuration (`faucet.yaml`) for the OpenFlow controller Faucet, with one VLAN over
/// all ports of each switch. By default Faucet ignores about every tenth packet-in, and learns at
/// most 255 hosts per port and 256 per VLAN. The configuration sets these limits to 0, which lifts
/// them (Faucet's documentation, "Configuration").
pub fn faucet(first_id: u64, switches: u32, ports: u16) -> String {
    let mut text = String::from("vlans:\n  hosts: {vid: 100, max_hosts: 0}\ndps:\n");
    for id in (first_id..).take(switches as usize) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "  s{id}:\n    dp_id: {id}\n    ignore_learn_ins: 0\n    interface_ranges:\n      1-{ports}: \
             {{native_vlan: hosts, max_hosts: 0}}\n"
        );
    }
    text
}

/// Posts a network configuration to ONOS. `base` is the base address of its REST interface, such as
/// `http://127.0.0.1:8181`. Waits for at most `patience`. The request uses no proxy and follows no
/// redirection, because it carries a password.
///
/// # Errors
///
/// Returns an error if ONOS cannot be reached, or responds with anything but success.
pub fn post_to_onos(
    base: &str,
    user: &str,
    password: &str,
    netcfg: &Value,
    patience: Duration,
) -> Result<(), NetcfgError> {
    let url = format!("{}{ONOS_PATH}", base.trim_end_matches('/'));
    let agent = agent(patience);
    let unreachable =
        |source: ureq::Error| NetcfgError::Unreachable { url: url.clone(), source: source.into() };
    let mut response = agent
        .post(&url)
        .header("Authorization", authorization(user, password))
        .content_type("application/json")
        .send(netcfg.to_string())
        .map_err(unreachable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let mut excerpt = Vec::new();
    // The status suffices if the rest of the response cannot be read.
    let _ = response.body_mut().as_reader().take(EXCERPT).read_to_end(&mut excerpt);
    let words = String::from_utf8_lossy(&excerpt);
    let excerpt = words.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(NetcfgError::Refused { url, status: status.as_u16(), excerpt })
}

/// Returns an HTTP client for requests to ONOS. It uses no proxy and follows no redirection,
/// because requests carry a password.
pub(crate) fn agent(patience: Duration) -> Agent {
    Agent::config_builder()
        .timeout_global(Some(patience))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .build()
        .into()
}

/// Returns the value of an Authorization header with a user name and a password (RFC 7617).
pub(crate) fn authorization(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{password}")))
}

fn remedy(status: u16) -> &'static str {
    match status {
        401 | 403 => "; check controller.onos-user and controller.onos-password",
        404 => "; check that controller.onos-rest is the REST interface of ONOS",
        _ => "",
    }
}

fn quoted(excerpt: &str) -> String {
    if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::thread::{self, JoinHandle};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn device(device_id: u64, dial: &str) -> DeviceAddress {
        let dial: SocketAddr = dial.parse().expect("an address");
        DeviceAddress { device_id, number: device_id, listen: dial, dial }
    }

    #[test]
    fn faucet_knows_each_switch_by_its_datapath_id() {
        let text = faucet(7, 2, 4);
        let switches: Vec<&str> = text.lines().filter(|line| line.contains("dp_id")).collect();
        assert_eq!(switches, ["    dp_id: 7", "    dp_id: 8"]);
        assert_eq!(text.matches("1-4: {native_vlan: hosts, max_hosts: 0}").count(), 2);
        assert!(
            text.starts_with("vlans:\n  hosts: {vid: 100, max_hosts: 0}\ndps:\n  s7:\n"),
            "{text}"
        );
    }

    /// Starts an HTTP server that answers one request with `answer`. Returns its address, and a
    /// handle of the thread that returns the request.
    fn serve(answer: &'static str) -> (String, JoinHandle<(String, String)>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let base = format!("http://{}/", listener.local_addr().expect("an address"));
        let server = thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            stream.set_read_timeout(Some(TIMEOUT)).expect("set");
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).expect("a line") > 0, "cut: {head}");
            }
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .expect("a length");
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            (&stream).write_all(answer.as_bytes()).expect("answered");
            (head, String::from_utf8(body).expect("UTF-8"))
        });
        (base, server)
    }

    #[test]
    fn the_netcfg_is_what_onos_reads() {
        let devices = [device(1, "127.0.0.1:50051"), device(20, "[::1]:50052")];
        let netcfg = onos_netcfg(&devices, 1, "bmv2", "org.onosproject.pipelines.basic");
        let expected: Value = serde_json::from_str(
            r#"{"devices": {
                "device:bmv2:s1": {
                    "basic": {"managementAddress": "grpc://127.0.0.1:50051?device_id=1",
                              "driver": "bmv2", "pipeconf": "org.onosproject.pipelines.basic"},
                    "ports": {"1": {"number": 1, "name": "s1-eth1", "enabled": true,
                                    "removed": false, "type": "copper", "speed": 10000}}},
                "device:bmv2:s20": {
                    "basic": {"managementAddress": "grpc://[::1]:50052?device_id=20",
                              "driver": "bmv2", "pipeconf": "org.onosproject.pipelines.basic"},
                    "ports": {"1": {"number": 1, "name": "s20-eth1", "enabled": true,
                                    "removed": false, "type": "copper", "speed": 10000}}}}}"#,
        )
        .expect("JSON");
        assert_eq!(netcfg, expected);
    }

    #[test]
    fn the_list_has_a_line_per_device() {
        let devices = [device(1, "127.0.0.1:50051"), device(20, "[::1]:50052")];
        assert_eq!(list(&devices), "1 127.0.0.1:50051\n20 [::1]:50052\n");
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn onos_is_posted_to_with_user_and_password() {
        let (base, server) = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        let netcfg =
            onos_netcfg(&[device(1, "127.0.0.1:50051")], 4, "bmv2", "p4-tutorial-pipeconf");
        post_to_onos(&base, "onos", "rocks", &netcfg, TIMEOUT).expect("posted");
        let (head, body) = server.join().expect("served");
        assert!(head.starts_with("POST /onos/v1/network/configuration HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        // RFC 7617: "onos:rocks" in base 64.
        assert!(head.contains("authorization: basic b25vczpyb2nrcw==\r\n"), "{head}");
        assert!(head.contains("content-type: application/json\r\n"), "{head}");
        assert_eq!(serde_json::from_str::<Value>(&body).expect("JSON"), netcfg);
    }

    #[test]
    fn a_refusal_names_address_status_and_answer() {
        for (answer, expected) in [
            (
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
                "answered 401 to the netcfg; check controller.onos-user and \
                 controller.onos-password",
            ),
            (
                "HTTP/1.1 400 Bad Request\r\nContent-Length: 21\r\n\r\n{\"message\":\n  \"no!\"}\n",
                "answered 400 to the netcfg: {\"message\": \"no!\"}",
            ),
            (
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                "answered 302 to the netcfg",
            ),
        ] {
            let (base, server) = serve(answer);
            let error =
                post_to_onos(&base, "onos", "rocks", &json!({}), TIMEOUT).expect_err("refused");
            assert_eq!(
                error.to_string(),
                format!("{base}onos/v1/network/configuration {expected}")
            );
            server.join().expect("served");
        }
    }

    #[test]
    fn an_onos_that_is_absent_is_named() {
        let base = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            format!("http://{}", listener.local_addr().expect("an address"))
        };
        let error = post_to_onos(&base, "onos", "rocks", &json!({}), TIMEOUT).expect_err("refused");
        let message = error.to_string();
        let start = format!("cannot post the netcfg to {base}/onos/v1/network/configuration: ");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.contains("refused"), "{message}");
    }

    #[test]
    fn an_onos_that_never_answers_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let patience = Duration::from_millis(50);
        let error = post_to_onos(&base, "a", "b", &json!({}), patience).expect_err("silent");
        assert!(matches!(error, NetcfgError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("timeout"), "{error}");
    }
}
