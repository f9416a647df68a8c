//! Tests `conformance/p4c.sh`, which runs the sample programs of a checkout of p4c. Since p4c's
//! programs are not in this repository, the script runs on a folder with the same layout that
//! contains this repository's own programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use conformance::{binary, repository};
use tempfile::TempDir;

/// The outcome and the reason of each trial, by suite and program.
type Trials = BTreeMap<(String, String), (String, String)>;

/// A checkout with the programs of this repository that `programs` names, and their scripts.
struct Checkout(TempDir);

impl Checkout {
    fn new(programs: &[&str]) -> Self {
        let checkout = Self(TempDir::new().expect("a folder"));
        for folder in ["p4_16_samples", "p4_16_samples_outputs", "p4_16_errors"] {
            fs::create_dir_all(checkout.path(folder)).expect("a folder");
        }
        for name in programs {
            for ending in ["p4", "stf"] {
                let file = repository().join(format!("programs/{name}.{ending}"));
                checkout.write(
                    &format!("p4_16_samples/{name}.{ending}"),
                    &fs::read_to_string(file).expect("a program"),
                );
            }
        }
        checkout
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.0.path().join("testdata").join(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).expect("a file");
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).expect("a file")
    }

    /// Runs the script. Returns its output, and the outcome and reason of each trial, by suite and
    /// program.
    fn run(&self) -> (Output, Trials) {
        let results = self.0.path().join("results");
        let mut command = Command::new(repository().join("conformance/p4c.sh"));
        command.arg(self.0.path()).arg(&results).env("PLANIMETER", binary());
        // A test without optimisation beside others takes longer than a minute at times.
        command.env("SECONDS_EACH", "300");
        let output = command.output().expect("bash runs");
        let table = fs::read_to_string(results.join("results.tsv")).unwrap_or_default();
        let found = table.lines().map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [suite, _, program, outcome, reason] = cells[..] else { panic!("{line}") };
            let key = (suite.to_owned(), program.to_owned());
            (key, (outcome.to_owned(), reason.to_owned()))
        });
        (output, found.collect())
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn programs_without_a_fault_pass_in_every_suite() {
    let checkout = Checkout::new(&["router", "psa_mirror", "firewall"]);
    let l2 = repository().join("programs/l2.p4");
    checkout.write("p4_16_samples/l2.p4", &fs::read_to_string(l2).expect("a program"));
    let golden = repository().join("programs/l2.p4info.txtpb");
    // p4c's files begin with comments.
    let golden = format!("# proto-file: p4\n{}", fs::read_to_string(golden).expect("a P4Info"));
    checkout.write("p4_16_samples_outputs/l2.p4.p4info.txtpb", &golden);
    checkout.write("p4_16_errors/wrong.p4", "#include <v1model.p4>\nconst bit<8> a = b;\n");
    checkout.write("p4_16_samples/other.p4", "#include <tna.p4>\n");
    let (output, found) = checkout.run();
    assert!(output.status.success(), "{}", text(&output));
    let passed = |suite: &str| {
        let own = found.iter().filter(|((of, _), (outcome, _))| of == suite && outcome == "passed");
        own.map(|((_, program), _)| program.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(passed("samples"), ["firewall", "l2", "psa_mirror", "router"]);
    for suite in ["stf-interpreter", "stf-compiled"] {
        assert_eq!(passed(suite), ["firewall", "psa_mirror", "router"]);
    }
    assert_eq!(passed("p4info"), ["l2"]);
    assert_eq!(passed("errors"), ["wrong"]);
    let skipped = &found[&("samples".to_owned(), "other".to_owned())];
    assert_eq!(skipped.0, "skipped");
    let text = text(&output);
    assert!(text.contains("| stf-compiled | pna | 1 | 1 | 0 |"), "{text}");
    assert!(text.contains("Skipped, since their architecture is another: 1 trials"), "{text}");
}

#[test]
fn each_kind_of_fault_is_found_and_named() {
    let checkout = Checkout::new(&["router"]);
    let script = checkout.read("p4_16_samples/router.stf");
    let wrong = script.replacen("expect 2 0000000000b2", "expect 2 0000000000b3", 1);
    assert_ne!(script, wrong);
    checkout.write("p4_16_samples/router.stf", &wrong);
    let golden = fs::read_to_string(repository().join("programs/l2.p4info.txtpb"));
    checkout.write("p4_16_samples_outputs/router.p4.p4info.txtpb", &golden.expect("a P4Info"));
    checkout.write("p4_16_samples/broken.p4", "#include <v1model.p4>\nconst bit<8> a = b;\n");
    let right = checkout.read("p4_16_samples/router.p4");
    checkout.write("p4_16_errors/right.p4", &right);
    let (output, found) = checkout.run();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let failed: Vec<_> = found.iter().filter(|(_, (outcome, _))| outcome == "failed").collect();
    let names = failed.iter().map(|((suite, program), _)| (suite.as_str(), program.as_str()));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            ("errors", "right"),
            ("p4info", "router"),
            ("samples", "broken"),
            ("stf-compiled", "router"),
            ("stf-interpreter", "router"),
        ]
    );
    assert!(failed.iter().all(|(_, (_, reason))| !reason.is_empty()), "{failed:?}");
    let text = text(&output);
    assert!(text.contains("| errors | right | accepted |"), "{text}");
}

#[test]
fn a_folder_without_programs_is_named() {
    let empty = TempDir::new().expect("a folder");
    let run = |path: &Path| {
        let mut command = Command::new(repository().join("conformance/p4c.sh"));
        let output =
            command.arg(path).env("PLANIMETER", binary()).current_dir(empty.path()).output();
        output.expect("bash runs")
    };
    let output = run(empty.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("has no folder testdata"), "{}", text(&output));
    fs::create_dir(empty.path().join("testdata")).expect("a folder");
    let output = run(empty.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("has no programs"), "{}", text(&output));
}
