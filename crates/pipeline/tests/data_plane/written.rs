//! Tests with sequences of requests that are written by hand.

use bytes::Bytes;
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity as Kind;
use p4runtime::proto::v1::field_match::{Exact, FieldMatchType};
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::update::Type;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::status::Code;
use p4runtime::store::Nanos;

use crate::both::{Both, DEVICE, PROGRAM, config, everything, update};

pub(crate) const T0: Nanos = Nanos(1_000_000);

pub(crate) fn exact(both: &Both, a: u8, b: u8, port: u8) -> v1::TableEntry {
    let field = |field_id, value: u8| {
        let exact = Exact { value: Bytes::copy_from_slice(&[value]) };
        v1::FieldMatch { field_id, field_match_type: Some(FieldMatchType::Exact(exact)) }
    };
    let param = v1::action::Param { param_id: 1, value: Bytes::copy_from_slice(&[port]) };
    let action = v1::Action { action_id: both.action("hit"), params: vec![param] };
    v1::TableEntry {
        table_id: both.table("exact_match"),
        r#match: vec![field(1, a), field(2, b)],
        action: Some(v1::TableAction { r#type: Some(ActionType::Action(action)) }),
        ..Default::default()
    }
}

fn member(both: &Both, profile: &str, id: u32, port: u8) -> Kind {
    let profile = both.schema.action_profiles().by_name(profile).expect("a profile");
    let param = v1::action::Param { param_id: 1, value: Bytes::copy_from_slice(&[port]) };
    Kind::ActionProfileMember(v1::ActionProfileMember {
        action_profile_id: profile.id.0,
        member_id: id,
        action: Some(v1::Action { action_id: both.action("forward"), params: vec![param] }),
    })
}

#[test]
fn a_batch_that_is_rolled_back_changes_nothing() {
    let mut both = Both::new();
    let first = exact(&both, 1, 1, 1);
    let counted = v1::TableEntry {
        counter_data: Some(v1::CounterData { byte_count: 7, packet_count: 1 }),
        metadata: Bytes::from_static(b"note"),
        ..first.clone()
    };
    let register = both.schema.registers().by_name("I.remembered").expect("there").id.0;
    let cell = |index, value: u8| {
        let bits = v1::p4_data::Data::Bitstring(Bytes::copy_from_slice(&[value]));
        Kind::RegisterEntry(v1::RegisterEntry {
            register_id: register,
            index,
            data: Some(v1::P4Data { data: Some(bits) }),
        })
    };
    let before = [
        update(Type::Insert, Kind::TableEntry(counted)),
        update(Type::Insert, member(&both, "I.chosen", 1, 3)),
        update(Type::Modify, cell(Some(v1::Index { index: 2 }), 9)),
    ];
    assert_eq!(both.write(&before, Atomicity::ContinueOnError, T0), [Code::Ok; 3]);
    let kept = both.read(everything(), T0);

    let profile = both.schema.action_profiles().by_name("I.chosen").expect("there").id.0;
    let group = v1::ActionProfileGroup {
        action_profile_id: profile,
        group_id: 4,
        members: vec![v1::action_profile_group::Member {
            member_id: 2,
            weight: 1,
            watch_kind: None,
        }],
        max_size: 0,
    };
    let default = v1::TableEntry {
        is_default_action: true,
        r#match: Vec::new(),
        action: Some(v1::TableAction {
            r#type: Some(ActionType::Action(v1::Action {
                action_id: both.action("rewrite"),
                params: vec![
                    v1::action::Param { param_id: 1, value: Bytes::from_static(&[1]) },
                    v1::action::Param { param_id: 2, value: Bytes::from_static(&[2]) },
                ],
            })),
        }),
        table_id: both.table("routes"),
        ..Default::default()
    };
    let batch = [
        update(Type::Delete, Kind::TableEntry(first.clone())),
        update(Type::Insert, Kind::TableEntry(exact(&both, 1, 1, 5))),
        update(Type::Insert, Kind::TableEntry(exact(&both, 2, 2, 5))),
        update(Type::Modify, Kind::TableEntry(default)),
        update(Type::Insert, member(&both, "I.chosen", 2, 3)),
        update(Type::Insert, Kind::ActionProfileGroup(group)),
        update(Type::Modify, cell(None, 1)),
        update(Type::Modify, cell(Some(v1::Index { index: 2 }), 2)),
        update(Type::Modify, Kind::TableEntry(exact(&both, 9, 9, 9))),
    ];
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let codes = both.write(&batch, atomicity, T0);
        assert_eq!(codes.last(), Some(&Code::NotFound));
        assert_eq!(codes[..8], [Code::Aborted; 8]);
        assert_eq!(both.read(everything(), T0), kept);
        // The batch without its last update is accepted.
        let good = both.write(&batch[..8], atomicity, T0);
        assert_eq!(good, [Code::Ok; 8]);
        assert_ne!(both.read(everything(), T0), kept);
        let back = [
            update(Type::Delete, Kind::TableEntry(exact(&both, 2, 2, 5))),
            update(
                Type::Modify,
                Kind::TableEntry(v1::TableEntry {
                    counter_data: Some(v1::CounterData { byte_count: 7, packet_count: 1 }),
                    metadata: Bytes::from_static(b"note"),
                    ..first.clone()
                }),
            ),
            update(
                Type::Modify,
                Kind::TableEntry(v1::TableEntry {
                    table_id: both.table("routes"),
                    is_default_action: true,
                    ..Default::default()
                }),
            ),
            update(
                Type::Delete,
                Kind::ActionProfileGroup(v1::ActionProfileGroup {
                    action_profile_id: profile,
                    group_id: 4,
                    ..Default::default()
                }),
            ),
            update(Type::Delete, member(&both, "I.chosen", 2, 3)),
            update(Type::Modify, cell(None, 0)),
            update(Type::Modify, cell(Some(v1::Index { index: 2 }), 9)),
        ];
        assert_eq!(both.write(&back, Atomicity::RollbackOnError, T0), [Code::Ok; 7]);
        assert_eq!(both.read(everything(), T0), kept);
    }
}

#[test]
fn a_pipeline_that_cannot_run_leaves_the_old_one() {
    let mut both = Both::new();
    let entry = exact(&both, 1, 1, 6);
    let insert = [update(Type::Insert, Kind::TableEntry(entry))];
    assert_eq!(both.write(&insert, Atomicity::ContinueOnError, T0), [Code::Ok]);
    let packet = [0, 0, 0, 1, 0, 1, 0, 0];
    let time = std::time::Duration::from_nanos(T0.0);
    let sent = both.ports.process(1, &packet, time).expect("runs");
    assert_eq!(sent.len(), 1);

    let good = config(PROGRAM);
    let no_text = v1::ForwardingPipelineConfig {
        p4_device_config: Bytes::from_static(b"\xff"),
        ..good.clone()
    };
    let no_program = v1::ForwardingPipelineConfig {
        p4_device_config: Bytes::from_static(b"control C() { }"),
        ..good.clone()
    };
    let renamed = v1::ForwardingPipelineConfig {
        p4_device_config: PROGRAM.replace("exact_match", "another").into(),
        ..good
    };
    for (config, says) in
        [(no_text, "not text"), (no_program, "pushed.p4"), (renamed, "'I.exact_match'")]
    {
        for action in [
            Action::Verify,
            Action::VerifyAndSave,
            Action::VerifyAndCommit,
            Action::ReconcileAndCommit,
        ] {
            let request = v1::SetForwardingPipelineConfigRequest {
                device_id: DEVICE,
                election_id: Some(v1::Uint128 { high: 0, low: 1 }),
                action: action.into(),
                config: Some(config.clone()),
                ..Default::default()
            };
            let refused = both.interpreted.set_pipeline(request, T0, &mut Vec::new());
            let error = refused.expect_err("it cannot run");
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(says), "{error}");
        }
    }
    assert_eq!(both.ports.process(1, &packet, time).expect("runs"), sent);
}
