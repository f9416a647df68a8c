//! The identifiers that both versions of the protocol share.
//!
//! Each is a newtype over the wire value, so that a transaction id cannot be passed in place of a
//! buffer id.

use std::fmt;
use std::str::FromStr;

/// A version of the protocol that this crate speaks.
///
/// Versions are ordered by age, so that negotiation uses `min` and `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// OpenFlow 1.0, wire version 0x01.
    V1_0,
    /// OpenFlow 1.3, wire version 0x04.
    V1_3,
}

impl Version {
    /// Returns the value of `ofp_header.version`.
    pub const fn wire(self) -> u8 {
        match self {
            Self::V1_0 => 0x01,
            Self::V1_3 => 0x04,
        }
    }

    /// Returns the version for a value of `ofp_header.version`, or `None` if this crate does not
    /// speak it.
    pub const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            0x01 => Some(Self::V1_0),
            0x04 => Some(Self::V1_3),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1_0 => "1.0",
            Self::V1_3 => "1.3",
        })
    }
}

impl FromStr for Version {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        match text {
            "1.0" => Ok(Self::V1_0),
            "1.3" => Ok(Self::V1_3),
            _ => Err(ParseIdError::new(text, "1.0 or 1.3")),
        }
    }
}

/// A transaction id (`ofp_header.xid`). A reply carries the id of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid(pub u32);

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// The id of a buffer in which the switch keeps a packet (`buffer_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

impl BufferId {
    /// The id in a message about a packet that the switch has not buffered (`OFP_NO_BUFFER`). Such
    /// a message contains the whole packet.
    pub const NO_BUFFER: Self = Self(0xffff_ffff);

    /// Returns whether this is the id of a buffer and not `NO_BUFFER`.
    pub const fn is_buffered(self) -> bool {
        self.0 != Self::NO_BUFFER.0
    }
}

impl Default for BufferId {
    fn default() -> Self {
        Self::NO_BUFFER
    }
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_buffered() { write!(f, "{:#x}", self.0) } else { f.write_str("none") }
    }
}

/// The id of a datapath, which is the OpenFlow term for a switch. The lower 48 bits are a MAC
/// address of the switch, and the implementer chooses the upper 16 bits.
///
/// The id is displayed as 16 hexadecimal digits. A text is parsed by the first of these rules that
/// applies:
///
/// 1. After the prefix `of:`, which ONOS writes: eight groups of two hexadecimal digits with colons
///    between them, or up to 16 hexadecimal digits.
/// 2. With colons: eight groups of two hexadecimal digits.
/// 3. With `0x`: hexadecimal, up to 16 digits.
/// 4. Exactly 16 digits: hexadecimal, as written by `Display`.
/// 5. Anything else: decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatapathId(pub u64);

impl fmt::Display for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for DatapathId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parsed = if let Some(digits) = text.strip_prefix("of:") {
            if digits.contains(':') {
                parse_groups(digits).map(u64::from_be_bytes)
            } else {
                hex(digits)
            }
        } else if text.contains(':') {
            parse_groups(text).map(u64::from_be_bytes)
        } else if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            hex(digits)
        } else if text.len() == 16 {
            hex(text)
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok()
        } else {
            None
        };
        parsed.map(Self).ok_or_else(|| {
            ParseIdError::new(
                text,
                "16 hexadecimal digits, 0x and hexadecimal digits, eight groups of two \
                 hexadecimal digits with colons between, or a decimal number below 2^64",
            )
        })
    }
}

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address ff:ff:ff:ff:ff:ff.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns the address that consists of the lower 48 bits of `bits`.
    pub const fn from_bits(bits: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// Returns the address as the lower 48 bits of a number.
    pub const fn to_bits(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// Returns whether the group bit of the address is set, as in multicast and broadcast
    /// addresses.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddress {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        parse_groups(text).map(Self).ok_or_else(|| {
            ParseIdError::new(text, "six groups of two hexadecimal digits with colons between")
        })
    }
}

/// The reason why a text could not be parsed as an identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not understood: expected {expected}")]
pub struct ParseIdError {
    text: String,
    expected: &'static str,
}

impl ParseIdError {
    fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }
}

/// Parses hexadecimal digits. Rejects a leading sign, which `from_str_radix` would accept.
fn hex(digits: &str) -> Option<u64> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if all_digits { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// Parses exactly `N` groups of exactly two hexadecimal digits with colons between them.
fn parse_groups<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut groups = text.split(':');
    for byte in &mut bytes {
        let group = groups.next().filter(|group| group.len() == 2)?;
        *byte = u8::try_from(hex(group)?).ok()?;
    }
    groups.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datapath_ids_are_read_by_the_documented_rules() {
        for (text, value) in [
            ("00000000000000ff", 0xff),
            ("0000000000000010", 0x10),
            ("00:00:00:00:00:00:00:1f", 0x1f),
            ("of:00000000000000a1", 0xa1),
            ("of:00:00:00:00:00:00:00:1f", 0x1f),
            ("0x1f", 0x1f),
            ("10", 10),
            ("18446744073709551615", u64::MAX),
            ("0xffffffffffffffff", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(DatapathId(value)), "{text}");
        }
        for text in
            ["", "1f", "0x", "of:", "-1", "+1", "+000000000000001", "0:1", "18446744073709551616"]
        {
            assert!(text.parse::<DatapathId>().is_err(), "{text}");
        }
    }

    #[test]
    fn display_is_read_back() {
        let id = DatapathId(0x1234_5678_9abc_def0);
        assert_eq!(id.to_string().parse(), Ok(id));
        let mac = MacAddress([0, 1, 0xab, 0xcd, 0xef, 0xff]);
        assert_eq!(mac.to_string(), "00:01:ab:cd:ef:ff");
        assert_eq!(mac.to_string().parse(), Ok(mac));
        assert_eq!(MacAddress::from_bits(mac.to_bits()), mac);
        for version in [Version::V1_0, Version::V1_3] {
            assert_eq!(version.to_string().parse(), Ok(version));
            assert_eq!(Version::from_wire(version.wire()), Some(version));
        }
    }

    #[test]
    fn malformed_mac_addresses_are_refused() {
        for text in
            ["", "00:01:02:03:04", "00:01:02:03:04:05:06", "0:1:2:3:4:5", "00-01-02-03-04-05"]
        {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }
}
