//! Writes traces, and reads them again.

use crate::{Trace, text};
use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};

/// The form in which traces are written, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines for people.
    #[default]
    Text,
    /// Lines for people, with branches, assignments, externs and emitted headers.
    VerboseText,
    /// The proto3 JSON mapping of each trace, on a line of its own.
    Json,
    /// Messages of protocol buffers, each behind its length as a varint.
    Proto,
}

/// An error in reading traces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A line is not the JSON of a trace.
    #[error("line {line} is not a trace in JSON: {reason}")]
    Json {
        /// The line, counted from 1.
        line: usize,
        /// The reason that the JSON reader gives.
        reason: String,
    },
    /// The bytes are not messages of protocol buffers.
    #[error(
        "trace {number} is not a message planimeter.trace.v1.Trace behind its length: {reason}"
    )]
    Proto {
        /// The number of the trace, counted from 1.
        number: usize,
        /// The reason that the reader of protocol buffers gives.
        reason: String,
    },
}

impl Format {
    /// Returns a trace in this form.
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

/// Returns the JSON of a trace, with the newline after it.
fn json(trace: &Trace) -> String {
    let json = descriptor().and_then(|descriptor| {
        let message = DynamicMessage::decode(descriptor, &*trace.encode_to_vec()).ok()?;
        serde_json::to_string(&message).ok()
    });
    // A test proves that the descriptors have the message.
    json.unwrap_or_default() + "\n"
}

fn descriptor() -> Option<MessageDescriptor> {
    protos::trace_pool()?.get_message_by_name("planimeter.trace.v1.Trace")
}

/// Reads traces that [`Format::Json`] or [`Format::Proto`] has written.
///
/// # Errors
/// Fails if the bytes are not traces in either form.
pub fn read(bytes: &[u8]) -> Result<Vec<Trace>, ReadError> {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return read_proto(bytes);
    }
    // A brace is also the length of a message of 123 bytes.
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
