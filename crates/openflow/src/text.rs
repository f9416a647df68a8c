//! Names and descriptions in fields of fixed size.

use std::fmt;

/// Text in a field of `N` bytes, padded with zero bytes (`char name[N]` in the specification).
///
/// All `N` bytes are kept, even those after the first zero byte, because switches leave arbitrary
/// bytes there, and a decoded message must encode to its original bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedText<const N: usize>(pub [u8; N]);

impl<const N: usize> FixedText<N> {
    /// Returns a field with `text`, which is truncated at a character boundary so that a
    /// terminating zero byte remains, as the specification requires.
    pub fn truncated(text: &str) -> Self {
        let mut end = text.len().min(N.saturating_sub(1));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = [0; N];
        for (byte, &source) in bytes.iter_mut().zip(&text.as_bytes()[..end]) {
            *byte = source;
        }
        Self(bytes)
    }

    /// Returns the bytes before the first zero byte, or all of them.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|&byte| byte == 0).next().unwrap_or(&[])
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Display for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_terminated() {
        assert_eq!(FixedText::<4>::truncated("eth0").0, *b"eth\0");
        assert_eq!(FixedText::<4>::truncated("ab\u{e9}").0, *b"ab\0\0");
        assert_eq!(FixedText::<0>::truncated("x").0, [0; 0]);
        assert_eq!(FixedText::<8>::truncated("s1").to_string(), "s1");
    }

    #[test]
    fn unterminated_text_is_read_whole() {
        assert_eq!(FixedText(*b"full").to_string(), "full");
        assert_eq!(FixedText(*b"a\0rest").to_string(), "a");
    }
}
