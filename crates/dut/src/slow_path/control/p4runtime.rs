//! The control channel over P4Runtime. An update is a Write request, and packets to and from the
//! controller are messages of the stream.

use std::time::Instant;

use p4runtime::client::Client;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, stream_message_response::Update as Message,
};

use super::Control;
use crate::clock::Clock as _;
use crate::error::DutError;
use crate::live::{self, Control as _};
use crate::session::{Stream, read_entities, take_messages};
use crate::tag::Tag;
use crate::window::{BatchAtomicity, Operation};

/// The control channel to a P4Runtime switch in a measurement of the slow path.
pub(in crate::slow_path) struct P4RuntimeControl<'a> {
    updates: &'a mut live::P4RuntimeControl,
    stream: Stream<'a>,
    /// The metadata that is sent with each packet-out, such as the egress port.
    metadata: &'a [v1::PacketMetadata],
    clock: Instant,
    messages: Vec<Message>,
}

impl<'a> P4RuntimeControl<'a> {
    pub(in crate::slow_path) fn new(
        updates: &'a mut live::P4RuntimeControl,
        stream: Stream<'a>,
        metadata: &'a [v1::PacketMetadata],
    ) -> Self {
        let (clock, messages) = (Instant::now(), Vec::new());
        Self { updates, stream, metadata, clock, messages }
    }
}

impl Control for P4RuntimeControl<'_> {
    type Entry = v1::TableEntry;

    async fn begin(
        &mut self,
        operation: Operation,
        entry: &v1::TableEntry,
    ) -> Result<(), DutError> {
        self.updates.prepare(operation, BatchAtomicity::ContinueOnError, &[entry])?;
        let clock = self.clock;
        self.updates.turn(&|| clock.now()).await
    }

    async fn look(&mut self, take: &mut dyn FnMut(Tag)) -> Result<bool, DutError> {
        // The connection is served by another task.
        tokio::task::yield_now().await;
        let clock = self.clock;
        self.updates.turn(&|| clock.now()).await?;
        take_messages(self.stream.receiver, &mut self.messages).await?;
        for message in self.messages.drain(..) {
            match message {
                Message::Packet(packet) => {
                    Tag::read(&packet.payload).into_iter().for_each(&mut *take)
                }
                Message::Error(error) => {
                    let cause = format!("{} (code {})", error.message, error.canonical_code);
                    return Err(DutError::Request { what: "stream", cause });
                }
                Message::Arbitration(_)
                | Message::Digest(_)
                | Message::IdleTimeoutNotification(_)
                | Message::Other(_) => {}
            }
        }
        Ok(self.updates.moments().answer.is_some())
    }

    fn packet_out(&mut self, packet: &[u8]) -> Result<bool, DutError> {
        let payload = packet.to_vec().into();
        let packet = v1::PacketOut { payload, metadata: self.metadata.to_vec() };
        Ok(self.stream.sender.packet_outs([packet]) > 0)
    }

    fn flush(&mut self) -> Result<(), DutError> {
        // The stream's queue is written by another task.
        Ok(())
    }
}

/// The default entry of a table, which a measurement replaces and then restores.
pub(in crate::slow_path) struct DefaultEntry {
    client: Client,
    /// The default entry that the table had before the measurement.
    before: v1::TableEntry,
}

impl DefaultEntry {
    /// Reads the default entry of a table.
    pub(in crate::slow_path) async fn read(
        client: Client,
        table_id: u32,
    ) -> Result<Self, DutError> {
        let mut found = Self { client, before: of_table(table_id) };
        found.before = found.present().await?;
        Ok(found)
    }

    async fn present(&mut self) -> Result<v1::TableEntry, DutError> {
        let selected = of_table(self.before.table_id);
        let selected = vec![v1::Entity { entity: Some(Kind::TableEntry(selected)) }];
        let entities = read_entities(&mut self.client, selected).await?;
        let mut entries = entities.into_iter().filter_map(|entity| match entity.entity {
            Some(Kind::TableEntry(entry)) if entry.is_default_action => Some(entry),
            _ => None,
        });
        // A table whose default action was never set may have no default entry to read.
        let action = entries.next().and_then(|entry| entry.action);
        Ok(v1::TableEntry { action, ..of_table(self.before.table_id) })
    }

    /// Restores the earlier default entry. If that had no action, the table gets the default action
    /// of the program (P4Runtime 1.5, section 9.1.2).
    pub(in crate::slow_path) async fn restore(
        mut self,
        updates: &mut live::P4RuntimeControl,
    ) -> Result<(), DutError> {
        updates.carry_out(Operation::Modify, std::slice::from_ref(&self.before)).await?;
        match self.present().await? == self.before {
            true => Ok(()),
            false => Err(DutError::NotRestored { count: 1 }),
        }
    }
}

/// Returns the entry that selects the default entry of a table in a request.
fn of_table(table_id: u32) -> v1::TableEntry {
    v1::TableEntry { table_id, is_default_action: true, ..Default::default() }
}
