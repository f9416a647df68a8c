//! Measures the slow path of a switch, which is its connection to the controller: packets that it
//! passes to the controller, packets that the controller makes it send, and the reaction to the
//! first packet of a flow.
//!
//! A rate is measured by keeping a constant number of packets in flight. Delays are measured at
//! several fractions of that rate, with packets sent by a schedule that does not wait for the
//! switch. One thread sends packets, checks for arrivals and serves the control channel, with one
//! monotonic clock.

mod bench;
mod control;
mod direction;
mod figures;
mod packets;
mod tally;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measuring::tcp::Addresses;
use p4runtime::proto::v1;
use packetio::Port;
use statistics::Ordered;

use self::bench::{Bench, Crossed, Pace};
use self::control::{Control, DefaultEntry, OpenFlowControl, P4RuntimeControl};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::flows::{FlowEntry, Output, Selector};
use crate::live::{self, Control as _, Ports};
use crate::outlet::Outlet;
use crate::session::{Device, OpenFlowChannel, P4RuntimeChannel};
use crate::window::Operation;

pub use self::direction::Direction;
pub use self::figures::{Crossing, Load, Measured, Reaction, Updates};
pub use self::packets::{Packets, ReactiveFlow, Route, Traffic};
pub use self::tally::Counts;

/// The loads at which delays are measured, as fractions of the measured rate.
const LOADS: [f64; 3] = [0.1, 0.5, 0.9];
/// The load, as a fraction of the measured rate, at which packets go to the controller while
/// entries are updated.
const BESIDE_UPDATES: f64 = 0.5;

/// The settings of the test of the slow path.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of rounds over which rates, delays and reactions are measured.
    pub rounds: u32,
    /// The time for which packets are sent at each load of a round.
    pub time: Duration,
    /// The number of packets in flight while a rate is measured.
    pub window: usize,
    /// The number of flows per round to whose first packet the controller reacts.
    pub reactions: u32,
}

impl Settings {
    /// Returns the number of flows, over all rounds, to whose first packet the controller reacts.
    pub(crate) fn flows(&self) -> usize {
        self.rounds as usize * self.reactions as usize
    }
}

/// The settings and the progress of a measurement.
pub(crate) struct Rounds<'a> {
    pub(crate) settings: &'a Settings,
    /// A flag that ends the measurement when it is set.
    pub(crate) stop: &'a AtomicBool,
    /// A callback that receives the number of completed steps, and the number of all steps.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

/// Measures the slow path of an OpenFlow switch through two ports. `numbers` are the flows to whose
/// first packets the controller reacts. If the test fails, the entry of one of these flows may stay
/// in the switch, but not the entry that sends packets to the controller.
pub(crate) async fn over_openflow(
    channel: &mut OpenFlowChannel,
    ports: &Ports,
    numbers: &[EntryNumber],
    rounds: Rounds<'_>,
) -> Result<Measured, DutError> {
    let outlets = Outlet::open(ports.wires.get(..2).unwrap_or(&ports.wires))?;
    through(outlets, channel, numbers, rounds).await
}

/// Measures an OpenFlow switch through interfaces that are already open.
pub(crate) async fn through(
    outlets: Vec<Outlet>,
    channel: &mut OpenFlowChannel,
    numbers: &[EntryNumber],
    rounds: Rounds<'_>,
) -> Result<Measured, DutError> {
    let [ingress, egress] = outlets.as_slice() else { return Err(DutError::NoRules) };
    let (ingress, egress) = (ingress.number(), egress.number());
    let maker = channel.maker();
    let flow = |number: &EntryNumber| ReactiveFlow {
        port: ingress,
        packet: maker.packet(*number),
        before: None,
        entry: FlowEntry { selects: Selector::One(*number), output: Output::Port(egress) },
        egress,
    };
    // No flow of the measurement has a number this large.
    let packet = maker.packet(EntryNumber(maker.matching.different() - 1));
    let packets = Packets {
        to_controller: Some(Route { port: ingress, packet: packet.clone() }),
        from_controller: Some(Route { port: egress, packet }),
        flows: numbers.iter().map(flow).collect(),
    };
    let is_local = channel.addresses().iter().all(Addresses::are_of_one_host);
    let (control, clock) = (OpenFlowControl::new(channel, egress), Instant::now());
    let mut bench = Bench::new(control, outlets, rounds.stop, &clock);
    let to_controller = FlowEntry { selects: Selector::Rest, output: Output::Controller };
    let found = match bench.request(Operation::Insert, &to_controller).await {
        Ok(()) => measure(&mut bench, &packets, rounds).await,
        Err(error) => Err(error),
    };
    bench.request(Operation::Delete, &to_controller).await?;
    found.map(|found| Measured { is_local, ..found })
}

/// Measures the slow path of a P4Runtime switch. Deletes the entries of the measurement and
/// restores the default entry, also if the test fails.
pub(crate) async fn over_p4runtime(
    channel: &mut P4RuntimeChannel,
    traffic: &Traffic,
    rounds: Rounds<'_>,
) -> Result<Measured, DutError> {
    through_p4runtime(Outlet::open(&traffic.wires)?, channel, traffic, rounds).await
}

/// Measures the slow path of a P4Runtime switch through ports that are already open, instead of
/// those that `traffic` names. The ports may be in memory, for a switch in the same process.
/// Becomes the primary controller of the device for the time of the measurement, and restores the
/// state of the device. If `stop` is set, ends soon and returns the results so far.
///
/// # Errors
/// Returns an error if the switch cannot be measured or restored.
pub fn measure_through(
    device: &Device,
    traffic: &Traffic,
    ports: Vec<(u32, Port)>,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Measured, DutError> {
    let outlets = ports.into_iter().map(|(number, port)| Outlet::new(number, port)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut channel = P4RuntimeChannel::open(device, None, None).await?;
        let rounds = Rounds { settings, stop, progress: &mut |_, _| {} };
        through_p4runtime(outlets, &mut channel, traffic, rounds).await
    })
}

async fn through_p4runtime(
    outlets: Vec<Outlet>,
    channel: &mut P4RuntimeChannel,
    traffic: &Traffic,
    rounds: Rounds<'_>,
) -> Result<Measured, DutError> {
    live::check_program(&channel.client, &traffic.p4info).await?;
    let Traffic { beside, default_entry, packets, .. } = traffic;
    let entries = packets.flows.iter().map(|flow| &flow.entry).chain(beside);
    let mut tables: Vec<u32> = entries.map(|entry| entry.table_id).collect();
    tables.sort_unstable();
    tables.dedup();
    let is_local = channel.addresses().iter().all(Addresses::are_of_one_host);
    let client = channel.client.clone();
    let mut updates = live::P4RuntimeControl::read(client.clone(), tables).await?;
    let flows = packets.flows.iter().filter(|flow| !updates.was_there(&flow.entry));
    let packets = Packets { flows: flows.cloned().collect(), ..packets.clone() };
    let beside: Vec<v1::TableEntry> =
        beside.iter().filter(|entry| !updates.was_there(entry)).cloned().collect();
    let before = match default_entry {
        Some(entry) => Some(DefaultEntry::read(client, entry.table_id).await?),
        None => None,
    };
    let prepared = async {
        updates.carry_out(Operation::Insert, &beside).await?;
        match default_entry {
            Some(entry) => updates.carry_out(Operation::Modify, std::slice::from_ref(entry)).await,
            None => Ok(()),
        }
    };
    let found = match prepared.await {
        Ok(()) => {
            let clock = Instant::now();
            let control = P4RuntimeControl::new(&mut updates, channel.stream(), &traffic.metadata);
            let mut bench = Bench::new(control, outlets, rounds.stop, &clock);
            measure(&mut bench, &packets, rounds).await
        }
        Err(error) => Err(error),
    };
    let put_back = match before {
        Some(before) => before.restore(&mut updates).await,
        None => Ok(()),
    };
    let left = live::Control::restore(&mut updates).await?;
    put_back?;
    match left {
        0 => found.map(|found| Measured { is_local, lacks: traffic.lacks.clone(), ..found }),
        count => Err(DutError::NotRestored { count }),
    }
}

/// Runs all rounds for each direction, and then those for reactions to the first packets of flows.
async fn measure<C: Control>(
    bench: &mut Bench<'_, C>,
    packets: &Packets<C::Entry>,
    Rounds { settings, stop, progress }: Rounds<'_>,
) -> Result<Measured, DutError> {
    let is_stopped = || stop.load(Ordering::Relaxed);
    let mut measured = Measured {
        window: settings.window,
        crossings: Vec::new(),
        reactions: Vec::new(),
        without_reaction: 0,
        is_local: false,
        lacks: Vec::new(),
    };
    let steps = u64::from(settings.rounds) * 3;
    let mut done = 0;
    for direction in Direction::ALL {
        let route = match direction {
            Direction::PacketIn => &packets.to_controller,
            Direction::PacketOut => &packets.from_controller,
        };
        done += u64::from(settings.rounds);
        let Some(route) = route else { continue };
        // Packets of the controller and updates share a channel in any case.
        let updated = match direction {
            Direction::PacketIn => packets.unrelated_entry(route),
            Direction::PacketOut => None,
        };
        let crossing = crossing(bench, direction, route, updated, settings, stop).await?;
        progress(done, steps);
        if is_stopped() {
            return Ok(measured);
        }
        measured.crossings.push(crossing);
    }
    let mut flows = packets.flows.iter().cycle();
    for _ in 0..settings.rounds {
        let mut round = Vec::new();
        for flow in flows.by_ref().take(settings.reactions as usize) {
            match bench.reaction(flow).await? {
                Some(reaction) => round.push(reaction),
                None if is_stopped() => return Ok(measured),
                None => measured.without_reaction += 1,
            }
        }
        if !packets.flows.is_empty() {
            measured.reactions.push(round);
        }
        done += 1;
        progress(done, steps);
    }
    Ok(measured)
}

/// Measures the rate in one direction, and then the delays at several loads. With `updated`, this
/// entry is inserted and deleted again and again at one of the loads. If the test is stopped
/// meanwhile, only the rate is returned.
async fn crossing<C: Control>(
    bench: &mut Bench<'_, C>,
    direction: Direction,
    route: &Route,
    updated: Option<&C::Entry>,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Crossing, DutError> {
    let mut crossing = Crossing {
        direction,
        length: route.packet.len(),
        rates: Vec::new(),
        counts: Counts::default(),
        is_limited_here: false,
        loads: Vec::new(),
    };
    let crossed =
        Crossed { direction, route, pace: Pace::Window(settings.window), time: settings.time };
    let mut limited = 0;
    // The first round warms the caches of the switch and is not counted.
    for round in 0..=settings.rounds {
        let trial = bench.trial(crossed, None).await?;
        if stop.load(Ordering::Relaxed) {
            return Ok(crossing);
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
        crossing.loads = loads(bench, crossed, mean, updated, settings.rounds).await?;
    }
    Ok(crossing)
}

/// Measures delays at several loads, which take turns in each round.
async fn loads<C: Control>(
    bench: &mut Bench<'_, C>,
    crossed: Crossed<'_>,
    highest: f64,
    updated: Option<&C::Entry>,
    rounds: u32,
) -> Result<Vec<Load>, DutError> {
    let load = |share: f64, updates: Option<Updates>| Load {
        share,
        rate: share * highest,
        delays: Vec::new(),
        counts: Counts::default(),
        updates,
    };
    let mut loads: Vec<Load> = LOADS.into_iter().map(|share| load(share, None)).collect();
    loads.extend(updated.map(|_| load(BESIDE_UPDATES, Some(Updates::default()))));
    for _ in 0..rounds {
        for load in &mut loads {
            let at_load = Crossed { pace: Pace::Rate(load.rate), ..crossed };
            let beside = updated.filter(|_| load.updates.is_some());
            let trial = bench.trial(at_load, beside).await?;
            load.delays.push(Ordered::of(trial.delays));
            load.counts.add(trial.counts);
            if let Some(updates) = &mut load.updates {
                updates.rates.push(trial.updates as f64 / crossed.time.as_secs_f64());
            }
        }
    }
    Ok(loads)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod virtual_time;
