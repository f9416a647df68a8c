//! Runs of networks with ports, packet by packet.
//!
//! Ports do what their schedulers say, with all packets as large as they may be. Classes that no flow has are as bad
//! as they may be: they always have a packet to send. Each flow sends as early as its arrival curve allows. A packet
//! that comes when the link becomes free is too late for that turn, and the flow of interest is the last of those
//! that come together. Other servers must be FIFO, rate-latency and packetize; they are lazy: after an idle time they
//! wait for their latency.
//!
//! When sources begin is tried in several ways: all together, just behind what may be in the way, when a gate has just
//! become too narrow, and spread by chance, always the same one.

mod port;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use self::port::{Pick, State};
use super::Trajectory;
use crate::network::model::{FlowId, Multiplexing, Network, Part, ServerId};
use crate::network::port::{Scheduler, openings};
use crate::network::settings::Settings;
use crate::network::simple;
use crate::{Curve, Rational};

/// Flows, besides the one of interest, that take part.
const FLOWS: usize = 24;
/// Packets of each flow.
const PACKETS: i64 = 40;
/// Events of one run, at most.
const EVENTS: usize = 60_000;
/// Runs with times that are spread by chance.
const SPREAD: u64 = 8;

/// Looks for a bad run for a flow.
pub(super) fn simulate(network: &Network, flow: FlowId, settings: &Settings) -> Option<Trajectory> {
    // Ports have an order of service of their own.
    if settings.multiplexing.is_some() {
        return None;
    }
    let cast = Cast::of(network, flow)?;
    let mut worst: Option<Trajectory> = None;
    for offsets in cast.offsets() {
        let Some((delay, backlog)) = cast.run(&offsets) else { continue };
        let late = worst.as_ref().is_none_or(|worst| delay > worst.delay);
        let most = worst.as_ref().map_or(Rational::ZERO, |worst| worst.backlog.clone());
        let backlog = backlog.max(most);
        worst = match worst {
            Some(worst) if !late => Some(Trajectory { backlog, ..worst }),
            _ => {
                let mut offsets: Vec<(FlowId, Rational)> =
                    cast.flows.iter().map(|actor| actor.id).zip(offsets).collect();
                offsets.sort();
                Some(Trajectory { flow, delay, backlog, offsets })
            }
        };
    }
    worst
}

/// A flow that takes part.
struct Actor<'n> {
    id: FlowId,
    path: &'n [ServerId],
    packet: &'n Rational,
    /// When its packets are sent, counted from its beginning.
    times: Vec<Rational>,
}

/// Who takes part.
struct Cast<'n> {
    network: &'n Network,
    /// The flow of interest is the last.
    flows: Vec<Actor<'n>>,
    lines: HashMap<ServerId, (Rational, Rational)>,
}

impl<'n> Cast<'n> {
    fn of(network: &'n Network, flow: FlowId) -> Option<Self> {
        // Those that share most servers first.
        let mut shared = BTreeMap::<FlowId, usize>::new();
        for server in &network.flow(flow).path {
            for other in network.flows_at(*server).iter().filter(|other| **other != flow) {
                *shared.entry(*other).or_default() += 1;
            }
        }
        let mut others: Vec<(FlowId, usize)> = shared.into_iter().collect();
        others.sort_by_key(|(id, shared)| (Reverse(*shared), *id));
        let ids = others.into_iter().map(|(id, _)| id).take(FLOWS);
        let mut flows: Vec<Actor<'n>> = ids.filter_map(|id| actor(network, id)).collect();
        flows.push(actor(network, flow)?);
        let mut lines = HashMap::new();
        for actor in &flows {
            for (hop, server) in actor.path.iter().enumerate() {
                let rate = match network.port_at(*server) {
                    Some((port, _)) => port.rate.clone(),
                    None => {
                        let (rate, latency) = line(network, *server)?;
                        lines.insert(*server, (rate.clone(), latency));
                        rate
                    }
                };
                let next = actor.path.get(hop + 1);
                let outlined = |part| network.is_outlined(part);
                if outlined(Part::Server(*server))
                    || next.is_some_and(|next| outlined(Part::Link(*server, *next)))
                {
                    return None;
                }
                let link = next.and_then(|next| network.link(*server, *next));
                if link.is_some_and(|link| !lets_through(link, &rate)) {
                    return None;
                }
            }
        }
        Some(Self { network, flows, lines })
    }

    /// When flows begin, for each run.
    fn offsets(&self) -> Vec<Vec<Rational>> {
        let Some(actor) = self.flows.last() else { return Vec::new() };
        let together = |offset: Rational| vec![offset; self.flows.len()];
        let mut all = vec![together(Rational::ZERO)];
        let ports = actor.path.iter().filter_map(|server| self.network.port_at(*server));
        let Some((port, _)) = ports.into_iter().next() else { return all };
        // What all classes send together, one packet each.
        let packets = port.scheduler.packets();
        let round = packets.iter().map(|(_, _, most)| *most).sum::<Rational>() / &port.rate;
        let little = &round / &Rational::from(1_024);
        all.push(together(little.clone()));
        let mut span = &round * &Rational::from(4);
        if let Scheduler::Gated { cycle, classes } = &port.scheduler {
            span = span.max(cycle.clone());
            let priority = self.network.flow(actor.id).priority;
            let openings = classes.iter().zip(openings(classes.iter(), cycle));
            let own = openings.into_iter().find(|(class, _)| class.priority == priority);
            for window in own.into_iter().flat_map(|(_, windows)| windows) {
                let narrow = &window.at + &window.length - actor.packet / &port.rate + &little;
                all.push(together(narrow));
            }
        }
        let mut state = actor.id.index() as u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            &span * &Rational::ratio(i64::try_from(state >> 58).unwrap_or(0), 64) + &little
        };
        for run in 0..SPREAD {
            if run % 2 == 0 {
                all.push(together(next()));
            } else {
                all.push(self.flows.iter().map(|_| next()).collect());
            }
        }
        all
    }

    /// The largest delay and backlog of the flow of interest in one run.
    fn run(&self, offsets: &[Rational]) -> Option<(Rational, Rational)> {
        let mut run = Run::of(self, offsets)?;
        run.play();
        run.delay.map(|delay| (delay, run.backlog))
    }
}

/// A flow, if it may send whole packets.
fn actor(network: &Network, id: FlowId) -> Option<Actor<'_>> {
    let flow = network.flow(id);
    let packet = &flow.maximum_packet;
    // Its curve may allow what nobody may send.
    if !packet.is_positive() || network.is_outlined(Part::Flow(id)) {
        return None;
    }
    // So many packets need at least that time from the first to the last.
    let inverse = flow.arrival.lower_pseudo_inverse().ok()?;
    let lasting = |number: i64| inverse.value_at(&(packet * &Rational::from(number))).into_finite();
    let lasting: Vec<Rational> = (1..=PACKETS).map_while(lasting).collect();
    if lasting.first().is_none_or(Rational::is_positive) {
        return None;
    }
    let mut times = Vec::<Rational>::with_capacity(lasting.len());
    for number in 0..lasting.len() {
        // Each as soon as those before it allow.
        let since =
            times.iter().enumerate().map(|(earlier, time)| time + &lasting[number - earlier]);
        times.push(since.max().unwrap_or(Rational::ZERO));
    }
    Some(Actor { id, path: &flow.path, packet, times })
}

/// Rate and latency of a server that is no port.
fn line(network: &Network, server: ServerId) -> Option<(Rational, Rational)> {
    let model = network.server(server);
    let (rate, latency) = simple::rate_latency(&model.service)?;
    let fits = model.packetizer
        && model.multiplexing == Multiplexing::Fifo
        && model.maximum_service.is_none()
        && rate.is_positive()
        && model.shaping.as_ref().is_none_or(|shaping| lets_through(shaping, rate));
    fits.then(|| (rate.clone(), latency.clone()))
}

/// Whether a shaper never holds back what comes at a rate.
fn lets_through(shaping: &Curve, rate: &Rational) -> bool {
    Curve::line(Rational::ZERO, rate.clone()).is_at_most(shaping).unwrap_or(false)
}

/// A packet on its way.
struct Packet {
    actor: usize,
    sent: Rational,
    hop: usize,
}

/// What happens, in the order in which it does where it happens at one time.
enum Event {
    /// A port has sent a packet.
    Done(usize),
    /// A packet begins to leave the last server of its path.
    Leaves(usize),
    /// A packet comes to a server.
    Comes(usize),
    /// It is in the queue of a port.
    Queued(usize),
    /// A port looks what it may send.
    Looks(usize),
}

struct Run<'c, 'n> {
    cast: &'c Cast<'n>,
    packets: Vec<Packet>,
    /// Time, rank among those of one time, number.
    agenda: BinaryHeap<Reverse<(Rational, u8, usize)>>,
    events: Vec<Event>,
    ports: BTreeMap<usize, State<'n>>,
    /// When servers that are no ports become free.
    free: HashMap<ServerId, Rational>,
    /// Packets that have not arrived.
    open: usize,
    waiting: Rational,
    backlog: Rational,
    delay: Option<Rational>,
}

impl<'c, 'n> Run<'c, 'n> {
    fn of(cast: &'c Cast<'n>, offsets: &[Rational]) -> Option<Self> {
        let mut run = Self {
            cast,
            packets: Vec::new(),
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            ports: BTreeMap::new(),
            free: HashMap::new(),
            open: 0,
            waiting: Rational::ZERO,
            backlog: Rational::ZERO,
            delay: None,
        };
        for (index, actor) in cast.flows.iter().enumerate() {
            for time in &actor.times {
                let sent = time + offsets.get(index)?;
                run.packets.push(Packet { actor: index, sent: sent.clone(), hop: 0 });
                run.plan(sent, Event::Comes(run.packets.len() - 1));
            }
            for server in actor.path {
                if let Some((place, port, _)) = cast.network.ports().at(*server) {
                    let used = |priority| {
                        cast.network.servers().any(|(id, _)| {
                            let here = cast.network.ports().at(id);
                            // Classes that share a queue have what flows are given.
                            here.is_some_and(|(other, _, classes)| {
                                let shared = classes.len() > 1 && classes.contains(&priority);
                                let flows = cast.network.flows_at(id).iter();
                                let mut own = flows.map(|id| cast.network.flow(*id).priority);
                                other == place && (shared || own.any(|p| p == priority))
                            })
                        })
                    };
                    run.ports.entry(place).or_insert_with(|| State::of(port, used));
                }
            }
        }
        run.open = run.packets.len();
        let ports: Vec<usize> = run.ports.keys().copied().collect();
        for place in ports {
            run.look(place, &Rational::ZERO);
        }
        Some(run)
    }

    fn is_of_interest(&self, packet: usize) -> bool {
        self.packets.get(packet).is_some_and(|packet| packet.actor + 1 == self.cast.flows.len())
    }

    fn plan(&mut self, time: Rational, event: Event) {
        let rank = match event {
            Event::Done(_) | Event::Leaves(_) => 0,
            Event::Comes(packet) | Event::Queued(packet) => {
                1 + u8::from(self.is_of_interest(packet))
            }
            Event::Looks(_) => 3,
        };
        self.agenda.push(Reverse((time, rank, self.events.len())));
        self.events.push(event);
    }

    fn play(&mut self) {
        while self.open > 0 && self.events.len() < EVENTS {
            let Some(Reverse((now, _, number))) = self.agenda.pop() else { return };
            match self.events.get(number) {
                Some(Event::Done(place)) => {
                    let place = *place;
                    let sent = self.ports.get_mut(&place).and_then(|port| port.done(&now));
                    if let Some(packet) = sent {
                        self.pass_on(packet, now.clone());
                    }
                    self.look(place, &now);
                }
                Some(Event::Leaves(packet)) => self.leaves(*packet),
                Some(Event::Comes(packet)) => self.comes(*packet, &now),
                Some(Event::Queued(packet)) => self.queued(*packet, &now),
                Some(Event::Looks(place)) => self.look(*place, &now),
                None => return,
            }
        }
    }

    /// The server at which a packet is, and whether it is the last.
    fn place(&self, packet: usize) -> Option<(ServerId, bool)> {
        let packet = self.packets.get(packet)?;
        let path = self.cast.flows.get(packet.actor)?.path;
        Some((*path.get(packet.hop)?, packet.hop + 1 == path.len()))
    }

    fn size(&self, packet: usize) -> Option<&'n Rational> {
        Some(self.cast.flows.get(self.packets.get(packet)?.actor)?.packet)
    }

    fn comes(&mut self, packet: usize, now: &Rational) {
        let (Some((server, last)), Some(size)) = (self.place(packet), self.size(packet)) else {
            return;
        };
        let first = self.packets.get(packet).is_some_and(|packet| packet.hop == 0);
        if first && self.is_of_interest(packet) {
            self.waiting += size;
            self.backlog = self.backlog.clone().max(self.waiting.clone());
        }
        if let Some((_, port, _)) = self.cast.network.ports().at(server) {
            self.plan(now + &port.latency, Event::Queued(packet));
            return;
        }
        let Some((rate, latency)) = self.cast.lines.get(&server) else { return };
        let begins = match self.free.get(&server) {
            Some(free) if free > now => free.clone(),
            _ => now + latency,
        };
        let done = &begins + &(size / rate);
        self.free.insert(server, done.clone());
        if last {
            self.plan(begins, Event::Leaves(packet));
        }
        self.pass_on(packet, done);
    }

    fn queued(&mut self, packet: usize, now: &Rational) {
        let (Some((server, _)), Some(size)) = (self.place(packet), self.size(packet)) else {
            return;
        };
        let Some((place, ..)) = self.cast.network.ports().at(server) else { return };
        let actor = self.packets.get(packet).and_then(|p| self.cast.flows.get(p.actor));
        let (Some(port), Some(actor)) = (self.ports.get_mut(&place), actor) else { return };
        port.push(now, self.cast.network.flow(actor.id).priority, packet, size);
        self.plan(now.clone(), Event::Looks(place));
    }

    /// A port that is free begins with a packet, or looks again later.
    fn look(&mut self, place: usize, now: &Rational) {
        let Some(port) = self.ports.get_mut(&place) else { return };
        match port.pick(now) {
            Pick::Nothing => {}
            Pick::Later(time) => self.plan(time, Event::Looks(place)),
            Pick::Sends { packet, until } => {
                if let Some(packet) = packet
                    && self.place(packet).is_some_and(|(_, last)| last)
                {
                    self.leaves(packet);
                }
                self.plan(until, Event::Done(place));
            }
        }
    }

    fn leaves(&mut self, packet: usize) {
        if self.is_of_interest(packet)
            && let Some(size) = self.size(packet)
        {
            self.waiting -= size;
        }
    }

    /// A packet has left the server where it was.
    fn pass_on(&mut self, packet: usize, now: Rational) {
        let Some((_, last)) = self.place(packet) else { return };
        let of_interest = self.is_of_interest(packet);
        let Some(at) = self.packets.get_mut(packet) else { return };
        at.hop += 1;
        if !last {
            self.plan(now, Event::Comes(packet));
            return;
        }
        self.open -= 1;
        let delay = now - &at.sent;
        if of_interest && self.delay.as_ref().is_none_or(|most| delay > *most) {
            self.delay = Some(delay);
        }
    }
}
