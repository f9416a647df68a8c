//! States in sentences what a throughput benchmark found. Ratios are computed within each
//! repetition and then averaged.

use ::throughput::UpdateMethod;
use ::throughput::run::Case;
use pipeline::Path;
use statistics::{Estimate, Unit};

use super::{Point, Run, latency, rate, size};
use crate::format::{estimate, figure, plural};

/// Returns sentences on what was found with the largest number of table entries. They compare
/// machine code with the interpreter, several cores with one, and the update methods with each
/// other.
pub(super) fn findings(run: &Run<'_>) -> Vec<String> {
    let measured = |point: &&Point| point.findings.cases.iter().any(|case| !case.rates.is_empty());
    let Some(point) = run.points.iter().filter(measured).max_by_key(|point| point.flows) else {
        return Vec::new();
    };
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
        "Packets at {} entries: {} on {}, {}{}.",
        size(point.flows),
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
