//! The outgoing side of a stream: a shared queue that its reader empties as a whole.
//!
//! An ordinary channel wakes, synchronises and yields once per message. In contrast, the reader of
//! an outbox swaps the whole queue for an empty one under a single lock, so that the encoder can
//! put all waiting messages into one buffer and one HTTP/2 DATA frame. At the rates of packet-ins,
//! this determines the throughput of a stream.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use prost::Message;
use tonic::Status;

use crate::{
    admission::Held,
    http2::{Link, When},
};

/// The capacity of an empty queue, in messages, above which its memory is freed.
const RETAINED: usize = 4096;

/// The limit of an outbox in messages and in bytes. A single message may exceed the limit of bytes
/// if no other message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimit {
    /// The maximum number of messages that wait in the outbox.
    pub messages: usize,
    /// The maximum size of all waiting messages in bytes, exact or approximate.
    pub bytes: usize,
}

impl QueueLimit {
    /// Returns a limit of `messages` messages and the usual number of bytes, 64 MiB.
    #[must_use]
    pub const fn of_messages(messages: usize) -> Self {
        Self { messages, bytes: 64 << 20 }
    }
}

impl Default for QueueLimit {
    fn default() -> Self {
        Self::of_messages(65_536)
    }
}

/// An item with a size, which can wait in an outbox.
pub trait Weighed {
    /// Returns the number of bytes with which the item counts towards the limit of the outbox.
    fn bytes(&self) -> usize;
}

impl<M: Message> Weighed for M {
    fn bytes(&self) -> usize {
        self.encoded_len()
    }
}

/// The writing side of a stream's queue. It is shared behind an [`Arc`].
#[derive(Debug)]
pub struct Outbox<T> {
    state: Mutex<State<T>>,
    limit: QueueLimit,
    link: Option<Link>,
}

/// The state of an outbox, which a lock protects.
#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    /// The total size of the waiting items in bytes.
    bytes: usize,
    /// The numbers of messages and bytes that the reader took with its latest swap. All of them
    /// count towards the limit until the next swap, even if they are already encoded.
    in_hand: (usize, usize),
    phase: Phase,
    reader: Option<Waker>,
    /// The waker of the task that reads the other direction of the stream and ends when the outbox
    /// closes.
    watcher: Option<Waker>,
    /// Whether the peer accepted no more data when this was last checked.
    is_full: bool,
    /// The account of the memory that waiting items occupy.
    held: Held,
}

/// The phase of an outbox, from its creation to its end.
#[derive(Debug)]
enum Phase {
    Open,
    /// No more items are accepted. The reader still receives the queued items, then the status, and
    /// then the end.
    Ending(Option<Status>),
    /// The reader was dropped, or has received the end.
    Gone,
}

impl<T> State<T> {
    /// Returns the number of messages that count towards the limit, and the number of their bytes.
    fn waiting(&self) -> (usize, usize) {
        (self.items.len() + self.in_hand.0, self.bytes + self.in_hand.1)
    }
}

impl<T: Weighed> Outbox<T> {
    /// Creates an outbox with this limit, and its reading side.
    pub fn new(limit: QueueLimit) -> (Arc<Self>, OutboxReader<T>) {
        Self::on(limit, None)
    }

    /// Creates an outbox with its reading side. The connection behind `link` carries its messages.
    pub fn on(limit: QueueLimit, link: Option<Link>) -> (Arc<Self>, OutboxReader<T>) {
        let outbox = Arc::new(Self {
            state: Mutex::new(State {
                items: VecDeque::new(),
                bytes: 0,
                in_hand: (0, 0),
                phase: Phase::Open,
                reader: None,
                watcher: None,
                is_full: false,
                held: link.as_ref().map(Link::held).unwrap_or_default(),
            }),
            limit,
            link,
        });
        let reader = OutboxReader { outbox: Arc::clone(&outbox), batch: VecDeque::new() };
        (outbox, reader)
    }

    /// Queues messages until the limit is reached, and drops the others. `when` is the time at
    /// which the messages are written. Returns the number of queued messages.
    pub fn push_all(&self, items: impl IntoIterator<Item = T>, when: When) -> usize {
        let queued = self.push(items);
        let write_out = |link: &Link| when != When::InTurn && link.write_out(when);
        if queued > 0 && !self.link.as_ref().is_some_and(write_out) {
            self.wake_reader();
        }
        queued
    }

    fn push(&self, items: impl IntoIterator<Item = T>) -> usize {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Open) {
            return 0;
        }
        let before = state.items.len();
        for item in items {
            let ((messages, bytes), more) = (state.waiting(), item.bytes());
            let is_too_much = bytes > 0 && bytes.saturating_add(more) > self.limit.bytes;
            if messages >= self.limit.messages
                || is_too_much
                || state.held.set(bytes.saturating_add(more)).is_err()
            {
                break;
            }
            state.bytes += more;
            state.items.push_back(item);
        }
        state.items.len() - before
    }

    /// Queues one message that must not be lost, such as an arbitration result, even beyond the
    /// limit. If twice the limit is already waiting, or the client may hold no more memory, the
    /// stream ends with RESOURCE_EXHAUSTED instead.
    pub fn push_always(&self, item: T) {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Open) {
            return;
        }
        let QueueLimit { messages, bytes } = self.limit;
        let waiting = state.waiting();
        let more = item.bytes();
        if waiting.0 >= messages.saturating_mul(2).saturating_add(16)
            || waiting.1 >= bytes.saturating_mul(2)
            || state.held.set(waiting.1.saturating_add(more)).is_err()
        {
            drop(state);
            self.end(Some(Status::resource_exhausted("The stream is not being read.")));
            return;
        }
        state.bytes += more;
        state.items.push_back(item);
        drop(state);
        self.wake_reader();
    }
}

impl<T> Outbox<T> {
    fn wake_reader(&self) {
        let reader = self.lock().reader.take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Ends the outbox after the queued messages, with a status if there is one. Only the first
    /// call has an effect.
    pub fn end(&self, status: Option<Status>) {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Open) {
            return;
        }
        state.phase = Phase::Ending(status);
        wake_both(state);
    }

    /// Records whether the messages are for a primary controller, whose connection is protected
    /// from eviction.
    pub fn set_primary(&self, is_primary: bool) {
        let mut state = self.lock();
        let is_open = matches!(state.phase, Phase::Open);
        state.held.set_primary(is_primary && is_open);
    }

    /// Returns the number of messages that count towards the limit: those that are queued, and
    /// those that the reader took with its latest swap.
    pub fn waiting(&self) -> usize {
        self.lock().waiting().0
    }

    /// Returns whether messages wait because the peer accepts no more data.
    pub fn refuses(&self) -> bool {
        let state = self.lock();
        state.is_full && state.waiting().0 > 0
    }

    /// Returns whether the outbox is closed, so that messages queued from now on would not be sent.
    pub fn is_closed(&self) -> bool {
        !matches!(self.lock().phase, Phase::Open)
    }

    /// Returns `Ready` once the outbox is closed. Until then, registers `context` to be woken.
    pub fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Open) {
            return Poll::Ready(());
        }
        remember(&mut state.watcher, context);
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code panics while it holds the lock, so the queue is always valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake_both<T>(mut state: MutexGuard<'_, State<T>>) {
    let wakers = [state.reader.take(), state.watcher.take()];
    drop(state);
    wakers.into_iter().flatten().for_each(Waker::wake);
}

fn remember(slot: &mut Option<Waker>, context: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(context.waker()),
        None => *slot = Some(context.waker().clone()),
    }
}

/// The reading side of an outbox. Dropping it closes the outbox.
#[derive(Debug)]
pub struct OutboxReader<T> {
    outbox: Arc<Outbox<T>>,
    batch: VecDeque<T>,
}

impl<T> OutboxReader<T> {
    /// Records whether the peer accepts no more data.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.outbox.lock().is_full = is_full;
    }
}

impl<T: Unpin> Stream for OutboxReader<T> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(item) = this.batch.pop_front() {
            return Poll::Ready(Some(Ok(item)));
        }
        let mut state = this.outbox.lock();
        mem::swap(&mut state.items, &mut this.batch);
        state.in_hand = (this.batch.len(), mem::take(&mut state.bytes));
        let in_hand = state.in_hand.1;
        // The account only shrinks at this point, which cannot fail.
        let _ = state.held.set(in_hand);
        if let Some(item) = this.batch.pop_front() {
            return Poll::Ready(Some(Ok(item)));
        }
        match &mut state.phase {
            Phase::Open => {
                if state.items.capacity() > RETAINED {
                    state.items = VecDeque::new();
                }
                remember(&mut state.reader, context);
                Poll::Pending
            }
            Phase::Ending(status) => {
                let status = status.take();
                state.phase = Phase::Gone;
                Poll::Ready(status.map(Err))
            }
            Phase::Gone => Poll::Ready(None),
        }
    }
}

impl<T> Drop for OutboxReader<T> {
    fn drop(&mut self) {
        let mut state = self.outbox.lock();
        state.phase = Phase::Gone;
        (state.items, state.bytes) = (VecDeque::new(), 0);
        state.held = Held::default();
        wake_both(state);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }

    impl Count {
        fn get(&self) -> usize {
            self.0.load(std::sync::atomic::Ordering::SeqCst)
        }
    }

    fn take(reader: &mut OutboxReader<u32>, waker: &Waker) -> Poll<Option<Result<u32, i32>>> {
        let polled = Pin::new(reader).poll_next(&mut Context::from_waker(waker));
        polled.map(|item| item.map(|item| item.map_err(|status| status.code() as i32)))
    }

    #[test]
    fn a_batch_wakes_the_reader_once_and_arrives_in_order() {
        let (outbox, mut reader) = Outbox::new(QueueLimit::of_messages(10));
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        assert_eq!(take(&mut reader, &waker), Poll::Pending);
        assert_eq!(outbox.push_all([1, 2, 3], When::InTurn), 3);
        assert_eq!(outbox.push_all([4], When::InTurn), 1);
        assert_eq!(count.get(), 1);
        for expected in 1..=4 {
            assert_eq!(take(&mut reader, &waker), Poll::Ready(Some(Ok(expected))));
        }
        assert_eq!(take(&mut reader, &waker), Poll::Pending);
    }

    #[test]
    fn messages_that_the_reader_has_taken_count_against_the_limit() {
        let (outbox, mut reader) = Outbox::new(QueueLimit::of_messages(3));
        assert_eq!(outbox.push_all([1, 2, 3, 4], When::InTurn), 3);
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Ready(Some(Ok(1))));
        assert_eq!(outbox.push_all([5], When::InTurn), 0);
        assert_eq!(outbox.waiting(), 3);
        for _ in 0..2 {
            assert!(take(&mut reader, Waker::noop()).is_ready());
        }
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Pending);
        assert_eq!(outbox.push_all([6], When::InTurn), 1);
    }

    #[test]
    fn bytes_are_limited_as_messages_are() {
        // The messages are numbers below 128, which have two bytes each.
        let (outbox, mut reader) = Outbox::new(QueueLimit { messages: 100, bytes: 5 });
        assert_eq!(outbox.push_all([1, 2, 3], When::InTurn), 2);
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Ready(Some(Ok(1))));
        // Messages that the reader has taken count against the limit.
        assert_eq!(outbox.push_all([3], When::InTurn), 0);
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Ready(Some(Ok(2))));
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Pending);
        assert_eq!(outbox.push_all([3], When::InTurn), 1);
        (0..10).for_each(|number| outbox.push_always(number + 1));
        assert!(outbox.is_closed(), "twice the limit is not read");
        // A message that exceeds the limit may wait alone.
        let (outbox, _reader) = Outbox::new(QueueLimit { messages: 100, bytes: 1 });
        assert_eq!(outbox.push_all([1, 2], When::InTurn), 1);
    }

    #[test]
    fn a_full_reader_refuses_only_waiting_messages() {
        let (outbox, mut reader) = Outbox::new(QueueLimit::of_messages(3));
        reader.set_full(true);
        assert!(!outbox.refuses());
        outbox.push_all([1], When::InTurn);
        assert!(outbox.refuses());
        reader.set_full(false);
        assert!(!outbox.refuses());
        reader.set_full(true);
        assert!(take(&mut reader, Waker::noop()).is_ready());
        assert!(take(&mut reader, Waker::noop()).is_pending());
        assert!(!outbox.refuses());
    }

    #[test]
    fn the_end_follows_the_queued_messages() {
        let (outbox, mut reader) = Outbox::new(QueueLimit::of_messages(3));
        outbox.push_all([1], When::InTurn);
        outbox.end(Some(Status::not_found("")));
        outbox.end(None);
        assert_eq!(outbox.push_all([2], When::InTurn), 0);
        outbox.push_always(3);
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Ready(Some(Ok(1))));
        let code = tonic::Code::NotFound as i32;
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Ready(Some(Err(code))));
        assert_eq!(take(&mut reader, Waker::noop()), Poll::Ready(None));
    }

    #[test]
    fn a_peer_that_does_not_read_is_cut_off() {
        let (outbox, mut reader) = Outbox::new(QueueLimit::of_messages(1));
        (0..100).for_each(|number| outbox.push_always(number));
        assert!(outbox.is_closed());
        let items = std::iter::from_fn(|| match take(&mut reader, Waker::noop()) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        });
        let items: Vec<_> = items.collect();
        assert_eq!(items.len(), 19);
        assert_eq!(items.last(), Some(&Err(tonic::Code::ResourceExhausted as i32)));
    }

    #[test]
    fn the_watcher_is_woken_when_either_side_ends() {
        for dropped in [true, false] {
            let (outbox, reader) = Outbox::<u32>::new(QueueLimit::of_messages(1));
            let count = Arc::new(Count::default());
            let waker = Waker::from(Arc::clone(&count));
            let mut context = Context::from_waker(&waker);
            assert_eq!(outbox.poll_closed(&mut context), Poll::Pending);
            if dropped {
                drop(reader);
            } else {
                outbox.end(None);
            }
            assert_eq!(count.get(), 1);
            assert_eq!(outbox.poll_closed(&mut context), Poll::Ready(()));
            assert_eq!(outbox.push_all([1], When::InTurn), 0);
        }
    }
}
