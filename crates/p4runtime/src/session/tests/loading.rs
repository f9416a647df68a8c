//! Tests of pipelines that are loaded apart from the device.

use std::sync::atomic::{AtomicU32, Ordering};

use ::entities::{DataPlane, schema::Schema};
use v1::set_forwarding_pipeline_config_request::Action;

use super::*;

/// A target of emulated switches that counts loads, and panics on request.
#[derive(Clone, Debug, Default)]
struct Counting(Arc<AtomicU32>);

impl Target for Counting {
    fn load(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(device_config != b"panic", "told to panic");
        EmulatedTarget.load(schema, device_config)
    }

    fn is_slow(&self) -> bool {
        true
    }
}

impl Counting {
    fn loads(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Creates a device with a primary on stream 1 and a committed pipeline.
    fn switch(&self) -> Switch {
        let registry = Arc::new(PipelineRegistry::new());
        let target = Box::new(self.clone());
        let device = Device::over(target, DEVICE, DeviceOptions::default(), registry);
        let mut switch = Switch { device, effects: Vec::new() };
        switch.arbitrate(1, "", 1);
        switch.commit(pipeline(p4info(), 1)).expect("committed");
        switch
    }
}

fn begin(
    switch: &mut Switch,
    action: Action,
    config: v1::ForwardingPipelineConfig,
) -> Result<PipelineLoad, Code> {
    let request = v1::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: id(1),
        action: action as i32,
        config: Some(config),
        ..Default::default()
    };
    match switch.device.begin_pipeline(request, T0, &mut switch.effects) {
        Ok(PushProgress::Load(load)) => Ok(*load),
        Ok(PushProgress::Done) => panic!("{action:?} loads a pipeline"),
        Err(error) => Err(error.code()),
    }
}

#[test]
fn writes_continue_during_a_load_and_other_pushes_are_refused() {
    let mut switch = Counting::default().switch();
    let other = || pipeline(p4info_without(OTHER_TABLE), 2);
    let load = begin(&mut switch, Action::ReconcileAndCommit, other()).expect("begun");
    assert_eq!(switch.write(vec![insert(host(TABLE, 1, 1))]), Ok(vec![Code::Ok]));
    for action in [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit] {
        assert_eq!(switch.set(action, Some(other())), Err(Code::Unavailable));
    }
    assert_eq!(switch.set(Action::Commit, None), Err(Code::Unavailable));

    let loaded = load.run().expect("loaded");
    assert_eq!(switch.set(Action::Verify, Some(other())), Err(Code::Unavailable));
    switch.device.loaded(loaded, T0, &mut switch.effects).expect("committed");
    // Entities that were written during the load are carried over.
    assert_eq!(switch.read("", vec![table(TABLE)]).map(|found| found.len()), Ok(1));
    assert_eq!(switch.set(Action::Verify, Some(other())), Ok(()));
}

#[test]
fn an_abandoned_load_frees_the_device() {
    let mut switch = Counting::default().switch();
    let load = begin(&mut switch, Action::VerifyAndCommit, pipeline(p4info(), 2));
    drop(load.expect("begun"));
    let load = begin(&mut switch, Action::VerifyAndCommit, pipeline(p4info(), 3));
    drop(load.expect("begun").run().expect("loaded"));
    assert_eq!(switch.set(Action::VerifyAndCommit, Some(pipeline(p4info(), 4))), Ok(()));
}

#[test]
fn a_controller_that_is_no_longer_primary_commits_nothing() {
    for action in [Action::VerifyAndSave, Action::VerifyAndCommit, Action::ReconcileAndCommit] {
        let mut switch = Counting::default().switch();
        let other = pipeline(p4info_without(OTHER_TABLE), 2);
        let load = begin(&mut switch, action, other).expect("begun");
        let loaded = load.run().expect("loaded");
        switch.arbitrate(2, "", 2);
        let before = switch.device.pipeline().cloned();
        let error = switch.device.loaded(loaded, T0, &mut switch.effects).expect_err("a backup");
        assert_eq!(error.code(), Code::PermissionDenied);
        let after = switch.device.pipeline().cloned();
        assert!(Option::zip(before, after).is_some_and(|(one, two)| Arc::ptr_eq(&one, &two)));
        // No pipeline is saved either.
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: id(2),
            action: Action::Commit as i32,
            ..Default::default()
        };
        let outcome = switch.device.set_pipeline(request, T0, &mut switch.effects);
        assert_eq!(outcome.map_err(|error| error.code()), Err(Code::NotFound));
    }
}

#[test]
fn only_a_push_of_another_pipeline_loads_one() {
    let target = Counting::default();
    let mut switch = target.switch();
    let log = super::log::Log::default();
    switch.device.set_log(Box::new(log.clone()));
    assert_eq!(target.loads(), 1);
    switch.device.record_all(T0).expect("recorded");
    switch.write(vec![insert(host(TABLE, 1, 1))]).expect("written");
    log.make_long();
    switch.write(vec![insert(host(TABLE, 2, 1))]).expect("written");
    switch.set(Action::ReconcileAndCommit, Some(pipeline(p4info(), 7))).expect("the same");
    assert_eq!((target.loads(), log.replacements()), (1, 3));

    let other = pipeline(p4info_without(OTHER_TABLE), 2);
    switch.set(Action::VerifyAndSave, Some(other)).expect("saved");
    switch.set(Action::Commit, None).expect("committed");
    let back = pipeline(p4info(), 3);
    switch.set(Action::ReconcileAndCommit, Some(back)).expect("reconciled");
    assert_eq!((target.loads(), log.replacements()), (3, 5));
}

#[test]
fn a_panic_becomes_an_internal_error() {
    let mut switch = Counting::default().switch();
    let mut config = pipeline(p4info(), 2);
    config.p4_device_config = Bytes::from_static(b"panic");
    let load = begin(&mut switch, Action::VerifyAndCommit, config).expect("begun");
    let error = load.run().expect_err("it panics");
    assert_eq!(error.code(), Code::Internal);
    assert!(error.message().contains("told to panic"), "{}", error.message());
    assert_eq!(switch.commit(pipeline(p4info(), 3)), Ok(()));
}

/// A rehearsal in which some pipelines fail.
#[derive(Debug)]
struct Stage;

impl Rehearsal for Stage {
    fn rehearse(&self, config: &v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        if config.p4_device_config.starts_with(b"huge") {
            return Err(EntityError::exhausted("too large"));
        }
        Ok(())
    }
}

#[test]
fn a_pipeline_that_fails_its_rehearsal_is_not_loaded() {
    let target = Counting::default();
    let mut switch = target.switch();
    switch.device.set_rehearsal(Arc::new(Stage));
    let mut config = pipeline(p4info(), 2);
    config.p4_device_config = Bytes::from_static(b"huge");
    assert_eq!(switch.commit(config), Err(Code::ResourceExhausted));
    assert_eq!(target.loads(), 1);
    assert_eq!(switch.commit(pipeline(p4info(), 3)), Ok(()));
}
