//! Addresses that do not belong to emulated hosts: serial addresses, which are counted up, and
//! random ones.
//!
//! An address depends only on a number that is unique to its packet-in (and on the seed), so that
//! any frame can be generated again on its own. All MAC addresses are locally administered and
//! unicast (IEEE 802-2014, section 8.4). Unless they are random, their first byte shows to what
//! they belong: 02 to hosts, 06 to serial sources, 0a to serial destinations. IPv4 addresses that
//! belong to no host lie in 32.0.0.0 to 95.255.255.255, which contains no special-use ranges. They
//! occur only inside control messages and never reach a network.

use std::fmt;
use std::net::Ipv4Addr;

use super::id::mix;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address ff:ff:ff:ff:ff:ff.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns the MAC address that consists of the byte `first` and the lower 40 bits of `number`.
    pub(super) const fn numbered(first: u8, number: u64) -> Self {
        let [_, _, _, a, b, c, d, e] = number.to_be_bytes();
        Self([first, a, b, c, d, e])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The first bytes of generated MAC addresses: of hosts, of serial sources and of serial
/// destinations.
pub(super) const HOST: u8 = 0x02;
const SERIAL_SOURCE: u8 = 0x06;
const SERIAL_DESTINATION: u8 = 0x0a;

/// The lowest generated IPv4 address that belongs to no host: 32.0.0.0.
const OTHER_ADDRESSES: u32 = 0x2000_0000;
/// Half of the number of IPv4 addresses from 32.0.0.0 to 95.255.255.255. Serial sources use the
/// lower half, and serial destinations the upper one.
const HALF: u32 = 0x2000_0000;

/// The lowest dynamic TCP or UDP port. Dynamic ports extend to 65535 and are assigned to no
/// protocol (RFC 6335, section 6). With a registered port, a controller that dissects packets would
/// parse the payload as BGP (179) or OpenFlow (6633, 6653), and some parsers never return from
/// that.
pub(super) const FIRST_PORT: u16 = 49_152;
pub(super) const PORTS: u64 = 65536 - FIRST_PORT as u64;

/// The role of an address in a packet: its source or its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Destination,
}

pub(super) fn serial_mac(end: End, number: u64) -> MacAddress {
    match end {
        End::Source => MacAddress::numbered(SERIAL_SOURCE, number),
        End::Destination => MacAddress::numbered(SERIAL_DESTINATION, number),
    }
}

pub(super) fn serial_ip(end: End, number: u64) -> Ipv4Addr {
    let within = number as u32 % HALF;
    Ipv4Addr::from_bits(match end {
        End::Source => OTHER_ADDRESSES + within,
        End::Destination => OTHER_ADDRESSES + HALF + within,
    })
}

pub(super) fn serial_port(end: End, number: u64) -> u16 {
    // The ends are half the range apart, so that they differ, and the distance grows by one each
    // time the sources start over, so that every pair is new.
    let shift = match end {
        End::Source => 0,
        End::Destination => PORTS / 2 + number / PORTS,
    };
    FIRST_PORT + (number.wrapping_add(shift) % PORTS) as u16
}

/// A generator of random addresses. The addresses of different packets are independent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    seed: u64,
}

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        // The constant separates this use of the seed from others.
        Self { seed: mix(seed ^ 0x6164_6472_6573_7365) }
    }

    pub(super) fn mac(self, end: End, number: u64) -> MacAddress {
        let [_, _, first, a, b, c, d, e] = self.draw(0, end, number).to_be_bytes();
        MacAddress([first & 0xfc | 0x02, a, b, c, d, e])
    }

    pub(super) fn ip(self, end: End, number: u64) -> Ipv4Addr {
        Ipv4Addr::from_bits(OTHER_ADDRESSES + self.draw(2, end, number) as u32 % (2 * HALF))
    }

    pub(super) fn port(self, end: End, number: u64) -> u16 {
        // All ports are equally likely, since their number is a power of two.
        FIRST_PORT + (self.draw(4, end, number) % PORTS) as u16
    }

    fn draw(self, kind: u64, end: End, number: u64) -> u64 {
        mix(mix(self.seed.wrapping_add(kind + end as u64)) ^ number)
    }
}
