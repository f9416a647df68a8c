//! The limits within which a server serves peers that it does not trust.

use std::{fmt, time::Duration};

/// What clients may take of a server. Each field is a limit that [`super::Admission`] or HTTP/2
/// enforces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time from the acceptance of a connection to the client's SETTINGS frame, TLS included.
    pub handshake: Duration,
    /// The number of connections whose handshake is not over.
    pub half_open: usize,
    /// The number of connections.
    pub connections: usize,
    /// The number of connections from one address; for IPv6, from one network of 64 bits.
    pub connections_per_address: usize,
    /// The number of calls that are open on one connection. A server of P4Runtime adds one for each of
    /// its devices.
    pub calls: u32,
    /// The number of calls on one connection that its client began and gave up before the server
    /// came to them.
    pub calls_given_up: usize,
    /// The headers of one request, in bytes as HTTP/2 counts them (RFC 9113, section 6.5.2).
    pub header_bytes: u32,
    /// The bytes that are held for one connection: windows, messages that have begun, calls, and
    /// messages that wait to be sent.
    pub held_per_connection: usize,
    /// The bytes that are held for all connections.
    pub held: usize,
}

impl Limits {
    /// Limits that only a client without bounds meets, for a server whose clients are measured: what
    /// a slower or larger client does must not be refused.
    pub const WIDE: Self = Self {
        handshake: Duration::from_secs(3600),
        half_open: 1 << 20,
        connections: 1 << 20,
        connections_per_address: 1 << 20,
        calls: 1 << 20,
        calls_given_up: 100_000,
        header_bytes: 1 << 20,
        held_per_connection: 1 << 40,
        held: 1 << 40,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            half_open: 128,
            connections: 1024,
            connections_per_address: 256,
            calls: 128,
            calls_given_up: 1024,
            header_bytes: 16 << 10,
            held_per_connection: 128 << 20,
            held: 1 << 30,
        }
    }
}

/// A limit that a connection met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::handshake`].
    Handshake,
    /// [`Limits::half_open`].
    HalfOpen,
    /// [`Limits::connections`].
    Connections,
    /// [`Limits::connections_per_address`].
    ConnectionsPerAddress,
    /// [`Limits::held_per_connection`].
    HeldPerConnection,
    /// [`Limits::held`].
    Held,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Handshake => "the time for a handshake has passed",
            Self::HalfOpen => "too many handshakes are under way",
            Self::Connections => "there are too many connections",
            Self::ConnectionsPerAddress => "there are too many connections from its address",
            Self::HeldPerConnection => "too many bytes are held for the connection",
            Self::Held => "too many bytes are held for all connections",
        })
    }
}
