//! Compares the rates and bursts of meters with those that were configured, by packets that are
//! sent faster than a meter lets them pass.
//!
//! Meters are those of P4Runtime with two rates and three colours (RFC 2698), or one rate (RFC
//! 2697), and those of OpenFlow 1.3.5 with one band that drops (section 5.7.1). The colour of a
//! packet is not seen, but what the switch does with it: for P4Runtime, the reference interpreter
//! says how a packet of each colour leaves the switch.
//!
//! The arithmetic ([`observe`]) has no clock and no socket.

mod bucket;
mod openflow;
mod p4runtime;
mod trial;

use std::time::Duration;

use crate::live::{Outcome, Wire};

pub use self::bucket::{Bucket, Observed, Offered, Treatment, excess, observe};
pub use self::p4runtime::{MeteredFlow, Place, Traffic};
pub use self::trial::{Algorithm, Config, Judged, Level, Setting, settings};

pub(crate) use self::openflow::over_openflow;
pub(crate) use self::p4runtime::over_p4runtime;

/// The share by which a rate may differ from the configured one. Switches round rates to what their
/// hardware can express.
pub const RATE_TOLERANCE: f64 = 0.01;
/// The share by which a burst may differ from the configured one.
pub const BURST_TOLERANCE: f64 = 0.02;

/// The settings of the test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The greatest number of packets per second. It is halved until the switch forwards them
    /// without a meter.
    pub packets_per_second: f64,
    /// The time for which packets are sent in each trial.
    pub time: Duration,
    /// The meters and packets of a P4Runtime switch, or the reason why there are none. An OpenFlow
    /// switch needs only ports.
    pub traffic: Option<Result<Traffic, String>>,
}

/// The unit of a meter's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUnit {
    /// Bytes of packets, from the Ethernet destination on and without the frame check sequence.
    Bytes,
    /// Packets.
    Packets,
}

impl TokenUnit {
    /// Returns the name that reports give the unit.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Packets => "packets",
        }
    }

    /// Returns the number of tokens that a packet takes.
    #[must_use]
    pub fn of_packet(self, length: usize) -> f64 {
        match self {
            Self::Bytes => length as f64,
            Self::Packets => 1.0,
        }
    }
}

/// The colour that a meter gives a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The packet is within the committed rate and burst.
    Green,
    /// The packet is within the peak rate and burst, or the excess burst.
    Yellow,
    /// The packet is beyond them.
    Red,
}

impl Colour {
    /// All colours.
    pub const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];
}

/// The ways in which a packet leaves the switch by its colour, in the order of [`Colour::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByColour(pub [Outcome; 3]);

/// One bucket of a meter in one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The bucket.
    pub level: Level,
    /// The configured bucket.
    pub configured: Bucket,
    /// The bucket that explains the packets.
    pub observed: Observed,
    /// The excess over a bucket that is larger by the tolerances.
    pub beyond: f64,
}

/// A deviation of a meter from its configuration that is larger than the tolerances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No packet was refused.
    NothingRefused,
    /// No packet passed.
    NothingPassed,
    /// The rate is too high.
    RateAbove,
    /// The rate is too low.
    RateBelow,
    /// The burst is too large.
    BurstAbove,
    /// The burst is too small.
    BurstBelow,
    /// More tokens passed in some interval than the configured bucket allows.
    Excess,
}

impl Found {
    /// Compares the configured bucket with that of a trial.
    #[must_use]
    pub fn new(level: Level, configured: Bucket, tokens: f64, offered: &[Offered]) -> Self {
        let tolerated = Bucket {
            rate: configured.rate * (1.0 + RATE_TOLERANCE),
            burst: configured.burst * (1.0 + BURST_TOLERANCE) + tokens,
        };
        let observed = observe(configured, tokens, offered);
        Self { level, configured, observed, beyond: excess(tolerated, tokens, offered) }
    }

    /// Returns what two trials of the same bucket show together. The narrower bounds of rate and
    /// burst are kept, unless those of the trials exclude each other.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            observed: self.observed.with(other.observed),
            beyond: f64::max(self.beyond, other.beyond),
            ..self
        }
    }

    /// Returns the deviations that are certain and beyond the tolerances.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let Self { configured, observed, .. } = self;
        if observed.passed == 0 {
            return vec![Fault::NothingPassed];
        }
        if observed.refused == 0 {
            return vec![Fault::NothingRefused];
        }
        let mut faults = Vec::new();
        let rate = observed.rate;
        if rate.is_some_and(|rate| rate.low > configured.rate * (1.0 + RATE_TOLERANCE)) {
            faults.push(Fault::RateAbove);
        }
        if rate.is_some_and(|rate| rate.high < configured.rate * (1.0 - RATE_TOLERANCE)) {
            faults.push(Fault::RateBelow);
        }
        let burst = observed.burst;
        if burst.is_some_and(|burst| burst.low > configured.burst * (1.0 + BURST_TOLERANCE)) {
            faults.push(Fault::BurstAbove);
        }
        if burst.is_some_and(|burst| burst.high < configured.burst * (1.0 - BURST_TOLERANCE)) {
            faults.push(Fault::BurstBelow);
        }
        if self.beyond > 0.0 {
            faults.push(Fault::Excess);
        }
        faults
    }
}

/// A measured meter.
#[derive(Clone, Debug)]
pub struct MeasuredMeter {
    /// The name of the meter, and the cell or the entry.
    pub name: String,
    /// The unit of its tokens.
    pub unit: TokenUnit,
    /// The length of the packets in bytes.
    pub length: usize,
    /// The packets per second that were offered.
    pub offered: f64,
    /// The packets that were sent without a meter.
    pub control: Control,
    /// The buckets of all trials; empty if more than a tenth of the packets were lost without a
    /// meter.
    pub found: Vec<Found>,
}

/// The packets that were sent without a meter, which show whether others than the meter drop some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The number of packets that were sent.
    pub sent: usize,
    /// The number of those that did not leave like green packets.
    pub lost: usize,
}

/// The measured meters of a switch.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The meters.
    pub meters: Vec<MeasuredMeter>,
    /// The reasons why meters were not measured, as sentences.
    pub reasons: Vec<String>,
}

/// The ports and the rate of a measurement.
pub(crate) struct Offering<'a> {
    pub(crate) wires: &'a [Wire],
    pub(crate) settings: &'a Settings,
}

#[cfg(test)]
mod tests;
