//! Entries that packets of PNA add where code has the table.

use super::context::{Context, host, inside};
use super::host::Host;
use crate::table::{ActionCell, Ageing, FieldMatch, Runs};
use ir::ActionId;
use ir::bits::Bits;

/// Bytes of packed data.
pub(super) const DATA: usize = 32;

/// No profile is given.
pub(super) const NO_PROFILE: u64 = u64::MAX;

/// An entry that a packet missed, as code writes it down.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Adding {
    /// Counted from one; zero if the packet missed none.
    pub(super) table: u64,
    pub(super) action: u64,
    /// The key, in two words.
    pub(super) low: u64,
    pub(super) high: u64,
    /// Or [`NO_PROFILE`].
    pub(super) profile: u64,
    /// Packed.
    pub(super) data: [u8; DATA],
}

/// Adds the entry that a packet missed. Gives whether that was done.
pub(super) unsafe extern "C" fn add_entry(context: *mut Context, adding: *const Adding) -> u64 {
    // SAFETY: code calls this with its own context, whose host nobody else uses during the call, and with a slot of its
    // stack in which all parts are written.
    let (host, inside, adding) = unsafe { (host(context), inside(context), &*adding) };
    let Some(inside) = inside else { return 0 };
    let state = host.state;
    let Some(table) = adding.table.checked_sub(1) else { return 0 };
    // The packet missed, so it holds no entry.
    u64::from(inside.outside(state, || host.add_entry(table, adding)))
}

impl Host<'_> {
    fn add_entry(&self, table: u64, adding: &Adding) -> bool {
        let Adding { action, low, high, profile, data, .. } = *adding;
        let key = u128::from(high) << 64 | u128::from(low);
        let position = usize::try_from(table).unwrap_or(usize::MAX);
        let action = u32::try_from(action).map(ActionId);
        let (Some(bound), Some(state), Ok(action)) =
            (self.bound.tables.get(position), self.table(table), action)
        else {
            return false;
        };
        let Some((_, layout)) = &bound.native else { return false };
        let call = layout.position(action).and_then(|ran| layout.unpack(ran, &data));
        let Some(call) = call else { return false };
        let keys = bound.keys.iter().zip(layout.keys()).map(|(field, (width, above))| {
            let bits = Bits::unsigned(width, key >> above);
            FieldMatch::Exact(if field.signed { bits.cast(width, true) } else { bits })
        });
        // Entries of a table without `pna_idle_timeout` stay.
        let expires = state.ageing != Ageing::None && profile != NO_PROFILE;
        let timeout = expires.then(|| self.state.expire_time(profile)).flatten();
        let runs = Runs::Action(ActionCell::new(call));
        state.add((keys.collect(), 0), runs, timeout, self.now, |_| {}).is_ok()
    }
}
