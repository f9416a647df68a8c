//! The answer to a Read, message by message.
//!
//! A message is made when the one before it has gone, so that an answer takes the memory of one
//! message, however large it is and however slowly the client takes it. Entities are encoded as they
//! are found, while they are in the cache: thousands that wait for each other are not, and are many
//! small pieces of memory.

use std::{mem, ops::ControlFlow, sync::Arc};

use bytes::Bytes;
use prost::{DecodeError, Message as _};

use super::role::RoleAccess;
use crate::{
    proto::v1,
    status::EntityError,
    store::{Found, Reading},
};

/// A `ReadResponse` is closed once it is this large: well below the 4 MB that gRPC clients take
/// by default, large enough that a big table is few messages.
const MESSAGE_BYTES: usize = 256 * 1024;

/// The most that one Read may cost, in bytes: what is sent, and for everything that was looked at
/// `LOOK_BYTES`. A table of a million entries is well below it.
pub const MAX_READ_BYTES: u64 = 256 << 20;

/// What it costs to look at an entity, selected or not.
const LOOK_BYTES: u64 = 64;

/// Entities to look at before others have their turn.
const LOOKS_PER_STEP: usize = 1 << 14;

/// The tag of `ReadResponse.entities`.
const ENTITIES: u32 = 1;

/// Answers of one device that may be longer than one message and not taken yet. Each may hold on
/// to a state of the tables that no longer is.
pub const MAX_OPEN_READS: usize = 16;

/// An answer that is being given.
#[derive(Debug)]
pub struct ReadAnswer {
    /// What comes first: made at once, since most answers are short.
    first: Option<ReadStep>,
    rest: Rest,
}

#[derive(Debug)]
enum Rest {
    Going(Box<Going>),
    /// Nothing but the outcomes is left.
    Complete(Vec<Result<(), EntityError>>),
}

/// What comes next of an answer.
#[derive(Debug)]
pub enum ReadStep {
    /// A message to send.
    Message(ReadMessage),
    /// No message yet: others may have their turn.
    Busy,
    /// Nothing more to send. There is one outcome for each entity of the request; the status that
    /// ends the stream follows from them by [`crate::status::batch_status`].
    End(Vec<Result<(), EntityError>>),
}

/// A `ReadResponse` as it is on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadMessage(Bytes);

impl ReadMessage {
    /// Its encoding.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// What it says.
    ///
    /// # Errors
    ///
    /// None: it was encoded here.
    pub fn decode(&self) -> Result<v1::ReadResponse, DecodeError> {
        v1::ReadResponse::decode(self.0.clone())
    }
}

#[derive(Debug)]
struct Going {
    reading: Reading,
    access: Option<RoleAccess>,
    /// What was found since the last message.
    message: Vec<u8>,
    has_sent: bool,
    spent: u64,
    /// Counted by the device.
    _open: Option<Arc<()>>,
}

impl ReadAnswer {
    /// Begins an answer of what `access` covers. `open` is shared by all answers of a device.
    pub(super) fn begin(
        reading: Reading,
        access: Option<RoleAccess>,
        open: &Arc<()>,
    ) -> Result<Self, EntityError> {
        let going =
            Going { reading, access, message: Vec::new(), has_sent: false, spent: 0, _open: None };
        let mut rest = Rest::Going(Box::new(going));
        let first = rest.step();
        if let Rest::Going(going) = &mut rest {
            if Arc::strong_count(open) > MAX_OPEN_READS {
                return Err(EntityError::exhausted(format!(
                    "The answers to {MAX_OPEN_READS} Reads of this device have not been taken; \
                     take those before you send another one, or cancel them."
                )));
            }
            going._open = Some(Arc::clone(open));
        }
        Ok(Self { first: Some(first), rest })
    }

    /// What comes next; [`ReadStep::End`] comes last.
    pub fn step(&mut self) -> ReadStep {
        self.first.take().unwrap_or_else(|| self.rest.step())
    }

    /// All messages, and the outcome of each entity of the request: for owners without a stream.
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
    fn step(&mut self) -> ReadStep {
        let going = match self {
            Self::Going(going) => going,
            Self::Complete(outcomes) => return ReadStep::End(mem::take(outcomes)),
        };
        let complete = going.look();
        if !complete && going.message.len() < MESSAGE_BYTES {
            return ReadStep::Busy;
        }
        let message = Bytes::from(mem::take(&mut going.message));
        // BMv2 answers every Read with a message. Clients made for it (the P4Runtime tests of
        // OpenConfig among them) receive once and take the end of the stream for an error.
        let is_needed = !going.has_sent && going.reading.outcomes().iter().all(Result::is_ok);
        going.has_sent = true;
        if complete {
            // The state that was read is let go before the last message is sent.
            let outcomes = going.reading.take_outcomes();
            *self = Self::Complete(outcomes);
        } else {
            // More likely than not the next message is as long as this one.
            going.message.reserve(MESSAGE_BYTES + MESSAGE_BYTES / 16);
        }
        if message.is_empty() && !is_needed {
            return ReadStep::Busy;
        }
        ReadStep::Message(ReadMessage(message))
    }
}

impl Going {
    /// Looks at entities until a message is full, or others are to have their turn; true once
    /// there are no more.
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
                "the answer to one Read is at most {MAX_READ_BYTES} bytes, {LOOK_BYTES} of which \
                 stand for each entity that is looked at; read what is left with further Reads"
            )));
            return true;
        }
        flow.is_continue()
    }
}
