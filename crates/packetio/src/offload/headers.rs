//! Finds the headers of a frame whose lengths and checksums say how long it is.
//!
//! Ethernet with tags, MPLS, IPv4 and IPv6 with extension headers, and the tunnels whose
//! contents the kernel merges or leaves whole: IP in IP, GRE, VXLAN and Geneve.

/// A header that contains the length of what follows, or a sum of it, and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    Ipv4(usize),
    Ipv6(usize),
    /// Of a tunnel.
    Udp(usize),
}

/// The headers of a frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// From the outside in.
    pub(super) layers: Vec<Layer>,
    /// Offset of the innermost transport header.
    pub(super) transport: usize,
    /// Its protocol: [`TCP`] or [`UDP`], or another that ends the walk.
    pub(super) protocol: u8,
}

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const SCTP: u8 = 132;

/// More are not found in frames, but in attacks.
const MAX_LAYERS: usize = 16;

/// What a header says of the next.
enum Next {
    Ethernet,
    EtherType(u16),
    Protocol(u8),
}

impl Headers {
    /// The headers up to the transport header at `transport`, or, if that is not known, the first
    /// one. `None` if it is not found, or belongs to a fragment.
    pub(super) fn find(frame: &[u8], transport: Option<usize>) -> Option<Self> {
        let mut layers = Vec::new();
        let (transport, protocol) = walk(frame, transport, |layer| layers.push(layer))?;
        Some(Self { layers, transport, protocol })
    }
}

/// As [`Headers::find`], without memory of its own: `pass` is told each layer, from the outside in. Returns the offset of
/// the transport header and its protocol.
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
    // Label stack entries (RFC 3032); the bottom of the stack is marked.
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
    // Hop-by-hop options, routing, destination options, mobility (RFC 8200, section 4).
    while let 0 | 43 | 60 | 135 = protocol {
        protocol = *frame.get(at)?;
        at += (usize::from(*frame.get(at + 1)?) + 1) * 8;
    }
    Some((at, Next::Protocol(protocol)))
}

fn udp_tunnel(frame: &[u8], at: usize) -> Option<(usize, Next)> {
    match u16_at(frame, at + 2)? {
        // VXLAN (RFC 7348), and the port that Linux gave it before.
        4789 | 8472 => Some((at + 16, Next::Ethernet)),
        // Geneve (RFC 8926, section 3.4).
        6081 => {
            let options = usize::from(frame.get(at + 8)? & 0x3f) * 4;
            Some((at + 16 + options, payload(u16_at(frame, at + 10)?)))
        }
        _ => None,
    }
}

fn gre(frame: &[u8], at: usize) -> Option<(usize, Next)> {
    // RFC 2784 and 2890. With a checksum or sequence numbers each segment would need its own.
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
