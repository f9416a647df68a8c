//! Inline storage: buckets of every shape that fits a cache line, behind one type.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::access::{Access, Sharing};
use crate::announcement::{Turn, WINDOW};
use crate::bucket::{Buckets, Effect, Full, max_actions, numbered_hash, slots};
use crate::calm::Way;
use crate::design::EntryLock;
use crate::hash;
use crate::layout::Layout;
use crate::region::Pages;

use super::{Aftermath, BATCH, CalmVisitor, Hit, Visitor};

/// Bytes for a key and for parameters in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) key: usize,
    pub(crate) value: usize,
}

impl Shape {
    const KEYS: [usize; 3] = [4, 8, 16];
    const VALUES: [usize; 4] = [4, 8, 16, 32];

    /// The smallest shape for a layout, or `None` if it fits no line.
    pub(crate) fn of(layout: &Layout) -> Option<Self> {
        let key = Self::KEYS.into_iter().find(|&key| key >= layout.key_bytes())?;
        let fits = |&value: &usize| {
            value >= layout.parameter_bytes()
                && max_actions(key, value) >= usize::from(layout.actions())
        };
        let value = Self::VALUES.into_iter().find(fits)?;
        Some(Self { key, value })
    }

    /// Entries in a bucket.
    pub(crate) fn slots(self) -> usize {
        slots(self.key, self.value)
    }
}

macro_rules! shapes {
    ($($name:ident $key:literal $value:literal,)*) => {
        /// Buckets of one of the shapes.
        pub(crate) enum Inline {
            $(
                #[doc = concat!("Keys of up to ", $key, " bytes, parameters of up to ", $value, ".")]
                $name(Buckets<$key, $value>),
            )*
        }

        impl Inline {
            /// Buckets of this shape, or `None` where memory does not suffice.
            pub(crate) fn new(shape: Shape, size: usize) -> Option<Self> {
                match (shape.key, shape.value) {
                    $(($key, $value) => Buckets::new(size).map(Self::$name),)*
                    _ => None,
                }
            }

            /// Buckets of this shape for entries by their numbers, or `None` where memory does not suffice.
            pub(crate) fn numbered(shape: Shape, size: usize) -> Option<Self> {
                match (shape.key, shape.value) {
                    $(($key, $value) => Buckets::numbered(size).map(Self::$name),)*
                    _ => None,
                }
            }
        }

        /// Evaluates an expression with the buckets, whatever their shape.
        macro_rules! with {
            ($inline:expr, $buckets:ident => $body:expr) => {
                match $inline {
                    $(Inline::$name($buckets) => $body,)*
                }
            };
        }
    };
}

shapes! {
    K4V4 4 4,
    K4V8 4 8,
    K4V16 4 16,
    K4V32 4 32,
    K8V4 8 4,
    K8V8 8 8,
    K8V16 8 16,
    K8V32 8 32,
    K16V4 16 4,
    K16V8 16 8,
    K16V16 16 16,
    K16V32 16 32,
}

impl Inline {
    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u8], seed: u64) -> u64 {
        with!(self, buckets => hash_for(buckets, key, seed))
    }

    pub(crate) fn len(&self) -> usize {
        with!(self, buckets => buckets.len())
    }

    pub(crate) fn positions(&self) -> usize {
        with!(self, buckets => buckets.positions())
    }

    pub(crate) fn bytes(&self) -> usize {
        with!(self, buckets => buckets.bytes())
    }

    pub(crate) fn pages(&self) -> Pages {
        with!(self, buckets => buckets.pages())
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        with!(self, buckets => buckets.prefetch(hash));
    }

    /// Asks the cache for the buckets of keys that lie one behind the other.
    pub(crate) fn prefetch_batch(&self, seed: u64, width: usize, keys: &[u8]) {
        with!(self, buckets => {
            for key in keys.chunks_exact(width) {
                buckets.prefetch(hash_for(buckets, key, seed));
            }
        });
    }

    #[inline]
    pub(crate) fn read<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        parameters: &mut [u8],
    ) -> Option<(u16, u32)> {
        with!(self, buckets => {
            let found = buckets.find::<ALONE>(hash, &widen(key), |_| true)?;
            parameters.copy_from_slice(&found.value[..parameters.len()]);
            Some((found.action, found.position))
        })
    }

    #[inline]
    pub(crate) fn update<const ALONE: bool, R>(
        &self,
        lock: EntryLock,
        hash: u64,
        key: &[u8],
        length: usize,
        act: impl FnOnce(u16, &mut [u8], u32) -> (Effect, R),
    ) -> Option<R> {
        with!(self, buckets => match lock {
            EntryLock::None => buckets.update::<ALONE, false, R>(hash, &widen(key), |action, value, position| {
                act(action, &mut value[..length], position)
            }),
            EntryLock::PerEntry => buckets.update::<ALONE, true, R>(hash, &widen(key), |action, value, position| {
                act(action, &mut value[..length], position)
            }),
        })
    }

    pub(crate) fn insert<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        with!(self, buckets => buckets.insert::<ALONE>(hash, &widen(key), action, &widen(parameters), |_| true))
    }

    pub(crate) fn remove(&self, hash: u64, key: &[u8], vacate: impl FnOnce(u32)) -> Option<u32> {
        with!(self, buckets => buckets.remove(hash, &widen(key), |_| true, vacate).map(|removed| removed.position))
    }

    /// A thread's way in for machine code.
    pub(crate) fn access(&self, sharing: Sharing, writing: u64) -> Access {
        with!(self, buckets => buckets.access::<false>(sharing, writing))
    }

    /// As [`Inline::access`] where keys are numbers.
    pub(crate) fn numbered_access(&self, sharing: Sharing, writing: u64) -> Access {
        with!(self, buckets => buckets.access::<true>(sharing, writing))
    }

    /// What stands for the hash of a number.
    pub(crate) fn numbered_hash(&self, key: &[u8]) -> u64 {
        with!(self, buckets => hash_of_number(buckets, key))
    }

    /// Adds the entry with a number.
    pub(crate) fn insert_numbered(
        &self,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> Result<u32, Full> {
        with!(self, buckets => buckets.insert_numbered(&widen(key), action, &widen(parameters)))
    }

    /// Returns the action of the entry at a position, if there is one, and writes the entry's key
    /// and value to `key` and `value`, followed by zeros.
    pub(crate) fn entry_at(
        &self,
        position: u32,
        key: &mut [u8; 16],
        value: &mut [u8; 32],
    ) -> Option<u16> {
        with!(self, buckets => {
            let (wide, action, found) = buckets.at(position)?;
            (*key, *value) = (widen(&wide), widen(&found));
            Some(action)
        })
    }

    pub(crate) fn key_at(&self, position: u32, key: &mut [u8]) -> bool {
        with!(self, buckets => match buckets.at(position) {
            Some((wide, _, _)) => {
                key.copy_from_slice(&wide[..key.len()]);
                true
            }
            None => false,
        })
    }

    /// Hashes the first keys of a batch and asks the cache for their buckets.
    #[inline(always)]
    pub(crate) fn ahead(&self, layout: &Layout, seed: u64, keys: &[u8], hashes: &mut [u64; BATCH]) {
        with!(self, buckets => ahead(buckets, layout, seed, keys, hashes));
    }

    /// Whether a value is one word.
    pub(crate) fn holds_words(&self) -> bool {
        fn value<const K: usize, const V: usize>(_: &Buckets<K, V>) -> usize {
            V
        }
        with!(self, buckets => value(buckets)) <= 8
    }

    /// As [`Inline::batch`] on a table that may be calm, whose values are single words; how many packets are done.
    #[inline(always)]
    pub(crate) fn batch_calm(
        &self,
        way: &Way<'_>,
        seed: u64,
        ahead: [u64; BATCH],
        keys: &[u8],
        packets: Packets<'_, impl CalmVisitor>,
    ) -> usize {
        match self {
            Self::K4V4(buckets) => batch_calm(buckets, way, seed, ahead, keys, packets),
            Self::K4V8(buckets) => batch_calm(buckets, way, seed, ahead, keys, packets),
            Self::K8V4(buckets) => batch_calm(buckets, way, seed, ahead, keys, packets),
            Self::K8V8(buckets) => batch_calm(buckets, way, seed, ahead, keys, packets),
            Self::K16V4(buckets) => batch_calm(buckets, way, seed, ahead, keys, packets),
            Self::K16V8(buckets) => batch_calm(buckets, way, seed, ahead, keys, packets),
            _ => {
                let Packets { layout, lock, visitor, .. } = packets;
                self.batch::<false, true>(layout, seed, lock, ahead, keys, visitor);
                keys.len() / layout.key_bytes()
            }
        }
    }

    #[inline(always)]
    pub(crate) fn batch<const ALONE: bool, const WRITE: bool>(
        &self,
        layout: &Layout,
        seed: u64,
        lock: EntryLock,
        ahead: [u64; BATCH],
        keys: &[u8],
        visitor: &mut impl Visitor,
    ) {
        with!(self, buckets => if lock == EntryLock::PerEntry && !ALONE {
            batch::<ALONE, WRITE, true, _, _>(buckets, layout, seed, ahead, keys, visitor);
        } else {
            batch::<ALONE, WRITE, false, _, _>(buckets, layout, seed, ahead, keys, visitor);
        });
    }
}

#[inline(always)]
fn hash_for<const K: usize, const V: usize>(_: &Buckets<K, V>, key: &[u8], seed: u64) -> u64 {
    hash::fixed::<K>(&widen(key), seed)
}

fn hash_of_number<const K: usize, const V: usize>(_: &Buckets<K, V>, key: &[u8]) -> u64 {
    numbered_hash::<K>(&widen(key), Buckets::<K, V>::SLOTS)
}

#[inline(always)]
fn ahead<const K: usize, const V: usize>(
    buckets: &Buckets<K, V>,
    layout: &Layout,
    seed: u64,
    keys: &[u8],
    hashes: &mut [u64; BATCH],
) {
    let mut fetch = |width: usize| {
        for (hash, key) in hashes.iter_mut().zip(keys.chunks_exact(width)) {
            *hash = hash_for(buckets, key, seed);
            buckets.prefetch(*hash);
        }
    };
    // With the width known to the compiler, a key is one load.
    if layout.key_bytes() == K { fetch(K) } else { fetch(layout.key_bytes()) }
}

/// The loop over a batch for one shape.
fn batch<const ALONE: bool, const WRITE: bool, const LOCK: bool, const K: usize, const V: usize>(
    buckets: &Buckets<K, V>,
    layout: &Layout,
    seed: u64,
    ahead: [u64; BATCH],
    keys: &[u8],
    visitor: &mut impl Visitor,
) {
    // With the width known to the compiler, a key is one load.
    if layout.key_bytes() == K && layout.parameter_bytes() == V {
        run::<ALONE, WRITE, LOCK, K, V>(buckets, layout, seed, ahead, keys, (K, V), visitor);
    } else {
        let widths = (layout.key_bytes(), layout.parameter_bytes());
        run::<ALONE, WRITE, LOCK, K, V>(buckets, layout, seed, ahead, keys, widths, visitor);
    }
}

#[inline(always)]
fn run<const ALONE: bool, const WRITE: bool, const LOCK: bool, const K: usize, const V: usize>(
    buckets: &Buckets<K, V>,
    layout: &Layout,
    seed: u64,
    ahead: [u64; BATCH],
    keys: &[u8],
    (width, length): (usize, usize),
    visitor: &mut impl Visitor,
) {
    let _ = pipelined(
        buckets,
        seed,
        ahead,
        keys,
        width,
        |_| (),
        |index, key, hash| {
            act::<ALONE, WRITE, LOCK, K, V>(buckets, layout, length, (index, key, hash), visitor);
            ControlFlow::<Infallible>::Continue(())
        },
    );
}

/// One packet.
#[inline(always)]
fn act<const ALONE: bool, const WRITE: bool, const LOCK: bool, const K: usize, const V: usize>(
    buckets: &Buckets<K, V>,
    layout: &Layout,
    length: usize,
    (index, key, hash): (usize, &[u8], u64),
    visitor: &mut impl Visitor,
) {
    let wide = widen(key);
    let found = if WRITE {
        buckets.update::<ALONE, LOCK, _>(hash, &wide, |action, value, position| {
            let mut hit = Hit::new(action, &mut value[..length], position);
            visitor.hit(index, &mut hit);
            hit.outcome(layout, action)
        })
    } else {
        buckets.find::<ALONE>(hash, &wide, |_| true).map(|mut found| {
            let mut hit = Hit::new(found.action, &mut found.value[..length], found.position);
            visitor.hit(index, &mut hit);
            hit.outcome(layout, found.action).1
        })
    };
    match found {
        Some(aftermath) if aftermath == Aftermath::default() => {}
        Some(aftermath) => visitor.after(index, key, aftermath),
        None => visitor.miss(index, key),
    }
}

/// Packets on a table that may be calm.
pub(crate) struct Packets<'a, V> {
    pub(super) layout: &'a Layout,
    pub(super) lock: EntryLock,
    /// The number of the first.
    pub(super) first: usize,
    pub(super) visitor: &'a mut V,
}

/// The loop over a batch on a table that may be calm, for one shape.
fn batch_calm<const K: usize, const V: usize>(
    buckets: &Buckets<K, V>,
    way: &Way<'_>,
    seed: u64,
    ahead: [u64; BATCH],
    keys: &[u8],
    mut packets: Packets<'_, impl CalmVisitor>,
) -> usize {
    let widths = (packets.layout.key_bytes(), packets.layout.parameter_bytes());
    // With the width known to the compiler, a key is one load.
    let is_whole = widths == (K, V);
    let end = match way {
        Way::Free if is_whole => packets.calm(buckets, seed, ahead, keys, (K, V), &()),
        Way::Free => packets.calm(buckets, seed, ahead, keys, widths, &()),
        Way::Announced(turn) if is_whole => packets.calm(buckets, seed, ahead, keys, (K, V), turn),
        Way::Announced(turn) => packets.calm(buckets, seed, ahead, keys, widths, turn),
        Way::Locked => packets.locked(buckets, seed, ahead, keys, widths.0),
    };
    match end {
        ControlFlow::Continue(()) => keys.len() / widths.0,
        ControlFlow::Break(done) => done,
    }
}

/// What a worker does before the packets of a window.
trait Windows {
    /// Waits until the entries of these hashes are the worker's.
    fn announce(&self, hashes: &[u64]);
    /// The same for the window that was last, if the worker let go of it.
    fn renew(&self);
}

impl Windows for () {
    #[inline(always)]
    fn announce(&self, _: &[u64]) {}

    #[inline(always)]
    fn renew(&self) {}
}

impl Windows for Turn<'_> {
    #[inline(always)]
    fn announce(&self, hashes: &[u64]) {
        const { assert!(BATCH <= WINDOW || cfg!(loom)) };
        self.announce(hashes);
    }

    #[inline(always)]
    fn renew(&self) {
        self.renew();
    }
}

impl<C: CalmVisitor> Packets<'_, C> {
    /// Runs packets without locks, until it may not go on so; how many are done then.
    #[inline(always)]
    fn calm<const K: usize, const V: usize>(
        &mut self,
        buckets: &Buckets<K, V>,
        seed: u64,
        ahead: [u64; BATCH],
        keys: &[u8],
        (width, length): (usize, usize),
        windows: &impl Windows,
    ) -> ControlFlow<usize> {
        let announce = |hashes: &[u64]| windows.announce(hashes);
        let Self { layout, lock, first, visitor } = self;
        pipelined(buckets, seed, ahead, keys, width, announce, |index, key, hash| {
            let packet = *first + index;
            let found = buckets.update_word(hash, &widen(key), |action, value, position| {
                let mut hit = Hit::new(action, &mut value[..length], position);
                visitor.hit(packet, &mut hit);
                hit.outcome(layout, action)
            });
            match found {
                Some((aftermath, None)) if aftermath == Aftermath::default() => {
                    return ControlFlow::Continue(());
                }
                Some((aftermath, changed)) => {
                    match (changed, &lock) {
                        (None, _) => {}
                        // Others may be in the middle of the action that it had.
                        (Some((action, value)), EntryLock::None) => {
                            visitor.replace(key, action, &value[..length]);
                        }
                        // The entry is this worker's.
                        (Some((action, value)), EntryLock::PerEntry) => {
                            buckets.update::<false, true, ()>(hash, &widen(key), |_, now, _| {
                                *now = value;
                                (Effect::Store(action), ())
                            });
                        }
                    }
                    visitor.after(packet, key, aftermath);
                }
                None => visitor.miss(packet, key),
            }
            // Whoever changed the table for this packet may have waited, and so let others go on.
            if visitor.lasts() {
                windows.renew();
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(index + 1)
            }
        })
    }

    /// Runs packets under locks, until it may not go on so; how many are done then.
    fn locked<const K: usize, const V: usize>(
        &mut self,
        buckets: &Buckets<K, V>,
        seed: u64,
        ahead: [u64; BATCH],
        keys: &[u8],
        width: usize,
    ) -> ControlFlow<usize> {
        let Self { layout, lock, first, visitor } = self;
        let length = layout.parameter_bytes();
        pipelined(
            buckets,
            seed,
            ahead,
            keys,
            width,
            |_| (),
            |index, key, hash| {
                let packet = (*first + index, key, hash);
                match lock {
                    EntryLock::None => {
                        act::<false, true, false, K, V>(buckets, layout, length, packet, *visitor)
                    }
                    EntryLock::PerEntry => {
                        act::<false, true, true, K, V>(buckets, layout, length, packet, *visitor)
                    }
                };
                // As above. Without locks for whole actions, others need not wait for those that hold none.
                if *lock == EntryLock::None || visitor.lasts() {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(index + 1)
                }
            },
        )
    }
}

/// Calls `act` with the index, key and hash of each packet. The buckets of those that come next are on their way
/// meanwhile; `ahead` are the hashes of the first, for which they are already. Before each [`BATCH`] packets `window` is
/// called with their hashes.
#[inline(always)]
fn pipelined<const K: usize, const V: usize, B>(
    buckets: &Buckets<K, V>,
    seed: u64,
    mut ahead: [u64; BATCH],
    keys: &[u8],
    width: usize,
    window: impl Fn(&[u64]),
    mut act: impl FnMut(usize, &[u8], u64) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let fetch = |key: &[u8]| {
        let hash = hash::fixed::<K>(&widen(key), seed);
        buckets.prefetch(hash);
        hash
    };
    let (first, rest) = keys.split_at(keys.len().min(BATCH * width));
    // As long as there are keys to come, one is fetched for each that is done.
    let behind = keys.len() - first.len();
    for (index, (key, next)) in
        keys[..behind].chunks_exact(width).zip(rest.chunks_exact(width)).enumerate()
    {
        if index % BATCH == 0 {
            window(&ahead);
        }
        let hash = ahead[index % BATCH];
        ahead[index % BATCH] = fetch(next);
        act(index, key, hash)?;
    }
    let (done, count) = (behind / width, keys.len() / width);
    for (key, index) in keys[behind..].chunks_exact(width).zip(done..) {
        if index % BATCH == 0 {
            window(&ahead[..(count - index).min(BATCH)]);
        }
        act(index, key, ahead[index % BATCH])?;
    }
    ControlFlow::Continue(())
}

/// Bytes in front of zeros, as wide as the bucket's field.
#[inline(always)]
fn widen<const B: usize>(bytes: &[u8]) -> [u8; B] {
    match <[u8; B]>::try_from(bytes) {
        Ok(exact) => exact,
        Err(_) => {
            let mut wide = [0; B];
            let length = bytes.len().min(B);
            wide[..length].copy_from_slice(&bytes[..length]);
            wide
        }
    }
}
