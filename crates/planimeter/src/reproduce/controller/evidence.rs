//! The measured figures by which the P4RCProbe paper's claims on controllers are judged. Each
//! figure has one value for each repetition.

use ::probe::metrics::Metric;
use ::probe::outcome::{Point, RunResult, Saturated, Trial};
use ::probe::paths::Plan;

use super::super::claims::System;
use super::super::section::{Measured, ratios};
use crate::reference::Protocol;

/// Returns the value of a metric in each trial of a measured point. The list is empty if any trial
/// lacks the value.
pub(super) fn rounds(point: &Point, metric: &str) -> Vec<f64> {
    let Some(metric) = Metric::by_name(metric) else { return Vec::new() };
    point.trials.iter().map(|trial| metric.of(trial)).collect::<Option<_>>().unwrap_or_default()
}

/// The value of a figure in each repetition, or the reason why there is none.
pub(super) type Rounds = Result<Vec<f64>, String>;

/// The reason why quick runs cannot tell whether packet-ins are lost for good.
pub(super) const NEEDS_FULL_RUN: &str =
    "to await all answers takes minutes, which only the full run has";

/// The reason why the two protocols cannot be compared when controllers of package registries speak
/// them.
const TWO_CONTROLLERS: &str =
    "the protocols are spoken by two controllers, so their figures do not compare";

/// Computes a figure from each trial. Returns the reason instead if a trial does not have it.
pub(super) fn each(trials: &[Trial], figure: impl Fn(&Trial) -> Option<f64>) -> Rounds {
    let rounds: Option<Vec<f64>> = trials.iter().map(figure).collect();
    rounds.ok_or_else(|| "a trial has no value".to_owned())
}

pub(super) fn is_limited_by_probe(trial: &Trial) -> bool {
    trial.verdict.saturated == Saturated::Probe
}

pub(super) fn received(trial: &Trial) -> f64 {
    Metric::by_name("received_rate").and_then(|metric| metric.of(trial)).unwrap_or(0.0)
}

fn is_loss_free(trial: &Trial) -> bool {
    Metric::by_name("loss").and_then(|metric| metric.of(trial)) == Some(0.0)
}

/// The rates at which a controller that serves one switch is saturated.
#[derive(Default)]
struct Saturation {
    /// The highest offered rate that was answered without loss, in each repetition.
    loss_free: Vec<f64>,
    /// The highest rate of answers, in each repetition.
    saturated: Vec<f64>,
    /// The processor use of the controller at its highest rate of answers, in percent of one core.
    /// Repetitions in which it is unknown have no value.
    use_of_cores: Vec<f64>,
}

/// Returns the rates at which a controller saturates in a sweep of offered rates, or the reason why
/// the sweep does not show them.
fn saturation(protocol: Protocol, result: &RunResult) -> Result<Saturation, String> {
    let name = protocol.name();
    let count = result.points.iter().map(|point| point.trials.len()).min().unwrap_or(0);
    let mut found = Saturation::default();
    for round in 0..count {
        let trials = || {
            let each = result.points.iter();
            each.filter_map(|point| Some((point.offered_rate?, point.trials.get(round)?)))
        };
        let highest = trials().max_by(|(a, _), (b, _)| a.total_cmp(b));
        if highest.is_none_or(|(_, trial)| is_loss_free(trial)) {
            return Err(format!("{name}: the highest rate that was offered was answered in full"));
        }
        let most = trials().max_by(|(_, a), (_, b)| received(a).total_cmp(&received(b)));
        let Some((_, most)) = most.filter(|(_, trial)| !is_limited_by_probe(trial)) else {
            return Err(format!("{name}: the probe, which shares the machine, was the limit"));
        };
        let loss_free = trials().filter(|(_, trial)| is_loss_free(trial));
        let Some(loss_free) = loss_free.map(|(rate, _)| rate).reduce(f64::max) else {
            return Err(format!("{name}: no rate that was offered was answered in full"));
        };
        found.loss_free.push(loss_free);
        found.saturated.push(received(most));
        let cpu = Metric::by_name("controller.cpu").and_then(|metric| metric.of(most));
        found.use_of_cores.extend(cpu);
    }
    Ok(found)
}

/// The figures of one controller by which claims are judged.
pub(super) struct Claims<'m> {
    measured: &'m mut Measured,
    /// The kind of the measured controller.
    system: System,
}

impl<'m> Claims<'m> {
    pub(super) fn new(measured: &'m mut Measured, system: System) -> Self {
        Self { measured, system }
    }

    /// Returns whether a single controller speaks both protocols, so that the protocols can be
    /// compared.
    fn is_one_controller(&self) -> bool {
        self.system != System::Registry
    }

    /// Adds a figure with one value for each repetition, or the reason why there is none.
    pub(super) fn put(&mut self, key: &str, figures: Rounds) {
        match figures {
            Ok(figures) => self.measured.rounds(self.system, key, figures),
            Err(reason) => self.measured.inconclusive(self.system, key, reason),
        }
    }

    /// Adds the figures of a controller with one switch, or the reasons why there are none.
    pub(super) fn put_one_switch(&mut self, results: &[(Protocol, RunResult)]) {
        let find = |protocol: Protocol| {
            let own = results.iter().find(|(of, _)| *of == protocol);
            own.map_or_else(
                || Err(format!("{} was not measured", protocol.name())),
                |(_, result)| saturation(protocol, result),
            )
        };
        let (openflow, p4runtime) = (find(Protocol::OpenFlow), find(Protocol::P4Runtime));
        let is_one = self.is_one_controller();
        let mut put = |key: &str, figures: Result<Vec<f64>, &String>| {
            self.put(key, figures.map_err(Clone::clone));
        };
        let over = openflow.as_ref().map(|one| ratios(&one.saturated, &one.loss_free));
        put("openflow.saturated-over-loss-free", over);
        let both = openflow.as_ref().and_then(|one| Ok((one, p4runtime.as_ref()?)));
        let over = both.map(|(one, other)| ratios(&one.saturated, &other.saturated));
        let two = TWO_CONTROLLERS.to_owned();
        put("openflow-over-p4runtime.saturated", if is_one { over } else { Err(&two) });
        let elsewhere = "the controller runs on another host, whose number of cores is not known";
        let elsewhere = elsewhere.to_owned();
        let is_elsewhere = results.iter().any(|(_, result)| {
            let process = result.controller.process.as_deref();
            process.is_some_and(|process| process.starts_with("ssh:"))
        });
        let cores = provenance::Host::read().cpus as f64;
        let shares = match is_elsewhere {
            true => Err(&elsewhere),
            false => p4runtime.as_ref().map(|one| {
                one.use_of_cores.iter().map(|percent| percent / 100.0 / cores).collect()
            }),
        };
        put("p4runtime.use-over-cores", shares);
    }

    /// Adds the figures of a controller with 50 switches. One of them is relative to the controller
    /// with a single switch. If the probe was the limit, this is recorded as the reason why a
    /// figure is missing.
    pub(super) fn put_many_switches(&mut self, points: &[(Protocol, &str, Point)]) {
        let with = |protocol: Protocol, switches: u32, rate: f64, metric: &str| {
            let own = points.iter().find(|(of, _, point)| {
                *of == protocol && point.switches == switches && point.rate_per_switch == Some(rate)
            });
            let (_, _, point) = own?;
            let is_usable = !point.trials.iter().any(is_limited_by_probe);
            Some(if is_usable { Ok(rounds(point, metric)) } else { Err(()) })
        };
        let find = |protocol, rate, metric: &str| with(protocol, 50, rate, metric);
        let is_one = self.is_one_controller();
        if !is_one {
            self.put("use.p4runtime-over-openflow", Err(TWO_CONTROLLERS.to_owned()));
        }
        let limit = "the probe, which shares the machine, was the limit with 50 switches";
        let mut put = |key: &str, figures: Option<Result<Vec<f64>, ()>>| {
            if let Some(figures) = figures {
                self.put(key, figures.map_err(|()| limit.to_owned()));
            }
        };
        put("openflow.100.50.loss", find(Protocol::OpenFlow, 100.0, "loss"));
        let ratio = |above: Option<Result<Vec<f64>, ()>>, below: Option<Result<Vec<f64>, ()>>| {
            let (above, below) = above.zip(below)?;
            Some(above.and_then(|above| Ok(ratios(&above, &below?))))
        };
        let times = |rate: f64| find(Protocol::OpenFlow, rate, "rtt_from_sent.mean");
        put("openflow.rtt.100-over-10", ratio(times(100.0), times(10.0)));
        let use_of = |protocol| find(protocol, 100.0, "controller.cpu");
        let over = ratio(use_of(Protocol::P4Runtime), use_of(Protocol::OpenFlow));
        if is_one {
            put("use.p4runtime-over-openflow", over);
        }
        put("p4runtime.10.50.loss", find(Protocol::P4Runtime, 10.0, "loss"));
        let of_p4runtime =
            |switches| with(Protocol::P4Runtime, switches, 10.0, "rtt_from_sent.mean");
        // By Little's law, the mean number of a switch's packet-ins that are outstanding is their
        // rate times their mean response time.
        let outstanding = of_p4runtime(50).map(|found| {
            found.map(|times: Vec<f64>| times.iter().map(|time| time * 10.0).collect())
        });
        put("p4runtime.10.50.outstanding", outstanding);
        put("p4runtime.rtt.50-over-1", ratio(of_p4runtime(50), of_p4runtime(1)));
    }

    /// Adds the rates of the paths through the controller. On the path P1, and on P2 without the
    /// bottleneck, the controller may answer all packet-ins that are offered. The measured rates
    /// are then lower bounds of its capacity, and the claims are harder to meet with them. On all
    /// other paths, the controller must be the limit.
    pub(super) fn put_paths(&mut self, plan: &Plan, points: &[Option<&Point>]) {
        let point = |variant: &str, name: &str| {
            let paths = plan.paths.iter().zip(points);
            let mut own = paths.filter(|(path, _)| path.variant == variant && path.name == name);
            own.next().and_then(|(_, point)| *point)
        };
        let all = |variant: &str, name: &str, metric: &str| {
            point(variant, name).map(|point| rounds(point, metric)).unwrap_or_default()
        };
        let free = [("original", "P2"), ("original", "P3"), ("enhanced", "P3")];
        let not_limit = free.into_iter().find(|(variant, name)| {
            let trials = point(variant, name).map(|point| &point.trials[..]).unwrap_or_default();
            trials.iter().any(|trial| is_loss_free(trial) || is_limited_by_probe(trial))
        });
        let mut put = |key: &str, figures: Vec<f64>| {
            let reason = not_limit.map(|(variant, name)| {
                format!("{variant}, {name}: the controller was not the limit")
            });
            self.put(key, reason.map_or(Ok(figures), Err));
        };
        let rate = |variant: &str, name: &str| all(variant, name, "received_rate");
        let gain = |name: &str| -> Vec<f64> {
            let ratios = ratios(&rate("enhanced", name), &rate("original", name));
            ratios.into_iter().map(|ratio| ratio - 1.0).collect()
        };
        put("paths.original.P2-over-P1", ratios(&rate("original", "P2"), &rate("original", "P1")));
        put("paths.original.P3-over-P2", ratios(&rate("original", "P3"), &rate("original", "P2")));
        put("paths.enhanced.P3-over-P2", ratios(&rate("enhanced", "P3"), &rate("enhanced", "P2")));
        put("paths.gain.P2", gain("P2"));
        put("paths.gain.P3", gain("P3"));
        let uses = |variant: &str| all(variant, "P2", "controller.cpu");
        put("paths.use.P2", ratios(&uses("enhanced"), &uses("original")));
    }
}
