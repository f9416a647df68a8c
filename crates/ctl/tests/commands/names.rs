//! Tests of the errors about wrong commands: names, values and forms.

use crate::support::{Memory, error, schema_of};
use ctl::Session;

#[test]
fn wrong_names_are_refused_with_the_right_ones() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    for (line, expected) in [
        ("tabel dump", "there is no command 'tabel dump'; did you mean 'table dump'?"),
        ("tabel", "there is no command 'tabel'; did you mean 'table'?"),
        ("table dmp", "there is no command 'table dmp'; did you mean 'table dump'?"),
        ("table_ad routes", "there is no command 'table_ad'; did you mean 'table_add'?"),
        ("frobnicate", "there is no command 'frobnicate'; `help` lists them"),
        ("table dump rotes", "there is no table 'rotes'; did you mean 'routes'?"),
        ("table dump rou", "there is no table 'rou'; did you mean 'routes'?"),
        (
            "table dump x",
            "there is no table 'x'; there are always, exact_match, routes, filters, balanced, fixed",
        ),
        (
            "table add routes dts=10.0.0.0/8 drop",
            "there is no match field 'dts'; there are hdr.ipv4.dst",
        ),
        (
            "table add routes 10.0.0.0/8 forwad 1",
            "there is no action 'forwad'; did you mean 'forward'?",
        ),
        (
            "table add routes 10.0.0.0/8 forward prt=1",
            "there is no parameter 'prt'; did you mean 'port'?",
        ),
        ("counter read portz", "there is no counter 'portz'; did you mean 'ports'?"),
        ("counter read hit", "there is no counter 'hit'; did you mean 'hits'?"),
        ("meter read x", "there is no meter 'x'; there are rates, limits"),
        ("register read x", "there is no register 'x'; there are seen"),
        (
            "table",
            "there are table add, table modify, table delete, table dump, table count, table clear, table set-default, table reset-default",
        ),
        ("table add 'routes", "the quote ' is not closed"),
    ] {
        let found = error(&mut session, line).to_string();
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn wrong_forms_are_refused_with_the_usage() {
    let mut device = Memory::new();
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    for (line, expected) in [
        ("table dump routes 1.2.3.4 5", "'5' is one word too many; usage: table dump"),
        ("table add exact_match port=1", "there is no match field 'port'"),
        ("table add filters src=1.2.3.4 drop", "give --priority N; usage: table add TABLE"),
        ("table add routes 10.0.0.0/8 forward", "action forward needs parameter port; usage"),
        ("table add routes 10.0.0.0/8 forward 1 2", "'2' is one word too many"),
        (
            "table add routes 10.0.0.0/8 forward 512",
            "'512' is not a value of port: the value needs 10 bits",
        ),
        ("table add routes dst=1 dst=2 drop", "hdr.ipv4.dst is given twice"),
        ("table add routes 10.0.0.0/8", "the name of an action is missing"),
        ("table add routes 10.0.0.0/8 drop --priority", "--priority needs a value"),
        ("table add routes 10.0.0.0/8 drop --priority x", "--priority x is no such number"),
        ("table add routes 10.0.0.0/8 drop --idle-timeout 5", "--idle-timeout: "),
        ("member add choices 0 drop", "the number of a member is a number from 1 on"),
        ("group add choices 1 x", "'x' is no member; one is MEMBER[*WEIGHT][@PORT]"),
        ("multicast add 1 :", "':' is no copy"),
        ("clone add 0 1", "the number of a clone session is a number from 1 on"),
        ("listen everything", "'everything' is none of packets, digests, idle"),
    ] {
        let found = error(&mut session, line).to_string();
        assert!(found.contains(expected), "{line}: {found}");
    }
    drop(session);
    assert_eq!(device.writes, 0);
}

/// A short name that two objects end with is refused with both.
#[test]
fn ambiguous_names_are_refused() {
    let source = include_str!("../../../judge/tests/everything.p4");
    // A second control with a table of the same name.
    let source = source.replace(
        "control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {\n    apply { }",
        "control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {\n    \
         table routes { key = { hdr.ipv4.src: exact; hdr.ipv4.dst: exact; hdr.ethernet.dst: exact; } \
         actions = { NoAction; } }\n    apply { routes.apply(); }",
    );
    let mut device = Memory::of(schema_of(&source));
    let mut session = Session::new(&mut device, false).expect("it has a pipeline");
    let found = error(&mut session, "table dump routes").to_string();
    assert_eq!(found, "table 'routes' is ambiguous: MyIngress.routes, MyEgress.routes");
    let found = error(&mut session, "table delete MyEgress.routes src=1 dst=2").to_string();
    assert_eq!(found, "match field 'dst' is ambiguous: hdr.ipv4.dst, hdr.ethernet.dst");
    let found = error(&mut session, "table delete MyEgress.routes src=1 ipv4.dst=2").to_string();
    assert!(found.contains("hdr.ethernet.dst has no value"), "{found}");
}
