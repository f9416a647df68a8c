//! The demo's question about devices: how long does a pipeline take to process a packet, and how
//! long will it take with a program that has not been measured?

use device::campaign::{Campaign, FunctionName};
use device::verify::Verification;
use device::{Level, Model, Percentile, Stalls, largest_packet_errors, predict_largest_packet};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::{Environment, Known, Part};
use crate::environment::{DeviceRun, SEED, within};
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

/// The functions that each packet of the demo's network needs in the pipeline.
pub(super) const FUNCTIONS: [&str; 2] = ["five-tuple", "set-nw-src"];

pub(super) fn part(environment: &Environment<'_>, known: &mut Known) -> Result<Part, Failure> {
    let all = environment.campaign("device", &plan(environment.quick))?;
    let stalls = Stalls::of(&all, SEED);
    let quiet = stalls.as_ref().map_or(all.clone(), |stalls| stalls.without(&all));
    let DeviceRun { model, verifications } = environment.device_model("device", &quiet)?;
    let verification = verifications.first().ok_or_else(|| Failure::run("nothing was verified"))?;
    let names = FUNCTIONS.map(FunctionName::new);
    known.longest = predict_largest_packet(&all, &verification.setting, &names);
    Ok(Part {
        findings: findings(verification),
        notes: Vec::new(),
        section: section(&model, verification, &Errors { all: &all, stalls: stalls.as_ref() }),
    })
}

/// The measurements of a pipeline and the stalls of the host during them. At levels of delay that
/// the stalls determine, the errors of predictions do not show the quality of the model.
struct Errors<'e> {
    all: &'e Campaign,
    stalls: Option<&'e Stalls>,
}

impl Errors<'_> {
    /// Returns a table of the errors of predictions at each level of delay. Instead of the maximum,
    /// the table contains the error for the packet that takes the device longest. Levels at which
    /// stalls of the host determine the delays have no error.
    fn table(&self, verification: &Verification) -> Table {
        let mut errors = Table::of_values(
            "Predictions against cells that the model was not made of: absolute relative errors",
            ["level", "mean error", "worst error"],
        );
        let share = |value: f64| Cell::from(Value::new(value, Unit::Fraction));
        for level in verification.levels.iter().filter(|one| one.level != Level::Maximum) {
            let is_attributed =
                |share: f64| self.stalls.is_some_and(|stalls| stalls.is_attributed(share));
            let name = Cell::text(level.level.to_string());
            match level.level.share() {
                Some(quantile) if quantile > 0.0 && !is_attributed(quantile) => {
                    errors.row([
                        name,
                        Cell::text("not told: stalls of the host decide"),
                        Cell::default(),
                    ]);
                }
                _ => errors.row([name, share(level.mean_absolute), share(level.worst_absolute)]),
            }
        }
        let largest = largest_packet_errors(self.all);
        let largest: Vec<f64> = largest.iter().map(|one| one.relative.abs()).collect();
        let worst = largest.iter().copied().reduce(f64::max);
        let [mean, worst] = [statistics::mean(&largest), worst].map(|one| one.map(share));
        errors.row([
            Cell::text("largest packet"),
            mean.unwrap_or_default(),
            worst.unwrap_or_default(),
        ]);
        errors
    }
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

fn section(model: &Model, verification: &Verification, errors: &Errors<'_>) -> Section {
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
    Section {
        id: "device".to_owned(),
        title: "What does a pipeline take for a packet?".to_owned(),
        text: vec![
            "Six matches and seven actions of a P4 pipeline run in memory, compiled, and are timed by the cycle \
             counter: first each alone, which makes a model, then all combinations, which verify it. Packets beside stalls of the \
             host are left out, by control windows between the packets. The largest packet is the one that takes longest in \
             repetition after repetition, and not the one that a stall hit."
                .to_owned(),
        ],
        tables: vec![costs, errors.table(verification)],
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
