//! The form in which a value is shown: as an address, a number or a text.

use crate::value::ValueType;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The form in which the values of a field or parameter are shown. Every form can be parsed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A decimal number.
    Decimal,
    /// A hexadecimal number, such as `0x1f`.
    Hexadecimal,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// An Ethernet address.
    Ethernet,
    /// The string of a translated type.
    Text,
}

/// The words that mark a 32-bit field as an IPv4 address if they occur in its name.
const ADDRESS_WORDS: [&str; 13] = [
    "ip",
    "ipv4",
    "addr",
    "address",
    "src",
    "dst",
    "source",
    "destination",
    "hop",
    "nexthop",
    "gateway",
    "srcaddr",
    "dstaddr",
];

impl Form {
    /// Returns the form in which a value is shown. An annotation `@format` determines it. Without
    /// one, the width and the name of the value suggest it.
    #[must_use]
    pub fn of(kind: ValueType, name: &str, is_prefix: bool, annotations: &[String]) -> Self {
        let Some(bits) = kind.bits() else { return Self::Text };
        let annotated = annotations.iter().find(|text| text.starts_with("@format"));
        let has = |word: &str| annotated.is_some_and(|text| text.contains(word));
        match bits {
            48 if annotated.is_none() || has("MAC") => Self::Ethernet,
            128 if annotated.is_none() || has("IPV6") => Self::Ipv6,
            32 if has("IPV4") => Self::Ipv4,
            32 if annotated.is_none() && (is_prefix || sounds_like_address(name)) => Self::Ipv4,
            _ if has("HEX") || bits > 64 => Self::Hexadecimal,
            _ => Self::Decimal,
        }
    }

    /// Returns the form for a value that is shown with a mask: hexadecimal instead of decimal.
    #[must_use]
    pub fn for_masks(self) -> Self {
        match self {
            Self::Decimal => Self::Hexadecimal,
            Self::Hexadecimal | Self::Ipv4 | Self::Ipv6 | Self::Ethernet | Self::Text => self,
        }
    }

    /// Formats a value of this form as text.
    #[must_use]
    pub fn show(self, bits: Option<u32>, bytes: &[u8]) -> String {
        let padded = || super::wide(bytes, bits.unwrap_or(0));
        match self {
            Self::Text => String::from_utf8_lossy(bytes).into_owned(),
            Self::Ipv4 => match <[u8; 4]>::try_from(padded()) {
                Ok(octets) => Ipv4Addr::from(octets).to_string(),
                Err(_) => hexadecimal(bytes),
            },
            Self::Ipv6 => match <[u8; 16]>::try_from(padded()) {
                Ok(octets) => Ipv6Addr::from(octets).to_string(),
                Err(_) => hexadecimal(bytes),
            },
            Self::Ethernet => {
                let bytes: Vec<String> =
                    padded().iter().map(|byte| format!("{byte:02x}")).collect();
                bytes.join(":")
            }
            Self::Decimal => match crate::value::decode(bytes) {
                Some(number) => number.to_string(),
                None => hexadecimal(bytes),
            },
            Self::Hexadecimal => hexadecimal(bytes),
        }
    }
}

/// Formats bytes as a hexadecimal number.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    let short = digits.trim_start_matches('0');
    format!("0x{}", if short.is_empty() { "0" } else { short })
}

/// Returns whether the last part of a dotted name contains a word for an address.
fn sounds_like_address(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    last.split('_').any(|word| ADDRESS_WORDS.contains(&word))
}
