//! A page that puts several measurements together, and that also exists as the text of a terminal ([`terminal`]), as JSON
//! ([`json`]) and as a CSV file for each table ([`csv`]).
//!
//! Its tables and figures hold [values](crate::value::Value) with their unit, confidence and origin, so that a value that was
//! published elsewhere is told from one that was measured here in every form.

pub mod csv;
pub mod json;
pub mod terminal;

use provenance::Provenance;

use super::{Block, Figure, Graphic, Note, Page, Table, Text, Tone};
use crate::alarm::{self, Alarm};
use crate::format::printable;

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

impl Document {
    /// It does not hold all that was asked for, for this reason too.
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
    /// Figures, below the tables, of [lines of values](crate::plot::Line::of_values).
    pub figures: Vec<Figure>,
    /// Commands that do the same elsewhere: what for, and the command.
    pub commands: Vec<(String, String)>,
    /// More about it: what, and where in the run directory.
    pub links: Vec<(String, String)>,
}

impl Document {
    /// Returns the page.
    #[must_use]
    pub fn page(&self) -> Page {
        let mut page = Page::of_run(&self.provenance, self.kind, printable(&self.title));
        // What is missing since a process was lost is said with who did what.
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
    /// Returns an earlier section that has a table too, as it is called in short.
    fn has_too<'s>(table: &Table, before: &'s [Self]) -> Option<&'s str> {
        let other = before.iter().find(|section| section.tables.contains(table))?;
        other.title.split(':').next()
    }

    fn blocks(&self, before: &[Self]) -> Vec<Block> {
        let mut blocks: Vec<Block> =
            self.text.iter().map(|text| Block::Paragraph(printable(text).into())).collect();
        // What several sections have in common is said once.
        blocks.extend(self.tables.iter().map(|table| match Self::has_too(table, before) {
            Some(name) => {
                let text = format!("{}: as for {name}.", table.caption);
                Block::Remark(printable(&text).into())
            }
            None => Block::Table(table.clone()),
        }));
        blocks.push(Block::Figures(self.figures.iter().map(told_apart).collect()));
        for (what, command) in &self.commands {
            blocks.push(Block::Remark(printable(what).into()));
            blocks.push(Block::Command(printable(command)));
        }
        let links = self.links.iter().map(|(what, place)| (what.as_str(), Text::file(place)));
        blocks.push(Block::facts(links));
        blocks
    }
}

/// Returns the text, whose first words stand out if they say what it is about.
fn labelled(text: &str) -> Text {
    match text.split_once(": ") {
        Some((label, rest)) if label.chars().count() <= 60 && !is_sentence(label) => {
            Text::strong(format!("{label}:")).and(format!(" {rest}"))
        }
        _ => text.into(),
    }
}

/// Whether a stop ends something in it, other than the short words before numbers of figures and equations.
fn is_sentence(label: &str) -> bool {
    label.replace("Fig. ", "").replace("Eq. ", "").contains(['.', ';'])
}

fn told_apart(figure: &Figure) -> Figure {
    let graphic = match figure.graphic.clone() {
        Graphic::Plot(plot) => Graphic::Plot(plot.told_apart()),
        other => other,
    };
    Figure { graphic, ..figure.clone() }
}
