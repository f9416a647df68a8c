//! The path of packets through a network: through switches, the queues of their ports, and links.

use super::agenda::{Agenda, Rank};
use super::senders::{Acknowledgement, Responding, Transmission};
use super::sources::Sending;
use super::switches::{Covered, Network, coverage_of};
use crate::Failure;
use crate::books::Books;
use crate::checks::Departed;
use crate::observe::{Arrival, Seen, process, resume};
use crate::outcome::{Crossing, End, Options};
use pipeline::{Content, Leaving, Output, QueuedPorts, Waiting};
use queues::Configuration;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The largest number of switches that a packet may cross. A packet that crosses more is assumed to
/// circulate in a loop.
const MAX_HOPS: usize = 64;

/// The largest number of copies that one packet may become. In a loop of switches, the number of
/// copies can double with each round.
const MAX_COPIES: usize = 4096;

/// An event of a network.
pub(super) enum Event {
    /// A packet arrives at a port of a switch.
    Arrival(Travelling),
    /// The source with this index sends its next packet.
    Source(usize),
    /// The sender with this index sends what its window has room for.
    Sender(usize),
    /// A sender learns that one of its packets has arrived.
    Acknowledgement(Acknowledgement),
    /// The retransmission timeout of the sender with this index may be over.
    Timeout(usize),
    /// A port with queues may start its next packet.
    Start(End),
}

/// A packet on its way through a network, about to enter a switch.
pub(super) struct Travelling {
    pub(super) at: End,
    pub(super) packet: Vec<u8>,
    pub(super) journey: Journey,
}

/// The path of a packet so far.
#[derive(Clone, Debug)]
pub(super) struct Journey {
    /// The packet of the script.
    pub(super) origin: Rc<Origin>,
    /// The indices of the switches that the packet has crossed.
    way: Vec<usize>,
    /// Whether one of these switches has recirculated, resubmitted or cloned the packet.
    went_round: bool,
    /// Whether the packet has left a queue, so that its path took time.
    was_queued: bool,
}

/// A packet of the script, or of a source in it.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) line: usize,
    pub(super) time: Duration,
    /// The number in the script of the port where it arrived.
    pub(super) port: u32,
    /// The port where it arrived, as it is called in messages.
    pub(super) from: String,
    /// Whether a source or a sender sent the packet. Such a packet is counted, and neither compared
    /// nor described on its own.
    pub(super) is_of_source: bool,
    /// The number of the packet, if a sender waits for its acknowledgement.
    pub(super) transmission: Option<Transmission>,
    /// The number of copies that the packet has become.
    pub(super) copies: Cell<usize>,
    /// Whether a copy has left the network.
    pub(super) has_left: Cell<bool>,
}

impl Journey {
    pub(super) fn begin(origin: Rc<Origin>) -> Self {
        Self { origin, way: Vec::new(), went_round: false, was_queued: false }
    }

    fn line(&self) -> usize {
        self.origin.line
    }
}

/// A packet that left the network at once: its port, its bytes, and whether a switch recirculated,
/// resubmitted or cloned it.
pub(super) type Left = (u32, Vec<u8>, bool);

/// The switches and the packets on their way.
pub(super) struct Travel<'n> {
    pub(super) network: &'n mut Network,
    /// Whether any port of the network has queues, or gets some in the script.
    pub(super) has_queues: bool,
    pub(super) queued: Vec<QueuedPorts<Journey>>,
    pub(super) agenda: Agenda<Event>,
    pub(super) options: Options,
    pub(super) covered: &'n mut [Covered],
    pub(super) left: Vec<Left>,
    /// The packets of the script, if the network has queues.
    pub(super) pending: Vec<Rc<Origin>>,
    pub(super) sources: Vec<Sending>,
    pub(super) senders: Vec<Responding>,
}

impl Travel<'_> {
    /// Carries out the events up to an arrival at `until`.
    pub(super) fn advance(&mut self, until: Duration, books: &mut Books) {
        while let Some((now, event)) = self.agenda.next(until) {
            match event {
                Event::Arrival(packet) => self.arrive(now, packet, books),
                Event::Source(index) => self.send(now, index, books),
                Event::Sender(index) => self.fill_window(now, index, books),
                Event::Acknowledgement(answer) => self.acknowledge(now, answer, books),
                Event::Timeout(index) => self.time_out(now, index, books),
                Event::Start(end) => self.start(now, end, books),
            }
        }
    }

    /// Runs ingress for a packet, and egress too if its port has no queues.
    pub(super) fn arrive(&mut self, now: Duration, packet: Travelling, books: &mut Books) {
        let Travelling { at, packet, mut journey } = packet;
        let origin = Rc::clone(&journey.origin);
        let copies = origin.copies.get() + 1;
        origin.copies.set(copies);
        if let Some(text) = too_many(copies, journey.way.len()) {
            // A loop is reported once for each packet of the script.
            if copies <= MAX_COPIES + 1 {
                books.report.notes.push((origin.line, text));
                origin.copies.set(MAX_COPIES + 1);
            }
            return;
        }
        journey.way.push(at.switch);
        let Some((_, switch)) = self.network.switches.get_mut(at.switch) else { return };
        let coverage = coverage_of(self.covered, at.switch);
        let arrival = Arrival { port: at.port, data: &packet, now };
        let seen = process(switch, arrival, coverage, self.options.trace);
        let waiting = switch.take_waiting();
        let Some(outputs) = self.record(seen, at.switch, &journey, books) else {
            self.enters(now, at, packet, &journey, books);
            return;
        };
        if outputs.is_empty() && waiting.is_empty() {
            self.tell(&journey, ", where it left by no port", None, books);
        }
        for output in outputs {
            let end = End { switch: at.switch, port: output.port };
            let queued = self.queued.get(at.switch).is_some_and(|queued| queued.has(output.port));
            if queued {
                // The architecture has no egress.
                let journey = Journey { went_round: output.generation > 0, ..journey.clone() };
                self.admit(now, end, Content::Frame(output.packet), &packet, journey, books);
            } else {
                self.leave(now, end, output, &journey, books);
            }
        }
        self.admit_all(now, at.switch, waiting, &packet, &journey, books);
        self.enters(now, at, packet, &journey, books);
    }

    /// Records a packet that has entered a switch.
    fn enters(
        &self,
        now: Duration,
        at: End,
        packet: Vec<u8>,
        journey: &Journey,
        books: &mut Books,
    ) {
        if self.is_stored(journey) {
            books.report.entered.push((now, at, packet));
        }
    }

    /// Returns whether the bytes of a packet are stored in the report.
    fn is_stored(&self, journey: &Journey) -> bool {
        !journey.origin.is_of_source || self.options.keeps_sources
    }

    /// Reports the end of a packet's path, and its delay if it left a queue. Packets of the script
    /// are reported one by one, and packets of sources are counted.
    fn tell(&self, journey: &Journey, end: &str, delay: Option<Duration>, books: &mut Books) {
        let mut text = self.describe(journey, end);
        if journey.origin.is_of_source {
            books.fate(journey.line(), text, delay);
            return;
        }
        if let Some(delay) = delay {
            text += &format!(" in {delay:?}");
        }
        books.report.values.push((journey.line(), text));
    }

    /// Records the trace of a pass. Returns its outputs, or `None` if it failed.
    fn record(
        &self,
        seen: Seen,
        switch: usize,
        journey: &Journey,
        books: &mut Books,
    ) -> Option<Vec<Output>> {
        if let Some(trace) = seen.trace {
            books.report.trace.push((journey.line(), trace));
            books.report.passed.push(self.network.name(switch).to_owned());
        }
        match seen.outputs {
            Ok(outputs) => Some(outputs),
            Err(error) => {
                books.report.failures.push(Failure::Run { line: journey.line(), error });
                None
            }
        }
    }

    fn admit_all(
        &mut self,
        now: Duration,
        switch: usize,
        waiting: Vec<Waiting>,
        received: &[u8],
        journey: &Journey,
        books: &mut Books,
    ) {
        for waiting in waiting {
            let end = End { switch, port: waiting.port() };
            let went_round = journey.went_round || waiting.generation() > 0;
            let journey = Journey { went_round, ..journey.clone() };
            let content = Content::Waiting(Box::new(waiting));
            self.admit(now, end, content, received, journey, books);
        }
    }

    /// Puts a packet into a queue of a port, or drops it.
    fn admit(
        &mut self,
        now: Duration,
        end: End,
        content: Content,
        received: &[u8],
        journey: Journey,
        books: &mut Books,
    ) {
        let kept = journey.clone();
        let Some(queued) = self.queued.get_mut(end.switch) else { return };
        match queued.admit(now, end.port, content, received, journey) {
            Ok(_) => self.plan(now, end),
            Err(refusal) => {
                let port = end.port;
                let text = format!(", where port {port} dropped it: {refusal}");
                self.tell(&kept, &text, None, books);
            }
        }
    }

    /// Replaces the queues of ports of a switch.
    pub(super) fn configure(
        &mut self,
        now: Duration,
        switch: usize,
        queues: &Configuration,
        books: &mut Books,
    ) {
        let Some(queued) = self.queued.get_mut(switch) else { return };
        let mut configuration = queued.configuration();
        configuration.0.extend(queues.0.clone());
        let gone = queued.configure(&configuration, now, switch as u64);
        let port_queues = queued.port_queues();
        if let Some((_, switch)) = self.network.switches.get(switch) {
            switch.set_port_queues(port_queues);
        }
        for journey in gone {
            let text = self.describe(&journey, ", whose queue there was removed");
            books.report.values.push((journey.line(), text));
        }
        // The times that were planned for these ports may have changed. An event at which a port
        // has no packet to start has no effect.
        for port in queues.0.keys() {
            self.plan(now, End { switch, port: *port });
        }
    }

    /// Adds the event at which a port starts its next packet.
    fn plan(&mut self, now: Duration, end: End) {
        let due = self.queued.get(end.switch).and_then(|queued| queued.due(end.port));
        if let Some(due) = due {
            let rank = if due > now { Rank::Busy } else { Rank::Idle };
            self.agenda.add(due.max(now), rank, Event::Start(end));
        }
    }

    /// Starts the next packet of a port: runs its egress and sends it.
    fn start(&mut self, now: Duration, end: End, books: &mut Books) {
        let leaving = self.queued.get_mut(end.switch).and_then(|queued| queued.take(end.port, now));
        // The packet for which this event was planned may have started already.
        let Some(leaving) = leaving else { return };
        let Leaving { content, times, is_marked, tag: mut journey, .. } = leaving;
        journey.was_queued = true;
        let (outputs, waiting) = match content {
            Content::Frame(packet) => {
                (vec![Output { port: end.port, packet, generation: 0 }], Vec::new())
            }
            Content::Waiting(waiting) => {
                let Some((_, switch)) = self.network.switches.get_mut(end.switch) else { return };
                let coverage = coverage_of(self.covered, end.switch);
                let seen = resume(switch, *waiting, &times, coverage, self.options.trace);
                let waiting = switch.take_waiting();
                (self.record(seen, end.switch, &journey, books).unwrap_or_default(), waiting)
            }
        };
        let is_own = |output: &Output| output.port == end.port;
        let length = outputs.iter().find(|output| is_own(output)).map(|one| one.packet.len());
        let queued = self.queued.get_mut(end.switch);
        let finished = queued.map_or(now, |queued| queued.finished(end.port, length));
        if outputs.is_empty() && waiting.is_empty() {
            self.tell(&journey, ", whose egress dropped it", None, books);
        }
        let received = outputs.first().map(|output| output.packet.clone()).unwrap_or_default();
        for mut output in outputs {
            let own = is_own(&output);
            if own && is_marked {
                queues::ecn::mark(&mut output.packet);
            }
            let time = if own { finished } else { now };
            let end = End { switch: end.switch, port: output.port };
            self.leave(time, end, output, &journey, books);
        }
        self.admit_all(now, end.switch, waiting, &received, &journey, books);
        self.plan(now, end);
    }

    /// Sends a packet over the link of a port, or out of the network.
    fn leave(
        &mut self,
        time: Duration,
        end: End,
        output: Output,
        journey: &Journey,
        books: &mut Books,
    ) {
        let line = journey.line();
        let is_of_source = journey.origin.is_of_source;
        if is_of_source {
            books.hash_sent((time, end, &output.packet));
        }
        if self.is_stored(journey) {
            books.report.left.push((time, end, output.packet.clone()));
        }
        let went_round = journey.went_round || output.generation > 0;
        if let Some(at) = self.network.links.get(&end).copied() {
            let journey = Journey { went_round, ..journey.clone() };
            let packet = Travelling { at, packet: output.packet, journey };
            self.agenda.add(time, Rank::Arrival, Event::Arrival(packet));
        } else if let Some(number) = self.network.number(end) {
            self.crosses(time, number, &output.packet, journey, books);
            self.answer(time, number, journey.origin.transmission, &output.packet);
            journey.origin.has_left.set(true);
            if is_of_source {
                if self.options.keeps_sources {
                    books.report.sent.push((time, number, output.packet));
                    books.report.causes.push(line);
                }
            } else if self.has_queues {
                books.departs(line, time, number, output.packet);
            } else {
                self.left.push((number, output.packet, went_round));
            }
        } else {
            let text = format!(", whose port {} leads nowhere", output.port);
            if is_of_source {
                self.tell(journey, &text, None, books);
            } else {
                books.report.notes.push((line, self.describe(journey, &text)));
            }
        }
    }

    /// Reports a packet that leaves the network by the port with this number in the script.
    fn crosses(
        &self,
        time: Duration,
        number: u32,
        packet: &[u8],
        journey: &Journey,
        books: &mut Books,
    ) {
        let Origin { line, time: entered, port: from, .. } = *journey.origin;
        let delay = time.saturating_sub(entered);
        books.measure(&Departed { from, to: number, time, delay, packet });
        if self.options.keeps_crossings {
            let (left, length) = (time, packet.len());
            books.report.crossings.push(Crossing { line, from, to: number, entered, left, length });
        }
        let to = format!(" > {}", books.report.port(number));
        self.tell(journey, &to, journey.was_queued.then_some(delay), books);
    }

    /// Returns the path of a packet as text, such as `h1 > s1 > s2`, followed by `end`.
    fn describe(&self, journey: &Journey, end: &str) -> String {
        let mut text = journey.origin.from.clone();
        for switch in &journey.way {
            text.push_str(" > ");
            text.push_str(self.network.name(*switch));
        }
        text + end
    }
}

/// Returns the remark about a packet that seems to circulate.
fn too_many(copies: usize, hops: usize) -> Option<String> {
    if copies > MAX_COPIES {
        return Some(format!(
            "the packet became more than {MAX_COPIES} copies: check the topology for a loop"
        ));
    }
    (hops >= MAX_HOPS)
        .then(|| format!("the packet passed {MAX_HOPS} switches: it circulates in a loop"))
}
