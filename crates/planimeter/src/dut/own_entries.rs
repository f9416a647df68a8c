//! The file of `--entries`: entries of the user for a P4Runtime switch, or flows for an OpenFlow
//! switch.

use std::path::PathBuf;
use std::sync::Arc;

use ::dut::{EntryFile, OwnFlows};
use p4runtime::p4info::text;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{Update, WriteRequest};
use prost::Message as _;
use softswitch::runtime_json::RuntimeJson;

use crate::failure::Failure;
use crate::parsers::decimal;

/// The value of `--entries`: the largest number of entries to generate, or a file of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    /// The largest number of entries that are generated.
    Count(u64),
    /// A file with entries, which are used in place of generated ones.
    File(PathBuf),
}

/// Parses the value of `--entries`. A number is the largest number of entries to generate.
/// Otherwise it is the path of a file, which must contain a dot or a slash. A file whose name is a
/// number is written with its folder, as in `./1000`.
pub(super) fn entries(text: &str) -> Result<Entries, String> {
    match decimal(text) {
        Ok(count) => Ok(Entries::Count(count)),
        Err(_) if text.contains(['.', '/']) => Ok(Entries::File(text.into())),
        Err(error) => Err(format!("{error}; write a file with its folder, as in ./{text}")),
    }
}

impl Entries {
    /// Returns the largest number of entries to generate.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Count(count) => *count,
            Self::File(_) => u64::MAX,
        }
    }

    /// Reads the file for a P4Runtime switch, if `--entries` names one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has none of the known formats.
    pub(super) fn of_p4runtime(&self) -> Result<Option<Arc<dyn EntryFile>>, Failure> {
        let Self::File(path) = self else { return Ok(None) };
        let bytes = input::read(path)
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        let contents = Contents::of(&bytes)
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        Ok(Some(Arc::new(WrittenEntries { name: path.display().to_string(), contents })))
    }

    /// Reads the file for an OpenFlow switch, if `--entries` names one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or a line in it is no flow.
    pub(super) fn of_openflow(&self) -> Result<Option<Arc<OwnFlows>>, Failure> {
        let Self::File(path) = self else { return Ok(None) };
        let name = path.display().to_string();
        let text =
            input::read_text(path).map_err(|error| Failure::input(format!("{name}: {error}")))?;
        Ok(Some(Arc::new(OwnFlows::parse(&name, &text).map_err(Failure::input)?)))
    }
}

/// A file with entries for a P4Runtime switch.
#[derive(Debug)]
struct WrittenEntries {
    name: String,
    contents: Contents,
}

/// The content of a file of entries, by its format.
#[derive(Debug)]
enum Contents {
    /// A WriteRequest of P4Runtime.
    Request(WriteRequest),
    /// A runtime.json of the p4lang tutorials, whose entries refer to tables by name.
    Named(RuntimeJson),
}

impl Contents {
    /// Reads the content of a file. Returns a description of the fault if it has none of the known
    /// formats.
    fn of(bytes: &[u8]) -> Result<Self, String> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let request = WriteRequest::decode(bytes);
            return request.map(Self::Request).map_err(|error| {
                format!("it is no text, and no WriteRequest of P4Runtime in binary form: {error}")
            });
        };
        if !text.trim_start().starts_with('{') {
            let request = text::parse_message(text);
            return request.map(Self::Request).map_err(|error| {
                format!("it is no WriteRequest of P4Runtime in text form: {error}")
            });
        }
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
        let value = parsed.map_err(|error| format!("it is no JSON: {error}"))?;
        if value.get("updates").is_some() {
            let request = text::parse_json(text);
            return request
                .map(Self::Request)
                .map_err(|error| format!("it is no WriteRequest of P4Runtime as JSON: {error}"));
        }
        RuntimeJson::parse(text).map(Self::Named).map_err(|error| error.to_string())
    }
}

impl EntryFile for WrittenEntries {
    fn name(&self) -> &str {
        &self.name
    }

    fn updates(&self, p4info: &P4Info) -> Result<Vec<Update>, String> {
        match &self.contents {
            Contents::Request(request) => Ok(request.updates.clone()),
            Contents::Named(named) => named.updates(p4info).map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_no_file_and_a_file_is_no_count() {
        assert_eq!(entries("100k"), Ok(Entries::Count(100_000)));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(entries(file), Ok(Entries::File(file.into())));
        assert_eq!(entries("own.txtpb"), Ok(Entries::File("own.txtpb".into())));
        let error = entries("own").expect_err("it is neither");
        assert!(error.contains("as in ./own"), "{error}");
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let file = Entries::File("/dev/zero".into());
        for refused in [file.of_p4runtime().err(), file.of_openflow().err()] {
            let refused = refused.expect("it has no end").to_string();
            assert!(refused.contains("longer than"), "{refused}");
        }
    }

    #[test]
    fn the_formats_are_told_apart() {
        let message = "updates { type: INSERT entity { table_entry { table_id: 7 } } }";
        let request: WriteRequest = text::parse_message(message).expect("a request");
        let json = text::print_json(&request).expect("it is printed");
        for bytes in [message.as_bytes(), json.as_bytes()] {
            let Ok(Contents::Request(found)) = Contents::of(bytes) else { panic!("a request") };
            assert_eq!(found, request);
        }
        let named = r#"{"target": "bmv2", "table_entries": [{"table": "t", "match": {}, "action_name": "a"}]}"#;
        assert!(matches!(Contents::of(named.as_bytes()), Ok(Contents::Named(_))));
        for (wrong, says) in [
            ("updates { type: INSRT }", "in text form: line 1, column"),
            ("{\"updates\": [{\"typo\": 1}]}", "as JSON: line 1"),
            ("{\"hosts\": {}}", "not a runtime.json"),
            ("{", "no JSON"),
        ] {
            let error = Contents::of(wrong.as_bytes()).expect_err("it is wrong");
            assert!(error.contains(says), "{wrong}: {error}");
        }
        assert!(Contents::of(&[0xff, 0xfe]).is_err());
    }
}
