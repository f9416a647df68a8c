//! The age of counters: whether a P4Runtime switch returns values that were true when it was asked,
//! or older ones.
//!
//! Packets of one flow pass through the switch at even distances, and the direct counter of the
//! flow's entry is read again and again. Some switches copy their counters only now and then from
//! the hardware, and return the copy.

mod age;

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use entities::schema::{Schema as Objects, Unit};
use p4runtime::client::{Client, WriteError};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{self, entity::Entity as Kind, write_request::Atomicity};

use self::age::{Counted, Reading};
use crate::effects::Range;
use crate::error::DutError;
use crate::live::Traffic;
use crate::poll::poll_once;
use crate::session::read_entities;
use crate::stream::PacketStream;
use crate::window::TIMEOUT;

/// The time between two packets.
const SPACING: Duration = Duration::from_micros(500);
/// The time for which packets are sent before the first reading.
const BEFORE: Duration = Duration::from_millis(50);
/// The time between the answer to a reading and the next request.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest time after the last packet for which the counter may still change.
const SETTLES: Duration = Duration::from_secs(10);
/// The time without an arrival after which a missing packet is lost.
const GRACE: Duration = Duration::from_millis(100);

/// The settings of the test.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of readings.
    pub readings: usize,
}

/// The readings of a counter.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The fully qualified name of the counter.
    pub counter: String,
    /// The age of the value of each reading.
    pub ages: Vec<Range>,
    /// The number of readings whose value exceeds the packets that were sent.
    pub too_high: usize,
    /// The number of packets that were sent.
    pub sent: usize,
    /// The number of packets that left the switch as they should.
    pub arrived: usize,
    /// The packets that the counter had counted in the end, when its value no longer changed or
    /// [`Measured::sent`] was reached.
    pub counted: u64,
}

/// Reads the counter of a flow's entry while packets pass. Deletes the entries of the measurement
/// also if the test fails. Returns `None` if the table of the flow has no direct counter of
/// packets.
///
/// # Errors
/// Returns an error if a request fails, or if the switch has an entry for the packets already.
pub(crate) async fn measure(
    client: &Client,
    traffic: &Traffic,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<Measured>, DutError> {
    let schema = Schema::new(traffic.p4info.clone());
    let schema = schema.map_err(|error| DutError::Schema(error.to_string()))?;
    let Some(counter) = counter(schema.objects(), &traffic.table) else { return Ok(None) };
    let mut stream = PacketStream::open(traffic)?;
    let mut switch = Switch { client: client.clone() };
    let entries: Vec<v1::TableEntry> = stream.entries().cloned().collect();
    let Some(counted) = entries.last().cloned() else { return Err(DutError::NoRules) };
    let inserted = switch.insert(&entries).await?;
    let found = match inserted.len() == entries.len() {
        true => readings(&mut switch, &counted, &mut stream, settings, stop, progress).await,
        // An entry of others is there. It is neither changed nor deleted.
        false => Err(DutError::NoRules),
    };
    switch.delete(&inserted).await?;
    found.map(|measured| Some(Measured { counter, ..measured }))
}

/// Returns the name of the direct counter of a table, if it counts packets.
fn counter(schema: &Objects, table: &str) -> Option<String> {
    let counter = schema.direct_counters().get(schema.tables().by_name(table)?.direct_counter?)?;
    match counter.unit {
        Unit::Packets | Unit::Both => Some(counter.name.clone()),
        Unit::Bytes | Unit::Unspecified => None,
    }
}

async fn readings(
    switch: &mut Switch,
    counted: &v1::TableEntry,
    stream: &mut PacketStream,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let base = switch.value(counted).await?;
    stream.start();
    let mut due = Duration::ZERO;
    let mut readings: Vec<Reading> = Vec::new();
    let mut next = BEFORE;
    while readings.len() < settings.readings && !stop.load(Ordering::Relaxed) {
        let request = stream.now();
        if request < next {
            pace(stream, &mut due)?;
            tokio::task::yield_now().await;
            continue;
        }
        let mut call = pin!(switch.value(counted));
        let value = loop {
            if let Poll::Ready(value) = poll_once(call.as_mut()).await {
                break value?;
            }
            pace(stream, &mut due)?;
            tokio::task::yield_now().await;
        };
        let answer = stream.now();
        readings.push(Reading { request, answer, value: value.saturating_sub(base) });
        next = answer + PAUSE;
        progress(readings.len() as u64, settings.readings as u64);
    }
    let end = stream.now();
    while stream.now() < end + GRACE {
        stream.receive()?;
        tokio::task::yield_now().await;
    }
    let packets = Counted::of(stream.packets());
    let mut measured = Measured {
        sent: stream.packets().len(),
        arrived: stream.packets().iter().filter(|packet| packet.arrived.is_some()).count(),
        ..Measured::default()
    };
    for reading in readings {
        match packets.age(reading) {
            Some(age) => measured.ages.push(age),
            None => measured.too_high += 1,
        }
    }
    loop {
        measured.counted = switch.value(counted).await?.saturating_sub(base);
        let is_complete = measured.counted >= measured.arrived as u64;
        if is_complete || stream.now() > end + SETTLES || stop.load(Ordering::Relaxed) {
            return Ok(measured);
        }
        tokio::time::sleep(GRACE).await;
    }
}

/// Sends the packet that is due, and records those that have arrived.
fn pace(stream: &mut PacketStream, due: &mut Duration) -> Result<(), DutError> {
    let now = stream.now();
    if now >= *due {
        stream.send()?;
        // After a pause of this program, overdue packets are not sent in one burst.
        *due = (*due).max(now.saturating_sub(SPACING)) + SPACING;
    }
    stream.receive()
}

/// The switch, with requests that wait for their answers.
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

    /// Returns the positions of the entries that the switch refused.
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

    /// Returns the packets that an entry's counter has counted.
    async fn value(&mut self, entry: &v1::TableEntry) -> Result<u64, DutError> {
        let selected = v1::TableEntry {
            action: None,
            counter_data: Some(v1::CounterData::default()),
            ..entry.clone()
        };
        let selected = v1::Entity { entity: Some(Kind::TableEntry(selected)) };
        let found = read_entities(&mut self.client, vec![selected]).await?;
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
}
