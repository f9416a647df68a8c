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
mod wide;

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use thiserror::Error;

use crate::match_key::{FieldMatch, MatchError, MatchField, MatchKind, Pattern};
use crate::quiescence::Domain;
use crate::search::{Link, NARROW, Prepared, Processor, Search, SearchWriter, has_priorities};
use crate::store::BATCH;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::ternary_tree::{Eight, Four};
use crate::ternary_tree::{Lanes, OneByOne, Together, Waiting};
use few::Few;
use links::Links;

/// The largest width of a packed key in bits.
const MAX_KEY: u32 = 1024;

/// A search is rebuilt to save memory only if it has had more entries than this number since it was
/// last built. If no entries are left, more than an eighth of this number suffices.
const SMALLEST_REBUILT: usize = 512;

/// A set of entries that are found by the fields of a packet's key: by prefix, mask, range or
/// value.
pub struct Finder {
    fields: Vec<MatchField>,
    // Searchers hold the address of the body, which must not change when the finder is moved.
    body: Box<Body>,
    writer: SearchWriter,
    /// The domain that delays the reuse of removed parts of the search. It has no readers, since
    /// the gate keeps packets out while entries are removed.
    domain: Domain,
    links: Links,
    pending: Option<Pending>,
    /// The number of entries that the finder was made for.
    declared: usize,
    /// The largest number of entries that the finder has had since the search was last built.
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

/// One thread's means to search a [`Finder`]. Machine code calls the functions in its fields.
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

    /// Returns the number of words in memory that callers pack a key of these fields into, or
    /// `None` if keys have at most 128 bits, which are passed as two words, or are too wide.
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

    /// Removes the entry with this number. If memory does not suffice to change the search,
    /// searches may still find the number, and no other entry gets it until the search is rebuilt.
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
    /// failed removal, the entry no longer counts, but searches may still find its number.
    pub fn publish(&mut self) -> Result<(), FinderError> {
        let Some(Pending { prepared, link, number, adds }) = self.pending.take() else {
            return Ok(());
        };
        let change = (prepared, &link, adds, number - 1);
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

    /// Returns a new search with the same entries, for [`Finder::adopt`], if the number of entries
    /// now requires another layout, or if this search takes much more memory than needed because at
    /// most an eighth of the former entries are left. Threads may search meanwhile. No change may
    /// be pending.
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

    /// Replaces the search by one that [`Finder::rebuilt`] made from the current entries. The
    /// caller must make new searchers, and must keep the returned old search until no earlier
    /// searcher is in use.
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
    /// and has not adopted another search.
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
    /// and has not adopted another search since the source was made.
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

/// The constant for searches by rules with priorities. The other kinds of searches are [`SHORT`],
/// by prefixes of keys of one word, and [`MEDIUM`], by prefixes of keys of two words.
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

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// An entry of the oracle.
    struct Known {
        number: u32,
        matches: Vec<FieldMatch>,
        priority: u32,
        order: u64,
    }

    fn bytes(value: u64, bits: u32) -> Vec<u8> {
        value.to_be_bytes()[8 - bits.div_ceil(8) as usize..].to_vec()
    }

    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn mask(bits: u32, length: u32) -> u64 {
        if length == 0 { 0 } else { u64::MAX >> (64 - length) << (bits - length) }
    }

    /// Draws a match from few values, so that matches overlap.
    fn draw(random: &mut Rng, field: &MatchField) -> FieldMatch {
        let bits = field.bits;
        let all = mask(bits, bits);
        let value = (random.u64(..4) * (all / 3)) & all;
        let any = random.u64(..4) == 0;
        match field.kind {
            MatchKind::Exact => FieldMatch::Exact(bytes(value, bits)),
            _ if any => FieldMatch::Any,
            MatchKind::Lpm => {
                let length = random.u32(1..=bits);
                FieldMatch::Lpm(bytes(value & mask(bits, length), bits), length)
            }
            MatchKind::Optional => FieldMatch::Exact(bytes(value, bits)),
            MatchKind::Ternary => {
                let cares = random.u64(..) & all;
                FieldMatch::Ternary(bytes(value & cares, bits), bytes(cares, bits))
            }
            MatchKind::Range => {
                let (one, other) = (value, (random.u64(..4) * (all / 3)) & all);
                FieldMatch::Range(bytes(one.min(other), bits), bytes(one.max(other), bits))
            }
        }
    }

    /// Returns the length of the prefix with which an entry matches a key, or `None` if it does not
    /// match.
    fn matches(known: &Known, fields: &[MatchField], key: &[u64]) -> Option<u32> {
        let mut length = 0;
        for ((wanted, field), key) in known.matches.iter().zip(fields).zip(key) {
            let fits = match wanted {
                FieldMatch::Any => true,
                FieldMatch::Exact(value) => number(value) == *key,
                FieldMatch::Lpm(value, prefix) => {
                    length = *prefix;
                    key & mask(field.bits, *prefix) == number(value)
                }
                FieldMatch::Ternary(value, cares) => key & number(cares) == number(value),
                FieldMatch::Range(low, high) => (number(low)..=number(high)).contains(key),
            };
            if !fits {
                return None;
            }
        }
        Some(length)
    }

    fn pack(places: &[u32], key: &[u64]) -> [u64; 2] {
        let packed = places
            .iter()
            .zip(key)
            .fold(0, |packed, (above, key)| packed | u128::from(*key) << above);
        [packed as u64, (packed >> 64) as u64]
    }

    fn search(searcher: &mut Searcher, [low, high]: [u64; 2]) -> u32 {
        // SAFETY: the finder is alive and unchanged during the call.
        let found = unsafe { (searcher.find)(searcher, low, high) };
        found as u32
    }

    /// Adds and removes entries. Each search must find what a scan of all entries finds.
    #[test]
    fn the_best_entry_is_found_whatever_the_fields() {
        use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
        let keys: [&[(u32, MatchKind)]; 8] = [
            &[(32, Lpm)],
            &[(9, Lpm), (5, Exact)],
            &[(64, Exact), (60, Lpm)],
            &[(64, Lpm)],
            &[(13, Ternary)],
            &[(32, Ternary), (32, Ternary), (16, Range), (16, Range), (8, Optional)],
            &[(1, Optional), (7, Range), (48, Exact)],
            &[(33, Lpm), (3, Ternary), (12, Lpm)],
        ];
        // Tables made for few and for many entries.
        let keys = keys.into_iter().flat_map(|kinds| [(kinds, 64), (kinds, 1 << 20)]);
        for (seed, (kinds, size)) in keys.enumerate() {
            let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15 + seed as u64);
            let fields: Vec<MatchField> =
                kinds.iter().map(|(bits, kind)| MatchField { bits: *bits, kind: *kind }).collect();
            let ranked = has_priorities(&fields);
            let mut finder = Finder::new(&fields, size).unwrap();
            let places = Finder::places(&fields).unwrap();
            let mut searcher = finder.searcher();
            let mut known: Vec<Known> = Vec::new();
            let (mut hits, mut packed) = (0, Vec::new());
            for order in 0..if cfg!(miri) { 40 } else { 600 } {
                // The number of entries alternates between more and fewer than are compared one by
                // one.
                let most = if order / 50 % 2 == 0 { 40 } else { 10 };
                while known.len() > most || random.u64(..4) == 0 && !known.is_empty() {
                    let gone = known.swap_remove(random.usize(..known.len()));
                    finder.remove(gone.number);
                }
                let matches_new: Vec<FieldMatch> =
                    fields.iter().map(|field| draw(&mut random, field)).collect();
                let priority = if ranked { 1 + random.u32(..5) } else { 0 };
                // Entries without a priority must differ in their matches. All prefixes of no bits
                // are equal.
                if ranked || known.iter().all(|other| other.matches != matches_new) {
                    let number = finder.insert(&matches_new, priority, order).unwrap();
                    assert!(known.iter().all(|other| other.number != number));
                    known.push(Known { number, matches: matches_new, priority, order });
                }
                let key: Vec<u64> = fields
                    .iter()
                    .map(|field| {
                        let all = mask(field.bits, field.bits);
                        let near = (random.u64(..4) * (all / 3)) & all;
                        if random.u64(..3) == 0 { random.u64(..) & all } else { near }
                    })
                    .collect();
                let best = known
                    .iter()
                    .filter_map(|known| Some((matches(known, &fields, &key)?, known)))
                    .max_by_key(|(length, known)| {
                        let length = if ranked { 0 } else { *length };
                        (known.priority, length, std::cmp::Reverse(known.order))
                    })
                    .map_or(0, |(_, known)| known.number);
                packed.push(pack(&places, &key));
                let found = search(&mut searcher, pack(&places, &key));
                assert_eq!(found, best, "{kinds:?} {key:x?}");
                let mut together = [u32::MAX];
                // SAFETY: the finder is alive and unchanged during the call.
                unsafe { searcher.find_all(&[pack(&places, &key)], &mut together) };
                assert_eq!(together, [best], "{kinds:?} {key:x?}");
                hits += u32::from(best != 0);
            }
            assert!(hits > 5, "{kinds:?}: {hits} hits");
            let one_by_one: Vec<u32> =
                packed.iter().map(|key| search(&mut searcher, *key)).collect();
            let mut together = vec![u32::MAX; packed.len()];
            // SAFETY: the finder is alive and unchanged during the call.
            unsafe { searcher.find_all(&packed, &mut together) };
            assert_eq!(together, one_by_one, "{kinds:?}");
        }
    }

    /// A test small enough for Miri: the function that machine code calls with the address of a
    /// key.
    #[test]
    fn an_entry_is_found_by_a_key_in_memory() {
        for kind in [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary] {
            let fields =
                [MatchField { bits: 8, kind: MatchKind::Exact }, MatchField { bits: 128, kind }];
            let mut finder = Finder::new(&fields, 1).unwrap();
            let value = vec![7; 16];
            let matches = match kind {
                MatchKind::Lpm => FieldMatch::Lpm(value, 128),
                MatchKind::Ternary => FieldMatch::Ternary(value, vec![0xff; 16]),
                MatchKind::Exact | MatchKind::Range | MatchKind::Optional => {
                    FieldMatch::Exact(value)
                }
            };
            let matches = [FieldMatch::Exact(vec![0x45]), matches];
            let number = finder.insert(&matches, 1, 0).unwrap();
            let mut searcher = finder.searcher();
            let sevens = u64::from_be_bytes([7; 8]);
            for (first, expected) in [(0x45, number), (0x46, 0)] {
                let key = [first << 56 | sevens >> 8, sevens, 7 << 56];
                // SAFETY: the finder is alive and unchanged during the call, and its keys have
                // three words.
                let found = unsafe { (searcher.find_wide)(&raw mut searcher, key.as_ptr()) };
                assert_eq!(found, u64::from(expected), "{kind:?}");
                // SAFETY: the finder is alive and unchanged during the call.
                assert_eq!(unsafe { (searcher.find)(&raw mut searcher, key[0], key[1]) }, 0);
            }
            finder.remove(number);
        }
    }

    /// A test small enough for Miri: the functions that machine code calls, and those for many
    /// keys.
    #[test]
    fn an_entry_is_found_by_one_key_and_by_many() {
        for kind in [MatchKind::Lpm, MatchKind::Ternary] {
            let mut finder = Finder::new(&[MatchField { bits: 8, kind }], 1).unwrap();
            let matches = match kind {
                MatchKind::Lpm => FieldMatch::Lpm(vec![0x40], 4),
                _ => FieldMatch::Ternary(vec![0x40], vec![0xf0]),
            };
            let priority = u32::from(kind != MatchKind::Lpm);
            let number = finder.insert(&[matches], priority, 0).unwrap();
            let mut searcher = finder.searcher();
            let keys = [0x45_u64, 0x54].map(|key| [key << 56, 0]);
            assert_eq!(keys.map(|key| search(&mut searcher, key)), [number, 0], "{kind:?}");
            let mut together = [u32::MAX; 2];
            // SAFETY: the finder is alive and unchanged during the call.
            unsafe { searcher.find_all(&keys, &mut together) };
            assert_eq!(together, [number, 0], "{kind:?}");
        }
    }

    /// Returns the number that is found for each key.
    fn found(finder: &Finder, keys: &[u64], bits: u32) -> Vec<u32> {
        let mut searcher = finder.searcher();
        keys.iter().map(|key| search(&mut searcher, [key << (64 - bits), 0])).collect()
    }

    fn of_kind(kind: MatchKind, number: u32) -> FieldMatch {
        let (low, high) =
            (bytes(u64::from(number) << 4, 32), bytes(u64::from(number) << 4 | 15, 32));
        match kind {
            MatchKind::Lpm => FieldMatch::Lpm(low, if number.is_multiple_of(2) { 28 } else { 30 }),
            MatchKind::Ternary => FieldMatch::Ternary(low, bytes(!15, 64)[4..].to_vec()),
            MatchKind::Range => FieldMatch::Range(low, high),
            MatchKind::Exact | MatchKind::Optional => FieldMatch::Exact(low),
        }
    }

    #[test]
    fn a_change_that_is_prepared_is_not_found_until_it_is_published() {
        for kind in [MatchKind::Lpm, MatchKind::Ternary, MatchKind::Range, MatchKind::Optional] {
            let mut finder = Finder::new(&[MatchField { bits: 32, kind }], 64).unwrap();
            let count = if cfg!(miri) { 8 } else { 300 };
            let keys: Vec<u64> = (0..count).map(|number| u64::from(number) << 4).collect();
            let mut expected = vec![0; keys.len()];
            for number in 0..count {
                // Each insertion is prepared and abandoned once before it is made.
                let matches = [of_kind(kind, number)];
                let first = finder.prepare_insertion(&matches, 1, number.into()).unwrap();
                if number % 50 == 0 {
                    assert_eq!(found(&finder, &keys, 32), expected, "{kind:?} {number}");
                }
                finder.abandon();
                let entry = finder.prepare_insertion(&matches, 1, number.into()).unwrap();
                assert_eq!(entry, first);
                finder.publish().unwrap();
                expected[number as usize] = entry;
            }
            assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
            finder.prepare_removal(expected[7]);
            assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
            finder.abandon();
            assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
            finder.remove(expected[7]);
            let last = std::mem::take(&mut expected[7]);
            assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
            expected[7] = finder.insert(&[of_kind(kind, 7)], 1, 7).unwrap();
            assert_eq!(expected[7], last, "the lowest number that is free");
            assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
        }
    }

    /// Checks that a search with more entries than it was made for gets the layout of a large one,
    /// and that a search in which few entries are left takes little memory again.
    #[test]
    fn a_search_is_rebuilt_when_it_has_outgrown_its_layout_or_few_entries_are_left() {
        if cfg!(miri) {
            eprintln!("SKIPPED: too many entries for Miri");
            return;
        }
        for (kind, count) in [(MatchKind::Lpm, 70_000), (MatchKind::Ternary, 6_000)] {
            let mut finder = Finder::new(&[MatchField { bits: 32, kind }], 64).unwrap();
            let empty = finder.bytes();
            let mut numbers = Vec::new();
            let mut built = 0;
            for number in 0..count {
                if let Some(rebuilt) = finder.rebuilt() {
                    finder.adopt(rebuilt);
                    built += 1;
                }
                numbers.push(finder.insert(&[of_kind(kind, number)], 1, number.into()).unwrap());
            }
            assert_eq!(built, usize::from(kind == MatchKind::Lpm), "{kind:?}");
            let full = finder.bytes();
            let left = 20;
            for number in &numbers[left..] {
                finder.remove(*number);
            }
            let rebuilt = finder.rebuilt().expect("few are left");
            let before = finder.adopt(rebuilt);
            finder.shrink();
            drop(before);
            assert!(finder.rebuilt().is_none());
            assert!(finder.bytes() < full / 8 || finder.bytes() <= empty, "{kind:?}");
            let keys: Vec<u64> = (0..100).map(|number| number << 4).collect();
            let mut expected = numbers[..left].to_vec();
            expected.resize(keys.len(), 0);
            assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
            // The lowest free number is assigned next.
            assert_eq!(finder.insert(&[of_kind(kind, 50)], 1, 50), Ok(left as u32 + 1));
        }
    }

    #[test]
    fn keys_that_no_search_can_have_are_refused() {
        let of = |kinds: &[(u32, MatchKind)]| {
            let fields: Vec<MatchField> =
                kinds.iter().map(|(bits, kind)| MatchField { bits: *bits, kind: *kind }).collect();
            Finder::new(&fields, 64).map(|_| ())
        };
        assert_eq!(of(&[(1025, MatchKind::Lpm)]), Err(FinderError::TooWide));
        assert_eq!(
            of(&[(1017, MatchKind::Ternary), (1, MatchKind::Exact)]),
            Err(FinderError::TooWide)
        );
        assert_eq!(of(&[]), Err(FinderError::TooWide));
        assert_eq!(of(&[(8, MatchKind::Lpm), (8, MatchKind::Lpm)]), Err(FinderError::TwoPrefixes));
        assert_eq!(of(&[(1024, MatchKind::Lpm)]), Ok(()));
    }
}
