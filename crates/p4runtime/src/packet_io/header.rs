//! The controller header in its binary form, as programs emit and parse it in front of packets.
//!
//! A program that sends a packet to the CPU port puts the header `packet_in` in front of it, and
//! packets from the CPU port start with the header `packet_out`. The fields follow each other in
//! the order of P4Info, most significant bit first (specification of P4Runtime 1.5, "Packet I/O";
//! P4_16, "packet_out").

use bytes::Bytes;
use entities::Translations;

use super::{ByteString, Field, Kind, PacketInLayout, PacketOutLayout, bytes_for};
use crate::proto::v1;

impl PacketInLayout {
    /// Removes the controller header from a packet that a program sent to the controller. Returns
    /// the header's fields and the rest of the packet. `translations` provides the strings that
    /// stand for numbers. Without it, a number is represented by its decimal digits.
    ///
    /// # Errors
    ///
    /// Returns an error if the packet is shorter than the header, or if controllers use strings for
    /// a field and the number in the field has no string.
    pub fn split(
        &self,
        mut packet: Bytes,
        translations: Option<&Translations>,
    ) -> Result<(Vec<v1::PacketMetadata>, Bytes), SplitError> {
        let bits = header_bits(&self.0.fields);
        let length = bits.div_ceil(8);
        if packet.len() < length {
            return Err(SplitError::Short);
        }
        let header = packet.split_to(length);
        let mut from = 0;
        let read = |field: &Field| {
            let value = extract(&header, from, field.header_bits as usize);
            from += field.header_bits as usize;
            let value = match (field.kind, translations) {
                (Kind::Text, Some(translations)) => field.text_of(&value, translations)?,
                (Kind::Text, None) | (Kind::Bits(_), _) => {
                    field.as_controller_sees(value, self.0.form)
                }
            };
            Ok(v1::PacketMetadata { metadata_id: field.id, value })
        };
        Ok((self.0.fields.iter().map(read).collect::<Result<_, SplitError>>()?, packet))
    }
}

impl PacketOutLayout {
    /// Returns the bytes of the header for a packet-out whose metadata was checked. Omitted fields
    /// are zero. `translations` provides the numbers that strings stand for. Without it, strings
    /// must be decimal digits. Returns `None` if a string has no number, because it has lost it
    /// since the check.
    #[must_use]
    pub fn header(
        &self,
        metadata: &[v1::PacketMetadata],
        translations: Option<&Translations>,
    ) -> Option<Vec<u8>> {
        let mut header = vec![0; header_bits(self.fields()).div_ceil(8)];
        let mut from = 0;
        for field in self.fields() {
            if let Some(one) = metadata.iter().find(|one| one.metadata_id == field.id) {
                let value = match (field.kind, translations) {
                    (Kind::Text, Some(translations)) => {
                        let number = translations.number(field.translated?, &one.value)?;
                        number.to_be_bytes().to_vec().into()
                    }
                    (Kind::Text, None) | (Kind::Bits(_), _) => field.as_header_has(&one.value),
                };
                insert(&mut header, from, field.header_bits as usize, &value);
            }
            from += field.header_bits as usize;
        }
        Some(header)
    }
}

/// The reason why a packet that a program sent to the controller cannot become a packet-in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The packet is shorter than the header of packet-ins.
    #[error("the packet is shorter than the header packet_in")]
    Short,
    /// Controllers use strings for a field, and the number in the field has no string.
    #[error("field '{field}' of packet_in: {reason}")]
    NoText {
        /// The name of the field.
        field: String,
        /// The description of the number.
        reason: String,
    },
}

impl Field {
    /// Returns the string that stands for the number in a field of the header.
    fn text_of(&self, value: &[u8], translations: &Translations) -> Result<Bytes, SplitError> {
        let number = value.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
        let no_text = |reason: String| SplitError::NoText { field: self.name.clone(), reason };
        let of = self.translated.ok_or_else(|| no_text("its type has no name".to_owned()))?;
        let text = translations.text(of, number);
        let text = text.ok_or_else(|| no_text(translations.unnamed(of, number).to_string()))?;
        Ok(Bytes::copy_from_slice(&text))
    }

    /// Converts a value in the header to the form that controllers see.
    fn as_controller_sees(&self, value: Vec<u8>, form: ByteString) -> Bytes {
        let significant = value.iter().position(|byte| *byte != 0);
        let canonical = significant.unwrap_or(value.len().saturating_sub(1));
        match (self.kind, form) {
            // Without a translation table, a number is represented by its decimal digits.
            (Kind::Text, _) => {
                let number = value.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
                Bytes::from(number.to_string())
            }
            (Kind::Bits(_), ByteString::Canonical) => Bytes::from(value).slice(canonical..),
            (Kind::Bits(bits), ByteString::FullWidth) => {
                let missing = bytes_for(bits).saturating_sub(value.len());
                Bytes::from([vec![0; missing], value].concat())
            }
        }
    }

    /// Converts a controller's value to its bytes in the header.
    fn as_header_has<'v>(&self, value: &'v [u8]) -> std::borrow::Cow<'v, [u8]> {
        match self.kind {
            Kind::Bits(_) => value.into(),
            Kind::Text => {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                number.unwrap_or(0_u128).to_be_bytes().to_vec().into()
            }
        }
    }
}

fn header_bits(fields: &[Field]) -> usize {
    fields.iter().map(|field| field.header_bits as usize).sum()
}

/// Returns `width` bits of a header, starting with bit `from`, in the smallest number of bytes.
fn extract(header: &[u8], from: usize, width: usize) -> Vec<u8> {
    let mut value = vec![0; width.div_ceil(8).max(1)];
    for bit in 0..width {
        let position = from + width - 1 - bit;
        let set = header.get(position / 8).is_some_and(|byte| byte >> (7 - position % 8) & 1 == 1);
        let at = value.len() - 1 - bit / 8;
        if let Some(byte) = value.get_mut(at) {
            *byte |= u8::from(set) << (bit % 8);
        }
    }
    value
}

/// Writes the low `width` bits of a value into a header at bit `from`.
fn insert(header: &mut [u8], from: usize, width: usize, value: &[u8]) {
    for bit in 0..width.min(value.len() * 8) {
        let position = from + width - 1 - bit;
        let set =
            value.get(value.len() - 1 - bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        if let Some(byte) = header.get_mut(position / 8) {
            *byte |= u8::from(set) << (7 - position % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_io::MissingMetadata;
    use crate::proto::config;

    fn p4info(header: &str, fields: &[(u32, &str, i32)]) -> config::P4Info {
        let metadata = fields.iter().map(|(id, name, bitwidth)| {
            config::controller_packet_metadata::Metadata {
                id: *id,
                name: (*name).to_owned(),
                bitwidth: *bitwidth,
                ..Default::default()
            }
        });
        let header = config::ControllerPacketMetadata {
            preamble: Some(config::Preamble { name: header.to_owned(), ..Default::default() }),
            metadata: metadata.collect(),
        };
        config::P4Info { controller_packet_metadata: vec![header], ..Default::default() }
    }

    fn metadata(id: u32, value: &'static [u8]) -> v1::PacketMetadata {
        v1::PacketMetadata { metadata_id: id, value: Bytes::from_static(value) }
    }

    #[test]
    fn fields_of_odd_widths_follow_one_another() {
        let fields = [(1, "ingress_port", 9), (2, "_pad", 7), (3, "reason", 16)];
        let info = p4info("packet_in", &fields);
        let packet = Bytes::from_static(&[0x81, 0x85, 0x00, 0x2a, 0xee]);
        let layout = PacketInLayout::from_p4info(&info, ByteString::Canonical).expect("a header");
        let (found, payload) = layout.split(packet.clone(), None).expect("it is long enough");
        // 0x8185 is port 0b100000011 and padding 0b0000101.
        assert_eq!(found, [metadata(1, &[1, 3]), metadata(2, &[5]), metadata(3, &[0x2a])]);
        assert_eq!(payload, [0xee][..]);
        let full = PacketInLayout::from_p4info(&info, ByteString::FullWidth).expect("a header");
        let (found, _) = full.split(packet, None).expect("it is long enough");
        assert_eq!(found, [metadata(1, &[1, 3]), metadata(2, &[5]), metadata(3, &[0, 0x2a])]);
        assert_eq!(layout.split(Bytes::from_static(&[0; 3]), None), Err(SplitError::Short));
    }

    #[test]
    fn a_packet_out_gets_the_header_that_a_packet_in_has() {
        let fields = [(1, "egress_port", 9), (2, "_pad", 7), (3, "wide", 48)];
        let layout =
            PacketOutLayout::from_p4info(&p4info("packet_out", &fields), ByteString::Canonical)
                .expect("a header");
        let given = [metadata(3, &[1, 0, 0, 0, 0, 2]), metadata(1, &[1, 0xff])];
        layout.check(&given, MissingMetadata::AcceptPadding).expect("it is right");
        assert_eq!(layout.header(&given, None), Some(vec![0xff, 0x80, 1, 0, 0, 0, 0, 2]));
        assert_eq!(layout.header(&[], None), Some(vec![0; 8]));
    }
}
