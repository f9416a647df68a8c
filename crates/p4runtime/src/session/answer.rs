//! The response to a Read, produced message by message.
//!
//! A message is built when the previous one has been sent, so a response takes the memory of one
//! message, however large the response is and however slowly the client reads. Entities are encoded
//! as they are found, while they are in the cache: collecting thousands of them first would evict
//! them from the cache and take many small allocations.

use std::{mem, ops::ControlFlow, sync::Arc};

use bytes::Bytes;
use prost::{DecodeError, Message as _};

use super::role::RoleAccess;
use crate::{
    proto::v1,
    status::EntityError,
    store::{Found, Reading},
};

/// The size at which a `ReadResponse` is completed: well below the 4 MB that gRPC clients accept by
/// default, and large enough that a big table takes few messages.
const MESSAGE_BYTES: usize = 256 * 1024;

/// The maximum cost of one Read in bytes: the size of the response plus `LOOK_BYTES` for every
/// entity that was visited. The cost of reading a table with a million entries is well below this
/// limit.
pub const MAX_READ_BYTES: u64 = 256 << 20;

/// The cost of visiting one entity, counted as bytes, whether or not the Read selects the entity.
const LOOK_BYTES: u64 = 64;

/// The number of entities that a Read visits before other tasks get their turn.
const LOOKS_PER_STEP: usize = 1 << 14;

/// The tag of `ReadResponse.entities`.
const ENTITIES: u32 = 1;

/// The maximum number of incomplete responses of one device. Each of them may keep an old state of
/// the tables alive.
pub const MAX_OPEN_READS: usize = 16;

/// The response to a Read while it is produced.
#[derive(Debug)]
pub struct ReadAnswer {
    /// The first step of the response. It is computed immediately, since most responses are short.
    first: Option<ReadStep>,
    rest: Rest,
}

/// The part of the response that has not been returned yet.
#[derive(Debug)]
enum Rest {
    ReadInProgress(Box<ReadInProgress>),
    /// All messages have been returned. Only the outcomes of the requested entities are left.
    Complete(Vec<Result<(), EntityError>>),
}

/// One step in the production of the response to a Read.
#[derive(Debug)]
pub enum ReadStep {
    /// The next message of the response is complete.
    Message(ReadMessage),
    /// No message is complete yet. Other tasks may run before the next step.
    Busy,
    /// The end of the response, with one outcome for each entity of the request.
    /// [`crate::status::batch_status`] turns them into the status that ends the stream.
    End(Vec<Result<(), EntityError>>),
}

/// One message of a Read's response: an encoded `ReadResponse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadMessage(Bytes);

impl ReadMessage {
    /// Returns the bytes of the encoded `ReadResponse`.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Decodes the message.
    ///
    /// # Errors
    ///
    /// Never fails in practice, since this crate encoded the message.
    pub fn decode(&self) -> Result<v1::ReadResponse, DecodeError> {
        v1::ReadResponse::decode(self.0.clone())
    }
}

/// A response in progress.
#[derive(Debug)]
struct ReadInProgress {
    reading: Reading,
    access: Option<RoleAccess>,
    /// The encoded entities that the next message will contain.
    message: Vec<u8>,
    has_sent: bool,
    spent: u64,
    /// A token that all responses in progress of a device share, so that its reference count shows
    /// their number. `None` during the first step of the response.
    _open: Option<Arc<()>>,
}

impl ReadAnswer {
    /// Starts the response to a Read. It contains only entities that `access` covers. All responses
    /// in progress of a device share `open`, whose reference count shows their number.
    pub(super) fn begin(
        reading: Reading,
        access: Option<RoleAccess>,
        open: &Arc<()>,
    ) -> Result<Self, EntityError> {
        let going = ReadInProgress {
            reading,
            access,
            message: Vec::new(),
            has_sent: false,
            spent: 0,
            _open: None,
        };
        let mut rest = Rest::ReadInProgress(Box::new(going));
        let first = rest.step();
        if let Rest::ReadInProgress(going) = &mut rest {
            if Arc::strong_count(open) > MAX_OPEN_READS {
                return Err(EntityError::exhausted(format!(
                    "The answers to {MAX_OPEN_READS} Reads of this device have not been received; receive or cancel \
                     them before you send another Read."
                )));
            }
            going._open = Some(Arc::clone(open));
        }
        Ok(Self { first: Some(first), rest })
    }

    /// Returns the next step of the response. The last one is [`ReadStep::End`].
    pub fn step(&mut self) -> ReadStep {
        self.first.take().unwrap_or_else(|| self.rest.step())
    }

    /// Returns all messages of the response together, and the outcome of each entity of the
    /// request. This is for callers that do not send the response as a stream.
    #[must_use]
    pub fn into_whole(mut self) -> (Vec<v1::ReadResponse>, Vec<Result<(), EntityError>>) {
        let mut messages = Vec::new();
        loop {
            match self.step() {
                ReadStep::Message(message) => messages.extend(message.decode()),
                ReadStep::Busy => {}
                ReadStep::End(outcomes) => return (messages, outcomes),
            }
        }
    }
}

impl Rest {
    /// Continues the response until its next message is complete or other tasks should run.
    fn step(&mut self) -> ReadStep {
        let going = match self {
            Self::ReadInProgress(going) => going,
            Self::Complete(outcomes) => return ReadStep::End(mem::take(outcomes)),
        };
        let complete = going.look();
        if !complete && going.message.len() < MESSAGE_BYTES {
            return ReadStep::Busy;
        }
        let message = Bytes::from(mem::take(&mut going.message));
        // BMv2 answers every Read with at least one message. Clients made for it, including
        // OpenConfig's P4Runtime tests, receive once and treat an immediate end of the stream as an
        // error.
        let is_needed = !going.has_sent && going.reading.outcomes().iter().all(Result::is_ok);
        going.has_sent = true;
        if complete {
            // The snapshot is released before the last message is sent.
            let outcomes = going.reading.take_outcomes();
            *self = Self::Complete(outcomes);
        } else {
            // The next message is probably as long as this one.
            going.message.reserve(MESSAGE_BYTES + MESSAGE_BYTES / 16);
        }
        if message.is_empty() && !is_needed {
            return ReadStep::Busy;
        }
        ReadStep::Message(ReadMessage(message))
    }
}

impl ReadInProgress {
    /// Visits entities until a message is full or other tasks must get their turn. Returns true
    /// once all requested entities have been visited.
    fn look(&mut self) -> bool {
        let Self { reading, access, message, spent, .. } = self;
        let mut looks = 0;
        let flow = reading.advance(&mut |found| {
            looks += 1;
            *spent += LOOK_BYTES;
            let covered = |found: &Found| access.as_ref().is_none_or(|one| one.covers_found(found));
            if let Some(found) = found.filter(covered) {
                let before = message.len();
                found.encode(ENTITIES, message);
                *spent += (message.len() - before) as u64;
            }
            let enough = message.len() >= MESSAGE_BYTES
                || looks >= LOOKS_PER_STEP
                || *spent >= MAX_READ_BYTES;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if flow.is_break() && *spent >= MAX_READ_BYTES {
            reading.abandon(&EntityError::exhausted(format!(
                "the answer to one Read is at most {MAX_READ_BYTES} bytes, counting {LOOK_BYTES} bytes for each \
                 entity that is examined; read the rest with further Reads"
            )));
            return true;
        }
        flow.is_continue()
    }
}
