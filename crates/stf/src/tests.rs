//! Tests of STF scripts: statements, errors and reports, on one small v1model program.

mod queues;
mod senders;
mod sources;
mod strings;
mod times;

use super::*;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options as Preprocessor};
use pipeline::Switch;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<16> a; bit<8> b; bit<8> c; }
struct headers_t { h_t h; h_t[2] stack; }
struct meta_t { bit<9> port; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<16>>(4) seen;
    counter(4, CounterType.packets_and_bytes) all;
    direct_counter(CounterType.packets) hits;
    action to(bit<9> port) { sm.egress_spec = port; }
    action group(bit<16> number) { sm.mcast_grp = number; }
    action copy(bit<9> port) {
        sm.egress_spec = port;
        clone(CloneType.I2E, 5);
    }
    table exact_table {
        key = { hdr.h.a: exact; hdr.stack[1].isValid(): exact @name("second"); }
        actions = { to; group; copy; NoAction; }
        counters = hits;
    }
    table ternary_table {
        key = { hdr.h.b: ternary; hdr.h.c: range; }
        actions = { to; NoAction; }
    }
    table parts {
        key = { hdr.h.a & 0xf0: exact @name("low"); hdr.h.a[15:12]: exact @name("high"); }
        actions = { to; NoAction; }
    }
    table lpm_table {
        key = { hdr.h.a: lpm; hdr.h.isValid(): exact; }
        actions = { to; NoAction; }
    }
    apply {
        all.count((bit<32>) hdr.h.c & 3);
        seen.write(1, hdr.h.a);
        sm.egress_spec = 511;
        exact_table.apply();
        if (hdr.h.b != 0) { ternary_table.apply(); }
        if (hdr.h.c == 0xee) { lpm_table.apply(); }
        if (hdr.h.c == 0xdd) { parts.apply(); }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control U(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
"#;

fn switch() -> Switch {
    let compiled =
        p4lang::compile_text("test.p4", PROGRAM, &Preprocessor::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    Switch::new(compiled.program.unwrap_or_else(|| panic!("{messages}"))).unwrap()
}

fn report(script: &str) -> Report {
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    run(&mut switch(), &script, Options::default())
        .unwrap_or_else(|(line, e)| panic!("{line}: {e}"))
}

/// Returns the notes of a run, each with its line.
fn notes_of(report: &Report) -> String {
    let notes: Vec<String> =
        report.notes.iter().map(|(line, note)| format!("{line}: {note}")).collect();
    notes.join("\n")
}

/// Runs a script against a program with this ingress and returns the report.
fn report_of(ingress: &str, script: &str) -> Report {
    let start = PROGRAM.find("    register<bit<16>>(4) seen;").unwrap();
    let end = PROGRAM.find("}\ncontrol E").unwrap();
    let text = format!("{}{ingress}\n{}", &PROGRAM[..start], &PROGRAM[end..]);
    let compiled =
        p4lang::compile_text("test.p4", &text, &Preprocessor::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    let mut switch = Switch::new(compiled.program.unwrap_or_else(|| panic!("{messages}"))).unwrap();
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    run(&mut switch, &script, Options::default()).unwrap_or_else(|(line, e)| panic!("{line}: {e}"))
}

fn failures(script: &str) -> String {
    report(script).failures.iter().map(ToString::to_string).collect()
}

fn refused(script: &str) -> String {
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = Options { strict: true, ..Options::default() };
    let (line, error) = run(&mut switch(), &script, options).unwrap_err();
    format!("{line}: {error}")
}

#[test]
fn entries_of_every_kind_match() {
    let script = "
        add exact_table hdr.h.a:0x0102 to(port:3)   # second: 0, as nothing is said
        packet 1 0102 00 00
        expect 3 01020000 $
        add ternary_table 10 hdr.h.b:0x5* hdr.h.c:1->5 to(port:4)
        add ternary_table 20 b:0b01010001 to(port:5)
        packet 1 0000 50 05
        expect 4 00005005
        packet 1 0000 51 05
        expect 5 00005105
        packet 1 0000 50 06
        no_packet
        add lpm_table hdr.h.a:0x1000/4 hdr.h.$valid$:1 to(port:6)
        add lpm_table hdr.h.a:0x12** hdr.h.valid:1 to(port:7)
        packet 1 1fff 00 ee
        expect 6 1fff00ee
        packet 1 12ff 00 ee
        expect 7 12ff00ee
    ";
    assert_eq!(failures(script), "");
}

#[test]
fn in_a_ternary_value_only_digits_that_are_written_count() {
    // 0x1 is 0x1&&&0xf, so the upper digit is free.
    let script = "
        add ternary_table 1 hdr.h.b:0x1 to(port:4)
        packet 1 0000 f1 00
        expect 4 0000f100
        add ternary_table 2 hdr.h.b:0x01 to(port:5)
        packet 1 0000 01 00
        expect 5 00000100
        packet 1 0000 f1 00
        expect 4 0000f100
    ";
    assert_eq!(failures(script), "");
}

#[test]
fn copies_go_where_sessions_and_groups_say() {
    let script = "
        mirroring_add 5 9
        add exact_table hdr.h.a:1 copy(port:2)
        packet 1 00010000
        expect 2 00010000
        expect 9 00010000
        mc_mgrp_create 3
        mc_node_create 0 5 4
        mc_node_create 7 4
        mc_node_associate 3 0
        mc_node_associate 3 1
        add exact_table hdr.h.a:2 group(number:3)
        packet 1 00020000
        expect 4
        expect 4 0002****$
        expect 5
        mc_node_update 0 6
        packet 1 00020000
        expect 4 0002
        expect 6 0002
        mirroring_add_mc 5 3
        mirroring_get 5
        packet 1 00010000
        expect 2 0001
        expect 4 0001
        expect 6 0001
        mirroring_delete 5
        packet 1 00010000
        expect 2 0001
    ";
    let report = report(script);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.values, [(22, "clone session 5: ports [] multicast group 3".to_owned())]);
}

#[test]
fn registers_and_counters_are_read_and_written() {
    let script = "
        add exact_table hdr.h.a:0x00aa to(port:2) = entry
        packet 1 00aa 00 02
        expect 2
        register_read seen 1
        register_write seen 2 0x1234
        register_read I.seen 2
        register_reset seen
        register_read seen 1
        check_counter all(2) packets == 1
        check_counter all(2) bytes >= 4
        check_counter all(1)
        check_counter hits($entry) packets == 1
        counter_write all 3 7 70
        counter_read all 3
        check_counter all(3) bytes != 71
        check_counter all(3) packets < 7
    ";
    let report = report(script);
    let values: Vec<&str> = report.values.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(
        values,
        ["seen[1] = 0xaa", "I.seen[2] = 0x1234", "seen[1] = 0x0", "all[3] = 7 packets, 70 bytes"]
    );
    let failures: String = report.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures, "line 17: counter I.all: expected packets < 7, got 7\n");
}

#[test]
fn entries_and_default_actions_change() {
    let script = "
        setdefault exact_table to(port:2)
        packet 1 00010000
        expect 2
        add exact_table hdr.h.a:1 to(port:3) = mine
        add exact_table hdr.h.a:1 to(port:4)
        packet 1 00010000
        expect 3
        remove mine
        packet 1 00010000
        expect 2
        add exact_table hdr.h.a:1 to(port:4)
        remove all
        wait
        packet 1 00010000
        expect 2
    ";
    let report = report(script);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.notes, [(6, "this entry exists already".to_owned())]);
}

#[test]
fn a_difference_is_shown_byte_by_byte() {
    let script = "
        setdefault exact_table to(port:2)
        packet 1 00010000 000102030405060708090a0b0c0d0e0f
        expect 2 0001**00 000102030405060708ff0a0b0c0d0e0f 10 $
        packet 1 0009 0000
        expect 3 0a
    ";
    insta::assert_snapshot!(failures(script), @"
    line 4: the packet on port 2 (sent at line 3) differs
      0000  expected 00 01 ** 00 00 01 02 03 04 05 06 07 08 ff 0a 0b
            got      00 01 00 00 00 01 02 03 04 05 06 07 08 09 0a 0b
                                                            ^^
      0010  expected 0c 0d 0e 0f 10
            got      0c 0d 0e 0f --
                                 ^^
      length: expected 21 bytes, got 20
    line 5: this packet left by port 2, where nothing expects it
            got      00090000
    line 6: no packet left by port 3
            expected 0a
    ");
}

#[test]
fn ports_that_the_script_does_not_name_are_not_looked_at() {
    let text = "
        setdefault exact_table to(port:2)
        packet 1 00010000
    ";
    let loose = report(text);
    assert!(loose.failures.is_empty());
    assert_eq!(
        loose.notes,
        [(3, "this packet left by port 2, which the script does not name: 00010000".to_owned())]
    );
    let script = Script::parse(text).unwrap();
    let trace = Some(traces::Contents::default());
    let options = Options { every_port: true, trace, ..Options::default() };
    let strict = run(&mut switch(), &script, options).unwrap();
    assert_eq!(strict.failures.len(), 1);
    assert!(!strict.trace[0].1.root.as_ref().expect("a tree").events.is_empty());
}

#[test]
fn what_the_program_does_not_have_is_named() {
    insta::assert_snapshot!(
        [
            "add nothing a:1 to(port:1)",
            "add _table a:1 to(port:1)",
            "add exact_table d:1 to(port:1)",
            "add exact_table hdr.h.a:1 drop()",
            "add exact_table hdr.h.a:1 to(prt:1)",
            "add exact_table hdr.h.a:1 to()",
            "add exact_table hdr.h.a:0x10000 to(port:1)",
            "add exact_table hdr.h.a:1/4 to(port:1)",
            "add exact_table hdr.h.a:1 to(port:512)",
            "add lpm_table hdr.h.a:1&&&2 to(port:1)",
            "setdefault lpm_table copy(port:1)",
            "register_read all 1",
            "register_write seen 4 1",
            "check_counter hits($unknown) packets == 1",
            "packet 1 000",
            "mc_node_associate 1 0",
            "remove entry",
        ]
        .map(refused)
        .join("\n"),
        @r"
    1: no table nothing; there is I.exact_table, I.ternary_table, I.parts, I.lpm_table
    1: table _table is ambiguous, I.exact_table or I.ternary_table: write more of the name
    1: no key d of I.exact_table; there is hdr.h.a, second
    1: no action drop; there is I.to, I.group, I.copy, NoAction
    1: no parameter prt of I.to; there is port
    1: action I.to needs a value for parameter port
    1: key hdr.h.a has 16 bits, 0x10000 does not fit
    1: key hdr.h.a is matched exact: it cannot match a prefix
    1: parameter port of I.to has 9 bits, the value needs 10
    1: key hdr.h.a is matched lpm: it cannot match a mask
    1: no action copy; there is I.to, NoAction
    1: no register all; there is I.seen
    1: index 4 is beyond the 4 elements of I.seen
    1: no entry unknown was created before
    1: the packet has half a byte: the number of digits is odd
    1: no node 0 was created before
    1: no entry entry was created before
    "
    );
}

/// p4c's `backends/bmv2/bmv2stf.py` looks up tables, keys, actions and parameters. What BMv2's
/// command line then refuses, and a packet that it cannot send, leave no trace in the result.
#[test]
fn what_the_switch_refuses_is_a_note_unless_the_run_is_strict() {
    let report = report(
        "
        setdefault exact_table to(port:2)
        add exact_table hdr.h.a:0x10000 to(port:3)
        add exact_table hdr.h.a:1 to(port:65536)
        packet 1 000
        register_write seen 4 1
        send 1 00
        check_counter nothing(1) packets == 1
        mc_node_associate 1 0
        packet 1 00010000
        expect 2 00010000
    ",
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    insta::assert_snapshot!(notes_of(&report), @"
    3: without effect: key hdr.h.a has 16 bits, 0x10000 does not fit
    4: without effect: parameter port of I.to has 9 bits, the value needs 17
    5: without effect: the packet has half a byte: the number of digits is odd
    6: without effect: index 4 is beyond the 4 elements of I.seen
    7: without effect: `send` is not a statement (add, packet, expect, ...)
    8: without effect: no counter nothing; there is I.all, I.hits
    9: without effect: no node 0 was created before
    ");
    let unknown = Script::parse("add nothing a:1 to(port:1)").unwrap();
    assert!(run(&mut switch(), &unknown, Options::default()).is_err());
}

/// p4c's `bmv2stf.py` passes an `add` on as `table_add`. Without a priority, BMv2's command line
/// takes the last argument for one. The switch refuses actions for tables with an action profile,
/// and entries for tables whose list of entries is constant.
#[test]
fn entries_that_bmv2_refuses_are_notes() {
    let report = report_of(
        "action to(bit<9> port) { sm.egress_spec = port; }
        action profile_to(bit<9> port) { sm.egress_spec = port; }
        table ternary_key { key = { hdr.h.a: ternary; } actions = { to; NoAction; } }
        table profiled {
            key = { hdr.h.a: exact; } actions = { profile_to; NoAction; }
            implementation = action_profile(32w4);
        }
        table initial {
            key = { hdr.h.a: exact; } actions = { to; NoAction; } entries = { 9: to(9); }
        }
        apply { sm.egress_spec = 1; ternary_key.apply(); profiled.apply(); initial.apply(); }",
        "
        add ternary_key hdr.h.a:0x0001 to(port:2)
        add profiled hdr.h.a:0x0001 profile_to(port:3)
        setdefault profiled profile_to(port:4)
        add initial hdr.h.a:0x0001 to(port:5)
        packet 1 00010000
        expect 1 00010000
        packet 1 00090000
        expect 9 00090000
    ",
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    insta::assert_snapshot!(notes_of(&report), @"
    2: without effect: the table has ternary, range or optional keys, so its entries need a priority above 0
    3: without effect: the table takes members or groups of its action profile
    4: without effect: the table takes members or groups of its action profile
    5: without effect: the list of entries is constant in the program
    ");
}

/// Tests that direct counters and meters can be named by the number of an entry, as on BMv2's
/// command line.
#[test]
fn direct_counters_and_meters_are_arrays_by_entry() {
    let colours = |before: &str, after: &str| {
        let report = report_of(
            "direct_counter(CounterType.packets) hits;
            direct_meter<bit<8>>(MeterType.packets) rate;
            action to(bit<9> port) { sm.egress_spec = port; rate.read(hdr.h.b); }
            table metered {
                key = { hdr.h.a: exact; } actions = { to; NoAction; }
                counters = hits; meters = rate;
            }
            apply { sm.egress_spec = 511; metered.apply(); }",
            &format!(
                "{before}
                add metered hdr.h.a:1 to(port:1)
                add metered hdr.h.a:2 to(port:2)
                {after}
                packet 9 0001ff00
                packet 9 0001ff00
                packet 9 0002ff00
                packet 9 0002ff00
                counter_write hits 0 7 0
                check_counter hits(0) packets == 7
                check_counter hits(1) packets == 2"
            ),
        );
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let mut notes = report.notes.into_iter().map(|(_, note)| note);
        let refused = notes.find(|note| note.starts_with("without effect"));
        let colours: Vec<u8> = report.sent.iter().map(|(_, _, packet)| packet[2]).collect();
        (colours, refused.unwrap_or_default())
    };
    // A packet per second, and no more at once.
    let (all, note) = colours("meter_array_set_rates rate 0.000001:1 0.000001:1", "");
    assert_eq!((all, note.as_str()), (vec![0, 2, 0, 2], ""));
    let (second, _) = colours("", "meter_set_rates rate 1 0.000001:1 0.000001:1");
    assert_eq!(second, [0, 0, 0, 2]);
    for refused in ["0.000001:1", "0.000002:1 0.000001:1"] {
        let (none, note) = colours("", &format!("meter_set_rates rate 1 {refused}"));
        assert_eq!(none, [0, 0, 0, 0]);
        assert!(note.ends_with("the second is not the smaller"), "{note}");
    }
}

/// p4c's `bmv2stf.py` passes a `setdefault` on with the names of the script. Each of them must be
/// the end of only one name.
#[test]
fn default_actions_need_names_that_bmv2_finds() {
    let report = report_of(
        "action to(bit<9> port) { sm.egress_spec = port; }
        @name(\"other.to\") action other_to(bit<9> port) { sm.egress_spec = port; }
        table first { key = { hdr.h.a: exact; } actions = { to; NoAction; } }
        table second { key = { hdr.h.b: exact; } actions = { other_to; NoAction; } }
        apply { sm.egress_spec = 1; first.apply(); second.apply(); }",
        "
        setdefault first to(port:2)
        packet 1 00010000
        expect 1 0001
        setdefault I.first I.to(port:2)
        packet 1 00020000
        expect 2 0002
    ",
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
}

/// `bmv2stf.py`, `checkOutputs`: a port with an `expect` without data is not compared.
#[test]
fn an_expectation_without_data_takes_any_number_of_packets() {
    let script = "
        setdefault exact_table to(port:2)
        packet 1 00010000
        packet 1 00020000
        expect 2
        expect 3
    ";
    let report = report(script);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(
        report.notes,
        [(
            6,
            "no packet left by port 3; an `expect` without data accepts any number of packets"
                .to_owned()
        )]
    );
    let options = Options { strict: true, ..Options::default() };
    let strict = run(&mut switch(), &Script::parse(script).unwrap(), options).unwrap();
    assert_eq!(strict.failures.len(), 2);
}

/// BMv2's `runtime_CLI.py` checks that a value fits into the bytes of a key, and `match_units.cpp`
/// masks the first of these bytes.
#[test]
fn bits_beyond_a_key_are_cut_off_within_its_bytes() {
    let report = report_of(
        "action to(bit<9> port) { sm.egress_spec = port; }
        table port { key = { sm.ingress_port: exact; } actions = { to; NoAction; } }
        apply { port.apply(); }",
        "
        add port sm.ingress_port:0x207 to(port:0x205)
        packet 7 00010000
        expect 5 0001
    ",
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

#[test]
fn keys_and_arguments_may_be_addresses() {
    let report = report_of(
        "action to(bit<48> address) { sm.egress_spec = (bit<9>) address; }
        table t { key = { hdr.h.a ++ hdr.h.b ++ hdr.h.c: lpm @name(\"address\"); }
            actions = { to; NoAction; } }
        apply { t.apply(); }",
        "
        add t address:10.0.0.0/8 to(address:00:00:00:00:00:07)
        packet 1 0a000001
        expect 7 0a000001
    ",
    );
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

/// According to BMv2's `src/bm_sim/simple_pre_lag.cpp`, ports come before link aggregation groups,
/// and each group sends to the port that a hash picks. simple_switch supplies no hash, so the first
/// port is picked.
#[test]
fn groups_of_links_take_one_copy() {
    let script = "
        add exact_table hdr.h.a:2 group(number:3)
        mc_mgrp_create 3
        mc_node_create 0 9 | 1 2
        mc_node_associate 3 0
        packet 1 00020000
        expect 9 0002
        mc_set_lag_membership 1 6 5
        packet 1 00020000
        expect 9 0002
        expect 5 0002
        expect 6 0002
    ";
    let failures = failures(script);
    assert_eq!(failures, "line 12: no packet left by port 6\n        expected 0002\n");
}

/// p4c's `backends/bmv2/common/control.h` turns a key that is `field & mask` or a slice into the
/// field under a mask.
#[test]
fn entries_for_a_part_of_a_field_have_values_of_the_field() {
    let script = "
        add parts low:0x12ff high:0x5fff to(port:3)
        packet 1 00ff 00 dd
        no_packet
        packet 1 50f0 00 dd
        expect 3
        add parts low:0x30 high:0x6 to(port:4)
        packet 1 6030 00 dd
        expect 4
    ";
    assert_eq!(failures(script), "");
}

#[test]
fn lines_that_are_no_statements_are_all_named() {
    let text = "
        packet one 00
        packet 1 0g
        expect 1 $ 00
        add t a:1
        add t a: to(x:1)
        add t a:1 to(x:1) = 7
        check_counter c(1) frames == 1
        check_counter c(1) packets = 1
        mirroring_add 1
        meter_set_rates m 0 fast:1
        wait
        send 1 00
        wait a moment
    ";
    let errors = Script::parse(text).unwrap_err();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    line 2, column 16: expected a port number, found `one`
    line 3, column 19: expected hexadecimal digits, found `g`
    line 4, column 20: expected the end of the line, found `00`
    line 5, column 18: expected a key or an action, found the end of the line
    line 6, column 18: expected a number, found `to(x:1)`
    line 7, column 29: expected a handle, found `7`
    line 8, column 34: expected `packets` or `bytes`
    line 9, column 36: expected a comparison, found `=`
    line 10, column 24: expected a port number, found the end of the line
    line 11, column 29: expected a rate, found `fast:1`
    line 13, column 1: `send` is not a statement (add, packet, expect, ...)
    line 14, column 14: expected the end of the line, found `a`
    ");
}

#[test]
fn what_is_no_script_is_refused() {
    let errors = Script::parse("# A list.\nThings to do:\n* write a script\n").unwrap_err();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    line 2, column 1: `Things` is not a statement (add, packet, expect, ...)
    line 3, column 1: `*` is not a statement (add, packet, expect, ...)
    ");
}

#[test]
fn keywords_have_any_case_and_statements_may_go_on_in_the_next_line() {
    let script =
        Script::parse("ADD t\n  hdr.a:1\n  act( x : 1 )\nPacket 1 00 # comment\nWAIT").unwrap();
    let lines: Vec<usize> = script.statements.iter().map(|statement| statement.line).collect();
    assert_eq!(lines, [1, 4, 5]);
    assert!(
        matches!(&script.statements[0].kind, StatementKind::Add { matches, .. } if matches.len() == 1)
    );
}

/// The time to parse a script must not grow with the square of its length.
#[test]
fn a_statement_has_at_most_256_lines() {
    let of_keys = |lines: usize| {
        let keys = "hdr.a:1\n".repeat(lines - 2);
        Script::parse(&format!("add t\n{keys}act( x : 1 )\npacket 1 00\n"))
    };
    assert_eq!(of_keys(256).expect("a script").statements.len(), 2);
    let errors = of_keys(257).expect_err("a line too many");
    assert!(errors.iter().any(|error| error.line == 1), "{errors:?}");
}

#[test]
fn any_text_is_read_or_refused() {
    use rand::{RngExt, SeedableRng};
    let pieces = [
        "packet",
        "expect",
        "add",
        "remove",
        "check_counter",
        "1",
        "0x1*",
        "$",
        "*",
        "(",
        ")",
        ":",
        "=",
        "&&&",
        "->",
        "..",
        "/",
        "\n",
        " ",
        "#",
        "é",
        "t1",
        "hdr.h.$valid$",
        "all",
        "meter_set_rates",
        "mc_node_create",
        "table_indirect_add",
        ",",
    ];
    let mut random = rand::rngs::ChaCha8Rng::seed_from_u64(1);
    for _ in 0..5_000 {
        let length = random.random_range(0..30);
        let text: String =
            (0..length).map(|_| pieces[random.random_range(0..pieces.len())]).collect();
        let _ = Script::parse(&text);
    }
}

#[test]
fn a_word_that_is_a_statement_but_for_one_slip_is_an_error() {
    for (word, meant) in [
        ("pakcet", "packet"),
        ("Packe", "packet"),
        ("packett", "packet"),
        ("pecket", "packet"),
        ("exepct", "expect"),
        ("no_packets", "no_packet"),
        ("setdefaul", "setdefault"),
    ] {
        let errors = Script::parse(&format!("packet 1 00\n{word} 1 00\n")).expect_err(word);
        let message = &errors[0].message;
        assert_eq!((errors[0].line, errors.len()), (2, 1), "{word}");
        assert!(message.contains(&format!("`{meant}` is")), "{word}: {message}");
    }
    // Other words are no misspelt statements, and p4c's runner skips their lines.
    for word in ["bogus", "ad", "wai", "pact", "packing"] {
        assert!(Script::parse(&format!("packet 1 00\n{word} 1 00\n")).is_ok(), "{word}");
    }
}

/// Tests that `no_packet` after a burst concerns only its last packet, as it does when packets
/// arrive one by one.
#[test]
fn no_packet_after_a_burst_is_about_its_last_packet() {
    let script = "
        add exact_table hdr.h.a:1 to(port:3)
        packet 1 0001 00 00
        expect 3 00010000 $
        packet 1 0002 00 00
        no_packet
        packet 1 0001 00 00
        no_packet
        packet 1 0001 00 00
        expect 3 00010000 $
    ";
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    for together in [false, true] {
        let options = Options { together, ..Options::default() };
        let report = run(&mut switch(), &script, options).unwrap();
        let failures = &report.failures;
        assert!(
            matches!(&failures[..], [Failure::Unexpected { port: 3, cause: 7, .. }]),
            "{together}: {failures:?}"
        );
    }
}

#[test]
fn a_port_that_the_network_does_not_have_is_refused() {
    for statement in ["packet 4 0001 00 00", "expect 4"] {
        let mut network = Network::default();
        let index = network.switch("s1", switch());
        network.outside(3, End { switch: index, port: 3 }, "s1-p3");
        let script = Script::parse(statement).unwrap_or_else(|errors| panic!("{errors:?}"));
        let (line, error) = run_network(&mut network, &script, Options::default()).unwrap_err();
        let text = error.to_string();
        assert_eq!((line, text.as_str()), (1, "the network has no port 4 to the outside"));
    }
}
