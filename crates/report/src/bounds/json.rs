//! Writes the `result.json` of the bounds of a network. Every number appears exactly, as text, and
//! as a double. The double of a bound is rounded up, and that of a simulated run is rounded down.

use calculus::network::{Assessed, ClassBound, Estimate, Source, Untried, describe};
use calculus::{Curve, Extended, Rational};
use serde_json::{Value, json};

use super::{Bounds, Run};
use crate::csv::{Cell, Text};
use crate::json::result;

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../../schemas/bounds-result.v1.schema.json");

/// Returns the bounds of a network as JSON, in seconds and bits.
#[must_use]
pub fn to_json(run: &Run<'_>) -> String {
    let bounds = run.bounds;
    let network = bounds.network;
    let flows: Vec<Value> = bounds.flows.iter().filter_map(|row| flow(bounds, row)).collect();
    let servers: Vec<Value> = bounds
        .servers
        .iter()
        .map(|server| {
            let load = bounds.loads.get(server.server.index());
            json!({
                "name": network.server(server.server).name,
                "service": curve(&network.server(server.server).service),
                "load": load.map(calculus::network::Load::ratio).filter(|load| load.is_finite()),
                "overloaded": load.is_some_and(calculus::network::Load::is_over),
                "delay": number(&server.delay),
                "backlog": number(&server.backlog),
                "classes": server.classes.iter().map(class).collect::<Vec<_>>(),
                "port": network.port_at(server.server).map(|(port, classes)| json!({
                    "name": port.name,
                    "scheduler": port.scheduler.to_string(),
                    "classes": classes.iter().map(|class| class.0).collect::<Vec<_>>(),
                })),
            })
        })
        .collect();
    let value = json!({
        "schema": "planimeter-bounds-result.v1",
        "network": network.name(),
        "units": {"time": "s", "data": "b"},
        "multiplexing": bounds.settings.multiplexing.map(|order| order.to_string()),
        "flow-of-interest": bounds.settings.flow_of_interest.to_string(),
        "arrival-bounds": bounds.settings.arrival_bounds.iter()
            .map(|method| method.name()).collect::<Vec<_>>(),
        "capped-bursts": bounds.settings.cap_bursts,
        "prolonged": bounds.settings.prolong,
        "arrival-aware": network.is_arrival_aware(),
        "flows": flows,
        "servers": servers,
        "contradictions": bounds.contradictions(),
        "missed": bounds.missed(),
        "thresholds": bounds.thresholds.iter().map(|threshold| json!({
            "condition": threshold.condition,
            "value": threshold.value,
            "of": threshold.of,
            "held": threshold.held,
        })).collect::<Vec<_>>(),
        "unbounded": bounds.unbounded(),
        "stand-ins": bounds.stand_ins(),
        "untried": bounds.untried.iter().map(untried).collect::<Vec<_>>(),
        "rounded": bounds.rounded,
        "file-notes": bounds.network.notes(),
    });
    result(run.provenance, value)
}

/// Returns the bounds of one flow as JSON, or `None` for an empty row.
fn flow<'a>(bounds: &Bounds<'a>, row: &'a [Assessed]) -> Option<Value> {
    let flow = bounds.network.flow(row.first()?.bound.flow);
    let path: Vec<&str> =
        flow.path.iter().map(|id| bounds.network.server(*id).name.as_str()).collect();
    let run = row.first()?.run.as_ref().map(|run| {
        json!({
            "delay": observed(&run.delay),
            "backlog": observed(&run.backlog),
        })
    });
    Some(json!({
        "name": flow.name,
        "path": path,
        "arrival": curve(&flow.arrival),
        "run": run,
        "maximum-delay": bounds.required_of(row).map(|one| json!({
            "limit": number(&Extended::from(one.limit)),
            "met": one.is_met(),
            "missed-in-a-run": one.is_missed_in_a_run(),
        })),
        "bounds": row.iter().zip(bounds.analyses)
            .map(|(assessed, asked)| bound(bounds, assessed, asked.name()))
            .collect::<Vec<_>>(),
    }))
}

/// Returns the bounds of a network as CSV, with a row for each flow and analysis, in seconds and
/// bits. The cell of an infinite bound is empty.
#[must_use]
pub fn to_csv(bounds: &Bounds<'_>) -> String {
    let mut out = String::from(
        "flow,analysis,by,delay_s,run_delay_s,backlog_bits,run_backlog_bits,maximum_delay_s\n",
    );
    let up = |value: &Extended| Cell(value.finite().map(Rational::to_f64_up));
    for (assessed, asked) in bounds.flows.iter().flat_map(|row| row.iter().zip(bounds.analyses)) {
        let (bound, run) = (&assessed.bound, assessed.run.as_ref());
        let down = |value: Option<&Rational>| Cell(value.map(Rational::to_f64_down));
        out.push_str(&format!(
            "{},{},{},{},{},{},{},{}\n",
            Text(&bounds.network.flow(bound.flow).name),
            asked.name(),
            bound.delay_by.analysis.name(),
            up(&bound.delay),
            down(run.map(|run| &run.delay)),
            up(&bound.backlog),
            down(run.map(|run| &run.backlog)),
            down(bounds.network.flow(bound.flow).maximum_delay.as_ref()),
        ));
    }
    out
}

fn untried(untried: &Untried) -> Value {
    let (seconds, is_least) = match untried.time {
        Estimate::About(time) => (time.as_secs_f64(), false),
        Estimate::AtLeast(time) => (time.as_secs_f64(), true),
    };
    json!({"analysis": untried.analysis.name(), "estimate_s": seconds, "at-least": is_least})
}

fn class(class: &ClassBound) -> Value {
    json!({
        "priority": class.priority.0,
        "delay": number(&class.delay),
        "backlog": number(&class.backlog),
    })
}

fn bound(bounds: &Bounds<'_>, assessed: &Assessed, asked: &str) -> Value {
    let bound = &assessed.bound;
    json!({
        "analysis": asked,
        "delay": number(&bound.delay),
        "delay-by": source(bounds, &bound.delay_by),
        "backlog": number(&bound.backlog),
        "backlog-by": source(bounds, &bound.backlog_by),
        "output": curve(&bound.output),
        "cut-short": bound.cut_short,
        "tightness": assessed.tightness(),
    })
}

fn source(bounds: &Bounds<'_>, source: &Source) -> Value {
    let steps = match bounds.derivations {
        true => source.derivation.lines(bounds.network),
        false => Vec::new(),
    };
    json!({
        "analysis": source.analysis.name(),
        "multiplexing": source.settings.multiplexing.map(|order| order.to_string()),
        "flow-of-interest": source.settings.flow_of_interest.to_string(),
        "arrival-bounds": source.settings.arrival_bounds.iter()
            .map(|method| method.name()).collect::<Vec<_>>(),
        "capped-bursts": source.settings.cap_bursts,
        "prolonged": source.settings.prolong,
        "proven": source.proven,
        "outlined": source.outlined,
        "services": source.derivation.services().iter().map(curve).collect::<Vec<_>>(),
        "steps": steps,
    })
}

/// Returns a bound as JSON: exactly, as text, and as the smallest double that is not below it. An
/// infinite bound has no double.
pub(super) fn number(value: &Extended) -> Value {
    json!({
        "exact": value.to_string(),
        "value": value.finite().map(Rational::to_f64_up),
    })
}

/// Returns a value of a simulated run as JSON: exactly, as text, and as the largest double that is
/// not above it.
pub(super) fn observed(value: &Rational) -> Value {
    json!({"exact": value.to_string(), "value": value.to_f64_down()})
}

/// Returns a curve as a name for readers and as an exact expression in the language of min-plus
/// programs.
fn curve(curve: &Curve) -> Value {
    json!({"name": describe::curve(curve), "mppg": calculus::mppg::to_mppg(curve)})
}
