//! Writes `result.json` and `cells.csv` of the verification of a device model.

use ::device::campaign::Picoseconds;
use ::device::verify::{CellError, Verification, VerifiedCell, VerifiedLevel};
use ::device::{Shift, Verdict};
use serde_json::{Value, json};

use super::{Run, remarks};
use crate::csv::Quoted;
use crate::json::result;

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../../schemas/device-result.v1.schema.json");

/// Returns the verification of a device model as JSON. Times are in picoseconds, rates in bit/s,
/// errors and shares as fractions.
#[must_use]
pub fn to_json(run: &Run<'_>) -> String {
    let value = json!({
        "schema": "planimeter-device-result.v1",
        "device": run.model.device.name,
        "driver": run.model.device.driver,
        "confidence": run.model.confidence,
        "clock_tick_ps": run.model.clock.tick.0,
        "settings": run.verifications.iter().map(|verification| setting(run, verification)).collect::<Vec<_>>(),
        "thresholds": run.thresholds.iter()
            .map(|threshold| json!({
                "condition": threshold.condition, "value": threshold.value, "held": threshold.held,
            }))
            .collect::<Vec<_>>(),
    });
    result(run.provenance, value)
}

fn setting(run: &Run<'_>, verification: &Verification) -> Value {
    let under = run.model.settings.iter().find(|under| under.setting == verification.setting);
    let shifts = under.into_iter().flat_map(|under| &under.functions).filter_map(|function| {
        Some(json!({"function": function.function.name.as_str(), "shift": shift(function.shift.as_ref()?)}))
    });
    json!({
        "packet_bytes": verification.setting.packet_bytes,
        "rules": verification.setting.rules,
        "conditions": verification.setting.conditions,
        "levels": verification.levels.iter().map(level).collect::<Vec<_>>(),
        "cells": verification.cells.iter().map(cell).collect::<Vec<_>>(),
        "shifts": shifts.collect::<Vec<_>>(),
        "drift": verification.drift.map(|drift| json!({
            "change": drift.change, "interval": drift.interval, "shown": drift.shown, "blocks": drift.blocks,
            "stalls": drift.stalls, "clock_steps": drift.clock_steps,
            "disturbances": drift.disturbances.map(|found| json!({
                "again": found.again, "kept": found.kept, "blocks": found.blocks,
            })),
        })),
        "next": verification.next.as_ref().map(|next| json!({
            "functions": next.functions.iter().map(|name| name.as_str()).collect::<Vec<_>>(), "reason": next.reason,
        })),
        "remarks": remarks(verification).into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
    })
}

fn level(level: &VerifiedLevel) -> Value {
    json!({
        "level": level.level.to_string(),
        "mean_absolute_error": level.mean_absolute,
        "worst_absolute_error": level.worst_absolute,
        "mean_signed_error": level.mean_signed,
        "worst_under_prediction": level.worst_under,
        "refuted": level.refuted.0,
        "with_intervals": level.refuted.1,
        "skill": level.skill,
        "violations": level.violations.map(|violations| json!({
            "beyond": violations.beyond, "packets": violations.packets, "admitted": violations.admitted,
            "low": violations.interval.low, "high": violations.interval.high,
        })),
        "noise": level.noise.map(|noise| json!({
            "between_blocks_ps": noise.between_blocks.0, "between_functions_ps": noise.between_functions.0,
            "says_something": noise.says_something,
        })),
    })
}

fn cell(cell: &VerifiedCell) -> Value {
    let counts = cell.profile.counts;
    json!({
        "functions": cell.functions.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "training": cell.training,
        "samples": cell.profile.samples,
        "effective_samples": cell.profile.effective_samples,
        "blocks": cell.profile.blocks,
        "sent": counts.sent,
        "received": counts.received,
        "lost": counts.lost,
        "reordered": counts.reordered,
        "duplicated": counts.duplicated,
        "unmatched": counts.unmatched,
        "clock_steps": counts.clock_steps,
        "errors": cell.errors.iter().map(error).collect::<Vec<_>>(),
    })
}

fn error(error: &CellError) -> Value {
    let end = |end: Option<Picoseconds>| end.map(|end| end.0);
    json!({
        "level": error.level.to_string(),
        "predicted_ps": error.predicted.0,
        "measured_ps": error.measured.value.0,
        "measured_low_ps": end(error.measured.low),
        "measured_high_ps": end(error.measured.high),
        "relative": error.relative,
        "refuted": error.refuted,
        "beyond": error.beyond,
    })
}

fn shift(shift: &Shift) -> Value {
    json!({
        "median_ps": shift.median.0, "least_ps": shift.least.0, "largest_ps": shift.largest.0,
        "deviation_ps": shift.deviation.0, "tolerated_ps": shift.tolerated.0, "resolution_ps": shift.resolution.0,
        "verdict": match shift.verdict {
            Verdict::Constant => "constant",
            Verdict::Tolerated => "tolerated",
            Verdict::Refused => "refused",
        },
    })
}

/// Returns the verification of a device model as CSV, with a row for each measured combination of
/// functions and each level of delay.
#[must_use]
pub fn to_csv(run: &Run<'_>) -> String {
    let mut out = String::from(
        "packet_bytes,rules,functions,training,level,predicted_ps,measured_ps,relative_error,packets,beyond\r\n",
    );
    for verification in run.verifications {
        for cell in &verification.cells {
            let names: Vec<&str> = cell.functions.iter().map(|name| name.as_str()).collect();
            let names = names.join(" + ");
            let names = Quoted(&names);
            for error in &cell.errors {
                crate::put::put!(
                    out,
                    "{},{},{names},{},{},{},{},{},{},{}\r\n",
                    verification.setting.packet_bytes,
                    verification.setting.rules,
                    cell.training,
                    error.level,
                    error.predicted.0,
                    error.measured.value.0,
                    error.relative,
                    cell.profile.samples,
                    error.beyond.map_or_else(String::new, |beyond| beyond.to_string()),
                );
            }
        }
    }
    out
}
