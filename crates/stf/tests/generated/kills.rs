//! The share of faulty copies of a program, its mutants, that fail a generated test.
//!
//! Programs for which proofs take long are left out, unless `PLANIMETER_MUTANTS=all` is set:
//! `PLANIMETER_MUTANTS=all cargo test --release -p stf --test generated kills -- --nocapture`.

use super::mutate::{Mutant, mutants};
use super::programs::program;
use super::script;
use ir::Program;
use pipeline::Switch;
use std::fmt;
use std::io::{Write as _, stderr};
use stf::Options;
use symbolic::equivalence::{Equivalence, equivalent};
use symbolic::generated::Test;
use symbolic::search::{self, search};

/// The fate of a mutant.
enum Fate {
    /// A test fails.
    Killed,
    /// All tests pass, and a packet shows that the mutant is another program.
    Alive,
    /// All tests pass, and the mutant is proved to transmit the same packets.
    Equivalent,
    /// All tests pass, and the proof was given up.
    Undecided,
    /// The mutant is no program that can be loaded.
    Refused,
}

/// The number of mutants of a program by their fate.
#[derive(Default)]
struct Tally {
    killed: usize,
    alive: usize,
    equivalent: usize,
    undecided: usize,
    refused: usize,
    /// The faults that no test has found, one on each line.
    survivors: String,
}

impl Tally {
    fn add(&mut self, fate: &Fate, fault: &str) {
        let (count, survives) = match fate {
            Fate::Killed => (&mut self.killed, None),
            Fate::Alive => (&mut self.alive, Some("alive")),
            Fate::Equivalent => (&mut self.equivalent, None),
            Fate::Undecided => (&mut self.undecided, Some("undecided")),
            Fate::Refused => (&mut self.refused, None),
        };
        *count += 1;
        if let Some(what) = survives {
            self.survivors += &format!("  {what}: {fault}\n");
        }
    }

    /// Returns the number of mutants that tests should kill. Undecided ones count as alive.
    fn different(&self) -> usize {
        self.killed + self.alive + self.undecided
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { killed, alive, equivalent, undecided, refused, survivors } = self;
        let rate = 100.0 * *killed as f64 / self.different().max(1) as f64;
        writeln!(
            f,
            "{rate:.1} % killed: {killed} killed, {alive} alive, {undecided} undecided (count as \
             alive), {equivalent} proved equivalent, {refused} not loaded"
        )?;
        f.write_str(survivors)
    }
}

/// Returns whether a test fails on a switch.
pub(super) fn fails(switch: &mut Switch, test: &Test) -> bool {
    switch.reset().expect("a reset");
    let options = Options { specification: true, ..Options::default() };
    match stf::run(switch, &script(test), options) {
        Ok(report) => !report.failures.is_empty(),
        Err(_) => true,
    }
}

fn fate(program: &Program, mutant: &Program, tests: &[Test], options: search::Options) -> Fate {
    let Ok(mut switch) = Switch::new(mutant.clone()) else { return Fate::Refused };
    if tests.iter().any(|test| fails(&mut switch, test)) {
        return Fate::Killed;
    }
    let verdict = ir::with_large_stack(|| equivalent(program, mutant, &options));
    match verdict.expect("a thread") {
        Ok(Equivalence::Equal { .. }) => Fate::Equivalent,
        Ok(Equivalence::Different(_)) => Fate::Alive,
        Ok(Equivalence::Undecided(_)) | Err(_) => Fate::Undecided,
    }
}

/// Makes the tests that `planimeter testgen` makes, which include those at boundaries.
pub(super) fn thorough(program: &Program) -> search::Report {
    let options = search::Options { boundaries: true, ..search::Options::default() };
    let report = ir::with_large_stack(|| search(program, &options, &mut |_| true));
    let report = report.expect("a thread");
    report.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the generated tests of a program on its mutants, and prints how many they kill.
fn tally(name: &str) -> Tally {
    let program = program(name);
    let tests = thorough(&program).tests;
    let mut switch = Switch::new(program.clone()).expect("a switch");
    for test in &tests {
        assert!(!fails(&mut switch, test), "{name}: {}", test.stf());
    }
    let all = mutants(&program);
    let mut tally = Tally::default();
    for Mutant { program: mutant, fault } in &all {
        tally.add(&fate(&program, mutant, &tests, search::Options::default()), fault);
    }
    // The test harness would hide the output of `eprintln!` when a test passes.
    let _ = writeln!(stderr(), "{name}: {} mutants, {tally}", all.len());
    tally
}

/// Programs, each with the least share in percent of its mutants that its tests kill. Mutants that
/// leave a value undefined cannot be killed, such as those that do not set a padding.
const LEAST: [(&str, usize); 11] = [
    ("entry_update.p4", 95),
    ("firewall.p4", 95),
    ("heavy_hitter.p4", 80),
    ("l2.p4", 90),
    ("learning_switch.p4", 95),
    ("load_balancer.p4", 95),
    ("nic_switch.p4", 95),
    ("port_knocking.p4", 95),
    ("router.p4", 90),
    ("tc_redirect.p4", 75),
    ("vrf.p4", 95),
];

/// As [`LEAST`], for programs for which proofs take a minute or longer.
const LEAST_IF_ALL: [(&str, usize); 3] =
    [("psa_mirror.p4", 85), ("syn_flood.p4", 85), ("tunnel.p4", 70)];

#[test]
fn tests_kill_most_mutants() {
    let wants_all = std::env::var_os("PLANIMETER_MUTANTS").is_some_and(|which| which == "all");
    let others = LEAST_IF_ALL.iter().filter(|_| wants_all);
    let (mut killed, mut different) = (0, 0);
    for (name, least) in LEAST.iter().chain(others) {
        let tally = tally(name);
        let of = tally.different();
        assert!(of > 0, "{name}: no mutant differs");
        assert!(100 * tally.killed >= least * of, "{name}: {tally}");
        killed += tally.killed;
        different += of;
    }
    let rate = 100.0 * killed as f64 / different as f64;
    let _ = writeln!(stderr(), "{killed} of {different} mutants killed, {rate:.1} %");
}
