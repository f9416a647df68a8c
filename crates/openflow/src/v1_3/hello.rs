//! The first message on a connection, which carries the versions that its sender speaks
//! (specification 1.3.5, section 7.5.1).

use super::codec::{Wire, begin, end_then_pad, padding, put_u32, tlv};
use crate::Version;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

/// The type of the HELLO element with a bitmap of versions (`OFPHET_VERSIONBITMAP`).
const VERSION_BITMAP: u16 = 1;

structure! {
    /// A message that opens a connection, `ofp_hello`.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Hello = "ofp_hello" {
        /// The elements that follow the header of the HELLO.
        pub elements: Vec<HelloElement>,
    }
}

impl Hello {
    /// Returns a HELLO with a bitmap of these versions.
    pub fn with_versions(versions: &[Version]) -> Self {
        let bitmap = versions.iter().fold(0, |bits, version| bits | 1 << version.wire());
        Self { elements: vec![HelloElement::VersionBitmap(vec![bitmap])] }
    }

    /// Returns whether the HELLO's bitmap contains this wire version, or `None` if the HELLO has no
    /// bitmap.
    pub fn offers(&self, wire_version: u8) -> Option<bool> {
        self.elements.iter().find_map(|element| match element {
            HelloElement::VersionBitmap(words) => {
                let word = words.get(usize::from(wire_version / 32)).copied().unwrap_or(0);
                Some(word & 1 << (wire_version % 32) != 0)
            }
            HelloElement::Unknown { .. } => None,
        })
    }
}

/// An element of a HELLO (`ofp_hello_elem_header`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HelloElement {
    /// The versions that the sender speaks: bit `v % 32` of word `v / 32` stands for wire version
    /// `v`.
    VersionBitmap(Vec<u32>),
    /// An element of a type that the specification does not define.
    Unknown {
        /// The type of the element.
        kind: u16,
        /// The bytes of the element after its type and length.
        data: Vec<u8>,
    },
}

const LENGTH: &str = "ofp_hello_elem_header.length";

impl Wire for HelloElement {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = *reader;
        let (kind, mut body) = tlv(reader, 4, LENGTH)?;
        let length = body.remaining() + 4;
        let element = if kind == VERSION_BITMAP {
            if !length.is_multiple_of(4) {
                let kind = DecodeErrorKind::Alignment { value: length, multiple: 4 };
                return Err(start.error(LENGTH, kind));
            }
            let mut words = Vec::new();
            while !body.is_empty() {
                words.push(body.u32("ofp_hello_elem_versionbitmap.bitmaps")?);
            }
            Self::VersionBitmap(words)
        } else {
            Self::Unknown { kind, data: body.rest().to_vec() }
        };
        reader.skip(padding(length), "ofp_hello_elem_header.pad")?;
        Ok(element)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        match self {
            Self::VersionBitmap(words) => {
                begin(out, VERSION_BITMAP);
                words.iter().for_each(|word| put_u32(out, *word));
            }
            Self::Unknown { kind, data } => {
                let known = *kind == VERSION_BITMAP;
                super::codec::refuse_known(*kind, known, "ofp_hello_elem_header.type")?;
                begin(out, *kind);
                out.extend_from_slice(data);
            }
        }
        end_then_pad(out, start, LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_bits() {
        let hello = Hello::with_versions(&[Version::V1_0, Version::V1_3]);
        let mut out = Vec::new();
        hello.encode(&mut out).unwrap();
        assert_eq!(out, [0, 1, 0, 8, 0, 0, 0, 0b1_0010]);
        assert_eq!(Hello::decode(&mut Reader::new(&out)), Ok(hello.clone()));
        assert_eq!(hello.offers(4), Some(true));
        assert_eq!(hello.offers(5), Some(false));
        assert_eq!(hello.offers(77), Some(false));
        assert_eq!(Hello::default().offers(4), None);
    }

    #[test]
    fn unknown_elements_are_kept_with_their_padding() {
        let bytes = [0, 7, 0, 5, 9, 0, 0, 0, 0, 1, 0, 12, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0];
        let hello = Hello::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(hello.elements[0], HelloElement::Unknown { kind: 7, data: vec![9] });
        assert_eq!((hello.offers(4), hello.offers(32)), (Some(true), Some(true)));
        let mut out = Vec::new();
        hello.encode(&mut out).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn malformed_elements_are_refused() {
        for bytes in [
            &[0, 1, 0, 3][..],
            &[0, 1, 0, 7, 0, 0, 0, 0],
            &[0, 1, 0, 12, 0, 0, 0, 0],
            &[0, 1, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 1],
        ] {
            assert!(Hello::decode(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
        let posing = HelloElement::Unknown { kind: VERSION_BITMAP, data: vec![] };
        assert!(posing.encode(&mut Vec::new()).is_err());
    }
}
