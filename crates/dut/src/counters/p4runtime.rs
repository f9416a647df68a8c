//! Measures the age of a table's direct counter, which is read over P4Runtime.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use entities::schema::{Schema as Objects, Unit};
use p4runtime::client::{Client, WriteError};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{self, entity::Entity as Kind, write_request::Atomicity};

use super::{Counter, Measured, Readings, Wanted};
use crate::effects::Moment;
use crate::error::DutError;
use crate::leaving_flow::LeavingFlow;
use crate::live::Traffic;
use crate::pace::Pace;
use crate::poll::poll_once;
use crate::session::read_entities;
use crate::stream::PacketStream;
use crate::window::TIMEOUT;

/// Reads the direct counter of a flow's entry while the flow's packets pass. Deletes the entries of
/// the measurement, also if the test fails. Returns `None` if the table has no direct counter of
/// packets.
///
/// # Errors
/// Returns an error if a request fails, or if the switch already has an entry for the packets.
pub(crate) async fn measure(
    client: &Client,
    traffic: &Traffic,
    wanted: Wanted<'_>,
) -> Result<Option<Measured>, DutError> {
    let schema = Schema::new(traffic.p4info.clone());
    let schema = schema.map_err(|error| DutError::Schema(error.to_string()))?;
    let Some(name) = counter(schema.objects(), &traffic.table) else { return Ok(None) };
    let flow = LeavingFlow::of(&traffic.flows, &traffic.beside).ok_or(DutError::NoRules)?;
    let mut stream = PacketStream::open(&traffic.wires)?;
    let mut switch = Switch { client: client.clone() };
    let entries: Vec<v1::TableEntry> = flow.entries().cloned().collect();
    let inserted = switch.insert(&entries).await?;
    let found = match inserted.len() == entries.len() {
        true => {
            let mut counter =
                DirectCounter { client: client.clone(), entry: flow.entry().clone(), call: None };
            let pace = Pace::new(Moment(0), 1, 1);
            let (counter, stream) = (&mut counter, &mut stream);
            let mut readings = Readings { counter, flow: &flow, stream, pace };
            readings.make(wanted).await
        }
        // The switch already has an entry that this measurement did not insert, which is neither
        // changed nor deleted.
        false => Err(DutError::NoRules),
    };
    switch.delete(&inserted).await?;
    found.map(|measured| Some(Measured { counter: name, ..measured }))
}

/// Returns the name of a table's direct counter, if that counts packets.
fn counter(schema: &Objects, table: &str) -> Option<String> {
    let counter = schema.direct_counters().get(schema.tables().by_name(table)?.direct_counter?)?;
    match counter.unit {
        Unit::Packets | Unit::Both => Some(counter.name.clone()),
        Unit::Bytes | Unit::Unspecified => None,
    }
}

/// A Read request that is not answered yet.
type Call = Pin<Box<dyn Future<Output = Result<u64, DutError>>>>;

/// The direct counter of a table entry.
struct DirectCounter {
    client: Client,
    entry: v1::TableEntry,
    call: Option<Call>,
}

impl Counter for DirectCounter {
    fn ask(&mut self) -> Result<(), DutError> {
        self.call = Some(Box::pin(value(self.client.clone(), self.entry.clone())));
        Ok(())
    }

    async fn look(&mut self) -> Result<Option<u64>, DutError> {
        let Some(call) = &mut self.call else { return Ok(None) };
        match poll_once(call.as_mut()).await {
            Poll::Ready(value) => {
                self.call = None;
                value.map(Some)
            }
            Poll::Pending => Ok(None),
        }
    }

    fn tend(&mut self) -> Result<(), DutError> {
        // A task of the runtime serves the connection.
        Ok(())
    }
}

/// Reads the number of packets that an entry's counter has counted.
async fn value(mut client: Client, entry: v1::TableEntry) -> Result<u64, DutError> {
    let selected =
        v1::TableEntry { action: None, counter_data: Some(v1::CounterData::default()), ..entry };
    let selected = v1::Entity { entity: Some(Kind::TableEntry(selected)) };
    let found = read_entities(&mut client, vec![selected]).await?;
    let counter = found.into_iter().find_map(|entity| match entity.entity {
        Some(Kind::TableEntry(entry)) => entry.counter_data,
        _ => None,
    });
    let counter = counter.ok_or_else(|| DutError::Request {
        what: "Read",
        cause: "the entry has no counter_data, although it was asked for".to_owned(),
    })?;
    Ok(u64::try_from(counter.packet_count).unwrap_or(0))
}

/// The connection to the switch. Each method waits for the answer to its request.
struct Switch {
    client: Client,
}

impl Switch {
    /// Inserts entries. Returns those that the switch accepted.
    async fn insert(
        &mut self,
        entries: &[v1::TableEntry],
    ) -> Result<Vec<v1::TableEntry>, DutError> {
        let refused = self.write(v1::update::Type::Insert, entries).await?;
        let accepted = entries.iter().enumerate().filter(|(at, _)| !refused.contains(at));
        Ok(accepted.map(|(_, entry)| entry.clone()).collect())
    }

    async fn delete(&mut self, entries: &[v1::TableEntry]) -> Result<(), DutError> {
        let entries: Vec<v1::TableEntry> = entries
            .iter()
            .rev()
            .map(|entry| v1::TableEntry { action: None, ..entry.clone() })
            .collect();
        let refused = self.write(v1::update::Type::Delete, &entries).await?;
        match refused.len() {
            0 => Ok(()),
            count => Err(DutError::NotRestored { count }),
        }
    }

    /// Writes an update of each entry. Returns the positions of the entries that the switch
    /// refused.
    async fn write(
        &mut self,
        kind: v1::update::Type,
        entries: &[v1::TableEntry],
    ) -> Result<Vec<usize>, DutError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let updates = entries.iter().map(|entry| v1::Update {
            r#type: kind as i32,
            entity: Some(v1::Entity { entity: Some(Kind::TableEntry(entry.clone())) }),
        });
        let call = self.client.write(updates.collect(), Atomicity::ContinueOnError);
        let answer = tokio::time::timeout(TIMEOUT, call).await;
        let answer = answer.map_err(|_| DutError::NoAnswer { what: "Write", patience: TIMEOUT })?;
        match answer {
            Ok(()) => Ok(Vec::new()),
            Err(WriteError::Updates { refused, .. }) => {
                Ok(refused.into_iter().map(|one| one.index).collect())
            }
            Err(other) => Err(DutError::Request { what: "Write", cause: other.to_string() }),
        }
    }
}
