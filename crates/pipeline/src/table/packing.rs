//! The packed layout of a table's entries. All keys together are one number. The parameters of the
//! action are in a few words of the entry, or, if they are larger, in other memory whose address
//! the entry holds.
//!
//! If some keys are not matched exactly, or all keys together have more than 128 bits, the best
//! entry is searched first, and the number of that entry is the key under which it is stored.
//! Machine code and the packed table that it shares with the interpreter ([`super::packed`]) use
//! the same layout.

use super::entry::{self, ActionCall, FieldMatch};
use super::shape::{Ageing, KeyShape};
use crate::layout::Layout;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ActionId, ExternId, ExternType, MatchKind, UpdateMethod};
use std::sync::Arc;
use tables::{Finder, MatchField};

/// The maximum width in bits of the packed key of an entry that is stored under its key.
const MAX_KEY: u32 = 128;
/// The width in bits of an entry's number, under which it is stored if keys are not matched
/// exactly or are too wide.
const NUMBER: u32 = 32;
/// The maximum size in bytes of the packed parameters in an entry.
const MAX_PARAMETERS: u32 = 32;
/// The maximum size in bytes of an action's packed parameters that an entry refers to by their
/// address.
const MAX_DATA: u32 = 4096;
/// The maximum width in bits of an action's parameter.
const MAX_NUMBER: u32 = 128;
/// The size of an address in bytes.
const ADDRESS: u32 = size_of::<*const u8>() as u32;
/// The maximum number of actions of a packed table. Each action has a bit in a 64-bit word.
const MAX_ACTIONS: usize = 63;

/// The layout of the packed entries of one table.
#[derive(Debug)]
pub(crate) struct EntryLayout {
    /// The width in bits of each matched key, and its position in the packed key: the number of
    /// bits to its right.
    keys: Vec<(u32, u32)>,
    /// The positions of the matched keys among all keys of the table. Keys that are only inputs of
    /// an action selector's hash are left out.
    matched: Vec<usize>,
    /// The match kind of each matched key. `None` if all keys are matched exactly and together have
    /// at most 128 bits.
    fields: Option<Vec<MatchField>>,
    /// The number of 64-bit words of a packed key that is passed in memory, the most significant
    /// word first. `None` if keys have at most 128 bits, which generated code passes as two words.
    pub(crate) words_in_memory: Option<usize>,
    /// The width in bits of the key under which an entry is stored.
    pub(crate) key_bits: u32,
    pub(crate) parameter_bytes: u32,
    /// Whether entries hold the address of their parameters, because these take too many bytes.
    pub(crate) by_address: bool,
    /// The layouts of the table's actions, in the table's order.
    pub(crate) actions: Vec<ActionLayout>,
    /// The offset, after all parameters in an entry, of the address of the entry's account (its
    /// counters, meters and timer). `None` if the entry has no counters, meters or timeout, and
    /// packets neither add entries to the table nor request changes of them.
    pub(crate) owner: Option<u32>,
    /// Whether an action changes its entry but does not write to it directly: the new values are
    /// written when the action ends.
    pub(crate) updates_out_of_place: bool,
    /// Whether the entries have direct counters.
    pub(crate) counts: bool,
    /// Whether the entries have direct meters.
    pub(crate) meters: bool,
    /// Whether entries hold the address of a [`super::Chooser`] instead of parameters. The
    /// parameters are then stored with the members from which the chooser chooses.
    pub(crate) chooses: bool,
    /// Whether the default action that the program declares does not run, so that the table has
    /// none until the control plane sets one.
    pub(crate) skips_default: bool,
    pub(crate) ageing: Ageing,
}

/// An action with its packed parameters.
#[derive(Debug)]
pub(crate) struct PackedAction {
    /// The position of the action in the table's list.
    pub(crate) position: u16,
    /// The bytes that an entry holds: the parameters of the action, or the address of `data`.
    pub(crate) bytes: [u8; 32],
    /// The parameters, if the entry holds their address. They must be kept as long as packets may
    /// read them.
    pub(crate) data: Option<Arc<[u8]>>,
}

/// The layout of an action's parameters in the entries that run it.
#[derive(Debug)]
pub(crate) struct ActionLayout {
    action: ActionId,
    /// The size of the packed parameters in bytes.
    bytes: u32,
    pub(crate) parameters: Vec<Packed>,
    /// The positions of the parameters that the action may change.
    references: Vec<usize>,
}

/// The location of a packed parameter. A parameter of at most 64 bits has `bytes` bytes, a power of
/// two; it is little-endian and aligned to its size. A wider parameter has 16 bytes; its number is
/// in network byte order in the first of them.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    like: Value,
}

impl EntryLayout {
    /// Returns the layout for the entries of a table, or the reason why they cannot be packed.
    pub(crate) fn new(layout: &Layout, table: &ir::Table) -> Result<Self, &'static str> {
        use ExternType as Of;
        let chooses = table.implementation.is_some();
        if chooses && (!table.entries.is_empty() || table.add_on_miss) {
            return Err("the program or packets add entries of a table with an action profile");
        }
        let count = |kinds: &[ExternType]| {
            let is_one = |id: &&ExternId| {
                let instance = layout.program.externs.get(id.index());
                instance.is_some_and(|one| kinds.contains(&one.extern_type))
            };
            table.direct_externs.iter().filter(is_one).count()
        };
        let counters = count(&[Of::V1DirectCounter, Of::DirectCounter]);
        let meters = count(&[Of::V1DirectMeter, Of::DirectMeter]);
        if counters + meters < table.direct_externs.len() {
            return Err("entries have something else than counters and meters");
        }
        // Machine code has one count per entry, which is added to all counters of the entry.
        if counters > 1 && count(&[Of::DirectCounter]) > 0 {
            return Err("entries have several counters that not every hit counts");
        }
        let shapes: Option<Vec<KeyShape>> =
            table.keys.iter().map(|key| KeyShape::of(layout, key)).collect();
        let shapes = shapes.ok_or("a key is not a number")?;
        let is_matched = |shape: &&KeyShape| !chooses || shape.kind != MatchKind::Selector;
        let matched: Vec<KeyShape> = shapes.iter().filter(is_matched).cloned().collect();
        if matched.is_empty() {
            return Err("there is no key");
        }
        let mut packed = Self::of_keys(&matched)?;
        let positions = shapes.iter().enumerate().filter(|(_, shape)| is_matched(shape));
        packed.matched = positions.map(|(position, _)| position).collect();
        let packs = |source: &ir::Entry| {
            let matches = entry::matches_from_program(layout, &shapes, table, source);
            matches.is_some_and(|matches| match &packed.fields {
                None => packed.pack_key(&matches).is_some(),
                Some(_) => packed.field_matches(&matches).is_some(),
            })
        };
        if !table.entries.iter().all(packs) {
            return Err(
                "an entry of the program leaves a key out, or matches it as another kind does",
            );
        }
        if table.actions.len() > MAX_ACTIONS {
            return Err("there are more than 63 actions");
        }
        let mut data = 0;
        for reference in &table.actions {
            let (action, end) = ActionLayout::new(layout, reference.action)?;
            data = data.max(end);
            packed.actions.push(action);
        }
        (packed.counts, packed.meters) = (counters > 0, meters > 0);
        packed.ageing = Ageing::of(table);
        let goes_and_comes = packed.ageing == Ageing::Delete || table.add_on_miss;
        if goes_and_comes && packed.fields.is_some() {
            return Err(
                "packets add entries or find them gone, and keys are not exact or have more than 128 bits",
            );
        }
        packed.updates_out_of_place =
            table.storage.update != UpdateMethod::Pointer && packed.writing() != 0;
        if chooses {
            if packed.writing() != 0 {
                return Err("an action that members run writes what it is given");
            }
            if data > MAX_PARAMETERS {
                return Err("an action has more than 32 bytes of data");
            }
            data = ADDRESS;
            packed.chooses = true;
            packed.skips_default = layout.dialect.is_bmv2();
        }
        let has_directs = packed.counts || packed.meters;
        let is_spoken_of =
            has_directs || packed.ageing != Ageing::None || packed.updates_out_of_place;
        let has_owner = is_spoken_of || table.add_on_miss;
        let room = if has_owner { MAX_PARAMETERS - ADDRESS } else { MAX_PARAMETERS };
        if data > room {
            if packed.writing() != 0 || table.add_on_miss {
                return Err(
                    "an action has more than 32 bytes of data, or 24 where entries have counters, meters or a timeout, \
                     and packets write or add entries",
                );
            }
            if data > MAX_DATA {
                return Err("an action has more than 4096 bytes of data");
            }
            packed.by_address = true;
            data = ADDRESS;
        }
        if has_owner {
            let owner = data.next_multiple_of(ADDRESS);
            packed.owner = Some(owner);
            data = owner + ADDRESS;
        }
        packed.parameter_bytes = data.max(1);
        Ok(packed)
    }

    /// Returns the offset and size in bytes of each packed parameter of an action.
    pub(crate) fn parameters(
        layout: &Layout,
        action: ActionId,
    ) -> Result<Vec<(u32, u32)>, &'static str> {
        let (action, end) = ActionLayout::new(layout, action)?;
        if end > MAX_PARAMETERS {
            return Err("an action has more than 32 bytes of data");
        }
        Ok(action.parameters.iter().map(|packed| (packed.offset, packed.bytes)).collect())
    }

    /// Returns the layout for the keys of a table, without actions, or the reason why they cannot
    /// be packed.
    fn of_keys(shapes: &[KeyShape]) -> Result<Self, &'static str> {
        let with = |keys, fields: Option<Vec<MatchField>>, key_bits| {
            Ok(Self {
                keys,
                matched: (0..shapes.len()).collect(),
                words_in_memory: fields.as_deref().and_then(Finder::words_in_memory),
                fields,
                key_bits,
                parameter_bytes: 1,
                by_address: false,
                actions: Vec::new(),
                owner: None,
                updates_out_of_place: false,
                counts: false,
                meters: false,
                chooses: false,
                skips_default: false,
                ageing: Ageing::None,
            })
        };
        let bits = shapes.iter().fold(0_u32, |sum, shape| sum.saturating_add(shape.width));
        if bits <= MAX_KEY && shapes.iter().all(|shape| shape.kind == MatchKind::Exact) {
            // The first key is in the highest bits of the packed number.
            let mut above = bits;
            let place = |shape: &KeyShape| {
                above -= shape.width;
                (shape.width, above)
            };
            return with(shapes.iter().map(place).collect(), None, bits);
        }
        let fields: Vec<MatchField> = shapes.iter().map(field).collect::<Result<_, _>>()?;
        let has_priorities = shapes.iter().any(KeyShape::needs_priority);
        let prefixes = shapes.iter().filter(|shape| shape.kind == MatchKind::Lpm).count();
        if prefixes > 1 && !has_priorities {
            return Err("several keys are prefixes");
        }
        let places = Finder::places(&fields).ok_or("the key has more than 1024 bits")?;
        let keys = shapes.iter().map(|shape| shape.width).zip(places).collect();
        with(keys, Some(fields), NUMBER)
    }

    /// Returns a mask with a bit for each action, by the action's position in the table's list. The
    /// bit is set if the action may change its own parameters.
    pub(crate) fn writing(&self) -> u64 {
        let bits = self.actions.iter().enumerate();
        bits.map(|(position, action)| u64::from(!action.references.is_empty()) << position).sum()
    }

    /// Returns whether no action may change more than one of its parameters.
    pub(crate) fn writes_words(&self) -> bool {
        self.actions.iter().all(|action| action.references.len() <= 1)
    }

    /// Returns how machine code searches the table's buckets itself, or `None` if it must call the
    /// table's own functions.
    pub(crate) fn probe(&self) -> Option<tables::Probe> {
        let actions = u16::try_from(self.actions.len()).ok()?;
        let bytes = self.parameter_bytes as usize;
        match self.fields {
            None => tables::Probe::of(self.key_bits, bytes, actions),
            Some(_) => tables::Probe::numbered(bytes, actions),
        }
    }

    /// Returns, for each matched key, its width in bits, and its position in the packed key: the
    /// number of bits to its right.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (u32, u32)> {
        self.keys.iter().copied()
    }

    /// Returns how each matched key is matched, or `None` if all keys are matched exactly and
    /// together have at most 128 bits. In the other case, the number of the best entry is searched
    /// before the entry is looked up.
    pub(crate) fn fields(&self) -> Option<&[MatchField]> {
        self.fields.as_deref()
    }

    /// Returns whether prefix lengths alone decide which entry wins, because entries have no
    /// priorities. Also true if all keys are matched exactly.
    pub(crate) fn has_prefix_alone(&self) -> bool {
        use tables::MatchKind::{Exact, Lpm};
        let fields = self.fields().unwrap_or_default();
        fields.iter().all(|field| matches!(field.kind, Exact | Lpm))
    }

    /// Returns the matches of an entry in the form of the crate `tables`, for a table whose entries
    /// are stored by number.
    pub(crate) fn field_matches(&self, matches: &[FieldMatch]) -> Option<Vec<tables::FieldMatch>> {
        let fields = self.fields.as_ref()?;
        let each = fields.iter().zip(&self.matched);
        each.map(|(field, position)| field_match(field, matches.get(*position)?)).collect()
    }

    /// Returns the packed key of an entry with these matches, or `None` if one of them is not
    /// exact.
    pub(crate) fn pack_key(&self, matches: &[FieldMatch]) -> Option<u128> {
        let mut packed = 0;
        for ((_, above), position) in self.keys().zip(&self.matched) {
            let FieldMatch::Exact(value) = matches.get(*position)? else { return None };
            packed |= value.to_u128()?.checked_shl(above)?;
        }
        Some(packed)
    }

    /// Packs the parameters of an action.
    pub(crate) fn pack(&self, call: &ActionCall) -> Option<PackedAction> {
        let position = self.actions.iter().position(|known| known.action == call.action)?;
        let action = self.actions.get(position)?;
        let position = u16::try_from(position).ok()?;
        let mut bytes = [0; MAX_PARAMETERS as usize];
        let write = |bytes: &mut [u8]| {
            let mut arguments = action.parameters.iter().zip(&call.arguments);
            arguments.try_for_each(|(packed, argument)| packed.write(bytes, argument))
        };
        if !self.by_address {
            write(&mut bytes)?;
            return Some(PackedAction { position, bytes, data: None });
        }
        let mut data = vec![0; action.bytes as usize];
        write(&mut data)?;
        let data: Arc<[u8]> = data.into();
        let address = data.as_ptr().expose_provenance();
        bytes.iter_mut().zip(address.to_ne_bytes()).for_each(|(to, from)| *to = from);
        Some(PackedAction { position, bytes, data: Some(data) })
    }

    /// Stores the address of an entry's account (its counters, meters and timer) in its packed
    /// parameters, if the layout has room for it. The account must not move.
    pub(super) fn set_owner(&self, bytes: &mut [u8], account: usize) {
        let place = self.owner_in(bytes.len()).and_then(|place| bytes.get_mut(place));
        if let Some(place) = place {
            place.copy_from_slice(&account.to_ne_bytes());
        }
    }

    /// Copies the address of an entry's account (its counters, meters and timer) from `before`, the
    /// packed parameters of its previous action, to `bytes`.
    pub(crate) fn keep_owner(&self, bytes: &mut [u8], before: &[u8]) {
        let place = self.owner_in(bytes.len().min(before.len()));
        if let Some(place) = place {
            bytes[place.clone()].copy_from_slice(&before[place]);
        }
    }

    /// Returns the address of the entry's account (its counters, meters and timer), which is stored
    /// in packed parameters. Returns zero if the layout has no room for it.
    pub(crate) fn owner_of(&self, bytes: &[u8]) -> u64 {
        let place = self.owner_in(bytes.len()).and_then(|place| bytes.get(place));
        place.and_then(|place| place.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }

    /// Returns the positions of the parameters that an action may change, given the action's
    /// position in the table's list.
    pub(crate) fn references(&self, position: u16) -> &[usize] {
        self.actions.get(usize::from(position)).map_or(&[], |action| &action.references)
    }

    fn owner_in(&self, length: usize) -> Option<std::ops::Range<usize>> {
        let start = self.owner? as usize;
        Some(start..start + ADDRESS as usize).filter(|place| place.end <= length)
    }

    /// Returns the action at a position of the table's list, with arguments from packed parameters.
    /// If entries hold the address of their parameters, `bytes` are the bytes at the address.
    pub(crate) fn unpack(&self, position: u16, bytes: &[u8]) -> Option<ActionCall> {
        let action = self.actions.get(usize::from(position))?;
        let arguments = action.parameters.iter().map(|packed| packed.read(bytes));
        Some(ActionCall { action: action.action, arguments: arguments.collect::<Option<_>>()? })
    }

    /// Replaces some of an action's packed parameters. `values` holds the new values, each with its
    /// position among the parameters.
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

/// Returns how a key is matched, or the reason why machine code cannot match it. Only called for a
/// table with at least one key that is not matched exactly.
fn field(shape: &KeyShape) -> Result<MatchField, &'static str> {
    let kind = match &shape.kind {
        MatchKind::Exact => tables::MatchKind::Exact,
        MatchKind::Lpm => tables::MatchKind::Lpm,
        MatchKind::Ternary => tables::MatchKind::Ternary,
        MatchKind::Range if shape.signed => return Err("a range has a sign"),
        MatchKind::Range => tables::MatchKind::Range,
        MatchKind::Optional => tables::MatchKind::Optional,
        MatchKind::Selector | MatchKind::Other(_) => return Err("a key is matched in another way"),
    };
    Ok(MatchField { bits: shape.width, kind })
}

fn field_match(field: &MatchField, found: &FieldMatch) -> Option<tables::FieldMatch> {
    use tables::{FieldMatch as Of, MatchKind as Kind};
    let bytes = |value: &Bits| value.cast(field.bits, false).to_be_bytes();
    Some(match (field.kind, found) {
        (Kind::Exact | Kind::Optional, FieldMatch::Exact(value)) => Of::Exact(bytes(value)),
        (Kind::Lpm, FieldMatch::Lpm { value, prefix_length }) => {
            let mask = Bits::prefix_mask(field.bits, *prefix_length);
            Of::Lpm(bytes(&value.bit_and(&mask)), *prefix_length)
        }
        (Kind::Ternary, FieldMatch::Ternary { value, mask }) => {
            Of::Ternary(bytes(&value.bit_and(mask)), bytes(mask))
        }
        (Kind::Range, FieldMatch::Range { low, high }) if low.compare(high).is_le() => {
            Of::Range(bytes(low), bytes(high))
        }
        (Kind::Lpm | Kind::Ternary | Kind::Range | Kind::Optional, FieldMatch::Any) => Of::Any,
        _ => return None,
    })
}

impl ActionLayout {
    /// Returns the layout of an action's parameters and their total size in bytes, or the reason
    /// why they cannot be packed.
    fn new(layout: &Layout, id: ActionId) -> Result<(Self, u32), &'static str> {
        let action = layout.program.actions.get(id.index()).ok_or("an action is not there")?;
        let mut end = 0_u32;
        let mut parameters = Vec::new();
        let mut references = Vec::new();
        for (position, parameter) in action.control_plane_parameters().enumerate() {
            let like = layout.initial(parameter.type_id);
            let pattern = like.and_then(Value::to_pattern);
            let (Some(like), Some(pattern)) = (like, pattern) else {
                return Err("action data is not a number");
            };
            if !(1..=MAX_NUMBER).contains(&pattern.width()) {
                return Err("action data has more than 128 bits");
            }
            if pattern.width() > 64 && parameter.reference {
                return Err("an action writes data of more than 64 bits");
            }
            let bytes = pattern.width().div_ceil(8).next_power_of_two();
            let offset = end.next_multiple_of(bytes.min(8));
            end = offset + bytes;
            parameters.push(Packed { offset, bytes, like: like.clone() });
            references.extend(parameter.reference.then_some(position));
        }
        Ok((Self { action: id, bytes: end, parameters, references }, end))
    }
}

impl Packed {
    fn is_wide(&self) -> bool {
        self.bytes > 8
    }

    fn write(&self, bytes: &mut [u8], value: &Value) -> Option<()> {
        let (start, length) = (self.offset as usize, self.bytes as usize);
        let place = bytes.get_mut(start..start + length)?;
        let pattern = value.to_pattern()?;
        if self.is_wide() {
            let number = pattern.to_be_bytes();
            place.iter_mut().zip(number).for_each(|(to, from)| *to = from);
            return Some(());
        }
        let number = pattern.low_u64().to_le_bytes();
        place.iter_mut().zip(number).for_each(|(to, from)| *to = from);
        Some(())
    }

    fn read(&self, bytes: &[u8]) -> Option<Value> {
        let (start, length) = (self.offset as usize, self.bytes as usize);
        let mut number = [0; 8];
        let place = bytes.get(start..start + length)?;
        if self.is_wide() {
            let width = self.like.to_pattern()?.width();
            let bits = Bits::from_be_bytes(width, false, place.get(..width.div_ceil(8) as usize)?);
            return Some(Value::from_pattern(&self.like, &bits));
        }
        number.iter_mut().zip(place).for_each(|(to, from)| *to = *from);
        let number = u128::from(u64::from_le_bytes(number));
        Some(Value::from_pattern(&self.like, &Bits::unsigned(64, number)))
    }
}
