//! The configuration of a device's pipeline: loading, committing and reading it.
//!
//! The rules are those of the P4Runtime specification 1.5, sections "SetForwardingPipelineConfig
//! RPC" and "GetForwardingPipelineConfig RPC". A saved pipeline has its own forwarding state, which
//! is empty at first. Reads and Writes refer to that state until COMMIT replaces the running
//! pipeline and its state with the saved ones. This implements the replay of writes that the
//! specification describes, without keeping a list of writes.

use std::sync::Arc;

use bytes::Bytes;
use entities::DataPlane;

use super::{
    Device, Durable, Effect, LoadedPipeline, Pipeline, PipelineLoad, Reconcile, Rehearsal,
    WriteLog, initial::InitialEntities, no_pipeline,
};
use crate::{
    arbitration::RoleKey,
    p4info::DigestId,
    proto::v1::{
        self, entity::Entity as Kind, forwarding_pipeline_config::Cookie,
        get_forwarding_pipeline_config_request::ResponseType,
        packet_replication_engine_entry::Type as Replication,
        set_forwarding_pipeline_config_request::Action, update::Type as UpdateType,
    },
    status::{Code, EntityError},
    store::{Nanos, Store},
};

/// A loaded pipeline of a device, with its cookie and its forwarding state (entries, counters and
/// the like).
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) cookie: Option<Cookie>,
    pub(super) store: Store<Box<dyn DataPlane>>,
    /// The entities that the forwarding state contained before anything was written to it.
    pub(super) initial: InitialEntities,
}

/// The parts of a SetForwardingPipelineConfig request that are needed after its pipeline has been
/// loaded.
#[derive(Debug)]
pub(super) struct Push {
    action: Action,
    sender: Sender,
    /// A token that marks the device as busy with loading as long as it exists.
    _busy: Arc<()>,
}

/// The identity of the sender of a SetForwardingPipelineConfig request.
#[derive(Debug)]
struct Sender {
    role: RoleKey,
    election_id: Option<v1::Uint128>,
}

/// The state of a SetForwardingPipelineConfig request after it was begun.
#[derive(Debug)]
pub enum PushProgress {
    /// The request was executed.
    Done,
    /// The pipeline must be loaded first, and then passed to [`Device::loaded`], which executes the
    /// request.
    Load(Box<PipelineLoad>),
}

impl Loaded {
    /// Returns this pipeline in the form of the message with which a controller would push it.
    fn config(&self) -> v1::ForwardingPipelineConfig {
        v1::ForwardingPipelineConfig {
            p4info: Some(self.pipeline.p4info().clone()),
            p4_device_config: self.pipeline.device_config().clone(),
            cookie: self.cookie,
        }
    }

    pub(super) fn has_digest(&self, digest_id: u32) -> bool {
        self.pipeline.schema().digests().get(DigestId(digest_id)).is_some()
    }

    pub(super) fn expired(&mut self, now: Nanos) -> Vec<v1::TableEntry> {
        self.store.expire(now)
    }

    pub(super) fn next_expiry(&self) -> Option<Nanos> {
        self.store.next_expiry()
    }
}

impl Device {
    /// Executes a SetForwardingPipelineConfig request, and blocks until its pipeline is loaded.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Device::begin_pipeline`] and [`Device::loaded`]. The device is then
    /// unchanged.
    pub fn set_pipeline(
        &mut self,
        request: v1::SetForwardingPipelineConfigRequest,
        now: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EntityError> {
        match self.begin_pipeline(request, now, effects)? {
            PushProgress::Done => Ok(()),
            PushProgress::Load(load) => {
                load.rehearse()?;
                self.loaded(load.run()?, now, effects)
            }
        }
    }

    /// Begins a SetForwardingPipelineConfig request. A request that needs no new pipeline is
    /// executed immediately. For any other request, the pipeline to load is returned.
    ///
    /// # Errors
    ///
    /// Returns an error if the sender lacks permission, if the request is invalid, if there is
    /// nothing to commit, if the log cannot record the request, or while another pipeline is being
    /// loaded. The device is then unchanged.
    pub fn begin_pipeline(
        &mut self,
        request: v1::SetForwardingPipelineConfigRequest,
        now: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<PushProgress, EntityError> {
        self.check_device(request.device_id)?;
        let sender = Sender {
            role: RoleKey::new(&request.role, request.role_id),
            election_id: request.election_id,
        };
        self.check_sender(&sender)?;
        if self.loading.strong_count() > 0 {
            let message = format!(
                "Device {} is loading another pipeline; try again when that has ended.",
                self.id
            );
            return Err(EntityError::new(Code::Unavailable, message));
        }
        let action = match Action::try_from(request.action) {
            Ok(Action::Unspecified) | Err(_) => {
                return Err(invalid(format!("Action {} is not defined.", request.action)));
            }
            Ok(action) => action,
        };
        if action == Action::Commit {
            // Python clients set an empty message merely by reading the field.
            if request.config.is_some_and(|config| config != Default::default()) {
                return Err(invalid("COMMIT takes no configuration; it commits the saved one."));
            }
            self.commit_saved(now, effects)?;
            return Ok(PushProgress::Done);
        }
        let config = request.config.ok_or_else(|| invalid("The request has no configuration."))?;
        if action == Action::ReconcileAndCommit && self.runs(&config) {
            self.go_on_with(config.cookie, now, effects)?;
            return Ok(PushProgress::Done);
        }
        let busy = Arc::new(());
        self.loading = Arc::downgrade(&busy);
        let push = Push { action, sender, _busy: busy };
        Ok(PushProgress::Load(Box::new(self.load(push, config, now))))
    }

    /// Executes the request whose pipeline was loaded.
    ///
    /// # Errors
    ///
    /// Returns an error if the sender has lost its permission (for example because another
    /// controller has become primary), if the pipeline cannot hold the entities that it must keep
    /// from the running one, or if the log cannot record the request. The device is then unchanged.
    pub fn loaded(
        &mut self,
        pipeline: LoadedPipeline,
        now: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EntityError> {
        let LoadedPipeline { push, mut loaded } = pipeline;
        self.check_sender(&push.sender)?;
        match push.action {
            Action::VerifyAndSave => {
                self.prepare_references(&mut loaded, now)?;
                self.saved = Some(loaded);
                return Ok(());
            }
            Action::VerifyAndCommit => {
                self.prepare_references(&mut loaded, now)?;
                if let Some(log) = &mut self.log {
                    log.begin(loaded.config())?;
                }
            }
            Action::ReconcileAndCommit => {
                if let Some(running) = &self.committed {
                    let Loaded { store, initial, .. } = running;
                    let policy = self.options.reconcile;
                    reconcile(initial, store, &mut loaded.store, policy, now)?;
                }
                self.prepare_references(&mut loaded, now)?;
                self.record(&loaded, now)?;
            }
            // These actions load no pipeline.
            Action::Verify | Action::Commit | Action::Unspecified => return Ok(()),
        }
        self.commit(loaded, effects);
        Ok(())
    }

    /// Makes the device check references between entities from now on, in the running pipeline and
    /// in those that will be pushed. When a device is restored, this is called after its entities
    /// have been written, because they need not be in an order in which each entity follows those
    /// that it refers to.
    ///
    /// # Errors
    ///
    /// Returns an error if references of the running pipeline cannot be checked.
    pub fn check_references(&mut self, now: Nanos) -> Result<(), EntityError> {
        self.options.check_references = true;
        for loaded in [&mut self.saved, &mut self.committed].into_iter().flatten() {
            loaded.store.check_references(now).map_err(|error| invalid(error.to_string()))?;
        }
        Ok(())
    }

    /// If the device checks references, makes a new pipeline check them, starting with the entities
    /// that it contains.
    fn prepare_references(&self, loaded: &mut Loaded, now: Nanos) -> Result<(), EntityError> {
        if !self.options.check_references {
            return Ok(());
        }
        let refuse = |error| invalid(format!("References cannot be checked: {error}"));
        loaded.store.check_references(now).map_err(refuse)
    }

    fn check_sender(&self, Sender { role, election_id }: &Sender) -> Result<(), EntityError> {
        self.arbitration
            .authorize(role, election_id.as_ref())
            .map_err(|error| EntityError::new(error.code(), error.to_string()))?;
        if self.access(role).is_some_and(|access| !access.can_push_pipeline()) {
            let message = format!("{role} is not configured to push a pipeline.");
            return Err(EntityError::new(Code::PermissionDenied, message));
        }
        Ok(())
    }

    /// Returns whether a configuration equals that of the running pipeline, apart from the cookie.
    fn runs(&self, config: &v1::ForwardingPipelineConfig) -> bool {
        self.pipeline().is_some_and(|running| {
            config.p4info.as_ref() == Some(running.p4info())
                && config.p4_device_config == *running.device_config()
        })
    }

    /// Commits the running pipeline again with another cookie, and keeps its entities.
    fn go_on_with(
        &mut self,
        cookie: Option<Cookie>,
        now: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EntityError> {
        let Some(mut running) = self.committed.take() else { return Ok(()) };
        let before = std::mem::replace(&mut running.cookie, cookie);
        match self.record(&running, now) {
            Ok(()) => {
                self.commit(running, effects);
                Ok(())
            }
            Err(error) => {
                self.committed = Some(Loaded { cookie: before, ..running });
                Err(error)
            }
        }
    }

    fn commit_saved(&mut self, now: Nanos, effects: &mut Vec<Effect>) -> Result<(), EntityError> {
        let saved = self.saved.take().ok_or_else(|| {
            EntityError::new(
                Code::NotFound,
                "There is no saved configuration; send VERIFY_AND_SAVE first.",
            )
        })?;
        match self.record(&saved, now) {
            Ok(()) => {
                self.commit(saved, effects);
                Ok(())
            }
            Err(error) => {
                self.saved = Some(saved);
                Err(error)
            }
        }
    }

    /// Commits a configuration on behalf of the device's owner, before any controller connects. The
    /// pipeline is loaded without a rehearsal.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration cannot be loaded. The device is then unchanged.
    pub fn preload(&mut self, config: v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        let sender = Sender { role: RoleKey::new("", 0), election_id: None };
        let push = Push { action: Action::VerifyAndCommit, sender, _busy: Arc::default() };
        let LoadedPipeline { loaded, .. } = self.load(push, config, Nanos::default()).run()?;
        self.commit(loaded, &mut Vec::new());
        Ok(())
    }

    /// Sets the environment in which the device tries to load every pipeline from a controller,
    /// before the target loads it.
    pub fn set_rehearsal(&mut self, rehearsal: Arc<dyn Rehearsal>) {
        self.rehearsal = Some(rehearsal);
    }

    /// Starts to record accepted requests in `log`. The log must already describe the current state
    /// of the device, or the caller must write that state with [`Device::record_all`].
    pub fn set_log(&mut self, log: Box<dyn WriteLog>) {
        self.log = Some(log);
    }

    /// Replaces the contents of the log with the current state of the device, if there is a log.
    ///
    /// # Errors
    ///
    /// Returns an error if the state cannot be recorded.
    pub fn record_all(&mut self, now: Nanos) -> Result<(), EntityError> {
        let Some(running) = self.committed.take() else { return Ok(()) };
        let outcome = self.record(&running, now);
        self.committed = Some(running);
        outcome
    }

    /// Returns a future that completes when the changes of the last request are durable. The answer
    /// to the request must wait for it. Returns `None` if the answer need not wait.
    #[must_use]
    pub fn durable(&self) -> Option<Durable> {
        self.log.as_ref().and_then(|log| log.durable())
    }

    /// Rewrites the device's log if it has become long.
    pub(super) fn shorten_log(&mut self, now: Nanos) {
        if self.log.as_ref().is_some_and(|log| log.is_long())
            && let Err(error) = self.record_all(now)
            && let Some(log) = &mut self.log
        {
            log.not_replaced(&error);
        }
    }

    /// Records in the device's log, if it has one, that a pipeline runs and what its forwarding
    /// state is.
    fn record(&mut self, loaded: &Loaded, now: Nanos) -> Result<(), EntityError> {
        if self.log.is_none() {
            return Ok(());
        }
        let mut state = |visit: &mut dyn FnMut(v1::Update)| {
            each_written(&loaded.initial, &loaded.store, now, &mut |update| {
                visit(update);
                Ok(())
            })
        };
        let translations = loaded.store.translations();
        let pairs = translations.map_or_else(Vec::new, |all| all.assigned());
        let log = self.log.as_mut();
        log.map_or(Ok(()), |log| log.replace(loaded.config(), &pairs, &mut state))
    }

    /// Answers a GetForwardingPipelineConfig request with the running pipeline.
    ///
    /// # Errors
    ///
    /// Returns an error if the device id is wrong or the response type is not defined. While no
    /// pipeline is committed, the error has the code and the message that make ONOS and finsy push
    /// their pipeline.
    pub fn get_pipeline(
        &self,
        request: &v1::GetForwardingPipelineConfigRequest,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, EntityError> {
        self.check_device(request.device_id)?;
        let loaded = self.committed.as_ref().ok_or_else(no_pipeline)?;
        let (p4info, device_config) = match ResponseType::try_from(request.response_type) {
            Ok(ResponseType::All) => (true, true),
            Ok(ResponseType::CookieOnly) => (false, false),
            Ok(ResponseType::P4infoAndCookie) => (true, false),
            Ok(ResponseType::DeviceConfigAndCookie) => (false, true),
            Err(_) => {
                let message = format!("Response type {} is not defined.", request.response_type);
                return Err(invalid(message));
            }
        };
        let pipeline = &loaded.pipeline;
        let config = v1::ForwardingPipelineConfig {
            p4info: p4info.then(|| pipeline.p4info().clone()),
            p4_device_config: if device_config {
                pipeline.device_config().clone()
            } else {
                Bytes::new()
            },
            cookie: loaded.cookie,
        };
        Ok(v1::GetForwardingPipelineConfigResponse { config: Some(config) })
    }

    fn load(&self, push: Push, config: v1::ForwardingPipelineConfig, now: Nanos) -> PipelineLoad {
        PipelineLoad {
            push,
            config,
            registry: Arc::clone(&self.registry),
            form: self.options.packet_in_form,
            target: Arc::clone(&self.target),
            rehearsal: self.rehearsal.clone(),
            now,
            load_time: self.options.load_time,
        }
    }

    fn commit(&mut self, mut loaded: Loaded, effects: &mut Vec<Effect>) {
        self.saved = None;
        self.digests.clear();
        loaded.store.plane_mut().activate();
        effects.push(Effect::PipelineCommitted(Arc::clone(&loaded.pipeline)));
        self.committed = Some(loaded);
    }
}

/// Writes to `to`, the store of a new pipeline, the entities that controllers have written to
/// `from`, the store of the old one. `initial` contains the entities that `from` had before
/// anything was written to it. Strings of translated types keep their numbers.
fn reconcile(
    initial: &InitialEntities,
    from: &Store<Box<dyn DataPlane>>,
    to: &mut Store<Box<dyn DataPlane>>,
    policy: Reconcile,
    now: Nanos,
) -> Result<(), EntityError> {
    let refuse = |error: EntityError| match policy {
        Reconcile::Refuse => {
            Err(invalid(format!("The entities of the device cannot be stored: {error}")))
        }
        Reconcile::Drop => Ok(()),
    };
    let translations = to.translations();
    if let (Some(before), Some(translations)) = (from.translations(), &translations) {
        translations.plan(&before.assigned());
    }
    let outcome =
        each_written(initial, from, now, &mut |update| to.write(&update, now).or_else(refuse));
    if let Some(translations) = &translations {
        translations.settle();
    }
    outcome
}

/// Calls `visit` with the updates that restore everything that was written to `from`. `initial`
/// contains the entities that `from` had before anything was written to it. The updates are ordered
/// so that every entity comes after those that it refers to.
fn each_written(
    initial: &InitialEntities,
    from: &Store<Box<dyn DataPlane>>,
    now: Nanos,
    visit: &mut dyn FnMut(v1::Update) -> Result<(), EntityError>,
) -> Result<(), EntityError> {
    let mut outcome = Ok(());
    for (update_type, request) in everything() {
        from.read(&request, now, &mut |found| {
            if outcome.is_ok() && !initial.contains(&found) {
                outcome = restoring(update_type, found).into_iter().try_for_each(&mut *visit);
            }
        })?;
    }
    // Arrays may have any number of cells, so only written cells are visited.
    from.written_cells(&mut |entity| {
        let update = v1::Update { r#type: UpdateType::Modify as i32, entity: Some(entity) };
        if outcome.is_ok() {
            outcome = visit(update);
        }
    });
    outcome
}

/// Returns the updates that restore an entity. For a constant entry, these are only the updates of
/// its direct counter and meter, since nothing else of it can have been written (specification 1.5,
/// "Constant Tables").
fn restoring(update_type: UpdateType, entity: v1::Entity) -> Vec<v1::Update> {
    let update = |update_type: UpdateType, kind| v1::Update {
        r#type: update_type as i32,
        entity: Some(v1::Entity { entity: Some(kind) }),
    };
    match entity.entity {
        Some(Kind::TableEntry(entry)) if entry.is_const => {
            let counter = entry.counter_data.map(|data| {
                let table_entry = Some(entry.clone());
                Kind::DirectCounterEntry(v1::DirectCounterEntry { table_entry, data: Some(data) })
            });
            let meter = entry.meter_config.map(|config| {
                let table_entry = Some(entry.clone());
                let config = Some(config);
                Kind::DirectMeterEntry(v1::DirectMeterEntry {
                    table_entry,
                    config,
                    counter_data: None,
                })
            });
            let resources = counter.into_iter().chain(meter);
            resources.map(|kind| update(UpdateType::Modify, kind)).collect()
        }
        Some(kind) => vec![update(update_type, kind)],
        None => Vec::new(),
    }
}

/// Returns a wildcard read for every kind of entity except arrays. With each read comes the type of
/// update that restores the entities that it finds.
pub(super) fn everything() -> Vec<(UpdateType, v1::Entity)> {
    let replication = |r#type| {
        let entry = v1::PacketReplicationEngineEntry { r#type: Some(r#type) };
        Kind::PacketReplicationEngineEntry(entry)
    };
    let entries = v1::TableEntry {
        // Direct resources are returned only on request.
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..v1::TableEntry::default()
    };
    let defaults = v1::TableEntry { is_default_action: true, ..entries.clone() };
    let multicast = replication(Replication::MulticastGroupEntry(Default::default()));
    let clones = replication(Replication::CloneSessionEntry(Default::default()));
    let inserted = [
        Kind::ActionProfileMember(v1::ActionProfileMember::default()),
        Kind::ActionProfileGroup(v1::ActionProfileGroup::default()),
        multicast,
        clones,
        Kind::TableEntry(entries),
        Kind::DigestEntry(v1::DigestEntry::default()),
    ];
    let modified = [Kind::TableEntry(defaults), Kind::ValueSetEntry(v1::ValueSetEntry::default())];
    let inserted = inserted.into_iter().map(|kind| (UpdateType::Insert, kind));
    let modified = modified.into_iter().map(|kind| (UpdateType::Modify, kind));
    let entity = |(update, kind)| (update, v1::Entity { entity: Some(kind) });
    inserted.chain(modified).map(entity).collect()
}

fn invalid(message: impl Into<String>) -> EntityError {
    EntityError::new(Code::InvalidArgument, message)
}
