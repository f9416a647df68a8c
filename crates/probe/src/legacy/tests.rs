//! Tests of the translation of configuration files of OFCProbe and P4RCProbe.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::config::{Arrivals, Origin, Protocol, Settings, TopologySource};

/// Creates a temporary folder with a `config.ini` and other files.
fn folder(config: &str, others: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    fs::write(folder.path().join("config.ini"), config).expect("written");
    for (name, text) in others {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

fn read_in(folder: &TempDir) -> Result<Legacy, LegacyError> {
    read(&folder.path().join("config.ini"))
}

fn value<'a>(legacy: &'a Legacy, key: &str) -> Option<&'a str> {
    legacy.settings.iter().find(|setting| setting.key == key).map(|setting| &*setting.value)
}

/// Returns the translated values of the keys in `keys`, in the same order.
fn values<'a>(legacy: &'a Legacy, keys: &[&str]) -> Vec<&'a str> {
    keys.iter().map(|key| value(legacy, key).unwrap_or("-")).collect()
}

/// Removes the path of the folder from a text.
fn without(folder: &TempDir, text: &str) -> String {
    text.replace(&format!("{}/", folder.path().display()), "")
}

fn notes(folder: &TempDir, legacy: &Legacy) -> Vec<String> {
    legacy.notes.iter().map(|note| without(folder, note)).collect()
}

fn faults(folder: &TempDir) -> Vec<String> {
    let message = read_in(folder).expect_err("must be refused").to_string();
    without(folder, &message).lines().map(str::to_owned).collect()
}

#[test]
fn an_empty_file_has_the_defaults_of_those_tools() {
    let folder = folder("", &[]);
    let legacy = read_in(&folder).expect("read");
    let expected = [
        ("protocol", "openflow10"),
        ("controller.address", "127.0.0.1:6633"),
        ("threads", "1"),
        ("switches.count", "1"),
        ("switches.first-id", "1"),
        ("switches.ports", "4"),
        ("switches.buffers", "256"),
        ("switches.table-size", "128"),
        ("traffic.rate", "5000"),
        ("traffic.arrivals", "constant"),
        ("traffic.frame", "tcp-syn"),
        ("traffic.frame-bytes", "66"),
        ("traffic.mac", "serial"),
        ("traffic.ip", "serial"),
        ("traffic.port", "serial"),
        ("traffic.known-destinations", "false"),
        ("traffic.arp-first", "false"),
        ("timing.settle", "6000ms"),
        ("timing.connect-timeout", "10000ms"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "60500ms"),
        ("timing.drain", "6000ms"),
    ];
    for (key, expected) in expected {
        assert_eq!(value(&legacy, key), Some(expected), "{key}");
    }
    assert_eq!(legacy.settings.len(), expected.len());
    assert!(legacy.settings.iter().all(|setting| setting.line == 0));
    assert_eq!(value(&legacy, "switches.topology"), None);
    assert_eq!(value(&legacy, "switches.hosts"), None);
}

#[test]
fn openflow_without_links() {
    let folder = folder(
        "config.openflow_version = 1
config.switchCount = 25
config.threadCount = 8
config.controllerAddress = 192.0.2.7
config.controllerPort = 6653
config.startDpid = 100
config.simTime = 30000
config.startDelay = 40000
config.stopDelay = 500
switchConfig.portCountPerSwitch =8
switchConfig.sendFlag = true
switchConfig.batchSending = true
trafficGenConfig.fillThreshold = 15
trafficGenConfig.IAT = 20
trafficGenConfig.countPerEvent = 2
trafficGenConfig.generatorTypeMAC = RANDOM
trafficGenConfig.arpEnabled = true
statsConfig.modules=PPS, RTT,CPU
",
        &[],
    );
    let legacy = read_in(&folder).expect("read");
    let found = values(
        &legacy,
        &["controller.address", "switches.count", "switches.first-id", "threads", "switches.ports"],
    );
    assert_eq!(found, ["192.0.2.7:6653", "25", "100", "8", "8"]);
    let found =
        values(&legacy, &["traffic.rate", "traffic.mac", "traffic.ip", "traffic.arp-first"]);
    assert_eq!(found, ["1500", "random", "serial", "false"]);
    let found = values(&legacy, &["timing.settle", "timing.connect-timeout", "timing.measure"]);
    assert_eq!(found, ["40000ms", "40000ms", "30000ms"]);
    let rate = legacy.settings.iter().find(|setting| setting.key == "traffic.rate");
    assert_eq!(rate.map(|setting| setting.line), Some(14));
    assert_eq!(
        notes(&folder, &legacy),
        [
            "config.ini:12: switchConfig.batchSending = true has no counterpart: every packet-in \
             leaves when it is due, and those that are due together leave together",
            "config.ini:17: trafficGenConfig.arpEnabled does nothing without config.hasTopology",
            "config.ini:15: 30 packets at once in every interval become single packets at the \
             same rate",
            "config.ini:18: CPU is read from the process that controller.process names, not by \
             SNMP",
        ]
    );
}

#[test]
fn p4runtime_as_p4rcprobe_has_it() {
    let folder = folder(
        "config.southbound_protocol = p4runtime\nconfig.protocol_version = 1
config.controllerAddress = 192.0.2.9\nconfig.switchesAddress = 192.0.2.10
config.switchPort = 9090\nconfig.switchCount = 2\ntrafficGenConfig.fillThreshold = 1
trafficGenConfig.IAT = 1\n",
        &[],
    );
    let legacy = read_in(&folder).expect("read");
    let found = values(
        &legacy,
        &[
            "protocol",
            "controller.onos-rest",
            "controller.onos-pipeconf",
            "p4runtime.listen",
            "p4runtime.advertise",
            "p4runtime.first-port",
            "traffic.rate",
            "controller.address",
        ],
    );
    assert_eq!(
        found,
        [
            "p4runtime",
            "http://192.0.2.9:8181",
            "p4-tutorial-pipeconf",
            "0.0.0.0",
            "192.0.2.10",
            "9091",
            "1000",
            "-",
        ]
    );
    assert_eq!(legacy.notes.len(), 1);
}

#[test]
fn a_local_p4runtime_server_stays_local() {
    let folder =
        folder("config.southbound_protocol = p4runtime\nconfig.switchesAddress = localhost\n", &[]);
    let legacy = read_in(&folder).expect("read");
    let found = values(&legacy, &["p4runtime.listen", "p4runtime.advertise"]);
    assert_eq!(found, ["127.0.0.1", "-"]);
}

#[test]
fn distributions_keep_mean_and_variance() {
    for (name, first, second, rate, arrivals) in [
        ("Normal", "100", "20", "10", "normal:0.2"),
        ("Exponential", "4", "0", "250", "exponential"),
        ("Gamma", "2", "5", "100", "gamma:2"),
        ("ChiSquared", "8", "0", "125", "gamma:4"),
        ("Poisson", "20", "1", "50", "gamma:20"),
    ] {
        let config = format!(
            "trafficGenConfig.iatType = 1\ntrafficGenConfig.iatDistribution = {name}
trafficGenConfig.iatDistributionParamter1 = {first}
trafficGenConfig.iatDistributionParamter2 = {second}\ntrafficGenConfig.fillThreshold = 1\n"
        );
        let folder = folder(&config, &[]);
        let legacy = read_in(&folder).expect("read");
        assert_eq!(values(&legacy, &["traffic.rate", "traffic.arrivals"]), [rate, arrivals]);
    }
}

const LINKS: &str = "###Topology\n1:1==2:1\n2:2==3:5\n";

#[test]
fn a_topology_brings_ports_and_hosts() {
    let config = "config.hasTopology = true\nconfig.switchCount = 3\nconfig.startDpid = 7
switchConfig.portCountPerSwitch = 4\ntrafficGenConfig.arpEnabled = true
trafficGenConfig.onlyTopologyPayloads = true\ntrafficGenConfig.fillThreshold = 2
trafficGenConfig.IAT = 100\ntrafficGenConfig.onlyOneHostPerSwitch = true\n";
    let folder = folder(config, &[("topology.ini", LINKS)]);
    let legacy = read_in(&folder).expect("read");
    let topology = value(&legacy, "switches.topology").expect("a topology");
    assert_eq!(without(&folder, topology), "links:topology.ini");
    let found = values(
        &legacy,
        &["switches.ports", "switches.hosts", "traffic.arp-first", "traffic.known-destinations"],
    );
    assert_eq!(found, ["6", "1", "true", "true"]);
    // One host per switch sends to the two hosts of the others, every 100 ms.
    assert_eq!(
        values(&legacy, &["traffic.rate", "traffic.mac", "traffic.ip"]),
        ["20", "hosts", "hosts"]
    );
    assert_eq!(
        notes(&folder, &legacy),
        [
            "config.ini:4: switches get 6 ports instead of 4, so that every link has one and one \
             remains for hosts",
            "config.ini:3: links name switches by their order, not by their id",
            "config.ini:7: 2 packets at once in every interval become single packets at the same \
             rate",
        ]
    );
}

#[test]
fn hosts_are_on_the_ports_that_links_leave() {
    let config = "config.hasTopology = true\nconfig.switchCount = 4
switchConfig.portCountPerSwitch = 6\ntrafficGenConfig.arpEnabled = true\n";
    let folder = folder(config, &[("topology.ini", LINKS)]);
    let legacy = read_in(&folder).expect("read");
    // Of 24 ports, 4 are ends of links; the rest is divided among 4 switches.
    assert_eq!(values(&legacy, &["switches.hosts", "traffic.known-destinations"]), ["5", "false"]);
}

#[test]
fn graphml_decides_the_number_of_switches() {
    let graph = "<graphml><graph><node id='a'/><node id='b'/><node id='c'/>\
                 <edge source='a' target='b'/><edge source='c' target='b'/></graph></graphml>";
    let config = "config.hasGraphml = true\nconfig.graphml = net.graphml\nconfig.switchCount = 9\n";
    let without_links = folder(config, &[("net.graphml", graph)]);
    let legacy = read_in(&without_links).expect("read");
    assert_eq!(values(&legacy, &["switches.count", "switches.topology"]), ["3", "-"]);

    let config = format!("{config}config.hasTopology = true\n");
    let with_links = folder(&config, &[("net.graphml", graph)]);
    let legacy = read_in(&with_links).expect("read");
    assert_eq!(values(&legacy, &["switches.count", "switches.ports"]), ["3", "4"]);
    let topology = value(&legacy, "switches.topology").expect("a topology");
    assert_eq!(without(&with_links, topology), "graphml:net.graphml");
}

const INDIVIDUAL: &str = "config.checkForIndividualSwitchSettings = true\nconfig.startDpid = 5
config.switchCount = 3\nconfig.simTime = 10000\ntrafficGenConfig.fillThreshold = 10
trafficGenConfig.IAT = 100\n";

#[test]
fn single_switches_differ() {
    let switches = "#comment\n005.iat=50\n006.start=2000\n006.stop=8000\n006.fillthreshold = 1
007.pcapFile=cap.pcap\n007.stop=20000\n007.conDelay=10\n005.stop=0\n009.iat=1\n";
    let folder = folder(INDIVIDUAL, &[("ofSwitch.ini", switches)]);
    let legacy = read_in(&folder).expect("read");
    let found: Vec<(String, usize)> = legacy
        .settings
        .iter()
        .filter(|setting| setting.key == "switch")
        .map(|setting| (without(&folder, &setting.value), setting.line))
        .collect();
    assert_eq!(
        found,
        [
            ("0:rate=200".to_owned(), 2),
            ("1:rate=10,start-delay=2000ms,stop-delay=2000ms".to_owned(), 3),
            ("2:replay=cap.pcap".to_owned(), 6),
        ]
    );
    let notes = notes(&folder, &legacy);
    assert!(notes.contains(
        &"ofSwitch.ini:8: conDelay has no counterpart: switches.connect-rate paces all connections"
            .to_owned()
    ));
    assert!(
        notes.contains(
            &"ofSwitch.ini:10: there is no switch 9: its settings are ignored".to_owned()
        )
    );
}

#[test]
fn single_switches_have_distributions_of_their_own() {
    let config = format!(
        "{INDIVIDUAL}trafficGenConfig.iatType = 1\ntrafficGenConfig.iatDistribution = Exponential
trafficGenConfig.iatDistributionParamter1 = 100\nconfig.individualFileName = own.ini\n"
    );
    let switches = "006.iatDistribution = Normal\n006.iatDistributionParamter1 = 50
006.iatDistributionParamter2 = 5\n007.iatDistribution=Exponential\n";
    let folder = folder(&config, &[("own.ini", switches)]);
    let legacy = read_in(&folder).expect("read");
    assert_eq!(values(&legacy, &["traffic.rate", "traffic.arrivals"]), ["100", "exponential"]);
    // Switch 007 does not differ from the others: mean 100 is the default of the original tools.
    assert_eq!(value(&legacy, "switch"), Some("1:rate=200,arrivals=normal:0.1"));
    assert_eq!(legacy.settings.iter().filter(|setting| setting.key == "switch").count(), 1);
}

#[test]
fn everything_wrong_is_named_with_its_line() {
    let folder = folder(
        "config.switchcount = 3\nconfig.nonsense = 1\nconfig.openflow_version = 4
config.simTime = soon\nconfig.threadCount = 0\nconfig.hasGraphml = yes
trafficGenConfig.IAT = 0\ntrafficGenConfig.generatorTypeIP = serial
statsConfig.modules = PPS,XYZ\nconfig.startDelay = -1
config.hasTopology = true\nconfig.checkForIndividualSwitchSettings = true\n",
        &[],
    );
    let faults = faults(&folder);
    let expected = [
        "config.ini:1: neither OFCProbe nor P4RCProbe has a key \"config.switchcount\"; write \
         config.switchCount",
        "config.ini:2: neither OFCProbe nor P4RCProbe has a key \"config.nonsense\"",
        "config.ini:3: config.openflow_version is 4; those tools know only 1, which is OpenFlow \
         1.0; for OpenFlow 1.3 set protocol to openflow13 beside this file",
        "config.ini:4: config.simTime is \"soon\"; expected a whole number",
        "config.ini:5: config.threadCount is 0; expected 1 to 2147483647",
        "config.ini:6: config.hasGraphml is \"yes\"; expected true or false",
        "config.ini:7: trafficGenConfig.IAT is 0; expected 1 to 2147483647",
        "config.ini:8: trafficGenConfig.generatorTypeIP is \"serial\"; expected SERIAL or RANDOM",
        "config.ini:9: \"XYZ\" is not a statistics module; expected some of PPS, RTT, TSL, QLM, FLOWRPC, CPU, RAM",
        "config.ini:10: config.startDelay is \"-1\"; expected a whole number",
        "config.ini:11: cannot read topology file topology.ini: No such file or directory (os \
         error 2)",
        "config.ini:12: cannot read ofSwitch.ini: No such file or directory (os error 2)",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn single_switches_are_refused_with_their_line() {
    let switches = "8.start=1\n005.speed=3\n005.iat=0\nstart=1\n006.iatDistribution=Zipf\n";
    let config = format!(
        "{INDIVIDUAL}trafficGenConfig.iatType=1\n\
        trafficGenConfig.iatDistributionParamter1=9\ntrafficGenConfig.iatDistributionParamter2=1\n"
    );
    let folder = folder(&config, &[("ofSwitch.ini", switches)]);
    let names = "iat, fillthreshold, conDelay, start, stop, pcapFile, iatDistribution, \
                 iatDistributionParamter1, iatDistributionParamter2";
    let form = format!(
        "is not a setting of a switch; expected an id of three digits, a dot and one of {names}"
    );
    assert_eq!(
        faults(&folder),
        [
            "ofSwitch.ini:1: \"8.start\" names no switch to those tools; write 008.start"
                .to_owned(),
            format!("ofSwitch.ini:2: \"005.speed\" {form}"),
            "ofSwitch.ini:3: iat is \"0\"; expected a whole number from 1".to_owned(),
            format!("ofSwitch.ini:4: \"start\" {form}"),
            "ofSwitch.ini:5: \"Zipf\" is not a distribution; expected Normal, Exponential, Gamma, ChiSquared or \
             Poisson"
                .to_owned(),
        ]
    );
}

#[test]
fn bad_distributions_are_refused() {
    for (lines, expected) in [
        (
            "trafficGenConfig.iatType = 2\n",
            "config.ini:1: trafficGenConfig.iatType is 2; expected 0 (constant) or 1 (distributed)",
        ),
        (
            "trafficGenConfig.iatType = 1\n",
            "config.ini:1: the mean (parameter 1) of a Normal distribution is 0, which is not \
             above 0",
        ),
        (
            "trafficGenConfig.iatType = 1\ntrafficGenConfig.iatDistribution = normal\n",
            "config.ini:2: \"normal\" is not a distribution; expected Normal, Exponential, Gamma, ChiSquared or \
             Poisson",
        ),
    ] {
        let folder = folder(lines, &[]);
        assert_eq!(faults(&folder), [expected]);
    }
}

#[test]
fn a_file_that_is_absent_is_named() {
    let error = read(Path::new("no/such/config.ini")).expect_err("absent");
    assert!(error.to_string().starts_with("cannot read no/such/config.ini: "));
}

/// Resolves the `config.ini` in the folder to a configuration, as the command does.
fn resolved(folder: &TempDir) -> crate::config::Config {
    let mut settings = Settings::new();
    for LegacySetting { key, value, file, line } in read_in(folder).expect("read").settings {
        settings.set(key, &value, Origin::Legacy { file, line });
    }
    settings.resolve().expect("a configuration that can be run").config
}

#[test]
fn what_is_read_can_be_run() {
    let config = resolved(&folder("", &[]));
    assert_eq!((config.protocol, config.traffic.rate), (Protocol::OpenFlow10, 5000.0));
    assert_eq!(config.timing.measure, Duration::from_millis(60_500));

    let p4runtime = "config.southbound_protocol = p4runtime\nconfig.switchesAddress = 192.0.2.1\n
        trafficGenConfig.iatType = 1\ntrafficGenConfig.iatDistribution = Gamma
        trafficGenConfig.iatDistributionParamter1 = 2\n
        trafficGenConfig.iatDistributionParamter2 = 0.5\n";
    let config = resolved(&folder(p4runtime, &[]));
    assert_eq!(config.protocol, Protocol::P4Runtime);
    assert_eq!(config.traffic.arrivals, Arrivals::Gamma { shape: 2.0 });
    assert_eq!(config.controller.onos_pipeconf, "p4-tutorial-pipeconf");

    let links = "config.hasTopology = true\nconfig.switchCount = 3
        trafficGenConfig.arpEnabled = true\ntrafficGenConfig.onlyTopologyPayloads = true
        config.checkForIndividualSwitchSettings = true\n";
    let switches = "001.iat=50\n002.start=2000\n002.stop=8000\n003.pcapFile=cap.pcap\n";
    let others = [("topology.ini", LINKS), ("ofSwitch.ini", switches), ("cap.pcap", "")];
    let config = resolved(&folder(links, &others));
    assert!(matches!(config.topology, TopologySource::Links(_)));
    assert!(config.traffic.arp_first && config.traffic.addresses.known_destinations);
    assert_eq!(config.switches.overrides.len(), 3);
    let second = config.switches.overrides.get(1).expect("three");
    assert_eq!(second.stop_delay, Some(Duration::from_millis(52_500)));
}
