//! Finds the headers of a frame that contain lengths or checksums.
//!
//! The walk knows Ethernet with tags, MPLS, IPv4, IPv6 with extension headers, and the tunnels
//! whose contents the kernel merges: IP in IP, GRE, VXLAN and Geneve.

/// A header that contains the length or a checksum of the bytes that follow it, with its offset in
/// the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    Ipv4(usize),
    Ipv6(usize),
    /// The UDP header of a tunnel.
    Udp(usize),
}

/// The headers of a frame that contain lengths or checksums.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// The headers with lengths or checksums, from the outside in.
    pub(super) layers: Vec<Layer>,
    /// The offset of the innermost transport header.
    pub(super) transport: usize,
    /// The protocol of the transport header: [`TCP`], [`UDP`] or [`SCTP`].
    pub(super) protocol: u8,
}

/// The IP protocol numbers of the transport protocols.
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const SCTP: u8 = 132;

/// The largest number of headers that are examined. Only malicious frames contain more.
const MAX_LAYERS: usize = 16;

/// The type of the next header, as stated in the header before it.
enum Next {
    Ethernet,
    EtherType(u16),
    Protocol(u8),
}

impl Headers {
    /// Finds the headers up to the transport header at `transport` or, if its offset is unknown, up
    /// to the first one. Returns `None` if there is no such header, or if it belongs to a fragment.
    pub(super) fn find(frame: &[u8], transport: Option<usize>) -> Option<Self> {
        let mut layers = Vec::new();
        let (transport, protocol) = walk(frame, transport, |layer| layers.push(layer))?;
        Some(Self { layers, transport, protocol })
    }
}

/// Finds the headers as [`Headers::find`] does, without allocating: `pass` receives each header,
/// from the outside in. Returns the offset and the protocol of the transport header.
pub(super) fn walk(
    frame: &[u8],
    transport: Option<usize>,
    mut pass: impl FnMut(Layer),
) -> Option<(usize, u8)> {
    let (mut at, mut next) = (0, Next::Ethernet);
    for _ in 0..MAX_LAYERS {
        (at, next) = match next {
            Next::Ethernet => (at + 14, Next::EtherType(u16_at(frame, at + 12)?)),
            Next::EtherType(0x8100 | 0x88a8 | 0x9100) => {
                (at + 4, Next::EtherType(u16_at(frame, at + 2)?))
            }
            Next::EtherType(0x8847 | 0x8848) => mpls(frame, at)?,
            Next::EtherType(0x0800) | Next::Protocol(4) => {
                pass(Layer::Ipv4(at));
                ipv4(frame, at)?
            }
            Next::EtherType(0x86dd) | Next::Protocol(41) => {
                pass(Layer::Ipv6(at));
                ipv6(frame, at)?
            }
            Next::Protocol(protocol @ (TCP | UDP | SCTP))
                if transport.is_none_or(|transport| transport == at) =>
            {
                return Some((at, protocol));
            }
            Next::Protocol(UDP) => {
                pass(Layer::Udp(at));
                udp_tunnel(frame, at)?
            }
            Next::Protocol(47) => gre(frame, at)?,
            Next::EtherType(_) | Next::Protocol(_) => return None,
        };
    }
    None
}

fn mpls(frame: &[u8], mut at: usize) -> Option<(usize, Next)> {
    // A label stack (RFC 3032) ends with the entry whose bottom-of-stack bit is set.
    while frame.get(at + 2)? & 1 == 0 {
        at += 4;
    }
    match frame.get(at + 4)? >> 4 {
        4 => Some((at + 4, Next::EtherType(0x0800))),
        6 => Some((at + 4, Next::EtherType(0x86dd))),
        _ => None,
    }
}

fn ipv4(frame: &[u8], at: usize) -> Option<(usize, Next)> {
    let length = usize::from(frame.get(at)? & 0xf) * 4;
    let fragment = u16_at(frame, at + 6)? & 0x3fff != 0;
    let protocol = *frame.get(at + 9)?;
    (length >= 20 && !fragment).then_some((at + length, Next::Protocol(protocol)))
}

fn ipv6(frame: &[u8], at: usize) -> Option<(usize, Next)> {
    let mut protocol = *frame.get(at + 6)?;
    let mut at = at + 40;
    // The extension headers are hop-by-hop options, routing, destination options and mobility (RFC
    // 8200, section 4).
    while let 0 | 43 | 60 | 135 = protocol {
        protocol = *frame.get(at)?;
        at += (usize::from(*frame.get(at + 1)?) + 1) * 8;
    }
    Some((at, Next::Protocol(protocol)))
}

fn udp_tunnel(frame: &[u8], at: usize) -> Option<(usize, Next)> {
    match u16_at(frame, at + 2)? {
        // 4789 is the port of VXLAN (RFC 7348), and 8472 the port that Linux used before.
        4789 | 8472 => Some((at + 16, Next::Ethernet)),
        // 6081 is the port of Geneve (RFC 8926, section 3.4).
        6081 => {
            let options = usize::from(frame.get(at + 8)? & 0x3f) * 4;
            Some((at + 16 + options, payload(u16_at(frame, at + 10)?)))
        }
        _ => None,
    }
}

fn gre(frame: &[u8], at: usize) -> Option<(usize, Next)> {
    // The supported forms are RFC 2784 and the keys of RFC 2890. A checksum or a sequence number
    // would differ between segments.
    match u16_at(frame, at)? {
        0 => Some((at + 4, payload(u16_at(frame, at + 2)?))),
        0x2000 => Some((at + 8, payload(u16_at(frame, at + 2)?))),
        _ => None,
    }
}

fn payload(protocol: u16) -> Next {
    match protocol {
        0x6558 => Next::Ethernet,
        other => Next::EtherType(other),
    }
}

fn u16_at(frame: &[u8], at: usize) -> Option<u16> {
    frame.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}
