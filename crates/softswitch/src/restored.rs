//! The state that an earlier run of a device left in its journal.

use crate::log::{Log, Verbosity};
use crate::record::{self, Record};
use entities::TranslationPair;
use journal::{Disk, Journal, OpenError, RepairError, RepairReport, Torn};
use p4runtime::proto::v1::{ForwardingPipelineConfig, Update};
use p4runtime::session::Device;
use queues::Configuration;
use std::path::Path;

/// The state of a device in an earlier run.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    /// The pipeline that ran on the device last, and the steps that restore what was written to it,
    /// in order. `None` if the journal has no pipeline.
    pipeline: Option<(ForwardingPipelineConfig, Vec<Step>)>,
    /// The queues of ports. `None` if no client has set any.
    pub(crate) queues: Option<Configuration>,
}

/// A step by which the state of a pipeline is restored.
#[derive(Debug)]
pub(crate) enum Step {
    /// Updates that are written.
    Write(Vec<Update>),
    /// The numbers of the strings that occur in later updates.
    Pairs(Vec<TranslationPair>),
}

impl Restored {
    /// Reads a device's journal file. Returns the restored state, and the journal, to which further
    /// records can be appended.
    pub(crate) fn read(path: &Path, log: &Log) -> Result<(Self, Journal<Disk>), OpenError> {
        let (mut restored, mut queues) = (None, None);
        let (journal, torn) = Journal::open(Disk, path, &mut |record| {
            match record::decode(record)? {
                Record::Pipeline(config) => restored = Some((*config, Vec::new())),
                Record::Write(updates) => {
                    if let Some((_, steps)) = &mut restored {
                        steps.push(Step::Write(updates));
                    }
                }
                Record::Pairs(pairs) => {
                    if let Some((_, steps)) = &mut restored {
                        steps.push(Step::Pairs(pairs));
                    }
                }
                Record::Queues(configuration) => queues = Some(configuration),
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
        Ok((Self { pipeline: restored, queues }, journal))
    }

    /// Returns the restored pipeline, and the steps that restore its state. Returns `None` if the
    /// journal has no pipeline, or if the device is now configured to run another program.
    pub(crate) fn take(
        self,
        device: u64,
        wanted: Option<&ForwardingPipelineConfig>,
        log: &Log,
    ) -> Option<(ForwardingPipelineConfig, Vec<Step>)> {
        let (pipeline, steps) = self.pipeline?;
        let is_same = |wanted: &ForwardingPipelineConfig| {
            wanted.p4info == pipeline.p4info && wanted.p4_device_config == pipeline.p4_device_config
        };
        let writes = |step: &Step| match step {
            Step::Write(updates) => updates.len(),
            Step::Pairs(_) => 0,
        };
        let entities: usize = steps.iter().map(writes).sum();
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
        Some((pipeline, steps))
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

/// Restores the state of the device's pipeline, and returns whether every update was accepted.
pub(crate) fn install_all(device: &mut Device, steps: &[Step], log: &Log) -> bool {
    let mut is_accepted = true;
    for step in steps {
        match step {
            Step::Pairs(pairs) => device.plan_translations(pairs),
            Step::Write(updates) => is_accepted &= install(device, updates, log),
        }
    }
    device.settle_translations();
    is_accepted
}

/// Writes a batch of restored updates to the device, and returns whether all of them were accepted.
/// A refused update is logged and omitted; this happens if the program's limits have changed since
/// it was recorded.
fn install(device: &mut Device, updates: &[Update], log: &Log) -> bool {
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
