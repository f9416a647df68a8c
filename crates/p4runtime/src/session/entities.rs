//! The Write and Read RPCs: they check permissions, and select the pipeline whose state they refer
//! to.

use ::entities::TranslationPair;

use super::{Device, ReadAnswer, Written, config::Loaded, no_pipeline, role::RoleAccess};
use crate::{
    arbitration::RoleKey,
    proto::v1::{self, write_request::Atomicity},
    status::{Code, EntityError},
    store::Nanos,
};

impl Device {
    /// Executes a Write request and returns the outcome of each update.
    ///
    /// # Errors
    ///
    /// Returns an error if no update was tried: wrong device or role, not the primary, or no
    /// pipeline.
    pub fn write(
        &mut self,
        request: &v1::WriteRequest,
        now: Nanos,
    ) -> Result<Vec<Result<(), EntityError>>, EntityError> {
        self.write_encoded(request, None, now)
    }

    /// Executes a Write request like [`Device::write`]. `encoded` are the bytes from which the
    /// request was decoded; they are recorded unchanged if every update is accepted.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Device::write`].
    pub fn write_encoded(
        &mut self,
        request: &v1::WriteRequest,
        encoded: Option<&[u8]>,
        now: Nanos,
    ) -> Result<Vec<Result<(), EntityError>>, EntityError> {
        self.check_device(request.device_id)?;
        let role = RoleKey::new(&request.role, request.role_id);
        self.arbitration
            .authorize(&role, request.election_id.as_ref())
            .map_err(|error| EntityError::new(error.code(), error.to_string()))?;
        let Ok(atomicity) = Atomicity::try_from(request.atomicity) else {
            return Err(EntityError::new(
                Code::InvalidArgument,
                format!("Atomicity {} is not defined.", request.atomicity),
            ));
        };
        let access = self.access(&role).cloned();
        let updates = &request.updates;
        if let Some(outcomes) = access.as_ref().and_then(|one| refused(one, updates, atomicity)) {
            return Ok(outcomes);
        }
        // Writes to a saved pipeline are recorded when it is committed.
        let log = self.log.as_mut().filter(|_| self.saved.is_none());
        let loaded = self.saved.as_mut().or(self.committed.as_mut()).ok_or_else(no_pipeline)?;
        let longest = self.options.metadata;
        let each = updates.iter().map(|update| match &access {
            Some(access) if !allows(access, update) => Err(denied()),
            _ => check_metadata(update, longest).map(|()| update),
        });
        let outcomes = match log {
            None => loaded.store.write_kept(each, atomicity, now, &mut |_| Ok(())),
            Some(log) => {
                let translations = loaded.store.translations().filter(|all| !all.is_empty());
                let mut keep = |outcomes: &[_]| {
                    let pairs = translations.as_ref().map_or_else(Vec::new, |all| all.changed());
                    log.append(Written { updates, outcomes, encoded, pairs: &pairs })
                };
                loaded.store.write_kept(each, atomicity, now, &mut keep)
            }
        };
        if request.updates.iter().any(configures_digest) {
            let committed = self.committed.as_ref();
            let enabled = |digest| committed.is_some_and(|one| one.store.digest(digest).is_some());
            self.digests.retain(enabled);
        }
        self.shorten_log(now);
        Ok(outcomes)
    }

    /// Writes entities on behalf of the device's owner, before any controller connects. Either all
    /// updates are applied or none.
    ///
    /// # Errors
    ///
    /// Returns the position of the refused update and the reason.
    pub fn install(
        &mut self,
        updates: &[v1::Update],
        now: Nanos,
    ) -> Result<(), (usize, EntityError)> {
        let loaded = self.current_mut().ok_or_else(|| (0, no_pipeline()))?;
        let outcomes = loaded.store.write_batch(updates, Atomicity::RollbackOnError, now);
        let refused = outcomes.into_iter().enumerate().find_map(|(position, outcome)| {
            // The errors of the remaining updates say only that they were not tried.
            outcome
                .err()
                .filter(|error| error.code() != Code::Aborted)
                .map(|error| (position, error))
        });
        refused.map_or(Ok(()), Err)
    }

    /// Writes entities on behalf of the device's owner at any time, and returns the outcome of each
    /// update. Nothing is recorded in the log.
    ///
    /// # Errors
    ///
    /// Returns an error if the device runs no pipeline.
    pub fn write_as_owner(
        &mut self,
        updates: &[v1::Update],
        atomicity: Atomicity,
        now: Nanos,
    ) -> Result<Vec<Result<(), EntityError>>, EntityError> {
        let loaded = self.committed.as_mut().ok_or_else(no_pipeline)?;
        let outcomes = loaded.store.write_batch(updates, atomicity, now);
        let enabled = |digest| loaded.store.digest(digest).is_some();
        if updates.iter().any(configures_digest) {
            self.digests.retain(enabled);
        }
        Ok(outcomes)
    }

    /// Returns a reader of the entities of the running pipeline, for the device's owner.
    ///
    /// # Errors
    ///
    /// Returns an error if the device runs no pipeline.
    pub fn reader(&self, now: Nanos) -> Result<Box<dyn ::entities::Reader>, EntityError> {
        self.committed.as_ref().map(|loaded| loaded.store.reader(now)).ok_or_else(no_pipeline)
    }

    /// Plans the numbers that strings of translated types get when [`Device::install`] next writes
    /// entities that contain them. The owner of the device calls this with the pairs of strings and
    /// numbers of an earlier run, in the order of the log.
    pub fn plan_translations(&mut self, pairs: &[TranslationPair]) {
        if let Some(translations) = self.current().and_then(|one| one.store.translations()) {
            translations.plan(pairs);
        }
    }

    /// Ends the plan of `Device::plan_translations`. Strings that no installed entity contains
    /// get their planned numbers, too.
    pub fn settle_translations(&mut self) {
        if let Some(translations) = self.current().and_then(|one| one.store.translations()) {
            translations.settle();
        }
    }

    /// Answers a Read request, which needs neither a stream nor an election id. Writes that are
    /// executed after this call do not change the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was read: wrong device, no pipeline, or too many large responses
    /// in progress.
    pub fn read(&self, request: v1::ReadRequest, now: Nanos) -> Result<ReadAnswer, EntityError> {
        self.check_device(request.device_id)?;
        let loaded = self.current().ok_or_else(no_pipeline)?;
        let access = self.access(&RoleKey::new(&request.role, 0)).cloned();
        let reading = loaded.store.reading(request.entities, now);
        ReadAnswer::begin(reading, access, &self.reads)
    }

    pub(super) fn check_device(&self, device_id: u64) -> Result<(), EntityError> {
        if device_id == self.id {
            return Ok(());
        }
        Err(EntityError::new(
            Code::NotFound,
            format!("Device id {device_id} is not known to this server."),
        ))
    }

    /// Returns the pipeline that Reads and Writes refer to. This is the saved one, if there is one,
    /// although the device still runs the committed one (specification 1.5, section
    /// "SetForwardingPipelineConfig").
    fn current(&self) -> Option<&Loaded> {
        self.saved.as_ref().or(self.committed.as_ref())
    }

    fn current_mut(&mut self) -> Option<&mut Loaded> {
        self.saved.as_mut().or(self.committed.as_mut())
    }
}

fn configures_digest(update: &v1::Update) -> bool {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    matches!(entity, Some(v1::entity::Entity::DigestEntry(_)))
}

/// Returns the outcomes of an atomic batch that is refused because the sender's role may not write
/// all of it. Returns `None` for any other batch.
fn refused(
    access: &RoleAccess,
    updates: &[v1::Update],
    atomicity: Atomicity,
) -> Option<Vec<Result<(), EntityError>>> {
    if atomicity == Atomicity::ContinueOnError
        || updates.iter().all(|update| allows(access, update))
    {
        return None;
    }
    let outcome = |update| match allows(access, update) {
        false => Err(denied()),
        true => Err(EntityError::new(
            Code::Aborted,
            "Not tried, because another update of the batch was refused.",
        )),
    };
    Some(updates.iter().map(outcome).collect())
}

/// Refuses an entity whose metadata exceed the limit.
fn check_metadata(update: &v1::Update, longest: usize) -> Result<(), EntityError> {
    use v1::{entity::Entity as Kind, packet_replication_engine_entry::Type as Replication};
    let metadata = match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
        Some(Kind::TableEntry(entry)) => &entry.metadata,
        Some(Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
            r#type: Some(Replication::MulticastGroupEntry(group)),
        })) => &group.metadata,
        _ => return Ok(()),
    };
    if metadata.len() <= longest {
        return Ok(());
    }
    let message = format!("The metadata has {} bytes; {longest} are allowed.", metadata.len());
    Err(EntityError::new(Code::ResourceExhausted, message))
}

fn allows(access: &RoleAccess, update: &v1::Update) -> bool {
    update.entity.as_ref().is_none_or(|entity| access.covers(entity))
}

fn denied() -> EntityError {
    EntityError::new(Code::PermissionDenied, "This entity does not belong to the role.")
}
