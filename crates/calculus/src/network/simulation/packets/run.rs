//! One run: packets from sources over servers, ports and regulators to their ends.
//!
//! A packet of a multicast group, or of a replicated flow, is one packet as long as its ways are
//! the same, and one for each way from where they part. A server that eliminates takes the first of
//! each that comes to it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::cast::{Cast, Stream};
use super::chance::Chance;
use super::clock::Clock;
use super::conformance::Conformance;
use super::line::{Line, Pace, Service, Waiting};
use super::port::{Pick, State};
use super::sources::{self, Pattern};
use crate::Rational;
use crate::interrupt;
use crate::network::elements::{Multiplexing, Priority, Regulator, ServerId};

/// Events of one run, at most.
const EVENTS: usize = 60_000;

/// The choices of a run.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// The begin and the pattern of each stream.
    pub(super) sources: Vec<(Rational, Pattern)>,
    /// Packets of each stream, at most.
    pub(super) packets: usize,
    /// Whether actor 0 is the flow of interest: it is last of those that come together.
    pub(super) has_interest: bool,
    /// The seed of paces, clocks, ties, orders of service where any is allowed, and lost copies.
    /// Without one, all is as bad as it may be for the flow of interest.
    pub(super) seed: Option<u64>,
    /// The time over which clocks go wrong.
    pub(super) span: Rational,
}

/// The observations of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// None if no packet of it arrived.
    pub(super) delay: Option<Rational>,
    pub(super) backlog: Rational,
    waiting: Rational,
    /// The arrivals of its first packet, and of the last one of its first burst, at each server of
    /// its path.
    pub(super) came: Vec<[Option<Rational>; 2]>,
}

/// The observations of a server, or of a priority at one.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenServer {
    pub(super) delay: Rational,
    pub(super) backlog: Rational,
    waiting: Rational,
}

/// A packet on one way.
#[derive(Clone, Debug)]
struct Packet {
    stream: usize,
    /// Actors, of which there is one at least; all have come the same way.
    members: Vec<usize>,
    hop: usize,
    number: usize,
    size: Rational,
    sent: Rational,
    /// When it came to the server where it is.
    came: Rational,
}

/// A queue of a regulator: between which servers, of a priority and, for regulators of flows, of an
/// actor.
type QueueKey = (ServerId, ServerId, Priority, Option<usize>);

#[derive(Debug)]
enum Event {
    /// A packet is sent; the next to be made of its stream.
    Sent(Box<Packet>),
    /// A packet comes to a server.
    Comes(usize),
    /// It is in the queue of a port.
    Queued(usize),
    /// It begins to leave a server that is no port.
    Starts(usize),
    /// It has left that.
    Left(usize),
    /// A port has sent a packet.
    PortDone(usize),
    /// A port looks what it may send.
    Looks(usize),
    /// The first packet in the queue of a regulator goes on.
    Released(QueueKey),
}

/// A port and its clock.
struct PortAt<'n> {
    state: State<'n>,
    clock: Clock,
}

pub(super) struct Run<'c, 'n> {
    cast: &'c Cast<'n>,
    has_interest: bool,
    chance: Option<Chance>,
    /// The order of streams that come together.
    ranks: Vec<u8>,
    packets: Vec<Packet>,
    /// Time, rank among those of one time, number.
    agenda: BinaryHeap<Reverse<(Rational, u8, usize)>>,
    events: Vec<Option<Event>>,
    ports: BTreeMap<usize, PortAt<'n>>,
    lines: HashMap<ServerId, Line<'c>>,
    queues: BTreeMap<QueueKey, VecDeque<usize>>,
    regulated: HashMap<(ServerId, ServerId, usize), Conformance>,
    eliminated: HashSet<(ServerId, usize, usize)>,
    bursts: Vec<usize>,
    /// Packets that have not arrived, counted for each actor.
    open: usize,
    pub(super) seen: Vec<Seen>,
    pub(super) servers: BTreeMap<(ServerId, Option<Priority>), SeenServer>,
}

impl<'c, 'n> Run<'c, 'n> {
    /// Plays a scenario to its end.
    pub(super) fn of(cast: &'c Cast<'n>, scenario: &Scenario) -> Self {
        let mut chance = scenario.seed.map(Chance::of);
        let seen = |actor: &super::cast::Actor<'_>| Seen {
            came: vec![[None, None]; actor.path.len()],
            ..Seen::default()
        };
        let ranks = match (&mut chance, scenario.has_interest) {
            (Some(chance), false) => cast.streams.iter().map(|_| chance.below(4) as u8).collect(),
            _ => vec![0; cast.streams.len()],
        };
        let mut run = Self {
            cast,
            has_interest: scenario.has_interest,
            chance,
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
            seen: cast.actors.iter().map(seen).collect(),
            servers: BTreeMap::new(),
        };
        run.place_servers(&scenario.span);
        run.send(scenario);
        run.play();
        run
    }

    fn clock(&mut self, of_server: bool, span: &Rational) -> Clock {
        match &mut self.chance {
            None => Clock::worst(self.cast.clocks, of_server),
            Some(chance) => Clock::by_chance(self.cast.clocks, of_server, span, chance),
        }
    }

    fn place_servers(&mut self, span: &Rational) {
        let cast = self.cast;
        let mut lines: Vec<ServerId> = cast.lines.keys().copied().collect();
        lines.sort_unstable();
        for server in lines {
            let clock = self.clock(true, span);
            let pace = match self.chance.as_mut().map(|chance| chance.below(4)) {
                Some(2) => Pace::LazyAtFirst,
                Some(3) => Pace::AtOnce,
                _ => Pace::Lazy,
            };
            if let Some(spec) = cast.lines.get(&server) {
                self.lines.insert(server, Line::of(spec, clock, pace));
            }
        }
        let passed = cast.actors.iter().flat_map(|actor| actor.path);
        let places: BTreeMap<usize, _> = passed
            .filter_map(|server| cast.network.ports().at(*server))
            .map(|(place, port, _)| (place, port))
            .collect();
        for (place, port) in places {
            let clock = self.clock(true, span);
            let state = State::of(port, |priority| cast.is_used(place, priority));
            self.ports.insert(place, PortAt { state, clock });
            self.look(place, &Rational::ZERO);
        }
    }

    fn send(&mut self, scenario: &Scenario) {
        let cast = self.cast;
        for (index, (stream, (begins, pattern))) in
            cast.streams.iter().zip(&scenario.sources).enumerate()
        {
            let clock = self.clock(false, &scenario.span);
            let mut own = Chance::of(scenario.seed.unwrap_or(0) ^ (index as u64 + 1));
            let sent = sources::packets(stream, *pattern, begins, scenario.packets, &mut own);
            let first = sent.first().map(|(time, _)| time.clone());
            self.bursts.push(sent.iter().filter(|(time, _)| Some(time) == first.as_ref()).count());
            let losses = self.losses(stream, sent.len());
            for (number, (local, size)) in sent.into_iter().enumerate() {
                let time = clock.time_of(&local);
                let copies = self.copies_sent(index, number, &losses);
                for members in cast.ways(&copies, 0) {
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

    /// Returns the copies of a packet that are not lost, or all flows of a stream without copies.
    fn copies_sent(&mut self, stream: usize, number: usize, losses: &[Range<usize>]) -> Vec<usize> {
        let Some(stream) = self.cast.streams.get(stream) else { return Vec::new() };
        match &mut self.chance {
            Some(chance) if stream.is_replicated => {
                let members = stream.members.iter().zip(losses);
                let arrives =
                    members.filter(|(_, lost)| !lost.contains(&number) && !chance.once_in(8));
                arrives.map(|(member, _)| *member).collect()
            }
            _ => stream.members.clone(),
        }
    }

    /// Returns the packets whose copies are lost on each way: all of some span, as when a link
    /// fails.
    fn losses(&mut self, stream: &Stream, packets: usize) -> Vec<Range<usize>> {
        let lost = |_: &usize| {
            let Some(chance) = &mut self.chance else { return 0..0 };
            let from = if chance.once_in(2) { 0 } else { chance.below(packets) };
            from..from + chance.below(packets)
        };
        stream.members.iter().map(lost).collect()
    }

    fn is_of_interest(&self, packet: usize) -> bool {
        self.has_interest
            && self.packets.get(packet).is_some_and(|packet| packet.members.contains(&0))
    }

    /// Returns the rank of a packet among those that come at one time: the flow of interest is the
    /// last. Packets that come from one server keep their order.
    fn rank(&self, index: usize) -> u8 {
        let Some(packet) = self.packets.get(index) else { return 2 };
        let before = |actor: usize, hop: usize| {
            let hop = hop.checked_sub(1)?;
            self.cast.actors.get(actor)?.path.get(hop).copied()
        };
        let Some(from) = packet.members.first().and_then(|first| before(*first, packet.hop)) else {
            let by_stream = self.ranks.get(packet.stream).copied().unwrap_or(0);
            return if self.is_of_interest(index) { 9 } else { 2 + by_stream };
        };
        let own = self.cast.actors.first().map_or(&[][..], |actor| actor.path);
        if self.has_interest && own.contains(&from) {
            return 9;
        }
        2 + self.ranks.get(from.index() % self.ranks.len().max(1)).copied().unwrap_or(0)
    }

    fn plan(&mut self, time: Rational, event: Event) {
        let rank = match &event {
            Event::PortDone(_) | Event::Starts(_) | Event::Left(_) | Event::Released(_) => 0,
            Event::Sent(_) => 1,
            Event::Comes(packet) | Event::Queued(packet) => self.rank(*packet),
            Event::Looks(_) => 10,
        };
        self.agenda.push(Reverse((time, rank, self.events.len())));
        self.events.push(Some(event));
    }

    fn play(&mut self) {
        while self.open > 0 && self.events.len() < EVENTS && !interrupt::is_set() {
            let Some(Reverse((now, _, number))) = self.agenda.pop() else { return };
            match self.events.get_mut(number).and_then(Option::take) {
                Some(Event::Sent(packet)) => self.add(*packet, &now, true),
                Some(Event::Comes(packet)) => self.comes(packet, &now),
                Some(Event::Queued(packet)) => self.queued(packet, &now),
                Some(Event::Starts(packet)) => self.starts(packet, &now),
                Some(Event::Left(packet)) => self.left(packet, &now),
                Some(Event::PortDone(place)) => self.port_done(place, &now),
                Some(Event::Looks(place)) => self.look(place, &now),
                Some(Event::Released(queue)) => self.released(queue, &now),
                None => return,
            }
        }
    }

    /// A packet is on its way to the next server, which it comes to at once.
    fn add(&mut self, packet: Packet, now: &Rational, is_new: bool) {
        if is_new {
            for member in &packet.members {
                if let Some(seen) = self.seen.get_mut(*member) {
                    seen.waiting += &packet.size;
                    seen.backlog = seen.backlog.clone().max(seen.waiting.clone());
                }
            }
        }
        self.packets.push(packet);
        self.plan(now.clone(), Event::Comes(self.packets.len() - 1));
    }

    /// Returns the server at which a packet is.
    fn server(&self, packet: usize) -> Option<ServerId> {
        let packet = self.packets.get(packet)?;
        self.cast.actors.get(*packet.members.first()?)?.path.get(packet.hop).copied()
    }

    fn comes(&mut self, index: usize, now: &Rational) {
        let cast = self.cast;
        let Some(server) = self.server(index) else { return };
        let Some(packet) = self.packets.get_mut(index) else { return };
        packet.came = now.clone();
        let packet = packet.clone();
        let copies = cast.streams.get(packet.stream).is_some_and(|stream| stream.is_replicated);
        if copies
            && cast.network.server(server).eliminates
            && !self.eliminated.insert((server, packet.stream, packet.number))
        {
            self.open -= packet.members.len();
            for member in &packet.members {
                if let Some(seen) = self.seen.get_mut(*member) {
                    seen.waiting -= &packet.size;
                }
            }
            return;
        }
        let is_last_of_burst = self.bursts.get(packet.stream) == Some(&(packet.number + 1));
        for member in &packet.members {
            let came = self.seen.get_mut(*member).and_then(|seen| seen.came.get_mut(packet.hop));
            let Some([first, last]) = came else { continue };
            first.get_or_insert_with(|| now.clone());
            if is_last_of_burst {
                last.get_or_insert_with(|| now.clone());
            }
        }
        let Some(actor) = packet.members.first().and_then(|member| cast.actors.get(*member)) else {
            return;
        };
        for seen in self.seen_at(server, actor.priority) {
            seen.waiting += &packet.size;
            seen.backlog = seen.backlog.clone().max(seen.waiting.clone());
        }
        if let Some((_, port, _)) = cast.network.ports().at(server) {
            self.plan(now + &port.latency, Event::Queued(index));
            return;
        }
        let waiting = Waiting {
            packet: index,
            size: packet.size.clone(),
            priority: actor.priority,
            stream: if copies { usize::MAX - packet.stream } else { actor.id.index() },
            is_of_interest: self.is_of_interest(index),
        };
        let Some(line) = self.lines.get_mut(&server) else { return };
        let service = line.comes(now, waiting, self.chance.as_mut());
        self.serves(service);
    }

    /// Returns the observations of a server, and of a priority there if it serves by priority.
    fn seen_at(&mut self, server: ServerId, priority: Priority) -> Vec<&mut SeenServer> {
        let by_priority = match self.cast.lines.get(&server) {
            Some(spec) => spec.order == Multiplexing::StaticPriority,
            None => self.cast.network.server(server).multiplexing == Multiplexing::StaticPriority,
        };
        self.servers.entry((server, None)).or_default();
        if by_priority {
            self.servers.entry((server, Some(priority))).or_default();
        }
        let keys = [None, by_priority.then_some(priority)];
        let own = self.servers.range_mut((server, None)..=(server, Some(priority)));
        own.filter(|((_, priority), _)| keys.contains(priority)).map(|(_, seen)| seen).collect()
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
        let Some((place, ..)) = self.cast.network.ports().at(server) else { return };
        let actor = packet.members.first().and_then(|member| self.cast.actors.get(*member));
        let (Some(port), Some(actor)) = (self.ports.get_mut(&place), actor) else { return };
        let local = port.clock.shows(now);
        port.state.push(&local, actor.priority, index, packet.size.clone());
        self.plan(now.clone(), Event::Looks(place));
    }

    /// A port that is free begins with a packet, or looks again later.
    fn look(&mut self, place: usize, now: &Rational) {
        let Some(port) = self.ports.get_mut(&place) else { return };
        let local = port.clock.shows(now);
        match port.state.pick(&local) {
            Pick::Nothing => {}
            Pick::Later(time) => {
                let time = port.clock.time_of(&time);
                self.plan(time, Event::Looks(place));
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
        self.look(place, now);
    }

    /// Whether a packet goes on with its first bit.
    fn leaves_early(&self, index: usize) -> bool {
        let actor = self.packets.get(index).and_then(|packet| packet.members.first());
        let fluid =
            actor.and_then(|actor| self.cast.actors.get(*actor)).is_some_and(|actor| actor.fluid);
        let line = self.server(index).and_then(|server| self.cast.lines.get(&server));
        line.is_some_and(|spec| fluid || !spec.packetizer)
    }

    /// A packet begins to leave a server.
    fn starts(&mut self, index: usize, now: &Rational) {
        let cast = self.cast;
        let (Some(server), Some(packet)) = (self.server(index), self.packets.get(index).cloned())
        else {
            return;
        };
        let Some(priority) =
            packet.members.first().and_then(|first| cast.actors.get(*first)).map(|a| a.priority)
        else {
            return;
        };
        for seen in self.seen_at(server, priority) {
            seen.waiting -= &packet.size;
        }
        for member in packet.members.iter().filter(|member| cast.ends(**member, packet.hop)) {
            if let Some(seen) = self.seen.get_mut(*member) {
                seen.waiting -= &packet.size;
            }
        }
        if self.leaves_early(index) {
            self.pass_on(index, now);
        }
    }

    /// A packet has left a server that is no port.
    fn left(&mut self, index: usize, now: &Rational) {
        self.ends(index, now);
        if !self.leaves_early(index) {
            self.pass_on(index, now);
        }
        let Some(server) = self.server(index) else { return };
        let Some(line) = self.lines.get_mut(&server) else { return };
        let service = line.done(now, self.chance.as_mut());
        self.serves(service);
    }

    /// All of a packet has left the server where it is; some ends of it may be there.
    fn ends(&mut self, index: usize, now: &Rational) {
        let cast = self.cast;
        let (Some(server), Some(packet)) = (self.server(index), self.packets.get(index).cloned())
        else {
            return;
        };
        let first = packet.members.first().and_then(|first| cast.actors.get(*first));
        let Some(priority) = first.map(|actor| actor.priority) else { return };
        let here = now - &packet.came;
        for seen in self.seen_at(server, priority) {
            seen.delay = seen.delay.clone().max(here.clone());
        }
        let delay = now - &packet.sent;
        for member in packet.members.iter().filter(|member| cast.ends(**member, packet.hop)) {
            self.open -= 1;
            if let Some(seen) = self.seen.get_mut(*member)
                && seen.delay.as_ref().is_none_or(|most| delay > *most)
            {
                seen.delay = Some(delay.clone());
            }
        }
    }

    /// A packet goes on from a server on all its ways.
    fn pass_on(&mut self, index: usize, now: &Rational) {
        let cast = self.cast;
        let (Some(server), Some(packet)) = (self.server(index), self.packets.get(index).cloned())
        else {
            return;
        };
        for members in cast.ways(&packet.members, packet.hop + 1) {
            let Some(actor) = members.first().and_then(|first| cast.actors.get(*first)) else {
                continue;
            };
            let Some(next) = actor.path.get(packet.hop + 1).copied() else { continue };
            let (first, priority) = (members.first().copied(), actor.priority);
            let further = Packet { members, hop: packet.hop + 1, ..packet.clone() };
            let key = match cast.network.server(server).regulator {
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

    /// The first packet in the queue of a regulator is looked at.
    fn arm(&mut self, key: QueueKey, now: &Rational) {
        let head = self.queues.get(&key).and_then(|queue| queue.front()).copied();
        let Some(packet) = head.and_then(|head| self.packets.get(head)) else { return };
        let (server, next, ..) = key;
        let first = packet.members.first().copied().unwrap_or(0);
        let Some(stream) = self.cast.streams.get(packet.stream) else { return };
        let fresh = || stream.conformance.clone();
        let flow = self.regulated.entry((server, next, first)).or_insert_with(fresh);
        if let Some(time) = flow.send(now, &packet.size) {
            self.plan(time, Event::Released(key));
        }
    }

    fn released(&mut self, key: QueueKey, now: &Rational) {
        let Some(packet) = self.queues.get_mut(&key).and_then(VecDeque::pop_front) else { return };
        self.plan(now.clone(), Event::Comes(packet));
        self.arm(key, now);
    }
}

impl Cast<'_> {
    /// Whether the path of an actor ends with a hop.
    fn ends(&self, actor: usize, hop: usize) -> bool {
        self.actors.get(actor).is_some_and(|actor| actor.path.len() == hop + 1)
    }

    /// Actors by the server that is a hop of their paths; those whose paths have ended before are
    /// left out.
    fn ways(&self, members: &[usize], hop: usize) -> Vec<Vec<usize>> {
        let mut ways = BTreeMap::<ServerId, Vec<usize>>::new();
        for member in members {
            let at = self.actors.get(*member).and_then(|actor| actor.path.get(hop));
            if let Some(server) = at {
                ways.entry(*server).or_default().push(*member);
            }
        }
        ways.into_values().collect()
    }

    /// Whether flows of a priority pass a port, or may: classes that share a queue have what flows
    /// are given.
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
