//! The session of a measurement: the connection as the only primary controller, and the entries
//! that the measurement has left in the switch.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions, ClientTls, Standing, StreamReceiver, StreamSender};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, get_forwarding_pipeline_config_request::ResponseType,
};

use crate::entries::{EntryMaker, EntryNumber};
use crate::error::DutError;
use crate::window::{Operation, PATIENCE, Phase, Request, Shape, send};

/// The number of updates in one request of [`Session::restore`].
const RESTORED: usize = 100;

/// A device that is to be measured.
#[derive(Clone, Debug)]
pub struct Device {
    /// The address of the P4Runtime server, as `host:port`.
    pub address: String,
    /// The device at the server.
    pub device_id: u64,
    /// The TLS identity and roots. `None` connects without TLS.
    pub tls: Option<ClientTls>,
}

/// A connection to the measured switch, as its only primary controller.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// The stream that keeps this client the primary as long as it is open.
    _stream: (StreamSender, StreamReceiver),
    maker: EntryMaker,
    version: Option<String>,
    /// The number of entries that the table had before the measurement.
    present: usize,
    /// The entries that can be inserted: none of them is in the table before the measurement.
    numbers: Vec<EntryNumber>,
    /// The entries of this measurement that may be in the table.
    owned: BTreeSet<EntryNumber>,
}

impl Session {
    /// Connects to a switch, becomes its primary controller, and prepares entries of a table: the
    /// one with the given name, or the largest suitable one. At most `entries` entries are used.
    ///
    /// # Errors
    /// See [`DutError`]. A switch that has another primary controller is not disturbed.
    pub(crate) async fn open(
        device: &Device,
        table: Option<&str>,
        entries: u64,
    ) -> Result<Self, DutError> {
        let options = ClientOptions { tls: device.tls.clone(), ..ClientOptions::default() };
        let connected = Client::connect(&device.address, device.device_id, &options).await;
        let mut client = connected.map_err(|error| DutError::Connect {
            address: device.address.clone(),
            cause: error.to_string(),
        })?;
        let highest = spectate(&mut client).await?;
        let own = ElectionId(highest.map_or(1, |ElectionId(highest)| highest.saturating_add(1)));
        let stream = client.become_primary("", own, PATIENCE).await?;
        // Servers before P4Runtime 1.1 do not know the request.
        let version = client.capabilities().await.ok();
        let config = client.get_pipeline(ResponseType::P4infoAndCookie).await;
        let p4info = config.map(|config| config.p4info);
        let p4info = p4info.map_err(|status| status.message().to_owned());
        let p4info = p4info.and_then(|found| found.ok_or_else(|| "it has no P4Info".to_owned()));
        let p4info =
            p4info.map_err(|cause| DutError::NoPipeline { device_id: device.device_id, cause })?;
        let schema = Schema::new(p4info).map_err(|error| DutError::Schema(error.to_string()))?;
        let maker = EntryMaker::new(schema.objects(), table)?;
        let mut session = Self {
            client,
            _stream: stream,
            maker,
            version,
            present: 0,
            numbers: Vec::new(),
            owned: BTreeSet::new(),
        };
        let present = session.read().await?;
        session.present = present.len();
        session.numbers = session.maker.absent(entries, &present);
        Ok(session)
    }

    /// Returns the maker of the entries of this measurement.
    pub(crate) fn maker(&self) -> &EntryMaker {
        &self.maker
    }

    /// Returns the version of P4Runtime that the switch implements; `None` if it does not say so.
    pub(crate) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the number of entries that the table had before the measurement.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    /// Returns the entries that can be inserted.
    pub(crate) fn numbers(&self) -> &[EntryNumber] {
        &self.numbers
    }

    /// Writes updates of entries in requests of `batch` updates each.
    pub(crate) async fn write(
        &mut self,
        (operation, numbers): (Operation, &[EntryNumber]),
        batch: usize,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Phase, DutError> {
        let request = |numbers: &[EntryNumber]| Request {
            numbers: numbers.to_vec(),
            updates: numbers.iter().map(|one| self.maker.update(*one, operation)).collect(),
        };
        let requests: Vec<Request> = numbers.chunks(batch.max(1)).map(request).collect();
        if operation == Operation::Insert {
            // Also those whose answer is never seen.
            self.owned.extend(numbers);
        }
        let (phase, sent) = send(&self.client, requests, shape, stop).await?;
        if operation == Operation::Insert {
            let unsent = numbers.get(sent.saturating_mul(batch.max(1))..).unwrap_or_default();
            self.disown(unsent);
        }
        if operation == Operation::Delete {
            self.disown(&phase.accepted);
        }
        Ok(phase)
    }

    /// Returns the entries that can be inserted without exceeding the declared size of the table. A
    /// tenth of the size is left free.
    pub(crate) fn within_size(&self) -> &[EntryNumber] {
        let fits = self.maker.table().size.map_or(usize::MAX, |size| {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            (size - size / 10).saturating_sub(self.present)
        });
        self.numbers.get(..fits).unwrap_or(&self.numbers)
    }

    fn disown(&mut self, numbers: &[EntryNumber]) {
        for number in numbers {
            self.owned.remove(number);
        }
    }

    /// Returns all entries of the table.
    pub(crate) async fn read(&mut self) -> Result<Vec<v1::TableEntry>, DutError> {
        let selected =
            v1::TableEntry { table_id: self.maker.table().id.into(), ..Default::default() };
        let selected = v1::Entity { entity: Some(Kind::TableEntry(selected)) };
        let answer = tokio::time::timeout(PATIENCE, self.client.read(vec![selected])).await;
        let answer = answer.map_err(|_| DutError::NoAnswer { what: "Read", patience: PATIENCE })?;
        let entities = answer.map_err(|status| DutError::Request {
            what: "Read",
            cause: format!("{} ({:?})", status.message(), status.code()),
        })?;
        let entries = entities.into_iter().filter_map(|entity| match entity.entity {
            // The default entry is no entry that was inserted.
            Some(Kind::TableEntry(entry)) if !entry.is_default_action => Some(entry),
            _ => None,
        });
        Ok(entries.collect())
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
        self.write((Operation::Delete, &owned), RESTORED, shape, &never).await?;
        self.owned.clear();
        let after = self.read().await?.len();
        Ok(i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(self.present).unwrap_or(0))
    }
}

/// Finds out whether the device has a primary controller, by a stream without an election id, which
/// cannot displace the primary (P4Runtime 1.5, section 5.3). Returns the highest election id that
/// the switch has seen; `None` if it has seen none.
///
/// # Errors
/// Returns an error if there is a primary, if there is no such device, or if the switch does not
/// answer.
async fn spectate(client: &mut Client) -> Result<Option<ElectionId>, DutError> {
    let device_id = client.device_id();
    let ask = async {
        let (_sender, mut receiver) = client.open_stream("", None, None).await?;
        receiver.arbitrated().await
    };
    match tokio::time::timeout(PATIENCE, ask).await {
        Err(_) => Err(DutError::NoAnswer { what: "StreamChannel", patience: PATIENCE }),
        Ok(Err(status)) if status.code() == tonic::Code::NotFound => {
            Err(DutError::NoDevice { device_id, cause: status.message().to_owned() })
        }
        Ok(Err(status)) => Err(DutError::Request {
            what: "StreamChannel",
            cause: format!("{} ({:?})", status.message(), status.code()),
        }),
        Ok(Ok(Standing::Backup { highest })) => Err(DutError::Controlled { device_id, highest }),
        Ok(Ok(Standing::NoPrimary { highest })) => Ok(highest),
        Ok(Ok(Standing::Primary)) => Ok(None),
    }
}
