//! Tables of a report page, independent of the format in which the page is written.

use super::text::{Text, Tone};
use crate::format::printable;
use crate::value::Value;

/// A table whose first column names its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<Group>,
    /// Whether the table is shown only in the page and the files, because it is too long for a
    /// terminal.
    pub(super) is_detail: bool,
}

/// Rows of a table that belong together, below a common title.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Group {
    pub(super) title: Option<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The kind of content that the cells of a column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers with units, aligned to the right.
    Figures,
    /// A few words, such as a name.
    Words,
    /// Sentences, which may take several lines.
    Prose,
    /// A kind that depends on the cells: figures if all of them are values, and prose if one of
    /// them contains text.
    Values,
}

/// A cell of a table, with the tone in which it is shown.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cell {
    pub(super) content: Content,
    pub(super) tone: Tone,
}

/// The content of a cell.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) enum Content {
    /// The cell is empty, because its value was not measured or not published.
    #[default]
    Nothing,
    Text(Text),
    Value(Value),
}

impl Table {
    /// Returns a table that has no rows yet.
    pub fn new(caption: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Self {
        let (caption, columns) = (caption.into(), columns.into_iter().collect());
        Self { caption, columns, groups: Vec::new(), is_detail: false }
    }

    /// Returns the table as one that is shown in the page, but not on the terminal.
    #[must_use]
    pub fn only_in_page(self) -> Self {
        Self { is_detail: true, ..self }
    }

    /// Returns a table that has no rows yet. Its first column names the rows, and the others
    /// contain values.
    pub fn of_values<'a>(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let columns = columns.into_iter().enumerate().map(|(place, name)| match place {
            0 => Column::words(printable(name)),
            _ => Column { name: printable(name), kind: Kind::Values },
        });
        Self::new(printable(&caption.into()), columns)
    }

    /// Returns the kind of the column at this index, with `Kind::Values` replaced by what its cells
    /// contain.
    pub(super) fn kind(&self, place: usize) -> Kind {
        let kind = self.columns.get(place).map_or(Kind::Words, |column| column.kind);
        let is_text = |row: &Vec<Cell>| {
            matches!(row.get(place), Some(Cell { content: Content::Text(_), .. }))
        };
        match kind {
            Kind::Values if self.rows().any(is_text) => Kind::Prose,
            Kind::Values => Kind::Figures,
            kind => kind,
        }
    }

    /// Returns all rows of the table, regardless of their group.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Adds a row to the table. The row must have a cell for each column.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let row: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(row.len(), self.columns.len(), "a row of {}", self.caption);
        match self.groups.last_mut() {
            Some(group) => group.rows.push(row),
            None => self.groups.push(Group { title: None, rows: vec![row] }),
        }
    }

    /// Starts a group of rows: its title stands above the rows that are added next.
    pub fn group(&mut self, title: impl Into<String>) {
        self.groups.push(Group { title: Some(title.into()), rows: Vec::new() });
    }

    /// Returns whether the table has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.rows.is_empty())
    }
}

impl Column {
    /// Returns a right-justified column for figures.
    pub fn figures(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Figures }
    }

    /// Returns a column for short text.
    pub fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Words }
    }

    /// Returns a column for sentences, which may take several lines.
    pub fn prose(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Prose }
    }
}

impl Cell {
    /// Returns a cell of text that is highlighted by a tone, for example as bad news.
    pub fn toned(tone: Tone, text: impl Into<Text>) -> Self {
        Self { tone, ..Self::from(text) }
    }

    /// Returns a cell of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(printable(&text.into()))
    }

    /// Returns a cell with this value, or an empty cell.
    pub fn optional(value: Option<Value>) -> Self {
        value.map_or_else(Self::default, Self::from)
    }

    /// Returns the value that the cell contains, or `None` if it is empty or contains words.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        match &self.content {
            Content::Value(value) => Some(*value),
            Content::Nothing | Content::Text(_) => None,
        }
    }

    /// Returns the content of the cell as text for people.
    pub(super) fn shown(&self) -> Text {
        match &self.content {
            Content::Nothing => "–".into(),
            Content::Text(text) => text.clone(),
            Content::Value(value) => value.words().into(),
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self { content: Content::Value(value), tone: Tone::Plain }
    }
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { content: Content::Text(text.into()), tone: Tone::Plain }
    }
}
