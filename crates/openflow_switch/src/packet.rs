//! A packet on its way through the tables of an emulated switch: the positions of its headers, its
//! fields, and the actions that change it.
//!
//! [`Packet::place`] determines the position of each match field, for matching as well as for
//! set-field actions. Checksums of IPv4, TCP, UDP and ICMP are updated with every change (RFC
//! 1624), so that the controller sees a valid packet. Parsing ends at a truncated header. The
//! packet then has no fields of this header or of later ones.

use openflow::v1_3::OxmField;

const VLAN_TYPES: [u16; 2] = [0x8100, 0x88a8];
const MPLS_TYPES: [u16; 2] = [0x8847, 0x8848];
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
/// The value that stands for the Ethernet type of an IEEE 802.3 frame without SNAP header, which
/// has none (OpenFlow 1.0.0, 5.2.3).
const NO_TYPE: u16 = 0x05ff;
/// The maximum number of extension headers and VLAN tags that are parsed. Real packets have fewer.
const MAX_HEADERS: usize = 16;

/// The network-layer header of a packet (after Ethernet and its tags), with its offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Network {
    #[default]
    Other,
    Arp(usize),
    Ipv4(usize),
    Ipv6(usize),
    Mpls(usize),
}

/// The transport-layer header of a packet (after IP), with its offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Transport {
    #[default]
    None,
    Tcp(usize),
    Udp(usize),
    Sctp(usize),
    Icmpv4(usize),
    Icmpv6(usize),
}

/// The position of a field in a packet. The `bytes` bytes at offset `at` are a big-endian number.
/// The field consists of the `bits` bits above the lowest `shift` bits of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldLocation {
    at: usize,
    bytes: usize,
    shift: u32,
    bits: u32,
}

impl FieldLocation {
    const fn whole(at: usize, bytes: usize) -> Self {
        Self { at, bytes, shift: 0, bits: 8 * bytes as u32 }
    }

    const fn part(at: usize, bytes: usize, shift: u32, bits: u32) -> Self {
        Self { at, bytes, shift, bits }
    }
}

/// A packet with the offsets of its headers.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    bytes: Vec<u8>,
    /// Whether the packet has a VLAN tag. The outermost tag begins at byte 12.
    tagged: bool,
    eth_type: u16,
    eth_type_at: usize,
    network: Network,
    /// The protocol number of the header after IP and its extension headers, and the offset of the
    /// byte that contains the number.
    ip_proto: Option<(u8, usize)>,
    transport: Transport,
    /// The extension headers of an IPv6 packet, as bits of `ofp_ipv6exthdr_flags`. The two bits
    /// about the order of headers are never set.
    extension_headers: u16,
    /// The offset of the link-layer address in a neighbour discovery option, if the packet has one.
    nd_address: Option<usize>,
}

impl Packet {
    /// Creates a packet from its bytes, which begin with the Ethernet header.
    pub fn new(bytes: &[u8]) -> Self {
        let mut packet = Self::default();
        packet.load(bytes);
        packet
    }

    /// Loads another packet into the same memory.
    pub fn load(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.parse();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is_tagged(&self) -> bool {
        self.tagged
    }

    /// Returns the value of a field, or `None` if the packet does not have it. The value of
    /// [`OxmField::VLAN_VID`] lacks the bit that states that there is a tag.
    pub fn field(&self, field: OxmField) -> Option<u128> {
        match field {
            OxmField::ETH_TYPE => Some(u128::from(self.eth_type)),
            OxmField::IPV6_EXTHDR => matches!(self.network, Network::Ipv6(_))
                .then_some(u128::from(self.extension_headers)),
            _ => self.read(self.place(field)?),
        }
    }

    /// Returns the fields that a packet with these headers may have, in no particular order.
    pub(super) fn fields(&self) -> impl Iterator<Item = OxmField> + use<> {
        const ETHERNET: &[OxmField] = &[OxmField::ETH_DST, OxmField::ETH_SRC, OxmField::ETH_TYPE];
        const VLAN: &[OxmField] = &[OxmField::VLAN_VID, OxmField::VLAN_PCP];
        let network: &[OxmField] = match self.network {
            Network::Other => &[],
            Network::Arp(_) => &[
                OxmField::ARP_OP,
                OxmField::ARP_SPA,
                OxmField::ARP_TPA,
                OxmField::ARP_SHA,
                OxmField::ARP_THA,
            ],
            Network::Ipv4(_) => &[
                OxmField::IP_DSCP,
                OxmField::IP_ECN,
                OxmField::IP_PROTO,
                OxmField::IPV4_SRC,
                OxmField::IPV4_DST,
            ],
            Network::Ipv6(_) => &[
                OxmField::IP_DSCP,
                OxmField::IP_ECN,
                OxmField::IP_PROTO,
                OxmField::IPV6_SRC,
                OxmField::IPV6_DST,
                OxmField::IPV6_FLABEL,
                OxmField::IPV6_EXTHDR,
            ],
            Network::Mpls(_) => &[OxmField::MPLS_LABEL, OxmField::MPLS_TC, OxmField::MPLS_BOS],
        };
        let transport: &[OxmField] = match self.transport {
            Transport::None => &[],
            Transport::Tcp(_) => &[OxmField::TCP_SRC, OxmField::TCP_DST],
            Transport::Udp(_) => &[OxmField::UDP_SRC, OxmField::UDP_DST],
            Transport::Sctp(_) => &[OxmField::SCTP_SRC, OxmField::SCTP_DST],
            Transport::Icmpv4(_) => &[OxmField::ICMPV4_TYPE, OxmField::ICMPV4_CODE],
            Transport::Icmpv6(_) => &[
                OxmField::ICMPV6_TYPE,
                OxmField::ICMPV6_CODE,
                OxmField::IPV6_ND_TARGET,
                OxmField::IPV6_ND_SLL,
                OxmField::IPV6_ND_TLL,
            ],
        };
        let vlan = if self.tagged { VLAN } else { &[] };
        [ETHERNET, vlan, network, transport].into_iter().flatten().copied()
    }

    /// Sets a field, if the packet has it (OpenFlow 1.3.5, 7.2.5). Bits beyond the field's width
    /// are ignored.
    pub(super) fn set(&mut self, field: OxmField, value: u128) {
        let Some(place) = self.place(field) else { return };
        let Some(before) = number(&self.bytes, place) else { return };
        let mask = ones(place.bits) << place.shift;
        let after = before & !mask | (value << place.shift) & mask;
        let bytes = after.to_be_bytes();
        self.write(place.at, &bytes[16 - place.bytes..]);
        if matches!(field, OxmField::ETH_TYPE | OxmField::IP_PROTO | OxmField::ICMPV6_TYPE) {
            self.parse();
        }
    }

    /// Pushes a VLAN tag with the id and the priority of the outermost tag, or with zeros if there
    /// is none (OpenFlow 1.3.5, 5.12.1).
    pub(super) fn push_vlan(&mut self, ethernet_type: u16) {
        if self.bytes.len() < 14 {
            return;
        }
        let control = match self.bytes.get(14..16) {
            Some(control) if self.tagged => [control[0], control[1]],
            _ => [0; 2],
        };
        let [a, b] = ethernet_type.to_be_bytes();
        self.bytes.splice(12..12, [a, b, control[0], control[1]]);
        self.parse();
    }

    /// Pops the outermost VLAN tag, if there is one.
    pub(super) fn pop_vlan(&mut self) {
        if self.tagged {
            self.bytes.drain(12..16);
            self.parse();
        }
    }

    /// Sets the time to live, or hop limit, of an IP packet.
    pub(super) fn set_ttl(&mut self, ttl: u8) {
        if let Some(at) = self.ttl_at() {
            self.write(at, &[ttl]);
        }
    }

    /// Decrements the time to live of an IP packet. Returns whether the result is still
    /// valid.
    pub(super) fn decrement_ttl(&mut self) -> bool {
        let Some(at) = self.ttl_at() else { return true };
        match self.bytes.get(at) {
            Some(0 | 1) => false,
            Some(ttl) => {
                self.write(at, &[ttl - 1]);
                true
            }
            None => true,
        }
    }

    fn ttl_at(&self) -> Option<usize> {
        match self.network {
            Network::Ipv4(at) => Some(at + 8),
            Network::Ipv6(at) => Some(at + 7),
            _ => None,
        }
    }

    /// Returns the position of a field in the packet, or `None` if the packet does not have the
    /// field.
    fn place(&self, field: OxmField) -> Option<FieldLocation> {
        let transport = |wanted: fn(usize) -> Transport| match self.transport {
            Transport::Tcp(at)
            | Transport::Udp(at)
            | Transport::Sctp(at)
            | Transport::Icmpv4(at)
            | Transport::Icmpv6(at)
                if wanted(at) == self.transport =>
            {
                Some(at)
            }
            _ => None,
        };
        let icmpv6_type = transport(Transport::Icmpv6).and_then(|at| self.bytes.get(at)).copied();
        Some(match (field, self.network) {
            (OxmField::ETH_DST, _) => FieldLocation::whole(0, 6),
            (OxmField::ETH_SRC, _) => FieldLocation::whole(6, 6),
            (OxmField::ETH_TYPE, _) => FieldLocation::whole(self.eth_type_at, 2),
            (OxmField::VLAN_VID, _) if self.tagged => FieldLocation::part(14, 2, 0, 12),
            (OxmField::VLAN_PCP, _) if self.tagged => FieldLocation::part(14, 1, 5, 3),
            (OxmField::IP_DSCP, Network::Ipv4(at)) => FieldLocation::part(at + 1, 1, 2, 6),
            (OxmField::IP_ECN, Network::Ipv4(at)) => FieldLocation::part(at + 1, 1, 0, 2),
            (OxmField::IP_DSCP, Network::Ipv6(at)) => FieldLocation::part(at, 2, 6, 6),
            (OxmField::IP_ECN, Network::Ipv6(at)) => FieldLocation::part(at, 2, 4, 2),
            (OxmField::IP_PROTO, _) => FieldLocation::whole(self.ip_proto?.1, 1),
            (OxmField::IPV4_SRC, Network::Ipv4(at)) => FieldLocation::whole(at + 12, 4),
            (OxmField::IPV4_DST, Network::Ipv4(at)) => FieldLocation::whole(at + 16, 4),
            (OxmField::TCP_SRC, _) => FieldLocation::whole(transport(Transport::Tcp)?, 2),
            (OxmField::TCP_DST, _) => FieldLocation::whole(transport(Transport::Tcp)? + 2, 2),
            (OxmField::UDP_SRC, _) => FieldLocation::whole(transport(Transport::Udp)?, 2),
            (OxmField::UDP_DST, _) => FieldLocation::whole(transport(Transport::Udp)? + 2, 2),
            (OxmField::SCTP_SRC, _) => FieldLocation::whole(transport(Transport::Sctp)?, 2),
            (OxmField::SCTP_DST, _) => FieldLocation::whole(transport(Transport::Sctp)? + 2, 2),
            (OxmField::ICMPV4_TYPE, _) => FieldLocation::whole(transport(Transport::Icmpv4)?, 1),
            (OxmField::ICMPV4_CODE, _) => {
                FieldLocation::whole(transport(Transport::Icmpv4)? + 1, 1)
            }
            (OxmField::ARP_OP, Network::Arp(at)) => FieldLocation::whole(at + 6, 2),
            (OxmField::ARP_SHA, Network::Arp(at)) => FieldLocation::whole(at + 8, 6),
            (OxmField::ARP_SPA, Network::Arp(at)) => FieldLocation::whole(at + 14, 4),
            (OxmField::ARP_THA, Network::Arp(at)) => FieldLocation::whole(at + 18, 6),
            (OxmField::ARP_TPA, Network::Arp(at)) => FieldLocation::whole(at + 24, 4),
            (OxmField::IPV6_SRC, Network::Ipv6(at)) => FieldLocation::whole(at + 8, 16),
            (OxmField::IPV6_DST, Network::Ipv6(at)) => FieldLocation::whole(at + 24, 16),
            (OxmField::IPV6_FLABEL, Network::Ipv6(at)) => FieldLocation::part(at, 4, 0, 20),
            (OxmField::ICMPV6_TYPE, _) => FieldLocation::whole(transport(Transport::Icmpv6)?, 1),
            (OxmField::ICMPV6_CODE, _) => {
                FieldLocation::whole(transport(Transport::Icmpv6)? + 1, 1)
            }
            // The packet is a neighbour solicitation or advertisement (RFC 4861, 4.3 and 4.4).
            (OxmField::IPV6_ND_TARGET, _) if matches!(icmpv6_type, Some(135 | 136)) => {
                FieldLocation::whole(transport(Transport::Icmpv6)? + 8, 16)
            }
            (OxmField::IPV6_ND_SLL, _) if icmpv6_type == Some(135) => {
                FieldLocation::whole(self.nd_address?, 6)
            }
            (OxmField::IPV6_ND_TLL, _) if icmpv6_type == Some(136) => {
                FieldLocation::whole(self.nd_address?, 6)
            }
            (OxmField::MPLS_LABEL, Network::Mpls(at)) => FieldLocation::part(at, 4, 12, 20),
            (OxmField::MPLS_TC, Network::Mpls(at)) => FieldLocation::part(at, 4, 9, 3),
            (OxmField::MPLS_BOS, Network::Mpls(at)) => FieldLocation::part(at, 4, 8, 1),
            _ => return None,
        })
    }

    fn read(&self, place: FieldLocation) -> Option<u128> {
        Some(number(&self.bytes, place)? >> place.shift & ones(place.bits))
    }

    /// Determines the offsets of the packet's headers.
    fn parse(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        *self = Self { bytes, ..Self::default() };
        let mut at = 12;
        let mut eth_type = be16(&self.bytes, at).unwrap_or(NO_TYPE);
        for _ in 0..MAX_HEADERS {
            // A tag is complete only if the type that follows it is present.
            let Some(next) = be16(&self.bytes, at + 4) else { break };
            if !VLAN_TYPES.contains(&eth_type) {
                break;
            }
            (self.tagged, at, eth_type) = (true, at + 4, next);
        }
        self.eth_type_at = at;
        let mut network_at = at + 2;
        if eth_type < 0x0600 {
            eth_type = NO_TYPE;
            if self.bytes.get(network_at..network_at + 6) == Some(&[0xaa, 0xaa, 3, 0, 0, 0]) {
                self.eth_type_at = network_at + 6;
                network_at += 8;
                eth_type = be16(&self.bytes, self.eth_type_at).unwrap_or(NO_TYPE);
            }
        }
        self.eth_type = eth_type;
        let holds = |length| self.bytes.len() >= network_at + length;
        match eth_type {
            // Only ARP over Ethernet for IPv4 is parsed (RFC 826).
            ARP if holds(28)
                && self.bytes[network_at..network_at + 6] == [0, 1, 0x08, 0x00, 6, 4] =>
            {
                self.network = Network::Arp(network_at);
            }
            IPV4 if holds(20) && self.bytes[network_at] >> 4 == 4 => self.parse_ipv4(network_at),
            IPV6 if holds(40) && self.bytes[network_at] >> 4 == 6 => self.parse_ipv6(network_at),
            _ if MPLS_TYPES.contains(&eth_type) && holds(4) => {
                self.network = Network::Mpls(network_at);
            }
            _ => {}
        }
    }

    fn parse_ipv4(&mut self, at: usize) {
        let length = 4 * usize::from(self.bytes[at] & 0x0f);
        if length < 20 || self.bytes.len() < at + length {
            return;
        }
        self.network = Network::Ipv4(at);
        let protocol = self.bytes[at + 9];
        self.ip_proto = Some((protocol, at + 9));
        // Only the first fragment contains the header after IP.
        if be16(&self.bytes, at + 6).is_some_and(|fragment| fragment & 0x1fff == 0) {
            self.parse_transport(protocol, at + length, false);
        }
    }

    fn parse_ipv6(&mut self, at: usize) {
        self.network = Network::Ipv6(at);
        let (mut next_at, mut header, mut first_fragment) = (at + 6, at + 40, true);
        for _ in 0..MAX_HEADERS {
            let next = self.bytes[next_at];
            self.ip_proto = Some((next, next_at));
            let (flag, known) = match next {
                0 => (1 << 6, true),
                43 => (1 << 5, true),
                44 => (1 << 4, true),
                51 => (1 << 2, true),
                60 => (1 << 3, true),
                50 => (1 << 1, false),
                59 => (1 << 0, false),
                _ => (0, false),
            };
            self.extension_headers |= flag;
            let Some([_, length]) = self.bytes.get(header..header + 2) else { return };
            if !known {
                break;
            }
            // The unit of the length is that of RFC 8200, section 4, or of RFC 4302, section 2.2,
            // for the authentication header.
            let length = match next {
                44 => 8,
                51 => 4 * (usize::from(*length) + 2),
                _ => 8 * (usize::from(*length) + 1),
            };
            if next == 44 {
                first_fragment &=
                    be16(&self.bytes, header + 2).is_some_and(|offset| offset & 0xfff8 == 0);
            }
            (next_at, header) = (header, header + length);
            if next_at >= self.bytes.len() {
                return;
            }
        }
        if let Some((protocol, _)) = self.ip_proto
            && first_fragment
        {
            self.parse_transport(protocol, header, true);
        }
    }

    fn parse_transport(&mut self, protocol: u8, at: usize, over_ipv6: bool) {
        if self.bytes.len() < at + 4 {
            return;
        }
        self.transport = match (protocol, over_ipv6) {
            (6, _) => Transport::Tcp(at),
            (17, _) => Transport::Udp(at),
            (132, _) => Transport::Sctp(at),
            (1, false) => Transport::Icmpv4(at),
            (58, true) => Transport::Icmpv6(at),
            _ => Transport::None,
        };
        if let Transport::Icmpv6(at) = self.transport {
            // The relevant option contains the source's link-layer address in solicitations, and
            // the target's in advertisements (RFC 4861, 4.6.1).
            let wanted = match self.bytes[at] {
                135 => 1,
                136 => 2,
                _ => return,
            };
            let mut option = at + 24;
            while let Some([kind, length]) = self.bytes.get(option..option + 2) {
                if *kind == wanted && self.bytes.len() >= option + 8 {
                    self.nd_address = Some(option + 2);
                    return;
                }
                // An option of length zero is malformed.
                if *length == 0 {
                    return;
                }
                option += 8 * usize::from(*length);
            }
        }
    }

    /// Writes bytes into the packet and updates the checksums that cover them.
    fn write(&mut self, at: usize, bytes: &[u8]) {
        let (network_at, header_checksum, addresses) = match self.network {
            Network::Ipv4(start) => (start, Some(start + 10), start + 12..start + 20),
            Network::Ipv6(start) => (start, None, start + 8..start + 40),
            _ => (at, None, 0..0),
        };
        let transport_at = match self.transport {
            Transport::Tcp(start)
            | Transport::Udp(start)
            | Transport::Sctp(start)
            | Transport::Icmpv4(start)
            | Transport::Icmpv6(start) => start,
            Transport::None => usize::MAX,
        };
        let covered = at >= transport_at || addresses.contains(&at);
        let transport_checksum = match self.transport {
            Transport::Tcp(start) if covered => Some(start + 16),
            // A UDP checksum of zero means that there is no checksum (RFC 768).
            Transport::Udp(start)
                if covered && be16(&self.bytes, start + 6).is_some_and(|sum| sum != 0) =>
            {
                Some(start + 6)
            }
            Transport::Icmpv4(start) if at >= start => Some(start + 2),
            Transport::Icmpv6(start) if covered => Some(start + 2),
            _ => None,
        };
        let in_header = at >= network_at && at < transport_at;
        let from = at - at.saturating_sub(network_at) % 2;
        let to = (at + bytes.len()).next_multiple_of(2) + from % 2;
        let before = sum(&self.bytes, from, to);
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        let after = sum(&self.bytes, from, to);
        if let (Some(checksum), true) = (header_checksum, in_header) {
            self.update(checksum, before, after, false);
        }
        if let Some(checksum) = transport_checksum {
            let is_udp = matches!(self.transport, Transport::Udp(_));
            self.update(checksum, before, after, is_udp);
        }
    }

    /// Updates the checksum at `at` by equation 3 of RFC 1624, after the words that it covers have
    /// changed. The sum of these words was `before` and is now `after`.
    fn update(&mut self, at: usize, before: u32, after: u32, is_udp: bool) {
        let Some(old) = be16(&self.bytes, at) else { return };
        let sum = u32::from(!old) + u32::from(!fold(before)) + u32::from(fold(after));
        let new = match !fold(sum) {
            0 if is_udp => 0xffff,
            new => new,
        };
        if let Some(place) = self.bytes.get_mut(at..at + 2) {
            place.copy_from_slice(&new.to_be_bytes());
        }
    }
}

fn ones(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

fn number(bytes: &[u8], place: FieldLocation) -> Option<u128> {
    let bytes = bytes.get(place.at..place.at + place.bytes)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    match bytes.get(at..at + 2)? {
        [a, b] => Some(u16::from_be_bytes([*a, *b])),
        _ => None,
    }
}

/// Returns the sum of the 16-bit words from `from` to `to`. Bytes beyond the end of the packet
/// count as zero.
fn sum(bytes: &[u8], from: usize, to: usize) -> u32 {
    let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
    (from..to).step_by(2).map(|at| byte(at) << 8 | byte(at + 1)).sum()
}

fn fold(sum: u32) -> u16 {
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}
