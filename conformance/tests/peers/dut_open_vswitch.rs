//! Measures Open vSwitch with the userspace datapath over both versions of OpenFlow, as a switch
//! under test.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use conformance::{Lab, Peer, Running, binary, poll};
use rustix::process::Signal;
use tempfile::TempDir;

use super::authority::Authority;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const TIMEOUT: Duration = Duration::from_secs(60);
/// A flow that was installed before the measurement, and that the measurement must not remove.
const OTHER: &str = "priority=7,dl_dst=02:00:00:00:00:07,actions=drop";

/// Open vSwitch in a namespace, with a bridge `br0` whose ports 1 to 3 are connected to `h1` to
/// `h3`.
struct OpenVSwitch {
    lab: Lab,
    directory: TempDir,
    _daemons: [Running; 2],
}

impl OpenVSwitch {
    /// Starts Open vSwitch. Returns `None`, after printing a message, if Open vSwitch is not
    /// installed or namespaces cannot be created.
    fn start(protocol: &str) -> Option<Self> {
        Peer::OpenVSwitch.command()?;
        let lab = Lab::new()?;
        for port in 1..=3 {
            lab.cable(("s", &format!("s{port}")), ("s", &format!("h{port}")));
        }
        let directory = TempDir::new().expect("a directory");
        let place = directory.path();
        let socket = format!("unix:{}", place.join("db.sock").display());
        let created =
            program(&lab, place, "ovsdb-tool").args(["create", "conf.db", SCHEMA]).status();
        assert!(created.expect("it runs").success());
        let mut server = program(&lab, place, "ovsdb-server");
        server.args([&format!("--remote=p{socket}"), "--no-chdir", "conf.db"]);
        let server = Running::start(server).expect("it starts");
        assert!(poll(TIMEOUT, || place.join("db.sock").exists()), "{}", server.output());
        let mut switch = program(&lab, place, "ovs-vswitchd");
        switch.args([&socket, "--no-chdir"]);
        let switch = Running::start(switch).expect("it starts");
        let started = Self { lab, directory, _daemons: [server, switch] };
        started.vsctl(&["--no-wait", "init"]);
        #[rustfmt::skip]
        started.vsctl(&[
            "--timeout=60", "add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev",
                "fail_mode=secure", "other_config:disable-in-band=true", &format!("protocols={protocol}"),
            "--", "add-port", "br0", "s1", "--", "set", "Interface", "s1", "ofport_request=1",
            "--", "add-port", "br0", "s2", "--", "set", "Interface", "s2", "ofport_request=2",
            "--", "add-port", "br0", "s3", "--", "set", "Interface", "s3", "ofport_request=3",
        ]);
        // Open vSwitch deletes all flows when it gets its first controller, so that comes first.
        started.vsctl(&["set-controller", "br0", "tcp:127.0.0.1:6653"]);
        started.vsctl(&["set", "Controller", "br0", "max_backoff=1000"]);
        started.ofctl(&["add-flow", "br0", OTHER], protocol);
        Some(started)
    }

    fn vsctl(&self, arguments: &[&str]) -> String {
        let place = self.directory.path();
        let mut command = program(&self.lab, place, "ovs-vsctl");
        command.arg(format!("--db=unix:{}", place.join("db.sock").display())).args(arguments);
        printed(command.output().expect("it runs"))
    }

    fn ofctl(&self, arguments: &[&str], protocol: &str) -> String {
        let mut command = program(&self.lab, self.directory.path(), "ovs-ofctl");
        printed(command.args(["-O", protocol]).args(arguments).output().expect("it runs"))
    }

    /// Returns the flows of the bridge, without counters.
    fn flows(&self, protocol: &str) -> Vec<String> {
        let text = self.ofctl(&["--no-stats", "dump-flows", "br0"], protocol);
        text.lines()
            .filter(|line| line.contains("actions="))
            .map(|line| line.trim().to_owned())
            .collect()
    }

    /// Starts `planimeter dut`, to which the bridge connects.
    fn measure(&self, arguments: &[&str]) -> Running {
        let mut command = self.lab.command("s", binary());
        command.args(["dut", "--openflow", "127.0.0.1:6653"]).args(arguments);
        let mut running = Running::start(command).expect("it starts");
        running.wait_for("waiting for an OpenFlow switch", TIMEOUT);
        running
    }
}

/// Returns the command that runs a program of Open vSwitch in a directory of its own.
fn program(lab: &Lab, place: &Path, name: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = lab.command("s", name);
    // Debian installs the daemons outside the usual PATH.
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).current_dir(place);
    command.env("OVS_RUNDIR", place).env("OVS_LOGDIR", place).env("OVS_DBDIR", place);
    command
}

fn printed(output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn result(run: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(run.join("result.json")).expect("a result");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn updates_reads_and_capacity_are_measured_over_both_versions() {
    for (protocol, version) in [("OpenFlow10", "1.0"), ("OpenFlow13", "1.3")] {
        let Some(switch) = OpenVSwitch::start(protocol) else { return };
        // Without a limit, Open vSwitch accepts any number of flows.
        #[rustfmt::skip]
        switch.vsctl(&[
            "--", "--id=@table", "create", "Flow_Table", "flow_limit=1000", "overflow_policy=refuse",
            "--", "set", "Bridge", "br0", "flow_tables:0=@table",
        ]);
        let before = switch.flows(protocol);
        assert_eq!(before.len(), 1, "{before:?}");
        let folder = TempDir::new().expect("a folder");
        let run = folder.path().join("run");
        let place = run.to_string_lossy().into_owned();
        let matching = if version == "1.0" { "udp" } else { "mac" };
        let rates = ["--plan", "updates,reads", "--quick", "--batch", "10", "--entries", "500"];
        let mut running =
            switch.measure(&[&rates[..], &["--match", matching, "-o", &place]].concat());
        running.wait_for_end(TIMEOUT);
        let text = running.output();
        assert!(text.contains(&format!("speaks OpenFlow {version}")), "{text}");
        assert!(text.contains("Open vSwitch"), "{text}");
        assert_eq!(switch.flows(protocol), before);
        let result = result(&run);
        let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 6);
        for row in rows {
            assert!(row[3]["value"].as_f64().expect("a rate") > 0.0, "{row}");
            assert_eq!(row[6]["value"], 0.0, "nothing is refused: {row}");
        }
        let run = folder.path().join("capacity").to_string_lossy().into_owned();
        let mut running =
            switch.measure(&["--plan", "capacity", "--quick", "--entries", "2k", "-o", &run]);
        running.wait_for_end(TIMEOUT);
        let text = running.output();
        assert!(text.contains("capacity: 1000 entries, then FLOW_MOD_FAILED/TABLE_FULL"), "{text}");
        assert_eq!(switch.flows(protocol), before);
    }
}

#[test]
fn packets_show_whether_barrier_replies_are_true() {
    for protocol in ["OpenFlow10", "OpenFlow13"] {
        let Some(switch) = OpenVSwitch::start(protocol) else { return };
        let before = switch.flows(protocol);
        let folder = TempDir::new().expect("a folder");
        let run = folder.path().join("run");
        let place = run.to_string_lossy().into_owned();
        let ports = ["--port", "1@h1", "--port", "2@h2", "--port", "3@h3"];
        let mut arguments = vec!["--plan", "effects", "--quick", "--probes", "5k", "--rules", "4"];
        arguments.extend(ports);
        arguments.extend(["-o", &place]);
        let mut running = switch.measure(&arguments);
        running.wait_for_end(TIMEOUT);
        assert_eq!(switch.flows(protocol), before);
        let text = running.output();
        assert!(text.contains("barrier: "), "{text}");
        let result = result(&run);
        let tables = &result["sections"][0]["tables"];
        let rows = |table: usize| tables[table]["rows"].as_array().expect("rows");
        // One rule, and four, are inserted, modified and deleted.
        assert_eq!(rows(0).len(), 6, "{text}");
        for (times, outcomes) in rows(0).iter().zip(rows(1)) {
            assert_eq!(times[1]["value"], 10.0, "{times}");
            for (column, name) in [(2, "old"), (3, "new")] {
                let count = outcomes[column]["value"].as_f64().expect("a count");
                assert!(count > 0.0, "{name}: {outcomes}");
            }
        }
    }
}

/// The userspace datapath counts packets, and threads of Open vSwitch copy the counts to the flows
/// periodically, so the statistics of flows lag behind.
#[test]
fn flow_statistics_are_older_than_their_requests() {
    for protocol in ["OpenFlow10", "OpenFlow13"] {
        let Some(switch) = OpenVSwitch::start(protocol) else { return };
        let before = switch.flows(protocol);
        let folder = TempDir::new().expect("a folder");
        let run = folder.path().join("run");
        let place = run.to_string_lossy().into_owned();
        let arguments = ["--plan", "reads", "--rounds", "1", "--entries", "50", "-o", &place];
        let ports = ["--port", "1@h1", "--port", "2@h2"];
        let mut running = switch.measure(&[&arguments[..], &ports].concat());
        running.wait_for_end(TIMEOUT);
        assert_eq!(switch.flows(protocol), before);
        let result = result(&run);
        let section = &result["sections"][1];
        assert_eq!(section["id"], "counter", "{}", running.output());
        let rows = section["tables"][0]["rows"].as_array().expect("rows");
        let value = |row: usize| rows[row][1]["value"].as_f64().expect("a value");
        let [values, oldest, old, too_high] = [0, 3, 5, 6].map(value);
        assert_eq!((values, too_high), (500.0, 0.0), "{rows:?}");
        assert!(old > 0.0 && oldest > 0.05, "{rows:?}");
        // All packets are counted in the end.
        let [sent, arrived, counted] = [7, 8, 9].map(value);
        assert!(arrived <= counted && counted <= sent, "{rows:?}");
    }
}

#[test]
fn flows_of_a_file_are_those_that_open_vswitch_prints() {
    for protocol in ["OpenFlow10", "OpenFlow13"] {
        let Some(switch) = OpenVSwitch::start(protocol) else { return };
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("flows.txt");
        // A tenth of the flows has another action; that of the other controller is not among them.
        let flows: String = (0..200)
            .map(|host| {
                let port = 1 + u32::from(host % 10 == 0);
                format!(
                    "priority=9,udp,nw_dst=10.0.0.{host},tp_dst=53,actions=output:{}\n",
                    1 + port
                )
            })
            .collect();
        std::fs::write(&file, flows).expect("it is written");
        let name = file.to_string_lossy().into_owned();
        // Open vSwitch prints them as it has understood them, and Planimeter reads that.
        switch.ofctl(&["add-flows", "br0", &name], protocol);
        let printed = switch.ofctl(&["dump-flows", "br0"], protocol);
        switch.ofctl(&["del-flows", "br0", "udp"], protocol);
        let before = switch.flows(protocol);
        assert_eq!(before.len(), 1, "{before:?}");
        let own: String = printed
            .lines()
            .filter(|line| !line.contains("02:00:00:00:00:07"))
            .map(|line| format!("{line}\n"))
            .collect();
        std::fs::write(&file, own).expect("it is written");
        let run = folder.path().join("run");
        let place = run.to_string_lossy().into_owned();
        let plan = ["--plan", "updates,reads,capacity,effects", "--quick", "--batch", "10"];
        let more = ["--entries", &name, "--probes", "5k", "--rules", "4", "-o", &place];
        let ports = ["--port", "1@h1", "--port", "2@h2", "--port", "3@h3"];
        let mut running = switch.measure(&[&plan[..], &more, &ports].concat());
        running.wait_for_end(TIMEOUT);
        let text = running.output();
        assert_eq!(switch.flows(protocol), before, "{text}");
        let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(words.contains("the 200 entries are those of"), "{text}");
        let result = result(&run);
        let sections = result["sections"].as_array().expect("sections");
        let ids: Vec<&str> = sections.iter().filter_map(|section| section["id"].as_str()).collect();
        assert_eq!(ids, ["updates", "reads", "counter", "capacity", "effects"], "{text}");
        for row in sections[0]["tables"][0]["rows"].as_array().expect("rows") {
            assert!(row[3]["value"].as_f64().expect("a rate") > 0.0, "{row}");
            assert_eq!(row[6]["value"], 0.0, "nothing is refused: {row}");
        }
        for row in sections[4]["tables"][1]["rows"].as_array().expect("rows") {
            for (column, name) in [(2, "old"), (3, "new")] {
                assert!(row[column]["value"].as_f64().expect("a count") > 0.0, "{name}: {row}");
            }
        }
        // The switch has one of the flows of the file.
        switch.ofctl(
            &["add-flow", "br0", "priority=9,udp,nw_dst=10.0.0.7,tp_dst=53,actions=1"],
            protocol,
        );
        let mut running = switch.measure(&["--plan", "reads", "--quick", "--entries", &name]);
        let ended = running.end(TIMEOUT).expect("it ends");
        assert_eq!(ended.code(), Some(2), "{}", running.output());
        let text = running.output();
        assert!(text.contains("has an entry with the key of line"), "{text}");
        assert_eq!(switch.flows(protocol).len(), 2, "{text}");
    }
}

#[test]
fn packets_cross_the_control_channel_in_both_directions() {
    for protocol in ["OpenFlow10", "OpenFlow13"] {
        let Some(switch) = OpenVSwitch::start(protocol) else { return };
        let before = switch.flows(protocol);
        let folder = TempDir::new().expect("a folder");
        let run = folder.path().join("run");
        let place = run.to_string_lossy().into_owned();
        let ports = ["--port", "1@h1", "--port", "2@h2"];
        let mut arguments = vec!["--plan", "slow-path", "--quick", "-o", &place];
        arguments.extend(ports);
        let mut running = switch.measure(&arguments);
        running.wait_for_end(TIMEOUT);
        assert_eq!(switch.flows(protocol), before);
        let text = running.output();
        let result = result(&run);
        let tables = &result["sections"][0]["tables"];
        let rows = |table: usize| tables[table]["rows"].as_array().expect("rows");
        for (row, name) in rows(0).iter().zip(["packet-in", "packet-out"]) {
            assert_eq!(row[0], name, "{text}");
            assert!(row[2]["value"].as_f64().expect("a rate") > 0.0, "{row}");
        }
        // Three loads in each direction.
        assert_eq!(rows(1).len(), 6, "{text}");
        for row in rows(2) {
            assert!(row[3]["value"].as_f64().expect("a count") > 0.0, "{row}");
        }
    }
}

/// Open vSwitch must not be reported as faulty: the bounds on meter rates hold for any delays, and
/// its select groups may map packets to buckets by only 16 hash values.
#[test]
fn packets_show_the_effects_of_meters_and_groups() {
    let protocol = "OpenFlow13";
    let Some(switch) = OpenVSwitch::start(protocol) else { return };
    let other = ["add-meter", "br0", "meter=1,kbps,band=type=drop,rate=100"];
    switch.ofctl(&other, protocol);
    switch.ofctl(&["add-group", "br0", "group_id=1,type=all,bucket=output:1"], protocol);
    let objects = || {
        let listed = ["dump-flows", "dump-meters", "dump-groups"].map(|what| {
            let text = switch.ofctl(&["--no-stats", what, "br0"], protocol);
            // The first line has a transaction id.
            text.lines().skip(1).map(str::to_owned).collect::<Vec<String>>()
        });
        listed.concat()
    };
    let before = objects();
    let folder = TempDir::new().expect("a folder");
    let run = folder.path().join("run");
    let place = run.to_string_lossy().into_owned();
    let plan = ["--plan", "meters,groups", "--quick"];
    let ports = ["--port", "1@h1", "--port", "2@h2", "--port", "3@h3"];
    let mut running = switch.measure(&[&plan[..], &ports, &["-o", &place]].concat());
    running.wait_for_end(TIMEOUT);
    let text = running.output();
    assert_eq!(objects(), before, "{text}");
    assert!(!text.contains("instead of"), "{text}");
    let result = result(&run);
    let rows = |section: usize, table: usize| {
        let rows = result["sections"][section]["tables"][table]["rows"].as_array();
        rows.expect("rows").clone()
    };
    let meters = rows(0, 0);
    assert_eq!(meters.len(), 2, "{text}");
    for (row, unit) in meters.iter().zip(["bytes", "packets"]) {
        assert_eq!(row[2], unit, "{text}");
        let [configured, low, high] = [3, 4, 5].map(|column| row[column]["value"].as_f64());
        let configured = configured.expect("a rate");
        // Its buckets get tokens once a millisecond.
        assert!(low.is_none_or(|low| low <= 1.005 * configured), "{row}");
        assert!(high.is_none_or(|high| high >= 0.995 * configured), "{row}");
    }
    for row in rows(0, 2) {
        assert!(row[6]["value"].as_f64().is_some_and(|refused| refused > 0.0), "{row}");
    }
    assert_eq!(rows(1, 0).len(), 2, "{text}");
    // No flow changes its member.
    assert_eq!(rows(1, 1)[0][2]["value"], 0.0, "{text}");
}

#[test]
fn an_interrupted_test_of_meters_leaves_no_meter() {
    let protocol = "OpenFlow13";
    let Some(switch) = OpenVSwitch::start(protocol) else { return };
    let before = switch.flows(protocol);
    let meters = || switch.ofctl(&["dump-meters", "br0"], protocol).contains("meter=");
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("run").to_string_lossy().into_owned();
    let ports = ["--port", "1@h1", "--port", "2@h2"];
    let mut running = switch.measure(&[&["--plan", "meters", "-o", &place][..], &ports].concat());
    assert!(poll(TIMEOUT, meters), "{}", running.output());
    running.signal(Signal::INT);
    let status = running.end(TIMEOUT);
    assert_eq!(status.and_then(|status| status.code()), Some(130), "{}", running.output());
    assert_eq!((switch.flows(protocol), meters()), (before, false));
}

/// Open vSwitch meets every requirement and its timeouts are punctual. A violation that is found in
/// another switch is therefore not due to a misread requirement.
#[test]
fn open_vswitch_answers_as_the_specifications_require() {
    for protocol in ["OpenFlow10", "OpenFlow13"] {
        let Some(switch) = OpenVSwitch::start(protocol) else { return };
        let before = switch.flows(protocol);
        let folder = TempDir::new().expect("a folder");
        for arguments in [&["--conformance"][..], &["--plan", "timeouts", "--quick"]] {
            let run = folder.path().join(arguments[0].trim_start_matches('-'));
            let place = run.to_string_lossy().into_owned();
            let mut running = switch.measure(&[arguments, &["-o", &place]].concat());
            let status = running.end(TIMEOUT);
            let code = status.and_then(|status| status.code());
            assert_eq!(code, Some(0), "{protocol} {arguments:?}: {}", running.output());
            assert_eq!(switch.flows(protocol), before, "{protocol} {arguments:?}");
            let findings = result(&run)["findings"][0].as_str().unwrap_or_default().to_owned();
            let is_right = findings
                .contains(" are met, 0 cannot be tried on this device, and 0 are not met")
                || findings.contains("none of 40 entries timed out early");
            assert!(is_right, "{protocol} {arguments:?}: {findings}");
        }
    }
}

#[test]
fn an_interrupted_measurement_leaves_no_flow() {
    let protocol = "OpenFlow13";
    let Some(switch) = OpenVSwitch::start(protocol) else { return };
    let before = switch.flows(protocol);
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("run").to_string_lossy().into_owned();
    let mut running = switch.measure(&["--plan", "capacity", "--entries", "1M", "-o", &place]);
    assert!(poll(TIMEOUT, || switch.flows(protocol).len() > 100), "{}", running.output());
    running.signal(Signal::INT);
    let status = running.end(TIMEOUT);
    assert_eq!(status.and_then(|status| status.code()), Some(130), "{}", running.output());
    assert_eq!(switch.flows(protocol), before);
}

/// Open vSwitch uses OpenSSL. Each side requires a certificate of the other one.
#[test]
fn open_vswitch_is_measured_and_judged_under_mutual_tls() {
    let protocol = "OpenFlow13";
    let Some(switch) = OpenVSwitch::start(protocol) else { return };
    let (trusted, foreign) = (Authority::new(), Authority::new());
    let before = switch.flows(protocol);
    let path = |file: std::path::PathBuf| file.to_string_lossy().into_owned();
    let [key, certificate, authority] =
        [trusted.key(), trusted.certificate(), trusted.authority()].map(path);
    switch.vsctl(&["set-ssl", &key, &certificate, &authority]);
    switch.vsctl(&["set", "Controller", "br0", "target=\"ssl:127.0.0.1:6653\""]);
    let folder = TempDir::new().expect("a folder");
    let run = |name: &str, own: &Authority, arguments: &[&str]| {
        let place = path(folder.path().join(name));
        let [key, certificate] = [own.key(), own.certificate()].map(path);
        let tls = ["--tls-ca", &authority, "--tls-certificate", &certificate, "--tls-key", &key];
        let mut running = switch.measure(&[arguments, &tls, &["-o", &place]].concat());
        let status = running.end(TIMEOUT);
        (status.and_then(|status| status.code()), running.output())
    };
    let updates = ["--plan", "updates", "--quick", "--batch", "10", "--entries", "500"];
    let (status, text) = run("updates", &trusted, &updates);
    assert_eq!(status, Some(0), "{text}");
    let result = result(&folder.path().join("updates"));
    let rows = result["sections"][0]["tables"][0]["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row[3]["value"].as_f64().is_some_and(|rate| rate > 0.0)));
    let (status, text) = run("conformance", &trusted, &["--conformance"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("Of 56 requirements, 56 are met"), "{text}");
    assert_eq!(switch.flows(protocol), before);
    // Open vSwitch does not trust the certificate that it is shown.
    for (name, arguments) in [("stranger", &updates[..]), ("judge", &["--conformance"])] {
        let (status, text) = run(name, &foreign, arguments);
        assert_eq!(status, Some(3), "{text}");
        assert!(text.contains("TLS could not be established"), "{text}");
    }
}
