//! Tests of ports as strings where P4Runtime names ports: in programs whose own v1model translates
//! the type of ports, for keys, parameters, replicas, clone sessions and watched ports.

use crate::support::{Bench, Controller, DEVICE, TIMEOUT, pushed};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, packet_replication_engine_entry::Type as Replication,
    replica::PortKind, stream_message_response::Update as Response,
};
use std::sync::Arc;

/// A program on a v1model whose ports have 32 bits and are strings for controllers.
fn source() -> String {
    let known = p4lang::arch::file("v1model.p4").expect("it is built in").text();
    let ports = "@p4runtime_translation(\"\", string) type bit<32> PortId_t;";
    let own = known.replace("typedef bit<9>  PortId_t;", ports);
    assert_ne!(own, known);
    PROGRAM.replace("#include <v1model.p4>", &own)
}

const PROGRAM: &str = r#"
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header h_t { bit<8> to; bit<8> tag; }
@controller_header("packet_in") header packet_in_t {
    PortId_t ingress_port; bit<8> reason; PortId_t target; }
@controller_header("packet_out") header packet_out_t { bit<8> pad; PortId_t egress_port; }
struct headers { packet_out_t packet_out; packet_in_t packet_in; h_t h; }
struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        transition select((bit<32>) s.ingress_port) { 255: of_controller; default: body; }
    }
    state of_controller { b.extract(h.packet_out); transition body; }
    state body { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    action send(PortId_t port) { s.egress_spec = port; }
    action copy() { s.egress_spec = (PortId_t) 2; clone(CloneType.I2E, 9); }
    action flood() { s.mcast_grp = 1; }
    action ask(PortId_t target) {
        s.egress_spec = (PortId_t) 255;
        h.packet_in.setValid();
        h.packet_in.ingress_port = s.ingress_port;
        h.packet_in.reason = 6;
        h.packet_in.target = target;
    }
    action_selector(HashAlgorithm.crc16, 16, 8) selector;
    table by_port {
        key = { s.ingress_port: exact @name("port"); h.h.to: exact @name("to"); }
        actions = { send; copy; flood; ask; NoAction; }
    }
    table balanced {
        key = { h.h.to: exact @name("to"); h.h.tag: selector; }
        actions = { send; NoAction; }
        implementation = selector;
    }
    apply {
        if (h.packet_out.isValid()) {
            s.egress_spec = h.packet_out.egress_port;
            h.packet_out.setInvalid();
        } else if (!by_port.apply().hit) {
            balanced.apply();
        }
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.packet_in); b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

struct Ids(Arc<Schema>);

impl Ids {
    fn action(&self, name: &str, argument: Option<&'static str>) -> v1::Action {
        let action_id = self.0.actions().by_name(name).expect(name).id.0;
        let params = argument.map(|text| v1::action::Param { param_id: 1, value: text.into() });
        v1::Action { action_id, params: params.into_iter().collect() }
    }

    fn entry(&self, table: &str, key: &[&'static [u8]], action: v1::table_action::Type) -> Kind {
        let fields = (1..).zip(key).map(|(field_id, value)| {
            let exact = v1::field_match::Exact { value: (*value).into() };
            let field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
            v1::FieldMatch { field_id, field_match_type }
        });
        Kind::TableEntry(v1::TableEntry {
            table_id: self.0.tables().by_name(table).expect(table).id.0,
            r#match: fields.collect(),
            action: Some(v1::TableAction { r#type: Some(action) }),
            ..Default::default()
        })
    }

    fn by_port(&self, port: &'static str, to: &'static [u8], action: v1::Action) -> Kind {
        let action = v1::table_action::Type::Action(action);
        self.entry("by_port", &[port.as_bytes(), to], action)
    }
}

async fn started() -> (Bench, Controller, Ids) {
    let source = source();
    let bench = Bench::new(4);
    let controller = Controller::with(&bench.switch, &source).await;
    let schema = Schema::new(pushed(&source).p4info.expect("it has one")).expect("it is right");
    (bench, controller, Ids(schema))
}

fn replica(port: &'static str, instance: u32) -> v1::Replica {
    let port_kind = Some(PortKind::Port(port.as_bytes().into()));
    v1::Replica { port_kind, instance, ..Default::default() }
}

fn replication(of: Replication) -> Kind {
    Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(of) })
}

async fn read(controller: &mut Controller, entity: Kind) -> Vec<Kind> {
    let found = controller.client.read(vec![v1::Entity { entity: Some(entity) }]).await;
    found.expect("it can be read").into_iter().filter_map(|entity| entity.entity).collect()
}

#[tokio::test]
async fn replicas_and_clones_go_to_the_ports_that_strings_name() {
    let (mut bench, mut controller, ids) = started().await;
    // Ports have a name as well as a number.
    let named = "port4-a";
    let group = replication(Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: vec![replica("2", 1), replica(named, 1)],
        ..Default::default()
    }));
    let session = replication(Replication::CloneSessionEntry(v1::CloneSessionEntry {
        session_id: 9,
        replicas: vec![replica("3", 0)],
        ..Default::default()
    }));
    let entries = [
        ids.by_port("1", &[1], ids.action("flood", None)),
        ids.by_port("1", &[2], ids.action("copy", None)),
        ids.by_port("1", &[3], ids.action("send", Some(named))),
    ];
    controller.insert([group.clone(), session.clone()]).await;
    controller.insert(entries.clone()).await;
    bench.send(1, &[1, 0]);
    assert_eq!((bench.receive(2, 1), bench.receive(4, 1)), (vec![vec![1, 0]], vec![vec![1, 0]]));
    bench.send(1, &[2, 0]);
    assert_eq!((bench.receive(2, 1), bench.receive(3, 1)), (vec![vec![2, 0]], vec![vec![2, 0]]));
    bench.send(1, &[3, 0]);
    assert_eq!(bench.receive(4, 1), [[3, 0]]);
    for written in [group, session].into_iter().chain(entries) {
        assert_eq!(read(&mut controller, written.clone()).await, [written]);
    }
    let translations = bench.switch.translations(DEVICE).expect("a program runs");
    let numbers: Vec<_> = translations.assigned().into_iter().map(|pair| pair.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "strings of ports have the numbers of the ports");
}

/// P4Runtime 1.5, section 9.5.1: the most preferred port that is up gets the copy.
#[tokio::test]
async fn backups_take_the_place_of_replicas_whose_ports_are_down() {
    let (mut bench, mut controller, ids) = started().await;
    let backup =
        |port: &'static str, instance| v1::BackupReplica { port: port.as_bytes().into(), instance };
    let backed = v1::Replica {
        backup_replicas: vec![backup("3", 5), backup("port4-a", 6)],
        ..replica("2", 1)
    };
    let group = replication(Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: vec![backed.clone()],
        ..Default::default()
    }));
    let session = replication(Replication::CloneSessionEntry(v1::CloneSessionEntry {
        session_id: 9,
        replicas: vec![backed],
        ..Default::default()
    }));
    // A port that is down when the group is written is known to be down.
    bench.switch.set_port_link(DEVICE, 2, false);
    controller.insert([group.clone(), session.clone()]).await;
    controller
        .insert([
            ids.by_port("1", &[1], ids.action("flood", None)),
            ids.by_port("1", &[2], ids.action("copy", None)),
        ])
        .await;
    for (port, is_up, receiver) in [(2, false, 3), (3, false, 4), (3, true, 3), (2, true, 2)] {
        bench.switch.set_port_link(DEVICE, port, is_up);
        bench.send(1, &[1, 0]);
        assert_eq!(bench.receive(receiver, 1), [[1, 0]], "port {port} is up: {is_up}");
    }
    // The packet itself goes to port 2, and its copy to the same port or a backup.
    bench.send(1, &[2, 0]);
    assert_eq!(bench.receive(2, 2), [[2, 0], [2, 0]]);
    bench.switch.set_port_link(DEVICE, 2, false);
    bench.send(1, &[2, 0]);
    assert_eq!(bench.receive(3, 1), [[2, 0]]);
    for written in [group, session] {
        assert_eq!(read(&mut controller, written.clone()).await, [written]);
    }
}

#[tokio::test]
async fn members_that_watch_a_port_by_its_string_follow_its_link() {
    let (mut bench, mut controller, ids) = started().await;
    let member = |port: &'static str| v1::ActionProfileAction {
        action: Some(ids.action("send", Some(port))),
        weight: 1,
        watch_kind: Some(v1::action_profile_action::WatchKind::WatchPort(port.as_bytes().into())),
    };
    let set = v1::ActionProfileActionSet {
        action_profile_actions: vec![member("2"), member("3")],
        ..Default::default()
    };
    let one_shot = v1::table_action::Type::ActionProfileActionSet(set);
    let entry = ids.entry("balanced", &[&[7]], one_shot);
    controller.insert([entry.clone()]).await;
    assert_eq!(read(&mut controller, entry.clone()).await, [entry]);
    for (down, up) in [(3, 2), (2, 3)] {
        bench.switch.set_port_link(DEVICE, down, false);
        for tag in 0..16 {
            bench.send(1, &[7, tag]);
        }
        assert_eq!(bench.receive(up as usize, 16).len(), 16);
        bench.switch.set_port_link(DEVICE, down, true);
    }
}

#[tokio::test]
async fn packets_of_controllers_name_ports_of_32_bits() {
    let (mut bench, log) = Bench::logging(4);
    let source = source();
    let mut controller = Controller::with(&bench.switch, &source).await;
    let ids = Ids(Schema::new(pushed(&source).p4info.expect("one")).expect("it is right"));
    // No port has this number, and the string gets the least number that no port has.
    let ask = ids.by_port("1", &[5], ids.action("ask", Some("Ethernet100")));
    controller.insert([ask]).await;
    let logged = log.text();
    let warning = "no port is called 'Ethernet100', which has the number 0 of type 'PortId_t' now;";
    assert!(logged.contains(warning), "{logged}");
    assert_eq!(logged.matches("no port is called").count(), 1, "port 1 is there: {logged}");
    bench.send(1, &[5, 5]);
    let next = tokio::time::timeout(TIMEOUT, controller.receiver.next()).await;
    let Ok(Some(Response::Packet(packet))) = next.expect("in time") else { panic!("no packet") };
    let metadata =
        |metadata_id, value: &'static [u8]| v1::PacketMetadata { metadata_id, value: value.into() };
    let expected = [metadata(1, b"1"), metadata(2, &[6]), metadata(3, b"Ethernet100")];
    assert_eq!((packet.metadata, &packet.payload[..]), (expected.to_vec(), &[5, 5][..]));
    let out = |port| v1::PacketOut {
        payload: (&[9, 9][..]).into(),
        metadata: vec![metadata(1, &[0]), metadata(2, port)],
    };
    assert_eq!(controller.sender.packet_outs([out(b"3"), out(b"port2-a")]), 2);
    assert_eq!((bench.receive(3, 1), bench.receive(2, 1)), (vec![vec![9, 9]], vec![vec![9, 9]]));
}

/// BMv2 JSON has no types: P4Info alone says which values are strings, and the fields of the
/// controller headers say that they are ports.
#[tokio::test]
async fn programs_from_bmv2_json_have_the_types_of_p4info() {
    let json = include_str!("../../../../conformance/pipelines/forward.json");
    let text = include_str!("../../../../conformance/pipelines/forward.p4info.txtpb");
    let text =
        text.replace("name: \"port\" bitwidth: 9", "name: \"port\" type_name { name: \"p\" }");
    let types = "controller_packet_metadata {
          preamble { id: 0x04000001 name: \"packet_in\" }
          metadata { id: 1 name: \"ingress_port\" type_name { name: \"p\" } }
        }
        type_info { new_types { key: \"p\" value { translated_type { sdn_string { } } } } }";
    let p4info = p4runtime::p4info::text::parse(&format!("{text}\n{types}")).expect("it is right");
    let schema = Schema::new(p4info.clone()).expect("it is right");
    let mut bench = Bench::new(3);
    let mut controller = Controller::of(&bench.switch, 1).await;
    let pipeline = v1::ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: json.into(),
        ..Default::default()
    };
    let action = v1::set_forwarding_pipeline_config_request::Action::VerifyAndCommit;
    controller.client.set_pipeline(action, Some(pipeline)).await.expect("the switch runs it");
    let ids = Ids(schema);
    let forward = v1::table_action::Type::Action(ids.action("forward", Some("port3-a")));
    let entry = ids.entry("stations", &[&[0xaa]], forward);
    let group = replication(Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: vec![replica("2", 1)],
        ..Default::default()
    }));
    controller.insert([entry.clone(), group]).await;
    let packet = [0, 0, 0, 0, 0, 0xaa, 0, 0, 0, 0, 0, 1, 8, 0, 7];
    bench.send(1, &packet);
    assert_eq!(bench.receive(3, 1), [packet]);
    assert_eq!(read(&mut controller, entry.clone()).await, [entry]);
    let translations = bench.switch.translations(DEVICE).expect("a program runs");
    let numbers: Vec<_> = translations.assigned().into_iter().map(|pair| pair.number).collect();
    assert_eq!(numbers, [2, 3]);
}
