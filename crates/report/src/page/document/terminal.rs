//! Formats a report of several measurements as text for a terminal.

use super::super::claims;
use super::super::table::{Cell, Content, Table};
use super::{Document, Section};
use crate::format::{duration, plural, printable};
use crate::notes::merged;
use crate::terminal::{Cell as GridCell, Column, Grid, Layout, Paint, wrap};

/// Formats a document as text: each section with its tables, then findings and notes. The text ends
/// with a newline.
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
    out.push_str(&claims::text(&document.claims, layout));
    for (number, one) in document.sections.iter().enumerate() {
        out.push_str(&section(one, &document.sections[..number], layout));
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

fn section(section: &Section, before: &[Section], layout: Layout) -> String {
    let mut out = layout.heading(&printable(&section.title));
    for text in &section.text {
        out.push_str(&layout.paragraph("  ", &printable(text), Paint::Plain));
    }
    for one in &section.tables {
        out.push_str(&match Section::has_too(one, before) {
            Some(name) => {
                layout.paragraph("  ", &format!("{}: as for {name}", one.caption), Paint::Faint)
            }
            None => table(one, layout),
        });
    }
    for (what, command) in &section.commands {
        out.push_str(&layout.paragraph("  ", &printable(what), Paint::Faint));
        // A command is not wrapped, so that it can be copied.
        out.push_str(&format!("    {}\n", printable(command)));
    }
    out
}

/// The longest text of a cell, in characters, for which a table without figures is printed in
/// columns. If a cell has a longer text, the table is printed as paragraphs.
const LONGEST: usize = 36;
/// The smallest number of characters per line to which a column of words is narrowed.
const LEAST: usize = 16;
/// The number of spaces before a table (`INDENT`) and between its columns (`GAP`).
const INDENT: usize = 4;
const GAP: usize = 2;

/// Formats a table as a grid, or as a list if it has only text and some of it is long.
fn table(table: &Table, layout: Layout) -> String {
    if table.is_detail {
        let rows = plural(table.rows().count() as u64, "row", "rows");
        let text = format!("{}: {rows}, in the report", table.caption);
        return layout.paragraph("  ", &text, Paint::Faint);
    }
    let mut out = layout.paragraph("  ", &table.caption, Paint::Faint);
    let cells = || table.rows().flatten();
    if cells().all(|cell| cell.value().is_none())
        && cells().any(|cell| words(cell).chars().count() > LONGEST)
    {
        return out + &listed(table, layout);
    }
    let shown = widths(table, layout.columns().saturating_sub(INDENT));
    let columns = shown.iter().map(|&(place, _)| {
        let name = table.columns[place].name.clone();
        match place {
            0 => Column::left(name).indent(INDENT),
            place if is_prose(table, place) => Column::left(name),
            _ => Column::right(name),
        }
    });
    let mut grid = Grid::new(columns.collect());
    for row in table.rows() {
        let cells: Vec<Vec<String>> = shown
            .iter()
            .map(|&(place, width)| row.get(place).map_or_else(Vec::new, |cell| lines(cell, width)))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for number in 0..height {
            let line = cells.iter().map(|cell| cell.get(number).cloned().unwrap_or_default());
            grid.row(line.map(GridCell::new).collect());
        }
    }
    out.push_str(&grid.render(layout));
    out
}

fn words(cell: &Cell) -> String {
    cell.shown().plain()
}

fn is_prose(table: &Table, place: usize) -> bool {
    table.rows().filter_map(|row| row.get(place)).all(|cell| cell.value().is_none())
}

/// Returns the index and the width of each column that is shown in `room` characters. Columns of
/// words are narrowed and their words wrapped, but figures never are. If the columns are still too
/// wide, columns of words are left out from the right, then columns of figures. The first column is
/// always shown.
fn widths(table: &Table, room: usize) -> Vec<(usize, usize)> {
    let widest = |place: usize, counts: &dyn Fn(&Cell) -> bool| {
        let cells = table.rows().filter_map(|row| row.get(place)).filter(|cell| counts(cell));
        cells.map(|cell| words(cell).chars().count()).max().unwrap_or(0)
    };
    let whole =
        |place: usize| widest(place, &|_| true).max(table.columns[place].name.chars().count());
    let least = |place: usize| {
        let values = widest(place, &|cell| cell.value().is_some());
        let title = table.columns[place].name.chars().count();
        whole(place).min(LEAST).max(values).max(title)
    };
    let mut shown: Vec<(usize, usize)> =
        (0..table.columns.len()).map(|place| (place, least(place))).collect();
    let taken = |shown: &[(usize, usize)]| -> usize {
        shown.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    while taken(&shown) > room && shown.len() > 1 {
        let prose = shown.iter().skip(1).rposition(|(place, _)| is_prose(table, *place));
        shown.remove(prose.map_or(shown.len() - 1, |at| at + 1));
    }
    // The remaining space goes to the column whose text lacks the most characters.
    for _ in taken(&shown)..room {
        let lacks = |(place, width): &(usize, usize)| whole(*place).saturating_sub(*width);
        match shown.iter_mut().max_by_key(|column| lacks(column)) {
            Some(column) if lacks(column) > 0 => column.1 += 1,
            _ => break,
        }
    }
    shown
}

/// Wraps the text of a cell into lines of `width` characters. A figure stays on a single line.
fn lines(cell: &Cell, width: usize) -> Vec<String> {
    match cell.content {
        Content::Text(_) => wrap(&words(cell), width),
        _ => vec![words(cell)],
    }
}

/// Formats a table of sentences as paragraphs, one for each row.
fn listed(table: &Table, layout: Layout) -> String {
    let mut out = String::new();
    for row in table.rows() {
        let Some((name, cells)) = row.split_first() else { continue };
        let parts = table.columns.iter().skip(1).zip(cells);
        let parts = parts.filter(|(_, cell)| cell.content != Content::Nothing);
        let parts: Vec<String> =
            parts.map(|(column, cell)| format!("{}: {}", column.name, words(cell))).collect();
        let text = format!("{}; {}", words(name), parts.join("; "));
        out.push_str(&layout.paragraph("    ", &text, Paint::Plain));
    }
    out
}
