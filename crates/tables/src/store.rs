//! One replica or shard of a table, of whichever storage design, and the loops over a batch of keys.
//!
//! A batch runs in two stages, as in DPDK's bulk lookups: hash all keys and ask the cache for their lines, then act on
//! each in arrival order. Entries are looked up in the second stage, so that an entry that one packet adds is seen by
//! the next. The loops are compiled once for each shape of bucket; the choice costs one jump for each batch.

mod inline;

use std::sync::Arc;

use crate::bucket::{Effect, Full};
use crate::calm::Way;
use crate::design::{EntryLock, Storage};
use crate::direct::Direct;
use crate::entry::{ActionId, Position};
use crate::hash;
use crate::indirect::{Indirect, Kind, Parts};
use crate::layout::Layout;
use crate::quiescence::Reclaim;
use crate::region::Pages;
use inline::Packets;
pub(crate) use inline::{Inline, Shape};

/// Keys that are hashed and fetched ahead of the first lookup.
pub const BATCH: usize = 32;

/// An entry that a packet matched, as its action sees it.
#[derive(Debug)]
pub struct Hit<'a> {
    action: ActionId,
    parameters: &'a mut [u8],
    position: Position,
    wrote: bool,
    delete: bool,
    restart: bool,
}

impl<'a> Hit<'a> {
    #[inline(always)]
    pub(crate) fn new(action: u16, parameters: &'a mut [u8], position: u32) -> Self {
        let (action, position) = (ActionId(action), Position(position));
        Self { action, parameters, position, wrote: false, delete: false, restart: false }
    }

    /// The entry's action.
    #[inline(always)]
    pub fn action(&self) -> ActionId {
        self.action
    }

    /// The action's parameters, as many bytes as the table's layout says.
    #[inline(always)]
    pub fn parameters(&self) -> &[u8] {
        self.parameters
    }

    /// The action's parameters, to be changed in the entry.
    #[inline(always)]
    pub fn parameters_mut(&mut self) -> &mut [u8] {
        self.wrote = true;
        self.parameters
    }

    /// Lets the entry run another action from now on. Identifiers that the layout has no room for are ignored.
    #[inline(always)]
    pub fn set_action(&mut self, action: ActionId) {
        self.wrote = true;
        self.action = action;
    }

    /// Where the entry lies, for counters and meters kept beside the table.
    #[inline(always)]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Takes the entry out of the table when the action ends.
    pub fn delete(&mut self) {
        self.delete = true;
    }

    /// Lets the entry's expiry time begin anew (PNA 0.7, `restart_expire_timer`).
    #[inline(always)]
    pub fn restart_expiry(&mut self) {
        self.restart = true;
    }

    /// What the action left to be done.
    #[inline(always)]
    pub(crate) fn outcome(&self, layout: &Layout, was: u16) -> (Effect, Aftermath) {
        let action = if self.action.0 < layout.actions() { self.action.0 } else { was };
        let effect = if self.wrote { Effect::Store(action) } else { Effect::Keep };
        (effect, Aftermath { delete: self.delete, restart: self.restart.then_some(self.position) })
    }
}

/// The hashes of a batch's first keys, whose buckets are on their way.
pub(crate) struct Ahead([u64; BATCH]);

impl Ahead {
    /// As many as there are keys, then others.
    pub(crate) fn hashes(&self) -> &[u64; BATCH] {
        &self.0
    }
}

/// What an action asked for beyond its entry's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Aftermath {
    pub(crate) delete: bool,
    pub(crate) restart: Option<Position>,
}

/// What happens to the packets of a batch at the store.
pub(crate) trait Visitor {
    /// The packet with this index matched.
    fn hit(&mut self, index: usize, hit: &mut Hit<'_>);
    /// Its entry has been released; `aftermath` is to be done.
    fn after(&mut self, index: usize, key: &[u8], aftermath: Aftermath);
    /// It matched nothing.
    fn miss(&mut self, index: usize, key: &[u8]);
}

/// A visitor of packets on a table that may be calm ([`Calm`](crate::calm::Calm)).
pub(crate) trait CalmVisitor: Visitor {
    /// The packet gave its entry another action; it has not been written.
    fn replace(&mut self, key: &[u8], action: u16, parameters: &[u8]);
    /// Whether the batch may go on as it began.
    fn lasts(&self) -> bool;
}

/// A store of any design.
pub(crate) struct Store {
    layout: Layout,
    seed: u64,
    lock: EntryLock,
    body: Body,
    /// Counters and meters, which begin anew with each entry.
    direct: Arc<Direct>,
}

enum Body {
    Inline(Inline),
    Indirect(Box<Indirect>),
}

impl Store {
    /// An empty store, or `None` where memory does not suffice.
    pub(crate) fn new(
        layout: Layout,
        storage: Storage,
        lock: EntryLock,
        direct: &Arc<Direct>,
    ) -> Option<Self> {
        let indirect = |kind| {
            Indirect::new(kind, &layout, lock, Arc::clone(direct))
                .map(|indirect| Body::Indirect(Box::new(indirect)))
        };
        let body = match storage {
            Storage::Original => indirect(Kind::Original)?,
            Storage::Dynamic => indirect(Kind::Dynamic)?,
            Storage::Static => indirect(Kind::Static)?,
            Storage::Inline => match Shape::of(&layout) {
                Some(shape) => Body::Inline(Inline::new(shape, layout.size())?),
                None => indirect(Kind::Beside)?,
            },
        };
        Some(Self { layout, seed: hash::DEFAULT_SEED, lock, body, direct: Arc::clone(direct) })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        match &self.body {
            Body::Inline(inline) => inline.hash(key, self.seed),
            Body::Indirect(_) => hash::bytes(key, self.seed),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.body {
            Body::Inline(inline) => inline.len(),
            Body::Indirect(indirect) => indirect.len(),
        }
    }

    pub(crate) fn positions(&self) -> usize {
        match &self.body {
            Body::Inline(inline) => inline.positions(),
            Body::Indirect(indirect) => indirect.positions(),
        }
    }

    /// Bytes in use, by part; those of inline buckets count as entries.
    pub(crate) fn parts(&self) -> Parts {
        match &self.body {
            Body::Inline(inline) => Parts { entries: inline.bytes(), ..Parts::default() },
            Body::Indirect(indirect) => indirect.parts(),
        }
    }

    pub(crate) fn pages(&self) -> Pages {
        match &self.body {
            Body::Inline(inline) => inline.pages(),
            Body::Indirect(indirect) => indirect.pages(),
        }
    }

    /// Asks the cache for what the key's lookup touches first.
    #[inline]
    pub(crate) fn prefetch(&self, key: &[u8]) {
        let hash = self.hash(key);
        match &self.body {
            Body::Inline(inline) => inline.prefetch(hash),
            Body::Indirect(indirect) => indirect.prefetch(hash),
        }
    }

    /// Asks the cache for what the lookups of these keys touch first.
    pub(crate) fn prefetch_batch(&self, keys: &[u8]) {
        let width = self.layout.key_bytes();
        match &self.body {
            Body::Inline(inline) => inline.prefetch_batch(self.seed, width, keys),
            Body::Indirect(_) => keys.chunks_exact(width).for_each(|key| self.prefetch(key)),
        }
    }

    /// Asks the cache for the entries of these keys, [`BATCH`] at most, whose buckets [`Store::ahead`] asked for. The caller is
    /// pinned.
    pub(crate) fn fetch_entries(&self, Ahead(hashes): &Ahead, keys: &[u8]) {
        if let Body::Indirect(indirect) = &self.body {
            fetch_entries(indirect, &hashes[..(keys.len() / self.layout.key_bytes()).min(BATCH)]);
        }
    }

    /// Hashes the first keys of a batch and asks the cache for their buckets. The result is for [`Store::batch`] with the
    /// same keys.
    #[inline(always)]
    pub(crate) fn ahead(&self, keys: &[u8]) -> Ahead {
        let mut hashes = [0; BATCH];
        match &self.body {
            Body::Inline(inline) => inline.ahead(&self.layout, self.seed, keys, &mut hashes),
            Body::Indirect(indirect) => {
                let width = self.layout.key_bytes();
                let first = &keys[..keys.len().min(BATCH * width)];
                if width == 4 {
                    indirect.ahead(self.seed, 4, first, &mut hashes);
                } else {
                    indirect.ahead(self.seed, width, first, &mut hashes);
                }
            }
        }
        Ahead(hashes)
    }

    /// Reads the entry with this key, parameters into `parameters`.
    #[inline]
    pub(crate) fn read<const ALONE: bool>(
        &self,
        key: &[u8],
        parameters: &mut [u8],
    ) -> Option<(u16, u32)> {
        self.read_hashed::<ALONE>(self.hash(key), key, parameters)
    }

    /// As [`Store::read`], for the hash of the key.
    #[inline(always)]
    pub(crate) fn read_hashed<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        parameters: &mut [u8],
    ) -> Option<(u16, u32)> {
        match &self.body {
            Body::Inline(inline) => inline.read::<ALONE>(hash, key, parameters),
            Body::Indirect(indirect) => {
                indirect.read::<ALONE>(hash, key, parameters).map(|hit| (hit.action, hit.position))
            }
        }
    }

    /// Gives the entry with this key another action and other parameters, if there is one.
    #[inline(always)]
    pub(crate) fn overwrite<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> bool {
        match &self.body {
            Body::Inline(inline) => {
                let write = |_, now: &mut [u8], _| {
                    now.copy_from_slice(parameters);
                    (Effect::Store(action), ())
                };
                let length = parameters.len();
                inline.update::<ALONE, ()>(self.lock, hash, key, length, write).is_some()
            }
            Body::Indirect(indirect) => indirect.overwrite::<ALONE>(hash, key, action, parameters),
        }
    }

    /// Adds an entry.
    pub(crate) fn insert<const ALONE: bool>(
        &self,
        reclaim: Reclaim<'_>,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        let hash = self.hash(key);
        match &self.body {
            Body::Inline(inline) => inline.insert::<ALONE>(hash, key, action, parameters),
            Body::Indirect(indirect) => {
                indirect.insert::<ALONE>(reclaim, hash, key, action, parameters)
            }
        }
    }

    /// A place for an entry to come, for [`Store::insert_reserved`]; `None` if the table is full.
    pub(crate) fn reserve(&self, reclaim: Reclaim<'_>) -> Option<u32> {
        match &self.body {
            Body::Inline(inline) => (inline.len() < self.layout.size()).then_some(0),
            Body::Indirect(indirect) => indirect.take_record(reclaim),
        }
    }

    /// Adds an entry at a place from [`Store::reserve`].
    pub(crate) fn insert_reserved(
        &self,
        place: u32,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        let hash = self.hash(key);
        match &self.body {
            Body::Inline(inline) => inline.insert::<false>(hash, key, action, parameters),
            Body::Indirect(indirect) => {
                indirect.insert_at::<false>(place, hash, key, action, parameters)
            }
        }
    }

    /// Adds an entry where another replica of the table, of the same design and history, has it.
    pub(crate) fn insert_following(
        &self,
        reclaim: Reclaim<'_>,
        leader: u32,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        let hash = self.hash(key);
        match &self.body {
            // Buckets place by key and history alone.
            Body::Inline(inline) => inline.insert::<false>(hash, key, action, parameters),
            Body::Indirect(indirect) => {
                indirect.insert_following(reclaim, leader, hash, key, action, parameters)
            }
        }
    }

    /// Takes an entry out; its position.
    pub(crate) fn remove(&self, reclaim: Reclaim<'_>, key: &[u8]) -> Option<u32> {
        let hash = self.hash(key);
        match &self.body {
            Body::Inline(inline) => {
                inline.remove(hash, key, |position| self.direct.reset(Position(position)))
            }
            Body::Indirect(indirect) => indirect.remove(reclaim, hash, key),
        }
    }

    /// The key that lies at a position, into `key`. It may have gone or changed by the time it is used.
    pub(crate) fn key_at(&self, position: u32, key: &mut [u8]) -> bool {
        match &self.body {
            Body::Inline(inline) => inline.key_at(position, key),
            Body::Indirect(indirect) => indirect.key_at(position, key),
        }
    }

    /// Calls `visit` with the key of each entry there is. Entries that come or go meanwhile may be among them.
    pub(crate) fn for_each_key(&self, mut visit: impl FnMut(&[u8])) {
        let mut key = vec![0; self.layout.key_bytes()];
        match &self.body {
            Body::Inline(inline) => {
                for position in 0..inline.positions() as u32 {
                    if inline.key_at(position, &mut key) {
                        visit(&key);
                    }
                }
            }
            Body::Indirect(indirect) => {
                for record in indirect.occupied() {
                    if indirect.key_at(record, &mut key) {
                        visit(&key);
                    }
                }
            }
        }
    }

    /// Looks up keys that lie one behind the other, and lets the visitor change what they match.
    /// `WRITE`: the visitor may write; otherwise entries are read without their lock. `ahead` is what
    /// [`Store::ahead`] said of these keys.
    #[inline(always)]
    pub(crate) fn batch<const ALONE: bool, const WRITE: bool>(
        &self,
        ahead: Ahead,
        keys: &[u8],
        scratch: &mut [u8],
        visitor: &mut impl Visitor,
    ) {
        match &self.body {
            Body::Inline(inline) => {
                let Ahead(ahead) = ahead;
                inline.batch::<ALONE, WRITE>(
                    &self.layout,
                    self.seed,
                    self.lock,
                    ahead,
                    keys,
                    visitor,
                );
            }
            // With the widths known to the compiler, keys and parameters are words and not copies.
            Body::Indirect(indirect) => {
                match (self.layout.key_bytes(), self.layout.parameter_bytes()) {
                    (4, 4) => self.batch_indirect::<ALONE, WRITE, 4, 4>(
                        indirect, ahead, keys, scratch, visitor,
                    ),
                    _ => self.batch_indirect::<ALONE, WRITE, 0, 0>(
                        indirect, ahead, keys, scratch, visitor,
                    ),
                }
            }
        }
    }

    /// Whether packets may write its entries without a lock while the table is calm: values are single words in buckets.
    pub(crate) fn may_be_calm(&self) -> bool {
        match &self.body {
            Body::Inline(inline) => inline.holds_words(),
            Body::Indirect(_) => false,
        }
    }

    pub(crate) fn entry_lock(&self) -> EntryLock {
        self.lock
    }

    /// As [`Store::batch`] for packets that may write, where [`Store::may_be_calm`] says so: for as long as the batch may go
    /// this way. How many packets are done, the first of which has the number `first`.
    #[inline(always)]
    pub(crate) fn batch_calm(
        &self,
        way: &Way<'_>,
        ahead: Ahead,
        (keys, first): (&[u8], usize),
        scratch: &mut [u8],
        visitor: &mut impl CalmVisitor,
    ) -> usize {
        match &self.body {
            Body::Inline(inline) => {
                let Ahead(ahead) = ahead;
                let packets = Packets { layout: &self.layout, lock: self.lock, first, visitor };
                inline.batch_calm(way, self.seed, ahead, keys, packets)
            }
            Body::Indirect(_) => {
                self.batch::<false, true>(ahead, keys, scratch, visitor);
                keys.len() / self.layout.key_bytes()
            }
        }
    }

    /// `K` and `V` are the bytes of keys and parameters, or 0 where they are known only when it runs.
    fn batch_indirect<const ALONE: bool, const WRITE: bool, const K: usize, const V: usize>(
        &self,
        indirect: &Indirect,
        ahead: Ahead,
        keys: &[u8],
        scratch: &mut [u8],
        visitor: &mut impl Visitor,
    ) {
        let width = if K > 0 { K } else { self.layout.key_bytes() };
        let length = if V > 0 { V } else { self.layout.parameter_bytes() };
        let scratch = &mut scratch[..length];
        let mut base = 0;
        let Ahead(mut hashes) = ahead;
        for batch in keys.chunks(BATCH * width) {
            if base > 0 {
                indirect.ahead(self.seed, width, batch, &mut hashes);
            }
            fetch_entries(indirect, &hashes[..batch.len() / width]);
            for (index, (key, &hash)) in batch.chunks_exact(width).zip(&hashes).enumerate() {
                let index = base + index;
                let found = if WRITE {
                    indirect.update::<ALONE, _>(
                        hash,
                        key,
                        scratch,
                        |action, parameters, position| {
                            let mut hit = Hit::new(action, parameters, position);
                            visitor.hit(index, &mut hit);
                            hit.outcome(&self.layout, action)
                        },
                    )
                } else {
                    indirect.read::<ALONE>(hash, key, scratch).map(|found| {
                        let mut hit = Hit::new(found.action, scratch, found.position);
                        visitor.hit(index, &mut hit);
                        hit.outcome(&self.layout, found.action).1
                    })
                };
                match found {
                    Some(aftermath) if aftermath == Aftermath::default() => {}
                    Some(aftermath) => visitor.after(index, key, aftermath),
                    None => visitor.miss(index, key),
                }
            }
            base += BATCH;
        }
    }
}

/// Asks the cache for the entries that these hashes lead to, once their index buckets are there.
#[inline(always)]
fn fetch_entries(indirect: &Indirect, hashes: &[u64]) {
    let mut records = [None; BATCH];
    for (record, hash) in records.iter_mut().zip(hashes) {
        *record = indirect.prefetch_record(*hash);
    }
    for record in records.into_iter().flatten() {
        indirect.prefetch_entry(record);
    }
}
