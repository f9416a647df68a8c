//! The division of a line into words.
//!
//! Words are separated by blanks. Quotes (`'a b'`, `"a b"`) keep blanks, and inside double quotes,
//! the character after a backslash is taken literally. A `#` at the beginning of a word starts a
//! comment.

/// The error for a line that cannot be divided into words, because a quote is not closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the quote {quote} is not closed")]
pub struct UnclosedQuote {
    /// The character that opened the quote.
    pub quote: char,
}

/// A word of a line, and the offset of its first character in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// Splits a line into words.
///
/// # Errors
/// Returns an error if a quote is not closed.
pub fn split(line: &str) -> Result<Vec<String>, UnclosedQuote> {
    let (words, quote) = placed(line);
    match quote {
        Some(quote) => Err(UnclosedQuote { quote }),
        None => Ok(words.into_iter().map(|word| word.text).collect()),
    }
}

/// Splits a line into words with their offsets. Also returns the quotation mark that is still open
/// at the end, if there is one.
pub(crate) fn placed(line: &str) -> (Vec<Placed>, Option<char>) {
    let mut words: Vec<Placed> = Vec::new();
    let mut open: Option<Placed> = None;
    let mut quote = None;
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(end), _) if character == end => quote = None,
            (Some('"'), '\\') => {
                let next = characters.next().map_or('\\', |(_, next)| next);
                push(&mut open, at, next);
            }
            (Some(_), _) => push(&mut open, at, character),
            (None, '\'' | '"') => {
                quote = Some(character);
                // An empty pair of quotes is a word too.
                open.get_or_insert_with(|| Placed { at, text: String::new() });
            }
            (None, '#') if open.is_none() => break,
            (None, _) if character.is_whitespace() => words.extend(open.take()),
            (None, _) => push(&mut open, at, character),
        }
    }
    words.extend(open);
    (words, quote)
}

fn push(open: &mut Option<Placed>, at: usize, character: char) {
    open.get_or_insert_with(|| Placed { at, text: String::new() }).text.push(character);
}

/// Returns a text in the form of a single word of a line, in quotes if necessary.
#[must_use]
pub fn quoted(text: &str) -> String {
    let is_plain = |character: char| {
        !character.is_whitespace() && !matches!(character, '\'' | '"' | '#' | '\\')
    };
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_keep_blanks_and_a_hash_starts_a_comment() {
        let words = split(r#" a  'b c' "d\"e"f x#y # rest 'open"#).expect("it is right");
        assert_eq!(words, ["a", "b c", "d\"ef", "x#y"]);
        assert_eq!(split("''"), Ok(vec![String::new()]));
        assert_eq!(split("a 'b"), Err(UnclosedQuote { quote: '\'' }));
        assert_eq!(split("# all"), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn quoted_texts_are_one_word(text: String) {
            prop_assert_eq!(split(&quoted(&text)), Ok(vec![text]));
        }

        #[test]
        fn any_line_is_split_or_refused(line: String) {
            let _ = split(&line);
        }
    }
}
