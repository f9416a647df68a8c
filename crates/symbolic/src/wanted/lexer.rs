//! Splits a formula into tokens.

use super::parser::WantedError;

/// A token of a formula, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    /// The column of the token's first character, counted from 1.
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    Not,
    And,
    Or,
    Open,
    Close,
    /// A keyword, name, number or position.
    Word(&'t str),
}

/// Returns the tokens of a formula.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, WantedError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let column = text[..text.len() - rest.len()].chars().count() + 1;
        let sign = [
            ("&&", Kind::And),
            ("||", Kind::Or),
            ("!", Kind::Not),
            ("(", Kind::Open),
            (")", Kind::Close),
        ]
        .into_iter()
        .find(|(sign, _)| rest.starts_with(sign));
        if let Some((sign, kind)) = sign {
            tokens.push(Token { kind, column });
            rest = &rest[sign.len()..];
            continue;
        }
        let ends = |letter: char| letter.is_whitespace() || "&|!()".contains(letter);
        let length = rest.find(ends).unwrap_or(rest.len());
        if length == 0 {
            let message = format!("`{first}` alone is no sign; write `{first}{first}`");
            return Err(WantedError { column, message });
        }
        let (word, after) = rest.split_at(length);
        tokens.push(Token { kind: Kind::Word(word), column });
        rest = after;
    }
}
