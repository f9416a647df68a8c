//! Realistic programs, which show the cost of each of their parts.
//!
//! All get the same 84-byte packets of UDP over IPv4, in batches of 32 that are copied in with
//! random keys. All packets leave.
//!
//! * `router` looks a route up by longest prefix, then its next hop in an exact table, and
//!   decrements the time to live.
//! * `router, counters` has a direct counter for each route, and `router, meters` a direct meter.
//! * `router, groups` has groups of four next hops, one of which the hash of the flow selects.
//! * `router, PSA` is a program of PSA, whose egress parses and emits the packet again.
//! * `router, checksums` also verifies and updates the checksum of IPv4.
//! * `access list` has 1,000 rules of ternary addresses and ranges of ports.
//! * `router, list` is `access list`, then `router`.
//! * `firewall` writes the state of a flow of five fields.
//! * `firewall, adding` is a program of PNA, in which a hit restarts the timer of its entry, and a
//!   miss would add an entry.
//! * `balancer` looks an address up, hashes the flow, and looks the server up.
//! * `cache` reads or writes a 64-bit value by a 64-bit key.
//! * `sketch` has no table. It increments an element of two registers, at two hashes of the flow,
//!   and counts the packet.

use super::{Arguments, BATCH, LENGTH, add_entry, processor_time, rates, since};
use ir::Program;
use ir::bits::Bits;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{
    Batch, Compiled, EntryAction, FieldMatch, Group, GroupMember, MeterConfig, Processor, Switch,
    TableEntry,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::hint::black_box;
use std::time::Duration;

const HEAD: &str = "header ethernet_t { bit<48> destination; bit<48> source; bit<16> ether_type; }
header ipv4_t { bit<4> version; bit<4> length; bit<8> service; bit<16> total; bit<16> id; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header cache_t { bit<64> key; bit<64> value; bit<8> writes; }
struct H { ethernet_t ethernet; ipv4_t ipv4; udp_t udp; cache_t cache; }
struct M { bit<32> next_hop; bit<16> server; bit<8> color; }
";

const V1MODEL: &str = "parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet);
        transition select(h.ethernet.ether_type) { 0x0800: ipv4; default: accept; } }
    state ipv4 { b.extract(h.ipv4); transition select(h.ipv4.protocol) { 17: udp; default: accept; } }
    state udp { b.extract(h.udp); transition CACHE; }
    state cache { b.extract(h.cache); transition accept; }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out b, in H h) { apply { b.emit(h); } }
";

/// A firewall for PNA. The first packet of a flow adds its entry, and each further packet restarts
/// the entry's timer.
const ADDING: &str = "struct None { }
parser P(packet_in b, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
    state start { b.extract(h.ethernet);
        transition select(h.ethernet.ether_type) { 0x0800: ipv4; default: accept; } }
    state ipv4 { b.extract(h.ipv4); transition select(h.ipv4.protocol) { 17: udp; default: accept; } }
    state udp { b.extract(h.udp); transition accept; }
}
control I(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    action open() { restart_expire_timer(); send_to_port((PortId_t)1); }
    action first() { add_entry(\"open\", (None){ }, (ExpireTimeProfileId_t)1); send_to_port((PortId_t)2); }
    table flows { key = { h.ipv4.source: exact; h.ipv4.destination: exact; h.udp.source: exact;
        h.udp.destination: exact; h.ipv4.protocol: exact; } actions = { @tableonly open; @defaultonly first; }
        const default_action = first(); add_on_miss = true; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        size = 2097152; }
    apply { flows.apply(); }
}
control D(packet_out b, in H h, in M m, in pna_main_output_metadata_t o) { apply { b.emit(h); } }
PNA_NIC(P(), I(), D()) main;";

const ROUTES: &str = "action route(bit<32> next_hop, bit<9> port) {
        m.next_hop = next_hop; s.egress_spec = port; h.ipv4.ttl = h.ipv4.ttl - 1; }
    action rewrite(bit<48> source, bit<48> destination) {
        h.ethernet.source = source; h.ethernet.destination = destination; }
    table routes { key = { h.ipv4.destination: lpm; } actions = { route; drop; }
        default_action = drop(); size = 2097152; }
    table next_hops { key = { m.next_hop: exact; } actions = { rewrite; drop; } default_action = drop(); }
    ";

const COUNTED_ROUTES: &str = "direct_counter(CounterType.packets_and_bytes) per_route;
    action route(bit<32> next_hop, bit<9> port) {
        m.next_hop = next_hop; s.egress_spec = port; h.ipv4.ttl = h.ipv4.ttl - 1; per_route.count(); }
    action rewrite(bit<48> source, bit<48> destination) {
        h.ethernet.source = source; h.ethernet.destination = destination; }
    table routes { key = { h.ipv4.destination: lpm; } actions = { route; drop; }
        default_action = drop(); size = 2097152; counters = per_route; }
    table next_hops { key = { m.next_hop: exact; } actions = { rewrite; drop; } default_action = drop(); }
    ";

const METERED_ROUTES: &str = "direct_meter<bit<8>>(MeterType.bytes) speed;
    action route(bit<32> next_hop, bit<9> port) {
        m.next_hop = next_hop; s.egress_spec = port; h.ipv4.ttl = h.ipv4.ttl - 1; speed.read(m.color);
        h.ipv4.service = m.color; }
    action rewrite(bit<48> source, bit<48> destination) {
        h.ethernet.source = source; h.ethernet.destination = destination; }
    table routes { key = { h.ipv4.destination: lpm; } actions = { route; drop; }
        default_action = drop(); size = 2097152; meters = speed; }
    table next_hops { key = { m.next_hop: exact; } actions = { rewrite; drop; } default_action = drop(); }
    ";

const GROUPED_ROUTES: &str = "action_selector(HashAlgorithm.crc32, 64, 32) hops;
    action send(bit<48> source, bit<48> destination, bit<9> port) {
        h.ethernet.source = source; h.ethernet.destination = destination;
        s.egress_spec = port; h.ipv4.ttl = h.ipv4.ttl - 1; }
    table routes { key = { h.ipv4.destination: lpm; h.ipv4.source: selector; h.ipv4.destination: selector;
        h.ipv4.protocol: selector; h.udp.source: selector; h.udp.destination: selector; }
        actions = { send; drop; } implementation = hops; size = 2097152; }
    ";

/// The router for PSA.
const PSA: &str = "struct None { }
parser IP(packet_in b, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in None again, in None back) {
    state start { b.extract(h.ethernet);
        transition select(h.ethernet.ether_type) { 0x0800: ipv4; default: accept; } }
    state ipv4 { b.extract(h.ipv4); transition select(h.ipv4.protocol) { 17: udp; default: accept; } }
    state udp { b.extract(h.udp); transition accept; }
}
control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    action drop() { ingress_drop(o); }
    action route(bit<32> next_hop, PortId_t port) {
        m.next_hop = next_hop; send_to_port(o, port); h.ipv4.ttl = h.ipv4.ttl - 1; }
    action rewrite(bit<48> source, bit<48> destination) {
        h.ethernet.source = source; h.ethernet.destination = destination; }
    table routes { key = { h.ipv4.destination: lpm; } actions = { route; drop; }
        default_action = drop(); size = 2097152; }
    table next_hops { key = { m.next_hop: exact; } actions = { rewrite; drop; } default_action = drop(); }
    apply { if (routes.apply().hit) { next_hops.apply(); } }
}
control ID(packet_out b, out None cloned, out None again, out None normal, inout H h, in M m,
    in psa_ingress_output_metadata_t o) { apply { b.emit(h); } }
parser EP(packet_in b, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in None normal, in None cloned,
    in None again) {
    state start { b.extract(h.ethernet);
        transition select(h.ethernet.ether_type) { 0x0800: ipv4; default: accept; } }
    state ipv4 { b.extract(h.ipv4); transition accept; }
}
control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    apply { h.ipv4.service = (bit<8>)(PortIdUint_t)i.egress_port; }
}
control ED(packet_out b, out None cloned, out None again, inout H h, in M m, in psa_egress_output_metadata_t o,
    in psa_egress_deparser_input_metadata_t i) { apply { b.emit(h); } }
PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
    BufferingQueueingEngine()) main;";

const LIST: &str = "action permit(bit<8> class) { h.ipv4.service = class; }
    table list { key = { h.ipv4.source: ternary; h.ipv4.destination: ternary; h.udp.source: range;
        h.udp.destination: range; h.ipv4.protocol: ternary; } actions = { permit; drop; }
        default_action = permit(0); size = 4096; }
    ";

const FIREWALL: &str = "action seen(@__ref bit<8> state, @__ref bit<32> packets) {
        if (state == 0) { state = 1; } else if (h.udp.length == 7) { state = 2; }
        packets = packets + 1; s.egress_spec = 1; h.ipv4.service = state; }
    table flows { key = { h.ipv4.source: exact; h.ipv4.destination: exact; h.udp.source: exact;
        h.udp.destination: exact; h.ipv4.protocol: exact; } actions = { seen; drop; } default_action = drop();
        size = 2097152; }
    ";

const BALANCER: &str = "action serve(bit<16> first) {
        hash(m.server, HashAlgorithm.crc16, first, { h.ipv4.source, h.ipv4.destination, h.udp.source,
            h.udp.destination, h.ipv4.protocol }, 32w64); }
    action send(bit<32> address, bit<48> mac, bit<9> port) {
        h.ipv4.destination = address; h.ethernet.destination = mac; s.egress_spec = port; }
    table services { key = { h.ipv4.destination: exact; } actions = { serve; drop; } default_action = drop();
        size = 65536; }
    table servers { key = { m.server: exact; } actions = { send; drop; } default_action = drop(); size = 65536; }
    ";

const CACHE: &str = "action exchange(@__ref bit<64> value) { s.egress_spec = 1;
        if (h.cache.writes == 1) { value = h.cache.value; } else { h.cache.value = value; } }
    table values { key = { h.cache.key: exact; } actions = { exchange; drop; } default_action = drop();
        size = 2097152; }
    ";

const SKETCH: &str = "register<bit<32>, bit<32>>(65536) first;
    register<bit<32>, bit<32>>(65536) second;
    counter<bit<32>>(1024, CounterType.packets_and_bytes) seen;
    action note() { bit<32> a; bit<32> b; bit<32> one; bit<32> other;
        hash(a, HashAlgorithm.crc32, 32w0, { h.ipv4.source, h.ipv4.destination, h.udp.source,
            h.udp.destination, h.ipv4.protocol }, 32w65536);
        hash(b, HashAlgorithm.crc16, 32w0, { h.ipv4.source, h.ipv4.destination, h.udp.source,
            h.udp.destination, h.ipv4.protocol }, 32w65536);
        first.read(one, a); second.read(other, b); one = one + 1; other = other + 1;
        first.write(a, one); second.write(b, other); seen.count(a & 1023);
        h.ipv4.service = one < other ? one[7:0] : other[7:0]; s.egress_spec = 1; }
    ";

const CHECKSUM: &str =
    "(h.ipv4.isValid(), { h.ipv4.version, h.ipv4.length, h.ipv4.service, h.ipv4.total, h.ipv4.id,
    h.ipv4.flags, h.ipv4.fragment, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.source, h.ipv4.destination },
    h.ipv4.checksum, HashAlgorithm.csum16);";

/// The number of rules of the access list.
const RULES: u32 = 1000;
/// The number of next hops, and of servers.
const HOPS: u32 = 64;
/// The number of next hops in a group.
const MEMBERS_PER_GROUP: u32 = 4;

/// One row: the program's tables, its ingress, and whether it has checksums.
struct Row {
    name: &'static str,
    tables: &'static [&'static str],
    apply: &'static str,
    checksums: bool,
}

const ROWS: [Row; 13] = [
    Row { name: "cache", tables: &[CACHE], apply: "values.apply();", checksums: false },
    Row { name: "sketch", tables: &[SKETCH], apply: "note();", checksums: false },
    Row { name: "firewall", tables: &[FIREWALL], apply: "flows.apply();", checksums: false },
    Row { name: "firewall, adding", tables: &[ADDING], apply: "", checksums: false },
    Row {
        name: "balancer",
        tables: &[BALANCER],
        apply: "if (services.apply().hit) { servers.apply(); }",
        checksums: false,
    },
    Row {
        name: "router",
        tables: &[ROUTES],
        apply: "if (routes.apply().hit) { next_hops.apply(); }",
        checksums: false,
    },
    Row {
        name: "router, counters",
        tables: &[COUNTED_ROUTES],
        apply: "if (routes.apply().hit) { next_hops.apply(); }",
        checksums: false,
    },
    Row {
        name: "router, meters",
        tables: &[METERED_ROUTES],
        apply: "if (routes.apply().hit) { next_hops.apply(); }",
        checksums: false,
    },
    Row {
        name: "router, groups",
        tables: &[GROUPED_ROUTES],
        apply: "routes.apply();",
        checksums: false,
    },
    Row { name: "router, PSA", tables: &[PSA], apply: "", checksums: false },
    Row {
        name: "router, checksums",
        tables: &[ROUTES],
        apply: "if (s.checksum_error == 1) { drop(); } else if (routes.apply().hit) { next_hops.apply(); }",
        checksums: true,
    },
    Row {
        name: "access list",
        tables: &[LIST],
        apply: "list.apply(); s.egress_spec = 1;",
        checksums: false,
    },
    Row {
        name: "router, list",
        tables: &[ROUTES, LIST],
        apply: "list.apply(); if (routes.apply().hit) { next_hops.apply(); }",
        checksums: false,
    },
];

impl Row {
    fn program(&self) -> Program {
        let (verify, update) = match self.checksums {
            true => (format!("verify_checksum{CHECKSUM}"), format!("update_checksum{CHECKSUM}")),
            false => Default::default(),
        };
        let (core, v1model) =
            ("#include <core.p4>\n", "#define V1MODEL_VERSION 20200408\n#include <v1model.p4>\n");
        let parser =
            V1MODEL.replace("CACHE", if self.name == "cache" { "cache" } else { "accept" });
        let of_pna = || format!("{core}#include <pna.p4>\n{HEAD}{ADDING}");
        let of_v1model = || {
            format!(
            "{core}{v1model}{HEAD}{parser} control V(inout H h, inout M m) {{ apply {{ {verify} }} }}
            control C(inout H h, inout M m) {{ apply {{ {update} }} }}
            control I(inout H h, inout M m, inout standard_metadata_t s) {{
                action drop() {{ mark_to_drop(s); }} {} apply {{ {} }} }}
            V1Switch(P(), V(), I(), E(), C(), D()) main;",
            self.tables.concat(),
            self.apply
        )
        };
        let of_psa = || format!("{core}#include <bmv2/psa.p4>\n{HEAD}{PSA}");
        let text = match self.tables {
            tables if tables.contains(&ADDING) => of_pna(),
            tables if tables.contains(&PSA) => of_psa(),
            _ => of_v1model(),
        };
        let compiled =
            p4lang::compile_text("row.p4", &text, &Options::default(), &MemoryFiles::default());
        compiled.program.expect("the program compiles")
    }

    /// Returns the number of addresses that have an entry. A balancer has fewer services than
    /// others have flows.
    fn addresses(&self, entries: u32) -> u32 {
        match self.name {
            "balancer" => entries.min(1 << 16),
            _ => entries,
        }
    }

    fn fill(&self, switch: &mut Switch, entries: u32) {
        let exact = |width, number| FieldMatch::Exact(Bits::unsigned(width, number));
        let routes = [ROUTES, COUNTED_ROUTES, METERED_ROUTES, PSA];
        if self.tables.iter().any(|tables| routes.contains(tables)) {
            for number in 0..entries {
                let value = Bits::unsigned(32, u128::from(address(number)));
                let key = vec![FieldMatch::Lpm { value, prefix_length: 24 }];
                let number = u128::from(number);
                add_entry(
                    switch,
                    "routes",
                    (key, 0),
                    "route",
                    &[number % u128::from(HOPS), number % 16],
                );
            }
            for number in 0..u128::from(HOPS) {
                let key = vec![exact(32, number)];
                add_entry(switch, "next_hops", (key, 0), "rewrite", &[number, number + 1]);
            }
        }
        if self.tables.contains(&GROUPED_ROUTES) {
            grouped_routes(switch, entries);
        }
        if self.tables.contains(&LIST) {
            rules(switch);
        }
        for number in 0..self.addresses(entries) {
            let (key, wide) = (u128::from(address(number)), u128::from(number));
            match self.name {
                "cache" => {
                    let key = vec![exact(64, wide * 0x1_0001)];
                    add_entry(switch, "values", (key, 0), "exchange", &[wide]);
                }
                "firewall" | "firewall, adding" => {
                    let key = vec![
                        exact(32, SOURCE.into()),
                        exact(32, key),
                        exact(16, 1),
                        exact(16, wide & 0xffff),
                    ];
                    let key = [key, vec![exact(8, 17)]].concat();
                    let seen: (&str, &[u128]) = match self.name {
                        "firewall" => ("seen", &[0, 0]),
                        _ => ("open", &[]),
                    };
                    add_entry(switch, "flows", (key, 0), seen.0, seen.1);
                }
                "balancer" => {
                    add_entry(switch, "services", (vec![exact(32, key)], 0), "serve", &[0]);
                }
                _ => {}
            }
        }
        if self.name == "balancer" {
            for number in 0..u128::from(HOPS) {
                let key = vec![exact(16, number)];
                add_entry(switch, "servers", (key, 0), "send", &[number, number + 1, number % 16]);
            }
        }
    }
}

/// Returns the address of a flow. No two addresses are in the same /24.
fn address(number: u32) -> u32 {
    number.wrapping_mul(0x9e_3779) << 8
}

const SOURCE: u32 = 0x0a00_0001;

/// Inserts rules like those of `cargo bench -p planimeter-tables --bench matching`: prefixes of
/// both addresses, and a range of ports.
fn rules(switch: &mut Switch) {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for number in 0..RULES {
        let mut prefix = |least: u32| {
            let mask = Bits::prefix_mask(32, random.random_range(least..=32));
            let value = Bits::unsigned(32, random.random::<u32>().into()).bit_and(&mask);
            FieldMatch::Ternary { value, mask }
        };
        let mut matches = vec![prefix(8), prefix(8)];
        matches.push(FieldMatch::Any);
        let low = random.random_range(0..0xff00_u128);
        let high = low + random.random_range(0..0xff_u128);
        matches.push(FieldMatch::Range {
            low: Bits::unsigned(16, low),
            high: Bits::unsigned(16, high),
        });
        let (value, mask) = (Bits::unsigned(8, 17), Bits::unsigned(8, 0xff));
        matches.push(FieldMatch::Ternary { value, mask });
        add_entry(switch, "list", (matches, number + 1), "permit", &[u128::from(number % 64)]);
    }
}

/// Inserts routes to [`HOPS`] groups, each of which has [`MEMBERS_PER_GROUP`] next hops.
fn grouped_routes(switch: &Switch, entries: u32) {
    let table = switch.table_named("routes").expect("a table");
    let action = switch.action_named(table, "send").expect("an action");
    let hops = switch.extern_named("hops").expect("a selector");
    for hop in 0..HOPS {
        let number = |width, number: u32| Bits::unsigned(width, number.into());
        let arguments = [number(48, hop), number(48, hop + 1), number(9, hop % 16)];
        let call = switch.action_call(action, &arguments).expect("arguments");
        switch.add_member(hops, hop, call).expect("a member");
    }
    for group in 0..HOPS {
        let members = (0..MEMBERS_PER_GROUP).map(|next| GroupMember {
            member: (group + next) % HOPS,
            weight: 1,
            watch_port: None,
        });
        let group_of = Group { members: members.collect(), max_size: 0 };
        switch.add_group(hops, group, group_of).expect("a group");
    }
    for number in 0..entries {
        let value = Bits::unsigned(32, u128::from(address(number)));
        let mut matches = vec![FieldMatch::Lpm { value, prefix_length: 24 }];
        matches.extend(vec![FieldMatch::Any; 5]);
        let action = EntryAction::Group(number % HOPS);
        let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
        switch.add_entry(table, entry, Duration::ZERO).expect("a route");
    }
}

/// Batches of packets as they arrive.
struct Traffic {
    template: [u8; LENGTH],
    /// The keys, each with the IPv4 checksum of its packet.
    keys: Vec<(u32, u16)>,
    next: usize,
    buffers: Vec<[u8; LENGTH]>,
}

impl Traffic {
    fn new(entries: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut template = [0; LENGTH];
        template[12..15].copy_from_slice(&[8, 0, 0x45]);
        template[16..18].copy_from_slice(&70_u16.to_be_bytes());
        template[22..24].copy_from_slice(&[64, 17]);
        template[26..30].copy_from_slice(&SOURCE.to_be_bytes());
        template[35] = 1;
        let words = template[14..34].as_chunks::<2>().0;
        let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        let key = |_| {
            let key = random.random_range(0..entries);
            let sum = sum + (address(key) >> 16) + (address(key) & 0xffff);
            let sum = (sum & 0xffff) + (sum >> 16);
            (key, !((sum & 0xffff) + (sum >> 16)) as u16)
        };
        let keys = (0..1 << 20).map(key).collect();
        Self { template, keys, next: 0, buffers: vec![[0; LENGTH]; BATCH] }
    }

    fn copy_in(&mut self) {
        for buffer in &mut self.buffers {
            buffer.copy_from_slice(&self.template);
            let (key, checksum) = self.keys[self.next % self.keys.len()];
            buffer[24..26].copy_from_slice(&checksum.to_be_bytes());
            buffer[30..34].copy_from_slice(&address(key).to_be_bytes());
            buffer[36..38].copy_from_slice(&(key as u16).to_be_bytes());
            buffer[42..50].copy_from_slice(&(u64::from(key) * 0x1_0001).to_be_bytes());
            buffer[58] = (self.next & 1) as u8;
            self.next += 1;
        }
    }
}

/// Configures the meters of all routes. A route has tokens for a dozen packets of each colour,
/// since the time does not advance in this benchmark.
fn meter_routes(switch: &Switch) -> Result<(), String> {
    let failed = |error: pipeline::ControlError| error.to_string();
    let table = switch.table_named("routes").map_err(failed)?;
    let meter = switch.extern_named("speed").map_err(failed)?;
    let config = MeterConfig::TwoRate {
        committed_rate: 1 << 20,
        committed_burst: 1024,
        peak_rate: 1 << 21,
        peak_burst: 2048,
    };
    switch.configure_direct_meters(table, meter, Some(config), Duration::ZERO).map_err(failed)
}

/// Measures and prints the rows that the arguments select.
pub(crate) fn run(arguments: &Arguments, entries: u32) -> Result<(), String> {
    let rows = ROWS.iter().filter(|row| arguments.runs(row.name) || arguments.runs("programs"));
    let rows: Vec<&Row> = rows.collect();
    if !rows.is_empty() {
        println!("programs in batches of {BATCH}, {entries} entries, {RULES} rules of a list");
    }
    for row in rows {
        let program = row.program();
        let switch = || -> Result<Switch, String> {
            let mut switch = Switch::new(program.clone()).map_err(|error| error.to_string())?;
            switch.set_expire_time_profile(1, Some(Duration::from_secs(1)));
            row.fill(&mut switch, entries);
            if row.tables.contains(&METERED_ROUTES) {
                meter_routes(&switch)?;
            }
            Ok(switch)
        };
        let (mut switch, mut oracle) = (switch()?, switch()?);
        let code = Compiled::new(&switch).map_err(|error| error.to_string())?;
        let (mut worker, mut batch) = (Processor::with_seed(0), Batch::default());
        let mut traffic = Traffic::new(row.addresses(entries));
        // A timer that is restarted twice at the same time need not be written, so the time
        // advances for the program with timers.
        let tick = Duration::from_micros(u64::from(row.tables.contains(&ADDING)));
        let mut now = Duration::ZERO;
        let mut run = |traffic: &Traffic, switch: &Switch, batch: &mut Batch| {
            let packets: [(u32, &[u8]); BATCH] =
                std::array::from_fn(|index| (1, traffic.buffers[index].as_slice()));
            now += tick;
            code.process_batch(switch, &mut worker, &packets, now, batch);
        };
        // Both paths must have the same outputs, including the values that earlier packets left.
        for _ in 0..64 {
            traffic.copy_in();
            run(&traffic, &switch, &mut batch);
            let sent: Vec<(u32, Vec<u8>)> =
                batch.sent().map(|(_, port, bytes)| (port, bytes.to_vec())).collect();
            let mut expected = Vec::new();
            for packet in &traffic.buffers {
                let outputs = oracle.process(1, packet, Duration::ZERO);
                let outputs = outputs.map_err(|error| error.to_string())?;
                expected.extend(outputs.into_iter().map(|output| (output.port, output.packet)));
            }
            assert!(batch.errors().is_empty() && sent == expected, "{}", row.name);
        }
        drop(oracle);
        let mut compiled = Vec::new();
        for _ in 0..arguments.repetitions {
            let batches = arguments.packets.div_ceil(BATCH);
            let begin = processor_time();
            let mut sent = 0;
            for _ in 0..batches {
                traffic.copy_in();
                run(&traffic, &switch, &mut batch);
                sent += batch.sent().len();
            }
            compiled.push((batches * BATCH) as f64 / since(begin) / 1e6);
            assert_eq!(sent, batches * BATCH, "{}: a packet did not leave", row.name);
            black_box(sent);
        }
        let mut interpreted = Vec::new();
        for _ in 0..arguments.repetitions {
            let count = arguments.packets.div_ceil(64 * BATCH);
            let begin = processor_time();
            for _ in 0..count {
                traffic.copy_in();
                for packet in &traffic.buffers {
                    black_box(switch.process(1, packet, Duration::ZERO).is_ok());
                }
            }
            interpreted.push((count * BATCH) as f64 / since(begin) / 1e6);
        }
        for (path, found) in [("interpreter", interpreted), ("compiled", compiled)] {
            let (least, median, most) = rates(found);
            println!("{:18} {path:12} {least:8.3} {median:8.3} {most:8.3}", row.name);
        }
        if let Some(reason) = code.one_by_one() {
            println!("{:18} packets go one by one: {reason}", row.name);
        }
    }
    Ok(())
}
