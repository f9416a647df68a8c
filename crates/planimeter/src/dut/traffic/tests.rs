//! Tests of generating packets for tables that a packet reaches only if other tables let it pass.

use p4lang::preprocess::{MemoryFiles, Options};

use super::*;

const GUARDED: &str = include_str!("../../../tests/verbs/guarded.p4");

fn program(text: &str) -> Program {
    let compiled =
        p4lang::compile_text("program.p4", text, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(p4lang::diagnostic::Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}"))
}

fn wires() -> Vec<Wire> {
    (1..=3).map(|number| Wire(format!("{number}@lo").parse().expect("a port"))).collect()
}

fn made_of(text: &str, table: Option<&str>) -> Result<Traffic, Failure> {
    Made::of(program(text), 4, table)?.effects(wires(), table)
}

fn made(table: Option<&str>) -> Result<Traffic, Failure> {
    made_of(GUARDED, table)
}

#[test]
fn packets_of_a_guarded_table_are_solved_for() {
    let traffic = made(Some("second")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((traffic.table.as_str(), traffic.flows.len()), ("I.second", 4));
    let [note] = traffic.notes.as_slice() else { panic!("{:?}", traffic.notes) };
    assert!(note.starts_with("Packets of table I.second were solved for"), "{note}");
    for flow in &traffic.flows {
        // Without its entry the packet leaves by port 0, which is not connected.
        assert_eq!((flow.port, &flow.absent), (1, &Outcome::Unseen));
        let Outcome::Leaves { port, packet } = &flow.inserted else { panic!("{flow:?}") };
        assert_eq!((*port, &packet[..12]), (2, &flow.packet[..12]));
        let Outcome::Leaves { port, .. } = &flow.modified else { panic!("{flow:?}") };
        assert!([1, 3].contains(port), "{flow:?}");
        // The entry of the other table marks the packet with the value of its field `b`.
        let field = |at: usize| {
            let zeros = flow.packet[at..at + 4].iter().take_while(|byte| **byte == 0).count();
            flow.packet[at + zeros.min(3)..at + 4].to_vec()
        };
        let marks = |entry: &v1::TableEntry| {
            let Some(FieldMatchType::Exact(exact)) =
                entry.r#match.first().and_then(|one| one.field_match_type.as_ref())
            else {
                return false;
            };
            let Some(v1::table_action::Type::Action(action)) =
                entry.action.as_ref().and_then(|action| action.r#type.as_ref())
            else {
                return false;
            };
            exact.value == field(0) && action.params.iter().any(|param| param.value == field(4))
        };
        assert!(traffic.beside.iter().any(marks), "{flow:?}");
    }
}

#[test]
fn packets_of_a_table_that_is_reached_are_not_solved_for() {
    for table in [None, Some("first")] {
        let traffic = made(table).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((traffic.table.as_str(), traffic.notes.len()), ("I.first", 0));
    }
}

#[test]
fn the_reason_is_named_for_a_table_that_no_packet_hits() {
    let error = made(Some("never")).expect_err("no packet does").to_string();
    let reason = "no packet that arrives by port 1 does, whatever entries tables have";
    assert!(error.contains(&format!("table I.never: {reason}")), "{error}");
}

/// A program in which routes refer to next hops, and next hops to neighbours. Packets look them up
/// in this order. A switch that checks references accepts entries only in the opposite order.
const REFERRING: &str = "#include <v1model.p4>
    header h_t { bit<32> a; }
    struct H { h_t h; } struct M { bit<32> next; bit<32> station; }
    parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
        state start { p.extract(h.h); transition accept; }
    }
    control V(inout H h, inout M m) { apply { } }
    control I(inout H h, inout M m, inout standard_metadata_t s) {
        action via(@refers_to(next_hops, next) bit<32> next) { m.next = next; }
        action at(@refers_to(neighbours, station) bit<32> station) { m.station = station; }
        action go(bit<9> port) { s.egress_spec = port; }
        table routes { key = { h.h.a: exact; } actions = { via; } size = 64; }
        table next_hops { key = { m.next: exact @name(\"next\"); } actions = { at; } size = 64; }
        table neighbours {
            key = { m.station: exact @name(\"station\"); } actions = { go; } size = 64;
        }
        apply {
            if (routes.apply().hit) { if (next_hops.apply().hit) { neighbours.apply(); } }
        }
    }
    control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in H h) { apply { p.emit(h); } }
    V1Switch(P(), V(), I(), E(), V(), D()) main;";

#[test]
fn entries_are_in_the_order_of_their_references() {
    use ::dut::Operation;

    let traffic = made_of(REFERRING, Some("routes")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((traffic.flows.len(), traffic.beside.len()), (4, 8));
    // A modification would name another next hop, which is not there.
    assert!(traffic.flows.iter().all(|flow| flow.second.is_none()));
    let accepted = |entries: Vec<&v1::TableEntry>| {
        let schema = p4runtime::p4info::Schema::new(traffic.p4info.clone()).expect("a schema");
        let wires = wires();
        let plane = own::Plane::new(program(REFERRING), &schema, &wires, 1);
        let mut plane = plane.unwrap_or_else(|error| panic!("{error}"));
        plane.check_references().expect("there is no cycle");
        let entries = entries.into_iter();
        entries.filter(|entry| plane.write(Operation::Insert, entry).is_ok()).count()
    };
    let flows = || traffic.flows.iter().map(|flow| &flow.first);
    assert_eq!(accepted(traffic.beside.iter().chain(flows()).collect()), 12);
    // In the opposite order, only the neighbours are accepted, to which nothing has to be there.
    assert_eq!(accepted(flows().chain(traffic.beside.iter().rev()).collect()), 4);
}

/// Entries to which other entries refer cannot be deleted. Only a switch that checks references
/// refuses to delete them.
#[test]
fn entries_to_which_others_refer_are_measured_with_a_note() {
    let traffic = made_of(REFERRING, Some("neighbours")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((traffic.flows.len(), traffic.beside.len()), (4, 8));
    let [note] = traffic.notes.as_slice() else { panic!("{:?}", traffic.notes) };
    assert!(note.contains("refer to those of table I.neighbours"), "{note}");
}
