//! Match-action tables that packets may write: storage, synchronisation, memory and cache models.
//!
//! A [`Layout`] says what a table holds, a [`Design`] how it is stored and kept consistent. Choosing a design is a
//! data structure and not a rebuild, so that a program can be measured under all of them; a design that cannot
//! honour what a program asks ([`Requirements`]) is refused with a message that names one which would.
//!
//! The designs, their names and their memory models are those of Simon et al., "High-Performance Match-Action Table
//! Updates from within Programmable Software Data Planes" (ANCS 2021), called "the paper" in this crate, beside
//! [`Storage::Inline`], which is our own.
//!
//! The control plane uses a [`Table`] (or, for keys that are not matched exactly, a [`MatchTable`]); each thread of
//! the data plane has a [`Worker`]. What packets do is an implementation of [`Actions`], or a closure:
//!
//! ```
//! use tables::{ActionId, Design, Hit, Layout, Tick, Table};
//!
//! let table = Table::new(Layout::new(32, 4, 1024)?, Design::sharded(1))?;
//! table.insert(&[10, 0, 0, 1], ActionId(0), &[0; 4])?;
//! let mut worker = table.worker()?;
//! // Two packets with the same key: the second sees what the first wrote.
//! let keys = [10, 0, 0, 1, 10, 0, 0, 1];
//! worker.apply_batch(&keys, Tick(0), &mut |_: usize, entry: &mut Hit<'_>| entry.parameters_mut()[0] += 1)?;
//! assert_eq!(table.read(&[10, 0, 0, 1]).map(|entry| entry.parameters[0]), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How it works inside: [`Storage::Inline`] is an array of one-line buckets that hold keys and values; the paper's
//! storages use the same buckets as an index. Readers check a bucket's or an entry's version instead of taking a
//! lock; workers whose actions have entries alone lock them, or announce windows of them. What a deletion unlinks is used
//! again only when no worker can see it any more, which epochs tell. All memory that changes while it is shared is reached by
//! atomics, so that no call, in whatever order, is a data race. Keys that are not matched exactly are found through trees whose
//! nodes never change: a new way to an entry is published by one store.

#[allow(unsafe_code, reason = "what machine code calls")]
mod access;
mod ageing;
mod announcement;
mod arena;
#[allow(unsafe_code, reason = "fields of a cache line are reached through its address")]
mod bucket;
mod calm;
mod cells;
mod counter;
mod design;
mod digest;
mod direct;
mod entry;
mod exact;
mod exclusive;
#[allow(unsafe_code, reason = "machine code hands its searcher back")]
mod finder;
mod gate;
mod group;
mod hash;
#[allow(unsafe_code, reason = "entries are reached through addresses, and allocated one by one")]
mod indirect;
mod layout;
pub mod machine;
mod match_key;
mod match_table;
pub mod measure;
mod memory;
mod meter;
mod model;
mod packed;
mod packing;
mod pair;
mod prefix_trie;
mod probe;
mod quiescence;
#[allow(unsafe_code, reason = "mapped memory, prefetch")]
mod region;
#[allow(unsafe_code, reason = "instructions that not every processor has")]
mod search;
#[allow(unsafe_code, reason = "values are written and dropped where they are kept")]
mod slab;
mod store;
mod sync;
mod table;
mod ternary_tree;
mod unit;
mod worker;

pub use access::{Access, Place, Sharing, no_bucket};
pub use cells::{CellWidth, Cells};
pub use counter::{Count, DirectCounters};
pub use design::{
    Design, DesignError, EntryLock, Placement, Requirements, Storage, Synchronisation,
    UpdateMethod, Wait,
};
pub use digest::{Applied, Digest, DigestCounts, DigestError, DigestLoop, DigestSender};
pub use entry::{ActionId, AddStatus, ExpiryProfile, Position, Tick};
pub use exact::{ExactTable, ExactTableError};
pub use finder::{Finder, FinderError, Rebuilt, Searcher, SearcherSource};
pub use gate::{Gate, Inside, Lane};
pub use group::{Worker as GroupWorker, WorkerGroup, WorkerId};
pub use hash::{KeyHash, KeyHasher};
pub use layout::{Layout, LayoutError, MAX_ACTIONS, MAX_KEY_BITS, MAX_PARAMETER_BYTES, MAX_SIZE};
pub use match_key::{FieldMatch, MatchError, MatchField, MatchKind};
pub use match_table::{MatchTable, MatchTableError, MatchWorker};
pub use meter::{Colour, DirectMeters, Meter, MeterConfig};
pub use model::{Fill, Model};
pub use packed::{
    Keys, Lookups, Match, PackedTable, Reached, TableError as PackedTableError, TableSettings,
};
pub use probe::Probe;
pub use region::{LINE, Pages, prefetch, trim_heap};
pub use slab::{Kept, Slab};
pub use store::{BATCH, Hit};
pub use table::{Entry, EntryError, MemoryUse, Options, Table, TableError, WorkerError};
pub use worker::{Actions, BatchError, Miss, Worker};
