//! Generates inline lookups in packed tables. If entries may be used in their buckets, the code
//! hashes the key and searches its bucket, and the following buckets as long as they are full. It
//! falls back to a call of the table's own function if a slot holds the key of a deleted entry, or
//! if other workers may be writing.

use super::function::{Function, context_offset};
use super::variables::{Pointer, Precomputed};
use crate::compiled::tables::TableAccess;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use std::mem::offset_of;
use tables::{Access, Probe};

const fn of_access(offset: usize) -> i32 {
    (offset_of!(TableAccess, access) + offset) as i32
}

/// The offset of `Access::find` in a [`TableAccess`]. The next constants are the offsets of other
/// fields.
const FIND: i32 = of_access(offset_of!(Access, find));
const PREFETCH: i32 = of_access(offset_of!(Access, prefetch));
const BUCKETS: i32 = of_access(offset_of!(Access, buckets));
const MASK: i32 = of_access(offset_of!(Access, mask));
const IN_PLACE: i32 = of_access(offset_of!(Access, in_place));
pub(super) const IS_ALONE: i32 = of_access(offset_of!(Access, is_alone));
const HITS: i32 = of_access(offset_of!(Access, hits));
pub(super) const MISSES: i32 = of_access(offset_of!(Access, misses));

/// The number of 32-bit keys that fit in a vector register.
const LANES: usize = 4;

/// The arguments of a lookup: the address of the table's [`TableAccess`], and a key of two words.
/// If the key has more than 128 bits, `low` is its address in memory, and `high` is zero.
#[derive(Clone, Copy)]
pub(super) struct Lookup {
    pub(super) access: Value,
    pub(super) low: Value,
    pub(super) high: Value,
}

/// The blocks to which the code of a lookup jumps at its end.
#[derive(Clone, Copy)]
pub(super) struct LookupEnds {
    /// The block for an entry that was found. Its parameters are the address of the entry's values
    /// and the position of its action.
    pub(super) hit: Block,
    pub(super) miss: Block,
}

/// A slot of a bucket that contains the entry that was found.
#[derive(Clone, Copy)]
struct FoundSlot {
    /// The address of the bucket.
    bucket: Value,
    /// The number of the slot in the bucket.
    slot: Value,
    /// The position of the entry's action in the table's list.
    action: Value,
}

impl Function<'_, '_> {
    /// Emits the lookup of a key. The code jumps to one of the blocks in `ends`.
    pub(super) fn look_up(
        &mut self,
        probe: Option<Probe>,
        (lookup, precomputed): (Lookup, Option<Precomputed>),
        ends: LookupEnds,
    ) {
        match probe.filter(|_| self.places.is_some()) {
            Some(probe) => match probe.number_bits() {
                Some(bits) => self.probe_numbered(probe, bits, lookup, ends),
                None => self.probe(probe, (lookup, precomputed), ends),
            },
            None => self.look_up_by_call(lookup, ends),
        }
    }

    /// Emits a jump to `miss` if the number of the entry is 0, which stands for no entry. Code that
    /// is emitted next runs otherwise.
    pub(super) fn miss_if_none(&mut self, lookup: Lookup, miss: Block) {
        let (goes_on, none) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(lookup.low, goes_on, &[], none, &[]);
        self.builder.switch_to_block(none);
        self.count_lookup(lookup.access, MISSES);
        self.builder.ins().jump(miss, &[]);
        self.builder.switch_to_block(goes_on);
    }

    /// Emits the lookup of a key by a call of the table's own function.
    fn look_up_by_call(&mut self, lookup: Lookup, ends: LookupEnds) {
        let find = self.load(Pointer { base: lookup.access, offset: FIND }, 8);
        let Lookup { access, low, high } = lookup;
        match *self.call_pointer(find, &[access, low, high], 2) {
            [address, action] => self.go_to_found([address, action], ends),
            _ => {
                self.broken("a lookup that does not return two words");
                self.builder.ins().jump(ends.miss, &[]);
            }
        }
    }

    fn go_to_found(&mut self, [address, action]: [Value; 2], ends: LookupEnds) {
        let is_there = self.builder.ins().icmp_imm_s(IntCC::NotEqual, address, 0);
        let found = [address.into(), action.into()];
        self.builder.ins().brif(is_there, ends.hit, &found, ends.miss, &[]);
    }

    /// Emits a prefetch of the bucket of a key.
    pub(super) fn prefetch_bucket(&mut self, probe: Probe, lookup: Lookup) {
        let bucket = self.bucket(probe, lookup);
        let prefetch = self.load(Pointer { base: lookup.access, offset: PREFETCH }, 8);
        self.call_pointer(prefetch, &[bucket], 0);
    }

    /// Emits the lookup of an exact key in its bucket and the following ones.
    fn probe(
        &mut self,
        probe: Probe,
        (lookup, precomputed): (Lookup, Option<Precomputed>),
        ends: LookupEnds,
    ) {
        let mut block = || self.builder.create_block();
        let (begin, here, call, further) = (block(), block(), block(), block());
        let (found, known, absent, unknown) = (block(), block(), block(), block());
        self.builder.set_cold_block(call);
        self.builder.set_cold_block(further);
        let bucket = self.builder.append_block_param(here, types::I64);
        if self.stays_in_place() {
            self.builder.ins().jump(begin, &[]);
        } else {
            let in_place = self.load(Pointer { base: lookup.access, offset: IN_PLACE }, 8);
            self.builder.ins().brif(in_place, begin, &[], call, &[]);
        }

        self.builder.switch_to_block(begin);
        if let Some(Precomputed { bucket, found: Some(found) }) = precomputed {
            self.go_to_entry_found(probe, lookup, bucket, found, ends.hit);
        }
        let home = self.home(probe, lookup, precomputed.map(|precomputed| precomputed.bucket));
        self.builder.ins().jump(here, &[home.into()]);

        self.builder.switch_to_block(here);
        let header = self.load(Pointer { base: bucket, offset: 0 }, 8);
        let fits = self.slots_with(probe, bucket, lookup);
        self.builder.ins().brif(fits, found, &[], absent, &[]);

        // A slot without an entry keeps its last key, and another slot may hold the same key with
        // an entry.
        self.builder.switch_to_block(found);
        let slot = self.builder.ins().ctz(fits);
        let stored = self.action_in(probe, header, slot);
        self.builder.ins().brif(stored, known, &[], call, &[]);

        self.builder.switch_to_block(known);
        let action = self.builder.ins().iadd_imm_s(stored, -1);
        self.go_to_slot(probe, lookup, FoundSlot { bucket, slot, action }, ends.hit);

        self.builder.switch_to_block(absent);
        let overflow = self.builder.ins().band_imm_u(header, Probe::OVERFLOW.cast_signed());
        self.builder.ins().brif(overflow, further, &[], unknown, &[]);

        // Entries of a full bucket lie in one of the buckets after it.
        self.builder.switch_to_block(further);
        let next = self.next_bucket(lookup.access, bucket);
        let is_home = self.builder.ins().icmp(IntCC::Equal, next, home);
        self.builder.ins().brif(is_home, unknown, &[], here, &[next.into()]);

        self.builder.switch_to_block(unknown);
        self.count_lookup(lookup.access, MISSES);
        self.builder.ins().jump(ends.miss, &[]);

        self.builder.switch_to_block(call);
        self.look_up_by_cold_call(lookup, ends);
    }

    /// Emits code that uses the entry that was found for the packet before this function: it jumps
    /// to `hit` if there is such an entry and the table has not changed since. Otherwise the code
    /// that is emitted next runs.
    fn go_to_entry_found(
        &mut self,
        probe: Probe,
        lookup: Lookup,
        bucket: Value,
        found: Value,
        hit: Block,
    ) {
        let (here, other) = (self.builder.create_block(), self.builder.create_block());
        let is_there = if self.stays_in_place() {
            found
        } else {
            let has_left = self.has_left();
            let all_bits_if_not = self.builder.ins().iadd_imm_s(has_left, -1);
            self.builder.ins().band(found, all_bits_if_not)
        };
        self.builder.ins().brif(is_there, here, &[], other, &[]);
        self.builder.switch_to_block(here);
        let behind = self.builder.ins().band_imm_u(found, i64::from(Probe::FOUND_BEHIND));
        let times = Probe::BUCKET as i64 / i64::from(Probe::FOUND_BEHIND);
        let behind = self.builder.ins().imul_imm_s(behind, times);
        let bucket = self.builder.ins().iadd(bucket, behind);
        let slot = self.builder.ins().ushr_imm_u(found, i64::from(Probe::FOUND_SLOT));
        let slot = self.masked(slot, Probe::FOUND_ACTION - Probe::FOUND_SLOT);
        let action = self.builder.ins().ushr_imm_u(found, i64::from(Probe::FOUND_ACTION));
        self.go_to_slot(probe, lookup, FoundSlot { bucket, slot, action }, hit);
        self.builder.switch_to_block(other);
    }

    /// Emits the load of a word that is 1 if a packet has left the gate of the tables since bucket
    /// addresses were computed, and 0 otherwise. Outside the gate, other threads may change the
    /// tables.
    fn has_left(&mut self) -> Value {
        let has_left = self.context_field(context_offset::HAS_LEFT);
        self.load(Pointer { base: has_left, offset: 0 }, 8)
    }

    /// Emits the computation of the address of a key's bucket. A precomputed address is used
    /// instead unless a packet has left the gate of the tables since: outside the gate, the table
    /// may be moved.
    fn home(&mut self, probe: Probe, lookup: Lookup, precomputed: Option<Value>) -> Value {
        let Some(precomputed) = precomputed else { return self.bucket(probe, lookup) };
        if self.stays_in_place() {
            return precomputed;
        }
        let has_left = self.has_left();
        let (anew, join) = (self.builder.create_block(), self.builder.create_block());
        let home = self.builder.append_block_param(join, types::I64);
        self.builder.ins().brif(has_left, anew, &[], join, &[precomputed.into()]);
        self.builder.switch_to_block(anew);
        let bucket = self.bucket(probe, lookup);
        self.builder.ins().jump(join, &[bucket.into()]);
        self.builder.switch_to_block(join);
        home
    }

    fn look_up_by_cold_call(&mut self, lookup: Lookup, ends: LookupEnds) {
        if self.is_fused() {
            let find = self.load(Pointer { base: lookup.access, offset: FIND }, 8);
            let found = self.call_cold(find, &[lookup.access, lookup.low, lookup.high]);
            self.go_to_found(found, ends);
        } else {
            self.look_up_by_call(lookup, ends);
        }
    }

    /// Emits the lookup of an entry by its number. The low `bits` bits of the number are the slot,
    /// and the others the bucket.
    fn probe_numbered(&mut self, probe: Probe, bits: u32, lookup: Lookup, ends: LookupEnds) {
        let mut block = || self.builder.create_block();
        let (here, known, call) = (block(), block(), block());
        self.builder.set_cold_block(call);
        if self.stays_in_place() {
            self.builder.ins().jump(here, &[]);
        } else {
            let in_place = self.load(Pointer { base: lookup.access, offset: IN_PLACE }, 8);
            self.builder.ins().brif(in_place, here, &[], call, &[]);
        }
        self.builder.switch_to_block(here);
        let bucket = self.bucket(probe, lookup);
        let slot = self.masked(lookup.low, bits);
        let header = self.load(Pointer { base: bucket, offset: 0 }, 8);
        let stored = self.action_in(probe, header, slot);
        self.builder.ins().brif(stored, known, &[], call, &[]);
        self.builder.switch_to_block(known);
        let action = self.builder.ins().iadd_imm_s(stored, -1);
        self.go_to_slot(probe, lookup, FoundSlot { bucket, slot, action }, ends.hit);
        self.builder.switch_to_block(call);
        self.look_up_by_cold_call(lookup, ends);
    }

    /// Emits the extraction of the action of a slot's entry from the header of its bucket. The
    /// result is zero for an empty slot, and otherwise the action's position plus one.
    fn action_in(&mut self, probe: Probe, header: Value, slot: Value) -> Value {
        let bits = self.builder.ins().imul_imm_s(slot, i64::from(probe.action_bits()));
        let bits = self.builder.ins().iadd_imm_s(bits, i64::from(Probe::ACTIONS));
        let stored = self.builder.ins().ushr(header, bits);
        self.masked(stored, probe.action_bits())
    }

    /// Emits a jump to `hit` with the entry in a slot.
    fn go_to_slot(
        &mut self,
        probe: Probe,
        lookup: Lookup,
        FoundSlot { bucket, slot, action }: FoundSlot,
        hit: Block,
    ) {
        self.count_lookup(lookup.access, HITS);
        let (values, size) = probe.values();
        let distance = self.builder.ins().imul_imm_s(slot, size as i64);
        let at = self.builder.ins().iadd(bucket, distance);
        let at = self.builder.ins().iadd_imm_s(at, values as i64);
        self.builder.ins().jump(hit, &[at.into(), action.into()]);
    }

    pub(super) fn count_lookup(&mut self, access: Value, offset: i32) {
        let counter = Pointer { base: access, offset };
        let count = self.load(counter, 8);
        let count = self.builder.ins().iadd_imm_s(count, 1);
        self.store(counter, 8, count);
    }

    /// Emits the address of a key's bucket.
    pub(super) fn bucket(&mut self, probe: Probe, Lookup { access, low, high }: Lookup) -> Value {
        if let Some(bits) = probe.number_bits() {
            let number = self.builder.ins().ushr_imm_u(low, i64::from(bits));
            return self.bucket_with(access, number);
        }
        let mut state = self.number(Probe::SEED);
        let words = [low, high];
        let multiplier = self.number(Probe::MULTIPLIER);
        for word in &words[..probe.key_words().unwrap_or(1)] {
            let mixed = self.builder.ins().bxor(state, *word);
            let below = self.builder.ins().imul(mixed, multiplier);
            let above = self.builder.ins().umulhi(mixed, multiplier);
            state = self.builder.ins().bxor(below, above);
        }
        self.bucket_with(access, state)
    }

    /// Emits the address of the bucket whose number is in the low bits of a word.
    fn bucket_with(&mut self, access: Value, word: Value) -> Value {
        let mask = self.load(Pointer { base: access, offset: MASK }, 8);
        let number = self.builder.ins().band(word, mask);
        let distance = self.builder.ins().imul_imm_s(number, Probe::BUCKET as i64);
        let buckets = self.load(Pointer { base: access, offset: BUCKETS }, 8);
        self.builder.ins().iadd(buckets, distance)
    }

    /// Emits the address of the bucket that follows another one. After the last bucket comes the
    /// first.
    fn next_bucket(&mut self, access: Value, bucket: Value) -> Value {
        let buckets = self.load(Pointer { base: access, offset: BUCKETS }, 8);
        let mask = self.load(Pointer { base: access, offset: MASK }, 8);
        let last = self.builder.ins().imul_imm_s(mask, Probe::BUCKET as i64);
        let distance = self.builder.ins().isub(bucket, buckets);
        let is_last = self.builder.ins().icmp(IntCC::Equal, distance, last);
        let next = self.builder.ins().iadd_imm_s(bucket, Probe::BUCKET as i64);
        self.builder.ins().select(is_last, buckets, next)
    }

    /// Emits a mask with a bit for each slot of a bucket whose key is the one looked up, including
    /// slots whose entry was deleted.
    fn slots_with(&mut self, probe: Probe, bucket: Value, lookup: Lookup) -> Value {
        let all = crate::resolved::mask(probe.slots() as u32).cast_signed();
        let mut fits = self.number(0);
        if let Some(words) = probe.key_words() {
            for slot in 0..probe.slots() {
                let at = (Probe::KEYS + slot * words * 8) as i32;
                let mut differs = self.number(0);
                for (word, wanted) in [lookup.low, lookup.high].into_iter().take(words).enumerate()
                {
                    let here = Pointer { base: bucket, offset: at + 8 * word as i32 };
                    let found = self.load(here, 8);
                    let bits = self.builder.ins().bxor(found, wanted);
                    differs = self.builder.ins().bor(differs, bits);
                }
                let is_equal = self.builder.ins().icmp_imm_s(IntCC::Equal, differs, 0);
                let is_equal = self.builder.ins().uextend(types::I64, is_equal);
                let is_equal = self.builder.ins().ishl_imm_u(is_equal, slot as i64);
                fits = self.builder.ins().bor(fits, is_equal);
            }
            return fits;
        }
        let key = self.builder.ins().ireduce(types::I32, lookup.low);
        let wanted = self.builder.ins().splat(types::I32X4, key);
        for first in (0..probe.slots()).step_by(LANES) {
            let flags = MemFlagsData::new().with_notrap();
            let at = (Probe::KEYS + first * 4) as i32;
            // Lanes after the last key are still inside the bucket, and their bits are masked out.
            let found = self.builder.ins().load(types::I32X4, flags, bucket, at);
            let is_equal = self.builder.ins().icmp(IntCC::Equal, found, wanted);
            let bits = self.builder.ins().vhigh_bits(types::I32, is_equal);
            let bits = self.builder.ins().uextend(types::I64, bits);
            let bits = self.builder.ins().ishl_imm_u(bits, first as i64);
            fits = self.builder.ins().bor(fits, bits);
        }
        self.builder.ins().band_imm_u(fits, all)
    }
}
