//! The faults that a proxy makes.

use std::time::Duration;

use protos::v1;
use tonic::Status;

/// The changes of the calls that pass through a proxy. Each function returns what is passed on in
/// the place of its argument; by default, that is the argument.
pub trait Faults: Send + Sync + 'static {
    /// Changes a Write, or answers it in the place of the switch.
    ///
    /// # Errors
    /// Returns the status with which the Write is refused.
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        Ok(request)
    }

    /// Changes the answer to a Write.
    ///
    /// # Errors
    /// Returns the status that is passed on.
    fn written(&self, answer: Result<(), Status>) -> Result<(), Status> {
        answer
    }

    /// Changes a Read.
    fn read(&self, request: v1::ReadRequest) -> v1::ReadRequest {
        request
    }

    /// Changes the entities that a Read returns.
    ///
    /// # Errors
    /// Returns the status that is passed on.
    fn entities(&self, answer: Result<Vec<v1::Entity>, Status>) -> Result<Vec<v1::Entity>, Status> {
        answer
    }

    /// Changes a pipeline that is pushed.
    fn push(
        &self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> v1::SetForwardingPipelineConfigRequest {
        request
    }

    /// Changes the answer to a pushed pipeline.
    ///
    /// # Errors
    /// Returns the status that is passed on.
    fn pushed(&self, answer: Result<(), Status>) -> Result<(), Status> {
        answer
    }

    /// Changes the pipeline that is returned.
    ///
    /// # Errors
    /// Returns the status that is passed on.
    fn pipeline(
        &self,
        answer: Result<v1::GetForwardingPipelineConfigResponse, Status>,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, Status> {
        answer
    }

    /// Changes the capabilities that are returned.
    ///
    /// # Errors
    /// Returns the status that is passed on.
    fn capabilities(
        &self,
        answer: Result<v1::CapabilitiesResponse, Status>,
    ) -> Result<v1::CapabilitiesResponse, Status> {
        answer
    }

    /// Changes a message of a controller on a stream, or drops it.
    fn to_switch(&self, message: v1::StreamMessageRequest) -> Option<v1::StreamMessageRequest> {
        Some(message)
    }

    /// Changes a message of the switch on a stream, or drops it. The end of the stream is an error,
    /// whose code is OK if the switch ended it without one.
    fn to_controller(
        &self,
        message: Result<v1::StreamMessageResponse, Status>,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        Some(message)
    }

    /// Returns whether a message of the switch is passed on to all streams instead of its own.
    fn is_for_all(&self, message: &v1::StreamMessageResponse) -> bool {
        let _ = message;
        false
    }

    /// Returns the time for which a message of the switch, and those behind it on its stream, are
    /// held back.
    fn delay(&self, message: &v1::StreamMessageResponse) -> Duration {
        let _ = message;
        Duration::ZERO
    }
}

/// Passes on all calls as they are.
pub(crate) struct NoFaults;

impl Faults for NoFaults {}
