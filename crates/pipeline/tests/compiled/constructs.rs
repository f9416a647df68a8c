//! Tests of single constructs of the language.

use crate::both::{V1model, compile};
use pipeline::{FieldMatch, Replica, RunError, Switch};
use std::time::Duration;

const FIELDS: &str =
    "header A { bit<3> a; bit<13> b; int<8> c; bit<48> d; bit<1> e; bit<7> f; bit<64> g; }
    header B { bit<8> kind; bit<24> value; }
    struct H { A a; B b; B[3] stack; }
    struct M { bit<9> x; int<16> y; bool z; bit<64> w; }";

const EXTRACT: &str = "state start { b.extract(h.a); b.extract(h.b); transition accept; }";

#[test]
fn fields_of_all_widths_are_read_and_written_in_place() {
    let program = V1model {
        declarations: FIELDS,
        parser: EXTRACT,
        ingress: "apply {
            bit<48> d = h.a.d;
            h.a.a = h.a.a + 5; h.a.b = h.a.b ^ 0x1234; h.a.c = -h.a.c; h.a.d = d + (bit<48>) h.a.g;
            h.a.e = ~h.a.e; h.a.f = h.a.f - 9; h.a.g = h.a.g * 0x123456789; h.b.value[15:4] = h.a.d[20:9];
            h.b.kind[0:0] = h.a.e; s.egress_spec = 1;
        }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(2, 3000, 40) > 1000);
}

#[test]
fn arrays_in_headers_and_metadata_are_read_and_written() {
    let program = V1model {
        declarations: "header A { bit<8>[4] bytes; bit<4>[2][3] nibbles; bit<8> last; }
            struct Q { bit<8> a; bit<16> b; }
            struct H { A a; A other; } struct M { bit<8>[4] bytes; Q[2] pairs; bit<16>[3] words; }",
        parser: "state start { b.extract(h.a); transition accept; }",
        ingress: "apply {
            bit<8>[4] own = h.a.bytes;
            m.bytes = own; m.bytes[h.a.last[1:0]] = own[3] + 1;
            m.pairs[1] = { own[0], 7 }; m.pairs[0].b = m.pairs[1].b + 1; m.words[2] = m.pairs[0].b;
            h.a.nibbles[2][0] = h.a.nibbles[1][1] + 3;
            if (h.a.bytes == m.bytes) { h.a.last = 0xee; }
            if (h.a.bytes[0] > 0x80) { h.other = h.a; h.other.bytes[1] = (bit<8>) m.words[2]; }
            h.a.bytes = m.bytes;
            s.egress_spec = 1;
        }",
        deparser: "apply { b.emit(h.a); b.emit(h.other); }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(2, 3000, 20) > 1000);
}

/// The cases are packets in bursts, packets one by one (because the parser returns to a state), and
/// packets that the architecture's driver processes (because of a digest).
#[test]
fn a_checksum_error_is_reported_for_its_own_packet() {
    let declarations =
        "header S { bit<16> data; bit<16> sum; } struct H { S s; } struct M { bit<8> x; }";
    let sums = "verify_checksum(h.s.isValid(), { h.s.data }, h.s.sum, HashAlgorithm.csum16);";
    for (parser, besides) in [
        ("accept", ""),
        ("select(h.s.data) { 0xfffe: start; default: accept; }", ""),
        ("accept", "digest(1, { h.s.data });"),
    ] {
        let program = V1model {
            declarations,
            parser: &format!(
                "state start {{ b.extract(h.s); transition {parser}{} }}",
                if parser == "accept" { ";" } else { "" }
            ),
            verify: &format!("apply {{ {sums} }}"),
            ingress: &format!(
                "apply {{ {besides} h.s.sum = (bit<16>) s.checksum_error; s.egress_spec = 1; }}"
            ),
            // The program does not use the result of this verification.
            compute: &format!("apply {{ {sums} }}"),
            ..V1model::default()
        };
        let mut both = program.both();
        let packet = |number: u16| {
            let sum = if number.is_multiple_of(3) { number } else { !number };
            let bytes = [number.to_be_bytes(), sum.to_be_bytes(), [7, 8]].concat();
            (u32::from(number % 2), bytes)
        };
        for first in [1, 100, 200] {
            let packets: Vec<_> = (first..first + 70).map(packet).collect();
            assert_eq!(both.batch(&packets), 70, "{parser}{besides}");
        }
        let wrong = both.packet(1, &packet(3).1).expect("it passes");
        let right = both.packet(1, &packet(4).1).expect("it passes");
        assert_eq!((wrong[0].packet[3], right[0].packet[3]), (1, 0));
    }
}

/// The constants fit into a word, but they must be as wide as their types.
#[test]
fn small_constants_of_wide_types_are_wide() {
    let program = V1model {
        declarations: FIELDS,
        parser: EXTRACT,
        ingress: "apply {
            h.b.kind = ((h.a.e == 1) ? 112w4 : 112w0xfffffffffffffff)[76:69];
            h.b.value = (112w1 << (bit<8>) h.a.f)[90:67];
            h.a.g = (bit<64>) (128w0xffffffffffffffff + (bit<128>) h.a.g >> 1);
            s.egress_spec = 1;
        }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(2, 3000, 40) > 1000);
}

#[test]
fn headers_that_become_valid_and_invalid_change_the_length() {
    let program = V1model {
        declarations: FIELDS,
        parser: "state start { b.extract(h.a);
            transition select(h.a.a) { 0: more; 1..3: accept; default: reject; } }
            state more { b.extract(h.b); transition accept; }",
        ingress: "apply {
            if (h.b.isValid()) { h.a.setInvalid(); h.b.kind = (bit<8>) s.packet_length; }
            else { h.b.setValid(); h.b.value = (bit<24>) s.packet_length; if (s.parser_error == error.PacketTooShort) { h.b.kind = 1; } }
            s.egress_spec = (bit<9>) h.a.a;
        }",
        egress: "apply { h.stack[1] = h.b; h.stack[1].value = (bit<24>) s.packet_length;
            h.stack[0] = h.stack[2]; h.stack[2] = { 7, (bit<24>) s.enq_qdepth }; if (h.stack[0] == h.stack[1]) { h.stack[1].kind = 9; } }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(3, 3000, 40) > 1000);
}

#[test]
fn stacks_in_parsers_are_bounded() {
    let program = V1model {
        declarations: FIELDS,
        parser: "state start { b.extract(h.stack.next); m.x = m.x + 1;
            transition select(h.stack.last.kind, h.stack.lastIndex) {
                (0, _): start; (1, 1): accept; (2 &&& 0xfe, _): other; (_, _): accept; } }
            state other { b.advance((bit<32>) h.stack.last.value[4:0]); transition start; }",
        ingress: "apply { h.b.setValid(); h.b.kind = (bit<8>) m.x; if (s.parser_error == error.StackOutOfBounds) { h.b.value = 1; }
            if (s.parser_error == error.ParserInvalidArgument) { h.b.value = 2; }
            s.egress_spec = 2; }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(4, 6000, 30) > 1000);
}

#[test]
fn lookahead_reads_bits_and_does_not_consume_them() {
    let program = V1model {
        declarations: FIELDS,
        parser: "state start { bit<20> ahead = b.lookahead<bit<20>>(); m.w = (bit<64>) ahead;
            h.b = b.lookahead<B>(); verify(h.b.kind != 1, error.NoMatch);
            transition select(ahead[19:12]) { 0: none; _: some; } }
            state none { transition accept; }
            state some { b.extract(h.a); bit<3> three = b.lookahead<bit<3>>(); m.x = (bit<9>) three; transition accept; }",
        ingress: "apply { h.b.value = (bit<24>) m.w + (bit<24>) m.x; s.egress_spec = 3; }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(5, 3000, 40) > 1000);
}

#[test]
fn a_parser_loop_without_end_times_out() {
    let program = V1model {
        declarations: FIELDS,
        parser: "state start { m.x = m.x + 1; transition select(m.w) { 1: accept; default: start; } }",
        ingress: "apply { h.b.setValid(); h.b.value = (bit<24>) m.x;
            if (s.parser_error == error.ParserTimeout) { h.b.kind = 1; } s.egress_spec = 3; }",
        ..V1model::default()
    };
    let outputs = program.both().packet(0, &[1, 2, 3]).expect("outputs");
    assert_eq!(outputs[0].packet[0], 1);
}

#[test]
fn calls_copy_in_and_out_whichever_way_they_end() {
    let program = V1model {
        declarations: &format!(
            "{FIELDS}
            bit<8> twice(in bit<8> x, inout bit<24> y, out bit<9> z) {{
                y = y + 1; z = (bit<9>) x; if (x == 7) {{ return 1; }} y = y << 1; return x * 2; }}
            control Inner(inout B b, inout M m) {{
                action stop(inout bit<24> value) {{ value = value |+| 0xf00000; if (value[0:0] == 1) {{ exit; }} }}
                apply {{ if (b.kind == 3) {{ return; }} stop(b.value); b.kind = b.kind + 1; }} }}"
        ),
        parser: EXTRACT,
        ingress: "Inner() inner; apply {
            s.egress_spec = 1;
            h.b.kind = twice(h.b.kind, h.b.value, m.x);
            inner.apply(h.b, m);
            h.a.f = (bit<7>) m.x;
            if (h.a.e == 1) { exit; }
            h.a.f = 0;
        }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(6, 4000, 40) > 1000);
}

#[test]
fn switches_and_loops_take_the_branches_of_the_interpreter() {
    let program = V1model {
        declarations: FIELDS,
        parser: EXTRACT,
        ingress: "apply {
            s.egress_spec = 1;
            for (bit<8> i in 8w0 .. 20) {
                if (i == h.b.kind) { break; }
                if (i[0:0] == 1) { continue; }
                h.b.value = h.b.value + (bit<24>) i;
                switch (i) { 4: 6: { h.a.f = h.a.f + 1; } 8: { h.a.c = h.a.c |-| 100; } default: { h.a.b = h.a.b + 1; } }
            }
        }",
        ..V1model::default()
    };
    assert!(program.both().random_packets(7, 3000, 40) > 1000);
}

#[test]
fn a_loop_without_end_is_a_fault_in_both() {
    let program = V1model {
        declarations: FIELDS,
        parser: EXTRACT,
        ingress: "apply { s.egress_spec = 1; assert(h.b.kind != 9);
            for (; h.b.kind == 1;) { h.a.f = h.a.f + 1; } }",
        ..V1model::default()
    };
    let mut both = program.both();
    let mut packet = [0; 22];
    assert_eq!(both.packet(0, &packet).expect("outputs").len(), 1);
    packet[18] = 1;
    assert_eq!(both.packet(0, &packet), Err(RunError::WorkLimit(1 << 22)));
    packet[18] = 9;
    assert!(matches!(both.packet(0, &packet), Err(RunError::Assertion { .. })));
}

const TABLES: &str = "register<bit<24>, bit<32>>(4) seen; counter<bit<32>>(8, CounterType.packets_and_bytes) counted;
    direct_counter(CounterType.packets) hits;
    action forward(bit<9> port, bit<48> to) { s.egress_spec = port; h.a.d = to; }
    action drop() { mark_to_drop(s); }
    action spread(bit<16> group) { s.mcast_grp = group; }
    action stop(inout bit<24> x, bit<3> a) { h.a.a = a; x = x + 1; if (a == 2) { exit; } }
    table exact_ { key = { h.b.kind: exact; h.a.e: exact; } actions = { forward; drop; spread; }
        default_action = forward(3, 5); counters = hits; entries = { (7, 1): drop(); } }
    table lpm_ { key = { h.a.d: lpm; } actions = { stop(h.b.value); NoAction; } default_action = NoAction(); }
    table ternary_ { key = { h.b.value: ternary; h.a.c: range; h.b.isValid(): exact; h.a.b[7:2]: optional; }
        actions = { forward; drop; NoAction; } default_action = NoAction(); }
    apply {
        bit<24> before; s.egress_spec = 1;
        if (exact_.apply().hit) { h.a.f = 1; }
        switch (lpm_.apply().action_run) { stop: { h.a.f = h.a.f + 2; } NoAction: { h.a.f = h.a.f + 4; } }
        if (ternary_.apply().miss) { h.a.g = 0; }
        bit<32> index = (bit<32>) h.b.kind[2:0];
        seen.read(before, index); seen.write(index, h.b.value); h.b.value = before; counted.count(index);
    }";

#[test]
fn tables_registers_and_counters_are_shared_with_the_interpreter() {
    let program = V1model {
        declarations: FIELDS,
        parser: EXTRACT,
        ingress: TABLES,
        egress: "apply { h.a.b = (bit<13>) s.egress_rid; h.a.f = (bit<7>) s.deq_qdepth; h.a.c = (int<8>) (bit<8>) s.enq_qdepth;
            if (s.egress_port == 2) { mark_to_drop(s); } truncate(30); }",
        ..V1model::default()
    };
    let mut both = program.both();
    let bits = |width: u32, number: u128| ir::bits::Bits::unsigned(width, number);
    both.each(|switch| {
        let add = |switch: &mut pipeline::Switch,
                   table: &str,
                   matches,
                   priority,
                   action: &str,
                   arguments: &[u128]| {
            let id = switch.table_named(table).expect("a table");
            let action = switch.action_named(id, action).expect("an action");
            let arguments: Vec<_> = arguments.iter().map(|number| bits(128, *number)).collect();
            let action = switch.action_call(action, &arguments).expect("arguments");
            let action = pipeline::EntryAction::Action(action);
            let entry = pipeline::TableEntry { matches, priority, action, idle_timeout: None };
            switch.add_entry(id, entry, Duration::ZERO).expect("an entry");
        };
        let exact = |kind, e| vec![FieldMatch::Exact(bits(8, kind)), FieldMatch::Exact(bits(1, e))];
        add(switch, "exact_", exact(0, 0), 0, "forward", &[2, 0xa1b2c3d4e5f6]);
        add(switch, "exact_", exact(1, 1), 0, "spread", &[4]);
        add(switch, "exact_", exact(0xff, 1), 0, "spread", &[9]);
        add(switch, "exact_", exact(2, 0), 0, "drop", &[]);
        for (length, value) in [(0, 0), (3, 0xe0), (16, 0xffff), (40, 0)] {
            let value = bits(48, value << (48 - length.max(8)));
            let matches = vec![FieldMatch::Lpm {
                value: value.bit_and(&ir::bits::Bits::prefix_mask(48, length)),
                prefix_length: length,
            }];
            add(switch, "lpm_", matches, 0, "stop", &[u128::from(length % 7)]);
        }
        let matches = vec![
            FieldMatch::Ternary { value: bits(24, 0), mask: bits(24, 0x0f0000) },
            FieldMatch::Range { low: bits(8, 0).cast(8, true), high: bits(8, 100).cast(8, true) },
            FieldMatch::Exact(bits(1, 1)),
            FieldMatch::Any,
        ];
        add(switch, "ternary_", matches, 5, "forward", &[6, 1]);
        let replicas = [(1, 1), (3, 2), (1, 3)].map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(4, replicas.to_vec());
    });
    assert!(both.random_packets(8, 8000, 40) > 1000);
    let (one, other) = (&mut both.interpreted, &mut both.compiled);
    let counted = one.extern_named("I.counted").expect("counters");
    let seen = one.extern_named("I.seen").expect("registers");
    for index in 0..4 {
        assert_eq!(one.counter(counted, index), other.counter(counted, index));
        assert_eq!(one.register(seen, index), other.register(seen, index));
    }
    assert!(one.counter(counted, 0).expect("a counter").packets > 0);
    let hits = one.extern_named("I.hits").expect("direct counters");
    let table = one.table_named("exact_").expect("a table");
    let handles: Vec<_> = one.entries(table).expect("entries").map(|(handle, _)| handle).collect();
    for handle in handles {
        let found = one.direct_counter(table, handle, hits);
        assert_eq!(found, other.direct_counter(table, handle, hits));
    }
}

#[test]
fn a_construct_that_is_not_supported_is_reported_with_its_place() {
    let program = V1model {
        declarations: "header A { bit<3> a; } struct H { A a; } struct M { }",
        parser: "state start { b.extract(h.a); transition accept; }",
        ..V1model::default()
    };
    let refused = program.refused();
    assert!(refused.contains("test.p4:"), "{refused}");
    assert!(refused.contains("a header that does not end with a byte"), "{refused}");
}

/// Machine code counts statements as the interpreter does, on every path through the loop.
#[test]
fn a_loop_ends_at_the_same_step_in_both() {
    let program = V1model {
        declarations: "header A { bit<32> n; bit<32> sum; } struct H { A a; } struct M { }",
        parser: "state start { b.extract(h.a); transition accept; }",
        ingress: "action more(inout bit<32> sum, in bit<32> i) { sum = sum + i; if (i[1:0] == 3) { return; } sum = sum * 3; }
            apply { s.egress_spec = 1;
            for (bit<32> i = 0; i < h.a.n; i = i + 1) {
                if (i[0:0] == 1) { h.a.sum = h.a.sum + 7; h.a.sum = h.a.sum ^ i; } else { if (i[1:1] == 1) { continue; } }
                more(h.a.sum, i); } }",
        ..V1model::default()
    };
    let mut both = program.both();
    let packet = |n: u32| [n.to_be_bytes(), [0; 4]].concat();
    let code = Switch::new(compile(&program.text())).map(|mut switch| {
        switch.compile().expect("a program that can be compiled");
        switch
    });
    let mut code = code.expect("a program that can be run");
    // The limit is found in machine code, which is fast.
    let (mut ends, mut fails) = (0, 1 << 20);
    while fails - ends > 1 {
        let middle = (ends + fails) / 2;
        match code.process(1, &packet(middle), Duration::ZERO) {
            Ok(_) => ends = middle,
            Err(error) => {
                assert_eq!(error, RunError::WorkLimit(1 << 22));
                fails = middle;
            }
        }
    }
    assert!(ends > 100_000, "{ends} turns");
    assert_eq!(both.packet(1, &packet(ends)).map(|outputs| outputs.len()), Ok(1));
    assert_eq!(both.packet(1, &packet(fails)), Err(RunError::WorkLimit(1 << 22)));
}
