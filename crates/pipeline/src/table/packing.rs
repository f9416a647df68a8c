//! How the entries of an exact table are packed: keys into one number, parameters into a few words.
//!
//! Machine code and the store of entries that it shares with the interpreter ([`super::native`]) read the same layout.

use super::{ActionCall, FieldMatch};
use crate::layout::Layout;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ActionId, KeySet, MatchKind};

/// Most bits of a packed key.
const MAXIMUM_KEY: u32 = 128;
/// Most bytes of packed parameters.
const MAXIMUM_PARAMETERS: u32 = 32;
/// Most actions: each has a bit in a word.
const MAXIMUM_ACTIONS: usize = 63;

/// See the module.
#[derive(Debug)]
pub(crate) struct EntryLayout {
    /// Widths of the keys; the first is the highest of the packed number.
    keys: Vec<u32>,
    pub(crate) key_bits: u32,
    pub(crate) parameter_bytes: u32,
    /// By position in the table's actions.
    pub(crate) actions: Vec<ActionLayout>,
}

/// An action's parameters in an entry.
#[derive(Debug)]
pub(crate) struct ActionLayout {
    action: ActionId,
    pub(crate) parameters: Vec<Packed>,
    /// Whether it writes its entry.
    pub(crate) writes: bool,
}

/// A number of so many bytes (a power of two), in the machine's order, at a multiple of its size.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    like: Value,
}

impl EntryLayout {
    /// The layout of a table's entries, or why there is none.
    pub(crate) fn new(layout: &Layout, table: &ir::Table) -> Result<Self, &'static str> {
        if table.implementation.is_some() {
            return Err("entries refer to members or groups");
        }
        if !table.direct_externs.is_empty() {
            return Err("entries have counters or meters");
        }
        if table.idle_timeout.is_some() {
            return Err("entries time out");
        }
        if table.keys.is_empty() {
            return Err("there is no key");
        }
        if table.keys.iter().any(|key| key.match_kind != MatchKind::Exact) {
            return Err("a key is not exact");
        }
        let left_out = |set: &KeySet<ir::Value>| !matches!(set, KeySet::Exact(_));
        let keys_of = |entry: &ir::Entry| entry.key_sets.len();
        let fits = |entry: &ir::Entry| keys_of(entry) == table.keys.len();
        if table.entries.iter().any(|entry| !fits(entry) || entry.key_sets.iter().any(left_out)) {
            return Err("an entry of the program leaves a key out");
        }
        let width = |key: &ir::Key| {
            let pattern = layout.initial(key.expression.type_id)?.to_pattern()?;
            Some(pattern.width())
        };
        let keys = table.keys.iter().map(width).collect::<Option<Vec<u32>>>();
        let keys = keys.ok_or("a key is no number")?;
        let key_bits = keys.iter().fold(0_u32, |sum, width| sum.saturating_add(*width));
        if key_bits > MAXIMUM_KEY {
            return Err("the key has more than 128 bits");
        }
        if table.actions.len() > MAXIMUM_ACTIONS {
            return Err("there are more than 63 actions");
        }
        let mut parameter_bytes = 1;
        let mut actions = Vec::with_capacity(table.actions.len());
        for reference in &table.actions {
            let (action, end) = ActionLayout::new(layout, reference.action)?;
            parameter_bytes = parameter_bytes.max(end);
            actions.push(action);
        }
        if parameter_bytes > MAXIMUM_PARAMETERS {
            return Err("an action has more than 32 bytes of data");
        }
        Ok(Self { keys, key_bits, parameter_bytes, actions })
    }

    /// A bit for each action that writes its entry.
    pub(crate) fn writing(&self) -> u64 {
        let bits = self.actions.iter().enumerate();
        bits.map(|(position, action)| u64::from(action.writes) << position).sum()
    }

    /// How code looks into the buckets of the table.
    pub(crate) fn probe(&self) -> Option<tables::Probe> {
        let actions = u16::try_from(self.actions.len()).ok()?;
        tables::Probe::of(self.key_bits, self.parameter_bytes as usize, actions)
    }

    /// Widths of the keys and how far each lies above the lowest bit.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut above = self.key_bits;
        self.keys.iter().map(move |width| {
            above -= width;
            (*width, above)
        })
    }

    /// The key of an entry.
    pub(crate) fn pack_key(&self, matches: &[FieldMatch]) -> Option<u128> {
        let mut packed = 0;
        for ((_, above), found) in self.keys().zip(matches) {
            let FieldMatch::Exact(value) = found else { return None };
            packed |= value.to_u128()?.checked_shl(above)?;
        }
        (matches.len() == self.keys.len()).then_some(packed)
    }

    /// Position and packed parameters of an action.
    pub(crate) fn pack(&self, call: &ActionCall) -> Option<(u16, [u8; 32])> {
        let position = self.actions.iter().position(|known| known.action == call.action)?;
        let action = self.actions.get(position)?;
        let mut bytes = [0; 32];
        for (packed, argument) in action.parameters.iter().zip(&call.arguments) {
            packed.write(&mut bytes, argument)?;
        }
        Some((u16::try_from(position).ok()?, bytes))
    }

    /// The action that was packed.
    pub(crate) fn unpack(&self, position: u16, bytes: &[u8]) -> Option<ActionCall> {
        let action = self.actions.get(usize::from(position))?;
        let arguments = action.parameters.iter().map(|packed| packed.read(bytes));
        Some(ActionCall { action: action.action, arguments: arguments.collect::<Option<_>>()? })
    }

    /// Replaces some parameters of the action at a position.
    pub(crate) fn write(&self, position: u16, bytes: &mut [u8], values: &[(usize, Value)]) {
        let Some(action) = self.actions.get(usize::from(position)) else { return };
        for (number, value) in values {
            if let Some(packed) = action.parameters.get(*number) {
                packed.write(bytes, value);
            }
        }
    }

    pub(crate) fn position(&self, action: ActionId) -> Option<u16> {
        let position = self.actions.iter().position(|known| known.action == action)?;
        u16::try_from(position).ok()
    }
}

impl ActionLayout {
    /// With the bytes that its parameters take.
    fn new(layout: &Layout, id: ActionId) -> Result<(Self, u32), &'static str> {
        let action = layout.program.actions.get(id.index()).ok_or("an action is not there")?;
        let mut end = 0_u32;
        let mut parameters = Vec::new();
        let mut writes = false;
        for parameter in action.control_plane_parameters() {
            let like = layout.initial(parameter.type_id);
            let pattern = like.and_then(Value::to_pattern);
            let (Some(like), Some(pattern)) = (like, pattern) else {
                return Err("action data is no number");
            };
            if !(1..=64).contains(&pattern.width()) {
                return Err("action data has more than 64 bits");
            }
            let bytes = pattern.width().div_ceil(8).next_power_of_two();
            let offset = end.next_multiple_of(bytes);
            end = offset + bytes;
            parameters.push(Packed { offset, bytes, like: like.clone() });
            writes |= parameter.reference;
        }
        Ok((Self { action: id, parameters, writes }, end))
    }
}

impl Packed {
    fn write(&self, bytes: &mut [u8], value: &Value) -> Option<()> {
        let number = value.to_pattern()?.low_u64().to_le_bytes();
        let (start, length) = (self.offset as usize, self.bytes as usize);
        let place = bytes.get_mut(start..start + length)?;
        place.iter_mut().zip(number).for_each(|(to, from)| *to = from);
        Some(())
    }

    fn read(&self, bytes: &[u8]) -> Option<Value> {
        let (start, length) = (self.offset as usize, self.bytes as usize);
        let mut number = [0; 8];
        let place = bytes.get(start..start + length)?;
        number.iter_mut().zip(place).for_each(|(to, from)| *to = *from);
        let number = u128::from(u64::from_le_bytes(number));
        Some(Value::from_pattern(&self.like, &Bits::unsigned(64, number)))
    }
}
