//! The packet ID, which a frame carries in its payload.
//!
//! A controller answers a packet-in with a packet-out that contains the packet of the packet-in,
//! perhaps with other addresses, ports, TTL, checksums or tags. It has no reason to change the end
//! of the packet. The end therefore contains an 8-byte tag: 24 bits for the switch, and 40 for the
//! sequence number. It also contains a 32-bit check word, which is computed from the tag and the
//! [`RunKey`] of the trial. The check word distinguishes the tag from other bytes and from the
//! frames of an earlier trial: any other 12 bytes pass with probability 2^-32.
//!
//! | frame | tag | check word |
//! | --- | --- | --- |
//! | TCP SYN of 66 bytes | TSval and TSecr, the last 8 bytes | TCP sequence number |
//! | all others | last 8 bytes | the 4 bytes before |
//!
//! TSval and TSecr are the halves of the TCP time stamp option, and the sequence number is 28 bytes
//! before the end of the frame.
//!
//! Padding, an FCS or a trailer may follow. If no tag is found at the end of a frame, the
//! [`SEARCH`] bytes before it are therefore searched.

/// The number of bytes before the end of a frame that are searched for a tag.
pub const SEARCH: usize = 64;

/// The total length in bytes of the check word and the tag, when they are adjacent.
pub(super) const TRAILER: usize = 12;
/// The distance in bytes from the check word of a TCP SYN to the end of the frame. The check word
/// is the TCP sequence number, and the header ends with 12 bytes of options.
const SYN_TAIL: usize = 28;

/// The number of bits of the sequence number in a packet ID.
const SEQUENCE_BITS: u32 = 40;
const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;

/// The identity of a packet-in: the switch that sent it, and its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// The index of the switch, from 0, below 2^24. In the tests of RFC 8456, it is the number of a
    /// flow.
    pub switch: u32,
    /// The sequence number of the packet-in among those of its switch, below 2^40 - 1.
    pub sequence: u64,
}

impl PacketId {
    /// The maximum number of switches that a tag can distinguish.
    pub const MAX_SWITCHES: u32 = 1 << (64 - SEQUENCE_BITS);

    /// Returns the ID for frames that are not measured, such as ARP announcements.
    pub const fn unmeasured(switch: u32) -> Self {
        Self { switch, sequence: MAX_SEQUENCE }
    }

    /// Returns whether this is the ID of a frame that belongs to the trial but is not measured,
    /// such as an ARP announcement.
    pub const fn is_unmeasured(&self) -> bool {
        self.sequence == MAX_SEQUENCE
    }

    /// Returns the tag, which contains the switch and the sequence number. Numbers beyond their
    /// limits wrap around.
    const fn tag(self) -> u64 {
        (self.switch as u64) << SEQUENCE_BITS | self.sequence & MAX_SEQUENCE
    }

    const fn from_tag(tag: u64) -> Self {
        Self { switch: (tag >> SEQUENCE_BITS) as u32, sequence: tag & MAX_SEQUENCE }
    }
}

/// A key that distinguishes the frames of one trial from those of other trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunKey {
    mask: u64,
    factor: u64,
}

impl RunKey {
    /// Creates a key from any number. Numbers that differ in a single bit yield unrelated keys.
    pub const fn new(number: u64) -> Self {
        let mask = mix(number);
        Self { mask, factor: mix(mask) | 1 }
    }

    /// Returns a number that distinguishes this trial from others. It is used in keys of table
    /// entries, which have no space for a check word.
    pub(crate) const fn mark(self) -> u128 {
        ((self.factor as u32 as u128) << 64) | self.mask as u128
    }

    /// Returns the tag and the check word that a frame with this ID carries.
    pub(super) const fn words(self, id: PacketId) -> (u64, u32) {
        let tag = id.tag();
        (tag, self.check(tag))
    }

    /// Returns the check word followed by the tag, as a frame carries them at its end.
    pub(super) fn trailer(self, id: PacketId) -> [u8; TRAILER] {
        let (tag, check) = self.words(id);
        let mut bytes = [0; TRAILER];
        bytes[..4].copy_from_slice(&check.to_be_bytes());
        bytes[4..].copy_from_slice(&tag.to_be_bytes());
        bytes
    }

    /// Returns the check word of a tag: the 128-bit product of tag and key, reduced to 32 bits, so
    /// that every bit of the tag has an effect.
    const fn check(self, tag: u64) -> u32 {
        let product = (tag ^ self.mask) as u128 * self.factor as u128;
        (((product >> 64) as u64 ^ product as u64) >> 32) as u32
    }
}

/// Returns the ID of the packet-in that a frame belongs to or answers, or `None` if the frame does
/// not belong to this trial.
pub fn read_id(frame: &[u8], key: RunKey) -> Option<PacketId> {
    let last = *frame.last_chunk()?;
    let (beside, tag) = split(last);
    let check = key.check(tag);
    let at_end = beside == check
        || frame.last_chunk::<SYN_TAIL>().is_some_and(|tail| word(tail, 0) == check);
    if at_end { Some(PacketId::from_tag(tag)) } else { search(frame, key) }
}

/// Searches the bytes before the end of a frame for a tag. If the frame is short, the missing bytes
/// count as zero, so that its length need not be checked.
fn search(frame: &[u8], key: RunKey) -> Option<PacketId> {
    let mut tail = [0; SYN_TAIL + SEARCH];
    let length = frame.len().min(tail.len());
    tail[SYN_TAIL + SEARCH - length..].copy_from_slice(&frame[frame.len() - length..]);
    let nearest = SEARCH - 1;
    (0..=nearest).rev().find_map(|start| {
        let tag = u64::from(word(&tail, start + SYN_TAIL - 8)) << 32
            | u64::from(word(&tail, start + SYN_TAIL - 4));
        let check = key.check(tag);
        let found = word(&tail, start + SYN_TAIL - TRAILER) == check || word(&tail, start) == check;
        found.then_some(PacketId::from_tag(tag))
    })
}

/// Splits 12 bytes into the check word and the tag.
fn split(bytes: [u8; TRAILER]) -> (u32, u64) {
    let tag = u64::from(word(&bytes, 4)) << 32 | u64::from(word(&bytes, 8));
    (word(&bytes, 0), tag)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Mixes 64 bits bijectively, so that every input bit changes every output bit with probability one
/// half. This is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), with its
/// increment.
pub(super) const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
