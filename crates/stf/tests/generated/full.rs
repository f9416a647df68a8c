//! Tables with few entries: full ones, which refuse what packets add, and bounds on the entries of
//! the control plane.

use super::equivalence::passes;
use super::portable::pna;
use super::sequences::{pass, searched, test_of, v1model, verdict_on};
use super::{compiled, failures};
use ir::Program;
use pipeline::Switch;
use stf::Script;
use symbolic::equivalence::{Equivalence, equivalent};
use symbolic::generated::Test;
use symbolic::search::{Options, Report, Verdict, search};

/// Returns a program whose packets add entries to a table with this size. A packet whose entry was
/// not added leaves by port 3.
fn adding(size: &str) -> String {
    let table = "
    action known() { }
    action unknown() {
        add_entry(action_name = \"known\", action_params = (arguments_t) { },
                  expire_time_profile_id = (ExpireTimeProfileId_t) 0);
    }
    table t {
        key = { h.a.x: exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        const default_action = unknown();
        add_on_miss = true;
        SIZE
    }";
    let main = "if (h.a.isValid()) {
            send_to_port((PortId_t) 1);
            if (!t.apply().hit) {
                if (!t.apply().hit) {
                    send_to_port((PortId_t) 3);
                }
            }
        }";
    let text = pna(&table.replace("SIZE", size), main);
    text.replace("struct meta_t", "struct arguments_t { }\nstruct meta_t")
}

const REFUSED: &str = "send_to_port((PortId_t) 3);";

fn first_bytes(test: &Test) -> Vec<String> {
    test.exchanges().iter().map(|exchange| exchange.packet[..2].to_owned()).collect()
}

fn ports(test: &Test) -> Vec<u32> {
    let exchanges = test.exchanges();
    let outputs = exchanges.iter().flat_map(|exchange| &exchange.outputs);
    outputs.map(|output| output.port).collect()
}

#[test]
fn packets_fill_a_small_table() {
    let text = adding("size = 2;");
    let program = compiled(&text);
    let report = searched(&program, 3, true);
    pass(&program, &report);
    let test = test_of(&report, &text, REFUSED);
    assert!(test.entries.is_empty(), "{}", test.stf());
    let keys = first_bytes(test);
    assert_eq!(keys.len(), 3, "{}", test.stf());
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2], "{}", test.stf());
    assert_eq!(ports(test), [1, 1, 3], "{}", test.stf());
    let shorter = searched(&program, 2, true);
    assert_eq!(verdict_on(&shorter, &text, REFUSED), Verdict::NotWithin(2));
    // A switch that has room for three entries fails the test.
    let larger = compiled(&adding("size = 3;"));
    assert!(passes(&program, test) && !passes(&larger, test), "{}", test.stf());
}

/// An entry that has timed out makes room for another one.
#[test]
fn a_table_is_full_until_an_entry_expires() {
    let property = "size = 1; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;";
    let text = adding(property).replace("(ExpireTimeProfileId_t) 0)", "(ExpireTimeProfileId_t) 1)");
    let program = compiled(&text);
    let report = searched(&program, 3, true);
    pass(&program, &report);
    test_of(&report, &text, REFUSED);
    let script = "expire_time 1 2s
at 0s
packet 1 07
expect 1 07 $
at 1s
packet 1 08
expect 3 08 $
at 2s
packet 1 08
expect 1 08 $
";
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut switch = Switch::new(program.clone()).expect("a switch");
    switch.compile().expect("machine code");
    for way in switch.ways() {
        switch.reset().expect("a reset");
        switch.choose_way(Some(way));
        let run = stf::run(&mut switch, &script, stf::Options::default());
        let run = run.unwrap_or_else(|(line, error)| panic!("line {line}: {error}"));
        assert_eq!(failures(&run), "", "{way:?}");
    }
    // The programs differ only once an entry has expired.
    let keeps = compiled(&text.replace(" pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;", ""));
    let options = Options { packets: 2, ..Options::default() };
    let found = compare(&program, &keeps, &options);
    let Equivalence::Different(difference) = found else { panic!("{found:?}") };
    assert!(passes(&program, &difference.first), "{}", difference.first.stf());
    assert!(passes(&keeps, &difference.second), "{}", difference.second.stf());
    assert!(!passes(&keeps, &difference.first), "{}", difference.first.stf());
}

/// The control plane of a test may write the entries that fill the table.
#[test]
fn tests_fill_a_table() {
    let text = adding("size = 5;");
    let program = compiled(&text);
    let report = searched(&program, 1, false);
    pass(&program, &report);
    let test = test_of(&report, &text, REFUSED);
    assert_eq!(test.entries.len(), 5, "{}", test.stf());
    assert_eq!(ports(test), [3], "{}", test.stf());
    let larger = compiled(&adding("size = 6;"));
    assert!(passes(&program, test) && !passes(&larger, test), "{}", test.stf());
    // Other tests have no more entries than they need.
    let others = report.tests.iter().filter(|other| other.number != test.number);
    for other in others {
        assert!(other.entries.len() <= 1, "{}", other.stf());
    }
}

#[test]
fn what_only_a_large_full_table_shows_is_given_up() {
    for (size, why) in [
        ("size = 200;", "more than 64 entries of"),
        ("", "whose size is not declared"),
        ("size = 0;", "whose size is not declared"),
    ] {
        let text = adding(size);
        let program = compiled(&text);
        let report = searched(&program, 2, false);
        pass(&program, &report);
        let Verdict::GivenUp(reason) = verdict_on(&report, &text, REFUSED) else {
            panic!("{size}: {:?}", report.goals);
        };
        assert!(reason.contains(why), "{size}: {reason}");
    }
}

fn compare(first: &Program, second: &Program, options: &Options) -> Equivalence {
    let verdict = ir::with_large_stack(|| equivalent(first, second, options));
    verdict.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn programs_with_tables_of_other_sizes_are_told_apart() {
    let of = |size: u32| compiled(&adding(&format!("size = {size};")));
    let (one, two) = (of(1), of(2));
    let after = |packets: u32| Options { packets, ..Options::default() };
    let same = compare(&one, &one, &after(2));
    assert!(matches!(same, Equivalence::Equal { .. }), "{same:?}");
    // A single packet needs a table that is full already.
    let found = compare(&one, &two, &after(1));
    let Equivalence::Undecided(reason) = &found else { panic!("{found:?}") };
    assert!(reason.contains("that no packet looks up"), "{reason}");
    let found = compare(&one, &two, &after(2));
    let Equivalence::Different(difference) = found else { panic!("{found:?}") };
    assert!(passes(&one, &difference.first) && passes(&two, &difference.second));
    assert!(!passes(&two, &difference.first), "{}", difference.first.stf());
}

/// Returns a program in which only a packet that hits two entries of a table has its second byte
/// changed.
fn hitting_twice(kind: &str, size: &str, change: &str) -> String {
    let objects = format!(
        "action mark(bit<8> n) {{ m.n = n; }}
        table t {{
            key = {{ h.a.x: {kind}; }}
            actions = {{ mark; NoAction; }}
            const default_action = NoAction();
            {size}
        }}"
    );
    let ingress = "if (t.apply().hit) {
            h.a.x = h.a.x + 1;
            if (t.apply().hit) {
                CHANGE
            }
        }";
    v1model(&objects, &ingress.replace("CHANGE", change))
}

#[test]
fn the_entries_of_each_table_are_bounded_in_comparisons() {
    let both = |kind: &str, size: &str| {
        ["h.a.y = 0x11;", ""].map(|change| compiled(&hitting_twice(kind, size, change)))
    };
    let within = |entries: u32| Options { entries: Some(entries), ..Options::default() };
    let [first, second] = both("exact", "");
    let found = compare(&first, &second, &within(1));
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    for options in [within(2), Options::default()] {
        let found = compare(&first, &second, &options);
        let Equivalence::Different(difference) = found else { panic!("{found:?}") };
        assert_eq!(difference.first.entries.len(), 2, "{}", difference.first.stf());
        assert!(passes(&first, &difference.first) && !passes(&second, &difference.first));
    }
    // No more entries fit into the table.
    let [first, second] = both("exact", "size = 1;");
    let found = compare(&first, &second, &Options::default());
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    // One entry may match both keys, although those of tests do not.
    for (kind, size, options) in [
        ("ternary", "", within(1)),
        ("lpm", "", within(1)),
        ("ternary", "size = 1;", Options::default()),
    ] {
        let [first, second] = both(kind, size);
        let found = compare(&first, &second, &options);
        let Equivalence::Undecided(reason) = &found else { panic!("{kind}: {found:?}") };
        assert!(reason.contains("several keys"), "{reason}");
        let found = compare(&first, &second, &within(0));
        assert!(matches!(found, Equivalence::Equal { .. }), "{kind}: {found:?}");
    }
}

/// Entries with different arguments are different entries, whatever they match.
#[test]
fn entries_that_differ_count_each() {
    for kind in ["exact", "ternary", "lpm"] {
        let [first, second] = ["if (m.n == 7) { h.a.y = 0x11; }", ""].map(|change| {
            let text = hitting_twice(kind, "", change);
            compiled(&text.replace(
                "if (t.apply().hit) {\n                if",
                "if (m.n == 6 && t.apply().hit) {\n                if",
            ))
        });
        let options = Options { entries: Some(1), ..Options::default() };
        let found = compare(&first, &second, &options);
        assert!(matches!(found, Equivalence::Equal { .. }), "{kind}: {found:?}");
        let found = compare(&first, &second, &Options { entries: Some(2), ..options });
        assert!(matches!(found, Equivalence::Different(_)), "{kind}: {found:?}");
    }
}

fn searched_within(program: &Program, entries: u32) -> Report {
    let options = Options { entries: Some(entries), ..Options::default() };
    let report = ir::with_large_stack(|| search(program, &options, &mut |_| true));
    report.expect("a thread").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_entries_of_each_table_are_bounded_in_tests() {
    const BOTH: &str = "h.a.y = 0x11;";
    let text = hitting_twice("exact", "", BOTH);
    let program = compiled(&text);
    let report = searched_within(&program, 1);
    pass(&program, &report);
    assert_eq!(verdict_on(&report, &text, BOTH), Verdict::Unreachable);
    assert!(report.tests.iter().all(|test| test.entries.len() <= 1));
    let report = searched_within(&program, 2);
    pass(&program, &report);
    test_of(&report, &text, BOTH);
    // A test of a table with one entry would not fit into the switch.
    let text = hitting_twice("exact", "size = 1;", BOTH);
    let program = compiled(&text);
    let report = searched(&program, 1, false);
    pass(&program, &report);
    assert_eq!(verdict_on(&report, &text, BOTH), Verdict::Unreachable);

    let text = hitting_twice("ternary", "size = 1;", BOTH);
    let program = compiled(&text);
    let report = searched(&program, 1, false);
    pass(&program, &report);
    let verdict = verdict_on(&report, &text, BOTH);
    let Verdict::GivenUp(reason) = verdict else { panic!("{verdict:?}") };
    assert!(reason.contains("several keys"), "{reason}");
}

/// The actions of two members of one group.
#[test]
fn what_only_several_members_show_is_given_up() {
    let objects = "
    action mark(bit<8> n) { m.n = n; }
    action_selector(HashAlgorithm.crc16, 32w16, 32w8) members;
    table t {
        key = { h.a.x: exact; h.a.y: selector; }
        actions = { mark; }
        implementation = members;
    }";
    let ingress = "if (t.apply().hit) {
            bit<8> before = m.n;
            h.a.y = h.a.y + 1;
            t.apply();
            if (m.n != before) {
                h.a.y = 0x22;
            }
            if (m.n != before && m.n == before) {
                h.a.y = 0x33;
            }
        }";
    let text = v1model(objects, ingress);
    let program = compiled(&text);
    let report = searched(&program, 1, false);
    pass(&program, &report);
    let verdict = verdict_on(&report, &text, "h.a.y = 0x22;");
    let Verdict::GivenUp(reason) = verdict else { panic!("{verdict:?}") };
    assert!(reason.contains("several members"), "{reason}");
    assert_eq!(verdict_on(&report, &text, "h.a.y = 0x33;"), Verdict::Unreachable);
}

#[test]
fn what_only_a_meter_with_rates_shows_is_given_up() {
    let ingress = "bit<8> color = 0;
        rate.execute_meter(32w0, color);
        if (color == 2) {
            h.a.y = 0x22;
        }
        if (color == 3) {
            h.a.y = 0x33;
        }";
    let text = v1model("meter(1, MeterType.packets) rate;", ingress);
    let program = compiled(&text);
    let report = searched(&program, 1, false);
    pass(&program, &report);
    let verdict = verdict_on(&report, &text, "h.a.y = 0x22;");
    let Verdict::GivenUp(reason) = verdict else { panic!("{verdict:?}") };
    assert!(reason.contains("rate of the meter"), "{reason}");
    assert_eq!(verdict_on(&report, &text, "h.a.y = 0x33;"), Verdict::Unreachable);
    let found = compare(&program, &program, &Options::default());
    let Equivalence::Equal { without, .. } = &found else { panic!("{found:?}") };
    assert!(without.iter().any(|what| what.contains("meters")), "{without:?}");
}

/// One entry may match the keys of two packets, in both programs alike.
#[test]
fn programs_that_change_arguments_for_several_keys_are_compared() {
    let of = |step: u8| {
        let objects = format!(
            "action count(@__ref bit<8> n) {{ n = n + {step}; m.n = n; }}
            table t {{
                key = {{ h.a.x: ternary; }}
                actions = {{ count; NoAction; }}
                const default_action = NoAction();
            }}"
        );
        compiled(&v1model(&objects, "t.apply(); h.a.y = m.n;"))
    };
    let options = Options { packets: 2, ..Options::default() };
    let found = compare(&of(1), &of(1), &options);
    assert!(matches!(found, Equivalence::Equal { .. }), "{found:?}");
    let found = compare(&of(1), &of(2), &options);
    assert!(matches!(found, Equivalence::Different(_)), "{found:?}");
}

/// An entry for one program has no counterpart in the other one.
#[test]
fn what_a_comparison_leaves_out_is_said() {
    let of = |parameter: &str, actions: &str, default: &str| {
        let objects = format!(
            "action send({parameter} port) {{ s.egress_spec = (bit<9>) port; }}
            action mark() {{ h.a.y = 1; }}
            table t {{
                key = {{ h.a.x: exact; }}
                actions = {{ {actions} }}
                {default} = NoAction();
            }}"
        );
        compiled(&v1model(&objects, "t.apply();"))
    };
    let free = "default_action";
    let first = of("bit<9>", "send; NoAction;", free);
    let same = compare(&first, &first, &Options::default());
    let Equivalence::Equal { without, .. } = &same else { panic!("{same:?}") };
    assert!(without.is_empty(), "{without:?}");
    let more = of("bit<9>", "send; mark; NoAction;", free);
    let found = compare(&first, &more, &Options::default());
    let Equivalence::Equal { without, .. } = &found else { panic!("{found:?}") };
    assert!(without.iter().any(|what| what.contains("I.mark")), "{without:?}");
    let fixed = of("bit<9>", "send; NoAction;", "const default_action");
    let found = compare(&first, &fixed, &Options::default());
    let Equivalence::Equal { without, .. } = &found else { panic!("{found:?}") };
    assert!(without.iter().any(|what| what.contains("default action")), "{without:?}");
    let wider = of("bit<16>", "send; NoAction;", free);
    let found = compare(&first, &wider, &Options::default());
    let Equivalence::Undecided(reason) = &found else { panic!("{found:?}") };
    assert!(reason.contains("different widths"), "{reason}");
}
