//! User-defined metadata as psa_switch keeps them.
//!
//! p4c makes the fields of all parameters of one struct type the same fields of BMv2's header vector
//! (`backends/bmv2/psa_switch/psaSwitch.cpp`, `InspectPsaProgram`), and psa_switch lets the vector go along with a
//! packet to egress and clears it for clones, resubmission and recirculation
//! (`targets/psa_switch/psa_switch.cpp`). So what reaches the next block depends on types, not on the names of
//! parameters: metadata of a clone are zero, and those of egress are what ingress left in the same type.

use crate::error::RunError;
use crate::machine::Machine;
use crate::value::Value;
use ir::TypeId;
use std::collections::BTreeMap;

/// One value for each type; a type that is not there is as at the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(BTreeMap<TypeId, Value>);

impl Shared {
    /// Sets the arguments at these positions to what the packet carries in their types. Headers are invalid when
    /// a block begins: p4c resets those of `out` parameters (`frontends/p4/resetHeaders.cpp`), and those of
    /// others are of egress.
    pub(super) fn fill(
        &self,
        arguments: &mut [Value],
        types: &[TypeId],
        positions: &[usize],
    ) -> Result<(), RunError> {
        for position in positions {
            let type_id = types.get(*position).ok_or(PARAMETERS)?;
            if let Some(value) = self.0.get(type_id) {
                let argument = arguments.get_mut(*position).ok_or(PARAMETERS)?;
                argument.clone_from(value);
                invalidate(argument);
            }
        }
        Ok(())
    }

    /// Takes what the block changed in the arguments at these positions; of two parameters of one
    /// type, a field that the later one changed counts.
    pub(super) fn take(
        &mut self,
        machine: &Machine<'_>,
        arguments: &[Value],
        types: &[TypeId],
        positions: &[usize],
    ) -> Result<(), RunError> {
        let before = self.clone();
        for position in positions {
            let type_id = *types.get(*position).ok_or(PARAMETERS)?;
            let after = arguments.get(*position).ok_or(PARAMETERS)?;
            let initial = machine.initial(type_id)?;
            let before = before.0.get(&type_id).unwrap_or(&initial);
            let shared = self.0.entry(type_id).or_insert_with(|| initial.clone());
            match (before, after, shared) {
                (Value::Struct(before), Value::Struct(after), Value::Struct(shared)) => {
                    for ((before, after), shared) in before.iter().zip(after).zip(shared) {
                        if before != after {
                            shared.clone_from(after);
                        }
                    }
                }
                (before, after, shared) if before != after => shared.clone_from(after),
                _ => {}
            }
        }
        Ok(())
    }

    /// As egress finds them: headers are invalid (`PHV::reset`).
    pub(super) fn without_headers(mut self) -> Self {
        self.0.values_mut().for_each(invalidate);
        self
    }
}

const PARAMETERS: RunError = RunError::Malformed("parameters of a block");

fn invalidate(value: &mut Value) {
    match value {
        Value::Struct(fields) | Value::Union(fields) => fields.iter_mut().for_each(invalidate),
        Value::Stack { elements, .. } => elements.iter_mut().for_each(invalidate),
        Value::Header { valid, .. } => *valid = false,
        _ => {}
    }
}
