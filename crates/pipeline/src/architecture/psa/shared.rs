//! User-defined metadata as psa_switch keeps them.
//!
//! p4c makes the fields of all parameters of one struct type the same fields of BMv2's header vector
//! (`backends/bmv2/psa_switch/psaSwitch.cpp`, `InspectPsaProgram`), and psa_switch lets the vector go along with a
//! packet to egress and clears it for clones, resubmission and recirculation
//! (`targets/psa_switch/psa_switch.cpp`). So what reaches the next block depends on types, not on the names of
//! parameters: metadata of a clone are zero, and those of egress are what ingress left in the same type.

use crate::architecture::PARAMETERS;
use crate::architecture::engine::Engine;
use crate::error::RunError;
use ir::TypeId;
use std::collections::BTreeMap;

/// One value for each type; a type that is not there is as at the start.
pub(super) struct Shared<V>(BTreeMap<TypeId, V>);

impl<V> Default for Shared<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V> Shared<V> {
    /// Sets the arguments at these positions to what the packet carries in their types. Headers are invalid when
    /// a block begins: p4c resets those of `out` parameters (`frontends/p4/resetHeaders.cpp`), and those of
    /// others are of egress.
    pub(super) fn fill<'p>(
        &self,
        machine: &mut impl Engine<'p, Value = V>,
        arguments: &mut [V],
        types: &[TypeId],
        positions: &[usize],
    ) -> Result<(), RunError> {
        for position in positions {
            let type_id = types.get(*position).ok_or(PARAMETERS)?;
            if let Some(value) = self.0.get(type_id) {
                let argument = arguments.get_mut(*position).ok_or(PARAMETERS)?;
                *argument = machine.copy(value);
                machine.invalidate(*type_id, argument);
            }
        }
        Ok(())
    }

    /// Takes what the block changed in the arguments at these positions; of two parameters of one
    /// type, a field that the later one changed counts.
    pub(super) fn take<'p>(
        &mut self,
        machine: &mut impl Engine<'p, Value = V>,
        arguments: &[V],
        types: &[TypeId],
        positions: &[usize],
    ) -> Result<(), RunError> {
        let before = self.copy(machine);
        for position in positions {
            let type_id = *types.get(*position).ok_or(PARAMETERS)?;
            let after = arguments.get(*position).ok_or(PARAMETERS)?;
            let initial = machine.initial(type_id)?;
            let before = before.0.get(&type_id).unwrap_or(&initial);
            let shared = self.0.entry(type_id).or_insert_with(|| machine.copy(&initial));
            machine.take_changes(type_id, (before, after), shared);
        }
        Ok(())
    }

    /// As egress finds them: headers are invalid (`PHV::reset`).
    pub(super) fn without_headers<'p>(mut self, machine: &mut impl Engine<'p, Value = V>) -> Self {
        self.0.iter_mut().for_each(|(type_id, value)| machine.invalidate(*type_id, value));
        self
    }

    /// The same again.
    pub(super) fn copy<'p>(&self, machine: &impl Engine<'p, Value = V>) -> Self {
        Self(self.0.iter().map(|(type_id, value)| (*type_id, machine.copy(value))).collect())
    }
}
