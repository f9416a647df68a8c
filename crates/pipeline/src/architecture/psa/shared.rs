//! User-defined metadata with the behaviour of psa_switch.
//!
//! p4c maps the fields of all parameters of one struct type to the same fields of BMv2's header
//! vector (`backends/bmv2/psa_switch/psaSwitch.cpp`, `InspectPsaProgram`). psa_switch passes the
//! vector along with a packet to egress and clears it for clones, resubmission and recirculation
//! (`targets/psa_switch/psa_switch.cpp`). The values that reach the next block therefore depend on
//! the types of parameters, not on their names: metadata of a clone are zero, and metadata of
//! egress are those that ingress left in the same type.

use crate::architecture::engine::{Engine, PARAMETERS};
use crate::error::RunError;
use ir::TypeId;
use std::collections::BTreeMap;

/// The values of a packet's user-defined metadata, one for each type. A type that is missing here
/// has its initial value.
#[derive(Clone, Debug)]
pub(super) struct Shared<V>(BTreeMap<TypeId, V>);

impl<V> Default for Shared<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V> Shared<V> {
    /// Converts the values with `convert`, for example to the form of another engine.
    pub(super) fn map<W>(
        self,
        convert: &mut impl FnMut(V) -> Result<W, RunError>,
    ) -> Result<Shared<W>, RunError> {
        let values = self.0.into_iter().map(|(type_id, value)| Ok((type_id, convert(value)?)));
        Ok(Shared(values.collect::<Result<_, RunError>>()?))
    }

    /// Sets the arguments of a block at `positions`. Each receives the packet's value of its type,
    /// if there is one, with all headers invalid. p4c resets the headers of `out` parameters, which
    /// include those of the ingress deparser (`frontends/p4/resetHeaders.cpp`), and egress starts
    /// with invalid headers.
    pub(super) fn fill<'p>(
        &self,
        engine: &mut impl Engine<'p, Value = V>,
        arguments: &mut [V],
        types: &[TypeId],
        positions: &[usize],
    ) -> Result<(), RunError> {
        for position in positions {
            let type_id = types.get(*position).ok_or(PARAMETERS)?;
            if let Some(value) = self.0.get(type_id) {
                let argument = arguments.get_mut(*position).ok_or(PARAMETERS)?;
                *argument = engine.copy(value);
                engine.invalidate(*type_id, argument);
            }
        }
        Ok(())
    }

    /// Stores the changes that a block has made to its arguments at `positions` in the packet's
    /// values. If two arguments of one type changed the same field, the later argument wins.
    pub(super) fn take<'p>(
        &mut self,
        engine: &mut impl Engine<'p, Value = V>,
        arguments: &[V],
        types: &[TypeId],
        positions: &[usize],
    ) -> Result<(), RunError> {
        let before = self.copy(engine);
        for position in positions {
            let type_id = *types.get(*position).ok_or(PARAMETERS)?;
            let after = arguments.get(*position).ok_or(PARAMETERS)?;
            let initial = engine.initial(type_id)?;
            let before = before.0.get(&type_id).unwrap_or(&initial);
            let shared = self.0.entry(type_id).or_insert_with(|| engine.copy(&initial));
            engine.take_changes(type_id, (before, after), shared);
        }
        Ok(())
    }

    /// Returns the packet's values for egress, which are those after ingress with all headers
    /// invalid (`PHV::reset`).
    pub(super) fn without_headers<'p>(mut self, engine: &mut impl Engine<'p, Value = V>) -> Self {
        self.0.iter_mut().for_each(|(type_id, value)| engine.invalidate(*type_id, value));
        self
    }

    /// Returns a copy of the packet's values.
    pub(super) fn copy<'p>(&self, engine: &impl Engine<'p, Value = V>) -> Self {
        Self(self.0.iter().map(|(type_id, value)| (*type_id, engine.copy(value))).collect())
    }
}
