//! The TCP connections of this host as the kernel describes them, read by netlink (sock_diag(7)) as
//! `ss` does.
//!
//! The sender of requests sees only which bytes a connection accepts and delivers. The remaining
//! bytes are in queues of the kernel: those that the peer's receive window keeps back, those in
//! transit, and answers that this process has not read. The queries need no socket handles, so they
//! cover all protocols and TLS alike, and any thread can make them. [`Diag`] returns all
//! connections of a service, and [`Lookup`] a single one, which the kernel finds without a walk
//! through all sockets.

mod connection;
mod netlink;

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;

use rustix::net::AddressFamily;

pub use self::connection::Connection;
use self::netlink::{Socket, Wanted};

/// The TCP ports by which the connections between switches and controller are recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The port of a controller to which switches connect, as in OpenFlow.
    Dialled(u16),
    /// The ports of switches to which a controller connects, as in P4Runtime.
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

/// The addresses of the two ends of a connection, as seen from the local end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the peer.
    pub remote: SocketAddr,
}

impl Addresses {
    /// Returns whether the peer is on this host, so that no network lies between the two ends. This
    /// is the case if the peer's address is a loopback address, or equals that of this end, since a
    /// host that connects to one of its own addresses also uses it as the source.
    #[must_use]
    pub fn are_of_one_host(&self) -> bool {
        let [local, remote] = [self.local, self.remote].map(|end| end.ip().to_canonical());
        remote.is_loopback() || local == remote
    }
}

/// A netlink socket that lists the connections between switches and controller.
#[derive(Debug)]
pub struct Diag {
    socket: Socket,
    ends: Ends,
}

impl Diag {
    /// Opens a socket for queries in this network namespace.
    ///
    /// # Errors
    /// Returns an error if the system does not open the socket.
    pub fn open(ends: Ends) -> io::Result<Self> {
        Ok(Self { socket: Socket::open()?, ends })
    }

    /// Returns the connections between switches and controller in this network namespace.
    ///
    /// # Errors
    /// Returns an error if the kernel does not answer.
    pub fn connections(&mut self) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        let port = match &self.ends {
            Ends::Dialled(port) => *port,
            Ends::Served(_) => 0,
        };
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            let answer = self.socket.ask(Wanted::All(family, port), &mut |body| {
                let connection = Connection::parse(body);
                found.extend(connection.filter(|one| self.ends.include(one)));
            });
            match answer {
                // A kernel without IPv6 rejects the address family.
                Err(error) if family == AddressFamily::INET6 => {
                    let unknown = error.kind() == io::ErrorKind::NotFound;
                    if !unknown {
                        return Err(error);
                    }
                }
                answer => answer?,
            }
        }
        Ok(found)
    }
}

/// A netlink socket that looks up a single connection.
#[derive(Debug)]
pub struct Lookup {
    socket: Socket,
    addresses: Addresses,
}

impl Lookup {
    /// Opens a socket for queries in this network namespace.
    ///
    /// # Errors
    /// Returns an error if the system does not open the socket.
    pub fn open(addresses: Addresses) -> io::Result<Self> {
        Ok(Self { socket: Socket::open()?, addresses })
    }

    /// Returns the connection, or `None` if there is no such connection that carries data.
    ///
    /// # Errors
    /// Returns an error if the kernel does not answer.
    pub fn connection(&mut self) -> io::Result<Option<Connection>> {
        let mut found = None;
        let answer = self.socket.ask(Wanted::One(self.addresses), &mut |body| {
            found = Connection::parse(body);
        });
        match answer {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            answer => answer.map(|()| found),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Returns the two ends of a new TCP connection, and queries for it. Neither end reads unless a
    /// test does so.
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
    fn a_single_connection_is_found_by_its_addresses() {
        let (dialled, mut accepted, _) = pair();
        let local = dialled.local_addr().expect("an address");
        let remote = dialled.peer_addr().expect("an address");
        let mut lookup = Lookup::open(Addresses { local, remote }).expect("a socket");
        let before = lookup.connection().expect("an answer").expect("it is there");
        assert_eq!((before.local_port, before.remote_port), (local.port(), remote.port()));
        accepted.write_all(&[0; 300]).expect("room");
        (&dialled).write_all(&[0; 20]).expect("room");
        let after = lookup.connection().expect("an answer").expect("it is there");
        assert_eq!((after.unread, after.segments_arrived), (300, 1));
        assert_eq!(after.segments_sent, before.segments_sent + 1);
        // The other end is another connection with the addresses in reverse order.
        let mut other = Lookup::open(Addresses { local: remote, remote: local }).expect("a socket");
        let seen = other.connection().expect("an answer").expect("it is there");
        assert_eq!((seen.unread, seen.local_port), (20, remote.port()));
        // The listening socket of that port has ended, and no connection has these addresses.
        let absent = "127.0.0.1:1".parse().expect("an address");
        let mut none = Lookup::open(Addresses { local: remote, remote: absent }).expect("a socket");
        assert_eq!(none.connection().expect("an answer"), None);
    }

    #[test]
    fn a_listening_socket_is_no_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let local = listener.local_addr().expect("an address");
        let remote = "127.0.0.1:1".parse().expect("an address");
        let mut lookup = Lookup::open(Addresses { local, remote }).expect("a socket");
        assert_eq!(lookup.connection().expect("an answer"), None);
    }

    #[test]
    fn addresses_tell_whether_a_network_lies_between() {
        let are_of_one_host = |local: &str, remote: &str| {
            let [local, remote] = [local, remote].map(|text| text.parse().expect("an address"));
            Addresses { local, remote }.are_of_one_host()
        };
        assert!(are_of_one_host("127.0.0.1:40000", "127.0.0.1:9559"));
        assert!(are_of_one_host("127.0.0.1:40000", "127.0.0.7:9559"));
        assert!(are_of_one_host("10.1.2.3:40000", "10.1.2.3:9559"));
        assert!(are_of_one_host("[::ffff:127.0.0.1]:6653", "[::ffff:127.0.0.1]:40000"));
        assert!(are_of_one_host("[::1]:40000", "[::1]:9559"));
        assert!(!are_of_one_host("10.1.2.3:40000", "10.1.2.4:9559"));
        assert!(!are_of_one_host("[2001:db8::1]:40000", "[2001:db8::2]:9559"));
    }
}
