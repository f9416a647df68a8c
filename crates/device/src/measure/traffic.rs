//! The packets of a cell, as they are sent and as they must come out of the device.
//!
//! All packets of a cell with a table of rules belong to one flow of UDP over IPv4 over Ethernet,
//! which the first rule matches. The UDP checksum is absent (zero, RFC 768), so that no device has
//! to update it. The IPv4 header checksum is present and checked. Packets for a program of parts
//! have only an Ethernet header and the headers that the program parses.
//!
//! After its headers, each packet carries the number of its run, its own number within that run,
//! and a check word that depends on a secret of the campaign. Received packets are matched to sent
//! ones by these values alone.

use super::function::{ActionKind, MatchKind};

/// The length in bytes of a packet's identifier: run number, packet number and check word.
const ID: usize = 12;
const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: usize = 20;
const UDP: usize = 8;
/// The length in bytes of each of the additional headers between Ethernet and IPv4: the EtherType
/// of the next header, and two more bytes.
const SHIM: usize = 4;
/// The length in bytes of the Ethernet frame check sequence. Stated packet lengths include it, but
/// frames in memory do not contain it.
const CHECK_SEQUENCE: u32 = 4;
/// The EtherType of the additional headers between Ethernet and IPv4 (IEEE 802, local
/// experimental).
pub(super) const SHIM_TYPE: u16 = 0x88b5;
pub(super) const IPV4_TYPE: u16 = 0x0800;
pub(super) const VLAN_TYPE: u16 = 0x8100;

/// The field values of the packets as they are sent, and the values that actions set.
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
    /// The value that the action sets as type of service. Its upper six bits are the DSCP.
    pub(crate) const SET_NW_TOS: u8 = 0x20;
    pub(crate) const SET_TP_SRC: u16 = 7000;
    pub(crate) const SET_VLAN: u16 = 7;
}

/// A table of rules with one match and one action that a device applies, and the packets for this
/// table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The packet fields that the rules of the table compare.
    pub matched: MatchKind,
    /// The action that the rules of the table apply.
    pub action: ActionKind,
    /// The length of a packet in bytes, including the frame check sequence.
    pub packet_bytes: u32,
    /// The number of rules in the table.
    pub rules: u32,
    /// The number of additional headers between Ethernet and IPv4. It is not zero only for devices
    /// that run programs.
    pub headers: u32,
}

impl Subject {
    /// The baseline: one rule that forwards packets of 64 bytes from one port to another.
    pub(super) const BASELINE: Self = Self {
        matched: MatchKind::Port,
        action: ActionKind::Output,
        packet_bytes: 64,
        rules: 1,
        headers: 0,
    };

    /// Returns the smallest packet length that holds all headers and the identifier, in bytes with
    /// frame check sequence.
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

/// Returns the smallest length in bytes, with frame check sequence, of a packet with `headers`
/// bytes of headers.
pub(super) fn least_bytes(headers: usize) -> u32 {
    ((headers + ID) as u32 + CHECK_SEQUENCE).max(64)
}

/// Returns a frame of a protocol that no device knows, for generated programs. `packet_bytes`
/// includes the frame check sequence.
pub(super) fn opaque_frame(headers: usize, packet_bytes: u32) -> Vec<u8> {
    let mut frame = [&value::DL_DST[..], &value::DL_SRC, &SHIM_TYPE.to_be_bytes()].concat();
    frame.resize(headers, 0);
    frame.resize(packet_bytes.saturating_sub(CHECK_SEQUENCE) as usize, 0x55);
    frame
}

/// The identifier that a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketId {
    /// The number of the run of packets.
    pub run: u32,
    /// The number of the packet within its run, from 0.
    pub number: u32,
}

/// A generator and checker of the packets for one task of a device.
#[derive(Debug, Clone)]
pub struct Traffic {
    secret: u64,
    sent: Vec<u8>,
    sent_id: usize,
    expected: Vec<u8>,
    expected_id: usize,
}

/// The meaning of a frame that came out of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The frame is a packet of this campaign with the expected content.
    Packet(PacketId),
    /// The frame is a packet of this campaign with unexpected content; for example, the action was
    /// not applied.
    Altered(PacketId),
    /// The frame does not belong to the campaign.
    Foreign,
}

impl Traffic {
    /// Creates the packets for a table of rules. `secret` is a random number of the campaign, on
    /// which check words depend.
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

    /// Creates packets whose content is that of `sent` when they are sent, and must be that of
    /// `expected` when they come out. The identifier follows after `headers` bytes.
    pub(super) fn of_frames(sent: Vec<u8>, expected: Vec<u8>, headers: usize, secret: u64) -> Self {
        Self { secret, sent, sent_id: headers, expected, expected_id: headers }
    }

    /// Returns a packet as it is sent, whose identifier is still empty.
    #[must_use]
    pub fn template(&self) -> &[u8] {
        &self.sent
    }

    /// Overwrites `frame` with the packet that has this identifier.
    pub fn write(&self, id: PacketId, frame: &mut Vec<u8>) {
        frame.clear();
        frame.extend_from_slice(&self.sent);
        if let Some(place) = frame.get_mut(self.sent_id..self.sent_id + ID) {
            place.copy_from_slice(&self.word(id));
        }
    }

    /// Returns the identifier of a frame that was captured on its way to the device, or `None` for
    /// other traffic.
    #[must_use]
    pub fn read_sent(&self, frame: &[u8]) -> Option<PacketId> {
        self.id_at(frame, self.sent_id)
    }

    /// Classifies a frame that came out of the device. Short frames may have been padded on their
    /// way.
    #[must_use]
    pub fn read(&self, frame: &[u8]) -> Arrival {
        let Some(id) = self.id_at(frame, self.expected_id) else {
            // If the action was not applied, the identifier is still at its original offset.
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
        // The steps of the finaliser of SplitMix64 mix the bits. Other runs, other campaigns and
        // random bytes do not produce this word, except with negligible probability.
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

/// The values of the packet fields that actions change.
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

    /// Returns a frame of this length with these field values.
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

/// Computes the checksum of RFC 1071 over an even number of bytes.
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
    fn packets_of_the_run_are_recognised_and_others_are_not() {
        let id = PacketId { run: 9, number: 77 };
        let mut frame = Vec::new();
        for action in ActionKind::ALL {
            let traffic = Traffic::new(subject(*action), 1);
            traffic.write(id, &mut frame);
            assert_eq!(frame.len(), 60, "64 bytes with frame check sequence");
            assert_eq!(traffic.read_sent(&frame), Some(id), "{action}");
            // An unchanged packet is correct only for the action `output`.
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
    fn actions_change_packets_as_the_specification_requires() {
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
        // A network card pads frames that became too short.
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
