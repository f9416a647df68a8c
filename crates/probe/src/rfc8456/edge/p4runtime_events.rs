//! A queue of everything that controllers do to P4Runtime switches, in the order of arrival. The
//! loop that runs the network reads it.
//!
//! Devices report events from the tasks that serve them. The queue adds the time of each event, and
//! wakes the loop.

use std::sync::{Arc, Mutex, PoisonError};

use p4runtime::arbitration::{RoleKey, StreamId};
use p4runtime::proto::v1::{self, entity::Entity, update::Type};
use p4runtime::server::{DeviceHandle, DeviceObserver};
use p4runtime::session::Pipeline;
use p4runtime::status::EntityError;
use tokio::sync::Notify;

use crate::engine::control::Clock;

/// An event at a P4Runtime switch.
pub(super) struct Event {
    /// The time of the event, in nanoseconds on the trial's clock.
    pub(super) at: u64,
    pub(super) switch: u32,
    pub(super) kind: EventKind,
}

/// The kind of an event.
pub(super) enum EventKind {
    /// The switch has a primary controller now (`true`), or has none any more (`false`).
    Primary(bool),
    /// The switch now runs the given pipeline.
    Pipeline(Arc<Pipeline>),
    /// The switch refused a pipeline for the given reason.
    Refused(String),
    /// Controllers changed table entries. The fields are the numbers of entries.
    Rules { installed: u32, removed: u32, refused: u32 },
    /// Controllers sent the given packet-outs.
    PacketOuts(Vec<v1::PacketOut>),
}

/// The queue of events, which wakes the loop when an event is added.
pub(crate) struct Events {
    clock: Clock,
    waiting: Mutex<Vec<Event>>,
    wake: Notify,
}

impl Events {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, waiting: Mutex::default(), wake: Notify::new() })
    }

    /// Returns an observer that reports the events of a switch to this queue.
    pub(super) fn observer(self: &Arc<Self>, switch: u32) -> Arc<dyn DeviceObserver> {
        Arc::new(Observer { switch, events: self.clone() })
    }

    pub(super) fn tell(&self, switch: u32, kind: EventKind) {
        let event = Event { at: self.clock.now(), switch, kind };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        self.wake.notify_one();
    }

    /// Removes the events from the queue, and returns them.
    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until an event is added to the queue.
    pub(super) async fn happened(&self) {
        self.wake.notified().await;
    }
}

/// The observer of one switch. It adds everything that controllers do to the switch to the queue of
/// events.
struct Observer {
    switch: u32,
    events: Arc<Events>,
}

impl DeviceObserver for Observer {
    fn primary_changed(&self, _: &DeviceHandle, role: &RoleKey, stream: Option<StreamId>) {
        if *role == RoleKey::Default {
            self.events.tell(self.switch, EventKind::Primary(stream.is_some()));
        }
    }

    fn pipeline_committed(&self, _: &DeviceHandle, pipeline: &Arc<Pipeline>) {
        self.events.tell(self.switch, EventKind::Pipeline(pipeline.clone()));
    }

    fn written(
        &self,
        _: &DeviceHandle,
        request: &v1::WriteRequest,
        outcomes: &[Result<(), EntityError>],
    ) {
        let (mut installed, mut removed, mut refused) = (0, 0, 0);
        let entries = request.updates.iter().zip(outcomes).filter(|(update, _)| is_entry(update));
        for (update, outcome) in entries {
            match (outcome, update.r#type()) {
                (Err(_), _) => refused += 1,
                (Ok(()), Type::Delete) => removed += 1,
                (Ok(()), _) => installed += 1,
            }
        }
        if installed + removed + refused > 0 {
            self.events.tell(self.switch, EventKind::Rules { installed, removed, refused });
        }
    }

    fn packet_outs(&self, _: &DeviceHandle, _: StreamId, packets: &mut Vec<v1::PacketOut>) {
        self.events.tell(self.switch, EventKind::PacketOuts(std::mem::take(packets)));
    }
}

/// Returns whether an update concerns a table entry, except for a default action.
fn is_entry(update: &v1::Update) -> bool {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    matches!(entity, Some(Entity::TableEntry(entry)) if !entry.is_default_action)
}
