//! A thread that observes the TCP connections to the switch while requests wait for answers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use measuring::tcp::{Addresses, Connection, Lookup};

use super::Evidence;

/// The time between two observations, each of which takes a few microseconds.
const INTERVAL: Duration = Duration::from_millis(2);

/// The observing thread, which ends when this value is dropped.
pub(crate) struct Sampler {
    over: Over,
    thread: JoinHandle<io::Result<Option<Evidence>>>,
}

/// A flag that ends the thread when it is dropped.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A TCP connection that is observed.
struct Watched {
    lookup: Lookup,
    first: Connection,
    last: Connection,
}

impl Sampler {
    /// Starts to observe connections. Returns `None` if the system cannot start a thread; there is
    /// no evidence then.
    pub(crate) fn start(connections: Vec<Addresses>) -> Option<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let named = thread::Builder::new().name("connections".to_owned());
        let thread = named.spawn(move || watch(&connections, &is_over)).ok()?;
        Some(Self { over: Over(over), thread })
    }

    /// Ends the thread, and returns its observations. Returns `None` if the kernel does not report
    /// them, or if a connection has ended.
    pub(crate) fn end(self) -> Option<Evidence> {
        let Self { over, thread } = self;
        drop(over);
        thread.thread().unpark();
        thread.join().ok()?.ok()?
    }
}

/// Observes connections until `over` is set. Returns `None` if one of them does not exist.
fn watch(connections: &[Addresses], over: &AtomicBool) -> io::Result<Option<Evidence>> {
    let mut watched = Vec::new();
    for addresses in connections {
        let mut lookup = Lookup::open(*addresses)?;
        let Some(first) = lookup.connection()? else { return Ok(None) };
        watched.push(Watched { lookup, first, last: first });
    }
    let mut evidence = Evidence::new(connections.iter().all(Addresses::are_of_one_host));
    let mut looked = Instant::now();
    loop {
        thread::park_timeout(INTERVAL);
        let is_over = over.load(Ordering::Relaxed);
        let now = Instant::now();
        let between = now.duration_since(looked);
        looked = now;
        for one in &mut watched {
            let Some(found) = one.lookup.connection()? else { return Ok(None) };
            // When the work is over, no request waits any more.
            if !is_over {
                evidence.look(&one.last, &found, between);
            }
            one.last = found;
        }
        if is_over {
            break;
        }
    }
    for one in &watched {
        evidence.count(&one.first, &one.last);
    }
    Ok(Some(evidence))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Returns a connected pair of sockets, with the addresses of the first.
    fn pair() -> (TcpStream, TcpStream, Addresses) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let dialled = TcpStream::connect(address).expect("connected");
        let (accepted, _) = listener.accept().expect("accepted");
        let local = dialled.local_addr().expect("an address");
        (dialled, accepted, Addresses { local, remote: address })
    }

    #[test]
    fn a_peer_that_does_not_read_is_seen() {
        let (mut dialled, mut accepted, addresses) = pair();
        dialled.set_nonblocking(true).expect("a socket");
        let block = [0; 64 * 1024];
        let mut written = 0;
        while let Ok(count) = dialled.write(&block) {
            written += count;
        }
        let mut lookup = Lookup::open(addresses).expect("a socket");
        let full = lookup.connection().expect("an answer").expect("it is there");
        let mut evidence = Evidence::new(false);
        evidence.look(&full, &full, INTERVAL);
        assert_eq!((evidence.looks, evidence.window_closed, evidence.in_network), (1, 1, 0));
        // When the peer has read everything, nothing waits.
        let mut rest = vec![0; written];
        accepted.read_exact(&mut rest).expect("bytes");
        let empty = lookup.connection().expect("an answer").expect("it is there");
        evidence.look(&full, &empty, INTERVAL);
        assert_eq!((evidence.looks, evidence.window_closed, evidence.in_network), (2, 1, 0));
    }

    #[test]
    fn segments_before_the_series_are_not_counted() {
        let (mut dialled, _accepted, addresses) = pair();
        dialled.write_all(&[0; 10]).expect("room");
        let sampler = Sampler::start(vec![addresses]).expect("a thread");
        let seen = sampler.end().expect("the kernel tells");
        // The bytes before the series are not counted.
        assert_eq!((seen.is_local, seen.segments_sent), (true, 0), "{seen:?}");
        assert!(seen.round_trip.is_some_and(|trip| trip < Duration::from_secs(1)), "{seen:?}");
    }

    #[test]
    fn a_connection_that_is_not_there_is_no_evidence() {
        let (dialled, accepted, addresses) = pair();
        let remote = addresses.local;
        drop((dialled, accepted));
        let absent = Addresses { local: "127.0.0.1:1".parse().expect("an address"), remote };
        let sampler = Sampler::start(vec![absent]).expect("a thread");
        assert_eq!(sampler.end(), None);
    }
}
