//! Fills packets with bytes: bits that a route leaves open are random, except in well-known
//! headers.
//!
//! A header is recognised by the widths of its fields. A header of 160 bits that begins with two
//! fields of four bits is IPv4 (RFC 791). One of 320 bits that begins with a field of four bits is
//! IPv6 (RFC 8200). One with two fields of 48 bits and one of 16 bits is Ethernet. Programs check
//! these headers, so version, lengths, hop limit and checksum are valid, no packet is a fragment,
//! and addresses are unicast.

use super::route::Route;
use ir::{Program, Type};
use pipeline::internet_checksum;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

/// The time to live of IPv4 packets, and the hop limit of IPv6 packets.
const HOPS: u8 = 64;

/// A well-known header of a packet, with the offset of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Ethernet(usize),
    Ipv4(usize),
    Ipv6(usize),
}

/// A generator of packets that take one route through the parser.
#[derive(Clone, Debug)]
pub(crate) struct Filler {
    route: Route,
    known: Vec<Known>,
    length: usize,
    seed: u64,
}

impl Filler {
    /// Creates a generator of packets of `length` bytes, or more if the parser route needs them.
    pub(crate) fn new(program: &Program, route: &Route, length: usize, seed: u64) -> Self {
        let least = usize::try_from(route.bits.div_ceil(8)).unwrap_or(usize::MAX);
        let known = route.headers.iter().filter_map(|(composite, begin)| {
            let fields = &program.types.composites.get(composite.index())?.fields;
            let widths: Vec<u32> = fields
                .iter()
                .filter_map(|field| match program.types.find(field.type_id)? {
                    Type::Bits { width, .. } => Some(width),
                    _ => None,
                })
                .collect();
            let begin = usize::try_from(begin / 8).ok().filter(|_| begin % 8 == 0)?;
            recognise(&widths, begin)
        });
        Self { known: known.collect(), route: route.clone(), length: length.max(least), seed }
    }

    /// Returns the length of the generated packets in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the packet of the flow with this number. Repeated calls return equal packets.
    pub(crate) fn packet(&self, flow: u64) -> Vec<u8> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(flow);
        let mut packet = vec![0; self.length];
        random.fill_bytes(&mut packet);
        for header in &self.known {
            header.prepare(&mut packet, &mut random);
        }
        for fixed in &self.route.fixed {
            let width = fixed.value.width();
            for position in (0..width).filter(|position| fixed.mask.bit(*position)) {
                let at = fixed.offset + u64::from(width - 1 - position);
                set_bit(&mut packet, at, fixed.value.bit(position));
            }
        }
        for header in &self.known {
            header.finish(&mut packet);
        }
        packet
    }
}

fn recognise(widths: &[u32], begin: usize) -> Option<Known> {
    match (widths, widths.iter().sum()) {
        ([48, 48, 16], _) => Some(Known::Ethernet(begin)),
        ([4, 4, ..], 160) => Some(Known::Ipv4(begin)),
        ([4, ..], 320) => Some(Known::Ipv6(begin)),
        _ => None,
    }
}

impl Known {
    fn prepare(self, packet: &mut [u8], random: &mut ChaCha8Rng) {
        match self {
            Self::Ethernet(begin) => {
                if let Some([first, .., source, _, _, _, _, _, _, _]) =
                    packet.get_mut(begin..begin + 14)
                {
                    *first &= 0xfe;
                    *source &= 0xfe;
                }
            }
            Self::Ipv4(begin) => {
                let length = u16::try_from(packet.len().saturating_sub(begin)).unwrap_or(u16::MAX);
                let Some(header) = packet.get_mut(begin..begin + 20) else { return };
                header[0] = 0x45;
                header[2..4].copy_from_slice(&length.to_be_bytes());
                header[6..8].fill(0);
                header[8] = HOPS;
                for address in [12, 16] {
                    // The first byte avoids the networks 0 and 127 and multicast addresses.
                    header[address] = random.random_range(1..=126);
                }
            }
            Self::Ipv6(begin) => {
                let length = u16::try_from(packet.len().saturating_sub(begin + 40));
                let Some(header) = packet.get_mut(begin..begin + 40) else { return };
                header[0] = 0x60 | (header[0] & 0x0f);
                header[4..6].copy_from_slice(&length.unwrap_or(u16::MAX).to_be_bytes());
                header[7] = HOPS;
                for address in [8, 24] {
                    header[address] = 0x20;
                }
            }
        }
    }

    fn finish(self, packet: &mut [u8]) {
        if let Self::Ipv4(begin) = self
            && let Some(header) = packet.get_mut(begin..begin + 20)
        {
            header[10..12].fill(0);
            let sum = internet_checksum(header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

fn set_bit(packet: &mut [u8], at: u64, value: bool) {
    let byte = usize::try_from(at / 8).ok().and_then(|position| packet.get_mut(position));
    if let Some(byte) = byte {
        let mask = 0x80 >> (at % 8);
        *byte = if value { *byte | mask } else { *byte & !mask };
    }
}
