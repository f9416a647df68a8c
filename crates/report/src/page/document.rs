//! Reports of several measurements, called documents. They are written as pages, as text for a
//! terminal ([`terminal`]), as JSON ([`json`]) and as a CSV file for each table ([`csv`]).
//!
//! Tables and figures hold [values](crate::value::Value) with their unit, confidence and origin, so
//! that every form distinguishes published values from measured ones.

pub mod csv;
pub mod json;
pub mod markdown;
pub mod terminal;

use provenance::Provenance;

use super::claims::ClaimGroup;
use super::{Block, Figure, Graphic, Note, Page, Table, Text, Tone};
use crate::alarm::{self, Alarm};
use crate::format::printable;

/// A report of several measurements.
#[derive(Clone, Debug)]
pub struct Document {
    /// The command that wrote the document, such as `demo`.
    pub kind: &'static str,
    /// The title of the document.
    pub title: String,
    /// The findings of the measurements, one sentence each, the most important first.
    pub findings: Vec<String>,
    /// Notes that a reader needs to judge the findings.
    pub notes: Vec<String>,
    /// The reason why the document is incomplete, or `None` if it is complete.
    pub partial: Option<String>,
    /// The claims of publications with the verdict on each, which stand above all sections.
    pub claims: Vec<ClaimGroup>,
    /// The sections of the document, in order.
    pub sections: Vec<Section>,
    /// The command, the time and the host of the run.
    pub provenance: Provenance,
}

impl Document {
    /// Adds a reason why the document is incomplete.
    pub fn lacks(&mut self, reason: &str) {
        match &mut self.partial {
            Some(known) => {
                known.push_str("; ");
                known.push_str(reason);
            }
            None => self.partial = Some(reason.to_owned()),
        }
    }
}

/// A section of a document.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The name of the section in links and file names: lower-case letters, digits and hyphens.
    pub id: String,
    /// The heading of the section.
    pub title: String,
    /// The paragraphs of the section, below its heading.
    pub text: Vec<String>,
    /// The tables of the section, below its paragraphs.
    pub tables: Vec<Table>,
    /// The figures of the section, below its tables. Plots consist of [lines of
    /// values](crate::plot::Line::of_values).
    pub figures: Vec<Figure>,
    /// Commands with which a reader can repeat the measurement: a description and the command of
    /// each.
    pub commands: Vec<(String, String)>,
    /// Links to files of the run directory: a description and the path of each.
    pub links: Vec<(String, String)>,
}

impl Document {
    /// Returns the document as a page, which is written as `report.html`.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::of_run(&self.provenance, self.kind, printable(&self.title));
        // Work that a lost process left undone is reported with the shares of the processes, and is
        // not repeated here.
        if let Some(reason) = self
            .partial
            .as_ref()
            .filter(|reason| Some(*reason) != self.provenance.missing().as_ref())
        {
            let text = format!("This report is partial: {}", printable(reason));
            page.alarm(Alarm::new(alarm::Kind::Partial, "PARTIAL", text));
        }
        let findings = self.findings.iter().map(|line| labelled(&printable(line))).collect();
        page.lead(Block::Card(Tone::Plain, findings));
        let notes = self.notes.iter().map(|note| Note::plain(printable(note))).collect();
        page.lead(Block::Notes(notes));
        page.lead(Block::Claims(self.claims.clone()));
        for (number, one) in self.sections.iter().enumerate() {
            let before = self.sections.get(..number).unwrap_or_default();
            page.section(one.id.clone(), printable(&one.title), one.blocks(before));
        }
        let files = [
            ("result.json", "every figure of this page, with its origin and interval"),
            ("data/", "each table as CSV, in base units"),
        ];
        page.method(Vec::new(), Some(&self.provenance.host), [("", ""); 0], files);
        page
    }
}

impl Section {
    /// Returns the short title of an earlier section that contains a table equal to this one, or
    /// `None` if there is none.
    fn has_too<'s>(table: &Table, before: &'s [Self]) -> Option<&'s str> {
        let other = before.iter().find(|section| section.tables.contains(table))?;
        other.title.split(':').next()
    }

    fn blocks(&self, before: &[Self]) -> Vec<Block> {
        let mut blocks: Vec<Block> =
            self.text.iter().map(|text| Block::Paragraph(printable(text).into())).collect();
        // A table that several sections share is shown once.
        blocks.extend(self.tables.iter().map(|table| match Self::has_too(table, before) {
            Some(name) => {
                let text = format!("{}: as for {name}.", table.caption);
                Block::Remark(printable(&text).into())
            }
            None => Block::Table(table.clone()),
        }));
        blocks.push(Block::Figures(self.figures.iter().map(with_origins).collect()));
        for (what, command) in &self.commands {
            blocks.push(Block::Remark(printable(what).into()));
            blocks.push(Block::Command(printable(command)));
        }
        let links = self.links.iter().map(|(what, place)| (what.as_str(), Text::file(place)));
        blocks.push(Block::facts(links));
        blocks
    }
}

/// Returns the text with the words before its first colon emphasised, if these words are a label.
fn labelled(text: &str) -> Text {
    match text.split_once(": ") {
        Some((label, rest)) if label.chars().count() <= 60 && !is_sentence(label) => {
            Text::strong(format!("{label}:")).and(format!(" {rest}"))
        }
        _ => text.into(),
    }
}

/// Returns whether a text contains the end of a sentence, and is therefore no label. The full stops
/// of abbreviations before numbers of figures and equations do not count.
fn is_sentence(label: &str) -> bool {
    label.replace("Fig. ", "").replace("Eq. ", "").contains(['.', ';'])
}

fn with_origins(figure: &Figure) -> Figure {
    let graphic = match figure.graphic.clone() {
        Graphic::Plot(plot) => Graphic::Plot(plot.with_origins()),
        other => other,
    };
    Figure { graphic, ..figure.clone() }
}
