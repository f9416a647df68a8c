//! Runs the fuzz target `switch` on its corpus, and on inputs that are mutated from it, without a
//! fuzzer.

#[path = "../support/payloads.rs"]
mod running;

use pipeline::Path;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use running::Running;
use std::fs;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/switch");

fn corpus() -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        fs::read_dir(CORPUS).expect(CORPUS).map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a file")).collect()
}

#[test]
fn payloads_of_any_kind_cause_no_panic() {
    let corpus = corpus();
    let (mut accepted, mut left) = (0, 0);
    for path in [Path::Interpreter, Path::Compiled] {
        for input in &corpus {
            let mut running = Running::on(path);
            running.carry_out(input);
            accepted += running.accepted;
            left += running.left;
            running.check_restart();
        }
    }
    assert!(accepted > 150 && left > 50, "{accepted} updates accepted, {left} packets left");
}

#[test]
fn damaged_payloads_cause_no_panic() {
    let corpus = corpus();
    for seed in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut input = corpus[random.random_range(0..corpus.len())].clone();
        for _ in 0..random.random_range(1..20) {
            let at = random.random_range(0..input.len());
            match random.random_range(0..3) {
                0 => input[at] = random.random(),
                1 => input[at] ^= 1 << random.random_range(0..8),
                _ => drop(input.remove(at)),
            }
        }
        let mut running = Running::on(Path::Interpreter);
        running.carry_out(&input);
        running.check_restart();
    }
}
