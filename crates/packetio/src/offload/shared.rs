//! The bytes of a super-frame, which are shared while the frame waits to be sent. A super-frame is
//! long, so copying it would dominate the cost of processing it.

use super::Damaged;
use std::ops::Deref;
use std::sync::Arc;

/// The length of a VLAN tag in bytes.
const TAG: usize = 4;
/// The offset of a VLAN tag in a frame, after the two Ethernet addresses.
const ADDRESSES: usize = 12;

/// The bytes of a super-frame. A clone shares these bytes. It keeps them even if the original is
/// filled with other bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedFrame {
    memory: Arc<Vec<u8>>,
    start: usize,
    end: usize,
}

impl SharedFrame {
    /// Returns whether a clone of this value shares the bytes.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.memory) > 1
    }

    /// Replaces the bytes by a copy of a super-frame that consists of parts.
    pub(super) fn fill(&mut self, parts: &[&[u8]]) {
        let length = parts.iter().map(|part| part.len()).sum();
        let mut rest = self.memory(length);
        for part in parts {
            let Some((place, behind)) = rest.split_at_mut_checked(part.len()) else { break };
            place.copy_from_slice(part);
            rest = behind;
        }
        (self.start, self.end) = (0, length);
    }

    /// Returns a buffer into which the caller can write a super-frame of up to `bytes` bytes.
    /// [`Self::place`] then sets its length.
    pub(super) fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.memory(bytes + TAG).get_mut(TAG..).unwrap_or_default()
    }

    /// Defines the first `length` bytes of the buffer as the super-frame, and inserts `tag` into
    /// it.
    pub(super) fn place(&mut self, length: usize, tag: Option<[u8; TAG]>) -> Result<(), Damaged> {
        (self.start, self.end) = (TAG, TAG + length);
        if let Some(tag) = tag {
            if length < ADDRESSES {
                return Err(Damaged);
            }
            let memory = self.memory(TAG + length);
            memory.copy_within(TAG..TAG + ADDRESSES, 0);
            if let Some(place) = memory.get_mut(ADDRESSES..ADDRESSES + TAG) {
                place.copy_from_slice(&tag);
            }
            self.start = 0;
        }
        Ok(())
    }

    /// Returns the memory for a super-frame of `bytes` bytes. New memory is allocated if the
    /// current memory is too small or shared with a clone.
    fn memory(&mut self, bytes: usize) -> &mut [u8] {
        if Arc::get_mut(&mut self.memory).is_none_or(|memory| memory.len() < bytes) {
            self.memory = Arc::new(vec![0; bytes]);
        }
        Arc::get_mut(&mut self.memory).map_or(&mut [], |memory| memory.as_mut_slice())
    }
}

impl Deref for SharedFrame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.get(self.start..self.end).unwrap_or_default()
    }
}
