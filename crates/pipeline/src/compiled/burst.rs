//! Packets of v1model, PSA and PNA in bursts, each stage one function that loops over them: see [`super::plan`].
//!
//! A burst is parsed, each packet in a frame of its own, and the cache is asked for the entries that headers name; then
//! packets come to their end one after the other, so that what one leaves in an entry the next one finds. Where entries are
//! in the cache anyway, or the cache can be asked for them before a packet is parsed, one function does all of that for one
//! packet after the other. Packets leave from memory that the batch keeps, where the parser put them with room in front for
//! headers that the program adds.

use super::Compiled;
use super::context::{Context, NEW_PACKET, direct_account};
use super::engine::{self, Image, fault};
use super::plan::Plan;
use super::step::Steps;
use super::straight::{Kind, Run, Sent};
use super::tables::{Inside, TableAccess};
use crate::architecture::v1model::Behind;
use crate::error::RunError;
use crate::table::{Ageing, DirectAccount, EntryLayout};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::Ordering;
use tables::{Access, LINE, Probe, no_bucket, prefetch};

/// Packets of a burst: enough that what the first asked of the memory is there when its turn comes.
pub(super) const BURST: usize = 64;

/// Packets that are told, sought by prefixes or brought to their end while the memory brings what as many others need. As
/// many lines as a core can wait for at a time.
const STEP: usize = 16;

/// The bit of a stage's result that says that the packet leaves the burst behind ingress.
pub(super) const LEAVES_IN_INGRESS: u64 = 1 << 32;

/// The bit that says that the packet leaves the burst behind egress. The frame has its port where
/// the error of the parser was.
pub(super) const LEAVES_IN_EGRESS: u64 = 1 << 33;

/// Bytes behind a packet that a word which begins in it may reach.
const SLACK: usize = 8;

/// Packets lie at multiples of so many bytes, a power of two, from each other.
const CHUNK: usize = 16;

/// Tables of so many bytes in all are near enough that nobody needs to ask for their entries ahead. Half of a second-level cache
/// of 2 MiB was too many: without asking, updates of 2^16 entries are 4 % faster at best, and a fifth slower in one process of seven.
pub(super) const NEAR: u64 = 512 << 10;

/// Most tables for whose entries the cache is asked before the one function.
pub(super) const MAXIMUM_ASKED: usize = 4;

/// A packet that came in, as code finds it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Packet {
    pub(super) input: *const u8,
    pub(super) length: u64,
    /// The length that the packet was received with: what is behind its head may be elsewhere.
    pub(super) received: u64,
    /// Where in the memory that packets leave from it is copied to.
    pub(super) output: u64,
    pub(super) port: u32,
    /// PNA: from the host or from the network, if the program wants to know.
    pub(super) direction: u32,
}

/// What code works on.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Burst {
    pub(super) packets: *const Packet,
    pub(super) count: u64,
    /// As many frames, each as long as the plan says.
    pub(super) frames: *mut u8,
    pub(super) context: *mut Context,
    /// Microseconds.
    pub(super) now: u64,
    /// Of a port, for priorities.
    pub(super) queues: u64,
    /// Room for as many bytes as a deparser emits.
    pub(super) emitted: *mut u8,
    /// The memory that packets leave from.
    pub(super) bytes: *mut u8,
    /// Where the next packet that leaves is written down.
    pub(super) sent: *mut Sent,
    /// Position in the batch of the burst's first packet.
    pub(super) first: u64,
    /// Where the addresses of buckets are left that its packets will want, one behind the other for each packet.
    pub(super) asked: *mut u64,
    /// As many as the plan says.
    pub(super) columns: *mut Column,
}

/// The keys that packets of a burst have for one table, and the numbers of the entries that were found for them, or where those of
/// exact keys were found ([`Probe::FOUND`]).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Column {
    /// Two words each, the low one first.
    pub(super) keys: [[u64; 2]; BURST],
    pub(super) found: [u32; BURST],
}

/// A stage: of a burst, from the packet on with this number; gives the number of the packet that it came to.
pub(super) type Stage = unsafe extern "C" fn(*mut Burst, u64) -> u64;

/// A native table whose keys are not exact, in which a whole burst is sought before its packets come to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought {
    pub(super) table: u32,
    /// Which of the burst's columns has the keys.
    pub(super) column: usize,
    /// The best entry is that with the longest prefix.
    pub(super) by_prefix: bool,
    /// If entries have counters or timers.
    pub(super) owner: Option<Owner>,
}

/// A native table of exact keys that are known behind the parser, whose entries have counters or timers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub(super) table: u32,
    /// Which of the burst's columns has the keys, and where their entries were found.
    pub(super) column: usize,
    pub(super) owner: Owner,
}

/// How entries of a native table name the memory that has their counters and timers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    /// Where in its values an entry has the address.
    place: u32,
    /// It leads to a meter.
    meters: bool,
}

impl Owner {
    /// If entries have such memory which code uses.
    pub(super) fn of(layout: &EntryLayout) -> Option<Self> {
        let is_used = layout.counts || layout.meters || layout.ageing != Ageing::None;
        let place = layout.owner.filter(|_| is_used)?;
        Some(Self { place, meters: layout.meters })
    }

    /// Asks the cache for that of the entries with these keys, of which the first have the buckets that were told, and leaves where
    /// entries were found if keys are no numbers.
    ///
    /// # Safety
    /// The access is of such a table, given for the batch at hand, in the gate, and no packet has left that since the buckets
    /// were told.
    unsafe fn ask_for(
        &self,
        access: &Access,
        (keys, told): (&[[u64; 2]], &[u64]),
        found: &mut [u32],
    ) {
        let mut accounts = [0; BURST];
        let accounts = &mut accounts[..keys.len().min(BURST)];
        // SAFETY: as promised to this function.
        unsafe {
            access.ask_for_named((keys, told), self.place as usize, (&mut *accounts, found));
        }
        if !self.meters {
            return;
        }
        for address in accounts {
            // SAFETY: as promised to this function: what an entry has there is the address of its account, or zero, and entries have
            // meters.
            let meter = unsafe { direct_account(*address) }.map(DirectAccount::meter);
            for line in meter.into_iter().flat_map(lines) {
                (access.prefetch)(line);
            }
        }
    }
}

/// The code of both stages, and of both in one where that is possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stages {
    pub(super) parse: Stage,
    pub(super) pass: Stage,
    pub(super) whole: Option<Stage>,
    /// What comes before that one if entries are not in the cache, or are sought for the whole burst.
    pub(super) ask: Option<Stage>,
}

/// Frames of a burst; what no packet writes is zero there.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The program that used them last.
    of: u64,
    words: Vec<u64>,
    columns: Vec<Column>,
}

impl Frames {
    /// Frames for as many packets of a program, and the columns of a burst of them.
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
    /// All packets, in bursts.
    pub(super) fn bursts(
        &mut self,
        (plan, stages): (&Plan, &Stages),
        mut inside: Option<&mut Inside<'_>>,
        packets: &[(u32, &[u8])],
    ) {
        let emitted = (self.code.bound.emitted as usize + SLACK).next_multiple_of(CHUNK);
        // Headers that the packet gets go in front of it: of each deparser.
        let in_front = if self.straight.psa.is_some() { 2 * emitted } else { emitted };
        if let Some(inside) = inside.as_deref_mut() {
            self.context.set_tables(inside);
        }
        // Who wants to know what stages take has them one after the other.
        let whole = stages.whole.filter(|_| self.timed.is_none());
        let near = self.near;
        let reach = inside.as_deref_mut().map(|inside| reach(inside, near));
        let is_far = matches!(reach, Some(Reach::Far));
        let (whole, ask) = match reach {
            None | Some(Reach::Near) if !self.code.machine.asks => {
                (whole.filter(|_| self.code.machine.sought.is_empty()), None)
            }
            Some(Reach::Near | Reach::Far) if self.code.machine.asks => (whole, stages.ask),
            None | Some(Reach::Near | Reach::Far | Reach::Calls) => (None, None),
        };
        let mut asked = [const { MaybeUninit::<u64>::uninit() }; MAXIMUM_ASKED * BURST];
        let now = self.host.now.as_micros() as u64;
        let queues = u64::from(self.host.state.priority_queues.load(Ordering::Relaxed));
        let tells = self.straight.tells_direction;
        // The first bytes are for what deparsers emit.
        let mut taken = emitted;
        for (round, packets) in packets.chunks(BURST).enumerate() {
            let mut records = [const { MaybeUninit::<Packet>::uninit() }; BURST];
            let first = round * BURST;
            for (at, (record, (port, packet))) in records.iter_mut().zip(packets).enumerate() {
                let output = (taken + in_front) as u64;
                taken += in_front + ((packet.len() + SLACK + CHUNK - 1) & !(CHUNK - 1));
                let (input, length) = (packet.as_ptr(), packet.len() as u64);
                let received = length + self.beyond(first + at);
                // Another core may have written it last.
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
                asked: asked.as_mut_ptr().cast(),
                columns: self.columns.as_mut_ptr(),
            };
            if let Some(whole) = whole {
                let stage = (whole, ask, is_far);
                self.passed(plan, stage, &mut burst, (inside.as_deref_mut(), packets));
                continue;
            }
            self.call_outs();
            let begin = self.clock();
            // SAFETY: as many records as the burst has packets were written; they name these packets, which are lent for
            // the call, and where each is copied to, in memory with room for all of them, `emitted` bytes in front of each
            // and `SLACK` behind it; there is a frame as the plan has it for each; parsers call out only for what reads the state; the accesses
            // were given for the batch, in the gate.
            unsafe { (stages.parse)(&raw mut burst, 0) };
            if let Some(inside) = inside.as_deref_mut() {
                self.ask_for_searches(inside.accesses(), 0..packets.len());
                self.seek(inside.accesses(), &[], packets.len());
            }
            let parsed = self.clock();
            let stage = (stages.pass, None, false);
            self.passed(plan, stage, &mut burst, (inside.as_deref_mut(), packets));
            if let Some(timed) = self.timed {
                let times = &mut timed.times;
                times.packets += packets.len() as u64;
                times.parser += parsed.wrapping_sub(begin);
                times.behind_parser += (timed.clock)().wrapping_sub(parsed);
            }
        }
    }

    /// Asks the cache for the buckets that were told: for each packet one of each table.
    fn ask_for_told(&self, accesses: &[TableAccess], buckets: &[u64]) {
        let tables = &self.code.machine.asked;
        for (position, table) in tables.iter().enumerate() {
            if let Some(table) = accesses.get(*table as usize) {
                table.access.ask_for_buckets(of_table(buckets, position, tables.len()));
            }
        }
    }

    /// Asks the cache for what the searches of some packets of a burst look into first.
    fn ask_for_searches(&self, accesses: &[TableAccess], packets: Range<usize>) {
        for Sought { table, column, .. } in &self.code.machine.sought {
            if let (Some(table), Some(column)) =
                (accesses.get(*table as usize), self.columns.get(*column))
            {
                // SAFETY: the accesses were given for the batch, in the gate.
                unsafe { table.searcher.ask_for(&column.keys[packets.clone()]) };
            }
        }
    }

    /// Finds for all packets of a burst what they seek by prefixes or rules, and asks the cache for the entries and for what
    /// entries name. Where buckets were told, `told` has those of all packets.
    fn seek(&mut self, accesses: &mut [TableAccess], told: &[u64], packets: usize) {
        for Sought { table, column, by_prefix, owner } in &self.code.machine.sought {
            let (Some(table), Some(Column { keys, found })) =
                (accesses.get_mut(*table as usize), self.columns.get_mut(*column))
            else {
                continue;
            };
            // While some wait for what leads to their entries, those of the others come.
            let at_once = if *by_prefix { STEP } else { BURST };
            let parts = keys[..packets].chunks(at_once).zip(found[..packets].chunks_mut(at_once));
            for (keys, found) in parts {
                // SAFETY: the accesses were given for the batch, in the gate.
                unsafe { table.searcher.find_all(keys, found) };
                table.access.ask_for_numbers(found);
            }
            if let Some(owner) = owner {
                let keys = found.map(|found| [u64::from(found), 0]);
                // Where those are their numbers say.
                let places = &mut [0; BURST][..packets];
                // SAFETY: as above.
                unsafe { owner.ask_for(&table.access, (&keys[..packets], &[]), places) };
            }
        }
        for Owned { table: number, column, owner } in &self.code.machine.owned {
            let (Some(table), Some(Column { keys, found })) =
                (accesses.get(*number as usize), self.columns.get_mut(*column))
            else {
                continue;
            };
            let tables = &self.code.machine.asked;
            let mut homes = [0; BURST];
            let position = tables.iter().position(|known| known == number);
            let count = position.map_or(0, |position| {
                let buckets = of_table(told, position, tables.len());
                homes.iter_mut().zip(buckets).map(|(home, bucket)| *home = bucket).count()
            });
            // SAFETY: as above; the addresses were told of the same keys.
            unsafe {
                let keys = (&keys[..packets], &homes[..count]);
                owner.ask_for(&table.access, keys, &mut found[..packets]);
            }
        }
    }

    /// Zero if nobody wants to know.
    fn clock(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| (timed.clock)())
    }

    /// Brings the packets of a burst to their end by a stage that does. Before that, the buckets that it looks into may be
    /// told, and the cache asked for them where they are far.
    fn passed(
        &mut self,
        plan: &Plan,
        (stage, ask, is_far): (Stage, Option<Stage>, bool),
        burst: &mut Burst,
        (mut inside, packets): (Option<&mut Inside<'_>>, &[(u32, &[u8])]),
    ) {
        let (mut from, mut told) = (0, 0);
        // While some packets wait for nothing, the memory brings what the next ones need.
        let is_stepwise = is_far && self.tells_buckets_alone() && !plan.leaves_gate;
        while from < packets.len() {
            self.call_outs();
            let end = if is_stepwise { packets.len().min(from + STEP) } else { packets.len() };
            if let (Some(ask), Some(inside)) = (ask, inside.as_deref_mut()) {
                told = told.max(from);
                if is_stepwise {
                    while told < packets.len().min(end + STEP) {
                        let next = packets.len().min(told + STEP);
                        self.tell(ask, burst, told..next, Some(inside.accesses()));
                        told = next;
                    }
                    self.ask_behind(burst, from..end, inside.accesses());
                } else {
                    self.tell_all(ask, burst, from..end, (is_far, inside));
                }
            }
            burst.count = end as u64;
            let sent = &mut self.batch.sent;
            // Packets for groups, of this burst and of those before, may have taken the room that the batch made.
            sent.reserve(packets.len() - from);
            let before = sent.len();
            burst.sent = sent.spare_capacity_mut().as_mut_ptr().cast();
            let begin = burst.sent;
            // SAFETY: as in `bursts`; the host is this run's, and used by nobody but call-outs until the code returns;
            // there is room to write down as many packets as are left.
            let came_to = unsafe { stage(burst, from as u64) };
            // SAFETY: code wrote records from `begin` on and left the pointer behind the last.
            unsafe {
                let count = usize::try_from(burst.sent.offset_from(begin)).unwrap_or(0);
                sent.set_len(before + count);
            }
            let at = (came_to & (LEAVES_IN_INGRESS - 1)) as usize;
            if at >= end {
                from = end;
                continue;
            }
            self.at = at;
            self.packet = burst.first as usize + at;
            let (port, packet) = packets[at];
            let is_of_v1model = self.straight.kind == Kind::V1model;
            let outcome = match came_to & !(LEAVES_IN_INGRESS - 1) {
                0 => Err(fault(self.code, &self.context, &mut self.host)),
                // No block calls for anything, so the packet goes to a group.
                LEAVES_IN_INGRESS if is_of_v1model && !plan.interprets => self.replicated(packet),
                LEAVES_IN_INGRESS => self.goes_on((Behind::Ingress, plan.interprets), port, packet),
                _ => {
                    let to = self.frame().get(plan.error as usize / 8).copied().unwrap_or(0);
                    self.goes_on((Behind::Egress(to as u32), plan.interprets), port, packet)
                }
            };
            if came_to >= LEAVES_IN_INGRESS {
                // No header of the next packet may find what this one left.
                self.frame().fill(0);
            }
            if let Err(error) = outcome {
                let sent = before_packet(&self.batch.sent, self.packet);
                self.failed(inside.as_deref_mut(), sent, error);
            }
            // The driver may have had the packet: what was told before that is told anew.
            from = at + 1;
            told = from;
        }
    }

    /// Whether what is told of packets are buckets, and nothing waits for what lies there.
    fn tells_buckets_alone(&self) -> bool {
        self.code.machine.sought.is_empty() && self.code.machine.owned.is_empty()
    }

    /// Tells what some packets of a burst will want, and asks the cache for it, where the accesses are given.
    fn tell(
        &self,
        ask: Stage,
        burst: &mut Burst,
        packets: Range<usize>,
        accesses: Option<&[TableAccess]>,
    ) {
        burst.count = packets.end as u64;
        // SAFETY: the burst is as for the stage.
        unsafe { ask(burst, packets.start as u64) };
        if let Some(accesses) = accesses {
            self.ask_for_told(accesses, self.told(burst, packets));
        }
    }

    /// The buckets of some packets that were told.
    fn told<'b>(&self, burst: &'b Burst, packets: Range<usize>) -> &'b [u64] {
        let asked = self.code.machine.asked.len();
        // SAFETY: code left as many addresses for each of these packets as it tells buckets of tables: at most `MAXIMUM_ASKED`, so
        // that there is room for those of `BURST` packets. They stay while the burst is worked on.
        unsafe {
            let told = burst.asked.cast_const().add(asked * packets.start);
            std::slice::from_raw_parts(told, asked * packets.len())
        }
    }

    /// Asks the cache for the buckets behind full ones of packets that were told.
    fn ask_behind(&self, burst: &Burst, packets: Range<usize>, accesses: &[TableAccess]) {
        let told = self.told(burst, packets);
        debug_assert!(
            told.iter().all(|address| self.may_be_read(*address, accesses)),
            "a table moved since its buckets were told"
        );
        // SAFETY: they are addresses of buckets of the batch's tables, and no packet has left the gate since; or that of what
        // stands for none.
        unsafe { Access::ask_behind_buckets(told) };
    }

    /// Whether something that was told is a bucket of a table where that lies now, or what stands for none.
    fn may_be_read(&self, address: u64, accesses: &[TableAccess]) -> bool {
        let is_in = |start: usize, bytes: u64| {
            (start as u64..(start as u64).saturating_add(bytes)).contains(&address)
        };
        let tables = self.code.machine.asked.iter().flat_map(|table| accesses.get(*table as usize));
        let mut buckets = tables.map(|TableAccess { access, .. }| {
            (access.buckets.addr(), (access.mask + 1).saturating_mul(Probe::BUCKET as u64))
        });
        address == no_bucket() || buckets.any(|(start, bytes)| is_in(start, bytes))
    }

    /// Tells all packets of a burst from one on what they will want, and seeks for them.
    fn tell_all(
        &mut self,
        ask: Stage,
        burst: &mut Burst,
        packets: Range<usize>,
        (is_far, inside): (bool, &mut Inside<'_>),
    ) {
        let is_first = packets.start == 0;
        inside.tells();
        let mut begin = packets.start;
        while begin < packets.end {
            // The memory brings what the first need while the others are told.
            let is_waited_for = is_far || !self.code.machine.sought.is_empty();
            let end = if is_waited_for { packets.end.min(begin + STEP) } else { packets.end };
            self.tell(ask, burst, begin..end, is_far.then(|| &*inside.accesses()));
            if is_first {
                self.ask_for_searches(inside.accesses(), begin..end);
            }
            begin = end;
        }
        // Where all entries name what is asked for, that looks behind full buckets as they come.
        if is_far && self.code.machine.owned.len() < self.code.machine.asked.len() {
            self.ask_behind(burst, packets.clone(), inside.accesses());
        }
        if is_first {
            let told = self.told(burst, 0..packets.end);
            self.seek(inside.accesses(), told, packets.end);
        } else {
            // Where entries of exact keys were found may be another one's now.
            for Owned { column, .. } in &self.code.machine.owned {
                if let Some(Column { found, .. }) = self.columns.get_mut(*column) {
                    found[packets.clone()].fill(0);
                }
            }
        }
    }

    /// A packet that goes to a group, as code left it.
    fn replicated(&mut self, packet: &[u8]) -> Result<(), RunError> {
        let cursor = usize::try_from(self.context.cursor).unwrap_or(usize::MAX);
        let length_change = std::mem::take(&mut self.context.length_change);
        let payload = packet.get(cursor..).unwrap_or(&[]);
        let length = packet.len() as u64 + self.beyond(self.packet);
        self.charge(self.straight.costs[0])?;
        self.multicast(length, length_change, payload)
    }

    /// A packet that asked for more than to leave, or goes to a group of a program with which it may ask there, as code left
    /// it: the driver has it from there on.
    fn goes_on(
        &mut self,
        (behind, interprets): (Behind, bool),
        port: u32,
        packet: &[u8],
    ) -> Result<(), RunError> {
        let keeps_length = self.straight.psa.as_ref().is_none_or(|psa| psa.keeps_length);
        let beyond = self.beyond(self.packet);
        let mut length = packet.len() as u64 + beyond;
        let position = match behind {
            Behind::Ingress => 0,
            Behind::Egress(_) => 1,
        };
        let code = self.code;
        let begin = self.at * self.words;
        let frame = self.frames.get_mut(begin..begin + self.words);
        let frame = frame.ok_or(RunError::Malformed("frame"))?;
        let Self { core, context, host, machine, straight, .. } = self;
        let machine = machine.as_deref_mut().ok_or(RunError::Malformed("machine"))?;
        machine.beyond = beyond;
        if !interprets {
            context.asked = NEW_PACKET;
        }
        Steps { host, machine }.prepare(context);
        let cursor = std::mem::take(&mut context.cursor);
        machine.add_length_change(std::mem::take(&mut context.length_change));
        let truncate = std::mem::replace(&mut context.truncate, u64::MAX);
        machine.effects.truncate = (truncate < u64::MAX).then_some(truncate);
        if let Some(destination) = context.take_destination() {
            machine.effects.destination = destination;
        }
        match behind {
            Behind::Ingress => {
                machine.load_packet(packet.to_vec());
                machine.set_cursor_bytes(cursor);
            }
            Behind::Egress(_) if straight.psa.is_some() => {
                // SAFETY: code left there what egress parsed of the packet, in the memory that packets leave from, which
                // nothing writes here.
                let packet = unsafe { passed_packet(context) };
                if !keeps_length {
                    length = packet.len() as u64;
                }
                machine.load_packet(packet.to_vec());
                machine.set_cursor_bytes(cursor);
            }
            // As the driver has it in egress.
            Behind::Egress(_) => {
                let payload = usize::try_from(cursor).ok().and_then(|at| packet.get(at..));
                machine.load_packet(payload.unwrap_or(&[]).to_vec());
            }
        }
        let left = u64::try_from(context.work_left).unwrap_or(0);
        machine.set_work_left(left.saturating_sub(straight.costs[position]));
        let places: &[(u32, u32)] = &straight.parameters[position];
        let [headers, metadata, standard] = places else {
            return Err(RunError::Malformed("parameters of a block"));
        };
        let image = |(offset, size): &(u32, u32)| Image::Here { offset: *offset, size: *size };
        let arguments = [image(headers), image(metadata), image(standard)];
        let mut run = engine::Run { code, core, frame, context, host, machine };
        if behind == Behind::Ingress {
            run.send_digest()?;
        }
        let mut outputs = Vec::new();
        let packet = (behind, port, length);
        core.driver.go_on(&mut run, packet, arguments, &mut outputs)?;
        self.batch.push(self.packet, &outputs);
        Ok(())
    }
}

/// Of the buckets that were told for packets, one of each table, those of the table at a position.
fn of_table(told: &[u64], position: usize, tables: usize) -> impl Iterator<Item = u64> {
    told.iter().skip(position).step_by(tables).copied()
}

/// How far away entries are.
enum Reach {
    /// All are in the buckets of their tables, where nobody else writes more than a word of them, and likely to be in the
    /// cache.
    Near,
    /// All are in the buckets, and some of these in memory or in another core's cache.
    Far,
    /// Some are found by calls.
    Calls,
}

fn reach(inside: &mut Inside<'_>, near: u64) -> Reach {
    /// Of a table that has no more bytes, another core has taken back what a burst asks for before its packet comes.
    const CONTENDED: u64 = (BURST * Probe::BUCKET) as u64;
    let accesses = inside.accesses().iter().map(|table| &table.access);
    let mut bytes = accesses.map(|access| {
        let bytes = (access.mask + 1).saturating_mul(Probe::BUCKET as u64);
        let elsewhere = access.asks_to_write && bytes > CONTENDED;
        (access.in_place == 1).then_some(if elsewhere { u64::MAX } else { bytes })
    });
    match bytes.try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?))) {
        Some(bytes) if bytes <= near => Reach::Near,
        Some(_) => Reach::Far,
        None => Reach::Calls,
    }
}

/// The packet that code runs on.
///
/// # Safety
/// What the context says of the packet is of memory that was written and that nobody writes while the result lives.
unsafe fn passed_packet<'p>(context: &Context) -> &'p [u8] {
    let length = usize::try_from(context.length).unwrap_or(0);
    if context.packet.is_null() {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(context.packet, length) }
}

/// How many packets were written down before those that came of this one.
fn before_packet(sent: &[Sent], packet: usize) -> usize {
    sent.iter().take_while(|sent| sent.packet < packet).count()
}

/// The lines of memory that a value lies on.
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

    /// The first packet with a key adds its entry, each further one restarts the timer.
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

    /// A packet finds that its entry has timed out, the next one adds an entry that gets the memory of that, and one behind comes with
    /// the first key again: what was found for it before all of that is another one's now.
    #[test]
    fn entries_that_took_the_place_of_others_are_not_found_for_those() {
        let adds = "add_entry(\"open\", (None){ }, (ExpireTimeProfileId_t)1);";
        let some_add = format!("if (h.a.third == 0) {{ {adds} }}");
        let text = ADDING.replace(adds, &some_add);
        assert_ne!(text, ADDING);
        let switch = Switch::new(program(&text)).expect("a switch");
        switch.set_expire_time_profile(1, Some(Duration::from_secs(1)));
        let mut code = Compiled::new(&switch).expect("code");
        assert_eq!((code.one_by_one(), code.machine.owned.len()), (None, 1));
        assert!(code.machine.stages.is_some_and(|stages| stages.whole.is_some()));
        let table = switch.table_named("flows").expect("a table");
        let open = switch.action_named(table, "open").expect("an action");
        let (mut worker, mut batch) = (Processor::with_seed(1), Batch::default());
        for near in [0, u64::MAX] {
            code.near = near;
            let now = Duration::from_secs(if near == 0 { 0 } else { 10 });
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
        assert_eq!((code.one_by_one(), code.machine.asked.len()), (None, 1));
        let bytes = |number: u32| {
            // Of three packets one has a new key, and one has it again, whether the table has grown meanwhile or not.
            let key = match number % 3 {
                0 => number,
                1 => number * 31 % (number + 1),
                _ => number - 2,
            };
            let other = u64::from(key) << 40 | u64::from(key);
            let mut bytes = [&key.to_be_bytes()[..], &other.to_be_bytes(), &[key as u8]].concat();
            // Some are too short for the header.
            bytes.truncate(if number % 41 == 7 { 5 } else { 13 });
            bytes
        };
        let inputs: Vec<Vec<u8>> = (0..3000).map(bytes).collect();
        let (mut worker, mut batch) = (Processor::with_seed(1), Batch::default());
        code.near = 0;
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
