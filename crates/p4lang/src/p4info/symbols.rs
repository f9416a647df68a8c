//! Identifiers and aliases of P4Info objects.
//!
//! An object must have the identifier that p4c assigns to it, so the scheme is that of p4c
//! (`p4RuntimeSymbolTable`). The most significant byte of an identifier is the kind of object. The
//! remaining 24 bits are the low bits of a hash of the name (Jenkins's one-at-a-time hash). Names
//! are hashed in lexical order, and if an identifier is in use, the next unused one is taken.
//! Identifiers that `@id` sets are assigned before all others. The alias of an object is the
//! shortest dotted suffix of its name that is not a suffix of another name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::annotations::identifier;
use super::fault::{Faults, P4InfoErrorKind};
use ir::Annotation;

/// The kind of an object. Its number is the most significant byte of the object's identifier
/// (P4Runtime specification, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Action = 0x01,
    Table = 0x02,
    ValueSet = 0x03,
    ControllerHeader = 0x04,
    ActionProfile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
}

impl Kind {
    fn prefix(self) -> u32 {
        (self as u32) << 24
    }
}

const PREFIX: u32 = 0xff00_0000;

/// A collector of the names of the objects that need identifiers.
#[derive(Default)]
pub(super) struct Collector {
    names: BTreeMap<Kind, BTreeMap<String, Option<u32>>>,
    taken: BTreeSet<u32>,
    suffixes: Suffixes,
}

impl Collector {
    /// Adds the name of an object, unless it was added before. An `@id` in `annotations` sets its
    /// identifier.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        name: &str,
        annotations: &[Annotation],
        errors: &mut Faults,
    ) {
        if self.names.get(&kind).is_some_and(|names| names.contains_key(name)) {
            return;
        }
        let id = self.wanted(kind, name, annotations, errors);
        self.names.entry(kind).or_default().insert(name.to_owned(), id);
        self.suffixes.add(name);
    }

    fn wanted(
        &mut self,
        kind: Kind,
        name: &str,
        annotations: &[Annotation],
        errors: &mut Faults,
    ) -> Option<u32> {
        let id = match identifier(annotations) {
            Ok(id) => id?,
            Err(text) => {
                errors.push(P4InfoErrorKind::Id { name: name.to_owned(), text });
                return None;
            }
        };
        if id & PREFIX != 0 && id & PREFIX != kind.prefix() {
            errors.push(P4InfoErrorKind::Prefix { name: name.to_owned(), id, prefix: kind as u8 });
            return None;
        }
        let id = id | kind.prefix();
        if !self.taken.insert(id) {
            errors.push(P4InfoErrorKind::DuplicateId { name: name.to_owned(), id });
            return None;
        }
        Some(id)
    }

    /// Assigns identifiers to the collected names that have no `@id`, and returns all identifiers
    /// and aliases.
    pub(super) fn finish(mut self) -> Symbols {
        let mut ids = HashMap::new();
        for (kind, names) in self.names {
            for (name, wanted) in names {
                let id = wanted.unwrap_or_else(|| {
                    let id = probe(kind, hash(name.as_bytes()), &self.taken);
                    self.taken.insert(id);
                    id
                });
                ids.insert((kind as u8, name), id);
            }
        }
        Symbols { ids, suffixes: self.suffixes }
    }
}

/// Returns the first identifier at or after `start` that is not in `taken`. Each kind of object has
/// 2^24 identifiers, far more than a program has names.
fn probe(kind: Kind, start: u32, taken: &BTreeSet<u32>) -> u32 {
    let mut hash = start;
    loop {
        let id = kind.prefix() | hash & !PREFIX;
        if !taken.contains(&id) {
            return id;
        }
        hash = hash.wrapping_add(1);
        if hash == start {
            return id;
        }
    }
}

/// Returns Bob Jenkins's one-at-a-time hash of a name.
fn hash(name: &[u8]) -> u32 {
    let mut hash = 0_u32;
    for byte in name {
        hash = hash.wrapping_add(u32::from(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// The identifiers and aliases of all objects.
pub(super) struct Symbols {
    ids: HashMap<(u8, String), u32>,
    suffixes: Suffixes,
}

impl Symbols {
    /// Returns the identifier of the object with the given kind and name, or 0 if the object was
    /// not added to the `Collector`.
    pub(super) fn id(&self, kind: Kind, name: &str) -> u32 {
        self.ids.get(&(kind as u8, name.to_owned())).copied().unwrap_or(0)
    }

    /// Returns the alias of `name`: its shortest dotted suffix that no other name has.
    pub(super) fn alias<'a>(&self, name: &'a str) -> &'a str {
        self.suffixes.shortest_unique(name)
    }
}

/// For each dotted suffix, the number of distinct names that end with it.
#[derive(Default)]
struct Suffixes {
    names: BTreeSet<String>,
    counts: HashMap<String, usize>,
}

impl Suffixes {
    fn add(&mut self, name: &str) {
        if !self.names.insert(name.to_owned()) {
            return;
        }
        for suffix in suffixes(name) {
            *self.counts.entry(suffix.to_owned()).or_default() += 1;
        }
    }

    fn shortest_unique<'a>(&self, name: &'a str) -> &'a str {
        suffixes(name)
            .find(|suffix| self.counts.get(*suffix).is_none_or(|count| *count < 2))
            .unwrap_or(name)
    }
}

/// Returns the dotted suffixes of a name, shortest first: `c`, `b.c` and `a.b.c` for `a.b.c`.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    name.rmatch_indices('.').filter_map(|(dot, _)| name.get(dot + 1..)).chain(std::iter::once(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(names: &[(Kind, &str)]) -> Symbols {
        let mut collector = Collector::default();
        let mut errors = Faults::default();
        for (kind, name) in names {
            collector.add(*kind, name, &[], &mut errors);
        }
        assert!(errors.is_empty());
        collector.finish()
    }

    #[test]
    fn identifiers_equal_those_of_p4c() {
        // The numbers are from P4Info files that p4c wrote. NoAction (21257015) is in nearly all of
        // them. The others are in the tutorials of p4runtime-shell and in the SAI pipeline of
        // SONiC.
        let symbols = symbols(&[
            (Kind::Action, "NoAction"),
            (Kind::Action, "MyIngress.drop"),
            (Kind::Action, "MyIngress.forward"),
            (Kind::ControllerHeader, "packet_in_header_t"),
            (Kind::ControllerHeader, "packet_out_header_t"),
        ]);
        assert_eq!(symbols.id(Kind::Action, "NoAction"), 21_257_015);
        assert_eq!(symbols.id(Kind::Action, "MyIngress.drop"), 25_652_968);
        assert_eq!(symbols.id(Kind::Action, "MyIngress.forward"), 29_683_729);
        assert_eq!(symbols.id(Kind::ControllerHeader, "packet_in_header_t"), 81_826_293);
        assert_eq!(symbols.id(Kind::ControllerHeader, "packet_out_header_t"), 76_689_799);
    }

    #[test]
    fn the_next_free_identifier_is_taken() {
        let first = Kind::Action.prefix() | hash(b"NoAction") & !PREFIX;
        let taken = BTreeSet::from([first, first + 1]);
        assert_eq!(probe(Kind::Action, hash(b"NoAction"), &taken), first + 2);
    }

    #[test]
    fn numbers_wrap_within_their_kind() {
        let last = Kind::Table.prefix() | !PREFIX;
        let taken = BTreeSet::from([last]);
        assert_eq!(probe(Kind::Table, !PREFIX, &taken), Kind::Table.prefix());
    }

    #[test]
    fn an_alias_is_the_shortest_suffix_of_its_own() {
        let symbols = symbols(&[
            (Kind::Table, "a.b.c"),
            (Kind::Table, "a.d.c"),
            (Kind::Action, "b.c"),
            (Kind::Counter, "x.y"),
        ]);
        assert_eq!(symbols.alias("x.y"), "y");
        assert_eq!(symbols.alias("a.d.c"), "d.c");
        assert_eq!(symbols.alias("a.b.c"), "a.b.c");
        assert_eq!(symbols.alias("b.c"), "b.c");
    }

    #[test]
    fn a_name_that_two_kinds_share_counts_once() {
        let symbols = symbols(&[(Kind::Table, "a.b"), (Kind::Action, "a.b")]);
        assert_eq!(symbols.alias("a.b"), "b");
    }
}
