//! Writes `result.json` and `cases.csv` of a throughput benchmark.

use ::throughput::run::Case;
use ::throughput::times::Times;
use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};
use statistics::{Estimate, can_state};

use super::{Run, cost, latency, path, rate};
use crate::csv::Quoted;
use crate::json::{estimate, result};

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../../schemas/bench-result.v1.schema.json");

/// The percentiles of latency that are written: the name and the share of packets of each.
const SHARES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

/// Returns a throughput benchmark as JSON. Times are in nanoseconds if the name of the field ends
/// in `_ns`, and rates are per second.
#[must_use]
pub fn to_json(run: &Run<'_>) -> String {
    let settings = run.settings;
    let partial = run.points.iter().any(|point| point.findings.interrupted);
    let value = json!({
        "schema": "planimeter-bench-result.v1",
        "completion": if partial { "partial" } else { "complete" },
        "program": run.program,
        "settings": {
            "time_s": settings.time.as_secs_f64(),
            "repetitions": settings.repetitions,
            "load": settings.load,
            "skew": settings.skew,
            "any_core": settings.any_core,
            "seed": settings.seed,
        },
        "points": run.points.iter().map(|point| json!({
            "scenario": point.scenario,
            "io": point.findings.io.name(),
            "flows": point.flows,
            "packet_bytes": point.packet_bytes,
            "leaving": point.leaving,
            "entries": point.entries.iter()
                .map(|(table, count)| json!({"table": table, "entries": count}))
                .collect::<Vec<_>>(),
            "notes": point.notes,
            "solved_tables": point.solved.iter()
                .map(|(table, flows)| json!({"table": table, "flows": flows}))
                .collect::<Vec<_>>(),
            "unhit_tables": point.unhit.iter()
                .map(|(table, reason)| json!({"table": table, "reason": reason}))
                .collect::<Vec<_>>(),
            "copied": estimate(Estimate::of(&point.findings.copied).as_ref()),
            "cases": point.findings.cases.iter().map(case).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    result(run.provenance, value)
}

fn case(case: &Case) -> Value {
    let counts = case.counts;
    json!({
        "path": path(case),
        "method": case.method.name(),
        "cores": case.cores,
        "refused": case.refused,
        "left_to_the_interpreter": case.interpreted.iter()
            .map(|(place, what)| json!({"place": place, "what": what}))
            .collect::<Vec<_>>(),
        "one_by_one": case.one_by_one,
        "stages": case.stages.map(|stages| json!({
            "parser_cycles": stages.parser,
            "behind_parser_cycles": stages.after_parser,
            "around_cycles": stages.around,
        })),
        "table_access": case.table_access.as_ref().map(|tables| json!({
            "share": estimate(tables.share().as_ref()),
            "cycles_with": tables.with,
            "cycles_without": tables.without,
        })),
        "loading_ns": case.loading.as_nanos() as u64,
        "code_bytes": case.code_bytes,
        "rate": estimate(rate(case).as_ref()),
        "rates": case.rates,
        "idle": case.idle,
        "processed": counts.processed,
        "left": counts.left,
        "errors": counts.errors,
        "checked": counts.checked,
        "wrong": counts.wrong,
        "divided_entries": counts.divided,
        "unwritten": counts.unwritten,
        "overwritten": counts.overwritten,
        "compared": case.comparison.compared,
        "differs": case.comparison.difference.is_some(),
        "latency": case.latency.as_ref().map(|latency| {
            let mut value = pooled(&latency.times);
            value.insert("offered".to_owned(), json!(latency.offered));
            value.insert("lossy_repetitions".to_owned(), json!(latency.lossy));
            value
        }),
        "seen": case.seen.as_ref().map(pooled),
    })
}

/// Returns statistics of latencies: first of the samples of all repetitions together, then of each
/// repetition.
fn pooled(times: &Times) -> Map<String, Value> {
    let all = times.all();
    let mut fields = counted(&all);
    fields.extend(stated(&all));
    fields.insert("max_ns".to_owned(), json!(all.max()));
    let repetitions: Vec<_> = times.repetitions().map(repetition).collect();
    fields.insert("repetitions".to_owned(), json!(repetitions));
    fields
}

fn repetition(histogram: &Histogram<u64>) -> Map<String, Value> {
    let mut fields = counted(histogram);
    fields.extend(stated(histogram));
    fields
}

/// Returns the percentiles of a histogram, each with its name. A percentile is null if there are
/// too few samples to state it.
fn stated(histogram: &Histogram<u64>) -> impl Iterator<Item = (String, Value)> {
    SHARES.into_iter().map(|(name, share)| {
        let stated = can_state(share, histogram.len());
        let value = stated.then(|| histogram.value_at_quantile(share));
        (format!("{name}_ns"), json!(value))
    })
}

fn counted(histogram: &Histogram<u64>) -> Map<String, Value> {
    let fields = [("samples", json!(histogram.len())), ("mean_ns", json!(histogram.mean()))];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns a throughput benchmark as CSV, with a row for each case.
#[must_use]
pub fn to_csv(run: &Run<'_>) -> String {
    let mut out = String::from(
        "case,path,method,flows,cores,n,rate,rate_ci95,cost_ns,offered,p50_ns,p50_ci95_ns,p99_ns,p99_ci95_ns,p999_ns,p999_ci95_ns,processed,left,errors,checked,wrong,scenario\n",
    );
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let cases = run
        .points
        .iter()
        .flat_map(|point| point.findings.cases.iter().map(move |case| (point, case)));
    for (position, (point, case)) in cases.enumerate() {
        let rate = rate(case);
        let at = |share: f64| {
            let found = latency(case).and_then(|times| times.percentile(share));
            let half = found.and_then(|found| found.ci95);
            [found.map(|found| found.mean), half].map(|seconds| number(seconds.map(|s| s * 1e9)))
        };
        let ([p50, p50_half], [p99, p99_half], [p999, p999_half]) = (at(0.5), at(0.99), at(0.999));
        let counts = case.counts;
        let row = [
            (position + 1).to_string(),
            path(case).to_owned(),
            case.method.name().to_owned(),
            point.flows.to_string(),
            case.cores.to_string(),
            case.rates.len().to_string(),
            number(rate.as_ref().map(|rate| rate.mean)),
            number(rate.as_ref().and_then(|rate| rate.ci95)),
            number(cost(case).map(|cost| cost.mean * 1e9)),
            number(case.latency.as_ref().map(|latency| latency.offered)),
            p50,
            p50_half,
            p99,
            p99_half,
            p999,
            p999_half,
            counts.processed.to_string(),
            counts.left.to_string(),
            counts.errors.to_string(),
            counts.checked.to_string(),
            counts.wrong.to_string(),
            point.scenario.as_deref().map_or_else(String::new, |name| Quoted(name).to_string()),
        ];
        out.push_str(&row.join(","));
        out.push('\n');
    }
    out
}
