//! Faults of a device, made by changing its answers on their way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use made_server::Faults;
use prost::Message as _;
use protos::roles::RoleConfig;
use protos::rpc;
use protos::v1::forwarding_pipeline_config::Cookie;
use protos::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType as Match, p4_data,
    set_forwarding_pipeline_config_request::Action, stream_message_request::Update as Request,
    stream_message_response::Update as Message, table_action, update::Type,
};
use tonic::{Code, Status};

/// A fault of a device, made by changing its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distortion {
    /// Refusals are changed to acceptances.
    AcceptsAll,
    /// Refusals have another status code.
    OtherCodes,
    /// Refusals lack the status codes of single updates.
    NoDetails,
    /// Reads return nothing.
    ReadsNothing,
    /// Reads return entities without their data.
    ReadsLess,
    /// Reads return the entities that were asked for and one more.
    ReadsMore,
    /// Streams have other codes, and end with others.
    OtherStreams,
    /// Streams bring nothing but what they begin with.
    SilentStreams,
    /// Pipelines are returned with other parts.
    OtherPipelines,
    /// A committed pipeline keeps the entries.
    KeepsTables,
    /// A reconciled pipeline has no entries.
    ClearsTables,
    /// Packet-ins lack a metadata field.
    LosesPacketInMetadata,
    /// All controllers receive packet-ins, digests and idle notifications.
    SendsToAll,
    /// Packet-outs with wrong metadata are corrected instead of dropped.
    MendsPacketOuts,
    /// Roles without a configuration have access to nothing.
    RestrictsRoles,
    /// The configurations of roles are ignored.
    ForgetsRoleConfigs,
    /// After a packet-in, entries have other metadata, until any entity is deleted.
    ChangesEntriesByPackets,
    /// A packet-out with a metadata field twice ends the stream.
    EndsStreamsOnWrongPacketOuts,
    /// Idle notifications lack the timeout of the entry.
    LosesIdleTimeouts,
    /// Modifications lose the metadata of an entry.
    LosesMetadata,
    /// Matches that contain a field twice are accepted.
    AcceptsDoubles,
    /// The cells of counters keep their counts.
    IgnoresCounts,
    /// Cells of counters can be inserted.
    InsertsCells,
    /// A modification of an entry without counts sets them to 0.
    ForgetsDirectCounts,
    /// The counters of entries keep their counts.
    IgnoresDirectCounts,
    /// The cells of meters have no peak burst of their own.
    LosesPeaks,
    /// The cells of meters are not reset, but configured.
    ConfiguresResetMeters,
    /// The meters of entries are not reset, but configured.
    ConfiguresResetDirectMeters,
    /// The cells of registers keep the last byte of a value.
    CutsRegisters,
    /// Value sets lose a member.
    LosesSetMembers,
    /// Value sets that contain a member twice are accepted.
    AcceptsDoubleMembers,
    /// Digests have lists of another size.
    ChangesListSizes,
    /// Action sets lose their last action, if they have others.
    LosesSetActions,
    /// The meters of entries cannot be read by themselves.
    HidesDirectMeters,
    /// Idle timeouts are rounded to seconds.
    RoundsIdleTimeouts,
    /// Reads of entries return all entries of the table.
    FiltersNothing,
    /// A Read of the members of all profiles returns none.
    ReadsNoMembersOfAll,
}

impl Distortion {
    pub(super) const ALL: [Self; 15] = [
        Self::AcceptsAll,
        Self::OtherCodes,
        Self::NoDetails,
        Self::ReadsNothing,
        Self::ReadsLess,
        Self::ReadsMore,
        Self::OtherStreams,
        Self::OtherPipelines,
        Self::SilentStreams,
        Self::KeepsTables,
        Self::ClearsTables,
        Self::LosesPacketInMetadata,
        Self::SendsToAll,
        Self::MendsPacketOuts,
        Self::LosesIdleTimeouts,
    ];

    /// Changes an update.
    fn update(self, update: &mut v1::Update) {
        let is_modification = update.r#type() == Type::Modify;
        let Some(entity) = update.entity.as_mut().and_then(|entity| entity.entity.as_mut()) else {
            return;
        };
        match (self, entity) {
            (Self::LosesMetadata, Kind::TableEntry(entry)) if is_modification => {
                entry.metadata.clear();
            }
            (Self::AcceptsDoubles, Kind::TableEntry(entry)) => {
                entry.r#match.dedup_by_key(|field| field.field_id);
            }
            (Self::IgnoresCounts, Kind::CounterEntry(cell)) => cell.data = None,
            (Self::InsertsCells, Kind::CounterEntry(_)) => update.set_type(Type::Modify),
            (Self::ForgetsDirectCounts, Kind::TableEntry(entry))
                // The table `routes` of the program has a counter.
                if is_modification && entry.action.is_some() && is_lpm(entry) =>
            {
                entry.counter_data.get_or_insert_default();
            }
            (Self::IgnoresDirectCounts, Kind::DirectCounterEntry(counter)) => counter.data = None,
            (Self::LosesPeaks, Kind::MeterEntry(cell)) => {
                if let Some(config) = &mut cell.config {
                    config.pburst = config.cburst;
                }
            }
            (Self::ConfiguresResetMeters, Kind::MeterEntry(cell)) => {
                cell.config.get_or_insert_default();
            }
            (Self::ConfiguresResetDirectMeters, Kind::DirectMeterEntry(meter)) => {
                meter.config.get_or_insert_default();
            }
            (Self::CutsRegisters, Kind::RegisterEntry(cell)) => {
                let data = cell.data.as_mut().and_then(|data| data.data.as_mut());
                if let Some(p4_data::Data::Bitstring(value)) = data {
                    *value = value.slice(value.len().saturating_sub(1)..);
                }
            }
            (Self::LosesSetMembers, Kind::ValueSetEntry(set)) => drop(set.members.pop()),
            (Self::AcceptsDoubleMembers, Kind::ValueSetEntry(set)) => {
                let mut seen = Vec::new();
                set.members.retain(|member| {
                    let is_new = !seen.contains(member);
                    seen.push(member.clone());
                    is_new
                });
            }
            (Self::ChangesListSizes, Kind::DigestEntry(entry)) => {
                if let Some(config) = &mut entry.config {
                    config.max_list_size += 1;
                }
            }
            (Self::LosesSetActions, Kind::TableEntry(entry)) => {
                let action = entry.action.as_mut().and_then(|action| action.r#type.as_mut());
                if let Some(table_action::Type::ActionProfileActionSet(set)) = action
                    && set.action_profile_actions.len() > 1
                {
                    set.action_profile_actions.pop();
                }
            }
            (Self::RoundsIdleTimeouts, Kind::TableEntry(entry)) => {
                entry.idle_timeout_ns -= entry.idle_timeout_ns % 1_000_000_000;
            }
            _ => {}
        }
    }

    /// Changes the status of a refusal.
    fn answer<T: Default>(self, answer: Result<T, Status>) -> Result<T, Status> {
        match (self, answer) {
            (Self::AcceptsAll, Err(_)) => Ok(T::default()),
            (Self::OtherCodes, Err(status)) => Err(other_codes(&status)),
            (_, answer) => answer,
        }
    }
}

/// A proxy's fault, which tests exchange while connections are open.
#[derive(Debug, Default)]
pub(super) struct Exchangeable {
    distortion: Mutex<Option<Distortion>>,
    /// Whether a packet-in has been sent and no entity has been deleted since then.
    has_packets: AtomicBool,
}

impl Exchangeable {
    pub(super) fn set(&self, distortion: Option<Distortion>) {
        *self.distortion.lock().expect("no test panics with it") = distortion;
    }

    fn get(&self) -> Option<Distortion> {
        *self.distortion.lock().expect("no test panics with it")
    }
}

impl Faults for Exchangeable {
    fn write(&self, mut request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        let Some(distortion) = self.get() else { return Ok(request) };
        for update in &mut request.updates {
            distortion.update(update);
            if update.r#type() == Type::Delete {
                self.has_packets.store(false, Ordering::Relaxed);
            }
        }
        Ok(request)
    }

    fn written(&self, answer: Result<(), Status>) -> Result<(), Status> {
        match (self.get(), answer) {
            (Some(Distortion::NoDetails), Err(status)) => {
                Err(Status::new(status.code(), status.message()))
            }
            (Some(distortion), answer) => distortion.answer(answer),
            (None, answer) => answer,
        }
    }

    fn read(&self, mut request: v1::ReadRequest) -> v1::ReadRequest {
        let distortion = self.get();
        for entity in &mut request.entities {
            match (distortion, &mut entity.entity) {
                (Some(Distortion::FiltersNothing), Some(Kind::TableEntry(entry)))
                    if entry.r#match.is_empty() =>
                {
                    (entry.priority, entry.action) = (0, None);
                    entry.metadata.clear();
                }
                (
                    Some(Distortion::ReadsNoMembersOfAll),
                    Some(Kind::ActionProfileMember(member)),
                ) if member.action_profile_id == 0 => {
                    // No member has the number.
                    member.member_id = u32::MAX;
                }
                _ => {}
            }
        }
        request
    }

    fn entities(&self, answer: Result<Vec<v1::Entity>, Status>) -> Result<Vec<v1::Entity>, Status> {
        let Some(distortion) = self.get() else { return answer };
        match (distortion, distortion.answer(answer)) {
            (Distortion::ReadsNothing, Ok(_)) => Ok(Vec::new()),
            (Distortion::ReadsLess, Ok(entities)) => Ok(entities.into_iter().map(less).collect()),
            (Distortion::ChangesEntriesByPackets, Ok(mut entities))
                if self.has_packets.load(Ordering::Relaxed) =>
            {
                for entity in &mut entities {
                    if let Some(Kind::TableEntry(entry)) = &mut entity.entity {
                        entry.metadata = bytes::Bytes::from_static(b"changed");
                    }
                }
                Ok(entities)
            }
            (Distortion::HidesDirectMeters, Ok(mut entities)) => {
                let is_meter =
                    |entity: &v1::Entity| matches!(entity.entity, Some(Kind::DirectMeterEntry(_)));
                entities.retain(|entity| !is_meter(entity));
                Ok(entities)
            }
            (Distortion::ReadsMore, Ok(mut entities)) => {
                entities.push(v1::TableEntry { table_id: 1, ..Default::default() }.into());
                Ok(entities)
            }
            (_, answer) => answer,
        }
    }

    fn push(
        &self,
        mut request: v1::SetForwardingPipelineConfigRequest,
    ) -> v1::SetForwardingPipelineConfigRequest {
        match (self.get(), request.action()) {
            (Some(Distortion::KeepsTables), Action::VerifyAndCommit) => {
                request.set_action(Action::ReconcileAndCommit);
            }
            (Some(Distortion::ClearsTables), Action::ReconcileAndCommit) => {
                request.set_action(Action::VerifyAndCommit);
            }
            _ => {}
        }
        request
    }

    fn to_switch(&self, mut message: v1::StreamMessageRequest) -> Option<v1::StreamMessageRequest> {
        if let Some(Request::Arbitration(v1::MasterArbitrationUpdate {
            role: Some(role), ..
        })) = &mut message.update
        {
            match self.get() {
                Some(Distortion::RestrictsRoles) => {
                    role.config.get_or_insert_with(|| RoleConfig::default().to_any());
                }
                Some(Distortion::ForgetsRoleConfigs) => role.config = None,
                _ => {}
            }
        }
        if let (Some(Distortion::EndsStreamsOnWrongPacketOuts), Some(Request::Packet(packet))) =
            (self.get(), &message.update)
            && packet.metadata.windows(2).any(|pair| pair[0].metadata_id == pair[1].metadata_id)
        {
            // The device of a stream must not change.
            let update = v1::MasterArbitrationUpdate { device_id: u64::MAX, ..Default::default() };
            message.update = Some(Request::Arbitration(update));
            return Some(message);
        }
        if let (Some(Distortion::MendsPacketOuts), Some(Request::Packet(packet))) =
            (self.get(), &mut message.update)
        {
            // The program has the fields 1 and 2.
            let value = |id: u32| {
                let found = packet.metadata.iter().find(|field| field.metadata_id == id);
                found.map_or(bytes::Bytes::from_static(&[0]), |field| field.value.clone())
            };
            let fields = [1, 2].map(|id| v1::PacketMetadata { metadata_id: id, value: value(id) });
            packet.metadata = fields.to_vec();
        }
        Some(message)
    }

    fn is_for_all(&self, message: &v1::StreamMessageResponse) -> bool {
        self.get() == Some(Distortion::SendsToAll)
            && !matches!(message.update, Some(Message::Arbitration(_)))
    }

    fn pushed(&self, answer: Result<(), Status>) -> Result<(), Status> {
        match self.get() {
            Some(distortion) => distortion.answer(answer),
            None => answer,
        }
    }

    fn pipeline(
        &self,
        answer: Result<v1::GetForwardingPipelineConfigResponse, Status>,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, Status> {
        let Some(distortion) = self.get() else { return answer };
        match (distortion, distortion.answer(answer)) {
            (Distortion::OtherPipelines, Ok(mut response)) => {
                if let Some(config) = &mut response.config {
                    config.cookie = Some(Cookie { cookie: config.encoded_len() as u64 });
                }
                Ok(response)
            }
            (_, answer) => answer,
        }
    }

    fn capabilities(
        &self,
        answer: Result<v1::CapabilitiesResponse, Status>,
    ) -> Result<v1::CapabilitiesResponse, Status> {
        match self.get() {
            Some(Distortion::OtherPipelines) => Ok(v1::CapabilitiesResponse::default()),
            _ => answer,
        }
    }

    fn to_controller(
        &self,
        message: Result<v1::StreamMessageResponse, Status>,
    ) -> Option<Result<v1::StreamMessageResponse, Status>> {
        match (self.get(), message) {
            (Some(Distortion::SilentStreams), _) => None,
            (Some(Distortion::ChangesEntriesByPackets), Ok(message)) => {
                if let Some(Message::Packet(_)) = &message.update {
                    self.has_packets.store(true, Ordering::Relaxed);
                }
                Some(Ok(message))
            }
            (Some(Distortion::LosesPacketInMetadata), Ok(mut message)) => {
                if let Some(Message::Packet(packet)) = &mut message.update {
                    packet.metadata.pop();
                }
                Some(Ok(message))
            }
            (Some(Distortion::LosesIdleTimeouts), Ok(mut message)) => {
                if let Some(Message::IdleTimeoutNotification(told)) = &mut message.update {
                    told.table_entry.iter_mut().for_each(|entry| entry.idle_timeout_ns = 0);
                }
                Some(Ok(message))
            }
            (Some(Distortion::OtherStreams), Err(status)) => Some(Err(other_codes(&status))),
            (Some(Distortion::OtherStreams), Ok(mut message)) => {
                match &mut message.update {
                    Some(Message::Arbitration(update)) => {
                        let status = update.status.get_or_insert_default();
                        status.code = if status.code == 0 { Code::NotFound as i32 } else { 0 };
                    }
                    Some(Message::Error(error)) => error.canonical_code = Code::Internal as i32,
                    _ => {}
                }
                Some(Ok(message))
            }
            (_, message) => Some(message),
        }
    }
}

/// Returns whether an entry matches a prefix.
fn is_lpm(entry: &v1::TableEntry) -> bool {
    let mut kinds = entry.r#match.iter().filter_map(|field| field.field_match_type.as_ref());
    kinds.any(|kind| matches!(kind, Match::Lpm(_)))
}

/// Returns a status with the code INTERNAL in every place.
fn other_codes(status: &Status) -> Status {
    let mut details = rpc::Status::decode(status.details()).unwrap_or_default();
    for detail in &mut details.details {
        let mut error = v1::Error::decode(&*detail.value).unwrap_or_default();
        if error.canonical_code != 0 {
            error.canonical_code = Code::Internal as i32;
        }
        detail.value = error.encode_to_vec();
    }
    Status::with_details(Code::Internal, status.message(), details.encode_to_vec().into())
}

/// Returns an entity without its data.
fn less(entity: v1::Entity) -> v1::Entity {
    let kind = entity.entity.map(|kind| match kind {
        Kind::TableEntry(entry) => Kind::TableEntry(v1::TableEntry {
            table_id: entry.table_id,
            r#match: entry.r#match,
            ..Default::default()
        }),
        Kind::ActionProfileMember(member) => {
            Kind::ActionProfileMember(v1::ActionProfileMember { action: None, ..member })
        }
        Kind::ActionProfileGroup(group) => {
            Kind::ActionProfileGroup(v1::ActionProfileGroup { members: Vec::new(), ..group })
        }
        Kind::CounterEntry(entry) => Kind::CounterEntry(v1::CounterEntry { data: None, ..entry }),
        Kind::MeterEntry(entry) => Kind::MeterEntry(v1::MeterEntry { config: None, ..entry }),
        Kind::DigestEntry(entry) => Kind::DigestEntry(v1::DigestEntry { config: None, ..entry }),
        Kind::PacketReplicationEngineEntry(_) => {
            Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry::default())
        }
        other => other,
    });
    v1::Entity { entity: kind }
}
