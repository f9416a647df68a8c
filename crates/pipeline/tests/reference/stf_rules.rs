//! Tests of rules of BMv2 as scripts. Each test is a program and an STF script, whose bytes are
//! derived by hand from the source that the test names (p4lang/behavioral-model, and the back end
//! of p4c for it).

use super::support::V1model;
use stf::{self, Script};

/// Runs a script, and panics unless it passes.
fn passes(program: V1model<'_>, script: &str) {
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = stf::Options { strict: true, every_port: true, ..stf::Options::default() };
    let report = stf::run(&mut program.load(), &script, options)
        .unwrap_or_else(|(line, error)| panic!("line {line}: {error}"));
    let failures: String = report.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{failures}");
}

const DEPARSER: &str =
    "apply { b.emit(h.h); b.emit(h.st); b.emit(h.v); b.emit(h.u); b.emit(h.us); }";
const DECLARATIONS: &str = "error { Mine }
    header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
    header v_t { bit<8> len; varbit<32> data; }
    header_union U2 { h_t x; h_t y; }
    struct H { h_t h; h_t[3] st; v_t v; U2 u; U2[2] us; }
    struct M { int<8> s; bit<8> t; @field_list(1) bit<8> keep; }";

/// `parser.cpp`: an error ends the parser, extracted headers stay valid, and the rest is payload.
/// The error of a varbit field that exceeds its maximum is HeaderTooShort, as in the `extract` of
/// core.p4. The error of a varbit field that does not fill whole bytes is ParserInvalidArgument.
/// The error of a lookahead or advance beyond the end is PacketTooShort.
#[test]
fn a_parser_error_ends_the_parser_and_keeps_extracted_headers() {
    let program = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.h); transition select(h.h.a) {
                1: vb; 2: st; 3: mine; 4: look; 5: adv; default: accept; } }
            state vb { b.extract(h.v, (bit<32>) h.h.b); transition accept; }
            state st { b.extract(h.st.next);
                transition select(h.st.last.a) { 0: st; default: accept; } }
            state mine { verify(h.h.b == 0, error.Mine); transition accept; }
            state look { bit<40> x = b.lookahead<bit<40>>(); h.h.d = x[7:0]; transition accept; }
            state adv { b.advance((bit<32>) h.h.b); transition accept; }",
        ingress: "apply { s.egress_spec = 2; h.h.c = 9;
            if (s.parser_error == error.PacketTooShort) h.h.c = 1;
            else if (s.parser_error == error.HeaderTooShort) h.h.c = 2;
            else if (s.parser_error == error.ParserInvalidArgument) h.h.c = 3;
            else if (s.parser_error == error.StackOutOfBounds) h.h.c = 4;
            else if (s.parser_error == error.Mine) h.h.c = 5;
            else if (s.parser_error == error.NoError) h.h.c = 6; }",
        deparser: DEPARSER,
        ..V1model::default()
    };
    let script = "
        packet 1 00000000
        expect 2 00000600 $
        # varbit: of 8 bits, of 9, of 40, of 40 in a short packet
        packet 1 01080000 05 06 07
        expect 2 01080600 05 06 07 $
        packet 1 01090000 05 06 07
        expect 2 01090300 05 06 07 $
        packet 1 01280000 05 06 07 08 09 0a 0b
        expect 2 01280200 05 06 07 08 09 0a 0b $
        packet 1 01280000 05 06
        expect 2 01280100 05 06 $
        # a fourth element of three, and one in a short packet
        packet 1 02000000 00000000 00000000 00000000 00000000
        expect 2 02000400 00000000 00000000 00000000 00000000 $
        packet 1 02000000 00000000 00000000 01
        expect 2 02000100 00000000 00000000 01 $
        packet 1 03010000
        expect 2 03010500 $
        # lookahead
        packet 1 04000000 01020304
        expect 2 04000100 01020304 $
        packet 1 04000000 0102030405
        expect 2 04000605 0102030405 $
        # advance by 16 bits, by 64, by 1
        packet 1 05100000 0102030405
        expect 2 05100600 030405 $
        packet 1 05400000 0102030405
        expect 2 05400100 0102030405 $
        packet 1 05010000 0102030405
        expect 2 05010300 0102030405 $
    ";
    passes(program, script);
}

/// `stacks.cpp` and `header_unions.cpp`: a push beyond the size invalidates all elements. New
/// elements are invalid, and zero once they are made valid. A union has one valid header, and a
/// stack of unions moves whole unions.
#[test]
fn stacks_move_elements_and_unions_have_one_valid_header() {
    let program = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.h); transition select(h.h.a) {
                1: st; 2: un; 3: us; default: accept; } }
            state st { b.extract(h.st.next); b.extract(h.st.next); transition accept; }
            state un { b.extract(h.u.x); b.extract(h.u.y); transition accept; }
            state us { b.extract(h.us.next.x); b.extract(h.us.next.y);
                b.extract(h.us.next.x); transition accept; }",
        ingress: "apply { s.egress_spec = 2;
            if (h.h.a == 1) {
                if (h.h.b == 0) h.st.push_front(1);
                else if (h.h.b == 1) h.st.pop_front(1);
                else if (h.h.b == 2) h.st.push_front(4);
                else if (h.h.b == 3) h.st.pop_front(2);
                else if (h.h.b == 4) { h.st.push_front(1); h.st[0].setValid(); }
                else if (h.h.b == 5) { h.st[2] = h.st[0]; h.st[0].setInvalid(); }
            } else if (h.h.a == 2) {
                if (h.u.isValid()) h.h.b = 1;
                if (h.u.x.isValid()) h.h.b = 2;
                if (h.u.y.isValid()) h.h.c = 2;
                if (h.h.d == 1) h.u.x.setValid();
                if (h.h.d == 2) { h.u.x = h.h; }
                if (h.h.d == 3) { h.u.y.setInvalid(); }
            } else {
                h.h.b = (s.parser_error == error.NoError ? 8w0 : 8w1);
                if (h.h.d == 1) { h.us[1] = h.us[0]; }
                if (h.h.d == 2) { h.us.pop_front(1); }
            } }",
        deparser: DEPARSER,
        ..V1model::default()
    };
    let script = "
        packet 1 01000000 01020304 05060708 ff
        expect 2 01000000 01020304 05060708 ff $
        packet 1 01010000 01020304 05060708 ff
        expect 2 01010000 05060708 ff $
        packet 1 01020000 01020304 05060708 ff
        expect 2 01020000 ff $
        packet 1 01030000 01020304 05060708 ff
        expect 2 01030000 ff $
        packet 1 01040000 01020304 05060708 ff
        expect 2 01040000 00000000 01020304 05060708 ff $
        packet 1 01050000 01020304 05060708 ff
        expect 2 01050000 05060708 01020304 ff $
        packet 1 02000000 01020304 05060708 ff
        expect 2 02010200 05060708 ff $
        packet 1 02000001 01020304 05060708 ff
        expect 2 02010201 00000000 ff $
        packet 1 02000002 01020304 05060708 ff
        expect 2 02010202 02010202 ff $
        packet 1 02000003 01020304 05060708 ff
        expect 2 02010203 ff $
        # a third union of two
        packet 1 03000000 01020304 05060708 01010101
        expect 2 03010000 01020304 05060708 01010101 $
        packet 1 03000001 01020304 05060708 01010101
        expect 2 03010001 01020304 01020304 01010101 $
        packet 1 03000002 01020304 05060708 01010101
        expect 2 03010002 05060708 01010101 $
    ";
    passes(program, script);
}

/// `actions.cpp`, `expressions.cpp`, `data.h`: numbers are unbounded until the casts and masks of
/// p4c truncate them.
#[test]
fn arithmetic_is_unbounded_until_a_cast() {
    let program = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.h); transition accept; }",
        ingress: "apply { s.egress_spec = 2;
            if (h.h.a == 0) {
                m.s = (int<8>) h.h.b;
                bit<8> by = h.h.c;
                h.h.b = (bit<8>) (m.s >> by);
                h.h.c = h.h.c << by;
                m.s = (int<8>) h.h.d |+| 8s100;
                h.h.d = (bit<8>) m.s |-| 8w200;
            } else if (h.h.a == 1) {
                bit<8> x = h.h.b; bit<8> y = h.h.c;
                h.h.b = (bit<8>) ((int<8>) x - (int<8>) y);
                h.h.c = 7w5 ++ (bit<1>) ((int<8>) x < (int<8>) y);
                h.h.d[6:3] = x[3:0];
            } else if (h.h.a == 2) {
                bit<8> x = h.h.b;
                h.h.b = (bit<8>) (int<8>) (int<4>) (bit<4>) x;
                h.h.c = x |+| 8w250;
                h.h.d = (bit<8>) ((int<8>) x |-| 8s127);
            } }",
        deparser: DEPARSER,
        ..V1model::default()
    };
    let script = "
        # -128 >> 3, 3 << 3, min(127 + 100, 127) - 200 at least 0
        packet 1 00 80 03 7f
        expect 2 00 f0 18 00 $
        # -128 >> 255, 255 << 255, -128 + 100 = -28 = 228, 228 - 200
        packet 1 00 80 ff 80
        expect 2 00 ff 00 1c $
        # -128 - 1, 5 ++ true, bits 6 to 3 of 255 zero
        packet 1 01 80 01 ff
        expect 2 01 7f 0b 87 $
        # 127 + 1, 5 ++ false, bits 6 to 3 of 0 one
        packet 1 01 7f ff 00
        expect 2 01 80 0a 78 $
        # four bits 1000 are -8; 8 + 250; 8 - 127
        packet 1 02 08 00 00
        expect 2 02 f8 ff 89 $
        packet 1 02 80 00 00
        expect 2 02 00 ff 80 $
    ";
    passes(program, script);
}

/// In BMv2, errors and enumerations without an underlying type are numbers in the order of
/// declaration, also in keys of tables.
#[test]
fn enumerations_and_errors_are_numbers_in_keys() {
    let program = V1model {
        declarations: "enum Kind { A, B, C } enum bit<8> Code { X = 5, Y = 9 }
            header h_t { Code a; bit<8> b; bit<8> c; bit<8> d; }
            struct H { h_t h; } struct M { Kind kind; bool flag; }",
        parser: "state start { b.extract(h.h); m.kind = Kind.B; transition more; }
            state more { transition select(h.h.b) { 2: short; default: accept; } }
            state short { b.advance(8); transition accept; }",
        ingress: "action put(bit<8> v) { h.h.d = v; }
            table t1 { key = { m.kind: exact; h.h.a: exact; } actions = { put; }
                const entries = { (Kind.B, Code.X): put(1); (Kind.C, Code.Y): put(2); }
                default_action = put(9); }
            table t2 { key = { s.parser_error: exact; m.flag: exact; } actions = { put; NoAction; }
                const entries = { (error.PacketTooShort, false): put(3);
                    (error.NoError, true): put(4); } }
            table t3 { key = { s.parser_error: ternary; m.kind: ternary; h.h.a: ternary; }
                actions = { put; NoAction; }
                entries = { (error.NoError, _, Code.X): put(7); (_, Kind.A, _): put(8); } }
            apply { s.egress_spec = 2; t1.apply(); h.h.c = h.h.d; t2.apply();
                if (h.h.b == 1) t3.apply(); }",
        ..V1model::default()
    };
    let script = "
        packet 1 05000000
        expect 2 05000101 $
        packet 1 05010000
        expect 2 05010107 $
        packet 1 06020000
        expect 2 06020903 $
    ";
    passes(program, script);
}

/// A control with two instances, or one that is applied with other extern objects, has separate
/// tables and actions each time (`frontends/p4/inlining.cpp` of p4c).
#[test]
fn each_instance_of_a_control_has_its_own_tables() {
    let program = V1model {
        declarations: "header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
            struct H { h_t h; } struct M { }
            control Made(inout H h, in bit<8> v)(register<bit<8>, bit<32>> reg) {
                action put() { reg.write(0, v); }
                table t { key = { h.h.a: exact; } actions = { put; } default_action = put(); }
                apply { t.apply(); }
            }
            control Given(inout H h, register<bit<8>, bit<32>> reg) {
                action put() { reg.write(1, h.h.b); }
                table t { key = { h.h.a: exact; } actions = { put; } default_action = put(); }
                apply { t.apply(); }
            }",
        parser: "state start { b.extract(h.h); transition accept; }",
        ingress: "register<bit<8>, bit<32>>(2) r1; register<bit<8>, bit<32>>(2) r2;
            Made(r1) made1; Made(r2) made2; Given() given1; Given() given2;
            apply {
                made1.apply(h, 7); made2.apply(h, 9);
                given1.apply(h, r1); h.h.b = 8; given2.apply(h, r2);
                r1.read(h.h.a, 0); r2.read(h.h.b, 0); r1.read(h.h.c, 1); r2.read(h.h.d, 1);
                s.egress_spec = 2;
            }",
        ..V1model::default()
    };
    passes(program, "packet 1 01020304\n expect 2 07090208 $");
}

/// `checksums.cpp`, `calculations.cpp`, `simple_switch.cpp`: the fields of a checksum or hash are
/// concatenated as bits and padded at the end to whole bytes. The value of a hash is reduced modulo
/// the maximum and added to the base. A wrong checksum sets `checksum_error`. A resubmitted packet
/// has instance type 6 and the fields of its list.
#[test]
fn checksums_and_hashes_concatenate_fields_as_bits() {
    let declarations = "header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
        header ip_t { bit<4> v; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<3> fl;
            bit<13> off; bit<8> ttl; bit<8> proto; bit<16> csum; bit<32> src; bit<32> dst;
            varbit<320> opt; }
        header udp_t { bit<16> sp; bit<16> dp; bit<16> len; bit<16> csum; }
        header res_t { bit<32> a; bit<32> b; bit<16> c; bit<16> d; bit<64> e; }
        struct H { eth_t eth; ip_t ip; udp_t udp; res_t res; }
        struct M { @field_list(3) bit<8> kept; bit<8> lost; }
        #define IP { h.ip.v, h.ip.ihl, h.ip.tos, h.ip.len, h.ip.id, h.ip.fl, h.ip.off, h.ip.ttl, \\
            h.ip.proto, h.ip.src, h.ip.dst, h.ip.opt }, h.ip.csum, HashAlgorithm.csum16";
    let program = V1model {
        declarations,
        parser: "state start { b.extract(h.eth);
                transition select(h.eth.type) { 0x800: ip; default: accept; } }
            state ip { bit<4> ihl = b.lookahead<bit<8>>()[3:0];
                b.extract(h.ip, (bit<32>) (((bit<9>) ihl - 5) * 32));
                transition select(h.ip.off, h.ip.proto) { (0, 17): udp; default: accept; } }
            state udp { b.extract(h.udp); transition accept; }",
        verify: "apply { verify_checksum(h.ip.isValid(), IP); }",
        ingress: "apply {
                s.egress_spec = 2;
                if (s.checksum_error == 1) { mark_to_drop(s); exit; }
                h.res.setValid();
                hash(h.res.a, HashAlgorithm.crc32, 32w0, { h.ip.src, h.ip.dst }, 32w0xffffffff);
                hash(h.res.b, HashAlgorithm.crc16, 32w100, { h.ip.src, 3w1, 5w2 }, 32w10);
                hash(h.res.c, HashAlgorithm.csum16, 16w0, { h.ip.src, h.ip.dst }, 32w0x10000);
                hash(h.res.d, HashAlgorithm.xor16, 16w0, { h.ip.src, h.ip.dst }, 32w0x10000);
                hash(h.res.e, HashAlgorithm.identity, 64w0, { h.ip.src, h.ip.dst },
                    64w0xffffffffffffffff);
                h.ip.ttl = h.ip.ttl - 1;
                if (s.instance_type == 0 && h.ip.tos == 1) {
                    m.kept = 5; m.lost = 6; resubmit_preserving_field_list(3);
                } else if (s.instance_type != 0) {
                    h.ip.id = (bit<16>) s.instance_type; h.ip.tos = m.kept + m.lost;
                }
            }",
        compute: "apply { update_checksum(h.ip.isValid(), IP);
            update_checksum_with_payload(h.udp.isValid(), { h.ip.src, h.ip.dst, 8w0, h.ip.proto,
                h.udp.len, h.udp.sp, h.udp.dp, h.udp.len, 16w0 }, h.udp.csum,
                HashAlgorithm.csum16); }",
        ..V1model::default()
    };
    let script = "
        # without options, with eight bytes of them, resubmitted, wrong
        packet 1 0000000000000000000000000800\
            4500002800070000401166bc0a0000010a00000200010002000d000068656c6c6f
        expect 2 0000000000000000000000000800\
            45000028000700003f1167bc0a0000010a00000200010002000da7fc48316b5900000065ebfc0003\
            0a0000010a00000268656c6c6f $
        packet 1 0000000000000000000000000800\
            4700002800070000401154a80a0000010a000002010203040506070800010002000d000068656c6c\
            6f
        expect 2 0000000000000000000000000800\
            47000028000700003f1155a80a0000010a000002010203040506070800010002000da7fc48316b59\
            00000065ebfc00030a0000010a00000268656c6c6f $
        packet 1 0000000000000000000000000800\
            4501002800070000401166bb0a0000010a00000200010002000d000068656c6c6f
        expect 2 0000000000000000000000000800\
            45050028000600003f1167b80a0000010a00000200010002000da7fc48316b5900000065ebfc0003\
            0a0000010a00000268656c6c6f $
        packet 1 0000000000000000000000000800\
            4500002800070000401166bd0a0000010a00000200010002000d000068656c6c6f
    ";
    passes(program, script);
}

/// P4-16 specification, sections 6.8 and 8: operands and arguments are evaluated from left to
/// right. `out` and `inout` arguments are copied out in that order, also at `exit`. `&&` and `||`
/// evaluate the second operand only if it counts.
#[test]
fn operands_and_arguments_are_evaluated_from_left_to_right() {
    let program = V1model {
        declarations: "header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
            struct H { h_t h; h_t g; h_t[3] st; } struct M { }
            bit<8> inc(inout bit<8> x) { x = x + 1; return x; }
            void two(inout bit<8> x, out bit<8> y) { x = x + 1; y = 0x44; }
            void nibble(inout bit<4> x) { x = x + 3; }
            void invalid(inout h_t x) { x.a = 0xee; x.setInvalid(); }
            bool yes(inout bit<8> x) { x = x + 1; return true; }",
        parser:
            "state start { b.extract(h.h); transition select(h.h.d) { 0x55: more; _: accept; } }
            state more { b.extract(h.st.next); b.extract(h.st.next); b.extract(h.st.next);
                transition accept; }",
        ingress: "action set(bit<8> v) { h.h.d = v; }
            action leave(inout bit<8> x) { x = 9; exit; }
            action nested(inout bit<8> x) { leave(x); x = 10; }
            action other() { h.h.c = h.h.c + 1; }
            table t1 { key = { h.h.b: exact; } actions = { set; NoAction; }
                const entries = { 1: set(11); 2: set(12); } const default_action = NoAction; }
            table t2 { key = { inc(h.h.c): exact @name(\"k\"); h.h.d: exact; }
                actions = { set; other; }
                const entries = { (2, 11): set(0x99); } const default_action = other; }
            table t3 { key = { h.h.b: exact; } actions = { nested(h.h.c); NoAction; }
                const entries = { 7: nested(h.h.c); } default_action = NoAction; }
            apply {
                s.egress_spec = 2;
                if (h.h.a == 0) {
                    if (t1.apply().hit && t2.apply().hit) { h.h.a = 0xaa; } else { h.h.a = 0xab; }
                } else if (h.h.a == 1) {
                    two(h.h.b, h.h.b); nibble(h.h.c[5:2]); h.h.d = inc(h.h.d) + inc(h.h.d);
                } else if (h.h.a == 2) {
                    switch (t1.apply().action_run) { NoAction: set: { h.h.c = 0x33; } }
                    t3.apply();
                    h.h.d = 0xdd;
                } else if (h.h.a == 3) {
                    h.h.b = 0;
                    h.st[inc(h.h.b)].a = inc(h.h.b); h.st[2].c = h.st[h.h.b].b; invalid(h.st[0]);
                } else {
                    bool r = h.h.b == 0 || yes(h.h.c);
                    r = r && (h.h.b != 0 && yes(h.h.d));
                    h.h.a = r ? 8w1 : 0;
                }
            }",
        ..V1model::default()
    };
    let script = "
        packet 1 00010100
        expect 2 aa010299 $
        packet 1 00010300
        expect 2 ab01050b $
        packet 1 00050300
        expect 2 ab050300 $
        packet 1 01010f01
        expect 2 01441b05 $
        packet 1 02010000
        expect 2 020133dd $
        packet 1 02050000
        expect 2 020533dd $
        packet 1 02070000
        expect 2 02070900 $
        packet 1 03000055 01020304 05060708 090a0b0c
        expect 2 03020055 02060708 090a0a0c $
        packet 1 04000000
        expect 2 00000000 $
        packet 1 04010000
        expect 2 01010101 $
    ";
    passes(program, script);
}

/// `simple_switch.cpp`, at the end of `ingress_thread` and of `egress_thread`: clones come first,
/// then resubmission, the multicast group, the drop port, and finally one port. A clone of egress
/// is made before the packet is dropped.
#[test]
fn clones_leave_before_the_packet_itself() {
    let program = V1model {
        declarations: "header h_t { bit<8> a; bit<8> b; bit<16> c; }
            struct H { h_t h; } struct M { @field_list(1) bit<8> x; bit<8> y; }",
        parser: "state start { b.extract(h.h); transition accept; }",
        ingress: "apply {
                if (h.h.a == 1) {
                    m.x = m.x + 1; m.y = m.y + 1;
                    if (s.instance_type == 0) {
                        s.egress_spec = 2; h.h.b = 7;
                        clone_preserving_field_list(CloneType.I2E, 5, 1);
                        resubmit_preserving_field_list(1);
                    } else { s.egress_spec = 3; h.h.b = m.x; h.h.c = (bit<16>) m.y; }
                } else if (h.h.a == 2) { s.mcast_grp = 1; s.egress_spec = 2;
                } else if (h.h.a == 3) { s.mcast_grp = 1; mark_to_drop(s);
                } else if (h.h.a == 4) { s.mcast_grp = 1; s.egress_spec = 511;
                } else if (h.h.a == 5) { s.egress_spec = 511; clone(CloneType.I2E, 5);
                } else if (h.h.a == 6) { s.egress_spec = 4;
                } else if (h.h.a == 7) {
                    clone(CloneType.I2E, 5); clone(CloneType.I2E, 6); s.egress_spec = 2;
                } else if (h.h.a == 8) { s.mcast_grp = 77; s.egress_spec = 2; }
            }",
        egress: "apply {
                if (s.instance_type == 1) { h.h.b = m.x; s.egress_spec = 9; }
                if (s.instance_type == 5) {
                    h.h.b = (bit<8>) s.egress_rid; h.h.c = (bit<16>) s.egress_port;
                }
                if (h.h.a == 6 && s.instance_type == 0) {
                    clone(CloneType.E2E, 6); mark_to_drop(s); h.h.b = 0x99;
                }
                if (h.h.a == 6 && s.instance_type == 2) { h.h.c = (bit<16>) s.egress_port; }
            }",
        ..V1model::default()
    };
    let script = "
        mirroring_add 5 5
        mirroring_add 6 6
        mc_mgrp_create 1
        mc_node_create 11 2 3
        mc_node_create 12 3
        mc_node_associate 1 0
        mc_node_associate 1 1
        # a clone of the packet as received, with the field of the list; the packet itself is resubmitted
        packet 1 01000000 aa
        expect 5 01010000 aa $
        expect 3 01020001 aa $
        # a group and a port
        packet 1 02000000 aa
        expect 2 020b0002 aa $
        expect 3 020b0003 aa $
        expect 3 020c0003 aa $
        # mark_to_drop takes the group back, the drop port does not
        packet 1 03000000
        packet 1 04000000
        expect 2 040b0002 $
        expect 3 040b0003 $
        expect 3 040c0003 $
        # a clone of a packet that is dropped at ingress, and at egress
        packet 1 05000000
        expect 5 05000000 $
        packet 1 06000000
        expect 6 06990006 $
        # of two clones the last counts
        packet 1 07000000
        expect 6 07000000 $
        expect 2 07000000 $
        # a group that is not there
        packet 1 08000000
    ";
    passes(program, script);
}
