//! Returns the findings of a throughput benchmark as sentences. Ratios are computed within each
//! repetition and then averaged.

use ::throughput::UpdateMethod;
use ::throughput::run::Case;
use pipeline::Path;
use statistics::{Estimate, Unit};

use super::{Point, Run, has_scenarios, latency, rate};
use crate::format::{estimate, figure, plural, printable};

/// Returns the findings of the run as sentences. If the run measured scenarios, they are the
/// throughputs of the scenarios. Otherwise they describe the point with the largest number of table
/// entries.
pub(super) fn findings(run: &Run<'_>) -> Vec<String> {
    let measured = |point: &&Point| point.findings.cases.iter().any(|case| !case.rates.is_empty());
    let points = run.points.iter().filter(measured);
    if has_scenarios(run) {
        return points.filter_map(|point| of_point(point).into_iter().next()).collect();
    }
    points.max_by_key(|point| point.flows).map_or_else(Vec::new, of_point)
}

/// Returns the findings at one point as sentences: how fast machine code is compared with the
/// interpreter, several cores with one, and each update method with the others.
fn of_point(point: &Point) -> Vec<String> {
    let of = |path: Path, method: UpdateMethod| {
        let own = point.findings.cases.iter();
        let mut own: Vec<&Case> = own
            .filter(|case| (case.path, case.method) == (path, method) && !case.rates.is_empty())
            .collect();
        own.sort_by_key(|case| case.cores);
        own
    };
    let methods = UpdateMethod::ALL;
    let first = methods.into_iter().find(|method| {
        !of(Path::Compiled, *method).is_empty() || !of(Path::Interpreter, *method).is_empty()
    });
    let Some(method) = first else { return Vec::new() };
    let (compiled, interpreted) = (of(Path::Compiled, method), of(Path::Interpreter, method));
    let cases = if compiled.is_empty() { &interpreted } else { &compiled };
    let Some(least) = cases.first() else { return Vec::new() };
    let against = interpreted
        .first()
        .filter(|other| other.path != least.path && other.cores == least.cores)
        .and_then(|other| times(least, other))
        .map(|times| format!(", {times} times that of the interpreter"));
    let mut findings = vec![format!(
        "{}: {} on {}, {}{}.",
        match &point.scenario {
            None => format!("Packets at {}", point.place()),
            Some(name) => printable(name),
        },
        rate(least).map_or_else(String::new, |rate| estimate(&rate, Unit::PerSecond)),
        plural(least.cores as u64, "core", "cores"),
        if least.path == Path::Compiled { "as machine code" } else { "interpreted" },
        against.unwrap_or_default(),
    )];
    findings.extend(delay(least));
    for more in cases.iter().skip(1) {
        let Some(times) = times(more, least) else { continue };
        findings.push(format!("On {} cores {times} times that of {}.", more.cores, least.cores));
    }
    for other in methods.into_iter().filter(|other| *other != method) {
        let cases = of(least.path, other);
        let Some(other) = cases.iter().find(|other| other.cores == least.cores) else { continue };
        let Some(times) = times(least, other) else { continue };
        findings.push(format!(
            "Packets update entries {times} times as fast by {} as by {}.",
            method.name(),
            other.method.name()
        ));
    }
    findings
}

/// Returns how many times faster one case is than another as text, or `None` if either has no
/// rates.
fn times(case: &Case, other: &Case) -> Option<String> {
    let ratio = Estimate::of_ratio(&case.rates, &other.rates)?;
    Some(estimate(&ratio, Unit::Count))
}

fn delay(case: &Case) -> Option<String> {
    let at = |share: f64| Some(estimate(&latency(case)?.percentile(share)?, Unit::Seconds));
    let offered = figure(case.latency.as_ref()?.offered, Unit::PerSecond);
    Some(format!(
        "Latency where {offered} are offered: median {}, 99 % within {}.",
        at(0.5)?,
        at(0.99)?
    ))
}
