//! The session of a measurement: the control channel to the switch, and the record of the entries
//! that the measurement has inserted into it.

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

/// The number of flows that are generated for tests that cannot use the flows of a user's file.
const LENT: u64 = 10_000;
/// The time to wait for another connection of an OpenFlow switch. Open vSwitch retries at intervals
/// of up to 8 s.
const CONNECTS: Duration = Duration::from_secs(15);
/// The number of updates in each request of [`Session::restore`].
const RESTORED: usize = 100;

/// A device that is to be measured over P4Runtime.
#[derive(Clone, Debug)]
pub struct Device {
    /// The address of the P4Runtime server, as `host:port`.
    pub address: String,
    /// The identifier of the device at the server.
    pub device_id: u64,
    /// The client's TLS identity and the trusted roots; `None` to connect without TLS.
    pub tls: Option<ClientTls>,
}

/// The address at which an OpenFlow switch is awaited, and the flows that are used with it.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The address to listen on. With port 0, the system chooses a port.
    pub address: SocketAddr,
    /// The OpenFlow versions that are offered to the switch; if empty, all supported versions.
    pub versions: Vec<Version>,
    /// The server's certificates, for TLS with client authentication; `None` for plain TCP.
    pub tls: Option<ServerTls>,
    /// The fields that generated flows match.
    pub matching: FlowMatch,
    /// The flows of a user's file, which the tests of the table use instead of generated ones.
    pub flows: Option<Arc<OwnFlows>>,
}

/// The control channel of a switch.
pub(crate) enum Channel {
    P4Runtime(Box<P4RuntimeChannel>),
    OpenFlow(Box<OpenFlowChannel>),
}

impl Channel {
    /// Returns the addresses of the TCP connections over which the next series of requests is sent.
    fn addresses(&self) -> Vec<Addresses> {
        match self {
            Self::P4Runtime(channel) => channel.addresses(),
            Self::OpenFlow(channel) => channel.addresses(),
        }
    }
}

/// The result of running a trial of the search for the sustained rate.
pub(crate) struct Tried {
    pub(crate) trial: Trial,
    /// The share of the schedule's duration in which this thread was running rather than waiting.
    pub(crate) busy: f64,
    /// The evidence from the TCP connections on which side limited the trial; `None` if the kernel
    /// does not report it.
    pub(crate) transport: Option<Evidence>,
}

/// A session with the measured switch.
pub(crate) struct Session {
    channel: Channel,
    /// The number of entries that the table had before the measurement.
    present: usize,
    /// The entries that tests may insert. None of them was in the table before the measurement.
    numbers: Vec<EntryNumber>,
    /// The entries for tests that cannot use those of a user's file; `None` if these tests use the
    /// entries in `numbers` too.
    lendable: Option<Vec<EntryNumber>>,
    /// The entries that this measurement has inserted, as far as they may still be in the table.
    owned: BTreeSet<EntryNumber>,
    /// The largest number of entries that the measurement uses in any table.
    most: u64,
    /// The tables that did not have their original number of entries again when the measurement
    /// moved on to another table.
    differences: Vec<Difference>,
}

/// A table that does not have its original number of entries again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The name of the table.
    pub(crate) table: String,
    /// The number of entries that the table has more than before the measurement; negative if it
    /// has fewer.
    pub(crate) more: i64,
}

/// The entries for a load of updates: those that are inserted beforehand to fill the table, and
/// those that the load may insert then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) filled: Vec<EntryNumber>,
    pub(crate) free: Vec<EntryNumber>,
}

/// The state of a session before entries were set aside with `set_keys_aside` or `set_flows_aside`.
/// It is needed to take them back.
pub(crate) struct Aside {
    numbers: Vec<EntryNumber>,
    /// The number of entries in the session's table that were set aside.
    count: usize,
}

impl Session {
    /// Connects to a P4Runtime switch and chooses the table to measure: the one with the given name
    /// or alias, or the largest suitable one. At most `entries` entries are used; they are those of
    /// the file `own` if there is one, and otherwise generated.
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

    /// Waits for an OpenFlow switch to connect, and prepares at most `entries` flows for one of its
    /// tables.
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

    /// Creates the session of a channel whose table already has `present` entries. The measurement
    /// may insert the entries `numbers` into that table, and uses at most `most` entries of any
    /// table.
    fn of(channel: Channel, present: usize, numbers: Vec<EntryNumber>, most: u64) -> Self {
        let (owned, differences) = (BTreeSet::new(), Vec::new());
        Self { channel, present, numbers, lendable: None, owned, most, differences }
    }

    /// Removes the entries of this measurement from the present table of a P4Runtime switch, and
    /// makes another table the one that is measured. Returns the maker of entries of the previous
    /// table.
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

    /// Returns the tables that did not have their original number of entries again when the
    /// measurement moved on to another table.
    pub(crate) fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// Tests whether the switch implements an atomicity of requests. Returns the answer with which
    /// the switch refuses it; `None` if it implements it.
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

    /// Connects further controllers until there are `count`: over P4Runtime, primaries of other
    /// roles; over OpenFlow, further connections of the switch. Returns the reason why the switch
    /// does not accept one of them; `None` if it accepts all.
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

    /// Sets the number of connected controllers that send the requests of the next series.
    pub(crate) fn activate(&mut self, count: usize) {
        match &mut self.channel {
            Channel::P4Runtime(channel) => channel.activate(count),
            Channel::OpenFlow(channel) => channel.activate(count),
        }
    }

    /// Disconnects all controllers except the first.
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

    /// Returns the number of entries that the table can hold, if the switch or its program declares
    /// it.
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

    /// Returns the user's file that the entries come from; `None` for generated entries.
    pub(crate) fn own_file(&self) -> Option<OwnFile> {
        match &self.channel {
            Channel::P4Runtime(channel) => channel.maker().own_file(),
            Channel::OpenFlow(channel) => channel.own_file(),
        }
    }

    /// Returns the error for a test that needs at least `least` entries, which the table cannot
    /// hold or the user's file does not have.
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

    /// Returns the entries that tests may insert.
    pub(crate) fn numbers(&self) -> &[EntryNumber] {
        &self.numbers
    }

    /// Writes updates of entries in several requests. If the switch refuses an update, the other
    /// updates of its request are carried out nevertheless.
    pub(crate) async fn write(
        &mut self,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Phase, DutError> {
        self.write_with(BatchAtomicity::ContinueOnError, work, shape, stop).await
    }

    /// Writes updates of entries in several requests with this atomicity. OpenFlow ignores the
    /// atomicity.
    pub(crate) async fn write_with(
        &mut self,
        atomicity: BatchAtomicity,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Phase, DutError> {
        let Work { operation, numbers, .. } = work;
        if operation == Operation::Insert {
            // An entry may be in the table even if the answer to its update is never seen.
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

    /// Returns the number of entries that an OpenFlow switch accepted but does not list even after
    /// a second. OpenFlow has no positive answer to a single flow-mod, so a lost entry shows only
    /// in this way. Returns `None` for P4Runtime, where the switch answers each update.
    pub(crate) fn missing(&mut self) -> Result<Option<u64>, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(_) => Ok(None),
            Channel::OpenFlow(channel) => channel.missing().map(Some),
        }
    }

    /// Returns the entries that can be inserted while a tenth of the table's declared size stays
    /// free.
    pub(crate) fn within_size(&self) -> &[EntryNumber] {
        let fits = self.size().map_or(usize::MAX, |size| {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            (size - size / 10).saturating_sub(self.present)
        });
        self.numbers.get(..fits).unwrap_or(&self.numbers)
    }

    /// Divides the entries of the session into those that fill the table to `occupancy` percent,
    /// and those that can be inserted after that. The percentage refers to the declared size of the
    /// table, or to the number of usable entries if that is less. A tenth of the size stays free.
    /// If the occupancy exceeds 80 %, less stays free, so that entries for a tenth of the size can
    /// still be inserted.
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

    /// Starts a thread that observes the TCP connections over which the next series of requests is
    /// sent.
    pub(crate) fn look_at_connections(&self) -> Option<Sampler> {
        Sampler::start(self.channel.addresses())
    }

    /// Runs a trial of the search for the sustained rate, with entries of this session. If `stop`
    /// is set, sends no further request.
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

    /// Returns by how many entries the table differs from what it should contain, namely `own`
    /// entries of this measurement in addition to those from before. An OpenFlow switch has a
    /// second to list its flows.
    pub(crate) async fn wrong(&mut self, own: usize) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => Ok(channel.count().await?.abs_diff(self.present + own)),
            Channel::OpenFlow(channel) => {
                Ok(usize::try_from(channel.wrong()?).unwrap_or(usize::MAX))
            }
        }
    }

    /// Deletes all entries of this measurement that may still be in the table.
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

    /// Returns up to `count` entries that are not in the switch, for a test that writes them
    /// through a channel of its own. `restore` deletes them if the test leaves them in the switch.
    pub(crate) fn lend(&mut self, count: usize) -> Vec<EntryNumber> {
        let lendable = self.lendable.as_ref().unwrap_or(&self.numbers);
        let lent: Vec<EntryNumber> = lendable.iter().take(count).copied().collect();
        self.owned.extend(&lent);
        lent
    }

    /// Sets entries aside that another part of the measurement has inserted into a P4Runtime
    /// switch. Each is given by its table and key. Until they are taken back, no test writes them,
    /// and they count as entries from before the measurement.
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

    /// Sets flows aside that another part of the measurement has inserted into an OpenFlow switch,
    /// `count` in all. Those in `taken` are among the flows of this session, and no test writes
    /// them until they are taken back.
    pub(crate) fn set_flows_aside(&mut self, taken: &HashSet<EntryNumber>, count: usize) -> Aside {
        let numbers = self.numbers.clone();
        self.numbers.retain(|number| !taken.contains(number));
        self.present += count;
        if let Channel::OpenFlow(channel) = &mut self.channel {
            channel.set_aside(count);
        }
        Aside { numbers, count }
    }

    /// Makes the entries available again that were set aside, after they were deleted from the
    /// switch.
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

    /// Reads all entries of the table. Returns how many there are.
    pub(crate) async fn read(&mut self) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => Ok(channel.count().await?),
            Channel::OpenFlow(channel) => channel.read(),
        }
    }

    /// Returns whether direct counters can be read separately from the table's entries. This is
    /// never so for OpenFlow, where the statistics of a flow contain both.
    pub(crate) fn has_counters(&self) -> bool {
        match &self.channel {
            Channel::P4Runtime(channel) => channel.has_counters(),
            Channel::OpenFlow(_) => false,
        }
    }

    /// Reads the direct counters of all entries of the table. Returns how many there are.
    pub(crate) async fn read_counters(&mut self) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => channel.count_counters().await,
            Channel::OpenFlow(_) => Ok(0),
        }
    }

    /// Removes the entries of this measurement from the switch. Returns how many entries the table
    /// has more than before the measurement; the number is negative if it has fewer.
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
