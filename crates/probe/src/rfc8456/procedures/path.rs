//! The tests of path provisioning: its time (sections 5.1.4 and 5.1.5) and its rate (sections 5.1.6
//! and 5.1.7).
//!
//! A packet between a new pair of hosts travels as far as flow rules forward it. In the reactive
//! tests, the first switch without a rule sends a packet-in, and the measured time begins with this
//! packet-in. In the proactive tests, the probe requests the path at the northbound interface, and
//! the measured time begins with this request. In both, it ends with the last message by which the
//! controller provisions the path.
//!
//! A packet may also reach its destination by flow rules that existed before the trial. The
//! controller has not provisioned such a path, so these paths are counted separately and affect no
//! time and no rate.

use std::collections::HashMap;

use super::{QUIET, Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::scene::{Pair, Scene};
use crate::rfc8456::seen::{Order, Seen, What};

/// The time in nanoseconds after which the packet between a pair of hosts is sent again. It is
/// repeated until one copy arrives.
const AGAIN: u64 = 100_000_000;

/// Returns a remark for a trial in which the controller did not provision any path.
fn without_controller(paths: u64) -> String {
    format!(
        "rules that were there before took all {paths} packets to their destinations, and the \
         controller provisioned nothing: have them removed before the trial, for instance by a restart \
         of the controller (--between)"
    )
}

const NO_PAIRS: &str =
    "there are no two hosts behind different switches; see --switches and --hosts";

/// The test of the path provisioning time. Paths are provisioned one after the other.
pub(in crate::rfc8456) struct PathTime {
    terms: Terms,
    scene: Scene,
    /// Whether the path is requested at the northbound interface before the packet is sent.
    proactive: bool,
    end: u64,
    /// The number of the current pair of hosts, counted from 0.
    flow: u32,
    current: Option<Current>,
    /// The time that each path took to be provisioned, in nanoseconds.
    times: Vec<u64>,
    /// The number of flow rules that the controller installed.
    rules: u64,
    /// The number of paths that were not provisioned.
    lost: u64,
    /// The number of paths on which flow rules from before the trial forwarded the packet without
    /// the controller.
    bypassed: u64,
    error: Option<String>,
    measured: Option<Measured>,
}

/// The path that is being provisioned.
struct Current {
    pair: Pair,
    began: u64,
    sequence: u64,
    send_at: u64,
    /// The time of the first request for the path to the controller: a packet-in, or a request at
    /// the northbound interface.
    asked: Option<u64>,
    /// The time of the controller's last message that belongs to the path.
    last: Option<u64>,
    arrived: bool,
    /// The time at which the path counts as finished if no further message belongs to it.
    done_at: u64,
}

impl PathTime {
    pub(in crate::rfc8456) fn new(terms: Terms, scene: Scene, proactive: bool) -> Self {
        Self {
            terms,
            scene,
            proactive,
            end: u64::MAX,
            flow: 0,
            current: None,
            times: Vec::new(),
            rules: 0,
            lost: 0,
            bypassed: 0,
            error: None,
            measured: None,
        }
    }

    fn next(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.current = None;
        if now >= self.end || self.flow >= self.terms.most_flows {
            return self.conclude();
        }
        let Some(pair) = self.scene.pair(self.flow) else { return self.conclude() };
        let mut current = Current {
            pair,
            began: now,
            sequence: 0,
            send_at: now,
            asked: None,
            last: None,
            arrived: false,
            done_at: now.saturating_add(self.terms.patience),
        };
        if self.proactive {
            let Some(path) = self.scene.path(pair) else { return self.conclude() };
            orders.push(Order::Provision { flow: self.flow, path });
            // The packet is sent after the rules were requested.
            current.send_at = u64::MAX;
        }
        self.current = Some(current);
    }

    fn conclude(&mut self) {
        let count = self.times.len();
        let error = self.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        let measured = if count > 0 {
            let total: u64 = self.times.iter().sum();
            Measured::of(seconds(total) / count as f64)
        } else if self.flow == 0 && self.lost == 0 {
            Measured::failed(NO_PAIRS)
        } else if self.bypassed > 0 && self.lost == 0 {
            Measured::failed(without_controller(self.bypassed))
        } else {
            Measured::failed(format!("no path of {} was provisioned{error}", self.lost))
        };
        self.measured = Some(
            measured
                .with("paths", count as f64, Unit::Count)
                .with("paths that failed", self.lost as f64, Unit::Count)
                .with("paths without the controller", self.bypassed as f64, Unit::Count)
                .with("rules", self.rules as f64, Unit::Count),
        );
    }

    fn over(&mut self, now: u64, orders: &mut Vec<Order>) {
        if let Some(current) = &self.current {
            match (current.arrived, current.asked, current.last) {
                (true, Some(asked), Some(last)) => self.times.push(last.saturating_sub(asked)),
                (true, ..) => self.bypassed += 1,
                (false, ..) => self.lost += 1,
            }
        }
        self.flow += 1;
        self.next(now, orders);
    }
}

impl Procedure for PathTime {
    fn begin(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.end = now.saturating_add(self.terms.duration);
        self.next(now, orders);
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        let flow = self.flow;
        let Some(current) = &mut self.current else { return };
        let wait = |current: &mut Current| {
            if current.arrived {
                current.done_at = seen.at.saturating_add(QUIET);
            }
        };
        match &seen.what {
            What::PacketIn { id: Some(id), .. } if id.switch == flow && !self.proactive => {
                current.asked.get_or_insert(seen.at);
            }
            What::Provisioned { flow: of, asked_at, outcome } if *of == flow => {
                match outcome {
                    Ok(()) => {
                        current.asked.get_or_insert(*asked_at);
                        current.send_at = current.send_at.min(seen.at);
                    }
                    Err(error) => {
                        self.error = Some(error.clone());
                        current.done_at = seen.at;
                    }
                };
            }
            What::Rules { installed, .. } if *installed > 0 => {
                self.rules += u64::from(*installed);
                if current.asked.is_some() || self.proactive {
                    current.last = Some(seen.at);
                    wait(current);
                }
            }
            // Instead of installing rules, or in addition, a controller may forward the packet
            // itself.
            What::PacketOut { id, .. } if id.switch == flow && !self.proactive => {
                current.last = Some(seen.at);
                wait(current);
            }
            What::Delivered { switch, port, id, to }
                if id.switch == flow
                    && !current.arrived
                    && self.scene.is_at(&current.pair.to, *switch, *port, *to) =>
            {
                (current.arrived, current.send_at) = (true, u64::MAX);
                current.done_at = seen.at.saturating_add(QUIET);
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        let Some(current) = &mut self.current else { return self.next(now, orders) };
        if now >= current.done_at {
            return self.over(now, orders);
        }
        if now >= current.send_at {
            orders.push(self.scene.packet(current.pair, self.flow, current.sequence));
            current.sequence += 1;
            current.send_at = now.saturating_add(AGAIN);
        }
    }

    fn due(&self) -> u64 {
        match &self.current {
            Some(current) => current.done_at.min(current.send_at).max(current.began),
            None => self.end,
        }
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}

/// The test of the path provisioning rate. New pairs of hosts are offered at a fixed rate, and the
/// pairs whose packet arrives are counted. The packet of a pair is sent immediately or, in the
/// proactive test, when its path has been provisioned.
pub(in crate::rfc8456) struct PathRate {
    terms: Terms,
    scene: Scene,
    /// Whether the path is requested at the northbound interface before the packet is sent.
    proactive: bool,
    began: u64,
    end: u64,
    /// The time at which the next pair is offered.
    next: u64,
    /// The number of the next pair of hosts, counted from 0.
    flow: u32,
    /// The pairs whose packet has not arrived yet.
    waiting: HashMap<u32, Offered>,
    /// The number of pairs whose packet arrived after their path had been requested from the
    /// controller.
    arrived: u64,
    /// The number of pairs whose packet arrived without such a request, by flow rules that existed
    /// before.
    bypassed: u64,
    /// The number of flow rules that the controller installed.
    rules: u64,
    error: Option<String>,
    measured: Option<Measured>,
}

/// A pair of hosts whose packet has not arrived yet.
struct Offered {
    pair: Pair,
    at: u64,
    /// Whether the path was requested from the controller, by a packet-in or at its northbound
    /// interface.
    asked: bool,
}

impl PathRate {
    /// Creates the procedure. `terms.spacing` is the time after which the next pair is offered.
    pub(in crate::rfc8456) fn new(terms: Terms, scene: Scene, proactive: bool) -> Self {
        Self {
            terms,
            scene,
            proactive,
            began: 0,
            end: u64::MAX,
            next: u64::MAX,
            flow: 0,
            waiting: HashMap::new(),
            arrived: 0,
            bypassed: 0,
            rules: 0,
            error: None,
            measured: None,
        }
    }

    fn conclude(&mut self) {
        let duration = seconds(self.end - self.began);
        // The controller writes at least one rule for each path that it provisions. Paths in excess
        // of its rules must therefore have existed before.
        let provisioned = match self.proactive {
            true => self.arrived.min(self.rules),
            false => self.arrived,
        };
        let bypassed = self.bypassed + (self.arrived - provisioned);
        let offered = f64::from(self.flow);
        let mut measured = match self.flow {
            0 => Measured::failed(NO_PAIRS),
            _ if provisioned == 0 && bypassed > 0 => Measured::failed(without_controller(bypassed)),
            _ => Measured::of(provisioned as f64 / duration),
        };
        measured = measured
            .with("paths offered", offered, Unit::Count)
            .with("paths provisioned", provisioned as f64, Unit::Count)
            .with("paths without the controller", bypassed as f64, Unit::Count)
            .with("offered rate", offered / duration, Unit::PerSecond)
            .with("rules", self.rules as f64, Unit::Count);
        // A packet that was sent just before the end has had no time to arrive.
        let late = |offered: &Offered| offered.at.saturating_add(QUIET) <= self.end;
        let kept_up = !self.waiting.values().any(late);
        let ran_out = self.flow >= self.scene.pairs();
        measured.remark = match &self.error {
            Some(error) => Some(format!("the northbound interface: {error}")),
            None if measured.value.is_none() => measured.remark,
            None => self.bound(kept_up, ran_out),
        };
        self.measured = Some(measured);
    }

    /// Returns a remark for the case that the offered load limited the result, or `None` if it did
    /// not. `kept_up` says that every offered path was provisioned, so that the result is a lower
    /// bound. `ran_out` says that every pair of hosts was offered before the end of the trial.
    fn bound(&self, kept_up: bool, ran_out: bool) -> Option<String> {
        let at_least = "all paths that were offered were provisioned: the rate is at least this";
        match (kept_up, ran_out) {
            (true, false) => Some(format!("{at_least} (--rfc8456-rate)")),
            (true, true) => Some(format!(
                "{at_least}; every pair of hosts was offered before the trial was over, and more hosts \
                 make more pairs (--hosts)"
            )),
            (false, true) => Some(
                "every pair of hosts was offered before the trial was over; more hosts make more pairs \
                 (--hosts)"
                    .into(),
            ),
            (false, false) => None,
        }
    }
}

impl Procedure for PathRate {
    fn begin(&mut self, now: u64, _: &mut Vec<Order>) {
        (self.began, self.next) = (now, now);
        self.end = now.saturating_add(self.terms.duration);
    }

    fn see(&mut self, seen: &Seen, orders: &mut Vec<Order>) {
        match &seen.what {
            What::Rules { installed, .. } => self.rules += u64::from(*installed),
            What::PacketIn { id: Some(id), .. } => {
                if let Some(offered) = self.waiting.get_mut(&id.switch) {
                    offered.asked = true;
                }
            }
            What::Provisioned { flow, outcome: Ok(()), .. } => {
                if let Some(offered) = self.waiting.get_mut(flow) {
                    offered.asked = true;
                    orders.push(self.scene.packet(offered.pair, *flow, 0));
                }
            }
            What::Provisioned { outcome: Err(error), .. } => self.error = Some(error.clone()),
            What::Delivered { switch, port, id, to } if seen.at < self.end => {
                let at =
                    |offered: &Offered| self.scene.is_at(&offered.pair.to, *switch, *port, *to);
                if self.waiting.get(&id.switch).is_some_and(at)
                    && let Some(offered) = self.waiting.remove(&id.switch)
                {
                    match offered.asked {
                        true => self.arrived += 1,
                        false => self.bypassed += 1,
                    }
                }
            }
            // A packet may arrive at a switch before the rule of its path takes effect there.
            // Either the controller forwards it, or it is lost. No packet is repeated.
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        if now >= self.end {
            return self.conclude();
        }
        while self.next <= now {
            let Some(pair) = self.scene.pair(self.flow) else {
                self.next = u64::MAX;
                // No pair is left, so the trial ends early, after packets in the network have had
                // time to arrive. The rate refers to the time until then.
                self.end = self.end.min(now.saturating_add(QUIET)).max(self.began + 1);
                return;
            };
            self.waiting.insert(self.flow, Offered { pair, at: now, asked: false });
            if self.proactive {
                if let Some(path) = self.scene.path(pair) {
                    orders.push(Order::Provision { flow: self.flow, path });
                }
            } else {
                orders.push(self.scene.packet(pair, self.flow, 0));
            }
            self.flow += 1;
            self.next = self.next.saturating_add(self.terms.spacing.max(1));
        }
    }

    fn due(&self) -> u64 {
        self.next.min(self.end)
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
