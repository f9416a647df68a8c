//! The control channel of an OpenFlow switch, which sends flow-mods and barriers and reads
//! statistics.
//!
//! A request consists of flow-mods and a barrier request. Its answer is the barrier reply, which
//! confirms that the switch has processed the flow-mods (OpenFlow 1.0.0, 5.3.7; 1.3.5, 7.3.8). A
//! switch answers a single flow-mod only if it fails, with an error that carries the flow-mod's
//! transaction id.

mod objects;
mod others;
mod replies;
mod statistics;

use std::collections::{HashSet, VecDeque};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use controllers::openflow::{ServerTls, SwitchConnection};
use measuring::tcp::Addresses;
use openflow::wire::emit_empty;
use openflow::{DatapathId, Version, Xid};
use rand::RngExt as _;

use self::replies::{Confirmed, Flying, Series, barrier_types};
use self::statistics::ReportedFlow;
use super::Listening;
use crate::entries::{MakerError, OwnFile};
use crate::entry_number::{EntryNumber, Variant};
use crate::error::DutError;
use crate::flows::{
    FlowChange, FlowEntry, FlowIdentity, FlowMaker, FlowMatch, Lifetime, Output, OwnFlows, Selector,
};
use crate::sustained::trial::{Request, Step, Trial};
use crate::watch::Watch;
use crate::window::{Operation, Refusal, Sent, Shape, TIMEOUT, Work, processor_time};

pub(crate) use self::replies::{Reply, refused};
pub(crate) use self::statistics::CountRequest;

/// The time to wait for the switch to connect.
const CONNECTS: Duration = Duration::from_secs(60);
/// The interval at which timeouts are checked while the switch is silent.
const LOOK: Duration = Duration::from_millis(10);
/// The number of unsent bytes above which no further request is made.
const BACKLOG: usize = 4 << 20;

/// The listening socket at which the switch connects.
struct Entrance {
    listener: TcpListener,
    versions: Vec<Version>,
    tls: Option<ServerTls>,
}

/// A connection of the measured switch.
pub(crate) struct OpenFlowChannel {
    connection: SwitchConnection,
    maker: FlowMaker,
    /// The outputs of generated flows: the first one when they are inserted, and the second one
    /// after a modification.
    outputs: [Output; 2],
    next_xid: u32,
    /// The flows that were in the switch before the measurement.
    before: HashSet<ReportedFlow>,
    /// The identities of the flows of the user's file.
    identities: HashSet<FlowIdentity>,
    /// The number of flow entries that the table can hold; `None` if the switch does not report it.
    size: Option<u64>,
    description: Option<String>,
    /// The number of flows of this measurement that should be in the switch: it has accepted them,
    /// and they have not been deleted.
    accepted: u64,
    confirmed: Confirmed,
    /// The buffer in which a request is assembled.
    scratch: Vec<u8>,
    /// The socket at which further connections are accepted; `None` if this is itself a further
    /// connection.
    entrance: Option<Entrance>,
    /// Further connections of the switch, each of which stands for another controller.
    others: Vec<Self>,
    /// The number of connections over which the requests of a series are sent.
    active: usize,
}

impl OpenFlowChannel {
    /// Waits until a switch connects and the handshake is complete. Then reads the flows that the
    /// switch already has.
    pub(crate) fn open(
        listening: &Listening,
        stop: &AtomicBool,
        watch: &mut dyn Watch,
    ) -> Result<Self, DutError> {
        let address = listening.address;
        let failed = |cause| DutError::Listen { address, cause };
        let listener = SwitchConnection::listen(address).map_err(failed)?;
        watch.listens(listener.local_addr().map_err(failed)?);
        let Listening { versions, tls, flows, .. } = listening;
        let connection =
            SwitchConnection::accept(&listener, versions, tls.as_ref(), CONNECTS, stop)?;
        let entrance = Entrance { listener, versions: versions.clone(), tls: tls.clone() };
        let maker = FlowMaker::new(listening.matching, rand::rng().random());
        let mut channel = Self::of(connection, maker.with_own(flows.clone()));
        channel.entrance = Some(entrance);
        if let Some(own) = flows {
            let version = channel.version();
            own.check(version)?;
            let identities = own.numbers().filter_map(|number| own.identity(version, number));
            channel.identities = identities.collect();
        }
        channel.before = channel.flows()?.into_iter().collect();
        // A switch may refuse these requests, because their answers only describe it.
        channel.size = channel.ask_size().unwrap_or_default();
        channel.description = channel.ask_description().unwrap_or_default();
        let ports = channel.ask_ports().unwrap_or_default();
        if let [first, second, ..] = ports.as_slice() {
            channel.outputs = [Output::Port(*first), Output::Port(*second)];
        }
        Ok(channel)
    }

    /// Creates the channel of a connection over which nothing has been requested yet.
    fn of(connection: SwitchConnection, maker: FlowMaker) -> Self {
        Self {
            connection,
            maker,
            outputs: [Output::Back, Output::Nowhere],
            next_xid: SwitchConnection::FIRST_XID,
            before: HashSet::new(),
            identities: HashSet::new(),
            size: None,
            description: None,
            accepted: 0,
            confirmed: Confirmed::default(),
            scratch: Vec::new(),
            entrance: None,
            others: Vec::new(),
            active: 1,
        }
    }

    /// Returns the version of OpenFlow that the switch speaks.
    pub(crate) fn version(&self) -> Version {
        self.connection.version()
    }

    /// Returns the addresses of the TCP connections over which the next series of requests is sent.
    pub(crate) fn addresses(&self) -> Vec<Addresses> {
        let all = [self].into_iter().chain(&self.others).take(self.active);
        let ends = all.map(|one| one.connection.addresses());
        ends.map(|[local, remote]| Addresses { local, remote }).collect()
    }

    /// Returns the datapath id of the switch.
    pub(crate) fn datapath_id(&self) -> Option<DatapathId> {
        self.connection.features().map(|features| features.datapath_id)
    }

    /// Returns the manufacturer, hardware and software that the switch reports, separated by
    /// commas; `None` if it reports none.
    pub(crate) fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the number of flow entries that the table can hold; `None` if the switch does not
    /// report it.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns the maker of the flows of this measurement.
    pub(crate) fn maker(&self) -> FlowMaker {
        self.maker.clone()
    }

    /// Returns the number of the table that contains the flows.
    pub(crate) fn table(&self) -> u8 {
        self.maker.own().map_or(0, OwnFlows::table)
    }

    /// Returns the number of flow entries that the switch had before the measurement.
    pub(crate) fn present(&self) -> usize {
        self.before.len()
    }

    /// Returns the fields that generated flows match.
    pub(crate) fn matching(&self) -> FlowMatch {
        self.maker.matching
    }

    /// Returns the number of errors that arrived too late: after the barrier reply that confirms
    /// the message which caused the error.
    pub(crate) fn late_errors(&self) -> u64 {
        self.confirmed.late_errors
    }

    /// Returns the numbers of the first `count` flows that the switch did not have before the
    /// measurement.
    pub(crate) fn absent(&self, count: u64) -> Vec<EntryNumber> {
        let values = self.before.iter().filter_map(|flow| self.maker.value_of(&flow.matching));
        let taken: HashSet<u64> = values.collect();
        let numbers = (0..self.maker.matching.different()).map(EntryNumber);
        let is_absent = |number: &EntryNumber| !taken.contains(&self.maker.value(*number));
        numbers.filter(is_absent).take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
    }

    /// Returns the numbers of the flows of the user's file; `None` without a file.
    ///
    /// # Errors
    /// Returns an error if one of these flows was in the switch before the measurement.
    pub(crate) fn own_numbers(&self) -> Result<Option<Vec<EntryNumber>>, MakerError> {
        let Some(own) = self.maker.own() else { return Ok(None) };
        let present = self.before.iter().map(ReportedFlow::identity).collect();
        let there = own.among(self.version(), &present);
        match there.first().and_then(|number| own.quote(*number)) {
            Some(first) => Err(MakerError::Present { first, count: there.len() }),
            None => Ok(Some(own.numbers().collect())),
        }
    }

    /// Returns the flow entry with a number, as it is inserted or as it is after its modification.
    pub(crate) fn entry(&self, number: EntryNumber, variant: Variant) -> FlowEntry {
        let [first, second] = self.outputs;
        let output = match (self.maker.own().filter(|_| OwnFlows::has(number)), variant) {
            (Some(_), Variant::First) => Output::OfFile(number),
            (Some(own), Variant::Second) => Output::OfFile(own.second(number)),
            (None, Variant::First) => first,
            (None, Variant::Second) => second,
        };
        FlowEntry { selects: Selector::One(number), output }
    }

    /// Returns the user's file that the flows come from; `None` for generated flows.
    pub(crate) fn own_file(&self) -> Option<OwnFile> {
        self.maker.own().map(|own| OwnFile { name: own.file().to_owned(), left_out: 0 })
    }

    /// Returns the position of a flow in the user's file, and the flow's text; `None` for generated
    /// flows.
    fn quote(&self, number: EntryNumber) -> Option<String> {
        self.maker.own()?.quote(number)
    }

    /// Assembles a request that updates entries. It is sent by [`OpenFlowChannel::hand_over`].
    /// Returns the transaction id of the first flow-mod.
    pub(crate) fn make_request(
        &mut self,
        operation: Operation,
        entries: impl IntoIterator<Item = FlowEntry>,
    ) -> Result<u32, DutError> {
        self.make_request_with_lifetime(operation, entries, Lifetime::Endless)
    }

    /// Assembles a request that updates entries which have a lifetime. Returns the transaction id
    /// of the first flow-mod.
    pub(crate) fn make_request_with_lifetime(
        &mut self,
        operation: Operation,
        entries: impl IntoIterator<Item = FlowEntry>,
        lifetime: Lifetime,
    ) -> Result<u32, DutError> {
        let version = self.version();
        let first = self.next_xid;
        self.scratch.clear();
        for entry in entries {
            let xid = Xid(self.next_xid);
            self.next_xid += 1;
            let change = FlowChange { operation, entry, lifetime };
            let encoded = self.maker.encode(version, change, xid, &mut self.scratch);
            encoded.map_err(|error| DutError::Request {
                what: "flow-mod",
                cause: error.to_string(),
            })?;
        }
        let [barrier, _] = barrier_types(version);
        emit_empty(version, barrier, Xid(self.next_xid), &mut self.scratch);
        self.next_xid += 1;
        Ok(first)
    }

    /// Hands the assembled request to the connection.
    pub(crate) fn hand_over(&mut self) -> Result<(), DutError> {
        self.connection.out().append(&mut self.scratch);
        self.flush()
    }

    /// Returns the number of bytes that have not been sent yet.
    pub(crate) fn backlog(&self) -> usize {
        self.connection.backlog()
    }

    /// Waits for bytes from the switch, at most for `time`, and then sends what is still unsent.
    pub(crate) fn wait(&mut self, time: Duration) -> Result<(), DutError> {
        self.connection.wait(time)?;
        self.flush()
    }

    /// Sends what is still unsent, as far as the socket accepts it.
    pub(crate) fn flush(&mut self) -> Result<(), DutError> {
        Ok(self.connection.flush()?)
    }

    /// Appends a packet-out message to what is still unsent.
    pub(crate) fn make_packet_out(
        &mut self,
        output: Output,
        packet: &[u8],
    ) -> Result<(), DutError> {
        let (version, xid) = (self.version(), Xid(self.next_xid));
        self.next_xid += 1;
        let encoded =
            self.maker.encode_packet_out(version, output, packet, xid, self.connection.out());
        encoded.map_err(|error| DutError::Request { what: "packet-out", cause: error.to_string() })
    }

    /// Checks once for messages of the switch, without waiting, and passes those that concern a
    /// measurement to `take`. Returns whether any bytes had arrived.
    pub(crate) fn look(&mut self, take: &mut dyn FnMut(Reply)) -> Result<bool, DutError> {
        let Self { connection, confirmed, .. } = self;
        let version = connection.version();
        let mut receive = |frame: &[u8]| {
            if let Some(reply) = Reply::of(version, frame) {
                confirmed.note(&reply);
                take(reply);
            }
        };
        Ok(connection.receive(&mut receive)?)
    }

    /// Sends the requests of `work`, and waits for the answers.
    ///
    /// Stops sending when all requests are sent, `shape.time` is over, `stop` is set, or a request
    /// fails as a whole. At least one window of requests is sent, even if this thread is delayed.
    /// If several connections are active, they take the requests in turn. Returns the record of the
    /// answered requests, and the entries of those that were not sent.
    pub(crate) fn send(
        &mut self,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Sent, DutError> {
        let sent = match self.active {
            0 | 1 => self.send_alone(work, shape, Instant::now(), stop)?,
            2.. => self.send_together(work, shape, stop)?,
        };
        let accepted = sent.phase.accepted.len() as u64;
        match work.operation {
            Operation::Insert => self.accepted += accepted,
            Operation::Modify => {}
            Operation::Delete => self.accepted = self.accepted.saturating_sub(accepted),
        }
        Ok(sent)
    }

    /// Sends the requests of a series over this connection only. Times count from `start`.
    fn send_alone(
        &mut self,
        work: Work<'_>,
        shape: Shape,
        start: Instant,
        stop: &AtomicBool,
    ) -> Result<Sent, DutError> {
        let variant = match work.operation {
            Operation::Insert | Operation::Delete => Variant::First,
            Operation::Modify => Variant::Second,
        };
        let mut series = Series::default();
        let mut requests = work.requests();
        let mut sent = 0;
        let processor = processor_time();
        let mut heard = Instant::now();
        loop {
            self.tend_others()?;
            let goes_on = series.failure.is_none()
                && !stop.load(Ordering::Relaxed)
                && shape.time.is_none_or(|time| sent == 0 || start.elapsed() < time);
            while goes_on && series.flying.len() < shape.window && self.backlog() < BACKLOG {
                let Some(numbers) = requests.next() else { break };
                let entries: Vec<FlowEntry> =
                    numbers.iter().map(|number| self.entry(*number, variant)).collect();
                let first = self.make_request(work.operation, entries)?;
                let at = start.elapsed();
                self.hand_over()?;
                series.flying.push_back(Flying { first, numbers, sent: at, refused: Vec::new() });
                sent += 1;
            }
            if series.flying.is_empty() {
                break;
            }
            // Other messages, such as packet-ins, are no sign that the switch will answer.
            let has_read = self.look(&mut |reply| {
                if !matches!(reply, Reply::PacketIn(_)) {
                    heard = Instant::now();
                }
                series.note(reply, start.elapsed());
            })?;
            if heard.elapsed() > TIMEOUT {
                return Err(DutError::NoAnswer { what: "barrier", patience: TIMEOUT });
            }
            if !has_read {
                self.connection.wait(LOOK)?;
                self.flush()?;
            }
        }
        let Series { mut phase, failure, refused, .. } = series;
        if let Some(refusal) = &mut phase.refusal {
            refusal.entry = refused.and_then(|number| self.quote(number));
        }
        phase.series = 1;
        phase.end(processor);
        failure.map_or(Ok(Sent::new(phase, work, sent)), Err)
    }
}

impl OpenFlowChannel {
    /// Runs a trial of the search for the sustained rate. Returns the trial, and the share of the
    /// schedule's duration in which this thread was running.
    pub(crate) fn run(
        &mut self,
        mut trial: Trial,
        stop: &AtomicBool,
    ) -> Result<(Trial, f64), DutError> {
        let before = trial.pool().present();
        let mut flying: VecDeque<Waiting> = VecDeque::new();
        let (start, processor) = (Instant::now(), processor_time());
        let (mut heard, mut busy, mut failure) = (start, None, None);
        loop {
            let now = start.elapsed();
            if now >= trial.end() {
                busy.get_or_insert_with(|| (processor_time() - processor).div_duration_f64(now));
            }
            if stop.load(Ordering::Relaxed) {
                trial.stop();
            }
            let due = match trial.step(now) {
                Step::Send(Request { position, operation, numbers }) => {
                    let entries: Vec<FlowEntry> =
                        numbers.iter().map(|number| self.entry(*number, Variant::First)).collect();
                    let first = self.make_request(operation, entries)?;
                    trial.handed_over(position, start.elapsed());
                    self.hand_over()?;
                    let (refused, refusal) = (Vec::new(), None);
                    flying.push_back(Waiting { position, first, numbers, refused, refusal });
                    None
                }
                Step::WaitUntil(due) => Some(due.saturating_sub(start.elapsed())),
                Step::Await => Some(LOOK),
                Step::End => break,
            };
            let maker = self.maker.clone();
            let has_read = self.look(&mut |reply| match reply {
                Reply::Barrier(xid) => {
                    heard = Instant::now();
                    let at = flying.iter().position(|one| one.barrier() == xid);
                    if let Some(mut one) = at.and_then(|at| flying.remove(at)) {
                        one.refused.sort_unstable();
                        trial.answered(one.position, start.elapsed(), &one.refused, one.refusal);
                    }
                }
                Reply::Error(xid, refusal) => {
                    heard = Instant::now();
                    let of = |one: &&mut Waiting| (one.first..=one.barrier().0).contains(&xid.0);
                    match flying.iter_mut().find(of) {
                        Some(one) if one.barrier() != xid => {
                            let at = (xid.0 - one.first) as usize;
                            one.refused.push(at);
                            let entry = one.numbers.get(at).and_then(|at| maker.own()?.quote(*at));
                            one.refusal.get_or_insert(Refusal { entry, ..refusal });
                        }
                        // Without a reply to its barrier request, the request has no answer. Errors
                        // after the reply are counted as such, and the flow will be missing.
                        Some(_) => {
                            failure.get_or_insert(refused("barrier", &refusal));
                        }
                        None => {}
                    }
                }
                Reply::PacketIn(_) | Reply::FlowRemoved { .. } => {}
            })?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            if heard.elapsed() > TIMEOUT && !flying.is_empty() {
                return Err(DutError::NoAnswer { what: "barrier", patience: TIMEOUT });
            }
            match due {
                Some(due) if !has_read => self.wait(due)?,
                Some(_) | None => {}
            }
        }
        let after = trial.pool().present() as u64;
        self.accepted = (self.accepted + after).saturating_sub(before as u64);
        Ok((trial, busy.unwrap_or(0.0)))
    }
}

/// A request of a trial that is not answered yet.
struct Waiting {
    position: usize,
    /// The transaction id of the request's first flow-mod. Those of its other flow-mods and of its
    /// barrier request follow.
    first: u32,
    numbers: Vec<EntryNumber>,
    refused: Vec<usize>,
    refusal: Option<Refusal>,
}

impl Waiting {
    fn barrier(&self) -> Xid {
        Xid(self.first + self.numbers.len() as u32)
    }
}

#[cfg(test)]
mod tests;
