//! A session with a device. It holds the pipeline in which names are looked up, and what its
//! commands must remember.

use crate::device::Device;
use crate::error::{CommandError, DeviceError};
use crate::handles::Handles;
use crate::nodes::Nodes;
use entities::Code;
use p4runtime::p4info::Schema;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{self, entity::Entity as Kind, update::Type};
use protos::trace::Trace;
use serde_json::Value;
use std::sync::Arc;

/// A result of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// An entity of the device.
    Entity(Box<v1::Entity>),
    /// The trace of an injected packet.
    Trace {
        /// The trace message of the injected packet.
        trace: Box<Trace>,
        /// Whether all values are shown, in addition to tables and actions.
        has_values: bool,
    },
    /// A result of any other kind.
    Fact {
        /// The result as text for people.
        text: String,
        /// The result as JSON for programs.
        json: Value,
    },
}

/// The receiver of results. Each result is passed to it as soon as it is available.
pub(crate) type Sink<'s> = dyn FnMut(Item) + 's;

/// The largest number of updates in one request.
const BATCH: usize = 500;

/// A session with a device.
pub struct Session<'d> {
    pub(crate) device: &'d mut dyn Device,
    schema: Option<Arc<Schema>>,
    /// Whether requests are shown instead of sent (a dry run).
    pub(crate) is_dry: bool,
    /// The requests that a dry run has to show, and that have not been passed to a receiver yet.
    pub(crate) shown: Vec<Item>,
    pub(crate) handles: Handles,
    pub(crate) nodes: Nodes,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("device", &self.device.id()).finish_non_exhaustive()
    }
}

impl<'d> Session<'d> {
    /// Starts a session, and reads the pipeline of the device.
    ///
    /// # Errors
    /// Returns an error if the device does not report its pipeline.
    pub fn new(device: &'d mut dyn Device, is_dry: bool) -> Result<Self, CommandError> {
        let mut session = Self {
            device,
            schema: None,
            is_dry,
            shown: Vec::new(),
            handles: Handles::default(),
            nodes: Nodes::default(),
        };
        session.learn_pipeline()?;
        Ok(session)
    }

    /// Reads the device's pipeline again, after it has changed.
    pub(crate) fn learn_pipeline(&mut self) -> Result<(), CommandError> {
        let p4info = self.device.pipeline()?;
        self.schema = p4info.map(checked).transpose()?;
        self.handles = Handles::default();
        Ok(())
    }

    /// Returns the pipeline of the device.
    ///
    /// # Errors
    /// Returns an error if the device has none.
    pub fn schema(&self) -> Result<Arc<Schema>, CommandError> {
        self.schema.clone().ok_or(CommandError::NoPipeline)
    }

    /// Returns the pipeline of the device, or `None` if the device has none.
    #[must_use]
    pub fn known_schema(&self) -> Option<&Schema> {
        self.schema.as_deref()
    }

    /// Reads the entities that a command reports as its result. In a dry run, the request is shown
    /// instead.
    pub(crate) fn query(
        &mut self,
        requests: Vec<v1::Entity>,
    ) -> Result<Vec<v1::Entity>, CommandError> {
        if self.is_dry {
            let (device_id, role) = (self.device.id(), self.device.role().to_owned());
            let request = v1::ReadRequest { device_id, role, entities: requests };
            self.show("p4.v1.ReadRequest", &request);
            return Ok(Vec::new());
        }
        self.read(requests)
    }

    /// Reads entities like [`Self::query`], and passes them to `sink` as the result.
    pub(crate) fn list(
        &mut self,
        requests: Vec<v1::Entity>,
        sink: &mut Sink<'_>,
    ) -> Result<(), CommandError> {
        let found = self.query(requests)?;
        found.into_iter().for_each(|found| sink(Item::Entity(Box::new(found))));
        Ok(())
    }

    /// Reads entities that a command needs in order to make its request. They are read even in a
    /// dry run.
    pub(crate) fn read(
        &mut self,
        requests: Vec<v1::Entity>,
    ) -> Result<Vec<v1::Entity>, CommandError> {
        Ok(self.device.read(&requests)?)
    }

    /// Reads entities like [`Self::read`], and returns those that `of` converts to the wanted type.
    pub(crate) fn read_as<T>(
        &mut self,
        request: impl Into<v1::Entity>,
        of: fn(Kind) -> Option<T>,
    ) -> Result<Vec<T>, CommandError> {
        let found = self.read(vec![request.into()])?;
        Ok(found.into_iter().filter_map(|found| found.entity.and_then(of)).collect())
    }

    /// Writes updates to the device, or shows them in a dry run.
    pub(crate) fn write_all(&mut self, updates: Vec<v1::Update>) -> Result<(), CommandError> {
        if self.is_dry {
            let (device_id, role) = (self.device.id(), self.device.role().to_owned());
            let request = v1::WriteRequest { device_id, role, updates, ..Default::default() };
            self.show("p4.v1.WriteRequest", &request);
            return Ok(());
        }
        for batch in updates.chunks(BATCH) {
            self.device.write(batch)?;
        }
        Ok(())
    }

    /// Writes one entity to the device, or shows the request in a dry run.
    pub(crate) fn write(
        &mut self,
        kind: Type,
        entity: impl Into<v1::Entity>,
    ) -> Result<(), CommandError> {
        self.write_all(vec![update(kind, entity)])
    }

    /// Inserts an entity, or modifies it if it exists.
    pub(crate) fn put(&mut self, entity: v1::Entity) -> Result<(), CommandError> {
        match self.write(Type::Insert, entity.clone()) {
            Err(CommandError::Device(error)) if error.has_code(Code::AlreadyExists) => {
                self.write(Type::Modify, entity)
            }
            outcome => outcome,
        }
    }

    /// Deletes entities from the device, or shows the request in a dry run.
    pub(crate) fn delete_all(
        &mut self,
        entities: impl Iterator<Item = v1::Entity>,
    ) -> Result<(), CommandError> {
        let updates: Vec<v1::Update> =
            entities.map(|entity| update(Type::Delete, entity)).collect();
        if updates.is_empty() { Ok(()) } else { self.write_all(updates) }
    }

    /// Adds a request to those that the dry run shows. `name` is the full name of its message type.
    pub(crate) fn show<M: prost::Message>(&mut self, name: &'static str, request: &M) {
        let text = format!("{name} {{{}}}", protos::text(name, request));
        let json = serde_json::json!({ "request": name, "text": protos::text(name, request) });
        self.shown.push(Item::Fact { text, json });
    }
}

/// Returns an update that inserts, modifies or deletes an entity.
pub(crate) fn update(kind: Type, entity: impl Into<v1::Entity>) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(entity.into()) }
}

fn checked(p4info: P4Info) -> Result<Arc<Schema>, CommandError> {
    Schema::new(p4info).map_err(|error| {
        CommandError::Device(DeviceError::Unsupported(format!(
            "the P4Info of its pipeline is wrong: {error}"
        )))
    })
}
