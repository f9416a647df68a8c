//! Longest prefixes of 32 and of 128 bits.

use std::collections::HashSet;
use std::time::Duration;

use fastrand::Rng;
use prefix_trie::PrefixMap;
use tables::{
    ActionId, Design, EntryLock, FieldMatch, Hit, MatchField, MatchKind, MatchTable, MatchWorker,
    Options, Storage, Tick,
};

use super::{OPERATIONS, Search, timed};

/// A prefix: its number is its place in the list.
pub(crate) type Route = (u32, u8);

/// Contenders with the same routes.
pub(crate) fn all(count: usize) -> (String, Vec<Box<dyn Search>>) {
    let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    let routes = routes(&mut random, count);
    let draw = |random: &mut Rng| {
        let (address, length) = routes[random.usize(..routes.len())];
        address | random.u32(..) & !mask(length)
    };
    let keys: Vec<u32> = (0..OPERATIONS).map(|_| draw(&mut random)).collect();
    let mut searches: Vec<Box<dyn Search>> = vec![
        Box::new(Ours::narrow(&routes, &keys, false)),
        Box::new(Ours::narrow(&routes, &keys, true)),
        Box::new(Ours::wide(&routes, &keys)),
        Box::new(Crate::new(&routes, &keys)),
    ];
    #[cfg(feature = "dpdk")]
    searches.extend(super::dpdk::routes(&routes, &keys));
    searches.shrink_to_fit();
    (format!("{count} routes"), searches)
}

pub(crate) fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

/// Lengths of a hundred routes of the Internet, roughly.
fn length(random: &mut Rng) -> u8 {
    match random.u32(..100) {
        0..2 => 13 + random.u8(..3),
        2..5 => 16,
        5..14 => 17 + random.u8(..3),
        14..28 => 20 + random.u8(..2),
        28..39 => 22,
        39..48 => 23,
        48..97 => 24,
        _ => 25 + random.u8(..8),
    }
}

fn routes(random: &mut Rng, count: usize) -> Vec<Route> {
    let mut known = HashSet::new();
    let mut routes = Vec::with_capacity(count);
    // As many lengths as there are have room for it.
    while routes.len() < count {
        let length = length(random);
        let route = (random.u32(..) & mask(length), length);
        if known.insert(route) {
            routes.push(route);
        }
    }
    routes
}

/// A table of this crate, asked for numbers, or for what the entries hold.
struct Ours {
    name: &'static str,
    worker: MatchWorker,
    keys: Vec<u8>,
    width: usize,
    reads: bool,
    filling: Duration,
}

impl Ours {
    fn narrow(routes: &[Route], keys: &[u32], reads: bool) -> Self {
        let name = if reads {
            "MatchTable, 32 bits, bulk 32, with entries"
        } else {
            "MatchTable, 32 bits, bulk 32"
        };
        let bytes = keys.iter().flat_map(|key| key.to_be_bytes()).collect();
        Self::new(name, routes, bytes, 4, reads)
    }

    /// The same routes in the last bits of an IPv6 prefix: 2001:db8:aabb:ccdd::/32 and more.
    fn wide(routes: &[Route], keys: &[u32]) -> Self {
        let wide = |key: &u32| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
            bytes[4..8].copy_from_slice(&key.to_be_bytes());
            bytes
        };
        let bytes = keys.iter().flat_map(wide).collect();
        Self::new("MatchTable, 128 bits, bulk 32", routes, bytes, 16, false)
    }

    fn new(name: &'static str, routes: &[Route], keys: Vec<u8>, width: usize, reads: bool) -> Self {
        let design = Design { entry_lock: EntryLock::None, ..Design::shared(Storage::Inline) };
        let field = MatchField { bits: 8 * width as u32, kind: MatchKind::Lpm };
        let table = MatchTable::new(&[field], 4, routes.len(), design, &Options::default())
            .expect("memory for the benchmark");
        let prefix = |(address, length): Route| {
            let mut value = vec![0; width];
            let (at, before) = if width == 16 { (4, 32) } else { (0, 0) };
            if width == 16 {
                value[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
            }
            value[at..at + 4].copy_from_slice(&address.to_be_bytes());
            [FieldMatch::Lpm(value, before + u32::from(length))]
        };
        let ((), filling) = timed(|| {
            for (number, route) in routes.iter().enumerate() {
                let value = (number as u32).to_le_bytes();
                table.insert(&prefix(*route), 0, ActionId(0), &value, None).expect("a new route");
            }
        });
        let worker = table.worker().expect("a first worker");
        Self { name, worker, keys, width, reads, filling }
    }
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
        for keys in self.keys.chunks(32 * self.width) {
            if self.reads {
                let mut act = |_: usize, hit: &mut Hit<'_>| {
                    let value =
                        hit.parameters().first_chunk().map(|value| u32::from_le_bytes(*value));
                    sum += value.map_or(0, |value| u64::from(value) + 1);
                };
                self.worker.apply_batch(keys, Tick(0), &mut act).expect("whole keys");
            } else {
                let mut look = |_: usize, number: Option<u32>| {
                    sum += number.map_or(0, |number| u64::from(number) + 1);
                };
                self.worker.search_batch(keys, &mut look).expect("whole keys");
            }
        }
        sum
    }
}

/// The crate prefix-trie: one thread.
struct Crate {
    map: PrefixMap<Route, u32>,
    keys: Vec<u32>,
    filling: Duration,
}

impl Crate {
    fn new(routes: &[Route], keys: &[u32]) -> Self {
        let (map, filling) = timed(|| {
            let mut map = PrefixMap::new();
            for (number, route) in routes.iter().enumerate() {
                map.insert(*route, number as u32);
            }
            map
        });
        Self { map, keys: keys.to_vec(), filling }
    }
}

impl Search for Crate {
    fn name(&self) -> &str {
        "prefix-trie, one thread"
    }

    fn filling(&self) -> Duration {
        self.filling
    }

    fn search(&mut self) -> u64 {
        let found = |key: &u32| {
            self.map.get_lpm(&(*key, 32)).map_or(0, |(_, number)| u64::from(*number) + 1)
        };
        self.keys.iter().map(found).sum()
    }
}
