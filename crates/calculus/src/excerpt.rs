//! What messages show of texts that somebody else wrote.

use std::borrow::Cow;

/// Characters up to which a text is shown whole.
const WHOLE: usize = 160;
/// Characters of a longer text that are shown.
const BEGINNING: usize = 60;

/// The text, or its beginning and its length: a message is for people, however long a number or a
/// name in a file may be.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    // A character has at most four bytes, so that short texts need not be counted.
    if text.len() <= WHOLE || text.chars().nth(WHOLE).is_none() {
        return Cow::Borrowed(text);
    }
    let end = text.char_indices().nth(BEGINNING).map_or(text.len(), |(end, _)| end);
    let (beginning, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    Cow::Owned(format!("{beginning}... ({} characters)", BEGINNING + rest.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_whole_and_what_is_long_says_how_long() {
        assert_eq!(excerpt("0.67"), "0.67");
        let short = "µ".repeat(WHOLE);
        assert_eq!(excerpt(&short), short);
        let long = "µ".repeat(100_000);
        assert_eq!(excerpt(&long), format!("{}... (100000 characters)", "µ".repeat(BEGINNING)));
    }
}
