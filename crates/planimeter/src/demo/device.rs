//! The demo's question about devices: how long does a pipeline take for a packet, and for a program
//! that has not been measured?

use device::verify::Verification;
use device::{Level, Model, Percentile};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::{Environment, Known, Part};
use crate::environment::{DeviceRun, within};
use crate::failure::Failure;

/// Returns the TOML plan for measuring a P4 pipeline in memory. As in Table I of the paper on
/// device models, it has 6 matches and 7 actions, packets of 64 B and one rule.
fn plan(quick: bool) -> String {
    let (repetitions, packets, warm_up) = if quick { (3, 100, 50) } else { (10, 1000, 500) };
    format!(
        "[device]\nkind = \"memory\"\npath = \"compiled\"\n\n[settings]\npacket-bytes = [64]\nrules = [1]\n\n[campaign]\n\
         repetitions = {repetitions}\npackets = {packets}\nwarm-up = {warm_up}\nseed = 1\n"
    )
}

pub(super) fn part(environment: &Environment<'_>, known: &mut Known) -> Result<Part, Failure> {
    let DeviceRun { model, verifications } =
        environment.device("device", &plan(environment.quick))?;
    let verification = verifications.first().ok_or_else(|| Failure::run("nothing was verified"))?;
    let part = Part {
        findings: findings(verification),
        notes: notes(verification),
        section: section(&model, verification),
    };
    known.model = Some(model);
    Ok(part)
}

fn findings(verification: &Verification) -> Vec<String> {
    let unseen = verification.cells.iter().filter(|cell| !cell.training).count();
    let seen = verification.cells.len() - unseen;
    let level = verification.levels.iter().find(|level| level.level == Level::Median);
    let sentence = level.map(|level| {
        format!(
            "Pipeline: from {seen} measured functions the median delay of {unseen} combinations was predicted to {} on average, {} at \
             worst.",
            Value::new(level.mean_absolute, Unit::Fraction).words(),
            Value::new(level.worst_absolute, Unit::Fraction).words(),
        )
    });
    sentence.into_iter().collect()
}

fn notes(verification: &Verification) -> Vec<String> {
    let level = verification.levels.iter().find(|level| level.level == Level::Maximum);
    let noisy = level.and_then(|level| level.noise).is_some_and(|noise| !noise.says_something);
    let text = "The largest delays differ more from repetition to repetition than from function to function: they are the \
                machine's, not the pipeline's, and bounds that use them are as large.";
    noisy.then(|| text.to_owned()).into_iter().collect()
}

fn section(model: &Model, verification: &Verification) -> Section {
    // The maximum is left out: its difference would compare two single packets.
    let levels = Percentile::of_share(0.99).map(Level::Percentile);
    let levels: Vec<Level> = [Level::Median, Level::Mean].into_iter().chain(levels).collect();
    let mut costs = Table::of_values(
        "What functions cost beyond the baseline (match on the port, output); ±: as far as confidence intervals reach",
        ["function", "median", "mean", "p99"],
    );
    let under = model.settings.iter().find(|under| under.setting == verification.setting);
    if let Some(under) = under {
        let at = |level: Level| {
            let found = under.f0.profile.levels.iter().find(|estimate| estimate.level == level);
            Cell::optional(found.map(|one| within(one.value, one.low, one.high)))
        };
        costs.row(std::iter::once(Cell::text("baseline")).chain(levels.iter().copied().map(at)));
        for function in &under.functions {
            let deltas = under.deltas(function);
            let at = |level: Level| {
                let found = deltas.iter().find(|delta| delta.level == level);
                Cell::optional(found.map(|one| within(one.value, one.low, one.high)))
            };
            let name = format!("+ {}", function.function.name);
            costs.row(std::iter::once(Cell::text(name)).chain(levels.iter().copied().map(at)));
        }
    }
    let mut errors = Table::of_values(
        "Predictions against cells that the model was not made of: absolute relative errors",
        ["level", "mean error", "worst error", "too short by"],
    );
    for level in &verification.levels {
        let share = |value: f64| Cell::from(Value::new(value, Unit::Fraction));
        errors.row([
            Cell::text(level.level.to_string()),
            share(level.mean_absolute),
            share(level.worst_absolute),
            share(level.worst_under),
        ]);
    }
    Section {
        id: "device".to_owned(),
        title: "What does a pipeline take for a packet?".to_owned(),
        text: vec![
            "Six matches and seven actions of a P4 pipeline run in memory, compiled, and are timed by the cycle \
             counter: first each alone, which makes a model, then all combinations, which verify it."
                .to_owned(),
        ],
        tables: vec![costs, errors],
        figures: Vec::new(),
        commands: vec![
            (
                "A switch that is started for it (as root); a plan of your own for your device:".to_owned(),
                "planimeter device measure examples/device/open-vswitch.toml -o runs/open-vswitch".to_owned(),
            ),
            (
                "Its model, compared with the measurements:".to_owned(),
                "planimeter device verify runs/open-vswitch -t 'worst-error(median) < 3 %'".to_owned(),
            ),
        ],
        links: vec![("All of the model".to_owned(), "device-verify/report.html".to_owned())],
    }
}
