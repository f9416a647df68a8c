//! Measures the slow path of an OpenFlow switch: packets that it passes to its controller, packets
//! that the controller makes it send, and the reaction to the first packet of a flow.
//!
//! Rates are measured with a constant number of packets on their way, delays at shares of that rate
//! by a schedule that does not wait for the switch. One thread sends, looks for arrivals and serves
//! the control channel, with one monotonic clock.

mod bench;
mod tally;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use statistics::Ordered;

use self::bench::{Bench, Pace, Trial};
use crate::entries::EntryNumber;
use crate::error::DutError;
use crate::flows::{FlowEntry, Output, Selector};
use crate::live::Ports;
use crate::outlet::Outlet;
use crate::session::OpenFlowChannel;
use crate::window::Operation;

pub use self::tally::Counts;

/// The shares of the measured rate at which delays are measured.
const LOADS: [f64; 3] = [0.1, 0.5, 0.9];

/// The settings of the test.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of rounds.
    pub rounds: u32,
    /// The time for which packets are sent at each load of a round.
    pub time: Duration,
    /// The number of packets on their way when a rate is measured.
    pub window: usize,
    /// The number of first packets in a round to which the controller reacts.
    pub reactions: u32,
}

impl Settings {
    /// Returns the number of flows to whose first packets the controller reacts.
    pub(crate) fn flows(&self) -> usize {
        self.rounds as usize * self.reactions as usize
    }
}

/// The direction in which packets cross the control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Packets go from a port of the switch to the controller.
    PacketIn,
    /// Packets go from the controller to a port of the switch.
    PacketOut,
}

impl Direction {
    /// The two directions.
    pub const ALL: [Self; 2] = [Self::PacketIn, Self::PacketOut];

    /// Returns the name that reports give the direction.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PacketIn => "packet-in",
            Self::PacketOut => "packet-out",
        }
    }
}

/// The figures of one direction.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The direction.
    pub direction: Direction,
    /// The arrivals per second of each round, with a constant number of packets on their way.
    pub rates: Vec<f64>,
    /// The fates of the packets while rates were measured.
    pub counts: Counts,
    /// Whether this program was the limit of the rate in most rounds: it hardly ever had nothing to
    /// do.
    pub is_limited_here: bool,
    /// The delays at several loads.
    pub loads: Vec<Load>,
}

/// The delays at one load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The load as a share of the mean of [`Crossing::rates`].
    pub share: f64,
    /// The packets per second that were due.
    pub rate: f64,
    /// The times from when packets were due until they arrived, of each round.
    pub delays: Vec<Ordered<Duration>>,
    /// The fates of the packets.
    pub counts: Counts,
}

/// The reaction to the first packet of a flow. All times begin when the packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// The time until the packet-in had arrived. The controller then sends a flow-mod and a barrier
    /// request.
    pub packet_in: Duration,
    /// The time until the barrier reply had arrived.
    pub answer: Duration,
    /// The time until a packet had arrived that the switch forwarded by the new flow.
    pub forwarded: Duration,
}

/// The measured slow path of a switch.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of packets on their way when rates were measured.
    pub window: usize,
    /// The length of the packets in bytes.
    pub length: usize,
    /// The figures of each direction.
    pub crossings: Vec<Crossing>,
    /// The reactions of each round.
    pub reactions: Vec<Vec<Reaction>>,
    /// The number of flows whose packet-in, barrier reply or first forwarded packet did not arrive
    /// within a second.
    pub without_reaction: u64,
}

/// Measures the slow path through two ports. `numbers` are the flows to whose first packets the
/// controller reacts; if the test fails, an entry of one of them may stay in the switch. The entry
/// that sends packets to the controller is deleted in this case too.
pub(crate) fn measure(
    channel: &mut OpenFlowChannel,
    ports: &Ports,
    numbers: &[EntryNumber],
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let outlets = Outlet::open(ports.wires.get(..2).unwrap_or(&ports.wires))?;
    through(outlets, channel, numbers, settings, stop, progress)
}

/// Measures the slow path through interfaces that are open.
pub(crate) fn through(
    outlets: Vec<Outlet>,
    channel: &mut OpenFlowChannel,
    numbers: &[EntryNumber],
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let outlets: Result<[Outlet; 2], _> = outlets.try_into();
    let Ok(outlets) = outlets else { return Err(DutError::NoRules) };
    let mut bench = Bench::new(channel, outlets, stop);
    let to_controller = FlowEntry { selects: Selector::Rest, output: Output::Controller };
    let found = bench
        .request(Operation::Insert, &[to_controller])
        .and_then(|()| rounds(&mut bench, numbers, settings, stop, progress));
    bench.request(Operation::Delete, &[to_controller])?;
    found
}

fn rounds(
    bench: &mut Bench<'_>,
    numbers: &[EntryNumber],
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let is_stopped = || stop.load(Ordering::Relaxed);
    let mut measured = Measured {
        window: settings.window,
        length: bench.length(),
        crossings: Vec::new(),
        reactions: Vec::new(),
        without_reaction: 0,
    };
    let steps = u64::from(settings.rounds) * 3;
    let mut done = 0;
    for direction in Direction::ALL {
        let mut crossing = Crossing {
            direction,
            rates: Vec::new(),
            counts: Counts::default(),
            is_limited_here: false,
            loads: Vec::new(),
        };
        let mut limited = 0;
        // The first round warms the caches of the switch and is not counted.
        for round in 0..=settings.rounds {
            let trial = bench.trial(direction, Pace::Window(settings.window), settings.time)?;
            if is_stopped() {
                return Ok(measured);
            }
            if round > 0 {
                crossing.counts.add(trial.counts);
                crossing.rates.extend(trial.rate);
                limited += usize::from(trial.is_limited_here);
            }
        }
        crossing.is_limited_here = 2 * limited > crossing.rates.len();
        let mean = crossing.rates.iter().sum::<f64>() / crossing.rates.len().max(1) as f64;
        if mean > 0.0 {
            crossing.loads = loads(bench, direction, mean, settings)?;
        }
        done += u64::from(settings.rounds);
        progress(done, steps);
        if is_stopped() {
            return Ok(measured);
        }
        measured.crossings.push(crossing);
    }
    let mut fresh = numbers.iter().copied();
    for _ in 0..settings.rounds {
        let mut round = Vec::new();
        for number in fresh.by_ref().take(settings.reactions as usize) {
            match bench.reaction(number)? {
                Some(reaction) => round.push(reaction),
                None if is_stopped() => return Ok(measured),
                None => measured.without_reaction += 1,
            }
        }
        measured.reactions.push(round);
        done += 1;
        progress(done, steps);
    }
    Ok(measured)
}

/// Measures delays at several loads, one after the other in each round.
fn loads(
    bench: &mut Bench<'_>,
    direction: Direction,
    highest: f64,
    settings: &Settings,
) -> Result<Vec<Load>, DutError> {
    let mut loads = LOADS.map(|share| Load {
        share,
        rate: share * highest,
        delays: Vec::new(),
        counts: Counts::default(),
    });
    for _ in 0..settings.rounds {
        for load in &mut loads {
            let Trial { delays, counts, .. } =
                bench.trial(direction, Pace::Rate(load.rate), settings.time)?;
            load.delays.push(Ordered::of(delays));
            load.counts.add(counts);
        }
    }
    Ok(loads.into())
}

#[cfg(test)]
mod tests;
