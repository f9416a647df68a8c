//! The state that an earlier run of a device left in its journal.

use crate::log::{Log, Verbosity};
use crate::record::{self, Record};
use journal::{Disk, Journal, OpenError, RepairError, RepairReport, Torn};
use p4runtime::proto::v1::{ForwardingPipelineConfig, Update};
use p4runtime::session::Device;
use std::path::Path;

/// The pipeline that last ran on the device, and the updates that were written to it. `None` if the
/// journal has no pipeline.
#[derive(Debug, Default)]
pub(crate) struct Restored(Option<(ForwardingPipelineConfig, Vec<Vec<Update>>)>);

impl Restored {
    /// Reads a device's journal file. Returns the restored state, and the journal, ready to append
    /// to.
    pub(crate) fn read(path: &Path, log: &Log) -> Result<(Self, Journal<Disk>), OpenError> {
        let mut restored = None;
        let (journal, torn) = Journal::open(Disk, path, &mut |record| {
            match record::decode(record)? {
                Record::Pipeline(config) => restored = Some((*config, Vec::new())),
                Record::Write(updates) => {
                    if let Some((_, writes)) = &mut restored {
                        writes.push(updates);
                    }
                }
            }
            Ok(())
        })?;
        if let Some(Torn { length, kept_in, .. }) = torn {
            log.line(
                Verbosity::Warn,
                format_args!(
                    "{}: the last record was not written to its end; it was moved to {} \
                     ({length} bytes)",
                    path.display(),
                    kept_in.display()
                ),
            );
        }
        Ok((Self(restored), journal))
    }

    /// Returns the restored pipeline and its updates, or `None` if the journal has none or if the
    /// device is now configured to run another program.
    pub(crate) fn take(
        self,
        device: u64,
        wanted: Option<&ForwardingPipelineConfig>,
        log: &Log,
    ) -> Option<(ForwardingPipelineConfig, Vec<Vec<Update>>)> {
        let (pipeline, writes) = self.0?;
        let is_same = |wanted: &ForwardingPipelineConfig| {
            wanted.p4info == pipeline.p4info && wanted.p4_device_config == pipeline.p4_device_config
        };
        let entities: usize = writes.iter().map(Vec::len).sum();
        if wanted.is_some_and(|wanted| !is_same(wanted)) {
            log.line(
                Verbosity::Warn,
                format_args!(
                    "device {device}: {entities} writes are not restored, since they were for another program than \
                     the current one"
                ),
            );
            return None;
        }
        let message =
            format_args!("device {device}: a pipeline and {entities} writes are restored");
        log.line(Verbosity::Info, message);
        Some((pipeline, writes))
    }
}

/// Repairs a damaged [`DeviceConfig::state`](crate::DeviceConfig::state) file: copies the intact
/// records of `from` into a new file `to`.
///
/// # Errors
///
/// Returns an error if nothing can be read, if `to` exists already, or if it cannot be written.
pub fn repair(from: &Path, to: &Path) -> Result<RepairReport, RepairError> {
    journal::repair(&Disk, from, to)
}

/// Writes a batch of restored updates to the device, and returns whether all of them were accepted.
/// A refused update is logged and omitted; this happens if the program's limits have changed since
/// it was recorded.
pub(crate) fn install(device: &mut Device, updates: &[Update], log: &Log) -> bool {
    let now = p4runtime::server::now();
    if device.install(updates, now).is_ok() {
        return true;
    }
    for update in updates {
        if let Err((_, error)) = device.install(std::slice::from_ref(update), now) {
            let id = device.id();
            let message =
                format_args!("device {id}: an entity is not restored: {}", error.message());
            log.line(Verbosity::Warn, message);
        }
    }
    false
}
