//! Fuzzes STF scripts. Each is run against the program of this project that has the most tables
//! whose names are in the script.

use std::sync::LazyLock;

use crate::{switch, text};
use ir::Program;
use pipeline::Switch;
use stf::{Options, Script};

const SOURCES: [&str; 5] = [
    include_str!("../../../programs/heavy_hitter.p4"),
    include_str!("../../../programs/load_balancer.p4"),
    include_str!("../../../programs/nic_switch.p4"),
    include_str!("../../../programs/psa_mirror.p4"),
    include_str!("../../../programs/router.p4"),
];

static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    SOURCES.map(|source| switch::compile(source).expect("our programs compile")).into()
});

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(script) = Script::parse(text) else { return };
    let named = |program: &&Program| {
        program.tables.iter().filter(|table| text.contains(table.name.as_str())).count()
    };
    let program = PROGRAMS.iter().max_by_key(named).expect("there are some");
    for strict in [false, true] {
        let mut switch = Switch::new(program.clone()).expect("our programs run");
        let options = Options { strict, every_port: strict, ..Options::default() };
        match stf::run(&mut switch, &script, options) {
            Ok(report) => report.failures.iter().for_each(|failure| drop(failure.to_string())),
            Err((line, error)) => assert!(line > 0, "{error}"),
        }
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
