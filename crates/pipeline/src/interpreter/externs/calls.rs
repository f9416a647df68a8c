//! Dispatches calls of externs, and implements the functions that several architectures share.

use super::Call;
use crate::error::RunError;
use crate::interpreter::{Interpreter, Stop};
use crate::layout::MetadataField;
use crate::trace::{Event, ExternArgument};
use crate::value::Value;
use ir::bits::Bits;
use ir::{Architecture, Argument, ExternCallee, ExternFunction, Program};
use num_bigint::BigInt;

/// Returns whether the interpreter implements this extern function or method.
pub(crate) fn known(program: &Program, callee: &ExternCallee) -> bool {
    match callee {
        ExternCallee::Function(function) => has_function(&program.architecture, function),
        ExternCallee::Method { instance, method } => {
            program.externs.get(instance.index()).is_some_and(|instance| {
                program.architecture.may_have_extern(&instance.extern_type)
                    && super::methods::known(&instance.extern_type, method)
            })
        }
    }
}

/// Returns whether an extern function is available in programs for an architecture. User-defined
/// architectures have only functions that compute a result. The effects of other functions on
/// packets and entries are implemented by the drivers of other architectures.
fn has_function(architecture: &Architecture, function: &ExternFunction) -> bool {
    use ExternFunction as Of;
    let is_v1model = *architecture == Architecture::V1model;
    let is_pna = *architecture == Architecture::Pna;
    let is_for_bpf = architecture.is_for_bpf();
    match function {
        Of::Assert | Of::Assume | Of::LogMsg | Of::StaticAssert => true,
        Of::Hash | Of::Random | Of::UpdateChecksum | Of::UpdateChecksumWithPayload => {
            is_v1model || matches!(architecture, Architecture::Other(_))
        }
        Of::MarkToDrop | Of::Truncate => is_v1model || is_for_bpf,
        Of::Recirculate => is_v1model || is_pna,
        Of::Clone
        | Of::Clone3
        | Of::ClonePreservingFieldList
        | Of::Digest
        | Of::RecirculatePreservingFieldList
        | Of::Resubmit
        | Of::ResubmitPreservingFieldList
        | Of::VerifyChecksum
        | Of::VerifyChecksumWithPayload => is_v1model,
        Of::PsaCloneE2e
        | Of::PsaCloneI2e
        | Of::PsaNormal
        | Of::PsaRecirculate
        | Of::PsaResubmit => *architecture == Architecture::Psa,
        Of::AddEntry
        | Of::AddEntryIf
        | Of::AllocateFlowId
        | Of::DropPacket
        | Of::IsHostPort
        | Of::IsNetPort
        | Of::MirrorPacket
        | Of::RestartExpireTimer
        | Of::SelectByDirection
        | Of::SendToPort
        | Of::SetEntryExpireTime
        | Of::SetEntryExpireTimeIf
        | Of::UpdateExpireInfo => is_pna,
        Of::BpfKtimeGetNs
        | Of::BpfPerfEventOutput
        | Of::CsumReplace2
        | Of::CsumReplace4
        | Of::EbpfIpv4Checksum
        | Of::MarkToPass
        | Of::UbpfTimeGetNs => is_for_bpf,
        Of::Other(_) => false,
    }
}

/// Returns the name that an extern function or method has in the program.
pub(crate) fn name(program: &Program, callee: &ExternCallee) -> String {
    match callee {
        ExternCallee::Function(function) => function.to_string(),
        ExternCallee::Method { instance, method } => {
            let instance = program.externs.get(instance.index());
            format!("{}.{method}", instance.map_or("?", |instance| instance.name.as_str()))
        }
    }
}

impl Interpreter<'_> {
    /// Calls an extern, and returns its result if it has one.
    pub(crate) fn call_extern(&mut self, call: &Call<'_>) -> Result<Option<Value>, Stop> {
        self.event(|interpreter| Event::Extern {
            callee: call.callee.clone(),
            arguments: call
                .arguments
                .iter()
                .filter_map(|argument| match argument.unordered() {
                    Argument::In(expression) => {
                        let value = interpreter.evaluate(expression).ok()?;
                        Some(ExternArgument::Value(value, expression.type_id))
                    }
                    Argument::Action(id) => Some(ExternArgument::Action(*id)),
                    Argument::InOut(_)
                    | Argument::Out(_)
                    | Argument::Saved { .. }
                    | Argument::Extern(_)
                    | Argument::Ordered { .. }
                    | Argument::Absent => None,
                })
                .collect(),
            location: call.location,
        });
        match call.callee {
            ExternCallee::Method { instance, method } => self.call_method(call, *instance, method),
            ExternCallee::Function(function) => self.call_function(call, function),
        }
    }

    fn call_function(
        &mut self,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<Option<Value>, Stop> {
        use ExternFunction as Of;
        if let Some(result) = self.call_bpf(call, function)? {
            return Ok(result);
        }
        match function {
            Of::Assert | Of::Assume => {
                if !self.input_bool(call, 0)? {
                    let place = self.at(call.location);
                    let function = function.to_string();
                    return Err(RunError::Assertion { place, function }.into());
                }
                Ok(None)
            }
            Of::StaticAssert => Ok(Some(Value::Bool(true))),
            Of::LogMsg => {
                let data = self.optional_input(call, 1)?;
                if let Value::String(message) = self.input(call, 0)? {
                    self.event(|_| Event::Log { text: filled_in(&message, data.as_ref()) });
                }
                Ok(None)
            }
            Of::Random => {
                // The bounds are the low 64 bits, as in `modify_field_rng_uniform`.
                let (low, high) = (self.input_low_bits(call, 1)?, self.input_low_bits(call, 2)?);
                let number = self.random_number(low, high);
                self.output(call, 0, Value::Bits(Bits::unsigned(64, u128::from(number))))?;
                Ok(None)
            }
            Of::Hash => {
                let algorithm = self.input_member(call, 1)?.algorithm.clone();
                let data = self.input_data(call, 3)?;
                let hash = self.hash(&algorithm, &data)?;
                // The sum wraps around at 64 bits (`modify_field_with_hash_based_offset`).
                let (base, max) = (self.input_low_bits(call, 2)?, self.input_low_bits(call, 4)?);
                let sum = base.wrapping_add(hash.checked_rem(max).unwrap_or(0));
                self.output(call, 0, Value::Bits(Bits::unsigned(64, u128::from(sum))))?;
                Ok(None)
            }
            Of::PsaCloneI2e
            | Of::PsaCloneE2e
            | Of::PsaResubmit
            | Of::PsaRecirculate
            | Of::PsaNormal => self.psa_path(call, function).map(Some),
            _ => match self.call_v1model(call, function)? {
                true => Ok(None),
                false => self.call_pna(call, function),
            },
        }
    }

    /// Evaluates a function such as `psa_normal`, which tells a PSA deparser whether its metadata
    /// request the packet path for which the function is named (PSA specification, section 6).
    fn psa_path(&self, call: &Call<'_>, function: &ExternFunction) -> Result<Value, Stop> {
        let flag = |position: usize, field: MetadataField| {
            let Some(Argument::In(expression)) = call.arguments.get(position) else {
                return Ok::<_, Stop>(false);
            };
            let value = self.evaluate(expression)?;
            let field = self.layout.field(&value, expression.type_id, field);
            Ok(matches!(field, Some(Value::Bool(true))))
        };
        let dropped = flag(0, MetadataField::Drop)?;
        Ok(Value::Bool(match function {
            ExternFunction::PsaCloneI2e | ExternFunction::PsaCloneE2e => {
                flag(0, MetadataField::Clone)?
            }
            ExternFunction::PsaResubmit => !dropped && flag(0, MetadataField::Resubmit)?,
            ExternFunction::PsaNormal => !dropped && !flag(0, MetadataField::Resubmit)?,
            _ => {
                let Some(Argument::In(expression)) = call.arguments.get(1) else {
                    return Ok(Value::Bool(false));
                };
                let value = self.evaluate(expression)?;
                let port = MetadataField::EgressPort;
                let port = self.layout.field_number(&value, expression.type_id, port);
                !dropped && port == u128::from(architectures::PSA_PORT_RECIRCULATE)
            }
        }))
    }
}

/// Returns `base + hash % max`, or `base` if `max` is zero (PSA's `get_hash`).
pub(super) fn within(hash: u64, base: &Value, max: &Value) -> Value {
    let number = |value: &Value| match value {
        Value::Integer(number) => number.clone(),
        other => other.to_pattern().map_or_else(BigInt::default, |bits| bits.to_bigint()),
    };
    let (base, max) = (number(base), number(max));
    let sum = if max == BigInt::default() { base } else { base + BigInt::from(hash) % max };
    // The width suffices for any base, and the place truncates the value.
    let width = u32::try_from(sum.bits()).unwrap_or(u32::MAX).saturating_add(1).max(128);
    Value::Bits(Bits::from_bigint(width, false, &sum))
}

/// Returns the message of `log_msg` with its values inserted for `{}`.
fn filled_in(message: &str, data: Option<&Value>) -> String {
    let mut values = match data {
        Some(Value::Struct(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    }
    .iter();
    let mut text = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("{}") {
        text.push_str(before);
        match values.next() {
            Some(Value::Bits(bits)) => text.push_str(&bits.to_string()),
            Some(value) => text.push_str(&value.to_string()),
            None => text.push_str("{}"),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_reduced_into_its_range() {
        let bits = |number| Value::Bits(Bits::unsigned(32, number));
        let number = |value: Value| value.to_pattern().and_then(|bits| bits.to_u64());
        assert_eq!(number(within(1000, &bits(5), &bits(7))), Some(5 + 1000 % 7));
        assert_eq!(number(within(1000, &bits(5), &bits(0))), Some(5));
        assert_eq!(number(within(u64::MAX, &bits(0), &bits(1))), Some(0));
    }

    #[test]
    fn log_messages_are_filled_in_from_left_to_right() {
        let data = Value::Struct(vec![Value::Bits(Bits::unsigned(8, 7)), Value::Bool(true)]);
        assert_eq!(filled_in("a {} b {} c {}", Some(&data)), "a 7 b true c {}");
        assert_eq!(filled_in("plain", None), "plain");
    }

    /// The functions that are available in any program that declares them.
    const ANYWHERE: [&str; 4] = ["assert", "assume", "log_msg", "static_assert"];

    /// Returns the names of the extern functions that files of built-in architectures declare.
    fn declared(files: &[&str]) -> Vec<&'static str> {
        let declared = files.iter().flat_map(|file| {
            let text = p4lang::arch::file(file).expect("a built-in file").text();
            text.lines().filter_map(|line| {
                let (before, _) = line.strip_prefix("extern ")?.split_once('(')?;
                // Type parameters follow the name.
                let name = before.split_once(' ')?.1.trim();
                name.split('<').next().map(str::trim)
            })
        });
        declared.collect()
    }

    /// Tests that a program may call the functions that its architecture declares, and those that
    /// only compute a result, and that a program with any other function is refused when it is
    /// loaded.
    #[test]
    fn each_architecture_has_the_functions_that_its_files_declare() {
        let other = |package: &str| Architecture::Other(package.to_owned());
        let bpf = ["ebpf_model.p4", "ubpf_model.p4", "xdp_model.p4"];
        let pna = ["pna.p4", "pna/common.p4", "bmv2/pna.p4", "dpdk/pna.p4", "tc/pna.p4"];
        let computing = ["hash", "random", "update_checksum", "update_checksum_with_payload"];
        let architectures: [(Architecture, &[&str], &[&str]); 7] = [
            (Architecture::V1model, &["v1model.p4"], &[]),
            (Architecture::Psa, &["psa.p4", "dpdk/psa.p4"], &[]),
            (Architecture::Pna, &pna, &[]),
            (other("ebpfFilter"), &bpf, &computing),
            (other("ubpf"), &bpf, &computing),
            (other("xdp"), &bpf, &computing),
            (other("MySwitch"), &[], &computing),
        ];
        for (architecture, files, more) in architectures {
            let declared = [&declared(files)[..], more, &ANYWHERE[..]].concat();
            let program = Program::empty(architecture.clone());
            for name in ExternFunction::NAMES {
                let callee = ExternCallee::Function(ExternFunction::named(name));
                let expected = declared.contains(name);
                assert_eq!(known(&program, &callee), expected, "{name} in {architecture:?}");
            }
            let unknown = ExternCallee::Function(ExternFunction::named("fly"));
            assert!(!known(&program, &unknown), "{architecture:?}");
        }
    }
}
