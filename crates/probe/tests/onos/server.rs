//! The part of ONOS 2.5's REST interface that the probe uses, on a loopback port.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// An emulated ONOS that only answers requests; it never dials switches.
#[derive(Clone, Default)]
pub(crate) struct Onos {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The names of the applications, and whether they are active.
    applications: BTreeMap<String, bool>,
    devices: BTreeMap<String, Value>,
    netcfg: BTreeMap<String, Value>,
    hosts: BTreeMap<String, Value>,
    requests: Vec<String>,
}

impl Onos {
    /// Creates an ONOS with the given active applications, and the usual others inactive.
    pub(crate) fn with(active: &[&str]) -> Self {
        let onos = Self::default();
        let mut state = onos.state.lock().expect("the state");
        for name in ["fwd", "hostprovider", "openflow", "drivers.bmv2", "pipelines.basic"] {
            let is_active = active.contains(&name);
            state.applications.insert(format!("org.onosproject.{name}"), is_active);
        }
        drop(state);
        onos
    }

    pub(crate) fn device(&self, id: &str, available: bool, driver: &str) {
        let device = json!({"id": id, "type": "SWITCH", "available": available, "role": "MASTER",
            "mfr": "p4.org", "driver": driver, "annotations": {"protocol": "P4Runtime"}});
        self.state.lock().expect("the state").devices.insert(id.to_owned(), device);
    }

    pub(crate) fn host(&self, mac: &str, device: &str) {
        let id = format!("{mac}/None");
        let host = json!({"id": id, "mac": mac, "vlan": "None", "ipAddresses": ["10.0.0.1"],
            "locations": [{"elementId": device, "port": "1"}]});
        self.state.lock().expect("the state").hosts.insert(id, host);
    }

    /// Returns the ids of everything that it holds: devices, netcfg, hosts.
    pub(crate) fn holds(&self) -> [Vec<String>; 3] {
        let state = self.state.lock().expect("the state");
        [&state.devices, &state.netcfg, &state.hosts].map(|known| known.keys().cloned().collect())
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.lock().expect("the state").requests.clone()
    }

    /// Serves until the test ends; returns the base address.
    pub(crate) fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let onos = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that disconnects early does not matter.
                let _ = onos.answer(&stream);
            }
        });
        base
    }

    fn answer(&self, stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let path = path.replace("%3A", ":");
        let (status, text) = match head.contains("Basic b25vczpyb2Nrcw==") {
            false
                if head.to_ascii_lowercase().contains("authorization: basic b25vczpyb2nrcw==") =>
            {
                self.respond(method, &path, &body)
            }
            true => self.respond(method, &path, &body),
            false => ("401 Unauthorized", String::new()),
        };
        let length = text.len();
        let mut out = stream;
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    }

    fn respond(&self, method: &str, path: &str, body: &[u8]) -> (&'static str, String) {
        let mut state = self.state.lock().expect("the state");
        state.requests.push(format!("{method} {path}"));
        let Some(path) = path.strip_prefix("/onos/v1") else {
            return ("404 Not Found", String::new());
        };
        let list = |known: &BTreeMap<String, Value>| known.values().cloned().collect::<Vec<_>>();
        match (method, path) {
            ("GET", "/applications") => {
                let of = |(name, active): (&String, &bool)| json!({"name": name, "state": if *active { "ACTIVE" } else { "INSTALLED" }});
                let applications: Vec<Value> = state.applications.iter().map(of).collect();
                ("200 OK", json!({"applications": applications}).to_string())
            }
            ("GET", "/devices") => ("200 OK", json!({"devices": list(&state.devices)}).to_string()),
            ("GET", "/hosts") => ("200 OK", json!({"hosts": list(&state.hosts)}).to_string()),
            ("GET", "/network/configuration/devices") => {
                ("200 OK", json!(state.netcfg).to_string())
            }
            ("POST", "/network/configuration") => {
                let netcfg: Value = serde_json::from_slice(body).expect("JSON");
                for (id, device) in netcfg["devices"].as_object().expect("devices") {
                    state.netcfg.insert(id.clone(), device.clone());
                }
                ("200 OK", String::new())
            }
            ("DELETE", path) => {
                let gone = if let Some(id) = path.strip_prefix("/network/configuration/devices/") {
                    state.netcfg.remove(id)
                } else if let Some(id) = path.strip_prefix("/devices/") {
                    state.devices.remove(id)
                } else {
                    path.strip_prefix("/hosts/").and_then(|id| state.hosts.remove(id))
                };
                (if gone.is_some() { "204 No Content" } else { "404 Not Found" }, String::new())
            }
            _ => ("404 Not Found", String::new()),
        }
    }
}
