//! Plots the results of a sweep against the offered rate and against the number of switches.
//!
//! The plots are those of the P4RCProbe paper. They show packets against offered rate (Fig. 4a, 4b)
//! and against switches (Fig. 5), response time against switches on a logarithmic axis (Fig. 6a),
//! and CPU load against both (Fig. 4c, 6b). A line needs two points, and a plot needs a line. If a
//! run has a single point and other runs have lines, the point is drawn beside these lines.

use probe::outcome::{Point, RunResult};
use statistics::{Estimate, Unit};

use crate::estimates::metric;
use crate::format::{estimate, figure, printable, setting};
use crate::page::Figure;
use crate::plot::{Axis, Line, Mark, Plot, Point as Dot, Style};
use crate::value::Spread;
use crate::{describe, plot};

/// The quantity on the horizontal axis of a plot of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    /// The number of packet-ins that all switches together offer per second.
    Offered,
    /// The number of switches that are connected at the same time.
    Switches,
}

impl Against {
    fn of(self, point: &Point) -> Option<f64> {
        match self {
            Self::Offered => point.offered_rate,
            Self::Switches => Some(f64::from(point.switches)),
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::Offered => Unit::PerSecond,
            Self::Switches => Unit::Count,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Offered => "packet-ins offered, all switches",
            Self::Switches => "switches",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Offered => "offered rate",
            Self::Switches => "number of switches",
        }
    }

    /// Returns the setting that all points of one line have in common, as text: the number of
    /// switches if the rate is on the horizontal axis, and the load of each switch otherwise.
    fn shared_setting(self, point: &Point) -> String {
        match self {
            Self::Offered => crate::format::plural(u64::from(point.switches), "switch", "switches"),
            Self::Switches => describe::load(point),
        }
    }
}

/// The points that one line of a plot joins.
struct PlotLine<'a> {
    /// The name of the protocol. It includes the mode if the plot has several, and the name of the
    /// run if the protocol does not identify the line.
    protocol: String,
    /// The setting besides the protocol that all points of the line have in common, as text.
    shared_setting: String,
    /// The index of this setting among the settings of all lines, which also selects the line's
    /// colour.
    hue: usize,
    points: Vec<(f64, &'a Point)>,
    /// Whether the point is the only one of its run, so that it is drawn without a line.
    alone: bool,
}

/// A point of a run, with names that distinguish it from points of other runs.
struct Labelled<'a> {
    /// The name of the protocol. It includes the mode if there are several, and the name of the run
    /// if another run has the same point.
    protocol: String,
    /// The name of the run, if the run has only this point and other runs have several. Otherwise
    /// `None`.
    alone: Option<String>,
    point: &'a Point,
}

/// Returns a plot of each metric that has enough points for a line. If there are several results,
/// `names` identifies them.
pub(super) fn figures(results: &[&RunResult], names: &[&str]) -> Vec<Figure> {
    let points = labelled(results, names);
    let marks = |against| match results {
        [result] => marks(result, against),
        _ => Vec::new(),
    };
    let mut figures = Vec::new();
    for against in [Against::Switches, Against::Offered] {
        let groups = groups(&points, against);
        let joined = groups.iter().filter(|group| !group.alone);
        for protocol in describe::distinct(joined.map(|group| group.protocol.clone())) {
            let own: Vec<&PlotLine<'_>> =
                groups.iter().filter(|g| g.protocol == protocol).collect();
            figures.push(packets(marks(against), against, &own, &protocol));
        }
        let metrics = [&RTT_MEAN, &RTT_P99, &LOSS, &CPU];
        figures.extend(metrics.map(|shown| one_metric(marks(against), against, &groups, shown)));
    }
    figures
}

/// Returns the points of all results, each with names that distinguish it from the others.
fn labelled<'a>(results: &[&'a RunResult], names: &[&str]) -> Vec<Labelled<'a>> {
    let is_alone = |result: &RunResult| {
        result.points.len() == 1 && results.iter().any(|other| other.points.len() > 1)
    };
    let modes = describe::distinct(results.iter().flat_map(|r| &r.points).map(|p| &p.mode)).len();
    let kind = |point: &Point| match modes {
        0 | 1 => describe::protocol(&point.protocol),
        _ => format!("{}, {}", describe::protocol(&point.protocol), describe::mode(&point.mode)),
    };
    let of = |result: &'a RunResult| {
        result.points.iter().map(|point| (kind(point), describe::load(point), point.switches))
    };
    let mut labelled = Vec::new();
    for (place, result) in results.iter().enumerate() {
        let others =
            || results.iter().enumerate().filter(|(other, run)| *other != place && !is_alone(run));
        let alone = names.get(place).filter(|_| is_alone(result)).map(|name| printable(name));
        for point in &result.points {
            let kind = kind(point);
            // If two runs have a point in common, the names distinguish them for all points of that
            // protocol.
            let shares = others().any(|(_, other)| {
                of(other).any(|theirs| theirs.0 == kind && of(result).any(|own| own == theirs))
            });
            let label = match names.get(place) {
                Some(name) if shares && alone.is_none() => format!("{kind}, {}", printable(name)),
                _ => kind,
            };
            labelled.push(Labelled { protocol: label, alone: alone.clone(), point });
        }
    }
    labelled
}

/// The remark below every plot against the rate or the number of switches.
const MEANS: &str = "Mean over trials; bars are 95 % confidence intervals.";

/// A metric that is plotted against the rate or the number of switches.
struct Shown {
    name: &'static str,
    unit: Unit,
    title: &'static str,
    label: &'static str,
    remark: &'static str,
    logarithmic: bool,
    /// Whether the plot is left out if all values are zero.
    needs_some: bool,
}

const RTT_MEAN: Shown = Shown {
    name: "rtt.mean",
    unit: Unit::Seconds,
    title: "Mean round-trip time",
    label: "mean round-trip time",
    remark: "From due to answered.",
    logarithmic: true,
    needs_some: true,
};
const RTT_P99: Shown = Shown {
    name: "rtt.p99",
    unit: Unit::Seconds,
    title: "99th percentile of the round-trip time",
    label: "round-trip time, p99",
    remark: "From due to answered.",
    logarithmic: true,
    needs_some: true,
};
const LOSS: Shown = Shown {
    name: "loss",
    unit: Unit::Fraction,
    title: "Loss",
    label: "packet-ins without an answer",
    remark: "Share of the packet-ins sent.",
    logarithmic: false,
    needs_some: true,
};
const CPU: Shown = Shown {
    name: "controller.cpu",
    unit: Unit::CpuPercent,
    title: "CPU of the controller",
    label: "CPU of one core",
    remark: "Four busy cores are 400 %.",
    logarithmic: false,
    needs_some: false,
};

/// Groups points into lines, and returns the lines with at least two different horizontal values.
/// If there is such a line, the result also contains the points that are alone in their runs.
fn groups<'a>(points: &[Labelled<'a>], against: Against) -> Vec<PlotLine<'a>> {
    let groups = grouped(points, against, |point| against.shared_setting(point));
    if groups.is_empty() && against == Against::Switches {
        // Perhaps the sweep shares a constant total rate among a growing number of switches.
        let total = |point: &Point| {
            // The share times the number of switches equals the total rate only up to rounding.
            let rate = point.offered_rate.map(|rate| (rate * 1e6).round() / 1e6);
            rate.map_or_else(String::new, |rate| {
                format!("{} in all", setting(rate, Unit::PerSecond))
            })
        };
        return grouped(points, against, total);
    }
    groups
}

/// Groups the points into lines. The points of a line have equal names and equal shared settings.
fn grouped<'a>(
    points: &[Labelled<'a>],
    against: Against,
    shared_setting: impl Fn(&Point) -> String,
) -> Vec<PlotLine<'a>> {
    let mut groups: Vec<PlotLine<'a>> = Vec::new();
    for Labelled { protocol, alone, point } in points {
        let Some(x) = against.of(point) else { continue };
        let shared_setting = match alone {
            Some(name) => format!("{name}: {}", shared_setting(point)),
            None => shared_setting(point),
        };
        match groups
            .iter_mut()
            .find(|g| g.protocol == *protocol && g.shared_setting == shared_setting)
        {
            Some(group) => group.points.push((x, *point)),
            None => {
                let (protocol, points) = (protocol.clone(), vec![(x, *point)]);
                groups.push(PlotLine {
                    protocol,
                    shared_setting,
                    hue: 0,
                    points,
                    alone: alone.is_some(),
                });
            }
        }
    }
    for group in &mut groups {
        group.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let is_line = |g: &PlotLine<'_>| g.points.first().map(|p| p.0) != g.points.last().map(|p| p.0);
    let any = groups.iter().any(is_line);
    groups.retain(|group| is_line(group) || (any && group.alone));
    let kinds = describe::distinct(groups.iter().map(|g| g.shared_setting.clone()));
    for group in &mut groups {
        group.hue = kinds
            .iter()
            .position(|shared_setting| *shared_setting == group.shared_setting)
            .unwrap_or(0);
    }
    groups
}

/// Returns the plot of the packets that switches sent and received.
fn packets(marks: Vec<Mark>, against: Against, groups: &[&PlotLine<'_>], protocol: &str) -> Figure {
    let mut lines = Vec::new();
    let all = || groups.iter().flat_map(|g| g.points.iter());
    let xs = || all().map(|(x, _)| *x);
    if against == Against::Offered {
        let (low, high) = describe::range(xs());
        let ends = vec![Dot::new(low, low), Dot::new(high, high)];
        lines.push(Line::new("all that is offered", ends, Style::guide()));
    }
    let mut keys = Vec::new();
    let (mut title, sent, received) = (String::new(), "sent_rate", "received_rate");
    if let [group] = groups {
        // If there is only one line of sent packets and one of received packets, they differ by
        // colour as well.
        title = format!(" ({})", group.shared_setting);
        let styles = (Style::series(1).hollow(), Style::series(0).filled());
        lines.push(line("sent".to_owned(), group, against, sent, Unit::PerSecond, styles.0));
        lines.push(line(
            "received".to_owned(),
            group,
            against,
            received,
            Unit::PerSecond,
            styles.1,
        ));
        lines.iter_mut().for_each(|line| line.legend.clone_from(&line.name));
    } else {
        keys.extend([
            ("sent".to_owned(), Style::key().hollow()),
            ("received".to_owned(), Style::key().filled()),
        ]);
        for group in groups {
            let style = Style::series(group.hue);
            let name = |what: &str| format!("{what}, {}", group.shared_setting);
            let hollow = style.hollow();
            lines.push(line(name("sent"), group, against, sent, Unit::PerSecond, hollow));
            let filled = style.filled();
            let received =
                line(name("received"), group, against, received, Unit::PerSecond, filled);
            lines.push(Line { legend: group.shared_setting.clone(), ..received });
        }
    }
    let rates = || all().flat_map(|(_, point)| [sent, received].map(|name| metric(point, name)));
    let wide = against == Against::Offered
        && plot::spans_decades(xs())
        && plot::spans_decades(rates().flatten().map(|e| e.mean));
    let axis = |label: &str, unit| {
        if wide { Axis::logarithmic(label, unit) } else { Axis::linear(label, unit) }
    };
    let against_what = against.title();
    let plot = Plot::new(
        format!("{protocol}: packets sent and received against {against_what}{title}"),
        describe_packets(groups),
        axis(against.label(), against.unit()),
        axis("packets, all switches", Unit::PerSecond),
    );
    Figure::plot(Plot { lines, marks, keys, ..plot }, MEANS)
}

fn describe_packets(groups: &[&PlotLine<'_>]) -> String {
    let ends = groups.iter().filter_map(|group| {
        let (_, last) = group.points.last()?;
        let sent = figure(metric(last, "sent_rate")?.mean, Unit::PerSecond);
        let received = figure(metric(last, "received_rate")?.mean, Unit::PerSecond);
        Some(format!(
            "{}: at the right end {sent} sent, {received} received.",
            group.shared_setting
        ))
    });
    ends.collect::<Vec<_>>().join(" ")
}

/// Returns the plot of a single metric, with a line for each group of points.
fn one_metric(
    marks: Vec<Mark>,
    against: Against,
    groups: &[PlotLine<'_>],
    shown: &Shown,
) -> Figure {
    let protocols = describe::distinct(groups.iter().map(|g| g.protocol.as_str()));
    let all = || groups.iter().flat_map(|g| g.points.iter());
    let values = || all().filter_map(|(_, point)| metric(point, shown.name));
    let empty = shown.needs_some && !values().any(|e| e.mean > 0.0);
    let mut lines = Vec::new();
    for (number, group) in groups.iter().enumerate().filter(|_| !empty) {
        let full = format!("{}, {}", group.protocol, group.shared_setting);
        // With one or two protocols, colour shows the load and dashes show the protocol. With more
        // protocols, or with two protocols of one line each, colour identifies every line.
        let (name, legend, style) = match protocols.as_slice() {
            _ if group.alone => (full.clone(), full, Style::series(group.hue).filled()),
            [_, _] if groups.len() == 2 => (full.clone(), full, Style::series(number).filled()),
            [_] => (
                group.shared_setting.clone(),
                group.shared_setting.clone(),
                Style::series(group.hue).filled(),
            ),
            [_, second] if group.protocol == *second => {
                (full, String::new(), Style::series(group.hue).hollow())
            }
            [_, _] => (full, group.shared_setting.clone(), Style::series(group.hue).filled()),
            _ => (full.clone(), full, Style::series(number).filled()),
        };
        let line = line(name, group, against, shown.name, shown.unit, style);
        if !line.points.is_empty() {
            lines.push(Line { legend, ..line });
        }
    }
    let mut keys = Vec::new();
    if let [first, second] = protocols.as_slice()
        && groups.len() > 2
    {
        let styles = [Style::key().filled(), Style::key().hollow()];
        keys.extend([(*first).to_owned(), (*second).to_owned()].into_iter().zip(styles));
    }
    let (low, high) = describe::range(values().map(|e| e.mean));
    let (least, most) = (figure(low, shown.unit), figure(high, shown.unit));
    let y = match shown.logarithmic {
        true => Axis::logarithmic(shown.label, shown.unit),
        false => Axis::linear(shown.label, shown.unit),
    };
    let plot = Plot::new(
        format!("{} against {}", shown.title, against.title()),
        format!("From {least} to {most}."),
        Axis::fitting(against.label(), against.unit(), all().map(|(x, _)| *x)),
        y,
    );
    Figure::plot(Plot { lines, marks, keys, ..plot }, format!("{} {MEANS}", shown.remark))
}

/// Returns the line of a metric through the points of a group, without an entry in the legend.
fn line(
    name: String,
    group: &PlotLine<'_>,
    against: Against,
    metric_name: &str,
    unit: Unit,
    style: Style,
) -> Line {
    let points = group.points.iter().filter_map(|(x, point)| {
        let value = metric(point, metric_name)?;
        let tip = Some(tip(*x, against, &name, value, unit));
        Some(Dot { x: *x, y: value.mean, spread: Spread::of(value, unit), tip })
    });
    let points = points.collect();
    Line { legend: String::new(), ..Line::new(name, points, style) }
}

fn tip(x: f64, against: Against, name: &str, value: &Estimate, unit: Unit) -> String {
    let at = match against {
        Against::Offered => format!("{} offered", figure(x, Unit::PerSecond)),
        Against::Switches => crate::format::plural(x as u64, "switch", "switches"),
    };
    format!("{name}, {at}: {} (n = {})", estimate(value, unit), value.n)
}

/// Returns vertical marks for a plot against the offered rate: one at the highest rate without
/// loss, and one at the knee, as a search found them. Returns none if there was no search, or for a
/// plot against the number of switches.
fn marks(result: &RunResult, against: Against) -> Vec<Mark> {
    let Some(search) = result.search.as_ref().filter(|_| against == Against::Offered) else {
        return Vec::new();
    };
    let found = [(search.loss_free_rate, "loss-free up to"), (search.knee_rate, "knee at")];
    let marks = found.into_iter().filter_map(|(rate, what)| {
        let x = rate?;
        Some(Mark { x, label: format!("{what} {}", figure(x, Unit::PerSecond)) })
    });
    marks.collect()
}
