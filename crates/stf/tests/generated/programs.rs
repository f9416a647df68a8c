//! The programs of the repository: their tests pass in every way, and reach what they say.

use super::{generated, predicted, reached, run_all, run_all_as};
use ir::{Architecture, Program};
use p4lang::diagnostic::Style;
use p4lang::preprocess::{DiskFiles, Options as Preprocessor};
use std::path::Path;
use symbolic::goals::Kind;
use symbolic::search::Verdict;

/// Compiles a program of the repository.
pub(super) fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    let options = Preprocessor::default();
    let compiled = ir::with_large_stack(|| p4lang::compile_file(&path, &options, &DiskFiles));
    let compiled = compiled.expect("a thread").expect("a program");
    let messages = compiled.messages(Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}"))
}

/// Checks that the tests of a program pass on all paths, reach what they say, and leave nothing
/// open but what `given_up` names.
fn holds(name: &str, given_up: &[&str]) {
    let program = program(name);
    let report = generated(&program, 1);
    let coverage = run_all(&program, &report.tests, true);
    if program.architecture == Architecture::Psa {
        run_all_as(&program, &report.tests, true, true);
    }
    let reached = reached(&coverage);
    for (part, is_reached) in predicted(&report) {
        // Tests that were made for other goals may reach a part that was given up.
        if let Some(found) = reached.get(&part) {
            assert_eq!(*found, is_reached, "{name}: {part:?}");
        }
    }
    for (goal, verdict) in &report.goals {
        if let Verdict::GivenUp(reason) = verdict {
            let is_known = given_up.iter().any(|known| goal.name.contains(known));
            assert!(is_known, "{name}: {:?} {} is given up: {reason}", goal.kind, goal.name);
        }
        assert_ne!(*verdict, Verdict::Open, "{name}: {}", goal.name);
    }
    let statements = report.goals.iter().filter(|(goal, _)| goal.kind == Kind::Statement);
    let covered = statements.filter(|(_, verdict)| matches!(verdict, Verdict::Covered(_))).count();
    assert!(covered > 0, "{name}: no statement is covered");
    // The same seed makes the same tests.
    assert_eq!(generated(&program, 1).tests, report.tests, "{name}");
}

#[test]
fn the_tests_of_the_router_pass() {
    holds("router.p4", &[]);
}

#[test]
fn the_tests_of_entry_update_pass() {
    holds("entry_update.p4", &[]);
}

#[test]
fn the_tests_of_l2_pass() {
    holds("l2.p4", &[]);
}

#[test]
fn the_tests_of_learning_switch_pass() {
    holds("learning_switch.p4", &[]);
}

#[test]
fn the_tests_of_load_balancer_pass() {
    holds("load_balancer.p4", &[]);
}

#[test]
fn the_tests_of_vrf_pass() {
    holds("vrf.p4", &[]);
}

#[test]
fn the_tests_of_tunnel_pass() {
    holds("tunnel.p4", &[]);
}

#[test]
fn the_tests_of_psa_mirror_pass() {
    holds("psa_mirror.p4", &[]);
}

#[test]
fn the_tests_of_nic_switch_pass() {
    holds("nic_switch.p4", &[]);
}

#[test]
fn the_tests_of_firewall_pass() {
    holds("firewall.p4", &[]);
}

#[test]
fn the_tests_of_heavy_hitter_pass() {
    holds("heavy_hitter.p4", &[]);
}

#[test]
fn the_tests_of_port_knocking_pass() {
    holds("port_knocking.p4", &[]);
}

#[test]
fn the_tests_of_syn_flood_pass() {
    holds("syn_flood.p4", &[]);
}

/// The program reads the time to live of packets that are not IPv4, so their way is undefined.
#[test]
fn the_tests_of_tc_redirect_pass() {
    holds("tc_redirect.p4", &["to reject"]);
}
