//! Measures whether a switch acts too early or too late on the timeouts of entries.
//!
//! No packets are sent, so an idle timeout expires as long after the insertion as a hard one. A
//! P4Runtime switch then notifies the primary controller (specification 1.5, sections 9.1.8 and
//! 16.4); an OpenFlow switch removes the flow entry and sends a flow-removed message (OpenFlow
//! 1.0.0, section 5.4.3; 1.3.5, section 7.4.2). The entry was inserted at some time between the
//! sending of the request and the answer, so the age of the entry when its message arrives has a
//! lower and an upper bound.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use p4runtime::proto::v1::{
    self, entity::Entity as Kind, stream_message_response::Update as Message,
};
use tonic::Status;

use crate::entry_number::{EntryNumber, Variant};
use crate::error::DutError;
use crate::flows::{FlowEntry, Lifetime, Output, Selector};
use crate::session::{OpenFlowChannel, P4RuntimeChannel, Reply, refused, write_updates};
use crate::window::{Operation, TIMEOUT};

/// The idle timeouts that are measured over P4Runtime.
pub(crate) const OF_P4RUNTIME: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// The timeouts that are measured over OpenFlow, in seconds, which is the protocol's unit.
const OF_OPENFLOW: [u16; 2] = [1, 2];
/// The pause between two checks for messages of an OpenFlow switch.
const LOOK: Duration = Duration::from_millis(1);

/// The settings of the test of timeouts.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of entries with each timeout.
    pub entries: usize,
    /// The time after the expiry of a timeout for which its message is awaited.
    pub grace: Duration,
}

/// The kind of a timeout: idle or hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The idle timeout, which expires when the entry has not matched a packet for a time.
    Idle,
    /// The hard timeout, which expires a time after the insertion.
    Hard,
}

impl Timer {
    /// Returns the name that reports give the timeout.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Hard => "hard",
        }
    }
}

/// Bounds on the age of an entry when the message about its timeout arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// The time since the answer to the insertion of the entry.
    pub least: Duration,
    /// The time since the request for the insertion of the entry was sent.
    pub greatest: Duration,
}

/// The result for entries with one timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The kind of the timeout.
    pub timer: Timer,
    /// The length of the timeout.
    pub timeout: Duration,
    /// The number of entries that were inserted.
    pub entries: usize,
    /// The ages of the entries whose message arrived.
    pub ages: Vec<Age>,
    /// The number of messages that give another reason than the timeout.
    pub other_reasons: usize,
}

impl Timed {
    /// Returns the number of entries whose message certainly came before the timeout had expired.
    #[must_use]
    pub fn early(&self) -> usize {
        self.ages.iter().filter(|age| age.greatest < self.timeout).count()
    }

    /// Returns the number of entries for which no message arrived.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.entries.saturating_sub(self.ages.len())
    }

    /// Returns, for each entry, the largest possible time from the expiry of the timeout to the
    /// message.
    pub fn lateness(&self) -> impl Iterator<Item = Duration> {
        self.ages.iter().map(|age| age.greatest.saturating_sub(self.timeout))
    }
}

/// An entry whose timeout is measured.
struct Running<K> {
    key: K,
    sent: Duration,
    answered: Duration,
    age: Option<Age>,
}

impl<K> Running<K> {
    /// Records that the message about the timeout has arrived. Further messages about the same
    /// entry, which P4Runtime switches may send, are ignored.
    fn note(&mut self, now: Duration) {
        let least = now.saturating_sub(self.answered);
        self.age.get_or_insert(Age { least, greatest: now.saturating_sub(self.sent) });
    }
}

fn is_complete<K>(running: &[Running<K>]) -> bool {
    running.iter().all(|one| one.age.is_some())
}

/// Measures the timeouts of entries of a P4Runtime switch, and deletes the entries after each
/// timeout. Returns `None` if the table does not support idle timeouts. If `stop` is set, returns
/// the timeouts that were measured completely. After an error, entries may be left in the switch
/// for the session to delete.
pub(crate) async fn over_p4runtime(
    channel: &mut P4RuntimeChannel,
    numbers: &[EntryNumber],
    grace: Duration,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<Vec<Timed>>, DutError> {
    if !channel.maker().table().idle_timeout {
        return Ok(None);
    }
    let mut measured = Vec::new();
    for (timeout, numbers) in OF_P4RUNTIME.into_iter().zip(parts(numbers, OF_P4RUNTIME.len())) {
        let start = Instant::now();
        let mut running = Vec::with_capacity(numbers.len());
        for number in numbers {
            let key = channel.maker().entry(*number, Variant::First).r#match;
            // Until the answer arrives, the lower bound of the entry's age is zero.
            let answered = Duration::MAX;
            running.push(Running { key, sent: start.elapsed(), answered, age: None });
            // The first entries may time out while the last ones are inserted.
            let mut take = |message| note(&mut running, message, start.elapsed());
            insert(channel, *number, timeout, &mut take).await?;
            if let Some(last) = running.last_mut() {
                last.answered = start.elapsed();
            }
        }
        let deadline = start.elapsed() + timeout + grace;
        while !is_complete(&running) && start.elapsed() < deadline && !stop.load(Ordering::Relaxed)
        {
            let next = tokio::time::timeout(LOOK * 100, channel.receiver().next()).await;
            let Ok(message) = next else { continue };
            let message = message.map_err(|status| stream_failed(&status))?;
            if let Some(message) = message {
                note(&mut running, message, start.elapsed());
            }
        }
        for number in numbers {
            write(channel, channel.maker().update(*number, Operation::Delete)).await?;
        }
        // Messages that were no longer awaited are not missing.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        measured.push(timed(Timer::Idle, timeout, running, 0));
        progress(measured.len() as u64, OF_P4RUNTIME.len() as u64);
    }
    Ok(Some(measured))
}

/// Divides entries into parts of equal size, one for each timeout.
///
/// Timeouts do not share entries because a switch may repeat a message about an entry, and the
/// entry may have been deleted when the message arrives. The message would otherwise seem to be
/// about the next timeout, and far too early.
fn parts(numbers: &[EntryNumber], count: usize) -> impl Iterator<Item = &[EntryNumber]> {
    numbers.chunks_exact((numbers.len() / count.max(1)).max(1)).take(count)
}

fn timed<K>(
    timer: Timer,
    timeout: Duration,
    running: Vec<Running<K>>,
    other_reasons: usize,
) -> Timed {
    let entries = running.len();
    let ages = running.into_iter().filter_map(|one| one.age).collect();
    Timed { timer, timeout, entries, ages, other_reasons }
}

/// Records the entries that a message reports as idle.
fn note(running: &mut [Running<Vec<v1::FieldMatch>>], message: Message, now: Duration) {
    let Message::IdleTimeoutNotification(notice) = message else { return };
    for entry in notice.table_entry {
        let known = running.iter_mut().find(|one| same_fields(&one.key, &entry.r#match));
        if let Some(one) = known {
            one.note(now);
        }
    }
}

fn stream_failed(status: &Status) -> DutError {
    DutError::Request { what: "StreamChannel", cause: status.message().to_owned() }
}

/// Returns whether two matches contain the same fields, in any order.
fn same_fields(one: &[v1::FieldMatch], other: &[v1::FieldMatch]) -> bool {
    one.len() == other.len() && one.iter().all(|field| other.contains(field))
}

/// Inserts an entry with a timeout. Passes each message that arrives meanwhile to `take`.
async fn insert(
    channel: &mut P4RuntimeChannel,
    number: EntryNumber,
    timeout: Duration,
    take: &mut dyn FnMut(Message),
) -> Result<(), DutError> {
    let mut update = channel.maker().update(number, Operation::Insert);
    if let Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) }) = &mut update.entity {
        entry.idle_timeout_ns = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
    }
    let mut client = channel.client.clone();
    let mut writing = pin!(write_updates(&mut client, vec![update]));
    loop {
        let message = tokio::select! {
            biased;
            written = &mut writing => return written,
            message = channel.receiver().next() => message,
        };
        match message.map_err(|status| stream_failed(&status))? {
            Some(message) => take(message),
            None => return writing.await,
        }
        // The connection is served between two messages, however many there are.
        tokio::task::yield_now().await;
    }
}

async fn write(channel: &P4RuntimeChannel, update: v1::Update) -> Result<(), DutError> {
    write_updates(&mut channel.client.clone(), vec![update]).await
}

/// Measures the timeouts of flow entries of an OpenFlow switch. Deletes the flow entries that the
/// switch does not remove itself.
pub(crate) fn over_openflow(
    channel: &mut OpenFlowChannel,
    numbers: &[EntryNumber],
    grace: Duration,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Timed>, DutError> {
    let lifetimes = OF_OPENFLOW
        .into_iter()
        .flat_map(|seconds| [Lifetime::Idle(seconds), Lifetime::Hard(seconds)]);
    let lifetimes: Vec<_> = lifetimes.collect();
    let mut measured = Vec::new();
    for lifetime in &lifetimes {
        let found = expire(channel, numbers, *lifetime, grace, stop);
        request(channel, Operation::Delete, numbers, Lifetime::Endless)?;
        let found = found?;
        // Messages that were no longer awaited are not missing.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        measured.push(found);
        progress(measured.len() as u64, lifetimes.len() as u64);
    }
    Ok(measured)
}

/// Inserts flow entries with a timeout, and waits until the switch reports that it has removed
/// them.
fn expire(
    channel: &mut OpenFlowChannel,
    numbers: &[EntryNumber],
    lifetime: Lifetime,
    grace: Duration,
    stop: &AtomicBool,
) -> Result<Timed, DutError> {
    let timeout = Duration::from_secs(lifetime.seconds().into());
    let timer = match lifetime {
        Lifetime::Hard(_) => Timer::Hard,
        Lifetime::Idle(_) | Lifetime::Endless => Timer::Idle,
    };
    let start = Instant::now();
    request(channel, Operation::Insert, numbers, lifetime)?;
    let answered = start.elapsed();
    let maker = channel.maker();
    let running = numbers.iter().map(|number| Running {
        key: maker.value(*number),
        sent: Duration::ZERO,
        answered,
        age: None,
    });
    let mut running: Vec<Running<u64>> = running.collect();
    let deadline = answered + timeout + grace;
    let mut other_reasons = 0;
    while !is_complete(&running) && start.elapsed() < deadline && !stop.load(Ordering::Relaxed) {
        let has_read = channel.look(&mut |reply| {
            let Reply::FlowRemoved { matching, reason } = reply else { return };
            let value = maker.value_of(&matching);
            if let Some(one) = running.iter_mut().find(|one| Some(one.key) == value) {
                other_reasons += usize::from(reason != Some(timer));
                one.note(start.elapsed());
            }
        })?;
        if !has_read {
            channel.wait(LOOK)?;
        }
    }
    Ok(timed(timer, timeout, running, other_reasons))
}

/// Sends a request for entries with a lifetime, and waits for its barrier reply.
fn request(
    channel: &mut OpenFlowChannel,
    operation: Operation,
    numbers: &[EntryNumber],
    lifetime: Lifetime,
) -> Result<(), DutError> {
    let entry = |number: &EntryNumber| FlowEntry {
        selects: Selector::One(*number),
        output: Output::Nowhere,
    };
    let first =
        channel.make_request_with_lifetime(operation, numbers.iter().map(entry), lifetime)?;
    let barrier = first + numbers.len() as u32;
    channel.hand_over()?;
    let start = Instant::now();
    let (mut is_answered, mut failure) = (false, None);
    while !is_answered {
        if start.elapsed() > TIMEOUT {
            return Err(DutError::NoAnswer { what: "barrier", patience: TIMEOUT });
        }
        let has_read = channel.look(&mut |reply| match reply {
            Reply::Barrier(xid) if xid.0 == barrier => is_answered = true,
            Reply::Error(xid, refusal) if (first..=barrier).contains(&xid.0) => {
                failure.get_or_insert(refused("flow-mod", &refusal));
            }
            _ => {}
        })?;
        if !has_read {
            channel.wait(LOOK)?;
        }
    }
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_bracketed_by_request_and_answer() {
        let mut one = Running {
            key: (),
            sent: Duration::from_millis(10),
            answered: Duration::from_millis(30),
            age: None,
        };
        one.note(Duration::from_millis(125));
        one.note(Duration::from_millis(300));
        let age = Age { least: Duration::from_millis(95), greatest: Duration::from_millis(115) };
        let timed = timed(Timer::Idle, Duration::from_millis(100), vec![one], 0);
        assert_eq!(timed.ages, [age]);
        // It may have been 95 ms old, but it may also have been old enough.
        assert_eq!((timed.early(), timed.missing()), (0, 0));
        assert_eq!(timed.lateness().collect::<Vec<_>>(), [Duration::from_millis(15)]);
    }

    #[test]
    fn each_timeout_has_entries_of_its_own() {
        let numbers: Vec<EntryNumber> = (0..21).map(EntryNumber).collect();
        let found: Vec<&[EntryNumber]> = parts(&numbers, 2).collect();
        assert_eq!(found, [&numbers[..10], &numbers[10..20]]);
        assert_eq!(parts(&numbers[..1], 2).count(), 1);
        assert_eq!(parts(&[], 2).count(), 0);
    }

    #[test]
    fn early_and_missing_entries_are_counted() {
        let running = |sent, told: Option<u64>| {
            let sent = Duration::from_millis(sent);
            let mut one = Running { key: (), sent, answered: sent, age: None };
            told.into_iter().for_each(|told| one.note(Duration::from_millis(told)));
            one
        };
        let all = vec![running(0, Some(99)), running(5, Some(105)), running(9, None)];
        let timed = timed(Timer::Hard, Duration::from_millis(100), all, 0);
        assert_eq!((timed.early(), timed.missing(), timed.entries), (1, 1, 3));
    }
}
