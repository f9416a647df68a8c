//! Runs every target on its corpus, and on mutations of it, whose seed is printed. The guided
//! search for inputs that reach new code is that of `.ci/fuzz`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use planimeter_fuzz::bytes;
use planimeter_fuzz::random::Random;
use planimeter_fuzz::targets::{TARGETS, Target};

/// The longest input that is made, in bytes.
const MAX_LENGTH: usize = 1 << 16;
/// The number of inputs that are made for each target.
const INPUTS: u32 = 200;
/// The time after which no more inputs are made for a target.
const LIMIT: Duration = Duration::from_secs(2);

fn folder(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(part)
}

/// Returns the names of the files in a folder, without their endings.
fn names(part: &str) -> Vec<String> {
    let entries = fs::read_dir(folder(part)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let names = paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Returns the inputs of the corpus of a target, except those that libFuzzer has added, whose names
/// are hashes.
fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder("corpus").join(target.name)).expect("a corpus");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let is_hash = |name: &str| name.len() == 40 && name.bytes().all(|one| one.is_ascii_hexdigit());
    paths.retain(|path| !path.file_name().and_then(|name| name.to_str()).is_some_and(is_hash));
    paths.sort();
    let read = |path: PathBuf| {
        let input = fs::read(&path).expect("an input");
        (path, input)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_target_has_an_executable_and_a_corpus() {
    let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names("fuzz_targets"), all);
    assert_eq!(names("corpus"), all);
    for target in TARGETS {
        assert!(!corpus(target).is_empty(), "{}", target.name);
    }
}

#[test]
fn no_input_of_a_corpus_breaks_its_target() {
    for target in TARGETS {
        for (path, input) in corpus(target) {
            println!("{}", path.display());
            (target.run)(&input);
        }
    }
}

#[test]
fn no_mutation_of_a_corpus_breaks_its_target() {
    for target in TARGETS {
        let corpus = corpus(target);
        let begin = Instant::now();
        let mut random = Random::new(1);
        for seed in 0..INPUTS {
            let (path, input) = random.pick(&corpus);
            let length = input.len().min(MAX_LENGTH);
            let mut data = input[..length].to_vec();
            data.resize(MAX_LENGTH, 0);
            let mutate = target.mutate.unwrap_or(bytes::mutate);
            let length = mutate(&mut data, length, MAX_LENGTH, seed);
            println!("{}, seed {seed}", path.display());
            (target.run)(&data[..length]);
            if begin.elapsed() > LIMIT {
                println!("{}: {seed} mutations within {LIMIT:?}", target.name);
                break;
            }
        }
    }
}
