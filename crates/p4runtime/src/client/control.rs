//! The calls of the service `SwitchControl`, for the device of a client.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tonic::Status;

use super::Client;
use crate::proto::switch;

impl Client {
    /// Returns facts about the switch.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. UNIMPLEMENTED means that the server lacks the service.
    pub async fn about_switch(&self) -> Result<switch::GetSwitchResponse, Status> {
        let request = switch::GetSwitchRequest { device_id: self.device_id };
        Ok(self.switch_control().get_switch(request).await?.into_inner())
    }

    /// Returns the queues of the given ports or, if `ports` is empty, of all ports that have
    /// queues.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. UNIMPLEMENTED means that the server lacks the service.
    pub async fn queues(&self, ports: Vec<u32>) -> Result<switch::GetQueuesResponse, Status> {
        let request = switch::GetQueuesRequest { device_id: self.device_id, ports };
        Ok(self.switch_control().get_queues(request).await?.into_inner())
    }

    /// Replaces the queues of ports. With an expected revision, the call fails with ABORTED if the
    /// queues have changed since they were read.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. UNIMPLEMENTED means that the server lacks the service.
    pub async fn set_queues(
        &self,
        ports: Vec<switch::PortQueues>,
        expected_revision: Option<u64>,
    ) -> Result<switch::SetQueuesResponse, Status> {
        let device_id = self.device_id;
        let request =
            switch::SetQueuesRequest { device_id, ports, validate_only: false, expected_revision };
        Ok(self.switch_control().set_queues(request).await?.into_inner())
    }

    /// Runs the packets of a request through the program as if they had arrived on ports, and
    /// returns the outcome of each.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. UNIMPLEMENTED means that the server lacks the service.
    pub async fn inject(
        &self,
        request: switch::InjectRequest,
    ) -> Result<Vec<switch::InjectOutcome>, Status> {
        let answer = self.switch_control().inject(Single(Some(request))).await?;
        let mut answers = answer.into_inner();
        let mut outcomes = Vec::new();
        while let Some(mut answer) = answers.message().await? {
            outcomes.append(&mut answer.outcomes);
        }
        Ok(outcomes)
    }
}

/// A stream of requests that consists of one request.
struct Single(Option<switch::InjectRequest>);

impl Stream for Single {
    type Item = switch::InjectRequest;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take())
    }
}
