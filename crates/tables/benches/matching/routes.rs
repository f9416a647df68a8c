//! Benchmarks of longest prefixes of 32 and of 128 bits.

use std::collections::HashSet;
use std::time::Duration;

use fastrand::Rng;
use prefix_trie::PrefixMap;
use tables::{FieldMatch, MatchField, MatchKind};

use super::ours::{Entry, Ours};
use super::{OPERATIONS, Search, timed};

/// A prefix: its address and length. Its number is its index in the list.
pub(crate) type Route = (u32, u8);

/// Returns the contenders with `count` routes.
pub(crate) fn all(count: usize) -> (String, Vec<Box<dyn Search>>) {
    let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    let routes = routes(&mut random, count);
    let draw = |random: &mut Rng| {
        let (address, length) = routes[random.usize(..routes.len())];
        address | random.u32(..) & !mask(length)
    };
    let keys: Vec<u32> = (0..OPERATIONS).map(|_| draw(&mut random)).collect();
    let mut searches: Vec<Box<dyn Search>> = vec![
        Box::new(narrow(&routes, &keys, false)),
        Box::new(narrow(&routes, &keys, true)),
        Box::new(wide(&routes, &keys)),
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

/// Draws a length, roughly as lengths are distributed among the routes of the Internet.
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
    // The drawn lengths have enough different prefixes for `count` routes.
    while routes.len() < count {
        let length = length(random);
        let route = (random.u32(..) & mask(length), length);
        if known.insert(route) {
            routes.push(route);
        }
    }
    routes
}

/// Returns a search of this crate for the numbers of routes, or for the contents of their entries.
fn narrow(routes: &[Route], keys: &[u32], reads: bool) -> Ours {
    let entry = |&(address, length): &Route| -> Entry {
        (vec![FieldMatch::Lpm(address.to_be_bytes().to_vec(), length.into())], 0)
    };
    let entries: Vec<Entry> = routes.iter().map(entry).collect();
    let keys: Vec<u128> = keys.iter().map(|key| u128::from(*key)).collect();
    let fields = [MatchField { bits: 32, kind: MatchKind::Lpm }];
    match reads {
        true => Ours::entries("PackedTable, 32 bits, bulk 32", &fields, &entries, &keys),
        false => Ours::numbers("Finder, 32 bits, bulk 32", &fields, &entries, &keys),
    }
}

/// Returns a search for IPv6 routes. Each consists of the 32 bits 2001:db8 and the bits of one of
/// these routes, so its length is that of the route plus 32.
fn wide(routes: &[Route], keys: &[u32]) -> Ours {
    let wide = |key: u32| 0x2001_0db8_u128 << 96 | u128::from(key) << 64;
    let entry = |&(address, length): &Route| -> Entry {
        let value = wide(address).to_be_bytes().to_vec();
        (vec![FieldMatch::Lpm(value, 32 + u32::from(length))], 0)
    };
    let entries: Vec<Entry> = routes.iter().map(entry).collect();
    let keys: Vec<u128> = keys.iter().map(|key| wide(*key)).collect();
    let fields = [MatchField { bits: 128, kind: MatchKind::Lpm }];
    Ours::numbers("Finder, 128 bits, bulk 32", &fields, &entries, &keys)
}

/// The map of the crate prefix-trie, which one thread uses.
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
