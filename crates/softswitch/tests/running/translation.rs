//! Tests of programs with types that controllers see as strings, through P4Runtime.

use crate::support::{Bench, Controller, DEVICE, TIMEOUT, pushed};
use p4runtime::client::WriteError;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, set_forwarding_pipeline_config_request::Action,
    stream_message_response::Update as Response, write_request::Atomicity,
};
use p4runtime::status::{Code, batch_errors};
use std::sync::Arc;

/// A program that uses a string-translated port name wherever P4Runtime allows one: in match fields
/// of each kind, parameters, default actions, constant entries, members, registers, digests and
/// controller headers.
const NAMED: &str = r#"
#include <core.p4>
#include <v1model.p4>
@p4runtime_translation("example.org/name", string) type bit<9> name_t;
header h_t { bit<8> to; bit<8> tag; }
@controller_header("packet_in") header packet_in_t { name_t ingress_port; bit<7> reason; }
@controller_header("packet_out") header packet_out_t { name_t egress_port; bit<7> pad; }
struct learned_t { name_t port; bit<8> to; }
struct headers { packet_out_t packet_out; packet_in_t packet_in; h_t h; }
struct meta { name_t name; }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { m.name = (name_t) s.ingress_port; b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<name_t>(4) seen;
    register<bit<8>>(4) tags;
    action forward(bit<9> port) { s.egress_spec = port; }
    action send(name_t port) { s.egress_spec = (bit<9>) port; }
    table plain { key = { h.h.to: exact; } actions = { forward; NoAction; } }
    table by_name { key = { m.name: exact; } actions = { forward; NoAction; } }
    table maybe { key = { m.name: optional; h.h.to: exact; } actions = { forward; NoAction; } }
    table to_name { key = { h.h.to: exact; } actions = { send; forward; NoAction; } }
    @name("profile") action_profile(8) ap;
    table by_member { key = { h.h.to: exact; } actions = { send; forward; } implementation = ap; }
    table fixed { key = { m.name: exact; } actions = { NoAction; }
        const entries = { (name_t) 1: NoAction(); } }
    table calls { key = { h.h.to: exact; } actions = { send; NoAction; }
        default_action = send((name_t) 2); }
    apply {
        seen.write(0, m.name);
        tags.write(0, h.h.tag);
        if (h.h.tag == 9) { digest<learned_t>(1, { m.name, h.h.to }); }
        by_name.apply(); maybe.apply(); fixed.apply(); calls.apply();
        by_member.apply(); to_name.apply(); plain.apply();
        if (h.h.to == 255) {
            s.egress_spec = 255;
            h.packet_in.setValid();
            h.packet_in.ingress_port = m.name;
        }
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.packet_in); b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

/// The body of a start state that also extracts the header of packet-outs, and the states after it.
const START: &str = "transition select(s.ingress_port) { 255: of_controller; default: body; } }
    state of_controller { b.extract(h.packet_out); transition body; }
    state body { b.extract(h.h); transition accept; }";

/// The identifiers of a program's objects, looked up by alias.
struct Ids(Arc<Schema>);

impl Ids {
    fn table(&self, alias: &str) -> u32 {
        let tables = self.0.tables();
        tables.iter().find(|table| table.alias == alias).expect(alias).id.0
    }

    fn action(&self, alias: &str) -> u32 {
        let actions = self.0.actions();
        actions.iter().find(|action| action.alias == alias).expect(alias).id.0
    }

    /// Returns the call of an action with one parameter.
    fn call(&self, action: &str, argument: &'static [u8]) -> v1::Action {
        let params = vec![v1::action::Param { param_id: 1, value: argument.into() }];
        v1::Action { action_id: self.action(action), params }
    }

    fn without_arguments(&self, action: &str) -> v1::Action {
        v1::Action { action_id: self.action(action), params: Vec::new() }
    }

    fn entry(&self, table: &str, r#match: Vec<v1::FieldMatch>, action: v1::Action) -> Kind {
        let action = v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) };
        let (table_id, action) = (self.table(table), Some(action));
        Kind::TableEntry(v1::TableEntry { table_id, r#match, action, ..Default::default() })
    }

    fn read(&self, table: &str, is_default_action: bool) -> Kind {
        let table_id = self.table(table);
        Kind::TableEntry(v1::TableEntry { table_id, is_default_action, ..Default::default() })
    }
}

fn exact(field_id: u32, value: &'static [u8]) -> v1::FieldMatch {
    let exact = v1::field_match::Exact { value: value.into() };
    let field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
    v1::FieldMatch { field_id, field_match_type }
}

fn optional(field_id: u32, value: &'static [u8]) -> v1::FieldMatch {
    let optional = v1::field_match::Optional { value: value.into() };
    let field_match_type = Some(v1::field_match::FieldMatchType::Optional(optional));
    v1::FieldMatch { field_id, field_match_type }
}

/// Writes one entity, which must be refused with this code, and returns the reason.
async fn refused(
    controller: &mut Controller,
    kind: v1::update::Type,
    entity: Kind,
    code: Code,
) -> String {
    let update =
        v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) };
    let written = controller.client.write(vec![update], Atomicity::ContinueOnError).await;
    let Err(WriteError::Updates { refused, .. }) = written else { panic!("{written:?}") };
    assert_eq!(refused[0].code, code, "{refused:?}");
    refused[0].message.clone()
}

async fn write(controller: &mut Controller, kind: v1::update::Type, entity: Kind) {
    let update =
        v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) };
    let written = controller.client.write(vec![update], Atomicity::ContinueOnError).await;
    written.expect("it is right");
}

/// Reads entities, or returns the reason for which the read was refused.
async fn read(controller: &mut Controller, entity: Kind) -> Result<Vec<Kind>, String> {
    let read = controller.client.read(vec![v1::Entity { entity: Some(entity) }]).await;
    read.map(|found| found.into_iter().filter_map(|entity| entity.entity).collect())
        .map_err(|status| batch_errors(&status)[0].message.clone())
}

async fn started(ports: u32) -> (Bench, Controller, Ids) {
    let bench = Bench::new(ports);
    let controller = Controller::with(&bench.switch, NAMED).await;
    let schema = Schema::new(pushed(NAMED).p4info.expect("it has one")).expect("it is right");
    (bench, controller, Ids(schema))
}

fn bytes(text: &'static str) -> v1::P4Data {
    v1::P4Data { data: Some(v1::p4_data::Data::Bitstring(text.as_bytes().into())) }
}

/// Every kind of entity that contains strings is read as it was written, and packets see the ports
/// that decimal strings name.
#[tokio::test]
async fn entities_are_read_as_they_were_written() {
    use v1::update::Type::{Insert, Modify};
    let (mut bench, mut controller, ids) = started(4).await;
    let profile = ids.0.action_profiles().iter().next().expect("one").id.0;
    let member = Kind::ActionProfileMember(v1::ActionProfileMember {
        action_profile_id: profile,
        member_id: 1,
        action: Some(ids.call("send", b"4")),
    });
    let Kind::TableEntry(mut by_member) =
        ids.entry("by_member", vec![exact(1, &[22])], ids.call("send", b"0"))
    else {
        unreachable!()
    };
    let runs = v1::table_action::Type::ActionProfileMemberId(1);
    by_member.action = Some(v1::TableAction { r#type: Some(runs) });
    let Kind::TableEntry(maybe) =
        ids.entry("maybe", vec![optional(1, b"1"), exact(2, &[23])], ids.call("forward", &[3]))
    else {
        unreachable!()
    };
    let entries = [
        ids.entry("by_name", vec![exact(1, b"2")], ids.call("forward", &[3])),
        ids.entry("by_name", vec![exact(1, b"not there")], ids.call("forward", &[2])),
        ids.entry("to_name", vec![exact(1, &[21])], ids.call("send", b"3")),
        // The table is applied after by_name and maybe, and its default action sends to port 2.
        ids.entry("calls", vec![exact(1, &[7])], ids.without_arguments("NoAction")),
        ids.entry("calls", vec![exact(1, &[23])], ids.without_arguments("NoAction")),
        Kind::TableEntry(by_member),
        Kind::TableEntry(v1::TableEntry { priority: 1, ..maybe }),
    ];
    write(&mut controller, Insert, member.clone()).await;
    controller.insert(entries.clone()).await;
    for entry in &entries {
        let Kind::TableEntry(one) = entry else { unreachable!() };
        let key = v1::TableEntry { action: None, ..one.clone() };
        assert_eq!(read(&mut controller, Kind::TableEntry(key)).await, Ok(vec![entry.clone()]));
    }
    let members = v1::ActionProfileMember { action_profile_id: profile, ..Default::default() };
    let members = Kind::ActionProfileMember(members);
    assert_eq!(read(&mut controller, members).await, Ok(vec![member]));
    // From port 2, the entry by_name forwards; from port 1, the default action sends to port 2.
    bench.send(2, &[7, 0]);
    assert_eq!(bench.receive(3, 1), [[7, 0]]);
    bench.send(1, &[8, 0]);
    assert_eq!(bench.receive(2, 1), [[8, 0]]);
    for (to, port) in [(21, 3), (22, 4), (23, 3)] {
        bench.send(1, &[to, 0]);
        assert_eq!(bench.receive(port, 1), [[to, 0]]);
    }

    // The program's own numbers are ports as well.
    let Ok(fixed) = read(&mut controller, ids.read("fixed", false)).await else { panic!() };
    let Some(Kind::TableEntry(fixed)) = fixed.first() else { panic!("{fixed:?}") };
    assert_eq!(fixed.r#match, [exact(1, b"1")]);
    let Ok(calls) = read(&mut controller, ids.read("calls", true)).await else { panic!() };
    let Some(Kind::TableEntry(calls)) = calls.first() else { panic!("{calls:?}") };
    let action = ids.call("send", b"2");
    assert_eq!(
        calls.action.as_ref().and_then(|one| one.r#type.clone()),
        Some(v1::table_action::Type::Action(action))
    );

    let registers = ids.0.registers();
    let seen = registers.iter().find(|register| register.alias == "seen").expect("one").id.0;
    let cell = |index, data| {
        let index = Some(v1::Index { index });
        Kind::RegisterEntry(v1::RegisterEntry { register_id: seen, index, data })
    };
    write(&mut controller, Modify, cell(1, Some(bytes("Ethernet0")))).await;
    for (index, text) in [(0, "1"), (1, "Ethernet0"), (2, "0")] {
        let found = read(&mut controller, cell(index, None)).await;
        assert_eq!(found, Ok(vec![cell(index, Some(bytes(text)))]));
    }
}

/// Refused updates, deletions and reads assign no numbers: the register shows that the next string
/// gets the least free one.
#[tokio::test]
async fn refusals_reads_and_deletions_assign_no_numbers() {
    use v1::update::Type::{Delete, Insert, Modify};
    let (bench, mut controller, ids) = started(2).await;
    let entry = |name| ids.entry("by_name", vec![exact(1, name)], ids.call("forward", &[2]));
    let message = refused(&mut controller, Delete, entry(b"a"), Code::NotFound).await;
    assert!(message.contains("'a' of type 'name_t' has no number"), "{message}");
    refused(&mut controller, Modify, entry(b"b"), Code::NotFound).await;
    let Kind::TableEntry(one) = entry(b"c") else { unreachable!() };
    let one = Kind::TableEntry(v1::TableEntry { action: None, ..one });
    assert_eq!(read(&mut controller, one).await, Ok(Vec::new()));
    refused(&mut controller, Insert, entry(b""), Code::OutOfRange).await;
    let message = refused(&mut controller, Insert, entry(b"512"), Code::OutOfRange).await;
    assert!(message.contains("port 512 needs more than the 9 bits"), "{message}");
    controller.insert([entry(b"d")]).await;
    let translations = bench.switch.translations(DEVICE).expect("a program runs");
    let assigned: Vec<_> = translations.assigned().into_iter().map(|pair| pair.number).collect();
    // Ports 1 and 2 exist and the cells of the register contain 0, so the least free number is 3.
    assert_eq!(assigned, [3]);
    let message = refused(&mut controller, Insert, entry(b"3"), Code::FailedPrecondition).await;
    assert!(message.contains("port 3 of type 'name_t' is in use as 'd'"), "{message}");
}

/// The metadata of packet-ins and packet-outs are strings, and the fields after a string are where
/// the program has them.
#[tokio::test]
async fn packets_of_controllers_have_strings() {
    let source = NAMED.replace("b.extract(h.h); transition accept; }", START);
    let source = source.replace(
        "seen.write(0, m.name);",
        "if (h.packet_out.isValid()) { \
        s.egress_spec = (bit<9>) h.packet_out.egress_port; h.h.tag = (bit<8>) h.packet_out.pad; \
        h.packet_out.setInvalid(); return; }",
    );
    let source = source.replace(
        "h.packet_in.ingress_port = m.name;",
        "h.packet_in.ingress_port = m.name; h.packet_in.reason = 5;",
    );
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, &source).await;
    let metadata =
        |metadata_id, value: &'static [u8]| v1::PacketMetadata { metadata_id, value: value.into() };
    let out = |port| v1::PacketOut {
        payload: (&[2, 2, 3][..]).into(),
        metadata: vec![metadata(1, port), metadata(2, &[9])],
    };
    assert_eq!(controller.sender.packet_outs([out(b"nowhere"), out(b"2")]), 2);
    let next = tokio::time::timeout(TIMEOUT, controller.receiver.next()).await;
    let Ok(Some(Response::Error(error))) = next.expect("in time") else { panic!("it was taken") };
    assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
    assert!(error.message.contains("(egress_port): the string 'nowhere'"), "{error:?}");
    assert_eq!(bench.receive(2, 1), [[2, 9, 3]]);
    bench.send(1, &[255, 0]);
    let next = tokio::time::timeout(TIMEOUT, controller.receiver.next()).await;
    let Ok(Some(Response::Packet(packet))) = next.expect("in time") else { panic!("no packet") };
    assert_eq!(packet.metadata, [metadata(1, b"1"), metadata(2, &[5])]);
}

/// A digest has the names of ports.
#[tokio::test]
async fn digests_have_strings() {
    let (mut bench, mut controller, ids) = started(2).await;
    let digest_id = ids.0.digests().iter().next().expect("one").id.0;
    let config = Some(v1::digest_entry::Config { max_list_size: 1, ..Default::default() });
    controller.insert([Kind::DigestEntry(v1::DigestEntry { digest_id, config })]).await;
    bench.send(1, &[7, 9]);
    let next = tokio::time::timeout(TIMEOUT, controller.receiver.next()).await;
    let Ok(Some(Response::Digest(list))) = next.expect("in time") else { panic!("no digest") };
    let Some(v1::p4_data::Data::Struct(learned)) = &list.data[0].data else { panic!("{list:?}") };
    assert_eq!(learned.members[0], bytes("1"));
}

/// Translated types with another bit width are numbers and not strings, and are converted as
/// before.
#[tokio::test]
async fn numbers_of_another_width_are_translated() {
    let source = NAMED.replace("\"example.org/name\", string", "\"example.org/name\", 32");
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, &source).await;
    let ids = Ids(Schema::new(pushed(&source).p4info.expect("one")).expect("it is right"));
    let entry = ids.entry("by_name", vec![exact(1, &[1])], ids.call("forward", &[2]));
    controller.insert([entry.clone()]).await;
    assert_eq!(read(&mut controller, ids.read("by_name", false)).await, Ok(vec![entry]));
    bench.send(1, &[1, 2]);
    assert_eq!(bench.receive(2, 1), [[1, 2]]);
}

/// A port number of 32 bits for controllers has 9 bits in the program's header, followed by seven
/// bits of padding.
#[tokio::test]
async fn controller_headers_have_the_widths_of_the_program() {
    let source = NAMED.replace("\"example.org/name\", string", "\"example.org/name\", 32");
    let source = source.replace("b.extract(h.h); transition accept; }", START);
    let source = source.replace(
        "seen.write(0, m.name);",
        "if (h.packet_out.isValid()) { \
        s.egress_spec = (bit<9>) h.packet_out.egress_port; h.packet_out.setInvalid(); return; }",
    );
    // BMv2 JSON has no annotations, so the controller headers are recognised by the names of their
    // fields.
    let unnamed = source
        .replace("@controller_header(\"packet_in\")", "")
        .replace("@controller_header(\"packet_out\")", "");
    assert_ne!(unnamed, source);
    for program in [source.clone(), unnamed] {
        let pipeline =
            v1::ForwardingPipelineConfig { p4_device_config: program.into(), ..pushed(&source) };
        check_widths(pipeline).await;
    }
}

async fn check_widths(pipeline: v1::ForwardingPipelineConfig) {
    let mut bench = Bench::new(2);
    let mut controller = Controller::of(&bench.switch, 1).await;
    let outcome = controller.client.set_pipeline(Action::VerifyAndCommit, Some(pipeline)).await;
    outcome.expect("the switch runs it");
    let metadata =
        |metadata_id, value: &'static [u8]| v1::PacketMetadata { metadata_id, value: value.into() };
    bench.send(1, &[255, 3, 4, 5]);
    let next = tokio::time::timeout(TIMEOUT, controller.receiver.next()).await;
    let Ok(Some(Response::Packet(packet))) = next.expect("in time") else { panic!("no packet") };
    assert_eq!(packet.metadata, [metadata(1, &[1]), metadata(2, &[0])]);
    assert_eq!(packet.payload, [255, 3, 4, 5][..]);

    let out = |port| v1::PacketOut {
        payload: (&[9, 8, 7][..]).into(),
        metadata: vec![metadata(1, port), metadata(2, &[0])],
    };
    // A port that does not fit the program's 9 bits is refused, not truncated.
    assert_eq!(controller.sender.packet_outs([out(&[2, 2]), out(&[2])]), 2);
    let next = tokio::time::timeout(TIMEOUT, controller.receiver.next()).await;
    let Ok(Some(Response::Error(error))) = next.expect("in time") else { panic!("no error") };
    assert!(error.message.contains("does not fit its 9 bits"), "{error:?}");
    assert_eq!(bench.receive(2, 1), [[9, 8, 7]]);
}
