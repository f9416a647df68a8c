//! What the packet replication engine copies where.

use crate::action::Port;

/// A multicast group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MulticastGroupId(pub u32);

/// A clone session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloneSessionId(pub u32);

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its identifier.
    pub id: MulticastGroupId,
    /// One copy for each.
    pub replicas: Box<[Replica]>,
    /// Opaque to the switch, which returns it.
    pub metadata: Box<[u8]>,
}

/// A clone session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneSession {
    /// Its identifier.
    pub id: CloneSessionId,
    /// One copy for each.
    pub replicas: Box<[Replica]>,
    /// Class of service of the copies.
    pub class_of_service: u32,
    /// The copies are cut to this length; 0 leaves them.
    pub packet_length_bytes: u32,
}

/// One copy of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replica {
    /// Where it goes. `None` is the number 0 of P4Runtime before 1.4, which is not there on the
    /// wire.
    pub port: Option<Port>,
    /// What tells it from others to the same port.
    pub instance: u32,
    /// Where it goes if the port is down, the first that is up.
    pub backups: Box<[Backup]>,
}

/// Where a copy goes instead.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Backup {
    /// The port, a byte string without leading zeros.
    pub port: Box<[u8]>,
    /// What tells it from others to the same port.
    pub instance: u32,
}
