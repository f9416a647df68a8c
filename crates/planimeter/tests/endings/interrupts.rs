//! Tests of Ctrl-C and SIGTERM in every verb and phase: the status is 130 within a second, and
//! results so far are kept.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use super::command::{Controller, Ended, Planimeter};
use super::{poll, scratch};

/// The maximum processor time of a command after the signal. It corresponds to one second on an
/// otherwise idle machine, because tests run unoptimised builds and share the machine with other
/// builds and tests.
const WORK: Duration = Duration::from_millis(1500);
/// The maximum time until a command ends after the signal, which only detects that it waits. The
/// decisive limit is [`WORK`].
const WALL: Duration = Duration::from_secs(4);

/// The maximum processor time of an analysis after the signal, as `docs/bound.md` says.
const PROMPT: Duration = Duration::from_millis(200);

/// The seed of the moments of interruption.
const SEED: u64 = 7;

/// A verb with arguments that make it run for hours.
struct Long {
    words: Vec<String>,
    ends: Ends,
}

/// The expected end of an interrupted verb.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// The status is 130, at any moment.
    Interrupted,
    /// The status is 130, and after some time there is a partial result.
    WithResult,
    /// The status is 0, because services end by being interrupted.
    Served,
}

fn long(words: &[&str], ends: Ends) -> Long {
    Long { words: words.iter().map(|word| (*word).to_owned()).collect(), ends }
}

/// Returns three moments in milliseconds, each in its own part of the first second and a half
/// (Steele's SplitMix64).
fn moments(case: usize) -> [Duration; 3] {
    let mut state = SEED.wrapping_add(case as u64);
    [(20, 100), (120, 500), (600, 1500)].map(|(from, to)| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Duration::from_millis(from + (mixed ^ (mixed >> 31)) % (to - from))
    })
}

/// Starts the verb, waits, sends the signals, and checks how the verb ends.
fn interrupted(case: &Long, after: Duration, signals: &[Signal]) -> Ended {
    let about = format!("{:?} after {after:?} by {signals:?}", case.words);
    let mut run = Planimeter::start(&case.words);
    run.wait_until_it_handles_signals();
    let due = Instant::now() + after;
    poll(&about, || Instant::now() >= due);
    assert!(!run.has_ended(), "ended by itself: {about}: {:?}", run.wait());
    let ended = run.signal(signals);
    let early = ended.stdout.is_empty() && ended.stderr.is_empty();
    let expected: &[i32] = match (case.ends, signals.len()) {
        // A second signal ends a service immediately, whatever state the first has put it in.
        (Ends::Served, 2..) => &[0, 130],
        // Before a service is ready, there is nothing to shut down in an orderly way.
        (Ends::Served, _) if !early => &[0],
        _ => &[130],
    };
    assert!(ended.code.is_some_and(|code| expected.contains(&code)), "{about}: {ended:?}");
    assert!(ended.worked <= WORK && ended.took <= WALL, "{about}: {ended:?}");
    for result in results(ended.scratch.path()) {
        let text = fs::read_to_string(&result).expect("a result");
        let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(read.is_ok(), "{about}: {result:?}: {read:?}");
    }
    ended
}

/// Returns the results in a directory and its subdirectories.
fn results(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(results(&path)),
            false if path.ends_with("result.json") => found.push(path),
            false => {}
        }
    }
    found
}

/// Interrupts each case at every moment. A case with results is also interrupted at ever later
/// moments, until it leaves a result.
fn interrupt_all(cases: &[Long]) {
    for (number, case) in cases.iter().enumerate() {
        for (position, after) in moments(number).into_iter().enumerate() {
            let signals: &[Signal] = match position {
                0 => &[Signal::INT],
                1 => &[Signal::TERM],
                _ => &[Signal::INT, Signal::INT],
            };
            // Two signals end a process immediately, so no result is expected.
            interrupted(case, after, signals);
        }
        if case.ends == Ends::WithResult {
            let has_some = |after: u64| {
                let ended = interrupted(case, Duration::from_secs(after), &[Signal::INT]);
                !results(ended.scratch.path()).is_empty()
                    && !ended.stderr.contains("before anything was measured")
            };
            assert!([1, 2, 4, 8, 16].into_iter().any(has_some), "no result: {:?}", case.words);
        }
    }
}

/// Returns a listener that accepts connections and never sends anything.
fn mute() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    (listener, address)
}

/// Returns a program with many tables and actions, whose code generation takes seconds.
fn many_tables(folder: &TempDir) -> String {
    let mut control = String::new();
    let mut apply = String::new();
    for table in 0..400 {
        for action in 0..6 {
            control.push_str(&format!(
                "action a{table}_{action}(bit<32> x) {{ h.h.a = h.h.a + x; m.r = m.r ^ (x + {action}); }}\n"
            ));
        }
        let actions: String = (0..6).map(|action| format!("a{table}_{action}; ")).collect();
        control.push_str(&format!(
            "table t{table} {{ key = {{ h.h.a: ternary; m.r: exact; }} actions = {{ {actions} NoAction; }} }}\n"
        ));
        apply.push_str(&format!("if (m.r > {table}) {{ t{table}.apply(); }}\n"));
    }
    let text = format!(
        "#include <core.p4>\n#include <v1model.p4>\nheader h_t {{ bit<32> a; }} struct H {{ h_t h; }} struct M {{ bit<32> r; }}\n\
         parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ state start {{ p.extract(h.h); transition \
         accept; }} }}\ncontrol V(inout H h, inout M m) {{ apply {{ }} }}\n\
         control I(inout H h, inout M m, inout standard_metadata_t s) {{ {control} apply {{ {apply} }} }}\n\
         control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
         control C(inout H h, inout M m) {{ apply {{ }} }}\ncontrol D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    );
    let path = folder.path().join("tables.p4");
    fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

/// Returns a network of 1,000 flows over 40 servers, which most analyses take minutes for.
fn thousand_flows(folder: &TempDir) -> String {
    let mut text = String::from("name = \"a thousand flows\"\n");
    for server in 0..40 {
        text.push_str(&format!(
            "[[server]]\nname = \"s{server}\"\n\
             service = {{ rate-latency = {{ rate = 1000000000, latency = 0.00001 }} }}\n"
        ));
    }
    for flow in 0..1000 {
        let first = 7 * flow % 36;
        let path: Vec<String> =
            (first..first + 2 + flow % 3).map(|server| format!("\"s{server}\"")).collect();
        text.push_str(&format!(
            "[[flow]]\nname = \"f{flow}\"\npath = [{}]\n\
             arrival = {{ token-bucket = {{ burst = {}, rate = {} }} }}\n",
            path.join(", "),
            1000 + flow,
            100_000 + 17 * flow
        ));
    }
    let path = folder.path().join("flows.toml");
    fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

/// Returns the path of a file of the repository.
fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(name).to_string_lossy().into_owned()
}

#[test]
fn a_probe_ends_in_every_phase() {
    let controller = Controller::start();
    let (_listener, mute) = mute();
    let to = |address: &str, words: &[&str], ends: Ends| {
        let words = [&["probe", "-q", "-n", "4", "-c", address], words].concat();
        long(&words, ends)
    };
    let there = controller.address();
    interrupt_all(&[
        to(&mute, &["--connect-timeout", "1h"], Ends::Interrupted),
        to("127.0.0.1:1", &["--connect-timeout", "1h"], Ends::Interrupted),
        to(there, &["--settle", "1h"], Ends::Interrupted),
        to(there, &["--warm-up", "1h"], Ends::Interrupted),
        to(there, &["--duration", "1h"], Ends::WithResult),
        to(there, &["-m", "flood", "--duration", "1h"], Ends::Interrupted),
        to(there, &["-m", "closed", "--duration", "1h"], Ends::Interrupted),
        to(there, &["--plan", "search", "--duration", "1h"], Ends::Interrupted),
        to(there, &["--plan", "rfc8456"], Ends::Interrupted),
        to(there, &["--serve"], Ends::Served),
        long(&["probe", "-q", "-n", "4", "--calibrate", "--duration", "1h"], Ends::Interrupted),
    ]);
}

#[test]
fn measurements_of_programs_and_tables_end_while_code_is_made_and_entries_are_filled() {
    let folder = scratch();
    let program = many_tables(&folder);
    interrupt_all(&[
        long(&["bench", "-q", "--entries", "16", "--repetitions", "10000"], Ends::WithResult),
        long(&["bench", "-q", "--entries", "16", "--time", "1000s"], Ends::Interrupted),
        long(&["bench", "-q", "--entries", "2^24"], Ends::Interrupted),
        long(&["bench", "-q", &program], Ends::Interrupted),
        long(&["tables", "-q", "--size", "2^24"], Ends::Interrupted),
        // Partial results of turns are tested where turns are made, because the memory is examined
        // for seconds before the first turn.
        long(&["tables", "-q", "--size", "16", "--time", "1000s"], Ends::Interrupted),
        long(&["tables", "--lost-updates", "4000M"], Ends::Interrupted),
    ]);
}

/// Checks that a threshold which the results so far break decides the exit status, although the run
/// is interrupted.
#[test]
fn a_broken_threshold_outweighs_an_interrupt() {
    let words = ["bench", "-q", "--entries", "16", "--repetitions", "10000", "-t", "rate > 1000G"];
    for after in [1, 2, 4, 8, 16] {
        let mut run = Planimeter::start(&words);
        run.wait_until_it_handles_signals();
        let due = Instant::now() + Duration::from_secs(after);
        poll("the moment of the interrupt", || Instant::now() >= due);
        let ended = run.interrupt();
        if results(ended.scratch.path()).is_empty() {
            assert_eq!(ended.code, Some(130), "{ended:?}");
            continue;
        }
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("interrupted; the results up to then"), "{ended:?}");
        assert!(ended.stderr.contains("rate > 1000G"), "{ended:?}");
        return;
    }
    panic!("no result");
}

#[test]
fn devices_demonstrations_and_papers_end_with_partial_results() {
    interrupt_all(&[
        long(
            &["device", "measure", "-q", &file("examples/device/memory-compiled.toml")],
            Ends::Interrupted,
        ),
        long(
            &["device", "measure", "-q", &file("examples/device/memory-interpreter.toml")],
            Ends::Interrupted,
        ),
        long(&["dut", "-q", "--openflow", "127.0.0.1:0"], Ends::Interrupted),
        long(&["demo", "-q"], Ends::WithResult),
        long(&["reproduce", "tables", "-q"], Ends::Interrupted),
        long(&["reproduce", "controller", "-q"], Ends::WithResult),
    ]);
}

#[test]
fn services_end_with_0_once_they_serve_and_with_130_before() {
    let folder = scratch();
    let program = many_tables(&folder);
    let (_listener, mute) = mute();
    let anywhere = ["--grpc-server-addr", "127.0.0.1:0"];
    interrupt_all(&[
        long(&[&["switch", &file("programs/l2.p4")], &anywhere[..]].concat(), Ends::Served),
        long(&[&["switch", &program, "--path", "compiled"], &anywhere[..]].concat(), Ends::Served),
        long(&["controller", "--listen", "127.0.0.1:0"], Ends::Served),
        long(&["controller", "-a", "paths", "--listen", "127.0.0.1:0"], Ends::Served),
        long(&["controller", "-p", "p4runtime", "-d", &format!("1@{mute}")], Ends::Served),
    ]);
}

/// One thread computes, so that its processor time is the time that a user waits.
#[test]
fn bounds_of_a_thousand_flows_end_within_a_fifth_of_a_second() {
    let folder = scratch();
    let network = thousand_flows(&folder);
    for analysis in ["best", "ludb", "plp", "elp", "ulp"] {
        let words = ["bound", network.as_str(), "--analysis", analysis, "--threads", "1"];
        let case = long(&words, Ends::Interrupted);
        let ended = interrupted(&case, Duration::from_millis(500), &[Signal::INT]);
        assert!(ended.worked <= PROMPT, "{analysis}: {ended:?}");
    }
}

/// The program is so large that its symbolic execution takes seconds.
#[test]
fn searches_for_tests_end_before_the_first_test_too() {
    let program = file("programs/middleblock.p4");
    interrupt_all(&[
        long(&["testgen", &program], Ends::Interrupted),
        long(&["testgen", &program, "--goal", "drop && !drop"], Ends::Interrupted),
        long(&["testgen", &program, "--equivalent", &program], Ends::Interrupted),
        long(&["compile", &program, "--dead"], Ends::Interrupted),
    ]);
}

/// Verbs that read, compute and print have no result to leave, so they end immediately. A pipe
/// without a writer keeps them reading as long as the test needs.
#[test]
fn verbs_without_a_measurement_end_at_once() {
    let folder = scratch();
    let pipe = folder.path().join("endless.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    let pipe = pipe.to_string_lossy().into_owned();
    let program = file("programs/router.p4");
    interrupt_all(&[
        long(&["compile", &pipe, "--explain"], Ends::Interrupted),
        long(&["stf", &program, &pipe], Ends::Interrupted),
        long(&["report", &pipe], Ends::Interrupted),
        long(&["compare", &pipe, &pipe], Ends::Interrupted),
        long(&["device", "predict", &pipe], Ends::Interrupted),
        long(&["switch", &pipe], Ends::Interrupted),
        long(&["tables", &pipe], Ends::Interrupted),
    ]);
}
