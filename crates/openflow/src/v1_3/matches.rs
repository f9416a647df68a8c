//! The match of a flow entry: `ofp_match` (specification 1.3.5, section 7.2.3).
//!
//! A match is a list of fields and keeps their order, so that it encodes to the bytes from which it
//! was decoded. Order, bits outside a mask and full masks do not change the meaning of a match.
//! [`MatchKey`] is a canonical form in which matches with equal meaning are equal. It identifies
//! flow entries.

use super::codec::{Wire, begin, body, decode_list, end_then_pad, padding};
use super::oxm::Oxm;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

/// The type of a match that consists of OXM fields (`OFPMT_OXM`), which is the only one in this
/// version that is not deprecated.
const OXM: u16 = 1;

/// A match: conditions on a packet, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Match {
    /// The conditions, in the order in which they are sent.
    pub fields: Vec<Oxm>,
}

impl Match {
    /// Returns the match without conditions, which every packet satisfies.
    pub const fn any() -> Self {
        Self { fields: Vec::new() }
    }

    /// Adds a condition. If there already is one on the field, it is replaced.
    #[must_use]
    pub fn with(mut self, condition: Oxm) -> Self {
        let same = |field: &&mut Oxm| match (&**field, &condition) {
            (Oxm::Raw(mine), Oxm::Raw(new)) => {
                (mine.class(), mine.field(), mine.experimenter())
                    == (new.class(), new.field(), new.experimenter())
            }
            (mine, new) => mine.field() == new.field(),
        };
        match self.fields.iter_mut().find(same) {
            Some(field) => *field = condition,
            None => self.fields.push(condition),
        }
        self
    }

    /// Returns the canonical form of the match, which is equal for all matches with the same
    /// meaning.
    pub fn key(&self) -> MatchKey {
        let mut bytes = Vec::new();
        let mut fields = Vec::with_capacity(self.fields.len());
        for field in self.fields.iter().filter_map(Oxm::normalized) {
            let start = bytes.len();
            field.write(&mut bytes);
            fields.push(start..bytes.len());
        }
        // Sorting by bytes makes conditions on one field adjacent, and thereby also equal
        // conditions.
        let mut fields: Vec<&[u8]> = fields.into_iter().map(|range| &bytes[range]).collect();
        fields.sort_unstable();
        fields.dedup();
        MatchKey(fields.concat().into())
    }

    /// Returns whether every packet that satisfies `other` also satisfies this match. Non-strict
    /// flow-mods and flow statistics select entries in this way (section 6.4).
    ///
    /// A field that this crate does not know covers only an identical field, compared by bytes.
    pub fn covers(&self, other: &Self) -> bool {
        let mut conditions = self.fields.iter().filter_map(Oxm::normalized);
        conditions.all(|condition| other.fields.iter().any(|field| condition.covers(field)))
    }
}

impl FromIterator<Oxm> for Match {
    fn from_iter<I: IntoIterator<Item = Oxm>>(fields: I) -> Self {
        Self { fields: fields.into_iter().collect() }
    }
}

impl Wire for Match {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_type = *reader;
        let kind = reader.u16("ofp_match.type")?;
        if kind != OXM {
            let expected = "OFPMT_OXM (1)";
            let kind = DecodeErrorKind::Value { value: kind.into(), expected };
            return Err(at_type.error("ofp_match.type", kind));
        }
        let mut fields = body(reader, 4, 4, "ofp_match.length")?;
        let length = fields.remaining() + 4;
        let fields = decode_list(&mut fields)?;
        reader.skip(padding(length), "ofp_match.pad")?;
        Ok(Self { fields })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = begin(out, OXM);
        for field in &self.fields {
            field.write(out);
        }
        end_then_pad(out, start, "ofp_match.length")
    }
}

/// The canonical form of a match, which can be compared, ordered and hashed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatchKey(Box<[u8]>);

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::super::oxm::{OxmClass, RawOxm};
    use super::*;
    use crate::MacAddress;
    use crate::PortNumber;

    fn encode(value: &Match) -> Vec<u8> {
        let mut out = Vec::new();
        value.encode(&mut out).unwrap();
        out
    }

    #[test]
    fn an_empty_match_is_eight_bytes() {
        assert_eq!(encode(&Match::any()), [0, 1, 0, 4, 0, 0, 0, 0]);
    }

    #[test]
    fn padding_is_not_counted() {
        let value = Match::any().with_in_port(PortNumber(3)).with_eth_type(0x0800);
        let bytes = encode(&value);
        assert_eq!(
            bytes,
            [0, 1, 0, 18, 0x80, 0, 0, 4, 0, 0, 0, 3, 0x80, 0, 0x0a, 2, 8, 0, 0, 0, 0, 0, 0, 0]
        );
        let mut reader = Reader::new(&bytes);
        assert_eq!(Match::decode(&mut reader), Ok(value));
        assert!(reader.is_empty());
        let error = Match::decode(&mut Reader::new(&bytes[..20])).unwrap_err();
        assert_eq!((error.offset, error.field), (18, "ofp_match.pad"));
    }

    #[test]
    fn the_deprecated_kind_is_refused() {
        let error = Match::decode(&mut Reader::new(&[0, 0, 0, 4, 0, 0, 0, 0])).unwrap_err();
        assert_eq!((error.offset, error.field), (0, "ofp_match.type"));
    }

    #[test]
    fn setting_a_field_twice_replaces_it() {
        let raw = |value: u8| Oxm::Raw(RawOxm::new(OxmClass::NXM_1, 0, false, [value; 4]).unwrap());
        let value =
            Match::any().with_in_port(PortNumber(1)).with(raw(1)).with_in_port(PortNumber(2));
        let value = value.with(raw(2));
        assert_eq!(value.fields, [Oxm::InPort(PortNumber(2)), raw(2)]);
        assert_eq!(value.in_port(), Some(PortNumber(2)));
        assert_eq!(value.eth_dst(), None);
    }

    #[test]
    fn the_key_ignores_order_and_unused_bits() {
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let net = Ipv4Addr::new(255, 0, 0, 0);
        let a = Match::any()
            .with_eth_dst((mac, MacAddress::BROADCAST))
            .with_ipv4_src((Ipv4Addr::new(10, 1, 2, 3), net))
            .with_metadata((7, 0));
        let b = Match::any().with_ipv4_src((Ipv4Addr::new(10, 0, 0, 0), net)).with_eth_dst(mac);
        assert_ne!(a, b);
        assert_eq!(a.key(), b.key());
        assert_ne!(a.key(), b.clone().with_in_port(PortNumber(1)).key());
        assert_ne!(a.key(), Match::any().key());
    }

    #[test]
    fn a_match_covers_what_is_more_specific() {
        let net = Ipv4Addr::new(255, 0, 0, 0);
        let wide = Match::any().with_ipv4_src((Ipv4Addr::new(10, 0, 0, 0), net));
        let narrow =
            Match::any().with_in_port(PortNumber(1)).with_ipv4_src(Ipv4Addr::new(10, 1, 2, 3));
        assert!(wide.covers(&narrow) && !narrow.covers(&wide));
        assert!(Match::any().covers(&wide) && wide.covers(&wide));
        assert!(!wide.covers(&Match::any().with_ipv4_src(Ipv4Addr::new(11, 1, 2, 3))));
        assert!(!wide.covers(&Match::any().with_ipv4_dst(Ipv4Addr::new(10, 1, 2, 3))));
    }
}
