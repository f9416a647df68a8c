//! Source files and positions in them.
//!
//! Every node of the syntax tree has a [`Span`], a `Copy` type of 12 bytes with a file and a byte
//! range. A span always refers to text that the user wrote: if a macro produced a token, the span
//! is that of the use of the macro. Lines and columns are computed only when a diagnostic is
//! printed. `#line` directives change the line number and file name in diagnostics, but not the
//! source text that is shown.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The id of a file in a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl FileId {
    /// Returns the position of the file in [`SourceMap::files`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A range of bytes in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The offset of the first byte in the file.
    pub start: u32,
    /// The offset of the byte after the last one.
    pub end: u32,
}

impl Span {
    /// Creates a span of `file` from `start` up to, but not including, `end`.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// Returns a placeholder for declarations that the source does not contain: an empty span at
    /// the start of the first file.
    pub fn nowhere() -> Self {
        Self { file: FileId(0), start: 0, end: 0 }
    }

    /// Returns the span from the start of `self` to the end of `other`. Returns `self` if the spans
    /// are in different files or out of order.
    pub fn to(self, other: Self) -> Self {
        if self.file == other.file && other.end >= self.start {
            Self { file: self.file, start: self.start, end: other.end.max(self.end) }
        } else {
            self
        }
    }

    /// Returns the range of bytes, without the file.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A position in a source file, as diagnostics print it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location<'map> {
    /// The file name. `#line` directives may change it.
    pub file: &'map str,
    /// The line, counted from 1. `#line` directives may change it.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A source file: its name, its text and the offsets of its lines.
#[derive(Debug, Clone)]
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    line_starts: Vec<u32>,
    /// The `#include` directive that opened the file, or `None` if no other file includes it.
    included_from: Option<Span>,
    built_in: bool,
    markers: Vec<LineMarker>,
}

/// A `#line` directive: from `offset` on, lines are counted from `line`, and the file name is
/// `name`.
#[derive(Debug, Clone)]
struct LineMarker {
    offset: u32,
    line: u32,
    name: Option<String>,
}

impl SourceFile {
    /// Returns the name under which the file was opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the `#include` directive that opened the file, or `None` if no other file includes
    /// it.
    pub fn included_from(&self) -> Option<Span> {
        self.included_from
    }

    /// Returns whether the text of the file is not the user's source: it is a built-in architecture
    /// file, or the text of an option `-D`.
    pub fn is_built_in(&self) -> bool {
        self.built_in
    }

    /// Returns the index, counted from 0, of the line that contains `offset`.
    fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Returns the text of the line with the given index, without its line break.
    fn line_text(&self, index: usize) -> &str {
        let start = self.line_starts.get(index).map_or(self.text.len(), |start| *start as usize);
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |start| *start as usize);
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// The source files of a program.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Creates an empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file that no other file includes, and returns its id. Text beyond 4 GiB cannot be
    /// addressed and is truncated.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.add_file(name.into(), text.into(), None, false)
    }

    pub(crate) fn add_file(
        &mut self,
        name: String,
        text: Arc<str>,
        included_from: Option<Span>,
        built_in: bool,
    ) -> FileId {
        let text = if text.len() > u32::MAX as usize - 1 {
            let mut end = u32::MAX as usize - 1;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.get(..end).map_or(text.clone(), Arc::from)
        } else {
            text
        };
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(offset, _)| offset as u32 + 1),
        );
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile {
            name,
            text,
            line_starts,
            included_from,
            built_in,
            markers: Vec::new(),
        });
        id
    }

    /// Returns all files, in the order in which they were opened.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the file with this id, or `None` if the map has none.
    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.index())
    }

    /// Returns the text of a span, or an empty string if the map does not contain the span.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("")
    }

    /// Records a `#line` directive. The line that starts at `offset` has the number `line`, and the
    /// file name from there on is `name`.
    pub(crate) fn add_line_marker(
        &mut self,
        file: FileId,
        offset: u32,
        line: u32,
        name: Option<String>,
    ) {
        if let Some(file) = self.files.get_mut(file.index()) {
            let name = name.or_else(|| file.markers.last().and_then(|marker| marker.name.clone()));
            file.markers.push(LineMarker { offset, line, name });
        }
    }

    /// Returns the location of the start of a span.
    pub fn location(&self, span: Span) -> Location<'_> {
        self.location_at(span.file, span.start)
    }

    fn location_at(&self, file: FileId, offset: u32) -> Location<'_> {
        let Some(file) = self.file(file) else {
            return Location { file: "<unknown>", line: 1, column: 1 };
        };
        let index = file.line_index(offset);
        let start = file.line_starts.get(index).copied().unwrap_or(0);
        let before = file.text.get(start as usize..offset as usize).unwrap_or("");
        let column = before.chars().count() as u32 + 1;
        let (line, name) = match file.markers.iter().rev().find(|marker| marker.offset <= offset) {
            Some(marker) => {
                let since = index.saturating_sub(file.line_index(marker.offset)) as u32;
                // Some compilers write `# 0` before the first line. There is no line 0, so the
                // number is at least 1.
                let line = marker.line.saturating_add(since).max(1);
                (line, marker.name.as_deref().unwrap_or(&file.name))
            }
            None => (index as u32 + 1, file.name.as_str()),
        };
        Location { file: name, line, column }
    }

    /// Returns the span of the word at a location that [`SourceMap::location`] has returned, or
    /// `None` if no file has that location.
    pub fn word_at(&self, file: &str, line: u32, column: u32) -> Option<Span> {
        (0..).zip(&self.files).find_map(|(id, source)| {
            let id = FileId(id);
            let start = source.line_starts.iter().position(|start| {
                let found = self.location_at(id, *start);
                found.line == line && found.file == file
            })?;
            let text = source.line_text(start);
            let (before, _) = text.char_indices().nth(column.checked_sub(1)? as usize)?;
            let rest = text.get(before..)?;
            let length = rest
                .find(|character: char| !character.is_alphanumeric() && character != '_')
                .unwrap_or(rest.len());
            let from = source.line_starts.get(start)? + before as u32;
            Some(Span::new(id, from, from + length.max(1) as u32))
        })
    }

    /// Returns the text of the first source line of a span, and the range of characters, counted
    /// from 0, that the span covers in it. If a span covers several lines, the range ends at the
    /// end of the first line.
    pub fn line_of(&self, span: Span) -> (&str, Range<usize>) {
        let Some(file) = self.file(span.file) else { return ("", 0..0) };
        let index = file.line_index(span.start);
        let line = file.line_text(index);
        let line_start = file.line_starts.get(index).map_or(0, |start| *start as usize);
        let characters = |offset: usize| {
            let in_line = offset.saturating_sub(line_start).min(line.len());
            line.char_indices().take_while(|(at, _)| *at < in_line).count()
        };
        let start = characters(span.start as usize);
        (line, start..characters(span.end as usize).max(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let mut map = SourceMap::new();
        let file = map.add("a.p4", "first\n  µ second\nthird");
        let at = |start, end| Span::new(file, start, end);
        assert_eq!(map.location(at(0, 1)).to_string(), "a.p4:1:1");
        // The micro sign takes two bytes but one column.
        assert_eq!(map.text(at(11, 17)), "second");
        assert_eq!(map.location(at(11, 17)).to_string(), "a.p4:2:5");
        assert_eq!(map.line_of(at(11, 17)), ("  µ second", 4..10));
        assert_eq!(map.location(at(18, 23)).to_string(), "a.p4:3:1");
        assert_eq!(map.location(at(23, 23)).to_string(), "a.p4:3:6");
    }

    #[test]
    fn a_span_over_several_lines_is_cut_at_the_end_of_its_first() {
        let mut map = SourceMap::new();
        let file = map.add("a.p4", "one two\r\nthree");
        assert_eq!(map.line_of(Span::new(file, 4, 12)), ("one two", 4..7));
    }

    #[test]
    fn a_line_marker_renames_what_follows() {
        let mut map = SourceMap::new();
        let file = map.add("a.p4", "a\nb\nc\n");
        map.add_line_marker(file, 2, 70, Some("other.p4".to_owned()));
        assert_eq!(map.location(Span::new(file, 0, 1)).to_string(), "a.p4:1:1");
        assert_eq!(map.location(Span::new(file, 4, 5)).to_string(), "other.p4:71:1");
    }

    /// Line 0 occurs in the first line of output of GCC's preprocessor since version 11.
    #[test]
    fn line_numbers_are_at_least_1() {
        let mut map = SourceMap::new();
        let file = map.add("a.p4", "a\nb\n");
        map.add_line_marker(file, 0, 0, Some("b.p4".to_owned()));
        assert_eq!(map.location(Span::new(file, 0, 1)).to_string(), "b.p4:1:1");
        assert_eq!(map.location(Span::new(file, 2, 3)).to_string(), "b.p4:1:1");
    }

    #[test]
    fn words_are_found_by_their_locations() {
        let mut map = SourceMap::new();
        let first = map.add("a.p4", "table µ one;\n  @x(2)\n\n");
        let second = map.add("b.p4", "a\nb c\n");
        map.add_line_marker(second, 2, 70, Some("other.p4".to_owned()));
        for span in [Span::new(first, 0, 5), Span::new(first, 9, 12), Span::new(first, 16, 17)] {
            let location = map.location(span);
            assert_eq!(map.word_at(location.file, location.line, location.column), Some(span));
        }
        assert_eq!(map.word_at("other.p4", 70, 3), Some(Span::new(second, 4, 5)));
        for (file, line, column) in
            [("c.p4", 1, 1), ("a.p4", 9, 1), ("a.p4", 1, 90), ("a.p4", 1, 0)]
        {
            assert_eq!(map.word_at(file, line, column), None);
        }
    }

    #[test]
    fn spans_join_only_within_a_file_and_forwards() {
        let mut map = SourceMap::new();
        let (a, b) = (map.add("a", "aaaa"), map.add("b", "bbbb"));
        assert_eq!(Span::new(a, 0, 1).to(Span::new(a, 2, 3)), Span::new(a, 0, 3));
        assert_eq!(Span::new(a, 0, 1).to(Span::new(b, 2, 3)), Span::new(a, 0, 1));
        assert_eq!(Span::new(a, 2, 3).to(Span::new(a, 0, 1)), Span::new(a, 2, 3));
    }
}
