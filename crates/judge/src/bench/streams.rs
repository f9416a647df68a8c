//! The streams of the bench: that of the primary, and those of other clients.

use std::time::Duration;

use protos::v1::{self, stream_message_request, stream_message_response::Update as Message};
use tonic::{Code, Status};

use super::{Bench, arbitrate, arbitration_of, demand_code, no_stream, standing};
use crate::channel::{Stream, TIMEOUT, name};
use crate::demands::{Fault, demand};

/// The time for which a message is awaited that must not come.
const SILENCE: Duration = Duration::from_millis(300);

impl Bench {
    /// Opens a stream of another client and returns the answer to its arbitration.
    pub(crate) fn rival(
        &mut self,
        election_id: Option<u128>,
    ) -> Result<(Stream, v1::MasterArbitrationUpdate), Fault> {
        self.has_rivals = true;
        arbitrate(&mut self.channel, self.target.device_id, election_id).map_err(Fault::Broken)
    }

    /// Opens a stream of a controller of another role than the default one, and returns the answer
    /// to its arbitration.
    ///
    /// # Errors
    /// Not applicable if the device takes no roles with names, or refuses the role's configuration.
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

    /// Returns the next message to another client that `pick` takes, if one comes in time.
    pub(crate) fn heard_by<T>(
        &mut self,
        stream: &mut Stream,
        time: Duration,
        mut pick: impl FnMut(Message) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        self.picked(stream, time, &mut pick)
    }

    /// Opens a stream with any first message.
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

    /// Returns the next message of another client, or how the device ended its stream; `None` if
    /// neither comes.
    pub(crate) fn received(
        &mut self,
        stream: &mut Stream,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        self.channel.receive(stream, TIMEOUT)
    }

    /// Closes the stream of the primary, until the next requirement.
    pub(crate) fn leave(&mut self) {
        self.primary = None;
        self.has_rivals = true;
    }

    /// Notes that this client gave up being the primary, until the next requirement.
    pub(crate) fn becomes_backup(&mut self) {
        self.has_rivals = true;
    }

    /// Makes the election id of the primary at least this one.
    pub(crate) fn raise_election_id(&mut self, least: u128) -> Result<(), Fault> {
        self.highest = self.highest.max(least - 1);
        self.become_primary().map_err(Fault::Lost)
    }

    /// Returns the next message to the primary that `pick` takes; others are skipped. It is an
    /// error of the connection if none comes.
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

    /// Demands that the stream of the primary brings no message that `is_wrong` for a while, and
    /// stays open.
    pub(crate) fn silent(&mut self, is_wrong: fn(&Message) -> bool) -> Result<(), Fault> {
        let Some(mut stream) = self.primary.take() else { return Err(Fault::Lost(no_stream())) };
        let outcome = self.silent_on(&mut stream, is_wrong);
        self.primary = Some(stream);
        outcome
    }

    /// Demands the same of the stream of another client.
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

    /// Returns the next arbitration update of a client.
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

    /// Demands that the device ends a stream with this code.
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

    /// Demands that the device refuses a stream with this first message, by ending it.
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

    /// Returns the next arbitration update of the primary.
    pub(crate) fn update_of_primary(&mut self) -> Result<(Code, u128), Fault> {
        self.heard("arbitration update", |message| match message {
            Message::Arbitration(update) => Some(standing(&update)),
            _ => None,
        })
    }
}
