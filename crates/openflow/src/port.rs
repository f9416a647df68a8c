//! Port numbers that are common to both versions.

use std::fmt;

/// A port number in the format of OpenFlow 1.1 and later: 32 bits, with reserved numbers from
/// 0xffffff00.
///
/// The type serves both versions. Port numbers of OpenFlow 1.0 have 16 bits, with reserved numbers
/// from 0xff00, and are converted to the 32-bit numbers of equal name. The conversion to 1.0 fails
/// for numbers that 1.0 cannot express.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNumber(pub u32);

/// The difference between the reserved numbers in 32 bits and those of OpenFlow 1.0.
const RESERVED_OFFSET: u32 = 0xffff_0000;
/// The exclusive upper limit of the numbers of physical ports in OpenFlow 1.0 (`OFPP_MAX`).
const V1_0_MAX: u16 = 0xff00;

impl PortNumber {
    /// The limit of the numbers that ports of the switch can have (`OFPP_MAX`). Higher numbers are
    /// reserved.
    pub const MAX: Self = Self(0xffff_ff00);
    /// The reserved number for the port by which the packet entered.
    pub const IN_PORT: Self = Self(0xffff_fff8);
    /// The reserved number that sends a packet through the flow tables. It is valid only in
    /// packet-out messages.
    pub const TABLE: Self = Self(0xffff_fff9);
    /// The reserved number that leaves the forwarding to the switch, as if it had no OpenFlow.
    pub const NORMAL: Self = Self(0xffff_fffa);
    /// The reserved number for every port of the VLAN except the ingress port.
    pub const FLOOD: Self = Self(0xffff_fffb);
    /// The reserved number for every port except the ingress port.
    pub const ALL: Self = Self(0xffff_fffc);
    /// The reserved number for the controller, which receives a packet-in.
    pub const CONTROLLER: Self = Self(0xffff_fffd);
    /// The reserved number for the switch's own network stack.
    pub const LOCAL: Self = Self(0xffff_fffe);
    /// The reserved number for no particular port (`OFPP_ANY`, or `OFPP_NONE` in 1.0).
    pub const ANY: Self = Self(0xffff_ffff);

    /// Converts a 16-bit port number of OpenFlow 1.0.
    pub const fn from_v1_0(port: u16) -> Self {
        // `u32::from` is not const.
        if port < V1_0_MAX { Self(port as u32) } else { Self(port as u32 | RESERVED_OFFSET) }
    }

    /// Returns the port number in OpenFlow 1.0, or `None` if 1.0 cannot express it.
    pub const fn to_v1_0(self) -> Option<u16> {
        if self.0 < V1_0_MAX as u32 {
            Some(self.0 as u16)
        } else if self.0 >= Self::MAX.0 {
            Some((self.0 - RESERVED_OFFSET) as u16)
        } else {
            None
        }
    }
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::IN_PORT => "IN_PORT",
            Self::TABLE => "TABLE",
            Self::NORMAL => "NORMAL",
            Self::FLOOD => "FLOOD",
            Self::ALL => "ALL",
            Self::CONTROLLER => "CONTROLLER",
            Self::LOCAL => "LOCAL",
            Self::ANY => "ANY",
            Self(number) => return write!(f, "{number}"),
        })
    }
}

impl fmt::Debug for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PortNumber({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_of_1_0_survives_the_wider_numbering() {
        for port in 0..=u16::MAX {
            assert_eq!(PortNumber::from_v1_0(port).to_v1_0(), Some(port));
        }
        assert_eq!(PortNumber::from_v1_0(0xfffd), PortNumber::CONTROLLER);
        assert_eq!(PortNumber::from_v1_0(0xffff), PortNumber::ANY);
        assert_eq!(PortNumber::from_v1_0(7), PortNumber(7));
    }

    #[test]
    fn ports_that_1_0_cannot_express_have_no_number_there() {
        assert_eq!(PortNumber(0xff00).to_v1_0(), None);
        assert_eq!(PortNumber(0xffff_feff).to_v1_0(), None);
    }
}
