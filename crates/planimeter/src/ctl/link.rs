//! The connection of `planimeter ctl` to a server, and how it becomes the primary controller.

use std::time::Duration;

use ::ctl::DeviceError;
use p4runtime::arbitration::ElectionId;
use p4runtime::client::{ArbitrationFailure, Client, StreamReceiver, StreamSender};

use super::failures::refused;

/// The time within which a server must answer an arbitration.
const PATIENCE: Duration = Duration::from_secs(5);

/// The largest number of election ids with which a session tries to become primary.
const ATTEMPTS: usize = 4;

/// The connection to a device, and whether this controller is the device's primary.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) role: String,
    pub(super) election_id: Option<ElectionId>,
    pub(super) takes_over: bool,
    /// The stream on which this controller has become primary, or `None` before that.
    pub(super) stream: Option<(StreamSender, StreamReceiver)>,
}

impl Link {
    /// Makes this controller primary, if it is not already.
    ///
    /// Unless the user names an election id, the smallest id is tried first, because it cannot
    /// displace another primary. If the device has had a primary that is no longer connected, the
    /// session uses that controller's id. It uses no higher id, so that the earlier controller can
    /// become primary again with its own.
    pub(super) async fn become_primary(
        &mut self,
    ) -> Result<&mut (StreamSender, StreamReceiver), DeviceError> {
        let is_open = self.stream.as_ref().is_some_and(|(sender, _)| !sender.is_closed());
        if !is_open {
            self.stream = Some(self.arbitrate().await?);
        }
        let lost = || DeviceError::Connection("the stream ended".to_owned());
        self.stream.as_mut().ok_or_else(lost)
    }

    async fn arbitrate(&mut self) -> Result<(StreamSender, StreamReceiver), DeviceError> {
        let mut id = self.election_id.unwrap_or(ElectionId(1));
        let above = |id: ElectionId| ElectionId(id.0.saturating_add(1));
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let error = match self.client.become_primary(&self.role, id, PATIENCE).await {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            last = error.to_string();
            let next = match &error {
                ArbitrationFailure::Backup { highest } if self.takes_over => {
                    highest.map_or(above(id), above)
                }
                ArbitrationFailure::NoPrimary { highest } if self.election_id.is_none() => {
                    highest.filter(|highest| *highest > id).unwrap_or_else(|| above(id))
                }
                // Another controller of the role has the same election id.
                ArbitrationFailure::Refused(status)
                    if self.takes_over && status.code() == tonic::Code::InvalidArgument =>
                {
                    above(id)
                }
                ArbitrationFailure::Refused(status)
                    if status.code() == tonic::Code::InvalidArgument =>
                {
                    break;
                }
                ArbitrationFailure::Refused(status) => return Err(refused(status)),
                ArbitrationFailure::NoAnswer { .. } => {
                    return Err(DeviceError::Connection(error.to_string()));
                }
                _ => break,
            };
            id = next;
        }
        Err(DeviceError::NotPrimary(format!(
            "not primary: {last}; --take-over displaces the other controller, and --election-id chooses the id"
        )))
    }
}
