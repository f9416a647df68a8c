//! Conversion between P4Runtime's device configuration and a program in the IR.
//!
//! P4Runtime does not specify the format of `p4_device_config`. This module accepts BMv2 JSON,
//! which controllers for BMv2 send by itself or wrapped in the message `P4DeviceConfig` of
//! p4lang/PI (proto/p4/tmp/p4config.proto). It also accepts the JSON form of the IR and P4 source.

use crate::bmv2::{Bmv2Error, load_bmv2_json_within};
use crate::compile_text;
use crate::diagnostic::{LIMIT, Style};
use crate::preprocess::{MemoryFiles, Options};
use bytes::Bytes;
use entities::{Code, EntityError};
use ir::{CompileLimits, Program, ReadError, with_large_stack};
use p4runtime::proto::v1::{ForwardingPipelineConfig, forwarding_pipeline_config::Cookie};
use prost::Message;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The message in which p4lang/PI wraps a device configuration.
#[derive(Clone, PartialEq, Message)]
struct P4DeviceConfig {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(message, optional, tag = "2")]
    extras: Option<Extras>,
    #[prost(bytes = "bytes", tag = "3")]
    device_data: Bytes,
}

/// The message `Extras` of p4lang/PI, whose fields are ignored.
#[derive(Clone, PartialEq, Message)]
struct Extras {}

/// Converts a device configuration to a program, with the default [`CompileLimits`].
///
/// # Errors
/// Returns an error that describes the problem if the configuration is in none of the accepted
/// formats, or if the program is invalid or exceeds a limit.
pub fn from_device_config(config: &[u8]) -> Result<Program, EntityError> {
    from_device_config_within(config, &CompileLimits::default())
}

/// Converts a device configuration to a program, with the given limits.
///
/// # Errors
/// Returns an error that describes the problem if the configuration is in none of the accepted
/// formats, or if the program is invalid. If the program exceeds a limit, the error has the code
/// `RESOURCE_EXHAUSTED`.
pub fn from_device_config_within(
    config: &[u8],
    limits: &CompileLimits,
) -> Result<Program, EntityError> {
    let unwrapped = unwrapped(config);
    let text = std::str::from_utf8(unwrapped.as_deref().unwrap_or(config)).map_err(|_| {
        EntityError::invalid(
            "p4_device_config is not text; BMv2 JSON, P4 source, or what `planimeter compile --ir` writes was \
             expected",
        )
    })?;
    let start = text.trim_start();
    if start.is_empty() {
        return Err(EntityError::invalid(
            "p4_device_config is empty; BMv2 JSON or P4 source was expected",
        ));
    }
    let refused = |exceeded: bool, error: &dyn std::fmt::Display| {
        let code = if exceeded { Code::ResourceExhausted } else { Code::InvalidArgument };
        EntityError::new(code, format!("p4_device_config: {error}"))
    };
    let no_thread = |error: std::io::Error| {
        EntityError::new(
            Code::Internal,
            format!("no thread could be started to compile in: {error}"),
        )
    };
    if !start.starts_with('{') {
        return with_large_stack(|| from_source(text, limits)).map_err(no_thread)?;
    }
    let loaded = with_large_stack(|| {
        if Program::is_json(start) {
            Program::from_json_within(text, limits)
                .map_err(|error| refused(matches!(error, ReadError::Exceeded(_)), &error))
        } else {
            load_bmv2_json_within(text, limits)
                .map_err(|error| refused(matches!(error, Bmv2Error::Exceeded(_)), &error))
        }
    });
    loaded.map_err(no_thread)?
}

/// Converts a program to the configuration with which a controller would load it. The
/// configuration's cookie is a hash of the program.
///
/// # Errors
/// Returns a description of all problems if no P4Info can be generated for the program.
pub fn to_pipeline_config(program: &Program) -> Result<ForwardingPipelineConfig, String> {
    let p4info = crate::p4info::generate(program)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let config = program.to_json().map_err(|error| error.to_string())?;
    let mut hash = DefaultHasher::new();
    config.hash(&mut hash);
    Ok(ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: config.into(),
        cookie: Some(Cookie { cookie: hash.finish() }),
    })
}

/// Returns the device configuration that a `P4DeviceConfig` wraps, or `None` if `config` is not
/// such a message.
fn unwrapped(config: &[u8]) -> Option<Bytes> {
    // The message begins with the tag of one of its fields. Text with another first byte is never
    // taken for it.
    if !matches!(config.first(), Some(0x08 | 0x12 | 0x1a)) {
        return None;
    }
    let wrapped = P4DeviceConfig::decode(config).ok()?;
    (!wrapped.device_data.is_empty()).then_some(wrapped.device_data)
}

fn from_source(text: &str, limits: &CompileLimits) -> Result<Program, EntityError> {
    let options = Options { limits: *limits, ..Options::default() };
    let compiled = compile_text("p4_device_config", text, &options, &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    let exceeds = compiled.diagnostics.iter().any(|diagnostic| diagnostic.kind == LIMIT);
    compiled.program.ok_or_else(|| {
        let code = if exceeds { Code::ResourceExhausted } else { Code::InvalidArgument };
        EntityError::new(code, format!("the program could not be compiled:\n{messages}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#include <v1model.p4>
        header h_t { bit<8> a; } struct headers { h_t h; } struct meta { }
        parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
            state start { b.extract(h.h); transition accept; }
        }
        control v(inout headers h, inout meta m) { apply { } }
        control i(inout headers h, inout meta m, inout standard_metadata_t s) {
            apply { s.egress_spec = 2; }
        }
        control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
        control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
        V1Switch(p(), v(), i(), e(), v(), d()) main;";

    #[test]
    fn a_program_comes_as_source_or_compiled_and_wrapped_or_not() {
        let program = from_device_config(SOURCE.as_bytes()).expect("it compiles");
        let config = to_pipeline_config(&program).expect("it has a P4Info");
        let compiled = config.p4_device_config;
        assert_eq!(from_device_config(&compiled).expect("it is ours"), program);
        let wrapped = P4DeviceConfig { reassign: true, extras: None, device_data: compiled };
        assert_eq!(from_device_config(&wrapped.encode_to_vec()).expect("it is ours"), program);
    }

    #[test]
    fn other_bytes_are_refused_with_a_hint_at_accepted_formats() {
        let refused = |config: &[u8]| {
            from_device_config(config).expect_err("it is not a program").message().to_owned()
        };
        assert!(refused(b"").contains("empty"));
        assert!(refused(&[0xff, 0xfe]).contains("BMv2 JSON"));
        assert!(refused(b"{\"parsers\": 1}").starts_with("p4_device_config: "));
        assert!(refused(b"control c() {").contains("could not be compiled"));
    }
}
