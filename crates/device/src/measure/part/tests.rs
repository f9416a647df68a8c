//! Tests that generated programs have the parts that they should, and that packets pass them.
use std::time::Duration;

use p4lang::compile_text;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::Switch;

use super::*;
use crate::measure::traffic::opaque_frame;
use crate::program::paths;

const EACH: &[&str] = &[
    "extract 160",
    "emit 32",
    "select 16",
    "select 9",
    "select 65",
    "lookahead 8",
    "verify",
    "table exact 32",
    "table exact 8",
    "table lpm 32",
    "table ternary 48, exact 9",
    "table range 16",
    "table optional 16",
    "table exact 112, lpm 16",
    "table",
    "assign 1",
    "assign 9",
    "assign 16",
    "assign 20",
    "assign 32",
    "assign 48",
    "compute subtract 8",
    "compute add 48",
    "compute saturatingadd 16",
    "compute shiftleft 32",
    "compute compare 0",
    "compute compare 8",
    "compute compare 64",
    "branch",
    "set valid",
    "set invalid",
    "extern counter.count",
    "extern register.read",
    "extern register.write",
    "extern hash",
    "extern mark_to_drop",
    "extern update_checksum",
    "extern verify_checksum",
];

fn compiled(parts: &[Part], rules: u32) -> ir::Program {
    let text = source(parts, 2, rules);
    let compiled = compile_text("p.p4", &text, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}\n{text}"))
}

#[test]
fn a_generated_program_has_what_its_function_says_and_no_more() {
    for name in EACH {
        let part = Part::of(name).unwrap_or_else(|| panic!("{name}"));
        assert!(part.consists_of().iter().any(|part| part == name), "{name} is not in {part}");
        let mut expected: Vec<String> = baseline().consists_of;
        expected.extend(part.consists_of());
        expected.sort();
        let program = compiled(std::slice::from_ref(&part), 1);
        let found: Vec<Vec<String>> = paths(&program)
            .expect("paths")
            .into_iter()
            .map(|path| {
                let each = path.parts.iter();
                each.flat_map(|(part, count)| vec![part.clone(); *count as usize]).collect()
            })
            .collect();
        assert!(found.contains(&expected), "{name}: {expected:?} is none of {found:?}");
    }
}

#[test]
fn packets_pass_whatever_the_parts_and_entries_match() {
    let all: Vec<Part> = EACH.iter().filter_map(|name| Part::of(name)).collect();
    let mut cases: Vec<Vec<Part>> = all.iter().map(|part| vec![part.clone()]).collect();
    cases.push(all.clone());
    cases.push(all.into_iter().rev().collect());
    for parts in cases {
        for rules in [1, 20] {
            let mut switch = Switch::new(compiled(&parts, rules)).expect("a switch");
            let bytes = crate::measure::traffic::least_bytes(header_bytes(&parts)) + 40;
            let frame = opaque_frame(header_bytes(&parts), bytes);
            let mut lookups = Lookups::default();
            let outputs = switch.process_traced(1, &frame, Duration::ZERO, &mut lookups);
            let outputs = outputs.expect("it runs");
            let tables =
                parts.iter().filter(|part| matches!(part, Part::Table(keys) if !keys.is_empty()));
            assert_eq!(
                (lookups.hits, lookups.misses),
                (tables.count(), keyless(&parts)),
                "{parts:?}"
            );
            let [output] = &outputs[..] else { panic!("{parts:?}: {} packets", outputs.len()) };
            assert_eq!((output.port, output.packet.len()), (2, frame.len()), "{parts:?}");
        }
    }
}

/// Returns the number of tables without keys, which have no entries.
fn keyless(parts: &[Part]) -> usize {
    parts.iter().filter(|part| matches!(part, Part::Table(keys) if keys.is_empty())).count()
}

#[derive(Default)]
struct Lookups {
    hits: usize,
    misses: usize,
}

impl pipeline::Trace for Lookups {
    fn event(&mut self, event: pipeline::Event) {
        match event {
            pipeline::Event::Hit { .. } => self.hits += 1,
            pipeline::Event::Miss { .. } => self.misses += 1,
            _ => {}
        }
    }
}

#[test]
fn parts_that_no_program_can_have_are_rejected() {
    for name in ["extern digest", "table selector 16", "assign 4000", "extract 7", "emit 0", "hop"]
    {
        assert_eq!(Part::of(name), None, "{name}");
    }
}
