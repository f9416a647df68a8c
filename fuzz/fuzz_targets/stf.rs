//! Fuzzes STF scripts. Each is run against the program of this project that has the most tables
//! whose names are in the script.

#![no_main]

use std::sync::LazyLock;

use ir::Program;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use pipeline::Switch;
use planimeter_fuzz::{switch, text};
use stf::{Options, Script, run};

const SOURCES: [&str; 5] = [
    include_str!("../../programs/heavy_hitter.p4"),
    include_str!("../../programs/load_balancer.p4"),
    include_str!("../../programs/nic_switch.p4"),
    include_str!("../../programs/psa_mirror.p4"),
    include_str!("../../programs/router.p4"),
];

static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    SOURCES.map(|source| switch::compile(source).expect("our programs compile")).into()
});

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(script) = Script::parse(text) else { return };
    let named = |program: &&Program| {
        program.tables.iter().filter(|table| text.contains(table.name.as_str())).count()
    };
    let program = PROGRAMS.iter().max_by_key(named).expect("there are some");
    for strict in [false, true] {
        let mut switch = Switch::new(program.clone()).expect("our programs run");
        let options = Options { strict, every_port: strict, ..Options::default() };
        match run(&mut switch, &script, options) {
            Ok(report) => report.failures.iter().for_each(|failure| drop(failure.to_string())),
            Err((line, error)) => assert!(line > 0, "{error}"),
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    text::mutate(data, size, max_size, seed)
});
