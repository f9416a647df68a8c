//! Checks of the result of verbs that produce one document.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Reads the result in a run directory, and checks it against the schema.
pub(crate) fn result(run: &Path) -> Value {
    let result = fs::read_to_string(run.join("result.json")).expect("a result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let schema = serde_json::from_str(report::page::document::json::SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let errors: Vec<String> =
        validator.iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    result
}
