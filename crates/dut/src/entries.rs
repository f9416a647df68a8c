//! Table entries that are generated from the P4Info of a switch. They are valid and have different
//! keys. A measurement can use entries of a user's file instead.

mod constrained;
mod own;

use std::collections::HashSet;
use std::sync::Arc;

use constraints::Match;
use entities::schema::{Action, ActionId, ActionScope, MatchField, MatchKind, Table};
use entities::value::ValueType;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{self, entity::Entity as Kind, field_match::FieldMatchType};
use prost::Message as _;

use self::constrained::Pattern;
use self::own::OwnTable;
use crate::entry_number::{EntryNumber, Variant};
use crate::key_kind::KeyKind;
use crate::window::Operation;

pub use self::own::{EntryFile, OwnEntries, OwnFile};

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
    /// No entries can be written to the table, or none can be generated from P4Info alone.
    #[error("no entries can be made for table `{name}`: {why}")]
    Unsuitable {
        /// The name of the table.
        name: String,
        /// The reason why no entries can be written or generated.
        why: &'static str,
    },
    /// No table of the program is suitable.
    #[error("no entries can be made for any table of the switch: {0}")]
    NoTable(String),
    /// The file of entries does not fit the program of the switch.
    #[error("{file}: {why}")]
    File {
        /// The name of the file.
        file: String,
        /// The reason why the file does not fit the program.
        why: String,
    },
    /// A flow in the user's file cannot be used.
    #[error("{file}, line {line}: {why}")]
    Line {
        /// The name of the file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The reason why the flow cannot be used.
        why: String,
    },
    /// An update in the user's file cannot be used.
    #[error("{file}, update {update}: {why}")]
    Update {
        /// The name of the file.
        file: String,
        /// The position of the update in the file, counted from 1.
        update: usize,
        /// The reason why the update cannot be used.
        why: String,
    },
    /// The switch already has entries with keys of the user's file. They may belong to other
    /// controllers, so a measurement neither changes nor deletes them.
    #[error(
        "the switch has an entry with the key of {first}{}; entries that are there already are not touched, so delete them, or take them out of the file",
        further(*.count)
    )]
    Present {
        /// The first entry of the user's file whose key the switch already has, as the file states
        /// it.
        first: String,
        /// The number of entries of the user's file whose keys the switch already has.
        count: usize,
    },
}

/// Returns a phrase for the entries after the first one of `count`.
fn further(count: usize) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        more => format!(", and such entries for {more} more"),
    }
}

/// The makers of entries from which a measurement chooses, one for each table. They generate
/// entries from the P4Info, or take them from a file.
pub(crate) struct Makers {
    schema: Arc<Schema>,
    own: Option<Arc<OwnEntries>>,
}

impl Makers {
    pub(crate) fn new(schema: Arc<Schema>, own: Option<Arc<OwnEntries>>) -> Self {
        Self { schema, own }
    }

    /// Returns the schema of the switch's program.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the maker of entries for the table with this name or alias. Without a name, chooses
    /// the largest suitable table or, with a file, the table of which the file has the most
    /// entries.
    ///
    /// # Errors
    /// Returns an error if there are no entries for the table.
    pub(crate) fn choose(&self, name: Option<&str>) -> Result<EntryMaker, MakerError> {
        match &self.own {
            Some(own) => own.maker(name),
            None => EntryMaker::new(&self.schema, name),
        }
    }

    /// Returns makers of entries, one for each kind of key: that for the largest table with such a
    /// key or, with a file, for the table of which the file has the most entries.
    pub(crate) fn of_each_kind(&self) -> Vec<EntryMaker> {
        let Some(own) = &self.own else { return EntryMaker::of_each_kind(&self.schema) };
        let largest = |kind| {
            let of_kind = own.makers().filter(|one| one.kind() == Some(kind));
            of_kind.max_by_key(EntryMaker::different)
        };
        KeyKind::ALL.into_iter().filter_map(largest).collect()
    }
}

/// A maker of entries of one table. Entries are identified by numbers, and a number always stands
/// for the same entry.
///
/// The values of the widest key fields are spread over the field's whole range. Longest-prefix
/// matches have the full width as prefix, ternary matches a full mask, and ranges a single value,
/// so an entry matches exactly one key.
///
/// If the table has a constraint, only the key fields that it leaves free are filled like this. The
/// other fields are the same in all entries, and [`Self::absent`] leaves out the numbers whose
/// entries would violate the constraint.
#[derive(Clone, Debug)]
pub struct EntryMaker {
    table: Table,
    source: Source,
}

/// The origin of the entries of an `EntryMaker`.
#[derive(Clone, Debug)]
enum Source {
    /// The entries are generated from the P4Info.
    Made {
        /// The action of all generated entries.
        action: Action,
        /// The parts of the entries that are fixed because of constraints on the table and its
        /// action.
        pattern: Box<Pattern>,
    },
    /// The entries are those of a user's file. The number of an entry is its position among the
    /// entries of its table.
    Own(Arc<OwnTable>),
}

impl EntryMaker {
    /// Creates a maker of entries for the table with this name or alias, or for the largest
    /// suitable table if there is no name.
    ///
    /// # Errors
    /// Returns an error if no entries can be generated for the table.
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

    /// Creates a maker of entries for each kind of key, for the largest suitable table with such a
    /// key. The makers are in the order of the kinds. A kind without a suitable table is left out.
    #[must_use]
    pub fn of_each_kind(schema: &Schema) -> Vec<Self> {
        let largest =
            |kind| Self::largest(schema, |table| KeyKind::of(&table.match_fields) == Some(kind));
        KeyKind::ALL.into_iter().filter_map(largest).collect()
    }

    /// Creates a maker of entries for the largest suitable table that `is_wanted` accepts. A table
    /// without a declared size counts as the largest.
    fn largest(schema: &Schema, is_wanted: impl Fn(&Table) -> bool) -> Option<Self> {
        let wanted = schema.tables().iter().filter(|table| is_wanted(table));
        let suitable = wanted.filter_map(|table| Self::of(schema, table).ok());
        suitable.max_by_key(|made| {
            (made.table.size.unwrap_or(u64::MAX), std::cmp::Reverse(made.table.id))
        })
    }

    /// Creates a maker of entries for a table. The error is the reason why no entries can be
    /// generated.
    fn of(schema: &Schema, table: &Table) -> Result<Self, &'static str> {
        let action = usable_action(schema, table)?;
        let pattern = Pattern::new(schema.restrictions(), table, action)?;
        let source = Source::Made { action: action.clone(), pattern: Box::new(pattern) };
        Ok(Self { table: table.clone(), source })
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

    /// Returns the names of the actions of the entries, separated by commas.
    #[must_use]
    pub fn action_names(&self, schema: &Schema) -> String {
        match &self.source {
            Source::Made { action, .. } => action.name.clone(),
            Source::Own(own) => {
                let names = own.actions().into_iter().filter_map(|id| {
                    schema.actions().get(ActionId(id)).map(|action| action.name.clone())
                });
                joined(names)
            }
        }
    }

    /// Returns whether an entry can be modified so that it differs from the inserted one.
    #[must_use]
    pub fn is_modifiable(&self) -> bool {
        match &self.source {
            Source::Made { action, .. } => !action.params.is_empty(),
            Source::Own(own) => own.is_modifiable(),
        }
    }

    /// Returns how many different entries this maker has.
    #[must_use]
    pub fn different(&self) -> u64 {
        match &self.source {
            Source::Made { pattern, .. } => {
                let free = pattern.free().iter().map(|at| bits(&self.table.match_fields[*at]));
                let all: u32 = free.fold(0, u32::saturating_add);
                1_u64.checked_shl(all).unwrap_or(u64::MAX)
            }
            Source::Own(own) => own.len() as u64,
        }
    }

    /// Makes the entry with a number, in one of its two variants. All numbers below
    /// [`Self::different`] have different keys.
    #[must_use]
    pub fn entry(&self, number: EntryNumber, variant: Variant) -> v1::TableEntry {
        match &self.source {
            Source::Made { action, pattern } => self.made(action, pattern, number, variant),
            Source::Own(own) => own.entry(number, variant).unwrap_or_default(),
        }
    }

    fn made(
        &self,
        action: &Action,
        pattern: &Pattern,
        number: EntryNumber,
        variant: Variant,
    ) -> v1::TableEntry {
        let matches = pattern.matches(&self.table, number);
        let fields = self.table.match_fields.iter().zip(&matches);
        let arguments = pattern.arguments(variant);
        let parameters = action.params.iter().zip(arguments).map(|(parameter, value)| {
            v1::action::Param { param_id: parameter.id.into(), value: value.clone().into() }
        });
        let action = v1::Action { action_id: action.id.into(), params: parameters.collect() };
        v1::TableEntry {
            table_id: self.table.id.into(),
            r#match: fields.filter_map(|(field, of)| message(field, of)).collect(),
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
            priority: pattern.priority(),
            ..Default::default()
        }
    }

    /// Returns the position of an entry in the user's file, and the entry's text; `None` for
    /// generated entries.
    pub(crate) fn quote(&self, number: EntryNumber) -> Option<String> {
        match &self.source {
            Source::Made { .. } => None,
            Source::Own(own) => own.quote(number),
        }
    }

    /// Makes the P4Runtime update that inserts, modifies or deletes an entry.
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

    /// Returns the numbers of the first `count` entries whose keys are not in `present`, the keys
    /// that the switch already has. With a user's file, returns the numbers of all its entries.
    ///
    /// # Errors
    /// Returns an error if the user's file contains a key that the switch already has.
    pub fn absent(&self, count: u64, present: &[Vec<u8>]) -> Result<Vec<EntryNumber>, MakerError> {
        let taken: HashSet<&[u8]> = present.iter().map(Vec::as_slice).collect();
        let is_absent = |number: &EntryNumber| {
            taken.is_empty()
                || !taken.contains(key(&self.entry(*number, Variant::First)).as_slice())
        };
        let all = (0..self.different()).map(EntryNumber);
        match &self.source {
            Source::Made { pattern, .. } => {
                let numbers = all.take(constrained::SCANNED);
                let numbers =
                    numbers.filter(|number| pattern.allows(&pattern.matches(&self.table, *number)));
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                Ok(numbers.filter(is_absent).take(count).collect())
            }
            Source::Own(own) => {
                let (absent, there): (Vec<EntryNumber>, Vec<EntryNumber>) =
                    all.partition(is_absent);
                match there.first().and_then(|number| own.quote(*number)) {
                    Some(first) => Err(MakerError::Present { first, count: there.len() }),
                    None => Ok(absent),
                }
            }
        }
    }
}

/// Chooses the action of the entries that are generated for a table: among the actions that the
/// table permits, the one with the most parameters, because a modification changes all parameters.
/// The error is the reason why no entries can be generated.
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

/// Returns the number of bits in which entries can differ in a key field. It is 64 for a field of
/// text.
fn bits(field: &MatchField) -> u32 {
    field.value.bits().unwrap_or(u64::BITS)
}

/// Permutes the numbers of `bits` bits, so that successive numbers are mapped to values that are
/// far apart, as the keys of a real table are. Higher bits of `number` are ignored.
pub(crate) fn scattered(number: u64, bits: u32) -> u64 {
    // Multiplication with an odd number is a bijection modulo a power of two. This one is 2^64
    // divided by the golden ratio (D. Knuth, The Art of Computer Programming, volume 3, 6.4).
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    number.wrapping_mul(ODD) & mask
}

/// Returns a match of a key field that accepts exactly one value, the one that `number` stands for.
fn match_of(field: &MatchField, number: u64) -> Match<'static> {
    let own = || value(field.value, number).into();
    match field.kind {
        MatchKind::Exact | MatchKind::Optional | MatchKind::Other(_) => Match::Exact(own()),
        MatchKind::Lpm => Match::Lpm { value: own(), prefix_length: bits(field) },
        MatchKind::Ternary => Match::Ternary { value: own(), mask: all_ones(bits(field)).into() },
        MatchKind::Range => Match::Range { low: own(), high: own() },
    }
}

/// Returns the protobuf message of a match; `None` for a match of any value, which P4Runtime
/// expresses by leaving the field out.
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

/// Returns the value of a type that `number` stands for, encoded as in P4Runtime (P4Runtime 1.5,
/// section 8.3). A number is the shortest big-endian string of the low bits that fit the type. A
/// text is "planimeter-" followed by the number.
fn value(of: ValueType, number: u64) -> Vec<u8> {
    let Some(bits) = of.bits() else { return format!("planimeter-{number}").into_bytes() };
    let mask = u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)).unwrap_or(0);
    entities::value::encode((number & mask).into()).to_vec()
}

/// Returns the value whose low `bits` bits are all ones, as P4Runtime encodes it.
fn all_ones(bits: u32) -> Vec<u8> {
    let bytes = bits.div_ceil(8) as usize;
    let mut ones = vec![0xff; bytes];
    if let (Some(first), odd @ 1..) = (ones.first_mut(), bits % 8) {
        *first = 0xff >> (8 - odd);
    }
    ones
}

/// Returns a byte string that identifies the key of an entry, so that equal keys have equal
/// strings. It contains the entry's priority and its matches, in the order of the field
/// identifiers. Leading zeros of values do not count (P4Runtime 1.5, section 8.3).
pub(crate) fn key(entry: &v1::TableEntry) -> Vec<u8> {
    let mut matches = entry.r#match.clone();
    matches.iter_mut().for_each(shorten);
    matches.sort_by_key(|field| field.field_id);
    let key = v1::TableEntry { r#match: matches, priority: entry.priority, ..Default::default() };
    key.encode_to_vec()
}

/// Removes the leading zeros of all values in a match.
fn shorten(field: &mut v1::FieldMatch) {
    let values = match &mut field.field_match_type {
        Some(FieldMatchType::Exact(exact)) => vec![&mut exact.value],
        Some(FieldMatchType::Ternary(ternary)) => vec![&mut ternary.value, &mut ternary.mask],
        Some(FieldMatchType::Lpm(lpm)) => vec![&mut lpm.value],
        Some(FieldMatchType::Range(range)) => vec![&mut range.low, &mut range.high],
        Some(FieldMatchType::Optional(optional)) => vec![&mut optional.value],
        Some(FieldMatchType::Other(_)) | None => Vec::new(),
    };
    for value in values {
        let zeros = value.iter().take_while(|byte| **byte == 0).count();
        *value = value.slice(zeros..);
    }
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
        let absent = maker.absent(1000, &present).expect("they are made");
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

    /// If a narrow key field is constrained, it has the same value in all entries, and a wide field
    /// makes them differ.
    #[test]
    fn entries_differ_in_a_wide_key_that_needs_a_narrow_one() {
        let constraint = "@entry_restriction(\"h.ethernet.src::mask != 0 -> m.class == 1; \
                          h.ethernet.dst::prefix_length == 0; h.ethernet.type == 7; m.vrf == 1\")";
        let text = include_str!("../tests/kinds.p4")
            .replace("table kinds", &format!("{constraint} table kinds"));
        let maker = EntryMaker::new(&crate::testing::schema(&text), Some("kinds"));
        let maker = maker.expect("it is suitable");
        let numbers = maker.absent(5000, &[]).expect("they are made");
        let keys: HashSet<Vec<u8>> =
            numbers.iter().map(|number| key(&maker.entry(*number, Variant::First))).collect();
        assert_eq!(keys.len(), 5000);
    }

    /// A switch that enforces the constraint accepts every entry that the maker numbers, and the
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
        let numbers = maker.absent(2000, &[]).expect("they are made");
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
