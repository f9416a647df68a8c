//! The test of the network topology change detection time (RFC 8456, section 5.1.8).
//!
//! The test switches a switch off. Its session ends, and its neighbours report that their links are
//! down. They report it by a port-status message of OpenFlow, or by gNMI in the case of P4Runtime,
//! which has no such message. The measured time begins with the first of these notifications, and
//! ends with the first discovery message that the controller sends through a neighbour afterwards.
//! If no switch notifies the controller, for instance because it has not subscribed to the links
//! over gNMI, the time begins when the switch is switched off.
//!
//! Many controllers send discovery messages periodically. Such a message may follow a change by
//! chance, after a time that depends only on the position of the change in the period. Therefore a
//! trial consists of several changes whose times are spread evenly over the period, and the trials
//! are shifted against each other. The result is the mean of the measured times, and their standard
//! deviation is reported with it.

use std::collections::BTreeSet;

use statistics::Estimate;

use super::{Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::seen::{Order, Seen, What};
use crate::topology::{SwitchIndex, Topology};

/// The number of times that a trial switches the switch off.
const EVENTS: u32 = 5;
/// The longest time in nanoseconds between two discovery messages of a neighbour that count as the
/// same round.
const ROUND: u64 = 20_000_000;
/// The number of rounds of discovery messages for which the network is observed before the first
/// change. It is observed for at least one configured interval, and for at most `ROUNDS` such
/// intervals.
const ROUNDS: usize = 3;

/// The state of the test of the topology change detection time.
pub(in crate::rfc8456) struct TopologyChange {
    terms: Terms,
    /// The switch that is switched off, which is the one with the most links.
    victim: u32,
    /// The switches that have a link to the victim.
    neighbours: BTreeSet<u32>,
    /// The position of the first event of this trial within the interval between discovery
    /// messages, as a share of the distance between two events.
    shift: f64,
    /// The time at which the trial began.
    began: u64,
    /// The time for which the network was observed before the first change, in nanoseconds.
    watched: u64,
    phase: Phase,
    polling: Polling,
    /// The number of times that the switch has been switched off.
    number: u32,
    /// The time in seconds that the controller took to detect each event, for those that it
    /// detected.
    times: Vec<f64>,
    /// The number of detected events for which a switch notified the controller.
    notified: u32,
    /// The number of events that the controller did not detect.
    missed: u32,
    measured: Option<Measured>,
}

/// The phase of a trial.
#[derive(Clone, Copy)]
enum Phase {
    /// The procedure observes at which interval the controller sends discovery messages through the
    /// neighbours.
    Watching,
    /// The switch will be switched off at the time `cut_at`.
    Waiting { cut_at: u64 },
    /// The switch was switched off at the time `at`. A neighbour notified the controller at
    /// `notified`, if any has done so.
    Cut { at: u64, notified: Option<u64> },
    /// The switch has been switched on again, and must connect by the time `until`.
    Returning { until: u64 },
    /// The controller has until the time `until` to discover the links of the switch again.
    Settling { until: u64 },
    /// The trial is over.
    Over,
}

/// A record of the discovery messages that are sent through the neighbours while the topology does
/// not change.
#[derive(Default)]
struct Polling {
    /// The number of discovery messages through all neighbours before any change.
    messages: u64,
    /// The times at which rounds of discovery messages began at one of the neighbours.
    rounds: Vec<u64>,
    /// The time of the last discovery message at the neighbour whose rounds are recorded.
    last: u64,
}

impl Polling {
    fn message(&mut self, at: u64) {
        if self.rounds.is_empty() || at > self.last.saturating_add(ROUND) {
            self.rounds.push(at);
        }
        self.last = at;
    }

    /// Returns the mean interval between rounds of discovery messages, or `None` if there were
    /// fewer than two rounds.
    fn interval(&self) -> Option<u64> {
        let (first, last) = (self.rounds.first()?, self.rounds.last()?);
        let count = self.rounds.len() as u64 - 1;
        (count > 0).then(|| (last - first) / count)
    }
}

impl TopologyChange {
    /// Creates the procedure of a trial. The number of the trial determines by how much its events
    /// are shifted.
    pub(in crate::rfc8456) fn new(terms: Terms, topology: &Topology, trial: u64) -> Self {
        let count = u32::try_from(topology.switch_count()).unwrap_or(u32::MAX);
        let links = |switch: &u32| topology.link_ports(SwitchIndex(*switch)).len();
        let victim = (0..count).rev().max_by_key(links).unwrap_or(0);
        let neighbours = topology
            .link_ports(SwitchIndex(victim))
            .filter_map(|port| topology.peer(SwitchIndex(victim), port))
            .map(|(switch, _)| switch.0)
            .collect();
        Self {
            terms,
            victim,
            neighbours,
            // The shift is the bit-reversed trial number as a binary fraction (van der Corput
            // sequence), so that each further trial halves a gap between the shifts of the others.
            shift: (trial.reverse_bits() >> 11) as f64 / (1_u64 << 53) as f64,
            began: 0,
            watched: 0,
            phase: Phase::Watching,
            polling: Polling::default(),
            number: 0,
            times: Vec::new(),
            notified: 0,
            missed: 0,
            measured: None,
        }
    }

    /// Returns whether the network has been observed long enough to plan the events (see
    /// [`ROUNDS`]).
    fn has_watched(&self, now: u64) -> bool {
        let watched = now.saturating_sub(self.began);
        watched >= ROUNDS as u64 * self.terms.interval
            || watched >= self.terms.interval && self.polling.rounds.len() >= ROUNDS
    }

    /// Plans the next event. The events of a trial are spread evenly over the interval between
    /// discovery messages, or over the configured interval if there are no such messages.
    fn plan(&mut self, now: u64) {
        let place = (f64::from(self.number) + self.shift) / f64::from(EVENTS);
        let (origin, interval) = match (self.polling.interval(), self.polling.rounds.last()) {
            (Some(interval), Some(last)) => (*last, interval.max(1)),
            _ => (now, self.terms.interval.max(1)),
        };
        let first = origin.saturating_add((place * interval as f64) as u64);
        let behind = now.saturating_sub(first).div_ceil(interval);
        self.phase = Phase::Waiting { cut_at: first.saturating_add(behind * interval) };
    }

    /// Ends an event: switches the switch on again, or ends the trial if this was the last event.
    fn over(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.number += 1;
        if self.number >= EVENTS {
            return self.conclude(None);
        }
        orders.push(Order::Power { switch: self.victim, is_on: true });
        self.phase = Phase::Returning { until: now.saturating_add(self.terms.patience) };
    }

    fn conclude(&mut self, remark: Option<String>) {
        self.phase = Phase::Over;
        let patience = seconds(self.terms.patience);
        let Some(found) = Estimate::of(&self.times) else {
            self.measured = Some(Measured::failed(format!(
                "no neighbour of the switch that went was sent a discovery message within {patience} s"
            )));
            return;
        };
        let polled = self.polling.interval().map(seconds);
        let usual = self.polling.messages as f64 / seconds(self.watched).max(1e-9);
        let mut measured = Measured::of(found.mean)
            .with("events", f64::from(self.number), Unit::Count)
            .with("shortest", found.min, Unit::Seconds)
            .with("longest", found.max, Unit::Seconds)
            .with("standard deviation", found.stddev.unwrap_or(0.0), Unit::Seconds)
            .with("events without a discovery message", f64::from(self.missed), Unit::Count)
            .with("discovery messages of neighbours before", usual, Unit::PerSecond)
            .with("notified", f64::from(self.notified), Unit::Count);
        if let Some(interval) = polled {
            measured = measured.with("interval of discovery messages", interval, Unit::Seconds);
        }
        let by_chance = polled.filter(|interval| found.mean > interval / 4.0).map(|interval| {
            format!(
                "neighbours are sent discovery messages every {interval:.3} s without any change, which \
                 alone makes a mean of half of that"
            )
        });
        measured.remark = remark.or(by_chance);
        self.measured = Some(measured);
    }
}

impl Procedure for TopologyChange {
    fn begin(&mut self, now: u64, _: &mut Vec<Order>) {
        if self.neighbours.is_empty() {
            self.measured = Some(Measured::failed("the topology has no links; see --topology"));
        }
        self.began = now;
    }

    fn see(&mut self, seen: &Seen, orders: &mut Vec<Order>) {
        match (seen.what.clone(), self.phase) {
            (What::DiscoverySent { switch }, Phase::Cut { at, notified })
                if self.neighbours.contains(&switch) && seen.at >= at =>
            {
                let from = notified.unwrap_or(at);
                self.times.push(seconds(seen.at.saturating_sub(from)));
                self.notified += u32::from(notified.is_some());
                self.over(seen.at, orders);
            }
            (What::DiscoverySent { switch }, phase) => {
                if matches!(phase, Phase::Watching) && self.neighbours.contains(&switch) {
                    self.polling.messages += 1;
                }
                let quiet = matches!(phase, Phase::Watching | Phase::Waiting { .. });
                if quiet && self.neighbours.first() == Some(&switch) {
                    self.polling.message(seen.at);
                }
            }
            (What::LinkTold { .. }, Phase::Cut { at, notified: None }) => {
                self.phase = Phase::Cut { at, notified: Some(seen.at) };
            }
            (What::Ready { switch, .. }, Phase::Returning { .. }) if switch == self.victim => {
                let until = seen.at.saturating_add(self.terms.interval);
                self.phase = Phase::Settling { until };
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        match self.phase {
            Phase::Watching if self.has_watched(now) => {
                self.watched = now.saturating_sub(self.began);
                self.plan(now);
            }
            Phase::Waiting { cut_at } if now >= cut_at => {
                self.phase = Phase::Cut { at: now, notified: None };
                orders.push(Order::Power { switch: self.victim, is_on: false });
            }
            Phase::Cut { at, .. } if now >= at.saturating_add(self.terms.patience) => {
                self.missed += 1;
                self.over(now, orders);
            }
            Phase::Returning { until } if now >= until => self.conclude(Some(format!(
                "the switch that went did not get ready again within {} s, which ended the trial",
                seconds(self.terms.patience)
            ))),
            Phase::Settling { until } if now >= until => self.plan(now),
            _ => {}
        }
    }

    fn due(&self) -> u64 {
        match self.phase {
            Phase::Watching => {
                let rounds = if self.polling.rounds.len() >= ROUNDS { 1 } else { ROUNDS as u64 };
                self.began.saturating_add(rounds * self.terms.interval)
            }
            Phase::Waiting { cut_at } => cut_at,
            Phase::Cut { at, .. } => at.saturating_add(self.terms.patience),
            Phase::Returning { until } | Phase::Settling { until } => until,
            Phase::Over => u64::MAX,
        }
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
