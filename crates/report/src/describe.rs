//! Describes controller benchmarks in words.

use std::collections::BTreeMap;

use probe::outcome::{Completion, Point, RankOutcome, RunResult, SearchOutcome};

use crate::alarm::{self, Alarm};
use crate::format::{duration, figure, plural, printable, setting, whole};
pub(crate) use crate::notes::notes;
use probe::metrics::Metric;
use statistics::Unit;

/// Returns the usual spelling of a protocol's name, such as `OpenFlow 1.3`.
pub(crate) fn protocol(name: &str) -> String {
    match name {
        "openflow10" => "OpenFlow 1.0".to_owned(),
        "openflow13" => "OpenFlow 1.3".to_owned(),
        "p4runtime" => "P4Runtime".to_owned(),
        other => printable(other),
    }
}

/// Describes the load of each switch at a point of a sweep: `100/s each`, `window 16`, `flood`.
pub(crate) fn load(point: &Point) -> String {
    match (point.rate_per_switch, point.window) {
        (Some(rate), _) => format!("{} each", setting(rate, Unit::PerSecond)),
        (None, Some(window)) => format!("window {window}"),
        (None, None) => printable(&point.mode),
    }
}

/// Describes a point of a sweep: `OpenFlow 1.3, 50 switches, 100/s each`.
pub(crate) fn point(point: &Point) -> String {
    format!("{}, {}", protocol(&point.protocol), switches(point))
}

/// Describes the number of switches and their load: `50 switches, 100/s each`.
pub(crate) fn switches(point: &Point) -> String {
    format!("{}, {}", plural(u64::from(point.switches), "switch", "switches"), load(point))
}

/// Describes a point of a sweep. The protocol is omitted if all points in `among` have the same
/// one.
pub(crate) fn place(point: &Point, among: &[Point]) -> String {
    match among.iter().all(|other| other.protocol == point.protocol) {
        true => switches(point),
        false => self::point(point),
    }
}

/// The columns of the table of ranks (processes that share the switches of a run). Each column has
/// its title and whether it holds figures.
pub(crate) const RANK_COLUMNS: [(&str, bool); 8] = [
    ("rank", false),
    ("host", false),
    ("switches", true),
    ("sent", true),
    ("answered", true),
    ("CPU", true),
    ("clock", true),
    ("limit", false),
];

/// Returns the ranks (processes that share the switches) of the last trial that has several: the
/// number of the trial, and a table row with the cells of [`RANK_COLUMNS`] for each rank. Returns
/// `None` if there is no such trial. The clock cell bounds the offset from the clock of rank 0, as
/// measured before traffic started.
pub(crate) fn ranks(point: &Point) -> Option<(u32, Vec<[String; 8]>)> {
    let trial = point.trials.iter().rev().find(|trial| !trial.ranks.is_empty())?;
    let row = |rank: &RankOutcome| {
        let percent = rank.probe_usage.cpu_percent;
        let clock = rank.clock_before.map(|clock| clock.bound_ns as f64 / 1e9);
        let limit = match (&rank.verdict, &rank.completion) {
            (None, _) => "lost".to_owned(),
            (_, Completion::Failed { .. }) => "failed".to_owned(),
            (Some(verdict), _) => crate::verdict::word(verdict.saturated).to_owned(),
        };
        [
            rank.rank.to_string(),
            printable(&rank.hostname),
            whole(u64::from(rank.switches)),
            figure(rank.rates.sent, Unit::PerSecond),
            figure(rank.rates.received, Unit::PerSecond),
            format!("{percent:.0} %"),
            clock.map_or_else(String::new, |bound| format!("±{}", figure(bound, Unit::Seconds))),
            limit,
        ]
    };
    Some((trial.repetition, trial.ranks.iter().map(row).collect()))
}

/// Describes a run in a sentence without a full stop:
/// `OpenFlow 1.3, open loop, 1 to 50 switches, 10/s to 100/s each`.
pub(crate) fn run(result: &RunResult) -> String {
    let points = &result.points;
    if points.is_empty() {
        return "no point was measured".to_owned();
    }
    let mut parts = vec![
        distinct(points.iter().map(|p| protocol(&p.protocol))).join(" and "),
        distinct(points.iter().map(|p| mode(&p.mode))).join(" and "),
    ];
    let (least, most) = range(points.iter().map(|p| f64::from(p.switches)));
    parts.push(if least == most {
        plural(most as u64, "switch", "switches")
    } else {
        format!("{least} to {}", plural(most as u64, "switch", "switches"))
    });
    let rates: Vec<_> = points.iter().filter_map(|p| p.rate_per_switch).collect();
    if !rates.is_empty() {
        let (least, most) = range(rates.into_iter());
        let (from, to) = (setting(least, Unit::PerSecond), setting(most, Unit::PerSecond));
        parts.push(if least == most {
            format!("{to} each")
        } else {
            format!("{from} to {to} each")
        });
    }
    let windows: Vec<_> = points.iter().filter_map(|p| p.window.map(f64::from)).collect();
    if !windows.is_empty() {
        let (least, most) = range(windows.into_iter());
        parts.push(if least == most {
            format!("window {most}")
        } else {
            format!("window {least} to {most}")
        });
    }
    parts.join(", ")
}

/// Describes how much a run measured: `5 trials of 60 s at each of 18 points`.
pub(crate) fn effort(result: &RunResult) -> String {
    let trials: Vec<_> = result.points.iter().flat_map(|p| &p.trials).collect();
    if trials.is_empty() {
        return "no trial ran".to_owned();
    }
    let each: Vec<usize> = result.points.iter().map(|p| p.trials.len()).collect();
    let same = each.iter().all(|n| *n == each[0]);
    let lengths = range(trials.iter().map(|t| t.measured_s));
    if lengths.1 <= 0.0 {
        return format!("{}, nothing measured", plural(trials.len() as u64, "trial", "trials"));
    }
    let length = if lengths.1 - lengths.0 <= 0.05 * lengths.1 {
        duration(lengths.1)
    } else {
        format!("{} to {}", duration(lengths.0), duration(lengths.1))
    };
    match (result.points.len(), same) {
        (1, _) => format!("{} of {length}", plural(trials.len() as u64, "trial", "trials")),
        (points, true) => {
            format!(
                "{} of {length} at each of {points} points",
                plural(each[0] as u64, "trial", "trials")
            )
        }
        (points, false) => format!(
            "{} of {length} at {points} points",
            plural(trials.len() as u64, "trial", "trials")
        ),
    }
}

/// Returns the name of a load mode in words, such as `open loop`.
pub(crate) fn mode(name: &str) -> String {
    match name {
        "open" => "open loop".to_owned(),
        "closed" => "closed loop".to_owned(),
        other => printable(other),
    }
}

/// Returns the state of an incomplete run (`PARTIAL` or `FAILED`) and the reason for it, or `None`
/// if the run is complete. Reports must show the state and the reason before any figure.
pub(crate) fn incomplete(completion: &Completion) -> Option<(&'static str, String)> {
    match completion {
        Completion::Complete => None,
        Completion::Partial { reason } => Some(("PARTIAL", printable(reason))),
        Completion::Failed { reason } => Some(("FAILED", printable(reason))),
    }
}

/// Returns the failures of a run: thresholds that do not hold, incompleteness, and reasons why
/// nothing was answered.
pub(crate) fn alarms(result: &RunResult) -> Vec<Alarm> {
    let several = result.points.len() > 1;
    let broken = result.thresholds.iter().filter(|threshold| !threshold.held).map(|threshold| {
        let at = if several { format!(" at {}", threshold.point) } else { String::new() };
        let value = match threshold.value {
            Some(_) => format!("it is {}", threshold_value(&threshold.condition, threshold.value)),
            None => "there is no value".to_owned(),
        };
        let remark =
            threshold.remark.as_ref().map_or_else(String::new, |text| format!(" ({text})"));
        format!("threshold {} does not hold{at}: {value}{remark}", threshold.condition)
    });
    let mut alarms = alarm::broken(&broken.collect::<Vec<_>>());
    if let Some((state, reason)) = incomplete(&result.completion) {
        let (what, meaning) = match state {
            "PARTIAL" => ("is partial", "Its figures cover only a part of what was requested."),
            _ => ("failed", "Nothing could be measured."),
        };
        let text = format!("This run {what}: {}.", reason.trim_end_matches('.'));
        alarms.push(Alarm::new(alarm::Kind::Partial, state, text).with(meaning));
    }
    for (reason, points) in why_zero(result) {
        let at = if several { format!(" ({})", points.join("; ")) } else { String::new() };
        let alarm = Alarm::new(alarm::Kind::Wrong, "NO ANSWER", "Why nothing was answered:");
        alarms.push(alarm.with(format!("{reason}{at}")));
    }
    alarms
}

/// Returns each reason why the controller answered nothing, with the points of the sweep to which
/// that reason applies.
pub(crate) fn why_zero(result: &RunResult) -> Vec<(String, Vec<String>)> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for at in &result.points {
        for reason in at.trials.iter().filter_map(|t| t.handshake.why_zero.as_ref()) {
            let points = reasons.entry(printable(reason)).or_default();
            let name = point(at);
            if !points.contains(&name) {
                points.push(name);
            }
        }
    }
    reasons.into_iter().collect()
}

/// A figure that a search for rates found, as a row of a table.
pub(crate) struct SearchRow {
    pub(crate) name: &'static str,
    pub(crate) value: Option<f64>,
    /// A remark on the figure, or the reason why there is none.
    pub(crate) remark: String,
}

/// Returns what a search for rates found, for all switches together: the highest rate without loss
/// and its upper limit, the highest answered rate, and the knee of the response time.
pub(crate) fn search(search: &SearchOutcome) -> [SearchRow; 4] {
    let rate = |value: f64| figure(value, Unit::PerSecond);
    let row = |name, value: Option<f64>, without: &str, with: String| SearchRow {
        name,
        value,
        remark: if value.is_some() { with } else { without.to_owned() },
    };
    let interval = match (search.knee_low_rate, search.knee_high_rate) {
        (Some(low), Some(high)) => format!("between {} and {}", rate(low), rate(high)),
        _ => String::new(),
    };
    let sure = search.confidence.map_or_else(String::new, |confidence| {
        format!("both ends with {:.0} % confidence", 100.0 * confidence)
    });
    let at =
        search.maximum_at_rate.map_or_else(String::new, |at| format!("at {} offered", rate(at)));
    [
        row("loss-free up to at least", search.loss_free_rate, "none was loss-free", sure.clone()),
        row(
            "and up to at most",
            search.lossy_rate,
            match search.limited_by_probe {
                true => "unknown, since the probe was the limit",
                false => "no rate failed; raise --search-high",
            },
            sure,
        ),
        row("highest rate answered", Some(search.maximum_received_rate), "", at),
        row("knee of the response time", search.knee_rate, "not found", interval),
    ]
}

/// Returns the distinct values, in the order of their first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

/// Returns the smallest and the largest value.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}
/// Formats the value with which the threshold of `condition` was compared, in the unit of its
/// metric.
pub(crate) fn threshold_value(condition: &str, value: Option<f64>) -> String {
    let Some(value) = value else { return "no value".to_owned() };
    let name = condition
        .split(|c: char| c.is_whitespace() || "<>=!".contains(c))
        .find(|word| !word.is_empty());
    let unit = name.and_then(Metric::by_name).map_or(Unit::Index, |metric| metric.unit);
    figure(value, unit)
}
