//! Notes between the engine threads of one trial.
//!
//! A controller may answer at another switch than the one that asked, and an emulated link may
//! lead to a switch of another thread. Both are rare, so a channel with a wake-up is enough.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};

/// A message from one engine thread to another. Switches are identified by their index over the
/// whole trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Note {
    /// An answer to a packet-in of `switch` arrived at another switch, at the moment `at` of the
    /// trial's clock.
    Answered { switch: u32, sequence: u64, at: u64 },
    /// A frame crossed an emulated link and arrives at a port of `switch`.
    Arrived { switch: u32, port: u32, frame: Vec<u8> },
}

/// The receiving end of a thread's notes.
#[derive(Debug)]
pub(crate) struct Mailbox {
    notes: Receiver<Note>,
    wake: Arc<OwnedFd>,
}

/// The sending end of a thread's notes.
#[derive(Clone)]
pub(crate) enum Slot {
    /// The thread takes notes out of its mailbox.
    Mailbox {
        /// The channel into the mailbox.
        notes: Sender<Note>,
        /// Wakes the thread.
        wake: Arc<OwnedFd>,
    },
    /// The thread's record is behind a lock, so the sender delivers the note itself.
    Direct(Arc<dyn Deliver>),
}

/// A receiver that accepts notes on any thread.
pub(crate) trait Deliver: Send + Sync {
    /// Delivers one note.
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

/// Creates a mailbox and the slot that leads into it.
pub(crate) fn mailbox() -> io::Result<(Slot, Mailbox)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    let (sender, receiver) = channel();
    let slot = Slot::Mailbox { notes: sender, wake: wake.clone() };
    Ok((slot, Mailbox { notes: receiver, wake }))
}

impl Note {
    /// Returns the switch that the note concerns.
    pub(crate) fn switch(&self) -> u32 {
        match self {
            Self::Answered { switch, .. } | Self::Arrived { switch, .. } => *switch,
        }
    }
}

impl Slot {
    /// Delivers a note, unless the thread has ended.
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

    /// Clears the wake-up. It must be called before notes are taken.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self.wake).as_fd()
    }
}
