//! Tables.

use super::text::{Text, Tone};

/// A table: the first column names its rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<Group>,
}

/// Rows that belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) title: Option<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Figures,
    Words,
    Prose,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub(super) text: Text,
    pub(super) tone: Tone,
}

impl Table {
    /// A table without rows.
    pub fn new(caption: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Self {
        Self { caption: caption.into(), columns: columns.into_iter().collect(), groups: Vec::new() }
    }

    /// A row, which has a cell for each column.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let row: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(row.len(), self.columns.len(), "a row of {}", self.caption);
        match self.groups.last_mut() {
            Some(group) => group.rows.push(row),
            None => self.groups.push(Group { title: None, rows: vec![row] }),
        }
    }

    /// What the rows that follow have in common, above them.
    pub fn group(&mut self, title: impl Into<String>) {
        self.groups.push(Group { title: Some(title.into()), rows: Vec::new() });
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.rows.is_empty())
    }
}

impl Column {
    /// A column of figures, right-justified.
    pub fn figures(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Figures }
    }

    /// A column of words.
    pub fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Words }
    }

    /// A column of sentences, which may take several lines.
    pub fn prose(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Prose }
    }
}

impl Cell {
    /// A cell that stands out as good or bad news.
    pub fn toned(tone: Tone, text: impl Into<Text>) -> Self {
        Self { text: text.into(), tone }
    }
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}
