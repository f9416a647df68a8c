//! Entries that packets of PNA add where code has the table.

use super::context::{Context, host, inside};
use super::host::Host;
use crate::table::{ActionCell, Ageing, FieldMatch, Runs};
use ir::ActionId;
use ir::bits::Bits;

/// Bytes of packed data.
const DATA: usize = 32;

/// No profile is given.
pub(super) const NO_PROFILE: u64 = u64::MAX;

/// Adds the entry that a packet missed, whose key is two words: which table, counted from one, which action, and its packed
/// data. Gives whether that was done.
pub(super) unsafe extern "C" fn add_entry(
    context: *mut Context,
    table: u64,
    action: u64,
    low: u64,
    high: u64,
    data: *const [u8; DATA],
    profile: u64,
) -> u64 {
    // SAFETY: code calls this with its own context, whose host nobody else uses during the call, and with data in a slot of
    // its stack that has all these bytes.
    let (host, inside, data) = unsafe { (host(context), inside(context), &*data) };
    let Some(inside) = inside else { return 0 };
    let state = host.state;
    let key = u128::from(high) << 64 | u128::from(low);
    let Some(table) = table.checked_sub(1) else { return 0 };
    // The packet missed, so it holds no entry.
    let added = inside.outside(state, || host.add_entry(table, action, key, data, profile));
    u64::from(added)
}

impl Host<'_> {
    fn add_entry(
        &self,
        table: u64,
        action: u64,
        key: u128,
        data: &[u8; DATA],
        profile: u64,
    ) -> bool {
        let position = usize::try_from(table).unwrap_or(usize::MAX);
        let action = u32::try_from(action).map(ActionId);
        let (Some(bound), Some(state), Ok(action)) =
            (self.bound.tables.get(position), self.table(table), action)
        else {
            return false;
        };
        let Some((_, layout)) = &bound.native else { return false };
        let call = layout.position(action).and_then(|ran| layout.unpack(ran, data));
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
