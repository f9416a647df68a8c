//! DPDK's rte_hash with the storages of the paper, through `shim/rte_hash.c`.

#![allow(unsafe_code, reason = "calls into the C shim")]

use std::ffi::{c_int, c_void};

use super::contenders::{Conditions, Contender, Guarantee, room, scatter};
use super::footprint::Footprint;

unsafe extern "C" {
    fn shim_init() -> c_int;
    fn shim_reserve(bytes: usize) -> c_int;
    fn shim_memory(table: *const c_void) -> usize;
    fn shim_room(table: *const c_void) -> u32;
    fn shim_new(size: u32, storage: c_int, lock_free: c_int) -> *mut c_void;
    fn shim_free(table: *mut c_void);
    fn shim_insert(table: *mut c_void, key: u32, value: u32) -> c_int;
    fn shim_update_scalar(table: *mut c_void, keys: *const u32, count: usize, mask: u32) -> u64;
    fn shim_update_bulk(table: *mut c_void, keys: *const u32, count: usize, mask: u32) -> u64;
}

pub(crate) struct RteHash {
    name: &'static str,
    table: *mut c_void,
    bulk: bool,
    lock_free: bool,
}

// SAFETY: the table either supports lock-free readers while there is a writer
// (`RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF`) or is used by one thread. After it has been filled, no
// entries are added or removed, and values are written by single stores.
unsafe impl Sync for RteHash {}

/// Starts DPDK's environment, and reserves memory for tables of `entries` entries in total. Returns
/// whether both succeeded.
fn ready(entries: usize) -> bool {
    static READY: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // SAFETY: the function is called once, before any other function of the shim, on the thread
    // that uses it.
    if !READY.get_or_init(|| unsafe { shim_init() == 0 }) {
        eprintln!("SKIPPED: DPDK's environment did not start; rte_hash is not compared");
        return false;
    }
    // SAFETY: the environment is running.
    if unsafe { shim_reserve((64 << 20) + 160 * entries) } != 0 {
        eprintln!("SKIPPED: no memory for rte_hash with {entries} entries");
        return false;
    }
    true
}

/// Returns the contenders, each with the footprint of the memory mapping in which it lies. DPDK
/// keeps all of its memory in this mapping, so the footprint includes that of other tables.
pub(crate) fn all(size: u32) -> Vec<(Box<dyn Contender>, Footprint)> {
    let contenders = [
        ("rte_hash original, scalar", 0, 0, false),
        ("rte_hash dynamic, lock-free, scalar", 1, 1, false),
        ("rte_hash static, lock-free, scalar", 2, 1, false),
        ("rte_hash static, lock-free, bulk 32", 2, 1, true),
        ("rte_hash static, no concurrency, bulk 32", 2, 0, true),
    ];
    if !ready(contenders.len() * size as usize) {
        return Vec::new();
    }
    contenders
        .into_iter()
        .filter_map(|(name, storage, lock_free, bulk)| {
            let contender = RteHash::filled(name, size, (storage, lock_free), bulk)?;
            // SAFETY: the table is alive.
            let memory = Footprint::of_mapping(unsafe { shim_memory(contender.table) });
            Some((Box::new(contender) as Box<dyn Contender>, memory))
        })
        .collect()
}

impl RteHash {
    /// Returns the table that threads may share, with bulk lookups, or `None` if DPDK does not
    /// start.
    pub(crate) fn shared(size: u32) -> Option<Self> {
        let filled = || Self::filled("rte_hash static, lock-free, bulk 32", size, (2, 1), true);
        ready(size as usize).then(filled).flatten()
    }

    fn filled(
        name: &'static str,
        size: u32,
        (storage, lock_free): (c_int, c_int),
        bulk: bool,
    ) -> Option<Self> {
        // SAFETY: the environment is running; the result is checked for null.
        let table = unsafe { shim_new(room(size) as u32, storage, lock_free) };
        if table.is_null() {
            eprintln!("SKIPPED: no {name} for {size} entries");
            return None;
        }
        let contender = Self { name, table, bulk, lock_free: lock_free == 1 };
        for key in (0..size).map(scatter) {
            // SAFETY: the table is alive and used only by this thread.
            if unsafe { shim_insert(table, key, key) } != 0 {
                eprintln!("SKIPPED: {name} is full before {size} entries");
                return None;
            }
        }
        Some(contender)
    }

    /// Updates like [`Contender::update`], from any number of threads if the table supports that.
    pub(crate) fn flip(&self, keys: &[u32], mask: u32) -> u64 {
        // SAFETY: the table is alive, and the pointer and the length are those of one slice.
        unsafe {
            if self.bulk {
                shim_update_bulk(self.table, keys.as_ptr(), keys.len(), mask)
            } else {
                shim_update_scalar(self.table, keys.as_ptr(), keys.len(), mask)
            }
        }
    }
}

impl Contender for RteHash {
    fn name(&self) -> &str {
        self.name
    }

    fn guarantee(&self) -> Guarantee {
        if self.lock_free { Guarantee::Shared } else { Guarantee::Alone }
    }

    fn conditions(&self) -> Conditions {
        // SAFETY: the table is alive.
        Conditions { room: Some(unsafe { shim_room(self.table) } as usize), hash: None }
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        self.flip(keys, mask)
    }
}

impl Drop for RteHash {
    fn drop(&mut self) {
        // SAFETY: the table is alive and not used again.
        unsafe { shim_free(self.table) };
    }
}
