//! Reads the string literals of Rust source that a program shows.

/// A part of the source.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Mark(char),
}

/// Macros whose texts are for developers.
const DEVELOPERS: [&str; 10] = [
    "panic",
    "unreachable",
    "todo",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "include_str",
];

/// The contents of a source file that matter for the page of messages.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    /// The string literals in their order, without those of tests, attributes other than
    /// `#[error("...")]`, assertions and `expect`.
    pub(crate) texts: Vec<String>,
    /// The modules in files of their own that only tests have.
    pub(crate) test_modules: Vec<String>,
}

/// Extracts from the text of a source file what matters for the page of messages.
pub(crate) fn read(source: &str) -> Literals {
    let tokens = tokens(source);
    let mut literals = Literals::default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = |offset: usize| tokens.get(at + offset);
        at = match token {
            Token::Mark('#') if next(1) == Some(&Token::Mark('[')) => {
                attribute(&tokens, at + 1, &mut literals)
            }
            Token::Mark('#') if next(2) == Some(&Token::Mark('[')) => group_end(&tokens, at + 2),
            Token::Word(word) if word == "expect" && next(1) == Some(&Token::Mark('(')) => {
                group_end(&tokens, at + 1)
            }
            Token::Word(word)
                if DEVELOPERS.contains(&word.as_str()) && next(1) == Some(&Token::Mark('!')) =>
            {
                group_end(&tokens, at + 2)
            }
            Token::Text(text) => {
                literals.texts.push(text.clone());
                at + 1
            }
            Token::Word(_) | Token::Mark(_) => at + 1,
        };
    }
    literals
}

/// Reads the attribute whose bracket is at a position, and its item if that is for tests. Returns
/// the position after it.
fn attribute(tokens: &[Token], open: usize, literals: &mut Literals) -> usize {
    let end = group_end(tokens, open);
    let inside = tokens.get(open + 1..end).unwrap_or_default();
    let is = |name: &str| inside.first() == Some(&Token::Word(name.to_owned()));
    let negated = inside.contains(&Token::Word("not".to_owned()));
    if is("error") {
        literals.texts.extend(inside.iter().filter_map(|token| match token {
            Token::Text(text) => Some(text.clone()),
            Token::Word(_) | Token::Mark(_) => None,
        }));
    }
    if is("test") || (is("cfg") && !negated && inside.contains(&Token::Word("test".to_owned()))) {
        let item_end = item_end(tokens, end);
        if let Some([.., Token::Word(keyword), Token::Word(name), Token::Mark(';')]) =
            tokens.get(end..item_end)
            && keyword == "mod"
        {
            literals.test_modules.push(name.clone());
        }
        return item_end;
    }
    end
}

/// Returns the position after the item that begins at a position.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Mark(';' | '}') => return at + 1,
            Token::Mark('{') => return group_end(tokens, at),
            Token::Mark('(' | '[') => at = group_end(tokens, at),
            Token::Mark(_) | Token::Word(_) | Token::Text(_) => at += 1,
        }
    }
    at
}

/// Returns the position after the bracket that closes the one at a position.
fn group_end(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Mark(_) | Token::Word(_) | Token::Text(_) => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Splits source into words, string literals and marks. Byte strings are left out.
fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (token, length) = if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if let Some((text, length)) = raw_string(rest) {
            (Some(Token::Text(text)), length)
        } else if first == '"' {
            let (text, length) = string(rest);
            (Some(Token::Text(text)), length)
        } else if rest.starts_with("b\"") || rest.starts_with("c\"") {
            let tail = rest.get(1..).unwrap_or_default();
            (None, 1 + string(tail).1)
        } else if first == '\'' {
            (None, quote(rest))
        } else if word > 0 {
            (rest.get(..word).map(|word| Token::Word(word.to_owned())), word)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else {
            (Some(Token::Mark(first)), first.len_utf8())
        };
        tokens.extend(token);
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

/// Returns the text of the raw string that the source begins with, and the length of its literal.
fn raw_string(source: &str) -> Option<(String, usize)> {
    let hashes = source.strip_prefix('r')?;
    let text = hashes.trim_start_matches('#');
    let fence = hashes.len() - text.len();
    let text = text.strip_prefix('"')?;
    let end = text.find(&format!("\"{}", "#".repeat(fence)))?;
    Some((text.get(..end)?.to_owned(), 2 * (fence + 1) + 1 + end))
}

/// Returns the text of the string that the source begins with, and the length of its literal.
fn string(source: &str) -> (String, usize) {
    let mut text = String::new();
    let mut characters = source.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, at + 1),
            '\\' => match characters.next() {
                Some((_, '\n')) => {
                    while characters.next_if(|(_, next)| next.is_whitespace()).is_some() {}
                }
                Some((_, 'n')) => text.push('\n'),
                Some((_, quoted @ ('"' | '\\' | '\''))) => text.push(quoted),
                Some((_, other)) => text.extend(['\\', other]),
                None => {}
            },
            other => text.push(other),
        }
    }
    (text, source.len())
}

/// Returns the length of the character literal that the source begins with, or 1 for the quote of a
/// lifetime.
fn quote(source: &str) -> usize {
    let mut characters = source.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => {
            let tail = source.get(3..).unwrap_or_default();
            tail.find('\'').map_or(1, |end| end + 4)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

#[test]
fn only_texts_that_a_program_shows_are_found() {
    let source = r##"
        // "a comment"
        #[error("the file {0} is missing")]
        #[expect(dead_code, reason = "a reason")]
        fn shown<'a>(quote: char) -> &'a str {
            assert!(quote != '"', "an assertion");
            value.expect("a promise");
            println!("two \"words\" \
                      in one line\n", b"some bytes");
            r#"raw "text" here"#
        }
        #[cfg(test)]
        mod tests { const TEXT: &str = "for tests"; }
        #[cfg(test)]
        mod scenarios;
        mod shown;
        const LAST: (char, &str) = ('\'', "the last one");
    "##;
    let shown = [
        "the file {0} is missing",
        "two \"words\" in one line\n",
        "raw \"text\" here",
        "the last one",
    ];
    let literals = read(source);
    assert_eq!(literals.texts, shown);
    assert_eq!(literals.test_modules, ["scenarios"]);
}
