//! Tests that strings of translated types keep their numbers: over restarts and kills, in another
//! pipeline, and for a second controller.

use crate::support::{Bench, Controller, DEVICE, TIMEOUT, pushed};
use entities::TranslationPair;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType,
    set_forwarding_pipeline_config_request::Action, stream_message_response::Update as Response,
    update::Type as UpdateType, write_request::Atomicity,
};
use std::sync::Arc;

/// The example program with virtual routing tables that have names.
const PROGRAM: &str = include_str!("../../../../programs/vrf.p4");

/// A packet for 10.0.2.2, after its Ethernet header.
const PACKET: [u8; 23] =
    [0x45, 0, 0, 0x17, 0x12, 0x34, 0, 0, 0x40, 0x11, 0x51, 0xa0, 10, 0, 1, 1, 10, 0, 2, 2, 1, 2, 3];

struct Ids(Arc<Schema>);

impl Ids {
    fn of(program: &str) -> Self {
        Self(Schema::new(pushed(program).p4info.expect("it has one")).expect("it is right"))
    }

    fn entry(
        &self,
        table: &str,
        priority: i32,
        key: Vec<FieldMatchType>,
        action: (&str, &[&[u8]]),
    ) -> Kind {
        let fields = (1..).zip(key).map(|(field_id, matching)| v1::FieldMatch {
            field_id,
            field_match_type: Some(matching),
        });
        let (name, arguments) = action;
        let params = (1..)
            .zip(arguments)
            .map(|(param_id, value)| v1::action::Param { param_id, value: value.to_vec().into() });
        let action = v1::Action {
            action_id: self.0.actions().by_name(name).expect(name).id.0,
            params: params.collect(),
        };
        Kind::TableEntry(v1::TableEntry {
            table_id: self.0.tables().by_name(table).expect(table).id.0,
            r#match: fields.collect(),
            priority,
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
            ..Default::default()
        })
    }

    fn vrf_of(&self, port: &str, vrf: &str) -> Kind {
        let port = v1::field_match::Optional { value: port.as_bytes().to_vec().into() };
        let key = vec![FieldMatchType::Optional(port)];
        self.entry("vrf_of", 1, key, ("set_vrf", &[vrf.as_bytes()]))
    }

    fn route(&self, vrf: &str, nexthop: &str) -> Kind {
        let lpm = v1::field_match::Lpm { value: [10, 0, 0, 0][..].into(), prefix_len: 8 };
        let key = vec![exact(vrf), FieldMatchType::Lpm(lpm)];
        self.entry("routes", 0, key, ("set_nexthop", &[nexthop.as_bytes()]))
    }

    fn nexthop(&self, nexthop: &str, port: &str) -> Kind {
        let arguments: [&[u8]; 3] = [port.as_bytes(), &[0xf2], &[0xb2]];
        self.entry("nexthops", 0, vec![exact(nexthop)], ("forward", &arguments))
    }

    /// Three VRFs with a route each, and their next hops.
    fn all(&self) -> Vec<Kind> {
        vec![
            self.nexthop("hop c", "2"),
            self.route("blue", "hop c"),
            self.route("", "hop a"),
            self.vrf_of("1", "blue"),
            self.vrf_of("2", "default"),
            self.route("green", "hop b"),
        ]
    }
}

fn exact(text: &str) -> FieldMatchType {
    FieldMatchType::Exact(v1::field_match::Exact { value: text.as_bytes().to_vec().into() })
}

async fn write(controller: &mut Controller, updates: Vec<(UpdateType, Kind)>) {
    let updates = updates.into_iter().map(|(kind, entity)| v1::Update {
        r#type: kind as i32,
        entity: Some(v1::Entity { entity: Some(entity) }),
    });
    let written = controller.client.write(updates.collect(), Atomicity::RollbackOnError).await;
    written.expect("all of it is right");
}

async fn entries(controller: &mut Controller) -> Vec<Kind> {
    let wanted = Kind::TableEntry(v1::TableEntry::default());
    let found = controller.client.read(vec![v1::Entity { entity: Some(wanted) }]).await;
    found.expect("they are there").into_iter().filter_map(|entity| entity.entity).collect()
}

fn pairs(bench: &Bench) -> Vec<TranslationPair> {
    bench.switch.translations(DEVICE).expect("a program runs").assigned()
}

fn number(bench: &Bench, type_name: &str, text: &str) -> Option<u128> {
    let is_it =
        |pair: &&TranslationPair| pair.type_name == type_name && *pair.text == *text.as_bytes();
    pairs(bench).iter().find(is_it).map(|pair| pair.number)
}

fn sorted(mut entries: Vec<Kind>) -> Vec<String> {
    let mut texts: Vec<String> = entries.drain(..).map(|kind| format!("{kind:?}")).collect();
    texts.sort();
    texts
}

/// Sends a packet of VRF "blue", and checks that it leaves through port 2.
fn forwards(bench: &mut Bench) {
    let header = [0, 0, 0, 0, 0, 0xee, 0, 0, 0, 0, 0, 0xff, 8, 0];
    bench.send(1, &[&header[..], &PACKET].concat());
    let left = bench.receive(2, 1);
    assert_eq!(left[0][..14], [0, 0, 0, 0, 0, 0xb2, 0, 0, 0, 0, 0, 0xf2, 8, 0]);
}

#[tokio::test]
async fn strings_keep_their_numbers_over_restarts() {
    let directory = tempfile::tempdir().expect("a directory");
    let [state, killed] = ["state", "killed"].map(|name| directory.path().join(name));
    let ids = Ids::of(PROGRAM);
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    // The string that was written first is not in use any more when the switch ends.
    controller.insert([ids.route("red", "hop z")]).await;
    controller.insert(ids.all()).await;
    write(&mut controller, vec![(UpdateType::Delete, ids.route("red", "hop z"))]).await;
    let before = pairs(&bench);
    let written = sorted(entries(&mut controller).await);
    assert_eq!(number(&bench, "vrf_id_t", "red"), Some(2), "the program gives 0 and 1");
    assert_eq!(number(&bench, "vrf_id_t", "green"), Some(4));
    // The copy is what `kill -9` leaves: records are in the file before they are answered.
    std::fs::copy(&state, &killed).expect("it is copied");
    drop(bench);
    for file in [&state, &killed] {
        let mut bench = Bench::with_state(2, file);
        assert_eq!(pairs(&bench), before);
        let mut controller = Controller::of(&bench.switch, 2).await;
        assert_eq!(sorted(entries(&mut controller).await), written);
        forwards(&mut bench);
        // The same pipeline again compacts the file, in which entries then have another order.
        let again =
            controller.client.set_pipeline(Action::ReconcileAndCommit, Some(pushed(PROGRAM)));
        again.await.expect("it runs already");
        controller.insert([ids.route("violet", "hop v")]).await;
        let after = pairs(&bench);
        drop(bench);
        let mut bench = Bench::with_state(2, file);
        assert_eq!(pairs(&bench), after);
        assert_eq!(number(&bench, "vrf_id_t", "violet"), Some(5));
        forwards(&mut bench);
    }
}

/// Tests a type whose numbers have run out: a restart replays which string took over the number of
/// which other string.
#[tokio::test]
async fn reused_numbers_are_kept_over_restarts() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    // The program assigns two of the four numbers.
    let source = PROGRAM.replace("type bit<10> vrf_id_t;", "type bit<2> vrf_id_t;");
    let source = source.replace("bit<6>    reason;", "bit<14>   reason;");
    let ids = Ids::of(&source);
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::with(&bench.switch, &source).await;
    controller.insert([ids.route("red", "hop"), ids.route("green", "hop")]).await;
    // One batch deletes the entry of a string, so that another string takes over its number.
    let swap = vec![
        (UpdateType::Delete, ids.route("red", "hop")),
        (UpdateType::Insert, ids.route("blue", "hop")),
    ];
    write(&mut controller, swap).await;
    assert_eq!(number(&bench, "vrf_id_t", "blue"), Some(2));
    assert_eq!(number(&bench, "vrf_id_t", "red"), None);
    let refused = v1::Update {
        r#type: UpdateType::Insert as i32,
        entity: Some(v1::Entity { entity: Some(ids.route("yellow", "hop")) }),
    };
    let refused = controller.client.write(vec![refused], Atomicity::ContinueOnError).await;
    let refused = format!("{:?}", refused.expect_err("all four are in use"));
    assert!(refused.contains("ResourceExhausted") && refused.contains("'vrf_id_t'"), "{refused}");
    let (before, written) = (pairs(&bench), sorted(entries(&mut controller).await));
    drop(bench);
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!((pairs(&bench), sorted(entries(&mut controller).await)), (before, written));
}

/// Another pipeline takes over the numbers, although it writes the entries in another order.
#[tokio::test]
async fn another_pipeline_and_another_controller_have_the_same_numbers() {
    let ids = Ids::of(PROGRAM);
    let mut bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert(ids.all()).await;
    let (before, written) = (pairs(&bench), sorted(entries(&mut controller).await));
    let changed = PROGRAM.replace("size = 4096;", "size = 8192;");
    assert_ne!(changed, PROGRAM);
    let changed =
        controller.client.set_pipeline(Action::ReconcileAndCommit, Some(pushed(&changed)));
    changed.await.expect("it has the same tables");
    assert_eq!(pairs(&bench), before);
    forwards(&mut bench);

    let mut second = Controller::of(&bench.switch, 9).await;
    assert_eq!(sorted(entries(&mut second).await), written);
    second.insert([ids.route("default", "hop a")]).await;
    assert_eq!(pairs(&bench), before, "it wrote no new strings");
    write(&mut second, vec![(UpdateType::Delete, ids.route("blue", "hop c"))]).await;
    // Without its route, the packet goes to the controller with the names of port and VRF.
    let header = [0, 0, 0, 0, 0, 0xee, 0, 0, 0, 0, 0, 0xff, 8, 0];
    bench.send(1, &[&header[..], &PACKET].concat());
    let next = tokio::time::timeout(TIMEOUT, second.receiver.next()).await;
    let Ok(Some(Response::Packet(packet))) = next.expect("in time") else { panic!("no packet") };
    let metadata: Vec<_> = packet.metadata.iter().map(|one| &one.value[..]).collect();
    assert_eq!(metadata, [&b"1"[..], &[0], b"blue", &[1]]);
}
