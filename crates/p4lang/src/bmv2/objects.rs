//! Extern objects of v1model: counters, meters, registers, value sets and action profiles. Arrays
//! of BMv2 JSON describe them.

use serde_json::Value as Json;

use super::json::SourceInfo;
use super::{DirectMeter, Loader, Outcome};
use ir::bits::Bits;
use ir::{ConstructorArgument, ExternId, ExternInstance, ExternType, Type, TypeId, Value};

/// The members of v1model's enumeration `HashAlgorithm`.
pub(super) const HASH_ALGORITHMS: [&str; 8] =
    ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];

impl Loader<'_> {
    /// Adds the extern objects that do not belong to a table to the program.
    pub(super) fn objects(&mut self) -> Outcome {
        let document = self.document;
        let counter_type =
            self.enumeration("CounterType", &["packets", "bytes", "packets_and_bytes"]);
        let meter_type = self.enumeration("MeterType", &["packets", "bytes"]);
        for counter in &document.counter_arrays {
            self.part = format!("counter `{}`", counter.name);
            let kind = argument("type", counter_type, Value::Enum(2));
            let (extern_type, arguments) = if counter.is_direct {
                (ExternType::V1DirectCounter, vec![kind])
            } else {
                (ExternType::V1Counter, vec![self.size(counter.size), kind])
            };
            let id = self.object(
                &counter.name,
                extern_type,
                Vec::new(),
                arguments,
                counter.source_info.as_ref(),
            );
            if let (true, Some(table)) = (counter.is_direct, &counter.binding) {
                self.direct_counters.entry(table.clone()).or_default().push(id);
            }
        }
        for meter in &document.meter_arrays {
            self.part = format!("meter `{}`", meter.name);
            let member = match meter.kind.as_str() {
                "packets" => 0,
                "bytes" => 1,
                other => {
                    return self.fail(format!(
                        "it counts `{other}`, which is neither `packets` nor `bytes`"
                    ));
                }
            };
            let kind = argument("type", meter_type, Value::Enum(member));
            let (extern_type, arguments) = if meter.is_direct {
                (ExternType::V1DirectMeter, vec![kind])
            } else {
                (ExternType::V1Meter, vec![self.size(meter.size), kind])
            };
            let id = self.object(
                &meter.name,
                extern_type,
                Vec::new(),
                arguments,
                meter.source_info.as_ref(),
            );
            if let (true, Some(table)) = (meter.is_direct, &meter.binding) {
                let result = meter.result_target.clone();
                self.direct_meters.insert(table.clone(), DirectMeter { meter: id, result });
            }
        }
        for register in &document.register_arrays {
            self.part = format!("register `{}`", register.name);
            if register.bitwidth == 0 || register.bitwidth > 1 << 16 {
                return self.fail("its width is not supported");
            }
            let element = self.bit_type(register.bitwidth);
            let size = self.size(register.size);
            self.object(
                &register.name,
                ExternType::V1Register,
                vec![element],
                vec![size],
                register.source_info.as_ref(),
            );
        }
        for set in &document.parse_vsets {
            let type_id = self.bit_type(set.compressed_bitwidth);
            let id = ir::ValueSetId(self.program.value_sets.len() as u32);
            self.program.value_sets.push(ir::ValueSet {
                name: set.name.clone(),
                type_id,
                user_type: None,
                match_kinds: vec![ir::MatchKind::Exact],
                size: set.max_size.unwrap_or(1024),
                annotations: Vec::new(),
                location: None,
            });
            self.value_sets.insert(set.name.clone(), id);
        }
        Ok(())
    }

    /// Adds the action profiles and action selectors of both pipelines to the program.
    pub(super) fn profiles(&mut self) -> Outcome {
        let document = self.document;
        for profile in document.pipelines.iter().flat_map(|pipeline| &pipeline.action_profiles) {
            self.part = format!("action profile `{}`", profile.name);
            let size = self.size(profile.max_size);
            let (extern_type, arguments) = match &profile.selector {
                None => (ExternType::V1ActionProfile, vec![size]),
                Some(selector) => {
                    let algorithm = self.hash_algorithm(&selector.algo)?;
                    let algorithm = argument("algorithm", self.hash_algorithm, algorithm);
                    let width = self.bit_type(32);
                    let output =
                        argument("outputWidth", width, Value::Bits(Bits::unsigned(32, 32)));
                    (ExternType::V1ActionSelector, vec![algorithm, size, output])
                }
            };
            let id = self.object(
                &profile.name,
                extern_type,
                Vec::new(),
                arguments,
                profile.source_info.as_ref(),
            );
            self.profiles.insert(profile.name.clone(), id);
        }
        Ok(())
    }

    /// Returns the JSON expressions that the selector of the action profile `profile` hashes, or an
    /// empty list if it has no selector.
    pub(super) fn selector_input(&self, profile: &str) -> Vec<Json> {
        self.document
            .pipelines
            .iter()
            .flat_map(|pipeline| &pipeline.action_profiles)
            .find(|known| known.name == profile)
            .and_then(|known| known.selector.as_ref())
            .map(|selector| selector.input.clone())
            .unwrap_or_default()
    }

    /// Returns the member of v1model's `HashAlgorithm` with the given name.
    pub(super) fn hash_algorithm(&self, name: &str) -> Outcome<Value> {
        match HASH_ALGORITHMS.iter().position(|known| *known == name) {
            Some(position) => Ok(Value::Enum(position as u32)),
            None => self.fail(format!("the hash algorithm `{name}` is not known")),
        }
    }

    fn enumeration(&mut self, name: &str, members: &[&str]) -> TypeId {
        let id = ir::EnumId(self.program.types.enums.len() as u32);
        self.program.types.enums.push(ir::EnumType {
            name: name.to_owned(),
            members: members.iter().map(|member| (*member).to_owned()).collect(),
            annotations: Vec::new(),
        });
        self.program.types.intern(Type::Enum(id))
    }

    fn size(&mut self, size: Option<u64>) -> ConstructorArgument {
        let width = self.bit_type(32);
        argument("size", width, Value::Bits(Bits::unsigned(32, size.unwrap_or(1024).into())))
    }

    fn object(
        &mut self,
        name: &str,
        extern_type: ExternType,
        type_arguments: Vec<TypeId>,
        arguments: Vec<ConstructorArgument>,
        source: Option<&SourceInfo>,
    ) -> ExternId {
        let id = ExternId(self.program.externs.len() as u32);
        let location = self.location(source);
        let type_argument_user_types = vec![None; type_arguments.len()];
        self.program.externs.push(ExternInstance {
            name: name.to_owned(),
            extern_type,
            type_arguments,
            type_argument_user_types,
            arguments,
            table: None,
            location,
            annotations: Vec::new(),
        });
        self.externs.insert(name.to_owned(), id);
        id
    }
}

fn argument(name: &str, type_id: TypeId, value: Value) -> ConstructorArgument {
    ConstructorArgument { name: name.to_owned(), type_id, value }
}
