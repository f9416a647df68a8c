//! Tests of packets between ports, and between ports and controllers.

use crate::support::{Bench, Controller, Names, PROGRAM, TIMEOUT};
use p4runtime::proto::v1::{self, entity::Entity as Kind, stream_message_response::Update};

#[tokio::test]
async fn packets_go_where_entries_say() {
    let mut bench = Bench::new(3);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    let group = v1::MulticastGroupEntry {
        multicast_group_id: 5,
        replicas: [2, 3].map(replica).to_vec(),
        ..Default::default()
    };
    let replication = v1::PacketReplicationEngineEntry {
        r#type: Some(v1::packet_replication_engine_entry::Type::MulticastGroupEntry(group)),
    };
    let kinds = [
        names.entry(20, "forward", &[2]),
        Kind::PacketReplicationEngineEntry(replication),
        names.entry(99, "multicast", &[5]),
    ];
    controller.insert(kinds).await;

    bench.send(1, &[20, 1, 0xaa]);
    assert_eq!(bench.receive(2, 1), [[20, 1, 0xaa]]);
    bench.send(1, &[99, 1]);
    assert_eq!((bench.receive(2, 1), bench.receive(3, 1)), (vec![vec![99, 1]], vec![vec![99, 1]]));
    let activity = bench.switch.state()[0].activity;
    assert_eq!((activity.controllers, activity.writes, activity.no_such_port), (1, 3, 0));
}

fn replica(port: u32) -> v1::Replica {
    let port_kind = v1::replica::PortKind::EgressPort(port);
    v1::Replica { instance: 1, port_kind: Some(port_kind), ..Default::default() }
}

#[tokio::test]
async fn a_miss_is_a_packet_in_with_its_header_taken_off() {
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    bench.send(2, &[1, 2, 3, 4]);
    let packet = loop {
        if let Some(Update::Packet(packet)) = controller.next_update().await {
            break packet;
        }
    };
    assert_eq!(packet.payload, [1, 2, 3, 4][..]);
    let metadata: Vec<_> =
        packet.metadata.iter().map(|one| (one.metadata_id, one.value.to_vec())).collect();
    assert_eq!(metadata, [(1, vec![2]), (2, vec![0])]);
}

#[tokio::test]
async fn a_packet_out_leaves_through_the_port_that_its_header_names() {
    let mut bench = Bench::new(2);
    let controller = Controller::with(&bench.switch, PROGRAM).await;
    let packets = (0..100_u8).map(|number| v1::PacketOut {
        payload: vec![7, number].into(),
        metadata: vec![v1::PacketMetadata { metadata_id: 1, value: vec![2].into() }],
    });
    assert_eq!(controller.sender.packet_outs(packets), 100);
    let left = bench.receive(2, 100);
    assert!(left.iter().enumerate().all(|(number, packet)| *packet == [7, number as u8]));
}

#[tokio::test]
async fn digests_are_sent_when_they_are_enabled_and_once_until_acknowledged() {
    let mut bench = Bench::new(1);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let digest_id = Names::new().digest();
    let config = v1::digest_entry::Config {
        max_timeout_ns: 0,
        max_list_size: 1,
        ack_timeout_ns: 60_000_000_000,
    };
    let entry = v1::DigestEntry { digest_id, config: Some(config) };
    controller.insert([Kind::DigestEntry(entry)]).await;
    for station in [3, 3, 4] {
        bench.send(1, &[1, station]);
    }
    let mut received = Vec::new();
    while received.len() < 2 {
        if let Some(Update::Digest(list)) = controller.next_update().await {
            received.extend(list.data.iter().map(first_byte));
        }
    }
    assert_eq!(received, [3, 4]);
}

fn first_byte(data: &v1::P4Data) -> u8 {
    let Some(v1::p4_data::Data::Struct(fields)) = &data.data else { panic!("{data:?}") };
    match &fields.members[0].data {
        Some(v1::p4_data::Data::Bitstring(value)) => value[0],
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn packets_are_in_the_log_on_request() {
    let (mut bench, log) = Bench::logging(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    bench.send(1, &[20, 7, 9]);
    assert_eq!(bench.receive(2, 1), [[20, 7, 9]]);
    let text = log.text();
    assert!(text.contains("[I] device 7: received 3 bytes on port 1: 1407\n"), "{text}");
    assert!(text.contains("[I] device 7: transmitting 3 bytes out of port 2: 1407\n"), "{text}");
}

/// The v1model specification says: "The clock is set to 0 every time the switch starts".
#[tokio::test]
async fn time_stamps_count_microseconds_since_the_start() {
    let mut bench = Bench::new(2);
    let start = std::time::Instant::now();
    let source =
        PROGRAM.replace("bit<8> to; bit<8> from;", "bit<8> to; bit<8> from; bit<48> time;");
    let source = source
        .replace("stations.apply();", "h.h.time = s.ingress_global_timestamp; s.egress_spec = 2;");
    let _controller = Controller::with(&bench.switch, &source).await;
    bench.send(1, &[0; 8]);
    let left = bench.receive(2, 1);
    let stamp = left[0][2..8].iter().fold(0_u128, |stamp, byte| stamp << 8 | u128::from(*byte));
    // The switch started a little before `start`.
    assert!(stamp > 0 && stamp < start.elapsed().as_micros() + TIMEOUT.as_micros(), "{stamp}");
}

impl Controller {
    /// Returns the next message from the switch.
    pub(crate) async fn next_update(&mut self) -> Option<Update> {
        let next = tokio::time::timeout(TIMEOUT, self.receiver.next()).await;
        next.expect("it comes in time").expect("the stream goes on")
    }
}

#[tokio::test]
async fn the_trace_of_each_packet_is_written_before_it_leaves() {
    let (mut bench, written) = Bench::tracing(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    for number in 1..=3 {
        bench.send(1, &[20, 7, number]);
        assert_eq!(bench.receive(2, 1), [[20, 7, number]]);
        let traces = traces::read(written.text().as_bytes()).expect("traces");
        assert_eq!(traces.len(), usize::from(number));
        let last = traces.last().expect("a trace");
        assert_eq!((&*last.origin, last.port), ("device 7", 1));
        assert_eq!(last.packet, [20, 7, number][..]);
        let text = traces::text(last, false);
        assert!(text.contains("stations  #1 to=0x14  forward(port = 0x2)\n"), "{text}");
        assert!(text.contains("  port 2, 3 bytes\n"), "{text}");
    }
}
