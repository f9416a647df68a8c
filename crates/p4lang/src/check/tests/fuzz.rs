//! Tests that the checker neither panics nor takes exponential time on random and pathological
//! programs.

use fastrand::Rng;

use super::diagnostics_of;
use crate::diagnostic::Severity;

const PROGRAMS: [&str; 4] = [
    include_str!("programs/everything.p4"),
    include_str!("programs/nested.p4"),
    include_str!("programs/psa.p4"),
    super::PRELUDE,
];

const EXTRA: [&str; 24] = [
    "...",
    "{#}",
    "_",
    "this",
    "default",
    "0",
    "-1",
    "8w255",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "[",
    "]",
    "@name(\"x\")",
    "error",
    "tuple<bit<8>>",
    "list<bit<8>>",
    ".apply()",
    "++",
    "&&&",
    "..",
];

/// Splits a program into words, numbers, lines of the preprocessor and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if first == '#' {
            rest.find('\n').map_or(rest.len(), |end| end + 1)
        } else if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after;
    }
    found
}

#[test]
fn mutated_programs_do_not_panic() {
    let seed = 0x5eed_0001_u64;
    println!("seed {seed:#x}");
    let mut random = Rng::with_seed(seed);
    for _ in 0..150 {
        let program = PROGRAMS[random.usize(..PROGRAMS.len())];
        let mut list: Vec<&str> = tokens(program);
        for _ in 0..=random.usize(..6) {
            let at = random.usize(..list.len());
            match random.usize(..4) {
                0 => {
                    list.remove(at);
                }
                1 => list[at] = EXTRA[random.usize(..EXTRA.len())],
                2 => {
                    let other = random.usize(..list.len());
                    list.swap(at, other);
                }
                _ => list[at] = list[random.usize(..list.len())],
            }
        }
        let _ = diagnostics_of(&list.concat(), Severity::Error);
    }
}

#[test]
fn token_soup_does_not_panic() {
    let seed = 0x5eed_0002_u64;
    println!("seed {seed:#x}");
    let mut random = Rng::with_seed(seed);
    let words: Vec<&str> = PROGRAMS.iter().flat_map(|program| tokens(program)).collect();
    for _ in 0..100 {
        let soup: Vec<&str> =
            (0..random.usize(..300)).map(|_| words[random.usize(..words.len())]).collect();
        let _ =
            diagnostics_of(&format!("#include <v1model.p4>\n{}", soup.join(" ")), Severity::Error);
    }
}

#[test]
fn deep_and_doubling_programs_terminate() {
    let nested = format!("const int c = {}1{};", "(1 + ".repeat(400), ")".repeat(400));
    let _ = diagnostics_of(&nested, Severity::Error);
    let chain: String = (1..2000).map(|i| format!("const int c{i} = c{} + 1;\n", i - 1)).collect();
    super::accepts(&format!("const int c0 = 0;\n{chain}"));
    // Each struct contains the previous one twice. Sizes double, so the types must not be expanded.
    let doubling = |levels: u32| -> String {
        (1..levels).map(|i| format!("struct S{i} {{ S{p} a; S{p} b; }}\n", p = i - 1)).collect()
    };
    super::accepts(&format!("struct S0 {{ bit<8> a; }}\n{}", doubling(17)));
    let doubling = doubling(60);
    super::refuses(&format!("struct S0 {{ bit<8> a; }}\n{doubling}"), "limit");
    let _ = diagnostics_of(
        &format!("struct S0 {{ bit<8> a; }}\n{doubling}const S59 s = ...;\n"),
        Severity::Error,
    );
    // The same growth occurs with tuples, and with types that calls infer.
    let tuples: String =
        (1..60).map(|i| format!("typedef tuple<T{p}, T{p}> T{i};\n", p = i - 1)).collect();
    super::refuses(&format!("typedef bit<8> T0;\n{tuples}"), "type-not-allowed");
    let calls = format!("{}v{}", "pair(".repeat(60), ")".repeat(60));
    super::refuses(
        &format!(
            "extern tuple<T, T> pair<T>(in T x); extern void use<T>(in T x);\n\
             control C(in bit<8> v) {{ apply {{ use({calls}); }} }}"
        ),
        "type-not-allowed",
    );
    let squares: String =
        (1..40).map(|i| format!("const int d{i} = d{p} * d{p};\n", p = i - 1)).collect();
    let _ = diagnostics_of(&format!("const int d0 = 10;\n{squares}"), Severity::Error);
}
