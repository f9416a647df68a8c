//! Measures the figures of the P4RCProbe paper with the reference controller, in full runs also
//! with controllers of package registries, and with the user's controller if there is one.

mod backlog;
mod evidence;
mod model;
mod overload;
mod registry;
mod subject;

use ::probe::outcome::{Point, RunResult};
use ::probe::paths::Plan;
use report::page::{Cell, Figure, Graphic};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::Unit;

use super::claims::System;
use super::section::{Beside, Measured};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::probe::paths;
use crate::reference::{Job, Protocol, series, value};
use registry::Registry;
pub(crate) use subject::Yours;
use subject::{Setting, Subject};

/// The TOML plan of the measured paths through the reference controller, which is also an example
/// for users.
const PATHS: &str = include_str!("../../../../examples/paths/reference.toml");

/// Returns the number of repetitions of each trial. There are fewer for controllers of package
/// registries, whose trials take longer because the controller must be started.
fn repetitions(environment: &Environment<'_>, subject: Subject<'_>) -> &'static str {
    subject.choose(environment, Setting { quick: "3", full: "5", registry: "3" })
}

/// Returns the probe's settings for the number of repetitions and for the lengths of the phases of
/// a trial. With `--quick`, all of these but the drain are smaller. For other controllers than the
/// reference controller, the warm-up is as long as the controller's own settings say.
fn lengths(
    environment: &Environment<'_>,
    subject: Subject<'_>,
) -> Vec<(&'static str, &'static str)> {
    let is_quick = environment.quick;
    let mut lengths = vec![
        ("plan.repetitions", repetitions(environment, subject)),
        ("timing.settle", if is_quick { "200ms" } else { "1s" }),
        ("timing.measure", if is_quick { "500ms" } else { "5s" }),
        ("timing.drain", "2s"),
    ];
    if let Subject::Reference = subject {
        lengths.push(("timing.warm-up", if is_quick { "200ms" } else { "2s" }));
    }
    lengths
}

fn set_up(environment: &Environment<'_>) -> Vec<(String, String)> {
    let host = provenance::Host::read();
    vec![
        (
            "controller".to_owned(),
            "the reference controller of Planimeter on one thread, reactive forwarding".to_owned(),
        ),
        (
            "machines".to_owned(),
            format!(
                "one, which the probe shares: {} cores ({}), loopback",
                host.cpus, host.cpu_model
            ),
        ),
        (
            "repetitions".to_owned(),
            format!(
                "{}, one controller for all of a number of switches",
                repetitions(environment, Subject::Reference)
            ),
        ),
    ]
}

fn link(folder: &str) -> (String, String) {
    (format!("All of {folder}"), format!("{folder}/report.html"))
}

/// Returns a remark for the report if the probe, and not the controller, was the limit in any
/// trial.
fn limited_by_probe(results: &[&RunResult]) -> Option<String> {
    let mut points = results.iter().flat_map(|result| &result.points);
    points.any(|point| point.trials.iter().any(evidence::is_limited_by_probe)).then(|| {
        "In some trials the probe, which shares the machine, fell behind: the controller may answer more, and \
         response times are too long there."
            .to_owned()
    })
}

/// Calls `measure` for the reference controller, then `recover` for the model of the paper's
/// controller, and then `measure` for further controllers: those of package registries in full
/// runs, and the user's controller if there is one. The values of further controllers are shown
/// beside those of the reference controller.
fn each_controller(
    environment: &Environment<'_>,
    measure: fn(&Environment<'_>, Subject<'_>) -> Result<Measured, Failure>,
    recover: fn(&mut model::Bench<'_>) -> Result<(), Failure>,
) -> Result<Measured, Failure> {
    let mut measured = measure(environment, Subject::Reference)?;
    recover(&mut model::Bench::new(&mut measured, environment)?)?;
    if !environment.quick && !environment.interrupted() {
        let registry = Registry::find(&registry::peers())?;
        measured.remarks.extend(registry.remarks());
        if !registry.protocols().is_empty() {
            let own = measure(environment, Subject::Registry(&registry));
            put_beside(&mut measured, registry.words(), own);
        }
    }
    if let Some(yours) = environment.yours.filter(|_| !environment.interrupted()) {
        let own = measure(environment, Subject::Yours(yours));
        put_beside(&mut measured, "your controller".to_owned(), own);
    }
    Ok(measured)
}

/// Adds the results of a further controller, whose name is `name`, to those of the reference
/// controller. If it could not be measured, adds the reason as a remark.
fn put_beside(measured: &mut Measured, name: String, own: Result<Measured, Failure>) {
    let own = match own {
        Ok(own) => own,
        Err(failure) => {
            return measured.remarks.push(format!("Not measured: {name}: {failure}"));
        }
    };
    measured.evidence.extend(own.evidence);
    measured.links.extend(own.links);
    let remarks = own.remarks.into_iter().map(|remark| format!("With {name}: {remark}"));
    measured.remarks.extend(remarks);
    measured.figures.extend(own.figures.into_iter().map(|(exhibit, chart, mut figure)| {
        if let Graphic::Plot(plot) = &mut figure.graphic {
            plot.title = format!("{}, with {name}", plot.title);
        }
        (exhibit, chart, figure)
    }));
    measured.beside.push(Beside { name, values: own.values });
}

/// Measures Fig. 4 of the P4RCProbe paper: one switch at increasing rates of packet-ins.
pub(super) fn one_switch(environment: &Environment<'_>) -> Result<Measured, Failure> {
    each_controller(environment, sweep_of_one_switch, model::one_switch)
}

fn sweep_of_one_switch(
    environment: &Environment<'_>,
    subject: Subject<'_>,
) -> Result<Measured, Failure> {
    let rates = Setting {
        quick: "1k,20k,60k",
        full: "1k,1500,5k,10k,20k,30k,40k,50k,60k",
        // These controllers are written in Python.
        registry: "500,1k,2k,4k,8k",
    };
    let rates = subject.choose(environment, rates);
    let mut settings = vec![("plan.kind", "sweep"), ("plan.rates", rates)];
    settings.extend(lengths(environment, subject));
    let mut measured = Measured { set_up: set_up(environment), ..Measured::default() };
    let mut results = Vec::new();
    for (protocol, key) in subject.protocols() {
        let folder = subject.folder(&format!("one-switch-{key}"));
        let about = format!("{}, one switch", protocol.name());
        let job = Job {
            protocol,
            switches: 1,
            settings: &settings,
            more: &[],
            folder: &folder,
            about: &about,
        };
        let Some(result) = subject.measure(&job, environment)? else { break };
        measured.links.push(link(&folder));
        let offered = |point: &Point| point.offered_rate;
        let lossless = result
            .points
            .iter()
            .filter(|point| point.summary.get("loss").is_some_and(|loss| loss.max == 0.0))
            .filter_map(offered)
            .fold(0.0, f64::max);
        let highest = result.points.iter().filter_map(offered).fold(0.0, f64::max);
        // All offered packets were answered, so the limit was not reached.
        let unseen = (lossless >= highest).then(|| {
            Cell::text(format!(
                "at least {}, more was not offered",
                Value::new(highest, Unit::PerSecond).words()
            ))
        });
        let loss_free = Cell::from(Value::new(lossless, Unit::PerSecond));
        measured.values.insert(format!("{key}.loss-free"), unseen.clone().unwrap_or(loss_free));
        let received = |point: &Point| value(point, "received_rate").map_or(0.0, |rate| rate.value);
        let most = result.points.iter().max_by(|a, b| received(a).total_cmp(&received(b)));
        if let Some(most) = most {
            let cell = unseen.unwrap_or_else(|| Cell::optional(value(most, "received_rate")));
            measured.values.insert(format!("{key}.saturation"), cell);
            measured.put(format!("{key}.cpu"), value(most, "controller.cpu"));
        }
        let plot = Plot::of_values(
            format!("{}: sent and received", protocol.name()),
            Axis::linear("packet-ins offered", Unit::PerSecond),
            Axis::linear("packets", Unit::PerSecond),
            vec![
                series("sent", &result.points, offered, "sent_rate"),
                series("received", &result.points, offered, "received_rate"),
            ],
        );
        measured.figures.push((
            "controller-fig-4".to_owned(),
            key.to_owned(),
            Figure::plot(plot, ""),
        ));
        results.push((protocol, result));
        if environment.interrupted() {
            break;
        }
    }
    let offered = |point: &Point| point.offered_rate;
    let lines = results.iter().map(|(protocol, result)| {
        series(protocol.name(), &result.points, offered, "controller.cpu")
    });
    let plot = Plot::of_values(
        "Processor use of the controller",
        Axis::linear("packet-ins offered", Unit::PerSecond),
        Axis::linear("processor use", Unit::CpuPercent),
        lines.collect(),
    );
    let figure = Figure::plot(plot, "In percent of one core.");
    measured.figures.push(("controller-fig-4".to_owned(), "cpu".to_owned(), figure));
    let all: Vec<&RunResult> = results.iter().map(|(_, result)| result).collect();
    measured.remarks.extend(limited_by_probe(&all));
    evidence::Claims::new(&mut measured, subject.system()).put_one_switch(&results);
    Ok(measured)
}

/// The numbers of packet-ins per second and switch in Fig. 5 to 7 of the P4RCProbe paper.
const RATES: [u32; 3] = [10, 50, 100];

/// Measures Fig. 5 and 6 of the P4RCProbe paper: an increasing number of switches.
pub(super) fn many_switches(environment: &Environment<'_>) -> Result<Measured, Failure> {
    each_controller(environment, sweeps_of_switches, model::many_switches)
}

fn sweeps_of_switches(
    environment: &Environment<'_>,
    subject: Subject<'_>,
) -> Result<Measured, Failure> {
    let counts: Setting<&[u32]> =
        Setting { quick: &[1, 10, 50], full: &[1, 10, 20, 30, 40, 50], registry: &[1, 50] };
    let counts = subject.choose(environment, counts);
    let mut settings = vec![("plan.kind", "sweep"), ("plan.rates", "10,50,100")];
    settings.extend(lengths(environment, subject));
    let mut measured = Measured { set_up: set_up(environment), ..Measured::default() };
    let mut points: Vec<(Protocol, &str, Point)> = Vec::new();
    let mut results = Vec::new();
    'measuring: for (protocol, key) in subject.protocols() {
        for &switches in counts {
            // Claims are judged by the smallest and the largest number. Those between them are
            // drawn, for which fewer repetitions are enough.
            let is_judged = [counts.first(), counts.last()].contains(&Some(&switches));
            let fewer = (!is_judged).then_some(("plan.repetitions", "3"));
            let settings: Vec<(&str, &str)> = settings.iter().copied().chain(fewer).collect();
            let folder = subject.folder(&format!("switches-{key}-{switches}"));
            let about = format!("{}, {switches} switches", protocol.name());
            let job = Job {
                protocol,
                switches,
                settings: &settings,
                more: &[],
                folder: &folder,
                about: &about,
            };
            let Some(result) = subject.measure(&job, environment)? else { break 'measuring };
            measured.links.push(link(&folder));
            points.extend(result.points.iter().map(|point| (protocol, key, point.clone())));
            results.push(result);
            if environment.interrupted() {
                break 'measuring;
            }
        }
    }
    for (_, key, point) in &points {
        let Some(rate) = point.rate_per_switch else { continue };
        let name = format!("{key}.{rate}.{}", point.switches);
        measured.put(format!("{name}.rate"), value(point, "received_rate"));
        measured.put(format!("{name}.rtt"), value(point, "rtt_from_sent.mean"));
        measured.put(format!("{name}.cpu"), value(point, "controller.cpu"));
    }
    let of_openflow = points.iter().filter(|(_, key, _)| *key == "openflow");
    let mut times: Vec<Value> =
        of_openflow.filter_map(|(_, _, point)| value(point, "rtt_from_sent.mean")).collect();
    times.sort_by(|a, b| a.value.total_cmp(&b.value));
    measured.put("openflow.rtt.least", times.first().copied());
    measured.put("openflow.rtt.most", times.last().copied());
    let received = "Received rate";
    let response = "Mean round-trip time, from sent";
    let processor = "Processor use of the controller";
    for (exhibit, name, metric, y) in [
        ("controller-fig-5", "rate", "received_rate", Axis::linear(received, Unit::PerSecond)),
        (
            "controller-fig-6",
            "rtt",
            "rtt_from_sent.mean",
            Axis::logarithmic(response, Unit::Seconds),
        ),
        ("controller-fig-6", "cpu", "controller.cpu", Axis::linear(processor, Unit::CpuPercent)),
    ] {
        let mut lines = Vec::new();
        for protocol in Protocol::BOTH {
            for rate in RATES {
                let own = points.iter().filter(|(of, _, point)| {
                    *of == protocol && point.rate_per_switch == Some(f64::from(rate))
                });
                let name = format!("{}, {rate}/s", protocol.name());
                let at = |point: &Point| Some(f64::from(point.switches));
                lines.push(series(name, own.map(|(_, _, point)| point), at, metric));
            }
        }
        let x = Axis::linear("switches", Unit::Count);
        let plot = Plot::of_values(y.label.clone(), x, y, lines);
        measured.figures.push((exhibit.to_owned(), name.to_owned(), Figure::plot(plot, "")));
    }
    measured.remarks.extend(limited_by_probe(&results.iter().collect::<Vec<_>>()));
    evidence::Claims::new(&mut measured, subject.system()).put_many_switches(&points);
    Ok(measured)
}

/// Measures Fig. 7 of the P4RCProbe paper: the number of packet-ins without an answer, over time.
pub(super) fn over_time(environment: &Environment<'_>) -> Result<Measured, Failure> {
    each_controller(environment, growth_over_time, model::over_time)
}

/// The number of switches of Fig. 7.
const SWITCHES: u32 = 50;

fn growth_over_time(
    environment: &Environment<'_>,
    subject: Subject<'_>,
) -> Result<Measured, Failure> {
    let mut measured = Measured { set_up: set_up(environment), ..Measured::default() };
    measured.set_up.retain(|(aspect, _)| aspect != "repetitions");
    if !subject.has(Protocol::P4Runtime) {
        return Ok(measured);
    }
    let length = Setting { quick: "3s", full: "60s", registry: "20s" };
    let length = subject.choose(environment, length);
    // The rates of Fig. 7 do not overload the reference controller, so its figures judge none of
    // the claims on overload, and one repetition is enough for the chart.
    let repetitions = match subject {
        Subject::Reference => "1",
        Subject::Registry(_) | Subject::Yours(_) => repetitions(environment, subject),
    };
    measured.set_up.push(("repetitions".to_owned(), repetitions.to_owned()));
    measured.set_up.push(("length".to_owned(), length.to_owned()));
    let mut lines = Vec::new();
    let mut results = Vec::new();
    for rate in RATES {
        let folder = subject.folder(&format!("over-time-{rate}"));
        let about = format!("{SWITCHES} switches, {rate}/s each");
        let text = rate.to_string();
        let settings = [
            ("traffic.rate", text.as_str()),
            ("plan.repetitions", repetitions),
            ("timing.settle", "1s"),
            ("timing.warm-up", "0s"),
            ("timing.measure", length),
            ("timing.drain", "2s"),
        ];
        let job = Job {
            protocol: Protocol::P4Runtime,
            switches: SWITCHES,
            settings: &settings,
            more: &[],
            folder: &folder,
            about: &about,
        };
        let Some(result) = subject.measure(&job, environment)? else { break };
        measured.links.push(link(&folder));
        let trial = result.points.first().and_then(|point| point.trials.first());
        if let Some(trial) = trial {
            let series = &trial.series;
            let per_switch = |count: &u64| *count as f64 / f64::from(SWITCHES);
            let at = |place: usize| (place as f64 + 1.0) * series.sample_interval_s;
            // The samples during the drain are no longer under load.
            let under_load = series
                .outstanding
                .iter()
                .map(per_switch)
                .enumerate()
                .map(|(place, count)| (at(place), Value::new(count, Unit::Count)));
            let points: Vec<(f64, Value)> =
                under_load.filter(|(time, _)| *time <= series.measure_to_s + 1e-6).collect();
            let most = points.iter().map(|(_, count)| count.value).fold(0.0, f64::max);
            let last = points.last().map_or(0.0, |(_, count)| count.value);
            measured.values.insert(
                rate.to_string(),
                Cell::text(format!("at most {most:.2}, at the end {last:.2}, over {length}")),
            );
            lines.push(Line::of_values(format!("{rate}/s"), Origin::Measured, points));
        }
        results.push(result);
        if environment.interrupted() {
            break;
        }
    }
    let plot = Plot::of_values(
        "Packet-ins outstanding per switch",
        Axis::linear("time", Unit::Seconds),
        Axis::linear("outstanding per switch", Unit::Count),
        lines,
    );
    let remark = "Mean of the switches; single switches are in the reports of the runs.";
    measured.figures.push((
        "controller-fig-7".to_owned(),
        "outstanding".to_owned(),
        Figure::plot(plot, remark),
    ));
    measured.remarks.extend(limited_by_probe(&results.iter().collect::<Vec<_>>()));
    let is_overloaded = matches!(subject, Subject::Registry(_) | Subject::Yours(_));
    if let (true, [_, fifty, hundred]) = (is_overloaded, &results[..]) {
        overload::put(&mut measured, environment, subject, overload::Growth { fifty, hundred })?;
    }
    Ok(measured)
}

/// Measures Table I of the P4RCProbe paper: the rates of paths through the controller.
pub(super) fn paths(environment: &Environment<'_>) -> Result<Measured, Failure> {
    let plan = Plan::from_toml(PATHS).map_err(Failure::run)?;
    // This rate is above what the controller takes on the paths that must show its limit. On the
    // others it may answer everything; see `Claims::put_paths`.
    let rate = "40k";
    let mut settings = ::probe::config::Settings::new();
    let own = [("protocol", "p4runtime"), ("switches.count", "1"), ("traffic.rate", rate)];
    for (key, text) in own.into_iter().chain(lengths(environment, Subject::Reference)) {
        settings.set(key, text, ::probe::config::Origin::Flag);
    }
    let resolved = settings.resolve().map_err(Failure::run)?;
    let directory = environment.make("paths")?;
    let found = paths::measure(&plan, &resolved, &directory, environment.interrupt)?;
    let document = paths::document(&plan, &found, environment.interrupted());
    directory.write_document(&document, &[]).map_err(Failure::run)?;
    let mut measured = Measured { set_up: set_up(environment), ..Measured::default() };
    measured.set_up.push((
        "offered rate".to_owned(),
        format!("{rate}/s from one switch (10 k/s in the paper)"),
    ));
    for (metric, name) in [("received_rate", "rate"), ("controller.cpu", "cpu")] {
        for (path, point) in plan.paths.iter().zip(found.points()) {
            let key = format!("{}.{}.{name}", path.variant, path.name);
            measured.put(key, point.and_then(|point| value(point, metric)));
        }
    }
    let rate = |key: &str| Some(measured.values.get(key)?.value()?.value);
    let gain = rate("enhanced.P3.rate").zip(rate("original.P3.rate"));
    let gain = gain.map(|(after, before)| Value::new(after / before - 1.0, Unit::Fraction));
    measured.put("gain.P3", gain);
    measured.links.push(link("paths"));
    evidence::Claims::new(&mut measured, System::Reference)
        .put_paths(&plan, &found.points().collect::<Vec<_>>());
    measured.remarks.extend(document.findings);
    model::paths(&mut model::Bench::new(&mut measured, environment)?)?;
    Ok(measured)
}
