//! The errors of a client.

use std::time::Duration;

use thiserror::Error;
use tonic::Status;

use crate::{
    arbitration::ElectionId,
    status::{Code, batch_errors},
};

/// The reason why a client did not become primary.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArbitrationFailure {
    /// Another controller is the primary of the role.
    #[error("another controller is primary, with election id {}; use a higher one", show(*highest))]
    Backup {
        /// The election id of the primary.
        highest: Option<ElectionId>,
    },
    /// The role has no primary, because an earlier controller had a higher election id.
    #[error("the device has seen election id {}; use one at least as high", show(*highest))]
    NoPrimary {
        /// The highest election id that the device has seen for the role.
        highest: Option<ElectionId>,
    },
    /// The server ended the stream.
    #[error("the server refused the stream: {}", .0.message())]
    Refused(#[from] Status),
    /// The server did not answer in time.
    #[error("the server did not answer the arbitration within {patience:?}")]
    NoAnswer {
        /// The time that the client waited.
        patience: Duration,
    },
}

fn show(id: Option<ElectionId>) -> String {
    id.map_or_else(|| "(unset)".to_owned(), |id| id.to_string())
}

/// The reason why one update of a batch was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("update {index}: {message} ({code:?})")]
pub struct UpdateError {
    /// The position of the update in the batch, counted from 0.
    pub index: usize,
    /// The gRPC status code with which the update was refused.
    pub code: Code,
    /// The message with which the server explains the refusal.
    pub message: String,
}

/// The reason why a Write failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Some updates were refused. The remaining ones were applied, unless the batch was atomic.
    #[error("{} of {updates} updates were refused; first {}", refused.len(), first(refused))]
    Updates {
        /// The number of updates in the batch.
        updates: usize,
        /// The refused updates, in the order of the batch.
        refused: Vec<UpdateError>,
    },
    /// The request failed as a whole.
    #[error("the Write failed: {}", .0.message())]
    Rpc(#[source] Box<Status>),
}

fn first(refused: &[UpdateError]) -> String {
    refused.first().map(ToString::to_string).unwrap_or_default()
}

impl WriteError {
    pub(super) fn new(status: Status) -> Self {
        let errors = batch_errors(&status);
        let refused: Vec<_> = errors
            .iter()
            .enumerate()
            .filter(|(_, error)| error.canonical_code != Code::Ok as i32)
            .map(|(index, error)| UpdateError {
                index,
                code: Code::from_number(error.canonical_code),
                message: error.message.clone(),
            })
            .collect();
        if refused.is_empty() {
            return Self::Rpc(Box::new(status));
        }
        Self::Updates { updates: errors.len(), refused }
    }
}
