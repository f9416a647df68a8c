//! The secret that ranks share, and the handshake that proves it.
//!
//! Either end draws a nonce, and proves that it knows the secret by an HMAC over both nonces and what the hello said. So
//! a proof is of use in one handshake only, and for one side. What follows is not encrypted, and not authenticated.
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
/// The octets of a nonce, and of a proof (SHA-256).
const LENGTH: usize = 32;
/// The octet that ends a handshake.
const WELCOME: u8 = 1;

type Nonce = [u8; LENGTH];

/// What all ranks of a measurement know, and nobody else. The empty one protects from mistakes alone.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// A secret of these octets.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, octets))
    }

    fn prove(&self, claim: &Claim, side: Side) -> hmac::Tag {
        hmac::sign(&self.0, &claim.octets(side))
    }

    /// Compares in constant time.
    fn check(&self, claim: &Claim, side: Side, proof: &[u8]) -> io::Result<()> {
        hmac::verify(&self.0, &claim.octets(side), proof)
            .map_err(|_| io::Error::new(io::ErrorKind::PermissionDenied, "the secrets differ"))
    }
}

impl std::fmt::Debug for Secret {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Whose proof it is, so that none can be sent back to who made it.
#[derive(Clone, Copy)]
enum Side {
    First,
    Other,
}

/// What is proved.
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

/// Hears who dials, and returns its rank.
///
/// # Errors
///
/// When it is no rank of ours, does not know the secret, or takes longer than until `deadline`.
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

/// Introduces this rank to the first.
///
/// # Errors
///
/// When what listens is no rank, does not know the secret, or takes longer than until `deadline`.
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
        return Err(io::Error::other("what listens there is no rank"));
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

/// A connection whose reads and writes end by a deadline all together, however few octets each of them moves.
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
