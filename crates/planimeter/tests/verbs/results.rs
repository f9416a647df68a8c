//! Tests of the results that verbs leave for other programs: they follow the published schemas, and
//! every figure and histogram exists in each format. The document that `demo`, `reproduce` and
//! `probe --paths` share is tested with these verbs.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::browser;
use crate::command::{planimeter, stderr, stdout};
use serde_json::Value;

/// Runs a verb with its results in a directory, and returns its standard output, which is JSON if
/// requested.
fn run(words: &str, directory: &Path) -> String {
    let (verb, arguments) = words.split_once(' ').expect("a verb and its arguments");
    let path = directory.to_string_lossy();
    let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
    arguments.extend(["--output", &path]);
    let output = planimeter(verb, &arguments);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    stdout(&output)
}

fn follows(schema: &str, text: &str, what: &str) {
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{what}: {e}: {text}"));
    let faults: Vec<String> = validator
        .iter_errors(&value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{what}: {faults:#?}");
    names_its_build(&value, what);
}

/// Asserts that a result names the profile of the build and, if the sources are in their
/// repository, the commit.
fn names_its_build(result: &Value, what: &str) {
    let build = &result["build"];
    assert!(build["profile"].as_str().is_some_and(|name| !name.is_empty()), "{what}: {build}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let head = Command::new("git").current_dir(&root).args(["rev-parse", "HEAD"]).output();
    let has_repository = root.join(".git").exists() && head.is_ok_and(|head| head.status.success());
    assert_eq!(build["commit"].is_string(), has_repository, "{what}: {build}");
    assert_eq!(build["modified"].is_boolean(), has_repository, "{what}: {build}");
}

/// Returns the names of a directory's files with this ending, without the ending.
fn stems(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect()
}

/// Asserts that a run has at least `least` figures, each as SVG, PDF and CSV.
fn has_figures(directory: &Path, least: usize) {
    let folder = directory.join("figures");
    let drawn = stems(&folder, ".svg");
    assert!(drawn.len() >= least, "{drawn:?}");
    assert_eq!(drawn, stems(&folder, ".pdf"));
    assert_eq!(drawn, stems(&folder, ".csv"));
    for figure in drawn {
        let read =
            |ending: &str| fs::read(folder.join(format!("{figure}{ending}"))).expect("there");
        assert!(read(".svg").starts_with(b"<svg "), "{figure}");
        assert!(read(".pdf").starts_with(b"%PDF-"), "{figure}");
        let data = String::from_utf8(read(".csv")).expect("text");
        let rows: Vec<usize> = data.lines().map(|line| line.split(',').count()).collect();
        assert!(rows.len() > 1, "{figure}: no data in {data:?}");
    }
}

/// Asserts that there are at least `least` histograms, each in both formats of HdrHistogram.
fn has_histograms(directory: &Path, least: usize) {
    fn collect(folder: &Path, all: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { collect(&path, all) } else { all.push(path) }
        }
    }
    let mut files = Vec::new();
    collect(&directory.join("histograms"), &mut files);
    let with = |ending: &str| -> BTreeSet<_> {
        let own = files.iter().filter(|file| file.extension().is_some_and(|e| e == ending));
        own.map(|file| file.with_extension("")).collect()
    };
    let (distributions, logs) = (with("hgrm"), with("hlog"));
    assert!(distributions.len() >= least, "{files:?}");
    assert_eq!(distributions, logs);
    for histogram in distributions {
        let text = fs::read_to_string(histogram.with_extension("hgrm")).expect("text");
        assert!(text.contains("Percentile") && text.contains("#[Mean"), "{histogram:?}: {text}");
    }
}

fn result(directory: &Path) -> String {
    fs::read_to_string(directory.join("result.json")).expect("a result")
}

#[test]
fn results_of_tables_and_programs_follow_their_schemas() {
    let folder = tempfile::tempdir().expect("a folder");
    let short = "--time 1ms --repetitions 2 --quiet";
    for (verb, words, schema) in [
        (
            "tables",
            "--size 2^4,2^6 --storage static,inline --sync optimistic --cores 1",
            report::designs::SCHEMA,
        ),
        ("bench", "--entries 2^4,2^5", report::throughput::SCHEMA),
    ] {
        let directory = folder.path().join(verb);
        let printed = run(&format!("{verb} {words} {short} --json"), &directory);
        follows(schema, &printed, verb);
        follows(schema, &result(&directory), verb);
        has_figures(&directory, 2);
        has_histograms(&directory, 2);
    }
}

#[test]
fn results_of_bounds_and_comparisons_follow_their_schemas() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = "bound examples/networks/two-hops.toml --analysis sfa";
    let directory = folder.path().join("bounds");
    follows(report::bounds::SCHEMA, &run(&format!("{network} --json"), &directory), "bound");
    follows(report::bounds::SCHEMA, &result(&directory), "bound");
    let varied = folder.path().join("varied");
    let words = format!("{network} --vary f0.rate=0..2:4 --json");
    follows(report::bounds::SWEEP_SCHEMA, &run(&words, &varied), "bound --vary");
    follows(report::bounds::SWEEP_SCHEMA, &result(&varied), "bound --vary");
    has_figures(&varied, 1);
    let compared = folder.path().join("compared");
    let path = directory.display();
    let printed = run(&format!("compare {path} {path} --json"), &compared);
    follows(report::compare::SCHEMA, &printed, "compare");
    follows(report::compare::SCHEMA, &result(&compared), "compare");
}

#[test]
fn results_of_devices_follow_their_schemas() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.toml");
    let text = "device.kind = \"memory\"\ndevice.path = \"interpreter\"\n[functions]\nmatches = [\"port\", \"five-tuple\"]\n\
                actions = [\"output\", \"set-nw-src\"]\n[campaign]\nrepetitions = 3\npackets = 40\nwarm-up = 10\nseed = 1\n";
    fs::write(&plan, text).expect("written");
    let measured = folder.path().join("measured");
    run(&format!("device measure {}", plan.display()), &measured);
    let verified = folder.path().join("verified");
    let printed = run(&format!("device verify {} --json", measured.display()), &verified);
    follows(report::models::SCHEMA, &printed, "device verify");
    follows(report::models::SCHEMA, &result(&verified), "device verify");
    has_figures(&verified, 1);
}

/// A controller of this program on a free port, which ends with the test.
struct Controller(Child, String);

impl Controller {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planimeter"))
            .args(["controller", "--application", "paths", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a controller");
        let mut line = String::new();
        let mut says = BufReader::new(child.stdout.take().expect("its output"));
        says.read_line(&mut line).expect("a line");
        let address = line.split_whitespace().nth(2).expect("listening on ADDRESS").to_owned();
        Self(child, address)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn results_of_controllers_follow_their_schemas() {
    let folder = tempfile::tempdir().expect("a folder");
    let controller = Controller::start();
    let address = &controller.1;
    let directory = folder.path().join("point");
    let words = format!(
        "probe --quiet --json -c {address} -n 2 -r 50 --settle 100ms --warm-up 0s --duration 300ms --repetitions 2"
    );
    follows(report::json::SCHEMA, &run(&words, &directory), "probe");
    follows(report::json::SCHEMA, &result(&directory), "probe");
    has_figures(&directory, 3);
    has_histograms(&directory, 2);
    let directory = folder.path().join("rfc8456");
    let words = format!(
        "probe --quiet --json -c {address} -n 2 --plan rfc8456:5.1.2 --settle 100ms --duration 300ms --repetitions 2"
    );
    follows(report::rfc8456::SCHEMA, &run(&words, &directory), "probe --plan rfc8456");
    follows(report::rfc8456::SCHEMA, &result(&directory), "probe --plan rfc8456");
    has_figures(&directory, 1);
    browser::check(&directory);
}
