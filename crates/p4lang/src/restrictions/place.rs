//! Locations in the source of parts of an annotation's string.
//!
//! A token of an annotation contains the text of its literals, without the lines that conditional
//! directives skip, and without the quotes between literals that `++` joins. A position in this
//! text is therefore found by its line, and by its column in the line.

use std::ops::Range;

use constraints::Text;

use crate::ast::AnnotationToken;
use crate::source::{SourceMap, Span};

/// Returns the literals of an annotation, as [`Text::from_literals`] reads them.
pub(super) fn literals(tokens: &[AnnotationToken]) -> String {
    let texts: Vec<&str> = tokens.iter().map(|token| &*token.text).collect();
    texts.join(" ")
}

/// Returns the location in the source of `part`, a part of an annotation's text. If the part spans
/// several lines, the location ends at the end of the first line. Returns `None` if the part does
/// not occur in the source, because a macro produces it.
pub(super) fn span_in(
    sources: &SourceMap,
    tokens: &[AnnotationToken],
    text: &Text,
    part: &Range<usize>,
) -> Option<Span> {
    let line_end = text.text().get(part.clone()).and_then(|part| part.find('\n'));
    let end = line_end.map_or(part.end, |length| part.start + length).max(part.start);
    let first = place(sources, tokens, text.offset(part.start))?;
    // The end is the position after the last byte of the part. That byte may be the last one of its
    // literal.
    let last = if end > part.start {
        place(sources, tokens, text.offset(end - 1))?.1 + 1
    } else {
        first.1
    };
    Some(Span::new(first.0.file, first.1, last.max(first.1 + 1)))
}

/// Returns the token that contains the byte at `offset` of the literals, and the byte's offset in
/// the source file.
fn place(sources: &SourceMap, tokens: &[AnnotationToken], offset: usize) -> Option<(Span, u32)> {
    let mut start = 0;
    for token in tokens {
        let end = start + token.text.len();
        if offset < end {
            return Some((token.span, in_token(sources, token, offset - start)?));
        }
        // There is a blank between two tokens.
        start = end + 1;
    }
    None
}

/// Converts `offset`, the position of a byte in the text of a token, to the byte's offset in the
/// source file.
fn in_token(sources: &SourceMap, token: &AnnotationToken, offset: usize) -> Option<u32> {
    let before = token.text.get(..offset)?;
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
    let source = sources.text(token.span);
    let written = spliced(source)?;
    // The lines of the source, in which each byte has its offset.
    let mut lines = written.split(|(byte, _)| *byte == b'\n');
    let of_source = lines.nth(line)?;
    let of_token = token.text.split('\n').nth(line)?;
    let is_same = of_source.iter().map(|(byte, _)| *byte).eq(of_token.bytes());
    let (_, at) = of_source.get(column).filter(|_| is_same)?;
    token.span.start.checked_add(u32::try_from(*at).ok()?)
}

/// Returns the bytes of string literals from the first quote to the last, each with its offset. The
/// text between two literals and the quotes around it are omitted. Returns `None` if the source
/// does not consist of literals.
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
