//! Converts the result of a controller benchmark to the form in which results are compared.

use probe::metrics::Metric;
use probe::outcome::{Point, RunResult, Saturated};
use statistics::Unit;

use super::{Dimensions, Kind, Machine, Quantity, Recorded, Spread};
use crate::format::{plural, printable};
use crate::{describe, verdict};

/// The metrics that comparisons show by default, and whether larger values of each are better.
const SHOWN_METRICS: [(&str, Option<bool>); 9] = [
    ("received_rate", Some(true)),
    ("loss", Some(false)),
    ("rtt.mean", Some(false)),
    ("rtt.p50", Some(false)),
    ("rtt.p99", Some(false)),
    ("rules_rate", None),
    ("fairness", Some(true)),
    ("controller.cpu", Some(false)),
    ("controller.rss", Some(false)),
];

/// The names, or prefixes of names, of the settings of a controller benchmark that influence
/// figures. The controller and the protocol are left out because they are what is compared.
/// Settings that choose points are left out because points are matched one by one.
const INFLUENTIAL_SETTINGS: [&str; 4] = ["isolate", "switches.", "timing.", "traffic."];

impl Recorded {
    /// Returns the figures of a controller benchmark with its name and conditions.
    #[must_use]
    pub fn of_run(name: &str, result: &RunResult) -> Self {
        let is_influential =
            |key: &str| INFLUENTIAL_SETTINGS.iter().any(|prefix| key.starts_with(prefix));
        let host = &result.provenance.host;
        Self {
            name: printable(name),
            kind: Kind::Controller,
            about: format!(
                "{}; controller {}; {}",
                describe::run(result),
                printable(&result.controller.address),
                describe::effort(result)
            ),
            started_at: printable(&result.provenance.started_at),
            partial: describe::incomplete(&result.completion)
                .map(|(state, reason)| format!("{state}: {reason}")),
            machine: (!host.cpu_model.is_empty()).then(|| Machine {
                hostname: printable(&host.hostname),
                processor: printable(&host.cpu_model),
                cores: u64::from(host.cpus),
            }),
            settings: result
                .configuration
                .iter()
                .filter(|(key, _)| is_influential(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            pipelines: result.pipelines().into_iter().map(printable).collect(),
            figures: result
                .points
                .iter()
                .zip(1..)
                .flat_map(|(point, number)| figures(point, number))
                .collect(),
        }
    }
}

/// Returns the named dimensions of a point. The number of the point is one of them, so that a
/// program can find the point's histograms.
fn dimensions(point: &Point, number: u32) -> Dimensions {
    Dimensions::default()
        .with("point", number)
        .with("protocol", point.protocol.as_str())
        .with("mode", point.mode.as_str())
        .with("switches", point.switches)
        .with_some("rate_per_s", point.rate_per_switch)
        .with_some("offered_rate_per_s", point.offered_rate)
        .with_some("window", point.window)
}

/// Returns the figures of a point that can be compared with those of other results. `number` is the
/// position of the point in its result, from 1.
fn figures(point: &Point, number: u32) -> Vec<Quantity> {
    let doubt = (verdict::of_point(point).side == Saturated::Probe)
        .then(|| "the probe was the limit: no statement about the controller".to_owned());
    let switches = plural(u64::from(point.switches), "switch", "switches");
    let quantity = |metric: &Metric| {
        let estimate = *point.summary.get(metric.name)?;
        let shown = SHOWN_METRICS.iter().find(|(name, _)| *name == metric.name);
        Some(Quantity {
            subject: format!(
                "{}, {}",
                describe::protocol(&point.protocol),
                describe::mode(&point.mode)
            ),
            place: format!("{switches}, {}", describe::load(point)),
            dimensions: dimensions(point, number),
            across: point.offered_rate.map(|rate| ("packet-ins offered, all switches", rate)),
            metric: metric.name.to_owned(),
            unit: metric.unit,
            value: estimate.mean,
            spread: Spread::Repetitions(estimate),
            more_is_better: shown.and_then(|(_, better)| *better).or(otherwise(metric)),
            headline: shown.is_some(),
            doubt: doubt.clone(),
        })
    };
    // The metrics that are shown come first, in their order.
    let shown = SHOWN_METRICS.iter().filter_map(|(name, _)| Metric::by_name(name));
    let others =
        Metric::all().filter(|metric| SHOWN_METRICS.iter().all(|(name, _)| *name != metric.name));
    shown.chain(others).filter_map(quantity).collect()
}

/// Returns whether larger values are better, for a metric that comparisons do not show by default.
/// Larger times are worse. For all other metrics, the result is `None`.
fn otherwise(metric: &Metric) -> Option<bool> {
    (metric.unit == Unit::Seconds).then_some(false)
}
