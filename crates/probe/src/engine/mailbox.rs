//! Messages between the engine threads of a trial, which are called notes.
//!
//! A controller may answer a packet-in at a switch that another thread runs, and an emulated link
//! may lead to such a switch. Both are rare, so a channel that wakes the receiving thread is fast
//! enough.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};

/// A message from one engine thread to another. Switches are given by their index in the whole
/// trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Note {
    /// An answer to a packet-in of `switch` arrived at another switch, at the time `at` on the
    /// trial's clock.
    Answered { switch: u32, sequence: u64, at: u64 },
    /// A frame crossed an emulated link and arrives at a port of `switch`.
    Arrived { switch: u32, port: u32, frame: Vec<u8> },
}

/// The receiving end of an engine thread's channel for notes (messages from other threads).
#[derive(Debug)]
pub(crate) struct Mailbox {
    notes: Receiver<Note>,
    wake: Arc<OwnedFd>,
}

/// The sending end of an engine thread's channel for notes (messages from other threads).
#[derive(Clone)]
pub(crate) enum Slot {
    /// Notes are put into the mailbox, and the receiving thread is woken and takes them out.
    Mailbox {
        /// The sender of the mailbox's channel.
        notes: Sender<Note>,
        /// The event that wakes the thread.
        wake: Arc<OwnedFd>,
    },
    /// Notes are delivered by calling the receiver directly. This is possible if a lock protects
    /// the record of the receiving thread.
    Direct(Arc<dyn Deliver>),
}

/// A receiver of notes that any thread may call.
pub(crate) trait Deliver: Send + Sync {
    /// Changes the receiver's record and switches as the note requires.
    fn deliver(&self, note: Note);
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mailbox { .. } => "Mailbox",
            Self::Direct(_) => "Direct",
        })
    }
}

/// Creates a mailbox and its sending end.
pub(crate) fn mailbox() -> io::Result<(Slot, Mailbox)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    let (sender, receiver) = channel();
    let slot = Slot::Mailbox { notes: sender, wake: wake.clone() };
    Ok((slot, Mailbox { notes: receiver, wake }))
}

impl Note {
    /// Returns the index of the switch that the note concerns.
    pub(crate) fn switch(&self) -> u32 {
        match self {
            Self::Answered { switch, .. } | Self::Arrived { switch, .. } => *switch,
        }
    }
}

impl Slot {
    /// Delivers a note. The note is discarded if the receiving thread has ended.
    pub(crate) fn send(&self, note: Note) {
        match self {
            Self::Mailbox { notes, wake } => {
                if notes.send(note).is_ok() {
                    // An error means that the counter is full, so a wake-up is pending already.
                    let _ = rustix::io::write(&**wake, &1u64.to_ne_bytes());
                }
            }
            Self::Direct(thread) => thread.deliver(note),
        }
    }
}

impl Mailbox {
    /// Returns the next note, if there is one.
    pub(crate) fn take(&self) -> Option<Note> {
        self.notes.try_recv().ok()
    }

    /// Resets the event that has woken the thread. A thread must do this before it takes notes, so
    /// that a note that arrives in between wakes the thread again.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self.wake).as_fd()
    }
}
