//! Tests of the programs of this project with their scripts.

use crate::both::Both;
use crate::translated::translated;
use ir::with_large_stack;
use p4lang::compile_file;
use p4lang::preprocess::{DiskFiles, Options as Preprocessor};
use pipeline::{ActionCall, Compiled, EntryAction, FieldMatch, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stf::{Options, Script, run};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let entries = fs::read_dir(folder).expect("the programs");
    let mut programs: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "p4"))
        .collect();
    programs.sort();
    programs
}

fn program(path: &Path) -> ir::Program {
    let compiled = with_large_stack(|| compile_file(path, &Preprocessor::default(), &DiskFiles));
    let compiled = compiled.expect("a thread").expect("the program");
    compiled.program.expect("a program without errors")
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// The snapshot lists, for each program, the steps that machine code leaves to the interpreter, and
/// the reason why packets do not go in bursts.
#[test]
fn what_code_leaves_to_the_interpreter_is_said_with_its_place() {
    let mut lines = Vec::new();
    for path in programs() {
        let name = name(&path);
        let switch = Switch::new(program(&path)).expect("a program that can be run");
        let code = Compiled::new(&switch).unwrap_or_else(|error| panic!("{error}"));
        lines.push(name.clone());
        for (place, what) in code.interpreted() {
            // A place in the program's own file needs no name, and one in an included file only
            // the name below the folder of the programs.
            let place = place.rsplit_once(&name).map_or(place, |(_, place)| place);
            let place = place.rsplit_once("/programs/").map_or(place, |(_, place)| place);
            lines.push(format!("  {place}: {what}"));
        }
        lines.extend(code.one_by_one().map(|why| format!("  one by one: {why}")));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn scripts_receive_the_packets_of_the_interpreter() {
    let mut scripts = 0;
    for path in programs() {
        let Ok(text) = fs::read_to_string(path.with_extension("stf")) else { continue };
        let script = Script::parse(&text).expect("a script");
        let program = program(&path);
        // Programs of PSA run as on BMv2's psa_switch, and as the specification says.
        for specification in [false, true] {
            let options =
                Options { every_port: true, strict: true, specification, ..Options::default() };
            let mut interpreted = Switch::new(program.clone()).expect("a program that can be run");
            let mut compiled = Switch::new(program.clone()).expect("a program that can be run");
            let types = translated(&program);
            interpreted.set_translated(Arc::clone(&types));
            compiled.set_translated(types);
            compiled.follow_psa_switch(!specification);
            compiled.compile().unwrap_or_else(|error| panic!("{error}"));
            let expected = run(&mut interpreted, &script, options).expect("a script that fits");
            let found = run(&mut compiled, &script, options).expect("a script that fits");
            assert!(compiled.compiled().is_some(), "{path:?} went back to the interpreter");
            assert_eq!(expected.failures, found.failures, "{path:?}");
            assert_eq!(expected.sent, found.sent, "{path:?}");
            assert_eq!(expected.values, found.values, "{path:?}");
            assert_eq!(interpreted.take_digests(), compiled.take_digests(), "{path:?}");
            assert!(specification || found.failures.is_empty(), "{path:?}: {:?}", found.failures);
            assert!(!found.received.is_empty(), "{path:?} sends no packet");
            let packets: Vec<&[u8]> =
                found.received.iter().map(|(_, _, packet)| packet.as_slice()).collect();
            let mut random = ChaCha8Rng::seed_from_u64(scripts);
            for round in 0..400 {
                let packet = changed(packets[round % packets.len()], &mut random);
                let port = random.random_range(0..8);
                let now = Duration::from_secs(1000) + Duration::from_millis(round as u64);
                let expected = interpreted.process(port, &packet, now);
                let found = compiled.process(port, &packet, now);
                assert_eq!(expected, found, "{path:?}, port {port}, packet {packet:02x?}");
            }
            assert_eq!(interpreted.take_digests(), compiled.take_digests(), "{path:?}");
            scripts += 1;
        }
    }
    assert!(scripts >= 20, "{scripts} scripts");
}

/// Returns a packet of a script with some random bytes, possibly truncated.
fn changed(packet: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut packet = packet.to_vec();
    for _ in 0..random.random_range(0..4) {
        let position = random.random_range(0..packet.len());
        packet[position] = random.random();
    }
    if random.random_range(0..4) == 0 {
        packet.truncate(random.random_range(0..=packet.len()));
    }
    packet
}

fn call(switch: &Switch, table: &str, action: &str, arguments: &[u128]) -> ActionCall {
    let table = switch.table_named(table).expect("a table");
    let action = switch.action_named(table, action).expect("an action");
    let bits = |number: &u128| ir::bits::Bits::unsigned(128, *number);
    let arguments: Vec<_> = arguments.iter().map(bits).collect();
    switch.action_call(action, &arguments).expect("arguments")
}

#[test]
fn a_switch_with_entries_and_groups_has_the_same_outputs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let mut both = Both::new(&program(&folder.join("l2.p4")));
    let bits = |number: u128, width: u32| ir::bits::Bits::unsigned(width, number);
    both.each(|switch| {
        let table = switch.table_named("l2").expect("the table");
        for (priority, destination) in [(10, 0x0102), (20, 0)] {
            let mask = bits(0xffff << 32, 48);
            let matches = vec![
                FieldMatch::Any,
                FieldMatch::Any,
                FieldMatch::Ternary { value: bits(destination << 32, 48), mask },
                FieldMatch::Any,
            ];
            let action = call(switch, "l2", "set_egress_port", &[destination % 7]);
            let action = EntryAction::Action(action);
            let entry = TableEntry { matches, priority, action, idle_timeout: None };
            switch.add_entry(table, entry, Duration::ZERO).expect("an entry");
        }
        let to_cpu = call(switch, "l2", "send_to_cpu", &[]);
        switch.set_default_action(table, Some(to_cpu)).expect("a default action");
    });
    assert!(both.random_packets(1, 4000, 70) > 1000);
}

/// The ports of the program are of a type that it gives to v1model itself.
#[test]
fn the_data_centre_switch_has_the_same_outputs_with_ports_of_32_bits() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/middleblock.p4");
    let options = Preprocessor { defines: vec!["PORT_WIDTH=32".to_owned()], ..Default::default() };
    let compiled = with_large_stack(|| compile_file(&path, &options, &DiskFiles));
    let program = compiled.expect("a thread").expect("the program").program;
    let program = program.expect("a program without errors");
    let script = fs::read_to_string(path.with_extension("stf")).expect("the script");
    // The headers of packets from and to the controllers are longer, so their packets differ.
    let mut kept = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("packet 255 ") {
            lines.next();
        } else if !line.starts_with("expect 255 ") {
            kept.push(line);
        }
    }
    let script = Script::parse(&kept.join("\n")).expect("a script");
    let options = Options { strict: true, ..Options::default() };
    let mut interpreted = Switch::new(program.clone()).expect("a program that can be run");
    let mut compiled = Switch::new(program).expect("a program that can be run");
    compiled.compile().unwrap_or_else(|error| panic!("{error}"));
    let expected = run(&mut interpreted, &script, options).expect("a script that fits");
    let found = run(&mut compiled, &script, options).expect("a script that fits");
    assert_eq!((&expected.failures, &found.failures), (&vec![], &vec![]));
    assert_eq!(expected.sent, found.sent);
    let at_controllers = |(_, port, _): &&(Duration, u32, Vec<u8>)| *port == 255;
    let copy = found.sent.iter().find(at_controllers).expect("a copy for the controllers");
    // The packet of the script's first trap came by port 1 and leaves by none; its queue is 3.
    assert_eq!(copy.2[..9], [0, 0, 0, 1, 0, 0, 0, 0, 3 << 2]);
}
