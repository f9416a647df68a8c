//! Entries that are made from the P4Info of a switch: valid, and different from each other.

mod constrained;

use std::collections::HashSet;

use constraints::Match;
use entities::schema::{Action, ActionScope, MatchField, MatchKind, Table};
use entities::value::ValueType;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{self, entity::Entity as Kind, field_match::FieldMatchType};
use prost::Message as _;

use self::constrained::Pattern;
use crate::key_kind::KeyKind;
use crate::window::Operation;

/// The number by which an [`EntryMaker`] or a `FlowMaker` identifies an entry: an equal number
/// makes an equal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryNumber(pub u64);

/// The choice between two sets of parameters for an entry's action. The match and the priority do
/// not depend on it, so the entry of an [`EntryNumber`] has the same key in both variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The parameters with which entries are inserted.
    First,
    /// The parameters to which entries are modified.
    Second,
}

/// The reason why no entries can be made for a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakerError {
    /// The program has no table of this name.
    #[error("the switch has no table `{name}`; it has {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names of all tables of the program, separated by commas.
        known: String,
    },
    /// Entries of the table cannot be written, or cannot be made from P4Info alone.
    #[error("no entries can be made for table `{name}`: {why}")]
    Unsuitable {
        /// The name of the table.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// No table of the program is suitable.
    #[error("no entries can be made for any table of the switch: {0}")]
    NoTable(String),
}

/// A maker of entries of one table. A number always stands for the same entry.
///
/// If the table has a constraint, the keys that it leaves free are made like this, the others are
/// the same in all entries, and [`Self::absent`] leaves out the numbers whose entries would break
/// it.
///
/// Keys are scattered over the values of the widest fields. Longest-prefix matches have the whole
/// field as prefix, ternary matches a full mask, and ranges a single value, so an entry matches
/// exactly one key.
#[derive(Clone, Debug)]
pub struct EntryMaker {
    table: Table,
    action: Action,
    /// The parts of entries that the constraints on the table and its action fix.
    pattern: Pattern,
}

impl EntryMaker {
    /// Creates a maker for the table with this name or alias, or for the largest suitable table if
    /// there is no name.
    ///
    /// # Errors
    /// Returns an error if no entries can be made for the table.
    pub fn new(schema: &Schema, name: Option<&str>) -> Result<Self, MakerError> {
        let Some(name) = name else {
            return Self::largest(schema, |_| true).ok_or_else(|| {
                let why = schema.tables().iter().filter_map(|table| {
                    Self::of(schema, table).err().map(|why| unsuitable(table, why))
                });
                MakerError::NoTable(joined(why.map(|one| one.to_string())))
            });
        };
        let table = schema.tables().by_name(name).ok_or_else(|| MakerError::Unknown {
            name: name.to_owned(),
            known: joined(schema.tables().iter().map(|table| table.name.clone())),
        })?;
        Self::of(schema, table).map_err(|why| unsuitable(table, why))
    }

    /// Creates a maker for the largest suitable table with a key of each kind, in the order of the
    /// kinds. A kind without a suitable table is left out.
    #[must_use]
    pub fn of_each_kind(schema: &Schema) -> Vec<Self> {
        let largest =
            |kind| Self::largest(schema, |table| KeyKind::of(&table.match_fields) == Some(kind));
        KeyKind::ALL.into_iter().filter_map(largest).collect()
    }

    /// Creates a maker for the largest suitable table among those that `is_wanted` accepts. A table
    /// without a declared size counts as the largest.
    fn largest(schema: &Schema, is_wanted: impl Fn(&Table) -> bool) -> Option<Self> {
        let wanted = schema.tables().iter().filter(|table| is_wanted(table));
        let suitable = wanted.filter_map(|table| Self::of(schema, table).ok());
        suitable.max_by_key(|made| {
            (made.table.size.unwrap_or(u64::MAX), std::cmp::Reverse(made.table.id))
        })
    }

    /// Creates a maker of entries of a table. The error is the reason why no entries can be made.
    fn of(schema: &Schema, table: &Table) -> Result<Self, &'static str> {
        let action = usable_action(schema, table)?;
        let pattern = Pattern::new(schema.restrictions(), table, action)?;
        Ok(Self { table: table.clone(), action: action.clone(), pattern })
    }

    /// Returns the kind of the table's key.
    #[must_use]
    pub fn kind(&self) -> Option<KeyKind> {
        KeyKind::of(&self.table.match_fields)
    }

    /// Returns the table whose entries are made.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the action that all made entries have.
    #[must_use]
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Returns the number of different entries that can be made.
    #[must_use]
    pub fn different(&self) -> u64 {
        let free = self.pattern.free().iter().map(|at| bits(&self.table.match_fields[*at]));
        let all: u32 = free.fold(0, u32::saturating_add);
        1_u64.checked_shl(all).unwrap_or(u64::MAX)
    }

    /// Makes an entry. Numbers below [`Self::different`] make entries with different keys.
    #[must_use]
    pub fn entry(&self, number: EntryNumber, variant: Variant) -> v1::TableEntry {
        let matches = self.matches(number);
        let fields = self.table.match_fields.iter().zip(&matches);
        let arguments = self.pattern.arguments(variant);
        let parameters = self.action.params.iter().zip(arguments).map(|(parameter, value)| {
            v1::action::Param { param_id: parameter.id.into(), value: value.clone().into() }
        });
        let action = v1::Action { action_id: self.action.id.into(), params: parameters.collect() };
        v1::TableEntry {
            table_id: self.table.id.into(),
            r#match: fields.filter_map(|(field, of)| message(field, of)).collect(),
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
            priority: self.pattern.priority(),
            ..Default::default()
        }
    }

    /// Returns the matches of an entry, one for each key field.
    fn matches(&self, number: EntryNumber) -> Vec<Match<'static>> {
        self.pattern.matches(&self.table, number)
    }

    /// Makes the update that inserts, modifies or deletes an entry.
    #[must_use]
    pub fn update(&self, number: EntryNumber, operation: Operation) -> v1::Update {
        let variant = match operation {
            Operation::Insert => Variant::First,
            Operation::Modify => Variant::Second,
            Operation::Delete => Variant::First,
        };
        let mut entry = self.entry(number, variant);
        if operation == Operation::Delete {
            // Only the key selects the entry (P4Runtime 1.5, section 9.1).
            entry.action = None;
        }
        v1::Update {
            r#type: match operation {
                Operation::Insert => v1::update::Type::Insert,
                Operation::Modify => v1::update::Type::Modify,
                Operation::Delete => v1::update::Type::Delete,
            } as i32,
            entity: Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) }),
        }
    }

    /// Returns the numbers of the first `count` entries whose keys are not among `present`, the
    /// keys of entries that the switch has.
    #[must_use]
    pub fn absent(&self, count: u64, present: &[Vec<u8>]) -> Vec<EntryNumber> {
        let taken: HashSet<&[u8]> = present.iter().map(Vec::as_slice).collect();
        let numbers = (0..self.different()).take(constrained::SCANNED).map(EntryNumber);
        let numbers = numbers.filter(|number| self.pattern.allows(&self.matches(*number)));
        let is_absent = |number: &EntryNumber| {
            taken.is_empty()
                || !taken.contains(key(&self.entry(*number, Variant::First)).as_slice())
        };
        numbers.filter(is_absent).take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
    }
}

/// Returns the action for the entries that are made of a table: the one with the most parameters
/// among those that its entries may have. A modification changes all parameters. The error is the
/// reason why no entries can be made.
fn usable_action<'s>(schema: &'s Schema, table: &Table) -> Result<&'s Action, &'static str> {
    if table.is_const {
        return Err("its entries are constant");
    }
    if table.implementation.is_some() {
        return Err("its actions are in an action profile");
    }
    if table.match_fields.is_empty() {
        return Err("it has no key");
    }
    if table.match_fields.iter().any(|field| matches!(field.kind, MatchKind::Other(_))) {
        return Err("it has a match kind of another architecture");
    }
    let usable = |scope| matches!(scope, ActionScope::TableAndDefault | ActionScope::TableOnly);
    let actions = table.actions.iter().filter(|action| usable(action.scope));
    let actions = actions.filter_map(|action| schema.actions().get(action.id));
    actions
        .max_by_key(|action| (action.params.len(), std::cmp::Reverse(action.id)))
        .ok_or("it has no action for entries")
}

fn unsuitable(table: &Table, why: &'static str) -> MakerError {
    MakerError::Unsuitable { name: table.name.clone(), why }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the number of bits of a key field in which entries differ. Texts differ in 64.
fn bits(field: &MatchField) -> u32 {
    field.value.bits().unwrap_or(u64::BITS)
}

/// Permutes the numbers of `bits` bits, so that the results for successive numbers are far apart,
/// as the keys of a real table are. Higher bits of `number` are ignored.
pub(crate) fn scattered(number: u64, bits: u32) -> u64 {
    // Multiplication with an odd number is a bijection modulo a power of two. This one is 2^64
    // divided by the golden ratio (D. Knuth, The Art of Computer Programming, volume 3, 6.4).
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    number.wrapping_mul(ODD) & mask
}

/// Returns the match of a key field with the value that a number stands for, and no other value.
fn match_of(field: &MatchField, number: u64) -> Match<'static> {
    let own = || value(field.value, number).into();
    match field.kind {
        MatchKind::Exact | MatchKind::Optional | MatchKind::Other(_) => Match::Exact(own()),
        MatchKind::Lpm => Match::Lpm { value: own(), prefix_length: bits(field) },
        MatchKind::Ternary => Match::Ternary { value: own(), mask: all_ones(bits(field)).into() },
        MatchKind::Range => Match::Range { low: own(), high: own() },
    }
}

/// Returns the message of a match. A field that is left out has none.
fn message(field: &MatchField, of: &Match<'_>) -> Option<v1::FieldMatch> {
    use v1::field_match::{Exact, Lpm, Optional, Range, Ternary};

    let bytes = |value: &[u8]| value.to_vec().into();
    let kind = match of {
        Match::Any => return None,
        Match::Exact(value) if field.kind == MatchKind::Optional => {
            FieldMatchType::Optional(Optional { value: bytes(value) })
        }
        Match::Exact(value) => FieldMatchType::Exact(Exact { value: bytes(value) }),
        Match::Ternary { value, mask } => {
            FieldMatchType::Ternary(Ternary { value: bytes(value), mask: bytes(mask) })
        }
        Match::Lpm { value, prefix_length } => {
            let prefix_len = i32::try_from(*prefix_length).unwrap_or(i32::MAX);
            FieldMatchType::Lpm(Lpm { value: bytes(value), prefix_len })
        }
        Match::Range { low, high } => {
            FieldMatchType::Range(Range { low: bytes(low), high: bytes(high) })
        }
    };
    Some(v1::FieldMatch { field_id: field.id.into(), field_match_type: Some(kind) })
}

/// Returns the value of a type that a number stands for, as P4Runtime encodes it (P4Runtime 1.5,
/// section 8.3). A numeric type gets the shortest big-endian string of the low bits that fit. A
/// text gets "planimeter-" and the number.
fn value(of: ValueType, number: u64) -> Vec<u8> {
    let Some(bits) = of.bits() else { return format!("planimeter-{number}").into_bytes() };
    let mask = u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)).unwrap_or(0);
    entities::value::encode((number & mask).into()).to_vec()
}

/// Returns the number of `bits` ones as P4Runtime encodes it.
fn all_ones(bits: u32) -> Vec<u8> {
    let bytes = bits.div_ceil(8) as usize;
    let mut ones = vec![0xff; bytes];
    if let (Some(first), odd @ 1..) = (ones.first_mut(), bits % 8) {
        *first = 0xff >> (8 - odd);
    }
    ones
}

/// Returns the key of an entry as bytes, which are equal for equal keys: its priority and its
/// matches, in the order of the fields' identifiers.
pub(crate) fn key(entry: &v1::TableEntry) -> Vec<u8> {
    let mut matches = entry.r#match.clone();
    matches.sort_by_key(|field| field.field_id);
    let key = v1::TableEntry { r#match: matches, priority: entry.priority, ..Default::default() };
    key.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(table: &str) -> EntryMaker {
        let p4info = include_str!("../tests/kinds.p4");
        let schema = crate::testing::schema(p4info);
        EntryMaker::new(&schema, Some(table)).expect("it is suitable")
    }

    #[test]
    fn entries_of_a_narrow_table_are_all_different() {
        let maker = maker("narrow");
        assert_eq!(maker.different(), 1 << 12);
        let keys: HashSet<Vec<u8>> = (0..1 << 12)
            .map(|number| key(&maker.entry(EntryNumber(number), Variant::First)))
            .collect();
        assert_eq!(keys.len(), 1 << 12);
    }

    #[test]
    fn both_variants_of_an_entry_have_one_key_and_different_parameters() {
        let maker = maker("kinds");
        let [first, second] =
            [Variant::First, Variant::Second].map(|variant| maker.entry(EntryNumber(77), variant));
        assert_eq!(key(&first), key(&second));
        assert_ne!(first.action, second.action);
    }

    #[test]
    fn keys_that_the_switch_has_are_left_out() {
        let maker = maker("narrow");
        let present: Vec<Vec<u8>> = (0..4000)
            .map(|number| key(&maker.entry(EntryNumber(number), Variant::Second)))
            .collect();
        let absent = maker.absent(1000, &present);
        assert_eq!(absent.len(), 96);
        assert_eq!(absent.first(), Some(&EntryNumber(4000)));
    }

    #[test]
    fn the_largest_suitable_table_is_chosen_and_others_say_why_they_are_not() {
        let schema = crate::testing::schema(include_str!("../tests/kinds.p4"));
        let chosen = EntryMaker::new(&schema, None).expect("one is suitable");
        assert_eq!(chosen.table().alias, "kinds");
        let unknown = EntryMaker::new(&schema, Some("other")).expect_err("there is none");
        assert!(unknown.to_string().contains("has no table `other`"), "{unknown}");
        assert!(unknown.to_string().contains("I.kinds"), "{unknown}");
        let constant = EntryMaker::new(&schema, Some("fixed")).expect_err("it is constant");
        assert!(constant.to_string().contains("its entries are constant"), "{constant}");
    }

    /// A key that is narrow and constrained is fixed, so that entries differ in a wide one.
    #[test]
    fn entries_differ_in_a_wide_key_that_needs_a_narrow_one() {
        let constraint = "@entry_restriction(\"h.ethernet.src::mask != 0 -> m.class == 1; \
                          h.ethernet.dst::prefix_length == 0; h.ethernet.type == 7; m.vrf == 1\")";
        let text = include_str!("../tests/kinds.p4")
            .replace("table kinds", &format!("{constraint} table kinds"));
        let maker = EntryMaker::new(&crate::testing::schema(&text), Some("kinds"));
        let maker = maker.expect("it is suitable");
        let numbers = maker.absent(5000, &[]);
        let keys: HashSet<Vec<u8>> =
            numbers.iter().map(|number| key(&maker.entry(*number, Variant::First))).collect();
        assert_eq!(keys.len(), 5000);
    }

    /// The switch that made the constraint accepts every entry that the maker numbers, and the
    /// entries differ.
    #[test]
    fn entries_of_a_constrained_table_satisfy_the_constraint() {
        let constrained = |of_table: &str, of_action: &str| {
            let text = include_str!("../tests/kinds.p4");
            let text = text.replace("action forward", &format!("{of_action} action forward"));
            text.replace("table kinds", &format!("{of_table} table kinds"))
        };
        let constraint = "@entry_restriction(\"m.vrf != 0 && m.vrf <= 3; \
             h.ethernet.src::mask != 0 -> h.ethernet.type == 0x800; \
             h.ethernet.dst::prefix_length <= 40; ::priority > 1000; \
             m.class::value != 5\")";
        let text = constrained(
            constraint,
            "@action_restriction(\"port == 1 || port > 100 && port != 256\")",
        );
        let schema = crate::testing::schema(&text);
        let maker = EntryMaker::new(&schema, Some("kinds")).expect("it is suitable");
        let numbers = maker.absent(2000, &[]);
        assert_eq!(numbers.len(), 2000);
        let mut switch = p4runtime::store::Store::new(std::sync::Arc::clone(&schema));
        for operation in [Operation::Insert, Operation::Modify, Operation::Delete] {
            for number in &numbers {
                let update = maker.update(*number, operation);
                let written = switch.write(&update, p4runtime::store::Nanos(0));
                assert_eq!(written, Ok(()), "{operation:?} {update:?}");
            }
        }
        let [first, second] =
            [Variant::First, Variant::Second].map(|variant| maker.entry(numbers[0], variant));
        assert_ne!(first.action, second.action);

        // Without the maker's care, the switch would refuse.
        let plain = crate::testing::schema(include_str!("../tests/kinds.p4"));
        let plain = EntryMaker::new(&plain, Some("kinds")).expect("it is suitable");
        let refused = switch
            .write(&plain.update(EntryNumber(1), Operation::Insert), p4runtime::store::Nanos(0));
        assert!(refused.is_err());
        let impossible = crate::testing::schema(&constrained("@entry_restriction(\"false\")", ""));
        let error = EntryMaker::new(&impossible, Some("kinds")).expect_err("no entry satisfies it");
        assert!(error.to_string().contains("no entry that satisfies"), "{error}");
    }

    #[test]
    fn a_table_of_each_kind_is_the_largest_one_whose_key_has_this_kind() {
        let schema = crate::testing::schema(include_str!("../tests/kinds.p4"));
        let makers = EntryMaker::of_each_kind(&schema);
        let found: Vec<_> =
            makers.iter().map(|one| (one.kind(), one.table().alias.as_str())).collect();
        let expected = [
            (Some(KeyKind::Exact), "narrow"),
            (Some(KeyKind::Lpm), "prefixes"),
            (Some(KeyKind::Ternary), "masks"),
            (Some(KeyKind::Range), "kinds"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn masks_have_no_bit_beyond_the_field() {
        assert_eq!(all_ones(8), [0xff]);
        assert_eq!(all_ones(9), [0x01, 0xff]);
        assert_eq!(all_ones(48), [0xff; 6]);
    }
}
