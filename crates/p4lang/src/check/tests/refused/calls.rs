//! Tests of rules about calls, parameters, constructors and externs.

use super::super::{accepts, control, parser, program, refuses, statements};

#[test]
fn arguments_that_are_copied_out_are_not_converted() {
    let function = "void f(inout bit<8> x) { x = 1; } ";
    refuses(
        &program(&format!("{function} control X(inout bit<16> w) {{ apply {{ f(w); }} }}")),
        "type-mismatch",
    );
    refuses(
        &program(&format!("{function} control X(inout E8 e) {{ apply {{ f(e); }} }}")),
        "type-mismatch",
    );
}

#[test]
fn arguments_are_matched_with_parameters() {
    let with = |call: &str| {
        program(&format!(
            "bit<8> f(in bit<8> x, in bit<8> y) {{ return x + y; }} control X(inout bit<8> v) {{ apply {{ {call} }} }}"
        ))
    };
    refuses(&with("v = f(v);"), "arguments");
    refuses(&with("v = f(v, v, v);"), "arguments");
    refuses(&with("v = f(x = v, z = v);"), "arguments");
    refuses(&with("v = f(x = v, x = v);"), "arguments");
    refuses(&with("v = f(x = v, v);"), "arguments");
    refuses(&with("v = f(v, _);"), "arguments");
    refuses(&with("v = f(v, true);"), "type-mismatch");
    refuses(&with("f = 1;"), "not-a-place");
    refuses(&with("v();"), "not-callable");
    refuses(&with("v.f();"), "no-such-field");
    refuses(
        &program("extern void e(bit<8> x); control X(in bit<8> v) { apply { e(v); } }"),
        "not-constant",
    );
    refuses(
        &program(
            "extern void e(in bit<8> x); extern void e(in bit<8> y); control X() { apply { e(1); } }",
        ),
        "ambiguous",
    );
    refuses(
        &program(
            "extern void e(in bit<8> x); extern void e(in bit<8> y, in bit<8> z); control X() { apply { e(); } }",
        ),
        "arguments",
    );
    let by_type = |call: &str| {
        program(&format!(
            "extern void e(in bit<8> x); extern void e(in bit<16> x); control X(in bit<8> v, in bool q) {{ apply {{ {call} }} }}"
        ))
    };
    accepts(&by_type("e(v); e(v ++ v); e(x = v);"));
    refuses(&by_type("e(1);"), "ambiguous");
    refuses(&by_type("e(q);"), "arguments");
    refuses(&statements("random(v, 0, w);"), "type-mismatch");
    refuses(&statements("hash(v, HashAlgorithm.crc16, 0, { w });"), "arguments");
}

/// Returns a v1model program whose ingress control uses the declarations.
fn used_by_switch(declarations: &str, ingress: &str) -> String {
    super::architecture::switch(ingress, "")
        .replace("parser Pa", &format!("{declarations}\nparser Pa"))
}

#[test]
fn ignored_arguments_do_not_contribute_to_inference() {
    let with = |call: &str| {
        program(&format!("extern void f<T>(out T x); control X() {{ apply {{ {call} }} }}"))
    };
    accepts(&with("f<bit<8>>(_);"));
    refuses(&with("f(_);"), "type-arguments");
}

#[test]
fn externs_do_not_write_nested_structs() {
    let with = |field: &str, parameter: &str| {
        let declarations =
            format!("struct N {{ bit<8> a; {field} }} extern void f({parameter} N n); ");
        used_by_switch(&declarations, "apply { N n; n.a = 1; f(n); m.m = n.a; }")
    };
    refuses(&with("H h;", "out"), "type-not-allowed");
    refuses(&with("tuple<bit<8>> t;", "inout"), "type-not-allowed");
    accepts(&with("H h;", "in"));
    accepts(&with("E8 e;", "out"));
}

#[test]
fn parameters_without_direction_are_equal_in_all_calls_of_an_instance() {
    let with = |apply: &str| {
        used_by_switch(
            "control Q(inout bit<8> x, bit<8> y) { apply { x = y; } }",
            &format!("Q() q; Q() r; apply {{ {apply} }}"),
        )
    };
    refuses(&with("q.apply(m.m, 1); q.apply(m.m, 2);"), "arguments");
    accepts(&with("q.apply(m.m, 1); r.apply(m.m, 2); q.apply(hdr.h.a, 8w1);"));
    accepts(&with("Q.apply(m.m, 1); Q.apply(m.m, 2);"));
}

#[test]
fn parameters_have_types_and_directions_that_fit() {
    refuses(&program("extern void f(in packet_in p);"), "type-not-allowed");
    refuses(&program("extern void f(in string s);"), "type-not-allowed");
    refuses(&program("extern void f(in int i);"), "type-not-allowed");
    refuses(&control("action a(packet_in p) {}", ""), "type-not-allowed");
    refuses(&control("action a(int i) {}", ""), "type-not-allowed");
    refuses(&control("action a(bit<8> x, in bit<8> y) {}", ""), "parameter-order");
    refuses(&program("control X()(in bit<8> k) { apply {} }"), "direction");
    refuses(&program("package Q(in bit<8> k);"), "direction");
    refuses(&program("control X(V1Switch<H, H> p);"), "type-not-allowed");
    refuses(&program("extern void f(out bit<8> x = 1);"), "direction");
}

#[test]
fn recursion_is_refused() {
    refuses(&program("bit<8> f(in bit<8> x) { return f(x); }"), "recursion");
    refuses(&control("action a() { a(); }", ""), "recursion");
    refuses(&program("control X() { X() x; apply { x.apply(); } }"), "recursion");
    refuses(&program("control X() { apply { X.apply(); } }"), "recursion");
    refuses(
        &program("parser X() { X() x; state start { x.apply(); transition accept; } }"),
        "recursion",
    );
}

#[test]
fn code_is_called_where_it_may_run() {
    let table = "table t { actions = { NoAction; } } ";
    refuses(&control(&format!("{table} action a() {{ t.apply(); }}"), ""), "misplaced");
    refuses(
        &program(
            "control X() { apply {} } parser Y() { X() x; state start { transition accept; } }",
        ),
        "misplaced",
    );
    refuses(
        &program(
            "parser Y() { state start { transition accept; } } control X() { Y() y; apply { } }",
        ),
        "misplaced",
    );
    refuses(&program("action a() {} void f() { a(); }"), "misplaced");
    refuses(
        &program("action a() {} parser X() { state start { a(); transition accept; } }"),
        "misplaced",
    );
    refuses(&program("control X() { apply {} } X() x;"), "misplaced");
    refuses(
        &program(
            "control X() { apply {} } control Y() { X() x; action a() { x.apply(); } apply { } }",
        ),
        "misplaced",
    );
    refuses(&statements("hdr.hs.next.a = 1;"), "misplaced");
    refuses(&statements("v = hdr.hs.last.a;"), "misplaced");
    refuses(&statements("l = hdr.hs.lastIndex;"), "misplaced");
    refuses(&parser("", "state start { hdr.hs.push_front(1); transition accept; }"), "misplaced");
}

#[test]
fn constructor_arguments_fit_their_parameters() {
    refuses(&control("counter(10) c;", ""), "arguments");
    refuses(&control("counter(10, 11) c;", ""), "type-mismatch");
    refuses(&control("S(1) s;", ""), "not-callable");
    refuses(&control("packet_in() s;", ""), "not-callable");
    refuses(&control("Ingress<H, H>() s;", ""), "not-callable");
    refuses(
        &program("control X()(bit<8> k) { apply {} } control Y() { X() x; apply { x.apply(); } }"),
        "arguments",
    );
}

#[test]
fn implementations_leave_out_optional_parameters() {
    let instance = |parameters: &str| {
        program(&format!(
            "extern Virtual<T> {{ Virtual();
                abstract void f(in bit<8> x, @optional inout T v, in bool y, @optional out bit<4> r); }}
             control X() {{ Virtual<bit<16>>() v = {{ void f({parameters}) {{}} }}; apply {{}} }}"
        ))
    };
    accepts(&instance("in bit<8> x, inout bit<16> v, in bool y, out bit<4> r"));
    accepts(&instance("in bit<8> a, in bool b"));
    accepts(&instance("in bit<8> x, in bool y, out bit<4> r"));
    accepts(&instance("in bit<8> x, inout bit<16> v, in bool y"));
    refuses(&instance("in bit<8> x"), "abstract-method");
    refuses(&instance("in bool y, in bit<8> x"), "abstract-method");
    refuses(&instance("in bit<8> x, inout bit<8> v, in bool y"), "abstract-method");
    refuses(&instance("in bit<8> x, in bool y, in bool z"), "abstract-method");
}

#[test]
fn abstract_methods_are_implemented() {
    let instance = |block: &str| {
        program(&format!(
            "extern Virtual {{ Virtual(); abstract bit<8> f(in bit<8> x); void run(); }}\n\
             control X() {{ Virtual() v{block}; apply {{ v.run(); }} }}"
        ))
    };
    refuses(&instance(""), "abstract-method");
    refuses(&instance(" = { void g() {} }"), "abstract-method");
    refuses(&instance(" = { bit<16> f(in bit<8> x) { return 1; } }"), "abstract-method");
    refuses(&instance(" = { bit<8> f(in bit<16> x) { return 1; } }"), "abstract-method");
    accepts(&instance(" = { bit<8> f(in bit<8> x) { return x + 1; } }"));
    refuses(&control("counter(1, CounterType.packets) c = { void f() {} };", ""), "misplaced");
    refuses(
        &program(
            "extern Virtual { Virtual(); abstract bit<8> f(in bit<8> x); }\n\
             control Y()(Virtual v) { apply {} } control X() { Y(Virtual()) y; apply { y.apply(); } }",
        ),
        "abstract-method",
    );
}

#[test]
fn an_extern_is_no_argument_of_itself() {
    accepts(&statements("G<G<bit<8>>> x = { { 1, 2 }, 3 }; v = x.f.g;"));
    refuses(
        &program("extern E<T> { E(); } control X() { E<E<bit<8>>>() e; apply {} }"),
        "recursion",
    );
}

#[test]
fn methods_return_what_exists_at_run_time() {
    refuses(&program("extern X { X(); void X(in bit<8> a); }"), "return");
    refuses(&program("extern X { X(); int f(); }"), "type-not-allowed");
    refuses(&program("extern X { X(); string f(); }"), "type-not-allowed");
}

#[test]
fn builtin_methods_have_no_type_arguments() {
    refuses(&statements("q = hdr.h.isValid<bit<8>>();"), "type-arguments");
    refuses(&statements("v <<= -1;"), "bad-operand");
    refuses(&statements("v >>= 0 - 2;"), "bad-operand");
}

#[test]
fn implementations_do_not_call_themselves() {
    let instance = |f: &str, g: &str| {
        program(&format!(
            "extern X {{ X(); abstract bit<8> f(in bit<8> x); abstract bit<8> g(in bit<8> x); }}\n\
             X() x = {{ bit<8> f(in bit<8> x) {{ return {f}; }} bit<8> g(in bit<8> x) {{ return {g}; }} }};"
        ))
    };
    accepts(&instance("this.g(x)", "x + 1"));
    refuses(&instance("this.f(x)", "x"), "recursion");
    refuses(&instance("this.g(x)", "this.f(x)"), "recursion");
}

#[test]
fn controls_are_no_arguments_of_functions() {
    refuses(
        &program("void f() {} extern void g<T>(in T x); control X() { apply { g(f()); } }"),
        "type-mismatch",
    );
    refuses(
        &program(
            "control K() { apply {} } extern void f<T>(in T x); control X() { K() k; apply { f(k); } }",
        ),
        "type-mismatch",
    );
}

#[test]
fn match_annotations_and_constructor_arguments_are_checked() {
    let annotated = |argument: &str| program(&format!("struct X {{ @match{argument} bit<8> f; }}"));
    accepts(&annotated("(ternary)"));
    refuses(&annotated("(5)"), "annotation");
    refuses(&annotated("(exact, lpm)"), "annotation");
    refuses(&annotated(""), "annotation");
    refuses(&control("counter(_, CounterType.packets) c;", ""), "arguments");
}

#[test]
fn only_externs_and_packages_have_optional_parameters() {
    accepts(&program(
        "extern void f(@optional in bit<8> x); extern X { X(@optional bit<8> a); void g(@optional in bit<8> x); } \
         package P(@optional bit<8> x);",
    ));
    for text in [
        "void f(@optional in bit<8> x) {}",
        "action a(@optional bit<8> x) {}",
        "control X(@optional in bit<8> x) { apply {} }",
        "control X()(@optional bit<8> x) { apply {} }",
        "parser X(@optional in bit<8> x) { state start { transition accept; } }",
    ] {
        refuses(&program(text), "annotation");
    }
}
