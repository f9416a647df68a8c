//! The means that a user provides in addition to the address of a device: ports, a pipeline, and
//! permission for changes.

use protos::v1;

/// The ports of a device that are connected to this host, through which packets are sent and
/// received.
pub trait Wires {
    /// Returns the numbers of the ports.
    fn ports(&self) -> Vec<u32>;

    /// Sends a packet into a port of the device.
    ///
    /// # Errors
    /// Returns the reason if the packet cannot be sent.
    fn send(&mut self, port: u32, packet: &[u8]) -> Result<(), String>;

    /// Returns the packets that have left the device since the last call, each with its port. Does
    /// not wait for any.
    ///
    /// # Errors
    /// Returns the reason if the ports can no longer be read.
    fn receive(&mut self) -> Result<Vec<(u32, Vec<u8>)>, String>;
}

/// The ports and pipelines that a user provides, and the changes that the user permits. By default,
/// no packets are sent and no pipeline is committed.
#[derive(Default)]
pub struct Means {
    /// The pipeline that is committed before the first requirement is tried; `None` to use the one
    /// that the device runs.
    pub pushed: Option<v1::ForwardingPipelineConfig>,
    /// Whether requirements may commit the pipeline again. A commit clears the entries of all
    /// controllers.
    pub commits: bool,
    /// The ports of the device that are connected to this host.
    pub wires: Option<Box<dyn Wires>>,
}
