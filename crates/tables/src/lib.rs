//! Match-action tables that packets may write: storage, synchronisation, memory and cache models.
//!
//! A [`Layout`] holds the dimensions of a table, and a [`Design`] says how the table is stored and
//! kept consistent. A design is a value that is chosen at run time, so one build can be measured
//! with all designs. A design that does not meet the [`Requirements`] of a program is refused with
//! a message that names one which does.
//!
//! The designs, their names and their memory models are those of Simon et al., "High-Performance
//! Match-Action Table Updates from within Programmable Software Data Planes" (ANCS 2021), called
//! "the paper" in this crate. [`Storage::Inline`] is an addition of this crate.
//!
//! The control plane uses a [`PackedTable`], whose keys are either exact or consist of fields that
//! are matched in any way. The threads of the data plane form a [`WorkerGroup`]. Machine code
//! accesses entries through an [`Access`], and Rust code through a [`TableWorker`]. The actions of
//! packets are then an implementation of [`Actions`], or a closure:
//!
//! ```
//! use std::sync::Arc;
//! use tables::{ActionId, Design, Hit, Keys, Match, PackedTable, Storage};
//! use tables::{TableSettings, TableWorker};
//!
//! let settings = TableSettings {
//!     design: Design::shared(Storage::Inline),
//!     keys: Keys::Exact { bits: 32 },
//!     parameter_bytes: 4,
//!     actions: 1,
//!     writing: 1,
//!     writes_words: true,
//! };
//! let table = Arc::new(PackedTable::new(&Arc::default(), &settings)?);
//! let address = 0x0a00_0001;
//! table.insert(Match::Exact(address), ActionId(0), &[0; 4])?;
//! let mut worker = TableWorker::new(&table)?;
//! // Two packets with the same key: the second sees what the first wrote.
//! let keys = [[address as u64, 0]; 2];
//! worker.apply(&keys, &mut |_: usize, entry: &mut Hit<'_>| entry.parameters_mut()[0] += 1);
//! assert_eq!(table.read(address), Some((ActionId(0), vec![2, 0, 0, 0])));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Implementation: [`Storage::Inline`] is an array of one-line buckets that hold keys and values.
//! The paper's storages use the same buckets as an index. Entries are inserted and removed while a
//! [`Gate`] keeps packets out. Workers that write entries which other workers use do one of three
//! things: they lock the bucket or the entry, they read and write the entry as a whole, or, if an
//! action writes only one number, they write it by one instruction. All memory that changes while
//! it is shared is accessed by atomics, so no sequence of calls is a data race. Keys that are not
//! matched exactly are found through trees. A change of a tree writes new copies of the nodes on
//! one path, and publishes them by one store.

#[allow(unsafe_code, reason = "functions that machine code calls")]
mod access;
#[allow(unsafe_code, reason = "entries are reached through addresses, as machine code does")]
mod apply;
mod arena;
#[allow(unsafe_code, reason = "fields of a cache line are reached through its address")]
mod bucket;
pub mod cache;
mod cells;
mod design;
mod digest;
mod entry;
mod exact;
#[allow(unsafe_code, reason = "machine code hands its searcher back")]
mod finder;
mod gate;
mod group;
mod hash;
#[allow(unsafe_code, reason = "entries are reached through addresses, and allocated one by one")]
mod indirect;
mod key_table;
mod layout;
pub mod machine;
mod match_key;
pub mod measure;
mod memory;
mod model;
mod packed;
mod packing;
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
mod ternary_tree;

pub use access::{Access, KeysOfBurst, NamedEntries, Place, Sharing, no_bucket};
pub use apply::{Actions, Hit, TableWorker, WorkerError};
pub use cells::{CellWidth, Cells};
pub use design::{
    Design, DesignError, EntryLock, Requirements, Storage, Synchronisation, UpdateMethod, Wait,
};
pub use digest::{Applied, Digest, DigestCounts, DigestError, DigestLoop, DigestSender};
pub use entry::ActionId;
pub use exact::{ExactTable, ExactTableError};
pub use finder::{Finder, FinderError, Rebuilt, Searcher, SearcherSource};
pub use gate::{Gate, Inside, Lane};
pub use group::{Worker, WorkerGroup, WorkerId};
pub use hash::{KeyHash, KeyHasher};
pub use layout::{Layout, LayoutError, MAX_ACTIONS, MAX_KEY_BITS, MAX_PARAMETER_BYTES, MAX_SIZE};
pub use match_key::{FieldMatch, MatchError, MatchField, MatchKind};
pub use memory::MemoryUse;
pub use model::{Fill, Model};
pub use packed::{Keys, Lookups, Match, PackedTable, Reached, TableError, TableSettings};
pub use probe::Probe;
pub use region::{LINE, Pages, prefetch, trim_heap};
pub use slab::{Kept, Slab};
