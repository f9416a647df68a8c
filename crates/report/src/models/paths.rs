//! Prints the predicted delays of the paths through a P4 program.

use std::collections::BTreeMap;

use ::device::program::{Feasibility, Parts, PathPrediction};
use ::device::{Model, SettingModel};

use crate::format::{plural, printable};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// The statement about a program whose paths are all proved infeasible.
pub(super) const NONE_TAKEN: &str = "Each path is proved infeasible: no packet takes any of them.";

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
    out.push_str(&not_taken(paths, layout));
    if let Some((number, worst)) = worst(paths) {
        out.push_str(&layout.paragraph(
            "Worst path  ",
            &printable(&worst.path.decisions.join(" › ")),
            Paint::Plain,
        ));
        if worst.feasibility != Feasibility::Open {
            let text = format!("path {number}: {}", feasibility_in_words(&worst.feasibility));
            out.push_str(&layout.paragraph("            ", &text, Paint::Plain));
        }
        if !worst.composition.refused.is_empty() {
            let names: Vec<&str> =
                worst.composition.refused.iter().map(|name| name.as_str()).collect();
            let text =
                format!("what {} cost is not a constant: the sum is empirical", names.join(", "));
            out.push_str(&layout.paragraph("            ", &text, Paint::Warn));
        }
    }
    let beyond = paths_with(paths, |path| &path.beyond);
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

/// Returns the parts of paths that `of` selects, such as unmeasured functions, each with the number
/// of paths that contain it. Paths that are proved infeasible do not count, because no packet takes
/// them.
pub(super) fn paths_with<'p>(
    paths: &'p [PathPrediction],
    of: impl Fn(&'p PathPrediction) -> &'p Parts,
) -> BTreeMap<&'p str, usize> {
    let mut counts = BTreeMap::new();
    for path in paths.iter().filter(|path| path.feasibility != Feasibility::Infeasible) {
        for part in of(path).keys() {
            *counts.entry(part.as_str()).or_default() += 1;
        }
    }
    counts
}

/// Returns the slowest path that is not proved infeasible, with its number.
pub(super) fn worst(paths: &[PathPrediction]) -> Option<(usize, &PathPrediction)> {
    let mut taken = (1..).zip(paths);
    taken.find(|(_, path)| path.feasibility != Feasibility::Infeasible)
}

/// Describes in words whether some packet can take a path.
pub(super) fn feasibility_in_words(feasibility: &Feasibility) -> String {
    let word = feasibility.word();
    match feasibility {
        Feasibility::Open => word.to_owned(),
        Feasibility::Infeasible => {
            format!("{word}: no packet takes it, whatever tables and registers contain")
        }
        Feasibility::GivenUp(reason) => format!("{word}: {reason}"),
        Feasibility::Feasible(witness) | Feasibility::CutShort(witness) => {
            let bytes = plural(witness.packet.len() as u64 / 2, "byte", "bytes");
            let mut needs = plural(witness.entries as u64, "table entry", "table entries");
            if witness.settings > 0 {
                let settings = plural(witness.settings as u64, "other setting", "other settings");
                needs = format!("{needs} and {settings}");
            }
            let is_cut = matches!(feasibility, Feasibility::CutShort(_));
            let until = if is_cut { ", which is dropped on the way" } else { "" };
            format!("{word}: a packet of {bytes} on port {} with {needs}{until}", witness.port)
        }
    }
}

/// Returns a paragraph about the paths that no packet takes, if there are some.
fn not_taken(paths: &[PathPrediction], layout: Layout) -> String {
    let count = |wanted: &Feasibility| {
        paths.iter().filter(|path| path.feasibility == *wanted).count() as u64
    };
    let (infeasible, open) = (count(&Feasibility::Infeasible), count(&Feasibility::Open));
    if open == paths.len() as u64 {
        let text = "No packet was searched for any path, so the list may contain paths that no packet takes.";
        return layout.paragraph("  ", text, Paint::Faint);
    }
    if infeasible == paths.len() as u64 {
        return layout.paragraph("  ", NONE_TAKEN, Paint::Warn);
    }
    let mut text = format!("{} proved infeasible", plural(infeasible, "path is", "paths are"));
    if open > 0 {
        text.push_str(&format!(
            "; {} not tried (--witnesses, --time)",
            plural(open, "path was", "paths were")
        ));
    }
    layout.paragraph("  ", &text, Paint::Plain)
}

/// Returns a table with a row for each of the slowest paths.
fn grid(model: &Model, paths: &[PathPrediction]) -> Grid {
    let mut columns = vec![Column::right("path").indent(2)];
    columns.extend(model.levels().iter().map(|level| Column::right(level.to_string())));
    columns.extend([
        Column::right("not measured"),
        Column::left("packets"),
        Column::left("functions").rank(1),
    ]);
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
        cells.push(Cell::painted(path.feasibility.word(), feasibility_paint(&path.feasibility)));
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

fn feasibility_paint(feasibility: &Feasibility) -> Paint {
    match feasibility {
        Feasibility::Feasible(_) | Feasibility::CutShort(_) => Paint::Good,
        Feasibility::GivenUp(_) => Paint::Warn,
        Feasibility::Infeasible | Feasibility::Open => Paint::Faint,
    }
}

/// Returns the parts of paths that the model does not cover, each with the number of paths that
/// contain it.
fn unmeasured(under: &SettingModel, paths: &[PathPrediction], layout: Layout) -> String {
    let mut out = String::new();
    let unmeasured = paths_with(paths, |path| &path.unmeasured);
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
