//! The devices of one server, by their ids.

use super::handle::DeviceHandle;
use std::collections::HashMap;
use tonic::Status;

/// The devices of one server, by id.
#[derive(Debug)]
pub(super) struct Devices(pub(super) HashMap<u64, DeviceHandle>);

impl Devices {
    /// Returns the device with this id, or the error NOT_FOUND.
    pub(super) fn find(&self, device_id: u64) -> Result<DeviceHandle, Status> {
        self.0.get(&device_id).cloned().ok_or_else(|| {
            Status::not_found(format!("Device id {device_id} is not known to this server."))
        })
    }

    /// Returns the device with this id. An empty target selects the device with the lowest id.
    pub(super) fn target(&self, target: &str) -> Option<DeviceHandle> {
        let id = match target {
            "" => *self.0.keys().min()?,
            target => target.parse().ok()?,
        };
        self.0.get(&id).cloned()
    }
}
