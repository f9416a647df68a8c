//! Heat maps of errors: a table with coloured cells, white where the model was derived from.

use ::device::Level;
use ::device::verify::Verification;

use super::{Axes, percent};
use crate::html::escape;
use crate::put::put;

/// How much of the colour the largest error has: text stays readable on it.
const DEEPEST: f64 = 60.0;

/// The heat map of a level (figures 5 and 7 of the paper).
pub(super) fn map(axes: &Axes, verification: &Verification, level: Level) -> String {
    let errors =
        verification.cells.iter().filter(|cell| !cell.training).flat_map(|cell| &cell.errors);
    let of_level = errors.filter(|error| error.level == level);
    let most = of_level.map(|error| error.relative.abs()).fold(0.0, f64::max);
    let mut out = format!(
        "<figure><figcaption><b>{}.</b> <span class=\"remark\">|e<sub>rel</sub>| in %, ▼ where the prediction is too short; \
         the deepest colour is {} %</span></figcaption>\n<div class=\"wide\"><table class=\"heat\"><thead><tr><td>{} \\ {}</td>",
        crate::format::capital(&level.to_string()),
        percent(most),
        escape(&axes.row_title),
        escape(&axes.column_title),
    );
    for column in &axes.columns {
        put!(out, "<th scope=\"col\">{}</th>", escape(column));
    }
    out.push_str("</tr></thead><tbody>\n");
    for (row, name) in axes.rows.iter().enumerate() {
        put!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
        for column in 0..axes.columns.len() {
            let cell = axes.cell(verification, row, column);
            let error = cell.and_then(|cell| cell.errors.iter().find(|error| error.level == level));
            match (cell, error) {
                (Some(cell), Some(error)) => {
                    let tip = format!(
                        "{name} / {}: predicted {}, measured {}",
                        axes.columns[column], error.predicted, error.measured.value
                    );
                    let mark = if error.relative < 0.0 { " ▼" } else { "" };
                    if cell.training {
                        put!(
                            out,
                            "<td class=\"training\" title=\"{}: training\">0</td>",
                            escape(&tip)
                        );
                    } else {
                        let depth =
                            if most > 0.0 { DEEPEST * error.relative.abs() / most } else { 0.0 };
                        put!(
                            out,
                            "<td style=\"background:color-mix(in srgb,var(--s1) {depth:.0}%,var(--page))\" title=\"{}\">{}{mark}</td>",
                            escape(&tip),
                            percent(error.relative.abs())
                        );
                    }
                }
                _ => out.push_str("<td class=\"remark\" title=\"not measured\">–</td>"),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></figure>\n");
    out
}
