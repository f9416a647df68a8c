//! Simulates one run, in which packets travel from sources over servers, ports and regulators to
//! their destinations.
//!
//! A packet of a multicast group or of a replicated flow is one packet while its paths are the
//! same, and becomes one packet per path where these part. A server that eliminates copies forwards
//! the first copy of each packet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::clock::Clock;
use super::conformance::Conformance;
use super::line::{Line, Pace, Service, Waiting};
use super::port::{Pick, State};
use super::rng::Rng;
use super::setup::{Setup, Stream};
use super::sources::{self, Pattern};
use crate::Rational;
use crate::interrupt;
use crate::network::elements::{Multiplexing, Priority, Regulator, ServerId};

/// The largest number of events in one run, after which it ends.
const MAX_EVENTS: usize = 60_000;

/// The parameters of a run: the times at which sources send, and the seed of its random choices.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// The time at which the source of each stream begins to send, and its pattern.
    pub(super) sources: Vec<(Rational, Pattern)>,
    /// The largest number of packets that the source of each stream sends.
    pub(super) packets: usize,
    /// Whether participant 0 is the flow of interest, which is served last among packets that
    /// arrive simultaneously.
    pub(super) has_interest: bool,
    /// The seed of the speeds of servers, clocks, ties, arbitrary orders of service, and lost
    /// copies. Without a seed, each of these is as harmful as possible to the flow of interest.
    pub(super) seed: Option<u64>,
    /// The time within which clocks begin to deviate from true time.
    pub(super) span: Rational,
}

/// The delay and backlog of a flow that were observed in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowObservation {
    /// The largest delay of a packet, or `None` if no packet has reached its destination.
    pub(super) delay: Option<Rational>,
    pub(super) backlog: Rational,
    waiting: Rational,
    /// The arrival times of the flow's first packet and of the last packet of its first burst, at
    /// each server of its path.
    pub(super) came: Vec<[Option<Rational>; 2]>,
}

/// The largest delay and backlog that were observed at a server, or for one priority at a server.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueObservation {
    pub(super) delay: Rational,
    pub(super) backlog: Rational,
    waiting: Rational,
}

/// A packet during a run. While the paths of several participants (flows) are the same, one packet
/// stands for the copies that all of them get.
#[derive(Clone, Debug)]
struct Packet {
    stream: usize,
    /// The participants to which the packet belongs, of which there is at least one. All have
    /// shared their path up to here.
    members: Vec<usize>,
    hop: usize,
    number: usize,
    size: Rational,
    sent: Rational,
    /// The time at which the packet arrived at its current server.
    came: Rational,
}

/// The key of a regulator's queue: the servers before and after the regulator, the priority and,
/// for per-flow regulators, the participant.
type QueueKey = (ServerId, ServerId, Priority, Option<usize>);

/// An event of the packet simulation. The numbers are indices of packets or ports.
#[derive(Debug)]
enum Event {
    /// A source sends a packet.
    Sent(Box<Packet>),
    /// A packet arrives at a server.
    Arrival(usize),
    /// A packet enters the queue of a port.
    Queued(usize),
    /// A packet starts to leave a server that is not a port.
    Starts(usize),
    /// A packet has left a server that is not a port.
    Left(usize),
    /// A port has sent a packet.
    PortDone(usize),
    /// A port checks whether it may send.
    Poll(usize),
    /// A regulator releases the first packet of a queue.
    Released(QueueKey),
}

/// An output port in a run: its state and its clock.
struct PortAt<'n> {
    state: State<'n>,
    clock: Clock,
}

/// The state of a packet simulation.
pub(super) struct Run<'c, 'n> {
    setup: &'c Setup<'n>,
    has_interest: bool,
    /// The random choices of the run, or `None` if each choice is as harmful as possible to the
    /// flow of interest.
    rng: Option<Rng>,
    /// The order of streams among packets that arrive simultaneously. Streams with lower values are
    /// first.
    ranks: Vec<u8>,
    /// All packets so far. A packet is referred to by its index.
    packets: Vec<Packet>,
    /// The pending events, each with its time, its order among simultaneous events, and its number.
    agenda: BinaryHeap<Reverse<(Rational, u8, usize)>>,
    /// All events so far, by number. An event is taken out when it happens.
    events: Vec<Option<Event>>,
    /// The output ports that flows pass, by index.
    ports: BTreeMap<usize, PortAt<'n>>,
    /// The servers that are not ports.
    lines: HashMap<ServerId, Line<'c>>,
    /// The packets that wait in each queue of a regulator.
    queues: BTreeMap<QueueKey, VecDeque<usize>>,
    /// The packets that each regulator has let pass so far, by participant. They determine when the
    /// next packet conforms to the arrival curve.
    regulated: HashMap<(ServerId, ServerId, usize), Conformance>,
    /// The packets that have passed a server that eliminates copies: the server, the stream and the
    /// number of the packet.
    eliminated: HashSet<(ServerId, usize, usize)>,
    /// The number of packets that the source of each stream sends at its first moment.
    bursts: Vec<usize>,
    /// The number of packets that have not reached their destination. A packet counts once for each
    /// of its participants.
    open: usize,
    pub(super) observed: Vec<FlowObservation>,
    pub(super) servers: BTreeMap<(ServerId, Option<Priority>), QueueObservation>,
}

impl<'c, 'n> Run<'c, 'n> {
    /// Performs a run to its end and returns what was observed.
    pub(super) fn of(setup: &'c Setup<'n>, scenario: &Scenario) -> Self {
        let mut rng = scenario.seed.map(Rng::of);
        let observed = |participant: &super::setup::Participant<'_>| FlowObservation {
            came: vec![[None, None]; participant.path.len()],
            ..FlowObservation::default()
        };
        let ranks = match (&mut rng, scenario.has_interest) {
            (Some(rng), false) => setup.streams.iter().map(|_| rng.below(4) as u8).collect(),
            _ => vec![0; setup.streams.len()],
        };
        let mut run = Self {
            setup,
            has_interest: scenario.has_interest,
            rng,
            ranks,
            packets: Vec::new(),
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            ports: BTreeMap::new(),
            lines: HashMap::new(),
            queues: BTreeMap::new(),
            regulated: HashMap::new(),
            eliminated: HashSet::new(),
            bursts: Vec::new(),
            open: 0,
            observed: setup.participants.iter().map(observed).collect(),
            servers: BTreeMap::new(),
        };
        run.place_servers(&scenario.span);
        run.send(scenario);
        run.play();
        run
    }

    fn clock(&mut self, of_server: bool, span: &Rational) -> Clock {
        match &mut self.rng {
            None => Clock::worst(self.setup.clocks, of_server),
            Some(rng) => Clock::random(self.setup.clocks, of_server, span, rng),
        }
    }

    fn place_servers(&mut self, span: &Rational) {
        let setup = self.setup;
        let mut lines: Vec<ServerId> = setup.lines.keys().copied().collect();
        lines.sort_unstable();
        for server in lines {
            let clock = self.clock(true, span);
            let pace = match self.rng.as_mut().map(|rng| rng.below(4)) {
                Some(2) => Pace::LazyAtFirst,
                Some(3) => Pace::AtOnce,
                _ => Pace::Lazy,
            };
            if let Some(spec) = setup.lines.get(&server) {
                self.lines.insert(server, Line::of(spec, clock, pace));
            }
        }
        let passed = setup.participants.iter().flat_map(|participant| participant.path);
        let places: BTreeMap<usize, _> = passed
            .filter_map(|server| setup.network.ports().at(*server))
            .map(|(place, port, _)| (place, port))
            .collect();
        for (place, port) in places {
            let clock = self.clock(true, span);
            let state = State::of(port, |priority| setup.is_used(place, priority));
            self.ports.insert(place, PortAt { state, clock });
            self.poll(place, &Rational::ZERO);
        }
    }

    /// Schedules all packets that the sources send in a scenario.
    fn send(&mut self, scenario: &Scenario) {
        let setup = self.setup;
        for (index, (stream, (begins, pattern))) in
            setup.streams.iter().zip(&scenario.sources).enumerate()
        {
            let clock = self.clock(false, &scenario.span);
            let mut own = Rng::of(scenario.seed.unwrap_or(0) ^ (index as u64 + 1));
            let sent = sources::packets(stream, *pattern, begins, scenario.packets, &mut own);
            let first = sent.first().map(|(time, _)| time.clone());
            self.bursts.push(sent.iter().filter(|(time, _)| Some(time) == first.as_ref()).count());
            let losses = self.losses(stream, sent.len());
            for (number, (local, size)) in sent.into_iter().enumerate() {
                let time = clock.time_of(&local);
                let copies = self.copies_sent(index, number, &losses);
                for members in setup.ways(&copies, 0) {
                    let packet = Packet {
                        stream: index,
                        hop: 0,
                        number,
                        size: size.clone(),
                        sent: time.clone(),
                        came: time.clone(),
                        members,
                    };
                    self.open += packet.members.len();
                    self.plan(time.clone(), Event::Sent(Box::new(packet)));
                }
            }
        }
    }

    /// Returns the participants for which a packet of a stream is sent: those whose copy of the
    /// packet is not lost. For a stream without replication, these are all participants.
    fn copies_sent(&mut self, stream: usize, number: usize, losses: &[Range<usize>]) -> Vec<usize> {
        let Some(stream) = self.setup.streams.get(stream) else { return Vec::new() };
        match &mut self.rng {
            Some(rng) if stream.is_replicated => {
                let members = stream.members.iter().zip(losses);
                let arrives =
                    members.filter(|(_, lost)| !lost.contains(&number) && !rng.once_in(8));
                arrives.map(|(member, _)| *member).collect()
            }
            _ => stream.members.clone(),
        }
    }

    /// Returns, for each participant of a stream, the range of packets whose copies are lost on its
    /// path, as if a link failed for a while. Without a seed, no copy is lost.
    fn losses(&mut self, stream: &Stream, packets: usize) -> Vec<Range<usize>> {
        let lost = |_: &usize| {
            let Some(rng) = &mut self.rng else { return 0..0 };
            let from = if rng.once_in(2) { 0 } else { rng.below(packets) };
            from..from + rng.below(packets)
        };
        stream.members.iter().map(lost).collect()
    }

    fn is_of_interest(&self, packet: usize) -> bool {
        self.has_interest
            && self.packets.get(packet).is_some_and(|packet| packet.members.contains(&0))
    }

    /// Returns the order of a packet among packets that arrive simultaneously: that of the flow of
    /// interest is last. All packets from one server have the same order, so they stay in sequence.
    fn rank(&self, index: usize) -> u8 {
        let Some(packet) = self.packets.get(index) else { return 2 };
        let before = |participant: usize, hop: usize| {
            let hop = hop.checked_sub(1)?;
            self.setup.participants.get(participant)?.path.get(hop).copied()
        };
        let Some(from) = packet.members.first().and_then(|first| before(*first, packet.hop)) else {
            let by_stream = self.ranks.get(packet.stream).copied().unwrap_or(0);
            return if self.is_of_interest(index) { 9 } else { 2 + by_stream };
        };
        let own = self.setup.participants.first().map_or(&[][..], |participant| participant.path);
        if self.has_interest && own.contains(&from) {
            return 9;
        }
        2 + self.ranks.get(from.index() % self.ranks.len().max(1)).copied().unwrap_or(0)
    }

    fn plan(&mut self, time: Rational, event: Event) {
        let rank = match &event {
            Event::PortDone(_) | Event::Starts(_) | Event::Left(_) | Event::Released(_) => 0,
            Event::Sent(_) => 1,
            Event::Arrival(packet) | Event::Queued(packet) => self.rank(*packet),
            Event::Poll(_) => 10,
        };
        self.agenda.push(Reverse((time, rank, self.events.len())));
        self.events.push(Some(event));
    }

    fn play(&mut self) {
        while self.open > 0 && self.events.len() < MAX_EVENTS && !interrupt::is_set() {
            let Some(Reverse((now, _, number))) = self.agenda.pop() else { return };
            match self.events.get_mut(number).and_then(Option::take) {
                Some(Event::Sent(packet)) => self.add(*packet, &now, true),
                Some(Event::Arrival(packet)) => self.arrive(packet, &now),
                Some(Event::Queued(packet)) => self.queued(packet, &now),
                Some(Event::Starts(packet)) => self.starts(packet, &now),
                Some(Event::Left(packet)) => self.left(packet, &now),
                Some(Event::PortDone(place)) => self.port_done(place, &now),
                Some(Event::Poll(place)) => self.poll(place, &now),
                Some(Event::Released(queue)) => self.released(queue, &now),
                None => return,
            }
        }
    }

    /// Adds a packet, which arrives at its next server immediately. `is_new` says that its source
    /// has just sent it.
    fn add(&mut self, packet: Packet, now: &Rational, is_new: bool) {
        if is_new {
            for member in &packet.members {
                if let Some(observed) = self.observed.get_mut(*member) {
                    observed.waiting += &packet.size;
                    observed.backlog = observed.backlog.clone().max(observed.waiting.clone());
                }
            }
        }
        self.packets.push(packet);
        self.plan(now.clone(), Event::Arrival(self.packets.len() - 1));
    }

    /// Returns the server at which a packet is, or `None` if there is no such packet.
    fn server(&self, packet: usize) -> Option<ServerId> {
        let packet = self.packets.get(packet)?;
        self.setup.participants.get(*packet.members.first()?)?.path.get(packet.hop).copied()
    }

    /// Handles the arrival of a packet at its next server. A server that eliminates copies drops
    /// all but the first.
    fn arrive(&mut self, index: usize, now: &Rational) {
        let setup = self.setup;
        let Some(server) = self.server(index) else { return };
        let Some(packet) = self.packets.get_mut(index) else { return };
        packet.came = now.clone();
        let packet = packet.clone();
        let copies = setup.streams.get(packet.stream).is_some_and(|stream| stream.is_replicated);
        if copies
            && setup.network.server(server).eliminates
            && !self.eliminated.insert((server, packet.stream, packet.number))
        {
            self.open -= packet.members.len();
            for member in &packet.members {
                if let Some(observed) = self.observed.get_mut(*member) {
                    observed.waiting -= &packet.size;
                }
            }
            return;
        }
        let is_last_of_burst = self.bursts.get(packet.stream) == Some(&(packet.number + 1));
        for member in &packet.members {
            let came = self
                .observed
                .get_mut(*member)
                .and_then(|observed| observed.came.get_mut(packet.hop));
            let Some([first, last]) = came else { continue };
            first.get_or_insert_with(|| now.clone());
            if is_last_of_burst {
                last.get_or_insert_with(|| now.clone());
            }
        }
        let Some(participant) =
            packet.members.first().and_then(|member| setup.participants.get(*member))
        else {
            return;
        };
        for observed in self.seen_at(server, participant.priority) {
            observed.waiting += &packet.size;
            observed.backlog = observed.backlog.clone().max(observed.waiting.clone());
        }
        if let Some((_, port, _)) = setup.network.ports().at(server) {
            self.plan(now + &port.latency, Event::Queued(index));
            return;
        }
        let waiting = Waiting {
            packet: index,
            size: packet.size.clone(),
            priority: participant.priority,
            stream: if copies { usize::MAX - packet.stream } else { participant.id.index() },
            is_of_interest: self.is_of_interest(index),
        };
        let Some(line) = self.lines.get_mut(&server) else { return };
        let service = line.arrive(now, waiting, self.rng.as_mut());
        self.serves(service);
    }

    /// Returns the observations of a server to which a packet of the given priority contributes:
    /// those of all its traffic and, if it multiplexes by static priority, those of the priority.
    fn seen_at(&mut self, server: ServerId, priority: Priority) -> Vec<&mut QueueObservation> {
        let by_priority = match self.setup.lines.get(&server) {
            Some(spec) => spec.order == Multiplexing::StaticPriority,
            None => self.setup.network.server(server).multiplexing == Multiplexing::StaticPriority,
        };
        self.servers.entry((server, None)).or_default();
        if by_priority {
            self.servers.entry((server, Some(priority))).or_default();
        }
        let keys = [None, by_priority.then_some(priority)];
        let own = self.servers.range_mut((server, None)..=(server, Some(priority)));
        own.filter(|((_, priority), _)| keys.contains(priority))
            .map(|(_, observed)| observed)
            .collect()
    }

    fn serves(&mut self, service: Option<Service>) {
        if let Some(Service { packet, starts, done }) = service {
            self.plan(starts, Event::Starts(packet));
            self.plan(done, Event::Left(packet));
        }
    }

    fn queued(&mut self, index: usize, now: &Rational) {
        let Some(server) = self.server(index) else { return };
        let Some(packet) = self.packets.get(index) else { return };
        let Some((place, ..)) = self.setup.network.ports().at(server) else { return };
        let participant =
            packet.members.first().and_then(|member| self.setup.participants.get(*member));
        let (Some(port), Some(participant)) = (self.ports.get_mut(&place), participant) else {
            return;
        };
        let local = port.clock.shows(now);
        port.state.push(&local, participant.priority, index, packet.size.clone());
        self.plan(now.clone(), Event::Poll(place));
    }

    /// Starts a transmission at an idle port, or plans the time at which the port checks again.
    fn poll(&mut self, place: usize, now: &Rational) {
        let Some(port) = self.ports.get_mut(&place) else { return };
        let local = port.clock.shows(now);
        match port.state.pick(&local) {
            Pick::Nothing => {}
            Pick::Later(time) => {
                let time = port.clock.time_of(&time);
                self.plan(time, Event::Poll(place));
            }
            Pick::Sends { packet, until } => {
                let until = port.clock.time_of(&until);
                if let Some(packet) = packet {
                    self.starts(packet, now);
                }
                self.plan(until, Event::PortDone(place));
            }
        }
    }

    fn port_done(&mut self, place: usize, now: &Rational) {
        let sent = self.ports.get_mut(&place).and_then(|port| port.state.done());
        if let Some(packet) = sent {
            self.ends(packet, now);
            if !self.leaves_early(packet) {
                self.pass_on(packet, now);
            }
        }
        self.poll(place, now);
    }

    /// Returns whether a packet reaches its next server with its first bit, rather than when it has
    /// left completely.
    fn leaves_early(&self, index: usize) -> bool {
        let participant = self.packets.get(index).and_then(|packet| packet.members.first());
        let fluid = participant
            .and_then(|participant| self.setup.participants.get(*participant))
            .is_some_and(|participant| participant.fluid);
        let line = self.server(index).and_then(|server| self.setup.lines.get(&server));
        line.is_some_and(|spec| fluid || !spec.packetizer)
    }

    /// Handles the event that a packet starts to leave a server.
    fn starts(&mut self, index: usize, now: &Rational) {
        let setup = self.setup;
        let (Some(server), Some(packet)) = (self.server(index), self.packets.get(index).cloned())
        else {
            return;
        };
        let Some(priority) = packet
            .members
            .first()
            .and_then(|first| setup.participants.get(*first))
            .map(|a| a.priority)
        else {
            return;
        };
        for observed in self.seen_at(server, priority) {
            observed.waiting -= &packet.size;
        }
        for member in packet.members.iter().filter(|member| setup.ends(**member, packet.hop)) {
            if let Some(observed) = self.observed.get_mut(*member) {
                observed.waiting -= &packet.size;
            }
        }
        if self.leaves_early(index) {
            self.pass_on(index, now);
        }
    }

    /// Handles the event that a packet has left a server which is not a port.
    fn left(&mut self, index: usize, now: &Rational) {
        self.ends(index, now);
        if !self.leaves_early(index) {
            self.pass_on(index, now);
        }
        let Some(server) = self.server(index) else { return };
        let Some(line) = self.lines.get_mut(&server) else { return };
        let service = line.done(now, self.rng.as_mut());
        self.serves(service);
    }

    /// Records the delays of a packet that has completely left its current server. For some of its
    /// participants the path may end there.
    fn ends(&mut self, index: usize, now: &Rational) {
        let setup = self.setup;
        let (Some(server), Some(packet)) = (self.server(index), self.packets.get(index).cloned())
        else {
            return;
        };
        let first = packet.members.first().and_then(|first| setup.participants.get(*first));
        let Some(priority) = first.map(|participant| participant.priority) else { return };
        let here = now - &packet.came;
        for observed in self.seen_at(server, priority) {
            observed.delay = observed.delay.clone().max(here.clone());
        }
        let delay = now - &packet.sent;
        for member in packet.members.iter().filter(|member| setup.ends(**member, packet.hop)) {
            self.open -= 1;
            if let Some(observed) = self.observed.get_mut(*member)
                && observed.delay.as_ref().is_none_or(|most| delay > *most)
            {
                observed.delay = Some(delay.clone());
            }
        }
    }

    /// Forwards a packet from its current server to the next ones: one packet for each server at
    /// which its participants' paths continue.
    fn pass_on(&mut self, index: usize, now: &Rational) {
        let setup = self.setup;
        let (Some(server), Some(packet)) = (self.server(index), self.packets.get(index).cloned())
        else {
            return;
        };
        for members in setup.ways(&packet.members, packet.hop + 1) {
            let Some(participant) =
                members.first().and_then(|first| setup.participants.get(*first))
            else {
                continue;
            };
            let Some(next) = participant.path.get(packet.hop + 1).copied() else { continue };
            let (first, priority) = (members.first().copied(), participant.priority);
            let further = Packet { members, hop: packet.hop + 1, ..packet.clone() };
            let key = match setup.network.server(server).regulator {
                None => {
                    self.add(further, now, false);
                    continue;
                }
                Some(Regulator::PerFlow) => (server, next, priority, first),
                Some(Regulator::Interleaved) => (server, next, priority, None),
            };
            self.packets.push(further);
            let place = self.packets.len() - 1;
            let queue = self.queues.entry(key).or_default();
            queue.push_back(place);
            if queue.len() == 1 {
                self.arm(key, now);
            }
        }
    }

    /// Schedules the time at which a regulator releases the first packet of a queue. That is the
    /// first time at which the packet conforms to the arrival curve of its flow.
    fn arm(&mut self, key: QueueKey, now: &Rational) {
        let head = self.queues.get(&key).and_then(|queue| queue.front()).copied();
        let Some(packet) = head.and_then(|head| self.packets.get(head)) else { return };
        let (server, next, ..) = key;
        let first = packet.members.first().copied().unwrap_or(0);
        let Some(stream) = self.setup.streams.get(packet.stream) else { return };
        let fresh = || stream.conformance.clone();
        let flow = self.regulated.entry((server, next, first)).or_insert_with(fresh);
        if let Some(time) = flow.send(now, &packet.size) {
            self.plan(time, Event::Released(key));
        }
    }

    fn released(&mut self, key: QueueKey, now: &Rational) {
        let Some(packet) = self.queues.get_mut(&key).and_then(VecDeque::pop_front) else { return };
        self.plan(now.clone(), Event::Arrival(packet));
        self.arm(key, now);
    }
}

impl Setup<'_> {
    /// Returns whether the path of a participant ends with the hop of the given index.
    fn ends(&self, participant: usize, hop: usize) -> bool {
        self.participants
            .get(participant)
            .is_some_and(|participant| participant.path.len() == hop + 1)
    }

    /// Groups participants by the server that has the index `hop` on their paths. Participants
    /// whose paths have ended are left out.
    fn ways(&self, members: &[usize], hop: usize) -> Vec<Vec<usize>> {
        let mut ways = BTreeMap::<ServerId, Vec<usize>>::new();
        for member in members {
            let at =
                self.participants.get(*member).and_then(|participant| participant.path.get(hop));
            if let Some(server) = at {
                ways.entry(*server).or_default().push(*member);
            }
        }
        ways.into_values().collect()
    }

    /// Returns whether a class of a port gets packets only from flows. That holds if flows of its
    /// priority pass the port, or if it shares its queue with other classes.
    fn is_used(&self, place: usize, priority: Priority) -> bool {
        self.network.servers().any(|(id, _)| {
            self.network.ports().at(id).is_some_and(|(other, _, classes)| {
                let shared = classes.len() > 1 && classes.contains(&priority);
                let flows = self.network.flows_at(id).iter();
                let mut own = flows.map(|id| self.network.flow(*id).priority);
                other == place && (shared || own.any(|own| own == priority))
            })
        })
    }
}
