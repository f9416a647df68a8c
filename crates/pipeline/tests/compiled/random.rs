//! Tests of programs that the grammar generates from seeds.

use crate::differential::Case;
use pipeline::Way;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

/// The number of programs. Each gets [`INPUTS`] inputs.
const PROGRAMS: u64 = 64;
const INPUTS: usize = 60;

/// The largest number of differences that one run reports.
const REPORTED: usize = 5;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}

/// `PLANIMETER_SEED` sets the first seed, and `PLANIMETER_PROGRAMS` the number of programs.
#[test]
fn generated_programs_with_all_constructs_have_the_same_results() {
    let first = number("PLANIMETER_SEED").unwrap_or(1);
    let programs = number("PLANIMETER_PROGRAMS").unwrap_or(PROGRAMS);
    let (mut left, mut heads, mut taken) = (0, 0_u64, BTreeMap::<Way, u64>::new());
    let mut different = Vec::new();
    for seed in first..first + programs {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let case = Case::new(&mut |bound| random.random_range(0..bound.max(1)), INPUTS);
        heads += u64::from(case.has_heads());
        match case.difference() {
            Ok(outcome) => {
                left += outcome.left;
                outcome.ways.iter().for_each(|way| *taken.entry(*way).or_default() += 1);
            }
            Err(found) => {
                let small = case.smallest();
                let again = small.difference().err().unwrap_or_default();
                different.push(format!(
                    "seed {seed}: {found}\n\nsmallest program:\n{}\n\ninputs: {:02x?}\n{again}",
                    small.source.text(),
                    small.inputs
                ));
            }
        }
        if different.len() == REPORTED {
            break;
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
    println!("seeds from {first}: {left} packets left, programs on each way: {taken:?}");
    assert!(left > programs as usize * 4, "only {left} packets left");
    // Some of the programs go each way.
    for way in [Way::Driver, Way::Blocks, Way::Stages, Way::Fused, Way::Prefetched] {
        let went = taken.get(&way).copied().unwrap_or(0);
        assert!(went * 50 > programs, "only {went} of {programs} programs went by {way}");
    }
    assert!(heads * 24 > programs, "only {heads} programs can do without payloads");
}
