//! A document as text that fits the terminal.

use super::super::table::{Cell, Content, Table};
use super::{Document, Section};
use crate::format::{duration, printable};
use crate::notes::merged;
use crate::terminal::{Cell as GridCell, Column, Grid, Layout, Paint};

/// The findings, and each section with its tables. Ends with a newline.
#[must_use]
pub fn text(document: &Document, layout: Layout) -> String {
    let mut out = layout.paragraph("", &printable(&document.title), Paint::Strong);
    let facts = format!(
        "{}, took {}",
        document.provenance.started_at,
        duration(document.provenance.elapsed_s)
    );
    out.push_str(&layout.paragraph("", &facts, Paint::Faint));
    if let Some(reason) = &document.partial {
        out.push_str(&layout.paragraph("PARTIAL  ", &printable(reason), Paint::Bad));
    }
    for one in &document.sections {
        out.push_str(&section(one, layout));
    }
    for (heading, lines) in [("What was found", &document.findings), ("Notes", &document.notes)] {
        if !lines.is_empty() {
            out.push_str(&layout.heading(heading));
        }
        for line in merged(lines.iter().map(String::as_str)) {
            out.push_str(&layout.paragraph("  - ", &printable(&line), Paint::Plain));
        }
    }
    out
}

fn section(section: &Section, layout: Layout) -> String {
    let mut out = layout.heading(&printable(&section.title));
    for text in &section.text {
        out.push_str(&layout.paragraph("  ", &printable(text), Paint::Plain));
    }
    for one in &section.tables {
        out.push_str(&table(one, layout));
    }
    for (what, command) in &section.commands {
        out.push_str(&layout.paragraph("  ", &printable(what), Paint::Faint));
        // A command is copied, so it is not broken.
        out.push_str(&format!("    {}\n", printable(command)));
    }
    out
}

/// Characters of a cell of words; the page has all of them.
const LONGEST: usize = 36;
/// Of one in a narrow column.
const LEAST: usize = 14;

fn table(table: &Table, layout: Layout) -> String {
    let mut out = layout.paragraph("  ", &table.caption, Paint::Faint);
    let cells = || table.rows().flatten();
    if cells().all(|cell| cell.value().is_none())
        && cells().any(|cell| words(cell).chars().count() > LONGEST)
    {
        return out + &listed(table, layout);
    }
    let prose = |place: usize| {
        let mut own = table.rows().filter_map(|row| row.get(place));
        own.all(|cell| cell.value().is_none())
    };
    let columns = table.columns.iter().enumerate().map(|(place, column)| match place {
        0 => Column::left(column.name.clone()).indent(4),
        // Where there is no room, words are left out before values, and later columns before earlier ones.
        place => {
            let rank = u8::try_from(place).unwrap_or(100).min(100) - 1;
            let rank = if prose(place) { 100 + rank } else { rank };
            Column::right(column.name.clone()).rank(rank)
        }
    });
    let mut grid = Grid::new(columns.collect());
    let limits = limits(table, layout, prose);
    for row in table.rows() {
        let words = row.iter().zip(&limits).map(|(cell, limit)| shortened(cell, *limit));
        grid.row(words.map(GridCell::new).collect());
    }
    out.push_str(&grid.render(layout));
    out
}

fn words(cell: &Cell) -> String {
    cell.shown().plain()
}

/// How long words in each column may be, so that all columns of values fit. The first column takes what is left.
fn limits(table: &Table, layout: Layout, prose: impl Fn(usize) -> bool) -> Vec<usize> {
    let width = |place: usize, counts: fn(&Cell) -> bool| {
        let cells = table.rows().filter_map(|row| row.get(place));
        let cells = cells.filter(|cell| counts(cell)).map(|cell| words(cell).chars().count());
        cells.max().unwrap_or(0).max(table.columns[place].name.chars().count())
    };
    let values = |cell: &Cell| cell.value().is_some();
    let room = layout.columns().saturating_sub(4);
    let shown = || (1..table.columns.len()).filter(|place| !prose(*place));
    let whole: usize = shown().map(|place| width(place, |_| true).min(LONGEST) + 2).sum();
    let narrow = width(0, |_| true) + whole > room;
    let others: Vec<usize> = (1..table.columns.len())
        .map(|place| match narrow && !prose(place) {
            true => width(place, values).max(LEAST),
            false => LONGEST,
        })
        .collect();
    let taken: usize = shown().map(|place| others[place - 1] + 2).sum();
    let first = if narrow { room.saturating_sub(taken).max(LEAST) } else { usize::MAX };
    std::iter::once(first).chain(others).collect()
}

/// Words that fit; a value is never cut.
fn shortened(cell: &Cell, limit: usize) -> String {
    let words = words(cell);
    match cell.content {
        Content::Text(_) if words.chars().count() > limit => {
            words.chars().take(limit - 1).chain(['…']).collect()
        }
        _ => words,
    }
}

/// A table of sentences, which no column holds: a paragraph for each row.
fn listed(table: &Table, layout: Layout) -> String {
    let mut out = String::new();
    for row in table.rows() {
        let Some((name, cells)) = row.split_first() else { continue };
        let told = table.columns.iter().skip(1).zip(cells);
        let told = told.filter(|(_, cell)| cell.content != Content::Nothing);
        let told: Vec<String> =
            told.map(|(column, cell)| format!("{}: {}", column.name, words(cell))).collect();
        let text = format!("{}; {}", words(name), told.join("; "));
        out.push_str(&layout.paragraph("    ", &text, Paint::Plain));
    }
    out
}
