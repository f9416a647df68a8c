//! Tests that run the body of the fuzz target without a fuzzer, on programs, on random mutations of
//! programs, and on random sequences of tokens.
//!
//! A fuzzer (`cargo fuzz run p4lang`) explores more inputs. These tests run together with all
//! others, and use fixed seeds, so that the inputs are always the same.

#[path = "support/exercise.rs"]
mod exercise;

use exercise::{Outcome, exercise};
use fastrand::Rng;

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
    let mut random = Rng::with_seed(SEED);
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let mut accepted = 0;
    for _ in 0..600 {
        // Take some lines of the program, and change a few bytes or tokens in them.
        let from = random.usize(..lines.len());
        let to = from + random.usize(..lines.len() - from) + 1;
        let mut text = lines[from..to].join("\n").into_bytes();
        for _ in 0..random.usize(..4) {
            mutate(&mut text, &mut random);
        }
        accepted += usize::from(exercise(&text) == Outcome::Accepted);
    }
    // If no text were accepted, only error paths would be tested.
    assert!(accepted > 10, "{accepted} accepted");
}

#[test]
fn programs_with_words_exchanged_do_no_harm() {
    println!("seed {SEED:#x}");
    let mut random = Rng::with_seed(SEED);
    // Split the program into words and the text between them. Replace identifiers and numbers by
    // others of the same kind.
    let pieces = pieces(EVERYTHING);
    let names: Vec<&str> = pieces.iter().copied().filter(|piece| is_name(piece)).collect();
    let numbers = ["0", "1", "3", "8w3", "4s7", "0xFFFFFFFFFFFFFFFFFFFF", "1w1", "64w0", "200"];
    let operators =
        [" + ", " ++ ", " & ", " << ", " >> ", " == ", " && ", " |+| ", " < ", " / ", " % ", " - "];
    let mut accepted = 0;
    for _ in 0..150 {
        let mut changed = pieces.clone();
        for _ in 0..=random.usize(..3) {
            let at = random.usize(..changed.len());
            changed[at] = match changed[at] {
                name if is_name(name) => pick(&mut random, &names),
                number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                    pick(&mut random, &numbers)
                }
                operator if operators.contains(&operator) => pick(&mut random, &operators),
                other => other,
            };
        }
        accepted += usize::from(exercise(changed.concat().as_bytes()) == Outcome::Accepted);
    }
    assert!(accepted > 30, "{accepted} accepted");
}

fn is_name(piece: &str) -> bool {
    piece.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Splits a text at the boundaries between words and other characters.
fn pieces(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        out.push(piece);
        rest = after;
    }
    out
}

#[test]
fn random_tokens_do_no_harm() {
    println!("seed {SEED:#x}");
    let mut random = Rng::with_seed(SEED);
    for _ in 0..600 {
        let mut text = String::from(pick(
            &mut random,
            &["", "control c() { apply { x = ", "parser p() { state s { ", "#define f(x) "],
        ));
        for _ in 0..random.usize(..60) {
            text.push_str(pick(&mut random, TOKENS));
            text.push_str(pick(&mut random, &["", " ", " ", "\n"]));
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

fn mutate(text: &mut Vec<u8>, random: &mut Rng) {
    let at = random.usize(..text.len() + 1);
    let end = (at + random.usize(..8)).min(text.len());
    match random.usize(..5) {
        0 => drop(text.drain(at..end)),
        1 => {
            let copy = text[at..end].to_vec();
            let to = random.usize(..text.len() + 1);
            text.splice(to..to, copy);
        }
        2 if at < text.len() => text[at] = random.usize(..256) as u8,
        _ => drop(text.splice(at..at, pick(random, TOKENS).bytes())),
    }
}

fn pick<'list>(random: &mut Rng, list: &[&'list str]) -> &'list str {
    list[random.usize(..list.len())]
}
