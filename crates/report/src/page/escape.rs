//! Escapes text that users or other programs wrote, for use in HTML.

use std::fmt::{self, Display};

/// Returns a text in the form in which it can be the content of an HTML element or of a quoted
/// attribute.
pub(crate) fn escape(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// A text that is escaped for HTML when it is formatted, as [`escape`] returns it.
pub(crate) struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plain = self.0;
        while let Some(at) = plain.find(special) {
            let (before, rest) = plain.split_at(at);
            f.write_str(before)?;
            let mut letters = rest.chars();
            match letters.next() {
                Some('&') => f.write_str("&amp;")?,
                Some('<') => f.write_str("&lt;")?,
                Some('>') => f.write_str("&gt;")?,
                Some('"') => f.write_str("&quot;")?,
                Some('\'') => f.write_str("&#39;")?,
                _ => f.write_str("\u{fffd}")?,
            }
            plain = letters.as_str();
        }
        f.write_str(plain)
    }
}

/// Returns whether a character must not appear in HTML text as it is: markup, characters that HTML
/// forbids, and those that change the direction of the text.
fn special(c: char) -> bool {
    match c {
        '&' | '<' | '>' | '"' | '\'' => true,
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let hostile = "<script>alert('x')</script> \"a\" &amp; \u{0}\u{202e}\nb";
        assert_eq!(
            escape(hostile).to_string(),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &quot;a&quot; &amp;amp; \u{fffd}\u{fffd}\nb"
        );
        assert_eq!(escape("µs – ✓").to_string(), "µs – ✓");
        assert_eq!(escape("").to_string(), "");
    }
}
