//! The control channel over P4Runtime.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use p4runtime::client::{Client, WriteError};
use p4runtime::proto::v1::{self, entity::Entity as Kind};

use super::{Control, Moments};
use crate::effects::{Moment, Span};
use crate::entries::key;
use crate::error::DutError;
use crate::poll::poll_once;
use crate::session::{read_entities, refused_write, wire, write_updates};
use crate::window::{BatchAtomicity, Operation, TIMEOUT};

/// The number of calls of [`Request::turn`] after which the connection has certainly written a
/// request to its socket. Likewise, an answer that a call sees arrived at most this number of calls
/// earlier.
const TURNS: usize = 4;

/// A Write request that is not answered yet.
type Call = Pin<Box<dyn Future<Output = Result<(), WriteError>>>>;

/// A P4Runtime switch, with the entries that the measurement may have inserted into it.
pub(crate) struct P4RuntimeControl {
    client: Client,
    /// The entries that this measurement has inserted, in the order of insertion.
    entries: Vec<v1::TableEntry>,
    /// The entries that the switch had before the measurement, each identified by its table and
    /// key.
    before: HashSet<(u32, Vec<u8>)>,
    tables: Vec<u32>,
    /// The entries that the request deletes, each identified by its table and key.
    deleted: HashSet<(u32, Vec<u8>)>,
    request: Request,
}

/// A Write request that is polled between packets, with the times at which it was sent and
/// answered.
struct Request {
    /// The call of the RPC; `None` once it is answered.
    call: Option<Call>,
    moments: Moments,
    /// The clock readings at the beginning of the latest calls of `turn`, the oldest first.
    readings: [Moment; TURNS],
    turns: usize,
}

impl Request {
    fn new(call: Option<Call>) -> Self {
        Self { call, moments: Moments::default(), readings: [Moment(0); TURNS], turns: 0 }
    }

    /// Checks once whether the request is answered; the first check sends it. Returns whether this
    /// check saw the answer.
    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<bool, DutError> {
        let Some(call) = &mut self.call else { return Ok(false) };
        let reading = now();
        let first = Span { earliest: reading, latest: reading };
        let request = *self.moments.request.get_or_insert(first);
        if self.turns == 0 {
            self.readings = [reading; TURNS];
        }
        if self.turns == TURNS {
            // The connection has written the request to its socket by now.
            self.moments.request = Some(Span { latest: reading, ..request });
        }
        self.turns += 1;
        let polled = poll_once(call.as_mut()).await;
        let is_answered = polled.is_ready();
        match polled {
            Poll::Ready(outcome) => {
                let [earliest, ..] = self.readings;
                let latest = now();
                self.moments.answer = Some(Span { earliest, latest });
                if self.turns <= TURNS {
                    // All that is known is that the request was sent before its answer came.
                    self.moments.request = Some(Span { latest, ..request });
                }
                self.call = None;
                outcome.map_err(|error| refused_write(&error))?;
            }
            Poll::Pending => {
                if reading.0 > request.earliest.0 + TIMEOUT.as_nanos() as u64 {
                    return Err(DutError::NoAnswer { what: "Write", patience: TIMEOUT });
                }
            }
        }
        self.readings.rotate_left(1);
        if let Some(last) = self.readings.last_mut() {
            *last = reading;
        }
        Ok(is_answered)
    }
}

impl P4RuntimeControl {
    /// Opens the control channel, and reads the entries that the switch has in these tables before
    /// the measurement.
    pub(crate) async fn read(client: Client, tables: Vec<u32>) -> Result<Self, DutError> {
        let mut control = Self {
            client,
            entries: Vec::new(),
            before: HashSet::new(),
            tables,
            deleted: HashSet::new(),
            request: Request::new(None),
        };
        control.before = control.present().await?;
        Ok(control)
    }

    /// Returns whether the switch had an entry with the same key before the measurement.
    pub(crate) fn was_there(&self, entry: &v1::TableEntry) -> bool {
        self.before.contains(&identity(entry))
    }

    /// Records that entries were deleted.
    fn remove(&mut self, gone: &HashSet<(u32, Vec<u8>)>) {
        self.entries.retain(|entry| !gone.contains(&identity(entry)));
    }

    async fn write(&mut self, updates: Vec<v1::Update>) -> Result<(), DutError> {
        write_updates(&mut self.client, updates).await
    }

    async fn present(&mut self) -> Result<HashSet<(u32, Vec<u8>)>, DutError> {
        if self.tables.is_empty() {
            return Ok(HashSet::new());
        }
        let selected = self.tables.iter().map(|table| v1::Entity {
            entity: Some(Kind::TableEntry(v1::TableEntry {
                table_id: *table,
                ..Default::default()
            })),
        });
        let found = read_entities(&mut self.client, selected.collect()).await?;
        let entries = found.iter().filter_map(|entity| match &entity.entity {
            Some(Kind::TableEntry(entry)) if !entry.is_default_action => Some(identity(entry)),
            _ => None,
        });
        Ok(entries.collect())
    }
}

impl Control for P4RuntimeControl {
    type Entry = v1::TableEntry;

    async fn carry_out(
        &mut self,
        operation: Operation,
        entries: &[v1::TableEntry],
    ) -> Result<(), DutError> {
        if entries.is_empty() {
            return Ok(());
        }
        if operation == Operation::Insert {
            self.entries.extend(entries.iter().cloned());
        }
        self.write(entries.iter().map(|entry| update(operation, entry)).collect()).await?;
        if operation == Operation::Delete {
            self.remove(&entries.iter().map(identity).collect());
        }
        Ok(())
    }

    fn prepare(
        &mut self,
        operation: Operation,
        atomicity: BatchAtomicity,
        entries: &[&v1::TableEntry],
    ) -> Result<(), DutError> {
        if operation == Operation::Insert {
            self.entries.extend(entries.iter().map(|entry| (*entry).clone()));
        }
        self.deleted.clear();
        if operation == Operation::Delete {
            self.deleted.extend(entries.iter().map(|entry| identity(entry)));
        }
        let updates = entries.iter().map(|entry| update(operation, entry)).collect();
        let mut client = self.client.clone();
        let call = async move { client.write(updates, wire(atomicity)).await };
        self.request = Request::new(Some(Box::pin(call)));
        Ok(())
    }

    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<(), DutError> {
        if self.request.turn(now).await? {
            let gone = std::mem::take(&mut self.deleted);
            self.remove(&gone);
        }
        Ok(())
    }

    fn moments(&self) -> Moments {
        self.request.moments
    }

    async fn restore(&mut self) -> Result<usize, DutError> {
        let entries = std::mem::take(&mut self.entries);
        let updates: Vec<v1::Update> =
            entries.iter().rev().map(|entry| update(Operation::Delete, entry)).collect();
        if !updates.is_empty() {
            // Entries that the switch refused, or has deleted already, are not there.
            match self.write(updates).await {
                Ok(()) | Err(DutError::Request { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let after = self.present().await?;
        Ok(self.before.symmetric_difference(&after).count())
    }
}

/// Returns the message that updates an entry. For a deletion it contains only the entry's key.
fn update(operation: Operation, entry: &v1::TableEntry) -> v1::Update {
    let mut entry = entry.clone();
    let kind = match operation {
        Operation::Insert => v1::update::Type::Insert,
        Operation::Modify => v1::update::Type::Modify,
        Operation::Delete => {
            entry.action = None;
            v1::update::Type::Delete
        }
    };
    let entity = Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) });
    v1::Update { r#type: kind as i32, entity }
}

fn identity(entry: &v1::TableEntry) -> (u32, Vec<u8>) {
    (entry.table_id, key(entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Returns the times between which a request was sent and answered, if the call of `turn` with
    /// this number sees the answer. Each call and each clock reading takes one nanosecond.
    fn spans(answered: usize) -> (Span, Span) {
        let clock = Cell::new(0);
        let now = || Moment(clock.replace(clock.get() + 1));
        let left = Cell::new(answered);
        let call =
            std::future::poll_fn(move |_| match left.replace(left.get().saturating_sub(1)) {
                0 => Poll::Ready(Ok(())),
                _ => Poll::Pending,
            });
        let mut request = Request::new(Some(Box::pin(call)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        while !runtime.block_on(request.turn(&now)).expect("an answer") {}
        let Moments { request, answer } = request.moments;
        (request.expect("a request"), answer.expect("an answer"))
    }

    /// The first call of `turn` only begins to send the request, which may still be in memory at
    /// the next call.
    #[test]
    fn the_span_of_a_request_ends_when_it_was_certainly_sent() {
        for answered in 0..3 * TURNS {
            let (request, answer) = spans(answered);
            assert_eq!(request.earliest, Moment(0));
            let certain = answer.latest.min(Moment(TURNS as u64));
            assert_eq!(request.latest, certain, "answered on turn {answered}");
            assert!(answer.earliest < answer.latest);
        }
    }
}
