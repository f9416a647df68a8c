//! Writes and reads the `result.json` of a controller benchmark, and contains its schema.
//!
//! The schema is a file of its own, [`SCHEMA`], written by hand rather than derived from the Rust
//! types: it is a promise to the scripts of users. It must change only by a decision that raises
//! the version, and not because a type changes. Tests compare the schema with the types: it allows
//! no further keys and requires all keys that are always present, so that a test fails if a field
//! appears, vanishes or changes its type on one side alone.

use std::io;

use probe::outcome::RunResult;
use provenance::Provenance;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Value, json};
use statistics::Estimate;

/// The JSON Schema (draft 2020-12) of the `result.json` of a controller benchmark.
pub const SCHEMA: &str = include_str!("../schemas/probe-result.v1.schema.json");

/// Converts a mean over repetitions to JSON, in the form that the results of all commands use. A
/// missing mean becomes `null`.
pub(crate) fn estimate(estimate: Option<&Estimate>) -> Value {
    estimate.map_or(Value::Null, |estimate| {
        json!({
            "n": estimate.n,
            "mean": estimate.mean,
            "ci95": estimate.ci95,
            "min": estimate.min,
            "max": estimate.max,
        })
    })
}

/// Returns the text of a `result.json`. It contains the fields of the object `own`, and those that
/// state the origin of the run. The result is marked as partial if one of the processes that share
/// the run did not complete its part.
pub(crate) fn result(provenance: &Provenance, own: Value) -> String {
    let of_run = serde_json::to_value(provenance).unwrap_or_default();
    let mut all = own;
    if let (Value::Object(all), Value::Object(of_run)) = (&mut all, of_run) {
        all.extend(of_run);
        if provenance.missing().is_some() {
            all.insert("completion".to_owned(), json!("partial"));
        }
    }
    format!("{all:#}\n")
}

/// The reason why the `result.json` of a controller benchmark cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON, or lacks a required field.
    #[error("not a result of planimeter probe: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The text is the result of another command, or not a result.
    #[error("not a result of planimeter probe: its schema is {schema:?}")]
    OtherSchema {
        /// The schema that the text names (empty if there is none).
        schema: String,
    },
    /// The text is the result of a controller benchmark in another version of the format.
    #[error(
        "this is {} version {}, and this version of planimeter reads version {}",
        probe::outcome::SCHEMA,
        version.map_or_else(|| "unknown".to_owned(), |version| version.to_string()),
        probe::outcome::SCHEMA_VERSION
    )]
    OtherVersion {
        /// The version of the format that the text states, or `None` if it states none.
        version: Option<u32>,
    },
}

/// Returns the result of a controller benchmark as the text of a `result.json`. It is indented,
/// with lists of plain values on one line, so that a long series does not take thousands of lines.
///
/// # Errors
/// Returns an error for a value that JSON cannot represent, which does not occur in a
/// [`RunResult`].
pub fn to_json(result: &RunResult) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::with_capacity(64 * 1024);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Indented::default());
    result.serialize(&mut serializer)?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// Reads the text of a `result.json`. The raw histograms are in files of their own and stay empty.
///
/// # Errors
/// Returns a [`ReadError`] if the text is not a result that this version can read. For malformed
/// text, the error contains line and column.
pub fn from_json(text: &str) -> Result<RunResult, ReadError> {
    /// The schema and the version of the format. They are read first, so that a later version is
    /// reported as such and not as a missing field.
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(default)]
        schema: String,
        schema_version: Option<u32>,
    }
    let head: Head = serde_json::from_str(text)?;
    if head.schema != probe::outcome::SCHEMA {
        return Err(ReadError::OtherSchema { schema: head.schema });
    }
    if head.schema_version != Some(probe::outcome::SCHEMA_VERSION) {
        return Err(ReadError::OtherVersion { version: head.schema_version });
    }
    Ok(serde_json::from_str(text)?)
}

/// A JSON formatter that indents objects and keeps lists of plain values on one line.
#[derive(Default)]
struct Indented {
    /// The lists and objects that have been opened but not closed, the innermost last.
    open: Vec<Open>,
}

/// A list or an object that is being written. It records whether the closing bracket needs a line
/// of its own.
enum Open {
    Array { holds_objects: bool },
    Object { filled: bool },
}

impl Indented {
    fn new_line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        self.open.iter().try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open.push(Open::Array { holds_objects: false });
        writer.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match (first, self.open.last()) {
            (true, _) => Ok(()),
            // The following object starts on a line of its own.
            (false, Some(Open::Array { holds_objects: true })) => writer.write_all(b","),
            (false, _) => writer.write_all(b", "),
        }
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Open::Array { holds_objects: true }) = self.open.pop() {
            self.new_line(writer)?;
        }
        writer.write_all(b"]")
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Open::Array { holds_objects }) = self.open.last_mut() {
            *holds_objects = true;
            self.new_line(writer)?;
        }
        self.open.push(Open::Object { filled: false });
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if let Some(Open::Object { filled }) = self.open.last_mut() {
            *filled = true;
        }
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Open::Object { filled: true }) = self.open.pop() {
            self.new_line(writer)?;
        }
        writer.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_on_a_line_and_objects_do_not() {
        let value =
            serde_json::json!({"a": [1, 2, 3], "b": [{"c": []}, {"d": {}}], "e": [[1], [2]]});
        let mut bytes = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut bytes, Indented::default());
        value.serialize(&mut serializer).expect("JSON");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let expected = r#"{
  "a": [1, 2, 3],
  "b": [
    {
      "c": []
    },
    {
      "d": {}
    }
  ],
  "e": [[1], [2]]
}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }

    #[test]
    fn text_that_is_no_result_is_refused_with_a_reason() {
        let error = from_json("{").expect_err("no JSON").to_string();
        assert!(error.contains("line 1"), "{error}");
        let error = from_json(r#"{"schema": "planimeter.probe.result", "schema_version": 1}"#);
        assert!(error.expect_err("lacks fields").to_string().contains("missing field"));
        let error = from_json(r#"{"schema": "planimeter.probe.result", "schema_version": 7}"#);
        let error = error.expect_err("a later version").to_string();
        assert!(error.contains("version 7") && error.contains("reads version 1"), "{error}");
        let error = from_json(r#"{"schema": "planimeter-bench-result.v1"}"#);
        let error = error.expect_err("of another verb").to_string();
        assert!(error.contains("its schema is \"planimeter-bench-result.v1\""), "{error}");
    }
}
