//! The lexer: splits one line of a program into tokens with their columns.

use super::MppgError;
use crate::excerpt::excerpt;
use crate::rational::Rational;

/// A token of an MPPG program.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(Rational),
    Name(String),
    Text(String),
    /// An operator or a bracket, as one of [`SYMBOLS`].
    Symbol(&'static str),
    End,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Number(number) => format!("`{}`", excerpt(&number.to_string())),
            Self::Name(name) => format!("`{}`", excerpt(name)),
            Self::Text(text) => format!("\"{}\"", excerpt(text)),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end of the line".to_owned(),
        }
    }
}

/// All operators and brackets. Where one of them begins with another, the longer one comes first.
const SYMBOLS: [&str; 29] = [
    ":=", "/\\", "\\/", "*_", "*^", "/_", "/^", "!=", "<=", ">=", "(", ")", "[", "]", ",", "+",
    "-", "*", "/", "~", "=", "<", ">", "÷", "∧", "∨", "⊗", "⊘", ";",
];

/// Returns the tokens of a line, each with its column, from 1. The last token is [`Token::End`].
pub(super) fn tokens(line: &str, number: usize) -> Result<Vec<(Token, usize)>, MppgError> {
    let mut result = Vec::new();
    // Columns are counted in characters while the line is read, because counting from its start for
    // each token would be quadratic.
    let (mut rest, mut column) = (line, 1);
    if rest.trim_start().starts_with('>') {
        (rest, column) = ("", line.chars().count() + 1);
    }
    loop {
        let blanks = rest.len() - rest.trim_start().len();
        rest = step(rest, blanks, &mut column);
        let Some(first) = rest.chars().next() else { break };
        if rest.starts_with("//") || first == '%' || first == '#' {
            break;
        }
        let length = if first.is_ascii_digit() || first == '.' {
            let length = prefix(rest, |c| c.is_ascii_digit() || c == '.');
            let text = &rest[..length];
            let number = text.parse().map_err(|error| MppgError {
                line: number,
                column,
                message: format!("{error}"),
            })?;
            result.push((Token::Number(number), column));
            length
        } else if first.is_ascii_alphabetic() || first == '_' {
            let mut length = prefix(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            let is_projection = ["left-ext", "right-ext"]
                .iter()
                .any(|name| rest.starts_with(name) && prefix(&rest[name.len()..], is_in_name) == 0);
            if is_projection {
                length += "-ext".len();
            }
            result.push((Token::Name(rest[..length].to_owned()), column));
            length
        } else if first == '"' {
            let Some(end) = rest[1..].find('"') else {
                let message = "the text that begins here has no closing quote".to_owned();
                return Err(MppgError { line: number, column, message });
            };
            result.push((Token::Text(rest[1..=end].to_owned()), column));
            end + 2
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            result.push((Token::Symbol(canonical(symbol)), column));
            symbol.len()
        } else {
            let message = format!("`{first}` has no meaning here");
            return Err(MppgError { line: number, column, message });
        };
        rest = step(rest, length, &mut column);
    }
    result.push((Token::End, column));
    Ok(result)
}

/// Returns `rest` without its first `length` bytes, and adds the number of skipped characters to
/// `column`.
fn step<'a>(rest: &'a str, length: usize, column: &mut usize) -> &'a str {
    *column += rest[..length].chars().count();
    &rest[length..]
}

/// Returns the line of a program without the comment at its end, if it has one.
pub(super) fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('>') {
        return "";
    }
    let mut is_text = false;
    for (index, c) in line.char_indices() {
        match c {
            '"' => is_text = !is_text,
            '%' | '#' if !is_text => return &line[..index],
            '/' if !is_text && line[index..].starts_with("//") => return &line[..index],
            _ => {}
        }
    }
    line
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn prefix(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Returns the ASCII spelling of an operator, such as `/\` for its mathematical symbol.
fn canonical(symbol: &'static str) -> &'static str {
    match symbol {
        "∧" => "/\\",
        "∨" => "\\/",
        "⊗" => "*_",
        "⊘" => "/_",
        other => other,
    }
}
