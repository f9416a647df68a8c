//! Writes traces to bytes, and reads them back.

use crate::{Trace, text};
use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};

/// The format in which a sequence of traces is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Human-readable text.
    #[default]
    Text,
    /// Human-readable text that also contains branches, assignments, externs and emitted headers.
    VerboseText,
    /// The proto3 JSON mapping. Each trace is one line.
    Json,
    /// Protocol Buffers messages, each preceded by its length as a varint.
    Proto,
}

/// An error while reading traces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A line is not the JSON of a trace.
    #[error("line {line} is not a trace in JSON: {reason}")]
    Json {
        /// The number of the line, counted from 1.
        line: usize,
        /// The reason that the JSON parser reports.
        reason: String,
    },
    /// The bytes are not a sequence of Protocol Buffers messages.
    #[error(
        "trace {number} is not a message planimeter.trace.v1.Trace behind its length: {reason}"
    )]
    Proto {
        /// The number of the trace in the sequence, counted from 1.
        number: usize,
        /// The reason that the Protocol Buffers decoder reports.
        reason: String,
    },
}

impl Format {
    /// Returns the bytes of a trace in this format.
    #[must_use]
    pub fn bytes(self, trace: &Trace) -> Vec<u8> {
        match self {
            Self::Text => text(trace, false).into_bytes(),
            Self::VerboseText => text(trace, true).into_bytes(),
            Self::Json => json(trace).into_bytes(),
            Self::Proto => trace.encode_length_delimited_to_vec(),
        }
    }
}

/// Returns a trace as one line of JSON, including the newline.
fn json(trace: &Trace) -> String {
    let json = descriptor().and_then(|descriptor| {
        let message = DynamicMessage::decode(descriptor, &*trace.encode_to_vec()).ok()?;
        serde_json::to_string(&message).ok()
    });
    // A test checks that the descriptors contain this message, so the mapping does not fail.
    json.unwrap_or_default() + "\n"
}

fn descriptor() -> Option<MessageDescriptor> {
    protos::trace_pool()?.get_message_by_name("planimeter.trace.v1.Trace")
}

/// Reads traces that were written in the format [`Format::Json`] or [`Format::Proto`].
///
/// # Errors
/// Returns an error if the bytes are in neither of these formats.
pub fn read(bytes: &[u8]) -> Result<Vec<Trace>, ReadError> {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return read_proto(bytes);
    }
    // A first byte `{` does not prove that this is JSON: it is also the length of a message of 123
    // bytes.
    read_json(bytes).or_else(|error| read_proto(bytes).map_err(|_| error))
}

fn read_json(bytes: &[u8]) -> Result<Vec<Trace>, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(index, line)| {
        let error = |reason: String| ReadError::Json { line: index + 1, reason };
        let descriptor = descriptor().ok_or_else(|| error("no descriptor".to_owned()))?;
        let mut reader = serde_json::Deserializer::from_str(line);
        let message = DynamicMessage::deserialize(descriptor, &mut reader);
        let message = message.map_err(|cause| error(cause.to_string()))?;
        reader.end().map_err(|cause| error(cause.to_string()))?;
        Trace::decode(&*message.encode_to_vec()).map_err(|cause| error(cause.to_string()))
    });
    read.collect()
}

fn read_proto(mut bytes: &[u8]) -> Result<Vec<Trace>, ReadError> {
    let mut traces = Vec::new();
    while !bytes.is_empty() {
        let number = traces.len() + 1;
        let trace = Trace::decode_length_delimited(&mut bytes);
        let error =
            |cause: prost::DecodeError| ReadError::Proto { number, reason: cause.to_string() };
        traces.push(trace.map_err(error)?);
    }
    Ok(traces)
}
