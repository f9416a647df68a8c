//! Lays out tables so that they fit the terminal.

use super::layout::Layout;

/// The colour or emphasis in which a text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
}

impl Paint {
    pub(super) fn around(self, text: &str) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A column of a table that is printed on a terminal.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    title: String,
    right: bool,
    indent: usize,
    /// The order in which columns are omitted if a table is too wide. Columns with the highest
    /// number are omitted first, and columns with 0 are never omitted.
    rank: u8,
}

impl Column {
    pub(crate) fn left(title: impl Into<String>) -> Self {
        Self { title: title.into(), right: false, indent: 0, rank: 0 }
    }

    pub(crate) fn right(title: impl Into<String>) -> Self {
        Self { right: true, ..Self::left(title) }
    }

    pub(crate) fn indent(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    pub(crate) fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// A cell of a table that is printed on a terminal.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    paint: Paint,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::painted(text, Paint::Plain)
    }

    pub(crate) fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self { text: text.into(), paint }
    }
}

/// A table that is printed on a terminal, with a title above each column.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

/// A row of cells, or a line of text across all columns.
#[derive(Clone, Debug)]
enum Row {
    Cells(Vec<Cell>),
    Section(String),
}

/// The number of spaces between two columns.
const GAP: usize = 2;
/// The number of spaces before the second and further lines of a row.
const CONTINUED: usize = 4;
/// The smallest number of characters to which the text in a last column is shortened.
const MIN_TEXT: usize = 8;

impl Grid {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row to the table. Missing cells at the end are empty.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::Cells(cells));
    }

    /// Returns whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a line across all columns as a heading of the rows below it.
    pub(crate) fn section(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Section(text.into()));
    }

    /// Returns the table as lines of text that fit the terminal.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let shown = self.fitting(&widths, layout.columns());
        let lines = self.lines(&shown, &widths, layout.columns());
        let mut out = String::new();
        if self.columns.iter().any(|c| !c.title.is_empty()) {
            let titles: Vec<_> =
                self.columns.iter().map(|c| Cell::painted(c.title.clone(), Paint::Faint)).collect();
            self.row_of(&mut out, &titles, &lines, &widths, layout);
        }
        for row in &self.rows {
            match row {
                Row::Cells(cells) => self.row_of(&mut out, cells, &lines, &widths, layout),
                Row::Section(text) => out.push_str(&layout.paragraph("", text, Paint::Strong)),
            }
        }
        out
    }

    /// Returns the width of a column in characters, without its indent. A column without any text
    /// has width 0.
    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => cells.get(column),
            Row::Section(_) => None,
        });
        let widest = cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0);
        widest.max(self.columns[column].title.chars().count())
    }

    /// Returns the indices of the columns that fit into `room` characters, given the width of each
    /// column. The columns that are never omitted may need more room.
    fn fitting(&self, widths: &[usize], room: usize) -> Vec<usize> {
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|column| widths[*column] > 0).collect();
        while self.needed(&shown, widths) > room {
            let ranked = shown.iter().copied().filter(|c| self.columns[*c].rank > 0);
            match ranked.max_by_key(|c| self.columns[*c].rank) {
                Some(column) => shown.retain(|c| *c != column),
                None => break,
            }
        }
        shown
    }

    /// Returns the number of characters that these columns take side by side.
    fn needed(&self, columns: &[usize], widths: &[usize]) -> usize {
        let all: usize = columns.iter().map(|c| widths[*c] + self.columns[*c].indent + GAP).sum();
        all.saturating_sub(GAP)
    }

    /// Divides the columns that are shown among the lines of a row, so that each line fits into
    /// `room` characters. A row has several lines only if the columns are too wide together and
    /// the last column contains figures, which must not be cut. If the last column contains text,
    /// the text is shortened instead.
    fn lines(&self, shown: &[usize], widths: &[usize], room: usize) -> Vec<Vec<usize>> {
        let [before @ .., last] = shown else { return Vec::new() };
        let beside = room.saturating_sub(self.needed(before, widths) + GAP);
        let is_cut = !self.columns[*last].right && beside >= MIN_TEXT;
        if is_cut || self.needed(shown, widths) <= room {
            return vec![shown.to_vec()];
        }
        let mut lines: Vec<Vec<usize>> = Vec::new();
        for &column in shown {
            let indent = if lines.len() > 1 { CONTINUED } else { 0 };
            match lines.last_mut() {
                Some(line) if self.needed(line, widths) + indent + GAP + widths[column] <= room => {
                    line.push(column);
                }
                _ => lines.push(vec![column]),
            }
        }
        lines
    }

    /// Appends one row of the grid.
    fn row_of(
        &self,
        out: &mut String,
        cells: &[Cell],
        lines: &[Vec<usize>],
        widths: &[usize],
        layout: Layout,
    ) {
        for (number, columns) in lines.iter().enumerate() {
            let indent = if number > 0 { CONTINUED } else { 0 };
            self.line(out, cells, columns, indent, widths, layout);
        }
    }

    /// Appends one line of a row, with the columns that are in it.
    fn line(
        &self,
        out: &mut String,
        cells: &[Cell],
        columns: &[usize],
        indent: usize,
        widths: &[usize],
        layout: Layout,
    ) {
        let mut line = " ".repeat(indent);
        let mut used = indent;
        let blank = Cell::new("");
        for (position, &column) in columns.iter().enumerate() {
            let (cell, about) = (cells.get(column).unwrap_or(&blank), &self.columns[column]);
            let before = about.indent + if position == 0 { 0 } else { GAP };
            used += before;
            let last = position + 1 == columns.len();
            let room = if last { layout.columns().saturating_sub(used) } else { usize::MAX };
            let text = shorten(&cell.text, room);
            let width = widths[column].min(room);
            let padding = width.saturating_sub(text.chars().count());
            used += width;
            line.push_str(&" ".repeat(before));
            if about.right {
                line.push_str(&" ".repeat(padding));
            }
            line.push_str(&layout.paint(&text, cell.paint));
            if !about.right {
                line.push_str(&" ".repeat(padding));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

fn shorten(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(room.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// The units that must stay on one line with the number before them.
const UNITS: [&str; 16] = [
    "%", "ns", "µs", "ms", "s", "k", "M", "G", "k/s", "M/s", "G/s", "B", "KiB", "MiB", "GiB", "min",
];

/// Splits a text into words between which a line may end. A figure with its unit and interval, such
/// as `1.6 ± 1.5 ms`, counts as one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        let joins = |last: &String| {
            let after_number = last.ends_with(|c: char| c.is_ascii_digit());
            last.ends_with('±') || after_number && (bare == "±" || UNITS.contains(&bare))
        };
        match words.last_mut().filter(|last| joins(last)) {
            Some(last) => last.extend([" ", word]),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks a text into lines of at most `width` characters, or of 16 if `width` is less. It breaks
/// between words where possible.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(16);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let mut word: Vec<char> = word.chars().collect();
        let used = line.chars().count();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        // A word longer than a line, such as a path, is split.
        while word.len() > width {
            let rest = word.split_off(width);
            lines.push(word.into_iter().collect());
            word = rest;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Layout = Layout { width: 80, colour: false };

    #[test]
    fn the_least_important_column_goes_first() {
        let wide = "x".repeat(30);
        let mut grid = Grid::new(vec![
            Column::left("a"),
            Column::right("b").rank(2),
            Column::right("c").rank(1),
        ]);
        grid.row(vec![Cell::new(&wide), Cell::new(&wide), Cell::new(&wide)]);
        let text = grid.render(PLAIN);
        let titles = text.lines().next().expect("titles");
        assert!(titles.contains('a') && titles.contains('c') && !titles.contains('b'), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn figures_that_do_not_fit_side_by_side_go_on_in_the_next_line() {
        for (width, count) in [(1, 3), (20, 3), (20, 4), (38, 3), (39, 2), (39, 7), (70, 3)] {
            let columns = (0..count).map(|column| Column::right(format!("title {column}")));
            let mut grid = Grid::new(columns.collect());
            let figures: Vec<_> =
                (1..=count).map(|digit| digit.to_string().repeat(width)).collect();
            grid.row(figures.iter().map(Cell::new).collect());
            let text = grid.render(PLAIN);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            let shown: Vec<_> = text.split_whitespace().collect();
            assert!(figures.iter().all(|figure| shown.contains(&figure.as_str())), "{text}");
        }
    }

    #[test]
    fn text_in_the_last_column_is_shortened() {
        let mut grid = Grid::new(vec![Column::right("n"), Column::left("remark")]);
        grid.row(vec![Cell::new("1".repeat(60)), Cell::new("x".repeat(30))]);
        let text = grid.render(PLAIN);
        let row = format!("{}  {}…", "1".repeat(60), "x".repeat(17));
        assert_eq!(text.lines().nth(1), Some(row.as_str()), "{text}");
    }

    #[test]
    fn colour_does_not_move_columns() {
        let mut grid = Grid::new(vec![Column::left(""), Column::right("n")]);
        grid.row(vec![Cell::painted("pass", Paint::Good), Cell::new("1")]);
        grid.row(vec![Cell::painted("FAIL", Paint::Bad), Cell::new("12")]);
        let coloured = grid.render(Layout { colour: true, ..PLAIN });
        assert!(coloured.contains("\u{1b}[31mFAIL\u{1b}[0m"));
        let stripped = ["\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[0m"]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(stripped, grid.render(PLAIN));
    }

    #[test]
    fn text_wraps_between_words_and_cuts_what_is_longer_than_a_line() {
        assert_eq!(wrap("one two three four five", 16), ["one two three", "four five"]);
        assert_eq!(
            wrap("a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 16),
            ["a", "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "aaa b"]
        );
        assert_eq!(wrap("", 20), [""]);
    }

    #[test]
    fn a_figure_stays_with_its_unit_and_interval() {
        assert_eq!(wrap("offered alone 161 ± 33 M/s.", 20), ["offered alone", "161 ± 33 M/s."]);
        assert_eq!(wrap("within a share of 95 %, or", 18), ["within a share of", "95 %, or"]);
        assert_eq!(wrap("all 3 seconds of 1 switch", 16), ["all 3 seconds of", "1 switch"]);
    }
}
