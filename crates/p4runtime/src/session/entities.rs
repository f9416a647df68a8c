//! Write and Read: who may, on which forwarding state, and in which portions the answer goes out.

use prost::Message as _;
use tonic::Code;

use super::{Device, config::Loaded, no_pipeline, role::RoleAccess};
use crate::{
    arbitration::RoleKey,
    proto::v1::{self, write_request::Atomicity},
    status::EntityError,
    store::Nanos,
};

/// A `ReadResponse` is closed once it is this large: well below the 4 MB that gRPC clients take
/// by default, large enough that a big table is few messages.
const READ_RESPONSE_BYTES: usize = 256 * 1024;

/// The answer to a Read request.
#[derive(Debug, Default)]
pub struct ReadOutcome {
    /// The messages to stream: at least one, if perhaps without entities, unless a request failed.
    pub responses: Vec<v1::ReadResponse>,
    /// One outcome for each entity of the request; the status that ends the stream follows from
    /// them by [`crate::status::batch_status`].
    pub outcomes: Vec<Result<(), EntityError>>,
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
            let enabled = |digest_id| committed.is_some_and(|one| one.digest(digest_id).is_some());
            self.digests.retain(enabled);
        }
        Ok(outcomes)
    }

    /// Answers a Read request, which needs neither a stream nor an election id.
    ///
    /// # Errors
    ///
    /// When nothing was read: wrong device, no pipeline.
    pub fn read(&self, request: &v1::ReadRequest, now: Nanos) -> Result<ReadOutcome, EntityError> {
        self.check_device(request.device_id)?;
        let loaded = self.current().ok_or_else(no_pipeline)?;
        let access = self.access(&RoleKey::new(&request.role, 0));

        let mut outcome = ReadOutcome::default();
        let mut portion = Portion::default();
        for entity in &request.entities {
            let mut visit = |found: v1::Entity| {
                if access.is_none_or(|access| access.covers(&found)) {
                    portion.push(found, &mut outcome.responses);
                }
            };
            let result = loaded.store.read(entity, now, &mut visit);
            outcome.outcomes.push(result);
        }
        portion.close(&mut outcome.responses);
        // BMv2 answers every Read with a message. Clients made for it (the P4Runtime tests of
        // OpenConfig among them) receive once and take the end of the stream for an error.
        if outcome.responses.is_empty() && outcome.outcomes.iter().all(Result::is_ok) {
            outcome.responses.push(v1::ReadResponse::default());
        }
        Ok(outcome)
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

/// The message that is being filled.
#[derive(Default)]
struct Portion {
    entities: Vec<v1::Entity>,
    bytes: usize,
}

impl Portion {
    fn push(&mut self, entity: v1::Entity, responses: &mut Vec<v1::ReadResponse>) {
        self.bytes += entity.encoded_len();
        self.entities.push(entity);
        if self.bytes >= READ_RESPONSE_BYTES {
            self.close(responses);
        }
    }

    fn close(&mut self, responses: &mut Vec<v1::ReadResponse>) {
        let Self { entities, .. } = std::mem::take(self);
        if !entities.is_empty() {
            responses.push(v1::ReadResponse { entities });
        }
    }
}
