//! The interfaces and the clock of a measurement with probes, and the observation of single
//! requests.

use std::time::{Duration, Instant};

use rand::RngExt as _;

use super::control::{Control, Moments};
use super::probes::{Arrival, Expected, Flow, Outcome, Record};
use super::run::Settings;
use crate::clock::Clock as _;
use crate::effects::{Classes, Moment, Observation, Silence, Span};
use crate::error::DutError;
use crate::outlet::Outlet;
use crate::pace::Pace;
use crate::window::{BatchAtomicity, Operation};

/// The time in nanoseconds for which missing probes are awaited after the last probe was sent or
/// arrived. Probes that are still missing then are lost.
const GRACE: u64 = 20_000_000;

/// The longest time in nanoseconds after an answer for which probes are sent while they do not show
/// the new state yet.
const LONGEST: u64 = 1_000_000_000;

/// The duration of a trial that shows whether the switch forwards the probes at the tried rate. It
/// is long enough to fill the queue of an interface.
const TRIAL: Duration = Duration::from_millis(500);

/// The time between the answer to the insertion of the rules and the trial of the rate. Without it,
/// a switch that answers before packets obey would seem overloaded.
const SETTLES: Duration = Duration::from_millis(100);

/// The greatest share of probes that may be lost in a trial if the switch is to count as forwarding
/// them.
const LOST: f64 = 0.01;

/// The time between two probes, in nanoseconds, at which the rate is not halved any further. No
/// switch is overloaded by so few probes.
const SLOWEST: u64 = 1_000_000;

/// The interfaces and the clock of a measurement with probes, and the counts of probes.
pub(super) struct Bench {
    clock: Instant,
    outlets: Vec<Outlet>,
    /// The time between two probes in nanoseconds.
    spacing: u64,
    /// The time in nanoseconds for which probes are sent before a request and again after its
    /// answer.
    beside: u64,
    /// The random number by which probes of this measurement are recognised.
    key: u64,
    /// The number of the first probe of the next request.
    next: u64,
    /// The number of probes that the interfaces did not accept.
    unsent: u64,
    /// The number of probes that were sent around requests, not counting trials of the rate.
    sent: u64,
    /// The total time in nanoseconds for which probes were sent around requests.
    sending: u64,
    /// The buffer in which each probe is assembled.
    frame: Vec<u8>,
}

impl Bench {
    pub(super) fn new(outlets: Vec<Outlet>, settings: &Settings) -> Self {
        Self {
            clock: Instant::now(),
            outlets,
            spacing: (1e9 / settings.probes_per_second.max(1.0)) as u64,
            beside: u64::try_from(settings.beside.as_nanos()).unwrap_or(u64::MAX),
            key: rand::rng().random(),
            next: 0,
            unsent: 0,
            sent: 0,
            sending: 0,
            frame: Vec::new(),
        }
    }

    /// Returns the intended number of probes per second.
    pub(super) fn due_per_second(&self) -> f64 {
        1e9 / self.spacing as f64
    }

    /// Returns the number of probes per second that were really sent around requests. It is less
    /// than the intended number if this program, or the interface, is too slow.
    pub(super) fn probes_per_second(&self) -> f64 {
        self.sent as f64 * 1e9 / self.sending.max(1) as f64
    }

    /// Returns the number of probes that the interfaces did not accept.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Halves the rate of probes until the switch forwards them while no rule changes, or the rate
    /// is too low to overload any switch.
    pub(super) async fn find_rate<C: Control>(
        &mut self,
        flows: &[&Flow<C::Entry>],
        control: &mut C,
    ) -> Result<(), DutError> {
        let is_seen = |flow: &&&Flow<C::Entry>| flow.inserted != Outcome::Unseen;
        let entries: Vec<C::Entry> =
            flows.iter().filter(is_seen).map(|flow| flow.first.clone()).collect();
        control.carry_out(Operation::Insert, &entries).await?;
        tokio::time::sleep(SETTLES).await;
        let expected = flows.iter().map(|flow| {
            let state = if is_seen(&flow) { &flow.inserted } else { &flow.absent };
            Expected { old: state, new: state }
        });
        let expected: Vec<Expected<'_>> = expected.collect();
        while self.lost(flows, &expected).await? > LOST && self.spacing < SLOWEST {
            self.spacing *= 2;
        }
        control.carry_out(Operation::Delete, &entries).await
    }

    /// Sends probes while no rule changes, and returns the share of those that are lost.
    async fn lost<E>(
        &mut self,
        flows: &[&Flow<E>],
        expected: &[Expected<'_>],
    ) -> Result<f64, DutError> {
        let mut record = Record::new(self.key, self.next, flows.len());
        let begin = self.now();
        let end = begin.0 + TRIAL.as_nanos() as u64;
        let (mut pace, mut rule) = (self.pace(begin), 0);
        loop {
            let now = self.now();
            if now.0 >= end && record.is_over(now, GRACE) {
                break;
            }
            if now.0 < end && pace.is_due(now) {
                self.send(flows, rule, &mut record)?;
                rule = (rule + 1) % flows.len();
            }
            self.receive(&mut record, expected)?;
            tokio::task::yield_now().await;
        }
        self.next = record.end();
        let probes = record.by_rule(flows.len());
        let counts = Classes::of(probes.iter().flatten());
        Ok(counts.lost as f64 / counts.all().max(1) as f64)
    }

    /// Returns the times at which probes are due from `begin` on.
    fn pace(&self, begin: Moment) -> Pace {
        Pace::new(begin, self.spacing, 1)
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Updates the rules of `flows` in one request and observes the effect. Returns `None` if
    /// packets of a rule look the same before and after the update, or if the rules differ in the
    /// state in which the switch drops packets. Also returns `None`, without an update, if a rule
    /// cannot be modified.
    pub(super) async fn change<C: Control>(
        &mut self,
        operation: Operation,
        atomicity: BatchAtomicity,
        flows: &[&Flow<C::Entry>],
        control: &mut C,
    ) -> Result<Option<Observation>, DutError> {
        let plans: Option<Vec<Plan<'_, C::Entry>>> =
            flows.iter().map(|flow| Plan::of(flow, operation)).collect();
        // Some rule cannot be modified so that packets show it.
        let Some(plans) = plans else { return Ok(None) };
        let entries: Vec<&C::Entry> = plans.iter().map(|plan| plan.entry).collect();
        control.prepare(operation, atomicity, &entries)?;
        let expected: Vec<Expected<'_>> = plans.iter().map(|plan| plan.expected).collect();
        self.observe(control, flows, &expected).await
    }

    /// Sends the prepared request, with probes before, during and after it. Returns what was
    /// observed.
    async fn observe<C: Control>(
        &mut self,
        control: &mut C,
        flows: &[&Flow<C::Entry>],
        expected: &[Expected<'_>],
    ) -> Result<Option<Observation>, DutError> {
        let mut record = Record::new(self.key, self.next, flows.len());
        let begin = self.now();
        let (mut pace, mut rule) = (self.pace(begin), 0);
        let mut is_ending = false;
        let unsent = self.unsent;
        let mut tried = 0;
        loop {
            let now = self.now();
            let goes_on = control.moments().answer.is_none_or(|answer| {
                now.0 < answer.latest.0 + self.beside
                    || (now.0 < answer.latest.0 + LONGEST
                        && !record.is_settled(expected, now, self.beside))
            });
            if !goes_on && !is_ending {
                is_ending = true;
                self.sent += tried - (self.unsent - unsent);
                self.sending += now.0 - begin.0;
            }
            if !is_ending && pace.is_due(now) {
                self.send(flows, rule, &mut record)?;
                tried += 1;
                rule = (rule + 1) % flows.len();
            }
            if is_ending && record.is_over(now, GRACE) {
                break;
            }
            self.receive(&mut record, expected)?;
            if now.0 >= begin.0 + self.beside {
                control.turn(&|| self.now()).await?;
            }
            tokio::task::yield_now().await;
        }
        self.next = record.end();
        let silences: Vec<Option<Silence>> = expected.iter().map(Expected::silence).collect();
        let Moments { request: Some(request), answer: Some(answer) } = control.moments() else {
            return Ok(None);
        };
        let silence = silences.first().copied().flatten();
        let silence = silence.filter(|first| silences.iter().all(|one| *one == Some(*first)));
        let rules = record.by_rule(flows.len());
        Ok(silence.map(|silence| Observation { request, answer, rules, silence }))
    }

    /// Sends the next probe of a rule.
    fn send<E>(
        &mut self,
        flows: &[&Flow<E>],
        rule: usize,
        record: &mut Record,
    ) -> Result<(), DutError> {
        let Some(flow) = flows.get(rule) else { return Ok(()) };
        self.frame.clone_from(&flow.packet);
        record.next().write(&mut self.frame);
        let before = self.now();
        if !Outlet::find(&mut self.outlets, flow.port)?.send(&self.frame)? {
            self.unsent += 1;
            return Ok(());
        }
        record.sent(rule, Span { earliest: before, latest: self.now() });
        Ok(())
    }

    /// Records the probes that have arrived on all interfaces.
    fn receive(&mut self, record: &mut Record, expected: &[Expected<'_>]) -> Result<(), DutError> {
        for position in 0..self.outlets.len() {
            let before = self.now();
            let clock = self.clock;
            let Some(outlet) = self.outlets.get_mut(position) else { continue };
            let (port, earliest) = (outlet.number(), outlet.looked);
            let frames = outlet.receive()?;
            let latest = clock.now();
            for frame in frames.frames() {
                let arrival = Arrival { port, packet: frame.bytes() };
                record.arrived(&arrival, Span { earliest, latest }, expected);
            }
            outlet.looked = before;
        }
        Ok(())
    }
}

/// An update of one rule: the rule's entry, and how packets leave the switch before and after.
struct Plan<'a, E> {
    entry: &'a E,
    expected: Expected<'a>,
}

impl<'a, E> Plan<'a, E> {
    /// Returns how an operation changes the rule of a flow; `None` if the operation is a
    /// modification and the rule cannot be modified.
    fn of(flow: &'a Flow<E>, operation: Operation) -> Option<Self> {
        let (last, second): (&Outcome, _) = match &flow.second {
            Some(second) => (&flow.modified, Some(second)),
            None => (&flow.inserted, None),
        };
        Some(match operation {
            Operation::Insert => Self {
                entry: &flow.first,
                expected: Expected { old: &flow.absent, new: &flow.inserted },
            },
            Operation::Modify => Self {
                entry: second?,
                expected: Expected { old: &flow.inserted, new: &flow.modified },
            },
            Operation::Delete => {
                Self { entry: &flow.first, expected: Expected { old: last, new: &flow.absent } }
            }
        })
    }
}
