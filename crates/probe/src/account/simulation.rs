//! A discrete-event simulation of a probe, a network and a controller, for tests of verdicts.
//!
//! The simulated probe records its actions in the same recorders as the engine threads do. The
//! verdict is computed from these records, whereas the test knows everything about the simulation.
//! A second simulation without delays of the probe shows the truth: the answers that are missing in
//! it are due to the controller and the network.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{
    ControllerWork, Edges, Evidence, HostWork, InSockets, Observed, ProbeWork, Times, Undisturbed,
    explain, verdict,
};
use crate::config::Mode;
use crate::engine::Recorder;
use crate::kernel::Spell;
use crate::ledger::{Tally, Window};
use crate::outcome::{Account, Counts, Latency, Silence, SwitchOutcome, Verdict};
use crate::trial::silence::ended_in_silence;

const SECOND: f64 = 1e9;
/// The round-trip time in seconds to a controller on the host of the probe.
const LOOPBACK: f64 = 50e-6;

/// The distribution of events over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spacing {
    Even,
    Random,
    /// Events come in groups of the given size, and all events of a group happen at the same time.
    Bursts(u64),
}

/// The parameters of a simulated trial. Times are in seconds since the start of traffic. Rates are
/// sums over all switches.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) switches: usize,
    pub(super) threads: usize,
    pub(super) rate: f64,
    pub(super) warm_up_rate: Option<f64>,
    pub(super) arrivals: Spacing,
    pub(super) warm_up: f64,
    pub(super) measure: f64,
    pub(super) drain: f64,
    /// The number of unanswered packet-ins that each switch keeps in a closed loop, which has no
    /// schedule. `None` for an open loop.
    pub(super) window: Option<u32>,
    pub(super) probe: Probe,
    pub(super) network_delay: f64,
    pub(super) network_rate: Option<f64>,
    /// The number of packet-ins that the network can hold. If it is full, the probe's connections
    /// refuse further packet-ins.
    pub(super) network_buffer: Option<u64>,
    pub(super) controller: Controller,
    /// The time within the measured window for which nothing ran on the controller's host, in
    /// seconds.
    pub(super) stalled: f64,
}

/// The delays of the simulated probe.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    /// The periods in which the probe does not run, each with its start and its length.
    pub(super) away: Vec<(f64, f64)>,
    /// The index of the only thread that is absent in these periods, or `None` if all threads are.
    pub(super) only: Option<usize>,
    pub(super) send_rate: Option<f64>,
    pub(super) read_rate: Option<f64>,
    /// The number of answers that the probe's sockets can hold. While they are full, the controller
    /// cannot send.
    pub(super) receive_buffer: Option<u64>,
}

/// A simulated controller with one queue and one server.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) rate: f64,
    pub(super) service: Spacing,
    /// The capacity of the queue. If it is full, arriving packet-ins are dropped.
    pub(super) queue: Option<usize>,
    /// The number of packet-ins that the controller and its sockets can hold. Further ones are not
    /// read, so connections refuse them.
    pub(super) buffer: Option<usize>,
    /// The share of packet-ins that the controller drops at random.
    pub(super) drops: f64,
    /// The periods in which the controller does not work, each with its start and its length.
    pub(super) pauses: Vec<(f64, f64)>,
    /// The indices of the switches that the controller never answers.
    pub(super) dead: Vec<usize>,
    /// The index of a switch that is served by a separate server, and the rate of that server.
    pub(super) capped: Option<(usize, f64)>,
    /// The number of answers to each packet-in.
    pub(super) copies: u32,
    pub(super) stops_at: f64,
    /// The period in which the controller's connections are closed, with its start and its length.
    pub(super) gone: Option<(f64, f64)>,
    /// The CPU time of the controller that the probe observes, if it observes any.
    pub(super) work: Option<ControllerWork>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            seed: 1,
            switches: 1,
            threads: 1,
            rate: 300.0,
            warm_up_rate: None,
            arrivals: Spacing::Even,
            warm_up: 2.0,
            measure: 10.0,
            drain: 2.0,
            window: None,
            probe: Probe::default(),
            network_delay: LOOPBACK / 2.0,
            network_rate: None,
            network_buffer: None,
            stalled: 0.0,
            controller: Controller {
                rate: 500.0,
                service: Spacing::Even,
                queue: None,
                buffer: None,
                drops: 0.0,
                pauses: Vec::new(),
                dead: Vec::new(),
                capped: None,
                copies: 1,
                stops_at: f64::INFINITY,
                gone: None,
                work: None,
            },
        }
    }
}

impl Scenario {
    /// Returns the same scenario with a probe that is never late.
    pub(super) fn without_delays(&self) -> Self {
        Self { probe: Probe::default(), ..self.clone() }
    }

    /// Returns the same scenario with a controller and a network that are never the limit.
    pub(super) fn with_probe_alone(&self) -> Self {
        let plain = Self::default();
        let controller = Controller { rate: 1e7, ..plain.controller };
        Self {
            controller,
            network_delay: plain.network_delay,
            network_rate: None,
            network_buffer: None,
            ..self.clone()
        }
    }
}

/// The outcome of a simulated trial.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) counts: Counts,
    /// The account of the trial, which is meaningful for an open loop only.
    pub(super) account: Account,
    pub(super) answers_in_window: u64,
    pub(super) answers_to_earlier: u64,
    pub(super) left_in_window: u64,
    pub(super) passed_over_in_window: u64,
    pub(super) undisturbed: Undisturbed,
    /// The exact numbers of packet-ins at the start and at the end of the window: those that were
    /// sent and not answered (`outstanding`), and those that were due and had not been sent
    /// (`not_left`).
    pub(super) outstanding: Edges,
    pub(super) not_left: Edges,
}

/// An event of the simulation. Except for those described below, a packet-in arrives at the
/// controller, the server of a station finishes a packet-in, an answer arrives at the probe, the
/// controller closes its connections, or an engine thread wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The window starts (true) or ends (false), and the simulation counts the packet-ins in each
    /// state.
    Edge(bool),
    /// The simulated kernel samples the state of the sockets.
    Look,
    Arrives {
        switch: usize,
        sequence: u64,
    },
    Served {
        station: usize,
    },
    Answer {
        switch: usize,
        sequence: u64,
    },
    HangsUp,
    Wake(usize),
}

/// An engine thread of the simulated probe.
#[derive(Default)]
struct Thread {
    /// The future times at which packet-ins are due, each with its switch.
    schedule: VecDeque<(u64, usize)>,
    /// The switches with due packet-ins that have not been sent, in the order of the due times.
    waiting: VecDeque<usize>,
    /// The answers in the thread's sockets, each by its switch and sequence number.
    unread: VecDeque<(usize, u64)>,
    /// The earliest time at which the thread can send the next packet-in, if its send rate is
    /// limited.
    next_send: u64,
    /// The earliest time at which the thread can read the next answer.
    next_read: u64,
    /// The time at which the thread last polled its sockets.
    looked: u64,
    /// The time at which the thread wakes by itself to send or read more.
    alarm: u64,
}

/// A queue of the controller with its server. The first of two stations serves all switches but
/// `Controller::capped`, and the second one serves that switch.
#[derive(Default)]
struct Station {
    queue: VecDeque<(usize, u64)>,
    busy: bool,
}

/// The state of the simulation: the probe, the network and the controller.
struct World<'a> {
    scenario: &'a Scenario,
    /// The generators of random numbers: one each for due times, service times and drops. Because
    /// they are separate, a delay of the probe does not change the other random choices.
    due: StdRng,
    service: StdRng,
    drops: StdRng,
    /// The future events by time. Simultaneous events happen in the order in which they were added.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// The number of events so far, which orders simultaneous events.
    order: u64,
    recorders: Vec<Recorder>,
    threads: Vec<Thread>,
    stations: [Station; 2],
    /// The number of packet-ins that wait at the controller, by switch.
    at_controller: Vec<usize>,
    /// The number of packet-ins in transit through the network.
    on_their_way: u64,
    /// The time from which the network can carry another packet-in, if its rate is limited.
    link_free: u64,
    /// The number of answers in the sockets of all threads.
    unread: u64,
    /// The state of the sockets as the samples so far show it.
    sockets: InSockets,
    /// The time of the last sample of the sockets, and whether the probe's sockets were full then.
    looked: (u64, bool),
    outstanding: Edges,
    not_left: Edges,
}

/// The time between two samples of the sockets, in nanoseconds.
const LOOK: u64 = 200_000_000;

fn nanos(seconds: f64) -> u64 {
    (seconds * SECOND) as u64
}

/// Simulates a trial.
pub(super) fn run(scenario: &Scenario) -> Outcome {
    let window =
        Window { from: nanos(scenario.warm_up), to: nanos(scenario.warm_up + scenario.measure) };
    let threads = scenario.threads;
    let recorders: Vec<Recorder> = (0..threads)
        .map(|thread| {
            let own = (0..scenario.switches).filter(|switch| switch % threads == thread);
            let tally = Tally::new(window, nanos(1.0), 10_000_000);
            Recorder::new(tally, own.map(|switch| switch as u32), true, nanos(0.2))
        })
        .collect();
    let mut world = World {
        scenario,
        due: StdRng::seed_from_u64(scenario.seed),
        service: StdRng::seed_from_u64(scenario.seed ^ 1 << 32),
        drops: StdRng::seed_from_u64(scenario.seed ^ 2 << 32),
        events: BinaryHeap::new(),
        order: 0,
        recorders,
        threads: (0..threads).map(|_| Thread::default()).collect(),
        stations: Default::default(),
        at_controller: vec![0; scenario.switches],
        on_their_way: 0,
        link_free: 0,
        unread: 0,
        sockets: InSockets {
            refused_by_network: if scenario.network_buffer.is_some() { 1.0 } else { 0.0 },
            ..InSockets::default()
        },
        looked: (0, false),
        outstanding: Edges::default(),
        not_left: Edges::default(),
    };
    world.plan(window);
    let late: f64 = scenario
        .probe
        .away
        .iter()
        .map(|(from, length)| {
            (from + length - from.max(scenario.warm_up + scenario.measure)).max(0.0)
        })
        .sum();
    let end = window.to + nanos(scenario.drain + late);
    while let Some(Reverse((at, _, event))) = world.events.pop() {
        if at > end {
            break;
        }
        world.happens(at, event);
    }
    for recorder in &mut world.recorders {
        recorder.close(end);
    }
    world.concludes(window, end)
}

impl World<'_> {
    fn push(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// Schedules the events whose times are known before the simulation starts.
    fn plan(&mut self, window: Window) {
        self.push(window.from, Event::Edge(true));
        self.push(window.to, Event::Edge(false));
        (1..=window.to / LOOK).for_each(|number| self.push(number * LOOK, Event::Look));
        if let Some((from, _)) = self.scenario.controller.gone {
            self.push(nanos(from), Event::HangsUp);
        }
        if self.scenario.window.is_some() {
            (0..self.threads.len()).for_each(|thread| self.push(0, Event::Wake(thread)));
            return;
        }
        let mut at = 0.0;
        let mut number = 0u64;
        loop {
            let rate = match self.scenario.warm_up_rate {
                Some(rate) if at < self.scenario.warm_up => rate,
                _ => self.scenario.rate,
            };
            let (gap, burst) = match self.scenario.arrivals {
                Spacing::Even => (1.0 / rate, 1),
                Spacing::Random => (-(1.0 - self.due.random::<f64>()).ln() / rate, 1),
                Spacing::Bursts(burst) => (burst as f64 / rate, burst),
            };
            at += gap;
            if nanos(at) >= window.to {
                return;
            }
            for _ in 0..burst {
                let switch = number as usize % self.scenario.switches;
                number += 1;
                let thread = switch % self.threads.len();
                self.threads[thread].schedule.push_back((nanos(at), switch));
                self.push(nanos(at), Event::Wake(thread));
            }
        }
    }

    /// Processes an event.
    fn happens(&mut self, at: u64, event: Event) {
        match event {
            Event::Edge(is_start) => self.counts_at_edge(at, is_start),
            Event::Look => {
                let full = self.is_full();
                let (from, was_full) = std::mem::replace(&mut self.looked, (at, full));
                if full || was_full {
                    self.sockets.spells.push(Spell { from, to: at, is_closed: full && was_full });
                }
            }
            Event::Wake(thread) => self.wakes(thread, at),
            Event::Arrives { switch, sequence } => {
                self.on_their_way -= 1;
                if self.scenario.network_buffer.is_some() {
                    self.push(at, Event::Wake(switch % self.threads.len()));
                }
                self.arrives(switch, sequence, at);
            }
            Event::Served { station } => self.served(station, at),
            Event::Answer { switch, sequence } => {
                let thread = switch % self.threads.len();
                self.unread += 1;
                self.threads[thread].unread.push_back((switch, sequence));
                self.push(at, Event::Wake(thread));
            }
            Event::HangsUp => {
                for station in &mut self.stations {
                    station.queue.clear();
                }
                self.at_controller.fill(0);
                for recorder in &mut self.recorders {
                    for member in 0..recorder.switches.len() {
                        recorder.cut_off(member);
                        recorder.counts(member).disconnects += 1;
                    }
                }
            }
        }
    }

    /// Returns whether the probe's sockets accept no more answers.
    fn is_full(&self) -> bool {
        self.scenario.probe.receive_buffer.is_some_and(|most| self.unread >= most)
    }

    fn counts_at_edge(&mut self, at: u64, is_start: bool) {
        let scheduled = self.threads.iter().flat_map(|thread| &thread.schedule);
        let untaken = scheduled.filter(|(due, _)| *due < at).count() as u64;
        let sum = |of: fn(&Tally) -> u64| -> u64 {
            self.recorders.iter().map(|recorder| of(&recorder.tally)).sum()
        };
        let values = [
            (&mut self.sockets.unread, self.unread),
            (&mut self.sockets.on_their_way, self.on_their_way),
            (&mut self.outstanding, sum(Tally::outstanding)),
            (&mut self.not_left, sum(Tally::pending) + untaken),
        ];
        for (edges, value) in values {
            match is_start {
                true => edges.start = value,
                false => edges.end = value,
            }
        }
    }

    /// Returns the time at which the absence of an engine thread ends, or `None` if the thread is
    /// not absent at time `at`.
    fn away(&self, thread: usize, at: u64) -> Option<u64> {
        let probe = &self.scenario.probe;
        if probe.only.is_some_and(|only| only != thread) {
            return None;
        }
        let spells = probe.away.iter().map(|(from, length)| (nanos(*from), nanos(from + length)));
        spells.filter(|(from, to)| (*from..*to).contains(&at)).map(|(_, to)| to).next()
    }

    fn wakes(&mut self, thread: usize, at: u64) {
        if let Some(back) = self.away(thread, at) {
            return self.push(back, Event::Wake(thread));
        }
        let looked = self.threads[thread].looked;
        let starts = self.scenario.probe.away.iter().map(|(from, _)| nanos(*from));
        let slept_until = starts.filter(|from| (looked..at).contains(from)).min().unwrap_or(at);
        let is_busy =
            self.threads[thread].next_read > at || !self.threads[thread].unread.is_empty();
        match is_busy && self.scenario.probe.read_rate.is_some() {
            true => self.recorders[thread].did_not_look(looked, at),
            false => self.recorders[thread].listened(looked, slept_until, at),
        }
        self.threads[thread].looked = at;
        self.takes_due(thread, at);
        self.sends(thread, at);
        self.reads(thread, at);
        self.recorders[thread].sample(at);
    }

    /// Moves the packet-ins that are due, by the thread's schedule or in a closed loop, to those
    /// that wait to be sent.
    fn takes_due(&mut self, thread: usize, at: u64) {
        let count = self.threads.len();
        let gone = self.scenario.controller.gone;
        let is_gone =
            gone.is_some_and(|(from, length)| (nanos(from)..nanos(from + length)).contains(&at));
        let mut taken = Vec::new();
        let state = &mut self.threads[thread];
        while state.schedule.front().is_some_and(|(due, _)| *due <= at) {
            taken.extend(state.schedule.pop_front());
        }
        for (due, switch) in taken {
            let member = switch / count;
            if is_gone {
                self.recorders[thread].due_in_vain(member, due);
            } else {
                self.recorders[thread].due_and_waits(member, due);
                self.threads[thread].waiting.push_back(switch);
            }
        }
        if let Some(window) = self.scenario.window {
            for switch in (thread..self.scenario.switches).step_by(self.threads.len()) {
                let member = switch / self.threads.len();
                while self.recorders[thread].switches[member].ledger.in_loop() < window {
                    self.recorders[thread].due(member, at);
                    let sequence = self.recorders[thread].issue(member, at);
                    self.recorders[thread].left(member, sequence, at);
                    self.leaves(switch, sequence, at);
                }
            }
        }
    }

    /// Sends the waiting packet-ins of an engine thread, until a connection accepts no more or the
    /// thread has reached its rate.
    fn sends(&mut self, thread: usize, at: u64) {
        while let Some(switch) = self.threads[thread].waiting.front().copied() {
            let member = switch / self.threads.len();
            if self
                .scenario
                .controller
                .buffer
                .is_some_and(|most| self.at_controller[switch] >= most)
            {
                self.recorders[thread].refuse(member);
                return;
            }
            if self.scenario.network_buffer.is_some_and(|most| self.on_their_way >= most) {
                self.recorders[thread].refuse(member);
                return;
            }
            let next = self.threads[thread].next_send;
            if next > at {
                return self.sets_alarm(thread, next);
            }
            self.threads[thread].waiting.pop_front();
            // The packet-ins of a connection that ended are lost with it.
            let Some((_, sequence)) = self.recorders[thread].issue_waiting(member) else {
                continue;
            };
            if let Some(rate) = self.scenario.probe.send_rate {
                self.threads[thread].next_send =
                    next.max(at - (at - next).min(1)) + nanos(1.0 / rate);
            }
            self.recorders[thread].left(member, sequence, at);
            self.leaves(switch, sequence, at);
        }
    }

    fn sets_alarm(&mut self, thread: usize, at: u64) {
        if self.threads[thread].alarm != at {
            self.threads[thread].alarm = at;
            self.push(at, Event::Wake(thread));
        }
    }

    fn leaves(&mut self, switch: usize, sequence: u64, at: u64) {
        let mut left = at;
        if let Some(rate) = self.scenario.network_rate {
            left = at.max(self.link_free) + nanos(1.0 / rate);
            self.link_free = left;
        }
        self.at_controller[switch] += 1;
        self.on_their_way += 1;
        let arrival = left + nanos(self.scenario.network_delay);
        self.push(arrival, Event::Arrives { switch, sequence });
    }

    fn reads(&mut self, thread: usize, at: u64) {
        while let Some((switch, sequence)) = self.threads[thread].unread.front().copied() {
            let next = self.threads[thread].next_read;
            if next > at {
                return self.sets_alarm(thread, next);
            }
            if let Some(rate) = self.scenario.probe.read_rate {
                self.threads[thread].next_read = at + nanos(1.0 / rate);
            }
            self.threads[thread].unread.pop_front();
            self.unread -= 1;
            (0..self.stations.len()).for_each(|station| self.serves(station, at));
            let member = switch / self.threads.len();
            for _ in 0..self.scenario.controller.copies {
                self.recorders[thread].answer(member, sequence, at);
            }
            if self.scenario.window.is_some() {
                self.push(at, Event::Wake(thread));
            }
        }
    }

    fn arrives(&mut self, switch: usize, sequence: u64, at: u64) {
        let controller = &self.scenario.controller;
        let station = usize::from(controller.capped.is_some_and(|(capped, _)| capped == switch));
        let waiting = self.stations[station].queue.len();
        let drops = self.drops.random::<f64>() < controller.drops;
        if drops
            || controller.dead.contains(&switch)
            || controller.queue.is_some_and(|q| waiting >= q)
        {
            self.at_controller[switch] = self.at_controller[switch].saturating_sub(1);
            return;
        }
        self.stations[station].queue.push_back((switch, sequence));
        self.serves(station, at);
    }

    fn serves(&mut self, station: usize, at: u64) {
        // Few answers are in transit at a time, so they count as sent.
        if self.stations[station].busy || self.stations[station].queue.is_empty() || self.is_full()
        {
            return;
        }
        let controller = &self.scenario.controller;
        if at as f64 / SECOND >= controller.stops_at {
            return;
        }
        let rate = match (station, controller.capped) {
            (1, Some((_, rate))) => rate,
            _ => controller.rate,
        };
        let pauses =
            controller.pauses.iter().map(|(from, length)| (nanos(*from), nanos(from + length)));
        let start = pauses.filter(|(from, to)| (*from..*to).contains(&at)).map(|(_, to)| to).max();
        let time = match controller.service {
            Spacing::Random => -(1.0 - self.service.random::<f64>()).ln() / rate,
            Spacing::Even | Spacing::Bursts(_) => 1.0 / rate,
        };
        self.stations[station].busy = true;
        self.push(start.unwrap_or(at) + nanos(time), Event::Served { station });
    }

    fn served(&mut self, station: usize, at: u64) {
        self.stations[station].busy = false;
        if let Some((switch, sequence)) = self.stations[station].queue.pop_front() {
            self.at_controller[switch] = self.at_controller[switch].saturating_sub(1);
            let arrival = at + nanos(self.scenario.network_delay);
            self.push(arrival, Event::Answer { switch, sequence });
            if self.scenario.controller.buffer.is_some() {
                self.push(at, Event::Wake(switch % self.threads.len()));
            }
        }
        self.serves(station, at);
    }

    /// Ends the simulation, and returns its outcome together with the exact numbers.
    fn concludes(self, window: Window, end: u64) -> Outcome {
        let scenario = self.scenario;
        let mut counts = Counts::default();
        let (mut left_in_window, mut answers_in_window, mut answers_to_earlier) = (0, 0, 0);
        let mut switches = Vec::new();
        let mut histograms = crate::outcome::Histograms::default();
        for recorder in &self.recorders {
            for record in &recorder.switches {
                let own = record.ledger.counts();
                counts.due += own.due;
                counts.sent += own.sent;
                counts.answered += own.answered;
                counts.answered_after += own.answered_after;
                counts.lost += own.lost;
                counts.passed_over += own.passed_over;
                counts.waiting += own.waiting;
                counts.unsent += own.unsent;
                counts.duplicated += own.duplicated;
                counts.disconnects += own.disconnects;
                let in_window = record.ledger.in_window();
                left_in_window += in_window.left;
                answers_in_window += in_window.answers;
                answers_to_earlier += in_window.answers_to_earlier;
                switches.push(SwitchOutcome {
                    index: record.index,
                    counts: own,
                    ..SwitchOutcome::default()
                });
            }
            let own = &recorder.tally.histograms;
            histograms.send_lag.add(&own.send_lag).expect("same precision");
            histograms.rtt_from_sent.add(&own.rtt_from_sent).expect("same precision");
            histograms.rtt_in_window.add(&own.rtt_in_window).expect("same precision");
        }
        let observed = Observed::of(self.recorders.iter(), window);
        let mode = match scenario.window {
            Some(window) => Mode::Closed { window, give_up: Duration::from_secs(5) },
            None => Mode::Open,
        };
        let found = ended_in_silence(|| self.recorders.iter(), nanos(scenario.drain));
        let silence = found.map(|found| Silence {
            last_answer_s: found.last_answer as f64 / SECOND,
            until_s: end as f64 / SECOND,
            unanswered: found.unanswered,
            sent_s: found.sent as f64 / SECOND,
            switch: found.switch,
            sequence: found.sequence,
            frame: String::new(),
        });
        let latency = |histogram| Latency::of(histogram);
        let send_lag = latency(&histograms.send_lag);
        let rtt_from_sent = latency(&histograms.rtt_in_window);
        let mut undisturbed = crate::outcome::Histograms::default().rtt_from_sent;
        for recorder in &self.recorders {
            undisturbed.add(&recorder.tally.undisturbed).expect("same precision");
        }
        let (all, undisturbed) = (latency(&histograms.rtt_from_sent), latency(&undisturbed));
        let evidence = Evidence {
            mode,
            window,
            counts: &counts,
            observed: &observed,
            sockets: Some(&self.sockets),
            host: HostWork { has_controller: true, stalled: nanos(scenario.stalled), stolen: 0.0 },
            network_rtt: Some(nanos(2.0 * scenario.network_delay)),
            send_lag: &send_lag,
            rtt_from_sent: &rtt_from_sent,
            times: Times { all: &all, undisturbed: &undisturbed },
            answers_in_window,
            probe: ProbeWork { cpu_percent: 20.0, threads: scenario.threads },
            controller: scenario.controller.work,
            silence: silence.as_ref(),
            switches: &switches,
        };
        let explained = explain(&evidence);
        Outcome {
            verdict: verdict(&evidence),
            account: explained.account,
            passed_over_in_window: explained.course.passed_over,
            undisturbed: explained.course.undisturbed,
            counts,
            answers_in_window,
            answers_to_earlier,
            left_in_window,
            outstanding: self.outstanding,
            not_left: self.not_left,
        }
    }
}
