//! Tests of what the P4_16 specification forbids since version 1.2.4: types in other types, and
//! values that are known only when a constructor is called. What the changes allow is tested in
//! `pipeline` (`tests/language/versions.rs`).

use super::super::{accepts, control, diagnostics_of, parser, program, refuses};
use crate::diagnostic::Severity;

/// The types of the table in section "Type nesting rules" of version 1.2.5, each with the
/// containers that may hold it: `h`eaders, header `u`nions, `s`tructs, `t`uples, `l`ists, and
/// `a`rrays.
const NESTED: [(&str, &str); 17] = [
    ("bit<8>", "hstla"),
    ("int<8>", "hstla"),
    ("varbit<8>", "hstla"),
    ("int", "l"),
    ("void", ""),
    ("string", "l"),
    ("error", "stl"),
    ("match_kind", "l"),
    ("bool", "hstla"),
    ("E8", "hstla"),
    ("Suits", "stla"),
    ("H", "ustla"),
    ("bit<8>[3]", "hsta"),
    ("H[3]", "stl"),
    ("U", "stla"),
    ("S", "hstla"),
    ("tuple<bit<8>, bool>", "stl"),
];

/// The cells in which this compiler allows more than the table. Constructors take tuples and
/// structs of match kinds, numbers without a width and strings, in p4c too; the others are
/// forbidden in the specification only because it knows no use of them.
const ALSO: [(&str, &str); 6] = [
    ("int", "t"),
    ("string", "t"),
    ("error", "a"),
    ("match_kind", "sta"),
    ("bit<8>[3]", "l"),
    ("tuple<bit<8>, bool>", "a"),
];

#[test]
fn types_nest_as_the_table_says() {
    let containers = |of: &str| {
        [
            ('h', format!("header X {{ {of} f; }}")),
            ('u', format!("header_union X {{ {of} f; }}")),
            ('s', format!("struct X {{ {of} f; }}")),
            ('t', format!("typedef tuple<{of}, bit<8>> X;")),
            ('l', format!("typedef list<{of}> X;")),
            ('a', format!("struct X {{ {of}[2] f; }}")),
        ]
    };
    let mut differences = Vec::new();
    for (of, allowed) in NESTED {
        let also = ALSO.iter().filter(|(also, _)| *also == of).map(|(_, more)| *more);
        let allowed: String = std::iter::once(allowed).chain(also).collect();
        for (container, declaration) in containers(of) {
            let (errors, _) = diagnostics_of(&program(&declaration), Severity::Error);
            if errors.is_empty() != allowed.contains(container) {
                differences.push(format!("{declaration} {errors:?}"));
            }
        }
    }
    for of in ["packet_in", "Parsing", "Controlling", "Packing"] {
        for (container, declaration) in containers(of) {
            let types = "parser Parsing(); control Controlling(); package Packing();";
            let text = program(&format!("{types} {declaration}"));
            if diagnostics_of(&text, Severity::Error).0.is_empty() {
                differences.push(format!("{container}: {declaration} is accepted"));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// The second table of that section: the types for which `typedef` and `type` make names.
#[test]
fn types_have_names_as_the_table_says() {
    let mut differences = Vec::new();
    for (of, typedef, new) in [
        ("bit<8>", true, true),
        ("int<8>", true, true),
        ("varbit<8>", true, false),
        ("int", true, false),
        ("void", false, false),
        ("string", false, false),
        ("error", true, false),
        // As in p4c, which has structs of match kinds.
        ("match_kind", true, false),
        ("bool", true, true),
        ("Suits", true, false),
        ("H", true, false),
        ("bit<8>[3]", true, false),
        ("H[3]", true, false),
        ("U", true, false),
        ("S", true, false),
        ("tuple<bit<8>>", true, false),
        ("list<bit<8>>", true, false),
        ("packet_in", true, false),
        ("Parsing", true, false),
        ("Controlling", true, false),
        ("Packing", true, false),
        ("Alias", true, true),
        ("AliasOfH", true, false),
        ("Port", true, true),
    ] {
        let types = "parser Parsing(); control Controlling(); package Packing(); typedef bit<4> Alias; typedef H AliasOfH;";
        for (word, allowed) in [("typedef", typedef), ("type", new)] {
            let text = program(&format!("{types} {word} {of} Named;"));
            let (errors, _) = diagnostics_of(&text, Severity::Error);
            if errors.is_empty() != allowed {
                differences.push(format!("{word} {of}: {errors:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Version 1.2.5: a constructor parameter is known when the program is compiled, but not locally,
/// so no type, slice or index of a tuple depends on it.
#[test]
fn constructor_parameters_are_not_local() {
    let of = |locals: &str, apply: &str| {
        control("", "").replace("control C(", "control Other(")
            + &format!(
                "control C(inout bit<8> x)(bit<8> n, bool q) {{ {locals} apply {{ {apply} }} }}"
            )
    };
    for (locals, apply) in [
        ("bit<(n)> wide;", ""),
        ("H[(n)] stack;", ""),
        ("", "x = (x ++ x)[n:1][7:0];"),
        ("", "tuple<bit<8>, bit<8>> t = { 1, 2 }; x = t[n];"),
    ] {
        refuses(&of(locals, apply), "not-constant");
    }
    for (locals, apply) in [
        // The specification wants a local value here too, but p4c does not.
        ("const bit<8> m = n;", "x = m;"),
        ("table t { actions = { NoAction; } size = n; }", "t.apply();"),
        (
            "action a(bit<8> v) { x = v; } table t { actions = { a; } default_action = a(n); }",
            "t.apply();",
        ),
        ("counter((bit<32>) n, CounterType.packets) c;", "c.count(0);"),
        ("", "if (q) { x = x << n; }"),
    ] {
        accepts(&of(locals, apply));
    }
}

/// Version 1.2.4 and the working draft, one case each beside a similar valid program.
#[test]
fn other_changes_that_forbid_something() {
    // Fields, errors and match kinds have different names.
    for twice in [
        "struct X { bit<8> a; bool a; }",
        "header X { bit<8> a; bit<8> a; }",
        "header_union X { H a; V a; }",
        "enum X { a, a }",
        "error { Twice, Twice }",
        "match_kind { twice, twice }",
    ] {
        refuses(&program(twice), "duplicate");
    }
    // Parsers and controls are not overloaded, functions are.
    refuses(&program("control X() { apply {} } control X(in bit<8> a) { apply {} }"), "duplicate");
    refuses(&program("parser X(); parser X(in bit<8> a);"), "duplicate");
    accepts(&program("bit<8> f() { return 1; } bit<8> f(in bit<8> a) { return a; }"));
    // A union has no fixed size, whatever `minSizeInBits` says of it.
    for (of, is_fixed) in
        [("H", true), ("H[2]", true), ("U", false), ("Inside", false), ("V", false)]
    {
        let state =
            format!("state start {{ {of} ahead = p.lookahead<{of}>(); transition accept; }}");
        let text = parser("", &state).replace("parser P", "struct Inside { U u; } parser P");
        match is_fixed {
            true => accepts(&text),
            false => refuses(&text, "type-not-allowed"),
        }
    }
    // A control with constructor parameters is not applied directly.
    let direct = |parameters: &str| {
        program(&format!(
            "control Inner(inout bit<8> x){parameters} {{ apply {{ x = 1; }} }}
            control C(inout bit<8> x) {{ apply {{ Inner.apply(x); }} }}"
        ))
    };
    accepts(&direct(""));
    refuses(&direct("(bit<8> n)"), "arguments");
    // States and locals share one namespace.
    refuses(&parser("bit<8> next;", "state start { transition next; } state next {}"), "duplicate");
    // `switch` over `action_run` is only in an `apply` block.
    let table = "table t { actions = { NoAction; } }";
    let switch = "switch (t.apply().action_run) { NoAction: {} }";
    accepts(&control(table, switch));
    refuses(&control(&format!("{table} action a() {{ {switch} }}"), ""), "misplaced");
    // Compound assignment has no operators that compare or concatenate.
    for operator in ["++=", "&&=", "||=", "<==", "&&&="] {
        let (errors, _) =
            diagnostics_of(&control("", &format!("m.m {operator} 1;")), Severity::Error);
        assert!(!errors.is_empty(), "{operator}");
    }
    // Strings are only concatenated, and only with strings.
    accepts(&program("const string X = \"a\" ++ \"b\";"));
    refuses(&program("const string X = \"a\" + \"b\";"), "bad-operand");
    refuses(&program("const string X = \"a\" ++ 8w1;"), "bad-operand");
    refuses(&program("const bool X = static_assert(1 > 2, \"no \" ++ \"way\");"), "static-assert");
    // `break` and `continue` are only in loops, and declarations of a loop end with it.
    refuses(&control("", "break;"), "misplaced");
    refuses(&control("", "if (m.flag) { continue; }"), "misplaced");
    refuses(&control("", "for (bit<8> i in 0 .. 3) {} m.m = i;"), "undeclared-name");
}
