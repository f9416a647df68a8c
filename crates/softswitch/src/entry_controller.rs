//! The controller of tables whose entries it writes and packets do not (`update = "digest"` of `@tableconfig`).
//!
//! As in the paper's base system it is behind a socket (Simon et al., ANCS 2021, section 3): what a packet made of its entry
//! goes there, and the entry is changed when it comes back. It accepts all. At most 1,024 messages are under way; one that
//! finds no room is dropped.

use pipeline::EntryChange;
use tables::{DigestError, DigestLoop, DigestSender};

/// See the module.
pub(crate) struct EntryController {
    digests: DigestLoop,
    sender: DigestSender,
}

/// What became of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryChangeCounts {
    /// Came back and changed their entry.
    pub(crate) written: u64,
    /// Of these, changed something else than their packet had found, which is lost.
    pub(crate) overwritten: u64,
    /// Found no room, or no entry to change.
    pub(crate) lost: u64,
}

impl EntryController {
    /// For the device with this plane.
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
