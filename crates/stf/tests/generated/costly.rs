//! The paths on which packets have the largest weight, and how often they reach what they reach.

use crate::{compiled, generated, script};
use ir::Program;
use pipeline::{Coverage, PartKind, Switch};
use std::collections::HashMap;
use stf::Options;
use symbolic::generated::Test;
use symbolic::goals::Kind;
use symbolic::search::{self, Costliest, CostlyWish, ShortageReason, costliest};

/// A program whose parser returns to a state for each element of a stack, and that calls an action
/// twice under one condition.
const REPEATING: &str = r"
#include <core.p4>
#include <v1model.p4>
header link_t { bit<8> more; bit<8> port; }
struct headers { link_t[3] links; }
struct metadata { bit<8> turns; }
parser P(packet_in packet, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { transition link; }
    state link {
        packet.extract(h.links.next);
        transition select(h.links.last.more) { 1: link; default: accept; }
    }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action turn() { m.turns = m.turns + 1; }
    action forward(bit<9> port) { s.egress_spec = port; }
    table ports {
        key = { h.links[0].port: exact; }
        actions = { forward; turn; }
        default_action = turn();
    }
    apply {
        m.turns = 0;
        ports.apply();
        if (h.links[1].isValid()) { turn(); turn(); }
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out packet, in headers h) { apply { packet.emit(h.links); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// Returns the numbers of times that the interpreter reaches states, hits and misses in a test, by
/// their names.
fn counted(program: &Program, test: &Test) -> HashMap<String, u64> {
    let mut switch = Switch::new(program.clone()).expect("a switch");
    let mut coverage = Coverage::new(program);
    stf::run_covered(&mut switch, &script(test), Options::default(), &mut coverage)
        .unwrap_or_else(|(line, error)| panic!("line {line}: {error}\n{}", test.stf()));
    let parts = coverage.parts(PartKind::State).chain(coverage.parts(PartKind::Table));
    parts.map(|part| (part.name.clone(), part.count)).collect()
}

fn searched(program: &Program, wish: &CostlyWish<'_>) -> Costliest {
    let options = search::Options::default();
    let found = ir::with_large_stack(|| costliest(program, wish, &options));
    found.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn packets_reach_parts_as_often_as_on_the_interpreter() {
    let program = compiled(REPEATING);
    let report = generated(&program, 1);
    let mut most = 0;
    for ((test, reached), times) in report.tests.iter().zip(&report.reached).zip(&report.times) {
        let counts = counted(&program, test);
        assert_eq!(reached.len(), times.len());
        for (position, times) in reached.iter().zip(times) {
            let (goal, _) = &report.goals[*position];
            if matches!(goal.kind, Kind::State | Kind::Table) {
                assert_eq!(counts[&goal.name], u64::from(*times), "{}\n{}", goal.name, test.stf());
                most = most.max(*times);
            }
        }
    }
    assert!(most > 1, "no test repeats a state");
}

#[test]
fn weights_that_count_each_time_find_the_packet_that_repeats_most() {
    let program = compiled(REPEATING);
    let goals = symbolic::goals::list(&program);
    let of_link = |name: &str| u32::from(name == "P.link") * 7;
    let weights: Vec<u32> = goals.iter().map(|(_, goal)| of_link(&goal.name)).collect();
    let wish = |each_time: bool| CostlyWish {
        weights: &weights,
        each_time,
        per_output: 1,
        lengths: &[20],
        count: 1,
        fixed: &[],
    };
    let once = searched(&program, &wish(false));
    assert_eq!((once.paths[0].weight, once.paths[0].bound), (8, 8), "{:?}", once.paths[0].test);
    let found = searched(&program, &wish(true));
    let best = &found.paths[0];
    // The stack has three elements, so the state is reached four times if its last turn fails.
    let turns = counted(&program, &best.test)["P.link"];
    assert!(turns >= 3, "{turns}\n{}", best.test.stf());
    let sent = best.test.outputs.len() as u64;
    assert_eq!(best.weight, 7 * turns + sent);
    assert_eq!(best.weight, best.bound, "the solver proves that there is no costlier one");
}

#[test]
fn a_search_that_finds_too_few_paths_says_why() {
    let program = compiled(REPEATING);
    let goals = symbolic::goals::list(&program);
    let of_actions = |kind: Kind| u32::from(kind == Kind::Action);
    let weights: Vec<u32> = goals.iter().map(|(_, goal)| of_actions(goal.kind)).collect();
    let wish = CostlyWish {
        weights: &weights,
        each_time: false,
        per_output: 0,
        lengths: &[20],
        count: 100,
        fixed: &[],
    };
    let found = searched(&program, &wish);
    // The table runs one action or the other.
    assert_eq!(found.paths.len(), 2);
    let short = &found.short[0];
    assert_eq!((short.length, short.wanted, short.found), (20, 100, 2));
    assert_eq!(short.reason, ShortageReason::NoMore);
    let text = short.to_string();
    assert!(text.contains("2 of 100 paths") && text.contains("20 bytes"), "{text}");
    let enough = searched(&program, &CostlyWish { count: 2, ..wish });
    assert_eq!((enough.paths.len(), enough.short.len()), (2, 0));
}
