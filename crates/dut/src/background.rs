//! Background packets: a steady stream of packets that the switch forwards while its control
//! channel is busy. They show what updates, reads and a full table cost forwarding, and what
//! forwarding costs updates.
//!
//! A thread of its own sends the packets of some flows in turn, evenly spaced, and looks for them
//! at the ports by which they leave. The entries of these flows stay in the switch for the whole
//! test, and no update of the test changes them.

mod highest;
mod passing;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use p4runtime::client::Client;
use p4runtime::proto::v1;

use self::highest::{Search, Trial};
use self::passing::{Packet, Passing};
use crate::entries::key;
use crate::error::DutError;
use crate::flows::{FlowEntry, Selector};
use crate::live::{
    Control, Flow, OpenFlowControl, Outcome, P4RuntimeControl, Ports, Traffic, check_program,
};
use crate::outlet::Outlet;
use crate::session::{Aside, Channel, Session};
use crate::stream::PacketStream;
use crate::target::Target;
use crate::window::{Operation, Phase};

pub use self::highest::HighestRate;
pub use crate::forwarded::{Cost, Forwarded};

/// The duration of a trial that shows whether the switch forwards packets at the tried rate.
const TRIAL: Duration = Duration::from_millis(200);
/// The time between the switch's answer to the insertion of the entries and the first packet. A
/// switch may answer before its data plane applies the entries.
const SETTLES: Duration = Duration::from_millis(100);
/// The greatest share of packets that may be lost in a trial if the switch is to count as
/// forwarding them.
const LOST: f64 = 0.001;
/// The packets per second below which the rate is not halved any further.
const SLOWEST: f64 = 500.0;

/// The settings of background packets.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The rate at which packets are offered at first, in packets per second. It is halved until
    /// the switch, whose control channel is idle meanwhile, forwards the packets.
    pub packets_per_second: f64,
}

/// Background packets whose entries are in the switch.
pub(crate) struct Background {
    packets: Arc<[Packet]>,
    /// The interfaces through which packets are sent and received; `None` while a thread uses them,
    /// or if that thread has panicked.
    stream: Option<PacketStream>,
    /// The rate at which packets are sent, in packets per second.
    rate: f64,
    entries: Entries,
    aside: Aside,
}

/// The entries that the packets need in the switch, in the order of their insertion.
enum Entries {
    P4Runtime(Vec<v1::TableEntry>),
    OpenFlow(Vec<FlowEntry>),
}

impl Background {
    /// Inserts the entries of the target's flows, and searches for a rate at which the switch
    /// forwards their packets. Returns `None` if the target has no packets.
    ///
    /// # Errors
    /// Returns an error if a request fails, if the switch runs another program, or if none of the
    /// packets leaves the switch. The entries are deleted then.
    pub(crate) async fn open(
        session: &mut Session,
        target: &Target,
        settings: Settings,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, DutError> {
        let mut opened = match target {
            Target::P4Runtime { traffic: Some(traffic), .. } => {
                Self::over_p4runtime(session, traffic, settings).await?
            }
            Target::OpenFlow { ports: Some(ports), .. } => {
                let outlets = Outlet::open(&ports.wires)?;
                Self::over_openflow(session, ports, outlets, settings).await?
            }
            Target::P4Runtime { traffic: None, .. } | Target::OpenFlow { ports: None, .. } => {
                return Ok(None);
            }
        };
        match opened.find_rate(stop).await {
            Ok(()) => Ok(Some(opened)),
            Err(error) => {
                opened.close(session).await?;
                Err(error)
            }
        }
    }

    async fn over_p4runtime(
        session: &mut Session,
        traffic: &Traffic,
        settings: Settings,
    ) -> Result<Self, DutError> {
        let Channel::P4Runtime(channel) = session.channel() else { return Err(DutError::NoRules) };
        let client: Client = channel.client.clone();
        check_program(&client, &traffic.p4info).await?;
        let mut control = P4RuntimeControl::read(client, traffic.tables()).await?;
        let is_new = |entry: &v1::TableEntry| !control.was_there(entry);
        let flows: Vec<&Flow<v1::TableEntry>> =
            traffic.flows.iter().filter(|flow| is_new(&flow.first)).collect();
        let beside: Vec<v1::TableEntry> =
            traffic.beside.iter().filter(|entry| is_new(entry)).cloned().collect();
        let packets = Packet::of(&flows);
        if packets.is_empty() {
            return Err(DutError::NoRules);
        }
        let stream = PacketStream::open(&traffic.wires)?;
        let entries = inserted(&mut control, &flows, beside).await?;
        let keys: Vec<(u32, Vec<u8>)> =
            entries.iter().map(|entry| (entry.table_id, key(entry))).collect();
        let aside = session.set_keys_aside(&keys);
        let entries = Entries::P4Runtime(entries);
        let rate = settings.packets_per_second;
        Ok(Self { packets: packets.into(), stream: Some(stream), rate, entries, aside })
    }

    /// Opens background packets of an OpenFlow switch through interfaces that are already open.
    async fn over_openflow(
        session: &mut Session,
        ports: &Ports,
        outlets: Vec<Outlet>,
        settings: Settings,
    ) -> Result<Self, DutError> {
        let numbers = session.numbers().to_vec();
        let Channel::OpenFlow(channel) = session.channel() else { return Err(DutError::NoRules) };
        let made = ports.flows(&channel.maker(), &numbers)?;
        let flows: Vec<&Flow<FlowEntry>> = made.flows.iter().collect();
        let packets = Packet::of(&flows);
        if packets.is_empty() {
            return Err(DutError::NoRules);
        }
        let mut control = OpenFlowControl::new(channel);
        let entries = inserted(&mut control, &flows, made.beside).await?;
        let taken = entries.iter().filter_map(|entry| match entry.selects {
            Selector::One(number) => Some(number),
            Selector::Rest | Selector::Beneath => None,
        });
        let aside = session.set_flows_aside(&taken.collect(), entries.len());
        let (entries, stream) = (Entries::OpenFlow(entries), Some(PacketStream::new(outlets)));
        let rate = settings.packets_per_second;
        Ok(Self { packets: packets.into(), stream, rate, entries, aside })
    }

    /// Halves the rate until the switch forwards the packets, or the rate is too low to overload
    /// any switch.
    async fn find_rate(&mut self, stop: &AtomicBool) -> Result<(), DutError> {
        tokio::time::sleep(SETTLES).await;
        while !stop.load(Ordering::Relaxed) {
            let found = self.pause(TRIAL).await?;
            let is_forwarded = found.lost as f64 <= LOST * found.sent as f64;
            if is_forwarded || self.rate / 2.0 < SLOWEST {
                break;
            }
            self.rate /= 2.0;
        }
        Ok(())
    }

    /// Returns the rate at which packets are sent, in packets per second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Sends packets for `time` while the control channel is idle, and returns what became of them.
    pub(crate) async fn pause(&mut self, time: Duration) -> Result<Forwarded, DutError> {
        let idle = async {
            tokio::time::sleep(time).await;
            Ok(())
        };
        self.during(idle).await.map(|((), forwarded)| forwarded)
    }

    /// Sends packets while `work` runs, and then waits for those that have not arrived yet. Returns
    /// the output of `work` and what became of the packets.
    pub(crate) async fn during<T>(
        &mut self,
        work: impl Future<Output = Result<T, DutError>>,
    ) -> Result<(T, Forwarded), DutError> {
        let lost = || std::io::Error::other("internal error: the thread of the packets has ended");
        let stream = self.stream.take().ok_or_else(lost)?;
        let passing = Passing::start(stream, Arc::clone(&self.packets), self.rate)?;
        let found = work.await;
        let (stream, forwarded) = passing.end().ok_or_else(lost)?;
        self.stream = Some(stream);
        Ok((found?, forwarded?))
    }

    /// Searches for the highest rate at which the switch forwards the packets while its control
    /// channel is idle. Each trial takes `time`. If `stop` is set, returns the result of the trials
    /// so far.
    pub(crate) async fn highest_rate(
        &mut self,
        time: Duration,
        stop: &AtomicBool,
    ) -> Result<HighestRate, DutError> {
        let usual = self.rate;
        let mut search = Search::from(usual);
        while let Some(rate) = search.next_rate() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let before = self.dropped();
            self.rate = rate;
            let sent = self.pause(time).await;
            self.rate = usual;
            sent?;
            let dropped_here = self.dropped() - before;
            let passages = self.stream.as_ref().map_or(&[][..], |stream| stream.passages());
            search.observe(rate, Trial { passages, dropped_here });
        }
        Ok(search.conclude())
    }

    /// Returns the number of packets that the switch forwarded but this machine dropped, because
    /// its receive buffers were full.
    fn dropped(&self) -> u64 {
        self.stream.as_ref().map_or(0, PacketStream::dropped)
    }

    /// Deletes the entries of the flows.
    ///
    /// # Errors
    /// Returns an error if the switch does not delete them.
    pub(crate) async fn close(self, session: &mut Session) -> Result<(), DutError> {
        let deleted = match (session.channel(), self.entries) {
            (Channel::P4Runtime(channel), Entries::P4Runtime(mut entries)) => {
                entries.reverse();
                let mut control =
                    P4RuntimeControl::read(channel.client.clone(), Vec::new()).await?;
                control.carry_out(Operation::Delete, &entries).await
            }
            (Channel::OpenFlow(channel), Entries::OpenFlow(mut entries)) => {
                entries.reverse();
                OpenFlowControl::new(channel).carry_out(Operation::Delete, &entries).await
            }
            (Channel::P4Runtime(_) | Channel::OpenFlow(_), _) => Ok(()),
        };
        session.take_back(self.aside);
        deleted
    }
}

/// Inserts the entries `beside`, which the packets need on their way, and the entries of those
/// flows whose packets leave the switch. Returns all of them in the order of their insertion. If
/// the switch refuses one, deletes the others.
async fn inserted<C: Control>(
    control: &mut C,
    flows: &[&Flow<C::Entry>],
    beside: Vec<C::Entry>,
) -> Result<Vec<C::Entry>, DutError> {
    let leaving = flows.iter().filter(|flow| matches!(flow.inserted, Outcome::Leaves { .. }));
    let leaving: Vec<C::Entry> = leaving.map(|flow| flow.first.clone()).collect();
    for entries in [&beside, &leaving] {
        if let Err(error) = control.carry_out(Operation::Insert, entries).await {
            control.restore().await?;
            return Err(error);
        }
    }
    Ok([beside, leaving].concat())
}

/// Writes a series of requests. With `background`, sends its packets meanwhile and adds what became
/// of them to the result.
pub(crate) async fn beside(
    background: Option<&mut Background>,
    writing: impl Future<Output = Result<Phase, DutError>>,
) -> Result<Phase, DutError> {
    match background {
        None => writing.await,
        Some(background) => {
            let (phase, packets) = background.during(writing).await?;
            Ok(Phase { packets, ..phase })
        }
    }
}
