//! Tests that the programs of this project do what their scripts say, on every way that packets
//! take.

#[path = "support/translated.rs"]
mod translated;

use std::fs;
use std::path::{Path, PathBuf};

use ir::with_large_stack;
use p4lang::compile_file;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{DiskFiles, Options as Preprocessor};
use pipeline::{Switch, Way};
use stf::{Options, Ran, Report, Script, disagreements, run};
use translated::translated;

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let mut programs: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the programs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "p4"))
        .collect();
    programs.sort();
    programs
}

fn compile(path: &Path, defines: &[&str]) -> ir::Program {
    let options = Preprocessor {
        defines: defines.iter().map(|define| (*define).to_owned()).collect(),
        ..Preprocessor::default()
    };
    let compiled = with_large_stack(|| compile_file(path, &options, &DiskFiles))
        .expect("a thread")
        .expect("the program");
    let messages = compiled.messages(Style::Plain);
    assert!(compiled.diagnostics.is_empty(), "{messages}");
    compiled.program.expect("a program without errors")
}

fn run_script(program: ir::Program, path: &Path) -> Report {
    let text = fs::read_to_string(path).expect("the script");
    let script = Script::parse(&text).unwrap_or_else(|errors| panic!("{path:?}: {errors:?}"));
    let translated = translated(&program);
    let mut switch = Switch::new(program).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    switch.set_translated(translated);
    let options = Options { every_port: true, strict: true, ..Options::default() };
    run(&mut switch, &script, options)
        .unwrap_or_else(|(line, error)| panic!("{path:?}:{line}: {error}"))
}

fn assert_passed(report: &Report, path: &Path) {
    let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{path:?}:\n{}", failures.concat());
    assert!(!report.received.is_empty(), "{path:?} sends no packet");
}

/// Runs a script on every way of a program, with packets alone and in bursts.
fn run_on_every_way(program: &ir::Program, path: &Path, specification: bool) -> Vec<Ran> {
    let text = fs::read_to_string(path).expect("the script");
    let script = Script::parse(&text).expect("a script");
    let mut switch = Switch::new(program.clone()).expect("a program that can be run");
    switch.set_translated(translated(program));
    switch.follow_psa_switch(!specification);
    switch.compile().unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut runs = Vec::new();
    for way in switch.ways() {
        for together in [false, true] {
            switch.reset().expect("it was loaded once");
            switch.choose_way(Some(way));
            let options = Options {
                every_port: true,
                strict: true,
                specification,
                together,
                ..Options::default()
            };
            let report = run(&mut switch, &script, options).expect("a script that fits");
            assert!(switch.compiled().is_some(), "{path:?} went back to the interpreter");
            runs.push(Ran { way, together, report, digests: switch.take_digests() });
        }
    }
    runs
}

#[test]
fn every_program_passes_its_script_on_every_way() {
    let mut bursts = 0;
    for path in programs() {
        let script = path.with_extension("stf");
        if !script.is_file() {
            continue;
        }
        let program = compile(&path, &[]);
        for specification in [false, true] {
            let runs = run_on_every_way(&program, &script, specification);
            let ways: Vec<Way> = runs.iter().map(|ran| ran.way).collect();
            assert!(ways.contains(&Way::Interpreter) && ways.contains(&Way::Driver), "{ways:?}");
            bursts += usize::from(ways.contains(&Way::Stages));
            let different = disagreements(&runs);
            let sentences: Vec<String> = different.iter().map(ToString::to_string).collect();
            assert!(different.is_empty(), "{path:?}: {}", sentences.concat());
            // Scripts are written for the switches of BMv2.
            for ran in runs.iter().filter(|ran| !ran.together && !specification) {
                assert_passed(&ran.report, &script);
            }
        }
    }
    assert!(bursts >= 16, "only {bursts} programs go in bursts");
}

#[test]
fn every_program_passes_its_script() {
    let mut scripts = 0;
    for path in programs() {
        let program = compile(&path, &[]);
        let script = path.with_extension("stf");
        if !script.is_file() {
            // The tests of controllers cover this program.
            assert!(path.ends_with("l2.p4"), "{path:?} has no script");
            continue;
        }
        assert_passed(&run_script(program, &script), &script);
        scripts += 1;
    }
    assert!(scripts >= 10, "the programs have moved: {scripts} scripts were found");
}

#[test]
fn in_table_updates_do_the_same_in_every_storage() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let script = folder.join("entry_update.stf");
    for store in ["STORE=\"static\"", "STORE=\"dynamic\""] {
        for synced in ["SYNCED=true", "SYNCED=false"] {
            let program =
                compile(&folder.join("entry_update.p4"), &[store, synced, "ENTRIES=4096"]);
            assert_passed(&run_script(program, &script), &script);
        }
    }
}

/// A script that passes whatever a program does would prove nothing.
#[test]
fn a_script_fails_with_another_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let text = fs::read_to_string(folder.join("port_knocking.p4")).expect("the program");
    let changed = text.replace("SECOND_KNOCK = 8000", "SECOND_KNOCK = 8001");
    assert_ne!(text, changed);
    let scratch = std::env::temp_dir().join(format!("planimeter-stf-{}.p4", std::process::id()));
    fs::write(&scratch, changed).expect("a copy");
    let program = compile(&scratch, &[]);
    fs::remove_file(&scratch).expect("the copy");
    let report = run_script(program, &folder.join("port_knocking.stf"));
    assert!(!report.failures.is_empty());
}
