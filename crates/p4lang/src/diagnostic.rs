//! Errors and warnings about a program, with their locations in the source.
//!
//! A pass does not stop at its first error, but reports it to [`Diagnostics`] and continues. A
//! [`Diagnostic`] has a primary label (the location that is marked with carets), any number of
//! secondary labels (such as "declared here") and notes. The renderer prints `file:line:column`,
//! the source line, and carets under it, with or without colours.

use std::fmt::Write as _;

use crate::source::{SourceMap, Span};

/// The [`Diagnostic::kind`] of an error for a program that exceeds one of the
/// [`ir::CompileLimits`].
pub const LIMIT: &str = "limit";

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program is accepted, but probably does not mean what was intended.
    Warning,
    /// The program is refused.
    Error,
}

impl Severity {
    /// Returns `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A location in the source with a message about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The location.
    pub span: Span,
    /// The message printed beside the carets, which may be empty.
    pub message: String,
}

/// An error or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity of the diagnostic.
    pub severity: Severity,
    /// The kind of problem in kebab case, such as `syntax`, `undeclared-name` or `type-mismatch`.
    /// Kinds are stable, so that tests and users can refer to them.
    pub kind: &'static str,
    /// A one-line description of the problem.
    pub message: String,
    /// The location of the problem, with a message such as the expected token.
    pub primary: Label,
    /// Other locations that help to explain the problem.
    pub secondary: Vec<Label>,
    /// Further information, such as a suggestion or the directories that were searched.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// Creates an error at `span`.
    pub fn error(kind: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, kind, span, message)
    }

    /// Creates a warning at `span`.
    pub fn warning(kind: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, kind, span, message)
    }

    fn new(severity: Severity, kind: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity,
            kind,
            message: input::shortened(&message.into()).into_owned(),
            primary: Label { span, message: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets the message of the primary label, which is printed beside the carets.
    #[must_use]
    pub fn label(mut self, message: impl Into<String>) -> Self {
        self.primary.message = message.into();
        self
    }

    /// Adds a secondary label: another location that helps to explain the problem, with a message
    /// about it.
    #[must_use]
    pub fn secondary(mut self, span: Span, message: impl Into<String>) -> Self {
        self.secondary.push(Label { span, message: message.into() });
        self
    }

    /// Adds a note, which is printed below the source lines.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Formats the diagnostic as `file:line:column: error: message`, without the source text.
    pub fn one_line(&self, sources: &SourceMap) -> String {
        format!(
            "{}: {}: {}",
            sources.location(self.primary.span),
            self.severity.name(),
            self.message
        )
    }

    /// Formats the diagnostic in several lines, with its labels, source lines and notes. The text
    /// ends with a line break.
    pub fn render(&self, sources: &SourceMap, style: Style) -> String {
        let mut out = String::new();
        let paint = Paint { style };
        let severity_colour = match self.severity {
            Severity::Warning => Colour::Yellow,
            Severity::Error => Colour::Red,
        };
        let location = sources.location(self.primary.span).to_string();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}: {}: {}",
            paint.bold(&location),
            paint.colour(severity_colour, &format!("{}[{}]", self.severity.name(), self.kind)),
            paint.bold(&self.message)
        );
        let gutter = std::iter::once(&self.primary)
            .chain(&self.secondary)
            .map(|label| sources.location(label.span).line.to_string().len())
            .max()
            .unwrap_or(1);
        let primary = Underline { mark: '^', colour: severity_colour };
        render_label(&mut out, sources, &self.primary, primary, gutter, paint);
        for label in &self.secondary {
            let other = sources.location(label.span);
            if other.file != sources.location(self.primary.span).file {
                let _ = writeln!(out, "{:gutter$}--> {other}", "");
            }
            let secondary = Underline { mark: '-', colour: Colour::Blue };
            render_label(&mut out, sources, label, secondary, gutter, paint);
        }
        let mut included =
            sources.file(self.primary.span.file).and_then(|file| file.included_from());
        // The preprocessor limits the depth of includes, so this chain is short.
        while let Some(span) = included {
            let _ = writeln!(out, "{:gutter$} = included from {}", "", sources.location(span));
            included = sources.file(span.file).and_then(|file| file.included_from());
        }
        for note in &self.notes {
            let _ = writeln!(out, "{:gutter$} = note: {note}", "");
        }
        out
    }
}

/// The style of formatted diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Text without colours.
    #[default]
    Plain,
    /// Text with ANSI escape sequences for colours.
    Colour,
}

/// A colour of rendered diagnostics.
#[derive(Clone, Copy)]
enum Colour {
    Red,
    Yellow,
    Blue,
}

/// A formatter that adds the escape sequences of a style to text.
#[derive(Clone, Copy)]
struct Paint {
    style: Style,
}

impl Paint {
    fn colour(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Red => "1;31",
            Colour::Yellow => "1;33",
            Colour::Blue => "1;34",
        };
        self.wrap(code, text)
    }

    fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self.style {
            Style::Plain => text.to_owned(),
            Style::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// The length in characters up to which a source line is printed whole. Of a longer line, only the
/// part around the carets is printed.
const WIDEST_LINE: usize = 160;

/// The character and the colour with which the location of a label is underlined.
struct Underline {
    mark: char,
    colour: Colour,
}

/// Appends the source line of a label, and below it an underline and the label's message. Line
/// numbers are right-aligned in `gutter` columns.
fn render_label(
    out: &mut String,
    sources: &SourceMap,
    label: &Label,
    underline: Underline,
    gutter: usize,
    paint: Paint,
) {
    let (line, range) = sources.line_of(label.span);
    let from = if range.start >= WIDEST_LINE { range.start - WIDEST_LINE / 2 } else { 0 };
    let shown: Vec<char> = line.chars().skip(from).take(WIDEST_LINE).collect();
    let start = range.start - from;
    let end = (range.end - from).min(shown.len().max(start));
    // Tabs of the source line are repeated in the line of carets, so that both are aligned on any
    // terminal.
    let indent: String = shown
        .iter()
        .take(start)
        .map(|character| if *character == '\t' { '\t' } else { ' ' })
        .collect();
    let text: String = shown
        .iter()
        .map(|c| if c.is_control() && *c != '\t' { char::REPLACEMENT_CHARACTER } else { *c })
        .collect();
    let marks: String =
        std::iter::repeat_n(underline.mark, (end.saturating_sub(start)).max(1)).collect();
    let number = sources.location(label.span).line.to_string();
    let _ = writeln!(out, "{} {text}", paint.colour(Colour::Blue, &format!("{number:>gutter$} |")));
    let under = format!("{marks} {}", label.message);
    let _ = writeln!(
        out,
        "{} {indent}{}",
        paint.colour(Colour::Blue, &format!("{:gutter$} |", "")),
        paint.colour(underline.colour, under.trim_end())
    );
}

/// The largest number of errors that a collector keeps, and also the largest number of warnings.
/// Further ones are only counted.
const MAX_ERRORS: usize = 100;

/// A collector of the errors and warnings of all passes.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic, unless one of the last 100 has the same kind, message and location.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let same = |other: &Diagnostic| {
            other.primary.span == diagnostic.primary.span
                && other.kind == diagnostic.kind
                && other.message == diagnostic.message
        };
        if self.items.iter().rev().take(MAX_ERRORS).any(same) {
            return;
        }
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MAX_ERRORS {
            self.items.push(diagnostic);
        }
    }

    /// Adds a secondary label to the diagnostic that was added last.
    pub(crate) fn add_secondary(&mut self, span: Span, message: &str) {
        if let Some(last) = self.items.last_mut()
            && !last.secondary.iter().any(|label| label.span == span)
        {
            last.secondary.push(Label { span, message: message.to_owned() });
        }
    }

    /// Adds all diagnostics of another collector.
    pub fn extend(&mut self, other: Self) {
        let dropped_errors = other.errors - other.errors.min(MAX_ERRORS);
        for diagnostic in other.items {
            self.push(diagnostic);
        }
        self.errors += dropped_errors;
    }

    /// Returns whether any error was reported. The program is then refused.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of errors that were reported, including those that were counted but not
    /// kept.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Returns an iterator over the diagnostics that were kept, in the order in which they were
    /// reported.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// Returns whether neither errors nor warnings were reported.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Formats all diagnostics, followed by a line with the number of errors if there are any.
    pub fn render(&self, sources: &SourceMap, style: Style) -> String {
        let mut out = String::new();
        for diagnostic in &self.items {
            out.push_str(&diagnostic.render(sources, style));
        }
        match self.errors {
            0 => {}
            1 => out.push_str("1 error\n"),
            count => {
                let _ = writeln!(out, "{count} errors");
            }
        }
        out
    }
}

impl<'collector> IntoIterator for &'collector Diagnostics {
    type Item = &'collector Diagnostic;
    type IntoIter = std::slice::Iter<'collector, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_shows_the_line_and_the_place() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.p4", "const bit<8> x = 1;\n\tbit<8> x;\n");
        let diagnostic =
            Diagnostic::error("duplicate", Span::new(file, 28, 29), "`x` is declared twice")
                .label("declared again here")
                .secondary(Span::new(file, 13, 14), "first declared here")
                .note("rename one of them");
        assert_eq!(
            diagnostic.render(&sources, Style::Plain),
            "a.p4:2:9: error[duplicate]: `x` is declared twice\n\
             2 | \tbit<8> x;\n\
             \u{20} | \t       ^ declared again here\n\
             1 | const bit<8> x = 1;\n\
             \u{20} |              - first declared here\n\
             \u{20} = note: rename one of them\n"
        );
        assert!(
            diagnostic
                .render(&sources, Style::Colour)
                .contains("\u{1b}[1;31merror[duplicate]\u{1b}[0m")
        );
        assert_eq!(diagnostic.one_line(&sources), "a.p4:2:9: error: `x` is declared twice");
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let mut sources = SourceMap::new();
        let text = format!("{}bad{}", "x".repeat(1000), "y".repeat(1000));
        let file = sources.add("a.p4", text);
        let shown = Diagnostic::error("syntax", Span::new(file, 1000, 1003), "m")
            .render(&sources, Style::Plain);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].len(), "1 | ".len() + WIDEST_LINE);
        let at = lines[2].find("^^^").expect("carets");
        assert_eq!(&lines[1][at..at + 3], "bad");
    }

    #[test]
    fn repeated_diagnostics_are_dropped_and_their_number_is_limited() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.p4", " ".repeat(1000));
        let mut diagnostics = Diagnostics::new();
        for _ in 0..3 {
            diagnostics.push(Diagnostic::warning("unused", Span::new(file, 0, 1), "w"));
        }
        assert!(!diagnostics.has_errors());
        for at in 0..500 {
            diagnostics.push(Diagnostic::error("syntax", Span::new(file, at, at + 1), "m"));
        }
        assert_eq!(diagnostics.iter().count(), 1 + MAX_ERRORS);
        assert_eq!(diagnostics.error_count(), 500);
        assert!(diagnostics.render(&sources, Style::Plain).ends_with("500 errors\n"));
    }
}
