//! Tests of the paths of programs, of overviews, and of predictions from parts.
use p4lang::compile_text;
use p4lang::preprocess::{DiskFiles, Options};

use super::*;

/// An Ethernet and IPv4 router: one table with two actions.
const ROUTER: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t { bit<64> a; bit<8> ttl; bit<24> b; bit<32> src; bit<32> dst; }
struct headers { ethernet_t ethernet; ipv4_t ipv4; }
struct meta {}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); transition select(h.ethernet.type) { 0x800: ip; default: accept; } }
    state ip { p.extract(h.ipv4); transition accept; }
}
control V(inout headers h, inout meta m) { apply {} }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action route(bit<9> port, bit<48> next) {
        s.egress_spec = port; h.ethernet.dst = next; h.ipv4.ttl = h.ipv4.ttl - 1;
    }
    table routes { key = { h.ipv4.dst: lpm; } actions = { route; drop; } default_action = drop(); }
    apply { if (h.ipv4.isValid()) { routes.apply(); } else { drop(); } }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply {} }
control C(inout headers h, inout meta m) { apply {} }
control D(packet_out p, in headers h) { apply { p.emit(h.ethernet); p.emit(h.ipv4); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn routes() -> Vec<Path> {
    let compiled = compile_text("router.p4", ROUTER, &Options::default(), &DiskFiles);
    paths(&compiled.program.expect("a program")).expect("paths")
}

fn parts(parts: &[(&str, u32)]) -> Parts {
    parts.iter().map(|(part, count)| ((*part).to_owned(), *count)).collect()
}

#[test]
fn the_decisions_of_a_path_are_named() {
    let text = ROUTER.replace(
        "apply { if (h.ipv4.isValid()) { routes.apply(); } else { drop(); } }",
        "apply { if (h.ipv4.ttl == 0 || h.ipv4.b == 1) { drop(); }
            else { switch (routes.apply().action_run) { drop: { h.ipv4.b = 2; } default: {} } }
            switch (h.ipv4.a) { 1: { h.ipv4.a = 3; } default: {} } }",
    );
    let compiled = compile_text("router.p4", &text, &Options::default(), &DiskFiles);
    let found = paths(&compiled.program.expect("a program")).expect("paths");
    let all: Vec<&str> =
        found.iter().flat_map(|path| &path.decisions).map(String::as_str).collect();
    for decision in [
        "if (h.ipv4.ttl == 8w0) || (h.ipv4.b == 24w1)",
        "if not ((h.ipv4.ttl == 8w0) || (h.ipv4.b == 24w1))",
        "switch: I.drop",
        "switch h.ipv4.a: 64w1",
        "switch h.ipv4.a: default",
    ] {
        assert!(all.contains(&decision), "{decision} is not in {all:#?}");
    }
}

#[test]
fn a_router_has_three_paths() {
    let mut found: Vec<Parts> = routes().into_iter().map(|path| path.parts).collect();
    let mut expected = vec![
        // The packet is not IPv4: the parser's path decides the condition.
        parts(&[
            ("extract 112", 1),
            ("select 16", 1),
            ("branch", 1),
            ("extern mark_to_drop", 1),
            ("emit 112", 1),
        ]),
        parts(&[
            ("extract 112", 1),
            ("select 16", 1),
            ("extract 160", 1),
            ("branch", 1),
            ("table lpm 32", 1),
            ("extern mark_to_drop", 1),
            ("emit 112", 1),
            ("emit 160", 1),
        ]),
        parts(&[
            ("extract 112", 1),
            ("select 16", 1),
            ("extract 160", 1),
            ("branch", 1),
            ("table lpm 32", 1),
            ("assign 9", 1),
            ("assign 48", 1),
            ("assign 8", 1),
            ("compute subtract 8", 1),
            ("emit 112", 1),
            ("emit 160", 1),
        ]),
    ];
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn paths_make_only_permitted_choices() {
    let compiled = compile_text("router.p4", ROUTER, &Options::default(), &DiskFiles);
    let program = compiled.program.expect("a program");
    let count = |permits: Permits<'_>| paths_where(&program, permits).expect("paths").len();
    assert_eq!(count(&|_| true), 3);
    // The first action of the table is `route`.
    let routes = |choice| matches!(choice, Choice::Action(_, 0));
    assert_eq!(count(&|choice| !routes(choice)), 2);
    let routed = paths_where(&program, &|choice| match choice {
        Choice::Action(..) => routes(choice),
        // The first case is that of IPv4.
        Choice::Case(_, _, case) => case == 0,
        _ => true,
    });
    let routed = routed.expect("paths");
    assert_eq!(routed.len(), 1);
    assert_eq!(routed[0].parts.get("compute subtract 8"), Some(&1));
    assert_eq!(count(&|choice| !matches!(choice, Choice::Case(_, _, 0))), 1);
    assert_eq!(count(&|choice| !matches!(choice, Choice::Side(_, 0))), 2);
    assert_eq!(count(&|choice| !matches!(choice, Choice::Side(..))), 0);
}

#[test]
fn a_statement_has_the_parts_of_its_own() {
    let compiled = compile_text("router.p4", ROUTER, &Options::default(), &DiskFiles);
    let program = compiled.program.expect("a program");
    let own = OwnParts::new(&program);
    let ingress = program.controls.iter().find(|control| control.name == "I").expect("ingress");
    // The condition counts without the table in its block.
    assert_eq!(own.of_statement(&ingress.body[0]), parts(&[("branch", 1)]));
    let table = program.tables.iter().position(|table| !table.keys.is_empty()).expect("a table");
    let table = TableId(u32::try_from(table).expect("a number"));
    assert_eq!(own.of_table(table), parts(&[("table lpm 32", 1)]));
    let start = program.parsers[0].start;
    assert_eq!(own.of_state(ParserId(0), start), parts(&[("select 16", 1)]));
}

#[test]
fn parts_that_a_model_lacks_are_listed_and_not_estimated() {
    let text =
        std::fs::read_to_string("../../examples/device/zodiac-fx.json").expect("the example");
    let mut model: Model = serde_json::from_str(&text).expect("a model");
    let consists = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    model.baseline[0].consists_of = consists(&["extract 112", "select 16", "branch", "emit 112"]);
    model.baseline[1].consists_of = consists(&["assign 9"]);
    for function in &mut model.settings[0].functions {
        function.function.consists_of = match function.function.name.as_str() {
            "masked-nw-dst" => consists(&["extract 160", "table lpm 32", "emit 160"]),
            "set-dl-src" => consists(&["assign 48"]),
            _ => Vec::new(),
        };
    }
    let predictions = model.predict_paths(&model.settings[0], &routes()).expect("predictions");
    let worst = &predictions[0];
    let names: Vec<&str> = worst.functions.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["masked-nw-dst", "set-dl-src"]);
    assert_eq!(worst.unmeasured, parts(&[("assign 8", 1), ("compute subtract 8", 1)]));
    assert_eq!(worst.beyond, parts(&[]));
    let maximum = worst
        .composition
        .levels
        .iter()
        .find(|predicted| predicted.level == Level::Maximum)
        .unwrap();
    assert_eq!(maximum.value.0, 55_058_000);
    assert!(
        worst.path.decisions.iter().any(|decision| decision.ends_with("I.route")),
        "{:?}",
        worst.path.decisions
    );
}

#[test]
fn every_shipped_program_has_paths() {
    for program in ["router", "l2", "tunnel", "load_balancer", "firewall", "heavy_hitter"] {
        let path = std::path::PathBuf::from(format!("../../programs/{program}.p4"));
        let compiled =
            p4lang::compile_file(&path, &Options::default(), &DiskFiles).expect("a file");
        let paths = paths(&compiled.program.expect("a program")).expect("paths");
        assert!(!paths.is_empty() && paths.iter().all(|path| path.ways > 0), "{program}");
    }
}

#[test]
fn a_part_that_was_measured_with_others_only_is_counted_with_them() {
    let text =
        std::fs::read_to_string("../../examples/device/zodiac-fx.json").expect("the example");
    let mut model: Model = serde_json::from_str(&text).expect("a model");
    for function in &mut model.settings[0].functions {
        let consists: &[&str] = match function.function.name.as_str() {
            "set-dl-src" => &["assign 48", "branch"],
            "set-nw-tos" => &["assign 48", "select 16", "push"],
            _ => &[],
        };
        function.function.consists_of = consists.iter().map(|part| (*part).to_owned()).collect();
    }
    let paths = [Path {
        decisions: Vec::new(),
        choices: Vec::new(),
        parts: parts(&[("assign 48", 2), ("branch", 1), ("pop", 1)]),
        ways: 1,
        uncounted: BTreeSet::new(),
    }];
    let predictions = model.predict_paths(&model.settings[0], &paths).expect("predictions");
    let names: Vec<&str> = predictions[0].functions.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["set-dl-src", "set-dl-src"]);
    assert_eq!(predictions[0].beyond, parts(&[("branch", 1)]));
    assert_eq!(predictions[0].unmeasured, parts(&[("pop", 1)]));
}

/// Returns a program of `count` tables with three actions each. If `validates`, the first action of
/// each table makes a header valid.
fn tables(count: usize, validates: bool) -> ir::Program {
    let headers: String = (0..count).map(|n| format!("header h{n}_t {{ bit<8> a; }} ")).collect();
    let fields: String = (0..count).map(|n| format!("h{n}_t h{n}; ")).collect();
    let table = |n: usize| {
        let sets = if validates { format!("h.h{n}.setValid();") } else { String::new() };
        format!(
            "action a{n}() {{ {sets} m.x = m.x + 1; }} action b{n}(bit<16> x) {{ m.x = x; m.y = x; m.y = m.y - 1; }}
             table t{n} {{ key = {{ m.x: exact; }} actions = {{ a{n}; b{n}; NoAction; }} }}
            "
        )
    };
    let declared: String = (0..count).map(table).collect();
    let applied: String = (0..count)
        .map(|n| {
            format!("if (m.x > {n}) {{ if (h.h{n}.isValid()) {{ m.y = 1; }} t{n}.apply(); }} ")
        })
        .collect();
    let text = format!(
        "#include <v1model.p4>
        {headers} struct H {{ {fields} }} struct M {{ bit<16> x; bit<16> y; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.h0); transition accept; }}
        }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{ {declared} apply {{ {applied} }} }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    compile_text("tables.p4", &text, &Options::default(), &DiskFiles).program.expect("it compiles")
}

/// Compares the overview with the list for programs that have both.
#[test]
fn an_overview_agrees_with_the_list() {
    let of_files = ["router", "l2", "tunnel", "firewall"].map(|name| {
        let path = std::path::PathBuf::from(format!("../../programs/{name}.p4"));
        let compiled =
            p4lang::compile_file(&path, &Options::default(), &DiskFiles).expect("a file");
        compiled.program.expect("a program")
    });
    let found = overview(&tables(2, false)).expect("an overview");
    assert_eq!(found.passes[0].ways, found.ways);
    for program in of_files.into_iter().chain([tables(2, false), tables(3, true)]) {
        let listed = paths(&program).expect("a list");
        let found = overview(&program).expect("an overview");
        assert!(found.follows_validity);
        assert_eq!(found.ways, listed.iter().map(|path| BigUint::from(path.ways)).sum());
        let length = |path: &Path| path.parts.values().sum::<u32>();
        assert_eq!(Some(length(&found.longest)), listed.iter().map(length).max());
        assert!(listed.iter().any(|path| path.parts == found.longest.parts));
        // All paths begin in the first state; those of PSA also pass a state of that name in the
        // egress parser.
        assert!(found.passes[0].ways >= found.ways);
        for path in listed.iter().filter(|path| path.ways == 1) {
            for decision in &path.decisions {
                let passes = found.passes.iter().find(|passes| passes.decision == *decision);
                assert!(passes.is_some_and(|passes| passes.ways > BigUint::ZERO), "{decision}");
            }
        }
    }
}

/// Checks that the work grows with the size of the program, not with its 10^18 and more paths.
#[test]
fn an_overview_takes_work_in_proportion_to_the_program() {
    for validates in [false, true] {
        let [few, many] = [30, 60].map(|count| {
            let program = tables(count, validates);
            assert!(matches!(paths(&program), Err(PathError::TooMany { .. })));
            overview(&program).expect("an overview")
        });
        // If actions set validity, there are 2^30 combinations of valid headers, so the overview
        // does not follow them.
        assert_eq!(few.follows_validity, !validates);
        assert!(few.ways > BigUint::from(10_u32).pow(18), "{}", few.ways);
        assert!(many.ways > &few.ways * &few.ways / 16_u32);
        assert!(few.steps < 2_000, "{} steps", few.steps);
        assert!(many.steps < 3 * few.steps, "{} and {} steps", few.steps, many.steps);
        let last =
            |found: &Overview| found.longest.decisions.iter().any(|one| one.contains("I.b29"));
        assert!(last(&few), "{:?}", few.longest.decisions);
    }
}

/// Returns a v1model program with headers `a` and `b` of the same type, which both hold 8 bits, and
/// the given declarations and ingress statements. The parser extracts `a` from every packet.
fn twins(declarations: &str, ingress: &str) -> ir::Program {
    let text = format!(
        "#include <v1model.p4>
        header t {{ bit<8> x; }}
        header other {{ bit<16> y; }} header_union either {{ t one; other two; }}
        struct inner {{ t of; }}
        struct H {{ t a; t b; t[3] s; inner i; inner j; either u; }} struct M {{ bit<8> x; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.a); transition accept; }}
        }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        {declarations}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    compile_text("twins.p4", &text, &Options::default(), &DiskFiles).program.expect("it compiles")
}

/// Returns, for each path of the program of [`twins`], the numbers of headers of 8 and of 16 bits
/// that are emitted.
fn emitted(declarations: &str, ingress: &str) -> Vec<(u32, u32)> {
    let paths = paths(&twins(declarations, ingress)).expect("paths");
    let count = |path: &Path, part: &str| path.parts.get(part).copied().unwrap_or(0);
    let mut found: Vec<_> =
        paths.iter().map(|path| (count(path, "emit 8"), count(path, "emit 16"))).collect();
    found.sort_unstable();
    found
}

#[test]
fn validity_belongs_to_a_header_and_not_to_its_type() {
    assert_eq!(emitted("", ""), [(1, 0)]);
    assert_eq!(emitted("", "h.b.setValid();"), [(2, 0)]);
    assert_eq!(emitted("", "h.b.setInvalid();"), [(1, 0)]);
    assert_eq!(emitted("", "h.a.setValid();"), [(1, 0)]);
    assert_eq!(emitted("", "h.b.setValid(); h.b.setInvalid();"), [(1, 0)]);
    let condition = |header: &str| {
        emitted("", &format!("if ({header}.isValid()) {{ h.s[0].setValid(); h.s[1].setValid(); }}"))
    };
    assert_eq!(condition("h.a"), [(3, 0)]);
    assert_eq!(condition("h.b"), [(1, 0)]);
    // `inner` has only one field of the type, but two values.
    let inner = "if (h.j.of.isValid()) { h.b.setValid(); }";
    assert_eq!(emitted("", &format!("h.i.of.setValid(); {inner}")), [(2, 0)]);
    assert_eq!(emitted("", &format!("h.j.of.setValid(); {inner}")), [(3, 0)]);
}

#[test]
fn validity_is_copied_with_headers() {
    assert_eq!(emitted("", "h.b = h.a;"), [(2, 0)]);
    assert_eq!(emitted("", "h.a = h.b;"), [(0, 0)]);
    assert_eq!(emitted("", "h.b = { 3 };"), [(2, 0)]);
    assert_eq!(emitted("", "t saved = h.a; h.a.setInvalid(); h.a = saved;"), [(1, 0)]);
    assert_eq!(emitted("", "H saved = h; h.a.setInvalid(); h = saved;"), [(1, 0)]);
    assert_eq!(emitted("", "t fresh; h.a = fresh;"), [(0, 0)]);
    let sub = "control S(inout t one, out t two, in t three) {
        apply { if (three.isValid()) { two.setValid(); } one.setInvalid(); }
    }";
    let apply = |of: &str| format!("S.apply({of});");
    assert_eq!(emitted(sub, &apply("h.a, h.b, h.a")), [(1, 0)]);
    assert_eq!(emitted(sub, &apply("h.a, h.b, h.s[0]")), [(0, 0)]);
    let function = "t same(in t one) { return one; }";
    // The walk does not follow the value that a function returns, so `b` may be valid.
    assert_eq!(emitted(function, "h.b = same(h.s[0]);"), [(2, 0)]);
}

#[test]
fn elements_of_a_stack_move_with_their_validity() {
    assert_eq!(emitted("", "h.s[1].setValid(); h.s.push_front(1);"), [(2, 0)]);
    assert_eq!(emitted("", "h.s[1].setValid(); h.s.push_front(2);"), [(1, 0)]);
    assert_eq!(emitted("", "h.s[1].setValid(); h.s.pop_front(1); h.s.pop_front(1);"), [(1, 0)]);
    let condition = "if (h.s[2].isValid()) { h.b.setValid(); }";
    assert_eq!(
        emitted("", &format!("h.s[1].setValid(); h.s.push_front(1); {condition}")),
        [(3, 0)]
    );
    // The packet chooses the element, so all three may be valid and each may be invalid.
    assert_eq!(emitted("", "h.s[m.x].setValid();"), [(4, 0)]);
}

#[test]
fn one_member_of_a_union_is_valid() {
    assert_eq!(emitted("", "h.u.one.setValid();"), [(2, 0)]);
    assert_eq!(emitted("", "h.u.one.setValid(); h.u.two.setValid();"), [(1, 1)]);
    assert_eq!(emitted("", "h.u.one.setValid(); h.u.two.setInvalid();"), [(2, 0)]);
    let condition = "if (h.u.isValid()) { h.b.setValid(); }";
    assert_eq!(emitted("", condition), [(1, 0)]);
    assert_eq!(emitted("", &format!("h.u.two.setValid(); {condition}")), [(2, 1)]);
}

/// Checks that the egress parser of PSA begins without valid headers, even if the ingress parser
/// has extracted some.
#[test]
fn a_second_parser_begins_with_invalid_headers() {
    let text = "#include <psa.p4>
        header t { bit<8> x; } struct H { t a; } struct M {} struct N {}
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i,
            in N r, in N c) { state start { p.extract(h.a); transition accept; } }
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i,
            inout psa_ingress_output_metadata_t o) { apply { } }
        control ID(packet_out p, out N c, out N r, out N n, inout H h, in M m,
            in psa_ingress_output_metadata_t i) { apply { p.emit(h.a); } }
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i,
            in N n, in N a, in N b) { state start { transition accept; } }
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i,
            inout psa_egress_output_metadata_t o) {
            apply { if (h.a.isValid()) { h.a.x = 1; } else { h.a.setValid(); } }
        }
        control ED(packet_out p, out N c, out N r, inout H h, in M m,
            in psa_egress_output_metadata_t i, in psa_egress_deparser_input_metadata_t d) {
            apply { p.emit(h.a); }
        }
        IngressPipeline(IP(), I(), ID()) ip;
        EgressPipeline(EP(), E(), ED()) ep;
        PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;";
    let compiled = compile_text("psa.p4", text, &Options::default(), &DiskFiles);
    let found = paths(&compiled.program.expect("it compiles")).expect("paths");
    let parts: Vec<&Parts> = found.iter().map(|path| &path.parts).collect();
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert_eq!(parts[0].get("set valid"), Some(&1));
    assert_eq!(parts[0].get("emit 8"), Some(&2));
}

/// Returns the paths of a program of v1model with these parser states after the extraction of `a`,
/// and these ingress statements.
fn looped(states: &str, ingress: &str) -> Vec<Path> {
    let text = format!(
        "#include <v1model.p4>
        header t {{ bit<8> x; }} header other {{ bit<16> y; }}
        struct H {{ t a; other b; other[12] s; }} struct M {{ bit<8> x; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.a); {states} }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h.a); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    let compiled = compile_text("looped.p4", &text, &Options::default(), &DiskFiles);
    paths(&compiled.program.expect("it compiles")).expect("paths")
}

/// Returns the largest number of headers of 16 bits that a path extracts, and all work that paths
/// do not count.
fn extracted(paths: &[Path]) -> (u32, BTreeSet<&str>) {
    let most = paths.iter().filter_map(|path| path.parts.get("extract 16")).max();
    let uncounted = paths.iter().flat_map(|path| &path.uncounted).map(String::as_str);
    (most.copied().unwrap_or(0), uncounted.collect())
}

#[test]
fn a_loop_that_fills_a_stack_is_counted_to_its_end() {
    let next = "transition select(h.a.x) { 0: accept; default: more; } }";
    let direct = format!("{next} state more {{ p.extract(h.s.next); {next}");
    // The thirteenth extraction finds the stack full.
    assert_eq!(extracted(&looped(&direct, "")), (13, BTreeSet::new()));
    // A state that each turn passes as well needs no limit of its own.
    let two = format!(
        "{next} state more {{ p.extract(h.s.next); transition between; }} state between {{ m.x = 1; {next}"
    );
    assert_eq!(extracted(&looped(&two, "")), (13, BTreeSet::new()));
}

#[test]
fn a_loop_that_nothing_bounds_is_named() {
    let next = "transition select(h.a.x) { 0: accept; default: more; } }";
    let of = |body: &str| looped(&format!("{next} state more {{ {body} {next}"), "");
    let more = BTreeSet::from(["turns after the first 8 through parser state more"]);
    assert_eq!(extracted(&of("p.extract(h.b);")), (8, more));
    // A path that leaves the loop before counts all of its work.
    assert!(of("p.extract(h.b);").iter().any(|path| path.uncounted.is_empty()));
}

#[test]
fn turns_of_loops_and_further_passes_are_named() {
    let accept = "transition accept; }";
    let uncounted = |ingress: &str| {
        let paths = looped(accept, ingress);
        paths.into_iter().flat_map(|path| path.uncounted).collect::<Vec<String>>()
    };
    assert_eq!(uncounted("m.x = 1;"), [""; 0]);
    let turns = uncounted("for (bit<8> i = 0; i < h.a.x; i = i + 1) { m.x = m.x + 1; }");
    assert!(matches!(&turns[..], [one] if one.starts_with("turns after the first of the loop")));
    let passes = uncounted("if (m.x == 1) { resubmit_preserving_field_list(0); }");
    assert_eq!(passes, ["further passes (resubmit_preserving_field_list)"]);
    assert_eq!(uncounted("clone(CloneType.I2E, 3);"), ["further passes (clone)"]);
}

/// Checks that a prediction without all turns is no upper bound.
#[test]
fn uncounted_work_has_no_measurement() {
    let text =
        std::fs::read_to_string("../../examples/device/zodiac-fx.json").expect("the example");
    let model: Model = serde_json::from_str(&text).expect("a model");
    let path = |uncounted: &[&str]| Path {
        decisions: Vec::new(),
        choices: Vec::new(),
        parts: Parts::new(),
        ways: 1,
        uncounted: uncounted.iter().map(|work| (*work).to_owned()).collect(),
    };
    let unmeasured = |path| {
        let predicted = model.predict_paths(&model.settings[0], &[path]).expect("a prediction");
        predicted[0].unmeasured.clone()
    };
    assert_eq!(unmeasured(path(&[])), Parts::new());
    assert_eq!(unmeasured(path(&["further turns"])), parts(&[("further turns", 1)]));
}

#[test]
fn metadata_of_psa_request_further_passes() {
    let program = |ingress: &str| {
        let text = format!(
            "#include <psa.p4>
            header t {{ bit<8> x; }} struct H {{ t a; }} struct M {{}} struct N {{}}
            parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i,
                in N r, in N c) {{ state start {{ p.extract(h.a); transition accept; }} }}
            control I(inout H h, inout M m, in psa_ingress_input_metadata_t i,
                inout psa_ingress_output_metadata_t o) {{ apply {{ {ingress} }} }}
            control ID(packet_out p, out N c, out N r, out N n, inout H h, in M m,
                in psa_ingress_output_metadata_t i) {{ apply {{ p.emit(h.a); }} }}
            parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i,
                in N n, in N a, in N b) {{ state start {{ transition accept; }} }}
            control E(inout H h, inout M m, in psa_egress_input_metadata_t i,
                inout psa_egress_output_metadata_t o) {{ apply {{ }} }}
            control ED(packet_out p, out N c, out N r, inout H h, in M m,
                in psa_egress_output_metadata_t i, in psa_egress_deparser_input_metadata_t d) {{
                apply {{ p.emit(h.a); }}
            }}
            IngressPipeline(IP(), I(), ID()) ip;
            EgressPipeline(EP(), E(), ED()) ep;
            PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;"
        );
        let compiled = compile_text("psa.p4", &text, &Options::default(), &DiskFiles);
        let paths = paths(&compiled.program.expect("it compiles")).expect("paths");
        paths.into_iter().flat_map(|path| path.uncounted).collect::<Vec<String>>()
    };
    assert_eq!(program("o.resubmit = false; o.drop = false;"), [""; 0]);
    assert_eq!(program("o.resubmit = true;"), ["further passes (resubmit)"]);
    assert_eq!(program("o.clone = h.a.x == 1;"), ["further passes (clone)"]);
    let port = ["further passes (PSA_PORT_RECIRCULATE)"];
    assert_eq!(program("send_to_port(o, PSA_PORT_RECIRCULATE);"), port);
    assert_eq!(program("o.egress_port = PSA_PORT_RECIRCULATE;"), port);
}
