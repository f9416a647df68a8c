//! The session of a measurement: the control channel of the switch, and the entries that the
//! measurement has left in the switch.

mod openflow;
mod p4runtime;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use ::openflow::Version;
use ::p4runtime::client::ClientTls;

use crate::entries::EntryNumber;
use crate::error::DutError;
use crate::flows::FlowMatch;
use crate::live;
use crate::watch::Watch;
use crate::window::{Operation, Phase, Shape, Work};

pub(crate) use self::openflow::{OpenFlowChannel, Reply, refused};
pub(crate) use self::p4runtime::{P4RuntimeChannel, read_entities, refused_write, write_updates};

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
    /// The fields that flows match.
    pub matching: FlowMatch,
}

/// The switch that is measured.
#[derive(Clone, Debug)]
pub enum Target {
    /// A P4Runtime switch.
    P4Runtime {
        /// The device.
        device: Device,
        /// The table that is measured, by its name or alias; `None` for the largest suitable one.
        table: Option<String>,
        /// The packets of the test of effects; `None` if the plan does not have it.
        traffic: Option<Box<live::Traffic>>,
    },
    /// An OpenFlow switch, which connects to this program.
    OpenFlow {
        /// The place at which it connects, and the flows.
        listening: Listening,
        /// The ports for packets of the tests of effects and of the slow path; `None` if the plan
        /// has neither.
        ports: Option<live::Ports>,
    },
}

/// The control channel of a switch.
pub(crate) enum Channel {
    P4Runtime(Box<P4RuntimeChannel>),
    OpenFlow(Box<OpenFlowChannel>),
}

/// A session with the measured switch.
pub(crate) struct Session {
    channel: Channel,
    /// The number of entries that the table had before the measurement.
    present: usize,
    /// The entries that can be inserted: none of them is in the table before the measurement.
    numbers: Vec<EntryNumber>,
    /// The entries of this measurement that may be in the table.
    owned: BTreeSet<EntryNumber>,
}

impl Session {
    /// Connects to a switch, or waits for it, and prepares entries of the table that is measured.
    /// At most `entries` entries are used.
    ///
    /// # Errors
    /// See [`DutError`].
    pub(crate) async fn open(
        target: &Target,
        entries: u64,
        stop: &AtomicBool,
        watch: &mut dyn Watch,
    ) -> Result<Self, DutError> {
        let (channel, present, numbers) = match target {
            Target::P4Runtime { device, table, .. } => {
                let mut channel = P4RuntimeChannel::open(device, table.as_deref()).await?;
                let present = channel.read().await?;
                let numbers = channel.maker().absent(entries, &present);
                (Channel::P4Runtime(Box::new(channel)), present.len(), numbers)
            }
            Target::OpenFlow { listening, .. } => {
                let channel = OpenFlowChannel::open(listening, stop, watch)?;
                let (present, numbers) = (channel.present(), channel.absent(entries));
                (Channel::OpenFlow(Box::new(channel)), present, numbers)
            }
        };
        Ok(Self { channel, present, numbers, owned: BTreeSet::new() })
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

    /// Returns the number of entries that the table had before the measurement.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    /// Returns the entries that can be inserted.
    pub(crate) fn numbers(&self) -> &[EntryNumber] {
        &self.numbers
    }

    /// Writes updates of entries.
    pub(crate) async fn write(
        &mut self,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Phase, DutError> {
        let Work { operation, numbers, batch } = work;
        if operation == Operation::Insert {
            // Also those whose answer is never seen.
            self.owned.extend(numbers);
        }
        let (phase, sent) = match &mut self.channel {
            Channel::P4Runtime(channel) => channel.send(work, shape, stop).await?,
            Channel::OpenFlow(channel) => channel.send(work, shape, stop)?,
        };
        if operation == Operation::Insert {
            let unsent = numbers.get(sent.saturating_mul(batch.max(1))..).unwrap_or_default();
            self.disown(unsent);
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

    /// Returns up to `count` entries that the switch does not have, which a test writes without
    /// this session. They are deleted when the switch is restored.
    pub(crate) fn lend(&mut self, count: usize) -> Vec<EntryNumber> {
        let lent: Vec<EntryNumber> = self.numbers.iter().take(count).copied().collect();
        self.owned.extend(&lent);
        lent
    }

    fn disown(&mut self, numbers: &[EntryNumber]) {
        for number in numbers {
            self.owned.remove(number);
        }
    }

    /// Reads all entries of the table, and returns their number.
    pub(crate) async fn read(&mut self) -> Result<usize, DutError> {
        match &mut self.channel {
            Channel::P4Runtime(channel) => Ok(channel.read().await?.len()),
            Channel::OpenFlow(channel) => channel.read(),
        }
    }

    /// Removes the entries of this measurement from the switch. Returns how many entries the table
    /// has more than before the measurement, which is negative if it has fewer.
    ///
    /// # Errors
    /// Returns an error if a request fails as a whole.
    pub(crate) async fn restore(&mut self) -> Result<i64, DutError> {
        let owned: Vec<EntryNumber> = self.owned.iter().copied().collect();
        let never = AtomicBool::new(false);
        let shape = Shape { window: 4, time: None };
        // Entries that the switch had refused are not there to be deleted.
        let work = Work { operation: Operation::Delete, numbers: &owned, batch: RESTORED };
        self.write(work, shape, &never).await?;
        self.owned.clear();
        match &mut self.channel {
            Channel::P4Runtime(channel) => {
                let after = channel.read().await?.len();
                let before = i64::try_from(self.present).unwrap_or(0);
                Ok(i64::try_from(after).unwrap_or(i64::MAX) - before)
            }
            Channel::OpenFlow(channel) => channel.difference(),
        }
    }
}
