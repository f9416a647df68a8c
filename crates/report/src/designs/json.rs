//! Writes `result.json` and `cases.csv` of a comparison of table designs.

use ::tables::measure::{Case, Measured};
use ::tables::{EntryLock, Synchronisation, Wait};
use serde_json::{Value, json};
use statistics::{Estimate, Ordered};

use super::{Run, cost, method, misses, rate};
use crate::json::{estimate, result};

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../../schemas/tables-result.v1.schema.json");

/// Returns the measurements of a comparison of table designs as JSON. Fields whose names end in
/// `_ns` are in nanoseconds, and rates are per second.
#[must_use]
pub fn to_json(run: &Run<'_>) -> String {
    let findings = run.findings;
    let (settings, machine) = (&findings.settings, &findings.machine);
    let value = json!({
        "schema": "planimeter-tables-result.v1",
        "completion": if findings.interrupted { "partial" } else { "complete" },
        "settings": {
            "time_s": settings.time.as_secs_f64(),
            "warm_up_s": settings.warm_up.as_secs_f64(),
            "repetitions": settings.repetitions,
            "batch": settings.batch,
            "fill": settings.fill,
            "seed": settings.seed,
            "cores": settings.cores,
            "prefetch_next": settings.announce,
        },
        "machine": {
            "caches": machine.caches.iter()
                .map(|cache| json!({
                    "level": cache.level,
                    "bytes": cache.bytes,
                    "claimed_bytes": cache.claimed,
                }))
                .collect::<Vec<_>>(),
            "latencies": machine.latencies.iter()
                .map(|(name, latency)| json!({
                    "memory": name,
                    "bytes": latency.bytes,
                    "least_ns": latency.nanoseconds,
                    "median_ns": latency.median,
                    "pages": latency.pages.to_string(),
                }))
                .collect::<Vec<_>>(),
            "clock_cost_ns": machine.clock.cost,
            "clock_step_ns": machine.clock.step,
            "counters": reason(&machine.counters),
            "pinned": reason(&machine.pinned),
        },
        "cases": findings.measured.iter().map(measured).collect::<Vec<_>>(),
        "not_offered": findings.not_offered.iter()
            .map(|not| json!({"what": not.what, "reason": not.reason}))
            .collect::<Vec<_>>(),
        "unfinished": findings.unfinished.iter().map(case).collect::<Vec<_>>(),
    });
    result(run.provenance, value)
}

/// Returns the text of an error, or `None` (`null` in JSON) for a success.
fn reason<E: ToString>(outcome: &Result<(), E>) -> Option<String> {
    outcome.as_ref().err().map(ToString::to_string)
}

fn case(case: &Case) -> Value {
    let (synchronisation, wait) = match case.design.synchronisation {
        Synchronisation::Optimistic => ("optimistic", None),
        Synchronisation::Sharded { .. } => ("sharded", None),
        Synchronisation::DoubleBuffer { wait: Wait::Quiescent } => ("double-buffer", None),
        Synchronisation::DoubleBuffer { wait: Wait::Fixed(time) } => {
            ("double-buffer", Some(time.as_secs_f64() * 1e6))
        }
    };
    json!({
        "storage": case.design.storage.to_string(),
        "synchronisation": synchronisation,
        "wait_us": wait,
        "entry_lock": case.design.entry_lock == EntryLock::PerEntry,
        "method": method(case),
        "size": case.layout.size(),
        "key_bits": case.layout.key_bits(),
        "parameter_bytes": case.layout.parameter_bytes(),
        "cores": case.cores,
        "clock": if case.waits() { "wall" } else { "processor" },
        "promises_no_loss": case.keeps_every_update(),
    })
}

fn measured(one: &Measured) -> Value {
    let mut value = case(&one.case);
    if let Value::Object(fields) = &mut value {
        let more = json!({
            "rate": estimate(rate(one).as_ref()),
            "cost_ns": estimate(Estimate::of(&one.costs()).as_ref()),
            "misses": estimate(misses(one).as_ref()),
            "turns": one.turns.iter().map(|turn| json!({
                "operations": turn.operations,
                "rate_by_processor": turn.rate_by_processor,
                "rate_by_wall": turn.rate_by_wall,
                "share": turn.share,
                "misses": turn.misses,
                "single_ns": {
                    "p50": turn.single.p50,
                    "p99": turn.single.p99,
                    "p999": turn.single.p999,
                },
            })).collect::<Vec<_>>(),
            "single_ns": percentiles(&one.single),
            "call_ns": percentiles(&one.call),
            "updates": one.updates,
            "lost": one.lost,
            "memory": {
                "index": one.memory.index,
                "keys": one.memory.keys,
                "pointers": one.memory.pointers,
                "entries": one.memory.entries,
                "pages": one.memory.pages.to_string(),
            },
        });
        if let Value::Object(more) = more {
            fields.extend(more);
        }
    }
    value
}

fn percentiles(times: &Ordered<u32>) -> Value {
    let time = |share| times.tail_at(share).map(f64::from);
    json!({
        "samples": times.len(),
        "p50": time(0.5),
        "p90": time(0.9),
        "p99": time(0.99),
        "p999": time(0.999),
        "max": times.last().map(f64::from),
    })
}

/// Returns a comparison of table designs as CSV, with a row for each case.
#[must_use]
pub fn to_csv(run: &Run<'_>) -> String {
    let mut out = String::from(
        "case,storage,synchronisation,wait_us,entry_lock,method,size,key_bits,parameter_bytes,cores,clock,n,rate,\
         rate_ci95,cost_ns,single_p50_ns,single_p50_ci95_ns,single_p90_ns,single_p99_ns,single_p99_ci95_ns,\
         single_p999_ns,single_p999_ci95_ns,misses,updates,lost,memory_bytes\n",
    );
    for (position, one) in run.findings.measured.iter().enumerate() {
        let value = case(&one.case);
        let text = |name: &str| match &value[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let number =
            |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        let rate = rate(one);
        let mut row = vec![(position + 1).to_string()];
        row.extend(
            [
                "storage",
                "synchronisation",
                "wait_us",
                "entry_lock",
                "method",
                "size",
                "key_bits",
                "parameter_bytes",
                "cores",
                "clock",
            ]
            .map(text),
        );
        row.push(rate.as_ref().map_or_else(String::new, |rate| rate.n.to_string()));
        row.push(number(rate.as_ref().map(|rate| rate.mean)));
        row.push(number(rate.as_ref().and_then(|rate| rate.ci95)));
        row.push(number(cost(one).map(|cost| cost.mean * 1e9)));
        let stated = |found: Option<Estimate>| {
            let half = found.and_then(|found| found.ci95);
            [found.map(|found| found.mean), half].map(|seconds| number(seconds.map(|s| s * 1e9)))
        };
        let [p50, p99, p999] = one.percentiles().map(stated);
        row.extend(p50);
        row.push(number(one.single.tail_at(0.9).map(f64::from)));
        row.extend(p99.into_iter().chain(p999));
        row.push(number(misses(one).map(|misses| misses.mean)));
        row.push(one.updates.to_string());
        row.push(one.lost.map_or_else(String::new, |lost| lost.to_string()));
        row.push(one.memory.total().to_string());
        out.push_str(&row.join(","));
        out.push('\n');
    }
    out
}
