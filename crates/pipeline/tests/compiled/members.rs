//! Tests of tables whose entries run members of action profiles and groups of selectors. While
//! members, groups, entries and ports change, machine code and the interpreter run the same member
//! for each packet.

use crate::both::{Both, V1model, compile, psa_of_ingress};
use ir::bits::Bits;
use pipeline::{
    ActionCall, ControlError, EntryAction, FieldMatch, Group, GroupMember, Switch, TableEntry,
    WeightedAction,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::cell::RefCell;
use std::time::Duration;

const DECLARATIONS: &str = "header R { bit<8> key; bit<8> spread; bit<16> value; bit<32> address; bit<8> more; }
    header O { bit<16> x; bit<7> y; bit<1> z; } struct H { R r; O o; } struct M { bit<5> part; bit<48> wide; }";

const PARSER: &str = "state start { b.extract(h.r); transition select(h.r.spread[0:0]) { 1: other; default: accept; } }
    state other { b.extract(h.o); transition accept; }";

/// Returns a control with a table that has a selector of this algorithm, and one with a profile.
fn ingress(algorithm: &str) -> String {
    format!(
        "action set(bit<16> value) {{ h.r.value = value; }}
        action mark(bit<8> more, bit<48> wide) {{ h.r.more = more; m.wide = wide; }}
        action leave(bit<9> port) {{ s.egress_spec = port; }}
        action gone() {{ mark_to_drop(s); }}
        direct_counter(CounterType.packets_and_bytes) seen;
        action_selector(HashAlgorithm.{algorithm}, 64, 14) groups;
        action_profile(64) members;
        table by_group {{ key = {{ h.r.key: exact; h.r.spread: selector; h.o.x: selector; m.part: selector;
                h.r.address: selector; }}
            actions = {{ set; mark; leave; NoAction; }} default_action = set(7); implementation = groups; counters = seen; }}
        table by_member {{ key = {{ h.r.address: lpm; }} actions = {{ set; leave; gone; NoAction; }}
            implementation = members; }}
        apply {{ m.part = h.r.more[4:0]; s.egress_spec = 1;
            if (by_group.apply().hit) {{ h.r.more = h.r.more + 1; }}
            switch (by_member.apply().action_run) {{ gone: {{ h.r.key = 9; }} leave: {{ h.r.key = 3; }} default: {{ }} }}
            h.r.address[7:0] = m.wide[7:0]; }}"
    )
}

fn psa() -> String {
    psa_of_ingress(
        "header R { bit<8> key; bit<8> spread; bit<16> value; bit<32> address; bit<8> more; bit<128> wide; }",
        "action set(bit<16> value) { h.r.value = value; }
        action mark(bit<8> more, bit<48> wide) { h.r.more = more; h.r.address = wide[31:0]; }
        action leave(PortId_t port) { send_to_port(o, port); }
        action gone() { ingress_drop(o); }
        ActionSelector(PSA_HashAlgorithm_t.CRC32, 32w64, 32w6) groups;
        ActionProfile(32w64) members;
        table by_group { key = { h.r.key: exact; h.r.spread: selector; h.r.wide: selector; h.r.address[15:8]: selector; }
            actions = { set; mark; leave; NoAction; } default_action = set(7); psa_implementation = groups; }
        table by_member { key = { h.r.address: lpm; } actions = { set; leave; gone; NoAction; }
            default_action = NoAction(); psa_implementation = members; }
        apply { send_to_port(o, (PortId_t)1); by_group.apply(); by_member.apply(); }",
    )
}

/// The number of different members, of groups, and of keys.
const FEW: u32 = 6;

/// Returns a random action of a table.
fn call(switch: &Switch, table: &str, random: &mut ChaCha8Rng) -> ActionCall {
    let id = switch.table_named(table).expect("a table");
    let names: &[&str] = match table {
        "by_group" => &["set", "mark", "leave", "NoAction"],
        _ => &["set", "leave", "gone", "NoAction"],
    };
    let name = names[random.random_range(0..names.len())];
    let port_bits = switch.extern_named("seen").map_or(32, |_| 9);
    let arguments = match name {
        "set" => vec![Bits::unsigned(16, random.random_range(0..1000))],
        "mark" => vec![
            Bits::unsigned(8, random.random_range(0..256)),
            Bits::unsigned(48, random.random_range(0..1 << 48)),
        ],
        "leave" => vec![Bits::unsigned(port_bits, random.random_range(1..4))],
        _ => vec![],
    };
    let action = switch.action_named(id, name).expect("an action");
    switch.action_call(action, &arguments).expect("arguments")
}

fn group(random: &mut ChaCha8Rng) -> Group {
    let alike = random.random_range(0..2) == 0;
    let mut members = Vec::new();
    for member in 0..FEW {
        if random.random_range(0..2) == 0 {
            let weight = if alike { 1 } else { random.random_range(1..5) };
            let port = random.random_range(1..5);
            members.push(GroupMember { member, weight, watch_port: (port < 4).then_some(port) });
        }
    }
    Group { members, max_size: 0 }
}

/// Makes a random change that a control plane can make.
fn change(switch: &mut Switch, random: &mut ChaCha8Rng) -> Result<(), ControlError> {
    let table = if random.random_range(0..3) == 0 { "by_member" } else { "by_group" };
    let id = switch.table_named(table)?;
    let profile = switch.extern_named(if table == "by_group" { "groups" } else { "members" })?;
    let few = |random: &mut ChaCha8Rng| random.random_range(0..FEW);
    let matches = match table {
        "by_group" => {
            let mut matches = vec![FieldMatch::Exact(Bits::unsigned(8, few(random).into()))];
            let inputs = switch.program().tables[id.index()].keys.len() - 1;
            matches.extend(vec![FieldMatch::Any; inputs]);
            matches
        }
        _ => {
            let prefix_length = random.random_range(0..4);
            let value = Bits::unsigned(32, u128::from(few(random)) << 29);
            vec![FieldMatch::Lpm { value, prefix_length }]
        }
    };
    let entry = |switch: &Switch, random: &mut ChaCha8Rng| {
        let action = match random.random_range(0..3) {
            0 => EntryAction::Member(few(random)),
            1 => EntryAction::Group(few(random)),
            _ => {
                let members = (0..random.random_range(0..4)).map(|_| WeightedAction {
                    action: call(switch, table, random),
                    weight: random.random_range(1..3),
                    watch_port: random.random_range(0..2).eq(&0).then_some(2),
                });
                EntryAction::OneShot(members.collect())
            }
        };
        TableEntry { matches: matches.clone(), priority: 0, action, idle_timeout: None }
    };
    match random.random_range(0..13) {
        0 => switch.add_member(profile, few(random), call(switch, table, random)),
        1 => switch.modify_member(profile, few(random), call(switch, table, random)),
        2 => switch.delete_member(profile, few(random)),
        3 => switch.add_group(profile, few(random), group(random)),
        4 => switch.modify_group(profile, few(random), group(random)),
        5 => switch.delete_group(profile, few(random)),
        6..9 => switch.add_entry(id, entry(switch, random), Duration::ZERO).map(|_| ()),
        9 => switch.modify_entry(id, entry(switch, random), Duration::ZERO).map(|_| ()),
        10 => switch.delete_entry(id, &matches, 0).map(|_| ()),
        11 => {
            switch.set_port_up(random.random_range(1..4), random.random_range(0..2) == 0);
            Ok(())
        }
        _ => switch.set_default_action(id, Some(call(switch, table, random))),
    }
}

/// Alternates changes and packets, and returns the number of packets that left.
fn compare(mut both: Both, seed: u64) -> usize {
    assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut left = 0;
    let mut done = 0;
    for round in 0..400 {
        let seed = random.random();
        let outcomes = RefCell::new(Vec::new());
        both.each(|switch| {
            let outcome = change(switch, &mut ChaCha8Rng::seed_from_u64(seed));
            outcomes.borrow_mut().push(outcome);
        });
        let outcomes = outcomes.into_inner();
        assert_eq!(outcomes[0], outcomes[1], "round {round}, seed {seed}");
        done += usize::from(outcomes[0].is_ok());
        if round % 50 == 49 {
            both.share(round % 100 == 99);
        }
        let packets: Vec<(u32, Vec<u8>)> = (0..16)
            .map(|_| {
                let length = random.random_range(7..40);
                let mut packet: Vec<u8> = (0..length).map(|_| random.random()).collect();
                packet[0] %= FEW as u8;
                (random.random_range(0..4), packet)
            })
            .collect();
        left += both.batch(&packets);
        let _ = both.packet(1, &packets[0].1);
    }
    assert!(done > 100, "only {done} changes were done");
    let counted = |switch: &Switch| {
        let id = switch.table_named("by_group").expect("a table");
        let counter = switch.extern_named("seen").ok()?;
        let entries = switch.entries(id).expect("entries");
        let count = |handle| switch.direct_counter(id, handle, counter).expect("a counter");
        Some(entries.map(|(handle, entry)| (entry, count(handle))).collect::<Vec<_>>())
    };
    assert_eq!(counted(&both.interpreted), counted(&both.compiled));
    left
}

#[test]
fn machine_code_runs_members_and_groups_of_v1model_without_the_interpreter() {
    for (seed, algorithm) in [(1, "crc32"), (2, "crc16"), (3, "csum16"), (4, "identity")] {
        let ingress = ingress(algorithm);
        let model = V1model {
            declarations: DECLARATIONS,
            parser: PARSER,
            ingress: &ingress,
            ..V1model::default()
        };
        assert!(compare(model.both(), seed) > 3000, "{algorithm}");
    }
}

#[test]
fn machine_code_runs_members_and_groups_of_psa_without_the_interpreter() {
    let program = compile(&psa());
    for follows in [false, true] {
        assert!(compare(Both::following(&program, follows), 5) > 1000);
    }
}
