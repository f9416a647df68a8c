//! Tests and proofs for given entries, besides which tables have none.

use super::compiled;
use super::sequences::{pass, v1model, verdict_on};
use ir::bits::Bits;
use ir::{ActionId, Program, TableId};
use symbolic::equivalence::{Equivalence, equivalent};
use symbolic::generated::Matched;
use symbolic::given::{Filled, Given, GivenCall, GivenEntry, GivenError};
use symbolic::search::{Options, Report, Verdict, find, search};
use symbolic::wanted::Wanted;

/// Returns a program with a table whose key has this match kind.
fn program(kind: &str, after: &str) -> String {
    let objects = format!(
        "action send(bit<9> port) {{ s.egress_spec = port; }}
        action mark(bit<8> y) {{ h.a.y = y; }}
        table t {{
            key = {{ h.a.x: {kind}; }}
            actions = {{ send; mark; NoAction; }}
            default_action = NoAction();
        }}"
    );
    v1model(&objects, after)
}

const AFTER: &str = "t.apply();
        if (h.a.y == 0x77 && h.a.x == 3) {
            s.egress_spec = 9;
        }
        if (s.egress_spec == 5) {
            h.a.y = 1;
        }";

/// Returns an entry of the only table.
fn entry(
    program: &Program,
    matched: Matched,
    priority: u32,
    (action, width, argument): (&str, u32, u128),
) -> GivenEntry {
    let action = program.actions.iter().position(|one| one.name == action).expect("an action");
    let action = ActionId(u32::try_from(action).expect("a position"));
    let call = GivenCall { action, arguments: vec![Bits::unsigned(width, argument)] };
    GivenEntry { table: TableId(0), matches: vec![Some(matched)], priority, call }
}

fn exact(key: u128) -> Matched {
    Matched::Exact(Bits::unsigned(8, key))
}

fn filled(program: &Program, entries: Vec<GivenEntry>) -> Filled {
    let given = Given { entries, defaults: Vec::new() };
    Filled::new(program, &given).unwrap_or_else(|error| panic!("{error}"))
}

/// Searches for tests with given entries, which they then write.
fn searched(filled: &Filled) -> Report {
    let options = Options { only_source_entries: true, ..Options::default() };
    let report = ir::with_large_stack(|| search(&filled.program, &options, &mut |_| true));
    let mut report = report.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    for test in &mut report.tests {
        assert!(test.entries.is_empty() && test.defaults.is_empty(), "{}", test.stf());
        test.entries.clone_from(&filled.entries);
    }
    report
}

#[test]
fn tables_have_the_given_entries_and_no_others() {
    let text = program("exact", AFTER);
    let program = compiled(&text);
    let marks = entry(&program, exact(3), 0, ("I.mark", 8, 0x77));
    let with_entry = filled(&program, vec![marks]);
    let report = searched(&with_entry);
    pass(&program, &report);
    assert!(matches!(verdict_on(&report, &text, "s.egress_spec = 9;"), Verdict::Covered(_)));
    // No entry sends to port 5.
    assert_eq!(verdict_on(&report, &text, "h.a.y = 1;"), Verdict::Unreachable);
    let action = report.goals.iter().find(|(goal, _)| goal.name.contains("send"));
    assert_eq!(action.map(|(_, verdict)| verdict), Some(&Verdict::Unreachable), "{report:?}");

    let report = searched(&filled(&program, Vec::new()));
    pass(&program, &report);
    let hits = report.goals.iter().filter(|(goal, _)| goal.name.contains("hit"));
    let hits: Vec<&Verdict> = hits.map(|(_, verdict)| verdict).collect();
    assert_eq!(hits, [&Verdict::Unreachable]);
}

/// The entry with the higher priority wins, and a wish that needs the other one is impossible.
#[test]
fn wishes_are_granted_with_the_given_entries() {
    let text = program("ternary", "t.apply();");
    let program = compiled(&text);
    let ternary = |value: u128, mask: u128| Matched::Ternary {
        value: Bits::unsigned(8, value),
        mask: Bits::unsigned(8, mask),
    };
    let wide = entry(&program, ternary(0x30, 0xf0), 1, ("I.send", 9, 5));
    let narrow = entry(&program, ternary(0x31, 0xff), 2, ("I.send", 9, 6));
    let filled = filled(&program, vec![wide.clone(), narrow]);
    let wish = |goal: &str| {
        let goal: Wanted = goal.parse().expect("a wish");
        let options = Options { only_source_entries: true, ..Options::default() };
        let report = ir::with_large_stack(|| find(&filled.program, &goal, None, &options));
        report.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let of_wide = wish("port 5");
    let [test] = of_wide.tests.as_slice() else { panic!("{of_wide:?}") };
    assert!(test.packet.starts_with('3') && !test.packet.starts_with("31"), "{}", test.stf());
    let of_narrow = wish("port 6");
    let [test] = of_narrow.tests.as_slice() else { panic!("{of_narrow:?}") };
    assert!(test.packet.starts_with("31"), "{}", test.stf());
    let verdicts: Vec<Verdict> = wish("port 7").goals.into_iter().map(|(_, one)| one).collect();
    assert_eq!(verdicts, [Verdict::Unreachable]);

    // Nothing says which of two entries with the same priority wins.
    let rival = entry(&program, ternary(0x31, 0xff), 1, ("I.send", 9, 6));
    let given = Given { entries: vec![wide, rival], defaults: Vec::new() };
    let refused = Filled::new(&program, &given).expect_err("both may match");
    assert_eq!(refused, GivenError::Ambiguous { table: "I.t".to_owned(), priority: 1 });
}

/// The programs differ for a key that has no entry.
#[test]
fn programs_are_compared_with_the_given_entries() {
    let of = |key: u8| {
        let after = format!("if (t.apply().hit && h.a.x == {key}) {{ h.a.y = 2; }}");
        compiled(&program("exact", &after))
    };
    let (first, second) = (of(4), of(5));
    let compare = |entries: &[u128]| {
        let [left, right] = [&first, &second].map(|program| {
            let marks = entries.iter().map(|key| entry(program, exact(*key), 0, ("I.mark", 8, 7)));
            filled(program, marks.collect()).program
        });
        let options = Options { only_source_entries: true, ..Options::default() };
        let verdict = ir::with_large_stack(|| equivalent(&left, &right, &options));
        verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
    };
    let free = ir::with_large_stack(|| equivalent(&first, &second, &Options::default()));
    let free = free.expect("a thread").unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(free, Equivalence::Different(_)), "{free:?}");
    for (entries, is_equal) in [(&[3][..], true), (&[][..], true), (&[3, 4][..], false)] {
        let found = compare(entries);
        let matches = match &found {
            Equivalence::Equal { .. } => is_equal,
            Equivalence::Different(_) => !is_equal,
            Equivalence::Undecided(_) => false,
        };
        assert!(matches, "{entries:?}: {found:?}");
    }
}
