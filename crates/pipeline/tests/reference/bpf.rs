//! Tests of programs for the architectures ebpf_model, ubpf_model and xdp_model. The scripts are
//! STF scripts in the form that p4c's test runner for eBPF accepts.

use super::support::{load, outputs};
use stf::{self, Options, Report, Script};

const HEADERS: &str = "header e_t { bit<8> kind; bit<8> value; } struct H { e_t e; }
    parser prs(packet_in p, out H h) {
        state start { p.extract(h.e); transition select(h.e.kind) { 0xff: reject; default: accept; } }
    }";

fn filter(control: &str) -> String {
    format!(
        "#include <ebpf_model.p4>\n{HEADERS}
        control pipe(inout H h, out bool accept) {{ {control} }}
        ebpfFilter(prs(), pipe()) main;"
    )
}

fn run(program: &str, script: &str, strict: bool) -> Report {
    let script = Script::parse(script).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = Options { strict, every_port: true, ..Options::default() };
    stf::run(&mut load(program), &script, options)
        .unwrap_or_else(|(line, error)| panic!("line {line}: {error}"))
}

fn failures(report: &Report) -> String {
    report.failures.iter().map(ToString::to_string).collect()
}

const COUNTING: &str = "CounterArray(4, false) dense; CounterArray(4, true) sparse;
    action pass(bit<32> index) { accept = true; dense.increment(index); sparse.add(index, 0xffffffff); }
    action refuse() { accept = false; }
    table t {
        key = { h.e.kind : exact; h.e.value : lpm; }
        actions = { pass; refuse; NoAction; }
        implementation = hash_table(2);
        const default_action = refuse;
    }
    apply { h.e.value = 0; accept = false; t.apply(); }";

#[test]
fn a_filter_lets_packets_pass_as_they_came() {
    // The table matches the value 0 that the control wrote to the header, but the packet leaves
    // unchanged.
    let script = "
        add pipe.t e.kind:1 e.value:0/0 pass(index:3)
        packet 5 01 aa bb
        expect 5 01 aa bb $
        packet 5 02 aa bb
        packet 5 ff aa bb
        packet 5 01
        check_counter dense(3) packets == 1
        check_counter dense(0) packets == 0
        check_counter sparse(3) packets == 4294967295
        packet 7 01 ab
        expect 7 01 ab $
        check_counter sparse(3) packets == 4294967294
    ";
    assert_eq!(failures(&run(&filter(COUNTING), script, true)), "");
    let wrong = failures(&run(&filter(COUNTING), "packet 1 0100\nexpect 1 0100", true));
    assert!(wrong.contains("no packet left by port 1"), "{wrong}");
}

#[test]
fn scripts_use_the_names_of_the_code_and_fill_maps_first() {
    let script = "
        packet 0 01 aa
        expect 0 01 aa $
        add pipe_t key.field0:1 key.field1:0/0 _NoAction()
        add pipe_t key.field0:1 key.field1:0/0 pipe_pass(anything:2)
        add pipe_t key.kind:2 key.h_e_value:0/0 pipe_pass(index:0)
    ";
    let report = run(&filter(COUNTING), script, false);
    assert_eq!(failures(&report), "");
    assert_eq!(report.notes, []);
    // The third key is one more than the map can hold.
    let full = format!("{script}add pipe_t key.kind:3 key.value:0/0 pipe_refuse()\n");
    let report = run(&filter(COUNTING), &full, false);
    assert!(report.notes.iter().any(|(_, note)| note.contains("full")), "{:?}", report.notes);
}

#[test]
fn a_program_of_xdp_chooses_the_destinations_of_packets() {
    let program = format!(
        "#include <xdp_model.p4>\n{HEADERS}
        control sw(inout H h, in xdp_input imd, out xdp_output omd) {{ apply {{
            h.e.value = (bit<8>) imd.input_port;
            if (h.e.kind == 1) {{ omd.output_action = xdp_action.XDP_PASS; }}
            else if (h.e.kind == 2) {{ omd.output_action = xdp_action.XDP_TX; }}
            else if (h.e.kind == 3) {{ omd.output_action = xdp_action.XDP_REDIRECT; omd.output_port = 9; }}
            else if (h.e.kind == 4) {{ omd.output_action = xdp_action.XDP_DROP; }}
        }} }}
        control dp(in H h, packet_out p) {{ apply {{ p.emit(h.e); }} }}
        xdp(prs(), sw(), dp()) main;"
    );
    let mut switch = load(&program);
    let mut sent = |kind: u8| outputs(&mut switch, 6, &[kind, 0, 0x55]);
    assert_eq!(sent(1), [(6, vec![1, 6, 0x55])]);
    assert_eq!(sent(2), [(6, vec![2, 6, 0x55])]);
    assert_eq!(sent(3), [(9, vec![3, 6, 0x55])]);
    assert_eq!(sent(4), []);
    // Without an assignment, the result is the first member of the enumeration, XDP_ABORTED.
    assert_eq!(sent(5), []);
    assert_eq!(sent(0xff), []);
}

fn user_space(statements: &str) -> String {
    format!(
        "#include <ubpf_model.p4>
        header e_t {{ bit<8> kind; bit<8> value; }} struct H {{ e_t e; }} struct M {{ bit<16> sum; bit<32> hash; }}
        parser prs(packet_in p, out H h, inout M m, inout standard_metadata s) {{
            state start {{ p.extract(h.e); transition accept; }}
        }}
        control pipe(inout H h, inout M m, inout standard_metadata s) {{
            Register<bit<8>, bit<32>>(2) seen;
            apply {{ {statements} }}
        }}
        control dp(packet_out p, in H h) {{ apply {{ p.emit(h.e); }} }}
        ubpf(prs(), pipe(), dp()) main;"
    )
}

#[test]
fn programs_of_ubpf_pass_redirect_clone_and_truncate_packets() {
    let outputs_of = |statements: &str| {
        let mut switch = load(&user_space(statements));
        outputs(&mut switch, 6, &[1, 2, 3, 4])
    };
    assert_eq!(outputs_of("h.e.value = (bit<8>) s.packet_length;"), [(6, vec![1, 4, 3, 4])]);
    assert_eq!(outputs_of("mark_to_drop();"), []);
    assert_eq!(outputs_of("mark_to_drop(); mark_to_pass();"), [(6, vec![1, 2, 3, 4])]);
    assert_eq!(outputs_of("s.output_action = ubpf_action.DROP;"), []);
    assert_eq!(outputs_of("truncate(3);"), [(6, vec![1, 2, 3])]);
    assert_eq!(
        outputs_of("s.output_action = ubpf_action.REDIRECT; s.output_port = s.input_port + 1;"),
        [(7, vec![1, 2, 3, 4])]
    );
    assert_eq!(
        outputs_of("s.clone = true; s.clone_port = 3; mark_to_drop();"),
        [(3, vec![1, 2, 3, 4])]
    );
}

#[test]
fn packets_that_a_parser_of_ubpf_rejects_are_passed_on() {
    let rejecting = "state start { p.extract(h.e); m.sum = 1; transition select(h.e.kind) {
        0: accept; 1: checked; 2: reject; 3: deeper; 4 .. 9: accept; } }
        state checked { verify(h.e.value == 7, error.NoMatch); transition accept; }
        state deeper { p.extract(h.e); p.extract(h.e); transition accept; }";
    for statements in ["h.e.value = 0xee;", "h.e.value = 0xee; mark_to_drop();"] {
        let text = user_space(statements)
            .replace("state start { p.extract(h.e); transition accept; }", rejecting);
        // The uBPF model of p4c before May 2020 had no standard metadata.
        let older = text
            .replace(
                "#include <ubpf_model.p4>",
                "#include <core.p4>
                extern void mark_to_drop();
                parser parse<H, M>(packet_in p, out H h, inout M m);
                control pipeline<H, M>(inout H h, inout M m);
                control deparser<H>(packet_out p, in H h);
                package ubpf<H, M>(parse<H, M> prs, pipeline<H, M> p, deparser<H> dprs);",
            )
            .replace(", inout standard_metadata s", "")
            .replace("Register<bit<8>, bit<32>>(2) seen;", "");
        for text in [&text, &older] {
            let mut switch = load(text);
            for packet in [
                &[1, 6, 3][..], // An error.
                &[2, 6, 3],     // `reject`.
                &[10, 6, 3],    // Nothing fits.
                &[3, 6, 3, 4],  // Too short.
                &[3],
                &[],
            ] {
                assert_eq!(outputs(&mut switch, 6, packet), [(6, packet.to_vec())], "{packet:?}");
            }
            let passes = !statements.contains("drop");
            for packet in [[0, 6, 3], [1, 7, 3]] {
                let expected = vec![(6, vec![packet[0], 0xee, 3]); usize::from(passes)];
                assert_eq!(outputs(&mut switch, 6, &packet), expected, "{packet:?}");
            }
        }
    }
}

#[test]
fn functions_of_ubpf_compute_the_examples_of_their_sources() {
    // RFC 1624, section 4, has this example.
    let statements = "m.sum = csum_replace2(0xdd2f, 0x5555, 0x3285); h.e.kind = m.sum[7:0];
        seen.write(1, seen.read(1) + 1); h.e.value = seen.read(1);";
    let mut switch = load(&user_space(statements));
    assert_eq!(outputs(&mut switch, 1, &[9, 9]), [(1, vec![0, 1])]);
    assert_eq!(outputs(&mut switch, 1, &[9, 9]), [(1, vec![0, 2])]);
    // The example "Four score and seven years ago" is that of the hash's author.
    let hash = "hash(m.hash, HashAlgorithm.lookup3,
            { 240w0x466f75722073636f726520616e6420736576656e2079656172732061676f });
        h.e.kind = m.hash[31:24]; h.e.value = m.hash[7:0];";
    let mut switch = load(&user_space(hash));
    assert_eq!(outputs(&mut switch, 1, &[9, 9]), [(1, vec![0x17, 0x51])]);
}
