//! The control channel of a measurement of digests.

use std::time::Duration;

use p4runtime::client::Client;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, stream_message_response::Update as Message,
};

use super::config::Config;
use crate::error::DutError;
use crate::session::{Stream, take_messages, write_updates};
use crate::window::TIMEOUT;

/// A control channel that is polled between packets.
pub(super) trait Control {
    /// Sets the configuration of the measured digest.
    async fn configure(&mut self, config: Config) -> Result<(), DutError>;

    /// Appends the lists of digests that have arrived to `lists`, without waiting for more.
    async fn look(&mut self, lists: &mut Vec<v1::DigestList>) -> Result<(), DutError>;

    /// Acknowledges a list of digests to the switch.
    fn acknowledge(&mut self, list: &v1::DigestList);
}

/// A P4Runtime switch, with the configuration that its digest had before the measurement.
pub(super) struct P4RuntimeControl<'a> {
    client: Client,
    stream: Stream<'a>,
    digest_id: u32,
    before: Option<v1::digest_entry::Config>,
    /// Whether the digest is configured in the switch at present.
    is_configured: bool,
    messages: Vec<Message>,
}

impl<'a> P4RuntimeControl<'a> {
    /// Reads the present configuration of a digest, to restore it after the measurement.
    pub(super) async fn read(
        client: Client,
        stream: Stream<'a>,
        digest_id: u32,
    ) -> Result<Self, DutError> {
        let messages = Vec::new();
        let mut control =
            Self { client, stream, digest_id, before: None, is_configured: false, messages };
        control.before = control.present().await?;
        control.is_configured = control.before.is_some();
        Ok(control)
    }

    async fn present(&mut self) -> Result<Option<v1::digest_entry::Config>, DutError> {
        let entry = v1::DigestEntry { digest_id: self.digest_id, config: None };
        let selected = vec![v1::Entity { entity: Some(Kind::DigestEntry(entry)) }];
        let answer = tokio::time::timeout(TIMEOUT, self.client.read(selected)).await;
        let answer = answer.map_err(|_| DutError::NoAnswer { what: "Read", patience: TIMEOUT })?;
        let found = match answer {
            Ok(found) => found,
            // A digest without a configuration has no entry.
            Err(status) if status.code() == tonic::Code::NotFound => Vec::new(),
            Err(status) => {
                let cause = format!("{} ({:?})", status.message(), status.code());
                return Err(DutError::Request { what: "Read", cause });
            }
        };
        Ok(found.into_iter().find_map(|entity| match entity.entity {
            Some(Kind::DigestEntry(entry)) => Some(entry.config.unwrap_or_default()),
            _ => None,
        }))
    }

    async fn write(
        &mut self,
        kind: v1::update::Type,
        config: Option<v1::digest_entry::Config>,
    ) -> Result<(), DutError> {
        let entry = v1::DigestEntry { digest_id: self.digest_id, config };
        let entity = Some(v1::Entity { entity: Some(Kind::DigestEntry(entry)) });
        let update = v1::Update { r#type: kind as i32, entity };
        write_updates(&mut self.client, vec![update]).await
    }

    /// Restores the digest's earlier configuration, or deletes the configuration if there was none.
    pub(super) async fn restore(mut self) -> Result<(), DutError> {
        match self.before {
            Some(before) => self.write(v1::update::Type::Modify, Some(before)).await?,
            None if self.is_configured => self.write(v1::update::Type::Delete, None).await?,
            None => {}
        }
        match self.present().await? == self.before {
            true => Ok(()),
            false => Err(DutError::NotRestored { count: 1 }),
        }
    }
}

impl Control for P4RuntimeControl<'_> {
    async fn configure(&mut self, config: Config) -> Result<(), DutError> {
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let config = v1::digest_entry::Config {
            max_timeout_ns: nanos(config.max_timeout),
            max_list_size: i32::try_from(config.max_list_size).unwrap_or(i32::MAX),
            ack_timeout_ns: nanos(config.ack_timeout),
        };
        let kind = match self.is_configured {
            true => v1::update::Type::Modify,
            false => v1::update::Type::Insert,
        };
        // The switch may have the configuration even if its answer is lost.
        self.is_configured = true;
        self.write(kind, Some(config)).await
    }

    async fn look(&mut self, lists: &mut Vec<v1::DigestList>) -> Result<(), DutError> {
        // The connection is served by another task.
        tokio::task::yield_now().await;
        take_messages(self.stream.receiver, &mut self.messages).await?;
        lists.extend(self.messages.drain(..).filter_map(|message| match message {
            Message::Digest(list) if list.digest_id == self.digest_id => Some(list),
            _ => None,
        }));
        Ok(())
    }

    fn acknowledge(&mut self, list: &v1::DigestList) {
        self.stream.sender.acknowledge(list);
    }
}
