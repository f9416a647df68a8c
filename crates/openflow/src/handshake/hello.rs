//! HELLO and the negotiation of a version: OpenFlow 1.3.5, 6.3.2 and 7.5.1.
//!
//! Since 1.3.1, a HELLO may contain a bitmap of the versions that its sender speaks. If both sides
//! sent a bitmap, the highest version that both bitmaps contain is used. Otherwise, the smaller of
//! the two versions in the headers is used, even if a side does not speak it.

use std::fmt;

use crate::wire::{Header, MessageType};
use crate::{Version, Xid};

/// The type of the HELLO element with a bitmap of versions (`OFPHET_VERSIONBITMAP`).
const VERSION_BITMAP: u16 = 1;

/// The versions that one side offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedVersions {
    /// The version in the HELLO's header: the highest that its sender speaks.
    pub highest: u8,
    /// The offered versions as a bitmap, with bit `n` for wire version `n` up to 31. `None` if the
    /// HELLO had no bitmap.
    pub bitmap: Option<u32>,
}

impl OfferedVersions {
    /// Returns the offer of a side that speaks `versions`, or both versions if `versions` is empty.
    ///
    /// A HELLO of OpenFlow 1.0 carries no bitmap, because 1.0.0 leaves its body empty.
    pub(super) fn of(versions: &[Version]) -> Self {
        let versions = if versions.is_empty() { &[Version::V1_0, Version::V1_3] } else { versions };
        let highest = versions.iter().copied().max().unwrap_or(Version::V1_3);
        let bits = versions.iter().fold(0, |bits, version| bits | 1 << version.wire());
        Self { highest: highest.wire(), bitmap: (highest > Version::V1_0).then_some(bits) }
    }

    /// Returns the versions that a HELLO offers.
    ///
    /// Elements of other types are ignored. At a malformed element, reading ends without an error,
    /// and the offer has no bitmap, since the version in the header suffices.
    pub(super) fn read<T: AsRef<[u8]>>(hello: &Header<T>) -> Self {
        let mut elements = hello.body();
        let mut bitmap = None;
        while let Some((&[k0, k1, l0, l1], _)) = elements.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes([l0, l1]));
            let Some(content) = elements.get(4..length) else { break };
            if u16::from_be_bytes([k0, k1]) == VERSION_BITMAP {
                bitmap = content.first_chunk().map(|&bits| u32::from_be_bytes(bits));
                break;
            }
            elements = elements.get(length.next_multiple_of(8)..).unwrap_or(&[]);
        }
        Self { highest: hello.version(), bitmap }
    }

    /// Appends the HELLO message that offers these versions.
    pub(super) fn emit(self, xid: Xid, out: &mut Vec<u8>) {
        let length = if self.bitmap.is_some() { 16 } else { 8 };
        out.extend_from_slice(&[self.highest, MessageType::HELLO.0, 0, length]);
        out.extend_from_slice(&xid.0.to_be_bytes());
        if let Some(bitmap) = self.bitmap {
            out.extend_from_slice(&VERSION_BITMAP.to_be_bytes());
            out.extend_from_slice(&8_u16.to_be_bytes());
            out.extend_from_slice(&bitmap.to_be_bytes());
        }
    }

    /// Returns the version to use with a peer that offers `theirs`, or `None` if this side does not
    /// speak that version.
    pub(super) fn choose(self, theirs: Self) -> Option<Version> {
        let wire = match (self.bitmap, theirs.bitmap) {
            (Some(ours), Some(theirs)) => (ours & theirs).checked_ilog2()? as u8,
            _ => self.highest.min(theirs.highest),
        };
        Version::from_wire(wire).filter(|&version| self.speaks(version))
    }

    fn speaks(self, version: Version) -> bool {
        match self.bitmap {
            Some(bits) => bits & 1 << version.wire() != 0,
            None => self.highest == version.wire(),
        }
    }
}

impl fmt::Display for OfferedVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bitmap) = self.bitmap else {
            f.write_str("up to ")?;
            return name(f, self.highest);
        };
        if bitmap == 0 {
            return f.write_str("none");
        }
        let mut separator = "";
        for wire in (0..32).filter(|wire| bitmap & 1 << wire != 0) {
            f.write_str(separator)?;
            name(f, wire)?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Writes the name of a version. The wire versions 1 to 6 are OpenFlow 1.0 to 1.5.
fn name(f: &mut fmt::Formatter<'_>, wire: u8) -> fmt::Result {
    match wire {
        1..=6 => write!(f, "1.{}", wire - 1),
        _ => write!(f, "{wire:#04x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Version; 2] = [Version::V1_0, Version::V1_3];

    fn offered(highest: u8, bitmap: Option<u32>) -> OfferedVersions {
        OfferedVersions { highest, bitmap }
    }

    fn read(bytes: &[u8]) -> OfferedVersions {
        OfferedVersions::read(&Header::new_checked(bytes).unwrap())
    }

    #[test]
    fn versions_are_chosen_by_bitmap_or_minimum() {
        use Version::{V1_0, V1_3};
        for (ours, highest, bitmap, chosen) in [
            (&BOTH[..], 4, Some(0b1_0010), Some(V1_3)),
            (&BOTH, 1, None, Some(V1_0)),
            (&BOTH, 4, None, Some(V1_3)),
            // A newer peer without a bitmap falls back to this side's highest version.
            (&BOTH, 6, None, Some(V1_3)),
            // A newer peer whose bitmap lacks 1.3 is met at 1.0.
            (&BOTH, 6, Some(0b110_0010), Some(V1_0)),
            // The minimum is 1.1, which this side does not speak.
            (&BOTH, 2, None, None),
            (&BOTH, 5, Some(0b10_0000), None),
            (&BOTH, 4, Some(0), None),
            (&[V1_0], 4, Some(0b1_0000), Some(V1_0)),
            (&[V1_0], 6, None, Some(V1_0)),
            (&[V1_3], 1, None, None),
            (&[V1_3], 4, None, Some(V1_3)),
            (&[V1_3], 1, Some(0b10), None),
            (&BOTH, 0, None, None),
        ] {
            let theirs = offered(highest, bitmap);
            assert_eq!(OfferedVersions::of(ours).choose(theirs), chosen, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn what_is_emitted_is_read_back() {
        for versions in [&BOTH[..], &[Version::V1_0], &[Version::V1_3], &[]] {
            let ours = OfferedVersions::of(versions);
            let mut bytes = Vec::new();
            ours.emit(Xid(1), &mut bytes);
            assert_eq!(read(&bytes), ours);
        }
        let mut bytes = Vec::new();
        OfferedVersions::of(&BOTH).emit(Xid(7), &mut bytes);
        assert_eq!(bytes, b"\x04\0\0\x10\0\0\0\x07\0\x01\0\x08\0\0\0\x12");
    }

    #[test]
    fn other_elements_are_passed_over_and_malformed_ones_end_the_search() {
        let bitmap = b"\0\x01\0\x08\0\0\0\x12";
        let unknown = b"\0\x09\0\x05x\0\0\0";
        let hello = |elements: &[&[u8]]| {
            let body = elements.concat();
            let mut bytes = vec![4, 0, 0, 8 + body.len() as u8, 0, 0, 0, 0];
            bytes.extend(body);
            read(&bytes).bitmap
        };
        assert_eq!(hello(&[bitmap]), Some(0x12));
        assert_eq!(hello(&[unknown, bitmap]), Some(0x12));
        assert_eq!(hello(&[unknown]), None);
        assert_eq!(hello(&[b"\0\x09\0\x03x\0\0\0", bitmap]), None, "shorter than its header");
        assert_eq!(hello(&[b"\0\x09\0\0", bitmap]), None);
        assert_eq!(hello(&[b"\0\x01\0\x04"]), None, "an empty bitmap");
        assert_eq!(hello(&[b"\0\x01\0\x0c\0\0\0\x12"]), None, "beyond the end");
        assert_eq!(hello(&[b"\0\x01\0"]), None, "half a header");
    }

    #[test]
    fn offers_are_named_for_people() {
        assert_eq!(offered(4, None).to_string(), "up to 1.3");
        assert_eq!(offered(6, Some(0b110_0010)).to_string(), "1.0, 1.4, 1.5");
        assert_eq!(offered(6, Some(0)).to_string(), "none");
        assert_eq!(offered(0x48, None).to_string(), "up to 0x48");
    }
}
