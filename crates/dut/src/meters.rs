//! Compares the rates and bursts of meters with the configured ones, by sending packets faster than
//! a meter lets them pass.
//!
//! Meters are those of P4Runtime with two rates and three colours (RFC 2698) or one rate (RFC
//! 2697), and those of OpenFlow 1.3.5 with a single drop band (section 5.7.1). The colour of a
//! packet cannot be observed, only what the switch does with the packet. For P4Runtime, the
//! reference interpreter predicts how a packet of each colour leaves the switch.
//!
//! The arithmetic ([`observe`]) reads no clock and opens no socket.

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

/// The largest relative difference between the measured and the configured rate that is not
/// reported as a fault. Switches round rates to what their hardware can express.
pub const RATE_TOLERANCE: f64 = 0.01;
/// The largest relative difference between the measured and the configured burst that is not
/// reported as a fault.
pub const BURST_TOLERANCE: f64 = 0.02;

/// The settings of the test of meters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The greatest number of packets per second that are sent. It is halved until the switch
    /// forwards the packets while no meter limits them.
    pub packets_per_second: f64,
    /// The time for which packets are sent in each trial.
    pub time: Duration,
    /// The meters and packets for a P4Runtime switch, or the reason why there are none. An OpenFlow
    /// switch needs only ports.
    pub traffic: Option<Result<Traffic, String>>,
}

/// The unit of a meter's tokens, and so of its rate and burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUnit {
    /// Bytes of a packet, counted from the Ethernet destination and without the frame check
    /// sequence.
    Bytes,
    /// Whole packets, whatever their length.
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

    /// Returns the number of tokens that a packet of this length takes.
    #[must_use]
    pub fn of_packet(self, length: usize) -> f64 {
        match self {
            Self::Bytes => length as f64,
            Self::Packets => 1.0,
        }
    }
}

/// The colour with which a meter marks a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The packet is within the committed rate and the committed burst.
    Green,
    /// The packet is beyond the committed rate or burst, but within the peak rate and burst, or
    /// within the excess burst.
    Yellow,
    /// The packet is beyond all rates and bursts of the meter.
    Red,
}

impl Colour {
    /// All colours, from the best to the worst.
    pub const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];
}

/// The outcomes of a packet for each colour that the meter may assign, in the order of
/// [`Colour::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByColour(pub [Outcome; 3]);

/// The measurement of one token bucket of a meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The bucket that was measured.
    pub level: Level,
    /// The rate and burst that were configured.
    pub configured: Bucket,
    /// The rate and burst that follow from which packets passed.
    pub observed: Observed,
    /// The largest number of tokens by which, in any interval, the passed packets exceed what the
    /// configured bucket would permit if it were larger by the tolerances.
    pub beyond: f64,
}

/// A deviation of a meter from its configuration that is larger than the tolerances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The meter refused no packet, although more were sent than it should let pass.
    NothingRefused,
    /// No packet passed the meter.
    NothingPassed,
    /// The measured rate is too high.
    RateAbove,
    /// The measured rate is too low.
    RateBelow,
    /// The measured burst is too large.
    BurstAbove,
    /// The measured burst is too small.
    BurstBelow,
    /// More tokens passed in some interval than the configured bucket allows.
    Excess,
}

impl Found {
    /// Evaluates one trial of a bucket against its configuration. `tokens` is the number of tokens
    /// that each packet takes.
    #[must_use]
    pub fn new(level: Level, configured: Bucket, tokens: f64, offered: &[Offered]) -> Self {
        let tolerated = Bucket {
            rate: configured.rate * (1.0 + RATE_TOLERANCE),
            burst: configured.burst * (1.0 + BURST_TOLERANCE) + tokens,
        };
        let observed = observe(configured, tokens, offered);
        Self { level, configured, observed, beyond: excess(tolerated, tokens, offered) }
    }

    /// Combines two trials of the same bucket. Keeps the narrower bounds of rate and burst, unless
    /// the bounds of the two trials exclude each other.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            observed: self.observed.with(other.observed),
            beyond: f64::max(self.beyond, other.beyond),
            ..self
        }
    }

    /// Returns the faults of the meter: deviations that are larger than the tolerances and not
    /// explained by the uncertainty of the measurement.
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

/// A meter that was measured, with the results of all trials.
#[derive(Clone, Debug)]
pub struct MeasuredMeter {
    /// The name of the meter, with the index of its cell or the table entry that it belongs to.
    pub name: String,
    /// The unit of the meter's tokens.
    pub unit: TokenUnit,
    /// The length of the packets that were sent, in bytes.
    pub length: usize,
    /// The rate at which packets were sent, in packets per second.
    pub offered: f64,
    /// The result of sending packets while no meter limited them.
    pub control: Control,
    /// The measured buckets of all trials. Empty if more than a tenth of the packets were lost even
    /// without the meter.
    pub found: Vec<Found>,
}

/// The result of sending packets while no meter limits them. It shows whether packets are lost for
/// other reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The number of packets that were sent.
    pub sent: usize,
    /// The number of packets that did not leave the switch in the way of green packets.
    pub lost: usize,
}

/// The measured meters of a switch.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The meters that were measured, each with its results.
    pub meters: Vec<MeasuredMeter>,
    /// The reasons why meters were not measured, as sentences.
    pub reasons: Vec<String>,
}

/// The ports and settings with which a measurement is made.
pub(crate) struct Offering<'a> {
    pub(crate) wires: &'a [Wire],
    pub(crate) settings: &'a Settings,
}

#[cfg(test)]
mod tests;
