//! The share of faulty copies of a program, its mutants, that fail a generated test.
//!
//! A run makes a sample of the mutants of each program. `PLANIMETER_MUTANTS=200` makes 200 of each:
//! `PLANIMETER_MUTANTS=200 cargo test --release -p stf --test generated kills -- --nocapture`.

use super::mutate::{Mutant, mutants};
use super::programs::program;
use super::script;
use ir::Program;
use pipeline::Switch;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use std::fmt;
use std::io::{Write as _, stderr};
use stf::Options;
use symbolic::equivalence::{Equivalence, equivalent};
use symbolic::generated::Test;
use symbolic::search::{self, search};

/// The number of mutants of a program, unless `PLANIMETER_MUTANTS` says another.
const SAMPLE: usize = 24;

/// The conflicts after which a sample gives up a proof. A run of all mutants has the default.
const SAMPLE_CONFLICTS: u64 = 2_000;

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
    match stf::run(switch, &script(test), Options::default()) {
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

/// Runs the generated tests of a program on some of its mutants, and prints how many they kill.
fn tally(name: &str) -> Tally {
    let program = program(name);
    let tests = thorough(&program).tests;
    let mut switch = Switch::new(program.clone()).expect("a switch");
    for test in &tests {
        assert!(!fails(&mut switch, test), "{name}: {}", test.stf());
    }
    let wanted = std::env::var("PLANIMETER_MUTANTS").ok();
    let wanted =
        wanted.map(|number| number.parse::<usize>().expect("PLANIMETER_MUTANTS is a number"));
    let mut options = search::Options::default();
    if wanted.is_none() {
        options.conflicts = SAMPLE_CONFLICTS;
    }
    let mut all = mutants(&program);
    let count = all.len();
    all.shuffle(&mut StdRng::seed_from_u64(1));
    all.truncate(wanted.unwrap_or(SAMPLE));
    let mut tally = Tally::default();
    for Mutant { program: mutant, fault } in &all {
        tally.add(&fate(&program, mutant, &tests, options), fault);
    }
    // The test harness would hide the output of `eprintln!` when a test passes.
    let _ = writeln!(stderr(), "{name}: {} of {count} mutants, {tally}", all.len());
    tally
}

/// Checks that the tests of a program kill at least this share in percent of its mutants.
fn are_killed(name: &str, least: usize) {
    let tally = tally(name);
    let different = tally.different();
    assert!(different > 0, "{name}: no mutant differs");
    assert!(100 * tally.killed >= least * different, "{name}: {tally}");
}

#[test]
fn the_tests_of_l2_kill_its_mutants() {
    // A padding that is not set has an undefined value, so that mutant cannot be killed.
    are_killed("l2.p4", 90);
}

#[test]
fn the_tests_of_learning_switch_kill_its_mutants() {
    are_killed("learning_switch.p4", 95);
}

#[test]
fn the_tests_of_entry_update_kill_its_mutants() {
    are_killed("entry_update.p4", 95);
}

#[test]
fn the_tests_of_programs_with_checksums_kill_most_mutants() {
    are_killed("router.p4", 70);
    are_killed("vrf.p4", 80);
    are_killed("load_balancer.p4", 95);
}
