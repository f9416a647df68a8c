//! Generates table entries for given packets. Each packet is processed, and whenever a table lookup
//! finds no entry, an entry with the looked-up keys is added.
//!
//! Packets thus hit entries whatever a key consists of: header fields, metadata that an action of
//! another table set, or the port. The action of the entries is chosen by trial. An action is
//! better if the processing of more packets ends; among equals, if more packets leave the program;
//! then, if packets find entries in more tables; then, if it has more parameters.

use super::constrained::Constrained;
use super::endless::{Budgets, Endless};
use super::members::{Members, Variant};
use crate::packets::Packets;
use ir::bits::Bits;
use ir::{ActionId, MatchKind, Program, Table, TableId, Type};
use pipeline::{Detail, EntryAction, Event, FieldMatch, LoadError, Switch, TableEntry, Trace};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The port by which generated packets arrive.
pub(crate) const PORT: u32 = 1;
/// The port to which generated entries send packets.
pub(super) const OUT: u32 = 2;
/// The number of different values that generated entries have for one action parameter. It limits
/// the number of entries in later tables whose keys depend on the parameter.
const VALUES: u32 = 64;
/// The largest number of times that all packets are processed to generate entries. Generation ends
/// with a pass that adds no entry. Each table whose keys depend on an earlier table needs one more
/// pass.
pub(super) const PASSES: usize = 16;
/// The largest number of recipes (choices of actions) under which packets were processed endlessly.
/// When it is reached, no other recipe is tried.
const ENDLESS_RECIPES: usize = 8;

/// The action that the generated entries of each table run, as an index into [`Table::actions`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe(BTreeMap<TableId, usize>);

/// A table entry, with the id of its table.
pub(crate) type Placed = (TableId, TableEntry);

/// The quality of a recipe (a choice of action for each table); greater is better. Fields are
/// compared in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Score {
    /// The number of packets whose processing ended, rather than looping forever.
    pub(crate) ended: usize,
    /// The number of packets that the program sent out.
    pub(crate) left: usize,
    /// The number of tables in which a packet found an entry.
    pub(crate) tables: usize,
    /// The number of parameters that entries supply to their actions. A parameter that packets
    /// write counts as ten.
    pub(crate) parameters: usize,
}

/// The table lookups of one packet: the table, the looked-up keys, and whether an entry was found.
#[derive(Debug, Default)]
pub(super) struct Lookups(pub(super) Vec<(TableId, Vec<Bits>, bool)>);

impl Trace for Lookups {
    fn event(&mut self, _event: Event) {}

    fn lookup(&mut self, table: TableId, keys: &[Bits], hit: bool) {
        self.0.push((table, keys.to_vec(), hit));
    }

    fn detail(&self) -> Detail {
        Detail::Nothing
    }
}

/// Generated table entries, and facts about the flows that use them.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) entries: Vec<Placed>,
    /// The members and groups of action profiles and selectors to which the entries refer.
    pub(crate) members: Members,
    /// The number of the flow for which each entry was generated. This is the first flow whose
    /// lookup failed.
    pub(crate) made_for: Vec<usize>,
    pub(crate) score: Score,
    /// Whether a packet found an entry in each table, or added the one that the next packet finds
    /// (`add_on_miss`), by the positions of the tables.
    pub(crate) hit: Vec<bool>,
    /// The tables for which entries could not be generated, each with the reason, as sentences.
    pub(crate) refused: Vec<String>,
    /// The flows that use an entry which packets write and which another flow uses too.
    pub(crate) shared: BTreeSet<usize>,
    /// The error to report if packets are processed endlessly. After such packets were found, no
    /// entries were generated.
    pub(crate) endless: Option<Endless>,
}

/// Returns the best choice of an action for each table, by the score that sample packets reach with
/// it, and this score. Every action of every table is tried in turn.
pub(crate) fn choose(program: &Program, packets: &Packets) -> Result<(Recipe, Score), LoadError> {
    let mut recipe = Recipe::default();
    for (number, table) in program.tables.iter().enumerate() {
        if let Some(first) = candidates(table).next() {
            recipe.0.insert(TableId(number as u32), first);
        }
    }
    let first = fill(program, packets, &recipe, |_, _| true)?;
    let mut best = first.score;
    // Each endless packet consumes its whole budget, so only a few recipes with such packets are
    // tried.
    let mut endless = usize::from(first.endless.is_some());
    for (number, table) in program.tables.iter().enumerate() {
        for candidate in candidates(table).skip(1) {
            let mut other = recipe.clone();
            other.0.insert(TableId(number as u32), candidate);
            if endless >= ENDLESS_RECIPES {
                return Ok((recipe, best));
            }
            let Filled { score, endless: found, .. } = fill(program, packets, &other, |_, _| true)?;
            endless += usize::from(found.is_some());
            if score > best {
                (recipe, best) = (other, score);
            }
        }
    }
    Ok((recipe, best))
}

/// Returns the indices of the actions that the table permits for entries, rather than only as its
/// default.
fn candidates(table: &Table) -> impl Iterator<Item = usize> {
    let actions = table.actions.iter().enumerate();
    let usable = actions.filter(|(_, reference)| !reference.has_annotation("defaultonly"));
    usable.map(|(position, _)| position)
}

/// Generates a table entry for every table lookup of the packets that finds none, in the order of
/// the lookups. `go_on` receives the number of packets processed in the present pass and the total,
/// and returns whether to continue.
pub(crate) fn fill(
    program: &Program,
    packets: &Packets,
    recipe: &Recipe,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Filled, LoadError> {
    let mut switch = Switch::new(program.clone())?;
    let (entries, members, refused) = (Vec::new(), Members::default(), Vec::new());
    let constrained = Constrained::new(program);
    let mut filler =
        Filler { program, constrained: &constrained, recipe, entries, members, refused };
    let mut score = Score::default();
    let mut shared = BTreeSet::new();
    let mut made_for = Vec::new();
    let mut endless = None;
    let mut hit = Vec::new();
    let mut learning = BTreeSet::new();
    for _ in 0..PASSES {
        let before = filler.entries.len();
        let mut owners: HashMap<u64, usize> = HashMap::new();
        shared.clear();
        hit = vec![false; program.tables.len()];
        (score.ended, score.left) = (0, 0);
        let mut budgets = Budgets::default();
        for (number, packet) in packets.iter().enumerate() {
            let mut lookups = Lookups::default();
            let outputs = switch.process_traced(PORT, packet, Duration::ZERO, &mut lookups);
            match &outputs {
                Err(error) if error.is_endless() => budgets.exceeded(number, packet, error),
                _ => score.ended += 1,
            }
            score.left += usize::from(outputs.is_ok_and(|outputs| !outputs.is_empty()));
            for (table, keys, found) in lookups.0 {
                if filler.packets_write(table) {
                    let owner = *owners.entry(filler.name(table, &keys)).or_insert(number);
                    if owner != number {
                        shared.extend([owner, number]);
                    }
                }
                if found {
                    hit.get_mut(table.index()).into_iter().for_each(|hit| *hit = true);
                } else {
                    if program.tables.get(table.index()).is_some_and(|table| table.add_on_miss) {
                        learning.insert(table);
                    }
                    filler.put(&switch, table, &keys);
                    made_for.resize(filler.entries.len(), number);
                }
            }
            let goes_on = number % 1024 != 0 || go_on(number, packets.len());
            if !goes_on || budgets.are_enough() {
                break;
            }
        }
        endless = budgets.endless(packets.len());
        score.tables = hit.iter().filter(|hit| **hit).count();
        if filler.entries.len() == before || endless.is_some() {
            break;
        }
    }
    for table in learning {
        hit.get_mut(table.index()).into_iter().for_each(|hit| *hit = true);
    }
    score.parameters = filler.parameters();
    let Filler { entries, members, refused, .. } = filler;
    Ok(Filled { entries, members, made_for, score, hit, refused, shared, endless })
}

/// The entries that have been generated so far, with the actions of one recipe.
struct Filler<'p> {
    program: &'p Program,
    /// The constraints that entries and arguments must satisfy.
    constrained: &'p Constrained,
    recipe: &'p Recipe,
    entries: Vec<Placed>,
    members: Members,
    refused: Vec<String>,
}

impl Filler<'_> {
    /// Returns whether packets change the entries of a table.
    fn packets_write(&self, table: TableId) -> bool {
        let actions =
            self.program.tables.get(table.index()).map_or(&[][..], |table| &table.actions);
        actions.iter().any(|reference| {
            let action = self.program.actions.get(reference.action.index());
            action
                .is_some_and(|action| action.parameters.iter().any(|parameter| parameter.reference))
        })
    }

    /// Returns a hash that identifies the table entry that matches these keys.
    fn name(&self, id: TableId, keys: &[Bits]) -> u64 {
        let mut hash = DefaultHasher::new();
        id.hash(&mut hash);
        if let Some(table) = self.program.tables.get(id.index()) {
            for (key, value) in table.keys.iter().zip(keys) {
                field_match(&key.match_kind, value).hash(&mut hash);
            }
        }
        hash.finish()
    }

    fn put(&mut self, switch: &Switch, id: TableId, keys: &[Bits]) {
        let Some(table) = self.program.tables.get(id.index()) else { return };
        // A table without keys uses its default action. A table with `add_on_miss` adds its own
        // entries.
        if table.keys.is_empty() || table.add_on_miss {
            return;
        }
        match self.entry(switch, id, table, keys) {
            Ok(Some(entry)) => match switch.add_entry(id, entry.clone(), Duration::ZERO) {
                Ok(_) => self.entries.push((id, entry)),
                Err(error) => refuse(&mut self.refused, &table.name, &error.to_string()),
            },
            Ok(None) => {}
            Err(why) => refuse(&mut self.refused, &table.name, &why),
        }
    }

    /// Returns a new table entry that matches these keys, or `None` if the table permits no action
    /// for entries.
    fn entry(
        &mut self,
        switch: &Switch,
        id: TableId,
        table: &Table,
        keys: &[Bits],
    ) -> Result<Option<TableEntry>, String> {
        let Some(reference) = self.recipe.0.get(&id).and_then(|at| table.actions.get(*at)) else {
            return Ok(None);
        };
        let number = self.entries.len() as u64;
        let matches: Vec<FieldMatch> = table
            .keys
            .iter()
            .zip(keys)
            .map(|(key, value)| field_match(&key.match_kind, value))
            .collect();
        let needs_priority = needs_priority(table);
        let (program, constrained) = (self.program, self.constrained);
        let call = |number| {
            let arguments = arguments(program, reference.action, number);
            let arguments = constrained.arguments(reference.action, arguments, number)?;
            switch.action_call(reference.action, &arguments).map_err(|error| error.to_string())
        };
        let action = match table.implementation {
            None => EntryAction::Action(call(number)?),
            Some(implementation) => {
                let variant =
                    Variant { number: (number % u64::from(VALUES)) as u32, count: VALUES };
                self.members.action(switch, implementation, variant, &|one| call(one.into()))?
            }
        };
        let entry =
            TableEntry { matches, priority: u32::from(needs_priority), action, idle_timeout: None };
        constrained.entry(id, entry, keys, number).map(Some)
    }

    fn parameters(&self) -> usize {
        let used = self.entries.iter().map(|(table, _)| *table).collect::<BTreeSet<_>>();
        let count = |table: TableId| {
            let position = *self.recipe.0.get(&table)?;
            let reference = self.program.tables.get(table.index())?.actions.get(position)?;
            let action = self.program.actions.get(reference.action.index())?;
            let weight = |parameter: &ir::ActionParameter| if parameter.reference { 10 } else { 1 };
            Some(action.control_plane_parameters().map(weight).sum::<usize>())
        };
        used.into_iter().filter_map(count).sum()
    }
}

/// Returns the arguments of an action for the entry with this number. Arguments repeat after
/// [`VALUES`] entries. Those that packets write differ between all entries. Arguments that are
/// ports are always the same port.
fn arguments(program: &Program, action: ActionId, number: u64) -> Vec<Bits> {
    let Some(action) = program.actions.get(action.index()) else { return Vec::new() };
    let parameters = action.control_plane_parameters().enumerate();
    let value = |(position, parameter): (usize, &ir::ActionParameter)| {
        let width = program.types.width_in_bits(parameter.type_id).unwrap_or(32);
        let width = u32::try_from(width).unwrap_or(u32::MAX);
        let user_type = parameter.user_type.and_then(|id| program.types.user_types.get(id.index()));
        let is_port = parameter.name.to_lowercase().contains("port")
            || user_type.is_some_and(|user| user.name.contains("Port"))
            || (width == 9
                && matches!(program.types.find(parameter.type_id), Some(Type::Bits { .. })));
        if is_port {
            return Bits::unsigned(width, OUT.into());
        }
        let which = if parameter.reference { number } else { number % u64::from(VALUES) };
        let mut random = ChaCha8Rng::seed_from_u64(position as u64);
        random.set_stream(which);
        Bits::unsigned(width, random.random())
    };
    parameters.map(value).collect()
}

/// Returns whether the entries of a table need a priority.
pub(super) fn needs_priority(table: &Table) -> bool {
    table.keys.iter().any(|key| {
        matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    })
}

/// Returns the match of an entry for one key whose looked-up value is `value`. An LPM prefix covers
/// three quarters of the bits, a ternary mask all but the last two, and a range has 16 values.
pub(super) fn field_match(kind: &MatchKind, value: &Bits) -> FieldMatch {
    let width = value.width();
    let masked = |free: u32| {
        let mask = Bits::prefix_mask(width, width.saturating_sub(free));
        (value.bit_and(&mask), mask)
    };
    match kind {
        MatchKind::Exact | MatchKind::Optional | MatchKind::Other(_) => {
            FieldMatch::Exact(value.clone())
        }
        MatchKind::Lpm => {
            let (value, _) = masked(width / 4);
            FieldMatch::Lpm { value, prefix_length: width - width / 4 }
        }
        MatchKind::Ternary => {
            let (value, mask) = masked(if width > 2 { 2 } else { 0 });
            FieldMatch::Ternary { value, mask }
        }
        MatchKind::Range => {
            let (low, _) = masked(width.min(4));
            let high = low.bit_or(&Bits::prefix_mask(width, width - width.min(4)).complement());
            FieldMatch::Range { low, high }
        }
        MatchKind::Selector => FieldMatch::Any,
    }
}

/// Records the reason why no entries can be generated for a table, unless a reason is recorded
/// already.
fn refuse(refused: &mut Vec<String>, table: &str, why: &str) {
    let beginning = format!("no entries can be generated for table {table}: ");
    if !refused.iter().any(|known| known.starts_with(&beginning)) {
        refused.push(beginning + why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_refused_once() {
        let mut refused = Vec::new();
        for (table, why) in [("I.t", "value 7"), ("I.t", "value 8"), ("I.t2", "value 9")] {
            refuse(&mut refused, table, why);
        }
        assert_eq!(
            refused,
            [
                "no entries can be generated for table I.t: value 7",
                "no entries can be generated for table I.t2: value 9"
            ]
        );
    }
}
