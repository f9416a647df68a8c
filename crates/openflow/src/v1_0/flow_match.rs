//! The match of a flow entry: OpenFlow 1.0.0, 5.2.3.

use std::net::Ipv4Addr;

use super::PortNo;
use crate::MacAddress;

bit_set! {
    /// The wildcarded fields of a [`Match`] (`ofp_flow_wildcards`).
    ///
    /// Bits 8 to 13 and 14 to 19 are the numbers of wildcarded low bits of the IPv4 source and
    /// destination, see [`Wildcards::nw_src_ignored`].
    pub Wildcards: u32 {
        /// The ingress port.
        IN_PORT = 1 << 0,
        /// The VLAN id.
        DL_VLAN = 1 << 1,
        /// The Ethernet source address.
        DL_SRC = 1 << 2,
        /// The Ethernet destination address.
        DL_DST = 1 << 3,
        /// The Ethernet type.
        DL_TYPE = 1 << 4,
        /// The IP protocol, or the low byte of the ARP opcode.
        NW_PROTO = 1 << 5,
        /// The TCP or UDP source port, or the ICMP type.
        TP_SRC = 1 << 6,
        /// The TCP or UDP destination port, or the ICMP code.
        TP_DST = 1 << 7,
        /// The whole IPv4 source address, so that any address matches.
        NW_SRC_ALL = 32 << 8,
        /// The whole IPv4 destination address, so that any address matches.
        NW_DST_ALL = 32 << 14,
        /// The VLAN priority.
        DL_VLAN_PCP = 1 << 20,
        /// The IP type of service.
        NW_TOS = 1 << 21,
        /// Every bit that the specification defines, so that all fields are wildcarded
        /// (`OFPFW_ALL`).
        ALL = (1 << 22) - 1,
    }
}

const NW_SRC_SHIFT: u32 = 8;
const NW_DST_SHIFT: u32 = 14;
const NW_MASK: u32 = 0x3f;

impl Wildcards {
    /// Returns the number of low bits of the IPv4 source that are wildcarded: 0 for an exact match,
    /// 32 for any address.
    pub const fn nw_src_ignored(self) -> u32 {
        ignored(self.0 >> NW_SRC_SHIFT & NW_MASK)
    }

    /// Returns the number of low bits of the IPv4 destination that are wildcarded: 0 for an exact
    /// match, 32 for any address.
    pub const fn nw_dst_ignored(self) -> u32 {
        ignored(self.0 >> NW_DST_SHIFT & NW_MASK)
    }

    /// Returns the wildcards with the lowest `bits` bits of the IPv4 source wildcarded. A number
    /// above 32 counts as 32.
    #[must_use]
    pub const fn with_nw_src_ignored(self, bits: u32) -> Self {
        Self(self.0 & !(NW_MASK << NW_SRC_SHIFT) | ignored(bits) << NW_SRC_SHIFT)
    }

    /// Returns the wildcards with the lowest `bits` bits of the IPv4 destination wildcarded. A
    /// number above 32 counts as 32.
    #[must_use]
    pub const fn with_nw_dst_ignored(self, bits: u32) -> Self {
        Self(self.0 & !(NW_MASK << NW_DST_SHIFT) | ignored(bits) << NW_DST_SHIFT)
    }
}

/// Limits a wildcard count to 32. The field has six bits, and all counts from 32 on wildcard the
/// whole address.
const fn ignored(bits: u32) -> u32 {
    if bits > 32 { 32 } else { bits }
}

structure! {
    /// The fields of a packet that a flow entry compares (`ofp_match`), 40 bytes.
    ///
    /// The structure holds the exact bits of the wire, so a wildcarded field keeps its value. To
    /// build a match, start from [`Match::any`] and add the fields to compare. To query a match,
    /// use the methods that return an `Option`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Match = "ofp_match" {
        /// The fields that are wildcarded: packets are not compared with their values.
        pub wildcards: Wildcards,
        /// The ingress port.
        pub in_port: PortNo,
        /// The Ethernet source address.
        pub dl_src: MacAddress,
        /// The Ethernet destination address.
        pub dl_dst: MacAddress,
        /// The VLAN id, or [`Match::VLAN_NONE`] for packets without a tag.
        pub dl_vlan: u16,
        /// The VLAN priority.
        pub dl_vlan_pcp: u8; pad 1,
        /// The Ethernet type, or 0x05ff for frames with an IEEE 802.3 length.
        pub dl_type: u16,
        /// The IP type of service, with the DSCP in the upper six bits.
        pub nw_tos: u8,
        /// The IP protocol, or the low byte of the ARP opcode.
        pub nw_proto: u8; pad 2,
        /// The IPv4 source address, or the sender's address in ARP.
        pub nw_src: Ipv4Addr,
        /// The IPv4 destination address, or the target's address in ARP.
        pub nw_dst: Ipv4Addr,
        /// The TCP or UDP source port, or the ICMP type.
        pub tp_src: u16,
        /// The TCP or UDP destination port, or the ICMP code.
        pub tp_dst: u16,
    }
}

impl Default for Match {
    fn default() -> Self {
        Self::any()
    }
}

impl Match {
    /// The VLAN id that represents packets without a tag (`OFP_VLAN_NONE`).
    pub const VLAN_NONE: u16 = 0xffff;

    /// Returns the match that every packet satisfies.
    pub const fn any() -> Self {
        Self {
            wildcards: Wildcards::ALL.with_nw_src_ignored(32).with_nw_dst_ignored(32),
            in_port: PortNo(0),
            dl_src: MacAddress([0; 6]),
            dl_dst: MacAddress([0; 6]),
            dl_vlan: 0,
            dl_vlan_pcp: 0,
            dl_type: 0,
            nw_tos: 0,
            nw_proto: 0,
            nw_src: Ipv4Addr::UNSPECIFIED,
            nw_dst: Ipv4Addr::UNSPECIFIED,
            tp_src: 0,
            tp_dst: 0,
        }
    }

    /// Restricts the match to packets that entered by `port`.
    #[must_use]
    pub const fn with_in_port(mut self, port: PortNo) -> Self {
        self.in_port = port;
        self.mattering(Wildcards::IN_PORT)
    }

    /// Restricts the match to packets from this Ethernet address.
    #[must_use]
    pub const fn with_dl_src(mut self, address: MacAddress) -> Self {
        self.dl_src = address;
        self.mattering(Wildcards::DL_SRC)
    }

    /// Restricts the match to packets to this Ethernet address.
    #[must_use]
    pub const fn with_dl_dst(mut self, address: MacAddress) -> Self {
        self.dl_dst = address;
        self.mattering(Wildcards::DL_DST)
    }

    /// Restricts the match to packets with this VLAN id, or to untagged packets for
    /// [`Match::VLAN_NONE`].
    #[must_use]
    pub const fn with_dl_vlan(mut self, vlan: u16) -> Self {
        self.dl_vlan = vlan;
        self.mattering(Wildcards::DL_VLAN)
    }

    /// Restricts the match to packets with this VLAN priority.
    #[must_use]
    pub const fn with_dl_vlan_pcp(mut self, priority: u8) -> Self {
        self.dl_vlan_pcp = priority;
        self.mattering(Wildcards::DL_VLAN_PCP)
    }

    /// Restricts the match to packets of this Ethernet type.
    #[must_use]
    pub const fn with_dl_type(mut self, ether_type: u16) -> Self {
        self.dl_type = ether_type;
        self.mattering(Wildcards::DL_TYPE)
    }

    /// Restricts the match to packets with this type of service.
    #[must_use]
    pub const fn with_nw_tos(mut self, tos: u8) -> Self {
        self.nw_tos = tos;
        self.mattering(Wildcards::NW_TOS)
    }

    /// Restricts the match to packets of this IP protocol, or to ARP packets with this opcode.
    #[must_use]
    pub const fn with_nw_proto(mut self, protocol: u8) -> Self {
        self.nw_proto = protocol;
        self.mattering(Wildcards::NW_PROTO)
    }

    /// Restricts the match to packets whose IPv4 source begins with the first `prefix` bits of
    /// `address`. A number above 32 counts as 32.
    #[must_use]
    pub const fn with_nw_src(mut self, address: Ipv4Addr, prefix: u32) -> Self {
        self.nw_src = address;
        self.wildcards = self.wildcards.with_nw_src_ignored(32_u32.saturating_sub(prefix));
        self
    }

    /// Restricts the match to packets whose IPv4 destination begins with the first `prefix` bits of
    /// `address`. A number above 32 counts as 32.
    #[must_use]
    pub const fn with_nw_dst(mut self, address: Ipv4Addr, prefix: u32) -> Self {
        self.nw_dst = address;
        self.wildcards = self.wildcards.with_nw_dst_ignored(32_u32.saturating_sub(prefix));
        self
    }

    /// Restricts the match to packets from this TCP or UDP port, or of this ICMP type.
    #[must_use]
    pub const fn with_tp_src(mut self, port: u16) -> Self {
        self.tp_src = port;
        self.mattering(Wildcards::TP_SRC)
    }

    /// Restricts the match to packets to this TCP or UDP port, or of this ICMP code.
    #[must_use]
    pub const fn with_tp_dst(mut self, port: u16) -> Self {
        self.tp_dst = port;
        self.mattering(Wildcards::TP_DST)
    }

    /// Returns the ingress port that packets must have, or `None` if it is wildcarded.
    pub const fn in_port(&self) -> Option<PortNo> {
        if self.matters(Wildcards::IN_PORT) { Some(self.in_port) } else { None }
    }

    /// Returns the Ethernet source that packets must have, or `None` if it is wildcarded.
    pub const fn dl_src(&self) -> Option<MacAddress> {
        if self.matters(Wildcards::DL_SRC) { Some(self.dl_src) } else { None }
    }

    /// Returns the Ethernet destination that packets must have, or `None` if it is wildcarded.
    pub const fn dl_dst(&self) -> Option<MacAddress> {
        if self.matters(Wildcards::DL_DST) { Some(self.dl_dst) } else { None }
    }

    /// Returns the VLAN id that packets must have, or `None` if it is wildcarded.
    pub const fn dl_vlan(&self) -> Option<u16> {
        if self.matters(Wildcards::DL_VLAN) { Some(self.dl_vlan) } else { None }
    }

    /// Returns the VLAN priority that packets must have, or `None` if it is wildcarded.
    pub const fn dl_vlan_pcp(&self) -> Option<u8> {
        if self.matters(Wildcards::DL_VLAN_PCP) { Some(self.dl_vlan_pcp) } else { None }
    }

    /// Returns the Ethernet type that packets must have, or `None` if it is wildcarded.
    pub const fn dl_type(&self) -> Option<u16> {
        if self.matters(Wildcards::DL_TYPE) { Some(self.dl_type) } else { None }
    }

    /// Returns the IP type of service that packets must have, or `None` if it is wildcarded.
    pub const fn nw_tos(&self) -> Option<u8> {
        if self.matters(Wildcards::NW_TOS) { Some(self.nw_tos) } else { None }
    }

    /// Returns the IP protocol that packets must have, or `None` if it is wildcarded.
    pub const fn nw_proto(&self) -> Option<u8> {
        if self.matters(Wildcards::NW_PROTO) { Some(self.nw_proto) } else { None }
    }

    /// Returns the IPv4 source that packets must have, and the number of its leading bits that are
    /// compared. Returns `None` if no bit is compared.
    pub const fn nw_src(&self) -> Option<(Ipv4Addr, u32)> {
        match self.wildcards.nw_src_ignored() {
            32 => None,
            ignored => Some((self.nw_src, 32 - ignored)),
        }
    }

    /// Returns the IPv4 destination that packets must have, and the number of its leading bits that
    /// are compared. Returns `None` if no bit is compared.
    pub const fn nw_dst(&self) -> Option<(Ipv4Addr, u32)> {
        match self.wildcards.nw_dst_ignored() {
            32 => None,
            ignored => Some((self.nw_dst, 32 - ignored)),
        }
    }

    /// Returns the TCP or UDP source port, or the ICMP type, that packets must have. Returns `None`
    /// if it is wildcarded.
    pub const fn tp_src(&self) -> Option<u16> {
        if self.matters(Wildcards::TP_SRC) { Some(self.tp_src) } else { None }
    }

    /// Returns the TCP or UDP destination port, or the ICMP code, that packets must have. Returns
    /// `None` if it is wildcarded.
    pub const fn tp_dst(&self) -> Option<u16> {
        if self.matters(Wildcards::TP_DST) { Some(self.tp_dst) } else { None }
    }

    const fn matters(&self, field: Wildcards) -> bool {
        !self.wildcards.contains(field)
    }

    const fn mattering(mut self, field: Wildcards) -> Self {
        self.wildcards = self.wildcards.without(field);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_is_what_open_flow_controllers_send_for_it() {
        // OFPFW_ALL with both prefix counts at 32, as OVS writes it for a match without fields.
        assert_eq!(Match::any().wildcards.0, 0x0038_20ff);
    }

    #[test]
    fn named_fields_matter_and_others_do_not() {
        let source = Ipv4Addr::new(10, 0, 0, 0);
        let matched = Match::any()
            .with_in_port(PortNo(3))
            .with_dl_type(0x0800)
            .with_nw_src(source, 8)
            .with_tp_dst(80);
        assert_eq!(matched.in_port(), Some(PortNo(3)));
        assert_eq!(matched.dl_type(), Some(0x0800));
        assert_eq!(matched.nw_src(), Some((source, 8)));
        assert_eq!(matched.tp_dst(), Some(80));
        assert_eq!(matched.dl_src(), None);
        assert_eq!(matched.nw_dst(), None);
        assert_eq!(matched.tp_src(), None);
        assert_eq!(matched.wildcards.nw_src_ignored(), 24);
    }

    #[test]
    fn counts_beyond_an_address_ignore_all_of_it() {
        for bits in 32..64 {
            let wildcards = Wildcards(bits << 8 | bits << 14);
            assert_eq!((wildcards.nw_src_ignored(), wildcards.nw_dst_ignored()), (32, 32));
        }
        assert_eq!(Wildcards::ALL.nw_src_ignored(), 32);
    }
}
