//! What the readers of several connections leave for one that waits.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::Event;

/// Where events arrive.
#[derive(Debug)]
pub(crate) struct Inbox {
    events: Receiver<Event>,
}

impl Inbox {
    pub(crate) fn new() -> (Sender<Event>, Self) {
        let (sender, events) = channel();
        (sender, Self { events })
    }

    /// Where every sender has gone nothing will come, which is no reason to return early.
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
