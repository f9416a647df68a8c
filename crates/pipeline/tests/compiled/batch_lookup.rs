//! Tests that the result of a batch lookup is not used after the control plane has changed the
//! table. A packet of the burst that adds an entry lets a waiting control plane proceed, and a
//! route of another prefix may then have the slot of the one that the batch lookup found.

use crate::both::compile;
use ir::bits::Bits;
use pipeline::{Batch, Compiled, EntryAction, FieldMatch, Processor, Switch, TableEntry};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A program in which each packet adds a flow and is then routed by its prefix.
const PROGRAM: &str = "#include <core.p4>
    #include <pna.p4>
    header K { bit<32> flow; bit<32> address; bit<8> route; }
    struct H { K k; } struct M {} struct None {}
    parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {
        state start { p.extract(h.k); transition accept; } }
    control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
        action seen() {}
        action learn() { add_entry(\"seen\", (None){}, (ExpireTimeProfileId_t)0); }
        action to(bit<8> route) { h.k.route = route; }
        table flows { key = { h.k.flow: exact; } actions = { seen; learn; } default_action = learn();
            add_on_miss = true; size = 65536; }
        table routes { key = { h.k.address: lpm; } actions = { to; } default_action = to(0); size = 64; }
        apply { flows.apply(); routes.apply(); send_to_port((PortId_t)1); } }
    control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) { apply { p.emit(h.k); } }
    PNA_NIC(P(), C(), D()) main;";

/// The number of routes that take turns in the slots of the table.
const ROUTES: u8 = 8;

#[test]
fn a_packet_takes_the_route_of_its_prefix_while_routes_change_places() {
    let switch = Switch::new(compile(PROGRAM)).expect("a program that can be run");
    let code = Compiled::new(&switch).expect("a program that is compiled");
    assert_eq!(code.one_by_one(), None, "its packets go in bursts");
    let table = switch.table_named("routes").expect("a table");
    let action = switch.action_named(table, "to").expect("an action");
    let prefix = |route: u8| {
        let value = Bits::unsigned(32, u128::from(route) << 24);
        vec![FieldMatch::Lpm { value, prefix_length: 24 }]
    };
    let entry = |route: u8| {
        let call = switch.action_call(action, &[Bits::unsigned(8, route.into())]);
        let action = EntryAction::Action(call.expect("arguments"));
        TableEntry { matches: prefix(route), priority: 0, action, idle_timeout: None }
    };
    let ended = AtomicBool::new(false);
    let changes = std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let mut rounds = 0_u32;
            while !ended.load(Ordering::Relaxed) {
                let route = 1 + (rounds % u32::from(ROUTES)) as u8;
                switch.add_entry(table, entry(route), Duration::ZERO).expect("a route");
                switch.delete_entry(table, &prefix(route), 0).expect("the route");
                rounds += 1;
            }
            rounds
        });
        let (mut worker, mut batch) = (Processor::with_seed(0), Batch::default());
        let mut wrong = Vec::new();
        for burst in 0..1000_u32 {
            let packet = |at: u32| {
                let route = 1 + (at % u32::from(ROUTES)) as u8;
                let flow = (burst * 32 + at).to_be_bytes();
                [&flow[..], &[route, 0, 0, 1, 0xff, 0]].concat()
            };
            let packets: Vec<Vec<u8>> = (0..32).map(packet).collect();
            let given: Vec<(u32, &[u8])> = packets.iter().map(|packet| (1, &packet[..])).collect();
            code.process_batch(&switch, &mut worker, &given, Duration::ZERO, &mut batch);
            assert!(batch.errors().is_empty(), "{:?}", batch.errors());
            for (at, _, bytes) in batch.sent() {
                if bytes[8] != 0 && bytes[8] != packets[at][4] {
                    wrong.push((burst, at, bytes[8]));
                }
            }
        }
        ended.store(true, Ordering::Relaxed);
        assert_eq!(wrong, [], "burst, packet and the route of another prefix");
        changes.join().expect("the control plane")
    });
    assert!(changes > 100, "the control plane had {changes} turns");
}
