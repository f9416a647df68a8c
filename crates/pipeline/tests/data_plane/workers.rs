//! Tests of workers, and of what the device reports about them.

use bytes::Bytes;
use entities::schema::DigestId;
use entities::{Data, EntityError, Target as _};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity as Kind;
use p4runtime::proto::v1::update::Type;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use p4runtime::status::Code;
use pipeline::{Batch, Event, Heads, InterpreterTarget, Output, Path, TableUsage};
use std::sync::Arc;
use std::time::Duration;

use crate::both::{Both, DEVICE, PROGRAM, compile, config, update};
use crate::written::{T0, exact};

const NOW: Duration = Duration::from_nanos(T0.0);
const PACKET: [u8; 8] = [0, 0, 0, 1, 0, 1, 0, 0];

fn usage(both: &Both, name: &str) -> TableUsage {
    let mut tables = both.ports.table_usage().into_iter();
    tables.find(|table| table.name == name).expect("the table is there")
}

fn enable_digest(both: &mut Both) -> DigestId {
    let id = both.schema.digests().by_name("seen_t").expect("a digest").id;
    let entry =
        v1::DigestEntry { digest_id: id.0, config: Some(v1::digest_entry::Config::default()) };
    let updates = [update(Type::Insert, Kind::DigestEntry(entry))];
    assert_eq!(both.write(&updates, Atomicity::ContinueOnError, T0), [Code::Ok]);
    id
}

#[test]
fn no_packet_leaves_while_no_pipeline_runs() {
    let target = InterpreterTarget::new(Box::new(|_| Err(EntityError::invalid("no program"))));
    let ports = target.ports();
    let (mut worker, mut outputs) = (ports.worker(), Vec::new());
    worker.process(1, &PACKET, NOW, &mut outputs).expect("nothing goes wrong");
    assert!(
        outputs.is_empty() && ports.take_digests().is_empty() && ports.table_usage().is_empty()
    );
    assert_eq!((worker.counts().received, worker.counts().without_output), (1, 1));
}

/// The size in the report is the one that inserts are checked against.
#[test]
fn a_searched_table_reports_the_limit_of_the_switch_if_it_is_smaller() {
    for (limit, expected) in [(4, 4), (100, 6)] {
        let target = InterpreterTarget::new(Box::new(compile)).with_searched_entries(limit);
        let (ports, config) = (target.ports(), config(PROGRAM));
        let schema = Schema::new(config.p4info.expect("P4Info")).expect("valid");
        let mut plane = target.load(schema.objects(), PROGRAM.as_bytes()).expect("runs");
        plane.activate();
        let sizes = |name: &str| {
            let tables = ports.table_usage().into_iter().filter(|table| table.name.contains(name));
            tables.map(|table| table.size).collect::<Vec<_>>()
        };
        assert_eq!((sizes("acl"), sizes("exact_match")), (vec![Some(expected)], vec![Some(5)]));
    }
}

/// Returns a program whose egress runs the statements `reads`, which may read the queue's depths.
fn measured_program(reads: &str) -> String {
    format!(
        r#"
#include <v1model.p4>
header h_t {{ bit<8> enqueued; bit<8> dequeued; }}
struct headers {{ h_t h; }} struct meta {{ }}
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ b.extract(h.h); transition accept; }}
}}
control v(inout headers h, inout meta m) {{ apply {{ }} }}
control i(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ s.egress_spec = 2; }} }}
control e(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ {reads} }} }}
control d(packet_out b, in headers h) {{ apply {{ b.emit(h.h); }} }}
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#
    )
}

#[test]
fn a_program_that_reads_queue_depths_gets_the_number_of_waiting_packets() {
    let reads = "h.h.enqueued = (bit<8>) s.enq_qdepth; if (s.deq_qdepth > 9) { h.h.dequeued = 1; }";
    for path in [Path::Interpreter, Path::Compiled] {
        // The interpreter runs the clone, whose session does not exist.
        let clones = format!("{reads} clone(CloneType.E2E, 5);");
        let programs = [(reads, true), ("", false), (clones.as_str(), true)];
        for (source, asks) in programs.map(|(reads, asks)| (measured_program(reads), asks)) {
            let target = InterpreterTarget::new(Box::new(compile)).on(path);
            let ports = target.ports();
            let registry = Arc::new(PipelineRegistry::new());
            let mut device =
                Device::over(Box::new(target), DEVICE, DeviceOptions::default(), registry);
            device.preload(config(&source)).expect("runs");
            let mut worker = ports.worker();
            assert_eq!(worker.reads_queue_depths(), asks);
            let mut batch = Batch::default();
            for (port, waiting, expected) in
                [(2, 0, [0, 0]), (2, 12, [12, 1]), (3, 99, [12, 1]), (2, 3, [3, 0]), (2, 0, [0, 0])]
            {
                worker.set_waiting(port, waiting);
                worker.process_batch(&[(1, &[0, 0])], NOW, &mut batch);
                let expected = if asks { expected } else { [0, 0] };
                let sent: Vec<_> = batch.sent().collect();
                assert_eq!(sent, [(0, 2, &expected[..])], "{path:?}");
            }
        }
    }
}

/// A pipeline that is committed after packets were cut may need more bytes of them.
#[test]
fn packet_heads_run_only_on_a_pipeline_that_needs_no_more_bytes() {
    for path in [Path::Interpreter, Path::Compiled] {
        let target = InterpreterTarget::new(Box::new(compile)).on(path);
        let ports = target.ports();
        let registry = Arc::new(PipelineRegistry::new());
        let mut device = Device::over(Box::new(target), DEVICE, DeviceOptions::default(), registry);
        let (mut worker, mut batch) = (ports.worker(), Batch::default());
        assert_eq!(worker.head_bytes(), None);
        let heads = Heads { packets: &[(1, &[7, 8])], beyond: &[100] };
        assert!(!worker.process_heads(heads, 2, NOW, &mut batch));
        let counts = "h.h.enqueued = (bit<8>) s.packet_length;";
        let longer = measured_program(counts).replace("bit<8> dequeued;", "bit<16> dequeued;");
        let queues = measured_program("h.h.enqueued = (bit<8>) s.enq_qdepth;");
        for (source, needed) in
            [(measured_program(counts), Some(2)), (longer, Some(3)), (queues, None)]
        {
            device.preload(config(&source)).expect("runs");
            assert_eq!(worker.process_heads(heads, 2, NOW, &mut batch), needed == Some(2));
            assert_eq!(worker.head_bytes(), needed);
        }
        // The packet has 102 bytes, of which two are given. It was processed once.
        assert_eq!(batch.sent().collect::<Vec<_>>(), [(0, 2, &[102, 8][..])], "{path:?}");
        assert_eq!(worker.counts().received, 1);
    }
}

#[test]
fn a_worker_sees_written_entries_and_appends_its_outputs() {
    let mut both = Both::new();
    let mut worker = both.ports.worker();
    let mut outputs = vec![Output { port: 99, packet: vec![1], generation: 0 }];
    worker.process(1, &PACKET, NOW, &mut outputs).expect("runs");
    assert_eq!(outputs.len(), 1, "the routes' default action drops it");

    let entry = exact(&both, 1, 1, 6);
    let insert = [update(Type::Insert, Kind::TableEntry(entry))];
    assert_eq!(both.write(&insert, Atomicity::ContinueOnError, T0), [Code::Ok]);
    let mut events: Vec<Event> = Vec::new();
    worker.process_traced(1, &PACKET, NOW, &mut events, &mut outputs).expect("runs");
    assert_eq!((outputs.len(), outputs[0].port, outputs[1].port), (2, 99, 6));
    assert!(events.iter().any(|event| matches!(event, Event::Hit { .. })));

    let counts = both.ports.packet_counts();
    assert_eq!((counts.received, counts.without_output, counts.errors.len()), (2, 1, 0));
    let used = usage(&both, "I.exact_match");
    assert_eq!((used.entries, used.size, used.hits, used.misses), (1, Some(5), 1, 1));
    assert_eq!(usage(&both, "I.fixed").misses, 1);
}

#[test]
fn a_member_whose_port_is_down_is_skipped_on_the_next_pipeline_too() {
    let mut both = Both::new();
    let profile = both.schema.action_profiles().by_name("I.chosen").expect("there").id.0;
    let member = |id: u32| {
        let param = v1::action::Param { param_id: 1, value: Bytes::copy_from_slice(&[id as u8]) };
        let action = v1::Action { action_id: both.action("forward"), params: vec![param] };
        let member = v1::ActionProfileMember {
            action_profile_id: profile,
            member_id: id,
            action: Some(action),
        };
        update(Type::Insert, Kind::ActionProfileMember(member))
    };
    let group = v1::ActionProfileGroup {
        action_profile_id: profile,
        group_id: 1,
        members: [3, 4]
            .map(|id| v1::action_profile_group::Member {
                member_id: id,
                weight: 1,
                watch_kind: Some(v1::action_profile_group::member::WatchKind::WatchPort(
                    Bytes::copy_from_slice(&[id as u8]),
                )),
            })
            .to_vec(),
        max_size: 0,
    };
    let mut entry = exact(&both, 0, 0, 0);
    entry.table_id = both.table("by_group");
    entry.r#match.truncate(1);
    let by_group = v1::table_action::Type::ActionProfileGroupId(1);
    entry.action = Some(v1::TableAction { r#type: Some(by_group) });
    let updates = [
        member(3),
        member(4),
        update(Type::Insert, Kind::ActionProfileGroup(group)),
        update(Type::Insert, Kind::TableEntry(entry)),
    ];
    assert_eq!(both.write(&updates, Atomicity::ContinueOnError, T0), [Code::Ok; 4]);

    let mut worker = both.ports.worker();
    let mut ports = |both: &Both, down: Option<u32>| {
        if let Some(down) = down {
            both.ports.set_port_up(down, false);
        }
        let mut outputs = Vec::new();
        for flow in 0..32 {
            let packet = [0, 0, 0, 9, 0, flow, 0, 0];
            worker.process(1, &packet, NOW, &mut outputs).expect("runs");
        }
        let mut ports: Vec<u32> = outputs.into_iter().map(|output| output.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    };
    assert_eq!(ports(&both, None), [3, 4]);
    assert_eq!(ports(&both, Some(3)), [4]);
    both.each(|device| {
        device.preload(crate::both::config(crate::both::PROGRAM)).expect("runs");
    });
    assert_eq!(both.write(&updates, Atomicity::ContinueOnError, T0), [Code::Ok; 4]);
    assert_eq!(ports(&both, None), [4]);
    both.ports.set_port_up(3, true);
    assert_eq!(ports(&both, Some(4)), [3]);
}

#[test]
fn enabled_digests_are_reported_as_data_of_entities() {
    let mut both = Both::new();
    let entry = exact(&both, 1, 1, 6);
    let insert = [update(Type::Insert, Kind::TableEntry(entry))];
    assert_eq!(both.write(&insert, Atomicity::ContinueOnError, T0), [Code::Ok]);
    let (mut worker, mut outputs) = (both.ports.worker(), Vec::new());
    worker.process(1, &PACKET, NOW, &mut outputs).expect("runs");
    assert_eq!(both.ports.take_digests(), [], "no controller wants it");

    let id = enable_digest(&mut both);
    worker.process(1, &PACKET, NOW, &mut outputs).expect("runs");
    let bits = |byte: u8| Data::Bits(Box::from([byte]));
    assert_eq!(both.ports.take_digests(), [(id, Data::Struct(vec![bits(1), bits(1)]))]);
    assert_eq!(both.ports.take_digests(), []);
}

#[test]
fn digests_beyond_the_limit_are_dropped_and_counted() {
    let mut both = Both::new();
    let entry = exact(&both, 1, 1, 6);
    let insert = [update(Type::Insert, Kind::TableEntry(entry))];
    assert_eq!(both.write(&insert, Atomicity::ContinueOnError, T0), [Code::Ok]);
    enable_digest(&mut both);
    let (mut worker, mut outputs) = (both.ports.worker(), Vec::new());
    let room = 1 << 16;
    for _ in 0..room + 3 {
        worker.process(1, &PACKET, NOW, &mut outputs).expect("runs");
        outputs.clear();
    }
    assert_eq!(both.ports.digests_dropped(), 3);
    assert_eq!(both.ports.take_digests().len(), room);
}

#[test]
fn a_worker_learns_whether_the_control_plane_has_changed_the_state() {
    let mut both = Both::new();
    let mut worker = both.ports.worker();
    assert_eq!(worker.control_changes(), None, "no program was adopted");
    worker.adopt_program();
    let changes = |worker: &pipeline::Worker| worker.control_changes().expect("a program");
    let start = changes(&worker);
    worker.process(1, &PACKET, NOW, &mut Vec::new()).expect("it runs");
    assert!(start.nothing_changed_until(changes(&worker)), "packets are not counted");
    let entry = exact(&both, 1, 1, 6);
    let updates = [update(Type::Insert, Kind::TableEntry(entry))];
    assert_eq!(both.write(&updates, Atomicity::ContinueOnError, T0), [Code::Ok]);
    assert!(!start.nothing_changed_until(changes(&worker)));
    let written = changes(&worker);
    both.ports.set_port_up(3, false);
    assert!(!written.nothing_changed_until(changes(&worker)));
}
