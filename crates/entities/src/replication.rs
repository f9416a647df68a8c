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
    /// The copies to make, one for each replica.
    pub replicas: Box<[Replica]>,
    /// Data of the controller, which the switch stores and returns.
    pub metadata: Box<[u8]>,
}

/// A clone session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneSession {
    /// The identifier.
    pub id: CloneSessionId,
    /// The replicas; the switch makes one copy for each.
    pub replicas: Box<[Replica]>,
    /// The class of service of the copies.
    pub class_of_service: u32,
    /// The length in bytes to which copies are truncated; 0 for no truncation.
    pub packet_length_bytes: u32,
}

/// A copy of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replica {
    /// The port of the copy. `None` stands for the port number 0 of P4Runtime before 1.4, which the
    /// wire format omits.
    pub port: Option<Port>,
    /// The instance, which distinguishes copies to the same port.
    pub instance: u32,
    /// The alternatives if the port is down; the first whose port is up is used.
    pub backups: Box<[Backup]>,
}

/// The alternative destination of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Backup {
    /// The port, as a byte string without leading zeros.
    pub port: Box<[u8]>,
    /// The instance, which distinguishes copies to the same port.
    pub instance: u32,
}
