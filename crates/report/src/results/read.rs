//! Reads the `result.json` of any command and returns its figures in the common form ([`Recorded`])
//! in which results are compared.
//!
//! Each schema of a result has a function of its own.

use std::collections::BTreeMap;

use serde_json::Value;
use statistics::{Estimate, Unit};

use super::{Dimensions, Kind, Machine, Quantity, Recorded, Spread, suites};
use crate::format::printable;
use crate::json;
use crate::plot::power_of_two;

/// The reason why a `result.json` cannot be read for a comparison.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The text is the result of a controller benchmark that this version cannot read.
    #[error(transparent)]
    Run(#[from] json::ReadError),
    /// The text is not a result, or the version of its schema is unknown.
    #[error(
        "its schema is {schema:?}, which cannot be compared; planimeter compare reads results of probe, tables, \
         bench, device verify, bound, demo and reproduce"
    )]
    OtherSchema {
        /// The schema that the text of the result names.
        schema: String,
    },
}

/// Reads the text of a `result.json` of any command. Comparisons show the result as `name`.
///
/// # Errors
/// Returns a [`ReadError`] if the text is not a result that this version can read.
pub fn read(name: &str, text: &str) -> Result<Recorded, ReadError> {
    let value: Value = serde_json::from_str(text)?;
    let schema = words(&value["schema"]);
    let result = match schema.as_str() {
        probe::outcome::SCHEMA => return Ok(Recorded::of_run(name, &json::from_json(text)?)),
        "planimeter-tables-result.v1" => tables(&value),
        "planimeter-bench-result.v1" => program(&value),
        "planimeter-device-result.v1" => device(&value),
        "planimeter-bounds-result.v1" => bounds(&value),
        "planimeter-bounds-sweep.v1" => sweep(&value),
        "planimeter.rfc8456.result" if value["schema_version"] == 1 => suites::rfc8456(&value),
        "planimeter.document.result" if matches!(value["schema_version"].as_u64(), Some(1 | 2)) => {
            suites::document(&value)
        }
        _ => return Err(ReadError::OtherSchema { schema }),
    };
    Ok(Recorded { name: printable(name), ..result })
}

/// Returns a JSON string in a form that can be printed on one line, or an empty string if the value
/// is not a string.
pub(super) fn words(value: &Value) -> String {
    value.as_str().map(printable).unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn numbers(values: &[Value], of: impl Fn(&Value) -> Option<f64>) -> Vec<f64> {
    values.iter().filter_map(of).collect()
}

/// The percentiles of latencies that are compared: for each, the name that `--threshold` accepts
/// and the key in `result.json`.
const PERCENTILES: [(&str, &str); 3] = [("p50", "p50"), ("p99", "p99"), ("p99.9", "p999")];

/// Returns a result that has no figures yet, with the fields that are common to the files of all
/// commands except the controller benchmark. `settings` names the settings that influence figures.
pub(super) fn recorded(value: &Value, kind: Kind, about: String, settings: &[&str]) -> Recorded {
    let host = &value["host"];
    let processor = words(&host["cpu_model"]);
    let partial = value["completion"] == "partial";
    Recorded {
        name: String::new(),
        kind,
        about,
        started_at: words(&value["started_at"]),
        partial: partial.then(|| "PARTIAL: it was interrupted".to_owned()),
        machine: (!processor.is_empty()).then(|| Machine {
            hostname: words(&host["hostname"]),
            processor,
            cores: host["cpus"].as_u64().unwrap_or(0),
        }),
        settings: settings
            .iter()
            .map(|key| ((*key).to_owned(), value["settings"][key].to_string()))
            .collect(),
        pipelines: Default::default(),
        figures: Vec::new(),
    }
}

/// The fields of [`Quantity`] that all figures of one measured case, cell or flow have in common.
struct FigureContext {
    subject: String,
    place: String,
    dimensions: Dimensions,
    across: Option<(&'static str, f64)>,
}

impl FigureContext {
    fn quantity(&self, metric: &str, unit: Unit, value: f64, spread: Spread) -> Quantity {
        Quantity {
            subject: self.subject.clone(),
            place: self.place.clone(),
            dimensions: self.dimensions.clone(),
            across: self.across,
            metric: metric.to_owned(),
            unit,
            value,
            spread,
            more_is_better: match metric {
                "rate" => Some(true),
                _ if metric.starts_with("skill") => Some(true),
                "memory" => None,
                _ => Some(false),
            },
            headline: true,
            doubt: None,
        }
    }

    fn repeated(&self, metric: &str, unit: Unit, values: &[f64]) -> Option<Quantity> {
        let estimate = Estimate::of(values)?;
        Some(self.quantity(metric, unit, estimate.mean, Spread::Repetitions(estimate)))
    }

    /// Returns a percentile of latencies in seconds from values in nanoseconds. `each` has the
    /// percentile of each repetition, and `pooled` is the percentile of all samples together. The
    /// result is the mean of `each`. If `each` is empty or lacks a value, it is `pooled` without an
    /// interval.
    fn percentile(&self, metric: &str, each: Vec<&Value>, pooled: &Value) -> Option<Quantity> {
        let seconds = |value: &Value| Some(value.as_f64()? / 1e9);
        let of_each: Option<Vec<f64>> = each.into_iter().map(seconds).collect();
        if let Some(values) = of_each.filter(|values| !values.is_empty()) {
            return self.repeated(metric, Unit::Seconds, &values);
        }
        Some(self.quantity(metric, Unit::Seconds, seconds(pooled)?, Spread::Unknown))
    }
}

/// Returns a number of table entries in words, and as a varying parameter ([`Quantity::across`]).
fn entries(value: &Value) -> (String, Option<(&'static str, f64)>) {
    let count = value.as_f64().unwrap_or(0.0);
    let text = power_of_two(count).unwrap_or_else(|| count.to_string());
    (format!("{text} entries"), Some(("entries", count)))
}

fn cores(value: &Value) -> String {
    crate::format::plural(value.as_u64().unwrap_or(0), "core", "cores")
}

fn tables(value: &Value) -> Recorded {
    let settings = ["time_s", "warm_up_s", "batch", "fill", "prefetch_next"];
    let cases = list(&value["cases"]);
    let about =
        format!("{} of table designs", crate::format::plural(cases.len() as u64, "case", "cases"));
    let mut recorded = recorded(value, Kind::Tables, about, &settings);
    for (case, number) in cases.iter().zip(1_u32..) {
        let locked = if case["entry_lock"] == true { ", lock" } else { "" };
        let wait = case["wait_us"].as_f64().map_or_else(String::new, |us| format!(" {us}us"));
        let (size, across) = entries(&case["size"]);
        let place = FigureContext {
            subject: format!(
                "{}/{}{wait}{locked}",
                words(&case["storage"]),
                words(&case["synchronisation"])
            ),
            place: format!(
                "{}, {size}, {} bits to {} B, {}",
                words(&case["method"]),
                case["key_bits"],
                case["parameter_bytes"],
                cores(&case["cores"])
            ),
            dimensions: Dimensions::default()
                .with("case", number)
                .with_json("storage", &case["storage"])
                .with_json("synchronisation", &case["synchronisation"])
                .with_json("wait_us", &case["wait_us"])
                .with("entry_lock", if case["entry_lock"] == true { "yes" } else { "no" })
                .with_json("method", &case["method"])
                .with_json("entries", &case["size"])
                .with_json("key_bits", &case["key_bits"])
                .with_json("parameter_bytes", &case["parameter_bytes"])
                .with_json("cores", &case["cores"]),
            across,
        };
        let by_wall = case["clock"] == "wall";
        let name = if by_wall { "rate_by_wall" } else { "rate_by_processor" };
        let rates = numbers(list(&case["turns"]), |turn| turn[name].as_f64());
        let count = case["cores"].as_f64().unwrap_or(1.0);
        let costs: Vec<f64> = rates.iter().map(|rate| count / rate).collect();
        let rates = [
            place.repeated("rate", Unit::PerSecond, &rates),
            place.repeated("cost", Unit::Seconds, &costs),
        ];
        let percentiles = PERCENTILES.map(|(metric, key)| {
            let each = list(&case["turns"]).iter().map(|turn| &turn["single_ns"][key]).collect();
            place.percentile(metric, each, &case["single_ns"][key])
        });
        recorded.figures.extend(rates.into_iter().chain(percentiles).flatten());
    }
    recorded
}

fn program(value: &Value) -> Recorded {
    let program = words(&value["program"]);
    let mut recorded =
        recorded(value, Kind::Program, format!("program {program}"), &["time_s", "load"]);
    recorded.settings.insert("program".to_owned(), program);
    let mut number = 0_u32;
    for point in list(&value["points"]) {
        let (size, across) = match point["scenario"].as_str() {
            Some(scenario) => (scenario.to_owned(), None),
            None => entries(&point["flows"]),
        };
        for case in list(&point["cases"]) {
            number += 1;
            let count = case["cores"].as_f64().unwrap_or(1.0);
            let place = FigureContext {
                subject: words(&case["path"]),
                place: format!("{size}, {}", cores(&case["cores"])),
                dimensions: Dimensions::default()
                    .with("case", number)
                    .with_json("path", &case["path"])
                    .with_json("scenario", &point["scenario"])
                    .with_json("flows", &point["flows"])
                    .with_json("cores", &case["cores"]),
                across,
            };
            let rates = numbers(list(&case["rates"]), Value::as_f64);
            let costs: Vec<f64> = rates.iter().map(|rate| count / rate).collect();
            let rates = [
                place.repeated("rate", Unit::PerSecond, &rates),
                place.repeated("cost", Unit::Seconds, &costs),
            ];
            let latency = &case["latency"];
            let percentiles = PERCENTILES.map(|(metric, key)| {
                let key = format!("{key}_ns");
                let each = list(&latency["repetitions"]).iter().map(|one| &one[&key]).collect();
                place.percentile(metric, each, &latency[&key])
            });
            recorded.figures.extend(rates.into_iter().chain(percentiles).flatten());
        }
    }
    recorded
}

fn device(value: &Value) -> Recorded {
    let about = format!("device {}, driver {}", words(&value["device"]), words(&value["driver"]));
    let mut recorded = recorded(value, Kind::Device, about, &[]);
    // The host in the result is the one on which the model was verified. The delays were measured
    // on the device, so they do not depend on that host.
    recorded.machine = None;
    recorded.settings =
        BTreeMap::from([("confidence".to_owned(), value["confidence"].to_string())]);
    for setting in list(&value["settings"]) {
        let rules = setting["rules"].as_u64().unwrap_or(0);
        let rules = crate::format::plural(rules, "rule", "rules");
        let under = format!("{} B, {rules}", setting["packet_bytes"]);
        let conditions = Dimensions::default()
            .with_json("packet_bytes", &setting["packet_bytes"])
            .with_json("rules", &setting["rules"]);
        let place = |place: String, dimensions: Dimensions| FigureContext {
            subject: String::new(),
            place,
            dimensions,
            across: None,
        };
        let whole = place(under.clone(), conditions.clone());
        for level in list(&setting["levels"]) {
            let name = words(&level["level"]);
            for (metric, key, unit) in [
                ("mean-error", "mean_absolute_error", Unit::Fraction),
                ("worst-error", "worst_absolute_error", Unit::Fraction),
                ("too-short", "worst_under_prediction", Unit::Fraction),
                ("skill", "skill", Unit::Index),
            ] {
                let found = level[key].as_f64().map(|value| {
                    whole.quantity(&format!("{metric}({name})"), unit, value, Spread::Unknown)
                });
                recorded.figures.extend(found);
            }
        }
        for cell in list(&setting["cells"]) {
            let names: Vec<String> = list(&cell["functions"]).iter().map(words).collect();
            let names = if names.is_empty() { "baseline".to_owned() } else { names.join(" + ") };
            let dimensions = conditions.clone().with("functions", names.as_str());
            let at = place(format!("{names}, {under}"), dimensions);
            for level in list(&cell["errors"]) {
                let seconds = |key: &str| level[key].as_f64().map(|ps| ps / 1e12);
                let Some(value) = seconds("measured_ps") else { continue };
                let interval = seconds("measured_low_ps").zip(seconds("measured_high_ps"));
                let spread =
                    interval.map_or(Spread::Unknown, |(low, high)| Spread::Interval { low, high });
                let metric = format!("delay({})", words(&level["level"]));
                recorded.figures.push(at.quantity(&metric, Unit::Seconds, value, spread));
            }
        }
    }
    recorded
}

fn bounds(value: &Value) -> Recorded {
    let network = words(&value["network"]);
    let name = if network.is_empty() { "a network without a name".to_owned() } else { network };
    let mut recorded = recorded(value, Kind::Bounds, name, &[]);
    // Bounds are exact on every machine.
    recorded.machine = None;
    for key in ["multiplexing", "flow-of-interest", "arrival-bounds", "capped-bursts"] {
        recorded.settings.insert(key.to_owned(), value[key].to_string());
    }
    // Earlier versions of the result lack these settings.
    for key in ["prolonged", "arrival-aware"] {
        let is_so = value[key].as_bool().unwrap_or(false);
        recorded.settings.insert(key.to_owned(), is_so.to_string());
    }
    recorded.figures = figures_of_flows(value, None);
    recorded
}

/// A point of a sweep of bounds: the quantity that varies, and its value.
struct Varied {
    quantity: String,
    value: f64,
}

/// Returns the bounds of all flows of a network. `at` is the point of a sweep to which they belong,
/// if any.
fn figures_of_flows(value: &Value, at: Option<&Varied>) -> Vec<Quantity> {
    let mut figures = Vec::new();
    for flow in list(&value["flows"]) {
        for bound in list(&flow["bounds"]) {
            let mut place = format!("flow {}", words(&flow["name"]));
            let mut dimensions = Dimensions::default()
                .with_json("flow", &flow["name"])
                .with_json("analysis", &bound["analysis"]);
            if let Some(Varied { quantity, value }) = at {
                place.push_str(&format!(", {quantity} {value}"));
                dimensions = dimensions.with(quantity.as_str(), *value);
            }
            let subject = words(&bound["analysis"]);
            let place = FigureContext { subject, place, dimensions, across: None };
            for (metric, unit) in [("delay", Unit::Seconds), ("backlog", Unit::Count)] {
                let found = bound_value(&bound[metric]);
                let found = found.map(|value| place.quantity(metric, unit, value, Spread::Exact));
                figures.extend(found);
            }
        }
    }
    figures
}

/// Returns a bound, which may be infinite. JSON has no infinite number, so only the exact text of
/// the bound says that it is.
fn bound_value(bound: &Value) -> Option<f64> {
    bound["value"].as_f64().or_else(|| (bound["exact"] == "+inf").then_some(f64::INFINITY))
}

/// Reads a sweep of bounds: the bounds of a network for several values of one of its quantities.
/// The value of that quantity is a part of each figure's name.
fn sweep(value: &Value) -> Recorded {
    let quantity = words(&value["varies"]);
    let about = format!("{}, {quantity} varies", words(&value["network"]));
    let mut recorded = recorded(value, Kind::Bounds, about, &[]);
    recorded.machine = None;
    recorded.settings = BTreeMap::from(
        ["varies", "unit", "conventions"].map(|key| (key.to_owned(), value[key].to_string())),
    );
    for point in list(&value["points"]) {
        let Some(value) = point["value"]["value"].as_f64() else { continue };
        let at = Varied { quantity: quantity.clone(), value };
        recorded.figures.extend(figures_of_flows(point, Some(&at)));
    }
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Coordinate;

    #[test]
    fn what_is_no_result_is_named() {
        let error = |text: &str| read("x", text).expect_err(text).to_string();
        assert!(error("{").starts_with("not JSON: "));
        assert!(error("{}").starts_with("its schema is \"\", which"));
        assert!(error(r#"{"schema": "planimeter-tables-result.v9"}"#).contains("result.v9"));
        assert!(error(r#"[1]"#).contains("its schema is"));
    }

    #[test]
    fn sweeps_of_bounds_have_the_varied_quantity_as_a_dimension() {
        let point = |rate: u32, delay: &str| {
            format!(
                r#"{{"value": {{"exact": "{rate}", "value": {rate}.0}}, "unbounded": [], "contradictions": [],
                "flows": [{{"name": "f", "run": null, "bounds": [{{"analysis": "tfa",
                "delay": {{"exact": "{delay}", "value": {delay}}}, "backlog": {{"exact": "+inf", "value": null}}}}]}}]}}"#
            )
        };
        let text = format!(
            r#"{{"schema": "planimeter-bounds-sweep.v1", "network": "n", "varies": "video.rate", "unit": "Mbps",
            "conventions": "FIFO", "points": [{}, {}]}}"#,
            point(10, "0.5"),
            point(20, "0.75")
        );
        let result = read("run", &text).expect("a result");
        let found: Vec<_> = result
            .figures
            .iter()
            .map(|one| (one.place.as_str(), one.dimensions.get("video.rate"), one.value))
            .collect();
        assert_eq!(
            found,
            [
                ("flow f, video.rate 10", Some(&Coordinate::Number(10.0)), 0.5),
                ("flow f, video.rate 10", Some(&Coordinate::Number(10.0)), f64::INFINITY),
                ("flow f, video.rate 20", Some(&Coordinate::Number(20.0)), 0.75),
                ("flow f, video.rate 20", Some(&Coordinate::Number(20.0)), f64::INFINITY),
            ]
        );
        assert_eq!(result.figures[0].interval(), Some((0.5, 0.5)), "bounds are exact");
    }

    #[test]
    fn figures_of_repetitions_have_their_interval_and_single_ones_have_none() {
        let text = r#"{"schema": "planimeter-bench-result.v1", "program": "p.p4", "completion": "complete",
            "settings": {"time_s": 1.0, "load": 0.5, "seed": 1},
            "host": {"hostname": "h", "cpu_model": "c", "cpus": 2},
            "points": [{"flows": 16, "cases": [{"path": "compiled", "cores": 2, "rates": [1e6, 3e6],
                "latency": {"p50_ns": 1500, "p99_ns": 2000, "p999_ns": 9000, "repetitions": [
                    {"p50_ns": 1000, "p99_ns": 1800, "p999_ns": 7000}, {"p50_ns": 1600, "p99_ns": 2400, "p999_ns": null}]},
                "seen": null}]}]}"#;
        let result = read("run", text).expect("a result");
        assert_eq!(
            (result.kind, result.machine.as_ref().map(|m| m.cores)),
            (Kind::Program, Some(2))
        );
        let of = |metric: &str| {
            result.figures.iter().find(|figure| figure.metric == metric).expect("there")
        };
        assert_eq!((of("rate").value, of("rate").repetitions()), (2e6, Some(2)));
        assert!((of("p50").value - 1.3e-6).abs() < 1e-12, "{}", of("p50").value);
        assert_eq!(of("p50").repetitions(), Some(2));
        // One repetition has too few samples, so the value is that of all samples and has no
        // interval.
        assert_eq!((of("p99.9").value, of("p99.9").interval()), (9e-6, None));
        assert_eq!(of("cost").place, "2⁴ entries, 2 cores");
        let dimensions: Vec<_> = of("cost").dimensions.iter().collect();
        let (number, name) = (Coordinate::Number, |text: &str| Coordinate::Name(text.to_owned()));
        assert_eq!(
            dimensions,
            [
                ("case", &number(1.0)),
                ("path", &name("compiled")),
                ("flows", &number(16.0)),
                ("cores", &number(2.0))
            ]
        );
        assert_eq!(of("rate").dimensions.get("flows"), Some(&number(16.0)));
        assert_eq!(of("rate").dimensions.get("scenario"), None);
        let interval = of("rate").interval().expect("an interval");
        assert!(interval.0 == 0.0 && interval.1 > 1e7, "two repetitions say little: {interval:?}");
    }
}
