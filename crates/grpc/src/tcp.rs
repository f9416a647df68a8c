//! The TCP socket options that a measurement needs.

use std::io;
use std::os::fd::AsFd;

use rustix::net::sockopt;

/// The beginning of the names of congestion controls that pace segments (`bbr`, `bbr2`).
const PACING: &str = "bbr";
/// The congestion controls that replace one that paces segments, in order of preference. The system
/// may refuse the first one to an unprivileged process, but always permits the second one.
const UNPACED: [&str; 2] = ["cubic", "reno"];

/// Ensures that TCP sends data immediately: replaces the congestion control if the system's default
/// paces segments. BBR delays segments according to its bandwidth estimate and drains its window
/// every few seconds (draft-ietf-ccwg-bbr, section 5.3), which the measurement would attribute to
/// the peer as latency. Connections that a listener accepts inherit its congestion control.
///
/// # Errors
///
/// Returns an error if the socket is not a TCP socket, or if the system allows no other congestion
/// control.
pub fn send_unpaced(socket: impl AsFd) -> io::Result<()> {
    if !sockopt::tcp_congestion(&socket)?.starts_with(PACING) {
        return Ok(());
    }
    let mut last = Ok(());
    for name in UNPACED {
        last = sockopt::set_tcp_congestion(&socket, name);
        if last.is_ok() {
            break;
        }
    }
    last.map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn neither_end_of_a_connection_paces() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        // BBR is selected, if the system has it, so that there is something to replace.
        let had_bbr = sockopt::set_tcp_congestion(&listener, "bbr").is_ok();
        send_unpaced(&listener).expect("granted");
        let dialled = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        send_unpaced(&dialled).expect("granted");
        let (accepted, _) = listener.accept().expect("accepted");
        for socket in [dialled.as_fd(), accepted.as_fd()] {
            let name = sockopt::tcp_congestion(socket).expect("a TCP socket");
            assert!(!name.starts_with(PACING), "{name}, BBR available: {had_bbr}");
        }
    }

    #[test]
    fn another_congestion_control_is_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        sockopt::set_tcp_congestion(&listener, "reno").expect("always granted");
        send_unpaced(&listener).expect("nothing to do");
        assert_eq!(sockopt::tcp_congestion(&listener).expect("a TCP socket"), "reno");
    }

    #[test]
    fn other_sockets_are_refused() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
        assert!(send_unpaced(&socket).is_err());
    }
}
