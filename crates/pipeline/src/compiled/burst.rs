//! Processes packets of v1model, PSA and PNA in bursts of up to [`BURST`]: each stage is one
//! generated function that loops over the packets of a burst. [`super::plan`] decides which
//! programs can run this way; `fast_path` calls [`Run::bursts`].
//!
//! In the two-stage form, the parser stage parses all packets of a burst, each in a frame of its
//! own, and the table entries that their headers select are prefetched. The second stage then
//! processes the packets to completion in order, so that each packet sees the table changes of the
//! packets before it. If the entries are likely to be in the cache, or can be prefetched before a
//! packet is parsed, one fused function runs each packet from parser to deparser instead.
//!
//! The parser copies each packet into an output buffer, which the batch owns, and leaves room in
//! front of it for headers that the program adds. Packets are transmitted from that buffer.
//!
//! A worker enters the gate of the tables once for a batch. While it is inside, no other thread
//! inserts, deletes or moves entries, so addresses of buckets and entries stay valid. A packet that
//! must change a table itself leaves the gate for that time. Addresses that were computed before it
//! left may then be stale.

use super::Compiled;
use super::context::{Context, NEW_PACKET, direct_account};
use super::engine::{self, Image, fault};
use super::fast_path::{Kind, Run, Sent};
use super::plan::Plan;
use super::step::Steps;
use super::tables::{Inside, TableAccess};
use crate::architecture::HandedOver;
use crate::architecture::v1model::LastControl;
use crate::error::{InternalError, RunError};
use crate::table::{Ageing, DirectAccount, EntryLayout};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::Ordering;
use tables::{Access, KeysOfBurst, LINE, NamedEntries, Probe, no_bucket, prefetch};

/// The largest number of packets in a burst. It is large enough for the prefetches of the first
/// packet to complete before that packet is processed.
pub(super) const BURST: usize = 64;

/// The number of packets that are prefetched, looked up or processed as one group, while the memory
/// system loads the data of the next group. It is roughly the number of cache misses that a core
/// can have outstanding.
const STEP: usize = 16;

/// The bit of a stage's result that is set if the stage stopped at a packet that leaves the burst
/// after ingress. The driver of the architecture must complete it.
pub(super) const LEAVES_IN_INGRESS: u64 = 1 << 32;

/// The bit of a stage's result that is set if the stage stopped at a packet that leaves the burst
/// after egress. The driver of the architecture must complete it. The packet's output port is then
/// in its frame, where the parser's error was.
pub(super) const LEAVES_IN_EGRESS: u64 = 1 << 33;

/// The number of bytes after a packet that may be read or overwritten, because code loads and
/// stores whole words.
const SLACK: usize = 8;

/// The alignment of packets in the output buffer, in bytes. A power of two.
const CHUNK: usize = 16;

/// Tables up to this total size in bytes stay in L2, so their entries are not prefetched.
///
/// Twice this limit, 1 MiB of a 2 MiB L2 cache, was too large: without prefetching, updates of 2^16
/// entries were at most 4 % faster, and in one of seven processes a fifth slower.
pub(super) const PREFETCH_THRESHOLD: u64 = 512 << 10;

/// The largest number of tables whose buckets are prefetched before the fused function runs, which
/// takes each packet from parser to deparser.
pub(super) const MAX_PREFETCHED: usize = 4;

/// A received packet in the form in which generated code reads it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Packet {
    pub(super) input: *const u8,
    pub(super) length: u64,
    /// The length of the packet as it was received. It exceeds `length` if only the first bytes of
    /// the packet are in memory.
    pub(super) received: u64,
    /// The offset of the packet's copy in the output buffer.
    pub(super) output: u64,
    pub(super) port: u32,
    /// The direction of a PNA packet, from the host or from the network, as programs represent it.
    /// Zero if the program does not read it.
    pub(super) direction: u32,
}

/// A burst of packets in the form in which generated code reads it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Burst {
    pub(super) packets: *const Packet,
    pub(super) count: u64,
    /// The frames of the `count` packets, each [`Plan::frame`] bytes long. A frame is the working
    /// memory of a packet.
    pub(super) frames: *mut u8,
    pub(super) context: *mut Context,
    /// The current time in microseconds.
    pub(super) now: u64,
    /// The number of priority queues of each port.
    pub(super) queues: u64,
    /// A buffer that is large enough for all bytes that a deparser can emit.
    pub(super) emitted: *mut u8,
    /// The output buffer, from which packets are transmitted.
    pub(super) bytes: *mut u8,
    /// The address at which generated code writes the record of the next packet to transmit.
    /// Generated code then advances it.
    pub(super) sent: *mut Sent,
    /// The position of the burst's first packet in the batch.
    pub(super) first: u64,
    /// The buffer to which the prefetch stage writes the addresses of the table buckets that
    /// packets will need. The addresses of each packet are adjacent.
    pub(super) bucket_addresses: *mut u64,
    /// An array of [`Plan::columns`] columns, one for each table whose keys are computed for a
    /// whole burst.
    pub(super) columns: *mut Column,
}

/// The keys of all packets of a burst for one table, and the result of each lookup. For tables that
/// match prefixes or rules, the result is the number of the entry. For tables with exact keys, it
/// is the entry's encoded position ([`Probe::FOUND`]), or zero if the position is not known.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Column {
    /// The keys of the packets. Each has two words, the low one first.
    pub(super) keys: [[u64; 2]; BURST],
    pub(super) found: [u32; BURST],
}

/// A generated function that takes the packets of a burst through a stage of the program, starting
/// with the packet whose number is the second argument. It returns the number of the packet at
/// which it stopped. The result also has the bit [`LEAVES_IN_INGRESS`] or [`LEAVES_IN_EGRESS`] if
/// the driver must complete that packet. Without such a bit, a number below the end of the burst
/// means that the packet failed.
pub(super) type Stage = unsafe extern "C" fn(*mut Burst, u64) -> u64;

/// A packed table that is searched for the longest matching prefix, or for the matching rule with
/// the highest priority. It is searched for all packets of a burst at once, before the first of
/// them reaches the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLookup {
    pub(super) table: u32,
    /// The index of the burst's column that holds the packets' keys for this table.
    pub(super) column: usize,
    /// Whether the entry with the longest prefix wins. Otherwise, the entry with the highest
    /// priority does.
    pub(super) by_prefix: bool,
    /// The location of the address of an entry's counters and timer. `None` if the entries have
    /// none that generated code uses.
    pub(super) owner: Option<Owner>,
}

/// A packed table with exact keys that are known after parsing, and whose entries have counters or
/// timers in separate memory. This memory is prefetched after the entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub(super) table: u32,
    /// The index of the burst's column that holds the packets' keys for this table and the results
    /// of their lookups.
    pub(super) column: usize,
    pub(super) owner: Owner,
}

/// The position in each entry of a packed table of the address of the separate memory that holds
/// the entry's counters and timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    /// The offset in bytes, in an entry's values, of the address of its counters and timer.
    place: u32,
    /// Whether the entries have meters too, which are in the same memory.
    meters: bool,
}

impl Owner {
    /// Returns where entries with this layout store the address of their counters, meters and
    /// timers. Returns `None` if they have none that generated code uses.
    pub(super) fn of(layout: &EntryLayout) -> Option<Self> {
        let is_used = layout.counts || layout.meters || layout.ageing != Ageing::None;
        let place = layout.owner.filter(|_| is_used)?;
        Some(Self { place, meters: layout.meters })
    }

    /// Prefetches the counters, timers and meters of the entries with the given keys. The bucket
    /// addresses in `keys` belong to the first keys; those of the other keys are computed. For each
    /// key, the function stores the encoded position of its entry ([`Probe::FOUND`]) in `found`, or
    /// zero if the position is not known. It is always zero if the keys are entry numbers.
    ///
    /// # Safety
    ///
    /// The access must be that of a table whose entries have this owner. It must have been obtained
    /// for the current batch inside the gate of the tables, and no packet may have left the gate
    /// since the bucket addresses were computed.
    unsafe fn prefetch(&self, access: &Access, keys: KeysOfBurst<'_>, found: &mut [u32]) {
        let mut accounts = [0; BURST];
        let accounts = &mut accounts[..keys.keys.len().min(BURST)];
        let named = NamedEntries { addresses: &mut *accounts, found };
        // SAFETY: the caller guarantees that the access is valid for the current batch and that no
        // packet has left the gate since the bucket addresses were computed.
        unsafe {
            access.prefetch_named(keys, self.place as usize, named);
        }
        if !self.meters {
            return;
        }
        for address in accounts {
            // SAFETY: `prefetch_named` stored here the address of the entry's account or zero. The
            // account outlives the call because the worker is inside the gate, and the entries have
            // meters.
            let meter = unsafe { direct_account(*address) }.map(DirectAccount::meter);
            for line in meter.into_iter().flat_map(lines) {
                (access.prefetch)(line);
            }
        }
    }
}

/// The generated functions that process the bursts of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stages {
    pub(super) parse: Stage,
    pub(super) pass: Stage,
    pub(super) fused: Option<Stage>,
    /// The prefetch stage, which runs before the fused function: it computes the keys and buckets
    /// of all packets of a burst. It is used if entries may be missing from the cache, or if tables
    /// are searched for all packets at once.
    pub(super) prefetch_stage: Option<Stage>,
}

/// The frames (working memory) of a burst's packets, and its columns of table keys, kept for the
/// next burst. Words of the frames that no packet writes stay zero.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The number that identifies the compiled program that last used the frames.
    of: u64,
    words: Vec<u64>,
    columns: Vec<Column>,
}

impl Frames {
    /// Returns frames (working memory) for at most [`BURST`] packets of a program, and the columns
    /// of table keys of a burst. If another program used the frames last, they are cleared first.
    pub(super) fn of(
        &mut self,
        code: &Compiled,
        plan: &Plan,
        packets: usize,
    ) -> (&mut [u64], &mut [Column]) {
        if self.of != code.number {
            self.words.clear();
            self.of = code.number;
        }
        let words = plan.frame as usize / 8 * packets.min(BURST);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        if self.columns.len() < plan.columns {
            self.columns.resize(plan.columns, Column { keys: [[0; 2]; BURST], found: [0; BURST] });
        }
        (&mut self.words, &mut self.columns)
    }
}

impl Run<'_, '_> {
    /// Processes all packets of a batch, in bursts.
    pub(super) fn bursts(
        &mut self,
        (plan, stages): (&Plan, &Stages),
        mut inside: Option<&mut Inside<'_>>,
        packets: &[(u32, &[u8])],
    ) {
        let emitted = (self.code.resolved.emitted as usize + SLACK).next_multiple_of(CHUNK);
        // Headers that a deparser adds go in front of the packet; PSA has two deparsers.
        let in_front = if self.fast_path.psa.is_some() { 2 * emitted } else { emitted };
        if let Some(inside) = inside.as_deref_mut() {
            self.context.set_tables(inside);
        }
        // Stage times can be measured only if the stages run one after the other.
        let fused = stages.fused.filter(|_| self.timed.is_none());
        let prefetch_threshold = self.prefetch_threshold;
        let reach = inside.as_deref_mut().map(|inside| reach(inside, prefetch_threshold));
        let exceeds_cache = matches!(reach, Some(Reach::Far));
        let (fused, prefetch_stage) = match reach {
            None | Some(Reach::Near) if !self.code.machine_code.prefetches => {
                (fused.filter(|_| self.code.machine_code.batch_lookups.is_empty()), None)
            }
            Some(Reach::Near | Reach::Far) if self.code.machine_code.prefetches => {
                (fused, stages.prefetch_stage)
            }
            None | Some(Reach::Near | Reach::Far | Reach::Calls) => (None, None),
        };
        let mut bucket_addresses = [const { MaybeUninit::<u64>::uninit() }; MAX_PREFETCHED * BURST];
        let now = self.host.now.as_micros() as u64;
        let queues = u64::from(self.host.state.priority_queues.load(Ordering::Relaxed));
        let tells = self.fast_path.tells_direction;
        // The first bytes are the buffer into which deparsers emit.
        let mut taken = emitted;
        for (round, packets) in packets.chunks(BURST).enumerate() {
            let mut records = [const { MaybeUninit::<Packet>::uninit() }; BURST];
            let first = round * BURST;
            for (at, (record, (port, packet))) in records.iter_mut().zip(packets).enumerate() {
                let output = (taken + in_front) as u64;
                taken += in_front + ((packet.len() + SLACK + CHUNK - 1) & !(CHUNK - 1));
                let (input, length) = (packet.as_ptr(), packet.len() as u64);
                let received = length + self.beyond(first + at);
                // Another core may have written the packet last.
                prefetch(input);
                let direction = if tells { self.host.direction(*port) as u32 } else { 0 };
                record.write(Packet { input, length, received, output, port: *port, direction });
            }
            self.batch.make_room(taken);
            let bytes = self.batch.room.as_mut_ptr();
            let mut burst = Burst {
                packets: records.as_ptr().cast(),
                count: packets.len() as u64,
                frames: self.frames.as_mut_ptr().cast(),
                context: &raw mut self.context,
                now,
                queues,
                emitted: bytes,
                bytes,
                sent: std::ptr::null_mut(),
                first: first as u64,
                bucket_addresses: bucket_addresses.as_mut_ptr().cast(),
                columns: self.columns.as_mut_ptr(),
            };
            if let Some(fused) = fused {
                let stage = (fused, prefetch_stage, exceeds_cache);
                self.passed(plan, stage, &mut burst, (inside.as_deref_mut(), packets));
                continue;
            }
            self.host_calls();
            let begin = self.clock();
            // SAFETY: a record was written for each of the burst's packets. The records point to
            // these packets, which are borrowed for the call, and to their copies in the output
            // buffer, which has room for all of them, `emitted` bytes in front of each and `SLACK`
            // bytes after it. Each packet has a frame of the plan's size. Parsers make host calls
            // only to read the state. The table accesses were obtained for this batch inside the
            // gate.
            unsafe { (stages.parse)(&raw mut burst, 0) };
            if let Some(inside) = inside.as_deref_mut() {
                self.prefetch_searches(inside.accesses(), 0..packets.len());
                self.look_up_all(inside.accesses(), &[], packets.len());
            }
            let parsed = self.clock();
            let stage = (stages.pass, None, false);
            self.passed(plan, stage, &mut burst, (inside.as_deref_mut(), packets));
            if let Some(timed) = self.timed {
                let times = &mut timed.times;
                times.packets += packets.len() as u64;
                times.parser += parsed.wrapping_sub(begin);
                times.after_parser += (timed.clock)().wrapping_sub(parsed);
            }
        }
    }

    /// Prefetches table buckets whose addresses the prefetch stage has computed. `buckets` holds
    /// one address for each table, first for the first packet, then for the second packet, and so
    /// on.
    fn prefetch_computed(&self, accesses: &[TableAccess], buckets: &[u64]) {
        let tables = &self.code.machine_code.prefetched;
        for (position, table) in tables.iter().enumerate() {
            if let Some(table) = accesses.get(*table as usize) {
                table.access.prefetch_buckets(of_table(buckets, position, tables.len()));
            }
        }
    }

    /// Prefetches the memory that the searches of prefix and rule tables read first, for some
    /// packets of a burst.
    fn prefetch_searches(&self, accesses: &[TableAccess], packets: Range<usize>) {
        for BatchLookup { table, column, .. } in &self.code.machine_code.batch_lookups {
            if let (Some(table), Some(column)) =
                (accesses.get(*table as usize), self.columns.get(*column))
                && table.is_empty == 0
            {
                // SAFETY: the table accesses were obtained for this batch inside the gate.
                unsafe { table.searcher.prefetch_keys(&column.keys[packets.clone()]) };
            }
        }
    }

    /// Looks up all packets of a burst in the tables that match prefixes or rules, and prefetches
    /// the entries that were found, with their counters and timers. In tables with exact keys,
    /// prefetches the counters and timers of entries and records where the entries are. `computed`
    /// holds the bucket addresses of all packets, if the prefetch stage has computed them.
    fn look_up_all(&mut self, accesses: &mut [TableAccess], computed: &[u64], packets: usize) {
        for BatchLookup { table, column, by_prefix, owner } in &self.code.machine_code.batch_lookups
        {
            let (Some(table), Some(Column { keys, found })) =
                (accesses.get_mut(*table as usize), self.columns.get_mut(*column))
            else {
                self.host.broken("the column of a table in which a burst is looked up");
                continue;
            };
            if table.is_empty == 1 {
                // The packets have left no keys.
                found[..packets].fill(0);
                continue;
            }
            // While one group waits for the memory that leads to its entries, the entries of the
            // group before arrive.
            let at_once = if *by_prefix { STEP } else { BURST };
            let parts = keys[..packets].chunks(at_once).zip(found[..packets].chunks_mut(at_once));
            for (keys, found) in parts {
                // SAFETY: the table accesses were obtained for this batch inside the gate.
                unsafe { table.searcher.find_all(keys, found) };
                table.access.prefetch_numbered(found);
            }
            if let Some(owner) = owner {
                let keys = found.map(|found| [u64::from(found), 0]);
                // The lookups returned entry numbers, so the places of the entries are not needed.
                let places = &mut [0; BURST][..packets];
                let keys = KeysOfBurst { keys: &keys[..packets], buckets: &[] };
                // SAFETY: the table accesses were obtained for this batch inside the gate, and no
                // bucket addresses are passed.
                unsafe { owner.prefetch(&table.access, keys, places) };
            }
        }
        for Owned { table: number, column, owner } in &self.code.machine_code.owned {
            let (Some(table), Some(Column { keys, found })) =
                (accesses.get(*number as usize), self.columns.get_mut(*column))
            else {
                self.host.broken("the column of a table whose entries are prefetched");
                continue;
            };
            let tables = &self.code.machine_code.prefetched;
            let mut homes = [0; BURST];
            let position = tables.iter().position(|known| known == number);
            let count = position.map_or(0, |position| {
                let buckets = of_table(computed, position, tables.len());
                homes.iter_mut().zip(buckets).map(|(home, bucket)| *home = bucket).count()
            });
            // SAFETY: the table accesses were obtained for this batch inside the gate, and the
            // bucket addresses were computed for the same keys.
            unsafe {
                let keys = KeysOfBurst { keys: &keys[..packets], buckets: &homes[..count] };
                owner.prefetch(&table.access, keys, &mut found[..packets]);
            }
        }
    }

    /// Returns the current time of the clock with which stages are measured, or zero if they are
    /// not measured.
    fn clock(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| (timed.clock)())
    }

    /// Processes the packets of a burst to completion with the given stage. If there is a prefetch
    /// stage, it runs before the packets are processed, and computes the addresses of the buckets
    /// that they need. The buckets are prefetched if `exceeds_cache` is set: the tables do not fit
    /// in the cache.
    fn passed(
        &mut self,
        plan: &Plan,
        (stage, prefetch_stage, exceeds_cache): (Stage, Option<Stage>, bool),
        burst: &mut Burst,
        (mut inside, packets): (Option<&mut Inside<'_>>, &[(u32, &[u8])]),
    ) {
        let (mut from, mut computed) = (0, 0);
        // While the packets of one group are processed, the memory system loads the buckets of the
        // next group.
        let is_stepwise = exceeds_cache && self.computes_only_buckets() && !plan.leaves_gate;
        while from < packets.len() {
            self.host_calls();
            let end = if is_stepwise { packets.len().min(from + STEP) } else { packets.len() };
            if let (Some(prefetch_stage), Some(inside)) = (prefetch_stage, inside.as_deref_mut()) {
                computed = computed.max(from);
                if is_stepwise {
                    while computed < packets.len().min(end + STEP) {
                        let next = packets.len().min(computed + STEP);
                        self.run_prefetch_stage(
                            prefetch_stage,
                            burst,
                            computed..next,
                            Some(inside.accesses()),
                        );
                        computed = next;
                    }
                    self.prefetch_overflow(burst, from..end, inside.accesses());
                } else {
                    self.prefetch_all(prefetch_stage, burst, from..end, exceeds_cache, inside);
                }
            }
            burst.count = end as u64;
            let sent = &mut self.batch.sent;
            // Replicas for multicast groups, of this burst and of earlier ones, may have used up
            // the capacity that was reserved.
            sent.reserve(packets.len() - from);
            let before = sent.len();
            burst.sent = sent.spare_capacity_mut().as_mut_ptr().cast();
            let begin = burst.sent;
            // SAFETY: a record was written for each of the burst's packets. The records point to
            // these packets, which are borrowed for the call, and to their copies in the output
            // buffer, which has room for all of them. Each packet has a frame of the plan's size.
            // The table accesses were obtained for this batch inside the gate. The host belongs to
            // this run and only host calls use it until the code returns. `sent` has capacity for a
            // record of each packet that is left.
            let came_to = unsafe { stage(burst, from as u64) };
            // SAFETY: the code wrote records starting at `begin` and advanced `burst.sent` past the
            // last one.
            unsafe {
                let count = usize::try_from(burst.sent.offset_from(begin)).unwrap_or(0);
                sent.set_len(before + count);
            }
            let at = (came_to & (LEAVES_IN_INGRESS - 1)) as usize;
            if let Some(broken) = self.host.take_broken() {
                // Any of the packets since `from` may have found it.
                let first = burst.first as usize;
                let (packets, sent) = (first + from..first + end, before);
                self.fail_all(inside.as_deref_mut(), packets, sent, broken);
                from = end;
                continue;
            }
            if at >= end {
                from = end;
                continue;
            }
            self.at = at;
            self.packet = burst.first as usize + at;
            let (port, packet) = packets[at];
            let is_of_v1model = self.fast_path.kind == Kind::V1model;
            let outcome = match came_to & !(LEAVES_IN_INGRESS - 1) {
                0 => Err(fault(self.code, &self.context, &mut self.host)),
                // No block makes a request of the architecture, so the packet goes to a multicast
                // group.
                LEAVES_IN_INGRESS if is_of_v1model && !plan.interprets && !plan.requests => {
                    self.replicated(packet)
                }
                LEAVES_IN_INGRESS => {
                    let cloned = (is_of_v1model && !plan.interprets)
                        .then(|| self.clone_once(port, packet))
                        .flatten();
                    cloned.unwrap_or_else(|| {
                        self.complete_in_driver(LastControl::Ingress, plan.interprets, port, packet)
                    })
                }
                LEAVES_IN_EGRESS => match self.frame().get(plan.error as usize / 8).copied() {
                    Some(to) => {
                        let last_control = LastControl::Egress(to as u32);
                        self.complete_in_driver(last_control, plan.interprets, port, packet)
                    }
                    None => Err(RunError::internal("a frame without the port of the packet")),
                },
                _ => Err(RunError::internal("an end of a stage that no stage has")),
            };
            if came_to >= LEAVES_IN_INGRESS {
                // The frames must be zero for the next packet, which may not see headers of this
                // one.
                self.frame().fill(0);
            }
            if let Err(error) = outcome {
                let sent = before_packet(&self.batch.sent, self.packet);
                self.failed(inside.as_deref_mut(), sent, error);
            }
            // The driver may have processed the packet and changed tables, so bucket addresses
            // computed before are computed again.
            from = at + 1;
            computed = from;
        }
    }

    /// Records an error for a range of packets after one of them violated an invariant. Nothing is
    /// transmitted for them: all records of packets to transmit except the first `sent` are
    /// removed.
    #[cold]
    fn fail_all(
        &mut self,
        mut inside: Option<&mut Inside<'_>>,
        packets: Range<usize>,
        sent: usize,
        broken: InternalError,
    ) {
        for packet in packets {
            self.packet = packet;
            self.failed(inside.as_deref_mut(), sent, RunError::Internal(broken));
        }
        self.frames.fill(0);
    }

    /// Returns whether the prefetch stage computes nothing but the addresses of buckets. If so, no
    /// bucket is read before packets are processed.
    fn computes_only_buckets(&self) -> bool {
        self.code.machine_code.batch_lookups.is_empty() && self.code.machine_code.owned.is_empty()
    }

    /// Computes the bucket addresses and keys of some packets of a burst with the prefetch stage.
    /// If `accesses` are given, also prefetches the buckets.
    fn run_prefetch_stage(
        &self,
        prefetch_stage: Stage,
        burst: &mut Burst,
        packets: Range<usize>,
        accesses: Option<&[TableAccess]>,
    ) {
        burst.count = packets.end as u64;
        // SAFETY: `bursts` made the burst with valid packets, frames and table accesses, and its
        // buffer for bucket addresses has room for those of all packets.
        unsafe { prefetch_stage(burst, packets.start as u64) };
        if let Some(accesses) = accesses {
            self.prefetch_computed(accesses, self.bucket_addresses(burst, packets));
        }
    }

    /// Returns the bucket addresses that the prefetch stage has computed for some packets of a
    /// burst.
    fn bucket_addresses<'b>(&self, burst: &'b Burst, packets: Range<usize>) -> &'b [u64] {
        let prefetched = self.code.machine_code.prefetched.len();
        // SAFETY: for each of these packets the code wrote one address per prefetched table, and
        // there are at most `MAX_PREFETCHED` such tables, so the buffer holds the addresses of
        // `BURST` packets. The addresses stay in place while the burst is processed.
        unsafe {
            let computed = burst.bucket_addresses.cast_const().add(prefetched * packets.start);
            std::slice::from_raw_parts(computed, prefetched * packets.len())
        }
    }

    /// Prefetches overflow buckets for some packets of a burst whose bucket addresses were
    /// computed. An entry is in an overflow bucket if its own bucket is full.
    fn prefetch_overflow(&self, burst: &Burst, packets: Range<usize>, accesses: &[TableAccess]) {
        let computed = self.bucket_addresses(burst, packets);
        debug_assert!(
            computed.iter().all(|address| self.may_be_read(*address, accesses)),
            "a table moved since its buckets were told"
        );
        // SAFETY: each address is that of a bucket of the batch's tables, and no packet has left
        // the gate since it was computed, or that of the placeholder for "no bucket".
        unsafe { Access::prefetch_overflow_buckets(computed) };
    }

    /// Returns whether the bucket at `address` may be read: the address lies in the current memory
    /// of a table for which the prefetch stage computes bucket addresses, or is that of the
    /// placeholder for "no bucket".
    fn may_be_read(&self, address: u64, accesses: &[TableAccess]) -> bool {
        let is_in = |start: usize, bytes: u64| {
            (start as u64..(start as u64).saturating_add(bytes)).contains(&address)
        };
        let tables = self
            .code
            .machine_code
            .prefetched
            .iter()
            .flat_map(|table| accesses.get(*table as usize));
        let mut buckets = tables.map(|TableAccess { access, .. }| {
            (access.buckets.addr(), (access.mask + 1).saturating_mul(Probe::BUCKET as u64))
        });
        address == no_bucket() || buckets.any(|(start, bytes)| is_in(start, bytes))
    }

    /// Runs the prefetch stage for the given packets, which are the last ones of the burst. If they
    /// are all packets of the burst, also looks them up in the tables that match prefixes or rules.
    fn prefetch_all(
        &mut self,
        prefetch_stage: Stage,
        burst: &mut Burst,
        packets: Range<usize>,
        exceeds_cache: bool,
        inside: &mut Inside<'_>,
    ) {
        let is_first = packets.start == 0;
        inside.tells();
        let mut begin = packets.start;
        while begin < packets.end {
            // The memory system loads the data of the first group while the addresses of the next
            // group are computed.
            let is_waited_for = exceeds_cache || !self.code.machine_code.batch_lookups.is_empty();
            let end = if is_waited_for { packets.end.min(begin + STEP) } else { packets.end };
            self.run_prefetch_stage(
                prefetch_stage,
                burst,
                begin..end,
                exceeds_cache.then(|| &*inside.accesses()),
            );
            if is_first {
                self.prefetch_searches(inside.accesses(), begin..end);
            }
            begin = end;
        }
        // If the entries of all prefetched tables have owners, the lookup for owners follows full
        // buckets itself.
        if exceeds_cache
            && self.code.machine_code.owned.len() < self.code.machine_code.prefetched.len()
        {
            self.prefetch_overflow(burst, packets.clone(), inside.accesses());
        }
        if is_first {
            let computed = self.bucket_addresses(burst, 0..packets.end);
            self.look_up_all(inside.accesses(), computed, packets.end);
        } else {
            // The places where entries of exact keys were found may hold other entries now.
            for Owned { column, .. } in &self.code.machine_code.owned {
                if let Some(Column { found, .. }) = self.columns.get_mut(*column) {
                    found[packets.clone()].fill(0);
                }
            }
        }
    }

    /// Processes the replicas of a packet that goes to a multicast group. Ingress has run, and its
    /// results are in the packet's frame (its working memory).
    fn replicated(&mut self, packet: &[u8]) -> Result<(), RunError> {
        let cursor = usize::try_from(self.context.cursor).unwrap_or(usize::MAX);
        let length_change = std::mem::take(&mut self.context.length_change);
        let payload = packet.get(cursor..).unwrap_or(&[]);
        let length = packet.len() as u64 + self.beyond(self.packet);
        self.multicast(length, length_change, payload)
    }

    /// Lets the driver of the architecture complete a packet that generated code has processed in
    /// part. Such a packet has requested a copy, another pass or a message, or goes to a multicast
    /// group in a program whose egress may make such requests.
    pub(super) fn complete_in_driver(
        &mut self,
        last_control: LastControl,
        interprets: bool,
        port: u32,
        packet: &[u8],
    ) -> Result<(), RunError> {
        let keeps_length = self.fast_path.psa.as_ref().is_none_or(|psa| psa.keeps_length);
        let beyond = self.beyond(self.packet);
        let mut length = packet.len() as u64 + beyond;
        let position = match last_control {
            LastControl::Ingress => 0,
            LastControl::Egress(_) => 1,
        };
        let code = self.code;
        let begin = self.at * self.words;
        let frame = self.frames.get_mut(begin..begin + self.words);
        let frame = frame.ok_or_else(|| RunError::internal("the frame of a packet of a burst"))?;
        let Self { core, context, host, interpreter, fast_path, .. } = self;
        let interpreter = interpreter
            .as_deref_mut()
            .ok_or_else(|| RunError::internal("a request of a packet without an interpreter"))?;
        interpreter.beyond = beyond;
        if !interprets {
            context.requests |= NEW_PACKET;
        }
        Steps { host, interpreter }.prepare(context);
        context.move_requests(&mut interpreter.effects);
        let cursor = std::mem::take(&mut context.cursor);
        interpreter.add_length_change(std::mem::take(&mut context.length_change));
        let truncate = std::mem::replace(&mut context.truncate, u64::MAX);
        interpreter.effects.truncate = (truncate < u64::MAX).then_some(truncate);
        if let Some(destination) = context.take_destination() {
            interpreter.effects.destination = destination;
        }
        match last_control {
            LastControl::Ingress => {
                interpreter.load_packet(packet.to_vec());
                interpreter.set_cursor_bytes(cursor);
            }
            LastControl::Egress(_) if fast_path.psa.is_some() => {
                // SAFETY: the context's packet is what egress parsed, in the output buffer, which
                // is not written while the result is in use.
                let packet = unsafe { passed_packet(context) };
                if !keeps_length {
                    length = packet.len() as u64;
                }
                interpreter.load_packet(packet.to_vec());
                interpreter.set_cursor_bytes(cursor);
            }
            // As in the driver, the packet in egress begins at the payload.
            LastControl::Egress(_) => {
                let payload = usize::try_from(cursor).ok().and_then(|at| packet.get(at..));
                interpreter.load_packet(payload.unwrap_or(&[]).to_vec());
            }
        }
        let left = u64::try_from(context.work_left).unwrap_or(0);
        interpreter.set_work_left(left.saturating_sub(fast_path.costs[position]));
        let places: &[(u32, u32)] = &fast_path.parameters[position];
        let [headers, metadata, standard] = places else {
            return Err(RunError::internal("parameters of a block"));
        };
        let image = |(offset, size): &(u32, u32)| Image::Here { offset: *offset, size: *size };
        let arguments = [image(headers), image(metadata), image(standard)];
        let mut run = engine::Run { code, core, frame, context, host, interpreter };
        if last_control == LastControl::Ingress {
            run.send_digest()?;
        }
        let mut outputs = Vec::new();
        let packet = HandedOver { last_control, port, length };
        core.driver.complete(&mut run, packet, arguments, &mut outputs)?;
        run.check()?;
        self.batch.push(self.packet, &outputs);
        Ok(())
    }
}

/// Returns the precomputed bucket addresses of one table, one for each packet. `computed` holds the
/// addresses of `tables` tables for each packet; `position` is the table's position among them.
fn of_table(computed: &[u64], position: usize, tables: usize) -> impl Iterator<Item = u64> {
    computed.iter().skip(position).step_by(tables).copied()
}

/// The likely location of table entries in the memory hierarchy, which decides how bursts are
/// processed.
enum Reach {
    /// All entries are in the buckets of their tables, and are likely to be in this core's cache.
    /// Other workers change at most single words of them.
    Near,
    /// All entries are in the buckets of their tables, but some buckets are likely to be in main
    /// memory or in the cache of another core.
    Far,
    /// Generated code may not use the entries of some tables directly in their buckets, so it must
    /// call the tables' own lookup function.
    Calls,
}

/// Estimates how likely the entries of all tables are to be in the cache. Tables are taken to fit
/// in the cache if they have up to `prefetch_threshold` bytes in total.
fn reach(inside: &mut Inside<'_>, prefetch_threshold: u64) -> Reach {
    /// The size in bytes above which a table that other workers write is prefetched. Prefetching a
    /// smaller one is useless, because another core takes its cache lines back before the packet is
    /// processed.
    const CONTENDED: u64 = (BURST * Probe::BUCKET) as u64;
    let accesses = inside.accesses().iter().map(|table| &table.access);
    let mut bytes = accesses.map(|access| {
        let bytes = (access.mask + 1).saturating_mul(Probe::BUCKET as u64);
        let elsewhere = access.prefetches_for_writing && bytes > CONTENDED;
        (access.in_place == 1).then_some(if elsewhere { u64::MAX } else { bytes })
    });
    match bytes.try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?))) {
        Some(bytes) if bytes <= prefetch_threshold => Reach::Near,
        Some(_) => Reach::Far,
        None => Reach::Calls,
    }
}

/// Returns the bytes of the packet that the context describes.
///
/// # Safety
///
/// The context's packet must point to initialized memory of the context's length that is not
/// written while the result lives.
unsafe fn passed_packet<'p>(context: &Context) -> &'p [u8] {
    let length = usize::try_from(context.length).unwrap_or(0);
    if context.packet.is_null() {
        return &[];
    }
    // SAFETY: the caller guarantees that the memory is initialized and not written during `'p`.
    unsafe { std::slice::from_raw_parts(context.packet, length) }
}

/// Returns the number of records in `sent` that precede those of the packet at a position of the
/// batch.
fn before_packet(sent: &[Sent], packet: usize) -> usize {
    sent.iter().take_while(|sent| sent.packet < packet).count()
}

/// Returns the addresses of the cache lines that contain a value.
fn lines<T>(value: *const T) -> impl Iterator<Item = *const u8> {
    let start = value.cast::<u8>();
    let inside = start.addr() % LINE;
    (0..size_of::<T>() + inside)
        .step_by(LINE)
        .map(move |at| start.wrapping_sub(inside).wrapping_add(at))
}

#[cfg(test)]
mod tests {
    use crate::{Batch, Compiled, EntryAction, FieldMatch, Processor, Switch, TableEntry};
    use ir::bits::Bits;
    use p4lang::preprocess::{MemoryFiles, Options};
    use std::time::Duration;

    /// A program in which the first packet with a key adds an entry, and each further packet
    /// restarts the entry's timer.
    const ADDING: &str = "#include <core.p4>
#include <pna.p4>
header A { bit<32> one; bit<64> other; bit<8> third; } struct H { A a; } struct M { } struct None { }
parser P(packet_in b, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
    state start { b.extract(h.a); transition accept; } }
control I(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    action open() { restart_expire_timer(); send_to_port((PortId_t)1); }
    action first() { add_entry(\"open\", (None){ }, (ExpireTimeProfileId_t)1); send_to_port((PortId_t)2); }
    table flows { key = { h.a.one: exact; h.a.other: exact; h.a.third: exact; }
        actions = { @tableonly open; @defaultonly first; } const default_action = first();
        add_on_miss = true; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; size = 65536; }
    apply { flows.apply(); } }
control D(packet_out b, in H h, in M m, in pna_main_output_metadata_t o) { apply { b.emit(h); } }
PNA_NIC(P(), I(), D()) main;";

    fn program(text: &str) -> ir::Program {
        let files = MemoryFiles::default();
        let compiled = p4lang::compile_text("adding.p4", text, &Options::default(), &files);
        compiled.program.expect("a program")
    }

    #[test]
    fn entries_that_packets_add_are_found_where_the_table_grew_to() {
        added_entries_are_found(ADDING);
    }

    /// Tests that a packet does not use an entry that was precomputed for its key after another
    /// entry has taken its memory. A first packet removes its entry, which has timed out, and a
    /// second one adds an entry that reuses the memory. A third packet with the first key must not
    /// find that entry.
    #[test]
    fn entries_that_took_the_place_of_others_are_not_found_for_those() {
        let adds = "add_entry(\"open\", (None){ }, (ExpireTimeProfileId_t)1);";
        let some_add = format!("if (h.a.third == 0) {{ {adds} }}");
        let text = ADDING.replace(adds, &some_add);
        assert_ne!(text, ADDING);
        let switch = Switch::new(program(&text)).expect("a switch");
        switch.set_expire_time_profile(1, Some(Duration::from_secs(1)));
        let mut code = Compiled::new(&switch).expect("code");
        assert_eq!((code.one_by_one(), code.machine_code.owned.len()), (None, 1));
        assert!(code.machine_code.stages.is_some_and(|stages| stages.fused.is_some()));
        let table = switch.table_named("flows").expect("a table");
        let open = switch.action_named(table, "open").expect("an action");
        let (mut worker, mut batch) = (Processor::with_seed(1), Batch::default());
        for prefetch_threshold in [0, u64::MAX] {
            code.prefetch_threshold = prefetch_threshold;
            let now = Duration::from_secs(if prefetch_threshold == 0 { 0 } else { 10 });
            let exact =
                |width, number: u32| FieldMatch::Exact(Bits::unsigned(width, number.into()));
            for number in 0..20 {
                let action = EntryAction::Action(switch.action_call(open, &[]).expect("no data"));
                let matches = vec![exact(32, number), exact(64, 0), exact(8, 1)];
                let idle_timeout = Some(Duration::from_secs(1));
                let entry = TableEntry { matches, priority: 0, action, idle_timeout };
                switch.add_entry(table, entry, now).expect("an entry");
            }
            let packet =
                |number: u32, third| [&number.to_be_bytes()[..], &[0; 8], &[third]].concat();
            let inputs: Vec<Vec<u8>> = (0..20)
                .flat_map(|number| [packet(number, 1), packet(number, 0), packet(number, 1)])
                .collect();
            let packets: Vec<(u32, &[u8])> = inputs.iter().map(|packet| (0, &packet[..])).collect();
            let later = now + Duration::from_secs(2);
            code.process_batch(&switch, &mut worker, &packets, later, &mut batch);
            assert!(batch.errors().is_empty());
            let ports: Vec<u32> = batch.sent().map(|(_, port, _)| port).collect();
            assert_eq!(ports, [2; 60]);
        }
    }

    #[test]
    fn entries_without_timers_that_packets_add_are_found_where_the_table_grew_to() {
        let without_timers = ADDING
            .replace(", (ExpireTimeProfileId_t)1)", ", (ExpireTimeProfileId_t)0)")
            .replace("restart_expire_timer(); ", "")
            .replace("pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; ", "");
        assert_ne!(without_timers, ADDING);
        added_entries_are_found(&without_timers);
    }

    fn added_entries_are_found(text: &str) {
        let program = program(text);
        let switch = || {
            let switch = Switch::new(program.clone()).expect("a switch");
            switch.set_expire_time_profile(1, Some(Duration::from_secs(1)));
            switch
        };
        let (switch, mut oracle) = (switch(), switch());
        let mut code = Compiled::new(&switch).expect("code");
        assert_eq!((code.one_by_one(), code.machine_code.prefetched.len()), (None, 1));
        let bytes = |number: u32| {
            // Of three packets, one has a new key and one repeats that key, whether or not the
            // table has grown in between.
            let key = match number % 3 {
                0 => number,
                1 => number * 31 % (number + 1),
                _ => number - 2,
            };
            let other = u64::from(key) << 40 | u64::from(key);
            let mut bytes = [&key.to_be_bytes()[..], &other.to_be_bytes(), &[key as u8]].concat();
            // Some packets are too short for the header.
            bytes.truncate(if number % 41 == 7 { 5 } else { 13 });
            bytes
        };
        let inputs: Vec<Vec<u8>> = (0..3000).map(bytes).collect();
        let (mut worker, mut batch) = (Processor::with_seed(1), Batch::default());
        code.prefetch_threshold = 0;
        for (round, inputs) in inputs.chunks(1000).enumerate() {
            let now = Duration::from_millis(round as u64);
            let packets: Vec<(u32, &[u8])> = inputs.iter().map(|packet| (0, &packet[..])).collect();
            code.process_batch(&switch, &mut worker, &packets, now, &mut batch);
            let sent: Vec<(u32, &[u8])> =
                batch.sent().map(|(_, port, bytes)| (port, bytes)).collect();
            let expected =
                inputs.iter().flat_map(|packet| oracle.process(0, packet, now).expect("a packet"));
            let expected: Vec<(u32, Vec<u8>)> =
                expected.map(|output| (output.port, output.packet)).collect();
            assert!(expected.iter().any(|(port, _)| *port == 1));
            assert_eq!(sent.len(), expected.len());
            for ((port, bytes), (expected_port, expected)) in sent.into_iter().zip(&expected) {
                assert_eq!((port, bytes), (*expected_port, &expected[..]));
            }
        }
    }
}
