//! Tests of deciding whether packets can take the paths of a program.

use device::program::{Path, paths};
use p4lang::compile_text;
use p4lang::preprocess::{DiskFiles, Options as Preprocessing};

use super::*;

/// Returns a v1model program whose parser extracts the header `h.a` of 8 bits.
fn program(parser: &str, declarations: &str, ingress: &str, egress: &str) -> Program {
    let text = format!(
        "#include <core.p4>
        #include <v1model.p4>
        error {{ Bad }}
        header t {{ bit<8> x; }}
        struct H {{ t a; t[3] s; }} struct M {{ bit<8> x; bit<16> y; bit<24> z; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ {parser} }}
        }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{
            {declarations}
            apply {{ {ingress} }}
        }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    compile_text("ways.p4", &text, &Preprocessing::default(), &DiskFiles)
        .program
        .expect("it compiles")
}

const EXTRACT: &str = "p.extract(h.a); transition accept;";

/// Returns each path of a program, with whether a packet can take it.
fn answers(program: &Program) -> Vec<(Path, Feasibility)> {
    let mut search = PathSearch::new(program, &Options::default()).expect("it is executed");
    let paths = paths(program).expect("paths");
    let decided = paths.into_iter().map(|path| {
        let are_all = path.choices.len() as u64 == path.ways;
        let found = search.decide(&path.choices, are_all).expect("an answer");
        (path, answer(found))
    });
    decided.collect()
}

/// Returns the answer for the only path whose parts of this kind are exactly `parts`.
fn answer_for<'a>(
    answers: &'a [(Path, Feasibility)],
    kind: &str,
    parts: &[&str],
) -> &'a Feasibility {
    let has = |(path, _): &&(Path, Feasibility)| {
        let own = path.parts.keys().filter(|part| part.starts_with(kind));
        own.map(String::as_str).eq(parts.iter().copied())
    };
    let found: Vec<_> = answers.iter().filter(has).collect();
    let [(_, answer)] = found.as_slice() else { panic!("{parts:?}: {found:?}") };
    answer
}

/// Returns the first byte of the packet that takes a path to its end.
fn first_byte(feasibility: &Feasibility) -> u8 {
    let Feasibility::Feasible(witness) = feasibility else { panic!("{feasibility:?}") };
    let digits = witness.packet.get(..2).expect("a byte");
    u8::from_str_radix(digits, 16).expect("hexadecimal digits")
}

const TWO_BRANCHES: &str =
    "if (h.a.x > 100) { m.x = 1; } if (h.a.x < 50) { m.y = 2; } s.egress_spec = 1;";

#[test]
fn sides_that_exclude_each_other_are_infeasible_and_others_have_packets() {
    let answers = answers(&program(EXTRACT, "", TWO_BRANCHES, ""));
    assert_eq!(answers.len(), 4);
    let of = |parts: &[&str]| answer_for(&answers, "assign", parts);
    assert_eq!(*of(&["assign 16", "assign 8", "assign 9"]), Feasibility::Infeasible);
    assert!(first_byte(of(&["assign 8", "assign 9"])) > 100);
    assert!(first_byte(of(&["assign 16", "assign 9"])) < 50);
    assert!((50..=100).contains(&first_byte(of(&["assign 9"]))));
}

/// A path that stands for several paths of equal cost is feasible if one of them is.
#[test]
fn paths_that_cost_the_same_are_decided_together() {
    let ingress = "if (h.a.x > 100) { m.x = 1; } if (h.a.x < 50) { m.x = 2; } s.egress_spec = 1;";
    let answers = answers(&program(EXTRACT, "", ingress, ""));
    // Both branches, one of the two, none.
    assert_eq!(answers.len(), 3);
    let of = |count: u32| {
        let has = |(path, _): &&(Path, Feasibility)| {
            path.parts.get("assign 8").copied().unwrap_or(0) == count
        };
        answers.iter().find(has).expect("a path")
    };
    assert_eq!((of(1).0.ways, of(1).0.choices.len()), (2, 2));
    assert_eq!(of(2).1, Feasibility::Infeasible);
    assert!(!(50..=100).contains(&first_byte(&of(1).1)));
    assert!((50..=100).contains(&first_byte(&of(0).1)));
}

/// If some paths were left out, the infeasibility of the others proves nothing.
#[test]
fn paths_that_were_left_out_are_not_called_infeasible() {
    let program = program(EXTRACT, "", TWO_BRANCHES, "");
    let mut search = PathSearch::new(&program, &Options::default()).expect("it is executed");
    let paths = paths(&program).expect("paths");
    let both = paths
        .iter()
        .find(|path| path.parts.contains_key("assign 16") && path.parts.contains_key("assign 8"));
    let both = both.expect("a path");
    let found = search.decide(&both.choices, false).expect("an answer");
    assert!(matches!(found, search::Feasibility::GivenUp(_)), "{found:?}");
}

/// A dropped packet does not enter the egress, so it takes only the first part of a path. The cost
/// of this part must be counted.
#[test]
fn paths_of_dropped_packets_are_cut_short() {
    let ingress = "if (h.a.x > 100) { mark_to_drop(s); } else { s.egress_spec = 1; }";
    let egress = "if (h.a.x < 50) { m.y = 2; } else { m.z = 3; }";
    let answers = answers(&program(EXTRACT, "", ingress, egress));
    assert_eq!(answers.len(), 4);
    for (path, answer) in &answers {
        let drops = path.parts.contains_key("extern mark_to_drop");
        match answer {
            Feasibility::CutShort(witness) => {
                assert!(drops, "{path:?}");
                let byte = u8::from_str_radix(&witness.packet[..2], 16).expect("a byte");
                assert!(byte > 100);
            }
            other => {
                assert!(!drops, "{path:?}: {other:?}");
                let byte = first_byte(other);
                assert!(byte <= 100 && (byte < 50) == path.parts.contains_key("assign 16"));
            }
        }
    }
}

/// A header stack of three elements has no room for a fourth header.
#[test]
fn visits_of_parser_states_are_counted() {
    let parser = "p.extract(h.s.next);
        transition select(h.s.last.x) { 1: start; default: accept; }";
    let answers = answers(&program(parser, "", "s.egress_spec = 1;", ""));
    for (path, answer) in &answers {
        let extracted = path.parts.get("extract 8").copied().unwrap_or(0) as usize;
        if extracted > 3 {
            assert_eq!(*answer, Feasibility::Infeasible, "{extracted} headers");
            continue;
        }
        let Feasibility::Feasible(witness) = answer else { panic!("{extracted}: {answer:?}") };
        let continued = "01".repeat(extracted - 1);
        let rest = witness.packet.strip_prefix(continued.as_str()).expect("further headers");
        assert!(!rest.is_empty() && !rest.starts_with("01"), "{}", witness.packet);
    }
    assert!(answers.len() > 3);
}

/// A second table matches on a value that an action of the first has written. The packet that takes
/// the path needs a table entry.
#[test]
fn actions_of_tables_depend_on_earlier_ones() {
    let declarations = "action low() { m.x = 1; } action high() { m.x = 200; }
        action one() { m.y = 1; } action two() { m.z = 1; }
        table first { key = { h.a.x: exact; } actions = { low; high; }
            default_action = low(); }
        table second { key = { h.a.x: exact; } actions = { one; two; }
            default_action = one(); }";
    let ingress = "first.apply(); if (m.x > 100) { second.apply(); } s.egress_spec = 1;";
    let answers = answers(&program(EXTRACT, declarations, ingress, ""));
    for (path, answer) in &answers {
        let has = |text: &str| path.decisions.iter().any(|decision| decision.contains(text));
        let alternatives = path.choices.len();
        if has("second: ") || alternatives > 1 {
            // The first table may have run either action on paths that cost the same.
            assert!(matches!(answer, Feasibility::Feasible(_)), "{path:?}: {answer:?}");
        }
        if let Feasibility::Feasible(witness) = answer
            && has("second: ")
        {
            assert!(witness.script.contains("high"), "{}", witness.script);
        }
    }
    assert!(answers.iter().any(|(_, answer)| answer.witness().is_some()));
}

/// Clones take paths of their own, but only the packet itself passes the ingress, which suffices
/// for the proof.
#[test]
fn programs_that_clone_have_infeasible_paths_too() {
    let egress = "if (s.instance_type == 0) { clone(CloneType.E2E, 5); }";
    let answers = answers(&program(EXTRACT, "", TWO_BRANCHES, egress));
    for (path, answer) in &answers {
        let both = path.parts.contains_key("assign 16") && path.parts.contains_key("assign 8");
        assert_eq!(*answer == Feasibility::Infeasible, both, "{path:?}: {answer:?}");
    }
}

/// A packet may take a path in a later pass through the pipeline, which the search does not follow.
#[test]
fn paths_of_later_passes_are_not_called_infeasible() {
    let ingress = "if (s.instance_type == 0) { m.x = 1; } else { m.y = 2; } s.egress_spec = 1;";
    let egress = "if (h.a.x == 7) { recirculate_preserving_field_list(0); }";
    let answers = answers(&program(EXTRACT, "", ingress, egress));
    assert_eq!(answers.len(), 4);
    for (path, answer) in &answers {
        assert_ne!(*answer, Feasibility::Infeasible, "{path:?}");
    }
    assert!(answers.iter().any(|(_, answer)| answer.witness().is_some()));
}

/// A path contains one iteration of a loop, and stands for packets that run several.
#[test]
fn paths_with_a_turn_of_a_loop_are_not_called_infeasible() {
    let ingress = "for (bit<8> i = 0; i < 4; i = i + 1) { m.y = 2; } s.egress_spec = 1;";
    let answers = answers(&program(EXTRACT, "", ingress, ""));
    assert_eq!(answers.len(), 2);
    let once = answer_for(&answers, "assign 16", &["assign 16"]);
    assert!(matches!(once, Feasibility::GivenUp(_)), "{once:?}");
    assert_eq!(*answer_for(&answers, "assign 16", &[]), Feasibility::Infeasible);
}

/// A packet that the parser rejects takes the shorter path, with an error of the program or of the
/// core language.
#[test]
fn rejected_packets_take_paths_of_their_own() {
    for error in ["Bad", "HeaderTooShort", "NoError"] {
        let parser = format!(
            "p.extract(h.a); verify(h.a.x < 50, error.{error}); p.extract(h.s.next);
            transition accept;"
        );
        let answers = answers(&program(&parser, "", "s.egress_spec = 1;", ""));
        assert_eq!(answers.len(), 2);
        for (path, answer) in &answers {
            let accepted = path.parts.get("extract 8") == Some(&2);
            assert_eq!(first_byte(answer) < 50, accepted, "{error}: {path:?}: {answer:?}");
        }
    }
}

/// If a parser can reject packets at several positions, the search cannot tell at which of them it
/// rejects a packet.
#[test]
fn places_of_rejection_are_not_mistaken_for_each_other() {
    let parser = "p.extract(h.a); verify(h.a.x > 9, error.Bad); p.extract(h.s.next);
        verify(h.a.x < 50, error.Bad); p.extract(h.s.next); transition accept;";
    let answers = answers(&program(parser, "", "s.egress_spec = 1;", ""));
    assert_eq!(answers.len(), 3);
    for (path, answer) in &answers {
        match path.parts.get("extract 8") {
            Some(3) => assert!((10..50).contains(&first_byte(answer))),
            _ => assert!(matches!(answer, Feasibility::GivenUp(_)), "{path:?}: {answer:?}"),
        }
    }
}

/// Returns the task to try the paths of a program, first the one that no packet takes.
fn task(effort: Effort) -> Task {
    let program = program(EXTRACT, "", TWO_BRANCHES, "");
    let mut paths = paths(&program).expect("paths");
    paths.sort_by_key(|path| std::cmp::Reverse(path.parts.len()));
    let paths = paths.into_iter().map(|path| Sought { choices: path.choices, are_all: true });
    Task {
        effort,
        paths: paths.collect(),
        program,
        interrupt: Arc::default(),
        steps: Arc::default(),
        found: Arc::default(),
    }
}

#[test]
fn a_search_goes_on_to_a_path_that_is_not_infeasible_unless_it_must_end() {
    let effort = Effort { witnesses: 1, conflicts: 20_000, time: Duration::MAX, seed: 1 };
    let whole = task(effort);
    assert_eq!(whole.run().expect("an end"), End::Complete);
    let found = locked(&whole.found);
    let [Feasibility::Infeasible, Feasibility::Feasible(_)] = found.as_slice() else {
        panic!("{found:?}")
    };
    let late = task(Effort { time: Duration::ZERO, ..effort });
    assert_eq!(late.run().expect("an end"), End::TimeOver);
    let stopped = task(effort);
    stopped.interrupt.store(true, Ordering::SeqCst);
    assert_eq!(stopped.run().expect("an end"), End::Interrupted);
    assert!(locked(&late.found).is_empty() && locked(&stopped.found).is_empty());
}
