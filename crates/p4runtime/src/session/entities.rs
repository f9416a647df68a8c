//! Write and Read: who may, and on which forwarding state.

use super::{Device, ReadAnswer, config::Loaded, no_pipeline, role::RoleAccess};
use crate::{
    arbitration::RoleKey,
    proto::v1::{self, write_request::Atomicity},
    status::{Code, EntityError},
    store::Nanos,
};

/// Which of the pipelines of a device Writes refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenTo {
    /// The one that it runs.
    Running,
    /// One that was saved: what is written takes effect when it is committed.
    Saved,
}

impl Device {
    /// Carries out a Write request and returns the outcome of each update.
    ///
    /// # Errors
    ///
    /// When no update was tried: wrong device or role, not the primary, no pipeline.
    pub fn write(
        &mut self,
        request: &v1::WriteRequest,
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
        let loaded = self.current_mut().ok_or_else(no_pipeline)?;
        let outcomes = match access {
            None => loaded.store.write_batch(&request.updates, atomicity, now),
            Some(access) => write_narrowed(loaded, &access, &request.updates, atomicity, now),
        };
        if request.updates.iter().any(configures_digest) {
            let committed = self.committed.as_ref();
            let enabled = |digest| committed.is_some_and(|one| one.store.digest(digest).is_some());
            self.digests.retain(enabled);
        }
        Ok(outcomes)
    }

    /// Writes on behalf of the device's owner, all or nothing, so that entities are there before any
    /// controller comes.
    ///
    /// # Errors
    ///
    /// The position of the update that was refused, and why.
    pub fn install(
        &mut self,
        updates: &[v1::Update],
        now: Nanos,
    ) -> Result<(), (usize, EntityError)> {
        let loaded = self.current_mut().ok_or_else(|| (0, no_pipeline()))?;
        let outcomes = loaded.store.write_batch(updates, Atomicity::RollbackOnError, now);
        let refused = outcomes.into_iter().enumerate().find_map(|(position, outcome)| {
            // The others only say that they were not tried.
            outcome
                .err()
                .filter(|error| error.code() != Code::Aborted)
                .map(|error| (position, error))
        });
        refused.map_or(Ok(()), Err)
    }

    /// Answers a Read request, which needs neither a stream nor an election id. What is written
    /// from now on is not part of the answer.
    ///
    /// # Errors
    ///
    /// When nothing was read: wrong device, no pipeline, or too many large answers that are still
    /// being taken.
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

    /// Reads and writes refer to a saved pipeline as soon as there is one, although the device
    /// still runs the committed one (specification 1.5, section "SetForwardingPipelineConfig").
    fn current(&self) -> Option<&Loaded> {
        self.saved.as_ref().or(self.committed.as_ref())
    }

    /// What Writes refer to at the moment.
    #[must_use]
    pub fn writes_go_to(&self) -> WrittenTo {
        if self.saved.is_some() { WrittenTo::Saved } else { WrittenTo::Running }
    }

    fn current_mut(&mut self) -> Option<&mut Loaded> {
        self.saved.as_mut().or(self.committed.as_mut())
    }
}

fn configures_digest(update: &v1::Update) -> bool {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    matches!(entity, Some(v1::entity::Entity::DigestEntry(_)))
}

/// A batch of a role that may not write everything.
fn write_narrowed(
    loaded: &mut Loaded,
    access: &RoleAccess,
    updates: &[v1::Update],
    atomicity: Atomicity,
    now: Nanos,
) -> Vec<Result<(), EntityError>> {
    let allowed =
        |update: &v1::Update| update.entity.as_ref().is_none_or(|entity| access.covers(entity));
    if updates.iter().all(allowed) {
        return loaded.store.write_batch(updates, atomicity, now);
    }
    let denied = || {
        Err(EntityError::new(Code::PermissionDenied, "This entity does not belong to the role."))
    };
    let outcome = |update: &v1::Update| match (allowed(update), atomicity) {
        (false, _) => denied(),
        (true, Atomicity::ContinueOnError) => loaded.store.write(update, now),
        (true, Atomicity::RollbackOnError | Atomicity::DataplaneAtomic) => Err(EntityError::new(
            Code::Aborted,
            "Not tried, because another update of the batch was refused.",
        )),
    };
    updates.iter().map(outcome).collect()
}
