//! A simulated meter with two rates in virtual time, which has the faults that a test sets, and the
//! packets that are offered to it.

use dut::effects::{Moment, Span};
use dut::meters::{Bucket, Offered, Treatment};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// The packets per second that are offered.
const RATE: u64 = 8_000;
/// The number of packets of a trial: those of half a second.
const PACKETS: usize = 4_000;
/// The length of a packet in bytes.
pub(crate) const LENGTH: u64 = 128;
/// The number of parts of a token, so that tokens per nanosecond are whole.
const PARTS: u64 = 1_000_000_000;

/// The committed or the peak bucket, as it is configured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configured {
    pub(crate) rate: u64,
    pub(crate) burst: u64,
}

impl Configured {
    pub(crate) fn bucket(self) -> Bucket {
        Bucket { rate: self.rate as f64, burst: self.burst as f64 }
    }
}

/// The faults of a meter. Without one, it obeys RFC 2698.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    /// The factor by which the committed rate differs from the configured one.
    pub(crate) rate: f64,
    /// The factor by which the committed burst differs from the configured one.
    pub(crate) burst: f64,
    /// The factor by which the peak rate differs from the configured one.
    pub(crate) peak: f64,
}

impl Default for Faults {
    fn default() -> Self {
        Self { rate: 1.0, burst: 1.0, peak: 1.0 }
    }
}

/// The colour of a packet, as the meter decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
}

/// A token bucket that counts in whole parts of tokens.
struct Tokens {
    rate: u64,
    full: u64,
    now: u64,
}

impl Tokens {
    fn new(configured: Configured, rate: f64, burst: f64) -> Self {
        let full = (configured.burst as f64 * burst).round() as u64 * PARTS;
        Self { rate: (configured.rate as f64 * rate).round() as u64, full, now: full }
    }

    fn earn(&mut self, nanoseconds: u64) {
        self.now = (self.now + self.rate * nanoseconds).min(self.full);
    }
}

/// A packet that the meter has coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coloured {
    pub(crate) sent: Span,
    pub(crate) arrived: Span,
    pub(crate) colour: Colour,
}

/// The way in which packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Packets are sent at the offered rate, with a pause now and then.
    Steady,
    /// Every other 500 packets are sent at three quarters of the committed rate, so that the bucket
    /// fills.
    Faltering,
}

/// Sends packets of half a second through a meter whose buckets are full. The time on the way
/// changes from packet to packet, the sender pauses now and then, and the clock is read before and
/// after each step.
pub(crate) fn trial(
    committed: Configured,
    peak: Configured,
    faults: Faults,
    tokens: u64,
    sender: Sender,
    seed: u64,
) -> Vec<Coloured> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut small = Tokens::new(committed, faults.rate, faults.burst);
    let mut large = Tokens::new(peak, faults.peak, 1.0);
    let (mut clock, mut met, mut arrived) = (random.random_range(0..1_000_000), 0, 0);
    let mut found = Vec::with_capacity(PACKETS);
    for number in 0..PACKETS {
        // One packet in 8,000 comes after a pause of up to 80 ms, in which a bucket may fill.
        let is_pause = random.random_range(0..8_000) == 0;
        let pause = if is_pause { random.random_range(0..80_000_000) } else { 0 };
        let is_slow = sender == Sender::Faltering && number / 500 % 2 == 1;
        clock += 1_000_000_000 / if is_slow { 1_500 } else { RATE } + pause;
        let sent = clock + random.random_range(0..20_000);
        // Packets do not overtake each other.
        let at = (sent + random.random_range(1_000..60_000)).max(met + 1);
        small.earn(at - met);
        large.earn(at - met);
        met = at;
        arrived = (at + random.random_range(1_000..60_000)).max(arrived + 1);
        let needs = tokens * PARTS;
        let colour = if large.now < needs {
            Colour::Red
        } else if small.now < needs {
            large.now -= needs;
            Colour::Yellow
        } else {
            large.now -= needs;
            small.now -= needs;
            Colour::Green
        };
        let mut around = |moment: u64| Span {
            earliest: Moment(moment - random.random_range(0..1_000)),
            latest: Moment(moment + random.random_range(0..30_000)),
        };
        found.push(Coloured { sent: around(sent), arrived: around(arrived), colour });
    }
    found
}

/// Returns what packets show of a bucket if they arrive unless `is_refused`, and show nothing if
/// `is_unknown`.
pub(crate) fn offered(
    packets: &[Coloured],
    passes: impl Fn(Colour) -> bool,
    is_unknown: impl Fn(Colour) -> bool,
) -> Vec<Offered> {
    let of = |packet: &Coloured| {
        let treatment = match packet.colour {
            colour if passes(colour) => Treatment::Passed { arrived: packet.arrived },
            colour if is_unknown(colour) => Treatment::Unknown,
            _ => Treatment::Refused,
        };
        Offered { sent: packet.sent, treatment }
    };
    packets.iter().map(of).collect()
}
