//! The state that generated code shares with its caller, and the functions that generated code
//! calls.
//!
//! Each block of a program is compiled to a function of a frame and a [`Context`]. It accesses the
//! frame at offsets that are below the frame's length by construction, the packet at offsets that
//! it has checked against the packet's length, and the output buffer below the largest size that
//! the deparser can emit. For everything else it makes a host call, which receives the same frame
//! and context.

use super::host::Host;
use super::step::Steps;
use super::tables::{Inside, TableAccess};
use crate::error::RunError;
use crate::interpreter::{Effects, Interpreter, Preserved};
use crate::table::{Account, DirectAccount, Stored, Timer};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The values that a generated function returns to say how it ended.
pub(super) mod flow {
    pub(crate) const NEXT: i64 = 0;
    /// The block executed an `exit` statement.
    pub(crate) const EXIT: i64 = 1;
    /// The parser rejected the packet; [`Context::error`](super::Context) holds the error.
    pub(crate) const REJECT: i64 = 2;
    /// The packet cannot be processed; [`Context::fault`](super::Context) holds the number of the
    /// fault.
    pub(crate) const FAULT: i64 = 3;
}

/// The value of [`Context::fault`] for a packet that exceeds its work limit. Values from zero
/// upwards are the numbers of failed assertions.
pub(super) const WORK_LIMIT: u64 = u64::MAX;

/// The value of [`Context::fault`] for a packet whose error is in [`Host::fault`].
pub(super) const HOST_FAULT: u64 = u64::MAX - 1;

/// The value of [`Context::fault`] for a packet for which the architecture's driver has called a
/// block that the package does not have.
pub(super) const NO_BLOCK: u64 = u64::MAX - 2;

/// The flag in [`Context::requests`] that is set once a statement has requested a copy of the
/// packet, another pass or a digest.
pub(super) const REQUESTS: u64 = 1;

/// The flag in [`Context::requests`] that is set at the start of each packet. It is cleared once
/// the interpreter has been prepared for the packet.
pub(super) const NEW_PACKET: u64 = 2;

/// The flag in [`Context::requests`] for a request to clone the packet. It and the flags for
/// resubmission and recirculation are set in addition to [`REQUESTS`].
pub(super) const CLONES: u64 = 4;
pub(super) const RESUBMITS: u64 = 8;
pub(super) const RECIRCULATES: u64 = 16;

/// The number of the field list in a request whose copy or pass preserves no metadata fields.
pub(super) const NO_LIST: u64 = u64::MAX;

/// The value of [`Context::destination`] while no block has set a destination.
const UNTOUCHED: u64 = u64::MAX;

/// The value of [`Context::destination`] for a packet that is to be dropped.
pub(super) const NOWHERE: u64 = u64::MAX - 1;

/// The state that generated code and its caller share while a packet is processed.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Context {
    /// The bytes of the received packet.
    pub(super) packet: *const u8,
    /// The length of the packet in bytes.
    pub(super) length: u64,
    /// The offset of the parser's cursor in the packet, in bytes.
    pub(super) cursor: u64,
    /// The buffer for the bytes that the deparser emits.
    pub(super) emitted: *mut u8,
    /// The number of bytes in the buffer `emitted`.
    pub(super) emitted_length: u64,
    /// The units of work that the packet may still take before generated code must call [`refill`]
    /// for more.
    pub(super) work_left: i64,
    /// The units of work that the packet may take in addition to `work_left`. [`refill`] moves them
    /// to `work_left` in slices, and checks `stop` before each slice.
    held: u64,
    /// The address of a flag that another thread sets to stop the worker, or null.
    stop: *const AtomicBool,
    /// The number of the parser error, if the parser has rejected the packet.
    pub(super) error: u64,
    /// The reason why the packet cannot be processed, after a block has returned [`flow::FAULT`].
    pub(super) fault: u64,
    /// The change of the packet's length in bytes: the sizes of headers that became valid, minus
    /// those of headers that became invalid.
    pub(super) length_change: i64,
    /// The number of bytes to which `truncate` of v1model limits the packet; `u64::MAX` for no
    /// limit.
    pub(super) truncate: u64,
    /// The port that the last `send_to_port` of a PNA packet chose. It is [`NOWHERE`] if the packet
    /// was dropped after that, and [`UNTOUCHED`] if neither has happened.
    pub(super) destination: u64,
    /// The address of the counters and timer of the entry whose action runs. Zero if no entry was
    /// hit, or if entries of the table do not time out.
    pub(super) timed: u64,
    /// The current time in nanoseconds, as [`Timer`] represents it.
    pub(super) now: u64,
    /// Nonzero if a checksum of the packet was verified and is wrong.
    pub(super) checksum_error: u64,
    /// The length in bytes of the packet as it was received. Byte counters count this length.
    pub(super) received_length: u64,
    /// The flags of a packet in a burst. [`NEW_PACKET`] is set until the interpreter runs for the
    /// packet. [`REQUESTS`] is set once a statement has made a request to the architecture.
    pub(super) requests: u64,
    /// The clone session of the last request for clones, if [`CLONES`] is set.
    pub(super) clone_session: u64,
    /// The field list whose fields clones preserve, or [`NO_LIST`]. The next two fields hold the
    /// lists for resubmission and recirculation.
    pub(super) clone_list: u64,
    pub(super) resubmit_list: u64,
    pub(super) recirculate_list: u64,
    /// An array that holds, for each packed table, the means by which this worker accesses it.
    pub(super) tables: *mut TableAccess,
    /// An array with the address of each extern instance's elements (registers or counters). Zero
    /// for an instance without such elements.
    pub(super) arrays: *const u64,
    /// The address of a word that is 1 while this is the only worker, and 0 otherwise. While it is
    /// 1, generated code counts without atomic instructions.
    pub(super) is_alone: *const u64,
    /// The address of a word that is 1 if other threads may have changed tables since bucket
    /// addresses were precomputed, and 0 otherwise. While it is 1, generated code computes the
    /// addresses again.
    pub(super) has_left: *const u64,
    /// The worker's state while it is inside the gate of the tables, an [`Inside`]. Null if the
    /// program has no packed tables.
    inside: *mut c_void,
    /// The address of the [`Host`], the state that host calls from generated code to Rust use.
    host: *mut c_void,
    /// The address of the interpreter. Null if generated code leaves no statements to it.
    interpreter: *mut c_void,
}

/// The number of units of work after which generated code checks again whether the worker must
/// stop.
const SLICE: u64 = 1 << 16;

/// The word to which `is_alone` points while the worker is outside the gate of the tables. There,
/// it cannot know whether it is the only worker, so the word says that it is not.
static ALONE_UNKNOWN: u64 = 0;

/// The word to which `has_left` points while the worker is outside the gate, which keeps other
/// threads from changing tables. There, tables may change at any time, so precomputed bucket
/// addresses must not be used.
static ALWAYS: u64 = 1;

/// The generated function of a block. It takes the frame (the packet's working memory) and the
/// context, and returns a value of [`flow`].
pub(super) type Code = unsafe extern "C" fn(*mut u8, *mut Context) -> i64;

impl Context {
    /// Creates the context of one packet, without a host. `arrays` holds the addresses of extern
    /// arrays, as [`crate::state::State`] stores them.
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
            requests: 0,
            clone_session: 0,
            clone_list: NO_LIST,
            resubmit_list: NO_LIST,
            recirculate_list: NO_LIST,
            tables: std::ptr::null_mut(),
            arrays: arrays.as_ptr(),
            is_alone: &raw const ALONE_UNKNOWN,
            has_left: &raw const ALWAYS,
            inside: std::ptr::null_mut(),
            host: std::ptr::null_mut(),
            interpreter: std::ptr::null_mut(),
        }
    }

    /// Sets the units of work that the packet may take, and the flag that generated code checks
    /// after each slice of work. The flag must live until generated code returns.
    pub(super) fn begin_work(&mut self, units: u64, stop: Option<&AtomicBool>) {
        let slice = units.min(SLICE);
        (self.work_left, self.held) = (slice.cast_signed(), units - slice);
        self.stop = stop.map_or(std::ptr::null(), std::ptr::from_ref);
    }

    /// Charges units of work to the packet and returns true. If the packet may not take that much
    /// work, charges nothing and returns false.
    #[inline]
    pub(super) fn charge(&mut self, units: u64) -> bool {
        let left = u64::try_from(self.work_left).ok().and_then(|left| left.checked_sub(units));
        match left {
            Some(left) => {
                self.work_left = left.cast_signed();
                true
            }
            None => self.charge_held(units),
        }
    }

    /// Charges more units of work than `work_left` has, taking the rest from `held`. Returns false
    /// if there are not enough.
    #[cold]
    fn charge_held(&mut self, units: u64) -> bool {
        let left = u64::try_from(self.work_left).unwrap_or(0) + self.held;
        let Some(left) = left.checked_sub(units) else { return false };
        let slice = left.min(SLICE);
        (self.work_left, self.held) = (slice.cast_signed(), left - slice);
        true
    }

    /// Returns the units of work that the packet may still take, and clears the stop flag's
    /// address.
    pub(super) fn end_work(&mut self) -> u64 {
        self.stop = std::ptr::null();
        let held = std::mem::take(&mut self.held);
        u64::try_from(self.work_left).map_or(0, |left| left + held)
    }

    /// Sets the means by which generated code accesses packed tables. `inside` must live while
    /// generated code runs.
    pub(super) fn set_tables(&mut self, inside: &mut Inside<'_>) {
        self.tables = inside.accesses().as_mut_ptr();
        self.is_alone = inside.is_alone();
        self.has_left = inside.has_left();
        self.inside = std::ptr::from_mut(inside).cast();
    }

    /// Returns where blocks have decided to send the packet, and clears the decision. The result is
    /// `Some(Some(port))` for an output port, `Some(None)` for a packet that is to be dropped, and
    /// `None` if no block has decided.
    pub(super) fn take_destination(&mut self) -> Option<Option<u32>> {
        match std::mem::replace(&mut self.destination, UNTOUCHED) {
            UNTOUCHED => None,
            NOWHERE => Some(None),
            port => Some(Some(port as u32)),
        }
    }

    /// Moves the requests of generated code for copies and further passes of the packet to
    /// `effects`, from which the driver carries them out.
    pub(super) fn move_requests(&mut self, effects: &mut Effects) {
        let preserved =
            |list: u64| u32::try_from(list).map_or(Preserved::Nothing, Preserved::FieldList);
        if self.requests & CLONES != 0 {
            effects.clone = Some((self.clone_session as u32, preserved(self.clone_list)));
        }
        if self.requests & RESUBMITS != 0 {
            effects.resubmit = Some(preserved(self.resubmit_list));
        }
        if self.requests & RECIRCULATES != 0 {
            effects.recirculate = Some(preserved(self.recirculate_list));
        }
        self.requests &= !(CLONES | RESUBMITS | RECIRCULATES);
    }

    /// Sets the host that host calls use. `host` must live while generated code runs.
    pub(super) fn set_host(&mut self, host: &mut Host<'_>) {
        self.host = std::ptr::from_mut(host).cast();
    }

    /// Sets the interpreter that runs the statements that generated code leaves to it.
    /// `interpreter` must live while generated code runs.
    pub(super) fn set_interpreter(&mut self, interpreter: &mut Interpreter<'_>) {
        self.interpreter = std::ptr::from_mut(interpreter).cast();
    }
}

/// Moves another slice of the packet's remaining units of work to `work_left`, unless the worker is
/// to stop. Returns the new `work_left`, which is negative if processing of the packet must end.
pub(super) unsafe extern "C" fn refill(context: *mut Context) -> i64 {
    // SAFETY: generated code passes its own context, which nothing else uses during the call.
    let context = unsafe { &mut *context };
    // SAFETY: the pointer is null or the flag given to `Context::begin_work`, which outlives the
    // run of generated code.
    let stop = unsafe { context.stop.as_ref() };
    if stop.is_none_or(|stop| !stop.load(Ordering::Relaxed)) {
        let missing = context.work_left.min(0).unsigned_abs();
        let more = context.held.min(missing + SLICE);
        context.held -= more;
        context.work_left += more.cast_signed();
    }
    context.work_left
}

/// Returns the host of a context.
///
/// # Safety
/// `context` must be the pointer that a block of generated code was called with, its host must
/// still exist, and nothing else may use the host while the result lives.
pub(super) unsafe fn host<'h>(context: *mut Context) -> &'h mut Host<'h> {
    // SAFETY: the caller guarantees that the context is alive and that its host is the `Host` that
    // `Context::set_host` borrowed. What the host borrows outlives the generated code that makes
    // this call.
    unsafe { &mut *(*context).host.cast::<Host<'h>>() }
}

/// Returns the host and the interpreter of a context, or `None` if the context has no interpreter.
///
/// # Safety
/// `context` must be the pointer that a block of generated code was called with, its host and
/// interpreter must still exist, and nothing else may use either while the result lives.
pub(super) unsafe fn steps<'h>(context: *mut Context) -> Option<Steps<'h, 'h>> {
    // SAFETY: the pointer is null or the interpreter that `Context::set_interpreter` borrowed,
    // which the caller guarantees to be alive and unused.
    let interpreter = unsafe { (*context).interpreter.cast::<Interpreter<'h>>().as_mut() };
    // SAFETY: the caller guarantees that the host is alive and unused, and it is a different object
    // from the interpreter.
    interpreter.map(|interpreter| Steps { host: unsafe { host(context) }, interpreter })
}

/// Ends a host call that needs the interpreter although the context has none, which violates an
/// invariant. Returns the value of [`flow`] that generated code returns in turn.
///
/// # Safety
/// `context` must be the pointer that a block of generated code was called with, its host must
/// still exist, and nothing else may use the context and its host during the call.
#[track_caller]
unsafe fn end_without_interpreter(context: *mut Context) -> i64 {
    // SAFETY: the caller guarantees that the context and its host are alive and unused.
    unsafe {
        (*context).fault = HOST_FAULT;
        host(context).fault = Some(RunError::internal(NO_INTERPRETER));
    }
    flow::FAULT
}

/// The message of the internal error for a host call that needs the interpreter of a program that
/// has none.
const NO_INTERPRETER: &str = "a step of a program without an interpreter";

/// Returns the worker's state inside the gate of the tables, or `None` if the program has no packed
/// tables.
///
/// # Safety
/// `context` must be the pointer that a block of generated code was called with, the object given
/// to [`Context::set_tables`] must still exist, and nothing else may use it while the result lives.
pub(super) unsafe fn inside<'i>(context: *mut Context) -> Option<&'i mut Inside<'i>> {
    // SAFETY: the pointer is null or what `Context::set_tables` borrowed, which the caller
    // guarantees to be alive and unused.
    unsafe { (*context).inside.cast::<Inside<'i>>().as_mut() }
}

/// Returns the counters and timer (the account) at an address that generated code read from an
/// entry, or `None` if the address is zero.
///
/// # Safety
/// `address` must be zero, or the worker must have been inside the gate since it read the address,
/// so that the entry is still in its table.
pub(super) unsafe fn account<'a>(address: u64) -> Option<&'a Account> {
    // SAFETY: the caller guarantees that the entry is still in its table. An entry that is removed
    // is dropped, with its account, only after the gate has been closed.
    unsafe { std::ptr::with_exposed_provenance::<Account>(address as usize).as_ref() }
}

/// Returns the account of an entry that has direct counters or meters, which holds them, or `None`
/// if the address is zero.
///
/// # Safety
/// `address` must be zero, or the worker must have been inside the gate since it read the address,
/// and the entry's table must have direct counters or meters.
pub(super) unsafe fn direct_account<'a>(address: u64) -> Option<&'a DirectAccount> {
    // SAFETY: the caller guarantees that the entry, and therefore its account, is alive, and all
    // entries of a table with direct counters or meters have accounts of this type.
    unsafe { std::ptr::with_exposed_provenance::<DirectAccount>(address as usize).as_ref() }
}

/// Returns the entry to which the account (counters and timer) at an address belongs, or `None` if
/// the address is zero.
///
/// # Safety
/// `address` must be zero, or the worker must have been inside the gate since it read the address.
pub(super) unsafe fn entry<'e>(address: u64) -> Option<&'e Stored> {
    // SAFETY: the caller guarantees that the account is alive, and an account holds the address of
    // its entry since its creation.
    unsafe { account(address)?.entry().as_ref() }
}

/// Returns a counted reference to the entry to which the account (counters and timer) at an address
/// belongs, or `None` if the address is zero.
///
/// # Safety
/// `address` must be zero, or the worker must have been inside the gate since it read the address.
unsafe fn owned(address: u64) -> Option<Arc<Stored>> {
    // SAFETY: the caller guarantees that the address is zero or that its account is alive.
    let pointer = unsafe { account(address) }?.entry();
    // SAFETY: the address came from `Arc::as_ptr`, and the table still holds a counted reference to
    // the entry, so the count is at least one.
    unsafe {
        Arc::increment_strong_count(pointer);
        Some(Arc::from_raw(pointer))
    }
}

/// Removes an entry that has timed out but that a packet's lookup has found. The lookup counts as a
/// miss.
pub(super) unsafe extern "C" fn expire(
    context: *mut Context,
    table: u64,
    address: u64,
    access: *mut TableAccess,
) {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    // SAFETY: the worker has not left the gate since generated code read the address of the
    // account. The access is one of the context's, which generated code does not use during the
    // call.
    let (entry, inside) = unsafe {
        (*access).access.abandon();
        (*access).access.hits -= 1;
        (*access).access.misses += 1;
        (owned(address), inside(context))
    };
    match (inside, entry, host.table(table)) {
        (Some(inside), Some(entry), Some(table)) => {
            inside.outside(host.state, || table.unlink(&entry));
        }
        _ => host.broken("an entry that has timed out and is in no table"),
    }
}

/// Informs the interpreter of a lookup that generated code has made: the table, the key, and the
/// address of the entry that was found, or zero. Statements that the interpreter runs later may
/// depend on it. The key is in `low` and `high`. If it has more than 128 bits, `low` is its address
/// in memory.
pub(super) unsafe extern "C" fn begin_look_up(
    context: *mut Context,
    table: u64,
    low: u64,
    high: u64,
    address: u64,
) {
    let words = {
        // SAFETY: generated code passes its own context, whose host only this call uses.
        let host = unsafe { host(context) };
        host.words_in_memory(table)
    };
    // SAFETY: generated code passes its own context; only this call uses its host and interpreter.
    let Some(mut steps) = (unsafe { steps(context) }) else {
        // SAFETY: generated code passes its own context, whose host only this call uses.
        return unsafe { host(context) }.broken(NO_INTERPRETER);
    };
    // SAFETY: generated code does not use its context during the call, and `steps` refers to the
    // host and the interpreter, which are apart from the context.
    steps.prepare(unsafe { &mut *context });
    // SAFETY: the address is zero, or the worker has not left the gate since generated code read
    // it.
    let entry = unsafe { owned(address) };
    match words {
        None => steps.begin_look_up(table, &[high, low], entry),
        Some(words) => {
            let key = std::ptr::with_exposed_provenance::<u64>(low as usize);
            // SAFETY: for a table whose keys have more than 128 bits, generated code passes as the
            // low word the address of a key on its stack. The key has `words` words, the number
            // that the table's layout states.
            let key = unsafe { std::slice::from_raw_parts(key, words) };
            steps.begin_look_up(table, key, entry);
        }
    }
}

/// Restarts the timer of the entry whose action runs. The entry gets the timeout of the expiry
/// profile `profile`, or keeps its own if `profile` is `u64::MAX`.
pub(super) unsafe extern "C" fn restart_timer(context: *mut Context, profile: u64) {
    let profile = (profile != u64::MAX).then_some(profile);
    // SAFETY: `timed` is zero or belongs to the entry of the current lookup, since which the worker
    // has not left the gate.
    let found = unsafe { entry((*context).timed) };
    if let Some(entry) = found {
        // SAFETY: generated code passes its own context, whose host only this call uses until it
        // returns.
        let host = unsafe { host(context) };
        entry.restart_timer(host.now, profile.map(|profile| host.state.expire_time(profile)));
        return;
    }
    // SAFETY: generated code passes its own context; only this call uses its host and interpreter.
    if let Some(mut steps) = unsafe { steps(context) } {
        // SAFETY: generated code does not use its context during the call, and `steps` refers to
        // the host and the interpreter, which are apart from the context.
        steps.prepare(unsafe { &mut *context });
        steps.interpreter.restart_timer(profile);
    }
    // Without an interpreter, all tables are looked up by generated code. The action that runs is
    // then a default action, which has no timer.
}

/// Looks up a packed key in a table and copies the parameters of the action that is to run to the
/// frame. Returns the result of [`Host::apply`].
pub(super) unsafe extern "C" fn apply(
    frame: *mut u8,
    context: *mut Context,
    table: u64,
    key: *const u8,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    let (bytes, length) = (host.frame_length(), host.key_length(table));
    // SAFETY: the frame of generated code has `bytes` bytes, and nothing else refers to it during
    // the call. The key is in a stack slot whose length is that of the table's packed key.
    let (frame, key) = unsafe {
        (std::slice::from_raw_parts_mut(frame, bytes), std::slice::from_raw_parts(key, length))
    };
    // SAFETY: generated code passes its own context, which nothing else writes during the call.
    host.received_length = unsafe { (*context).received_length };
    host.apply(frame, table, key)
}

/// Prepares the default action of a packed table if the action changes its own parameters: copies
/// the parameters to `access`. Returns the action's position in the table's list.
pub(super) unsafe extern "C" fn default_action(
    context: *mut Context,
    table: u64,
    access: *mut TableAccess,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses, and one of the
    // context's accesses, which generated code does not use during the call.
    unsafe { host(context).default_action(table, &mut *access) }
}

/// Ends a table action that has changed its own parameters, in a table whose entries generated code
/// does not write itself. The new parameters, which are in `access`, are written to the entry
/// outside the gate of the tables, or a controller is requested to write them. `values` points to
/// the old parameters in the entry, and `position` is the action's position in the table's list.
pub(super) unsafe extern "C" fn defer(
    context: *mut Context,
    table: u64,
    access: *mut TableAccess,
    values: *const u8,
    position: u64,
) {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    let layout = host.table(table).and_then(|table| table.packing());
    let (Some(layout), Ok(position)) = (layout, u16::try_from(position)) else {
        return host.broken("the layout of a packed table");
    };
    let bytes = layout.parameter_bytes as usize;
    // SAFETY: generated code found the entry since the worker last entered the gate. Entries of
    // such a table have `bytes` bytes of parameters, and nothing writes them while a worker is
    // inside the gate.
    let before = unsafe { std::slice::from_raw_parts(values, bytes) }.to_vec();
    // SAFETY: the access is one of the context's, which generated code does not use during the
    // call.
    let made = unsafe { (*access).made };
    let made: Vec<u8> = made.into_iter().flat_map(u64::to_ne_bytes).collect();
    // SAFETY: the parameters include the address of the entry's account, and the worker has not
    // left the gate since it found the entry. Only this call uses the context's `Inside`.
    let (entry, inside) = unsafe { (owned(layout.owner_of(&before)), inside(context)) };
    let (Some(entry), Some(inside)) = (entry, inside) else {
        return host.broken("an entry that was written and is in no table");
    };
    let made = inside.outside(host.state, || host.defer(table, &entry, position, (&before, &made)));
    host.check(made);
}

/// Ends a table action that has changed its own parameters: writes them from the frame back to the
/// table.
pub(super) unsafe extern "C" fn leave(frame: *mut u8, context: *mut Context, table: u64) {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    let bytes = host.frame_length();
    // SAFETY: the frame of generated code has `bytes` bytes, and nothing writes it during the call.
    let frame = unsafe { std::slice::from_raw_parts(frame, bytes) };
    host.leave(frame, table);
}

/// Returns an element of a register array, or `current` if the index is out of range.
pub(super) unsafe extern "C" fn read_register(
    context: *mut Context,
    register: u64,
    index: u64,
    current: u64,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    unsafe { host(context) }.read_register(register, index).unwrap_or(current)
}

/// Writes an element of a register array. Does nothing if the index is out of range.
pub(super) unsafe extern "C" fn write_register(
    context: *mut Context,
    register: u64,
    index: u64,
    value: u64,
) {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    unsafe { host(context) }.write_register(register, index, value);
}

/// Returns 1 if a parser value set contains a number of the given width, and 0 otherwise.
pub(super) unsafe extern "C" fn is_member(
    context: *mut Context,
    set: u64,
    number: u64,
    width: u64,
    signed: u64,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    u64::from(host.is_member(set, number, (width as u32, signed != 0)))
}

/// Counts the packet in an element of a counter array. Does nothing if the index is out of range.
pub(super) unsafe extern "C" fn count(context: *mut Context, counter: u64, index: u64) {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    // SAFETY: generated code passes its own context, which nothing else writes during the call.
    host.received_length = unsafe { (*context).received_length };
    host.count(counter, index);
}

/// Runs a statement or expression that generated code leaves to the interpreter, given by its
/// number. Returns a value of [`flow`].
pub(super) unsafe extern "C" fn interpret(frame: *mut u8, context: *mut Context, step: u64) -> i64 {
    // SAFETY: generated code passes its own context; only this call uses its host and interpreter.
    let Some(mut steps) = (unsafe { steps(context) }) else {
        // SAFETY: generated code passes its own context, which only this call uses.
        return unsafe { end_without_interpreter(context) };
    };
    let bytes = steps.host.frame_length();
    // SAFETY: the frame of generated code has `bytes` bytes, and nothing else refers to the frame
    // or to the context during the call.
    let (frame, context) = unsafe { (std::slice::from_raw_parts_mut(frame, bytes), &mut *context) };
    steps.prepare(context);
    // The step may replace an earlier request of generated code.
    context.move_requests(&mut steps.interpreter.effects);
    // SAFETY: the context is the one that generated code passed, and only this call uses its
    // `Inside`.
    let inside = unsafe { inside(std::ptr::from_mut(context)) };
    let inside = inside.filter(|_| steps.changes_tables(step));
    let outcome = match inside {
        Some(inside) => {
            let state = steps.host.state;
            inside.outside(state, || steps.step(frame, context, step))
        }
        None => steps.step(frame, context, step),
    };
    context.requests |= if steps.interpreter.effects.has_requests() { REQUESTS } else { 0 };
    steps.host.ended(context, outcome).err().unwrap_or(flow::NEXT)
}

/// Looks up the packet in a table that is not packed, with the interpreter. Returns the result of
/// [`Host::apply`], or `u64::MAX` if the lookup ended with a fault.
pub(super) unsafe extern "C" fn look_up(frame: *mut u8, context: *mut Context, table: u64) -> u64 {
    // SAFETY: generated code passes its own context; only this call uses its host and interpreter.
    let Some(mut steps) = (unsafe { steps(context) }) else {
        // SAFETY: generated code passes its own context, which only this call uses.
        unsafe { end_without_interpreter(context) };
        return u64::MAX;
    };
    let bytes = steps.host.frame_length();
    // SAFETY: the frame of generated code has `bytes` bytes, and nothing else refers to the frame
    // or to the context during the call.
    let (frame, context) = unsafe { (std::slice::from_raw_parts_mut(frame, bytes), &mut *context) };
    steps.prepare(context);
    let outcome = steps.look_up(frame, table);
    steps.host.ended(context, outcome).unwrap_or(u64::MAX)
}

/// Ends the action that [`look_up`] has selected, and writes back the parameters that it has
/// changed. Returns a value of [`flow`].
pub(super) unsafe extern "C" fn end_look_up(
    frame: *mut u8,
    context: *mut Context,
    table: u64,
) -> i64 {
    // SAFETY: generated code passes its own context; only this call uses its host and interpreter.
    let Some(mut steps) = (unsafe { steps(context) }) else {
        // SAFETY: generated code passes its own context, which only this call uses.
        return unsafe { end_without_interpreter(context) };
    };
    let bytes = steps.host.frame_length();
    // SAFETY: the frame of generated code has `bytes` bytes, nothing writes it during the call, and
    // nothing else refers to the context.
    let (frame, context) = unsafe { (std::slice::from_raw_parts(frame, bytes), &mut *context) };
    let outcome = steps.end_look_up(frame, table);
    steps.host.ended(context, outcome).err().unwrap_or(flow::NEXT)
}

/// Computes a hash over the fields of a gather (a list of a hash's inputs), which is given by its
/// number, and returns it. If the gather verifies a checksum and the hash differs from `found`,
/// records a checksum error in the context.
pub(super) unsafe extern "C" fn hash(
    frame: *mut u8,
    context: *mut Context,
    gather: u64,
    found: u64,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let host = unsafe { host(context) };
    let bytes = host.frame_length();
    // SAFETY: the frame of generated code has `bytes` bytes, nothing writes it during the call, and
    // nothing else refers to the context.
    let (frame, context) = unsafe { (std::slice::from_raw_parts(frame, bytes), &mut *context) };
    let payload = usize::try_from(context.cursor).ok().zip(usize::try_from(context.length).ok());
    let payload = match payload {
        Some((cursor, length)) if cursor <= length && !context.packet.is_null() => {
            // SAFETY: the packet has `length` bytes, of which `cursor` is at most the end, and
            // nothing writes them during the call.
            unsafe { std::slice::from_raw_parts(context.packet.add(cursor), length - cursor) }
        }
        // The packet has no bytes after the cursor, or there is no packet.
        Some(_) | None => &[],
    };
    host.gathered_hash(frame, context, payload, gather, found)
}
