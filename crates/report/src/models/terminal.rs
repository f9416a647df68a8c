//! Prints device models and their verifications on the terminal.

use ::device::{FunctionModel, Level, Model, SettingModel, Source, Verdict};

use ::device::verify::VerifiedCell;

use super::{Axes, Run, broken, estimate, percent, remarks, share};
use crate::alarm;
use crate::format::{capital, figure, printable};
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// Returns a device model as text: the delays of the baseline, and the cost of each function, with
/// the result of the test whether this cost is constant. The text ends with a newline.
#[must_use]
pub fn model_table(model: &Model, layout: Layout) -> String {
    let title = format!("Model of {}", printable(&model.device.name));
    let mut out = layout.paragraph("", &title, Paint::Strong);
    let source = match &model.source {
        Source::Campaign { created } => format!(
            "measured from {}; {}, tick {}; intervals {} %, quantisation included",
            printable(created),
            model.clock.source,
            model.clock.tick,
            percent(model.confidence)
        ),
        Source::Published { citation, remark } => {
            format!("PUBLISHED, not measured here: {}. {}", printable(citation), printable(remark))
        }
    };
    out.push_str(&layout.paragraph("", &source, Paint::Plain));
    for under in &model.settings {
        out.push_str(&layout.heading(&format!(
            "{}; costs beyond the baseline",
            capital(&under.setting.to_string())
        )));
        out.push_str(&costs(model, under, layout));
        out.push_str(&shifts(under, layout));
    }
    out
}

/// Formats the table of the costs of functions.
fn costs(model: &Model, under: &SettingModel, layout: Layout) -> String {
    let mut columns = vec![Column::left("function").indent(2)];
    columns.extend(model.levels().iter().map(|level| Column::right(level.to_string())));
    columns.extend([
        Column::right("packets").rank(2),
        Column::right("R_min").rank(1),
        Column::left("constant"),
    ]);
    let mut grid = Grid::new(columns);
    let row = |name: &str, values: Vec<String>, function: Option<&FunctionModel>| {
        let measurement = function.map_or(&under.f0, |function| &function.measurement);
        let mut cells = vec![Cell::new(printable(name))];
        cells.extend(values.into_iter().map(Cell::new));
        let samples = measurement.profile.samples;
        cells.push(Cell::new(if samples > 0 { samples.to_string() } else { "–".to_owned() }));
        cells.push(Cell::new(measurement.loss_free_rate.map_or_else(|| "–".to_owned(), rate)));
        cells.push(
            match function.and_then(|function| function.shift.as_ref()).map(|shift| shift.verdict) {
                Some(Verdict::Constant) => Cell::painted("yes", Paint::Good),
                Some(Verdict::Tolerated) => Cell::painted("nearly", Paint::Plain),
                Some(Verdict::Refused) => Cell::painted("NO", Paint::Bad),
                None => Cell::new(""),
            },
        );
        cells
    };
    let baseline = under.f0.profile.levels.iter().map(|estimate| estimate.value.to_string());
    grid.row(row("f0 (baseline)", baseline.collect(), None));
    for function in &under.functions {
        let deltas = under.deltas(function);
        let values = deltas
            .iter()
            .map(|delta| format!("{}{}", if delta.value.0 > 0 { "+" } else { "" }, delta.value));
        grid.row(row(function.function.name.as_str(), values.collect(), Some(function)));
    }
    grid.render(layout)
}

/// Returns a sentence on how many packets may exceed the largest delay of the baseline, and one for
/// each function whose cost is not constant.
fn shifts(under: &SettingModel, layout: Layout) -> String {
    let mut out = String::new();
    if let Some(beyond) = under.f0.profile.beyond_maximum {
        let text = format!(
            "The baseline's maximum is that of {} packets, worth {} independent ones: up to {} of packets may take longer.",
            under.f0.profile.samples,
            under.f0.profile.effective_samples,
            share(beyond)
        );
        out.push_str(&layout.paragraph("  ", &text, Paint::Plain));
    }
    for function in &under.functions {
        let Some(shift) =
            function.shift.as_ref().filter(|shift| shift.verdict != Verdict::Constant)
        else {
            continue;
        };
        let word = if shift.verdict == Verdict::Refused { "refused" } else { "tolerated" };
        let text = format!(
            "{}: a constant cost is {word}. From the 5th to the 95th percentile it is {} to {}; whatever constant is taken, it \
             varies by {} at least, {} is tolerated (variations below {} cannot be seen).",
            function.function.name,
            shift.least,
            shift.largest,
            shift.deviation,
            shift.tolerated,
            shift.resolution
        );
        let paint = if shift.verdict == Verdict::Refused { Paint::Bad } else { Paint::Plain };
        out.push_str(&layout.paragraph("  - ", &text, paint));
    }
    out
}

fn rate(bits_per_second: u64) -> String {
    let rate = bits_per_second as f64;
    match bits_per_second {
        0..1_000_000 => format!("{:.1} kbit/s", rate / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} Mbit/s", rate / 1e6),
        _ => format!("{:.2} Gbit/s", rate / 1e9),
    }
}

/// Returns the verification of a device model as text: failures, errors by level of delay (such as
/// the median), and the error of the median for each combination of functions. The text ends with a
/// newline.
#[must_use]
pub fn verification_table(run: &Run<'_>, layout: Layout) -> String {
    let mut out = alarm::text(&alarm::broken(&broken(run)), layout);
    for verification in run.verifications {
        let training = verification.cells.iter().filter(|cell| cell.training).count();
        let title = format!(
            "Model of {} against its own device: {}, {} cells to learn from, {} to test",
            printable(&run.model.device.name),
            verification.setting,
            training,
            verification.cells.len() - training
        );
        out.push_str(&layout.paragraph("", &title, Paint::Strong));
        for (bad, text) in remarks(verification) {
            out.push_str(&layout.paragraph(
                "  - ",
                &text,
                if bad { Paint::Warn } else { Paint::Plain },
            ));
        }
        out.push_str(&layout.heading("Relative errors of predictions, in %"));
        out.push_str(&levels(verification, layout));
        if let Some(axes) = Axes::of(run.model, verification) {
            out.push_str(&layout.heading(
                "Median, absolute relative error in %; · is training, v is predicted too short",
            ));
            out.push_str(&map(&axes, verification, layout));
        } else {
            out.push_str(&layout.heading("Test cells, by the error of the median"));
            out.push_str(&test_cells(verification, layout));
        }
        if let Some(next) = &verification.next {
            let names: Vec<&str> = next.functions.iter().map(|name| name.as_str()).collect();
            let cell = if names.is_empty() { "the baseline".to_owned() } else { names.join(" + ") };
            out.push_str(&layout.paragraph(
                "Measure next  ",
                &format!("{cell}: {}", next.reason),
                Paint::Plain,
            ));
        }
    }
    out.push_str(&thresholds(run, layout));
    out
}

/// Returns a list of the combinations of functions that test the model, with the largest errors
/// first. It is used if the combinations do not form a table of two dimensions.
fn test_cells(verification: &::device::verify::Verification, layout: Layout) -> String {
    const MAX_SHOWN: usize = 12;
    let error = |cell: &VerifiedCell| {
        cell.errors.iter().find(|error| error.level == Level::Median).copied()
    };
    let mut cells: Vec<_> = verification
        .cells
        .iter()
        .filter(|cell| !cell.training)
        .filter_map(|cell| Some((cell, error(cell)?)))
        .collect();
    cells.sort_by(|(_, a), (_, b)| b.relative.abs().total_cmp(&a.relative.abs()));
    let mut grid = Grid::new(vec![
        Column::right("e, %").indent(2),
        Column::right("predicted"),
        Column::right("measured"),
        Column::left("functions"),
    ]);
    for (cell, error) in cells.iter().take(MAX_SHOWN) {
        let names: Vec<&str> = cell.functions.iter().map(|name| name.as_str()).collect();
        grid.row(vec![
            Cell::new(format!("{:+.2}", 100.0 * error.relative)),
            Cell::new(error.predicted.to_string()),
            Cell::new(error.measured.value.to_string()),
            Cell::new(printable(&names.join(" + "))),
        ]);
    }
    let mut out = grid.render(layout);
    if cells.len() > MAX_SHOWN {
        let text = format!("and {} with smaller errors", cells.len() - MAX_SHOWN);
        out.push_str(&layout.paragraph("  ", &text, Paint::Faint));
    }
    out
}

/// Formats the table of errors by level.
fn levels(verification: &::device::verify::Verification, layout: Layout) -> String {
    let mut grid = Grid::new(vec![
        Column::left("level").indent(2),
        Column::right("mean |e|"),
        Column::right("worst |e|"),
        Column::right("mean e"),
        Column::right("too short"),
        Column::right("refuted").rank(1),
        Column::right("skill").rank(2),
        Column::right("packets beyond"),
        Column::left("admitted"),
    ]);
    for level in &verification.levels {
        let beyond = level.violations.map_or_else(String::new, |violations| {
            format!("{}, ≤ {}", violations.beyond, share(violations.interval.high))
        });
        let admitted = match level.violations {
            None => Cell::new(""),
            Some(violations) => match violations.admitted {
                None => Cell::painted("no bound", Paint::Warn),
                Some(admitted) if violations.interval.high <= admitted => {
                    Cell::painted(share(admitted), Paint::Good)
                }
                Some(admitted) if violations.interval.low > admitted => {
                    Cell::painted(format!("{}: BROKEN", share(admitted)), Paint::Bad)
                }
                Some(admitted) => Cell::new(share(admitted)),
            },
        };
        grid.row(vec![
            Cell::new(level.level.to_string()),
            Cell::new(percent(level.mean_absolute)),
            Cell::new(percent(level.worst_absolute)),
            Cell::new(percent(level.mean_signed)),
            Cell::new(percent(level.worst_under)),
            Cell::new(match level.refuted {
                (_, 0) => "–".to_owned(),
                (refuted, of) => format!("{refuted} of {of}"),
            }),
            Cell::new(level.skill.map_or_else(|| "–".to_owned(), |skill| format!("{skill:.3}"))),
            Cell::new(beyond),
            admitted,
        ]);
    }
    grid.render(layout)
}

fn map(axes: &Axes, verification: &::device::verify::Verification, layout: Layout) -> String {
    let mut columns =
        vec![Column::left(format!("{} \\ {}", axes.row_title, axes.column_title)).indent(2)];
    columns.extend(axes.columns.iter().map(|name| Column::right(printable(name))));
    let mut grid = Grid::new(columns);
    for (row, name) in axes.rows.iter().enumerate() {
        let mut cells = vec![Cell::new(printable(name))];
        for column in 0..axes.columns.len() {
            let cell = axes.cell(verification, row, column);
            let error =
                cell.and_then(|cell| cell.errors.iter().find(|error| error.level == Level::Median));
            cells.push(match (cell, error) {
                (Some(cell), Some(_)) if cell.training => Cell::painted("·", Paint::Faint),
                (Some(_), Some(error)) => {
                    let mark = if error.relative < 0.0 { " v" } else { "  " };
                    let paint =
                        if error.refuted == Some(true) { Paint::Warn } else { Paint::Plain };
                    Cell::painted(format!("{}{mark}", percent(error.relative.abs())), paint)
                }
                _ => Cell::painted("–", Paint::Faint),
            });
        }
        grid.row(cells);
    }
    grid.render(layout)
}

fn thresholds(run: &Run<'_>, layout: Layout) -> String {
    if run.thresholds.is_empty() {
        return String::new();
    }
    let mut grid = Grid::new(vec![
        Column::left("").indent(2),
        Column::left("condition"),
        Column::right("it is"),
    ]);
    for threshold in run.thresholds {
        let (word, paint) =
            if threshold.held { ("pass", Paint::Good) } else { ("FAIL", Paint::Bad) };
        let value = threshold
            .value
            .map_or_else(|| "no value".to_owned(), |value| figure(value, threshold.unit));
        grid.row(vec![
            Cell::painted(word, paint),
            Cell::new(printable(&threshold.condition)),
            Cell::new(value),
        ]);
    }
    layout.heading("Thresholds") + &grid.render(layout)
}

/// Formats the delay of the baseline with a function at a level, such as the median, with its
/// interval.
pub(super) fn with_interval(function: &FunctionModel, level: Level) -> String {
    function.measurement.profile.level(level).map_or_else(|| "–".to_owned(), estimate)
}
