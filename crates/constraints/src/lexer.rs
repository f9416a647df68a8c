//! The tokens of a constraint (p4-constraints, language specification, "Grammar"). Comments have
//! the form that they have in P4.

use std::ops::Range;

use crate::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An identifier or keyword.
    Identifier,
    /// A numeral, including a prefix such as `0x` that states its base.
    Numeral,
    /// Text in single quotes.
    Quoted,
    LeftParenthesis,
    RightParenthesis,
    Dot,
    Semicolon,
    Projection,
    Arrow,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Not,
    Minus,
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) range: Range<usize>,
}

/// The operators and punctuation marks. A mark stands before all marks that are prefixes of it, so
/// that the longest mark is found first.
const MARKS: [(&str, TokenKind); 16] = [
    ("::", TokenKind::Projection),
    ("->", TokenKind::Arrow),
    ("||", TokenKind::Or),
    ("&&", TokenKind::And),
    ("==", TokenKind::Equal),
    ("!=", TokenKind::NotEqual),
    ("<=", TokenKind::LessOrEqual),
    (">=", TokenKind::GreaterOrEqual),
    ("<", TokenKind::Less),
    (">", TokenKind::Greater),
    ("!", TokenKind::Not),
    ("-", TokenKind::Minus),
    ("(", TokenKind::LeftParenthesis),
    (")", TokenKind::RightParenthesis),
    (".", TokenKind::Dot),
    (";", TokenKind::Semicolon),
];

/// Returns the tokens of a text. The last one is [`TokenKind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with("/*") {
            let Some(end) = rest.find("*/") else {
                return Err(Problem::new(at..at + 2, "the comment has no end"));
            };
            at += end + 2;
            continue;
        }
        let (kind, length) = token(rest, first, at)?;
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, range: text.len()..text.len() });
    Ok(tokens)
}

/// Returns the first token of `rest` and its length. `offset` is the position in the whole text at
/// which `rest` begins.
fn token(rest: &str, first: char, offset: usize) -> Result<(TokenKind, usize), Problem> {
    if let Some((mark, kind)) = MARKS.iter().find(|(mark, _)| rest.starts_with(mark)) {
        return Ok((*kind, mark.len()));
    }
    // `$` occurs in names that compilers generate, such as `hdr.ipv4.$valid$`.
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if first == '\'' {
        let Some(end) = rest.get(1..).and_then(|rest| rest.find(['\'', '\n'])) else {
            return Err(Problem::new(offset..offset + 1, "the quote is not closed"));
        };
        if rest.as_bytes().get(end + 1) != Some(&b'\'') {
            return Err(Problem::new(offset..offset + 1, "the quote is not closed in its line"));
        }
        return Ok((TokenKind::Quoted, end + 2));
    }
    if word > 0 {
        let kind = if first.is_ascii_digit() { TokenKind::Numeral } else { TokenKind::Identifier };
        return Ok((kind, word));
    }
    let range = offset..offset + first.len_utf8();
    let problem = Problem::new(range, format!("`{}` has no meaning here", first.escape_default()));
    Err(match first {
        '&' => problem.note("a conjunction is `&&`"),
        '|' => problem.note("a disjunction is `||`"),
        '=' => problem.note("equality is `==`"),
        ':' => problem.note("a field of a key is written `key::mask`"),
        _ => problem,
    })
}
