//! Checks that `cargo bench -p planimeter-tables --bench updates` compares under equal conditions:
//! all maps have the same room, keys and hash, and memory of the same kind.

#[path = "../benches/updates/contenders.rs"]
#[allow(dead_code, reason = "parts that only the benchmark uses")]
mod contenders;
#[cfg(feature = "dpdk")]
#[path = "../benches/updates/dpdk.rs"]
#[allow(dead_code, reason = "parts that only the benchmark uses")]
mod dpdk;
#[path = "../benches/updates/footprint.rs"]
#[allow(dead_code, reason = "parts that only the benchmark uses")]
mod footprint;

use std::fs;
use std::hash::BuildHasher;

use contenders::{Conditions, Contender, Side, room, scatter};
use tables::{Design, KeyHash, Pages, Storage};

const SIZE: u32 = 1 << 12;

fn all() -> Vec<Box<dyn Contender>> {
    let made = contenders::all(SIZE);
    #[cfg(feature = "dpdk")]
    let made = made.into_iter().chain(dpdk::all(SIZE));
    made.into_iter().map(|(contender, _)| contender).collect()
}

#[test]
fn every_map_has_room_for_twice_its_entries() {
    let mut reported = 0;
    for contender in all() {
        // Papaya does not report its capacity.
        let Some(capacity) = contender.conditions().room else { continue };
        reported += 1;
        // Maps whose capacity is a power of two round up.
        let least = room(SIZE);
        assert!((least..2 * least).contains(&capacity), "{}: {capacity}", contender.name());
    }
    assert_eq!(room(SIZE), 2 * SIZE as usize);
    assert!(reported >= all().len() - 1, "{reported}");
}

#[test]
fn every_other_map_uses_the_hash_of_the_tables() {
    let ours = Some(KeyHash.hash_one(Conditions::PROBE));
    let mut others = Vec::new();
    for contender in all() {
        let hash = contender.conditions().hash;
        if contender.side() == Side::Other && !contender.name().starts_with("rte_hash") {
            assert_eq!(hash, ours, "{}", contender.name());
            others.push(contender.name().to_owned());
        }
    }
    assert_eq!(others, ["hashbrown", "papaya, atomic values", "dashmap"]);
}

#[test]
fn every_map_has_the_same_scattered_keys() {
    let keys: Vec<u32> = (0..SIZE).map(scatter).collect();
    let expected: u64 = keys.iter().map(|key| u64::from(*key)).sum();
    // Neighbours are not close to each other, so no hash benefits from the order of keys.
    assert!(keys.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1 << 16).count() < 10);
    for mut contender in all() {
        // Values equal the keys: if the sum is right, each of them is there.
        assert_eq!(contender.update(&keys, 0), expected, "{}", contender.name());
        let others: Vec<u32> = (SIZE..SIZE + 256).map(scatter).collect();
        assert_eq!(contender.update(&others, 0), 0, "{} has more", contender.name());
    }
}

#[test]
fn what_is_large_lies_on_huge_pages_on_both_sides_or_on_neither() {
    // Tables request huge pages themselves; for maps, the benchmark's allocator does so.
    let table = contenders::filled(Design::unlocked(Storage::Inline), 1 << 18);
    let advised = table.memory().pages == Pages::HugeAdvised;
    let map = contenders::Hashbrown::new(1 << 18, (0..1 << 18).map(scatter));
    let block = vec![1u8; 8 << 20];
    for (what, address) in [("a map", map.address()), ("a block", block.as_ptr() as usize)] {
        assert_eq!(is_advised(address), advised, "{what}");
    }
    if !advised {
        // The test harness captures `eprintln!` when a test passes.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: this kernel has no huge pages to ask for\n",
        );
    }
}

/// Returns whether huge pages were requested for the mapping of an address (`VmFlags` in proc(5)).
fn is_advised(address: usize) -> bool {
    let text = fs::read_to_string("/proc/self/smaps").expect("what the kernel maps");
    let mut around = false;
    for line in text.lines() {
        let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
        let bound = |text| usize::from_str_radix(text, 16).ok();
        if let Some((start, end)) = range.and_then(|(a, b)| Some((bound(a)?, bound(b)?))) {
            around = (start..end).contains(&address);
        } else if around && line.starts_with("VmFlags:") {
            return line.split_whitespace().any(|flag| flag == "hg");
        }
    }
    panic!("nothing is mapped at {address:#x}");
}
