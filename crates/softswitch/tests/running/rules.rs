//! Tests of the rules for entries that annotations state: constraints (`@entry_restriction`,
//! `@action_restriction`) and references (`@refers_to`).

use crate::support::{CPU_PORT, Controller, DEVICE, Names, PROGRAM, lines, options};
use p4runtime::client::WriteError;
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::proto::v1::{self, entity::Entity as Kind, update::Type, write_request::Atomicity};
use p4runtime::status::Code;
use packetio::Port;
use softswitch::{DeviceConfig, Switch, V1ModelSettings};
use std::path::Path;

const FORWARD: &str = "action forward(bit<9> port)";

fn start(state: Option<&Path>, check_references: bool) -> (Switch, Vec<Port>) {
    let (far, near) = lines(2);
    let device = DeviceConfig {
        id: DEVICE,
        cpu_port: CPU_PORT,
        path: crate::PATH,
        v1model: V1ModelSettings::default(),
        pipeline: None,
        updates: Vec::new(),
        state: state.map(Path::to_owned),
        durability: softswitch::Durability::default(),
        queues: Default::default(),
        check_references,
        takes_injections: false,
        ports: near,
    };
    (Switch::start(options(), vec![device]).expect("it starts"), far)
}

/// Writes one update. Returns the code and the message if it is refused.
async fn write(
    controller: &mut Controller,
    kind: Type,
    entity: Kind,
) -> Result<(), (Code, String)> {
    let entity = Some(v1::Entity { entity: Some(entity) });
    let update = v1::Update { r#type: kind as i32, entity };
    match controller.client.write(vec![update], Atomicity::ContinueOnError).await {
        Ok(()) => Ok(()),
        Err(WriteError::Updates { refused, .. }) => {
            Err((refused[0].code, refused[0].message.clone()))
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn group(multicast_group_id: u32) -> Kind {
    let group = v1::MulticastGroupEntry { multicast_group_id, ..Default::default() };
    Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(Engine::MulticastGroupEntry(group)),
    })
}

#[tokio::test]
async fn writes_that_break_a_constraint_are_refused_and_change_nothing() {
    assert!(PROGRAM.contains(FORWARD) && PROGRAM.contains("table stations"));
    let program = PROGRAM
        .replace(FORWARD, &format!("@action_restriction(\"port != 1\") {FORWARD}"))
        .replace("table stations", "@entry_restriction(\"to >= 10\") table stations")
        .replace("h.h.to: exact;", "h.h.to: exact @name(\"to\");");
    let names = Names::of(&program);
    let (switch, _far) = start(None, false);
    let mut controller = Controller::with(&switch, &program).await;
    let refused = write(&mut controller, Type::Insert, names.entry(9, "forward", &[2])).await;
    let (code, message) = refused.expect_err("the key is too small");
    assert_eq!(code, Code::InvalidArgument);
    assert!(message.ends_with("the constraint `to >= 10` does not hold for to = 9"), "{message}");
    let refused = write(&mut controller, Type::Insert, names.entry(10, "forward", &[1])).await;
    let (code, message) = refused.expect_err("the port is not permitted");
    assert_eq!(code, Code::InvalidArgument);
    assert!(message.ends_with("`port != 1` does not hold for port = 1"), "{message}");
    let right = names.entry(10, "forward", &[2]);
    assert_eq!(write(&mut controller, Type::Insert, right).await, Ok(()));
    let table = v1::TableEntry { table_id: names.table(), ..Default::default() };
    let all = v1::Entity { entity: Some(Kind::TableEntry(table)) };
    assert_eq!(controller.client.read(vec![all]).await.expect("it is there").len(), 1);
}

/// After a restart, the switch knows the references of the entities that it has restored.
#[tokio::test]
async fn references_are_checked_on_request_also_after_a_restart() {
    let refers = "@refers_to(builtin::multicast_group_table, multicast_group_id) bit<9> port";
    let program = PROGRAM.replace(FORWARD, &format!("action forward({refers})"));
    let names = Names::of(&program);
    let entry = || names.entry(20, "forward", &[2]);
    let (switch, _far) = start(None, false);
    let mut controller = Controller::with(&switch, &program).await;
    assert_eq!(write(&mut controller, Type::Insert, entry()).await, Ok(()), "nothing is checked");

    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let (switch, _far) = start(Some(&state), true);
    let mut controller = Controller::with(&switch, &program).await;
    let refused = write(&mut controller, Type::Insert, entry()).await;
    assert_eq!(refused.expect_err("there is no group").0, Code::NotFound);
    assert_eq!(write(&mut controller, Type::Insert, group(2)).await, Ok(()));
    assert_eq!(write(&mut controller, Type::Insert, entry()).await, Ok(()));
    drop((controller, switch));

    let (switch, _far) = start(Some(&state), true);
    let mut controller = Controller::of(&switch, 2).await;
    let refused = write(&mut controller, Type::Delete, group(2)).await;
    let (code, message) = refused.expect_err("an entry refers to it");
    assert_eq!(code, Code::FailedPrecondition, "{message}");
    assert_eq!(write(&mut controller, Type::Delete, entry()).await, Ok(()));
    assert_eq!(write(&mut controller, Type::Delete, group(2)).await, Ok(()));
}
