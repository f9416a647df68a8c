//! The kernel's table of TCP connections, read by netlink (sock_diag(7)) as `ss` does.
//!
//! Queues and counters of a connection are fields of `struct inet_diag_msg` and `struct tcp_info`
//! (linux/inet_diag.h, linux/tcp.h). The latter has grown over the years, only at its end, so a
//! field is absent where an older kernel's struct is shorter.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// The size of the read buffer in bytes. The kernel fills it with as much of its reply as fits, up
/// to 32 KiB.
const CHUNK: usize = 64 * 1024;
/// The read timeout. The kernel replies immediately, so a longer wait means that no reply comes.
const TIMEOUT: Duration = Duration::from_secs(1);

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The netlink flags of a request for a list of all connections: `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// The length in bytes of `struct nlmsghdr`, the header of a netlink message.
const HEADER: usize = 16;
/// The length in bytes of `struct inet_diag_req_v2`, a request for connections.
const REQUEST: usize = 56;
/// The length in bytes of `struct inet_diag_msg`, the description of a connection.
const MESSAGE: usize = 72;
/// The numbers of the attributes that contain `struct tcp_info` and the memory used by a socket's
/// queues.
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKMEMINFO: u16 = 7;
const TCP: u8 = 6;
/// The TCP states in which a connection carries data, as a bit mask: `TCP_ESTABLISHED` and
/// `TCP_CLOSE_WAIT`.
const STATES: u32 = 1 << 1 | 1 << 8;

/// The ports that identify the connections between switches and controller on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The connections that switches dialled to this port of the controller.
    Dialled(u16),
    /// The connections that the controller dialled to these ports of switches.
    Served(HashSet<u16>),
}

impl Ends {
    fn include(&self, connection: &Connection) -> bool {
        match self {
            Self::Dialled(port) => connection.remote_port == *port,
            Self::Served(ports) => ports.contains(&connection.local_port),
        }
    }
}

/// The kernel's description of a TCP connection. Its counters start at the establishment of the
/// connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) inode: u32,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    /// The number of bytes that arrived and that this process has not read.
    pub(super) unread: u32,
    /// The number of bytes that this process wrote and the peer has not acknowledged
    /// (`unacknowledged`), and the number of these that were never sent (`not_sent`).
    pub(super) unacknowledged: u32,
    pub(super) not_sent: u32,
    /// The number of sent bytes that the peer acknowledged, and the number of bytes that arrived.
    pub(super) acknowledged: u64,
    pub(super) arrived: u64,
    /// The number of bytes after the last acknowledged one that the peer's receive window accepts,
    /// or `None` if the kernel does not report it.
    pub(super) peer_window: Option<u32>,
    /// The memory that received data occupies, and the most that it may occupy, in bytes.
    pub(super) memory: u32,
    pub(super) memory_most: u32,
    /// The maximum segment size in bytes, for sending and for receiving.
    pub(super) send_segment: u32,
    pub(super) receive_segment: u32,
    /// The minimum round-trip time in microseconds, if one was measured.
    pub(super) least_rtt: Option<u32>,
    /// The time in microseconds for which the peer's receive window prevented sending.
    pub(super) window_limited: u64,
    /// The number of retransmitted segments.
    pub(super) retransmissions: u32,
}

impl Connection {
    /// Returns whether the peer's receive window prevents the kernel from sending bytes that were
    /// written. If the kernel does not report the size of the window, the decision uses `limited`,
    /// the share of the time since an earlier sample in which the window prevented sending.
    pub(super) fn is_kept_back(&self, limited: f64) -> bool {
        if self.not_sent == 0 {
            return false;
        }
        let next = self.not_sent.min(self.send_segment);
        let to = self.unacknowledged.saturating_sub(self.not_sent).saturating_add(next);
        self.peer_window.map_or(limited >= 0.5, |window| to > window)
    }

    /// Returns whether this end's receive window prevents the peer from sending. The kernel closes
    /// the window when less than a sixteenth of the socket's memory is free, or less than the
    /// memory that one segment occupies.
    pub(super) fn keeps_peer_back(&self) -> bool {
        let left = self.memory_most.saturating_sub(self.memory);
        self.unread > 0 && (left <= self.memory_most / 16 || left / 2 < self.receive_segment)
    }
}

/// A netlink socket for queries of the kernel's connections.
#[derive(Debug)]
pub(super) struct Diag {
    socket: OwnedFd,
    ends: Ends,
    sequence: u32,
    chunk: Vec<u8>,
}

impl Diag {
    pub(super) fn open(ends: Ends) -> io::Result<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        Ok(Self { socket, ends, sequence: 0, chunk: vec![0; CHUNK] })
    }

    /// Returns the connections between switches and controller in this network namespace.
    pub(super) fn connections(&mut self) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            match self.ask(family, &mut found) {
                // A kernel without IPv6 rejects the address family.
                Err(error) if family == AddressFamily::INET6 => {
                    let unknown = error.kind() == io::ErrorKind::NotFound;
                    if !unknown {
                        return Err(error);
                    }
                }
                asked => asked?,
            }
        }
        Ok(found)
    }

    fn ask(&mut self, family: AddressFamily, found: &mut Vec<Connection>) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let port = match &self.ends {
            Ends::Dialled(port) => *port,
            Ends::Served(_) => 0,
        };
        send(&self.socket, &request(family, port, self.sequence), SendFlags::empty())?;
        loop {
            let (_, length) = recv(&self.socket, &mut self.chunk[..], RecvFlags::empty())?;
            let mut rest = self.chunk.get(..length).unwrap_or_default();
            while let Some(message) = Message::next(&mut rest) {
                if message.sequence != self.sequence {
                    continue;
                }
                match message.kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => return Err(error(message.body)),
                    SOCK_DIAG_BY_FAMILY => {
                        let connection = Connection::parse(message.body);
                        found.extend(connection.filter(|one| self.ends.include(one)));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Returns the netlink request for all connections of an address family to `port`, or to any port
/// if `port` is 0.
fn request(family: AddressFamily, port: u16, sequence: u32) -> Vec<u8> {
    let length = (HEADER + REQUEST) as u32;
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    // The request has one bit for each attribute, and the lowest bit stands for attribute 1.
    let attributes = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
    bytes.extend([family.as_raw() as u8, TCP, attributes, 0]);
    bytes.extend(STATES.to_ne_bytes());
    bytes.extend([0; 2]);
    bytes.extend(port.to_be_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

/// Returns the error in the body of an `NLMSG_ERROR` message.
fn error(body: &[u8]) -> io::Error {
    match read(body, 0).map(i32::from_ne_bytes) {
        Some(code) if code < 0 => io::Error::from_raw_os_error(-code),
        _ => io::Error::other("the kernel's answer holds no list of sockets"),
    }
}

/// A netlink message: its type and its body.
struct Message<'a> {
    kind: u16,
    sequence: u32,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Removes the next message from the front of `rest`, and returns it. Returns `None` if no
    /// complete message is left.
    fn next(rest: &mut &'a [u8]) -> Option<Self> {
        let length = u32::from_ne_bytes(read(rest, 0)?) as usize;
        let kind = u16::from_ne_bytes(read(rest, 4)?);
        let sequence = u32::from_ne_bytes(read(rest, 8)?);
        let body = rest.get(HEADER..length)?;
        *rest = rest.get(padded(length)..).unwrap_or_default();
        Some(Self { kind, sequence, body })
    }
}

impl Connection {
    /// Parses `struct inet_diag_msg` and its attributes. Returns `None` if `struct tcp_info` is
    /// missing.
    fn parse(body: &[u8]) -> Option<Self> {
        let word = |at: usize| read(body, at).map(u32::from_ne_bytes);
        let port = |at: usize| read(body, at).map(u16::from_be_bytes);
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

    /// Returns the connection with the fields of `struct tcp_info` added.
    fn with_info(self, info: &[u8]) -> Option<Self> {
        let word = |at: usize| read(info, at).map(u32::from_ne_bytes);
        let long = |at: usize| read(info, at).map(u64::from_ne_bytes);
        Some(Self {
            send_segment: word(16)?,
            receive_segment: word(20)?,
            retransmissions: word(100)?,
            acknowledged: long(120)?,
            arrived: long(128)?,
            not_sent: word(144)?,
            least_rtt: word(148).filter(|rtt| *rtt != u32::MAX),
            window_limited: long(176)?,
            peer_window: word(228),
            ..self
        })
    }
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Rounds a length up to a multiple of four bytes, because netlink messages and attributes begin at
/// such offsets.
fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Returns a connected pair of sockets. Neither end reads unless a test does so.
    fn pair() -> (TcpStream, TcpStream, Diag) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let dialled = TcpStream::connect(address).expect("connected");
        let (accepted, _) = listener.accept().expect("accepted");
        let diag = Diag::open(Ends::Dialled(address.port())).expect("a socket");
        (dialled, accepted, diag)
    }

    fn only(diag: &mut Diag) -> Connection {
        let found = diag.connections().expect("an answer");
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }

    #[test]
    fn bytes_are_counted_in_the_queue_that_holds_them() {
        let (dialled, mut accepted, mut diag) = pair();
        assert_eq!(only(&mut diag).unread, 0);
        accepted.write_all(&[0; 1_000]).expect("room");
        let there = only(&mut diag);
        assert_eq!((there.unread, there.arrived), (1_000, 1_000));
        assert!(!there.keeps_peer_back());
        let mut buffer = [0; 600];
        (&dialled).read_exact(&mut buffer).expect("bytes");
        assert_eq!(only(&mut diag).unread, 400);
        assert!(there.least_rtt.is_some_and(|rtt| rtt < 1_000_000), "{there:?}");
    }

    #[test]
    fn a_peer_that_does_not_read_keeps_bytes_back() {
        let (mut dialled, _accepted, mut diag) = pair();
        dialled.set_nonblocking(true).expect("a socket");
        assert!(!only(&mut diag).is_kept_back(0.0));
        let block = [0; 64 * 1024];
        // The amount that one end sends and the other end buffers is limited to some megabytes.
        while dialled.write(&block).is_ok() {}
        let full = only(&mut diag);
        assert!(full.not_sent > 0 && full.is_kept_back(0.0), "{full:?}");
        // The kernel of this host may not report the window.
        let unknown = Connection { peer_window: None, ..full };
        assert!(unknown.is_kept_back(1.0) && !unknown.is_kept_back(0.1));
    }

    #[test]
    fn an_end_that_reads_nothing_keeps_its_peer_back() {
        let (_dialled, mut accepted, mut diag) = pair();
        accepted.set_nonblocking(true).expect("a socket");
        let block = [0; 64 * 1024];
        while accepted.write(&block).is_ok() {}
        let full = only(&mut diag);
        assert!(full.keeps_peer_back(), "{full:?}");
    }

    #[test]
    fn only_the_probes_end_of_a_connection_is_reported() {
        let (dialled, accepted, _) = pair();
        let served = accepted.local_addr().expect("an address").port();
        let mut diag = Diag::open(Ends::Served([served].into())).expect("a socket");
        (&dialled).write_all(&[0; 77]).expect("room");
        assert_eq!(only(&mut diag).unread, 77);
    }

    #[test]
    fn short_answers_are_no_connections() {
        assert_eq!(Connection::parse(&[0; MESSAGE - 1]), None);
        assert_eq!(Connection::parse(&[0; MESSAGE + 40]), None);
        let refused = error(&(-2i32).to_ne_bytes());
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        assert!(Message::next(&mut [0; 7].as_slice()).is_none());
    }
}
