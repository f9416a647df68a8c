//! Measures the time that a packet takes through a program of the SAI kind,
//! `programs/middleblock.p4`, on each way through machine code and on the interpreter.
//!
//!     cargo bench -p pipeline --bench middleblock [-- --only SCENARIO]
//!
//! There are 10,000 routes of 32 bits, 100 next hops, and 500 ternary entries of an access control
//! list that no packet matches. Packets of 84 bytes hit random routes. In `selector`, all routes
//! lead to groups of 16 next hops, and in `mirror`, each packet is also mirrored to a collector.
//! Each figure is the least of 200 rounds over 1,024 packets in batches of 64, in nanoseconds of
//! the wall clock.

use ir::bits::Bits;
use ir::{MatchKind, TableId, Type};
use p4lang::preprocess::{DiskFiles, Options};
use pipeline::{
    Batch, CloneSession, EntryAction, FieldMatch, Group, GroupMember, Replica, Switch, TableEntry,
    Way,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUTES: u32 = 10_000;
const NEXT_HOPS: u32 = 100;
const RULES: u32 = 500;
const MEMBERS: u32 = 16;
const PACKETS: usize = 1024;
const ROUTER: u128 = 0x0200_0000_0001;

/// The match of one key of an entry, by the name of the key.
type Wanted<'w> = (&'w str, u128, Option<u32>);

fn width(switch: &Switch, type_id: ir::TypeId) -> u32 {
    match switch.program().types.get(type_id) {
        Type::Bits { width, .. } => width,
        Type::Bool => 1,
        other => panic!("a key of the type {other:?}"),
    }
}

/// Returns the matches of an entry. Keys that are not named are left out.
fn matches(switch: &Switch, table: TableId, wanted: &[Wanted<'_>]) -> Vec<FieldMatch> {
    let keys = &switch.program().tables[table.index()].keys;
    let of = |key: &ir::Key| {
        let width = width(switch, key.expression.type_id);
        let known = wanted.iter().find(|(name, ..)| key.name == *name);
        let Some((_, value, length)) = known else { return FieldMatch::Any };
        let value = Bits::unsigned(width, *value);
        match &key.match_kind {
            MatchKind::Lpm => FieldMatch::Lpm { value, prefix_length: length.unwrap_or(width) },
            MatchKind::Ternary => FieldMatch::Ternary { value, mask: Bits::ones(width, false) },
            _ => FieldMatch::Exact(value),
        }
    };
    keys.iter().map(of).collect()
}

fn action(switch: &Switch, table: TableId, name: &str, arguments: &[u128]) -> EntryAction {
    let action = switch.action_named(table, name).expect("an action");
    let arguments: Vec<Bits> =
        arguments.iter().map(|argument| Bits::unsigned(128, *argument)).collect();
    EntryAction::Action(switch.action_call(action, &arguments).expect("arguments"))
}

fn add(
    switch: &mut Switch,
    name: &str,
    (wanted, priority): (&[Wanted<'_>], u32),
    (action_name, arguments): (&str, &[u128]),
) {
    let table = switch.table_named(name).expect("a table");
    let action = action(switch, table, action_name, arguments);
    let matches = matches(switch, table, wanted);
    let entry = TableEntry { matches, priority, action, idle_timeout: None };
    switch.add_entry(table, entry, Duration::ZERO).expect("an entry");
}

/// Fills the tables. Groups have sixteen next hops each.
fn fill(switch: &mut Switch, has_groups: bool, mirrors: bool) {
    add(switch, "vrf", (&[("vrf_id", 1, None)], 0), ("NoAction", &[]));
    add(switch, "l3_admit", (&[("dst_mac", ROUTER, None)], 1), ("admit_to_l3", &[]));
    add(switch, "acl_pre_ingress", (&[("in_port", 1, None)], 1), ("set_vrf", &[1]));
    let neighbor = |hop: u32| 0xfe80 << 112 | u128::from(hop);
    for interface in 1..=8_u128 {
        let key = ("router_interface_id", interface, None);
        let data = [10 + interface, ROUTER];
        add(switch, "router_interface", (&[key], 0), ("set_port_and_src_mac", &data));
    }
    for hop in 1..=NEXT_HOPS {
        let interface = u128::from(1 + hop % 8);
        let keys = [("router_interface_id", interface, None), ("neighbor_id", neighbor(hop), None)];
        let mac = 0x0200_0000_1000 + u128::from(hop);
        add(switch, "neighbor", (&keys, 0), ("set_dst_mac", &[mac]));
        let data = [interface, neighbor(hop)];
        add(switch, "nexthop", (&[("nexthop_id", hop.into(), None)], 0), ("set_ip_nexthop", &data));
    }
    let groups = switch.table_named("wcmp_group").expect("a table");
    let selector = switch
        .extern_named("wcmp_selector")
        .or_else(|_| switch.extern_named("ingress.routing_resolution.wcmp_selector"));
    let selector = selector.expect("a selector");
    for hop in 1..=NEXT_HOPS {
        let EntryAction::Action(call) = action(switch, groups, "set_member_nexthop", &[hop.into()])
        else {
            continue;
        };
        switch.add_member(selector, hop, call).expect("a member");
    }
    for group in 1..=NEXT_HOPS {
        let member = |at| GroupMember {
            member: 1 + (group * 7 + at) % NEXT_HOPS,
            weight: 1,
            watch_port: None,
        };
        let members = (0..MEMBERS).map(member).collect();
        switch.add_group(selector, group, Group { members, max_size: 0 }).expect("a group");
        let matches = matches(switch, groups, &[("wcmp_group_id", group.into(), None)]);
        let action = EntryAction::Group(group);
        let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
        switch.add_entry(groups, entry, Duration::ZERO).expect("an entry");
    }
    for route in 0..ROUTES {
        let keys = [("vrf_id", 1, None), ("dst_ip", u128::from(0x0a01_0000 + route), Some(32))];
        let to = [u128::from(1 + route % NEXT_HOPS)];
        let run = if has_groups { "set_wcmp_group" } else { "set_nexthop" };
        add(switch, "ipv4", (&keys, 0), (run, &to));
    }
    for rule in 0..RULES {
        let address = u128::from(0xc0a8_0000 + rule);
        let keys = [("is_ipv4", 1, None), ("dst_ip", address, None)];
        add(switch, "acl_ingress", (&keys, 100 + rule), ("acl_drop", &[]));
    }
    if mirrors {
        add(switch, "acl_ingress", (&[("is_ipv4", 1, None)], 1), ("acl_mirror", &[1]));
        let data = [31, 0x0200_0000_0031, 0x0200_0000_0032, 0, 1, 2, 4739, 4740];
        let key = ("mirror_session_id", 1, None);
        add(switch, "mirror_session", (&[key], 0), ("mirror_as_message", &data));
        let key = ("mirror_port", 31, None);
        add(switch, "mirror_port", (&[key], 0), ("set_mirror_clone_session", &[1]));
        let replicas = vec![Replica { port: 31, instance: 0 }];
        let session = CloneSession { replicas, ..CloneSession::default() };
        switch.set_clone_session(1, Some(session));
    }
}

/// Returns a packet of UDP over IPv4 to a route.
fn packet(random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut packet = ROUTER.to_be_bytes()[10..].to_vec();
    packet.extend([2, 0, 0, 0, 0, 0xaa, 8, 0]);
    let destination = (0x0a01_0000 + random.random_range(0..ROUTES)).to_be_bytes();
    let mut ip = vec![0x45, 0, 0, 70, 0x12, 0x34, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1];
    ip.extend(destination);
    let sum: u32 =
        ip.as_chunks::<2>().0.iter().map(|two| u32::from(u16::from_be_bytes(*two))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(ip);
    packet.extend(random.random::<u16>().to_be_bytes());
    packet.extend([7, 0xd0, 0, 50, 0, 0]);
    packet.resize(84, 0x55);
    packet
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let only =
        arguments.iter().position(|one| one == "--only").and_then(|at| arguments.get(at + 1));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("programs/middleblock.p4");
    let compiled = p4lang::compile_file(&path, &Options::default(), &DiskFiles).expect("a file");
    let program = compiled.program.expect("a program");
    let scenarios = [("l3", false, false), ("selector", true, false), ("mirror", true, true)];
    for (name, has_groups, mirrors) in scenarios {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let mut switch = Switch::new(program.clone()).expect("a switch");
        fill(&mut switch, has_groups, mirrors);
        let code = switch.compile().expect("machine code");
        println!("{name}: one by one: {:?}", code.one_by_one());
        code.interpreted().for_each(|(place, what)| println!("  {place}: {what}"));
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let bytes: Vec<Vec<u8>> = (0..PACKETS).map(|_| packet(&mut random)).collect();
        let packets: Vec<(u32, &[u8])> = bytes.iter().map(|bytes| (1, &bytes[..])).collect();
        let mut batch = Batch::default();
        for way in switch.ways() {
            switch.choose_way(Some(way));
            let (mut best, mut left) = (f64::MAX, 0);
            for _ in 0..if way == Way::Interpreter { 2 } else { 200 } {
                let begin = Instant::now();
                left = 0;
                for packets in packets.chunks(64) {
                    switch.process_batch(packets, Duration::from_secs(1), &mut batch);
                    left += batch.sent().len();
                }
                best = best.min(begin.elapsed().as_nanos() as f64 / PACKETS as f64);
            }
            let rate = 1e3 / best;
            println!("  {name:10} {way}: {best:8.1} ns, {rate:.2} M/s, {left} left");
        }
    }
}
