//! Network topology change detection time, 5.1.8.
//!
//! A switch is switched off: its session ends and its neighbours report that their links are down.
//! The time is from the first of these notifications to the first discovery message that the
//! controller then has a neighbour send. Where nothing can be notified (P4Runtime has no message for
//! it), it counts from when the switch is gone.
//!
//! Many controllers send discovery messages all the time, so that one may come by chance. How often
//! neighbours sent them before is a figure of the result.

use std::collections::BTreeSet;

use super::{Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::seen::{Order, Seen, What};
use crate::topology::{SwitchIndex, Topology};

pub(in crate::rfc8456) struct TopologyChange {
    terms: Terms,
    /// The switch that goes, one with the most links.
    victim: u32,
    neighbours: BTreeSet<u32>,
    began: u64,
    /// When the switch is switched off.
    cut_at: u64,
    notified: Option<u64>,
    /// Discovery messages of neighbours before.
    before: u64,
    is_cut: bool,
    measured: Option<Measured>,
}

impl TopologyChange {
    pub(in crate::rfc8456) fn new(terms: Terms, topology: &Topology) -> Self {
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
            began: 0,
            cut_at: u64::MAX,
            notified: None,
            before: 0,
            is_cut: false,
            measured: None,
        }
    }
}

impl Procedure for TopologyChange {
    fn begin(&mut self, now: u64, _: &mut Vec<Order>) {
        if self.neighbours.is_empty() {
            self.measured = Some(Measured::failed("the topology has no links; see --topology"));
        }
        (self.began, self.cut_at) = (now, now.saturating_add(self.terms.interval));
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        match seen.what {
            What::DiscoverySent { switch } if self.neighbours.contains(&switch) => {
                if !self.is_cut {
                    self.before += 1;
                } else if seen.at >= self.cut_at && self.measured.is_none() {
                    let from = self.notified.unwrap_or(self.cut_at);
                    let usual = self.before as f64 / seconds(self.terms.interval).max(1e-9);
                    self.measured = Some(
                        Measured::of(seconds(seen.at.saturating_sub(from)))
                            .with("discovery messages of neighbours before", usual, Unit::PerSecond)
                            .with("notified", f64::from(self.notified.is_some()), Unit::Count),
                    );
                }
            }
            What::LinkTold { .. } if self.is_cut => {
                self.notified.get_or_insert(seen.at);
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        if !self.is_cut {
            (self.is_cut, self.cut_at) = (true, now);
            orders.push(Order::Power { switch: self.victim, is_on: false });
        } else {
            self.measured = Some(Measured::failed(format!(
                "no neighbour of the switch that went was sent a discovery message within {} s",
                seconds(self.terms.patience)
            )));
        }
    }

    fn due(&self) -> u64 {
        if self.is_cut { self.cut_at.saturating_add(self.terms.patience) } else { self.cut_at }
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
