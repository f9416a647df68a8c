//! Tests of programs of PNA. Packets add entries that the next packets of their burst hit, timers
//! are restarted and expire, and packets request mirrored copies.

use crate::both::{Both, compile, entries, masked_packet};
use ir::bits::Bits;
use pipeline::{
    Batch, CloneSession, Compiled, Core, EntryAction, FieldMatch, Processor, Replica, Switch,
    TableEntry,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// Returns a program with two tables that packets add entries to. `properties` are those of the
/// second table.
fn program(properties: &str, deparser: &str) -> String {
    format!(
        "#include <core.p4>
        #include <pna.p4>
        header K {{ bit<8> kind; bit<8> key; bit<16> value; bit<32> more; }} header T {{ bit<8> tag; }}
        struct H {{ T front; K k; T t; }} struct M {{ bit<8> port; bit<16> told; }}
        struct One {{ bit<16> number; }}
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
            state start {{ p.extract(h.k); m.port = (bit<8>)(PortIdUint_t)i.input_port + (i.recirculated ? 8w100 : 0);
                transition select(h.k.kind[7:7]) {{ 1: tag; default: accept; }} }}
            state tag {{ p.extract(h.t); transition accept; }} }}
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
            action see(bit<16> number) {{ restart_expire_timer(); h.k.value = number; send_to_port((PortId_t)2); }}
            action look(bit<16> number) {{ h.k.value = number + 1; send_to_port((PortId_t)3);
                if (h.k.kind[0:0] == 1) {{ set_entry_expire_time((ExpireTimeProfileId_t)2); }} }}
            action leave() {{ drop_packet(); if (h.k.kind[2:2] == 1) {{ send_to_port((PortId_t)4); exit; }} }}
            action learn() {{ send_to_port((PortId_t)1);
                if (h.k.kind[1:1] == 1) {{ m.told = (bit<16>)add_entry(\"see\", (One){{ number = h.k.value }},
                    (ExpireTimeProfileId_t)(ExpireTimeProfileIdUint_t)(h.k.key & 3)); }}
                else {{ m.told = 7 + (bit<16>)add_entry_if(h.k.kind[3:3] == 1, \"look\", {{ number = h.k.value }},
                    (ExpireTimeProfileId_t)1); }} }}
            action exchange(@__ref bit<32> value) {{ bit<32> old = value; value = h.k.more; h.k.more = old; }}
            action longer() {{ h.k.more = h.k.more + 1;
                set_entry_expire_time_if(h.k.kind[0:0] == 1, (ExpireTimeProfileId_t)1); }}
            action keep() {{ add_entry(\"exchange\", {{ value = h.k.more }}, (ExpireTimeProfileId_t)1); h.k.more = 99;
                if (h.k.kind[4:4] == 1) {{ exit; }} }}
            table flows {{ key = {{ h.k.key: exact; h.k.kind[5:5]: exact; }} actions = {{ see; look; leave; learn; }}
                default_action = learn(); add_on_miss = true; size = 40; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }}
            @tableconfig(impl = \"dpdk\", synced = true)
            table values {{ key = {{ h.k.value: exact; h.k.more[31:24]: exact; }} actions = {{ exchange; longer; keep; leave; }}
                default_action = keep(); add_on_miss = true; {properties} }}
            table plain {{ key = {{ m.told: exact; }} actions = {{ see; leave; }} default_action = see(77); }}
            apply {{
                flows.apply();
                if (h.k.kind[6:6] == 1) {{ values.apply(); plain.apply(); send_to_port((PortId_t)5); }}
                if (h.k.kind == 0x13) {{ mirror_packet((MirrorSlotId_t)0, (MirrorSessionId_t)5); }}
                if (h.t.isValid() && h.t.tag[0:0] == 1) {{ h.front.setValid(); h.front.tag = m.port; }}
                if (i.parser_error != error.NoError) {{ h.k.setValid(); h.k.more = (bit<32>)(TimestampUint_t)i.timestamp; }}
                h.t.tag = h.t.tag + (bit<8>)m.told;
            }} }}
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ {deparser} }} }}
        PNA_NIC(P(), C(), D()) main;"
    )
}

/// Configures the profiles of expiry times and a mirror session.
fn set_up(switch: &mut Switch) {
    switch.set_expire_time_profile(1, Some(Duration::from_millis(3)));
    switch.set_expire_time_profile(2, Some(Duration::from_millis(9)));
    switch.set_expire_time_profile(3, Some(Duration::from_micros(40)));
    let replicas = vec![Replica { port: 50, instance: 0 }];
    switch.set_clone_session(5, Some(CloneSession { replicas, ..Default::default() }));
}

/// A change of the first table by the control plane, which adds or removes an entry.
#[derive(Clone, Copy)]
struct Change {
    key: u128,
    adds: bool,
    action: u32,
    timeout: u64,
}

impl Change {
    fn new(random: &mut ChaCha8Rng) -> Self {
        Self {
            key: random.random_range(0..64),
            adds: random.random_range(0..2) == 0,
            action: random.random_range(0..4),
            timeout: random.random_range(0..3),
        }
    }

    fn make(self, core: &Core, now: Duration) {
        let Self { key, adds, action, timeout } = self;
        let table = core.table_named("flows").expect("a table");
        let (action, data): (&str, &[Bits]) = match action {
            0 => ("see", &[Bits::unsigned(16, key)]),
            1 => ("look", &[Bits::unsigned(16, key)]),
            2 => ("learn", &[]),
            _ => ("leave", &[]),
        };
        let exact = |width, number| FieldMatch::Exact(Bits::unsigned(width, number));
        let matches = vec![exact(8, key), exact(1, key & 1)];
        if adds {
            let action = core.action_named(table, action).expect("an action");
            let action = EntryAction::Action(core.action_call(action, data).expect("data"));
            let idle_timeout = (timeout > 0).then(|| Duration::from_millis(timeout));
            let entry = TableEntry { matches, priority: 0, action, idle_timeout };
            let _ = core.add_entry(table, entry, now);
        } else {
            let _ = core.delete_entry(table, &matches, 0);
        }
    }
}

fn packet(random: &mut ChaCha8Rng) -> (u32, Vec<u8>) {
    let mut packet = masked_packet(random, &[(1, 0x3f), (2, 0), (3, 3), (4, 1)]);
    if let Some(kind) = packet.first_mut().filter(|_| random.random_range(0..12) == 0) {
        *kind = 0x13;
    }
    (random.random_range(0..4), packet)
}

fn compare(properties: &str, deparser: &str, seed: u64) {
    let mut both = Both::new(&compile(&program(properties, deparser)));
    assert_eq!(both.one_by_one(), None, "{properties}");
    both.each(set_up);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut left, mut most) = (0, 0);
    for round in 0..100 {
        for _ in 0..random.random_range(0..4) {
            let (change, now) = (Change::new(&mut random), both.now());
            both.each(|switch| change.make(switch, now));
        }
        let packets: Vec<(u32, Vec<u8>)> =
            (0..random.random_range(1..80)).map(|_| packet(&mut random)).collect();
        if round % 4 == 0 {
            for (port, packet) in &packets {
                left += both.packet(*port, packet).map_or(0, |outputs| outputs.len());
            }
        } else {
            left += both.batch(&packets);
        }
        both.wait(Duration::from_micros(random.random_range(0..700)));
        let now = both.now();
        if round % 7 == 0 {
            assert_eq!(both.interpreted.expire(now), both.compiled.expire(now), "round {round}");
        }
        for table in ["flows", "values"] {
            let expected = entries(&both.interpreted, table);
            assert_eq!(expected, entries(&both.compiled, table), "{table}, round {round}");
            most = most.max(expected.len());
        }
        both.share(round % 3 == 1);
    }
    assert!(left > 2000 && most > 20, "{left} left, {most} entries at most");
}

const EMITS: &str = "p.emit(h.front); p.emit(h.k); p.emit(h.t);";

#[test]
fn the_next_packets_hit_an_entry_that_a_packet_added() {
    compare("size = 500;", EMITS, 1);
}

#[test]
fn entries_that_time_out_are_deleted() {
    compare("pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;", EMITS, 2);
}

#[test]
fn idle_entries_are_notified() {
    compare("pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL; size = 100;", EMITS, 3);
}

#[test]
fn a_deparser_may_emit_conditionally() {
    compare("size = 100;", &format!("if (m.told == 0) {{ {EMITS} }} else {{ p.emit(h.k); }}"), 4);
}

/// Checks that no thread waits forever while workers add entries, find others removed, and wait for
/// each change of a table by the control plane.
#[test]
fn workers_and_the_control_plane_change_tables_at_once() {
    let properties = "pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; size = 100;";
    let mut switch =
        Switch::new(compile(&program(properties, EMITS))).expect("a program that runs");
    set_up(&mut switch);
    let code = Compiled::new(&switch).unwrap_or_else(|error| panic!("{error}"));
    let (core, code): (&Core, &Compiled) = (&switch, &code);
    let now = |round: u64| Duration::from_secs(1) + Duration::from_micros(200 * round);
    let left: usize = std::thread::scope(|scope| {
        let work = |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let (mut worker, mut batch) = (Processor::with_seed(seed), Batch::default());
            let mut left = 0;
            for round in 0..150 {
                let packets: Vec<(u32, Vec<u8>)> = (0..50).map(|_| packet(&mut random)).collect();
                let packets: Vec<(u32, &[u8])> =
                    packets.iter().map(|(port, packet)| (*port, packet.as_slice())).collect();
                code.process_batch(core, &mut worker, &packets, now(round), &mut batch);
                assert!(batch.errors().is_empty(), "seed {seed}: {:?}", batch.errors());
                left += batch.sent().len();
            }
            left
        };
        let workers = [11, 12, 13].map(|seed| scope.spawn(move || work(seed)));
        let mut random = ChaCha8Rng::seed_from_u64(14);
        for round in 0..150 {
            Change::new(&mut random).make(core, now(round));
            core.expire(now(round));
        }
        workers.into_iter().map(|worker| worker.join().expect("a worker")).sum()
    });
    assert!(left > 10_000, "{left} left");
    // A table never has more entries than its size.
    for table in ["flows", "values"] {
        let entries = entries(&switch, table);
        assert!(
            !entries.is_empty() && entries.len() <= 100,
            "{} entries in {table}",
            entries.len()
        );
    }
}
