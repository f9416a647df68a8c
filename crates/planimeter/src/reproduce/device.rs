//! The figures of the paper on device models, measured with a P4 pipeline in memory, and with
//! switches on virtual interfaces where the run may create them.

mod evidence;
mod levels;
mod loads;
mod veth;

use ::device::campaign::Picoseconds;
use ::device::{Level, largest_packet, largest_packet_errors};
use report::page::Figure;
use report::plot::{Axis, Plot};
use report::value::Value;
use statistics::Unit;

use super::claims::System;
use super::section::Measured;
use crate::environment::{DeviceRun, Environment, SEED, seconds, within};
use crate::failure::Failure;
use evidence::Figures;
use levels::Quiet;
use veth::Switch;

/// The way in which the measured P4 pipeline is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Interpreter,
    Compiled,
}

/// Returns the TOML plan for measuring the functions of Table I of the paper on device models. The
/// device is a P4 pipeline in memory.
fn plan(path: Path, quick: bool) -> String {
    let (path, packets) = match path {
        Path::Interpreter => ("interpreter", 500),
        Path::Compiled => ("compiled", 2000),
    };
    let rounds = rounds(quick);
    let (repetitions, packets) = if quick { (3 * rounds, 100) } else { (4 * rounds, packets) };
    format!(
        "[device]\nkind = \"memory\"\npath = \"{path}\"\n\n[settings]\npacket-bytes = [64]\nrules = [1]\n\n[campaign]\n\
         repetitions = {repetitions}\npackets = {packets}\nwarm-up = {}\nseed = {SEED}\n",
        packets / 2
    )
}

/// Returns the number of rounds of a measurement campaign. Each round yields one figure by which
/// claims are judged. A round consists of several repetitions, because a single one may miss the
/// largest delay.
fn rounds(quick: bool) -> u32 {
    if quick { 3 } else { 5 }
}

/// Measures the costs of a P4 pipeline's functions, and how well a model predicts the delays of
/// their combinations.
pub(super) fn pipeline(environment: &Environment<'_>, path: Path) -> Result<Measured, Failure> {
    let (folder, what, exhibits) = match path {
        Path::Interpreter => {
            ("software-pipeline", "the interpreter", ["device-fig-4", "device-fig-5"])
        }
        Path::Compiled => ("compiled-pipeline", "machine code", ["device-fig-6", "device-fig-7"]),
    };
    let all = environment.campaign(folder, &plan(path, environment.quick))?;
    let quiet = Quiet::of(all.clone());
    let run = environment.model(folder, &quiet.campaign, &Quiet::settings())?;
    let DeviceRun { model, verifications } = &run;
    let host = provenance::Host::read();
    let mut measured = Measured {
        set_up: vec![
            ("clock".to_owned(), "the processor's cycle counter, around the program in memory".to_owned()),
            ("cells".to_owned(), "6 matches x 7 actions, 64 B, 1 rule".to_owned()),
            ("device".to_owned(), format!("a P4 pipeline of the same functions as {what}, on {}", host.cpu_model)),
        ],
        remarks: vec![
            "The devices of the paper are not available here, so the same functions of a P4 pipeline are measured \
             instead, and beside it a switch on virtual interfaces. The method and the errors of predictions are comparable; \
             the delays are those of another device. The table has the figures of the pipeline in memory."
                .to_owned(),
            "The maximum is the largest packet: of the delays of each packet in all repetitions the second least, and of \
             these the largest. The largest single delay is that of a stall of the host, which shares the processor."
                .to_owned(),
        ],
        links: vec![(
            "Costs, and heat maps with the axes of the paper's".to_owned(),
            format!("{folder}-verify/report.html"),
        )],
        ..Measured::default()
    };
    let (Some(under), Some(verification)) = (model.settings.first(), verifications.first()) else {
        return Err(Failure::run("nothing was verified"));
    };
    let baseline = |level: Level| {
        let found = under.f0.profile.levels.iter().find(|estimate| estimate.level == level);
        found.map(|estimate| estimate.value)
    };
    let f0 = all.description.ids();
    let f0 = f0.into_iter().find(|id| all.description.cell(*id).functions.is_empty());
    let largest_of_f0 = f0.and_then(|f0| largest_packet(&all, f0));
    measured.put("f0.maximum", largest_of_f0.map(seconds));
    measured.put("f0.median", baseline(Level::Median).map(seconds));
    let spread = largest_of_f0.zip(baseline(Level::Minimum));
    let spread = spread.map(|(most, least)| seconds(Picoseconds(most.0 - least.0)));
    measured.put("f0.spread", spread);
    let mut most = None;
    for function in &under.functions {
        let deltas = under.deltas(function);
        let cost = deltas.iter().find(|delta| delta.level == Level::Median);
        measured.put(
            function.function.name.to_string(),
            cost.map(|one| within(one.value, one.low, one.high)),
        );
        most = most.max(cost.map(|cost| cost.value));
    }
    measured.put("costs.most", most.map(seconds));
    quiet.put(&mut measured, verification, exhibits);
    measured.remarks.extend(quiet.remarks());
    let largest = largest_packet_errors(&all);
    let worst = largest.iter().map(|one| one.relative.abs()).reduce(f64::max);
    measured.put("worst.maximum", worst.map(|worst| Value::new(worst, Unit::Fraction)));
    let figures = Figures {
        system: System::Memory,
        of_costs: path == Path::Interpreter,
        of_hardware: path == Path::Compiled,
    };
    figures.put_quiet(&mut measured, &all, &quiet, rounds(environment.quick));
    let mut lines = vec![veth::costs("in memory", under)];
    lines.extend(veth::put(&mut measured, environment, &Switch::beside(path))?);
    let names = Axis::named("function", veth::names(model));
    let y = Axis::linear("median cost beyond the baseline", Unit::Seconds);
    let plot = Plot::of_values("Costs of functions", names, y, lines);
    let [costs, _] = exhibits;
    measured.figures.push((costs.to_owned(), "costs".to_owned(), Figure::plot(plot, "")));
    Ok(measured)
}
