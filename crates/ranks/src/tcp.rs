//! A link over TCP: the first rank listens on a port, and the others connect to it.
//!
//! A message consists of its length, four octets in big-endian order, and its content. Before the
//! first message, the two ranks of a connection prove to each other that they know the same secret.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::inbox::Inbox;
use crate::secret::{self, Secret, Timed};
use crate::{Event, Group, Link, Rank};

/// The length of the longest message that is accepted, in octets.
const LONGEST: usize = 1 << 30;
const POLL: Duration = Duration::from_millis(20);
/// The fixed part of the time that a message may take to be sent or received. The time that its
/// content takes at the rate [`SLOWEST`] is added. A peer that takes longer counts as lost.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// The time that a handshake may take, from the acceptance of the connection to the last octet.
const HANDSHAKE: Duration = Duration::from_secs(2);
/// The largest number of concurrent handshakes. Connections beyond it are closed at once, and the
/// ranks that made them try again.
const HANDSHAKES: usize = 64;
/// The lowest rate, in octets per second, at which the content of a message may arrive.
const SLOWEST: u64 = 1 << 20;

/// The reason why the ranks of a run could not be connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeetError {
    /// The number of this rank is out of range.
    #[error("rank {rank} of {size}: ranks count from 0")]
    NoSuchRank {
        /// The number of this rank.
        rank: u32,
        /// The number of ranks.
        size: u32,
    },
    /// The first rank cannot listen on its address.
    #[error(
        "rank 0 cannot listen on {address}: {cause}; choose another PLANIMETER_MEET for all ranks"
    )]
    Listen {
        /// The address on which the first rank tried to listen.
        address: SocketAddr,
        /// The error that the system reported.
        cause: io::Error,
    },
    /// Some ranks did not connect in time.
    #[error("ranks {missing:?} did not connect to {address} within {seconds} s")]
    Missing {
        /// The missing ranks.
        missing: Vec<u32>,
        /// The address on which the first rank listened.
        address: SocketAddr,
        /// The waiting time in seconds.
        seconds: f64,
    },
    /// The first rank cannot be reached, or refuses this rank.
    #[error("rank 0 cannot be reached at {address}: {cause}")]
    Unreachable {
        /// The address of the first rank.
        address: SocketAddr,
        /// The error that the system reported.
        cause: io::Error,
    },
}

/// Connects the ranks of a run: the first rank listens at the address, and the others connect to
/// it. Every rank waits for the others for at most `patience`; an attempt to connect that has begun
/// by then is still finished.
///
/// # Errors
/// Returns a [`MeetError`] if not all ranks were connected in time.
pub fn meet(
    rank: u32,
    size: u32,
    address: SocketAddr,
    secret: &Secret,
    patience: Duration,
) -> Result<Group, MeetError> {
    if rank >= size {
        return Err(MeetError::NoSuchRank { rank, size });
    }
    let deadline = Instant::now() + patience;
    let (sender, inbox) = Inbox::new();
    let streams = match rank {
        0 => gather(size, address, secret, patience)?,
        _ => {
            let cause = |cause| MeetError::Unreachable { address, cause };
            vec![Some(dial(rank, size, address, secret, deadline).map_err(cause)?)]
        }
    };
    for (stream, other) in streams.iter().zip(0..) {
        if let Some(stream) = stream {
            let sender = sender.clone();
            let copy = stream.try_clone();
            let read = move || match copy {
                Ok(copy) => read_messages(copy, Rank(other), &sender),
                Err(error) => report_loss(Rank(other), &error, &sender),
            };
            std::thread::spawn(read);
        }
    }
    Ok(Group::new(Box::new(TcpLink { rank: Rank(rank), size, streams, inbox, sender })))
}

/// Accepts the connections of the other ranks at the first rank. Returns the connections, indexed
/// by rank; the entry of the first rank is empty.
fn gather(
    size: u32,
    address: SocketAddr,
    secret: &Secret,
    patience: Duration,
) -> Result<Vec<Option<TcpStream>>, MeetError> {
    let deadline = Instant::now() + patience;
    let failed = |cause| MeetError::Listen { address, cause };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let mut streams: Vec<Option<TcpStream>> = (0..size).map(|_| None).collect();
    let (arrived, arrivals) = channel();
    // Each handshake in progress holds a clone of this value, so that the reference count is their
    // number.
    let under_way = Arc::new(());
    loop {
        for (rank, stream) in arrivals.try_iter() {
            if let Some(place @ None) = streams.get_mut(rank as usize)
                && rank > 0
            {
                *place = Some(stream);
            }
        }
        let missing = |(rank, stream): (u32, &Option<TcpStream>)| {
            (rank > 0 && stream.is_none()).then_some(rank)
        };
        let missing: Vec<u32> = (0..).zip(&streams).filter_map(missing).collect();
        if missing.is_empty() {
            return Ok(streams);
        }
        if Instant::now() >= deadline {
            let seconds = patience.as_secs_f64();
            return Err(MeetError::Missing { missing, address, seconds });
        }
        match listener.accept() {
            Ok((stream, _)) if Arc::strong_count(&under_way) <= HANDSHAKES => {
                let (secret, arrived, held) =
                    (secret.clone(), arrived.clone(), Arc::clone(&under_way));
                // Each handshake has its own thread, so that a silent peer delays no other. Peers
                // that do not complete the handshake are ignored.
                std::thread::spawn(move || {
                    if let Ok(arrival) = welcome(stream, size, &secret) {
                        let _ = arrived.send(arrival);
                    }
                    drop(held);
                });
            }
            Ok(_) => {}
            Err(_) => std::thread::sleep(POLL),
        }
    }
}

fn welcome(mut stream: TcpStream, size: u32, secret: &Secret) -> io::Result<(u32, TcpStream)> {
    stream.set_nonblocking(false)?;
    let rank = secret::welcome(&mut stream, size, secret, Instant::now() + HANDSHAKE)?;
    Ok((rank, ready(stream)?))
}

fn dial(
    rank: u32,
    size: u32,
    address: SocketAddr,
    secret: &Secret,
    deadline: Instant,
) -> io::Result<TcpStream> {
    loop {
        let attempt = TcpStream::connect_timeout(&address, HANDSHAKE).and_then(|mut stream| {
            secret::introduce(&mut stream, rank, size, secret, Instant::now() + HANDSHAKE)?;
            ready(stream)
        });
        match attempt {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) if Instant::now() < deadline => std::thread::sleep(POLL),
            result => return result,
        }
    }
}

fn ready(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_read_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads messages until the connection ends, and forwards them as events.
fn read_messages(mut stream: TcpStream, from: Rank, events: &Sender<Event>) {
    loop {
        match message(&mut stream) {
            Ok(bytes) => {
                if events.send(Event::Message { from, bytes }).is_err() {
                    return;
                }
            }
            Err(error) => return report_loss(from, &error, events),
        }
    }
}

/// Reads a message. The wait for the first octet is not limited, but the rest of the message must
/// arrive by a deadline.
fn message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.set_read_timeout(None)?;
    let (first, others) = length.split_at_mut(1);
    stream.read_exact(first)?;
    let begun = Instant::now();
    Timed { stream, deadline: begun + WRITE_PATIENCE }.read_exact(others)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::other(format!("a message of {length} octets")));
    }
    let patience = WRITE_PATIENCE + Duration::from_secs(length as u64 / SLOWEST);
    let timed = Timed { stream, deadline: begun + patience };
    // The buffer grows with the octets that arrive, independently of the announced length.
    let mut bytes = Vec::new();
    timed.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

fn report_loss(rank: Rank, error: &io::Error, events: &Sender<Event>) {
    let cause = match error.kind() {
        io::ErrorKind::UnexpectedEof => "its connection ended".to_owned(),
        _ => format!("its connection failed: {error}"),
    };
    let _ = events.send(Event::Lost { rank, cause });
}

/// A link over TCP connections.
#[derive(Debug)]
struct TcpLink {
    rank: Rank,
    size: u32,
    /// The connections, indexed by rank. A rank other than the first has only the connection to the
    /// first.
    streams: Vec<Option<TcpStream>>,
    inbox: Inbox,
    sender: Sender<Event>,
}

impl Link for TcpLink {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn send(&mut self, to: Rank, message: &[u8]) {
        let Some(place) = self.streams.get_mut(to.0 as usize) else { return };
        let Some(stream) = place else { return };
        let Ok(length) = u32::try_from(message.len()) else { return };
        let patience = WRITE_PATIENCE + Duration::from_secs(u64::from(length) / SLOWEST);
        let deadline = Instant::now() + patience;
        let sent = Timed { stream, deadline }.write_all(&[&length.to_be_bytes(), message].concat());
        if let Err(error) = sent {
            report_loss(to, &error, &self.sender);
            *place = None;
        }
    }

    fn receive(&mut self, patience: Duration) -> Option<Event> {
        self.inbox.receive(patience)
    }
}

impl Drop for TcpLink {
    fn drop(&mut self) {
        // The reader threads hold clones of the connections, so that dropping these values does not
        // close the connections.
        for stream in self.streams.iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Received;

    fn free_address() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    }

    const LONG: Duration = Duration::from_secs(20);

    fn secret() -> Secret {
        Secret::new(b"only for ranks")
    }

    /// Checks that the first rank does not accept a rank with another secret, and that this rank
    /// learns the reason.
    #[test]
    fn a_rank_with_another_secret_is_refused() {
        let (address, brief) = (free_address(), Duration::from_secs(3));
        std::thread::scope(|scope| {
            let first = scope.spawn(move || meet(0, 2, address, &secret(), brief).map(drop));
            let error = meet(1, 2, address, &Secret::new(b"another"), brief).expect_err("refused");
            assert!(error.to_string().contains("the secrets differ"), "{error}");
            let error = first.join().expect("no panic").expect_err("nobody came");
            assert!(matches!(error, MeetError::Missing { .. }), "{error}");
        });
    }

    /// Checks that connections from other programs that send one octet now and then do not keep
    /// ranks from connecting, and are closed in time.
    #[test]
    fn slow_strangers_do_not_prolong_a_handshake() {
        let address = free_address();
        std::thread::scope(|scope| {
            let first = scope.spawn(move || meet(0, 2, address, &secret(), LONG).map(drop));
            let dripped: Vec<_> = (0..40)
                .map(|_| {
                    scope.spawn(move || {
                        let begun = Instant::now();
                        let mut stream = loop {
                            if let Ok(stream) = TcpStream::connect(address) {
                                break stream;
                            }
                            std::thread::sleep(POLL);
                        };
                        while stream.write_all(b"P").is_ok() && begun.elapsed() < LONG {
                            std::thread::sleep(Duration::from_millis(100));
                        }
                        begun.elapsed()
                    })
                })
                .collect();
            let took = dripped.into_iter().map(|one| one.join().expect("no panic")).max();
            assert!(took.is_some_and(|took| took < LONG / 2), "{took:?}");
            meet(1, 2, address, &secret(), LONG).expect("the first rank is there");
            first.join().expect("no panic").expect("the other came");
        });
    }

    /// Checks that a peer cannot occupy the receiver for long by sending a message one octet at a
    /// time.
    #[test]
    fn a_slow_sender_does_not_prolong_a_message() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("there");
        let (mut stream, _) = listener.accept().expect("dialled");
        sender.write_all(&[0]).expect("sent");
        let deadline = Instant::now() + Duration::from_millis(200);
        let drip = std::thread::spawn(move || {
            while sender.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let mut rest = [0; 1000];
        let refused = Timed { stream: &mut stream, deadline }.read_exact(&mut rest);
        let kind = refused.expect_err("it takes too long").kind();
        assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{kind}");
        drop(stream);
        drip.join().expect("no panic");
    }

    #[test]
    fn ranks_exchange_messages_and_notice_a_lost_one() {
        let address = free_address();
        std::thread::scope(|scope| {
            for rank in [2, 1] {
                scope.spawn(move || {
                    let mut group = meet(rank, 3, address, &secret(), LONG).expect("a first rank");
                    assert_eq!(group.receive(LONG), Received::Message(Rank::FIRST, 7));
                    group.send(Rank::FIRST, &vec![rank; 100_000]);
                    if rank == 1 {
                        let end = Received::Message(Rank::FIRST, "end".to_owned());
                        assert_eq!(group.receive(LONG), end);
                    }
                });
            }
            // A stray connection does not count as a rank.
            let stray = scope.spawn(move || {
                loop {
                    if let Ok(mut stream) = TcpStream::connect(address) {
                        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
                        return;
                    }
                }
            });
            let mut group = meet(0, 3, address, &secret(), LONG).expect("two others");
            stray.join().expect("no panic");
            group.send_all(&7);
            // Rank 2 leaves after its message and is lost.
            let (mut heard, mut lost) = (Vec::new(), false);
            while heard.len() < 2 || !lost {
                match group.receive::<Vec<u32>>(LONG) {
                    Received::Message(from, message) => {
                        assert_eq!(message, vec![from.0; 100_000]);
                        heard.push(from);
                    }
                    Received::Lost(rank) => {
                        assert!(rank == Rank(2) && heard.contains(&rank));
                        lost = true;
                    }
                    Received::Nothing => panic!("nothing came"),
                }
            }
            assert_eq!(group.lost().keys().collect::<Vec<_>>(), [&Rank(2)]);
            group.send_all(&"end");
        });
    }

    #[test]
    fn a_missing_rank_is_named() {
        let (address, brief) = (free_address(), Duration::from_millis(50));
        let error = meet(0, 3, address, &secret(), brief).expect_err("nobody came").to_string();
        assert!(error.contains("[1, 2] did not connect"), "{error}");
        let error = meet(1, 3, address, &secret(), brief).expect_err("nobody is there").to_string();
        assert!(error.contains("rank 0 cannot be reached"), "{error}");
        assert!(matches!(meet(3, 3, address, &secret(), brief), Err(MeetError::NoSuchRank { .. })));
    }
}
