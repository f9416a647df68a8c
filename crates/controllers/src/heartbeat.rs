//! The heartbeat by which a standby controller detects that the active controller is gone.
//!
//! The active controller accepts connections and sends a byte on each, once per interval. A standby
//! controller connects, and takes over when the connection ends or is silent for three intervals.
//! It never takes over before it has received the first byte.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The number of intervals without a byte after which a standby controller assumes that the active
/// one is gone.
pub const TIMEOUT: u32 = 3;

/// The longest pause before a standby controller connects again to an active controller that has
/// closed the connection before its first byte.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens for standby controllers, and sends them heartbeats for as long as the process lives.
/// Returns the address on which the controllers can connect, and the handle of the sending thread.
/// With port 0 the system chooses a port.
///
/// # Errors
///
/// Returns an error if the system refuses to listen on the address.
pub fn beat(address: SocketAddr, interval: Duration) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let thread = std::thread::Builder::new().name("heartbeat".into()).spawn(move || {
        let mut listeners: Vec<TcpStream> = Vec::new();
        loop {
            while let Ok((socket, _)) = listener.accept() {
                if socket.set_nonblocking(true).is_ok() {
                    listeners.push(socket);
                }
            }
            listeners.retain_mut(|socket| match socket.write(&[1]) {
                Ok(_) => true,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            });
            std::thread::sleep(interval);
        }
    })?;
    Ok((address, thread))
}

/// Waits until the active controller at `address` has sent at least one byte and is then gone, or
/// until `stop` is true.
pub fn watch(address: SocketAddr, interval: Duration, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut socket) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
            std::thread::sleep(interval);
            continue;
        };
        let mut is_open = socket.set_read_timeout(Some(interval * TIMEOUT)).is_ok();
        let (mut buffer, mut heard) = ([0; 64], false);
        while is_open {
            match socket.read(&mut buffer) {
                Ok(count) if count > 0 => heard = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The connection ended, was silent, or failed.
                _ if heard => return,
                _ => is_open = false,
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
        std::thread::sleep(interval.min(PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_heartbeat_that_ends_is_noticed_and_one_that_never_began_is_not() {
        let stop = AtomicBool::new(false);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let interval = Duration::from_secs(600);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(address, interval, &stop));
            // The first connection ends before a byte was sent.
            drop(listener.accept().unwrap());
            let (mut socket, _) = listener.accept().unwrap();
            assert!(!watcher.is_finished());
            socket.write_all(&[1]).unwrap();
            drop(socket);
            watcher.join().unwrap();
        });
    }

    #[test]
    fn connections_to_a_silent_listener_are_retried_with_pauses() {
        let stop = AtomicBool::new(false);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| watch(address, Duration::from_secs(600), &stop));
            drop(listener.accept().unwrap());
            let first = Instant::now();
            for number in 1..=3 {
                drop(listener.accept().unwrap());
                assert!(first.elapsed() >= PAUSE * number - PAUSE / 2, "connection {number}");
            }
            stop.store(true, Ordering::Relaxed);
            drop(listener);
        });
    }

    #[test]
    fn a_connected_standby_controller_receives_the_heartbeat() {
        let (address, _) = beat(([127, 0, 0, 1], 0).into(), Duration::from_millis(1)).unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        let mut bytes = [0; 3];
        socket.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [1; 3]);
    }
}
