//! The netlink messages by which a process queries the kernel for its TCP connections
//! (sock_diag(7), linux/inet_diag.h).

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::Addresses;

/// The size of the read buffer in bytes. The kernel fills it with as much of its reply as fits, up
/// to 32 KiB.
const CHUNK: usize = 64 * 1024;
/// The read timeout. The kernel replies immediately, so a longer wait means that no reply comes.
const TIMEOUT: Duration = Duration::from_secs(1);

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The netlink flags of a request for a single connection: `NLM_F_REQUEST`.
const SINGLE: u16 = 0x1;
/// The netlink flags of a request for a list of all connections: `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// The length in bytes of `struct nlmsghdr`, the header of a netlink message.
const HEADER: usize = 16;
/// The length in bytes of `struct inet_diag_req_v2`, a request for connections.
const REQUEST: usize = 56;
/// The numbers of two attributes in a reply: the one with `struct tcp_info`, and the one with the
/// memory that a socket's queues use.
pub(super) const INET_DIAG_INFO: u16 = 2;
pub(super) const INET_DIAG_SKMEMINFO: u16 = 7;
const TCP: u8 = 6;
/// The TCP states in which a connection can carry data: `TCP_ESTABLISHED` and `TCP_CLOSE_WAIT`.
pub(super) const STATES: [u8; 2] = [1, 8];

/// A netlink socket for queries about TCP connections.
#[derive(Debug)]
pub(super) struct Socket {
    socket: OwnedFd,
    sequence: u32,
    chunk: Vec<u8>,
}

/// The connections that a query asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// All connections of an address family to a remote port, or to any port if it is 0.
    All(AddressFamily, u16),
    /// The connection between two addresses.
    One(Addresses),
}

impl Socket {
    pub(super) fn open() -> io::Result<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        Ok(Self { socket, sequence: 0, chunk: vec![0; CHUNK] })
    }

    /// Sends a query to the kernel, and passes the description of each connection in the reply to
    /// `take`.
    pub(super) fn ask(&mut self, wanted: Wanted, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        send(&self.socket, &request(wanted, self.sequence), SendFlags::empty())?;
        loop {
            let (_, length) = recv(&self.socket, &mut self.chunk[..], RecvFlags::empty())?;
            let mut rest = self.chunk.get(..length).unwrap_or_default();
            while let Some(message) = Message::next(&mut rest) {
                if message.sequence != self.sequence {
                    continue;
                }
                match (message.kind, wanted) {
                    (NLMSG_DONE, _) => return Ok(()),
                    (NLMSG_ERROR, _) => return Err(error(message.body)),
                    (SOCK_DIAG_BY_FAMILY, Wanted::All(..)) => take(message.body),
                    (SOCK_DIAG_BY_FAMILY, Wanted::One(_)) => {
                        take(message.body);
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Returns the bytes of a netlink request for connections.
fn request(wanted: Wanted, sequence: u32) -> Vec<u8> {
    let (family, flags) = match wanted {
        Wanted::All(family, _) => (family, DUMP),
        Wanted::One(Addresses { remote, .. }) => match remote.ip() {
            IpAddr::V4(_) => (AddressFamily::INET, SINGLE),
            IpAddr::V6(_) => (AddressFamily::INET6, SINGLE),
        },
    };
    let length = (HEADER + REQUEST) as u32;
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    // The request has one bit for each attribute, and the lowest bit stands for attribute 1.
    let attributes = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
    bytes.extend([family.as_raw() as u8, TCP, attributes, 0]);
    let states = STATES.iter().fold(0u32, |states, state| states | 1 << state);
    bytes.extend(states.to_ne_bytes());
    match wanted {
        Wanted::All(_, port) => {
            bytes.extend([0; 2]);
            bytes.extend(port.to_be_bytes());
        }
        Wanted::One(Addresses { local, remote }) => {
            bytes.extend(local.port().to_be_bytes());
            bytes.extend(remote.port().to_be_bytes());
            bytes.extend(address(local.ip()));
            bytes.extend(address(remote.ip()));
            // Any interface, and `INET_DIAG_NOCOOKIE`: a socket with any identity.
            bytes.extend([0; 4]);
            bytes.extend([0xff; 8]);
        }
    }
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

/// Returns an IP address in the form that `struct inet_diag_sockid` requires.
fn address(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => {
            let mut bytes = [0; 16];
            for (byte, own) in bytes.iter_mut().zip(address.octets()) {
                *byte = own;
            }
            bytes
        }
        IpAddr::V6(address) => address.octets(),
    }
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

pub(super) fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Rounds a length up to a multiple of four bytes, since netlink messages and attributes are
/// aligned to four bytes.
pub(super) fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_answers_are_no_messages() {
        let refused = error(&(-2i32).to_ne_bytes());
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        assert!(Message::next(&mut [0; 7].as_slice()).is_none());
    }
}
