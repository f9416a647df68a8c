//! The search for the number of the best matching entry: a [`PrefixTrie`] if no field needs a
//! priority (exact fields then precede the prefix), and a [`TernaryTree`] otherwise. Keys of more
//! than 128 bits whose fields are all exact are in a [`KeyTable`]. [`Finder`](crate::Finder) uses
//! this module.
//!
//! A single writer adds and removes links to entries while packets search.

use crate::arena::{Block, Writer};
use crate::key_table::KeyTable;
use crate::match_key::{MatchField, MatchKind, Pattern};
use crate::packing::{Packed, Packing};
use crate::prefix_trie::{PrefixTrie, PrefixWriter};
use crate::quiescence::Domain;
use crate::ternary_tree::{FieldRange, Rule, TernaryTree, key_words};

/// The structure that finds the entry of a key: a trie of prefixes, a hash table of wide exact
/// keys, or a tree of rules with priorities.
pub(crate) enum Search {
    Prefix { packing: Packing, trie: PrefixTrie },
    Exact { packing: Packing, table: KeyTable },
    Ternary(TernaryTree),
}

/// The state of the single writer that adds entries to a search structure and removes them.
pub(crate) enum SearchWriter {
    Prefix(PrefixWriter),
    Exact(Writer),
    Ternary(Writer),
}

/// The key or rule by which a search structure finds an entry.
pub(crate) enum Link {
    Prefix { key: Packed, length: u32 },
    Rule(Box<Rule>),
}

/// A prepared change of a search structure, which packets do not see yet.
pub(crate) enum Prepared {
    /// The change is short. It is made in place when it is published.
    InPlace,
    /// A changed tree, given by its root, which replaces the current tree when it is published.
    Tree(Block),
}

/// A prepared change of a search structure, with the entry that it adds or removes.
pub(crate) struct PreparedChange<'l> {
    pub(crate) prepared: Prepared,
    /// The key or rule of the entry.
    pub(crate) link: &'l Link,
    /// Whether the entry is added, rather than removed.
    pub(crate) adds: bool,
    /// The number of the entry, from 0.
    pub(crate) number: u32,
}

/// The processor features that make searches faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processor {
    /// No feature that makes searches faster is known.
    Any,
    /// Bit-counting instructions, several of which are needed at each node of a trie, and AVX2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Four,
    /// The features of `Four`, and AVX-512.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Eight,
}

impl Processor {
    /// Detects the features of this machine.
    pub(crate) fn here() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("avx2")
        {
            return if is_x86_feature_detected!("avx512f") { Self::Eight } else { Self::Four };
        }
        Self::Any
    }
}

/// The largest number of bits of a key that callers pass as two words. A wider key is in memory.
pub(crate) const NARROW: u32 = 128;

/// Returns whether entries have an explicit priority.
pub(crate) fn has_priorities(fields: &[MatchField]) -> bool {
    fields.iter().any(|field| !matches!(field.kind, MatchKind::Exact | MatchKind::Lpm))
}

impl Search {
    /// Creates a search structure for keys of these fields, in a table made for `entries` entries.
    /// At most one field may have a prefix unless entries have priorities. Returns `None` if memory
    /// does not suffice.
    pub(crate) fn new(fields: &[MatchField], entries: usize) -> Option<(Self, SearchWriter)> {
        if has_priorities(fields) {
            let tree = TernaryTree::new(fields.iter().map(MatchField::bytes));
            return Some((Self::Ternary(tree), SearchWriter::Ternary(Writer::default())));
        }
        let packing = Packing::new(fields);
        let is_exact = fields.iter().all(|field| field.kind == MatchKind::Exact);
        if is_exact && packing.bits() > NARROW {
            let table = KeyTable::new(packing.words(), entries)?;
            return Some((Self::Exact { packing, table }, SearchWriter::Exact(Writer::default())));
        }
        let (trie, writer) = PrefixTrie::new(packing.bits(), entries)?;
        Some((Self::Prefix { packing, trie }, SearchWriter::Prefix(writer)))
    }

    /// Returns the number of bytes of memory that the search structure has reserved.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Prefix { trie, .. } => trie.bytes(),
            Self::Exact { table, .. } => table.bytes(),
            Self::Ternary(tree) => tree.bytes(),
        }
    }

    /// Returns the key or rule by which an entry with this pattern is found.
    pub(crate) fn link(&self, pattern: &Pattern, priority: u32, order: u64, number: u32) -> Link {
        match self {
            Self::Prefix { packing, .. } | Self::Exact { packing, .. } => Link::Prefix {
                key: packing.pack(&pattern.value),
                length: packing.prefix_bits(pattern.prefix),
            },
            Self::Ternary(_) => {
                let words = |bytes: &[u8]| {
                    let mut words = Vec::new();
                    key_words(bytes, &mut words);
                    words.pop();
                    words
                };
                let ranges = pattern.ranges.iter();
                let ranges = ranges.map(|range| FieldRange::new(range.at, &range.low, &range.high));
                Link::Rule(Box::new(Rule {
                    number,
                    priority,
                    order,
                    mask: words(&pattern.mask),
                    value: words(&pattern.value),
                    ranges: ranges.collect(),
                }))
            }
        }
    }

    /// Makes an entry visible to packets that search. Returns false if memory does not suffice.
    pub(crate) fn add(
        &self,
        writer: &mut SearchWriter,
        domain: &Domain,
        link: &Link,
        number: u32,
    ) -> bool {
        match (self, writer, link) {
            (
                Self::Prefix { trie, .. },
                SearchWriter::Prefix(writer),
                Link::Prefix { key, length },
            ) => match key {
                Packed::Short(key) => trie.insert(writer, domain, *key, *length, number),
                Packed::Medium(key) => trie.insert(writer, domain, *key, *length, number),
                Packed::Long(key) => trie.insert(writer, domain, &key[..], *length, number),
            },
            (
                Self::Exact { table, .. },
                SearchWriter::Exact(writer),
                Link::Prefix { key: Packed::Long(key), .. },
            ) => table.insert(writer, domain, key, number),
            (Self::Ternary(tree), SearchWriter::Ternary(writer), Link::Rule(rule)) => {
                tree.insert(writer, domain, rule)
            }
            _ => false,
        }
    }

    /// Makes entries visible to packets, in a search structure that has none yet. Returns false if
    /// memory does not suffice.
    pub(crate) fn add_all<'a>(
        &self,
        writer: &mut SearchWriter,
        domain: &Domain,
        mut links: impl Iterator<Item = (u32, &'a Link)>,
    ) -> bool {
        if let (Self::Ternary(tree), SearchWriter::Ternary(writer)) = (self, &mut *writer) {
            // Building the tree at once avoids the replaced blocks that adding rules one by one
            // would leave behind.
            let rule = |link: &Link| match link {
                Link::Rule(rule) => Some(Rule::clone(rule)),
                Link::Prefix { .. } => None,
            };
            let rules: Option<Vec<Rule>> = links.map(|(_, link)| rule(link)).collect();
            return rules.is_some_and(|rules| tree.fill(writer, domain, rules));
        }
        links.all(|(number, link)| self.add(writer, domain, link, number))
    }

    /// Hides an entry from packets. Returns false, and changes nothing, if memory does not suffice.
    pub(crate) fn remove(&self, writer: &mut SearchWriter, domain: &Domain, link: &Link) -> bool {
        match (self, writer, link) {
            (
                Self::Prefix { trie, .. },
                SearchWriter::Prefix(writer),
                Link::Prefix { key, length },
            ) => match key {
                Packed::Short(key) => trie.remove(writer, domain, *key, *length),
                Packed::Medium(key) => trie.remove(writer, domain, *key, *length),
                Packed::Long(key) => trie.remove(writer, domain, &key[..], *length),
            },
            (
                Self::Exact { table, .. },
                SearchWriter::Exact(writer),
                Link::Prefix { key: Packed::Long(key), .. },
            ) => {
                table.remove(writer, domain, key);
                true
            }
            (Self::Ternary(tree), SearchWriter::Ternary(writer), Link::Rule(rule)) => {
                tree.remove(writer, domain, rule)
            }
            _ => false,
        }
    }

    /// Prepares the addition or removal of an entry, which takes long. Packets do not see the
    /// change until it is published. Returns `None`, and changes nothing, if memory does not
    /// suffice.
    pub(crate) fn prepare(
        &self,
        writer: &mut SearchWriter,
        link: &Link,
        adds: bool,
    ) -> Option<Prepared> {
        match (self, writer, link) {
            (Self::Prefix { .. }, SearchWriter::Prefix(writer), Link::Prefix { .. }) => {
                writer.make_room();
                Some(Prepared::InPlace)
            }
            (Self::Exact { .. }, SearchWriter::Exact(_), Link::Prefix { .. }) => {
                Some(Prepared::InPlace)
            }
            (Self::Ternary(tree), SearchWriter::Ternary(writer), Link::Rule(rule)) => {
                tree.prepare(writer, rule, adds).map(Prepared::Tree)
            }
            _ => None,
        }
    }

    /// Makes a prepared change visible to packets. Returns false, and changes nothing, if memory
    /// does not suffice.
    pub(crate) fn publish(
        &self,
        writer: &mut SearchWriter,
        domain: &Domain,
        change: PreparedChange<'_>,
    ) -> bool {
        let PreparedChange { prepared, link, adds, number } = change;
        match (prepared, self, &mut *writer) {
            (Prepared::Tree(root), Self::Ternary(tree), SearchWriter::Ternary(writer)) => {
                tree.publish(writer, domain, Some(root))
            }
            (Prepared::InPlace, ..) if adds => self.add(writer, domain, link, number),
            (Prepared::InPlace, ..) => self.remove(writer, domain, link),
            (Prepared::Tree(_), ..) => false,
        }
    }

    /// Discards a change that was prepared but not published.
    pub(crate) fn abandon(writer: &mut SearchWriter) {
        if let SearchWriter::Ternary(writer) = writer {
            writer.roll_back();
        }
    }

    /// Returns whether the search structure has the layout that a new one for about this number of
    /// entries would have.
    pub(crate) fn suits(&self, entries: usize) -> bool {
        match self {
            Self::Prefix { packing, trie } => trie.suits(packing.bits(), entries),
            Self::Exact { table, .. } => table.suits(entries),
            Self::Ternary(_) => true,
        }
    }
}
