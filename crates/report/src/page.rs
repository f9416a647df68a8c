//! The model of a report page, for reports of all kinds.
//!
//! A report consists of [`Block`]s: facts, notes, tables, figures. The renderer alone defines their
//! appearance. It also numbers the figures, merges and ranks the notes, and leaves out empty
//! blocks. [`RunDirectory::write_page`](crate::RunDirectory::write_page) writes the page and each
//! of its figures as files.
//!
//! The page is a single file that opens offline. It contains its figures, loads no script, font or
//! picture, and has a content security policy that would block them.

pub mod claims;
mod csv;
pub mod document;
mod escape;
mod figure;
pub(crate) mod latex;
mod method;
mod render;
mod table;
mod text;
mod tree;

pub(crate) use escape::escape;
pub use figure::{Data, Figure, Graphic};
pub use table::{Cell, Column, Table};
pub use text::{Text, Tone};
pub use tree::Branch;

use provenance::Provenance;

use crate::alarm::Alarm;
use crate::format::{command_line, duration, printable};
use crate::notes;
use crate::terminal::grid::Paint;

/// The entry that lists the folder of figures in a block made by [`Block::files`]: its name and its
/// content.
pub const FIGURE_FILES: (&str, &str) =
    ("figures/", "each figure as SVG, as PDF and, its data in base units, as CSV");

/// A report page, which is written as `report.html`.
#[derive(Clone, Debug)]
pub struct Page {
    kicker: String,
    title: String,
    facts: Vec<Text>,
    /// The failures of the run, which stand above everything else on the page.
    alarms: Vec<Alarm>,
    lead: Vec<Block>,
    /// The command line of the run that the page reports (empty if the page does not report a run).
    command: String,
    sections: Vec<Section>,
}

/// A part of a page with a heading, to which the table of contents links.
#[derive(Clone, Debug)]
struct Section {
    id: String,
    title: String,
    blocks: Vec<Block>,
}

/// A piece of content of a page. A block without content is not shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Block {
    /// A heading within a section, or within the part of the page above all sections.
    Heading(String),
    /// A paragraph of text.
    Paragraph(Text),
    /// A remark below a table or figure, in smaller print.
    Remark(Text),
    /// Paragraphs in a box that stands out. The tone determines the colour of the box.
    Card(Tone, Vec<Text>),
    /// The most important figures of the run, in large print.
    Tiles(Vec<Tile>),
    /// Remarks on the run. Those that differ only in numbers are merged, and the most serious come
    /// first.
    Notes(Vec<Note>),
    /// A command line as a user would type it into a shell.
    Command(String),
    /// The content of a file, such as the configuration.
    Listing(String),
    /// Figures, side by side if there is space.
    Figures(Vec<Figure>),
    /// A table of figures or words.
    Table(Table),
    /// Tables, side by side if there is space.
    Tables(Vec<Table>),
    /// Names and values, such as properties of the machine.
    Facts(Vec<(Text, Text)>),
    /// Terms and their meanings in this report.
    Definitions(Vec<(Text, Text)>),
    /// Claims of publications, with the verdict of this run on each.
    Claims(Vec<claims::ClaimGroup>),
    /// Trees whose parts the reader can fold.
    Tree(Vec<Branch>),
    /// Blocks that are hidden until the reader opens them.
    Folded {
        /// The identifier to which links can refer, unique in the page.
        id: Option<String>,
        /// The line that is always visible and opens the blocks.
        summary: Text,
        /// The blocks that are hidden until the reader opens them.
        blocks: Vec<Block>,
    },
}

/// One of the most important figures of a run, shown in large print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The name of the measured quantity.
    pub name: String,
    /// The value with its unit and confidence interval.
    pub value: String,
    /// A few words below the figure on how it was obtained, such as the number of samples.
    pub remark: String,
}

/// A remark on a run, with its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The severity of the remark, which determines its colour and position.
    pub tone: Tone,
    /// The remark, as a sentence.
    pub text: String,
}

impl From<Tone> for Paint {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Plain => Self::Plain,
            Tone::Good => Self::Good,
            Tone::Warning => Self::Warn,
            Tone::Bad => Self::Bad,
        }
    }
}

impl Note {
    /// Creates a remark that informs the reader.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { tone: Tone::Plain, text: text.into() }
    }

    /// Creates a remark that makes the figures doubtful.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { tone: Tone::Warning, text: text.into() }
    }
}

/// Returns the name of the program that wrote a result, with its version and build if the result
/// states them.
pub(crate) fn program(provenance: &Provenance) -> String {
    let version = printable(&provenance.planimeter_version);
    match &provenance.build {
        Some(build) => format!("Planimeter {version} ({})", printable(&build.in_words())),
        None => format!("Planimeter {version}"),
    }
}

impl Page {
    /// Returns a page without content. `kicker`, which is shown in small print above the title,
    /// names the kind of report.
    pub fn new(kicker: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            kicker: kicker.into(),
            title: title.into(),
            facts: Vec::new(),
            alarms: Vec::new(),
            lead: Vec::new(),
            command: String::new(),
            sections: Vec::new(),
        }
    }

    /// Returns a page that reports one run. It states the version, the time and the command line.
    /// `kind` names the kind of report in the plural, such as `P4 programs`.
    pub fn of_run(provenance: &Provenance, kind: &str, title: impl Into<String>) -> Self {
        let mut page = Self::new(format!("{} · {kind}", program(provenance)), title);
        page.start_and_duration(provenance);
        page.command = command_line(&provenance.command);
        crate::shares::lead(&mut page, provenance);
        page
    }

    /// Adds a fact about the run to the line below the title, such as its time or duration.
    pub fn fact(&mut self, fact: impl Into<Text>) {
        self.facts.push(fact.into());
    }

    /// Adds the start time and the duration of the run to the line below the title.
    pub(crate) fn start_and_duration(&mut self, provenance: &Provenance) {
        let started = printable(&provenance.started_at);
        self.fact(format!("started {started}, took {}", duration(provenance.elapsed_s)));
    }

    /// Adds a failure of the run. Failures stand above everything else, the most serious first.
    pub(crate) fn alarm(&mut self, alarm: Alarm) {
        self.alarms.push(alarm);
    }

    /// Adds several failures of the run.
    pub(crate) fn raise(&mut self, alarms: impl IntoIterator<Item = Alarm>) {
        self.alarms.extend(alarms);
    }

    /// Adds a block above all sections of the page, for the most important results.
    pub fn lead(&mut self, block: Block) {
        self.lead.push(block);
    }

    /// Adds a section to the page. The identifier must be unique in the page.
    pub fn section(&mut self, id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) {
        self.sections.push(Section { id: id.into(), title: title.into(), blocks });
    }

    /// Returns the page as the text of an HTML document.
    #[must_use]
    pub fn html(&self) -> String {
        self.render().html
    }
}

impl Block {
    /// Returns a box that stands out, with one paragraph.
    pub fn card(tone: Tone, text: impl Into<Text>) -> Self {
        Self::Card(tone, vec![text.into()])
    }

    /// Returns a block of names and values. Those without a value are not shown.
    pub fn facts<K: Into<Text>, V: Into<Text>>(facts: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Facts(facts.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Returns a block of terms and their meanings.
    pub fn definitions<K: Into<Text>, V: Into<Text>>(
        terms: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self::Definitions(
            terms.into_iter().map(|(term, text)| (term.into(), text.into())).collect(),
        )
    }

    /// Returns a block that lists files of the run directory and what they contain.
    pub fn files<'a, V: Into<Text>>(files: impl IntoIterator<Item = (&'a str, V)>) -> Self {
        Self::facts(files.into_iter().map(|(name, content)| (Text::code(name), content)))
    }

    /// Returns whether the block has no content, so that it is not shown.
    fn is_empty(&self) -> bool {
        match self {
            Self::Heading(_) => false,
            Self::Paragraph(text) | Self::Remark(text) => text.is_empty(),
            Self::Card(_, lines) => lines.iter().all(Text::is_empty),
            Self::Tiles(tiles) => tiles.is_empty(),
            Self::Notes(notes) => notes.is_empty(),
            Self::Command(text) | Self::Listing(text) => text.trim().is_empty(),
            Self::Figures(figures) => figures.iter().all(Figure::is_empty),
            Self::Table(table) => table.is_empty(),
            Self::Tables(tables) => tables.iter().all(Table::is_empty),
            Self::Facts(facts) => facts.iter().all(|(_, value)| value.is_empty()),
            Self::Definitions(terms) => terms.is_empty(),
            Self::Claims(groups) => groups.iter().all(|group| group.claims.is_empty()),
            Self::Tree(branches) => branches.is_empty(),
            Self::Folded { blocks, .. } => blocks.iter().all(Self::is_empty),
        }
    }
}

/// Returns remarks as the page shows them: those that differ only in numbers merged, the most
/// serious first.
fn ranked(notes: &[Note]) -> Vec<Note> {
    let mut ranked = Vec::new();
    for tone in [Tone::Bad, Tone::Warning, Tone::Good, Tone::Plain] {
        let own = notes.iter().filter(|note| note.tone == tone).map(|note| note.text.as_str());
        ranked.extend(notes::merged(own).into_iter().map(|text| Note { tone, text }));
    }
    ranked
}
