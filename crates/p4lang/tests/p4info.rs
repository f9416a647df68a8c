//! Tests of the P4Info that is generated from source text.

use ir::Program;
use p4lang::diagnostic::Style;
use p4lang::p4info;
use p4lang::preprocess::{DiskFiles, MemoryFiles, Options};
use p4runtime::p4info::{Schema, text};
use p4runtime::proto::config::p4_data_type_spec::TypeSpec;
use p4runtime::proto::config::{P4DataTypeSpec, P4Info, Preamble, Table};

fn compile(source: &str) -> Program {
    let compiled =
        p4lang::compile_text("test.p4", source, &Options::default(), &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}"))
}

/// Returns a v1model program with the given declarations, body of the parser, and body of the
/// ingress control.
fn v1model(types: &str, parser: &str, ingress: &str, apply: &str) -> String {
    format!(
        "#include <core.p4>\n#include <v1model.p4>\n{types}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {{
{parser}
}}
control V(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {{
{ingress}
    apply {{ {apply} }}
}}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {{ apply {{ }} }}
control U(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), U(), D()) main;
"
    )
}

const TYPES: &str =
    "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }";
const START: &str = "    state start { packet.extract(hdr.h); transition accept; }";

fn generate(source: &str) -> P4Info {
    let info = p4info::generate(&compile(source)).unwrap_or_else(|errors| panic!("{errors:#?}"));
    // The switch must accept the P4Info too, which checks it independently.
    Schema::new(info.clone()).unwrap_or_else(|error| panic!("{error}"));
    info
}

fn printed(source: &str) -> String {
    let text = text::print(&generate(source)).unwrap();
    text.split_once("\n\n").map_or(text.clone(), |(_, rest)| rest.to_owned())
}

fn errors(ingress: &str, apply: &str) -> String {
    let program = compile(&v1model(TYPES, START, ingress, apply));
    let errors = p4info::generate(&program).unwrap_err();
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_stored_p4info_of_l2_equals_the_generated_one() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let compiled =
        p4lang::compile_file(&root.join("programs/l2.p4"), &Options::default(), &DiskFiles)
            .unwrap();
    let program = compiled.program.unwrap();
    let kept = std::fs::read_to_string(root.join("programs/l2.p4info.txtpb")).unwrap();
    assert_eq!(p4info::generate(&program).unwrap(), text::parse(&kept).unwrap());
}

#[test]
fn tables_actions_and_their_resources() {
    let ingress = r#"
    direct_counter(CounterType.packets_and_bytes) hits;
    @mode(single , rate) direct_meter<bit<2>>(MeterType.bytes) rate;
    @max_group_size(16) action_selector(HashAlgorithm.crc16, 32w64, 32w14) sel;

    @brief("Sends a packet") @description("to one port.")
    action forward(@id(5) bit<9> port, bit<4> class, @format(MAC) @name("to") bit<48> mac) {
        sm.egress_spec = port;
    }
    @id(0x77) action drop() { bit<2> color; rate.read(color); mark_to_drop(sm); }
    @hidden action secret() { }
    action never_used() { }

    @id(0x02000010) @oneshot @p4runtime_role("sdn_controller")
    table wide {
        key = {
            hdr.h.a: exact @name("first");
            hdr.h.b: ternary @id(7);
            sm.ingress_port: range;
            hdr.h.a: lpm @name("prefix") @brief("Longest wins");
            hdr.h.isValid(): optional;
        }
        actions = { forward; @tableonly drop; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = hits;
        meters = rate;
        size = 64;
        support_timeout = true;
    }
    table spread {
        key = { hdr.h.a: exact; hdr.h.b: selector; }
        actions = { drop; }
        implementation = sel;
    }
    table fixed {
        key = { hdr.h.b: exact; }
        actions = { forward; }
        default_action = forward(9w1, 4w2, 48w3);
        const entries = { 8w1: forward(9w2, 4w3, 48w4); }
    }
    table unapplied { key = { hdr.h.b: exact; } actions = { NoAction; } }
"#;
    insta::assert_snapshot!(printed(&v1model(
        TYPES,
        START,
        ingress,
        "wide.apply(); spread.apply(); if (fixed.apply().hit) { secret(); }"
    )));
}

#[test]
fn a_table_does_not_refer_to_actions_that_are_hidden() {
    let ingress = "
    @hidden action secret() { }
    action open() { }
    table t { key = { hdr.h.a: exact; } actions = { open; secret; } default_action = secret(); }
    table u { key = { hdr.h.a: exact; } actions = { open; @defaultonly secret; } default_action = open(); }
";
    let program = compile(&v1model(TYPES, START, ingress, "t.apply(); u.apply();"));
    let info = p4info::generate(&program).unwrap();
    let open = info.actions.iter().filter_map(|action| action.preamble.as_ref());
    let open: Vec<_> = open.map(|preamble| (preamble.name.as_str(), preamble.id)).collect();
    let [(name, id)] = open.as_slice() else { panic!("{open:?}") };
    assert!(name.ends_with(".open"), "{name}");
    for (table, default) in info.tables.iter().zip([None, Some(*id)]) {
        let refs: Vec<_> = table.action_refs.iter().map(|reference| reference.id).collect();
        let call = table.initial_default_action.as_ref().map(|call| call.action_id);
        assert_eq!((refs, call), (vec![*id], default));
    }
    Schema::new(info).expect("a switch takes what is said of the program");
}

#[test]
fn arrays_digests_and_the_types_in_them() {
    let types = r#"
@p4runtime_translation("example.org/port", 32) type bit<9> port_t;
@p4runtime_translation("", string) type bit<12> name_t;
type port_t inner_port_t;
enum bit<8> kind_t { one = 1, two = 0x20 }
enum color_t { red, green }
header h_t { bit<16> a; int<8> b; varbit<32> rest; }
header_union u_t { h_t left; h_t right; }
struct inner_t { bit<3> x; bool y; }
struct report_t { port_t port; kind_t kind; inner_t inner; h_t[2] both; error problem; u_t either; }
struct headers_t { h_t h; u_t u; }
struct meta_t { }
@controller_header("packet_in")
header to_cpu_t { port_t port; @padding bit<7> pad; name_t name; }
"#;
    let parser = "    state start { packet.extract(hdr.h, 0); transition accept; }";
    let ingress = r#"
    counter(128, CounterType.packets) c;
    meter(4, MeterType.packets) m;
    register<bit<48>>(16) numbers;
    register<inner_t>(2) structs;
    register<tuple<bit<1>, bool>>(2) pairs;
    action see(port_t port, kind_t kind, color_t color, name_t name, inner_port_t inner) { }
    table t { key = { hdr.h.a: exact; } actions = { see; } }
"#;
    let apply = "
        report_t report;
        report.port = (port_t) 9w1;
        digest<report_t>(1, report);
        digest<tuple<bit<16>>>(1, { hdr.h.a });
        t.apply();";
    insta::assert_snapshot!(printed(&v1model(types, parser, ingress, apply)));
}

#[test]
fn value_sets_and_the_package() {
    let types = "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }
struct pair_t { @match(ternary) @id(4) bit<16> a; @match(exact) @brief(\"second\") bit<8> b; }";
    let parser = "
    value_set<bit<16>>(8) simple;
    @id(0x03000001) value_set<pair_t>(4) pairs;
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) { simple: more; default: accept; }
    }
    state more {
        transition select(hdr.h.a, hdr.h.b) { pairs: accept; default: reject; }
    }";
    let source = v1model(types, parser, "", "").replace(
        "V1Switch(",
        "@pkginfo(name=\"p\", version=\"1.0\")
@platform_property[multicast_group_table_size=10] @vendor[\"a\", 5, true] @brief(\"All of it\")
@plain(one, \"two\")
V1Switch(",
    );
    insta::assert_snapshot!(printed(&source));
}

#[test]
fn actions_of_the_program_come_first_in_each_control() {
    let types = "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }
action shared() { }
control Inner(inout headers_t hdr) {
    action deep() { }
    table t { key = { hdr.h.a: exact; } actions = { deep; shared; } }
    apply { t.apply(); }
}";
    let ingress = "
    action before() { }
    table first { key = { hdr.h.a: exact; } actions = { before; NoAction; } }
    Inner() one;
    Inner() two;
    action after() { }
    table last { key = { hdr.h.a: exact; } actions = { after; } }";
    let apply = "last.apply(); two.apply(hdr); one.apply(hdr); first.apply();";
    let info = generate(&v1model(types, START, ingress, apply));
    let names: Vec<&str> = info
        .actions
        .iter()
        .filter_map(|action| Some(action.preamble.as_ref()?.name.as_str()))
        .collect();
    assert_eq!(names, ["NoAction", "shared", "I.before", "I.one.deep", "I.two.deep", "I.after"]);
    let tables: Vec<(&str, &str)> = info
        .tables
        .iter()
        .filter_map(|table| table.preamble.as_ref())
        .map(|preamble| (preamble.name.as_str(), preamble.alias.as_str()))
        .collect();
    assert_eq!(
        tables,
        [("I.first", "first"), ("I.one.t", "one.t"), ("I.two.t", "two.t"), ("I.last", "last")]
    );
}

#[test]
fn type_info_is_there_if_p4c_would_have_looked_for_types() {
    assert!(generate(&v1model(TYPES, START, "", "")).type_info.is_none());
    assert!(generate(&v1model(TYPES, START, "", "mark_to_drop(sm);")).type_info.is_some());
    let table = "table t { key = { hdr.h.a: exact; } actions = { NoAction; } }";
    assert!(generate(&v1model(TYPES, START, table, "t.apply();")).type_info.is_some());
}

#[test]
fn entries_in_the_source_are_a_write_request() {
    let ingress = "
    action to(bit<9> port, bool flag) { }
    table t {
        key = { hdr.h.a: ternary; hdr.h.b: range; sm.ingress_port: optional; }
        actions = { to; NoAction; }
        const entries = {
            (0x1234 &&& 0xff00, 1 .. 5, 9w3): to(9w1, true);
            (_, 0 .. 255, _): NoAction();
        }
    }
    table u {
        key = { hdr.h.a: lpm; hdr.h.b: exact; }
        actions = { to; }
        entries = { (0x8000 &&& 0xc000, 8w7): to(9w2, false); }
        default_action = to(9w0, false);
    }";
    let program = compile(&v1model(TYPES, START, ingress, "t.apply(); u.apply();"));
    let request = p4info::entries(&program).unwrap();
    insta::assert_snapshot!(text::print(&request).unwrap());
    let info = p4info::generate(&program).unwrap();
    assert!(info.tables[0].is_const_table && info.tables[0].has_initial_entries);
    assert!(!info.tables[1].is_const_table && info.tables[1].has_initial_entries);
}

/// Members of enumerations and errors are numbered as in BMv2.
#[test]
fn entries_with_members_and_errors_are_numbers() {
    let program = compile(&v1model(
        &format!("enum Kind {{ A, B, C }} {TYPES}"),
        START,
        "Kind k = Kind.A;
        table t { key = { k: exact; sm.parser_error: ternary; } actions = { NoAction; }
            const entries = { (Kind.C, error.PacketTooShort): NoAction; (Kind.B, _): NoAction; } }",
        "t.apply();",
    ));
    let request = p4info::entries(&program).unwrap();
    let text = format!("{request:?}");
    assert!(text.contains(r#"Exact { value: b"\0\0\0\x02" }"#), "{text}");
    let ternary = r#"Ternary { value: b"\0\0\0\x01", mask: b"\xff\xff\xff\xff" }"#;
    assert!(text.contains(ternary), "{text}");
    assert_eq!(request.updates.len(), 2);
}

#[test]
fn annotations_set_the_type_of_a_meter() {
    let ingress = "
    meter(4, MeterType.bytes) plain;
    @single_rate_three_color meter(4, MeterType.bytes) three;
    @single_rate_two_color meter(4, MeterType.packets) two;
    bit<2> colour;";
    let apply = "plain.execute_meter(1, colour); three.execute_meter(1, colour); \
                 two.execute_meter(1, colour);";
    let info = p4info::generate(&compile(&v1model(TYPES, START, ingress, apply))).unwrap();
    let kinds: Vec<i32> =
        info.meters.iter().map(|meter| meter.spec.as_ref().unwrap().r#type).collect();
    assert_eq!(kinds, [0, 1, 2]);
}

#[test]
fn psa_and_pna_have_names_of_their_own() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for (name, arch) in [("tunnel.p4", "psa"), ("firewall.p4", "pna")] {
        let compiled =
            p4lang::compile_file(&root.join(name), &Options::default(), &DiskFiles).unwrap();
        let info = p4info::generate(&compiled.program.unwrap()).unwrap();
        Schema::new(info.clone()).unwrap();
        assert_eq!(info.pkg_info.as_ref().unwrap().arch, arch);
        insta::assert_snapshot!(name, text::print(&info).unwrap());
    }
}

#[test]
fn all_faults_are_reported() {
    let ingress = "
    @id(0x02000001) action a() { }
    @id(5) action b() { }
    @id(5) action c(@id(1) bit<8> x, @id(1) bit<8> y) { }
    @name(\".I.d\") action d() { }
    table t {
        key = { hdr.h.a: exact @id(0); }
        actions = { a; b; c; @tableonly @defaultonly d; }
        default_action = a();
    }
    @selector_size_semantics(\"sum\") action_selector(HashAlgorithm.crc16, 32w64, 32w14) s;";
    insta::assert_snapshot!(errors(ingress, "t.apply();"), @r#"
    I.a: @id(0x2000001): the most significant byte must be 0 or 0x01
    I.c: @id(0x1000005) is already that of another object
    I.c: @id(1): identifiers of fields are numbers above 0, each used once
    I.t: @id(0): identifiers of fields are numbers above 0, each used once
    table I.t: I.d is both @tableonly and @defaultonly
    I.s: @selector_size_semantics is "sum_of_weights" or "sum_of_members", not "sum"
    "#);
}

/// Programs with a shared name: declarations of the ingress control, statements that use one of the
/// objects, statements that use both, and the resulting error.
const SHARED: [(&str, &str, &str, &str); 9] = [
    (
        "@name(\"x\") action a(bit<8> v) { } @name(\"x\") action b(bit<8> v) { }
        table t { key = { hdr.h.a: exact; } actions = { a; } } table u { key = { hdr.h.a: exact; } actions = { b; } }",
        "t.apply();",
        "t.apply(); u.apply();",
        "two actions have the name `I.x`; rename one with @name",
    ),
    (
        "@name(\"b\") action a() { } action b() { }",
        "b();",
        "a(); b();",
        "two actions have the name `I.b`; rename one with @name",
    ),
    (
        "@name(\".top\") action a() { }",
        "a();",
        "a(); top();",
        "two actions have the name `top`; rename one with @name",
    ),
    (
        "@name(\"u\") table t { key = { hdr.h.a: exact; } actions = { NoAction; } }
        table u { key = { hdr.h.a: exact; } actions = { NoAction; } }",
        "u.apply();",
        "t.apply(); u.apply();",
        "two tables have the name `I.u`; rename one with @name",
    ),
    (
        "@name(\"c\") counter(4, CounterType.packets) a; @name(\"d\") counter(4, CounterType.packets) b;",
        "a.count(1); b.count(1);",
        "",
        "",
    ),
    (
        "@name(\"c\") counter(4, CounterType.packets) a; @name(\"c\") register<bit<8>>(4) b;",
        "a.count(1); b.write(1, 1);",
        "",
        "",
    ),
    (
        "table t { key = { hdr.h.a: exact @name(\"k\"); hdr.h.b: exact @name(\"l\"); hdr.h.a: exact; hdr.h.a: lpm; }
        actions = { NoAction; } }",
        "t.apply();",
        "",
        "",
    ),
    (
        "table t { key = { hdr.h.a: exact @name(\"k\"); hdr.h.b: exact @name(\"k\"); } actions = { NoAction; } }",
        "",
        "t.apply();",
        "table I.t: two keys have the name `k`; rename one with @name",
    ),
    (
        "@name(\"c\") counter(4, CounterType.packets) a; @name(\"c\") counter(4, CounterType.bytes) b;",
        "",
        "a.count(1); b.count(1);",
        "two counters have the name `I.c`; rename one with @name",
    ),
];

#[test]
fn names_may_be_shared_if_one_is_unused_or_no_p4info_is_wanted() {
    let types = format!("{TYPES} action top() {{ }}");
    for (declarations, one, both, message) in SHARED {
        if !one.is_empty() {
            generate(&v1model(&types, START, declarations, one));
        }
        if both.is_empty() {
            continue;
        }
        let program = compile(&v1model(&types, START, declarations, both));
        assert_eq!(p4info::faults(&program), [], "{declarations}");
        let errors = p4info::generate(&program).unwrap_err();
        let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(messages, [message], "{declarations}");
        assert!(errors[0].location.is_some(), "{declarations}");
    }
}

#[test]
fn errors_show_the_location_of_their_object() {
    let types = format!(
        "{TYPES} @p4runtime_translation(\"u\", foo) type bit<9> wrong_t;
        @controller_header(\"packet_in\") header in_t {{ @id(0) bit<8> f; }}"
    );
    let parser = "    value_set<bool>(1) flags;
    state start { packet.extract(hdr.h); transition select(hdr.h.b == 1) { flags: accept; _: accept; } }";
    let ingress = "    @id(0x02000001) action a() { }
    action c(wrong_t w, h_t h) { }
    @name(\"c\") action d() { }
    table t { key = { hdr.h.a: exact @id(0); } actions = { a; c; @tableonly @defaultonly d; } default_action = a(); }
    @selector_size_semantics(\"sum\") action_selector(HashAlgorithm.crc16, 32w64, 32w14) s;
    @a[0x10000000000000000] register<bit<8>>(4) wide;
    table u { key = { hdr.h.a: exact; } actions = { NoAction; } implementation = s; }";
    let source = v1model(&types, parser, ingress, "t.apply(); u.apply(); wide.write(1, 1);");
    let compiled =
        p4lang::compile_text("test.p4", &source, &Options::default(), &MemoryFiles::default());
    let program = compiled.program.as_ref().unwrap();
    let errors = p4info::generate(program).unwrap_err();
    assert!(errors.iter().all(|error| error.location.is_some()), "{errors:#?}");
    insta::assert_snapshot!(p4info::render(
        program,
        &errors,
        &compiled.sources,
        "name",
        Style::Plain
    ));
    // Without the source text, only the location is printed.
    let alone = p4info::render(program, &errors, &Default::default(), "name", Style::Plain);
    assert_eq!(alone.lines().count(), errors.len());
    assert!(alone.lines().all(|line| line.starts_with("test.p4:")), "{alone}");
    let mut json = program.clone();
    json.files.clear();
    let unknown = p4info::render(&json, &errors, &compiled.sources, "name", Style::Plain);
    assert!(unknown.lines().all(|line| line.starts_with("name: error[p4info]: ")), "{unknown}");
}

#[test]
fn types_without_a_p4info_message_are_faults() {
    let types = format!(
        "{TYPES} struct pair_t {{ bit<8> a; bool b; }} \
         @p4runtime_translation(\"u\", foo) type bit<9> wrong_t; @p4runtime_translation(\"u\", 9) type bool flag_t;"
    );
    let parser = "    value_set<pair_t>(5) pairs; value_set<bool>(1) flags;
    state start { packet.extract(hdr.h); transition select(hdr.h.b, true) { pairs: next; _: next; } }
    state next { transition select(hdr.h.b == 1) { flags: accept; _: accept; } }";
    let ingress =
        "action a(h_t h) { } action b(tuple<bit<8>> t) { } action c(wrong_t w, flag_t f) { }
    table t { key = { hdr.h.a: exact; } actions = { a; b; c; NoAction; } }";
    let source = v1model(&types, parser, ingress, "t.apply();");
    let program = compile(&source);
    let faults: Vec<String> = p4info::faults(&program).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(faults.join("\n"), @r"
    action I.a: parameter `h` must be bits, `bool` or an enumeration
    action I.b: parameter `t` must be bits, `bool` or an enumeration
    type wrong_t: @p4runtime_translation takes a string and what controllers use: `string`, `bit<W>` or W
    type flag_t: @p4runtime_translation needs bit<W> or int<W> as the original type
    value set P.flags: P4Runtime has sets of bit<W>, of structs of bit<W> and of enumerations with representation, matched in any way but `selector`
    ");
    let errors = p4info::generate(&program).unwrap_err();
    let is_of_pairs = |error: &p4info::P4InfoError| matches!(&error.kind, p4info::P4InfoErrorKind::ValueSetField { name } if name == "P.pairs");
    assert_eq!(errors.iter().filter(|error| is_of_pairs(error)).count(), 1);

    let good = "action a(bool b, int<8> i, bit<8> c) { }
    table t { key = { hdr.h.a: exact; } actions = { a; NoAction; } }";
    let parser = "    value_set<bit<8>>(5) bytes;
    state start { packet.extract(hdr.h); transition select(hdr.h.b) { bytes: accept; _: accept; } }";
    assert_eq!(p4info::faults(&compile(&v1model(TYPES, parser, good, "t.apply();"))), []);
}

#[test]
fn a_program_without_main_has_nothing_for_a_controller() {
    let source = "#include <core.p4>\nheader h_t { bit<8> f; }
control C(inout h_t h) { table t { key = { h.f : exact; } actions = { NoAction; } } apply { t.apply(); } }";
    let info = generate(source);
    assert_eq!(info, P4Info::default(), "no `pkg_info` either");
    let other =
        compile(&format!("{source}\ncontrol B<H>(inout H h); package P<H>(B<H> b); P(C()) main;"));
    let errors = p4info::generate(&other).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(matches!(&errors[0].kind, p4info::P4InfoErrorKind::Architecture(name) if name == "P"));
}

#[test]
fn actions_that_controls_call_are_there_without_parameters() {
    let types = "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }
action global_called() { }
action global_listed() { }";
    let ingress = "
    action inlined() { }
    action called(inout bit<8> x, bit<9> port) { inlined(); x = 1; }
    action both(bit<9> port) { sm.egress_spec = port; }
    action bound(inout bit<8> x, @id(7) bit<9> port) { x = (bit<8>) port; }
    action dead() { }
    table t {
        key = { hdr.h.a: exact; }
        actions = { both; bound(hdr.h.b); global_listed; }
        default_action = bound(hdr.h.b, 9w3);
    }";
    let apply =
        "called(hdr.h.b, 9w1); both(9w2); global_called(); t.apply(); if (false) { dead(); }";
    let info = generate(&v1model(types, START, ingress, apply));
    let actions: Vec<(&str, Vec<&str>)> = info
        .actions
        .iter()
        .map(|action| {
            let params = action.params.iter().map(|param| param.name.as_str()).collect();
            (action.preamble.as_ref().map_or("", |preamble| &preamble.name), params)
        })
        .collect();
    assert_eq!(
        actions,
        [
            ("global_listed", vec![]),
            ("global_called", vec![]),
            ("I.called", vec![]),
            ("I.both", vec!["port"]),
            ("I.bound", vec!["port"]),
        ]
    );
    let default = info.tables[0].initial_default_action.as_ref().unwrap();
    let arguments: Vec<u32> = default.arguments.iter().map(|argument| argument.param_id).collect();
    assert_eq!(arguments, [7]);
}

#[test]
fn a_header_with_structs_has_dotted_fields_without_names_of_their_own() {
    let types = "struct inner_t { @name(\"other\") bit<8> x; bit<8> y; }
@controller_header(\"packet_in\") header in_t { @name(\"first\") bit<16> a; inner_t s; }
@controller_header(\"packet_out\") header out_t { @name(\"first\") bit<16> a; }
header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; in_t i; out_t o; } struct meta_t { }";
    let info = generate(&v1model(types, START, "", ""));
    let names: Vec<Vec<&str>> = info
        .controller_packet_metadata
        .iter()
        .map(|header| header.metadata.iter().map(|field| field.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["a", "s.x", "s.y"], vec!["first"]]);
}

#[test]
fn unreachable_statements_do_not_use_tables() {
    let ingress = "
    action a() { } action b() { }
    table t { key = { hdr.h.a: exact; } actions = { a; } }
    table u { key = { hdr.h.a: exact; } actions = { b; } }";
    let tables =
        |apply: &str| -> usize { generate(&v1model(TYPES, START, ingress, apply)).tables.len() };
    assert_eq!(tables("t.apply(); if (hdr.h.b == 1) { return; } else { exit; } u.apply();"), 1);
    assert_eq!(tables("t.apply(); if (hdr.h.b == 1) { return; } u.apply();"), 2);
    assert_eq!(tables("t.apply(); { exit; } u.apply();"), 2);
    assert_eq!(tables("t.apply(); exit; u.apply();"), 2);
    assert_eq!(tables("t.apply(); exit; u.apply(); return;"), 1);
    // p4c's passes `StrengthReduction`, `SimplifyControlFlow` and `SimplifySwitch` remove these
    // statements.
    assert_eq!(tables("if (hdr.h.isValid() && false) t.apply(); else u.apply();"), 1);
    assert_eq!(tables("if (!(hdr.h.b == 1 || 8w1 == 1)) { t.apply(); }"), 0);
    assert_eq!(tables("if (t.apply().hit && false) { u.apply(); }"), 2);
    assert_eq!(tables("switch (8w1) { 2: { t.apply(); } 1: default: { u.apply(); } }"), 1);
    assert_eq!(tables("switch (8w3) { 2: { t.apply(); } 1: { u.apply(); } }"), 0);
    let info = generate(&v1model(
        TYPES,
        START,
        ingress,
        "if (hdr.h.b == 1) { t.apply(); return; } return; b();",
    ));
    assert_eq!(info.actions.len(), 2, "a, and NoAction of the table");
}

#[test]
fn an_extern_in_a_property_has_the_name_of_the_property_alone() {
    // The names and identifiers are those in the P4Info of ONF's UP4 (p4src/build/p4info.txt).
    let types = "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }
control Inner(inout headers_t hdr) {
    table t {
        key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { NoAction; }
        @name(\"hashed_selector\") implementation = action_selector(HashAlgorithm.crc16, 32w1024, 32w16);
        @name(\"acls\") counters = direct_counter(CounterType.packets_and_bytes);
    }
    apply { t.apply(); }
}";
    let info = generate(&v1model(types, START, "", "Inner.apply(hdr);"));
    let selector = info.action_profiles[0].preamble.as_ref().unwrap();
    assert_eq!((selector.name.as_str(), selector.id), ("hashed_selector", 297_808_402));
    let counter = info.direct_counters[0].preamble.as_ref().unwrap();
    assert_eq!((counter.name.as_str(), counter.id), ("acls", 325_583_051));
}

#[test]
fn each_call_of_digest_with_nameless_data_is_a_digest() {
    let apply = "digest<tuple<bit<16>>>(1, { hdr.h.a }); digest<h_t>(1, hdr.h);
        digest<tuple<bit<16>>>(2, { hdr.h.a }); digest<h_t>(2, hdr.h); digest(3, hdr.h.b);";
    let info = generate(&v1model(TYPES, START, "", apply));
    let names: Vec<_> =
        info.digests.iter().map(|digest| digest.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(names, ["digest_0", "h_t", "digest_1", "digest_2"]);
}

// p4c's pass `DuplicateActions` copies an action for each table and each call before digests are
// numbered.
#[test]
fn a_nameless_digest_counts_for_each_user_of_its_action() {
    let types = format!("{TYPES} action global(in bit<16> x) {{ digest(1, {{ x }}); }}");
    let ingress = "action local() { digest(1, { hdr.h.b }); digest(2, hdr.h); }
    table t { key = { hdr.h.a: exact; } actions = { local; global(hdr.h.a); } }
    table u { key = { hdr.h.b: exact; } actions = { local; } }";
    let apply = "t.apply(); if (u.apply().hit) { local(); } global(1);";
    let info = generate(&v1model(&types, START, ingress, apply));
    let digests = names(info.digests.iter().map(|digest| digest.preamble.as_ref()));
    assert_eq!(digests, ["digest_0", "digest_1", "digest_2", "h_t", "digest_3", "digest_4"]);
}

#[test]
fn the_name_annotation_of_a_control_is_no_part_of_other_names() {
    let control = "control Sub(inout headers_t hdr) { @name(\"u\") action a() { }
    table t { key = { hdr.h.a: exact; } actions = { a; } } apply { t.apply(); } }";
    let source = v1model(
        &format!("{TYPES} @name(\"S\") {control}"),
        START,
        "Sub() s; @name(\"v\") Sub() w;",
        "s.apply(hdr); w.apply(hdr); Sub.apply(hdr);",
    )
    .replace("control I(", "@name(\"ingress\") control I(");
    let info = generate(&source);
    let names: Vec<_> =
        info.tables.iter().map(|table| table.preamble.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(names, ["I.Sub.t", "I.s.t", "I.v.t"]);
}

#[test]
fn a_value_set_of_an_enumeration_has_a_field_for_each_member() {
    let types = format!("{TYPES} enum bit<8> kind_t {{ A = 1, B = 2 }}");
    let parser = "    value_set<kind_t>(5) kinds;
    state start { packet.extract(hdr.h); transition select((kind_t) hdr.h.b) { kinds: accept; default: accept; } }";
    let info = generate(&v1model(&types, parser, "", ""));
    let fields: Vec<_> = info.value_sets[0]
        .r#match
        .iter()
        .map(|field| (field.id, field.name.as_str(), field.bitwidth))
        .collect();
    assert_eq!(fields, [(1, "A", 8), (2, "B", 8)]);
}

fn names<'a>(preambles: impl Iterator<Item = Option<&'a Preamble>>) -> Vec<&'a str> {
    preambles.flatten().map(|preamble| preamble.name.as_str()).collect()
}

fn action_names(info: &P4Info) -> Vec<&str> {
    names(info.actions.iter().map(|action| action.preamble.as_ref()))
}

fn table_names(info: &P4Info) -> Vec<&str> {
    names(info.tables.iter().map(|table| table.preamble.as_ref()))
}

// p4c's pass `TagGlobalActions` assigns a dotted name only to actions without `@name`. Then
// `LocalizeActions` copies the actions into each control, and `HierarchicalNames` prefixes relative
// names with that of the control.
#[test]
fn a_relative_name_of_a_program_action_is_behind_the_control_that_uses_it() {
    let types = "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }
@name(\"rel\") action relative() { }
@name(\".abs\") action absolute() { }
action plain() { }
control Sub(inout headers_t hdr) {
    table t { key = { hdr.h.a: exact; } actions = { relative; } const default_action = relative(); }
    apply { t.apply(); }
}";
    let ingress = "Sub() s;
    table t { key = { hdr.h.a: exact; } actions = { relative; absolute; plain; } }";
    let source = v1model(types, START, ingress, "s.apply(hdr); t.apply();").replace(
        "control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }",
        "control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
            table t { key = { hdr.h.a: exact; } actions = { relative; plain; } } apply { t.apply(); } }",
    );
    let info = generate(&source);
    assert_eq!(action_names(&info), ["I.rel", "abs", "plain", "NoAction", "E.rel"]);
    let id = |name: &str| {
        let preambles = info.actions.iter().filter_map(|action| action.preamble.as_ref());
        preambles.into_iter().find(|preamble| preamble.name == name).unwrap().id
    };
    assert_eq!(info.tables[0].const_default_action_id, id("I.rel"));
    assert_eq!(info.tables[2].action_refs[0].id, id("E.rel"));
}

// p4c's pass `SpecializeAll` replaces a control with constructor arguments by a copy with a new
// name, which `HierarchicalNames` then uses.
#[test]
fn a_control_of_the_package_with_arguments_has_a_number_behind_its_name() {
    let checksum = "control G(inout headers_t hdr, inout meta_t meta)(bit<8> n) {
    table t { key = { hdr.h.b: exact; } actions = { NoAction; } } apply { t.apply(); } }";
    let source = v1model(
        &format!("{TYPES} {checksum} control I_0() {{ apply {{ }} }}"),
        "    value_set<bit<16>>(4) vs;
    state start { packet.extract(hdr.h); transition select(hdr.h.a) { vs: accept; default: accept; } }",
        "action a() { } table t { key = { hdr.h.a: exact; } actions = { a; } }",
        "t.apply();",
    )
    .replacen("inout standard_metadata_t sm) {", "inout standard_metadata_t sm)(bool b) {", 2)
    .replace(
        "V1Switch(P(), V(), I(), E(), U(), D())",
        "V1Switch(P(true), G(1), I(false), E(), G(2), D())",
    );
    let info = generate(&source);
    assert_eq!(table_names(&info), ["G_0.t", "I_1.t", "G_1.t"]);
    assert_eq!(action_names(&info), ["NoAction", "I_1.a"]);
    assert_eq!(names(info.value_sets.iter().map(|set| set.preamble.as_ref())), ["P_0.vs"]);
}

// p4c's pass `RemoveUnusedDeclarations` removes declarations without a reference, including parser
// states.
#[test]
fn value_sets_that_nothing_selects_with_are_left_out() {
    let parser = "    Sub() sub;
    value_set<bit<16>>(8) idle;
    value_set<bit<16>>(8) nowhere;
    @name(\"named\") value_set<bit<16>>(8) used;
    state start {
        sub.apply(packet, hdr);
        transition select(hdr.h.a) { used: accept; default: accept; }
    }
    state unreachable { transition select(hdr.h.a) { nowhere: unreachable; default: accept; } }";
    let types = format!(
        "{TYPES} parser Sub(packet_in packet, out headers_t hdr) {{
    value_set<bit<16>>(8) inner;
    state start {{ packet.extract(hdr.h); transition select(hdr.h.a) {{ inner: accept; default: accept; }} }}
}}"
    );
    let info = generate(&v1model(&types, parser, "", ""));
    let sets = names(info.value_sets.iter().map(|set| set.preamble.as_ref()));
    assert_eq!(sets, ["P.sub.inner", "P.named"]);
    // p4c's pass `InstantiateDirectCalls` puts the anonymous instance before all local
    // declarations.
    let parser = parser.replace("    Sub() sub;\n", "").replace("sub.apply", "Sub.apply");
    let info = generate(&v1model(
        &types,
        &parser
            .replace(
                "    value_set<bit<16>>(8) idle;",
                "    value_set<bit<16>>(8) idle; Sub() sub;",
            )
            .replace(
                "transition select(hdr.h.a) { used",
                "sub.apply(packet, hdr); transition select(hdr.h.a) { used",
            ),
        "",
        "",
    ));
    let sets = names(info.value_sets.iter().map(|set| set.preamble.as_ref()));
    assert_eq!(sets, ["P.Sub.inner", "P.sub.inner", "P.named"]);
}

// p4c's `addTableProperties` adds a profile that is constructed in a table property when it visits
// the table. Other profiles are added when the evaluator visits the block of the instance, in the
// order of declarations.
#[test]
fn action_profiles_are_in_the_order_of_their_instances_and_tables() {
    let ingress = "
    action_profile(1) first;
    table t { key = { hdr.h.a: exact; } actions = { NoAction; } @name(\"second\") implementation = action_profile(2); }
    action_profile(3) third;
    table u { key = { hdr.h.a: exact; } actions = { NoAction; } implementation = third; }";
    let info = generate(&v1model(TYPES, START, ingress, "u.apply(); t.apply();"));
    let profiles = names(info.action_profiles.iter().map(|profile| profile.preamble.as_ref()));
    assert_eq!(profiles, ["I.first", "second", "I.third"]);
}

// p4c's handler for v1model never looks up the index type of an extern, in any version of v1model.
#[test]
fn v1model_names_no_index_types() {
    let source = v1model(
        &format!("{TYPES} type bit<9> port_t; type bit<4> value_t;"),
        START,
        "counter<port_t>(128, CounterType.packets) c; meter<port_t>(4, MeterType.packets) m;
    register<value_t, port_t>(16) r;",
        "",
    );
    let info = generate(&format!("#define V1MODEL_VERSION 20200408\n{source}"));
    assert_eq!(info.counters[0].index_type_name, None);
    assert_eq!(info.meters[0].index_type_name, None);
    assert_eq!(info.registers[0].index_type_name, None);
    let types: Vec<&String> = info.type_info.as_ref().unwrap().new_types.keys().collect();
    assert_eq!(types, ["value_t"]);
}

// p4c's `explicitNameAnnotation` of a key is used unchanged, while `controlPlaneName` of other
// objects loses the leading dot.
#[test]
fn an_absolute_name_of_a_key_keeps_its_dot() {
    let ingress = "action a(@name(\".p\") bit<8> p) { }
    @name(\".t\") table t {
        key = { hdr.h.a: exact @name(\".k\"); hdr.h.b: exact @name(\"x.y\"); hdr.h.b & MASK: ternary; hdr.h.a[HIGH - 1:0x4]: lpm; }
        actions = { a; }
    }";
    let types = format!("{TYPES} const bit<8> MASK = 0xF0; const int HIGH = 0x8;");
    let info = generate(&v1model(&types, START, ingress, "t.apply();"));
    assert_eq!(table_names(&info), ["t"]);
    let fields: Vec<&str> =
        info.tables[0].match_fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, [".k", "x.y", "hdr.h.b & 0xf0", "hdr.h.a[0x7:0x4]"]);
    let action = info.actions.iter().find(|action| !action.params.is_empty()).unwrap();
    assert_eq!(action.params[0].name, "p");
}

// p4c's `addExternInstance` returns before it looks up the type if the object has no name of its
// own.
#[test]
fn nameless_objects_of_the_package_leave_no_type_information() {
    let source = include_str!("p4info/empty_psa.p4");
    let info = generate(source);
    assert_eq!(info.type_info, None);
    let named = source.replace("apply { /* ingress */ }", "Random<bit<8>>(0, 1) r; apply { }");
    assert!(generate(&named).type_info.is_some());
}

// In p4c the architecture is a command-line option, and its handler processes externs regardless of
// the package.
#[test]
fn a_package_of_the_programs_own_has_the_p4info_of_the_architecture_that_it_includes() {
    let own = "#include <core.p4>\n#include <v1model.p4>
header h_t { bit<16> a; }
control C(inout h_t h) {
    counter(4, CounterType.bytes) c;
    table t { key = { h.a: exact; } actions = { NoAction; } }
    apply { t.apply(); }
}
control block_t<H>(inout H h);
package top<H>(block_t<H> b);
@pkginfo(name = \"own\") top(C()) main;";
    let info = generate(own);
    let package = info.pkg_info.as_ref().unwrap();
    assert_eq!((package.arch.as_str(), package.name.as_str()), ("v1model", "own"));
    assert_eq!(table_names(&info), ["C.t"]);
    assert_eq!(names(info.counters.iter().map(|counter| counter.preamble.as_ref())), ["C.c"]);
}

// p4c's `ExternInstance::resolve` finds no annotations on a constructor call.
#[test]
fn a_direct_counter_in_a_property_has_no_annotations() {
    let ingress = "table t {
        key = { hdr.h.a: exact; } actions = { NoAction; }
        @name(\"hits\") @other @brief(\"lost\") counters = direct_counter(CounterType.bytes);
        @name(\"profile\") @other @brief(\"kept\") implementation = action_profile(4);
    }";
    let info = generate(&v1model(TYPES, START, ingress, "t.apply();"));
    let counter = info.direct_counters[0].preamble.as_ref().unwrap();
    assert!(counter.annotations.is_empty() && counter.doc.is_none());
    let profile = info.action_profiles[0].preamble.as_ref().unwrap();
    assert_eq!(profile.annotations, ["@other"]);
    assert_eq!(profile.doc.as_ref().unwrap().brief, "kept");
}

// p4c's pass `SpecializeGenericTypes` numbers the copies of a generic type, and the handler of
// externs sees these copies.
#[test]
fn a_generic_struct_has_a_number_behind_its_name() {
    let types = format!("{TYPES} struct pair_t<T> {{ T first; bit<8> second; }}");
    let ingress = "register<pair_t<bit<4>>>(4) one; register<pair_t<bool>>(4) two;";
    let info = generate(&v1model(&types, START, ingress, ""));
    let types: Vec<&String> = info.type_info.as_ref().unwrap().structs.keys().collect();
    assert_eq!(types, ["pair_t_0", "pair_t_1"]);
}

// p4c's evaluator instantiates the controls of a package where the package is declared.
#[test]
fn packages_of_psa_come_in_the_order_of_their_declarations() {
    let source = include_str!("p4info/empty_psa.p4")
        .replace("apply { /* ingress */ }", "table t { key = { hdr.h.a: exact; } actions = { NoAction; } } apply { t.apply(); }")
        .replace("    apply { }\n", "    action a() { } table t { key = { hdr.h.a: exact; } actions = { a; } } apply { t.apply(); }\n");
    assert_eq!(table_names(&generate(&source)), ["IngressC.t", "EgressC.t"]);
    let ingress = "IngressPipeline(IngressP(), IngressC(), IngressD()) ip;\n";
    let swapped =
        source.replace(ingress, "").replace("PSA_Switch(ip", &format!("{ingress}PSA_Switch(ip"));
    let info = generate(&swapped);
    assert_eq!(table_names(&info), ["EgressC.t", "IngressC.t"]);
    assert_eq!(action_names(&info), ["NoAction", "EgressC.a"]);
}

// p4c's `stringRepr` pads a value to the width that `getTypeWidth` returns, which is the width for
// controllers.
#[test]
fn default_arguments_are_as_wide_as_controllers_see_them() {
    let types = format!("{TYPES} @p4runtime_translation(\"p\", 32) type bit<9> port_t;");
    let ingress = "action to(port_t port, bool flag) { }
    table t { key = { hdr.h.a: exact; } actions = { to; } default_action = to((port_t) 9w3, true); }";
    let info = generate(&v1model(&types, START, ingress, "t.apply();"));
    let default = info.tables[0].initial_default_action.as_ref().unwrap();
    let values: Vec<&[u8]> =
        default.arguments.iter().map(|argument| argument.value.as_ref()).collect();
    assert_eq!(values, [&[0, 0, 0, 3][..], &[1]]);
}

#[test]
fn mappings_of_translated_types_are_passed_on_and_checked() {
    let ingress =
        "action to(vrf_t vrf) { } table t { key = { hdr.h.a: exact; } actions = { to; } }";
    let declared = |mappings: &str| {
        format!(
            "{TYPES} @p4runtime_translation(\"\", string) @p4runtime_translation_mappings({mappings})
            type bit<4> vrf_t;"
        )
    };
    let source = v1model(&declared("{ {\"\", 0}, {\"a b\", 0xF} }"), START, ingress, "t.apply();");
    let info = generate(&source);
    let spec = &info.type_info.as_ref().unwrap().new_types["vrf_t"];
    let pairs = p4runtime::p4info::translation_mappings(spec).unwrap();
    assert_eq!(pairs, [(b""[..].into(), 0), (b"a b"[..].into(), 15)]);
    for (mappings, reason) in [
        ("{ {\"a\", 16} }", "gives \"a\" the number 16, which needs more than 4 bits"),
        ("{ {\"a\", 1}, {\"b\", 1} }", "gives the number 1 to two strings"),
        ("{ \"a\", 1 }", "has '\"' where '{' belongs"),
    ] {
        let program = compile(&v1model(&declared(mappings), START, ingress, "t.apply();"));
        let faults: Vec<_> = p4info::faults(&program).iter().map(ToString::to_string).collect();
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        assert!(fault.starts_with("type vrf_t: @p4runtime_translation_mappings "), "{fault}");
        assert!(fault.contains(reason), "no {reason:?} in {fault}");
    }
}

#[test]
fn externs_of_the_program_are_not_those_of_another_architecture() {
    let own = "extern Register<T> { Register(); T read(); } extern Counter { Counter(); void count(in bit<8> i, in bit<8> j); }";
    let ingress = "Register<bit<8>>() r; Counter() c; counter(8, CounterType.bytes) known;";
    let apply = "hdr.h.b = r.read(); c.count(1, 2); known.count(1);";
    let info = generate(&v1model(&format!("{own} {TYPES}"), START, ingress, apply));
    assert!(info.registers.is_empty());
    let names: Vec<_> =
        info.counters.iter().filter_map(|counter| counter.preamble.as_ref()).collect();
    assert_eq!(
        names.iter().map(|preamble| preamble.name.as_str()).collect::<Vec<_>>(),
        ["I.known"]
    );
}

// p4c's `SpecializationMap::convertArgument` turns a constructor call among the arguments into an
// instance.
#[test]
fn an_extern_among_the_arguments_of_a_control_has_the_name_of_the_parameter() {
    let types = format!(
        "{TYPES} control Sub(inout headers_t hdr)(counter hits, bit<8> n) {{ apply {{ hits.count(1); }} }}"
    );
    let ingress = "Sub(counter(8, CounterType.bytes), 3) one; @name(\"two\") Sub(counter(9, CounterType.packets), 4) other;";
    let source = v1model(&types, START, ingress, "one.apply(hdr); other.apply(hdr);")
        .replace(
            "control U(inout headers_t hdr, inout meta_t meta) {",
            "control U(inout headers_t hdr, inout meta_t meta)(counter seen) {",
        )
        .replace("U(), D()", "U(counter(2, CounterType.bytes)), D()");
    let info = generate(&source);
    let counters = names(info.counters.iter().map(|counter| counter.preamble.as_ref()));
    assert_eq!(counters, ["I.one.hits", "I.two.hits", "U_0.seen_0"]);
}

// p4c's `ToP4` prints annotations that it did not parse token by token.
#[test]
fn unknown_annotations_are_printed_as_tokens() {
    let ingress = r#"@foo(a >= b, a > = c, a >> 2, x<y>, "s\"t", @sai(base = B, 0x10), ~8w3) @nothing() @command_line("-a", "-b")
    action a() { }
    table t { key = { hdr.h.a: exact; } actions = { a; } }"#;
    let info = generate(&v1model(TYPES, START, ingress, "t.apply();"));
    assert_eq!(
        info.actions[1].preamble.as_ref().unwrap().annotations,
        [
            r#"@foo(a >= b , a > = c , a > > 2 , x < y > , "s\"t" , @ sai ( base = B , 0x10 ) , ~ 8w3)"#,
            "@nothing",
            r#"@command_line("-a", "-b")"#,
        ]
    );
}

fn id(preamble: Option<&Preamble>) -> u32 {
    preamble.map_or(0, |preamble| preamble.id)
}

// P4Runtime 1.4, "Action Profile": `table_ids` lists the tables that share the profile, and each of
// them refers to it by `implementation_id`.
#[test]
fn an_action_profile_that_tables_share_is_one_that_names_them_all() {
    let declared = "
    action_selector(HashAlgorithm.crc16, 32w64, 32w14) shared;
    table z { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { NoAction; } implementation = shared; }
    table t { key = { hdr.h.a: lpm; hdr.h.b: selector; } actions = { NoAction; } implementation = shared; }
    table idle { key = { hdr.h.a: lpm; hdr.h.b: selector; } actions = { NoAction; } implementation = shared; }";
    let constructed = "
    table z { key = { hdr.h.a: exact; } actions = { NoAction; } @name(\"shared\") implementation = action_profile(32w64); }
    table t { key = { hdr.h.b: exact; } actions = { NoAction; } @name(\"shared\") implementation = action_profile(32w64); }";
    let info = generate(&v1model(TYPES, START, declared, "z.apply(); t.apply();"));
    let [profile] = info.action_profiles.as_slice() else { panic!("{:?}", info.action_profiles) };
    assert_eq!(profile.preamble.as_ref().unwrap().name, "I.shared");
    assert_eq!(profile.size, 64);
    assert_eq!(table_names(&info), ["I.z", "I.t"]);
    let tables: Vec<u32> = info.tables.iter().map(|table| id(table.preamble.as_ref())).collect();
    // The tables are in lexical order of their names, without the one that is never applied.
    assert_eq!(profile.table_ids, [tables[1], tables[0]]);
    for table in &info.tables {
        assert_eq!(table.implementation_id, id(profile.preamble.as_ref()));
    }
    // Profiles that tables construct for themselves are not shared, so the two have the same name.
    assert_eq!(
        errors(constructed, "z.apply(); t.apply();"),
        "two action profiles have the name `shared`; rename one with @name"
    );
}

// P4Runtime 1.4, "Digest" and "P4 type specifications": a digest is described by the name of its
// struct, and structs and headers in it by their names. `type_info` contains all of them, at any
// depth.
#[test]
fn a_digest_of_structs_in_structs_names_them_and_all_are_in_the_type_information() {
    let types = "header h_t { bit<16> a; bit<8> b; } struct headers_t { h_t h; } struct meta_t { }
struct point_t { bit<3> x; int<5> y; }
struct line_t { point_t from; point_t to; tuple<bit<4>, bool> rest; }
struct report_t { line_t line; h_t seen; bit<9> port; }
@name(\"elsewhere\") struct renamed_t { line_t line; }";
    let apply =
        "digest<report_t>(1, { { { 1, 2 }, { 3, 4 }, { 5, true } }, hdr.h, sm.ingress_port });
        digest<renamed_t>(2, { { { 1, 2 }, { 3, 4 }, { 5, false } } });";
    let info = generate(&v1model(types, START, "", apply));
    let names = names(info.digests.iter().map(|digest| digest.preamble.as_ref()));
    assert_eq!(names, ["report_t", "elsewhere"]);
    let named = |spec: &P4DataTypeSpec| match spec.type_spec.as_ref().unwrap() {
        TypeSpec::Struct(named) => format!("struct {}", named.name),
        TypeSpec::Header(named) => format!("header {}", named.name),
        TypeSpec::Tuple(tuple) => format!("tuple of {}", tuple.members.len()),
        TypeSpec::Bitstring(_) => "bits".to_owned(),
        other => panic!("{other:?}"),
    };
    for digest in &info.digests {
        let name = &digest.preamble.as_ref().unwrap().name;
        assert_eq!(named(digest.type_spec.as_ref().unwrap()), format!("struct {name}"));
    }
    let type_info = info.type_info.as_ref().unwrap();
    let mut structs: Vec<_> = type_info.structs.keys().map(String::as_str).collect();
    structs.sort_unstable();
    assert_eq!(structs, ["elsewhere", "line_t", "point_t", "report_t"]);
    assert_eq!(type_info.headers.keys().collect::<Vec<_>>(), ["h_t"]);
    let members = |of: &str| -> Vec<(&str, String)> {
        let members = type_info.structs[of].members.iter();
        members.map(|m| (m.name.as_str(), named(m.type_spec.as_ref().unwrap()))).collect()
    };
    let own = str::to_owned;
    assert_eq!(
        members("report_t"),
        [("line", own("struct line_t")), ("seen", own("header h_t")), ("port", own("bits"))]
    );
    assert_eq!(
        members("line_t"),
        [
            ("from", own("struct point_t")),
            ("to", own("struct point_t")),
            ("rest", own("tuple of 2"))
        ]
    );
}

// P4Runtime 1.4, "ID Allocation for P4Info Objects" and "Preamble Message": an object has one
// identifier and one name, whichever tables refer to it. An alias is a suffix of the name that is
// unique among all objects of the P4Info.
#[test]
fn an_action_of_several_tables_is_one_with_one_name() {
    let types = format!(
        "{TYPES} action global(bit<8> x) {{ }}
control Sub(inout headers_t hdr) {{
    action local(bit<8> x) {{ }}
    table t {{ key = {{ hdr.h.a: exact; }} actions = {{ local; global; }} }}
    table u {{ key = {{ hdr.h.b: exact; }} actions = {{ local; global; }} default_action = local(1); }}
    apply {{ t.apply(); u.apply(); }}
}}"
    );
    let ingress = "Sub() one; Sub() two;
    action local(bit<8> x) { }
    @name(\"given\") action renamed() { }
    @id(0x77) action numbered() { }
    table t { key = { hdr.h.a: exact; } actions = { local; renamed; numbered; global; } }
    table given { key = { hdr.h.b: exact; } actions = { local; renamed; numbered; @defaultonly NoAction; } }";
    let apply = "one.apply(hdr); two.apply(hdr); t.apply(); given.apply();";
    let info = generate(&v1model(&types, START, ingress, apply));
    let of_actions: Vec<(&str, &str)> = info
        .actions
        .iter()
        .filter_map(|action| action.preamble.as_ref())
        .map(|preamble| (preamble.name.as_str(), preamble.alias.as_str()))
        .collect();
    assert_eq!(
        of_actions,
        [
            ("global", "global"),
            ("NoAction", "NoAction"),
            ("I.one.local", "one.local"),
            ("I.two.local", "two.local"),
            // Another name ends with `local`, so the alias is the whole name.
            ("I.local", "I.local"),
            // The table with the same name counts as one name with the action, so the short alias
            // is unique.
            ("I.given", "given"),
            ("I.numbered", "numbered"),
        ]
    );
    let named = |name: &str| {
        let preambles = info.actions.iter().filter_map(|action| action.preamble.as_ref());
        preambles.into_iter().find(|preamble| preamble.name == name).unwrap().id
    };
    assert_eq!(named("I.numbered"), 0x0100_0077);
    let refers = |table: &str| -> Vec<u32> {
        let is_it = |found: &&Table| found.preamble.as_ref().unwrap().name == table;
        let table = info.tables.iter().find(is_it).unwrap();
        table.action_refs.iter().map(|reference| reference.id).collect()
    };
    for instance in ["one", "two"] {
        let own = [named(&format!("I.{instance}.local")), named("global"), named("NoAction")];
        assert_eq!(refers(&format!("I.{instance}.t")), own);
        // The table has another default action, so `NoAction` is not among its actions.
        assert_eq!(refers(&format!("I.{instance}.u")), own[..2]);
    }
    let shared = [named("I.local"), named("I.given"), named("I.numbered")];
    assert_eq!(refers("I.given")[..3], shared);
    assert_eq!(refers("I.t")[..3], shared);
    let mut ids: Vec<u32> = of_actions.iter().map(|(name, _)| named(name)).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), of_actions.len());
}
