//! The functions of the paper on device models, measured with a switch between virtual interfaces:
//! Open vSwitch in place of the OpenFlow switch Zodiac FX, and `planimeter switch` in machine code
//! in place of the P4 switch NetFPGA SUME.

use ::device::{Campaign, Level, Model, SettingModel};
use report::plot::{Line, Origin};
use report::value::Value;
use statistics::Unit;

use super::super::claims::System;
use super::super::section::Measured;
use super::evidence::Figures;
use super::{Path, loads, rounds};
use crate::environment::{DeviceRun, Environment, SEED, seconds};
use crate::failure::Failure;

/// A switch that the run starts between virtual interfaces. It is in a network namespace, which is
/// removed when the switch ends.
pub(super) struct Switch {
    pub(super) name: &'static str,
    /// The name of the directory of the campaign, below that of the run.
    pub(super) folder: &'static str,
    /// The section `device` of the campaign's plan.
    pub(super) device: &'static str,
    pub(super) figures: Figures,
}

impl Switch {
    /// Returns the switch that stands for a device of the paper, in addition to the pipeline in
    /// memory that `path` executes.
    pub(super) fn beside(path: Path) -> Self {
        match path {
            Path::Interpreter => Self {
                name: "Open vSwitch",
                folder: "open-vswitch",
                device: "kind = \"open-vswitch\"\nopenflow = \"1.0\"",
                figures: Figures {
                    system: System::OpenVswitch,
                    of_costs: true,
                    of_hardware: false,
                },
            },
            Path::Compiled => Self {
                name: "planimeter switch",
                folder: "software-switch",
                device: "kind = \"software-switch\"\npath = \"compiled\"",
                figures: Figures { system: System::Veth, of_costs: true, of_hardware: true },
            },
        }
    }

    /// Returns the TOML plan for Table I of the paper, with a search for the loss-free rate of the
    /// baseline.
    fn plan(&self, quick: bool) -> String {
        let rounds = rounds(quick);
        let (repetitions, packets, search) =
            if quick { (2 * rounds, 100, 0.2) } else { (4 * rounds, 400, 0.5) };
        format!(
            "[device]\n{}\n\n[settings]\npacket-bytes = [64]\nrules = [1]\npackets-per-second = [5000]\n\n[campaign]\n\
             repetitions = {repetitions}\npackets = {packets}\nwarm-up = {}\nseed = {SEED}\n\n[rates]\nfrom = 2000\n\
             seconds = {search}\n",
            self.device,
            packets / 4
        )
    }
}

/// Measures a switch on virtual interfaces, and adds the figures by which claims are judged. If the
/// switch cannot be measured on this host, adds the reason instead. Returns the median costs of the
/// functions as a line of a chart, or `None` if there are none.
pub(super) fn put(
    measured: &mut Measured,
    environment: &Environment<'_>,
    switch: &Switch,
) -> Result<Option<Line>, Failure> {
    match measure(measured, environment, switch) {
        Ok(costs) => Ok(Some(costs)),
        Err(failure) if environment.interrupted() => Err(failure),
        Err(failure) => {
            let reason =
                format!("{} on virtual interfaces was not measured: {failure}", switch.name);
            switch.figures.inconclusive(measured, &reason);
            loads::inconclusive(measured, switch, &reason);
            measured.remarks.push(format!("{reason}."));
            Ok(None)
        }
    }
}

fn measure(
    measured: &mut Measured,
    environment: &Environment<'_>,
    switch: &Switch,
) -> Result<Line, Failure> {
    let campaign = environment.campaign(switch.folder, &switch.plan(environment.quick))?;
    let run = environment.device_model(switch.folder, &campaign)?;
    let under = run.model.settings.first();
    let under = under.ok_or_else(|| Failure::run("the campaign has no setting"))?;
    switch.figures.put_all(measured, &campaign, rounds(environment.quick))?;
    measured.remarks.push(remark(switch, &campaign, &run, under));
    let report = format!("{}-verify/report.html", switch.folder);
    measured.links.push((format!("The same of {} on virtual interfaces", switch.name), report));
    loads::put(
        measured,
        environment,
        switch,
        &loads::Subject { campaign: &campaign, model: &run.model, under },
    )?;
    Ok(costs(switch.name, under))
}

/// Returns a sentence on the error of the predictions and on their skill, which compares them with
/// a constant. If functions cost little, a constant predicts the delays as well as the model does.
fn remark(switch: &Switch, campaign: &Campaign, run: &DeviceRun, under: &SettingModel) -> String {
    let baseline = under.f0.profile.level(Level::Median).map(|one| seconds(one.value).words());
    let levels = run.verifications.first().map(|one| one.levels.as_slice()).unwrap_or_default();
    let median = levels.iter().find(|one| one.level == Level::Median);
    let error = median.map(|one| Value::new(one.worst_absolute, Unit::Fraction).words());
    let skill = median.and_then(|one| one.skill).map(|skill| format!("{skill:.2}"));
    let version = campaign.description.device.details.get("version");
    let disturbed = campaign.disturbances();
    let unknown = || "unknown".to_owned();
    let mut text = format!(
        "{} on virtual interfaces ({}): the baseline's median is {}, the worst error of 30 combinations at the median {}, the \
         skill against a constant {}.",
        switch.name,
        version.map_or("as built here", String::as_str),
        baseline.unwrap_or_else(unknown),
        error.unwrap_or_else(unknown),
        skill.unwrap_or_else(unknown),
    );
    if let Some(disturbed) = disturbed {
        text.push_str(&format!(" Machine: {disturbed}."));
    }
    text
}

/// Returns the median costs of the functions as a line of a chart, whose horizontal axis has the
/// names of the functions.
pub(super) fn costs(name: &str, under: &SettingModel) -> Line {
    let cost = |function| {
        let delta = under.deltas(function).into_iter().find(|one| one.level == Level::Median);
        delta.map(|delta| crate::environment::within(delta.value, delta.low, delta.high))
    };
    let values = under.functions.iter().map(cost);
    let places = (1..).map(f64::from).zip(values);
    let points = places.filter_map(|(place, value)| Some((place, value?)));
    Line::of_values(name, Origin::Measured, points)
}

/// Returns the names of the functions of a model, in the order of the chart of costs.
pub(super) fn names(model: &Model) -> Vec<String> {
    let under = model.settings.iter().take(1);
    under.flat_map(|under| &under.functions).map(|one| one.function.name.to_string()).collect()
}
