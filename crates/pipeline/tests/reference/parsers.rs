//! Tests of parsers (P4_16 specification, section 13). The programs report the parser's error in a
//! header.

use super::support::{V1model, exact, packet};
use ir::bits::Bits;
use pipeline::{FieldMatch, Switch};

const DECLARATIONS: &str = "error { Mine }
    header Report { bit<8> error_; bit<8> x; bit<8> y; }
    header B { bit<8> v; } header W { bit<16> v; } header L { bit<8> n; varbit<32> data; }
    header_union U { B b; W w; }
    struct H { Report report; B b; W w; L l; B[2] s; U u; } struct M { bit<8> x; bit<8> y; }";

/// Returns a program whose ingress puts the parser's error and the metadata `m.x` and `m.y` in
/// front of the packet. The errors are 0 NoError, 1 PacketTooShort, 2 NoMatch, 3 StackOutOfBounds,
/// 4 HeaderTooShort, 5 ParserTimeout, 6 ParserInvalidArgument and 7 Mine.
fn reporting(declarations: &str, parser: &str) -> Switch {
    V1model {
        declarations: &format!("{DECLARATIONS} {declarations}"),
        parser,
        ingress: "apply {
            h.report.setValid(); h.report.error_ = 255; h.report.x = m.x; h.report.y = m.y;
            if (s.parser_error == error.NoError) { h.report.error_ = 0; }
            if (s.parser_error == error.PacketTooShort) { h.report.error_ = 1; }
            if (s.parser_error == error.NoMatch) { h.report.error_ = 2; }
            if (s.parser_error == error.StackOutOfBounds) { h.report.error_ = 3; }
            if (s.parser_error == error.HeaderTooShort) { h.report.error_ = 4; }
            if (s.parser_error == error.ParserTimeout) { h.report.error_ = 5; }
            if (s.parser_error == error.ParserInvalidArgument) { h.report.error_ = 6; }
            if (s.parser_error == error.Mine) { h.report.error_ = 7; }
        }",
        ..V1model::default()
    }
    .load()
}

fn report(parser: &str, bytes: &[u8]) -> Vec<u8> {
    packet(&mut reporting("", parser), 0, bytes)
}

#[test]
fn extraction_moves_the_cursor_and_the_rest_is_payload() {
    let parser = "state start { b.extract(h.b); b.extract(h.w); m.x = h.b.v; transition accept; }";
    assert_eq!(report(parser, &[1, 2, 3, 4]), [0, 1, 0, 1, 2, 3, 4]);
    // A failed extraction changes nothing: the second header stays invalid, and its byte is
    // payload.
    assert_eq!(report(parser, &[1, 2]), [1, 0, 0, 1, 2]);
}

#[test]
fn a_header_can_be_skipped() {
    let parser = "state start { b.extract<W>(_); b.extract(h.b); m.x = h.b.v; transition accept; }";
    assert_eq!(report(parser, &[1, 2, 3, 4]), [0, 3, 0, 3, 4]);
}

#[test]
fn a_varbit_field_has_the_length_of_the_extraction() {
    let parser = "state start { b.extract(h.b); b.extract(h.l, (bit<32>)h.b.v); m.x = h.l.n; transition accept; }";
    assert_eq!(report(parser, &[16, 9, 0xaa, 0xbb, 0xcc]), [0, 9, 0, 16, 9, 0xaa, 0xbb, 0xcc]);
    assert_eq!(report(parser, &[0, 9, 0xaa]), [0, 9, 0, 0, 9, 0xaa]);
    assert_eq!(report(parser, &[40, 9, 1, 2, 3, 4, 5])[0], 4, "longer than the field");
    assert_eq!(report(parser, &[12, 9, 1, 2])[0], 6, "not whole bytes");
    assert_eq!(report(parser, &[32, 9, 1, 2])[0], 1, "longer than the packet");
    assert_eq!(report(parser, &[40, 9, 1])[0], 1, "longer than both");
}

#[test]
fn lookahead_leaves_the_cursor_and_advance_moves_it() {
    let parser = "state start { m.x = b.lookahead<bit<8>>(); m.y = b.lookahead<bit<12>>()[7:0]; b.advance(8);
        b.extract(h.b); transition accept; }";
    assert_eq!(report(parser, &[0x12, 0x34, 0x56]), [0, 0x12, 0x23, 0x34, 0x56]);
    assert_eq!(report(parser, &[0x12]), [1, 0x12, 0, 0x12]);
    let beyond = "state start { b.advance(24); transition accept; }";
    assert_eq!(report(beyond, &[1, 2]), [1, 0, 0, 1, 2]);
    assert_eq!(report(beyond, &[1, 2, 3]), [0, 0, 0]);
    let bits = "state start { b.advance(4); transition accept; }";
    assert_eq!(report(bits, &[1, 2]), [6, 0, 0, 1, 2], "not whole bytes");
    let headers = "state start { B peek = b.lookahead<B>(); m.x = peek.v; transition accept; }";
    assert_eq!(report(headers, &[7]), [0, 7, 0, 7]);
}

#[test]
fn length_returns_the_bytes_of_the_packet() {
    let parser = "state start { b.extract(h.b); m.x = (bit<8>)b.length(); transition accept; }";
    assert_eq!(report(parser, &[0; 7])[..2], [0, 7]);
}

#[test]
fn select_takes_the_first_case_that_fits() {
    let parser = "state start { b.extract(h.b); transition select(h.b.v) {
            1: one; 0x10 &&& 0xf0: two; 0x20 .. 0x22: three; } }
        state one { m.x = 1; transition accept; } state two { m.x = 2; transition accept; }
        state three { m.x = 3; transition accept; }";
    let run = |byte| report(parser, &[byte])[..2].to_vec();
    assert_eq!(run(1), [0, 1]);
    assert_eq!(run(0x1f), [0, 2]);
    assert_eq!(run(0x20), [0, 3]);
    assert_eq!(run(0x22), [0, 3]);
    assert_eq!(run(0x23), [0, 0], "nothing fits: simple_switch ends the parser without error");
    let many = "state start { b.extract(h.w); transition select(h.w.v[15:8], h.w.v[7:0]) {
            (1, _): one; (_, 2): two; default: three; } }
        state one { m.x = 1; transition accept; } state two { m.x = 2; transition accept; }
        state three { m.x = 3; transition accept; }";
    let run = |bytes: &[u8; 2]| report(many, bytes)[1];
    assert_eq!([run(&[1, 2]), run(&[9, 2]), run(&[9, 9])], [1, 2, 3]);
}

#[test]
fn verify_sets_an_error_and_reject_does_not() {
    let parser = "state start { b.extract(h.b); verify(h.b.v != 1, error.Mine); m.x = 5;
        transition select(h.b.v) { 2: reject; _: accept; } }";
    assert_eq!(report(parser, &[0])[..2], [0, 5]);
    assert_eq!(report(parser, &[1])[..2], [7, 0]);
    assert_eq!(report(parser, &[2])[..2], [0, 5], "explicit rejection sets no error");
}

#[test]
fn a_full_or_empty_stack_is_a_parser_error() {
    let parser = "state start { b.extract(h.s.next); m.x = h.s.last.v; m.y = (bit<8>)h.s.lastIndex;
        transition select(h.s.last.v) { 0: accept; _: start; } }";
    assert_eq!(report(parser, &[5, 0, 9]), [0, 0, 1, 5, 0, 9]);
    assert_eq!(report(parser, &[5, 6, 7]), [3, 6, 1, 5, 6, 7], "the stack is full");
    let empty = "state start { m.x = h.s.last.v; transition accept; }";
    assert_eq!(report(empty, &[1])[0], 3, "the stack is empty");
}

#[test]
fn extraction_into_a_union_makes_one_member_valid() {
    let parser = "state start { b.extract(h.u.b); m.x = h.u.b.v; transition next; }
        state next { b.extract(h.u.w); m.y = h.u.b.isValid() ? 8w1 : 0; transition accept; }";
    assert_eq!(report(parser, &[1, 2, 3]), [0, 1, 0, 2, 3]);
}

#[test]
fn a_parser_that_does_not_end_times_out() {
    let parser = "state start { m.x = m.x | 2; transition select(m.x) { 1: accept; _: start; } }";
    assert_eq!(report(parser, &[1])[0], 5);
}

#[test]
fn a_subparser_that_rejects_stops_its_caller() {
    let declarations = "parser Sub(packet_in b, out B h, inout bit<8> count) {
        state start { b.extract(h); count = count + 1; transition select(h.v) { 0: reject; _: accept; } } }";
    let parser =
        "Sub() sub; state start { B x; sub.apply(b, x, m.y); sub.apply(b, h.b, m.y); m.x = x.v;
        transition accept; }";
    let mut switch = reporting(declarations, parser);
    assert_eq!(packet(&mut switch, 0, &[4, 5, 6]), [0, 4, 2, 5, 6]);
    assert_eq!(packet(&mut switch, 0, &[4])[0], 1, "errors of a subparser are the caller's");
    // The caller stops where the subparser rejects.
    assert_eq!(packet(&mut switch, 0, &[4, 0, 6])[..3], [0, 0, 2]);
}

#[test]
fn select_matches_the_members_of_value_sets() {
    let parser = "value_set<bit<8>>(2) ports; state start { b.extract(h.b);
        transition select(h.b.v) { ports: known; _: accept; } } state known { m.x = 1; transition accept; }";
    let mut switch = reporting("", parser);
    assert_eq!(packet(&mut switch, 0, &[7])[1], 0);
    let id = switch.value_set_named("ports").expect("value set");
    switch.set_value_set(id, &[vec![exact(7)], vec![exact(9)]]).expect("fits");
    assert_eq!(packet(&mut switch, 0, &[7])[1], 1);
    assert_eq!(packet(&mut switch, 0, &[8])[1], 0);
    assert!(switch.set_value_set(id, &[vec![exact(1)], vec![exact(2)], vec![exact(3)]]).is_err());
    assert!(switch.set_value_set(id, &[vec![exact(256)]]).is_err());

    let declarations = "struct Key { @match(ternary) bit<4> high; bit<4> low; }";
    let parser = "value_set<Key>(2) pairs; state start { b.extract(h.b);
        transition select(h.b.v[7:4], h.b.v[3:0]) { pairs: known; _: accept; } }
        state known { m.x = 1; transition accept; }";
    let mut switch = reporting(declarations, parser);
    let id = switch.value_set_named("pairs").expect("value set");
    let four = |value| Bits::unsigned(4, value);
    let high = FieldMatch::Ternary { value: four(8), mask: four(8) };
    switch.set_value_set(id, &[vec![high, exact(3)]]).expect("fits");
    assert_eq!(packet(&mut switch, 0, &[0xf3])[1], 1);
    assert_eq!(packet(&mut switch, 0, &[0x73])[1], 0);
    assert_eq!(packet(&mut switch, 0, &[0xf4])[1], 0);
}
