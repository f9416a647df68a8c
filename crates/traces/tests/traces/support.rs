//! Switches for tests of traces.

use entities::PortNames;
use ir::bits::Bits;
use p4lang::preprocess::{MemoryFiles, Options};
use p4runtime::p4info::Schema;
use pipeline::{
    CloneSession, EntryAction, FieldMatch, Group, GroupMember, Replica, Switch, TableEntry,
};
use std::sync::Arc;
use std::time::Duration;

/// The program `spread.p4`.
pub(crate) const SPREAD: &str = include_str!("spread.p4");

/// Loads a program.
pub(crate) fn load(name: &str, text: &str) -> Switch {
    let compiled = p4lang::compile_text(name, text, &Options::default(), &MemoryFiles::default());
    Switch::new(compiled.program.expect("it compiles")).expect("it loads")
}

/// Loads a program with the types that it translates to strings.
pub(crate) fn load_translated(name: &str, text: &str) -> Switch {
    let mut switch = load(name, text);
    let p4info = p4lang::p4info::generate(switch.program()).expect("it has a P4Info");
    let schema = Schema::new(p4info).expect("it is right");
    let types =
        pipeline::translated_types(schema.objects(), switch.program(), &PortNames::default());
    switch.set_translated(Arc::new(types.expect("types")));
    switch
}

fn bits(width: u32, value: u64) -> Bits {
    Bits::unsigned(width, value.into())
}

/// A member of a group: the action with its arguments, and the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) action: &'static str,
    pub(crate) arguments: [u64; 2],
    pub(crate) weight: u32,
}

/// Creates a member that sends packets of `spread.p4` by a port.
pub(crate) fn forward(port: u64, mark: u64, weight: u32) -> Member {
    Member { action: "I.forward", arguments: [port, mark], weight }
}

/// Creates a member that sends packets of `spread.p4` to a multicast group.
pub(crate) fn copy(group: u64, weight: u32) -> Member {
    Member { action: "I.copy", arguments: [group, 0], weight }
}

/// Creates a member that drops packets of `spread.p4`.
pub(crate) fn discard(weight: u32) -> Member {
    Member { action: "I.discard", arguments: [0, 0], weight }
}

/// Creates a member of `spread.p4` that marks packets in egress.
pub(crate) fn rewrite(mark: u64, weight: u32) -> Member {
    Member { action: "E.rewrite", arguments: [mark, 0], weight }
}

/// Adds an entry of `table` whose exact key is `key`, and which runs a group of these members.
pub(crate) fn spread(switch: &mut Switch, table: &str, key: u64, members: &[Member]) {
    let id = switch.table_named(table).expect("a table");
    let selector = if table == "route" { "members" } else { "marks" };
    let selector = switch.extern_named(selector).expect("a selector");
    let first = u32::try_from(key * 1000).expect("a number");
    let mut group = Group::default();
    for (number, member) in (first..).zip(members) {
        let action = switch.action_named(id, member.action).expect("an action");
        let declared = &switch.program().actions[action.index()];
        let widths: Vec<u32> = match member.action {
            "I.forward" => vec![9, 8],
            "I.copy" => vec![16],
            "E.rewrite" => vec![8],
            _ => Vec::new(),
        };
        assert_eq!(declared.parameters.len(), widths.len());
        let arguments = widths.iter().zip(member.arguments);
        let arguments: Vec<Bits> = arguments.map(|(width, value)| bits(*width, value)).collect();
        let call = switch.action_call(action, &arguments).expect("a call");
        switch.add_member(selector, number, call).expect("room");
        let weight = member.weight;
        group.members.push(GroupMember { member: number, weight, watch_port: None });
    }
    let number = u32::try_from(key).expect("a number");
    switch.add_group(selector, number, group).expect("room");
    let width = if table == "route" { 8 } else { 9 };
    let entry = TableEntry {
        matches: vec![FieldMatch::Exact(bits(width, key)), FieldMatch::Any],
        priority: 0,
        action: EntryAction::Group(number),
        idle_timeout: None,
    };
    switch.add_entry(id, entry, Duration::ZERO).expect("room");
}

/// A member of a group, of weight 1: the action, and the width and value of each argument.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) action: &'static str,
    pub(crate) arguments: Vec<(u32, u64)>,
}

/// Adds an entry of `table` whose exact key has this width and value, and which runs a group of
/// members of `selector`. They have the numbers from `first` on, as has the group.
pub(crate) fn add_group(
    switch: &mut Switch,
    [table, selector]: [&str; 2],
    (width, key): (u32, u64),
    (first, members): (u32, &[Spread]),
) {
    let id = switch.table_named(table).expect("a table");
    let selector = switch.extern_named(selector).expect("a selector");
    let mut group = Group::default();
    for (number, member) in (first..).zip(members) {
        let action = switch.action_named(id, member.action).expect("an action");
        let arguments = member.arguments.iter().map(|(width, value)| bits(*width, *value));
        let arguments: Vec<Bits> = arguments.collect();
        let call = switch.action_call(action, &arguments).expect("a call");
        switch.add_member(selector, number, call).expect("room");
        group.members.push(GroupMember { member: number, weight: 1, watch_port: None });
    }
    switch.add_group(selector, first, group).expect("room");
    let entry = TableEntry {
        matches: vec![FieldMatch::Exact(bits(width, key)), FieldMatch::Any],
        priority: 0,
        action: EntryAction::Group(first),
        idle_timeout: None,
    };
    switch.add_entry(id, entry, Duration::ZERO).expect("room");
}

/// Makes a program copy packets of a kind to a port.
pub(crate) fn mirror(switch: &mut Switch, kind: u64, port: u32) {
    let id = switch.table_named("mirrors").expect("a table");
    let action = switch.action_named(id, "mirror").expect("an action");
    let call = switch.action_call(action, &[bits(32, 5)]).expect("a call");
    let entry = TableEntry {
        matches: vec![FieldMatch::Exact(bits(8, kind))],
        priority: 0,
        action: EntryAction::Action(call),
        idle_timeout: None,
    };
    switch.add_entry(id, entry, Duration::ZERO).expect("room");
    let replicas = vec![Replica { port, instance: 0 }];
    switch.set_clone_session(5, Some(CloneSession { replicas, ..CloneSession::default() }));
}

/// Sets the ports of a multicast group.
pub(crate) fn multicast(switch: &mut Switch, group: u32, ports: &[u32]) {
    let replicas = ports.iter().map(|port| Replica { port: *port, instance: 0 });
    switch.set_multicast_group(group, replicas.collect());
}
