//! Network topology change detection time, 5.1.8.
//!
//! A switch is switched off: its session ends and its neighbours report that their links are down.
//! The time is from the first of these notifications to the first discovery message that the
//! controller then has a neighbour send. Where nothing can be notified (P4Runtime has no message for
//! it), it counts from when the switch is gone.
//!
//! Many controllers send discovery messages all the time, so that one comes by chance, sooner or
//! later by where in their interval the change falls. So a trial has several events, whose moments
//! are spread evenly over the interval of such messages; trials shift them against each other. The
//! value is the mean, and the spread stands beside it.

use std::collections::BTreeSet;

use statistics::Estimate;

use super::{Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::seen::{Order, Seen, What};
use crate::topology::{SwitchIndex, Topology};

/// The events of a trial.
const EVENTS: u32 = 5;
/// Discovery messages of a neighbour that are closer than this, in nanoseconds, are of one round.
const ROUND: u64 = 20_000_000;
/// Rounds after which their interval is known.
const ROUNDS: usize = 3;

pub(in crate::rfc8456) struct TopologyChange {
    terms: Terms,
    /// The switch that goes, one with the most links.
    victim: u32,
    neighbours: BTreeSet<u32>,
    /// The place of the first event in the interval, as a share of the distance between two events.
    shift: f64,
    began: u64,
    /// For how long nothing had changed yet.
    watched: u64,
    phase: Phase,
    polling: Polling,
    /// Events so far.
    number: u32,
    /// The time of each event that was detected, in seconds.
    times: Vec<f64>,
    /// The number of detected events that a switch reported to the controller.
    notified: u32,
    missed: u32,
    measured: Option<Measured>,
}

/// The stage of a trial.
#[derive(Clone, Copy)]
enum Phase {
    /// It watches how often neighbours are sent discovery messages.
    Watching,
    /// The switch goes at that time.
    Waiting { cut_at: u64 },
    /// The switch is gone.
    Cut { at: u64, notified: Option<u64> },
    /// The switch is to come back by that time.
    Returning { until: u64 },
    /// The controller discovers the links of the switch until that time.
    Settling { until: u64 },
    /// The trial is over.
    Over,
}

/// Discovery messages that come without a change.
#[derive(Default)]
struct Polling {
    /// Those of all neighbours while nothing has changed yet.
    messages: u64,
    /// When each round of one neighbour began.
    rounds: Vec<u64>,
    /// When that neighbour was last sent one.
    last: u64,
}

impl Polling {
    fn message(&mut self, at: u64) {
        if self.rounds.is_empty() || at > self.last.saturating_add(ROUND) {
            self.rounds.push(at);
        }
        self.last = at;
    }

    /// The interval between two rounds, where there were two.
    fn interval(&self) -> Option<u64> {
        let (first, last) = (self.rounds.first()?, self.rounds.last()?);
        let count = self.rounds.len() as u64 - 1;
        (count > 0).then(|| (last - first) / count)
    }
}

impl TopologyChange {
    /// Creates the procedure of a trial, by whose number its events are shifted in the interval.
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
            // The bits of the number behind the point in turned order: each shift halves a gap.
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

    /// Whether the interval of discovery messages is known, or there is none.
    fn has_watched(&self, now: u64) -> bool {
        let watched = now.saturating_sub(self.began);
        watched >= ROUNDS as u64 * self.terms.interval
            || watched >= self.terms.interval && self.polling.rounds.len() >= ROUNDS
    }

    /// Plans the next event: the events of a trial are spread evenly over an interval of discovery
    /// messages, or over the interval of the settings where there are none.
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

    /// An event is over: the switch comes back, or the trial ends.
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
