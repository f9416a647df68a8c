//! Tests of the specification's rules on one device, without a network.

mod arbitration;
mod config;
mod entities;
mod loading;
mod log;
mod notifications;
mod packets;

use std::sync::Arc;

use crate::status::Code;
use bytes::Bytes;

use super::*;
use crate::{
    arbitration::ElectionId,
    p4info::text,
    proto::{
        config::P4Info,
        v1::{entity::Entity as Kind, update::Type as UpdateType},
    },
};

const DEVICE: u64 = 3;
const TABLE: u32 = 0x0200_0001;
const OTHER_TABLE: u32 = 0x0200_0002;
const FORWARD: u32 = 0x0100_0001;
const COUNTER: u32 = 0x1200_0001;
const DIGEST: u32 = 0x1700_0001;
const T0: Nanos = Nanos(1_000_000_000);

/// The messages of a response, and the outcome of each entity of the request.
type Answered = (Vec<v1::ReadResponse>, Vec<Result<(), EntityError>>);

const P4INFO: &str = r#"
    pkg_info { arch: "v1model" }
    tables {
      preamble { id: 0x02000001 name: "ingress.hosts" alias: "hosts" }
      match_fields { id: 1 name: "address" bitwidth: 32 match_type: EXACT }
      action_refs { id: 0x01000001 }
      size: 100000
      idle_timeout_behavior: NOTIFY_CONTROL
    }
    tables {
      preamble { id: 0x02000002 name: "ingress.routes" alias: "routes" }
      match_fields { id: 1 name: "address" bitwidth: 32 match_type: EXACT }
      action_refs { id: 0x01000001 }
      size: 16
    }
    actions {
      preamble { id: 0x01000001 name: "ingress.forward" alias: "forward" }
      params { id: 1 name: "port" bitwidth: 9 }
    }
    counters {
      preamble { id: 0x12000001 name: "ingress.hits" alias: "hits" }
      spec { unit: BOTH } size: 3
    }
    digests {
      preamble { id: 0x17000001 name: "learn" alias: "learn" }
      type_spec { bitstring { bit { bitwidth: 48 } } }
    }
    controller_packet_metadata {
      preamble { id: 0x04000001 name: "packet_in" alias: "packet_in" }
      metadata { id: 1 name: "ingress_port" bitwidth: 9 }
      metadata { id: 2 name: "_pad" bitwidth: 7 }
    }
    controller_packet_metadata {
      preamble { id: 0x04000002 name: "packet_out" alias: "packet_out" }
      metadata { id: 1 name: "egress_port" bitwidth: 9 }
      metadata { id: 2 name: "_pad" bitwidth: 7 }
    }
"#;

fn p4info() -> P4Info {
    text::parse(P4INFO).expect("valid text")
}

/// Returns the P4Info without one of its tables, which makes it a different pipeline.
fn p4info_without(table: u32) -> P4Info {
    let mut p4info = p4info();
    let keep = |one: &crate::proto::config::Table| {
        one.preamble.as_ref().is_some_and(|preamble| preamble.id != table)
    };
    p4info.tables.retain(keep);
    p4info
}

fn id(number: u128) -> Option<v1::Uint128> {
    Some(ElectionId(number).into())
}

fn arbitration(role: &str, election_id: Option<v1::Uint128>) -> v1::MasterArbitrationUpdate {
    v1::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: (!role.is_empty()).then(|| v1::Role { name: role.to_owned(), ..Default::default() }),
        election_id,
        status: None,
    }
}

fn request(update: Request) -> v1::StreamMessageRequest {
    v1::StreamMessageRequest { update: Some(update) }
}

fn pipeline(p4info: P4Info, cookie: u64) -> v1::ForwardingPipelineConfig {
    v1::ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: Bytes::from_static(b"device"),
        cookie: Some(v1::forwarding_pipeline_config::Cookie { cookie }),
    }
}

fn host(table_id: u32, address: u8, port: u8) -> v1::Entity {
    let exact = v1::field_match::Exact { value: vec![10, 0, 0, address].into() };
    let field = v1::FieldMatch {
        field_id: 1,
        field_match_type: Some(v1::field_match::FieldMatchType::Exact(exact)),
    };
    let param = v1::action::Param { param_id: 1, value: vec![port].into() };
    let action = v1::Action { action_id: FORWARD, params: vec![param] };
    let entry = v1::TableEntry {
        table_id,
        r#match: vec![field],
        action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
        ..Default::default()
    };
    v1::Entity { entity: Some(Kind::TableEntry(entry)) }
}

fn table(table_id: u32) -> v1::Entity {
    let entry = v1::TableEntry { table_id, ..Default::default() };
    v1::Entity { entity: Some(Kind::TableEntry(entry)) }
}

fn insert(entity: v1::Entity) -> v1::Update {
    v1::Update { r#type: UpdateType::Insert as i32, entity: Some(entity) }
}

/// A device, with short forms of the operations on it.
struct Switch {
    device: Device,
    effects: Vec<Effect>,
}

impl Switch {
    fn new(options: DeviceOptions) -> Self {
        let device = Device::new(DEVICE, options, Arc::new(PipelineRegistry::new()));
        Self { device, effects: Vec::new() }
    }

    /// Creates a device with a primary on stream 1, election id 1 and a committed pipeline.
    fn ready(options: DeviceOptions) -> Self {
        let mut switch = Self::new(options);
        switch.arbitrate(1, "", 1);
        switch.commit(pipeline(p4info(), 1)).expect("committed");
        switch.effects.clear();
        switch
    }

    fn arbitrate(&mut self, stream: u64, role: &str, number: u128) {
        self.message(stream, Request::Arbitration(arbitration(role, id(number))));
    }

    fn message(&mut self, stream: u64, update: Request) {
        self.device.stream_message(StreamId(stream), request(update), &mut self.effects);
    }

    fn set(
        &mut self,
        action: v1::set_forwarding_pipeline_config_request::Action,
        config: Option<v1::ForwardingPipelineConfig>,
    ) -> Result<(), Code> {
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: id(1),
            action: action as i32,
            config,
            ..Default::default()
        };
        let outcome = self.device.set_pipeline(request, T0, &mut self.effects);
        outcome.map_err(|error| error.code())
    }

    fn commit(&mut self, config: v1::ForwardingPipelineConfig) -> Result<(), Code> {
        use v1::set_forwarding_pipeline_config_request::Action;
        self.set(Action::VerifyAndCommit, Some(config))
    }

    fn write(&mut self, updates: Vec<v1::Update>) -> Result<Vec<Code>, Code> {
        self.write_as("", 1, updates)
    }

    fn write_as(
        &mut self,
        role: &str,
        number: u128,
        updates: Vec<v1::Update>,
    ) -> Result<Vec<Code>, Code> {
        self.write_request(&v1::WriteRequest {
            device_id: DEVICE,
            role: role.to_owned(),
            election_id: id(number),
            updates,
            ..Default::default()
        })
    }

    fn write_request(&mut self, request: &v1::WriteRequest) -> Result<Vec<Code>, Code> {
        let code =
            |outcome: Result<(), EntityError>| outcome.map_or_else(|e| e.code(), |()| Code::Ok);
        match self.device.write(request, T0) {
            Ok(outcomes) => Ok(outcomes.into_iter().map(code).collect()),
            Err(error) => Err(error.code()),
        }
    }

    fn read(&self, role: &str, entities: Vec<v1::Entity>) -> Result<Vec<v1::Entity>, Code> {
        let request = v1::ReadRequest { device_id: DEVICE, role: role.to_owned(), entities };
        let (responses, outcomes) = self.answer(request).map_err(|error| error.code())?;
        for result in outcomes {
            if let Err(error) = result {
                return Err(error.code());
            }
        }
        Ok(responses.into_iter().flat_map(|response| response.entities).collect())
    }

    fn answer(&self, request: v1::ReadRequest) -> Result<Answered, EntityError> {
        Ok(self.device.read(request, T0)?.into_whole())
    }

    /// Returns the messages that were sent since the last call, with their streams.
    fn sent(&mut self) -> Vec<(u64, Response)> {
        let sent = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send { to, message } => Some((to.0, message.update.clone()?)),
            _ => None,
        });
        let sent = sent.collect();
        self.effects.clear();
        sent
    }

    /// Returns the streams that were closed since the last call, with code and message.
    fn closed(&mut self) -> Vec<(u64, Code, String)> {
        let closed = self.effects.iter().filter_map(|effect| match effect {
            Effect::Close { stream, error } => {
                Some((stream.0, error.code(), error.message().to_owned()))
            }
            _ => None,
        });
        let closed = closed.collect();
        self.effects.clear();
        closed
    }
}
