//! The string of an annotation: literals of P4, with escapes, put together.

/// The text of a constraint, and where each of its bytes was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: String,
    /// The offset of each byte of `text` in the literals, and at last that of the closing quote.
    offsets: Vec<usize>,
}

impl Text {
    /// Reads the text between the parentheses of an annotation: string literals of P4 with
    /// quotes, which are joined if there are several, with white space or `++` between. Returns
    /// `None` for anything else.
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

    /// Reads the text of an annotation with the given name, as P4Info has it: `@name("...")`.
    /// Returns `None` if the annotation has another name, and `Some(None)` if it does not consist
    /// of strings.
    #[must_use]
    pub fn from_annotation(annotation: &str, name: &str) -> Option<Option<Self>> {
        let rest = annotation.trim().strip_prefix('@')?.strip_prefix(name)?.trim_start();
        if rest.is_empty() {
            return Some(None);
        }
        let inner = rest.strip_prefix('(')?;
        Some(inner.strip_suffix(')').and_then(Self::from_literals))
    }

    /// Returns the text with escapes resolved.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the offset in the literals at which a byte of the text was written.
    #[must_use]
    pub fn offset(&self, byte: usize) -> usize {
        self.offsets.get(byte).or(self.offsets.last()).copied().unwrap_or(0)
    }
}

/// Reads the pairs of `@p4runtime_translation_mappings({{"name", 1}, ...})` (specification of
/// P4Runtime 1.4, "Translation of Port Numbers", and SAI P4), as P4Info has the annotation: the
/// number of the program as big-endian bytes, and the string that controllers write instead. Returns
/// no pairs for any other annotation.
#[must_use]
pub fn given_strings(annotation: &str) -> Vec<(Box<[u8]>, Box<[u8]>)> {
    let mut pairs = Vec::new();
    let rest = annotation.trim().strip_prefix("@p4runtime_translation_mappings");
    let Some(mut rest) = rest else { return pairs };
    // Each pair is a string literal, a comma and a number.
    while let Some(start) = rest.find('"') {
        let literal = rest.get(start..).unwrap_or("");
        let Some(end) = end_of_literal(literal) else { break };
        let text = literal.get(..end).and_then(Text::from_literals);
        rest = literal.get(end..).unwrap_or("");
        let number = rest.trim_start().strip_prefix(',').map(str::trim_start).unwrap_or("");
        let number = number.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        let number = match number.get(..2) {
            Some("0x" | "0X") => u128::from_str_radix(number.get(2..).unwrap_or(""), 16),
            _ => number.parse(),
        };
        if let (Some(text), Ok(number)) = (text, number) {
            pairs.push((number.to_be_bytes().into(), text.text().as_bytes().into()));
        }
    }
    pairs
}

/// Returns the length of the string literal at the beginning of a text.
fn end_of_literal(text: &str) -> Option<usize> {
    let mut escaped = false;
    let mut characters = text.char_indices().skip(1);
    characters.find_map(|(offset, character)| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends.then_some(offset + 1)
    })
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
    fn annotations_of_p4info() {
        let read = |annotation| Text::from_annotation(annotation, "entry_restriction");
        let text = read("@entry_restriction(\"a == 1\")").flatten().expect("a string");
        assert_eq!(text.text(), "a == 1");
        assert_eq!(read("@entry_restriction(a == 1)"), Some(None));
        assert_eq!(read("@entry_restriction"), Some(None));
        assert_eq!(read("@entry_restriction(\"a)"), Some(None));
        assert_eq!(read("@entry_restrictions(\"a\")"), None);
        assert_eq!(read("@action_restriction(\"a\")"), None);
    }

    #[test]
    fn given_strings_of_a_translation() {
        let pairs = given_strings(
            r#"@p4runtime_translation_mappings({ { "" , 0 } , { "a\"b" , 0x10 } , { 3 } })"#,
        );
        let number = |number: u128| -> Box<[u8]> { number.to_be_bytes().into() };
        let string = |text: &str| -> Box<[u8]> { text.as_bytes().into() };
        assert_eq!(pairs, [(number(0), string("")), (number(16), string("a\"b"))]);
        assert_eq!(given_strings("@p4runtime_translation(\"\" , string)"), []);
    }
}
