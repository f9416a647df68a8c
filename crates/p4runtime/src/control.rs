//! The service `planimeter.switch.v1.SwitchControl`, which provides what P4Runtime lacks: access to
//! the queues of a device's ports while traffic runs, the injection of packets with a report of
//! what became of them, and facts about the switch, such as the time on its clock.
//!
//! The queues belong to a [`SwitchSource`]. Devices without one answer requests with UNIMPLEMENTED,
//! as do servers that do not know the service.

mod form;
mod injecting;
mod service;
mod watching;

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, time::Duration};

use queues::{Configuration, PortConfig, QueueCounts};

use crate::{proto::switch, status::EntityError};

pub use self::form::{changes, configuration, message};
pub(crate) use self::service::{ControlServer, SERVICE};

/// A result that a device's owner returns later, because another thread must compute it.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, EntityError>> + Send>>;

/// The owner of a device's queues, which also runs injected packets.
pub trait SwitchSource: fmt::Debug + Send + Sync {
    /// Returns facts about the switch.
    fn about(&self) -> About;

    /// Returns the queues as they are when the request reaches the thread that serves them.
    fn queues(&self) -> Pending<DeviceQueues>;

    /// Returns the queues as they were last published, at most some tens of milliseconds ago.
    fn published_queues(&self) -> DeviceQueues;

    /// Changes the queues of several ports, or of none if it fails.
    fn set_queues(&self, change: QueueChange) -> Pending<QueuesSet>;

    /// Runs packets in order, and returns an outcome for each. If too many packets of all clients
    /// are waiting already, the new packets are accepted only when there is room for them.
    fn inject(&self, injection: Injection) -> Pending<Vec<switch::InjectOutcome>>;
}

/// Facts about a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name and version of the switch.
    pub version: String,
    /// The time since the device was started. Timestamps of packets count from that start.
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
    /// The lateness of the packets that the port transmitted, or `None` if the port is not on a
    /// network interface.
    pub lateness: Option<Lateness>,
}

/// The lateness of transmitted packets: the time from the moment at which the model of the port's
/// queues lets a packet leave to the moment at which it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The number of transmitted packets.
    pub packets: u64,
    /// The sum of their lateness in nanoseconds.
    pub total: u64,
    /// The largest lateness in nanoseconds.
    pub largest: u64,
}

/// A change of a device's queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueChange {
    /// The new queues of ports, by port number. `None` removes all queues of a port. Ports that are
    /// not in this map keep their queues.
    pub ports: BTreeMap<u32, Option<PortConfig>>,
    /// Whether the change is only checked.
    pub validate_only: bool,
    /// The revision that the queues must still have, so that the change fails if they have changed
    /// since the client read them. `None` for any revision.
    pub expected_revision: Option<u64>,
}

/// The result of a change of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuesSet {
    /// The number of packets that were dropped because the change removed their queue.
    pub dropped: u64,
    /// The revision after the change.
    pub revision: u64,
}

/// The treatment of the state changes and the output packets that injected packets cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Treatment {
    /// Changes of the switch's state persist. The output packets are only returned to the client.
    #[default]
    Returned,
    /// Changes of the switch's state persist. The output packets are returned to the client and
    /// also transmitted.
    Sent,
    /// The switch's state stays as it is. The output packets are only returned to the client.
    Tried,
}

impl Treatment {
    /// Returns the treatment that a request asks for.
    ///
    /// # Errors
    /// Returns an error if the request has an undefined value, or if it asks both to keep the
    /// switch's state unchanged and to transmit the output packets.
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

    /// Returns a request to inject packets with this treatment, without traces.
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
    /// The treatment of the state changes and the output packets that the packets cause.
    pub treatment: Treatment,
    /// The contents of the traces of the packets, or `None` for no traces.
    pub tracing: Option<switch::Tracing>,
}
