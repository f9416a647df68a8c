//! Prints the predicted delays of the paths through a P4 program.

use std::collections::BTreeMap;

use ::device::program::PathPrediction;
use ::device::{Model, SettingModel};

use crate::format::{plural, printable};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// The largest number of paths that are shown.
const MAX_SHOWN: usize = 20;

/// Returns the predicted delay of each path through a program, with the slowest first, and the
/// parts of paths that the model does not cover. The text ends with a newline.
#[must_use]
pub fn paths_table(
    model: &Model,
    under: &SettingModel,
    paths: &[PathPrediction],
    layout: Layout,
) -> String {
    let title = format!(
        "{}, {}: {}",
        printable(&model.device.name),
        under.setting,
        plural(paths.len() as u64, "path", "paths that differ")
    );
    let mut out = layout.paragraph("", &title, Paint::Strong);
    out.push_str(&grid(model, paths).render(layout));
    if paths.len() > MAX_SHOWN {
        out.push_str(&layout.paragraph(
            "  ",
            &format!("and {} faster ones", paths.len() - MAX_SHOWN),
            Paint::Faint,
        ));
    }
    let nothing = |path: &PathPrediction| {
        path.composition.levels.iter().any(|predicted| predicted.value.0 == 0)
    };
    if paths.iter().take(MAX_SHOWN).any(nothing) {
        let text = "–: the sum of the functions' costs is negative. Repetitions differ by more than functions cost: \
                    measure on a quieter machine, or more packets.";
        out.push_str(&layout.paragraph("  ", text, Paint::Warn));
    }
    if let Some(worst) = paths.first() {
        out.push_str(&layout.paragraph(
            "Worst path  ",
            &printable(&worst.path.decisions.join(" › ")),
            Paint::Plain,
        ));
        if !worst.composition.refused.is_empty() {
            let names: Vec<&str> =
                worst.composition.refused.iter().map(|name| name.as_str()).collect();
            let text =
                format!("what {} cost is not a constant: the sum is empirical", names.join(", "));
            out.push_str(&layout.paragraph("            ", &text, Paint::Warn));
        }
    }
    let mut beyond: BTreeMap<&str, usize> = BTreeMap::new();
    for part in paths.iter().flat_map(|path| path.beyond.keys()) {
        *beyond.entry(part).or_default() += 1;
    }
    if !beyond.is_empty() {
        let each = beyond
            .iter()
            .map(|(part, count)| format!("{part} in {}", plural(*count as u64, "path", "paths")));
        let text = format!(
            "Counted although the path does not contain it, since it was measured only together with functions of \
             the path: {}.",
            each.collect::<Vec<_>>().join(", ")
        );
        out.push_str(&layout.paragraph("", &text, Paint::Plain));
    }
    out.push_str(&unmeasured(under, paths, layout));
    out
}

/// Returns a table with a row for each of the slowest paths.
fn grid(model: &Model, paths: &[PathPrediction]) -> Grid {
    let mut columns = vec![Column::right("path").indent(2)];
    columns.extend(model.levels().iter().map(|level| Column::right(level.to_string())));
    columns.extend([Column::right("not measured"), Column::left("functions").rank(1)]);
    let mut grid = Grid::new(columns);
    for (number, path) in (1..).zip(paths).take(MAX_SHOWN) {
        let unmeasured: u32 = path.unmeasured.values().sum();
        let at_least = if unmeasured > 0 { "≥ " } else { "" };
        let mut cells = vec![Cell::new(number.to_string())];
        cells.extend(path.composition.levels.iter().map(|predicted| match predicted.value.0 {
            0 => Cell::painted("–", Paint::Warn),
            _ => Cell::new(format!("{at_least}{}", predicted.value)),
        }));
        let paint = if unmeasured > 0 { Paint::Warn } else { Paint::Good };
        cells.push(Cell::painted(unmeasured.to_string(), paint));
        let names: Vec<&str> = path.functions.iter().map(|name| name.as_str()).collect();
        cells.push(Cell::new(if names.is_empty() {
            "the baseline".to_owned()
        } else {
            names.join(" + ")
        }));
        grid.row(cells);
    }
    grid
}

/// Returns the parts of paths that the model does not cover, each with the number of paths that
/// contain it.
fn unmeasured(under: &SettingModel, paths: &[PathPrediction], layout: Layout) -> String {
    let mut out = String::new();
    let mut unmeasured: BTreeMap<&str, usize> = BTreeMap::new();
    for part in paths.iter().flat_map(|path| path.unmeasured.keys()) {
        *unmeasured.entry(part).or_default() += 1;
    }
    if !unmeasured.is_empty() {
        out.push_str(&layout.heading(
            "Not measured and not estimated: delays of paths with these functions include only the measured functions",
        ));
        for (part, count) in unmeasured {
            out.push_str(&layout.paragraph(
                "  - ",
                &format!("{part}, in {}", plural(count as u64, "path", "paths")),
                Paint::Plain,
            ));
        }
        if under.functions.iter().all(|function| function.function.consists_of.is_empty()) {
            let text = "No function of this model names the parts of a program that it consists of (`consists_of`).";
            out.push_str(&layout.paragraph("  ", text, Paint::Warn));
        }
    }
    out
}
