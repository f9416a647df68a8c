//! Values as people write them: numbers in several bases, and addresses.
//!
//! Scripts, configuration files and command lines parse values by these rules, so that a value has
//! the same meaning everywhere. All functions return big-endian bytes.

use std::net::IpAddr;

/// The largest number of characters in the text of a number. It is limited because the time to
/// convert a decimal number grows with the square of its length.
const LONGEST_NUMBER: usize = 4096;

/// Returns the bytes of an IPv4 address (`10.0.0.1`), an IPv6 address (`2001:db8::1`) or an
/// Ethernet address (`00:1b:0:0:0:a`). Returns `None` for other texts.
#[must_use]
pub fn address(text: &str) -> Option<Vec<u8>> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Some(address.octets().to_vec()),
        Ok(IpAddr::V6(address)) => Some(address.octets().to_vec()),
        Err(_) => ethernet(text),
    }
}

fn ethernet(text: &str) -> Option<Vec<u8>> {
    let byte = |digits: &str| {
        let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)
    };
    let bytes = text.split(':').map(byte).collect::<Option<Vec<u8>>>()?;
    (bytes.len() == 6).then_some(bytes)
}

/// Returns the value of a number such as `42`, `0x2a`, `0b101` or `0o17` in the fewest bytes.
/// Underscores are ignored. Zero is one byte. Returns `None` for other texts.
#[must_use]
pub fn number(text: &str) -> Option<Vec<u8>> {
    let (radix, digits) = match text.get(..2) {
        Some("0x" | "0X") => (16, text.get(2..)?),
        Some("0b" | "0B") => (2, text.get(2..)?),
        Some("0o" | "0O") => (8, text.get(2..)?),
        _ => (10, text),
    };
    let is_number = digits.starts_with(|first: char| first.is_digit(radix));
    if !is_number || digits.len() > LONGEST_NUMBER {
        return None;
    }
    // The bytes of the number, the least significant first.
    let mut bytes: Vec<u8> = vec![0];
    for digit in digits.chars().filter(|digit| *digit != '_') {
        let mut carry = digit.to_digit(radix)?;
        for byte in &mut bytes {
            let [.., high, low] = (u32::from(*byte) * radix + carry).to_be_bytes();
            (*byte, carry) = (low, u32::from(high));
        }
        if carry > 0 {
            bytes.extend(carry.to_le_bytes().first());
        }
    }
    bytes.reverse();
    Some(bytes)
}

/// Returns the bytes of an address or a number, or `None` for other texts.
#[must_use]
pub fn value(text: &str) -> Option<Vec<u8>> {
    number(text).or_else(|| address(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_have_three_forms() {
        assert_eq!(address("10.0.0.1"), Some(vec![10, 0, 0, 1]));
        assert_eq!(address("00:1b:0:0:0:a"), Some(vec![0, 0x1b, 0, 0, 0, 10]));
        assert_eq!(address("2001:db8::1").map(|bytes| (bytes.len(), bytes[3])), Some((16, 0xb8)));
        for text in ["10.0.0", "10.0.0.256", "1:2:3", "00:1b:00:00:00:0g", "+1:2:3:4:5:6", ""] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_have_four_bases_and_any_width() {
        for text in ["42", "0x2a", "0X2A", "0b10_1010", "0o52", "0042"] {
            assert_eq!(number(text), Some(vec![42]), "{text}");
        }
        assert_eq!(number("0"), Some(vec![0]));
        assert_eq!(
            number("0x0123456789abcdef0123456789abcdef01").map(|bytes| bytes.len()),
            Some(17)
        );
        for text in ["", "0x", "2a", "0b2", "1*", "é", "-1", "_1", "0x_1", "1.5"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number(&"9".repeat(LONGEST_NUMBER + 1)), None);
    }

    proptest! {
        #[test]
        fn numbers_agree_with_the_standard_library(value: u128) {
            let encoded = crate::value::encode(value);
            for text in [value.to_string(), format!("{value:#x}"), format!("{value:#b}"), format!("{value:#o}")] {
                prop_assert_eq!(number(&text), Some(encoded.to_vec()), "{}", text);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-fx_:.*]{0,40}") {
            let _ = value(&text);
        }
    }
}
