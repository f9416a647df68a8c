//! The path of packets through a network: switches, the queues of their ports, and links.

use super::agenda::{Agenda, Rank};
use super::senders::{Acknowledgement, Responding, Transmission};
use super::sources::Sending;
use super::switches::{Covered, Network, coverage_of};
use crate::Failure;
use crate::checks::Departed;
use crate::observe::{Arrival, Seen, process, resume};
use crate::outcome::{Crossing, End, Options};
use crate::record::PacketRecord;
use pipeline::{Content, Leaving, Output, QueuedPorts, Waiting};
use queues::Configuration;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// The largest number of switches that a packet may cross. A packet that crosses more is assumed to
/// circulate in a loop.
const MAX_HOPS: usize = 64;

/// The largest number of copies that a packet may be replicated to. If switches form a loop, the
/// number of copies can double each time around.
const MAX_COPIES: usize = 4096;

/// A future event in a network.
pub(super) enum Event {
    /// A packet arrives at a port of a switch.
    Arrival(Travelling),
    /// The source with this index sends its next packet.
    Source(usize),
    /// The sender with this index sends the packets that its window permits.
    Sender(usize),
    /// An acknowledgement reaches its sender.
    Acknowledgement(Acknowledgement),
    /// The retransmission timeout of the sender with this index may have expired.
    Timeout(usize),
    /// A port with queues may start to send its next packet.
    Start(End),
}

/// A packet on its way through a network, about to enter a switch.
pub(super) struct Travelling {
    pub(super) at: End,
    pub(super) packet: Vec<u8>,
    pub(super) journey: Journey,
}

/// The path of a packet through the network so far.
#[derive(Clone, Debug)]
pub(super) struct Journey {
    /// The packet that entered the network, of which this one may be a copy.
    pub(super) origin: Rc<Origin>,
    /// The indices of the switches that the packet has crossed.
    way: Vec<usize>,
    /// Whether one of these switches has recirculated, resubmitted or cloned the packet.
    went_round: bool,
    /// Whether the packet has waited in a queue, so that its path took time.
    was_queued: bool,
}

/// A packet that entered the network, from a `packet` statement, a source or a sender.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) line: usize,
    pub(super) time: Duration,
    /// The script's number for the port at which the packet entered.
    pub(super) port: u32,
    /// The name, for messages, of the port at which the packet entered.
    pub(super) from: String,
    /// Whether a source or a sender sent the packet. Such packets are only counted. They are not
    /// compared with expected packets or described one by one.
    pub(super) is_of_source: bool,
    /// The transmission to which the packet belongs, if a sender waits for its acknowledgement.
    pub(super) transmission: Option<Transmission>,
    /// The number of copies into which the packet was replicated so far.
    pub(super) copies: Cell<usize>,
    /// Whether the packet or a copy of it has left the network.
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

/// A packet that left the network in the instant in which it entered: the port, its bytes, and
/// whether a switch recirculated, resubmitted or cloned it.
pub(super) type Left = (u32, Vec<u8>, bool);

/// The state of a simulation: the switches, the packets on their way and the future events.
pub(super) struct Travel<'n> {
    pub(super) network: &'n mut Network,
    /// Whether any port of the network has queues, at the start or through a later statement of the
    /// script.
    pub(super) has_queues: bool,
    pub(super) queued: Vec<QueuedPorts<Journey>>,
    pub(super) agenda: Agenda<Event>,
    pub(super) options: Options,
    pub(super) covered: &'n mut [Covered],
    pub(super) left: Vec<Left>,
    /// The packets of `packet` statements, if the network has queues. Those of which no copy has
    /// left the network are reported at the end.
    pub(super) pending: Vec<Rc<Origin>>,
    pub(super) sources: Vec<Sending>,
    pub(super) senders: Vec<Responding>,
}

impl Travel<'_> {
    /// Executes all events that precede the arrival of a packet at the time `until`.
    pub(super) fn advance(&mut self, until: Duration, record: &mut PacketRecord) {
        while let Some((now, event)) = self.agenda.next(until) {
            match event {
                Event::Arrival(packet) => self.arrive(now, packet, record),
                Event::Source(index) => self.send(now, index, record),
                Event::Sender(index) => self.fill_window(now, index, record),
                Event::Acknowledgement(answer) => self.acknowledge(now, answer, record),
                Event::Timeout(index) => self.time_out(now, index, record),
                Event::Start(end) => self.start(now, end, record),
            }
        }
    }

    /// Runs ingress for a packet that arrives. Also runs egress if the output port has no queues.
    pub(super) fn arrive(&mut self, now: Duration, packet: Travelling, record: &mut PacketRecord) {
        let Travelling { at, packet, mut journey } = packet;
        let origin = Rc::clone(&journey.origin);
        let copies = origin.copies.get() + 1;
        origin.copies.set(copies);
        if let Some(text) = too_many(copies, journey.way.len()) {
            // A loop is reported only once for each packet that entered the network.
            if copies <= MAX_COPIES + 1 {
                record.report.notes.push((origin.line, text));
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
        let Some(outputs) = self.record_trace(seen, at.switch, &journey, record) else {
            self.enters(now, at, packet, &journey, record);
            return;
        };
        if outputs.is_empty() && waiting.is_empty() {
            self.report_end(&journey, ", where it left by no port", None, record);
        }
        for output in outputs {
            let end = End { switch: at.switch, port: output.port };
            let queued = self.queued.get(at.switch).is_some_and(|queued| queued.has(output.port));
            if queued {
                // The architecture has no egress.
                let journey = Journey { went_round: output.generation > 0, ..journey.clone() };
                self.admit(now, end, Content::Frame(output.packet), &packet, journey, record);
            } else {
                self.leave(now, end, output, &journey, record);
            }
        }
        self.admit_all(now, at.switch, waiting, &packet, &journey, record);
        self.enters(now, at, packet, &journey, record);
    }

    /// Records that a packet has entered a switch.
    fn enters(
        &self,
        now: Duration,
        at: End,
        packet: Vec<u8>,
        journey: &Journey,
        record: &mut PacketRecord,
    ) {
        if self.is_stored(journey) {
            record.report.entered.push((now, at, packet));
        }
    }

    /// Returns whether the bytes of the packet are stored in the report.
    fn is_stored(&self, journey: &Journey) -> bool {
        !journey.origin.is_of_source || self.options.keeps_sources
    }

    /// Reports where a packet's path ended, and its delay if it has waited in a queue. Packets of
    /// `packet` statements are reported one by one. Packets of sources are counted.
    fn report_end(
        &self,
        journey: &Journey,
        end: &str,
        delay: Option<Duration>,
        record: &mut PacketRecord,
    ) {
        let mut text = self.describe(journey, end);
        if journey.origin.is_of_source {
            record.fate(journey.line(), text, delay);
            return;
        }
        if let Some(delay) = delay {
            text += &format!(" in {delay:?}");
        }
        record.report.values.push((journey.line(), text));
    }

    /// Adds the trace of a switch's pass over a packet to the report. Returns the outputs of the
    /// pass, or `None` if it failed.
    fn record_trace(
        &self,
        seen: Seen,
        switch: usize,
        journey: &Journey,
        record: &mut PacketRecord,
    ) -> Option<Vec<Output>> {
        if let Some(trace) = seen.trace {
            record.report.trace.push((journey.line(), trace));
            record.report.passed.push(self.network.name(switch).to_owned());
        }
        match seen.outputs {
            Ok(outputs) => Some(outputs),
            Err(error) => {
                record.report.failures.push(Failure::Run { line: journey.line(), error });
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
        record: &mut PacketRecord,
    ) {
        for waiting in waiting {
            let end = End { switch, port: waiting.port() };
            let went_round = journey.went_round || waiting.generation() > 0;
            let journey = Journey { went_round, ..journey.clone() };
            let content = Content::Waiting(Box::new(waiting));
            self.admit(now, end, content, received, journey, record);
        }
    }

    /// Puts a packet into a queue of its output port, or drops it if the queue does not accept it.
    fn admit(
        &mut self,
        now: Duration,
        end: End,
        content: Content,
        received: &[u8],
        journey: Journey,
        record: &mut PacketRecord,
    ) {
        let kept = journey.clone();
        let Some(queued) = self.queued.get_mut(end.switch) else { return };
        match queued.admit(now, end.port, content, received, journey) {
            Ok(_) => self.plan(now, end),
            Err(refusal) => {
                let port = end.port;
                let text = format!(", where port {port} dropped it: {refusal}");
                self.report_end(&kept, &text, None, record);
            }
        }
    }

    /// Replaces the queues of some ports of a switch.
    pub(super) fn configure(
        &mut self,
        now: Duration,
        switch: usize,
        queues: &Configuration,
        record: &mut PacketRecord,
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
            record.report.values.push((journey.line(), text));
        }
        // The times at which these ports start their next packets may have changed, so events are
        // scheduled again. An earlier event has no effect if the port has no packet to start at its
        // time.
        for port in queues.0.keys() {
            self.plan(now, End { switch, port: *port });
        }
    }

    /// Schedules the event at which a port starts to send its next packet.
    fn plan(&mut self, now: Duration, end: End) {
        let due = self.queued.get(end.switch).and_then(|queued| queued.due(end.port));
        if let Some(due) = due {
            let rank = if due > now { Rank::Busy } else { Rank::Idle };
            self.agenda.add(due.max(now), rank, Event::Start(end));
        }
    }

    /// Starts the next packet of a port: runs egress for the packet and sends it.
    fn start(&mut self, now: Duration, end: End, record: &mut PacketRecord) {
        let leaving = self.queued.get_mut(end.switch).and_then(|queued| queued.take(end.port, now));
        // The packet for which this event was scheduled may have been started already.
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
                (self.record_trace(seen, end.switch, &journey, record).unwrap_or_default(), waiting)
            }
        };
        let is_own = |output: &Output| output.port == end.port;
        let length = outputs.iter().find(|output| is_own(output)).map(|one| one.packet.len());
        let queued = self.queued.get_mut(end.switch);
        let finished = queued.map_or(now, |queued| queued.finished(end.port, length));
        if outputs.is_empty() && waiting.is_empty() {
            self.report_end(&journey, ", whose egress dropped it", None, record);
        }
        let received = outputs.first().map(|output| output.packet.clone()).unwrap_or_default();
        for mut output in outputs {
            let own = is_own(&output);
            if own && is_marked {
                queues::ecn::mark(&mut output.packet);
            }
            let time = if own { finished } else { now };
            let end = End { switch: end.switch, port: output.port };
            self.leave(time, end, output, &journey, record);
        }
        self.admit_all(now, end.switch, waiting, &received, &journey, record);
        self.plan(now, end);
    }

    /// Sends a packet over the link of a port, or out of the network if the port has no link.
    fn leave(
        &mut self,
        time: Duration,
        end: End,
        output: Output,
        journey: &Journey,
        record: &mut PacketRecord,
    ) {
        let line = journey.line();
        let is_of_source = journey.origin.is_of_source;
        if is_of_source {
            record.hash_sent((time, end, &output.packet));
        }
        if self.is_stored(journey) {
            record.report.left.push((time, end, output.packet.clone()));
        }
        let went_round = journey.went_round || output.generation > 0;
        if let Some(at) = self.network.links.get(&end).copied() {
            let journey = Journey { went_round, ..journey.clone() };
            let packet = Travelling { at, packet: output.packet, journey };
            self.agenda.add(time, Rank::Arrival, Event::Arrival(packet));
        } else if let Some(number) = self.network.number(end) {
            self.crosses(time, number, &output.packet, journey, record);
            self.answer(time, number, journey.origin.transmission, &output.packet);
            journey.origin.has_left.set(true);
            if is_of_source {
                if self.options.keeps_sources {
                    record.report.sent.push((time, number, output.packet));
                    record.report.causes.push(line);
                }
            } else if self.has_queues {
                record.departs(line, time, number, output.packet);
            } else {
                self.left.push((number, output.packet, went_round));
            }
        } else {
            let text = format!(", whose port {} leads nowhere", output.port);
            if is_of_source {
                self.report_end(journey, &text, None, record);
            } else {
                record.report.notes.push((line, self.describe(journey, &text)));
            }
        }
    }

    /// Reports a packet that leaves the network by an outside port. `number` is the script's number
    /// for the port.
    fn crosses(
        &self,
        time: Duration,
        number: u32,
        packet: &[u8],
        journey: &Journey,
        record: &mut PacketRecord,
    ) {
        let Origin { line, time: entered, port: from, .. } = *journey.origin;
        let delay = time.saturating_sub(entered);
        record.measure(&Departed { from, to: number, time, delay, packet });
        if self.options.keeps_crossings {
            let (left, length) = (time, packet.len());
            record.report.crossings.push(Crossing {
                line,
                from,
                to: number,
                entered,
                left,
                length,
            });
        }
        let to = format!(" > {}", record.report.port(number));
        self.report_end(journey, &to, journey.was_queued.then_some(delay), record);
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

/// Returns the remark about a packet that was dropped because it seems to circulate in a loop, or
/// `None` if neither limit is exceeded.
fn too_many(copies: usize, hops: usize) -> Option<String> {
    if copies > MAX_COPIES {
        return Some(format!(
            "the packet became more than {MAX_COPIES} copies: check the topology for a loop"
        ));
    }
    (hops >= MAX_HOPS)
        .then(|| format!("the packet passed {MAX_HOPS} switches: it circulates in a loop"))
}
