//! Port numbers that mean the same in both versions.

use std::fmt;

/// A port number as OpenFlow 1.1 and later write it: 32 bits, reserved numbers from 0xffffff00.
///
/// The views and the code above them use it for both versions. OpenFlow 1.0 has 16 bits with its
/// reserved numbers from 0xff00; those map to the same name in the wider range, and the conversion
/// back fails for the numbers between, which 1.0 cannot express.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNumber(pub u32);

/// What separates the reserved numbers of 1.0 from those of later versions.
const RESERVED_OFFSET: u32 = 0xffff_0000;
/// The first number that 1.0 does not give to physical ports (`OFPP_MAX`).
const V1_0_MAX: u16 = 0xff00;

impl PortNumber {
    /// End of the numbers that ports of the switch can have (`OFPP_MAX`).
    pub const MAX: Self = Self(0xffff_ff00);
    /// Out of the port that the packet came in by.
    pub const IN_PORT: Self = Self(0xffff_fff8);
    /// Through the flow tables; in packet-out only.
    pub const TABLE: Self = Self(0xffff_fff9);
    /// As a switch without OpenFlow would forward.
    pub const NORMAL: Self = Self(0xffff_fffa);
    /// Every port of the VLAN but the one that the packet came in by.
    pub const FLOOD: Self = Self(0xffff_fffb);
    /// Every port but the one that the packet came in by.
    pub const ALL: Self = Self(0xffff_fffc);
    /// To the controller, as packet-in.
    pub const CONTROLLER: Self = Self(0xffff_fffd);
    /// The switch's own network stack.
    pub const LOCAL: Self = Self(0xffff_fffe);
    /// `OFPP_ANY`, and `OFPP_NONE` in 1.0: no port in particular.
    pub const ANY: Self = Self(0xffff_ffff);

    /// The number that a 16-bit port of OpenFlow 1.0 has here.
    pub const fn from_v1_0(port: u16) -> Self {
        // `u32::from` is not const.
        if port < V1_0_MAX { Self(port as u32) } else { Self(port as u32 | RESERVED_OFFSET) }
    }

    /// The number in OpenFlow 1.0, if it has one.
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
