//! The fuzz target's body, run without a fuzzer: on programs, on seeded mutations of them, and on tokens strung
//! together at random.
//!
//! A fuzzer goes deeper (`cargo fuzz run p4lang`); this one runs wherever the tests do, and always on the same texts.

#[path = "support/exercise.rs"]
mod exercise;

use exercise::{Outcome, exercise};

const EVERYTHING: &str = include_str!("support/everything.p4");

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[test]
fn programs_are_accepted() {
    assert_eq!(exercise(EVERYTHING.as_bytes()), Outcome::Accepted);
    for name in p4lang::arch::names() {
        assert_eq!(
            exercise(format!("#include <{name}>\n").as_bytes()),
            Outcome::Accepted,
            "{name}"
        );
    }
}

#[test]
fn mutated_programs_do_no_harm() {
    println!("seed {SEED:#x}");
    let mut random = Random(SEED);
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let mut accepted = 0;
    for _ in 0..600 {
        // Some lines of the program, with a few bytes or tokens changed.
        let from = random.below(lines.len());
        let to = from + random.below(lines.len() - from) + 1;
        let mut text = lines[from..to].join("\n").into_bytes();
        for _ in 0..random.below(4) {
            mutate(&mut text, &mut random);
        }
        accepted += usize::from(exercise(&text) == Outcome::Accepted);
    }
    // If nothing were accepted, only the error paths would have been tested.
    assert!(accepted > 10, "{accepted} accepted");
}

#[test]
fn random_tokens_do_no_harm() {
    println!("seed {SEED:#x}");
    let mut random = Random(SEED);
    for _ in 0..600 {
        let mut text = String::from(random.pick(&[
            "",
            "control c() { apply { x = ",
            "parser p() { state s { ",
            "#define f(x) ",
        ]));
        for _ in 0..random.below(60) {
            text.push_str(random.pick(TOKENS));
            text.push_str(random.pick(&["", " ", " ", "\n"]));
        }
        exercise(text.as_bytes());
    }
}

const TOKENS: &[&str] = &[
    "abstract",
    "action",
    "actions",
    "apply",
    "bit",
    "bit<8>",
    "bool",
    "break",
    "const",
    "continue",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "list",
    "match_kind",
    "out",
    "package",
    "parser",
    "priority",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "type",
    "typedef",
    "value_set",
    "varbit",
    "void",
    "_",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ":",
    ",",
    ";",
    "?",
    "@",
    "#",
    "##",
    ".",
    "..",
    "...",
    "=",
    "==",
    "!=",
    "<=",
    "<<",
    "<<=",
    "!",
    "~",
    "+",
    "+=",
    "++",
    "-",
    "*",
    "/",
    "%",
    "&",
    "&&",
    "&&&",
    "|",
    "||",
    "|+|",
    "|-|=",
    "^",
    "a",
    "b",
    "T",
    "f",
    "x",
    "1",
    "8w3",
    "0xFF",
    "9s0b1",
    "\"s\"",
    "\"",
    "/*",
    "*/",
    "//",
    "\\\n",
    "\n#define ",
    "\n#if ",
    "\n#else\n",
    "\n#endif\n",
    "\n#include \"other.p4\"\n",
    "\n#undef ",
    "\n#include \"itself.p4\"\n",
    "\n#line 7 \"y\"\n",
    "defined",
    "__VA_ARGS__",
    "__LINE__",
    "typedef bit<8> T;",
    "@name(\"n\")",
    "@pragma ",
    "\u{b5}",
    "\0",
    "'",
];

fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(text.len() + 1);
    let end = (at + random.below(8)).min(text.len());
    match random.below(5) {
        0 => drop(text.drain(at..end)),
        1 => {
            let copy = text[at..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, copy);
        }
        2 if at < text.len() => text[at] = random.below(256) as u8,
        _ => drop(text.splice(at..at, random.pick(TOKENS).bytes())),
    }
}

/// Numbers that look random and are the same every time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'list>(&mut self, list: &[&'list str]) -> &'list str {
        list[self.below(list.len())]
    }
}
