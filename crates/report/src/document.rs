//! Documents of sections, tables and charts, for reports that put several measurements together.
//!
//! A [`Document`] holds values with their units, confidence and origin; it is filled by whoever measured, and every form is
//! made of it: the page ([`page()`]), the text of a terminal ([`terminal`]), JSON ([`json`]) and a CSV file for each table
//! ([`csv`]). A value that was published elsewhere is told from one that was measured here in all of them.

pub mod csv;
pub mod json;
mod page;
pub mod terminal;

use probe::metrics::Unit;
use provenance::Provenance;
use statistics::Estimate;

pub use page::page;

use crate::format::{figure, mean_and_interval, printable, whole};

/// A report.
#[derive(Clone, Debug)]
pub struct Document {
    /// Which verb made it, such as `demo`.
    pub kind: &'static str,
    /// What it is about.
    pub title: String,
    /// What it found, most important first, a sentence each.
    pub findings: Vec<String>,
    /// What a reader must know to judge it.
    pub notes: Vec<String>,
    /// Why it does not hold all that was asked for, if so.
    pub partial: Option<String>,
    /// In order.
    pub sections: Vec<Section>,
    /// Command, time and host.
    pub provenance: Provenance,
}

/// A part of a document.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its name in links and in names of files: lower case, digits and hyphens.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Paragraphs beneath the heading.
    pub text: Vec<String>,
    /// Tables, below the text.
    pub tables: Vec<Table>,
    /// Charts, below the tables.
    pub charts: Vec<Chart>,
    /// Commands that do the same elsewhere: what for, and the command.
    pub commands: Vec<(String, String)>,
    /// More about it: what, and where in the run directory.
    pub links: Vec<(String, String)>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Names of its columns; the first column names the rows.
    pub columns: Vec<String>,
    /// Rows, as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new<'a>(caption: impl Into<String>, columns: impl IntoIterator<Item = &'a str>) -> Self {
        let columns = columns.into_iter().map(str::to_owned).collect();
        Self { caption: caption.into(), columns, rows: Vec::new() }
    }
}

/// What stands in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing: it was not measured, or not published.
    Nothing,
    /// Words.
    Text(String),
    /// A value.
    Value(Value),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A value, if there is one.
    pub fn optional(value: Option<Value>) -> Self {
        value.map_or(Self::Nothing, Self::Value)
    }

    /// As people read it.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Nothing => "–".to_owned(),
            Self::Text(text) => printable(text),
            Self::Value(value) => value.words(),
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// A value with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// In the base unit of `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// What stands behind it.
    pub spread: Spread,
}

/// What stands behind a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Nothing is said.
    None,
    /// Half the width of the 95 % confidence interval of the mean.
    Confidence(f64),
    /// The sample standard deviation, where no more was published.
    Deviation(f64),
    /// The value is rounded in its source ("about", "around"), or read from a plot.
    About,
}

impl Value {
    /// A value alone.
    #[must_use]
    pub fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit, spread: Spread::None }
    }

    /// A mean over repetitions.
    #[must_use]
    pub fn estimate(estimate: &Estimate, unit: Unit) -> Self {
        let spread = estimate.ci95.map_or(Spread::None, Spread::Confidence);
        Self { value: estimate.mean, unit, spread }
    }

    /// As people read it: `1.471 ± 0.010 k/s`, `≈ 1.5 k/s`.
    #[must_use]
    pub fn words(&self) -> String {
        match self.spread {
            // Counts that are known to the last are told so.
            Spread::None if self.unit == Unit::Count && is_whole(self.value) => {
                whole(self.value as u64)
            }
            Spread::None => figure(self.value, self.unit),
            Spread::About => format!("≈ {}", figure(self.value, self.unit)),
            Spread::Confidence(half) | Spread::Deviation(half) => {
                let (mean, half, suffix) = mean_and_interval(self.value, half, self.unit);
                let sd = if matches!(self.spread, Spread::Deviation(_)) { " (sd)" } else { "" };
                match suffix {
                    "" => format!("{mean} ± {half}{sd}"),
                    "/s" => format!("{mean} ± {half}/s{sd}"),
                    suffix => format!("{mean} ± {half} {suffix}{sd}"),
                }
            }
        }
    }
}

fn is_whole(value: f64) -> bool {
    (0.0..1e15).contains(&value) && value.fract() == 0.0
}

/// A chart of lines.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What the reader should know beside the title.
    pub remark: String,
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// Lines and single points.
    pub series: Vec<Series>,
}

/// An axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is on it, without the unit.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// How values are spread over it.
    pub scale: Scale,
}

impl Axis {
    /// An axis.
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale }
    }
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By their logarithm.
    Logarithmic,
    /// By their logarithm, with ticks at powers of two.
    PowersOfTwo,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are; both origins of one thing have the same name.
    pub name: String,
    /// Who measured.
    pub origin: Origin,
    /// Horizontal and vertical value; the vertical one with its spread.
    pub points: Vec<(f64, Value)>,
}

/// Who measured a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Others, and published it.
    Published,
    /// This run.
    Measured,
    /// Nobody: it follows from a formula or a model.
    Computed,
}

impl Origin {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Measured => "measured",
            Self::Computed => "computed",
        }
    }
}
