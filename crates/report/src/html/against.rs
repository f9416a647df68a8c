//! Plots of a sweep: figures against the offered rate and against the number of switches.
//!
//! They are those of the P4RCProbe paper: packets against offered rate (its Fig. 4a, 4b) and
//! against switches (Fig. 5), response time against switches on a logarithmic axis (Fig. 6a), CPU
//! against both (Fig. 4c, 6b). A line needs two points; a plot without a line is not drawn.

use probe::metrics::Unit;
use probe::outcome::{Estimate, Point, RunResult};

use super::figure::{Data, Figure};
use crate::estimates::metric;
use crate::format::{estimate, figure};
use crate::plot::{Axis, Line, Mark, Plot, Point as Dot, Style};
use crate::{describe, plot};

/// What is varied along the horizontal axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    /// Packet-ins offered per second, all switches together.
    Offered,
    /// Number of switches.
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

    /// What stays the same along a line.
    fn kept(self, point: &Point) -> String {
        match self {
            Self::Offered => crate::format::plural(u64::from(point.switches), "switch", "switches"),
            Self::Switches => describe::load(point),
        }
    }
}

/// Points that one line joins.
struct Group<'a> {
    protocol: String,
    /// What they have in common beside the protocol.
    kept: String,
    /// Number of that among all lines, which is the number of its colour.
    hue: usize,
    points: Vec<(f64, &'a Point)>,
}

/// All plots for which there is data.
pub(super) fn figures(result: &RunResult) -> Vec<Figure> {
    let mut figures = Vec::new();
    for against in [Against::Offered, Against::Switches] {
        let groups = groups(&result.points, against);
        if groups.is_empty() {
            continue;
        }
        let protocols = describe::distinct(groups.iter().map(|g| g.protocol.clone()));
        for protocol in &protocols {
            let of_one: Vec<&Group<'_>> =
                groups.iter().filter(|g| g.protocol == *protocol).collect();
            figures.push(packets(result, against, &of_one, protocol));
        }
        let trials = "Mean over trials; bars are 95 % confidence intervals.";
        figures.extend([
            one_metric(result, against, &groups, &RTT_MEAN, "From due to answered. Mean over trials; bars are 95 % confidence intervals."),
            one_metric(result, against, &groups, &RTT_P99, "From due to answered. Mean over trials; bars are 95 % confidence intervals."),
            one_metric(result, against, &groups, &LOSS, trials),
            one_metric(result, against, &groups, &CPU, "In percent of one core, so that four busy cores are 400. Mean over trials; bars are 95 % confidence intervals."),
        ]);
    }
    figures
}

/// A metric that has a plot of its own.
struct Shown {
    name: &'static str,
    unit: Unit,
    title: &'static str,
    label: &'static str,
    logarithmic: bool,
    /// Not drawn if all values are zero.
    needs_some: bool,
}

const RTT_MEAN: Shown = Shown {
    name: "rtt.mean",
    unit: Unit::Seconds,
    title: "Mean round-trip time",
    label: "mean round-trip time",
    logarithmic: true,
    needs_some: true,
};
const RTT_P99: Shown = Shown {
    name: "rtt.p99",
    unit: Unit::Seconds,
    title: "99th percentile of the round-trip time",
    label: "round-trip time, p99",
    logarithmic: true,
    needs_some: true,
};
const LOSS: Shown = Shown {
    name: "loss",
    unit: Unit::Fraction,
    title: "Loss",
    label: "packet-ins without an answer",
    logarithmic: false,
    needs_some: true,
};
const CPU: Shown = Shown {
    name: "controller.cpu",
    unit: Unit::CpuPercent,
    title: "CPU of the controller",
    label: "CPU, percent of one core",
    logarithmic: false,
    needs_some: false,
};

/// Lines of at least two different horizontal values.
fn groups(points: &[Point], against: Against) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let several_modes = describe::distinct(points.iter().map(|p| &p.mode)).len() > 1;
    for point in points {
        let Some(x) = against.of(point) else { continue };
        let mut protocol = describe::protocol(&point.protocol);
        if several_modes {
            protocol = format!("{protocol}, {}", describe::mode(&point.mode));
        }
        let kept = against.kept(point);
        match groups.iter_mut().find(|g| g.protocol == protocol && g.kept == kept) {
            Some(group) => group.points.push((x, point)),
            None => groups.push(Group { protocol, kept, hue: 0, points: vec![(x, point)] }),
        }
    }
    for group in &mut groups {
        group.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    groups.retain(|g| g.points.first().map(|p| p.0) != g.points.last().map(|p| p.0));
    let kinds = describe::distinct(groups.iter().map(|g| g.kept.clone()));
    for group in &mut groups {
        group.hue = kinds.iter().position(|kept| *kept == group.kept).unwrap_or(0);
    }
    groups
}

/// Packets sent and received.
fn packets(result: &RunResult, against: Against, groups: &[&Group<'_>], protocol: &str) -> Figure {
    let mut lines = Vec::new();
    let all = || groups.iter().flat_map(|g| g.points.iter());
    let xs = || all().map(|(x, _)| *x);
    let several = groups.len() > 1;
    if against == Against::Offered {
        let (low, high) = describe::range(xs());
        lines.push(Line {
            name: "all that is offered".to_owned(),
            points: vec![Dot::new(low, low), Dot::new(high, high)],
            style: Style::guide(),
            tip: None,
        });
    }
    for group in groups {
        let name =
            |what: &str| if several { format!("{what}, {}", group.kept) } else { what.to_owned() };
        // With one group, sent and received differ by colour too.
        let (sent, received) = if several { (group.hue, group.hue) } else { (1, 0) };
        lines.push(line(
            name("sent"),
            group,
            against,
            "sent_rate",
            Unit::PerSecond,
            Style::series(sent).hollow(),
        ));
        lines.push(line(
            name("received"),
            group,
            against,
            "received_rate",
            Unit::PerSecond,
            Style::series(received).filled(),
        ));
    }
    let rates = all().flat_map(|(_, p)| ["sent_rate", "received_rate"].map(|name| metric(p, name)));
    let wide = against == Against::Offered
        && plot::spans_decades(xs())
        && plot::spans_decades(rates.flatten().map(|e| e.mean));
    let axis = |label: &str, unit| {
        if wide { Axis::logarithmic(label, unit) } else { Axis::linear(label, unit) }
    };
    let common = if several {
        String::new()
    } else {
        format!(" ({})", groups.first().map_or("", |g| &g.kept))
    };
    Figure {
        plot: Plot {
            title: format!("{protocol}: packets sent and received against {}{common}", against.title()),
            description: describe_packets(groups),
            x: axis(against.label(), against.unit()),
            y: axis("packets per second", Unit::PerSecond),
            lines,
            areas: Vec::new(),
            span: None,
            marks: marks(result, against),
        },
        remark: "Packet-ins sent and answers received per second, all switches together. Mean over trials; bars are 95 % confidence intervals.".to_owned(),
        data: Data::Points,
    }
}

fn describe_packets(groups: &[&Group<'_>]) -> String {
    let ends = groups.iter().filter_map(|group| {
        let (_, last) = group.points.last()?;
        let sent = figure(metric(last, "sent_rate")?.mean, Unit::PerSecond);
        let received = figure(metric(last, "received_rate")?.mean, Unit::PerSecond);
        Some(format!("{}: at the right end {sent} sent, {received} received.", group.kept))
    });
    ends.collect::<Vec<_>>().join(" ")
}

/// One metric, a line per group.
fn one_metric(
    result: &RunResult,
    against: Against,
    groups: &[Group<'_>],
    shown: &Shown,
    remark: &str,
) -> Figure {
    let protocols = describe::distinct(groups.iter().map(|g| g.protocol.clone()));
    let values =
        || groups.iter().flat_map(|g| g.points.iter().filter_map(|(_, p)| metric(p, shown.name)));
    let empty = shown.needs_some && !values().any(|e| e.mean > 0.0);
    let mut lines = Vec::new();
    for (number, group) in groups.iter().enumerate().filter(|_| !empty) {
        let name = if protocols.len() > 1 {
            format!("{}, {}", group.protocol, group.kept)
        } else {
            group.kept.clone()
        };
        // Two protocols: the colour says the load, dashes the protocol.
        let style = match protocols.iter().position(|p| *p == group.protocol) {
            Some(1) if protocols.len() == 2 => Style::series(group.hue).hollow(),
            _ if protocols.len() <= 2 => Style::series(group.hue).filled(),
            _ => Style::series(number).filled(),
        };
        lines.push(line(name, group, against, shown.name, shown.unit, style));
    }
    lines.retain(|l| !l.points.is_empty());
    let xs = || groups.iter().flat_map(|g| g.points.iter().map(|p| p.0));
    let (low, high) = describe::range(values().map(|e| e.mean));
    let y = if shown.logarithmic {
        Axis::logarithmic(shown.label, shown.unit)
    } else {
        Axis::linear(shown.label, shown.unit)
    };
    Figure {
        plot: Plot {
            title: format!("{} against {}", shown.title, against.title()),
            description: format!(
                "From {} to {}.",
                figure(low, shown.unit),
                figure(high, shown.unit)
            ),
            x: Axis::fitting(against.label(), against.unit(), xs()),
            y,
            lines,
            areas: Vec::new(),
            span: None,
            marks: marks(result, against),
        },
        remark: remark.to_owned(),
        data: Data::Points,
    }
}

fn line(
    name: String,
    group: &Group<'_>,
    against: Against,
    metric_name: &str,
    unit: Unit,
    style: Style,
) -> Line {
    let points = group.points.iter().filter_map(|(x, point)| {
        let value = metric(point, metric_name)?;
        Some(Dot {
            x: *x,
            y: value.mean,
            interval: value.ci95,
            tip: Some(tip(*x, against, &name, value, unit)),
        })
    });
    let points = points.collect();
    Line { name, points, style, tip: None }
}

fn tip(x: f64, against: Against, name: &str, value: &Estimate, unit: Unit) -> String {
    let at = match against {
        Against::Offered => format!("{} offered", figure(x, Unit::PerSecond)),
        Against::Switches => crate::format::plural(x as u64, "switch", "switches"),
    };
    format!("{name}, {at}: {} (n = {})", estimate(value, unit), value.n)
}

/// What a search found.
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
