//! The internal controller that writes entries on behalf of packets (`update = "digest"` of
//! `@tableconfig`).
//!
//! As in the base system of Simon et al. (ANCS 2021, section 3), this controller sits behind a
//! socket: the entry that a packet computed is sent there, and the table changes when the message
//! returns. The controller accepts every change. At most 1,024 messages are in flight; further
//! messages are dropped.

use pipeline::EntryChange;
use tables::{DigestError, DigestLoop, DigestSender};

/// The internal controller: the loop that reads its socket, and the sender of messages to it.
pub(crate) struct EntryController {
    digests: DigestLoop,
    sender: DigestSender,
}

/// The numbers of messages to the internal controller, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryChangeCounts {
    /// The number of messages that returned and changed their entry.
    pub(crate) written: u64,
    /// The number of `written` messages that overwrote a newer value than their packet had read.
    /// The newer value is lost.
    pub(crate) overwritten: u64,
    /// The number of messages that were dropped because the channel was full, or whose entry no
    /// longer exists.
    pub(crate) lost: u64,
}

impl EntryController {
    /// Starts the internal controller, which writes to the tables of this data plane.
    pub(crate) fn start(plane: pipeline::Ports) -> Result<Self, DigestError> {
        let apply = move |message: &[u8]| plane.apply_change(message);
        let (digests, sender) = DigestLoop::between(|message| Some(message.to_vec()), apply)?;
        Ok(Self { digests, sender })
    }

    pub(crate) fn send(&self, changes: &[EntryChange]) {
        changes.iter().for_each(|change| self.sender.send(&change.to_bytes()));
    }

    pub(crate) fn counts(&self) -> EntryChangeCounts {
        let counts = self.digests.counts();
        EntryChangeCounts {
            written: counts.applied,
            overwritten: counts.overwritten,
            lost: counts.dropped + counts.refused,
        }
    }
}

impl std::fmt::Debug for EntryController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryController").field("counts", &self.counts()).finish()
    }
}
