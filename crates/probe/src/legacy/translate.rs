//! Translates the keys of OFCProbe and P4RCProbe to the settings of this probe.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::arrivals::Interval;
use super::individual::{self, Base};
use super::properties::{Properties, Property};
use super::{Legacy, LegacyError, LegacyFault, LegacySetting, place};
use crate::topology::{Survey, survey_graphml, survey_links};

/// The keys of the original tools that become settings here, or that change the meaning of other
/// keys.
const TRANSLATED: &[&str] = &[
    "config.southbound_protocol",
    "config.protocol_version",
    "config.openflow_version",
    "config.switchCount",
    "config.threadCount",
    "config.controllerAddress",
    "config.controllerPort",
    "config.switchesAddress",
    "config.switchPort",
    "config.startDpid",
    "config.simTime",
    "config.startDelay",
    "config.stopDelay",
    "config.hasTopology",
    "config.hasGraphml",
    "config.graphml",
    "config.checkForIndividualSwitchSettings",
    "config.individualFileName",
    "switchConfig.portCountPerSwitch",
    "switchConfig.buffersPerSwitch",
    "switchConfig.flowTableSize",
    "trafficGenConfig.arpEnabled",
    "trafficGenConfig.fillThreshold",
    "trafficGenConfig.iatType",
    "trafficGenConfig.IAT",
    "trafficGenConfig.countPerEvent",
    "trafficGenConfig.onlyTopologyPayloads",
    "trafficGenConfig.onlyOneHostPerSwitch",
    "trafficGenConfig.generatorTypeMAC",
    "trafficGenConfig.generatorTypeIP",
    "trafficGenConfig.generatorTypePort",
    "trafficGenConfig.iatDistribution",
    "trafficGenConfig.iatDistributionParamter1",
    "trafficGenConfig.iatDistributionParamter2",
    "statsConfig.modules",
];

/// The keys of the original tools that have no counterpart here. The second value is the value of
/// the key that describes how this probe behaves, and the third is the reason for having no
/// counterpart.
const WITHOUT_COUNTERPART: &[(&str, &str, &str)] = &[
    ("config.onosControlled", "false", "OpenFlow switches need no registration with ONOS"),
    ("switchConfig.sendFlag", "true", "packet-ins are always sent"),
    ("switchConfig.disableNagle", "true", "Nagle's algorithm is always off"),
    (
        "switchConfig.batchSending",
        "",
        "every packet-in leaves when it is due, and those that are due together leave together",
    ),
    ("switchConfig.randomizeStats", "false", "statistics report what was counted"),
    ("trafficGenConfig.scenario", "", "those tools do not use it either"),
    (
        "trafficGenConfig.staticPayload",
        "false",
        "every frame carries an id of its own, by which its answer is known",
    ),
];

/// The names of the statistics modules of the original tools. This probe always measures what they
/// measure, except for the last two modules.
const MODULES: &[&str] = &["PPS", "RTT", "TSL", "QLM", "FLOWRPC", "CPU", "RAM"];

pub(super) fn translate(path: &Path, properties: Properties) -> Result<Legacy, LegacyError> {
    let mut translator = Translator {
        file: path.to_owned(),
        properties,
        legacy: Legacy::default(),
        faults: Vec::new(),
    };
    translator.refuse_unknown();
    translator.note_without_counterpart();
    let p4runtime = translator.protocol();
    translator.addresses(p4runtime);
    let network = translator.network();
    let base = translator.traffic(&network);
    translator.timing(&base);
    translator.statistics();
    translator.faults.sort_by_key(|fault| fault.line);
    translator.individual(&base);
    if translator.faults.is_empty() {
        Ok(translator.legacy)
    } else {
        Err(LegacyError::Invalid { faults: translator.faults })
    }
}

/// A value in the translated file and its line number. The number is 0 if the file lacks the value,
/// so that the default applies.
#[derive(Clone, Copy, Debug)]
struct Given<T> {
    value: T,
    line: usize,
}

/// The switches and hosts that the translated file defines.
struct Network {
    switches: u64,
    first_id: u64,
    /// The number of hosts behind each switch, or `None` without hosts. The original tools have
    /// hosts only if links and ARP are enabled.
    hosts: Option<f64>,
}

/// The state while one `config.ini` is translated.
struct Translator {
    file: PathBuf,
    properties: Properties,
    legacy: Legacy,
    faults: Vec<LegacyFault>,
}

impl Translator {
    fn refuse_unknown(&mut self) {
        let known =
            || TRANSLATED.iter().copied().chain(WITHOUT_COUNTERPART.iter().map(|row| row.0));
        for (key, property) in &self.properties {
            if known().any(|name| name == key) {
                continue;
            }
            let mut message = format!("neither OFCProbe nor P4RCProbe has a key \"{key}\"");
            if let Some(meant) = known().find(|name| name.eq_ignore_ascii_case(key)) {
                message.push_str(&format!("; write {meant}"));
            }
            self.faults.push(LegacyFault { file: self.file.clone(), line: property.line, message });
        }
        self.faults.sort_by_key(|fault| fault.line);
    }

    fn note_without_counterpart(&mut self) {
        let mut found: Vec<(usize, String)> = Vec::new();
        for (key, same, reason) in WITHOUT_COUNTERPART {
            if let Some(property) = self.properties.get(*key)
                && !property.value.eq_ignore_ascii_case(same)
            {
                let text = format!("{key} = {} has no counterpart: {reason}", property.value);
                found.push((property.line, text));
            }
        }
        found.sort_unstable();
        for (line, text) in found {
            self.note(line, &text);
        }
    }

    /// Translates the choice of the protocol. Returns whether the protocol is P4Runtime.
    fn protocol(&mut self) -> bool {
        let protocol = self.text("config.southbound_protocol", "openflow");
        let p4runtime = match protocol.value.as_str() {
            "openflow" => false,
            "p4runtime" => true,
            other => {
                let message = format!(
                    "config.southbound_protocol is \"{other}\"; expected openflow or p4runtime"
                );
                self.fault(protocol.line, message);
                false
            }
        };
        self.set("protocol", if p4runtime { "p4runtime" } else { "openflow10" }, protocol.line);
        for key in ["config.protocol_version", "config.openflow_version"] {
            let version = self.number(key, 1);
            if version.value != 1 {
                let message = format!(
                    "{key} is {}; those tools know only 1, which is OpenFlow 1.0; for OpenFlow 1.3 \
                     set protocol to openflow13 beside this file",
                    version.value
                );
                self.fault(version.line, message);
            }
        }
        p4runtime
    }

    fn addresses(&mut self, p4runtime: bool) {
        let controller = self.text("config.controllerAddress", "127.0.0.1");
        let port = self.number("config.controllerPort", 6633);
        let host = match controller.value.parse() {
            Ok(IpAddr::V6(_)) => format!("[{}]", controller.value),
            _ => controller.value,
        };
        let line = controller.line.max(port.line);
        if !p4runtime {
            self.set("controller.address", &format!("{host}:{}", port.value), line);
            return;
        }
        self.set("controller.onos-rest", &format!("http://{host}:8181"), controller.line);
        self.set("controller.onos-pipeconf", "p4-tutorial-pipeconf", 0);
        self.note(
            controller.line,
            "as P4RCProbe does, the netcfg with pipeconf p4-tutorial-pipeconf is posted to ONOS at \
             port 8181 of the controller; unset controller.onos-rest if it is another controller",
        );
        let address = self.text("config.switchesAddress", "127.0.0.1");
        let literal = if address.value == "localhost" { "127.0.0.1" } else { &address.value };
        match IpAddr::from_str(literal) {
            Ok(ip) if ip.is_loopback() => self.set("p4runtime.listen", literal, address.line),
            Ok(ip) => {
                let any = if ip.is_ipv4() { "0.0.0.0" } else { "::" };
                self.set("p4runtime.listen", any, address.line);
                self.set("p4runtime.advertise", literal, address.line);
            }
            Err(_) => {
                let message = format!(
                    "config.switchesAddress is \"{}\", a host name; write its IP address",
                    address.value
                );
                self.fault(address.line, message);
            }
        }
        // The server of a switch listens on this port plus the id of the switch.
        let port = self.number("config.switchPort", 9090);
        let first_id = self.number("config.startDpid", 1).value;
        let first_port = port.value.saturating_add(first_id);
        self.set("p4runtime.first-port", &first_port.to_string(), port.line);
    }

    /// Translates the settings of switches, links and hosts.
    fn network(&mut self) -> Network {
        let threads = self.number_from("config.threadCount", 1, 1);
        self.set("threads", &threads.value.to_string(), threads.line);
        let first_id = self.number("config.startDpid", 1);
        self.set("switches.first-id", &first_id.value.to_string(), first_id.line);
        for (key, ours, default) in [
            ("switchConfig.buffersPerSwitch", "switches.buffers", 256),
            ("switchConfig.flowTableSize", "switches.table-size", 128),
        ] {
            let number = self.number(key, default);
            self.set(ours, &number.value.to_string(), number.line);
        }
        let mut count = self.number_from("config.switchCount", 1, 1);
        let mut ports = self.number_from("switchConfig.portCountPerSwitch", 4, 1);
        let has_topology = self.flag("config.hasTopology", false);
        let mut links = 0;
        if let Some((topology, survey, line)) = self.topology(has_topology, count.value) {
            if survey.left_out > 0 {
                let text = format!(
                    "{} links of switches beyond config.switchCount = {} are left out, as those \
                     tools do",
                    survey.left_out, count.value
                );
                self.note(line, &text);
            }
            if let Some(nodes) = topology.nodes {
                count = Given { value: nodes, line };
            }
            if let Some(setting) = topology.setting {
                self.set("switches.topology", &setting, line);
                links = survey.links;
                // A switch needs one port more than its links, for a host.
                let needed = survey.ports as u64 + 1;
                if ports.value < needed {
                    let text = format!(
                        "switches get {needed} ports instead of {}, so that every link has one and \
                         one remains for hosts",
                        ports.value
                    );
                    self.note(ports.line, &text);
                    ports.value = needed;
                }
                if first_id.value != 1 {
                    self.note(first_id.line, "links name switches by their order, not by their id");
                }
            }
        }
        self.set("switches.count", &count.value.to_string(), count.line);
        self.set("switches.ports", &ports.value.to_string(), ports.line);
        let arp = self.flag("trafficGenConfig.arpEnabled", false);
        if arp.value && !has_topology.value {
            self.note(
                arp.line,
                "trafficGenConfig.arpEnabled does nothing without config.hasTopology",
            );
        }
        let one_host = self.flag("trafficGenConfig.onlyOneHostPerSwitch", false);
        let arp_first = arp.value && has_topology.value;
        self.set("traffic.arp-first", if arp_first { "true" } else { "false" }, arp.line);
        let hosts = arp_first.then(|| {
            let linked = 2.0 * links as f64 / count.value as f64;
            if one_host.value { 1.0 } else { (ports.value as f64 - linked).max(1.0) }
        });
        if let Some(hosts) = hosts {
            self.set("switches.hosts", &format!("{}", hosts.round()), one_host.line);
        }
        Network { switches: count.value, first_id: first_id.value, hosts }
    }

    /// Translates the topology. Returns it together with its size and the number of the line that
    /// defines it, or `None` if there is none.
    fn topology(
        &mut self,
        has_topology: Given<bool>,
        switch_count: u64,
    ) -> Option<(Topology, Survey, usize)> {
        let has_graphml = self.flag("config.hasGraphml", false);
        let graphml = self.text("config.graphml", "");
        let (result, file, kind) = if has_graphml.value && !graphml.value.is_empty() {
            let file = self.beside(&graphml.value);
            (survey_graphml(&file), file, "graphml")
        } else if has_topology.value {
            let file = self.beside("topology.ini");
            (survey_links(&file, switch_count), file, "links")
        } else {
            return None;
        };
        let line = if kind == "graphml" { graphml.line } else { has_topology.line };
        let survey = match result {
            Ok(survey) => survey,
            Err(error) => {
                self.fault(line, error.to_string());
                return None;
            }
        };
        let setting = has_topology.value.then(|| format!("{kind}:{}", file.display()));
        let nodes = (kind == "graphml").then_some(survey.nodes as u64);
        if kind == "graphml" {
            self.note(
                line,
                "every node becomes a switch and every edge a link, where those tools merge nodes \
                 at the same place, skip nodes without a place and keep a spanning tree only",
            );
        }
        Some((Topology { setting, nodes }, survey, line))
    }

    /// Translates the rate, the arrival times and the addresses of packets.
    fn traffic(&mut self, network: &Network) -> Base {
        let fill = self.number_from("trafficGenConfig.fillThreshold", 500, 1);
        let per_event = self.number_from("trafficGenConfig.countPerEvent", 1, 1);
        let known = self.flag("trafficGenConfig.onlyTopologyPayloads", false);
        let (interval, line) = self.interval();
        let hosts = network.hosts.filter(|_| known.value);
        if known.value && hosts.is_none() {
            self.note(
                known.line,
                "with onlyTopologyPayloads but without topology and ARP those tools send nothing; \
                 here the setting is ignored",
            );
        }
        // The number of packets that a switch sends in an interval.
        let burst_of_hosts = hosts.map(|hosts| {
            // Every host sends to at most `fill` of the other hosts.
            let others = (hosts * network.switches as f64 - 1.0).max(1.0);
            hosts * others.min(fill.value as f64)
        });
        let to_hosts = burst_of_hosts.is_some();
        let burst = burst_of_hosts.unwrap_or(fill.value as f64 * per_event.value as f64);
        if burst > 1.0 {
            let text = format!(
                "{burst} packets at once in every interval become single packets at the same rate"
            );
            self.note(fill.line.max(per_event.line), &text);
        }
        if let Some(note) = interval.note {
            self.note(line, note);
        }
        self.set("traffic.rate", &interval.rate(burst).to_string(), line);
        self.set("traffic.arrivals", &interval.arrivals, line);
        self.set("traffic.frame", "tcp-syn", 0);
        self.set("traffic.frame-bytes", "66", 0);
        self.set("traffic.known-destinations", if to_hosts { "true" } else { "false" }, known.line);
        for (key, ours, of_hosts) in [
            ("trafficGenConfig.generatorTypeMAC", "traffic.mac", to_hosts),
            ("trafficGenConfig.generatorTypeIP", "traffic.ip", to_hosts),
            ("trafficGenConfig.generatorTypePort", "traffic.port", false),
        ] {
            let generator = self.text(key, "SERIAL");
            let value = match generator.value.as_str() {
                "SERIAL" | "RANDOM" if of_hosts => "hosts",
                "SERIAL" => "serial",
                "RANDOM" => "random",
                other => {
                    let message = format!("{key} is \"{other}\"; expected SERIAL or RANDOM");
                    self.fault(generator.line, message);
                    continue;
                }
            };
            self.set(ours, value, generator.line);
        }
        Base {
            first_id: network.first_id,
            switches: network.switches,
            interval,
            distributed: self.number("trafficGenConfig.iatType", 0).value == 1,
            iat_ms: self.number("trafficGenConfig.IAT", 100).value,
            fill: fill.value,
            per_event: per_event.value,
            burst_of_hosts,
            traffic_ms: self.number("config.simTime", 60_500).value,
        }
    }

    /// Returns the times between the events at which every switch sends packets, and the number of
    /// the line that defines them.
    fn interval(&mut self) -> (Interval, usize) {
        let kind = self.number("trafficGenConfig.iatType", 0);
        let iat = self.number_from("trafficGenConfig.IAT", 100, 1);
        match kind.value {
            0 => (Interval::constant(iat.value), iat.line),
            1 => {
                let name = self.text("trafficGenConfig.iatDistribution", "Normal");
                let first = self.decimal("trafficGenConfig.iatDistributionParamter1", 0.0);
                let second = self.decimal("trafficGenConfig.iatDistributionParamter2", 0.0);
                let line = name.line.max(kind.line);
                match Interval::distributed(&name.value, first.value, second.value) {
                    Ok(interval) => (interval, line),
                    Err(message) => {
                        self.fault(line, message);
                        (Interval::constant(1), line)
                    }
                }
            }
            other => {
                let message = format!(
                    "trafficGenConfig.iatType is {other}; expected 0 (constant) or 1 (distributed)"
                );
                self.fault(kind.line, message);
                (Interval::constant(1), kind.line)
            }
        }
    }

    fn timing(&mut self, base: &Base) {
        let measure = self.number_from("config.simTime", 60_500, 1);
        self.set("timing.measure", &format!("{}ms", base.traffic_ms), measure.line);
        self.set("timing.warm-up", "0s", 0);
        let start = self.number("config.startDelay", 6000);
        self.set("timing.settle", &format!("{}ms", start.value), start.line);
        // The original tools wait twice as long. The first half is for handshakes.
        let patience = start.value.max(10_000);
        self.set("timing.connect-timeout", &format!("{patience}ms"), start.line);
        let stop = self.number("config.stopDelay", 6000);
        self.set("timing.drain", &format!("{}ms", stop.value), stop.line);
    }

    fn statistics(&mut self) {
        let modules = self.text("statsConfig.modules", "");
        for module in modules.value.split(',').map(str::trim).filter(|module| !module.is_empty()) {
            if !MODULES.contains(&module) {
                let message = format!(
                    "\"{module}\" is not a statistics module; expected some of {}",
                    MODULES.join(", ")
                );
                self.fault(modules.line, message);
            } else if matches!(module, "CPU" | "RAM") {
                let text = format!(
                    "{module} is read from the process that controller.process names, not by SNMP"
                );
                self.note(modules.line, &text);
            }
        }
    }

    /// Translates the settings of single switches.
    fn individual(&mut self, base: &Base) {
        let wanted = self.flag("config.checkForIndividualSwitchSettings", false);
        let name = self.text("config.individualFileName", "ofSwitch.ini");
        if !wanted.value {
            return;
        }
        match individual::read(&self.beside(&name.value), base) {
            Ok(found) => {
                self.legacy.settings.extend(found.settings);
                self.legacy.notes.extend(found.notes);
                self.faults.extend(found.faults);
            }
            Err(error) => self.fault(wanted.line, error.to_string()),
        }
    }

    /// Returns the path of a file that `config.ini` names. The original tools look for the file in
    /// their working directory, and this program in the folder of `config.ini`.
    fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(name)
    }

    fn set(&mut self, key: &'static str, value: &str, line: usize) {
        let file = self.file.clone();
        self.legacy.settings.push(LegacySetting { key, value: value.to_owned(), file, line });
    }

    fn note(&mut self, line: usize, text: &str) {
        self.legacy.notes.push(noted(&self.file, line, text));
    }

    fn fault(&mut self, line: usize, message: String) {
        let fault = LegacyFault { file: self.file.clone(), line, message };
        // Some keys are read more than once, so the fault may already be recorded.
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn text(&self, key: &str, default: &str) -> Given<String> {
        match self.properties.get(key) {
            Some(Property { value, line }) => Given { value: value.clone(), line: *line },
            None => Given { value: default.to_owned(), line: 0 },
        }
    }

    fn parsed<T: FromStr>(&mut self, key: &str, default: T, expected: &str) -> Given<T> {
        let Some(Property { value, line }) = self.properties.get(key) else {
            return Given { value: default, line: 0 };
        };
        let line = *line;
        match value.parse() {
            Ok(value) => Given { value, line },
            Err(_) => {
                let message = format!("{key} is \"{value}\"; expected {expected}");
                self.fault(line, message);
                Given { value: default, line }
            }
        }
    }

    /// Parses a whole number up to 2^31 - 1, which is the largest that the original tools can read.
    fn number(&mut self, key: &str, default: u64) -> Given<u64> {
        self.number_from(key, default, 0)
    }

    fn number_from(&mut self, key: &str, default: u64, least: u64) -> Given<u64> {
        const MAX: u64 = i32::MAX as u64;
        let mut number = self.parsed(key, default, "a whole number");
        if !(least..=MAX).contains(&number.value) {
            let message = format!("{key} is {}; expected {least} to {MAX}", number.value);
            self.fault(number.line, message);
            number.value = default;
        }
        number
    }

    fn decimal(&mut self, key: &str, default: f64) -> Given<f64> {
        self.parsed(key, default, "a number")
    }

    fn flag(&mut self, key: &str, default: bool) -> Given<bool> {
        let Some(Property { value, line }) = self.properties.get(key) else {
            return Given { value: default, line: 0 };
        };
        let (value, line) = (value.to_ascii_lowercase(), *line);
        match value.as_str() {
            "true" => Given { value: true, line },
            "false" => Given { value: false, line },
            _ => {
                self.fault(line, format!("{key} is \"{value}\"; expected true or false"));
                Given { value: default, line }
            }
        }
    }
}

/// The topology that the translated file defines.
struct Topology {
    /// The value for the setting `switches.topology`, or `None` if the file defines only the number
    /// of switches.
    setting: Option<String>,
    /// The number of switches, if the topology defines it.
    nodes: Option<u64>,
}

/// Formats a note that begins with the file name and the line number.
pub(super) fn noted(file: &Path, line: usize, text: &str) -> String {
    let mut note = String::new();
    // Writing to a string cannot fail.
    let _ = place(&mut note, file, line);
    note.push_str(text);
    note
}
