//! The log in which the owner of a device records the requests that the device accepts.

use std::{fmt::Debug, pin::Pin};

use entities::TranslationPair;

use crate::{
    proto::v1::{self, ForwardingPipelineConfig},
    status::EntityError,
};

/// A log of accepted requests, from which the owner of a device can restore the device's state.
///
/// The device calls the log before a request takes permanent effect. If the log returns an error,
/// the device undoes the request and answers with that error. Every accepted request is therefore
/// in the log.
pub trait WriteLog: Debug + Send {
    /// Records the accepted updates of a Write to the running pipeline: those whose outcome is
    /// `Ok`, of which there is at least one.
    ///
    /// # Errors
    ///
    /// Returns the error to send to the controller if the updates cannot be recorded.
    fn append(&mut self, written: Written<'_>) -> Result<(), EntityError>;

    /// Records that a pipeline now runs, and that it has only the entries that its program
    /// declares.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`WriteLog::append`].
    fn begin(&mut self, config: ForwardingPipelineConfig) -> Result<(), EntityError>;

    /// Replaces the whole contents of the log by a pipeline, the pairs of strings and numbers in
    /// `pairs`, and the updates that `state` produces.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`WriteLog::append`], or the error of `state`.
    fn replace(
        &mut self,
        config: ForwardingPipelineConfig,
        pairs: &[TranslationPair],
        state: &mut StateVisitor<'_>,
    ) -> Result<(), EntityError>;

    /// Returns whether the log has become so long that the device should replace it with the
    /// current state.
    fn is_long(&self) -> bool {
        false
    }

    /// Called with the reason when [`WriteLog::replace`] failed for a log that
    /// [`WriteLog::is_long`] reported as long. The log is unchanged.
    fn not_replaced(&mut self, _error: &EntityError) {}

    /// Returns a future that completes when the recorded requests are durable. The device delays
    /// its answers to these requests until then. Returns `None` if the answers need not wait.
    fn durable(&self) -> Option<Durable> {
        None
    }
}

/// A Write request that was executed, with the outcome of each update.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The updates of the request.
    pub updates: &'a [v1::Update],
    /// The outcomes of the updates, in the same order.
    pub outcomes: &'a [Result<(), EntityError>],
    /// The request as the controller encoded it, if it arrived in encoded form.
    pub encoded: Option<&'a [u8]>,
    /// The strings of translated types to which the request assigned numbers.
    pub pairs: &'a [TranslationPair],
}

impl Written<'_> {
    /// Returns whether all updates were accepted, so that the log can record the encoded request
    /// unchanged.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.outcomes.iter().all(Result::is_ok)
    }
}

/// A future that completes when a record has reached a storage medium that survives a power
/// failure. It fails if the record may never reach one.
pub type Durable = Pin<Box<dyn Future<Output = Result<(), EntityError>> + Send>>;

/// A function that produces the updates which restore a device's state, and passes each of them to
/// its argument. The updates must be written to a device that has just loaded the same pipeline.
pub type StateVisitor<'a> = dyn FnMut(&mut dyn FnMut(v1::Update)) -> Result<(), EntityError> + 'a;
