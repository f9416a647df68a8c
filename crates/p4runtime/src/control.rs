//! The service `planimeter.switch.v1.SwitchControl`, which has what P4Runtime lacks: the queues of
//! a device's ports while traffic runs, the injection of packets whose outcome is returned, and the
//! switch's clock.
//!
//! The queues belong to a [`SwitchSource`]. A device without one answers UNIMPLEMENTED, as do
//! servers that do not know the service.

mod form;
mod injecting;
mod service;
mod watching;

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, time::Duration};

use queues::{Configuration, PortConfig, QueueCounts};

use crate::{proto::switch, status::EntityError};

pub use self::form::{changes, configuration, message};
pub(crate) use self::service::{ControlServer, SERVICE};

/// A value that a device's owner returns later, because another thread has it.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, EntityError>> + Send>>;

/// The owner of a device's queues, which also runs injected packets.
pub trait SwitchSource: fmt::Debug + Send + Sync {
    /// Returns facts about the switch.
    fn about(&self) -> About;

    /// Returns the queues as they are when the request reaches the thread that serves them.
    fn queues(&self) -> Pending<DeviceQueues>;

    /// Returns the queues as they were published last, at most some tens of milliseconds ago.
    fn published_queues(&self) -> DeviceQueues;

    /// Changes the queues of several ports, or of none if it fails.
    fn set_queues(&self, change: QueueChange) -> Pending<QueuesSet>;

    /// Runs packets in order, and returns an outcome for each. While too many packets of all
    /// clients wait, the packets wait to be accepted.
    fn inject(&self, injection: Injection) -> Pending<Vec<switch::InjectOutcome>>;
}

/// Facts about a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name and version of the switch.
    pub version: String,
    /// The time since the device was started, from which the timestamps of packets count.
    pub elapsed: Duration,
    /// The port that stands for the controllers.
    pub cpu_port: u32,
    /// The number of threads that process packets.
    pub workers: u32,
}

/// The queues of a device at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceQueues {
    /// The configuration of the ports that have queues.
    pub configuration: Configuration,
    /// The states of the ports that have queues.
    pub states: BTreeMap<u32, PortState>,
    /// The number of changes since the device was started.
    pub revision: u64,
}

/// The state of the queues of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// The counters of each queue, by number.
    pub queues: Vec<QueueCounts>,
    /// The lateness of the packets that left, if the port is on an interface.
    pub lateness: Option<Lateness>,
}

/// The lateness of packets that left a port, relative to the model of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The number of packets that left.
    pub packets: u64,
    /// The sum of their lateness in nanoseconds.
    pub total: u64,
    /// The largest lateness in nanoseconds.
    pub largest: u64,
}

/// A change of a device's queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueChange {
    /// The queues that ports get, by number. With `None`, a port has no queues afterwards. Ports
    /// that are not named keep theirs.
    pub ports: BTreeMap<u32, Option<PortConfig>>,
    /// Whether the change is only checked.
    pub validate_only: bool,
    /// The revision that the device must have, if the change depends on what the client has read.
    pub expected_revision: Option<u64>,
}

/// The result of a change of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuesSet {
    /// The number of packets that were dropped because their queue is gone.
    pub dropped: u64,
    /// The revision after the change.
    pub revision: u64,
}

/// The treatment of the changes and the output packets that injected packets cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Treatment {
    /// Changes of the switch's state persist. The packets that leave are only returned.
    #[default]
    Returned,
    /// Changes of the switch's state persist. The packets that leave are returned and transmitted.
    Sent,
    /// The switch's state stays as it is. The packets that leave are only returned.
    Tried,
}

impl Treatment {
    /// Returns the treatment that a request asks for.
    ///
    /// # Errors
    /// Returns an error if a value is not defined, or if packets that are only tried are to leave.
    pub fn of(request: &switch::InjectRequest) -> Result<Self, EntityError> {
        let undefined =
            |what, value: i32| EntityError::invalid(format!("The {what} {value} is not defined."));
        let delivery = switch::Delivery::try_from(request.delivery)
            .map_err(|_| undefined("delivery", request.delivery))?;
        let effects = switch::Effects::try_from(request.effects)
            .map_err(|_| undefined("effect", request.effects))?;
        match (effects, delivery) {
            (switch::Effects::Lasting, switch::Delivery::Return) => Ok(Self::Returned),
            (switch::Effects::Lasting, switch::Delivery::Send) => Ok(Self::Sent),
            (switch::Effects::None, switch::Delivery::Return) => Ok(Self::Tried),
            (switch::Effects::None, switch::Delivery::Send) => Err(EntityError::invalid(
                "Packets without effects cannot leave by ports; use DELIVERY_RETURN.",
            )),
        }
    }

    /// Returns a request that asks for the treatment of packets, without traces.
    #[must_use]
    pub fn request(
        self,
        device_id: u64,
        packets: Vec<switch::InjectedPacket>,
    ) -> switch::InjectRequest {
        let (delivery, effects) = match self {
            Self::Returned => (switch::Delivery::Return, switch::Effects::Lasting),
            Self::Sent => (switch::Delivery::Send, switch::Effects::Lasting),
            Self::Tried => (switch::Delivery::Return, switch::Effects::None),
        };
        let (delivery, effects) = (delivery.into(), effects.into());
        switch::InjectRequest { device_id, packets, delivery, tracing: None, effects }
    }
}

/// Packets to run as if they had arrived on ports.
#[derive(Clone, Debug, Default)]
pub struct Injection {
    /// The packets with their ports.
    pub packets: Vec<switch::InjectedPacket>,
    /// The treatment of the changes and the output packets that the packets cause.
    pub treatment: Treatment,
    /// The contents of the packets' traces, if they are wanted.
    pub tracing: Option<switch::Tracing>,
}
