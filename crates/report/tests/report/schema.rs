//! Tests `result.json` against its schema, and reading it back.

use jsonschema::Validator;
use probe::outcome::RunResult;
use report::json::{SCHEMA, from_json, to_json};
use serde_json::{Value, json};

use crate::support;

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::validator_for(&schema).expect("the schema compiles")
}

fn every_kind() -> Vec<(&'static str, RunResult)> {
    vec![
        ("single", support::single()),
        ("figure 7", support::figure_7()),
        ("search", support::search()),
        ("failed", support::failed()),
        ("partial", support::partial()),
        ("closed", support::closed()),
    ]
}

fn value(result: &RunResult) -> Value {
    serde_json::from_str(&to_json(result).expect("JSON")).expect("JSON")
}

#[test]
fn results_of_every_kind_follow_the_schema() {
    let validator = validator();
    for (name, result) in every_kind() {
        let value = value(&result);
        let errors: Vec<_> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

/// JSON pointers to each place in a result that holds an object with fixed keys.
const OBJECTS: [&str; 18] = [
    "",
    "/completion",
    "/host",
    "/controller",
    "/thresholds/0",
    "/points/0",
    "/points/0/summary/rtt.p99",
    "/points/0/trials/0",
    "/points/0/trials/0/counts",
    "/points/0/trials/0/rates",
    "/points/0/trials/0/rtt_from_due",
    "/points/0/trials/0/in_window",
    "/points/0/trials/0/series",
    "/points/0/trials/0/per_switch/0",
    "/points/0/trials/0/controller_usage",
    "/points/0/trials/0/verdict",
    "/points/0/trials/0/handshake",
    "/search",
];

/// Returns a small result in which nothing is absent.
fn with_everything() -> Value {
    let scenario = support::Scenario {
        switches: 2,
        warm_up_s: 0,
        measure_s: 1,
        drain_s: 1,
        ..support::Scenario::default()
    };
    let mut result = support::run(vec![support::point(&scenario)]);
    result.search = support::search().search;
    result.thresholds = support::single().thresholds;
    value(&result)
}

#[test]
fn a_missing_field_is_noticed_wherever_it_is() {
    let validator = validator();
    let whole = with_everything();
    assert!(validator.is_valid(&whole));
    for place in OBJECTS {
        let object = whole.pointer(place).and_then(Value::as_object).expect(place);
        assert!(!object.is_empty(), "{place}");
        for key in object.keys() {
            let mut broken = whole.clone();
            let object = broken.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
            object.remove(key);
            assert!(!validator.is_valid(&broken), "{place} without {key}");
        }
    }
}

#[test]
fn an_unknown_field_is_noticed_wherever_it_is() {
    let validator = validator();
    let whole = with_everything();
    for place in OBJECTS {
        let mut broken = whole.clone();
        let object = broken.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
        object.insert("surprise".to_owned(), json!(1));
        assert!(!validator.is_valid(&broken), "{place}");
    }
}

#[test]
fn wrong_values_are_noticed() {
    let validator = validator();
    let whole = with_everything();
    for (place, wrong) in [
        ("/schema", json!("something.else")),
        ("/schema_version", json!(2)),
        ("/started_at", json!("yesterday")),
        ("/completion/state", json!("perhaps")),
        ("/points/0/protocol", json!("OpenFlow 1.3")),
        ("/points/0/switches", json!(1.5)),
        ("/points/0/trials/0/rates/loss", json!(1.2)),
        ("/points/0/trials/0/counts/sent", json!(-1)),
        ("/points/0/trials/0/rtt_from_due/p99_ns", json!("5ms")),
        ("/points/0/trials/0/rates/received", Value::Null),
        ("/points/0/trials/0/verdict/saturated", json!("both")),
        ("/points/0/trials/0/series/outstanding/0", json!("many")),
    ] {
        let mut broken = whole.clone();
        *broken.pointer_mut(place).expect(place) = wrong;
        assert!(!validator.is_valid(&broken), "{place}");
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    for (name, result) in every_kind() {
        let text = to_json(&result).expect("JSON");
        let back = from_json(&text).expect("reads back");
        assert_eq!(to_json(&back).expect("JSON"), text, "{name}");
        // Rates are the same numbers, and not only printed alike.
        for (point, read) in result.points.iter().zip(&back.points) {
            assert_eq!(point.summary, read.summary, "{name}");
            for (trial, read) in point.trials.iter().zip(&read.trials) {
                assert_eq!((trial.rates, &trial.series), (read.rates, &read.series), "{name}");
                assert_eq!(trial.rtt_from_due, read.rtt_from_due, "{name}");
                assert_eq!(trial.per_switch, read.per_switch, "{name}");
                assert!(read.histograms.rtt_from_due.is_empty(), "they are files of their own");
            }
        }
    }
}
