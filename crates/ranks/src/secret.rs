//! The secret that the ranks of a run share, and the handshake in which they prove that they know
//! it.
//!
//! Each end of a connection draws a nonce. It proves that it knows the secret by an HMAC over both
//! nonces and the content of the first message. A proof is therefore valid in one handshake and for
//! one side only. Messages after the handshake are neither encrypted nor authenticated.
//!
//! The first rank accepts connections, and every other rank connects to it. They send in turn:
//!
//! | sender | octets |
//! | --- | --- |
//! | other | `PLRANKS2`, rank, number of ranks, nonce of 32 |
//! | first | `PLRANKS2`, nonce of 32, proof of 32 |
//! | other | proof of 32 |
//! | first | 1 |

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

const MAGIC: [u8; 8] = *b"PLRANKS2";
/// The length of a nonce, and of a proof (SHA-256), in octets.
const LENGTH: usize = 32;
/// The octet with which the first rank completes a handshake.
const WELCOME: u8 = 1;

type Nonce = [u8; LENGTH];

/// The secret that only the ranks of a run know. An empty secret protects only against mistakes,
/// such as two runs on one port.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// Creates a secret from its octets.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, octets))
    }

    fn prove(&self, claim: &Claim, side: Side) -> hmac::Tag {
        hmac::sign(&self.0, &claim.octets(side))
    }

    /// Checks in constant time that a peer's proof is valid.
    fn check(&self, claim: &Claim, side: Side, proof: &[u8]) -> io::Result<()> {
        hmac::verify(&self.0, &claim.octets(side), proof)
            .map_err(|_| io::Error::new(io::ErrorKind::PermissionDenied, "the secrets differ"))
    }
}

impl std::fmt::Debug for Secret {
    /// Formats a secret without revealing it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// The end of the connection that computed a proof: the first rank or the other one. The proofs of
/// the two differ, so that a peer cannot return a proof to the side that computed it.
#[derive(Clone, Copy)]
enum Side {
    First,
    Other,
}

/// The data over which a proof is computed: both nonces and the content of the other rank's first
/// message.
struct Claim {
    rank: u32,
    size: u32,
    first: Nonce,
    other: Nonce,
}

impl Claim {
    fn octets(&self, side: Side) -> Vec<u8> {
        let side: &[u8] = match side {
            Side::First => b"first",
            Side::Other => b"other",
        };
        let Self { rank, size, first, other } = self;
        [&MAGIC, side, &rank.to_be_bytes(), &size.to_be_bytes(), first, other].concat()
    }
}

/// Performs the handshake with a rank that has connected to the first rank, and returns that rank's
/// number.
///
/// # Errors
///
/// Returns an error if the peer is not a rank of this run, does not know the secret, or has not
/// finished by `deadline`.
pub(crate) fn welcome(
    stream: &mut TcpStream,
    size: u32,
    secret: &Secret,
    deadline: Instant,
) -> io::Result<u32> {
    let mut timed = Timed { stream, deadline };
    let mut hello = [0; 16 + LENGTH];
    timed.read_exact(&mut hello)?;
    let [rank, theirs] = [8, 12].map(|from| {
        let octets = hello.get(from..from + 4).and_then(|part| part.try_into().ok());
        octets.map_or(u32::MAX, u32::from_be_bytes)
    });
    if !hello.starts_with(&MAGIC) || theirs != size || rank >= size {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut other = [0; LENGTH];
    other.copy_from_slice(hello.get(16..).unwrap_or_default());
    let claim = Claim { rank, size, first: nonce()?, other };
    let proof = secret.prove(&claim, Side::First);
    timed.write_all(&[&MAGIC, &claim.first[..], proof.as_ref()].concat())?;
    let mut theirs = [0; LENGTH];
    timed.read_exact(&mut theirs)?;
    secret.check(&claim, Side::Other, &theirs)?;
    timed.write_all(&[WELCOME])?;
    Ok(rank)
}

/// Performs the handshake with the first rank, to which this rank has connected.
///
/// # Errors
///
/// Returns an error if the listener is not the first rank of this run, does not know the secret, or
/// has not finished by `deadline`.
pub(crate) fn introduce(
    stream: &mut TcpStream,
    rank: u32,
    size: u32,
    secret: &Secret,
    deadline: Instant,
) -> io::Result<()> {
    let mut timed = Timed { stream, deadline };
    let other = nonce()?;
    let hello = [&MAGIC[..], &rank.to_be_bytes(), &size.to_be_bytes(), &other].concat();
    timed.write_all(&hello)?;
    let mut answer = [0; 8 + 2 * LENGTH];
    timed.read_exact(&mut answer)?;
    if !answer.starts_with(&MAGIC) {
        return Err(io::Error::other("the process that listens there is not a rank"));
    }
    let (nonce, proof) = answer.split_at(8 + LENGTH);
    let mut first = [0; LENGTH];
    first.copy_from_slice(nonce.get(8..).unwrap_or_default());
    let claim = Claim { rank, size, first, other };
    secret.check(&claim, Side::First, proof)?;
    timed.write_all(secret.prove(&claim, Side::Other).as_ref())?;
    let mut end = [0; 1];
    timed.read_exact(&mut end)?;
    if end == [WELCOME] { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn nonce() -> io::Result<Nonce> {
    let mut nonce = [0; LENGTH];
    let filled = SystemRandom::new().fill(&mut nonce);
    filled.map(|()| nonce).map_err(|_| io::Error::other("the system has no random numbers"))
}

/// A connection with a deadline by which all reads and writes must finish. A timeout per read would
/// not suffice, since a peer could send octets slowly.
pub(crate) struct Timed<'a> {
    pub(crate) stream: &'a mut TcpStream,
    pub(crate) deadline: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<std::time::Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(octets)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
