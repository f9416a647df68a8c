//! The searches of this crate, called as machine code calls them, with or without the entries that
//! they find.

#![allow(unsafe_code, reason = "searchers are for machine code, which keeps their finder alive")]

use std::sync::Arc;
use std::time::Duration;

use tables::{
    ActionId, Design, FieldMatch, Finder, Hit, Keys, Match, MatchField, PackedTable, Searcher,
    Storage, TableSettings, TableWorker,
};

use super::{Search, timed};

/// An entry: its matches and its priority. Its number is its index in the list.
pub(crate) type Entry = (Vec<FieldMatch>, u32);

/// The number of keys of one call.
const CALL: usize = 32;

/// The method that finds numbers or reads entries.
enum Way {
    /// The searcher of a finder, which is alive and does not change.
    Numbers {
        searcher: Searcher,
        _finder: Finder,
    },
    Entries(TableWorker),
}

pub(crate) struct Ours {
    name: &'static str,
    way: Way,
    keys: Vec<[u64; 2]>,
    filling: Duration,
}

impl Ours {
    /// Returns a search for the numbers of the best entries.
    pub(crate) fn numbers(
        name: &'static str,
        fields: &[MatchField],
        entries: &[Entry],
        keys: &[u128],
    ) -> Self {
        let mut finder = Finder::new(fields, entries.len()).expect("memory for the benchmark");
        let ((), filling) = timed(|| {
            for (order, (matches, priority)) in entries.iter().enumerate() {
                finder.insert(matches, *priority, order as u64).expect("a new entry");
            }
        });
        Self {
            name,
            way: Way::Numbers { searcher: finder.searcher(), _finder: finder },
            keys: words(keys),
            filling,
        }
    }

    /// Returns a search that reads the contents of the best entries, which are their numbers.
    pub(crate) fn entries(
        name: &'static str,
        fields: &[MatchField],
        entries: &[Entry],
        keys: &[u128],
    ) -> Self {
        let settings = TableSettings {
            design: Design::unlocked(Storage::Inline),
            keys: Keys::Fields { fields, size: entries.len() },
            parameter_bytes: 4,
            actions: 1,
            writing: 0,
            writes_words: true,
        };
        let table = PackedTable::new(&Arc::default(), &settings).expect("memory");
        let table = Arc::new(table);
        let ((), filling) = timed(|| {
            for (order, (fields, priority)) in entries.iter().enumerate() {
                let of = Match::Fields { fields, priority: *priority, order: order as u64 };
                let value = (order as u32).to_le_bytes();
                table.insert(of, ActionId(0), &value).expect("a new entry");
            }
        });
        let worker = TableWorker::new(&table).expect("a first worker");
        Self { name, way: Way::Entries(worker), keys: words(keys), filling }
    }
}

fn words(keys: &[u128]) -> Vec<[u64; 2]> {
    keys.iter().map(|key| [*key as u64, (key >> 64) as u64]).collect()
}

impl Search for Ours {
    fn name(&self) -> &str {
        self.name
    }

    fn filling(&self) -> Duration {
        self.filling
    }

    fn search(&mut self) -> u64 {
        let mut sum = 0;
        for keys in self.keys.chunks(CALL) {
            match &mut self.way {
                Way::Numbers { searcher, .. } => {
                    let mut found = [0; CALL];
                    let found = &mut found[..keys.len()];
                    // SAFETY: the finder is alive, and no thread changes it.
                    unsafe {
                        searcher.prefetch_keys(keys);
                        searcher.find_all(keys, found);
                    }
                    // The numbers begin with 1.
                    sum += found.iter().map(|number| u64::from(*number)).sum::<u64>();
                }
                Way::Entries(worker) => worker.apply(keys, &mut |_: usize, hit: &mut Hit<'_>| {
                    let value = hit.parameters().first_chunk();
                    sum += value.map_or(0, |value| u64::from(u32::from_le_bytes(*value)) + 1);
                }),
            }
        }
        sum
    }
}
