//! `planimeter bench --worst`: searches for the packets and entries that take the most processor
//! cycles, and measures them to check the prediction.
//!
//! The predicted cost of a packet is a constant plus the cost of each piece of work that the packet
//! needs: bytes, headers, operations, lookups, and a few more [kinds](work). The cost of each kind
//! of work is fitted to the measured cycles of generated packets, of which there are several for
//! each kind. A solver then finds the feasible path through the program with the largest sum, with
//! a packet and entries that take it, and proves a sum that no packet exceeds. The packets of these
//! paths are measured in turn with the others. None of them is among the packets of the fit.

mod costs;
mod document;
mod findings;
mod measuring;
mod search;
mod work;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use ::throughput::run::Settings;
use device::{Model, SettingModel};
use ir::Program;
use pipeline::Path;
use statistics::{LargestPrediction, Prediction};
use symbolic::generated::Test;
use symbolic::goals::Goal;

use super::Arguments;
use crate::device::predict;
use crate::failure::Failure;
use crate::progress::Steps;
use crate::{interrupt, invocation, output};
use costs::{Costs, Origin};
use findings::{Findings, Measured, Predicted};
use measuring::{CounterMeter, Cycles, Meter, Suitability};
pub(crate) use measuring::{checked, configured};
pub(crate) use search::failure;
use work::{Packet, Work};

/// The lengths in bytes of the packets that are searched, unless `--packet-size` names one length.
const LENGTHS: [u32; 4] = [64, 256, 1_024, 1_514];
/// The length in bytes of the longest packets that are executed symbolically.
const LONGEST: usize = 1_514;
/// The number of predicted paths that are measured for each packet length.
const PATHS: usize = 3;
/// The number of paths that the solver searches for each packet length. It is larger than
/// `PATHS`, since some paths cannot be measured.
const CANDIDATES: usize = 5;

pub(super) fn run(
    arguments: &Arguments,
    name: &str,
    program: &Program,
) -> Result<ExitCode, Failure> {
    let settings = arguments.settings()?;
    let model = arguments.traffic.model.as_deref().map(predict::read).transpose()?;
    let model = model.as_ref().map(|model| Modelled::of(model, arguments)).transpose()?;
    let lengths = match &model {
        None => lengths(arguments)?,
        Some(modelled) => vec![modelled.length()],
    };
    let directory = arguments.output.directory()?;
    let started = invocation::start();
    let interrupt = interrupt::flag();
    let steps = Steps::new(arguments.output.quiet);
    let meter = CounterMeter { name, program, settings: &settings };
    let task = Task {
        name,
        program,
        settings: &settings,
        interrupt: &interrupt,
        steps: &steps,
        model: model.as_ref(),
        meter: &meter,
    };
    let (goals, findings) = task.all_findings(&lengths)?;
    drop(steps);
    let work = Work::new(program);
    let document = document::document(name, (&goals, &work), &findings, started.provenance());
    let scripts = document::scripts(&findings);
    let files: Vec<(&str, &str)> =
        scripts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let json = arguments.output.json;
    output::leave_document_and_files(&directory, &document, &files, json, false)
}

/// Returns the lengths of packets for which the costliest paths are searched.
fn lengths(arguments: &Arguments) -> Result<Vec<u32>, Failure> {
    match arguments.traffic.given_packet_size() {
        None => Ok(LENGTHS.to_vec()),
        Some(size) => match u32::try_from(size) {
            Ok(length) if size <= LONGEST => Ok(vec![length]),
            _ => Err(Failure::input(format!(
                "--packet-size {size}: --worst considers packets of up to {LONGEST} bytes"
            ))),
        },
    }
}

/// The inputs that all steps of the search need.
struct Task<'t> {
    name: &'t str,
    program: &'t Program,
    settings: &'t Settings,
    interrupt: &'t AtomicBool,
    steps: &'t Steps,
    /// The device model that predicts costs, or `None` if costs are fitted to measurements.
    model: Option<&'t Modelled<'t>>,
    meter: &'t dyn Meter,
}

/// A device model, and that one of its settings whose costs are used.
struct Modelled<'m> {
    model: &'m Model,
    under: &'m SettingModel,
}

/// The length in bytes of the Ethernet frame check sequence, which packet lengths in device models
/// include.
const CHECK_SEQUENCE: u32 = 4;

impl<'m> Modelled<'m> {
    /// Selects the setting of the model whose packet length the user named, or the only setting.
    /// Returns an error if several settings fit, or none.
    fn of(model: &'m Model, arguments: &Arguments) -> Result<Self, Failure> {
        let size = arguments.traffic.given_packet_size();
        let fits = |under: &&SettingModel| {
            let length = under.setting.packet_bytes.saturating_sub(CHECK_SEQUENCE) as usize;
            (14..=LONGEST).contains(&length) && size.is_none_or(|size| size == length)
        };
        let fitting: Vec<&SettingModel> = model.settings.iter().filter(fits).collect();
        match fitting.as_slice() {
            [under] => Ok(Self { model, under }),
            some => {
                let all = model.settings.iter().map(|under| under.setting.to_string());
                Err(Failure::input(format!(
                    "--model: {} settings of the model fit ({}); choose one with --packet-size, which does not count the \
                     frame check sequence",
                    some.len(),
                    all.collect::<Vec<_>>().join("; ")
                )))
            }
        }
    }

    /// Returns the length of packets in bytes, without the frame check sequence.
    fn length(&self) -> u32 {
        self.under.setting.packet_bytes.saturating_sub(CHECK_SEQUENCE)
    }
}

/// The packets of generated tests that can be measured by repeating them, and the number of packets
/// that cannot.
struct Suited {
    packets: Vec<Packet>,
    unsteady: usize,
}

impl Task<'_> {
    /// Shows the progress, and returns an error if the user has interrupted the run.
    fn step(&self, what: &str, done: usize, of: usize) -> Result<(), Failure> {
        self.steps.show(done as u64, of as u64, what);
        if self.interrupt.load(Ordering::SeqCst) { Err(Failure::Interrupted) } else { Ok(()) }
    }

    /// Returns the goals of the program (the parts that a packet can reach), and the findings of
    /// each execution path.
    fn all_findings(&self, lengths: &[u32]) -> Result<(Vec<Goal>, Vec<Findings>), Failure> {
        let work = Work::new(self.program);
        let generated = self.generated(&work, lengths)?;
        let mut findings = Vec::new();
        for path in &self.settings.paths {
            findings.push(self.findings(*path, &work, &generated.packets, lengths)?);
        }
        Ok((generated.goals, findings))
    }

    /// Measures the generated packets on an execution path and fits the costs of work to them. Then
    /// measures the paths that are the costliest by these costs, in turn with the generated
    /// packets.
    fn findings(
        &self,
        path: Path,
        work: &Work,
        generated: &[Packet],
        lengths: &[u32],
    ) -> Result<Findings, Failure> {
        let origin = if self.model.is_some() { Origin::Model } else { Origin::Fit };
        let mut findings = Findings::new(path, origin);
        let Suited { packets, unsteady } = match self.suited(path, generated.to_vec())? {
            Ok(suited) => suited,
            Err(refused) => return Ok(Findings { refused: Some(refused), ..findings }),
        };
        if unsteady > 0 {
            findings.remarks.push(format!(
                "{unsteady} of {} generated packets were not measured, because repeated packets take another path: earlier \
                 ones change what later ones find.",
                packets.len() + unsteady
            ));
        }
        let measured = match self.cycles(path, "measuring generated packets", &packets)? {
            Ok(measured) => measured,
            Err(refused) => return Ok(Findings { refused: Some(refused), ..findings }),
        };
        let medians: Vec<f64> =
            measured.of_tests.iter().filter_map(|turns| turns.at(0.5)).collect();
        let costs = match self.model {
            Some(Modelled { model, under }) => Costs::of_model(self.program, model, under)?,
            None => match Costs::fit(work, &packets, &medians) {
                Some(costs) => costs,
                None => {
                    let refused = Some("no packet could be measured".to_owned());
                    return Ok(Findings { refused, ..findings });
                }
            },
        };
        findings.error = costs.error(work, &packets, &medians);
        let candidates = self.candidates(path, (work, &costs), &packets, lengths)?;
        findings.remarks.extend(candidates.remarks);
        let predicted = candidates.paths;
        let all: Vec<Packet> =
            packets.iter().chain(predicted.iter().map(|one| &one.packet)).cloned().collect();
        let again = match self.cycles(path, "measuring all packets in turn", &all)? {
            Ok(again) => again,
            Err(refused) => return Ok(Findings { refused: Some(refused), ..findings }),
        };
        findings.frequency = again.frequency;
        let mut turns = again.of_tests.iter();
        for (packet, turns) in packets.into_iter().zip(turns.by_ref()) {
            findings.generated.extend(Measured::of(packet, turns));
        }
        for (Candidate { packet, length, prediction, bound }, turns) in
            predicted.into_iter().zip(turns)
        {
            if let Some(measured) = Measured::of(packet, turns) {
                findings.predicted.push(Predicted { measured, length, prediction, bound });
            }
        }
        let predictions: Vec<Prediction> =
            findings.predicted.iter().map(|one| one.prediction.clone()).collect();
        findings.largest = LargestPrediction::of(&predictions);
        findings.costs = Some(costs);
        Ok(findings)
    }

    /// Returns the paths of each packet length that are predicted to cost most and can be measured.
    /// Paths whose packets are among `known`, to which costs were fitted, are left out.
    fn candidates(
        &self,
        path: Path,
        (work, costs): (&Work, &Costs),
        known: &[Packet],
        lengths: &[u32],
    ) -> Result<Candidates, Failure> {
        let found = self.costliest(&costs.weights(work), lengths, CANDIDATES)?;
        let mut candidates = Candidates::default();
        for short in found.short.iter().filter(|short| short.found < PATHS) {
            candidates.remarks.push(format!("{short}."));
        }
        let (mut unsteady, mut same) = (0, 0);
        for one in found.paths {
            let of_length = candidates.paths.iter().filter(|other| other.length == one.length);
            if of_length.count() >= PATHS {
                continue;
            }
            let (test, reached, times) = (one.test, one.reached, one.times);
            let packet = Packet { test, reached, times };
            if known.iter().any(|known| known.is_same(&packet)) {
                same += 1;
                continue;
            }
            match self.meter.suits(path, &packet.test)? {
                Suitability::Steady => {}
                Suitability::Unsteady => {
                    unsteady += 1;
                    continue;
                }
                Suitability::Refused(why) => {
                    candidates.remarks.push(format!("A costly packet was not measured: {why}."));
                    continue;
                }
            }
            let prediction = costs.predict(work, &packet);
            let bound = costs.bound(f64::from(one.length), one.bound);
            candidates.paths.push(Candidate { packet, length: one.length, prediction, bound });
        }
        if unsteady > 0 {
            candidates.remarks.push(format!(
                "{unsteady} paths that are predicted to cost as much as those below, or more, were not measured, because \
                 repeated packets take another path: earlier ones change what later ones find."
            ));
        }
        if same > 0 {
            candidates.remarks.push(format!(
                "{same} costly packets were left out, because the costs were fitted to the same packets."
            ));
        }
        Ok(candidates)
    }

    /// Runs the tests of packets, and returns the packets that can be measured by repeating them.
    /// Returns the reason instead if the execution path cannot run the program.
    fn suited(&self, path: Path, packets: Vec<Packet>) -> Result<Result<Suited, String>, Failure> {
        let of = packets.len();
        let mut suited = Suited { packets: Vec::with_capacity(of), unsteady: 0 };
        for (done, packet) in packets.into_iter().enumerate() {
            self.step("running generated tests", done, of)?;
            match self.meter.suits(path, &packet.test)? {
                Suitability::Steady => suited.packets.push(packet),
                Suitability::Unsteady => suited.unsteady += 1,
                Suitability::Refused(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(suited))
    }

    /// Measures the cycles of packets, which take turns. Returns the reason instead if the
    /// processor cannot count cycles, or a packet was not measured.
    fn cycles(
        &self,
        path: Path,
        what: &str,
        packets: &[Packet],
    ) -> Result<Result<Cycles, String>, Failure> {
        let tests: Vec<&Test> = packets.iter().map(|packet| &packet.test).collect();
        let mut goes_on = |done: usize, of: usize| self.step(what, done, of).is_ok();
        let cycles = self.meter.cycles(path, &tests, &mut goes_on)?;
        Ok(cycles.and_then(|cycles| {
            let complete = cycles.of_tests.iter().all(|turns| !turns.is_empty());
            let complete = complete && cycles.of_tests.len() == packets.len();
            if complete { Ok(cycles) } else { Err("some packets were not measured".to_owned()) }
        }))
    }
}

/// A path that is predicted to be costly and will be measured.
struct Candidate {
    packet: Packet,
    length: u32,
    prediction: Prediction,
    bound: f64,
}

/// The paths that are predicted to be costly.
#[derive(Default)]
struct Candidates {
    paths: Vec<Candidate>,
    /// Remarks on costly paths that were not found or are not measured.
    remarks: Vec<String>,
}

#[cfg(test)]
mod tests;
