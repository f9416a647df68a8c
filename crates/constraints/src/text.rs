//! The text of an annotation: P4 string literals with escape sequences, which are concatenated.

/// The text of a constraint. It also records the position in the source from which each of its
/// bytes comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: String,
    /// For each byte of `text`, its offset in the source with the literals. The last element is the
    /// offset of the closing quote.
    offsets: Vec<usize>,
}

impl Text {
    /// Reads the text between the parentheses of an annotation: one or more quoted P4 string
    /// literals, with white space or `++` between them, which are concatenated. Returns `None` for
    /// any other text.
    #[must_use]
    pub fn from_literals(source: &str) -> Option<Self> {
        let mut text = String::with_capacity(source.len());
        let mut offsets = Vec::with_capacity(source.len() + 1);
        let mut end = None;
        let mut characters = source.char_indices().peekable();
        while let Some((_, character)) = characters.next() {
            if character != '"' {
                if character.is_whitespace() || character == '+' {
                    continue;
                }
                return None;
            }
            end = None;
            while let Some((offset, character)) = characters.next() {
                let character = match (character, characters.peek().map(|(_, next)| *next)) {
                    ('"', _) => {
                        end = Some(offset);
                        break;
                    }
                    ('\\', Some(next @ ('"' | '\\' | 'n'))) => {
                        characters.next();
                        if next == 'n' { '\n' } else { next }
                    }
                    // P4_16 does not define other escapes, so they are kept as written.
                    (other, _) => other,
                };
                text.push(character);
                offsets.extend(std::iter::repeat_n(offset, character.len_utf8()));
            }
            end?;
        }
        offsets.push(end?);
        Some(Self { text, offsets })
    }

    /// Reads an annotation in the form that it has in P4Info: `@name("...")`. Returns `None` if it
    /// is an annotation with another name, and `Some(None)` if it has the given name but its body
    /// does not consist of string literals.
    #[must_use]
    pub fn from_annotation(annotation: &str, name: &str) -> Option<Option<Self>> {
        let rest = annotation.trim().strip_prefix('@')?.strip_prefix(name)?.trim_start();
        if rest.is_empty() {
            return Some(None);
        }
        let inner = rest.strip_prefix('(')?;
        Some(inner.strip_suffix(')').and_then(Self::from_literals))
    }

    /// Returns the text of each annotation with the given name. The text is `None` if the body of
    /// the annotation does not consist of string literals.
    #[must_use]
    pub fn of_annotations(annotations: &[String], name: &str) -> Vec<Option<String>> {
        let found = annotations.iter().filter_map(|one| Self::from_annotation(one, name));
        found.map(|text| text.map(|text| text.text)).collect()
    }

    /// Returns the text with its escape sequences resolved.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the offset in the source of the literals at which the byte at `byte` of the text was
    /// written.
    #[must_use]
    pub fn offset(&self, byte: usize) -> usize {
        self.offsets.get(byte).or(self.offsets.last()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_joined_and_offsets_are_kept() {
        let source = r#""a \"b" ++ "c\nd""#;
        let text = Text::from_literals(source).expect("two literals");
        assert_eq!(text.text(), "a \"bc\nd");
        for (byte, character) in [(0, "a"), (3, "b"), (4, "c"), (6, "d")] {
            assert_eq!(&source[text.offset(byte)..][..1], character);
        }
        assert_eq!(&source[text.offset(2)..][..2], "\\\"");
        assert_eq!(&source[text.offset(7)..], "\"");
    }

    #[test]
    fn an_annotation_of_p4info_is_read_by_its_name() {
        let read = |annotation| Text::from_annotation(annotation, "entry_restriction");
        let text = read("@entry_restriction(\"a == 1\")").flatten().expect("a string");
        assert_eq!(text.text(), "a == 1");
        assert_eq!(read("@entry_restriction(a == 1)"), Some(None));
        assert_eq!(read("@entry_restriction"), Some(None));
        assert_eq!(read("@entry_restriction(\"a)"), Some(None));
        assert_eq!(read("@entry_restrictions(\"a\")"), None);
        assert_eq!(read("@action_restriction(\"a\")"), None);
        let all = ["@entry_restriction(\"a\")", "@x", "@entry_restriction"].map(str::to_owned);
        let texts = Text::of_annotations(&all, "entry_restriction");
        assert_eq!(texts, [Some("a".to_owned()), None]);
    }
}
