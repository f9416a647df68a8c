//! The page of a document.

use std::collections::BTreeMap;

use super::{Axis, Cell, Chart, Document, Origin, Scale, Section, Spread, Table};
use crate::format::printable;
use crate::page::{self, Block, Column, Figure, Note, Page, Text, Tone};
use crate::plot::{self, Line, Plot, Point, Style};

/// The page.
#[must_use]
pub fn page(document: &Document) -> Page {
    let mut page = Page::of_run(&document.provenance, document.kind, printable(&document.title));
    if let Some(reason) = &document.partial {
        let text = format!("This report is partial: {}", printable(reason));
        page.lead(Block::card(Tone::Bad, Text::strong(text)));
    }
    if !document.findings.is_empty() {
        let lines = document.findings.iter().map(|line| Text::from(printable(line)));
        page.lead(Block::Card(Tone::Good, lines.collect()));
    }
    page.lead(Block::Notes(
        document.notes.iter().map(|note| Note::plain(printable(note))).collect(),
    ));
    for one in &document.sections {
        page.section(one.id.clone(), printable(&one.title), blocks(one));
    }
    let files = [
        ("result.json", "every figure of this page, with its origin and interval"),
        ("data/", "each table as CSV, in base units"),
    ];
    page.method(Vec::new(), Some(&document.provenance.host), [("", ""); 0], files);
    page
}

fn blocks(section: &Section) -> Vec<Block> {
    let mut blocks: Vec<Block> =
        section.text.iter().map(|text| Block::Paragraph(printable(text).into())).collect();
    blocks.extend(section.tables.iter().map(|one| Block::Table(table(one))));
    blocks.push(Block::Figures(section.charts.iter().map(figure).collect()));
    for (what, command) in &section.commands {
        blocks.push(Block::Remark(printable(what).into()));
        blocks.push(Block::Command(printable(command)));
    }
    let links = section.links.iter().map(|(what, place)| (what.as_str(), Text::file(place)));
    blocks.push(Block::facts(links));
    blocks
}

fn table(table: &Table) -> page::Table {
    let words = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| matches!(cell, Cell::Text(_)))
    };
    let columns = table.columns.iter().enumerate().map(|(place, name)| match place {
        0 => Column::words(printable(name)),
        place if words(place) => Column::prose(printable(name)),
        _ => Column::figures(printable(name)),
    });
    let mut out = page::Table::new(printable(&table.caption), columns);
    for row in &table.rows {
        out.row(row.iter().map(Cell::words));
    }
    out
}

fn figure(chart: &Chart) -> Figure {
    let mut hues: BTreeMap<&str, usize> = BTreeMap::new();
    for series in &chart.series {
        let next = hues.len();
        hues.entry(&series.name).or_insert(next);
    }
    let several = chart.series.iter().any(|series| series.origin != Origin::Measured);
    let lines = chart.series.iter().map(|series| {
        let style = Style::series(hues[series.name.as_str()]);
        let style = match series.origin {
            Origin::Published => style.hollow(),
            Origin::Measured => style.filled(),
            Origin::Computed => style,
        };
        let name = match several {
            true => format!("{}, {}", series.name, series.origin.word()),
            false => series.name.clone(),
        };
        let points = series.points.iter().map(|(x, value)| Point {
            x: *x,
            y: value.value,
            interval: match value.spread {
                Spread::Confidence(half) => Some(half),
                _ => None,
            },
            tip: Some(format!("{name}: {}", value.words())),
        });
        Line::new(name.clone(), points.collect(), style)
    });
    let lines = lines.collect();
    let description = format!("{} against {}.", chart.y.label, chart.x.label);
    let plot = Plot::new(chart.title.clone(), description, axis(&chart.x), axis(&chart.y));
    Figure::plot(Plot { lines, ..plot }, chart.remark.clone())
}

fn axis(axis: &Axis) -> plot::Axis {
    match axis.scale {
        Scale::Linear => plot::Axis::linear(axis.label.clone(), axis.unit),
        Scale::Logarithmic => plot::Axis::logarithmic(axis.label.clone(), axis.unit),
        Scale::PowersOfTwo => plot::Axis::binary(axis.label.clone()),
    }
}
