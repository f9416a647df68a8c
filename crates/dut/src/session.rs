//! The session of a measurement: the control channel of the switch, and the entries that the
//! measurement has left in the switch.

mod openflow;
mod p4runtime;

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::openflow::Version;
use ::p4runtime::client::ClientTls;
use controllers::openflow::ServerTls;
use measuring::tcp::Addresses;

use crate::entries::{EntryFile, EntryMaker, OwnFile, key};
use crate::entry_number::{EntryNumber, Variant};
use crate::error::DutError;
use crate::flows::{FlowMatch, OwnFlows};
use crate::loaded_table::LoadedTable;
use crate::sustained::trial::Trial;
use crate::transport::Evidence;
use crate::transport::sampler::Sampler;
use crate::watch::Watch;
use crate::window::{BatchAtomicity, Operation, Phase, Refusal, Sent, Shape, Work};

pub(crate) use self::openflow::{CountRequest, OpenFlowChannel, Reply, refused};
pub(crate) use self::p4runtime::{
    P4RuntimeChannel, Stream, read_entities, refused_write, take_messages, wire, write_updates,
};

/// The number of flows that are made for tests which do not use those of a file.
const LENT: u64 = 10_000;
/// The time to wait for a further connection of an OpenFlow switch. Open vSwitch tries again at
/// intervals of up to 8 s.
const CONNECTS: Duration = Duration::from_secs(15);
/// The number of updates in one request of [`Session::restore`].
const RESTORED: usize = 100;

/// A device that is to be measured over P4Runtime.
#[derive(Clone, Debug)]
pub struct Device {
    /// The address of the P4Runtime server, as `host:port`.
    pub address: String,
    /// The device at the server.
    pub device_id: u64,
    /// The TLS identity and roots. `None` connects without TLS.
    pub tls: Option<ClientTls>,
}

/// The place at which an OpenFlow switch connects, and the flows that are made for it.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The address that is listened on. With port 0 the system chooses a port.
    pub address: SocketAddr,
    /// The versions that are offered to the switch; both if there is none.
    pub versions: Vec<Version>,
    /// The certificates for TLS and mutual TLS; `None` for plain TCP.
    pub tls: Option<ServerTls>,
    /// The fields that flows match.
    pub matching: FlowMatch,
    /// The flows of a file, which the tests of the table use instead of made ones.
    pub flows: Option<Arc<OwnFlows>>,
}

/// The control channel of a switch.
pub(crate) enum Channel {
    P4Runtime(Box<P4RuntimeChannel>),
    OpenFlow(Box<OpenFlowChannel>),
}

impl Channel {
    /// Returns the addresses of the connections over which the requests of the next series are sent.
    fn addresses(&self) -> Vec<Addresses> {
        match self {
            Self::P4Runtime(channel) => channel.addresses(),
            Self::OpenFlow(channel) => channel.addresses(),
        }
    }
}

/// A trial that was made.
pub(crate) struct Tried {
    pub(crate) trial: Trial,
    /// The share of the schedule's time during which this thread ran.
    pub(crate) busy: f64,
    /// What TCP showed of the connection; `None` if the kernel does not tell.
    pub(crate) transport: Option<Evidence>,
}

/// A session with the measured switch.
pub(crate) struct Session {
    channel: Channel,
    /// The number of entries that the table had before the measurement.
    present: usize,
    /// The entries that can be inserted: none of them is in the table before the measurement.
    numbers: Vec<EntryNumber>,
    /// The entries that tests may write which do not use those of the file; `None` if they write
    /// the same.
    lendable: Option<Vec<EntryNumber>>,
    /// The entries of this measurement that may be in the table.
    owned: BTreeSet<EntryNumber>,
    /// The largest number of entries that are used of a table.
    most: u64,
    /// The tables that did not have as many entries as before when another one was turned to.
    differences: Vec<Difference>,
}

/// A table with another number of entries than before the measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The name of the table.
    pub(crate) table: String,
    /// The number of entries that were added; negative if entries are missing.
    pub(crate) more: i64,
}

/// The entries for a load: those with which the table is filled beforehand, and those that can be
/// inserted then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) filled: Vec<EntryNumber>,
    pub(crate) free: Vec<EntryNumber>,
}

/// The entries of a session before some of them were set aside.
pub(crate) struct Aside {
    numbers: Vec<EntryNumber>,
    /// The number of entries in the table of the session that were set aside.
    count: usize,
}

impl Session {
    /// Connects to a P4Runtime switch, and prepares entries of a table: the one with the given name
    /// or alias, or the largest suitable one. At most `entries` entries are used. With a file, its
    /// entries are used.
    ///
    /// # Errors
    /// See [`DutError`].
    pub(crate) async fn over_p4runtime(
        device: &Device,
        table: Option<&str>,
        own: Option<&dyn EntryFile>,
        entries: u64,
    ) -> Result<Self, DutError> {
        let mut channel = P4RuntimeChannel::open(device, table, own).await?;
        let present = channel.keys().await?;
        let numbers = channel.maker().absent(entries, &present)?;
        let present = present.len();
        Ok(Self::of(Channel::P4Runtime(Box::new(channel)), present, numbers, entries))
    }

    /// Waits for an OpenFlow switch, and prepares flows of its first table. At most `entries` flows
    /// are used.
    ///
    /// # Errors
    /// See [`DutError`].
    pub(crate) fn over_openflow(
        listening: &Listening,
        entries: u64,
        stop: &AtomicBool,
        watch: &mut dyn Watch,
    ) -> Result<Self, DutError> {
        let channel = OpenFlowChannel::open(listening, stop, watch)?;
        let present = channel.present();
        let own = channel.own_numbers()?;
        let made = channel.absent(if own.is_some() { LENT } else { entries });
        let (numbers, lendable) = match own {
            Some(own) => (own, Some(made)),
            None => (made, None),
        };
        let session = Self::of(Channel::OpenFlow(Box::new(channel)), present, numbers, entries);
        Ok(Self { lendable, ..session })
    }

    /// Creates the session of a channel whose table has `present` entries. The entries `numbers` can
    /// be inserted into that table, and at most `most` entries are used of any table.
    fn of(channel: Channel, present: usize, numbers: Vec<EntryNumber>, most: u64) -> Self {
        let (owned, differences) = (BTreeSet::new(), Vec::new());
        Self { channel, present, numbers, lendable: None, owned, most, differences }
    }

    /// Turns to another table of a P4Runtime switch, after the entries of this measurement are
    /// removed from the present one. Returns the maker of the entries until now.
    ///
    /// # Errors
    /// Returns an error if a request fails as a whole.
    pub(crate) async fn turn_to(&mut self, maker: EntryMaker) -> Result<EntryMaker, DutError> {
        let more = self.restore().await?;
        let Channel::P4Runtime(channel) = &mut self.channel else { return Ok(maker) };
        let before = channel.turn_to(maker);
        if more != 0 {
            self.differences.push(Difference { table: before.table().name.clone(), more });
        }
        let present = channel.keys().await?;
        self.numbers = channel.maker().absent(self.most, &present)?;
        self.present = present.len();
        Ok(before)
    }

    /// Returns the tables that did not have as many entries as before when another one was turned
    /// to.
    pub(crate) fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// Returns the answer with which the switch refuses an atomicity that it does not implement;
    /// `None` if it implements it.
    pub(crate) async fn refusal_of(
        &mut self,
        atomicity: BatchAtomicity,
    ) -> Result<Option<Refusal>, DutError> {
        let lent = self.lend(2);
        match (&mut self.channel, lent.as_slice()) {
            (Channel::P4Runtime(channel), [one, other]) => {
                channel.refusal_of(atomicity, [*one, *other]).await
            }
            (Channel::P4Runtime(_) | Channel::OpenFlow(_), _) => Ok(None),
        }
    }

    /// Connects controllers until there are `count`: primaries of further roles over P4Runtime,
    /// further connections of the switch over OpenFlow. Returns why the switch does not take one of
    /// them; `None` if it takes all.
    pub(crate) async fn connect(
        &mut self,
        count: usize,
        stop: &AtomicBool,
    ) -> Result<Option<Refusal>, DutError> {
        let tried = match count {
            0 | 1 => return Ok(None),
            _ => self.lend(1).first().copied().ok_or_else(|| self.too_few("controllers", 1))?,
        };
        match &mut self.channel {
            Channel::P4Runtime(channel) => channel.connect_others(count, tried).await,
            Channel::OpenFlow(channel) => channel.accept_others(count, CONNECTS, stop),
        }
    }

    /// Lets `count` of the connected controllers send the requests of the next series.
    pub(crate) fn activate(&mut self, count: usize) {
        match &mut self.channel {
            Channel::P4Runtime(channel) => channel.activate(count),
            Channel::OpenFlow(channel) => channel.activate(count),
        }
    }

    /// Ends the connections of all controllers but the first.
    pub(crate) fn disconnect_others(&mut self) {
        match &mut self.channel {
            Channel::P4Runtime(channel) => channel.disconnect_others(),
            Channel::OpenFlow(channel) => channel.disconnect_others(),
        }
    }

    /// Returns the control channel.
    pub(crate) fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Returns the number of entries that the table can have as far as the switch says.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.channel {
            Channel::P4Runtime(channel) => channel.maker().table().size,
            Channel::OpenFlow(channel) => channel.size(),
        }
    }

    /// Returns the table of the session.
    pub(crate) fn loaded_table(&self) -> LoadedTable {
        let (name, kind) = match &self.channel {
            Channel::P4Runtime(channel) => {
                (channel.maker().table().name.clone(), channel.maker().kind())
            }
            Channel::OpenFlow(channel) => (channel.table().to_string(), None),
        };
        LoadedTable { name, kind, size: self.size() }
    }

    /// Returns the file whose entries are used; `None` for made entries.
    pub(crate) fn own_file(&self) -> Option<OwnFile> {
        match &self.channel {
            Channel::P4Runtime(channel) => channel.maker().own_file(),
            Channel::OpenFlow(channel) => channel.own_file(),
        }
    }

    /// Returns the error for a test that needs `least` entries or more, which the table cannot
    /// have, or the file does not.
    pub(crate) fn too_few(&self, test: &'static str, least: usize) -> DutError {
        match self.own_file() {
            Some(OwnFile { name: file, .. }) => {
                DutError::TooFew { file, count: self.numbers.len(), test, least }
            }
            None => DutError::NoRules,
        }
    }

    /// Returns the number of entries that the table had before the measurement.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    /// Returns the entries that can be inserted.
    pub(crate) fn numbers(&self) -> &[EntryNumber] {
        &self.numbers
    }

    /// Writes updates of entries, of which the switch refuses each on its own.
    pub(crate) async fn write(
        &mut self,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Phase, DutError> {
        self.write_with(BatchAtomicity::ContinueOnError, work, shape, stop).await
    }

    /// Writes updates of entries in requests with an atomicity, which OpenFlow does not have.
    pub(crate) async fn write_with(
        &mut self,
        atomicity: BatchAtomicity,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Phase, DutError> {
        let Work { operation, numbers, .. } = work;
        if operation == Operation::Insert {
            // Also those whose answer is never seen.
            self.owned.extend(numbers);
        }
        // A single request does not wait behind others, so no side limits its rate.
        let sampler = match numbers.len() > work.batch {
            true => self.look_at_connections(),
            false => None,
        };
        let Sent { mut phase, unsent } = match &mut self.channel {
            Channel::P4Runtime(channel) => channel.send(work, shape, atomicity, stop).await?,
            Channel::OpenFlow(channel) => channel.send(work, shape, stop)?,
        };
        phase.transport = sampler.and_then(Sampler::end);
        if operation == Operation::Insert {
            self.disown(&unsent);
        }
        if operation == Operation::Delete {
            self.disown(&phase.accepted);
        }
        Ok(phase)
    }

    /// Returns the number of accepted entries that an OpenFlow switch still does not list after a
    /// second. Such a switch reports only errors, so a lost entry shows in no answer. Returns
    /// `None` for P4Runtime, where the answer covers every update.
    pub(crate) fn missing(&mut self) -> Result<Option<u64>, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(_) => Ok(None),
            Channel::OpenFlow(channel) => channel.missing().map(Some),
        }
    }

    /// Returns the entries that can be inserted without exceeding the declared size of the table. A
    /// tenth of the size is left free.
    pub(crate) fn within_size(&self) -> &[EntryNumber] {
        let fits = self.size().map_or(usize::MAX, |size| {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            (size - size / 10).saturating_sub(self.present)
        });
        self.numbers.get(..fits).unwrap_or(&self.numbers)
    }

    /// Returns the entries with which the table is filled to `occupancy` percent, and those that
    /// can be inserted then. The percentage is that of the declared size, or of the entries that
    /// the measurement may use if they are fewer. A tenth of the size is left free, unless the
    /// table is filled to more than 80 %: then as many entries can be inserted as are a tenth of
    /// the size.
    pub(crate) fn room(&self, occupancy: u8) -> Room {
        let share = |size: usize, percent: u8| {
            size / 100 * usize::from(percent) + size % 100 * usize::from(percent) / 100
        };
        let usable = self.present.saturating_add(self.numbers.len());
        let size = self.size().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        let whole = size.map_or(usable, |size| size.min(usable));
        let filled = share(whole, occupancy).saturating_sub(self.present);
        let most = occupancy.saturating_add(10).clamp(90, 100);
        let end = size.map_or(usable, |size| share(size, most)).saturating_sub(self.present);
        let end = end.min(self.numbers.len());
        let (filled, free) = self.numbers[..end].split_at(filled.min(end));
        Room { filled: filled.to_vec(), free: free.to_vec() }
    }

    /// Begins to look at the connections over which the requests of the next series are sent.
    pub(crate) fn look_at_connections(&self) -> Option<Sampler> {
        Sampler::start(self.channel.addresses())
    }

    /// Makes a trial with entries of this session. If `stop` is set, no further request is sent.
    pub(crate) async fn run(&mut self, trial: Trial, stop: &AtomicBool) -> Result<Tried, DutError> {
        // Any of them may be in the table when a request fails.
        self.owned.extend(&self.numbers);
        let sampler = self.look_at_connections();
        let (trial, busy) = match &mut self.channel {
            Channel::P4Runtime(channel) => channel.run(trial, stop).await?,
            Channel::OpenFlow(channel) => channel.run(trial, stop)?,
        };
        Ok(Tried { trial, busy, transport: sampler.and_then(Sampler::end) })
    }

    /// Returns the number of entries that the table has too many or too few, when it should have
    /// `own` entries of this measurement. An OpenFlow switch has a second to list its flows.
    pub(crate) async fn wrong(&mut self, own: usize) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => Ok(channel.count().await?.abs_diff(self.present + own)),
            Channel::OpenFlow(channel) => {
                Ok(usize::try_from(channel.missing()?).unwrap_or(usize::MAX))
            }
        }
    }

    /// Deletes all entries of this measurement that may be in the table.
    pub(crate) async fn empty(&mut self) -> Result<(), DutError> {
        let owned: Vec<EntryNumber> = self.owned.iter().copied().collect();
        let never = AtomicBool::new(false);
        let shape = Shape { window: 4, time: None };
        // Entries that the switch had refused are not there to be deleted.
        let work = Work { operation: Operation::Delete, numbers: &owned, batch: RESTORED };
        self.write(work, shape, &never).await?;
        self.owned.clear();
        Ok(())
    }

    /// Returns up to `count` entries that the switch does not have, which a test writes without
    /// this session. They are deleted when the switch is restored.
    pub(crate) fn lend(&mut self, count: usize) -> Vec<EntryNumber> {
        let lendable = self.lendable.as_ref().unwrap_or(&self.numbers);
        let lent: Vec<EntryNumber> = lendable.iter().take(count).copied().collect();
        self.owned.extend(&lent);
        lent
    }

    /// Sets entries aside that another part of the measurement has inserted into a P4Runtime switch,
    /// given by table and key. Until they are taken back, they count as present, and no test
    /// writes them.
    pub(crate) fn set_keys_aside(&mut self, keys: &[(u32, Vec<u8>)]) -> Aside {
        let numbers = self.numbers.clone();
        let Channel::P4Runtime(channel) = &self.channel else { return Aside { numbers, count: 0 } };
        let maker = channel.maker();
        let table = u32::from(maker.table().id);
        let own: HashSet<&[u8]> =
            keys.iter().filter(|(of, _)| *of == table).map(|(_, key)| key.as_slice()).collect();
        if !own.is_empty() {
            self.numbers.retain(|number| {
                !own.contains(key(&maker.entry(*number, Variant::First)).as_slice())
            });
        }
        self.present += own.len();
        Aside { numbers, count: own.len() }
    }

    /// Sets aside `count` flows that another part of the measurement has inserted into an OpenFlow
    /// switch. Those in `taken` are flows of this session.
    pub(crate) fn set_flows_aside(&mut self, taken: &HashSet<EntryNumber>, count: usize) -> Aside {
        let numbers = self.numbers.clone();
        self.numbers.retain(|number| !taken.contains(number));
        self.present += count;
        if let Channel::OpenFlow(channel) = &mut self.channel {
            channel.set_aside(count);
        }
        Aside { numbers, count }
    }

    /// Takes entries back, after they were deleted.
    pub(crate) fn take_back(&mut self, aside: Aside) {
        self.numbers = aside.numbers;
        self.present = self.present.saturating_sub(aside.count);
        if let Channel::OpenFlow(channel) = &mut self.channel {
            channel.take_back(aside.count);
        }
    }

    fn disown(&mut self, numbers: &[EntryNumber]) {
        for number in numbers {
            self.owned.remove(number);
        }
    }

    /// Reads all entries of the table, and returns their number.
    pub(crate) async fn read(&mut self) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => Ok(channel.count().await?),
            Channel::OpenFlow(channel) => channel.read(),
        }
    }

    /// Returns whether the table of a P4Runtime switch has direct counters, which are read apart from
    /// its entries. The statistics of OpenFlow have both.
    pub(crate) fn has_counters(&self) -> bool {
        match &self.channel {
            Channel::P4Runtime(channel) => channel.has_counters(),
            Channel::OpenFlow(_) => false,
        }
    }

    /// Reads the direct counters of all entries of the table, and returns their number.
    pub(crate) async fn read_counters(&mut self) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => channel.count_counters().await,
            Channel::OpenFlow(_) => Ok(0),
        }
    }

    /// Removes the entries of this measurement from the switch. Returns how many entries the table
    /// has more than before the measurement, which is negative if it has fewer.
    ///
    /// # Errors
    /// Returns an error if a request fails as a whole.
    pub(crate) async fn restore(&mut self) -> Result<i64, DutError> {
        self.empty().await?;
        match &mut self.channel {
            Channel::P4Runtime(channel) => {
                let after = channel.count().await?;
                let before = i64::try_from(self.present).unwrap_or(0);
                Ok(i64::try_from(after).unwrap_or(i64::MAX) - before)
            }
            Channel::OpenFlow(channel) => channel.difference(),
        }
    }
}
