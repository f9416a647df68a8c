//! The packets of a cell: as they are sent, and as they must come out.
//!
//! All packets of a cell are UDP over IPv4 over Ethernet, of one flow, which the rule of the cell matches. Each carries,
//! behind the UDP header, which run it belongs to, its number in it, and a check word that only this campaign knows: what
//! comes out is matched to what was sent by that alone. The UDP checksum is absent (zero, RFC 768), so that no device has
//! one to update; that of the IPv4 header is there, and is checked.

use super::function::{ActionKind, MatchKind};

/// Bytes of run, number and check word.
const ID: usize = 12;
const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: usize = 20;
const UDP: usize = 8;
/// Bytes of a header of the header sweep: the next EtherType and two bytes of its own.
const SHIM: usize = 4;
/// Bytes of the frame check sequence, which lengths count and memory does not have.
const CHECK_SEQUENCE: u32 = 4;
/// EtherType of the headers of the header sweep (IEEE 802, local experimental).
pub(super) const SHIM_TYPE: u16 = 0x88b5;
pub(super) const IPV4_TYPE: u16 = 0x0800;
pub(super) const VLAN_TYPE: u16 = 0x8100;

/// The fields of the flow, and what actions make of them.
pub(super) mod value {
    pub(crate) const DL_SRC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
    pub(crate) const DL_DST: [u8; 6] = [0x02, 0, 0, 0, 0, 0x02];
    pub(crate) const NW_SRC: [u8; 4] = [10, 0, 0, 1];
    pub(crate) const NW_DST: [u8; 4] = [10, 0, 1, 2];
    pub(crate) const NW_DST_PREFIX: u32 = 24;
    pub(crate) const NW_TOS: u8 = 0;
    pub(crate) const NW_PROTO: u8 = 17;
    pub(crate) const TP_SRC: u16 = 1000;
    pub(crate) const TP_DST: u16 = 2000;
    pub(crate) const VLAN: u16 = 5;
    pub(crate) const SET_DL_SRC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x07];
    pub(crate) const SET_NW_SRC: [u8; 4] = [10, 0, 7, 7];
    /// The DSCP in the upper six bits.
    pub(crate) const SET_NW_TOS: u8 = 0x20;
    pub(crate) const SET_TP_SRC: u16 = 7000;
    pub(crate) const SET_VLAN: u16 = 7;
}

/// A cell as the devices see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// What the rule compares.
    pub matched: MatchKind,
    /// What it does.
    pub action: ActionKind,
    /// Length of a packet in bytes, with frame check sequence.
    pub packet_bytes: u32,
    /// Rules in the table.
    pub rules: u32,
    /// Headers between Ethernet and IPv4, for devices that run programs.
    pub headers: u32,
}

impl Subject {
    /// What every device does: 64 B in by a port, out by another, with one rule.
    pub(super) const BASELINE: Self = Self {
        matched: MatchKind::Port,
        action: ActionKind::Output,
        packet_bytes: 64,
        rules: 1,
        headers: 0,
    };

    /// The least length that packets can have, with frame check sequence.
    #[must_use]
    pub fn least_bytes(self) -> u32 {
        least_bytes(ETHERNET + self.tag() + self.shims() + IPV4 + UDP)
    }

    fn tag(self) -> usize {
        if self.action == ActionKind::StripVlan { TAG } else { 0 }
    }

    fn shims(self) -> usize {
        SHIM * self.headers as usize
    }
}

/// The least length that a packet with so many bytes of headers can have, with frame check sequence.
pub(super) fn least_bytes(headers: usize) -> u32 {
    ((headers + ID) as u32 + CHECK_SEQUENCE).max(64)
}

/// A frame of a protocol that no device knows, for generated programs; its length counts the frame check sequence.
pub(super) fn opaque_frame(headers: usize, packet_bytes: u32) -> Vec<u8> {
    let mut frame = [&value::DL_DST[..], &value::DL_SRC, &SHIM_TYPE.to_be_bytes()].concat();
    frame.resize(headers, 0);
    frame.resize(packet_bytes.saturating_sub(CHECK_SEQUENCE) as usize, 0x55);
    frame
}

/// Which packet it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketId {
    /// The run of packets.
    pub run: u32,
    /// Its number in it, from 0.
    pub number: u32,
}

/// Makes the packets of one cell and reads what comes out.
#[derive(Debug, Clone)]
pub struct Traffic {
    secret: u64,
    sent: Vec<u8>,
    sent_id: usize,
    expected: Vec<u8>,
    expected_id: usize,
}

/// What a frame that came out is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// A packet of this campaign, as the action should leave it.
    Packet(PacketId),
    /// A packet of this campaign on which the action was not done, or something else was.
    Altered(PacketId),
    /// Somebody else's.
    Foreign,
}

impl Traffic {
    /// Packets of a cell; `secret` is the campaign's.
    #[must_use]
    pub fn new(subject: Subject, secret: u64) -> Self {
        let length = subject.packet_bytes.max(subject.least_bytes()) - CHECK_SEQUENCE;
        let fields = Fields::sent(subject);
        let sent = fields.frame(subject, length as usize);
        let after = fields.after(subject.action);
        let payload = sent.len() - fields.headers(subject);
        let expected = after.frame(subject, after.headers(subject) + payload);
        Self {
            secret,
            sent_id: fields.headers(subject),
            expected_id: after.headers(subject),
            sent,
            expected,
        }
    }

    /// Packets like `sent` that must come out like `expected`, with the id behind so many bytes of headers.
    pub(super) fn of_frames(sent: Vec<u8>, expected: Vec<u8>, headers: usize, secret: u64) -> Self {
        Self { secret, sent, sent_id: headers, expected, expected_id: headers }
    }

    /// A packet without an id.
    #[must_use]
    pub fn template(&self) -> &[u8] {
        &self.sent
    }

    /// Makes `frame` the packet with this id.
    pub fn write(&self, id: PacketId, frame: &mut Vec<u8>) {
        frame.clear();
        frame.extend_from_slice(&self.sent);
        if let Some(place) = frame.get_mut(self.sent_id..self.sent_id + ID) {
            place.copy_from_slice(&self.word(id));
        }
    }

    /// The id of a packet on its way in.
    #[must_use]
    pub fn read_sent(&self, frame: &[u8]) -> Option<PacketId> {
        self.id_at(frame, self.sent_id)
    }

    /// What a frame that came out is. Short frames may have been padded on their way.
    #[must_use]
    pub fn read(&self, frame: &[u8]) -> Arrival {
        let Some(id) = self.id_at(frame, self.expected_id) else {
            // The id is elsewhere if the action was not done.
            return match self.id_at(frame, self.sent_id) {
                Some(id) => Arrival::Altered(id),
                None => Arrival::Foreign,
            };
        };
        let (front, back) = (self.expected_id, self.expected_id + ID);
        let padded = frame.get(self.expected.len()..).is_some_and(|padding| {
            padding.iter().all(|byte| *byte == 0) && frame.len() <= self.expected.len().max(60)
        });
        let same = frame.get(..front) == self.expected.get(..front)
            && frame.get(back..self.expected.len()) == self.expected.get(back..);
        if same && padded { Arrival::Packet(id) } else { Arrival::Altered(id) }
    }

    fn id_at(&self, frame: &[u8], place: usize) -> Option<PacketId> {
        let found = frame.get(place..place + ID)?;
        let number = |at: usize| Some(u32::from_be_bytes(*found.get(at..)?.first_chunk()?));
        let id = PacketId { run: number(0)?, number: number(4)? };
        (self.word(id) == *found).then_some(id)
    }

    fn word(&self, id: PacketId) -> [u8; ID] {
        // SplitMix64's finaliser: other runs and campaigns, and chance, do not give this word.
        let mut mixed = self.secret ^ (u64::from(id.run) << 32 | u64::from(id.number));
        for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb_u64] {
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(multiplier);
        }
        let mut word = [0; ID];
        word[..4].copy_from_slice(&id.run.to_be_bytes());
        word[4..8].copy_from_slice(&id.number.to_be_bytes());
        word[8..].copy_from_slice(&((mixed >> 32) as u32).to_be_bytes());
        word
    }
}

/// What actions change.
#[derive(Debug, Clone, Copy)]
struct Fields {
    vlan: Option<u16>,
    dl_src: [u8; 6],
    nw_src: [u8; 4],
    nw_tos: u8,
    tp_src: u16,
}

impl Fields {
    fn sent(subject: Subject) -> Self {
        let tagged = subject.action == ActionKind::StripVlan;
        Self {
            vlan: tagged.then_some(value::VLAN),
            dl_src: value::DL_SRC,
            nw_src: value::NW_SRC,
            nw_tos: value::NW_TOS,
            tp_src: value::TP_SRC,
        }
    }

    fn after(self, action: ActionKind) -> Self {
        match action {
            ActionKind::Output => self,
            ActionKind::SetDlSrc => Self { dl_src: value::SET_DL_SRC, ..self },
            ActionKind::StripVlan => Self { vlan: None, ..self },
            ActionKind::SetVlanId => Self { vlan: Some(value::SET_VLAN), ..self },
            ActionKind::SetNwSrc => Self { nw_src: value::SET_NW_SRC, ..self },
            ActionKind::SetNwTos => Self { nw_tos: value::SET_NW_TOS, ..self },
            ActionKind::SetTpSrc => Self { tp_src: value::SET_TP_SRC, ..self },
        }
    }

    fn headers(self, subject: Subject) -> usize {
        let tag = if self.vlan.is_some() { TAG } else { 0 };
        ETHERNET + tag + subject.shims() + IPV4 + UDP
    }

    fn frame(self, subject: Subject, length: usize) -> Vec<u8> {
        let mut frame = Vec::with_capacity(length);
        frame.extend_from_slice(&value::DL_DST);
        frame.extend_from_slice(&self.dl_src);
        let mut put = |bytes: &[u8]| frame.extend_from_slice(bytes);
        if let Some(vlan) = self.vlan {
            put(&VLAN_TYPE.to_be_bytes());
            put(&vlan.to_be_bytes());
        }
        for header in 0..subject.headers as u16 {
            put(&SHIM_TYPE.to_be_bytes());
            put(&header.to_be_bytes());
        }
        put(&IPV4_TYPE.to_be_bytes());
        let behind = length - (self.headers(subject) - IPV4 - UDP);
        let mut ipv4 = [0x45, self.nw_tos, 0, 0, 0, 0, 0, 0, 64, value::NW_PROTO, 0, 0]
            .iter()
            .chain(&self.nw_src)
            .chain(&value::NW_DST)
            .copied()
            .collect::<Vec<u8>>();
        ipv4[2..4].copy_from_slice(&(behind as u16).to_be_bytes());
        let checksum = internet_checksum(&ipv4);
        ipv4[10..12].copy_from_slice(&checksum.to_be_bytes());
        put(&ipv4);
        for word in [self.tp_src, value::TP_DST, (behind - IPV4) as u16, 0] {
            put(&word.to_be_bytes());
        }
        frame.resize(length, 0x55);
        frame
    }
}

/// RFC 1071, over an even number of bytes.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let sum: u32 =
        bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(action: ActionKind) -> Subject {
        let matched = MatchKind::Port;
        Subject { matched, action, packet_bytes: 64, rules: 1, headers: 0 }
    }

    #[test]
    fn packets_are_known_again_and_others_are_not() {
        let id = PacketId { run: 9, number: 77 };
        let mut frame = Vec::new();
        for action in ActionKind::ALL {
            let traffic = Traffic::new(subject(*action), 1);
            traffic.write(id, &mut frame);
            assert_eq!(frame.len(), 60, "64 bytes with frame check sequence");
            assert_eq!(traffic.read_sent(&frame), Some(id), "{action}");
            // As it left, it is right only where nothing was to be done.
            let expected = match action {
                ActionKind::Output => Arrival::Packet(id),
                _ => Arrival::Altered(id),
            };
            assert_eq!(traffic.read(&frame), expected, "{action}");
            let other = Traffic::new(subject(*action), 2);
            assert_eq!(other.read(&frame), Arrival::Foreign, "{action}");
        }
    }

    #[test]
    fn actions_leave_what_the_specification_says() {
        let id = PacketId { run: 1, number: 2 };
        let sent = |action| {
            let traffic = Traffic::new(subject(action), 3);
            let mut frame = Vec::new();
            traffic.write(id, &mut frame);
            (traffic, frame)
        };
        let (traffic, mut frame) = sent(ActionKind::SetDlSrc);
        frame[6..12].copy_from_slice(&value::SET_DL_SRC);
        assert_eq!(traffic.read(&frame), Arrival::Packet(id));
        frame[59] ^= 1;
        assert_eq!(traffic.read(&frame), Arrival::Altered(id));

        let (traffic, mut frame) = sent(ActionKind::StripVlan);
        assert_eq!(frame[12..16], [0x81, 0, 0, 5]);
        frame.drain(12..16);
        assert_eq!(traffic.read(&frame), Arrival::Packet(id));
        // A card pads what became too short.
        frame.extend([0; 4]);
        assert_eq!(traffic.read(&frame), Arrival::Packet(id));

        let (traffic, mut frame) = sent(ActionKind::SetVlanId);
        frame.splice(12..12, [0x81, 0, 0, 7]);
        assert_eq!(traffic.read(&frame), Arrival::Packet(id));

        let (traffic, mut frame) = sent(ActionKind::SetNwTos);
        frame[15] = value::SET_NW_TOS;
        assert_eq!(traffic.read(&frame), Arrival::Altered(id), "the checksum is that of before");
        frame[24..26].fill(0);
        let checksum = internet_checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(traffic.read(&frame), Arrival::Packet(id));
    }
}
