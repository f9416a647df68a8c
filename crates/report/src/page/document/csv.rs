//! Writes a CSV file for each table of a report of several measurements. The data of its figures
//! are written next to the files of the figures.

use super::super::table::{Content, Table};
use super::Document;
use crate::csv::Text;
use crate::put::put;
use crate::value::{Spread, Value};

/// Returns the name and the content of the CSV file of each table. A name is like
/// `fig-4-table-1.csv`.
pub fn files(document: &Document) -> impl Iterator<Item = (String, String)> {
    document.sections.iter().flat_map(|section| {
        section
            .tables
            .iter()
            .enumerate()
            .map(|(place, one)| (format!("{}-table-{}.csv", section.id, place + 1), table(one)))
    })
}

/// Formats a table as CSV, with a row for each cell that has a value or words.
fn table(table: &Table) -> String {
    let mut out = String::from("row,column,unit,value,ci95,stddev,approximate\n");
    for row in table.rows() {
        let Some((name, cells)) = row.split_first() else { continue };
        let name = name.shown().plain();
        for (column, cell) in table.columns.iter().skip(1).zip(cells) {
            let (unit, fields) = match &cell.content {
                Content::Nothing => continue,
                Content::Text(text) => ("", format!("{},,,", Text(&text.plain()))),
                Content::Value(value) => (value.unit.text(), fields(*value)),
            };
            put!(out, "{},{},{unit},{fields}\n", Text(&name), Text(&column.name));
        }
    }
    out
}

/// Formats a value as CSV fields: the value, its interval, its deviation, and whether it is
/// approximate.
fn fields(value: Value) -> String {
    let number = value.value;
    match value.spread {
        Spread::None => format!("{number},,,"),
        Spread::Confidence(half) | Spread::Cut { half, .. } | Spread::Untold { half, .. } => {
            format!("{number},{half},,")
        }
        Spread::Deviation(deviation) => format!("{number},,{deviation},"),
        Spread::About => format!("{number},,,true"),
    }
}
