//! The record that the owner of a device keeps of what the device accepts.

use std::{fmt::Debug, pin::Pin};

use crate::{
    proto::v1::{self, ForwardingPipelineConfig},
    status::EntityError,
};

/// A record of what a device accepts, from which its owner can restore the device.
///
/// The device calls it before a request takes effect for good. If it refuses, the device undoes the
/// request and answers with the refusal. Every request that was accepted is therefore in the record.
pub trait WriteLog: Debug + Send {
    /// Records what was accepted of a Write to the pipeline that runs: the updates whose outcome is
    /// `Ok`. At least one is.
    ///
    /// # Errors
    ///
    /// Why it cannot be recorded, as the controller gets it.
    fn append(&mut self, written: Written<'_>) -> Result<(), EntityError>;

    /// Records that a pipeline runs from now on, and nothing but its own entries are there.
    ///
    /// # Errors
    ///
    /// As [`WriteLog::append`].
    fn begin(&mut self, config: ForwardingPipelineConfig) -> Result<(), EntityError>;

    /// Records that a pipeline runs from now on, with what `state` visits, in the place of all that
    /// was recorded before.
    ///
    /// # Errors
    ///
    /// As [`WriteLog::append`]; or the error of `state`.
    fn replace(
        &mut self,
        config: ForwardingPipelineConfig,
        state: &mut StateVisitor<'_>,
    ) -> Result<(), EntityError>;

    /// Whether the record has become so long that a replacement is worth the while. The device
    /// replaces it then.
    fn is_long(&self) -> bool {
        false
    }

    /// Hears that a record that has become long was not replaced, and why. It is as it was.
    fn not_replaced(&mut self, _error: &EntityError) {}

    /// Returns what an answer to what was recorded until now has to wait for, if anything.
    fn durable(&self) -> Option<Durable> {
        None
    }
}

/// A Write that was tried.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The updates of the request.
    pub updates: &'a [v1::Update],
    /// The outcome of each of them.
    pub outcomes: &'a [Result<(), EntityError>],
    /// The request as the controller encoded it, if it came encoded.
    pub encoded: Option<&'a [u8]>,
}

impl Written<'_> {
    /// Whether all updates were accepted, so that the whole request may be recorded.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.outcomes.iter().all(Result::is_ok)
    }
}

/// The moment at which something that was recorded is on a medium that survives a loss of power;
/// or the reason for which it may never be.
pub type Durable = Pin<Box<dyn Future<Output = Result<(), EntityError>> + Send>>;

/// Calls its argument with updates that make a device what it is, if they are written to one that
/// was just given the same pipeline.
pub type StateVisitor<'a> = dyn FnMut(&mut dyn FnMut(v1::Update)) -> Result<(), EntityError> + 'a;
