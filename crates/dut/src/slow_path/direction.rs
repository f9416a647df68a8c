//! The direction of packets on the control channel.

/// The direction in which packets cross the control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Packets go from a port of the switch to the controller.
    PacketIn,
    /// Packets go from the controller to a port of the switch.
    PacketOut,
}

impl Direction {
    /// Both directions in which packets cross the control channel.
    pub const ALL: [Self; 2] = [Self::PacketIn, Self::PacketOut];

    /// Returns the name that reports give the direction.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PacketIn => "packet-in",
            Self::PacketOut => "packet-out",
        }
    }
}
