//! Tests of a switch without ports and threads, alone and while controllers drive it.

use crate::support::{CPU_PORT, Controller, DEVICE, Names, PROGRAM, pushed};
use entities::plain::{self, Plain, PlainMatch};
use entities::schema::Table;
use entities::{Entity, EntryKey, EntrySelection, MatchKey, Selection, TableAction, TableEntry};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, Update, stream_message_response::Update as Response, update::Type,
    write_request::Atomicity,
};
use pipeline::Path;
use softswitch::V1ModelSettings;
use softswitch::in_process::{Event, InProcessConfig, InProcessSwitch, Passing};
use std::time::Duration;

const ROUTER: &str = include_str!("../../../../programs/router.p4");
const LEARNING: &str = include_str!("../../../../programs/learning_switch.p4");

fn switch(source: &str, path: Path) -> InProcessSwitch {
    let v1model = V1ModelSettings::default();
    let config = InProcessConfig { id: DEVICE, path, seed: 0, cpu_port: CPU_PORT, v1model };
    InProcessSwitch::new(config, pushed(source)).expect("it runs")
}

/// Returns the insertion of an entry that is written with names and plain values.
fn entry(
    switch: &InProcessSwitch,
    table: &str,
    field: (&str, &str),
    action: &str,
    arguments: &[(&str, &str)],
) -> Update {
    let pipeline = switch.pipeline().expect("it has one");
    let schema: &Schema = pipeline.schema();
    let table: &Table =
        entities::names::find("table", table, schema.tables().iter()).expect("it has it");
    let matched = PlainMatch::One(Plain::text(field.1));
    let fields = plain::key(&table.match_fields, [(field.0, matched)]).expect("it fits");
    let arguments = arguments.iter().map(|(name, value)| (*name, Plain::text(value)));
    let call = plain::call(schema, &table.actions, action, arguments).expect("it fits");
    let key = EntryKey::Match(MatchKey { fields: fields.into(), priority: 0 });
    let entry =
        TableEntry { action: Some(TableAction::Call(call)), ..TableEntry::new(table.id, key) };
    let entity = Some(p4runtime::entity_message(&Entity::Entry(entry)));
    Update { r#type: Type::Insert as i32, entity }
}

fn write(switch: &InProcessSwitch, updates: &[Update]) {
    let outcomes = switch.write(updates, Atomicity::ContinueOnError).expect("it has a pipeline");
    outcomes.into_iter().collect::<Result<(), _>>().expect("all of it is right");
}

/// Returns a router with routes of several lengths, and a neighbour on each of four ports.
fn router(path: Path) -> InProcessSwitch {
    let switch = switch(ROUTER, path);
    let port = |port: u8| format!("{port}");
    let mut updates = Vec::new();
    for to in 1..=4_u8 {
        let hop = format!("192.168.0.{to}");
        let prefix = format!("10.{to}.0.0/{}", 12 + to);
        let arguments = [("next_hop", hop.as_str()), ("port", &port(to))];
        updates.push(entry(&switch, "routes", ("destination", &prefix), "via", &arguments));
        let station = format!("00:00:00:00:00:b{to}");
        let arguments = [("destination", station.as_str())];
        let neighbour =
            entry(&switch, "neighbours", ("next_hop", &hop), "to_neighbour", &arguments);
        updates.push(neighbour);
    }
    write(&switch, &updates);
    switch
}

/// Returns an IPv4 packet to an address, with a correct header checksum unless `wrong` is set.
fn ipv4(to: u32, ttl: u8, wrong: bool) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 24, 0, 0, 0, 0, ttl, 17, 0, 0, 172, 16, 0, 1];
    header.extend(to.to_be_bytes());
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) + u32::from(wrong);
    header[10..12].copy_from_slice(&checksum.to_be_bytes()[2..]);
    let ethernet = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0];
    [&ethernet[..], &header, &to.to_be_bytes()].concat()
}

fn packets() -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(7);
    let packet = |_| {
        let to = 0x0a00_0000 | random.u32(0..6) << 16 | random.u32(0..1 << 16);
        ipv4(to, random.u8(1..4), random.u8(0..8) == 0)
    };
    (0..2000).map(packet).collect()
}

#[test]
fn machine_code_in_batches_is_the_interpreter_packet_by_packet() {
    let (code, oracle) = (router(Path::Compiled), router(Path::Interpreter));
    let packets = packets();
    let arriving: Vec<(u32, &[u8])> = packets.iter().map(|packet| (1, &packet[..])).collect();
    let mut left = Vec::new();
    let errors = code.process_batch(&arriving, &mut |cause, port, packet| {
        left.push((cause, port, packet.to_vec()));
    });
    assert_eq!(errors, []);
    let mut expected = Vec::new();
    for (cause, (port, packet)) in arriving.iter().enumerate() {
        let outputs = oracle.process(*port, packet).expect("it runs");
        expected.extend(outputs.into_iter().map(|output| (cause, output.port, output.packet)));
    }
    assert_eq!(left, expected);
    // Both kinds of packets occur: those that leave, and those for the controller.
    let (events, expected) = (code.take_events(), oracle.take_events());
    assert!(left.len() > 100 && events.len() > 100, "{} {}", left.len(), events.len());
    assert_eq!(events, expected);
    let reading = |switch: &InProcessSwitch| {
        let pipeline = switch.pipeline().expect("it has one");
        let tables = pipeline.schema().tables().iter();
        let read = |table: &Table| {
            let selection = Selection::Entries(EntrySelection::all(table.id));
            switch.read(&selection).expect("it reads")
        };
        tables.flat_map(read).collect::<Vec<_>>()
    };
    // The direct counters of routes have counted.
    let entries = reading(&code);
    assert_eq!(entries, reading(&oracle));
    let counted = entries.iter().any(|entry| {
        matches!(entry, Entity::Entry(entry) if entry.counter.is_some_and(|data| data.packets > 0))
    });
    assert!(counted);
}

#[test]
fn a_batch_that_stops_between_bursts_can_be_continued() {
    let (stopping, oracle) = (router(Path::Compiled), router(Path::Compiled));
    let packets = packets();
    let arriving: Vec<(u32, &[u8])> = packets.iter().map(|packet| (1, &packet[..])).collect();
    let mut expected = Vec::new();
    oracle.process_batch(&arriving, &mut |cause, port, packet| {
        expected.push((cause, port, packet.to_vec()));
    });
    let mut left = Vec::new();
    let (mut done, mut stops): (usize, usize) = (0, 0);
    while done < arriving.len() {
        let mut leave = |cause: usize, port: u32, packet: &[u8]| {
            left.push((done + cause, port, packet.to_vec()));
        };
        let mut looks = 0;
        let mut is_third = || {
            looks += 1;
            looks == 3
        };
        let now = stopping.now();
        let rest = &arriving[done..];
        let processed = stopping.process_batch_until(now, rest, &mut leave, &mut is_third);
        assert_eq!(processed.errors, []);
        assert!(0 < processed.count && processed.count < packets.len());
        done += processed.count;
        stops += 1;
    }
    assert!(done == packets.len() && stops > 2, "{done} {stops}");
    assert_eq!(left, expected);
    assert_eq!(stopping.take_events(), oracle.take_events());
}

#[test]
fn a_tried_packet_leaves_no_trace_in_the_state() {
    let switch = router(Path::Compiled);
    let contents = traces::Contents::default();
    let packet = ipv4(0x0a01_0203, 9, false);
    let tried = switch.trace(1, &packet, contents, traces::Effects::None);
    assert_eq!(tried.outputs.expect("it runs").len(), 1);
    let packet_in = ipv4(0x0a01_0203, 1, false);
    let tried = switch.trace(1, &packet_in, contents, traces::Effects::None);
    assert_eq!((tried.outputs.expect("it runs"), switch.take_events()), (Vec::new(), Vec::new()));
    let lasting = switch.trace(1, &packet_in, contents, traces::Effects::Lasting);
    assert!(lasting.outputs.expect("it runs").is_empty());
    assert_eq!(switch.take_events().len(), 1);
}

#[test]
fn time_passes_only_when_it_is_advanced() {
    let switch = switch(LEARNING, Path::Interpreter);
    let station = "00:00:00:00:00:05";
    let mut update = entry(&switch, "sources", ("source", station), "at_port", &[("port", "1")]);
    let Some(v1::entity::Entity::TableEntry(entry)) =
        update.entity.as_mut().and_then(|entity| entity.entity.as_mut())
    else {
        panic!("it is an entry")
    };
    entry.idle_timeout_ns = 2_000_000_000;
    write(&switch, &[update]);
    let idle = || {
        let events = switch.take_events().into_iter();
        events.filter(|event| matches!(event, Event::Idle(_))).count()
    };
    switch.advance(Duration::from_millis(1999)).expect("nobody serves it");
    assert_eq!(idle(), 0);
    // A packet restarts the timeout.
    switch.process(1, &[0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 5, 8, 0]).expect("it runs");
    switch.advance(Duration::from_secs(1)).expect("nobody serves it");
    assert_eq!(idle(), 0);
    switch.advance(Duration::from_secs(1)).expect("nobody serves it");
    assert_eq!(idle(), 1);
    assert_eq!(switch.now(), Duration::from_millis(3999));
    // A long advance notifies at each timeout.
    switch.advance(Duration::from_secs(10)).expect("nobody serves it");
    assert_eq!(idle(), 5);
}

#[tokio::test]
async fn a_controller_drives_the_same_switch() {
    let switch = switch(PROGRAM, crate::PATH);
    let served = switch.serve("127.0.0.1:0".parse().expect("an address"), Passing::Virtual);
    let served = served.expect("it serves");
    let again = switch.serve("127.0.0.1:0".parse().expect("an address"), Passing::Virtual);
    assert_eq!(again.expect_err("it is served").to_string(), "the switch is served already");
    let mut controller = Controller::at(&served.address().to_string(), DEVICE, 1).await;
    let names = Names::new();
    controller.insert([names.entry(20, "forward", &[2])]).await;
    let outputs = switch.process(1, &[20, 1]).expect("it runs");
    assert_eq!(outputs.iter().map(|output| output.port).collect::<Vec<_>>(), [2]);
    // The controller reads the entries that the owner writes.
    write(&switch, &[entry(&switch, "stations", ("to", "21"), "forward", &[("port", "3")])]);
    let all = v1::Entity {
        entity: Some(v1::entity::Entity::TableEntry(v1::TableEntry {
            table_id: names.table(),
            ..Default::default()
        })),
    };
    assert_eq!(controller.client.read(vec![all]).await.expect("it reads").len(), 2);
    // A packet-in goes to the controller and to the owner.
    assert!(switch.process(2, &[1, 2, 3]).expect("it runs").is_empty());
    let packet = loop {
        if let Some(Response::Packet(packet)) = controller.next_update().await {
            break packet;
        }
    };
    assert_eq!(packet.payload, [1, 2, 3][..]);
    let events = switch.take_events();
    let [Event::PacketIn { payload, metadata }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((payload, metadata), (&packet.payload, &packet.metadata));
    // A packet-out leaves by its port.
    let metadata = [(1, 3_u8), (2, 0)]
        .map(|(metadata_id, value)| v1::PacketMetadata { metadata_id, value: vec![value].into() });
    let packet = v1::PacketOut { payload: vec![9, 9].into(), metadata: metadata.to_vec() };
    controller.sender.packet_outs([packet]);
    let sent = loop {
        if let Some(sent) = switch.take_events().pop() {
            break sent;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert_eq!(sent, Event::Sent { port: 3, packet: vec![9, 9].into() });
    switch.advance(Duration::from_secs(1)).expect("time is virtual");
    drop(served);
    let wall = switch.serve("127.0.0.1:0".parse().expect("an address"), Passing::Wall);
    let wall = wall.expect("the first has ended");
    assert!(switch.advance(Duration::from_secs(1)).is_err());
    drop(wall);
    assert!(switch.now() >= Duration::from_secs(1));
}
