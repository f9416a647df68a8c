//! Models of the protocols on shared memory, and models without a protocol in which loom must find
//! the failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Count, Ordering as Std};

use loom::thread;

use super::entry::{Entry, Form, Held};
use super::line::Line;
use crate::arena::{Arena, Root, Writer};
use crate::prefix_trie::PrefixTrie;
use crate::quiescence::Domain;
use crate::region::{LINE, Region};
use crate::sync::{AtomicU64, Ordering};

/// Explores all interleavings with up to three preemptions, which suffice for most bugs of this
/// kind (Musuvathi and Qadeer 2007).
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Returns the number of interleavings in which `happens` returns true.
fn count(happens: impl Fn() -> bool + Send + Sync + 'static) -> usize {
    let found = Arc::new(Count::new(0));
    let counter = Arc::clone(&found);
    explore(move || {
        counter.fetch_add(usize::from(happens()), Std::Relaxed);
    });
    found.load(Std::Relaxed)
}

/// Returns the bucket of a model.
fn line(region: &Region) -> Line<'_, 8, 8> {
    // SAFETY: the region of a model has one line.
    unsafe { Line::new(region, 0) }
}

/// Changes the key and the value of a bucket together while another thread reads. Returns whether
/// the reader accepted a mixture.
fn bucket_is_torn(checks: bool) -> bool {
    let region = Arc::new(Region::new(LINE).unwrap());
    let write = |region: &Region, number: u64| {
        let line = line(region);
        let mut held = line.lock();
        line.set_key(0, &number.to_ne_bytes());
        line.set_value(0, &number.to_ne_bytes());
        held.change(Line::<'_, 8, 8>::with_action(held.header(), 0, 1));
    };
    write(&region, 1);
    let writer = {
        let region = Arc::clone(&region);
        thread::spawn(move || write(&region, 2))
    };
    let line = line(&region);
    let header = line.begin();
    let (key, value) = (line.key(0), line.value(0));
    let torn = (!checks || line.is_still(header)) && key != value;
    writer.join().unwrap();
    torn
}

#[test]
fn a_reader_of_a_bucket_accepts_no_mixture() {
    assert_eq!(count(|| bucket_is_torn(true)), 0);
    assert!(
        count(|| bucket_is_torn(false)) > 0,
        "without its check the reader must be seen to fail"
    );
}

/// Has two threads add one to the value of a bucket under its lock.
#[test]
fn a_bucket_lock_loses_no_update() {
    explore(|| {
        let region = Arc::new(Region::new(LINE).unwrap());
        let add = |region: &Region| {
            let line = line(region);
            let mut held = line.lock();
            let value = u64::from_ne_bytes(line.value(0)) + 1;
            line.set_value(0, &value.to_ne_bytes());
            held.change(held.header());
        };
        let other = {
            let region = Arc::clone(&region);
            thread::spawn(move || add(&region))
        };
        add(&region);
        other.join().unwrap();
        assert_eq!(line(&region).value(0), 2_u64.to_ne_bytes());
    });
}

/// An entry in loom's words: the head, and two words after it.
struct Memory {
    head: AtomicU64,
    tail: [AtomicU64; 2],
}

impl Memory {
    fn new() -> Arc<Self> {
        Arc::new(Self { head: AtomicU64::new(0), tail: Default::default() })
    }

    fn entry(&self) -> Entry<'_> {
        Entry::new(&self.head, &self.tail)
    }
}

fn both(parameters: &[u8; 16]) -> (u64, u64) {
    let (first, second) = parameters.split_at(8);
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
    (word(first), word(second))
}

/// Has two threads add one to both words of an entry, with or without the entry's lock. Returns
/// whether an update was lost.
fn entry_lost_an_update(locked: bool) -> bool {
    let memory = Memory::new();
    let add = move |memory: &Memory| {
        let entry = memory.entry();
        let mut parameters = [0; 16];
        let next = |parameters: &mut [u8; 16]| {
            let (first, second) = both(parameters);
            parameters[..8].copy_from_slice(&(first + 1).to_ne_bytes());
            parameters[8..].copy_from_slice(&(second + 1).to_ne_bytes());
        };
        if locked {
            // Machine code locks the entry in `find` and unlocks it in `leave`.
            let held = entry.lock();
            held.read(&mut parameters);
            std::mem::forget(held);
            next(&mut parameters);
            Held::resume(entry).write(0, &parameters);
        } else {
            entry.read(Form::Locked, &mut parameters);
            next(&mut parameters);
            entry.write(Form::Locked, 0, &parameters);
        }
    };
    let other = {
        let memory = Arc::clone(&memory);
        thread::spawn(move || add(&memory))
    };
    add(&memory);
    other.join().unwrap();
    let mut parameters = [0; 16];
    memory.entry().read(Form::Locked, &mut parameters);
    both(&parameters) != (2, 2)
}

#[test]
fn an_entry_lock_loses_no_update() {
    assert_eq!(count(|| entry_lost_an_update(true)), 0);
    assert!(count(|| entry_lost_an_update(false)) > 0, "the paper's data race must be seen");
}

#[test]
fn a_reader_of_a_locked_entry_accepts_no_mixture() {
    explore(|| {
        let memory = Memory::new();
        let writer = {
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                let mut held = memory.entry().lock();
                let mut parameters = [0; 16];
                parameters[..8].copy_from_slice(&7_u64.to_ne_bytes());
                parameters[8..].copy_from_slice(&7_u64.to_ne_bytes());
                held.write(7, &parameters);
            })
        };
        let mut parameters = [0; 16];
        let action = memory.entry().read_whole(&mut parameters);
        assert!(matches!((action, both(&parameters)), (0, (0, 0)) | (7, (7, 7))));
        writer.join().unwrap();
    });
}

/// Unlinks and reuses a record while a pinned worker may have found it. Returns whether the worker
/// read the reused record.
fn reader_met_reused_memory(waits: bool) -> bool {
    const REUSED: u64 = 9;
    let shared =
        Arc::new((Domain::new(), AtomicU64::new(0), [AtomicU64::new(1), AtomicU64::new(1)]));
    let writer = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let (domain, index, records) = &*shared;
            index.store(1, Ordering::Release);
            if waits {
                domain.synchronise();
            }
            records[0].store(REUSED, Ordering::Relaxed);
        })
    };
    let (domain, index, records) = &*shared;
    let seat = domain.join().unwrap();
    domain.pin(&seat);
    let found = index.load(Ordering::Acquire) as usize;
    let read = records[found].load(Ordering::Relaxed);
    domain.unpin(&seat);
    writer.join().unwrap();
    read == REUSED
}

#[test]
fn a_record_is_reused_only_when_no_worker_can_see_it() {
    assert_eq!(count(|| reader_met_reused_memory(true)), 0);
    assert!(
        count(|| reader_met_reused_memory(false)) > 0,
        "without the wait the reader must be seen to fail"
    );
}

/// Replaces a tree of one block twice while a packet reads it, so that the first block's memory is
/// reused for the third. Returns whether the packet read a mixture. A writer that does not wait
/// frees a block while packets see it.
fn reader_met_a_mixed_tree(waits: bool) -> bool {
    let shared = Arc::new((Domain::new(), AtomicU64::new(0), Arena::new()));
    let change = move |shared: &(Domain, AtomicU64, Arena), writer: &mut Writer, number: u64| {
        let (domain, root, arena) = shared;
        let root = Root::new(root);
        let (_, old) = root.load();
        let block = writer.make(arena, &[number, number]).unwrap();
        root.store(0, block);
        if waits {
            writer.drop_block(old, 2);
            writer.commit(domain);
        } else {
            writer.roll_back();
        }
    };
    let mut writer = Writer::default();
    change(&shared, &mut writer, 1);
    let changes = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            change(&shared, &mut writer, 2);
            change(&shared, &mut writer, 3);
        })
    };
    let (domain, root, arena) = &*shared;
    let seat = domain.join().unwrap();
    domain.pin(&seat);
    let words = arena.words(Root::new(root).load().1);
    let (first, second) = (words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed));
    domain.unpin(&seat);
    changes.join().unwrap();
    first != second || !(1..=3).contains(&first)
}

#[test]
fn a_packet_sees_a_tree_of_one_moment() {
    assert_eq!(count(|| reader_met_a_mixed_tree(true)), 0);
    assert!(
        count(|| reader_met_a_mixed_tree(false)) > 0,
        "where blocks are used again at once the reader must be seen to fail"
    );
}

/// Replaces a route by another, which is inserted first, while a packet looks up an address.
/// Returns whether the packet found no route. In models, the large array has three bits and the
/// small one two. A writer that does not wait removes the first route while packets search.
fn route_was_missed(lengths: [u32; 2], waits: bool) -> bool {
    let (trie, mut writer) = PrefixTrie::new(8, 0).unwrap();
    let shared = Arc::new((Domain::new(), trie));
    let key = 0b0101_0101_u64 << 56;
    let [first, next] = lengths;
    {
        let (domain, trie) = &*shared;
        // The neighbouring route is in the node to which the key may lead.
        assert!(trie.insert(&mut writer, domain, key ^ 1 << 56, 8, 2));
        assert!(trie.insert(&mut writer, domain, key, first, 0));
    }
    let changes = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let (domain, trie) = &*shared;
            assert!(trie.insert(&mut writer, domain, key, next, 1));
            if waits {
                assert!(trie.remove(&mut writer, domain, key, first));
            } else {
                trie.fill_short(&mut writer, first, (key >> (64 - first)) as usize, 0);
            }
        })
    };
    let (domain, trie) = &*shared;
    let seat = domain.join().unwrap();
    domain.pin(&seat);
    let found = trie.find_one(key);
    domain.unpin(&seat);
    changes.join().unwrap();
    found == 0
}

#[test]
fn a_packet_finds_the_route_that_was_there_before_or_the_one_behind() {
    for lengths in [[1, 3], [0, 2], [3, 5], [2, 5], [1, 8], [3, 1]] {
        assert_eq!(count(move || route_was_missed(lengths, true)), 0, "{lengths:?}");
    }
    assert!(
        count(|| route_was_missed([1, 5], false)) > 0,
        "where packets under way are not waited for one must be seen to miss"
    );
}
