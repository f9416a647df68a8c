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

/// What one engine thread tells another. Switches are named by their index over the whole trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Note {
    /// An answer to a packet-in of `switch` arrived elsewhere, at this moment of the trial's clock.
    Answered { switch: u32, sequence: u64, at: u64 },
    /// A frame crossed a link and arrives at a port of `switch`.
    Arrived { switch: u32, port: u32, frame: Vec<u8> },
}

/// Where a thread receives its notes.
#[derive(Debug)]
pub(crate) struct Mailbox {
    notes: Receiver<Note>,
    wake: Arc<OwnedFd>,
}

/// Where notes to one thread are dropped.
#[derive(Clone)]
pub(crate) enum Slot {
    /// The thread takes them out of its mailbox.
    Mailbox {
        /// The way into it.
        notes: Sender<Note>,
        /// Wakes the thread.
        wake: Arc<OwnedFd>,
    },
    /// Its books are behind a lock, so that whoever has a note enters it.
    Direct(Arc<dyn Deliver>),
}

/// Whoever takes notes from any thread.
pub(crate) trait Deliver: Send + Sync {
    /// Takes one.
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

/// A mailbox and the way into it.
pub(crate) fn mailbox() -> io::Result<(Slot, Mailbox)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    let (sender, receiver) = channel();
    let slot = Slot::Mailbox { notes: sender, wake: wake.clone() };
    Ok((slot, Mailbox { notes: receiver, wake }))
}

impl Note {
    /// The switch that it is about, or for.
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
                    // Full means that a wake-up is pending already.
                    let _ = rustix::io::write(&**wake, &1u64.to_ne_bytes());
                }
            }
            Self::Direct(thread) => thread.deliver(note),
        }
    }
}

impl Mailbox {
    /// The next note, if there is one.
    pub(crate) fn take(&self) -> Option<Note> {
        self.notes.try_recv().ok()
    }

    /// Clears the wake-up; to be called before the notes are taken.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self.wake).as_fd()
    }
}
