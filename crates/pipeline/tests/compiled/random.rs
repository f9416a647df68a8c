//! Programs of the grammar, by seed.

use crate::differential::Case;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Programs; each gets [`INPUTS`].
const PROGRAMS: u64 = 48;
const INPUTS: usize = 60;

#[test]
fn generated_programs_with_all_constructs_give_the_same() {
    let first = std::env::var("PLANIMETER_SEED").ok().and_then(|seed| seed.parse().ok());
    let first: u64 = first.unwrap_or(1);
    let mut left = 0;
    for seed in first..first + PROGRAMS {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let case = Case::new(&mut |bound| random.random_range(0..bound.max(1)), INPUTS);
        match case.difference() {
            Ok(packets) => left += packets,
            Err(found) => {
                let small = case.smallest();
                let again = small.difference().err().unwrap_or_default();
                panic!(
                    "seed {seed}: {found}\n\nsmallest program:\n{}\n\ninputs: {:02x?}\n{again}",
                    small.source.text(),
                    small.inputs
                );
            }
        }
    }
    assert!(left > PROGRAMS as usize * 5, "only {left} packets left");
}
