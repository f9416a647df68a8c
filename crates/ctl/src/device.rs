//! The interface of the device that commands control. The caller implements it.

use crate::error::DeviceError;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::switch;
use p4runtime::proto::v1::{self, stream_message_response};
use std::time::Duration;

/// A message that a device sends by itself: a packet-in, a list of digests, or a notification of
/// idle entries.
pub type Message = stream_message_response::Update;

/// The way in which a device handles a pipeline that is pushed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushAction {
    /// The pipeline is only checked.
    Verify,
    /// The pipeline is checked, and stored for a later commit.
    Save,
    /// The pipeline takes effect, and the entries of the old one are deleted.
    Commit,
    /// The pipeline takes effect, and entries are kept as far as possible.
    Reconcile,
    /// The stored pipeline takes effect. The command names no files.
    CommitSaved,
}

/// The condition that ends a wait for messages of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Until {
    /// The duration after which the wait ends, or `None` if only the user ends it.
    pub time: Option<Duration>,
}

/// A port of a device, and whether it forwards packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortState {
    /// The number of the port.
    pub number: u32,
    /// Whether the port forwards packets.
    pub is_up: bool,
}

/// A device that a session controls. All methods block until the device answers. A method that
/// writes first makes the session the primary controller, if it is not already.
pub trait Device {
    /// Returns the id of the device.
    fn id(&self) -> u64;

    /// Returns the name of the session's role, which is empty for the default role.
    fn role(&self) -> &str;

    /// Reads the entities that match any of the requests.
    ///
    /// # Errors
    /// Returns an error if the device refuses or the connection fails.
    fn read(&mut self, requests: &[v1::Entity]) -> Result<Vec<v1::Entity>, DeviceError>;

    /// Writes updates. If one of them is refused, the others are still written.
    ///
    /// # Errors
    /// Returns the first refusal, or the failure of the connection.
    fn write(&mut self, updates: &[v1::Update]) -> Result<(), DeviceError>;

    /// Returns the P4Info of the pipeline that the device runs, or `None` if it runs none.
    ///
    /// # Errors
    /// Returns an error if the device refuses or the connection fails.
    fn pipeline(&mut self) -> Result<Option<P4Info>, DeviceError>;

    /// Pushes the pipeline that these files contain: a program in P4 source or JSON, or a P4Info
    /// and a configuration.
    ///
    /// # Errors
    /// Returns an error if the files do not contain a pipeline, or if the device refuses.
    fn push(&mut self, files: &[String], action: PushAction) -> Result<(), DeviceError>;

    /// Sends a packet.
    ///
    /// # Errors
    /// Returns an error if the session cannot become primary or the connection fails.
    fn send(&mut self, packet: v1::PacketOut) -> Result<(), DeviceError>;

    /// Waits for messages and passes each to `take`, until `take` returns false or the wait ends.
    ///
    /// # Errors
    /// Returns an error if the session cannot become primary or the connection fails.
    fn listen(
        &mut self,
        until: Until,
        take: &mut dyn FnMut(Message) -> bool,
    ) -> Result<(), DeviceError>;

    /// Returns the ports of the device.
    ///
    /// # Errors
    /// Returns an error if the device does not list its ports.
    fn ports(&mut self) -> Result<Vec<PortState>, DeviceError>;

    /// Returns the configuration of the pipeline that the device runs, in the device's own format.
    ///
    /// # Errors
    /// Returns an error if the device refuses, or does not return its configuration.
    fn configuration(&mut self) -> Result<Vec<u8>, DeviceError>;

    /// Writes a file to the user's file system.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    fn store(&mut self, path: &str, content: &[u8]) -> Result<(), DeviceError>;

    /// Returns facts about the switch, and the time on its clock.
    ///
    /// # Errors
    /// Returns an error if the device refuses, or has no service for them.
    fn about(&mut self) -> Result<switch::GetSwitchResponse, DeviceError>;

    /// Returns the queues of these ports, or those of all ports if the list is empty.
    ///
    /// # Errors
    /// Returns an error if the device refuses, or has no service for queues.
    fn queues(&mut self, ports: &[u32]) -> Result<switch::GetQueuesResponse, DeviceError>;

    /// Replaces the queues of ports. `revision` is the revision of the queues on which the change
    /// is based.
    ///
    /// # Errors
    /// Returns an error if the device refuses, or has no service for queues.
    fn set_queues(
        &mut self,
        ports: Vec<switch::PortQueues>,
        revision: u64,
    ) -> Result<switch::SetQueuesResponse, DeviceError>;

    /// Runs the packet of a request through the program as if it had arrived on a port. The outcome
    /// has a trace if the request states the contents of the trace.
    ///
    /// # Errors
    /// Returns an error if the device refuses, or has no service for injected packets.
    fn inject(
        &mut self,
        request: switch::InjectRequest,
    ) -> Result<switch::InjectOutcome, DeviceError>;
}
