//! Tests of `SetForwardingPipelineConfig` and `GetForwardingPipelineConfig`: the actions from
//! `VERIFY` to `RECONCILE_AND_COMMIT`, and which entities survive them.

use v1::{
    forwarding_pipeline_config::Cookie, get_forwarding_pipeline_config_request::ResponseType,
    set_forwarding_pipeline_config_request::Action,
};

use super::*;

fn get(switch: &Switch, response_type: i32) -> Result<v1::ForwardingPipelineConfig, Code> {
    let request = v1::GetForwardingPipelineConfigRequest { device_id: DEVICE, response_type };
    let response = switch.device.get_pipeline(&request).map_err(|error| error.code())?;
    Ok(response.config.expect("config"))
}

/// Returns the cookie of the running pipeline, by which the tests recognise it.
fn cookie(switch: &Switch) -> Result<u64, Code> {
    get(switch, ResponseType::CookieOnly as i32).map(|config| config.cookie.expect("set").cookie)
}

/// Returns the number of pipelines that were committed since the last call.
fn committed(switch: &mut Switch) -> usize {
    let is_commit = |effect: &&Effect| matches!(effect, Effect::PipelineCommitted(_));
    let count = switch.effects.iter().filter(is_commit).count();
    switch.effects.clear();
    count
}

#[test]
fn without_a_pipeline_the_error_has_the_text_that_clients_expect() {
    let switch = Switch::new(DeviceOptions::default());
    let request =
        v1::GetForwardingPipelineConfigRequest { device_id: DEVICE, ..Default::default() };
    let error = switch.device.get_pipeline(&request).expect_err("nothing there");
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert_eq!(error.message(), "No forwarding pipeline config set for this device.");
}

#[test]
fn each_response_type_has_its_fields() {
    let switch = Switch::ready(DeviceOptions::default());
    let whole = pipeline(p4info(), 1);
    let none = v1::ForwardingPipelineConfig { cookie: whole.cookie, ..Default::default() };
    let expected = [
        (ResponseType::All, whole.clone()),
        (ResponseType::CookieOnly, none.clone()),
        (
            ResponseType::P4infoAndCookie,
            v1::ForwardingPipelineConfig { p4info: whole.p4info, ..none.clone() },
        ),
        (
            ResponseType::DeviceConfigAndCookie,
            v1::ForwardingPipelineConfig { p4_device_config: whole.p4_device_config, ..none },
        ),
    ];
    for (response_type, expected) in expected {
        assert_eq!(get(&switch, response_type as i32), Ok(expected));
    }
    assert_eq!(get(&switch, 77), Err(Code::InvalidArgument));
}

#[test]
fn a_missing_cookie_stays_missing() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 1);
    let config = v1::ForwardingPipelineConfig { cookie: None, ..pipeline(p4info(), 0) };
    switch.commit(config).expect("committed");
    assert_eq!(get(&switch, 1).map(|config| config.cookie), Ok(None));
    switch.commit(pipeline(p4info(), 0)).expect("committed");
    let zero = Some(Cookie { cookie: 0 });
    assert_eq!(get(&switch, 1).map(|config| config.cookie), Ok(zero));
}

#[test]
fn only_the_primary_may_push_and_the_checks_have_an_order() {
    let mut switch = Switch::new(DeviceOptions::default());
    let request = |device_id, role: &str, election_id| v1::SetForwardingPipelineConfigRequest {
        device_id,
        role: role.to_owned(),
        election_id,
        action: Action::VerifyAndCommit as i32,
        config: Some(pipeline(p4info(), 1)),
        ..Default::default()
    };
    switch.arbitrate(1, "", 5);
    let cases = [
        (request(DEVICE + 1, "stranger", None), Err(Code::NotFound)),
        (request(DEVICE, "stranger", id(5)), Err(Code::NotFound)),
        (request(DEVICE, "", None), Err(Code::PermissionDenied)),
        (request(DEVICE, "", id(4)), Err(Code::PermissionDenied)),
        (request(DEVICE, "", id(5)), Ok(())),
    ];
    for (request, expected) in cases {
        let outcome = switch.device.set_pipeline(request, T0, &mut switch.effects);
        assert_eq!(outcome.map_err(|error| error.code()), expected);
    }
}

#[test]
fn invalid_pipelines_are_refused_and_change_nothing() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let mut broken = p4info();
    broken.tables[1].preamble = broken.tables[0].preamble.clone();
    let no_p4info = v1::ForwardingPipelineConfig { p4info: None, ..pipeline(p4info(), 2) };
    for action in
        [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit, Action::ReconcileAndCommit]
    {
        for config in [None, Some(no_p4info.clone()), Some(pipeline(broken.clone(), 2))] {
            assert_eq!(switch.set(action, config), Err(Code::InvalidArgument), "{action:?}");
        }
    }
    let unspecified = switch.set(Action::Unspecified, Some(pipeline(p4info(), 2)));
    assert_eq!(unspecified, Err(Code::InvalidArgument));
    assert_eq!(cookie(&switch), Ok(1));
    assert_eq!(committed(&mut switch), 0);
}

#[test]
fn verify_changes_nothing() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write(vec![insert(host(TABLE, 1, 1))]).expect("written");
    assert_eq!(switch.set(Action::Verify, Some(pipeline(p4info_without(TABLE), 2))), Ok(()));
    assert_eq!(cookie(&switch), Ok(1));
    assert_eq!(switch.read("", vec![table(0)]), Ok(vec![host(TABLE, 1, 1)]));
    assert_eq!(switch.set(Action::Commit, None), Err(Code::NotFound));
    assert_eq!(committed(&mut switch), 0);
}

#[test]
fn verify_and_commit_clears_the_forwarding_state() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write(vec![insert(host(TABLE, 1, 1))]).expect("written");
    switch.commit(pipeline(p4info(), 2)).expect("committed");
    assert_eq!(committed(&mut switch), 1);
    assert_eq!(cookie(&switch), Ok(2));
    assert_eq!(switch.read("", vec![table(0)]), Ok(vec![]));
}

#[test]
fn a_saved_pipeline_takes_writes_before_it_is_committed() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.write(vec![insert(host(TABLE, 1, 1))]).expect("written");
    let next = pipeline(p4info_without(TABLE), 2);
    assert_eq!(switch.set(Action::VerifyAndSave, Some(next)), Ok(()));
    assert_eq!(committed(&mut switch), 0);
    // The device still runs the first pipeline, so the cookie that a controller reads is that of
    // the first.
    assert_eq!(cookie(&switch), Ok(1));
    let updates = vec![insert(host(TABLE, 2, 1)), insert(host(OTHER_TABLE, 2, 1))];
    assert_eq!(switch.write(updates), Ok(vec![Code::InvalidArgument, Code::Ok]));
    assert_eq!(switch.read("", vec![table(0)]), Ok(vec![host(OTHER_TABLE, 2, 1)]));

    assert_eq!(switch.set(Action::Commit, None), Ok(()));
    assert_eq!(committed(&mut switch), 1);
    assert_eq!(cookie(&switch), Ok(2));
    assert_eq!(switch.read("", vec![table(0)]), Ok(vec![host(OTHER_TABLE, 2, 1)]));
    assert_eq!(switch.set(Action::Commit, None), Err(Code::NotFound));
}

#[test]
fn commit_takes_no_configuration() {
    let mut switch = Switch::ready(DeviceOptions::default());
    switch.set(Action::VerifyAndSave, Some(pipeline(p4info(), 2))).expect("saved");
    let given = switch.set(Action::Commit, Some(pipeline(p4info(), 2)));
    assert_eq!(given, Err(Code::InvalidArgument));
    // Python clients send an empty message for "none".
    let empty = Some(v1::ForwardingPipelineConfig::default());
    assert_eq!(switch.set(Action::Commit, empty), Ok(()));
    assert_eq!(cookie(&switch), Ok(2));
}

#[test]
fn the_first_pipeline_may_be_saved_and_committed_too() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 1);
    switch.set(Action::VerifyAndSave, Some(pipeline(p4info(), 2))).expect("saved");
    assert_eq!(cookie(&switch), Err(Code::FailedPrecondition));
    assert_eq!(switch.write(vec![insert(host(TABLE, 1, 1))]), Ok(vec![Code::Ok]));
    switch.set(Action::Commit, None).expect("committed");
    assert_eq!(cookie(&switch), Ok(2));
}

/// Returns the entity of a counter that has counted `packets` packets.
fn counted(index: i64, packets: i64) -> v1::Entity {
    let entry = v1::CounterEntry {
        counter_id: COUNTER,
        index: Some(v1::Index { index }),
        data: Some(v1::CounterData { byte_count: 0, packet_count: packets }),
    };
    v1::Entity { entity: Some(Kind::CounterEntry(entry)) }
}

/// Returns the wildcard that selects every counter in a read.
fn all_counters() -> v1::Entity {
    v1::Entity { entity: Some(Kind::CounterEntry(v1::CounterEntry::default())) }
}

/// Writes an entry to each of the two tables, and a counter.
fn populate(switch: &mut Switch) {
    let modify = v1::Update { r#type: UpdateType::Modify as i32, entity: Some(counted(1, 9)) };
    let updates = vec![insert(host(TABLE, 1, 1)), insert(host(OTHER_TABLE, 2, 1)), modify];
    assert_eq!(switch.write(updates), Ok(vec![Code::Ok; 3]));
}

#[test]
fn reconcile_keeps_entities_that_fit_the_new_pipeline() {
    let mut switch = Switch::ready(DeviceOptions::default());
    populate(&mut switch);
    // The first new pipeline differs only in its cookie; the second also in the size of a table.
    let same = pipeline(p4info(), 2);
    let mut larger = p4info();
    larger.tables[1].size = 99;
    for (cookie_of, config) in [(2, same), (3, pipeline(larger, 3))] {
        assert_eq!(switch.set(Action::ReconcileAndCommit, Some(config)), Ok(()));
        assert_eq!(cookie(&switch), Ok(cookie_of));
        let kept = switch.read("", vec![table(0)]);
        assert_eq!(kept, Ok(vec![host(TABLE, 1, 1), host(OTHER_TABLE, 2, 1)]));
        let counters = switch.read("", vec![all_counters()]);
        assert_eq!(counters, Ok(vec![counted(0, 0), counted(1, 9), counted(2, 0)]));
    }
    assert_eq!(committed(&mut switch), 2);
}

/// A table's constant default entry cannot be written as an entry, but its direct counter and
/// direct meter can.
#[test]
fn reconcile_keeps_the_direct_resources_of_a_constant_default_entry() {
    let with_size = |size, number| {
        let extra = r#"
            actions { preamble { id: 0x01000002 name: "NoAction" alias: "NoAction" } }
            direct_counters {
              preamble { id: 0x13000001 name: "counted" alias: "counted" }
              spec { unit: BOTH } direct_table_id: 0x02000002
            }
            direct_meters {
              preamble { id: 0x15000001 name: "metered" alias: "metered" }
              spec { unit: BYTES } direct_table_id: 0x02000002
            }
        "#;
        let mut p4info = text::parse(&format!("{P4INFO}{extra}")).expect("valid text");
        let routes = &mut p4info.tables[1];
        let default_only = crate::proto::config::ActionRef {
            id: 0x0100_0002,
            scope: crate::proto::config::action_ref::Scope::DefaultOnly as i32,
            ..Default::default()
        };
        routes.action_refs.push(default_only);
        routes.const_default_action_id = 0x0100_0002;
        routes.direct_resource_ids = vec![0x1300_0001, 0x1500_0001];
        routes.size = size;
        pipeline(p4info, number)
    };
    let entry = v1::TableEntry {
        table_id: OTHER_TABLE,
        is_default_action: true,
        ..v1::TableEntry::default()
    };
    let counter = Kind::DirectCounterEntry(v1::DirectCounterEntry {
        table_entry: Some(entry.clone()),
        data: Some(v1::CounterData { byte_count: 640, packet_count: 10 }),
    });
    let meter = Kind::DirectMeterEntry(v1::DirectMeterEntry {
        table_entry: Some(entry),
        config: Some(v1::MeterConfig { cir: 1, cburst: 2, pir: 3, pburst: 4, eburst: 0 }),
        counter_data: None,
    });
    let entities = [counter, meter].map(|kind| v1::Entity { entity: Some(kind) });

    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 1);
    assert_eq!(switch.commit(with_size(16, 1)), Ok(()));
    let updates = entities
        .clone()
        .map(|entity| v1::Update { r#type: UpdateType::Modify as i32, entity: Some(entity) });
    assert_eq!(switch.write(updates.to_vec()), Ok(vec![Code::Ok; 2]));
    assert_eq!(switch.set(Action::ReconcileAndCommit, Some(with_size(17, 2))), Ok(()));
    assert_eq!(switch.read("", entities.to_vec()), Ok(entities.to_vec()));
}

#[test]
fn reconcile_refuses_to_lose_an_entry() {
    let mut switch = Switch::ready(DeviceOptions::default());
    populate(&mut switch);
    let smaller = pipeline(p4info_without(TABLE), 2);
    let outcome = switch.set(Action::ReconcileAndCommit, Some(smaller));
    assert_eq!(outcome, Err(Code::InvalidArgument));
    assert_eq!(cookie(&switch), Ok(1));
    assert_eq!(switch.read("", vec![table(0)]).map(|found| found.len()), Ok(2));
    assert_eq!(committed(&mut switch), 0);
}

#[test]
fn reconcile_drops_entries_if_configured() {
    let options = DeviceOptions { reconcile: Reconcile::Drop, ..Default::default() };
    let mut switch = Switch::ready(options);
    populate(&mut switch);
    let smaller = pipeline(p4info_without(TABLE), 2);
    assert_eq!(switch.set(Action::ReconcileAndCommit, Some(smaller)), Ok(()));
    assert_eq!(switch.read("", vec![table(0)]), Ok(vec![host(OTHER_TABLE, 2, 1)]));
    assert_eq!(
        switch.read("", vec![all_counters()]).map(|found| found[1].clone()),
        Ok(counted(1, 9))
    );
}

#[test]
fn reconcile_needs_no_earlier_pipeline() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 1);
    assert_eq!(switch.set(Action::ReconcileAndCommit, Some(pipeline(p4info(), 4))), Ok(()));
    assert_eq!(cookie(&switch), Ok(4));
}

#[test]
fn devices_with_one_registry_share_their_pipeline() {
    let registry = Arc::new(PipelineRegistry::new());
    let load = |number| {
        let device = Device::new(DEVICE, DeviceOptions::default(), Arc::clone(&registry));
        let mut switch = Switch { device, effects: Vec::new() };
        switch.arbitrate(1, "", 1);
        switch.commit(pipeline(p4info(), number)).expect("committed");
        switch
    };
    let (one, two) = (load(1), load(2));
    let pipelines = [&one, &two].map(|switch| switch.device.pipeline().expect("committed"));
    assert!(Arc::ptr_eq(pipelines[0], pipelines[1]));
    assert_eq!((cookie(&one), cookie(&two)), (Ok(1), Ok(2)));
}

#[test]
fn the_version_is_a_semantic_one() {
    assert_eq!(Device::capabilities().p4runtime_api_version, "1.5.0");
}
