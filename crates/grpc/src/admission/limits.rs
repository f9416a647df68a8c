//! The limits that protect a server from untrusted clients.

use std::{fmt, time::Duration};

/// The limits on the resources that clients may use. [`super::Admission`] or HTTP/2 enforces each
/// limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum time from accepting a connection until the client's SETTINGS frame arrives. It
    /// includes the TLS handshake.
    pub handshake: Duration,
    /// The maximum number of connections whose handshake is in progress.
    pub half_open: usize,
    /// The maximum number of connections of a server.
    pub connections: usize,
    /// The maximum number of connections from one address, or from one /64 network of IPv6.
    pub connections_per_address: usize,
    /// The maximum number of open calls on one connection. A P4Runtime server adds one to this
    /// limit for each of its devices.
    pub calls: u32,
    /// The maximum number of calls on one connection that the client may cancel before the server
    /// has handled them.
    pub calls_given_up: usize,
    /// The maximum size of a request's headers, in bytes as HTTP/2 counts them (RFC 9113, section
    /// 6.5.2).
    pub header_bytes: u32,
    /// The maximum number of bytes held for one connection: its windows, incomplete messages,
    /// calls, and messages that wait to be sent.
    pub held_per_connection: usize,
    /// The maximum number of bytes held for all connections of a server together.
    pub held: usize,
}

impl Limits {
    /// Limits that only a malfunctioning client reaches. They are meant for a server whose clients
    /// are measured, so that no slow or large client is refused.
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

/// The limit that caused the server to refuse or close a connection, or to refuse a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The handshake took longer than [`Limits::handshake`].
    Handshake,
    /// More connections than [`Limits::half_open`] were still in their handshakes.
    HalfOpen,
    /// There were more connections than [`Limits::connections`].
    Connections,
    /// One address had more connections than [`Limits::connections_per_address`].
    ConnectionsPerAddress,
    /// The connection would have held more bytes than [`Limits::held_per_connection`].
    HeldPerConnection,
    /// All connections together would have held more bytes than [`Limits::held`].
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
