//! A listening socket for thousands of switches that connect at the same time.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

/// The number of connections that may wait to be accepted, which the system may reduce. The
/// standard library's 128 are too few: when thousands of switches connect at once, connections
/// beyond them are retried only after a second.
const BACKLOG: i32 = 4096;

/// Creates a listening socket that does not block.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    // A restarted controller need not wait until the connections of the previous one have left
    // TIME_WAIT.
    net::sockopt::set_socket_reuseaddr(&socket, true)?;
    // If the system refuses this option, TCP paces answers like those of other programs on this
    // host.
    let _ = grpc::tcp::send_unpaced(&socket);
    net::bind(&socket, &address)?;
    net::listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// Waits until a connection can be accepted. Returns whether one arrived within `patience`.
pub(super) fn wait(listener: &TcpListener, patience: Duration) -> io::Result<bool> {
    let timeout = timespec(patience);
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
