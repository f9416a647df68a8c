//! Tests of four ranks in network namespaces of their own, with the controller in a fifth one. The
//! ranks together must count what a single process counts, and a rank that is killed or paused must
//! be reported in bounded time.

use std::process::Command;
use std::time::{Duration, Instant};

use conformance::{Lab, Running, binary};
use rustix::process::Signal;
use serde_json::Value;

const RANKS: u32 = 4;
const CONTROLLER: &str = "10.77.0.1:6653";
/// The address at which the other ranks reach rank 0.
const MEET: &str = "10.77.0.10:7001";

/// Creates a lab with a bridge in the controller's namespace, `s`, and a namespace for each rank.
fn lab() -> Option<Lab> {
    let mut lab = Lab::new()?;
    lab.configure("s", "link add bridge type bridge");
    lab.configure("s", "address add 10.77.0.1/24 dev bridge");
    lab.configure("s", "link set bridge up");
    for rank in 0..RANKS {
        let name = format!("r{rank}");
        lab.add(&name);
        lab.cable(("s", &format!("to{rank}")), (&name, "eth0"));
        lab.configure("s", &format!("link set to{rank} master bridge"));
        lab.configure(&name, &format!("address add 10.77.0.1{rank}/24 dev eth0"));
    }
    Some(lab)
}

fn controller(lab: &Lab) -> Running {
    let mut command = lab.command("s", binary());
    command.args(["controller", "-a", "null", "--listen", CONTROLLER]);
    let mut running = Running::start(command).expect("ip runs");
    running.wait_for("listening", Duration::from_secs(30));
    running
}

/// Returns the command of a probe in a rank's namespace, which writes its result to a folder.
fn probe(lab: &Lab, rank: u32, folder: &std::path::Path, more: &[&str]) -> Command {
    let mut command = lab.command(&format!("r{rank}"), binary());
    command
        .args(["probe", "-c", CONTROLLER, "-n", "10", "--rate", "40", "--seed", "7"])
        .args(["--arrivals", "poisson", "--threads", "1", "--isolate=false", "--quiet"])
        .args(["--settle", "300ms", "--warm-up", "200ms", "--drain", "2s", "--output"])
        .arg(folder)
        .args(more);
    command
}

fn of_many(command: &mut Command, rank: u32) {
    command
        .env("PLANIMETER_RANK", rank.to_string())
        .env("PLANIMETER_RANKS", RANKS.to_string())
        .env("PLANIMETER_MEET", MEET)
        .env("PLANIMETER_SECRET", "known to the ranks of this test");
}

/// Starts all ranks.
fn ranks(lab: &Lab, folder: &std::path::Path, more: &[&str]) -> Vec<Running> {
    let start = |rank| {
        let mut command = probe(lab, rank, folder, more);
        of_many(&mut command, rank);
        Running::start(command).expect("ip runs")
    };
    (0..RANKS).map(start).collect()
}

fn wait(running: &mut Running, patience: Duration) {
    let ended = conformance::poll(patience, || running.try_wait().is_some());
    assert!(ended, "it did not end; printed:\n{}", running.output());
}

fn result(folder: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(folder.join("result.json")).expect("a result");
    serde_json::from_str(&text).expect("JSON")
}

fn trial(result: &Value) -> &Value {
    &result["points"][0]["trials"][0]
}

fn decided(counts: &Value) -> Vec<u64> {
    let names = ["due", "sent", "answered", "lost"];
    names.iter().map(|name| counts[*name].as_u64().expect("a count")).collect()
}

#[test]
fn four_ranks_in_their_own_namespaces_count_what_one_process_counts() {
    let Some(lab) = lab() else { return };
    let _controller = controller(&lab);
    let scratch = tempfile::tempdir().expect("a folder");
    let (one, four) = (scratch.path().join("one"), scratch.path().join("four"));
    let mut alone = Running::start(probe(&lab, 0, &one, &["--duration", "2s"])).expect("ip runs");
    wait(&mut alone, Duration::from_secs(60));
    let mut all = ranks(&lab, &four, &["--duration", "2s"]);
    for rank in &mut all {
        wait(rank, Duration::from_secs(60));
    }
    let (one, four) = (result(&one), result(&four));
    assert_eq!(four["completion"]["state"], "complete", "{}", four["completion"]);
    let (one, four) = (trial(&one), trial(&four));
    assert!(decided(&one["counts"])[0] > 600, "{}", one["counts"]);
    assert_eq!(decided(&one["counts"]), decided(&four["counts"]));
    let switches = |trial: &Value| trial["per_switch"].as_array().expect("switches").clone();
    for (one, four) in switches(one).iter().zip(&switches(four)) {
        assert_eq!(one["index"], four["index"]);
        assert_eq!(decided(&one["counts"]), decided(&four["counts"]));
    }
    assert_eq!(four["ranks"].as_array().map(Vec::len), Some(4));
    for rank in &four["ranks"].as_array().expect("ranks")[1..] {
        // A round trip takes less time than would make a common start meaningless.
        assert!(rank["clock_before"]["bound_ns"].as_u64().is_some_and(|bound| bound < 100_000_000));
        assert!(rank["verdict"]["saturated"].is_string());
    }
}

/// Each rank's switches wait at the address of its namespace, and rank 0 announces all of them to
/// the controller.
#[test]
fn four_ranks_in_their_own_namespaces_are_dialled_at_their_own_addresses() {
    let Some(lab) = lab() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let measured = |of: u32| {
        let folder = scratch.path().join(of.to_string());
        let list = scratch.path().join(format!("switches-{of}.txt"));
        let start = |rank| {
            let address = format!("10.77.0.1{rank}");
            let mut more = vec!["-p", "p4runtime", "--listen", &address, "--first-port", "20001"];
            let list = list.to_string_lossy();
            more.extend(["--list-file", &list, "--duration", "2s", "--connect-timeout", "40s"]);
            let mut command = probe(&lab, rank, &folder, &more);
            if of > 1 {
                of_many(&mut command, rank);
            }
            Running::start(command).expect("ip runs")
        };
        let mut all: Vec<Running> = (0..of).map(start).collect();
        assert!(
            conformance::poll(Duration::from_secs(60), || list.is_file()),
            "no list of switches: {}",
            all[0].output()
        );
        let mut command = lab.command("s", binary());
        command.args(["controller", "-a", "null", "--devices"]).arg(&list);
        let mut controller = Running::start(command).expect("ip runs");
        controller.wait_for("dialling", Duration::from_secs(30));
        for rank in &mut all {
            wait(rank, Duration::from_secs(90));
        }
        (std::fs::read_to_string(&list).expect("a list"), result(&folder))
    };
    let ((_, one), (list, four)) = (measured(1), measured(RANKS));
    for rank in 0..RANKS {
        assert!(list.contains(&format!("10.77.0.1{rank}:20")), "{list}");
    }
    assert_eq!(four["completion"]["state"], "complete", "{}", four["completion"]);
    let (one, four) = (trial(&one), trial(&four));
    assert!(decided(&one["counts"])[0] > 600, "{}", one["counts"]);
    assert_eq!(decided(&one["counts"]), decided(&four["counts"]));
    assert_eq!(four["ranks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_rank_that_is_killed_or_paused_is_named_in_bounded_time() {
    let Some(lab) = lab() else { return };
    let _controller = controller(&lab);
    for signal in [Signal::KILL, Signal::STOP] {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("run");
        let mut all = ranks(&lab, &folder, &["--duration", "4s", "--repetitions", "9"]);
        // The result so far is written after each trial.
        let ended = conformance::poll(Duration::from_secs(60), || {
            folder.join("result.json").is_file() || all[0].try_wait().is_some()
        });
        assert!(ended && all[0].try_wait().is_none(), "{}", all[0].output());
        let start = Instant::now();
        all[2].signal(signal);
        wait(&mut all[0], Duration::from_secs(90));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        let result = result(&folder);
        assert_eq!(
            result["completion"]["state"], "partial",
            "{signal:?}: {}",
            result["completion"]
        );
        let reason = result["completion"]["reason"].as_str().expect("a reason");
        assert!(reason.contains("rank 2"), "{signal:?}: {reason}");
        assert_eq!(trial(&result)["completion"]["state"], "complete", "{signal:?}");
    }
}
