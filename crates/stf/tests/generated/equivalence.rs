//! Verdicts on the equivalence of programs and their mutants agree with the interpreter.

use super::grammar::Grammar;
use super::mutate::mutants;
use super::{compiled, failures, script};
use ir::Program;
use pipeline::Switch;
use std::time::Duration;
use stf::Options;
use symbolic::equivalence::{Difference, Equivalence, equivalent};
use symbolic::generated::Test;
use symbolic::search;

/// Returns whether a test passes on the interpreter.
fn passes(program: &Program, test: &Test) -> bool {
    let mut switch = Switch::new(program.clone()).expect("a switch");
    match stf::run(&mut switch, &script(test), Options::default()) {
        Ok(report) => failures(&report).is_empty(),
        Err((line, error)) => panic!("line {line}: {error}\n{}", test.stf()),
    }
}

/// Returns the first packet of at most two bytes, with no entries, whose outputs differ.
fn differing_packet(first: &Program, second: &Program) -> Option<Vec<u8>> {
    let mut switches =
        [first, second].map(|program| Switch::new(program.clone()).expect("a switch"));
    let mut differs = |packet: &[u8]| {
        let [left, right] = &mut switches;
        let left = left.process(1, packet, Duration::ZERO).expect("a packet is processed");
        let right = right.process(1, packet, Duration::ZERO).expect("a packet is processed");
        left != right
    };
    let all = (0..=u16::MAX).map(|number| number.to_be_bytes().to_vec());
    let short = (0..=u8::MAX).map(|byte| vec![byte]);
    std::iter::once(Vec::new()).chain(short).chain(all).find(|packet| differs(packet))
}

#[test]
fn verdicts_on_mutants_agree_with_the_interpreter() {
    let (mut equal, mut different, mut undecided) = (0, 0, 0);
    for seed in 0..4 {
        let text = Grammar::new(seed).program();
        let program = compiled(&text);
        let all = mutants(&program);
        let step = (all.len() / 6).max(1);
        for mutant in all.iter().step_by(step) {
            let (first, second) = (program.clone(), mutant.program.clone());
            let options = search::Options::default();
            let verdict = ir::with_large_stack(move || equivalent(&first, &second, &options));
            let verdict = verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
            let fault = &mutant.fault;
            match verdict {
                Equivalence::Equal { .. } => {
                    equal += 1;
                    let differing = differing_packet(&program, &mutant.program);
                    assert_eq!(differing, None, "seed {seed}: {fault}\n{text}");
                }
                Equivalence::Different(difference) => {
                    different += 1;
                    let Difference { first, second } = *difference;
                    let stf = first.stf();
                    assert!(passes(&program, &first), "seed {seed}: {fault}\n{stf}\n{text}");
                    assert!(passes(&mutant.program, &second), "seed {seed}: {fault}\n{text}");
                    assert!(!passes(&mutant.program, &first), "seed {seed}: {fault}\n{text}");
                }
                Equivalence::Undecided(_) => undecided += 1,
            }
        }
    }
    assert!(equal >= 3 && different >= 8, "{equal} equal, {different} different");
    assert!(undecided <= 4, "{undecided} undecided");
}
