//! Tests of traces that contain all outcomes that packets from ports could have.

use crate::support::{Bench, Controller, Names, TIMEOUT, pushed};
use p4runtime::proto::trace::{Node, Trace, node::Next};
use p4runtime::proto::v1::{self, entity::Entity as Kind};
use std::collections::BTreeSet;
use std::time::Instant;

/// A program whose packets choose a port or a multicast group by a hash. The first byte of a packet
/// that leaves is the number of packets before it, and each packet is counted and reported.
const SPREADING: &str = r#"
#include <v1model.p4>
header h_t { bit<8> to; bit<8> from; }
struct headers { h_t h; }
struct meta { }
struct seen_t { bit<8> from; }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<bit<8>>(1) passed;
    counter(1, CounterType.packets) hits;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) members;
    action forward(bit<9> port) { s.egress_spec = port; }
    action multicast(bit<16> group) { s.mcast_grp = group; }
    table stations {
        key = { h.h.to: exact; h.h.from: selector; }
        actions = { forward; multicast; }
        implementation = members;
    }
    apply {
        stations.apply();
        bit<8> before;
        passed.read(before, 0);
        passed.write(0, before + 1);
        h.h.to = before;
        hits.count(0);
        digest<seen_t>(1, { h.h.from });
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

/// Returns an entry whose packets go to port 2, to port 3, or to the multicast group 1.
fn spread(names: &Names, to: u8) -> Kind {
    let member = |action: &str, value: u8| {
        let params = vec![v1::action::Param { param_id: 1, value: vec![value].into() }];
        let action = v1::Action { action_id: names.action(action), params };
        v1::ActionProfileAction { action: Some(action), weight: 1, ..Default::default() }
    };
    let set = v1::ActionProfileActionSet {
        action_profile_actions: vec![
            member("forward", 2),
            member("forward", 3),
            member("multicast", 1),
        ],
        ..Default::default()
    };
    let one_shot = v1::table_action::Type::ActionProfileActionSet(set);
    let Kind::TableEntry(entry) = names.entry(to, "forward", &[2]) else { panic!("an entry") };
    let action = Some(v1::TableAction { r#type: Some(one_shot) });
    Kind::TableEntry(v1::TableEntry { action, ..entry })
}

fn group() -> Kind {
    let replica = |port: u32| v1::Replica {
        port_kind: Some(v1::replica::PortKind::EgressPort(port)),
        ..Default::default()
    };
    let group = v1::MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: vec![replica(2), replica(3)],
        ..Default::default()
    };
    let of_group = v1::packet_replication_engine_entry::Type::MulticastGroupEntry(group);
    let entry = v1::PacketReplicationEngineEntry { r#type: Some(of_group) };
    Kind::PacketReplicationEngineEntry(entry)
}

/// Returns the sets of packets of which a node transmits one set, each a port and the first byte.
fn sets(node: &Node) -> BTreeSet<BTreeSet<(u32, u8)>> {
    match &node.next {
        Some(Next::Output(output)) => {
            BTreeSet::from([BTreeSet::from([(output.port, output.packet[0])])])
        }
        Some(Next::All(all)) => {
            let copies = all.copies.iter().flat_map(|copy| &copy.node);
            BTreeSet::from([copies.flat_map(sets).flatten().collect()])
        }
        Some(Next::One(choice)) => {
            choice.alternatives.iter().flat_map(|one| &one.node).flat_map(sets).collect()
        }
        other => panic!("{other:?}"),
    }
}

async fn count(controller: &mut Controller) -> i64 {
    let p4info = pushed(SPREADING).p4info.expect("it has one");
    let counter = p4info.counters.first().and_then(|counter| counter.preamble.as_ref());
    let wanted = Kind::CounterEntry(v1::CounterEntry {
        counter_id: counter.expect("there is one").id,
        index: Some(v1::Index { index: 0 }),
        ..Default::default()
    });
    let read = controller.client.read(vec![v1::Entity { entity: Some(wanted) }]).await;
    let read = read.expect("it is there");
    let Some(Kind::CounterEntry(entry)) = &read[0].entity else { panic!("{read:?}") };
    entry.data.as_ref().expect("a count").packet_count
}

/// The trace of each packet has all outcomes, with a copy told apart from a choice. The packet
/// itself leaves once, by one of them, and is counted once.
#[tokio::test]
async fn traces_have_all_outcomes_and_packets_leave_once() {
    let (mut bench, written) = Bench::tracing_with(3, |log| log.with_all_outcomes(64));
    let mut controller = Controller::with(&bench.switch, SPREADING).await;
    let names = Names::of(SPREADING);
    controller.insert([group()]).await;
    controller.insert([spread(&names, 20)]).await;
    let mut left = 0;
    for number in 0..12_u8 {
        bench.send(1, &[20, number]);
        let start = Instant::now();
        let traces = loop {
            let traces = traces::read(written.text().as_bytes()).unwrap_or_default();
            if traces.len() > usize::from(number) {
                break traces;
            }
            assert!(start.elapsed() < TIMEOUT, "no trace of packet {number}");
            std::thread::yield_now();
        };
        let Trace { root, outcomes, .. } = traces.last().expect("a trace").clone();
        let expected: [&[(u32, u8)]; 3] =
            [&[(2, number)], &[(3, number)], &[(2, number), (3, number)]];
        let expected: BTreeSet<BTreeSet<(u32, u8)>> =
            expected.iter().map(|set| set.iter().copied().collect()).collect();
        let root = root.expect("a tree");
        assert_eq!(sets(&root), expected, "no outcome has counted in the register");
        let outcomes = outcomes.expect("counts");
        assert_eq!((outcomes.explored, outcomes.left_out, outcomes.limit), (3, 0, 64));
        let Some(Next::One(choice)) = root.next else { panic!("{root:?}") };
        let own = choice.alternatives.into_iter().find(|one| one.by_hash).expect("its own");
        let own = own.node.expect("a node");
        for (port, first) in sets(&own).into_iter().flatten() {
            assert_eq!(bench.receive(port as usize, 1), [[first, number]]);
            left += 1;
        }
    }
    assert_eq!(count(&mut controller).await, 12);
    assert!(left > 12, "a packet was replicated");
    // No packet has left besides these: the next one is the only one at either port.
    controller.insert([plain(&names, 21)]).await;
    bench.send(1, &[21, 0]);
    assert_eq!(bench.receive(2, 1), [[12, 0]]);
    bench.send(1, &[21, 1]);
    assert_eq!(bench.receive(2, 1), [[13, 1]]);
}

/// Returns an entry whose group has one member, which sends packets to port 2.
fn plain(names: &Names, to: u8) -> Kind {
    let Kind::TableEntry(mut entry) = spread(names, to) else { panic!("an entry") };
    let runs = entry.action.as_mut().and_then(|action| action.r#type.as_mut());
    let Some(v1::table_action::Type::ActionProfileActionSet(set)) = runs else {
        panic!("a one-shot group")
    };
    set.action_profile_actions.truncate(1);
    Kind::TableEntry(entry)
}
