//! The rate at which the outcomes of packets are enumerated, and at which packets are traced: a
//! program of 30 tables, whose packets meet a group of 16 members.
//!
//! `cargo bench -p traces --bench outcomes`

use ir::bits::Bits;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{Detail, EntryAction, FieldMatch, Group, GroupMember, Switch, TableEntry};
use std::fmt::Write as _;
use std::time::Duration;
use traces::{Arrival, Contents, Effects, Format, trace_packet};

/// The number of tables in which packets find no entry.
const EMPTY: usize = 25;
const MEMBERS: u32 = 16;

/// Returns the program: tables that miss, then routes, a group, next hops, neighbours and ports.
fn program() -> String {
    let (mut tables, mut applied) = (String::new(), String::new());
    for number in 0..EMPTY {
        let _ = write!(
            tables,
            "action deny{number}() {{ mark_to_drop(s); }}
             table acl{number} {{ key = {{ h.i.dst: ternary; h.i.src: ternary; h.i.protocol: ternary; m.vrf: ternary; }}
                actions = {{ deny{number}; NoAction; }} default_action = NoAction(); }}\n"
        );
        let _ = writeln!(applied, "acl{number}.apply();");
    }
    format!(
        "#include <core.p4>
        #include <v1model.p4>
        header ethernet_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
        header ipv4_t {{ bit<4> version; bit<4> ihl; bit<8> dscp; bit<16> length; bit<16> id; bit<16> fragment;
            bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst; }}
        header udp_t {{ bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }}
        struct headers {{ ethernet_t e; ipv4_t i; udp_t u; }}
        struct meta {{ bit<10> vrf; bit<12> group; bit<10> nexthop; bit<10> rif; }}
        parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {{
            state start {{ b.extract(h.e); b.extract(h.i); transition select(h.i.protocol) {{ 17: udp; default: accept; }} }}
            state udp {{ b.extract(h.u); transition accept; }} }}
        control V(inout headers h, inout meta m) {{ apply {{ }} }}
        control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
            action_selector(HashAlgorithm.crc16, 32w1024, 32w16) members;
            action set_group(bit<12> group) {{ m.group = group; }}
            action set_nexthop(bit<10> nexthop) {{ m.nexthop = nexthop; }}
            action set_rif(bit<10> rif) {{ m.rif = rif; }}
            action set_mac(bit<48> mac) {{ h.e.dst = mac; }}
            action set_port(bit<9> port, bit<48> mac) {{ s.egress_spec = port; h.e.src = mac; }}
            table routes {{ key = {{ m.vrf: exact; h.i.dst: lpm; }} actions = {{ set_group; NoAction; }} default_action = NoAction(); }}
            table groups {{ key = {{ m.group: exact; h.i.src: selector; h.i.dst: selector; h.u.src: selector; }}
                actions = {{ set_nexthop; }} implementation = members; }}
            table nexthops {{ key = {{ m.nexthop: exact; }} actions = {{ set_rif; NoAction; }} default_action = NoAction(); }}
            table neighbours {{ key = {{ m.nexthop: exact; m.rif: exact; }} actions = {{ set_mac; NoAction; }} default_action = NoAction(); }}
            table interfaces {{ key = {{ m.rif: exact; }} actions = {{ set_port; NoAction; }} default_action = NoAction(); }}
            {tables}
            apply {{ {applied} routes.apply(); groups.apply(); nexthops.apply(); neighbours.apply(); interfaces.apply();
                h.i.ttl = h.i.ttl - 1; }} }}
        control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out b, in headers h) {{ apply {{ b.emit(h); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

fn add(switch: &Switch, table: &str, keys: &[FieldMatch], action: &str, arguments: &[Bits]) {
    let id = switch.table_named(table).expect("a table");
    let named = switch.action_named(id, action).expect("an action");
    let call = switch.action_call(named, arguments).expect("a call");
    let entry = TableEntry {
        matches: keys.to_vec(),
        priority: 0,
        action: EntryAction::Action(call),
        idle_timeout: None,
    };
    switch.add_entry(id, entry, Duration::ZERO).expect("room");
}

fn switch() -> Switch {
    let text = program();
    let files = MemoryFiles::default();
    let compiled = p4lang::compile_text("bench.p4", &text, &Options::default(), &files);
    let switch = Switch::new(compiled.program.expect("it compiles")).expect("it loads");
    let bits = |width, value: u32| Bits::unsigned(width, value.into());
    let exact = |width, value| FieldMatch::Exact(bits(width, value));
    for number in 0..10_000 {
        let value = bits(32, 0x0a00_0000 + number);
        let keys = [exact(10, 0), FieldMatch::Lpm { value, prefix_length: 32 }];
        add(&switch, "routes", &keys, "set_group", &[bits(12, 1)]);
    }
    let groups = switch.table_named("groups").expect("a table");
    let members = switch.extern_named("members").expect("a selector");
    let set = switch.action_named(groups, "set_nexthop").expect("an action");
    let mut group = Group::default();
    for member in 0..MEMBERS {
        let call = switch.action_call(set, &[bits(10, member)]).expect("a call");
        switch.add_member(members, member, call).expect("room");
        group.members.push(GroupMember { member, weight: 1, watch_port: None });
        add(&switch, "nexthops", &[exact(10, member)], "set_rif", &[bits(10, member)]);
        let keys = [exact(10, member), exact(10, member)];
        add(&switch, "neighbours", &keys, "set_mac", &[bits(48, member)]);
        let port = [bits(9, member), bits(48, member)];
        add(&switch, "interfaces", &[exact(10, member)], "set_port", &port);
    }
    switch.add_group(members, 1, group).expect("room");
    let any = FieldMatch::Any;
    let entry = TableEntry {
        matches: vec![exact(12, 1), any.clone(), any.clone(), any],
        priority: 0,
        action: EntryAction::Group(1),
        idle_timeout: None,
    };
    switch.add_entry(groups, entry, Duration::ZERO).expect("room");
    switch
}

/// Returns the processor time of this thread, which other programs on the machine do not lengthen.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a time")
}

/// Prints how often `work` runs in a second of processor time: the best of five rounds.
fn measure(what: &str, mut work: impl FnMut(u32)) {
    let mut best = 0.0_f64;
    for _ in 0..5 {
        let begin = processor_time();
        let mut count = 0;
        while processor_time() - begin < Duration::from_millis(400) {
            work(count);
            count += 1;
        }
        best = best.max(f64::from(count) / (processor_time() - begin).as_secs_f64());
    }
    println!("{what:<52} {best:>12.0} /s");
}

fn main() {
    let mut switch = switch();
    let mut packet = vec![0; 98];
    packet[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    packet[22..24].copy_from_slice(&[64, 17]);
    let mut addressed = |number: u32| {
        let destination = 0x0a00_0000 + number % 10_000;
        packet[30..34].copy_from_slice(&destination.to_be_bytes());
        packet.clone()
    };
    let of = |detail, outcomes| Contents { detail, outcomes };
    let mut run = |what: &str, contents: Contents, format: Option<Format>| {
        measure(what, |number| {
            let packet = addressed(number);
            let arrival = Arrival { port: 1, packet: &packet, now: Duration::ZERO };
            let traced = trace_packet(&mut switch, arrival, contents, Effects::None);
            assert!(traced.outputs.is_ok_and(|outputs| outputs.len() == 1));
            if let Some(format) = format {
                assert!(format.bytes(&traced.trace).len() > 100);
            }
        });
    };
    run("traces of what happens", of(Detail::Steps, None), None);
    run("traces of what happens, with all values", of(Detail::Values, None), None);
    run("trees of 16 outcomes", of(Detail::Steps, Some(1024)), None);
    run("trees of 16 outcomes, encoded", of(Detail::Steps, Some(1024)), Some(Format::Proto));
    run("trees of 16 outcomes, with all values", of(Detail::Values, Some(1024)), None);
}
