//! Verdicts on the equivalence of programs and their mutants agree with the interpreter.

use super::grammar::Grammar;
use super::mutate::mutants;
use super::sequences::v1model;
use super::{compiled, failures, script};
use ir::Program;
use pipeline::Switch;
use std::time::Duration;
use stf::Options;
use symbolic::equivalence::{
    Difference, Equivalence, PairError, TablePairs, equivalent, equivalent_with,
};
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

/// Returns a program that looks up its packets in a table.
fn looking_up(table: &str, parameter: &str, after: &str) -> Program {
    let objects = format!(
        "action send(bit<9> {parameter}) {{ s.egress_spec = {parameter}; }}
        table {table} {{
            key = {{ h.a.x: exact; }}
            actions = {{ send; NoAction; }}
            default_action = NoAction();
        }}"
    );
    compiled(&v1model(&objects, &format!("{table}.apply(); {after}")))
}

/// Compares two programs, of which tables are paired by hand.
fn with_pairs(first: &Program, second: &Program, pairs: &[(&str, &str)]) -> Equivalence {
    let owned = |(left, right): &(&str, &str)| ((*left).to_owned(), (*right).to_owned());
    let pairs: Vec<(String, String)> = pairs.iter().map(owned).collect();
    let pairs = TablePairs::new(first, second, &pairs).expect("pairs");
    let options = search::Options::default();
    let verdict = ir::with_large_stack(|| equivalent_with(first, second, &pairs, &options));
    verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn tables_that_are_paired_by_hand_have_the_same_entries() {
    let first = looking_up("routes", "port", "");
    let second = looking_up("paths", "to", "");
    let found = with_pairs(&first, &second, &[]);
    let Equivalence::Different(difference) = found else { panic!("{found:?}") };
    assert!(passes(&first, &difference.first) && passes(&second, &difference.second));
    let found = with_pairs(&first, &second, &[("routes", "I.paths")]);
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");

    // Only a packet that hits an entry for port 7 shows the difference.
    let third = looking_up("paths", "to", "if (s.egress_spec == 7) { h.a.y = h.a.y + 1; }");
    let found = with_pairs(&first, &third, &[("routes", "paths")]);
    let Equivalence::Different(difference) = found else { panic!("{found:?}") };
    let Difference { first: of_first, second: of_third } = *difference;
    assert!(passes(&first, &of_first), "{}", of_first.stf());
    assert!(passes(&third, &of_third), "{}", of_third.stf());
    assert_ne!(of_first.outputs, of_third.outputs);
    // Each script has the names of its program.
    for (test, table, parameter) in [(&of_first, "I.routes", "port"), (&of_third, "I.paths", "to")]
    {
        let entry = test.entries.first().expect("an entry");
        assert_eq!(entry.table, table);
        assert_eq!(entry.action.arguments, [(parameter.to_owned(), "0x7".to_owned())]);
    }
}

/// A table that is paired by hand has no longer the entries of the table with its name.
#[test]
fn pairs_by_hand_replace_pairs_by_name() {
    let objects = |first: &str, second: &str| {
        format!(
            "action send(bit<9> port) {{ s.egress_spec = port; }}
            table {first} {{
                key = {{ h.a.x: exact; }}
                actions = {{ send; NoAction; }}
                const default_action = NoAction();
            }}
            table {second} {{
                key = {{ h.a.x: exact; }}
                actions = {{ send; NoAction; }}
                const default_action = NoAction();
            }}"
        )
    };
    let apply =
        |first: &str, second: &str| format!("if (!{first}.apply().hit) {{ {second}.apply(); }}");
    let first = compiled(&v1model(&objects("a", "b"), &apply("a", "b")));
    let second = compiled(&v1model(&objects("a", "b"), &apply("b", "a")));
    let found = with_pairs(&first, &first, &[]);
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    let found = with_pairs(&first, &second, &[]);
    assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
    let found = with_pairs(&first, &second, &[("a", "b"), ("b", "a")]);
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    // The tables that are left over are free, although one of them has the name of a paired one.
    let found = with_pairs(&first, &second, &[("a", "b")]);
    assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
}

#[test]
fn pairs_that_name_no_table_or_a_table_twice_are_refused() {
    let program = looking_up("routes", "port", "");
    let pairs = |pairs: &[(&str, &str)]| {
        let owned = |(left, right): &(&str, &str)| ((*left).to_owned(), (*right).to_owned());
        let pairs: Vec<(String, String)> = pairs.iter().map(owned).collect();
        TablePairs::new(&program, &program, &pairs)
    };
    assert!(pairs(&[("routes", "I.routes")]).is_ok());
    let unknown = pairs(&[("routes", "outes")]);
    assert!(matches!(unknown, Err(PairError::NoTable { program: "second", .. })), "{unknown:?}");
    let twice = pairs(&[("routes", "routes"), ("I.routes", "routes")]);
    assert!(matches!(twice, Err(PairError::Twice { program: "first", .. })), "{twice:?}");
}

/// The entry that a key without a value needs matches all keys, so also those of the other program.
/// Together, the programs then transmit the same packets.
#[test]
fn entries_of_one_program_are_tried_on_the_keys_of_the_other() {
    let of = |key: &str| {
        let objects = format!(
            "bit<8> unset;
            action send(bit<9> port) {{ s.egress_spec = port; }}
            table t {{
                key = {{ {key}: ternary; }}
                actions = {{ send; NoAction; }}
                const default_action = NoAction();
            }}"
        );
        compiled(&v1model(&objects, "t.apply();"))
    };
    let (unset, set) = (of("unset"), of("h.a.x"));
    for (first, second) in [(&unset, &set), (&set, &unset)] {
        let found = with_pairs(first, second, &[]);
        assert!(matches!(found, Equivalence::Undecided(_)), "{found:?}");
    }
    // Keys of other names are compared by their positions.
    let other = of("h.a.y");
    let found = with_pairs(&set, &other, &[]);
    let Equivalence::Different(difference) = found else { panic!("{found:?}") };
    let Difference { first: of_set, second: of_other } = *difference;
    assert!(passes(&set, &of_set), "{}", of_set.stf());
    assert!(passes(&other, &of_other), "{}", of_other.stf());
}
