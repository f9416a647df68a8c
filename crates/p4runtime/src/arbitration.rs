//! Client arbitration of one device, which decides who may write, as a state machine without I/O.
//!
//! The rules are those of the P4Runtime specification 1.5, section "Client Arbitration and
//! Controller Replication". For every role the device remembers the highest election id that any
//! controller has shown. The controller that holds exactly this id is the primary. When the primary
//! leaves or lowers its id, no other controller is promoted: the role has no primary until a
//! controller shows an id at least as high.
//!
//! Controllers and roles are few, so both are plain vectors. For an emulated device with one
//! controller they take a few hundred bytes.

use std::fmt;

use crate::status::Code;
use prost_types::Any;
use thiserror::Error;

use crate::proto::{rpc, v1};

/// The maximum number of roles of a device. Their election ids are remembered for the lifetime of
/// the device, so a client could otherwise fill the memory with role names.
const MAX_ROLES: usize = 1024;

/// The identifier of a stream, assigned by the code that owns the connections. It is never reused
/// within a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// The 128-bit number by which controllers agree, outside P4Runtime, on the primary.
///
/// Zero is a valid id, the lowest one. A controller that must never become primary leaves the id
/// unset, which this crate represents as `Option::<ElectionId>::None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElectionId(pub u128);

impl From<&v1::Uint128> for ElectionId {
    fn from(id: &v1::Uint128) -> Self {
        Self(u128::from(id.high) << 64 | u128::from(id.low))
    }
}

impl From<ElectionId> for v1::Uint128 {
    #[expect(clippy::cast_possible_truncation, reason = "the halves of the number")]
    fn from(id: ElectionId) -> Self {
        Self { high: (id.0 >> 64) as u64, low: id.0 as u64 }
    }
}

impl fmt::Display for ElectionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The identity of a role: a group of controllers with a part of the control plane and a primary of
/// their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoleKey {
    /// The default role: full access to the pipeline.
    #[default]
    Default,
    /// A named role, as P4Runtime has them since 1.3.
    Named(String),
    /// A numbered role, as older controllers use it (`Role.id`, deprecated).
    Numbered(u64),
}

impl RoleKey {
    /// Returns the role that the two fields of a request identify. A name takes precedence over a
    /// number.
    #[must_use]
    pub fn new(name: &str, number: u64) -> Self {
        match (name, number) {
            ("", 0) => Self::Default,
            ("", number) => Self::Numbered(number),
            (name, _) => Self::Named(name.to_owned()),
        }
    }

    pub(crate) fn of(role: Option<&v1::Role>) -> Self {
        role.map_or(Self::Default, |role| Self::new(&role.name, role.id))
    }

    fn to_message(&self, config: Option<&Any>) -> Option<v1::Role> {
        let (name, id) = match self {
            Self::Default if config.is_none() => return None,
            Self::Default => (String::new(), 0),
            Self::Named(name) => (name.clone(), 0),
            Self::Numbered(number) => (String::new(), *number),
        };
        Some(v1::Role { id, name, config: config.cloned() })
    }
}

impl fmt::Display for RoleKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("the default role"),
            Self::Named(name) => write!(out, "role \"{name}\""),
            Self::Numbered(number) => write!(out, "role number {number}"),
        }
    }
}

/// The reason why an arbitration message ends its stream.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArbitrationError {
    /// The first message of a stream names a device that is not served.
    #[error("Device id {device_id} is not known to this server.")]
    UnknownDevice {
        /// The id that the message names.
        device_id: u64,
    },
    /// A message on an open stream names another device than the stream's first message.
    #[error("This stream belongs to device id {bound}; it cannot change to {requested}.")]
    DeviceChanged {
        /// The device that the stream's first message named.
        bound: u64,
        /// The id of the other device.
        requested: u64,
    },
    /// A message on an open stream names another role than the stream's first message.
    #[error("This stream belongs to {bound}; to change to {requested} open a new stream.")]
    RoleChanged {
        /// The role that the stream's first message named.
        bound: RoleKey,
        /// The other role, which this message names.
        requested: RoleKey,
    },
    /// Another open stream of the role holds the same election id.
    // Clients compare the first four words with this exact text.
    #[error("Election id already exists")]
    ElectionIdInUse,
    /// The role has reached the maximum number of open streams.
    #[error("{role} already has {limit} open streams, the most that this device allows.")]
    TooManyStreams {
        /// The role that has too many streams.
        role: RoleKey,
        /// The maximum number of open streams of a role.
        limit: usize,
    },
    /// The device already remembers the election ids of `MAX_ROLES` roles.
    #[error("The device already knows {MAX_ROLES} roles and accepts no further one.")]
    TooManyRoles,
}

impl ArbitrationError {
    /// Returns the status code with which the specification requires the stream to be closed.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::UnknownDevice { .. } => Code::NotFound,
            Self::DeviceChanged { .. } | Self::RoleChanged { .. } => Code::FailedPrecondition,
            Self::ElectionIdInUse => Code::InvalidArgument,
            Self::TooManyStreams { .. } | Self::TooManyRoles => Code::ResourceExhausted,
        }
    }
}

/// The reason why a unary request may not change the device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PermissionError {
    /// No controller has ever arbitrated for this role.
    #[error("The device knows no {0}; arbitrate for it on a stream first.")]
    UnknownRole(RoleKey),
    /// The request carries no election id, so it cannot come from a primary.
    #[error("The request has no election id; only the primary of {0} may do this.")]
    NoElectionId(RoleKey),
    /// The role has no primary at the moment.
    #[error("{role} has no primary at the moment; {}.", advice(*highest))]
    NoPrimary {
        /// The role without a primary.
        role: RoleKey,
        /// The highest election id that any controller has shown for the role, or `None` if none
        /// has shown one.
        highest: Option<ElectionId>,
    },
    /// Another controller is the primary.
    #[error("Election id {shown} is not that of the primary of {role}.")]
    NotPrimary {
        /// The role whose primary is another controller.
        role: RoleKey,
        /// The election id in the request.
        shown: ElectionId,
    },
}

impl PermissionError {
    /// Returns the status code with which the specification requires the request to be refused.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::UnknownRole(_) => Code::NotFound,
            _ => Code::PermissionDenied,
        }
    }
}

fn advice(highest: Option<ElectionId>) -> String {
    match highest {
        Some(highest) => format!("arbitrate with an election id of {highest} or higher"),
        None => "arbitrate on a stream first".to_owned(),
    }
}

/// The lifetime of the highest election id of a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElectionMemory {
    /// The id is remembered as long as the device runs, as the specification requires. A controller
    /// that connects later with a lower id never becomes primary.
    #[default]
    Kept,
    /// The id is forgotten when the last controller of the role has disconnected, so that
    /// controllers can be tried on a device one after the other, regardless of their ids.
    ForgottenWhenAlone,
}

/// An arbitration message that must be sent on a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The stream to send it on.
    pub to: StreamId,
    /// The message to send.
    pub update: v1::MasterArbitrationUpdate,
}

/// The change of a role's primary that an arbitration message, or the end of a stream, caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryChange {
    /// The primary is unchanged, or there is still none.
    None,
    /// This stream is the primary now.
    Became(StreamId),
    /// This stream was the primary, and the role has none now.
    Lost(StreamId),
}

/// The arbitration state of one device: its controllers, their roles and the primary of each role.
#[derive(Debug)]
pub struct Arbitration {
    device_id: u64,
    streams_per_role: usize,
    memory: ElectionMemory,
    roles: Vec<Role>,
    controllers: Vec<Controller>,
}

/// A role of a device.
#[derive(Debug)]
struct Role {
    key: RoleKey,
    /// The highest election id that was ever accepted for the role. The primary is the connected
    /// controller that holds it.
    highest: Option<ElectionId>,
    /// The role configuration that the latest message of a primary contained.
    config: Option<Any>,
}

/// A connected controller that has taken part in an arbitration.
#[derive(Debug)]
struct Controller {
    stream: StreamId,
    role: usize,
    election_id: Option<ElectionId>,
}

impl Arbitration {
    /// Creates the state of a device without controllers that allows at most `streams_per_role`
    /// streams in each role.
    #[must_use]
    pub fn new(device_id: u64, streams_per_role: usize, memory: ElectionMemory) -> Self {
        let (roles, controllers) = (Vec::new(), Vec::new());
        Self { device_id, streams_per_role, memory, roles, controllers }
    }

    /// Handles a `MasterArbitrationUpdate` from `stream`, and appends the resulting messages to
    /// `notifications`. The messages to the other controllers come before that to the primary.
    ///
    /// # Errors
    ///
    /// Returns an error if the specification requires the stream to be closed. The state still
    /// holds the controller until the caller reports the end of the stream with
    /// [`Arbitration::closed`], as for any stream.
    pub fn update(
        &mut self,
        stream: StreamId,
        update: &v1::MasterArbitrationUpdate,
        notifications: &mut Vec<Notification>,
    ) -> Result<PrimaryChange, ArbitrationError> {
        let key = RoleKey::of(update.role.as_ref());
        let election_id = update.election_id.as_ref().map(ElectionId::from);
        let known = self.controllers.iter().position(|controller| controller.stream == stream);
        self.check(known, update.device_id, &key, election_id)?;

        let role = self.role_or_insert(key);
        let before = self.primary_of(role);
        match known {
            Some(index) => self.controllers[index].election_id = election_id,
            None => self.controllers.push(Controller { stream, role, election_id }),
        }

        // `None` compares lower than any id and equal to an unset highest id, so the comparison
        // alone would accept an unset id.
        if election_id.is_some() && election_id >= self.roles[role].highest {
            self.roles[role].highest = election_id;
            self.roles[role].config = update.role.as_ref().and_then(|role| role.config.clone());
            self.notify_role(role, notifications);
            return Ok(if before == Some(stream) {
                PrimaryChange::None
            } else {
                PrimaryChange::Became(stream)
            });
        }
        if before == Some(stream) {
            self.notify_role(role, notifications);
            return Ok(PrimaryChange::Lost(stream));
        }
        notifications.push(self.notification(role, stream, before));
        Ok(PrimaryChange::None)
    }

    /// Forgets a stream that ended. If it was the primary of its role, appends notifications for
    /// the other streams of the role.
    pub fn closed(
        &mut self,
        stream: StreamId,
        notifications: &mut Vec<Notification>,
    ) -> PrimaryChange {
        let Some(index) = self.controllers.iter().position(|known| known.stream == stream) else {
            return PrimaryChange::None;
        };
        let role = self.controllers[index].role;
        let was_primary = self.primary_of(role) == Some(stream);
        self.controllers.remove(index);
        let alone = !self.controllers.iter().any(|known| known.role == role);
        if alone && self.memory == ElectionMemory::ForgottenWhenAlone {
            self.roles[role].highest = None;
        }
        if !was_primary {
            return PrimaryChange::None;
        }
        self.notify_role(role, notifications);
        PrimaryChange::Lost(stream)
    }

    /// Checks that a unary request with this role and election id comes from the primary.
    ///
    /// # Errors
    ///
    /// Returns an error if the request may not change the device.
    pub fn authorize(
        &self,
        role: &RoleKey,
        election_id: Option<&v1::Uint128>,
    ) -> Result<(), PermissionError> {
        let known = self.roles.iter().position(|known| known.key == *role);
        let Some(index) = known else {
            return Err(match role {
                // The default role exists on every device, even before any arbitration for it.
                RoleKey::Default if election_id.is_none() => {
                    PermissionError::NoElectionId(role.clone())
                }
                RoleKey::Default => {
                    PermissionError::NoPrimary { role: role.clone(), highest: None }
                }
                _ => PermissionError::UnknownRole(role.clone()),
            });
        };
        let Some(shown) = election_id.map(ElectionId::from) else {
            return Err(PermissionError::NoElectionId(role.clone()));
        };
        if self.primary_of(index).is_none() {
            let highest = self.roles[index].highest;
            return Err(PermissionError::NoPrimary { role: role.clone(), highest });
        }
        if self.roles[index].highest != Some(shown) {
            return Err(PermissionError::NotPrimary { role: role.clone(), shown });
        }
        Ok(())
    }

    /// Returns the stream of the primary of a role, if the role has one.
    #[must_use]
    pub fn primary(&self, role: &RoleKey) -> Option<StreamId> {
        let index = self.roles.iter().position(|known| known.key == *role)?;
        self.primary_of(index)
    }

    /// Returns every role that has a primary, with the primary's stream and the role's
    /// configuration.
    pub fn primaries(&self) -> impl Iterator<Item = (&RoleKey, StreamId, Option<&Any>)> {
        self.roles.iter().enumerate().filter_map(|(index, role)| {
            Some((&role.key, self.primary_of(index)?, role.config.as_ref()))
        })
    }

    /// Returns the role that a stream arbitrated for, or `None` before its first arbitration.
    #[must_use]
    pub fn role_of(&self, stream: StreamId) -> Option<&RoleKey> {
        let controller = self.controllers.iter().find(|known| known.stream == stream)?;
        Some(&self.roles[controller.role].key)
    }

    /// Returns the configuration that the latest primary of a role set.
    #[must_use]
    pub fn role_config(&self, role: &RoleKey) -> Option<&Any> {
        self.roles.iter().find(|known| known.key == *role)?.config.as_ref()
    }

    /// Returns whether the stream is the primary of its role.
    #[must_use]
    pub fn is_primary(&self, stream: StreamId) -> bool {
        self.controllers
            .iter()
            .find(|known| known.stream == stream)
            .is_some_and(|known| self.holds_highest(known))
    }

    /// Checks whether an arbitration update must be refused. `known` is the index of its sender if
    /// the sender has taken part in an arbitration before.
    fn check(
        &self,
        known: Option<usize>,
        device_id: u64,
        key: &RoleKey,
        election_id: Option<ElectionId>,
    ) -> Result<(), ArbitrationError> {
        if let Some(index) = known {
            if device_id != self.device_id {
                let bound = self.device_id;
                return Err(ArbitrationError::DeviceChanged { bound, requested: device_id });
            }
            let bound = &self.roles[self.controllers[index].role].key;
            if bound != key {
                let (bound, requested) = (bound.clone(), key.clone());
                return Err(ArbitrationError::RoleChanged { bound, requested });
            }
        } else if device_id != self.device_id {
            return Err(ArbitrationError::UnknownDevice { device_id });
        }

        let peers = || {
            let of_role = |peer: &&Controller| self.roles[peer.role].key == *key;
            self.controllers.iter().filter(of_role)
        };
        let own_stream = known.map(|index| self.controllers[index].stream);
        let taken =
            |peer: &Controller| peer.election_id == election_id && Some(peer.stream) != own_stream;
        if election_id.is_some() && peers().any(taken) {
            return Err(ArbitrationError::ElectionIdInUse);
        }
        let new_role = !self.roles.iter().any(|role| role.key == *key);
        if new_role && self.roles.len() >= MAX_ROLES {
            return Err(ArbitrationError::TooManyRoles);
        }
        if known.is_none() && peers().count() >= self.streams_per_role {
            let limit = self.streams_per_role;
            return Err(ArbitrationError::TooManyStreams { role: key.clone(), limit });
        }
        Ok(())
    }

    fn role_or_insert(&mut self, key: RoleKey) -> usize {
        self.roles.iter().position(|known| known.key == key).unwrap_or_else(|| {
            self.roles.push(Role { key, highest: None, config: None });
            self.roles.len() - 1
        })
    }

    fn holds_highest(&self, controller: &Controller) -> bool {
        controller.election_id.is_some()
            && controller.election_id == self.roles[controller.role].highest
    }

    fn primary_of(&self, role: usize) -> Option<StreamId> {
        let primary = |known: &&Controller| known.role == role && self.holds_highest(known);
        self.controllers.iter().find(primary).map(|known| known.stream)
    }

    fn notify_role(&self, role: usize, notifications: &mut Vec<Notification>) {
        let primary = self.primary_of(role);
        let of_role = self.controllers.iter().filter(|known| known.role == role);
        let backups = of_role.map(|known| known.stream).filter(|stream| Some(*stream) != primary);
        // The old primary is notified that it has lost before the new one is notified that it may
        // write.
        for stream in backups.chain(primary) {
            notifications.push(self.notification(role, stream, primary));
        }
    }

    fn notification(&self, role: usize, to: StreamId, primary: Option<StreamId>) -> Notification {
        let (code, message) = match primary {
            Some(stream) if stream == to => (Code::Ok, "You are the primary."),
            Some(_) => (Code::AlreadyExists, "You are a backup; there is a primary."),
            None => (Code::NotFound, "You are a backup; there is no primary."),
        };
        let state = &self.roles[role];
        let update = v1::MasterArbitrationUpdate {
            device_id: self.device_id,
            role: state.key.to_message(state.config.as_ref()),
            election_id: state.highest.map(v1::Uint128::from),
            status: Some(rpc::Status {
                code: code as i32,
                message: message.to_owned(),
                details: Vec::new(),
            }),
        };
        Notification { to, update }
    }
}

#[cfg(test)]
mod tests;
