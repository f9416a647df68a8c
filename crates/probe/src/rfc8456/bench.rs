//! Runs one trial of a test: prepares the network, and then follows the test's procedure.
//!
//! A [`Bench`] stands between an edge, which owns the sockets and the clock, and a [`Procedure`],
//! which is a state machine over observed events. Neither the bench nor the procedure reads a
//! clock: the edge passes the time, and queries when it must call again.

use std::collections::VecDeque;

use super::emulator::{Device, Emulator};
use super::seen::{Order, Seen, What};
use crate::metrics::Unit;

/// The time between the announcements of two hosts, in nanoseconds. If all hosts announced
/// themselves at the same time, the controller would be overloaded.
const ANNOUNCEMENT: u64 = 10_000_000;
/// The time in nanoseconds after which the controller counts as lost if no switch has a session
/// with it. It is short, because a controller that ends sessions on purpose accepts new ones
/// immediately.
const GONE: u64 = 1_000_000_000;
/// The number of times that an announcement may cross each link on average. If announcements cross
/// links more often, they circulate in a loop, since a flooded announcement crosses each link only
/// once.
const CIRCLES: u64 = 64;

/// The result of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// The measured value in the unit of the test, or `None` if it could not be measured.
    pub(crate) value: Option<f64>,
    /// The figures of the trial in addition to its value, each with its name and unit.
    pub(crate) figures: Vec<(&'static str, f64, Unit)>,
    /// A remark for the reader. If there is no value, it explains why.
    pub(crate) remark: Option<String>,
    /// Whether the controller had sessions during the trial.
    pub(crate) reach: Reach,
}

/// Whether the controller had sessions during a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Switches had sessions with the controller.
    #[default]
    Reached,
    /// No switch had a session with the controller.
    NotReached,
    /// The controller ended the sessions of all switches during the trial.
    Lost,
}

impl Measured {
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self { remark: Some(why.into()), ..Self::default() }
    }

    pub(crate) fn of(value: f64) -> Self {
        Self { value: Some(value), ..Self::default() }
    }

    /// Creates the result of a trial in which the controller was not reached, with the reason.
    pub(crate) fn without_controller(reach: Reach, why: impl Into<String>) -> Self {
        Self { reach, ..Self::failed(why) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: f64, unit: Unit) -> Self {
        self.figures.push((name, value, unit));
        self
    }
}

/// The procedure of a test. It is a state machine that reacts to events and to the time.
pub(crate) trait Procedure {
    /// Returns whether the procedure begins before any switch has connected. Such a procedure
    /// orders the switches to connect itself.
    fn begins_unconnected(&self) -> bool {
        false
    }

    /// Returns whether the procedure continues when all sessions have ended. A procedure does so if
    /// it stops a controller on purpose.
    fn outlives_controller(&self) -> bool {
        false
    }

    /// Begins the test, and appends its first orders to `orders`. All switches have connected by
    /// then, unless [`Procedure::begins_unconnected`] returns true.
    fn begin(&mut self, now: u64, orders: &mut Vec<Order>);

    /// Reacts to an observed event, and appends the resulting orders to `orders`.
    fn see(&mut self, seen: &Seen, orders: &mut Vec<Order>);

    /// Continues the test at the time that [`Procedure::due`] returned, and appends further orders
    /// to `orders`.
    fn wake(&mut self, now: u64, orders: &mut Vec<Order>);

    /// Returns the time at which [`Procedure::wake`] must be called next.
    fn due(&self) -> u64;

    /// Returns the result of the trial, or `None` while the trial is running.
    fn measured(&self) -> Option<Measured>;
}

/// The parameters for preparing the network before a procedure begins. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preparation {
    /// The number of controllers with which each switch must have a session.
    pub(crate) controllers: usize,
    /// The time within which all switches must connect, in nanoseconds.
    pub(crate) patience: u64,
    /// The time, in nanoseconds, that the controller has to discover the topology before hosts
    /// announce themselves. After the announcements, it has half of this time to learn of the
    /// hosts.
    pub(crate) settle: u64,
    /// The least time between the starts of two connections, in nanoseconds, or 0 if all start at
    /// the same time.
    pub(crate) connect_spacing: u64,
    /// Whether hosts announce themselves before the procedure begins.
    pub(crate) announces: bool,
}

/// The phase of a trial: the preparation of the network, the procedure, and the end.
enum Phase {
    New,
    Connecting { until: u64 },
    Settling { until: u64 },
    Announcing { next: u64, host: u32 },
    Learning { until: u64 },
    Running,
    Over(Measured),
}

/// A trial: the emulated network, the procedure of the test, and how far the trial has come.
pub(crate) struct Bench<D> {
    pub(crate) emulator: Emulator<D>,
    procedure: Box<dyn Procedure>,
    preparation: Preparation,
    phase: Phase,
    /// The number of sessions that each switch must still open to be ready.
    missing: Vec<usize>,
    /// The switches that must connect next, in order.
    waiting: VecDeque<u32>,
    /// The earliest time at which the next switch may connect.
    connect_at: u64,
    crossed: u64,
    last_error: Option<String>,
    /// Whether any switch was ready at some time.
    ever_ready: bool,
    /// Whether all switches were ready together at some time.
    was_ready: bool,
    /// The time at which the last session ended, or `None` while any switch has a session.
    gone_since: Option<u64>,
}

impl<D: Device> Bench<D> {
    pub(crate) fn new(
        emulator: Emulator<D>,
        procedure: Box<dyn Procedure>,
        preparation: Preparation,
    ) -> Self {
        let missing = vec![preparation.controllers; emulator.devices.len()];
        let (phase, crossed) = (Phase::New, 0);
        let (ever_ready, was_ready, gone_since) = (false, false, None);
        let last_error = None;
        Self {
            emulator,
            procedure,
            preparation,
            phase,
            missing,
            waiting: VecDeque::new(),
            connect_at: 0,
            crossed,
            last_error,
            ever_ready,
            was_ready,
            gone_since,
        }
    }

    /// Performs everything that is due at `now`. Orders that the edge must carry out are appended
    /// to `edge`.
    pub(crate) fn turn(&mut self, now: u64, edge: &mut Vec<Order>) {
        let mut orders = Vec::new();
        loop {
            self.connect(now, edge);
            self.advance(now, &mut orders);
            let seen = self.emulator.take_seen();
            if seen.is_empty() && orders.is_empty() {
                return;
            }
            for seen in &seen {
                self.see(seen, &mut orders);
            }
            for order in orders.drain(..) {
                self.carry_out(order, now, edge);
            }
        }
    }

    /// Appends an order to connect to `edge` for each waiting switch that may connect now.
    fn connect(&mut self, now: u64, edge: &mut Vec<Order>) {
        while self.connect_at <= now
            && let Some(switch) = self.waiting.pop_front()
        {
            edge.push(Order::Connect { switch });
            self.connect_at = self.connect_at.saturating_add(self.preparation.connect_spacing);
        }
    }

    /// Returns the time by which [`Bench::turn`] must be called again. It is 0 if the call must
    /// follow immediately, and `u64::MAX` if the trial is over.
    pub(crate) fn due(&self) -> u64 {
        match &self.phase {
            _ if self.emulator.has_seen() => 0,
            Phase::New => 0,
            Phase::Over(_) => u64::MAX,
            _ => self.due_in_phase().min(self.gone_at()).min(self.connection_at()),
        }
    }

    /// Returns the time at which the next waiting switch connects, or `u64::MAX` if no switch is
    /// waiting.
    fn connection_at(&self) -> u64 {
        if self.waiting.is_empty() { u64::MAX } else { self.connect_at }
    }

    /// Returns the time at which the controller counts as lost unless a session is opened before,
    /// or `u64::MAX` if it does not count as gone.
    fn gone_at(&self) -> u64 {
        self.gone_since.map_or(u64::MAX, |since| since.saturating_add(GONE))
    }

    fn due_in_phase(&self) -> u64 {
        match &self.phase {
            Phase::New => 0,
            Phase::Connecting { until } | Phase::Settling { until } | Phase::Learning { until } => {
                *until
            }
            Phase::Announcing { next, .. } => *next,
            Phase::Running => self.procedure.due(),
            Phase::Over(_) => u64::MAX,
        }
    }

    /// Returns the result of the trial, or `None` while the trial is running.
    pub(crate) fn measured(&self) -> Option<&Measured> {
        match &self.phase {
            Phase::Over(measured) => Some(measured),
            _ => None,
        }
    }

    fn advance(&mut self, now: u64, orders: &mut Vec<Order>) {
        if now >= self.gone_at() && !matches!(self.phase, Phase::Over(_)) {
            let last = self.last_error.as_deref().unwrap_or("none was reported");
            let why = format!(
                "the controller ended the sessions of all switches and opened none for {} s: it may \
                 have crashed; last error: {last}",
                GONE / 1_000_000_000
            );
            self.phase = Phase::Over(Measured::without_controller(Reach::Lost, why));
        }
        let settle = self.preparation.settle;
        match &mut self.phase {
            Phase::New if self.procedure.begins_unconnected() => {
                self.phase = Phase::Running;
                self.procedure.begin(now, orders);
            }
            Phase::New => {
                let until = now.saturating_add(self.preparation.patience);
                self.phase = Phase::Connecting { until };
                let count = u32::try_from(self.missing.len()).unwrap_or(u32::MAX);
                orders.extend((0..count).map(|switch| Order::Connect { switch }));
            }
            Phase::Connecting { .. } if self.missing.iter().all(|missing| *missing == 0) => {
                self.was_ready = true;
                self.phase = Phase::Settling { until: now.saturating_add(settle) };
            }
            Phase::Connecting { until } if now >= *until => {
                let ready = self.missing.iter().filter(|missing| **missing == 0).count();
                let last = self.last_error.as_deref().unwrap_or("none was reported");
                let why = format!(
                    "{ready} of {} switches got ready; last error: {last}",
                    self.missing.len()
                );
                let failed = Measured::failed(why);
                self.phase = Phase::Over(Measured { reach: self.reach(), ..failed });
            }
            Phase::Settling { until } if now >= *until => {
                self.phase = match self.preparation.announces {
                    true => Phase::Announcing { next: now, host: 0 },
                    false => Phase::Learning { until: now },
                };
            }
            Phase::Announcing { next, host } if now >= *next => {
                let hosts = self.emulator.hosts();
                if *host >= hosts.count() {
                    self.phase = Phase::Learning { until: now.saturating_add(settle / 2) };
                    return;
                }
                let (switch, number) = (*host / hosts.per_switch(), *host % hosts.per_switch());
                let announcement = hosts.arp_announcement(switch, number, self.emulator.key());
                if let (Some(host), Some((_, frame))) = (hosts.host(switch, number), announcement) {
                    orders.push(Order::Send { host, frame: frame.to_vec() });
                }
                (*next, *host) = (*next + ANNOUNCEMENT, *host + 1);
            }
            Phase::Learning { until } if now >= *until => {
                self.phase = Phase::Running;
                self.procedure.begin(now, orders);
            }
            Phase::Running => {
                if now >= self.procedure.due() {
                    self.procedure.wake(now, orders);
                }
                if let Some(measured) = self.procedure.measured() {
                    self.phase = Phase::Over(Measured { reach: self.reach(), ..measured });
                }
            }
            _ => {}
        }
    }

    fn reach(&self) -> Reach {
        if self.ever_ready { Reach::Reached } else { Reach::NotReached }
    }

    /// Returns whether any switch has a session with any controller.
    fn has_session(&self) -> bool {
        self.missing.iter().any(|missing| *missing < self.preparation.controllers)
    }

    fn see(&mut self, seen: &Seen, orders: &mut Vec<Order>) {
        match &seen.what {
            What::Ready { switch, .. } => {
                self.ever_ready = true;
                if let Some(missing) = self.missing.get_mut(*switch as usize) {
                    *missing = missing.saturating_sub(1);
                }
            }
            What::Lost { switch, reason, was_ready, .. } => {
                self.last_error = Some(reason.clone());
                if let (Some(missing), true) = (self.missing.get_mut(*switch as usize), was_ready) {
                    *missing += 1;
                }
            }
            What::Crossed { id, .. } if id.is_unmeasured() => {
                self.crossed += 1;
                let (links, hosts) = (self.emulator.topology().link_count(), self.emulator.hosts());
                let most = CIRCLES * (links as u64 + 1) * u64::from(hosts.count().max(1));
                if self.crossed > most && !matches!(self.phase, Phase::Over(_)) {
                    self.phase = Phase::Over(Measured::failed(
                        "announcements of hosts circulate: the controller floods along the loops of the topology; \
                         choose a topology without loops, such as --topology linear",
                    ));
                }
            }
            _ => {}
        }
        let watched = self.was_ready && !self.procedure.outlives_controller();
        self.gone_since = match watched && !self.has_session() {
            true => self.gone_since.or(Some(seen.at)),
            false => None,
        };
        if matches!(self.phase, Phase::Running) {
            self.procedure.see(seen, orders);
        }
    }

    fn carry_out(&mut self, order: Order, now: u64, edge: &mut Vec<Order>) {
        match order {
            Order::Connect { switch } => {
                if self.waiting.is_empty() {
                    self.connect_at = self.connect_at.max(now);
                }
                self.waiting.push_back(switch);
            }
            Order::Send { host, frame } => self.emulator.send(&host, frame, now),
            Order::Link { switch, port, is_up } => {
                self.emulator.set_link(switch, port, is_up, now);
            }
            Order::Power { switch, is_on } => {
                self.emulator.set_power(switch, is_on, now);
                edge.push(Order::Power { switch, is_on });
            }
            Order::Invalid { switch, number } => {
                if let Some(device) = self.emulator.devices.get_mut(switch as usize) {
                    device.send_invalid(number, now);
                }
            }
            other => edge.push(other),
        }
    }
}
