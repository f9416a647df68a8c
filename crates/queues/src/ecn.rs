//! Explicit congestion notification (RFC 3168) in Ethernet frames.

/// The EtherTypes of IEEE 802.1Q and 802.1ad tags.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// The IP version of a frame and the offset of its IP header, which holds the ECN codepoint.
enum Place {
    V4 { header: usize },
    V6 { header: usize },
}

fn place(frame: &[u8]) -> Option<Place> {
    let mut at = 12;
    while TAGS.iter().any(|tag| frame.get(at..at + 2) == Some(tag)) {
        at += 4;
    }
    let header = at + 2;
    let version = frame.get(header)? >> 4;
    match frame.get(at..at + 2)? {
        kind if kind == IPV4 && version == 4 && frame.len() >= header + 20 => {
            Some(Place::V4 { header })
        }
        kind if kind == IPV6 && version == 6 && frame.len() >= header + 40 => {
            Some(Place::V6 { header })
        }
        _ => None,
    }
}

/// Returns whether a frame has an IP packet whose transport understands congestion marks: its
/// codepoint is ECT(0), ECT(1) or CE (RFC 3168, section 5).
#[must_use]
pub fn is_capable(frame: &[u8]) -> bool {
    codepoint(frame) != 0
}

/// Returns whether a frame has an IP packet that is marked as having met congestion: its codepoint
/// is CE.
#[must_use]
pub fn is_marked(frame: &[u8]) -> bool {
    codepoint(frame) == 3
}

/// Returns the ECN codepoint of a frame's IP packet, or 0 if it has none.
fn codepoint(frame: &[u8]) -> u8 {
    match place(frame) {
        Some(Place::V4 { header }) => frame.get(header + 1).copied().unwrap_or(0) & 3,
        Some(Place::V6 { header }) => frame.get(header + 1).copied().unwrap_or(0) >> 4 & 3,
        None => 0,
    }
}

/// Marks a frame's IP packet as having met congestion: sets its codepoint to CE, and corrects the
/// checksum of an IPv4 header. Returns false, and changes nothing, if the frame has no IP packet
/// whose transport understands the mark.
pub fn mark(frame: &mut [u8]) -> bool {
    if !is_capable(frame) {
        return false;
    }
    match place(frame) {
        Some(Place::V4 { header }) => {
            let Some(byte) = frame.get_mut(header + 1) else { return false };
            let before = *byte;
            *byte |= 3;
            let added = u32::from(*byte - before);
            if let Some([high, low]) = frame.get_mut(header + 10..header + 12) {
                // RFC 1624, equation 3, for a word that grows by `added`.
                let sum = u32::from(!u16::from_be_bytes([*high, *low])) + added;
                let folded = (sum & 0xffff) + (sum >> 16);
                let [new_high, new_low] = (!(folded as u16)).to_be_bytes();
                (*high, *low) = (new_high, new_low);
            }
            true
        }
        Some(Place::V6 { header }) => {
            let Some(byte) = frame.get_mut(header + 1) else { return false };
            *byte |= 0x30;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ones' complement sum of an IPv4 header, which is 0xffff if its checksum is
    /// right.
    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16)
    }

    fn v4(codepoint: u8) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x81, 0, 0, 5, 8, 0]);
        let mut header =
            vec![0x45, codepoint, 0, 40, 1, 2, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let check = !(sum(&header) as u16);
        header[10..12].copy_from_slice(&check.to_be_bytes());
        frame.extend(header);
        frame
    }

    #[test]
    fn a_mark_sets_the_codepoint_and_keeps_the_checksum_right() {
        for codepoint in 0..=255_u8 {
            let mut frame = v4(codepoint);
            let capable = codepoint & 3 != 0;
            assert_eq!((is_capable(&frame), mark(&mut frame)), (capable, capable));
            let expected = if capable { codepoint | 3 } else { codepoint };
            assert_eq!((frame[19], sum(&frame[18..])), (expected, 0xffff), "{codepoint}");
            assert_eq!(is_marked(&frame), capable, "{codepoint}");
        }
    }

    #[test]
    fn ipv6_has_the_codepoint_across_two_bytes() {
        let mut frame = vec![0; 12];
        frame.extend([0x86, 0xdd, 0x60, 0x2f]);
        frame.resize(14 + 40, 0);
        assert!(mark(&mut frame));
        assert_eq!(frame[14..16], [0x60, 0x3f]);
        assert!(is_marked(&frame));
        frame[15] = 0xcf;
        assert!(!is_capable(&frame));
    }

    #[test]
    fn other_and_cut_frames_are_left_alone() {
        for length in 0..v4(2).len() {
            let mut frame = v4(2);
            frame.truncate(length);
            let before = frame.clone();
            assert!(!mark(&mut frame));
            assert_eq!(frame, before);
        }
    }
}
