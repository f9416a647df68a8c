//! Mutations of texts by their tokens, which pass the lexer more often than mutations of bytes.

use crate::bytes;
use crate::random::Random;

/// Numbers and words that are edge cases for parsers of any language.
const EDGES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e9",
    "1e400",
    "1/3",
    "0.1",
    "0x",
    "0xffffffffffffffffffffffff",
    "inf",
    "nan",
    "true",
    "null",
    "\"\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ",",
    ";",
    ":",
    "=",
    "&&&",
    "..",
    "*",
    "/",
    "-",
    "#",
    "//",
    "\n",
];

/// Mutates an input of a target that reads text: mostly exchanges tokens and lines, and sometimes
/// bytes.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random::new(u64::from(seed));
    let text = match std::str::from_utf8(&data[..size]) {
        Ok(text) if size > 0 && random.below(8) > 0 => text,
        _ => return bytes::mutate(data, size, max_size, seed),
    };
    let text = if random.below(5) == 0 {
        by_lines(text, &mut random)
    } else {
        by_tokens(text, &mut random)
    };
    put(text.as_bytes(), data, size, max_size, seed)
}

/// Replaces the data by `input`, or keeps a mutation of it if the input is too long.
pub(crate) fn put(input: &[u8], data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    match data.get_mut(..input.len()) {
        Some(place) if input.len() <= max_size => {
            place.copy_from_slice(input);
            input.len()
        }
        _ => bytes::mutate(data, size, max_size, seed),
    }
}

fn by_tokens(text: &str, random: &mut Random) -> String {
    let mut tokens = tokens(text);
    for _ in 0..1 + random.below(4) {
        let (at, other) = (random.below(tokens.len()), random.below(tokens.len()));
        match random.below(8) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other]),
            2 => tokens.swap(at, other),
            3 | 4 => tokens[at] = tokens[other],
            5 => tokens[at] = *random.pick(EDGES),
            // This inserts a run of several tokens.
            6 => {
                let end = (other + 1 + random.below(24)).min(tokens.len());
                let run = tokens[other..end].to_vec();
                drop(tokens.splice(at..at, run));
            }
            _ => {
                let end = (at + 1 + random.below(12)).min(tokens.len());
                drop(tokens.drain(at..end));
            }
        }
        if tokens.is_empty() {
            break;
        }
    }
    tokens.concat()
}

fn by_lines(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[other]),
        2 => lines.swap(at, other),
        // The line is repeated often enough to expose costs that grow faster than the input.
        _ => {
            let times = 1 << random.below(8);
            let line = lines[other];
            drop(lines.splice(at..at, std::iter::repeat_n(line, times)));
        }
    }
    lines.concat()
}

/// Splits text into words, runs of whitespace, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 0,
        _ if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match kind(first) {
            2 => first.len_utf8(),
            first => rest.find(|c| kind(c) != first).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        found.push(token);
        rest = after;
    }
    found
}
