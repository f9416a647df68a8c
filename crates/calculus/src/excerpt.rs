//! Shortened quotations of foreign text for error messages.

use std::borrow::Cow;

/// The largest number of characters of a text that error messages quote in full.
const FULL_LENGTH: usize = 160;
/// The number of characters that error messages quote of a text that is too long to be quoted in
/// full.
const EXCERPT_LENGTH: usize = 60;

/// Returns the text in full if it is short. Otherwise returns its beginning and its length, so that
/// messages that quote a number or a name of a file stay readable.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    // A character has at least one byte, so the characters of short texts need not be counted.
    if text.len() <= FULL_LENGTH || text.chars().nth(FULL_LENGTH).is_none() {
        return Cow::Borrowed(text);
    }
    let end = text.char_indices().nth(EXCERPT_LENGTH).map_or(text.len(), |(end, _)| end);
    let (beginning, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    Cow::Owned(format!("{beginning}... ({} characters)", EXCERPT_LENGTH + rest.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_whole_and_what_is_long_says_how_long() {
        assert_eq!(excerpt("0.67"), "0.67");
        let short = "µ".repeat(FULL_LENGTH);
        assert_eq!(excerpt(&short), short);
        let long = "µ".repeat(100_000);
        assert_eq!(
            excerpt(&long),
            format!("{}... (100000 characters)", "µ".repeat(EXCERPT_LENGTH))
        );
    }
}
