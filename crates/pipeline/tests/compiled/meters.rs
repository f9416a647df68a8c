//! Tests of counters and meters of entries, of arrays, and of default entries. Colours and counts
//! are the same at the same times on both paths.

use crate::both::{Both, V1model, compile};
use ir::bits::Bits;
use pipeline::{Core, EntryAction, EntryHandle, FieldMatch, MeterConfig, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const V1MODEL: &str = "
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.bytes) rated;
    direct_meter<bit<2>>(MeterType.packets) paced;
    meter<bit<8>>(8, MeterType.packets) shared;
    action color(bit<8> port) { rated.read(m.first); h.k.value = (bit<16>) port; }
    action both(bit<8> port) { paced.read(m.second); h.k.value[15:8] = port; }
    action none(bit<8> port) { m.first = m.first + 3; }
    action miss() { rated.read(m.first); h.k.value[3:0] = 5; }
    table one { key = { h.k.key: exact; } actions = { color; none; miss; } default_action = miss(); meters = rated;
        counters = hits; }
    table two { key = { h.k.kind: ternary; } actions = { both; NoAction; } default_action = NoAction(); meters = paced; }
    apply {
        s.egress_spec = 1;
        m.first = 99; m.second = 2; m.third = 7;
        if (h.k.kind[0:0] == 1) { one.apply(); }
        if (h.k.kind[1:1] == 1) { two.apply(); }
        if (h.k.kind[2:2] == 1) { shared.execute_meter(h.k.key & 15, m.third); }
        h.k.colors = m.first ++ (bit<8>) m.second ++ m.third;
    }";

fn v1model() -> String {
    V1model {
        declarations: "header K { bit<8> kind; bit<8> key; bit<16> value; bit<24> colors; }
            struct H { K k; } struct M { bit<8> first; bit<2> second; bit<8> third; }",
        parser: "state start { b.extract(h.k); transition accept; }",
        ingress: V1MODEL,
        ..V1model::default()
    }
    .text()
}

/// A program for PSA, where actions execute meters. Both controls have tables, and the default
/// entry has a counter and a meter.
const PSA: &str = "#include <core.p4>
    #include <bmv2/psa.p4>
    header K { bit<8> kind; bit<8> key; bit<16> value; bit<24> colors; }
    struct H { K k; } struct M { PSA_MeterColor_t first; PSA_MeterColor_t second; } struct None { }
    parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in None s, in None r) {
        state start { p.extract(h.k); transition accept; } }
    control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
        DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
        DirectMeter(PSA_MeterType_t.BYTES) rated;
        Meter<bit<8>>(8, PSA_MeterType_t.PACKETS) shared;
        action color(bit<8> port) { m.first = rated.execute(PSA_MeterColor_t.GREEN); hits.count(); h.k.value = (bit<16>) port; }
        action none(bit<8> port) { hits.count(); hits.count(); }
        action miss() { m.first = rated.execute(); hits.count(); }
        table one { key = { h.k.key: exact; } actions = { color; none; miss; } default_action = miss();
            psa_direct_meter = rated; psa_direct_counter = hits; }
        apply {
            send_to_port(o, (PortId_t)(PortIdUint_t)1);
            m.first = PSA_MeterColor_t.YELLOW; m.second = PSA_MeterColor_t.RED;
            if (h.k.kind[0:0] == 1) { one.apply(); }
            if (h.k.kind[2:2] == 1) { m.second = shared.execute(h.k.key & 15, m.first); }
            h.k.colors[23:16] = m.first == PSA_MeterColor_t.RED ? 8w2 : m.first == PSA_MeterColor_t.YELLOW ? 8w1 : 0;
            h.k.colors[15:8] = m.second == PSA_MeterColor_t.RED ? 8w2 : m.second == PSA_MeterColor_t.YELLOW ? 8w1 : 0;
        } }
    control ID(packet_out p, out None c, out None s, out None n, inout H h, in M m, in psa_ingress_output_metadata_t o) {
        apply { p.emit(h.k); } }
    parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in None n, in None c, in None e) {
        state start { p.extract(h.k); transition accept; } }
    control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
        DirectMeter(PSA_MeterType_t.PACKETS) paced;
        action both(bit<8> port) { m.second = paced.execute(m.first); h.k.value[15:8] = port; }
        table two { key = { h.k.kind: ternary; } actions = { both; NoAction; } default_action = NoAction();
            psa_direct_meter = paced; }
        apply {
            m.first = h.k.colors[23:16] == 0 ? PSA_MeterColor_t.GREEN : PSA_MeterColor_t.YELLOW;
            m.second = PSA_MeterColor_t.GREEN;
            if (h.k.kind[1:1] == 1) { two.apply(); }
            h.k.colors[7:0] = m.second == PSA_MeterColor_t.RED ? 8w2 : m.second == PSA_MeterColor_t.YELLOW ? 8w1 : 0;
        } }
    control ED(packet_out p, out None c, out None r, inout H h, in M m, in psa_egress_output_metadata_t o,
        in psa_egress_deparser_input_metadata_t i) { apply { p.emit(h.k); } }
    PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
        BufferingQueueingEngine()) main;";

fn config(random: [u64; 4]) -> Option<MeterConfig> {
    let [kind, committed_rate, committed_burst, more] = random;
    match kind {
        0 => None,
        1 => Some(MeterConfig::SingleRate { committed_rate, committed_burst, excess_burst: more }),
        _ => Some(MeterConfig::TwoRate {
            committed_rate,
            committed_burst,
            peak_rate: committed_rate + more,
            peak_burst: committed_burst + more,
        }),
    }
}

/// Adds or removes an entry, or configures a meter.
fn change(core: &Core, random: [u64; 8], now: Duration) {
    let [what, table, key, action, rest @ ..] = random;
    let (table, meter) = [("one", "rated"), ("two", "paced")][table as usize % 2];
    let id = core.table_named(table).expect("a table");
    let meter = core.extern_named(meter).expect("a meter");
    let number = |width, number: u64| Bits::unsigned(width, number.into());
    match what {
        0 => {
            let shared = core.extern_named("shared").expect("a meter");
            core.configure_meter(shared, key % 8, config(rest), now).expect("an element");
        }
        1 => core.configure_direct_meters(id, meter, config(rest), now).expect("a meter"),
        2 => {
            let handle = core.entries(id).expect("entries").map(|(handle, _)| handle).next();
            let handle = handle.unwrap_or(EntryHandle::DEFAULT);
            core.configure_direct_meter(id, handle, meter, config(rest), now).expect("a meter");
        }
        3 => core
            .configure_direct_meter(id, EntryHandle::DEFAULT, meter, config(rest), now)
            .expect("a meter"),
        _ => {
            let (matches, priority, actions) = match table {
                "one" => (vec![FieldMatch::Exact(number(8, key))], 0, ["color", "none"]),
                _ => {
                    let mask = number(8, 0x30);
                    let value = number(8, key & 0x30);
                    (vec![FieldMatch::Ternary { value, mask }], 1, ["both", "both"])
                }
            };
            if what < 7 {
                let action =
                    core.action_named(id, actions[action as usize % 2]).expect("an action");
                let call = core.action_call(action, &[number(8, key)]).expect("data");
                let action = EntryAction::Action(call);
                let entry = TableEntry { matches, priority, action, idle_timeout: None };
                let _ = core.add_entry(id, entry, now);
            } else {
                let _ = core.delete_entry(id, &matches, priority);
            }
        }
    }
}

/// Returns the counts of all entries, and of the default entry.
fn counts(switch: &Switch) -> Vec<(u64, u64)> {
    let id = switch.table_named("one").expect("a table");
    let counter = switch.extern_named("hits").expect("a counter");
    let handles = switch.entries(id).expect("entries").map(|(handle, _)| handle);
    let handles: Vec<EntryHandle> = handles.chain([EntryHandle::DEFAULT]).collect();
    let counts = handles.into_iter().map(|handle| {
        let value = switch.direct_counter(id, handle, counter).expect("a counter");
        (value.packets, value.bytes)
    });
    counts.collect()
}

fn compare(text: &str, follows: bool, seed: u64) {
    let mut both = Both::following(&compile(text), follows);
    assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0), "follows: {follows}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut colors, mut most) = ([0_u32; 3], 0);
    for round in 0..120 {
        for _ in 0..random.random_range(0..5) {
            let bounds = [9, 2, 24, 2, 3, 10_000, 200, 200];
            let numbers = bounds.map(|bound: u64| random.random_range(0..bound));
            let now = both.now();
            both.each(|switch| change(switch, numbers, now));
        }
        let packets: Vec<(u32, Vec<u8>)> = (0..random.random_range(1..50))
            .map(|_| {
                let mut packet: Vec<u8> =
                    (0..random.random_range(7..90)).map(|_| random.random()).collect();
                packet[1] %= 24;
                (0, packet)
            })
            .collect();
        if round % 2 == 0 {
            for (port, packet) in &packets {
                for output in both.packet(*port, packet).expect("a packet that is processed") {
                    // The first colour is in the fifth byte.
                    let color = usize::from(output.packet[4]);
                    if let Some(count) = colors.get_mut(color) {
                        *count += 1;
                    }
                }
            }
        } else {
            both.batch(&packets);
        }
        both.wait(Duration::from_micros(random.random_range(0..9000)));
        let expected = counts(&both.interpreted);
        assert_eq!(expected, counts(&both.compiled), "round {round}");
        most = most.max(expected.len());
        both.share(round % 4 == 1);
    }
    assert!(colors.iter().all(|count| *count > 5) && most > 8, "{colors:?}, {most}");
}

#[test]
fn meters_of_v1model_run_on_each_hit() {
    compare(&v1model(), false, 1);
}

#[test]
fn meters_of_psa_run_where_actions_execute_them() {
    compare(PSA, false, 2);
}

#[test]
fn meters_of_psa_switch_run_on_each_hit() {
    compare(PSA, true, 3);
}
