//! The bench on which requirements are tried. It is the primary controller of the device, and
//! records the entities that attempts have left there.

mod commits;
pub(crate) mod packets;
mod probing;
mod streams;
mod targets;

use protos::config;
use protos::v1::{
    self, get_forwarding_pipeline_config_request::ResponseType, stream_message_request,
    stream_message_response::Update as Message, update::Type, write_request::Atomicity,
};
use tonic::{Code, Status};

use crate::channel::{
    Channel, ConnectError, Exchange, Lost, Stream, TIMEOUT, Target, WriteAnswer, name, read_code,
};
use crate::demands::{Fault, Verdict, demand, lacks};
use crate::entities::{self, delete, of_entry};
use crate::means::Means;
use crate::requirements::Trial;
use crate::subject::{Subject, Table};

pub(crate) use self::targets::value_of;

/// Numbers that are added to the identifier of the judged device, one after the other, until the
/// sum is the identifier of no device of the server.
pub(crate) const OTHER_DEVICES: [u64; 3] = [0x10_0003, 0x7fff_ffff, 77];

/// The status codes that a requirement accepts for a refusal if the specification names none. The
/// list is empty, which stands for all codes but OK.
pub(crate) const REFUSED: &[Code] = &[];

impl From<Lost> for Fault {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost.0)
    }
}

/// The connection of the primary controller to the device, with a record of the entities that
/// requirements have left there.
pub(crate) struct Bench {
    target: Target,
    means: Means,
    /// The pipeline that an attempt has replaced, which must be committed again after the attempt.
    replaced: Option<v1::ForwardingPipelineConfig>,
    pub(crate) channel: Channel,
    /// The stream that keeps this client the primary controller; `None` after the connection was
    /// lost.
    primary: Option<Stream>,
    /// The election id of this client.
    election_id: u128,
    /// The highest election id that any client of the bench has used.
    highest: u128,
    pub(crate) subject: Subject,
    pub(crate) p4info: config::P4Info,
    /// The entities that the bench has inserted and not deleted.
    inserted: Vec<v1::Entity>,
    /// The keys of the entries that were in the device before the bench started.
    present: Vec<v1::TableEntry>,
    /// The number from which the next generated entry gets its values. It grows with each entry, so
    /// that all entries differ.
    next: u128,
    /// The identifiers of the tables whose entries the device accepts.
    usable: Vec<u32>,
    /// The names of the tables that refused a generated entry, each with the status code of the
    /// refusal.
    refused: Vec<(String, Code)>,
    /// The identifier of a device that the server does not have; `None` if none was found.
    unknown_device: Option<u64>,
    /// Whether an attempt opened streams of other clients, which may have displaced this one as the
    /// primary.
    has_rivals: bool,
}

impl Bench {
    pub(crate) fn open(target: &Target) -> Result<Self, ConnectError> {
        Self::with(target, Means::default())
    }

    pub(crate) fn with(target: &Target, means: Means) -> Result<Self, ConnectError> {
        let mut channel = Channel::open(target)?;
        let device_id = target.device_id;
        let refused = |cause: String| ConnectError::Arbitration { cause };
        // A client without election id is never the primary, so it displaces none (5.3).
        let (backup, standing) = arbitrate(&mut channel, device_id, None).map_err(refused)?;
        let (code, highest) = self::standing(&standing);
        if code == Code::AlreadyExists {
            return Err(ConnectError::Controlled { device_id, election_id: highest });
        }
        drop(backup);
        let election_id = highest.saturating_add(1);
        let (primary, standing) =
            arbitrate(&mut channel, device_id, Some(election_id)).map_err(refused)?;
        let status = standing.status.unwrap_or_default();
        if Code::from_i32(status.code) != Code::Ok {
            return Err(refused(status.message));
        }
        if let Some(config) = &means.pushed {
            let push = commits::commit(device_id, election_id, config.clone());
            let refused = |cause: String| ConnectError::Refused { device_id, cause };
            match channel.set_pipeline(push).map_err(|lost| refused(lost.0))? {
                Code::Ok => {}
                code => return Err(refused(name(code).to_owned())),
            }
        }
        let pipeline = channel.get_pipeline(v1::GetForwardingPipelineConfigRequest {
            device_id,
            response_type: ResponseType::P4infoAndCookie as i32,
        });
        let no_pipeline = |cause: String| ConnectError::NoPipeline { device_id, cause };
        let pipeline = pipeline.map_err(|lost| no_pipeline(lost.0))?;
        let pipeline = pipeline.map_err(|status| no_pipeline(status.message().to_owned()))?;
        let p4info = pipeline.p4info.ok_or_else(|| no_pipeline("it has no P4Info".to_owned()))?;
        let mut bench = Self {
            target: target.clone(),
            means,
            replaced: None,
            channel,
            primary: Some(primary),
            election_id,
            highest: election_id,
            subject: Subject::new(&p4info),
            p4info,
            inserted: Vec::new(),
            present: Vec::new(),
            next: 1,
            usable: Vec::new(),
            refused: Vec::new(),
            unknown_device: None,
            has_rivals: false,
        };
        let others = OTHER_DEVICES.map(|offset| device_id.wrapping_add(offset));
        bench.unknown_device = others
            .into_iter()
            .find(|other| matches!(bench.pipeline_code(*other), Ok(Code::NotFound)));
        // If the read fails, entries may collide, and the requirement on reads is broken.
        if let Ok(Ok(entries)) = bench.channel.read(bench.read_request(vec![all_entries(0)])) {
            bench.present = entries.into_iter().filter_map(table_entry).collect();
        }
        bench.try_tables();
        bench.clean();
        bench.channel.take_exchanges();
        Ok(bench)
    }

    /// Returns the version of P4Runtime that the device reports.
    pub(crate) fn version(&mut self) -> Option<String> {
        let answer = self.channel.capabilities(self.target.device_id);
        self.channel.take_exchanges();
        answer.ok()?.ok().map(|response| response.p4runtime_api_version)
    }

    pub(crate) fn device_id(&self) -> u64 {
        self.target.device_id
    }

    pub(crate) fn election_id(&self) -> u128 {
        self.election_id
    }

    /// Tries a requirement, and returns the verdict on it.
    pub(crate) fn attempt(&mut self, trial: &Trial) -> Verdict {
        if self.primary.is_none()
            && let Err(error) = self.reconnect()
        {
            return Verdict::Untried { why: error.to_string() };
        }
        match (trial.attempt)(self) {
            Ok(()) => Verdict::Met,
            Err(fault) => {
                if matches!(fault, Fault::Lost(_)) {
                    self.primary = None;
                }
                fault.into()
            }
        }
    }

    /// Connects again after the connection was lost.
    fn reconnect(&mut self) -> Result<(), ConnectError> {
        let again = Self::open(&self.target)?;
        let (inserted, next) = (std::mem::take(&mut self.inserted), self.next);
        let (means, replaced) = (std::mem::take(&mut self.means), self.replaced.take());
        *self = Self { inserted, next, means, replaced, ..again };
        Ok(())
    }

    /// Deletes the entities that an attempt has left, and becomes the primary again if another
    /// client is. Returns a description of each entity that could not be deleted. These calls are
    /// not added to the record.
    pub(crate) fn clean(&mut self) -> Vec<String> {
        let exchanges = self.channel.take_exchanges();
        let mut left = Vec::new();
        if std::mem::take(&mut self.has_rivals)
            && let Err(why) = self.become_primary()
        {
            left.push(why);
        }
        if let Some(config) = self.replaced.take()
            && let Err(why) = self.put_back(config)
        {
            left.push(why);
        }
        for entity in std::mem::take(&mut self.inserted).into_iter().rev() {
            let request = self.write_request(vec![delete(entity.clone())]);
            match self.channel.write(request) {
                Ok(answer) if matches!(answer.of(0), Code::Ok | Code::NotFound) => {}
                Ok(answer) => left.push(format!("{}: {}", name(answer.of(0)), text(&entity))),
                Err(lost) => left.push(format!("{lost}: {}", text(&entity))),
            }
        }
        self.channel.take_exchanges();
        self.channel.restore_exchanges(exchanges);
        left
    }

    /// Returns the recorded calls of the last attempt.
    pub(crate) fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.channel.take_exchanges()
    }

    /// Becomes the primary controller with an election id higher than all used so far.
    fn become_primary(&mut self) -> Result<(), String> {
        let election_id = self.next_election_id();
        let (primary, standing) =
            arbitrate(&mut self.channel, self.target.device_id, Some(election_id))?;
        let status = standing.status.unwrap_or_default();
        if Code::from_i32(status.code) != Code::Ok {
            return Err(format!(
                "the device does not make the client its primary again: {}",
                status.message
            ));
        }
        (self.primary, self.election_id) = (Some(primary), election_id);
        Ok(())
    }

    /// Returns an election id that is higher than all that clients of the bench have used.
    pub(crate) fn next_election_id(&mut self) -> u128 {
        self.highest = self.highest.saturating_add(1);
        self.highest
    }

    /// Returns the first table that satisfies `fits`. Without one, returns the fault that the
    /// device lacks `what`.
    pub(crate) fn table(&self, what: &str, fits: impl Fn(&Table) -> bool) -> Result<Table, Fault> {
        let found = self.subject.tables.iter().find(|table| fits(table));
        found.cloned().ok_or_else(|| lacks(what))
    }

    /// Returns the first table that satisfies `fits` among those whose entries the device accepts.
    pub(crate) fn open_table(
        &self,
        what: &str,
        fits: impl Fn(&Table) -> bool,
    ) -> Result<Table, Fault> {
        self.table(what, |table| self.usable.contains(&table.id) && fits(table))
    }

    /// Returns the first table whose entries the device accepts.
    pub(crate) fn any_open_table(&self) -> Result<Table, Fault> {
        self.open_table("table that takes entries with numbers as values", |_| true)
    }

    /// Returns an entry whose key differs from those of all other entries of the table.
    pub(crate) fn entry(&mut self, table: &Table) -> v1::TableEntry {
        loop {
            let entry = entities::entry(table, self.next);
            self.next += 1;
            let is_present = self.present.iter().any(|other| {
                (other.table_id, other.priority) == (entry.table_id, entry.priority)
                    && other.r#match == entry.r#match
            });
            if !is_present {
                return entry;
            }
        }
    }

    /// Returns a Write request of the primary controller.
    pub(crate) fn write_request(&self, updates: Vec<v1::Update>) -> v1::WriteRequest {
        v1::WriteRequest {
            device_id: self.target.device_id,
            election_id: Some(of_number(self.election_id)),
            updates,
            atomicity: Atomicity::ContinueOnError as i32,
            ..Default::default()
        }
    }

    /// Returns a Read request for entities.
    pub(crate) fn read_request(&self, entities: Vec<v1::Entity>) -> v1::ReadRequest {
        v1::ReadRequest { device_id: self.target.device_id, entities, ..Default::default() }
    }

    /// Sends a Write request, and records which entities the device has afterwards.
    pub(crate) fn write(&mut self, request: v1::WriteRequest) -> Result<WriteAnswer, Fault> {
        let updates = request.updates.clone();
        let answer = self.channel.write(request)?;
        for (index, update) in updates.into_iter().enumerate() {
            let Some(entity) = update.entity else { continue };
            // Some updates of a batch that failed without details may have been accepted.
            let may_be = answer.updates.is_empty() && answer.code == Code::Unknown;
            let is_accepted = answer.of(index) == Code::Ok || may_be;
            match Type::try_from(update.r#type) {
                Ok(Type::Insert) if is_accepted => self.inserted.push(entity),
                Ok(Type::Delete) if is_accepted && answer.is_ok() => {
                    self.inserted.retain(|other| *other != entity);
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// Writes updates as the primary, and demands that the device accepts them.
    pub(crate) fn accept(&mut self, updates: Vec<v1::Update>) -> Result<(), Fault> {
        let request = self.write_request(updates);
        let answer = self.write(request)?;
        demand(answer.is_ok(), || {
            let codes: Vec<_> = answer.updates.iter().map(|code| name(*code)).collect();
            match codes.is_empty() {
                true => format!("the device refused a valid Write with {}", name(answer.code)),
                false => format!("the device refused a valid Write: {}", codes.join(", ")),
            }
        })
    }

    /// Writes updates as another client, which has this election id, and demands that the device
    /// accepts them.
    pub(crate) fn accept_of(
        &mut self,
        election_id: u128,
        updates: Vec<v1::Update>,
    ) -> Result<(), Fault> {
        let election_id = Some(of_number(election_id));
        let request = v1::WriteRequest { election_id, ..self.write_request(updates) };
        let answer = self.write(request)?;
        demand_code(answer.of(0), &[Code::Ok])
    }

    /// Writes one update, and demands that the device refuses it with one of these codes.
    pub(crate) fn refuse(&mut self, update: v1::Update, codes: &[Code]) -> Result<(), Fault> {
        let request = self.write_request(vec![update]);
        let answer = self.write(request)?;
        demand_code(answer.of(0), codes)
    }

    /// Reads entities, and demands that the device returns them.
    pub(crate) fn read(&mut self, entities: Vec<v1::Entity>) -> Result<Vec<v1::Entity>, Fault> {
        let request = self.read_request(entities);
        let answer = self.channel.read(request)?;
        answer.map_err(|status| {
            let code = name(read_code(&status));
            Fault::Broken(format!("the device refused a valid Read with {code}"))
        })
    }

    /// Reads entities, and demands that the device answers with one of these codes.
    pub(crate) fn refuse_read(
        &mut self,
        entities: Vec<v1::Entity>,
        codes: &[Code],
    ) -> Result<(), Fault> {
        let request = self.read_request(entities);
        let answer = self.channel.read(request)?;
        demand_code(answer.map_or_else(|status| read_code(&status), |_| Code::Ok), codes)
    }

    /// Reads the entry that has the same key as `entry`. Returns `None` if the table has no such
    /// entry.
    pub(crate) fn find(&mut self, entry: &v1::TableEntry) -> Result<Option<v1::TableEntry>, Fault> {
        let wanted = v1::TableEntry {
            table_id: entry.table_id,
            r#match: entry.r#match.clone(),
            priority: entry.priority,
            is_default_action: entry.is_default_action,
            ..Default::default()
        };
        let found = self.read(vec![of_entry(&wanted)])?;
        Ok(found.into_iter().find_map(table_entry))
    }

    /// Returns the default entry of a table.
    pub(crate) fn default_entry(&mut self, table: &Table) -> Result<v1::TableEntry, Fault> {
        let wanted =
            v1::TableEntry { table_id: table.id, is_default_action: true, ..Default::default() };
        let mut found = self.read(vec![of_entry(&wanted)])?;
        demand(found.len() == 1, || {
            format!("the device returned {} default entries of a table", found.len())
        })?;
        found.pop().and_then(table_entry).ok_or_else(|| {
            Fault::Broken("the device returned another entity for a default entry".to_owned())
        })
    }

    /// Returns an identifier that no device of the server has.
    pub(crate) fn unknown_device(&self) -> Result<u64, Fault> {
        self.unknown_device.ok_or_else(|| {
            Fault::NotApplicable("every device identifier seems to exist".to_owned())
        })
    }

    /// Returns the status code with which the server answers a request for the pipeline of a
    /// device.
    pub(crate) fn pipeline_code(&mut self, device_id: u64) -> Result<Code, Fault> {
        let request = v1::GetForwardingPipelineConfigRequest {
            device_id,
            response_type: ResponseType::CookieOnly as i32,
        };
        let answer = self.channel.get_pipeline(request)?;
        Ok(answer.map_or_else(|status| status.code(), |_| Code::Ok))
    }

    /// Demands that the device refuses a whole Write request, because its election id is not that
    /// of the primary.
    pub(crate) fn refuse_writer(
        &mut self,
        election_id: Option<u128>,
        updates: Vec<v1::Update>,
    ) -> Result<(), Fault> {
        let election_id = election_id.map(of_number);
        let request = v1::WriteRequest { election_id, ..self.write_request(updates) };
        let answer = self.write(request)?;
        demand_code(answer.code, &[Code::PermissionDenied])
    }

    /// Demands that the table contains this entry, with the same action.
    pub(crate) fn holds(&mut self, entry: &v1::TableEntry) -> Result<(), Fault> {
        let found = self.find(entry)?;
        demand(found.as_ref().is_some_and(|found| found.action == entry.action), || match found {
            None => "the entry is not in the table afterwards".to_owned(),
            Some(_) => "the entry has another action afterwards".to_owned(),
        })
    }

    /// Demands that the table contains no entry with the same key as `entry`.
    pub(crate) fn holds_no(&mut self, entry: &v1::TableEntry) -> Result<(), Fault> {
        let found = self.find(entry)?;
        demand(found.is_none(), || "the entry is in the table afterwards".to_owned())
    }
}

/// Demands that a status code is one of `wanted`. If `wanted` is [`REFUSED`], demands any code but
/// OK.
pub(crate) fn demand_code(found: Code, wanted: &[Code]) -> Result<(), Fault> {
    let is_wanted = if wanted.is_empty() { found != Code::Ok } else { wanted.contains(&found) };
    demand(is_wanted, || {
        if wanted.is_empty() {
            return "the device accepted what it has to refuse".to_owned();
        }
        let names: Vec<_> = wanted.iter().map(|code| name(*code)).collect();
        format!("the device answered {} where {} is demanded", name(found), names.join(" or "))
    })
}

/// Opens a stream, sends an arbitration request on it, and returns the device's answer.
fn arbitrate(
    channel: &mut Channel,
    device_id: u64,
    election_id: Option<u128>,
) -> Result<(Stream, v1::MasterArbitrationUpdate), String> {
    let update = arbitration(device_id, election_id);
    let first = v1::StreamMessageRequest { update: Some(update) };
    let stream = channel.open_stream(first).map_err(|lost| lost.0)?;
    let refused = |status: Status| {
        format!("the device refused the stream with {}: {}", name(status.code()), status.message())
    };
    let mut stream = stream.map_err(refused)?;
    loop {
        match channel.receive(&mut stream, TIMEOUT) {
            None => return Err("the device did not answer the arbitration".to_owned()),
            Some(Err(status)) => return Err(refused(status)),
            Some(Ok(message)) => {
                if let Some(Message::Arbitration(update)) = message.update {
                    return Ok((stream, update));
                }
            }
        }
    }
}

/// Returns the arbitration request of a client of the default role.
pub(crate) fn arbitration(
    device_id: u64,
    election_id: Option<u128>,
) -> stream_message_request::Update {
    arbitration_of(device_id, None, election_id)
}

/// Returns the arbitration request of a client of this role.
pub(crate) fn arbitration_of(
    device_id: u64,
    role: Option<v1::Role>,
    election_id: Option<u128>,
) -> stream_message_request::Update {
    stream_message_request::Update::Arbitration(v1::MasterArbitrationUpdate {
        device_id,
        role,
        election_id: election_id.map(of_number),
        status: None,
    })
}

/// Returns the status code and the election id in an answer to an arbitration request.
pub(crate) fn standing(update: &v1::MasterArbitrationUpdate) -> (Code, u128) {
    let code = update.status.as_ref().map_or(Code::Ok, |status| Code::from_i32(status.code));
    (code, update.election_id.map_or(0, number))
}

/// Returns the entity that, in a Read request, selects all entries of a table, or of all tables if
/// the identifier is 0.
pub(crate) fn all_entries(table_id: u32) -> v1::Entity {
    of_entry(&v1::TableEntry { table_id, ..Default::default() })
}

pub(crate) fn table_entry(entity: v1::Entity) -> Option<v1::TableEntry> {
    match entity.entity {
        Some(v1::entity::Entity::TableEntry(entry)) => Some(entry),
        _ => None,
    }
}

pub(crate) fn of_number(id: u128) -> v1::Uint128 {
    v1::Uint128 { high: (id >> 64) as u64, low: id as u64 }
}

pub(crate) fn number(id: v1::Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

fn text(entity: &v1::Entity) -> String {
    protos::text("p4.v1.Entity", entity)
}

fn no_stream() -> String {
    "the stream of the primary is closed".to_owned()
}
