//! The plots of one point of a sweep: its rates, outstanding packet-ins, CPU and memory over time,
//! the distribution of its latencies, and the rates of its switches.

use hdrhistogram::Histogram;
use probe::outcome::{Histograms, Latency, Point, SwitchOutcome, Trial};
use statistics::{Ordered, Unit};

use crate::describe;
use crate::estimates::{Kind, STATISTICS, usable};
use crate::format::{figure, plural};
use crate::page::{Data, Figure};
use crate::plot::{Area, Axis, Line, Plot, Point as Dot, Span, Style, spans_decades};

/// The largest number of switches whose lines have different colours (`MAX_COLOURED`), and the
/// largest number of lines of single switches or trials in one plot (`MAX_LINES`).
const MAX_COLOURED: usize = 8;
const MAX_LINES: usize = 64;

/// Returns the plots of a point. Plots over time show its first usable trial, and distributions
/// cover all of its trials.
pub(super) fn figures(point: &Point) -> Vec<Figure> {
    let Some(trial) = usable(point).next() else { return Vec::new() };
    let trials = point.trials.len();
    let which = if trials > 1 {
        format!("Trial {} of {trials}; the others are in the CSV files.", trial.repetition)
    } else {
        String::new()
    };
    let mut figures = vec![rates(trial, &which), outstanding(trial, &which)];
    figures.push(round_trip(point));
    figures.push(lag(point));
    figures.extend([cpu(trial, &which), memory(trial, &which), switches(trial, &which)]);
    figures
}

/// Returns a plot of lines over the time of one trial.
fn over_time(title: &str, description: String, y: Axis, lines: Vec<Line>, trial: &Trial) -> Plot {
    let series = &trial.series;
    let span = (series.measure_to_s > series.measure_from_s).then(|| Span {
        from: series.measure_from_s,
        to: series.measure_to_s,
        name: "measure window".to_owned(),
    });
    let x = Axis::linear("time since the first packet was due", Unit::Seconds);
    Plot { lines, span, ..Plot::new(title, description, x, y) }
}

/// Draws the rates of each second of a trial.
fn rates(trial: &Trial, which: &str) -> Figure {
    let series = &trial.series;
    // The second in which the traffic ends is left out, because its lower count would look like a
    // dip.
    let end = series.measure_to_s;
    let is_cut = |second: f64| second < end && end < second + 1.0;
    let per_second = |name: &str, values: &[u64], style: Style| {
        let seconds = values.iter().enumerate().filter(|(second, _)| !is_cut(*second as f64));
        let dots = seconds.map(|(second, n)| Dot::new(second as f64 + 0.5, *n as f64));
        let dots: Vec<_> = dots.collect();
        // A single second makes no visible line, so its point is drawn filled.
        let style = if dots.len() == 1 { style.filled() } else { style };
        Line::new(name, dots, style)
    };
    let mut lines = vec![
        per_second("sent", &series.sent_per_s, Style { dashed: true, ..Style::series(1) }),
        per_second("received", &series.received_per_s, Style::series(0)),
    ];
    if series.rules_per_s.iter().any(|n| *n > 0) {
        lines.push(per_second("rules installed", &series.rules_per_s, Style::series(2)));
    }
    let description = format!(
        "In the measure window {} sent and {} received on average.",
        figure(trial.rates.sent, Unit::PerSecond),
        figure(trial.rates.received, Unit::PerSecond)
    );
    let axis = Axis::linear("per second", Unit::PerSecond);
    let remark = format!("Counted in whole seconds, all switches together. {which}");
    let plot = over_time("Rates over time", description, axis, lines, trial);
    Figure::plot(plot, remark).with_data(Data::Extremes)
}

fn outstanding(trial: &Trial, which: &str) -> Figure {
    let switches: Vec<_> = trial.per_switch.iter().filter(|s| !s.outstanding.is_empty()).collect();
    let (title, remark) = match switches.len() {
        0 => ("Packet-ins outstanding, all switches together", "Sent and not answered yet."),
        1..=MAX_LINES => {
            ("Packet-ins outstanding, per switch", "Sent and not answered yet, a line per switch.")
        }
        _ => (
            "Packet-ins outstanding, per switch",
            "Sent and not answered yet. Switches are shown as bands, since there are many.",
        ),
    };
    let last: Vec<f64> =
        switches.iter().filter_map(|s| s.outstanding.last()).map(|n| f64::from(*n)).collect();
    let description = if last.is_empty() {
        String::new()
    } else {
        let (least, most) = describe::range(last.into_iter());
        format!("At the end between {least} and {most} per switch.")
    };
    let axis = Axis::linear("packet-ins outstanding", Unit::Count);
    let (lines, areas) = waiting(trial, &switches);
    let plot = Plot { areas, ..over_time(title, description, axis, lines, trial) };
    Figure::plot(plot, format!("{remark} {which}")).with_data(Data::Extremes)
}

/// Returns the number of unanswered packet-ins of each switch over time, for a plot. Up to
/// [`MAX_LINES`] switches have a line each, and more are shown as bands. If there are more than
/// [`MAX_COLOURED`] switches, a line shows their mean as well.
fn waiting(trial: &Trial, switches: &[&SwitchOutcome]) -> (Vec<Line>, Vec<Area>) {
    let interval = trial.series.sample_interval_s;
    if switches.is_empty() {
        let all = trial.series.outstanding.iter().map(|n| Some(*n as f64));
        let line = Line::new("all switches", samples(all, interval), Style::series(0));
        return (vec![line], Vec::new());
    }
    let length = switches.iter().map(|s| s.outstanding.len()).max().unwrap_or(0);
    let at = |sample: usize| {
        let of_each = switches.iter().filter_map(move |s| s.outstanding.get(sample));
        of_each.map(|n| f64::from(*n))
    };
    let (mut lines, mut areas) = (Vec::new(), Vec::new());
    if switches.len() <= MAX_LINES {
        for (number, switch) in switches.iter().enumerate() {
            let course = switch.outstanding.iter().map(|n| Some(f64::from(*n)));
            let name = format!("switch {}", switch.index);
            let line = Line::new(name, samples(course, interval), Style::series(number));
            lines.push(if switches.len() <= MAX_COLOURED {
                line
            } else {
                let legend = format!("each of {} switches", switches.len());
                Line { legend, style: Style::series(0).faint(), ..line }
            });
        }
    } else {
        let band = |low: f64, high: f64| {
            let edges = (0..length).map(|sample| {
                let values = Ordered::of_numbers(at(sample).collect());
                let value = |share| values.at(share).unwrap_or(f64::NAN);
                (sample as f64 * interval, value(low), value(high))
            });
            edges.collect()
        };
        areas.push(Area { name: "least to most".to_owned(), points: band(0.0, 1.0), hue: 0 });
        areas.push(Area { name: "middle 80 %".to_owned(), points: band(0.1, 0.9), hue: 0 });
    }
    if switches.len() > MAX_COLOURED {
        let means = (0..length).map(|sample| {
            let (sum, n) = at(sample).fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
            Some(sum / f64::from(n.max(1)))
        });
        let name = format!("mean of {} switches", switches.len());
        lines.push(Line::new(name, samples(means, interval), Style::series(1)));
    }
    (lines, areas)
}

fn cpu(trial: &Trial, which: &str) -> Figure {
    let series = &trial.series;
    let course = |name: &str, values: &[Option<f64>], style| {
        Line::new(name, samples(values.iter().copied(), series.sample_interval_s), style)
    };
    let lines = vec![
        course("controller", &series.controller_cpu_percent, Style::series(0)),
        course("probe", &series.probe_cpu_percent, Style { dashed: true, ..Style::series(1) }),
    ];
    let controller = trial.controller_usage.as_ref().filter(|u| u.samples > 0).map_or_else(
        || "The controller was not observed".to_owned(),
        |u| format!("Controller {} on average", figure(u.cpu_percent, Unit::CpuPercent)),
    );
    let description =
        format!("{controller}, probe {}.", figure(trial.probe_usage.cpu_percent, Unit::CpuPercent));
    let axis = Axis::linear("CPU, percent of one core", Unit::CpuPercent);
    let plot = over_time("CPU over time", description, axis, lines, trial);
    Figure::plot(plot, format!("In percent of one core. {which}")).with_data(Data::Extremes)
}

fn memory(trial: &Trial, which: &str) -> Figure {
    let series = &trial.series;
    let values = series.controller_rss_bytes.iter().map(|b| b.map(|b| b as f64));
    let line = Line::new("controller", samples(values, series.sample_interval_s), Style::series(0));
    let most = series.controller_rss_bytes.iter().flatten().max().map_or(0.0, |most| *most as f64);
    let axis = Axis::linear("resident memory", Unit::Bytes);
    let description = format!("At most {}.", figure(most, Unit::Bytes));
    let plot =
        over_time("Memory of the controller over time", description, axis, vec![line], trial);
    Figure::plot(plot, which).with_data(Data::Extremes)
}

fn samples(values: impl Iterator<Item = Option<f64>>, interval: f64) -> Vec<Dot> {
    // A missing sample interrupts the line.
    values
        .enumerate()
        .map(|(i, value)| Dot::new(i as f64 * interval, value.unwrap_or(f64::NAN)))
        .collect()
}

fn switches(trial: &Trial, which: &str) -> Figure {
    let per_switch = if trial.per_switch.len() > 1 { trial.per_switch.as_slice() } else { &[] };
    let dots = |name: &str, rate: fn(&SwitchOutcome) -> f64, hue| {
        let dots = per_switch.iter().map(|s| Dot::new(f64::from(s.index), rate(s)));
        Line::new(name, dots.collect(), Style::series(hue).dots())
    };
    let fairness = trial
        .fairness
        .map_or(String::new(), |index| format!("Jain's fairness index is {index:.4}."));
    let plot = Plot {
        lines: vec![dots("sent", |s| s.sent_rate, 1), dots("received", |s| s.received_rate, 0)],
        ..Plot::new(
            "Rates by switch",
            fairness.clone(),
            Axis::linear("switch", Unit::Count),
            Axis::linear("packets per second", Unit::PerSecond),
        )
    };
    Figure::plot(plot, format!("{fairness} {which}")).with_data(Data::Extremes)
}

fn round_trip(point: &Point) -> Figure {
    let mut lines = trial_curves(point, Kind::FromDue, 0);
    lines.push(pooled(
        point,
        Kind::FromSent,
        "from sent",
        Style { dashed: true, ..Style::series(1) },
    ));
    lines.push(pooled(point, Kind::FromDue, "from due", Style::series(0)));
    let farthest = lines.iter().flat_map(|line| &line.points).map(|dot| dot.x).fold(1.0, f64::max);
    let mut unread = pooled(
        point,
        Kind::Unread,
        "of it, read delay of the probe, at most",
        Style { dashed: true, ..Style::series(3) },
    );
    // There are many more samples of the read delay than packets, so its curve is cut at the last
    // percentile of the packets. Most samples are zero, because no answer waited, and are left out.
    let beyond = unread.points.iter().find(|dot| dot.x > farthest).map(|dot| dot.y);
    unread.points.retain(|dot| dot.x <= farthest);
    unread.points.extend(beyond.map(|y| Dot::new(farthest, y)));
    unread.points.retain(|dot| dot.y > 1e-9);
    if !unread.points.is_empty() {
        lines.push(unread);
    }
    curve("Round-trip time by percentile", "round-trip time", lines, point, Kind::FromDue)
}

fn lag(point: &Point) -> Figure {
    let mut lines = trial_curves(point, Kind::Lag, 2);
    lines.push(pooled(point, Kind::Lag, "send lag", Style::series(2)));
    curve("Send lag by percentile", "send lag", lines, point, Kind::Lag)
}

fn curve(title: &str, label: &str, lines: Vec<Line>, point: &Point, kind: Kind) -> Figure {
    let values = || lines.iter().flat_map(|l| l.points.iter().map(|p| p.y)).filter(|y| *y > 0.0);
    let y = if spans_decades(values()) {
        Axis::logarithmic(label, Unit::Seconds)
    } else {
        Axis::linear(label, Unit::Seconds)
    };
    let of = |name: &str| {
        let statistic = STATISTICS.into_iter().find(|s| s.name == name)?;
        Some(figure(kind.estimate(point, statistic)?.mean, Unit::Seconds))
    };
    let description = match (of("p50"), of("p99"), of("max")) {
        (Some(median), Some(p99), Some(max)) => {
            format!("Median {median}, 99th percentile {p99}, largest {max}.")
        }
        _ => String::new(),
    };
    let samples = plural(kind.samples(point), "sample", "samples");
    let trials = match usable(point).count() {
        0 | 1 => String::new(),
        n => format!(" of {n} trials together; thin lines are single trials"),
    };
    let plot = Plot { lines, ..Plot::new(title, description, Axis::quantile("percentile"), y) };
    Figure::plot(plot, format!("{samples}{trials}.")).with_data(Data::Elsewhere)
}

fn histogram(kind: Kind, histograms: &Histograms) -> &Histogram<u64> {
    match kind {
        Kind::FromDue => &histograms.rtt_from_due,
        Kind::FromSent => &histograms.rtt_from_sent,
        Kind::InWindow => &histograms.rtt_in_window,
        Kind::Lag => &histograms.send_lag,
        Kind::Unread => &histograms.read_delay,
    }
}

/// Returns a thin line for the latencies of each trial, or no line if there is only one trial.
fn trial_curves(point: &Point, kind: Kind, hue: usize) -> Vec<Line> {
    if usable(point).count() < 2 {
        return Vec::new();
    }
    let lines = usable(point).take(MAX_LINES).map(|trial| {
        let name = format!("trial {}", trial.repetition);
        let points = curve_of(histogram(kind, &trial.histograms), &[kind.of(trial)]);
        Line { legend: String::new(), ..Line::new(name, points, Style::series(hue).faint()) }
    });
    lines.collect()
}

/// Returns a line with the distribution of a latency over the samples of all trials together.
pub(super) fn pooled(point: &Point, kind: Kind, name: &str, style: Style) -> Line {
    let mut histograms = usable(point).map(|trial| histogram(kind, &trial.histograms));
    let mut pool = histograms.next().cloned().unwrap_or_else(|| Histograms::default().send_lag);
    pool.auto(true);
    for histogram in histograms {
        // A histogram that resizes itself accepts every other histogram, so this cannot fail.
        let _ = pool.add(histogram);
    }
    let latencies: Vec<&Latency> = usable(point).map(|trial| kind.of(trial)).collect();
    Line::new(name, curve_of(&pool, &latencies), style)
}

/// Returns the points of the curve of a latency distribution. A result that was read back from
/// `result.json` has no histogram, so its curve goes through the percentiles of the summaries.
fn curve_of(histogram: &Histogram<u64>, latencies: &[&Latency]) -> Vec<Dot> {
    if !histogram.is_empty() {
        let most = histogram.len() as f64;
        let rows = histogram.iter_quantiles(5).map(|row| {
            let across = 1.0 / (1.0 - row.quantile_iterated_to()).max(f64::MIN_POSITIVE);
            Dot::new(across.min(most), row.value_iterated_to() as f64 / 1e9)
        });
        let mut dots: Vec<Dot> = rows.collect();
        // Rows beyond the number of samples only repeat the largest sample.
        dots.dedup_by(|b, a| a.x == b.x && a.y == b.y);
        return dots;
    }
    let filled: Vec<&&Latency> = latencies.iter().filter(|l| l.samples > 0).collect();
    let samples: u64 = filled.iter().map(|l| l.samples).sum();
    if filled.is_empty() {
        return Vec::new();
    }
    let dots = STATISTICS.into_iter().filter_map(|statistic| {
        let quantile = statistic.quantile?;
        let across = if quantile < 1.0 { 1.0 / (1.0 - quantile) } else { samples as f64 };
        let mean = filled.iter().map(|l| statistic.of(l)).sum::<f64>() / filled.len() as f64;
        (across <= samples as f64).then(|| Dot::new(across, mean))
    });
    dots.collect()
}
