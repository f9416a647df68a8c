//! What machine code shares with the program that calls it.
//!
//! A block of code is a function of a frame and a [`Context`]. It reads and writes the frame at offsets that are below
//! the frame's length by construction, the packet below its length after a check, and the output below what the
//! deparser can emit at most. All else goes through call-outs, which get the same two pointers back.

use super::host::Host;
use super::step::Steps;
use super::tables::{Inside, TableAccess};
use crate::machine::Machine;
use crate::table::{Account, DirectAccount, Stored, Timer};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a block of code ended.
pub(super) mod flow {
    pub(crate) const NEXT: i64 = 0;
    /// `exit`.
    pub(crate) const EXIT: i64 = 1;
    /// A parser rejects; the error is in the context.
    pub(crate) const REJECT: i64 = 2;
    /// The packet cannot be processed; the number of the fault is in the context.
    pub(crate) const FAULT: i64 = 3;
}

/// The fault of a loop that does not end; the others are numbers of assertions.
pub(super) const WORK_LIMIT: u64 = u64::MAX;

/// A fault that the host has.
pub(super) const HOST_FAULT: u64 = u64::MAX - 1;

/// `action_run` without an action, as in the interpreter.
pub(super) use crate::table::NO_ACTION;

/// The bit of what `apply` gives that says that an entry was found.
pub(super) const HIT: u32 = 32;

/// A block asked for a copy, for another pass or for a message.
pub(super) const ASKED: u64 = 1;

/// The machine still has what it counted for the packet before.
pub(super) const NEW_PACKET: u64 = 2;

/// No block has said where the packet is to go.
const UNTOUCHED: u64 = u64::MAX;

/// The packet is to be dropped.
pub(super) const NOWHERE: u64 = u64::MAX - 1;

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Context {
    pub(super) packet: *const u8,
    /// Of the packet, in bytes.
    pub(super) length: u64,
    /// In bytes.
    pub(super) cursor: u64,
    pub(super) emitted: *mut u8,
    pub(super) emitted_length: u64,
    /// Units of work that the packet may still take.
    pub(super) work_left: i64,
    /// Units that are not in `work_left`, so that code looks at `stop` before it gets them.
    held: u64,
    /// Whether the worker is to end, or null.
    stop: *const AtomicBool,
    pub(super) error: u64,
    pub(super) fault: u64,
    /// Bytes by which headers that became valid or invalid change the packet.
    pub(super) length_change: i64,
    pub(super) truncate: u64,
    /// PNA: the port of the last `send_to_port`, or [`NOWHERE`], or [`UNTOUCHED`].
    pub(super) destination: u64,
    /// Address of the entry whose action runs, if entries of its table time out; or zero.
    pub(super) timed: u64,
    /// Nanoseconds, as timers have them.
    pub(super) now: u64,
    /// Not zero if a checksum was verified and is wrong.
    pub(super) checksum_error: u64,
    /// Of the packet as it was received, in bytes, for counters.
    pub(super) received_length: u64,
    /// Of a packet in a burst: [`NEW_PACKET`] before its first step of the interpreter's, then [`ASKED`] once one of them
    /// asked the architecture for something.
    pub(super) asked: u64,
    /// One for each table that code has natively.
    pub(super) tables: *mut TableAccess,
    /// For each extern instance the address of its elements, or zero.
    pub(super) arrays: *const u64,
    /// 1 there as long as no other worker counts at the same time, or 0.
    pub(super) is_alone: *const u64,
    /// 1 there once the worker was outside of the gate and tables may have changed, or 0.
    pub(super) has_left: *const u64,
    inside: *mut c_void,
    host: *mut c_void,
    /// If the interpreter has steps; it is apart from the host.
    machine: *mut c_void,
}

/// The units of work after which code looks whether the worker is to end.
const SLICE: u64 = 1 << 16;

/// A worker outside of the gate cannot tell whether it is alone.
static NOBODY_KNOWS: u64 = 0;

/// It may find another table each time.
static ALWAYS: u64 = 1;

/// A block of machine code: frame and context; gives a [`flow`].
pub(super) type Code = unsafe extern "C" fn(*mut u8, *mut Context) -> i64;

impl Context {
    /// For one packet, without a host, with where [`crate::state::State`] has arrays.
    pub(super) fn new(work_left: u32, now: Duration, arrays: &[u64]) -> Self {
        Self {
            packet: std::ptr::null(),
            length: 0,
            cursor: 0,
            emitted: std::ptr::null_mut(),
            emitted_length: 0,
            work_left: work_left.into(),
            held: 0,
            stop: std::ptr::null(),
            error: 0,
            fault: 0,
            length_change: 0,
            truncate: u64::MAX,
            destination: UNTOUCHED,
            timed: 0,
            now: Timer::moment(now),
            checksum_error: 0,
            received_length: 0,
            asked: 0,
            tables: std::ptr::null_mut(),
            arrays: arrays.as_ptr(),
            is_alone: &raw const NOBODY_KNOWS,
            has_left: &raw const ALWAYS,
            inside: std::ptr::null_mut(),
            host: std::ptr::null_mut(),
            machine: std::ptr::null_mut(),
        }
    }

    /// Lets code take this number of units of work, and look whether the worker is to end before it takes more than a slice
    /// of them. The flag must live until code returns.
    pub(super) fn begin_work(&mut self, units: u64, stop: Option<&AtomicBool>) {
        let slice = units.min(SLICE);
        (self.work_left, self.held) = (slice.cast_signed(), units - slice);
        self.stop = stop.map_or(std::ptr::null(), std::ptr::from_ref);
    }

    /// Returns the units that code left.
    pub(super) fn end_work(&mut self) -> u64 {
        self.stop = std::ptr::null();
        let held = std::mem::take(&mut self.held);
        u64::try_from(self.work_left).map_or(0, |left| left + held)
    }

    /// Says how tables are reached until it is said again.
    pub(super) fn set_tables(&mut self, inside: &mut Inside<'_>) {
        self.tables = inside.accesses().as_mut_ptr();
        self.is_alone = inside.is_alone();
        self.has_left = inside.has_left();
        self.inside = std::ptr::from_mut(inside).cast();
    }

    /// Where the packet is to go that code has run blocks for, if they said so; forgets it.
    pub(super) fn take_destination(&mut self) -> Option<Option<u32>> {
        match std::mem::replace(&mut self.destination, UNTOUCHED) {
            UNTOUCHED => None,
            NOWHERE => Some(None),
            port => Some(Some(port as u32)),
        }
    }

    /// Says what the call-outs work on until it is said again.
    pub(super) fn set_host(&mut self, host: &mut Host<'_>) {
        self.host = std::ptr::from_mut(host).cast();
    }

    /// Says what does the interpreter's steps until it is said again.
    pub(super) fn set_machine(&mut self, machine: &mut Machine<'_>) {
        self.machine = std::ptr::from_mut(machine).cast();
    }
}

/// Lets code have another slice of what the packet may take; gives what it has then, less than none if the packet ends.
pub(super) unsafe extern "C" fn refill(context: *mut Context) -> i64 {
    // SAFETY: code calls this with its own context, which nothing else uses during the call.
    let context = unsafe { &mut *context };
    // SAFETY: `Context::begin_work` was given the flag for as long as code runs, or it is null.
    let stop = unsafe { context.stop.as_ref() };
    if stop.is_none_or(|stop| !stop.load(Ordering::Relaxed)) {
        let missing = context.work_left.min(0).unsigned_abs();
        let more = context.held.min(missing + SLICE);
        context.held -= more;
        context.work_left += more.cast_signed();
    }
    context.work_left
}

/// The host of a context.
///
/// # Safety
/// `context` is the pointer that a block of code was called with, the host that it was given is still there, and nobody
/// else uses it while the result lives.
pub(super) unsafe fn host<'h>(context: *mut Context) -> &'h mut Host<'h> {
    // SAFETY: by the contract, the context is alive and its host is the `Host` that `Context::set_host` borrowed; lifetimes
    // of what the host borrows are longer than the call of the code that calls this.
    unsafe { &mut *(*context).host.cast::<Host<'h>>() }
}

/// Host and machine of a context; nothing if it has no machine.
///
/// # Safety
/// As [`host`], for the machine too.
pub(super) unsafe fn steps<'h>(context: *mut Context) -> Option<Steps<'h, 'h>> {
    // SAFETY: by the contract, the pointer is what `Context::set_machine` borrowed, or null.
    let machine = unsafe { (*context).machine.cast::<Machine<'h>>().as_mut() };
    // SAFETY: by the contract; the host is another object than the machine.
    machine.map(|machine| Steps { host: unsafe { host(context) }, machine })
}

/// What the worker has inside of the gate; nothing if the program has no tables that code uses natively.
///
/// # Safety
/// As [`host`], for what [`Context::set_tables`] borrowed.
pub(super) unsafe fn inside<'i>(context: *mut Context) -> Option<&'i mut Inside<'i>> {
    // SAFETY: by the contract, the pointer is what `Context::set_tables` borrowed, or null.
    unsafe { (*context).inside.cast::<Inside<'i>>().as_mut() }
}

/// The account with an address that code took from an entry.
///
/// # Safety
/// The worker has been inside of the gate since code took it, so that the entry is still in its table; or zero.
pub(super) unsafe fn account<'a>(address: u64) -> Option<&'a Account> {
    // SAFETY: by the contract; whoever takes an entry out of its table closes the gate before it is dropped, and its account
    // with it.
    unsafe { std::ptr::with_exposed_provenance::<Account>(address as usize).as_ref() }
}

/// As [`account`], of an entry of a table with counters or meters.
///
/// # Safety
/// As [`account`], and the table has some.
pub(super) unsafe fn direct_account<'a>(address: u64) -> Option<&'a DirectAccount> {
    // SAFETY: as in `account`; all entries of such a table have accounts of this kind.
    unsafe { std::ptr::with_exposed_provenance::<DirectAccount>(address as usize).as_ref() }
}

/// The entry that an account belongs to.
///
/// # Safety
/// As [`account`].
pub(super) unsafe fn entry<'e>(address: u64) -> Option<&'e Stored> {
    // SAFETY: by the contract; an account has the address of its entry from the beginning.
    unsafe { account(address)?.entry().as_ref() }
}

/// As [`entry`], to be kept.
///
/// # Safety
/// As [`account`].
unsafe fn owned(address: u64) -> Option<Arc<Stored>> {
    // SAFETY: by the contract.
    let pointer = unsafe { account(address) }?.entry();
    // SAFETY: the address is what `Arc::as_ptr` gave, and by the contract the table has the entry, which it counts.
    unsafe {
        Arc::increment_strong_count(pointer);
        Some(Arc::from_raw(pointer))
    }
}

/// A packet found an entry that has timed out: it goes, and was not found.
pub(super) unsafe extern "C" fn expire(
    context: *mut Context,
    table: u64,
    address: u64,
    access: *mut TableAccess,
) {
    // SAFETY: as in `apply`.
    let host = unsafe { host(context) };
    // SAFETY: as in `owned`: code took the address a moment ago. The access is one of the context's, which code does not
    // use during the call.
    let (entry, inside) = unsafe {
        (*access).access.abandon();
        (*access).access.hits -= 1;
        (*access).access.misses += 1;
        (owned(address), inside(context))
    };
    if let (Some(inside), Some(entry), Some(table)) = (inside, entry, host.table(table)) {
        inside.outside(host.state, || table.unlink(&entry));
    }
}

/// Says to the interpreter which table is applied, with which key, and which entry was found, if one was.
pub(super) unsafe extern "C" fn begin_look_up(
    context: *mut Context,
    table: u64,
    low: u64,
    high: u64,
    address: u64,
) {
    // SAFETY: as in `apply`.
    let Some(mut steps) = (unsafe { steps(context) }) else { return };
    // SAFETY: as in `interpret`.
    steps.prepare(unsafe { &mut *context });
    // SAFETY: as in `expire`.
    let entry = unsafe { owned(address) };
    steps.begin_look_up(table, u128::from(high) << 64 | u128::from(low), entry);
}

/// Restarts the timer of the entry whose action runs; a profile that is not all ones sets its timeout too.
pub(super) unsafe extern "C" fn restart_timer(context: *mut Context, profile: u64) {
    let profile = (profile != u64::MAX).then_some(profile);
    // SAFETY: an address in the context is of the lookup at hand.
    let found = unsafe { entry((*context).timed) };
    if let Some(entry) = found {
        // SAFETY: as in `apply`.
        let host = unsafe { host(context) };
        entry.restart_timer(host.now, profile.map(|profile| host.state.expire_time(profile)));
        return;
    }
    // SAFETY: as in `apply`.
    if let Some(mut steps) = unsafe { steps(context) } {
        // SAFETY: as in `interpret`.
        steps.prepare(unsafe { &mut *context });
        steps.machine.restart_timer(profile);
    }
}

/// Looks a packed key up and puts the data of the action that was found into the frame.
pub(super) unsafe extern "C" fn apply(
    frame: *mut u8,
    context: *mut Context,
    table: u64,
    key: *const u8,
) -> u64 {
    // SAFETY: code calls this with its own context; the host was given this very frame.
    let host = unsafe { host(context) };
    let (bytes, length) = (host.frame_length(), host.key_length(table));
    // SAFETY: the frame that code runs on has that many bytes and nothing else refers to it during the call; the code
    // made the key in a stack slot of the length that the table's keys take.
    let (frame, key) = unsafe {
        (std::slice::from_raw_parts_mut(frame, bytes), std::slice::from_raw_parts(key, length))
    };
    // SAFETY: as in `apply` for the host; nothing else uses the context during the call.
    host.received_length = unsafe { (*context).received_length };
    host.apply(frame, table, key)
}

/// Fetches a default action that writes what it is given; gives its position.
pub(super) unsafe extern "C" fn default_action(
    context: *mut Context,
    table: u64,
    access: *mut TableAccess,
) -> u64 {
    // SAFETY: as in `apply`; the access is one of the context's.
    unsafe { host(context).default_action(table, &mut *access) }
}

/// Leaves what the action at a position made of its references, which code has put beside the access; the entry had these
/// values and still has them, and is written later.
pub(super) unsafe extern "C" fn defer(
    context: *mut Context,
    table: u64,
    access: *mut TableAccess,
    values: *const u8,
    position: u64,
) {
    // SAFETY: as in `apply`.
    let host = unsafe { host(context) };
    let layout = host.table(table).and_then(|table| table.packing());
    let (Some(layout), Ok(position)) = (layout, u16::try_from(position)) else { return };
    let bytes = layout.parameter_bytes as usize;
    // SAFETY: code found the entry a moment ago, inside of the gate, where nobody writes entries of such a table; it has as
    // many bytes.
    let before = unsafe { std::slice::from_raw_parts(values, bytes) }.to_vec();
    // SAFETY: the access is one of the context's, which code does not use during the call.
    let made = unsafe { (*access).made };
    let made: Vec<u8> = made.into_iter().flat_map(u64::to_ne_bytes).collect();
    // SAFETY: as in `owned`: the address is the entry's.
    let (entry, inside) = unsafe { (owned(layout.owner_of(&before)), inside(context)) };
    if let (Some(entry), Some(inside)) = (entry, inside) {
        inside.outside(host.state, || host.defer(table, &entry, position, (&before, &made)));
    }
}

/// Leaves what the action made of its references in the entry.
pub(super) unsafe extern "C" fn leave(frame: *mut u8, context: *mut Context, table: u64) {
    // SAFETY: as in `apply`.
    let host = unsafe { host(context) };
    let bytes = host.frame_length();
    // SAFETY: as in `apply`.
    let frame = unsafe { std::slice::from_raw_parts(frame, bytes) };
    host.leave(frame, table);
}

/// The value of a register; `current` beyond its end.
pub(super) unsafe extern "C" fn read_register(
    context: *mut Context,
    register: u64,
    index: u64,
    current: u64,
) -> u64 {
    // SAFETY: as in `apply`.
    unsafe { host(context) }.read_register(register, index).unwrap_or(current)
}

/// Writes a register; nothing beyond its end.
pub(super) unsafe extern "C" fn write_register(
    context: *mut Context,
    register: u64,
    index: u64,
    value: u64,
) {
    // SAFETY: as in `apply`.
    unsafe { host(context) }.write_register(register, index, value);
}

/// Whether a number of this width is in a parser value set.
pub(super) unsafe extern "C" fn is_member(
    context: *mut Context,
    set: u64,
    number: u64,
    width: u64,
    signed: u64,
) -> u64 {
    // SAFETY: as in `apply`.
    let host = unsafe { host(context) };
    u64::from(host.is_member(set, number, (width as u32, signed != 0)))
}

/// Counts the packet in an array of counters.
pub(super) unsafe extern "C" fn count(context: *mut Context, counter: u64, index: u64) {
    // SAFETY: as in `apply`.
    let host = unsafe { host(context) };
    // SAFETY: as in `apply`.
    host.received_length = unsafe { (*context).received_length };
    host.count(counter, index);
}

/// Lets the interpreter do a step; gives a [`flow`].
pub(super) unsafe extern "C" fn interpret(frame: *mut u8, context: *mut Context, step: u64) -> i64 {
    // SAFETY: as in `apply`.
    let Some(mut steps) = (unsafe { steps(context) }) else { return flow::FAULT };
    let bytes = steps.host.frame_length();
    // SAFETY: as in `apply`; the pointers in the context are not used while this reference lives.
    let (frame, context) = unsafe { (std::slice::from_raw_parts_mut(frame, bytes), &mut *context) };
    steps.prepare(context);
    // SAFETY: as in `apply`.
    let inside = unsafe { inside(std::ptr::from_mut(context)) };
    let inside = inside.filter(|_| steps.changes_tables(step));
    let outcome = match inside {
        Some(inside) => {
            let state = steps.host.state;
            inside.outside(state, || steps.step(frame, context, step))
        }
        None => steps.step(frame, context, step),
    };
    context.asked |= if steps.machine.effects.ask() { ASKED } else { 0 };
    steps.host.ended(context, outcome).err().unwrap_or(flow::NEXT)
}

/// As [`apply`] for a table that the interpreter looks up; all ones if that ended with a fault.
pub(super) unsafe extern "C" fn look_up(frame: *mut u8, context: *mut Context, table: u64) -> u64 {
    // SAFETY: as in `apply`.
    let Some(mut steps) = (unsafe { steps(context) }) else { return u64::MAX };
    let bytes = steps.host.frame_length();
    // SAFETY: as in `interpret`.
    let (frame, context) = unsafe { (std::slice::from_raw_parts_mut(frame, bytes), &mut *context) };
    steps.prepare(context);
    let outcome = steps.look_up(frame, table);
    steps.host.ended(context, outcome).unwrap_or(u64::MAX)
}

/// Says that the action of such a table is over; gives a [`flow`].
pub(super) unsafe extern "C" fn end_look_up(
    frame: *mut u8,
    context: *mut Context,
    table: u64,
) -> i64 {
    // SAFETY: as in `apply`.
    let Some(mut steps) = (unsafe { steps(context) }) else { return flow::FAULT };
    let bytes = steps.host.frame_length();
    // SAFETY: as in `interpret`.
    let (frame, context) = unsafe { (std::slice::from_raw_parts(frame, bytes), &mut *context) };
    let outcome = steps.end_look_up(frame, table);
    steps.host.ended(context, outcome).err().unwrap_or(flow::NEXT)
}

/// The hash of the data of a gather; `found` is what it is compared with where that is asked for.
pub(super) unsafe extern "C" fn hash(
    frame: *mut u8,
    context: *mut Context,
    gather: u64,
    found: u64,
) -> u64 {
    // SAFETY: as in `apply`.
    let host = unsafe { host(context) };
    let bytes = host.frame_length();
    // SAFETY: as in `interpret`.
    let (frame, context) = unsafe { (std::slice::from_raw_parts(frame, bytes), &mut *context) };
    let payload = usize::try_from(context.cursor).ok().zip(usize::try_from(context.length).ok());
    let payload = match payload {
        Some((cursor, length)) if cursor <= length && !context.packet.is_null() => {
            // SAFETY: the packet that code runs on has that many bytes, and nothing writes them during the call.
            unsafe { std::slice::from_raw_parts(context.packet.add(cursor), length - cursor) }
        }
        _ => &[],
    };
    host.gathered_hash(frame, (context, payload), gather, found)
}
