//! Searches on a device whose program constrains entries and arguments, and on devices that do not
//! check one part of a constraint.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use made_server::{Faults, Proxy};
use protos::config::P4Info;
use protos::v1::GetForwardingPipelineConfigResponse as Pipeline;
use tonic::Status;

use super::{at, lines};
use crate::fuzz::fuzz_on;
use crate::{ConstraintDuty, Fuzzed, Settings, bench::Bench};

/// A program with constraints on tables of all kinds, and on actions.
const PROGRAM: &str = include_str!("../../tests/constrained.p4");

/// The parts of the constraints of the program that can be broken alone, each with its owner.
const PARTS: [(&str, &str); 11] = [
    ("dst::mask != 0 -> type == 0x0800", "table MyIngress.filters"),
    ("protocol::mask == 0 || type == 0x0800", "table MyIngress.filters"),
    ("length::low >= 46", "table MyIngress.filters"),
    ("length::high <= 1500", "table MyIngress.filters"),
    ("::priority < 1000", "table MyIngress.filters"),
    ("addr::prefix_length >= 8", "table MyIngress.routes"),
    ("tos != 3", "table MyIngress.routes"),
    ("src != 0", "table MyIngress.balanced"),
    ("port != 0", "action MyIngress.forward"),
    ("port < 256", "action MyIngress.forward"),
    ("class >= 7", "action MyIngress.classify"),
];

/// Returns the P4Info of another program than that of the device.
struct OtherP4Info(P4Info);

impl Faults for OtherP4Info {
    fn pipeline(&self, answer: Result<Pipeline, Status>) -> Result<Pipeline, Status> {
        answer.map(|mut response| {
            if let Some(config) = &mut response.config {
                config.p4info = Some(self.0.clone());
            }
            response
        })
    }
}

/// Searches for faults of a device that runs one program and says that it runs [`PROGRAM`].
fn search(running: &str, settings: &Settings) -> Fuzzed {
    let p4info = made_server::compile(PROGRAM).p4info.expect("a P4Info");
    let address = Proxy::start(&made_server::serve(running), Arc::new(OtherP4Info(p4info)));
    let mut bench = Bench::open(&at(address)).expect("it can be judged");
    fuzz_on(&mut bench, settings, &AtomicBool::new(false), &mut |_, _| {}).expect("it has tables")
}

fn settings(seed: u64) -> Settings {
    Settings { seed, requests: 700, constraints: ConstraintDuty::Checked }
}

#[test]
fn near_misses_are_made_of_all_parts_and_show_no_fault_where_there_is_none() {
    let mut near_misses: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut accepted = 0;
    for seed in 1..=3 {
        let found = search(PROGRAM, &settings(seed));
        if let Some(finding) = found.finding {
            panic!("seed {seed}: {}\n{}", finding.why, lines(&finding));
        }
        assert_eq!((found.left, found.left_out), (None, Vec::new()), "seed {seed}");
        for one in found.constraints {
            *near_misses.entry((one.owner, one.text)).or_default() += one.near_misses;
        }
        let entries = found.counts.iter().filter(|count| count.what.ends_with("of an entry"));
        accepted += entries.map(|count| count.accepted).sum::<u64>();
    }
    for (text, owner) in PARTS {
        let count = near_misses.get(&(owner.to_owned(), text.to_owned()));
        assert!(count.is_some_and(|count| *count > 20), "{owner}, {text}: {near_misses:?}");
    }
    assert_eq!(near_misses.len(), PARTS.len() + 1, "{near_misses:?}");
    assert!(accepted > 500, "{accepted} entries satisfied the constraints");
}

#[test]
fn a_part_that_a_device_does_not_check_is_found() {
    for (text, owner) in PARTS {
        let running = PROGRAM.replace(text, "true");
        assert_ne!(running, PROGRAM, "{text}");
        let found = search(&running, &settings(1));
        let finding = found.finding.unwrap_or_else(|| panic!("{owner}, {text}"));
        let lines = lines(&finding);
        let updates: usize = finding.steps.iter().map(|step| step.request.updates.len()).sum();
        assert!(
            finding.why.contains(&format!("in {owner} the constraint `{text}` does not hold")),
            "{text}: {}\n{lines}",
            finding.why
        );
        assert!(
            finding.why.contains("was answered OK where INVALID_ARGUMENT is"),
            "{}",
            finding.why
        );
        // A modification needs an entry, or a member.
        assert!(updates <= 2, "{text}: {}\n{lines}", finding.why);
        assert_eq!(finding.repeated, 3, "{text}");
        assert_eq!(found.left, None, "{text}");
    }
}

#[test]
fn a_device_without_constraints_is_searched_with_entries_that_satisfy_them() {
    let running =
        PARTS.iter().fold(PROGRAM.to_owned(), |text, (part, _)| text.replace(part, "true"));
    let found = search(&running, &Settings { constraints: ConstraintDuty::Ignored, ..settings(1) });
    if let Some(finding) = found.finding {
        panic!("{}\n{}", finding.why, lines(&finding));
    }
    assert!(found.constraints.iter().all(|one| one.near_misses == 0), "{:?}", found.constraints);
}
