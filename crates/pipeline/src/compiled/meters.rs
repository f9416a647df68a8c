//! The host calls for meters, and for counters and meters that belong to table entries.

use super::context::{Context, direct_account, entry, host, steps};
use super::host::Host;
use crate::dialect::Dialect;
use crate::externs::ExternState;
use crate::externs::meter::Color;
use crate::resolved::DEFAULT_ENTRY;
use crate::sync::lock;
use crate::table::{TableState, counter_in, meter_in};
use ir::ExternId;

/// The number that a host call returns instead of a colour if no meter was executed.
const NONE: u64 = u64::MAX;

/// The number that stands for the packet's length as it was received, where a call gives no length.
pub(super) const AS_RECEIVED: u64 = u64::MAX;

/// Meters the packet with an element of a meter array. Returns the resulting colour, or `u64::MAX`
/// if the index is out of range.
pub(super) unsafe extern "C" fn meter(
    context: *mut Context,
    id: u64,
    index: u64,
    before: u64,
    length: u64,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let (host, length) = unsafe { (host(context), bytes(context, length)) };
    let before = host.color(before);
    let color = match host.state.externs.get(number(id).index()) {
        Some(ExternState::Meter(meters)) => meters.execute(index, (length, before), host.now),
        _ => {
            host.broken("a meter that is executed");
            None
        }
    };
    let is_number = host.layout.dialect == Dialect::SimpleSwitch;
    color.map_or(NONE, |color| host.shown(color, is_number))
}

/// Meters the packet with a direct meter of an entry. Returns the resulting colour, or `u64::MAX`
/// if there is no such entry. `address` is that of the entry's counters and meters,
/// [`DEFAULT_ENTRY`], or zero for the entry that the interpreter has looked up.
pub(super) unsafe extern "C" fn entry_meter(
    context: *mut Context,
    id: u64,
    address: u64,
    before: u64,
    length: u64,
) -> u64 {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let (host, length) = unsafe { (host(context), bytes(context, length)) };
    // The switches of BMv2 execute direct meters before the action, without a previous colour.
    let is_bmv2 = host.layout.dialect.is_bmv2();
    let before = if is_bmv2 { Color::Green } else { host.color(before) };
    let (id, now) = (number(id), host.now);
    let state = host.state;
    let Some(ExternState::DirectMeter { counts_packets }) = state.externs.get(id.index()) else {
        host.broken("a direct meter that is executed");
        return NONE;
    };
    let size = if *counts_packets { 1 } else { length };
    let color = match address {
        0 => {
            // SAFETY: generated code passes its own context, and `host` is not used while `steps`
            // lives.
            let Some(mut steps) = (unsafe { steps(context) }) else {
                // Without an interpreter, generated code looks up all tables and knows their
                // entries, so no entry's action runs.
                return NONE;
            };
            // SAFETY: generated code does not use its context during the call, and `steps` refers
            // to the host and the interpreter, which are apart from the context.
            steps.prepare(unsafe { &mut *context });
            steps.interpreter.execute_direct(id, before, length).ok().flatten()
        }
        DEFAULT_ENTRY => host.table_of(id).and_then(|table| {
            let default = table.default();
            meter_in(&default.directs, id).map(|mut meter| meter.execute(size, before, now))
        }),
        address => {
            // SAFETY: generated code read the address from an entry of the meter's table since the
            // worker last entered the gate. No thread that holds a meter's lock waits for the gate,
            // so the lock cannot deadlock.
            let meter = unsafe {
                match direct_account(address).and_then(|direct| direct.meter().as_ref()) {
                    Some(only) => Some(lock(only)),
                    None => entry(address).and_then(|entry| entry.meter(id)),
                }
            };
            meter.map(|mut meter| meter.execute(size, before, now))
        }
    };
    // SAFETY: generated code passes its own context, and neither the earlier `host` nor `steps` is
    // used again.
    let host = unsafe { self::host(context) };
    color.map_or(NONE, |color| host.shown(color, is_bmv2))
}

/// Counts a packet in the direct counter of an entry whose address generated code does not have:
/// the default entry, or one that the interpreter has looked up.
pub(super) unsafe extern "C" fn count_entry(
    context: *mut Context,
    id: u64,
    address: u64,
    length: u64,
) {
    // SAFETY: generated code passes its own context, whose host only this call uses until it
    // returns.
    let (host, length) = unsafe { (host(context), bytes(context, length)) };
    let id = number(id);
    if address == DEFAULT_ENTRY {
        if let Some(table) = host.table_of(id)
            && let Some(counter) = counter_in(&mut table.default().directs, id)
        {
            counter.count(length);
        }
        return;
    }
    // SAFETY: generated code passes its own context, and `host` is not used while `steps` lives.
    if let Some(mut steps) = unsafe { steps(context) } {
        // SAFETY: generated code does not use its context during the call, and `steps` refers to
        // the host and the interpreter, which are apart from the context.
        steps.prepare(unsafe { &mut *context });
        steps.interpreter.count_for_entry(id, length);
    }
    // Without an interpreter, generated code looks up all tables and knows their entries, so no
    // entry's action runs.
}

fn number(id: u64) -> ExternId {
    ExternId(u32::try_from(id).unwrap_or(u32::MAX))
}

/// Returns `length`, or the length of the packet as it was received if `length` is [`AS_RECEIVED`].
///
/// # Safety
/// `context` must be the context that generated code passed to the host call, and generated code
/// must not use it during the call.
unsafe fn bytes(context: *mut Context, length: u64) -> u64 {
    match length {
        // SAFETY: the caller guarantees that the context is alive and that nothing writes it.
        AS_RECEIVED => unsafe { (*context).received_length },
        length => length,
    }
}

impl<'s> Host<'s> {
    fn color(&self, number: u64) -> Color {
        match number as u32 {
            member if self.layout.dialect != Dialect::SimpleSwitch => {
                self.layout.names.color_of(member)
            }
            0 => Color::Green,
            1 => Color::Yellow,
            _ => Color::Red,
        }
    }

    /// Returns the number by which the program represents a colour: BMv2's number if `is_number` is
    /// set, otherwise the number of the member of the program's enumeration.
    fn shown(&self, color: Color, is_number: bool) -> u64 {
        if is_number { color as u64 } else { self.layout.names.color(color).into() }
    }

    /// Returns the table whose entries have the direct counter or meter `id`.
    fn table_of(&self, id: ExternId) -> Option<&'s TableState> {
        let table = self.layout.program.externs.get(id.index())?.table?;
        self.state.tables.get(table.index())
    }
}
