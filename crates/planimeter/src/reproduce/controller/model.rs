//! The P4RCProbe paper's claims, tested against a model of the controller that the paper measured.
//!
//! The model is the reference controller with the queue of `examples/paths/paper.toml`. The correct
//! results are known in advance, so these measurements judge the probe and not the paper: each
//! figure is the measured value divided by the value that follows from the model's queue.

use std::time::Duration;

use ::controllers::model::forecast::{Forecast, Load, forecast};
use ::controllers::model::{Model, PAPER, ServiceQueue, Variant};
use ::controllers::p4runtime::AnswerAfter;
use ::probe::metrics::Metric;
use ::probe::outcome::{Point, Trial};

use super::super::claims::System;
use super::super::section::{Measured, ratios};
use super::backlog::{Sample, evenness, fairness, samples, slope};
use super::evidence::{Claims, NEEDS_FULL_RUN, Rounds, each, is_limited_by_probe};
use super::repetitions;
use super::subject::Subject;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::reference::{Job, Protocol};

const SYSTEM: System = System::Model;

/// A load under which the modelled controller is measured.
#[derive(Clone, Copy)]
struct Case {
    protocol: Protocol,
    variant: Variant,
    answer_after: AnswerAfter,
    load: Load,
    /// The time for which the probe waits for answers after the measurement.
    drain: Duration,
}

/// The trials of one load, with the results that the model's queue predicts for it.
struct Found {
    trials: Vec<Trial>,
    forecast: Forecast,
}

/// The model, and the results to which the figures of its measurements are added.
pub(super) struct Bench<'e> {
    model: Model,
    environment: &'e Environment<'e>,
    measured: &'e mut Measured,
}

impl<'e> Bench<'e> {
    /// Reads the model and writes its file into the run directory. Figures of later measurements
    /// are added to `measured`.
    pub(super) fn new(
        measured: &'e mut Measured,
        environment: &'e Environment<'e>,
    ) -> Result<Self, Failure> {
        let model = Model::from_toml(PAPER).map_err(Failure::run)?;
        std::fs::write(environment.directory.join(FILE), PAPER).map_err(Failure::run)?;
        Ok(Self { model, environment, measured })
    }

    fn queue(&self, case: &Case) -> ServiceQueue {
        match case.protocol {
            Protocol::OpenFlow => self.model.openflow(case.variant),
            Protocol::P4Runtime => self.model.p4runtime(case.variant, case.answer_after),
        }
    }

    /// Measures the modelled controller under the load of a case. Returns `None` if the user
    /// interrupts the measurement.
    fn measure(&mut self, name: &str, case: &Case) -> Result<Option<Found>, Failure> {
        if self.environment.interrupted() {
            return Ok(None);
        }
        let Load { switches, rate, in_phase, warm_up, measure } = case.load;
        // Long measurements vary little, so fewer repetitions are enough.
        let repetitions = match measure > Duration::from_secs(30) {
            true => "3",
            false => repetitions(self.environment, Subject::Reference),
        };
        let [rate, warm_up, measure, drain] = [
            rate.to_string(),
            milliseconds(warm_up),
            milliseconds(measure),
            milliseconds(case.drain),
        ];
        let settings = [
            ("traffic.rate", rate.as_str()),
            ("traffic.arrivals", if in_phase { "constant:in-phase" } else { "constant" }),
            ("plan.repetitions", repetitions),
            ("timing.settle", "200ms"),
            ("timing.warm-up", &warm_up),
            ("timing.measure", &measure),
            ("timing.drain", &drain),
        ];
        let file = self.environment.directory.join(FILE).display().to_string();
        let variant = match case.variant {
            Variant::Original => "original",
            Variant::Enhanced => "enhanced",
        };
        let block = case.answer_after.to_string();
        let mut more = vec!["--model", &file, "--model-variant", variant];
        if case.protocol == Protocol::P4Runtime {
            more.extend(["--answer-after", &block]);
        }
        let folder = format!("model-{name}");
        let about = format!("model, {}, {switches} switches", case.protocol.name());
        let job = Job {
            protocol: case.protocol,
            switches,
            settings: &settings,
            more: &more,
            folder: &folder,
            about: &about,
        };
        let Some(result) = Subject::Reference.measure(&job, self.environment)? else {
            return Ok(None);
        };
        self.measured.links.push(super::link(&folder));
        let trials =
            result.points.into_iter().next().map_or_else(Vec::new, |point: Point| point.trials);
        Ok(Some(Found { trials, forecast: forecast(self.queue(case), &case.load) }))
    }

    fn put(&mut self, key: &str, rounds: Rounds) {
        Claims::new(self.measured, SYSTEM).put(key, rounds);
    }

    /// Returns a load of this many switches, each of which sends packet-ins at this rate per
    /// second, with the usual lengths of warm-up and measurement. The switches do not send in
    /// phase.
    fn load(&self, switches: u32, rate: f64) -> Load {
        let seconds = if self.environment.quick { 1 } else { 5 };
        let measure = Duration::from_secs(seconds);
        Load { switches, rate, in_phase: false, warm_up: Duration::from_millis(500), measure }
    }
}

/// The name of the model's file in the run directory.
const FILE: &str = "model.toml";

fn milliseconds(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// Returns the case of the paper's original controller over a protocol under a load.
fn original(protocol: Protocol, load: Load) -> Case {
    let (variant, answer_after) = (Variant::Original, AnswerAfter::Application);
    Case { protocol, variant, answer_after, load, drain: Duration::from_millis(500) }
}

impl Found {
    /// Returns the value of a metric in each trial, divided by the value that the model predicts.
    fn over(&self, metric: &str, model: Option<f64>) -> Rounds {
        let metric = Metric::by_name(metric).ok_or_else(|| format!("no metric {metric}"))?;
        let model = model.ok_or("the model gives no value")?;
        self.each(|trial| metric.of(trial).map(|value| value / model))
    }

    fn rate(&self) -> Rounds {
        self.over("received_rate", Some(self.forecast.received_rate()))
    }

    fn time(&self) -> Rounds {
        self.over("rtt_from_sent.mean", self.forecast.mean_time())
    }

    /// Returns the share of packet-ins that are answered in each trial, divided by the predicted
    /// share.
    fn answered(&self) -> Rounds {
        let loss = Metric::by_name("loss").ok_or("no metric loss")?;
        let model = 1.0 - self.forecast.loss();
        self.each(|trial| loss.of(trial).map(|loss| (1.0 - loss) / model))
    }

    /// Computes a figure from each trial. Returns the reason instead if the probe was the limit of
    /// a trial, or a trial does not have the figure.
    fn each(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Rounds {
        if self.trials.iter().any(is_limited_by_probe) {
            return Err("the probe, which shares the machine, was the limit".to_owned());
        }
        each(&self.trials, figure)
    }

    /// Returns how fast the number of outstanding packet-ins grows in each trial, divided by the
    /// predicted growth. Both are slopes of least-squares lines through the samples of the
    /// measurement.
    fn slope(&self) -> Rounds {
        self.each(|trial| {
            let samples = samples(trial);
            let measured = slope(&samples)?;
            let of_model = |sample: &Sample| {
                Some(Sample {
                    count: self.outstanding(sample.at)?.iter().sum::<u64>() as f64,
                    ..*sample
                })
            };
            let model: Option<Vec<Sample>> = samples.iter().map(of_model).collect();
            Some(measured / slope(&model?)?)
        })
    }

    /// Returns the number of outstanding packet-ins in the middle of each trial's measurement,
    /// divided by the predicted number.
    fn half(&self) -> Rounds {
        self.each(|trial| {
            let samples = samples(trial);
            let middle = samples.get(samples.len() / 2)?;
            Some(middle.count / self.outstanding(middle.at)?.iter().sum::<u64>() as f64)
        })
    }

    /// Returns the [`fairness`] of each trial, divided by the same ratio for the numbers of
    /// outstanding packet-ins that the model predicts at the last sample of the measurement.
    fn fairness(&self) -> Rounds {
        self.each(|trial| {
            let last = samples(trial).last()?.at;
            Some(fairness(trial)? / evenness(&self.outstanding(last)?)?)
        })
    }

    fn outstanding(&self, at: f64) -> Option<Vec<u64>> {
        Some(self.forecast.outstanding(Duration::try_from_secs_f64(at).ok()?))
    }
}

/// Returns the ratio of `above` to `below` in each repetition. If one of the figures is missing,
/// returns the reason why it is. If both are missing, returns the reason for `above`.
fn over(above: &Rounds, below: &Rounds) -> Rounds {
    match (above, below) {
        (Ok(above), Ok(below)) => Ok(ratios(above, below)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
    }
}

/// Measures the modelled controller with one switch, over both protocols.
pub(super) fn one_switch(bench: &mut Bench<'_>) -> Result<(), Failure> {
    let Some(loss) = bench.model.openflow.loss else { return Ok(()) };
    let openflow = |rate: f64, bench: &Bench<'_>| original(Protocol::OpenFlow, bench.load(1, rate));
    let knee = loss.above_per_second;
    let below = openflow((0.98 * knee).round(), bench);
    let above = openflow((1.2 * knee).round(), bench);
    let twice = openflow(2.0 * knee, bench);
    let Some(below) = bench.measure("openflow-below-loss", &below)? else { return Ok(()) };
    let Some(above) = bench.measure("openflow-above-loss", &above)? else { return Ok(()) };
    let Some(twice) = bench.measure("openflow-saturated", &twice)? else { return Ok(()) };
    let p4runtime = original(Protocol::P4Runtime, bench.load(1, 3000.0));
    let Some(p4runtime) = bench.measure("p4runtime-saturated", &p4runtime)? else { return Ok(()) };
    let loses = |found: &Found, expected: bool| {
        let loss = Metric::by_name("loss");
        found.trials.iter().all(|trial| {
            loss.and_then(|metric| metric.of(trial)).is_some_and(|loss| (loss > 0.0) == expected)
        })
    };
    let saturated = twice.rate();
    let of_knee = match (loses(&below, false), loses(&above, true)) {
        (true, true) => saturated
            .clone()
            .map(|rounds| rounds.iter().map(|rate| rate * knee / (0.98 * knee).round()).collect()),
        (false, _) => {
            Err("packet-ins were lost below the rate at which the model loses any".to_owned())
        }
        (_, false) => Err("none were lost above the rate at which the model loses some".to_owned()),
    };
    bench.put("openflow.saturated-over-loss-free", of_knee);
    bench.put("openflow-over-p4runtime.saturated", over(&saturated, &p4runtime.rate()));
    Ok(())
}

/// Measures the modelled controller with 1 and with 50 switches, at rates that do not overload it.
pub(super) fn many_switches(bench: &mut Bench<'_>) -> Result<(), Failure> {
    let load = |bench: &Bench<'_>, switches, rate| {
        let measure = Duration::from_secs(if bench.environment.quick { 2 } else { 10 });
        Load { measure, ..bench.load(switches, rate) }
    };
    let openflow = |rate, bench: &Bench<'_>| original(Protocol::OpenFlow, load(bench, 50, rate));
    let (slow, fast) = (openflow(10.0, bench), openflow(100.0, bench));
    let Some(slow) = bench.measure("openflow-50-10", &slow)? else { return Ok(()) };
    let Some(fast) = bench.measure("openflow-50-100", &fast)? else { return Ok(()) };
    bench.put("openflow.100.50.loss", fast.answered());
    bench.put("openflow.rtt.100-over-10", over(&fast.time(), &slow.time()));
    let in_phase = |switches, bench: &Bench<'_>| {
        let load = Load { in_phase: true, ..load(bench, switches, 10.0) };
        original(Protocol::P4Runtime, load)
    };
    let (one, fifty) = (in_phase(1, bench), in_phase(50, bench));
    let Some(one) = bench.measure("p4runtime-1-10", &one)? else { return Ok(()) };
    let Some(fifty) = bench.measure("p4runtime-50-10", &fifty)? else { return Ok(()) };
    bench.put("p4runtime.10.50.loss", fifty.answered());
    // Switches in phase send in bursts, and samples would always fall on the same moment of a
    // burst. By Little's law the number outstanding is the rate times the response time. The rate
    // is that of the model, so the ratio of numbers is the ratio of times.
    bench.put("p4runtime.10.50.outstanding", fifty.time());
    bench.put("p4runtime.rtt.50-over-1", over(&fifty.time(), &one.time()));
    Ok(())
}

/// Measures the modelled controller in overload.
pub(super) fn over_time(bench: &mut Bench<'_>) -> Result<(), Failure> {
    let window = Duration::from_secs(if bench.environment.quick { 4 } else { 60 });
    let load = |switches, rate| Load {
        switches,
        rate,
        in_phase: false,
        warm_up: Duration::ZERO,
        measure: window,
    };
    let one = original(Protocol::P4Runtime, load(1, 3000.0));
    let fifty = original(Protocol::P4Runtime, load(50, 50.0));
    let hundred = original(Protocol::P4Runtime, load(50, 100.0));
    let Some(fifty) = bench.measure("p4runtime-50-50", &fifty)? else { return Ok(()) };
    let Some(hundred) = bench.measure("p4runtime-50-100", &hundred)? else { return Ok(()) };
    let time = fifty.over("rtt_in_window.mean", fifty.forecast.mean_time_in_window());
    bench.put("p4runtime.rtt-over-queue", time.clone());
    bench.put("p4runtime.overload-rtt", time);
    bench.put("outstanding.50.slope", fifty.slope());
    bench.put("outstanding.100.slope", hundred.slope());
    bench.put("outstanding.bend", fifty.half());
    bench.put("p4runtime.least-over-most-outstanding", fifty.fairness());
    let Some(one) = bench.measure("p4runtime-1-saturated", &one)? else { return Ok(()) };
    bench.put("p4runtime.rate-at-50-over-1", over(&fifty.rate(), &one.rate()));
    if bench.environment.quick {
        bench.put("p4runtime.lost-after-drain", Err(NEEDS_FULL_RUN.to_owned()));
        return Ok(());
    }
    let short = Load { measure: Duration::from_secs(5), ..load(50, 50.0) };
    let drained = Case { drain: Duration::from_secs(120), ..original(Protocol::P4Runtime, short) };
    let Some(drained) = bench.measure("p4runtime-drained", &drained)? else { return Ok(()) };
    bench.put("p4runtime.lost-after-drain", drained.answered());
    Ok(())
}

/// Measures the paths through the modelled controller, before and after the change that the paper
/// made to the controller.
pub(super) fn paths(bench: &mut Bench<'_>) -> Result<(), Failure> {
    let mut rates = Vec::new();
    for (name, variant, answer_after) in [
        ("original-P1", Variant::Original, AnswerAfter::Grpc),
        ("original-P2", Variant::Original, AnswerAfter::Decoding),
        ("original-P3", Variant::Original, AnswerAfter::Application),
        ("enhanced-P2", Variant::Enhanced, AnswerAfter::Decoding),
        ("enhanced-P3", Variant::Enhanced, AnswerAfter::Application),
    ] {
        let load = bench.load(1, 10_000.0);
        let case = Case { variant, answer_after, ..original(Protocol::P4Runtime, load) };
        let Some(found) = bench.measure(name, &case)? else { return Ok(()) };
        rates.push(found.rate());
    }
    let [p1, p2, p3, enhanced_p2, enhanced_p3] = &rates[..] else { return Ok(()) };
    bench.put("paths.original.P2-over-P1", over(p2, p1));
    bench.put("paths.original.P3-over-P2", over(p3, p2));
    bench.put("paths.gain.P2", over(enhanced_p2, p2));
    bench.put("paths.gain.P3", over(enhanced_p3, p3));
    bench.put("paths.enhanced.P3-over-P2", over(enhanced_p3, enhanced_p2));
    Ok(())
}
