//! Tests of the end of runs: exit status, Ctrl-C, a full disk, and a missing controller.

mod command;
mod interrupts;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use command::{Controller, Planimeter, completion, planimeter};
use tempfile::TempDir;

/// Returns the arguments of a run of half a second against the controller, with results in a
/// directory.
fn short(controller: &Controller, output: &Path) -> Vec<String> {
    let output = output.to_string_lossy().into_owned();
    [
        ["probe", "--quiet"].as_slice(),
        &["--controller", controller.address()],
        &["--switches", "2", "--rate", "100"],
        &["--settle", "100ms", "--warm-up", "0s", "--duration", "300ms", "--sample", "100ms"],
        &["--output", &output],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

#[test]
fn a_successful_run_leaves_its_results_and_ends_with_status_0() {
    let (controller, scratch) = (Controller::start(), scratch());
    let directory = scratch.path().join("run");
    let mut arguments = short(&controller, &directory);
    arguments.extend(["--threshold", "loss == 0", "-t", "rtt.p90 < 3600s"].map(str::to_owned));
    let ended = planimeter(&arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(completion(&directory)["state"], "complete");
    for file in ["result.json", "config.toml", "report.html"] {
        assert!(directory.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_missed_threshold_fails_with_status_1() {
    let (controller, scratch) = (Controller::start(), scratch());
    let mut arguments = short(&controller, &scratch.path().join("run"));
    arguments.extend(["-t", "rtt.p90 < 1ns"].map(str::to_owned));
    let ended = planimeter(&arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("rtt.p90 < 1ns"), "{ended:?}");
}

#[test]
fn a_missing_controller_is_named_and_fails_with_status_3() {
    let scratch = scratch();
    let directory = scratch.path().join("run");
    let address = format!("127.0.0.1:{}", command::free_port());
    let output = directory.to_string_lossy().into_owned();
    let ended = planimeter(&[
        "probe",
        "--controller",
        &address,
        "--connect-timeout",
        "300ms",
        "--output",
        &output,
        // A metric that was not measured is not a failed threshold.
        "--threshold",
        "loss == 0",
    ]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains(&address) && ended.stdout.contains("refused"), "{ended:?}");
    assert_eq!(completion(&directory)["state"], "failed");
}

#[test]
fn invalid_settings_fail_with_status_2_and_leave_nothing() {
    let scratch = scratch();
    let directory = scratch.path().join("run");
    let output = directory.to_string_lossy().into_owned();
    let file = scratch.path().join("probe.toml");
    fs::write(&file, "[traffic]\nrate = \"fast\"\nrat = 5\n").expect("a file");
    let file = file.to_string_lossy().into_owned();
    let ended = planimeter(&["probe", "--config", &file, "--output", &output]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for named in [format!("{file}:2"), format!("{file}:3"), "traffic.rate".into(), "rat".into()] {
        assert!(ended.stderr.contains(&named), "{named}: {ended:?}");
    }
    assert!(!directory.exists());
    assert_eq!(planimeter(&["probe", "--no-such-flag"]).code, Some(2));
    assert_eq!(planimeter(&["no-such-verb"]).code, Some(2));
}

/// For all verbs that listen, an unavailable address is an error in the arguments, and the message
/// names the option.
#[test]
fn an_address_in_use_fails_with_the_option_to_change_and_status_2() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address");
    let (address, port) = (taken.to_string(), taken.port().to_string());
    let scratch = scratch();
    let output = scratch.path().join("run").to_string_lossy().into_owned();
    let emulated = ["probe", "-p", "p4runtime", "-n", "1", "--first-port", &port];
    for (words, option) in [
        (["controller", "--listen", &address].to_vec(), "--listen"),
        (
            ["controller", "-a", "paths", "--listen", "127.0.0.1:0", "--northbound", &address]
                .to_vec(),
            "--northbound",
        ),
        (
            ["controller", "-a", "paths", "--listen", "127.0.0.1:0", "--beat", &address].to_vec(),
            "--beat",
        ),
        (["switch", "--no-p4", "--grpc-server-addr", &address].to_vec(), "--grpc-server-addr"),
        (
            ["switch", "--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--metrics", &address]
                .to_vec(),
            "--metrics",
        ),
        ([&emulated[..], &["--output", &output]].concat(), "--first-port"),
        ([&emulated[..], &["--serve"]].concat(), "--first-port"),
    ] {
        let ended = planimeter(&words);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        let expected = format!("cannot listen on {address}: ");
        assert!(ended.stderr.contains(&expected), "{words:?}: {ended:?}");
        assert!(ended.stderr.contains(&format!("another {option}")), "{words:?}: {ended:?}");
    }
}

#[test]
fn a_folder_with_files_is_left_alone_and_fails_with_status_2() {
    let (controller, scratch) = (Controller::start(), scratch());
    fs::write(scratch.path().join("precious"), "figures").expect("a file");
    let ended = planimeter(&short(&controller, scratch.path()));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains(&*scratch.path().to_string_lossy()), "{ended:?}");
    assert_eq!(fs::read_dir(scratch.path()).expect("a folder").count(), 1);
}

#[test]
fn ctrl_c_between_trials_keeps_the_trials_as_partial() {
    let (controller, scratch) = (Controller::start(), scratch());
    let directory = scratch.path().join("run");
    let mut arguments = short(&controller, &directory);
    arguments.extend(["--repetitions", "10000"].map(str::to_owned));
    let mut run = Planimeter::start(&arguments);
    // Results so far are written after every trial.
    run.wait_until(|| directory.join("result.json").exists());
    let ended = run.interrupt();
    let completion = completion(&directory);
    assert_eq!(completion["state"], "partial", "{ended:?}");
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stdout.contains("PARTIAL"), "{ended:?}");
    let result = command::result(&directory);
    let trials = result["points"][0]["trials"].as_array().expect("trials").len();
    assert!((1..10_000).contains(&trials), "{trials}");
    assert!(directory.join("report.html").is_file());
    assert!(ended.took < Duration::from_secs(20), "{ended:?}");
}

#[test]
fn a_failure_between_trials_of_rfc_8456_costs_no_figures() {
    let (controller, scratch) = (Controller::start(), scratch());
    let directory = scratch.path().join("run");
    let mut arguments = short(&controller, &directory);
    let settings = ["--plan", "rfc8456:5.1.2", "--repetitions", "2", "--between", "exit 4"];
    arguments.extend(settings.map(str::to_owned));
    let ended = planimeter(&arguments);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("plan.between: `exit 4`"), "{ended:?}");
    assert!(ended.stdout.contains("PARTIAL") && ended.stdout.contains("5.1.2"), "{ended:?}");
    let reason = completion(&directory)["reason"].to_string();
    assert!(reason.contains("plan.between"), "{reason}");
    let trials = &command::result(&directory)["tests"][0]["trials"];
    assert!(trials[0]["value"].is_number(), "{trials}");
}

#[test]
fn ctrl_c_while_papers_are_reproduced_keeps_the_points_that_were_measured() {
    let scratch = scratch();
    let directory = scratch.path().join("run");
    let output = directory.to_string_lossy().into_owned();
    let arguments = ["reproduce", "controller-fig-5", "--quick", "--output", &output];
    let mut run = Planimeter::start(&arguments);
    run.wait_until(|| directory.join("switches-openflow-10").exists());
    let ended = run.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.starts_with("[1 of 1, about 30 s to go] Fig. 5"), "{ended:?}");
    assert!(directory.join("report.html").is_file());
    let result = command::result(&directory);
    let partial = result["partial"].as_str().expect("a reason");
    assert!(partial.contains("controller-fig-5"), "{partial}");
    let series = result["sections"][0]["charts"][0]["series"].as_array().expect("a chart");
    let openflow =
        |one: &&serde_json::Value| one["name"] == "OpenFlow, 10/s" && one["origin"] == "measured";
    let points =
        series.iter().find(openflow).expect("a line")["points"].as_array().expect("points");
    assert_eq!(points.first().expect("a point")["x"], 1.0, "{series:?}");
}

#[test]
fn ctrl_c_while_connecting_is_reported() {
    let scratch = scratch();
    let directory = scratch.path().join("run");
    let output = directory.to_string_lossy().into_owned();
    // The listener accepts connections and sends nothing, so that the test knows when the run
    // connects.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    silent.set_nonblocking(true).expect("a listener that does not wait");
    let address = silent.local_addr().expect("an address").to_string();
    let arguments =
        ["probe", "--controller", &address, "--connect-timeout", "1h", "--output", &output];
    let mut run = Planimeter::start(&arguments);
    run.wait_until(|| silent.accept().is_ok());
    let ended = run.interrupt();
    let completion = completion(&directory);
    assert_eq!(completion["state"], "failed", "{ended:?}");
    let reason = completion["reason"].as_str().expect("a reason");
    assert!(reason.contains("interrupted while connecting"), "{reason}");
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.took < Duration::from_secs(20), "{ended:?}");
}

/// Returns forty servers in a row, and a thousand flows over eight of them each. The best bound of
/// one flow needs those of all others.
fn many_flows() -> String {
    let mut text = String::new();
    for server in 0..40 {
        text += &format!(
            "[[server]]\nname = \"s{server}\"\nservice = {{ rate-latency = {{ rate = \"1Mbps\", latency = \"1ms\" }} }}\n"
        );
    }
    for flow in 0..1_000 {
        let path: Vec<String> = (0..8).map(|hop| format!("\"s{}\"", flow % 33 + hop)).collect();
        text += &format!(
            "[[flow]]\nname = \"f{flow}\"\npath = [{}]\narrival = {{ token-bucket = {{ burst = \"{}kb\", rate = \"{}kbps\" }} }}\n",
            path.join(", "),
            1 + flow % 7,
            1 + flow % 3
        );
    }
    text
}

#[test]
fn ctrl_c_ends_bounds_in_the_middle_of_a_flow() {
    let scratch = scratch();
    let file = scratch.path().join("network.toml");
    std::fs::write(&file, many_flows()).expect("written");
    let mut run = Planimeter::start(&["bound", &file.to_string_lossy(), "--analysis", "best"]);
    // This message is printed before the first flow is bounded.
    run.wait_until_said("runs are simulated for");
    let ended = run.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("interrupted"), "{ended:?}");
    assert!(ended.took < Duration::from_secs(5), "{ended:?}");
}

#[test]
fn a_controller_whose_name_has_no_address_fails_with_status_3() {
    let scratch = scratch();
    let output = scratch.path().join("run").to_string_lossy().into_owned();
    // A label has at most 63 characters, so the lookup fails without a name server.
    let address = format!("{}:6653", "x".repeat(64));
    let ended = planimeter(&["probe", "--controller", &address, "--output", &output]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains(&address), "{ended:?}");
}

#[test]
fn ctrl_c_before_the_measured_part_breaks_no_threshold() {
    let (controller, scratch) = (Controller::start(), scratch());
    for (number, long) in [["--settle", "1h"], ["--warm-up", "1h"]].into_iter().enumerate() {
        let directory = scratch.path().join(format!("run{number}"));
        let output = directory.to_string_lossy().into_owned();
        let netcfg = directory.join("config.toml");
        let mut run = Planimeter::start(&[
            "probe",
            "--quiet",
            "--controller",
            controller.address(),
            "--switches",
            "2",
            long[0],
            long[1],
            "--output",
            &output,
            "-t",
            "received_rate > 1",
            "-t",
            "loss == 0",
        ]);
        run.wait_until(|| netcfg.exists());
        // The handshakes take a few milliseconds, and the end is the same in every phase.
        let ended = run.interrupt();
        assert_eq!(ended.code, Some(130), "{long:?}: {ended:?}");
        assert_ne!(completion(&directory)["state"], "complete", "{ended:?}");
    }
}

/// Returns the arguments of a run with two switches and 100 packet-ins per second each, for
/// `seconds` seconds.
fn long(controller: &Controller, output: &Path, seconds: u32) -> Vec<String> {
    let duration = format!("{seconds}s");
    let mut arguments = short(controller, output);
    let measure = arguments.iter().position(|word| word == "300ms").expect("the duration");
    arguments[measure] = duration;
    arguments
}

/// Asserts that the number of due packet-ins is that of the schedule, and that all of them are
/// accounted for.
fn assert_accounted(counts: &serde_json::Value, due: u64) {
    let count = |name: &str| counts[name].as_u64().expect(name);
    assert_eq!(count("due"), due, "{counts}");
    assert_eq!(count("due"), count("answered") + count("lost") + count("unsent"), "{counts}");
}

#[test]
fn a_pause_of_the_probe_costs_no_packet_in() {
    let (controller, scratch) = (Controller::start(), scratch());
    let directory = scratch.path().join("run");
    let mut arguments = long(&controller, &directory, 2);
    arguments.extend(["-t", "loss == 0", "-t", "unsent == 0"].map(str::to_owned));
    let mut run = Planimeter::start(&arguments);
    run.wait_until(|| command::connections_of(controller.address()) == 2);
    // Wherever the pause falls, and although it exceeds the window and the drain, no packet-in is
    // lost.
    std::thread::sleep(Duration::from_millis(1_500));
    run.pause(Duration::from_secs(4));
    let ended = run.wait();
    let counts = command::result(&directory)["points"][0]["trials"][0]["counts"].clone();
    assert_accounted(&counts, 400);
    assert_eq!(counts["answered"], 400, "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_run_whose_controller_was_killed_does_not_pass() {
    let (controller, scratch) = (Controller::start(), scratch());
    let directory = scratch.path().join("run");
    let mut arguments = long(&controller, &directory, 4);
    arguments.extend(["-t", "loss < 1%", "-t", "rtt.p90 < 3600s"].map(str::to_owned));
    let mut run = Planimeter::start(&arguments);
    run.wait_until(|| command::connections_of(controller.address()) == 2);
    std::thread::sleep(Duration::from_millis(1_000));
    drop(controller);
    let ended = run.wait();
    let trial = command::result(&directory)["points"][0]["trials"][0].clone();
    assert_accounted(&trial["counts"], 800);
    let unsent = trial["counts"]["unsent"].as_u64().expect("a count");
    assert!(unsent > 0, "{ended:?}");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let expected = format!("{unsent} of 800 due that never left");
    assert!(ended.stdout.contains(&expected), "{ended:?}");
    assert!(ended.stdout.contains("had no connection to leave by"), "{ended:?}");
}

/// Asserts that the table is printed, the unwritable file is named, and the status is 1.
fn assert_disk_full(ended: &command::Ended, directory: &Path) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    assert!(ended.stderr.contains(&*directory.to_string_lossy()), "{ended:?}");
    assert!(ended.stdout.contains("answered 60"), "{ended:?}");
    // An existing result must be complete.
    if directory.join("result.json").exists() {
        assert_eq!(command::result(directory)["schema"], "planimeter.probe.result");
    }
}

#[test]
fn a_full_disk_is_named_and_costs_no_figures() {
    let (controller, scratch) = (Controller::start(), scratch());
    let disk = scratch.path().join("disk");
    fs::create_dir(&disk).expect("a mount point");
    let Some(_mounted) = command::mount_small_disk(&disk) else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: a_full_disk_is_named_and_costs_no_figures: may not mount a small disk here"
        );
        return;
    };
    let directory = disk.join("run");
    // The configuration fits on the disk, and the report does not.
    let ended = planimeter(&short(&controller, &directory));
    assert_disk_full(&ended, &directory);
    assert!(ended.stderr.contains("space"), "{ended:?}");
}

#[test]
fn a_disk_quota_is_named_and_costs_no_figures() {
    let (controller, scratch) = (Controller::start(), scratch());
    let directory = scratch.path().join("run");
    // No file of this process may exceed 16 KiB.
    let ended = Planimeter::start_limited("ulimit -f 16", &short(&controller, &directory)).wait();
    assert_disk_full(&ended, &directory);
    assert!(ended.stderr.contains("too large"), "{ended:?}");
}

fn scratch() -> TempDir {
    TempDir::new().expect("a folder")
}

/// Waits for a condition that other programs bring about.
fn poll(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn switches_are_served_without_a_run_until_interrupted() {
    let (controller, scratch) = (Controller::start(), scratch());
    let output = scratch.path().join("run");
    let arguments =
        ["probe", "--serve", "-n", "3", "--controller", controller.address(), "--output"];
    let output_text = output.to_string_lossy().into_owned();
    let arguments: Vec<&str> = arguments.into_iter().chain([output_text.as_str()]).collect();
    let mut serving = Planimeter::start(&arguments);
    serving.wait_until_said("all 3 switches are ready");
    let ended = serving.interrupt();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.is_empty(), "{ended:?}");
    assert!(!output.exists(), "nothing was measured");
}
