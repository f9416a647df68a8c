//! The identity that a frame carries in its payload.
//!
//! A controller answers a packet-in with a packet-out that holds the same packet, perhaps with
//! other addresses, ports, TTL, checksums or tags. What it has no reason to touch is the end of
//! the packet, so there lies an 8-byte tag: 24 bits for the switch, 40 for the sequence number. A
//! 32-bit check word, a keyed mix of the tag, tells it from foreign bytes and from the frames of
//! an earlier trial, which had another [`RunKey`]: any other 12 bytes pass with probability 2^-32.
//!
//! | frame | tag | check word |
//! | --- | --- | --- |
//! | TCP SYN of 66 bytes | TSval and TSecr of the time stamp option, the last 8 bytes | TCP sequence number, 28 bytes before the end |
//! | all others | last 8 bytes | the 4 bytes before |
//!
//! Padding, an FCS or a trailer may follow, so that a tag which is not found at the end is looked
//! for up to [`SEARCH`] bytes before it.

/// How far from its end a frame is searched for a tag, in bytes.
pub const SEARCH: usize = 64;

/// Bytes of check word and tag where they lie side by side.
pub(super) const TRAILER: usize = 12;
/// From the check word of a TCP SYN to its end: from the sequence number to the end of a header
/// with 12 bytes of options.
const SYN_TAIL: usize = 28;

const SEQUENCE_BITS: u32 = 40;
const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;

/// Which packet-in a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId {
    /// Index of the switch, from 0, below 2^24.
    pub switch: u32,
    /// Number of the packet-in at its switch, below 2^40 - 1.
    pub sequence: u64,
}

impl PacketId {
    /// Most switches that a tag can tell apart.
    pub const MAX_SWITCHES: u32 = 1 << (64 - SEQUENCE_BITS);

    /// What frames carry that are no packet-in of the measurement, such as ARP announcements.
    pub const fn unmeasured(switch: u32) -> Self {
        Self { switch, sequence: MAX_SEQUENCE }
    }

    /// Whether the frame is of ours, but no packet-in of the measurement.
    pub const fn is_unmeasured(&self) -> bool {
        self.sequence == MAX_SEQUENCE
    }

    /// Switches and sequence numbers beyond their limits wrap.
    const fn tag(self) -> u64 {
        (self.switch as u64) << SEQUENCE_BITS | self.sequence & MAX_SEQUENCE
    }

    const fn from_tag(tag: u64) -> Self {
        Self { switch: (tag >> SEQUENCE_BITS) as u32, sequence: tag & MAX_SEQUENCE }
    }
}

/// Tells the frames of one trial from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunKey {
    mask: u64,
    factor: u64,
}

impl RunKey {
    /// Any number serves, and numbers that differ in one bit serve as well as others.
    pub const fn new(number: u64) -> Self {
        let mask = mix(number);
        Self { mask, factor: mix(mask) | 1 }
    }

    /// A number that tells this trial from others where a check word has no place.
    pub(crate) const fn mark(self) -> u128 {
        ((self.factor as u32 as u128) << 64) | self.mask as u128
    }

    /// Tag and check word of a frame.
    pub(super) const fn words(self, id: PacketId) -> (u64, u32) {
        let tag = id.tag();
        (tag, self.check(tag))
    }

    /// Check word and tag as they lie side by side at the end of a frame.
    pub(super) fn trailer(self, id: PacketId) -> [u8; TRAILER] {
        let (tag, check) = self.words(id);
        let mut bytes = [0; TRAILER];
        bytes[..4].copy_from_slice(&check.to_be_bytes());
        bytes[4..].copy_from_slice(&tag.to_be_bytes());
        bytes
    }

    /// Multiplies to 128 bits and folds them, so that every bit of the tag counts.
    const fn check(self, tag: u64) -> u32 {
        let product = (tag ^ self.mask) as u128 * self.factor as u128;
        (((product >> 64) as u64 ^ product as u64) >> 32) as u32
    }
}

/// The packet-in that a frame is or answers; `None` for frames that are not of this trial.
pub fn read_id(frame: &[u8], key: RunKey) -> Option<PacketId> {
    let last = *frame.last_chunk()?;
    let (beside, tag) = split(last);
    let check = key.check(tag);
    let at_end = beside == check
        || frame.last_chunk::<SYN_TAIL>().is_some_and(|tail| word(tail, 0) == check);
    if at_end { Some(PacketId::from_tag(tag)) } else { search(frame, key) }
}

/// Looks before the end. Bytes before the frame count as zero, which spares tests of length.
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

/// Check word and tag that lie side by side.
fn split(bytes: [u8; TRAILER]) -> (u32, u64) {
    let tag = u64::from(word(&bytes, 4)) << 32 | u64::from(word(&bytes, 8));
    (word(&bytes, 0), tag)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A bijection of 64 bits in which every input bit changes every output bit with probability one
/// half: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), with its increment.
pub(super) const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
