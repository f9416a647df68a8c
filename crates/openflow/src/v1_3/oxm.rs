//! OpenFlow extensible match fields (OXM): the type-length-values that form matches and set-field
//! actions (specification 1.3.5, section 7.2.3).
//!
//! Each of the forty fields of class `OFPXMC_OPENFLOW_BASIC` has a variant that holds its value
//! inline. Maskable fields hold a [`Masked`] value. All other fields (Nicira's classes,
//! experimenters, a mask where the specification has none) are kept as bytes, so that they pass
//! through unchanged.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::codec::{Wire, put_u16, put_u32};
use super::oxm_value::{Payload, Value};
use crate::MacAddress;
use crate::PortNumber;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

pub use super::oxm_value::{Masked, PbbIsid};

open_enum! {
    /// The class of a field, which states who defines the field (`oxm_class`).
    pub OxmClass: u16 {
        /// Nicira's first class, `OFPXMC_NXM_0`.
        NXM_0 = 0x0000,
        /// Nicira's second class, `OFPXMC_NXM_1`.
        NXM_1 = 0x0001,
        /// The specification itself, `OFPXMC_OPENFLOW_BASIC`.
        OPENFLOW_BASIC = 0x8000,
        /// An experimenter whose id begins the payload, `OFPXMC_EXPERIMENTER`.
        EXPERIMENTER = 0xffff,
    }
}

open_enum! {
    /// A VLAN id in matches and set-field actions: twelve bits, and one bit that states whether the
    /// packet has a VLAN tag.
    pub VlanVid: u16 {
        /// The packet has no tag, `OFPVID_NONE`.
        UNTAGGED = 0x0000,
        /// The bit that is set for packets with a tag. As both value and mask, it matches any tag.
        PRESENT = 0x1000,
    }
}

impl VlanVid {
    /// Returns the tag with this VLAN id, of which only the lower twelve bits are used.
    pub const fn tagged(vlan_id: u16) -> Self {
        Self(Self::PRESENT.0 | (vlan_id & 0x0fff))
    }
}

bit_set! {
    /// The IPv6 extension headers of a packet, `ofp_ipv6exthdr_flags`.
    pub Ipv6ExtensionHeaders: u16 {
        /// The value "no next header", which ends the headers.
        NO_NEXT = 1 << 0,
        /// An encapsulating security payload header.
        ESP = 1 << 1,
        /// An authentication header.
        AUTH = 1 << 2,
        /// One or two destination options headers.
        DEST = 1 << 3,
        /// A fragment header.
        FRAG = 1 << 4,
        /// A routing header.
        ROUTER = 1 << 5,
        /// A hop-by-hop options header.
        HOP = 1 << 6,
        /// A header was repeated unexpectedly.
        UNREP = 1 << 7,
        /// The headers were not in the order that IPv6 prefers.
        UNSEQ = 1 << 8,
    }
}

/// Expands to the type of the value that a field's variant contains.
macro_rules! held {
    (exact $value:ty) => { $value };
    (maskable $value:ty) => { Masked<$value> };
}

/// Expands to the type that the setter of a field accepts. If the field is maskable, this is any
/// type that converts to a masked value.
macro_rules! taken {
    (exact $value:ty) => { $value };
    (maskable $value:ty) => { impl Into<Masked<$value>> };
}

macro_rules! converted {
    (exact $value:expr) => {
        $value
    };
    (maskable $value:expr) => {
        $value.into()
    };
}

macro_rules! oxm_fields {
    ($(
        $(#[$meta:meta])*
        $number:literal $constant:ident $variant:ident($kind:ident $value:ty) $get:ident $with:ident;
    )*) => {
        open_enum! {
            /// A field of class `OFPXMC_OPENFLOW_BASIC`, `oxm_ofb_match_fields`.
            pub OxmField: u8 {
                $( $(#[$meta])* $constant = $number, )*
            }
        }

        impl OxmField {
            /// All fields that the specification defines, by number.
            pub const ALL: &'static [Self] = &[$( Self::$constant ),*];

            /// Returns the number of bytes of a value of the field, without mask.
            pub const fn width(self) -> Option<usize> {
                match self {
                    $( Self::$constant => Some(<$value as Value>::WIDTH), )*
                    _ => None,
                }
            }

            /// Returns whether the specification allows a mask for the field.
            pub const fn is_maskable(self) -> bool {
                match self {
                    $( Self::$constant => <held!($kind $value) as Payload>::MASKABLE, )*
                    _ => false,
                }
            }
        }

        /// One field of a match, or the new value in a set-field action.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Oxm {
            $( $(#[$meta])* $variant(held!($kind $value)), )*
            /// A field of another class or in a form that the specification does not define.
            Raw(RawOxm),
        }

        impl Oxm {
            /// Returns the field of class `OFPXMC_OPENFLOW_BASIC`, or `None` for [`Oxm::Raw`].
            pub const fn field(&self) -> Option<OxmField> {
                match self {
                    $( Self::$variant(_) => Some(OxmField::$constant), )*
                    Self::Raw(_) => None,
                }
            }

            /// Returns whether the field has a mask besides its value.
            pub fn has_mask(&self) -> bool {
                match self {
                    $( Self::$variant(payload) => payload.has_mask(), )*
                    Self::Raw(raw) => raw.has_mask,
                }
            }

            /// Returns the condition in canonical form: bits outside the mask are zero, and a full
            /// mask is left out. Returns `None` if the mask is empty, so that every packet
            /// satisfies the condition.
            pub(super) fn normalized(&self) -> Option<Self> {
                match self {
                    $( Self::$variant(payload) => payload.normalized().map(Self::$variant), )*
                    Self::Raw(raw) => Some(Self::Raw(raw.clone())),
                }
            }

            /// Returns whether every packet that satisfies `other` also satisfies this condition.
            ///
            /// A raw field covers only an identical field, compared by bytes.
            pub(super) fn covers(&self, other: &Self) -> bool {
                match (self, other) {
                    $( (Self::$variant(mine), Self::$variant(theirs)) => mine.covers(theirs), )*
                    (Self::Raw(mine), Self::Raw(theirs)) => mine == theirs,
                    _ => false,
                }
            }

            fn write_payload(&self, out: &mut Vec<u8>) {
                match self {
                    $( Self::$variant(payload) => Payload::write(payload, out), )*
                    Self::Raw(raw) => out.extend_from_slice(&raw.payload),
                }
            }

            /// Reads the payload of a field, if one of the field's variants can hold it.
            fn read_payload(
                field: OxmField,
                has_mask: bool,
                payload: &mut Reader<'_>,
            ) -> Result<Option<Self>, DecodeError> {
                match field {
                    $( OxmField::$constant if !has_mask || field.is_maskable() => {
                        let name = concat!("oxm.", stringify!($get));
                        Payload::read(payload, has_mask, name).map(|v| Some(Self::$variant(v)))
                    } )*
                    _ => Ok(None),
                }
            }
        }

        impl super::matches::Match {
            $(
                #[doc = concat!("The condition on `", stringify!($get), "`, if there is one.")]
                pub fn $get(&self) -> Option<held!($kind $value)> {
                    self.fields.iter().find_map(|field| match field {
                        Oxm::$variant(payload) => Some(*payload),
                        _ => None,
                    })
                }

                #[doc = concat!(
                    "With this condition on `", stringify!($get), "`, instead of one it may have."
                )]
                #[must_use]
                pub fn $with(self, value: taken!($kind $value)) -> Self {
                    self.with(Oxm::$variant(converted!($kind value)))
                }
            )*
        }
    };
}

oxm_fields! {
    /// The switch input port.
    0 IN_PORT InPort(exact PortNumber) in_port with_in_port;
    /// The switch physical input port.
    1 IN_PHY_PORT InPhyPort(exact PortNumber) in_phy_port with_in_phy_port;
    /// The metadata that is passed between tables.
    2 METADATA Metadata(maskable u64) metadata with_metadata;
    /// The Ethernet destination address.
    3 ETH_DST EthDst(maskable MacAddress) eth_dst with_eth_dst;
    /// The Ethernet source address.
    4 ETH_SRC EthSrc(maskable MacAddress) eth_src with_eth_src;
    /// The Ethernet type of the frame, which follows any VLAN tags.
    5 ETH_TYPE EthType(exact u16) eth_type with_eth_type;
    /// The VLAN id, with the bit that says whether there is a tag.
    6 VLAN_VID VlanVid(maskable VlanVid) vlan_vid with_vlan_vid;
    /// The VLAN priority, 3 bits.
    7 VLAN_PCP VlanPcp(exact u8) vlan_pcp with_vlan_pcp;
    /// The IP differentiated services code point, 6 bits.
    8 IP_DSCP IpDscp(exact u8) ip_dscp with_ip_dscp;
    /// The IP explicit congestion notification, 2 bits.
    9 IP_ECN IpEcn(exact u8) ip_ecn with_ip_ecn;
    /// The IP protocol.
    10 IP_PROTO IpProto(exact u8) ip_proto with_ip_proto;
    /// The IPv4 source address.
    11 IPV4_SRC Ipv4Src(maskable Ipv4Addr) ipv4_src with_ipv4_src;
    /// The IPv4 destination address.
    12 IPV4_DST Ipv4Dst(maskable Ipv4Addr) ipv4_dst with_ipv4_dst;
    /// The TCP source port.
    13 TCP_SRC TcpSrc(exact u16) tcp_src with_tcp_src;
    /// The TCP destination port.
    14 TCP_DST TcpDst(exact u16) tcp_dst with_tcp_dst;
    /// The UDP source port.
    15 UDP_SRC UdpSrc(exact u16) udp_src with_udp_src;
    /// The UDP destination port.
    16 UDP_DST UdpDst(exact u16) udp_dst with_udp_dst;
    /// The SCTP source port.
    17 SCTP_SRC SctpSrc(exact u16) sctp_src with_sctp_src;
    /// The SCTP destination port.
    18 SCTP_DST SctpDst(exact u16) sctp_dst with_sctp_dst;
    /// The ICMP type.
    19 ICMPV4_TYPE Icmpv4Type(exact u8) icmpv4_type with_icmpv4_type;
    /// The ICMP code.
    20 ICMPV4_CODE Icmpv4Code(exact u8) icmpv4_code with_icmpv4_code;
    /// The ARP operation.
    21 ARP_OP ArpOp(exact u16) arp_op with_arp_op;
    /// The ARP source IPv4 address.
    22 ARP_SPA ArpSpa(maskable Ipv4Addr) arp_spa with_arp_spa;
    /// The ARP target IPv4 address.
    23 ARP_TPA ArpTpa(maskable Ipv4Addr) arp_tpa with_arp_tpa;
    /// The ARP source hardware address.
    24 ARP_SHA ArpSha(maskable MacAddress) arp_sha with_arp_sha;
    /// The ARP target hardware address.
    25 ARP_THA ArpTha(maskable MacAddress) arp_tha with_arp_tha;
    /// The IPv6 source address.
    26 IPV6_SRC Ipv6Src(maskable Ipv6Addr) ipv6_src with_ipv6_src;
    /// The IPv6 destination address.
    27 IPV6_DST Ipv6Dst(maskable Ipv6Addr) ipv6_dst with_ipv6_dst;
    /// The IPv6 flow label, 20 bits.
    28 IPV6_FLABEL Ipv6Flabel(maskable u32) ipv6_flabel with_ipv6_flabel;
    /// The ICMPv6 type.
    29 ICMPV6_TYPE Icmpv6Type(exact u8) icmpv6_type with_icmpv6_type;
    /// The ICMPv6 code.
    30 ICMPV6_CODE Icmpv6Code(exact u8) icmpv6_code with_icmpv6_code;
    /// The target address of neighbour discovery.
    31 IPV6_ND_TARGET Ipv6NdTarget(exact Ipv6Addr) ipv6_nd_target with_ipv6_nd_target;
    /// The source link-layer address of neighbour discovery.
    32 IPV6_ND_SLL Ipv6NdSll(exact MacAddress) ipv6_nd_sll with_ipv6_nd_sll;
    /// The target link-layer address of neighbour discovery.
    33 IPV6_ND_TLL Ipv6NdTll(exact MacAddress) ipv6_nd_tll with_ipv6_nd_tll;
    /// The MPLS label, 20 bits.
    34 MPLS_LABEL MplsLabel(exact u32) mpls_label with_mpls_label;
    /// The MPLS traffic class, 3 bits.
    35 MPLS_TC MplsTc(exact u8) mpls_tc with_mpls_tc;
    /// The MPLS bottom-of-stack bit.
    36 MPLS_BOS MplsBos(exact u8) mpls_bos with_mpls_bos;
    /// The provider backbone bridge service instance, 24 bits.
    37 PBB_ISID PbbIsid(maskable PbbIsid) pbb_isid with_pbb_isid;
    /// The metadata of a logical port, such as a tunnel key.
    38 TUNNEL_ID TunnelId(maskable u64) tunnel_id with_tunnel_id;
    /// The IPv6 extension headers that are present.
    39 IPV6_EXTHDR Ipv6Exthdr(maskable Ipv6ExtensionHeaders) ipv6_exthdr with_ipv6_exthdr;
}

impl Oxm {
    /// Returns the condition as numbers: the field, the value, and the mask of the compared bits.
    ///
    /// The mask is also returned for fields for which the specification allows none, because Open
    /// vSwitch accepts masks of TCP ports. Returns `None` for fields of other classes and for
    /// unknown fields.
    pub fn condition(&self) -> Option<(OxmField, u128, u128)> {
        self.numbers().map(|(field, value, mask)| (field, value & mask, mask))
    }

    /// Returns whether the value has bits outside of the mask, which a switch must refuse
    /// (specification 1.3.5, section 7.2.3.5). Returns `false` for unknown fields.
    pub fn has_bits_outside_its_mask(&self) -> bool {
        self.numbers().is_some_and(|(_, value, mask)| value & !mask != 0)
    }

    fn numbers(&self) -> Option<(OxmField, u128, u128)> {
        let field = match self {
            Self::Raw(raw) if raw.class == OxmClass::OPENFLOW_BASIC => OxmField(raw.field),
            known => known.field()?,
        };
        let width = field.width()?;
        let mut payload = Vec::with_capacity(2 * width);
        self.write_payload(&mut payload);
        let number = |bytes: &[u8]| {
            bytes.iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte))
        };
        let value = number(payload.get(..width)?);
        let mask = match payload.get(width..2 * width) {
            Some(mask) if self.has_mask() => number(mask),
            _ => u128::MAX >> (128 - 8 * width),
        };
        Some((field, value, mask))
    }

    /// Appends the encoded field. This cannot fail, since raw fields are checked when they are
    /// created.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let (class, number) = match (self, self.field()) {
            (Self::Raw(raw), _) => (raw.class, raw.field),
            (_, Some(field)) => (OxmClass::OPENFLOW_BASIC, field.0),
            (_, None) => return,
        };
        put_u16(out, class.0);
        out.push(number << 1 | u8::from(self.has_mask()));
        let length_at = out.len();
        out.push(0);
        self.write_payload(out);
        // A payload has at most 32 bytes here, and at most 255 in raw fields.
        out[length_at] = (out.len() - length_at - 1) as u8;
    }
}

impl Wire for Oxm {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let class = OxmClass(reader.u16("oxm_class")?);
        let field_and_mask = reader.u8("oxm_field")?;
        let (field, has_mask) = (field_and_mask >> 1, field_and_mask & 1 != 0);
        let at_length = *reader;
        let length = usize::from(reader.u8("oxm_length")?);
        let length_error = |min, max| {
            at_length.error("oxm_length", DecodeErrorKind::Length { value: length, min, max })
        };

        let mut payload = reader.sub(length, "oxm_length")?;
        if class == OxmClass::OPENFLOW_BASIC {
            if let Some(width) = OxmField(field).width() {
                let expected = if has_mask { 2 * width } else { width };
                if length != expected {
                    return Err(length_error(expected, expected));
                }
            }
            if let Some(oxm) = Self::read_payload(OxmField(field), has_mask, &mut payload)? {
                return Ok(oxm);
            }
        }
        if class == OxmClass::EXPERIMENTER && length < 4 {
            return Err(length_error(4, 255));
        }
        Ok(Self::Raw(RawOxm { class, field, has_mask, payload: payload.rest().into() }))
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.write(out);
        Ok(())
    }
}

/// A field that this crate preserves without knowing its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawOxm {
    class: OxmClass,
    field: u8,
    has_mask: bool,
    payload: Box<[u8]>,
}

impl RawOxm {
    /// Creates a field of the given class. `payload` consists of the bytes after the field's
    /// four-byte header: the experimenter's id if the class is [`OxmClass::EXPERIMENTER`], the
    /// value, and the mask if `has_mask`.
    ///
    /// # Errors
    ///
    /// Returns an error if `field` exceeds 127 or the payload 255 bytes, if an experimenter's id is
    /// missing, if [`Oxm`] has a variant that can hold the field, or if the length of the payload
    /// contradicts the field.
    pub fn new(
        class: OxmClass,
        field: u8,
        has_mask: bool,
        payload: impl Into<Box<[u8]>>,
    ) -> Result<Self, EncodeError> {
        let payload = payload.into();
        let length = payload.len();
        if field > 0x7f {
            let expected = "at most 127";
            return Err(EncodeError::Value { field: "oxm_field", value: field.into(), expected });
        }
        if length > 0xff {
            return Err(EncodeError::TooLong { field: "oxm_length", length, max: 0xff });
        }
        if class == OxmClass::EXPERIMENTER && length < 4 {
            let expected = "at least the 4 bytes of the experimenter's id";
            return Err(EncodeError::Value { field: "oxm_length", value: length as u64, expected });
        }
        let basic = OxmField(field);
        if class == OxmClass::OPENFLOW_BASIC
            && let Some(width) = basic.width()
        {
            // A basic field may have this form only if it has a mask that its variant cannot
            // contain.
            if !has_mask || basic.is_maskable() || length != 2 * width {
                let expected = "a field without a variant of its own, or its value and mask where \
                                the variant takes no mask";
                let value = field.into();
                return Err(EncodeError::Value { field: "oxm_field", value, expected });
            }
        }
        Ok(Self { class, field, has_mask, payload })
    }

    /// Returns the class of the field, which states who defines the field.
    pub fn class(&self) -> OxmClass {
        self.class
    }

    /// Returns the field's number within its class, which has 7 bits.
    pub fn field(&self) -> u8 {
        self.field
    }

    /// Returns whether the field has a mask besides its value.
    pub fn has_mask(&self) -> bool {
        self.has_mask
    }

    /// Returns the bytes of the field after its header.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns the experimenter's id, if the class is [`OxmClass::EXPERIMENTER`].
    pub fn experimenter(&self) -> Option<u32> {
        let id = self.payload.first_chunk::<4>()?;
        (self.class == OxmClass::EXPERIMENTER).then(|| u32::from_be_bytes(*id))
    }
}

/// The header of a field without its payload, which table features use to list the fields that a
/// table supports (section 7.3.5.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OxmId {
    /// The class, which is `OxmClass::EXPERIMENTER` exactly if `experimenter` is set.
    class: OxmClass,
    field: u8,
    has_mask: bool,
    length: u8,
    experimenter: Option<u32>,
}

impl OxmId {
    /// Returns the id of a field of the specification, with or without mask. It contains the length
    /// that the payload would have (0 for a field that this crate does not know).
    pub fn basic(field: OxmField, has_mask: bool) -> Self {
        let width = field.width().unwrap_or(0) as u8;
        let length = if has_mask { 2 * width } else { width };
        let field = field.0 & 0x7f;
        Self { class: OxmClass::OPENFLOW_BASIC, field, has_mask, length, experimenter: None }
    }

    /// Returns the id of an experimenter's field. `length` is the length of the field's payload.
    pub fn experimenter(experimenter: u32, field: u8, has_mask: bool, length: u8) -> Self {
        let class = OxmClass::EXPERIMENTER;
        Self { class, field: field & 0x7f, has_mask, length, experimenter: Some(experimenter) }
    }

    /// Returns the field, if it is of class `OFPXMC_OPENFLOW_BASIC`.
    pub fn field(self) -> Option<OxmField> {
        (self.class == OxmClass::OPENFLOW_BASIC).then_some(OxmField(self.field))
    }

    /// Returns the class of the field, which states who defines the field.
    pub fn class(self) -> OxmClass {
        self.class
    }

    /// Returns the field's number within its class, which has 7 bits.
    pub fn number(self) -> u8 {
        self.field
    }

    /// Returns whether the table supports a mask for the field.
    pub fn has_mask(self) -> bool {
        self.has_mask
    }

    /// Returns the length in bytes that the payload of the field has, although some switches set it
    /// to 0.
    pub fn length(self) -> u8 {
        self.length
    }
}

impl Wire for OxmId {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let class = OxmClass(reader.u16("oxm_id.oxm_class")?);
        let field_and_mask = reader.u8("oxm_id.oxm_field")?;
        let length = reader.u8("oxm_id.oxm_length")?;
        let experimenter = match class {
            OxmClass::EXPERIMENTER => Some(reader.u32("oxm_id.experimenter")?),
            _ => None,
        };
        let (field, has_mask) = (field_and_mask >> 1, field_and_mask & 1 != 0);
        Ok(Self { class, field, has_mask, length, experimenter })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u16(out, self.class.0);
        out.push(self.field << 1 | u8::from(self.has_mask));
        out.push(self.length);
        if let Some(experimenter) = self.experimenter {
            put_u32(out, experimenter);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Oxm, DecodeError> {
        let mut reader = Reader::new(bytes);
        let oxm = Oxm::decode(&mut reader)?;
        reader.finish("test").map(|()| oxm)
    }

    fn encode(oxm: &Oxm) -> Vec<u8> {
        let mut out = Vec::new();
        oxm.write(&mut out);
        out
    }

    #[test]
    fn a_masked_field_reads_value_then_mask() {
        let bytes = [0x80, 0, 0x19, 8, 10, 1, 0, 0, 0xff, 0xff, 0, 0];
        let oxm = decode(&bytes).unwrap();
        let mask = Ipv4Addr::new(255, 255, 0, 0);
        assert_eq!(oxm, Oxm::Ipv4Dst((Ipv4Addr::new(10, 1, 0, 0), mask).into()));
        assert_eq!(encode(&oxm), bytes);
    }

    #[test]
    fn a_wrong_length_is_an_error_that_says_where() {
        let error = decode(&[0x80, 0, 0x0a, 3, 8, 0, 0]).unwrap_err();
        assert_eq!((error.offset, error.field), (3, "oxm_length"));
        assert_eq!(error.kind, DecodeErrorKind::Length { value: 3, min: 2, max: 2 });
        let error = decode(&[0x80, 0, 0x0a, 9, 8, 0]).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::Truncated { needed: 9, available: 2 });
        assert!(decode(&[0xff, 0xff, 0, 3, 1, 2, 3]).is_err());
    }

    #[test]
    fn what_is_not_known_is_kept() {
        // Nicira's conjunction id; an experimenter's field; a mask on tcp_src, as Open vSwitch
        // allows.
        for bytes in [
            &[0, 1, 0x4a, 4, 0, 0xab, 0xcd, 0xef][..],
            &[0xff, 0xff, 0, 7, 0x4f, 0x4e, 0x46, 0, 0x0a, 0, 1],
            &[0x80, 0, 0x1b, 4, 0x12, 0x34, 0xff, 0],
            &[0x80, 0, 0x56, 1, 9],
        ] {
            let oxm = decode(bytes).unwrap();
            let Oxm::Raw(raw) = &oxm else { panic!("{oxm:?} should be raw") };
            let again = RawOxm::new(raw.class(), raw.field(), raw.has_mask(), raw.payload());
            assert_eq!(again.as_ref(), Ok(raw));
            assert_eq!(encode(&oxm), bytes);
        }
        let raw = decode(&[0xff, 0xff, 0, 4, 0x4f, 0x4e, 0x46, 0]).unwrap();
        assert!(matches!(raw, Oxm::Raw(raw) if raw.experimenter() == Some(0x4f4e_4600)));
    }

    #[test]
    fn a_raw_field_cannot_pose_as_a_known_one() {
        let basic = OxmClass::OPENFLOW_BASIC;
        assert!(RawOxm::new(basic, 0, false, [0; 4]).is_err());
        assert!(RawOxm::new(basic, 3, true, [0; 12]).is_err());
        assert!(RawOxm::new(basic, 13, true, [0; 3]).is_err());
        assert!(RawOxm::new(OxmClass::NXM_1, 128, false, []).is_err());
        assert!(RawOxm::new(OxmClass::NXM_1, 1, false, [0; 256]).is_err());
        assert!(RawOxm::new(OxmClass::EXPERIMENTER, 1, false, [0; 3]).is_err());
    }

    #[test]
    fn field_numbers_widths_and_masks_follow_the_specification() {
        assert_eq!(OxmField::ALL.len(), 40);
        for (number, field) in OxmField::ALL.iter().enumerate() {
            assert_eq!(usize::from(field.0), number);
        }
        assert_eq!(OxmField::PBB_ISID.width(), Some(3));
        assert_eq!(OxmField::IPV6_ND_TARGET.width(), Some(16));
        assert_eq!(OxmField::IPV6_EXTHDR.width(), Some(2));
        assert_eq!(OxmField(40).width(), None);
        let maskable: Vec<u8> =
            OxmField::ALL.iter().filter(|field| field.is_maskable()).map(|field| field.0).collect();
        assert_eq!(maskable, [2, 3, 4, 6, 11, 12, 22, 23, 24, 25, 26, 27, 28, 37, 38, 39]);
    }

    #[test]
    fn normal_form_drops_what_the_mask_does_not_look_at() {
        let address = |last| Ipv4Addr::new(10, 0, 0, last);
        let prefix = Ipv4Addr::new(255, 255, 255, 0);
        let masked = Oxm::Ipv4Src((address(7), prefix).into());
        assert_eq!(masked.normalized(), Some(Oxm::Ipv4Src((address(0), prefix).into())));
        let full = Oxm::Ipv4Src((address(7), Ipv4Addr::BROADCAST).into());
        assert_eq!(full.normalized(), Some(Oxm::Ipv4Src(address(7).into())));
        let empty = Oxm::Ipv4Src((address(7), Ipv4Addr::UNSPECIFIED).into());
        assert_eq!(empty.normalized(), None);
    }

    #[test]
    fn conditions_are_numbers() {
        let net = Ipv4Addr::new(255, 0, 0, 0);
        let prefix = Oxm::Ipv4Dst((Ipv4Addr::new(10, 1, 2, 3), net).into());
        assert_eq!(prefix.condition(), Some((OxmField::IPV4_DST, 0x0a00_0000, 0xff00_0000)));
        let whole = Oxm::Ipv6Src(std::net::Ipv6Addr::LOCALHOST.into());
        assert_eq!(whole.condition(), Some((OxmField::IPV6_SRC, 1, u128::MAX)));
        // A mask on tcp_src, as Open vSwitch allows.
        let masked = decode(&[0x80, 0, 0x1b, 4, 0x12, 0x34, 0xff, 0]).unwrap();
        assert_eq!(masked.condition(), Some((OxmField::TCP_SRC, 0x1200, 0xff00)));
        let nicira = decode(&[0, 1, 0x4a, 4, 0, 0xab, 0xcd, 0xef]).unwrap();
        assert_eq!(nicira.condition(), None);
    }

    #[test]
    fn oxm_ids_carry_the_experimenter() {
        for bytes in [&[0x80, 0, 7, 12][..], &[0x80, 0, 6, 0], &[0xff, 0xff, 2, 6, 1, 2, 3, 4]] {
            let mut reader = Reader::new(bytes);
            let id = OxmId::decode(&mut reader).unwrap();
            assert!(reader.is_empty());
            let mut out = Vec::new();
            id.encode(&mut out).unwrap();
            assert_eq!(out, bytes);
        }
        let mut out = Vec::new();
        OxmId::basic(OxmField::ETH_DST, true).encode(&mut out).unwrap();
        assert_eq!(out, [0x80, 0, 7, 12]);
    }
}
