//! The kernel's description of a TCP connection: `struct inet_diag_msg` with its attributes
//! (linux/inet_diag.h, linux/tcp.h).

use super::netlink::{INET_DIAG_INFO, INET_DIAG_SKMEMINFO, STATES, padded, read};

/// The length in bytes of `struct inet_diag_msg`, the description of a connection.
const MESSAGE: usize = 72;
/// The states of TCP congestion control in which the kernel retransmits lost segments:
/// `TCP_CA_Recovery` and `TCP_CA_Loss`, as numbered in `struct tcp_info`.
const RECOVERS: [u8; 2] = [3, 4];

/// The kernel's description of a TCP connection. Its counters start at 0 when the connection is
/// established.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// The inode of the socket.
    pub inode: u32,
    /// The port of this end.
    pub local_port: u16,
    /// The port of the peer.
    pub remote_port: u16,
    /// The number of bytes that have arrived and that this process has not read yet.
    pub unread: u32,
    /// The number of bytes that this process wrote and the peer has not acknowledged yet.
    pub unacknowledged: u32,
    /// The number of unacknowledged bytes that the kernel has not sent yet.
    pub not_sent: u32,
    /// The number of sent bytes that the peer acknowledged.
    pub acknowledged: u64,
    /// The number of bytes that arrived.
    pub arrived: u64,
    /// The peer's receive window: the number of bytes after the last acknowledged one that the peer
    /// accepts. It is `None` if the kernel does not report it.
    pub peer_window: Option<u32>,
    /// The memory that received data occupies in this end's receive buffer, in bytes.
    pub memory: u32,
    /// The size of this end's receive buffer, in bytes.
    pub memory_most: u32,
    /// The maximum segment size in bytes for sending.
    pub send_segment: u32,
    /// The maximum segment size in bytes for receiving.
    pub receive_segment: u32,
    /// The smoothed round-trip time in microseconds. It includes the time in queues of the network,
    /// and the time for which the peer delays acknowledgements.
    pub smoothed_rtt: u32,
    /// The minimum round-trip time in microseconds, if one was measured.
    pub least_rtt: Option<u32>,
    /// The time in microseconds for which the peer's receive window prevented sending.
    pub window_limited: u64,
    /// The number of retransmitted segments.
    pub retransmissions: u32,
    /// Whether lost segments are being sent again.
    pub is_recovering: bool,
    /// The number of segments with data that were sent.
    pub segments_sent: u32,
    /// The number of segments with data that arrived.
    pub segments_arrived: u32,
    /// The number of segments that arrived before an earlier one; 0 if the kernel does not report
    /// it.
    pub out_of_order: u32,
}

impl Connection {
    /// Returns whether bytes that this process wrote wait because the peer's receive window is
    /// full. If the kernel does not report the size of the window, the decision uses `limited`, the
    /// share of the time since an earlier sample in which the window prevented sending.
    #[must_use]
    pub fn is_kept_back(&self, limited: f64) -> bool {
        if self.not_sent == 0 {
            return false;
        }
        let next = self.not_sent.min(self.send_segment);
        let to = self.unacknowledged.saturating_sub(self.not_sent).saturating_add(next);
        self.peer_window.map_or(limited >= 0.5, |window| to > window)
    }

    /// Returns whether the peer has to wait because this end's receive window is closed. The kernel
    /// closes the window when less than a sixteenth of the receive buffer is free, or less than the
    /// memory that one segment occupies.
    #[must_use]
    pub fn keeps_peer_back(&self) -> bool {
        let left = self.memory_most.saturating_sub(self.memory);
        self.unread > 0 && (left <= self.memory_most / 16 || left / 2 < self.receive_segment)
    }

    /// Returns the number of bytes written to the connection since it was established.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.acknowledged + u64::from(self.unacknowledged)
    }

    /// Returns the number of bytes read from the connection since it was established.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.arrived.saturating_sub(self.unread.into())
    }

    /// Parses `struct inet_diag_msg` and its attributes. Returns `None` if `struct tcp_info` is
    /// missing, or if the socket is not a connection that can carry data.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let word = |at: usize| read(body, at).map(u32::from_ne_bytes);
        let port = |at: usize| read(body, at).map(u16::from_be_bytes);
        if !STATES.contains(body.get(1)?) {
            return None;
        }
        let mut described = Self {
            local_port: port(4)?,
            remote_port: port(6)?,
            unread: word(56)?,
            unacknowledged: word(60)?,
            inode: word(68)?,
            ..Self::default()
        };
        let mut has_info = false;
        let mut rest = body.get(MESSAGE..)?;
        while let (Some(length), Some(kind)) = (read(rest, 0), read(rest, 2)) {
            let length = usize::from(u16::from_ne_bytes(length));
            let value = rest.get(4..length)?;
            match u16::from_ne_bytes(kind) {
                INET_DIAG_INFO => {
                    described = described.with_info(value)?;
                    has_info = true;
                }
                INET_DIAG_SKMEMINFO => {
                    described.memory = u32::from_ne_bytes(read(value, 0)?);
                    described.memory_most = u32::from_ne_bytes(read(value, 4)?);
                }
                _ => {}
            }
            rest = rest.get(padded(length)..).unwrap_or_default();
        }
        has_info.then_some(described)
    }

    /// Returns the connection with the fields of `struct tcp_info` added. Every version of the
    /// kernel has only appended fields to that struct, so a field is absent if an older kernel's
    /// struct ends before it.
    fn with_info(self, info: &[u8]) -> Option<Self> {
        let word = |at: usize| read(info, at).map(u32::from_ne_bytes);
        let long = |at: usize| read(info, at).map(u64::from_ne_bytes);
        Some(Self {
            is_recovering: RECOVERS.contains(info.get(1)?),
            send_segment: word(16)?,
            receive_segment: word(20)?,
            smoothed_rtt: word(68)?,
            retransmissions: word(100)?,
            acknowledged: long(120)?,
            arrived: long(128)?,
            not_sent: word(144)?,
            least_rtt: word(148).filter(|rtt| *rtt != u32::MAX),
            segments_arrived: word(152)?,
            segments_sent: word(156)?,
            window_limited: long(176)?,
            out_of_order: word(224).unwrap_or(0),
            peer_window: word(228),
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_descriptions_are_no_connections() {
        let mut body = [0; MESSAGE + 40];
        body[1] = STATES[0];
        assert_eq!(Connection::parse(&body[..MESSAGE - 1]), None);
        assert_eq!(Connection::parse(&body), None);
    }
}
