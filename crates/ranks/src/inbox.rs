//! A queue of received messages and other events, which the reader threads of several connections
//! fill.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::Event;

/// The receiving end of a queue of events.
#[derive(Debug)]
pub(crate) struct Inbox {
    events: Receiver<Event>,
}

impl Inbox {
    pub(crate) fn new() -> (Sender<Event>, Self) {
        let (sender, events) = channel();
        (sender, Self { events })
    }

    /// Waits for an event for at most `patience`. If all senders are gone, it still waits that
    /// long, so that a caller in a loop does not occupy its core.
    pub(crate) fn receive(&self, patience: Duration) -> Option<Event> {
        match self.events.recv_timeout(patience) {
            Ok(event) => Some(event),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                None
            }
        }
    }
}
