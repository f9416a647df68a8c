//! The measurement: updates on the control channel, and probes on the interfaces before, during and
//! after each update.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use p4runtime::client::{Client, WriteError};
use p4runtime::proto::v1::{
    self, get_forwarding_pipeline_config_request::ResponseType, write_request::Atomicity,
};
use packetio::af_packet::RingMemory;
use packetio::{BURST, Burst, Port, Transmitted};
use rand::RngExt as _;

use super::entries::{Owned, refused, update};
use super::outlet::{Arrival, Expected, Flow, Outcome, Record, Traffic};
use crate::effects::{Classes, Moment, Observation, Silence, Span, Summary};
use crate::error::DutError;
use crate::window::{Operation, PATIENCE};

/// The number of turns of the loop after which a message on the control channel has certainly been
/// seen: the runtime needs one to notice that the socket is ready, one for the connection, and one
/// for the call.
const TURNS: usize = 4;

/// The time in nanoseconds, after the latest sending or arrival of a probe, after which missing
/// probes are lost.
const GRACE: u64 = 20_000_000;

/// The longest time in nanoseconds after an answer for which probes are sent until they show the
/// new state.
const LONGEST: u64 = 1_000_000_000;

/// The time for which probes are sent to find out whether the switch forwards them at their rate.
/// It is long enough to fill the queue of an interface.
const TRIAL: Duration = Duration::from_millis(500);

/// The greatest share of probes that may be lost at a rate that the switch forwards.
const LOST: f64 = 0.01;

/// The time between two probes, in nanoseconds, from which on the rate is not lowered further,
/// since no switch is overloaded by it.
const SLOWEST: u64 = 1_000_000;

/// The settings of the test.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of rounds. In each, one rule and then all rules together are inserted, modified
    /// and deleted.
    pub rounds: usize,
    /// The greatest number of probes per second, over all rules of a request. It is halved until
    /// the switch forwards them, but not below 500, since an overloaded switch would lose probes
    /// for other reasons than a change.
    pub probes_per_second: f64,
    /// The time for which probes are sent before each request, and after its answer.
    pub beside: Duration,
}

/// The figures of one kind of request.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The operation of the updates.
    pub operation: Operation,
    /// The number of updates in a request.
    pub rules: usize,
    /// The state in which the switch drops the probes.
    pub silence: Silence,
    /// The figures.
    pub summary: Summary,
}

/// The measured effects of updates on packets.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the table.
    pub table: String,
    /// The number of rules that were used.
    pub rules: usize,
    /// The number of probes per second.
    pub probes_per_second: f64,
    /// The figures by kind of request.
    pub kinds: Vec<Kind>,
    /// The number of probes that could not be sent, because the interface's queue was full.
    pub unsent: u64,
}

/// Measures from which moment packets obey updates, and which packets are lost or go astray during
/// changes. The entries of the measurement are deleted in all cases.
pub(crate) async fn measure(
    client: &Client,
    traffic: &Traffic,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    check_program(client, traffic).await?;
    let mut tables: Vec<u32> = traffic.beside.iter().map(|entry| entry.table_id).collect();
    tables.extend(traffic.flows.iter().map(|flow| flow.first.table_id));
    tables.sort_unstable();
    tables.dedup();
    let mut owned = Owned::read(client.clone(), tables).await?;
    let found = rounds(client, traffic, settings, &mut owned, stop, progress).await;
    let differences = owned.restore().await?;
    match differences {
        0 => found,
        count => Err(DutError::NotRestored { count }),
    }
}

/// Checks that the switch runs the program from which the packets were made.
async fn check_program(client: &Client, traffic: &Traffic) -> Result<(), DutError> {
    let mut client = client.clone();
    let config = client.get_pipeline(ResponseType::P4infoAndCookie).await.map_err(|status| {
        DutError::Request { what: "GetForwardingPipelineConfig", cause: status.message().into() }
    })?;
    let there = config.p4info.unwrap_or_default();
    let tables = |p4info: &p4runtime::proto::config::P4Info| {
        let tables = p4info.tables.iter().map(|table| {
            let preamble = table.preamble.clone().unwrap_or_default();
            let fields = table.match_fields.iter().map(|field| (field.id, field.bitwidth));
            (preamble.id, preamble.name, fields.collect::<Vec<_>>())
        });
        tables.collect::<Vec<_>>()
    };
    match tables(&there) == tables(&traffic.p4info) {
        true => Ok(()),
        false => Err(DutError::OtherProgram),
    }
}

async fn rounds(
    client: &Client,
    traffic: &Traffic,
    settings: &Settings,
    owned: &mut Owned,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let flows: Vec<&Flow> =
        traffic.flows.iter().filter(|flow| !owned.was_there(&flow.first)).collect();
    let beside: Vec<v1::TableEntry> =
        traffic.beside.iter().filter(|entry| !owned.was_there(entry)).cloned().collect();
    let mut bench = Bench::open(traffic, settings)?;
    owned.insert(&beside).await?;
    let mut measured = Measured {
        table: traffic.table.clone(),
        rules: flows.len(),
        probes_per_second: 0.0,
        kinds: Vec::new(),
        unsent: 0,
    };
    if flows.is_empty() {
        return Err(DutError::NoRules);
    }
    bench.find_rate(&flows, owned).await?;
    measured.probes_per_second = 1e9 / bench.spacing as f64;
    // The first round warms the caches of the switch and is not counted.
    for round in 0..=settings.rounds {
        let single = [flows[round % flows.len()]];
        let groups = [&single[..], &flows[..]];
        let different = if flows.len() > 1 { 2 } else { 1 };
        for group in groups.into_iter().take(different) {
            for operation in Operation::ALL {
                if stop.load(Ordering::Relaxed) {
                    return Ok(measured);
                }
                let observation = bench.change(client, operation, group, owned).await?;
                if let Some(observation) = observation.filter(|_| round > 0) {
                    measured.note(operation, observation);
                }
            }
        }
        measured.unsent = bench.unsent;
        progress(round as u64, settings.rounds as u64);
    }
    Ok(measured)
}

impl Measured {
    fn note(&mut self, operation: Operation, observation: Observation) {
        let (rules, silence) = (observation.rules.len(), observation.silence);
        let known =
            self.kinds.iter().position(|kind| (kind.operation, kind.rules) == (operation, rules));
        let position = known.unwrap_or_else(|| {
            self.kinds.push(Kind { operation, rules, silence, summary: Summary::default() });
            self.kinds.len() - 1
        });
        if let Some(kind) = self.kinds.get_mut(position) {
            kind.summary.add(&observation.assess());
        }
    }
}

/// An open port of this machine.
struct Outlet {
    /// The number of the switch's port behind it.
    number: u32,
    port: Port,
    burst: Burst,
    /// The reading before the last look for arrivals.
    looked: Moment,
}

/// The interfaces and the clock.
struct Bench {
    clock: Instant,
    outlets: Vec<Outlet>,
    /// The time between two probes in nanoseconds.
    spacing: u64,
    /// The time in nanoseconds for which probes are sent before a request and after its answer.
    beside: u64,
    /// The random number by which probes of this measurement are recognised.
    key: u64,
    /// The number of the first probe of the next request.
    next: u64,
    /// The number of probes that could not be sent.
    unsent: u64,
    /// The buffer in which each probe is made.
    frame: Vec<u8>,
}

impl Bench {
    fn open(traffic: &Traffic, settings: &Settings) -> Result<Self, DutError> {
        let outlets = traffic.wires.iter().map(|wire| {
            let port = packetio::open(&wire.0, 1, RingMemory::here(1))?;
            let (number, burst) = (wire.0.number, Burst::new(BURST));
            Ok(Outlet { number, port, burst, looked: Moment(0) })
        });
        Ok(Self {
            clock: Instant::now(),
            outlets: outlets.collect::<Result<_, DutError>>()?,
            spacing: (1e9 / settings.probes_per_second.max(1.0)) as u64,
            beside: u64::try_from(settings.beside.as_nanos()).unwrap_or(u64::MAX),
            key: rand::rng().random(),
            next: 0,
            unsent: 0,
            frame: Vec::new(),
        })
    }

    /// Halves the rate of probes until the switch forwards them in a state that does not change, or
    /// the rate is too low to overload a switch.
    async fn find_rate(&mut self, flows: &[&Flow], owned: &mut Owned) -> Result<(), DutError> {
        let is_seen = |flow: &&&Flow| flow.inserted != Outcome::Unseen;
        let entries: Vec<v1::TableEntry> =
            flows.iter().filter(is_seen).map(|flow| flow.first.clone()).collect();
        owned.insert(&entries).await?;
        let expected = flows.iter().map(|flow| {
            let state = if is_seen(&flow) { &flow.inserted } else { &flow.absent };
            Expected { old: state, new: state }
        });
        let expected: Vec<Expected<'_>> = expected.collect();
        while self.lost(flows, &expected).await? > LOST && self.spacing < SLOWEST {
            self.spacing *= 2;
        }
        owned.delete(&entries).await
    }

    /// Sends probes while nothing changes, and returns the share of those that are lost.
    async fn lost(&mut self, flows: &[&Flow], expected: &[Expected<'_>]) -> Result<f64, DutError> {
        let mut record = Record::new(self.key, self.next, flows.len());
        let begin = self.now();
        let end = begin.0 + TRIAL.as_nanos() as u64;
        let (mut due, mut rule) = (begin, 0);
        loop {
            let now = self.now();
            if now.0 >= end && record.is_over(now, GRACE) {
                break;
            }
            if now.0 < end && now >= due {
                self.send(flows, rule, &mut record)?;
                rule = (rule + 1) % flows.len();
                due = self.next_due(due, now);
            }
            self.receive(&mut record, expected)?;
            tokio::task::yield_now().await;
        }
        self.next = record.end();
        let probes = record.by_rule(flows.len());
        let counts = Classes::of(probes.iter().flatten());
        Ok(counts.lost as f64 / counts.all().max(1) as f64)
    }

    /// Returns when the next probe is due. After a pause, probes that are overdue are not sent in
    /// one burst.
    fn next_due(&self, due: Moment, now: Moment) -> Moment {
        Moment(due.0.max(now.0.saturating_sub(self.spacing)) + self.spacing)
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Makes an update of the rules of `flows` and observes it. Returns `None` if packets of a rule
    /// look the same before and after it, or if the rules differ in the state in which packets are
    /// dropped. Also returns `None`, without an update, if a rule cannot be modified.
    async fn change(
        &mut self,
        client: &Client,
        operation: Operation,
        flows: &[&Flow],
        owned: &mut Owned,
    ) -> Result<Option<Observation>, DutError> {
        let plans: Option<Vec<Plan<'_>>> =
            flows.iter().map(|flow| Plan::of(flow, operation)).collect();
        // Some rule cannot be modified so that packets show it.
        let Some(plans) = plans else { return Ok(None) };
        if operation == Operation::Insert {
            owned.add(plans.iter().map(|plan| plan.entry.clone()));
        }
        let updates = plans.iter().map(|plan| update(operation, plan.entry)).collect();
        let expected: Vec<Expected<'_>> = plans.iter().map(|plan| plan.expected).collect();
        let observation = self.observe(client, updates, flows, &expected).await?;
        if operation == Operation::Delete {
            let gone: Vec<&v1::TableEntry> = plans.iter().map(|plan| plan.entry).collect();
            owned.remove(&gone);
        }
        Ok(observation)
    }

    /// Sends a request with probes before, during and after it.
    async fn observe(
        &mut self,
        client: &Client,
        updates: Vec<v1::Update>,
        flows: &[&Flow],
        expected: &[Expected<'_>],
    ) -> Result<Option<Observation>, DutError> {
        let mut record = Record::new(self.key, self.next, flows.len());
        let mut channel = Channel::new(client.clone(), updates);
        let begin = self.now();
        let (mut due, mut rule) = (begin, 0);
        let mut is_ending = false;
        loop {
            let now = self.now();
            let goes_on = channel.answer.is_none_or(|answer| {
                now.0 < answer.latest.0 + self.beside
                    || (now.0 < answer.latest.0 + LONGEST
                        && !record.is_settled(expected, now, self.beside))
            });
            is_ending |= !goes_on;
            if !is_ending && now >= due {
                self.send(flows, rule, &mut record)?;
                rule = (rule + 1) % flows.len();
                due = self.next_due(due, now);
            }
            if is_ending && record.is_over(now, GRACE) {
                break;
            }
            self.receive(&mut record, expected)?;
            if now.0 >= begin.0 + self.beside {
                channel.turn(&|| self.now()).await?;
            }
            tokio::task::yield_now().await;
        }
        self.next = record.end();
        let silences: Vec<Option<Silence>> = expected.iter().map(Expected::silence).collect();
        let (Some(request), Some(answer)) = (channel.request, channel.answer) else {
            return Ok(None);
        };
        let silence = silences.first().copied().flatten();
        let silence = silence.filter(|first| silences.iter().all(|one| *one == Some(*first)));
        let rules = record.by_rule(flows.len());
        Ok(silence.map(|silence| Observation { request, answer, rules, silence }))
    }

    /// Sends the next probe of a rule.
    fn send(&mut self, flows: &[&Flow], rule: usize, record: &mut Record) -> Result<(), DutError> {
        let Some(flow) = flows.get(rule) else { return Ok(()) };
        self.frame.clone_from(&flow.packet);
        record.next().write(&mut self.frame);
        let before = self.now();
        let outlet = self.outlets.iter_mut().find(|outlet| outlet.number == flow.port);
        let queue = outlet.and_then(|outlet| outlet.port.queues.first_mut());
        let Some(queue) = queue else { return Err(DutError::NoWire { port: flow.port }) };
        match queue.transmit(&self.frame) {
            Transmitted::Taken => {}
            Transmitted::Full => {
                self.unsent += 1;
                return Ok(());
            }
            Transmitted::BadLength | Transmitted::Down => {
                return Err(DutError::NoWire { port: flow.port });
            }
        }
        while !queue.flush() {
            if self.clock.elapsed().as_nanos() as u64 > before.0 + PATIENCE.as_nanos() as u64 {
                return Err(DutError::NoWire { port: flow.port });
            }
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
            outlet.burst.clear();
            for queue in &mut outlet.port.queues {
                queue.receive(&mut outlet.burst)?;
            }
            let latest = Moment(u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX));
            let at = Span { earliest: outlet.looked, latest };
            for frame in outlet.burst.frames() {
                let arrival = Arrival { port: outlet.number, packet: frame.bytes() };
                record.arrived(&arrival, at, expected);
            }
            outlet.looked = before;
        }
        Ok(())
    }
}

/// An update of one rule: the entry, and how packets leave before and after it.
struct Plan<'a> {
    entry: &'a v1::TableEntry,
    expected: Expected<'a>,
}

impl<'a> Plan<'a> {
    /// Returns the update of a rule; `None` if the rule cannot be modified.
    fn of(flow: &'a Flow, operation: Operation) -> Option<Self> {
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

/// A write request whose answer has not arrived.
type Call = Pin<Box<dyn Future<Output = Result<(), WriteError>>>>;

/// A request on the control channel that is polled, and the moments at which it was sent and
/// answered.
struct Channel {
    call: Option<Call>,
    request: Option<Span>,
    answer: Option<Span>,
    /// The readings at the beginning of the latest turns, the oldest first.
    readings: [Moment; TURNS],
    turns: usize,
}

impl Channel {
    fn new(mut client: Client, updates: Vec<v1::Update>) -> Self {
        let call = async move { client.write(updates, Atomicity::ContinueOnError).await };
        Self {
            call: Some(Box::pin(call)),
            request: None,
            answer: None,
            readings: [Moment(0); TURNS],
            turns: 0,
        }
    }

    /// Looks once whether the request was answered. The first look sends it.
    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<(), DutError> {
        let Some(call) = &mut self.call else { return Ok(()) };
        let reading = now();
        let request = *self.request.get_or_insert(Span { earliest: reading, latest: reading });
        if self.turns == 0 {
            self.readings = [reading; TURNS];
        }
        if self.turns == TURNS {
            // The connection has written the request to its socket by now.
            self.request = Some(Span { latest: reading, ..request });
        }
        self.turns += 1;
        let polled = std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        match polled {
            Poll::Ready(outcome) => {
                let [earliest, ..] = self.readings;
                let latest = now();
                self.answer = Some(Span { earliest, latest });
                if self.turns <= TURNS {
                    // All that is known is that the request was sent before its answer came.
                    self.request = Some(Span { latest, ..request });
                }
                self.call = None;
                outcome.map_err(|error| refused(&error))?;
            }
            Poll::Pending => {
                if reading.0 > request.earliest.0 + PATIENCE.as_nanos() as u64 {
                    return Err(DutError::NoAnswer { what: "Write", patience: PATIENCE });
                }
            }
        }
        self.readings.rotate_left(1);
        if let Some(last) = self.readings.last_mut() {
            *last = reading;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Returns the moments between which a request was sent and answered, if the answer is seen on
    /// the turn with this number. Each turn and each reading of the clock takes one nanosecond.
    fn spans(answered: usize) -> (Span, Span) {
        let clock = Cell::new(0);
        let now = || Moment(clock.replace(clock.get() + 1));
        let left = Cell::new(answered);
        let call =
            std::future::poll_fn(move |_| match left.replace(left.get().saturating_sub(1)) {
                0 => Poll::Ready(Ok(())),
                _ => Poll::Pending,
            });
        let mut channel = Channel {
            call: Some(Box::pin(call)),
            request: None,
            answer: None,
            readings: [Moment(0); TURNS],
            turns: 0,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        while channel.answer.is_none() {
            runtime.block_on(channel.turn(&now)).expect("an answer");
        }
        (channel.request.expect("a request"), channel.answer.expect("an answer"))
    }

    /// The first turn only begins to send the request, which may still be in memory on the next.
    #[test]
    fn the_span_of_a_request_ends_when_it_was_certainly_sent() {
        for answered in 0..3 * TURNS {
            let (request, answer) = spans(answered);
            assert_eq!(request.earliest, Moment(0));
            let certain = answer.latest.min(Moment(TURNS as u64));
            assert_eq!(request.latest, certain, "answered on turn {answered}");
            assert!(answer.earliest < answer.latest);
        }
    }
}
