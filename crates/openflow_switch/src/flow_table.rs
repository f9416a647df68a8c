//! The flow entries that a controller installed in an emulated switch.
//!
//! Entries are kept because controllers read them back: ONOS, for example, installs an entry again
//! if it does not find it. A switch that passes packets through its tables also finds the entry
//! that a packet matches, by a classifier for each table. In other switches no packet ever matches
//! an entry, and the idle timeout runs from the installation. Times are in nanoseconds on a clock
//! that the caller chooses.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use super::classifier::Classifier;
use super::flow_key::{Condition, FlowKey};

/// A flow entry with the match, flags and instructions of one protocol version.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlowEntry<M, F, I> {
    pub(super) table: u8,
    pub(super) priority: u16,
    pub(super) rule: M,
    pub(super) cookie: u64,
    /// The time in seconds without a matching packet after which the entry is removed, or 0 for
    /// never.
    pub(super) idle_timeout: u16,
    /// The time in seconds after its installation at which the entry is removed, or 0 for never.
    pub(super) hard_timeout: u16,
    pub(super) flags: F,
    pub(super) instructions: I,
    /// The time of installation in nanoseconds.
    pub(super) installed_at: u64,
    pub(super) hits: Hits,
}

/// The numbers of packets and bytes that matched an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// The time of the last packet, in nanoseconds.
    last_at: u64,
}

impl Hits {
    fn reset(&mut self, resets: bool) {
        if resets {
            *self = Self { last_at: self.last_at, ..Self::default() };
        }
    }
}

impl<M, F, I> FlowEntry<M, F, I> {
    pub(super) fn age(&self, now: u64) -> Duration {
        Duration::from_nanos(now.saturating_sub(self.installed_at))
    }

    /// Returns the time at which the entry expires, and the timeout that causes it. Returns `None`
    /// if the entry has no timeout.
    fn deadline(&self) -> Option<(u64, Expiry)> {
        let after = |from: u64, seconds: u16| from + u64::from(seconds) * 1_000_000_000;
        let used_at = self.hits.last_at.max(self.installed_at);
        let idle =
            (self.idle_timeout > 0).then(|| (after(used_at, self.idle_timeout), Expiry::Idle));
        let hard = (self.hard_timeout > 0)
            .then(|| (after(self.installed_at, self.hard_timeout), Expiry::Hard));
        match (idle, hard) {
            (Some(idle), Some(hard)) => Some(if idle.0 <= hard.0 { idle } else { hard }),
            (one, other) => one.or(other),
        }
    }
}

/// The timeout by which an entry expired: the idle or the hard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    Idle,
    Hard,
}

/// The error of an insertion into a full table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// The priority of a flow entry and the condition on the packets that it matches, which a lookup
/// needs.
pub(super) struct Searched {
    /// The priority of the entry. Higher values take precedence.
    pub(super) priority: u32,
    pub(super) condition: Condition,
}

/// A function that computes, from the priority and the match of an entry, the priority and
/// condition by which lookups find it. It returns `None` if no packet can match the entry.
pub(super) type Compile<M> = fn(u16, &M) -> Option<Searched>;

/// An index that finds the entry that a packet matches.
#[derive(Clone, Debug)]
struct Search<K, M> {
    compile: Compile<M>,
    tables: Vec<TableSearch<K>>,
}

/// The index of one table, and the numbers of lookups in it.
#[derive(Clone, Debug)]
struct TableSearch<K> {
    classifier: Classifier<K>,
    lookups: Lookups,
}

/// The numbers of packets that were looked up in a table and that matched an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lookups {
    pub(super) searched: u64,
    pub(super) matched: u64,
}

/// The flow entries of a switch, by table, priority and match.
#[derive(Clone, Debug)]
pub(super) struct FlowTable<K, M, F, I> {
    entries: HashMap<K, (u64, FlowEntry<M, F, I>)>,
    /// The number of the next entry. Numbers order entries by age, and distinguish an entry from a
    /// later one with the same key.
    next: u64,
    deadlines: BinaryHeap<Reverse<(u64, u64)>>,
    expiring: HashMap<u64, K>,
    capacity: usize,
    /// The index that finds entries by packet, or `None` in a switch whose packets do not pass the
    /// tables.
    search: Option<Search<K, M>>,
}

impl<K, M, F, I> FlowTable<K, M, F, I>
where
    K: Eq + Hash + Clone,
{
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            entries: HashMap::new(),
            next: 0,
            deadlines: BinaryHeap::new(),
            expiring: HashMap::new(),
            capacity: capacity as usize,
            search: None,
        }
    }

    /// Creates flow tables in which [`FlowTable::hit`] finds the entry that a packet matches.
    pub(super) fn searchable(capacity: u32, tables: u8, compile: Compile<M>) -> Self {
        let table =
            || TableSearch { classifier: Classifier::default(), lookups: Lookups::default() };
        let tables = std::iter::repeat_with(table).take(tables.into()).collect();
        Self { search: Some(Search { compile, tables }), ..Self::new(capacity) }
    }

    /// Returns the best entry of a table that a packet of `bytes` bytes matches, and counts the
    /// packet.
    pub(super) fn hit(
        &mut self,
        table: u8,
        packet: &FlowKey,
        bytes: usize,
        now: u64,
    ) -> Option<&FlowEntry<M, F, I>> {
        let searched = self.search.as_mut()?.tables.get_mut(usize::from(table))?;
        searched.lookups.searched += 1;
        let key = searched.classifier.find(packet)?;
        searched.lookups.matched += 1;
        let (_, entry) = self.entries.get_mut(key)?;
        entry.hits.packets += 1;
        entry.hits.bytes += bytes as u64;
        entry.hits.last_at = now;
        Some(entry)
    }

    pub(super) fn lookups(&self, table: u8) -> Lookups {
        let tables = self.search.as_ref().map(|search| search.tables.as_slice());
        let table = tables.and_then(|tables| tables.get(usize::from(table)));
        table.map_or_else(Lookups::default, |table| table.lookups)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether any entry satisfies `is_wanted`.
    pub(super) fn any(&self, is_wanted: impl Fn(&FlowEntry<M, F, I>) -> bool) -> bool {
        self.entries.values().any(|(_, entry)| is_wanted(entry))
    }

    /// Returns the entry with exactly this key (table, priority and match).
    pub(super) fn get(&self, key: &K) -> Option<&FlowEntry<M, F, I>> {
        self.entries.get(key).map(|(_, entry)| entry)
    }

    /// Adds an entry. It replaces an entry with the same key.
    pub(super) fn add(&mut self, key: K, entry: FlowEntry<M, F, I>) -> Result<(), Full> {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&key) {
            return Err(Full);
        }
        let number = self.next;
        self.next += 1;
        if let Some((at, _)) = entry.deadline() {
            self.deadlines.push(Reverse((at, number)));
            self.expiring.insert(number, key.clone());
        }
        if let Some((_, replaced)) = self.entries.get(&key) {
            unfind(&mut self.search, &key, replaced);
        }
        if let Some(search) = &mut self.search
            && let Some(table) = search.tables.get_mut(usize::from(entry.table))
            && let Some(found_by) = (search.compile)(entry.priority, &entry.rule)
        {
            let Searched { priority, condition } = found_by;
            table.classifier.insert(&condition, priority, number, key.clone());
        }
        self.entries.insert(key, (number, entry));
        Ok(())
    }

    /// Changes the instructions of the entries that `wanted` selects, and resets their counters if
    /// `resets` is set. Returns the number of these entries.
    pub(super) fn modify(
        &mut self,
        wanted: impl Fn(&K, &FlowEntry<M, F, I>) -> bool,
        instructions: &I,
        resets: bool,
    ) -> usize
    where
        I: Clone,
    {
        let mut changed = 0;
        for (key, (_, entry)) in &mut self.entries {
            if wanted(key, entry) {
                entry.instructions = instructions.clone();
                entry.hits.reset(resets);
                changed += 1;
            }
        }
        changed
    }

    /// Changes the instructions of the one entry with exactly this key, and resets its counters if
    /// `resets` is set. Returns whether there is such an entry.
    pub(super) fn modify_exactly(&mut self, key: &K, instructions: &I, resets: bool) -> bool
    where
        I: Clone,
    {
        match self.entries.get_mut(key) {
            Some((_, entry)) => {
                entry.instructions = instructions.clone();
                entry.hits.reset(resets);
                true
            }
            None => false,
        }
    }

    /// Removes the entries that `wanted` selects, and returns them, oldest first.
    pub(super) fn remove(
        &mut self,
        wanted: impl Fn(&K, &FlowEntry<M, F, I>) -> bool,
    ) -> Vec<FlowEntry<M, F, I>> {
        let mut removed: Vec<_> =
            self.entries.extract_if(|key, (_, entry)| wanted(key, entry)).collect();
        removed.sort_unstable_by_key(|(_, (number, _))| *number);
        for (key, (_, entry)) in &removed {
            unfind(&mut self.search, key, entry);
        }
        removed.into_iter().map(|(_, (_, entry))| entry).collect()
    }

    /// Removes and returns the one entry with exactly this key, if `wanted` selects it.
    pub(super) fn remove_exactly(
        &mut self,
        key: &K,
        wanted: impl Fn(&FlowEntry<M, F, I>) -> bool,
    ) -> Option<FlowEntry<M, F, I>> {
        let (_, entry) = self.entries.get(key)?;
        if !wanted(entry) {
            return None;
        }
        unfind(&mut self.search, key, entry);
        self.entries.remove(key).map(|(_, entry)| entry)
    }

    /// Removes and returns the entries whose idle or hard timeout has passed, each with that
    /// timeout.
    pub(super) fn expire(&mut self, now: u64) -> Vec<(FlowEntry<M, F, I>, Expiry)> {
        let mut expired = Vec::new();
        while let Some(Reverse((at, number))) = self.deadlines.peek().copied() {
            if at > now {
                break;
            }
            self.deadlines.pop();
            let Some(key) = self.expiring.remove(&number) else { continue };
            // The entry may have been removed, replaced or hit since its deadline was noted.
            let deadline = match self.entries.get(&key) {
                Some((current, entry)) if *current == number => entry.deadline(),
                _ => continue,
            };
            let Some((at, reason)) = deadline else { continue };
            if at > now {
                self.deadlines.push(Reverse((at, number)));
                self.expiring.insert(number, key);
            } else if let Some((_, entry)) = self.entries.remove(&key) {
                unfind(&mut self.search, &key, &entry);
                expired.push((entry, reason));
            }
        }
        expired
    }

    /// Returns the entries that `wanted` selects, oldest first.
    pub(super) fn select(
        &self,
        wanted: impl Fn(&FlowEntry<M, F, I>) -> bool,
    ) -> Vec<&FlowEntry<M, F, I>> {
        let mut selected: Vec<_> =
            self.entries.values().filter(|(_, entry)| wanted(entry)).collect();
        selected.sort_unstable_by_key(|(number, _)| *number);
        selected.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// Removes an entry from the index that finds entries by packet.
fn unfind<K: Clone + PartialEq, M, F, I>(
    search: &mut Option<Search<K, M>>,
    key: &K,
    entry: &FlowEntry<M, F, I>,
) {
    if let Some(search) = search
        && let Some(table) = search.tables.get_mut(usize::from(entry.table))
        && let Some(Searched { priority, condition }) =
            (search.compile)(entry.priority, &entry.rule)
    {
        table.classifier.remove(&condition, priority, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Table = FlowTable<u16, u16, (), u8>;

    fn entry(rule: u16, idle: u16, hard: u16, installed_at: u64) -> FlowEntry<u16, (), u8> {
        FlowEntry {
            table: 0,
            priority: 1,
            rule,
            cookie: 0,
            idle_timeout: idle,
            hard_timeout: hard,
            flags: (),
            instructions: 0,
            installed_at,
            hits: Hits::default(),
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_full_table_refuses_new_entries_and_still_replaces() {
        let mut table = Table::new(2);
        assert_eq!(table.add(1, entry(1, 0, 0, 0)), Ok(()));
        assert_eq!(table.add(2, entry(2, 0, 0, 0)), Ok(()));
        assert_eq!(table.add(3, entry(3, 0, 0, 0)), Err(Full));
        assert_eq!(table.add(2, entry(2, 0, 0, 5)), Ok(()));
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn the_earlier_timeout_ends_an_entry_and_a_replaced_one_does_not_end_its_successor() {
        let mut table = Table::new(10);
        assert_eq!(table.add(1, entry(1, 5, 2, 0)), Ok(()));
        assert_eq!(table.add(2, entry(2, 1, 9, 0)), Ok(()));
        assert_eq!(table.add(3, entry(3, 1, 0, 0)), Ok(()));
        assert_eq!(table.add(3, entry(3, 0, 0, 0)), Ok(()));
        assert!(table.expire(SECOND - 1).is_empty());
        let reasons: Vec<_> =
            table.expire(2 * SECOND).into_iter().map(|(entry, why)| (entry.rule, why)).collect();
        assert_eq!(reasons, [(2, Expiry::Idle), (1, Expiry::Hard)]);
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_hit_postpones_the_idle_timeout_but_not_the_hard_timeout() {
        use openflow::v1_3::OxmField;
        let compile: Compile<u16> = |priority, port| {
            let rule =
                openflow::v1_3::Match::any().with_in_port(openflow::PortNumber(u32::from(*port)));
            assert_eq!(rule.fields[0].field(), Some(OxmField::IN_PORT));
            let condition = Condition::v1_3(&rule)?;
            Some(Searched { priority: priority.into(), condition })
        };
        let mut table = Table::searchable(10, 1, compile);
        assert_eq!(table.add(1, entry(1, 2, 5, 0)), Ok(()));
        let mut packet = super::super::packet::Packet::default();
        packet.load(&[0; 60]);
        let from = |port| FlowKey::v1_3(&packet, port, 0);
        assert_eq!(table.hit(0, &from(2), 60, SECOND), None);
        for second in 1..5 {
            let hit = table.hit(0, &from(1), 60, second * SECOND).map(|entry| entry.hits.packets);
            assert_eq!(hit, Some(second));
            assert!(table.expire(second * SECOND + SECOND / 2).is_empty());
        }
        assert_eq!(table.lookups(0), Lookups { searched: 5, matched: 4 });
        let expired = table.expire(5 * SECOND);
        assert_eq!(expired.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Expiry::Hard]);
        assert_eq!(expired[0].0.hits.bytes, 240);
        assert_eq!(table.hit(0, &from(1), 60, 5 * SECOND), None);
    }

    #[test]
    fn selection_removal_and_change_keep_the_order_of_insertion() {
        let mut table = Table::new(10);
        for rule in [5, 1, 4] {
            assert_eq!(table.add(rule, entry(rule, 0, 0, 0)), Ok(()));
        }
        assert_eq!(table.modify(|_, entry| entry.rule > 1, &7, true), 2);
        let instructions: Vec<_> =
            table.select(|_| true).iter().map(|e| (e.rule, e.instructions)).collect();
        assert_eq!(instructions, [(5, 7), (1, 0), (4, 7)]);
        assert!(table.modify_exactly(&1, &9, false) && !table.modify_exactly(&2, &9, false));
        assert!(table.remove_exactly(&1, |entry| entry.cookie == 3).is_none());
        assert_eq!(table.remove_exactly(&1, |_| true).map(|e| e.instructions), Some(9));
        let removed: Vec<_> = table.remove(|_, _| true).into_iter().map(|e| e.rule).collect();
        assert_eq!(removed, [5, 4]);
    }
}
