//! Parses Java properties files (see the documentation of `java.util.Properties.load`).
//!
//! A key ends at the first `=`, `:` or white space that no backslash precedes. Lines that begin
//! with `#` or `!` are comments. A backslash at the end of a line continues it. Elsewhere it
//! introduces an escape. The encoding is ISO 8859-1. If a key appears twice, the last value counts.

use std::collections::BTreeMap;
use std::path::Path;

use super::LegacyError;

/// The value of a key, and its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) value: String,
    /// The line number of the key in the file, from 1.
    pub(super) line: usize,
}

/// All keys of a properties file with their values.
pub(super) type Properties = BTreeMap<String, Property>;

pub(super) fn read(path: &Path) -> Result<Properties, LegacyError> {
    let bytes =
        input::read(path).map_err(|source| LegacyError::Read { path: path.to_owned(), source })?;
    let text: String = bytes.into_iter().map(char::from).collect();
    Ok(parse(&text))
}

fn parse(text: &str) -> Properties {
    let mut properties = Properties::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let start = line.trim_start_matches(is_space);
        if start.is_empty() || start.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = start.to_owned();
        while continues(&logical) {
            logical.pop();
            match lines.next() {
                Some((_, next)) => logical.push_str(next.trim_start_matches(is_space)),
                None => break,
            }
        }
        let (key, value) = split(&logical);
        // Java keeps trailing white space, and then fails to parse the number before it.
        let value = unescape(value).trim_end_matches(is_space).to_owned();
        properties.insert(unescape(key), Property { value, line: number });
    }
    properties
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c' | '\r')
}

/// Returns whether a line ends with an odd number of backslashes, so that the next line continues
/// it.
fn continues(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}

fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c| {
        let ends = !escaped && (is_space(c) || matches!(c, '=' | ':'));
        escaped = c == '\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(is_space);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(is_space))
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\x0c'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                plain.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String, usize)> {
        parse(text).into_iter().map(|(key, p)| (key, p.value, p.line)).collect()
    }

    #[test]
    fn keys_and_values_are_split_as_java_does() {
        for (text, key, value) in [
            ("a=b", "a", "b"),
            ("a = b ", "a", "b"),
            ("  a:b", "a", "b"),
            ("a b c", "a", "b c"),
            ("a", "a", ""),
            ("a==b", "a", "=b"),
            ("a\t:\tb", "a", "b"),
            (r"a\=b\:c\ d = e", "a=b:c d", "e"),
            (r"a = C:\\x\tb\u0041", "a", "C:\\x\tbA"),
            ("a = b\\\n   c", "a", "bc"),
            ("a = b\\\\\n", "a", "b\\"),
            ("a=b\r\n", "a", "b"),
            ("a=b\\", "a", "b"),
        ] {
            assert_eq!(pairs(text), [(key.to_owned(), value.to_owned(), 1)], "{text}");
        }
    }

    #[test]
    fn comments_are_skipped_and_the_last_of_two_counts() {
        let found = pairs("# a=1\n!b=2\n\n  #c=3\nd=4\ne=5\\\n6\nd=7 #8\n");
        assert_eq!(
            found,
            [("d".to_owned(), "7 #8".to_owned(), 8), ("e".to_owned(), "56".to_owned(), 6)]
        );
    }
}
