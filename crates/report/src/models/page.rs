//! Builds the `report.html` of the verification of a device model.

use ::device::verify::{Verification, VerifiedLevel};
use ::device::{Level, Verdict};

use super::terminal::with_interval;
use super::{Axes, Run, broken, heat, percent, remarks, share, spread};
use crate::alarm;
use crate::format::{capital, printable};
use crate::page::{Block, Cell, Column, Note, Page, Table, Text, Tile, Tone};

/// The definitions of terms, which the page lists.
const DEFINITIONS: [(&str, &str); 7] = [
    (
        "e_rel",
        "(predicted - measured) / measured, for each cell and level (equation 8 of Helm et al., ITC 33, 2021, with its sign). A \
         prediction is f0 plus the cost of each function, a cost is the level of the baseline with the function less the level \
         of the baseline (equations 7, 9, 10).",
    ),
    (
        "Too short",
        "The largest error of a prediction below the measurement, which is the unsafe side and which absolute errors \
         hide.",
    ),
    (
        "Refuted",
        "Test cells in which the confidence intervals of prediction and measurement, including quantization, do not \
         overlap: there the functions depend on each other, however small the error is.",
    ),
    (
        "Skill",
        "One minus the ratio of squared errors to those of a model that always predicts the mean of the training \
         cells. On a device whose functions hardly differ, small errors are easy to reach.",
    ),
    (
        "Beyond the bound",
        "Packets of test cells that took longer than the predicted bound, with the upper end of the 95 % interval of their \
         share (Clopper and Pearson), over as many independent packets as the differences between blocks leave. The bound of a \
         percentile is the upper end of its interval; that of the maximum is the largest delay of all cells that were added.",
    ),
    (
        "Constant",
        "Whether a function costs the same for every packet. Distribution functions are within a band of those of the samples \
         (Dvoretzky, Kiefer, Wolfowitz, Massart); if no constant shift fits into the band of differences, and none that varies \
         by no more than is tolerated, sums of levels say nothing about other cells and are called empirical.",
    ),
    (
        "Independent packets",
        "Blocks of one cell differ by more than they would if packets were independent; intervals count as many packets as \
         would let blocks differ as much.",
    ),
];

/// Returns the `report.html` of the verification of a device model, as the text of an HTML
/// document.
#[must_use]
pub fn document(run: &Run<'_>) -> String {
    page(run).html()
}

/// Returns the report page of the verification of a device model.
#[must_use]
pub fn page(run: &Run<'_>) -> Page {
    let title = format!("Device model: {}", printable(&run.model.device.name));
    let mut page = Page::of_run(run.provenance, "device models", title);
    page.fact(format!("driver {}", printable(&run.model.device.driver)));
    page.fact(format!("clock tick {}", run.model.clock.tick));
    page.raise(alarm::broken(&broken(run)));
    for verification in run.verifications {
        lead(&mut page, verification);
    }
    for (number, verification) in run.verifications.iter().enumerate() {
        let setting = verification.setting.to_string();
        let id = |name: &str| format!("{name}-{number}");
        page.section(id("levels"), format!("Levels, {setting}"), vec![levels(verification)]);
        if let Some(axes) = Axes::of(run.model, verification) {
            let maps = verification.levels.iter();
            let maps = maps.map(|level| heat::map(&axes, verification, level.level)).collect();
            page.section(id("errors"), "Absolute relative errors", vec![Block::Figures(maps)]);
        }
        page.section(id("functions"), "Functions", functions(run, verification));
    }
    method(&mut page, run);
    page
}

/// Adds the results for one setting to the top of a page: the errors of the predictions, remarks
/// that a reader needs before the figures, and what to measure next.
fn lead(page: &mut Page, verification: &Verification) {
    page.lead(Block::Tiles(tiles(verification)));
    let note = |(bad, text)| Note { tone: if bad { Tone::Warning } else { Tone::Good }, text };
    page.lead(Block::Notes(remarks(verification).into_iter().map(note).collect()));
    if let Some(next) = &verification.next {
        let names: Vec<&str> = next.functions.iter().map(|name| name.as_str()).collect();
        let cell = if names.is_empty() { "the baseline".to_owned() } else { names.join(" + ") };
        let text = Text::strong(format!("Measure next: {cell}"))
            .and(format!(". {}.", capital(&next.reason)));
        page.lead(Block::card(Tone::Plain, text));
    }
}

fn tiles(verification: &Verification) -> Vec<Tile> {
    let tile = |level: &VerifiedLevel| Tile {
        name: format!("Error of the predicted {}", level.level),
        value: format!("{} %", percent(level.mean_absolute)),
        remark: format!("on average; at worst {} %", percent(level.worst_absolute)),
    };
    let wanted = |level: &&VerifiedLevel| {
        matches!(level.level, Level::Minimum | Level::Median | Level::Maximum)
    };
    let mut tiles: Vec<Tile> = verification.levels.iter().filter(wanted).map(tile).collect();
    let median = verification.levels.iter().find(|level| level.level == Level::Median);
    if let Some(level) = median.filter(|level| level.refuted.1 > 0) {
        tiles.push(Tile {
            name: "Predictions of the median refuted".to_owned(),
            value: format!("{} of {}", level.refuted.0, level.refuted.1),
            remark: "intervals of prediction and measurement do not meet".to_owned(),
        });
    }
    tiles
}

/// Returns the table of errors by level.
fn levels(verification: &Verification) -> Block {
    let names = [
        "mean |e| %",
        "worst |e| %",
        "mean e %",
        "too short, at most %",
        "refuted",
        "skill",
        "packets beyond the bound",
        "their share, at most",
        "admitted",
        "repetitions differ by",
        "functions differ by",
    ];
    let columns = std::iter::once(Column::words("level")).chain(names.map(Column::figures));
    let mut table = Table::new("", columns);
    for level in &verification.levels {
        let (beyond, most, admitted) = match level.violations {
            None => (String::new(), String::new(), String::new()),
            Some(violations) => (
                format!("{} of {}", violations.beyond, violations.packets),
                share(violations.interval.high),
                violations.admitted.map_or_else(|| "no bound".to_owned(), share),
            ),
        };
        let broken = level.violations.is_some_and(|violations| {
            violations.admitted.is_some_and(|admitted| violations.interval.low > admitted)
        });
        let noisy = level.noise.is_some_and(|noise| !noise.says_something);
        let noise = level
            .noise
            .map(|noise| (spread(noise.between_blocks), spread(noise.between_functions)));
        let (blocks, between) = noise.unwrap_or_default();
        let refuted = match level.refuted {
            (_, 0) => "–".to_owned(),
            (refuted, all) => format!("{refuted} of {all}"),
        };
        table.row([
            Cell::from(level.level.to_string()),
            percent(level.mean_absolute).into(),
            percent(level.worst_absolute).into(),
            percent(level.mean_signed).into(),
            percent(level.worst_under).into(),
            refuted.into(),
            level.skill.map_or_else(|| "–".to_owned(), |skill| format!("{skill:.3}")).into(),
            beyond.into(),
            Cell::toned(if broken { Tone::Bad } else { Tone::Plain }, most),
            admitted.into(),
            Cell::toned(if noisy { Tone::Warning } else { Tone::Plain }, blocks),
            between.into(),
        ]);
    }
    Block::Table(table)
}

/// Returns the table of the measured costs of functions.
fn functions(run: &Run<'_>, verification: &Verification) -> Vec<Block> {
    let Some(under) = run.model.settings.iter().find(|under| under.setting == verification.setting)
    else {
        return Vec::new();
    };
    let levels = run.model.levels();
    let mut columns = vec![Column::words("baseline with")];
    columns.extend(levels.iter().map(|level| Column::figures(level.to_string())));
    columns.extend(["packets", "independent"].map(Column::figures));
    columns.push(Column::prose("cost constant?"));
    let mut table = Table::new("", columns);
    let profile = &under.f0.profile;
    let mut row = vec![Cell::from("nothing (f0)")];
    row.extend(profile.levels.iter().map(|level| below(&super::estimate(level))));
    row.extend(
        [profile.samples.to_string(), profile.effective_samples.to_string(), String::new()]
            .map(Cell::from),
    );
    table.row(row);
    for function in &under.functions {
        let constant =
            function.shift.as_ref().map_or_else(String::new, |shift| match shift.verdict {
                Verdict::Constant => format!("yes ({} to {} seen)", shift.least, shift.largest),
                Verdict::Tolerated => format!(
                    "nearly: varies by {}; {} is tolerated",
                    shift.deviation, shift.tolerated
                ),
                Verdict::Refused => format!(
                    "NO: varies by {} at least, {} is tolerated",
                    shift.deviation, shift.tolerated
                ),
            });
        let profile = &function.measurement.profile;
        let mut row = vec![Cell::from(function.function.name.as_str())];
        row.extend(levels.iter().map(|level| below(&with_interval(function, *level))));
        row.extend(
            [profile.samples.to_string(), profile.effective_samples.to_string(), constant]
                .map(Cell::from),
        );
        table.row(row);
    }
    let remark = format!(
        "In brackets intervals of {} % each, with the clock's tick of {}. The largest delay seen has no upper end: up to {} of \
         packets may take longer than the baseline's.",
        percent(run.model.confidence),
        run.model.clock.tick,
        under.f0.profile.beyond_maximum.map_or_else(|| "any share".to_owned(), share)
    );
    vec![Block::Table(table), Block::Remark(remark.into())]
}

/// Returns a table cell with a figure and its interval on a second line, so that many columns fit
/// side by side.
fn below(stated: &str) -> Cell {
    match stated.split_once(" (") {
        Some((value, interval)) => Text::from(value).and_faint(format!("({interval}")).into(),
        None => stated.into(),
    }
}

/// Adds the section about the method to a page. Its host is the machine that verified the model.
/// The campaign describes the machine that measured.
fn method(page: &mut Page, run: &Run<'_>) {
    let reference = run.model.clock.reference.as_ref().map(|reference| {
        format!(
            "Without a device, over {}: median {}, 99th percentile {}, largest {} of {} packets.",
            printable(&reference.path),
            reference.median,
            reference.percentile_99,
            reference.maximum,
            reference.samples
        )
    });
    let own = vec![Block::Paragraph(reference.unwrap_or_default().into())];
    let files = [
        ("result.json", "everything here, by a versioned schema"),
        ("cells.csv", "a row for each cell and level"),
        ("model.json", "the model, for planimeter device predict"),
    ];
    page.method(own, Some(&run.provenance.host), DEFINITIONS, files);
}
