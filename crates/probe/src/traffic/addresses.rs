//! Addresses that are no host's: counted up, or drawn at random.
//!
//! Both are pure functions of a number that no other packet-in has, so that any frame can be made
//! again on its own. All MAC addresses are locally administered and unicast (IEEE 802-2014,
//! section 8.4); their first byte tells where they come from: 02 hosts, 06 serial sources, 0a
//! serial destinations. IPv4 addresses that are no host's lie in 32.0.0.0 to 95.255.255.255, where
//! there are no ranges of special use; they stay within control messages and reach no network.

use std::fmt;
use std::net::Ipv4Addr;

use super::id::mix;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// ff:ff:ff:ff:ff:ff.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The lower 40 bits of a number behind a first byte.
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

/// First byte of hosts' MAC addresses.
pub(super) const HOST: u8 = 0x02;
const SERIAL_SOURCE: u8 = 0x06;
const SERIAL_DESTINATION: u8 = 0x0a;

/// Lowest address that is no host's: 32.0.0.0.
const OTHER_ADDRESSES: u32 = 0x2000_0000;
/// Half of the addresses from there on to 95.255.255.255.
const HALF: u32 = 0x2000_0000;

/// Ports from 49152 to 65535, which belong to no protocol (RFC 6335, section 6). A controller that
/// takes packets apart goes by registered ports and would parse our payload as that of BGP (179) or
/// OpenFlow (6633, 6653); some of its parsers never return.
pub(super) const FIRST_PORT: u16 = 49_152;
pub(super) const PORTS: u64 = 65536 - FIRST_PORT as u64;

/// Which end of a packet an address is for.
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
    // Half the range apart, so that the two ends of a packet differ, and one further each time
    // the sources begin again, so that the pair is new.
    let shift = match end {
        End::Source => 0,
        End::Destination => PORTS / 2 + number / PORTS,
    };
    FIRST_PORT + (number.wrapping_add(shift) % PORTS) as u16
}

/// Addresses drawn at random; one packet's are independent of another's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    seed: u64,
}

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        // Apart from other uses of the same seed.
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
        // The remainder favours the lower ports by less than one in 2^48.
        FIRST_PORT + (self.draw(4, end, number) % PORTS) as u16
    }

    fn draw(self, kind: u64, end: End, number: u64) -> u64 {
        mix(mix(self.seed.wrapping_add(kind + end as u64)) ^ number)
    }
}
