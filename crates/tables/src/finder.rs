//! Finds entries whose keys are not all matched exactly: by longest prefix, ternary, range or
//! optional fields. Machine code and [`TableWorker`](crate::TableWorker) call it.
//!
//! The result of a search is a number, which is the key of the entry in an
//! [`ExactTable`](crate::ExactTable) with 32-bit keys. The rules for threads that use that table
//! apply here too. Each thread of the data plane has a [`Searcher`] and uses it inside a
//! [`Gate`](crate::Gate). Unless documented otherwise, functions that take `&mut` are called while
//! the gate is closed.
//!
//! An insertion may take long, since a part of the tree that has grown is rebuilt. Therefore a
//! change is prepared while threads search ([`Finder::prepare_insertion`]), and threads are kept
//! out only for the short time in which it becomes visible ([`Finder::publish`]).
//!
//! Callers pack a key of up to 64 bits into one word, one of up to 128 bits into two, and a wider
//! one into words in memory ([`Finder::words_in_memory`]), of which they pass the address.
//! [`Finder::places`] says where each field goes.

mod few;
mod links;
#[cfg(test)]
mod tests;
mod wide;

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use thiserror::Error;

use crate::match_key::{FieldMatch, MatchError, MatchField, MatchKind, Pattern};
use crate::quiescence::Domain;
use crate::search::{
    Link, NARROW, Prepared, PreparedChange, Processor, Search, SearchWriter, has_priorities,
};
use crate::store::BATCH;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::ternary_tree::{Eight, Four};
use crate::ternary_tree::{Lanes, OneByOne, Together, Waiting};
use few::Few;
use links::Links;

/// The largest width of a packed key in bits.
const MAX_KEY: u32 = 1024;

/// The search structure is rebuilt to save memory only if it has had more entries than this number
/// since it was last built. If no entries are left, more than an eighth of this number suffices.
const SMALLEST_REBUILT: usize = 512;

/// A set of entries that are found by the fields of a packet's key: by prefix, mask, range or
/// value.
pub struct Finder {
    fields: Vec<MatchField>,
    // Searchers hold the address of the body, which must not change when the finder is moved.
    body: Box<Body>,
    writer: SearchWriter,
    /// The domain that delays the reuse of removed parts of the search structure. It has no
    /// readers, since the gate keeps packets out while entries are removed.
    domain: Domain,
    links: Links,
    pending: Option<Pending>,
    /// The number of entries for which the finder was made.
    declared: usize,
    /// The largest number of entries that the finder has had since the search structure was last
    /// built.
    most: usize,
}

/// The data that all searchers of a finder read.
struct Body {
    search: Search,
    /// The list of all entries for a linear search, if they are few and all are prefixes.
    few: Few,
}

/// A change of the entries that has been prepared but that searching threads do not see yet.
struct Pending {
    prepared: Prepared,
    link: Link,
    number: u32,
    adds: bool,
}

/// One thread's handle for searches in a [`Finder`]. Machine code calls the functions in its
/// fields.
#[repr(C)]
pub struct Searcher {
    /// The function that returns the number of the best entry that matches a key, or 0 if there is
    /// none. The arguments are the low and the high word of the key.
    ///
    /// It finds nothing if keys have more than 128 bits.
    pub find: unsafe extern "C" fn(*mut Searcher, u64, u64) -> u64,
    /// The function that returns the number of the best entry that matches a key of more than 128
    /// bits, or 0 if there is none. The argument is the address of the key:
    /// [`Finder::words_in_memory`] words, the most significant one first.
    ///
    /// It finds nothing if keys have at most 128 bits.
    pub find_wide: unsafe extern "C" fn(*mut Searcher, *const u64) -> u64,
    all: FindAll,
    body: *const c_void,
    stack: Vec<Waiting>,
    together: Together,
}

// SAFETY: the pointer leads to data that threads may share; the user of a searcher keeps the finder
// alive.
unsafe impl Send for Searcher {}
// SAFETY: every field that changes is changed through `&mut` only.
unsafe impl Sync for Searcher {}

/// The reason why a finder was not made or an entry was not added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FinderError {
    /// The fields take more than 1,024 bits, or no bits.
    #[error("keys take more than {MAX_KEY} bits, or none")]
    TooWide,
    /// The key has more than one longest-prefix field, and no field that needs a priority.
    #[error("a key has at most one lpm field; match the others as ternary")]
    TwoPrefixes,
    /// The fields of an entry do not fit the fields of the table's keys.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// Memory does not suffice. The finder is unchanged.
    #[error("no memory for finding the entry; make the table smaller")]
    Memory,
}

impl Finder {
    /// Creates a finder for keys of these fields, laid out for `entries` entries. More entries can
    /// be added, but searches may then be slower.
    ///
    /// # Errors
    /// Returns an error if keys are too wide, if more than one field is matched by prefix and no
    /// field needs a priority, or if memory does not suffice.
    pub fn new(fields: &[MatchField], entries: usize) -> Result<Self, FinderError> {
        Self::places(fields).ok_or(FinderError::TooWide)?;
        let prefixes = fields.iter().filter(|field| field.kind == MatchKind::Lpm).count();
        if prefixes > 1 && !has_priorities(fields) {
            return Err(FinderError::TwoPrefixes);
        }
        let (search, writer) = Search::new(fields, entries).ok_or(FinderError::Memory)?;
        Ok(Self {
            fields: fields.to_vec(),
            body: Box::new(Body { search, few: Few::default() }),
            writer,
            domain: Domain::new(),
            links: Links::default(),
            pending: None,
            declared: entries,
            most: 0,
        })
    }

    /// Returns the position of each field in a packed key, as the distance between the lowest bit
    /// of the key and that of the field. Returns `None` if keys are too wide. Fields are placed
    /// from the highest bit of the key downwards. If a field needs a priority, all fields begin at
    /// whole bytes. Otherwise the exact ones come first.
    #[must_use]
    pub fn places(fields: &[MatchField]) -> Option<Vec<u32>> {
        let bytewise = has_priorities(fields);
        let all = Self::bits(fields);
        if !(1..=MAX_KEY).contains(&all) {
            return None;
        }
        let mut above = match all {
            ..=64 => 64,
            65..=NARROW => NARROW,
            _ => all.next_multiple_of(64),
        };
        let mut places = vec![0; fields.len()];
        for prefixes in [false, true] {
            for (place, field) in places.iter_mut().zip(fields) {
                let is_last = !bytewise && field.kind == MatchKind::Lpm;
                if is_last == prefixes {
                    above -= room(field, bytewise);
                    *place = above;
                }
            }
        }
        Some(places)
    }

    /// Returns the number of words in memory into which callers pack a key of these fields. Returns
    /// `None` if keys have at most 128 bits, because callers pass them as two words, or if keys are
    /// too wide.
    #[must_use]
    pub fn words_in_memory(fields: &[MatchField]) -> Option<usize> {
        let all = Self::bits(fields);
        (NARROW + 1..=MAX_KEY).contains(&all).then(|| all.div_ceil(64) as usize)
    }

    /// Returns the number of bits that the fields take in a packed key.
    fn bits(fields: &[MatchField]) -> u32 {
        let bytewise = has_priorities(fields);
        fields.iter().fold(0_u32, |sum, field| sum.saturating_add(room(field, bytewise)))
    }

    /// Adds an entry, and returns its number. Among the entries that match a key, the one with the
    /// highest priority is found; among equal priorities, the one with the lowest `order`. If none
    /// of the fields needs a priority, the entry with the longest prefix is found. Two entries
    /// without priorities must differ in their matches.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the matches do not fit the fields or memory does
    /// not suffice.
    pub fn insert(
        &mut self,
        matches: &[FieldMatch],
        priority: u32,
        order: u64,
    ) -> Result<u32, FinderError> {
        let number = self.prepare_insertion(matches, priority, order)?;
        self.publish()?;
        Ok(number)
    }

    /// Removes the entry with this number. If memory does not suffice to change the search
    /// structure, searches may still return the number. No other entry gets it until the structure
    /// is rebuilt.
    pub fn remove(&mut self, number: u32) {
        self.prepare_removal(number);
        let _ = self.publish();
    }

    /// Prepares an insertion, as made by [`Finder::insert`], while threads may search, and returns
    /// the number of the entry. The next call must be [`Finder::publish`] or [`Finder::abandon`].
    ///
    /// # Errors
    /// Returns an error in the cases of [`Finder::insert`].
    pub fn prepare_insertion(
        &mut self,
        matches: &[FieldMatch],
        priority: u32,
        order: u64,
    ) -> Result<u32, FinderError> {
        self.abandon();
        let pattern = Pattern::new(&self.fields, matches)?;
        let number = self.links.free_number().ok_or(FinderError::Memory)?;
        // The search stores the number less one and returns it plus one, since 0 means that no
        // entry was found.
        let link = self.body.search.link(&pattern, priority, order, number - 1);
        let prepared = self.body.search.prepare(&mut self.writer, &link, true);
        let prepared = prepared.ok_or(FinderError::Memory)?;
        self.links.make_room(number);
        self.pending = Some(Pending { prepared, link, number, adds: true });
        Ok(number)
    }

    /// Prepares a removal, as made by [`Finder::remove`], while threads may search. The next call
    /// must be [`Finder::publish`] or [`Finder::abandon`].
    pub fn prepare_removal(&mut self, number: u32) {
        self.abandon();
        let Some(link) = self.links.take(number) else { return };
        match self.body.search.prepare(&mut self.writer, &link, false) {
            Some(prepared) => {
                self.pending = Some(Pending { prepared, link, number, adds: false });
            }
            // The search still finds the number, so no other entry may get it.
            None => self.links.lose(number),
        }
    }

    /// Makes the prepared change visible to searching threads. No thread may search during this
    /// call, which is short.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice. A failed insertion changes nothing. After a
    /// failed removal, the entry no longer counts, but searches may still return its number.
    pub fn publish(&mut self) -> Result<(), FinderError> {
        let Some(Pending { prepared, link, number, adds }) = self.pending.take() else {
            return Ok(());
        };
        let change = PreparedChange { prepared, link: &link, adds, number: number - 1 };
        let is_made = self.body.search.publish(&mut self.writer, &self.domain, change);
        match (adds, is_made) {
            (true, true) => self.links.put(number, link),
            (false, true) => self.links.free(number),
            (false, false) => self.links.lose(number),
            (true, false) => {}
        }
        self.most = self.most.max(self.links.len());
        self.links.show_few(&self.body.few);
        if is_made { Ok(()) } else { Err(FinderError::Memory) }
    }

    /// Discards the change that was prepared but not published.
    pub fn abandon(&mut self) {
        if let Some(Pending { link, number, adds, .. }) = self.pending.take() {
            Search::abandon(&mut self.writer);
            if !adds {
                self.links.put_back(number, link);
            }
        }
    }

    /// Returns a new search structure with the same entries, for [`Finder::adopt`]. Returns `None`
    /// unless the number of entries now requires another layout, or the current structure takes
    /// much more memory than needed because at most an eighth of the former entries are left.
    /// Threads may search meanwhile. No change may be pending.
    #[must_use]
    pub fn rebuilt(&self) -> Option<Rebuilt> {
        let count = self.links.len();
        let smallest = if count == 0 { SMALLEST_REBUILT / 8 } else { SMALLEST_REBUILT };
        let is_large = self.most > smallest && count <= self.most / 8;
        let entries = self.declared.max(count);
        let outgrew = count >= self.most && !self.body.search.suits(entries);
        if !is_large && !outgrew {
            return None;
        }
        let (search, mut writer) = Search::new(&self.fields, entries)?;
        let domain = Domain::new();
        let links = self.links.all().map(|(number, link)| (number - 1, link));
        if !search.add_all(&mut writer, &domain, links) {
            return None;
        }
        let body = Box::new(Body { search, few: Few::default() });
        self.links.show_few(&body.few);
        Some(Rebuilt { body, writer, domain })
    }

    /// Replaces the search structure by one that [`Finder::rebuilt`] made from the current entries,
    /// and returns the old one. The caller must make new searchers, and must keep the old structure
    /// until no earlier searcher is in use.
    pub fn adopt(&mut self, rebuilt: Rebuilt) -> Rebuilt {
        let Rebuilt { body, writer, domain } = rebuilt;
        self.most = self.links.len();
        self.links.find_lost();
        Rebuilt {
            body: std::mem::replace(&mut self.body, body),
            writer: std::mem::replace(&mut self.writer, writer),
            domain: std::mem::replace(&mut self.domain, domain),
        }
    }

    /// Frees memory that is needed only for changes of the entries. Threads may search during the
    /// call.
    pub fn shrink(&mut self) {
        self.links.shrink();
    }

    /// Returns the number of bytes of memory that searching threads read. The data that only
    /// changes of the entries need is not included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.search.bytes()
    }

    /// Returns a searcher for one thread. The searcher may be used as long as the finder is alive
    /// and has not adopted another search structure.
    #[must_use]
    pub fn searcher(&self) -> Searcher {
        self.source().searcher()
    }

    /// Returns a source of searchers, from which other code can make searchers without having the
    /// finder.
    #[must_use]
    pub fn source(&self) -> SearcherSource {
        let functions = self.body.search.functions();
        SearcherSource { functions, body: ptr::from_ref(&*self.body).cast() }
    }
}

/// A source of searchers for one [`Finder`].
#[derive(Debug)]
pub struct SearcherSource {
    functions: Functions,
    body: *const c_void,
}

// SAFETY: `body` points to a search that threads may share; the user of a searcher made from it
// keeps the finder alive.
unsafe impl Send for SearcherSource {}
// SAFETY: a shared reference only lets threads copy the fields; changing the search needs
// `&mut Finder`.
unsafe impl Sync for SearcherSource {}

impl SearcherSource {
    /// Returns a searcher for one thread. The searcher may be used as long as the finder is alive
    /// and has not adopted another search structure since the source was made.
    #[must_use]
    pub fn searcher(&self) -> Searcher {
        let Self { functions: Functions { find, find_wide, all }, body } = *self;
        Searcher { find, find_wide, all, body, ..Searcher::none() }
    }
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fields, links, .. } = self;
        let entries = links.len();
        f.debug_struct("Finder").field("fields", fields).field("entries", &entries).finish()
    }
}

/// A new search structure, with which [`Finder::adopt`] replaces that of a [`Finder`].
pub struct Rebuilt {
    body: Box<Body>,
    writer: SearchWriter,
    domain: Domain,
}

impl fmt::Debug for Rebuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebuilt").finish_non_exhaustive()
    }
}

impl Searcher {
    /// Returns a searcher that finds nothing, for tables whose keys are exact.
    #[must_use]
    pub fn none() -> Self {
        Self {
            find: nothing,
            find_wide: wide::nothing,
            all: nothing_at_all,
            body: ptr::null(),
            stack: Vec::new(),
            together: Together::default(),
        }
    }

    /// Prefetches the memory that the searches for these keys read first. Does nothing unless keys
    /// have up to 64 bits and are matched by prefix, and there are too many entries for a linear
    /// search. The caller may do other work before it calls [`Searcher::find_all`], which finds the
    /// entries.
    ///
    /// # Safety
    /// The finder must be alive, and no thread may change it during the call.
    #[inline]
    pub unsafe fn prefetch_keys(&self, keys: &[[u64; 2]]) {
        // SAFETY: the caller guarantees that the finder is alive and unchanged; the body of a
        // searcher is null or points to its finder's body, in a box of its own.
        let body = unsafe { self.body.cast::<Body>().as_ref() };
        if let Some(Body { search: Search::Prefix { packing, trie }, few }) = body
            && packing.bits() <= 64
            && !few.has_all()
        {
            trie.prefetch_keys(keys);
        }
    }

    /// Writes to `found` the result of `find` for each key, whose low word comes first. The
    /// searches are interleaved, so that a cache miss of one does not delay the others. Searches
    /// are fastest if the keys were prefetched before ([`Searcher::prefetch_keys`]).
    ///
    /// # Safety
    /// The finder must be alive, and no thread may change it during the call.
    pub unsafe fn find_all(&mut self, keys: &[[u64; 2]], found: &mut [u32]) {
        // SAFETY: the caller guarantees that the finder is alive and unchanged.
        unsafe { (self.all)(self, keys, found) }
    }
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").finish_non_exhaustive()
    }
}

type Find = unsafe extern "C" fn(*mut Searcher, u64, u64) -> u64;
type FindWide = unsafe extern "C" fn(*mut Searcher, *const u64) -> u64;
type FindAll = unsafe fn(&mut Searcher, &[[u64; 2]], &mut [u32]);

/// The functions that search, for one kind of search and the processor of this machine.
#[derive(Clone, Copy, Debug)]
struct Functions {
    find: Find,
    find_wide: FindWide,
    all: FindAll,
}

/// Returns the number of bits that a field takes in a packed key. `bytewise` says whether fields
/// begin at whole bytes.
fn room(field: &MatchField, bytewise: bool) -> u32 {
    if bytewise { field.bits.div_ceil(8).saturating_mul(8) } else { field.bits }
}

impl Search {
    /// Returns the functions that search this structure.
    fn functions(&self) -> Functions {
        let is_wide = match self {
            Self::Prefix { packing, .. } => packing.bits() > NARROW,
            Self::Exact { .. } => true,
            Self::Ternary(tree) => tree.key_words() > 2,
        };
        if !is_wide {
            let (find, all) = self.functions_for_words();
            return Functions { find, find_wide: wide::nothing, all };
        }
        let find_wide = wide::function(Processor::here());
        Functions { find: nothing, find_wide, all: nothing_at_all }
    }

    /// Returns the functions that search with keys of at most two words.
    fn functions_for_words(&self) -> (Find, FindAll) {
        let bits = match self {
            Self::Prefix { packing, .. } | Self::Exact { packing, .. } => packing.bits(),
            Self::Ternary(_) => 0,
        };
        match (Processor::here(), bits) {
            (Processor::Any, 0) => (plain::<RULES>, all_plain::<RULES>),
            (Processor::Any, 1..=64) => (plain::<SHORT>, all_plain::<SHORT>),
            (Processor::Any, _) => (plain::<MEDIUM>, all_plain::<MEDIUM>),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            (Processor::Eight, 0) => (eight::<RULES>, all_eight::<RULES>),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            (Processor::Four, 0) => (four::<RULES>, all_four::<RULES>),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            (Processor::Four | Processor::Eight, 1..=64) => (four::<SHORT>, all_four::<SHORT>),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            (Processor::Four | Processor::Eight, _) => (four::<MEDIUM>, all_four::<MEDIUM>),
        }
    }
}

/// The value of the parameter `HOW` for searches by rules with priorities. The other values are
/// [`SHORT`], for prefixes of keys of one word, and [`MEDIUM`], for prefixes of keys of two words.
const RULES: u8 = 0;
const SHORT: u8 = 1;
const MEDIUM: u8 = 2;

unsafe extern "C" fn nothing(_: *mut Searcher, _: u64, _: u64) -> u64 {
    0
}

unsafe fn nothing_at_all(_: &mut Searcher, _: &[[u64; 2]], found: &mut [u32]) {
    found.fill(0);
}

unsafe extern "C" fn plain<const HOW: u8>(searcher: *mut Searcher, low: u64, high: u64) -> u64 {
    // SAFETY: the caller guarantees that the searcher is valid and its finder is alive and
    // unchanged.
    unsafe { find::<HOW>(OneByOne, searcher, low, high) }
}

unsafe fn all_plain<const HOW: u8>(searcher: &mut Searcher, keys: &[[u64; 2]], found: &mut [u32]) {
    // SAFETY: the caller guarantees that the searcher's finder is alive and unchanged.
    unsafe { find_all::<HOW>(OneByOne, searcher, keys, found) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2,avx2")]
unsafe extern "C" fn four<const HOW: u8>(searcher: *mut Searcher, low: u64, high: u64) -> u64 {
    // SAFETY: the caller guarantees that the searcher is valid and its finder is alive and
    // unchanged; this function has AVX2 enabled.
    unsafe { find::<HOW>(Four::known(), searcher, low, high) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2,avx2")]
unsafe fn all_four<const HOW: u8>(searcher: &mut Searcher, keys: &[[u64; 2]], found: &mut [u32]) {
    // SAFETY: the caller guarantees that the searcher's finder is alive and unchanged; this
    // function has AVX2 enabled.
    unsafe { find_all::<HOW>(Four::known(), searcher, keys, found) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2,avx2,avx512f")]
unsafe extern "C" fn eight<const HOW: u8>(searcher: *mut Searcher, low: u64, high: u64) -> u64 {
    // SAFETY: the caller guarantees that the searcher is valid and its finder is alive and
    // unchanged; this function has AVX-512 F enabled.
    unsafe { find::<HOW>(Eight::known(), searcher, low, high) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2,avx2,avx512f")]
unsafe fn all_eight<const HOW: u8>(searcher: &mut Searcher, keys: &[[u64; 2]], found: &mut [u32]) {
    // SAFETY: the caller guarantees that the searcher's finder is alive and unchanged; this
    // function has AVX-512 F enabled.
    unsafe { find_all::<HOW>(Eight::known(), searcher, keys, found) }
}

/// Implements [`Searcher::find_all`] for searches of the kind `HOW`.
///
/// # Safety
/// `searcher` must have been made by [`Finder::searcher`] of a finder that is alive and that no
/// thread changes.
#[inline(always)]
unsafe fn find_all<const HOW: u8>(
    lanes: impl Lanes,
    searcher: &mut Searcher,
    keys: &[[u64; 2]],
    found: &mut [u32],
) {
    let Searcher { together, body, .. } = searcher;
    // SAFETY: the searcher's body points to the body of its finder, which is alive and unchanged.
    let Body { search, few } = unsafe { &*body.cast::<Body>() };
    if HOW == SHORT && few.has_all() {
        return few.find_all(keys, found);
    }
    for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
        match search {
            Search::Prefix { trie, .. } if HOW == SHORT => trie.find_prefetched(keys, found),
            Search::Prefix { trie, .. } if HOW == MEDIUM => {
                let mut medium = [0; BATCH];
                let wide = |[low, high]: &[u64; 2]| u128::from(*high) << 64 | u128::from(*low);
                medium.iter_mut().zip(keys).for_each(|(to, key)| *to = wide(key));
                trie.find(&medium[..keys.len()], found);
            }
            Search::Ternary(tree) if HOW == RULES => {
                // Each key is followed by a word of zeros.
                let mut words = [0; 3 * BATCH];
                let own = if tree.key_words() == 1 {
                    let own = words.as_chunks_mut::<2>().0.iter_mut().zip(keys);
                    own.for_each(|(to, [low, _])| *to = [*low, 0]);
                    &words[..2 * keys.len()]
                } else {
                    let own = words.as_chunks_mut::<3>().0.iter_mut().zip(keys);
                    own.for_each(|(to, [low, high])| *to = [*high, *low, 0]);
                    &words[..3 * keys.len()]
                };
                tree.find_all(lanes, tree.now(), own, found, together);
            }
            _ => found.fill(0),
        }
    }
}

/// Implements [`Searcher::find`] for searches of the kind `HOW`.
///
/// # Safety
/// `searcher` must have been made by [`Finder::searcher`] of a finder that is alive and that no
/// thread changes, and no other thread may use the searcher.
#[inline(always)]
unsafe fn find<const HOW: u8>(
    lanes: impl Lanes,
    searcher: *mut Searcher,
    low: u64,
    high: u64,
) -> u64 {
    // SAFETY: the searcher is valid and no other thread uses it. Its body points outside of it, to
    // a box that the finder owns.
    let Searcher { stack, body, .. } = unsafe { &mut *searcher };
    debug_assert!(!body.is_null());
    // SAFETY: the body is in a box of the finder, which is alive and which no thread changes.
    let Body { search, .. } = unsafe { &*body.cast::<Body>() };
    let found = match search {
        Search::Prefix { trie, .. } if HOW == SHORT => trie.find_one(low),
        Search::Prefix { trie, .. } if HOW == MEDIUM => {
            trie.find_one(u128::from(high) << 64 | u128::from(low))
        }
        Search::Ternary(tree) if HOW == RULES => {
            let key = if tree.key_words() > 1 { [high, low, 0] } else { [low, 0, 0] };
            tree.find(lanes, tree.now(), &key[..=tree.key_words()], stack).name
        }
        _ => 0,
    };
    u64::from(found)
}
