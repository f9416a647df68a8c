//! Places inside the string of an annotation.
//!
//! A token of an annotation holds the text of its literals without the parts that conditional
//! directives skip, which are left out line by line, and without the quotes between literals that
//! `++` joins. So a place is found by its line, and by its column in the line.

use std::ops::Range;

use constraints::Text;

use crate::ast::AnnotationToken;
use crate::source::{SourceMap, Span};

/// Returns the literals of an annotation, as [`Text::from_literals`] reads them.
pub(super) fn literals(tokens: &[AnnotationToken]) -> String {
    let texts: Vec<&str> = tokens.iter().map(|token| &*token.text).collect();
    texts.join(" ")
}

/// Returns the place in the source of a part of an annotation's text. A part of several lines is
/// cut at the end of the first one. Returns `None` if the part is not written in the source,
/// because a macro makes it.
pub(super) fn span_in(
    sources: &SourceMap,
    tokens: &[AnnotationToken],
    text: &Text,
    part: &Range<usize>,
) -> Option<Span> {
    let line_end = text.text().get(part.clone()).and_then(|part| part.find('\n'));
    let end = line_end.map_or(part.end, |length| part.start + length).max(part.start);
    let first = place(sources, tokens, text.offset(part.start))?;
    // The end is the position after the last byte of the part, which may be the last byte of its
    // literal.
    let last = if end > part.start {
        place(sources, tokens, text.offset(end - 1))?.1 + 1
    } else {
        first.1
    };
    Some(Span::new(first.0.file, first.1, last.max(first.1 + 1)))
}

/// Returns the token that contains an offset in the literals, and the offset in its file.
fn place(sources: &SourceMap, tokens: &[AnnotationToken], offset: usize) -> Option<(Span, u32)> {
    let mut start = 0;
    for token in tokens {
        let end = start + token.text.len();
        if offset < end {
            return Some((token.span, in_token(sources, token, offset - start)?));
        }
        // A blank stands between tokens.
        start = end + 1;
    }
    None
}

/// Returns the offset in its file of a byte in the text of a token.
fn in_token(sources: &SourceMap, token: &AnnotationToken, offset: usize) -> Option<u32> {
    let before = token.text.get(..offset)?;
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
    let source = sources.text(token.span);
    let written = spliced(source)?;
    // Lines of the source with the offsets of their bytes.
    let mut lines = written.split(|(byte, _)| *byte == b'\n');
    let of_source = lines.nth(line)?;
    let of_token = token.text.split('\n').nth(line)?;
    let is_same = of_source.iter().map(|(byte, _)| *byte).eq(of_token.bytes());
    let (_, at) = of_source.get(column).filter(|_| is_same)?;
    token.span.start.checked_add(u32::try_from(*at).ok()?)
}

/// Returns the bytes of literals, from the first quote to the last, without the quotes and the text
/// between two literals, each with its offset. Returns `None` if the source is no literal.
fn spliced(source: &str) -> Option<Vec<(u8, usize)>> {
    let mut bytes: Vec<(u8, usize)> = Vec::with_capacity(source.len());
    let mut all = source.bytes().enumerate().map(|(offset, byte)| (byte, offset));
    bytes.push(all.next().filter(|(byte, _)| *byte == b'"')?);
    let mut escaped = false;
    while let Some((byte, offset)) = all.next() {
        if byte == b'"' && !escaped {
            match all.by_ref().find(|(byte, _)| *byte == b'"') {
                Some(_) => continue,
                None => {
                    bytes.push((byte, offset));
                    break;
                }
            }
        }
        escaped = byte == b'\\' && !escaped;
        bytes.push((byte, offset));
    }
    Some(bytes)
}
