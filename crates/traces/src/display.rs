//! The notation in which the values of keys and parameters are written, as the annotation `@format`
//! of P4Runtime requests it (P4Runtime specification, section 18.3).

use ir::bits::Bits;
use ir::{Annotation, AnnotationBody};
use pipeline::FieldMatch;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The notation in which a number is written, such as hexadecimal or an IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Hexadecimal,
    Ipv4,
    Ipv6,
    Mac,
}

impl Form {
    /// Returns the notation that the annotations of a key or parameter request.
    pub(crate) fn of(annotations: &[Annotation]) -> Self {
        let mut formats = annotations.iter().filter(|annotation| annotation.name == "format");
        let Some(AnnotationBody::Tokens(tokens)) = formats.next().map(|format| &format.body) else {
            return Self::Hexadecimal;
        };
        match tokens.first().map(String::as_str) {
            Some("IPV4_ADDRESS") => Self::Ipv4,
            Some("IPV6_ADDRESS") => Self::Ipv6,
            Some("MAC_ADDRESS") => Self::Mac,
            _ => Self::Hexadecimal,
        }
    }

    /// Formats a number in this notation. If its width is not that of the requested kind of
    /// address, it is formatted in hexadecimal.
    pub(crate) fn write(self, bits: &Bits) -> String {
        if self == Self::Hexadecimal {
            return format!("{bits:#x}");
        }
        let Some(number) = bits.to_u128() else { return format!("{bits:#x}") };
        let address = u32::try_from(number);
        match (self, bits.width(), address) {
            (Self::Ipv4, 32, Ok(address)) => Ipv4Addr::from(address).to_string(),
            (Self::Ipv6, 128, _) => Ipv6Addr::from(number).to_string(),
            (Self::Mac, 48, _) => {
                let [.., a, b, c, d, e, f] = number.to_be_bytes();
                format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
            }
            _ => format!("{bits:#x}"),
        }
    }

    /// Formats the match of a table entry for a key in this notation.
    pub(crate) fn write_match(self, found: &FieldMatch) -> String {
        match found {
            FieldMatch::Exact(value) => self.write(value),
            FieldMatch::Lpm { value, prefix_length } => {
                format!("{}/{prefix_length}", self.write(value))
            }
            FieldMatch::Ternary { value, mask } => {
                match *mask == Bits::ones(mask.width(), mask.is_signed()) {
                    true => self.write(value),
                    false => format!("{}&&&{}", self.write(value), self.write(mask)),
                }
            }
            FieldMatch::Range { low, high } => {
                format!("{}..{}", self.write(low), self.write(high))
            }
            FieldMatch::Any => "*".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_form_that_is_requested() {
        let annotation = |format: &str| Annotation {
            name: "format".to_owned(),
            body: AnnotationBody::Tokens(vec![format.to_owned()]),
        };
        let written = |format: &str, width: u32, number: u128| {
            Form::of(&[annotation(format)]).write(&Bits::unsigned(width, number))
        };
        assert_eq!(written("IPV4_ADDRESS", 32, 0x0a00_0207), "10.0.2.7");
        assert_eq!(written("MAC_ADDRESS", 48, 0x0200_0000_00ff), "02:00:00:00:00:ff");
        assert_eq!(written("IPV6_ADDRESS", 128, 0x2001_0db8 << 96 | 1), "2001:db8::1");
        assert_eq!(written("IPV6_ADDRESS", 64, 0x2001), "0x2001", "half an address");
        assert_eq!(written("HEX_STRING", 16, 0x800), "0x800");
        assert_eq!(Form::of(&[]).write(&Bits::unsigned(9, 12)), "0xc");
    }

    #[test]
    fn matches_have_the_form_of_their_key() {
        let bits = |number| Bits::unsigned(32, number);
        let ternary = |mask| FieldMatch::Ternary { value: bits(0x0a00_0000), mask: bits(mask) };
        let lpm = FieldMatch::Lpm { value: bits(0x0a00_0000), prefix_length: 8 };
        assert_eq!(Form::Ipv4.write_match(&lpm), "10.0.0.0/8");
        assert_eq!(Form::Ipv4.write_match(&ternary(0xff00_0000)), "10.0.0.0&&&255.0.0.0");
        assert_eq!(Form::Ipv4.write_match(&ternary(0xffff_ffff)), "10.0.0.0");
        let range = FieldMatch::Range { low: bits(1), high: bits(9) };
        assert_eq!(Form::Hexadecimal.write_match(&range), "0x1..0x9");
    }
}
