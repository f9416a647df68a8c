//! The keys by which packets are compared with flow entries: the fields of a packet as words, and a
//! match as a value and a mask over these words.
//!
//! Both versions use one layout of words, so that one classifier serves both. In 1.3, a field that
//! the packet does not have satisfies no condition (OpenFlow 1.3.5, 7.2.3.6). A word of presence
//! bits expresses this, so that fields that exclude each other, such as TCP and UDP ports, can
//! share a position. In 1.0, a field that the packet does not have is zero (OpenFlow 1.0.0, 3.4),
//! and no presence bits are used.

use openflow::v1_0;
use openflow::v1_3::{Match, OxmField};

use super::packet::Packet;

/// The number of 64-bit words of a flow key.
pub(super) const WORDS: usize = 18;

/// The index of the word with the presence bits, which are ordered by field number.
const PRESENCE: usize = 0;

/// The fields of a packet, or the value or mask of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowKey(pub(super) [u64; WORDS]);

/// The condition of an entry: it matches packets whose key equals `value` in all bits of `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) mask: FlowKey,
    pub(super) value: FlowKey,
}

/// Returns the position of a field in a flow key: the word that contains its lowest bit, and the
/// number of bits below that bit in the word. A field of 16 bytes also occupies the previous word.
const fn place(field: OxmField) -> Option<(usize, u32)> {
    Some(match field {
        OxmField::IN_PORT => (1, 32),
        OxmField::IN_PHY_PORT => (1, 0),
        OxmField::METADATA => (2, 0),
        OxmField::ETH_DST => (3, 16),
        OxmField::ETH_TYPE => (3, 0),
        OxmField::ETH_SRC => (4, 16),
        OxmField::VLAN_VID => (4, 0),
        OxmField::VLAN_PCP => (5, 56),
        OxmField::IP_DSCP => (5, 48),
        OxmField::IP_ECN => (5, 40),
        OxmField::IP_PROTO => (5, 32),
        OxmField::TCP_SRC
        | OxmField::UDP_SRC
        | OxmField::SCTP_SRC
        | OxmField::ICMPV4_TYPE
        | OxmField::ICMPV6_TYPE => (5, 16),
        OxmField::TCP_DST
        | OxmField::UDP_DST
        | OxmField::SCTP_DST
        | OxmField::ICMPV4_CODE
        | OxmField::ICMPV6_CODE => (5, 0),
        OxmField::IPV4_SRC | OxmField::ARP_SPA => (6, 32),
        OxmField::IPV4_DST | OxmField::ARP_TPA => (6, 0),
        OxmField::ARP_SHA | OxmField::IPV6_ND_SLL => (7, 16),
        OxmField::ARP_OP => (7, 0),
        OxmField::ARP_THA | OxmField::IPV6_ND_TLL => (8, 16),
        OxmField::IPV6_EXTHDR => (8, 0),
        OxmField::IPV6_SRC => (10, 0),
        OxmField::IPV6_DST => (12, 0),
        OxmField::IPV6_ND_TARGET => (14, 0),
        OxmField::IPV6_FLABEL => (15, 32),
        OxmField::MPLS_LABEL => (15, 0),
        OxmField::PBB_ISID => (16, 32),
        OxmField::MPLS_TC => (16, 8),
        OxmField::MPLS_BOS => (16, 0),
        OxmField::TUNNEL_ID => (17, 0),
        _ => return None,
    })
}

impl FlowKey {
    pub(super) const ZERO: Self = Self([0; WORDS]);

    /// Returns the Ethernet source address of the packet.
    pub(super) fn eth_src(&self) -> u64 {
        self.0[4] >> 16
    }

    /// Adds the value of a field to the key, in which the field must be empty.
    fn put(&mut self, field: OxmField, value: u128) {
        let Some((word, shift)) = place(field) else { return };
        self.0[word] |= (value as u64) << shift;
        let upper = (value >> 64) as u64;
        if upper != 0 {
            self.0[word - 1] |= upper;
        }
    }

    fn put_present(&mut self, field: OxmField, value: u128) {
        self.0[PRESENCE] |= 1 << field.0;
        self.put(field, value);
    }

    /// Returns the key of a packet in OpenFlow 1.3. All packets are assumed to have entered by a
    /// physical port, and through no tunnel.
    pub(super) fn v1_3(packet: &Packet, in_port: u32, metadata: u64) -> Self {
        let mut key = Self::ZERO;
        key.put_present(OxmField::IN_PORT, in_port.into());
        key.put_present(OxmField::IN_PHY_PORT, in_port.into());
        key.put_present(OxmField::METADATA, metadata.into());
        key.put_present(OxmField::TUNNEL_ID, 0);
        // A packet without a tag also has the field VLAN_VID, whose value states that there is no
        // tag (OpenFlow 1.3.5, 7.2.3.7, table 13).
        key.put_present(OxmField::VLAN_VID, if packet.is_tagged() { 0x1000 } else { 0 });
        for field in packet.fields() {
            if let Some(value) = packet.field(field) {
                key.put_present(field, value);
            }
        }
        key
    }

    /// Returns the key of a packet in OpenFlow 1.0 that entered by the port `in_port`.
    pub(super) fn v1_0(packet: &Packet, in_port: u16) -> Self {
        let mut key = Self::ZERO;
        key.put(OxmField::IN_PORT, in_port.into());
        if !packet.is_tagged() {
            key.put(OxmField::VLAN_VID, v1_0::Match::VLAN_NONE.into());
        }
        for field in packet.fields() {
            let Some(value) = packet.field(field) else { continue };
            match field {
                OxmField::ARP_OP => key.put(OxmField::IP_PROTO, value & 0xff),
                // OpenFlow 1.0 does not match IPv6 and, of ARP, matches the operation and the
                // protocol addresses.
                OxmField::ETH_DST
                | OxmField::ETH_SRC
                | OxmField::ETH_TYPE
                | OxmField::VLAN_VID
                | OxmField::VLAN_PCP
                | OxmField::ARP_SPA
                | OxmField::ARP_TPA
                | OxmField::IPV4_SRC
                | OxmField::IPV4_DST => key.put(field, value),
                OxmField::IP_DSCP
                | OxmField::IP_PROTO
                | OxmField::TCP_SRC
                | OxmField::TCP_DST
                | OxmField::UDP_SRC
                | OxmField::UDP_DST
                | OxmField::ICMPV4_TYPE
                | OxmField::ICMPV4_CODE
                    if packet.field(OxmField::IPV4_SRC).is_some() =>
                {
                    key.put(field, value);
                }
                _ => {}
            }
        }
        key
    }
}

impl Condition {
    /// Returns the condition that an OpenFlow 1.3 match imposes on packets. Returns `None` if the
    /// match contains a field that no packet of an emulated switch has, so that no packet matches.
    pub(super) fn v1_3(rule: &Match) -> Option<Self> {
        let mut condition = Self { mask: FlowKey::ZERO, value: FlowKey::ZERO };
        for oxm in &rule.fields {
            let (field, value, mask) = oxm.condition()?;
            place(field)?;
            // An empty mask is no condition, not even on the presence of the field.
            if mask == 0 {
                continue;
            }
            condition.mask.put_present(field, mask);
            condition.value.put_present(field, value);
        }
        Some(condition)
    }

    /// Returns the condition that an OpenFlow 1.0 match imposes on packets.
    pub(super) fn v1_0(rule: &v1_0::Match) -> Self {
        let mut condition = Self { mask: FlowKey::ZERO, value: FlowKey::ZERO };
        let mut put = |field, value: Option<u64>, mask: u64| {
            if let Some(value) = value {
                condition.mask.put(field, mask.into());
                condition.value.put(field, (value & mask).into());
            }
        };
        let prefix = |address: Option<(std::net::Ipv4Addr, u32)>| {
            let (address, length) = address.unwrap_or((std::net::Ipv4Addr::UNSPECIFIED, 0));
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            ((length > 0).then_some(u64::from(address.to_bits())), u64::from(mask))
        };
        put(OxmField::IN_PORT, rule.in_port().map(|port| port.0.into()), 0xffff_ffff);
        put(OxmField::ETH_SRC, rule.dl_src().map(|address| address.to_bits()), 0xffff_ffff_ffff);
        put(OxmField::ETH_DST, rule.dl_dst().map(|address| address.to_bits()), 0xffff_ffff_ffff);
        put(OxmField::VLAN_VID, rule.dl_vlan().map(u64::from), 0xffff);
        put(OxmField::VLAN_PCP, rule.dl_vlan_pcp().map(u64::from), 0xff);
        put(OxmField::ETH_TYPE, rule.dl_type().map(u64::from), 0xffff);
        // Only the upper six bits are compared. The lower two are ECN (OpenFlow 1.0.0, 5.2.3).
        put(OxmField::IP_DSCP, rule.nw_tos().map(|tos| u64::from(tos >> 2)), 0xff);
        put(OxmField::IP_PROTO, rule.nw_proto().map(u64::from), 0xff);
        let (source, mask) = prefix(rule.nw_src());
        put(OxmField::IPV4_SRC, source, mask);
        let (destination, mask) = prefix(rule.nw_dst());
        put(OxmField::IPV4_DST, destination, mask);
        put(OxmField::TCP_SRC, rule.tp_src().map(u64::from), 0xffff);
        put(OxmField::TCP_DST, rule.tp_dst().map(u64::from), 0xffff);
        condition
    }

    /// Returns the Ethernet source address that packets must have, or `None` if the condition does
    /// not compare all of its bits.
    pub(super) fn eth_src(&self) -> Option<u64> {
        (self.mask.eth_src() == 0xffff_ffff_ffff).then_some(self.value.eth_src())
    }

    /// Returns whether a packet can satisfy both this condition and another one.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let masks = self.mask.0.iter().zip(&other.mask.0);
        let values = self.value.0.iter().zip(&other.value.0);
        masks.zip(values).all(|((mask, other_mask), (value, other_value))| {
            (value ^ other_value) & mask & other_mask == 0
        })
    }

    pub(super) fn matches(&self, key: &FlowKey) -> bool {
        let words = self.mask.0.iter().zip(&self.value.0).zip(&key.0);
        words.fold(0, |differing, ((mask, value), key)| differing | (key & mask) ^ value) == 0
    }
}
