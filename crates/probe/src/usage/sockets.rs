//! Finds the process that holds a TCP socket, by `/proc/net/tcp` and the file descriptors of
//! processes (proc_net_tcp in the kernel documentation; proc_pid_fd(5)).

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;

use super::local::all_pids;

/// The reason why the process behind a socket was not found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FindProcessError {
    /// No socket of this host matches, or only sockets of this process do.
    #[error("no process of this host {what} {address}")]
    NoSocket {
        /// The relation of the process to the socket: `listens on` or `is connected to`.
        what: &'static str,
        /// The address of the socket.
        address: SocketAddr,
    },
    /// A socket matches, but this user may not see which process owns it.
    #[error(
        "the process that {what} {address} belongs to another user; run as that user or as root, \
         or name it in controller.process"
    )]
    Hidden {
        /// The relation of the process to the socket: `listens on` or `is connected to`.
        what: &'static str,
        /// The address of the socket.
        address: SocketAddr,
    },
    /// The kernel's table of sockets cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The path of the table.
        path: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns the IDs of the processes of this host, other than this one, that listen on `address` or
/// on all addresses. There are several if a process has inherited the socket.
///
/// # Errors
///
/// Returns an error if there are none, or if they belong to another user.
pub fn listeners_at(address: SocketAddr) -> Result<Vec<u32>, FindProcessError> {
    const LISTEN: u8 = 0x0A;
    owners("listens on", address, |socket| {
        socket.state == LISTEN
            && socket.local.port() == address.port()
            && covers(socket.local.ip(), address.ip())
    })
}

/// Returns the IDs of the processes of this host, other than this one, that are connected to a
/// server of the probe at `address`. An unspecified address stands for all local addresses.
///
/// # Errors
///
/// Returns an error if there are none, or if they belong to another user.
pub fn diallers_of(address: SocketAddr) -> Result<Vec<u32>, FindProcessError> {
    const ESTABLISHED: u8 = 0x01;
    owners("is connected to", address, |socket| {
        socket.state == ESTABLISHED
            && socket.remote.port() == address.port()
            && covers(address.ip(), socket.remote.ip())
    })
}

/// Returns whether a socket that is bound to the address `bound` accepts connections to the address
/// `wanted`.
fn covers(bound: IpAddr, wanted: IpAddr) -> bool {
    let (bound, wanted) = (bound.to_canonical(), wanted.to_canonical());
    // A socket bound to :: accepts IPv4 as well, unless an option forbids it, which the table does
    // not show.
    bound == wanted
        || match bound {
            IpAddr::V4(bound) => bound.is_unspecified() && wanted.is_ipv4(),
            IpAddr::V6(bound) => bound.is_unspecified(),
        }
}

/// A TCP socket, as `/proc/net/tcp` lists it.
struct Socket {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    inode: u64,
}

/// Returns the IDs of the processes that own the sockets for which `wanted` returns true.
fn owners(
    what: &'static str,
    address: SocketAddr,
    wanted: impl Fn(&Socket) -> bool,
) -> Result<Vec<u32>, FindProcessError> {
    let mut inodes = HashSet::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        match fs::read_to_string(path) {
            Ok(table) => {
                let sockets = table.lines().filter_map(parse);
                inodes.extend(sockets.filter(&wanted).map(|socket| socket.inode));
            }
            // A host without IPv6 has no second table.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.ends_with('6') => {}
            Err(source) => return Err(FindProcessError::Read { path, source }),
        }
    }
    if inodes.is_empty() {
        return Err(FindProcessError::NoSocket { what, address });
    }
    let own = std::process::id();
    let holds = |pid: &u32| *pid != own && sockets_of(*pid).any(|inode| inodes.contains(&inode));
    let mut pids: Vec<u32> = all_pids().filter(holds).collect();
    pids.sort_unstable();
    if !pids.is_empty() {
        return Ok(pids);
    }
    if sockets_of(own).any(|inode| inodes.contains(&inode)) {
        return Err(FindProcessError::NoSocket { what, address });
    }
    Err(FindProcessError::Hidden { what, address })
}

/// Returns the inodes of the sockets of this process.
pub(crate) fn own_sockets() -> impl Iterator<Item = u64> {
    sockets_of(std::process::id())
}

fn sockets_of(pid: u32) -> impl Iterator<Item = u64> {
    fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().filter_map(|entry| {
        let link = fs::read_link(entry.ok()?.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    })
}

/// Parses a line of `/proc/net/tcp`. Returns `None` for its heading.
fn parse(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    Some(Socket {
        local: endpoint(fields.get(1)?)?,
        remote: endpoint(fields.get(2)?)?,
        state: u8::from_str_radix(fields.get(3)?, 16).ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// Parses an address such as `0100007F:1F90`, as `/proc/net/tcp` contains it. An IP address is in
/// groups of four bytes in network order, each printed as a number in the host's byte order.
fn endpoint(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let group = |from: usize| -> Option<[u8; 4]> {
        Some(u32::from_str_radix(address.get(from..from + 8)?, 16).ok()?.to_ne_bytes())
    };
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(group(0)?)),
        32 => {
            let groups = [group(0)?, group(8)?, group(16)?, group(24)?];
            let mut bytes = [0; 16];
            for (into, from) in bytes.iter_mut().zip(groups.as_flattened()) {
                *into = *from;
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::super::tests::turn;
    use super::*;

    #[test]
    fn table_lines_are_read() {
        assert!(parse("  sl  local_address rem_address   st tx_queue rx_queue").is_none());
        if cfg!(target_endian = "little") {
            let line = "   0: 0100007F:1F90 0200000A:C350 01 00000000:00000000 00:00000000 00000000 \
                        1000        0 12345 1 0000000000000000 100 0 0 10 0";
            let socket = parse(line).expect("a socket");
            assert_eq!(socket.local, "127.0.0.1:8080".parse().expect("an address"));
            assert_eq!(socket.remote, "10.0.0.2:50000".parse().expect("an address"));
            assert_eq!((socket.state, socket.inode), (1, 12345));
            let mapped = endpoint("0000000000000000FFFF00000100007F:0050").expect("an address");
            assert_eq!(mapped, "127.0.0.1:80".parse().expect("an address"));
            let six = endpoint("00000000000000000000000001000000:0050").expect("an address");
            assert_eq!(six, "[::1]:80".parse().expect("an address"));
        }
    }

    #[test]
    fn wildcards_cover_addresses() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert!(covers(ip("0.0.0.0"), ip("127.0.0.1")));
        assert!(covers(ip("::"), ip("127.0.0.1")));
        assert!(covers(ip("::"), ip("::1")));
        assert!(!covers(ip("0.0.0.0"), ip("::1")));
        assert!(!covers(ip("127.0.0.1"), ip("127.0.0.2")));
    }

    #[test]
    fn sockets_of_this_process_are_left_out() {
        let _turn = turn();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let _client = TcpStream::connect(address).expect("connected");
        for found in [listeners_at(address), diallers_of(address)] {
            assert!(matches!(found, Err(FindProcessError::NoSocket { .. })), "{found:?}");
        }
    }

    #[test]
    fn a_port_without_listener_is_named() {
        let _turn = turn();
        let address = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
            listener.local_addr().expect("an address")
        };
        let error = listeners_at(address).expect_err("closed");
        assert_eq!(error.to_string(), format!("no process of this host listens on {address}"));
    }
}
