//! Tests of the rules of the P4_16 specification, version 1.2.4, by section.

use super::support::{V1model, outputs, packet, registers};

/// Returns the first `count` registers after `body` has run.
fn first(count: usize, locals: &str, body: &str) -> Vec<u8> {
    registers("", locals, body)[..count].to_vec()
}

#[test]
fn section_6_8_arguments_are_copied_in_and_out_left_to_right() {
    // Both parameters are the same variable. The last copy wins, and neither sees the other.
    let locals =
        "action twice(inout bit<8> x, inout bit<8> y) { x = x + 1; y = y + 2; h.r.b = h.r.a; }";
    assert_eq!(first(2, locals, "h.r.a = 10; twice(h.r.a, h.r.a);"), [12, 10]);
}

#[test]
fn section_6_8_the_index_of_an_argument_is_evaluated_before_the_call() {
    let declarations = "header B { bit<8> v; } struct Index { bit<32> i; }";
    let locals = "B[3] s; bit<32> i;
        action set(inout bit<8> value, inout bit<32> index) { index = 2; value = 7; }";
    let body = "s[0].setValid(); s[1].setValid(); s[2].setValid(); i = 1; set(s[i].v, i);
        h.r.a = s[0].v; h.r.b = s[1].v; h.r.c = s[2].v; h.r.d = (bit<8>)i;";
    assert_eq!(registers(declarations, locals, body)[..4], [0, 7, 0, 2]);
}

#[test]
fn section_6_8_out_parameters_start_at_zero() {
    let declarations = "header B { bit<8> v; }";
    let locals = "B x; bit<8> seen;
        action look(out B header_, out bit<8> number) {
            seen = number; h.r.b = header_.isValid() ? 8w1 : 2; header_.setValid(); header_.v = 9; number = 4;
        }";
    let body = "x.setValid(); x.v = 1; look(x, h.r.a); h.r.c = x.v; h.r.d = seen;";
    assert_eq!(registers(declarations, locals, body)[..4], [4, 2, 9, 0]);
}

#[test]
fn section_8_5_arithmetic_wraps_and_saturates() {
    let body = "h.r.a = h.r.p - 1; h.r.b = h.r.a + 3; h.r.c = h.r.a |+| 3; h.r.d = h.r.p |-| 3;
        h.r.e = h.r.a * h.r.a; h.r.f = ~h.r.b; h.r.g = -h.r.b;
        int<8> n = (int<8>)h.r.a; h.r.h = (bit<8>)(n |-| 127); h.r.i = (bit<8>)(n |-| 126 |-| 126);";
    assert_eq!(first(9, "", body), [255, 2, 255, 0, 1, 253, 254, 128, 128]);
}

#[test]
fn section_8_5_shifts_are_arithmetic_for_signed_values_and_may_be_long() {
    let body = "bit<8> u = h.r.p | 0x81; int<8> n = (int<8>)u;
        h.r.a = u >> 1; h.r.b = (bit<8>)(n >> 1); h.r.c = u << 7; h.r.d = u >> 8; h.r.e = (bit<8>)(n >> 200);
        h.r.f = u << 255;";
    assert_eq!(first(6, "", body), [0x40, 0xc0, 0x80, 0, 0xff, 0]);
}

#[test]
fn section_8_6_slices_are_read_and_written() {
    let body =
        "bit<16> w = (bit<16>)h.r.p | 0x1234; h.r.a = w[11:4]; w[11:4] = 0xff; h.r.b = w[15:8];
        h.r.c = w[7:0]; bit<4> low = 0x9; h.r.d = low ++ w[15:12]; h.r.a[7:7] = 1;";
    assert_eq!(first(4, "", body), [0xa3, 0x1f, 0xf4, 0x91]);
}

#[test]
fn section_8_11_casts_truncate_extend_and_convert_booleans() {
    let body = "int<4> n = -3; bit<8> wide = (bit<8>)(bit<4>)n; h.r.a = wide; h.r.b = (bit<8>)(int<8>)n;
        h.r.c = (bit<8>)(bit<1>)true; bool yes = (bool)1w1; h.r.d = yes ? 8w5 : 6; bit<16> w = 0x1ff;
        h.r.e = (bit<8>)w;";
    assert_eq!(first(5, "", body), [13, 253, 1, 5, 0xff]);
}

#[test]
fn section_8_5_comparisons_follow_the_sign() {
    let body =
        "int<8> n = -1; bit<8> u = (bit<8>)n; h.r.a = (n < 0) ? 8w1 : 0; h.r.b = (u > 0) ? 8w1 : 0;
        h.r.c = (n <= -1 && n >= -1 && n == -1) ? 8w1 : 0;";
    assert_eq!(first(3, "", body), [1, 1, 1]);
}

#[test]
fn section_8_8_logical_operators_are_evaluated_only_as_far_as_needed() {
    let declarations = "bool count(inout bit<8> n, in bool value) { n = n + 1; return value; }";
    let body = "bool x = count(h.r.a, false) && count(h.r.a, true); bool y = count(h.r.b, true) || count(h.r.b, true);
        bool z = count(h.r.c, true) && count(h.r.c, true);";
    assert_eq!(registers(declarations, "", body)[..3], [1, 1, 2]);
}

#[test]
fn section_8_17_assignments_and_comparisons_include_the_validity() {
    let declarations = "header B { bit<8> v; }";
    let locals = "B x; B y;";
    let body = "h.r.a = (x == y) ? 8w1 : 0; x.setValid(); x.v = 3; h.r.b = (x == y) ? 8w1 : 0; y = x;
        h.r.c = (x == y) ? 8w1 : 0; h.r.d = y.v; x.setInvalid(); x.setValid(); h.r.e = x.v; x.v = 8; x.setValid();
        h.r.f = x.v; y = (B){#}; h.r.g = y.isValid() ? 8w1 : 0; x = { 77 }; h.r.h = x.v;";
    assert_eq!(registers(declarations, locals, body)[..8], [1, 0, 1, 3, 0, 8, 0, 77]);
}

const STACK: &str = "header B { bit<8> v; } struct S { B[4] s; }";

/// Fills a stack of four elements with 1, 2 and 3, leaves the last one invalid, and runs `body`.
/// Returns the value of each element, or `None` if it is invalid.
fn stack(body: &str) -> Vec<Option<u8>> {
    let fill = (0..3).map(|i| format!("s[{i}].setValid(); s[{i}].v = {};", i + 1));
    let show = (0..4).map(|i| {
        let (valid, value) = (['a', 'c', 'e', 'g'][i], ['b', 'd', 'f', 'h'][i]);
        format!("h.r.{valid} = s[{i}].isValid() ? 8w1 : 0; h.r.{value} = s[{i}].v;")
    });
    let body = format!("{} {body} {}", fill.collect::<String>(), show.collect::<String>());
    let left = registers(STACK, "B[4] s;", &body);
    left[..8].chunks(2).map(|pair| (pair[0] == 1).then_some(pair[1])).collect()
}

#[test]
fn section_8_18_push_and_pop_move_elements() {
    assert_eq!(stack(""), [Some(1), Some(2), Some(3), None]);
    assert_eq!(stack("s.push_front(1);"), [None, Some(1), Some(2), Some(3)]);
    assert_eq!(stack("s.push_front(2);"), [None, None, Some(1), Some(2)]);
    assert_eq!(stack("s.push_front(9);"), [None; 4]);
    assert_eq!(stack("s.pop_front(1);"), [Some(2), Some(3), None, None]);
    assert_eq!(stack("s.pop_front(9);"), [None; 4]);
}

#[test]
fn section_8_18_writes_beyond_a_stack_have_no_effect() {
    let beyond = "bit<32> i = 4 + (bit<32>)h.r.p; s[i].v = 9; s[i].setValid(); h.r.i = s[i].v;";
    assert_eq!(stack(beyond), [Some(1), Some(2), Some(3), None]);
    let body = "bit<32> i = 2 + (bit<32>)h.r.p; s[i].v = 9;";
    assert_eq!(stack(body), [Some(1), Some(2), Some(9), None]);
}

#[test]
fn section_10_functions_may_have_constant_and_default_parameters() {
    let declarations =
        "bit<8> scaled(int by, in bit<8> x, int more = 1) { return x * (bit<8>)by + more; }";
    let body = "h.r.a = scaled(3, h.r.p + 2); h.r.b = scaled(5, 2, 7); h.r.c = scaled(3, 1); h.r.d = scaled(more = 2, by = 4, x = 1);";
    assert_eq!(registers(declarations, "", body)[..4], [7, 17, 4, 6]);
}

#[test]
fn elements_of_arrays_may_have_any_type() {
    // The working draft of the specification has arrays. Version 1.2.4 has only stacks of headers.
    let declarations = "struct Pair { bit<8> x; bit<8> y; }";
    let body = "Pair[3] pairs; bit<8>[3] numbers = { 5, 6, 7 };
        bit<8> i = h.r.p + 1; pairs[i].y = 4; pairs[2] = { 8, 9 }; numbers[i] = numbers[i] + 10;
        h.r.a = pairs[1].x; h.r.b = pairs[1].y; h.r.c = pairs[2].x + pairs[i + 1].y;
        h.r.d = numbers[1]; for (bit<8> n in numbers) { h.r.e = h.r.e + n; }
        bit<8>[3] copy = numbers; h.r.f = copy == numbers ? 8w1 : 0;";
    assert_eq!(registers(declarations, "", body)[..6], [0, 4, 17, 16, 28, 1]);
}

#[test]
fn section_8_20_at_most_one_member_of_a_union_is_valid() {
    let declarations = "header B { bit<8> v; } header W { bit<16> v; } header_union U { B b; W w; } struct S { U u; }";
    let show = |name: char| {
        format!(
            "h.r.{name} = (u.b.isValid() ? 8w1 : 0) + (u.w.isValid() ? 8w2 : 0) + (u.isValid() ? 8w4 : 0);"
        )
    };
    let body = format!(
        "{} u.b.setValid(); {} u.w.setValid(); {} b.setValid(); u.b = b; {} u.w.v = 1; {} b.setInvalid(); u.b = b; {}
        u.w.setValid(); u.b.setInvalid(); {}",
        show('a'), show('b'), show('c'), show('d'), show('e'), show('f'), show('g')
    );
    assert_eq!(registers(declarations, "U u; B b;", &body)[..7], [0, 5, 6, 5, 5, 0, 6]);
}

#[test]
fn section_12_4_return_leaves_the_action_only() {
    let locals = "action a() { h.r.a = 1; if (h.r.p == 0) { return; } h.r.a = 2; }";
    assert_eq!(first(2, locals, "a(); h.r.b = 3;"), [1, 3]);
    assert_eq!(first(2, "", "h.r.a = 1; if (h.r.p == 0) { return; } h.r.b = 3;"), [1, 0]);
}

#[test]
fn section_12_5_exit_ends_the_control_after_copying_out() {
    let locals = "action leave(inout bit<8> x) { x = 7; exit; } bit<8> tmp;";
    assert_eq!(first(2, locals, "leave(h.r.a); h.r.b = 1;"), [7, 0]);
    let declarations = "control Inner(inout bit<8> x, inout bit<8> y) { apply { x = 5; if (y == 0) { exit; } y = 6; } }";
    assert_eq!(
        registers(declarations, "Inner() i;", "i.apply(h.r.a, h.r.b); h.r.c = 1;")[..3],
        [5, 0, 0]
    );
}

#[test]
fn section_12_7_switch_takes_the_first_case_that_fits() {
    let body = |subject: u8| {
        format!(
            "switch (h.r.p + {subject}) {{ 1: {{ h.r.a = 10; }} 2: 3: {{ h.r.a = 20; }} default: {{ h.r.a = 30; }} }}"
        )
    };
    let run = |subject| first(1, "", &body(subject))[0];
    assert_eq!([run(0), run(1), run(2), run(3), run(4)], [30, 10, 20, 20, 30]);
    let no_default = "switch (h.r.p) { 1: { h.r.a = 1; } }";
    assert_eq!(first(1, "", no_default), [0]);
}

#[test]
fn section_12_8_break_and_continue_leave_a_loop_and_an_iteration() {
    let body = "for (bit<8> i = 0; i < 10; i = i + 1) { if (i == 2) { continue; } if (i == 5) { break; } h.r.a = h.r.a + i; }
        for (bit<8> i in 1 .. 4) { h.r.b = h.r.b + i; }";
    assert_eq!(first(2, "", body), [1 + 3 + 4, 10]);
}

#[test]
fn a_loop_without_end_is_an_error_and_not_a_hang() {
    let mut switch = V1model {
        declarations: "struct H {} struct M { bit<8> x; }",
        ingress: "apply { for (bit<8> i = 0; i >= 0; i = i + 1) { m.x = i; } }",
        ..V1model::default()
    }
    .load();
    let error = switch.process(0, &[], std::time::Duration::ZERO).expect_err("endless");
    assert!(error.to_string().contains("check that loops end"), "{error}");
}

#[test]
fn section_15_emit_takes_valid_headers_in_order() {
    let mut switch = V1model {
        declarations: "header B { bit<8> v; } header N { bit<4> x; bit<12> y; }
            header_union U { B b; N n; } struct Inner { B y; B x; }
            struct H { B first; B[3] s; U u; Inner i; N n; } struct M {}",
        ingress: "apply {
            h.n.setValid(); h.n.x = 0xa; h.n.y = 0xbcd; h.s[2].setValid(); h.s[2].v = 2; h.s[0].setValid(); h.s[0].v = 1;
            h.u.n.setValid(); h.u.n.x = 1; h.u.n.y = 0x234; h.i.x.setValid(); h.i.x.v = 5; h.i.y.setValid(); h.i.y.v = 6;
        }",
        ..V1model::default()
    }
    .load();
    assert_eq!(packet(&mut switch, 0, &[0xee]), [1, 2, 0x12, 0x34, 6, 5, 0xab, 0xcd, 0xee]);
}

#[test]
fn functions_return_values_and_nest() {
    let declarations = "bit<8> add(in bit<8> x, in bit<8> y) { return x + y; }
        bit<8> most(in bit<8> x, in bit<8> y) { if (x > y) { return x; } return y; }";
    let body = "h.r.a = add(add(1, 2), add(3, 4)); h.r.b = most(h.r.a, add(h.r.a, 1));";
    assert_eq!(registers(declarations, "", body)[..2], [10, 11]);
}

#[test]
fn structs_and_tuples_are_values() {
    let declarations =
        "struct Pair { bit<8> x; bit<8> y; } Pair swap(in Pair p) { return { p.y, p.x }; }";
    let body = "Pair p = { 1, 2 }; Pair q = swap(p); h.r.a = q.x; h.r.b = q.y; p = { y = 5, x = 6 }; h.r.c = p.x;
        h.r.d = (p == { 6, 5 }) ? 8w1 : 0; tuple<bit<8>, bit<8>> t = { 8, 9 }; h.r.e = t[1];";
    assert_eq!(registers(declarations, "", body)[..5], [2, 1, 6, 1, 9]);
}

#[test]
fn enumerations_and_errors_are_values() {
    let declarations = "enum Kind { A, B } enum bit<8> Code { X = 7, Y = 9 } error { Mine }";
    let body = "Kind k = Kind.B; h.r.a = (k == Kind.B) ? 8w1 : 0; Code c = Code.Y; h.r.b = (bit<8>)c; error e = error.Mine;
        h.r.c = (e == error.Mine) ? 8w1 : 0; h.r.d = (e == error.NoError) ? 8w1 : 0;";
    assert_eq!(registers(declarations, "", body)[..4], [1, 9, 1, 0]);
}

#[test]
fn a_packet_without_a_destination_goes_to_port_0() {
    let mut switch =
        V1model { declarations: "struct H {} struct M {}", ..V1model::default() }.load();
    assert_eq!(outputs(&mut switch, 5, &[1, 2, 3]), [(0, vec![1, 2, 3])]);
}

#[test]
fn generic_controls_are_instantiated_once_per_set_of_types() {
    // The specification has generic control types only, but p4c accepts generic controls too.
    let declarations = "control Store<T>(inout T x)(T value) {
            T kept; action keep() { kept = value; } apply { keep(); x = kept; } }
        control Copy<T>(out T to, in T from) { apply { to = from; } }
        control Twice<T>(inout T x)(T value) {
            T kept; Store<T>(value) own; Store<bit<4>>(9) other;
            apply { own.apply(x); bit<4> y = 0; other.apply(y); if (y != 9) { x = kept; } } }";
    let locals = "Store<bit<8>>(7) narrow; Store(16w0x1234) wide; Twice(8w5) twice;";
    let body = "narrow.apply(h.r.a); bit<16> w = 0; wide.apply(w); h.r.b = w[15:8];
        Copy<bit<8>>.apply(h.r.c, h.r.a); twice.apply(h.r.d);";
    assert_eq!(registers(declarations, locals, body)[..4], [7, 0x12, 7, 5]);
}

#[test]
fn a_slice_of_no_bits_adds_nothing() {
    assert_eq!(first(1, "", "h.r.a = h.r.p[3+:0] ++ 8w9;"), [9]);
}

#[test]
fn shifts_by_new_types_shift_by_their_numbers() {
    let body = "Port n = (Port)(bit<9>)(h.r.p | 3); h.r.a = 8w1 << n; h.r.b = 8w0x80 >> n; h.r.c = 8w1; h.r.c <<= n;";
    assert_eq!(registers("type bit<9> Port;", "", body)[..3], [8, 0x10, 8]);
}
