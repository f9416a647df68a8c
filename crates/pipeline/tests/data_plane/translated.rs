//! Tests of strings of translated types in a data plane: a string keeps its number as long as any
//! kind of entity contains it, and loses it only then.

use entities::schema::TranslatedTypeId;
use entities::{Code, DataPlane, EntityError, Nanos, Target, Translations};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType,
    packet_replication_engine_entry::Type as Replication, update::Type,
};
use p4runtime::store::Store;
use pipeline::InterpreterTarget;
use std::sync::Arc;

/// A program with a table for each place in which entities may contain strings. Its names and its
/// ports have two bits, so that numbers run out.
const PROGRAM: &str = r#"
header h_t { name_t n; bit<6> pad; bit<8> a; }
struct pair_t { bit<8> x; name_t n; }
struct headers { h_t h; }
struct meta { name_t name; pair_t pair; }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    register<name_t, bit<32>>(4) cells;
    register<pair_t, bit<32>>(4) pairs;
    action act(name_t n) { m.name = n; }
    action_profile(8) profile;
    action_selector(HashAlgorithm.crc16, 8, 8) selector;
    table fill_names { key = { h.h.n: exact; } actions = { NoAction; } }
    table fill_ports { key = { s.ingress_port: exact; } actions = { NoAction; } }
    table maybe { key = { h.h.n: optional; } actions = { NoAction; } }
    table direct { key = { h.h.a: exact; } actions = { act; NoAction; } }
    table by_member { key = { h.h.a: exact; } actions = { act; NoAction; }
        implementation = profile; }
    table balanced { key = { h.h.a: exact; h.h.pad: selector; } actions = { act; NoAction; }
        implementation = selector; }
    apply {
        cells.write(0, h.h.n);
        pairs.write(0, m.pair);
        fill_names.apply(); fill_ports.apply(); maybe.apply(); direct.apply();
        by_member.apply(); balanced.apply();
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

fn source() -> String {
    let known = p4lang::arch::file("v1model.p4").expect("it is built in").text();
    let string = "@p4runtime_translation(\"\", string) type bit<2>";
    let own = known.replace("typedef bit<9>  PortId_t;", &format!("{string} PortId_t;"));
    assert_ne!(own, known);
    format!(
        "#include <core.p4>\n#define V1MODEL_VERSION 20200408\n{own}\n{string} name_t;\n{PROGRAM}"
    )
}

struct Plane {
    schema: Arc<Schema>,
    store: Store<Box<dyn DataPlane>>,
    translations: Arc<Translations>,
}

impl Plane {
    fn new() -> Self {
        let source = source();
        let compile = move || p4lang::device_config::from_device_config(source.as_bytes());
        let program = compile().unwrap_or_else(|error| panic!("{error}"));
        let p4info = p4lang::p4info::generate(&program).expect("it has one");
        let schema = Schema::new(p4info).expect("it is right");
        let target = InterpreterTarget::new(Box::new(move |_| compile()));
        let plane = target.load(schema.objects(), b"").expect("it runs");
        let translations = plane.translations().expect("there is a program");
        Self { store: Store::over(Arc::clone(&schema), plane), schema, translations }
    }

    fn write(&mut self, kind: Type, entity: Kind) -> Result<(), EntityError> {
        let entity = Some(v1::Entity { entity: Some(entity) });
        self.store.write(&v1::Update { r#type: kind as i32, entity }, Nanos(1))
    }

    fn entry(&self, table: &str, key: Vec<FieldMatchType>) -> v1::TableEntry {
        let fields = (1..).zip(key).map(|(field_id, matching)| v1::FieldMatch {
            field_id,
            field_match_type: Some(matching),
        });
        v1::TableEntry {
            table_id: self.schema.tables().by_name(table).expect(table).id.0,
            r#match: fields.collect(),
            action: Some(runs(v1::table_action::Type::Action(self.action("NoAction", None)))),
            ..Default::default()
        }
    }

    fn action(&self, name: &str, argument: Option<&'static str>) -> v1::Action {
        let action_id = self.schema.actions().by_name(name).expect(name).id.0;
        let params = argument.map(|text| v1::action::Param { param_id: 1, value: text.into() });
        v1::Action { action_id, params: params.into_iter().collect() }
    }

    fn act(&self, argument: &'static str) -> v1::TableAction {
        runs(v1::table_action::Type::Action(self.action("act", Some(argument))))
    }

    /// Returns an entry of a table that contains nothing but a string.
    fn fill(&self, of: &str, text: &'static str) -> Kind {
        Kind::TableEntry(self.entry(&format!("fill_{of}"), vec![exact(text.as_bytes())]))
    }

    fn one_shot(&self, argument: &'static str, watched: &'static str) -> Kind {
        let watch = v1::action_profile_action::WatchKind::WatchPort(watched.into());
        let member = v1::ActionProfileAction {
            action: Some(self.action("act", Some(argument))),
            weight: 1,
            watch_kind: (!watched.is_empty()).then_some(watch),
        };
        let set = v1::ActionProfileActionSet {
            action_profile_actions: vec![member],
            ..Default::default()
        };
        let action = runs(v1::table_action::Type::ActionProfileActionSet(set));
        Kind::TableEntry(v1::TableEntry {
            action: Some(action),
            ..self.entry("balanced", vec![exact(&[1])])
        })
    }

    fn profile(&self, name: &str) -> u32 {
        self.schema.action_profiles().by_name(name).expect(name).id.0
    }

    fn member(&self, profile: &str, action: v1::Action) -> Kind {
        Kind::ActionProfileMember(v1::ActionProfileMember {
            action_profile_id: self.profile(profile),
            member_id: 1,
            action: Some(action),
        })
    }

    fn register(&self, name: &str, data: v1::p4_data::Data) -> Kind {
        Kind::RegisterEntry(v1::RegisterEntry {
            register_id: self.schema.registers().by_name(name).expect(name).id.0,
            index: Some(v1::Index { index: 2 }),
            data: Some(v1::P4Data { data: Some(data) }),
        })
    }

    fn number(&self, of: &str, text: &str) -> Option<u128> {
        let name = if of == "names" { "name_t" } else { "PortId_t" };
        let of: TranslatedTypeId = self.schema.translated_type(name).expect(name);
        self.translations.number(of, text.as_bytes())
    }
}

fn runs(of: v1::table_action::Type) -> v1::TableAction {
    v1::TableAction { r#type: Some(of) }
}

fn exact(value: &[u8]) -> FieldMatchType {
    FieldMatchType::Exact(v1::field_match::Exact { value: value.to_vec().into() })
}

fn bits(text: &'static str) -> v1::p4_data::Data {
    v1::p4_data::Data::Bitstring(text.into())
}

fn pair(text: &'static str) -> v1::p4_data::Data {
    let member = |data| v1::P4Data { data: Some(data) };
    let number = v1::p4_data::Data::Bitstring(vec![7].into());
    let members = vec![member(number), member(bits(text))];
    v1::p4_data::Data::Struct(v1::P4StructLike { members })
}

fn replica() -> Vec<v1::Replica> {
    let port_kind = Some(v1::replica::PortKind::Port("held".into()));
    vec![v1::Replica { port_kind, instance: 1, ..Default::default() }]
}

fn replication(of: Replication) -> Kind {
    Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(of) })
}

/// An entity that contains the string "held", and the update that removes the string.
struct Holder {
    what: &'static str,
    /// The type of the string: names or ports.
    of: &'static str,
    /// Updates that precede the entity.
    before: Vec<Kind>,
    put: (Type, Kind),
    remove: (Type, Kind),
}

fn holders(plane: &Plane) -> Vec<Holder> {
    use Type::{Delete, Insert, Modify};
    let inserted = |what, of, before: Vec<Kind>, entity: Kind| Holder {
        what,
        of,
        before,
        put: (Insert, entity.clone()),
        remove: (Delete, entity),
    };
    let set = |what, put, remove| Holder {
        what,
        of: "names",
        before: Vec::new(),
        put: (Modify, put),
        remove: (Modify, remove),
    };
    let optional = v1::field_match::Optional { value: "held".into() };
    let maybe = v1::TableEntry {
        priority: 1,
        ..plane.entry("maybe", vec![FieldMatchType::Optional(optional)])
    };
    let direct = plane.entry("direct", vec![exact(&[1])]);
    let direct = v1::TableEntry { action: Some(plane.act("held")), ..direct };
    let default = v1::TableEntry { is_default_action: true, ..plane.entry("direct", Vec::new()) };
    let default = |action| Kind::TableEntry(v1::TableEntry { action, ..default.clone() });
    let group = Kind::ActionProfileGroup(v1::ActionProfileGroup {
        action_profile_id: plane.profile("selector"),
        group_id: 1,
        members: vec![v1::action_profile_group::Member {
            member_id: 1,
            weight: 1,
            watch_kind: Some(v1::action_profile_group::member::WatchKind::WatchPort("held".into())),
        }],
        ..Default::default()
    });
    let idle = plane.member("selector", plane.action("NoAction", None));
    let multicast = replication(Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: replica(),
        ..Default::default()
    }));
    let clones = replication(Replication::CloneSessionEntry(v1::CloneSessionEntry {
        session_id: 1,
        replicas: replica(),
        ..Default::default()
    }));
    vec![
        inserted("an exact key", "names", vec![], plane.fill("names", "held")),
        inserted("an optional key", "names", vec![], Kind::TableEntry(maybe)),
        inserted("an argument", "names", vec![], Kind::TableEntry(direct)),
        inserted(
            "a member",
            "names",
            vec![],
            plane.member("profile", plane.action("act", Some("held"))),
        ),
        inserted("a one-shot group", "names", vec![], plane.one_shot("held", "")),
        set("a default action", default(Some(plane.act("held"))), default(None)),
        set(
            "a register",
            plane.register("cells", bits("held")),
            plane.register("cells", bits("x1")),
        ),
        set(
            "a register of structs",
            plane.register("pairs", pair("held")),
            plane.register("pairs", pair("x1")),
        ),
        inserted("a key that is a port", "ports", vec![], plane.fill("ports", "held")),
        inserted("a watched port", "ports", vec![idle], group),
        inserted("a one-shot's watched port", "ports", vec![], plane.one_shot("0", "held")),
        inserted("a replica", "ports", vec![], multicast),
        inserted("a clone session", "ports", vec![], clones),
    ]
}

#[test]
fn a_string_keeps_its_number_as_long_as_an_entity_contains_it() {
    let count = holders(&Plane::new()).len();
    for position in 0..count {
        let mut plane = Plane::new();
        let holder = holders(&plane).swap_remove(position);
        let Holder { what, of, before, put, remove } = holder;
        // Cells of registers that nothing was written to contain the number 0, whose string is "0".
        let zero = plane.fill(of, "0");
        for entity in std::iter::once(zero).chain(before) {
            plane.write(Type::Insert, entity).expect(what);
        }
        plane.write(put.0, put.1).expect(what);
        let held = plane.number(of, "held").expect(what);
        for text in ["x0", "x1"] {
            let entity = plane.fill(of, text);
            plane.write(Type::Insert, entity).expect(what);
        }
        let (third, fourth) = (plane.fill(of, "x2"), plane.fill(of, "x3"));
        let full = plane.write(Type::Insert, third.clone()).expect_err(what);
        assert_eq!(full.code(), Code::ResourceExhausted, "{what}: {full}");
        assert_eq!(plane.number(of, "x2"), None, "{what}");

        let freed = plane.number(of, "x0");
        let entity = plane.fill(of, "x0");
        plane.write(Type::Delete, entity).expect(what);
        plane.write(Type::Insert, third).expect(what);
        assert_eq!(plane.number(of, "x2"), freed, "{what}");
        assert_eq!(plane.number(of, "held"), Some(held), "{what}");

        plane.write(remove.0, remove.1).expect(what);
        plane.write(Type::Insert, fourth).expect(what);
        assert_eq!(plane.number(of, "x3"), Some(held), "{what}");
        assert_eq!(plane.number(of, "held"), None, "{what}");
    }
}

/// A register's cells contain the number 0 from the start, so no string is assigned this number.
#[test]
fn the_initial_value_of_registers_is_not_assigned() {
    let mut plane = Plane::new();
    for (text, number) in [("x0", 1), ("x1", 2), ("x2", 3)] {
        let entity = plane.fill("names", text);
        plane.write(Type::Insert, entity).expect(text);
        assert_eq!(plane.number("names", text), Some(number));
    }
    let next = plane.fill("names", "next");
    let full = plane.write(Type::Insert, next).expect_err("the cells contain the fourth");
    assert_eq!(full.code(), Code::ResourceExhausted, "{full}");
    assert_eq!(plane.number("names", "0"), Some(0));
}

/// A batch that is rolled back returns the numbers of its strings, and gives back those that it
/// took from other strings.
#[test]
fn a_batch_that_is_rolled_back_leaves_the_pairs_as_they_were() {
    let mut plane = Plane::new();
    for text in ["x0", "x1"] {
        let entity = plane.fill("names", text);
        plane.write(Type::Insert, entity).expect(text);
    }
    let before = plane.translations.assigned();
    let update = |kind: Type, entity: Kind| v1::Update {
        r#type: kind as i32,
        entity: Some(v1::Entity { entity: Some(entity) }),
    };
    // The third string takes the last number, and the fourth that of "x0", whose entry is deleted.
    // The last update is refused, because its entry is there.
    let batch = [
        update(Type::Insert, plane.fill("names", "x2")),
        update(Type::Delete, plane.fill("names", "x0")),
        update(Type::Insert, plane.fill("names", "x3")),
        update(Type::Insert, plane.fill("names", "x1")),
    ];
    let atomicity = v1::write_request::Atomicity::RollbackOnError;
    let outcomes = plane.store.write_batch(&batch, atomicity, Nanos(1));
    let codes: Vec<_> =
        outcomes.iter().map(|one| one.as_ref().map_err(EntityError::code)).collect();
    let aborted = Err(Code::Aborted);
    assert_eq!(codes, [aborted, aborted, aborted, Err(Code::AlreadyExists)]);
    assert_eq!(plane.translations.assigned(), before);
    let read = v1::TableEntry { action: None, ..plane.entry("fill_names", vec![exact(b"x0")]) };
    let read = v1::Entity { entity: Some(Kind::TableEntry(read)) };
    let mut found = 0;
    plane.store.read(&read, Nanos(1), &mut |_| found += 1).expect("it can be read");
    assert_eq!(found, 1, "the deleted entry is there again under its string");
    let outcomes = plane.store.write_batch(&batch[..3], atomicity, Nanos(1));
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(plane.number("names", "x0"), None);
    assert_eq!((plane.number("names", "x3"), plane.number("names", "x2")), (Some(1), Some(3)));
}
