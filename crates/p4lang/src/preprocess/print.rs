//! Formatting of the preprocessed program, for the option `-E`.

use super::Tokens;
use crate::source::{FileId, SourceMap};

/// The largest number of line breaks that are printed between two tokens. If there are more, a
/// `#line` directive replaces them.
const MAX_BLANK_LINES: u32 = 8;

/// Formats the tokens as text that compiles to the same program. A `#line` directive is printed
/// where the file changes or lines are skipped.
pub fn print_preprocessed(tokens: &Tokens, sources: &SourceMap) -> String {
    let mut out = String::new();
    let mut place: Option<(FileId, u32)> = None;
    for token in &tokens.list {
        let location = sources.location(token.span);
        let (file, line) = (token.span.file, location.line);
        match place {
            Some((last_file, last)) if last_file == file && last == line => {
                if token.space_before {
                    out.push(' ');
                }
            }
            Some((last_file, last))
                if last_file == file && line > last && line - last <= MAX_BLANK_LINES =>
            {
                for _ in last..line {
                    out.push('\n');
                }
                indent(&mut out, location.column, token.line_start);
            }
            _ => {
                if place.is_some() {
                    out.push('\n');
                }
                let name = location.file.replace('\\', "\\\\").replace('"', "\\\"");
                out.push_str(&format!("#line {line} \"{name}\"\n"));
                indent(&mut out, location.column, token.line_start);
            }
        }
        out.push_str(tokens.symbols.str(token.symbol));
        let extra_lines = tokens.symbols.str(token.symbol).matches('\n').count() as u32;
        place = Some((file, line + extra_lines));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Appends the indentation of a line, so that the line's first token keeps its column, up to column
/// 80.
fn indent(out: &mut String, column: u32, line_start: bool) {
    if line_start {
        for _ in 1..column.min(80) {
            out.push(' ');
        }
    }
}
