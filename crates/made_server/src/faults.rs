//! Faults that a test injects into the P4Runtime RPCs between a controller and a switch.

use std::time::Duration;

use protos::v1;
use tonic::Status;

/// The faults that a proxy between controller and switch injects into P4Runtime RPCs. The proxy
/// passes each request and each response to one of these functions and forwards what the function
/// returns. By default, every function returns its argument, so messages pass unchanged.
pub trait Faults: Send + Sync + 'static {
    /// Returns the Write request that the switch receives in place of the controller's request.
    ///
    /// # Errors
    /// Returns the status with which the proxy refuses the request; the switch then receives
    /// nothing.
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        Ok(request)
    }

    /// Returns the response to a Write that the controller receives in place of `answer`.
    ///
    /// # Errors
    /// Returns the status that the controller receives.
    fn written(&self, answer: Result<(), Status>) -> Result<(), Status> {
        answer
    }

    /// Returns the Read request that the switch receives in place of the controller's request.
    fn read(&self, request: v1::ReadRequest) -> v1::ReadRequest {
        request
    }

    /// Returns the entities that the controller receives in response to a Read, in place of
    /// `answer`.
    ///
    /// # Errors
    /// Returns the status that the controller receives.
    fn entities(&self, answer: Result<Vec<v1::Entity>, Status>) -> Result<Vec<v1::Entity>, Status> {
        answer
    }

    /// Returns the SetForwardingPipelineConfig request that the switch receives in place of the
    /// controller's request.
    fn push(
        &self,
        request: v1::SetForwardingPipelineConfigRequest,
    ) -> v1::SetForwardingPipelineConfigRequest {
        request
    }

    /// Returns the response to a SetForwardingPipelineConfig request that the controller receives
    /// in place of `answer`.
    ///
    /// # Errors
    /// Returns the status that the controller receives.
    fn pushed(&self, answer: Result<(), Status>) -> Result<(), Status> {
        answer
    }

    /// Returns the response to a GetForwardingPipelineConfig request that the controller receives
    /// in place of `answer`.
    ///
    /// # Errors
    /// Returns the status that the controller receives.
    fn pipeline(
        &self,
        answer: Result<v1::GetForwardingPipelineConfigResponse, Status>,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, Status> {
        answer
    }

    /// Returns the response to a Capabilities request that the controller receives in place of
    /// `answer`.
    ///
    /// # Errors
    /// Returns the status that the controller receives.
    fn capabilities(
        &self,
        answer: Result<v1::CapabilitiesResponse, Status>,
    ) -> Result<v1::CapabilitiesResponse, Status> {
        answer
    }

    /// Returns the stream message that the switch receives in place of the controller's `message`,
    /// or `None` to drop the message.
    fn to_switch(&self, message: v1::StreamMessageRequest) -> Option<v1::StreamMessageRequest> {
        Some(message)
    }

    /// Returns the stream message that the controller receives in place of the switch's `message`,
    /// or `None` to drop the message. This function is also called with an error when the switch's
    /// stream ends; the status code of this error is OK if the switch closed the stream normally.
    fn to_controller(
        &self,
        message: Result<v1::StreamMessageResponse, Status>,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        Some(message)
    }

    /// Returns whether the proxy also forwards a message of the switch on the streams of all other
    /// controllers, as a faulty switch might.
    fn is_for_all(&self, message: &v1::StreamMessageResponse) -> bool {
        let _ = message;
        false
    }

    /// Returns the time for which the proxy delays a message of the switch, and with it all later
    /// messages on the stream.
    fn delay(&self, message: &v1::StreamMessageResponse) -> Duration {
        let _ = message;
        Duration::ZERO
    }
}

/// A proxy without faults, which forwards all RPCs unchanged.
pub(crate) struct NoFaults;

impl Faults for NoFaults {}
