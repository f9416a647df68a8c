//! The functions that search with keys of more than 128 bits, which lie in memory.

use super::{Body, FindWide, Searcher};
use crate::search::{Processor, Search};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::ternary_tree::{Eight, Four};
use crate::ternary_tree::{Lanes, OneByOne};

/// Returns the function for [`Searcher::find_wide`] that suits a processor.
pub(super) fn function(processor: Processor) -> FindWide {
    match processor {
        Processor::Any => plain,
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Processor::Four => four,
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Processor::Eight => eight,
    }
}

/// Finds nothing, in place of [`Searcher::find_wide`] for keys of at most 128 bits.
pub(super) unsafe extern "C" fn nothing(_: *mut Searcher, _: *const u64) -> u64 {
    0
}

unsafe extern "C" fn plain(searcher: *mut Searcher, key: *const u64) -> u64 {
    // SAFETY: the caller guarantees that the searcher and the key are valid and that the searcher's
    // finder is alive and unchanged.
    unsafe { find(OneByOne, searcher, key) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2,avx2")]
unsafe extern "C" fn four(searcher: *mut Searcher, key: *const u64) -> u64 {
    // SAFETY: the caller guarantees that the searcher and the key are valid and that the searcher's
    // finder is alive and unchanged; this function has AVX2 enabled.
    unsafe { find(Four::known(), searcher, key) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2,avx2,avx512f")]
unsafe extern "C" fn eight(searcher: *mut Searcher, key: *const u64) -> u64 {
    // SAFETY: the caller guarantees that the searcher and the key are valid and that the searcher's
    // finder is alive and unchanged; this function has AVX-512 F enabled.
    unsafe { find(Eight::known(), searcher, key) }
}

/// Implements [`Searcher::find_wide`].
///
/// # Safety
/// `searcher` must have been made by [`Finder::searcher`] of a finder that is alive and that no
/// thread changes, and no other thread may use the searcher. `key` must be the address of a key
/// that has the number of words of the finder's keys, and no thread may write these words.
#[inline(always)]
unsafe fn find(lanes: impl Lanes, searcher: *mut Searcher, key: *const u64) -> u64 {
    // SAFETY: the searcher is valid and no other thread uses it. Its body points outside of it, to
    // a box that the finder owns.
    let Searcher { stack, body, .. } = unsafe { &mut *searcher };
    debug_assert!(!body.is_null());
    // SAFETY: the body is in a box of the finder, which is alive and which no thread changes.
    let Body { search, .. } = unsafe { &*body.cast::<Body>() };
    let words = match search {
        Search::Prefix { packing, .. } => packing.words(),
        Search::Exact { table, .. } => table.words(),
        Search::Ternary(tree) => tree.key_words(),
    };
    // SAFETY: the caller guarantees that the key has this number of words and that no thread writes
    // them.
    let key = unsafe { std::slice::from_raw_parts(key, words) };
    u64::from(match search {
        Search::Prefix { trie, .. } => trie.find_one(key),
        Search::Exact { table, .. } => table.find(key),
        Search::Ternary(tree) => tree.find(lanes, tree.now(), key, stack).name,
    })
}
