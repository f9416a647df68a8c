//! The state of a switch that runs a generated program. It is set up, changed between packets, and
//! compared at the end.

use ir::bits::Bits;
use ir::{MatchKind, Program, TableId, Type};
use pipeline::{
    ActionCall, CloneSession, EntryAction, FieldMatch, Group, GroupMember, MeterConfig, Replica,
    Switch, TableEntry,
};
use std::time::Duration;

/// The number of elements of each array that are compared.
const ELEMENTS: u64 = 4;

/// Sets groups, sessions, members, entries and rates of a switch that was just loaded.
pub(crate) fn prepare(switch: &mut Switch) {
    let replicas = [(1, 1), (3, 2), (1, 3)].map(|(port, instance)| Replica { port, instance });
    switch.set_multicast_group(4, replicas.to_vec());
    for (session, port, length) in [(5, 2, Some(40)), (6, 3, None)] {
        let replicas = vec![Replica { port, instance: 9 }];
        let session_of =
            CloneSession { replicas, packet_length: length, ..CloneSession::default() };
        switch.set_clone_session(session, Some(session_of));
    }
    switch.set_host_port(2, true);
    let call = ["spread_", "profiled_"].map(|table| {
        let id = switch.table_named(table).ok()?;
        let action = switch.action_named(id, "port").ok()?;
        (0..3).map(|member| action_call(switch, action, [member, 0x55])).collect::<Option<Vec<_>>>()
    });
    for (profile, calls) in ["I.chosen", "I.profiled"].iter().zip(call) {
        let (Ok(profile), Some(calls)) = (switch.extern_named(profile), calls) else { continue };
        for (member, call) in (0..).zip(calls) {
            switch.add_member(profile, member, call).expect("a member");
        }
    }
    if let (Ok(chosen), Ok(_)) = (switch.extern_named("I.chosen"), switch.table_named("spread_")) {
        let members = [0, 1, 2].map(|member| GroupMember { member, weight: 1, watch_port: None });
        let group = Group { members: members.to_vec(), max_size: 0 };
        switch.add_group(chosen, 1, group).expect("a group");
    }
    let tables = switch.program().tables.len() as u32;
    for number in 0..10 * tables {
        let (table, key) = (number % tables, number / tables);
        add(switch, [table, key, number % 5, number * 77], Duration::ZERO);
    }
    for (profile, milliseconds) in [(1, 4), (2, 9)] {
        switch.set_expire_time_profile(profile, Some(Duration::from_millis(milliseconds)));
    }
    if let Ok(set) = switch.value_set_named("known") {
        let members = vec![vec![FieldMatch::Exact(Bits::unsigned(16, 3))]];
        switch.set_value_set(set, &members).expect("members");
    }
    configure_meters(switch);
}

/// Configures rates and bursts that are so small that a few packets within some milliseconds get
/// all colours.
fn configure_meters(switch: &Switch) {
    let packets =
        MeterConfig::SingleRate { committed_rate: 200, committed_burst: 1, excess_burst: 1 };
    let bytes = MeterConfig::TwoRate {
        committed_rate: 9000,
        committed_burst: 90,
        peak_rate: 20_000,
        peak_burst: 180,
    };
    for position in 0..switch.program().externs.len() {
        let id = ir::ExternId(position as u32);
        for index in 0..ELEMENTS {
            let config = if index % 2 == 0 { packets } else { bytes };
            // The switch refuses this where the extern is not a meter.
            let _ = switch.configure_meter(id, index, Some(config), Duration::ZERO);
        }
        for table in 0..switch.program().tables.len() {
            let table = TableId(table as u32);
            let _ = switch.configure_direct_meters(table, id, Some(bytes), Duration::ZERO);
        }
    }
}

/// Returns a call of an action, or `None` if the control plane cannot call it.
fn action_call(switch: &Switch, action: ir::ActionId, numbers: [u32; 2]) -> Option<ActionCall> {
    let parameters = switch.program().actions.get(action.index())?.control_plane_parameters();
    let numbers = numbers.iter().cycle().take(parameters.count());
    let numbers: Vec<Bits> =
        numbers.map(|number| Bits::unsigned(128, u128::from(number & 7))).collect();
    switch.action_call(action, &numbers).ok()
}

/// Adds an entry made of four numbers: table, key, action and data. Ignores an entry that the
/// switch refuses.
pub(super) fn add(switch: &mut Switch, [table, key, chosen, data]: [u32; 4], now: Duration) {
    let program = switch.program();
    let id = TableId(table % (program.tables.len() as u32).max(1));
    let Some(table) = program.tables.get(id.index()) else { return };
    let matches = table.keys.iter().filter(|known| known.match_kind != MatchKind::Selector);
    let matches = matches.enumerate().map(|(position, known)| {
        let number = if position % 2 == 0 { key } else { data >> position };
        field_match(program, &known.match_kind, known.expression.type_id, [number, data])
    });
    let Some(matches) = matches.collect::<Option<Vec<_>>>() else { return };
    let runs = if table.implementation.is_some() {
        match data & 1 {
            0 => EntryAction::Member(data % 3),
            _ => EntryAction::Group(1),
        }
    } else {
        let actions: Vec<_> = table.actions.iter().map(|known| known.action).collect();
        let Some(action) = actions.get(chosen as usize % actions.len().max(1)) else { return };
        match action_call(switch, *action, [data, data >> 3]) {
            Some(call) => EntryAction::Action(call),
            None => return,
        }
    };
    let has_priorities = table.keys.iter().any(|known| {
        matches!(known.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    });
    let priority = if has_priorities { 1 + (data & 0xff) } else { 0 };
    let entry = TableEntry { matches, priority, action: runs, idle_timeout: None };
    let _ = switch.add_entry(id, entry, now);
}

/// Returns a match for a key of this kind and type, or `None` if the key is not a number.
fn field_match(
    program: &Program,
    kind: &MatchKind,
    type_id: ir::TypeId,
    [key, data]: [u32; 2],
) -> Option<FieldMatch> {
    let (width, signed) = match program.types.get(type_id) {
        Type::Bits { width, signed } => (width, signed),
        Type::Bool => (1, false),
        _ => return None,
    };
    let bits = |number: u128| Bits::unsigned(width, number).cast(width, signed);
    Some(match kind {
        MatchKind::Exact => FieldMatch::Exact(bits((key & 15).into())),
        MatchKind::Lpm => {
            let length = (key * 9) % (width + 1);
            let value = u128::from(data) << width.saturating_sub(32) | u128::from(key);
            let value = Bits::unsigned(width, value).bit_and(&Bits::prefix_mask(width, length));
            FieldMatch::Lpm { value, prefix_length: length }
        }
        MatchKind::Ternary => {
            FieldMatch::Ternary { value: bits((key & 15).into()), mask: bits(15) }
        }
        MatchKind::Range => FieldMatch::Range {
            low: bits((key & 7).into()),
            high: bits(100 & ((1 << (width - 1)) - 1)),
        },
        MatchKind::Optional if data & 1 == 0 => FieldMatch::Any,
        MatchKind::Optional => FieldMatch::Exact(bits((key & 3).into())),
        MatchKind::Selector | MatchKind::Other(_) => return None,
    })
}

/// Removes the entry at a position of a table, if there is one.
pub(super) fn remove(switch: &mut Switch, table: u32, position: u32) {
    let id = TableId(table % (switch.program().tables.len() as u32).max(1));
    let Ok(mut entries) = switch.entries(id) else { return };
    if let Some((_, entry)) = entries.nth(position as usize) {
        let _ = switch.delete_entry(id, &entry.matches, entry.priority);
    }
}

/// Returns what packets changed in a switch: messages, the first elements of registers and
/// counters, and entries with their counters.
pub(crate) fn observed(switch: &mut Switch) -> Vec<String> {
    let mut parts = vec![format!("messages {:?}", switch.take_digests())];
    let program = switch.program();
    for (position, instance) in program.externs.iter().enumerate() {
        let id = ir::ExternId(position as u32);
        for index in 0..ELEMENTS {
            let name = &instance.name;
            parts.extend(
                switch.register(id, index).map(|found| format!("{name}[{index}] {found:?}")),
            );
            parts.extend(
                switch.counter(id, index).map(|found| format!("{name}[{index}] {found:?}")),
            );
        }
    }
    for (position, table) in program.tables.iter().enumerate() {
        let id = TableId(position as u32);
        for (handle, entry) in switch.entries(id).into_iter().flatten() {
            parts.push(format!("{}: {entry:?}", table.name));
            for counter in (0..program.externs.len()).map(|number| ir::ExternId(number as u32)) {
                let found = switch.direct_counter(id, handle, counter);
                parts.extend(found.map(|found| format!("{}: {handle:?} {found:?}", table.name)));
            }
        }
    }
    parts
}
