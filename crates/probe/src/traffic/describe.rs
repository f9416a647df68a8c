//! Describes a frame as text, for users who look for the frame that broke a controller.

use std::net::Ipv4Addr;

use super::frames::{ETHERNET_HEADER, PROTOCOL_TCP, PROTOCOL_UDP};

/// Returns a description of a frame, with its length. If the frame is TCP or UDP over IPv4, the
/// description has its addresses and ports, and otherwise its EtherType. Controllers examine these
/// fields first.
pub(crate) fn describe(frame: &[u8]) -> String {
    let length = frame.len();
    let what = ipv4(frame).or_else(|| {
        let ether_type = u16::from_be_bytes(*frame.get(12..)?.first_chunk()?);
        Some(format!("EtherType {ether_type:#06x}"))
    });
    match what {
        Some(what) => format!("{what}, {length} bytes"),
        None => format!("{length} bytes"),
    }
}

fn ipv4(frame: &[u8]) -> Option<String> {
    let packet = frame.get(ETHERNET_HEADER..)?;
    if frame.get(12..14)? != [0x08, 0x00] || packet.first()? >> 4 != 4 {
        return None;
    }
    let source = Ipv4Addr::from(*packet.get(12..)?.first_chunk::<4>()?);
    let destination = Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?);
    let payload = packet.get(usize::from(packet.first()? & 0x0f) * 4..)?;
    let port = |at| Some(u16::from_be_bytes(*payload.get(at..)?.first_chunk()?));
    let protocol = match *packet.get(9)? {
        PROTOCOL_TCP => "TCP",
        PROTOCOL_UDP => "UDP",
        other => return Some(format!("IPv4 protocol {other}, {source} to {destination}")),
    };
    Some(format!("{protocol} {source}:{} to {destination}:{}", port(0)?, port(2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_named_by_what_they_hold() {
        let mut frame = vec![0; 66];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[23] = 6;
        frame[26..30].copy_from_slice(&[10, 0, 0, 1]);
        frame[30..34].copy_from_slice(&[10, 0, 0, 2]);
        frame[34..38].copy_from_slice(&[0x0a, 0x28, 0, 80]);
        assert_eq!(describe(&frame), "TCP 10.0.0.1:2600 to 10.0.0.2:80, 66 bytes");
        frame[23] = 17;
        assert!(describe(&frame).starts_with("UDP "));
        frame[23] = 1;
        assert_eq!(describe(&frame), "IPv4 protocol 1, 10.0.0.1 to 10.0.0.2, 66 bytes");
        frame[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(describe(&frame), "EtherType 0x0806, 66 bytes");
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        for length in 0..38 {
            assert!(describe(&frame[..length]).ends_with(" bytes"));
        }
    }
}
