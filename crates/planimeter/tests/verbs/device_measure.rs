//! Tests of `planimeter device measure` as a user runs it.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::command::{planimeter, stderr, stdout};
use device::Campaign;
use device::campaign::{CellId, ClockSource};

fn measure(plan: &str, directory: &Path, more: &[&str]) -> std::process::Output {
    let file = directory.join("plan.toml");
    fs::write(&file, plan).expect("a file");
    let run = directory.join("run");
    let (file, run) = (file.to_string_lossy(), run.to_string_lossy());
    let mut arguments = vec!["measure", &file, "--quiet"];
    match more {
        [] => arguments.extend(["-o", &run]),
        more => arguments.extend(more),
    }
    planimeter("device", &arguments)
}

const SHORT: &str = "
    functions.matches = ['port', 'five-tuple']
    functions.actions = ['output', 'set-nw-src', 'strip-vlan', 'set-vlan-id']
    [campaign]
    repetitions = 2
    packets = 20
    warm-up = 5
    seed = 4";

/// Checks the properties of a short campaign that do not depend on the device.
fn check(directory: &Path) -> Campaign {
    let campaign = Campaign::read(&directory.join("run")).expect("a campaign");
    assert_eq!((campaign.description.cells.len(), campaign.blocks.len()), (8, 16));
    assert_eq!(campaign.description.seed, 4);
    for cell in campaign.description.ids() {
        let counts = campaign.counts(cell);
        assert_eq!(counts.sent, 40, "cell {cell:?}");
        assert_eq!(campaign.delays(cell).len() as u64, counts.received);
        assert!(campaign.delays(cell).iter().all(|delay| delay.0 > 0), "cell {cell:?}");
    }
    assert!(campaign.description.clock.reference.is_some(), "the clock is measured first");
    campaign
}

#[test]
fn a_campaign_in_memory_from_its_plan_to_its_files() {
    for path in ["interpreter", "compiled"] {
        let directory = tempfile::tempdir().expect("a directory");
        let plan = format!("device.kind = 'memory'\ndevice.path = '{path}'\n{SHORT}");
        let output = measure(&plan, directory.path(), &[]);
        assert!(output.status.success(), "{path}: {}", stderr(&output));
        let campaign = check(directory.path());
        assert_eq!(campaign.description.clock.source, ClockSource::CycleCounter);
        assert_eq!(campaign.counts(CellId(0)).lost, 0);
        assert!(stdout(&output).contains("seed 4"), "{}", stdout(&output));
        // The campaign is complete, so resuming measures nothing.
        let run = directory.path().join("run");
        let again = measure(&plan, directory.path(), &["--resume", &run.to_string_lossy()]);
        assert!(again.status.success(), "{}", stderr(&again));
        assert_eq!(check(directory.path()).blocks, campaign.blocks);
        // The campaign is neither overwritten nor mixed with another one.
        let other = measure(&plan, directory.path(), &[]);
        assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
        let plan = plan.replace("'five-tuple'", "'tp-dst'");
        let other = measure(&plan, directory.path(), &["--resume", &run.to_string_lossy()]);
        assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
        assert!(stderr(&other).contains("other cells"), "{}", stderr(&other));
    }
}

#[test]
fn a_campaign_over_virtual_wires_from_its_plan_to_its_files() {
    if !rustix::process::geteuid().is_root() {
        let required = std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "network namespaces need root");
        // The test harness would hide the output of `eprintln!` when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: network namespaces need root");
        return;
    }
    for path in ["interpreter", "compiled"] {
        let directory = tempfile::tempdir().expect("a directory");
        let plan = format!("device.kind = 'software-switch'\ndevice.path = '{path}'\n{SHORT}");
        let output = measure(&plan, directory.path(), &[]);
        assert!(output.status.success(), "{path}: {}", stderr(&output));
        let campaign = check(directory.path());
        assert_eq!(campaign.description.clock.source, ClockSource::Kernel);
        assert!(campaign.description.line_rate.is_some_and(|rate| rate > 0));
    }
}

/// An error is one line with advice, and the status is 2.
#[test]
fn a_wrong_plan_fails_with_one_line_of_advice() {
    let directory = tempfile::tempdir().expect("a directory");
    for (plan, says) in [
        ("device.kind = 'zodiac'", "is not a kind of device: open-vswitch, openflow"),
        ("device.kind = 'manual'", "send and receive must name the interfaces"),
        ("device.kind = 'memory'\nsettings.packet-bytes = [10]", "10 is not from 64 to 1518"),
    ] {
        let output = measure(plan, directory.path(), &[]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{plan}: {error}");
        assert!(error.contains(says) && error.contains("plan.toml"), "{plan}: {error}");
        assert!(!directory.path().join("run").exists(), "{plan}");
    }
}

/// Compiles a program that a plan names, relative to the root of the repository.
fn compile(name: &str) -> Result<ir::Program, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let options = p4lang::preprocess::Options::default();
    let compiled = p4lang::compile_file(&path, &options, &p4lang::preprocess::DiskFiles);
    compiled.map_err(|error| error.to_string())?.program.ok_or_else(|| "it has errors".to_owned())
}

/// A campaign of program parts yields a model that predicts programs, and that is verified against
/// other campaigns.
#[test]
fn parts_of_a_program_are_measured_and_its_paths_predicted() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/entry_update.p4");
    let plan = format!(
        "device.kind = 'memory'
        functions.program = '{}'
        functions.tests = 3
        settings.packet-bytes = [128]
        campaign.repetitions = 3
        campaign.packets = 20
        campaign.warm-up = 2
        campaign.seed = 1",
        program.display()
    );
    let measured = measure(&plan, directory.path(), &[]);
    assert!(measured.status.success(), "{}", stderr(&measured));
    let run = directory.path().join("run");
    let model = directory.path().join("model.json");
    let (run, model) = (run.to_string_lossy(), model.to_string_lossy());
    let derived = planimeter("device", &["model", &run, "-o", &model]);
    assert!(derived.status.success(), "{}", stderr(&derived));
    let program = program.to_string_lossy();
    let predicted = planimeter("device", &["predict", &model, "--program", &program]);
    assert!(predicted.status.success(), "{}", stderr(&predicted));
    let shown = stdout(&predicted);
    assert!(shown.contains("2 paths that differ") && !shown.contains("Not measured"), "{shown}");
}

/// Every example plan is valid.
#[test]
fn every_example_is_a_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/device");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path).expect("a plan");
            let plan = device::measure::Plan::from_toml(&text, &mut compile);
            plan.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            count += 1;
        }
    }
    assert!(count >= 9, "the examples have moved: {count} plans");
}
