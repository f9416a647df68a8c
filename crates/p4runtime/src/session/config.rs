//! Loading a pipeline, committing it, telling which one is there.
//!
//! Source: P4Runtime specification 1.5, sections "SetForwardingPipelineConfig RPC" and
//! "GetForwardingPipelineConfig RPC". A saved pipeline has a forwarding state of its own, empty
//! at first, to which Reads and Writes refer until COMMIT puts both in the place of what the
//! device ran before: this is the replay of writes that the specification describes, without a
//! list of writes to keep.

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

/// A pipeline on one device: with its cookie and its forwarding state.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) cookie: Option<Cookie>,
    pub(super) store: Store<Box<dyn DataPlane>>,
    /// The entities of the store before anything was written to it.
    pub(super) initial: InitialEntities,
}

/// The part of a SetForwardingPipelineConfig request that is needed once its pipeline is loaded.
#[derive(Debug)]
pub(super) struct Push {
    action: Action,
    sender: Sender,
    /// Keeps the device busy.
    _busy: Arc<()>,
}

/// The sender of a SetForwardingPipelineConfig request.
#[derive(Debug)]
struct Sender {
    role: RoleKey,
    election_id: Option<v1::Uint128>,
}

/// The state of a SetForwardingPipelineConfig request once it was begun.
#[derive(Debug)]
pub enum Begun {
    /// It was carried out.
    Done,
    /// It is carried out by [`Device::loaded`] when its pipeline is loaded.
    Load(Box<PipelineLoad>),
}

impl Loaded {
    /// The pipeline as a controller would push it.
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
    /// Carries out a SetForwardingPipelineConfig request, and waits until its pipeline is loaded.
    ///
    /// # Errors
    ///
    /// As [`Device::begin_pipeline`] and [`Device::loaded`]; the device is then as it was.
    pub fn set_pipeline(
        &mut self,
        request: v1::SetForwardingPipelineConfigRequest,
        now: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EntityError> {
        match self.begin_pipeline(request, now, effects)? {
            Begun::Done => Ok(()),
            Begun::Load(load) => {
                load.rehearse()?;
                self.loaded(load.run()?, now, effects)
            }
        }
    }

    /// Begins to carry out a SetForwardingPipelineConfig request. A request that needs no new
    /// pipeline is carried out; any other one returns what is to be loaded first.
    ///
    /// # Errors
    ///
    /// When the sender may not, when the request is wrong, when there is nothing to commit, or
    /// while another pipeline is being loaded; the device is then as it was.
    pub fn begin_pipeline(
        &mut self,
        request: v1::SetForwardingPipelineConfigRequest,
        now: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<Begun, EntityError> {
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
            // Python clients set an empty message as soon as they look at the field.
            if request.config.is_some_and(|config| config != Default::default()) {
                return Err(invalid("COMMIT takes no configuration; it commits the saved one."));
            }
            self.commit_saved(now, effects)?;
            return Ok(Begun::Done);
        }
        let config = request.config.ok_or_else(|| invalid("The request has no configuration."))?;
        if action == Action::ReconcileAndCommit && self.runs(&config) {
            self.go_on_with(config.cookie, now, effects)?;
            return Ok(Begun::Done);
        }
        let busy = Arc::new(());
        self.loading = Arc::downgrade(&busy);
        let push = Push { action, sender, _busy: busy };
        Ok(Begun::Load(Box::new(self.load(push, config, now))))
    }

    /// Carries out the request whose pipeline was loaded.
    ///
    /// # Errors
    ///
    /// When the sender is no longer allowed to, as after another controller became primary, or the
    /// pipeline cannot hold what was written to the one that runs; the device is then as it was.
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
                self.saved = Some(loaded);
                return Ok(());
            }
            Action::VerifyAndCommit => {
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
                self.record(&loaded, now)?;
            }
            // The others need no pipeline.
            Action::Verify | Action::Commit | Action::Unspecified => return Ok(()),
        }
        self.commit(loaded, effects);
        Ok(())
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

    /// Whether a configuration is that of the pipeline that runs, whatever its cookie.
    fn runs(&self, config: &v1::ForwardingPipelineConfig) -> bool {
        self.pipeline().is_some_and(|running| {
            config.p4info.as_ref() == Some(running.p4info())
                && config.p4_device_config == *running.device_config()
        })
    }

    /// Commits the pipeline that runs once more, with its entities and another cookie.
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

    /// Commits a configuration on behalf of the device's owner, so that it is there before any
    /// controller comes. It is not rehearsed.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be realised; the device is then as it was.
    pub fn preload(&mut self, config: v1::ForwardingPipelineConfig) -> Result<(), EntityError> {
        let sender = Sender { role: RoleKey::new("", 0), election_id: None };
        let push = Push { action: Action::VerifyAndCommit, sender, _busy: Arc::default() };
        let LoadedPipeline { loaded, .. } = self.load(push, config, Nanos::default()).run()?;
        self.commit(loaded, &mut Vec::new());
        Ok(())
    }

    /// Tries from now on every pipeline of a controller there before the target loads it.
    pub fn set_rehearsal(&mut self, rehearsal: Arc<dyn Rehearsal>) {
        self.rehearsal = Some(rehearsal);
    }

    /// Records from now on what is accepted, beginning with `log` as it is: it must say what the
    /// device is now, or be given that by [`Device::record_all`].
    pub fn set_log(&mut self, log: Box<dyn WriteLog>) {
        self.log = Some(log);
    }

    /// Puts what the device is now in the place of all that was recorded, if anything is.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded.
    pub fn record_all(&mut self, now: Nanos) -> Result<(), EntityError> {
        let Some(running) = self.committed.take() else { return Ok(()) };
        let outcome = self.record(&running, now);
        self.committed = Some(running);
        outcome
    }

    /// Returns what an answer to the last request has to wait for, if anything.
    #[must_use]
    pub fn durable(&self) -> Option<Durable> {
        self.log.as_ref().and_then(|log| log.durable())
    }

    /// Shortens the record if it has become long.
    pub(super) fn shorten_log(&mut self, now: Nanos) {
        if self.log.as_ref().is_some_and(|log| log.is_long())
            && let Err(error) = self.record_all(now)
            && let Some(log) = &mut self.log
        {
            log.not_replaced(&error);
        }
    }

    /// Records a pipeline with its forwarding state, if anything is recorded.
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
        let log = self.log.as_mut();
        log.map_or(Ok(()), |log| log.replace(loaded.config(), &mut state))
    }

    /// Answers a GetForwardingPipelineConfig request with the pipeline that the device runs.
    ///
    /// # Errors
    ///
    /// For a wrong device; and while no pipeline is committed, with the code and the text that
    /// ONOS and finsy take as the sign to push theirs.
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

/// Carries over what controllers have written to `from`, whose own entities are `initial`.
fn reconcile(
    initial: &InitialEntities,
    from: &Store<Box<dyn DataPlane>>,
    to: &mut Store<Box<dyn DataPlane>>,
    policy: Reconcile,
    now: Nanos,
) -> Result<(), EntityError> {
    let refuse = |error: EntityError| match policy {
        Reconcile::Refuse => Err(invalid(format!("The device's entities cannot be kept: {error}"))),
        Reconcile::Drop => Ok(()),
    };
    each_written(initial, from, now, &mut |update| to.write(&update, now).or_else(refuse))
}

/// Calls `visit` with the updates that restore all that was written to `from`, whose own entities
/// are `initial`, in an order in which every entity finds those that it refers to.
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
    // Of arrays, which may have any number of cells, only what was written is looked at.
    from.written_cells(&mut |entity| {
        let update = v1::Update { r#type: UpdateType::Modify as i32, entity: Some(entity) };
        if outcome.is_ok() {
            outcome = visit(update);
        }
    });
    outcome
}

/// The updates that restore an entity: of a constant entry only the direct resources, since
/// nothing else of it can have been written (specification 1.5, "Constant Tables").
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

/// A wildcard read for every kind of entity but arrays, and the update that restores what it
/// finds.
pub(super) fn everything() -> Vec<(UpdateType, v1::Entity)> {
    let replication = |r#type| {
        let entry = v1::PacketReplicationEngineEntry { r#type: Some(r#type) };
        Kind::PacketReplicationEngineEntry(entry)
    };
    let entries = v1::TableEntry {
        // Direct resources are returned only when they are asked for.
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
