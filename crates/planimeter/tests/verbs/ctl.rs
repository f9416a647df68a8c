//! Tests of `planimeter ctl` against `planimeter switch`, both as a user runs them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions};
use p4runtime::server::{DeviceHandle, DeviceObserver, Server, ServerOptions};
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use rustix::process::{Pid, Signal, kill_process};

use crate::command::{planimeter, stderr, stdout};
use crate::switch::Switch;

/// A program with an object of each kind.
const EVERYTHING: &str = "crates/judge/tests/everything.p4";

/// A packet of the EtherType that this program sends to controllers.
const TO_CONTROLLER: &str = "08000000011108000000012288b5000000000000";

/// Starts a switch with two ports, whose second one has a queue, that takes injected packets.
fn switch() -> (Switch, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let port = |number: u32| {
        let out = folder.path().join(format!("{number}.pcap"));
        format!("{number}@pcap:,{}", out.display())
    };
    let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
    let (one, two) = (port(1), port(2));
    let more = ["-i", &one, "-i", &two, "--inject", "--queue", "port=2 rate=10Mbps"];
    (Switch::of(command, EVERYTHING, &more), folder)
}

/// Runs one command, given as words.
pub(crate) fn ctl(switch: &Switch, words: &str) -> Output {
    let words = words.split_whitespace();
    planimeter("ctl", &std::iter::once(switch.1.as_str()).chain(words).collect::<Vec<_>>())
}

/// Runs one command that succeeds, and returns its output.
pub(crate) fn done(switch: &Switch, words: &str) -> String {
    let output = ctl(switch, words);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    stdout(&output)
}

/// Runs lines from standard input.
fn lines(switch: &Switch, flags: &[&str], text: &str) -> Output {
    let mut child = start(switch, flags);
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn start(switch: &Switch, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .args(["ctl", &switch.1])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs")
}

/// Commands of each kind change the state of a switch, and reading commands show the change.
#[test]
fn commands_change_a_switch_and_read_it_back() {
    let (switch, _folder) = switch();
    let commands = "\
# both languages
table add routes dst=10.0.0.0/8 counted port=2
table_add filters limited 10.0.0.0&&&0xff000000 6&&&255 80->443 => 1 20
table add exact_match 08:00:00:00:01:11 forward 1 --idle-timeout 60s
table set-default always classify class=7
member add choices 1 forward port=1
group add choices 1 1
table add balanced 10.0.0.1 --group 1
counter write ports 3 --packets 4 --bytes 400
meter write rates 2 1000:1500,2000:3000
register write seen 2..3 42
mc_mgrp_create 5
mc_node_create 1 1 2
mc_node_associate 5 0
mirroring_add 9 2
digest enable learned_t --max-list 1
value-set write types 0x88b6
queue set port=2 queue=3 rate=1Mbps depth=16
";
    let output = lines(&switch, &[], commands);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "entry 0 of filters was added\nnode 0 was created\n");
    let state = "\
member add choices 1 forward port=1
group add choices 1 1
table set-default always classify class=7
table add exact_match hdr.ethernet.dst=08:00:00:00:01:11 forward port=1 --idle-timeout 60000000000ns
table set-default exact_match NoAction
table add routes hdr.ipv4.dst=10.0.0.0/8 counted port=2
table set-default routes drop
table add filters hdr.ipv4.src=10.0.0.0&&&255.0.0.0 hdr.ipv4.protocol=6 hdr.ipv4.length=80..443 limited port=1 --priority 2147483627
# constant: table set-default filters drop
table add balanced hdr.ipv4.dst=10.0.0.1 --group 1
# constant: table set-default balanced NoAction
# constant: table add fixed hdr.ipv4.tos=16 classify class=1
# constant: table add fixed hdr.ipv4.tos=32 classify class=2
# constant: table set-default fixed NoAction
multicast add 5 1:1 2:1
clone add 9 2
digest enable learned_t --max-timeout 0ns --max-list 1 --ack-timeout 0ns
value-set write types 34998
";
    let dumped = done(&switch, "dump");
    let plain = |line: &str| line.split("  # ").next().unwrap_or_default().to_owned();
    assert_eq!(dumped.lines().map(plain).collect::<Vec<_>>(), state.lines().collect::<Vec<_>>());
    for (command, expected) in [
        ("counter read ports 3", "ports[3]: 4 packets, 400 bytes\n"),
        ("meter read rates 2", "rates[2]: committed 1000:1500, peak 2000:3000\n"),
        ("register read seen 2..4", "seen[2] = 42\nseen[3] = 42\nseen[4] = 0\n"),
        ("ports", "port 1: up\nport 2: up\n"),
        (
            "queue dump",
            "queue set port=2 queues=4 rate=10000000bps\nqueue set port=2 queue=3 rate=1000000bps depth=16\n",
        ),
        ("table count routes", "routes: 1 entries\n"),
    ] {
        assert_eq!(done(&switch, command), expected, "{command}");
    }
    assert!(done(&switch, "queue show").starts_with("port 2 queue 0: 0 packets (0 bytes) wait"));
    // A dump is a file of commands that restores the state.
    done(&switch, "clear");
    assert_eq!(done(&switch, "table count routes"), "routes: 0 entries\n");
    let output = lines(&switch, &[], &dumped);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let again = done(&switch, "dump");
    assert_eq!(again.lines().map(plain).collect::<Vec<_>>(), state.lines().collect::<Vec<_>>());
}

#[test]
fn packets_and_messages_pass_in_both_directions() {
    let (switch, _folder) = switch();
    done(&switch, "table add exact_match 08:00:00:00:01:22 forward port=2");
    // A packet is not sent: it would leave by port 2.
    let other = "08000000012208000000011108060000";
    let outcome = done(&switch, &format!("inject 1 {other}"));
    assert!(
        outcome.starts_with("port 2 (") && outcome.ends_with(&format!(": {other}\n")),
        "{outcome}"
    );
    // The effects of an injected packet last, unless the command excludes them.
    let counted = "ports[1]: 1 packets, 16 bytes\n";
    assert_eq!(done(&switch, "counter read ports 1"), counted);
    assert_eq!(done(&switch, &format!("inject 1 {other} --without-effects")), outcome);
    assert_eq!(done(&switch, "counter read ports 1"), counted);
    // The trace of an injected packet is text, or JSON in one line.
    let traced = done(&switch, &format!("inject 1 {other} --without-effects --all-outcomes"));
    assert!(traced.starts_with("packet on port 1, 16 bytes: ethernet\n"), "{traced}");
    assert!(traced.contains("exact_match") && traced.ends_with(&outcome), "{traced}");
    let traced = done(&switch, &format!("--json inject 1 {other} --without-effects --trace"));
    let traced: serde_json::Value =
        serde_json::from_str(traced.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&traced["kind"], &traced["trace"]["port"]), (&"trace".into(), &1.into()));
    let refused = ctl(&switch, &format!("inject 1 {other} --send --without-effects"));
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("cannot leave"), "{}", stderr(&refused));
    let outcome = done(&switch, &format!("--json inject 1 {TO_CONTROLLER}"));
    let outcome: serde_json::Value = serde_json::from_str(outcome.trim()).expect("JSON");
    assert_eq!(outcome["kind"], "packet-in");
    assert_eq!(outcome["metadata"]["port"], "1");
    assert_eq!(outcome["payload"], TO_CONTROLLER);
    // The trace of an injected packet has the tables that it passed. Requesting the trace does not
    // change the outcome.
    let traced = done(&switch, &format!("inject 1 {other} --trace"));
    assert!(
        traced.contains("exact_match") && traced.ends_with(&format!(": {other}\n")),
        "{traced}"
    );
    let valued = done(&switch, &format!("inject 1 {other} --values"));
    assert!(valued.len() > traced.len(), "{valued}");
    let json = done(&switch, &format!("--json inject 1 {other} --all-outcomes"));
    let first = json.lines().next().expect("a line");
    let first: serde_json::Value = serde_json::from_str(first).expect("JSON");
    assert!(first["kind"] == "trace" && first["trace"].is_object(), "{first}");
    // A listener is primary and gets what is injected for good. The arbitration shows that it is.
    let listen = || start(&switch, &["listen", "packets", "--count", "1"]);
    let mut listener = listen();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut primary = false;
    while !primary && Instant::now() < deadline {
        // The listener is refused and ends if it starts while a command of this test is the
        // primary.
        if listener.try_wait().expect("its state").is_some() {
            listener = listen();
        }
        std::thread::sleep(Duration::from_millis(50));
        let refused = ctl(&switch, "table delete exact_match 08:00:00:00:01:22");
        primary = refused.status.code() == Some(1) && stderr(&refused).contains("not primary");
        if !primary {
            done(&switch, "table add exact_match 08:00:00:00:01:22 forward port=2");
        }
    }
    assert!(primary, "the listener never became primary");
    let output = listener.stdout.take().expect("its output");
    done(&switch, &format!("inject 1 {TO_CONTROLLER} --send"));
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("a line");
    assert_eq!(line, format!("packet-in port=1 padding=0: {TO_CONTROLLER}\n"));
    assert!(listener.wait().expect("it ends").success());
    // A packet-out leaves by its port.
    done(&switch, &format!("packet out {other} port=2"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done(&switch, "queue show 2").contains("1 entered, 1 sent") {
        assert!(Instant::now() < deadline, "the packet did not leave");
    }
}

/// Another primary controller is never displaced by chance.
#[test]
fn another_primary_keeps_its_rights_unless_it_is_displaced() {
    let (switch, _folder) = switch();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let stream = runtime.block_on(async {
        let options = ClientOptions::default();
        let client = Client::connect(&switch.1, 0, &options);
        let mut client = client.await.expect("it answers");
        let stream = client.become_primary("", ElectionId(5), Duration::from_secs(5)).await;
        (stream.expect("it is the first"), client)
    });
    let entry = "table add routes 10.0.0.0/8 drop";
    // Reading needs no rights.
    assert_eq!(done(&switch, "table count routes"), "routes: 0 entries\n");
    for flags in ["", "--election-id 4 ", "--election-id 5 "] {
        let refused = ctl(&switch, &format!("{flags}{entry}"));
        let text = stderr(&refused);
        assert_eq!(refused.status.code(), Some(1), "{flags}: {text}");
        assert!(text.contains("not primary") && text.contains("--take-over"), "{flags}: {text}");
    }
    done(&switch, &format!("--election-id 6 {entry}"));
    done(&switch, "--take-over table delete routes 10.0.0.0/8");
    drop(stream);
    drop(runtime);
    // All other controllers have left, so a later one becomes primary without flags.
    done(&switch, entry);
    assert_eq!(done(&switch, "table count routes"), "routes: 1 entries\n");
}

#[test]
fn a_file_ends_at_the_first_wrong_line_unless_it_goes_on() {
    let (switch, folder) = switch();
    let file = folder.path().join("commands.txt");
    let text = "table add routes 10.0.0.0/8 drop\ntable add rotes 11.0.0.0/8 drop\ntable add routes 12.0.0.0/8 drop\n";
    std::fs::write(&file, text).expect("a file");
    let path = file.display().to_string();
    let output = ctl(&switch, &format!("--file {path}"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        format!("planimeter: {path}:2: there is no table 'rotes'; did you mean 'routes'?\n")
    );
    assert_eq!(done(&switch, "table count routes"), "routes: 1 entries\n");
    let output = lines(&switch, &["--keep-going", "--json"], text);
    // The first line is refused by the device, the second is wrong, and the third is carried out.
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let errors: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let places: Vec<&serde_json::Value> = errors.iter().map(|error| &error["line"]).collect();
    assert_eq!(places, [1, 2]);
    assert_eq!(done(&switch, "table count routes"), "routes: 2 entries\n");
}

#[test]
fn a_dry_run_needs_no_device() {
    let file = |line: &str| {
        let words = ["-", "--p4info", "programs/l2.p4info.txtpb", "--dry-run"];
        let output = planimeter("ctl", &[words.as_slice(), &[line]].concat());
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (status, shown, _) = file("table add l2 in_port=1 set_egress_port 2 --priority 5");
    assert_eq!(status, Some(0));
    assert!(shown.starts_with("p4.v1.WriteRequest {updates:[{type:INSERT"), "{shown}");
    let (status, _, text) = file("table add l2 in_port=1 set_egres_port 2 --priority 5");
    assert_eq!(status, Some(2));
    assert_eq!(
        text,
        "planimeter: there is no action 'set_egres_port'; did you mean 'set_egress_port'?\n"
    );
    let (status, _, text) = file("table clear l2");
    assert_eq!(status, Some(2));
    assert!(text.contains("this needs a device"), "{text}");
    let without = planimeter("ctl", &["-", "tables"]);
    assert!(stderr(&without).contains("give --p4info FILE and --dry-run"));
}

/// Ctrl-C ends a command that waits, within a second.
#[test]
fn an_interrupt_ends_a_command_that_waits() {
    let (switch, _folder) = switch();
    for words in [&["listen"][..], &["--file", "-"]] {
        let mut child = start(&switch, words);
        // A command that is ready to be interrupted handles the signal itself (proc(5), `SigCgt`).
        let status = format!("/proc/{}/status", child.id());
        let handles = || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.is_some_and(|mask| mask & 0b10 != 0)
        };
        while !handles() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, Signal::INT).expect("it is ours");
        // Waiting closes standard input, whose end would end the command too.
        let held = child.stdin.take();
        let ended = child.wait().expect("it ends");
        drop(held);
        assert_eq!(ended.code(), Some(130), "{words:?}");
        // Without the signal, the command would wait for ever.
        assert!(asked.elapsed() < Duration::from_secs(10), "{words:?}: {:?}", asked.elapsed());
    }
}

/// A device without the switch's own service, which has no pipeline at first.
#[test]
fn other_devices_refuse_queues_clearly_and_take_pipelines() {
    struct Quiet;
    impl DeviceObserver for Quiet {}

    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let registry = Arc::new(PipelineRegistry::new());
            let device = Device::new(7, DeviceOptions::default(), registry);
            let device = DeviceHandle::new(device, Arc::new(Quiet));
            let server = Server::new([device], ServerOptions::default()).expect("a server");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("its address")).expect("the test waits");
            server.serve(listener, std::future::pending()).await;
        });
    });
    let address = address.recv().expect("an address").to_string();
    let run = |words: &str| {
        let all =
            [address.as_str(), "--device-id", "7"].into_iter().chain(words.split_whitespace());
        let output = planimeter("ctl", &all.collect::<Vec<_>>());
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (status, _, text) = run("tables");
    assert_eq!(status, Some(2));
    assert_eq!(
        text,
        "planimeter: the device has no pipeline; `pipeline push PROGRAM` gives it one\n"
    );
    for words in ["queue show", "set_queue_rate 100 1", "inject 1 00"] {
        let (status, _, text) = run(words);
        assert_eq!(status, Some(1), "{words}: {text}");
        assert!(
            text.contains("it does not serve planimeter.switch.v1.SwitchControl"),
            "{words}: {text}"
        );
    }
    let (status, _, text) = run("pipeline push programs/router.p4");
    assert_eq!(status, Some(0), "{text}");
    let (status, _, text) = run("table add routes destination=10.0.0.0/8 drop");
    assert_eq!(status, Some(0), "{text}");
    let (_, shown, _) = run("table count routes");
    assert_eq!(shown, "routes: 1 entries\n");
    let (status, _, text) = run("pipeline push programs/nothing.p4");
    assert_eq!(status, Some(2), "{text}");
    let (status, _, text) = run("--role nobody table count routes");
    assert!(status == Some(0) || text.contains("nobody"), "{text}");
}

/// docs/ctl.md has every command of both languages.
#[test]
fn the_document_has_every_command_of_simple_switch_cli() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ctl.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let section = text.split("## Commands of simple_switch_CLI").nth(1).expect("the section");
    for command in ::ctl::SIMPLE_SWITCH {
        assert!(section.contains(&format!("`{}`", command.name)), "{} is missing", command.name);
    }
    for command in ::ctl::OWN {
        let is_there = text.contains(&format!("`{}", command.name))
            || text.contains(&format!(" {}", command.name));
        assert!(is_there, "{} is missing", command.name);
    }
}
