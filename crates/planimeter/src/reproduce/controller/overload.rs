//! The P4RCProbe paper's claims on overload, judged by a P4Runtime controller of a package registry
//! or of the user's.

use ::probe::metrics::Metric;
use ::probe::outcome::{Point, RunResult, Trial};

use super::super::section::{Measured, ratios};
use super::backlog::{Sample, fairness, samples, slope};
use super::evidence::{Claims, NEEDS_FULL_RUN, Rounds, each, is_limited_by_probe, received};
use super::subject::Subject;
use super::{SWITCHES, link, repetitions};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::reference::{Job, Protocol};

/// The results for the loads of Fig. 7 that overloaded the paper's controller.
#[derive(Clone, Copy)]
pub(super) struct Growth<'r> {
    /// The result at 50 packet-ins per second and switch.
    pub(super) fifty: &'r RunResult,
    /// The result at 100 packet-ins per second and switch.
    pub(super) hundred: &'r RunResult,
}

/// Adds the figures by which claims about a controller in overload are judged, or the reasons why
/// there are none. For these figures, two further loads are measured: one switch that overloads the
/// controller and, in a full run, many switches with a wait of up to 120 s until all packet-ins are
/// answered.
pub(super) fn put(
    measured: &mut Measured,
    environment: &Environment<'_>,
    subject: Subject<'_>,
    growth: Growth<'_>,
) -> Result<(), Failure> {
    let (fifty, hundred) = (overloaded(growth.fifty), overloaded(growth.hundred));
    let of = |point: &Result<&Point, String>, figure: fn(&Trial) -> Option<f64>| -> Rounds {
        each(&point.as_ref().map_err(Clone::clone)?.trials, figure)
    };
    let queue = fifty
        .clone()
        .and_then(|point| each(&point.trials, |trial| over_queue(trial, point.offered_rate?)));
    let rounds = [
        ("p4runtime.rtt-over-queue", queue),
        ("p4runtime.overload-rtt", of(&fifty, time_in_window)),
        ("outstanding.50.slope", of(&fifty, growth_per_switch)),
        ("outstanding.100.slope", of(&hundred, growth_per_switch)),
        ("outstanding.bend", of(&fifty, |trial| bend(&samples(trial)))),
        ("p4runtime.least-over-most-outstanding", of(&fifty, fairness)),
    ];
    let mut claims = Claims::new(measured, subject.system());
    for (key, rounds) in rounds {
        claims.put(key, rounds);
    }
    let repetitions = repetitions(environment, subject);
    let one = Load { name: "one-switch-saturated", switches: 1, rate: "3000", measure: "10s" };
    let settings = [("plan.repetitions", repetitions), ("timing.drain", "2s")];
    let Some(one) = one.measure(measured, environment, subject, &settings)? else {
        return Ok(());
    };
    let over = fifty.clone().and_then(|fifty| {
        let rates = |point: &Point| point.trials.iter().map(received).collect::<Vec<f64>>();
        let (many, one) = (rates(fifty), rates(overloaded(&one)?));
        let count = many.len().min(one.len());
        Ok(ratios(&many[..count], &one[..count]))
    });
    Claims::new(measured, subject.system()).put("p4runtime.rate-at-50-over-1", over);
    let lost = match environment.quick {
        true => Err(NEEDS_FULL_RUN.to_owned()),
        false => {
            let load =
                Load { name: "overload-drained", switches: SWITCHES, rate: "50", measure: "10s" };
            let settings =
                [("plan.repetitions", repetitions), ("timing.drain", "until-empty:120s")];
            let Some(drained) = load.measure(measured, environment, subject, &settings)? else {
                return Ok(());
            };
            let was_overloaded = fifty.map(|_| ());
            was_overloaded.and_then(|()| {
                let loss = Metric::by_name("loss").ok_or("no metric loss")?;
                let trials = drained.points.first().map(|point| &point.trials[..]);
                each(trials.unwrap_or_default(), |trial| loss.of(trial))
            })
        }
    };
    Claims::new(measured, subject.system()).put("p4runtime.lost-after-drain", lost);
    Ok(())
}

/// A load that is measured in addition to those of Fig. 7.
struct Load<'a> {
    /// The name of the run directory.
    name: &'a str,
    switches: u32,
    /// The number of packet-ins per second and switch, as a setting of the probe.
    rate: &'a str,
    /// The duration of the measurement, as a setting of the probe.
    measure: &'a str,
}

impl Load<'_> {
    /// Measures the controller under a load over P4Runtime. Returns `None` if the user interrupts
    /// the measurement.
    fn measure(
        &self,
        measured: &mut Measured,
        environment: &Environment<'_>,
        subject: Subject<'_>,
        settings: &[(&str, &str)],
    ) -> Result<Option<RunResult>, Failure> {
        if environment.interrupted() {
            return Ok(None);
        }
        let own = [
            ("traffic.rate", self.rate),
            ("timing.warm-up", "0s"),
            ("timing.measure", self.measure),
        ];
        let settings = [&own[..], settings].concat();
        let folder = subject.folder(self.name);
        let about = format!("{} switches, {}/s each", self.switches, self.rate);
        let job = Job {
            protocol: Protocol::P4Runtime,
            switches: self.switches,
            settings: &settings,
            more: &[],
            folder: &folder,
            about: &about,
        };
        let result = subject.measure(&job, environment)?;
        if result.is_some() {
            measured.links.push(link(&folder));
        }
        Ok(result)
    }
}

/// Returns the measured point of a run, or the reason why the run does not show a controller in
/// overload.
fn overloaded(result: &RunResult) -> Result<&Point, String> {
    let point = result.points.first().ok_or("nothing was measured")?;
    if point.trials.iter().any(is_limited_by_probe) {
        return Err("the probe was the limit in overload".to_owned());
    }
    let offered = point.offered_rate.unwrap_or(f64::INFINITY);
    // A rate above 95 % of the offered one shows no overload: packet-ins that were outstanding at
    // the end may be the difference.
    if point.trials.iter().any(|trial| received(trial) > 0.95 * offered) {
        return Err(format!("{offered:.0} packet-ins per second do not overload the controller"));
    }
    Ok(point)
}

/// Returns the mean response time of the packet-ins that were answered within the measurement
/// window, in seconds.
fn time_in_window(trial: &Trial) -> Option<f64> {
    Metric::by_name("rtt_in_window.mean")?.of(trial)
}

/// Returns the mean response time in the measurement window, divided by the mean waiting time in an
/// ideal queue. In this queue, packet-ins arrive at the offered rate from the start of the window
/// on, and leave in order at the measured rate. A packet-in that leaves at time t has waited t (1 -
/// measured / offered). Over a window of length T, the mean is T / 2 (1 - measured / offered).
/// Returns `None` if this mean is not above zero.
fn over_queue(trial: &Trial, offered: f64) -> Option<f64> {
    let series = &trial.series;
    let length = series.measure_to_s - series.measure_from_s;
    let of_queue = length / 2.0 * (1.0 - received(trial) / offered);
    (of_queue > 0.0).then_some(time_in_window(trial)? / of_queue)
}

/// Returns how fast the number of outstanding packet-ins grows, per switch and second.
fn growth_per_switch(trial: &Trial) -> Option<f64> {
    Some(slope(&samples(trial))? / f64::from(SWITCHES))
}

/// Returns how far the growth of the backlog is from linear: the largest deviation of a sample's
/// count from the straight line through the first and the last sample, divided by the count of the
/// last sample. Returns `None` if there are fewer than two samples, or if the last count is zero.
fn bend(samples: &[Sample]) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let rise = (last.count - first.count) / (last.at - first.at);
    let distance =
        |sample: &Sample| (sample.count - first.count - rise * (sample.at - first.at)).abs();
    let greatest = samples.iter().map(distance).reduce(f64::max)?;
    (last.count > 0.0 && rise.is_finite()).then_some(greatest / last.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(count: impl Fn(f64) -> f64) -> Vec<Sample> {
        (1..=60).map(|at| Sample { at: f64::from(at), count: count(f64::from(at)) }).collect()
    }

    #[test]
    fn a_line_has_no_bend_and_a_parabola_a_quarter() {
        assert!(bend(&line(|at| 42.5 * at)).expect("samples") < 1e-12);
        let parabola = bend(&line(|at| at * at)).expect("samples");
        assert!((parabola - 0.25).abs() < 0.01, "{parabola}");
        assert_eq!(bend(&[]), None);
        assert_eq!(bend(&line(|_| 0.0)), None);
    }
}
