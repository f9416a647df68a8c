//! The configuration of the packet replication engine: multicast groups and clone sessions.

use crate::action::Port;

/// The identifier of a multicast group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MulticastGroupId(pub u32);

/// The identifier of a clone session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloneSessionId(pub u32);

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastGroup {
    /// The identifier of the group.
    pub id: MulticastGroupId,
    /// The replicas of the group. The switch makes one copy of a packet for each.
    pub replicas: Box<[Replica]>,
    /// Bytes that the controller chooses freely. The switch only stores and returns them.
    pub metadata: Box<[u8]>,
}

/// A clone session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneSession {
    /// The identifier of the clone session.
    pub id: CloneSessionId,
    /// The replicas of the session. The switch makes one copy of a packet for each.
    pub replicas: Box<[Replica]>,
    /// The class of service of the copies.
    pub class_of_service: u32,
    /// The length in bytes to which copies are truncated, or 0 for no truncation.
    pub packet_length_bytes: u32,
}

/// A description of one copy of a packet: its port and instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replica {
    /// The port that the copy is sent to. `None` stands for the port number 0 of P4Runtime before
    /// 1.4, which the wire format omits.
    pub port: Option<Port>,
    /// The instance number, which distinguishes copies to the same port.
    pub instance: u32,
    /// The alternative destinations for the case that the port is down, in order of preference.
    pub backups: Box<[Backup]>,
}

/// An alternative destination of a copy, which is used if the port of the copy is down.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Backup {
    /// The port that the copy is sent to, as a byte string without leading zeros.
    pub port: Box<[u8]>,
    /// The instance number, which distinguishes copies to the same port.
    pub instance: u32,
}
