//! Meters that code runs, and counters and meters of entries, wherever the entry is.

use super::context::{Context, direct_account, entry, host, steps};
use super::host::Host;
use crate::bound::DEFAULT_ENTRY;
use crate::dialect::Dialect;
use crate::externs::ExternState;
use crate::externs::meter::Color;
use crate::sync::lock;
use crate::table::{TableState, counter_in, meter_in};
use ir::ExternId;

/// No colour.
const NONE: u64 = u64::MAX;

/// A length that was not given: that of the packet as it was received.
pub(super) const AS_RECEIVED: u64 = u64::MAX;

/// The colour of a packet by an element of a meter; all ones beyond its end.
pub(super) unsafe extern "C" fn meter(
    context: *mut Context,
    id: u64,
    index: u64,
    before: u64,
    length: u64,
) -> u64 {
    // SAFETY: code calls this with its own context, whose host nobody else uses during the call.
    let (host, length) = unsafe { (host(context), bytes(context, length)) };
    let before = host.color(before);
    let color = match host.state.externs.get(number(id).index()) {
        Some(ExternState::Meter(meters)) => meters.execute(index, (length, before), host.now),
        _ => None,
    };
    let is_number = host.layout.dialect == Dialect::SimpleSwitch;
    color.map_or(NONE, |color| host.shown(color, is_number))
}

/// The colour of a packet by the meter of an entry; all ones if there is no such entry.
pub(super) unsafe extern "C" fn entry_meter(
    context: *mut Context,
    id: u64,
    address: u64,
    before: u64,
    length: u64,
) -> u64 {
    // SAFETY: as in `meter`.
    let (host, length) = unsafe { (host(context), bytes(context, length)) };
    // BMv2's switches run them before the action, and know no colour of before.
    let is_bmv2 = host.layout.dialect.is_bmv2();
    let before = if is_bmv2 { Color::Green } else { host.color(before) };
    let (id, now) = (number(id), host.now);
    let Some(ExternState::DirectMeter { counts_packets }) = host.state.externs.get(id.index())
    else {
        return NONE;
    };
    let size = if *counts_packets { 1 } else { length };
    let color = match address {
        0 => {
            // SAFETY: as in `meter`; the host is not used meanwhile.
            let Some(mut steps) = (unsafe { steps(context) }) else { return NONE };
            // SAFETY: the context is code's, which does not use it during the call.
            steps.prepare(unsafe { &mut *context });
            steps.machine.execute_direct(id, before, length).ok().flatten()
        }
        DEFAULT_ENTRY => host.table_of(id).and_then(|table| {
            let default = table.default();
            meter_in(&default.directs, id).map(|mut meter| meter.execute(size, before, now))
        }),
        address => {
            // SAFETY: code took the address in this packet's time inside of the gate, from an entry of the meter's table. Who holds a
            // meter waits for nobody.
            let meter = unsafe {
                match direct_account(address).and_then(|direct| direct.meter().as_ref()) {
                    Some(only) => Some(lock(only)),
                    None => entry(address).and_then(|entry| entry.meter(id)),
                }
            };
            meter.map(|mut meter| meter.execute(size, before, now))
        }
    };
    // SAFETY: as above.
    let host = unsafe { self::host(context) };
    color.map_or(NONE, |color| host.shown(color, is_bmv2))
}

/// Counts a packet in an entry that code does not count in by itself.
pub(super) unsafe extern "C" fn count_entry(
    context: *mut Context,
    id: u64,
    address: u64,
    length: u64,
) {
    // SAFETY: as in `meter`.
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
    // SAFETY: as in `entry_meter`.
    if let Some(mut steps) = unsafe { steps(context) } {
        // SAFETY: as in `entry_meter`.
        steps.prepare(unsafe { &mut *context });
        steps.machine.count_for_entry(id, length);
    }
}

fn number(id: u64) -> ExternId {
    ExternId(u32::try_from(id).unwrap_or(u32::MAX))
}

/// Bytes that are counted.
///
/// # Safety
/// The context is code's, which does not use it during the call.
unsafe fn bytes(context: *mut Context, length: u64) -> u64 {
    match length {
        // SAFETY: by the contract.
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

    /// A colour as the program has it: BMv2's number, or the member of the enumeration.
    fn shown(&self, color: Color, is_number: bool) -> u64 {
        if is_number { color as u64 } else { self.layout.names.color(color).into() }
    }

    /// The table whose entries have a counter or meter.
    fn table_of(&self, id: ExternId) -> Option<&'s TableState> {
        let table = self.layout.program.externs.get(id.index())?.table?;
        self.state.tables.get(table.index())
    }
}
