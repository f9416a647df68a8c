//! A document as text that fits the terminal.

use super::{Document, Section, Table};
use crate::format::{duration, printable};
use crate::notes::merged;
use crate::terminal::{Cell as GridCell, Column, Grid, Layout, Paint};

/// The findings, and each section with its tables. Ends with a newline.
#[must_use]
pub fn text(document: &Document, layout: Layout) -> String {
    let mut out = layout.paragraph("", &printable(&document.title), Paint::Strong);
    let facts = format!("{}, took {}", document.started_at, duration(document.elapsed_s));
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

fn table(table: &Table, layout: Layout) -> String {
    let mut out = layout.paragraph("  ", &printable(&table.caption), Paint::Faint);
    let columns = table.columns.iter().enumerate().map(|(place, name)| match place {
        0 => Column::left(printable(name)).indent(4),
        // Columns at the end are left out first where there is no room.
        place => Column::right(printable(name)).rank(u8::try_from(place).unwrap_or(u8::MAX) - 1),
    });
    let mut grid = Grid::new(columns.collect());
    for row in &table.rows {
        grid.row(row.iter().map(|cell| GridCell::new(cell.words())).collect());
    }
    out.push_str(&grid.render(layout));
    out
}
