//! The streams of the bench: that of the primary controller, and those of other clients.

use std::time::Duration;

use protos::v1::{self, stream_message_request, stream_message_response::Update as Message};
use tonic::{Code, Status};

use super::{Bench, arbitrate, arbitration_of, demand_code, no_stream, standing};
use crate::channel::{Stream, TIMEOUT, name};
use crate::demands::{Fault, demand};

/// The time for which a message that must not arrive is awaited.
const SILENCE: Duration = Duration::from_millis(300);

impl Bench {
    /// Opens a stream of another client of the default role, and returns the answer to its
    /// arbitration request.
    pub(crate) fn rival(
        &mut self,
        election_id: Option<u128>,
    ) -> Result<(Stream, v1::MasterArbitrationUpdate), Fault> {
        self.has_rivals = true;
        arbitrate(&mut self.channel, self.target.device_id, election_id).map_err(Fault::Broken)
    }

    /// Opens a stream of a controller of another role, and returns the answer to its arbitration
    /// request.
    ///
    /// # Errors
    /// Not applicable if the device does not accept named roles, or refuses the role's
    /// configuration.
    pub(crate) fn of_role(
        &mut self,
        role: &v1::Role,
        election_id: Option<u128>,
    ) -> Result<(Stream, v1::MasterArbitrationUpdate), Fault> {
        let first = arbitration_of(self.device_id(), Some(role.clone()), election_id);
        let refused = |status: &Status| {
            Fault::NotApplicable(format!(
                "the device does not take the role {} with {}: {}",
                role.name,
                match role.config {
                    Some(_) => format!("a {}", protos::roles::NAME),
                    None => "no configuration".to_owned(),
                },
                status.message()
            ))
        };
        let mut stream = self.stream(first)?.map_err(|status| refused(&status))?;
        match self.received(&mut stream) {
            Some(Ok(v1::StreamMessageResponse { update: Some(Message::Arbitration(update)) })) => {
                Ok((stream, update))
            }
            Some(Err(status)) => Err(refused(&status)),
            Some(Ok(_)) | None => {
                Err(Fault::Broken("the device sent no arbitration update".to_owned()))
            }
        }
    }

    /// Returns the first value that `pick` returns for a message to another client, or `None` if
    /// there is no such message within `time`.
    pub(crate) fn heard_by<T>(
        &mut self,
        stream: &mut Stream,
        time: Duration,
        mut pick: impl FnMut(Message) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        self.picked(stream, time, &mut pick)
    }

    /// Opens a stream whose first message is `first`, which need not be an arbitration request.
    pub(crate) fn stream(
        &mut self,
        first: stream_message_request::Update,
    ) -> Result<Result<Stream, Status>, Fault> {
        self.has_rivals = true;
        Ok(self.channel.open_stream(v1::StreamMessageRequest { update: Some(first) })?)
    }

    /// Sends a message on the stream of the primary.
    pub(crate) fn send(&mut self, update: stream_message_request::Update) -> Result<(), Fault> {
        let message = v1::StreamMessageRequest { update: Some(update) };
        let Some(stream) = &self.primary else { return Err(Fault::Lost(no_stream())) };
        Ok(self.channel.send(stream, message)?)
    }

    /// Sends a message on the stream of another client.
    pub(crate) fn send_on(
        &mut self,
        stream: &Stream,
        update: stream_message_request::Update,
    ) -> Result<(), Fault> {
        let message = v1::StreamMessageRequest { update: Some(update) };
        Ok(self.channel.send(stream, message)?)
    }

    /// Returns the next message of another client's stream, or the status with which the device
    /// ended the stream. Returns `None` if neither arrives in time.
    pub(crate) fn received(
        &mut self,
        stream: &mut Stream,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        self.channel.receive(stream, TIMEOUT)
    }

    /// Closes the stream of the primary. The bench opens it again before the next requirement.
    pub(crate) fn leave(&mut self) {
        self.primary = None;
        self.has_rivals = true;
    }

    /// Records that this client is no longer the primary. The bench becomes the primary again
    /// before the next requirement.
    pub(crate) fn becomes_backup(&mut self) {
        self.has_rivals = true;
    }

    /// Ensures that the primary's election id is at least `least`.
    pub(crate) fn raise_election_id(&mut self, least: u128) -> Result<(), Fault> {
        self.highest = self.highest.max(least - 1);
        self.become_primary().map_err(Fault::Lost)
    }

    /// Returns the first value that `pick` returns for a message to the primary, and skips all
    /// other messages. If no such message arrives in time, the connection counts as lost.
    pub(crate) fn heard<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(Message) -> Option<T>,
    ) -> Result<T, Fault> {
        let Some(stream) = &mut self.primary else { return Err(Fault::Lost(no_stream())) };
        loop {
            match self.channel.receive(stream, TIMEOUT) {
                None => return Err(Fault::Broken(format!("the device sent no {what}"))),
                Some(Err(status)) => {
                    self.primary = None;
                    return Err(Fault::Broken(format!(
                        "the device ended the stream with {} in place of {what}",
                        name(status.code())
                    )));
                }
                Some(Ok(message)) => {
                    if let Some(found) = message.update.and_then(&mut pick) {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// Demands that, for a short time, the stream of the primary stays open and no message arrives
    /// that satisfies `is_wrong`.
    pub(crate) fn silent(&mut self, is_wrong: fn(&Message) -> bool) -> Result<(), Fault> {
        let Some(mut stream) = self.primary.take() else { return Err(Fault::Lost(no_stream())) };
        let outcome = self.silent_on(&mut stream, is_wrong);
        self.primary = Some(stream);
        outcome
    }

    /// Demands that, for a short time, the stream of another client stays open and no message
    /// arrives that satisfies `is_wrong`.
    pub(crate) fn silent_on(
        &mut self,
        stream: &mut Stream,
        is_wrong: fn(&Message) -> bool,
    ) -> Result<(), Fault> {
        while let Some(found) = self.channel.receive(stream, SILENCE) {
            let found = found.map_err(|status| {
                Fault::Broken(format!("the device ended a stream with {}", name(status.code())))
            })?;
            demand(!found.update.as_ref().is_some_and(is_wrong), || {
                "the device sent a message that it must not send".to_owned()
            })?;
        }
        Ok(())
    }

    /// Returns the status code and the election id of the next arbitration update that a client
    /// receives.
    pub(crate) fn arbitration_update(
        &mut self,
        stream: &mut Stream,
    ) -> Result<(Code, u128), Fault> {
        match self.channel.receive(stream, TIMEOUT) {
            Some(Ok(v1::StreamMessageResponse { update: Some(Message::Arbitration(update)) })) => {
                Ok(standing(&update))
            }
            Some(Err(status)) => Err(Fault::Broken(format!(
                "the device ended the stream with {} in place of an arbitration update",
                name(status.code())
            ))),
            Some(Ok(_)) | None => {
                Err(Fault::Broken("the device sent no arbitration update".to_owned()))
            }
        }
    }

    /// Demands that the device ends a stream with this status code.
    pub(crate) fn ends(&mut self, stream: &mut Stream, code: Code) -> Result<(), Fault> {
        match self.channel.receive(stream, TIMEOUT) {
            Some(Err(status)) => demand_code(status.code(), &[code]),
            Some(Ok(_)) => Err(Fault::Broken(format!(
                "the device sent a message where it must end the stream with {}",
                name(code)
            ))),
            None => Err(Fault::Broken(format!(
                "the device keeps the stream open where it must end it with {}",
                name(code)
            ))),
        }
    }

    /// Demands that the device ends a stream whose first message is `first`, with this status code.
    pub(crate) fn refuse_stream(
        &mut self,
        first: stream_message_request::Update,
        code: Code,
    ) -> Result<(), Fault> {
        match self.stream(first)? {
            Err(status) => demand_code(status.code(), &[code]),
            Ok(mut stream) => self.ends(&mut stream, code),
        }
    }

    /// Returns the status code and the election id of the next arbitration update that the primary
    /// receives.
    pub(crate) fn update_of_primary(&mut self) -> Result<(Code, u128), Fault> {
        self.heard("arbitration update", |message| match message {
            Message::Arbitration(update) => Some(standing(&update)),
            _ => None,
        })
    }
}
