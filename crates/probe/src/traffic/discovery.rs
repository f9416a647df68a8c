//! Recognises the frames by which controllers discover links.

use super::replay::ethertype;

/// The EtherType of LLDP (IEEE 802.1AB).
const LLDP: u16 = 0x88cc;
/// The EtherType of broadcast domain discovery (BDDP): LLDP frames that ONOS and Floodlight send to
/// broadcast addresses in order to see links that cross other switches.
const BDDP: u16 = 0x8942;

/// Returns whether a frame is LLDP or BDDP, with or without VLAN tags.
pub fn is_discovery(frame: &[u8]) -> bool {
    matches!(ethertype(frame), Some((LLDP | BDDP, _)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ethertypes: &[u16]) -> Vec<u8> {
        let mut frame = vec![0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1];
        for ethertype in ethertypes {
            frame.extend(ethertype.to_be_bytes());
            frame.extend([0, 7]);
        }
        frame
    }

    #[test]
    fn lldp_and_bddp_are_discovery_with_and_without_tags() {
        for discovery in [0x88cc, 0x8942] {
            assert!(is_discovery(&frame(&[discovery])));
            assert!(is_discovery(&frame(&[0x8100, discovery])));
            assert!(is_discovery(&frame(&[0x88a8, 0x8100, discovery])));
        }
    }

    #[test]
    fn other_and_truncated_frames_are_no_discovery() {
        for other in [0x0800, 0x0806, 0x86dd, 0x8847] {
            assert!(!is_discovery(&frame(&[other])));
            assert!(!is_discovery(&frame(&[0x8100, other, 0x88cc])));
        }
        for length in 0..14 {
            assert!(!is_discovery(&frame(&[0x88cc])[..length]));
        }
        assert!(!is_discovery(&frame(&[0x8100, 0x88cc])[..17]));
    }
}
