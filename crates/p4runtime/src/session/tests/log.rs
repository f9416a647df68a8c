//! Tests of the contents of the owner's log, and of the fate of requests that it refuses.

use std::sync::{Mutex, MutexGuard, PoisonError};

use v1::{set_forwarding_pipeline_config_request::Action, write_request::Atomicity};

use super::*;

/// A log that can be set to refuse.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Arc<Mutex<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    config: Option<v1::ForwardingPipelineConfig>,
    updates: Vec<v1::Update>,
    refuses: bool,
    is_long: bool,
    replacements: u32,
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn make_long(&self) {
        self.lock().is_long = true;
    }

    pub(super) fn replacements(&self) -> u32 {
        self.lock().replacements
    }

    fn check(&self) -> Result<(), EntityError> {
        if self.lock().refuses {
            return Err(EntityError::new(Code::Unavailable, "the disk is full"));
        }
        Ok(())
    }

    /// Returns a device that was restored from the log.
    fn restored(&self) -> Switch {
        let mut switch = Switch::new(DeviceOptions::default());
        let recorded = self.lock();
        switch.device.preload(recorded.config.clone().expect("one ran")).expect("it ran before");
        switch.device.install(&recorded.updates, T0).expect("it was there before");
        switch
    }
}

impl WriteLog for Log {
    fn append(&mut self, written: Written<'_>) -> Result<(), EntityError> {
        self.check()?;
        let Written { updates, outcomes, .. } = written;
        assert_eq!(updates.len(), outcomes.len());
        let accepted = updates.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
        let accepted: Vec<_> = accepted.map(|(update, _)| update.clone()).collect();
        assert!(!accepted.is_empty());
        self.lock().updates.extend(accepted);
        Ok(())
    }

    fn begin(&mut self, config: v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        self.replace(config, &[], &mut |_| Ok(()))
    }

    fn replace(
        &mut self,
        config: v1::ForwardingPipelineConfig,
        _pairs: &[::entities::TranslationPair],
        state: &mut StateVisitor<'_>,
    ) -> Result<(), EntityError> {
        self.check()?;
        let mut updates = Vec::new();
        state(&mut |update| updates.push(update))?;
        let mut recorded = self.lock();
        recorded.config = Some(config);
        recorded.updates = updates;
        recorded.is_long = false;
        recorded.replacements += 1;
        Ok(())
    }

    fn is_long(&self) -> bool {
        self.lock().is_long
    }
}

fn logged() -> (Switch, Log) {
    let mut switch = Switch::new(DeviceOptions::default());
    let log = Log::default();
    switch.device.set_log(Box::new(log.clone()));
    switch.arbitrate(1, "", 1);
    switch.commit(pipeline(p4info(), 1)).expect("committed");
    switch.effects.clear();
    (switch, log)
}

fn update(kind: UpdateType, entity: v1::Entity) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(entity) }
}

/// Returns all entities and the configuration, as a controller reads them.
fn found(switch: &Switch) -> (Vec<v1::Entity>, Option<v1::ForwardingPipelineConfig>) {
    let request =
        v1::GetForwardingPipelineConfigRequest { device_id: DEVICE, ..Default::default() };
    let config = switch.device.get_pipeline(&request).ok().and_then(|response| response.config);
    (switch.read("", vec![table(0)]).unwrap_or_default(), config)
}

/// Whatever was written, accepted or refused, a device that is restored from the log equals the
/// original.
#[test]
fn a_restored_device_is_as_it_was() {
    let (mut switch, log) = logged();
    let batches = [
        vec![insert(host(TABLE, 1, 1)), insert(host(TABLE, 1, 2)), insert(host(OTHER_TABLE, 2, 1))],
        vec![update(UpdateType::Modify, host(TABLE, 1, 7)), insert(host(TABLE, 3, 1))],
        vec![update(UpdateType::Delete, host(TABLE, 9, 1))],
        vec![update(UpdateType::Delete, host(TABLE, 3, 1))],
    ];
    for (number, batch) in batches.into_iter().enumerate() {
        switch.write(batch).expect("carried out");
        assert_eq!(found(&log.restored()), found(&switch), "batch {number}");
    }
    log.lock().is_long = true;
    switch.write(vec![insert(host(TABLE, 4, 1))]).expect("carried out");
    assert_eq!(log.lock().replacements, 2);
    assert_eq!(found(&log.restored()), found(&switch));
}

/// A write that cannot be recorded is undone, regardless of its atomicity, and the controller
/// receives the error.
#[test]
fn a_write_that_cannot_be_recorded_is_undone() {
    for atomicity in
        [Atomicity::ContinueOnError, Atomicity::RollbackOnError, Atomicity::DataplaneAtomic]
    {
        let (mut switch, log) = logged();
        switch.write(vec![insert(host(TABLE, 1, 1)), insert(host(TABLE, 2, 1))]).expect("there");
        let before = found(&switch);
        let request = v1::WriteRequest {
            device_id: DEVICE,
            election_id: id(1),
            updates: vec![
                insert(host(TABLE, 3, 1)),
                update(UpdateType::Modify, host(TABLE, 1, 5)),
                update(UpdateType::Delete, host(TABLE, 2, 1)),
            ],
            atomicity: atomicity as i32,
            ..Default::default()
        };
        log.lock().refuses = true;
        let outcomes = switch.write_request(&request).expect("it was tried");
        assert_eq!(outcomes, [Code::Unavailable; 3], "{atomicity:?}");
        assert_eq!(found(&switch), before, "{atomicity:?}");
        log.lock().refuses = false;
        assert_eq!(switch.write_request(&request), Ok(vec![Code::Ok; 3]), "{atomicity:?}");
        assert_eq!(found(&log.restored()), found(&switch), "{atomicity:?}");
    }
}

/// Requests that change nothing need no record.
#[test]
fn batches_without_changes_succeed_although_nothing_can_be_recorded() {
    let (mut switch, log) = logged();
    log.lock().refuses = true;
    let unknown = update(UpdateType::Delete, host(TABLE, 9, 1));
    assert_eq!(switch.write(vec![unknown]), Ok(vec![Code::NotFound]));
    assert_eq!(switch.write(vec![]), Ok(vec![]));
}

/// A pipeline that cannot be recorded does not run, and the previous one keeps running with all its
/// entities.
#[test]
fn a_pipeline_that_cannot_be_recorded_is_not_committed() {
    let smaller = || Some(pipeline(p4info_without(OTHER_TABLE), 2));
    let same = || Some(pipeline(p4info(), 2));
    let pushes = [
        (Action::VerifyAndCommit, smaller()),
        (Action::ReconcileAndCommit, smaller()),
        (Action::ReconcileAndCommit, same()),
    ];
    for (action, config) in pushes {
        let (mut switch, log) = logged();
        switch.write(vec![insert(host(TABLE, 1, 1))]).expect("there is room");
        let before = found(&switch);
        log.lock().refuses = true;
        assert_eq!(switch.set(action, config.clone()), Err(Code::Unavailable), "{action:?}");
        assert_eq!(found(&switch), before, "{action:?}");
        assert!(switch.effects.is_empty(), "{action:?}");
        log.lock().refuses = false;
        assert_eq!(switch.set(action, config), Ok(()), "{action:?}");
        assert_ne!(found(&switch).1, before.1, "{action:?}");
        assert_eq!(found(&log.restored()), found(&switch), "{action:?}");
    }
}

/// A saved pipeline and the writes to it are recorded only when it is committed.
#[test]
fn a_saved_pipeline_is_recorded_when_it_is_committed() {
    let (mut switch, log) = logged();
    let config = Some(pipeline(p4info_without(OTHER_TABLE), 2));
    log.lock().refuses = true;
    assert_eq!(switch.set(Action::VerifyAndSave, config), Ok(()));
    assert_eq!(switch.write(vec![insert(host(TABLE, 8, 1))]), Ok(vec![Code::Ok]));
    assert_eq!(switch.set(Action::Commit, None), Err(Code::Unavailable));
    log.lock().refuses = false;
    assert_eq!(switch.set(Action::Commit, None), Ok(()));
    let (entries, running) = found(&switch);
    assert_eq!(entries, [host(TABLE, 8, 1)]);
    assert_eq!(running.and_then(|config| config.cookie).map(|cookie| cookie.cookie), Some(2));
    assert_eq!(found(&log.restored()), found(&switch));
}
