//! The host call (from machine code to Rust) by which a PNA packet adds an entry to a packed table.
//! The entry has the key with which the packet missed (`add_entry`).

use super::context::{Context, host, inside};
use super::host::Host;
use crate::error::InternalError;
use crate::table::{ActionCell, Ageing, FieldMatch, Runs};
use ir::ActionId;
use ir::bits::Bits;

/// The size in bytes of an entry's packed action parameters.
pub(super) const DATA: usize = 32;

/// The value of [`Adding::profile`] when the program names no expiry profile.
pub(super) const NO_PROFILE: u64 = u64::MAX;

/// The entry that a packet adds for the key with which it missed. Generated code writes it to its
/// stack, and passes its address to `add_entry`.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Adding {
    /// The number of the table, counted from one, or zero if the packet missed in no table.
    pub(super) table: u64,
    pub(super) action: u64,
    /// The low 64 bits of the packed key. `high` holds the high 64 bits.
    pub(super) low: u64,
    pub(super) high: u64,
    /// The expiry profile, or [`NO_PROFILE`].
    pub(super) profile: u64,
    /// The packed parameters of the action.
    pub(super) data: [u8; DATA],
}

/// Adds the entry for the key with which a packet missed. Returns 1 if the entry was added, and 0
/// otherwise.
pub(super) unsafe extern "C" fn add_entry(context: *mut Context, adding: *const Adding) -> u64 {
    // SAFETY: generated code passes its own context, whose host and `Inside` only this call uses
    // until it returns, and a stack slot in which it has written every field of `Adding`.
    let (host, inside, adding) = unsafe { (host(context), inside(context), &*adding) };
    let Some(inside) = inside else {
        host.broken("an entry that is added outside of the gate");
        return 0;
    };
    let state = host.state;
    let Some(table) = adding.table.checked_sub(1) else {
        // The packet missed in no table, so there is nothing to add.
        return 0;
    };
    // A packet that missed holds no lock on an entry, so the worker may leave the gate here.
    let added = inside.outside(state, || host.add_entry(table, adding));
    host.check(added).map_or(0, u64::from)
}

impl Host<'_> {
    /// Adds an entry to a table. Returns whether it was added: it is not if the table already has
    /// an entry with this key, is full, or lacks the action.
    fn add_entry(&self, table: u64, adding: &Adding) -> Result<bool, InternalError> {
        let Adding { action, low, high, profile, data, .. } = *adding;
        let key = u128::from(high) << 64 | u128::from(low);
        let position = usize::try_from(table).unwrap_or(usize::MAX);
        let action = u32::try_from(action).map(ActionId);
        let (Some(resolved), Some(state), Ok(action)) =
            (self.resolved.tables.get(position), self.table(table), action)
        else {
            return Err(InternalError::new("a table to which an entry is added"));
        };
        let Some((_, layout)) = &resolved.packed else {
            return Err(InternalError::new("a table to which an entry is added is not packed"));
        };
        let Some(ran) = layout.position(action) else {
            // The table does not have the action.
            return Ok(false);
        };
        let call = layout.unpack(ran, &data);
        let call = call.ok_or_else(|| InternalError::new("the data of an entry that is added"))?;
        let keys = resolved.keys.iter().zip(layout.keys()).map(|(field, (width, above))| {
            let bits = Bits::unsigned(width, key >> above);
            FieldMatch::Exact(if field.signed { bits.cast(width, true) } else { bits })
        });
        // Entries of a table without `pna_idle_timeout` never expire.
        let expires = state.ageing != Ageing::None && profile != NO_PROFILE;
        let timeout = expires.then(|| self.state.expire_time(profile)).flatten();
        let runs = Runs::Action(ActionCell::new(call));
        Ok(state.add((keys.collect(), 0), runs, timeout, self.now, |_| {}).is_ok())
    }
}
